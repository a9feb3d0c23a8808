// SPDX-License-Identifier: Apache-2.0
// ingot: model files from the command line. The program (entry.c) and the Python package start
// here.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "ingot/version.h"

static const cli_command *const commands[] = {
    &cli_info,   &cli_show,          &cli_run,      &cli_convert, &cli_compile,   &cli_diff,
    &cli_bisect, &cli_verify,        &cli_shapes,   &cli_stats,   &cli_view,      &cli_bench,
    &cli_score,  &cli_simplify,      &cli_extract,  &cli_rename,  &cli_fix_size,  &cli_free_size,
    &cli_merge,  &cli_split_weights, &cli_quantize, &cli_explain, &cli_completion};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

const cli_command *const *cli_commands(size_t *n) {
  *n = NCOMMANDS;
  return commands;
}

static void help(FILE *to) {
  cli_put(to, CLI_BOLD, "ingot");
  cli_put(to, CLI_PLAIN,
          " " IG_VERSION
          ": inspects, runs, converts and compares model files\n\n"
          "usage: ingot COMMAND FILE [OPTIONS]\n\n");
  cli_put(to, CLI_BOLD, "commands:");
  (void)fputc('\n', to);
  for (size_t i = 0; i < NCOMMANDS; i++) {
    (void)fputs("  ", to);
    cli_put(to, CLI_CYAN, "%-13s", commands[i]->name);
    cli_put(to, CLI_PLAIN, " %s\n", commands[i]->summary);
  }
  cli_put(
      to, CLI_PLAIN,
      "\nFILE is a .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot file, "
      "recognised\nby its content; - is stdin. ingot COMMAND --help has details and examples; "
      "man ingot is the\nfull reference.\n\n");
  cli_put(to, CLI_BOLD, "exit codes:");
  cli_put(to, CLI_PLAIN,
          " 0 success, 1 numbers or models differ, 2 wrong command line, 3 file rejected,\n"
          "            4 file cannot be read or written, 5 running failed\n");
}

// ---- signals
//
// The first signal cancels the running operation, so that it ends like any error and removes its
// unfinished files; then the process is terminated by the signal. A second signal terminates it at
// once.

static ig_ctx *volatile under_way;
static volatile sig_atomic_t received;

static void on_signal(int number) {
  received = number;
  ig_ctx *c = under_way;
  if (c) ig_cancel(c);
}

static void watch_signals(ig_ctx *c) {
  under_way = c;
  ig_host_catch_ends(on_signal);
}

static void forget_signals(void) {
  under_way = NULL;
}

bool cli_interrupted(void) {
  return received != 0;
}

static int run_on(const cli_command *command, const char *const *files) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return cli_no_memory();
  cli_limit(c);
  watch_signals(c);
  ig_scope s = ig_scope_open(c);
  int code = command->run(c, files);
  ig_scope_close(c, s);
  forget_signals();
  ig_ctx_free(c);
  return code;
}

// Of several files, the exit code is the largest one of them.
static int run_each(const cli_command *command, const char *const *files) {
  int worst = CLI_OK;
  if (!files[0]) return run_on(command, files);
  for (size_t i = 0; files[i] && !received; i++) {
    int code = run_on(command, &files[i]);
    if (code > worst) worst = code;
  }
  return worst;
}

static int run(const cli_command *command, int argc, char **argv) {
  const char **files = cli_array(NULL, (size_t)argc + 1, sizeof *files);
  if (!files) return cli_no_memory();
  int code = cli_parse(command, argc, argv, files);
  if (code == CLI_OK && command->pages) cli_page();
  if (code == CLI_OK) {
    code = command->each ? run_each(command, files) : run_on(command, files);
  } else if (code < 0) {
    code = CLI_OK;
  }
  free(files);
  return code;
}

// A closed pipe or a full disk must not look like success.
static int finish(int code) {
  cli_stage_end();
  bool written = fflush(stdout) == 0 && !ferror(stdout);
  cli_page_end();
  if (written) return code;
  cli_put(stderr, CLI_PLAIN, "ingot: the output could not be written\n");
  return code == CLI_OK ? CLI_IO : code;
}

static int unknown(const char *word) {
  const char *names[NCOMMANDS];
  for (size_t i = 0; i < NCOMMANDS; i++) names[i] = commands[i]->name;
  const char *near = cli_nearest(word, names, NCOMMANDS);
  bool option = word[0] == '-';
  const char *kind = option ? "option" : "command";
  if (near) return cli_error(CLI_USAGE, "unknown %s '%s'; did you mean %s?", kind, word, near);
  return cli_error(CLI_USAGE, "unknown %s '%s'; ingot --help lists all", kind, word);
}

static const cli_command *find(const char *word) {
  for (size_t i = 0; i < NCOMMANDS; i++) {
    if (strcmp(word, commands[i]->name) == 0) return commands[i];
  }
  return NULL;
}

static bool is_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int dispatch(int argc, char **argv) {
  const char *word = argc > 0 ? argv[0] : "";
  if (is_help(word)) {
    const cli_command *about = argc > 1 ? find(argv[1]) : NULL;
    if (argc > 1 && !about) return unknown(argv[1]);
    if (about) cli_help(about);
    if (!about) help(stdout);
    return CLI_OK;
  }
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
    cli_out("ingot %s\n", IG_VERSION);
    return CLI_OK;
  }
  const cli_command *command = find(word);
  if (command) return run(command, argc - 1, argv + 1);
  if (argc > 0) return unknown(word);
  help(stderr);
  return CLI_USAGE;
}

int cli_main(int argc, char **argv) {
  int skip = 1;
  ig_host_ignore_pipes();  // written to a closed pipe: reported by finish
  while (skip < argc && strncmp(argv[skip], "--color", 7) == 0) {  // before the command, too
    const char *when = argv[skip][7] == '=' ? argv[skip] + 8 : skip + 1 < argc ? argv[++skip] : "";
    if (!cli_set_color(when)) {
      return cli_error(CLI_USAGE, "--color: '%s' is not one of auto, always, never", when);
    }
    skip++;
  }
  int code = finish(dispatch(argc - skip, argv + skip));
  if (received) ig_host_end_by(received);
  return code;
}
