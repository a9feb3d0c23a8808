// SPDX-License-Identifier: Apache-2.0
// From the tree of a pickle to tensors: storage classes, the functions that rebuild tensors, and
// the checks that a view stays inside its storage.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrays/unpack.h"
#include "codec/bits.h"
#include "tensor/copy.h"
#include "tensor/geometry.h"
#include "tensor/quantizer.h"
#include "tensor/tensor.h"

#define BAD(u, p, ...) ig_unpack_bad((u), (p), IG_SYNTAX, __VA_ARGS__)

// ---- names

typedef struct type_name {
  const char *name;
  ig_dtype dtype;   // IG_DTYPE_COUNT: known, not supported
  const char *why;  // then
} type_name;

static const char quantized[] = "elements of less than 8 bits are not supported";
static const char exotic[] = "this element type is not supported";

static const type_name storages[] = {
    {"FloatStorage", IG_F32, NULL},
    {"DoubleStorage", IG_F64, NULL},
    {"HalfStorage", IG_F16, NULL},
    {"BFloat16Storage", IG_BF16, NULL},
    {"LongStorage", IG_I64, NULL},
    {"IntStorage", IG_I32, NULL},
    {"ShortStorage", IG_I16, NULL},
    {"CharStorage", IG_I8, NULL},
    {"ByteStorage", IG_U8, NULL},
    {"BoolStorage", IG_BOOL, NULL},
    {"ComplexFloatStorage", IG_C64, NULL},
    {"ComplexDoubleStorage", IG_C128, NULL},
    // TorchScript archives can name newer element types too.
    {"Float8_e4m3fnStorage", IG_F8E4M3FN, NULL},
    {"Float8_e5m2Storage", IG_F8E5M2, NULL},
    {"UInt16Storage", IG_U16, NULL},
    {"UInt32Storage", IG_U32, NULL},
    {"UInt64Storage", IG_U64, NULL},
    {"Float8_e4m3fnuzStorage", IG_DTYPE_COUNT, exotic},
    {"Float8_e5m2fnuzStorage", IG_DTYPE_COUNT, exotic},
    {"Float8_e8m0fnuStorage", IG_DTYPE_COUNT, exotic},
    {"ComplexHalfStorage", IG_DTYPE_COUNT, exotic},
    {"QInt8Storage", IG_QI8, NULL},
    {"QUInt8Storage", IG_QU8, NULL},
    {"QInt32Storage", IG_QI32, NULL},
    {"QUInt4x2Storage", IG_DTYPE_COUNT, quantized},
    {"QUInt2x4Storage", IG_DTYPE_COUNT, quantized},
};

static const type_name other_dtypes[] = {
    {"complex32", IG_DTYPE_COUNT, exotic},        {"float8_e4m3fnuz", IG_DTYPE_COUNT, exotic},
    {"float8_e5m2fnuz", IG_DTYPE_COUNT, exotic},  {"float8_e8m0fnu", IG_DTYPE_COUNT, exotic},
    {"float4_e2m1fn_x2", IG_DTYPE_COUNT, exotic}, {"bits8", IG_DTYPE_COUNT, exotic},
    {"bits16", IG_DTYPE_COUNT, exotic},           {"bits1x8", IG_DTYPE_COUNT, exotic},
    {"bits2x4", IG_DTYPE_COUNT, exotic},          {"bits4x2", IG_DTYPE_COUNT, exotic},
    {"quint4x2", IG_DTYPE_COUNT, quantized},      {"quint2x4", IG_DTYPE_COUNT, quantized},
};

static const type_name *find_name(const type_name *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i].name, name) == 0) return &list[i];
  }
  return NULL;
}

