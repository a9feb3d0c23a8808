// SPDX-License-Identifier: Apache-2.0
// Orthogonal polynomials of degree n at x: three-term recurrences in double precision, and the
// closed forms of Chebyshev's within (-1, 1). A negative degree gives 0. None has a derivative in
// PyTorch.
#include "ops/pointwise/special.h"
#include "ops/tile.h"

enum { MOST_STEPS = 1 << 22 };  // beyond, what a recurrence gives would be its own rounding

// Degrees are numbers of the operands' dtype; their whole part counts.
static bool is_even(double n) {
  return fmod(n, 2) == 0;
}

// The recurrence of all four kinds of Chebyshev's: p_k = 2 x p_(k-1) - p_(k-2), from 1 and `first`.
static double chebyshev_steps(double x, double n, double first) {
  if (n == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  double p = 1;
  double q = first;
  for (double k = 2; k <= n && !isnan(q); k++) {
    double r = 2 * x * q - p;
    p = q;
    q = r;
  }
  return q;
}
static double chebyshev_t(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  if (n > 6 && fabs(x) < 1) return cos(n * acos(x));
  return chebyshev_steps(x, n, x);
}
static double chebyshev_u(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 || is_even(n) ? n + 1 : -(n + 1);
  if (n > 8 && fabs(x) < 1) return sin((n + 1) * acos(x)) / sin(acos(x));
  return chebyshev_steps(x, n, 2 * x);
}
static double chebyshev_v(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? 1 : is_even(n) ? 2 * n + 1 : -(2 * n + 1);
  if (n > 8 && fabs(x) < 1) return cos((n + 0.5) * acos(x)) / cos(acos(x) / 2);
  return chebyshev_steps(x, n, 2 * x - 1);
}
static double chebyshev_w(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 ? 2 * n + 1 : is_even(n) ? 1 : -1;
  if (n > 8 && fabs(x) < 1) return sin((n + 0.5) * acos(x)) / sin(acos(x) / 2);
  return chebyshev_steps(x, n, 2 * x + 1);
}

// Hermite's: p_k = a x p_(k-1) - a (k - 1) p_(k-2), with a = 2 (physicists') or 1 (probabilists').
static double hermite(double x, double n, double a) {
  n = trunc(n);
  if (n < 0) return 0;
  double p = 1;
  double q = a * x;
  if (n == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  for (double k = 1; k < n && !isnan(q); k++) {
    double r = a * (x * q - k * p);
    p = q;
    q = r;
  }
  return q;
}
static double laguerre(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (n == 0 || x == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  double p = 1;
  double q = 1 - x;
  for (double k = 1; k < n && !isnan(q); k++) {
    double r = ((2 * k + 1 - x) * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}
static double legendre(double x, double n) {
  n = trunc(n);
  if (n < 0) return 0;
  if (fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  if (n == 0) return 1;
  if (n > MOST_STEPS) return NAN;
  double p = 1;
  double q = x;
  for (double k = 1; k < n && !isnan(q); k++) {
    double r = ((2 * k + 1) * x * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}

#define BOTH(name, expr)                  \
  TILE2(name##_f64, double, double, expr) \
  TILE2(name##_f32, float, float, expr)
BOTH(t, chebyshev_t((double)x[i], (double)y[i]))
BOTH(u, chebyshev_u((double)x[i], (double)y[i]))
BOTH(v, chebyshev_v((double)x[i], (double)y[i]))
BOTH(w, chebyshev_w((double)x[i], (double)y[i]))
BOTH(shifted_t, chebyshev_t((double)x[i] * 2 - 1, (double)y[i]))
BOTH(shifted_u, chebyshev_u((double)x[i] * 2 - 1, (double)y[i]))
BOTH(shifted_v, chebyshev_v((double)x[i] * 2 - 1, (double)y[i]))
BOTH(shifted_w, chebyshev_w((double)x[i] * 2 - 1, (double)y[i]))
BOTH(h, hermite((double)x[i], (double)y[i], 2))
BOTH(he, hermite((double)x[i], (double)y[i], 1))
BOTH(l, laguerre((double)x[i], (double)y[i]))
BOTH(p, legendre((double)x[i], (double)y[i]))

// A number among the operands is a tensor without dimensions.
#define NUMBERS(name, call)                                        \
  static ig_tensor *name##_of_n(ig_ctx *c, const ig_value *args) { \
    ig_tensor *n = ig_scalar_tensor(c, args[1]);                   \
    return call(c, args[0].tensor, n);                             \
  }                                                                \
  static ig_tensor *name##_of_x(ig_ctx *c, const ig_value *args) { \
    ig_tensor *x = ig_scalar_tensor(c, args[0]);                   \
    return call(c, x, args[1].tensor);                             \
  }
NUMBERS(t, ig_special_chebyshev_polynomial_t)
NUMBERS(u, ig_special_chebyshev_polynomial_u)
NUMBERS(v, ig_special_chebyshev_polynomial_v)
NUMBERS(w, ig_special_chebyshev_polynomial_w)
NUMBERS(shifted_t, ig_special_shifted_chebyshev_polynomial_t)
NUMBERS(shifted_u, ig_special_shifted_chebyshev_polynomial_u)
NUMBERS(shifted_v, ig_special_shifted_chebyshev_polynomial_v)
NUMBERS(shifted_w, ig_special_shifted_chebyshev_polynomial_w)
NUMBERS(h, ig_special_hermite_polynomial_h)
NUMBERS(he, ig_special_hermite_polynomial_he)
NUMBERS(l, ig_special_laguerre_polynomial_l)
NUMBERS(p, ig_special_legendre_polynomial_p)

#define NUMBER "f32[3,5], 3 | f64[2], 12"
#define DEGREES "0.5, i64[4,1]:<20 | -1.5, i64[3]"
#define OF(name)                                                                     \
  .shape = ig_shape_special, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}, \
  .promote = IG_PROMOTE_FLOAT, .not_differentiable = true
#define PAIR "f32[3,5], i64[5] | f64[7], i64{7} | i64{-1,0,1,2}, i64[4,1]:<20"

IG_OP(special_chebyshev_polynomial_t) = {
    .schema = "aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
    OF(t),
    .samples = PAIR,
};
IG_OP(special_chebyshev_polynomial_u) = {
    .schema = "aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
    OF(u),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_chebyshev_polynomial_v) = {
    .schema = "aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
    OF(v),
    .samples = PAIR,
};
IG_OP(special_chebyshev_polynomial_w) = {
    .schema = "aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
    OF(w),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_shifted_chebyshev_polynomial_t) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
    OF(shifted_t),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_shifted_chebyshev_polynomial_u) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
    OF(shifted_u),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_shifted_chebyshev_polynomial_v) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
    OF(shifted_v),
    .samples = PAIR,
};
IG_OP(special_shifted_chebyshev_polynomial_w) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
    OF(shifted_w),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_hermite_polynomial_h) = {
    .schema = "aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor",
    OF(h),
    .samples = PAIR,
};
IG_OP(special_hermite_polynomial_he) = {
    .schema = "aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor",
    OF(he),
    .samples = PAIR,
};
IG_OP(special_laguerre_polynomial_l) = {
    .schema = "aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor",
    OF(l),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_legendre_polynomial_p) = {
    .schema = "aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor",
    OF(p),
    .samples = PAIR,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_chebyshev_polynomial_t_n_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = t_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_chebyshev_polynomial_t_x_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = t_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_chebyshev_polynomial_u_n_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = u_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_chebyshev_polynomial_u_x_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = u_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_chebyshev_polynomial_v_n_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = v_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_chebyshev_polynomial_v_x_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = v_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_chebyshev_polynomial_w_n_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = w_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_chebyshev_polynomial_w_x_scalar) = {
    .schema = "aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = w_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_shifted_chebyshev_polynomial_t_n_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = shifted_t_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_shifted_chebyshev_polynomial_t_x_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = shifted_t_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_shifted_chebyshev_polynomial_u_n_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = shifted_u_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_shifted_chebyshev_polynomial_u_x_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = shifted_u_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_shifted_chebyshev_polynomial_v_n_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = shifted_v_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_shifted_chebyshev_polynomial_v_x_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = shifted_v_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_shifted_chebyshev_polynomial_w_n_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = shifted_w_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_shifted_chebyshev_polynomial_w_x_scalar) = {
    .schema = "aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = shifted_w_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_hermite_polynomial_h_n_scalar) = {
    .schema = "aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = h_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_hermite_polynomial_h_x_scalar) = {
    .schema = "aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = h_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_hermite_polynomial_he_n_scalar) = {
    .schema = "aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = he_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
};
IG_OP(special_hermite_polynomial_he_x_scalar) = {
    .schema = "aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = he_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_laguerre_polynomial_l_n_scalar) = {
    .schema = "aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = l_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_laguerre_polynomial_l_x_scalar) = {
    .schema = "aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = l_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
IG_OP(special_legendre_polynomial_p_n_scalar) = {
    .schema = "aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor",
    .decompose = p_of_n,
    .not_differentiable = true,
    .samples = NUMBER,
    .waive = "special: PyTorch returns what its memory holds for NaN",
};
IG_OP(special_legendre_polynomial_p_x_scalar) = {
    .schema = "aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor",
    .decompose = p_of_x,
    .not_differentiable = true,
    .samples = DEGREES,
};
