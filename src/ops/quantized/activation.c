// SPDX-License-Identifier: Apache-2.0
// quantized:: activations, normalizations and pooling: computed on numbers, quantized with the
// parameters that the call gives.
#include "op/formula.h"
#include "op/quantized.h"
#include "op/shape.h"

static ig_tensor *numbers(ig_ctx *c, const ig_value *v) {
  return ig_check_quantized(c, c->op, v->tensor) ? ig_dequantized(c, v->tensor) : NULL;
}
// qparams: scale, zero point
static ig_tensor *quantized(ig_ctx *c, const ig_value *like, ig_tensor *x,
                            const ig_value *qparams) {
  if (!x || c->status != IG_OK) return NULL;
  return ig_quantize_with(c, x, like->tensor->dtype, ig_scale_of(c, &qparams[0]),
                          ig_value_i64(c, &qparams[1]));
}
static ig_tensor *alike(ig_ctx *c, const ig_value *like, ig_tensor *x) {
  if (!x || c->status != IG_OK) return NULL;
  return ig_quantize_as(c, x, like->tensor->dtype, like->tensor->quantizer);
}

static ig_tensor *relu6(ig_ctx *c, const ig_value *a) {
  ig_tensor *q = alike(c, a, ig_clamp_with(c, numbers(c, a), ig_of_f64(0), ig_of_f64(6)));
  return a[1].b && q ? ig_copy_(c, a[0].tensor, q) : q;
}
static ig_tensor *clamp(ig_ctx *c, const ig_value *a) {
  return alike(c, a, ig_clamp_with(c, numbers(c, a), a[1], a[2]));
}
static ig_tensor *threshold(ig_ctx *c, const ig_value *a) {
  return alike(c, a, ig_threshold(c, numbers(c, a), a[1], a[2]));
}
static ig_tensor *leaky_relu(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_leaky_relu_with(c, numbers(c, a), a[1]), &a[3]);
}
static ig_tensor *hardswish(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_hardswish(c, numbers(c, a)), &a[1]);
}
static ig_tensor *sigmoid(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_sigmoid(c, numbers(c, a)), &a[1]);
}
static ig_tensor *elu(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_elu_with(c, numbers(c, a), a[3], a[4], a[5]), &a[1]);
}
static ig_tensor *celu(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_celu_with(c, numbers(c, a), a[3]), &a[1]);
}
static ig_tensor *prelu(ig_ctx *c, const ig_value *a) {
  ig_tensor *weight = ig_dequantized(c, a[1].tensor);
  return quantized(c, a, ig_prelu(c, numbers(c, a), weight), &a[2]);
}
static ig_tensor *softmax(ig_ctx *c, const ig_value *a) {
  return quantized(c, a, ig_softmax_int(c, numbers(c, a), a[1].i), &a[2]);
}
static ig_tensor *dropout(ig_ctx *c, const ig_value *a) {
  return ig_check_quantized(c, c->op, a[0].tensor) ? ig_clone(c, a[0].tensor) : NULL;
}

// qx, weight, bias, mean, var, eps, output_scale, output_zero_point
static ig_tensor *normalized(ig_ctx *c, const ig_value *a, bool relu) {
  ig_tensor *x = numbers(c, a);
  if (!x) return NULL;
  // As PyTorch's kernels: images have channels last.
  if (x->ndim == 4 || x->ndim == 5) {
    ig_memory_format last = x->ndim == 4 ? IG_CHANNELS_LAST : IG_CHANNELS_LAST_3D;
    x = ig_contiguous_with(c, x, ig_of_memory_format(last));
  }
  x = ig_batch_norm(c, x, ig_value_tensor(&a[1]), ig_value_tensor(&a[2]), a[3].tensor, a[4].tensor,
                    false, 0, ig_value_f64(&a[5]), false);
  if (relu) x = ig_relu(c, x);
  return quantized(c, a, x, &a[6]);
}
static ig_tensor *batch_norm(ig_ctx *c, const ig_value *a) {
  return normalized(c, a, false);
}
static ig_tensor *batch_norm_relu(ig_ctx *c, const ig_value *a) {
  return normalized(c, a, true);
}
// input, normalized_shape, weight, bias, eps, output_scale, output_zero_point
static ig_tensor *layer_norm(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = numbers(c, a);
  x = x ? ig_layer_norm_with(c, x, a[1], ig_value_tensor(&a[2]), ig_value_tensor(&a[3]),
                             ig_value_f64(&a[4]), false)
        : NULL;
  return quantized(c, a, x, &a[5]);
}
// input, num_groups, weight, bias, eps, output_scale, output_zero_point
static ig_tensor *group_norm(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = numbers(c, a);
  x = x ? ig_group_norm_with(c, x, a[1].i, ig_value_tensor(&a[2]), ig_value_tensor(&a[3]),
                             ig_value_f64(&a[4]), false)
        : NULL;
  return quantized(c, a, x, &a[5]);
}
// input, weight, bias, eps, output_scale, output_zero_point
static ig_tensor *instance_norm(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = numbers(c, a);
  x = x ? ig_instance_norm(c, x, ig_value_tensor(&a[1]), ig_value_tensor(&a[2]), NULL, NULL, true,
                           0, ig_value_f64(&a[3]), false)
        : NULL;
  return quantized(c, a, x, &a[4]);
}

