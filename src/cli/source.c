// SPDX-License-Identifier: Apache-2.0
// Files that the command reads. "-" is stdin, read whole into memory.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static uint8_t *stdin_bytes;  // lives until the process ends: tensors refer to it
static size_t stdin_size;

static int read_stdin(void) {
  size_t cap = 1 << 16;
  if (stdin_bytes) return cli_error(CLI_USAGE, "stdin (-) can be read only once");
  stdin_bytes = malloc(cap);
  while (stdin_bytes) {
    stdin_size += fread(stdin_bytes + stdin_size, 1, cap - stdin_size, stdin);
    if (ferror(stdin)) return cli_error(CLI_IO, "stdin: %s", strerror(errno));
    if (stdin_size < cap) return CLI_OK;
    uint8_t *more = cli_array(stdin_bytes, cap, 2);
    if (!more) free(stdin_bytes);
    stdin_bytes = more;
    cap *= 2;
  }
  return cli_no_memory();
}

static void tell(void *user, const char *stage, uint64_t done, uint64_t total) {
  (void)user;
  if (done == 0) cli_stage(stage, total, "MB");
  cli_step(done);
}

ig_status cli_open_quietly(ig_ctx *c, const char *path, int how, ig_model **out) {
  ig_model_options o = {.size = sizeof o,
                        .inspect = how & CLI_INSPECT,
                        .program = how & CLI_PROGRAM,
                        .progress = tell};
  bool from_stdin = strcmp(path, "-") == 0;
  if (from_stdin && read_stdin() != CLI_OK) return IG_IO;
  ig_status st = from_stdin ? ig_model_open_bytes(c, "<stdin>", stdin_bytes, stdin_size, &o, out)
                            : ig_model_open(c, path, &o, out);
  cli_stage_end();
  return st;
}

int cli_open(ig_ctx *c, const char *path, int how, ig_model **out) {
  if (cli_open_quietly(c, path, how, out) == IG_OK) return CLI_OK;
  if (ig_ctx_status(c) == IG_OK) return CLI_IO;  // already reported: stdin
  return cli_fail(c, strcmp(path, "-") == 0 ? "<stdin>" : path, CLI_REFUSED);
}

int cli_no_program(const ig_model *m) {
  const ig_model_finding *const *list = NULL;
  size_t n = ig_model_findings(m, &list);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i]->where, "program") != 0) continue;
    return cli_error(CLI_REFUSED, "%s: it cannot be converted to a program: %s", ig_model_name(m),
                     list[i]->text);
  }
  return cli_error(CLI_REFUSED,
                   "%s: this %s contains no program; ingot info lists what it contains",
                   ig_model_name(m), ig_model_kind_text(ig_model_get_kind(m)));
}

bool cli_has_suffix(const char *path, const char *suffix) {
  size_t n = strlen(path);
  size_t k = strlen(suffix);
  return n > k && strcmp(path + n - k, suffix) == 0;
}
