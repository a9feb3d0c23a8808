// SPDX-License-Identifier: Apache-2.0
// Layout of results that follows an operand, and fills over any layout.
#ifndef OP_STRIDES_H_
#define OP_STRIDES_H_

#include "op/op.h"

// Sizes of t, and the strides of a memory format. None and preserve_format keep t's strides if it
// is non-overlapping and dense, and otherwise its dimension order without gaps. Does not change
// dtype and device of m.
void ig_meta_copy_of(ig_ctx *c, const ig_tensor *t, const ig_value *memory_format, ig_meta *m);

// Writes one number into every element; t is real, of any strides. The number has been checked.
void ig_tensor_fill(ig_tensor *t, const ig_value *number);
void ig_tensor_zero(ig_tensor *t);

#endif
