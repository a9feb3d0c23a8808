// SPDX-License-Identifier: Apache-2.0
// Single elements that a capture knows: those of tensors that the program makes from literals
// (torch.tensor(3)), and what is computed from them alone. They are numbers wherever the program
// reads them: conditions, sizes, bounds of slices.
#ifndef OP_KNOWN_H_
#define OP_KNOWN_H_

#include "op/call.h"

// After a recorded call: `given` are its operands as the caller passed them, `args` as recorded.
void ig_known_follow(ig_ctx *c, const ig_op *op, const ig_value *given, const ig_value *args,
                     const ig_value *outs);

// Whether what a call returned is a number that was read from a known element: a constant of the
// program, which need not read it.
bool ig_known_number(const ig_op *op, const ig_value *args, const ig_value *outs);

// A real tensor with the element of a fake one; NULL: it is not known.
ig_tensor *ig_known_find(const ig_tensor *fake);

// The elements of a fake vector that holds the sizes of a tensor of the capture; NULL: any other.
const ig_int *ig_known_sizes(const ig_tensor *fake);

#endif
