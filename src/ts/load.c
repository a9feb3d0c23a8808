// SPDX-License-Identifier: Apache-2.0
// Sources of an archive as a compilation unit. Definitions are found by their qualified names and
// made when something first mentions them, because a class may use others that stand behind it or
// in another file.
#include "ts/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "op/native.h"

// ---- an index of the definitions

// "__torch__/a/b.py" and "Class" -> "__torch__.a.b.Class"
static const char *qualify(ig_ts_loader *l, const char *file, const ig_tree *def) {
  size_t stem = strlen(file) - strlen(".py");
  char *text = ig_arena_push(&l->unit->arena, ig_mem_add(stem + 2, def->n_text));
  if (!text) return NULL;
  for (size_t i = 0; i < stem; i++) text[i] = (char)(file[i] == '/' ? '.' : file[i]);
  text[stem] = '.';
  memcpy(text + stem + 1, def->text, def->n_text);
  return text;
}

typedef IG_VEC(ig_ts_definition) definitions;

static bool index_source(ig_ts_loader *l, const ig_ts_source *from, definitions *all) {
  ig_arena *arena = &l->unit->arena;
  ig_source *source = ig_arena_push(arena, sizeof *source);
  size_t n = strlen(from->text);
  const char *text = ig_arena_strn(arena, from->text, n);
  size_t room = ig_mem_add(strlen(from->name), 6);
  char *file = ig_arena_push(arena, room);
  if (!source || !text || !file) return ig_no_memory(l->c);
  (void)snprintf(file, room, "code/%s", from->name);
  *source = (ig_source){.text = text, .n = n, .file = file, .first_line = 1};
  const ig_tree *block = ig_tree_parse(l->c, arena, source);
  for (size_t i = 0; block && i < block->n; i++) {
    const ig_tree *t = block->at[i];
    if (t->kind != IG_TREE_CLASS && t->kind != IG_TREE_DEF) continue;
    ig_ts_definition d = {.qualified = qualify(l, from->name, t), .tree = t};
    if (!d.qualified || !ig_vec_push(l->c->alloc, all, d)) return ig_no_memory(l->c);
  }
  return block != NULL;
}

static int compare(const void *a, const void *b) {
  return strcmp(((const ig_ts_definition *)a)->qualified, ((const ig_ts_definition *)b)->qualified);
}

static bool index_sources(ig_ts_loader *l, const ig_ts *ts) {
  definitions all = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < ts->sources.n; i++) ok = index_source(l, &ts->sources.at[i], &all);
  ig_ts_definition *kept = ok ? ig_arena_array(&l->unit->arena, all.n, sizeof *kept) : NULL;
  if (kept && all.n) {
    qsort(all.at, all.n, sizeof *all.at, compare);
    memcpy(kept, all.at, ig_mem_mul(all.n, sizeof *kept));
  }
  for (size_t i = 1; kept && i < all.n; i++) {
    if (compare(&kept[i - 1], &kept[i]) != 0) continue;
    (void)ig_fail(l->c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE, "'%s' is defined twice",
                  kept[i].qualified);
    ok = false;
    break;
  }
  if (ok && !kept) ok = ig_no_memory(l->c);
  l->definitions = kept;
  l->n_definitions = all.n;
  ig_vec_free(l->c->alloc, &all);
  return ok;
}

static ig_ts_definition *find(const ig_ts_loader *l, const char *qualified) {
  ig_ts_definition key = {.qualified = qualified};
  return l->n_definitions ? bsearch(&key, l->definitions, l->n_definitions, sizeof key, compare)
                          : NULL;
}

// ---- annotations

static const ig_stype *front_type(void *user, const char *name) {
  return ig_ts_loader_type(user, name);
}

static const ig_stype *type_of_tree(ig_ts_loader *l, const ig_tree *t) {
  ig_resolver r = {.type = front_type, .user = l};
  return ig_stype_of_tree(&l->unit->types, &r, t);
}

static void *bad(ig_ts_loader *l, const ig_tree *t, const char *what) {
  (void)ig_syntax_error(l->c, t->range, "%s", what);
  return NULL;
}

static bool is_name(const ig_tree *t, const char *name) {
  return t->kind == IG_TREE_NAME && strcmp(t->text, name) == 0;
}

// ---- classes

// ["weight", "bias", ]
static bool has_text(const ig_tree *list, const char *name) {
  for (size_t i = 0; list && list->kind == IG_TREE_LIST && i < list->n; i++) {
    const ig_tree *t = list->at[i];
    if (t->kind == IG_TREE_STRING && strcmp(t->text, name) == 0) return true;
  }
  return false;
}

// The value of `name = value` in a class.
static const ig_tree *assigned(const ig_tree *body, const char *name) {
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind == IG_TREE_ASSIGN && s->n == 2 && is_name(s->at[1], name)) return s->at[0];
  }
  return NULL;
}

