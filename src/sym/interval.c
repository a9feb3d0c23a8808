// SPDX-License-Identifier: Apache-2.0
// Value ranges of expressions from those of their symbols, one operation at a time.
#include <math.h>

#include "sym/build.h"

ig_vrange ig_vrange_ints(ig_wide lo, ig_wide hi) {
  return (ig_vrange){.sort = IG_SORT_INT, .lo = lo, .hi = hi};
}
ig_vrange ig_vrange_floats(double lo, double hi) {
  return (ig_vrange){.sort = IG_SORT_FLOAT, .flo = lo, .fhi = hi};
}
ig_vrange ig_vrange_bools(bool lo, bool hi) {
  return (ig_vrange){.sort = IG_SORT_BOOL, .lo = lo, .hi = hi};
}

ig_vrange ig_vrange_all(ig_expr_sort sort) {
  return sort == IG_SORT_BOOL  ? ig_vrange_bools(false, true)
         : sort == IG_SORT_INT ? ig_vrange_ints(IG_WIDE_MIN, IG_WIDE_MAX)
                               : ig_vrange_floats(-HUGE_VAL, HUGE_VAL);
}

static bool is_real(ig_vrange r) {
  return r.sort == IG_SORT_FLOAT || r.sort == IG_SORT_RATIONAL;
}

static double to_double(ig_wide v) {
  return v == IG_WIDE_MAX ? HUGE_VAL : v == IG_WIDE_MIN ? -HUGE_VAL : (double)v;
}

static ig_vrange as_floats(ig_vrange r) {
  return is_real(r) ? r : ig_vrange_floats(to_double(r.lo), to_double(r.hi));
}

ig_vrange ig_vrange_meet(ig_vrange a, ig_vrange b) {
  if (is_real(a) || is_real(b)) {
    a = as_floats(a);
    b = as_floats(b);
    return ig_vrange_floats(fmax(a.flo, b.flo), fmin(a.fhi, b.fhi));
  }
  a.lo = a.lo > b.lo ? a.lo : b.lo;
  a.hi = a.hi < b.hi ? a.hi : b.hi;
  return a;
}

ig_vrange ig_vrange_join(ig_vrange a, ig_vrange b) {
  if (is_real(a) || is_real(b)) {
    a = as_floats(a);
    b = as_floats(b);
    return ig_vrange_floats(fmin(a.flo, b.flo), fmax(a.fhi, b.fhi));
  }
  a.lo = a.lo < b.lo ? a.lo : b.lo;
  a.hi = a.hi > b.hi ? a.hi : b.hi;
  return a;
}

bool ig_vrange_is_empty(ig_vrange r) {
  return is_real(r) ? r.flo > r.fhi : r.lo > r.hi;
}
bool ig_vrange_is_single(ig_vrange r) {
  return is_real(r) ? r.flo == r.fhi : r.lo == r.hi;
}

ig_range ig_vrange_narrow(ig_vrange r) {
  ig_range out = {INT64_MIN, INT64_MAX};
  if (is_real(r)) return out;
  if (r.lo > INT64_MIN) out.lo = r.lo > INT64_MAX ? INT64_MAX : (int64_t)r.lo;
  if (r.hi < INT64_MAX) out.hi = r.hi < INT64_MIN ? INT64_MIN : (int64_t)r.hi;
  return out;
}

ig_vrange ig_vrange_widen(ig_range r) {
  return ig_vrange_ints(r.lo == INT64_MIN ? IG_WIDE_MIN : r.lo,
                        r.hi == INT64_MAX ? IG_WIDE_MAX : r.hi);
}

static bool is_endless(ig_wide v) {
  return v == IG_WIDE_MAX || v == IG_WIDE_MIN;
}

static ig_wide add(ig_wide a, ig_wide b, ig_wide endless) {
  ig_wide r = 0;
  if (a == endless || b == endless || !ig_wide_add(a, b, &r)) return endless;
  return is_endless(a) ? a : is_endless(b) ? b : r;
}

static ig_wide mul(ig_wide a, ig_wide b) {
  ig_wide r = 0;
  if (a == 0 || b == 0) return 0;
  if (is_endless(a) || is_endless(b) || !ig_wide_mul(a, b, &r)) {
    return (a < 0) == (b < 0) ? IG_WIDE_MAX : IG_WIDE_MIN;
  }
  return r;
}

static double multiplied(double a, double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}

static ig_vrange hull(const ig_wide *p, int n) {
  ig_vrange r = ig_vrange_ints(p[0], p[0]);
  for (int i = 1; i < n; i++) {
    if (p[i] < r.lo) r.lo = p[i];
    if (p[i] > r.hi) r.hi = p[i];
  }
  return r;
}

