// SPDX-License-Identifier: Apache-2.0
// Choosing by a mask: where, masked_fill, masked_select, nonzero.
#include <string.h>

#include "base/cpu.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"
#include "tensor/number.h"

#define TILE(attr, name, type, expr)             \
  attr static void name(const ig_tile_args *t) { \
    const uint8_t *mask = t->in[0];              \
    const type *x = t->in[1];                    \
    const type *y = t->in[2];                    \
    type *o = t->out;                            \
    const size_t n = t->n;                       \
    for (size_t i = 0; i < n; i++) o[i] = expr;  \
  }

// Elements are moved, not read: their size is all that matters. The choice is made by bit
// operations, since a branch on a mask is mispredicted half of the time.
#define BY_BITS(type) (type)(y[i] ^ ((x[i] ^ y[i]) & (type)(0 - (type)(mask[i] != 0))))
TILE(IG_CLONES_NARROW, where_1, uint8_t, BY_BITS(uint8_t))
TILE(, where_2, uint16_t, BY_BITS(uint16_t))
TILE(IG_CLONES_NARROW, where_4, uint32_t, BY_BITS(uint32_t))
TILE(IG_CLONES_NARROW, where_8, uint64_t, BY_BITS(uint64_t))
// Complex numbers are aligned as their parts are, so that no larger word may read them.
TILE(, where_c64, ig_c64, mask[i] ? x[i] : y[i])
TILE(, where_16, ig_c128, mask[i] ? x[i] : y[i])

static void where_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_dtype d = args[0].tensor->dtype;
  if (d != IG_BOOL && d != IG_U8) {
    ig_fail_text(c, IG_RUNTIME,
                 "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                 ig_dtype_title(d));
    return;
  }
  ig_shape_pointwise(c, op, args, out);
}

static ig_tensor *scalar_of(ig_ctx *c, ig_value number, ig_dtype dtype, const ig_tensor *like) {
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  return ig_scalar_tensor_with(c, number, ig_of_dtype(dtype), strided, ig_of_device(like->device),
                               ig_none());
}

static ig_tensor *where_scalar_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = ig_promote(c, args + 1, 2);
  ig_tensor *other = scalar_of(c, args[2], dtype, args[0].tensor);
  ig_tensor *self = scalar_of(c, args[1], dtype, args[0].tensor);
  return ig_where_self(c, args[0].tensor, self, other);
}

static ig_tensor *where_scalar_other_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = ig_promote(c, args + 1, 2);
  ig_tensor *other = scalar_of(c, args[2], dtype, args[0].tensor);
  return ig_where_self(c, args[0].tensor, ig_cast(c, args[1].tensor, dtype), other);
}

static ig_tensor *where_scalar_self_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = ig_promote(c, args + 1, 2);
  ig_tensor *self = scalar_of(c, args[1], dtype, args[0].tensor);
  return ig_where_self(c, args[0].tensor, self, ig_cast(c, args[2].tensor, dtype));
}

static void where_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *condition = v->args[0].tensor;
  for (size_t i = 2; i >= 1; i--) {  // other, then self, as in PyTorch
    if (v->args[i].kind != IG_KIND_TENSOR || !IG_WANTED(v, i)) continue;
    ig_value zero = ig_of_i64(0);
    ig_tensor *g = i == 1 ? ig_where_scalarother(c, condition, v->grad, zero)
                          : ig_where_scalarself(c, condition, zero, v->grad);
    g = ig_sum_to(c, g, &v->args[i]);
    IG_GRAD(v, i) = ig_cast(c, g, v->args[i].tensor->dtype);
  }
}

static void check_mask(ig_ctx *c, const ig_tensor *mask) {
  if (mask->dtype == IG_BOOL) return;
  const char *text = ig_dtype_text(mask->dtype);
  if (mask->dtype == IG_F32) text = "float";
  if (mask->dtype == IG_F64) text = "double";
  ig_fail_text(c, IG_RUNTIME,
               "masked_fill_ only supports boolean masks, but got mask with dtype %s", text);
}

