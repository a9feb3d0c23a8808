// SPDX-License-Identifier: Apache-2.0
// The longest common subsequence of two sequences.
#ifndef MODEL_ALIGN_H_
#define MODEL_ALIGN_H_

#include "base/mem.h"

enum { IG_UNALIGNED = -1 };

// partner[i] = the index in b that corresponds to index i of a, or IG_UNALIGNED; indices are
// increasing. The alignment is optimal if the sequences differ in at most some thousand places,
// otherwise nearly optimal: time is bounded by a multiple of (n + m). False: out of memory.
bool ig_align(ig_alloc alloc, const size_t *a, size_t n, const size_t *b, size_t m,
              int64_t *partner);

#endif
