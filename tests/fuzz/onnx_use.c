// SPDX-License-Identifier: Apache-2.0
#include "onnx_use.h"

#include <string.h>

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
  }
  ig_onnx_free(m);
  ig_ctx_clear(c);
}
