// SPDX-License-Identifier: Apache-2.0
// The Bessel functions J, Y and K of order 0 and 1, the spherical one, and Airy's. Computed in
// double precision; none has a derivative in PyTorch.
#include "ops/pointwise/special.h"
#include "ops/tile.h"

static const double pi = 3.14159265358979323846;
static const double euler = 0.57721566490153286061;

typedef struct {
  double j, y;  // of one order
} bessel_pair;

// x > 25: Hankel's series, whose smallest term is below exp(-50). The phase x - (v / 2 + 1 / 4) pi
// is taken apart, so that the sine and cosine of x are those of the C library.
static bessel_pair bessel_far(double x, int v) {
  double mu = 4.0 * v * v;
  double term = 1;
  double p = 1;
  double q = 0;
  for (int k = 1; k < 50 && fabs(term) > 1e-18; k++) {
    double odd = 2.0 * k - 1;
    term *= (mu - odd * odd) / (k * 8 * x);
    double part = k / 2 % 2 ? -term : term;
    if (k % 2)
      q += part;
    else
      p += part;
  }
  double c = cos(x);
  double s = sin(x);
  double cosine = v ? s - c : s + c;
  double sine = v ? -s - c : s - c;
  double scale = 1 / sqrt(pi * x);
  return (bessel_pair){scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)};
}

// 0 < x <= 25: Miller's backward recurrence for all orders of J, scaled by J0 + 2 (J2 + J4 + ...) =
// 1, and Neumann's series of them for Y.
static bessel_pair bessel_near(double x, int v) {
  double lg = log(x / 2) + euler;
  if (x < 1e-8) return v ? (bessel_pair){x / 2, -2 / (pi * x)} : (bessel_pair){1, 2 / pi * lg};
  int top = 2 * (int)(x / 2) + 60;
  double next = 0;
  double now = 1e-300;
  double norm = 0;
  double series = 0;
  double first = 0;
  for (int n = top; n > 0; n--) {  // now is J_n
    double k = n / 2;              // NOLINT(bugprone-integer-division): the whole part
    double sign = n / 2 % 2 ? -1 : 1;
    if (n % 2 == 0) norm += 2 * now;
    if (n % 2 == 0 && v == 0) series -= sign * now / k;
    if (n % 2 == 1 && v == 1 && n > 1) series -= sign * n / (k * (k + 1)) * now;
    if (n == 1) first = now;
    double before = 2.0 * n / x * now - next;
    next = now;
    now = before;
    if (fabs(now) < 1e250) continue;
    next *= 1e-250;
    now *= 1e-250;
    norm *= 1e-250;
    series *= 1e-250;
    first *= 1e-250;
  }
  norm += now;
  double j = (v ? first : now) / norm;
  double y = v ? 2 / pi * ((lg - 1) * j - now / norm / x + series / norm)
               : 2 / pi * (lg * j + 2 * series / norm);
  return (bessel_pair){j, y};
}

static bessel_pair bessel_at(double x, int v) {
  return x > 25 ? bessel_far(x, v) : bessel_near(x, v);
}

static double bessel_j(double x, int v) {
  if (isnan(x)) return x;
  if (isinf(x)) return NAN;
  if (x == 0) return v ? x : 1;
  double j = bessel_at(fabs(x), v).j;
  return v && x < 0 ? -j : j;
}
static double bessel_y(double x, int v) {
  if (!(x > 0)) return x == 0 ? -HUGE_VAL : NAN;
  return isinf(x) ? NAN : bessel_at(x, v).y;
}

// exp(x) K_v(x), x > 0: the integral of exp(-x (cosh t - 1)) cosh(v t) by equal steps, whose error
// is exponentially small in the step. Steps become smaller with the width of the peak.
static double bessel_k_scaled(double x, double v) {
  if (isinf(x)) return 0;
  double step = fmin(0.2, 0.5 / sqrt(x));
  double sum = 0.5;
  for (int i = 1; i < 5000; i++) {
    double t = i * step;
    double half = sinh(t / 2);
    double part = exp(-2 * x * half * half) * cosh(v * t);
    if (!(part > sum * 1e-18)) break;
    sum += part;
  }
  return sum * step;
}
static double bessel_k(double x, int v, bool scaled) {
  if (!(x > 0)) return x == 0 ? HUGE_VAL : NAN;
  double value = bessel_k_scaled(x, v);
  return scaled ? value : value * exp(-x);
}

