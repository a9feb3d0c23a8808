// SPDX-License-Identifier: Apache-2.0
// ingot extract, rename, fix-size, free-size and split-weights.
#include <stdlib.h>
#include <string.h>

#include "cli/edit.h"

static cli_edit e = {.tolerance = {-1, -1}, .loss = 1e-4, .quiet = true};

static int done(ig_ctx *c, ig_status st) {
  return st == IG_OK ? CLI_OK : cli_fail(c, e.from, CLI_REFUSED);
}

static int start(ig_ctx *c, const char *const *files,
                 int (*apply)(ig_ctx *c, ig_edit *edit, void *user), void *user) {
  e.from = files[0];
  e.to = files[1];
  e.apply = apply;
  e.user = user;
  return cli_edit_run(c, &e);
}

#define FILES(command)                                                                            \
  .options = command##_options, .noptions = sizeof command##_options / sizeof *command##_options, \
  .examples = command##_examples,                                                                 \
  .nexamples = sizeof command##_examples / sizeof *command##_examples, .nfiles = 2

// ---- extract

static cli_texts from;
static cli_texts to;

static int apply_extract(ig_ctx *c, ig_edit *edit, void *user) {
  (void)user;
  const ig_extract_options o = {sizeof o, from.at, from.n, to.at, to.n};
  int code = done(c, ig_edit_extract(edit, &o));
  const ig_onnx_model *m = ig_edit_model(edit);
  ig_onnx_port p;
  for (size_t i = 0; code == CLI_OK && ig_onnx_input(m, i, &p); i++)
    cli_put(stderr, CLI_PLAIN, "  from %s\n", p.name);
  for (size_t i = 0; code == CLI_OK && ig_onnx_output(m, i, &p); i++)
    cli_put(stderr, CLI_PLAIN, "  to   %s\n", p.name);
  return code;
}

static int run_extract(ig_ctx *c, const char *const *files) {
  e.inside = true;
  return start(c, files, apply_extract, NULL);
}

