// SPDX-License-Identifier: Apache-2.0
#include "ts/pickler.h"

#include <stdio.h>
#include <string.h>

#include "arrays/unpack.h"
#include "base/limits.h"
#include "op/native.h"
#include "script/interp.h"
#include "tensor/quantizer.h"

ig_ts_pickler ig_ts_pickler_make(ig_ctx *c) {
  return (ig_ts_pickler){.c = c,
                         .text = ig_str_make(c->alloc),
                         .arena = ig_arena_make(c->alloc),
                         .words = ig_map_make(c->alloc),
                         .memo = ig_table_make(c->alloc),
                         .types = ig_table_make(c->alloc)};
}

void ig_ts_pickler_free(ig_ts_pickler *p) {
  for (size_t i = 0; i < p->kept.n; i++) ig_svalue_release(p->kept.at[i]);
  ig_vec_free(p->c->alloc, &p->kept);
  ig_vec_free(p->c->alloc, &p->storages);
  ig_vec_free(p->c->alloc, &p->bytes);
  ig_vec_free(p->c->alloc, &p->dtypes);
  ig_vec_free(p->c->alloc, &p->classes);
  ig_map_free(&p->words);
  ig_table_free(&p->memo);
  ig_table_free(&p->types);
  ig_str_free(&p->text);
  ig_arena_free(&p->arena);
}

