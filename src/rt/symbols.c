// SPDX-License-Identifier: Apache-2.0
// Symbols for sizes of inputs, and the expressions that follow from them.
#include <stdio.h>
#include <string.h>

#include "rt/frame.h"
#include "sym/env.h"

// Sizes 0 and 1 are never symbols: empty tensors and broadcasting take other ways.
enum { LEAST = 2 };

// ---- what varies

static const ig_node *placeholder_at(const ig_graph *g, size_t i) {
  const ig_node *n = g->first;
  while (n && !(ig_node_is_placeholder(n) && i-- == 0)) n = n->next;
  return n;
}

// Does size d of input i vary? A graph says so by the sizes of its placeholders.
static bool find_dim(const ig_plan *p, size_t i, int d, const ig_node *n, ig_plan_dim *out) {
  const ig_plan_source *s = &p->source;
  *out = (ig_plan_dim){0};
  if (p->without & IG_PLAN_ALL_SIZES) return true;
  if (s->varies) return s->varies(s->user, i, d, out);
  const ig_tensor *t = n && n->val.kind == IG_KIND_TENSOR ? n->val.tensor : NULL;
  if (!t || d >= t->ndim) return false;
  out->expr = ig_sizes(t)[d].expr;
  return out->expr != NULL;
}

static bool same_dim(const ig_plan_dim *a, const ig_plan_dim *b) {
  if (a->expr || b->expr) return a->expr == b->expr;
  return a->name && b->name && strcmp(a->name, b->name) == 0;
}

// Row-major, and with the strides that such a tensor is made with.
static bool is_canonical(const ig_tensor *t) {
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    int64_t size = ig_sizes(t)[d].value;
    if (ig_strides(t)[d].value != step) return false;
    step *= size > 1 ? size : 1;  // admitted: a tensor with data
  }
  return true;
}

typedef struct collector {
  ig_binding *b;
  ig_plan_dim *dims;  // one per symbol
  int64_t *values;
  size_t n;
} collector;

// The symbol of a size: one that has the same name, or a new one.
static int64_t symbol_for(collector *k, const ig_plan_dim *dim, int64_t value) {
  for (size_t i = 0; i < k->n; i++) {
    if (same_dim(&k->dims[i], dim)) return k->values[i] == value ? (int64_t)i : -1;
  }
  k->dims[k->n] = *dim;
  k->values[k->n] = value;
  return (int64_t)k->n++;
}

static bool collect_input(collector *k, size_t i, const ig_node *n, const ig_tensor *t,
                          ig_rt_size **out) {
  ig_binding *b = k->b;
  ig_plan_dim dim;
  size_t before = k->n;
  ig_rt_size *sizes = ig_arena_array(&b->memory, (size_t)t->ndim + 1, sizeof *sizes);
  if (!sizes) return ig_no_memory(b->plan->c);
  bool any = false;
  for (int d = 0; d < t->ndim; d++) {
    int64_t value = ig_sizes(t)[d].value;
    sizes[d] = (ig_rt_size){value, -1};
    if (value < LEAST || !find_dim(b->plan, i, d, n, &dim)) continue;
    sizes[d].symbol = symbol_for(k, &dim, value);
    any = any || sizes[d].symbol >= 0;
  }
  if (any) *out = sizes;
  if (!any) k->n = before;
  return true;
}

static size_t count_sizes(const ig_plan *p, const ig_value *inputs) {
  size_t n = 0;
  for (size_t i = 0; i < p->source.ninputs; i++) {
    if (!p->constant[i] && inputs[i].kind == IG_KIND_TENSOR) n += (size_t)inputs[i].tensor->ndim;
  }
  return n;
}

static bool make_symbols(ig_binding *b, const collector *k, ig_rt_size **sizes) {
  ig_ctx *c = b->plan->c;
  ig_rt_symbols *s = ig_arena_push(&b->memory, sizeof *s);
  if (!s) return ig_no_memory(c);
  s->sym = ig_sym_create(c);
  if (!s->sym) return false;
  b->symbols = s;
  s->sizes = sizes;
  s->values = k->values;
  s->n = k->n;
  ig_mode_scope mode = ig_mode_push_sym(c, s->sym);
  for (size_t i = 0; i < k->n; i++) (void)ig_sym_backed(c, k->values[i], LEAST, INT64_MAX);
  ig_mode_pop(c, &mode);
  return c->status == IG_OK;
}

