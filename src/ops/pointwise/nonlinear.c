// SPDX-License-Identifier: Apache-2.0
// Nonlinearities of networks beyond those of activation.c, with their derivatives. Where Core ATen
// has no operator of the name, the decomposition is PyTorch's and the tile is the same in one pass.
#include "kernels/vmath.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/tile.h"

#define NUMBER(i) ig_value_f64(&t->args[i])
#define ONE(name, type, expr, ...)                    \
  IG_CLONES static void name(const ig_tile_args *t) { \
    const type *x = t->in[0];                         \
    type *o = t->out;                                 \
    __VA_ARGS__                                       \
    for (size_t i = 0; i < t->n; i++) {               \
      const type a = x[i];                            \
      o[i] = (type)(expr);                            \
    }                                                 \
  }
#define TWO(name, type, expr, ...)                    \
  IG_CLONES static void name(const ig_tile_args *t) { \
    const type *x = t->in[0];                         \
    const type *y = t->in[1];                         \
    type *o = t->out;                                 \
    __VA_ARGS__                                       \
    for (size_t i = 0; i < t->n; i++) {               \
      const type g = x[i];                            \
      const type a = y[i];                            \
      o[i] = (type)(expr);                            \
    }                                                 \
  }
#define ONES(name, expr, ...)               \
  ONE(name##_f32, float, expr, __VA_ARGS__) \
  ONE(name##_f64, double, expr, __VA_ARGS__)
#define TWOS(name, expr, ...)               \
  TWO(name##_f32, float, expr, __VA_ARGS__) \
  TWO(name##_f64, double, expr, __VA_ARGS__)

ONE(leaky_relu_f32, float, a > 0 ? a : a * s, const float s = (float)NUMBER(1);)
ONE(leaky_relu_f64, double, a > 0 ? a : a * s, const double s = NUMBER(1);)
TWOS(leaky_relu_backward, a > 0 ? g : g * s, const double s = NUMBER(2);)
ONE(elu_f32, float, a > 0 ? a * p : ig_expm1_f32(a * q) * n, const float p = (float)NUMBER(2);
    const float n = (float)(NUMBER(1) * NUMBER(2)); const float q = (float)NUMBER(3);)
ONE(elu_f64, double, a > 0 ? a * p : expm1(a * q) * n, const double p = NUMBER(2);
    const double n = NUMBER(1) * p; const double q = NUMBER(3);)
ONES(hardsigmoid, a <= -3 ? 0 : a >= 3 ? 1 : (a + 3) / 6, )
TWOS(hardsigmoid_backward, a > -3 && a < 3 ? g / 6 : 0, )
ONES(hardswish, a <= -3 ? a * 0 : a >= 3 ? a : a * (a + 3) / 6, )
TWOS(hardswish_backward, a <= -3 ? 0 : a >= 3 ? g : g * (a / 3 + (double)0.5), )
ONES(hardshrink, a >= -l && a <= l ? 0 : a, const double l = NUMBER(1);)
TWOS(hardshrink_backward, a >= -l && a <= l ? 0 : g, const double l = NUMBER(2);)
ONES(softshrink, a > l ? a - l : a < -l ? a + l : a * 0, const double l = NUMBER(1);)
TWOS(softshrink_backward, a >= -l && a <= l ? 0 : g, const double l = NUMBER(2);)
ONE(softplus_f32, float, a *b > h ? a : ig_log1p_f32(ig_exp_f32(a * b)) / b,
    const float b = (float)NUMBER(1);
    const float h = (float)NUMBER(2);)
ONE(softplus_f64, double, a *b > h ? a : log1p(exp(a * b)) / b, const double b = NUMBER(1);
    const double h = NUMBER(2);)
TWOS(softplus_backward, a *b > h ? g : g * (1 - 1 / (1 + exp((double)a * b))),
     const double b = NUMBER(2);
     const double h = NUMBER(3);)
static void mish_f32(const ig_tile_args *t) {  // not worth its size in clones
  const float *x = t->in[0];
  float *o = t->out;
  for (size_t i = 0; i < t->n; i++) {
    const float soft = x[i] > 20 ? x[i] : ig_log1p_f32(ig_exp_f32(x[i]));
    o[i] = x[i] * ig_tanh_f32(soft);
  }
}
ONE(mish_f64, double, a *tanh(a > 20 ? a : log1p(exp(a))), )
ONES(threshold, a <= l ? w : a, const double l = NUMBER(1); const double w = NUMBER(2);)
ONE(threshold_i64, int64_t, a <= l ? w : a, const int64_t l = ig_number_i64(&t->args[1]);
    const int64_t w = ig_number_i64(&t->args[2]);)

static ig_tensor *zero_where(ig_ctx *c, ig_tensor *mask, ig_tensor *x) {
  return ig_where_scalarself(c, mask, ig_of_i64(0), x);
}
static ig_tensor *positive(ig_ctx *c, ig_tensor *x) {
  return ig_gt_scalar(c, x, ig_of_i64(0));
}
static ig_tensor *mul_number(ig_ctx *c, ig_tensor *x, double v) {
  return ig_mul_f64(c, x, v);
}
static ig_tensor *one_minus(ig_ctx *c, ig_tensor *x) {
  return ig_rsub_scalar(c, x, ig_of_i64(1));
}

static ig_tensor *leaky_relu_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *up = positive(c, args[1].tensor);
  ig_tensor *low = ig_mul_value(c, args[0].tensor, &args[2]);
  return ig_where_self(c, up, args[0].tensor, low);
}
static void leaky_relu_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_leaky_relu_backward(c, v->grad, v->args[0].tensor, v->args[1], false);
}
static void leaky_relu_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_leaky_relu_backward(c, v->grad, v->args[1].tensor, v->args[2], v->args[3].b);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}

// elu(self, alpha, scale, input_scale)
static ig_tensor *elu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  double scale = ig_value_f64(&args[2]);
  ig_tensor *up = positive(c, x);
  ig_tensor *high = mul_number(c, x, scale);
  ig_tensor *low = mul_number(c, x, ig_value_f64(&args[3]));
  low = mul_number(c, ig_expm1(c, low), ig_value_f64(&args[1]) * scale);
  return ig_where_self(c, up, high, low);
}
// elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result)
static ig_tensor *elu_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[5].tensor;
  double scale = ig_value_f64(&args[2]);
  double low = ig_value_f64(&args[1]) * scale;
  double in = ig_value_f64(&args[3]);
  bool result = args[4].b;
  ig_tensor *down = ig_le_scalar(c, x, ig_of_i64(0));
  ig_tensor *slope = mul_number(c, g, result ? in : in * low);
  if (result) {
    slope = ig_mul_tensor(c, slope, ig_add_f64(c, x, low));
  } else {
    slope = ig_mul_tensor(c, slope, ig_exp(c, mul_number(c, x, in)));
  }
  ig_tensor *high = mul_number(c, g, scale);
  return ig_where_self(c, down, slope, high);
}
static void elu_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) = ig_elu_backward(c, v->grad, a[1], a[2], a[3], false, a[0].tensor);
}
static ig_tensor *selu_decompose(ig_ctx *c, const ig_value *args) {
  return ig_elu_with(c, args[0].tensor, ig_of_f64(1.6732632423543772848170429916717),
                     ig_of_f64(1.0507009873554804934193349852946), ig_of_i64(1));
}
static ig_tensor *celu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  double alpha = ig_value_f64(&args[1]);
  if (alpha == 0) {
    ig_fail_text(c, IG_RUNTIME, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return NULL;
  }
  ig_tensor *low = alpha == 1 ? ig_expm1(c, x) : ig_expm1(c, ig_div_f64(c, x, alpha));
  if (alpha != 1) low = ig_mul_f64(c, low, alpha);
  ig_tensor *up = positive(c, x);
  return ig_where_self(c, up, x, low);
}

