// SPDX-License-Identifier: Apache-2.0
// Stands before the C library's allocator. A program that links this counts all of its requests.
#include "allocations.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t count;

size_t test_allocations(void) {
  return count;
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// NOLINTBEGIN: names and parameters are the C library's
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&count, 1);
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  atomic_fetch_add(&count, 1);
  return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
  atomic_fetch_add(&count, 1);
  return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&count, 1);
  return __libc_memalign(alignment, size);
}
// NOLINTEND

#endif
