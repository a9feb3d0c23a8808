// SPDX-License-Identifier: Apache-2.0
// Options, messages and short descriptions for the subcommands.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int cli_usage(const cli_command *command, const char *fmt, ...) {
  va_list ap;
  (void)fprintf(stderr, "ingot %s: ", command->name);
  va_start(ap, fmt);
  (void)vfprintf(stderr, fmt, ap);
  va_end(ap);
  (void)fprintf(stderr, "\nusage: ingot %s %s\n", command->name, command->arguments);
  return CLI_USAGE;
}

int cli_fail(const ig_ctx *c) {
  (void)fprintf(stderr, "ingot: %s\n", ig_ctx_error(c));
  return CLI_FAILED;
}

static bool matches(const cli_option *o, const char *word, const char **inline_value) {
  size_t n = strlen(o->name);
  *inline_value = NULL;
  if (strcmp(word, o->name) == 0 || (o->brief && strcmp(word, o->brief) == 0)) return true;
  if (!o->value || strncmp(word, o->name, n) != 0 || word[n] != '=') return false;
  *inline_value = word + n + 1;
  return true;
}

static int take_option(const cli_command *command, const cli_option *o, const char *given, int argc,
                       char **argv, int *i) {
  if (!o->value) {
    *o->found = true;
    return CLI_OK;
  }
  if (!given && *i + 1 >= argc) return cli_usage(command, "%s needs a value", o->name);
  *o->value = given ? given : argv[++*i];
  return CLI_OK;
}

static int take_word(const cli_command *command, int argc, char **argv, int *i,
                     const cli_option *options, size_t noptions, cli_args *out) {
  const char *word = argv[*i];
  for (size_t k = 0; k < noptions; k++) {
    const char *given = NULL;
    if (matches(&options[k], word, &given)) {
      return take_option(command, &options[k], given, argc, argv, i);
    }
  }
  if (word[0] == '-' && word[1]) return cli_usage(command, "unknown option '%s'", word);
  if (out->nfiles == CLI_MAX_FILES) return cli_usage(command, "too many files");
  out->files[out->nfiles++] = word;
  return CLI_OK;
}

int cli_parse(const cli_command *command, int argc, char **argv, const cli_option *options,
              size_t noptions, int nfiles, cli_args *out) {
  *out = (cli_args){0};
  for (int i = 0; i < argc; i++) {
    int code = take_word(command, argc, argv, &i, options, noptions, out);
    if (code != CLI_OK) return code;
  }
  if (out->nfiles == nfiles) return CLI_OK;
  return cli_usage(command, "%d file%s given, expected %d", out->nfiles,
                   out->nfiles == 1 ? "" : "s", nfiles);
}

bool cli_has_suffix(const char *path, const char *suffix) {
  size_t n = strlen(path);
  size_t k = strlen(suffix);
  return n > k && strcmp(path + n - k, suffix) == 0;
}

static const char *describe_tensor(const ig_tensor *t, char *text, size_t cap) {
  size_t n = (size_t)snprintf(text, cap, "%s[", ig_dtype_text(ig_tensor_dtype(t)));
  for (int d = 0; d < ig_tensor_ndim(t) && n < cap; d++) {
    ig_int size = ig_tensor_size(t, d);
    const char *comma = d ? ", " : "";
    n += (size_t)(size.expr ? snprintf(text + n, cap - n, "%s?", comma)
                            : snprintf(text + n, cap - n, "%s%" PRId64, comma, size.value));
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return text;
}

const char *cli_describe(const ig_value *v, char *text, size_t cap) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return describe_tensor(v->tensor, text, cap);
    case IG_KIND_INT:
      (void)snprintf(text, cap, "%" PRId64, v->i.value);
      return text;
    case IG_KIND_FLOAT:
      (void)snprintf(text, cap, "%.17g", v->f);
      return text;
    case IG_KIND_BOOL:
      (void)snprintf(text, cap, "%s", v->b ? "True" : "False");
      return text;
    case IG_KIND_STR:
      (void)snprintf(text, cap, "'%s'", v->str);
      return text;
    case IG_KIND_NODE:
      return cli_describe(ig_node_val(v->node), text, cap);
    case IG_KIND_NONE:
      (void)snprintf(text, cap, "None");
      return text;
    default:
      (void)snprintf(text, cap, "a value");
      return text;
  }
}
