// SPDX-License-Identifier: Apache-2.0
// Matrix products: mm, bmm, addmm, baddbmm, mv, dot, matmul, linear, outer.
#include <complex.h>
#include <string.h>

#include "kernels/gemm.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/operand.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// [m, k] by [j, n]; PyTorch has a different message during capture.
static void cannot_multiply(ig_ctx *c, bool fake, ig_int m, ig_int k, ig_int j, const char *n) {
  ig_fail_text(c, IG_RUNTIME,
               fake ? "a and b must have same reduction dim, but got [%s, %s] X [%s, %s]."
                    : "mat1 and mat2 shapes cannot be multiplied (%sx%s and %sx%s)",
               ig_int_text(c, m), ig_int_text(c, k), ig_int_text(c, j), n);
}

// (batch, m, k) x (batch, k, n) with strides in elements; c is dense from its row stride on.
typedef struct product {
  int64_t batch, m, n, k;
  int64_t a_bs, a_rs, a_cs;
  int64_t b_bs, b_rs, b_cs;
  int64_t c_bs, c_rs;
} product;

static double complex to_complex(const ig_value *v) {
  ig_c128 z = v->kind == IG_KIND_COMPLEX ? v->z : (ig_c128){ig_value_f64(v), 0};
  double complex out;
  memcpy(&out, &z, sizeof out);  // C11's CMPLX, which clang 14 does not have
  return out;
}

static int64_t to_whole(const ig_value *v) {
  int64_t i = 0;
  ig_element_store(&i, IG_I64, v);
  return i;
}

// A number, so many times.
static double real_times(const ig_value *v, int64_t times) {
  return ig_value_f64(v) * (double)times;
}
static int64_t whole_times(const ig_value *v, int64_t times) {
  return (int64_t)((uint64_t)to_whole(v) * (uint64_t)times);
}
static double complex complex_times(const ig_value *v, int64_t times) {
  return to_complex(v) * (double)times;
}

// One row per dtype that has products: its name, element, scalar, and how a number becomes one.
#define PRODUCTS(X)                                          \
  X(F32, f32, float, float, real_times)                      \
  X(F64, f64, double, double, real_times)                    \
  X(F16, f16, uint16_t, float, real_times)                   \
  X(BF16, bf16, uint16_t, float, real_times)                 \
  X(I64, i64, int64_t, int64_t, whole_times)                 \
  X(I32, i32, int32_t, int32_t, whole_times)                 \
  X(I16, i16, int16_t, int16_t, whole_times)                 \
  X(I8, i8, int8_t, int8_t, whole_times)                     \
  X(U8, u8, uint8_t, uint8_t, whole_times)                   \
  X(C64, c64, float _Complex, float _Complex, complex_times) \
  X(C128, c128, double _Complex, double _Complex, complex_times)

// How often the same two elements are multiplied for a sum: operands that are expanded along the
// dimension that is summed over repeat one, and one is enough. Below a size where it matters the
// rounding is that of adding every product up.
static int64_t repeats_of(const product *p) {
  enum { WORTH = 1 << 20 };
  return p->a_cs == 0 && p->b_rs == 0 && p->k >= WORTH ? p->k : 1;
}

static void prepare_product(ig_ctx *c, const ig_op *op, const product *p, ig_dtype d,
                            const ig_value *alpha, const ig_value *beta, ig_gemm_plan *plan,
                            ig_need *need) {
  int64_t times = repeats_of(p);
  int64_t k = times > 1 ? 1 : p->k;
  switch (d) {
#define X(D, name, type, scalar, read)                                                            \
  case IG_##D:                                                                                    \
    ig_gemm_prepare_##name(p->batch, p->m, p->n, k, (scalar)read(alpha, times), p->a_bs, p->a_rs, \
                           p->a_cs, p->b_bs, p->b_rs, p->b_cs, (scalar)read(beta, 1), p->c_bs,    \
                           p->c_rs, plan, need);                                                  \
    break;
    PRODUCTS(X)
#undef X
    default:
      ig_refuse_dtype(c, op->schema.name, d);
      break;
  }
}

