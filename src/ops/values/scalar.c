// SPDX-License-Identifier: Apache-2.0
// Between tensors and plain values: item, comparisons with a single result, sizes, assertions and
// ranges of symbolic integers.
#include <stdio.h>

#include "op/formula.h"
#include "op/known.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/quant.h"
#include "sym/env.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static void local_scalar_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  int64_t n = ig_tensor_numel(self);
  if (n != 1) {
    ig_fail_text(c, IG_RUNTIME, "a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)n);
    return;
  }
  outs[0] = ig_element_load(ig_tensor_data(self), self->dtype);
}

// Unbacked symbols: u0, zuf0; a bool is the relation Eq(u0, 1).
static void unbacked_float(ig_ctx *c, ig_value *out) {
  const ig_expr *e = ig_sym_unbacked_float(c);
  if (e) *out = (ig_value){.kind = IG_KIND_FLOAT, .f_expr = e};
}

static void unbacked_bool(ig_ctx *c, ig_value *out) {
  ig_int u = ig_sym_unbacked(c);
  ig_sym_constrain(c, u, 0, 1, false);
  ig_value args[] = {ig_of_int(u), ig_of_i64(1)};
  ig_sym_apply(c, IG_EXPR_EQ, args, 2, out);
}

// The same tensor, read again, has the same element as long as it is not modified.
static ig_int read_again(ig_ctx *c, ig_tensor *self) {
  uint32_t version = ig_tensor_version(self);
  bool known = self->read && self->read_version == version &&
               ig_expr_find(c, self->read->name) == self->read;
  if (!known) {
    self->read = ig_sym_unbacked(c).expr;
    self->read_version = version;
  }
  return (ig_int){.value = 0, .expr = self->read};
}

// An unknown element.
static void local_scalar_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  const ig_tensor *known = ig_known_find(self);
  if (known) {
    outs[0] = ig_element_load(ig_tensor_data(known), known->dtype);
    return;
  }
  if (ig_dtype_is_integral(self->dtype) && c->mode->sym) {
    outs[0] = ig_of_int(read_again(c, self));
    return;
  }
  if (c->mode->sym && self->dtype == IG_BOOL) {
    unbacked_bool(c, &outs[0]);
    return;
  }
  if (c->mode->sym && ig_dtype_is_float(self->dtype)) {
    unbacked_float(c, &outs[0]);
    return;
  }
  (void)ig_fail(c, IG_DATA_DEPENDENT, "argument 'self': its element is not known (%s)",
                ig_dtype_text(self->dtype));
}

static void item_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  ig_int n = ig_numel_of(c, self);
  if (!ig_int_eq_i64(c, n, 1)) {
    if (c->status != IG_OK) return;
    ig_fail_text(c, IG_RUNTIME, "a Tensor with %s elements cannot be converted to Scalar",
                 ig_int_text(c, n));
    return;
  }
  ig__local_scalar_dense(c, self, outs);
}

static bool truth(ig_ctx *c, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      return !ig_int_eq_i64(c, v->i, 0);
    case IG_KIND_COMPLEX:
      return v->z.re != 0 || v->z.im != 0;
    default:
      return ig_value_f64(v) != 0;
  }
}

static void is_nonzero_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  ig_int n = ig_numel_of(c, self);
  if (!ig_int_eq_i64(c, n, 1)) {
    if (c->status != IG_OK) return;
    ig_fail_text(c, IG_RUNTIME, "Boolean value of Tensor with %s is ambiguous",
                 ig_int_eq_i64(c, n, 0) ? "no values" : "more than one value");
    return;
  }
  ig_value item;
  ig_item(c, self, &item);
  if (c->status == IG_OK) outs[0] = ig_of_bool(truth(c, &item));
}

static bool same_sizes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  bool same = a->ndim == b->ndim;
  for (int d = 0; d < a->ndim && same; d++) same = ig_int_eq(c, ig_sizes(a)[d], ig_sizes(b)[d]);
  return same;
}

