// SPDX-License-Identifier: Apache-2.0
// ingot simplify: fewer nodes with the same results.
#include <stdlib.h>
#include <string.h>

#include "cli/edit.h"

static cli_edit e = {.tolerance = {-1, -1}, .loss = 1e-4, .sizes = true};
static ig_simplify_options o = {.size = sizeof o};
static cli_texts fixed;
static long limit;

static int apply(ig_ctx *c, ig_edit *edit, void *user) {
  (void)user;
  ig_dim_value sizes[CLI_MAX_TEXTS];
  static char names[CLI_MAX_TEXTS][160];

  for (size_t i = 0; i < fixed.n; i++) {
    const char *value = cli_edit_pair(&cli_simplify, fixed.at[i], names[i], sizeof names[i]);
    char *end = NULL;
    if (!value) return CLI_USAGE;
    sizes[i] = (ig_dim_value){names[i], strtoll(value, &end, 10)};
    if (*end) return cli_usage(&cli_simplify, "--fix: '%s' is not a size", value);
  }
  o.max_folded = limit > 0 ? (uint64_t)limit << 20 : 0;
  e.turned = fixed.n > 0;
  ig_status st = fixed.n ? ig_edit_fix_sizes(edit, sizes, fixed.n) : IG_OK;
  if (st == IG_OK) st = ig_edit_simplify(edit, &o);
  return st == IG_OK ? CLI_OK : cli_fail(c, e.from, CLI_REFUSED);
}

static int run(ig_ctx *c, const char *const *files) {
  e.from = files[0];
  e.to = files[1];
  e.apply = apply;
  return cli_edit_run(c, &e);
}

static const cli_option options[] = {
    {"--fix", NULL, "NAME=N", CLI_TEXTS, &fixed,
     "fix a dynamic size first, as ingot fix-size does; may be given\nseveral times"},
    {"--max-folded", NULL, "MB", CLI_INT, &limit,
     "do not compute constants ahead that are larger than this (default\n16), unless their "
     "operands are"},
    {"--keep-functions", NULL, NULL, CLI_SWITCH, &o.keep_functions,
     "do not replace calls of the model's functions by their nodes"},
    {"--keep-fused", NULL, NULL, CLI_SWITCH, &o.keep_fused,
     "do not merge nodes into others: BatchNormalization and Pad into\nConv, MatMul and Add into "
     "Gemm"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example examples[] = {
    {"ingot simplify model.onnx small.onnx", "and compare both on random inputs"},
    {"ingot simplify model.onnx small.onnx --fix batch=1", "for one size"},
    {"ingot simplify model.onnx small.onnx -i io.npz", "compare on these inputs"},
};
const cli_command cli_simplify = {
    .name = "simplify",
    .arguments = "FILE OUT [OPTIONS]",
    .summary = "an ONNX model with fewer nodes and the same results",
    .details =
        "Computes constants and shapes ahead, removes nodes that change nothing and repetitions,\n"
        "and merges what one node can say. The result is run beside the original, at several\n"
        "sizes if some are dynamic, and compared; exit code 1 if it disagrees.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 2,
    .run = run,
};
