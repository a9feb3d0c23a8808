// SPDX-License-Identifier: Apache-2.0
// Values of a running model: reference-counted, owned by scopes like tensors.
#include <string.h>

#include "onnx_read/float8.h"
#include "onnx_read/reader.h"

// The texts follow their table in one block.
static size_t strings_size(size_t n, size_t text) {
  return ig_mem_add(ig_mem_mul(n, sizeof(ig_bytes)), text);
}

static void value_destroy(ig_ref *self) {
  ig_rd_value *v = (ig_rd_value *)self;
  ig_tensor_release(v->t);
  ig_mem_array_free(v->alloc, v->ints, v->nints, sizeof *v->ints);
  ig_mem_array_free(v->alloc, v->dims, (size_t)v->ndim, sizeof *v->dims);
  size_t text = 0;
  for (size_t i = 0; i < v->nstrings; i++) text += v->strings[i].n;
  ig_mem_array_free(v->alloc, v->strings, strings_size(v->nstrings, text), 1);
  for (size_t i = 0; i < v->nitems; i++) ig_rd_release(v->items[i]);
  ig_mem_array_free(v->alloc, v->items, v->nitems, sizeof *v->items);
  ig_mem_free(v->alloc, v, sizeof *v);
}

static ig_rd_value *make(ig_rd *r, ig_rd_kind kind, int elem) {
  if (!ig_rd_ok(r)) return NULL;
  ig_rd_value *v = ig_mem_new(r->c->alloc, sizeof *v);
  if (!v) {
    (void)ig_fail(r->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  v->alloc = r->c->alloc;
  v->ref.destroy = value_destroy;
  v->kind = kind;
  v->elem = elem;
  ig_ref_retain(&v->ref);
  return ig_pool_add(r->c, &v->ref) ? v : NULL;
}

ig_rd_value *ig_rd_keep(ig_rd *r, ig_rd_value *v) {
  if (!v) return NULL;
  ig_ref_retain(&v->ref);
  return ig_pool_add(r->c, &v->ref) ? v : NULL;
}

ig_rd_value *ig_rd_of_tensor(ig_rd *r, ig_tensor *t, int elem) {
  if (!t) return NULL;
  ig_rd_value *v = make(r, IG_RD_TENSOR, elem ? elem : ig_om_elem_of(t->dtype));
  if (v) v->t = ig_tensor_retain(t);
  return v;
}

static void *block(ig_rd *r, ig_rd_value *v, size_t n, size_t size) {
  void *at = v ? ig_mem_array(r->c->alloc, n, size) : NULL;
  if (v && !at) (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  return at;
}

ig_rd_value *ig_rd_of_ints(ig_rd *r, const ig_int *at, size_t n, int ndim, int elem) {
  ig_rd_value *v = make(r, IG_RD_TENSOR, elem);
  ig_int *to = block(r, v, n, sizeof *to);
  if (!to) return NULL;
  if (n) memcpy(to, at, n * sizeof *to);
  v->ints = to;
  v->nints = n;
  v->ints_ndim = ndim;
  return v;
}

ig_rd_value *ig_rd_of_strings(ig_rd *r, const ig_bytes *at, size_t n, const int64_t *dims,
                              int ndim) {
  ig_rd_value *v = make(r, IG_RD_STRINGS, IG_OM_STRING);
  int64_t *sizes = block(r, v, (size_t)ndim, sizeof *sizes);
  if (!sizes) return NULL;
  if (ndim) memcpy(sizes, dims, (size_t)ndim * sizeof *sizes);
  v->dims = sizes;
  v->ndim = ndim;
  size_t total = 0;
  for (size_t i = 0; i < n; i++) total += at[i].n;
  ig_bytes *table = block(r, v, strings_size(n, total), 1);
  if (!table) return NULL;
  uint8_t *text = (uint8_t *)(table + n);
  for (size_t i = 0; i < n; i++) {
    if (at[i].n) memcpy(text, at[i].at, at[i].n);
    table[i] = (ig_bytes){text, at[i].n};
    text += at[i].n;
  }
  v->strings = table;
  v->nstrings = n;
  return v;
}

ig_rd_value *ig_rd_of_items(ig_rd *r, ig_rd_kind kind, ig_rd_value *const *items, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!items[i]) return NULL;
  }
  ig_rd_value *v = make(r, kind, n ? items[0]->elem : IG_OM_UNDEFINED);
  ig_rd_value **to = block(r, v, n, sizeof *to);
  if (!to) return NULL;
  for (size_t i = 0; i < n; i++) to[i] = ig_rd_retain(items[i]);
  v->items = to;
  v->nitems = n;
  return v;
}

// ---- element types

ig_dtype ig_rd_carrier(int elem) {
  switch (elem) {
    case IG_OM_UINT4:
    case IG_OM_UINT2:
      return IG_U8;
    case IG_OM_INT4:
    case IG_OM_INT2:
      return IG_I8;
    case IG_OM_F8E4M3FNUZ:
    case IG_OM_F8E5M2FNUZ:
    case IG_OM_F8E8M0:
    case IG_OM_F4E2M1:
      return IG_F32;
    default:
      return ig_om_elem_dtype(elem);
  }
}

// ---- tensors of the file

static void release_model(void *user) {
  ig_onnx_free(user);
}

static ig_tensor *unpack(ig_rd *r, const ig_om_tensor *d) {
  ig_tensor *t = ig_rd_real(r, ig_rd_carrier(d->elem), d->dims, d->ndim);
  if (!t) return NULL;
  unsigned bits = ig_om_elem_bits(d->elem);
  uint8_t mask = (uint8_t)((1u << bits) - 1);
  for (int64_t i = 0; i < d->numel; i++) {
    uint8_t x =
        (uint8_t)(bits == 8 ? d->raw.at[i] : d->raw.at[i * bits / 8] >> (i * bits % 8) & mask);
    if (t->dtype == IG_F32) {
      ((float *)ig_tensor_data(t))[i] = ig_small_to_f32(d->elem, x);
    } else {
      bool negative = t->dtype == IG_I8 && x >> (bits - 1);
      ((uint8_t *)ig_tensor_data(t))[i] = negative ? (uint8_t)(x | (uint8_t)~mask) : x;
    }
  }
  return t;
}

static ig_tensor *wrap(ig_rd *r, const ig_om_tensor *d) {
  ig_dtype dtype = ig_om_elem_dtype(d->elem);
  size_t align = ig_dtype_is_complex(dtype) ? ig_dtype_size(dtype) / 2 : ig_dtype_size(dtype);
  if (d->raw.n == 0 || (uintptr_t)d->raw.at % align) {
    ig_tensor *t = ig_rd_real(r, dtype, d->dims, d->ndim);
    if (t && d->raw.n) memcpy(ig_tensor_data(t), d->raw.at, d->raw.n);
    return t;
  }
  ig_foreign memory = {.data = (void *)d->raw.at,
                       .bytes = d->raw.n,
                       .free_fn = release_model,
                       .user = ig_onnx_retain((ig_onnx_model *)r->m)};
  return ig_tensor_wrap(r->c, dtype, d->dims, d->ndim, &memory);
}

// bool bytes of a file may hold anything; a bool tensor must hold 0 and 1.
static ig_tensor *wrap_bool(ig_rd *r, const ig_om_tensor *d) {
  ig_tensor *t = ig_rd_real(r, IG_BOOL, d->dims, d->ndim);
  for (int64_t i = 0; t && i < d->numel; i++) ((uint8_t *)ig_tensor_data(t))[i] = d->raw.at[i] != 0;
  return t;
}

ig_rd_value *ig_rd_of_data(ig_rd *r, const ig_om_tensor *d) {
  if (!ig_rd_ok(r)) return NULL;
  if (d->elem == IG_OM_STRING) {
    return ig_rd_of_strings(r, d->strings, (size_t)d->numel, d->dims, d->ndim);
  }
  bool packed = ig_om_elem_dtype(d->elem) == IG_DTYPE_COUNT;
  ig_tensor *t = packed ? unpack(r, d) : d->elem == IG_OM_BOOL ? wrap_bool(r, d) : wrap(r, d);
  return ig_rd_of_tensor(r, t, d->elem);
}

// The index of value i of a sparse tensor of `total` elements; -1: outside.
static int64_t sparse_place(const ig_om_sparse *s, int64_t i, int64_t total) {
  bool columns = s->indices->ndim == 2;
  int64_t n = columns ? s->ndim : 1;
  int64_t flat = 0;
  for (int64_t d = 0; d < n; d++) {
    int64_t at = 0;
    memcpy(&at, s->indices->raw.at + sizeof at * (size_t)(i * n + d), sizeof at);
    int64_t bound = columns ? s->dims[d] : total;
    if (at < 0 || at >= bound) return -1;
    flat = flat * bound + at;
  }
  return flat;
}

ig_rd_value *ig_rd_of_sparse(ig_rd *r, const ig_om_sparse *s) {
  ig_rd_value *values = ig_rd_of_data(r, s->values);
  ig_dtype dtype = ig_rd_carrier(s->values->elem);
  if (!values || values->kind != IG_RD_TENSOR) return NULL;
  for (int d = 0; d < s->ndim; d++) {
    if (s->dims[d] < 0) ig_rd_fail(r, IG_SYNTAX, "a sparse tensor has a negative dimension");
  }
  ig_tensor *t = ig_rd_real(r, dtype, s->dims, s->ndim);
  if (!t) return NULL;
  size_t width = ig_dtype_size(dtype);
  int64_t total = ig_tensor_numel(t);
  char *to = ig_tensor_data(t);
  const char *from = ig_tensor_data(values->t);
  memset(to, 0, (size_t)total * width);
  for (int64_t i = 0; i < s->values->numel; i++) {
    int64_t at = sparse_place(s, i, total);
    if (at < 0) {
      ig_rd_fail(r, IG_BAD_INDEX, "index %lld of a sparse tensor is out of range", (long long)i);
      return NULL;
    }
    // admitted: both are places inside of tensors
    memcpy(to + (size_t)at * width, from + (size_t)i * width, width);
  }
  return ig_rd_of_tensor(r, t, s->values->elem);
}

// ---- tensors

ig_tensor *ig_rd_real(ig_rd *r, ig_dtype dtype, const int64_t *dims, int ndim) {
  if (!ig_rd_ok(r)) return NULL;
  if (dtype >= IG_DTYPE_COUNT) {
    ig_rd_fail(r, IG_UNSUPPORTED, "tensors of this type are not supported");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < ndim && d < IG_MAX_DIM; d++) sizes[d] = ig_const(dims[d]);
  if (!ig_rd_budget(r, sizes, (size_t)ndim, dtype)) return NULL;
  return ig_tensor_empty(r->c, dtype, dims, ndim);
}

ig_tensor *ig_rd_constant(ig_rd *r, ig_dtype dtype, const void *data, int64_t n) {
  ig_tensor *t = ig_rd_real(r, dtype, &n, 1);
  if (t && n) memcpy(ig_tensor_data(t), data, (size_t)n * ig_dtype_size(dtype));
  return t;
}

ig_tensor *ig_rd_scalar(ig_rd *r, double v, ig_dtype dtype) {
  ig_tensor *t = ig_rd_real(r, dtype, NULL, 0);
  if (!t) return NULL;
  bool whole = !ig_dtype_is_float(dtype) && !ig_dtype_is_complex(dtype);
  ig_value number = whole ? ig_of_i64((int64_t)v) : ig_of_f64(v);
  ig_element_store(ig_tensor_data(t), dtype, &number);
  return t;
}

const void *ig_rd_bytes(ig_rd *r, ig_tensor *t, ig_dtype dtype) {
  if (!t || !ig_rd_ok(r)) return NULL;
  if (ig_tensor_is_fake(t)) {
    ig_rd_fail(r, IG_UNSUPPORTED,
               "can be run, but has no counterpart among ATen operators, so "
               "the model cannot become "
               "a program");
    return NULL;
  }
  size_t bytes = (size_t)ig_tensor_numel(t) * ig_dtype_size(dtype);
  void *to = ig_scope_push(r->c, bytes + 16);
  if (to && bytes) ig_tensor_read(t, dtype, to);
  return to;
}

// Known integers as a tensor: a constant, or stacked numbers where they are
// symbolic.
static ig_tensor *from_ints(ig_rd *r, const ig_rd_value *v) {
  ig_dtype dtype = ig_rd_carrier(v->elem);
  bool symbolic = false;
  for (size_t i = 0; i < v->nints; i++) symbolic |= v->ints[i].expr != NULL;
  if (!symbolic) {
    int64_t n = (int64_t)v->nints;
    ig_tensor *t = ig_rd_real(r, dtype, &n, v->ints_ndim);
    for (size_t i = 0; t && i < v->nints; i++) {
      ig_value number = ig_of_int(v->ints[i]);
      ig_element_store((char *)ig_tensor_data(t) + i * ig_dtype_size(dtype), dtype, &number);
    }
    return t;
  }
  ig_tensor **parts = ig_scope_array(r->c, v->nints, sizeof *parts);
  for (size_t i = 0; parts && i < v->nints; i++) {
    parts[i] = ig_scalar_tensor_with(r->c, ig_of_int(v->ints[i]), ig_of_dtype(dtype), ig_none(),
                                     ig_none(), ig_none());
  }
  if (!parts) return NULL;
  return v->ints_ndim == 0 ? parts[0] : ig_rd_stack(r, parts, v->nints, 0);
}

ig_tensor *ig_rd_tensor(ig_rd *r, ig_rd_value *v) {
  if (!v || !ig_rd_ok(r)) return NULL;
  if (v->kind == IG_RD_STRINGS) {  // that the schema allows: types were checked before
    ig_rd_fail(r, IG_UNSUPPORTED, "found strings, which only operators that move elements take");
    return NULL;
  }
  if (v->kind != IG_RD_TENSOR) {
    static const char *const texts[] = {"a tensor", "strings", "a sequence", "an optional",
                                        "a map"};
    ig_rd_fail(r, IG_BAD_TYPE, "found %s, expected a tensor", texts[v->kind]);
    return NULL;
  }
  if (v->t && (!v->made_in || v->made_in == r->c->mode->capture)) return v->t;
  ig_tensor *t = from_ints(r, v);
  if (!t) return NULL;
  ig_tensor_release(v->t);
  v->t = ig_tensor_retain(t);
  v->made_in = ig_tensor_is_fake(t) ? r->c->mode->capture : NULL;
  return t;
}
