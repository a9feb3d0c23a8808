// SPDX-License-Identifier: Apache-2.0
// Between numbers and quantized tensors, and what a quantized tensor tells about itself.
#include <math.h>

#include "kernels/qrow.h"
#include "op/formula.h"
#include "op/quantized.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "ops/quant.h"
#include "tensor/copy.h"

static bool check_source(ig_ctx *c, const ig_tensor *x, ig_dtype to) {
  if (x->quantizer) {
    ig_refuse_backend(c, "aten::quantize_per_tensor", "QuantizedCPU");
  } else if (!ig_dtype_is_quantized(to)) {
    ig_fail_text(c, IG_RUNTIME, "ScalarType %s is not supported in new_qtensor.",
                 ig_dtype_title(to));
  } else if (x->dtype != IG_F32) {
    ig_fail_text(c, IG_RUNTIME, "Quantize only works on Float Tensor, got %s",
                 ig_dtype_title(x->dtype));
  }
  return c->status == IG_OK;
}

static void limits_of(ig_dtype d, int64_t *low, int64_t *high) {
  *low = d == IG_QU8 ? 0 : d == IG_QI8 ? -128 : INT32_MIN;
  *high = d == IG_QU8 ? 255 : d == IG_QI8 ? 127 : INT32_MAX;
}

static bool check_zero_point(ig_ctx *c, const char *what, int64_t zero, ig_dtype d) {
  int64_t low = 0;
  int64_t high = 0;
  limits_of(d, &low, &high);
  if (zero >= low && zero <= high) return true;
  ig_fail_text(c, IG_RUNTIME, "%s zero_point %lld is %s bound.", what, (long long)zero,
               zero < low ? "below lower" : "above upper");
  return false;
}

// ---- kernels over memory of one layout

// x as float32 with the strides of `like`, which has no gaps.
static const float *floats_like(ig_ctx *c, ig_tensor *x, const ig_tensor *like) {
  bool same = x->dtype == IG_F32 && ig_tensor_is_dense_permuted(x) && x->ndim == like->ndim;
  for (int d = 0; same && d < x->ndim; d++) {
    same = ig_strides(x)[d].value == ig_strides(like)[d].value || ig_sizes(x)[d].value == 1;
  }
  if (same) return ig_tensor_data(x);
  ig_meta m;
  ig_meta_of(like, &m);
  m.dtype = IG_F32;
  m.offset = ig_const(0);
  ig_tensor *t = ig_tensor_make(c, &m, false);
  if (!t) return NULL;
  ig_tensor_copy(t, x);
  return ig_tensor_data(t);
}

typedef struct span {
  ig_dtype dtype;
  float scale;
  int32_t zero;
  const void *from;
  void *to;
} span;

static void quantize_span(void *user, int64_t begin, int64_t end) {
  const span *s = user;
  const float *x = (const float *)s->from + begin;
  if (s->dtype == IG_QU8)
    ig_quantize_u8(x, end - begin, s->scale, s->zero, (uint8_t *)s->to + begin);
  if (s->dtype == IG_QI8)
    ig_quantize_i8(x, end - begin, s->scale, s->zero, (int8_t *)s->to + begin);
  if (s->dtype == IG_QI32) {
    ig_quantize_i32(x, end - begin, s->scale, s->zero, (int32_t *)s->to + begin);
  }
}

static void dequantize_span(void *user, int64_t begin, int64_t end) {
  const span *s = user;
  int64_t n = end - begin;
  float *x = (float *)s->to + begin;
  if (s->dtype == IG_QU8) {
    ig_dequantize_u8((const uint8_t *)s->from + begin, n, s->scale, s->zero, x);
  }
  if (s->dtype == IG_QI8)
    ig_dequantize_i8((const int8_t *)s->from + begin, n, s->scale, s->zero, x);
  if (s->dtype == IG_QI32) {
    ig_dequantize_i32((const int32_t *)s->from + begin, n, s->scale, s->zero, x);
  }
}

enum { GRAIN = 1 << 15 };

