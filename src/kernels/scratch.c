// SPDX-License-Identifier: Apache-2.0
// Per-thread scratch buffers. A thread-specific key frees them when a thread ends; the thread that
// runs the library's destructor frees its own there.
#define _POSIX_C_SOURCE 200809L
#include "kernels/scratch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct buffers {
  void *at[IG_SCRATCH_SLOTS];
  size_t size[IG_SCRATCH_SLOTS];
  bool watched;  // the key knows this thread
} buffers;

static _Thread_local buffers mine;
static _Atomic size_t limit = SIZE_MAX - 4096;  // the largest allowed request
static pthread_key_t key;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *p) {
  buffers *b = p;
  for (int i = 0; i < IG_SCRATCH_SLOTS; i++) {
    free(b->at[i]);
    b->at[i] = NULL;
    b->size[i] = 0;
  }
  b->watched = false;
}

static void make_key(void) {
  have_key = pthread_key_create(&key, release) == 0;
}

static bool watch(buffers *b) {
  if (b->watched) return true;
  pthread_once(&once, make_key);
  b->watched = have_key && pthread_setspecific(key, b) == 0;
  return b->watched;
}

void *ig_scratch_get(ig_scratch_slot slot, size_t bytes) {
  buffers *b = &mine;
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
// free their buffers through the key as they end.
__attribute__((destructor(200))) static void free_last(void) {
  release(&mine);
  if (have_key) pthread_key_delete(key);
  have_key = false;
}
