// SPDX-License-Identifier: Apache-2.0
// ONNX of simulated quantization: to 8 bits and back, which runtimes recognize. Other ranges are
// decomposed (lower_special.c).
#include "onnx/writer.h"

static bool is_int(const ig_value *v, int64_t i) {
  return v->kind == IG_KIND_INT && !v->i.expr && v->i.value == i;
}

// The type whose numbers are exactly lo to hi; IG_DTYPE_COUNT: none.
static ig_dtype quantized_type(const ig_value *lo, const ig_value *hi) {
  if (is_int(lo, 0) && is_int(hi, 255)) return IG_U8;
  if (is_int(lo, -128) && is_int(hi, 127)) return IG_I8;
  return IG_DTYPE_COUNT;
}

static bool is_f32(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  return t && t->dtype == IG_F32;
}

static bool tensor_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n >= 5 && is_f32(&args[0]) && quantized_type(&args[3], &args[4]) != IG_DTYPE_COUNT;
}

static bool channel_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n >= 6 && is_f32(&args[0]) && is_f32(&args[1]) &&
         quantized_type(&args[4], &args[5]) != IG_DTYPE_COUNT;
}

static void there_and_back(ig_onnx *x, const ig_onnx_call *call, const char *scale,
                           const char *zero, int64_t axis) {
  const char *in = ig_onnx_operand(x, &call->args[0], IG_F32);
  ig_onnx_node node = {
      .op_type = "QuantizeLinear", .in = {in, scale, zero}, .attrs = {ig_onnx_int("axis", axis)}};
  const char *bits = ig_onnx_emit(x, &node);
  node.op_type = "DequantizeLinear";
  node.in[0] = bits;
  node.out = call->out;
  (void)ig_onnx_emit(x, &node);
}

// Which elements are representable: x / scale + zero point, rounded, is in the range.
static void mask(ig_onnx *x, const ig_onnx_call *call, const char *scale, const char *zero,
                 const ig_value *lo, const ig_value *hi) {
  const char *in = ig_onnx_operand(x, &call->args[0], IG_F32);
  const char *steps = ig_onnx_emit1(x, "Round", ig_onnx_emit2(x, "Div", in, scale, NULL), NULL);
  steps = ig_onnx_emit2(x, "Add", steps, zero, NULL);
  const char *low = ig_onnx_number(x, IG_F32, (double)lo->i.value);
  const char *high = ig_onnx_number(x, IG_F32, (double)hi->i.value);
  low = ig_onnx_emit2(x, "GreaterOrEqual", steps, low, NULL);
  high = ig_onnx_emit2(x, "LessOrEqual", steps, high, NULL);
  (void)ig_onnx_emit2(x, "And", low, high, call->outs[1]);
}

// self, scale, zero_point, quant_min, quant_max
static void per_tensor(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = quantized_type(&call->args[3], &call->args[4]);
  int64_t zero = ig_onnx_int_of(x, &call->args[2]);
  const char *scale = ig_onnx_number(x, IG_F32, ig_onnx_float_of(x, &call->args[1]));
  there_and_back(x, call, scale, ig_onnx_integer(x, d, zero), 1);
  if (call->nouts < 2 || !call->outs[1]) return;
  mask(x, call, scale, ig_onnx_number(x, IG_F32, (double)zero), &call->args[3], &call->args[4]);
}

// A tensor of one element, without dimensions: QuantizeLinear takes vectors for channels.
static const char *scalar(ig_onnx *x, const ig_value *v, ig_dtype d) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  const char *name = ig_onnx_operand(x, v, d);
  return t && t->ndim ? ig_onnx_emit2(x, "Reshape", name, ig_onnx_vector(x, NULL, 0), NULL) : name;
}

// self, scale, zero_point, quant_min, quant_max
static bool given_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n >= 5 && is_f32(&args[0]) && quantized_type(&args[n - 2], &args[n - 1]) != IG_DTYPE_COUNT;
}
static void given(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *range = &call->args[call->node->op->schema.nargs - 2];
  ig_dtype d = quantized_type(&range[0], &range[1]);
  const char *scale = scalar(x, &call->args[1], IG_F32);
  const char *zero = scalar(x, &call->args[2], d);
  there_and_back(x, call, scale, zero, 1);
}

