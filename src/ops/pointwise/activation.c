// SPDX-License-Identifier: Apache-2.0
// Activations and their gradients, which are separate operators in ATen.
#include <string.h>

#include "kernels/vmath.h"
#include "ops/lower.h"
#include "ops/quant.h"
#include "ops/tile.h"

TILE1(sigmoid_f32, float, float, ig_sigmoid_f32(x[i]))
TILE1(sigmoid_f64, double, double, ig_sigmoid_f64(x[i]))
TILE1(sigmoid_c128, ig_cd, ig_cd, 1.0 / (1.0 + cexp(-x[i])))
TILE1(tanh_f32, float, float, ig_tanh_f32(x[i]))
TILE1(tanh_f64, double, double, ig_tanh_f64(x[i]))
TILE1(tanh_c128, ig_cd, ig_cd, ctanh(x[i]))
TILE1(relu_f32, float, float, x[i] > 0 || x[i] != x[i] ? x[i] : 0)
TILE1(relu_f64, double, double, x[i] > 0 || x[i] != x[i] ? x[i] : 0)
TILE1(relu_i64, int64_t, int64_t, x[i] > 0 ? x[i] : 0)
TILE1(silu_f32, float, float, x[i] * ig_sigmoid_f32(x[i]))
TILE1(silu_f64, double, double, x[i] * ig_sigmoid_f64(x[i]))
TILE1(silu_c128, ig_cd, ig_cd, x[i] / (1.0 + cexp(-x[i])))

static const double sqrt_half = 0.70710678118654752440;
static const double sqrt_2_over_pi = 0.79788456080286535588;
static const double gelu_cubic = 0.044715;
static const double inv_sqrt_2pi = 0.39894228040143267794;

static bool is_tanh(const ig_value *approximate) {
  return strcmp(approximate->str, "tanh") == 0;
}

static inline double gelu_tanh_one(double x) {
  return 0.5 * x * (1 + ig_tanh_f64(sqrt_2_over_pi * (x + gelu_cubic * x * x * x)));
}
TILE1(gelu_erf_f32, float, float, ig_gelu_f32(x[i]))
TILE1(gelu_tanh_f32, float, float, ig_gelu_tanh_f32(x[i]))
TILE1(gelu_erf_f64, double, double, 0.5 * x[i] * (1 + erf(x[i] * sqrt_half)))
TILE1(gelu_tanh_f64, double, double, gelu_tanh_one(x[i]))
static void gelu_f32(const ig_tile_args *t) {
  (is_tanh(&t->args[1]) ? gelu_tanh_f32 : gelu_erf_f32)(t);
}
static void gelu_f64(const ig_tile_args *t) {
  (is_tanh(&t->args[1]) ? gelu_tanh_f64 : gelu_erf_f64)(t);
}

// Slope of gelu at y; the erf form is cdf + y * pdf. One loop per function: compilers do not
// vectorize both in one.
enum { SLOPE_BLOCK = 256 };
TILE_CLONES static void gelu_back_erf_f32(const ig_tile_args *t) {
  const float *x = t->in[0];
  const float *y = t->in[1];
  float *o = t->out;
  float cdf[SLOPE_BLOCK];
  float pdf[SLOPE_BLOCK];
  for (size_t first = 0; first < t->n; first += SLOPE_BLOCK) {
    size_t n = t->n - first < SLOPE_BLOCK ? t->n - first : SLOPE_BLOCK;
    const float *g = x + first;
    const float *at = y + first;
    for (size_t i = 0; i < n; i++) cdf[i] = 0.5F * (1 + ig_erf_f32(at[i] * (float)sqrt_half));
    for (size_t i = 0; i < n; i++) pdf[i] = ig_exp_f32(-0.5F * at[i] * at[i]);
    for (size_t i = 0; i < n; i++) {
      o[first + i] = g[i] * (cdf[i] + at[i] * (pdf[i] * (float)inv_sqrt_2pi));
    }
  }
}
static inline double slope_erf_f64(double y) {
  return 0.5 * (1 + erf(y * sqrt_half)) + y * inv_sqrt_2pi * ig_exp_f64(-0.5 * y * y);
}
#define SLOPE_TANH(name, type, tanh_fn)                                  \
  static inline type name(type y) {                                      \
    const type k = (type)sqrt_2_over_pi;                                 \
    const type cubic = (type)gelu_cubic;                                 \
    type th = tanh_fn(k * (y + cubic * y * y * y));                      \
    type inner = k * (1 + 3 * cubic * y * y);                            \
    return (type)0.5 * (1 + th) + (type)0.5 * y * (1 - th * th) * inner; \
  }
