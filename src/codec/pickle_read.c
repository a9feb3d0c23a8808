// SPDX-License-Identifier: Apache-2.0
// The pickle machine, and the opcodes that push numbers and strings or use the memo.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/pickle_read.h"

enum { CLOCK_EVERY = 1 << 16, PROTOCOL_MAX = 5 };

const char *ig_pickle_kind_text(ig_pickle_kind kind) {
  static const char *const texts[] = {
      "None",     "a bool",       "an integer",  "a large integer", "a float",
      "a string", "bytes",        "a bytearray", "a list",          "a tuple",
      "a set",    "a dictionary", "a global",    "an object",       "a persistent id",
  };
  return texts[kind];
}

// ---- the machine

bool ig_unpickle_bad(ig_unpickler *u, ig_cause why, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  (void)ig_fail(u->c, why, "%s: pickle, offset %zu: %s", u->src->name, u->src->base + u->op_at,
                text);
  return false;
}
#define BAD(u, ...) ig_unpickle_bad((u), IG_SYNTAX | IG_E_PICKLE, __VA_ARGS__)

static bool no_memory(ig_unpickler *u) {
  (void)ig_fail(u->c, IG_NOMEM, "out of memory");
  return false;
}

const uint8_t *ig_unpickle_take(ig_unpickler *u, size_t n) {
  if (n > u->in.n - u->pos) {
    (void)BAD(u, "needs %zu more bytes, %zu are left", n, u->in.n - u->pos);
    return NULL;
  }
  const uint8_t *p = u->in.at + u->pos;
  u->pos += n;
  return p;
}

bool ig_unpickle_line(ig_unpickler *u, ig_bytes *out) {
  const uint8_t *from = u->in.at + u->pos;
  const uint8_t *end = u->pos < u->in.n ? memchr(from, '\n', u->in.n - u->pos) : NULL;
  if (!end) return BAD(u, "a line without an end");
  *out = (ig_bytes){from, (size_t)(end - from)};
  u->pos += out->n + 1;
  return true;
}

ig_pickle *ig_unpickle_make(ig_unpickler *u, ig_pickle_kind kind) {
  if (++u->nodes > u->limits.max_nodes) {
    (void)ig_unpickle_bad(u, IG_SYNTAX | IG_E_READER_LIMIT,
                          "more than the limit of %" PRIu64 " values", u->limits.max_nodes);
    return NULL;
  }
  if (u->nodes % CLOCK_EVERY == 0 && ig_deadline_check(u->c, &u->deadline, u->src->name) != IG_OK) {
    return NULL;
  }
  ig_pickle *p = ig_arena_push(u->arena, sizeof *p);
  if (!p) {
    (void)no_memory(u);
    return NULL;
  }
  p->kind = (uint8_t)kind;
  p->at = u->src->base + u->op_at;
  return p;
}

bool ig_unpickle_push(ig_unpickler *u, ig_pickle *p) {
  if (!p) return false;
  return ig_vec_push(u->c->alloc, &u->stack, p) || no_memory(u);
}

static size_t floor_of(const ig_unpickler *u) {
  return u->marks.n ? u->marks.at[u->marks.n - 1] : 0;
}

ig_pickle *ig_unpickle_top(ig_unpickler *u) {
  if (u->stack.n > floor_of(u)) return u->stack.at[u->stack.n - 1];
  (void)BAD(u, "the stack is empty");
  return NULL;
}

ig_pickle *ig_unpickle_pop(ig_unpickler *u) {
  ig_pickle *p = ig_unpickle_top(u);
  if (p) u->stack.n--;
  return p;
}

ig_pickle *ig_unpickle_text(ig_unpickler *u, ig_pickle_kind kind, const void *text, size_t n) {
  ig_pickle *p = ig_unpickle_make(u, kind);
  if (!p) return NULL;
  p->text = ig_arena_strn(u->arena, text, n);
  p->n = n;
  if (!p->text) (void)no_memory(u);
  return p->text ? p : NULL;
}

// ---- numbers

