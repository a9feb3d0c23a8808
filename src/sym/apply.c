// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers that may be symbolic: sizes (ig_int_*) and values of any sort. Plain
// numbers are folded without touching the table of expressions.
#include <math.h>

#include "sym/build.h"

ig_expr_kind ig_mod_kind(const ig_expr *a, const ig_expr *b) {
  return (ig_expr_facts(a) & IG_IS_NONNEG) && (ig_expr_facts(b) & IG_IS_NONNEG) ? IG_EXPR_MOD
                                                                                : IG_EXPR_PYTHONMOD;
}

static bool fold(ig_expr_kind kind, int64_t a, int64_t b, int64_t *out) {
  switch (kind) {
    case IG_EXPR_ADD:
      return ig_checked_add(a, b, out);
    case IG_EXPR_MUL:
      return ig_checked_mul(a, b, out);
    case IG_EXPR_MIN:
      *out = a < b ? a : b;
      return true;
    case IG_EXPR_MAX:
      *out = a > b ? a : b;
      return true;
    default:
      if (b == -1) return ig_checked_mul(a, kind == IG_EXPR_FLOORDIV ? -1 : 0, out);
      *out = kind == IG_EXPR_FLOORDIV ? ig_floor_div(a, b) : a % b;
      // The remainder has the sign of the divisor, as in Python.
      if (kind != IG_EXPR_FLOORDIV && *out != 0 && (*out < 0) != (b < 0)) *out += b;
      return true;
  }
}

// Recent results, by operation and operands.
typedef struct ig_expr_memo {
  const ig_expr *a;
  const ig_expr *b;
  const ig_expr *result;
  uint32_t kind;
} ig_expr_memo;
enum { MEMO = 512 };

static ig_expr_memo *memo_of(ig_exprs *t, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  if (!t->memo) t->memo = ig_arena_array(&t->arena, MEMO, sizeof *t->memo);
  uint32_t h = (a->age * 0x9E3779B1u) ^ (b->age * 0x85EBCA77u) ^ ((uint32_t)kind << 5);
  return t->memo ? &t->memo[(h ^ h >> 15) % MEMO] : NULL;
}

static const ig_expr *combine(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  ig_exprs *t = ig_expr_table(c);
  if (!t || !a || !b) return NULL;
  ig_expr_memo *m = memo_of(t, kind, a, b);
  if (m && m->a == a && m->b == b && m->kind == (uint32_t)kind) return m->result;
  bool mod = kind == IG_EXPR_MOD;
  const ig_expr *made = ig_expr_make2(c, mod ? ig_mod_kind(a, b) : kind, a, b);
  const ig_expr *e =
      made ? ig_expr_simplify(c, made) : NULL;  // numbers of programs are multiplied out
  if (m && e) *m = (ig_expr_memo){a, b, e, (uint32_t)kind};
  return e;
}

ig_int ig_int_combine(ig_ctx *c, ig_expr_kind kind, ig_int a, ig_int b) {
  ig_int out = {.value = 0};
  if (c->status != IG_OK) return out;
  if (kind == IG_EXPR_SUB) {
    if (a.expr || b.expr) {
      b = ig_int_combine(c, IG_EXPR_MUL, ig_const(-1), b);
    } else {
      if (__builtin_sub_overflow(a.value, b.value, &out.value)) (void)ig_expr_overflow(c);
      return out;
    }
    kind = IG_EXPR_ADD;
  }
  bool divides = kind == IG_EXPR_FLOORDIV || kind == IG_EXPR_MOD || kind == IG_EXPR_PYTHONMOD;
  if (divides && !b.expr && b.value == 0) {
    (void)ig_fail(c, IG_INVALID, "integer division by zero");
    return out;
  }
  if (!a.expr && !b.expr) {
    bool plain = divides || kind == IG_EXPR_ADD || kind == IG_EXPR_MUL || kind == IG_EXPR_MIN ||
                 kind == IG_EXPR_MAX;
    if (plain && !fold(kind, a.value, b.value, &out.value)) (void)ig_expr_overflow(c);
    if (plain) return out;
    ig_value args[] = {ig_of_int(a), ig_of_int(b)};
    ig_value v = ig_none();
    ig_sym_apply(c, kind, args, 2, &v);
    return v.kind == IG_KIND_INT ? v.i : out;
  }
  const ig_expr *e = combine(c, kind, ig_expr_of_int(c, a), ig_expr_of_int(c, b));
  if (!e) return out;
  if (e->backed && !e->hinted) {
    (void)ig_expr_overflow(c);
    return out;
  }
  return (ig_int){.value = e->value, .expr = e->kind == IG_EXPR_CONST ? NULL : e};
}

