// SPDX-License-Identifier: Apache-2.0
// JSON as Python's json module reads and writes it: RFC 8259 plus NaN, Infinity and -Infinity,
// integers of any length. A pull parser returns tokens; a small tree in an arena is built on it.
// Depth, length and number of values are limited, and the keys of an object must be unique.
#ifndef CODEC_JSON_H_
#define CODEC_JSON_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum ig_json_kind {
  IG_JSON_NULL,
  IG_JSON_BOOL,
  IG_JSON_INT,    // fits int64
  IG_JSON_BIG,    // an integer that does not: its digits
  IG_JSON_FLOAT,  // has a point or an exponent, or is NaN or infinite
  IG_JSON_STRING,
  IG_JSON_ARRAY,
  IG_JSON_OBJECT,
  // Only tokens of the pull parser from here.
  IG_JSON_KEY,
  IG_JSON_CLOSE,  // of the innermost array or object
  IG_JSON_END,    // of the text
} ig_json_kind;

// ---- pull parser

typedef struct ig_json_token {
  ig_json_kind kind;
  size_t at;  // byte offset in the text
  bool b;
  int64_t i;
  double f;
  const char *text;  // string, key, digits; valid until the next token
  size_t n;
} ig_json_token;

typedef struct ig_json_reader {
  ig_ctx *c;
  const char *name;  // of the document, for messages
  ig_bytes in;
  size_t pos;
  ig_limits limits;
  ig_deadline deadline;
  size_t depth;
  size_t values;
  int state;
  uint8_t is_object[IG_LIMITS_DEPTH / 8];
  ig_str scratch;  // the last string that had escapes
} ig_json_reader;

void ig_json_reader_init(ig_json_reader *r, ig_ctx *c, const char *name, ig_bytes in,
                         const ig_limits *limits);
IG_MUST_USE ig_status ig_json_next(ig_json_reader *r, ig_json_token *out);
void ig_json_reader_free(ig_json_reader *r);
// "name: line 3 column 7: ..." for an offset into the text.
ig_status ig_json_fail(const ig_json_reader *r, size_t at, const char *what);
ig_status ig_json_fail_as(const ig_json_reader *r, size_t at, ig_cause why, const char *what);

// ---- tree

typedef struct ig_json ig_json;
struct ig_json {
  ig_json_kind kind;
  size_t at;  // byte offset in the text
  size_t n;   // bytes of text, items, members
  union {
    bool b;
    int64_t i;
    double f;
    const char *text;  // ends with a zero byte that n does not count
    const ig_json *items;
    struct {
      const struct ig_json_member *members;        // in the order of the text
      const struct ig_json_member *const *sorted;  // by key; NULL for small objects
    };
  };
};

typedef struct ig_json_member {
  const char *key;
  size_t key_n;
  ig_json value;
} ig_json_member;

// The tree lives in `arena` and does not refer to the text. limits NULL: the default ones.
IG_MUST_USE ig_status ig_json_parse(ig_ctx *c, const char *name, ig_bytes text, ig_arena *arena,
                                    const ig_limits *limits, const ig_json **out);
const ig_json *ig_json_find(const ig_json *object,
                            const char *key);      // NULL: absent or not an object.
const char *ig_json_kind_text(ig_json_kind kind);  // "a string", "an object" ...

// ---- writer

// Output equals json.dumps(value) with its defaults; `compact` is separators=(",", ":"), `unicode`
// is ensure_ascii=False. Out of memory is sticky in `out`. The caller nests correctly.
typedef struct ig_json_writer {
  ig_str *out;
  bool compact;
  bool unicode;
  bool comma;  // the next item needs a comma
} ig_json_writer;

void ig_json_open(ig_json_writer *w, char bracket);   // '{' or '['
void ig_json_close(ig_json_writer *w, char bracket);  // '}' or ']'
void ig_json_key(ig_json_writer *w, const char *key);
void ig_json_null(ig_json_writer *w);
void ig_json_bool(ig_json_writer *w, bool b);
void ig_json_int(ig_json_writer *w, int64_t i);
void ig_json_float(ig_json_writer *w, double f);
void ig_json_str(ig_json_writer *w, const char *s);
void ig_json_strn(ig_json_writer *w, const char *s, size_t n);  // Malformed UTF-8 becomes U+FFFD.
void ig_json_value(ig_json_writer *w, const ig_json *v);        // A whole tree.

#endif