static void run_product(const ig_gemm_plan *plan, ig_dtype d, const void *a, const void *b,
                        void *to) {
  switch (d) {
#define X(D, name, type, scalar, read)  \
  case IG_##D:                          \
    ig_gemm_run_##name(plan, a, b, to); \
    break;
    PRODUCTS(X)
#undef X
    default:
      break;
  }
}

static int64_t size_at(const ig_tensor *t, int d) {
  return ig_sizes(t)[d].value;
}
static int64_t stride_at(const ig_tensor *t, int d) {
  return ig_strides(t)[d].value;
}

// The last two dimensions are the matrices; one dimension before them is the batch.
static product product_of(const ig_tensor *a, const ig_tensor *b, const ig_tensor *out) {
  bool batched = a->ndim == 3;
  int r = batched ? 1 : 0;
  return (product){.batch = batched ? size_at(a, 0) : 1,
                   .m = size_at(a, r),
                   .n = size_at(b, r + 1),
                   .k = size_at(a, r + 1),
                   .a_bs = batched ? stride_at(a, 0) : 0,
                   .a_rs = stride_at(a, r),
                   .a_cs = stride_at(a, r + 1),
                   .b_bs = batched ? stride_at(b, 0) : 0,
                   .b_rs = stride_at(b, r),
                   .b_cs = stride_at(b, r + 1),
                   .c_bs = batched ? stride_at(out, 0) : 0,
                   .c_rs = stride_at(out, r)};
}

// Shapes ------------------------------------------------------------------------------------------

static void check_dtypes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->dtype == b->dtype) return;
  ig_fail_text(c, IG_RUNTIME, "expected m1 and m2 to have the same dtype, but got: %s != %s",
               ig_dtype_title(a->dtype), ig_dtype_title(b->dtype));
}

static void matrix_shape(ig_ctx *c, const ig_tensor *a, const ig_tensor *b, const char *first,
                         ig_meta *out) {
  if (a->ndim != 2 || b->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "%s must be a matrix", a->ndim != 2 ? first : "mat2");
    return;
  }
  if (!ig_int_eq(c, ig_sizes(a)[1], ig_sizes(b)[0])) {
    cannot_multiply(c, ig_is_fake(a), ig_sizes(a)[0], ig_sizes(a)[1], ig_sizes(b)[0],
                    ig_int_text(c, ig_sizes(b)[1]));
    return;
  }
  check_dtypes(c, a, b);
  out->dtype = a->dtype;
  out->ndim = 2;
  out->size[0] = ig_sizes(a)[0];
  out->size[1] = ig_sizes(b)[1];
}

static void batch_shape(ig_ctx *c, const ig_tensor *a, const ig_tensor *b, ig_meta *out) {
  if (a->ndim != 3 || b->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME, "%s must be a 3D tensor", a->ndim != 3 ? "batch1" : "batch2");
    return;
  }
  if (!ig_int_eq(c, ig_sizes(a)[0], ig_sizes(b)[0]) ||
      !ig_int_eq(c, ig_sizes(a)[2], ig_sizes(b)[1])) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected size for first two dimensions of batch2 tensor to be: [%s, %s] but got: "
                 "[%s, %s].",
                 ig_int_text(c, ig_sizes(a)[0]), ig_int_text(c, ig_sizes(a)[2]),
                 ig_int_text(c, ig_sizes(b)[0]), ig_int_text(c, ig_sizes(b)[1]));
    return;
  }
  check_dtypes(c, a, b);
  out->dtype = a->dtype;
  out->ndim = 3;
  out->size[0] = ig_sizes(a)[0];
  out->size[1] = ig_sizes(a)[1];
  out->size[2] = ig_sizes(b)[2];
}

static void mm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  matrix_shape(c, args[0].tensor, args[1].tensor, "self", out);
}
static void bmm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  batch_shape(c, args[0].tensor, args[1].tensor, out);
}