// Sizes of the operand, in the memory format that PyTorch suggests for it: other orders of
// dimensions are not kept.
static void shape_suggested(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  ig_shape_like(c, op, args, out);
  if (ig_is_fake(x) || c->mode->capture || c->status != IG_OK) return;
  ig_meta_format(c, out, ig_tensor_suggest_format(c, x));
  out->strided = true;
}

// ---- quantize_per_tensor

static void per_tensor_shape(ig_ctx *c, const ig_value *args, double scale, int64_t zero,
                             ig_dtype dtype, ig_meta *out) {
  if (!check_source(c, args[0].tensor, dtype)) return;
  if (!check_zero_point(c, "quantize_tensor_per_tensor_affine", zero, dtype)) return;
  shape_suggested(c, NULL, args, out);
  out->dtype = dtype;
  out->quantizer = ig_quantizer_make(c, scale, zero);
}

static void quantize_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  per_tensor_shape(c, args, ig_scale_of(c, &args[1]), ig_value_i64(c, &args[2]), args[3].dtype,
                   out);
}

static void quantize_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *q = outs[0].tensor;
  span s = {.dtype = q->dtype,
            .scale = (float)q->quantizer->scale,
            .zero = (int32_t)q->quantizer->zero_point,
            .to = ig_tensor_data(q)};
  ig_scope scope = ig_scope_open(c);
  s.from = floats_like(c, args[0].tensor, q);
  if (s.from) ig_parallel_for(ig_tensor_numel(q), GRAIN, quantize_span, &s);
  ig_scope_close(c, scope);
}

static bool only_element(ig_ctx *c, const ig_value *v, ig_value *out) {
  ig_value number[IG_MAX_RETURNS] = {{0}};
  ig_item(c, v->tensor, number);
  *out = number[0];
  return c->status == IG_OK;
}

static ig_tensor *quantize_given(ig_ctx *c, const ig_value *args) {
  ig_value scale;
  ig_value zero;
  if (!only_element(c, &args[1], &scale) || !only_element(c, &args[2], &zero)) return NULL;
  return ig_quantize_with(c, args[0].tensor, args[3].dtype, ig_scale_of(c, &scale),
                          (int64_t)ig_scale_of(c, &zero));
}

static void quantize_list(ig_ctx *c, const ig_value *args, ig_value *outs) {
  size_t n = args[0].kind == IG_KIND_LIST ? args[0].list.n : 0;
  ig_value *made = ig_scope_array(c, n, sizeof *made);
  const double *scales = ig_dense_read(c, args[1].tensor, IG_F64);
  const int64_t *zeros = ig_dense_read(c, args[2].tensor, IG_I64);
  if (!made || !scales || !zeros) return;
  if (ig_tensor_numel(args[1].tensor) < (int64_t)n ||
      ig_tensor_numel(args[2].tensor) < (int64_t)n) {
    ig_fail_text(c, IG_RUNTIME,
                 "quantize_per_tensor: found fewer scales and zero points than %zu tensors", n);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    made[i] = ig_of_tensor(
        ig_quantize_with(c, args[0].list.at[i].tensor, args[3].dtype, scales[i], zeros[i]));
  }
  outs[0] = ig_of_list(made, n);
}

IG_OP(quantize_per_tensor) = {
    .schema =
        "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> "
        "Tensor",
    .shape = quantize_shape,
    .kernel = quantize_kernel,
    .not_differentiable = true,  // rounding is not differentiable
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantize_per_tensor_tensor_qparams) = {
    .schema =
        "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
        "ScalarType dtype) -> Tensor",
    .decompose = quantize_given,
    .not_differentiable = true,  // rounding is not differentiable
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantize_per_tensor_tensors) = {
    .schema =
        "aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, "
        "ScalarType dtype) -> Tensor[]",
    .decompose_outs = quantize_list,
    .not_differentiable = true,  // rounding is not differentiable
    .quantized = IG_QUANT_OWN,
};

// ---- parameters from the data

