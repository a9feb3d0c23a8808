// SPDX-License-Identifier: Apache-2.0
// Writes are lazy, as in PyTorch: they are applied to the base when a tensor over the memory is
// used, and a tensor is stale when more writes have happened than it has seen. A view that is
// created after a write counts as stale once, so that the graphs have PyTorch's nodes and
// numbering.
#include "pass/alias.h"

#include "ingot/aten.h"
#include "op/formula.h"

typedef struct update {
  ig_tensor *value;
  const ig_alias_view *view;  // through which it was written; NULL: the whole base
} update;

typedef struct memory {
  struct memory *next;
  ig_tensor *first;  // the base before all writes
  ig_tensor *base;   // its value without the pending updates
  IG_VEC(update) waiting;
  size_t writes;
  bool frozen;
} memory;

typedef struct state {
  memory *mem;
  const ig_alias_view *view;  // NULL: the tensor is the base
  size_t seen;                // writes applied to its node
  ig_node *home;              // the node whose value the tensor is
} state;

ig_aliases ig_aliases_make(ig_ctx *c) {
  ig_aliases a = {.c = c, .arena = ig_arena_make(c->alloc)};
  a.states = ig_table_make(c->alloc);
  return a;
}

void ig_aliases_free(ig_aliases *a) {
  for (memory *m = a->memories; m; m = m->next) ig_vec_free(a->c->alloc, &m->waiting);
  for (size_t i = 0; i < a->kept.n; i++) ig_tensor_release(a->kept.at[i]);
  ig_vec_free(a->c->alloc, &a->kept);
  ig_table_free(&a->states);
  ig_arena_free(&a->arena);
}

static bool no_memory(const ig_aliases *a) {
  return ig_fail(a->c, IG_NOMEM, "out of memory") == IG_OK;
}

static state *find_state(const ig_aliases *a, const ig_tensor *t) {
  const ig_table_slot *slot = ig_table_find(&a->states, t);
  return slot ? slot->value : NULL;
}

static bool keep(ig_aliases *a, ig_tensor *t) {
  if (!ig_vec_push(a->c->alloc, &a->kept, t)) return no_memory(a);
  (void)ig_tensor_retain(t);
  return true;
}

static state *add_state(ig_aliases *a, ig_tensor *t) {
  state *s = ig_arena_push(&a->arena, sizeof *s);
  ig_table_slot *slot = s ? ig_table_put(&a->states, t) : NULL;
  if (!slot) {
    (void)no_memory(a);
    return NULL;
  }
  s->home = t->node;
  slot->value = s;
  return keep(a, t) ? s : NULL;
}

// A tensor that no view has made is the base of its own memory.
static state *get_state(ig_aliases *a, ig_tensor *t) {
  state *s = find_state(a, t);
  if (s) return s;
  s = add_state(a, t);
  memory *m = s ? ig_arena_push(&a->arena, sizeof *m) : NULL;
  if (!m) {
    (void)no_memory(a);
    return NULL;
  }
  m->first = m->base = t;
  m->next = a->memories;
  a->memories = m;
  s->mem = m;
  return s;
}

