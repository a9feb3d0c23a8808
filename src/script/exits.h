// SPDX-License-Identifier: Apache-2.0
// Early exits. Part of ig_sgraph_to_ssa.
#ifndef SCRIPT_EXITS_H_
#define SCRIPT_EXITS_H_

#include "script/ir_build.h"

// Removes prim::ReturnStmt and prim::LoopContinuation: what follows them is guarded by conditions.
bool ig_sgraph_remove_exits(ig_sgraph *g);

#endif
