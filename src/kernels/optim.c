// SPDX-License-Identifier: Apache-2.0
#include "kernels/optim.h"

#include <math.h>

#include "base/cpu.h"
#include "base/threads.h"

// Inlined with constant flags, so that loops have no branches.
#define INLINE static inline __attribute__((always_inline))

#define TAG f32
#define T float
#define SQRT sqrtf
#include "kernels/optim.inc"

#define TAG f64
#define T double
#define SQRT sqrt
#include "kernels/optim.inc"

// Elements of a block; of a piece of half types that is converted at once.
enum { BLOCK = 16384, PIECE = 1024 };

typedef struct job {
  const ig_optim *o;
  const ig_optim_item *items;
  size_t n;
} job;

static ig_optim_item part_of(const ig_optim_item *it, int64_t begin, int64_t end, int64_t size) {
  ig_optim_item part = *it;
  int64_t at = begin * size;  // admitted: the tensor has these elements
  part.param = (char *)it->param + at;
  part.grad = (char *)it->grad + at;
  for (int i = 0; i < IG_OPTIM_STATES; i++) {
    if (it->state[i]) part.state[i] = (char *)it->state[i] + at;
  }
  part.n = end - begin;
  return part;
}

// Half types: a piece in float, and back.
static void step_half(const ig_optim *o, const ig_optim_item *it) {
  float room[2 + IG_OPTIM_STATES][PIECE];
  for (int64_t at = 0; at < it->n; at += PIECE) {
    int64_t end = at + PIECE < it->n ? at + PIECE : it->n;
    ig_optim_item half = part_of(it, at, end, 2);
    ig_optim_item wide = half;
    void **from[2 + IG_OPTIM_STATES] = {&half.param, &half.grad};
    void **to[2 + IG_OPTIM_STATES] = {&wide.param, &wide.grad};
    for (int i = 0; i < IG_OPTIM_STATES; i++) {
      from[2 + i] = &half.state[i];
      to[2 + i] = &wide.state[i];
    }
    for (int i = 0; i < 2 + IG_OPTIM_STATES; i++) {
      if (!*from[i]) continue;
      ig_elem_widen(o->elem, *from[i], room[i], half.n);
      *to[i] = room[i];
    }
    step_f32(o, &wide);
    for (int i = 0; i < 2 + IG_OPTIM_STATES; i++) {
      if (*from[i] && (i != 1 || o->unscale != 1))
        ig_elem_narrow(o->elem, room[i], *from[i], half.n);
    }
  }
}

static void step_part(const ig_optim *o, const ig_optim_item *it) {
  if (o->elem == IG_ELEM_F32) {
    step_f32(o, it);
  } else if (o->elem == IG_ELEM_F64) {
    step_f64(o, it);
  } else {
    step_half(o, it);
  }
}

// The last item whose blocks begin at `block` or before.
static size_t item_at(const job *j, int64_t block) {
  size_t low = 0;
  size_t high = j->n;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (j->items[middle].first <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

static void run_blocks(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t size = (int64_t)ig_elem_size(j->o->elem);
  size_t i = item_at(j, begin);
  for (int64_t block = begin; block < end; block++) {
    while (i + 1 < j->n && j->items[i + 1].first <= block) i++;
    const ig_optim_item *it = &j->items[i];
    int64_t from = (block - it->first) * BLOCK;
    int64_t to = from + BLOCK < it->n ? from + BLOCK : it->n;
    ig_optim_item part = part_of(it, from, to, size);
    step_part(j->o, &part);
  }
}

void ig_optim_run(const ig_optim *o, ig_optim_item *items, size_t n) {
  int64_t blocks = 0;
  for (size_t i = 0; i < n; i++) {
    items[i].first = blocks;
    blocks += items[i].n / BLOCK + (items[i].n % BLOCK != 0);
  }
  job j = {o, items, n};
  ig_parallel_for(blocks, 1, run_blocks, &j);
}
