// SPDX-License-Identifier: Apache-2.0
// Elementary functions against libm in double: a dense sweep over all float bit patterns (every
// 1009th), the neighbourhoods where methods change, and the special values.
#include "kernels/vmath.h"

#include <float.h>
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef float f32_fn(float x);
typedef double f64_fn(double x);

static double sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

// Distance in units of the last place of the true value.
static double ulps(float found, double want) {
  if (isnan(want)) return isnan(found) ? 0.0 : 1e9;
  float near = (float)want;
  if (isinf(near) || isinf(found)) {
    // A value that rounds to infinity may also be the largest float.
    return near == found || (fabs(want) > 3.4e38 && fabsf(found) > 3.4e38f) ? 0.0 : 1e9;
  }
  float next = nextafterf(fabsf(near), INFINITY);
  double ulp = isinf(next) ? 0x1p104 : (double)next - (double)fabsf(near);
  return fabs((double)found - want) / ulp;
}

static void check_f32(const char *name, f32_fn *fn, f64_fn *truth, double limit, float low,
                      float high) {
  double worst = 0.0;
  float where = 0.0f;
  for (uint64_t u = 0; u < UINT64_C(0x100000000); u += 1009) {
    float x = ig_float_of((uint32_t)u);
    if (!(x >= low && x <= high)) continue;
    double d = ulps(fn(x), truth((double)x));
    if (d > worst) {
      worst = d;
      where = x;
    }
  }
  if (worst > limit) fail_msg("%s(%.9g) is off by %g ulp", name, (double)where, worst);
}

static void specials_f32(const char *name, f32_fn *fn, f64_fn *truth) {
  static const float at[] = {0.0f,    -0.0f,   INFINITY, -INFINITY, NAN,       1.0f,   -1.0f,
                             FLT_MIN, FLT_MAX, -FLT_MAX, 1e-45f,    -1e-45f,   88.72f, 88.73f,
                             -87.33f, -103.9f, -104.1f,  0x1p-24f,  -0x1p-24f, 0.5f,   -0.5f};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    double want = truth((double)at[i]);
    float found = fn(at[i]);
    if (ulps(found, want) > 3.0 || (!isnan(want) && signbit(found) != signbit((float)want)))
      fail_msg("%s(%g) is %g, want %g", name, (double)at[i], (double)found, want);
  }
}

static void check_f64(const char *name, f64_fn *fn, f64_fn *truth, double limit, double low,
                      double high) {
  for (uint64_t u = 0; u < UINT64_MAX - 9007199254741U; u += 9007199254741U) {
    double x = ig_double_of(u);
    if (!(x >= low && x <= high)) continue;
    double want = truth(x);
    double found = fn(x);
    if (want == found || (isnan(want) && isnan(found))) continue;
    double scale = fabs(want) < DBL_MIN ? DBL_MIN : fabs(want);
    if (!(fabs(found - want) <= limit * scale))
      fail_msg("%s(%.17g) is %.17g, want %.17g", name, x, found, want);
  }
  for (int i = -40000; i <= 40000; i++) {
    double x = (double)i * 0.001;
    if (!(x >= low && x <= high)) continue;
    double want = truth(x);
    if (want == fn(x) || (isnan(want) && isnan(fn(x)))) continue;
    if (!(fabs(fn(x) - want) <= limit * fabs(want)))
      fail_msg("%s(%.17g) is %.17g, want %.17g", name, x, fn(x), want);
  }
}

