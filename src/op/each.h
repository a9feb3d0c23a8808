// SPDX-License-Identifier: Apache-2.0
// Operators on lists of tensors that call another operator for each element (_foreach_add): the
// record names it in .each, and nothing else has to be written.
#ifndef OP_EACH_H_
#define OP_EACH_H_

#include "op/op.h"

// An argument of the element's operator comes from the argument of the same name, else from the
// first one that is still free; lists are taken apart, everything else is passed on. The results of
// the functional form are a list in the innermost scope; the other forms return nothing.
void ig_run_each(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

#endif
