// SPDX-License-Identifier: Apache-2.0
// Fixed and free sizes of inputs. What the model says about its other values is inferred again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "edit/work.h"
#include "onnx/proto_parse.h"

// ---- dimensions by name

static ig_om_dim *own_dims(ig_edit *e, ig_om_type *t) {
  ig_om_dim *dims = ig_ed_push(e, (size_t)t->ndim, sizeof *dims);
  if (dims && t->ndim) memcpy(dims, t->dims, (size_t)t->ndim * sizeof *dims);
  if (dims) t->dims = dims;
  return dims;
}

static ig_om_info *own_infos(ig_edit *e, const ig_om_info *at, size_t n) {
  ig_om_info *to = ig_ed_push(e, n, sizeof *to);
  if (to && n) memcpy(to, at, n * sizeof *to);
  return to;
}

static bool has_shape(const ig_om_type *t) {
  return t->kind == IG_OM_TENSOR_TYPE && t->has_shape;
}

// Does an expression such as "2*batch" contain the name?
static bool mentions(const char *text, const char *name) {
  size_t n = 0;
  for (const char *at = text; (at = ig_ed_find_word(at, &n)); at += n)
    if (n == strlen(name) && memcmp(at, name, n) == 0) return true;
  return false;
}

// Sets every dimension of that name; the number of them.
static size_t set_named(ig_edit *e, const ig_om_info *infos, size_t n, const char *name,
                        int64_t value, const ig_om_info **out) {
  ig_om_info *to = own_infos(e, infos, n);
  size_t found = 0;
  for (size_t i = 0; to && i < n; i++) {
    ig_om_type *t = &to[i].type;
    ig_om_dim *dims = has_shape(t) ? own_dims(e, t) : NULL;
    for (int d = 0; dims && d < t->ndim; d++) {
      if (dims[d].value >= 0 || !dims[d].param) continue;
      bool same = strcmp(dims[d].param, name) == 0;
      if (same) dims[d] = (ig_om_dim){value, NULL, dims[d].denotation};
      if (!same && mentions(dims[d].param, name)) dims[d].param = NULL;
      found += same;
    }
  }
  if (to) *out = to;
  return found;
}

static void set_in_graph(ig_edit *e, ig_om_graph *g, const char *name, int64_t value) {
  (void)set_named(e, g->outputs, g->noutputs, name, value, &g->outputs);
  (void)set_named(e, g->values, g->nvalues, name, value, &g->values);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    for (size_t k = 0; k < g->nodes[i].nattrs; k++) {
      const ig_om_attr *a = &g->nodes[i].attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) {
        ig_om_graph *body = a->graphs[j];
        (void)set_named(e, body->inputs, body->ninputs, name, value, &body->inputs);
        set_in_graph(e, body, name, value);
      }
    }
  }
}

// "x:0": the dimension of an input; NULL: no such text.
static ig_om_dim *dim_of(ig_edit *e, const char *text) {
  const char *colon = strrchr(text, ':');
  char *end = NULL;
  long d = colon ? strtol(colon + 1, &end, 10) : -1;
  ig_om_graph *g = e->m.graph;
  if (!colon || end == colon + 1 || *end) return NULL;
  for (size_t i = 0; i < g->ninputs; i++) {
    const ig_om_info *info = &g->inputs[i];
    size_t n = strlen(info->name);
    if (n != (size_t)(colon - text) || strncmp(info->name, text, n) != 0) continue;
    if (!has_shape(&info->type) || d >= info->type.ndim || d < -info->type.ndim) return NULL;
    ig_om_info *inputs = own_infos(e, g->inputs, g->ninputs);
    ig_om_dim *dims = inputs ? own_dims(e, &inputs[i].type) : NULL;
    if (!dims) return NULL;
    g->inputs = inputs;
    return &dims[d < 0 ? d + info->type.ndim : d];
  }
  return NULL;
}