// self must expand to the product.
static void check_addend(ig_ctx *c, const ig_tensor *self, const ig_meta *out) {
  bool fits = self->ndim <= out->ndim;
  for (int d = 1; d <= self->ndim && fits && c->status == IG_OK; d++) {
    ig_int have = ig_sizes(self)[self->ndim - d];
    fits = ig_int_eq_i64(c, have, 1) || ig_int_eq(c, have, out->size[out->ndim - d]);
  }
  if (c->status != IG_OK) return;
  if (!fits) {
    ig_fail_text(c, IG_RUNTIME,
                 "The expanded size of the tensor (%s) must match the existing size (%s) at "
                 "non-singleton dimension %d.",
                 ig_int_text(c, out->size[out->ndim - 1]),
                 self->ndim ? ig_int_text(c, ig_sizes(self)[self->ndim - 1]) : "", out->ndim - 1);
  } else if (self->dtype != out->dtype) {
    ig_fail_text(c, IG_RUNTIME, "self and mat2 must have the same dtype, but got %s and %s",
                 ig_dtype_title(self->dtype), ig_dtype_title(out->dtype));
  }
}

static void addmm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  matrix_shape(c, args[1].tensor, args[2].tensor, "mat1", out);
  if (c->status == IG_OK) check_addend(c, args[0].tensor, out);
}
static void baddbmm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  batch_shape(c, args[1].tensor, args[2].tensor, out);
  if (c->status == IG_OK) check_addend(c, args[0].tensor, out);
}

static bool check_linear(ig_ctx *c, const ig_tensor *x, const ig_tensor *w) {
  if (x->ndim == 0 || w->ndim > 2 || w->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "both arguments to linear need to be at least 1D, but they are %dD and %dD",
                 x->ndim, w->ndim);
    return false;
  }
  ig_int k = ig_sizes(w)[w->ndim - 1];
  ig_int have = ig_sizes(x)[x->ndim - 1];
  if (!ig_int_eq(c, have, k)) {
    ig_int rows = x->ndim == 1 ? ig_const(1) : ig_product(c, ig_sizes(x), (size_t)x->ndim - 1);
    cannot_multiply(c, ig_is_fake(x), rows, have, k,
                    w->ndim == 2 ? ig_int_text(c, ig_sizes(w)[0]) : "1");
    return false;
  }
  if (x->dtype != w->dtype) {
    ig_fail_text(c, IG_RUNTIME, "mat1 and mat2 must have the same dtype, but got %s and %s",
                 ig_dtype_title(x->dtype), ig_dtype_title(w->dtype));
  }
  return c->status == IG_OK;
}

static void linear_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = args[1].tensor;
  if (!check_linear(c, x, w)) return;
  out->dtype = x->dtype;
  for (int d = 0; d < x->ndim - 1; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  if (w->ndim == 2) ig_meta_push_dim(c, out, ig_sizes(w)[0]);
  if (args[2].kind == IG_KIND_TENSOR && out->ndim) check_addend(c, args[2].tensor, out);
}

// Kernels -----------------------------------------------------------------------------------------

typedef struct product_state {
  ig_gemm_plan plan;
  ig_operand x;  // linear: rows of the input as one matrix
} product_state;

static void mm_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                       ig_prep *p) {
  IG_STATE(product_state, s, p);
  ig_value one = ig_of_i64(1);
  ig_value zero = ig_of_i64(0);
  product m = product_of(args[0].tensor, args[1].tensor, outs[0].tensor);
  prepare_product(c, op, &m, outs[0].tensor->dtype, &one, &zero, &s->plan, &p->need);
}

static void mm_run(const ig_exec *x) {
  const product_state *s = x->state;
  const ig_tensor *out = x->outs[0].tensor;
  run_product(&s->plan, out->dtype, ig_tensor_data(x->args[0].tensor),
              ig_tensor_data(x->args[1].tensor), ig_tensor_data(out));
}

static void addmm_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                          ig_prep *p) {
  IG_STATE(product_state, s, p);
  product m = product_of(args[1].tensor, args[2].tensor, outs[0].tensor);
  prepare_product(c, op, &m, outs[0].tensor->dtype, &args[4], &args[3], &s->plan, &p->need);
}

