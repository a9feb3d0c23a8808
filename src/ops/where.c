// SPDX-License-Identifier: Apache-2.0
// Choosing by a mask: where, masked_fill, masked_select, nonzero.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"
#include "tensor/number.h"

#define TILE(name, type)                                            \
  static void name(const ig_tile *t) {                              \
    const bool *mask = t->in[0];                                    \
    const type *x = t->in[1];                                       \
    const type *y = t->in[2];                                       \
    type *o = t->out;                                               \
    for (size_t i = 0; i < t->n; i++) o[i] = mask[i] ? x[i] : y[i]; \
  }

// Elements are moved, not read: their size is all that matters.
TILE(where_1, uint8_t)
TILE(where_2, uint16_t)
TILE(where_4, uint32_t)
TILE(where_8, uint64_t)
TILE(where_16, ig_c128)

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
  return ig_where_self(c, args[0].tensor, args[1].tensor, other);
}

static ig_tensor *where_scalar_self_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = ig_promote(c, args + 1, 2);
  ig_tensor *self = scalar_of(c, args[1], dtype, args[0].tensor);
  return ig_where_self(c, args[0].tensor, self, args[2].tensor);
}

static void where_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *condition = v->args[0].tensor;
  for (size_t i = 1; i <= 2; i++) {
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

#define FILL_ROW(type)                                                    \
  {                                                                       \
    type x;                                                               \
    memcpy(&x, j->image, sizeof x);                                       \
    if (stride[0] == (int64_t)sizeof(type) && stride[1] == 1) {           \
      type *dense = (type *)(void *)to;                                   \
      for (int64_t i = 0; i < n; i++) dense[i] = mask[i] ? x : dense[i];  \
      break;                                                              \
    }                                                                     \
    for (int64_t i = 0; i < n; i++, to += stride[0], mask += stride[1]) { \
      if (*mask) memcpy(to, &x, sizeof x);                                \
    }                                                                     \
    break;                                                                \
  }

static void masked_fill_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  const fill_job *j = user;
  char *to = at[0];
  const char *mask = at[1];
  switch (j->size) {
    case 1:
      FILL_ROW(uint8_t)
    case 2:
      FILL_ROW(uint16_t)
    case 4:
      FILL_ROW(uint32_t)
    case 8:
      FILL_ROW(uint64_t)
    default:
      FILL_ROW(ig_c128)
  }
}

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
  ig_walk_run(&w, 32768, masked_fill_row, &j);
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

// Is any byte of an element not zero? Floats need care: -0.0 is zero.
static bool is_nonzero(const char *at, ig_dtype dtype) {
  switch (dtype) {
    case IG_F32: {
      float x;
      memcpy(&x, at, sizeof x);
      return x != 0;
    }
    case IG_F64: {
      double x;
      memcpy(&x, at, sizeof x);
      return x != 0;
    }
    case IG_C64: {
      ig_c64 z;
      memcpy(&z, at, sizeof z);
      return z.re != 0 || z.im != 0;
    }
    case IG_C128: {
      ig_c128 z;
      memcpy(&z, at, sizeof z);
      return z.re != 0 || z.im != 0;
    }
    case IG_F16:
    case IG_BF16: {
      uint16_t h;
      memcpy(&h, at, sizeof h);
      return (h & 0x7fff) != 0;
    }
    case IG_F8E4M3FN:
    case IG_F8E5M2:
      return (*at & 0x7f) != 0;
    default: {
      uint64_t bits = 0;
      memcpy(&bits, at, ig_dtype_size(dtype));
      return bits != 0;
    }
  }
}

// Walks t in row-major order, calling back with the index of every element.
typedef struct counter {
  const ig_tensor *t;
  const char *at;
  int64_t index[IG_MAX_DIM];
  int64_t size;
} counter;

static void counter_start(counter *k, const ig_tensor *t) {
  k->t = t;
  k->at = ig_tensor_data(t);
  k->size = (int64_t)ig_dtype_size(t->dtype);
  memset(k->index, 0, sizeof k->index);
}

static void counter_next(counter *k) {
  for (int d = k->t->ndim - 1; d >= 0; d--) {
    int64_t step = ig_strides(k->t)[d].value * k->size;
    k->at += step;
    if (++k->index[d] < ig_sizes(k->t)[d].value) return;
    k->at -= step * k->index[d];
    k->index[d] = 0;
  }
}