static void masked_fill_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  check_mask(c, args[1].tensor);
  if (args[2].kind == IG_KIND_TENSOR && args[2].tensor->ndim > 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                 "dimension(s).",
                 args[2].tensor->ndim);
  }
  if (c->status == IG_OK) ig_broadcast(c, args, 2, out);
}

typedef struct fill_job {
  uint8_t image[16];
  size_t size;
} fill_job;

#define FILL_ROW(name, type)                                                        \
  static void name(void *user, char *const *at, const int64_t *stride, int64_t n) { \
    const fill_job *j = user;                                                       \
    char *to = at[0];                                                               \
    const char *mask = at[1];                                                       \
    type x;                                                                         \
    memcpy(&x, j->image, sizeof x);                                                 \
    if (stride[0] == (int64_t)sizeof(type) && stride[1] == 1) {                     \
      type *dense = (type *)(void *)to;                                             \
      for (int64_t i = 0; i < n; i++) dense[i] = mask[i] ? x : dense[i];            \
      return;                                                                       \
    }                                                                               \
    for (int64_t i = 0; i < n; i++, to += stride[0], mask += stride[1]) {           \
      if (*mask) memcpy(to, &x, sizeof x);                                          \
    }                                                                               \
  }

FILL_ROW(fill_row_1, uint8_t)
FILL_ROW(fill_row_2, uint16_t)
FILL_ROW(fill_row_4, uint32_t)
FILL_ROW(fill_row_8, uint64_t)
FILL_ROW(fill_row_16, ig_c128)

// The function for elements of 1, 2, 4, 8 or 16 bytes.
#define BY_SIZE(size, name) \
  ((size) == 1   ? name##_1 \
   : (size) == 2 ? name##_2 \
   : (size) == 4 ? name##_4 \
   : (size) == 8 ? name##_8 \
                 : name##_16)

static void masked_fill_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  ig_value number = args[2];
  if (number.kind == IG_KIND_TENSOR) {
    number = ig_element_load(ig_tensor_data(number.tensor), number.tensor->dtype);
  }
  if (!ig_check_number(c, &number, out->dtype)) return;
  fill_job j = {.size = ig_dtype_size(out->dtype)};
  ig_element_store(j.image, out->dtype, &number);
  if (out != args[0].tensor) ig_tensor_copy(out, args[0].tensor);
  ig_walk w;
  ig_walk_make(&w, out, (ig_tensor *[]){out, args[1].tensor}, 2);
  ig_walk_run(&w, 32768, BY_SIZE(j.size, fill_row), &j);
}

static ig_tensor *masked_fill_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_value number = args[2];
  if (ig_dtype_is_float(self->dtype) && number.kind != IG_KIND_COMPLEX) {
    number = ig_of_f64(ig_value_f64(&number));
  }
  ig_tensor *value = scalar_of(c, number, self->dtype, self);
  return ig_where_self(c, args[1].tensor, value, self);
}

static ig_tensor *masked_fill_tensor_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *value = ig_cast(c, args[2].tensor, args[0].tensor->dtype);
  return ig_where_self(c, args[1].tensor, value, args[0].tensor);
}

static void masked_fill_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0)) {
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, v->args[1].tensor, ig_of_i64(0));
    IG_GRAD(v, 0) = ig_sum_to(c, g, &v->args[0]);
  }
  if (v->args[2].kind != IG_KIND_TENSOR || !IG_WANTED(v, 2)) return;
  ig_tensor *g = ig_where_scalarother(c, v->args[1].tensor, v->grad, ig_of_i64(0));
  IG_GRAD(v, 2) = ig_sum_to(c, g, &v->args[2]);
}

enum { CHUNK = 1024 };