static ig_tensor *six(ig_ctx *c, ig_tensor *x) {
  ig_tensor *y = ig_add_value(c, x, &(ig_value){.kind = IG_KIND_INT, .i = {.value = 3}});
  y = ig_clamp_with(c, y, ig_of_i64(0), ig_none());
  return ig_clamp_with(c, y, ig_none(), ig_of_i64(6));
}
static ig_tensor *sixth(ig_ctx *c, ig_tensor *x) {
  return ig_div_int(c, x, ig_const(6));
}
static ig_tensor *hardsigmoid_decompose(ig_ctx *c, const ig_value *args) {
  return sixth(c, six(c, args[0].tensor));
}
static ig_tensor *hardswish_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *gate = six(c, args[0].tensor);
  return sixth(c, ig_mul_tensor(c, args[0].tensor, gate));
}
static ig_tensor *hardsigmoid_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *low = ig_gt_scalar(c, args[1].tensor, ig_of_f64(-3));
  ig_tensor *high = ig_lt_scalar(c, args[1].tensor, ig_of_f64(3));
  ig_tensor *in = ig_bitwise_and_tensor(c, low, high);
  ig_tensor *g = mul_number(c, args[0].tensor, 1.0 / 6);
  return ig_where_scalarother(c, in, g, ig_of_f64(0));
}
static ig_tensor *hardswish_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[1].tensor;
  ig_tensor *low = ig_lt_scalar(c, x, ig_of_i64(-3));
  ig_tensor *mid = ig_le_scalar(c, x, ig_of_i64(3));
  ig_tensor *slope = ig_add_f64(c, ig_div_int(c, x, ig_const(3)), 0.5);
  slope = ig_mul_tensor(c, g, slope);
  ig_tensor *high = ig_where_self(c, mid, slope, g);
  return ig_where_scalarself(c, low, ig_of_f64(0), high);
}
static void hardsigmoid_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardsigmoid_backward(c, v->grad, v->args[0].tensor);
}
static void hardsigmoid_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardsigmoid_backward(c, v->grad, v->args[1].tensor);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}
static void hardswish_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardswish_backward(c, v->grad, v->args[0].tensor);
}
static void hardswish_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[1].tensor;
  IG_GRAD(v, 0) = ig_hardswish_backward(c, v->grad, x);
  if (!IG_WANTED(v, 1)) return;
  ig_tensor *g = ig_mul_tensor(c, v->grad, v->args[0].tensor);
  g = ig_div_int(c, g, ig_const(3));
  ig_tensor *out = ig_ge_scalar(c, ig_abs(c, x), ig_of_i64(3));
  IG_GRAD(v, 1) = ig_masked_fill_scalar(c, g, out, ig_of_i64(0));
}