static void is_same_size_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  outs[0] = ig_of_bool(same_sizes(c, args[0].tensor, args[1].tensor));
}

typedef struct compare_job {
  ig_dtype dtype;
  bool differs;
} compare_job;

enum { CHUNK = 256 };

// Two rows in the same dtype: equal as numbers (so NaN differs from itself and -0.0 is 0.0).
static bool rows_equal(const compare_job *j, const double *a, const double *b, int64_t n) {
  bool equal = true;
#define COMPARE(kind, type)                                        \
  case kind: {                                                     \
    const type *x = (const type *)a;                               \
    const type *y = (const type *)b;                               \
    for (int64_t i = 0; i < n; i++) equal = equal && x[i] == y[i]; \
    return equal;                                                  \
  }
  switch (j->dtype) {
    COMPARE(IG_F64, double)
    COMPARE(IG_F32, float)
    COMPARE(IG_I64, int64_t)
    default:
      for (int64_t i = 0; i < 2 * n; i++) equal = equal && a[i] == b[i];  // complex128
      return equal;
  }
#undef COMPARE
}

// Every dtype is exact in one of these.
static ig_dtype compared_as(ig_dtype d) {
  if (ig_dtype_is_complex(d)) return IG_C128;
  if (d == IG_F64) return IG_F64;
  return ig_dtype_is_float(d) ? IG_F32 : IG_I64;
}

static bool blocks_equal(const ig_tensor *a, const ig_tensor *b, const compare_job *j,
                         int64_t numel) {
  double x[2 * CHUNK];
  double y[2 * CHUNK];
  const char *p = ig_tensor_data(a);
  const char *q = ig_tensor_data(b);
  for (int64_t i = 0; i < numel; i += CHUNK) {
    int64_t n = numel - i < CHUNK ? numel - i : CHUNK;
    ig_convert(x, j->dtype, p + i * (int64_t)ig_dtype_size(a->dtype), a->dtype, (size_t)n);
    ig_convert(y, j->dtype, q + i * (int64_t)ig_dtype_size(b->dtype), b->dtype, (size_t)n);
    if (!rows_equal(j, x, y, n)) return false;
  }
  return true;
}

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

static void equal_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  outs[0] = ig_of_bool(false);
  if (!same_sizes(c, args[0].tensor, args[1].tensor)) return;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *a = dense_of(c, args[0].tensor);
  ig_tensor *b = dense_of(c, args[1].tensor);
  if (a && b) {
    compare_job j = {.dtype = compared_as(ig_dtype_promote(a->dtype, b->dtype))};
    outs[0] = ig_of_bool(blocks_equal(a, b, &j, ig_tensor_numel(a)));
  }
  ig_scope_close(c, scope);
}

static void refuse_answer(ig_ctx *c, const char *target) {
  ig_fail_text(c, IG_OUTPUT_DATA, "%s", target);
  ig_aside(c, "The answer depends on elements, which a capture does not know.");
}
static void unknown_answer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)args;
  (void)outs;
  refuse_answer(c, op->target);
}

static bool check_tolerance(ig_ctx *c, const char *name, double x) {
  if (x >= 0) return true;
  ig_fail_text(c, IG_RUNTIME, "%s must be greater than or equal to zero, but got %g", name, x);
  return false;
}

