// SPDX-License-Identifier: Apache-2.0
// Objects of an archive's pickle as values of scripts. The declared types say what a container
// holds; what is referenced twice is one object.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "op/native.h"
#include "script/interp.h"
#include "script/numbers.h"
#include "ts/load.h"

static bool mismatch(ig_ts_objects *o, const ig_object *from, const ig_stype *type) {
  (void)ig_fail(o->l->c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE,
                "the archive holds %s where its classes declare %s",
                ig_object_kind_text(ig_object_kind_of(from)), type ? type->text : "a value");
  return false;
}

ig_ts_objects ig_ts_objects_make(ig_ts_loader *l) {
  ig_alloc alloc = l->c->alloc;
  return (ig_ts_objects){.l = l,
                         .made = ig_map_make(alloc),
                         .typed = ig_map_make(alloc),
                         .arena = ig_arena_make(alloc)};
}

void ig_ts_objects_free(ig_ts_objects *o) {
  for (size_t i = 0; i < o->kept.n; i++) ig_svalue_release(o->kept.at[i]);
  ig_vec_free(o->l->c->alloc, &o->kept);
  ig_map_free(&o->made);
  ig_map_free(&o->typed);
  ig_vec_free(o->l->c->alloc, &o->types);
  ig_arena_free(&o->arena);
}

// ---- sharing

static ig_map_value *slot_of(ig_ts_objects *o, ig_map *map, const ig_object *from) {
  char key[32];
  const char *kept = NULL;
  (void)snprintf(key, sizeof key, "%p", (const void *)from);
  ig_map_value *v = ig_map_keep(map, &o->arena, key, &kept);
  if (!v) (void)ig_no_memory(o->l->c);
  return v;
}

// ---- types of what is declared as Any, or not at all

static const ig_stype *type_of(ig_ts_objects *o, const ig_object *from, size_t depth);

static const ig_stype *tuple_type(ig_ts_objects *o, const ig_object *from, size_t depth) {
  size_t n = ig_object_count(from);
  const ig_stype **at = ig_arena_array(&o->arena, n, sizeof *at);
  if (!at) {
    (void)ig_no_memory(o->l->c);
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    at[i] = type_of(o, ig_object_at(from, i), depth + 1);
    if (!at[i]) return NULL;
  }
  return ig_stype_tuple(&o->l->unit->types, at, n);
}

// The type that all elements have; of none, Tensor.
static const ig_stype *common_type(ig_ts_objects *o, const ig_object *from, bool keys,
                                   size_t depth) {
  const ig_stype *all = NULL;
  for (size_t i = 0; i < ig_object_count(from); i++) {
    const ig_object *item = keys ? ig_object_key(from, i) : ig_object_at(from, i);
    const ig_stype *one = type_of(o, item, depth + 1);
    if (!one) return NULL;
    all = all ? ig_stype_unify(&o->l->unit->types, all, one, true) : one;
    if (!all) return NULL;
  }
  if (all) return all;
  return ig_stype_plain(&o->l->unit->types, keys ? IG_STYPE_STR : IG_STYPE_TENSOR);
}