SLOPE_TANH(slope_tanh_f32, float, ig_tanh_f32)
SLOPE_TANH(slope_tanh_f64, double, ig_tanh_f64)
TILE2(gelu_back_erf_f64, double, double, x[i] * slope_erf_f64(y[i]))
TILE2(gelu_back_tanh_f32, float, float, x[i] * slope_tanh_f32(y[i]))
TILE2(gelu_back_tanh_f64, double, double, x[i] * slope_tanh_f64(y[i]))
static void gelu_backward_f32(const ig_tile_args *t) {
  (is_tanh(&t->args[2]) ? gelu_back_tanh_f32 : gelu_back_erf_f32)(t);
}
static void gelu_backward_f64(const ig_tile_args *t) {
  (is_tanh(&t->args[2]) ? gelu_back_tanh_f64 : gelu_back_erf_f64)(t);
}

// x is the gradient of the result, y the result or the operand.
TILE2(sigmoid_backward_f32, float, float, x[i] * (1 - y[i]) * y[i])
TILE2(sigmoid_backward_f64, double, double, x[i] * (1 - y[i]) * y[i])
TILE2(sigmoid_backward_c128, ig_cd, ig_cd, x[i] * conj((1 - y[i]) * y[i]))
TILE2(tanh_backward_f32, float, float, x[i] * (1 - y[i] * y[i]))
TILE2(tanh_backward_f64, double, double, x[i] * (1 - y[i] * y[i]))
TILE2(tanh_backward_c128, ig_cd, ig_cd, x[i] * conj(1 - y[i] * y[i]))
static inline float silu_slope_f32(float y) {
  float s = ig_sigmoid_f32(y);
  return s * (1 + y * (1 - s));
}
static inline double silu_slope_f64(double y) {
  double s = ig_sigmoid_f64(y);
  return s * (1 + y * (1 - s));
}
static inline ig_cd silu_slope_c128(ig_cd y) {
  ig_cd s = 1.0 / (1.0 + cexp(-y));
  return s * (1 + y * (1 - s));
}
TILE2(silu_backward_c128, ig_cd, ig_cd, x[i] * silu_slope_c128(y[i]))
TILE2(silu_backward_f32, float, float, x[i] * silu_slope_f32(y[i]))
TILE2(silu_backward_f64, double, double, x[i] * silu_slope_f64(y[i]))

#define THRESHOLD(name, type, read)                                    \
  IG_CLONES static void name(const ig_tile_args *t) {                  \
    const type *x = t->in[0];                                          \
    const type *y = t->in[1];                                          \
    const type limit = (type)read(&t->args[2]);                        \
    type *o = t->out;                                                  \
    for (size_t i = 0; i < t->n; i++) o[i] = y[i] <= limit ? 0 : x[i]; \
  }
THRESHOLD(threshold_backward_f32, float, ig_value_f64)
THRESHOLD(threshold_backward_f64, double, ig_value_f64)
THRESHOLD(threshold_backward_i64, int64_t, ig_number_i64)

#define HARDTANH(name, type, read)                    \
  IG_CLONES static void name(const ig_tile_args *t) { \
    const type *x = t->in[0];                         \
    const type lo = (type)read(&t->args[1]);          \
    const type hi = (type)read(&t->args[2]);          \
    type *o = t->out;                                 \
    for (size_t i = 0; i < t->n; i++) {               \
      type at_least = x[i] < lo ? lo : x[i];          \
      o[i] = at_least > hi ? hi : at_least;           \
    }                                                 \
  }
HARDTANH(hardtanh_f32, float, ig_value_f64)
HARDTANH(hardtanh_f64, double, ig_value_f64)
HARDTANH(hardtanh_i64, int64_t, ig_number_i64)

