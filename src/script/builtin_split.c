// SPDX-License-Identifier: Apache-2.0
// Strings in parts and put together.
#include <string.h>

#include "script/builtin.h"

static ig_sobj_seq *list_of(const ig_sbuiltin_call *k) {
  return ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, 0);
}

static bool push(const ig_sbuiltin_call *k, ig_sobj_seq *list, const char *at, size_t n) {
  ig_sobj_str *s = ig_sobj_str_make(k->c, at, n);
  if (!s) return false;
  bool ok = ig_sobj_seq_push(k->c, list, ig_of_sobj(s));
  ig_svalue_release(ig_of_sobj(s));
  return ok;
}

static void give(const ig_sbuiltin_call *k, ig_sobj_seq *list) {
  if (list && k->c->status != IG_OK) {
    ig_svalue_release(ig_of_sobj(list));
  } else {
    ig_sb_object(k, list);
  }
}

static bool is_blank(char ch) {
  return ch && strchr(" \t\n\r\v\f", ch);
}

// Words between blanks, all of them: the original does not count here.
static void split_words(const ig_sbuiltin_call *k, const ig_sobj_str *s) {
  ig_sobj_seq *list = list_of(k);
  size_t at = 0;
  while (list && k->c->status == IG_OK) {
    while (at < s->n && is_blank(s->text[at])) at++;
    if (at == s->n) break;
    size_t end = at;
    while (end < s->n && !is_blank(s->text[end])) end++;
    (void)push(k, list, s->text + at, end - at);
    at = end;
  }
  give(k, list);
}

// The next separator in [from, s->n); s->n: none.
static size_t next(const ig_sbuiltin_call *k, const ig_sobj_str *s, size_t from,
                   const ig_sobj_str *part) {
  size_t at = ig_sb_search(k, s->text + from, s->n - from, part, false);
  return at == SIZE_MAX ? s->n : from + at;
}
// The end of the last separator in [0, to); 0: none.
static size_t previous(const ig_sbuiltin_call *k, const ig_sobj_str *s, size_t to,
                       const ig_sobj_str *part) {
  size_t at = ig_sb_search(k, s->text, to, part, true);
  return at == SIZE_MAX ? 0 : at + part->n;
}

static bool is_empty(const ig_sbuiltin_call *k, const ig_sobj_str *separator) {
  if (separator->n) return false;
  IG_SCRIPT_FAIL(k, "ValueError: empty separator");
  return true;
}

IG_BUILTIN(str_split) {
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  int64_t max = ig_sb_i64(k, 2);
  if (k->in[1].kind == IG_KIND_NONE) {
    split_words(k, s);
    return;
  }
  const ig_sobj_str *by = ig_sb_str_at(k, 1);
  if (is_empty(k, by)) return;
  ig_sobj_seq *list = list_of(k);
  size_t at = 0;
  for (size_t end = next(k, s, 0, by); list && end < s->n && max != 0; max--) {
    if (!push(k, list, s->text + at, end - at)) break;
    at = end + by->n;
    end = next(k, s, at, by);
  }
  if (list) (void)push(k, list, s->text + at, s->n - at);
  give(k, list);
}

IG_BUILTIN(str_rsplit) {
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  const ig_sobj_str *by = ig_sb_str_at(k, 1);
  int64_t max = ig_sb_i64(k, 2);
  if (is_empty(k, by)) return;
  ig_sobj_seq *list = list_of(k);
  size_t to = s->n;
  for (size_t end = previous(k, s, to, by); list && end > 0 && max != 0; max--) {
    if (!push(k, list, s->text + end, to - end)) break;
    to = end - by->n;
    end = previous(k, s, to, by);
  }
  if (list) (void)push(k, list, s->text, to);
  for (size_t i = 0, n = list ? list->n : 0; i < n / 2; i++) {
    ig_value held = list->at[i];
    list->at[i] = list->at[n - 1 - i];
    list->at[n - 1 - i] = held;
  }
  give(k, list);
}

// Every character of the set ends a line, so that "\r\n" ends two. Ends that are kept are elements
// of their own.
IG_BUILTIN(str_splitlines) {
  static const char ends[] = "\n\r\v\f\x1c\x1d\x1e";
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  bool keep = ig_sb_truth(k->c, k->in[1]);
  ig_sobj_seq *list = list_of(k);
  size_t at = 0;
  for (size_t i = 0; list && i < s->n && k->c->status == IG_OK; i++) {
    if (!s->text[i] || !strchr(ends, s->text[i])) continue;
    (void)push(k, list, s->text + at, i - at);
    if (keep) (void)push(k, list, s->text + i, 1);
    at = i + 1;
  }
  if (list && at < s->n) (void)push(k, list, s->text + at, s->n - at);
  give(k, list);
}

// Three strings: before, the separator, behind.
static void parts(const ig_sbuiltin_call *k, size_t before, size_t behind) {
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  const size_t at[] = {0, before, behind, s->n};
  for (size_t i = 0; i < 3; i++) {
    ig_sobj_str *part = ig_sobj_str_make(k->c, s->text + at[i], at[i + 1] - at[i]);
    if (part) k->out[i] = ig_of_sobj(part);
  }
}

IG_BUILTIN(str_partition) {
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  const ig_sobj_str *by = ig_sb_str_at(k, 1);
  size_t at = next(k, s, 0, by);
  if (!is_empty(k, by)) parts(k, at, at < s->n ? at + by->n : s->n);
}

IG_BUILTIN(str_rpartition) {
  const ig_sobj_str *s = ig_sb_str_at(k, 0);
  const ig_sobj_str *by = ig_sb_str_at(k, 1);
  if (is_empty(k, by)) return;
  size_t end = previous(k, s, s->n, by);
  parts(k, end ? end - by->n : 0, end);
}

IG_BUILTIN(str_join) {
  const ig_sobj_str *by = ig_sb_str_at(k, 0);
  const ig_sobj_seq *list = ig_sb_seq_at(k, 1);
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++) {
    if (!ig_sobj_is(list->at[i], IG_SOBJ_STR)) {
      IG_SCRIPT_FAIL(k, "join(): expected strings in the list");
      return;
    }
    const ig_sobj_str *s = list->at[i].object;
    n = ig_mem_add(n, ig_mem_add(s->n, i ? by->n : 0));
  }
  ig_sobj_str *made = ig_sobj_str_make(k->c, NULL, n);
  char *to = made ? made->text : NULL;
  for (size_t i = 0; made && i < list->n; i++) {
    const ig_sobj_str *s = list->at[i].object;
    if (i) memcpy(to, by->text, by->n);
    if (i) to += by->n;
    memcpy(to, s->text, s->n);
    to += s->n;
  }
  ig_sb_object(k, made);
}
