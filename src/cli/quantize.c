// SPDX-License-Identifier: Apache-2.0
// ingot quantize: weights as integers of 8 or 4 bits; and calibration inputs, which convert --dtype
// reads too.
#include <stdlib.h>
#include <string.h>

#include "cli/edit.h"
#include "ingot/aten.h"

// ---- runs

static const ig_weight *array_of(const cli_arrays *a, const char *name) {
  for (size_t i = 0; i < a->n; i++)
    if (strcmp(a->list[i].name, name) == 0) return &a->list[i];
  return NULL;
}

// Number of runs that the arrays hold; 0: an error, said already.
static size_t count_runs(const ig_onnx_model *m, const char *path, const cli_arrays *a) {
  size_t runs = 1;
  for (size_t i = 0; i < ig_onnx_inputs(m); i++) {
    ig_onnx_port p;
    if (!ig_onnx_input(m, i, &p)) continue;
    const ig_weight *w = array_of(a, p.name);
    if (!w || !w->tensor) {
      (void)cli_error(CLI_FAILED, "%s: there is no array '%s'; inputs are named as in the model",
                      path, p.name);
      return 0;
    }
    int ndim = ig_tensor_ndim(w->tensor);
    if (p.ndim < 0 || ndim == p.ndim) continue;
    size_t here = ndim == p.ndim + 1 ? (size_t)ig_tensor_size(w->tensor, 0).value : 0;
    if (!here || (runs > 1 && here != runs)) {
      (void)cli_error(CLI_FAILED,
                      "%s: array '%s' has %d dimensions; expected %d, or %d with runs in front",
                      path, p.name, ndim, p.ndim, p.ndim + 1);
      return 0;
    }
    runs = here;
  }
  return runs;
}

int cli_load_runs(ig_ctx *c, const ig_onnx_model *m, const char *path, cli_runs *out) {
  *out = (cli_runs){0};
  int code = cli_load_arrays(c, path, &out->arrays);
  if (code != CLI_OK) return code;
  size_t n = count_runs(m, path, &out->arrays);
  size_t nin = ig_onnx_inputs(m);
  if (!n) return CLI_FAILED;
  out->at = calloc(n, sizeof *out->at);
  out->inputs = calloc(n * nin + 1, sizeof *out->inputs);
  if (!out->at || !out->inputs) return cli_no_memory();
  for (size_t r = 0; r < n; r++) {
    out->at[r] = (ig_edit_run){nin, out->inputs + r * nin};
    for (size_t i = 0; i < nin; i++) {
      ig_onnx_port p = {0};
      (void)ig_onnx_input(m, i, &p);
      ig_tensor *t = array_of(&out->arrays, p.name)->tensor;
      bool part = p.ndim >= 0 && ig_tensor_ndim(t) == p.ndim + 1;
      if (part) t = ig_select_int(c, t, ig_const(0), ig_const((int64_t)r));
      if (!t) return cli_fail(c, path, CLI_FAILED);
      out->inputs[r * nin + i] = (ig_weight){p.name, t, NULL};
    }
  }
  out->n = n;
  return CLI_OK;
}

void cli_free_runs(cli_runs *r) {
  free(r->at);
  free(r->inputs);
  cli_free_arrays(&r->arrays);
}

// ---- the command

static cli_edit e = {.tolerance = {-1, -1}, .loss = 0.5};
static const char *how = "int8";
static const char *calibration;
static long block;
static double percentile;
static cli_texts keep;

static int apply(ig_ctx *c, ig_edit *edit, void *user) {
  cli_runs runs = {0};
  ig_quantize_options o = {.size = sizeof o,
                           .how = *(ig_quantize_how *)user,
                           .block = (int)block,
                           .percentile = percentile,
                           .keep = keep.at,
                           .nkeep = keep.n};
  int code = calibration ? cli_load_runs(c, ig_edit_model(edit), calibration, &runs) : CLI_OK;
  o.runs = runs.at;
  o.nruns = runs.n;
  if (code == CLI_OK && ig_edit_quantize(edit, &o) != IG_OK)
    code = cli_fail(c, e.from, CLI_REFUSED);
  cli_free_runs(&runs);
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  static const char *const words[] = {"int8", "int4", "qdq"};
  int found = -1;
  for (int i = 0; i < 3; i++)
    if (strcmp(how, words[i]) == 0) found = i;
  if (found < 0) {
    const char *near = cli_nearest(how, words, 3);
    return cli_usage(&cli_quantize, "--to: '%s' is not one of int8, int4, qdq%s%s%s", how,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
  if (block < 0 || block > 1 << 16) return cli_usage(&cli_quantize, "--block: 16 to 65536");
  ig_quantize_how kind = (ig_quantize_how)found;
  e.from = files[0];
  e.to = files[1];
  e.apply = apply;
  e.user = &kind;
  return cli_edit_run(c, &e);
}

static const cli_option options[] = {
    {"--to", NULL, "KIND", CLI_TEXT, &how,
     "int8: weights, a scale per channel (default); int4: weights of\nmatrix products, a scale per "
     "block; qdq: weights and activations"},
    {"--calibrate", NULL, "FILE", CLI_TEXT, &calibration,
     "inputs by name (.npz); arrays with one more dimension in front\nhold several runs; needed "
     "for "
     "qdq, otherwise for errors of layers"},
    {"--percentile", NULL, "P", CLI_REAL, &percentile,
     "of the absolute values that the range of an activation covers\n(default 100: all)"},
    {"--block", NULL, "N", CLI_INT, &block, "weights of int4 that share a scale (default 32)"},
    {"--keep", NULL, "NAME", CLI_TEXTS, &keep,
     "a node, operator or module that stays as it is; * stands for any\ntext; may be given several "
     "times"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example examples[] = {
    {"ingot quantize model.onnx small.onnx", "weights of 8 bits"},
    {"ingot quantize model.onnx small.onnx --to int4 --block 64", "of 4 bits; opset 21 or newer"},
    {"ingot quantize model.onnx q.onnx --to qdq --calibrate images.npz --percentile 99.99",
     "activations too"},
};
const cli_command cli_quantize = {
    .name = "quantize",
    .arguments = "FILE OUT [--to KIND] [--calibrate FILE] [OPTIONS]",
    .summary = "an ONNX model with weights of 8 or 4 bits",
    .details =
        "Weights of layers become integers behind DequantizeLinear; with qdq activations are\n"
        "rounded too, in the ranges that the calibration inputs show. Prints the error of every\n"
        "weight, and with calibration inputs that of every layer's result.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 2,
    .run = run,
};
