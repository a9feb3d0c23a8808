// SPDX-License-Identifier: Apache-2.0
// Linear layers with weights of 4 to 32 bits: against products with the rounded weights in double
// precision, at every cpu level and thread count, with residuals and activations; what they lose;
// layers over memory that was packed before.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "ingot/threads.h"
#include "kernels/conv_inner.h"
#include "kernels/layer.h"

static float *noise(int64_t n, uint32_t seed) {
  float *v = malloc((size_t)(n + 1) * sizeof *v);
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525U + 1013904223U;
    v[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
  return v;
}

static ig_conv shape_of(int64_t rows, int64_t in, int64_t out) {
  ig_conv c = ig_conv_make(IG_ELEM_F32, 1, in, out);
  c.channels_last = true;
  c.in[2] = c.out[2] = rows;
  return c;
}

static float largest(const float *w, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; i++) most = fabsf(w[i]) > most ? fabsf(w[i]) : most;
  return most;
}

static float as_bf16(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static float as_integer(float v, float factor, float low, float high) {
  float q = fabsf(factor) > 0 ? rintf(v / factor) : 0;
  return fminf(fmaxf(q, low), high) * factor;
}

static float farthest(const float *w, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; i++) most = fabsf(w[i]) > fabsf(most) ? w[i] : most;
  return most;
}

// 11 bits, but no finer than 2^-24 of what the largest element of the row is scaled to.
static float as_f16(float v, float most) {
  int e = 0;
  int own = 0;
  (void)frexpf(most, &e);
  (void)frexpf(v, &own);
  float ulp = ldexpf(1, own - 11 > e - 15 - 24 ? own - 11 : e - 15 - 24);
  return rintf(v / ulp) * ulp;
}

// The weights that the method leaves.
static void round_weights(ig_layer_method m, float *w, int64_t in, int64_t out) {
  for (int64_t o = 0; o < out; o++, w += in) {
    float most = largest(w, in);
    for (int64_t i = 0; i < in; i++) {
      if (m == IG_LAYER_BF16) w[i] = as_bf16(w[i]);
      if (m == IG_LAYER_F16 && most > 0) w[i] = as_f16(w[i], most);
      if (m == IG_LAYER_INT8 || m == IG_LAYER_DYNAMIC8)
        w[i] = as_integer(w[i], most / 127, -127, 127);
    }
    for (int64_t i = 0; m == IG_LAYER_INT4 && i < in; i += 32) {
      int64_t n = in - i < 32 ? in - i : 32;
      float factor = as_bf16(farthest(w + i, n) / -8);
      for (int64_t k = 0; k < n; k++) w[i + k] = as_integer(w[i + k], factor, -8, 7);
    }
  }
}

// The inputs that the method leaves; how far a single one that is rounded otherwise may be off.
static double round_inputs(ig_layer_method m, int64_t rows, float *x, int64_t in) {
  double step = 0;
  if (rows < 8) return 0;
  for (int64_t r = 0; r < rows; r++, x += in) {
    float lo = 0;
    float hi = 0;
    for (int64_t i = 0; i < in; i++) {
      lo = x[i] < lo ? x[i] : lo;
      hi = x[i] > hi ? x[i] : hi;
    }
    float scale = (hi - lo) / 255;
    float zero = rintf(-lo / scale);
    for (int64_t i = 0; i < in; i++) {
      if (m == IG_LAYER_BF16 && ig_cpu_has_bf16()) x[i] = as_bf16(x[i]);
      if (m != IG_LAYER_DYNAMIC8) continue;
      x[i] = (fminf(fmaxf(rintf(x[i] / scale + zero), 0), 255) - zero) * scale;
    }
    if (m == IG_LAYER_DYNAMIC8) step = fmax(step, (double)scale);
  }
  return step;
}

static double tolerated(ig_layer_method m) {
  return m <= IG_LAYER_ROWS   ? 1e-6
         : m == IG_LAYER_INT4 ? 0.2
         : m == IG_LAYER_F16  ? 0.0005
         : m == IG_LAYER_BF16 ? 0.005
                              : 0.02;
}

