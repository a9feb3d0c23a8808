// SPDX-License-Identifier: Apache-2.0
// The solver's results in terms of the declared dims: a number, a range, or k times another dim
// plus c. Only roots are reported; a result for a derived dim is translated to its root.
#include <stdlib.h>
#include <string.h>

#include "capture/dims.h"

enum { LEAST = 2 };
static const int64_t largest = INT64_MAX - 1;

// What one name should be.
typedef struct result {
  const char *name;
  const char *order;  // source text that decides the order
  bool is_number;
  bool is_derived;
  bool has_lo;
  bool has_hi;
  bool fresh;    // a new root
  bool derived;  // the name is that of a derived dim
  bool itself;   // a root that is no longer a symbol, but a dim derived from it is
  bool told;     // its range was translated
  bool dead;
  int64_t value;
  int64_t lo;
  int64_t hi;
  const char *root;  // is_derived: k*root + c
  int64_t k;
  int64_t c;
} result;

typedef struct fixes {
  ig_ctx *ctx;
  const ig_dims *dims;
  IG_VEC(result) all;
} fixes;

void ig_str_affine(ig_str *s, int64_t k, const char *name, int64_t c) {
  if (k == -1 && c > 0) {
    ig_str_add(s, "%lld - %s", (long long)c, name);
    return;
  }
  if (k == 1 || k == -1) {
    ig_str_add(s, "%s%s", k < 0 ? "-" : "", name);
  } else {
    ig_str_add(s, "%lld*%s", (long long)k, name);
  }
  if (c) ig_str_add(s, c < 0 ? " - %lld" : " + %lld", (long long)(c < 0 ? -c : c));
}

static bool is_word(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_';
}

// The symbol of that name among the inputs.
static const char *source_of(const ig_dims *d, const char *name, size_t n) {
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_expr *e = d->uses.at[i].now.expr;
    if (!e || e->kind != IG_EXPR_SYMBOL) continue;
    if (strlen(e->name) == n && strncmp(e->name, name, n) == 0) return d->uses.at[i].source;
  }
  return NULL;
}

void ig_dims_str_expr(const ig_dims *d, ig_str *out, const ig_expr *e) {
  ig_str s = ig_str_make(out->alloc);
  ig_str_expr(&s, e);
  for (const char *p = s.at ? s.at : ""; *p;) {
    size_t n = 0;
    while (is_word(p[n])) n++;
    const char *source = n ? source_of(d, p, n) : NULL;
    if (n == 0) n = 1;
    if (source) {
      ig_str_add(out, "%s", source);
    } else {
      ig_str_add(out, "%.*s", (int)n, p);
    }
    p += n;
  }
  if (s.failed) out->failed = true;
  ig_str_free(&s);
}

static result *find(fixes *f, const char *name) {
  for (size_t i = 0; i < f->all.n; i++) {
    if (!f->all.at[i].dead && strcmp(f->all.at[i].name, name) == 0) return &f->all.at[i];
  }
  return NULL;
}

static result *put(fixes *f, const char *name, const char *order) {
  result *r = find(f, name);
  if (r) return r;
  result fresh = {.name = name, .order = order};
  if (!ig_vec_push(f->ctx->alloc, &f->all, fresh)) {
    (void)ig_fail(f->ctx, IG_NOMEM, "out of memory");
    return NULL;
  }
  return &f->all.at[f->all.n - 1];
}

// The first declared dim with that name or root.
static const ig_dim *declared(const ig_dims *d, const char *name) {
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_dim *u = &d->uses.at[i].dim;
    if (ig_dim_is_strict(u) && strcmp(u->name, name) == 0) return u;
  }
  return NULL;
}

static bool root_bounds(const ig_dims *d, const char *root, int64_t *lo, int64_t *hi) {
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_dim *u = &d->uses.at[i].dim;
    const char *name = NULL;
    int64_t k = 0;
    int64_t c = 0;
    if (!ig_dim_affine(u, &name, &k, &c) || strcmp(name, root) != 0) continue;
    *lo = u->lo;
    *hi = u->hi;
    return true;
  }
  return false;
}

static const char *order_of(const ig_dims *d, const char *root) {
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    if (u->dim.kind == IG_DIM_NAMED && strcmp(u->dim.name, root) == 0) return u->source;
  }
  return root;
}

static const char *prefixed(fixes *f, const char *text) {
  ig_str s = ig_str_make(f->ctx->alloc);
  ig_str_add(&s, "_%s", text);
  const char *kept = s.failed ? NULL : ig_dims_text(f->ctx, s.at);
  if (s.failed) (void)ig_fail(f->ctx, IG_NOMEM, "out of memory");
  ig_str_free(&s);
  return kept;
}

// ---- from the solver ----

