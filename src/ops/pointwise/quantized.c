// SPDX-License-Identifier: Apache-2.0
// Quantization to integers with a scale and a zero point, as in quantized programs, and fake
// quantization for training.
#include <float.h>
#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

// Are the bounds within those of the integer type? PyTorch's message is that of an assertion.
static bool check_bounds(ig_ctx *c, const ig_value *low, const ig_value *high, ig_dtype d) {
  static const struct {
    ig_dtype dtype;
    int64_t low;
    int64_t high;
  } bounds[] = {{IG_U8, 0, 255},
                {IG_I8, -128, 127},
                {IG_I16, -32768, 32767},
                {IG_U16, 0, 65535},
                {IG_I32, INT32_MIN, INT32_MAX}};
  int64_t from = ig_value_i64(c, low);
  int64_t to = ig_value_i64(c, high);
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds && c->status == IG_OK; i++) {
    if (bounds[i].dtype != d) continue;
    if (from >= bounds[i].low && to <= bounds[i].high) return true;
    ig_fail_text(c, IG_RUNTIME, "quantized: the bounds %lld and %lld do not fit %s",
                 (long long)from, (long long)to, ig_dtype_title(d));
  }
  if (c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "quantized: Unsupported dtype: %s", ig_dtype_title(d));
  }
  return false;
}
static ig_tensor *as_float(ig_ctx *c, ig_tensor *x) {
  if (x->dtype == IG_F16 || x->dtype == IG_BF16) return ig_cast(c, x, IG_F32);
  if (x->dtype == IG_F32) return x;
  ig_fail_text(c, IG_RUNTIME, "Expecting input to have dtype torch.float32, but got dtype: %s",
               ig_dtype_title(x->dtype));
  return NULL;
}
static bool has_dtype(ig_ctx *c, const ig_tensor *x, ig_dtype d) {
  if (x->dtype == d) return true;
  ig_fail_text(c, IG_RUNTIME, "Expecting input to have dtype: %s, but got %s", ig_dtype_title(d),
               ig_dtype_title(x->dtype));
  return false;
}
// round(x / scale) + zero, within bounds
static ig_tensor *quantize(ig_ctx *c, ig_tensor *x, ig_tensor *inverse, ig_tensor *zero,
                           const ig_value *bounds) {
  if (!check_bounds(c, &bounds[0], &bounds[1], bounds[2].dtype)) return NULL;
  x = ig_round(c, ig_mul_tensor(c, x, inverse));
  x = ig_clamp_with(c, ig_add_tensor(c, x, zero), bounds[0], bounds[1]);
  return ig_cast(c, x, bounds[2].dtype);
}
// input, scale, zero_point, quant_min, quant_max, dtype
static ig_tensor *quantize_per_tensor(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = as_float(c, a[0].tensor);
  double scale = ig_value_f64(&a[1]);
  if (!check_bounds(c, &a[3], &a[4], a[5].dtype)) return NULL;
  x = ig_round(c, ig_mul_f64(c, x, 1 / scale));
  x = ig_add_value(c, x, &a[2]);
  return ig_cast(c, ig_clamp_with(c, x, a[3], a[4]), a[5].dtype);
}
// The only element of a tensor, as a number, so that it does not affect type promotion.
static ig_tensor *only(ig_ctx *c, ig_tensor *t) {
  if (ig_dtype_is_complex(t->dtype)) t = ig_cast(c, t, IG_C64);
  return ig_view(c, t, ig_of_ints(NULL, 0));
}
static ig_tensor *quantize_per_tensor_tensor(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = as_float(c, a[0].tensor);
  ig_tensor *scale = only(c, a[1].tensor);
  if (scale && ig_dtype_is_float(scale->dtype)) scale = ig_cast(c, scale, IG_F64);
  ig_tensor *inverse = ig_reciprocal(c, scale);
  return quantize(c, x, inverse, only(c, a[2].tensor), &a[3]);
}
static ig_dtype wanted(const ig_value *v) {
  return v->kind == IG_KIND_DTYPE ? v->dtype : IG_F32;
}
// ..., *, out_dtype
static ig_tensor *dequantize_per_tensor(ig_ctx *c, const ig_value *a) {
  if (!has_dtype(c, a[0].tensor, a[5].dtype)) return NULL;
  ig_tensor *x = ig_cast(c, a[0].tensor, wanted(&a[6]));
  return ig_mul_value(c, ig_sub_value(c, x, &a[2]), &a[1]);
}
static ig_tensor *dequantize_per_tensor_tensor(ig_ctx *c, const ig_value *a) {
  if (!has_dtype(c, a[0].tensor, a[5].dtype)) return NULL;
  ig_tensor *x = ig_cast(c, a[0].tensor, wanted(&a[6]));
  x = ig_sub_tensor(c, x, only(c, a[2].tensor));
  return ig_mul_tensor(c, x, only(c, a[1].tensor));
}
// One number for each index of dimension `axis`.
static ig_tensor *along(ig_ctx *c, ig_tensor *t, const ig_tensor *x, const ig_value *axis) {
  int dim = ig_wrap_dim(c, ig_value_i64(c, axis), x->ndim);
  ig_int sizes[IG_MAX_DIM];
  if (c->status != IG_OK || !t) return NULL;
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_const(1);
  if (x->ndim) sizes[dim] = ig_numel_of(c, t);
  return ig_view(c, t, ig_of_ints(sizes, (size_t)x->ndim));
}
// input, scales, zero_points, axis, quant_min, quant_max, dtype
static ig_tensor *quantize_per_channel(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = as_float(c, a[0].tensor);
  if (!x) return NULL;
  ig_tensor *inverse = ig_reciprocal(c, along(c, a[1].tensor, x, &a[3]));
  return quantize(c, x, inverse, along(c, a[2].tensor, x, &a[3]), &a[4]);
}
static ig_tensor *dequantize_per_channel(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  if (!has_dtype(c, x, a[6].dtype)) return NULL;
  ig_tensor *zero = ig_value_tensor(&a[2]);
  if (!check_bounds(c, &a[4], &a[5], a[6].dtype)) return NULL;
  if (zero) x = ig_sub_tensor(c, x, along(c, zero, a[0].tensor, &a[3]));
  ig_tensor *scale = along(c, a[1].tensor, a[0].tensor, &a[3]);
  return ig_cast(c, ig_mul_tensor(c, x, scale), wanted(&a[7]));
}
// input, quant_min, quant_max, eps, dtype -> scale, zero_point: from the extremes, 0 among them
static void choose_qparams(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_tensor *x = a[0].tensor->dtype == IG_BF16 ? a[0].tensor : as_float(c, a[0].tensor);
  double low = ig_value_f64(&a[1]);
  double high = ig_value_f64(&a[2]);
  if (!x || !check_bounds(c, &a[1], &a[2], a[4].dtype)) return;
  if (low >= high) {
    ig_fail_text(c, IG_RUNTIME, "choose_qparams: quant_min %g is not less than quant_max %g", low,
                 high);
    return;
  }
  ig_tensor *least = ig_clamp_with(c, ig_amin(c, x), ig_none(), ig_of_f64(0));
  ig_tensor *most = ig_clamp_with(c, ig_amax(c, x), ig_of_f64(0), ig_none());
  ig_tensor *scale = ig_div_f64(c, ig_sub_tensor(c, most, least), high - low);
  scale = ig_clamp_with(c, scale, a[3], ig_none());
  ig_tensor *zero = ig_round(c, ig_div_tensor(c, least, scale));
  zero = ig_clamp_with(c, ig_add_f64(c, ig_neg(c, zero), low), a[1], a[2]);
  ig_int one = ig_const(1);
  scale = ig_cast(c, scale, IG_F64);
  zero = ig_cast(c, zero, IG_I64);
  outs[0] = ig_of_tensor(ig_view(c, scale, ig_of_ints(&one, 1)));
  outs[1] = ig_of_tensor(ig_view(c, zero, ig_of_ints(&one, 1)));
}