static const ig_stype *find_type(ig_ts_objects *o, const ig_object *from, size_t depth) {
  ig_stypes *t = &o->l->unit->types;
  static const struct {
    ig_object_kind kind;
    ig_stype_kind type;
  } plain[] = {
      {IG_OBJECT_NONE, IG_STYPE_NONE},       {IG_OBJECT_BOOL, IG_STYPE_BOOL},
      {IG_OBJECT_INT, IG_STYPE_INT},         {IG_OBJECT_FLOAT, IG_STYPE_FLOAT},
      {IG_OBJECT_COMPLEX, IG_STYPE_COMPLEX}, {IG_OBJECT_STR, IG_STYPE_STR},
      {IG_OBJECT_TENSOR, IG_STYPE_TENSOR},   {IG_OBJECT_DEVICE, IG_STYPE_DEVICE},
      {IG_OBJECT_DTYPE, IG_STYPE_INT},       {IG_OBJECT_LAYOUT, IG_STYPE_INT},
  };
  if (depth > o->l->limits.max_depth) {
    (void)ig_fail(o->l->c, IG_LIMIT | IG_E_READER_LIMIT, "values nested too deeply");
    return NULL;
  }
  ig_object_kind kind = ig_object_kind_of(from);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (plain[i].kind == kind) return ig_stype_plain(t, plain[i].type);
  }
  switch (kind) {
    case IG_OBJECT_LIST:
      return ig_stype_list(t, common_type(o, from, false, depth));
    case IG_OBJECT_TUPLE:
    case IG_OBJECT_SIZE:
      return tuple_type(o, from, depth);
    case IG_OBJECT_DICT:
    case IG_OBJECT_ORDERED: {
      const ig_stype *key = common_type(o, from, true, depth);
      const ig_stype *value = key ? common_type(o, from, false, depth) : NULL;
      return value ? ig_stype_dict(t, key, value) : NULL;
    }
    case IG_OBJECT_INSTANCE: {
      const ig_stype *type = ig_ts_loader_type(o->l, ig_object_text(from, NULL));
      if (!type && o->l->c->status == IG_OK) {
        (void)ig_fail(o->l->c, IG_UNSUPPORTED | IG_E_SCRIPT_ARCHIVE,
                      "the archive has no source for its class '%s'", ig_object_text(from, NULL));
      }
      return type;
    }
    default:
      (void)mismatch(o, from, NULL);
      return NULL;
  }
}

static const ig_stype *type_of(ig_ts_objects *o, const ig_object *from, size_t depth) {
  const ig_map_value *known = slot_of(o, &o->typed, from);
  if (!known || known->num) return known ? o->types.at[known->num - 1] : NULL;
  const ig_stype *type = find_type(o, from, depth);
  ig_map_value *slot = type ? slot_of(o, &o->typed, from) : NULL;
  if (!slot) return NULL;
  if (!ig_vec_push(o->l->c->alloc, &o->types, type)) {
    (void)ig_no_memory(o->l->c);
    return NULL;
  }
  slot->num = o->types.n;
  return type;
}

// ---- containers

static bool fill_sequence(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                          ig_value *at, size_t n) {
  bool tuple = type->kind == IG_STYPE_TUPLE;
  for (size_t i = 0; i < n; i++) {
    if (ig_ts_objects_value(o, ig_object_at(from, i), type->at[tuple ? i : 0], &at[i])) continue;
    while (i > 0) ig_svalue_release(at[--i]);
    return false;
  }
  return true;
}

static bool make_sequence(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                          ig_value *out) {
  ig_object_kind kind = ig_object_kind_of(from);
  size_t n = ig_object_count(from);
  bool tuple = type->kind == IG_STYPE_TUPLE;
  bool sequence = kind == IG_OBJECT_LIST || kind == IG_OBJECT_TUPLE || kind == IG_OBJECT_SIZE;
  if (!sequence || (tuple && type->n != n)) return mismatch(o, from, type);
  ig_ctx *c = o->l->c;
  ig_value *at = ig_mem_array(c->alloc, n, sizeof *at);
  if (!at && n) return ig_no_memory(c);
  ig_sobj_seq *made = NULL;
  if (fill_sequence(o, from, type, at, n)) {
    made = ig_sobj_seq_make(c, tuple ? IG_SOBJ_TUPLE : IG_SOBJ_LIST, type, at, n);
    for (size_t i = 0; i < n; i++) ig_svalue_release(at[i]);
  }
  ig_mem_array_free(c->alloc, at, n, sizeof *at);
  *out = ig_of_sobj(made);
  return made != NULL;
}

static bool make_dict(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                      ig_value *out) {
  ig_object_kind kind = ig_object_kind_of(from);
  if (kind != IG_OBJECT_DICT && kind != IG_OBJECT_ORDERED) return mismatch(o, from, type);
  ig_sobj_dict *made = ig_sobj_dict_make(o->l->c, type);
  if (!made) return false;
  *out = ig_of_sobj(made);
  for (size_t i = 0; i < ig_object_count(from); i++) {
    ig_value key = ig_none();
    ig_value value = ig_none();
    bool ok = ig_ts_objects_value(o, ig_object_key(from, i), type->at[0], &key) &&
              ig_ts_objects_value(o, ig_object_at(from, i), type->at[1], &value) &&
              ig_sobj_dict_put(o->l->c, made, key, value);
    ig_svalue_release(key);
    ig_svalue_release(value);
    if (!ok) {
      ig_svalue_release(*out);
      return false;
    }
  }
  return true;
}

