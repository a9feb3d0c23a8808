// SPDX-License-Identifier: Apache-2.0
// Simplification: rounds over the main graph until nothing changes. A round infers shapes, then
// reads every node once: constants, the rules of its operator, common sub-expressions. Calls of the
// model's functions and branches whose condition is constant are replaced by their nodes first.
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/cause.h"
#include "base/hash.h"
#include "base/options.h"
#include "edit/work.h"
#include "onnx_read/reader.h"

enum { MAX_ROUNDS = 24, MAX_STEPS = 24, MAX_KEY = 1 << 12, LARGE = 1 << 16, MAX_MORE = 1 << 18 };

static void take_node(ig_ed_work *w, ig_om_node n, int depth);

// ---- common sub-expressions

static void put_bytes(ig_str *s, const void *at, size_t n) {
  const uint8_t *p = at;
  for (size_t i = 0; i < n; i++) ig_str_add(s, "%02x", p[i]);
}

// An attribute as text; false: too long to be compared.
static bool put_attr(ig_str *s, const ig_om_attr *a) {
  ig_str_add(s, "|%s:%d:%zu:", a->name, a->type, a->n);
  size_t limit = MAX_KEY / 16;
  switch (a->type) {
    case IG_OM_ATTR_FLOAT:
      put_bytes(s, &a->f, sizeof a->f);
      return true;
    case IG_OM_ATTR_INT:
      ig_str_add(s, "%lld", (long long)a->i);
      return true;
    case IG_OM_ATTR_STRING:
      if (a->s.n <= limit) put_bytes(s, a->s.at, a->s.n);
      return a->s.n <= limit;
    case IG_OM_ATTR_INTS:
      for (size_t i = 0; i < a->n && i < limit; i++) ig_str_add(s, "%lld,", (long long)a->ints[i]);
      return a->n <= limit;
    case IG_OM_ATTR_FLOATS:
      if (a->n <= limit) put_bytes(s, a->floats, ig_mem_mul(a->n, sizeof *a->floats));
      return a->n <= limit;
    case IG_OM_ATTR_TENSOR: {
      const ig_om_tensor *t = a->tensors[0];
      if (t->raw.n > limit || t->elem == IG_OM_STRING) return false;
      ig_str_add(s, "%d:", t->elem);
      for (int d = 0; d < t->ndim; d++) ig_str_add(s, "%lld,", (long long)t->dims[d]);
      put_bytes(s, t->raw.at, t->raw.n);
      return true;
    }
    default:
      return false;
  }
}

static int by_name(const void *a, const void *b) {
  const ig_om_attr *const *x = a;
  const ig_om_attr *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

static bool put_attrs(ig_str *s, const ig_om_node *n) {
  enum { MOST = 32 };
  const ig_om_attr *sorted[MOST];
  if (n->nattrs > MOST) return false;
  for (size_t i = 0; i < n->nattrs; i++) sorted[i] = &n->attrs[i];
  qsort(sorted, n->nattrs, sizeof *sorted, by_name);
  for (size_t i = 0; i < n->nattrs; i++)
    if (sorted[i]->ref || !put_attr(s, sorted[i])) return false;
  return true;
}

// The same node was there before: its results serve.
static bool is_common(ig_ed_work *w, const ig_om_node *n) {
  if (n->function || ig_rd_is_random(n) || ig_ed_has_graphs(n) || n->noutputs == 0) return false;
  if (!ig_onnx_schema_find(n->domain, n->op_type,
                           ig_om_opset_version(w->e->m.opsets, w->e->m.nopsets, n->domain)))
    return false;
  ig_str s = ig_str_make(w->e->c->alloc);
  ig_str_add(&s, "%s %s %zu", n->domain, n->op_type, n->noutputs);
  for (size_t i = 0; i < n->ninputs && s.n < MAX_KEY; i++)
    ig_str_add(&s, "|%zu:%s", strlen(n->inputs[i]), n->inputs[i]);
  for (size_t i = 0; i < n->noutputs; i++) ig_str_add(&s, "%c", *n->outputs[i] ? '1' : '0');
  bool fits = put_attrs(&s, n) && !s.failed && s.n < MAX_KEY;
  const char *kept = NULL;
  ig_map_value *at = fits ? ig_map_keep(&w->same, &w->e->m.arena, s.at, &kept) : NULL;
  ig_str_free(&s);
  if (!at) return false;
  if (kept) {
    at->num = w->nodes.n + 1;
    return false;
  }
  bool all = true;
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_om_node *before = &w->nodes.at[at->num - 1];
    if (*n->outputs[i]) all &= ig_ed_replace(w, n->outputs[i], before->outputs[i]);
  }
  return all;
}

// ---- equal weights

