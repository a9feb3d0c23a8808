// SPDX-License-Identifier: Apache-2.0
// Multi-head attention and a transformer encoder layer as one call, as PyTorch exports these layers
// in evaluation mode: formulas over the equivalent operators.
#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"

// x [b, t, d] -> [b, heads, t, d / heads]
static ig_tensor *by_head(ig_ctx *c, ig_tensor *x, ig_int heads, ig_int width) {
  if (!x) return NULL;
  ig_int sizes[] = {ig_sizes(x)[0], ig_sizes(x)[1], heads, width};
  x = ig_view(c, x, ig_of_ints(sizes, 4));
  return ig_transpose_int(c, x, ig_const(1), ig_const(2));
}
// mask: true where nothing is read; type 0: [t, s], 1: [b, s], 2: [b, heads, t, s]
static ig_tensor *masked(ig_ctx *c, ig_tensor *scores, ig_tensor *mask, const ig_value *type) {
  if (!mask) return scores;
  if (mask->dtype != IG_BOOL) return ig_add_tensor(c, scores, mask);
  bool padding = type->kind == IG_KIND_INT ? ig_value_is(type, 1) : mask->ndim == 2;
  if (padding && mask->ndim == 2) {
    mask = ig_unsqueeze(c, ig_unsqueeze(c, mask, ig_const(1)), ig_const(1));
  }
  return ig_masked_fill_scalar(c, scores, mask, ig_of_f64(-HUGE_VAL));
}
static bool check_attention(ig_ctx *c, const ig_value *a) {
  ig_int d = a[3].i;
  for (int i = 0; i < 3; i++) {
    const ig_tensor *x = a[i].tensor;
    if (x->ndim == 3 && ig_int_eq(c, ig_sizes(x)[2], d)) continue;
    ig_fail_text(c, IG_RUNTIME, "expected 3-D inputs with last dimension %s, but got shape %s",
                 ig_int_text(c, d), ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return false;
  }
  if (!ig_int_is(c, a[4].i, IG_LE, ig_const(0)) && ig_int_eq_i64(c, ig_int_mod(c, d, a[4].i), 0)) {
    return c->status == IG_OK;
  }
  ig_fail_text(c, IG_RUNTIME, "embed_dim (%s) must divide evenly by num_heads (%s)",
               ig_int_text(c, d), ig_int_text(c, a[4].i));
  return false;
}
// query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
// need_weights, average_attn_weights, mask_type -> result, weights
static void attention(ig_ctx *c, const ig_value *a, ig_value *outs) {
  if (!check_attention(c, a)) return;
  ig_int heads = a[4].i;
  ig_int width = ig_int_floordiv(c, a[3].i, heads);
  ig_tensor *x[3];
  for (int i = 0; i < 3; i++) {
    ig_int from = ig_int_mul(c, a[3].i, ig_const(i));
    ig_tensor *w = ig_narrow(c, a[5].tensor, ig_const(0), from, a[3].i);
    ig_tensor *b = ig_narrow(c, a[6].tensor, ig_const(0), from, a[3].i);
    x[i] = by_head(c, ig_linear_with(c, a[i].tensor, w, b), heads, width);
  }
  ig_tensor *scale = ig_mul_f64(c, x[0], 1 / sqrt((double)ig_int_specialize(c, width)));
  ig_tensor *turned = ig_transpose_int(c, x[1], ig_const(-2), ig_const(-1));
  ig_tensor *scores = ig_matmul(c, scale, turned);
  scores = masked(c, scores, ig_value_tensor(&a[9]), &a[12]);
  scores = ig_softmax_int(c, scores, ig_const(-1));
  ig_tensor *out = ig_transpose_int(c, ig_matmul(c, scores, x[2]), ig_const(1), ig_const(2));
  if (!out) return;
  ig_int sizes[] = {ig_sizes(out)[0], ig_sizes(out)[1], a[3].i};
  out = ig_reshape(c, out, ig_of_ints(sizes, 3));
  ig_int one = ig_const(1);
  outs[0] = ig_of_tensor(ig_linear_with(c, out, a[7].tensor, a[8].tensor));
  outs[1] = !a[10].b  ? ig_none()
            : a[11].b ? ig_of_tensor(ig_mean_dim(c, scores, ig_of_ints(&one, 1)))
                      : ig_of_tensor(scores);
}

// src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
// eps, 4 of norms, 4 of the two linear layers, mask, mask_type
enum { NORMS = 10, FFN = 14 };

static ig_tensor *norm(ig_ctx *c, ig_tensor *x, const ig_value *a, int which) {
  ig_tensor *w = a[NORMS + 2 * which].tensor;
  ig_tensor *b = a[NORMS + 2 * which + 1].tensor;
  return ig_layer_norm_with(c, x, ig_of_ints(&a[1].i, 1), w, b, ig_value_f64(&a[9]), true);
}
static ig_tensor *layer(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  bool first = a[8].b;
  ig_tensor *in = first ? norm(c, x, a, 0) : x;
  ig_value all[IG_MAX_RETURNS] = {{0}};
  if (!in) return NULL;
  ig_value given[] = {ig_of_tensor(in),
                      ig_of_tensor(in),
                      ig_of_tensor(in),
                      a[1],
                      a[2],
                      a[3],
                      a[4],
                      a[5],
                      a[6],
                      a[18],
                      ig_of_bool(false),
                      ig_of_bool(true),
                      a[19]};
  attention(c, given, all);
  x = ig_add_tensor(c, ig_value_tensor(&all[0]), x);
  if (!first) x = norm(c, x, a, 0);
  in = first ? norm(c, x, a, 1) : x;
  in = ig_linear_with(c, in, a[FFN].tensor, a[FFN + 1].tensor);
  in = a[7].b ? ig_gelu(c, in) : ig_relu(c, in);
  in = ig_linear_with(c, in, a[FFN + 2].tensor, a[FFN + 3].tensor);
  x = ig_add_tensor(c, in, x);
  return first ? x : norm(c, x, a, 1);
}

#define WEIGHTS "f32[12,4], f32[12], f32[4,4], f32[4]"

IG_OP(_native_multi_head_attention) = {
    .schema =
        "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, "
        "int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
        "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? "
        "mask_type=None) -> (Tensor, Tensor)",
    .decompose_outs = attention,
    .samples = "f32[2,3,4], f32[2,3,4], f32[2,3,4], 4, 2, " WEIGHTS
               " | f32[2,3,4], f32[2,3,4], f32[2,3,4], 4, 2, " WEIGHTS ", None, True, False",
    .waive = "size 2=0: other results than PyTorch; size 3=0: other results than PyTorch",
};
IG_OP(_transformer_encoder_layer_fwd) = {
    .schema =
        "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor "
        "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool "
        "norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, "
        "Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor "
        "ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    .decompose = layer,
    .samples = "f32[2,3,4], 4, 2, " WEIGHTS
               ", True, False, 0.00001, f32[4], f32[4], f32[4], f32[4], f32[6,4], f32[6], "
               "f32[4,6], f32[4] "
               "| f32[2,3,4], 4, 2, " WEIGHTS
               ", False, True, 0.00001, f32[4], f32[4], f32[4], f32[4], f32[6,4], f32[6], "
               "f32[4,6], f32[4]",
    .waive = "size 4=0: refused here, PyTorch computes it",
};
