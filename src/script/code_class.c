// SPDX-License-Identifier: Apache-2.0
// Classes, enums, interfaces and named tuples as Python source, in the form that archives have.
#include <string.h>

#include "op/native.h"
#include "script/code_printer.h"

static void put(const ig_sprinter *p, const char *text) {
  ig_sprinter_put(p, p->out, text);
}

static void put_names(const ig_sprinter *p, const char *title, const char *const *names, size_t n) {
  put(p, "  ");
  put(p, title);
  put(p, " = [");
  for (size_t i = 0; i < n; i++) {
    put(p, "\"");
    put(p, names[i]);
    put(p, "\", ");
  }
  put(p, "]\n");
}

static bool put_roles(ig_sprinter *p, const ig_sclass *k, const char *title, ig_srole role) {
  const char **names = ig_arena_array(&p->arena, k->attributes.n, sizeof *names);
  if (!names) return ig_sprinter_no_memory(p);
  size_t n = 0;
  for (size_t i = 0; i < k->attributes.n; i++) {
    if (k->attributes.at[i].role == role) names[n++] = k->attributes.at[i].name;
  }
  put_names(p, title, names, n);
  return true;
}

static bool put_hooks(ig_sprinter *p, const char *title, ig_sfunction *const *at, size_t n) {
  if (n == 0) return true;
  const char **names = ig_arena_array(&p->arena, n, sizeof *names);
  if (!names) return ig_sprinter_no_memory(p);
  for (size_t i = 0; i < n; i++) names[i] = at[i]->name;
  put_names(p, title, names, n);
  return true;
}

static bool put_attribute(ig_sprinter *p, const ig_sattribute *a, bool first) {
  bool plain = ig_name_is_identifier(a->name);
  if (!plain && first) put(p, "  __annotations__ = []\n");
  put(p, plain ? "  " : "  __annotations__[\"");
  put(p, a->name);
  put(p, plain ? " : " : "\"] = ");
  bool ok = ig_sprinter_put_type(p, p->out, a->type);
  put(p, "\n");
  return ok;
}

static bool put_value(ig_sprinter *p, const ig_stype *type, ig_value v) {
  ig_str s = ig_str_make(p->c->alloc);
  bool ok = ig_sprint_value(p->c, type, v, p->refs, &s);
  if (ok && s.failed) ok = ig_sprinter_no_memory(p);
  if (ok) put(p, s.at ? s.at : "");
  ig_str_free(&s);
  return ok;
}

static bool put_constant(ig_sprinter *p, const ig_sconstant *k) {
  put(p, "  ");
  put(p, k->name);
  put(p, " : Final[");
  if (!ig_sprinter_put_type(p, p->out, k->type)) return false;
  put(p, "] = ");
  if (!put_value(p, k->type, k->value)) return false;
  put(p, "\n");
  return true;
}

static const char *last_part(const char *qualified) {
  const char *dot = strrchr(qualified, '.');
  return dot ? dot + 1 : qualified;
}

static bool contains(ig_sfunction *const *at, size_t n, const ig_sfunction *f) {
  for (size_t i = 0; i < n; i++) {
    if (at[i] == f) return true;
  }
  return false;
}

static bool put_method(ig_sprinter *p, ig_sfunction *f) {
  static const ig_sprint_options options = {.level = 1, .self_type = true, .importable = true};
  return ig_sfunction_ensure(p->c, f) && ig_sprint_function(p->c, f, &options, p->refs, p->out);
}

// Methods, then hooks and the hooks that run before, each once.
static bool put_methods(ig_sprinter *p, const ig_sclass *k) {
  for (size_t i = 0; i < k->methods.n; i++) {
    ig_sfunction *f = k->methods.at[i];
    if (f->is_hook || f->refusal) continue;
    if (!put_method(p, f)) return false;
  }
  for (size_t i = 0; i < k->hooks.n; i++) {
    if (!contains(k->hooks.at, i, k->hooks.at[i]) && !put_method(p, k->hooks.at[i])) return false;
  }
  for (size_t i = 0; i < k->pre_hooks.n; i++) {
    if (contains(k->pre_hooks.at, i, k->pre_hooks.at[i])) continue;
    if (!put_method(p, k->pre_hooks.at[i])) return false;
  }
  return true;
}