static const char *after(const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

const char *ig_unpack_storage_name(ig_dtype d) {
  for (size_t i = 0; i < sizeof storages / sizeof *storages; i++) {
    if (storages[i].dtype == d && !storages[i].why) return storages[i].name;
  }
  return NULL;
}

bool ig_unpack_storage_class(const char *global, ig_dtype *dtype, bool *untyped, const char **why) {
  const char *name = after(global, "torch.storage.");
  if (!name) name = after(global, "torch.cuda.");
  if (!name) name = after(global, "torch.");
  if (!name) return false;
  *why = NULL;
  *untyped = strcmp(name, "UntypedStorage") == 0;
  *dtype = IG_U8;
  if (*untyped) return true;
  const type_name *found = find_name(storages, sizeof storages / sizeof *storages, name);
  if (!found) return false;
  *dtype = found->dtype;
  *why = found->why;
  return true;
}

bool ig_unpack_dtype(const char *global, ig_dtype *dtype, const char **why) {
  const char *name = after(global, "torch.");
  *why = NULL;
  *dtype = name ? ig_dtype_find(name) : IG_DTYPE_COUNT;
  if (!name || *dtype != IG_DTYPE_COUNT) return name != NULL;
  const type_name *found =
      find_name(other_dtypes, sizeof other_dtypes / sizeof *other_dtypes, name);
  if (found) *why = found->why;
  return found != NULL;
}

// ---- storages

bool ig_unpack_storage_id(ig_unpack *u, const ig_pickle *p, ig_storage_id *out) {
  const ig_pickle *t = p->args;
  *out = (ig_storage_id){.at = p->at};
  bool ok = t->kind == IG_PICKLE_TUPLE && t->n >= 5 && t->n <= 6 &&
            t->items[0]->kind == IG_PICKLE_STR && strcmp(t->items[0]->text, "storage") == 0 &&
            t->items[1]->kind == IG_PICKLE_GLOBAL && t->items[2]->kind == IG_PICKLE_STR &&
            t->items[3]->kind == IG_PICKLE_STR && t->items[4]->kind == IG_PICKLE_INT;
  if (!ok)
    return BAD(u, p, "a persistent id that is not (\"storage\", class, key, location, numel)");
  const char *why = NULL;
  const char *class = t->items[1]->text;
  if (!ig_unpack_storage_class(class, &out->dtype, &out->untyped, &why)) {
    return BAD(u, p, "'%.200s' is not a storage class", class);
  }
  if (why) return ig_unpack_bad(u, p, IG_UNSUPPORTED, "%s: %s", class, why);
  out->key = t->items[2]->text;
  out->location = t->items[3]->text;
  out->numel = t->items[4]->i;
  if (strlen(out->key) != t->items[2]->n) return BAD(u, p, "a zero character in a storage's key");
  if (out->numel < 0) return BAD(u, p, "a storage of %" PRId64 " elements", out->numel);
  const ig_pickle *view = t->n == 6 ? t->items[5] : NULL;
  if (!view || view->kind == IG_PICKLE_NONE) return true;
  ok = view->kind == IG_PICKLE_TUPLE && view->n == 3 && view->items[1]->kind == IG_PICKLE_INT &&
       view->items[2]->kind == IG_PICKLE_INT && view->items[1]->i >= 0 && view->items[2]->i >= 0;
  if (!ok) return BAD(u, p, "a view of a storage that is not (key, offset, size)");
  out->offset = view->items[1]->i;
  out->numel = view->items[2]->i;
  return true;
}

// ---- tensors

static bool int_of(ig_unpack *u, const ig_pickle *p, const char *what, int64_t *out) {
  if (p->kind != IG_PICKLE_INT || p->i < 0) {
    return BAD(
        u, p, "%s is %s, expected an integer >= 0", what,
        p->kind == IG_PICKLE_INT ? "negative" : ig_pickle_kind_text((ig_pickle_kind)p->kind));
  }
  *out = p->i;
  return true;
}

// torch.Size((2, 3)) or a plain tuple.
static bool ints_of(ig_unpack *u, const ig_pickle *p, const char *what, ig_int *out, int *n) {
  if (p->kind == IG_PICKLE_CALL && strcmp(p->global->text, "torch.Size") == 0 && p->args->n == 1) {
    p = p->args->items[0];
  }
  if (p->kind != IG_PICKLE_TUPLE && p->kind != IG_PICKLE_LIST) {
    return BAD(u, p, "%s are %s, expected a tuple", what,
               ig_pickle_kind_text((ig_pickle_kind)p->kind));
  }
  if (p->n > IG_MAX_DIM) {
    return BAD(u, p, "%zu dimensions, at most %d are supported", p->n, IG_MAX_DIM);
  }
  for (size_t i = 0; i < p->n; i++) {
    int64_t v = 0;
    if (!int_of(u, p->items[i], what, &v)) return false;
    out[i] = ig_const(v);
  }
  *n = (int)p->n;
  return true;
}

static bool shape_of(ig_unpack *u, const ig_pickle *p, const ig_pickle *size,
                     const ig_pickle *stride, ig_meta *m) {
  int nstride = 0;
  if (!ints_of(u, size, "sizes", m->size, &m->ndim) ||
      !ints_of(u, stride, "strides", m->stride, &nstride)) {
    return false;
  }
  m->strided = true;
  return nstride == m->ndim || BAD(u, p, "a tensor with %d sizes and %d strides", m->ndim, nstride);
}

// Every element that the strides reach must be among the first `numel` of the storage.
static bool inside(const ig_meta *m, int64_t numel) {
  ig_extent e;
  if (!ig_geometry_measure(m, &e)) return false;
  return e.count == 0 ? m->offset.value <= numel
                      : e.bytes / (int64_t)ig_dtype_size(m->dtype) <= numel;
}

static ig_object *finish(ig_unpack *u, const ig_pickle *p, ig_tensor *t, bool grad,
                         bool parameter) {
  if (!t) return NULL;
  if (grad && !ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype)) {
    (void)BAD(u, p, "a tensor of %s that requires a gradient", ig_dtype_text(t->dtype));
    return NULL;
  }
  if (grad) ig_tensor_set_requires_grad(u->c, t, true);
  return ig_object_of_tensor(u->c, t, parameter);
}

