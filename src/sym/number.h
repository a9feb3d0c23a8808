// SPDX-License-Identifier: Apache-2.0
// Exact numbers of expressions: a fraction in lowest terms, or a float. If one operand is a float,
// so is the result. Operations return false if 128 bits overflow, a float is not finite or a
// divisor is zero.
#ifndef SYM_NUMBER_H_
#define SYM_NUMBER_H_

#include "sym/range.h"

typedef struct ig_num {
  bool is_float;
  ig_wide p;  // numerator
  ig_wide q;  // denominator, positive
  double f;
} ig_num;

static inline ig_num ig_num_int(ig_wide p) {
  return (ig_num){.p = p, .q = 1};
}
static inline ig_num ig_num_float(double f) {
  return (ig_num){.is_float = true, .p = 0, .q = 1, .f = f};
}
static inline bool ig_num_is(ig_num a, int v) {  // The exact integer v.
  return !a.is_float && a.q == 1 && a.p == v;
}
static inline bool ig_num_is_int(ig_num a) {
  return !a.is_float && a.q == 1;
}
static inline bool ig_wide_add(ig_wide a, ig_wide b, ig_wide *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool ig_wide_mul(ig_wide a, ig_wide b, ig_wide *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline ig_wide ig_wide_floordiv(ig_wide a, ig_wide b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline bool ig_wide_fits(ig_wide a) {
  return a >= INT64_MIN && a <= INT64_MAX;
}

ig_wide ig_wide_gcd(ig_wide a, ig_wide b);  // never negative
bool ig_wide_pow(ig_wide base, ig_wide exponent, ig_wide *out);
// Decimal digits of a wide integer; `text` has room for IG_WIDE_TEXT bytes.
enum { IG_WIDE_TEXT = 48 };
const char *ig_wide_text(ig_wide a, char *text);

int ig_num_sign(ig_num a);
int ig_num_cmp(ig_num a, ig_num b);
double ig_num_double(ig_num a);
bool ig_num_add(ig_num a, ig_num b, ig_num *out);
bool ig_num_mul(ig_num a, ig_num b, ig_num *out);
bool ig_num_div(ig_num a, ig_num b, ig_num *out);  // exact quotient
bool ig_num_pow(ig_num a, ig_wide exponent, ig_num *out);

#endif
