// SPDX-License-Identifier: Apache-2.0
// The head of an .npy file: a Python dict literal with exactly three keys, read by a fixed grammar.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/npy.h"

enum { MAX_HEAD = 1 << 16, GROWTH_DIGITS = 21, MAX_WIDTH = INT32_MAX };

typedef struct parser {
  ig_ctx *c;
  const char *name;
  const char *at;
  const char *end;
} parser;

static ig_status bad(parser *p, const char *what) {
  return ig_fail(p->c, IG_SYNTAX | IG_E_NPY, "%s: npy header: %s at '%.*s'", p->name, what,
                 (int)(p->end - p->at < 30 ? p->end - p->at : 30), p->at);
}

static void skip_space(parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
    p->at++;
}

static bool accept(parser *p, const char *text) {
  skip_space(p);
  size_t n = strlen(text);
  if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0) return false;
  p->at += n;
  return true;
}

// A string without escapes, in either quotes.
static bool accept_string(parser *p, const char **s, size_t *n) {
  skip_space(p);
  if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
  const char *close = memchr(p->at + 1, *p->at, (size_t)(p->end - p->at - 1));
  if (!close) return false;
  *s = p->at + 1;
  *n = (size_t)(close - *s);
  p->at = close + 1;
  return true;
}

// Is there such an element? Texts without characters would be an array of any size in no bytes;
// NumPy writes it with one.
static bool is_known(char kind, uint32_t width) {
  switch (kind) {
    case 'S':
      return width > 0;
    case 'U':
      return width > 0 && width % 4 == 0;
    case 'b':
      return width == 1;
    case 'i':
    case 'u':
      return width == 1 || width == 2 || width == 4 || width == 8;
    case 'f':
      return width == 2 || width == 4 || width == 8;
    case 'c':
      return width == 8 || width == 16;
    default:
      return false;
  }
}

static ig_status refuse(parser *p, const char *s, size_t n) {
  char kind = n > 1 ? s[1] : 0;
  const char *why = kind == 'O'   ? "Python objects (a pickle) are not read"
                    : kind == 'V' ? "raw bytes; a bfloat16 array looks like this, and npy "
                                    "cannot say so: save it as float32"
                    : kind == 'f' || kind == 'c' ? "floats of this width are not supported"
                    : kind == 'U' || kind == 'S' ? "texts of this width are not supported"
                    : kind == 'M' || kind == 'm'
                        ? "dates are not supported"
                        : "only bool, integer, float, complex and texts are supported";
  return ig_fail(p->c, IG_UNSUPPORTED | IG_E_NPY, "%s: npy header: dtype '%.*s': %s", p->name,
                 (int)(n < 40 ? n : 40), s, why);
}

static ig_status read_descr(parser *p, ig_npy *out) {
  const char *s = NULL;
  size_t n = 0;
  if (accept(p, "[")) {
    return ig_fail(p->c, IG_UNSUPPORTED | IG_E_NPY,
                   "%s: npy header: arrays of records are not supported", p->name);
  }
  if (!accept_string(p, &s, &n)) return bad(p, "expected the dtype");
  uint64_t width = 0;
  bool digits = n >= 3 && strchr("<>|=", s[0]);
  for (size_t i = 2; i < n && digits; i++) {
    digits = s[i] >= '0' && s[i] <= '9' && width <= MAX_WIDTH;
    width = width * 10 + (unsigned)(s[i] - '0');
  }
  if (digits && s[1] == 'U') width *= 4;  // given in characters
  if (!digits || width > MAX_WIDTH || !is_known(s[1], (uint32_t)width)) return refuse(p, s, n);
  bool ordered = s[1] != 'S' && width > 1;  // its bytes have an order
  if (s[0] == '|' && ordered) return refuse(p, s, n);
  out->kind = s[1];
  out->width = (uint32_t)width;
  out->big = s[0] == '>' && ordered;
  return IG_OK;
}

static ig_status read_dim(parser *p, int64_t *out) {
  skip_space(p);
  int64_t v = 0;
  const char *start = p->at;
  for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
    if (!ig_checked_mul(v, 10, &v) || !ig_checked_add(v, *p->at - '0', &v)) {
      return bad(p, "dimension out of range");
    }
  }
  if (p->at == start) return bad(p, "expected a dimension");
  (void)(p->at < p->end && *p->at == 'L' && p->at++);  // Python 2 wrote long integers like this
  *out = v;
  return IG_OK;
}

static ig_status read_shape(parser *p, ig_npy *out) {
  if (!accept(p, "(")) return bad(p, "expected the shape");
  out->ndim = 0;
  while (!accept(p, ")")) {
    if (out->ndim == IG_NPY_MAX_DIMS) return bad(p, "more than 64 dimensions");
    IG_RETURN_IF_ERR(read_dim(p, &out->shape[out->ndim]));
    out->ndim++;
    if (accept(p, ",")) continue;
    if (out->ndim == 1) return bad(p, "the shape is not a tuple");
    if (!accept(p, ")")) return bad(p, "expected ',' or ')'");
    break;
  }
  return IG_OK;
}

static const char *const keys[] = {"descr", "fortran_order", "shape"};

static ig_status read_item(parser *p, ig_npy *out, bool seen[3]) {
  const char *s = NULL;
  size_t n = 0;
  size_t k = 0;
  if (!accept_string(p, &s, &n)) return bad(p, "expected a key");
  while (k < 3 && (strlen(keys[k]) != n || memcmp(keys[k], s, n) != 0)) k++;
  if (k == 3 || seen[k]) return bad(p, "unknown or repeated key before");
  seen[k] = true;
  if (!accept(p, ":")) return bad(p, "expected ':'");
  if (k == 0) return read_descr(p, out);
  if (k == 2) return read_shape(p, out);
  out->fortran = accept(p, "True");
  return out->fortran || accept(p, "False") ? IG_OK : bad(p, "expected True or False");
}