static void test_f32(void **state) {
  (void)state;
#define CHECK(name, truth, limit, low, high) \
  check_f32(#name, ig_##name##_f32, truth, limit, low, high)
  CHECK(exp, exp, 1.5, -INFINITY, INFINITY);
  CHECK(expm1, expm1, 2.5, -INFINITY, INFINITY);
  CHECK(log, log, 1.5, -INFINITY, INFINITY);
  CHECK(log1p, log1p, 2.5, -INFINITY, INFINITY);
  CHECK(tanh, tanh, 3.0, -INFINITY, INFINITY);
  CHECK(sigmoid, sigmoid, 3.0, -87.0f, INFINITY);
  CHECK(erf, erf, 2.0, -INFINITY, INFINITY);
  CHECK(sin, sin, 2.0, -IG_TRIG_MAX, IG_TRIG_MAX);
  CHECK(cos, cos, 2.0, -IG_TRIG_MAX, IG_TRIG_MAX);
  CHECK(atan, atan, 2.0, -INFINITY, INFINITY);
  CHECK(asin, asin, 2.0, -INFINITY, INFINITY);
  CHECK(acos, acos, 2.0, -INFINITY, INFINITY);
  CHECK(sinh, sinh, 1.0, -INFINITY, INFINITY);
  CHECK(cosh, cosh, 1.0, -INFINITY, INFINITY);
#undef CHECK
}

static void test_specials(void **state) {
  (void)state;
  specials_f32("exp", ig_exp_f32, exp);
  specials_f32("atan", ig_atan_f32, atan);
  specials_f32("asin", ig_asin_f32, asin);
  specials_f32("acos", ig_acos_f32, acos);
  specials_f32("sinh", ig_sinh_f32, sinh);
  specials_f32("cosh", ig_cosh_f32, cosh);
  specials_f32("expm1", ig_expm1_f32, expm1);
  specials_f32("log", ig_log_f32, log);
  specials_f32("log1p", ig_log1p_f32, log1p);
  specials_f32("tanh", ig_tanh_f32, tanh);
  specials_f32("sigmoid", ig_sigmoid_f32, sigmoid);
  specials_f32("erf", ig_erf_f32, erf);
  assert_true(isnan(ig_sin_f32(NAN)) && isnan(ig_cos_f32(NAN)));
  assert_true(signbit(ig_sin_f32(-0.0f)));
}

static void test_f64(void **state) {
  (void)state;
  check_f64("exp", ig_exp_f64, exp, 5e-16, -708.0, INFINITY);
  check_f64("expm1", ig_expm1_f64, expm1, 6e-16, -INFINITY, INFINITY);
  check_f64("log", ig_log_f64, log, 5e-16, -INFINITY, INFINITY);
  check_f64("tanh", ig_tanh_f64, tanh, 1e-15, -INFINITY, INFINITY);
  check_f64("sigmoid", ig_sigmoid_f64, sigmoid, 1e-15, -700.0, INFINITY);
  assert_true(isnan(ig_exp_f64((double)NAN)) && ig_exp_f64(-(double)INFINITY) == 0.0);
  assert_true(ig_exp_f64(-745.0) > 0.0 && ig_exp_f64(709.9) == (double)INFINITY);
}

static void test_gelu(void **state) {
  (void)state;
  for (int i = -12000; i <= 12000; i++) {
    float x = (float)i * 0.001f;
    double d = (double)x;
    double want = 0.5 * d * (1.0 + erf(d * sqrt(0.5)));
    double tanh_form = 0.5 * d * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (d + 0.044715 * d * d * d)));
    double room = 3.0 * 0x1p-24 * fabs(d) + 1e-45;
    if (fabs((double)ig_gelu_f32(x) - want) > room) fail_msg("gelu(%g)", d);
    if (fabs((double)ig_gelu_tanh_f32(x) - tanh_form) > room) fail_msg("gelu tanh(%g)", d);
    double tail = 0.5 * d * erfc(-d * sqrt(0.5));  // what the sum above has no bits for
    if (i < 0 && i > -9000 && fabs((double)ig_gelu_f32(x) / tail - 1) > 0.011)
      fail_msg("gelu(%g) is %g", d, (double)ig_gelu_f32(x));
  }
  assert_true(isnan(ig_gelu_f32(NAN)) && ig_gelu_f32(INFINITY) == INFINITY);
  assert_true(isnan(ig_gelu_f32(-INFINITY)) && fabsf(ig_gelu_f32(-1e30f)) < 1e-20f);
}

static void test_trig_blocks(void **state) {
  (void)state;
  float x[] = {0.0f, 1.0f, 1e9f, -3e38f, INFINITY, NAN, 1e8f, -12.5f};
  float s[8];
  float c[8];
  ig_sin_block_f32(8, x, s);
  ig_cos_block_f32(8, x, c);
  for (int i = 0; i < 8; i++) {
    assert_true(ulps(s[i], sin((double)x[i])) <= 1.5);
    assert_true(ulps(c[i], cos((double)x[i])) <= 1.5);
  }
}

static void test_pow(void **state) {
  (void)state;
  static const float at[] = {
      0.0f,   -0.0f,    1.0f,        -1.0f,       2.0f,        -2.0f,   0.5f,   -0.5f,
      3.0f,   -3.0f,    2.5f,        -2.5f,       1e-40f,      -1e-40f, 1e20f,  -1e20f,
      NAN,    INFINITY, 0.333f,      7.0f,        127.0f,      1e30f,   1e-30f, -INFINITY,
      1.001f, 0.99999f, 16777216.0f, 16777215.0f, -8388607.0f, 20.25f,  100.0f, -7.0f};
  size_t n = sizeof at / sizeof *at;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      double want = pow((double)at[i], (double)at[j]);
      float found = ig_pow_f32(at[i], at[j]);
      if (ulps(found, want) > 1.0 || (!isnan(want) && signbit(found) != signbit((float)want)))
        fail_msg("pow(%g, %g) is %g, want %g", (double)at[i], (double)at[j], (double)found, want);
    }
  }
}

static void test_atan2(void **state) {
  (void)state;
  static const float at[] = {0.0f,  -0.0f,    1.0f,      -1.0f, 0.25f, -3.0f,  1e-40f, 1e-20f,
                             1e30f, INFINITY, -INFINITY, NAN,   1.5f,  -0.99f, 1e-38f, 7.0f};
  size_t n = sizeof at / sizeof *at;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      double want = atan2((double)at[i], (double)at[j]);
      float found = ig_atan2_f32(at[i], at[j]);
      if (ulps(found, want) > 2.0 || (!isnan(want) && signbit(found) != signbit((float)want)))
        fail_msg("atan2(%g, %g) is %g, want %g", (double)at[i], (double)at[j], (double)found, want);
    }
  }
  for (int i = 0; i < 100000; i++) {
    float y = (float)((i * 7919) % 20011 - 10005) * 0.37f;
    float x = (float)((i * 10473) % 30011 - 15005) * 0.91f;
    if (ulps(ig_atan2_f32(y, x), atan2((double)y, (double)x)) > 2.5)
      fail_msg("atan2(%.9g, %.9g)", (double)y, (double)x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32),   cmocka_unit_test(test_specials),    cmocka_unit_test(test_f64),
      cmocka_unit_test(test_gelu),  cmocka_unit_test(test_trig_blocks), cmocka_unit_test(test_pow),
      cmocka_unit_test(test_atan2),
  };
  return cmocka_run_group_tests_name("vmath", tests, NULL, NULL);
}
