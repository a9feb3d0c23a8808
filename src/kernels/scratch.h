// SPDX-License-Identifier: Apache-2.0
// Scratch memory of kernels: a few named slots per thread. A slot's memory stays valid until the
// same thread asks for the same slot again; code that is called while a slot is in use must use
// another slot, so every kernel family has its own.
//
// Slots lie in a workspace that the caller brings, when it entered one: then every request was
// stated before (ig_need), and none allocates or fails. Without a workspace, as in eager calls,
// they are buffers of the thread, which only grow and are kept until it ends.
#ifndef KERNELS_SCRATCH_H_
#define KERNELS_SCRATCH_H_

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/threads.h"

typedef enum ig_scratch_slot {
  IG_SCRATCH_GEMM_A,
  IG_SCRATCH_GEMM_B,
  IG_SCRATCH_GEMM_C,
  IG_SCRATCH_GEMM_T,
  IG_SCRATCH_GEMM_SHARED,
  IG_SCRATCH_ATTENTION,
  IG_SCRATCH_ATTENTION_WIDE,
  IG_SCRATCH_CONV_0,
  IG_SCRATCH_CONV_1,
  IG_SCRATCH_CONV_2,
  IG_SCRATCH_CONV_3,
  IG_SCRATCH_CONV_4,
  IG_SCRATCH_NORM,
  IG_SCRATCH_FFT,
  IG_SCRATCH_SOFTMAX,
  IG_SCRATCH_SLOTS,
} ig_scratch_slot;

// At least `bytes`, aligned to 64, uninitialized; NULL: out of memory.
void *ig_scratch_get(ig_scratch_slot slot, size_t bytes);
void *ig_scratch_array(ig_scratch_slot slot, size_t n, size_t size);  // The same for n elements.

// What a call will need. A need is stated from sizes alone, before there is data; sums that no
// size_t holds become IG_SIZE_NONE, which no workspace has.
typedef struct ig_need {
  size_t pieces;                    // bytes that the caller of kernels takes itself, by offsets
  bool planned;                     // slots are stated; otherwise they are the threads' own
  int threads;                      // that the slots are for
  bool slots;                       // some slot is needed; otherwise the arrays are not set
  size_t caller[IG_SCRATCH_SLOTS];  // bytes in the calling thread
  size_t each[IG_SCRATCH_SLOTS];    // bytes in every thread, the calling one as well
} ig_need;

ig_need ig_need_make(bool planned);  // Nothing yet, for as many threads as there are now.
// Room for n elements, aligned to 64 bytes, with 64 bytes behind them that kernels may read; the
// offset of its first byte from the beginning of the workspace.
size_t ig_need_take(ig_need *n, size_t count, size_t size);
void ig_need_caller(ig_need *n, ig_scratch_slot slot, size_t bytes);
void ig_need_each(ig_need *n, ig_scratch_slot slot, size_t bytes);
// In every thread if a loop is shared by threads, else in the calling one.
static inline void ig_need_loop(ig_need *n, bool shared, ig_scratch_slot slot, size_t bytes) {
  (shared ? ig_need_each : ig_need_caller)(n, slot, bytes);
}
// Bytes of a workspace, which begins at a multiple of 64; IG_SIZE_NONE or more: too many.
size_t ig_need_bytes(const ig_need *n);

// A workspace in use. Between enter and leave the slots of the calling thread, and of those that
// help with its loops, lie in `memory`; need and memory stay as they are until then.
typedef struct ig_workspace {
  const ig_need *need;
  char *memory;
  size_t caller[IG_SCRATCH_SLOTS];  // offsets
  size_t each[IG_SCRATCH_SLOTS];    // the same from the beginning of a thread's part
  size_t first;                     // offset of the part of the first thread that helps
  size_t part;                      // bytes of such a part
  ig_loan before;
} ig_workspace;
void ig_workspace_enter(ig_workspace *w, const ig_need *need, void *memory);
void ig_workspace_leave(const ig_workspace *w);

// Requests so far that a workspace had no room for, in all threads: kernels then go a slower way.
// Always 0 unless a need was stated wrongly; for tests.
size_t ig_workspace_misses(void);

// Room for n elements that outlives the call, contents arbitrary, for free(); NULL when memory is
// out.
void *ig_kernel_array(size_t n, size_t size);

// For tests: larger requests fail from now on, in every thread, as if out of memory.
void ig_scratch_limit(size_t bytes);

// Frees all buffers of the calling thread (they are reallocated on demand).
void ig_scratch_free(void);

#endif