// ---- instances

static bool set_state(ig_ts_objects *o, ig_sobj_instance *made, ig_sfunction *f,
                      const ig_object *state) {
  ig_value args[2] = {ig_of_sobj(made), ig_none()};
  ig_value result = ig_none();
  if (f->n_params != 2) return mismatch(o, state, made->cls->type);
  if (!ig_ts_objects_value(o, state, f->params[1].type, &args[1])) return false;
  bool ok = ig_sfunction_run(o->l->c, f, args, &result) == IG_OK;
  ig_svalue_release(args[1]);
  if (ok) ig_svalue_release(result);
  return ok;
}

static bool set_attributes(ig_ts_objects *o, ig_sobj_instance *made, const ig_object *state) {
  const ig_sclass *k = made->cls;
  ig_object_kind kind = ig_object_kind_of(state);
  if (kind != IG_OBJECT_DICT && (k->attributes.n > 0 || kind != IG_OBJECT_NONE)) {
    return mismatch(o, state, k->type);
  }
  for (size_t i = 0; i < k->attributes.n; i++) {
    const ig_sattribute *a = &k->attributes.at[i];
    const ig_object *from = ig_object_find(state, a->name);
    ig_value v;
    if (!from) {
      (void)ig_fail(o->l->c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE,
                    "an object of class '%s' has no attribute '%s'", k->type->name, a->name);
      return false;
    }
    if (!ig_ts_objects_value(o, from, a->type, &v)) {
      ig_note(o->l->c, "in attribute '%s' of class '%s'", a->name, k->type->name);
      return false;
    }
    bool ok = ig_sobj_instance_set(o->l->c, made, i, v);
    ig_svalue_release(v);
    if (!ok) return false;
  }
  return true;
}

// What a state contains: plain values and objects of the same kind. Lists live in the innermost
// scope, which also owns the objects.
static bool state_value(ig_ts_objects *o, const ig_object *from, size_t depth, ig_value *out) {
  ig_ctx *c = o->l->c;
  *out = ig_none();
  if (!from || depth > 4) return mismatch(o, from, NULL);
  size_t n = ig_object_count(from);
  switch (ig_object_kind_of(from)) {
    case IG_OBJECT_NONE:
      return true;
    case IG_OBJECT_BOOL:
      *out = ig_of_bool(ig_object_bool(from));
      return true;
    case IG_OBJECT_INT:
      *out = ig_of_i64(ig_object_int(from));
      return true;
    case IG_OBJECT_FLOAT:
      *out = ig_of_f64(ig_object_float(from));
      return true;
    case IG_OBJECT_STR:
      *out = ig_of_str(ig_object_text(from, NULL));
      return true;
    case IG_OBJECT_TENSOR:
      *out = ig_of_tensor(ig_object_tensor(from));
      return true;
    case IG_OBJECT_LIST:
    case IG_OBJECT_TUPLE: {
      ig_value *at = ig_scope_array(c, n, sizeof *at);
      for (size_t i = 0; at && i < n; i++) {
        if (!state_value(o, ig_object_at(from, i), depth + 1, &at[i])) return false;
      }
      if (at) *out = ig_of_list(at, n);
      return at != NULL;
    }
    case IG_OBJECT_INSTANCE:
      if (!ig_ts_objects_value(o, from, NULL, out)) return false;
      if (out->kind == IG_KIND_NATIVE) return ig_pool_add(c, &out->native->ref);
      ig_svalue_release(*out);
      return mismatch(o, from, NULL);
    default:
      return mismatch(o, from, NULL);
  }
}

