// SPDX-License-Identifier: Apache-2.0
// Methods of strings. Strings are bytes here, as in the original: letters are those of ASCII.
#include <ctype.h>
#include <string.h>

#include "base/budget.h"
#include "base/str_bytes.h"
#include "script/builtin.h"

typedef const ig_sobj_str *text;

static int byte_at(text s, size_t i) {
  return (unsigned char)s->text[i];
}

static text self_of(const ig_sbuiltin_call *k) {
  return ig_sb_str_at(k, 0);
}

static ig_sobj_str *make(const ig_sbuiltin_call *k, size_t n) {
  return ig_sobj_str_make(k->c, NULL, n);
}

IG_BUILTIN(str_add) {
  text a = ig_sb_str_at(k, 0);
  text b = ig_sb_str_at(k, 1);
  ig_sobj_str *s = make(k, ig_mem_add(a->n, b->n));
  if (!s) return;
  memcpy(s->text, a->text, a->n);
  memcpy(s->text + a->n, b->text, b->n);
  ig_sb_object(k, s);
}

IG_BUILTIN(str_len) {
  ig_sb_int(k, (int64_t)self_of(k)->n);
}

IG_BUILTIN(str_item) {
  text s = self_of(k);
  int64_t i = ig_sb_i64(k, 1);
  uint64_t at = i < 0 ? (uint64_t)i + s->n : (uint64_t)i;
  if (at >= s->n) {
    IG_SCRIPT_FAIL(k, "basic_string::at: __n (which is %llu) >= this->size() (which is %zu)",
                   (unsigned long long)at, s->n);
    return;
  }
  ig_sb_text(k, s->text + at, 1);
}

IG_BUILTIN(str_slice) {
  text s = self_of(k);
  size_t n = 0;
  int64_t step = 1;
  int64_t at = ig_sb_slice(k, s->n, &n, &step);
  ig_sobj_str *part = k->c->status == IG_OK ? make(k, n) : NULL;
  for (size_t i = 0; part && i < n; i++) part->text[i] = s->text[at + (int64_t)i * step];
  ig_sb_object(k, part);
}

IG_BUILTIN(str_list) {
  text s = self_of(k);
  ig_sobj_seq *list = ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, s->n);
  for (size_t i = 0; list && i < s->n; i++) {
    ig_sobj_str *one = ig_sobj_str_make(k->c, s->text + i, 1);
    if (one) list->at[i] = ig_of_sobj(one);
  }
  ig_sb_object(k, list);
}

// ---- letters

static int swap_case(int ch) {
  return isupper(ch) ? tolower(ch) : toupper(ch);
}

static void map(const ig_sbuiltin_call *k, int (*fn)(int)) {
  text s = self_of(k);
  ig_sobj_str *made = make(k, s->n);
  for (size_t i = 0; made && i < s->n; i++) made->text[i] = (char)fn(byte_at(s, i));
  ig_sb_object(k, made);
}

IG_BUILTIN(str_upper) {
  map(k, toupper);
}
IG_BUILTIN(str_lower) {
  map(k, tolower);
}
IG_BUILTIN(str_swapcase) {
  map(k, swap_case);
}

static int set_case(int ch, bool upper) {
  return upper ? toupper(ch) : tolower(ch);
}

// The first letter, or (words) that of every word, is a capital and the rest are small.
static void capitals(const ig_sbuiltin_call *k, bool words) {
  text s = self_of(k);
  ig_sobj_str *made = make(k, s->n);
  bool first = true;
  for (size_t i = 0; made && i < s->n; i++) {
    int ch = byte_at(s, i);
    made->text[i] = (char)set_case(ch, first);
    first = words && !isalpha(ch);
  }
  ig_sb_object(k, made);
}

IG_BUILTIN(str_capitalize) {
  capitals(k, false);
}
IG_BUILTIN(str_title) {
  capitals(k, true);
}

// ---- questions