static void addmm_run(const ig_exec *x) {
  const product_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  if (!ig_value_is(&x->args[3], 0)) ig_tensor_copy(out, x->args[0].tensor);
  run_product(&s->plan, out->dtype, ig_tensor_data(x->args[1].tensor),
              ig_tensor_data(x->args[2].tensor), ig_tensor_data(out));
}

// x (.., k) W (n, k): rows of x as one matrix, W used transposed where it lies.
static void linear_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                           ig_prep *p) {
  IG_STATE(product_state, s, p);
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = args[1].tensor;
  int64_t k = size_at(x, x->ndim - 1);
  int64_t n = w->ndim == 2 ? size_at(w, 0) : 1;
  int64_t rows = 1;
  for (int d = 0; d < x->ndim - 1; d++) rows *= size_at(x, d);
  s->x = (ig_operand){.dtype = x->dtype};
  if (x->ndim > 2) s->x = ig_operand_plan(&p->need, x, x->dtype, IG_ROW_MAJOR);
  ig_value one = ig_of_i64(1);
  ig_value beta = ig_of_i64(args[2].kind == IG_KIND_TENSOR);
  product m = {.batch = 1,
               .m = rows,
               .n = n,
               .k = k,
               .a_rs = x->ndim == 2 ? stride_at(x, 0) : k,
               .a_cs = x->ndim <= 2 ? stride_at(x, x->ndim - 1) : 1,
               .b_rs = stride_at(w, w->ndim - 1),
               .b_cs = w->ndim == 2 ? stride_at(w, 0) : 0,
               .c_rs = n};
  prepare_product(c, op, &m, outs[0].tensor->dtype, &one, &beta, &s->plan, &p->need);
}

static void linear_run(const ig_exec *x) {
  const product_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  const void *a = ig_operand_read(x, &s->x, x->args[0].tensor);
  if (x->args[2].kind == IG_KIND_TENSOR) ig_tensor_copy(out, x->args[2].tensor);
  run_product(&s->plan, out->dtype, a, ig_tensor_data(x->args[1].tensor), ig_tensor_data(out));
}

// Gradients ---------------------------------------------------------------------------------------

static ig_tensor *transposed(ig_ctx *c, ig_tensor *t) {
  ig_tensor *r = t->ndim == 2 ? ig_t(c, t) : ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
  return ig_conj_of(c, r);
}

// A transposed matrix, such as the weight of a linear layer: its gradient is laid out likewise.
static bool is_transposed(ig_ctx *c, const ig_tensor *t) {
  return ig_int_eq_i64(c, ig_strides(t)[0], 1) && ig_int_eq(c, ig_strides(t)[1], ig_sizes(t)[0]);
}

// The gradients of a b by a and by b.
static ig_tensor *left_grad(ig_ctx *c, ig_tensor *g, const ig_tensor *a, ig_tensor *b) {
  if (!is_transposed(c, a)) return ig_mm(c, g, transposed(c, b));
  ig_tensor *gt = ig_t(c, g);
  return ig_t(c, ig_mm(c, ig_conj_of(c, b), gt));
}
static ig_tensor *right_grad(ig_ctx *c, ig_tensor *g, ig_tensor *a, const ig_tensor *b) {
  if (!is_transposed(c, b)) return ig_mm(c, transposed(c, a), g);
  ig_tensor *gt = ig_t(c, g);
  return ig_t(c, ig_mm(c, gt, ig_conj_of(c, a)));
}

// Of every matrix of a batch.
static ig_tensor *rows_as_columns(ig_ctx *c, ig_tensor *t) {
  return ig_conj_of(c, ig_transpose_int(c, t, ig_const(1), ig_const(2)));
}

