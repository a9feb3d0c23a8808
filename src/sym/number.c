// SPDX-License-Identifier: Apache-2.0
// Fractions of 128-bit integers, and floats.
#include "sym/number.h"

#include <math.h>

ig_wide ig_wide_gcd(ig_wide a, ig_wide b) {
  while (b != 0) {
    ig_wide r = b == -1 ? 0 : a % b;
    a = b;
    b = r;
  }
  return a < 0 && a != IG_WIDE_MIN ? -a : a;
}

bool ig_wide_pow(ig_wide base, ig_wide exponent, ig_wide *out) {
  ig_wide r = 1;
  if (exponent < 0) return false;
  if (base == 0 || base == 1) {
    *out = exponent == 0 ? 1 : base;
    return true;
  }
  if (base == -1) {
    *out = exponent % 2 ? -1 : 1;
    return true;
  }
  if (exponent > 127) return false;
  for (; exponent > 0; exponent--) {
    if (!ig_wide_mul(r, base, &r)) return false;
  }
  *out = r;
  return true;
}

const char *ig_wide_text(ig_wide a, char *text) {
  char *p = text + IG_WIDE_TEXT;
  ig_uwide u = a < 0 ? 0 - (ig_uwide)a : (ig_uwide)a;
  *--p = '\0';
  do {
    *--p = (char)('0' + (int)(u % 10));
    u /= 10;
  } while (u != 0);
  if (a < 0) *--p = '-';
  return p;
}

int ig_num_sign(ig_num a) {
  if (a.is_float) return (a.f > 0) - (a.f < 0);
  return (a.p > 0) - (a.p < 0);
}

double ig_num_double(ig_num a) {
  if (a.is_float) return a.f;
  return a.q == 1 ? (double)a.p : (double)((long double)a.p / (long double)a.q);
}

int ig_num_cmp(ig_num a, ig_num b) {
  ig_wide l = 0;
  ig_wide r = 0;
  if (!a.is_float && !b.is_float && ig_wide_mul(a.p, b.q, &l) && ig_wide_mul(b.p, a.q, &r)) {
    return (l > r) - (l < r);
  }
  double x = ig_num_double(a);
  double y = ig_num_double(b);
  return (x > y) - (x < y);
}

static bool reduced(ig_wide p, ig_wide q, ig_num *out) {
  if (q == 0 || q == IG_WIDE_MIN || p == IG_WIDE_MIN) return false;
  ig_wide g = ig_wide_gcd(p, q);
  if (q < 0) g = -g;
  *out = (ig_num){.p = p / g, .q = q / g};
  return true;
}

bool ig_num_add(ig_num a, ig_num b, ig_num *out) {
  if (a.is_float || b.is_float) {
    *out = ig_num_float(ig_num_double(a) + ig_num_double(b));
    return isfinite(out->f);
  }
  ig_wide x = 0;
  ig_wide y = 0;
  ig_wide p = 0;
  ig_wide q = 0;
  if (a.q == 1 && b.q == 1) {
    *out = ig_num_int(0);
    return ig_wide_add(a.p, b.p, &out->p) && out->p != IG_WIDE_MIN && out->p != IG_WIDE_MAX;
  }
  return ig_wide_mul(a.p, b.q, &x) && ig_wide_mul(b.p, a.q, &y) && ig_wide_add(x, y, &p) &&
         ig_wide_mul(a.q, b.q, &q) && reduced(p, q, out);
}

bool ig_num_mul(ig_num a, ig_num b, ig_num *out) {
  if (ig_num_is(a, 0) || ig_num_is(b, 0)) {  // an exact zero stays exact
    *out = ig_num_int(0);
    return true;
  }
  if (a.is_float || b.is_float) {
    *out = ig_num_float(ig_num_double(a) * ig_num_double(b));
    return isfinite(out->f);
  }
  ig_wide p = 0;
  ig_wide q = 0;
  return ig_wide_mul(a.p, b.p, &p) && ig_wide_mul(a.q, b.q, &q) && p != IG_WIDE_MAX &&
         reduced(p, q, out);
}

bool ig_num_div(ig_num a, ig_num b, ig_num *out) {
  if (ig_num_sign(b) == 0) return false;
  if (b.is_float) return ig_num_mul(a, ig_num_float(1 / b.f), out);
  return ig_num_mul(a, b.p < 0 ? (ig_num){.p = -b.q, .q = -b.p} : (ig_num){.p = b.q, .q = b.p},
                    out);
}

bool ig_num_pow(ig_num a, ig_wide exponent, ig_num *out) {
  if (a.is_float) {
    *out = ig_num_float(pow(a.f, (double)exponent));
    return isfinite(out->f);
  }
  ig_num r = ig_num_int(1);
  if (!ig_wide_pow(a.p, exponent, &r.p) || !ig_wide_pow(a.q, exponent, &r.q)) return false;
  *out = r;
  return true;
}
