// SPDX-License-Identifier: Apache-2.0
// Memory for tensor data. Faulting in fresh pages costs more than most operators that fill them,
// and a model allocates the same few sizes repeatedly: large blocks from the C library's allocator
// are cached after use, at most IG_BLOCKS_KEPT bytes, and reused. Any thread may call these
// functions.
#ifndef BASE_BLOCKS_H_
#define BASE_BLOCKS_H_

#include "base/mem.h"

enum {
  IG_BLOCKS_LEAST = 64 << 10,  // smaller ones are left to the allocator
  IG_BLOCKS_KEPT = 256 << 20,
  IG_BLOCKS_SHARE = 16,  // fraction of the machine's memory, if that is less
};

// Like the allocator's own functions, which are used if it is not the C library's. Not zeroed. A
// block must be freed with the size it was allocated with.
void *ig_block_new(ig_alloc a, size_t size);  // NULL when out of memory.
void ig_block_free(ig_alloc a, void *p, size_t size);

// Asks the system for huge pages where it has them: with 4 kB pages, page faults take a tenth of
// the time of a large matrix product, and most of the time of touching new memory.
void ig_pages_huge(void *p, size_t size);

// Memory that was read and is not needed for now: pages of mapped files leave the process, and come
// back from the file when they are read again. Everything else stays as it is, also pages of a file
// that were written to.
void ig_pages_forget(const void *p, size_t n);

size_t ig_blocks_kept(void);  // Bytes cached now; ig_memory_release frees them.

#endif
