// SPDX-License-Identifier: Apache-2.0
// Values: one operation on numbers, by Python's rules, and whole expressions with values for their
// symbols. Constant folding, hints and evaluation all use this file.
#include <math.h>

#include "sym/build.h"

static ig_hint of_int(ig_wide i) {
  return (ig_hint){.sort = IG_SORT_INT, .i = i, .den = 1};
}
static ig_hint of_float(double f) {
  return (ig_hint){.sort = IG_SORT_FLOAT, .den = 1, .f = f};
}
static ig_hint of_bool(bool b) {
  return (ig_hint){.sort = IG_SORT_BOOL, .i = b, .den = 1};
}

static ig_num num_of(const ig_hint *h) {
  return h->sort == IG_SORT_FLOAT ? ig_num_float(h->f) : (ig_num){.p = h->i, .q = h->den};
}

static bool of_num(ig_num v, ig_hint *out) {
  *out = v.is_float ? of_float(v.f)
         : v.q == 1 ? of_int(v.p)
                    : (ig_hint){.sort = IG_SORT_RATIONAL, .i = v.p, .den = v.q};
  return true;
}

static bool to_int(double f, ig_hint *out) {
  if (!(fabs(f) < 0x1p126)) return false;
  *out = of_int((ig_wide)f);
  return true;
}

static bool fold_division(ig_expr_kind kind, const ig_hint *a, const ig_hint *b, ig_hint *out) {
  bool ints = a->sort == IG_SORT_INT && b->sort == IG_SORT_INT;
  if (kind == IG_EXPR_FLOAT_TRUEDIV || (kind == IG_EXPR_INT_TRUEDIV && !ints)) {
    double d = ig_num_double(num_of(b));
    if (d == 0) return false;
    *out = of_float(ig_num_double(num_of(a)) / d);
    return true;
  }
  if (!ints || b->i == 0) return false;
  if (kind == IG_EXPR_INT_TRUEDIV) {
    *out = of_float((double)((long double)a->i / (long double)b->i));
    return true;
  }
  ig_wide q = ig_wide_floordiv(a->i, b->i);
  *out = of_int(kind == IG_EXPR_MOD || kind == IG_EXPR_PYTHONMOD ? a->i - q * b->i : q);
  return true;
}

static bool fold_compare(ig_expr_kind kind, const ig_hint *a, const ig_hint *b, ig_hint *out) {
  int s = ig_num_cmp(num_of(a), num_of(b));
  switch (kind) {
    case IG_EXPR_EQ:
      *out = of_bool(s == 0);
      return true;
    case IG_EXPR_NE:
      *out = of_bool(s != 0);
      return true;
    case IG_EXPR_LT:
      *out = of_bool(s < 0);
      return true;
    case IG_EXPR_LE:
      *out = of_bool(s <= 0);
      return true;
    case IG_EXPR_GT:
      *out = of_bool(s > 0);
      return true;
    default:
      *out = of_bool(s >= 0);
      return true;
  }
}

static bool fold_power(ig_expr_kind kind, const ig_hint *a, const ig_hint *b, ig_hint *out) {
  if (kind == IG_EXPR_FLOAT_POW) {
    *out = of_float(pow(ig_num_double(num_of(a)), ig_num_double(num_of(b))));
    return !isnan(out->f);
  }
  ig_num r;
  return b->sort == IG_SORT_INT && b->i >= 0 && ig_num_pow(num_of(a), b->i, &r) && of_num(r, out);
}

static bool fold_shift(ig_expr_kind kind, const ig_hint *a, const ig_hint *b, ig_hint *out) {
  ig_wide p = 0;
  ig_wide product = 0;
  if (b->i < 0 || !ig_wide_pow(2, b->i, &p)) return false;
  if (kind == IG_EXPR_LSHIFT && !ig_wide_mul(a->i, p, &product)) return false;
  *out = of_int(kind == IG_EXPR_LSHIFT ? product : ig_wide_floordiv(a->i, p));  // may be a
  return true;
}

static bool fold_round_decimal(const ig_hint *a, const ig_hint *b, ig_hint *out) {
  if (b->i > 300 || b->i < -300) return false;
  double p = pow(10, (double)b->i);
  double x = ig_num_double(num_of(a));
  *out = of_float(b->i >= 0 ? nearbyint(x * p) / p
                            : nearbyint(x / pow(10, (double)-b->i)) * pow(10, (double)-b->i));
  return true;
}