// self, scale, zero_point, fake_quant_enabled, quant_min, quant_max -> output, mask
static void switched(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = quantized_type(&a[4], &a[5]);
  const char *scale = scalar(x, &a[1], IG_F32);
  const char *zero = scalar(x, &a[2], d);
  ig_onnx_call steps = *call;
  steps.out = ig_onnx_fresh(x, "DequantizeLinear");
  there_and_back(x, &steps, scale, zero, 1);
  const char *on = scalar(x, &a[3], IG_BOOL);
  const char *self = ig_onnx_operand(x, &a[0], IG_F32);
  (void)ig_onnx_emit3(x, "Where", on, steps.out, self, call->out);
  if (call->nouts < 2 || !call->outs[1]) return;
  mask(x, call, scale, scalar(x, &a[2], IG_F32), &a[4], &a[5]);
}

// self, scale, zero_point, axis, quant_min, quant_max
static void per_channel(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = quantized_type(&call->args[4], &call->args[5]);
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  int64_t axis = ig_onnx_dim(x, &call->args[3], self->ndim);
  const char *scale = ig_onnx_operand(x, &call->args[1], IG_F32);
  const char *zero = ig_onnx_operand(x, &call->args[2], d);
  there_and_back(x, call, scale, zero, axis);
  int64_t shape[IG_MAX_DIM];
  for (int i = 0; i < self->ndim; i++) shape[i] = i == axis ? -1 : 1;
  if (call->nouts < 2 || !call->outs[1]) return;
  const char *sizes = ig_onnx_vector(x, shape, (size_t)self->ndim);
  const char *wide = ig_onnx_operand(x, &call->args[2], IG_F32);
  scale = ig_onnx_emit2(x, "Reshape", scale, sizes, NULL);
  wide = ig_onnx_emit2(x, "Reshape", wide, sizes, NULL);
  mask(x, call, scale, wide, &call->args[4], &call->args[5]);
}

// ---- one way: input, scale, zero_point, quant_min, quant_max, dtype, (dequantize) out_dtype

static bool gives_f32(const ig_value *args, size_t n, size_t at) {
  return n <= at || args[at].kind != IG_KIND_DTYPE || args[at].dtype == IG_F32;
}

static bool one_way_can(int opset, const ig_value *args, size_t n) {
  return opset >= 10 && n >= 6 && quantized_type(&args[3], &args[4]) != IG_DTYPE_COUNT &&
         gives_f32(args, n, 6);
}

static void one_way(ig_onnx *x, const ig_onnx_call *call, const char *op_type, ig_dtype from) {
  ig_dtype d = quantized_type(&call->args[3], &call->args[4]);
  const char *in = ig_onnx_operand(x, &call->args[0], from == IG_F32 ? IG_F32 : d);
  const char *scale = ig_onnx_number(x, IG_F32, ig_onnx_float_of(x, &call->args[1]));
  const char *zero = ig_onnx_integer(x, d, ig_onnx_int_of(x, &call->args[2]));
  ig_onnx_node node = {.op_type = op_type, .in = {in, scale, zero}, .out = call->out};
  (void)ig_onnx_emit(x, &node);
}
static void quantize(ig_onnx *x, const ig_onnx_call *call) {
  one_way(x, call, "QuantizeLinear", IG_F32);
}
static void dequantize(ig_onnx *x, const ig_onnx_call *call) {
  one_way(x, call, "DequantizeLinear", IG_DTYPE_COUNT);
}

// input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype
static bool channels_can(int opset, const ig_value *args, size_t n) {
  return opset >= 13 && n >= 7 && gives_f32(args, n, 7) && args[2].kind != IG_KIND_NONE &&
         is_f32(&args[1]) && quantized_type(&args[4], &args[5]) != IG_DTYPE_COUNT;
}
static void dequantize_channels(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = quantized_type(&call->args[4], &call->args[5]);
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  int64_t axis = ig_onnx_dim(x, &call->args[3], self->ndim);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *scale = ig_onnx_operand(x, &call->args[1], IG_F32);
  const char *zero = ig_onnx_operand(x, &call->args[2], d);
  ig_onnx_node node = {.op_type = "DequantizeLinear",
                       .in = {in, scale, zero},
                       .attrs = {ig_onnx_int("axis", axis)},
                       .out = call->out};
  (void)ig_onnx_emit(x, &node);
}

const ig_onnx_row ig_onnx_quant[] = {
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", per_tensor, NULL, tensor_can},
    {"aten.fake_quantize_per_channel_affine_cachemask.default", per_channel, NULL, channel_can},
    {"aten.fake_quantize_per_tensor_affine.tensor_qparams", given, NULL, given_can},
    {"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default", switched, NULL,
     given_can},
    {"quantized_decomposed.quantize_per_tensor.default", quantize, NULL, one_way_can},
    {"quantized_decomposed.dequantize_per_tensor.default", dequantize, NULL, one_way_can},
    {"quantized_decomposed.dequantize_per_channel.default", dequantize_channels, NULL,
     channels_can},
    {NULL, NULL, NULL, NULL},
};
