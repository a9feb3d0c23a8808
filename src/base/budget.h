// SPDX-License-Identifier: Apache-2.0
// What a context has spent of its limits.
//
// Memory: the allocator of a context counts the bytes that are live, whatever they are for. The
// count outlives the context, because storages and graphs do: it goes with the last byte.
//
// Work and time: whoever starts something that a file can make long (a run, a loop, reading a
// model) opens an account. Calls, rounds and nodes are paid from the innermost one, and what an
// inner account spent is missing in the outer one. A step costs a decrement and a look at a flag;
// the rest is looked at every few steps.
#ifndef BASE_BUDGET_H_
#define BASE_BUDGET_H_

#include "base/ctx.h"

enum { IG_WORK_NODE = 1000 };  // a node that is made stays in memory: it costs more than a call

// ---- memory

// An allocator that counts and passes on to `inner`, for at most `limit` bytes. False: no memory.
bool ig_budget_create(ig_alloc inner, uint64_t limit, ig_alloc *out);
void ig_budget_leave(ig_alloc a);      // the context of a counting allocator goes
ig_alloc ig_budget_inner(ig_alloc a);  // what a counting allocator passes on to; a itself: none
void ig_budget_set(ig_alloc a, uint64_t limit);
uint64_t ig_budget_live(ig_alloc a);
uint64_t ig_budget_limit(ig_alloc a);
// For blocks that do not come from the allocator itself. False: the limit forbids them.
bool ig_budget_take(ig_alloc a, size_t bytes);
void ig_budget_give(ig_alloc a, size_t bytes);
// Bytes of the last request that the limit forbade since this was asked; 0: none.
size_t ig_budget_refused(ig_alloc a);

// ---- work and time

// Not an error of what was tried, but the end of everything: whoever tries things and goes on
// without them must not go on after it.
static inline bool ig_status_is_final(ig_status st) {
  return st == IG_NOMEM || st == IG_LIMIT || st == IG_CANCELLED || st == IG_HOST;
}

// A context's account while something runs; returns the outer one, for ig_account_close.
ig_account ig_account_open(ig_ctx *c, const struct ig_limits *limits);
void ig_account_close(ig_ctx *c, const ig_account *outer);
// Ready for a context without limits; from now on within these, where they are given.
void ig_account_init(ig_ctx *c, uint64_t max_work, uint64_t max_millis);

// Looks at the flag, the clock and the account. False: the context failed.
bool ig_look(ig_ctx *c);
// One call or round.
static inline bool ig_step(ig_ctx *c) {
  if (--c->pace && !atomic_load_explicit(&c->cancelled, memory_order_relaxed)) return true;
  return ig_look(c);
}
// More of it at once.
bool ig_spend(ig_ctx *c, uint64_t work);

#endif