static ig_vrange fhull(const double *p, int n) {
  ig_vrange r = ig_vrange_floats(p[0], p[0]);
  for (int i = 1; i < n; i++) {
    r.flo = fmin(r.flo, p[i]);
    r.fhi = fmax(r.fhi, p[i]);
  }
  return r;
}

static ig_vrange range_add(ig_vrange a, ig_vrange b) {
  if (is_real(a) || is_real(b)) {
    a = as_floats(a);
    b = as_floats(b);
    return ig_vrange_floats(a.flo + b.flo, a.fhi + b.fhi);
  }
  return ig_vrange_ints(add(a.lo, b.lo, IG_WIDE_MIN), add(a.hi, b.hi, IG_WIDE_MAX));
}

static ig_vrange range_mul(ig_vrange a, ig_vrange b) {
  if (is_real(a) || is_real(b)) {
    a = as_floats(a);
    b = as_floats(b);
    const double p[] = {multiplied(a.flo, b.flo), multiplied(a.flo, b.fhi),
                        multiplied(a.fhi, b.flo), multiplied(a.fhi, b.fhi)};
    return fhull(p, 4);
  }
  const ig_wide p[] = {mul(a.lo, b.lo), mul(a.lo, b.hi), mul(a.hi, b.lo), mul(a.hi, b.hi)};
  return hull(p, 4);
}

static bool has_zero(ig_vrange r) {
  return is_real(r) ? r.flo <= 0 && r.fhi >= 0 : r.lo <= 0 && r.hi >= 0;
}

static ig_wide floordiv(ig_wide a, ig_wide b) {
  if (is_endless(a)) return (a < 0) == (b < 0) ? IG_WIDE_MAX : IG_WIDE_MIN;
  if (is_endless(b)) return 0;
  return ig_wide_floordiv(a, b);
}

static ig_vrange range_floordiv(ig_vrange a, ig_vrange b) {
  if (has_zero(b)) return ig_vrange_all(IG_SORT_INT);
  const ig_wide p[] = {floordiv(a.lo, b.lo), floordiv(a.lo, b.hi), floordiv(a.hi, b.lo),
                       floordiv(a.hi, b.hi)};
  ig_vrange r = hull(p, 4);
  // A negative quotient rounds down to -1 however large the divisor.
  bool minus = (a.lo < 0 && b.hi > 0) || (a.hi > 0 && b.lo < 0);
  if (minus && r.lo > -1) r.lo = -1;
  return r;
}

// Python's remainder: it has the sign of the divisor.
static ig_vrange range_mod(ig_vrange a, ig_vrange b) {
  if (has_zero(b)) return ig_vrange_all(IG_SORT_INT);
  if (b.lo == b.hi && !is_endless(a.lo) && !is_endless(a.hi) &&
      ig_wide_floordiv(a.lo, b.lo) == ig_wide_floordiv(a.hi, b.lo)) {  // no wrapping inside
    ig_wide q = ig_wide_floordiv(a.lo, b.lo) * b.lo;
    return ig_vrange_ints(a.lo - q, a.hi - q);
  }
  if (b.lo > 0) {
    ig_wide hi = is_endless(b.hi) ? b.hi : b.hi - 1;
    if (a.lo >= 0 && a.hi < hi) hi = a.hi;
    return ig_vrange_ints(0, hi);
  }
  ig_wide lo = is_endless(b.lo) ? b.lo : b.lo + 1;
  if (a.hi <= 0 && a.lo > lo) lo = a.lo;
  return ig_vrange_ints(lo, 0);
}

static ig_vrange range_truediv(ig_vrange a, ig_vrange b) {
  a = as_floats(a);
  b = as_floats(b);
  bool endless = (isinf(a.flo) || isinf(a.fhi)) && (isinf(b.flo) || isinf(b.fhi));
  if (has_zero(b) || endless) return ig_vrange_all(IG_SORT_FLOAT);
  const double p[] = {a.flo / b.flo, a.flo / b.fhi, a.fhi / b.flo, a.fhi / b.fhi};
  return fhull(p, 4);
}

static ig_wide power(ig_wide a, ig_wide k) {
  ig_wide r = 0;
  if (k == 0) return 1;
  bool minus = a < 0 && k % 2;
  if (is_endless(a) || is_endless(k) || !ig_wide_pow(a, k, &r)) {
    return a == 0 || a == 1 ? a : minus ? IG_WIDE_MIN : IG_WIDE_MAX;
  }
  if (r > INT64_MAX) return IG_WIDE_MAX;  // beyond sizes: as good as unbounded
  return r < INT64_MIN ? IG_WIDE_MIN : r;
}

