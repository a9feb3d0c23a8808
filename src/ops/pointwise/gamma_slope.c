// SPDX-License-Identifier: Apache-2.0
// How a draw x of the gamma distribution moves with its concentration a at the same quantile:
// -(dP/da) / (dP/dx), where P is the lower regularized incomplete gamma function.
#include "ops/pointwise/special.h"
#include "ops/tile.h"

// a > 1000: by Wilson and Hilferty's normal quantile of the cube root, exact to 1 / a.
static double slope_of_many(double x, double a) {
  double root = cbrt(x / a);
  double z = (root - 1 + 1 / (9 * a)) * 3 * sqrt(a);
  return root * root * root + 3 * a * root * root * (1 / (9 * a * a) - z / (6 * a * sqrt(a)));
}

// The series x^a exp(-x) / gamma(a + 1) sum x^n / ((a + 1) ... (a + n)) differentiated term by
// term; the density is x^(a - 1) exp(-x) / gamma(a), so their common factor leaves x / a.
static double gamma_slope(double x, double a) {
  if (!(a > 0) || !(x >= 0) || isinf(a) || isinf(x)) return NAN;
  if (x == 0) return 0;
  if (a > 1000) return slope_of_many(x, a);
  double inner = log(x) - ig_digamma_of(a + 1);
  double term = 1;
  double harmonic = 0;
  double sum = inner;
  double size = fabs(inner);
  for (int n = 1; n < 100000; n++) {
    term *= x / (a + n);
    harmonic += 1 / (a + n);
    double part = term * (inner - harmonic);
    sum += part;
    size += fabs(part);
    if (n > x && fabs(part) < 1e-17 * size) break;
  }
  return -sum * x / a;
}

TILE2(slope_f64, double, double, gamma_slope((double)y[i], (double)x[i]))
TILE2(slope_f32, float, float, gamma_slope((double)y[i], (double)x[i]))

IG_OP(_standard_gamma_grad) = {
    .schema = "aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    .shape = ig_shape_special,
    .tile = {[IG_F32] = slope_f32, [IG_F64] = slope_f64},
    .vjp = ig_vjp_refuse,
    .samples = "f64[3,5]:+, f64[3,5]:+ | f32[3]:+, f32[3]:+",
    .waive = "values: PyTorch's formula is exact to 1e-4 only",
};
