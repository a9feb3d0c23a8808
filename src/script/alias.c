// SPDX-License-Identifier: Apache-2.0
#include "script/alias.h"

#include "script/operator.h"

struct ig_saliases {
  ig_sunit *u;
  ig_sgraph *g;
  bool frozen;
  uint32_t *of;  // class plus one of a value, by its number; 0: none yet
  size_t n_of;
  IG_VEC(uint32_t) parent;
  IG_VEC(uint32_t) contents;  // class plus one; 0: none yet
  IG_VEC(ig_swrite) writes;
  bool failed;
};

// In `marks` of nodes.
enum { EFFECTS = 1 };

static bool no_memory(ig_saliases *a) {
  (void)ig_fail(a->g->c, IG_NOMEM, "out of memory");
  a->failed = true;
  return false;
}

// ---- classes

static uint32_t root(const ig_saliases *a, uint32_t class) {
  while (a->parent.at[class] != class) {
    a->parent.at[class] = a->parent.at[a->parent.at[class]];
    class = a->parent.at[class];
  }
  return class;
}

static uint32_t new_class(ig_saliases *a) {
  ig_alloc alloc = a->g->c->alloc;
  uint32_t class = (uint32_t)a->parent.n;
  bool ok = ig_vec_push(alloc, &a->parent, class) && ig_vec_push(alloc, &a->contents, 0);
  if (!ok) (void)no_memory(a);
  return ok ? class : IG_SALIAS_OUTSIDE;
}

// The outside stays a root. Contents are united in turn, so this is a loop and no recursion.
static void unite(ig_saliases *a, uint32_t x, uint32_t y) {
  while (!a->failed && x != IG_SALIAS_NONE && y != IG_SALIAS_NONE) {
    x = root(a, x);
    y = root(a, y);
    if (x == y) return;
    if (y < x) {
      uint32_t swapped = x;
      x = y;
      y = swapped;
    }
    a->parent.at[y] = x;
    uint32_t inner_x = a->contents.at[x];
    uint32_t inner_y = a->contents.at[y];
    if (!inner_x) a->contents.at[x] = inner_y;
    if (!inner_x || !inner_y) return;
    x = inner_x - 1;
    y = inner_y - 1;
  }
}

static uint32_t class_of(ig_saliases *a, const ig_svalue *v) {
  if (a->failed || ig_stype_is_immutable(v->type)) return IG_SALIAS_NONE;
  uint32_t *at = &a->of[v->number];
  if (!*at) *at = new_class(a) + 1;
  return *at - 1;
}

static uint32_t contents_of(ig_saliases *a, uint32_t class) {
  if (a->failed || class == IG_SALIAS_NONE) return IG_SALIAS_NONE;
  class = root(a, class);
  if (!a->contents.at[class]) {
    uint32_t inner = new_class(a);  // may move the arrays
    a->contents.at[class] = inner + 1;
  }
  return root(a, a->contents.at[class] - 1);
}

static void unite_values(ig_saliases *a, const ig_svalue *x, const ig_svalue *y) {
  unite(a, class_of(a, x), class_of(a, y));
}

static void leaves(ig_saliases *a, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) unite(a, class_of(a, at[i]), IG_SALIAS_OUTSIDE);
}

static void add_write(ig_saliases *a, ig_snode *n, uint32_t class) {
  if (class == IG_SALIAS_NONE || a->failed) return;
  ig_swrite w = {n, class};
  if (!ig_vec_push(a->g->c->alloc, &a->writes, w)) (void)no_memory(a);
}

// ---- nodes

static uint32_t class_in(ig_saliases *a, const ig_svalue *v, ig_salias alias) {
  uint32_t class = class_of(a, v);
  return alias.elements ? contents_of(a, class) : class;
}

