// SPDX-License-Identifier: Apache-2.0
#include "ops/dense.h"

#include <string.h>

#include "tensor/copy.h"

void *ig_dense_room(ig_ctx *c, size_t n, ig_dtype dtype) {
  size_t bytes = (n + 1) * ig_dtype_size(dtype);
  void *room = ig_scope_push(c, bytes);
  if (room) memset(room, 0, bytes);
  return room;
}

void *ig_dense_read(ig_ctx *c, const ig_tensor *t, ig_dtype dtype) {
  size_t n = (size_t)ig_tensor_numel(t);
  void *room = c->status == IG_OK ? ig_dense_room(c, n, dtype) : NULL;
  if (room && n) ig_tensor_read(t, dtype, room);
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
