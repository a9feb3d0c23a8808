// SPDX-License-Identifier: Apache-2.0
// How far messages mark a piece of user code. PyTorch's front end for Python knows where a node
// begins and where the nodes inside of it are: closing brackets are not marked, a string is as
// long as the text it stands for.
#ifndef SCRIPT_MARKS_H_
#define SCRIPT_MARKS_H_

#include "script/tree.h"

// Shortens the range of an expression or statement, and of all below it.
void ig_tree_mark(ig_tree *t);

#endif
