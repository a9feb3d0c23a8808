// SPDX-License-Identifier: Apache-2.0
// Little-endian loads and stores at any alignment, and UTF-8 checks, for all formats.
#ifndef CODEC_BITS_H_
#define CODEC_BITS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint16_t ig_load16(const uint8_t *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t ig_load32(const uint8_t *p) {
  return (uint32_t)ig_load16(p) | (uint32_t)ig_load16(p + 2) << 16;
}
static inline uint64_t ig_load64(const uint8_t *p) {
  return (uint64_t)ig_load32(p) | (uint64_t)ig_load32(p + 4) << 32;
}
static inline void ig_store16(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void ig_store32(uint8_t *p, uint32_t v) {
  ig_store16(p, (uint16_t)v);
  ig_store16(p + 2, (uint16_t)(v >> 16));
}
static inline void ig_store64(uint8_t *p, uint64_t v) {
  ig_store32(p, (uint32_t)v);
  ig_store32(p + 4, (uint32_t)(v >> 32));
}

// Elements of files are little-endian, those in memory as the machine has them: where it is
// big-endian, they are swapped when they are read and when they are written.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { IG_BIG_ENDIAN = 1 };
#else
enum { IG_BIG_ENDIAN = 0 };
#endif
// Reverses the bytes of each element of `width` bytes; the bytes of an incomplete last one stay.
void ig_order_swap(uint8_t *at, size_t n, size_t width);

// Length (1..4) of the well-formed UTF-8 sequence at s, its code point in *point; 0 when malformed
// (overlong, surrogate, above U+10FFFF, truncated). n must be at least 1.
size_t ig_utf8_decode(const uint8_t *s, size_t n, uint32_t *point);
size_t ig_utf8_encode(uint32_t point, uint8_t out[4]);  // Length; point must be a scalar value.
// Offset of the first malformed byte, or n.
size_t ig_utf8_check(const uint8_t *s, size_t n);

#endif
