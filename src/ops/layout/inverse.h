// SPDX-License-Identifier: Apache-2.0
// .invert of the view operators: see ig_invert_fn.
#ifndef OPS_LAYOUT_INVERSE_H_
#define OPS_LAYOUT_INVERSE_H_

#include "op/op.h"

ig_invert_fn ig_invert_same;
ig_invert_fn ig_invert_select;
ig_invert_fn ig_invert_slice;
ig_invert_fn ig_invert_diagonal;
ig_invert_fn ig_invert_as_strided;
ig_invert_fn ig_invert_view;
ig_invert_fn ig_invert_dtype;
ig_invert_fn ig_invert_expand;
ig_invert_fn ig_invert_permute;
ig_invert_fn ig_invert_t;
ig_invert_fn ig_invert_transpose;
ig_invert_fn ig_invert_unsqueeze;
ig_invert_fn ig_invert_squeeze;
ig_invert_fn ig_invert_split;
ig_invert_fn ig_invert_unbind;
ig_invert_fn ig_invert_unfold;
ig_invert_fn ig_invert_as_real;
ig_invert_fn ig_invert_as_complex;

#endif