static ig_tensor *quantize_dynamic(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_dtype dtype = args[1].dtype;
  if (dtype == IG_F16) return ig_cast(c, x, IG_F16);
  if (dtype != IG_QU8 && dtype != IG_QI8) {
    ig_fail_text(c, IG_RUNTIME, "dtype %snot supported", ig_dtype_title(dtype));
    return NULL;
  }
  if (x->dtype != IG_F32) {
    ig_fail_text(c, IG_RUNTIME, "quantize_per_tensor_dynamic only works on Float Tensor, got %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  float low = 0;
  float high = 0;
  double scale = 1;
  int64_t zero = 0;
  ig_quant_extremes(c, x, &low, &high);
  ig_quant_choose((double)low, (double)high, dtype == IG_QU8 ? 0 : -128,
                  dtype == IG_QU8 ? 255 : 127, args[2].b, &scale, &zero);
  return ig_quantize_with(c, x, dtype, scale, zero);
}

static void choose_outs(ig_ctx *c, const ig_value *args, ig_value *outs) {
  float low = 0;
  float high = 0;
  double scale = 1;
  int64_t zero = 0;
  ig_quant_extremes(c, args[0].tensor, &low, &high);
  ig_quant_choose((double)low, (double)high, 0, 255, args[1].b, &scale, &zero);
  outs[0] = ig_of_f64(scale);
  outs[1] = ig_of_i64(zero);
}

IG_OP(quantize_per_tensor_dynamic) = {
    .schema =
        "aten::quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> "
        "Tensor",
    .decompose = quantize_dynamic,
    .not_differentiable = true,  // rounding is not differentiable
    .quantized = IG_QUANT_OWN,
};
IG_OP(_choose_qparams_per_tensor) = {
    .schema =
        "aten::_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)",
    .decompose_outs = choose_outs,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};

// ---- one scale per channel

// Scales and zero points in the dtypes that quantizers keep.
static ig_quantizer *channels(ig_ctx *c, ig_tensor *scales, ig_tensor *zeros, int64_t axis) {
  bool numbers = ig_dtype_is_float(zeros->dtype);
  ig_tensor *s = ig_contiguous(c, ig_cast(c, ig_detach(c, scales), numbers ? IG_F32 : IG_F64));
  ig_tensor *z = ig_contiguous(c, ig_cast(c, ig_detach(c, zeros), numbers ? IG_F32 : IG_I64));
  return ig_quantizer_make_channels(c, s, z, (int)axis);
}

static bool check_channels(ig_ctx *c, ig_int size, int ndim, const ig_tensor *scales,
                           const ig_tensor *zeros, int64_t axis) {
  if (axis < 0 || axis >= ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "Channel axis out of range in per channel affine quantization. Got: %lldExpected: "
                 "[0, %d)",
                 (long long)axis, ndim);
  } else if (scales->ndim != 1 || zeros->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "%s tensor must have dimension 1",
                 scales->ndim != 1 ? "scale" : "zero_points");
  } else if (!ig_int_eq(c, ig_sizes(scales)[0], ig_sizes(zeros)[0])) {
    ig_fail_text(c, IG_RUNTIME, "number of elements in scales and zero_points must match");
  } else if (!ig_int_eq(c, ig_sizes(scales)[0], size)) {
    ig_fail_text(c, IG_RUNTIME, "length of scales must equal to channel, expected %s got, %s",
                 ig_int_text(c, size), ig_int_text(c, ig_sizes(scales)[0]));
  }
  return c->status == IG_OK;
}

// self, scales, zero_points, axis, dtype
static void per_channel_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_tensor *x = args[0].tensor;
  int64_t axis = ig_value_i64(c, &args[3]);
  if (!check_source(c, x, args[4].dtype)) return;
  bool inside = axis >= 0 && axis < x->ndim;
  ig_int size = inside ? ig_sizes(x)[axis] : ig_const(0);
  if (!check_channels(c, size, x->ndim, args[1].tensor, args[2].tensor, axis)) return;
  ig_shape_like(c, op, args, out);
  out->dtype = args[4].dtype;
  out->quantizer = channels(c, args[1].tensor, args[2].tensor, axis);
}

