// SPDX-License-Identifier: Apache-2.0
// Values to a pickle with the same opcodes as Python's pickler, so that the bytes are those of
// torch.save for the same values.
#include "arrays/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "codec/bits.h"
#include "tensor/quantizer.h"

enum { BATCH = 1000 };  // items between a mark and its end

static bool pack(ig_pack *p, const ig_object *o, size_t depth);

ig_pack ig_pack_make(ig_ctx *c) {
  return (ig_pack){.c = c,
                   .text = ig_str_make(c->alloc),
                   .memo = ig_table_make(c->alloc),
                   .globals = ig_map_make(c->alloc),
                   .numbers = ig_table_make(c->alloc)};
}

void ig_pack_free(ig_pack *p) {
  for (size_t i = 0; i < p->storages.n; i++) ig_object_free(p->storages.at[i].key);
  ig_vec_free(p->c->alloc, &p->storages);
  ig_str_free(&p->text);
  ig_table_free(&p->memo);
  ig_table_free(&p->numbers);
  ig_map_free(&p->globals);
}

static bool no_memory(ig_pack *p) {
  (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return false;
}

// Numbers the value on the top of the stack.
static bool memoize(ig_pack *p, const ig_object *o) {
  ig_table_slot *slot = ig_table_put(&p->memo, o);
  if (!slot) return no_memory(p);
  slot->number = (int64_t)ig_pickle_put(&p->w) + 1;
  return true;
}

static void op(ig_pack *p, int code) {
  ig_pickle_op(&p->w, code);
}
// Opcode, then a memo number that is never used.
static void op_put(ig_pack *p, int code) {
  ig_pickle_op(&p->w, code);
  (void)ig_pickle_put(&p->w);
}

static bool global(ig_pack *p, const char *module, const char *name) {
  char text[128];
  (void)snprintf(text, sizeof text, "%s %s", module, name);
  ig_map_value *v = ig_map_find(&p->globals, text);
  if (v) {
    ig_pickle_get(&p->w, (uint32_t)v->num - 1);
    return true;
  }
  ig_pickle_global(&p->w, module, name);
  size_t n = strlen(text) + 1;
  char *key = ig_scope_push(p->c, n);
  if (!key) return false;
  memcpy(key, text, n);
  v = ig_map_put(&p->globals, key);
  if (!v) return no_memory(p);
  v->num = (size_t)ig_pickle_put(&p->w) + 1;
  return true;
}

static void word(ig_pack *p, uint32_t *number, const char *text) {
  if (*number) {
    ig_pickle_get(&p->w, *number - 1);
    return;
  }
  ig_pickle_str(&p->w, text, strlen(text));
  *number = ig_pickle_put(&p->w) + 1;
}

static void end_tuple(ig_pack *p, size_t n) {
  static const int ops[] = {IG_PICKLE_OP_EMPTY_TUPLE, IG_PICKLE_OP_TUPLE1, IG_PICKLE_OP_TUPLE2,
                            IG_PICKLE_OP_TUPLE3};
  op(p, n <= 3 ? ops[n] : IG_PICKLE_OP_TUPLE);
}

// ---- tensors

static const char *storage_name(ig_dtype d) {
  switch (d) {
    case IG_F32:
      return "FloatStorage";
    case IG_F64:
      return "DoubleStorage";
    case IG_F16:
      return "HalfStorage";
    case IG_BF16:
      return "BFloat16Storage";
    case IG_I64:
      return "LongStorage";
    case IG_I32:
      return "IntStorage";
    case IG_I16:
      return "ShortStorage";
    case IG_I8:
      return "CharStorage";
    case IG_U8:
      return "ByteStorage";
    case IG_BOOL:
      return "BoolStorage";
    case IG_C64:
      return "ComplexFloatStorage";
    case IG_C128:
      return "ComplexDoubleStorage";
    case IG_QI8:
      return "QInt8Storage";
    case IG_QU8:
      return "QUInt8Storage";
    case IG_QI32:
      return "QInt32Storage";
    default:
      return NULL;  // newer ones have no class: an untyped storage and a dtype
  }
}

static ig_packed_storage *number_storage(ig_pack *p, const ig_tensor *t) {
  ig_table_slot *slot = ig_table_put(&p->numbers, t->storage);
  if (!slot) {
    (void)no_memory(p);
    return NULL;
  }
  if (slot->number) {
    ig_packed_storage *s = &p->storages.at[slot->number - 1];
    if (s->dtype == t->dtype) return s;
    (void)ig_fail(p->c, IG_RUNTIME,
                  "Cannot save multiple tensors or storages that view the same data as different "
                  "types (%s and %s)",
                  ig_dtype_text(s->dtype), ig_dtype_text(t->dtype));
    return NULL;
  }
  char key[24];
  (void)snprintf(key, sizeof key, "%zu", p->storages.n);
  size_t width = ig_dtype_size(t->dtype);
  ig_packed_storage s = {t->storage, t->dtype, t->storage->bytes / width * width,
                         ig_object_of_str(p->c, key)};
  if (!s.key) return NULL;
  if (!ig_vec_push(p->c->alloc, &p->storages, s)) {
    ig_object_free(s.key);
    (void)no_memory(p);
    return NULL;
  }
  slot->number = (int64_t)p->storages.n;
  return &p->storages.at[p->storages.n - 1];
}

static void ints(ig_pack *p, const ig_int *at, int n) {
  if (n > 3) op(p, IG_PICKLE_OP_MARK);
  for (int i = 0; i < n; i++) ig_pickle_int(&p->w, at[i].value);
  end_tuple(p, (size_t)n);
  if (n) (void)ig_pickle_put(&p->w);
}

static bool storage(ig_pack *p, const ig_tensor *t, const char *class) {
  const ig_packed_storage *s = number_storage(p, t);
  if (!s) return false;
  ig_object *key = s->key;
  int64_t numel = (int64_t)(s->bytes / (class ? ig_dtype_size(t->dtype) : 1));
  op(p, IG_PICKLE_OP_MARK);
  word(p, &p->storage_word, "storage");
  if (!global(p, class ? "torch" : "torch.storage", class ? class : "UntypedStorage")) return false;
  if (!pack(p, key, 1)) return false;
  word(p, &p->cpu_word, "cpu");
  ig_pickle_int(&p->w, numel);
  op_put(p, IG_PICKLE_OP_TUPLE);
  op(p, IG_PICKLE_OP_PERSID);
  return true;
}

static bool hooks(ig_pack *p) {
  if (!global(p, "collections", "OrderedDict")) return false;
  op(p, IG_PICKLE_OP_EMPTY_TUPLE);
  op_put(p, IG_PICKLE_OP_REDUCE);
  return true;
}

static const char *rebuild_name(const ig_tensor *t) {
  if (t->device.type == IG_DEVICE_META) return "_rebuild_meta_tensor_no_storage";
  if (t->quantizer) return "_rebuild_qtensor";
  return storage_name(t->dtype) ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3";
}

static bool plain_tensor(ig_pack *p, const ig_tensor *t, bool grad);

// (scheme, scale, zero point) or (scheme, scales, zero points, axis)
static bool quantizer(ig_pack *p, const ig_quantizer *q) {
  bool uniform = ig_quantizer_is_uniform(q);
  if (!uniform) op(p, IG_PICKLE_OP_MARK);
  if (!global(p, "torch", ig_quant_scheme_text(q->scheme))) return false;
  if (uniform) {
    ig_pickle_float(&p->w, q->scale);
    ig_pickle_int(&p->w, q->zero_point);
  } else {
    if (!plain_tensor(p, q->scales, false) || !plain_tensor(p, q->zero_points, false)) return false;
    ig_pickle_int(&p->w, q->axis);
  }
  op_put(p, uniform ? IG_PICKLE_OP_TUPLE3 : IG_PICKLE_OP_TUPLE);
  return true;
}

// The arguments of the function above, as a tuple.
static bool rebuild_args(ig_pack *p, const ig_tensor *t, bool grad) {
  op(p, IG_PICKLE_OP_MARK);
  if (t->device.type == IG_DEVICE_META) {
    if (!global(p, "torch", ig_dtype_text(t->dtype))) return false;
    ints(p, ig_sizes(t), t->ndim);
    ints(p, ig_strides(t), t->ndim);
    op(p, grad ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
    op_put(p, IG_PICKLE_OP_TUPLE);
    return true;
  }
  const char *class = storage_name(t->dtype);
  if (!storage(p, t, class)) return false;
  ig_pickle_int(&p->w, t->offset.value);
  ints(p, ig_sizes(t), t->ndim);
  ints(p, ig_strides(t), t->ndim);
  if (t->quantizer && !quantizer(p, t->quantizer)) return false;
  op(p, grad ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
  if (!hooks(p)) return false;
  if (!class && !global(p, "torch", ig_dtype_text(t->dtype))) return false;
  op_put(p, IG_PICKLE_OP_TUPLE);
  return true;
}

static bool plain_tensor(ig_pack *p, const ig_tensor *t, bool grad) {
  if (!global(p, "torch._utils", rebuild_name(t)) || !rebuild_args(p, t, grad)) return false;
  op(p, IG_PICKLE_OP_REDUCE);
  return true;
}

static bool tensor(ig_pack *p, const ig_object *o, size_t depth) {
  const ig_tensor *t = ig_object_tensor(o);
  const ig_object *state = ig_object_state(o);
  if ((ig_is_fake(t) && t->device.type != IG_DEVICE_META) || ig_tensor_is_symbolic(t)) {
    return ig_fail(p->c, IG_INVALID, "a tensor without data cannot be saved: it is fake") == IG_OK;
  }
  if (!ig_object_is_parameter(o)) {
    if (!state) return plain_tensor(p, t, t->requires_grad) && memoize(p, o);
    if (!global(p, "torch._tensor", "_rebuild_from_type_v2")) return false;
    op(p, IG_PICKLE_OP_MARK);
    if (!global(p, "torch._utils", rebuild_name(t)) || !global(p, "torch", "Tensor") ||
        !rebuild_args(p, t, t->requires_grad) || !pack(p, state, depth + 1)) {
      return false;
    }
    op_put(p, IG_PICKLE_OP_TUPLE);
    op(p, IG_PICKLE_OP_REDUCE);
    return memoize(p, o);
  }
  const char *fn = state ? "_rebuild_parameter_with_state" : "_rebuild_parameter";
  if (!global(p, "torch._utils", fn)) return false;
  if (state) op(p, IG_PICKLE_OP_MARK);
  if (!plain_tensor(p, t, false)) return false;
  (void)ig_pickle_put(&p->w);
  op(p, t->requires_grad ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
  if (!hooks(p) || (state && !pack(p, state, depth + 1))) return false;
  op_put(p, state ? IG_PICKLE_OP_TUPLE : IG_PICKLE_OP_TUPLE3);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

// ---- containers

static bool tuple(ig_pack *p, const ig_object *o, size_t depth) {
  size_t n = ig_object_count(o);
  if (n > 3) op(p, IG_PICKLE_OP_MARK);
  for (size_t i = 0; i < n; i++) {
    if (!pack(p, ig_object_at(o, i), depth + 1)) return false;
  }
  end_tuple(p, n);
  return true;
}

static bool items(ig_pack *p, const ig_object *o, size_t depth) {
  size_t n = ig_object_count(o);
  bool map = ig_object_key(o, 0) != NULL;
  for (size_t i = 0; i < n; i += BATCH) {
    size_t end = n - i < BATCH ? n : i + BATCH;
    if (n > 1) op(p, IG_PICKLE_OP_MARK);
    for (size_t k = i; k < end; k++) {
      if (map && !pack(p, ig_object_key(o, k), depth + 1)) return false;
      if (!pack(p, ig_object_at(o, k), depth + 1)) return false;
    }
    if (map) {
      op(p, n > 1 ? IG_PICKLE_OP_SETITEMS : IG_PICKLE_OP_SETITEM);
    } else {
      op(p, n > 1 ? IG_PICKLE_OP_APPENDS : IG_PICKLE_OP_APPEND);
    }
  }
  return true;
}

static bool ordered(ig_pack *p, const ig_object *o, size_t depth) {
  if (!global(p, "collections", "OrderedDict")) return false;
  op(p, IG_PICKLE_OP_EMPTY_TUPLE);
  op(p, IG_PICKLE_OP_REDUCE);
  if (!memoize(p, o) || !items(p, o, depth)) return false;
  if (!ig_object_state(o)) return true;
  if (!pack(p, ig_object_state(o), depth + 1)) return false;
  op(p, IG_PICKLE_OP_BUILD);
  return true;
}

// Counter({...})
static bool counter(ig_pack *p, const ig_object *o, size_t depth) {
  if (!global(p, "collections", "Counter")) return false;
  op_put(p, IG_PICKLE_OP_DICT);
  if (!items(p, o, depth)) return false;
  op_put(p, IG_PICKLE_OP_TUPLE1);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

static bool set(ig_pack *p, const ig_object *o, size_t depth) {
  if (!global(p, "__builtin__", "set")) return false;
  op_put(p, IG_PICKLE_OP_LIST);
  if (!items(p, o, depth)) return false;
  op_put(p, IG_PICKLE_OP_TUPLE1);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

// ---- other values

// Protocol 2 has no bytes: they are a str that is encoded when it is read. Python writes empty
// bytes as bytes(), which torch.load rejects.
static bool bytes(ig_pack *p, const ig_object *o) {
  bool array = ig_object_kind_of(o) == IG_OBJECT_BYTEARRAY;
  const char *code = array ? "latin-1" : "latin1";
  size_t n = 0;
  const uint8_t *b = (const uint8_t *)ig_object_text(o, &n);
  if (!global(p, array ? "__builtin__" : "_codecs", array ? "bytearray" : "encode")) return false;
  uint8_t *wide = ig_mem_array(p->c->alloc, n, 2);
  if (!wide) return no_memory(p);
  size_t used = 0;
  for (size_t i = 0; i < n; i++) used += ig_utf8_encode(b[i], wide + used);
  ig_pickle_str(&p->w, (const char *)wide, used);
  (void)ig_pickle_put(&p->w);
  ig_mem_array_free(p->c->alloc, wide, n, 2);
  ig_pickle_str(&p->w, code, strlen(code));
  (void)ig_pickle_put(&p->w);
  op_put(p, IG_PICKLE_OP_TUPLE2);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

static bool complex_number(ig_pack *p, const ig_object *o) {
  if (!global(p, "__builtin__", "complex")) return false;
  ig_pickle_float(&p->w, ig_object_complex(o).re);
  ig_pickle_float(&p->w, ig_object_complex(o).im);
  op_put(p, IG_PICKLE_OP_TUPLE2);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

static bool called_with_text(ig_pack *p, const ig_object *o, const char *text, int index) {
  ig_pickle_str(&p->w, text, strlen(text));
  (void)ig_pickle_put(&p->w);
  if (index >= 0) ig_pickle_int(&p->w, index);
  op_put(p, index >= 0 ? IG_PICKLE_OP_TUPLE2 : IG_PICKLE_OP_TUPLE1);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

static bool device(ig_pack *p, const ig_object *o) {
  ig_device d = ig_object_device(o);
  return global(p, "torch", "device") && called_with_text(p, o, ig_device_type_text(d), d.index);
}

static bool layout(ig_pack *p, const ig_object *o) {
  bool strided = ig_object_layout(o) == IG_STRIDED;
  return global(p, "torch.serialization", "_get_layout") &&
         called_with_text(p, o, strided ? "torch.strided" : "torch.sparse_coo", -1);
}

static bool size(ig_pack *p, const ig_object *o, size_t depth) {
  if (!global(p, "torch", "Size") || !tuple(p, o, depth)) return false;
  if (ig_object_count(o)) (void)ig_pickle_put(&p->w);
  op_put(p, IG_PICKLE_OP_TUPLE1);
  op(p, IG_PICKLE_OP_REDUCE);
  return memoize(p, o);
}

static bool text(ig_pack *p, const ig_object *o) {
  size_t n = 0;
  const char *s = ig_object_text(o, &n);
  ig_pickle_str(&p->w, s, n);
  return memoize(p, o);
}

static bool big(ig_pack *p, const ig_object *o) {
  size_t n = 0;
  const char *s = ig_object_text(o, &n);
  ig_pickle_big(&p->w, s, n);
  return true;
}

static bool dispatch(ig_pack *p, const ig_object *o, size_t depth) {
  switch (ig_object_kind_of(o)) {
    case IG_OBJECT_NONE:
      op(p, IG_PICKLE_OP_NONE);
      return true;
    case IG_OBJECT_BOOL:
      op(p, ig_object_bool(o) ? IG_PICKLE_OP_TRUE : IG_PICKLE_OP_FALSE);
      return true;
    case IG_OBJECT_INT:
      ig_pickle_int(&p->w, ig_object_int(o));
      return true;
    case IG_OBJECT_BIG:
      return big(p, o);
    case IG_OBJECT_FLOAT:
      ig_pickle_float(&p->w, ig_object_float(o));
      return true;
    case IG_OBJECT_COMPLEX:
      return complex_number(p, o);
    case IG_OBJECT_STR:
      return text(p, o);
    case IG_OBJECT_BYTES:
    case IG_OBJECT_BYTEARRAY:
      return bytes(p, o);
    case IG_OBJECT_LIST:
      op(p, IG_PICKLE_OP_LIST);
      return memoize(p, o) && items(p, o, depth);
    case IG_OBJECT_TUPLE:
      return tuple(p, o, depth) && (!ig_object_count(o) || memoize(p, o));
    case IG_OBJECT_SIZE:
      return size(p, o, depth);
    case IG_OBJECT_SET:
      return set(p, o, depth);
    case IG_OBJECT_DICT:
      op(p, IG_PICKLE_OP_DICT);
      return memoize(p, o) && items(p, o, depth);
    case IG_OBJECT_COUNTER:
      return counter(p, o, depth);
    case IG_OBJECT_ORDERED:
      return ordered(p, o, depth);
    case IG_OBJECT_TENSOR:
      return tensor(p, o, depth);
    case IG_OBJECT_DTYPE:
      return global(p, "torch", ig_dtype_text(ig_object_dtype(o)));
    case IG_OBJECT_DEVICE:
      return device(p, o);
    case IG_OBJECT_LAYOUT:
      return layout(p, o);
    case IG_OBJECT_INSTANCE:
    case IG_OBJECT_KIND_COUNT:
      break;
  }
  return ig_fail(p->c, IG_UNSUPPORTED, "an instance of '%.200s' cannot be saved: only plain data",
                 ig_object_text(o, NULL)) == IG_OK;
}

static bool pack(ig_pack *p, const ig_object *o, size_t depth) {
  const ig_table_slot *known = o ? ig_table_find(&p->memo, o) : NULL;
  if (known) {
    ig_pickle_get(&p->w, (uint32_t)known->number - 1);
    return true;
  }
  if (depth > IG_LIMITS_DEPTH) {
    return ig_fail(p->c, IG_INVALID, "values are nested deeper than %d", IG_LIMITS_DEPTH) == IG_OK;
  }
  return dispatch(p, o, depth);
}

ig_status ig_pack_object(ig_pack *p, const ig_object *o) {
  ig_scope s = ig_scope_open(p->c);
  p->w.out = &p->text;
  ig_pickle_begin(&p->w);
  bool ok = pack(p, o, 1);
  ig_pickle_stop(&p->w);
  ig_scope_close(p->c, s);
  if (!ok) return ig_ctx_status(p->c);
  return p->text.failed ? ig_fail(p->c, IG_NOMEM, "out of memory") : IG_OK;
}
