// SPDX-License-Identifier: Apache-2.0
// How the integers of a quantized tensor stand for numbers: (integer - zero point) * scale, with
// one pair for the whole tensor or one per index of a dimension. A quantizer is immutable and
// shared by the tensors that have it: a tensor, its views and its copies.
#ifndef TENSOR_QUANTIZER_H_
#define TENSOR_QUANTIZER_H_

#include "tensor/tensor.h"

// In the order of PyTorch's numbers. The symmetric ones only appear as settings of observers.
typedef enum ig_quant_scheme {
  IG_PER_TENSOR_AFFINE,
  IG_PER_CHANNEL_AFFINE,
  IG_PER_TENSOR_SYMMETRIC,
  IG_PER_CHANNEL_SYMMETRIC,
  IG_PER_CHANNEL_FLOAT,  // per_channel_affine_float_qparams: the zero points are numbers, too
  IG_QSCHEME_COUNT
} ig_quant_scheme;

typedef struct ig_quantizer {
  ig_ref ref;
  ig_alloc alloc;
  ig_quant_scheme scheme;
  double scale;  // per tensor
  int64_t zero_point;
  ig_tensor *scales;       // per channel: dense, float64; float32 where zero points are numbers
  ig_tensor *zero_points;  // dense, int64; float32 where they are numbers
  int axis;
} ig_quantizer;

const char *ig_quant_scheme_text(ig_quant_scheme s);  // "per_tensor_affine"

// The innermost scope owns the result; NULL after an error.
ig_quantizer *ig_quantizer_make(ig_ctx *c, double scale, int64_t zero_point);
// scales and zero points have one dimension and the dtypes above.
ig_quantizer *ig_quantizer_make_channels(ig_ctx *c, ig_tensor *scales, ig_tensor *zero_points,
                                         int axis);
static inline bool ig_quantizer_is_uniform(const ig_quantizer *q) {
  return q->scheme == IG_PER_TENSOR_AFFINE;
}
// The integers that a quantized dtype has, and so the zero points that it may have.
void ig_quantized_range(ig_dtype d, int64_t *low, int64_t *high);
bool ig_quantizer_fits(const ig_quantizer *q, ig_dtype d);
bool ig_quantizer_same(const ig_quantizer *a, const ig_quantizer *b);  // the same numbers

// The integers of a quantized tensor, and the other way round: the same memory under another dtype.
ig_tensor *ig_tensor_integers(ig_ctx *c, ig_tensor *t);
ig_tensor *ig_tensor_quantized(ig_ctx *c, ig_tensor *integers, ig_dtype dtype, ig_quantizer *q);
void ig_tensor_set_quantizer(ig_tensor *t, ig_quantizer *q);

#endif