static void all_of(const ig_sbuiltin_call *k, int (*fn)(int)) {
  text s = self_of(k);
  bool all = s->n > 0;
  for (size_t i = 0; all && i < s->n; i++) all = fn(byte_at(s, i));
  ig_sb_bool(k, all);
}

IG_BUILTIN(str_isspace) {
  all_of(k, isspace);
}
IG_BUILTIN(str_isdigit) {
  all_of(k, isdigit);
}
IG_BUILTIN(str_isalpha) {
  all_of(k, isalpha);
}
IG_BUILTIN(str_isalnum) {
  all_of(k, isalnum);
}

static int is_printable(int ch) {
  return isalnum(ch) || ispunct(ch) || ch == ' ';
}
IG_BUILTIN(str_isprintable) {
  if (self_of(k)->n == 0)
    ig_sb_bool(k, true);
  else
    all_of(k, is_printable);
}

IG_BUILTIN(str_isidentifier) {
  text s = self_of(k);
  bool ok = s->n > 0 && !isdigit(byte_at(s, 0));
  for (size_t i = 0; ok && i < s->n; i++) ok = isalnum(byte_at(s, i)) || s->text[i] == '_';
  ig_sb_bool(k, ok);
}

// There are letters, and all of them are of one case.
static void one_case(const ig_sbuiltin_call *k, int (*is)(int), int (*is_not)(int)) {
  text s = self_of(k);
  bool any = false;
  bool ok = true;
  for (size_t i = 0; ok && i < s->n; i++) {
    any = any || is(byte_at(s, i));
    ok = !is_not(byte_at(s, i));
  }
  ig_sb_bool(k, ok && any);
}

IG_BUILTIN(str_isupper) {
  one_case(k, isupper, islower);
}
IG_BUILTIN(str_islower) {
  one_case(k, islower, isupper);
}

IG_BUILTIN(str_istitle) {
  text s = self_of(k);
  bool any = false;
  bool ok = true;
  bool inside = false;
  for (size_t i = 0; ok && i < s->n; i++) {
    int ch = byte_at(s, i);
    ok = inside ? !isupper(ch) : !islower(ch);
    inside = isalpha(ch) != 0;
    any = any || inside;
  }
  ig_sb_bool(k, ok && any);
}

// ---- both ends

static void strip(const ig_sbuiltin_call *k, bool left, bool right) {
  text s = self_of(k);
  text set = ig_sb_str_at(k, 1);
  size_t from = 0;
  size_t to = s->n;
  while (left && from < to && memchr(set->text, s->text[from], set->n)) from++;
  while (right && from < to && memchr(set->text, s->text[to - 1], set->n)) to--;
  ig_sb_text(k, s->text + from, to - from);
}

IG_BUILTIN(str_strip) {
  strip(k, true, true);
}
IG_BUILTIN(str_lstrip) {
  strip(k, true, false);
}
IG_BUILTIN(str_rstrip) {
  strip(k, false, true);
}

// left and right times the fill character around the string.
static void pad(const ig_sbuiltin_call *k, char fill, size_t left, size_t right) {
  text s = self_of(k);
  ig_sobj_str *made = make(k, ig_mem_add(ig_mem_add(left, s->n), right));
  if (!made) return;
  memset(made->text, fill, made->n);
  memcpy(made->text + left, s->text, s->n);
  ig_sb_object(k, made);
}

// How much is missing; 0 after an error, too.
static size_t missing(const ig_sbuiltin_call *k, char *fill) {
  text s = self_of(k);
  int64_t width = ig_sb_i64(k, 1);
  text with = ig_sb_str_at(k, 2);
  if (with->n != 1) {
    IG_SCRIPT_FAIL(k, "TypeError: The fill character must be exactly one character long");
    return 0;
  }
  *fill = with->text[0];
  return width > 0 && (uint64_t)width > s->n ? (size_t)width - s->n : 0;
}

