// SPDX-License-Identifier: Apache-2.0
// One process-wide pool of worker threads.
//
// Workers start with the first parallel loop and sleep when idle (while loops come often they poll
// for the next one, for at most a tenth of a millisecond; the first half of it they keep the
// processor, unless several callers want the pool). The calling thread always works too, and never
// waits for a worker that has not started. Any thread may call anything here at any time; nothing
// here fails, prints or aborts: if threads cannot be created, loops run in the caller.
#ifndef BASE_THREADS_H_
#define BASE_THREADS_H_

#include <stdbool.h>
#include <stdint.h>

#include "ingot/threads.h"

// True inside the body of a parallel loop: loops opened there run in the calling thread.
bool ig_threads_inside(void);

// What a thread lends to the loops that it opens: a pointer that their bodies find in every thread
// that helps, and the most threads that may. A loan with no threads is none.
typedef struct ig_loan {
  const void *what;
  int threads;
} ig_loan;

// Sets the loan of the calling thread and returns the one before, which the caller puts back.
// ig_threads_get answers with the loan's threads while there is one.
ig_loan ig_threads_lend(ig_loan loan);
// The loan of the loop that the calling thread works on, or its own. seat: 0 in the thread that
// opened the loop; those that help have different numbers below the loan's threads.
const void *ig_threads_lent(int *seat);

// Calls fn(arg, begin, end) for disjoint ranges that cover [0, n), from several threads, and
// returns when all are done. Every range has at least `grain` indices (unless n < grain). Runs as
// one call in the calling thread when n < 2 * grain, when one thread is set, when called from
// inside a parallel loop, or while another thread's loop has the pool. Does nothing when n <= 0.
// Effects of fn are visible to the caller afterwards. fn must not exit the thread or jump out.
void ig_parallel_for(int64_t n, int64_t grain, void (*fn)(void *arg, int64_t begin, int64_t end),
                     void *arg);

// The same for work that is already divided into tasks: each range is a single task, and tasks are
// distributed one at a time (which balances uneven tasks).
void ig_parallel_tasks(int64_t n, void (*fn)(void *arg, int64_t task), void *arg);

#endif