static void mm_vjp(ig_ctx *c, const ig_vjp *v) {
  // In the order of the names, as in PyTorch: mat2, then self.
  IG_GRAD(v, 1) = right_grad(c, v->grad, v->args[0].tensor, v->args[1].tensor);
  IG_GRAD(v, 0) = left_grad(c, v->grad, v->args[0].tensor, v->args[1].tensor);
}
static void bmm_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 1) = ig_bmm(c, rows_as_columns(c, v->args[0].tensor), v->grad);
  IG_GRAD(v, 0) = ig_bmm(c, v->grad, rows_as_columns(c, v->args[1].tensor));
}

static ig_tensor *scaled(ig_ctx *c, ig_tensor *g, const ig_value *k) {
  ig_value conj = k->kind == IG_KIND_COMPLEX ? ig_of_complex(k->z.re, -k->z.im) : *k;
  return ig_value_is(k, 1) ? g : ig_mul_value(c, g, &conj);
}

static void addmm_vjp(ig_ctx *c, const ig_vjp *v) {
  bool batched = v->grad->ndim == 3;
  ig_tensor *a = v->args[1].tensor;
  ig_tensor *b = v->args[2].tensor;
  if (IG_WANTED(v, 1)) {
    ig_tensor *d =
        batched ? ig_bmm(c, v->grad, rows_as_columns(c, b)) : left_grad(c, v->grad, a, b);
    IG_GRAD(v, 1) = scaled(c, d, &v->args[4]);
  }
  if (IG_WANTED(v, 2)) {
    ig_tensor *d =
        batched ? ig_bmm(c, rows_as_columns(c, a), v->grad) : right_grad(c, v->grad, a, b);
    IG_GRAD(v, 2) = scaled(c, d, &v->args[4]);
  }
  if (IG_WANTED(v, 0)) {
    IG_GRAD(v, 0) = ig_sum_to(c, scaled(c, v->grad, &v->args[3]), &v->args[0]);
  }
}

// Rows of a tensor of any rank as one matrix.
static ig_tensor *as_rows(ig_ctx *c, ig_tensor *t, ig_int columns) {
  if (t->ndim == 2) return t;
  ig_int rows = t->ndim <= 1 ? ig_const(1) : ig_product(c, ig_sizes(t), (size_t)t->ndim - 1);
  ig_int sizes[] = {rows, columns};
  return ig_reshape(c, t, ig_of_ints(sizes, 2));
}

// matmul ------------------------------------------------------------------------------------------

static ig_tensor *dot_decompose(ig_ctx *c, const ig_value *args) {
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  if (a->ndim != 1 || b->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "1D tensors expected, but got %dD and %dD tensors", a->ndim,
                 b->ndim);
    return NULL;
  }
  if (!ig_int_eq(c, ig_sizes(a)[0], ig_sizes(b)[0])) {
    ig_fail_text(c, IG_RUNTIME,
                 "inconsistent tensor size, expected tensor [%s] and src [%s] to have the same "
                 "number of elements, but got %s and %s elements respectively",
                 ig_int_text(c, ig_sizes(a)[0]), ig_int_text(c, ig_sizes(b)[0]),
                 ig_int_text(c, ig_sizes(a)[0]), ig_int_text(c, ig_sizes(b)[0]));
    return NULL;
  }
  ig_tensor *p = ig_mul_tensor(c, args[0].tensor, args[1].tensor);
  return ig_cast(c, ig_sum(c, p), a->dtype);
}

static ig_tensor *mv_decompose(ig_ctx *c, const ig_value *args) {
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  if (a->ndim != 2 || b->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "vector + matrix @ vector expected, got 1, %d, %d", a->ndim,
                 b->ndim);
    return NULL;
  }
  if (!ig_int_eq(c, ig_sizes(a)[1], ig_sizes(b)[0])) {
    const char *rows = ig_int_text(c, ig_sizes(a)[0]);
    const char *columns = ig_int_text(c, ig_sizes(a)[1]);
    const char *vec = ig_int_text(c, ig_sizes(b)[0]);
    if (ig_is_fake(a)) {
      ig_fail_text(c, IG_RUNTIME, "size mismatch, got input (%sx%s), vec (%s)", rows, columns, vec);
    } else {
      ig_fail_text(c, IG_RUNTIME, "size mismatch, got input (%s), mat (%sx%s), vec (%s)", rows,
                   rows, columns, vec);
    }
    return NULL;
  }
  ig_tensor *column = ig_unsqueeze(c, args[1].tensor, ig_const(1));
  ig_tensor *out = ig_mm(c, args[0].tensor, column);
  return ig_squeeze_dim(c, out, ig_const(1));
}