static ig_tensor *hardshrink_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *small = ig_le_scalar(c, ig_abs(c, args[0].tensor), args[1]);
  return zero_where(c, small, args[0].tensor);
}
static ig_tensor *softshrink_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!(ig_value_f64(&args[1]) >= 0)) {
    ig_fail_text(c, IG_RUNTIME, "lambda must be greater or equal to 0, but found to be %g.",
                 ig_value_f64(&args[1]));
    return NULL;
  }
  ig_tensor *big = ig_gt_scalar(c, ig_abs(c, x), args[1]);
  ig_tensor *step = ig_mul_value(c, ig_sign(c, x), &args[1]);
  return ig_where_scalarother(c, big, ig_sub_tensor(c, x, step), ig_of_i64(0));
}
// Both shrinks: grad where |self| is above lambda.
static ig_tensor *shrink_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_value low = ig_of_f64(-ig_value_f64(&args[2]));
  ig_tensor *above = ig_ge_scalar(c, args[1].tensor, low);
  ig_tensor *below = ig_le_scalar(c, args[1].tensor, args[2]);
  return ig_where_scalarself(c, ig_logical_and(c, above, below), ig_of_f64(0), args[0].tensor);
}
static void hardshrink_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardshrink_backward(c, v->grad, v->args[0].tensor, v->args[1]);
}
static void hardshrink_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardshrink_backward(c, v->grad, v->args[1].tensor, v->args[2]);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}
static void softshrink_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_softshrink_backward(c, v->grad, v->args[0].tensor, v->args[1]);
}
static void softshrink_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_softshrink_backward(c, v->grad, v->args[1].tensor, v->args[2]);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}

