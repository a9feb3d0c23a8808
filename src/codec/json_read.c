// SPDX-License-Identifier: Apache-2.0
// Pull parser for JSON. It never recurses; open containers are one bit per level.
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/json.h"

enum { CLOCK_EVERY = 1 << 16 };

// What may come next.
enum { VALUE, FIRST_ITEM, FIRST_KEY, KEY, AFTER_VALUE, DONE };

void ig_json_reader_init(ig_json_reader *r, ig_ctx *c, const char *name, ig_bytes in,
                         const ig_limits *limits) {
  *r = (ig_json_reader){.c = c,
                        .name = name,
                        .in = in,
                        .limits = ig_limits_of(c, limits),
                        .state = VALUE,
                        .scratch = ig_str_make(c->alloc)};
  r->deadline = ig_deadline_start(&r->limits);
}

void ig_json_reader_free(ig_json_reader *r) {
  ig_str_free(&r->scratch);
}

ig_status ig_json_fail(const ig_json_reader *r, size_t at, const char *what) {
  return ig_json_fail_as(r, at, IG_SYNTAX | IG_E_JSON, what);
}

ig_status ig_json_fail_as(const ig_json_reader *r, size_t at, ig_cause why, const char *what) {
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i < at && i < r->in.n; i++) {
    bool newline = r->in.at[i] == '\n';
    line += newline;
    column = newline ? 1 : column + 1;
  }
  return ig_fail(r->c, why, "%s: line %zu column %zu: %s", r->name, line, column, what);
}

static void skip_space(ig_json_reader *r) {
  while (r->pos < r->in.n) {
    uint8_t ch = r->in.at[r->pos];
    if (ch != ' ' && ch != '\n' && ch != '\r' && ch != '\t') return;
    r->pos++;
  }
}

static int peek(const ig_json_reader *r) {
  return r->pos < r->in.n ? r->in.at[r->pos] : -1;
}

// ---- strings

static bool put(ig_str *s, const uint8_t *bytes, size_t n) {
  if (!ig_mem_grow(s->alloc, (void **)&s->at, &s->cap, 1, s->n + n + 1)) return false;
  memcpy(s->at + s->n, bytes, n);
  s->n += n;
  s->at[s->n] = 0;
  return true;
}

static bool hex4(const ig_json_reader *r, size_t at, uint32_t *out) {
  if (r->in.n < 4 || at > r->in.n - 4) return false;
  uint32_t v = 0;
  for (size_t i = at; i < at + 4; i++) {
    uint8_t ch = r->in.at[i];
    int digit = ch >= '0' && ch <= '9'                 ? ch - '0'
                : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10
                                                       : -1;
    if (digit < 0) return false;
    v = v << 4 | (uint32_t)digit;
  }
  *out = v;
  return true;
}

// pos is after "\u".
static ig_status read_unicode(ig_json_reader *r, uint32_t *point) {
  size_t start = r->pos - 2;
  if (!hex4(r, r->pos, point)) return ig_json_fail(r, start, "\\u needs four hexadecimal digits");
  r->pos += 4;
  if (*point < 0xD800 || *point >= 0xE000) return IG_OK;
  uint32_t low = 0;
  bool pair = *point < 0xDC00 && peek(r) == '\\' && r->pos + 1 < r->in.n &&
              r->in.at[r->pos + 1] == 'u' && hex4(r, r->pos + 2, &low) && low >= 0xDC00 &&
              low < 0xE000;
  if (!pair) return ig_json_fail(r, start, "half of a surrogate pair");
  r->pos += 6;
  *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
  return IG_OK;
}