static ig_status read_dict(parser *p, ig_npy *out) {
  bool seen[3] = {false};
  if (!accept(p, "{")) return bad(p, "expected '{'");
  while (!accept(p, "}")) {
    IG_RETURN_IF_ERR(read_item(p, out, seen));
    if (!accept(p, ",") && (skip_space(p), p->at == p->end || *p->at != '}')) {
      return bad(p, "expected ',' or '}'");
    }
  }
  skip_space(p);
  if (p->at != p->end) return bad(p, "text after the dict");
  for (size_t k = 0; k < 3; k++) {
    if (!seen[k])
      return ig_fail(p->c, IG_SYNTAX | IG_E_NPY, "%s: npy header: '%s' is missing", p->name,
                     keys[k]);
  }
  return IG_OK;
}

static ig_status check_data(ig_ctx *c, const char *name, ig_npy *a) {
  int64_t want = a->width;
  for (int i = 0; i < a->ndim; i++) {
    if (a->shape[i] == 0) want = 0;
  }
  for (int i = 0; i < a->ndim && want; i++) {
    if (!ig_checked_mul(want, a->shape[i], &want)) {
      return ig_fail(c, IG_SYNTAX | IG_E_NPY, "%s: the shape of the npy array overflows", name);
    }
  }
  if ((uint64_t)want != a->data.n) {
    return ig_fail(c, IG_SYNTAX | IG_E_NPY, "%s: the npy array needs %lld bytes of data, found %zu",
                   name, (long long)want, a->data.n);
  }
  for (size_t i = 0; a->kind == 'b' && i < a->data.n; i++) {
    if (a->data.at[i] > 1) {
      return ig_fail(c, IG_SYNTAX | IG_E_NPY, "%s: element %zu of a bool array is %d", name, i,
                     a->data.at[i]);
    }
  }
  return IG_OK;
}

ig_status ig_npy_read(ig_ctx *c, const char *name, ig_bytes in, ig_npy *out) {
  *out = (ig_npy){0};
  if (in.n < 10 || memcmp(in.at, "\x93NUMPY", 6) != 0) {
    return ig_fail(c, IG_SYNTAX | IG_E_NPY, "%s: not an npy array (wrong magic)", name);
  }
  unsigned major = in.at[6];
  if (major < 1 || major > 3 || in.at[7] != 0) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NPY, "%s: npy format %u.%u, known are 1.0, 2.0 and 3.0",
                   name, major, in.at[7]);
  }
  size_t start = major == 1 ? 10 : 12;
  size_t n = 0;
  if (in.n >= start) n = major == 1 ? ig_load16(in.at + 8) : ig_load32(in.at + 8);
  if (in.n < start || n > in.n - start || n > MAX_HEAD) {
    return ig_fail(c, IG_SYNTAX | IG_E_NPY, "%s: an npy header of %zu bytes does not fit", name, n);
  }
  const char *text = (const char *)in.at + start;
  parser p = {c, name, text, text + n};
  IG_RETURN_IF_ERR(read_dict(&p, out));
  out->data = (ig_bytes){in.at + start + n, in.n - start - n};
  return check_data(c, name, out);
}

static void put_dict(const ig_npy *a, ig_str *s) {
  ig_str_add(s, "{'descr': '%c%c%u', 'fortran_order': %s, 'shape': (",
             a->width > 1 && a->kind != 'S' ? '<' : '|', a->kind,
             a->kind == 'U' ? a->width / 4 : a->width, a->fortran ? "True" : "False");
  for (int i = 0; i < a->ndim; i++) {
    ig_str_add(s, "%s%lld%s", i ? " " : "", (long long)a->shape[i],
               i + 1 < a->ndim || a->ndim == 1 ? "," : "");
  }
  ig_str_add(s, "), }");
}

ig_status ig_npy_head(ig_ctx *c, const ig_npy *a, ig_str *out) {
  if (!is_known(a->kind, a->width)) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NPY,
                   "npy cannot hold elements of kind '%c' and %u bytes", a->kind, a->width);
  }
  if (a->ndim < 0 || a->ndim > IG_NPY_MAX_DIMS) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NPY, "npy holds at most %d dimensions, not %d",
                   IG_NPY_MAX_DIMS, a->ndim);
  }
  ig_str text = ig_str_make(c->alloc);
  put_dict(a, &text);
  // NumPy leaves room for the growing dimension to be rewritten in place.
  if (a->ndim) {
    char digits[24];
    int64_t grows = a->shape[a->fortran ? a->ndim - 1 : 0];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)grows);
    ig_str_add(&text, "%*s", GROWTH_DIGITS - n, "");
  }
  size_t start = text.n + 1 + 10 <= 65535 ? 10 : 12;
  size_t fill = -(start + text.n + 1) & 63;
  size_t n = text.n + fill + 1;
  uint8_t head[12] = "\x93NUMPY";
  head[6] = start == 10 ? 1 : 2;
  ig_store32(head + 8, (uint32_t)n);
  ig_str_add(&text, "%*s\n", (int)fill, "");
  bool ok = !text.failed &&
            ig_mem_grow(c->alloc, (void **)&out->at, &out->cap, 1, out->n + start + n + 1);
  if (ok) {
    memcpy(out->at + out->n, head, start);
    memcpy(out->at + out->n + start, text.at, n + 1);
    out->n += start + n;
  }
  ig_str_free(&text);
  return ok ? IG_OK : ig_fail(c, IG_NOMEM, "out of memory");
}