// log(1 + exp(beta x)) / beta, x itself beyond the threshold
static ig_tensor *softplus_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool plain = ig_value_is(&args[1], 1);
  ig_tensor *scaled = plain ? x : ig_mul_value(c, x, &args[1]);
  ig_tensor *soft = ig_log1p(c, ig_exp(c, scaled));
  if (!plain) soft = ig_div_value(c, soft, &args[1]);
  ig_tensor *far = ig_gt_scalar(c, scaled, args[2]);
  return ig_where_self(c, far, x, soft);
}
static ig_tensor *softplus_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *scaled = ig_mul_value(c, args[1].tensor, &args[2]);
  ig_tensor *z = ig_exp(c, scaled);
  ig_tensor *far = ig_gt_scalar(c, scaled, args[3]);
  ig_tensor *top = ig_mul_tensor(c, g, z);
  ig_tensor *slope = ig_div_tensor(c, top, ig_add_f64(c, z, 1));
  return ig_where_self(c, far, g, slope);
}
static void softplus_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_softplus_backward(c, v->grad, v->args[0].tensor, v->args[1], v->args[2]);
}
static void softplus_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) = ig_softplus_backward(c, v->grad, a[1].tensor, a[2], a[3]);
  if (!IG_WANTED(v, 1)) return;
  ig_tensor *scaled = ig_mul_value(c, a[1].tensor, &a[2]);
  ig_tensor *s = ig_sigmoid(c, scaled);
  ig_tensor *bend = ig_mul_tensor(c, s, one_minus(c, s));
  bend = ig_mul_value(c, bend, &a[2]);
  bend = ig_mul_tensor(c, bend, a[0].tensor);
  bend = ig_mul_tensor(c, bend, v->grad);
  ig_tensor *far = ig_gt_scalar(c, scaled, a[3]);
  IG_GRAD(v, 1) = ig_masked_fill_scalar(c, bend, far, ig_of_i64(0));
}
static ig_tensor *mish_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *soft = ig_softplus(c, args[0].tensor);
  return ig_mul_tensor(c, args[0].tensor, ig_tanh(c, soft));
}
static ig_tensor *mish_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[1].tensor;
  ig_tensor *t = ig_tanh(c, ig_softplus(c, x));
  ig_tensor *s = ig_sigmoid(c, x);
  ig_tensor *rest = one_minus(c, ig_mul_tensor(c, t, t));
  ig_tensor *side = ig_mul_tensor(c, ig_mul_tensor(c, x, s), rest);
  return ig_mul_tensor(c, args[0].tensor, ig_add_tensor(c, t, side));
}
static void mish_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mish_backward(c, v->grad, v->args[0].tensor);
}

static void log_sigmoid_forward_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *zero = ig_new_zeros(c, x, ig_of_ints(NULL, 0));
  ig_tensor *low = ig_minimum(c, zero, x);
  ig_tensor *z = ig_exp(c, ig_neg(c, ig_abs(c, x)));
  outs[0] = ig_of_tensor(ig_sub_tensor(c, low, ig_log1p(c, z)));
  outs[1] = ig_of_tensor(z);
}
static ig_tensor *log_sigmoid_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_log_sigmoid_forward(c, args[0].tensor, outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *log_sigmoid_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[1].tensor;
  ig_tensor *down = ig_lt_scalar(c, x, ig_of_i64(0));
  ig_tensor *most = ig_where_scalar(c, down, ig_of_i64(1), ig_of_i64(0));
  ig_tensor *sign = ig_where_scalar(c, down, ig_of_i64(1), ig_of_i64(-1));
  ig_tensor *z = ig_exp(c, ig_neg(c, ig_abs(c, x)));
  ig_tensor *part = ig_div_tensor(c, z, ig_add_f64(c, z, 1));
  ig_tensor *slope = ig_sub_tensor(c, most, ig_mul_tensor(c, sign, part));
  return ig_mul_tensor(c, args[0].tensor, slope);
}

static ig_tensor *threshold_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *low = ig_le_scalar(c, args[0].tensor, args[1]);
  return ig_where_scalarself(c, low, args[2], args[0].tensor);
}
static void threshold_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_threshold_backward(c, v->grad, v->args[0].tensor, v->args[1]);
}
static ig_tensor *relu6_decompose(ig_ctx *c, const ig_value *args) {
  return ig_hardtanh_with(c, args[0].tensor, ig_of_i64(0), ig_of_i64(6));
}

static ig_tensor *prelu_kernel_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *up = positive(c, args[0].tensor);
  ig_tensor *low = ig_mul_tensor(c, args[1].tensor, args[0].tensor);
  return ig_where_self(c, up, args[0].tensor, low);
}
// One weight, or one per channel.
static ig_tensor *prelu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *w = args[1].tensor;
  if (x->dtype != w->dtype) {
    ig_fail_text(c, IG_RUNTIME, "prelu: Type promoting not supported. Got %s and %s",
                 ig_dtype_title(x->dtype), ig_dtype_title(w->dtype));
    return NULL;
  }
  if (w->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                 w->ndim);
    return NULL;
  }
  if (x->ndim == 1 && w->ndim == 1) return ig__prelu_kernel(c, x, w);
  if (w->ndim == 1) {
    ig_int sizes[IG_MAX_DIM];
    ig_int channels = x->ndim > 1 ? ig_sizes(x)[1] : ig_const(1);
    ig_int n = ig_sizes(w)[0];
    if (!ig_int_eq_i64(c, n, 1) && !ig_int_eq(c, n, channels)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Mismatch of parameter numbers and input channel size. Found parameter numbers "
                   "= %s and channel size = %s.",
                   ig_int_text(c, n), ig_int_text(c, channels));
      return NULL;
    }
    for (int d = 0; d < x->ndim; d++) sizes[d] = d == 1 ? n : ig_const(1);
    w = ig_view(c, w, ig_of_ints(sizes, (size_t)x->ndim));
  }
  return ig__prelu_kernel(c, x, w);
}

