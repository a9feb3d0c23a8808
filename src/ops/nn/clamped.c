// SPDX-License-Identifier: Apache-2.0
// prepacked::, the layers of models for phones (torch.utils.mobile_optimizer): a linear layer or a
// convolution whose results are clamped, with its parameters in one object.
#include "op/formula.h"
#include "op/native.h"
#include "op/refuse.h"

static void pack(ig_ctx *c, ig_class cls, const ig_value *args, ig_value *outs) {
  ig_clamped *p = ig_clamped_make(c, cls, args);
  if (p) outs[0] = ig_of_native(&p->head);
  if (!p && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: expected lists of 1 or 2 numbers that are known, and real bounds",
                 c->op->schema.name);
  }
}
static void pack_linear(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, IG_CLASS_CLAMPED_LINEAR, args, outs);
}
static void pack_conv(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, IG_CLASS_CLAMPED_CONV, args, outs);
}
static void pack_transposed(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, IG_CLASS_CLAMPED_TRANSPOSED, args, outs);
}

static ig_tensor *clamped(ig_ctx *c, const ig_clamped *p, ig_tensor *y) {
  bool any = p->bounds[0].kind != IG_KIND_NONE || p->bounds[1].kind != IG_KIND_NONE;
  return y && any ? ig_clamp_with(c, y, p->bounds[0], p->bounds[1]) : y;
}

static ig_tensor *run_linear(ig_ctx *c, const ig_value *args) {
  const ig_clamped *p = ig_clamped_of(&args[1]);
  return clamped(c, p, ig_linear_with(c, args[0].tensor, p->weight, p->bias));
}

static ig_tensor *convolve(ig_ctx *c, const ig_value *args, bool transposed) {
  enum { STRIDE, PADDING, OUTPUT_PADDING };
  const ig_clamped *p = ig_clamped_of(&args[1]);
  int dilation = transposed ? 3 : 2;
  ig_int none[2] = {ig_const(0), ig_const(0)};
  const ig_int *output = transposed ? p->lists[OUTPUT_PADDING] : none;
  ig_tensor *y =
      ig_convolution(c, args[0].tensor, p->weight, p->bias, ig_of_ints(p->lists[STRIDE], 2),
                     ig_of_ints(p->lists[PADDING], 2), ig_of_ints(p->lists[dilation], 2),
                     transposed, ig_of_ints(output, 2), p->groups);
  return clamped(c, p, y);
}
static ig_tensor *run_conv(ig_ctx *c, const ig_value *args) {
  return convolve(c, args, false);
}
static ig_tensor *run_transposed(ig_ctx *c, const ig_value *args) {
  return convolve(c, args, true);
}

IG_OP(prepacked__linear_clamp_prepack) = {
    .schema =
        "prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, "
        "Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.LinearOpContext",
    .decompose_outs = pack_linear,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(prepacked__linear_clamp_run) = {
    .schema =
        "prepacked::linear_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.LinearOpContext "
        "W_prepack) -> Tensor Y",
    .decompose = run_linear,
    .quantized = IG_QUANT_OWN,  // programs hold the layer, not its object
};
IG_OP(prepacked__conv2d_clamp_prepack) = {
    .schema =
        "prepacked::conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, "
        "int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> "
        "__torch__.torch.classes.xnnpack.Conv2dOpContext",
    .decompose_outs = pack_conv,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(prepacked__conv2d_clamp_run) = {
    .schema =
        "prepacked::conv2d_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.Conv2dOpContext "
        "W_prepack) -> Tensor Y",
    .decompose = run_conv,
    .quantized = IG_QUANT_OWN,  // programs hold the layer, not its object
};
IG_OP(prepacked__conv2d_transpose_clamp_prepack) = {
    .schema =
        "prepacked::conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] "
        "padding, int[2] output_padding, int[2] dilation, int groups, Scalar? output_min=None, "
        "Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.TransposeConv2dOpContext",
    .decompose_outs = pack_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(prepacked__conv2d_transpose_clamp_run) = {
    .schema =
        "prepacked::conv2d_transpose_clamp_run(Tensor X, "
        "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext W_prepack) -> Tensor Y",
    .decompose = run_transposed,
    .quantized = IG_QUANT_OWN,  // programs hold the layer, not its object
};