static ig_tensor *dense_of(ig_ctx *c, ig_tensor *t) {
  if (ig_tensor_is_dense(t)) return t;
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

// Elements [from, from + n) of a dense tensor, n <= CHUNK: true where the byte is not 0.
static const uint8_t *truths(const ig_tensor *t, int64_t from, int64_t n, uint8_t *buffer) {
  const char *at = (const char *)ig_tensor_data(t) + from * (int64_t)ig_dtype_size(t->dtype);
  if (t->dtype == IG_BOOL) return (const uint8_t *)at;
  ig_convert(buffer, IG_BOOL, at, t->dtype, (size_t)n);
  return buffer;
}

static int64_t count_true(const ig_tensor *t) {
  uint8_t buffer[CHUNK];
  int64_t numel = ig_tensor_numel(t);
  int64_t found = 0;
  for (int64_t i = 0; i < numel; i += CHUNK) {
    int64_t n = numel - i < CHUNK ? numel - i : CHUNK;
    const uint8_t *is = truths(t, i, n, buffer);
    uint32_t here = 0;
    for (int64_t k = 0; k < n; k++) here += is[k] != 0;
    found += here;
  }
  return found;
}

// Writes the indices column by column. Rows of the last dimension share the indices before it.
static void list_true(const ig_tensor *t, int64_t *to, int64_t rows) {
  uint8_t buffer[CHUNK];
  int64_t index[IG_MAX_DIM] = {0};
  int last = t->ndim - 1;
  int64_t width = ig_sizes(t)[last].value;
  int64_t lines = width ? ig_tensor_numel(t) / width : 0;
  int64_t row = 0;
  for (int64_t line = 0; line < lines; line++) {
    int64_t first = row;
    for (int64_t i = 0; i < width; i += CHUNK) {
      int64_t n = width - i < CHUNK ? width - i : CHUNK;
      const uint8_t *is = truths(t, line * width + i, n, buffer);
      for (int64_t k = 0; k < n; k++) {
        if (is[k]) to[last * rows + row++] = i + k;
      }
    }
    for (int d = 0; d < last; d++) {
      for (int64_t r = first; r < row; r++) to[d * rows + r] = index[d];
    }
    for (int d = last - 1; d >= 0; d--) {
      if (++index[d] < ig_sizes(t)[d].value) break;
      index[d] = 0;
    }
  }
}

static void nonzero_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *self = dense_of(c, args[0].tensor);
  if (!self) return;
  ig_meta m;
  ig_meta_init(&m, IG_I64, self->device);
  ig_meta_push_dim(c, &m, ig_const(count_true(self)));
  ig_meta_push_dim(c, &m, ig_const(self->ndim));
  // PyTorch fills column by column and returns the transposed view.
  m.strided = true;
  m.stride[0] = ig_const(1);
  m.stride[1] = m.size[0].value > 1 ? m.size[0] : ig_const(1);
  ig_tensor *out = ig_tensor_make(c, &m, false);
  if (!out) return;
  if (self->ndim) list_true(self, ig_tensor_data(out), m.size[0].value);
  outs[0] = ig_of_tensor(out);
}

static ig_int unbacked_size(ig_ctx *c, ig_int most) {
  ig_int n = ig_sym_unbacked(c);
  int64_t hi = most.expr ? ig_vrange_narrow(ig_expr_range(c, most.expr)).hi : most.value;
  ig_sym_constrain(c, n, 0, hi, true);
  return n;
}

// Their number depends on the data: a fresh symbol.
static void nonzero_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  ig_meta m;
  ig_meta_init(&m, IG_I64, self->device);
  ig_meta_push_dim(c, &m, unbacked_size(c, ig_numel_of(c, self)));
  ig_meta_push_dim(c, &m, ig_const(self->ndim));
  m.strided = true;
  m.stride[0] = ig_const(1);
  m.stride[1] = m.size[0];
  if (c->status == IG_OK) outs[0] = ig_of_tensor(ig_tensor_make(c, &m, true));
}

static void nonzero_numpy_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (self->ndim == 0) self = ig_unsqueeze(c, self, ig_const(0));
  self = ig_nonzero(c, self);
  ig_unbind_int_with(c, self, ig_const(1), outs);
}

static bool masked_select_meta(ig_ctx *c, const ig_value *args, ig_meta *m) {
  if (args[1].tensor->dtype != IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "masked_select: expected BoolTensor for mask");
    return false;
  }
  ig_meta_init(m, args[0].tensor->dtype, args[0].tensor->device);
  ig_broadcast(c, (ig_value[]){args[1], args[0]}, 2, m);
  return c->status == IG_OK;
}

