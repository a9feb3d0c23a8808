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
