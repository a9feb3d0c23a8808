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

static int64_t size_of(const ig_tensor *t, uint64_t once, int d) {
  return once >> d & 1 ? 1 : ig_sizes(t)[d].value;
}

static bool is_dense(const ig_tensor *t, uint64_t once) {
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    int64_t size = size_of(t, once, d);
    if (size == 0) return true;
    if (size == 1) continue;
    if (ig_strides(t)[d].value != step) return false;
    step *= size;
  }
  return true;
}

// One block of reduced dimensions (sizes of 1 do not matter) in dense memory.
static bool lies_right(const ig_tensor *self, const bool *reduced, uint64_t once, ig_axis *axis) {
  enum { BEFORE, INSIDE, AFTER } where = BEFORE;
  *axis = (ig_axis){1, 1, 1};
  if (!is_dense(self, once)) return false;
  for (int d = 0; d < self->ndim; d++) {
    int64_t size = size_of(self, once, d);
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

static ig_operand plan(ig_need *n, const ig_tensor *self, const bool *reduced, uint64_t once,
                       ig_dtype dtype, ig_axis *axis) {
  if (self->dtype == dtype && lies_right(self, reduced, once, axis)) {
    return (ig_operand){.dtype = dtype};
  }
  uint64_t last = 0;  // kept dimensions first, then the reduced ones
  *axis = (ig_axis){1, 1, 1};
  for (int d = 0; d < self->ndim; d++) {
    *(reduced[d] ? &axis->n : &axis->outer) *= size_of(self, once, d);
    last |= (uint64_t)reduced[d] << d;
  }
  return ig_operand_copy(n, self, dtype, last, once);
}

ig_operand ig_reduce_plan(ig_need *n, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                          ig_axis *axis) {
  return plan(n, self, reduced, 0, dtype, axis);
}

// Below, the rounding of sums is that of adding every element up, as PyTorch does.
enum { WORTH = 1 << 20 };

ig_repeated ig_reduce_plan_once(ig_need *n, const ig_tensor *self, const bool *reduced,
                                ig_dtype dtype) {
  ig_repeated r = {.times = 1};
  for (int d = 0; d < self->ndim && ig_tensor_numel(self) >= WORTH; d++) {
    if (!reduced[d] || ig_sizes(self)[d].value < 2 || ig_strides(self)[d].value != 0) continue;
    r.times *= ig_sizes(self)[d].value;
    r.once |= (uint64_t)1 << d;
  }
  r.x = plan(n, self, reduced, r.once, dtype, &r.axis);
  return r;
}

const void *ig_reduce_operand(ig_ctx *c, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                              ig_axis *axis) {
  if (self->dtype == dtype && lies_right(self, reduced, 0, axis)) {
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
