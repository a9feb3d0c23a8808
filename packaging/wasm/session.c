// SPDX-License-Identifier: Apache-2.0
// What JavaScript calls: a model in memory and one session, by numbers and texts only. ingot.js
// makes objects of it.
#include <stdlib.h>
#include <string.h>

#include <emscripten.h>

#include "ingot/aten.h"
#include "ingot/model.h"

typedef struct handle {
  ig_ctx *c;
  ig_model *m;
  ig_session *s;
  ig_scope scope;  // outputs in another layout
} handle;

// `data` belongs to the handle from now on. NULL: no memory; see wasm_error for the rest.
EMSCRIPTEN_KEEPALIVE handle *wasm_open(void *data, size_t n) {
  handle *h = calloc(1, sizeof *h);
  if (!h || ig_ctx_create(NULL, &h->c) != IG_OK) {
    free(h);
    return NULL;
  }
  h->scope = ig_scope_open(h->c);
  if (ig_model_open_bytes(h->c, "model", data, n, NULL, &h->m) == IG_OK) {
    (void)!ig_session_create(h->c, h->m, &h->s);
  }
  return h;
}

EMSCRIPTEN_KEEPALIVE void wasm_close(handle *h) {
  ig_session_free(h->s);
  ig_model_free(h->m);
  ig_scope_close(h->c, h->scope);
  ig_ctx_free(h->c);
  free(h);
}

// The first error, "" without one; it is forgotten.
EMSCRIPTEN_KEEPALIVE const char *wasm_error(handle *h) {
  static char text[1024];
  text[0] = 0;
  if (ig_ctx_status(h->c) != IG_OK) (void)strncpy(text, ig_ctx_error(h->c), sizeof text - 1);
  ig_ctx_clear(h->c);
  return text;
}

static const ig_model_port *port(const handle *h, int output, size_t i, size_t *n) {
  const ig_model_port *const *ports = NULL;
  *n = !h->s ? 0 : output ? ig_model_outputs(h->m, &ports) : ig_model_inputs(h->m, &ports);
  return i < *n ? ports[i] : NULL;
}

EMSCRIPTEN_KEEPALIVE size_t wasm_count(const handle *h, int output) {
  size_t n;
  (void)port(h, output, 0, &n);
  return n;
}

EMSCRIPTEN_KEEPALIVE const char *wasm_name(const handle *h, int output, size_t i) {
  size_t n;
  const ig_model_port *p = port(h, output, i, &n);
  return p ? p->name : "";
}

EMSCRIPTEN_KEEPALIVE const char *wasm_dtype(const handle *h, int output, size_t i) {
  size_t n;
  const ig_model_port *p = port(h, output, i, &n);
  return p && p->kind == IG_KIND_TENSOR && p->dtype < IG_DTYPE_COUNT ? ig_dtype_text(p->dtype) : "";
}

// -1: not known. sizes, if not NULL, gets them.
EMSCRIPTEN_KEEPALIVE int wasm_sizes(const handle *h, size_t i, double *sizes) {
  size_t n;
  const ig_model_port *p = port(h, 0, i, &n);
  if (!p || p->kind != IG_KIND_TENSOR) return -1;
  for (int d = 0; sizes && d < p->ndim; d++) sizes[d] = (double)p->dims[d]->value;
  return p->ndim;
}

// The elements stay the caller's, and must stay until the run.
EMSCRIPTEN_KEEPALIVE int wasm_set(handle *h, size_t i, const double *sizes, int ndim,
                                  const void *data, size_t bytes) {
  int64_t whole[IG_MAX_DIM];
  size_t n;
  const ig_model_port *p = port(h, 0, i, &n);
  if (!p || ndim < 0 || ndim > IG_MAX_DIM) return 0;
  for (int d = 0; d < ndim; d++) whole[d] = (int64_t)sizes[d];
  return ig_session_bind(h->s, p->name, whole, ndim, data, bytes) == IG_OK;
}

EMSCRIPTEN_KEEPALIVE int wasm_run(handle *h) {
  ig_scope_close(h->c, h->scope);
  h->scope = ig_scope_open(h->c);
  return ig_session_run(h->s) == IG_OK;
}

// The elements of an output in row-major order, until the next run; NULL: it is no tensor.
EMSCRIPTEN_KEEPALIVE const void *wasm_output(handle *h, size_t i, double *sizes, int *ndim,
                                             size_t *bytes) {
  const ig_value *v = ig_session_output_at(h->s, i);
  if (!v || v->kind != IG_KIND_TENSOR) return NULL;
  const ig_tensor *t = ig_contiguous(h->c, v->tensor);
  if (!t) return NULL;
  *ndim = ig_tensor_ndim(t);
  for (int d = 0; d < *ndim; d++) sizes[d] = (double)ig_tensor_size(t, d).value;
  *bytes = (size_t)ig_tensor_numel(t) * ig_dtype_size(ig_tensor_dtype(t));
  return ig_tensor_data(t);
}