static const cli_option extract_options[] = {
    {"--from", NULL, "NAME", CLI_TEXTS, &from,
     "a value, node or module at which the part begins; may be given\nseveral times (default: the "
     "model's inputs)"},
    {"--to", NULL, "NAME", CLI_TEXTS, &to,
     "a value, node or module with which it ends; may be given several\ntimes (default: the "
     "model's outputs)"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example extract_examples[] = {
    {"ingot extract model.onnx head.onnx --from /pool/Flatten_output_0", "the end of a model"},
    {"ingot extract model.onnx layer.onnx --from encoder.layer.0 --to encoder.layer.0", "a module"},
};
const cli_command cli_extract = {
    .name = "extract",
    .arguments = "FILE OUT [--from NAME] [--to NAME] [OPTIONS]",
    .summary = "a part of an ONNX model",
    .details =
        "Writes the nodes between some values and others, with their weights. The part is run on\n"
        "what the whole model computes at its beginning, and compared with what it computes there.",
    .run = run_extract,
    FILES(extract),
};

// ---- rename

static bool kinds[IG_RENAME_DIM + 1];

typedef struct words {
  const char *const *at;
  const cli_command *command;
} words;

static int apply_rename(ig_ctx *c, ig_edit *edit, void *user) {
  static char names[CLI_MAX_TEXTS][512];
  const words *w = user;
  ig_rename list[CLI_MAX_TEXTS];
  size_t n = 0;
  ig_rename_kind kind = IG_RENAME_ANY;
  for (int k = IG_RENAME_INPUT; k <= IG_RENAME_DIM; k++)
    if (kinds[k]) kind = (ig_rename_kind)k;
  for (; w->at[n] && n < CLI_MAX_TEXTS; n++) {
    const char *value = cli_edit_pair(w->command, w->at[n], names[n], sizeof names[n]);
    if (!value) return CLI_USAGE;
    list[n] = (ig_rename){kind, names[n], value};
  }
  if (!n) return cli_usage(w->command, "what is to be renamed? OLD=NEW");
  return done(c, ig_edit_rename(edit, list, n));
}

static int run_rename(ig_ctx *c, const char *const *files) {
  words w = {files + 2, &cli_rename};
  return start(c, files, apply_rename, &w);
}

static const cli_option rename_options[] = {
    {"--inputs-only", NULL, NULL, CLI_SWITCH, &kinds[IG_RENAME_INPUT], "of inputs alone"},
    {"--outputs-only", NULL, NULL, CLI_SWITCH, &kinds[IG_RENAME_OUTPUT], "of outputs alone"},
    {"--values-only", NULL, NULL, CLI_SWITCH, &kinds[IG_RENAME_VALUE],
     "of values and weights that are neither"},
    {"--nodes", NULL, NULL, CLI_SWITCH, &kinds[IG_RENAME_NODE], "names of nodes"},
    {"--dims", NULL, NULL, CLI_SWITCH, &kinds[IG_RENAME_DIM], "names of dimensions"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example rename_examples[] = {
    {"ingot rename model.onnx out.onnx input.1=image 309=scores", "an input and an output"},
    {"ingot rename model.onnx out.onnx 'encoder.*=enc/*'", "all of a prefix"},
    {"ingot rename model.onnx out.onnx --dims unk__0=batch", "a dimension"},
};
const cli_command cli_rename = {
    .name = "rename",
    .arguments = "FILE OUT OLD=NEW... [OPTIONS]",
    .summary = "other names for inputs, outputs, values, nodes and dimensions",
    .details =
        "One * in OLD stands for any text, and * in NEW for the same text. A name that is\n"
        "taken is an error.",
    .more = true,
    .run = run_rename,
    FILES(rename),
};

// ---- fix-size, free-size

static int read_size(const cli_command *command, const char *word, char *room, size_t size,
                     int64_t *out) {
  const char *value = cli_edit_pair(command, word, room, size);
  char *end = NULL;
  if (!value) return CLI_USAGE;
  *out = strtoll(value, &end, 10);
  return *end ? cli_usage(command, "'%s': '%s' is not a size", word, value) : CLI_OK;
}

static int apply_fix(ig_ctx *c, ig_edit *edit, void *user) {
  static char names[CLI_MAX_TEXTS][512];
  const words *w = user;
  ig_dim_value list[CLI_MAX_TEXTS];
  size_t n = 0;
  for (; w->at[n] && n < CLI_MAX_TEXTS; n++) {
    list[n].name = names[n];
    int code = read_size(w->command, w->at[n], names[n], sizeof names[n], &list[n].value);
    if (code != CLI_OK) return code;
  }
  if (!n) return cli_usage(w->command, "which size? NAME=N or INPUT:DIM=N");
  return done(c, ig_edit_fix_sizes(edit, list, n));
}

static int run_fix(ig_ctx *c, const char *const *files) {
  words w = {files + 2, &cli_fix_size};
  e.turned = true;
  return start(c, files, apply_fix, &w);
}

static const cli_option fix_options[] = {CLI_EDIT_OPTIONS(e)};
static const cli_example fix_examples[] = {
    {"ingot fix-size model.onnx out.onnx batch=1 seq=128", "named sizes"},
    {"ingot fix-size model.onnx out.onnx x:0=1", "a dimension of an input"},
};
const cli_command cli_fix_size = {
    .name = "fix-size",
    .arguments = "FILE OUT NAME=N... [OPTIONS]",
    .summary = "numbers for the dynamic sizes of an ONNX model",
    .details =
        "A size is named as ingot info shows it, or INPUT:DIM. The shapes of all values are\n"
        "inferred again. ingot simplify --fix also computes ahead what follows.",
    .more = true,
    .run = run_fix,
    FILES(fix),
};

static int apply_free(ig_ctx *c, ig_edit *edit, void *user) {
  static char names[CLI_MAX_TEXTS][512];
  const words *w = user;
  ig_free_size list[CLI_MAX_TEXTS];
  size_t n = 0;
  for (; w->at[n] && n < CLI_MAX_TEXTS; n++) {
    const char *value = cli_edit_pair(w->command, w->at[n], names[n], sizeof names[n]);
    char *colon = value ? strrchr(names[n], ':') : NULL;
    char *end = NULL;
    if (!value) return CLI_USAGE;
    long d = colon ? strtol(colon + 1, &end, 10) : 0;
    if (!colon || end == colon + 1 || *end || d < 0 || d >= IG_MAX_DIM)
      return cli_usage(w->command, "'%s' is not INPUT:DIM=NAME", w->at[n]);
    *colon = 0;
    list[n] = (ig_free_size){names[n], (int)d, value};
  }
  if (!n) return cli_usage(w->command, "which size? INPUT:DIM=NAME");
  return done(c, ig_edit_free_sizes(edit, list, n));
}

static int run_free(ig_ctx *c, const char *const *files) {
  words w = {files + 2, &cli_free_size};
  return start(c, files, apply_free, &w);
}

static const cli_option free_options[] = {CLI_EDIT_OPTIONS(e)};
static const cli_example free_examples[] = {
    {"ingot free-size model.onnx out.onnx x:0=batch", "any batch"},
};
const cli_command cli_free_size = {
    .name = "free-size",
    .arguments = "FILE OUT INPUT:DIM=NAME... [OPTIONS]",
    .summary = "a dynamic size in place of a number",
    .details =
        "Shapes of Reshape that repeat the number take the size of their operand. The model\n"
        "must have valid shapes at other sizes too; otherwise the error names the nodes that\n"
        "need the number. The result is compared at the original sizes.",
    .more = true,
    .run = run_free,
    FILES(free),
};

// ---- split-weights

static long least = 1024;
static bool whole;

static int apply_nothing(ig_ctx *c, ig_edit *edit, void *user) {
  (void)c;
  (void)edit;
  (void)user;
  return CLI_OK;
}

static int run_split(ig_ctx *c, const char *const *files) {
  if (least < 0) return cli_usage(&cli_split_weights, "--min-size: not a size");
  e.external = whole ? IG_ONNX_EXTERNAL_NEVER : IG_ONNX_EXTERNAL_ALWAYS;
  e.least = whole ? 0 : (uint64_t)least + 1;
  return start(c, files, apply_nothing, NULL);
}

static const cli_option split_options[] = {
    {"--min-size", NULL, "BYTES", CLI_INT, &least,
     "weights of at least so many bytes are stored in OUT.data\n(default 1024)"},
    {"--join", NULL, NULL, CLI_SWITCH, &whole, "the other way: everything in one file, up to 2 GB"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example split_examples[] = {
    {"ingot split-weights model.onnx out.onnx", "weights in out.onnx.data"},
    {"ingot split-weights out.onnx one.onnx --join", "in one file again"},
};
const cli_command cli_split_weights = {
    .name = "split-weights",
    .arguments = "FILE OUT [--min-size BYTES] [--join]",
    .summary = "the weights of an ONNX model in a file beside it, or back",
    .details =
        "Weights are aligned, so that programs can map them. The result is run and compared.",
    .run = run_split,
    FILES(split),
};