IG_BUILTIN(str_center) {
  char fill = ' ';
  size_t n = missing(k, &fill);
  size_t less = n / 2;
  bool odd = ig_sb_i64(k, 1) % 2 != 0;
  if (k->c->status == IG_OK) pad(k, fill, odd ? n - less : less, odd ? less : n - less);
}

IG_BUILTIN(str_ljust) {
  char fill = ' ';
  size_t n = missing(k, &fill);
  if (k->c->status == IG_OK) pad(k, fill, 0, n);
}

IG_BUILTIN(str_rjust) {
  char fill = ' ';
  size_t n = missing(k, &fill);
  if (k->c->status == IG_OK) pad(k, fill, n, 0);
}

IG_BUILTIN(str_zfill) {
  text s = self_of(k);
  int64_t width = ig_sb_i64(k, 1);
  pad(k, '0', width > 0 && (uint64_t)width > s->n ? (size_t)width - s->n : 0, 0);
}

IG_BUILTIN(str_expandtabs) {
  text s = self_of(k);
  int64_t size = ig_sb_i64(k, 1);
  ig_str made = ig_str_make(k->c->alloc);
  size_t column = 0;
  for (size_t i = 0; i < s->n; i++) {
    char ch = s->text[i];
    if (ch == '\t') {
      size_t n = size > 0 ? (size_t)size - column % (size_t)size : 0;
      column += n;
      while (n-- > 0 && !made.failed) ig_str_bytes(&made, " ", 1);
    } else {
      ig_str_bytes(&made, &ch, 1);
      column = ch == '\n' || ch == '\r' ? 0 : column + 1;
    }
  }
  ig_sb_text_of(k, &made);
}

// ---- parts

size_t ig_sb_search(const ig_sbuiltin_call *k, const char *in, size_t n, const ig_sobj_str *part,
                    bool last) {
  if (part->n > n) return SIZE_MAX;
  size_t tries = n - part->n + 1;
  for (size_t i = 0; i < tries; i++) {
    size_t at = last ? tries - 1 - i : i;
    if (part->n == 0) return at;
    if (in[at] != part->text[0]) continue;
    // Every candidate may be compared almost to its end.
    if (!ig_spend(k->c, part->n / 64 + 1)) return SIZE_MAX;
    if (memcmp(in + at, part->text, part->n) == 0) return at;
  }
  return SIZE_MAX;
}

// The part of the string that a search looks at: arguments 2 and 3 count from the end where they
// are negative, and -1 is the end itself.
typedef struct window {
  const char *at;
  size_t n;
  size_t from;
} window;

static window window_of(const ig_sbuiltin_call *k) {
  text s = self_of(k);
  int64_t n = (int64_t)s->n;
  int64_t from = ig_sb_i64(k, 2);
  int64_t to = ig_sb_i64(k, 3);
  if (from < 0) from = from < -n ? 0 : from + n;
  if (to < 0) to = to < -n - 1 ? 0 : to + n + 1;
  if (to > n) to = n;
  if (from > n) return (window){s->text + n, 0, SIZE_MAX};
  if (to < from) return (window){s->text + from, 0, SIZE_MAX};
  return (window){s->text + from, (size_t)(to - from), (size_t)from};
}

// Position in the window; -1: it is not there.
static int64_t search(const ig_sbuiltin_call *k, window w, text part, bool last) {
  if (w.from == SIZE_MAX) return -1;
  size_t at = ig_sb_search(k, w.at, w.n, part, last);
  return at == SIZE_MAX ? -1 : (int64_t)at;
}

static int64_t find(const ig_sbuiltin_call *k, bool last) {
  window w = window_of(k);
  int64_t at = search(k, w, ig_sb_str_at(k, 1), last);
  return at < 0 ? -1 : at + (int64_t)w.from;
}

IG_BUILTIN(str_find) {
  ig_sb_int(k, find(k, false));
}
IG_BUILTIN(str_rfind) {
  ig_sb_int(k, find(k, true));
}

