// SPDX-License-Identifier: Apache-2.0
// Memory for the bytes of tensors. Fresh pages cost more than most operators that fill them, and a
// model asks for the same few sizes over and over: large blocks of the C library's allocator are
// kept after use, IG_BLOCKS_KEPT bytes at most, and handed out again. Every thread may call.
#ifndef BASE_BLOCKS_H_
#define BASE_BLOCKS_H_

#include "base/mem.h"

enum {
  IG_BLOCKS_LEAST = 64 << 10,  // smaller ones are the allocator's own business
  IG_BLOCKS_KEPT = 256 << 20,
  IG_BLOCKS_SHARE = 16,  // of the machine's memory, if that is less
};

// Like the allocator's own, which is asked where it is not the C library's. Not zeroed. A block
// must be freed with the size that it was made with.
void *ig_block_new(ig_alloc a, size_t size);  // NULL when out of memory.
void ig_block_free(ig_alloc a, void *p, size_t size);

size_t ig_blocks_kept(void);  // Bytes that are kept now; ig_memory_release gives them back.

#endif