static bool push_int(ig_unpickler *u, int64_t i) {
  ig_pickle *p = ig_unpickle_make(u, IG_PICKLE_INT);
  if (p) p->i = i;
  return ig_unpickle_push(u, p);
}
static bool op_binint(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 4);
  return p && push_int(u, (int32_t)ig_load32(p));
}
static bool op_binint1(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 1);
  return p && push_int(u, *p);
}
static bool op_binint2(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 2);
  return p && push_int(u, ig_load16(p));
}

// n bytes of two's complement, least first.
static bool push_long(ig_unpickler *u, uint64_t n) {
  const uint8_t *p = ig_unpickle_take(u, (size_t)n);
  if (!p) return false;
  uint8_t sign = n && p[n - 1] >= 0x80 ? 0xFF : 0;
  while (n > 8 && p[n - 1] == sign && (p[n - 2] ^ sign) < 0x80) n--;
  if (n > 8) return ig_unpickle_push(u, ig_unpickle_text(u, IG_PICKLE_BIG, p, (size_t)n));
  uint8_t wide[8];
  memset(wide, sign, sizeof wide);
  if (n) memcpy(wide, p, (size_t)n);
  return push_int(u, (int64_t)ig_load64(wide));
}
static bool op_long1(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 1);
  return p && push_long(u, *p);
}
static bool op_long4(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 4);
  if (!p) return false;
  if (p[3] >= 0x80) return BAD(u, "an integer of negative length");
  return push_long(u, ig_load32(p));
}

static bool op_binfloat(ig_unpickler *u) {
  const uint8_t *b = ig_unpickle_take(u, 8);
  ig_pickle *p = b ? ig_unpickle_make(u, IG_PICKLE_FLOAT) : NULL;
  if (!p) return false;
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | b[i];
  memcpy(&p->f, &bits, sizeof bits);
  return ig_unpickle_push(u, p);
}

static bool op_none(ig_unpickler *u) {
  return ig_unpickle_push(u, &u->fixed[0]);
}
static bool op_true(ig_unpickler *u) {
  return ig_unpickle_push(u, &u->fixed[2]);
}
static bool op_false(ig_unpickler *u) {
  return ig_unpickle_push(u, &u->fixed[1]);
}

// Digits of protocol 0, with a zero behind them; NULL: too long to be a number that is read here.
static bool read_digits(ig_unpickler *u, char text[64]) {
  ig_bytes line = {0};
  if (!ig_unpickle_line(u, &line)) return false;
  if (line.n == 0 || line.n > 63 || memchr(line.at, 0, line.n)) {
    return BAD(u, "a number of %zu characters is not read", line.n);
  }
  memcpy(text, line.at, line.n);
  text[line.n] = 0;
  return true;
}

// INT of protocol 0: "00" and "01" are bools. LONG: an L may follow.
static bool op_int_text(ig_unpickler *u) {
  char text[64] = {0};
  if (!read_digits(u, text)) return false;
  if (strcmp(text, "00") == 0) return op_false(u);
  if (strcmp(text, "01") == 0) return op_true(u);
  const char *p = text + (*text == '-' || *text == '+');
  int64_t i = 0;
  bool ok = *p >= '0' && *p <= '9';
  for (; *p >= '0' && *p <= '9' && ok; p++) {
    int digit = *text == '-' ? '0' - *p : *p - '0';
    ok = ig_checked_mul(i, 10, &i) && ig_checked_add(i, digit, &i);
  }
  if (*p == 'L') p++;
  if (!ok || *p) return BAD(u, "'%s' is not an integer of 64 bits", text);
  return push_int(u, i);
}

static bool op_float_text(ig_unpickler *u) {
  char text[64] = {0};
  char *end = NULL;
  if (!read_digits(u, text)) return false;
  ig_pickle *p = ig_unpickle_make(u, IG_PICKLE_FLOAT);
  if (!p) return false;
  p->f = strtod(text, &end);
  if (end == text || *end) return BAD(u, "'%s' is not a float", text);
  return ig_unpickle_push(u, p);
}

// ---- texts