static ig_srole role_of(const ig_tree *body, const char *name) {
  if (has_text(assigned(body, "__parameters__"), name)) return IG_SROLE_PARAMETER;
  return has_text(assigned(body, "__buffers__"), name) ? IG_SROLE_BUFFER : IG_SROLE_PLAIN;
}

static bool add_attribute(ig_ts_loader *l, ig_sclass *k, const ig_tree *body, const char *name,
                          const ig_tree *annotation) {
  if (ig_sclass_attribute(k, name) != SIZE_MAX) {
    return bad(l, annotation, "an attribute that is declared twice") != NULL;
  }
  const ig_stype *type = type_of_tree(l, annotation);
  return type && ig_sclass_add_attribute(k, name, type, role_of(body, name)) != SIZE_MAX;
}

// n : Final[int] = 3
static bool add_final(ig_ts_loader *l, ig_sclass *k, const ig_tree *s) {
  const ig_stype *type = type_of_tree(l, s->at[1]->at[1]);
  ig_value v;
  if (!type) return false;
  if (s->n < 3 || !s->at[2]) return bad(l, s, "a Final attribute without a value") != NULL;
  if (!ig_ts_loader_literal(l, s->at[2], type, &v)) return false;
  bool ok = ig_sclass_add_constant(k, s->at[0]->text, type, v);
  ig_svalue_release(v);
  return ok;
}

static bool is_final(const ig_tree *annotation) {
  return annotation->kind == IG_TREE_SUBSCRIPT && is_name(annotation->at[0], "Final");
}

// __annotations__["0"] = T; NULL: another statement.
static const ig_tree *annotation_key(const ig_tree *s) {
  if (s->kind != IG_TREE_ASSIGN || s->n != 2 || s->at[1]->kind != IG_TREE_SUBSCRIPT) return NULL;
  const ig_tree *to = s->at[1];
  return is_name(to->at[0], "__annotations__") && to->at[1]->kind == IG_TREE_STRING ? to->at[1]
                                                                                    : NULL;
}

static bool add_fields(ig_ts_loader *l, ig_sclass *k, const ig_tree *body) {
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    const ig_tree *key = annotation_key(s);
    bool ok = true;
    if (key) {
      ok = add_attribute(l, k, body, key->text, s->at[0]);
    } else if (s->kind == IG_TREE_ANNOTATED && s->at[0]->kind == IG_TREE_NAME) {
      ok = is_final(s->at[1]) ? add_final(l, k, s)
                              : add_attribute(l, k, body, s->at[0]->text, s->at[1]);
    }
    if (!ok) return false;
  }
  return true;
}

static const char *join(ig_ts_loader *l, const char *qualified, const char *name) {
  size_t room = ig_mem_add(strlen(qualified), strlen(name) + 2);
  char *text = ig_arena_push(&l->unit->arena, room);
  if (!text) (void)ig_no_memory(l->c);
  if (text) (void)snprintf(text, room, "%s.%s", qualified, name);
  return text;
}

static bool add_hooks(ig_ts_loader *l, ig_sclass *k, const ig_tree *names, bool pre) {
  for (size_t i = 0; names && names->kind == IG_TREE_LIST && i < names->n; i++) {
    const ig_tree *t = names->at[i];
    ig_sfunction *f = t->kind == IG_TREE_STRING ? ig_sclass_method(k, t->text) : NULL;
    if (!f) return bad(l, t, "a hook that is no method of the class") != NULL;
    f->is_hook = true;
    bool ok = pre ? ig_vec_push(k->unit->alloc, &k->pre_hooks, f)
                  : ig_vec_push(k->unit->alloc, &k->hooks, f);
    if (!ok) return ig_no_memory(l->c);
  }
  return true;
}

static bool add_methods(ig_ts_loader *l, ig_sclass *k, const ig_ts_definition *d) {
  const ig_tree *body = d->tree->at[0];
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind != IG_TREE_DEF) continue;
    if (ig_sclass_method(k, s->text)) return bad(l, s, "a method that is declared twice") != NULL;
    const char *name = join(l, d->qualified, s->text);
    if (!name || !ig_script_declare(l->c, l->unit, k, name, s, &l->front)) return false;
  }
  return add_hooks(l, k, assigned(body, "__forward_pre_hooks__"), true) &&
         add_hooks(l, k, assigned(body, "__forward_hooks__"), false);
}

// The class is known to its own methods and to classes that it uses.
static const ig_stype *make_class(ig_ts_loader *l, ig_ts_definition *d, bool module) {
  ig_sclass *k = ig_sunit_add_class(l->unit, d->qualified, module);
  if (!k) return NULL;
  d->type = k->type;
  return add_fields(l, k, d->tree->at[0]) && add_methods(l, k, d) ? k->type : NULL;
}

