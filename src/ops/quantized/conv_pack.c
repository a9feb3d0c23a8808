// SPDX-License-Identifier: Apache-2.0
// Packed parameters of quantized convolutions: making them, and what they tell.
#include "op/formula.h"
#include "op/native.h"
#include "op/quantized.h"
#include "op/shape.h"

static void entries(ig_ctx *c, const ig_value *list, int nd, int64_t *to) {
  size_t n = list->kind == IG_KIND_INTS ? list->ints.n : 0;
  if (n != (size_t)nd && n != 1) {
    ig_fail_text(c, IG_RUNTIME, "%s: found %zu numbers for %d spatial dimensions",
                 c->op->schema.name, n, nd);
    return;
  }
  for (int d = 0; d < nd; d++) to[d] = list->ints.at[n == 1 ? 0 : d].value;
}

// One dimension is two, the first of size 1.
static void widen(int64_t *at, int64_t first) {
  at[1] = at[0];
  at[0] = first;
}

// weight, bias, stride, padding, [output_padding,] dilation, groups
static void pack(ig_ctx *c, const ig_value *args, int nd, bool transpose, ig_value *outs) {
  ig_tensor *w = args[0].tensor;
  if (!ig_check_quantized(c, c->op, w)) return;
  int64_t at[4][3] = {{0}};
  const ig_value *rest = &args[4 + transpose];
  entries(c, &args[2], nd, at[0]);
  entries(c, &args[3], nd, at[1]);
  if (transpose) entries(c, &args[4], nd, at[2]);
  entries(c, &rest[0], nd, at[3]);
  int64_t groups = ig_value_i64(c, &rest[1]);
  if (c->status != IG_OK) return;
  if (w->ndim != nd + 2) {
    ig_fail_text(c, IG_RUNTIME, "Weights are expected to have %d dimensions", nd + 2);
    return;
  }
  if (nd == 1) {
    w = ig_unsqueeze(c, w, ig_const(2));
    widen(at[0], 1);
    widen(at[1], 0);
    widen(at[2], 0);
    widen(at[3], 1);
  }
  ig_packed_conv how = {.nd = nd == 1 ? 2 : nd,
                        .stride = at[0],
                        .padding = at[1],
                        .output_padding = at[2],
                        .dilation = at[3],
                        .groups = groups,
                        .transpose = transpose};
  ig_packed *p = w ? ig_packed_convolution(c, w, ig_value_tensor(&args[1]), &how) : NULL;
  if (p) outs[0] = ig_of_native(&p->head);
}
static void pack1(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 1, false, outs);
}
static void pack2(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 2, false, outs);
}
static void pack3(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 3, false, outs);
}
static void pack1_transposed(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 1, true, outs);
}
static void pack2_transposed(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 2, true, outs);
}
static void pack3_transposed(ig_ctx *c, const ig_value *args, ig_value *outs) {
  pack(c, args, 3, true, outs);
}

static void unpack(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[0]);
  outs[0] = ig_of_tensor(ig_tensor_alias(c, p->weight));
  outs[1] = p->bias ? ig_of_tensor(ig_tensor_alias(c, p->bias)) : ig_none();
}
static void unpack1(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[0]);
  outs[0] = ig_of_tensor(ig_squeeze_dim(c, p->weight, ig_const(2)));
  outs[1] = p->bias ? ig_of_tensor(ig_tensor_alias(c, p->bias)) : ig_none();
}

enum { STRIDE, PADDING, OUTPUT_PADDING, DILATION, GROUPS, TRANSPOSE };
static void setting(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[0]);
  const int64_t *parts[] = {[STRIDE] = p->stride,
                            [PADDING] = p->padding,
                            [OUTPUT_PADDING] = p->output_padding,
                            [DILATION] = p->dilation};
  int which = op->def->variant;
  if (which == GROUPS || which == TRANSPOSE) {
    outs[0] = ig_of_i64(which == GROUPS ? p->groups : p->transpose);
    return;
  }
  ig_int *list = ig_scope_array(c, (size_t)p->nd, sizeof *list);
  for (int d = 0; list && d < p->nd; d++) list[d] = ig_const(parts[which][d]);
  if (list) outs[0] = ig_of_ints(list, (size_t)p->nd);
}