ig_int ig_int_add(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_ADD, a, b);
}
ig_int ig_int_sub(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_SUB, a, b);
}
ig_int ig_int_mul(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_MUL, a, b);
}
ig_int ig_int_floordiv(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_FLOORDIV, a, b);
}
ig_int ig_int_mod(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_MOD, a, b);
}
ig_int ig_int_min(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_MIN, a, b);
}
ig_int ig_int_max(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_combine(c, IG_EXPR_MAX, a, b);
}

static bool is_symbolic(const ig_value *v) {
  return (v->kind == IG_KIND_INT && v->i.expr) || (v->kind == IG_KIND_FLOAT && v->f_expr) ||
         (v->kind == IG_KIND_BOOL && v->b_expr);
}

static bool hint_of_value(const ig_value *v, ig_hint *out) {
  *out = (ig_hint){.den = 1};
  switch (v->kind) {
    case IG_KIND_INT:
      out->sort = IG_SORT_INT;
      out->i = v->i.value;
      return true;
    case IG_KIND_FLOAT:
      out->sort = IG_SORT_FLOAT;
      out->f = v->f;
      return true;
    case IG_KIND_BOOL:
      out->sort = IG_SORT_BOOL;
      out->i = v->b;
      return true;
    default:
      return false;
  }
}

static bool value_of_hint(const ig_hint *h, ig_value *out) {
  *out = h->sort == IG_SORT_BOOL    ? ig_of_bool(h->i != 0)
         : h->sort == IG_SORT_FLOAT ? ig_of_f64(h->f)
                                    : ig_of_i64((int64_t)h->i);
  return h->sort != IG_SORT_RATIONAL && (h->sort != IG_SORT_INT || ig_wide_fits(h->i));
}

// The operation meant by Python's operator on operands of these sorts.
static ig_expr_kind meant(ig_expr_kind fn, bool floats) {
  switch (fn) {
    case IG_EXPR_TRUEDIV:
      return floats ? IG_EXPR_FLOAT_TRUEDIV : IG_EXPR_INT_TRUEDIV;
    case IG_EXPR_POW:
      return floats ? IG_EXPR_FLOAT_POW : IG_EXPR_POW_NATURAL;
    default:
      return fn;
  }
}

static bool apply_plain(ig_expr_kind fn, const ig_hint *h, size_t n, ig_hint *out) {
  bool floats = h[0].sort == IG_SORT_FLOAT || (n > 1 && h[1].sort == IG_SORT_FLOAT);
  const ig_hint minus = {.sort = IG_SORT_INT, .i = -1, .den = 1};
  ig_hint pair[2];
  if (fn == IG_EXPR_NEG || fn == IG_EXPR_SUB) {
    pair[0] = minus;
    pair[1] = h[n - 1];
    if (!ig_hint_fold(IG_EXPR_MUL, pair, 2, &pair[1])) return false;
    pair[0] = h[0];
    *out = pair[1];
    return fn == IG_EXPR_NEG || ig_hint_fold(IG_EXPR_ADD, pair, 2, out);
  }
  if (fn == IG_EXPR_PIECEWISE) {
    *out = h[0].i ? h[1] : h[2];
    return true;
  }
  bool divides = fn == IG_EXPR_FLOORDIV || fn == IG_EXPR_MOD || fn == IG_EXPR_PYTHONMOD;
  if (divides && floats) {  // Python's // and % on floats
    double a = h[0].sort == IG_SORT_FLOAT ? h[0].f : (double)h[0].i;
    double b = h[1].sort == IG_SORT_FLOAT ? h[1].f : (double)h[1].i;
    double r = b == 0 ? 0 : fmod(a, b);
    if (r != 0 && (r < 0) != (b < 0)) r += b;
    *out = (ig_hint){.sort = IG_SORT_FLOAT, .den = 1};
    out->f = fn == IG_EXPR_FLOORDIV ? floor((a - r) / b + 0.5) : r;
    return b != 0;
  }
  return ig_hint_fold(meant(fn, floats), h, n, out);
}