static void check(ig_layer_method m, const int64_t *s, ig_act act, bool residual) {
  int64_t rows = s[0];
  int64_t in = s[1];
  int64_t out = s[2];
  ig_conv c = shape_of(rows, in, out);
  float *w = noise(in * out, 1);
  float *x = noise(rows * in, 2);
  float *bias = noise(out, 3);
  float *more = noise(rows * out, 4);
  float *y = noise(rows * out, 5);
  ig_layer_options o = {.method = m};
  ig_layer *l = ig_layer_create(&c, w, bias, &o);
  assert_non_null(l);
  double lost = m < IG_LAYER_ROWS ? 0 : ig_layer_loss(l, rows, x, w);
  assert_true(lost >= 0 && lost < tolerated(m));
  ig_layer_io io = {
      .x = x, .y = y, .residual = residual ? more : NULL, .act = act, .lo = -0.5f, .hi = 0.75f};
  assert_true(ig_layer_run(l, &c, &io));
  round_weights(m, w, in, out);
  double slack = round_inputs(m, rows, x, in);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < out; k++) {
      double sum = bias[k];
      for (int64_t i = 0; i < in; i++) sum += (double)w[k * in + i] * (double)x[r * in + i];
      if (residual) sum += (double)more[r * out + k];
      if (act == IG_ACT_CLAMP) sum = fmin(fmax(sum, -0.5), 0.75);
      if (act == IG_ACT_SILU) sum = sum / (1 + exp(-sum));
      double off = fabs(sum - (double)y[r * out + k]);
      if (!(off <= slack + 1e-5 * (1 + fabs(sum)) * sqrt((double)in))) {
        fail_msg("method %d, %dx%d->%d, row %d, output %d: %g, expected %g", (int)m, (int)rows,
                 (int)in, (int)out, (int)r, (int)k, y[r * out + k], sum);
      }
    }
  }
  ig_layer_free(l);
  free(w);
  free(x);
  free(bias);
  free(more);
  free(y);
}

static void agrees_with_rounded_weights(void **state) {
  static const int64_t sizes[][3] = {{1, 1, 1},    {1, 64, 4},   {1, 63, 3},   {2, 65, 5},
                                     {7, 200, 17}, {1, 768, 50}, {3, 128, 8},  {1, 1000, 133},
                                     {8, 31, 64},  {13, 99, 70}, {20, 256, 65}};
  (void)state;
  int threads = ig_threads_get();
  for (int level = IG_CPU_BASE; level <= IG_CPU_AVX512; level++) {
    (void)ig_cpu_limit((ig_cpu)level);
    for (int n = 1; n <= 3; n += 2) {
      ig_threads_set(n);
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int m = IG_LAYER_ROWS; m < IG_LAYER_METHODS; m++) {
          check((ig_layer_method)m, sizes[i], IG_ACT_NONE, false);
          check((ig_layer_method)m, sizes[i], IG_ACT_CLAMP, true);
          check((ig_layer_method)m, sizes[i], IG_ACT_SILU, i % 2);
        }
      }
    }
  }
  ig_threads_set(threads);
}

// Few rows by weights that are packed for many: odd numbers of panels, panels of one to three
// blocks.
static void few_rows_of_products(void **state) {
  static const int64_t sizes[][3] = {{1, 64, 64},  {3, 32, 80},  {7, 48, 48}, {5, 16, 16},
                                     {2, 64, 112}, {4, 32, 208}, {1, 16, 48}, {6, 16, 144}};
  (void)state;
  int threads = ig_threads_get();
  for (int level = IG_CPU_BASE; level <= IG_CPU_AVX512; level++) {
    (void)ig_cpu_limit((ig_cpu)level);
    for (int n = 1; n <= 3; n += 2) {
      ig_threads_set(n);
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(IG_LAYER_PRODUCT, sizes[i], IG_ACT_NONE, false);
        check(IG_LAYER_PRODUCT, sizes[i], IG_ACT_CLAMP, true);
        check(IG_LAYER_PRODUCT, sizes[i], IG_ACT_SILU, i % 2);
      }
    }
  }
  ig_threads_set(threads);
}

// Integers of inputs have the same sums at every level.
static void same_integers_everywhere(void **state) {
  (void)state;
  ig_conv c = shape_of(11, 301, 37);
  float *w = noise(301 * 37, 1);
  float *x = noise(11 * 301, 2);
  float y[IG_CPU_AVX512 + 1][11 * 37];
  for (int level = IG_CPU_BASE; level <= IG_CPU_AVX512; level++) {
    (void)ig_cpu_limit((ig_cpu)level);
    ig_layer_options o = {.method = IG_LAYER_DYNAMIC8};
    ig_layer *l = ig_layer_create(&c, w, NULL, &o);
    ig_layer_io io = {.x = x, .y = y[level]};
    assert_true(ig_layer_run(l, &c, &io));
    ig_layer_free(l);
    for (int i = 0; i < 11 * 37; i++) {
      assert_true(fabsf(y[level][i] - y[0][i]) <= 1e-6f * (1 + fabsf(y[0][i])));
    }
  }
  free(w);
  free(x);
}