static bool fold2(ig_expr_kind kind, const ig_hint *a, const ig_hint *b, ig_hint *out) {
  ig_num r;
  bool floats = a->sort == IG_SORT_FLOAT || b->sort == IG_SORT_FLOAT;
  if (floats && (kind == IG_EXPR_ADD || kind == IG_EXPR_MUL)) {  // Python's: inf and nan may result
    double x = ig_num_double(num_of(a));
    double y = ig_num_double(num_of(b));
    *out = of_float(kind == IG_EXPR_ADD ? x + y : x * y);
    return true;
  }
  switch (kind) {
    case IG_EXPR_ADD:
      return ig_num_add(num_of(a), num_of(b), &r) && of_num(r, out);
    case IG_EXPR_MUL:
      return ig_num_mul(num_of(a), num_of(b), &r) && of_num(r, out);
    case IG_EXPR_MIN:
    case IG_EXPR_MAX:
      *out = (ig_num_cmp(num_of(a), num_of(b)) <= 0) == (kind == IG_EXPR_MIN) ? *a : *b;
      return true;
    case IG_EXPR_AND:
      *out = of_bool(a->i && b->i);
      return true;
    case IG_EXPR_OR:
      *out = of_bool(a->i || b->i);
      return true;
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
    case IG_EXPR_FLOAT_POW:
      return fold_power(kind, a, b, out);
    case IG_EXPR_LSHIFT:
    case IG_EXPR_RSHIFT:
      return fold_shift(kind, a, b, out);
    case IG_EXPR_ROUND_DECIMAL:
      return fold_round_decimal(a, b, out);
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
    case IG_EXPR_INT_TRUEDIV:
    case IG_EXPR_FLOAT_TRUEDIV:
      return fold_division(kind, a, b, out);
    default:
      return kind >= IG_EXPR_EQ && kind <= IG_EXPR_GE && fold_compare(kind, a, b, out);
  }
}

static double opaque(ig_expr_kind kind, double x) {
  static double (*const fns[])(double) = {sqrt, cos,  cosh, sin, sinh, tan, tanh,
                                          asin, acos, atan, exp, log,  log2};
  return fns[kind - IG_EXPR_SQRT](x);
}

static bool fold1(ig_expr_kind kind, const ig_hint *a, ig_hint *out) {
  double x = a->sort == IG_SORT_BOOL ? 0 : ig_num_double(num_of(a));
  switch (kind) {
    case IG_EXPR_NOT:
      *out = of_bool(!a->i);
      return true;
    case IG_EXPR_ABS:
      *out = *a;
      out->i = a->i < 0 ? -a->i : a->i;
      out->f = fabs(a->f);
      return true;
    case IG_EXPR_TO_FLOAT:
      *out = of_float(x);
      return true;
    case IG_EXPR_CEIL:
    case IG_EXPR_FLOOR:
    case IG_EXPR_TRUNC:
    case IG_EXPR_ROUND:
      if (a->sort == IG_SORT_INT) {
        *out = *a;
        return true;
      }
      return to_int(kind == IG_EXPR_CEIL    ? ceil(x)
                    : kind == IG_EXPR_FLOOR ? floor(x)
                    : kind == IG_EXPR_TRUNC ? trunc(x)
                                            : nearbyint(x),
                    out);
    case IG_EXPR_TRUNC_FLOAT:
      *out = of_float(trunc(x));
      return true;
    default:
      if (kind < IG_EXPR_SQRT || kind > IG_EXPR_LOG2) return false;
      *out = of_float(opaque(kind, x));
      return isfinite(out->f);
  }
}

bool ig_hint_fold(ig_expr_kind kind, const ig_hint *args, size_t n, ig_hint *out) {
  if (n == 1) return fold1(kind, &args[0], out);
  ig_hint acc = args[0];
  for (size_t i = 1; i < n; i++) {
    if (!fold2(kind, &acc, &args[i], &acc)) return false;
  }
  *out = acc;
  return true;
}

static bool fold_piecewise(const ig_expr *e, ig_lookup_fn get, void *user, ig_hint *out) {
  for (size_t i = 0; i + 1 < e->n; i += 2) {
    ig_hint cond;
    if (!get(user, e->args[i + 1], &cond)) return false;
    if (cond.i) return get(user, e->args[i], out);
  }
  return false;
}

bool ig_expr_fold_args(const ig_expr *e, ig_lookup_fn get, void *user, ig_hint *out) {
  if (e->kind == IG_EXPR_PIECEWISE) return fold_piecewise(e, get, user, out);
  ig_hint acc;
  if (!get(user, e->args[0], &acc)) return false;
  if (e->n == 1) return fold1(e->kind, &acc, out);
  for (size_t i = 1; i < e->n; i++) {
    ig_hint next;
    if (!get(user, e->args[i], &next) || !fold2(e->kind, &acc, &next, &acc)) return false;
  }
  *out = acc;
  return true;
}

typedef struct values {
  ig_lookup_fn fn;
  void *user;
} values;

static bool value_of(void *user, const ig_expr *e, ig_hint *out) {
  const values *v = user;
  if (e->kind == IG_EXPR_SYMBOL) return v->fn(v->user, e, out);
  return e->n == 0 ? ig_hint_of(e, out) : ig_expr_fold_args(e, value_of, user, out);
}

bool ig_expr_eval(const ig_expr *e, ig_lookup_fn fn, void *user, ig_hint *out) {
  values v = {fn, user};
  return value_of(&v, e, out);
}
