// SPDX-License-Identifier: Apache-2.0
// The module math on numbers. What has no value is NaN or infinite, as in C.
#include <complex.h>
#include <math.h>

#include "script/builtin.h"

#define PI 3.14159265358979323846

static double f_at(const ig_sbuiltin_call *k, size_t i) {
  return ig_sb_f64(k->c, k->in[i]);
}

static bool is_complex(const ig_sbuiltin_call *k, size_t i) {
  return k->in[i].kind == IG_KIND_COMPLEX;
}

static void put_z(const ig_sbuiltin_call *k, double complex z) {
  k->out[0] = ig_of_complex(creal(z), cimag(z));
}

#define REAL(name, fn)              \
  IG_BUILTIN(name) {                \
    ig_sb_float(k, fn(f_at(k, 0))); \
  }
#define BOTH(name, fn)                \
  IG_BUILTIN(name) {                  \
    if (is_complex(k, 0))             \
      put_z(k, c##fn(ig_sb_z(k, 0))); \
    else                              \
      ig_sb_float(k, fn(f_at(k, 0))); \
  }
#define SYMBOLIC(name, fn, expr)             \
  IG_BUILTIN(name) {                         \
    if (ig_sb_symbolic(k, IG_EXPR_##expr)) { \
      return;                                \
    } else if (is_complex(k, 0)) {           \
      put_z(k, c##fn(ig_sb_z(k, 0)));        \
    } else {                                 \
      ig_sb_float(k, fn(f_at(k, 0)));        \
    }                                        \
  }
#define PAIR(name, fn)                          \
  IG_BUILTIN(name) {                            \
    ig_sb_float(k, fn(f_at(k, 0), f_at(k, 1))); \
  }

SYMBOLIC(sin, sin, SIN)
SYMBOLIC(cos, cos, COS)
SYMBOLIC(tan, tan, TAN)
SYMBOLIC(asin, asin, ASIN)
SYMBOLIC(acos, acos, ACOS)
SYMBOLIC(atan, atan, ATAN)
SYMBOLIC(sinh, sinh, SINH)
SYMBOLIC(cosh, cosh, COSH)
SYMBOLIC(tanh, tanh, TANH)
BOTH(asinh, asinh)
BOTH(acosh, acosh)
BOTH(atanh, atanh)
SYMBOLIC(exp, exp, EXP)
SYMBOLIC(sqrt, sqrt, SQRT)
REAL(log1p, log1p)
REAL(expm1, expm1)
REAL(erf, erf)
REAL(erfc, erfc)
REAL(gamma, tgamma)
REAL(lgamma, lgamma)
REAL(fabs, fabs)
PAIR(atan2, atan2)
PAIR(fmod, fmod)
PAIR(copysign, copysign)
PAIR(mathremainder, remainder)

static double degrees(double x) {
  return x * 180.0 / PI;
}
static double radians(double x) {
  return x * PI / 180.0;
}
REAL(degrees, degrees)
REAL(radians, radians)

// With a second operand, to that base.
IG_BUILTIN(log) {
  if (k->n_in == 1) {
    if (is_complex(k, 0))
      put_z(k, clog(ig_sb_z(k, 0)));
    else
      ig_sb_float(k, log(f_at(k, 0)));
  } else if (is_complex(k, 0) || is_complex(k, 1)) {
    put_z(k, clog(ig_sb_z(k, 0)) / clog(ig_sb_z(k, 1)));
  } else {
    ig_sb_float(k, log(f_at(k, 0)) / log(f_at(k, 1)));
  }
}

IG_BUILTIN(log10) {
  if (is_complex(k, 0))
    put_z(k, clog(ig_sb_z(k, 0)) / log(10.0));
  else
    ig_sb_float(k, log10(f_at(k, 0)));
}

IG_BUILTIN(angle) {
  if (is_complex(k, 0)) {
    ig_sb_float(k, carg(ig_sb_z(k, 0)));
  } else {
    double f = f_at(k, 0);
    ig_sb_float(k, isnan(f) ? f : f < 0 ? PI : 0.0);
  }
}

IG_BUILTIN(polar) {
  double radius = f_at(k, 0);
  double angle = f_at(k, 1);
  k->out[0] = ig_of_complex(radius * cos(angle), radius * sin(angle));
}

// ---- whole numbers

static void put_whole(const ig_sbuiltin_call *k, double (*fn)(double), ig_expr_kind kind) {
  if (k->in[0].kind == IG_KIND_FLOAT && ig_sb_symbolic(k, kind)) return;
  if (k->in[0].kind == IG_KIND_INT || k->in[0].kind == IG_KIND_BOOL) {
    k->out[0] = ig_of_i64(ig_sb_i64(k, 0));
    return;
  }
  const ig_value whole = ig_of_f64(fn(f_at(k, 0)));
  ig_sbuiltin_call convert = *k;
  convert.in = &whole;
  ig_sb_to_int(&convert);
}

IG_BUILTIN(floor) {
  put_whole(k, floor, IG_EXPR_FLOOR);
}

IG_BUILTIN(ceil) {
  put_whole(k, ceil, IG_EXPR_CEIL);
}

// Halves go to the even neighbour.
IG_BUILTIN(round) {
  if (k->n_in == 1 && k->in[0].kind == IG_KIND_FLOAT && ig_sb_symbolic(k, IG_EXPR_ROUND)) {
    ig_value whole = k->out[0];
    ig_sym_apply(k->c, IG_EXPR_TO_FLOAT, &whole, 1, &k->out[0]);
    return;
  }
  double f = f_at(k, 0);
  double down = floor(f);
  double rest = f - down;
  bool up = rest > 0.5 || (rest == 0.5 && fmod(down, 2) != 0);
  ig_sb_float(k, isfinite(f) ? copysign(up ? down + 1 : down, f) : f);
}

IG_BUILTIN(gcd) {
  int64_t a = ig_sb_i64(k, 0);
  int64_t b = ig_sb_i64(k, 1);
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  ig_sb_int(k, (int64_t)x);
}

IG_BUILTIN(factorial) {
  int64_t n = ig_sb_i64(k, 0);
  uint64_t product = 1;
  if (n < 0) {
    IG_SCRIPT_FAIL(k, "factorial() not defined for negative values");
    return;
  }
  // From 66! on the product of 64 bits is zero.
  for (int64_t i = 2; i <= n && product; i++) product *= (uint64_t)i;
  ig_sb_int(k, (int64_t)product);
}

// ---- parts of a number

IG_BUILTIN(ldexp) {
  int64_t e = ig_sb_i64(k, 1);
  ig_sb_float(k, ldexp(f_at(k, 0), e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e));
}

IG_BUILTIN(modf) {
  double whole = 0;
  double part = modf(f_at(k, 0), &whole);
  k->out[0] = ig_of_f64(part);
  k->out[1] = ig_of_f64(whole);
}

IG_BUILTIN(frexp) {
  int e = 0;
  double m = frexp(f_at(k, 0), &e);
  k->out[0] = ig_of_f64(m);
  k->out[1] = ig_of_i64(e);
}

#define ASK(name, fn, join)                                              \
  IG_BUILTIN(name) {                                                     \
    ig_c128 z = ig_sb_complex(k->c, k->in[0]);                           \
    ig_sb_bool(k, is_complex(k, 0) ? fn(z.re) join fn(z.im) : fn(z.re)); \
  }
ASK(isnan, isnan, ||)
ASK(isinf, isinf, ||)
ASK(isfinite, isfinite, &&)