static int64_t count_nonzero(const ig_tensor *t) {
  counter k;
  int64_t numel = ig_tensor_numel(t);
  int64_t found = 0;
  if (ig_tensor_is_dense(t)) {
    const char *at = ig_tensor_data(t);
    int64_t size = (int64_t)ig_dtype_size(t->dtype);
    for (int64_t i = 0; i < numel; i++, at += size) found += is_nonzero(at, t->dtype);
    return found;
  }
  counter_start(&k, t);
  for (int64_t i = 0; i < numel; i++, counter_next(&k)) found += is_nonzero(k.at, t->dtype);
  return found;
}

static void nonzero_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  ig_meta m;
  ig_meta_init(&m, IG_I64, self->device);
  ig_meta_push_dim(c, &m, ig_const(count_nonzero(self)));
  ig_meta_push_dim(c, &m, ig_const(self->ndim));
  // PyTorch fills column by column and hands out the transposed view.
  m.strided = true;
  m.stride[0] = ig_const(1);
  m.stride[1] = m.size[0].value > 1 ? m.size[0] : ig_const(1);
  ig_tensor *out = ig_tensor_make(c, &m, false);
  if (!out) return;
  int64_t *to = ig_tensor_data(out);
  int64_t rows = m.size[0].value;
  int64_t row = 0;
  int64_t numel = ig_tensor_numel(self);
  counter k;
  counter_start(&k, self);
  for (int64_t i = 0; i < numel; i++, counter_next(&k)) {
    if (!is_nonzero(k.at, self->dtype)) continue;
    for (int d = 0; d < self->ndim; d++) to[d * rows + row] = k.index[d];
    row++;
  }
  outs[0] = ig_of_tensor(out);
}

static ig_int unbacked_size(ig_ctx *c, ig_int most) {
  ig_int n = ig_sym_unbacked(c);
  ig_int_assume(c, n, 0, most.expr ? INT64_MAX : most.value);
  return n;
}

// How many there are stands in the data: a fresh symbol.
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

// t seen with the sizes of m.
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

static void masked_select_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_meta m;
  if (!masked_select_meta(c, args, &m)) return;
  ig_tensor *self = spread(c, args[0].tensor, &m);
  ig_tensor *mask = spread(c, args[1].tensor, &m);
  if (!self || !mask) return;
  int64_t found = count_nonzero(mask);
  ig_tensor *out = ig_tensor_empty(c, self->dtype, &found, 1);
  if (!out) return;
  size_t size = ig_dtype_size(self->dtype);
  char *to = ig_tensor_data(out);
  int64_t numel = ig_tensor_numel(self);
  counter from;
  counter choice;
  counter_start(&from, self);
  counter_start(&choice, mask);
  for (int64_t i = 0; i < numel; i++, counter_next(&from), counter_next(&choice)) {
    if (!*choice.at) continue;
    memcpy(to, from.at, size);
    to += size;
  }
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
    [IG_I64] = where_8, [IG_U64] = where_8, [IG_F64] = where_8, [IG_C64] = where_8,     \
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
    .waive = "decompose: it is Core ATen",
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
};

IG_OP(masked_fill_scalar) = {
    .schema = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    .shape = masked_fill_shape,
    .kernel = masked_fill_kernel,
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
    .shape = masked_fill_shape,
    .kernel = masked_fill_kernel,
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
    .waive = "vjp: indices have no slope; decompose: it is Core ATen",
};

IG_OP(nonzero_numpy) = {
    .schema = "aten::nonzero_numpy(Tensor self) -> Tensor[]",
    .decompose_outs = nonzero_numpy_decompose,
    .samples = "bool[3,5] | f32[4] | bool[]",
};

IG_OP(masked_select) = {
    .schema = "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
    .kernel = masked_select_kernel,
    .fake = masked_select_fake,
    .vjp = masked_select_vjp,
    .keep = "mask",
    .samples =
        "f32[3,5], bool[3,5] | f32[3,5], bool[5] | f32[5], bool[3,1] | f32[4,2].T, bool[2,4]",
    .waive = "decompose: it is Core ATen",
};

IG_OP(masked_select_backward) = {
    .schema = "aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor",
    .decompose = masked_select_backward_decompose,
    .waive = "samples: how long grad is depends on the elements of mask; masked_select covers it",
};
