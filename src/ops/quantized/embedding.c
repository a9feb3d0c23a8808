// SPDX-License-Identifier: Apache-2.0
// Embeddings with quantized rows: packed with a quantizer per row.
#include "op/formula.h"
#include "op/native.h"
#include "op/quantized.h"
#include "op/shape.h"

static void pack(ig_ctx *c, const ig_value *a, ig_value *outs) {
  if (!ig_check_quantized(c, c->op, a[0].tensor)) return;
  ig_packed *p = ig_packed_embedding(c, a[0].tensor);
  if (p) outs[0] = ig_of_native(&p->head);
}
static ig_tensor *unpack(ig_ctx *c, const ig_value *a) {
  return ig_tensor_alias(c, ig_packed_of(&a[0])->weight);
}

// weight, indices, pruned_weights
static ig_tensor *embedding(ig_ctx *c, const ig_value *a) {
  ig_tensor *w = ig_dequantized(c, ig_packed_of(&a[0])->weight);
  return ig_embedding(c, w, a[1].tensor);
}

// weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights, per_sample_weights,
// compressed_indices_mapping, include_last_offset
static ig_tensor *bag(ig_ctx *c, const ig_value *a) {
  if (a[5].b || a[7].kind == IG_KIND_TENSOR) {
    ig_fail_text(c, IG_UNSUPPORTED, "embedding_bag_byte: pruned weights are not supported");
    return NULL;
  }
  ig_tensor *indices = a[1].tensor;
  ig_tensor *offsets = ig_value_tensor(&a[2]);
  bool grid = indices->ndim == 2;
  if (!grid && !offsets) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag_byte operator expects offsets to be set for 1D indices.");
    return NULL;
  }
  if (grid) {
    ig_int rows = ig_sizes(indices)[0];
    ig_int width = ig_sizes(indices)[1];
    offsets = ig_arange_start_step_with(c, ig_of_i64(0), ig_of_int(ig_int_mul(c, rows, width)),
                                        ig_of_int(width), ig_of_dtype(IG_I64), ig_none(), ig_none(),
                                        ig_none());
    indices = ig_reshape(c, indices, ig_of_ints((ig_int[]){ig_const(-1)}, 1));
  }
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_tensor *w = ig_dequantized(c, ig_packed_of(&a[0])->weight);
  if (c->status != IG_OK) return NULL;
  ig_embedding_bag_with(c, w, indices, offsets, false, ig_const(0), false, ig_value_tensor(&a[6]),
                        a[8].b && !grid, outs);
  return ig_value_tensor(&outs[0]);
}

// Rows of 4 bits cannot be packed, so none can be given; scripts name both widths and choose.
static ig_tensor *refuse_4bit(ig_ctx *c, const ig_value *a) {
  (void)a;
  ig_fail_text(c, IG_UNSUPPORTED,
               "quantized::%s: the rows have 8 bits, expected 4 (quint4x2 is not supported)",
               c->op->schema.name);
  return NULL;
}

IG_OP(quantized__embedding_4bit) = {
    .schema =
        "quantized::embedding_4bit(__torch__.torch.classes.quantized.EmbeddingPackedParamsBase "
        "weight, Tensor indices, bool pruned_weights=False) -> Tensor",
    .decompose = refuse_4bit,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__embedding_bag_4bit) = {
    .schema =
        "quantized::embedding_bag_4bit(__torch__.torch.classes.quantized.EmbeddingPackedParamsBase "
        "weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, "
        "bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? "
        "compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
    .decompose = refuse_4bit,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__embedding_bag_prepack) = {
    .schema =
        "quantized::embedding_bag_prepack(Tensor weight) -> "
        "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase W_prepack",
    .decompose_outs = pack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__embedding_bag_unpack) = {
    .schema =
        "quantized::embedding_bag_unpack(__torch__.torch.classes.quantized."
        "EmbeddingPackedParamsBase W_prepack) -> Tensor W_origin",
    .decompose = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__embedding_byte) = {
    .schema =
        "quantized::embedding_byte(__torch__.torch.classes.quantized.EmbeddingPackedParamsBase "
        "weight, Tensor indices, bool pruned_weights=False) -> Tensor",
    .decompose = embedding,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__embedding_bag_byte) = {
    .schema =
        "quantized::embedding_bag_byte(__torch__.torch.classes.quantized.EmbeddingPackedParamsBase "
        "weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, "
        "bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? "
        "compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
    .decompose = bag,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
