// SPDX-License-Identifier: Apache-2.0
// Limits as readers use them: with defaults filled in, and a clock.
#ifndef BASE_LIMITS_H_
#define BASE_LIMITS_H_

#include "base/ctx.h"
#include "ingot/limits.h"

enum { IG_LIMITS_DEPTH = 1024 };  // the most that is allowed, because readers recurse

// Those of the context for NULL and for fields that the caller's struct does not have or leaves 0.
ig_limits ig_limits_of(const ig_ctx *c, const ig_limits *given);

ig_limits ig_limits_given(const ig_limits *given);  // what the caller filled in, 0 elsewhere
ig_limits ig_limits_fill(const ig_limits *given);   // the rest by default

// Time is checked periodically, not for every byte.
typedef struct ig_deadline {
  uint64_t start;
  uint64_t millis;  // 0: unlimited
} ig_deadline;
ig_deadline ig_deadline_start(const ig_limits *limits);
// Also checks whether the context may continue: see base/budget.h.
IG_MUST_USE ig_status ig_deadline_check(ig_ctx *c, const ig_deadline *d, const char *name);

#endif
