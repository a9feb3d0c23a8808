// SPDX-License-Identifier: Apache-2.0
// MT19937, as the standard's reference implementation draws its seeded numbers.
#ifndef ONNX_OPS_TWISTER_H_
#define ONNX_OPS_TWISTER_H_

#include <stdint.h>

typedef struct ig_twister {
  uint32_t state[624];
  int at;
} ig_twister;

static inline void ig_twister_seed(ig_twister *t, uint32_t seed) {
  t->state[0] = seed;
  for (uint32_t i = 1; i < 624; i++) {
    t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
  }
  t->at = 624;
}

static inline uint32_t ig_twister_next(ig_twister *t) {
  if (t->at == 624) {
    for (int i = 0; i < 624; i++) {
      uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % 624] & 0x7fffffffu);
      t->state[i] = t->state[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->at = 0;
  }
  uint32_t y = t->state[t->at++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

static inline double ig_twister_double(ig_twister *t) {  // [0, 1), 53 bits
  uint32_t a = ig_twister_next(t) >> 5;
  uint32_t b = ig_twister_next(t) >> 6;
  return ((double)a * 67108864.0 + (double)b) / 9007199254740992.0;
}

#endif