// Elements along the axis: outer blocks of `channels` rows of `inner` elements, in row-major order.
typedef struct channel_walk {
  int64_t outer;
  int64_t channels;
  int64_t inner;
} channel_walk;
static channel_walk walk_of(const ig_tensor *t, int axis) {
  channel_walk w = {1, ig_sizes(t)[axis].value, 1};
  for (int d = 0; d < t->ndim; d++) {
    if (d < axis) w.outer *= ig_sizes(t)[d].value;
    if (d > axis) w.inner *= ig_sizes(t)[d].value;
  }
  return w;
}

static int64_t rounded(float x, float scale, float zero, int64_t low, int64_t high) {
  float f = nearbyintf(x * (1.0F / scale) + zero);
  return !(f > (float)low) ? low : f >= (float)high ? high : (int64_t)f;
}

static void store_integer(void *to, ig_dtype d, int64_t i, int64_t v) {
  if (d == IG_QU8) ((uint8_t *)to)[i] = (uint8_t)v;
  if (d == IG_QI8) ((int8_t *)to)[i] = (int8_t)v;
  if (d == IG_QI32) ((int32_t *)to)[i] = (int32_t)v;
}
static int64_t load_integer(const void *from, ig_dtype d, int64_t i) {
  return d == IG_QU8   ? ((const uint8_t *)from)[i]
         : d == IG_QI8 ? ((const int8_t *)from)[i]
                       : ((const int32_t *)from)[i];
}

static void quantize_channel(const ig_quantizer *q, int64_t k, span *s, int64_t at, int64_t n) {
  if (q->scheme == IG_PER_CHANNEL_AFFINE) {
    s->scale = (float)((const double *)ig_tensor_data(q->scales))[k];
    s->zero = (int32_t)((const int64_t *)ig_tensor_data(q->zero_points))[k];
    quantize_span(s, at, at + n);
    return;
  }
  float scale = ((const float *)ig_tensor_data(q->scales))[k];
  float zero = ((const float *)ig_tensor_data(q->zero_points))[k];
  int64_t low = 0;
  int64_t high = 0;
  limits_of(s->dtype, &low, &high);
  for (int64_t i = at; i < at + n; i++) {
    store_integer(s->to, s->dtype, i, rounded(((const float *)s->from)[i], scale, zero, low, high));
  }
}

static void dequantize_channel(const ig_quantizer *q, int64_t k, span *s, int64_t at, int64_t n) {
  if (q->scheme == IG_PER_CHANNEL_AFFINE) {
    s->scale = (float)((const double *)ig_tensor_data(q->scales))[k];
    s->zero = (int32_t)((const int64_t *)ig_tensor_data(q->zero_points))[k];
    dequantize_span(s, at, at + n);
    return;
  }
  float scale = ((const float *)ig_tensor_data(q->scales))[k];
  float zero = ((const float *)ig_tensor_data(q->zero_points))[k];
  for (int64_t i = at; i < at + n; i++) {
    ((float *)s->to)[i] = ((float)load_integer(s->from, s->dtype, i) - zero) * scale;
  }
}

static bool check_zero_points(ig_ctx *c, const ig_quantizer *q, ig_dtype d) {
  if (q->scheme != IG_PER_CHANNEL_AFFINE) return true;
  const int64_t *zeros = ig_tensor_data(q->zero_points);
  int64_t n = ig_tensor_numel(q->zero_points);
  for (int64_t i = 0; i < n; i++) {
    if (!check_zero_point(c, "quantize_tensor_per_channel_affine", zeros[i], d)) return false;
  }
  return true;
}

static void per_channel_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *q = outs[0].tensor;
  if (!check_zero_points(c, q->quantizer, q->dtype)) return;
  ig_scope scope = ig_scope_open(c);
  channel_walk w = walk_of(q, q->quantizer->axis);
  int64_t n = ig_tensor_numel(q);
  span s = {.dtype = q->dtype, .from = ig_dense_read(c, args[0].tensor, IG_F32)};
  s.to = ig_dense_room(c, (size_t)n, ig_dtype_carrier(q->dtype));
  for (int64_t i = 0; s.from && s.to && i < w.outer * w.channels && w.inner; i++) {
    quantize_channel(q->quantizer, i % w.channels, &s, i * w.inner, w.inner);
  }
  if (s.from && s.to) ig_dense_write(c, q, ig_dtype_carrier(q->dtype), s.to);
  ig_scope_close(c, scope);
}