static ig_tensor *isclose_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_tensor *other = args[1].tensor;
  double rtol = ig_value_f64(&args[2]);
  double atol = ig_value_f64(&args[3]);
  if (self->dtype != other->dtype) {
    ig_fail_text(c, IG_RUNTIME, "%s did not match %s", ig_dtype_title(self->dtype),
                 ig_dtype_title(other->dtype));
    return NULL;
  }
  if (!check_tolerance(c, "rtol", rtol) || !check_tolerance(c, "atol", atol)) return NULL;
  ig_tensor *close = ig_eq_tensor(c, self, other);
  bool real_or_complex = ig_dtype_is_float(self->dtype) || ig_dtype_is_complex(self->dtype);
  if (args[4].b && real_or_complex) {
    ig_tensor *a = ig_isnan(c, self);
    ig_tensor *b = ig_isnan(c, other);
    ig_tensor *both = ig_bitwise_and_tensor(c, a, b);
    close = ig_bitwise_or_tensor(c, close, both);
  }
  if (rtol == 0 && atol == 0) return close;
  ig_tensor *cast = real_or_complex ? other : ig_cast(c, other, ig_ctx_default_dtype(c));
  ig_tensor *allowed = ig_mul_scalar(c, cast, ig_of_f64(rtol));
  allowed = ig_abs(c, allowed);
  allowed = ig_add_scalar(c, allowed, ig_of_f64(atol));
  if (self->dtype == IG_BOOL) self = ig_cast(c, self, ig_ctx_default_dtype(c));
  ig_tensor *actual = ig_sub_tensor(c, self, cast);
  actual = ig_abs(c, actual);
  ig_tensor *finite = ig_isfinite(c, actual);
  ig_tensor *within = ig_le_tensor(c, actual, allowed);
  within = ig_bitwise_and_tensor(c, finite, within);
  return ig_bitwise_or_tensor(c, close, within);
}

static void allclose_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *close = ig_isclose_with(c, args[0].tensor, args[1].tensor, ig_value_f64(&args[2]),
                                     ig_value_f64(&args[3]), args[4].b);
  ig_tensor *all = ig_all(c, close);
  if (all && ig_is_fake(all)) {
    refuse_answer(c, "aten.allclose.default");
    return;
  }
  ig_value item;
  ig_item(c, all, &item);
  if (c->status == IG_OK) outs[0] = ig_of_bool(truth(c, &item));
}

// The dimension that args[1] names; -1 and an error when there is none.
static int existing_dim(ig_ctx *c, const ig_value *args) {
  int64_t dim = ig_value_i64(c, &args[1]);
  if (args[0].tensor->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as %lld but tensor has no dimensions",
                 (long long)dim);
    return -1;
  }
  int wrapped = ig_wrap_dim(c, dim, args[0].tensor->ndim);
  return c->status == IG_OK ? wrapped : -1;
}

static void sym_size_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  int dim = existing_dim(c, args);
  if (dim >= 0) outs[0] = ig_of_int(ig_sizes(args[0].tensor)[dim]);
}

// The tensor owns the numbers.
static void sym_sizes_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  outs[0] = ig_of_ints(ig_sizes(args[0].tensor), (size_t)args[0].tensor->ndim);
}

static void sym_strides_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  outs[0] = ig_of_ints(ig_strides(args[0].tensor), (size_t)args[0].tensor->ndim);
}

static void sym_stride_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  int dim = existing_dim(c, args);
  if (dim >= 0) outs[0] = ig_of_int(ig_strides(args[0].tensor)[dim]);
}

static void sym_numel_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  outs[0] = ig_of_int(ig_numel_of(c, args[0].tensor));
}

static void sym_offset_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  outs[0] = ig_of_int(args[0].tensor->offset);
}

static void assert_scalar_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  (void)outs;
  if (!truth(c, &args[0])) ig_fail_text(c, IG_RUNTIME, "%s", args[1].str);
}

// While recording, a symbolic condition is checked by the program at run time.
static void assert_scalar_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  bool symbolic = (args[0].kind == IG_KIND_INT && args[0].i.expr) ||
                  (args[0].kind == IG_KIND_BOOL && args[0].b_expr) ||
                  (args[0].kind == IG_KIND_FLOAT && args[0].f_expr);
  if (!symbolic) assert_scalar_kernel(c, op, args, outs);
  if (args[0].kind == IG_KIND_BOOL) ig_sym_believe(c, &args[0]);
}