static void by_schema(ig_saliases *a, ig_snode *n, const ig_soperator *o) {
  const ig_sschema *s = o->schema;
  bool written = false;
  size_t params = s->n_params < n->n_in ? s->n_params : n->n_in;
  for (size_t i = 0; i < params; i++) {
    ig_salias in = s->params[i].alias;
    if (in.written) add_write(a, n, class_in(a, n->in[i], in));
    if (in.stored || in.set == '*') leaves(a, &n->in[i], 1);
    written |= in.written;
  }
  for (size_t k = 0; k < n->n_out; k++) {
    ig_salias out = k < s->n_results ? s->result_aliases[k] : (ig_salias){0};
    if (out.set == '*') leaves(a, &n->out[k], 1);
    for (size_t i = 0; out.set && i < params; i++) {
      ig_salias in = s->params[i].alias;
      if (in.set == out.set) unite(a, class_in(a, n->in[i], in), class_in(a, n->out[k], out));
    }
  }
  // A list that is made from the elements of another one holds them as well.
  for (size_t k = 0; k < n->n_out; k++) {
    if (ig_stype_is_immutable(n->out[k]->type) || n->out[k]->type->kind == IG_STYPE_TENSOR)
      continue;
    for (size_t i = 0; i < n->n_in; i++) {
      bool holds = n->in[i]->type->kind == IG_STYPE_LIST || n->in[i]->type->kind == IG_STYPE_DICT;
      if (!holds) continue;
      uint32_t from = contents_of(a, class_of(a, n->in[i]));
      unite(a, contents_of(a, class_of(a, n->out[k])), from);
    }
  }
  if (o->builtin && o->builtin->effects && !written) n->marks |= EFFECTS;
}

static void holds(ig_saliases *a, const ig_snode *n) {
  uint32_t inner = contents_of(a, class_of(a, n->out[0]));
  for (size_t i = 0; i < n->n_in; i++) unite(a, inner, class_of(a, n->in[i]));
}

static void takes_out(ig_saliases *a, const ig_snode *n) {
  uint32_t inner = contents_of(a, class_of(a, n->in[0]));
  for (size_t i = 0; i < n->n_out; i++) unite(a, inner, class_of(a, n->out[i]));
}

static void visit_block(ig_saliases *a, ig_sblock *b);

static void visit_control(ig_saliases *a, ig_snode *n, bool loop) {
  for (size_t i = 0; i < n->n_blocks; i++) visit_block(a, n->blocks[i]);
  for (size_t i = 0; i < n->n_out; i++) {
    if (loop) {
      const ig_sblock *body = n->blocks[0];
      unite_values(a, n->out[i], n->in[i + 2]);
      unite_values(a, n->out[i], body->in[i + 1]);
      unite_values(a, n->out[i], body->out[i + 1]);
      continue;
    }
    unite_values(a, n->out[i], n->blocks[0]->out[i]);
    unite_values(a, n->out[i], n->blocks[1]->out[i]);
  }
}

static bool graph_has_effects(const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (ig_snode_has_effects(n)) return true;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (graph_has_effects(n->blocks[i])) return true;
    }
  }
  return false;
}

static void visit_fork(ig_saliases *a, ig_snode *n) {
  leaves(a, n->in, n->n_in);
  const ig_sattr *body = ig_snode_attr(n, "Subgraph");
  bool known = body && body->kind == IG_SATTR_GRAPH;
  if (!known || graph_has_effects(body->graph->body)) n->marks |= EFFECTS;
}

static bool may_write(const ig_soperator *o) {
  if (o->builtin && o->builtin->effects) return true;
  for (size_t i = 0; i < o->schema->n_params; i++) {
    if (o->schema->params[i].written) return true;
  }
  return false;
}

static void visit_other(ig_saliases *a, ig_snode *n) {
  for (size_t i = 0; i < n->n_blocks; i++) {
    visit_block(a, n->blocks[i]);
    leaves(a, n->blocks[i]->in, n->blocks[i]->n_in);
    leaves(a, n->blocks[i]->out, n->blocks[i]->n_out);
  }
  const ig_soperator *o = n->n_blocks ? NULL : ig_soperator_of_node(a->u, n);
  if (a->g->c->status != IG_OK) a->failed = true;
  if (o) {
    by_schema(a, n, o);
    return;
  }
  // None of the overloads takes it, or there are none: one that writes may have been meant.
  const ig_soperators *all = n->n_blocks ? NULL : ig_soperators_named(a->u, n->kind);
  for (size_t i = 0; all && i < all->n; i++) {
    if (may_write(&all->at[i])) n->marks |= EFFECTS;
  }
  leaves(a, n->in, n->n_in);
  leaves(a, n->out, n->n_out);
}

static bool is_module(const ig_svalue *v) {
  const ig_sclass *k = ig_sclass_of(v->type);
  return k && k->module;
}

