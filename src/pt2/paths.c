// SPDX-License-Identifier: Apache-2.0
// Names of PyTorch 2.1, which are expressions: the weight body.1.bias is named
// L__self___body_1.bias, and a module stack contains L__self___body_1:(getattr(L['self'].body,
// '1'),class). Both are converted to the form used since 2.2.
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "pt2/reader.h"

static const char self[] = "L__self__";

// getattr(L['self'].body, '1').conv -> body.1.conv
static void add_path(ig_str *out, const char *expr, size_t n) {
  size_t start = out->n;
  for (size_t i = 0; i < n; i++) {
    char quote = expr[i] == '.' ? '\0' : '\'';
    bool quoted = expr[i] == ',' && i + 2 < n && expr[i + 1] == ' ' && expr[i + 2] == '\'';
    if (expr[i] != '.' && !quoted) continue;
    size_t from = quoted ? i + 3 : i + 1;
    size_t to = from;
    while (to < n &&
           (quote ? expr[to] != quote : isalnum((unsigned char)expr[to]) || expr[to] == '_'))
      to++;
    ig_str_add(out, "%s%.*s", out->n > start ? "." : "", (int)(to - from), expr + from);
    i = to - 1;
  }
}

// One item: key:(expression,class). False: it is not of that form.
static bool split(const char *item, size_t n, const char **expr, size_t *nexpr, size_t *nkey) {
  const char *open = memchr(item, ':', n);
  if (!open || (size_t)(open - item) + 3 > n || open[1] != '(' || item[n - 1] != ')') return false;
  const char *comma = item + n - 1;
  while (comma > open && *comma != ',') comma--;  // the class has none
  if (comma == open) return false;
  *nkey = (size_t)(open - item);
  *expr = open + 2;
  *nexpr = (size_t)(comma - *expr);
  return true;
}

static ig_status know(ig_pt2_reader *r, const char *key, const char *path) {
  ig_map_value *v = ig_map_put(&r->modules, key);
  if (!v) return ig_pt2_no_memory(r);
  v->ptr = (void *)path;
  return IG_OK;
}

// One level; the memory of its texts is the file's.
static bool add_level(ig_pt2_reader *r, const char *item, size_t n, ig_pt2_stack *out) {
  const char *expr = NULL;
  size_t nexpr = 0;
  size_t nkey = 0;
  if (!split(item, n, &expr, &nexpr, &nkey)) return false;
  const char *type = expr + nexpr + 1;
  ig_str path = ig_str_make(r->c->alloc);
  add_path(&path, expr, nexpr);
  const char *text = path.at ? path.at : "";
  ig_module_level *l = &out->at[out->n++];
  l->key = ig_arena_strn(r->source->arena, item, nkey);
  l->path = ig_arena_strn(r->source->arena, text, strlen(text));
  l->type = ig_arena_strn(r->source->arena, type, (size_t)(item + n - 1 - type));
  bool ok = !path.failed && l->key && l->path && l->type && know(r, l->key, l->path) == IG_OK;
  if (!ok) (void)ig_pt2_no_memory(r);
  ig_str_free(&path);
  return ok;
}

bool ig_pt2_old_stack(ig_pt2_reader *r, const char *text, ig_pt2_stack *out) {
  bool old = r->in.major == 1;
  out->n = 0;
  while (old && *text) {
    size_t n = strcspn(text, ";");
    old = add_level(r, text, n, out);
    text += n + (text[n] == ';');
  }
  return old;
}

const char *ig_pt2_weight_path(ig_pt2_reader *r, const char *name) {
  size_t n = strlen(self);
  if (r->in.major != 1 || strncmp(name, self, n) != 0 || name[n] != '_' || !name[n + 1])
    return name;
  const char *dot = strchr(name, '.');
  const char *key = dot ? ig_arena_strn(r->source->arena, name, (size_t)(dot - name)) : NULL;
  const ig_map_value *module = key ? ig_map_find(&r->modules, key) : NULL;
  if (!module) return name + n + 1;
  size_t length = strlen(module->ptr) + strlen(dot);
  char *path = ig_arena_push(r->source->arena, length + 1);
  if (!path) {
    (void)ig_pt2_no_memory(r);
    return name;
  }
  memcpy(path, module->ptr, strlen(module->ptr));
  memcpy(path + strlen(module->ptr), dot, strlen(dot) + 1);
  return path[0] == '.' ? path + 1 : path;
}