// t expanded to the sizes of m.
static ig_tensor *spread(ig_ctx *c, ig_tensor *t, const ig_meta *m) {
  ig_meta v;
  int lead = m->ndim - t->ndim;
  ig_meta_view(t, &v);
  v.ndim = m->ndim;
  for (int d = 0; d < m->ndim; d++) {
    bool repeated = d < lead || ig_sizes(t)[d - lead].value == 1;
    v.size[d] = m->size[d];
    v.stride[d] = repeated ? ig_const(0) : ig_strides(t)[d - lead];
  }
  return ig_tensor_make(c, &v, false);
}

#define KEEP_TRUE(name, bytes)                                                 \
  static void name(char *to, const char *from, const uint8_t *is, int64_t n) { \
    for (int64_t i = 0; i < n; i++) {                                          \
      if (!is[i]) continue;                                                    \
      memcpy(to, from + i * (bytes), bytes);                                   \
      to += (bytes);                                                           \
    }                                                                          \
  }

KEEP_TRUE(keep_1, 1)
KEEP_TRUE(keep_2, 2)
KEEP_TRUE(keep_4, 4)
KEEP_TRUE(keep_8, 8)
KEEP_TRUE(keep_16, 16)

static void masked_select_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_meta m;
  if (!masked_select_meta(c, args, &m)) return;
  ig_tensor *self = spread(c, args[0].tensor, &m);
  ig_tensor *mask = spread(c, args[1].tensor, &m);
  if (!self || !mask) return;
  self = dense_of(c, self);
  mask = dense_of(c, mask);
  if (!self || !mask) return;
  int64_t found = count_true(mask);
  ig_tensor *out = ig_tensor_empty(c, self->dtype, &found, 1);
  if (!out) return;
  size_t size = ig_dtype_size(self->dtype);
  BY_SIZE(size, keep)
  (ig_tensor_data(out), ig_tensor_data(self), ig_tensor_data(mask), ig_tensor_numel(self));
  outs[0] = ig_of_tensor(out);
}

static void masked_select_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_meta m;
  if (!masked_select_meta(c, args, &m)) return;
  ig_int n = unbacked_size(c, ig_product(c, m.size, (size_t)m.ndim));
  m.ndim = 0;
  ig_meta_push_dim(c, &m, n);
  m.stride[0] = ig_const(1);
  if (c->status == IG_OK) outs[0] = ig_of_tensor(ig_tensor_make(c, &m, true));
}

// Elements of the gradient go back to where the mask is set.
static ig_tensor *masked_select_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  ig_tensor *input = args[1].tensor;
  ig_meta m;
  ig_meta_init(&m, input->dtype, input->device);
  ig_broadcast(c, args + 1, 2, &m);
  if (c->status != IG_OK) return NULL;
  ig_value sizes = ig_of_ints(m.size, (size_t)m.ndim);
  ig_tensor *mask = ig_expand(c, args[2].tensor, sizes);
  ig_tensor *full = ig_zeros_with(c, sizes, ig_of_dtype(grad->dtype), ig_none(),
                                  ig_of_device(grad->device), ig_none());
  ig_value index = ig_of_tensor(mask);
  full = ig_index_put(c, full, ig_of_list(&index, 1), grad);
  return ig_sum_to(c, full, &args[1]);
}

static void masked_select_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_masked_select_backward(c, v->grad, v->args[0].tensor, v->args[1].tensor);
}

#define WHERE_TILES                                                                     \
  {                                                                                     \
    [IG_BOOL] = where_1, [IG_U8] = where_1, [IG_I8] = where_1, [IG_F8E4M3FN] = where_1, \
    [IG_F8E5M2] = where_1, [IG_I16] = where_2, [IG_U16] = where_2, [IG_F16] = where_2,  \
    [IG_BF16] = where_2, [IG_I32] = where_4, [IG_U32] = where_4, [IG_F32] = where_4,    \
    [IG_I64] = where_8, [IG_U64] = where_8, [IG_F64] = where_8, [IG_C64] = where_c64,   \
    [IG_C128] = where_16                                                                \
  }