static void visit(ig_saliases *a, ig_snode *n) {
  n->marks = ig_snode_has_effects(n) ? EFFECTS : 0;
  ig_sform form = ig_sform_of(n);
  switch (form) {
    case IG_SFORM_CONSTANT:
    case IG_SFORM_UNINITIALIZED:
    case IG_SFORM_CREATE_OBJECT:
      return;  // memory of their own
    case IG_SFORM_IF:
    case IG_SFORM_LOOP:
      visit_control(a, n, form == IG_SFORM_LOOP);
      return;
    case IG_SFORM_TUPLE_CONSTRUCT:
    case IG_SFORM_LIST_CONSTRUCT:
    case IG_SFORM_DICT_CONSTRUCT:
      holds(a, n);
      return;
    case IG_SFORM_TUPLE_UNPACK:
    case IG_SFORM_TUPLE_INDEX:
      takes_out(a, n);
      return;
    case IG_SFORM_LIST_UNPACK:
      if (n->n_in == 1) takes_out(a, n);
      return;
    case IG_SFORM_TUPLE_SLICE:
    case IG_SFORM_UNCHECKED_CAST:
      unite_values(a, n->in[0], n->out[0]);
      return;
    case IG_SFORM_FORK:
      visit_fork(a, n);
      return;
    case IG_SFORM_WAIT:  // what was forked may have written to all that it got
      n->marks |= EFFECTS;
      add_write(a, n, IG_SALIAS_OUTSIDE);
      leaves(a, n->out, n->n_out);
      return;
    case IG_SFORM_GET_ATTR:
      if (!a->frozen || !is_module(n->in[0])) leaves(a, n->out, n->n_out);
      if (a->frozen) (void)class_of(a, n->out[0]);
      return;
    case IG_SFORM_SET_ATTR:
    case IG_SFORM_CALL_FUNCTION:
    case IG_SFORM_CALL_METHOD:
    case IG_SFORM_PYTHON:
    case IG_SFORM_ENTER:
    case IG_SFORM_EXIT:
      add_write(a, n, IG_SALIAS_OUTSIDE);
      leaves(a, n->in, n->n_in);
      leaves(a, n->out, n->n_out);
      return;
    default:
      visit_other(a, n);
  }
}

static void visit_block(ig_saliases *a, ig_sblock *b) {
  for (ig_snode *n = b->first; n && !a->failed; n = n->next) visit(a, n);
}

// ---- interface

ig_saliases *ig_saliases_create(ig_sunit *u, ig_sgraph *g, bool frozen) {
  ig_alloc alloc = g->c->alloc;
  ig_saliases *a = ig_mem_new(alloc, sizeof *a);
  if (!a) {
    (void)ig_fail(g->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *a = (ig_saliases){.u = u, .g = g, .frozen = frozen, .n_of = g->next_number + 1};
  a->of = ig_mem_array(alloc, a->n_of, sizeof *a->of);
  if (!a->of || new_class(a) != IG_SALIAS_OUTSIDE || a->failed) {
    (void)no_memory(a);
  } else {
    a->contents.at[IG_SALIAS_OUTSIDE] = IG_SALIAS_OUTSIDE + 1;
    leaves(a, g->body->in, g->body->n_in);
    visit_block(a, g->body);
  }
  if (!a->failed) return a;
  ig_saliases_free(a);
  return NULL;
}

void ig_saliases_free(ig_saliases *a) {
  if (!a) return;
  ig_alloc alloc = a->g->c->alloc;
  ig_mem_array_free(alloc, a->of, a->n_of, sizeof *a->of);
  ig_vec_free(alloc, &a->parent);
  ig_vec_free(alloc, &a->contents);
  ig_vec_free(alloc, &a->writes);
  ig_mem_free(alloc, a, sizeof *a);
}

uint32_t ig_saliases_class(const ig_saliases *a, const ig_svalue *v) {
  bool known = v->number < a->n_of && a->of[v->number];
  return known ? root(a, a->of[v->number] - 1) : IG_SALIAS_NONE;
}

const ig_swrite *ig_saliases_writes(const ig_saliases *a, size_t *n) {
  for (size_t i = 0; i < a->writes.n; i++) a->writes.at[i].at = root(a, a->writes.at[i].at);
  *n = a->writes.n;
  return a->writes.at;
}

size_t ig_saliases_count(const ig_saliases *a) {
  return a->parent.n;
}

bool ig_saliases_has_effects(const ig_saliases *a, const ig_snode *n) {
  (void)a;
  return n->marks & EFFECTS;
}