static bool put_class(ig_sprinter *p, const ig_sclass *k) {
  put(p, "class ");
  put(p, last_part(k->type->name));
  put(p, k->module ? "(Module):\n" : ":\n");
  if (k->module) {
    bool ok = put_roles(p, k, "__parameters__", IG_SROLE_PARAMETER) &&
              put_roles(p, k, "__buffers__", IG_SROLE_BUFFER) &&
              put_hooks(p, "__forward_pre_hooks__", k->pre_hooks.at, k->pre_hooks.n) &&
              put_hooks(p, "__forward_hooks__", k->hooks.at, k->hooks.n);
    if (!ok) return false;
  }
  for (size_t i = 0; i < k->attributes.n; i++) {
    if (!put_attribute(p, &k->attributes.at[i], i == 0)) return false;
  }
  for (size_t i = 0; i < k->constants.n; i++) {
    if (!put_constant(p, &k->constants.at[i])) return false;
  }
  return put_methods(p, k);
}

static bool put_enum(ig_sprinter *p, const ig_senum *e) {
  put(p, "class ");
  put(p, last_part(e->type->name));
  put(p, "(Enum):\n");
  for (size_t i = 0; i < e->members.n; i++) {
    put(p, "  ");
    put(p, e->members.at[i].name);
    put(p, " = ");
    if (!put_value(p, e->value_type, e->members.at[i].value)) return false;
    put(p, "\n");
  }
  return true;
}

static bool put_interface(ig_sprinter *p, const ig_sinterface *i) {
  put(p, "class ");
  put(p, last_part(i->type->name));
  put(p, i->module ? "(ModuleInterface):\n" : "(Interface):\n");
  for (size_t m = 0; m < i->methods.n; m++) {
    const ig_sfunction *f = i->methods.at[m];
    put(p, "  def ");
    put(p, f->name);
    put(p, "(self");
    for (size_t a = 1; a < f->n_params; a++) {
      put(p, ", ");
      put(p, f->params[a].name);
      put(p, ": ");
      if (!ig_sprinter_put_type(p, p->out, f->params[a].type)) return false;
    }
    put(p, ") -> ");
    if (!ig_sprinter_put_type(p, p->out, f->result)) return false;
    put(p, ":\n    pass\n");
  }
  return true;
}

static bool put_named_tuple(ig_sprinter *p, const ig_stype *t) {
  put(p, "class ");
  put(p, last_part(t->name));
  put(p, "(NamedTuple):\n");
  for (size_t i = 0; i < t->n; i++) {
    put(p, "  ");
    put(p, t->names[i]);
    put(p, " : ");
    if (!ig_sprinter_put_type(p, p->out, t->at[i])) return false;
    put(p, "\n");
  }
  return true;
}

static bool put_type(ig_sprinter *p, const ig_stype *t) {
  if (t->names) return put_named_tuple(p, t);
  if (ig_sclass_of(t)) return put_class(p, ig_sclass_of(t));
  if (ig_senum_of(t)) return put_enum(p, ig_senum_of(t));
  if (ig_sinterface_of(t)) return put_interface(p, ig_sinterface_of(t));
  if (ig_class_find(t->name, strlen(t->name))) return true;  // known to every reader
  return ig_fail(p->c, IG_UNSUPPORTED, "'%s' has no declaration that could be printed", t->text) ==
         IG_OK;
}

bool ig_sprint_declaration(ig_ctx *c, ig_sunit *u, ig_sprint_need what, ig_sprint_refs *r,
                           ig_sprint_text *out) {
  if (what.function) {
    static const ig_sprint_options options = {.self_type = true, .importable = true};
    return ig_sfunction_ensure(c, what.function) &&
           ig_sprint_function(c, what.function, &options, r, out);
  }
  ig_sprinter p = {.c = c, .unit = u, .refs = r, .out = out, .arena = ig_arena_make(c->alloc)};
  bool ok = put_type(&p, what.type);
  if (ok && out->text.failed) ok = ig_sprinter_no_memory(&p);
  ig_arena_free(&p.arena);
  return ok;
}