static bool make_native(ig_ts_objects *o, const ig_object *from, ig_class cls, ig_value *out) {
  ig_ctx *c = o->l->c;
  ig_scope s = ig_scope_open(c);
  ig_value state;
  bool ok = state_value(o, ig_object_state(from), 0, &state);
  ig_native *made = ok ? ig_native_from_state(c, cls, &state) : NULL;
  if (made) {
    *out = ig_of_native(made);
    ig_svalue_retain(*out);
  }
  ig_scope_close(c, s);
  return made != NULL;
}

static bool make_instance(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                          ig_value *out) {
  ig_class cls = type->declaration ? IG_CLASS_NONE : ig_class_find(type->name, strlen(type->name));
  if (cls && !ig_object_is_call(from)) return make_native(o, from, cls, out);
  ig_sclass *k = ig_sclass_of(type);
  if (!k || ig_object_is_call(from)) return mismatch(o, from, type);
  ig_sobj_instance *made = ig_sobj_instance_make(o->l->c, k);
  if (!made) return false;
  *out = ig_of_sobj(made);
  ig_sfunction *f = ig_sclass_method(k, "__setstate__");
  const ig_object *state = ig_object_state(from);
  if (f && o->l->declares) {
    ig_svalue_release(*out);
    (void)ig_fail(o->l->c, IG_UNSUPPORTED | IG_E_SCRIPT_ARCHIVE,
                  "constants hold an object whose %s would have to run", f->qualified);
    return false;
  }
  if (f ? set_state(o, made, f, state) : set_attributes(o, made, state)) return true;
  ig_svalue_release(*out);
  return false;
}

// Color(1): the member with this value.
static bool make_member(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                        ig_value *out) {
  ig_senum *e = ig_senum_of(type);
  const ig_object *args = ig_object_args(from);
  ig_value v;
  if (!e || ig_object_count(args) != 1) return mismatch(o, from, type);
  if (!ig_ts_objects_value(o, ig_object_at(args, 0), e->value_type, &v)) return false;
  size_t i = 0;
  while (i < e->members.n && !ig_svalue_same(e->members.at[i].value, v)) i++;
  ig_svalue_release(v);
  if (i == e->members.n) return mismatch(o, from, type);
  ig_sobj_enum *made = ig_sobj_enum_make(o->l->c, e, i);
  *out = ig_of_sobj(made);
  return made != NULL;
}

// ---- values

static bool make_plain(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                       ig_value *out) {
  switch (ig_object_kind_of(from)) {
    case IG_OBJECT_NONE:
      *out = ig_none();
      return true;
    case IG_OBJECT_BOOL:
      *out = ig_of_bool(ig_object_bool(from));
      return true;
    case IG_OBJECT_INT:
      *out = type->kind == IG_STYPE_FLOAT ? ig_of_f64((double)ig_object_int(from))
                                          : ig_of_i64(ig_object_int(from));
      return true;
    case IG_OBJECT_FLOAT:
      *out = ig_of_f64(ig_object_float(from));
      return true;
    case IG_OBJECT_COMPLEX:
      *out = ig_of_complex(ig_object_complex(from).re, ig_object_complex(from).im);
      return true;
    case IG_OBJECT_DEVICE:
      *out = ig_of_device(ig_object_device(from));
      return true;
    case IG_OBJECT_DTYPE:
      *out = ig_of_i64(ig_script_of_dtype(ig_object_dtype(from)));
      return true;
    case IG_OBJECT_LAYOUT:
      *out = ig_of_i64(ig_script_of_layout(ig_object_layout(from)));
      return true;
    case IG_OBJECT_TENSOR:
      *out = ig_of_tensor(ig_tensor_retain(ig_object_tensor(from)));
      return true;
    case IG_OBJECT_STR: {
      size_t n = 0;
      const char *text = ig_object_text(from, &n);
      ig_sobj_str *s = ig_sobj_str_make(o->l->c, text, n);
      *out = ig_of_sobj(s);
      return s != NULL;
    }
    default:
      return mismatch(o, from, type);
  }
}