static ig_tensor *outer_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  if (self->ndim != 1 || args[1].tensor->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "outer: Expected 1-D argument %s, but got %d-D",
                 self->ndim != 1 ? "self" : "vec2",
                 self->ndim != 1 ? self->ndim : args[1].tensor->ndim);
    return NULL;
  }
  ig_int sizes[] = {ig_sizes(self)[0], ig_const(1)};
  ig_tensor *column = ig_view(c, self, ig_of_ints(sizes, 2));
  return ig_mul_tensor(c, column, args[1].tensor);
}

// May the leading dimensions of a become rows of one matrix without a copy?
static bool should_fold(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim < 3 || b->ndim > 2) return false;
  if (b->requires_grad || ig_int_eq_i64(c, ig_numel_of(c, a), 0)) return true;
  for (int d = 0; d + 2 < a->ndim; d++) {
    ig_int step = ig_int_mul(c, ig_strides(a)[d + 1], ig_sizes(a)[d + 1]);
    if (!ig_int_eq(c, ig_strides(a)[d], step)) return false;
  }
  return true;
}

// A fresh product in another shape. Programs view it; without a capture its history is its own.
static ig_tensor *shaped(ig_ctx *c, ig_tensor *t, const ig_int *sizes, size_t n) {
  ig_value shape = ig_of_ints(sizes, n);
  return c->mode->capture ? ig_view(c, t, shape) : ig__unsafe_view(c, t, shape);
}

static ig_tensor *fold(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_int sizes[IG_MAX_DIM];
  size_t n = (size_t)a->ndim - 1;
  for (size_t d = 0; d < n; d++) sizes[d] = ig_sizes(a)[d];
  ig_tensor *rows = as_rows(c, a, ig_sizes(a)[a->ndim - 1]);
  if (b->ndim == 1) return shaped(c, ig_mv(c, rows, b), sizes, n);
  sizes[n] = ig_sizes(b)[1];
  return shaped(c, ig_mm(c, rows, b), sizes, n + 1);
}

static ig_tensor *linear_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *w = args[1].tensor;
  ig_tensor *bias = ig_value_tensor(&args[2]);
  if (!check_linear(c, x, w)) return NULL;
  if (w->ndim == 1) {
    ig_tensor *out = ig_matmul(c, x, w);
    return bias ? ig_add_tensor(c, out, bias) : out;
  }
  // Rows that are not contiguous are multiplied without a copy.
  if (x->ndim == 2 || !bias || !ig_tensor_is_contiguous(c, x)) {
    ig_tensor *wt = ig_t(c, w);
    if (x->ndim == 2 && bias) return ig_addmm(c, bias, x, wt);
    bool folds =
        wt && x->ndim >= 3 && w->requires_grad;  // as the product does with the weight itself
    ig_tensor *out = folds ? fold(c, x, wt) : ig_matmul(c, x, wt);
    return bias ? ig_add_tensor(c, out, bias) : out;
  }
  ig_int k = ig_sizes(x)[x->ndim - 1];
  ig_tensor *rows = as_rows(c, x, k);
  ig_tensor *wt = ig_t(c, w);
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d + 1 < x->ndim; d++) sizes[d] = ig_sizes(x)[d];
  sizes[x->ndim - 1] = ig_sizes(w)[0];
  ig_tensor *out = ig_addmm(c, bias, rows, wt);
  return ig_view(c, out, ig_of_ints(sizes, (size_t)x->ndim));
}

