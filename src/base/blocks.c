// SPDX-License-Identifier: Apache-2.0
// Cached blocks are in a short list, the most recently freed one last; when it is full the first
// one is freed. Sizes are rounded up to one of eight steps between powers of two, so that blocks
// can be reused for nearly equal sizes. A thread that finds the list locked bypasses it: no thread
// waits, not even the child of a fork that happened while the list was locked.
#define _GNU_SOURCE
#include "base/blocks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "base/budget.h"

enum { SLOTS = 64, LARGE_PAGE = 2 << 20 };

typedef struct kept_block {
  void *at;
  size_t size;
} kept_block;

static struct {
  atomic_flag busy;
  int n;
  size_t bytes;
  kept_block at[SLOTS];
} kept = {.busy = ATOMIC_FLAG_INIT};

// The address sanitizer has to see every free.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#endif
#if !defined(SANITIZED)
#define SANITIZED false
#endif

// How much may be cached on this machine.
static size_t most_kept(void) {
  static atomic_size_t known;
  size_t most = atomic_load_explicit(&known, memory_order_relaxed);
  if (most) return most;
  most = IG_BLOCKS_KEPT;
#if defined(_SC_PHYS_PAGES)
  long pages = sysconf(_SC_PHYS_PAGES);
  long size = sysconf(_SC_PAGESIZE);
  size_t share = pages > 0 && size > 0 ? (size_t)pages / IG_BLOCKS_SHARE * (size_t)size : most;
  if (share < most) most = share;
#endif
  atomic_store_explicit(&known, most, memory_order_relaxed);
  return most;
}

static bool take_list(void) {
  return !atomic_flag_test_and_set_explicit(&kept.busy, memory_order_acquire);
}

static void leave_list(void) {
  atomic_flag_clear_explicit(&kept.busy, memory_order_release);
}

static bool is_ours(ig_alloc a, size_t size) {
  return !SANITIZED && size >= IG_BLOCKS_LEAST && size <= SIZE_MAX / 4 &&
         ig_budget_inner(a).fn == ig_alloc_libc().fn;
}

static size_t round_size(size_t size) {
  size_t step = IG_BLOCKS_LEAST / 8;
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

void ig_pages_huge(void *p, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  (void)madvise(p, size, MADV_HUGEPAGE);
#else
  (void)p;
  (void)size;
#endif
}

static void *fresh(size_t size) {
  if (size < LARGE_PAGE) return aligned_alloc(64, size);
  void *p = aligned_alloc(LARGE_PAGE, size);
  if (p) ig_pages_huge(p, size / LARGE_PAGE * LARGE_PAGE);
  return p;
}

static void drop(int i) {
  kept.bytes -= kept.at[i].size;
  kept.n--;
  memmove(kept.at + i, kept.at + i + 1, (size_t)(kept.n - i) * sizeof *kept.at);
}

static void *find_kept(size_t size) {
  void *p = NULL;
  if (!take_list()) return NULL;
  for (int i = kept.n; i-- > 0 && !p;) {
    if (kept.at[i].size != size) continue;
    p = kept.at[i].at;
    drop(i);
  }
  leave_list();
  return p;
}

void *ig_block_new(ig_alloc a, size_t size) {
  if (!is_ours(a, size)) return a.fn(a.user, NULL, 0, size);
  if (!ig_budget_take(a, size)) return NULL;
  size_t asked = size;
  size = round_size(size);
  void *p = find_kept(size);
  if (!p) p = fresh(size);
  if (!p) {
    ig_memory_release();
    p = fresh(size);
  }
  if (!p) ig_budget_give(a, asked);
  return p;
}

void ig_block_free(ig_alloc a, void *p, size_t size) {
  if (!p) return;
  if (!is_ours(a, size)) {
    ig_mem_free(a, p, size);
    return;
  }
  ig_budget_give(a, size);
  size = round_size(size);
  size_t most = most_kept();
  if (size > most || !take_list()) {
    free(p);
    return;
  }
  while (kept.n == SLOTS || kept.bytes + size > most) {
    free(kept.at[0].at);
    drop(0);
  }
  kept.at[kept.n++] = (kept_block){p, size};
  kept.bytes += size;
  leave_list();
}

size_t ig_blocks_kept(void) {
  if (!take_list()) return 0;
  size_t bytes = kept.bytes;
  leave_list();
  return bytes;
}

void ig_memory_release(void) {
  if (!take_list()) return;
  while (kept.n > 0) {
    free(kept.at[kept.n - 1].at);
    drop(kept.n - 1);
  }
  leave_list();
}

__attribute__((destructor)) static void release_last(void) {
  ig_memory_release();
}
