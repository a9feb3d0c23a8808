// SPDX-License-Identifier: Apache-2.0
// Fake quantization whose scale and zero point are trained with the weights. Inside of the range
// the gradient passes through the rounding; the scale learns from the error of rounding, and what
// is clipped moves both.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"

// self, scale, zero_point, [axis], quant_min, quant_max, grad_factor
enum { SELF, SCALE, ZERO, REST };
enum { PER_TENSOR, PER_CHANNEL };

typedef struct setting {
  bool channels;
  int axis;
  int64_t low;
  int64_t high;
  double factor;
} setting;

static setting setting_of(ig_ctx *c, bool channels, const ig_value *a) {
  setting s = {.channels = channels};
  const ig_value *rest = &a[REST];
  if (channels) s.axis = ig_wrap_dim(c, ig_value_i64(c, rest++), a[SELF].tensor->ndim);
  s.low = ig_value_i64(c, &rest[0]);
  s.high = ig_value_i64(c, &rest[1]);
  s.factor = ig_value_f64(&rest[2]);
  return s;
}

// The dtypes of scale and zero point that PyTorch takes.
static bool takes(const setting *s, bool forward, ig_dtype d) {
  if (!forward) return d == IG_F32 || d == IG_BF16;
  return d == IG_F32 || (!s->channels && ig_dtype_is_float(d) && ig_dtype_size(d) > 1);
}

static bool check(ig_ctx *c, const setting *s, bool forward, const ig_value *a) {
  const ig_tensor *x = a[SELF].tensor;
  if (s->low > s->high) {
    ig_fail_text(c, IG_RUNTIME, "`quant_min` should be less than or         equal to `quant_max`.");
  }
  for (int k = SCALE; k <= ZERO && c->status == IG_OK; k++) {
    const ig_tensor *t = a[k].tensor;
    const char *name = k == SCALE ? "scale" : "zero-point";
    if (!takes(s, forward, t->dtype)) {
      ig_fail_text(c, IG_RUNTIME, "%s must be Float, found %s", name, ig_dtype_title(t->dtype));
    } else if (!s->channels && !ig_int_eq_i64(c, ig_numel_of(c, t), 1)) {
      ig_fail_text(c, IG_RUNTIME, "%s: found %s elements, expected 1", name,
                   ig_int_text(c, ig_numel_of(c, t)));
    } else if (s->channels &&
               (!x->ndim || t->ndim != 1 || !ig_int_eq(c, ig_sizes(t)[0], ig_sizes(x)[s->axis]))) {
      ig_fail_text(c, IG_RUNTIME,
                   "dimensions of scale and zero-point are not consistent with input tensor");
    }
  }
  return c->status == IG_OK;
}

static void infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  setting s = setting_of(c, op->def->variant == PER_CHANNEL, args);
  if (c->status == IG_OK && check(c, &s, true, args)) ig_shape_like(c, op, args, out);
}

// One number for all elements, or one per index of the axis.
static ig_tensor *beside(ig_ctx *c, ig_tensor *t, const ig_tensor *x, const setting *s) {
  ig_int sizes[IG_MAX_DIM];
  if (!t || !x) return NULL;
  if (!s->channels) return ig_view(c, t, ig_of_ints(NULL, 0));
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_const(d == s->axis ? -1 : 1);
  return ig_view(c, t, ig_of_ints(sizes, (size_t)x->ndim));
}

static ig_tensor *within(ig_ctx *c, ig_tensor *t, const setting *s) {
  return ig_clamp_with(c, t, ig_of_i64(s->low), ig_of_i64(s->high));
}

static void kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_scope scope = ig_scope_open(c);
  setting s = setting_of(c, op->def->variant == PER_CHANNEL, args);
  ig_tensor *x = ig_cast(c, ig_tensor_alias(c, args[SELF].tensor), IG_F32);
  ig_tensor *scale = ig_cast(c, ig_tensor_alias(c, args[SCALE].tensor), IG_F32);
  ig_tensor *zero = ig_cast(c, ig_tensor_alias(c, args[ZERO].tensor), IG_F32);
  scale = beside(c, scale, x, &s);
  zero = beside(c, zero, x, &s);
  zero = within(c, ig_round(c, zero), &s);
  ig_tensor *inverse = ig_reciprocal(c, scale);
  ig_tensor *q = ig_round(c, ig_mul_tensor(c, x, inverse));
  q = within(c, ig_add_tensor(c, q, zero), &s);
  q = ig_mul_tensor(c, ig_sub_tensor(c, q, zero), scale);
  if (q && c->status == IG_OK) ig_tensor_copy(outs[0].tensor, q);
  ig_scope_close(c, scope);
}

// The sum over what shares a scale.
static ig_tensor *gathered(ig_ctx *c, ig_tensor *t, const setting *s) {
  if (!t) return NULL;
  if (!s->channels) {
    ig_int one = ig_const(1);
    return ig_view(c, ig_sum(c, t), ig_of_ints(&one, 1));
  }
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (d != s->axis) dims[n++] = ig_const(d);
  }
  return n ? ig_sum_dim_intlist_with(c, t, ig_of_ints(dims, n), false, ig_none()) : t;
}

