// SPDX-License-Identifier: Apache-2.0
// Names, memory and notes of an edit.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "edit/edit.h"

bool ig_ed_ok(const ig_edit *e) {
  return e->c->status == IG_OK;
}

void ig_ed_no_memory(ig_edit *e) {
  if (e->c->status == IG_OK) (void)ig_fail(e->c, IG_NOMEM, "out of memory");
}

ig_map_value *ig_ed_put(ig_edit *e, ig_map *map, const char *key) {
  ig_map_value *at = ig_map_put(map, key);
  if (!at) ig_ed_no_memory(e);
  return at;
}

void *ig_ed_push(ig_edit *e, size_t n, size_t size) {
  void *at = ig_ed_ok(e) ? ig_arena_array(&e->m.arena, n, size) : NULL;
  if (!at) ig_ed_no_memory(e);
  return at;
}

const char *ig_ed_text(ig_edit *e, const char *fmt, ...) {
  ig_str s = ig_str_make(e->c->alloc);
  va_list args;
  va_start(args, fmt);
  ig_str_addv(&s, fmt, args);
  va_end(args);
  const char *text = s.failed ? NULL : ig_arena_strn(&e->m.arena, s.at ? s.at : "", s.n);
  ig_str_free(&s);
  if (!text) ig_ed_no_memory(e);
  return text ? text : "";
}

// ---- names

static void take(ig_edit *e, const char *name) {
  if (*name) (void)ig_ed_put(e, &e->names, name);
}

void ig_ed_take_names(ig_edit *e, const ig_om_graph *g) {
  for (size_t i = 0; i < g->ninputs; i++) take(e, g->inputs[i].name);
  for (size_t i = 0; i < g->ninits; i++) take(e, g->inits[i]->name);
  for (size_t i = 0; i < g->nsparse; i++) take(e, g->sparse[i]->values->name);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->noutputs; k++) take(e, n->outputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) ig_ed_take_names(e, a->graphs[j]);
    }
  }
}

const char *ig_ed_fresh(ig_edit *e, const char *base, const char *word) {
  while (ig_ed_ok(e)) {
    const char *name = ig_ed_text(e, "%s%s%s_%zu", base, *base ? "/" : "", word, e->nfresh++);
    if (ig_map_find(&e->names, name)) continue;
    take(e, name);
    return name;
  }
  return "";
}

void ig_ed_note(ig_edit *e, const ig_edit_note *note) {
  ig_edit_note kept = *note;
  kept.name = ig_ed_text(e, "%s", note->name ? note->name : "");
  kept.op = ig_ed_text(e, "%s", note->op ? note->op : "");
  kept.why = ig_ed_text(e, "%s", note->why ? note->why : "");
  if (ig_ed_ok(e) && !ig_vec_push(e->c->alloc, &e->notes, kept)) ig_ed_no_memory(e);
}

bool ig_ed_matches(const char *pattern, const char *name, ig_bytes *part) {
  const char *star = strchr(pattern, '*');
  *part = (ig_bytes){(const uint8_t *)"", 0};
  if (!star) return strcmp(pattern, name) == 0;
  size_t before = (size_t)(star - pattern);
  size_t after = strlen(star + 1);
  size_t n = strlen(name);
  if (n < before + after || memcmp(pattern, name, before) != 0 ||
      memcmp(star + 1, name + n - after, after) != 0) {
    return false;
  }
  *part = (ig_bytes){(const uint8_t *)name + before, n - before - after};
  return true;
}

static bool in_word(char ch) {
  return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
         (ch >= 'A' && ch <= 'Z');
}

const char *ig_ed_find_word(const char *at, size_t *n) {
  while (*at) {
    const char *end = at;
    while (in_word(*end)) end++;
    *n = (size_t)(end - at);
    if (*n && !(*at >= '0' && *at <= '9')) return at;
    at = *n ? end : at + 1;  // past a number or any other character
  }
  return NULL;
}

// ---- modules

static const char *metadata(const ig_om_node *n, const char *key) {
  for (size_t i = 0; i < n->nmetadata; i++)
    if (strcmp(n->metadata[i].key, key) == 0) return n->metadata[i].value;
  return NULL;
}

// "/encoder/layer.0/MatMul" is a node of module encoder.layer.0. What is in a Sequential repeats
// its name: "/stem/stem.1/Conv" is one of stem.1.
static const char *from_name(const char *name, char *room, size_t size) {
  const char *end = strrchr(name, '/');
  size_t n = 0;
  const char *before = "";
  size_t nbefore = 0;
  room[0] = 0;
  if (name[0] != '/' || !end || end == name) return room;
  for (const char *p = name; p < end;) {
    const char *part = p + 1;
    size_t len = strcspn(part, "/");
    bool again =
        nbefore && len > nbefore && part[nbefore] == '.' && strncmp(part, before, nbefore) == 0;
    const char *from = again ? part + nbefore : part;
    size_t left = len - (size_t)(from - part);
    if (n + left + 2 > size) break;
    if (n && !again) room[n++] = '.';
    memcpy(room + n, from, left);
    n += left;
    before = part;
    nbefore = len;
    p = part + len;
  }
  room[n] = 0;
  return room;
}

