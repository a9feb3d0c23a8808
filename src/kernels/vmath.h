// SPDX-License-Identifier: Apache-2.0
// Elementary functions for loops: straight-line polynomials without branches or libm calls, which
// gcc and clang vectorize when the function is called in a loop over arrays.
//
// f32 forms are within 3 ulp of the true value (gelu: 3 ulp of the larger term), f64 forms within
// 4e-16 relative (tanh and sigmoid 1e-15). NaN stays NaN, infinities and signed zeros give what
// libm gives, subnormal results are kept. Polynomials are minimax fits; they do not need fused
// multiply-add, and remain as accurate with it.
//
// sin and cos are valid for |x| <= IG_TRIG_MAX: use the block forms for arguments of any size.
#ifndef KERNELS_VMATH_H_
#define KERNELS_VMATH_H_

#include <math.h>
#include <stdint.h>
#include <string.h>

// Files that include this let the compiler fuse multiplications and additions: a third faster in
// the clones for machines that can, no change elsewhere.
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

#define IG_TRIG_MAX 1e8f

// ---- bits ----
static inline uint32_t ig_bits_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static inline float ig_float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline uint64_t ig_bits_f64(double f) {
  uint64_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static inline double ig_double_of(uint64_t u) {
  double f;
  memcpy(&f, &u, sizeof f);
  return f;
}

// 1.5 * 2^23 (2^52): adding it leaves the rounded integer in the low bits.
#define IG_ROUND_F32 0x1.8p23f
#define IG_ROUND_F64 0x1.8p52

// 2^n for n in [-126, 127].
static inline float ig_exp2i_f32(int32_t n) {
  return ig_float_of((uint32_t)(n + 127) << 23);
}
// n in two's complement, so that what NaN leaves there cannot overflow.
static inline double ig_exp2i_f64(uint64_t n) {
  return ig_double_of((n + 1023) << 52);
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
static inline float ig_exp_tail_f32(float r) {
  float q = 0x1.6beb22p-10f;
  q = q * r + 0x1.122d00p-7f;
  q = q * r + 0x1.555680p-5f;
  q = q * r + 0x1.5554aap-3f;
  return q * r + 0x1.fffffep-2f;
}
static inline double ig_exp_tail_f64(double r) {
  double q = 1.6059686789064395e-10;
  q = q * r + 2.09223076604102e-09;
  q = q * r + 2.5052170283994487e-08;
  q = q * r + 2.755724978692817e-07;
  q = q * r + 2.755731911086853e-06;
  q = q * r + 2.4801587352284473e-05;
  q = q * r + 0.00019841269841348885;
  q = q * r + 0.0013888888888870963;
  q = q * r + 0.00833333333333331;
  q = q * r + 0.04166666666666669;
  q = q * r + 0.16666666666666666;
  return q * r + 0.5;
}

// ---- exp ----
// For arguments in [-87, 88] only: the exponent is added to the bits of the polynomial.
static inline float ig_exp_inner_f32(float x) {
  float t = x * 0x1.715476p0f + IG_ROUND_F32;
  float f = t - IG_ROUND_F32;
  float r = (x - f * 0x1.62e4p-1f) - f * 0x1.7f7d1cp-20f;
  float y = 1.0f + (r + r * r * ig_exp_tail_f32(r));
  return ig_float_of(ig_bits_f32(y) + (ig_bits_f32(t) << 23));
}
// For x <= 0 (softmax): results below the normal range are 0.
static inline float ig_exp_neg_f32(float x) {
  float y = ig_exp_inner_f32(x < -87.0f ? -87.0f : x);
  return x < -87.0f ? 0.0f : y;
}
static inline float ig_exp_f32(float x) {
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  float t = c * 0x1.715476p0f + IG_ROUND_F32;
  int32_t n = (int32_t)(ig_bits_f32(t) - ig_bits_f32(IG_ROUND_F32));
  float f = t - IG_ROUND_F32;
  float r = (c - f * 0x1.62e4p-1f) - f * 0x1.7f7d1cp-20f;
  float y = 1.0f + (r + r * r * ig_exp_tail_f32(r));
  int32_t half = n >> 1;  // in two steps: 2^n itself may be out of range
  return y * ig_exp2i_f32(half) * ig_exp2i_f32(n - half);
}
static inline double ig_exp_f64(double x) {
  double c = x < -746.0 ? -746.0 : x;
  c = c > 710.0 ? 710.0 : c;
  double t = c * 0x1.71547652b82fep0 + IG_ROUND_F64;
  uint64_t n = ig_bits_f64(t) - ig_bits_f64(IG_ROUND_F64);
  double f = t - IG_ROUND_F64;
  double r = (c - f * 0x1.62e42fefp-1) - f * 0x1.473de6af278edp-34;
  double y = 1.0 + (r + r * r * ig_exp_tail_f64(r));
  uint64_t half = ((n + 2048) >> 1) - 1024;  // n >> 1; AVX2 has no arithmetic shift of 64 bits
  return y * ig_exp2i_f64(half) * ig_exp2i_f64(n - half);
}

// ---- expm1 ----
static inline float ig_expm1_f32(float x) {
  float c = x < -20.0f ? -20.0f : x;
  c = c > 89.0f ? 89.0f : c;
  float t = c * 0x1.715476p0f + IG_ROUND_F32;
  int32_t n = (int32_t)(ig_bits_f32(t) - ig_bits_f32(IG_ROUND_F32));
  float f = t - IG_ROUND_F32;
  float r = (c - f * 0x1.62e4p-1f) - f * 0x1.7f7d1cp-20f;
  float p = r + r * r * ig_exp_tail_f32(r);
  float s = ig_exp2i_f32(n - 1);  // half of 2^n: 2^128 is out of range
  float y = (s * p + (s - 0.5f)) * 2.0f;
  return n == 0 ? (x == 0.0f ? x : p) : y;
}
static inline double ig_expm1_f64(double x) {
  double c = x < -40.0 ? -40.0 : x;
  c = c > 710.0 ? 710.0 : c;
  double t = c * 0x1.71547652b82fep0 + IG_ROUND_F64;
  uint64_t n = ig_bits_f64(t) - ig_bits_f64(IG_ROUND_F64);
  double f = t - IG_ROUND_F64;
  double r = (c - f * 0x1.62e42fefp-1) - f * 0x1.473de6af278edp-34;
  double p = r + r * r * ig_exp_tail_f64(r);
  double s = ig_exp2i_f64(n - 1);
  double y = (s * p + (s - 0.5)) * 2.0;
  return n == 0 ? (x == 0.0 ? x : p) : y;
}

// ---- log ----
static inline float ig_log_f32(float x) {
  int tiny = x < 0x1p-126f;
  float s = tiny ? x * 0x1p23f : x;
  // Exponent so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  uint32_t u = ig_bits_f32(s) - 0x3f3504f3U;
  int32_t e = (int32_t)u >> 23;
  float f = ig_float_of((u & 0x7fffffU) + 0x3f3504f3U) - 1.0f;
  float n = (float)(e - (tiny ? 23 : 0));
  float z = f * f;
  float p = 0x1.1457e4p-4f;
  p = p * f - 0x1.de3bf6p-4f;
  p = p * f + 0x1.e6f03cp-4f;
  p = p * f - 0x1.fc2208p-4f;
  p = p * f + 0x1.23376cp-3f;
  p = p * f - 0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f - 0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  float y = f * z * p + n * 0x1.7f7d1cp-20f;
  y = n * 0x1.62e4p-1f + (f + (y - 0.5f * z));
  y = x == 0.0f ? -INFINITY : y;
  y = x < 0.0f ? NAN : y;
  return x < INFINITY ? y : x + x;  // inf, NaN
}
static inline double ig_log_f64(double x) {
  int tiny = x < 0x1p-1022;
  double s = tiny ? x * 0x1p54 : x;
  uint64_t u = ig_bits_f64(s) - 0x3fe6a09e667f3bcdU;
  // The exponent plus 2048 is positive, and becomes a double through the mantissa of 2^52.
  uint64_t biased = (u + (UINT64_C(1) << 63)) >> 52;
  double n = ig_double_of(biased | 0x4330000000000000U) - (0x1p52 + 2048.0);
  n = n - (tiny ? 54.0 : 0.0);
  double f = ig_double_of((u & 0xfffffffffffffU) + 0x3fe6a09e667f3bcdU) - 1.0;
  double q = f / (2.0 + f);
  double z = q * q;
  double p = 0.1325115671277114;
  p = p * z + 0.13250136789435274;
  p = p * z + 0.15387089946336802;
  p = p * z + 0.18181775683600293;
  p = p * z + 0.222222226465782;
  p = p * z + 0.28571428569087265;
  p = p * z + 0.4000000000000624;
  p = p * z + 0.6666666666666666;
  double h = 0.5 * f * f;
  double y = q * (h + z * p) + n * 0x1.473de6af278edp-34;
  y = n * 0x1.62e42fefp-1 + (f - (h - y));
  y = x == 0.0 ? -INFINITY : y;
  y = x < 0.0 ? (double)NAN : y;
  return x < INFINITY ? y : x + x;
}
static inline float ig_log1p_f32(float x) {
  float u = 1.0f + x;
  float y = ig_log_f32(u) + (x - (u - 1.0f)) / u;  // the second term is what 1 + x lost
  y = x == -1.0f ? -INFINITY : y;
  y = x == 0.0f ? x : y;
  return x < INFINITY ? y : x + x;
}

// ---- tanh, sigmoid ----
static inline float ig_tanh_f32(float x) {
  float a = fabsf(x);
  float e = ig_expm1_f32(2.0f * (a > 10.0f ? 10.0f : a));
  float y = copysignf(e / (e + 2.0f), x);
  return x == x ? y : x;
}
static inline double ig_tanh_f64(double x) {
  double a = fabs(x);
  double e = ig_expm1_f64(2.0 * (a > 20.0 ? 20.0 : a));
  double y = copysign(e / (e + 2.0), x);
  return x == x ? y : x;
}
static inline float ig_sigmoid_f32(float x) {
  float z = ig_exp_f32(-fabsf(x));
  return (x < 0.0f ? z : 1.0f) / (1.0f + z);
}
static inline double ig_sigmoid_f64(double x) {
  double z = ig_exp_f64(-fabs(x));
  return (x < 0.0 ? z : 1.0) / (1.0 + z);
}

// ---- erf, gelu ----
static inline float ig_erf_f32(float x) {
  float a = fabsf(x);
  float s = x * x;
  float q = 0x1.5cd4aap-14f;
  q = q * s - 0x1.aa3f2cp-11f;
  q = q * s + 0x1.54c7f4p-8f;
  q = q * s - 0x1.b80e90p-6f;
  q = q * s + 0x1.ce2e0ap-4f;
  q = q * s - 0x1.812742p-2f;
  q = q * s + 0x1.06eba8p-3f;
  float small = x + x * q;
  float t = a > 4.0f ? 4.0f : a;
  float p = 0x1.148c04p-16f;
  p = p * t - 0x1.87b4eap-12f;
  p = p * t + 0x1.f75f54p-9f;
  p = p * t - 0x1.8bdd80p-6f;
  p = p * t + 0x1.b4f40ep-4f;
  p = p * t + 0x1.451164p-1f;
  p = p * t + 0x1.0797c8p-3f;
  float large = copysignf(1.0f - ig_exp_inner_f32(-t - t * p), x);
  float y = a < 0.93f ? small : large;
  return x == x ? y : x;
}
// x times the normal distribution's tail: h = erfc(|x| / sqrt 2) / 2 = 2^-(1 + |x| p(|x|)), and the
// result is -|x| h on the left, x - |x| h on the right. One polynomial serves all x, and nothing
// cancels: the error is 3 ulp of 0.5 x, and 1 % of the value where that is below 1e-5.
static inline float ig_gelu_f32(float x) {
  float a = fabsf(x);
  float t = a > 11.5f ? 11.5f : a;  // From there on h is 2^-87.
  float p = -0x1.a86bdep-24f;
  p = p * t + 0x1.7b1f22p-19f;
  p = p * t - 0x1.fd3596p-16f;
  p = p * t + 0x1.0ca7cap-13f;
  p = p * t + 0x1.39189ep-12f;
  p = p * t - 0x1.de2d40p-8f;
  p = p * t + 0x1.af7dc8p-5f;
  p = p * t + 0x1.d629ecp-2f;
  p = p * t + 0x1.26af60p+0f;
  float z = -1.0f - t * p;
  float n = z + IG_ROUND_F32;
  float r = z - (n - IG_ROUND_F32);
  float q = 0x1.5c08e4p-10f;
  q = q * r + 0x1.3d0c52p-7f;
  q = q * r + 0x1.c6b6e4p-5f;
  q = q * r + 0x1.ebf918p-3f;
  q = q * r + 0x1.62e428p-1f;
  q = q * r + 0x1.000002p+0f;
  float h = ig_float_of(ig_bits_f32(q) + (ig_bits_f32(n) << 23));
  return (x > 0.0f ? x : x * 0.0f) - t * h;  // -inf gives NaN, as the formula does
}
// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
static inline float ig_gelu_tanh_f32(float x) {
  float u = 0x1.988454p-1f * (x + 0.044715f * (x * x * x));
  return 0.5f * x * (1.0f + ig_tanh_f32(u));
}

// ---- sin, cos ----
// Reduced in f64 by multiples of pi / 2; which = 0 gives sin, 1 gives cos.
static inline float ig_trig_f32(float x, uint64_t which) {
  double t = (double)x * 0x1.45f306dc9c883p-1 + IG_ROUND_F64;
  uint64_t n = ig_bits_f64(t) + which;
  double f = t - IG_ROUND_F64;
  double d = (double)x - f * 0x1.921fb50000000p+0;  // exact: 26 bits times 25
  d = (d - f * 0x1.110b461000000p-26) - f * 0x1.a62633145c06ep-58;
  float r = (float)d;
  float z = r * r;
  float s = 0x1.6ccbb6p-19f;
  s = s * z - 0x1.a00f6ap-13f;
  s = s * z + 0x1.111108p-7f;
  s = s * z - 0x1.555556p-3f;
  s = r + r * z * s;
  float c = 0x1.99f2e2p-16f;
  c = c * z - 0x1.6c0c58p-10f;
  c = c * z + 0x1.55554ap-5f;
  c = (1.0f - 0.5f * z) + z * z * c;
  float y = n & 1U ? c : s;
  return n & 2U ? -y : y;
}
static inline float ig_sin_f32(float x) {
  float y = ig_trig_f32(x, 0);
  return x == 0.0f ? x : y;
}
static inline float ig_cos_f32(float x) {
  return ig_trig_f32(x, 1);
}

// y[n] = sin(x[n]) for any x; y must not be x.
static inline void ig_sin_block_f32(int64_t n, const float *x, float *y) {
  int large = 0;
  for (int64_t i = 0; i < n; i++) {
    large |= !(fabsf(x[i]) <= IG_TRIG_MAX);
    y[i] = ig_sin_f32(x[i]);
  }
  for (int64_t i = 0; large && i < n; i++)
    if (!(fabsf(x[i]) <= IG_TRIG_MAX)) y[i] = sinf(x[i]);
}
static inline void ig_cos_block_f32(int64_t n, const float *x, float *y) {
  int large = 0;
  for (int64_t i = 0; i < n; i++) {
    large |= !(fabsf(x[i]) <= IG_TRIG_MAX);
    y[i] = ig_cos_f32(x[i]);
  }
  for (int64_t i = 0; large && i < n; i++)
    if (!(fabsf(x[i]) <= IG_TRIG_MAX)) y[i] = cosf(x[i]);
}

// ---- inverse trigonometric ----
#define IG_PI_HIGH 0x1.921fb6p+1f
#define IG_PI_LOW -0x1.777a5cp-24f

// atan of t in [0, 1]
static inline float ig_atan_inner_f32(float t) {
  float z = t * t;
  float q = -0x1.cbc6e8p-10f;
  q = q * z + 0x1.5f7f6ap-7f;
  q = q * z - 0x1.f8b33ap-6f;
  q = q * z + 0x1.d7773ap-5f;
  q = q * z - 0x1.572272p-4f;
  q = q * z + 0x1.c02f7cp-4f;
  q = q * z - 0x1.24159ap-3f;
  q = q * z + 0x1.999082p-3f;
  q = q * z - 0x1.555534p-2f;
  return t + t * (z * q);
}
static inline float ig_atan_f32(float x) {
  float a = fabsf(x);
  float p = ig_atan_inner_f32(a > 1.0f ? 1.0f / a : a);
  float y = (0.5f * IG_PI_HIGH - p) + 0.5f * IG_PI_LOW;
  return copysignf(a > 1.0f ? y : p, x);
}
static inline float ig_atan2_f32(float y, float x) {
  float a = fabsf(x);
  float b = fabsf(y);
  float high = a > b ? a : b;
  float low = a > b ? b : a;
  float t = low / high;
  t = high == 0.0f ? 0.0f : t;
  t = low == INFINITY ? 1.0f : t;
  float p = ig_atan_inner_f32(t);
  float turned = (0.5f * IG_PI_HIGH - p) + 0.5f * IG_PI_LOW;
  p = b > a ? turned : p;
  float left = (IG_PI_HIGH - p) + IG_PI_LOW;
  p = ig_bits_f32(x) >> 31 ? left : p;
  p = copysignf(p, y);
  return (int)(x != x) | (int)(y != y) ? x + y : p;
}

// asin of s in [0, 1/2]; z = s^2
static inline float ig_asin_inner_f32(float s, float z) {
  float q = 0x1.33bc1ap-5f;
  q = q * z + 0x1.d7f160p-7f;
  q = q * z + 0x1.04a666p-5f;
  q = q * z + 0x1.6cac3ap-5f;
  q = q * z + 0x1.33388ep-4f;
  q = q * z + 0x1.55554cp-3f;
  return s + s * (z * q);
}
// Above 1/2 through asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
static inline float ig_asin_f32(float x) {
  float a = fabsf(x);
  int far = a > 0.5f;
  float z = far ? 0.5f * (1.0f - a) : a * a;
  float p = ig_asin_inner_f32(far ? sqrtf(z) : a, z);
  float y = (0.5f * IG_PI_HIGH - 2.0f * p) + 0.5f * IG_PI_LOW;
  return copysignf(far ? y : p, x);
}
static inline float ig_acos_f32(float x) {
  float a = fabsf(x);
  int far = a > 0.5f;
  float z = far ? 0.5f * (1.0f - a) : a * a;
  float p = ig_asin_inner_f32(far ? sqrtf(z) : a, z);
  float near = (0.5f * IG_PI_HIGH - copysignf(p, x)) + 0.5f * IG_PI_LOW;
  float left = (IG_PI_HIGH - 2.0f * p) + IG_PI_LOW;
  float y = x < 0.0f ? left : 2.0f * p;
  return far ? y : near;
}

// ---- sinh, cosh ----
// Through the exponential in f64; near 0, where it cancels, by the series.
static inline float ig_sinh_f32(float x) {
  double a = (double)x;
  double e = ig_exp_f64(a);
  float y = (float)(0.5 * (e - 1.0 / e));
  float near = (float)(a + a * a * a * (1.0 / 6.0));
  return fabsf(x) < 0x1p-7f ? near : y;
}
static inline float ig_cosh_f32(float x) {
  double e = ig_exp_f64((double)x);
  return (float)(0.5 * (e + 1.0 / e));
}

// ---- pow ----
// Through f64 logarithm and exponential: within 1 ulp. All of C's special cases.
static inline float ig_pow_f32(float x, float y) {
  double a = fabs((double)x);
  double l = (double)y * ig_log_f64(a);
  float r = (float)ig_exp_f64(l);
  // y as an integer: odd or even. Beyond 2^24 every float is even.
  float m = fabsf(y);
  float w = (m + 0x1p23f) - 0x1p23f;
  int whole = m >= 0x1p23f || w == m;
  float h = 0.5f * m;
  float wh = (h + 0x1p23f) - 0x1p23f;
  int odd = m < 0x1p24f && whole && !(h >= 0x1p23f || wh == h);
  int negative = (int)(ig_bits_f32(x) >> 31);
  r = negative && odd ? -r : r;
  r = x < 0.0f && !whole && a < INFINITY ? NAN : r;
  r = a == 1.0 && m == INFINITY ? 1.0f : r;
  r = x == 1.0f || y == 0.0f ? 1.0f : r;
  return (x != x && y != 0.0f) || (y != y && x != 1.0f) ? x + y : r;
}

#endif
