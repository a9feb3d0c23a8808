// SPDX-License-Identifier: Apache-2.0
// Custom operators, for the dispatcher.
#ifndef OP_LIBRARY_H_
#define OP_LIBRARY_H_

#include "ingot/library.h"
#include "op/op.h"

// First overload of "ns::name" that users have defined; NULL: none.
const ig_op *ig_library_overloads(const char *key);
// What ig_run does for a custom operator.
void ig_library_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// Runs the implementation of that kind; false (nothing happens) when there is none.
bool ig_library_call(ig_ctx *c, const ig_op *op, ig_impl_kind kind, const ig_value *args,
                     ig_value *outs);

#endif
