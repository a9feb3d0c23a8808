// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.h"
#include "kernels/v128.h"

// Rows of elements are a whole number of elements apart.
void ig_transpose_4_neon(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; j += 4) {
    for (int64_t i = 0; i < n; i += 4) {
      ig_f32x4 r[4];
      const char *s = from + i * from_stride + j * 4;
      char *d = to + j * to_stride + i * 4;
      for (int k = 0; k < 4; k++) memcpy(&r[k], s + k * from_stride, sizeof r[k]);
      float square[16];
      ig_f32x4_transpose((const float *)r, 4, 4, square, 4);
      for (int k = 0; k < 4; k++) memcpy(d + k * to_stride, square + (size_t)k * 4, sizeof r[k]);
    }
  }
}

void ig_transpose_8_neon(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; j += 2) {
    for (int64_t i = 0; i < n; i += 2) {
      ig_f64x2 a;
      ig_f64x2 b;
      const char *s = from + i * from_stride + j * 8;
      char *d = to + j * to_stride + i * 8;
      memcpy(&a, s, sizeof a);
      memcpy(&b, s + from_stride, sizeof b);
      ig_f64x2 low = __builtin_shufflevector(a, b, 0, 2);
      ig_f64x2 high = __builtin_shufflevector(a, b, 1, 3);
      memcpy(d, &low, sizeof low);
      memcpy(d + to_stride, &high, sizeof high);
    }
  }
}