static bool bool_of(ig_unpack *u, const ig_pickle *p, bool *out) {
  *out = p->kind == IG_PICKLE_BOOL && p->b;
  return p->kind == IG_PICKLE_BOOL || BAD(u, p, "requires_grad is not a bool");
}

static ig_tensor *make_view(ig_unpack *u, const ig_pickle *p, const ig_storage_id *id, ig_meta *m) {
  int64_t width = (int64_t)ig_dtype_size(m->dtype);
  int64_t numel = id->untyped ? id->numel / width : id->numel;
  if (!inside(m, numel)) {
    (void)BAD(u, p, "a tensor that reaches beyond the %" PRId64 " elements of storage '%.100s'",
              numel, id->key);
    return NULL;
  }
  int64_t start = 0;
  if (!ig_checked_add(m->offset.value, id->offset, &start)) {
    (void)BAD(u, p, "an offset that is too large");
    return NULL;
  }
  m->offset = ig_const(start);
  if (u->meta) {
    m->device = (ig_device){IG_DEVICE_META, -1};
    return ig_tensor_make(u->c, m, true);
  }
  ig_storage_id wanted = *id;
  wanted.element = ig_dtype_carrier(m->dtype);
  m->view_of = u->storage(u, &wanted);
  if (!m->view_of) return NULL;
  int64_t have = (int64_t)m->view_of->storage->bytes;
  int64_t need = 0;
  if (!ig_checked_add(id->numel, id->offset, &need) ||
      !ig_checked_mul(need, id->untyped ? 1 : width, &need) || need > have) {
    (void)BAD(u, p, "storage '%.100s' has %" PRId64 " bytes, expected %" PRId64 " elements of %s",
              id->key, have, id->numel, ig_dtype_text(id->dtype));
    return NULL;
  }
  return ig_tensor_make(u->c, m, false);
}

