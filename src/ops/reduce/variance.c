// SPDX-License-Identifier: Apache-2.0
// Variances, standard deviations and vector norms.
#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static double correction_of(const ig_value *v) {
  return v->kind == IG_KIND_NONE ? 1 : ig_value_f64(v);
}

static void check_float(ig_ctx *c, ig_dtype d) {
  if (ig_dtype_is_float(d) || ig_dtype_is_complex(d)) return;
  ig_fail_text(c, IG_RUNTIME, "std and var only support floating point and complex dtypes");
}

// Eight-bit floats are only stored.
static bool computes(ig_ctx *c, const char *name, ig_dtype d) {
  return ig_dtype_is_complex(d) || ig_check_float(c, name, d);
}

// self, dim, *, correction, keepdim
static void var_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  check_float(c, self->dtype);
  if (c->status != IG_OK || !computes(c, op->schema.name, self->dtype)) return;
  ig_dims_of(c, &args[1], self->ndim, true, reduced);
  if (c->status != IG_OK) return;
  out[0].dtype = ig_to_real(self->dtype);
  ig_meta_reduce(c, self, reduced, args[3].b, &out[0]);
  if (op->schema.nrets == 1) return;
  out[1].dtype = self->dtype;
  ig_meta_reduce(c, self, reduced, args[3].b, &out[1]);
}

typedef struct var_state {
  ig_operand x;
  ig_axis axis;
} var_state;

static void var_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p) {
  (void)op;
  (void)outs;
  IG_STATE(var_state, s, p);
  const ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_dims_of(c, &args[1], self->ndim, true, reduced);
  ig_dtype work = ig_dtype_is_complex(self->dtype) ? IG_C128 : self->dtype;
  s->x = ig_reduce_plan(&p->need, self, reduced, work, &s->axis);
}

// Complex numbers: the variance is the sum of those of the parts.
static void complex_var(const ig_exec *x, const ig_c128 *from) {
  ig_axis a = ((const var_state *)x->state)->axis;
  ig_tensor *out = x->outs[0].tensor;
  double correction = correction_of(&x->args[2]);
  for (int64_t k = 0; k < a.outer * a.inner; k++) {
    const ig_c128 *row = from + k / a.inner * a.n * a.inner + k % a.inner;
    ig_c128 mean = {0, 0};
    double m2 = 0;
    for (int64_t i = 0; i < a.n; i++) {
      mean.re += row[i * a.inner].re / (double)a.n;
      mean.im += row[i * a.inner].im / (double)a.n;
    }
    for (int64_t i = 0; i < a.n; i++) {
      double re = row[i * a.inner].re - mean.re;
      double im = row[i * a.inner].im - mean.im;
      m2 += re * re + im * im;
    }
    double var = m2 / fmax(0, (double)a.n - correction);
    char *to = ig_tensor_data(out);
    ig_convert(to + (size_t)k * ig_dtype_size(out->dtype), out->dtype, &var, IG_F64, 1);
    if (x->op->schema.nrets == 1) continue;
    ig_tensor *second = x->outs[1].tensor;
    char *at = ig_tensor_data(second);
    ig_convert(at + (size_t)k * ig_dtype_size(second->dtype), second->dtype, &mean, IG_C128, 1);
  }
}

static void var_run(const ig_exec *x) {
  const var_state *s = x->state;
  const ig_tensor *self = x->args[0].tensor;
  const void *from = ig_operand_read(x, &s->x, self);
  if (ig_dtype_is_complex(self->dtype)) {
    complex_var(x, from);
    return;
  }
  void *mean = x->op->schema.nrets == 2 ? ig_tensor_data(x->outs[1].tensor) : NULL;
  ig_reduce_var(ig_elem_of(self->dtype), from, mean, ig_tensor_data(x->outs[0].tensor),
                correction_of(&x->args[2]), s->axis);
}

static ig_tensor *restore(ig_ctx *c, const ig_vjp *v, ig_tensor *g) {
  const ig_tensor *self = v->args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_dims_of(c, &v->args[1], self->ndim, true, reduced);
  return v->args[3].b ? g : ig_unreduce(c, g, reduced, self->ndim);
}

static ig_int count_of(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_int n = ig_const(1);
  ig_dims_of(c, &v->args[1], self->ndim, true, reduced);
  for (int d = 0; d < self->ndim; d++) {
    if (reduced[d]) n = ig_int_mul(c, n, ig_sizes(self)[d]);
  }
  return n;
}

