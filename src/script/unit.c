// SPDX-License-Identifier: Apache-2.0
#include "script/unit.h"

#include <stdio.h>
#include <string.h>

static void *no_memory(ig_sunit *u) {
  (void)ig_fail(u->c, IG_NOMEM, "out of memory");
  return NULL;
}

static const char *copy(ig_sunit *u, const char *text) {
  const char *kept = ig_arena_strn(&u->arena, text, strlen(text));
  return kept ? kept : no_memory(u);
}

// ---- life

ig_sunit *ig_sunit_create(ig_ctx *c) {
  ig_sunit *u = ig_mem_new(c->alloc, sizeof *u);
  if (!u) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *u = (ig_sunit){.c = c, .alloc = c->alloc, .busy = ATOMIC_FLAG_INIT};
  atomic_init(&u->refs, 1);
  u->arena = ig_arena_make(u->alloc);
  u->types = ig_stypes_make(c);
  u->functions = ig_map_make(u->alloc);
  u->operators = ig_map_make(u->alloc);
  u->text_builtins = ig_map_make(u->alloc);
  u->sources = ig_map_make(u->alloc);
  return u;
}

ig_sunit *ig_sunit_retain(ig_sunit *u) {
  atomic_fetch_add_explicit(&u->refs, 1, memory_order_relaxed);
  return u;
}

static void free_class(ig_sunit *u, ig_sclass *k) {
  for (size_t i = 0; i < k->constants.n; i++) ig_svalue_release(k->constants.at[i].value);
  ig_vec_free(u->alloc, &k->attributes);
  ig_vec_free(u->alloc, &k->constants);
  ig_vec_free(u->alloc, &k->methods);
  ig_vec_free(u->alloc, &k->statics);
  ig_vec_free(u->alloc, &k->properties);
  ig_vec_free(u->alloc, &k->pre_hooks);
  ig_vec_free(u->alloc, &k->hooks);
  ig_map_free(&k->attribute_index);
  ig_map_free(&k->method_index);
}

static void free_function(ig_sfunction *f) {
  for (size_t i = 0; i < f->n_params; i++) ig_svalue_release(f->params[i].def);
  if (f->code && f->free_code) f->free_code(f->code);
  ig_sgraph_free(f->graph);
  ig_sgraph_free(f->optimized);
}

