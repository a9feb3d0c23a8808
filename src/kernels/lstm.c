// SPDX-License-Identifier: Apache-2.0
// One pass over the gates: no intermediate results are stored.
#include "kernels/lstm.h"

#include "base/cpu.h"
#include "kernels/vmath.h"

IG_CLONES void ig_lstm_cell_f32(int64_t batch, int64_t hidden, const float *gates, float *cell,
                                float *h) {
  for (int64_t b = 0; b < batch; b++) {
    const float *i = gates + b * 4 * hidden;
    const float *f = i + hidden;
    const float *g = f + hidden;
    const float *o = g + hidden;
    float *c = cell + b * hidden;
    float *out = h + b * hidden;
    for (int64_t k = 0; k < hidden; k++) {
      float kept = ig_sigmoid_f32(f[k]) * c[k];
      float next = kept + ig_sigmoid_f32(i[k]) * ig_tanh_f32(g[k]);
      c[k] = next;
      out[k] = ig_sigmoid_f32(o[k]) * ig_tanh_f32(next);
    }
  }
}

IG_CLONES void ig_gru_cell_f32(int64_t batch, int64_t hidden, const float *x, const float *gates,
                               float *h) {
  for (int64_t b = 0; b < batch; b++) {
    const float *xr = x + b * 3 * hidden;
    const float *xz = xr + hidden;
    const float *xn = xz + hidden;
    const float *hr = gates + b * 3 * hidden;
    const float *hz = hr + hidden;
    const float *hn = hz + hidden;
    float *out = h + b * hidden;
    for (int64_t k = 0; k < hidden; k++) {
      float r = ig_sigmoid_f32(xr[k] + hr[k]);
      float z = ig_sigmoid_f32(xz[k] + hz[k]);
      float n = ig_tanh_f32(xn[k] + hn[k] * r);
      out[k] = (out[k] - n) * z + n;
    }
  }
}

IG_CLONES void ig_rnn_cell_f32(int64_t n, bool relu, const float *sum, float *h) {
  for (int64_t i = 0; i < n; i++) h[i] = relu ? (sum[i] < 0 ? 0 : sum[i]) : ig_tanh_f32(sum[i]);
}