// d var = 2 / (n - correction) * (x - mean)
static ig_tensor *var_grad(ig_ctx *c, const ig_vjp *v, ig_tensor *g) {
  ig_tensor *self = v->args[0].tensor;
  bool all = v->args[1].kind == IG_KIND_NONE && !v->args[3].b;
  ig_tensor *wide = all ? g : restore(c, v, g);
  ig_tensor *mean = all ? ig_mean(c, self) : ig_mean_dim_with(c, self, v->args[1], true, ig_none());
  ig_tensor *centred = ig_sub_tensor(c, self, mean);
  ig_int n = count_of(c, v);
  double correction = correction_of(&v->args[2]);
  if (!n.expr) {
    double rest = (double)n.value - correction;  // concrete: n is a number
    wide = ig_mul_scalar(c, wide, ig_of_f64(2 / rest));
  } else if (correction == floor(correction)) {
    ig_int rest = ig_int_sub(c, n, ig_const((int64_t)correction));
    wide = ig_div_int(c, ig_mul_f64(c, wide, 2), rest);
  } else {
    wide = ig_mul_f64(c, wide, 2);
    wide = ig_div_f64(c, wide, (double)n.value - correction);  // concrete: no such symbolic sum
  }
  return ig_mul_tensor(c, wide, centred);
}

static void var_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0)) IG_GRAD(v, 0) = var_grad(c, v, v->grad);
}

static void std_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *twice = ig_mul_scalar(c, v->out, ig_of_i64(2));
  ig_tensor *g = ig_div_tensor(c, v->grad, twice);
  ig_tensor *flat = ig_eq_scalar(c, v->out, ig_of_i64(0));
  g = ig_masked_fill_scalar(c, g, flat, ig_of_i64(0));
  IG_GRAD(v, 0) = var_grad(c, v, g);
}

static void var_mean_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *d = v->grads[0] ? var_grad(c, v, v->grads[0]) : NULL;
  if (v->grads[1]) {
    ig_tensor *g = ig_div_int(c, restore(c, v, v->grads[1]), count_of(c, v));
    g = ig_expand(c, g, ig_sizes_of(v->args[0].tensor));
    d = d ? ig_add_tensor(c, d, g) : g;
  }
  IG_GRAD(v, 0) = d;
}

static void std_run(const ig_exec *x) {
  var_run(x);
  ig_tensor *out = x->outs[0].tensor;
  ig_value var = ig_of_tensor(out);
  const ig_op *root = &ig_lib_get(x->c)->ops[IG_ID_SQRT];
  ig_pointwise_run(x->c, root, &var, out);
}

// unbiased -> correction
static ig_value unbiased(const ig_value *v) {
  return ig_of_i64(v->b);
}
static ig_tensor *var_default(ig_ctx *c, const ig_value *args) {
  return ig_var_correction_with(c, args[0].tensor, ig_none(), unbiased(&args[1]), false);
}
static ig_tensor *var_dim(ig_ctx *c, const ig_value *args) {
  return ig_var_correction_with(c, args[0].tensor, args[1], unbiased(&args[2]), args[3].b);
}
// self, dim, correction, keepdim
static ig_tensor *std_lower(ig_ctx *c, const ig_value *args) {
  double by = args[2].kind == IG_KIND_NONE ? 1 : ig_value_f64(&args[2]);
  return ig_sqrt(c, ig_var_correction_with(c, args[0].tensor, args[1], ig_of_f64(by), args[3].b));
}
static ig_tensor *std_default(ig_ctx *c, const ig_value *args) {
  return ig_std_correction_with(c, args[0].tensor, ig_none(), unbiased(&args[1]), false);
}
static ig_tensor *std_dim(ig_ctx *c, const ig_value *args) {
  return ig_std_correction_with(c, args[0].tensor, args[1], unbiased(&args[2]), args[3].b);
}
static void var_mean_default(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_var_mean_correction_with(c, args[0].tensor, ig_none(), unbiased(&args[1]), false, outs);
}
static void var_mean_dim(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_var_mean_correction_with(c, args[0].tensor, args[1], unbiased(&args[2]), args[3].b, outs);
}

// linalg_vector_norm(self, ord, dim, keepdim, *, dtype)
static void norm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  if (!ig_dtype_is_float(self->dtype) && !ig_dtype_is_complex(self->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                 ig_dtype_title(self->dtype));
    return;
  }
  ig_dims_of(c, &args[2], self->ndim, true, reduced);
  if (c->status != IG_OK) return;
  ig_meta_reduce(c, self, reduced, args[3].b, out);
  out->dtype = ig_to_real(args[4].kind == IG_KIND_DTYPE ? args[4].dtype : self->dtype);
  (void)ig_check_float(c, op->schema.name, out->dtype);
}

static void norm_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_axis axis;
  (void)op;
  ig_dims_of(c, &args[2], self->ndim, true, reduced);
  ig_scope s = ig_scope_open(c);
  if (ig_dtype_is_complex(self->dtype)) self = ig_abs(c, ig_tensor_alias(c, self));
  const void *x = self ? ig_reduce_operand(c, self, reduced, out->dtype, &axis) : NULL;
  if (x) {
    ig_reduce_norm(ig_elem_of(out->dtype), x, ig_tensor_data(out), ig_value_f64(&args[1]), axis);
  }
  ig_scope_close(c, s);
}

static ig_tensor *norm_wide(ig_ctx *c, const ig_vjp *v, ig_tensor *g) {
  const ig_tensor *self = v->args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_dims_of(c, &v->args[2], self->ndim, true, reduced);
  return v->args[3].b ? g : ig_unreduce(c, g, reduced, self->ndim);
}

