// SPDX-License-Identifier: Apache-2.0
// Calls of kernels in two steps: preparing, which may fail and knows no data, and running, which
// takes no memory. Eager calls do both at once, with memory that the context keeps for them.
#ifndef OP_PREPARE_H_
#define OP_PREPARE_H_

#include "op/op.h"

// For operators that ig_op_is_prepared says yes to. outs are the results, real or fake.
void ig_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs, ig_prep *p);
// memory: ig_need_bytes(&p->need) bytes from a multiple of 64 on.
void ig_prepared_run(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args,
                     ig_value *outs, void *memory);

// Both steps at once, with memory of the context.
void ig_prepare_and_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// The kernel of an operator on real operands and results. One that has .kernel as well as .run
// needs the former for calls that cannot be prepared.
void ig_compute(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

#endif