// The batch is on the right: computed as the transposed product.
static ig_tensor *fold_right(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_tensor *rows = ig_mt(c, b);
  ig_tensor *other = a->ndim == 2 ? ig_t(c, a) : a;
  ig_tensor *out = rows && other ? fold(c, rows, other) : NULL;
  return !out || a->ndim == 1 ? out : ig_contiguous(c, ig_mt(c, out));
}

// One operand of a batched product: expanded over the batch and flattened to three dimensions.
static ig_tensor *batched(ig_ctx *c, ig_tensor *t, const ig_meta *batch, ig_int count) {
  ig_int sizes[IG_MAX_DIM + 2];
  int n = batch->ndim;
  for (int d = 0; d < n; d++) sizes[d] = batch->size[d];
  sizes[n] = ig_sizes(t)[t->ndim - 2];
  sizes[n + 1] = ig_sizes(t)[t->ndim - 1];
  ig_tensor *wide = ig_expand(c, t, ig_of_ints(sizes, (size_t)n + 2));
  ig_int flat[] = {count, sizes[n], sizes[n + 1]};
  return ig_reshape(c, wide, ig_of_ints(flat, 3));
}

static ig_tensor *batched_matmul(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  bool column = b->ndim == 1;
  bool row = a->ndim == 1;
  if (row) a = ig_unsqueeze(c, a, ig_const(0));
  if (column) b = ig_unsqueeze(c, b, ig_const(1));
  if (!a || !b) return NULL;
  ig_meta batch;
  ig_meta_init(&batch, a->dtype, a->device);
  ig_broadcast_sizes(c, &batch, ig_sizes(a), a->ndim - 2);
  ig_broadcast_sizes(c, &batch, ig_sizes(b), b->ndim - 2);
  ig_int count = ig_product(c, batch.size, (size_t)batch.ndim);
  ig_size_show_sum(c, count);
  ig_int rows = ig_sizes(a)[a->ndim - 2];
  ig_int columns = ig_sizes(b)[b->ndim - 1];
  ig_tensor *x = batched(c, a, &batch, count);
  ig_tensor *y = batched(c, b, &batch, count);
  ig_tensor *out = ig_bmm(c, x, y);
  if (!row) ig_meta_push_dim(c, &batch, rows);
  if (!column) ig_meta_push_dim(c, &batch, columns);
  return shaped(c, out, batch.size, (size_t)batch.ndim);
}

// Eager PyTorch drops the dimension of its own result in-place; a capture has no such call.
static ig_tensor *squeezed(ig_ctx *c, ig_tensor *t, ig_int dim) {
  bool recorded = c->mode->capture || !t || ig_is_fake(t);
  return recorded ? ig_squeeze_dim(c, t, dim) : ig_squeeze__dim(c, t, dim);
}

static ig_tensor *matmul_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  if (a->ndim == 0 || b->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                 a->ndim, b->ndim);
    return NULL;
  }
  if (a->ndim == 1 && b->ndim == 1) return ig_dot(c, a, b);
  if (a->ndim == 2 && b->ndim == 1) return ig_mv(c, a, b);
  if (a->ndim == 2 && b->ndim == 2) return ig_mm(c, a, b);
  if (a->ndim == 1 && b->ndim == 2) {
    ig_tensor *row = ig_unsqueeze(c, a, ig_const(0));
    return squeezed(c, ig_mm(c, row, b), ig_const(0));
  }
  bool right = b->ndim > a->ndim;
  if (right && (a->ndim == 1 || a->requires_grad) && should_fold(c, b, a)) {
    return fold_right(c, a, b);
  }
  return !right && should_fold(c, a, b) ? fold(c, a, b) : batched_matmul(c, a, b);
}

