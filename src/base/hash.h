// SPDX-License-Identifier: Apache-2.0
// FNV-1a over bytes, seeded with IG_HASH_BASIS or, where a file chooses the keys of a table, with a
// secret.
#ifndef BASE_HASH_H_
#define BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>

#define IG_HASH_BASIS UINT64_C(14695981039346656037)

static inline uint64_t ig_hash_bytes(uint64_t h, const void *data, size_t n) {
  const uint8_t *p = data;
  for (size_t i = 0; p && i < n; i++) h = (h ^ p[i]) * UINT64_C(1099511628211);
  return h;
}

#endif
