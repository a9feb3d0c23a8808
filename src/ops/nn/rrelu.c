// SPDX-License-Identifier: Apache-2.0
// ReLU with random slopes.
#include "op/formula.h"

// self, lower, upper, training: random slopes for negative elements, or their mean
static ig_tensor *rrelu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  double low = ig_value_f64(&args[1]);
  double high = ig_value_f64(&args[2]);
  if (!args[3].b) return ig_leaky_relu_with(c, x, ig_of_f64((low + high) / 2));
  ig_tensor *slope = ig_uniform_with(c, ig_empty_like(c, x), low, high, args[4]);
  ig_tensor *down = ig_le_scalar(c, x, ig_of_i64(0));
  return ig_where_self(c, down, ig_mul_tensor(c, x, slope), x);
}
// self, noise, lower, upper, training, generator -> result, the slopes
static void rrelu_noise(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  double low = ig_value_f64(&args[2]);
  double high = ig_value_f64(&args[3]);
  outs[0] = ig_of_tensor(args[4].b ? NULL : ig_leaky_relu_with(c, x, ig_of_f64((low + high) / 2)));
  outs[1] = args[1];
  if (!args[4].b) return;
  ig_tensor *slope = ig_uniform_with(c, ig_empty_like(c, x), low, high, args[5]);
  ig_tensor *up = ig_gt_scalar(c, x, ig_of_i64(0));
  slope = ig_masked_fill_scalar(c, slope, up, ig_of_f64(1));
  outs[0] = ig_of_tensor(ig_mul_tensor(c, x, slope));
  outs[1] = ig_of_tensor(slope);
}
IG_OP(rrelu) = {
    .schema =
        "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar "
        "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> "
        "Tensor",
    .decompose = rrelu_decompose,
    .random = true,
    .samples = "f32[2,3] | f32[2,3], 0.1, 0.3, True",
};
IG_OP(rrelu_with_noise_functional) = {
    .schema =
        "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
        "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, "
        "Tensor noise_out)",
    .decompose_outs = rrelu_noise,
    .random = true,
    .samples = "f32[2,3], f32[2,3] | f32[2,3], f32[2,3], 0.1, 0.3, True",
};