IG_OP(quantize_per_channel) = {
    .schema =
        "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
        "ScalarType dtype) -> Tensor",
    .shape = per_channel_shape,
    .kernel = per_channel_kernel,
    .not_differentiable = true,  // rounding is not differentiable
    .quantized = IG_QUANT_OWN,
};

// ---- dequantize

static void dequantize_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  shape_suggested(c, op, args, out);
  out->dtype = IG_F32;
  const ig_quantizer *q = x->quantizer;
  if (q && !ig_quantizer_is_uniform(q)) {
    ig_int size = q->axis < x->ndim ? ig_sizes(x)[q->axis] : ig_const(0);
    (void)check_channels(c, size, x->ndim, q->scales, q->zero_points, q->axis);
  }
}

static void dequantize_channels(ig_ctx *c, ig_tensor *x, ig_tensor *out) {
  const ig_quantizer *q = x->quantizer;
  channel_walk w = walk_of(x, q->axis);
  ig_tensor *ints = ig_tensor_integers(c, x);
  span s = {.dtype = x->dtype,
            .from = ints ? ig_dense_read(c, ints, ints->dtype) : NULL,
            .to = ig_dense_room(c, (size_t)ig_tensor_numel(x), IG_F32)};
  for (int64_t i = 0; s.from && s.to && i < w.outer * w.channels && w.inner; i++) {
    dequantize_channel(q, i % w.channels, &s, i * w.inner, w.inner);
  }
  if (s.from && s.to) ig_dense_write(c, out, IG_F32, s.to);
}

static void dequantize_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *x = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  ig_scope scope = ig_scope_open(c);
  if (!x->quantizer) {
    ig_tensor_copy(out, x);
  } else if (!ig_quantizer_is_uniform(x->quantizer)) {
    dequantize_channels(c, x, out);
  } else {
    // Elements in the order of the result's memory.
    ig_tensor *ints = ig_tensor_integers(c, x);
    ig_value format = ig_of_memory_format(ig_tensor_suggest_format(c, out));
    if (ints) ints = ig_contiguous_with(c, ints, format);
    span s = {.dtype = x->dtype,
              .scale = (float)x->quantizer->scale,
              .zero = (int32_t)x->quantizer->zero_point,
              .from = ints ? ig_tensor_data(ints) : NULL,
              .to = ig_tensor_data(out)};
    if (s.from) ig_parallel_for(ig_tensor_numel(out), GRAIN, dequantize_span, &s);
  }
  ig_scope_close(c, scope);
}

static void dequantize_list(ig_ctx *c, const ig_value *args, ig_value *outs) {
  size_t n = args[0].kind == IG_KIND_LIST ? args[0].list.n : 0;
  ig_value *made = ig_scope_array(c, n, sizeof *made);
  if (!made) return;
  for (size_t i = 0; i < n; i++) {
    made[i] = ig_of_tensor(ig_dequantize_self(c, args[0].list.at[i].tensor));
  }
  outs[0] = ig_of_list(made, n);
}

IG_OP(dequantize_self) = {
    .schema = "aten::dequantize.self(Tensor self) -> Tensor",
    .shape = dequantize_shape,
    .kernel = dequantize_kernel,
    .quantized = IG_QUANT_OWN,
};
IG_OP(dequantize_tensors) = {
    .schema = "aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]",
    .decompose_outs = dequantize_list,
    .quantized = IG_QUANT_OWN,
};

// ---- what a quantized tensor tells

static void int_repr_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (!ig_check_quantized(c, op, args[0].tensor)) return;
  ig_shape_like(c, op, args, out);
  out->dtype = ig_dtype_carrier(args[0].tensor->dtype);
}
static void int_repr_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor *ints = ig_tensor_integers(c, args[0].tensor);
  if (ints) ig_tensor_copy(outs[0].tensor, ints);
  ig_scope_close(c, s);
}