// Sums of integers have 32 bits: rows that are too long for that are not taken.
static void long_rows(void **state) {
  enum { ROWS = 8, LONGEST = INT32_MAX / (127 * 255) };
  (void)state;
  const ig_layer_options o = {.method = IG_LAYER_DYNAMIC8};
  ig_conv c = shape_of(ROWS, LONGEST + 1, 1);
  float *ones = malloc(sizeof *ones * ROWS * (LONGEST + 1));
  float y[ROWS];
  assert_non_null(ones);
  for (int i = 0; i < ROWS * (LONGEST + 1); i++) ones[i] = 1;
  assert_int_equal(ig_layer_choose(&c, &o), IG_LAYER_NONE);
  c = shape_of(ROWS, LONGEST, 1);
  ig_layer *l = ig_layer_create(&c, ones, NULL, &o);
  ig_layer_io io = {.x = ones, .y = y};
  assert_true(ig_layer_run(l, &c, &io));
  for (int i = 0; i < ROWS; i++) assert_true(fabsf(y[i] / LONGEST - 1) < 1e-3f);
  ig_layer_free(l);
  free(ones);
}

// Rows of inputs that are zero, tiny or not finite.
static void special_inputs(void **state) {
  enum { ROWS = 8 };
  (void)state;
  ig_conv c = shape_of(ROWS, 3, 2);
  float w[] = {1, 2, 3, -1, 0, 127};
  float bias[] = {5, 6};
  float x[ROWS * 3] = {0, 0, 0, 1e-42f, 0, 0, NAN, 0, 0, 0, INFINITY, 0, 3e38f, -3e38f, 0, 1, 1, 1};
  float y[ROWS * 2];
  ig_layer_options o = {.method = IG_LAYER_DYNAMIC8};
  ig_layer *l = ig_layer_create(&c, w, bias, &o);
  ig_layer_io io = {.x = x, .y = y};
  assert_true(ig_layer_run(l, &c, &io));
  for (int i = 0; i < 4; i += 2) assert_true(y[i] == 5 && y[i + 1] == 6);
  for (int i = 4; i < 10; i++) assert_true(isnan(y[i]));
  assert_true(fabsf(y[10] - 11) < 0.1f && fabsf(y[11] - 132) < 1);
  ig_layer_free(l);
}

static void special_weights(void **state) {
  (void)state;
  ig_conv c = shape_of(1, 3, 3);
  float w[] = {0, 0, 0, INFINITY, 1, 1, 127, -127, 1};
  float x[] = {1, 1, 1};
  float y[3];
  for (int m = IG_LAYER_ROWS; m < IG_LAYER_METHODS; m++) {
    ig_layer_options o = {.method = (ig_layer_method)m};
    ig_layer *l = ig_layer_create(&c, w, NULL, &o);
    ig_layer_io io = {.x = x, .y = y};
    assert_true(ig_layer_run(l, &c, &io));
    assert_true(y[0] == 0 && !isfinite(y[1]) && fabsf(y[2] - 1) <= (m == IG_LAYER_INT4 ? 17 : 1));
    ig_layer_free(l);
  }
}

static void over_packed_memory(void **state) {
  (void)state;
  ig_conv c = shape_of(2, 70, 9);
  float *w = noise(70 * 9, 1);
  float *x = noise(2 * 70, 2);
  float y[2][18];
  size_t bytes = 0;
  ig_layer_options o = {.method = IG_LAYER_INT4};
  ig_layer *a = ig_layer_create(&c, w, NULL, &o);
  const void *packed = ig_layer_packed(a, &bytes);
  assert_null(ig_layer_over(&c, IG_LAYER_INT4, 0, packed, bytes - 4));
  assert_null(ig_layer_over(&c, IG_LAYER_PRODUCT, 0, packed, bytes));
  assert_null(ig_layer_over(&c, IG_LAYER_INT4, 0, (const char *)packed + 4, bytes));
  assert_null(ig_layer_over(&c, (ig_layer_method)99, 0, packed, bytes));
  ig_layer *b = ig_layer_over(&c, IG_LAYER_INT4, 0, packed, bytes);
  assert_non_null(b);
  for (int i = 0; i < 2; i++) {
    ig_layer_io io = {.x = x, .y = y[i]};
    assert_true(ig_layer_run(i ? b : a, &c, &io));
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  ig_layer_free(b);
  ig_layer_free(a);
  free(w);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_rounded_weights),
      cmocka_unit_test(few_rows_of_products),
      cmocka_unit_test(same_integers_everywhere),
      cmocka_unit_test(long_rows),
      cmocka_unit_test(special_inputs),
      cmocka_unit_test(special_weights),
      cmocka_unit_test(over_packed_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