#define HARDTANH_BACKWARD(name, type)                                             \
  IG_CLONES static void name(const ig_tile_args *t) {                             \
    const type *x = t->in[0];                                                     \
    const type *y = t->in[1];                                                     \
    const type lo = (type)ig_value_f64(&t->args[2]);                              \
    const type hi = (type)ig_value_f64(&t->args[3]);                              \
    type *o = t->out;                                                             \
    for (size_t i = 0; i < t->n; i++) o[i] = y[i] <= lo || y[i] >= hi ? 0 : x[i]; \
  }
HARDTANH_BACKWARD(hardtanh_backward_f32, float)
HARDTANH_BACKWARD(hardtanh_backward_f64, double)

static void relu_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (args[0].tensor->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "Boolean inputs not supported for relu");
  }
  ig_shape_pointwise(c, op, args, out);
}

static void gelu_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const char *how = args[op->operands].str;
  if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0) {
    ig_fail_text(c, IG_RUNTIME, "approximate argument must be either none or tanh.");
  }
  ig_shape_pointwise(c, op, args, out);
}

static void hardtanh_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_dtype d = args[0].tensor->dtype;
  if (d == IG_BOOL) ig_fail_text(c, IG_RUNTIME, "Bool inputs not supported for hardtanh");
  ig_shape_pointwise(c, op, args, out);
}

static void sigmoid_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_sigmoid_backward(c, v->grad, v->out);
}
static void tanh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_tanh_backward(c, v->grad, v->out);
}
static void relu_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_threshold_backward(c, v->grad, v->out, ig_of_i64(0));
}
static void gelu_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_gelu_backward_with(c, v->grad, v->args[0].tensor, v->args[1]);
}
// In a graph the gradient is written so that it can be differentiated again, as PyTorch does it:
// g s (1 + x (1 - s)), where 1 - s is computed in new memory.
static ig_tensor *silu_grad(ig_ctx *c, ig_tensor *g, ig_tensor *x) {
  ig_tensor *s = ig_sigmoid(c, x);
  ig_value preserve = ig_of_memory_format(IG_PRESERVE);
  ig_tensor *ones = ig_empty_like_with(c, s, ig_none(), ig_none(), ig_none(), ig_none(), preserve);
  ones = ig_fill_scalar(c, ones, ig_of_i64(1));
  ig_tensor *rest = ig_mul_tensor(c, x, ig_sub_tensor(c, ones, s));
  ig_tensor *slope = ig_mul_tensor(c, s, ig_add_scalar(c, rest, ig_of_i64(1)));
  return ig_mul_tensor(c, g, slope);
}

static void silu_vjp(ig_ctx *c, const ig_vjp *v) {
  if (c->mode->capture) {
    IG_GRAD(v, 0) = silu_grad(c, v->grad, ig_conj_of(c, v->args[0].tensor));
    return;
  }
  IG_GRAD(v, 0) = ig_silu_backward(c, v->grad, ig_conj_of(c, v->args[0].tensor));
}
static void hardtanh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardtanh_backward(c, v->grad, v->args[0].tensor, v->args[1], v->args[2]);
}

// These are g conj(slope(y)), so the gradient of g takes conj(y), and that of y is
// conj(G) g conj(slope'(y)).

// slope s(1-s), slope' 1-2s
static void sigmoid_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *output = ig_conj_of(c, v->args[1].tensor);
  IG_GRAD(v, 0) = ig_sigmoid_backward(c, v->grad, output);
  if (IG_WANTED(v, 1)) {
    ig_tensor *bend = ig_mul_f64(c, output, -2);
    bend = ig_add_f64(c, bend, 1);
    bend = ig_mul_tensor(c, bend, v->args[0].tensor);
    IG_GRAD(v, 1) = ig_mul_tensor(c, bend, ig_conj_of(c, v->grad));
  }
}
// slope 1-t^2, slope' -2t
static void tanh_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *output = ig_conj_of(c, v->args[1].tensor);
  IG_GRAD(v, 0) = ig_tanh_backward(c, v->grad, output);
  if (IG_WANTED(v, 1)) {
    ig_tensor *bend = ig_mul_tensor(c, output, v->args[0].tensor);
    bend = ig_mul_f64(c, bend, -2);
    IG_GRAD(v, 1) = ig_mul_tensor(c, bend, ig_conj_of(c, v->grad));
  }
}
static void threshold_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_threshold_backward(c, v->grad, v->args[1].tensor, v->args[2]);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}
static void hardtanh_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_hardtanh_backward(c, v->grad, v->args[1].tensor, v->args[2], v->args[3]);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}

