// SPDX-License-Identifier: Apache-2.0
// Stands before the C library's allocator (LD_PRELOAD) and refuses some requests of one library,
// known by its addresses: those of the interpreter, which has its own way to make them fail, are
// granted. fuzz_memory.py switches it.
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static _Atomic uintptr_t from;
static _Atomic uintptr_t to;
static atomic_long count;
static atomic_long refused;  // the number of the request that is refused; 0: none
static atomic_bool alone;    // and not all that follow

// Counts the requests made by code in [first, last), and refuses the n-th.
void failing_start(uintptr_t first, uintptr_t last, long n, int only_one) {
  count = 0;
  refused = n;
  alone = only_one != 0;
  from = first;
  to = last;
}

// The requests since the start.
long failing_stop(void) {
  to = 0;
  return count;
}

static bool refuses(const void *caller) {
  uintptr_t at = (uintptr_t)caller;
  if (at < from || at >= to) return false;
  long n = atomic_fetch_add(&count, 1) + 1;
  bool now = refused && (alone ? n == refused : n >= refused);
  if (now) errno = ENOMEM;
  return now;
}

// NOLINTBEGIN: names and parameters are the C library's
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
// NOLINTEND
