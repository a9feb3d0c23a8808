// SPDX-License-Identifier: Apache-2.0
#include "codec/base64.h"

#include <string.h>

static int digit(char ch) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = ch ? strchr(alphabet, ch) : NULL;
  return at ? (int)(at - alphabet) : -1;
}

bool ig_base64_decode(ig_arena *arena, const char *text, size_t n, ig_bytes *out, bool *memory) {
  *out = (ig_bytes){0};
  *memory = false;
  if (n % 4 != 0) return false;
  size_t padding = n && text[n - 1] == '=' ? (text[n - 2] == '=' ? 2 : 1) : 0;
  uint8_t *to = ig_arena_array(arena, n / 4 + 1, 3);
  *memory = to == NULL;
  if (!to) return false;
  size_t k = 0;
  for (size_t i = 0; i < n; i += 4) {
    uint32_t bits = 0;
    size_t last = i + 4 == n ? padding : 0;
    for (size_t j = 0; j < 4; j++) {
      int d = j + last >= 4 ? 0 : digit(text[i + j]);
      if (d < 0) return false;
      bits = bits << 6 | (uint32_t)d;
    }
    for (size_t j = 0; j < 3 - last; j++) to[k++] = (uint8_t)(bits >> (16 - 8 * j));
  }
  *out = (ig_bytes){to, k};
  return true;
}