// Flips the signs of real parts, imaginary parts, or both; every float has its sign in the top bit.
static void flip_signs(ig_dtype d, uint8_t *at, size_t n, bool re, bool im) {
  size_t width = ig_element_align(d);
  bool pairs = ig_dtype_is_complex(d);
  for (size_t i = 0; i + width <= n; i += width) {
    bool second = pairs && i / width % 2;
    if (second ? im : re) at[IG_BIG_ENDIAN ? i : i + width - 1] ^= 0x80;
  }
}

// PyTorch tensors may have a lazy conjugation or negation: {"conj": True}. It is materialized into
// a new tensor.
static ig_tensor *resolve(ig_unpack *u, const ig_pickle *metadata, ig_tensor *t) {
  bool conj = false;
  bool neg = false;
  bool ok = metadata->kind == IG_PICKLE_DICT || metadata->kind == IG_PICKLE_NONE;
  for (size_t i = 0; metadata->kind == IG_PICKLE_DICT && i + 1 < metadata->n; i += 2) {
    const ig_pickle *key = metadata->items[i];
    const ig_pickle *value = metadata->items[i + 1];
    ok = ok && key->kind == IG_PICKLE_STR && value->kind == IG_PICKLE_BOOL;
    if (ok && strcmp(key->text, "conj") == 0) {
      conj = value->b;
    } else if (ok && strcmp(key->text, "neg") == 0) {
      neg = value->b;
    } else {
      ok = false;
    }
  }
  bool fits = t && (!conj || ig_dtype_is_complex(t->dtype)) &&
              (!neg || ig_dtype_is_complex(t->dtype) || ig_dtype_is_float(t->dtype));
  if (t && (!ok || !fits)) {
    (void)ig_unpack_bad(u, metadata, IG_UNSUPPORTED, "a tensor with properties that are not known");
    return NULL;
  }
  if (!t || (!conj && !neg) || ig_tensor_is_fake(t)) return t;
  // Strides of 0 can expand few bytes to many elements: copies have the limit of unpacked data.
  uint64_t bytes = (uint64_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);
  if ((uint64_t)ig_tensor_numel(t) > u->limits.max_inflated || bytes > u->limits.max_inflated) {
    (void)BAD(u, metadata,
              "a pending conjugation of %" PRId64 " elements, the limit is %" PRIu64 " bytes",
              ig_tensor_numel(t), u->limits.max_inflated);
    return NULL;
  }
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  ig_tensor *copy = ig_tensor_empty(u->c, t->dtype, sizes, t->ndim);
  if (!copy) return NULL;
  if (bytes) ig_tensor_read(t, t->dtype, ig_tensor_data(copy));
  flip_signs(t->dtype, ig_tensor_data(copy), (size_t)bytes, neg, conj != neg);
  return copy;
}

// (storage, offset, sizes, strides[, requires_grad, hooks[, dtype or metadata ...]])
static ig_object *rebuild(ig_unpack *u, ig_pickle *p, size_t least, size_t most, bool typed) {
  const ig_pickle *a = p->args;
  if (a->n < least || a->n > most) {
    (void)BAD(u, p, "%s with %zu arguments", p->global->text, a->n);
    return NULL;
  }
  ig_storage_id id;
  ig_meta m;
  bool grad = false;
  int64_t offset = 0;
  if (a->items[0]->kind != IG_PICKLE_PERSID) {
    (void)BAD(u, p, "a tensor of %s, expected a storage",
              ig_pickle_kind_text((ig_pickle_kind)a->items[0]->kind));
    return NULL;
  }
  if (!ig_unpack_storage_id(u, a->items[0], &id)) return NULL;
  ig_meta_init(&m, id.dtype, ig_device_cpu());
  if (typed) {
    const char *why = NULL;
    const ig_pickle *d = a->items[6];
    if (d->kind != IG_PICKLE_GLOBAL || !ig_unpack_dtype(d->text, &m.dtype, &why)) {
      (void)BAD(u, p, "a tensor whose dtype is not a dtype");
      return NULL;
    }
    if (why) {
      (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "%s: %s", d->text, why);
      return NULL;
    }
  }
  if (!int_of(u, a->items[1], "the offset", &offset) ||
      !shape_of(u, p, a->items[2], a->items[3], &m) ||
      (a->n > 4 && !bool_of(u, a->items[4], &grad))) {
    return NULL;
  }
  m.offset = ig_const(offset);
  ig_tensor *t = make_view(u, p, &id, &m);
  size_t metadata = typed ? 7 : 6;
  if (a->n > metadata) t = resolve(u, a->items[metadata], t);
  return finish(u, p, t, grad, false);
}
static ig_object *call_v1(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  return rebuild(u, p, 4, 4, false);
}
static ig_object *call_v2(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  return rebuild(u, p, 6, 7, false);
}
static ig_object *call_v3(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  return rebuild(u, p, 7, 8, true);
}