// Bytes multiplied into 32 bits.
static ig_tensor *int_mm(ig_ctx *c, const ig_value *args) {
  static const char *const names[] = {"self", "mat2"};
  ig_tensor *x[2];
  for (int i = 0; i < 2; i++) {
    const ig_tensor *t = args[i].tensor;
    bool bytes = t->dtype == IG_I8 || (t->dtype == IG_U8 && i == 0);
    if (t->ndim != 2) {
      ig_fail_text(c, IG_RUNTIME, "int_mm_out_cpu: Expected %s to be of dimension 2 but got %d",
                   names[i], t->ndim);
    } else if (!bytes) {
      ig_fail_text(c, IG_RUNTIME, "int_mm_out_cpu: Expected %s dtype to be %s but got %s", names[i],
                   i ? "int8" : "int8 or uint8", ig_dtype_title(t->dtype));
    }
    x[i] = ig_cast(c, args[i].tensor, IG_I32);
  }
  return ig_mm(c, x[0], x[1]);
}

IG_OP(_int_mm) = {
    .schema = "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor",
    .decompose = int_mm,
    .samples = "i8[3,4], i8[4,2] | u8[2,3], i8[3,3]",
};
IG_OP(mm) = {
    .schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .shape = mm_shape,
    .prepare = mm_prepare,
    .run = mm_run,
    .vjp = mm_vjp,
    .keep = "self, mat2",
    .samples =
        "f32[3,4], f32[4,5] | f32[4,3].T, f32[5,4].T | f32[2,0], f32[0,3] | i64[2,2], i64[2,2]",
};
IG_OP(bmm) = {
    .schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .shape = bmm_shape,
    .prepare = mm_prepare,
    .run = mm_run,
    .vjp = bmm_vjp,
    .keep = "self, mat2",
    .samples = "f32[2,3,4], f32[2,4,5] | f32[2,4,3].T, f32[2,4,5] | f32[2,3,0], f32[2,0,4]",
};
IG_OP(addmm) = {
    .schema =
        "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
        "alpha=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .shape = addmm_shape,
    .prepare = addmm_prepare,
    .run = addmm_run,
    .vjp = addmm_vjp,
    .keep = "mat1, mat2",
    .lower = ig_lower_addmm,
    .samples =
        "f32[5], f32[3,4], f32[4,5] | f32[3,1], f32[3,4], f32[5,4].T, beta=0.5, alpha=2 | "
        "f32[3,5], f32[3,4], f32[4,5], beta=0",
};
IG_OP(baddbmm) = {
    .schema =
        "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
        "alpha=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .shape = baddbmm_shape,
    .prepare = addmm_prepare,
    .run = addmm_run,
    .vjp = addmm_vjp,
    .keep = "batch1, batch2",
    .decompose = ig_lower_baddbmm,
    .samples = "f32[2,3,5], f32[2,3,4], f32[2,4,5] | f32[5], f32[2,3,4], f32[2,4,5], beta=0.5",
};
IG_OP(dot) = {
    .schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
    .decompose = dot_decompose,
    .samples = "f32[4], f32[4] | f32[0], f32[0]",
};
IG_OP(mv) = {
    .schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
    .decompose = mv_decompose,
    .lower = ig_lower_mv,
    .samples = "f32[3,4], f32[4]",
};
IG_OP(outer) = {
    .schema = "aten::outer(Tensor self, Tensor vec2) -> Tensor",
    .decompose = outer_decompose,
    .samples = "f32[3], f32[4] | i64[2], f32[3]",
};
IG_OP(matmul) = {
    .schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = matmul_decompose,
    .samples =
        "f32[3,4], f32[4,5] | f32[4], f32[4] | f32[3,4], f32[4] | f32[4], f32[4,5] | "
        "f32[2,3,4], f32[4,5] | f32[2,3,4], f32[2,4,5] | f32[2,1,3,4], f32[5,4,2] | "
        "f32[2,3,4], f32[4] | f32[4], f32[2,4,3] | f32[3,4], f32[2,4,5]",
};
IG_OP(linear) = {
    .schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .shape = linear_shape,
    .prepare = linear_prepare,
    .run = linear_run,
    .decompose = linear_decompose,
    .samples =
        "f32[3,4], f32[5,4], f32[5] | f32[3,4], f32[5,4] | f32[2,3,4], f32[5,4], f32[5] | "
        "f32[4], f32[5,4] | f32[2,3,4], f32[5,4] | f32[3,4], f32[4]",
};
