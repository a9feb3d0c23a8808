// SPDX-License-Identifier: Apache-2.0
// Inputs of linear layers in fewer bits.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/layer_kernels.h"
#include "kernels/reduce_elem.h"

typedef struct range {
  float low;    // 0 at most
  float high;   // 0 at least
  int strange;  // not finite
} range;

IG_CLONES static range range_of(int64_t n, const float *x) {
  float low = 0;
  float high = 0;
  int strange = 0;
  for (int64_t i = 0; i < n; i++) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    strange |= !(fabsf(x[i]) <= FLT_MAX);
  }
  return (range){low, high, strange};
}

IG_CLONES static void round_bytes(int64_t n, float per, float zero, const float *x, uint8_t *to) {
  for (int64_t i = 0; i < n; i++) {
    float v = x[i] * per + zero;
    v = v < 0 ? 0 : v > 255 ? 255 : v;
    to[i] = (uint8_t)(int)(v + 0.5f);
  }
}

// The first byte of a word is the one in its lowest bits.
static void order_bytes(int64_t words, uint32_t *at) {
  const bool swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  for (int64_t i = 0; swapped && i < words; i++) at[i] = __builtin_bswap32(at[i]);
}

void ig_narrow_bytes(int64_t n, int64_t words, const float *x, uint32_t *to, ig_narrow_row *row) {
  range r = range_of(n, x);
  float scale = (r.high - r.low) / 255;
  bool far = r.strange || !(scale <= FLT_MAX);
  if (far || scale < FLT_MIN) {
    *row = (ig_narrow_row){far ? NAN : 0, 0};
    memset(to, 0, ig_mem_mul((size_t)words, sizeof *to));
    return;
  }
  float zero = rintf(-r.low / scale);
  uint8_t *bytes = (uint8_t *)to;
  *row = (ig_narrow_row){scale, (int32_t)zero};
  memset(bytes + n, 0, (size_t)(words * 4 - n));
  round_bytes(n, 1 / scale, zero, x, bytes);
  order_bytes(words, to);
}

void ig_narrow_bf16(int64_t n, int64_t words, const float *x, uint32_t *to) {
  for (int64_t i = 0; i < n / 2; i++) {
    to[i] = ig_bf16_put(x[2 * i]) | (uint32_t)ig_bf16_put(x[2 * i + 1]) << 16;
  }
  if (n / 2 < words) to[n / 2] = n % 2 ? ig_bf16_put(x[n - 1]) : 0;
}