static bool halves(ig_ctx *c, ig_tensor *x, const ig_value *dim, int *at, ig_int *half) {
  if (x->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "glu does not support 0-dimensional tensors");
    return false;
  }
  *at = ig_wrap_dim(c, ig_value_i64(c, dim), x->ndim);
  if (c->status != IG_OK) return false;
  ig_int size = ig_sizes(x)[*at];
  if (!ig_int_eq_i64(c, ig_int_mod(c, size, ig_const(2)), 0)) {
    ig_fail_text(c, IG_RUNTIME, "Halving dimension must be even, but dimension %d is size %s", *at,
                 ig_int_text(c, size));
    return false;
  }
  *half = ig_int_floordiv(c, size, ig_const(2));
  return c->status == IG_OK;
}
static ig_tensor *glu_decompose(ig_ctx *c, const ig_value *args) {
  int dim;
  ig_int half;
  if (!halves(c, args[0].tensor, &args[1], &dim, &half)) return NULL;
  ig_tensor *x = args[0].tensor;
  ig_tensor *a = ig_narrow(c, x, ig_const(dim), ig_const(0), half);
  ig_tensor *b = ig_narrow(c, x, ig_const(dim), half, half);
  return ig_mul_tensor(c, a, ig_sigmoid(c, b));
}

#define PAIR(name)                                                                     \
  .shape = ig_shape_pointwise, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}, \
  .vjp = name##_vjp
#define SHAPES "f32[3,5] | f32[] | f32[4,2].T"

