// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a script whose course depends on data, under a capture: they are recorded
// as cond and while_loop nodes.
#ifndef SCRIPT_INTERP_RECORD_H_
#define SCRIPT_INTERP_RECORD_H_

#include "script/interp_run.h"

// Is the condition unknown until the program runs?
bool ig_srecord_asks_data(ig_ctx *c, const ig_value *v);
// Can the branches of this test be sub-graphs? A condition on sizes that are known by an example is
// decided by it if not.
bool ig_srecord_takes_branches(const ig_sframe *f, const ig_sinsn *i, const ig_value *pred);
// The branch that is taken because the other one only raises: 0 or 1, the first is that of true.
// -1: there is none. What the other one checks holds for the data of a recorded program.
int ig_srecord_only_branch(const ig_sinsn *i);
// Both branches become sub-graphs of a cond node, as both may be taken when the program runs. The
// frame goes on behind them. False after an error.
bool ig_srecord_branches(ig_srun *r, ig_sframe *f, const ig_sinsn *i, const ig_value *pred);
// Is a loop recorded although its rounds are known? Where conditions are recorded, sizes are
// values: only a short loop with a number of rounds that the script states is run round by round.
bool ig_srecord_keeps_loop(ig_ctx *c, const ig_sinsn *i, int64_t rounds);
// Can the loop of this test be a while_loop node? It must change nothing but what it carries, which
// must be tensors and numbers.
// asks_data: the number of rounds is unknown, so that lists may change, too.
bool ig_srecord_takes_loop(ig_ctx *c, const ig_sframe *f, const ig_sinsn *i, bool asks_data);
// May a branch or loop that cannot be recorded follow the example? Not where conditions are
// recorded: for other sizes the program would be wrong. False after the error.
bool ig_srecord_may_decide(ig_ctx *c);
// Records the loop. The frame goes on behind it. False after an error.
bool ig_srecord_loop(ig_srun *r, ig_sframe *f, const ig_sinsn *i);

#endif
