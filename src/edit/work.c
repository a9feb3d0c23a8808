// SPDX-License-Identifier: Apache-2.0
#include "edit/work.h"

#include <string.h>

#include "onnx/proto_parse.h"
#include "onnx_read/infer.h"

// ---- values

ig_ed_value *ig_ed_val_put(ig_ed_work *w, const char *name) {
  ig_map_value *at = ig_ed_put(w->e, &w->values, name);
  if (at && !at->ptr) {
    ig_ed_value *v = ig_ed_push(w->e, 1, sizeof *v);
    if (v) *v = (ig_ed_value){.name = name, .ndim = -1};
    at->ptr = v;
  }
  return at ? at->ptr : NULL;
}

const char *ig_ed_name(ig_ed_work *w, const char *name) {
  const ig_map_value *at = *name ? ig_map_find(&w->values, name) : NULL;
  for (const ig_ed_value *v = at ? at->ptr : NULL; v && v->instead;) {
    name = v->instead;
    at = ig_map_find(&w->values, name);
    v = at ? at->ptr : NULL;
  }
  return name;
}

const ig_ed_value *ig_ed_val(ig_ed_work *w, const char *name) {
  static const ig_ed_value nothing = {.name = "", .ndim = -1};
  const ig_map_value *at = *name ? ig_map_find(&w->values, ig_ed_name(w, name)) : NULL;
  return at && at->ptr ? at->ptr : &nothing;
}

const ig_om_node *ig_ed_maker(ig_ed_work *w, const char *name) {
  const ig_ed_value *v = ig_ed_val(w, name);
  return v->made ? &w->nodes.at[v->made - 1] : NULL;
}

const ig_om_node *ig_ed_maker_is(ig_ed_work *w, const char *name, const char *op) {
  const ig_om_node *n = ig_ed_maker(w, name);
  return n && ig_ed_is(n, op) ? n : NULL;
}

// ---- what is known

static void exact(void *user, const char *name, const ig_rd_exact *x) {
  ig_ed_work *w = user;
  ig_ed_value *v = ig_ed_val_put(w, name);
  size_t n = x->ndim > 0 ? (size_t)x->ndim : 0;
  int64_t *dims = ig_ed_push(w->e, n, sizeof *dims);
  const void **exprs = ig_ed_push(w->e, n, sizeof *exprs);
  if (!v || !dims || !exprs) return;
  v->elem = x->elem;
  v->ndim = x->ndim;
  if (n) memcpy(dims, x->dims, n * sizeof *dims);
  if (n) memcpy(exprs, x->exprs, n * sizeof *exprs);
  v->dims = dims;
  v->exprs = exprs;
  if (!x->has_content) return;
  int64_t *content = ig_ed_push(w->e, x->n, sizeof *content);
  const void **content_exprs = ig_ed_push(w->e, x->n, sizeof *content_exprs);
  if (!content || !content_exprs) return;
  if (x->n) memcpy(content, x->content, x->n * sizeof *content);
  if (x->n) memcpy(content_exprs, x->content_exprs, x->n * sizeof *content_exprs);
  v->has_content = true;
  v->n = x->n;
  v->content = content;
  v->content_exprs = content_exprs;
}

static void know_constant(ig_ed_work *w, const ig_om_tensor *t) {
  ig_ed_value *v = ig_ed_val_put(w, t->name);
  if (!v) return;
  v->init = t;
  v->elem = t->elem;
  v->ndim = t->ndim;
  v->dims = t->dims;
  v->exprs = ig_ed_push(w->e, (size_t)t->ndim, sizeof *v->exprs);
}

// Of a sparse weight the type alone: no rule computes with it.
static void know_sparse(ig_ed_work *w, const ig_om_sparse *t) {
  ig_ed_value *v = ig_ed_val_put(w, t->values->name);
  if (!v) return;
  v->elem = t->values->elem;
  v->ndim = t->ndim;
  v->dims = t->dims;
  v->exprs = ig_ed_push(w->e, (size_t)t->ndim, sizeof *v->exprs);
}

// Reads of a node, of those in sub-graphs too.
static void count_reads(ig_ed_work *w, const ig_om_graph *g, bool inner) {
  for (size_t i = 0; inner && i < g->noutputs; i++) {
    ig_ed_value *v = ig_ed_val_put(w, g->outputs[i].name);
    if (v) v->reads++, v->inner = true;
  }
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(w->e); i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->ninputs; k++) {
      ig_ed_value *v = *n->inputs[k] ? ig_ed_val_put(w, n->inputs[k]) : NULL;
      if (v) v->reads++, v->inner |= inner;
    }
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) count_reads(w, a->graphs[j], true);
    }
  }
}

