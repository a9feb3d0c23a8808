// SPDX-License-Identifier: Apache-2.0
// FNV-1a over bytes, seeded with IG_HASH_BASIS or, where a file chooses the keys of a table, with a
// secret.
#ifndef BASE_HASH_H_
#define BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define IG_HASH_BASIS UINT64_C(14695981039346656037)

static inline uint64_t ig_hash_bytes(uint64_t h, const void *data, size_t n) {
  const uint8_t *p = data;
  const uint64_t prime = UINT64_C(1099511628211);
  for (size_t i = 0; p && i < n; i++) {
    // The analyzer takes single bytes of wider numbers for undefined.
    h = (h ^ p[i]) * prime;  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult)
  }
  return h;
}

// For large blocks: several bytes per cycle, and other values than those of ig_hash_bytes.
static inline uint64_t ig_hash_block(uint64_t h, const void *data, size_t n) {
  enum { LANES = 4, STEP = LANES * 8 };
  uint64_t lane[LANES] = {h, h + 1, h + 2, h + 3};
  const uint8_t *p = data;
  for (; n >= STEP; n -= STEP, p += STEP) {
    uint64_t w[LANES];
    memcpy(w, p, sizeof w);
    for (int k = 0; k < LANES; k++) {
      lane[k] = (lane[k] ^ w[k]) * UINT64_C(0x9E3779B97F4A7C15);
      lane[k] ^= lane[k] >> 32;
    }
  }
  h = ig_hash_bytes(IG_HASH_BASIS, lane, sizeof lane);
  return ig_hash_bytes(h, p, n);
}

#endif