static void share_weights(ig_ed_work *w, bool first) {
  ig_map seen = ig_map_make(w->e->c->alloc);
  for (size_t i = 0; i < w->g->ninits && ig_ed_ok(w->e); i++) {
    const ig_om_tensor *t = w->g->inits[i];
    const ig_ed_value *v = ig_ed_val(w, t->name);
    if (!v->init || v->out || t->elem == IG_OM_STRING || (!first && t->raw.n > LARGE)) continue;
    uint64_t hash = ig_hash_block(IG_HASH_BASIS, t->raw.at, t->raw.n);
    ig_str key = ig_str_make(w->e->c->alloc);
    ig_str_add(&key, "%d %llx", t->elem, (unsigned long long)hash);
    for (int d = 0; d < t->ndim; d++) ig_str_add(&key, " %lld", (long long)t->dims[d]);
    const char *kept = NULL;
    ig_map_value *at = key.failed ? NULL : ig_map_keep(&seen, &w->e->m.arena, key.at, &kept);
    ig_str_free(&key);
    if (!at) continue;
    const ig_om_tensor *other = at->ptr;
    if (kept)
      at->ptr = (void *)t;
    else if (!t->raw.n || memcmp(other->raw.at, t->raw.at, t->raw.n) == 0)
      (void)ig_ed_replace(w, t->name, other->name);
  }
  ig_map_free(&seen);
}

// ---- functions and branches

// A body in place of a node: its values have new names.
typedef struct body {
  ig_ed_work *w;
  ig_map names;            // of the body -> of the graph
  const ig_om_node *call;  // whose attributes its nodes refer to; NULL: none
  const ig_om_function *fn;
} body;

static const char *outside(const body *b, const char *name) {
  const ig_map_value *at = *name ? ig_map_find(&b->names, name) : NULL;
  return at && at->text ? at->text : name;
}

static void rename_to(body *b, const char *name, const char *to) {
  ig_map_value *at = ig_ed_put(b->w->e, &b->names, name);
  if (at) at->text = to;
}

static const ig_om_attr *referred(const body *b, const char *name) {
  const ig_om_attr *a = b->call ? ig_om_find_attr(b->call, name) : NULL;
  for (size_t i = 0; !a && b->fn && i < b->fn->ndefaults; i++)
    if (strcmp(b->fn->defaults[i].name, name) == 0) a = &b->fn->defaults[i];
  return a;
}

static void bring_graph(body *b, ig_om_graph *g);

static void bring_attrs(body *b, ig_om_node *n) {
  ig_om_attr *attrs = ig_ed_push(b->w->e, n->nattrs, sizeof *attrs);
  size_t count = 0;
  for (size_t i = 0; attrs && i < n->nattrs; i++) {
    ig_om_attr a = n->attrs[i];
    if (a.ref && b->fn) {
      const ig_om_attr *of = referred(b, a.ref);
      const char *name = a.name;
      if (!of) continue;  // not given: absent
      a = *of;
      a.name = name;
    } else if (a.type == IG_OM_ATTR_GRAPH || a.type == IG_OM_ATTR_GRAPHS) {
      ig_om_graph **graphs = ig_ed_push(b->w->e, a.n, sizeof *graphs);
      for (size_t k = 0; graphs && k < a.n; k++) {
        graphs[k] = ig_ed_copy_graph(b->w->e, a.graphs[k]);
        if (graphs[k]) bring_graph(b, graphs[k]);
      }
      if (!ig_ed_ok(b->w->e)) return;
      a.graphs = graphs;
    }
    attrs[count++] = a;
  }
  n->attrs = attrs;
  n->nattrs = attrs ? count : 0;
}

static void bring_names(body *b, ig_om_node *n, bool fresh) {
  ig_edit *e = b->w->e;
  const char *base = b->call && b->call->noutputs ? b->call->outputs[0] : "";
  const char **inputs = ig_ed_push(e, n->ninputs, sizeof *inputs);
  const char **outputs = ig_ed_push(e, n->noutputs, sizeof *outputs);
  if (!inputs || !outputs) return;
  for (size_t i = 0; i < n->ninputs; i++) inputs[i] = outside(b, n->inputs[i]);
  for (size_t i = 0; i < n->noutputs; i++) {
    if (fresh && *n->outputs[i]) rename_to(b, n->outputs[i], ig_ed_fresh(e, base, n->op_type));
    outputs[i] = outside(b, n->outputs[i]);
  }
  n->inputs = inputs;
  n->outputs = outputs;
}

