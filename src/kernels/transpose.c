// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.h"

#include <string.h>

#include "base/cpu.h"

#define TILE(bytes)                                                                            \
  static void tile_##bytes(char *to, int64_t to_stride, const char *from, int64_t from_stride, \
                           int64_t n, int64_t m) {                                             \
    for (int64_t j = 0; j < m; j++) {                                                          \
      for (int64_t i = 0; i < n; i++) {                                                        \
        memcpy(to + j * to_stride + i * bytes, from + i * from_stride + j * bytes, bytes);     \
      }                                                                                        \
    }                                                                                          \
  }

TILE(1)
TILE(2)
TILE(4)
TILE(8)
TILE(16)

typedef void tile_fn(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                     int64_t m);

static tile_fn *tile_of(int64_t size) {
  switch (size) {
    case 1:
      return tile_1;
    case 2:
      return tile_2;
    case 4:
      return tile_4;
    case 8:
      return tile_8;
    default:
      return tile_16;
  }
}

// The vector form for whole squares of this many elements, and how many.
static tile_fn *square_of(int64_t size, int64_t *side) {
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2 && (size == 4 || size == 8)) {
    *side = size == 4 ? 8 : 4;
    return size == 4 ? ig_transpose_4_avx2 : ig_transpose_8_avx2;
  }
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON && (size == 4 || size == 8)) {
    *side = size == 4 ? 4 : 2;
    return size == 4 ? ig_transpose_4_neon : ig_transpose_8_neon;
  }
#endif
  (void)size;
  *side = 1;
  return NULL;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

void ig_transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                  int64_t m, int64_t size) {
  tile_fn *tile = tile_of(size);
  int64_t side;
  tile_fn *square = square_of(size, &side);
  int64_t block = size < 8 ? 64 / size : 8;  // a cache line, or 8 elements
  if (block < side) block = side;
  for (int64_t j = 0; j < m; j += block) {
    int64_t mj = least(block, m - j);
    for (int64_t i = 0; i < n; i += block) {
      int64_t ni = least(block, n - i);
      char *t = to + j * to_stride + i * size;
      const char *f = from + i * from_stride + j * size;
      // Whole squares first, then what is left beside and below them.
      int64_t ns = square ? ni / side * side : 0;
      int64_t ms = ns ? mj / side * side : 0;
      if (ms) square(t, to_stride, f, from_stride, ns, ms);
      if (ms < mj) tile(t + ms * to_stride, to_stride, f + ms * size, from_stride, ns, mj - ms);
      if (ns < ni) tile(t + ns * size, to_stride, f + ns * from_stride, from_stride, ni - ns, mj);
    }
  }
}