static const ig_quantizer *uniform_of(ig_ctx *c, const ig_op *op, const ig_tensor *t) {
  if (!ig_check_quantized(c, op, t)) return NULL;
  if (ig_quantizer_is_uniform(t->quantizer)) return t->quantizer;
  ig_fail_text(c, IG_RUNTIME,
               "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  "
               "(Could this error message be improved?  If so, please report an enhancement "
               "request to PyTorch.)");
  return NULL;
}
static const ig_quantizer *channels_of(ig_ctx *c, const ig_op *op, const ig_tensor *t) {
  if (!ig_check_quantized(c, op, t)) return NULL;
  if (!ig_quantizer_is_uniform(t->quantizer)) return t->quantizer;
  ig_fail_text(c, IG_RUNTIME,
               "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
               "kPerChannelAffineFloatQParams to be true, but got false.  (Could this error "
               "message be improved?  If so, please report an enhancement request to PyTorch.)");
  return NULL;
}

enum { SCALE, ZERO_POINT, AXIS, SCHEME, SCALES, ZERO_POINTS };
static void tell(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  const ig_quantizer *q = NULL;
  switch (op->def->variant) {
    case SCALE:
      q = uniform_of(c, op, t);
      if (q) outs[0] = ig_of_f64(q->scale);
      break;
    case ZERO_POINT:
      q = uniform_of(c, op, t);
      if (q) outs[0] = ig_of_i64(q->zero_point);
      break;
    case AXIS:
      q = channels_of(c, op, t);
      if (q) outs[0] = ig_of_i64(q->axis);
      break;
    case SCHEME:
      if (ig_check_quantized(c, op, t)) outs[0] = ig_of_i64(t->quantizer->scheme);
      break;
    default:
      q = channels_of(c, op, t);
      if (q) {
        ig_tensor *part = op->def->variant == SCALES ? q->scales : q->zero_points;
        outs[0] = ig_of_tensor(ig_tensor_alias(c, part));
      }
  }
}

IG_OP(int_repr) = {
    .schema = "aten::int_repr(Tensor self) -> Tensor",
    .shape = int_repr_shape,
    .kernel = int_repr_kernel,
    .quantized = IG_QUANT_OWN,
};
IG_OP(q_scale) = {
    .schema = "aten::q_scale(Tensor self) -> float",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = SCALE,
    .not_differentiable = true,
};
IG_OP(q_zero_point) = {
    .schema = "aten::q_zero_point(Tensor self) -> int",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = ZERO_POINT,
    .not_differentiable = true,
};
IG_OP(q_per_channel_axis) = {
    .schema = "aten::q_per_channel_axis(Tensor self) -> int",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = AXIS,
    .not_differentiable = true,
};
IG_OP(qscheme) = {
    .schema = "aten::qscheme(Tensor self) -> QScheme",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = SCHEME,
    .not_differentiable = true,
};
IG_OP(q_per_channel_scales) = {
    .schema = "aten::q_per_channel_scales(Tensor self) -> Tensor",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = SCALES,
    .not_differentiable = true,
};
IG_OP(q_per_channel_zero_points) = {
    .schema = "aten::q_per_channel_zero_points(Tensor self) -> Tensor",
    .kernel = tell,
    .fake = tell,
    .quantized = IG_QUANT_OWN,
    .variant = ZERO_POINTS,
    .not_differentiable = true,
};

// ---- from integers, and without elements

static bool quantized_of(ig_ctx *c, ig_dtype carrier, ig_dtype *out) {
  *out = carrier == IG_U8    ? IG_QU8
         : carrier == IG_I8  ? IG_QI8
         : carrier == IG_I32 ? IG_QI32
                             : carrier;
  if (ig_dtype_is_quantized(*out)) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Creation of quantized tensor requires quantized dtype like torch.quint8");
  return false;
}