// pos is at a backslash; bytes from `run` up to it go first.
static ig_status read_escape(ig_json_reader *r, size_t run) {
  static const char names[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  if (!put(&r->scratch, r->in.at + run, r->pos - run)) {
    return ig_fail(r->c, IG_NOMEM, "out of memory");
  }
  r->pos++;
  int ch = peek(r);
  r->pos++;
  uint8_t utf8[4];
  size_t n = 1;
  const char *found = ch > 0 ? strchr(names, ch) : NULL;
  if (found) {
    utf8[0] = (uint8_t)values[found - names];
  } else if (ch == 'u') {
    uint32_t point = 0;
    IG_RETURN_IF_ERR(read_unicode(r, &point));
    n = ig_utf8_encode(point, utf8);
  } else {
    return ig_json_fail(r, r->pos - 2, "unknown escape in a string");
  }
  return put(&r->scratch, utf8, n) ? IG_OK : ig_fail(r->c, IG_NOMEM, "out of memory");
}

// pos is after the opening quote. Text without escapes is returned in place.
static ig_status read_string(ig_json_reader *r, ig_json_token *t) {
  size_t run = r->pos;  // begin of the bytes not yet in scratch
  bool escaped = false;
  r->scratch.n = 0;
  for (;;) {
    int ch = peek(r);
    if (ch < 0) return ig_json_fail(r, t->at, "unterminated string");
    if (ch < 0x20) return ig_json_fail(r, r->pos, "control character in a string");
    if (ch == '"') break;
    if (ch == '\\') {
      escaped = true;
      IG_RETURN_IF_ERR(read_escape(r, run));
      run = r->pos;
    } else {
      uint32_t point = 0;
      size_t n = ig_utf8_decode(r->in.at + r->pos, r->in.n - r->pos, &point);
      if (n == 0) return ig_json_fail(r, r->pos, "malformed UTF-8");
      r->pos += n;
    }
  }
  t->text = (const char *)r->in.at + run;
  t->n = r->pos - run;
  if (escaped) {
    if (!put(&r->scratch, r->in.at + run, t->n)) return ig_fail(r->c, IG_NOMEM, "out of memory");
    t->text = r->scratch.at;
    t->n = r->scratch.n;
  }
  r->pos++;
  return IG_OK;
}

// ---- numbers

static size_t skip_digits(ig_json_reader *r) {
  size_t start = r->pos;
  while (peek(r) >= '0' && peek(r) <= '9') r->pos++;
  return r->pos - start;
}

static bool to_int(const char *s, size_t n, int64_t *out) {
  bool minus = s[0] == '-';
  int64_t v = 0;
  for (size_t i = minus; i < n; i++) {
    int digit = s[i] - '0';
    if (!ig_checked_mul(v, 10, &v) || !ig_checked_add(v, minus ? -digit : digit, &v)) return false;
  }
  *out = v;
  return true;
}

// strtod needs the decimal point of the locale and a terminating zero; the host may have set any
// locale.
static ig_status to_double(ig_json_reader *r, ig_json_token *t) {
  const char *point = localeconv()->decimal_point;
  r->scratch.n = 0;
  bool ok = true;
  for (size_t i = 0; i < t->n && ok; i++) {
    ok = t->text[i] == '.' ? put(&r->scratch, (const uint8_t *)point, strlen(point))
                           : put(&r->scratch, (const uint8_t *)t->text + i, 1);
  }
  if (!ok) return ig_fail(r->c, IG_NOMEM, "out of memory");
  t->f = strtod(r->scratch.at, NULL);  // too large becomes infinite, as in Python
  return IG_OK;
}

static ig_status read_number(ig_json_reader *r, ig_json_token *t) {
  size_t start = r->pos;
  bool is_float = false;
  if (peek(r) == '-') r->pos++;
  bool zero = peek(r) == '0';
  size_t digits = skip_digits(r);
  if (digits == 0) return ig_json_fail(r, start, "expected a value");
  if (zero && digits > 1) return ig_json_fail(r, start, "number with a leading zero");
  if (peek(r) == '.') {
    is_float = true;
    r->pos++;
    if (skip_digits(r) == 0) return ig_json_fail(r, start, "no digit after the decimal point");
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    is_float = true;
    r->pos++;
    if (peek(r) == '+' || peek(r) == '-') r->pos++;
    if (skip_digits(r) == 0) return ig_json_fail(r, start, "no digit in the exponent");
  }
  t->text = (const char *)r->in.at + start;
  t->n = r->pos - start;
  if (is_float) {
    t->kind = IG_JSON_FLOAT;
    return to_double(r, t);
  }
  t->kind = to_int(t->text, t->n, &t->i) ? IG_JSON_INT : IG_JSON_BIG;
  return IG_OK;
}

// ---- tokens

static bool word(ig_json_reader *r, const char *text) {
  size_t n = strlen(text);
  if (n > r->in.n - r->pos || memcmp(r->in.at + r->pos, text, n) != 0) return false;
  r->pos += n;
  return true;
}

static ig_status read_word(ig_json_reader *r, ig_json_token *t) {
  static const struct {
    const char *text;
    ig_json_kind kind;
    bool b;
    double f;
  } words[] = {
      {"null", IG_JSON_NULL, false, 0},
      {"true", IG_JSON_BOOL, true, 0},
      {"false", IG_JSON_BOOL, false, 0},
      {"NaN", IG_JSON_FLOAT, false, NAN},
      {"Infinity", IG_JSON_FLOAT, false, HUGE_VAL},
      {"-Infinity", IG_JSON_FLOAT, false, -HUGE_VAL},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!word(r, words[i].text)) continue;
    t->kind = words[i].kind;
    t->b = words[i].b;
    t->f = words[i].f;
    return IG_OK;
  }
  return read_number(r, t);
}