bool ig_rt_make_symbols(ig_binding *b, const ig_value *inputs) {
  const ig_plan *p = b->plan;
  ig_ctx *c = p->c;
  size_t most = count_sizes(p, inputs);
  collector k = {.b = b};
  if (p->numbers || most == 0) return true;
  k.dims = ig_arena_array(&b->memory, most, sizeof *k.dims);
  k.values = ig_arena_array(&b->memory, most, sizeof *k.values);
  ig_rt_size **sizes = ig_arena_array(&b->memory, p->source.ninputs + 1, sizeof *sizes);
  if (!k.dims || !k.values || !sizes) return ig_no_memory(c);
  const ig_node *n = p->source.graph ? placeholder_at(p->source.graph, 0) : NULL;
  for (size_t i = 0; i < p->source.ninputs; i++) {
    const ig_tensor *t = inputs[i].kind == IG_KIND_TENSOR ? inputs[i].tensor : NULL;
    bool fits = t && !p->constant[i] && is_canonical(t);
    if (fits && !collect_input(&k, i, n, t, &sizes[i])) return false;
    for (n = n ? n->next : NULL; n && !ig_node_is_placeholder(n);) n = n->next;
  }
  return k.n == 0 || make_symbols(b, &k, sizes);
}

void ig_rt_free_symbols(ig_binding *b) {
  ig_rt_symbols *s = b->symbols;
  if (!s) return;
  ig_alloc alloc = b->plan->c->alloc;
  ig_vec_free(alloc, &s->exprs);
  ig_vec_free(alloc, &s->tensors);
  ig_vec_free(alloc, &s->slots);
  if (s->sym) ig_ref_release(&s->sym->ref);
}

static ig_int symbol_at(ig_ctx *c, size_t i, int64_t value) {
  char name[24];
  (void)snprintf(name, sizeof name, "s%zu", i);
  return (ig_int){.value = value, .expr = ig_expr_find(c, name)};
}

ig_tensor *ig_rt_fake_input(const ig_binding *b, size_t i, const ig_tensor *t) {
  ig_ctx *c = b->plan->c;
  const ig_rt_size *sizes = b->symbols ? b->symbols->sizes[i] : NULL;
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  m.strided = true;
  for (int d = 0; sizes && d < t->ndim; d++) {
    if (sizes[d].symbol < 0) continue;
    m.size[d] = symbol_at(c, (size_t)sizes[d].symbol, sizes[d].value);
  }
  if (sizes) ig_meta_contiguous(c, &m);
  return ig_tensor_make(c, &m, true);
}

// ---- places of numbers

typedef struct scanner {
  ig_binding *b;
  ig_table seen;  // expression -> its number
  bool ok;
} scanner;

static bool number_of(scanner *s, const ig_expr *e, size_t *out) {
  ig_ctx *c = s->b->plan->c;
  ig_rt_symbols *y = s->b->symbols;
  ig_table_slot *slot = ig_table_find(&s->seen, e);
  if (slot) {
    *out = (size_t)slot->number;
    return true;
  }
  slot = ig_table_put(&s->seen, e);
  if (!slot || !ig_vec_push(c->alloc, &y->exprs, e)) return ig_no_memory(c);
  *out = y->exprs.n - 1;
  slot->number = (int64_t)*out;
  return true;
}

static void add_slot(scanner *s, const ig_expr *e, ig_rt_slot slot) {
  ig_ctx *c = s->b->plan->c;
  s->ok = s->ok && number_of(s, e, &slot.expr);
  if (s->ok && !ig_vec_push(c->alloc, &s->b->symbols->slots, slot)) s->ok = ig_no_memory(c);
}

static void scan_int(void *user, ig_int *i) {
  scanner *s = user;
  if (i->expr) add_slot(s, i->expr, (ig_rt_slot){.integer = &i->value});
  i->expr = NULL;
  i->origin = NULL;
}

static void scan_tensor(scanner *s, ig_tensor *t) {
  for (int d = 0; d < 2 * t->ndim; d++) scan_int(s, &t->dims[d]);
  scan_int(s, &t->offset);
}

// Arguments of steps are the binding's own, lists and all.
static void scan_value(scanner *s, ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      scan_int(s, &v->i);
      return;
    case IG_KIND_FLOAT:
      if (v->f_expr) add_slot(s, v->f_expr, (ig_rt_slot){.real = &v->f});
      v->f_expr = NULL;
      return;
    case IG_KIND_INTS:
      for (size_t i = 0; i < v->ints.n; i++) scan_int(s, (ig_int *)&v->ints.at[i]);
      return;
    case IG_KIND_LIST:
      for (size_t i = 0; i < v->list.n; i++) scan_value(s, (ig_value *)&v->list.at[i]);
      return;
    default:
      return;
  }
}

