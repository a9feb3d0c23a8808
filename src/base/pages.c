// SPDX-License-Identifier: Apache-2.0
// Giving back pages of mapped files. Whether a page is still that of the file is asked from the
// system (/proc/self/pagemap), because a private mapping may have been written to: such pages, and
// memory that is of no file, stay.
#define _GNU_SOURCE
#include "base/blocks.h"

#if defined(__linux__)
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

enum { ENTRIES = 512 };  // pages that are asked for at a time

// An entry of the page map: present, and a page of a file or of shared memory.
static bool is_clean(uint64_t entry) {
  return (entry >> 63 & 1) && (entry >> 61 & 1);
}

static void forget_run(char *pages, size_t from, size_t to, size_t size) {
  if (from >= to) return;
  char *start = pages + from * size;  // admitted: whole pages of the caller's block
  (void)madvise(start, (to - from) * size, MADV_DONTNEED);
}

void ig_pages_forget(const void *p, size_t n) {
  long known = sysconf(_SC_PAGESIZE);
  if (known <= 0 || n == 0) return;
  size_t size = (size_t)known;
  uintptr_t first = ((uintptr_t)p + size - 1) / size;  // whole pages alone
  char *start = (char *)p + (first * size - (uintptr_t)p);
  uintptr_t end = ((uintptr_t)p + n) / size;
  int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  uint64_t entries[ENTRIES];
  for (uintptr_t at = first; at < end; at += ENTRIES) {
    size_t pages = end - at < ENTRIES ? (size_t)(end - at) : ENTRIES;
    size_t bytes = ig_mem_mul(pages, sizeof *entries);
    off_t place = (off_t)ig_mem_mul(at, sizeof *entries);
    if (pread(fd, entries, bytes, place) != (ssize_t)bytes) break;
    char *here = start + (at - first) * size;
    size_t from = 0;
    for (size_t i = 0; i < pages; i++) {
      if (is_clean(entries[i])) continue;
      forget_run(here, from, i, size);
      from = i + 1;
    }
    forget_run(here, from, pages, size);
  }
  (void)close(fd);
}
#else
void ig_pages_forget(const void *p, size_t n) {
  (void)p;
  (void)n;
}
#endif