// ---- quantized tensors

static ig_tensor *channel_part(ig_unpack *u, ig_pickle *p, size_t depth) {
  ig_object *o = ig_unpack_value(u, p, depth + 1);
  ig_tensor *t = o ? ig_object_tensor(o) : NULL;
  ig_tensor *dense = NULL;
  if (t && t->ndim == 1 && !ig_is_fake(t)) {
    int64_t n = ig_sizes(t)[0].value;
    // Strides of 0 can expand few bytes to many elements.
    if ((uint64_t)n <= u->limits.max_inflated) dense = ig_tensor_empty(u->c, t->dtype, &n, 1);
    if (dense && n) ig_tensor_read(t, t->dtype, ig_tensor_data(dense));
  }
  if (!dense && o) (void)BAD(u, p, "scales or zero points that are not a vector");
  ig_object_free(o);
  return dense;
}

// (scheme, scale, zero point) or (scheme, scales, zero points, axis)
static ig_quantizer *quantizer_of(ig_unpack *u, const ig_pickle *p, const ig_meta *m,
                                  size_t depth) {
  bool tuple = p->kind == IG_PICKLE_TUPLE && p->n >= 3 && p->items[0]->kind == IG_PICKLE_GLOBAL;
  const char *scheme = tuple ? after(p->items[0]->text, "torch.") : NULL;
  if (scheme && p->n == 3 && strcmp(scheme, "per_tensor_affine") == 0 &&
      p->items[1]->kind == IG_PICKLE_FLOAT && p->items[2]->kind == IG_PICKLE_INT) {
    return ig_quantizer_make(u->c, p->items[1]->f, p->items[2]->i);
  }
  bool numbers = scheme && strcmp(scheme, "per_channel_affine_float_qparams") == 0;
  bool channels = scheme && p->n == 4 && p->items[3]->kind == IG_PICKLE_INT &&
                  (numbers || strcmp(scheme, "per_channel_affine") == 0);
  if (!channels || p->items[3]->i < 0 || p->items[3]->i >= m->ndim) {
    (void)BAD(u, p,
              "a quantizer that is not (scheme, scale, zero point) or (scheme, scales, zero "
              "points, axis)");
    return NULL;
  }
  ig_tensor *scales = channel_part(u, p->items[1], depth);
  ig_tensor *zeros = scales ? channel_part(u, p->items[2], depth) : NULL;
  if (!zeros) return NULL;
  int64_t n = m->size[p->items[3]->i].value;
  if (scales->dtype != (numbers ? IG_F32 : IG_F64) || zeros->dtype != (numbers ? IG_F32 : IG_I64) ||
      ig_tensor_numel(scales) != n || ig_tensor_numel(zeros) != n) {
    (void)BAD(u, p, "scales and zero points that do not fit %" PRId64 " channels", n);
    return NULL;
  }
  return ig_quantizer_make_channels(u->c, scales, zeros, (int)p->items[3]->i);
}

