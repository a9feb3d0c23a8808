// SPDX-License-Identifier: Apache-2.0
// Entries: a recording traced with symbols, and whether another one fits.
#include <stdio.h>
#include <string.h>

#include "capture/defer.h"
#include "op/record.h"
#include "sym/env.h"

// ---- tracing

typedef struct tracer {
  ig_ctx *c;
  ig_defer *d;
  ig_defer_entry *e;
  const uint8_t *how;
  bool failed;    // an expression has no value here
  ig_int *known;  // of each expression, where `has`; parts are computed once
  bool *has;
  bool *of_values;  // of each: all sizes in it are those of values of the recording
} tracer;

static void *copy_of(ig_ctx *c, ig_alloc alloc, const void *from, size_t n, size_t size) {
  void *to = ig_mem_array(alloc, n + 1, size);
  if (!to) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (to && n) memcpy(to, from, ig_mem_mul(n, size));
  return to;
}

// The symbol of a size that has this value. Equal sizes share one, unless they are known to vary.
static const ig_int *find_symbol(const tracer *t, int64_t value, bool size) {
  for (size_t i = 0; i < t->d->slots.n; i++) {
    const ig_int *x = &t->e->slots[i];
    bool fits = x->expr && x->expr->kind == IG_EXPR_SYMBOL && x->value == value &&
                x->expr->sort == IG_SORT_INT;
    if (fits && (!size || t->how[i] == IG_SLOT_AS_SHARED)) return x;
  }
  return NULL;
}

// The input of the graph for a symbol.
static void add_symbol(tracer *t, const ig_expr *symbol, const ig_value *value) {
  char name[32];
  t->e->order[t->e->norder++] = (uint32_t)(2 * t->e->nsymbols + 1);
  t->e->symbols[t->e->nsymbols++] = symbol;
  (void)snprintf(name, sizeof name, "%s", symbol->name);
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  ig_record_placeholder_value(t->c, &p, value);
}

static ig_int new_symbol(tracer *t, int64_t value, int64_t least) {
  ig_int i = ig_sym_backed(t->c, value, least, INT64_MAX);
  if (t->c->status != IG_OK || !i.expr) return i;
  ig_value v = ig_of_int(i);
  add_symbol(t, i.expr, &v);
  return i;
}

