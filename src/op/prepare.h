// SPDX-License-Identifier: Apache-2.0
// Calls of kernels in two steps: preparing, which may fail and knows no data, and running, which
// takes no memory. Eager calls do both at once, with memory that the context keeps for them.
#ifndef OP_PREPARE_H_
#define OP_PREPARE_H_

#include "op/op.h"

// For operators that ig_op_is_prepared says yes to. outs are the results, real or fake.
void ig_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs, ig_prep *p);
// The same where the arguments that .packs names stay as they are. If p->packed_size is not 0 then,
// p->packed has what ig_prepared_pack made, in some call with these arguments, before the first
// run.
void ig_prepare_packing(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p);
void ig_prepared_pack(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args, void *to);
// memory: ig_need_bytes(&p->need) bytes from a multiple of 64 on.
void ig_prepared_run(ig_ctx *c, const ig_op *op, const ig_prep *p, const ig_value *args,
                     ig_value *outs, void *memory);

// Both steps at once, with memory of the context.
void ig_prepare_and_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// The kernel of an operator on real operands and results. One that has .kernel as well as .run
// needs the former for calls that cannot be prepared.
void ig_compute(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

#endif
