// SPDX-License-Identifier: Apache-2.0
// Checks guards against declarations: the declared equalities are evaluated, sizes that became
// constants or related without being declared so are violations, and so are guards and ranges that
// a dim does not imply. The solver then finds what could be declared instead.
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "capture/dims.h"
#include "sym/report.h"

enum { LEAST = 2 };

typedef struct verdict {
  ig_ctx *c;
  ig_dims *dims;
  ig_solver solver;
  size_t *first;  // by index of the symbol: use + 1; 0: no input has it
  size_t nfirst;
  ig_str bullets;
  IG_VEC(const char *) names;  // of violated dims
  IG_VEC(ig_violation) all;
  const ig_guard *guard;        // current one
  IG_VEC(const char *) forced;  // dims for which the solver found a number
} verdict;

size_t ig_dims_first(const ig_dims *d, const ig_expr *symbol) {
  for (size_t i = 0; i < d->uses.n; i++) {
    if (d->uses.at[i].now.expr == symbol) return i;
  }
  for (size_t i = 0; i < d->phantoms.n; i++) {
    if (d->phantoms.at[i].now.expr == symbol) return d->uses.n + i;
  }
  return SIZE_MAX;
}

static const char *source_at(const ig_dims *d, size_t i) {
  return i < d->uses.n ? d->uses.at[i].source : d->phantoms.at[i - d->uses.n].name;
}
static const char *name_at(const ig_dims *d, size_t i) {
  return i < d->uses.n ? ig_use_name(&d->uses.at[i]) : d->phantoms.at[i - d->uses.n].name;
}

// ---- declared equalities ----

bool ig_dim_affine(const ig_dim *d, const char **root, int64_t *k, int64_t *c) {
  *root = d->kind == IG_DIM_DERIVED ? d->root : d->name;
  *k = d->kind == IG_DIM_DERIVED ? d->k : 1;
  *c = d->kind == IG_DIM_DERIVED ? d->c : 0;
  return ig_dim_is_strict(d);
}

static bool ask_equal(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_is(c, ig_int_find(c, a), IG_EQ, ig_int_find(c, b));
}

static void equate_named(ig_ctx *c, ig_dims *d, size_t i, const char *end) {
  const ig_dim_use *u = &d->uses.at[i];
  for (size_t j = 0; j < i; j++) {
    const ig_dim_use *first = &d->uses.at[j];
    if (first->dim.kind != IG_DIM_NAMED || strcmp(first->dim.name, u->dim.name) != 0) continue;
    if (!ask_equal(c, first->size, u->size)) {
      ig_fail_text(c, IG_USER_ERROR | IG_E_DIM_EXAMPLE, "%s = %lld is not equal to %s = %lld%s",
                   first->source, (long long)first->example, u->source, (long long)u->example, end);
    }
    return;
  }
}

static bool find_root(const ig_dims *d, const char *root, ig_int *size, int64_t *value) {
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    if (u->dim.kind != IG_DIM_NAMED || strcmp(u->dim.name, root) != 0) continue;
    *size = u->size;
    *value = u->example;
    return true;
  }
  for (size_t i = 0; i < d->phantoms.n; i++) {
    if (strcmp(d->phantoms.at[i].name, root) != 0) continue;
    *size = d->phantoms.at[i].size;
    *value = size->value;
    return true;
  }
  return false;
}

static void equate_derived(ig_ctx *c, ig_dims *d, const ig_dim_use *u, const char *end) {
  ig_int root;
  int64_t value = 0;
  if (!find_root(d, u->dim.root, &root, &value)) return;
  ig_int want =
      ig_int_add(c, ig_int_mul(c, ig_const(u->dim.k), ig_int_find(c, root)), ig_const(u->dim.c));
  if (c->status != IG_OK || ask_equal(c, u->size, want) || c->status != IG_OK) return;
  ig_fail_text(c, IG_USER_ERROR | IG_E_DIM_EXAMPLE,
               "Expected input %s to be equal to %s, where %s = %lld, but got %lld%s", u->source,
               u->dim.name, u->dim.root, (long long)value, (long long)u->example, end);
}

