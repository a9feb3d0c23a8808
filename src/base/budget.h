// SPDX-License-Identifier: Apache-2.0
// What a context has used of its limits.
//
// Memory: the allocator of a context counts all live bytes. The counter outlives the context,
// because storages and graphs do: it is freed with the last byte.
//
// Work and time: code that starts an operation which a file can make long (a run, a loop, reading a
// model) opens an account. Calls, iterations and nodes are charged to the innermost account, and
// what an inner account uses is also charged to the outer one. A step costs a decrement and the
// test of a flag; everything else is checked every few steps.
#ifndef BASE_BUDGET_H_
#define BASE_BUDGET_H_

#include "base/ctx.h"

enum { IG_WORK_NODE = 1000 };  // a node stays in memory: it costs more than a call

// ---- memory

// An allocator that counts and forwards to `inner`, up to `limit` bytes. False: out of memory.
bool ig_budget_create(ig_alloc inner, uint64_t limit, ig_alloc *out);
void ig_budget_leave(ig_alloc a);  // the context of a counting allocator is freed
ig_alloc ig_budget_inner(
    ig_alloc a);  // what a counting allocator forwards to; a itself: not counting
void ig_budget_set(ig_alloc a, uint64_t limit);
uint64_t ig_budget_live(ig_alloc a);
uint64_t ig_budget_limit(ig_alloc a);
// For blocks that do not come from the allocator itself. False: beyond the limit.
bool ig_budget_take(ig_alloc a, size_t bytes);
void ig_budget_give(ig_alloc a, size_t bytes);
// Bytes of the last request that the limit rejected since the previous call of this; 0: none.
size_t ig_budget_refused(ig_alloc a);

// ---- work and time

// Not an error of the attempted operation, but the end of all work: code that tries something and
// continues without it must not continue after this.
static inline bool ig_status_is_final(ig_status st) {
  return st == IG_NOMEM || st == IG_LIMIT || st == IG_CANCELLED || st == IG_HOST;
}

// A context's account while something runs; returns the outer one, for ig_account_close.
ig_account ig_account_open(ig_ctx *c, const struct ig_limits *limits);
void ig_account_close(ig_ctx *c, const ig_account *outer);
// Initializes a context without limits; then applies the given ones.
void ig_account_init(ig_ctx *c, uint64_t max_work, uint64_t max_millis);

// Checks the flag, the clock and the account. False: the context failed.
bool ig_look(ig_ctx *c);
// One call or iteration.
static inline bool ig_step(ig_ctx *c) {
  if (--c->pace && !atomic_load_explicit(&c->cancelled, memory_order_relaxed)) return true;
  return ig_look(c);
}
// More of it at once.
bool ig_spend(ig_ctx *c, uint64_t work);

#endif