IG_OP(quantized__conv1d_prepack) = {
    .schema =
        "quantized::conv1d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack1,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d_prepack) = {
    .schema =
        "quantized::conv2d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack2,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_prepack) = {
    .schema =
        "quantized::conv_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack2,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv3d_prepack) = {
    .schema =
        "quantized::conv3d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> __torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    .decompose_outs = pack3,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose1d_prepack) = {
    .schema =
        "quantized::conv_transpose1d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack1_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose2d_prepack) = {
    .schema =
        "quantized::conv_transpose2d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack2_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose3d_prepack) = {
    .schema =
        "quantized::conv_transpose3d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    .decompose_outs = pack3_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv2d_prepack) = {
    .schema =
        "_quantized::conv2d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, "
        "int[] dilation, int groups) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack2,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv3d_prepack) = {
    .schema =
        "_quantized::conv3d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, "
        "int[] dilation, int groups) -> __torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    .decompose_outs = pack3,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv_transpose1d_prepack) = {
    .schema =
        "_quantized::conv_transpose1d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack1_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv_transpose2d_prepack) = {
    .schema =
        "_quantized::conv_transpose2d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    .decompose_outs = pack2_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv_transpose3d_prepack) = {
    .schema =
        "_quantized::conv_transpose3d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] output_padding, int[] dilation, int groups) -> "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    .decompose_outs = pack3_transposed,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv1d_unpack) = {
    .schema =
        "quantized::conv1d_unpack(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack1,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_unpack) = {
    .schema =
        "quantized::conv2d_unpack(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_unpack) = {
    .schema =
        "quantized::conv_unpack(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_unpack) = {
    .schema =
        "quantized::conv3d_unpack(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose1d_unpack) = {
    .schema =
        "quantized::conv_transpose1d_unpack(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack1,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_unpack) = {
    .schema =
        "quantized::conv_transpose2d_unpack(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_unpack) = {
    .schema =
        "quantized::conv_transpose3d_unpack(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_stride) = {
    .schema =
        "quantized::conv2d_stride(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = STRIDE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_padding) = {
    .schema =
        "quantized::conv2d_padding(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_output_padding) = {
    .schema =
        "quantized::conv2d_output_padding(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = OUTPUT_PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_dilation) = {
    .schema =
        "quantized::conv2d_dilation(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = DILATION,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_groups) = {
    .schema =
        "quantized::conv2d_groups(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = GROUPS,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_transpose) = {
    .schema =
        "quantized::conv2d_transpose(__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = TRANSPOSE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_stride) = {
    .schema =
        "quantized::conv3d_stride(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = STRIDE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_padding) = {
    .schema =
        "quantized::conv3d_padding(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_output_padding) = {
    .schema =
        "quantized::conv3d_output_padding(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = OUTPUT_PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_dilation) = {
    .schema =
        "quantized::conv3d_dilation(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = DILATION,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_groups) = {
    .schema =
        "quantized::conv3d_groups(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = GROUPS,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_transpose) = {
    .schema =
        "quantized::conv3d_transpose(__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = TRANSPOSE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_stride) = {
    .schema =
        "quantized::conv_transpose2d_stride(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = STRIDE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_padding) = {
    .schema =
        "quantized::conv_transpose2d_padding(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_output_padding) = {
    .schema =
        "quantized::conv_transpose2d_output_padding(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = OUTPUT_PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_dilation) = {
    .schema =
        "quantized::conv_transpose2d_dilation(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = DILATION,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_groups) = {
    .schema =
        "quantized::conv_transpose2d_groups(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = GROUPS,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_transpose) = {
    .schema =
        "quantized::conv_transpose2d_transpose(__torch__.torch.classes.quantized."
        "Conv2dPackedParamsBase packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = TRANSPOSE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_stride) = {
    .schema =
        "quantized::conv_transpose3d_stride(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = STRIDE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_padding) = {
    .schema =
        "quantized::conv_transpose3d_padding(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_output_padding) = {
    .schema =
        "quantized::conv_transpose3d_output_padding(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = OUTPUT_PADDING,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_dilation) = {
    .schema =
        "quantized::conv_transpose3d_dilation(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int[]",
    .kernel = setting,
    .fake = setting,
    .variant = DILATION,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_groups) = {
    .schema =
        "quantized::conv_transpose3d_groups(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = GROUPS,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_transpose) = {
    .schema =
        "quantized::conv_transpose3d_transpose(__torch__.torch.classes.quantized."
        "Conv3dPackedParamsBase packed_weights) -> int",
    .kernel = setting,
    .fake = setting,
    .variant = TRANSPOSE,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