// (storage, offset, sizes, strides, quantizer, requires_grad, hooks)
static ig_object *call_quantized(ig_unpack *u, ig_pickle *p, size_t depth) {
  const ig_pickle *a = p->args;
  ig_storage_id id;
  ig_meta m;
  bool grad = false;
  int64_t offset = 0;
  if (a->n != 7 || a->items[0]->kind != IG_PICKLE_PERSID) {
    (void)BAD(u, p, "%s with %zu arguments, expected a storage and 6 more", p->global->text, a->n);
    return NULL;
  }
  if (!ig_unpack_storage_id(u, a->items[0], &id)) return NULL;
  if (!ig_dtype_is_quantized(id.dtype)) {
    (void)BAD(u, p, "a quantized tensor of %s", ig_dtype_text(id.dtype));
    return NULL;
  }
  ig_meta_init(&m, id.dtype, ig_device_cpu());
  if (!int_of(u, a->items[1], "the offset", &offset) ||
      !shape_of(u, p, a->items[2], a->items[3], &m) || !bool_of(u, a->items[5], &grad)) {
    return NULL;
  }
  m.offset = ig_const(offset);
  m.quantizer = quantizer_of(u, a->items[4], &m, depth);
  if (!m.quantizer) return NULL;
  if (!ig_quantizer_fits(m.quantizer, id.dtype)) {
    (void)BAD(u, p, "a zero point that %s cannot represent", ig_dtype_text(id.dtype));
    return NULL;
  }
  return finish(u, p, make_view(u, p, &id, &m), grad, false);
}

// (dtype, sizes, strides, requires_grad)
static ig_object *call_meta(ig_unpack *u, ig_pickle *p, size_t depth) {
  (void)depth;
  const ig_pickle *a = p->args;
  ig_meta m;
  ig_dtype d;
  const char *why = NULL;
  bool grad = false;
  bool ok = a->n == 4 && a->items[0]->kind == IG_PICKLE_GLOBAL &&
            ig_unpack_dtype(a->items[0]->text, &d, &why) && !why;
  if (!ok) {
    (void)BAD(u, p, "a meta tensor that is not (dtype, sizes, strides, requires_grad)");
    return NULL;
  }
  ig_meta_init(&m, d, (ig_device){IG_DEVICE_META, -1});
  if (!shape_of(u, p, a->items[1], a->items[2], &m) || !bool_of(u, a->items[3], &grad)) return NULL;
  return finish(u, p, ig_tensor_make(u->c, &m, true), grad, false);
}

// (tensor, requires_grad, hooks[, attributes])
static ig_object *parameter(ig_unpack *u, ig_pickle *p, size_t n, size_t depth) {
  bool grad = false;
  if (p->args->n != n) {
    (void)BAD(u, p, "%s with %zu arguments, expected %zu", p->global->text, p->args->n, n);
    return NULL;
  }
  if (!bool_of(u, p->args->items[1], &grad)) return NULL;
  ig_object *data = ig_unpack_value(u, p->args->items[0], depth + 1);
  if (data && !ig_object_tensor(data)) (void)BAD(u, p, "a parameter of other than a tensor");
  ig_tensor *t = data ? ig_object_tensor(data) : NULL;
  ig_object *o = finish(u, p, t ? ig_tensor_alias(u->c, t) : NULL, grad, true);
  ig_object_free(data);
  return o;
}

// Attributes that Python code set on a tensor.
static ig_object *with_state(ig_unpack *u, ig_pickle *p, ig_object *o, ig_pickle *state,
                             size_t depth) {
  if (!o || state->kind == IG_PICKLE_NONE || (state->kind == IG_PICKLE_DICT && state->n == 0)) {
    return o;
  }
  if (state->kind == IG_PICKLE_DICT) {
    if (ig_object_set_state(u->c, o, ig_unpack_value(u, state, depth + 1)) == IG_OK) return o;
  } else {
    (void)BAD(u, p, "attributes of a tensor are %s",
              ig_pickle_kind_text((ig_pickle_kind)state->kind));
  }
  ig_object_free(o);
  return NULL;
}
static ig_object *call_parameter(ig_unpack *u, ig_pickle *p, size_t depth) {
  return parameter(u, p, 3, depth);
}
static ig_object *call_parameter_state(ig_unpack *u, ig_pickle *p, size_t depth) {
  ig_object *o = parameter(u, p, 4, depth);
  return o ? with_state(u, p, o, p->args->items[3], depth) : NULL;
}

