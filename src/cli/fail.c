// SPDX-License-Identifier: Apache-2.0
// Saying what is wrong: "ingot: file: what, where, found, expected, what to do", on stderr.
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

static void vsay(cli_style style, const char *label, const char *fmt, va_list ap) {
  cli_stage_end();
  (void)fflush(stdout);
  cli_put(stderr, style, "%s", label);
  (void)vfprintf(stderr, fmt, ap);
  (void)fputc('\n', stderr);
}

int cli_usage(const cli_command *command, const char *fmt, ...) {
  char label[64];
  (void)snprintf(label, sizeof label, "ingot %s: ", command->name);
  va_list ap;
  va_start(ap, fmt);
  vsay(CLI_RED, label, fmt, ap);
  va_end(ap);
  (void)fprintf(stderr, "usage: ingot %s %s\n       ingot %s --help tells more\n", command->name,
                command->arguments, command->name);
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
  if (ig_ctx_status(c) == IG_NOMEM) code = CLI_FAILED;
  return cli_error(code, "%s%s%s", named ? "" : file, named ? "" : ": ", text);
}

int cli_no_memory(void) {
  return cli_error(CLI_FAILED, "out of memory");
}