// qx, kernel_size, stride, padding, dilation, ceil_mode
static ig_tensor *max_pool1d(ig_ctx *c, const ig_value *a) {
  return alike(c, a, ig_max_pool1d_with(c, numbers(c, a), a[1], a[2], a[3], a[4], a[5].b));
}
static ig_tensor *max_pool2d(ig_ctx *c, const ig_value *a) {
  if (!ig_check_quantized(c, c->op, a[0].tensor)) return NULL;
  return ig_max_pool2d_with(c, a[0].tensor, a[1], a[2], a[3], a[4], a[5].b);
}
static ig_tensor *max_pool3d(ig_ctx *c, const ig_value *a) {
  return alike(c, a, ig_max_pool3d_with(c, numbers(c, a), a[1], a[2], a[3], a[4], a[5].b));
}

IG_OP(quantized__relu6) = {
    .schema = "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor",
    .decompose = relu6,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__clamp) = {
    .schema = "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
    .decompose = clamp,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__threshold) = {
    .schema = "quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
    .decompose = threshold,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__leaky_relu) = {
    .schema =
        "quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, "
        "int output_zero_point) -> Tensor",
    .decompose = leaky_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__hardswish) = {
    .schema =
        "quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor",
    .decompose = hardswish,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__sigmoid) = {
    .schema = "quantized::sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor",
    .decompose = sigmoid,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__elu) = {
    .schema =
        "quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, "
        "Scalar scale=1, Scalar input_scale=1) -> Tensor",
    .decompose = elu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__celu) = {
    .schema =
        "quantized::celu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1) "
        "-> Tensor",
    .decompose = celu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__prelu) = {
    .schema =
        "quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) -> "
        "Tensor",
    .decompose = prelu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__softmax) = {
    .schema =
        "quantized::softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> "
        "Tensor",
    .decompose = softmax,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__dropout) = {
    .schema =
        "quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, "
        "bool training=False) -> Tensor",
    .decompose = dropout,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm) = {
    .schema =
        "quantized::batch_norm(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
        "float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm_relu) = {
    .schema =
        "quantized::batch_norm_relu(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "
        "var, float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm1d) = {
    .schema =
        "quantized::batch_norm1d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
        "float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm1d_relu) = {
    .schema =
        "quantized::batch_norm1d_relu(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "
        "var, float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm2d) = {
    .schema =
        "quantized::batch_norm2d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
        "float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm2d_relu) = {
    .schema =
        "quantized::batch_norm2d_relu(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "
        "var, float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm3d) = {
    .schema =
        "quantized::batch_norm3d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, "
        "float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__batch_norm3d_relu) = {
    .schema =
        "quantized::batch_norm3d_relu(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "
        "var, float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__layer_norm) = {
    .schema =
        "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
        "float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = layer_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__group_norm) = {
    .schema =
        "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float "
        "eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = group_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__instance_norm) = {
    .schema =
        "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = instance_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__max_pool1d) = {
    .schema =
        "quantized::max_pool1d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] "
        "dilation, bool ceil_mode) -> Tensor",
    .decompose = max_pool1d,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__max_pool2d) = {
    .schema =
        "quantized::max_pool2d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] "
        "dilation, bool ceil_mode) -> Tensor",
    .decompose = max_pool2d,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized_max_pool1d) = {
    .schema =
        "aten::quantized_max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
        "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
    .decompose = max_pool1d,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized_max_pool2d) = {
    .schema =
        "aten::quantized_max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
        "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    .decompose = max_pool2d,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized_max_pool3d) = {
    .schema =
        "aten::quantized_max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
        "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
    .decompose = max_pool3d,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized_batch_norm) = {
    .schema =
        "aten::quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, "
        "Tensor var, float eps, float output_scale, int output_zero_point) -> Tensor",
    .decompose = batch_norm,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
