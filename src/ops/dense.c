// SPDX-License-Identifier: Apache-2.0
#include "ops/dense.h"

#include <string.h>

#include "op/strides.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// One more element than n, so that memory for zero elements is not NULL and kernels may read ahead.
static void *room_for(ig_ctx *c, size_t n, ig_dtype dtype) {
  return ig_scope_array(c, ig_mem_add(n, 1), ig_dtype_size(dtype));
}

void *ig_dense_room(ig_ctx *c, size_t n, ig_dtype dtype) {
  void *room = room_for(c, n, dtype);
  if (room) memset(room, 0, (n + 1) * ig_dtype_size(dtype));
  return room;
}

void *ig_dense_read(ig_ctx *c, const ig_tensor *t, ig_dtype dtype) {
  size_t n = (size_t)ig_tensor_numel(t);
  size_t size = ig_dtype_size(dtype);
  if (c->status == IG_OK && ig_is_fake(t)) {
    (void)ig_fail(c, IG_DATA_DEPENDENT, "the elements of a tensor without data are not known");
  }
  char *room = c->status == IG_OK ? room_for(c, n, dtype) : NULL;
  if (!room) return NULL;
  memset(room + n * size, 0, size);
  if (n) ig_tensor_read(t, dtype, room);
  return room;
}

void ig_dense_write(ig_ctx *c, ig_tensor *t, ig_dtype dtype, void *from) {
  int64_t sizes[IG_MAX_DIM];
  size_t n = (size_t)ig_tensor_numel(t);
  if (!from || n == 0 || c->status != IG_OK) return;
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  ig_foreign memory = {.data = from, .bytes = n * ig_dtype_size(dtype)};
  ig_tensor *dense = ig_tensor_wrap(c, dtype, sizes, t->ndim, &memory);
  if (dense) ig_tensor_copy(t, dense);
}

void ig_meta_by_columns(ig_ctx *c, ig_meta *m) {
  ig_meta_contiguous(c, m);
  int n = m->ndim;
  m->stride[n - 2] = ig_const(1);
  m->stride[n - 1] =
      ig_int_is(c, m->size[n - 2], IG_LE, ig_const(0)) ? ig_const(1) : m->size[n - 2];
  m->strided = true;
}

ig_tensor *ig_dense_by_columns(ig_ctx *c, const ig_tensor *t) {
  ig_meta meta;
  if (c->status != IG_OK) return NULL;
  ig_meta_of(t, &meta);
  meta.offset = ig_const(0);
  ig_meta_by_columns(c, &meta);
  ig_tensor *to = ig_tensor_make(c, &meta, false);
  if (to) ig_tensor_copy(to, t);
  return to;
}

void *ig_dense_columns(ig_ctx *c, const ig_tensor *t) {
  ig_tensor *to = ig_dense_by_columns(c, t);
  return to ? ig_tensor_data(to) : NULL;
}

void ig_dense_eye(ig_tensor *t) {
  ig_value zero = ig_of_i64(0);
  ig_value one = ig_of_i64(1);
  int64_t rows = ig_sizes(t)[t->ndim - 2].value;  // concrete: real sizes
  int64_t cols = ig_sizes(t)[t->ndim - 1].value;  // concrete: real sizes
  int64_t k = rows < cols ? rows : cols;
  int64_t step = ig_strides(t)[t->ndim - 2].value + ig_strides(t)[t->ndim - 1].value;
  size_t size = ig_dtype_size(t->dtype);
  ig_tensor_fill(t, &zero);
  for (int64_t at = 0; at < ig_tensor_numel(t); at += rows * cols) {
    for (int64_t i = 0; i < k; i++) {
      ig_element_store((char *)ig_tensor_data(t) + (size_t)(at + i * step) * size, t->dtype, &one);
    }
  }
}