// |x|^p: p 1 is the sign, 2 is x/norm, infinity shares among the largest, others by the chain rule.
static void norm_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *self = v->args[0].tensor;
  ig_tensor *g = norm_wide(c, v, v->grad);
  ig_tensor *norm = norm_wide(c, v, v->out);
  double p = ig_value_f64(&v->args[1]);
  ig_tensor *d = NULL;
  if (p == 0) {
    d = ig_zeros_of(c, self);
  } else if (p == 1) {
    d = ig_mul_tensor(c, g, ig_sgn(c, self));
  } else if (p == 2) {
    ig_tensor *ratio = ig_div_tensor(c, self, norm);
    ig_tensor *zero = ig_eq_scalar(c, norm, ig_of_i64(0));
    ratio = ig_masked_fill_scalar(c, ratio, zero, ig_of_i64(0));
    d = ig_mul_tensor(c, g, ratio);
  } else if (isinf(p)) {
    ig_tensor *size = ig_abs(c, self);
    ig_tensor *hit = ig_cast(c, ig_eq_tensor(c, size, norm), g->dtype);
    ig_tensor *count = ig_sum_dim_intlist_with(c, hit, v->args[2], true, ig_none());
    ig_tensor *share = ig_div_tensor(c, g, count);
    share = ig_mul_tensor(c, share, hit);
    d = ig_mul_tensor(c, share, ig_sgn(c, self));
  } else {
    ig_tensor *size = ig_abs(c, self);
    ig_tensor *inner = ig_pow_tensor_scalar(c, size, ig_of_f64(p - 1));
    ig_tensor *outer = ig_pow_tensor_scalar(c, norm, ig_of_f64(p - 1));
    ig_tensor *ratio = ig_div_tensor(c, inner, outer);
    ig_tensor *zero = ig_eq_scalar(c, norm, ig_of_i64(0));
    ratio = ig_masked_fill_scalar(c, ratio, zero, ig_of_i64(0));
    ratio = ig_mul_tensor(c, g, ratio);
    d = ig_mul_tensor(c, ratio, ig_sgn(c, self));
  }
  IG_GRAD(v, 0) = ig_cast(c, d, self->dtype);
}

#define CORRECTED                                                                              \
  "f32[3,5] | f32[3,5], [1] | f32[2,3,4], [0,2], correction=0, keepdim=True | f32[3,4], [1], " \
  "correction=2 | f32[4,2].T, [0]"

IG_OP(var_correction) = {
    .schema =
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
        "bool keepdim=False) -> Tensor",
    .order = -1,
    .shape = var_shape,
    .prepare = var_prepare,
    .run = var_run,
    .vjp = var_vjp,
    .keep = "self",
    .samples = CORRECTED,
};
IG_OP(var) = {
    .schema = "aten::var(Tensor self, bool unbiased=True) -> Tensor",
    .decompose = var_default,
    .samples = "f32[3,5] | f32[3,5], False",
};
IG_OP(var_dim) = {
    .schema =
        "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
        "Tensor",
    .order = -2,
    .decompose = var_dim,
    .samples = "f32[3,5], [1] | f32[3,5], [0], False, True",
};
IG_OP(std_correction) = {
    .schema =
        "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
        "bool keepdim=False) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .order = -1,
    .shape = var_shape,
    .prepare = var_prepare,
    .run = std_run,
    .vjp = std_vjp,
    .lower = std_lower,
    .samples = CORRECTED,
};
IG_OP(std) = {
    .schema = "aten::std(Tensor self, bool unbiased=True) -> Tensor",
    .decompose = std_default,
    .samples = "f32[3,5] | f32[3,5], False",
};
IG_OP(std_dim) = {
    .schema =
        "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
        "Tensor",
    .order = -2,
    .decompose = std_dim,
    .samples = "f32[3,5], [1] | f32[3,5], [0], False, True",
};
IG_OP(var_mean_correction) = {
    .schema =
        "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
        "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    .order = -1,
    .shape = var_shape,
    .prepare = var_prepare,
    .run = var_run,
    .vjp = var_mean_vjp,
    .keep = "self",
    .samples = CORRECTED,
};
IG_OP(var_mean) = {
    .schema = "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    .decompose_outs = var_mean_default,
    .samples = "f32[3,5] | f32[3,5], False",
};
IG_OP(var_mean_dim) = {
    .schema =
        "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
        "keepdim=False) -> (Tensor, Tensor)",
    .order = -2,
    .decompose_outs = var_mean_dim,
    .samples = "f32[3,5], [1] | f32[3,5], [0], False, True",
    .waive = "special: the mean of infinity is infinity, where PyTorch updates it to NaN",
};
IG_OP(linalg_vector_norm) = {
    .schema =
        "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .shape = norm_shape,
    .kernel = norm_kernel,
    .vjp = norm_vjp,
    .samples =
        "f32[3,5] | f32[3,5], 1, [1] | f32[3,5], 2, [0], True | f32[3,5], 3, [1] | "
        "f32[2,3,4], 2, [1,2] | f32[3,4], 0, [1] | f32[3], dtype=f64",
};