static ig_vrange range_abs(ig_vrange a) {
  if (is_real(a)) {
    double hi = fmax(fabs(a.flo), fabs(a.fhi));
    return ig_vrange_floats(has_zero(a) ? 0 : fmin(fabs(a.flo), fabs(a.fhi)), hi);
  }
  ig_wide lo = a.lo < 0 ? mul(a.lo, -1) : a.lo;
  ig_wide hi = a.hi < 0 ? mul(a.hi, -1) : a.hi;
  const ig_wide p[] = {lo, hi, 0};
  return hull(p, has_zero(a) ? 3 : 2);
}

static ig_vrange range_pow(ig_vrange a, ig_vrange b) {
  if (is_real(a)) return ig_vrange_all(IG_SORT_FLOAT);
  if (b.lo < 0) b.lo = 0;
  if (b.lo == b.hi) {
    const ig_wide p[] = {power(a.lo, b.lo), power(a.hi, b.lo), 0};
    return hull(p, b.lo > 0 && b.lo % 2 == 0 && has_zero(a) ? 3 : 2);
  }
  if (a.lo >= 1) return ig_vrange_ints(power(a.lo, b.lo), power(a.hi, b.hi));
  ig_wide most = power(range_abs(a).hi, b.hi);
  if (most < 1) most = 1;  // 0**0
  return ig_vrange_ints(a.lo >= 0 ? 0 : mul(most, -1), most);
}

