// SPDX-License-Identifier: Apache-2.0
// Older names of convolutions: they occur in programs, and compute what convolution does.
#include "op/formula.h"

// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, flags ...
static ig_tensor *convolution_with_flags(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID_CONVOLUTION, args, 9);
}

// self, weight, kernel_size, bias, stride, padding
static ig_tensor *slow_conv(ig_ctx *c, const ig_value *args) {
  static const ig_int ones[] = {{.value = 1}, {.value = 1}, {.value = 1}};
  static const ig_int zeros[] = {{.value = 0}, {.value = 0}, {.value = 0}};
  ig_tensor *x = args[0].tensor;
  size_t nd = args[2].ints.n;
  if (nd > sizeof ones / sizeof *ones) {
    (void)ig_fail(c, IG_RUNTIME, "kernel_size: found %zu numbers, expected at most 3", nd);
    return NULL;
  }
  bool single = (size_t)x->ndim == nd + 1;
  if (single) x = ig_unsqueeze(c, x, ig_const(0));
  ig_tensor *out = ig_convolution(c, x, args[1].tensor, ig_value_tensor(&args[3]), args[4], args[5],
                                  ig_of_ints(ones, nd), false, ig_of_ints(zeros, nd), ig_const(1));
  return single ? ig_squeeze_dim(c, out, ig_const(0)) : out;
}

static ig_tensor *thnn_conv2d(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID__SLOW_CONV2D_FORWARD, args, 6);
}
static ig_tensor *slow_conv3d(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID_SLOW_CONV3D_FORWARD, args, 6);
}

// grad_output, self, weight, kernel_size, stride, padding, output_mask
static void slow_backward(ig_ctx *c, const ig_value *args, ig_value *outs) {
  static const ig_int ones[] = {{.value = 1}, {.value = 1}};
  static const ig_int zeros[] = {{.value = 0}, {.value = 0}};
  if (args[2].tensor->ndim < 1) {
    (void)ig_fail(c, IG_RUNTIME, "weight: found 0 dimensions, expected 4");
    return;
  }
  ig_int channels = ig_sizes(args[2].tensor)[0];
  ig_convolution_backward(c, args[0].tensor, args[1].tensor, args[2].tensor,
                          ig_of_ints(&channels, 1), args[4], args[5], ig_of_ints(ones, 2), false,
                          ig_of_ints(zeros, 2), ig_const(1), args[6], outs);
}

// PyTorch differentiates _convolution; the other two are differentiated through their
// decompositions.
IG_OP(_convolution) = {
    .schema =
        "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
        "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool "
        "benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    .decompose = convolution_with_flags,
    .samples =
        "f32[1,2,5], f32[2,3,3], None, [2], [1], [1], True, [1], 1, False, False, True, True | "
        "f32[1,2,4,4], f32[3,2,3,3], f32[3], [1,1], [1,1], [1,1], False, [0,0], 1, False, False, "
        "True, True",
    .waive = "size 3=0: the arguments tell them; size 2=0: the arguments tell them",
};
IG_OP(_slow_conv2d_forward) = {
    .schema =
        "aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? "
        "bias, SymInt[2] stride, SymInt[2] padding) -> Tensor",
    .decompose = slow_conv,
    .samples =
        "f32[1,2,5,5], f32[3,2,3,3], [3,3], f32[3], [1,1], [0,0] | f32[1,2,5,5], "
        "f32[3,2,2,2], [2,2], None, [2,1], [1,0]",
    .waive = "refusal: other classes",
};
IG_OP(slow_conv3d_forward) = {
    .schema =
        "aten::slow_conv3d_forward(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? "
        "bias, SymInt[3] stride, SymInt[3] padding) -> Tensor",
    .decompose = slow_conv,
    .samples = "f32[1,2,3,3,3], f32[2,2,2,2,2], [2,2,2], f32[2], [1,1,1], [0,0,0]",
    .waive = "size 2=1: the arguments tell them",
};
IG_OP(thnn_conv2d) = {
    .schema =
        "aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, "
        "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0]) -> Tensor",
    .decompose = thnn_conv2d,
    .samples = "f32[1,2,5,5], f32[3,2,3,3], [3,3], f32[3] | f32[1,2,5,5], f32[3,2,2,2], [2,2]",
    .waive = "refusal: other classes",
};
IG_OP(slow_conv3d) = {
    .schema =
        "aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, "
        "SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0]) -> Tensor",
    .decompose = slow_conv3d,
    .samples = "f32[1,2,3,3,3], f32[2,2,2,2,2], [2,2,2], f32[2]",
    .waive = "size 2=1: the arguments tell them",
};
IG_OP(_slow_conv2d_backward_output_mask) = {
    .schema =
        "aten::_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, "
        "SymInt[2] kernel_size, SymInt[2] stride, SymInt[2] padding, bool[3] output_mask) -> "
        "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    .decompose_outs = slow_backward,
    .samples = "f32[1,3,3,3], f32[1,2,5,5], f32[3,2,3,3], [3,3], [1,1], [0,0], (True,True,True)",
    .waive = "refusal: other classes",
};
