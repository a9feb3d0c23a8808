// SPDX-License-Identifier: Apache-2.0
// Error messages: "ingot: file: what, where, found, expected, what to do", on stderr.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "ingot/explain.h"

static struct {
  const char *path;
  const char *name;
} alias;

void cli_alias(const char *path, const char *name) {
  alias.path = path;
  alias.name = name;
}

static void vsay(cli_style style, const char *label, const char *fmt, va_list ap) {
  cli_stage_end();
  (void)fflush(stdout);
  // Line breaks are kept: the context's own messages have several lines.
  char room[1024];
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(room, sizeof room, fmt, ap);
  char *text = n < (int)sizeof room ? room : malloc((size_t)n + 1);
  if (text && text != room) (void)vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  cli_put(stderr, style, "%s", label);
  const char *rest = text ? text : "";
  for (const char *at; alias.path && (at = strstr(rest, alias.path));) {
    cli_put_lines(stderr, rest, (size_t)(at - rest), true);
    cli_put_lines(stderr, alias.name, strlen(alias.name), true);
    rest = at + strlen(alias.path);
  }
  cli_put_lines(stderr, rest, strlen(rest), true);
  (void)fputc('\n', stderr);
  if (text != room) free(text);
}

int cli_usage(const cli_command *command, const char *fmt, ...) {
  char label[64];
  (void)snprintf(label, sizeof label, "ingot %s: ", command->name);
  va_list ap;
  va_start(ap, fmt);
  vsay(CLI_RED, label, fmt, ap);
  va_end(ap);
  cli_put(stderr, CLI_PLAIN, "usage: ingot %s %s\n       ingot %s --help has details\n",
          command->name, command->arguments, command->name);
  return CLI_USAGE;
}

int cli_error(int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsay(CLI_RED, "ingot: ", fmt, ap);
  va_end(ap);
  return code;
}

void cli_warn(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsay(CLI_YELLOW, "ingot: note: ", fmt, ap);
  va_end(ap);
}

int cli_fail(const ig_ctx *c, const char *file, int code) {
  const char *text = ig_ctx_error(c);
  bool named = !file || (strncmp(text, file, strlen(file)) == 0 && text[strlen(file)] == ':');
  if (ig_ctx_status(c) == IG_IO) code = CLI_IO;
  ig_status st = ig_ctx_status(c);
  if (st == IG_NOMEM || st == IG_LIMIT || st == IG_CANCELLED) code = CLI_FAILED;
  const ig_explanation *e = ig_ctx_explanation(c);
  return cli_error(code, "%s%s%s%s%s", named ? "" : file, named ? "" : ": ", text,
                   e ? "\n  more: ingot explain " : "", e ? e->code : "");
}

int cli_no_memory(void) {
  return cli_error(CLI_FAILED, "out of memory");
}

void *cli_array(void *old, size_t n, size_t size) {
  size_t bytes = size && n > PTRDIFF_MAX / size ? 0 : n * size;
  return bytes ? realloc(old, bytes) : NULL;
}