static void list_dims(ig_edit *e, const char **names, size_t most, size_t *n) {
  const ig_om_graph *g = e->m.graph;
  for (size_t i = 0; i < g->ninputs; i++) {
    const ig_om_type *t = &g->inputs[i].type;
    for (int d = 0; has_shape(t) && d < t->ndim && *n + 1 < most; d++) {
      if (t->dims[d].value < 0 && t->dims[d].param && *t->dims[d].param)
        names[(*n)++] = t->dims[d].param;
      names[(*n)++] = ig_ed_text(e, "%s:%d", g->inputs[i].name, d);
    }
  }
}

static ig_status no_dim(ig_edit *e, const char *name) {
  enum { MOST = 512 };
  const char *names[MOST];
  size_t n = 0;
  list_dims(e, names, MOST, &n);
  return ig_ed_unknown(e, "size", name, names, n);
}

// Types of results are inferred from the new inputs.
static ig_status infer_again(ig_edit *e) {
  e->m.graph->nvalues = 0;
  IG_RETURN_IF_ERR(ig_ed_end(e));
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  return ig_ed_end(e);
}

static ig_status fix_one(ig_edit *e, const ig_dim_value *size) {
  ig_om_graph *g = e->m.graph;
  if (size->value < 0)
    return ig_fail(e->c, IG_INVALID, "%s: size '%s': found %lld, expected a size", e->m.name,
                   size->name, (long long)size->value);
  ig_om_dim *one = dim_of(e, size->name);
  const char *name = one ? (one->value < 0 ? one->param : NULL) : size->name;
  if (one && one->value >= 0 && one->value != size->value)
    return ig_fail(e->c, IG_INVALID, "%s: size '%s' is %lld already; free it first", e->m.name,
                   size->name, (long long)one->value);
  if (one) *one = (ig_om_dim){size->value, NULL, one->denotation};
  size_t found = 0;
  if (name && *name) {
    found = set_named(e, g->inputs, g->ninputs, name, size->value, &g->inputs);
    if (found || one) set_in_graph(e, g, name, size->value);
  }
  return found || one ? e->c->status : no_dim(e, size->name);
}

ig_status ig_edit_fix_sizes(ig_edit *e, const ig_dim_value *sizes, size_t n) {
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  for (size_t i = 0; i < n; i++) IG_RETURN_IF_ERR(fix_one(e, &sizes[i]));
  return infer_again(e);
}

// ---- free sizes

// A constant shape that repeats the number of a freed dimension: 0 takes it from the operand.
static void loosen(ig_ed_work *w, ig_om_node *n) {
  enum { MOST = 32 };
  size_t count = 0;
  const ig_ed_value *x = ig_ed_val(w, ig_ed_in(n, 0));
  const ig_ed_value *shape = ig_ed_val(w, ig_ed_in(n, 1));
  if (!ig_ed_is(n, "Reshape") || shape->in || ig_ed_int(n, "allowzero", 0)) return;
  const int64_t *at = ig_ed_known_ints(w, shape->name, &count);
  int64_t numbers[MOST];
  bool loose = false;
  bool minus = false;
  if (!at || count > MOST || x->ndim < 0) return;
  for (size_t i = 0; i < count; i++) minus |= at[i] == -1;
  for (size_t i = 0; i < count; i++) {
    bool freed = at[i] > 0 && (int)i < x->ndim && x->exprs[i];
    numbers[i] = freed ? 0 : at[i];
    loose |= freed;
  }
  // Otherwise the first dimension, which may hold a product of freed ones.
  bool symbolic = false;
  for (int d = 0; d < x->ndim; d++) symbolic |= x->exprs[d] != NULL;
  if (!loose && symbolic && !minus && count > 0) {
    numbers[0] = -1;
    loose = true;
  }
  if (!loose) return;
  ig_ed_set_input(w->e, n, 1, ig_ed_const_ints(w, numbers, count, n->outputs[0]));
  w->changed = true;
}

