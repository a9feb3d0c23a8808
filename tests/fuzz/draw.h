// SPDX-License-Identifier: Apache-2.0
// Decisions derived from a string of bytes: the same bytes give the same decisions. After its end
// everything is 0, which is always the simplest choice.
#ifndef TESTS_FUZZ_DRAW_H_
#define TESTS_FUZZ_DRAW_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct draw {
  const uint8_t *at;
  size_t n;
} draw;

static inline bool draw_ended(const draw *d) {
  return d->n == 0;
}

static inline unsigned draw_byte(draw *d) {
  if (d->n == 0) return 0;
  d->n--;
  return *d->at++;
}

// A number below n, which is at most 65536.
static inline size_t draw_below(draw *d, size_t n) {
  if (n <= 1) return 0;
  size_t v = draw_byte(d);
  if (n > 256) v = v << 8 | draw_byte(d);
  return v % n;
}

// True in about `percent` of the cases; false behind the end.
static inline bool draw_chance(draw *d, unsigned percent) {
  return draw_byte(d) * 100 >= (100 - percent) * 256;
}

static inline int64_t draw_i64(draw *d) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v = v << 8 | draw_byte(d);
  return (int64_t)v;
}

#endif