void ig_sunit_release(ig_sunit *u) {
  if (!u || atomic_fetch_sub_explicit(&u->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < u->all_functions.n; i++) free_function(u->all_functions.at[i]);
  for (size_t i = 0; i < u->classes.n; i++) free_class(u, u->classes.at[i]);
  for (size_t i = 0; i < u->enums.n; i++) {
    ig_senum *e = u->enums.at[i];
    for (size_t k = 0; k < e->members.n; k++) ig_svalue_release(e->members.at[k].value);
    ig_vec_free(u->alloc, &e->members);
  }
  for (size_t i = 0; i < u->interfaces.n; i++) {
    ig_vec_free(u->alloc, &u->interfaces.at[i]->methods);
  }
  ig_vec_free(u->alloc, &u->runs);
  ig_vec_free(u->alloc, &u->all_functions);
  ig_vec_free(u->alloc, &u->classes);
  ig_vec_free(u->alloc, &u->enums);
  ig_vec_free(u->alloc, &u->interfaces);
  ig_map_free(&u->functions);
  ig_map_free(&u->operators);
  ig_map_free(&u->text_builtins);
  ig_map_free(&u->sources);
  ig_stypes_free(&u->types);
  ig_arena_free(&u->arena);
  ig_mem_free(u->alloc, u, sizeof *u);
}

void ig_sunit_lock(ig_sunit *u) {
  while (atomic_flag_test_and_set_explicit(&u->busy, memory_order_acquire)) continue;
}

void ig_sunit_unlock(ig_sunit *u) {
  atomic_flag_clear_explicit(&u->busy, memory_order_release);
}

enum { MAX_RUNS = 32 };  // each one takes C stack

static ig_srunning *running(ig_sunit *u, const ig_ctx *c) {
  for (size_t i = 0; i < u->runs.n; i++) {
    if (u->runs.at[i].c == c) return &u->runs.at[i];
  }
  return NULL;
}

bool ig_sunit_enter(ig_ctx *c, ig_sunit *u) {
  ig_sunit_lock(u);
  ig_srunning *r = running(u, c);
  bool deep = r && r->depth >= MAX_RUNS;
  bool ok = r ? !deep : ig_vec_push(u->alloc, &u->runs, ((ig_srunning){.c = c, .depth = 1}));
  if (r && ok) r->depth++;
  ig_sunit_unlock(u);
  if (deep) {
    ig_fail_text(c, IG_LIMIT, "scripts run inside each other more than %d deep", MAX_RUNS);
  } else if (!ok) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  return ok;
}

void ig_sunit_leave(const ig_ctx *c, ig_sunit *u) {
  ig_sunit_lock(u);
  ig_srunning *r = running(u, c);
  if (r && --r->depth == 0) *r = u->runs.at[--u->runs.n];
  ig_sunit_unlock(u);
}

// ---- declarations

ig_sclass *ig_sunit_add_class(ig_sunit *u, const char *qualified, bool module) {
  ig_sclass *k = ig_arena_push(&u->arena, sizeof *k);
  if (!k) return no_memory(u);
  k->unit = u;
  k->module = module;
  k->attribute_index = ig_map_make(u->alloc);
  k->method_index = ig_map_make(u->alloc);
  k->type = ig_stype_named(&u->types, IG_STYPE_CLASS, qualified, k);
  if (!k->type) return NULL;
  return ig_vec_push(u->alloc, &u->classes, k) ? k : no_memory(u);
}

ig_senum *ig_sunit_add_enum(ig_sunit *u, const char *qualified, const ig_stype *value_type) {
  ig_senum *e = ig_arena_push(&u->arena, sizeof *e);
  if (!e) return no_memory(u);
  e->unit = u;
  e->value_type = value_type;
  e->type = ig_stype_named(&u->types, IG_STYPE_ENUM, qualified, e);
  if (!e->type) return NULL;
  return ig_vec_push(u->alloc, &u->enums, e) ? e : no_memory(u);
}

static const ig_sfunction *method_of(const ig_stype *t, const char *name) {
  const ig_sclass *k = ig_sclass_of(t);
  const ig_sinterface *face = ig_sinterface_of(t);
  for (size_t i = 0; face && i < face->methods.n; i++) {
    if (strcmp(face->methods.at[i]->name, name) == 0) return face->methods.at[i];
  }
  return k ? ig_sclass_method(k, name) : NULL;
}

// May a method stand for the declared one? Parameters take at least what is declared.
static bool fits(const ig_sfunction *f, const ig_sfunction *declared) {
  if (f->n_params != declared->n_params) return false;
  for (size_t i = 1; i < f->n_params; i++) {
    if (!ig_stype_is_subtype(declared->params[i].type, f->params[i].type)) return false;
  }
  return !f->result || !declared->result || ig_stype_is_subtype(f->result, declared->result);
}

static bool implements(const ig_stype *type, const ig_stype *by, ig_str *why) {
  const ig_sinterface *face = type->declaration;
  const ig_sclass *k = ig_sclass_of(by);
  const ig_sinterface *other = ig_sinterface_of(by);
  if (!k && !other) return false;
  if (face->module && !(k ? k->module : other->module)) {
    if (why) {
      ig_str_add(why, "Interface '%s' is a module interface, but '%s' is no module.\n", type->name,
                 by->name);
    }
    return false;
  }
  for (size_t i = 0; i < face->methods.n; i++) {
    const ig_sfunction *declared = face->methods.at[i];
    const ig_sfunction *f = method_of(by, declared->name);
    if (f && fits(f, declared)) continue;
    if (why) {
      ig_str_add(why,
                 f ? "Method of class '%s' is not compatible: '%s' of interface '%s'.\n"
                   : "Class '%s' does not have method '%s' but '%s' does.\n",
                 by->name, declared->name, type->name);
    }
    return false;
  }
  return true;
}

ig_sinterface *ig_sunit_add_interface(ig_sunit *u, const char *qualified, bool module) {
  ig_sinterface *i = ig_arena_push(&u->arena, sizeof *i);
  if (!i) return no_memory(u);
  i->unit = u;
  i->module = module;
  i->type = ig_stype_interface(&u->types, qualified, i, implements);
  if (!i->type) return NULL;
  return ig_vec_push(u->alloc, &u->interfaces, i) ? i : no_memory(u);
}

ig_sfunction *ig_sunit_add_unnamed(ig_sunit *u, const char *name) {
  ig_sfunction *f = ig_arena_push(&u->arena, sizeof *f);
  if (!f) return no_memory(u);
  f->unit = u;
  f->name = f->qualified = copy(u, name);
  if (!f->name) return NULL;
  return ig_vec_push(u->alloc, &u->all_functions, f) ? f : no_memory(u);
}

ig_sfunction *ig_sunit_add_function(ig_sunit *u, ig_sclass *owner, const char *name,
                                    const char *qualified) {
  ig_sfunction *f = ig_sunit_add_unnamed(u, name);
  if (!f) return NULL;
  f->owner = owner;
  f->qualified = copy(u, qualified);
  if (!f->qualified) return NULL;
  ig_map_value *v =
      ig_map_put(owner ? &owner->method_index : &u->functions, owner ? f->name : f->qualified);
  if (!v) return no_memory(u);
  v->ptr = f;
  if (owner && !ig_vec_push(u->alloc, &owner->methods, f)) return no_memory(u);
  return f;
}

const char *ig_sunit_mangle(ig_sunit *u, const char *qualified) {
  if (!ig_sunit_type(u, qualified) && !ig_sunit_function(u, qualified)) return qualified;
  const char *dot = strrchr(qualified, '.');
  size_t length = dot ? (size_t)(dot - qualified) : 0;
  // A name that is mangled already loses the old part.
  static const char part[] = ".___torch_mangle_";
  for (const char *p = qualified; dot && p < dot; p++) {
    if (strncmp(p, part, sizeof part - 1) == 0) length = (size_t)(p - qualified);
  }
  size_t room = strlen(qualified) + 48;
  char *text = ig_arena_push(&u->arena, room);
  if (!text) return no_memory(u);
  do {
    (void)snprintf(text, room, "%.*s%s%zu.%s", (int)length, qualified, length ? part : part + 1,
                   u->next_mangle++, dot ? dot + 1 : qualified);
  } while (ig_sunit_type(u, text) || ig_sunit_function(u, text));
  return text;
}

bool ig_senum_add(ig_senum *e, const char *name, ig_value value) {
  const char *kept = copy(e->unit, name);
  if (!kept) return false;
  ig_svalue_retain(value);
  if (ig_vec_push(e->unit->alloc, &e->members, ((ig_senum_member){kept, value}))) return true;
  ig_svalue_release(value);
  return no_memory(e->unit) != NULL;
}

size_t ig_sclass_add_attribute(ig_sclass *k, const char *name, const ig_stype *type,
                               ig_srole role) {
  const char *kept = copy(k->unit, name);
  ig_map_value *v = kept ? ig_map_put(&k->attribute_index, kept) : NULL;
  if (!v || !ig_vec_push(k->unit->alloc, &k->attributes, ((ig_sattribute){kept, type, role}))) {
    (void)no_memory(k->unit);
    return SIZE_MAX;
  }
  v->num = k->attributes.n;
  return k->attributes.n - 1;
}

bool ig_sclass_add_constant(ig_sclass *k, const char *name, const ig_stype *type, ig_value value) {
  const char *kept = copy(k->unit, name);
  if (!kept) return false;
  ig_svalue_retain(value);
  if (ig_vec_push(k->unit->alloc, &k->constants, ((ig_sconstant){kept, type, value}))) return true;
  ig_svalue_release(value);
  return no_memory(k->unit) != NULL;
}

// ---- finding

ig_sfunction *ig_sunit_function(const ig_sunit *u, const char *qualified) {
  ig_map_value *v = ig_map_find(&u->functions, qualified);
  return v ? v->ptr : NULL;
}

const ig_stype *ig_sunit_type(const ig_sunit *u, const char *qualified) {
  for (size_t i = 0; i < u->classes.n; i++) {
    if (strcmp(u->classes.at[i]->type->name, qualified) == 0) return u->classes.at[i]->type;
  }
  for (size_t i = 0; i < u->enums.n; i++) {
    if (strcmp(u->enums.at[i]->type->name, qualified) == 0) return u->enums.at[i]->type;
  }
  for (size_t i = 0; i < u->interfaces.n; i++) {
    if (strcmp(u->interfaces.at[i]->type->name, qualified) == 0) return u->interfaces.at[i]->type;
  }
  return NULL;
}

size_t ig_sclass_attribute(const ig_sclass *k, const char *name) {
  ig_map_value *v = ig_map_find(&k->attribute_index, name);
  return v && v->num ? v->num - 1 : SIZE_MAX;
}

ig_sfunction *ig_sclass_method(const ig_sclass *k, const char *name) {
  ig_map_value *v = ig_map_find(&k->method_index, name);
  return v ? v->ptr : NULL;
}

const ig_sconstant *ig_sclass_constant(const ig_sclass *k, const char *name) {
  for (size_t i = 0; i < k->constants.n; i++) {
    if (strcmp(k->constants.at[i].name, name) == 0) return &k->constants.at[i];
  }
  return NULL;
}

const ig_sproperty *ig_sclass_property(const ig_sclass *k, const char *name) {
  for (size_t i = 0; i < k->properties.n; i++) {
    if (strcmp(k->properties.at[i].name, name) == 0) return &k->properties.at[i];
  }
  return NULL;
}

ig_sclass *ig_sclass_of(const ig_stype *t) {
  return t->kind == IG_STYPE_CLASS ? t->declaration : NULL;
}

ig_senum *ig_senum_of(const ig_stype *t) {
  return t->kind == IG_STYPE_ENUM ? t->declaration : NULL;
}

ig_sinterface *ig_sinterface_of(const ig_stype *t) {
  return t->kind == IG_STYPE_INTERFACE ? t->declaration : NULL;
}

// ---- functions

bool ig_sfunction_ensure(ig_ctx *c, ig_sfunction *f) {
  if (f->graph || f->host_run || !f->compile) return true;
  if (f->compiling) {
    (void)ig_fail(c, IG_UNSUPPORTED,
                  "function '%s' is called recursively. Recursive calls are not supported",
                  f->name);
    return false;
  }
  f->compiling = true;
  bool ok = f->compile(c, f);
  f->compiling = false;
  return ok;
}
