// SPDX-License-Identifier: Apache-2.0
// Preparing operands of reductions.
#include <string.h>

#include "ops/reduce/reduce.h"
#include "tensor/copy.h"

ig_elem ig_elem_of(ig_dtype d) {
  static const ig_elem elems[IG_DTYPE_COUNT] = {
      [IG_BOOL] = IG_ELEM_BOOL,      [IG_U8] = IG_ELEM_U8,       [IG_I8] = IG_ELEM_I8,
      [IG_I16] = IG_ELEM_I16,        [IG_I32] = IG_ELEM_I32,     [IG_I64] = IG_ELEM_I64,
      [IG_U16] = IG_ELEM_U16,        [IG_U32] = IG_ELEM_U32,     [IG_U64] = IG_ELEM_U64,
      [IG_F16] = IG_ELEM_F16,        [IG_BF16] = IG_ELEM_BF16,   [IG_F32] = IG_ELEM_F32,
      [IG_F64] = IG_ELEM_F64,        [IG_C64] = IG_ELEM_COUNT,   [IG_C128] = IG_ELEM_COUNT,
      [IG_F8E4M3FN] = IG_ELEM_COUNT, [IG_F8E5M2] = IG_ELEM_COUNT};
  return elems[d];
}

// One block of reduced dimensions (sizes of 1 do not matter) in dense memory.
static bool lies_right(const ig_tensor *self, const bool *reduced, ig_axis *axis) {
  enum { BEFORE, INSIDE, AFTER } where = BEFORE;
  *axis = (ig_axis){1, 1, 1};
  if (!ig_tensor_is_dense(self)) return false;
  for (int d = 0; d < self->ndim; d++) {
    int64_t size = ig_sizes(self)[d].value;
    if (size == 1) continue;
    if (reduced[d]) {
      if (where == AFTER) return false;
      where = INSIDE;
      axis->n *= size;
    } else {
      if (where == INSIDE) where = AFTER;
      *(where == AFTER ? &axis->inner : &axis->outer) *= size;
    }
  }
  return true;
}

const void *ig_reduce_operand(ig_ctx *c, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                              ig_axis *axis) {
  if (self->dtype == dtype && lies_right(self, reduced, axis)) {
    static const double nothing = 0;
    const void *data = ig_tensor_data(self);
    return data ? data : &nothing;
  }
  ig_meta m;  // kept dimensions first, then the reduced ones
  ig_meta_view((ig_tensor *)self, &m);
  int at = 0;
  *axis = (ig_axis){1, 1, 1};
  for (int pass = 0; pass < 2; pass++) {
    for (int d = 0; d < self->ndim; d++) {
      if (reduced[d] != (pass == 1)) continue;
      m.size[at] = ig_sizes(self)[d];
      m.stride[at++] = ig_strides(self)[d];
      *(pass ? &axis->n : &axis->outer) *= ig_sizes(self)[d].value;
    }
  }
  const ig_tensor *turned = ig_tensor_make(c, &m, true);
  size_t bytes = ig_mem_mul((size_t)ig_tensor_numel(self), ig_dtype_size(dtype));
  void *dense = turned ? ig_scope_push(c, bytes + 64) : NULL;
  if (dense) ig_tensor_read(turned, dtype, dense);
  return dense;
}

// Below this size, sums are rounded as when adding every element, as in PyTorch.
enum { WORTH = 1 << 20 };

ig_tensor *ig_reduce_once(ig_ctx *c, ig_tensor *self, const bool *reduced, int64_t *times) {
  ig_meta m;
  *times = 1;
  if (ig_tensor_numel(self) < WORTH) return self;
  ig_meta_view(self, &m);
  for (int d = 0; d < self->ndim; d++) {
    if (!reduced[d] || m.size[d].value < 2 || m.stride[d].value != 0) continue;
    *times *= m.size[d].value;
    m.size[d] = ig_const(1);
  }
  return *times > 1 ? ig_tensor_make(c, &m, false) : self;
}