// Shared dims first, then derived ones.
static void equate(ig_ctx *c, ig_dims *d, bool strict) {
  bool deferred = c->mode->sym->env->deferred;
  const char *end = strict ? "\n" : "";
  c->mode->sym->env->deferred = false;
  for (size_t i = 0; i < d->uses.n && c->status == IG_OK; i++) {
    if (d->uses.at[i].dim.kind == IG_DIM_NAMED) equate_named(c, d, i, end);
  }
  for (size_t i = 0; i < d->uses.n && c->status == IG_OK; i++) {
    if (d->uses.at[i].dim.kind == IG_DIM_DERIVED) equate_derived(c, d, &d->uses.at[i], end);
  }
  c->mode->sym->env->deferred = deferred;
  for (size_t i = 0; i < d->uses.n; i++) d->uses.at[i].now = ig_int_find(c, d->uses.at[i].size);
  for (size_t i = 0; i < d->phantoms.n; i++)
    d->phantoms.at[i].now = ig_int_find(c, d->phantoms.at[i].size);
}

// ---- violations ----

static void violate(verdict *v, const char *name) {
  bool known = false;
  for (size_t i = 0; i < v->names.n; i++) known = known || strcmp(v->names.at[i], name) == 0;
  if (!known && !ig_vec_push(v->c->alloc, &v->names, name))
    (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  ig_str_add(&v->bullets, "\n  - ");
  if (!ig_vec_push(v->c->alloc, &v->all, ((ig_violation){name, v->bullets.n, v->guard})))
    (void)ig_fail(v->c, IG_NOMEM, "out of memory");
}

// "dx = L['x'].size()[0] in the specified range 3 <= dx <= 7"
static void add_range(ig_str *s, const char *name, const char *source, const ig_dim *d) {
  int64_t lo = 0;
  int64_t hi = 0;
  ig_dim_bounds(d, &lo, &hi);
  ig_str_add(s, "%s = %s in the specified range", name, source);
  if (lo > LEAST && hi < INT64_MAX) {
    ig_str_add(s, " %lld <= %s <= %lld", (long long)lo, name, (long long)hi);
  } else if (lo > LEAST) {
    ig_str_add(s, " %lld <= %s", (long long)lo, name);
  } else if (hi < INT64_MAX) {
    ig_str_add(s, " %s <= %lld", name, (long long)hi);
  }
}

static void check_constant(verdict *v, const ig_dim_use *u, int64_t value) {
  int64_t lo = 0;
  int64_t hi = 0;
  ig_dim_bounds(&u->dim, &lo, &hi);
  if (ig_dim_is_strict(&u->dim) && !(lo == value && hi == value)) {
    violate(v, u->dim.name);
    ig_str_add(&v->bullets, "Not all values of ");
    add_range(&v->bullets, u->dim.name, u->source, &u->dim);
    ig_str_add(&v->bullets, " are valid because %s was inferred to be a constant (%lld).",
               u->dim.name, (long long)value);
  } else if (u->dim.kind == IG_DIM_DYNAMIC && value > 1) {
    violate(v, u->source);
    ig_str_add(&v->bullets,
               "Not all values of RelaxedUnspecConstraint(%s) are valid because %s was inferred "
               "to be a constant (%lld).",
               u->source, u->source, (long long)value);
  }
}

static void remember_first(verdict *v, const ig_expr *symbol, size_t use) {
  if (v->first && symbol->index < v->nfirst && v->first[symbol->index] == 0)
    v->first[symbol->index] = use + 1;
}

static size_t first_of(const verdict *v, const ig_expr *symbol) {
  return symbol->index < v->nfirst ? v->first[symbol->index] - 1 : SIZE_MAX;
}

// The symbols of the inputs; sizes that have become numbers.
static void track(verdict *v) {
  ig_dims *d = v->dims;
  for (size_t i = 0; i < d->uses.n && v->c->status == IG_OK; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    ig_int now = u->now;
    if (!now.expr) {
      check_constant(v, u, now.value);
    } else if (now.expr->kind == IG_EXPR_SYMBOL) {
      remember_first(v, now.expr, i);
    }
  }
  for (size_t i = 0; i < d->phantoms.n; i++) {
    ig_int now = d->phantoms.at[i].now;
    if (now.expr && now.expr->kind == IG_EXPR_SYMBOL) remember_first(v, now.expr, d->uses.n + i);
  }
}

// Does the declaration of `u` say that it is k*s + m, where s is the size of the first use?
static bool is_declared(const ig_dims *d, const ig_dim_use *u, size_t first, int64_t k, int64_t m) {
  const char *root = NULL;
  const char *other = NULL;
  int64_t ku = 0;
  int64_t cu = 0;
  int64_t kf = 1;
  int64_t cf = 0;
  if (!ig_dim_affine(&u->dim, &root, &ku, &cu)) return true;  // AUTO: nothing was declared
  if (first >= d->uses.n) {
    other = d->phantoms.at[first - d->uses.n].name;
  } else if (!ig_dim_affine(&d->uses.at[first].dim, &other, &kf, &cf)) {
    return true;
  }
  return strcmp(root, other) == 0 && ku == k * kf && cu == k * cf + m;
}

// The expression with its only symbol replaced by the name of the dim.
static void add_related(verdict *v, const ig_expr *e, const ig_expr *symbol, size_t first) {
  const ig_dims *d = v->dims;
  int64_t k = 1;
  int64_t c = 0;
  const char *root = name_at(d, first);
  if (first < d->uses.n) (void)ig_dim_affine(&d->uses.at[first].dim, &root, &k, &c);
  ig_symbol_info info = {.sort = IG_SORT_INT, .positive = true, .backed = false};
  const ig_expr *named = ig_expr_symbol(v->c, root ? root : name_at(d, first), &info);
  const ig_expr *value = NULL;
  if (named) value = ig_expr_make2(v->c, IG_EXPR_MUL, ig_expr_of_i64(v->c, k), named);
  if (value) value = ig_expr_make2(v->c, IG_EXPR_ADD, value, ig_expr_of_i64(v->c, c));
  const ig_expr *shown = value ? ig_expr_substitute(v->c, e, &symbol, &value, 1) : NULL;
  if (shown) shown = ig_expr_simplify(v->c, shown);
  if (shown) ig_str_expr(&v->bullets, shown);
}

static void relate(verdict *v, size_t i, const ig_expr *e) {
  const ig_dims *d = v->dims;
  const ig_dim_use *u = &d->uses.at[i];
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(v->c, e, &n);
  if (n != 1 || !u->is_size) return;
  const ig_expr *symbol = free[0];
  size_t first = first_of(v, symbol);
  const ig_expr *same = NULL;
  int64_t k = 0;
  int64_t c = 0;
  if (first == SIZE_MAX || !ig_dim_is_strict(&u->dim)) return;
  bool affine = ig_expr_affine(e, &same, &k, &c);
  if (affine && is_declared(d, u, first, k, c)) return;
  violate(v, u->dim.name);
  if (e == symbol) {
    ig_str_add(&v->bullets, "The values of %s = %s and %s = %s must always be equal.", u->dim.name,
               u->source, name_at(d, first), source_at(d, first));
    return;
  }
  ig_str_add(&v->bullets,
             "The values of %s = %s must always be related to the values of %s = %s by %s = ",
             u->dim.name, u->source, name_at(d, first), source_at(d, first), u->dim.name);
  add_related(v, e, symbol, first);
  ig_str_add(&v->bullets, ".");
}

static void relations(verdict *v) {
  ig_dims *d = v->dims;
  for (size_t i = 0; i < d->uses.n && v->c->status == IG_OK; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    ig_int now = u->now;
    if (!u->is_size) continue;
    if (now.expr && now.expr->kind == IG_EXPR_SYMBOL && first_of(v, now.expr) == i) continue;
    const ig_expr *e = ig_expr_of_int(v->c, now);
    if (!e) return;
    ig_solver_equal(&v->solver, i, e);
    if (now.expr) relate(v, i, now.expr);
  }
}

// Each different declared range of the symbol; uses of one symbol may have several.
static bool is_repeated(verdict *v, size_t i, const ig_expr *symbol) {
  int64_t lo = 0;
  int64_t hi = 0;
  ig_dim_bounds(&v->dims->uses.at[i].dim, &lo, &hi);
  for (size_t j = 0; j < i; j++) {
    const ig_dim_use *u = &v->dims->uses.at[j];
    int64_t l = 0;
    int64_t h = 0;
    if (!ig_dim_is_strict(&u->dim) || u->now.expr != symbol) continue;
    ig_dim_bounds(&u->dim, &l, &h);
    if (l == lo && h == hi) return true;
  }
  return false;
}

typedef void per_constraint(verdict *v, const ig_dim *d, size_t first, const void *user);

static void each_constraint(verdict *v, const ig_expr *symbol, per_constraint *fn,
                            const void *user) {
  size_t first = first_of(v, symbol);
  for (size_t i = first; i < v->dims->uses.n; i++) {
    const ig_dim_use *u = &v->dims->uses.at[i];
    if (!ig_dim_is_strict(&u->dim) || u->now.expr != symbol) continue;
    if (!is_repeated(v, i, symbol)) fn(v, &u->dim, first, user);
  }
}

static void guard_bullet(verdict *v, const ig_dim *d, size_t first, const void *user) {
  const char *name = name_at(v->dims, first);
  violate(v, name);
  ig_str_add(&v->bullets, "Not all values of ");
  add_range(&v->bullets, name, source_at(v->dims, first), d);
  ig_str_add(&v->bullets, " satisfy the generated guard ");
  ig_dims_str_expr(v->dims, &v->bullets, user);
  ig_str_add(&v->bullets, ".");
}

static void range_bullet(verdict *v, const ig_dim *d, size_t first, const void *user) {
  const ig_vrange *r = user;
  int64_t lo = 0;
  int64_t hi = 0;
  ig_dim_bounds(d, &lo, &hi);
  if (lo < LEAST) lo = LEAST;
  bool above = r->hi == IG_WIDE_MAX || r->hi >= INT64_MAX;
  if (r->lo <= lo && (above || r->hi >= hi)) return;
  const char *name = name_at(v->dims, first);
  const char *source = source_at(v->dims, first);
  violate(v, name);
  ig_str_add(&v->bullets, "Not all values of ");
  add_range(&v->bullets, name, source, d);
  ig_str_add(&v->bullets, " satisfy the generated guard %lld <= %s and %s <= ", (long long)r->lo,
             source, source);
  if (above && !v->dims->finite) {
    ig_str_add(&v->bullets, "int_oo");
  } else {
    ig_str_add(&v->bullets, "%lld", (long long)(above ? INT64_MAX - 1 : r->hi));
  }
}

// Is some symbol of the guard a size of an input?
static bool is_about_dims(verdict *v, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(v->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    size_t at = first_of(v, free[i]);
    if (at < v->dims->uses.n && v->dims->uses.at[at].is_size) return true;
  }
  return false;
}

typedef struct seen {
  const ig_expr **slots;
  size_t cap;
} seen;

static bool is_new(seen *s, const ig_expr *e) {
  size_t i = (size_t)(((uintptr_t)e >> 4) * 0x9E3779B97F4A7C15u >> 20) & (s->cap - 1);
  while (s->slots[i] && s->slots[i] != e) i = (i + 1) & (s->cap - 1);
  bool fresh = s->slots[i] == NULL;
  s->slots[i] = e;
  return fresh;
}

static void issue(verdict *v, const ig_expr *e) {
  bool trivial = is_about_dims(v, e) && ig_solver_add(&v->solver, e);
  if (!v->solver.forced) return;  // what no dim can express is checked by the operators
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(v->c, e, &n);
  if (!trivial && n == 1 && first_of(v, free[0]) != SIZE_MAX) {
    each_constraint(v, free[0], guard_bullet, e);
  }
}

static void guards(verdict *v) {
  ig_env *env = v->c->mode->sym->env;
  seen s = {.cap = 64};
  while (s.cap < env->guards.n * 2 + 2) s.cap *= 2;
  s.slots = ig_mem_array(v->c->alloc, s.cap, sizeof *s.slots);
  if (!s.slots) {
    (void)ig_fail(v->c, IG_NOMEM, "out of memory");
    return;
  }
  for (size_t i = 0; i < env->guards.n && v->c->status == IG_OK; i++) {
    const ig_expr *g = env->guards.at[i].expr;
    if (ig_env_static(v->c, g, IG_ASK_WITHOUT_FACTS) != IG_UNKNOWN) continue;
    g = ig_env_find(v->c, g);
    v->guard = &env->guards.at[i];
    if (g && is_new(&s, g)) issue(v, g);
  }
  v->guard = NULL;
  ig_mem_array_free(v->c->alloc, (void *)s.slots, s.cap, sizeof *s.slots);
}

static void add_bound(verdict *v, ig_expr_kind kind, const ig_expr *symbol, ig_wide bound) {
  const ig_expr *e = ig_expr_make2(v->c, kind, symbol, ig_expr_of_i64(v->c, (int64_t)bound));
  if (e && e->kind == kind) (void)ig_solver_add(&v->solver, e);
}

static void ranges(verdict *v) {
  for (size_t i = 0; i < v->dims->uses.n && v->c->status == IG_OK; i++) {
    const ig_dim_use *u = &v->dims->uses.at[i];
    const ig_expr *symbol = u->now.expr;
    if (!symbol || symbol->kind != IG_EXPR_SYMBOL || first_of(v, symbol) != i) continue;
    ig_vrange r = ig_symbol_range(v->c, symbol);
    if (u->is_size && r.lo > IG_WIDE_MIN) add_bound(v, IG_EXPR_GE, symbol, r.lo);
    if (u->is_size && r.hi < INT64_MAX) add_bound(v, IG_EXPR_LE, symbol, r.hi);
    each_constraint(v, symbol, range_bullet, &r);
  }
}

// ---- the message ----

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_names(ig_str *s, const char **at, size_t n) {
  qsort((void *)at, n, sizeof *at, by_text);
  for (size_t i = 0; i < n; i++) ig_str_add(s, "%s%s", i ? ", " : "", at[i]);
}

static const char log_hint[] = "For more information, run with TORCH_LOGS=\"+dynamic\".";

static void add_forced(verdict *v, ig_str *s) {
  IG_VEC(const char *) names = {0};
  ig_str list = ig_str_make(v->c->alloc);
  for (size_t i = 0; i < v->solver.unknowns.n; i++) {
    const ig_unknown *u = &v->solver.unknowns.at[i];
    size_t at = first_of(v, u->symbol);
    if (!u->forced || at >= v->dims->uses.n) continue;
    const ig_dim *d = &v->dims->uses.at[at].dim;
    if (!ig_dim_is_strict(d)) continue;
    const char *root = d->kind == IG_DIM_DERIVED ? d->root : d->name;
    bool known = false;
    for (size_t k = 0; k < names.n; k++) known = known || strcmp(names.at[k], root) == 0;
    if (!known && !ig_vec_push(v->c->alloc, &names, root))
      (void)ig_fail(v->c, IG_NOMEM, "out of memory");
    ig_str_add(&list,
               "  - %s = %s must be specialized to %lld because the guards generated for it are "
               "too complex.\n",
               d->name, source_at(v->dims, at), (long long)u->hint);
    if (!ig_vec_push(v->c->alloc, &v->forced, d->name))
      (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  }
  if (names.n) {
    ig_str_add(s, "Specializations unexpectedly required (");
    add_names(s, names.at, names.n);
    ig_str_add(s, ")! %s\n%s", log_hint, list.at);
  }
  ig_vec_free(v->c->alloc, &names);
  ig_str_free(&list);
}

// The error: the text so far and the fixes, which are also available as data.
static void refuse(verdict *v, ig_str *s) {
  ig_ctx *c = v->c;
  const ig_dim_fix *fixes = NULL;
  size_t n = ig_dims_fixes(c, v->dims, &v->solver, &fixes);
  for (size_t i = 0; i < n; i++) {
    ig_str_add(s, i ? "\n  " : "\nSuggested fixes:\n  ");
    ig_str_fix(s, &fixes[i]);
  }
  if (s->failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (c->status != IG_OK) return;
  ig_fixes_tell(c, fixes, n);
  for (size_t i = 0; i < v->all.n; i++) {
    ig_dims_tell(c, v->dims, &v->all.at[i], v->bullets.at + v->all.at[i].at, fixes, n);
  }
  for (size_t i = 0; i < v->forced.n; i++) {
    ig_dims_tell(c, v->dims, &(ig_violation){.name = v->forced.at[i]},
                 "What the program requires of this size is too complex for a dim.", fixes, n);
  }
  ig_fail_text(c, IG_USER_ERROR | IG_E_DIMS, "%s", s->at);
}

static void conclude(verdict *v, const ig_solve_options *o) {
  ig_str s = ig_str_make(v->c->alloc);
  if (v->names.n) {
    ig_str_add(&s, "Constraints violated (");
    add_names(&s, v->names.at, v->names.n);
    ig_str_add(&s, ")! %s%s%s", log_hint, v->bullets.at, o->strict ? "\n" : "");
  }
  size_t before = s.n;
  add_forced(v, &s);
  if (v->names.n || s.n > before) refuse(v, &s);
  ig_str_free(&s);
}

ig_status ig_capture_solve(ig_ctx *c, const ig_solve_options *options) {
  ig_solve_options all;
  IG_OPTIONS_TAKE(&all, options, ask_empty);
  const ig_solve_options *o = &all;
  ig_dims *d = ig_dims_get(c);
  if (!d || ig_capture_inputs_done(c) != IG_OK) return c->status;
  d->finite = o->no_forced;
  equate(c, d, o->strict);
  if (c->status != IG_OK) return c->status;
  verdict v = {.c = c, .dims = d, .nfirst = c->mode->sym->exprs.ranges.n + 1};
  v.first = ig_mem_array(c->alloc, v.nfirst, sizeof *v.first);
  v.bullets = ig_str_make(c->alloc);
  ig_solver_init(&v.solver, c);
  v.solver.forced = !o->no_forced;
  if (!v.first) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (c->status == IG_OK) {
    track(&v);
    relations(&v);
    guards(&v);
    ranges(&v);
    ig_solver_run(&v.solver);
    conclude(&v, o);
  }
  if (c->status == IG_OK && ig_dims_list_ranges(c, d)) (void)ig_capture_settle(c);
  ig_solver_free(&v.solver);
  ig_vec_free(c->alloc, &v.names);
  ig_vec_free(c->alloc, &v.all);
  ig_vec_free(c->alloc, &v.forced);
  ig_str_free(&v.bullets);
  ig_mem_array_free(c->alloc, v.first, v.nfirst, sizeof *v.first);
  return c->status;
}
