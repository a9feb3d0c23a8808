// SPDX-License-Identifier: Apache-2.0
// The command line by table: options anywhere, "--name VALUE", "--name=VALUE", "-n VALUE"; "--"
// ends them; a lone "-" is a file. For a misspelled word the most similar ones are suggested.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *color_word;
static bool help_switch;
static const char *max_memory;
static double max_time;
static double max_work;
static const cli_option common[] = {
    {"--max-memory", NULL, "SIZE", CLI_TEXT, &max_memory,
     "limit on memory in use: bytes, or 512M, 4G (default: the\nmachine's memory)"},
    {"--max-time", NULL, "SECONDS", CLI_REAL, &max_time, "limit on run time (default: none)"},
    {"--max-work", NULL, "N", CLI_REAL, &max_work,
     "limit on operator calls and loop iterations (default: 1e9)"},
    {"--color", NULL, "WHEN", CLI_TEXT, &color_word, "auto (default), always or never"},
    {"--help", "-h", NULL, CLI_SWITCH, &help_switch, "this text"},
};
enum { NCOMMON = sizeof common / sizeof *common };

size_t cli_option_count(const cli_command *command) {
  return command->noptions + NCOMMON;
}

const cli_option *cli_option_at(const cli_command *command, size_t i) {
  return i < command->noptions ? &command->options[i] : &common[i - command->noptions];
}

// ---- help

static void help_option(const cli_option *o) {
  char left[64];
  (void)snprintf(left, sizeof left, "%s%s%s%s%s", o->brief ? o->brief : "",
                 o->brief ? ", " : "    ", o->name, o->value ? " " : "", o->value ? o->value : "");
  if (strlen(left) > 26) {
    cli_out("  %s\n  %-26s  ", left, "");
  } else {
    cli_out("  %-26s  ", left);
  }
  for (const char *s = o->help; *s; s++) {
    (void)putchar(*s);
    if (*s == '\n') cli_out("  %-26s  ", "");
  }
  (void)putchar('\n');
}

void cli_help(const cli_command *command) {
  cli_put(stdout, CLI_BOLD, "usage:");
  cli_out(" ingot %s %s\n\n", command->name, command->arguments);
  (void)fputs(command->details, stdout);
  (void)fputs("\n\n", stdout);
  cli_put(stdout, CLI_BOLD, "options:");
  (void)putchar('\n');
  for (size_t i = 0; i < command->noptions + NCOMMON; i++) help_option(cli_option_at(command, i));
  (void)putchar('\n');
  cli_put(stdout, CLI_BOLD, "examples:");
  (void)putchar('\n');
  for (size_t i = 0; i < command->nexamples; i++) {
    cli_out("  %s\n      %s\n", command->examples[i].line, command->examples[i].text);
  }
  (void)putchar('\n');
  cli_put(stdout, CLI_BOLD, "exit codes:");
  cli_out(
      " 0 success, 1 numbers disagree, 2 wrong command line, 3 file rejected,\n"
      "            4 file cannot be read or written, 5 running failed\n");
}

// ---- suggestions

// Edit distance in which swapping neighbours is one step; words are short.
static size_t distance(const char *a, const char *b) {
  enum { MAX = 40 };
  size_t n = strlen(a);
  size_t m = strlen(b);
  size_t rows[3][MAX + 1];
  if (n > MAX || m > MAX) return MAX;
  for (size_t j = 0; j <= m; j++) rows[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3];
    const size_t *two = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && two[j - 2] + 1 < best) best = two[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *words, size_t n) {
  const char *best = NULL;
  size_t least = strlen(word) / 3 + 2;
  for (size_t i = 0; i < n; i++) {
    bool prefix = strlen(word) > 2 && strncmp(words[i], word, strlen(word)) == 0;
    size_t d = prefix ? 1 : distance(word, words[i]);
    if (d < least) {
      least = d;
      best = words[i];
    }
  }
  return best;
}