static bool is_varying(const ig_binding *b, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(b, t);
  return ig_tensor_is_symbolic(t) || (x && ig_tensor_is_symbolic(x->whole));
}

// Tensors are held once per use.
static bool collect_tensors(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  ig_table seen = ig_table_make(c->alloc);
  bool ok = true;
  for (size_t i = 0; i < b->held.n && ok; i++) {
    ig_tensor *t = b->held.at[i];
    if (!is_varying(b, t) || ig_table_find(&seen, t)) continue;
    ok = ig_table_put(&seen, t) && ig_vec_push(c->alloc, &b->symbols->tensors, t);
  }
  ig_table_free(&seen);
  return ok || ig_no_memory(c);
}

// What interpreted nodes read beside tensors.
static void scan_interpreted(scanner *s, const ig_rt_step *step) {
  const ig_binding *b = s->b;
  if (b->run) b->plan->source.nodes->each_size(b->run, step->part, scan_int, s);
  for (size_t i = 0; !b->run && i < step->node->ninputs; i++) {
    size_t k = step->node->inputs[i]->index;
    if (!b->dynamic[k]) scan_value(s, &b->env[k]);
  }
}

bool ig_rt_collect_slots(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  if (!b->symbols) return true;
  if (!collect_tensors(b)) return false;
  scanner s = {.b = b, .seen = ig_table_make(c->alloc), .ok = true};
  for (size_t i = 0; i < b->symbols->tensors.n && s.ok; i++) {
    scan_tensor(&s, b->symbols->tensors.at[i]);
  }
  for (size_t i = 0; i < b->steps.n && s.ok; i++) {
    ig_rt_step *step = &b->steps.at[i];
    for (size_t k = 0; step->op && k < step->op->schema.nargs; k++) scan_value(&s, &step->args[k]);
    if (step->layer) ig_rt_each_size(step->layer, scan_int, &s);
    if (ig_rt_is_interpreted(step)) scan_interpreted(&s, step);
  }
  for (size_t i = 0; i < b->plan->source.noutputs && s.ok; i++) {
    scan_value(&s, &b->outputs[i].value);
  }
  ig_table_free(&s.seen);
  return s.ok;
}

// ---- values of symbols

bool ig_rt_read_symbols(const ig_binding *b, size_t i, const ig_tensor *t) {
  int64_t *values = b->symbols->values;
  const ig_rt_size *sizes = b->symbols->sizes[i];
  const ig_tensor *planned = b->inputs[i].tensor;
  if (t->dtype != planned->dtype || t->ndim != planned->ndim || !is_canonical(t)) return false;
  for (int d = 0; d < t->ndim; d++) {
    int64_t value = ig_sizes(t)[d].value;
    int64_t symbol = sizes[d].symbol;
    if (symbol < 0) {
      if (value != sizes[d].value) return false;
      continue;
    }
    if (value < LEAST || (values[symbol] >= 0 && values[symbol] != value)) return false;
    values[symbol] = value;
  }
  return true;
}

typedef struct assignment {
  const int64_t *values;
  size_t n;
} assignment;

static bool look_up(void *user, const ig_expr *symbol, ig_hint *out) {
  const assignment *a = user;
  if (symbol->index >= a->n) return false;
  *out = (ig_hint){.sort = IG_SORT_INT, .i = a->values[symbol->index], .den = 1};
  return true;
}

bool ig_rt_guards_hold(const ig_binding *b) {
  const ig_rt_symbols *s = b->symbols;
  const ig_env *env = s->sym->env;
  assignment a = {s->values, s->n};
  for (size_t i = 0; env && i < env->guards.n; i++) {
    ig_hint holds;
    if (!ig_expr_eval(env->guards.at[i].expr, look_up, &a, &holds) || holds.i == 0) return false;
  }
  return true;
}

static bool narrow(const ig_hint *h, ig_rt_number *out) {
  if (h->sort == IG_SORT_FLOAT) {
    out->f = h->f;
    return true;
  }
  out->i = (int64_t)h->i;
  return h->sort == IG_SORT_INT && out->i == h->i;
}

bool ig_rt_evaluate(const ig_binding *b, ig_rt_number *out) {
  const ig_rt_symbols *s = b->symbols;
  assignment a = {s->values, s->n};
  for (size_t i = 0; i < s->exprs.n; i++) {
    ig_hint h;
    if (!ig_expr_eval(s->exprs.at[i], look_up, &a, &h) || !narrow(&h, &out[i])) return false;
  }
  return true;
}