static int64_t bound_of(ig_ctx *c, const ig_value *v, int64_t otherwise) {
  return v->kind == IG_KIND_NONE ? otherwise : ig_value_i64(c, v);
}

static bool check_range(ig_ctx *c, int64_t lo, int64_t hi) {
  if (lo <= hi) return true;
  ig_fail_text(c, IG_RUNTIME, "Max must be greater than or equal to min. Got min=%lld max=%lld",
               (long long)lo, (long long)hi);
  return false;
}

static void constrain(ig_ctx *c, const ig_value *v, int64_t lo, int64_t hi, bool size) {
  if (v->kind != IG_KIND_INT) {
    ig_fail_text(c, IG_INVALID, "Constraining SymFloat or Symbool is nyi");
  } else if (v->i.expr) {
    ig_sym_constrain(c, v->i, lo, hi, size);
  } else if (v->i.value < lo || v->i.value > hi) {
    ig_fail_text(c, IG_RUNTIME, "Invalid value range for %lld between [%lld, %lld].",
                 (long long)v->i.value, (long long)lo, (long long)hi);
  }
}

static void constrain_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  (void)outs;
  int64_t lo = bound_of(c, &args[1], INT64_MIN);
  int64_t hi = bound_of(c, &args[2], INT64_MAX);
  if (check_range(c, lo, hi)) constrain(c, &args[0], lo, hi, false);
}

static void constrain_size_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  (void)outs;
  int64_t lo = bound_of(c, &args[1], 0);
  int64_t hi = bound_of(c, &args[2], INT64_MAX);
  if (args[2].kind != IG_KIND_NONE && hi <= 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "Max value to constrain_range_for_size must be greater than 2. got: %lld",
                 (long long)hi);
    return;
  }
  if (check_range(c, lo, hi)) constrain(c, &args[0], lo, hi, true);
}

IG_OP(_local_scalar_dense) = {
    .schema = "aten::_local_scalar_dense(Tensor self) -> Scalar",
    .quantized = IG_QUANT_PLAIN,
    .kernel = local_scalar_kernel,
    .fake = local_scalar_fake,
    .samples = "f32[] | i64[1,1] | bool[] | c64[1]",
    .not_differentiable = true,  // a plain value has no history
};

IG_OP(item) = {
    .schema = "aten::item(Tensor self) -> Scalar",
    .quantized = IG_QUANT_OWN,
    .decompose_outs = item_decompose,
    .samples = "f32[] | i64[1,1] | bool[] | c64[1]",
    .waive = "fake: the element is not known; symbolic: the element is not known",
};

IG_OP(is_nonzero) = {
    .schema = "aten::is_nonzero(Tensor self) -> bool",
    .quantized = IG_QUANT_OWN,
    .decompose_outs = is_nonzero_decompose,
    .samples = "f32[] | i64[1]:<2 | bool[]",
    .waive = "fake: the element is not known; symbolic: the element is not known",
};

IG_OP(is_same_size) = {
    .schema = "aten::is_same_size(Tensor self, Tensor other) -> bool",
    .kernel = is_same_size_kernel,
    .takes_no_memory = true,
    .fake = is_same_size_kernel,
    .samples = "f32[2,3], f32[2,3] | f32[2,3], f32[3,2] | f32[], f32[1]",
    .not_differentiable = true,  // no tensor result
};

IG_OP(equal) = {
    .schema = "aten::equal(Tensor self, Tensor other) -> bool",
    .on_quantized = ig_quant_equal,
    .kernel = equal_kernel,
    .fake = unknown_answer,
    .samples = "f32[2,3], f32[2,3] | f32[2], f32[3] | i64[0], i64[0] | bool[2], i64[2]",
    .not_differentiable = true,  // no tensor result
};

IG_OP(isclose) = {
    .schema =
        "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float "
        "atol=1e-08, bool equal_nan=False) -> Tensor",
    .decompose = isclose_decompose,
    .samples =
        "f32[3,5], f32[3,5] | f32[3,5], f32[5], 1., 0.5 | i64[3], i64[3] | f32[4]:special, "
        "f32[4]:special, 1e-5, 1e-8, True | f32[3], f32[3], 0., 0.",
};

