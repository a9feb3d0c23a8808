// SPDX-License-Identifier: Apache-2.0
#include "ts/debug.h"

#include <stdio.h>
#include <string.h>

typedef struct table {
  ig_ts_pickler *p;
  IG_VEC(const char *) strings;
  ig_map index;    // string -> its number plus one
  ig_table seen;   // sources -> memo number plus one
  ig_map tags;     // "source start end" -> number plus one
  size_t nowhere;  // memo number plus one of the source that is none
} table;

static bool no_memory(table *t) {
  (void)ig_fail(t->p->c, IG_NOMEM, "out of memory");
  return false;
}

static void op(table *t, int code) {
  ig_pickle_op(&t->p->w, code);
}

// ---- strings

static size_t intern(table *t, const char *text, size_t n) {
  char *key = ig_arena_strn(&t->p->arena, text, n);
  ig_map_value *v = key ? ig_map_put(&t->index, key) : NULL;
  if (!v || (!v->num && !ig_vec_push(t->p->c->alloc, &t->strings, key))) {
    (void)no_memory(t);
    return 0;
  }
  if (!v->num) v->num = t->strings.n;
  return v->num - 1;
}

// A line as it stands in the file, with the indentation that the source has lost, and its end.
static size_t intern_line(table *t, const ig_source *s, const char *line, size_t n) {
  bool blank = n == 0 || *line == '\n';
  if (s->indent == 0 || blank) return intern(t, line, n);
  char *whole = ig_arena_push(&t->p->arena, ig_mem_add(n, s->indent));
  if (!whole) return no_memory(t);
  memset(whole, ' ', s->indent);
  memcpy(whole + s->indent, line, n);
  return intern(t, whole, n + s->indent);
}

// Calls fn for each line; the last one may be empty.
static size_t line_length(const ig_source *s, size_t at) {
  const char *end = memchr(s->text + at, '\n', s->n - at);
  return end ? (size_t)(end - s->text) - at + 1 : s->n - at;
}

static void add_source(table *t, const ig_source *s) {
  for (size_t at = 0; at < s->n; at += line_length(s, at)) {
    (void)intern_line(t, s, s->text + at, line_length(s, at));
  }
  if (s->n && s->text[s->n - 1] == '\n') (void)intern(t, "", 0);
  if (s->file) (void)intern(t, s->file, strlen(s->file));
}

// ---- places

// The offset in the text with its indentation.
static int64_t offset_in_file(const ig_source *s, size_t offset) {
  size_t lines = 0;
  for (size_t at = 0; at <= offset && at < s->n; at += line_length(s, at)) {
    bool blank = s->text[at] == '\n';
    if (!blank) lines++;
  }
  return (int64_t)(offset + ig_mem_mul(lines, s->indent));
}

static void put_lines(table *t, const ig_source *s) {
  ig_ts_pickler_global(t->p, "torch.jit._pickle", "build_intlist");
  op(t, IG_PICKLE_OP_MARK);
  op(t, IG_PICKLE_OP_LIST);
  op(t, IG_PICKLE_OP_MARK);
  for (size_t at = 0; s && at < s->n; at += line_length(s, at)) {
    ig_pickle_int(&t->p->w, (int64_t)intern_line(t, s, s->text + at, line_length(s, at)));
  }
  if (s && s->n && s->text[s->n - 1] == '\n') ig_pickle_int(&t->p->w, (int64_t)intern(t, "", 0));
  op(t, IG_PICKLE_OP_APPENDS);
  op(t, IG_PICKLE_OP_TUPLE);
  op(t, IG_PICKLE_OP_REDUCE);
}

static bool put_source(table *t, const ig_source *s) {
  ig_table_slot *slot = s ? ig_table_put(&t->seen, s) : NULL;
  if (s && !slot) return no_memory(t);
  int64_t number = s ? slot->number : (int64_t)t->nowhere;
  if (number) {
    ig_pickle_get(&t->p->w, (uint32_t)number - 1);
    return true;
  }
  put_lines(t, s);
  size_t file = s && s->file ? intern(t, s->file, strlen(s->file)) : 0;
  ig_pickle_int(&t->p->w, (int64_t)file);
  ig_pickle_int(&t->p->w, s ? (int64_t)s->first_line : 0);
  op(t, IG_PICKLE_OP_TUPLE3);
  number = (int64_t)ig_pickle_put(&t->p->w) + 1;
  if (s) slot->number = number;
  if (!s) t->nowhere = (size_t)number;
  return true;
}

// Equal places have equal numbers.
static size_t tag_of(table *t, const ig_srange *r) {
  char key[96];
  const char *kept = NULL;
  (void)snprintf(key, sizeof key, "%p %zu %zu", (const void *)r->source, r->start, r->end);
  ig_map_value *v = ig_map_keep(&t->tags, &t->p->arena, key, &kept);
  if (!v) return no_memory(t);
  if (!v->num) v->num = t->tags.n;
  return v->num - 1;
}

static bool put_mark(table *t, const ig_sprint_mark *m) {
  const ig_source *s = m->range.source;
  ig_pickle_int(&t->p->w, (int64_t)m->offset);
  if (!put_source(t, s)) return false;
  ig_pickle_int(&t->p->w, s ? offset_in_file(s, m->range.start) : 0);
  ig_pickle_int(&t->p->w, s ? offset_in_file(s, m->range.end) : 0);
  op(t, IG_PICKLE_OP_TUPLE3);
  ig_pickle_int(&t->p->w, (int64_t)tag_of(t, &m->range));
  op(t, IG_PICKLE_OP_TUPLE3);
  return true;
}

static bool put_marks(table *t, const ig_sprint_text *text) {
  op(t, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < text->marks.n; i++) {
    const ig_sprint_mark *m = &text->marks.at[i];
    const ig_sprint_mark *last = i ? m - 1 : NULL;
    bool nowhere = last && !m->range.source && !last->range.source;
    if (!nowhere && !put_mark(t, m)) return false;
  }
  op(t, IG_PICKLE_OP_TUPLE);
  (void)ig_pickle_put(&t->p->w);
  return true;
}

static bool put_all(table *t, const ig_sprint_text *text) {
  (void)intern(t, "", 0);
  for (size_t i = 0; i < text->marks.n; i++) {
    const ig_source *s = text->marks.at[i].range.source;
    bool known = !s || (i && text->marks.at[i - 1].range.source == s);
    if (!known) add_source(t, s);
  }
  ig_pickle_begin(&t->p->w);
  static const char format[] = "FORMAT_WITH_STRING_TABLE";
  ig_ts_pickler_string(t->p, format, sizeof format - 1);
  op(t, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < t->strings.n; i++) {
    ig_ts_pickler_string(t->p, t->strings.at[i], strlen(t->strings.at[i]));
  }
  op(t, IG_PICKLE_OP_TUPLE);
  (void)ig_pickle_put(&t->p->w);
  if (!put_marks(t, text)) return false;
  op(t, IG_PICKLE_OP_TUPLE3);
  ig_pickle_stop(&t->p->w);
  return t->p->c->status == IG_OK && !ig_ts_pickler_failed(t->p);
}

bool ig_ts_debug_write(ig_ts_pickler *p, const ig_sprint_text *text) {
  table t = {.p = p,
             .index = ig_map_make(p->c->alloc),
             .seen = ig_table_make(p->c->alloc),
             .tags = ig_map_make(p->c->alloc)};
  bool ok = put_all(&t, text);
  ig_vec_free(p->c->alloc, &t.strings);
  ig_map_free(&t.index);
  ig_map_free(&t.tags);
  ig_table_free(&t.seen);
  return ok;
}
