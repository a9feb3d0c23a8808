// SPDX-License-Identifier: Apache-2.0
// UTF-8 according to RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF.
#include "codec/bits.h"

size_t ig_utf8_decode(const uint8_t *s, size_t n, uint32_t *point) {
  uint32_t lead = s[0];
  if (lead < 0x80) {
    *point = lead;
    return 1;
  }
  size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || len > n) return 0;
  uint32_t p = lead & (0x7Fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    p = p << 6 | (s[i] & 0x3Fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (p < least[len] || p > 0x10FFFF || (p >= 0xD800 && p < 0xE000)) return 0;
  *point = p;
  return len;
}

size_t ig_utf8_encode(uint32_t point, uint8_t out[4]) {
  if (point < 0x80) {
    out[0] = (uint8_t)point;
    return 1;
  }
  size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = len - 1; i > 0; i--, point >>= 6) out[i] = (uint8_t)(0x80 | (point & 0x3F));
  out[0] = (uint8_t)((0xF00u >> len) | point);
  return len;
}

size_t ig_utf8_check(const uint8_t *s, size_t n) {
  size_t i = 0;
  while (i < n) {
    uint32_t point;
    size_t len = ig_utf8_decode(s + i, n - i, &point);
    if (len == 0) return i;
    i += len;
  }
  return n;
}
