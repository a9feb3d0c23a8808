// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "ingot/text.h"

// The character at s and its length; length 0: no UTF-8.
static size_t decode(const unsigned char *s, size_t n, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t len = s[0] < 0x80             ? 1
               : (s[0] & 0xe0) == 0xc0 ? 2
               : (s[0] & 0xf0) == 0xe0 ? 3
               : (s[0] & 0xf8) == 0xf0 ? 4
                                       : 0;
  if (len == 0 || len > n) return 0;
  uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3f);
  }
  *code = c;
  return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

static bool is_hazard(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) ||                           // C0, DEL, C1
         c == 0x61c || c == 0x200e || c == 0x200f ||                      // bidirectional marks,
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||  // embeddings, isolates
         c == 0x2028 || c == 0x2029 || c == 0xfeff;
}

size_t ig_text_hazard(const char *s, size_t n, uint32_t *code) {
  const unsigned char *p = (const unsigned char *)s;
  if (n && p[0] >= 0x20 && p[0] < 0x7f) return 0;  // most of them
  size_t len = n ? decode(p, n, code) : 0;
  if (n && !len) {
    *code = p[0];
    return 1;
  }
  return len && is_hazard(*code) ? len : 0;
}

static size_t put(char *out, size_t cap, size_t at, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (at + i + 1 < cap) out[at + i] = text[i];
  }
  return at + n;
}

size_t ig_text_escape(const char *s, size_t n, bool lines, char *out, size_t cap) {
  size_t at = 0;
  for (size_t i = 0; i < n;) {
    uint32_t code = 0;
    size_t len = ig_text_hazard(s + i, n - i, &code);
    if (len == 0 || (lines && (s[i] == '\n' || s[i] == '\t'))) {
      size_t whole = decode((const unsigned char *)s + i, n - i, &code);
      at = put(out, cap, at, s + i, whole);
      i += whole;
      continue;
    }
    char text[16];
    if (code == '\n' || code == '\t')
      (void)snprintf(text, sizeof text, "\\%c", code == '\n' ? 'n' : 't');
    else if (code < 0x100)
      (void)snprintf(text, sizeof text, "\\x%02x", (unsigned)code);
    else
      (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
    at = put(out, cap, at, text, strlen(text));
    i += len;
  }
  if (cap) out[at < cap ? at : cap - 1] = 0;
  return at;
}