// g slope(y), without a conjugate. d/dy of s(1 + y(1-s)) = s(1-s)(2 + y(1-2s)).
static void silu_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *y = v->args[1].tensor;
  IG_GRAD(v, 0) = ig_silu_backward(c, v->grad, ig_conj_of(c, y));
  if (IG_WANTED(v, 1)) {
    ig_tensor *s = ig_sigmoid(c, y);
    ig_tensor *rest = ig_mul_f64(c, s, -2);
    rest = ig_add_f64(c, rest, 1);
    rest = ig_mul_tensor(c, rest, y);
    rest = ig_add_f64(c, rest, 2);
    ig_tensor *bend = ig_sigmoid_backward(c, ig_conj_of(c, rest), s);
    bend = ig_mul_tensor(c, bend, ig_conj_of(c, v->args[0].tensor));
    IG_GRAD(v, 1) = ig_mul_tensor(c, bend, v->grad);
  }
}

// Second slope of gelu. erf form: pdf(y)(2 - y^2). tanh form: with u = k(y + cy^3) and t = tanh(u),
// (1 - t^2)(u' + y u''/2 - y t u'^2).
static ig_tensor *gelu_bend_erf(ig_ctx *c, ig_tensor *y) {
  ig_tensor *square = ig_mul_tensor(c, y, y);
  ig_tensor *pdf = ig_exp(c, ig_mul_f64(c, square, -0.5));
  pdf = ig_mul_f64(c, pdf, inv_sqrt_2pi);
  ig_tensor *rest = ig_add_f64(c, ig_neg(c, square), 2);
  return ig_mul_tensor(c, pdf, rest);
}

static ig_tensor *gelu_bend_tanh(ig_ctx *c, ig_tensor *y) {
  ig_tensor *square = ig_mul_tensor(c, y, y);
  ig_tensor *cube = ig_mul_tensor(c, square, y);
  ig_tensor *u = ig_add_tensor(c, y, ig_mul_f64(c, cube, gelu_cubic));
  ig_tensor *t = ig_tanh(c, ig_mul_f64(c, u, sqrt_2_over_pi));
  ig_tensor *first = ig_mul_f64(c, square, 3 * gelu_cubic);
  first = ig_mul_f64(c, ig_add_f64(c, first, 1), sqrt_2_over_pi);
  ig_tensor *half_second = ig_mul_f64(c, square, 3 * gelu_cubic * sqrt_2_over_pi);
  ig_tensor *last = ig_mul_tensor(c, first, first);
  last = ig_mul_tensor(c, last, t);
  last = ig_mul_tensor(c, last, y);
  ig_tensor *sum = ig_add_tensor(c, first, half_second);
  sum = ig_sub_tensor(c, sum, last);
  return ig_tanh_backward(c, sum, t);
}

static void gelu_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *y = v->args[1].tensor;
  IG_GRAD(v, 0) = ig_gelu_backward_with(c, v->grad, y, v->args[2]);
  if (IG_WANTED(v, 1)) {
    ig_tensor *bend = is_tanh(&v->args[2]) ? gelu_bend_tanh(c, y) : gelu_bend_erf(c, y);
    bend = ig_mul_tensor(c, bend, v->args[0].tensor);
    IG_GRAD(v, 1) = ig_mul_tensor(c, v->grad, bend);
  }
}

static ig_tensor *silu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *s = ig_sigmoid(c, args[0].tensor);
  return ig_mul_tensor(c, args[0].tensor, s);
}