static bool push_text(ig_unpickler *u, ig_pickle_kind kind, uint64_t n) {
  if (n > u->in.n - u->pos) {
    return BAD(u, "a text of %" PRIu64 " bytes, %zu are left", n, u->in.n - u->pos);
  }
  const uint8_t *p = ig_unpickle_take(u, (size_t)n);
  if (!p) return false;
  if (kind == IG_PICKLE_STR && ig_utf8_check(p, (size_t)n) != n) {
    return BAD(u, "a string is not UTF-8 at its byte %zu", ig_utf8_check(p, (size_t)n));
  }
  return ig_unpickle_push(u, ig_unpickle_text(u, kind, p, (size_t)n));
}

// Its length is a number of `width` bytes before it.
static bool counted(ig_unpickler *u, ig_pickle_kind kind, size_t width) {
  const uint8_t *p = ig_unpickle_take(u, width);
  if (!p) return false;
  return push_text(u, kind, width == 1 ? *p : width == 4 ? ig_load32(p) : ig_load64(p));
}
static bool op_unicode1(ig_unpickler *u) {
  return counted(u, IG_PICKLE_STR, 1);
}
static bool op_unicode4(ig_unpickler *u) {
  return counted(u, IG_PICKLE_STR, 4);
}
static bool op_unicode8(ig_unpickler *u) {
  return counted(u, IG_PICKLE_STR, 8);
}
static bool op_bytes1(ig_unpickler *u) {
  return counted(u, IG_PICKLE_BYTES, 1);
}
static bool op_bytes4(ig_unpickler *u) {
  return counted(u, IG_PICKLE_BYTES, 4);
}
static bool op_bytes8(ig_unpickler *u) {
  return counted(u, IG_PICKLE_BYTES, 8);
}

static bool op_bytearray8(ig_unpickler *u) {
  return counted(u, IG_PICKLE_BYTEARRAY, 8);
}

// Strings of Python 2 become str if they are valid UTF-8.
static bool old_string(ig_unpickler *u, size_t width) {
  if (!counted(u, IG_PICKLE_BYTES, width)) return false;
  ig_pickle *p = u->stack.at[u->stack.n - 1];
  if (ig_utf8_check((const uint8_t *)p->text, p->n) == p->n) p->kind = IG_PICKLE_STR;
  return true;
}
static bool op_string1(ig_unpickler *u) {
  return old_string(u, 1);
}
static bool op_string4(ig_unpickler *u) {
  return old_string(u, 4);
}

static int hex_digit(uint8_t ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  ch |= 32;
  return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

// STRING of protocol 0: a literal in quotes; the escapes that repr() writes.
static bool op_string_text(ig_unpickler *u) {
  ig_bytes s = {0};
  if (!ig_unpickle_line(u, &s)) return false;
  if (s.n < 2 || (s.at[0] != '\'' && s.at[0] != '"') || s.at[s.n - 1] != s.at[0]) {
    return BAD(u, "a string without its quotes");
  }
  char *out = ig_arena_push(u->arena, s.n);
  if (!out) return no_memory(u);
  size_t n = 0;
  for (size_t i = 1; i + 1 < s.n; i++) {
    static const char from[] = "\\'\"nrt";
    static const char to[] = "\\'\"\n\r\t";
    uint8_t ch = s.at[i];
    if (ch == '\\') {
      const char *known = i + 2 < s.n ? memchr(from, s.at[++i], sizeof from - 1) : NULL;
      bool hex = !known && i + 3 < s.n && s.at[i] == 'x' && hex_digit(s.at[i + 1]) >= 0 &&
                 hex_digit(s.at[i + 2]) >= 0;
      if (!known && !hex) return BAD(u, "an escape that is not read");
      ch = known ? (uint8_t)to[known - from]
                 : (uint8_t)(hex_digit(s.at[i + 1]) * 16 + hex_digit(s.at[i + 2]));
      if (hex) i += 2;
    }
    out[n++] = (char)ch;
  }
  bool utf8 = ig_utf8_check((const uint8_t *)out, n) == n;
  ig_pickle *p = ig_unpickle_make(u, utf8 ? IG_PICKLE_STR : IG_PICKLE_BYTES);
  if (!p) return false;
  p->text = out;
  p->n = n;
  return ig_unpickle_push(u, p);
}

// The code point at *i, which is advanced to its last byte: a byte of Latin-1, \uXXXX or
// \UXXXXXXXX.
static bool next_point(ig_unpickler *u, ig_bytes s, size_t *i, uint32_t *point) {
  *point = s.at[*i];
  uint8_t kind = *point == '\\' && *i + 1 < s.n ? s.at[*i + 1] : 0;
  size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  if (digits && s.n - *i - 2 < digits) return BAD(u, "an escape that is cut off");
  if (digits) *point = 0;
  for (size_t k = 0; k < digits; k++) {
    int digit = hex_digit(s.at[*i + 2 + k]);
    if (digit < 0 || *point >> 28) return BAD(u, "an escape that is not read");
    *point = *point << 4 | (uint32_t)digit;
  }
  if (digits) *i += 1 + digits;
  if (*point <= 0x10FFFF && (*point < 0xD800 || *point >= 0xE000)) return true;
  return BAD(u, "U+%04" PRIX32 " is not a character", *point);
}

// UNICODE of protocol 0.
static bool op_unicode_text(ig_unpickler *u) {
  ig_bytes s = {0};
  if (!ig_unpickle_line(u, &s)) return false;
  char *out = ig_arena_array(u->arena, s.n + 1, 2);
  if (!out) return no_memory(u);
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) {
    uint32_t point = 0;
    if (!next_point(u, s, &i, &point)) return false;
    n += ig_utf8_encode(point, (uint8_t *)out + n);
  }
  ig_pickle *p = ig_unpickle_make(u, IG_PICKLE_STR);
  if (!p) return false;
  p->text = out;
  p->n = n;
  return ig_unpickle_push(u, p);
}

