// SPDX-License-Identifier: Apache-2.0
// Copies between two dimension orders.
#ifndef TENSOR_TRANSPOSE_H_
#define TENSOR_TRANSPOSE_H_

#include "tensor/copy.h"

// Runs the copy of a walk (operand 0 from operand 1, elements of `size` bytes) when the innermost
// dimensions of both are dense but different ones. False: it is not such a copy, nothing was done.
bool ig_walk_transpose(const ig_walk *w, int64_t size);

#endif