static bool copy_arg(ig_aliases *a, const ig_value *from, ig_value *to) {
  *to = *from;
  if (from->kind == IG_KIND_INTS) {
    ig_int *ints = ig_arena_array(&a->arena, from->ints.n, sizeof *ints);
    for (size_t i = 0; ints && i < from->ints.n; i++) ints[i] = from->ints.at[i];
    to->ints.at = ints;
    return ints != NULL;
  }
  if (from->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(&a->arena, from->list.n, sizeof *items);
  to->list.at = items;
  for (size_t i = 0; items && i < from->list.n; i++) {
    if (!copy_arg(a, &from->list.at[i], &items[i])) return false;
  }
  return items != NULL;
}

static ig_alias_view *make_view(ig_aliases *a, const ig_op *op, const ig_value *args,
                                const ig_alias_view *parent) {
  size_t n = op->schema.nargs - 1;
  ig_alias_view *v = ig_arena_push(&a->arena, sizeof *v);
  ig_value *copies = ig_arena_array(&a->arena, n, sizeof *copies);
  bool ok = v && copies;
  for (size_t i = 0; ok && i < n; i++) ok = copy_arg(a, &args[i + 1], &copies[i]);
  if (!ok) {
    (void)no_memory(a);
    return NULL;
  }
  *v = (ig_alias_view){parent, op, copies, 0, parent ? parent->depth + 1 : 1};
  return v;
}

static bool relate(ig_aliases *a, const ig_alias_view *view, memory *m, ig_tensor *t) {
  state *s = t ? add_state(a, t) : NULL;
  if (!s) return false;
  s->mem = m;
  s->view = view;
  return true;
}

bool ig_alias_relate(ig_aliases *a, const ig_op *op, const ig_value *args, const ig_value *result) {
  const state *from = get_state(a, args[0].tensor);
  if (!from || a->c->status != IG_OK) return false;
  if (result->kind == IG_KIND_TENSOR) {
    const ig_alias_view *v = make_view(a, op, args, from->view);
    return v && relate(a, v, from->mem, result->tensor);
  }
  for (size_t i = 0; result->kind == IG_KIND_LIST && i < result->list.n; i++) {
    ig_alias_view *v = make_view(a, op, args, from->view);
    if (!v) return false;
    v->index = i;
    if (!relate(a, v, from->mem, result->list.at[i].tensor)) return false;
  }
  return true;
}

// The node keeps a description of what the tensor was.
static bool leave_home(ig_aliases *a, state *s, ig_tensor *self) {
  ig_tensor *other = ig_tensor_alias(a->c, self);
  if (!other || !keep(a, other)) return false;
  ig_node *home = s->home;
  if (home && home->val.kind == IG_KIND_TENSOR && home->val.tensor == self) {
    home->val.tensor = ig_tensor_retain(other);
    ig_tensor_release(self);
  }
  s->home = NULL;
  if (s->mem->base == self) s->mem->base = other;
  return true;
}

bool ig_alias_become(ig_aliases *a, const ig_op *op, const ig_value *args, ig_tensor *self,
                     ig_tensor *view) {
  state *s = get_state(a, self);
  if (!s || !view) return false;
  const ig_alias_view *v = make_view(a, op, args, s->view);
  if (!v || !leave_home(a, s, self)) return false;
  ig_meta m;
  ig_meta_view(self, &m);
  m.ndim = view->ndim;
  m.offset = view->offset;
  for (int d = 0; d < view->ndim; d++) {
    m.size[d] = ig_sizes(view)[d];
    m.stride[d] = ig_strides(view)[d];
  }
  m.strided = true;
  if (!ig_tensor_reshape_inplace(a->c, self, &m)) return false;
  s->view = v;
  self->node = view->node;
  return true;
}

static ig_tensor *forward(ig_ctx *c, const ig_alias_view *v, ig_tensor *t) {
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  if (!t) return NULL;
  args[0] = ig_of_tensor(t);
  for (size_t i = 1; i < v->op->schema.nargs; i++) args[i] = v->args[i - 1];
  ig_call(c, v->op, args, outs);
  if (outs[0].kind == IG_KIND_TENSOR) return outs[0].tensor;
  bool has = outs[0].kind == IG_KIND_LIST && v->index < outs[0].list.n;
  return has ? outs[0].list.at[v->index].tensor : NULL;
}

static ig_tensor *invert(ig_ctx *c, const ig_alias_view *v, ig_tensor *base, ig_tensor *part) {
  if (!base || !part) return NULL;
  const ig_view_call call = {v->op, v->args, v->index};
  if (v->op->def->invert) return v->op->def->invert(c, &call, base, part);
  (void)ig_fail(c, IG_UNSUPPORTED, "a view by %s cannot be modified", v->op->target);
  return NULL;
}

static const ig_alias_view **chain_of(ig_ctx *c, const ig_alias_view *v) {
  const ig_alias_view **chain = ig_scope_array(c, v->depth, sizeof *chain);
  for (size_t i = v->depth; chain && i-- > 0; v = v->parent) chain[i] = v;
  return chain;
}

// Does a view on the way show an element several times? Such a view has no inverse: what was
// written is one of equal parts, and only its place in the base's memory tells which.
static bool is_repeated(ig_tensor *const *parts, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (parts[i] && ig_tensor_has_internal_overlap(parts[i])) return true;
  }
  return false;
}

static bool is_by_place(const ig_alias_view *v) {
  return v->op->number == IG_ID_AS_STRIDED;
}

static bool same_number(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);  // concrete: no query
}

// May a view tell places in the memory by themselves? The base must have no gaps, in which there
// could be something, and its new value must be laid out as it is.
static bool has_places(const memory *m) {
  const ig_tensor *now = m->base;
  bool same = ig_tensor_is_dense_permuted(m->first) && now->ndim == m->first->ndim;
  for (int i = 0; same && i < now->ndim; i++) {
    same = same_number(ig_strides(now)[i], ig_strides(m->first)[i]);
  }
  return same;
}

// Does the view show nothing but the base, or a part of it, which starts at an element of the
// memory that the base had? admitted: sizes and strides of a view
static bool is_inside(const ig_tensor *part, int64_t first, const ig_alias_view *v) {
  const ig_value *size = &v->args[0];
  const ig_value *stride = &v->args[1];
  int64_t start = v->args[2].kind == IG_KIND_INT ? v->args[2].i.value - first : 0;
  int64_t end = start + 1;
  for (size_t i = 0; i < size->ints.n && i < stride->ints.n; i++) {
    if (size->ints.at[i].value == 0) return true;
    end += (size->ints.at[i].value - 1) * stride->ints.at[i].value;
  }
  return start >= 0 && end <= ig_tensor_numel(part);
}

