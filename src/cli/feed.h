// SPDX-License-Identifier: Apache-2.0
// Inputs of a run, and comparing its outputs.
#ifndef CLI_FEED_H_
#define CLI_FEED_H_

#include "cli/cli.h"
#include "ingot/diff.h"

// ---- inputs (feed.c)

typedef struct cli_feed {
  const char *arrays;  // a file of arrays by name; NULL: none
  cli_texts single;    // "NAME=FILE"
  cli_texts sizes;     // "NAME=N"
  bool random;
  bool fallback;  // random numbers rather than an error, if there are no examples either
  long seed;
} cli_feed;

// The options for it, for the tables of commands.
#define CLI_FEED_INPUTS_HELP \
  "arrays by name: .npz, .safetensors, ...; by position\nif no name matches"
#define CLI_FEED_INPUT_HELP \
  "one input from a .npy, or its value if it is a number; may be\ngiven several times"
#define CLI_FEED_RANDOM_HELP \
  "random numbers for inputs that are not given: floats in -1..1,\nintegers 0 or 1"
#define CLI_FEED_SIZE_HELP "a dynamic size for random inputs, by its name in ingot info"
// clang-format off
#define CLI_FEED_OPTIONS(f)                                                    \
  {"--inputs", "-i", "FILE", CLI_TEXT, &(f).arrays, CLI_FEED_INPUTS_HELP},     \
  {"--input", NULL, "NAME=FILE", CLI_TEXTS, &(f).single, CLI_FEED_INPUT_HELP}, \
  {"--random", "-r", NULL, CLI_SWITCH, &(f).random, CLI_FEED_RANDOM_HELP},     \
  {"--size", NULL, "NAME=N", CLI_TEXTS, &(f).sizes, CLI_FEED_SIZE_HELP},       \
  {"--seed", NULL, "N", CLI_INT, &(f).seed, "of --random (default 0)"}
// clang-format on

// Gives the session its inputs; without any option, the example inputs of the file, if it has any.
int cli_feed_session(ig_ctx *c, const ig_model *m, ig_session *s, const cli_feed *f);

// Arrays of a file by name. Must be freed even if loading failed.
typedef struct cli_arrays {
  ig_model *file;
  ig_weight *list;
  size_t n;
} cli_arrays;
int cli_load_arrays(ig_ctx *c, const char *path, cli_arrays *out);
void cli_free_arrays(cli_arrays *a);
// t, or a view with another dtype of that width: NumPy files store bfloat16 as uint16.
ig_tensor *cli_as_dtype(ig_ctx *c, ig_tensor *t, ig_dtype dtype);
// A number as a 0-d tensor (dtype IG_DTYPE_COUNT: int64 or float64); NULL: not a number.
ig_tensor *cli_as_tensor(ig_ctx *c, const ig_value *v, ig_dtype dtype);
ig_tensor *cli_dense(ig_ctx *c, ig_tensor *t);  // row-major
// "arg0", "out3", "mut_buf.x": a name of files that hold inputs and results together.
bool cli_is_golden_name(const char *name);
// The name of an output in files: its name, mut_buf.NAME, mut_argN; into text, returns text.
// The sizes of --size, one of `out` per word, names into `names`. CLI_OK, or an exit code.
int cli_read_sizes(const ig_model *m, const cli_texts *words, ig_dim_value *out,
                   char (*names)[128]);
const char *cli_output_name(const ig_model *m, size_t i, char *text, size_t cap);

// ---- results (compare.c)

// Tolerances from words "X" or "DTYPE=X", one per dtype; negative: the default. CLI_OK, or an exit
// code.
int cli_tolerances(const cli_command *command, const cli_texts *rtol, const cli_texts *atol,
                   ig_tolerance out[IG_DTYPE_COUNT]);
// clang-format off
#define CLI_TOLERANCE_OPTIONS(r, a, what)                                                      \
  {"--rtol", NULL, "[DTYPE=]X", CLI_TEXTS, &(r), "relative tolerance" what ", of one dtype or\nof all (default by dtype: float32 1e-5)"}, \
  {"--atol", NULL, "[DTYPE=]X", CLI_TEXTS, &(a), "absolute tolerance, the same"}
// clang-format on

void cli_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want, const ig_tolerance *tol,
                 ig_tensor_diff *out);
// NULL: there are none.
void cli_compare_texts(const ig_value *got, const ig_value *want, ig_tensor_diff *out);
// Is it an array of texts? A list of nothing is one of nothing.
bool cli_is_texts(const ig_value *v);
// One line: name, errors, verdict.
void cli_print_diff(FILE *to, const char *name, const ig_tensor_diff *d);
void cli_json_errors(const ig_tensor_diff *d);  // members of the open object
// ulps: IG_ULP_BINS of them, as a member of the object; NULL: none.
void cli_json_diff(const char *name, const ig_tensor_diff *d, const int64_t *ulps);
void cli_print_ulps(const int64_t *ulps);

// ---- writing (sink.c)

// Arrays by name, in the format of the ending: .npz, .npy, .safetensors, .pt; "-" is stdout, .npz.
// Dtypes that NumPy lacks are stored as unsigned integers with the same bits.
int cli_save_arrays(ig_ctx *c, const char *path, const ig_weight *list, size_t n);
// Writes with a function that needs a path, and copies that file to stdout.
int cli_to_stdout(const char *suffix, int (*save)(const char *path, void *user), void *user);
int cli_save_npy(ig_ctx *c, const char *path, ig_tensor *t);
// Says how large the file is; "-" is stdout.
int cli_save_text(const char *path, const char *text);

#endif