// ---- enums, interfaces, named tuples

static const ig_stype *literal_type(ig_stypes *types, ig_value v) {
  switch (v.kind) {
    case IG_KIND_INT:
      return ig_stype_plain(types, IG_STYPE_INT);
    case IG_KIND_FLOAT:
      return ig_stype_plain(types, IG_STYPE_FLOAT);
    case IG_KIND_BOOL:
      return ig_stype_plain(types, IG_STYPE_BOOL);
    default:
      return ig_stype_plain(types, IG_STYPE_STR);
  }
}

static const ig_stype *make_enum(ig_ts_loader *l, ig_ts_definition *d) {
  const ig_tree *body = d->tree->at[0];
  ig_senum *e = NULL;
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind != IG_TREE_ASSIGN || s->n != 2 || s->at[1]->kind != IG_TREE_NAME) continue;
    ig_value v;
    if (!ig_ts_loader_literal(l, s->at[0], NULL, &v)) return NULL;
    const ig_stype *type = literal_type(&l->unit->types, v);
    if (!e && type) e = ig_sunit_add_enum(l->unit, d->qualified, type);
    bool same = e && type == e->value_type;
    bool ok = same && ig_senum_add(e, s->at[1]->text, v);
    ig_svalue_release(v);
    if (e && !same) return bad(l, s, "a member whose value has another type");
    if (!ok) return NULL;
  }
  if (!e) return bad(l, d->tree, "an enum without members");
  d->type = e->type;
  return e->type;
}

static const ig_stype *make_interface(ig_ts_loader *l, ig_ts_definition *d, bool module) {
  ig_sinterface *made = ig_sunit_add_interface(l->unit, d->qualified, module);
  const ig_tree *body = d->tree->at[0];
  if (!made) return NULL;
  d->type = made->type;
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind != IG_TREE_DEF) continue;
    const char *name = join(l, d->qualified, s->text);
    ig_sfunction *f = name ? ig_script_declare(l->c, l->unit, NULL, name, s, &l->front) : NULL;
    if (!f) return NULL;
    if (f->n_params == 0) return bad(l, s, "a method without parameters");
    f->name = ig_arena_strn(&l->unit->arena, s->text, s->n_text);
    f->params[0].type = made->type;
    f->params[0].inferred = false;
    f->compile = NULL;  // its body says nothing
    if (!f->name || !ig_vec_push(l->unit->alloc, &made->methods, f)) {
      (void)ig_no_memory(l->c);
      return NULL;
    }
  }
  return made->type;
}

static const ig_stype *make_named_tuple(ig_ts_loader *l, ig_ts_definition *d) {
  const ig_tree *body = d->tree->at[0];
  ig_stype_field *at = ig_arena_array(&l->unit->arena, body->n, sizeof *at);
  size_t n = 0;
  if (!at) {
    (void)ig_no_memory(l->c);
    return NULL;
  }
  for (size_t i = 0; i < body->n; i++) {
    const ig_tree *s = body->at[i];
    if (s->kind != IG_TREE_ANNOTATED || s->at[0]->kind != IG_TREE_NAME) continue;
    at[n] = (ig_stype_field){.name = s->at[0]->text, .type = type_of_tree(l, s->at[1])};
    if (!at[n++].type) return NULL;
  }
  d->type = ig_stype_named_tuple(&l->unit->types, d->qualified, at, n);
  return d->type;
}

static const ig_stype *make_type(ig_ts_loader *l, ig_ts_definition *d) {
  const ig_tree *base = d->tree->n > 1 ? d->tree->at[1] : NULL;
  if (!base) return make_class(l, d, false);
  if (is_name(base, "Module")) return make_class(l, d, true);
  if (is_name(base, "NamedTuple")) return make_named_tuple(l, d);
  if (is_name(base, "Enum")) return make_enum(l, d);
  if (is_name(base, "ModuleInterface")) return make_interface(l, d, true);
  if (is_name(base, "Interface")) return make_interface(l, d, false);
  return bad(l, base,
             "a class with another base than Module, NamedTuple, Enum, Interface or "
             "ModuleInterface");
}

const ig_stype *ig_ts_loader_type(ig_ts_loader *l, const char *qualified) {
  ig_ts_definition *d = find(l, qualified);
  ig_class cls = d ? IG_CLASS_NONE : ig_class_find(qualified, strlen(qualified));
  if (cls) return ig_stype_named(&l->unit->types, IG_STYPE_CLASS, ig_class_text(cls), NULL);
  if (!d || d->tree->kind != IG_TREE_CLASS || d->type || l->c->status != IG_OK) {
    return d ? d->type : NULL;
  }
  if (d->busy) return bad(l, d->tree, "a type that is part of itself");
  if (++l->depth > l->limits.max_depth) {
    (void)ig_fail(l->c, IG_LIMIT | IG_E_READER_LIMIT,
                  "classes that use each other more than %llu deep",
                  (unsigned long long)l->limits.max_depth);
    return NULL;
  }
  d->busy = true;
  const ig_stype *type = make_type(l, d);
  d->busy = false;
  l->depth--;
  return type;
}