static int unknown_option(const cli_command *command, const char *word) {
  const char *names[64];
  size_t n = 0;
  char name[64];
  (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  for (size_t i = 0; i < command->noptions + NCOMMON && n < 64; i++) {
    names[n++] = cli_option_at(command, i)->name;
  }
  const char *near = cli_nearest(name, names, n);
  if (near) return cli_usage(command, "unknown option '%s'; did you mean %s?", name, near);
  return cli_usage(command, "unknown option '%s'", name);
}

// ---- values

static int take_number(const cli_command *command, const cli_option *o, const char *text) {
  if (!text) return CLI_USAGE;
  char *end = NULL;
  errno = 0;
  if (o->type == CLI_INT) {
    *(long *)o->to = strtol(text, &end, 10);
  } else {
    *(double *)o->to = strtod(text, &end);
  }
  if (end != text && *end == 0 && errno == 0) return CLI_OK;
  return cli_usage(command, "%s: '%s' is not a %s", o->name, text,
                   o->type == CLI_INT ? "whole number" : "number");
}

static int take_value(const cli_command *command, const cli_option *o, const char *text) {
  cli_texts *list = o->to;
  switch (o->type) {
    case CLI_SWITCH:
      *(bool *)o->to = true;
      return CLI_OK;
    case CLI_TEXT:
      *(const char **)o->to = text;
      return CLI_OK;
    case CLI_TEXTS:
      if (list->n == CLI_MAX_TEXTS) return cli_usage(command, "%s: given too many times", o->name);
      list->at[list->n++] = text;
      return CLI_OK;
    default:
      return take_number(command, o, text);
  }
}

static const cli_option *find_option(const cli_command *command, const char *word,
                                     const char **value) {
  size_t n = strcspn(word, "=");
  *value = NULL;
  for (size_t i = 0; i < command->noptions + NCOMMON; i++) {
    const cli_option *o = cli_option_at(command, i);
    if (o->brief && strcmp(word, o->brief) == 0) return o;
    if (strlen(o->name) != n || strncmp(o->name, word, n) != 0) continue;
    if (word[n]) *value = word + n + 1;
    return o;
  }
  return NULL;
}

static int take_word(const cli_command *command, int argc, char **argv, int *i) {
  const char *value = NULL;
  const cli_option *o = find_option(command, argv[*i], &value);
  if (!o) return unknown_option(command, argv[*i]);
  if (!o->value && value) return cli_usage(command, "%s takes no value", o->name);
  if (o->value && !value) {
    if (*i + 1 >= argc) return cli_usage(command, "%s needs a value: %s", o->name, o->value);
    value = argv[++*i];
  }
  return take_value(command, o, value);
}

// "1500000", "64k", "512M", "4G"; powers of 1024.
static bool parse_size(const char *text, uint64_t *out) {
  static const char units[] = "kMGT";
  char *end = NULL;
  errno = 0;
  double n = strtod(text, &end);
  const char *unit = *end ? strchr(units, *end) : NULL;
  if (end == text || errno || !(n > 0) || (*end && (!unit || end[1]))) return false;
  for (const char *u = units; unit && u <= unit; u++) n *= 1024;
  if (n < 1 || n > 9e18) return false;
  *out = (uint64_t)n;
  return true;
}

static uint64_t memory;  // the value of --max-memory; 0: not given

void cli_limit(ig_ctx *c) {
  ig_limits limits = {.size = sizeof limits, .max_memory = memory};
  if (max_time > 0) limits.max_millis = max_time * 1000 < 1 ? 1 : (uint64_t)(max_time * 1000);
  if (max_work > 0) limits.max_work = max_work < 1 ? 1 : (uint64_t)max_work;
  ig_ctx_set_limits(c, &limits);
}

int cli_parse(const cli_command *command, int argc, char **argv, const char **files) {
  int n = 0;
  bool only_files = false;
  for (int i = 0; i < argc; i++) {
    bool option = !only_files && argv[i][0] == '-' && argv[i][1];
    if (option && strcmp(argv[i], "--") == 0) {
      only_files = true;
    } else if (option) {
      int code = take_word(command, argc, argv, &i);
      if (code != CLI_OK) return code;
    } else {
      files[n] = argv[i];
      n++;
    }
  }
  if (color_word && !cli_set_color(color_word)) {
    return cli_usage(command, "--color: '%s' is not one of auto, always, never", color_word);
  }
  if (help_switch) {
    cli_help(command);
    return -1;
  }
  if (max_time < 0 || max_work < 0 || !(max_time < 1e12) || !(max_work < 1e18)) {
    return cli_usage(command, "--max-time and --max-work take positive numbers");
  }
  if (max_memory && !parse_size(max_memory, &memory)) {
    return cli_usage(command, "--max-memory: '%s' is not a size; expected bytes, or 512M, 4G",
                     max_memory);
  }
  files[n] = NULL;
  bool more = command->more && n > command->nfiles;
  if (n == command->nfiles || more || (command->each && n > 0)) return CLI_OK;
  if (n > command->nfiles && n <= command->most) return CLI_OK;
  if (command->most) {
    return cli_usage(command, "%d file%s given, expected %d to %d", n, n == 1 ? "" : "s",
                     command->nfiles, command->most);
  }
  return cli_usage(command, "%d file%s given, expected %s%d", n, n == 1 ? "" : "s",
                   command->each || command->more ? "at least " : "", command->nfiles);
}