IG_OP(leaky_relu) = {
    .schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    PAIR(leaky_relu),
    .keep = "self",
    .lower = ig_lower_leaky_relu,
    .samples = "f32[3,5] | f32[] | f32[4,2].T, negative_slope=0.2",
};
IG_OP(leaky_relu_backward) = {
    .schema =
        "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar "
        "negative_slope, bool self_is_result) -> Tensor",
    PAIR(leaky_relu_backward),
    .decompose = leaky_relu_backward_decompose,
    .keep = "self",
    .samples = "f32[3,5], f32[3,5], 0.1, False",
};
IG_OP(elu) = {
    .schema =
        "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) "
        "-> Tensor",
    PAIR(elu),
    .decompose = elu_decompose,
    .keep = "self",
    .samples = "f32[3,5] | f32[3,5], 0.5, 2, 0.7 | f32[]",
};
IG_OP(elu_backward) = {
    .schema =
        "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar "
        "input_scale, bool is_result, Tensor self_or_result) -> Tensor",
    .decompose = elu_backward_decompose,
    .samples = "f32[3,5], 0.5, 2, 0.7, False, f32[3,5] | f32[3,5], 1, 1, 1, True, f32[3,5]:s",
};
IG_OP(selu) = {
    .schema = "aten::selu(Tensor self) -> Tensor",
    .decompose = selu_decompose,
    .samples = SHAPES,
};
IG_OP(celu) = {
    .schema = "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor",
    .decompose = celu_decompose,
    .samples = "f32[3,5] | f32[3,5], 0.5",
};
IG_OP(hardsigmoid) = {
    .schema = "aten::hardsigmoid(Tensor self) -> Tensor",
    .quantized = IG_QUANT_UNIT,
    PAIR(hardsigmoid),
    .decompose = hardsigmoid_decompose,
    .keep = "self",
    .samples = SHAPES,
    .waive = "second: PyTorch has none",
};
IG_OP(hardsigmoid_backward) = {
    .schema = "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    PAIR(hardsigmoid_backward),
    .decompose = hardsigmoid_backward_decompose,
    .keep = "self",
    .samples = "f32[3,5], f32[3,5] | f32[], f32[]",
};
IG_OP(hardswish) = {
    .schema = "aten::hardswish(Tensor self) -> Tensor",
    PAIR(hardswish),
    .decompose = hardswish_decompose,
    .keep = "self",
    .samples = SHAPES,
};
IG_OP(hardswish_backward) = {
    .schema = "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    PAIR(hardswish_backward),
    .decompose = hardswish_backward_decompose,
    .samples = "f32[3,5], f32[3,5] | f32[], f32[]",
};
IG_OP(hardshrink) = {
    .schema = "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    PAIR(hardshrink),
    .decompose = hardshrink_decompose,
    .keep = "self",
    .samples = "f32[3,5] | f32[3,5], 0.2",
};
IG_OP(hardshrink_backward) = {
    .schema =
        "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> "
        "Tensor",
    PAIR(hardshrink_backward),
    .decompose = shrink_backward_decompose,
    .keep = "self",
    .samples = "f32[3,5], f32[3,5], 0.5",
};
IG_OP(softshrink) = {
    .schema = "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    PAIR(softshrink),
    .decompose = softshrink_decompose,
    .keep = "self",
    .samples = "f32[3,5] | f32[3,5], 0.2",
    .waive = "special: the decomposition has 0 for NaN",
};
IG_OP(softshrink_backward) = {
    .schema =
        "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> "
        "Tensor",
    PAIR(softshrink_backward),
    .decompose = shrink_backward_decompose,
    .keep = "self",
    .samples = "f32[3,5], f32[3,5], 0.5",
};
IG_OP(softplus) = {
    .schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    PAIR(softplus),
    .decompose = softplus_decompose,
    .keep = "self",
    .samples = "f32[3,5] | f32[3,5], 2, 1 | f32[]",
};
IG_OP(softplus_backward) = {
    .schema =
        "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar "
        "threshold) -> Tensor",
    PAIR(softplus_backward),
    .decompose = softplus_backward_decompose,
    .samples = "f32[3,5], f32[3,5], 1, 20 | f32[3,5], f32[3,5], 2, 1",
};
IG_OP(mish) = {
    .schema = "aten::mish(Tensor self) -> Tensor",
    PAIR(mish),
    .decompose = mish_decompose,
    .keep = "self",
    .samples = SHAPES,
};
IG_OP(mish_backward) = {
    .schema = "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    .decompose = mish_backward_decompose,
    .samples = "f32[3,5], f32[3,5]",
};
IG_OP(log_sigmoid) = {
    .schema = "aten::log_sigmoid(Tensor self) -> Tensor",
    .decompose = log_sigmoid_decompose,
    .samples = SHAPES,
    .waive = "strides: always contiguous in PyTorch",
};
IG_OP(log_sigmoid_forward) = {
    .schema = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    .decompose_outs = log_sigmoid_forward_decompose,
    .samples = "f32[3,5] | f32[]",
};
IG_OP(log_sigmoid_backward) = {
    .schema =
        "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> "
        "Tensor",
    .decompose = log_sigmoid_backward_decompose,
    .samples = "f32[3,5], f32[3,5], f32[3,5]:u",
    .waive = "values: PyTorch reads the buffer",
};
IG_OP(threshold) = {
    .schema = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = threshold_f32, [IG_F64] = threshold_f64, [IG_I64] = threshold_i64},
    .vjp = threshold_vjp,
    .decompose = threshold_decompose,
    .keep = "self",
    .samples = "f32[3,5], 0.1, 20 | f32[3], 0, -1.5",
};
IG_OP(relu6) = {
    .schema = "aten::relu6(Tensor self) -> Tensor",
    .decompose = relu6_decompose,
    .samples = "f32[3,5] | i64[3]",
};
IG_OP(_prelu_kernel) = {
    .schema = "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = prelu_kernel_decompose,
    .samples = "f32[3,5], f32[5] | f32[3,5], f32[1,5]",
};
IG_OP(prelu) = {
    .schema = "aten::prelu(Tensor self, Tensor weight) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = prelu_decompose,
    .samples = "f32[2,3,4], f32[3] | f32[2,3], f32[1] | f32[5], f32[1]",
};
IG_OP(glu) = {
    .schema = "aten::glu(Tensor self, int dim=-1) -> Tensor",
    .decompose = glu_decompose,
    .samples = "f32[4,6] | f32[4,3], 0",
};
