// SPDX-License-Identifier: Apache-2.0
// Forms of attention and LSTM on other devices, which occur in programs saved there.
#include "ingot/aten.h"
#include "op/formula.h"

// A placeholder for a result that is not computed.
static ig_value nothing(ig_ctx *c, ig_tensor *like, ig_dtype dtype, bool empty) {
  ig_int zero = ig_const(0);
  return ig_of_tensor(ig_new_zeros_with(c, like, ig_of_ints(&zero, empty), ig_of_dtype(dtype),
                                        ig_none(), ig_none(), ig_none()));
}

// The fused form of other machines, without dropout: what it gives besides is for its derivative.
static void flash(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_value both[IG_MAX_RETURNS];
  ig__scaled_dot_product_flash_attention_for_cpu_with(c, a[0].tensor, a[1].tensor, a[2].tensor,
                                                      a[3].f, a[4].b, NULL, a[6], both);
  if (c->status != IG_OK) return;
  const ig_tensor *q = a[0].tensor;
  const ig_tensor *k = a[1].tensor;
  outs[0] = both[0];
  outs[1] = both[1];
  for (int i = 2; i < 9; i++) {
    if (i == 4 || i == 5) continue;
    outs[i] = nothing(c, a[0].tensor, i < 4 || i == 8 ? q->dtype : IG_I64, i == 8);
  }
  outs[4] = ig_of_int(ig_sizes(q)[2]);
  outs[5] = ig_of_int(ig_sizes(k)[2]);
}

IG_OP(_scaled_dot_product_flash_attention) = {
    .schema =
        "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
        "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) "
        "-> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, "
        "SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
    .decompose_outs = flash,
    .samples = "f32[1,2,3,4], f32[1,2,3,4], f32[1,2,3,4]",
    .waive = "refusal: the same; gradient: only the first result has one",
};

// One layer in one direction; time is the first dimension whatever batch_first says.
static void rnn_layer(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_int time = ig_const(0);
  if (a[9].i.value != 2) {  // concrete: a mode, not a size
    ig_fail_text(c, IG_UNSUPPORTED, "mkldnn_rnn_layer: only LSTM (mode 2) is there");
    return;
  }
  bool reverse = a[7].b;
  ig_tensor *input = reverse ? ig_flip(c, a[0].tensor, ig_of_ints(&time, 1)) : a[0].tensor;
  ig_value states[] = {a[5], a[6]};
  ig_value weights[] = {a[1], a[2], a[3], a[4]};
  ig_value three[IG_MAX_RETURNS];
  ig_lstm_input(c, input, ig_of_list(states, 2), ig_of_list(weights, a[12].b ? 4 : 2), a[12].b,
                ig_const(1), 0, false, false, false, three);
  if (c->status != IG_OK) return;
  ig_tensor *out = three[0].tensor;
  outs[0] = ig_of_tensor(reverse ? ig_flip(c, out, ig_of_ints(&time, 1)) : out);
  outs[1] = three[1];
  outs[2] = three[2];
  outs[3] = nothing(c, a[0].tensor, IG_U8, true);
}

IG_OP(mkldnn_rnn_layer) = {
    .schema =
        "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, "
        "Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int "
        "hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool "
        "train) -> (Tensor, Tensor, Tensor, Tensor)",
    .decompose_outs = rnn_layer,
    .samples =
        "f32[3,2,4], f32[20,4], f32[20,5], f32[20], f32[20], f32[1,2,5], f32[1,2,5], False, "
        "[], 2, 5, 1, True, False, False, False",
    .waive = "values: it has a workspace of its own; refusal: the same",
};