static void note_hidden(ig_ed_work *w, const ig_om_graph *g, bool inner) {
  ig_map *hidden = &w->hidden;
  for (size_t i = 0; inner && i < g->ninputs; i++) (void)ig_ed_put(w->e, hidden, g->inputs[i].name);
  for (size_t i = 0; inner && i < g->ninits; i++) (void)ig_ed_put(w->e, hidden, g->inits[i]->name);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(w->e); i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; inner && k < n->noutputs; k++) (void)ig_ed_put(w->e, hidden, n->outputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) note_hidden(w, a->graphs[j], true);
    }
  }
}

ig_status ig_ed_work_open(ig_ed_work *w) {
  ig_edit *e = w->e;
  ig_om_graph *g = w->g;
  w->values = ig_map_make(e->c->alloc);
  w->hidden = ig_map_make(e->c->alloc);
  w->same = ig_map_make(e->c->alloc);
  IG_RETURN_IF_ERR(ig_rd_infer(e->c, &e->m, &(ig_rd_infer_sink){.user = w, .exact = exact}));
  for (size_t i = 0; i < g->ninits; i++) know_constant(w, g->inits[i]);
  for (size_t i = 0; i < g->nsparse; i++) know_sparse(w, g->sparse[i]);
  for (size_t i = 0; i < g->ninputs; i++) {
    ig_ed_value *v = ig_ed_val_put(w, g->inputs[i].name);
    if (!v) break;
    v->in = true;
    v->init = NULL;  // a default, which a caller may replace
    if (!v->elem) v->elem = g->inputs[i].type.elem;
  }
  for (size_t i = 0; i < g->noutputs; i++) {
    ig_ed_value *v = ig_ed_val_put(w, g->outputs[i].name);
    if (v) v->out = true, v->reads++;
  }
  count_reads(w, g, false);
  note_hidden(w, g, false);
  return e->c->status;
}

// ---- replacing

static void rename_result(ig_ed_work *w, const ig_ed_value *of, const char *to) {
  ig_om_node *n = &w->nodes.at[of->made - 1];
  const char **outputs = ig_ed_push(w->e, n->noutputs, sizeof *outputs);
  for (size_t i = 0; outputs && i < n->noutputs; i++)
    outputs[i] = strcmp(n->outputs[i], of->name) == 0 ? to : n->outputs[i];
  if (outputs) n->outputs = outputs;
}

bool ig_ed_replace(ig_ed_work *w, const char *result, const char *by) {
  ig_ed_value *r = ig_ed_val_put(w, result);
  ig_ed_value *b = ig_ed_val_put(w, ig_ed_name(w, by));
  if (!r || !b || r == b) return false;
  bool hidden = ig_map_find(&w->hidden, b->name) != NULL;
  if (r->inner && hidden) return false;
  if (!r->out) {
    r->instead = b->name;
    b->reads += r->reads;
    b->inner |= r->inner;
    w->changed = true;
    return true;
  }
  // The result's name has to stay: what replaces it takes the name.
  if (!b->made || b->out || b->in || b->init) return false;
  if (b->inner && ig_map_find(&w->hidden, r->name)) return false;
  rename_result(w, b, r->name);
  const char *name = r->name;
  size_t reads = r->reads + b->reads;
  bool inner = r->inner || b->inner;
  *r = *b;
  r->name = name;
  r->reads = reads;
  r->inner = inner;
  r->out = true;
  b->instead = name;
  w->changed = true;
  return true;
}

bool ig_ed_only_first(ig_ed_work *w, const ig_om_node *n) {
  for (size_t i = 1; i < n->noutputs; i++)
    if (*n->outputs[i] && ig_ed_val(w, n->outputs[i])->reads) return false;
  return n->noutputs > 0 && *n->outputs[0];
}

ig_ed_outcome ig_ed_drop(ig_ed_work *w, const ig_om_node *n, const char *by) {
  if (!ig_ed_only_first(w, n) || !*by) return IG_ED_KEPT;
  return ig_ed_replace(w, n->outputs[0], by) ? IG_ED_GONE : IG_ED_KEPT;
}

// ---- constants

