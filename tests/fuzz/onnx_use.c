// SPDX-License-Identifier: Apache-2.0
#include "onnx_use.h"

#include <string.h>

#include "ingot/edit.h"
#include "onnx_read/session.h"

enum { MAX_BYTES = 1 << 20, MAX_WORK = 200000, MAX_NODES = 300, MAX_CONVERTED = 1500 };

// Inputs of zeros, as the model declares them; dynamic dimensions are 2.
static ig_rd_value *make_input(ig_rd *r, const ig_om_info *info) {
  const ig_om_type *t = &info->type;
  int64_t dims[IG_MAX_DIM];
  if (t->kind == IG_OM_SEQUENCE_TYPE) return ig_rd_of_items(r, IG_RD_SEQUENCE, NULL, 0);
  if (t->kind == IG_OM_OPTIONAL_TYPE) return ig_rd_of_items(r, IG_RD_OPTIONAL, NULL, 0);
  int64_t total = 1;
  for (int d = 0; d < t->ndim; d++) {
    dims[d] = t->dims[d].value < 0 ? 2 : t->dims[d].value > 64 ? 64 : t->dims[d].value;
    if (!ig_checked_mul(total, dims[d], &total) || total > MAX_BYTES) return NULL;
  }
  if (t->elem == IG_OM_STRING) {
    ig_bytes *texts = ig_scope_push(r->c, (size_t)total * sizeof *texts + 1);
    for (int64_t i = 0; texts && i < total; i++) texts[i] = (ig_bytes){(const uint8_t *)"a b", 3};
    return texts ? ig_rd_of_strings(r, texts, (size_t)total, dims, t->ndim) : NULL;
  }
  ig_dtype dtype = ig_rd_carrier(t->elem);
  ig_tensor *x = dtype == IG_DTYPE_COUNT ? NULL : ig_rd_real(r, dtype, dims, t->ndim);
  if (x) memset(ig_tensor_data(x), 0, (size_t)total * ig_dtype_size(dtype));
  return ig_rd_of_tensor(r, x, t->elem);
}

static void run(ig_ctx *c, const ig_onnx_model *m) {
  ig_rd r;
  if (ig_rd_init(&r, c, m) == IG_OK) {
    r.bytes_limit = MAX_BYTES;
    const ig_om_graph *g = m->graph;
    ig_rd_value **in = ig_scope_push(c, g->ninputs * sizeof *in + 1);
    ig_rd_value **outs = ig_scope_push(c, g->noutputs * sizeof *outs + 1);
    bool ok = in && outs;
    for (size_t i = 0; ok && i < g->ninputs; i++) {
      in[i] = g->input_defaults[i] ? NULL : make_input(&r, &g->inputs[i]);
      ok = g->input_defaults[i] || in[i];
    }
    if (ok) (void)ig_rd_graph(&r, g, in, g->ninputs, outs);
  }
  ig_rd_done(&r);
}

// Every operation on the model, by turns: what one makes is a model for the next.
static void edit(ig_ctx *c, ig_onnx_model *m, int opset) {
  ig_edit *e = NULL;
  ig_onnx_port in = {0};
  const char *from[] = {"a"};
  const ig_dim_value fixed = {"n", 2};
  const ig_rename names[] = {{IG_RENAME_ANY, "*", "r*"}, {IG_RENAME_NODE, "*", "n*"}};
  const ig_simplify_options simplify = {.size = sizeof simplify, .max_folded = MAX_BYTES};
  const ig_dtype_options dtype = {.size = sizeof dtype, .dtype = opset & 1 ? IG_F16 : IG_BF16};
  const ig_quantize_options quantize = {.size = sizeof quantize,
                                        .how = opset & 2 ? IG_QUANTIZE_INT8 : IG_QUANTIZE_INT4};
  const ig_merge_options merge = {.size = sizeof merge, .prefix = opset & 4 ? "b/" : NULL};
  ig_extract_options extract = {.size = sizeof extract, .from = from};
  if (ig_onnx_input(m, 0, &in)) from[0] = in.name;
  extract.nfrom = in.name && opset & 8 ? 1 : 0;
  const ig_free_size freed = {in.name ? in.name : "x", 0, "n"};
  for (int step = 0; step < 8; step++) {
    ig_scope s = ig_scope_open(c);
    ig_status st = ig_edit_of(c, m, &e);
    if (st == IG_OK && step == 0) st = ig_edit_simplify(e, &simplify);
    if (st == IG_OK && step == 1) st = ig_edit_dtype(e, &dtype);
    if (st == IG_OK && step == 2) st = ig_edit_quantize(e, &quantize);
    if (st == IG_OK && step == 3) st = ig_edit_extract(e, &extract);
    if (st == IG_OK && step == 4) st = ig_edit_rename(e, names, 2);
    if (st == IG_OK && step == 5) st = ig_edit_merge(e, m, &merge);
    if (st == IG_OK && step == 6) st = ig_edit_free_sizes(e, &freed, 1);
    if (st == IG_OK && step == 7) st = ig_edit_fix_sizes(e, &fixed, 1);
    ig_sink sink = ig_sink_memory(c->alloc);
    if (st == IG_OK) (void)!ig_edit_write(e, &sink);
    ig_sink_drop(&sink);
    ig_edit_free(e);
    e = NULL;
    ig_scope_close(c, s);
    ig_ctx_clear(c);
  }
}

void fuzz_onnx_use(ig_ctx *c, const uint8_t *data, size_t n, int opset) {
  ig_onnx_model *m = NULL;
  ig_limits limits = {.size = sizeof limits, .max_nodes = MAX_NODES, .max_work = MAX_WORK};
  ig_ctx_set_limits(c, &limits);
  if (ig_onnx_parse(c, "fuzz", data, n, NULL, &limits, &m) == IG_OK) {
    ig_scope s = ig_scope_open(c);
    run(c, m);
    ig_scope_close(c, s);
    ig_ctx_clear(c);
    ig_program *p = NULL;
    bool small = n < MAX_CONVERTED;
    if (small && ig_onnx_program(c, m, &p) == IG_OK) ig_program_free(p);
    ig_ctx_clear(c);
    if (ig_onnx_check(c, m) != IG_OK) ig_ctx_clear(c);
    ig_sink sink = ig_sink_memory(c->alloc);
    if (small && ig_onnx_infer(c, m, data, n, &sink) != IG_OK) ig_ctx_clear(c);
    ig_sink_drop(&sink);
    sink = ig_sink_memory(c->alloc);
    if (small && ig_onnx_convert(c, m, opset, IG_ONNX_EXTERNAL_NEVER, NULL, &sink) != IG_OK)
      ig_ctx_clear(c);
    ig_sink_drop(&sink);
    if (small) edit(c, m, opset);
  }
  ig_onnx_free(m);
  ig_ctx_clear(c);
}
