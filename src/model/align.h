// SPDX-License-Identifier: Apache-2.0
// The longest common part of two sequences.
#ifndef MODEL_ALIGN_H_
#define MODEL_ALIGN_H_

#include "base/mem.h"

enum { IG_UNALIGNED = -1 };

// partner[i] = the place in b that place i of a stands for, or IG_UNALIGNED; places rise. The two
// are as alike as can be where they differ in at most some thousand places, otherwise nearly so:
// time is bounded by a multiple of (n + m). False: out of memory.
bool ig_align(ig_alloc alloc, const size_t *a, size_t n, const size_t *b, size_t m,
              int64_t *partner);

#endif