// ---- fake quantization: self, scale, zero_point, [axis], quant_min, quant_max ----

static ig_tensor *beside(ig_ctx *c, ig_tensor *t, const ig_tensor *x, int axis) {
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_const(d == axis ? -1 : 1);
  return ig_view(c, t, ig_of_ints(sizes, (size_t)x->ndim));
}
static bool check_range(ig_ctx *c, int64_t low, int64_t high) {
  if (low <= high) return true;
  ig_fail_text(c, IG_RUNTIME, "`quant_min` should be less than or         equal to `quant_max`.");
  return false;
}
// 1 / scale, rounded to float32 as the kernels of quantization have it.
static ig_value inverse_of(ig_ctx *c, const ig_value *scale) {
  if (scale->kind == IG_KIND_TENSOR) return ig_of_tensor(ig_reciprocal(c, scale->tensor));
  return ig_of_f64((double)(1.0F / (float)ig_value_f64(scale)));
}
// A zero point that is no integer takes part in the rounding.
static void there_and_back(ig_ctx *c, ig_tensor *x, const ig_value *scale, const ig_value *zero,
                           const ig_value *range, ig_value *outs) {
  int64_t low = ig_value_i64(c, &range[0]);
  int64_t high = ig_value_i64(c, &range[1]);
  if (!check_range(c, low, high)) return;
  ig_value inverse = inverse_of(c, scale);
  bool number = zero->kind == IG_KIND_TENSOR && ig_dtype_is_float(zero->tensor->dtype);
  ig_tensor *q = ig_mul_value(c, ig_detach(c, x), &inverse);
  if (number) {
    q = ig_round(c, ig_add_value(c, q, zero));
  } else {
    q = ig_add_value(c, ig_round(c, q), zero);
  }
  ig_tensor *in = ig_ge_scalar(c, q, ig_of_i64(low));
  in = ig_logical_and(c, in, ig_le_scalar(c, q, ig_of_i64(high)));
  q = ig_clamp_with(c, q, ig_of_i64(low), ig_of_i64(high));
  q = ig_mul_value(c, ig_sub_value(c, q, zero), scale);
  outs[0] = ig_of_tensor(x ? ig_cast(c, q, x->dtype) : NULL);
  outs[1] = ig_of_tensor(in);
}
static void masked_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)ig_check_float(c, "fake_quantize_tensor_cachemask_kernel", args[0].tensor->dtype);
  ig_shape_like(c, op, args, &out[0]);
  ig_shape_like(c, op, args, &out[1]);
  out[1].dtype = IG_BOOL;
}
static void per_tensor_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int64_t zero = ig_value_i64(c, &args[2]);
  int64_t low = ig_value_i64(c, &args[3]);
  int64_t high = ig_value_i64(c, &args[4]);
  if (c->status != IG_OK || !check_range(c, low, high)) return;
  if (zero < low || zero > high) {
    ig_fail_text(c, IG_RUNTIME, "`zero_point` must be between `quant_min` and `quant_max`.");
    return;
  }
  masked_infer(c, op, args, out);
}
static void store_pair(ig_ctx *c, const ig_value *made, ig_value *outs) {
  for (int k = 0; k < 2 && c->status == IG_OK; k++) ig_tensor_copy(outs[k].tensor, made[k].tensor);
}
static void per_tensor_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_value made[2] = {ig_none(), ig_none()};
  there_and_back(c, ig_tensor_alias(c, args[0].tensor), &args[1], &args[2], &args[3], made);
  store_pair(c, made, outs);
  ig_scope_close(c, s);
}
// self, scale, zero_point, fake_quant_enabled, quant_min, quant_max
static void given_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_value made[2] = {ig_none(), ig_none()};
  ig_value given[3];
  for (int i = 0; i < 3; i++) given[i] = ig_of_tensor(ig_tensor_alias(c, args[i].tensor));
  given[1] = ig_of_tensor(ig_cast(c, given[1].tensor, IG_F32));
  const int64_t *on = ig_dense_read(c, args[3].tensor, IG_I64);
  if (on && on[0]) {
    there_and_back(c, given[0].tensor, &given[1], &given[2], &args[4], made);
  } else if (on) {
    made[0] = given[0];
    made[1] = ig_of_tensor(ig_ones_like_with(c, given[0].tensor, ig_of_dtype(IG_BOOL), ig_none(),
                                             ig_none(), ig_none(), ig_none()));
  }
  store_pair(c, made, outs);
  ig_scope_close(c, s);
}
static void given_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  for (int i = 1; i < 4; i++) {
    if (ig_int_eq_i64(c, ig_numel_of(c, args[i].tensor), 1)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "fake_quantize_per_tensor_affine: scale, zero_point and fake_quant_enabled must "
                 "have one element each");
    return;
  }
  masked_infer(c, op, args, out);
}
static void per_channel_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  int axis = ig_wrap_dim(c, ig_value_i64(c, &args[3]), x->ndim);
  if (c->status != IG_OK) return;
  ig_dtype of_zero = args[2].tensor->dtype;
  if (of_zero != IG_I32 && of_zero != IG_F32 && of_zero != IG_F16) {
    ig_fail_text(c, IG_RUNTIME, "Zero-point must be Int32, Float or Half, found %s",
                 ig_dtype_title(of_zero));
    return;
  }
  for (int k = 1; k < 3; k++) {
    const ig_tensor *t = args[k].tensor;
    if (x->ndim && t->ndim == 1 && ig_int_eq(c, ig_sizes(t)[0], ig_sizes(x)[axis])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "dimensions of scale and zero-point are not consistent with input tensor");
    return;
  }
  masked_infer(c, op, args, out);
}
static void per_channel_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  int axis = ig_wrap_dim(c, ig_value_i64(c, &args[3]), x->ndim);
  ig_scope s = ig_scope_open(c);
  ig_value made[2] = {ig_none(), ig_none()};
  ig_value scale = ig_of_tensor(beside(c, ig_tensor_alias(c, args[1].tensor), x, axis));
  ig_value zero = ig_of_tensor(beside(c, ig_tensor_alias(c, args[2].tensor), x, axis));
  if (c->status == IG_OK)
    there_and_back(c, ig_tensor_alias(c, args[0].tensor), &scale, &zero, &args[4], made);
  store_pair(c, made, outs);
  ig_scope_close(c, s);
}
static void straight_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grads[0], v->outs[1].tensor);
}
static ig_tensor *per_tensor(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_call_id_outs(c, IG_ID_FAKE_QUANTIZE_PER_TENSOR_AFFINE_CACHEMASK, args, 5, outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *per_tensor_given(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_int one = ig_const(1);
  ig_tensor *on = ig_ones_with(c, ig_of_ints(&one, 1), ig_of_dtype(IG_I64), ig_none(),
                               ig_of_device(args[0].tensor->device), ig_none());
  ig_value given[] = {args[0], args[1], args[2], ig_of_tensor(on), args[3], args[4]};
  if (c->status != IG_OK) return NULL;
  ig_call_id_outs(c, IG_ID__FAKE_QUANTIZE_PER_TENSOR_AFFINE_CACHEMASK_TENSOR_QPARAMS, given, 6,
                  outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *per_channel(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_call_id_outs(c, IG_ID_FAKE_QUANTIZE_PER_CHANNEL_AFFINE_CACHEMASK, args, 6, outs);
  return ig_value_tensor(&outs[0]);
}

IG_OP(quantized_decomposed__quantize_per_tensor) = {
    .schema =
        "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int "
        "quant_min, int quant_max, ScalarType dtype) -> Tensor",
    .decompose = quantize_per_tensor,
    .samples = "f32[3,4], 0.1, 3, -128, 127, i8 | f32[5], 0.02, 100, 0, 255, u8",
    .not_differentiable = true,  // rounding is not differentiable
};
IG_OP(quantized_decomposed__quantize_per_tensor__tensor) = {
    .schema =
        "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
        "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
    .decompose = quantize_per_tensor_tensor,
    .samples = "f32[3,4], f32[]:+, i64[], -128, 127, i8 | f32[5], f32[1]:+, i64[1], 0, 255, u8",
    .not_differentiable = true,  // rounding is not differentiable
};
IG_OP(quantized_decomposed__dequantize_per_tensor) = {
    .schema =
        "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, "
        "int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
    .decompose = dequantize_per_tensor,
    .samples = "i8[3,4], 0.1, 3, -128, 127, i8 | u8[5], 0.02, 100, 0, 255, u8, out_dtype=f64",
    .not_differentiable = true,  // rounding is not differentiable
};
IG_OP(quantized_decomposed__dequantize_per_tensor__tensor) = {
    .schema =
        "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
        "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
        "out_dtype=None) -> Tensor",
    .decompose = dequantize_per_tensor_tensor,
    .samples = "i8[3,4], f32[]:+, i64[], -128, 127, i8 | u8[5], f32[1]:+, i64[1], 0, 255, u8",
    .not_differentiable = true,  // rounding is not differentiable
};
IG_OP(quantized_decomposed__quantize_per_channel) = {
    .schema =
        "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor "
        "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
    .decompose = quantize_per_channel,
    .samples =
        "f32[3,4], f32[3]:+, i64[3], 0, -128, 127, i8 | f32[3,4], f32[4]:+, i64[4], 1, 0, 255, u8",
    .not_differentiable = true,  // rounding is not differentiable
};
IG_OP(quantized_decomposed__dequantize_per_channel) = {
    .schema =
        "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
        "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
        "out_dtype=None) -> Tensor",
    .decompose = dequantize_per_channel,
    .samples =
        "i8[3,4], f32[3]:+, i64[3], 0, -128, 127, i8 | u8[3,4], f32[4]:+, None, 1, 0, 255, u8",
    .not_differentiable = true,  // rounding is not differentiable
    .waive = "refusal: other classes",
};
IG_OP(quantized_decomposed__choose_qparams__tensor) = {
    .schema =
        "quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, "
        "float eps, ScalarType dtype) -> (Tensor, Tensor)",
    .decompose_outs = choose_qparams,
    .samples = "f32[3,4], -128, 127, 0.00001, i8 | f32[5]:+, 0, 255, 0.00001, u8",
    .not_differentiable = true,  // rounding is not differentiable
    .waive = "special: which integer NaN becomes",
};
IG_OP(fake_quantize_per_tensor_affine_cachemask) = {
    .schema =
        "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int "
        "zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    .shape = per_tensor_infer,
    .kernel = per_tensor_kernel,
    .vjp = straight_vjp,
    .diff_results = 1,
    .keep = "result1",
    .samples = "f32[4], 0.1, 0, -128, 127",
    .waive = "gradient: straight through the steps; special: NaN stays NaN",
};
IG_OP(fake_quantize_per_channel_affine_cachemask) = {
    .schema =
        "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, "
        "Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, "
        "Tensor mask)",
    .shape = per_channel_infer,
    .kernel = per_channel_kernel,
    .vjp = straight_vjp,
    .diff_results = 1,
    .keep = "result1",
    .samples = "f32[2,3], f32[2]:+, i32[2]:<5, 0, 0, 255",
    .waive = "gradient: straight through the steps; special: NaN stays NaN; refusal: other texts",
};
IG_OP(fake_quantize_per_tensor_affine) = {
    .schema =
        "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int "
        "zero_point, int quant_min, int quant_max) -> Tensor",
    .decompose = per_tensor,
    .samples = "f32[4], 0.1, 0, -128, 127",
    .waive = "gradient: straight through the steps; special: NaN stays NaN",
};
IG_OP(_fake_quantize_per_tensor_affine_cachemask_tensor_qparams) = {
    .schema =
        "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor "
        "scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> "
        "(Tensor output, Tensor mask)",
    .shape = given_infer,
    .kernel = given_kernel,
    .vjp = straight_vjp,
    .diff_results = 1,
    .keep = "result1",
    .samples =
        "f32[4], f32[1]:+, i32[1]:<5, i64{1}, -128, 127 | f32[2,3], f32[1]:+, i32[1], i64{0}, 0, "
        "255",
    .waive = "gradient: straight through the steps; special: NaN stays NaN",
};
IG_OP(fake_quantize_per_tensor_affine_tensor_qparams) = {
    .schema =
        "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
        "zero_point, int quant_min, int quant_max) -> Tensor",
    .decompose = per_tensor_given,
    .samples = "f32[4], f32[1]:+, i32[1]:<5, -128, 127",
    .waive = "gradient: straight through the steps; special: NaN stays NaN",
};
IG_OP(fake_quantize_per_channel_affine) = {
    .schema =
        "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor "
        "zero_point, int axis, int quant_min, int quant_max) -> Tensor",
    .decompose = per_channel,
    .samples = "f32[2,3], f32[2]:+, i32[2]:<5, 0, 0, 255",
    .waive = "gradient: straight through the steps; special: NaN stays NaN; refusal: other texts",
};
