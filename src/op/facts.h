// SPDX-License-Identifier: Apache-2.0
// Facts that partitions of joint graphs read (letters r, w and u of op/aten.tsv). They follow those
// of op/op.h.
#ifndef OP_FACTS_H_
#define OP_FACTS_H_

#include "op/op.h"

enum {
  IG_FACT_RECOMPUTED = 512,  // may be computed again in the backward graph
  IG_FACT_FREE_VIEW = 1024,  // a view that costs nothing
  IG_FACT_FUSED = 2048,      // part of a fused kernel, but never computed again
};

#endif
