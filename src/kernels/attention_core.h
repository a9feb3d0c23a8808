// SPDX-License-Identifier: Apache-2.0
// Shared by the element types of attention: from a task's number to its (batch, head) and range of
// queries, and the location of their operands.
#ifndef KERNELS_ATTENTION_CORE_H_
#define KERNELS_ATTENTION_CORE_H_

#include "base/threads.h"
#include "kernels/attention.h"

typedef struct ig_attention_part {
  int64_t batch, head;
  int64_t first, lq;  // range of queries
} ig_attention_part;

// Ranges per head, such that there are several tasks for every thread; a range has whole blocks.
static inline int64_t ig_attention_ranges(const ig_attention_shape *s, int64_t block) {
  int64_t heads = s->batch * s->heads;
  int64_t threads = ig_threads_inside() ? 1 : ig_threads_get();
  int64_t blocks = (s->lq + block - 1) / block;
  int64_t want = threads < 2 || heads >= 2 * threads ? 1 : (2 * threads + heads - 1) / heads;
  return want < blocks ? want : blocks < 1 ? 1 : blocks;
}

static inline ig_attention_part ig_attention_part_of(const ig_attention_shape *s, int64_t task,
                                                     int64_t ranges, int64_t block) {
  int64_t head = task / ranges;
  int64_t range = task % ranges;
  int64_t blocks = (s->lq + block - 1) / block;
  int64_t begin = blocks * range / ranges * block;
  int64_t end = blocks * (range + 1) / ranges * block;
  if (begin > s->lq) begin = s->lq;
  if (end > s->lq) end = s->lq;
  return (ig_attention_part){head / s->heads, head % s->heads, begin, end - begin};
}

// Queries of the longest range.
static inline int64_t ig_attention_longest(const ig_attention_shape *s, int64_t block) {
  int64_t ranges = ig_attention_ranges(s, block);
  int64_t most = 0;
  for (int64_t i = 0; i < ranges; i++) {
    int64_t lq = ig_attention_part_of(s, i, ranges, block).lq;
    if (lq > most) most = lq;
  }
  return most;
}

// What a kernel needs for a part of lq queries in every thread.
void ig_attention_need_part_f32(const ig_attention_shape *s, int64_t lq, ig_need *need);
void ig_attention_need_part_f64(const ig_attention_shape *s, int64_t lq, ig_need *need);

static inline int64_t ig_attention_at(ig_attention_strides t, const ig_attention_part *p,
                                      int64_t row) {
  return p->batch * t.batch + p->head * t.head + row * t.row;
}

static inline bool ig_attention_is_empty(const ig_attention_shape *s) {
  return s->batch <= 0 || s->heads <= 0;
}

#endif
