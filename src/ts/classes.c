// SPDX-License-Identifier: Apache-2.0
// What the sources of a TorchScript archive declare: for each class the names of its parameters and
// buffers. The file code/a/b.py holds classes a.b.C. A source that is no Python is refused, with
// its line.
#include <string.h>

#include "script/tree.h"
#include "ts/archive.h"

// "__torch__/a/b.py" and "Class" -> "__torch__.a.b.Class"
static const char *qualified(ig_ts *ts, const char *file, const ig_tree *class) {
  size_t stem = strlen(file) - strlen(".py");
  char *text = ig_arena_push(&ts->arena, ig_mem_add(stem + 2, class->n_text));
  if (!text) return NULL;
  for (size_t i = 0; i < stem; i++) text[i] = (char)(file[i] == '/' ? '.' : file[i]);
  text[stem] = '.';
  memcpy(text + stem + 1, class->text, class->n_text);
  return text;
}

static ig_ts_class *add_class(ig_ts *ts, const char *file, const ig_tree *class) {
  const char *key = qualified(ts, file, class);
  ig_map_value *v = key ? ig_map_put(&ts->classes, key) : NULL;
  if (!v || v->ptr) return v ? v->ptr : NULL;
  ig_ts_class *made = ig_arena_push(&ts->arena, sizeof *made);
  if (!made) return NULL;
  made->roles = ig_map_make(ts->alloc);
  if (!ig_vec_push(ts->alloc, &ts->all_classes, made)) return NULL;
  v->ptr = made;
  return made;
}

// __parameters__ = ["weight", "bias", ]
static bool read_names(ig_ts *ts, const ig_tree *list, ig_ts_role role, ig_ts_class *into) {
  for (size_t i = 0; list->kind == IG_TREE_LIST && i < list->n; i++) {
    const ig_tree *item = list->at[i];
    if (item->kind != IG_TREE_STRING) continue;
    const char *name = ig_arena_strn(&ts->arena, item->text, item->n_text);
    ig_map_value *v = name ? ig_map_put(&into->roles, name) : NULL;
    if (!v) return false;
    v->num = (size_t)role + 1;
  }
  return true;
}

static bool read_class(ig_ts *ts, const char *file, const ig_tree *class) {
  ig_ts_class *into = add_class(ts, file, class);
  const ig_tree *body = class->at[0];
  for (size_t i = 0; into && i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind != IG_TREE_ASSIGN || s->n != 2 || s->at[1]->kind != IG_TREE_NAME) continue;
    const char *name = s->at[1]->text;
    bool ok = true;
    if (strcmp(name, "__parameters__") == 0) ok = read_names(ts, s->at[0], IG_TS_PARAMETER, into);
    if (strcmp(name, "__buffers__") == 0) ok = read_names(ts, s->at[0], IG_TS_BUFFER, into);
    if (!ok) return false;
  }
  return into != NULL;
}

static bool read_source(ig_ctx *c, ig_ts *ts, const ig_ts_source *from) {
  ig_arena trees = ig_arena_make(c->alloc);
  ig_source source = {
      .text = from->text, .n = strlen(from->text), .file = from->name, .first_line = 1};
  const ig_tree *block = ig_tree_parse(c, &trees, &source);
  bool ok = block != NULL;
  for (size_t i = 0; ok && i < block->n; i++) {
    if (block->at[i]->kind != IG_TREE_CLASS) continue;
    ok = read_class(ts, from->name, block->at[i]) || ig_no_memory(c);
  }
  ig_arena_free(&trees);
  return ok;
}

ig_status ig_ts_read_classes(ig_ctx *c, ig_ts *ts) {
  for (size_t i = 0; i < ts->sources.n; i++) {
    if (!read_source(c, ts, &ts->sources.at[i])) return ig_ctx_status(c);
  }
  return IG_OK;
}

const ig_ts_class *ig_ts_find_class(const ig_ts *ts, const char *name) {
  ig_map_value *v = ig_map_find(&ts->classes, name);
  return v ? v->ptr : NULL;
}