// May an object of this kind be of the type?
static bool fits(const ig_object *from, const ig_stype *type) {
  switch (ig_object_kind_of(from)) {
    case IG_OBJECT_NONE:
      return ig_stype_has_none(type);
    case IG_OBJECT_BOOL:
      return type->kind == IG_STYPE_BOOL;
    case IG_OBJECT_INT:
      return type->kind == IG_STYPE_INT || type->kind == IG_STYPE_FLOAT ||
             type->kind == IG_STYPE_NUMBER || type->kind == IG_STYPE_COMPLEX;
    case IG_OBJECT_FLOAT:
      return type->kind == IG_STYPE_FLOAT || type->kind == IG_STYPE_NUMBER;
    case IG_OBJECT_COMPLEX:
      return type->kind == IG_STYPE_COMPLEX || type->kind == IG_STYPE_NUMBER;
    case IG_OBJECT_STR:
      return type->kind == IG_STYPE_STR;
    case IG_OBJECT_TENSOR:
      return type->kind == IG_STYPE_TENSOR;
    case IG_OBJECT_DEVICE:
      return type->kind == IG_STYPE_DEVICE;
    case IG_OBJECT_DTYPE:
    case IG_OBJECT_LAYOUT:
      return type->kind == IG_STYPE_INT;
    default:
      return false;
  }
}

static bool make(ig_ts_objects *o, const ig_object *from, const ig_stype *type, ig_value *out) {
  switch (type->kind) {
    case IG_STYPE_LIST:
    case IG_STYPE_TUPLE:
      return make_sequence(o, from, type, out);
    case IG_STYPE_DICT:
      return make_dict(o, from, type, out);
    case IG_STYPE_ENUM:
      return make_member(o, from, type, out);
    case IG_STYPE_CLASS:
      return make_instance(o, from, type, out);
    default:
      return fits(from, type) ? make_plain(o, from, type, out) : mismatch(o, from, type);
  }
}

static bool may_be(const ig_stype *own, const ig_stype *declared) {
  return !declared || ig_stype_is_subtype(own, declared) || declared->kind == IG_STYPE_INTERFACE;
}

// The type that the object itself has, within what is declared.
static const ig_stype *narrow(ig_ts_objects *o, const ig_object *from, const ig_stype *type) {
  ig_object_kind kind = ig_object_kind_of(from);
  bool open = !type || type->kind == IG_STYPE_ANY || type->kind == IG_STYPE_UNION ||
              kind == IG_OBJECT_INSTANCE;
  if (type && type->kind == IG_STYPE_OPTIONAL && kind != IG_OBJECT_NONE) {
    return narrow(o, from, type->at[0]);
  }
  if (!open) return type;
  const ig_stype *own = type_of(o, from, o->depth);
  bool allowed = own && may_be(own, type);
  if (own && !allowed) (void)mismatch(o, from, type);
  return allowed ? own : NULL;
}

bool ig_ts_objects_value(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                         ig_value *out) {
  *out = ig_none();
  if (o->depth >= o->l->limits.max_depth) {
    (void)ig_fail(o->l->c, IG_LIMIT | IG_E_READER_LIMIT, "values nested more than %llu deep",
                  (unsigned long long)o->l->limits.max_depth);
    return false;
  }
  ig_map_value *slot = from ? slot_of(o, &o->made, from) : NULL;
  if (!slot) return from ? false : mismatch(o, from, type);
  if (slot->ptr) {  // an object, of whatever type it was declared at first
    if (!may_be(((const ig_sobj *)slot->ptr)->type, type)) return mismatch(o, from, type);
    *out = ig_of_sobj(slot->ptr);
    ig_svalue_retain(*out);
    return true;
  }
  o->depth++;
  const ig_stype *own = narrow(o, from, type);
  bool ok = own && make(o, from, own, out);
  o->depth--;
  if (!ok) {
    *out = ig_none();
    return false;
  }
  if (out->kind == IG_KIND_OBJECT && !ig_sobj_is(*out, IG_SOBJ_STR)) {
    slot = slot_of(o, &o->made, from);
    if (!slot || !ig_vec_push(o->l->c->alloc, &o->kept, *out)) {
      ig_svalue_release(*out);
      *out = ig_none();
      return ig_no_memory(o->l->c);
    }
    ig_svalue_retain(*out);
    slot->ptr = out->object;
  }
  return true;
}