static bool check_places(ig_ctx *c, const memory *m, const ig_alias_view *const *chain, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool inside = !is_by_place(chain[i]) || is_inside(m->first, m->first->offset.value, chain[i]);
    if (inside && (!is_by_place(chain[i]) || has_places(m))) continue;
    ig_fail_text(c, IG_UNSUPPORTED,
                 "as_strided: a functional program cannot write to memory that a view by strides "
                 "shows, if the memory has gaps or the view shows more than the tensor's elements");
    return false;
  }
  return true;
}

// Is a part viewed by places in the memory that are in its gaps or outside of it? Its new value
// would have none of them.
static bool has_gaps(const memory *m, const ig_alias_view *const *chain, ig_tensor *const *parts,
                     size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (!parts[i] || !is_by_place(chain[i])) continue;
    int64_t first = m->first->offset.value + (parts[i]->offset.value - m->base->offset.value);
    if (!ig_tensor_is_dense_permuted(parts[i]) || !is_inside(parts[i], first, chain[i]))
      return true;
  }
  return false;
}

static ig_tensor *write_place(ig_ctx *c, ig_tensor *base, const ig_tensor *place,
                              ig_tensor *value) {
  if (!place) return NULL;
  size_t n = (size_t)place->ndim;
  ig_value size = ig_of_ints(ig_sizes(place), n);
  ig_value stride = ig_of_ints(ig_strides(place), n);
  return ig_as_strided_scatter_with(c, base, value, size, stride, ig_of_int(place->offset));
}

static ig_tensor *apply(ig_ctx *c, const update *u, const memory *m) {
  if (!u->view) return u->value;
  size_t n = u->view->depth;
  const ig_alias_view **chain = chain_of(c, u->view);
  ig_tensor **parts = ig_scope_array(c, n, sizeof *parts);
  if (!chain || !parts || !check_places(c, m, chain, n)) return NULL;
  parts[0] = m->base;
  for (size_t i = 0; i + 1 < n; i++) parts[i + 1] = forward(c, chain[i], parts[i]);
  ig_tensor *t = u->value;
  if (is_repeated(parts, n) || has_gaps(m, chain, parts, n)) {
    return write_place(c, m->base, forward(c, chain[n - 1], parts[n - 1]), t);
  }
  for (size_t i = n; i-- > 0;) t = invert(c, chain[i], parts[i], t);
  return t;
}

static bool apply_waiting(ig_aliases *a, memory *m) {
  for (size_t i = 0; i < m->waiting.n; i++) {
    ig_tensor *base = apply(a->c, &m->waiting.at[i], m);
    if (!base || !keep(a, base)) return false;
    m->base = base;
  }
  m->waiting.n = 0;
  return true;
}

static ig_tensor *regenerate(ig_ctx *c, const state *s) {
  ig_tensor *t = s->mem->base;
  if (!s->view) return t;
  const ig_alias_view **chain = chain_of(c, s->view);
  if (!chain || !check_places(c, s->mem, chain, s->view->depth)) return NULL;
  for (size_t i = 0; i < s->view->depth; i++) t = forward(c, chain[i], t);
  return t;
}

bool ig_alias_sync(ig_aliases *a, ig_tensor *t) {
  ig_ctx *c = a->c;
  state *s = find_state(a, t);
  if (!s || s->seen == s->mem->writes) return c->status == IG_OK;
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = a->rewrite}});
  ig_scope scope = ig_scope_open(c);
  ig_tensor *now = apply_waiting(a, s->mem) ? regenerate(c, s) : NULL;
  if (now) t->node = now->node;
  ig_scope_close(c, scope);
  ig_mode_pop(c, &mode);
  s->seen = s->mem->writes;
  return now != NULL;
}

bool ig_alias_write(ig_aliases *a, ig_tensor *t, ig_tensor *value) {
  state *s = get_state(a, t);
  if (!s || !value) return false;
  if (s->mem->frozen) {
    ig_fail_text(a->c, IG_RUNTIME, "cannot mutate tensors with frozen storage");
    return false;
  }
  // The written tensor may change later: its current value is used.
  if (find_state(a, value)) value = ig_tensor_alias(a->c, value);
  update u = {value, s->view};
  if (!value || !keep(a, value) || !ig_vec_push(a->c->alloc, &s->mem->waiting, u))
    return no_memory(a);
  s->mem->writes++;
  return ig_alias_sync(a, t);
}

void ig_alias_freeze(ig_aliases *a, ig_tensor *t) {
  state *s = t ? get_state(a, t) : NULL;
  if (s) s->mem->frozen = true;
}

bool ig_alias_is_view(const ig_aliases *a, const ig_tensor *t) {
  const state *s = find_state(a, t);
  return s && s->view;
}

bool ig_alias_is_written(const ig_aliases *a, const ig_tensor *t) {
  const state *s = find_state(a, t);
  return s && s->mem->writes;
}