static void make_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  ig_dtype dtype = x->dtype;
  if (!quantized_of(c, dtype, &dtype)) return;
  ig_shape_like(c, op, args, out);
  out->dtype = dtype;
  if (op->schema.nargs == 3) {
    out->quantizer = ig_quantizer_make(c, ig_scale_of(c, &args[1]), ig_value_i64(c, &args[2]));
    return;
  }
  int64_t axis = ig_value_i64(c, &args[3]);
  ig_int size = axis >= 0 && axis < x->ndim ? ig_sizes(x)[axis] : ig_const(0);
  if (!check_channels(c, size, x->ndim, args[1].tensor, args[2].tensor, axis)) return;
  out->quantizer = channels(c, args[1].tensor, args[2].tensor, axis);
}
static void make_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor *ints = ig_tensor_integers(c, outs[0].tensor);
  if (ints) ig_tensor_copy(ints, args[0].tensor);
  ig_scope_close(c, s);
}

static bool empty_sizes(ig_ctx *c, const ig_value *size, ig_dtype dtype, const ig_value *format,
                        ig_meta *out) {
  if (!ig_dtype_is_quantized(dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Creation of quantized tensor requires quantized dtype like torch.quint8");
    return false;
  }
  ig_meta_init(out, dtype, ig_device_cpu());
  for (size_t i = 0; i < size->ints.n; i++) ig_meta_push_dim(c, out, size->ints.at[i]);
  ig_memory_format f =
      format->kind == IG_KIND_MEMORY_FORMAT ? format->memory_format : IG_CONTIGUOUS;
  ig_meta_format(c, out, f);
  out->strided = true;
  return c->status == IG_OK;
}
static ig_dtype wanted(const ig_value *v) {
  return v->kind == IG_KIND_DTYPE ? v->dtype : IG_F32;
}
// size, dtype, layout, device, pin_memory, scale, zero_point, memory_format
static void empty_affine_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  if (!empty_sizes(c, &args[0], wanted(&args[1]), &args[7], out)) return;
  out->quantizer = ig_quantizer_make(c, ig_scale_of(c, &args[5]), ig_value_i64(c, &args[6]));
}
// size, scales, zero_points, axis, dtype, layout, device, pin_memory, memory_format
static void empty_channels_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  int64_t axis = ig_value_i64(c, &args[3]);
  if (!empty_sizes(c, &args[0], wanted(&args[4]), &args[8], out)) return;
  ig_int size = axis >= 0 && axis < out->ndim ? out->size[axis] : ig_const(0);
  if (!check_channels(c, size, out->ndim, args[1].tensor, args[2].tensor, axis)) return;
  out->quantizer = channels(c, args[1].tensor, args[2].tensor, axis);
}
// size, qtensor, dtype, layout, device, pin_memory, memory_format
static void empty_quantized_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *like = args[1].tensor;
  if (!ig_check_quantized(c, op, like)) return;
  ig_dtype dtype = args[2].kind == IG_KIND_DTYPE ? args[2].dtype : like->dtype;
  if (empty_sizes(c, &args[0], dtype, &args[6], out)) out->quantizer = like->quantizer;
}
static void nothing(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  (void)outs;
}

IG_OP(_make_per_tensor_quantized_tensor) = {
    .schema =
        "aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> "
        "Tensor",
    .shape = make_shape,
    .kernel = make_kernel,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(_make_per_channel_quantized_tensor) = {
    .schema =
        "aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, "
        "int axis) -> Tensor",
    .shape = make_shape,
    .kernel = make_kernel,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(_empty_affine_quantized) = {
    .schema =
        "aten::_empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None, float scale=1., int "
        "zero_point=0, MemoryFormat? memory_format=0) -> Tensor",
    .shape = empty_affine_shape,
    .kernel = nothing,
    .random = true,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(_empty_per_channel_affine_quantized) = {
    .schema =
        "aten::_empty_per_channel_affine_quantized(SymInt[] size, *, Tensor scales, Tensor "
        "zero_points, int axis, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None, MemoryFormat? memory_format=0) -> Tensor",
    .shape = empty_channels_shape,
    .kernel = nothing,
    .random = true,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(empty_quantized) = {
    .schema =
        "aten::empty_quantized(int[] size, Tensor qtensor, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
        "memory_format=None) -> Tensor",
    .shape = empty_quantized_shape,
    .kernel = nothing,
    .quantized = IG_QUANT_OWN,
    .random = true,
    .not_differentiable = true,
};
