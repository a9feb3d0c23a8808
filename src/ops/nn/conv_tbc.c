// SPDX-License-Identifier: Apache-2.0
// Convolution over time, batch and channels, in that order.
#include "op/formula.h"

// self (time, batch, in), weight (width, in, out), bias, pad
static ig_tensor *conv_tbc(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *w = args[1].tensor;
  if (x->ndim != 3 || w->ndim != 3 || args[2].tensor->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "Input must have 3 dims: time, batch, in_channel");
    return NULL;
  }
  ig_int to_bct[] = {ig_const(1), ig_const(2), ig_const(0)};
  ig_int to_oik[] = {ig_const(2), ig_const(1), ig_const(0)};
  ig_int back[] = {ig_const(2), ig_const(0), ig_const(1)};
  ig_int one = ig_const(1);
  ig_int pad = args[3].i;
  x = ig_permute(c, x, ig_of_ints(to_bct, 3));
  w = ig_permute(c, w, ig_of_ints(to_oik, 3));
  ig_tensor *y = ig_conv1d_with(c, x, w, args[2].tensor, ig_of_ints(&one, 1), ig_of_ints(&pad, 1),
                                ig_of_ints(&one, 1), ig_const(1));
  return ig_permute(c, y, ig_of_ints(back, 3));
}
IG_OP(conv_tbc) = {
    .schema = "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv_tbc,
    .samples = "f32[4,1,2], f32[3,2,3], f32[3], 1",
    .waive =
        "strides: computed as conv1d; size 3=0: refused here, PyTorch computes it; size 4=0: "
        "refused here, PyTorch computes it",
};