// A graph inside of the body gets new names as well.
static void bring_graph(body *b, ig_om_graph *g) {
  ig_edit *e = b->w->e;
  ig_om_info *inputs = ig_ed_push(e, g->ninputs, sizeof *inputs);
  ig_om_info *outputs = ig_ed_push(e, g->noutputs, sizeof *outputs);
  const ig_om_tensor **inits = ig_ed_push(e, g->ninits, sizeof *inits);
  if (!inputs || !outputs || !inits) return;
  for (size_t i = 0; i < g->ninputs; i++) {
    inputs[i] = g->inputs[i];
    rename_to(b, g->inputs[i].name, ig_ed_fresh(e, "", g->inputs[i].name));
    inputs[i].name = outside(b, g->inputs[i].name);
  }
  for (size_t i = 0; i < g->ninits; i++) {
    ig_om_tensor *t = ig_ed_push(e, 1, sizeof *t);
    if (!t) return;
    *t = *g->inits[i];
    bool given = false;
    for (size_t k = 0; k < g->ninputs; k++) given |= strcmp(g->inputs[k].name, t->name) == 0;
    if (!given) rename_to(b, t->name, ig_ed_fresh(e, "", t->name));
    t->name = outside(b, t->name);
    inits[i] = t;
  }
  g->inputs = inputs;
  g->inits = inits;
  g->nvalues = 0;
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    bring_names(b, &g->nodes[i], true);
    bring_attrs(b, &g->nodes[i]);
  }
  for (size_t i = 0; i < g->noutputs; i++) {
    outputs[i] = g->outputs[i];
    outputs[i].name = outside(b, g->outputs[i].name);
  }
  g->outputs = outputs;
}

static void give_result(ig_ed_work *w, const ig_om_node *n, size_t i, const char *by, int depth) {
  if (!*n->outputs[i] || ig_ed_replace(w, n->outputs[i], by)) return;
  take_node(w, ig_ed_node(w->e, n, "Identity", &by, 1, n->outputs[i]), depth);
}

static void put_body(body *b, const ig_om_graph *g, const ig_om_node *n, int depth) {
  ig_ed_work *w = b->w;
  for (size_t i = 0; i < g->ninits && ig_ed_ok(w->e); i++) {
    ig_om_tensor *t = ig_ed_push(w->e, 1, sizeof *t);
    if (!t) return;
    *t = *g->inits[i];
    rename_to(b, g->inits[i]->name, ig_ed_constant(w, t, t->name));
  }
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(w->e); i++) {
    if (++w->brought > MAX_MORE)
      (void)ig_fail(w->e->c, IG_LIMIT,
                    "%s: its functions have more than %d nodes where they are called; keep them "
                    "(keep_functions)",
                    w->e->m.name, MAX_MORE);
    ig_om_node inner = g->nodes[i];
    bring_names(b, &inner, true);
    bring_attrs(b, &inner);
    if (!inner.nmetadata) {
      inner.nmetadata = n->nmetadata;
      inner.metadata = n->metadata;
    }
    if (ig_ed_ok(w->e)) take_node(w, inner, depth + 1);
  }
  for (size_t i = 0; i < n->noutputs && i < g->noutputs; i++)
    give_result(w, n, i, outside(b, g->outputs[i].name), depth + 1);
  w->changed = true;
}

// Do the operators of a function mean the same in the model?
static bool same_opsets(const ig_edit *e, const ig_om_function *f) {
  for (size_t i = 0; i < f->nopsets; i++) {
    int64_t here = ig_om_opset_version(e->m.opsets, e->m.nopsets, f->opsets[i].domain);
    if (here != f->opsets[i].version) return false;
  }
  return true;
}

static bool take_function(ig_ed_work *w, const ig_om_node *n, int depth) {
  const ig_om_function *f = n->function;
  if (!f || w->options->keep_functions || !same_opsets(w->e, f) || f->body->nsparse) return false;
  if (n->ninputs > f->body->ninputs || n->noutputs > f->body->noutputs) return false;
  body b = {.w = w, .names = ig_map_make(w->e->c->alloc), .call = n, .fn = f};
  for (size_t i = 0; i < f->body->ninputs; i++)
    rename_to(&b, f->body->inputs[i].name, ig_ed_in(n, i));
  put_body(&b, f->body, n, depth);
  ig_map_free(&b.names);
  return true;
}

// An If whose condition is constant.
static bool take_branch(ig_ed_work *w, const ig_om_node *n, int depth) {
  if (!ig_ed_is(n, "If")) return false;
  bool yes = ig_ed_all(w, ig_ed_in(n, 0), 1);
  if (!yes && !ig_ed_all(w, ig_ed_in(n, 0), 0)) return false;
  const ig_om_attr *a = ig_om_find_attr(n, yes ? "then_branch" : "else_branch");
  if (!a || a->ref || a->type != IG_OM_ATTR_GRAPH || a->graphs[0]->ninputs ||
      a->graphs[0]->nsparse) {
    return false;
  }
  body b = {.w = w, .names = ig_map_make(w->e->c->alloc)};
  put_body(&b, a->graphs[0], n, depth);
  ig_map_free(&b.names);
  return true;
}

// ---- nodes

