// SPDX-License-Identifier: Apache-2.0
// A model as a program: its graph is interpreted under a capture. Dimensions with a name are
// symbolic and equal where the names are; those without a name vary if nothing in the graph forbids
// it.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ingot/dims.h"
#include "onnx_read/reader.h"
#include "op/record.h"

// Example sizes: all different, so that no two dimensions are taken for the same by chance, and
// multiples of 32, so that networks that halve their images many times can be captured.
enum { FIRST_HINT = 64, HINT_STEP = 32 };

typedef struct hints {
  ig_map by_name;  // number of a dim_param, from 1
  int64_t next;
} hints;

static int64_t hint_of(ig_rd *r, hints *h, const char *param) {
  if (!param) return FIRST_HINT + HINT_STEP * h->next++;
  ig_map_value *v = ig_map_put(&h->by_name, param);
  if (!v) {
    (void)ig_fail(r->c, IG_NOMEM, "out of memory");
    return FIRST_HINT;
  }
  if (!v->num) v->num = (size_t)++h->next;
  return FIRST_HINT + HINT_STEP * (int64_t)(v->num - 1);
}

static bool is_identifier(const char *s) {
  if (!s || !(isalpha((unsigned char)*s) || *s == '_')) return false;
  for (; *s; s++) {
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  }
  return true;
}

static ig_tensor *declare_input(ig_rd *r, const ig_om_info *info, hints *h, bool strict) {
  int64_t sizes[IG_MAX_DIM];
  ig_dim dims[IG_MAX_DIM];
  const ig_om_type *t = &info->type;
  ig_dtype dtype = ig_rd_carrier(t->elem);
  if (t->kind != IG_OM_TENSOR_TYPE || !t->has_shape || dtype == IG_DTYPE_COUNT) {
    ig_rd_fail(r, IG_UNSUPPORTED,
               "input '%s' is no tensor of known rank: the model can only be run", info->name);
    return NULL;
  }
  for (int d = 0; d < t->ndim; d++) {
    dims[d] = (ig_dim){.kind = IG_DIM_STATIC};
    sizes[d] = t->dims[d].value;
    if (sizes[d] >= 0) continue;
    bool named = strict && is_identifier(t->dims[d].param);
    sizes[d] = hint_of(r, h, t->dims[d].param);
    dims[d] = named ? (ig_dim){.kind = IG_DIM_NAMED, .name = t->dims[d].param, .hi = INT64_MAX}
                    : (ig_dim){.kind = IG_DIM_AUTO};
  }
  ig_tensor *example = ig_rd_real(r, dtype, sizes, t->ndim);
  return example ? ig_capture_input_dims(r->c, info->name, NULL, example, dims) : NULL;
}

// Weights keep their names; integers and the like become constants of the program only if some
// operator reads them.
static bool declare_weights(ig_rd *r, ig_rd_value **values) {
  const ig_om_graph *g = r->m->graph;
  for (size_t i = 0; i < g->ninits && ig_rd_ok(r); i++) {
    values[i] = ig_rd_of_data(r, g->inits[i]);
    ig_tensor *t = values[i] ? values[i]->t : NULL;
    if (t && ig_dtype_is_float(t->dtype)) {
      (void)ig_capture_state(r->c, IG_STATE_PARAMETER, g->inits[i]->name, t);
    }
  }
  for (size_t i = 0; i < g->ninits && ig_rd_ok(r); i++) {
    ig_tensor *t = values[i] ? values[i]->t : NULL;
    if (t && !ig_dtype_is_float(t->dtype)) {
      ig_capture_name(r->c, IG_STATE_CONSTANT, g->inits[i]->name, t);
    }
  }
  return ig_rd_ok(r);
}

static bool declare(ig_rd *r, ig_rd_value **inputs, bool strict) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **weights = ig_scope_push(r->c, g->ninits * sizeof *weights + 1);
  hints h = {.by_name = ig_map_make(r->c->alloc)};
  bool ok = weights && declare_weights(r, weights);
  for (size_t i = 0; ok && i < g->ninputs; i++) {
    inputs[i] = NULL;
    if (g->input_defaults[i]) continue;
    ig_tensor *t = declare_input(r, &g->inputs[i], &h, strict);
    inputs[i] = ig_rd_of_tensor(r, t, g->inputs[i].type.elem);
    ok = inputs[i] != NULL;
  }
  // Initializers take part as inputs of the frame: the tensors that were declared are meant.
  for (size_t k = 0; ok && k < g->ninits; k++) {
    for (size_t i = 0; i < g->ninputs; i++) {
      if (g->input_slots[i] == g->init_slots[k]) inputs[i] = weights[k];
    }
  }
  ig_map_free(&h.by_name);
  r->weights = weights;
  return ok && ig_capture_inputs_done(r->c) == IG_OK;
}

static ig_status capture(ig_rd *r, bool strict, ig_program **out) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **inputs = ig_scope_push(r->c, g->ninputs * sizeof *inputs + 1);
  ig_rd_value **results = ig_scope_push(r->c, g->noutputs * sizeof *results + 1);
  ig_value *outs = ig_scope_push(r->c, g->noutputs * sizeof *outs + 1);
  if (!inputs || !results || !outs) return r->c->status;
  IG_RETURN_IF_ERR(ig_capture_begin(r->c));
  if (declare(r, inputs, strict) && ig_rd_graph(r, g, inputs, g->ninputs, results)) {
    for (size_t i = 0; i < g->noutputs; i++) {
      ig_tensor *t = ig_rd_tensor(r, results[i]);
      outs[i] = ig_of_tensor(t ? ig_record_fake(r->c, t) : NULL);
    }
    (void)ig_capture_solve(r->c, NULL);  // its error is the one that the end returns
  }
  if (!ig_rd_ok(r)) {
    ig_capture_abort(r->c);
    return r->c->status;
  }
  return ig_capture_end_program(r->c, outs, g->noutputs, out);
}

static ig_status try_capture(ig_ctx *c, const ig_onnx_model *m, bool strict, ig_program **out) {
  ig_scope s = ig_scope_open(c);
  ig_rd r;
  ig_status st = ig_rd_init(&r, c, m);
  r.capture = true;
  if (st == IG_OK) st = capture(&r, strict, out);
  ig_rd_done(&r);
  ig_scope_close(c, s);
  return st;
}

ig_status ig_onnx_program(ig_ctx *c, const ig_onnx_model *m, ig_program **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  bool no_grad = c->no_grad;
  c->no_grad = true;
  ig_status st = try_capture(c, m, true, out);
  if (st == IG_USER_ERROR || st == IG_CONSTRAINT) {
    // The graph does not allow its named dimensions to vary: those that cannot are fixed.
    ig_ctx_clear(c);
    st = try_capture(c, m, false, out);
  }
  c->no_grad = no_grad;
  return st;
}
