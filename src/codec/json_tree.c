// SPDX-License-Identifier: Apache-2.0
// Tree of a JSON text. Values are collected on one stack; a closing bracket moves those of its
// level into the arena. Objects are searched through a sorted index, so that malicious keys cost no
// more than others.
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"

enum { SMALL_OBJECT = 8 };

typedef struct frame {
  size_t first;  // of this level's values on the stack
  ig_json_member self;
} frame;

typedef struct builder {
  ig_json_reader r;
  ig_arena *arena;
  IG_VEC(ig_json_member) values;
  IG_VEC(frame) frames;
  const char *key;  // read, its value follows
  size_t key_n;
} builder;

static ig_status no_memory(builder *b) {
  return ig_fail(b->r.c, IG_NOMEM, "out of memory");
}

static int compare(const char *a, size_t an, const char *b, size_t bn) {
  int order = memcmp(a, b, an < bn ? an : bn);
  return order ? order : (an > bn) - (an < bn);
}

static int by_key(const void *a, const void *b) {
  const ig_json_member *x = *(const ig_json_member *const *)a;
  const ig_json_member *y = *(const ig_json_member *const *)b;
  return compare(x->key, x->key_n, y->key, y->key_n);
}

// Sorts pointers to the members; the index is kept only for large objects.
static ig_status index_object(builder *b, const ig_json_member *members, size_t n, ig_json *out) {
  const ig_json_member *small[SMALL_OBJECT] = {NULL};
  const ig_json_member **sorted =
      n <= SMALL_OBJECT ? small : ig_arena_array(b->arena, n, sizeof *sorted);
  if (!sorted) return no_memory(b);
  for (size_t i = 0; i < n; i++) sorted[i] = &members[i];
  qsort(sorted, n, sizeof *sorted, by_key);
  for (size_t i = 1; i < n; i++) {
    if (by_key(&sorted[i - 1], &sorted[i]) != 0) continue;
    char text[160] = "key occurs twice: ";
    strncat(text, sorted[i]->key, 100);
    return ig_json_fail(&b->r, sorted[i]->value.at, text);
  }
  out->members = members;
  out->sorted = sorted == small ? NULL : sorted;
  return IG_OK;
}

static ig_status close_level(builder *b) {
  frame f = b->frames.at[--b->frames.n];
  size_t n = b->values.n - f.first;
  const ig_json_member *values = n ? b->values.at + f.first : NULL;
  f.self.value.n = n;
  if (f.self.value.kind == IG_JSON_OBJECT) {
    ig_json_member *members = ig_arena_array(b->arena, n, sizeof *members);
    if (!members) return no_memory(b);
    if (n) memcpy(members, values, n * sizeof *members);
    IG_RETURN_IF_ERR(index_object(b, members, n, &f.self.value));
  } else {
    ig_json *items = ig_arena_array(b->arena, n, sizeof *items);
    if (!items) return no_memory(b);
    for (size_t i = 0; i < n; i++) items[i] = values[i].value;
    f.self.value.items = items;
  }
  b->values.n = f.first;
  return ig_vec_push(b->r.c->alloc, &b->values, f.self) ? IG_OK : no_memory(b);
}

static ig_status take(builder *b, const ig_json_token *t) {
  if (t->kind == IG_JSON_CLOSE) return close_level(b);
  if (t->kind == IG_JSON_KEY) {
    b->key = ig_arena_strn(b->arena, t->text, t->n);
    b->key_n = t->n;
    return b->key ? IG_OK : no_memory(b);
  }
  ig_json_member m = {b->key, b->key_n, {.kind = t->kind, .at = t->at}};
  b->key = NULL;
  if (t->kind == IG_JSON_ARRAY || t->kind == IG_JSON_OBJECT) {
    frame f = {b->values.n, m};
    return ig_vec_push(b->r.c->alloc, &b->frames, f) ? IG_OK : no_memory(b);
  }
  if (t->kind == IG_JSON_STRING || t->kind == IG_JSON_BIG) {
    m.value.n = t->n;
    m.value.text = ig_arena_strn(b->arena, t->text, t->n);
    if (!m.value.text) return no_memory(b);
  } else if (t->kind == IG_JSON_BOOL) {
    m.value.b = t->b;
  } else if (t->kind == IG_JSON_INT) {
    m.value.i = t->i;
  } else if (t->kind == IG_JSON_FLOAT) {
    m.value.f = t->f;
  }
  return ig_vec_push(b->r.c->alloc, &b->values, m) ? IG_OK : no_memory(b);
}

ig_status ig_json_parse(ig_ctx *c, const char *name, ig_bytes text, ig_arena *arena,
                        const ig_limits *limits, const ig_json **out) {
  *out = NULL;
  builder b = {.arena = arena};
  ig_json_reader_init(&b.r, c, name, text, limits);
  ig_json_token t;
  ig_status st = ig_json_next(&b.r, &t);
  while (st == IG_OK && t.kind != IG_JSON_END) {
    st = take(&b, &t);
    if (st == IG_OK) st = ig_json_next(&b.r, &t);
  }
  if (st == IG_OK) {
    ig_json *root = ig_arena_push(arena, sizeof *root);
    st = root ? IG_OK : no_memory(&b);
    if (root) *root = b.values.at[0].value;
    *out = root;
  }
  ig_vec_free(c->alloc, &b.values);
  ig_vec_free(c->alloc, &b.frames);
  ig_json_reader_free(&b.r);
  return st;
}

const ig_json *ig_json_find(const ig_json *object, const char *key) {
  if (!object || object->kind != IG_JSON_OBJECT) return NULL;
  size_t key_n = strlen(key);
  if (!object->sorted) {
    for (size_t i = 0; i < object->n; i++) {
      const ig_json_member *m = &object->members[i];
      if (compare(m->key, m->key_n, key, key_n) == 0) return &m->value;
    }
    return NULL;
  }
  size_t low = 0;
  size_t high = object->n;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    const ig_json_member *m = object->sorted[mid];
    int order = compare(m->key, m->key_n, key, key_n);
    if (order == 0) return &m->value;
    if (order < 0) low = mid + 1;
    if (order > 0) high = mid;
  }
  return NULL;
}

const char *ig_json_kind_text(ig_json_kind kind) {
  static const char *const text[] = {
      [IG_JSON_NULL] = "null",      [IG_JSON_BOOL] = "a bool",
      [IG_JSON_INT] = "an integer", [IG_JSON_BIG] = "a big integer",
      [IG_JSON_FLOAT] = "a number", [IG_JSON_STRING] = "a string",
      [IG_JSON_ARRAY] = "an array", [IG_JSON_OBJECT] = "an object",
      [IG_JSON_KEY] = "a key",      [IG_JSON_CLOSE] = "a bracket",
      [IG_JSON_END] = "the end",
  };
  return text[kind];
}
