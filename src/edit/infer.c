// SPDX-License-Identifier: Apache-2.0
// Inferred types in the model: of values, and of outputs where they say more than the model does.
#include "onnx_read/infer.h"

#include <string.h>

#include "edit/edit.h"

typedef struct inferring {
  ig_edit *e;
  ig_map at;  // by name
} inferring;

static void on_type(void *user, const char *name, int elem, int ndim, const int64_t *dims,
                    const char *const *texts) {
  inferring *f = user;
  ig_om_type *t = ig_ed_push(f->e, 1, sizeof *t);
  ig_om_dim *to = ig_ed_push(f->e, ndim > 0 ? (size_t)ndim : 0, sizeof *to);
  ig_map_value *at = ig_ed_put(f->e, &f->at, name);
  if (!t || !to || !at) return;
  for (int d = 0; d < ndim; d++) {
    bool named = dims[d] < 0 && texts[d] && *texts[d];
    to[d] = (ig_om_dim){dims[d], named ? ig_ed_text(f->e, "%s", texts[d]) : NULL, NULL};
  }
  *t = (ig_om_type){.kind = IG_OM_TENSOR_TYPE,
                    .elem = elem,
                    .has_shape = ndim >= 0,
                    .ndim = ndim > 0 ? ndim : 0,
                    .dims = to};
  at->ptr = t;
}

// Declared names of dimensions are kept where the size is not a number.
static ig_om_type merged(ig_edit *e, const ig_om_type *found, const ig_om_type *said) {
  ig_om_type t = *found;
  t.denotation = said->denotation;
  if (said->kind != IG_OM_TENSOR_TYPE || !said->has_shape) return t;
  if (!t.has_shape || said->ndim != t.ndim) return *said;
  ig_om_dim *dims = ig_ed_push(e, (size_t)t.ndim, sizeof *dims);
  for (int d = 0; dims && d < t.ndim; d++) {
    dims[d] = found->dims[d];
    if (dims[d].value < 0 && !dims[d].param) dims[d] = said->dims[d];
    dims[d].denotation = said->dims[d].denotation;
  }
  t.dims = dims;
  return dims ? t : *found;
}

static bool is_plain(const ig_om_type *t) {
  return t->kind == IG_OM_TENSOR_TYPE || t->kind == IG_OM_NO_TYPE;
}

static void write_types(inferring *f) {
  ig_om_graph *g = f->e->m.graph;
  ig_om_info *outputs = ig_ed_push(f->e, g->noutputs, sizeof *outputs);
  ig_om_info *values = ig_ed_push(f->e, ig_mem_add(g->nvalues, f->at.n), sizeof *values);
  size_t n = 0;
  for (size_t i = 0; outputs && i < g->noutputs; i++) {
    ig_map_value *at = ig_map_find(&f->at, g->outputs[i].name);
    outputs[i] = g->outputs[i];
    if (!at || !at->ptr || !is_plain(&outputs[i].type)) continue;
    outputs[i].type = merged(f->e, at->ptr, &outputs[i].type);
    at->ptr = NULL;
  }
  for (size_t i = 0; values && i < g->nvalues; i++) {
    ig_map_value *at = ig_map_find(&f->at, g->values[i].name);
    values[n] = g->values[i];
    if (at && at->ptr && is_plain(&values[n].type)) {
      values[n].type = merged(f->e, at->ptr, &values[n].type);
      at->ptr = NULL;
    }
    n++;
  }
  for (size_t i = 0; values && i < g->nnodes; i++) {
    for (size_t k = 0; k < g->nodes[i].noutputs; k++) {
      ig_map_value *at = ig_map_find(&f->at, g->nodes[i].outputs[k]);
      if (!at || !at->ptr) continue;
      values[n++] =
          (ig_om_info){.name = g->nodes[i].outputs[k], .doc = "", .type = *(ig_om_type *)at->ptr};
      at->ptr = NULL;
    }
  }
  if (!outputs || !values) return;
  g->outputs = outputs;
  g->values = values;
  g->nvalues = n;
}

ig_status ig_ed_infer(ig_edit *e) {
  inferring f = {e, ig_map_make(e->c->alloc)};
  ig_status st = ig_rd_infer(e->c, &e->m, &(ig_rd_infer_sink){.user = &f, .type = on_type});
  if (st == IG_OK) write_types(&f);
  ig_map_free(&f.at);
  return st == IG_OK ? e->c->status : st;
}
