// SPDX-License-Identifier: Apache-2.0
// Texts in .npy arrays. NumPy gives every element of an array the room of the longest and fills up
// with NULs, so that the NULs at the end of an element are no part of it.
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/npy.h"

typedef struct place {
  ig_ctx *c;
  const char *name;  // of the array
  size_t index;      // of the element, in C order
} place;

static ig_status bad(const place *at, ig_status st, const char *what) {
  return ig_fail(at->c, st, "%s: element %zu of an array of texts: %s", at->name, at->index, what);
}

static uint32_t character(const uint8_t *src, size_t i) {
  uint32_t point;
  memcpy(&point, src + sizeof point * i, sizeof point);  // admitted: i < width / 4
  return point;
}

// The length as UTF-8 of `width` bytes of UCS-4 in native order; out, if not NULL, gets the text.
static ig_status from_ucs4(const place *at, const uint8_t *src, size_t width, size_t *len,
                           uint8_t *out) {
  size_t n = width / 4;
  while (n && character(src, n - 1) == 0) n--;
  *len = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t point = character(src, i);
    uint8_t bytes[4];
    if (point > 0x10FFFF) return bad(at, IG_SYNTAX, "a number that is no character of Unicode");
    if (point >= 0xD800 && point < 0xE000) return bad(at, IG_SYNTAX, "half of a surrogate pair");
    if (point == 0) return bad(at, IG_UNSUPPORTED, "a NUL inside of the text");
    size_t k = ig_utf8_encode(point, bytes);
    if (out) memcpy(out + *len, bytes, k);
    *len += k;
  }
  return IG_OK;
}

static ig_status from_bytes(const place *at, const uint8_t *src, size_t width, size_t *len,
                            uint8_t *out) {
  size_t n = width;
  while (n && src[n - 1] == 0) n--;
  *len = n;
  if (out) memcpy(out, src, n);
  if (memchr(src, 0, n)) return bad(at, IG_UNSUPPORTED, "a NUL inside of the text");
  return ig_utf8_check(src, n) == n ? IG_OK : bad(at, IG_SYNTAX, "its bytes are no UTF-8");
}

static ig_status read_text(const place *at, const ig_npy *a, const uint8_t *src, size_t *len,
                           uint8_t *out) {
  return a->kind == 'U' ? from_ucs4(at, src, a->width, len, out)
                        : from_bytes(at, src, a->width, len, out);
}

// data: the elements in C order and native byte order.
static ig_status read_all(ig_ctx *c, const char *name, const ig_npy *a, const uint8_t *data,
                          const char **texts, size_t n) {
  size_t total = n;  // every text ends with a NUL
  size_t len = 0;
  place at = {c, name, 0};
  for (; at.index < n; at.index++) {
    // admitted: the reader of the head bounds the number of elements by the bytes
    IG_RETURN_IF_ERR(read_text(&at, a, data + at.index * a->width, &len, NULL));
    total += len;
  }
  uint8_t *to = ig_scope_push(c, total ? total : 1);
  if (!to) return ig_ctx_status(c);
  for (at.index = 0; at.index < n; at.index++) {
    // admitted: as above
    IG_RETURN_IF_ERR(read_text(&at, a, data + at.index * a->width, &len, to));
    texts[at.index] = (const char *)to;
    to[len] = 0;
    to += len + 1;
  }
  return IG_OK;
}

ig_status ig_npy_texts(ig_ctx *c, const char *name, const ig_npy *a, const char ***texts,
                       size_t *n) {
  *n = a->data.n / a->width;
  *texts = ig_scope_array(c, *n + 1, sizeof **texts);
  if (!*texts) return ig_ctx_status(c);
  if (*n == 0) return IG_OK;
  uint8_t *copy = ig_mem_new(c->alloc, a->data.n);
  if (!copy) return ig_fail(c, IG_NOMEM, "out of memory");
  ig_npy_copy(a, copy);
  ig_status st = read_all(c, name, a, copy, *texts, *n);
  ig_mem_free(c->alloc, copy, a->data.n);
  return st;
}

// ---- writing

// The number of characters; out, if not NULL, gets them as UCS-4.
static ig_status to_ucs4(const place *at, const char *text, size_t *count, uint8_t *out) {
  const uint8_t *s = (const uint8_t *)text;
  size_t n = strlen(text);
  *count = 0;
  for (size_t i = 0; i < n; (*count)++) {
    uint32_t point = 0;
    size_t k = ig_utf8_decode(s + i, n - i, &point);
    if (k == 0) return bad(at, IG_INVALID, "its bytes are no UTF-8, and NumPy has characters");
    if (out) ig_store32(out + 4 * *count, point);
    i += k;
  }
  return IG_OK;
}

ig_status ig_npy_set_texts(ig_ctx *c, const char *name, const char *const *texts, size_t n,
                           ig_npy *a, uint8_t **copy) {
  size_t longest = 1;  // as NumPy has it for empty texts
  size_t count = 0;
  size_t width = 0;
  size_t total = 0;
  place at = {c, name, 0};
  *copy = NULL;
  a->kind = 'U';
  for (; at.index < n; at.index++) {
    IG_RETURN_IF_ERR(to_ucs4(&at, texts[at.index], &count, NULL));
    if (count > longest) longest = count;
  }
  if (!ig_checked_mul(longest, (size_t)4, &width) || width > INT32_MAX ||
      !ig_checked_mul(width, n, &total)) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NPY,
                   "%s: a text of %zu characters is too long for NumPy", name, longest);
  }
  a->width = (uint32_t)width;
  a->data = (ig_bytes){NULL, total};
  if (total == 0) return IG_OK;
  *copy = ig_mem_new(c->alloc, total);
  if (!*copy) return ig_fail(c, IG_NOMEM, "out of memory");
  memset(*copy, 0, total);
  for (at.index = 0; at.index < n; at.index++) {
    // admitted: `total` is a product that did not wrap
    (void)to_ucs4(&at, texts[at.index], &count, *copy + at.index * width);
  }
  a->data.at = *copy;
  return IG_OK;
}
