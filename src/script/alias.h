// SPDX-License-Identifier: Apache-2.0
// Which values of a graph may share memory.
//
// Values whose memory may be the same are in one class; what a container holds is a class of its
// own. Everything that comes from outside (inputs of the graph, attributes, results of calls) is in
// one class, too. Values that cannot be changed are in none. A few classes too large cost
// optimizations, never correctness.
#ifndef SCRIPT_ALIAS_H_
#define SCRIPT_ALIAS_H_

#include "script/ir_build.h"
#include "script/unit.h"

typedef struct ig_saliases ig_saliases;

// frozen: attributes of modules have memory of their own. NULL after an error.
ig_saliases *ig_saliases_create(ig_sunit *u, ig_sgraph *g, bool frozen);
void ig_saliases_free(ig_saliases *a);

enum { IG_SALIAS_OUTSIDE = 0 };
#define IG_SALIAS_NONE UINT32_MAX
uint32_t ig_saliases_class(const ig_saliases *a, const ig_svalue *v);
// Classes that nodes write to, in no order.
typedef struct ig_swrite {
  ig_snode *node;
  uint32_t at;
} ig_swrite;
const ig_swrite *ig_saliases_writes(const ig_saliases *a, size_t *n);
size_t ig_saliases_count(const ig_saliases *a);  // classes are below it
// Does the node itself do more than give results and write to memory of the graph?
bool ig_saliases_has_effects(const ig_saliases *a, const ig_snode *n);

#endif
