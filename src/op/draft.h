// SPDX-License-Identifier: Apache-2.0
// Drafts: a capture that also runs the program on its examples. Every fake tensor of the capture
// has a real counterpart, computed from the example inputs; a number read from it is the example
// value of its symbol. Data-dependent questions therefore have an answer (sym/refuse.c), and
// operators without a fake kernel have results.
#ifndef OP_DRAFT_H_
#define OP_DRAFT_H_

#include "op/call.h"
#include "sym/report.h"

// The report of the context's draft is kept from one capture to the next; real counterparts are
// not.
ig_status ig_draft_open(ig_ctx *c);    // IG_RUNTIME: one is open
ig_report *ig_draft_close(ig_ctx *c);  // one reference for the caller; NULL: none was open
bool ig_draft_begin(ig_ctx *c);        // a capture begins, if a draft is open
void ig_draft_end(ig_ctx *c);          // it ends

// The counterpart of `fake` is a copy of `example` (a real tensor), or that of another fake tensor.
// Without a draft these do nothing.
void ig_draft_know(ig_ctx *c, ig_tensor *fake, ig_tensor *example);
void ig_draft_share(ig_ctx *c, ig_tensor *fake, const ig_tensor *other);

// Runs a call with fake results on the counterparts. A custom operator whose fake kernel is
// contradicted gets other results.
void ig_draft_follow(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// The same for a higher-order operator that was recorded as `n`.
void ig_draft_follow_node(ig_ctx *c, const ig_node *n);
// An operator without a fake kernel: results like those of its kernel, with fresh symbolic sizes.
// False: no draft, or the operands have no counterparts.
bool ig_draft_invent(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Did the results of the current call come from the example?
bool ig_draft_gave(const ig_ctx *c);
// The results of such a node again, with fresh symbols.
void ig_draft_give(ig_ctx *c, const ig_node *n, ig_value *outs);

// "self: f32[u0, 4], dim: 0" of the call that the context is in.
void ig_op_describe(const ig_ctx *c, ig_str *out);

#endif