static ig_status open_level(ig_json_reader *r, ig_json_token *t, bool object) {
  if (r->depth >= r->limits.max_depth) {
    return ig_json_fail_as(r, r->pos, IG_SYNTAX | IG_E_READER_LIMIT, "nested too deeply");
  }
  uint8_t bit = (uint8_t)(1u << (r->depth & 7));
  uint8_t *byte = &r->is_object[r->depth >> 3];
  *byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
  r->depth++;
  r->pos++;
  r->state = object ? FIRST_KEY : FIRST_ITEM;
  t->kind = object ? IG_JSON_OBJECT : IG_JSON_ARRAY;
  return IG_OK;
}

static bool in_object(const ig_json_reader *r) {
  return r->is_object[(r->depth - 1) >> 3] >> ((r->depth - 1) & 7) & 1;
}

static ig_status read_value(ig_json_reader *r, ig_json_token *t) {
  if (++r->values > r->limits.max_nodes) {
    return ig_json_fail_as(r, r->pos, IG_SYNTAX | IG_E_READER_LIMIT, "too many values");
  }
  if (r->values % CLOCK_EVERY == 0)
    IG_RETURN_IF_ERR(ig_deadline_check(r->c, &r->deadline, r->name));
  int ch = peek(r);
  if (ch == '{' || ch == '[') return open_level(r, t, ch == '{');
  r->state = r->depth ? AFTER_VALUE : DONE;
  if (ch != '"') return read_word(r, t);
  r->pos++;
  t->kind = IG_JSON_STRING;
  return read_string(r, t);
}

static ig_status read_key(ig_json_reader *r, ig_json_token *t) {
  if (peek(r) != '"') return ig_json_fail(r, r->pos, "expected a key in double quotes");
  r->pos++;
  IG_RETURN_IF_ERR(read_string(r, t));
  skip_space(r);
  if (peek(r) != ':') return ig_json_fail(r, r->pos, "expected ':'");
  r->pos++;
  r->state = VALUE;
  t->kind = IG_JSON_KEY;
  return IG_OK;
}

static ig_status close_level(ig_json_reader *r, ig_json_token *t) {
  r->pos++;
  r->depth--;
  r->state = r->depth ? AFTER_VALUE : DONE;
  t->kind = IG_JSON_CLOSE;
  return IG_OK;
}

ig_status ig_json_next(ig_json_reader *r, ig_json_token *out) {
  *out = (ig_json_token){.kind = IG_JSON_END};
  if (r->in.n > r->limits.max_text) {
    return ig_fail(r->c, IG_SYNTAX | IG_E_READER_LIMIT,
                   "%s: %zu bytes of JSON, the limit is %" PRIu64, r->name, r->in.n,
                   r->limits.max_text);
  }
  skip_space(r);
  int close = r->depth ? (in_object(r) ? '}' : ']') : 0;
  if (r->state == AFTER_VALUE && peek(r) == ',') {
    r->pos++;
    r->state = close == '}' ? KEY : VALUE;
    skip_space(r);
  } else if (r->state == AFTER_VALUE && peek(r) != close) {
    return ig_json_fail(r, r->pos, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  }
  out->at = r->pos;
  switch (r->state) {
    case AFTER_VALUE:
      return close_level(r, out);
    case FIRST_ITEM:
      return peek(r) == close ? close_level(r, out) : read_value(r, out);
    case FIRST_KEY:
      return peek(r) == close ? close_level(r, out) : read_key(r, out);
    case KEY:
      return read_key(r, out);
    case VALUE:
      return read_value(r, out);
    default:
      return r->pos == r->in.n ? IG_OK : ig_json_fail(r, r->pos, "text after the end of the value");
  }
}