IG_OP(allclose) = {
    .schema =
        "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float "
        "atol=1e-08, bool equal_nan=False) -> bool",
    .decompose_outs = allclose_decompose,
    .samples = "f32[3,5], f32[3,5] | f32[3,5], f32[5], 9., 9. | i64[0], i64[0]",
    .waive =
        "fake: the answer depends on the elements; symbolic: the answer depends on the elements",
};

IG_OP(sym_size_int) = {
    .schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt",
    .kernel = sym_size_kernel,
    .fake = sym_size_kernel,
    .samples = "f32[2,3], 0 | f32[2,3], -1",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
};

IG_OP(sym_size) = {
    .schema = "aten::sym_size(Tensor self) -> SymInt[]",
    .kernel = sym_sizes_kernel,
    .fake = sym_sizes_kernel,
    .samples = "f32[2,3] | f32[] | i64[0,4]",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
};

IG_OP(sym_stride) = {
    .schema = "aten::sym_stride(Tensor self) -> SymInt[]",
    .kernel = sym_strides_kernel,
    .fake = sym_strides_kernel,
    .samples = "f32[2,3] | f32[] | f32[4,2].T",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
};

IG_OP(sym_stride_int) = {
    .schema = "aten::sym_stride.int(Tensor self, int dim) -> SymInt",
    .kernel = sym_stride_kernel,
    .fake = sym_stride_kernel,
    .samples = "f32[2,3], 0 | f32[4,2].T, -1",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
    .waive = "strided: it tells about memory",
};

IG_OP(size_int) = {
    .schema = "aten::size.int(Tensor self, int dim) -> int",
    .kernel = sym_size_kernel,
    .fake = sym_size_kernel,
    .samples = "f32[2,3], 1 | f32[2,3], -2",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
};

IG_OP(stride_int) = {
    .schema = "aten::stride.int(Tensor self, int dim) -> int",
    .kernel = sym_stride_kernel,
    .fake = sym_stride_kernel,
    .samples = "f32[2,3], 0 | f32[2,3].T, -1",
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,  // no tensor result
    .waive = "strided: it asks strides",
};

IG_OP(sym_numel) = {
    .schema = "aten::sym_numel(Tensor self) -> SymInt",
    .kernel = sym_numel_kernel,
    .fake = sym_numel_kernel,
    .samples = "f32[2,3] | f32[]",
    .not_differentiable = true,  // no tensor result
};

IG_OP(sym_storage_offset) = {
    .schema = "aten::sym_storage_offset(Tensor self) -> SymInt",
    .kernel = sym_offset_kernel,
    .fake = sym_offset_kernel,
    .samples = "f32[2,3]",
    .not_differentiable = true,  // no tensor result
    .waive = "strided: it tells about memory",
};

IG_OP(_assert_scalar) = {
    .schema = "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
    .check = IG_CHECK_SCALAR,
    .kernel = assert_scalar_kernel,
    .takes_no_memory = true,
    .fake = assert_scalar_fake,
    .samples = "1, 'must hold' | True, 'must hold'",
    .not_differentiable = true,  // no result
};

IG_OP(sym_constrain_range) = {
    .schema = "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    .check = IG_CHECK_RANGE,
    .kernel = constrain_kernel,
    .takes_no_memory = true,
    .fake = constrain_kernel,
    .samples = "5 | 5, min=0, max=9",
    .not_differentiable = true,  // no result
};

IG_OP(sym_constrain_range_for_size) = {
    .schema =
        "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
    .check = IG_CHECK_SIZE_RANGE,
    .kernel = constrain_size_kernel,
    .takes_no_memory = true,
    .fake = constrain_size_kernel,
    .samples = "5 | 5, min=0, max=9",
    .not_differentiable = true,  // no result
};
