// SPDX-License-Identifier: Apache-2.0
// Body of ig_normal_blocks, compiled once per level; FMA(a, b, c) is a * b + c rounded once.
// Logarithm, sine and cosine are the classic single-precision polynomials of Cephes on the usual
// reduced ranges, in the order of operations that PyTorch's vector code has.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/normal.h"

static inline uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static inline float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

// Natural logarithm of a positive normal number.
static inline float block_log(float v) {
  uint32_t bits = bits_of(v);
  float e = (float)((int32_t)(bits >> 23) - 126);
  float m = float_of((bits & 0x007fffff) | 0x3f000000);  // [0.5, 1)
  int below = m < 0.707106781186547524F;
  float x = m - 1.0F + (below ? m : 0.0F);
  e -= below ? 1.0F : 0.0F;
  float z = x * x;
  float y = 7.0376836292E-2F;
  y = FMA(y, x, -1.1514610310E-1F);
  y = FMA(y, x, 1.1676998740E-1F);
  y = FMA(y, x, -1.2420140846E-1F);
  y = FMA(y, x, 1.4249322787E-1F);
  y = FMA(y, x, -1.6668057665E-1F);
  y = FMA(y, x, 2.0000714765E-1F);
  y = FMA(y, x, -2.4999993993E-1F);
  y = FMA(y, x, 3.3333331174E-1F);
  y = y * x;
  float low = e * -2.12194440E-4F;
  y = FMA(y, z, low);
  y = FMA(-z, 0.5F, y);
  return FMA(e, 0.693359375F, x + y);
}

// Sine and cosine of a number of [0, 2 pi).
static inline void block_sincos(float v, float *sine, float *cosine) {
  int32_t octant = ((int32_t)(v * 1.27323954473516F) + 1) & ~1;
  float y = (float)octant;
  float x = FMA(y, -0.78515625F, v);
  x = FMA(y, -2.4187564849853515625E-4F, x);
  x = FMA(y, -3.77489497744594108E-8F, x);
  float z = x * x;
  float c = FMA(2.443315711809948E-005F, z, -1.388731625493765E-003F);
  c = FMA(c, z, 4.166664568298827E-002F);
  c = c * z;
  float half = z * 0.5F;
  c = FMA(c, z, -half) + 1.0F;
  float s = FMA(-1.9515295891E-4F, z, 8.3321608736E-3F);
  s = FMA(s, z, -1.6666654611E-1F);
  s = s * z;
  s = FMA(s, x, x);
  int straight = (octant & 2) == 0;
  float a = straight ? s : c;
  float b = straight ? c : s;
  *sine = float_of(bits_of(a) ^ (uint32_t)(octant & 4) << 29);
  *cosine = float_of(bits_of(b) ^ (uint32_t)(~(octant - 2) & 4) << 29);
}

static inline void normal_blocks(float *restrict data, size_t blocks, float mean, float std) {
  for (size_t i = 0; i < blocks; i++, data += 16) {
    float first[8];
    float second[8];
    for (int j = 0; j < 8; j++) {
      float radius = sqrtf(-2.0F * block_log(1.0F - data[j]));
      float sine;
      float cosine;
      block_sincos(6.283185307179586F * data[j + 8], &sine, &cosine);
      float n1 = radius * cosine;
      float n2 = radius * sine;
      first[j] = FMA(n1, std, mean);
      second[j] = FMA(n2, std, mean);
    }
    memcpy(data, first, sizeof first);
    memcpy(data + 8, second, sizeof second);
  }
}
