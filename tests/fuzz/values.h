// SPDX-License-Identifier: Apache-2.0
// Arguments of operators made from bytes: most are valid, because they start as one of the samples
// of its record; some are then changed to other values that a caller could pass.
#ifndef TESTS_FUZZ_VALUES_H_
#define TESTS_FUZZ_VALUES_H_

#include "draw.h"
#include "op/op.h"

enum { FUZZ_POOL = 160 };

// Values that earlier calls have met or made: tensors, integers.
typedef struct fuzz_pool {
  ig_value at[FUZZ_POOL];
  size_t n;
} fuzz_pool;

typedef struct fuzz_call {
  const ig_op *op;
  ig_value args[IG_MAX_ARGS];
  bool raw;               // through ig_call, without the host's binder
  int from[IG_MAX_ARGS];  // the number in the pool that an integer is; -1: a constant
} fuzz_call;

// Some operator of the library, derived forms included.
const ig_op *fuzz_pick(ig_ctx *c, draw *d);

// Fills in the arguments; they live as long as the innermost scope. False: there is no memory.
bool fuzz_make_call(ig_ctx *c, draw *d, const ig_op *op, const fuzz_pool *pool, fuzz_call *out);

// An integer that is likely to matter.
int64_t fuzz_int(draw *d);

#endif
