// SPDX-License-Identifier: Apache-2.0
// Activations that are more than clamping, on what a product has just written.
#include "base/cpu.h"
#include "kernels/layer_kernels.h"
#include "kernels/vmath.h"

IG_CLONES
static void silu(int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = y[i] * ig_sigmoid_f32(y[i]);
}

IG_CLONES
static void hardswish(int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) {
    float a = y[i];
    y[i] = a <= -3.0f ? a * 0.0f : a >= 3.0f ? a : a * (a + 3.0f) / 6.0f;
  }
}

IG_CLONES
static void gelu(int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = ig_gelu_f32(y[i]);
}

IG_CLONES
static void gelu_tanh(int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = ig_gelu_tanh_f32(y[i]);
}

void ig_layer_act(ig_act act, int64_t n, float *y) {
  if (act == IG_ACT_SILU) silu(n, y);
  if (act == IG_ACT_HARDSWISH) hardswish(n, y);
  if (act == IG_ACT_GELU) gelu(n, y);
  if (act == IG_ACT_GELU_TANH) gelu_tanh(n, y);
}
