// SPDX-License-Identifier: Apache-2.0
// Names in the sources of an archive that the language itself does not have: `__torch__.a.b.C` and
// `CONSTANTS.c0`.
#include <stdio.h>
#include <string.h>

#include "ts/load.h"

// ---- dotted names

// A name that may be the beginning of a longer one. It lives in the unit's arena.
typedef struct path {
  ig_ts_loader *l;
  const char *text;
} path;

static bool path_attr(ig_ctx *c, void *object, const char *name, ig_srange where, ig_sugar *out);

static void describe_path(void *object, ig_str *s) {
  ig_str_add(s, "'%s'", ((const path *)object)->text);
}

static const ig_sugar_host_ops path_ops = {.attr = path_attr, .describe = describe_path};

static bool make_path(ig_ts_loader *l, const char *prefix, const char *name, ig_sugar *out) {
  size_t room = ig_mem_add(strlen(prefix), strlen(name) + 2);
  path *p = ig_arena_push(&l->unit->arena, sizeof *p);
  char *text = ig_arena_push(&l->unit->arena, room);
  if (!p || !text) return ig_no_memory(l->c);
  (void)snprintf(text, room, "%s%s%s", prefix, *prefix ? "." : "", name);
  *p = (path){l, text};
  *out = (ig_sugar){.kind = IG_SUGAR_HOST, .host = {&path_ops, p}};
  return true;
}

static bool give_function(ig_ts_loader *l, ig_sfunction *f, ig_sugar *out) {
  ig_sfunction **at = ig_arena_array(&l->unit->arena, 1, sizeof(ig_sfunction *));
  if (!at) return ig_no_memory(l->c);
  at[0] = f;
  *out = (ig_sugar){.kind = IG_SUGAR_FUNCTION, .functions = at, .n_functions = 1};
  return true;
}

static bool path_attr(ig_ctx *c, void *object, const char *name, ig_srange where, ig_sugar *out) {
  (void)where;
  const path *p = object;
  if (!make_path(p->l, p->text, name, out)) return false;
  const char *whole = ((const path *)out->host.object)->text;
  const ig_stype *type = ig_ts_loader_type(p->l, whole);
  if (type) *out = (ig_sugar){.kind = IG_SUGAR_CLASS, .type = type};
  if (type || c->status != IG_OK) return c->status == IG_OK;
  ig_sfunction *f = ig_ts_loader_function(p->l, whole);
  if (f) return give_function(p->l, f, out);
  return c->status == IG_OK;
}

// ---- constants

static bool constant_attr(ig_ctx *c, void *object, const char *name, ig_srange where,
                          ig_sugar *out) {
  (void)c;
  (void)where;
  const ig_ts_loader *l = object;
  const ig_sconstant *k = ig_sclass_constant(l->constants, name);
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  if (k) {
    *out = (ig_sugar){.kind = IG_SUGAR_CONSTANT, .constant = k->value, .constant_type = k->type};
  }
  return true;
}

static void describe_constants(void *object, ig_str *s) {
  (void)object;
  ig_str_add(s, "the table of constants");
}

static const ig_sugar_host_ops constant_ops = {.attr = constant_attr,
                                               .describe = describe_constants};

// ---- global names

bool ig_ts_loader_resolve(ig_ctx *c, void *user, const char *name, ig_srange where, ig_sugar *out) {
  (void)where;
  (void)c;
  ig_ts_loader *l = user;
  if (strcmp(name, "__torch__") == 0) return make_path(l, "", name, out);
  if (strcmp(name, "CONSTANTS") == 0) {
    *out = (ig_sugar){.kind = IG_SUGAR_HOST, .host = {&constant_ops, l}};
    return true;
  }
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  return true;
}