// ---- memo

// A pickle cannot memoize more values than it has bytes.
static bool put(ig_unpickler *u, uint64_t number) {
  ig_pickle *top = ig_unpickle_top(u);
  if (!top) return false;
  if (number >= u->in.n) {
    return BAD(u, "memo number %" PRIu64 " in a pickle of %zu bytes", number, u->in.n);
  }
  size_t need = (size_t)number + 1;
  if (!ig_mem_grow(u->c->alloc, (void **)&u->memo.at, &u->memo.cap, sizeof *u->memo.at, need)) {
    return no_memory(u);
  }
  while (u->memo.n < need) u->memo.at[u->memo.n++] = NULL;
  u->memo.at[number] = top;
  return true;
}

static bool get(ig_unpickler *u, uint64_t number) {
  if (number >= u->memo.n || !u->memo.at[number]) {
    return BAD(u, "memo number %" PRIu64 " was never put", number);
  }
  return ig_unpickle_push(u, u->memo.at[number]);
}

static bool op_binput(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 1);
  return p && put(u, *p);
}
static bool op_long_binput(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 4);
  return p && put(u, ig_load32(p));
}
static bool op_binget(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 1);
  return p && get(u, *p);
}
static bool op_long_binget(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 4);
  return p && get(u, ig_load32(p));
}
static bool op_memoize(ig_unpickler *u) {
  return put(u, u->memo.n);
}

static bool memo_line(ig_unpickler *u, uint64_t *number) {
  char text[64] = {0};
  if (!read_digits(u, text)) return false;
  *number = 0;
  for (const char *p = text; *p; p++) {
    if (*p < '0' || *p > '9' || *number > UINT32_MAX) return BAD(u, "memo number '%s'", text);
    *number = *number * 10 + (uint64_t)(*p - '0');
  }
  return true;
}
static bool op_put_text(ig_unpickler *u) {
  uint64_t number = 0;
  return memo_line(u, &number) && put(u, number);
}
static bool op_get_text(ig_unpickler *u) {
  uint64_t number = 0;
  return memo_line(u, &number) && get(u, number);
}

// ---- the frame

static bool op_proto(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 1);
  if (!p) return false;
  if (*p > PROTOCOL_MAX) return BAD(u, "protocol %u, at most %d is known", *p, PROTOCOL_MAX);
  return u->op_at == 0 || BAD(u, "the protocol is named inside of the pickle");
}

static bool op_frame(ig_unpickler *u) {
  const uint8_t *p = ig_unpickle_take(u, 8);
  if (!p) return false;
  if (ig_load64(p) <= u->in.n - u->pos) return true;
  return BAD(u, "a frame of %" PRIu64 " bytes, %zu are left", ig_load64(p), u->in.n - u->pos);
}

