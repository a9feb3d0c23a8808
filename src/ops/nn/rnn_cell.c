// SPDX-License-Identifier: Apache-2.0
// Single steps of recurrent networks.
#include "op/formula.h"

static ig_tensor *gates(ig_ctx *c, const ig_value *args, ig_tensor *h) {
  ig_tensor *hidden = ig_linear_with(c, h, args[3].tensor, ig_value_tensor(&args[5]));
  ig_tensor *input = ig_linear_with(c, args[0].tensor, args[2].tensor, ig_value_tensor(&args[4]));
  return ig_add_tensor(c, hidden, input);
}
static ig_tensor *rnn_tanh_cell_decompose(ig_ctx *c, const ig_value *args) {
  return ig_tanh(c, gates(c, args, args[1].tensor));
}
static ig_tensor *rnn_relu_cell_decompose(ig_ctx *c, const ig_value *args) {
  return ig_relu(c, gates(c, args, args[1].tensor));
}
static void lstm_cell_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value parts[IG_MAX_RETURNS];
  if (args[1].kind != IG_KIND_LIST || args[1].list.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "lstm_cell expects two hidden states");
    return;
  }
  ig_tensor *sum = gates(c, args, args[1].list.at[0].tensor);
  ig_unsafe_chunk_with(c, sum, ig_const(4), ig_const(1), parts);
  if (c->status != IG_OK || parts[0].list.n != 4) return;
  ig_tensor *in = ig_sigmoid(c, parts[0].list.at[0].tensor);
  ig_tensor *forget = ig_sigmoid(c, parts[0].list.at[1].tensor);
  ig_tensor *cell = ig_tanh(c, parts[0].list.at[2].tensor);
  ig_tensor *out = ig_sigmoid(c, parts[0].list.at[3].tensor);
  ig_tensor *kept = ig_mul_tensor(c, forget, args[1].list.at[1].tensor);
  ig_tensor *cy = ig_add_tensor(c, kept, ig_mul_tensor(c, in, cell));
  outs[0] = ig_of_tensor(ig_mul_tensor(c, out, ig_tanh(c, cy)));
  outs[1] = ig_of_tensor(cy);
}
static ig_tensor *gru_cell_decompose(ig_ctx *c, const ig_value *args) {
  ig_value in[IG_MAX_RETURNS];
  ig_value hid[IG_MAX_RETURNS];
  ig_tensor *h = args[1].tensor;
  ig_tensor *x = ig_linear_with(c, args[0].tensor, args[2].tensor, ig_value_tensor(&args[4]));
  ig_unsafe_chunk_with(c, x, ig_const(3), ig_const(1), in);
  ig_tensor *y = ig_linear_with(c, h, args[3].tensor, ig_value_tensor(&args[5]));
  ig_unsafe_chunk_with(c, y, ig_const(3), ig_const(1), hid);
  if (c->status != IG_OK || in[0].list.n != 3 || hid[0].list.n != 3) return NULL;
  const ig_value *i = in[0].list.at;
  const ig_value *k = hid[0].list.at;
  ig_tensor *reset = ig_sigmoid(c, ig_add_tensor(c, k[0].tensor, i[0].tensor));
  ig_tensor *update = ig_sigmoid(c, ig_add_tensor(c, k[1].tensor, i[1].tensor));
  ig_tensor *fresh = ig_mul_tensor(c, k[2].tensor, reset);
  fresh = ig_tanh(c, ig_add_tensor(c, i[2].tensor, fresh));
  ig_tensor *out = ig_mul_tensor(c, ig_sub_tensor(c, h, fresh), update);
  return ig_add_tensor(c, out, fresh);
}
IG_OP(rnn_tanh_cell) = {
    .schema =
        "aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
        "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    .decompose = rnn_tanh_cell_decompose,
    .samples = "f32[2,3], f32[2,2], f32[2,3], f32[2,2], f32[2], f32[2]",
};
IG_OP(rnn_relu_cell) = {
    .schema =
        "aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
        "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    .decompose = rnn_relu_cell_decompose,
    .samples = "f32[2,3], f32[2,2], f32[2,3], f32[2,2]",
};
IG_OP(lstm_cell) = {
    .schema =
        "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? "
        "b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
    .decompose_outs = lstm_cell_decompose,
    .samples = "f32[2,3], (f32[2,2], f32[2,2]), f32[8,3], f32[8,2], f32[8], f32[8]",
    .waive = "size 2=1: PyTorch refuses it; size 8=1: PyTorch refuses it",
};
IG_OP(gru_cell) = {
    .schema =
        "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
        "b_ih=None, Tensor? b_hh=None) -> Tensor",
    .decompose = gru_cell_decompose,
    .samples = "f32[2,3], f32[2,2], f32[6,3], f32[6,2], f32[6], f32[6]",
    .waive = "size 2=1: PyTorch refuses it; size 6=1: PyTorch refuses it",
};
