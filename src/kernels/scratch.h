// SPDX-License-Identifier: Apache-2.0
// Scratch memory of the calling thread: a few named buffers that only grow, kept until the thread
// ends. A buffer stays valid until the same thread asks for the same slot again; code that is
// called while a slot is in use must use another slot, so every kernel family has its own.
#ifndef KERNELS_SCRATCH_H_
#define KERNELS_SCRATCH_H_

#include <stddef.h>

#include "base/mem.h"

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
  IG_SCRATCH_NORM,
  IG_SCRATCH_FFT,
  IG_SCRATCH_SOFTMAX,
  IG_SCRATCH_SLOTS,
} ig_scratch_slot;

// At least `bytes`, aligned to 64, uninitialized; NULL: out of memory.
void *ig_scratch_get(ig_scratch_slot slot, size_t bytes);
void *ig_scratch_array(ig_scratch_slot slot, size_t n, size_t size);  // The same for n elements.

// Uninitialized memory for n elements that outlives the call, to be freed with free(); NULL: out of
// memory.
void *ig_kernel_array(size_t n, size_t size);

// For tests: larger requests fail from now on, in every thread, as if out of memory.
void ig_scratch_limit(size_t bytes);

// Frees all buffers of the calling thread (they are reallocated on demand).
void ig_scratch_free(void);

#endif