// The last but one text in quotes of "['', 'encoder', 'encoder.layer.0', 'add']": the last one
// names the node.
static const char *from_scopes(const char *list, char *room, size_t size) {
  const char *end = list + strlen(list);
  for (int quotes = 0; end > list && quotes < 3;) quotes += *--end == '\'';
  const char *start = end;
  while (start > list && start[-1] != '\'') start--;
  size_t n = (size_t)(end - start);
  if (n >= size) n = size - 1;
  memcpy(room, start, n);
  room[n] = 0;
  return room;
}

// The innermost level of "key,path,type;key,path,type": its path, without the root's name.
static const char *from_stack(const char *stack, char *room, size_t size) {
  static const char root[] = "L['self'].";
  const char *level = strrchr(stack, ';');
  level = level ? level + 1 : stack;
  const char *path = strchr(level, ',');
  size_t n = path ? strcspn(path + 1, ",") : 0;
  path = path ? path + 1 : level;
  if (strncmp(path, root, sizeof root - 1) == 0) {
    path += sizeof root - 1;
    n -= sizeof root - 1;
  }
  if (n >= size) n = size - 1;
  memcpy(room, path, n);
  room[n] = 0;
  return room;
}

const char *ig_ed_module(const ig_om_node *n, char *room, size_t size) {
  const char *scopes = metadata(n, "pkg.torch.onnx.name_scopes");
  const char *stack = scopes ? NULL : metadata(n, "pkg.torch.onnx.nn_module_stack");
  if (stack && *stack && *stack != '{') return from_stack(stack, room, size);
  return scopes ? from_scopes(scopes, room, size) : from_name(n->name, room, size);
}

static bool is_within(const char *module, const char *pattern) {
  size_t n = strlen(pattern);
  return n && strncmp(module, pattern, n) == 0 && (!module[n] || module[n] == '.');
}

bool ig_ed_node_is(const ig_om_node *n, const char *pattern) {
  char room[512];
  ig_bytes part;
  if (ig_ed_matches(pattern, n->name, &part) || ig_ed_matches(pattern, n->op_type, &part))
    return true;
  const char *module = ig_ed_module(n, room, sizeof room);
  return is_within(module, pattern) || (*module && ig_ed_matches(pattern, module, &part));
}

// ---- unknown names

enum { LONGEST = 200, SHOWN = 4 };

// Steps from one text to the other, of letters: at most LONGEST of them are looked at.
static size_t distance(const char *a, const char *b) {
  size_t row[LONGEST + 1];
  size_t n = strlen(b);
  if (n > LONGEST) n = LONGEST;
  for (size_t k = 0; k <= n; k++) row[k] = k;
  for (size_t i = 0; a[i] && i < LONGEST; i++) {
    size_t left = i + 1;
    size_t corner = i;
    for (size_t k = 0; k < n; k++) {
      size_t up = row[k + 1];
      size_t best = corner + (a[i] != b[k]);
      if (up + 1 < best) best = up + 1;
      if (left + 1 < best) best = left + 1;
      row[k] = left;
      corner = up;
      left = best;
    }
    row[n] = left;
  }
  return row[n];
}

ig_status ig_ed_unknown(ig_edit *e, const char *kind, const char *name, const char *const *names,
                        size_t n) {
  const char *best[SHOWN] = {NULL};
  size_t cost[SHOWN];
  for (size_t i = 0; i < SHOWN; i++) cost[i] = SIZE_MAX;
  for (size_t i = 0; i < n; i++) {
    bool listed = !*names[i];
    for (size_t k = 0; k < SHOWN && best[k]; k++) listed |= strcmp(best[k], names[i]) == 0;
    if (listed) continue;
    size_t d = strstr(names[i], name) ? 1 : distance(name, names[i]) + 1;
    size_t at = SHOWN;
    while (at > 0 && d < cost[at - 1]) at--;
    for (size_t k = SHOWN - 1; k > at; k--) {
      best[k] = best[k - 1];
      cost[k] = cost[k - 1];
    }
    if (at < SHOWN) {
      best[at] = names[i];
      cost[at] = d;
    }
  }
  ig_str list = ig_str_make(e->c->alloc);
  for (size_t i = 0; i < SHOWN && best[i]; i++) ig_str_add(&list, "%s'%s'", i ? ", " : "", best[i]);
  ig_status st = ig_fail(e->c, IG_NOT_FOUND, "%s: there is no %s '%s'%s%s", e->m.name, kind, name,
                         list.n ? "; the most similar are " : "", list.n ? list.at : "");
  ig_str_free(&list);
  return st;
}
