// SPDX-License-Identifier: Apache-2.0
// Adding and multiplying into memory, for scattering operators.
#ifndef OPS_ACCUMULATE_H_
#define OPS_ACCUMULATE_H_

#include "ingot/tensor.h"

// to[i] op= from[i] for i in [0, n); strides in bytes. bool: or, and. Sums of 16-bit floats round
// after every step, as PyTorch's do.
typedef void ig_accumulate_fn(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                              int64_t n);
ig_accumulate_fn *ig_accumulate_add(ig_dtype dtype);       // NULL: 8-bit floats
ig_accumulate_fn *ig_accumulate_multiply(ig_dtype dtype);  // likewise

// to[i] = from[i] for elements of `size` bytes (1, 2, 4, 8 or 16).
ig_accumulate_fn *ig_accumulate_move(size_t size);

#endif