static ig_ed_outcome apply(ig_ed_work *w, const ig_ed_row *rows, ig_om_node *n) {
  for (; rows->op && ig_ed_ok(w->e); rows++) {
    if (!ig_ed_is(n, rows->op) || (rows->fuses && w->options->keep_fused)) continue;
    ig_ed_outcome done = rows->rule(w, n);
    if (done != IG_ED_KEPT) return done;
  }
  return IG_ED_KEPT;
}

static ig_ed_outcome simplify_node(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = ig_ed_fold(w, n);
  if (done != IG_ED_KEPT) return done;
  const ig_onnx_schema *s =
      n->function ? NULL : ig_onnx_schema_find(n->domain, n->op_type, ig_ed_opset(w->e));
  bool fits = s && n->ninputs >= s->min_in && n->noutputs >= s->min_out && n->noutputs;
  if (!fits || n->domain[0]) return IG_ED_KEPT;
  done = apply(w, ig_ed_rows_identity, n);
  if (done == IG_ED_KEPT) done = apply(w, ig_ed_rows_shape, n);
  return done == IG_ED_KEPT ? apply(w, ig_ed_rows_fuse, n) : done;
}

static void name_inputs(ig_ed_work *w, ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    if (!*n->inputs[i]) continue;
    const char *now = ig_ed_name(w, n->inputs[i]);
    if (now != n->inputs[i]) ig_ed_set_input(w->e, n, i, now);
  }
}

static void append(ig_ed_work *w, const ig_om_node *n) {
  ig_edit *e = w->e;
  if (!ig_ed_ok(e)) return;
  if (!ig_vec_push(e->c->alloc, &w->nodes, *n)) {
    ig_ed_no_memory(e);
    return;
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    ig_ed_value *v = *n->outputs[i] ? ig_ed_val_put(w, n->outputs[i]) : NULL;
    if (v) v->made = w->nodes.n;
  }
}

static void take_node(ig_ed_work *w, ig_om_node n, int depth) {
  enum { DEEPEST = 100 };
  name_inputs(w, &n);
  if (!ig_step(w->e->c)) return;
  if (depth < DEEPEST && (take_function(w, &n, depth) || take_branch(w, &n, depth))) return;
  for (int step = 0; step < MAX_STEPS && ig_ed_ok(w->e); step++) {
    ig_scope s = ig_scope_open(w->e->c);
    ig_ed_outcome done = simplify_node(w, &n);
    ig_scope_close(w->e->c, s);
    if (done == IG_ED_GONE) return;
    name_inputs(w, &n);
    if (done == IG_ED_KEPT) break;
    w->changed = true;
  }
  if (!is_common(w, &n)) append(w, &n);
}

void ig_ed_take(ig_ed_work *w, const ig_om_node *n) {
  take_node(w, *n, 0);
}

// ---- the model

// Nodes that came from functions may have names that others have.
static void name_nodes(ig_edit *e) {
  ig_map seen = ig_map_make(e->c->alloc);
  const ig_om_graph *g = e->m.graph;
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    ig_om_node *n = &g->nodes[i];
    while (*n->name && ig_map_find(&seen, n->name) && ig_ed_ok(e))
      n->name = ig_ed_text(e, "%s_%zu", n->name, e->nfresh++);
    if (*n->name) (void)ig_ed_put(e, &seen, n->name);
  }
  ig_map_free(&seen);
}

static ig_status run_round(ig_edit *e, const ig_simplify_options *o, bool first, bool *changed) {
  ig_scope s = ig_scope_open(e->c);
  ig_ed_work w = {.e = e, .g = e->m.graph, .options = o};
  if (ig_ed_work_open(&w) == IG_OK) {
    share_weights(&w, first);
    for (size_t i = 0; i < w.g->nnodes && ig_ed_ok(e); i++) take_node(&w, w.g->nodes[i], 0);
  }
  ig_status st = ig_ed_work_close(&w);
  *changed = w.changed;
  ig_scope_close(e->c, s);
  return st;
}

static bool calls_functions(const ig_om_graph *g) {
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    if (n->function) return true;
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++)
        if (calls_functions(a->graphs[j])) return true;
    }
  }
  return false;
}

ig_status ig_edit_simplify(ig_edit *e, const ig_simplify_options *options) {
  ig_simplify_options o;
  IG_OPTIONS_TAKE(&o, options, keep_fused);
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  ig_ed_fix_weights(e);
  IG_RETURN_IF_ERR(ig_ed_end(e));
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed; round++)
    IG_RETURN_IF_ERR(run_round(e, &o, round == 0, &changed));
  if (!calls_functions(e->m.graph)) e->m.nfunctions = 0;
  name_nodes(e);
  IG_RETURN_IF_ERR(ig_ed_end(e));
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  return ig_ed_end(e);
}
