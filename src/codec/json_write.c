// SPDX-License-Identifier: Apache-2.0
// JSON writer: byte for byte the output of Python's json.dumps for the same values.
#include <math.h>
#include <string.h>

#include "codec/bits.h"
#include "codec/json.h"

static void put(ig_str *s, const char *bytes, size_t n) {
  s->failed = s->failed || n > SIZE_MAX / 2 - s->n - 1 ||
              !ig_mem_grow(s->alloc, (void **)&s->at, &s->cap, 1, s->n + n + 1);
  if (s->failed) return;
  memcpy(s->at + s->n, bytes, n);
  s->n += n;
  s->at[s->n] = 0;
}

static void put_text(ig_str *s, const char *text) {
  put(s, text, strlen(text));
}

static void item(ig_json_writer *w) {
  if (w->comma) put_text(w->out, w->compact ? "," : ", ");
  w->comma = true;
}

void ig_json_open(ig_json_writer *w, char bracket) {
  item(w);
  put(w->out, &bracket, 1);
  w->comma = false;
}

void ig_json_close(ig_json_writer *w, char bracket) {
  put(w->out, &bracket, 1);
  w->comma = true;
}

void ig_json_key(ig_json_writer *w, const char *key) {
  ig_json_str(w, key);
  put_text(w->out, w->compact ? ":" : ": ");
  w->comma = false;
}

void ig_json_null(ig_json_writer *w) {
  item(w);
  put_text(w->out, "null");
}

void ig_json_bool(ig_json_writer *w, bool b) {
  item(w);
  put_text(w->out, b ? "true" : "false");
}

void ig_json_int(ig_json_writer *w, int64_t i) {
  item(w);
  ig_str_add(w->out, "%lld", (long long)i);
}

void ig_json_float(ig_json_writer *w, double f) {
  item(w);
  if (isnan(f)) {
    put_text(w->out, "NaN");
  } else if (isinf(f)) {
    put_text(w->out, f > 0 ? "Infinity" : "-Infinity");
  } else {
    ig_str_float(w->out, f);
  }
}

static void put_point(ig_json_writer *w, uint32_t point) {
  uint8_t utf8[4];
  if (w->unicode) {
    put(w->out, (const char *)utf8, ig_utf8_encode(point, utf8));
  } else if (point < 0x10000) {
    ig_str_add(w->out, "\\u%04x", (unsigned)point);
  } else {
    point -= 0x10000;
    ig_str_add(w->out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (point >> 10)),
               (unsigned)(0xDC00 + (point & 0x3FF)));
  }
}

static void put_control(ig_str *out, uint8_t ch) {
  static const char names[] = "\"\\\b\f\n\r\t";
  static const char letters[] = "\"\\bfnrt";
  const char *found = ch ? strchr(names, ch) : NULL;
  if (found) {
    char pair[2] = {'\\', letters[found - names]};
    put(out, pair, 2);
  } else {
    ig_str_add(out, "\\u%04x", ch);
  }
}

void ig_json_strn(ig_json_writer *w, const char *s, size_t n) {
  item(w);
  put_text(w->out, "\"");
  const uint8_t *p = (const uint8_t *)s;
  size_t run = 0;  // start of the bytes that are copied verbatim
  for (size_t i = 0; i < n;) {
    uint8_t ch = p[i];
    bool plain = ch >= 0x20 && ch != '"' && ch != '\\' && (ch < 0x7F || (ch == 0x7F && w->unicode));
    if (plain) {
      i++;
      continue;
    }
    put(w->out, s + run, i - run);
    uint32_t point = ch;
    size_t len = ig_utf8_decode(p + i, n - i, &point);
    if (len == 0) point = 0xFFFD;
    if (point < 0x7F) {
      put_control(w->out, ch);
    } else {
      put_point(w, point);
    }
    i += len ? len : 1;
    run = i;
  }
  put(w->out, s + run, n - run);
  put_text(w->out, "\"");
}

void ig_json_str(ig_json_writer *w, const char *s) {
  ig_json_strn(w, s, strlen(s));
}

// Recursion is bounded by the depth that the parser allows.
void ig_json_value(ig_json_writer *w, const ig_json *v) {
  switch (v->kind) {
    case IG_JSON_NULL:
      ig_json_null(w);
      break;
    case IG_JSON_BOOL:
      ig_json_bool(w, v->b);
      break;
    case IG_JSON_INT:
      ig_json_int(w, v->i);
      break;
    case IG_JSON_BIG:
      item(w);
      put(w->out, v->text, v->n);
      break;
    case IG_JSON_FLOAT:
      ig_json_float(w, v->f);
      break;
    case IG_JSON_STRING:
      ig_json_strn(w, v->text, v->n);
      break;
    case IG_JSON_ARRAY:
      ig_json_open(w, '[');
      for (size_t i = 0; i < v->n; i++) ig_json_value(w, &v->items[i]);
      ig_json_close(w, ']');
      break;
    default:
      ig_json_open(w, '{');
      for (size_t i = 0; i < v->n; i++) {
        ig_json_strn(w, v->members[i].key, v->members[i].key_n);
        put_text(w->out, w->compact ? ":" : ": ");
        w->comma = false;
        ig_json_value(w, &v->members[i].value);
      }
      ig_json_close(w, '}');
  }
}
