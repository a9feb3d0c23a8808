// SPDX-License-Identifier: Apache-2.0
// Module stacks as files write them, "key,path,class;key,path,class", for other readers of that
// form.
#ifndef PT2_MODULES_H_
#define PT2_MODULES_H_

#include "base/arena.h"
#include "ingot/graph.h"

// The first level of a text that is not empty, in the arena; returns the rest of the text. NULL:
// out of memory.
const char *ig_modules_next(ig_arena *a, const char *text, ig_module_level *out);

#endif
