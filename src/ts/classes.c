// SPDX-License-Identifier: Apache-2.0
// What the sources of a TorchScript archive declare: for each class the names of its parameters and
// buffers. Only these two lines of a class are read; the file code/a/b.py holds classes a.b.C.
#include <string.h>

#include "ts/archive.h"

typedef struct line {
  const char *at;
  size_t n;
} line;

static bool next_line(const char **text, line *out) {
  if (!**text) return false;
  const char *end = strchr(*text, '\n');
  out->at = *text;
  out->n = end ? (size_t)(end - *text) : strlen(*text);
  *text += out->n + (end != NULL);
  return true;
}

static bool begins(const line *l, const char *prefix) {
  size_t n = strlen(prefix);
  return l->n >= n && memcmp(l->at, prefix, n) == 0;
}

static bool no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return false;
}

// "__torch__/a/b.py" and "Class" -> "__torch__.a.b.Class"
static const char *qualified(ig_ts *ts, const char *file, const char *name, size_t n) {
  size_t stem = strlen(file) - strlen(".py");
  char *text = ig_arena_push(&ts->arena, ig_mem_add(stem + 2, n));
  if (!text) return NULL;
  for (size_t i = 0; i < stem; i++) text[i] = (char)(file[i] == '/' ? '.' : file[i]);
  text[stem] = '.';
  memcpy(text + stem + 1, name, n);
  return text;
}

static ig_ts_class *add_class(ig_ctx *c, ig_ts *ts, const char *file, const line *l) {
  const char *name = l->at + strlen("class ");
  size_t n = 0;
  while (name + n < l->at + l->n && name[n] != '(' && name[n] != ':') n++;
  const char *key = qualified(ts, file, name, n);
  ig_map_value *v = key ? ig_map_put(&ts->classes, key) : NULL;
  if (!v) {
    (void)no_memory(c);
    return NULL;
  }
  if (!v->ptr) {
    ig_ts_class *made = ig_arena_push(&ts->arena, sizeof *made);
    if (!made) {
      (void)no_memory(c);
      return NULL;
    }
    made->roles = ig_map_make(ts->alloc);
    if (!ig_vec_push(ts->alloc, &ts->all_classes, made)) {
      (void)no_memory(c);
      return NULL;
    }
    v->ptr = made;
  }
  return v->ptr;
}

// ["weight", "bias", ]: what stands between quotes.
static bool read_names(ig_ctx *c, ig_ts *ts, const line *l, ig_ts_role role, ig_ts_class *into) {
  const char *end = l->at + l->n;
  const char *p = memchr(l->at, '[', l->n);
  while (p && p < end) {
    const char *from = memchr(p, '"', (size_t)(end - p));
    const char *to = from ? memchr(from + 1, '"', (size_t)(end - from - 1)) : NULL;
    if (!to) break;
    const char *name = ig_arena_strn(&ts->arena, from + 1, (size_t)(to - from - 1));
    ig_map_value *v = name ? ig_map_put(&into->roles, name) : NULL;
    if (!v) return no_memory(c);
    v->num = (size_t)role + 1;
    p = to + 1;
  }
  return true;
}

ig_status ig_ts_read_classes(ig_ctx *c, ig_ts *ts) {
  bool ok = true;
  for (size_t i = 0; i < ts->sources.n && ok; i++) {
    const char *text = ts->sources.at[i].text;
    ig_ts_class *current = NULL;
    line l;
    while (ok && next_line(&text, &l)) {
      if (begins(&l, "class ")) {
        current = add_class(c, ts, ts->sources.at[i].name, &l);
        ok = current != NULL;
      } else if (current && begins(&l, "  __parameters__ =")) {
        ok = read_names(c, ts, &l, IG_TS_PARAMETER, current);
      } else if (current && begins(&l, "  __buffers__ =")) {
        ok = read_names(c, ts, &l, IG_TS_BUFFER, current);
      }
    }
  }
  return ok ? IG_OK : ig_ctx_status(c);
}

const ig_ts_class *ig_ts_find_class(const ig_ts *ts, const char *name) {
  ig_map_value *v = ig_map_find(&ts->classes, name);
  return v ? v->ptr : NULL;
}