static void must_find(const ig_sbuiltin_call *k, bool last) {
  int64_t at = find(k, last);
  if (at < 0)
    IG_SCRIPT_FAIL(k, "ValueError: substring not found");
  else
    ig_sb_int(k, at);
}
IG_BUILTIN(str_index) {
  must_find(k, false);
}
IG_BUILTIN(str_rindex) {
  must_find(k, true);
}

IG_BUILTIN(str_startswith) {
  window w = window_of(k);
  text part = ig_sb_str_at(k, 1);
  bool fits = w.from != SIZE_MAX && part->n <= w.n;
  ig_sb_bool(k, fits && memcmp(w.at, part->text, part->n) == 0);
}

IG_BUILTIN(str_endswith) {
  window w = window_of(k);
  text part = ig_sb_str_at(k, 1);
  bool fits = w.from != SIZE_MAX && part->n <= w.n;
  ig_sb_bool(k, fits && memcmp(w.at + (w.n - part->n), part->text, part->n) == 0);
}

IG_BUILTIN(str_count) {
  window w = window_of(k);
  text part = ig_sb_str_at(k, 1);
  int64_t n = 0;
  if (part->n == 0) {
    ig_sb_int(k, w.from == SIZE_MAX ? 0 : (int64_t)w.n + 1);
    return;
  }
  for (int64_t at; (at = search(k, w, part, false)) >= 0; n++) {
    w.at += (size_t)at + part->n;
    w.n -= (size_t)at + part->n;
  }
  ig_sb_int(k, n);
}

IG_BUILTIN(str_replace) {
  text s = self_of(k);
  text old = ig_sb_str_at(k, 1);
  text with = ig_sb_str_at(k, 2);
  int64_t left = ig_sb_i64(k, 3);
  ig_str made = ig_str_make(k->c->alloc);
  size_t at = 0;
  for (; at <= s->n && left != 0 && !made.failed; left--) {
    size_t next = ig_sb_search(k, s->text + at, s->n - at, old, false);
    if (next == SIZE_MAX) break;
    ig_str_bytes(&made, s->text + at, next);
    ig_str_bytes(&made, with->text, with->n);
    at += next + old->n;
    if (old->n) continue;  // an empty part stands before every character and at the end
    if (at < s->n) ig_str_bytes(&made, s->text + at, 1);
    at++;
  }
  if (at < s->n) ig_str_bytes(&made, s->text + at, s->n - at);
  ig_sb_text_of(k, &made);
}

// ---- characters and numbers

IG_BUILTIN(ord) {
  text s = self_of(k);
  if (s->n != 1) {
    IG_SCRIPT_FAIL(k, "String for ord() must be 1 character, found %zu", s->n);
  } else {
    ig_sb_int(k, byte_at(s, 0));
  }
}

IG_BUILTIN(chr) {
  int64_t i = ig_sb_i64(k, 0);
  char c = (char)i;
  if (i < 0 || i > 0x10ffff) {
    IG_SCRIPT_FAIL(k, "chr() arg not in range(0x110000), found %lld", (long long)i);
  } else {
    ig_sb_text(k, &c, 1);
  }
}

static void digits(const ig_sbuiltin_call *k, const char *prefix, unsigned bits) {
  int64_t i = ig_sb_i64(k, 0);
  uint64_t left = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  char room[68];
  char *at = room + sizeof room;
  do {
    *--at = "0123456789abcdef"[left & ((1U << bits) - 1)];
    left >>= bits;
  } while (left);
  ig_str made = ig_str_make(k->c->alloc);
  ig_str_add(&made, "%s%s%.*s", i < 0 ? "-" : "", prefix, (int)(room + sizeof room - at), at);
  ig_sb_text_of(k, &made);
}

IG_BUILTIN(hex) {
  digits(k, "0x", 4);
}
IG_BUILTIN(oct) {
  digits(k, "0o", 3);
}
IG_BUILTIN(bin) {
  digits(k, "0b", 1);
}
