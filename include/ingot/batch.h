// SPDX-License-Identifier: Apache-2.0
// A graph computed for many slices at once: what vmap does.
#ifndef INGOT_BATCH_H_
#define INGOT_BATCH_H_

#include "ingot/graph.h"

IG_BEGIN_DECLS

// What random operators draw for the slices.
typedef enum ig_batch_random {
  IG_BATCH_REFUSE,     // nothing: it is an error
  IG_BATCH_DIFFERENT,  // numbers of its own for every slice
  IG_BATCH_SAME,       // the same numbers for all
} ig_batch_random;

typedef struct ig_batch_args {
  size_t size;    // sizeof(ig_batch_args)
  ig_int slices;  // how many
  ig_batch_random random;
  const bool *batched;  // per placeholder: dim 0 of its value numbers the slices
} ig_batch_args;

// g: a functional graph of one slice (ingot/aot.h). inputs: one value per placeholder. outs: one
// value per output, owned by the innermost scope; batched: whether its dim 0 numbers the slices,
// otherwise it is the same for all. Operators without a rule for batches run once per slice.
// IG_RUNTIME: random numbers are refused, or an operator's result has no size in common.
IG_API IG_MUST_USE ig_status ig_batch_run(ig_ctx *c, const ig_graph *g, const ig_batch_args *args,
                                          const ig_value *inputs, ig_value *outs, bool *batched);

IG_END_DECLS

#endif