static int64_t clip(ig_wide v) {
  return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static void set_bounds(result *r, int64_t lo, int64_t hi) {
  r->has_lo = lo > LEAST;
  r->has_hi = hi != INT64_MAX;
  r->lo = lo;
  r->hi = hi;
}

// s = rest (mod m) becomes a new root, of which the root of the dim is m times, minus something.
static void set_congruence(fixes *f, const ig_dim *d, const ig_unknown *u) {
  const char *root = NULL;
  int64_t k = 1;
  int64_t c = 0;
  (void)ig_dim_affine(d, &root, &k, &c);
  int64_t m = u->m;
  for (int64_t a = k, b = m; b;) {
    int64_t t = a % b;
    a = b;
    b = t;
    if (b == 0) m = u->m / (a < 0 ? -a : a);
  }
  int64_t now = (u->hint - c) / k;
  int64_t rest = ((now % m) + m) % m;
  if (m < 2) return;
  result *r = put(f, root, order_of(f->dims, root));
  const char *name = r ? prefixed(f, root) : NULL;
  if (!name) return;
  r->is_derived = true;
  r->root = name;
  r->k = m;
  r->c = rest ? rest - m : 0;
  if (d->kind != IG_DIM_DERIVED || !u->bounded) return;  // the bounds are those of the dim itself
  int64_t hi = clip(u->hi);
  set_bounds(r, -ig_floor_div(-(clip(u->lo) - c), k),
             hi == INT64_MAX ? hi : ig_floor_div(hi - c, k));
}

static void take_unknown(fixes *f, const ig_unknown *u) {
  size_t at = ig_dims_first(f->dims, u->symbol);
  if (at >= f->dims->uses.n) return;
  const ig_dim_use *use = &f->dims->uses.at[at];
  if (!ig_dim_is_strict(&use->dim)) return;
  result *r = put(f, use->dim.name, use->source);
  if (!r) return;
  r->derived = use->dim.kind == IG_DIM_DERIVED;
  if (u->fixed || (u->bounded && u->lo == u->hi)) {
    r->is_number = true;
    r->value = u->hint;
    return;
  }
  if (u->bounded) set_bounds(r, clip(u->lo), clip(u->hi));
  if (u->m > 1) set_congruence(f, &use->dim, u);
}

static void take_equivalence(fixes *f, const ig_equivalence *q) {
  const ig_dim_use *use = &f->dims->uses.at[q->tag];
  if (!ig_dim_is_strict(&use->dim)) return;
  const ig_expr *symbol = NULL;
  int64_t k = 0;
  int64_t c = 0;
  if (!ig_expr_affine(q->expr, &symbol, &k, &c)) return;
  const char *root = NULL;
  int64_t k0 = 1;
  int64_t c0 = 0;
  if (symbol) {
    size_t at = ig_dims_first(f->dims, symbol);
    if (at == SIZE_MAX) return;
    if (at >= f->dims->uses.n) {
      root = f->dims->phantoms.at[at - f->dims->uses.n].name;
    } else if (!ig_dim_affine(&f->dims->uses.at[at].dim, &root, &k0, &c0)) {
      return;
    }
  }
  result *r = put(f, use->dim.name, use->source);
  if (!r) return;
  r->derived = use->dim.kind == IG_DIM_DERIVED;
  if (!symbol) {
    r->is_number = true;
    r->value = c;
    return;
  }
  if (strcmp(root, use->dim.name) == 0) {
    r->itself = true;
    return;
  }
  if (r->is_derived) return;
  r->is_derived = true;
  r->root = root;
  r->k = k * k0;
  r->c = k * c0 + c;
}

// ---- roots ----

// The largest d for which k*d + c is at most `most`, without overflow.
static int64_t largest_root(int64_t most, int64_t k, int64_t c) {
  int64_t whole = ig_floor_div(c, k);
  return ig_floor_div(most - (c - whole * k), k) - whole;
}

// A new root takes over the bounds; where there is none above, those of PyTorch's largest size.
static void introduce(fixes *f) {
  size_t n = f->all.n;
  for (size_t i = 0; i < n && f->ctx->status == IG_OK; i++) {
    result *r = &f->all.at[i];
    int64_t lo = 0;
    int64_t hi = 0;
    if (!r->is_derived || r->is_number || root_bounds(f->dims, r->root, &lo, &hi)) continue;
    int64_t k = r->k;
    int64_t c = r->c;
    int64_t least = r->has_lo ? r->lo : LEAST;
    int64_t most = r->has_hi ? r->hi : largest;
    r->has_lo = r->has_hi = false;
    int64_t from = -ig_floor_div(-(least - c), k);
    int64_t to = largest_root(most, k, c);
    if (from == to) {  // a root with a single value is not a root
      r->is_number = true;
      r->value = k * from + c;
      continue;
    }
    const char *order = prefixed(f, r->order);
    result *fresh = order ? put(f, r->root, order) : NULL;
    if (!fresh) return;
    fresh->fresh = true;
    fresh->lo = from;
    fresh->hi = to;
    fresh->has_lo = fresh->lo != LEAST;
    fresh->has_hi = true;
  }
}

// Dims derived from a dim that is now derived itself.
static void rewrite(fixes *f) {
  for (size_t i = 0; i < f->all.n; i++) {
    result *r = &f->all.at[i];
    if (!r->is_derived || r->is_number) continue;
    const result *old = find(f, r->root);
    if (old && old != r && old->is_number) {
      r->is_number = true;
      r->value = r->k * old->value + r->c;
    }
    if (!old || old == r || old->fresh || !old->is_derived || old->is_number) continue;
    r->c += r->k * old->c;
    r->k *= old->k;
    r->root = old->root;
  }
}

static bool is_same_range(const fixes *f, const result *r) {
  int64_t lo = 0;
  int64_t hi = 0;
  if (r->is_number || r->is_derived || !root_bounds(f->dims, r->name, &lo, &hi)) return false;
  if (lo < LEAST) lo = LEAST;
  return lo == (r->has_lo ? r->lo : LEAST) && hi == (r->has_hi ? r->hi : INT64_MAX);
}

static bool has_range(const result *r) {
  return !r->is_number && !r->is_derived;
}

// The range of a root that is no longer a size itself, from a dim derived from it.
static void translate(fixes *f, const char *root) {
  result *own = find(f, root);
  if (own && (own->is_number || own->is_derived || own->has_lo || own->has_hi)) return;
  for (size_t i = 0; i < f->all.n; i++) {
    const result *r = &f->all.at[i];
    const ig_dim *d = r->dead || !r->derived ? NULL : declared(f->dims, r->name);
    if (!d || strcmp(d->root, root) != 0 || !has_range(r)) continue;
    bool has_lo = r->has_lo;
    bool has_hi = r->has_hi;
    int64_t lo = -ig_floor_div(-((has_lo ? r->lo : LEAST) - d->c), d->k);
    int64_t hi = has_hi ? ig_floor_div(r->hi - d->c, d->k) : INT64_MAX;
    result *to = put(f, root, order_of(f->dims, root));
    if (to) set_bounds(to, lo, hi);
    if (to) to->told = true;
    return;
  }
}

static void settle_roots(fixes *f) {
  size_t n = f->all.n;
  for (size_t i = 0; i < n; i++) {
    const result *r = &f->all.at[i];
    if (r->is_derived && !r->is_number) translate(f, r->root);
  }
  for (size_t i = 0; i < n; i++) {
    const ig_dim *d = f->all.at[i].derived ? declared(f->dims, f->all.at[i].name) : NULL;
    if (d && find(f, d->root)) translate(f, d->root);
  }
  for (size_t i = 0; i < f->all.n; i++) {
    result *r = &f->all.at[i];
    bool silent = r->itself && !r->told && !r->has_lo && !r->has_hi;
    if (r->derived) r->dead = true;
    if (!r->fresh && has_range(r) && (silent || is_same_range(f, r))) r->dead = true;
  }
}

static bool is_dim_line(const result *r) {
  return has_range(r);
}

static int by_order(const void *a, const void *b) {
  const result *x = a;
  const result *y = b;
  if (is_dim_line(x) != is_dim_line(y)) return is_dim_line(x) ? -1 : 1;
  return strcmp(x->order, y->order);
}

static ig_dim_fix fix_of(const result *r) {
  ig_dim_fix f = {.name = r->name};
  if (r->is_number) {
    f.kind = IG_FIX_INT;
    f.value = r->value;
  } else if (r->is_derived) {
    f.kind = IG_FIX_DERIVED;
    f.root = r->root;
    f.k = r->k;
    f.c = r->c;
  } else {
    f.kind = IG_FIX_RANGE;
    f.lo = r->has_lo ? r->lo : INT64_MIN;
    f.hi = r->has_hi ? r->hi : INT64_MAX;
  }
  return f;
}

void ig_str_fix(ig_str *s, const ig_dim_fix *f) {
  ig_str_add(s, "%s = ", f->name);
  if (f->kind == IG_FIX_INT) {
    ig_str_add(s, "%lld", (long long)f->value);
  } else if (f->kind == IG_FIX_DERIVED) {
    ig_str_affine(s, f->k, f->root, f->c);
  } else {
    ig_str_add(s, "Dim('%s'", f->name);
    if (f->lo != INT64_MIN) ig_str_add(s, ", min=%lld", (long long)f->lo);
    if (f->hi != INT64_MAX) ig_str_add(s, ", max=%lld", (long long)f->hi);
    ig_str_add(s, ")");
  }
}

size_t ig_dims_fixes(ig_ctx *c, ig_dims *d, ig_solver *solver, const ig_dim_fix **out) {
  fixes f = {.ctx = c, .dims = d};
  for (size_t i = 0; i < solver->unknowns.n; i++) take_unknown(&f, &solver->unknowns.at[i]);
  for (size_t i = 0; i < solver->equal.n; i++) take_equivalence(&f, &solver->equal.at[i]);
  introduce(&f);
  rewrite(&f);
  settle_roots(&f);
  if (f.all.n) qsort(f.all.at, f.all.n, sizeof *f.all.at, by_order);
  ig_dim_fix *made = ig_scope_array(c, f.all.n, sizeof *made);
  size_t n = 0;
  for (size_t i = 0; made && i < f.all.n; i++) {
    if (!f.all.at[i].dead) made[n++] = fix_of(&f.all.at[i]);
  }
  ig_vec_free(c->alloc, &f.all);
  *out = made;
  return n;
}