static void backward(ig_ctx *c, bool channels, const ig_value *a, ig_value *outs) {
  const ig_value *of = a + 1;
  setting s = setting_of(c, channels, of);
  if (c->status != IG_OK || !check(c, &s, false, of)) return;
  ig_tensor *grad = ig_cast(c, a[0].tensor, IG_F32);
  ig_tensor *x = ig_cast(c, of[SELF].tensor, IG_F32);
  ig_tensor *scale = beside(c, ig_cast(c, of[SCALE].tensor, IG_F32), x, &s);
  ig_tensor *zero = beside(c, ig_cast(c, of[ZERO].tensor, IG_F32), x, &s);
  zero = channels ? within(c, ig_round(c, zero), &s)
                  : ig_trunc(c, within(c, ig_add_f64(c, zero, 0.5), &s));
  ig_tensor *inverse = ig_reciprocal(c, scale);
  ig_tensor *q = ig_round(c, ig_add_tensor(c, ig_mul_tensor(c, x, inverse), zero));
  ig_tensor *kept = within(c, q, &s);
  ig_tensor *in = ig_eq_tensor(c, q, kept);
  ig_tensor *centred = ig_sub_tensor(c, kept, zero);
  ig_tensor *error = ig_sub_tensor(c, ig_mul_tensor(c, centred, scale), x);
  error = ig_mul_tensor(c, error, inverse);
  ig_tensor *of_scale = ig_where_self(c, in, error, centred);
  of_scale = ig_mul_f64(c, ig_mul_tensor(c, of_scale, grad), s.factor);
  ig_tensor *clipped = ig_logical_not(c, in);
  ig_tensor *of_zero = ig_mul_f64(c, ig_mul_tensor(c, grad, scale), -s.factor);
  outs[0] = ig_of_tensor(ig_mul_tensor(c, grad, in));
  outs[1] = ig_of_tensor(gathered(c, of_scale, &s));
  outs[2] = ig_of_tensor(gathered(c, ig_mul_tensor(c, of_zero, clipped), &s));
}
static void backward_tensor(ig_ctx *c, const ig_value *a, ig_value *outs) {
  backward(c, false, a, outs);
}
static void backward_channel(ig_ctx *c, const ig_value *a, ig_value *outs) {
  backward(c, true, a, outs);
}

static void vjp(ig_ctx *c, const ig_vjp *v, bool channels) {
  ig_value outs[3] = {ig_none(), ig_none(), ig_none()};
  ig_value given[8] = {ig_of_tensor(v->grad)};
  for (size_t i = 0; i < (channels ? 7U : 6U); i++) given[i + 1] = v->args[i];
  backward(c, channels, given, outs);
  IG_GRAD(v, 0) = ig_value_tensor(&outs[0]);
  IG_GRAD(v, 1) = ig_value_tensor(&outs[1]);
  IG_GRAD(v, 2) = ig_value_tensor(&outs[2]);
}
static void vjp_tensor(ig_ctx *c, const ig_vjp *v) {
  vjp(c, v, false);
}
static void vjp_channel(ig_ctx *c, const ig_vjp *v) {
  vjp(c, v, true);
}

IG_OP(_fake_quantize_learnable_per_tensor_affine) = {
    .schema =
        "aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor "
        "zero_point, int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
    .shape = infer,
    .kernel = kernel,
    .variant = PER_TENSOR,
    .vjp = vjp_tensor,
    .keep = "self scale zero_point",
    .samples =
        "f32[2,3], f32[1]:+, f32[1]:+, -8, 7, 1.0 | "
        "f32[4], f32[1]:+, f32[1]:+, 0, 255, 0.5",
    .waive = "gradient: straight through the steps; special: NaN stays NaN; refusal: other texts",
};
IG_OP(_fake_quantize_learnable_per_channel_affine) = {
    .schema =
        "aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor "
        "zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
    .shape = infer,
    .kernel = kernel,
    .variant = PER_CHANNEL,
    .vjp = vjp_channel,
    .keep = "self scale zero_point",
    .samples =
        "f32[2,3], f32[2]:+, f32[2]:+, 0, -8, 7, 1.0 | "
        "f32[2,3,2], f32[3]:+, f32[3]:+, 1, 0, 255, 0.5",
    .waive = "gradient: straight through the steps; special: NaN stays NaN; refusal: other texts",
};
IG_OP(_fake_quantize_learnable_per_tensor_affine_backward) = {
    .schema =
        "aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, "
        "Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> "
        "(Tensor, Tensor, Tensor)",
    .decompose_outs = backward_tensor,
    .waive =
        "size 2=0: PyTorch gives the parameters themselves; size 3=0: likewise; 0-d: PyTorch "
        "refuses zero points without a dim only here",
    .samples = "f32[2,3], f32[2,3], f32[1]:+, f32[1]:+, -8, 7, 1.0",
    .not_differentiable = true,
};
IG_OP(_fake_quantize_learnable_per_channel_affine_backward) = {
    .schema =
        "aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, "
        "Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float "
        "grad_factor=1.) -> (Tensor, Tensor, Tensor)",
    .decompose_outs = backward_channel,
    .waive = "refusal: empty ranges and scalars work; size 3=0: PyTorch gives the parameters",
    .samples = "f32[2,3], f32[2,3], f32[2]:+, f32[2]:+, 0, -8, 7, 1.0",
    .not_differentiable = true,
};