ig_sfunction *ig_ts_loader_function(ig_ts_loader *l, const char *qualified) {
  ig_ts_definition *d = find(l, qualified);
  if (!d || d->tree->kind != IG_TREE_DEF || l->c->status != IG_OK) return NULL;
  if (!d->function) {
    d->function = ig_script_declare(l->c, l->unit, NULL, qualified, d->tree, &l->front);
  }
  return d->function;
}

// ---- the whole

static const ig_stype *constant_type(ig_stypes *types, ig_value v) {
  switch (v.kind) {
    case IG_KIND_NATIVE:
      return ig_stype_named(types, IG_STYPE_CLASS, ig_class_text(v.native->cls), NULL);
    case IG_KIND_COMPLEX:
      return ig_stype_plain(types, IG_STYPE_COMPLEX);
    case IG_KIND_DEVICE:
      return ig_stype_plain(types, IG_STYPE_DEVICE);
    default:
      return literal_type(types, v);
  }
}

static bool add_constants(ig_ts_loader *l, const ig_ts *ts) {
  l->constants = ig_sunit_add_class(l->unit, "CONSTANTS", false);
  if (!l->constants) return false;
  ig_ts_objects o = ig_ts_objects_make(l);
  bool ok = true;
  for (size_t i = 0; ok && i < ig_object_count(ts->constants); i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "c%zu", i);
    ig_value v;
    ok = ig_ts_objects_value(&o, ig_object_at(ts->constants, i), NULL, &v);
    if (!ok) break;
    const ig_sobj *object = ig_sobj_of(v);
    const ig_stype *type = object && object->kind != IG_SOBJ_STR ? object->type : NULL;
    if (v.kind == IG_KIND_TENSOR) type = ig_stype_plain(&l->unit->types, IG_STYPE_TENSOR);
    if (!type && v.kind == IG_KIND_NONE) type = ig_stype_plain(&l->unit->types, IG_STYPE_NONE);
    if (!type) type = constant_type(&l->unit->types, v);
    ok = type && ig_sclass_add_constant(l->constants, name, type, v);
    ig_svalue_release(v);
  }
  ig_ts_objects_free(&o);
  return ok;
}

static ig_ts_loader *make_loader(ig_ctx *c, ig_sunit *u, const ig_ts *ts) {
  ig_ts_loader *l = ig_arena_push(&u->arena, sizeof *l);
  if (!l) {
    (void)ig_no_memory(c);
    return NULL;
  }
  *l = (ig_ts_loader){.c = c, .unit = u, .limits = ts->zip.limits, .version = ts->zip.version};
  l->front = (ig_sfront){.resolve = ig_ts_loader_resolve, .type = front_type, .user = l};
  l->front.op = ig_ts_loader_upgrade;
  return index_sources(l, ts) ? l : NULL;
}

static ig_sobj_instance *load_root(ig_ts_loader *l, const ig_ts *ts) {
  ig_ts_objects o = ig_ts_objects_make(l);
  ig_value v = ig_none();
  bool ok = ig_ts_objects_value(&o, ts->root, NULL, &v);
  ig_ts_objects_free(&o);
  return ok ? v.object : NULL;
}

ig_sclass *ig_ts_declare(ig_ctx *c, const ig_ts *ts, ig_sunit **unit) {
  *unit = ig_sunit_create(c);
  ig_ts_loader *l = *unit ? make_loader(c, *unit, ts) : NULL;
  if (l) l->declares = true;
  if (!l || !add_constants(l, ts)) return NULL;
  const char *name = ig_object_text(ts->root, NULL);
  const ig_stype *type = ig_ts_loader_type(l, name);
  if (!type && c->status == IG_OK) {
    (void)ig_fail(c, IG_UNSUPPORTED | IG_E_SCRIPT_ARCHIVE,
                  "the archive has no source for its class '%s'", name);
  }
  return type ? ig_sclass_of(type) : NULL;
}

ig_sobj_instance *ig_ts_load(ig_ctx *c, const ig_ts *ts) {
  ig_sunit *u = ig_sunit_create(c);
  ig_ts_loader *l = u ? make_loader(c, u, ts) : NULL;
  ig_sobj_instance *root = l && add_constants(l, ts) ? load_root(l, ts) : NULL;
  ig_sunit_close(u);  // the module keeps it
  return root;
}
