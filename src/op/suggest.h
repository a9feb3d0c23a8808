// SPDX-License-Identifier: Apache-2.0
// An edit for a call that was refused. Changes that programs need most (a cast, a transposition, a
// dimension more, another size) are tried on the operands until the operator takes them, so that
// what is suggested is known to work for the sizes of the example.
#ifndef OP_SUGGEST_H_
#define OP_SUGGEST_H_

#include "base/str.h"
#include "op/record.h"

// Adds "pass mat2.transpose(-2, -1) as mat2"; nothing if no change helps, or sizes have no
// examples.
void ig_op_suggest(const ig_op *op, const ig_value *args, ig_str *out);

#endif