IG_OP(where_self) = {
    .schema = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    .shape = where_shape,
    .tile = WHERE_TILES,
    .masks = 1,
    .vjp = where_vjp,
    .keep = "condition",
    .samples =
        "bool[3,5], f32[3,5], f32[3,5] | bool[3,1], f32[5], f32[] | bool[2,4], f32[4,2].T, f32[4] "
        "| "
        "bool[], i64[3], f32[3] | bool[0], f32[0], f32[0] | u8[3]:<2, f32[3], f32[3]",
};

IG_OP(where_scalar) = {
    .schema = "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    .decompose = where_scalar_decompose,
    .samples = "bool[3,5], 1, 2.5 | bool[], 1, 2",
};

IG_OP(where_scalarother) = {
    .schema = "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    .decompose = where_scalar_other_decompose,
    .samples = "bool[3,5], f32[3,5], 2.5 | bool[3], i64[3], 2",
};

IG_OP(where_scalarself) = {
    .schema = "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    .decompose = where_scalar_self_decompose,
    .samples = "bool[3,5], 2.5, f32[3,5] | bool[3], 2, i64[3]",
};

IG_OP(where) = {
    .schema = "aten::where(Tensor condition) -> Tensor[]",
    .decompose_outs = nonzero_numpy_decompose,
    .samples = "bool[3,5] | f32[4] | bool[]",
    .waive =
        "fake: how many there are depends on the elements; symbolic: how many there are depends on "
        "the elements",
};

IG_OP(masked_fill_scalar) = {
    .schema = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = masked_fill_shape,
    .kernel = masked_fill_kernel,
    .takes_no_memory = true,
    .decompose = masked_fill_decompose,
    .vjp = masked_fill_vjp,
    .keep = "mask",
    .alias_out = true,
    .samples =
        "f32[3,5], bool[3,5], 1.5 | f32[3,5], bool[5], 2 | f32[4,2].T, bool[2,1], 0 | i64[3], "
        "bool[3], 7 | f32[5], bool[3,1], 1 | bool[3], bool[3], True",
};

IG_OP(masked_fill_tensor) = {
    .schema = "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = masked_fill_shape,
    .kernel = masked_fill_kernel,
    .takes_no_memory = true,
    .decompose = masked_fill_tensor_decompose,
    .vjp = masked_fill_vjp,
    .keep = "mask",
    .alias_out = true,
    .samples = "f32[3,5], bool[3,5], f32[] | f32[4,2].T, bool[2,1], f32[] | f32[3], bool[3], i64[]",
};

IG_OP(nonzero) = {
    .schema = "aten::nonzero(Tensor self) -> Tensor",
    .kernel = nonzero_kernel,
    .fake = nonzero_fake,
    .samples = "bool[3,5] | f32[4] | i64[2,3]:<2 | f32[] | bool[0] | bool[4,3].T",
    .not_differentiable = true,  // indices are not differentiable
};

IG_OP(nonzero_numpy) = {
    .schema = "aten::nonzero_numpy(Tensor self) -> Tensor[]",
    .decompose_outs = nonzero_numpy_decompose,
    .samples = "bool[3,5] | f32[4] | bool[]",
    .waive =
        "fake: how many there are depends on the elements; symbolic: how many there are depends on "
        "the elements",
};

IG_OP(masked_select) = {
    .schema = "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
    .kernel = masked_select_kernel,
    .fake = masked_select_fake,
    .vjp = masked_select_vjp,
    .keep = "mask",
    .samples =
        "f32[3,5], bool[3,5] | f32[3,5], bool[5] | f32[5], bool[3,1] | f32[4,2].T, bool[2,4]",
};

IG_OP(masked_select_backward) = {
    .schema = "aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor",
    .decompose = masked_select_backward_decompose,
    .samples = "f32[0], f32[0], bool[0] | f32[0], f32[2,0], bool[2,1]",
    .waive = "0-d: how long grad is stands in the mask",
};