IG_OP(sigmoid) = {
    .schema = "aten::sigmoid(Tensor self) -> Tensor",
    .quantized = IG_QUANT_UNIT,
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = sigmoid_f32, [IG_F64] = sigmoid_f64, [IG_C128] = sigmoid_c128},
    .promote = IG_PROMOTE_FLOAT,
    .vjp = sigmoid_vjp,
    .keep = "result",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(sigmoid_backward) = {
    .schema = "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = sigmoid_backward_f32,
             [IG_F64] = sigmoid_backward_f64,
             [IG_C128] = sigmoid_backward_c128},
    .vjp = sigmoid_backward_vjp,
    .decompose = ig_lower_sigmoid_backward,
    .samples = "f32[3,5], f32[3,5]:u | f32[], f32[]:u",
};
IG_OP(tanh) = {
    .schema = "aten::tanh(Tensor self) -> Tensor",
    .quantized = IG_QUANT_SIGNED,
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = tanh_f32, [IG_F64] = tanh_f64, [IG_C128] = tanh_c128},
    .promote = IG_PROMOTE_FLOAT,
    .vjp = tanh_vjp,
    .keep = "result",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(tanh_backward) = {
    .schema = "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = tanh_backward_f32,
             [IG_F64] = tanh_backward_f64,
             [IG_C128] = tanh_backward_c128},
    .vjp = tanh_backward_vjp,
    .decompose = ig_lower_tanh_backward,
    .samples = "f32[3,5], f32[3,5]:s | f32[], f32[]:s",
};
IG_OP(relu) = {
    .schema = "aten::relu(Tensor self) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .on_quantized = ig_quant_relu,
    .shape = relu_shape,
    .tile = {[IG_F32] = relu_f32, [IG_F64] = relu_f64, [IG_I64] = relu_i64},
    .vjp = relu_vjp,
    .keep = "result",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[4,2].T | f32[8]:special",
};
IG_OP(threshold_backward) = {
    .schema =
        "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = threshold_backward_f32,
             [IG_F64] = threshold_backward_f64,
             [IG_I64] = threshold_backward_i64},
    .vjp = threshold_backward_vjp,
    .keep = "self",
    .decompose = ig_lower_threshold_backward,
    .samples = "f32[3,5], f32[3,5], 0 | f32[2,3], f32[2,3], 0.25",
};
IG_OP(gelu) = {
    .schema = "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = gelu_shape,
    .tile = {[IG_F32] = gelu_f32, [IG_F64] = gelu_f64},
    .vjp = gelu_vjp,
    .keep = "self",
    .lower = ig_lower_gelu,
    .samples = "f32[3,5] | f32[3,5], approximate='tanh' | f32[]",
};
IG_OP(gelu_backward) = {
    .schema =
        "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> "
        "Tensor",
    .shape = gelu_shape,
    .tile = {[IG_F32] = gelu_backward_f32, [IG_F64] = gelu_backward_f64},
    .vjp = gelu_backward_vjp,
    .decompose = ig_lower_gelu_backward,
    .samples = "f32[3,5], f32[3,5] | f32[3,5], f32[3,5], approximate='tanh'",
};
IG_OP(silu) = {
    .schema = "aten::silu(Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = silu_f32, [IG_F64] = silu_f64, [IG_C128] = silu_c128},
    .decompose = silu_decompose,
    .vjp = silu_vjp,
    .keep = "self",
    .samples = "f32[3,5] | f32[]",
};
IG_OP(silu_backward) = {
    .schema = "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = silu_backward_f32,
             [IG_F64] = silu_backward_f64,
             [IG_C128] = silu_backward_c128},
    .vjp = silu_backward_vjp,
    .decompose = ig_lower_silu_backward,
    .samples = "f32[3,5], f32[3,5] | f32[], f32[]",
};
IG_OP(hardtanh) = {
    .schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = hardtanh_shape,
    .tile = {[IG_F32] = hardtanh_f32, [IG_F64] = hardtanh_f64, [IG_I64] = hardtanh_i64},
    .vjp = hardtanh_vjp,
    .keep = "self",
    .lower = ig_lower_hardtanh,
    .samples = "f32[3,5] | f32[3,5], -0.5, 0.5 | i64[3], 0, 6",
};
IG_OP(hardtanh_backward) = {
    .schema =
        "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar "
        "max_val) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = hardtanh_backward_f32, [IG_F64] = hardtanh_backward_f64},
    .vjp = hardtanh_backward_vjp,
    .keep = "self",
    .decompose = ig_lower_hardtanh_backward,
    .samples = "f32[3,5], f32[3,5], -0.5, 0.5",
};