static bool no_memory(ig_ts_pickler *p) {
  (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return false;
}

bool ig_ts_pickler_failed(ig_ts_pickler *p) {
  return p->text.failed && !no_memory(p);
}

static void op(ig_ts_pickler *p, int code) {
  ig_pickle_op(&p->w, code);
}

// ---- words

// Refers to what was written under this key before; false: it must be written, and is *slot's from
// now on.
static bool recall(ig_ts_pickler *p, const char *key, ig_map_value **slot) {
  const char *kept = NULL;
  *slot = ig_map_keep(&p->words, &p->arena, key, &kept);
  if (!*slot) p->text.failed = true;
  if (!*slot || !(*slot)->num) return false;
  ig_pickle_get(&p->w, (uint32_t)(*slot)->num - 1);
  return true;
}

static void remember(ig_ts_pickler *p, ig_map_value *slot) {
  uint32_t number = ig_pickle_put(&p->w);
  if (slot) slot->num = (size_t)number + 1;
}

void ig_ts_pickler_string(ig_ts_pickler *p, const char *text, size_t n) {
  char *key = ig_arena_push(&p->arena, ig_mem_add(n, 3));
  ig_map_value *slot = NULL;
  if (!key) {
    p->text.failed = true;
    return;
  }
  memcpy(key, "s:", 3);
  memcpy(key + 2, text, n);
  bool plain = memchr(text, 0, n) == NULL;  // a text with zero bytes is no key
  if (plain && recall(p, key, &slot)) return;
  ig_pickle_str(&p->w, text, n);
  remember(p, slot);
}

static void string(ig_ts_pickler *p, const char *text) {
  ig_ts_pickler_string(p, text, strlen(text));
}

void ig_ts_pickler_global(ig_ts_pickler *p, const char *module, const char *name) {
  size_t room = ig_mem_add(strlen(module), strlen(name) + 4);
  char *key = ig_arena_push(&p->arena, room);
  ig_map_value *slot = NULL;
  if (!key) {
    p->text.failed = true;
    return;
  }
  (void)snprintf(key, room, "g:%s %s", module, name);
  if (recall(p, key, &slot)) return;
  ig_pickle_global(&p->w, module, name);
  remember(p, slot);
}

// ---- what may be shared

// Addresses of objects, tensors and storages are keys: they stay until the end.
static bool keep(ig_ts_pickler *p, ig_value v) {
  if (!ig_vec_push(p->c->alloc, &p->kept, v)) return no_memory(p);
  ig_svalue_retain(v);
  return true;
}

static bool recall_object(ig_ts_pickler *p, const void *object) {
  ig_table_slot *slot = ig_table_find(&p->memo, object);
  if (!slot || !slot->number) return false;
  ig_pickle_get(&p->w, (uint32_t)slot->number - 1);
  return true;
}

static bool remember_object(ig_ts_pickler *p, const void *object) {
  ig_table_slot *slot = ig_table_put(&p->memo, object);
  if (!slot) return no_memory(p);
  slot->number = (int64_t)ig_pickle_put(&p->w) + 1;
  return true;
}

// ---- tensors

static void ints(ig_ts_pickler *p, const ig_int *at, int n) {
  op(p, IG_PICKLE_OP_MARK);
  for (int i = 0; i < n; i++) ig_pickle_int(&p->w, at[i].value);
  op(p, IG_PICKLE_OP_TUPLE);
}

static bool storage(ig_ts_pickler *p, const ig_tensor *t) {
  if (recall_object(p, t->storage)) return true;
  const char *class = ig_unpack_storage_name(t->dtype);
  size_t width = ig_dtype_size(t->dtype);
  size_t numel = t->storage->bytes / width;
  if (!class) {
    return ig_fail(p->c, IG_UNSUPPORTED, "a tensor of dtype %s cannot be saved in an archive",
                   ig_dtype_text(t->dtype)) == IG_OK;
  }
  char key[24];
  (void)snprintf(key, sizeof key, "%zu", p->storages.n);
  if (!ig_vec_push(p->c->alloc, &p->storages, t->storage) ||
      !ig_vec_push(p->c->alloc, &p->bytes, ig_mem_mul(numel, width)) ||
      !ig_vec_push(p->c->alloc, &p->dtypes, t->dtype)) {
    return no_memory(p);
  }
  op(p, IG_PICKLE_OP_MARK);
  string(p, "storage");
  ig_ts_pickler_global(p, "torch", class);
  string(p, key);
  string(p, "cpu");
  ig_pickle_int(&p->w, (int64_t)numel);
  op(p, IG_PICKLE_OP_TUPLE);
  op(p, IG_PICKLE_OP_PERSID);
  return remember_object(p, t->storage);
}

static bool tensor(ig_ts_pickler *p, ig_tensor *t);

static bool quantizer(ig_ts_pickler *p, const ig_quantizer *q) {
  op(p, IG_PICKLE_OP_MARK);
  ig_ts_pickler_global(p, "torch", ig_quant_scheme_text(q->scheme));
  if (ig_quantizer_is_uniform(q)) {
    ig_pickle_float(&p->w, q->scale);
    ig_pickle_int(&p->w, q->zero_point);
  } else {
    if (!tensor(p, q->scales) || !tensor(p, q->zero_points)) return false;
    ig_pickle_int(&p->w, q->axis);
  }
  op(p, IG_PICKLE_OP_TUPLE);
  return true;
}

static bool tensor(ig_ts_pickler *p, ig_tensor *t) {
  if (recall_object(p, t)) return true;
  if (!keep(p, ig_of_tensor(t))) return false;
  if (ig_is_fake(t)) {
    return ig_fail(p->c, IG_INVALID, "a tensor without data cannot be saved: it is fake") == IG_OK;
  }
  ig_ts_pickler_global(p, "torch._utils", t->quantizer ? "_rebuild_qtensor" : "_rebuild_tensor_v2");
  op(p, IG_PICKLE_OP_MARK);
  if (!storage(p, t)) return false;
  ig_pickle_int(&p->w, t->offset.value);
  ints(p, ig_sizes(t), t->ndim);
  ints(p, ig_strides(t), t->ndim);
  if (t->quantizer && !quantizer(p, t->quantizer)) return false;
  op(p, t->requires_grad ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
  ig_ts_pickler_global(p, "collections", "OrderedDict");
  op(p, IG_PICKLE_OP_EMPTY_TUPLE);
  op(p, IG_PICKLE_OP_REDUCE);
  op(p, IG_PICKLE_OP_TUPLE);
  op(p, IG_PICKLE_OP_REDUCE);
  return remember_object(p, t);
}

// ---- containers

static bool items(ig_ts_pickler *p, const ig_sobj_seq *s) {
  for (size_t i = 0; i < s->n; i++) {
    if (!ig_ts_pickler_value(p, s->at[i])) return false;
  }
  return true;
}

static bool tuple(ig_ts_pickler *p, const ig_sobj_seq *s) {
  static const int ops[] = {IG_PICKLE_OP_EMPTY_TUPLE, IG_PICKLE_OP_TUPLE1, IG_PICKLE_OP_TUPLE2,
                            IG_PICKLE_OP_TUPLE3};
  if (s->n > 3) op(p, IG_PICKLE_OP_MARK);
  if (!items(p, s)) return false;
  op(p, s->n > 3 ? IG_PICKLE_OP_TUPLE : ops[s->n]);
  return true;
}

static void end_tag(ig_ts_pickler *p, const ig_stype *type) {
  ig_str s = ig_str_make(p->c->alloc);
  ig_stype_print_annotation(&s, type);
  if (s.failed) p->text.failed = true;
  if (s.at) string(p, s.at);
  ig_str_free(&s);
  op(p, IG_PICKLE_OP_TUPLE2);
  op(p, IG_PICKLE_OP_REDUCE);
}

// Lists of the common types have a function each, all others say their type.
static const char *list_function(const ig_stype *element) {
  switch (element->kind) {
    case IG_STYPE_INT:
      return "build_intlist";
    case IG_STYPE_FLOAT:
      return "build_doublelist";
    case IG_STYPE_BOOL:
      return "build_boollist";
    case IG_STYPE_TENSOR:
      return "build_tensorlist";
    default:
      return NULL;
  }
}

static bool no_type(ig_ts_pickler *p) {
  return ig_fail(p->c, IG_INVALID, "a container of unknown type cannot be saved in an archive") ==
         IG_OK;
}

static bool list(ig_ts_pickler *p, const ig_sobj_seq *s) {
  if (!s->head.type || s->head.type->kind != IG_STYPE_LIST) return no_type(p);
  const char *function = list_function(s->head.type->at[0]);
  ig_ts_pickler_global(p, "torch.jit._pickle", function ? function : "restore_type_tag");
  if (function) op(p, IG_PICKLE_OP_MARK);
  op(p, IG_PICKLE_OP_LIST);
  op(p, IG_PICKLE_OP_MARK);
  if (!items(p, s)) return false;
  op(p, IG_PICKLE_OP_APPENDS);
  if (function) {
    op(p, IG_PICKLE_OP_TUPLE);
    op(p, IG_PICKLE_OP_REDUCE);
  } else {
    end_tag(p, s->head.type);
  }
  return true;
}

static bool dict(ig_ts_pickler *p, const ig_sobj_dict *d) {
  if (!d->head.type || d->head.type->kind != IG_STYPE_DICT) return no_type(p);
  ig_ts_pickler_global(p, "torch.jit._pickle", "restore_type_tag");
  op(p, IG_PICKLE_OP_DICT);
  op(p, IG_PICKLE_OP_MARK);
  size_t i = 0;
  for (const ig_sentry *e; (e = ig_sobj_dict_next(d, &i));) {
    ig_value value = e->value;
    ig_svalue_retain(value);
    bool ok = ig_ts_pickler_value(p, e->key) && ig_ts_pickler_value(p, value);
    ig_svalue_release(value);
    if (!ok) return false;
  }
  op(p, IG_PICKLE_OP_SETITEMS);
  end_tag(p, d->head.type);
  return true;
}

// ---- objects

// "__torch__.a.b.C" as module and name.
static bool put_class(ig_ts_pickler *p, const ig_stype *type) {
  const char *dot = strrchr(type->name, '.');
  const char *module = dot ? ig_arena_strn(&p->arena, type->name, (size_t)(dot - type->name)) : "";
  if (!module) return no_memory(p);
  ig_ts_pickler_global(p, module, dot ? dot + 1 : type->name);
  return true;
}

static bool attributes(ig_ts_pickler *p, const ig_sobj_instance *o) {
  const ig_sclass *k = o->cls;
  op(p, IG_PICKLE_OP_DICT);
  op(p, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < k->attributes.n; i++) {
    string(p, k->attributes.at[i].name);
    if (!ig_ts_pickler_value(p, ig_sobj_instance_get(o, i))) {
      ig_note(p->c, "in attribute '%s' of class '%s'", k->attributes.at[i].name, k->type->name);
      return false;
    }
  }
  op(p, IG_PICKLE_OP_SETITEMS);
  return true;
}

static bool state(ig_ts_pickler *p, ig_sobj_instance *o, ig_sfunction *get) {
  ig_value self = ig_of_sobj(o);
  ig_value result = ig_none();
  if (get->n_params != 1) {
    return ig_fail(p->c, IG_INVALID, "%s has %zu parameters, expected self", get->qualified,
                   get->n_params) == IG_OK;
  }
  if (ig_sfunction_run(p->c, get, &self, &result) != IG_OK) return false;
  bool ok = ig_ts_pickler_value(p, result);
  ig_svalue_release(result);
  return ok;
}

static bool note_class(ig_ts_pickler *p, const ig_stype *type) {
  ig_table_slot *slot = ig_table_put(&p->types, type);
  if (!slot) return no_memory(p);
  if (!slot->number && !ig_vec_push(p->c->alloc, &p->classes, type)) return no_memory(p);
  slot->number = 1;
  return true;
}

static bool instance(ig_ts_pickler *p, ig_sobj_instance *o) {
  if (!note_class(p, o->cls->type) || !put_class(p, o->cls->type)) return false;
  op(p, IG_PICKLE_OP_EMPTY_TUPLE);
  op(p, IG_PICKLE_OP_NEWOBJ);
  ig_sfunction *get = ig_sclass_method(o->cls, "__getstate__");
  if (!(get ? state(p, o, get) : attributes(p, o))) return false;
  op(p, IG_PICKLE_OP_BUILD);
  return true;
}

// A call with the value itself for arguments, where others have a tuple.
static bool member(ig_ts_pickler *p, const ig_sobj_enum *e) {
  if (!put_class(p, e->declaration->type)) return false;
  if (!ig_ts_pickler_value(p, e->declaration->members.at[e->member].value)) return false;
  op(p, IG_PICKLE_OP_REDUCE);
  return true;
}

// Lists of a state say their types; which they are is the same for all objects of a class.
static bool state_list(ig_ts_pickler *p, const ig_value *v, const char *function, const char *tag) {
  ig_ts_pickler_global(p, "torch.jit._pickle", function ? function : "restore_type_tag");
  if (function) op(p, IG_PICKLE_OP_MARK);
  op(p, IG_PICKLE_OP_LIST);
  op(p, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < v->list.n; i++) {
    if (!ig_ts_pickler_value(p, v->list.at[i])) return false;
  }
  op(p, IG_PICKLE_OP_APPENDS);
  if (!function) string(p, tag);
  op(p, function ? IG_PICKLE_OP_TUPLE : IG_PICKLE_OP_TUPLE2);
  op(p, IG_PICKLE_OP_REDUCE);
  return true;
}

static bool state_part(ig_ts_pickler *p, ig_class cls, size_t i, const ig_value *v) {
  static const char *const functions[] = {NULL, "build_tensorlist", "build_doublelist",
                                          "build_intlist", NULL};
  if (v->kind != IG_KIND_LIST) return ig_ts_pickler_value(p, *v);
  if (ig_clamped_parts(cls)) return state_list(p, v, "build_intlist", NULL);
  bool conv = cls == IG_CLASS_CONV2D || cls == IG_CLASS_CONV3D;
  if (conv && i == 2) return state_list(p, v, NULL, "List[Optional[Tensor]]");
  if (i == 4) {
    char tag[96];
    (void)snprintf(tag, sizeof tag, "List[%s]", ig_class_text(IG_CLASS_LINEAR));
    return state_list(p, v, NULL, tag);
  }
  return state_list(p, v, functions[i], NULL);
}

static bool native(ig_ts_pickler *p, const ig_native *o) {
  if (recall_object(p, o)) return true;
  const char *name = ig_class_text(o->cls);
  const char *dot = strrchr(name, '.');
  const char *module = ig_arena_strn(&p->arena, name, (size_t)(dot - name));
  if (!module) return no_memory(p);
  ig_ts_pickler_global(p, module, dot + 1);
  op(p, IG_PICKLE_OP_EMPTY_TUPLE);
  op(p, IG_PICKLE_OP_NEWOBJ);
  ig_scope s = ig_scope_open(p->c);
  ig_value state = ig_native_state(p->c, o);
  bool ok = p->c->status == IG_OK && state.kind == IG_KIND_LIST;
  op(p, IG_PICKLE_OP_MARK);
  for (size_t i = 0; ok && i < state.list.n; i++) {
    ok = state_part(p, o->cls, i, &state.list.at[i]);
  }
  op(p, IG_PICKLE_OP_TUPLE);
  op(p, IG_PICKLE_OP_BUILD);
  ig_scope_close(p->c, s);
  return ok && remember_object(p, o);
}

static bool object(ig_ts_pickler *p, ig_sobj *o) {
  if (o->kind == IG_SOBJ_STR) {
    const ig_sobj_str *s = (const ig_sobj_str *)o;
    ig_ts_pickler_string(p, s->text, s->n);
    return true;
  }
  if (recall_object(p, o)) return true;
  bool shared = atomic_load_explicit(&o->refs, memory_order_relaxed) > 1;
  if (!keep(p, ig_of_sobj(o))) return false;
  bool ok = false;
  switch (o->kind) {
    case IG_SOBJ_LIST:
      ok = list(p, (const ig_sobj_seq *)o);
      break;
    case IG_SOBJ_TUPLE:
      ok = tuple(p, (const ig_sobj_seq *)o);
      break;
    case IG_SOBJ_DICT:
      ok = dict(p, (const ig_sobj_dict *)o);
      break;
    case IG_SOBJ_INSTANCE:
      ok = instance(p, (ig_sobj_instance *)o);
      break;
    case IG_SOBJ_ENUM:
      ok = member(p, (const ig_sobj_enum *)o);
      break;
    default:
      return ig_fail(p->c, IG_UNSUPPORTED, "a value of type %s cannot be saved in an archive",
                     o->kind == IG_SOBJ_FUTURE ? "Future" : "Function") == IG_OK;
  }
  if (ok && (shared || o->kind == IG_SOBJ_INSTANCE)) ok = remember_object(p, o);
  return ok;
}

static bool device(ig_ts_pickler *p, ig_device d) {
  char text[48];
  (void)snprintf(text, sizeof text, d.index >= 0 ? "%s:%d" : "%s", ig_device_type_text(d), d.index);
  ig_ts_pickler_global(p, "torch", "device");
  string(p, text);
  op(p, IG_PICKLE_OP_TUPLE1);
  op(p, IG_PICKLE_OP_REDUCE);
  (void)ig_pickle_put(&p->w);
  return true;
}

static bool complex_number(ig_ts_pickler *p, ig_c128 z) {
  ig_ts_pickler_global(p, "builtins", "complex");
  ig_pickle_float(&p->w, z.re);
  ig_pickle_float(&p->w, z.im);
  op(p, IG_PICKLE_OP_TUPLE2);
  op(p, IG_PICKLE_OP_REDUCE);
  return true;
}

// A list or tuple of a graph's constant, which says its type by its elements only.
static bool constant_list(ig_ts_pickler *p, const ig_value *v) {
  static const char *const functions[IG_KIND_COUNT] = {
      [IG_KIND_INT] = "build_intlist",
      [IG_KIND_FLOAT] = "build_doublelist",
      [IG_KIND_BOOL] = "build_boollist",
      [IG_KIND_TENSOR] = "build_tensorlist",
  };
  bool tuple = v->seq == IG_SEQ_TUPLE;
  ig_kind first = v->list.n ? v->list.at[0].kind : IG_KIND_NONE;
  const char *function = tuple ? NULL : functions[first];
  for (size_t i = 1; function && i < v->list.n; i++) {
    if (v->list.at[i].kind != first) function = NULL;
  }
  if (!tuple && !function) return no_type(p);
  if (function) {
    ig_ts_pickler_global(p, "torch.jit._pickle", function);
    op(p, IG_PICKLE_OP_MARK);
    op(p, IG_PICKLE_OP_LIST);
  }
  op(p, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < v->list.n; i++) {
    if (!ig_ts_pickler_value(p, v->list.at[i])) return false;
  }
  if (function) op(p, IG_PICKLE_OP_APPENDS);
  op(p, IG_PICKLE_OP_TUPLE);
  if (function) op(p, IG_PICKLE_OP_REDUCE);
  return true;
}

static bool put_value(ig_ts_pickler *p, ig_value v) {
  switch (v.kind) {
    case IG_KIND_LIST:
      return constant_list(p, &v);
    case IG_KIND_NONE:
      op(p, IG_PICKLE_OP_NONE);
      return true;
    case IG_KIND_BOOL:
      op(p, v.b ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
      return true;
    case IG_KIND_INT:
      ig_pickle_int(&p->w, v.i.value);
      return true;
    case IG_KIND_FLOAT:
      ig_pickle_float(&p->w, v.f);
      return true;
    case IG_KIND_COMPLEX:
      return complex_number(p, v.z);
    case IG_KIND_STR:
      string(p, v.str);
      return true;
    case IG_KIND_DEVICE:
      return device(p, v.device);
    case IG_KIND_TENSOR:
      return tensor(p, v.tensor);
    case IG_KIND_OBJECT:
      return object(p, v.object);
    case IG_KIND_NATIVE:
      return native(p, v.native);
    default:
      return ig_fail(p->c, IG_UNSUPPORTED, "a value of this kind cannot be saved in an archive") ==
             IG_OK;
  }
}

bool ig_ts_pickler_value(ig_ts_pickler *p, ig_value v) {
  uint64_t most = ig_ctx_limits(p->c).max_depth;
  if (p->depth >= most) {
    return ig_fail(p->c, IG_LIMIT, "values nested more than %llu deep", (unsigned long long)most) ==
           IG_OK;
  }
  p->depth++;
  bool ok = put_value(p, v);
  p->depth--;
  return ok && !ig_ts_pickler_failed(p);
}