static bool op_stop(ig_unpickler *u) {
  if (u->marks.n) return BAD(u, "STOP with %zu marks open", u->marks.n);
  if (u->stack.n != 1) return BAD(u, "STOP with %zu values on the stack, expected 1", u->stack.n);
  u->stopped = true;
  return true;
}

static const ig_unpickle_step atoms[256] = {
    ['J'] = op_binint,      ['K'] = op_binint1,     ['M'] = op_binint2,      [0x8a] = op_long1,
    [0x8b] = op_long4,      ['G'] = op_binfloat,    ['N'] = op_none,         [0x88] = op_true,
    [0x89] = op_false,      ['I'] = op_int_text,    ['L'] = op_int_text,     ['F'] = op_float_text,
    ['X'] = op_unicode4,    [0x8c] = op_unicode1,   [0x8d] = op_unicode8,    ['B'] = op_bytes4,
    ['C'] = op_bytes1,      [0x8e] = op_bytes8,     [0x96] = op_bytearray8,  ['U'] = op_string1,
    ['T'] = op_string4,     ['S'] = op_string_text, ['V'] = op_unicode_text, ['q'] = op_binput,
    ['r'] = op_long_binput, ['h'] = op_binget,      ['j'] = op_long_binget,  [0x94] = op_memoize,
    ['p'] = op_put_text,    ['g'] = op_get_text,    [0x80] = op_proto,       [0x95] = op_frame,
    ['.'] = op_stop,
};

static bool refuse(ig_unpickler *u, uint8_t op) {
  static const struct {
    uint8_t op;
    const char *name;
  } known[] = {{'P', "PERSID"},     {'i', "INST"},         {'o', "OBJ"},
               {0x82, "EXT1"},      {0x83, "EXT2"},        {0x84, "EXT4"},
               {0x92, "NEWOBJ_EX"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].op != op) continue;
    return ig_unpickle_bad(u, IG_UNSUPPORTED | IG_E_PICKLE_CLASS,
                           "opcode %s is not allowed: it makes objects that are not plain data",
                           known[i].name);
  }
  return BAD(u, "0x%02x is not an opcode", op);
}

static bool run(ig_unpickler *u) {
  while (!u->stopped) {
    u->op_at = u->pos;
    const uint8_t *p = ig_unpickle_take(u, 1);
    if (!p) return false;
    ig_unpickle_step step = atoms[*p] ? atoms[*p] : ig_unpickle_builders[*p];
    if (!(step ? step(u) : refuse(u, *p))) return false;
  }
  return true;
}

ig_status ig_pickle_read(ig_ctx *c, const ig_pickle_source *source, ig_arena *arena,
                         ig_pickle **out, size_t *end) {
  *out = NULL;
  ig_unpickler u = {.c = c,
                    .src = source,
                    .limits = ig_limits_of(c, source->limits),
                    .arena = arena,
                    .in = source->in};
  u.deadline = ig_deadline_start(&u.limits);
  if (source->in.n > u.limits.max_text) {
    return ig_fail(c, IG_SYNTAX | IG_E_READER_LIMIT,
                   "%s: a pickle of %zu bytes, the limit is %" PRIu64, source->name, source->in.n,
                   u.limits.max_text);
  }
  u.fixed = ig_arena_array(arena, 3, sizeof *u.fixed);
  if (!u.fixed) return ig_fail(c, IG_NOMEM, "out of memory");
  u.fixed[1].kind = u.fixed[2].kind = IG_PICKLE_BOOL;
  u.fixed[2].b = true;
  bool ok = run(&u);
  if (ok && !end && u.pos != u.in.n) ok = BAD(&u, "%zu stray bytes behind", u.in.n - u.pos);
  if (ok) *out = u.stack.at[0];
  if (end) *end = u.pos;
  ig_vec_free(c->alloc, &u.stack);
  ig_vec_free(c->alloc, &u.marks);
  ig_vec_free(c->alloc, &u.memo);
  return ok ? IG_OK : ig_ctx_status(c);
}
