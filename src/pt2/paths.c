// SPDX-License-Identifier: Apache-2.0
// Names of PyTorch 2.1, which are expressions: the weight body.1.bias is called
// L__self___body_1.bias, and a module stack says L__self___body_1:(getattr(L['self'].body,
// '1'),class). Both become what they are since 2.2.
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

static ig_status know(ig_pt2_reader *r, const char *key, size_t nkey, const char *path) {
  const char *kept = ig_arena_strn(r->source->arena, key, nkey);
  const char *value = ig_arena_strn(r->source->arena, path, strlen(path));
  ig_map_value *v = kept && value ? ig_map_put(&r->modules, kept) : NULL;
  if (!v) return ig_pt2_no_memory(r);
  v->ptr = (void *)value;
  return IG_OK;
}

const char *ig_pt2_module_stack(ig_pt2_reader *r, const char *text) {
  ig_str out = ig_str_make(r->c->alloc);
  bool old = r->in.major == 1;
  while (old && *text) {
    size_t n = strcspn(text, ";");
    const char *expr = NULL;
    size_t nexpr = 0;
    size_t nkey = 0;
    old = split(text, n, &expr, &nexpr, &nkey);
    if (!old) break;
    ig_str path = ig_str_make(r->c->alloc);
    add_path(&path, expr, nexpr);
    ig_str_add(&out, "%s%.*s,%s,%.*s", out.n ? ";" : "", (int)nkey, text, path.at ? path.at : "",
               (int)(text + n - 1 - (expr + nexpr + 1)), expr + nexpr + 1);
    if (know(r, text, nkey, path.at ? path.at : "") != IG_OK) old = false;
    ig_str_free(&path);
    text += n + (text[n] == ';');
  }
  const char *kept =
      old && out.n && !out.failed ? ig_arena_strn(r->source->arena, out.at, out.n) : NULL;
  ig_str_free(&out);
  return kept;
}

ig_status ig_pt2_read_modules(ig_pt2_reader *r, const ig_json *graph) {
  const ig_json *nodes = r->in.major == 1 ? ig_json_find(graph, "nodes") : NULL;
  for (size_t i = 0; nodes && nodes->kind == IG_JSON_ARRAY && i < nodes->n; i++) {
    const ig_json *meta = ig_json_find(&nodes->items[i], "metadata");
    const ig_json *stack = meta ? ig_json_find(meta, "nn_module_stack") : NULL;
    bool plain = stack && stack->kind == IG_JSON_STRING && !memchr(stack->text, 0, stack->n);
    if (plain) (void)ig_pt2_module_stack(r, stack->text);
  }
  return ig_ctx_status(r->c);
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