const char *ig_ed_constant(ig_ed_work *w, ig_om_tensor *t, const char *base) {
  if (!t) return "";
  t->name = ig_ed_fresh(w->e, base, "const");
  know_constant(w, t);
  if (ig_ed_ok(w->e) && !ig_vec_push(w->e->c->alloc, &w->inits, (const ig_om_tensor *)t))
    ig_ed_no_memory(w->e);
  return t->name;
}

const char *ig_ed_const_ints(ig_ed_work *w, const int64_t *at, size_t n, const char *base) {
  return ig_ed_constant(w, ig_ed_ints(w->e, "", at, n), base);
}

const int64_t *ig_ed_known_ints(ig_ed_work *w, const char *name, size_t *n) {
  const ig_ed_value *v = ig_ed_val(w, name);
  *n = 0;
  if (v->init) {
    if (v->init->ndim > 1) return NULL;
    *n = (size_t)v->init->numel;
    return ig_ed_int_list(w->e, v->init);
  }
  if (!v->has_content) return NULL;
  for (size_t i = 0; i < v->n; i++)
    if (v->content_exprs[i]) return NULL;
  *n = v->n;
  return v->content;
}

const int64_t *ig_ed_axes(ig_ed_work *w, const ig_om_node *n, const char *attr, size_t input,
                          size_t *count) {
  const ig_om_attr *a = ig_om_find_attr(n, attr);
  *count = 0;
  if (a && !a->ref && a->type == IG_OM_ATTR_INTS) {
    *count = a->n;
    return a->ints;
  }
  return *ig_ed_in(n, input) ? ig_ed_known_ints(w, ig_ed_in(n, input), count) : NULL;
}

bool ig_ed_same_dim(const ig_ed_value *a, int i, const ig_ed_value *b, int k) {
  if (i >= a->ndim || k >= b->ndim) return false;
  if (a->dims[i] >= 0) return a->dims[i] == b->dims[k];
  return a->exprs[i] && a->exprs[i] == b->exprs[k];
}

bool ig_ed_same_shape(const ig_ed_value *a, const ig_ed_value *b) {
  if (a->ndim < 0 || a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++)
    if (!ig_ed_same_dim(a, d, b, d)) return false;
  return true;
}

bool ig_ed_all(ig_ed_work *w, const char *name, double number) {
  enum { MOST = 1 << 16 };
  const ig_om_tensor *t = ig_ed_val(w, name)->init;
  if (!t || t->numel < 1 || t->numel > MOST) return false;
  const double *at = ig_ed_doubles(w->e, t);
  for (int64_t i = 0; at && i < t->numel; i++)
    if (at[i] != number) return false;
  return at != NULL;
}

// ---- the end of a round

// Names that a graph defines hide those outside of it.
static bool defines(const ig_om_graph *g, const char *name) {
  for (size_t i = 0; i < g->ninputs; i++)
    if (strcmp(g->inputs[i].name, name) == 0) return true;
  for (size_t i = 0; i < g->ninits; i++)
    if (strcmp(g->inits[i]->name, name) == 0) return true;
  return false;
}

typedef struct inside {
  const ig_om_graph *g;
  const struct inside *up;
} inside;

static const char *current(ig_ed_work *w, const inside *in, const char *name) {
  for (; in; in = in->up)
    if (defines(in->g, name)) return name;
  return ig_ed_name(w, name);
}

static void rewrite_graph(ig_ed_work *w, ig_om_graph *g, const inside *up);

static void rewrite(ig_ed_work *w, ig_om_node *n, const inside *in) {
  for (size_t i = 0; i < n->ninputs; i++) {
    const char *name = *n->inputs[i] ? current(w, in, n->inputs[i]) : "";
    if (name != n->inputs[i] && *n->inputs[i]) ig_ed_set_input(w->e, n, i, name);
  }
  for (size_t k = 0; k < n->nattrs; k++) {
    const ig_om_attr *a = &n->attrs[k];
    for (size_t j = 0; j < ig_ed_bodies(a); j++) rewrite_graph(w, a->graphs[j], in);
  }
}

static void rewrite_graph(ig_ed_work *w, ig_om_graph *g, const inside *up) {
  const inside in = {g, up};
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(w->e); i++) rewrite(w, &g->nodes[i], &in);
  ig_om_info *outputs = ig_ed_push(w->e, g->noutputs, sizeof *outputs);
  for (size_t i = 0; outputs && i < g->noutputs; i++) {
    outputs[i] = g->outputs[i];
    outputs[i].name = current(w, &in, outputs[i].name);
  }
  if (outputs) g->outputs = outputs;
}

