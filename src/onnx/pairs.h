// SPDX-License-Identifier: Apache-2.0
// Complex numbers as pairs of real ones. ONNX does not compute with complex numbers, so a complex
// tensor is view_as_complex of a real tensor with one more axis of size 2, and every call on it
// becomes calls on the pairs. view_as_complex and view_as_real are no nodes in the file, where the
// values of both are the pairs.
#ifndef ONNX_PAIRS_H_
#define ONNX_PAIRS_H_

#include "ingot/aten.h"

// A complex tensor, number or dtype, or a list with one.
bool ig_pairs_is_complex(const ig_value *v);

ig_tensor *ig_pairs_of(ig_ctx *c, ig_tensor *t);                   // of a complex tensor
ig_value ig_pairs_complex(ig_ctx *c, ig_tensor *pairs);            // the complex tensor of pairs
ig_tensor *ig_pairs_part(ig_ctx *c, ig_tensor *pairs, int which);  // 0: real, 1: imaginary
ig_tensor *ig_pairs_join(ig_ctx *c, ig_tensor *re, ig_tensor *im);
// A real tensor as one that multiplies both parts.
ig_tensor *ig_pairs_spread(ig_ctx *c, ig_tensor *t);

// An operand: a tensor, complex or real, or a number.
typedef struct ig_complex_operand {
  ig_tensor *pairs;  // NULL: it is real
  ig_tensor *re;
} ig_complex_operand;
// real: the dtype that a number gets.
ig_complex_operand ig_pairs_operand(ig_ctx *c, const ig_value *v, ig_dtype real);
// As pairs in any case.
ig_tensor *ig_operand_pairs(ig_ctx *c, const ig_complex_operand *o, ig_dtype real);

// ---- formulas, from pairs to pairs, or to real tensors (abs, its square, angle)

typedef ig_tensor *ig_pairs_product_fn(ig_ctx *c, ig_tensor *a, ig_tensor *b);
ig_tensor *ig_pairs_product(ig_ctx *c, ig_pairs_product_fn *f, ig_tensor *a, ig_tensor *b);
ig_tensor *ig_pairs_conjugate(ig_ctx *c, ig_tensor *pairs);
ig_tensor *ig_pairs_square_of_abs(ig_ctx *c, ig_tensor *pairs);
ig_tensor *ig_pairs_abs(ig_ctx *c, ig_tensor *pairs);
ig_tensor *ig_pairs_angle(ig_ctx *c, ig_tensor *pairs);
ig_tensor *ig_pairs_from_polar(ig_ctx *c, ig_tensor *length, ig_tensor *angle);

#endif
