// SPDX-License-Identifier: Apache-2.0
// An edit for a call that was rejected. Common fixes (a cast, a transposition, another dimension,
// another size) are tried on the operands until the operator accepts them, so that the suggestion
// is known to work for the example sizes.
#ifndef OP_SUGGEST_H_
#define OP_SUGGEST_H_

#include "base/str.h"
#include "op/record.h"

// Adds "pass mat2.transpose(-2, -1) as mat2"; nothing if no change helps, or sizes have no hints.
void ig_op_suggest(const ig_op *op, const ig_value *args, ig_str *out);

#endif