static ig_status loosen_all(ig_edit *e, bool *changed) {
  ig_scope s = ig_scope_open(e->c);
  ig_ed_work w = {.e = e, .g = e->m.graph};
  if (ig_ed_work_open(&w) == IG_OK) {
    for (size_t i = 0; i < w.g->nnodes && ig_ed_ok(e); i++) {
      ig_om_node n = w.g->nodes[i];
      loosen(&w, &n);  // what follows one that changes is known in the next round
      if (!ig_vec_push(e->c->alloc, &w.nodes, n)) ig_ed_no_memory(e);
    }
  }
  *changed = w.changed;
  ig_status st = ig_ed_work_close(&w);
  ig_scope_close(e->c, s);
  return st;
}

static void forget_sizes(ig_edit *e, ig_om_info *infos, size_t n) {
  for (size_t i = 0; infos && i < n; i++) {
    ig_om_type *t = &infos[i].type;
    ig_om_dim *dims = has_shape(t) ? own_dims(e, t) : NULL;
    for (int d = 0; dims && d < t->ndim; d++) dims[d] = (ig_om_dim){-1, NULL, NULL};
  }
}

// The model with other numbers in place of the freed dimensions must have valid shapes.
static ig_status try_sizes(ig_edit *e, const ig_free_size *sizes, size_t n, int64_t value) {
  ig_onnx_model m = e->m;
  m.arena = ig_arena_make(e->c->alloc);
  ig_om_graph g = *e->m.graph;
  ig_om_info *inputs = own_infos(e, g.inputs, g.ninputs);
  for (size_t i = 0; inputs && i < g.ninputs; i++) {
    ig_om_type *t = &inputs[i].type;
    ig_om_dim *dims = has_shape(t) ? own_dims(e, t) : NULL;
    for (int d = 0; dims && d < t->ndim; d++)
      for (size_t k = 0; k < n && dims[d].value < 0 && dims[d].param; k++)
        if (strcmp(dims[d].param, sizes[k].name) == 0) dims[d].value = value;
  }
  g.nvalues = 0;
  ig_om_info *outputs = own_infos(e, g.outputs, g.noutputs);
  forget_sizes(e, outputs, g.noutputs);
  if (inputs) g.inputs = inputs;
  if (outputs) g.outputs = outputs;
  m.graph = &g;
  ig_scope s = ig_scope_open(e->c);  // nothing that lies in the model may outlive it
  ig_status st = ig_om_resolve(e->c, &m);
  if (st == IG_OK) st = ig_onnx_check_shapes(e->c, &m);
  ig_scope_close(e->c, s);
  ig_arena_free(&m.arena);
  return st;
}

static ig_status free_one(ig_edit *e, const ig_free_size *size) {
  const char *name = ig_ed_text(e, "%s:%d", size->input, size->dim);
  ig_om_dim *one = ig_ed_ok(e) ? dim_of(e, name) : NULL;
  if (!ig_ed_ok(e)) return e->c->status;
  if (!one) return no_dim(e, name);
  if (!size->name || !*size->name)
    return ig_fail(e->c, IG_INVALID, "%s: size '%s' needs a name", e->m.name, name);
  *one = (ig_om_dim){-1, ig_ed_text(e, "%s", size->name), one->denotation};
  return e->c->status;
}

ig_status ig_edit_free_sizes(ig_edit *e, const ig_free_size *sizes, size_t n) {
  enum { MAX_ROUNDS = 400 };
  static const int64_t tried[] = {3, 5};
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  for (size_t i = 0; i < n; i++) IG_RETURN_IF_ERR(free_one(e, &sizes[i]));
  ig_om_graph *g = e->m.graph;
  ig_om_info *outputs = own_infos(e, g->outputs, g->noutputs);
  forget_sizes(e, outputs, g->noutputs);
  if (outputs) g->outputs = outputs;
  g->nvalues = 0;
  IG_RETURN_IF_ERR(ig_ed_end(e));
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed; round++)
    IG_RETURN_IF_ERR(loosen_all(e, &changed));
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
    ig_status st = try_sizes(e, sizes, n, tried[i]);
    if (st == IG_OK) continue;
    ig_note(e->c, "%s: nodes need the sizes that were to be freed (tried %lld)", e->m.name,
            (long long)tried[i]);
    return st;
  }
  return infer_again(e);
}