// Integers mixed with floats become floats.
static const ig_expr *as_float(ig_ctx *c, const ig_expr *e) {
  return e && e->sort == IG_SORT_INT ? ig_expr_make1(c, IG_EXPR_TO_FLOAT, e) : e;
}

static const ig_expr *apply_symbolic(ig_ctx *c, ig_expr_kind fn, const ig_expr **e, size_t n) {
  bool floats = false;
  for (size_t i = 0; i < n; i++) floats = floats || (e[i] && e[i]->sort == IG_SORT_FLOAT);
  if (fn == IG_EXPR_PIECEWISE && n == 3) {  // condition, value, other value
    const ig_expr *args[] = {e[1], e[0], e[2], ig_expr_of_bool(c, true)};
    return ig_expr_make(c, fn, args, 4);
  }
  bool arithmetic = fn == IG_EXPR_ADD || fn == IG_EXPR_SUB || fn == IG_EXPR_MUL ||
                    fn == IG_EXPR_TRUEDIV || fn == IG_EXPR_POW || fn == IG_EXPR_MIN ||
                    fn == IG_EXPR_MAX || (fn >= IG_EXPR_EQ && fn <= IG_EXPR_GE);
  for (size_t i = 0; floats && arithmetic && i < n; i++) e[i] = as_float(c, e[i]);
  fn = meant(fn, floats);
  if (fn == IG_EXPR_MOD && e[0] && e[1] && !floats) fn = ig_mod_kind(e[0], e[1]);
  return ig_expr_make(c, fn, e, n);
}

void ig_sym_apply(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n, ig_value *out) {
  enum { MOST = 16 };
  ig_hint h[MOST] = {{.sort = IG_SORT_INT}};
  const ig_expr *e[MOST] = {NULL};
  bool symbolic = false;
  *out = ig_none();
  if (c->status != IG_OK) return;
  bool known = n >= 1 && n <= MOST && (unsigned)fn < IG_EXPR_FUNCTIONS;
  for (size_t i = 0; known && i < n; i++) {
    known = hint_of_value(&args[i], &h[i]);
    symbolic = symbolic || is_symbolic(&args[i]);
  }
  if (!known) {
    (void)ig_fail(c, IG_INVALID, "symbolic arithmetic takes 1 to %d numbers", MOST);
    return;
  }
  if (!symbolic) {
    ig_hint r;
    for (size_t i = 0; i < n; i++) {
      bool logic = fn >= IG_EXPR_AND && fn <= IG_EXPR_NOT;
      if (h[i].sort == IG_SORT_BOOL && !logic && !(fn == IG_EXPR_PIECEWISE && i == 0)) {
        h[i].sort = fn == IG_EXPR_PIECEWISE ? IG_SORT_BOOL : IG_SORT_INT;  // True is 1
      }
    }
    if (!apply_plain(fn, h, n, &r) || !value_of_hint(&r, out)) {
      *out = ig_none();
      (void)ig_fail(c, IG_INVALID,
                    "%s of these numbers has no value (division by zero, or overflow)",
                    ig_expr_kind_text(fn));
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    e[i] = ig_expr_of_value(c, &args[i]);
    bool number = fn < IG_EXPR_PIECEWISE || fn >= IG_EXPR_SUB;
    if (e[i] && e[i]->sort == IG_SORT_BOOL && number) {  // a boolean as a number
      const ig_expr *ite[] = {ig_expr_of_i64(c, 1), e[i], ig_expr_of_i64(c, 0),
                              ig_expr_of_bool(c, true)};
      e[i] = ig_expr_make(c, IG_EXPR_PIECEWISE, ite, 4);
    }
  }
  const ig_expr *r = apply_symbolic(c, fn, e, n);
  if (r) r = ig_expr_simplify(c, r);
  if (r) ig_value_of_expr(r, out);
}
