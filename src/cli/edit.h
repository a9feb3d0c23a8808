// SPDX-License-Identifier: Apache-2.0
// Commands that change ONNX models: open, edit, write under a temporary name, check the result
// against the original, keep it.
#ifndef CLI_EDIT_H_
#define CLI_EDIT_H_

#include "cli/feed.h"
#include "ingot/edit.h"

typedef struct cli_edit {
  const char *from;
  const char *to;
  // Changes the model. CLI_OK, or an exit code after printing the error.
  int (*apply)(ig_ctx *c, ig_edit *e, void *user);
  void *user;
  // Instead of the usual check; NULL: that.
  int (*check)(ig_ctx *c, struct cli_edit *e, const char *path);
  ig_onnx_external external;
  uint64_t
      least;  // weights of at least this are in a file beside it, plus 1; 0: as `external` says
  bool no_check;
  bool inside;  // the result is a part: its inputs and outputs are values of the original
  bool turned;  // inputs are made for the result and given to the original
  bool sizes;   // compare at several sizes of dynamic dimensions
  bool quiet;   // no table of operators
  double loss;  // errors relative to the largest result that are no difference
  cli_feed feed;
  ig_tolerance tolerance;
} cli_edit;

// The options for it, for the tables of commands.
// clang-format off
#define CLI_EDIT_OPTIONS(e)                                                                   \
  {"--no-check", NULL, NULL, CLI_SWITCH, &(e).no_check, "do not run both models and compare"}, \
  CLI_FEED_OPTIONS((e).feed),                                                                 \
  {"--rtol", NULL, "X", CLI_REAL, &(e).tolerance.rtol, "relative tolerance of the check"},    \
  {"--atol", NULL, "X", CLI_REAL, &(e).tolerance.atol,                                        \
   "absolute tolerance of the check (default: by the largest\nelement of an output)"}
// clang-format on

int cli_edit_run(ig_ctx *c, cli_edit *e);
// Prints one line; do they agree? NULL: there is no such value.
bool cli_edit_compare(ig_ctx *c, const cli_edit *e, const char *name, ig_tensor *got,
                      ig_tensor *want);
// Runs of a file of calibration inputs: arrays with one more dimension in front than the inputs, or
// one run. Must be freed even if loading failed.
typedef struct cli_runs {
  cli_arrays arrays;
  ig_edit_run *at;
  size_t n;
  ig_weight *inputs;
} cli_runs;
int cli_load_runs(ig_ctx *c, const ig_onnx_model *m, const char *path, cli_runs *out);
void cli_free_runs(cli_runs *r);
// "NAME=VALUE" -> name into room, the value's text; NULL: no such word, said already.
const char *cli_edit_pair(const cli_command *command, const char *word, char *room, size_t size);
void cli_edit_notes(const ig_edit *e, size_t most);  // to stderr

#endif
