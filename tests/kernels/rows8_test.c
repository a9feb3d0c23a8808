// SPDX-License-Identifier: Apache-2.0
// Linear layers with weights of 8 bits: against products with the rounded weights in double
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

// The weights that 8 bits leave.
static void round_rows(float *w, int64_t in, int64_t out) {
  for (int64_t o = 0; o < out; o++, w += in) {
    float most = 0;
    for (int64_t i = 0; i < in; i++) most = fabsf(w[i]) > most ? fabsf(w[i]) : most;
    float factor = most / 127;
    for (int64_t i = 0; i < in && factor > 0; i++) w[i] = rintf(w[i] / factor) * factor;
  }
}

static void check(int64_t rows, int64_t in, int64_t out, ig_act act, bool residual) {
  ig_conv c = shape_of(rows, in, out);
  float *w = noise(in * out, 1);
  float *x = noise(rows * in, 2);
  float *bias = noise(out, 3);
  float *more = noise(rows * out, 4);
  float *y = noise(rows * out, 5);
  ig_layer_options o = {.method = IG_LAYER_ROWS8};
  ig_layer *l = ig_layer_create(&c, w, bias, &o);
  assert_non_null(l);
  double lost = ig_layer_loss(l, rows, x, w);
  assert_true(lost >= 0 && lost < 0.02);
  ig_layer_io io = {
      .x = x, .y = y, .residual = residual ? more : NULL, .act = act, .lo = -0.5f, .hi = 0.75f};
  assert_true(ig_layer_run(l, &c, &io));
  round_rows(w, in, out);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < out; k++) {
      double sum = bias[k];
      for (int64_t i = 0; i < in; i++) sum += (double)w[k * in + i] * (double)x[r * in + i];
      if (residual) sum += (double)more[r * out + k];
      if (act == IG_ACT_CLAMP) sum = fmin(fmax(sum, -0.5), 0.75);
      if (act == IG_ACT_SILU) sum = sum / (1 + exp(-sum));
      double off = fabs(sum - (double)y[r * out + k]);
      if (!(off <= 1e-5 * (1 + fabs(sum)) * sqrt((double)in))) {
        fail_msg("%dx%d->%d: %g, expected %g", (int)rows, (int)in, (int)out, y[r * out + k], sum);
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
  static const int64_t sizes[][3] = {{1, 1, 1},    {1, 64, 4},   {1, 63, 3},  {2, 65, 5},
                                     {7, 200, 17}, {1, 768, 50}, {3, 128, 8}, {1, 1000, 33}};
  (void)state;
  int threads = ig_threads_get();
  for (int level = IG_CPU_BASE; level <= IG_CPU_AVX512; level++) {
    (void)ig_cpu_limit((ig_cpu)level);
    for (int n = 1; n <= 3; n += 2) {
      ig_threads_set(n);
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        check(s[0], s[1], s[2], IG_ACT_NONE, false);
        check(s[0], s[1], s[2], IG_ACT_CLAMP, true);
        check(s[0], s[1], s[2], IG_ACT_SILU, i % 2);
      }
    }
  }
  ig_threads_set(threads);
}

static void special_weights(void **state) {
  (void)state;
  ig_conv c = shape_of(1, 3, 3);
  float w[] = {0, 0, 0, INFINITY, 1, 1, 127, -127, 1};
  float x[] = {1, 1, 1};
  float y[3];
  ig_layer_options o = {.method = IG_LAYER_ROWS8};
  ig_layer *l = ig_layer_create(&c, w, NULL, &o);
  ig_layer_io io = {.x = x, .y = y};
  assert_true(ig_layer_run(l, &c, &io));
  assert_true(y[0] == 0 && isnan(y[1]) && y[2] == 1);
  ig_layer_free(l);
}

static void over_packed_memory(void **state) {
  (void)state;
  ig_conv c = shape_of(2, 70, 9);
  float *w = noise(70 * 9, 1);
  float *x = noise(2 * 70, 2);
  float y[2][18];
  size_t bytes = 0;
  ig_layer_options o = {.method = IG_LAYER_ROWS8};
  ig_layer *a = ig_layer_create(&c, w, NULL, &o);
  const void *packed = ig_layer_packed(a, &bytes);
  assert_null(ig_layer_over(&c, IG_LAYER_ROWS8, 0, packed, bytes - 4));
  assert_null(ig_layer_over(&c, IG_LAYER_PRODUCT, 0, packed, bytes));
  assert_null(ig_layer_over(&c, IG_LAYER_ROWS8, 0, (const char *)packed + 4, bytes));
  assert_null(ig_layer_over(&c, (ig_layer_method)99, 0, packed, bytes));
  ig_layer *b = ig_layer_over(&c, IG_LAYER_ROWS8, 0, packed, bytes);
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
      cmocka_unit_test(special_weights),
      cmocka_unit_test(over_packed_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