// Ai by K of order 1/3 (positive x), by its power series, and by the series for large negative x.
static double airy_ai(double x) {
  if (isnan(x) || isinf(x)) return NAN;
  double a = fabs(x);
  double zeta = 2 * a * sqrt(a) / 3;
  if (x > 1) return sqrt(x / 3) / pi * exp(-zeta) * bessel_k_scaled(zeta, 1.0 / 3);
  if (x < -7.5) {
    double term = 1;
    double even = 1;
    double odd = 0;
    for (int k = 1; k < 30; k++) {
      double next =
          term * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / ((2.0 * k - 1) * 216 * k);
      next /= zeta;
      if (fabs(next) > fabs(term) || fabs(next) < 1e-18) break;
      term = next;
      double part = k / 2 % 2 ? -term : term;
      if (k % 2)
        odd += part;
      else
        even += part;
    }
    double s = sin(zeta);
    double c = cos(zeta);
    double sine = (s + c) / sqrt(2);
    double cosine = (c - s) / sqrt(2);
    return (sine * even - cosine * odd) / sqrt(pi * sqrt(a));
  }
  double cube = x * x * x;
  double f = 1;
  double g = x;
  double fs = 1;
  double gs = x;
  for (int k = 1; k < 120 && fabs(f) + fabs(g) > 1e-20; k++) {
    f *= cube / ((3.0 * k - 1) * (3.0 * k));
    g *= cube / ((3.0 * k) * (3.0 * k + 1));
    fs += f;
    gs += g;
  }
  return 0.355028053887817239 * fs - 0.258819403792806798 * gs;
}

static double spherical_j0(double x) {
  if (isinf(x)) return 0;
  double y = x * x;
  if (fabs(x) < 0.5) return 1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110))));
  return sin(x) / x;
}

#define BOTH(name, expr)                  \
  TILE1(name##_f64, double, double, expr) \
  TILE1(name##_f32, float, float, expr)
BOTH(j0, bessel_j((double)x[i], 0))
BOTH(j1, bessel_j((double)x[i], 1))
BOTH(y0, bessel_y((double)x[i], 0))
BOTH(y1, bessel_y((double)x[i], 1))
BOTH(k0, bessel_k((double)x[i], 0, false))
BOTH(k1, bessel_k((double)x[i], 1, false))
BOTH(scaled_k0, bessel_k((double)x[i], 0, true))
BOTH(scaled_k1, bessel_k((double)x[i], 1, true))
BOTH(airy, airy_ai((double)x[i]))
BOTH(spherical, spherical_j0((double)x[i]))

#define OF(name)                                                                     \
  .shape = ig_shape_special, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}, \
  .promote = IG_PROMOTE_FLOAT, .not_differentiable = true
#define SIGNED "f32[3,5] | f32[] | i64[3] | f64[2,3]"
#define POSITIVE "f32[3,5]:+ | f32[]:+ | i64[3] | f64[2,3]:+"

IG_OP(special_bessel_j0) = {
    .schema = "aten::special_bessel_j0(Tensor self) -> Tensor",
    OF(j0),
    .samples = SIGNED,
};
IG_OP(special_bessel_j1) = {
    .schema = "aten::special_bessel_j1(Tensor self) -> Tensor",
    OF(j1),
    .samples = SIGNED,
};
IG_OP(special_bessel_y0) = {
    .schema = "aten::special_bessel_y0(Tensor self) -> Tensor",
    OF(y0),
    .samples = POSITIVE,
};
IG_OP(special_bessel_y1) = {
    .schema = "aten::special_bessel_y1(Tensor self) -> Tensor",
    OF(y1),
    .samples = POSITIVE,
};
IG_OP(special_modified_bessel_k0) = {
    .schema = "aten::special_modified_bessel_k0(Tensor self) -> Tensor",
    OF(k0),
    .samples = POSITIVE,
};
IG_OP(special_modified_bessel_k1) = {
    .schema = "aten::special_modified_bessel_k1(Tensor self) -> Tensor",
    OF(k1),
    .samples = POSITIVE,
};
IG_OP(special_scaled_modified_bessel_k0) = {
    .schema = "aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
    OF(scaled_k0),
    .samples = POSITIVE,
};
IG_OP(special_scaled_modified_bessel_k1) = {
    .schema = "aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
    OF(scaled_k1),
    .samples = POSITIVE,
};
IG_OP(special_airy_ai) = {
    .schema = "aten::special_airy_ai(Tensor x) -> Tensor",
    OF(airy),
    .samples = SIGNED,
};
IG_OP(special_spherical_bessel_j0) = {
    .schema = "aten::special_spherical_bessel_j0(Tensor x) -> Tensor",
    OF(spherical),
    .samples = SIGNED,
};