static void mark(ig_ed_work *w, ig_map *live, const ig_om_node *n);

static void mark_graph(ig_ed_work *w, ig_map *live, const ig_om_graph *g) {
  for (size_t i = 0; i < g->noutputs; i++) (void)ig_ed_put(w->e, live, g->outputs[i].name);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(w->e); i++) mark(w, live, &g->nodes[i]);
}

static void mark(ig_ed_work *w, ig_map *live, const ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) (void)ig_ed_put(w->e, live, n->inputs[i]);
  for (size_t k = 0; k < n->nattrs; k++) {
    const ig_om_attr *a = &n->attrs[k];
    for (size_t j = 0; j < ig_ed_bodies(a); j++) mark_graph(w, live, a->graphs[j]);
  }
}

static bool is_live(const ig_map *live, const ig_om_node *n) {
  for (size_t i = 0; i < n->noutputs; i++)
    if (*n->outputs[i] && ig_map_find(live, n->outputs[i])) return true;
  return false;
}

// Nodes and initializers that nothing reads.
static void sweep(ig_ed_work *w) {
  ig_om_graph *g = w->g;
  ig_map live = ig_map_make(w->e->c->alloc);
  for (size_t i = 0; i < g->noutputs; i++) (void)ig_ed_put(w->e, &live, g->outputs[i].name);
  bool *keep = ig_ed_push(w->e, w->nodes.n, sizeof *keep);
  for (size_t i = w->nodes.n; keep && i-- > 0 && ig_ed_ok(w->e);) {
    keep[i] = is_live(&live, &w->nodes.at[i]);
    if (keep[i]) mark(w, &live, &w->nodes.at[i]);
  }
  ig_om_node *nodes = ig_ed_push(w->e, w->nodes.n, sizeof *nodes);
  size_t count = 0;
  for (size_t i = 0; nodes && keep && i < w->nodes.n; i++)
    if (keep[i]) nodes[count++] = w->nodes.at[i];
  w->changed |= count != g->nnodes;
  g->nodes = nodes;
  g->nnodes = count;
  const ig_om_tensor **inits = ig_ed_push(w->e, ig_mem_add(g->ninits, w->inits.n), sizeof *inits);
  size_t ninits = 0;
  for (size_t i = 0; inits && i < g->ninits; i++) {
    const ig_ed_value *v = ig_ed_val(w, g->inits[i]->name);
    if (ig_map_find(&live, g->inits[i]->name) || v->in) inits[ninits++] = g->inits[i];
  }
  for (size_t i = 0; inits && i < w->inits.n; i++)
    if (ig_map_find(&live, w->inits.at[i]->name)) inits[ninits++] = w->inits.at[i];
  g->inits = inits;
  g->ninits = ninits;
  ig_map_free(&live);
}

// Descriptions of values that are no more.
static void sweep_infos(ig_ed_work *w) {
  ig_om_graph *g = w->g;
  ig_map made = ig_map_make(w->e->c->alloc);
  for (size_t i = 0; i < g->nnodes; i++)
    for (size_t k = 0; k < g->nodes[i].noutputs; k++)
      (void)ig_ed_put(w->e, &made, g->nodes[i].outputs[k]);
  for (size_t i = 0; i < g->noutputs; i++) {
    ig_map_value *at = ig_map_find(&made, g->outputs[i].name);
    if (at) at->num = 1;  // described among the outputs
  }
  ig_om_info *infos = ig_ed_push(w->e, g->nvalues, sizeof *infos);
  size_t n = 0;
  for (size_t i = 0; infos && i < g->nvalues; i++) {
    const ig_map_value *at = ig_map_find(&made, g->values[i].name);
    if (at && !at->num) infos[n++] = g->values[i];
  }
  g->values = infos;
  g->nvalues = infos ? n : 0;
  ig_map_free(&made);
}

ig_status ig_ed_work_close(ig_ed_work *w) {
  ig_edit *e = w->e;
  if (ig_ed_ok(e)) {
    for (size_t i = 0; i < w->nodes.n; i++) rewrite(w, &w->nodes.at[i], NULL);
    sweep(w);
    sweep_infos(w);
  }
  ig_vec_free(e->c->alloc, &w->nodes);
  ig_vec_free(e->c->alloc, &w->inits);
  ig_map_free(&w->values);
  ig_map_free(&w->hidden);
  ig_map_free(&w->same);
  if (!ig_ed_ok(e)) return e->c->status;
  return ig_om_resolve(e->c, &e->m);
}