// (function, type, arguments, attributes): a tensor with attributes, or of a subclass.
static ig_object *call_typed(ig_unpack *u, ig_pickle *p, size_t depth) {
  const ig_pickle *a = p->args;
  if (a->n != 4 || a->items[0]->kind != IG_PICKLE_GLOBAL || a->items[1]->kind != IG_PICKLE_GLOBAL ||
      a->items[2]->kind != IG_PICKLE_TUPLE) {
    (void)BAD(u, p, "%s with other than (function, type, arguments, attributes)", p->global->text);
    return NULL;
  }
  const char *type = a->items[1]->text;
  bool param = strcmp(type, "torch.nn.parameter.Parameter") == 0;
  if (!param && strcmp(type, "torch.Tensor") != 0) {
    (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "a tensor of the class '%.200s'", type);
    return NULL;
  }
  ig_pickle call = {.kind = IG_PICKLE_CALL, .at = p->at};
  call.global = a->items[0];
  call.args = a->items[2];
  const ig_unpack_call *fn = ig_unpack_tensor_calls;
  while (fn->name && strcmp(fn->name, call.global->text) != 0) fn++;
  if (!fn->name || !fn->build || fn->build == call_typed) {
    (void)ig_unpack_bad(u, p, IG_UNSUPPORTED, "a tensor made by '%.200s'", call.global->text);
    return NULL;
  }
  return with_state(u, p, fn->build(u, &call, depth + 1), a->items[3], depth);
}

#define NOT_STRIDED "only dense tensors are supported; convert it with to_dense() before saving"

const ig_unpack_call ig_unpack_tensor_calls[] = {
    {"torch._utils._rebuild_tensor", IG_PICKLE_CALLED, call_v1, NULL},
    {"torch._utils._rebuild_tensor_v2", IG_PICKLE_CALLED, call_v2, NULL},
    {"torch._utils._rebuild_tensor_v3", IG_PICKLE_CALLED, call_v3, NULL},
    {"torch._utils._rebuild_meta_tensor_no_storage", IG_PICKLE_CALLED, call_meta, NULL},
    {"torch._utils._rebuild_parameter", IG_PICKLE_CALLED, call_parameter, NULL},
    {"torch._utils._rebuild_parameter_with_state", IG_PICKLE_CALLED, call_parameter_state, NULL},
    {"torch._tensor._rebuild_from_type_v2", IG_PICKLE_CALLED, call_typed, NULL},
    {"torch._utils._rebuild_qtensor", IG_PICKLE_CALLED, call_quantized, NULL},
    {"torch._utils._rebuild_sparse_tensor", IG_PICKLE_CALLED, NULL, NOT_STRIDED},
    {"torch._utils._rebuild_sparse_csr_tensor", IG_PICKLE_CALLED, NULL, NOT_STRIDED},
    {"torch._utils._rebuild_nested_tensor", IG_PICKLE_CALLED, NULL,
     "nested tensors are not supported"},
    {"torch._utils._rebuild_wrapper_subclass", IG_PICKLE_CALLED, NULL,
     "tensor subclasses are not supported"},
    {"torch._utils._rebuild_device_tensor_from_numpy", IG_PICKLE_CALLED, NULL,
     "tensors saved through NumPy are not supported; move them to the cpu before saving"},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", IG_PICKLE_CALLED, NULL,
     "tensors of this device are not supported; move them to the cpu before saving"},
    {"torch._utils._rebuild_xla_tensor", IG_PICKLE_CALLED, NULL,
     "tensors of this device are not supported; move them to the cpu before saving"},
    {NULL, IG_PICKLE_REFUSED, NULL, NULL},
};
