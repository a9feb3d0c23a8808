// SPDX-License-Identifier: Apache-2.0
// Needs, workspaces, and per-thread scratch buffers for callers without one. They are
// freed when the thread ends; the thread that runs the library's destructor frees its own there.
#include "kernels/scratch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/lock.h"

typedef struct buffers {
  ig_thread_end end;
  void *at[IG_SCRATCH_SLOTS];
  size_t size[IG_SCRATCH_SLOTS];
  bool watched;  // `end` is registered
} buffers;

static _Thread_local buffers mine;
static _Atomic size_t limit = SIZE_MAX - 4096;  // the largest allowed request

// ---- needs and workspaces ----

static _Atomic size_t misses;

static size_t round_up(size_t bytes) {
  return bytes < IG_SIZE_NONE ? (bytes + 63) / 64 * 64 : IG_SIZE_NONE;
}

ig_need ig_need_make(bool planned) {
  ig_need n;  // the arrays are set with the first slot
  n.pieces = 0;
  n.planned = planned;
  n.threads = planned ? ig_threads_get() : 0;
  n.slots = false;
  return n;
}

size_t ig_need_take(ig_need *n, size_t count, size_t size) {
  size_t at = n->pieces;
  n->pieces = ig_mem_add(at, round_up(ig_mem_add(ig_mem_mul(count, size), 64)));
  return at;
}

static void need_slot(ig_need *n, size_t *at, size_t bytes) {
  if (!n->planned) return;
  if (!n->slots) {
    for (int i = 0; i < IG_SCRATCH_SLOTS; i++) n->caller[i] = n->each[i] = 0;
    n->slots = true;
  }
  bytes = round_up(bytes ? bytes : 1);
  if (bytes > *at) *at = bytes;
}

void ig_need_caller(ig_need *n, ig_scratch_slot slot, size_t bytes) {
  need_slot(n, &n->caller[slot], bytes);
}

void ig_need_each(ig_need *n, ig_scratch_slot slot, size_t bytes) {
  need_slot(n, &n->each[slot], bytes);
}

static size_t caller_bytes(const ig_need *n, int slot) {
  return n->caller[slot] > n->each[slot] ? n->caller[slot] : n->each[slot];
}

size_t ig_need_bytes(const ig_need *n) {
  size_t sum = n->pieces;
  if (!n->slots) return sum;
  size_t part = 0;
  for (int i = 0; i < IG_SCRATCH_SLOTS; i++) {
    sum = ig_mem_add(sum, caller_bytes(n, i));
    part = ig_mem_add(part, n->each[i]);
  }
  return ig_mem_add(sum, ig_mem_mul(part, (size_t)n->threads - 1));
}

void ig_workspace_enter(ig_workspace *w, const ig_need *need, void *memory) {
  w->need = need;
  w->memory = memory;
  w->first = need->pieces;
  w->part = 0;
  for (int i = 0; i < IG_SCRATCH_SLOTS && need->slots; i++) {
    w->caller[i] = w->first;
    w->first += caller_bytes(need, i);
    w->each[i] = w->part;
    w->part += need->each[i];
  }
  w->before = ig_threads_lend((ig_loan){w, need->threads});
}

void ig_workspace_leave(const ig_workspace *w) {
  (void)ig_threads_lend(w->before);
}

size_t ig_workspace_misses(void) {
  return misses;
}

static void *slot_of(const ig_workspace *w, int seat, ig_scratch_slot slot, size_t bytes) {
  const ig_need *n = w->need;
  size_t room = !n->slots ? 0 : seat ? n->each[slot] : caller_bytes(n, (int)slot);
  if (bytes > room || room == 0) {
    atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
    return NULL;
  }
  if (seat == 0) return w->memory + w->caller[slot];
  return w->memory + w->first + (size_t)(seat - 1) * w->part + w->each[slot];
}

// ---- buffers of threads ----

static void release(buffers *b) {
  for (int i = 0; i < IG_SCRATCH_SLOTS; i++) {
    free(b->at[i]);
    b->at[i] = NULL;
    b->size[i] = 0;
  }
}

static void thread_ends(ig_thread_end *end) {
  buffers *b = (buffers *)end;
  release(b);
  b->watched = false;
}

static bool watch(buffers *b) {
  if (b->watched) return true;
  b->end.run = thread_ends;
  b->watched = ig_thread_at_end(&b->end);
  return b->watched;
}

void *ig_scratch_get(ig_scratch_slot slot, size_t bytes) {
  buffers *b = &mine;
  int seat;
  const ig_workspace *w = ig_threads_lent(&seat);
  if (w) return slot_of(w, seat, slot, bytes);
  if (bytes > atomic_load_explicit(&limit, memory_order_relaxed)) return NULL;
  if (bytes <= b->size[slot] && b->at[slot]) return b->at[slot];
  if (!watch(b)) return NULL;
  size_t size = (bytes + 4095) / 4096 * 4096;  // A multiple of 64, and few reallocations.
  if (size == 0) size = 4096;
  free(b->at[slot]);  // Contents need not survive.
  b->at[slot] = aligned_alloc(64, size);
  b->size[slot] = b->at[slot] ? size : 0;
  return b->at[slot];
}

void *ig_scratch_array(ig_scratch_slot slot, size_t n, size_t size) {
  return ig_scratch_get(slot, ig_mem_mul(n, size));
}

void *ig_kernel_array(size_t n, size_t size) {
  size_t bytes = ig_mem_mul(n, size);
  return bytes < IG_SIZE_NONE ? malloc(bytes ? bytes : 1) : NULL;
}

void ig_scratch_limit(size_t bytes) {
  const size_t most = SIZE_MAX - 4096;
  atomic_store_explicit(&limit, bytes < most ? bytes : most, memory_order_relaxed);
}

void ig_scratch_free(void) {
  release(&mine);
}

// With a priority, so that it runs after the pool's destructor, which has none: the pool's threads
// free their own buffers as they end.
__attribute__((destructor(200))) static void free_last(void) {
  release(&mine);
}