static ig_vrange range_min_max(ig_expr_kind kind, ig_vrange a, ig_vrange b) {
  bool min = kind == IG_EXPR_MIN;
  if (is_real(a) || is_real(b)) {
    a = as_floats(a);
    b = as_floats(b);
    return min ? ig_vrange_floats(fmin(a.flo, b.flo), fmin(a.fhi, b.fhi))
               : ig_vrange_floats(fmax(a.flo, b.flo), fmax(a.fhi, b.fhi));
  }
  return min ? ig_vrange_ints(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi)
             : ig_vrange_ints(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static ig_wide rounded(ig_expr_kind kind, double f) {
  if (!(fabs(f) < 0x1p126)) return f < 0 ? IG_WIDE_MIN : IG_WIDE_MAX;
  return (ig_wide)(kind == IG_EXPR_CEIL    ? ceil(f)
                   : kind == IG_EXPR_FLOOR ? floor(f)
                   : kind == IG_EXPR_TRUNC ? trunc(f)
                                           : nearbyint(f));
}

// Monotone functions of one float.
static ig_vrange range_opaque(ig_expr_kind kind, ig_vrange a) {
  ig_vrange all = ig_vrange_all(IG_SORT_FLOAT);
  a = as_floats(a);
  switch (kind) {
    case IG_EXPR_SQRT:
      return a.flo < 0 ? all : ig_vrange_floats(sqrt(a.flo), sqrt(a.fhi));
    case IG_EXPR_EXP:
      return ig_vrange_floats(exp(a.flo), exp(a.fhi));
    case IG_EXPR_LOG:
      return a.flo <= 0 ? all : ig_vrange_floats(log(a.flo), log(a.fhi));
    case IG_EXPR_LOG2:
      return a.flo <= 0 ? all : ig_vrange_floats(log2(a.flo), log2(a.fhi));
    case IG_EXPR_SIN:
    case IG_EXPR_COS:
      return ig_vrange_floats(-1, 1);
    case IG_EXPR_TANH:
      return ig_vrange_floats(tanh(a.flo), tanh(a.fhi));
    case IG_EXPR_SINH:
      return ig_vrange_floats(sinh(a.flo), sinh(a.fhi));
    case IG_EXPR_ATAN:
      return ig_vrange_floats(atan(a.flo), atan(a.fhi));
    case IG_EXPR_TRUNC_FLOAT:
      return ig_vrange_floats(trunc(a.flo), trunc(a.fhi));
    default:
      return all;
  }
}

// -1: always below; 1: never below; 0: unknown.
static bool always_less(ig_vrange a, ig_vrange b) {
  if (!is_real(a) && !is_real(b)) return a.hi < b.lo;
  return as_floats(a).fhi < as_floats(b).flo;
}
static bool never_less(ig_vrange a, ig_vrange b) {
  if (!is_real(a) && !is_real(b)) return a.lo >= b.hi;
  return as_floats(a).flo >= as_floats(b).fhi;
}

static ig_vrange range_less(ig_vrange a, ig_vrange b) {
  bool yes = always_less(a, b);
  bool no = never_less(a, b);
  return ig_vrange_bools(yes, yes || !no);
}

static ig_vrange range_not(ig_vrange r) {
  return ig_vrange_bools(!r.hi, !r.lo);
}

static ig_vrange range_equal(ig_vrange a, ig_vrange b) {
  bool apart = always_less(a, b) || always_less(b, a);
  bool same = ig_vrange_is_single(a) && ig_vrange_is_single(b) && !apart;
  return ig_vrange_bools(same, !apart);
}

static ig_vrange range_relation(ig_expr_kind kind, ig_vrange a, ig_vrange b) {
  switch (kind) {
    case IG_EXPR_EQ:
      return range_equal(a, b);
    case IG_EXPR_NE:
      return range_not(range_equal(a, b));
    case IG_EXPR_LT:
      return range_less(a, b);
    case IG_EXPR_GE:
      return range_not(range_less(a, b));
    case IG_EXPR_GT:
      return range_less(b, a);
    default:
      return range_not(range_less(b, a));
  }
}

static ig_vrange range_shift(ig_expr_kind kind, ig_vrange a, ig_vrange b) {
  if (b.lo < 0) b.lo = 0;
  ig_vrange p = range_pow(ig_vrange_ints(2, 2), b);
  return kind == IG_EXPR_LSHIFT ? range_mul(a, p) : range_floordiv(a, p);
}

static ig_vrange range2(ig_expr_kind kind, ig_vrange a, ig_vrange b) {
  switch (kind) {
    case IG_EXPR_ADD:
      return range_add(a, b);
    case IG_EXPR_MUL:
      return range_mul(a, b);
    case IG_EXPR_MIN:
    case IG_EXPR_MAX:
      return range_min_max(kind, a, b);
    case IG_EXPR_AND:
      return ig_vrange_bools(a.lo && b.lo, a.hi && b.hi);
    case IG_EXPR_OR:
      return ig_vrange_bools(a.lo || b.lo, a.hi || b.hi);
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
      return range_floordiv(a, b);
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
      return range_mod(a, b);
    case IG_EXPR_INT_TRUEDIV:
    case IG_EXPR_FLOAT_TRUEDIV:
      return range_truediv(a, b);
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
      return range_pow(a, b);
    case IG_EXPR_LSHIFT:
    case IG_EXPR_RSHIFT:
      return range_shift(kind, a, b);
    default:
      if (kind >= IG_EXPR_EQ && kind <= IG_EXPR_GE) return range_relation(kind, a, b);
      return ig_vrange_all(IG_SORT_FLOAT);
  }
}

ig_vrange ig_vrange_apply(ig_expr_kind kind, ig_vrange a, ig_vrange b) {
  return range2(kind, a, b);
}

static ig_vrange range1(ig_expr_kind kind, ig_vrange a) {
  switch (kind) {
    case IG_EXPR_NOT:
      return range_not(a);
    case IG_EXPR_ABS:
      return range_abs(a);
    case IG_EXPR_TO_FLOAT:
      return as_floats(a);
    case IG_EXPR_CEIL:
    case IG_EXPR_FLOOR:
    case IG_EXPR_TRUNC:
    case IG_EXPR_ROUND:
      return is_real(a) ? ig_vrange_ints(rounded(kind, a.flo), rounded(kind, a.fhi)) : a;
    default:
      return range_opaque(kind, a);
  }
}

typedef struct ranges {
  ig_ctx *c;
  ig_range_fn fn;
  void *user;
} ranges;

static ig_vrange range_of(const ranges *r, const ig_expr *e);

static ig_vrange range_piecewise(const ranges *r, const ig_expr *e) {
  ig_vrange out = ig_vrange_all(e->sort);
  bool any = false;
  for (size_t i = 0; i + 1 < e->n; i += 2) {
    ig_vrange cond = range_of(r, e->args[i + 1]);
    if (!cond.hi) continue;  // never taken
    ig_vrange v = range_of(r, e->args[i]);
    out = any ? ig_vrange_join(out, v) : v;
    any = true;
    if (cond.lo) break;
  }
  return out;
}

static ig_vrange range_of(const ranges *r, const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_CONST:
      return ig_vrange_ints(e->num, e->num);
    case IG_EXPR_RATIONAL:
      return ig_vrange_floats(ig_num_double(ig_expr_num(e)), ig_num_double(ig_expr_num(e)));
    case IG_EXPR_FLOAT:
      return ig_vrange_floats(e->f, e->f);
    case IG_EXPR_BOOL:
      return ig_vrange_bools(e->value, e->value);
    case IG_EXPR_SYMBOL:
      return r->fn ? r->fn(r->user, e) : ig_symbol_range(r->c, e);
    case IG_EXPR_PIECEWISE:
      return range_piecewise(r, e);
    default: {
      ig_vrange v = range_of(r, e->args[0]);
      if (e->n == 1) return range1(e->kind, v);
      for (size_t i = 1; i < e->n; i++) v = range2(e->kind, v, range_of(r, e->args[i]));
      return v;
    }
  }
}

ig_vrange ig_expr_range(ig_ctx *c, const ig_expr *e) {
  ranges r = {c, NULL, NULL};
  return range_of(&r, e);
}

ig_vrange ig_expr_range_with(ig_ctx *c, const ig_expr *e, ig_range_fn fn, void *user) {
  ranges r = {c, fn, user};
  return range_of(&r, e);
}
