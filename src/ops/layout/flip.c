// SPDX-License-Identifier: Apache-2.0
// flip: rows are taken backwards along the chosen dimensions, and each row if the last one is.
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "op/formula.h"
#include "op/shape.h"
#include "ops/dense.h"

static void flip_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  bool set[IG_MAX_DIM];
  ig_dims_of(c, &args[1], args[0].tensor->ndim, false, set);
  if (c->status == IG_OK) ig_shape_like(c, op, args, out);
}

#define BACKWARDS(type)                                                               \
  IG_CLONES_NARROW static void reverse_##type(type *to, const type *from, size_t n) { \
    for (size_t i = 0; i < n; i++) to[i] = from[n - 1 - i];                           \
  }
BACKWARDS(uint8_t)
BACKWARDS(uint16_t)
BACKWARDS(uint32_t)
BACKWARDS(ig_c64)  // any 8 bytes; aligned as the parts of a complex number are
BACKWARDS(ig_c128)

static void reverse(void *to, const void *from, size_t n, size_t size) {
  switch (size) {
    case 1:
      reverse_uint8_t(to, from, n);
      break;
    case 2:
      reverse_uint16_t(to, from, n);
      break;
    case 4:
      reverse_uint32_t(to, from, n);
      break;
    case 8:
      reverse_ig_c64(to, from, n);
      break;
    default:
      reverse_ig_c128(to, from, n);
      break;
  }
}

// Elements in row-major order, both sides.
static void flip_dense(const ig_tensor *x, const bool *set, const char *from, char *to) {
  int last = x->ndim - 1;
  size_t n = (size_t)ig_tensor_numel(x);
  size_t size = ig_dtype_size(x->dtype);
  size_t row = last >= 0 ? (size_t)ig_sizes(x)[last].value : 1;  // concrete: real sizes
  for (size_t i = 0; i < n; i += row) {
    size_t rest = i / row;
    size_t at = 0;
    size_t step = row;
    for (int d = last - 1; d >= 0; d--) {
      size_t len = (size_t)ig_sizes(x)[d].value;
      size_t k = rest % len;
      rest /= len;
      at += (set[d] ? len - 1 - k : k) * step;
      step *= len;
    }
    if (last >= 0 && set[last])
      reverse(to + i * size, from + at * size, row, size);
    else
      ig_mem_copy(to + i * size, from + at * size, row * size);
  }
}

static void flip_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  bool set[IG_MAX_DIM] = {false};
  ig_dims_of(c, &args[1], x->ndim, false, set);
  if (ig_tensor_is_dense(x) && ig_tensor_is_dense(out)) {
    flip_dense(x, set, ig_tensor_data(x), ig_tensor_data(out));
    return;
  }
  ig_scope s = ig_scope_open(c);
  const char *from = ig_dense_read(c, x, x->dtype);
  char *to = ig_dense_room(c, (size_t)ig_tensor_numel(x), x->dtype);
  if (from && to) flip_dense(x, set, from, to);
  ig_dense_write(c, out, x->dtype, to);
  ig_scope_close(c, s);
}

static void flip_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_flip(c, v->grad, v->args[1]);
}

IG_OP(flip) = {
    .schema = "aten::flip(Tensor self, int[] dims) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = flip_shape,
    .kernel = flip_kernel,
    .vjp = flip_vjp,
    .keep = "",
    .samples = "f32[3,5], [1] | f32[2,3,4], [0,-1] | f32[4,2].T, [0] | i64[5], [0]",
};