static double float_of(int64_t bits) {
  double f = 0;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static ig_int float_at(tracer *t, size_t slot) {
  int64_t bits = t->d->slots.at[slot].value;
  if (t->how[slot] == IG_SLOT_AS_CONSTANT) return ig_const(bits);
  ig_value v = ig_of_f64(float_of(bits));
  v.f_expr = ig_sym_backed_float(t->c, v.f);
  if (t->c->status == IG_OK && v.f_expr) add_symbol(t, v.f_expr, &v);
  return (ig_int){.value = bits, .expr = v.f_expr};
}

// A size or a number of the program: a constant, a known symbol, a new one.
static ig_int number_at(tracer *t, size_t slot) {
  const ig_defer_slot *s = &t->d->slots.at[slot];
  if (s->kind == IG_SLOT_FLOAT) return float_at(t, slot);
  bool size = s->kind == IG_SLOT_SIZE;
  if (size && t->how[slot] == IG_SLOT_AS_FREE) return new_symbol(t, s->value, 0);
  if (t->how[slot] == IG_SLOT_AS_CONSTANT || (size && s->value < 2)) return ig_const(s->value);
  bool shared = t->how[slot] != IG_SLOT_AS_SYMBOL;
  const ig_int *known = shared ? find_symbol(t, s->value, s->kind == IG_SLOT_SIZE) : NULL;
  if (known && s->value >= 2) return *known;
  if (t->how[slot] == IG_SLOT_AS_KNOWN) return ig_const(s->value);
  return new_symbol(t, s->value, size ? 2 : INT64_MIN);
}

static ig_int evaluate(tracer *t, uint32_t expr, ig_tensor *const *values);

static ig_int evaluate_new(tracer *t, const ig_defer_expr *e, ig_tensor *const *values) {
  if (e->kind == IG_EXPR_CONST) return ig_const(e->value);
  if (e->kind == IG_EXPR_SYMBOL) {
    const ig_table_slot *at = ig_table_find(&t->d->numbers, e->tensor);
    const ig_tensor *x = at ? values[at->number] : NULL;
    if (x && (int)e->dim < x->ndim) return ig_sizes(x)[e->dim];
    t->failed = true;
    return ig_const(e->value);
  }
  ig_int a = evaluate(t, e->a, values);
  ig_int b = evaluate(t, e->b, values);
  bool divides = e->kind == IG_EXPR_FLOORDIV || e->kind == IG_EXPR_MOD;
  t->failed = t->failed || (divides && b.value <= 0);
  return t->failed ? ig_const(e->value) : ig_int_combine(t->c, e->kind, a, b);
}

// How the program computed it, from the sizes of the traced tensors.
static ig_int evaluate(tracer *t, uint32_t expr, ig_tensor *const *values) {
  size_t k = expr - 1;
  if (t->has[k]) return t->known[k];
  ig_int i = evaluate_new(t, &t->d->exprs.at[k], values);
  t->known[k] = i;
  t->has[k] = !t->failed;
  return i;
}

// The number of an argument while the calls are repeated; the entry keeps it.
static ig_int take_number(void *user, size_t slot, ig_tensor *const *values) {
  tracer *t = user;
  const ig_defer_slot *s = &t->d->slots.at[slot];
  bool plain = !s->expr || s->kind == IG_SLOT_CONSTANT || t->how[slot] == IG_SLOT_AS_NUMBER;
  if (plain) return t->e->slots[slot];
  t->failed = false;
  ig_int i = evaluate(t, s->expr, values);
  if (t->failed || i.value != s->value) return t->e->slots[slot];
  i.origin = NULL;  // any node with this number will do
  return t->e->slots[slot] = i;
}

// A stride that is the size times the stride of another dim stays so.
static ig_int stride_of(tracer *t, const ig_tensor *x, const ig_int *sizes, const ig_int *strides,
                        const bool *done, int dim) {
  int64_t value = ig_strides(x)[dim].value;
  for (int k = 0; k < x->ndim; k++) {
    // admitted: sizes and strides of a tensor with data
    bool product = done[k] && ig_sizes(x)[k].value * ig_strides(x)[k].value == value;
    if (product && value > 1) return ig_int_mul(t->c, sizes[k], strides[k]);
  }
  return ig_const(value);
}

// From the innermost dim outwards.
static void trace_strides(tracer *t, const ig_tensor *x, ig_meta *m) {
  bool done[IG_MAX_DIM] = {false};
  for (int n = 0; n < x->ndim; n++) {
    int least = -1;
    for (int k = x->ndim - 1; k >= 0; k--) {
      if (!done[k] && (least < 0 || ig_strides(x)[k].value < ig_strides(x)[least].value)) least = k;
    }
    m->stride[least] = stride_of(t, x, m->size, m->stride, done, least);
    done[least] = true;
  }
}

static ig_tensor *trace_input(tracer *t, size_t i, size_t slot, const char *name) {
  const ig_tensor *x = t->d->values.at[t->d->inputs.at[i]].tensor;
  ig_meta m;
  ig_meta_of(x, &m);
  m.view_of = NULL;
  m.strided = true;
  for (int k = 0; k < x->ndim; k++)
    m.size[k] = t->e->slots[slot + (size_t)k] = number_at(t, slot + (size_t)k);
  if (ig_tensor_is_contiguous(t->c, x)) {
    ig_meta_contiguous(t->c, &m);
  } else {
    trace_strides(t, x, &m);
  }
  m.strided = true;
  for (int k = 0; k < x->ndim; k++) t->e->slots[slot + (size_t)(x->ndim + k)] = m.stride[k];
  t->e->order[t->e->norder++] = (uint32_t)(2 * i);
  ig_placeholder p = {
      .role = IG_INPUT_USER, .name = name, .path = name, .requires_grad = x->requires_grad};
  return ig_record_placeholder(t->c, &p, &m);
}

static size_t first_input_slot(const ig_defer *d) {
  size_t i = 0;
  while (i < d->slots.n && d->slots.at[i].kind < IG_SLOT_SIZE) i++;
  return i;
}

// Parts of an expression come before it.
static bool prepare_exprs(tracer *t) {
  const ig_defer *d = t->d;
  size_t n = d->exprs.n;
  t->known = ig_scope_array(t->c, n + 1, sizeof *t->known);
  t->has = ig_scope_array(t->c, n + 1, sizeof *t->has);
  t->of_values = ig_scope_array(t->c, n + 1, sizeof *t->of_values);
  if (!t->known || !t->has || !t->of_values) return false;
  for (size_t i = 0; i < n; i++) {
    const ig_defer_expr *e = &d->exprs.at[i];
    t->has[i] = false;
    t->of_values[i] = e->kind == IG_EXPR_CONST ? true
                      : e->kind == IG_EXPR_SYMBOL
                          ? ig_table_find(&d->numbers, e->tensor) != NULL
                          : t->of_values[e->a - 1] && t->of_values[e->b - 1];
  }
  return true;
}

static bool trace_all(tracer *t, const char *const *names, ig_tensor **outs) {
  ig_defer *d = t->d;
  ig_tensor **inputs = ig_scope_array(t->c, d->inputs.n + 1, sizeof *inputs);
  if (!prepare_exprs(t)) return false;
  size_t args = first_input_slot(d);
  size_t slot = args;
  for (size_t i = 0; inputs && i < d->inputs.n; i++) {
    inputs[i] = trace_input(t, i, slot, names[i]);
    if (!inputs[i]) return false;
    slot += 2 * (size_t)inputs[i]->ndim;
  }
  for (size_t i = 0; i < args; i++) {
    // Those that will be expressions of sizes need no symbol.
    bool plain = !d->slots.at[i].expr || t->how[i] == IG_SLOT_AS_NUMBER;
    bool sized = !plain && t->of_values[d->slots.at[i].expr - 1];
    t->e->slots[i] = sized ? ig_const(d->slots.at[i].value) : number_at(t, i);
  }
  if (t->c->status == IG_OK) ig_defer_replay(t->c, d, inputs, take_number, t, outs);
  return t->c->status == IG_OK;
}

ig_defer_entry *ig_defer_trace(ig_ctx *c, ig_defer *d, const uint8_t *how, const char *const *names,
                               ig_tensor **outs) {
  ig_defer_entry *e = ig_mem_new(d->alloc, sizeof *e);
  if (!e) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *e = (ig_defer_entry){.hash = d->hash, .alloc = d->alloc};
  e->words = copy_of(c, d->alloc, d->words.at, d->words.n, sizeof *e->words);
  e->nwords = d->words.n;
  e->nslots = d->slots.n;
  e->slots = ig_mem_array(d->alloc, e->nslots + 1, sizeof *e->slots);
  e->symbols = ig_mem_array(d->alloc, e->nslots + 1, sizeof *e->symbols);
  e->order_cap = e->nslots + d->inputs.n + 1;
  e->order = ig_mem_array(d->alloc, e->order_cap, sizeof *e->order);
  tracer t = {.c = c, .d = d, .e = e, .how = how};
  c->mode->capture->keeps_draws = true;
  ig_env *env = ig_env_get(c);
  if (env) env->skips_layouts = true;
  if (e->words && e->slots && e->symbols && e->order && trace_all(&t, names, outs)) {
    e->sym = c->mode->capture->sym;
    ig_ref_retain(&e->sym->ref);
    return e;
  }
  if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
  ig_defer_entry_free(e);
  return NULL;
}

void ig_defer_entry_seal(ig_ctx *c, ig_defer_entry *e) {
  const ig_env *env = e->sym->env;
  size_t n = env ? env->guards.n : 0;
  for (size_t i = 0; i < e->nslots; i++) e->slots[i].origin = NULL;
  e->guards = ig_mem_array(e->alloc, n + 1, sizeof *e->guards);
  if (!e->guards) (void)ig_fail(c, IG_NOMEM, "out of memory");
  e->guards_cap = n + 1;
  for (size_t i = 0; e->guards && i < n; i++) e->guards[e->nguards++] = env->guards.at[i].expr;
}

void ig_defer_entry_free(ig_defer_entry *e) {
  if (!e) return;
  ig_mem_array_free(e->alloc, e->words, e->nwords + 1, sizeof *e->words);
  ig_mem_array_free(e->alloc, e->slots, e->nslots + 1, sizeof *e->slots);
  ig_mem_array_free(e->alloc, (void *)e->symbols, e->nslots + 1, sizeof *e->symbols);
  ig_mem_array_free(e->alloc, e->order, e->order_cap, sizeof *e->order);
  ig_mem_array_free(e->alloc, (void *)e->guards, e->guards_cap, sizeof *e->guards);
  if (e->sym) ig_ref_release(&e->sym->ref);
  ig_mem_free(e->alloc, e, sizeof *e);
}

// ---- fitting

typedef struct binding {
  const ig_defer_entry *e;
  const int64_t *values;
  const bool *bound;
} binding;

static bool look_up(void *user, const ig_expr *symbol, ig_hint *out) {
  const binding *b = user;
  for (size_t i = 0; i < b->e->nsymbols; i++) {
    if (b->e->symbols[i] != symbol) continue;
    *out = symbol->sort == IG_SORT_FLOAT
               ? (ig_hint){.sort = IG_SORT_FLOAT, .den = 1, .f = float_of(b->values[i])}
               : (ig_hint){.sort = IG_SORT_INT, .i = b->values[i], .den = 1};
    return b->bound[i];
  }
  return false;
}

static bool is_value(const binding *b, const ig_expr *e, int64_t value) {
  ig_hint h;
  return ig_expr_eval(e, look_up, (void *)b, &h) && h.sort == IG_SORT_INT && h.i == value;
}

static bool holds(const binding *b, const ig_expr *guard) {
  ig_hint h;
  return ig_expr_eval(guard, look_up, (void *)b, &h) && h.i != 0;
}

bool ig_defer_same_structure(const ig_defer *d, const ig_defer_entry *e) {
  return e->hash == d->hash && e->nwords == d->words.n && e->nslots == d->slots.n &&
         memcmp(e->words, d->words.at, d->words.n * sizeof *e->words) == 0;
}

static size_t index_of(const ig_defer_entry *e, const ig_expr *symbol) {
  size_t i = 0;
  while (e->symbols[i] != symbol) i++;
  return i;
}

// Plain symbols take the first value they meet; everything else is compared.
bool ig_defer_fits(const ig_defer *d, const ig_defer_entry *e, int64_t *values) {
  bool bound[IG_DEFER_MOST_SYMBOLS] = {false};
  binding b = {e, values, bound};
  if (e->nsymbols > IG_DEFER_MOST_SYMBOLS) return false;
  for (size_t i = 0; i < e->nslots; i++) {
    const ig_expr *x = e->slots[i].expr;
    int64_t value = d->slots.at[i].value;
    if (!x && e->slots[i].value != value) return false;
    if (!x || x->kind != IG_EXPR_SYMBOL) continue;
    size_t k = index_of(e, x);
    if (bound[k] && values[k] != value) return false;
    if (d->slots.at[i].kind == IG_SLOT_SIZE && x->positive && value < 2) return false;
    values[k] = value;
    bound[k] = true;
  }
  for (size_t i = 0; i < e->nslots; i++) {
    const ig_expr *x = e->slots[i].expr;
    if (x && x->kind != IG_EXPR_SYMBOL && !is_value(&b, x, d->slots.at[i].value)) return false;
  }
  for (size_t i = 0; i < e->nguards; i++) {
    if (!holds(&b, e->guards[i])) return false;
  }
  return true;
}
