// SPDX-License-Identifier: Apache-2.0
// The loop of peak.h; NAME and WIDTH (floats of a vector) are defined before it is included.
#include "kernels/peak.h"

typedef float peak_vector __attribute__((vector_size(4 * WIDTH)));

#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define START(k) peak_vector s##k = one * (float)(k);
#define STEP(k) s##k = s##k * factor + one;
#define ADD(k) all += s##k;

void NAME(int64_t n, float *sum) {
  const peak_vector one = (peak_vector){0} + 1.0F;
  const peak_vector factor = one * 0.5F;  // sums stay small
  EACH(START)
  for (int64_t i = 0; i < n; i++) {
    EACH(STEP)
  }
  peak_vector all = {0};
  EACH(ADD)
  *sum = 0;
  for (int i = 0; i < WIDTH; i++) *sum += all[i];
}
