// SPDX-License-Identifier: Apache-2.0
// What passes share.
#ifndef PASS_PASS_H_
#define PASS_PASS_H_

#include "ingot/pass.h"
#include "ir/program.h"
#include "op/interpret.h"

// Makes a program of a rewritten graph of p: clean-up, new constants as inputs, checks. Takes the
// graph over. kinds and targets describe the outputs; NULL: as in p. NULL after an error.
ig_program *ig_pass_program(ig_ctx *c, const ig_program *p, ig_graph *g,
                            const ig_output_kind *kinds, const char *const *targets);

// Calls op without asking the rewrite: the call is recorded as it is.
void ig_pass_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Functional by its schema, but it may return an operand, a view of one, or write to one.
bool ig_op_may_alias(const ig_op *op);

#endif
