// SPDX-License-Identifier: Apache-2.0
// Attention in 16-bit floats: one head at a time is converted into a buffer, computed in float, and
// rounded once at the end. A range of queries converts all of its keys and values.
#include <stdatomic.h>

#include "base/threads.h"
#include "kernels/attention.h"
#include "kernels/attention_core.h"
#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

enum { BLOCK = 48 };  // queries per block: ranges are made of whole blocks

typedef struct job {
  ig_elem e;
  const ig_attention_shape *s;
  const ig_attention_grads *g;
  const uint16_t *q, *k, *v, *grad, *out_in;
  const float *lse_in;
  uint16_t *out, *dq, *dk, *dv;
  float *lse;
  int64_t ranges;
  atomic_bool failed;  // no memory
} job;

static void widen(ig_elem e, int64_t rows, int64_t n, const uint16_t *src, int64_t rs, float *dst) {
  for (int64_t i = 0; i < rows; i++) ig_elem_widen(e, src + i * rs, dst + i * n, n);
}

static void narrow(ig_elem e, int64_t rows, int64_t n, const float *src, uint16_t *dst,
                   int64_t rs) {
  for (int64_t i = 0; i < rows; i++) ig_elem_narrow(e, src + i * n, dst + i * rs, n);
}

// The shape of one part, with contiguous operands.
static ig_attention_shape part_shape(const ig_attention_shape *s, const ig_attention_part *p) {
  ig_attention_shape one = *s;
  one.batch = one.heads = 1;
  one.lq = p->lq;
  one.q_first += p->first;
  one.q = one.k = (ig_attention_strides){0, 0, s->d};
  one.v = one.out = (ig_attention_strides){0, 0, s->dv};
  if (s->mask) {
    int64_t at = p->batch * s->mask_batch + p->head * s->mask_head + p->first * s->mask_row;
    one.mask = (const float *)s->mask + at;
  }
  return one;
}

// Elements of the widened operands and result of a part.
static size_t room_of(const ig_attention_shape *s, int64_t lq) {
  return (size_t)((lq + s->lk) * (s->d + s->dv));
}

void ig_attention_need_half(const ig_attention_shape *s, ig_need *need) {
  if (ig_attention_is_empty(s)) return;
  int64_t lq = ig_attention_longest(s, BLOCK);
  ig_need_each(need, IG_SCRATCH_ATTENTION_WIDE, ig_mem_mul(room_of(s, lq), sizeof(float)));
  ig_attention_need_part_f32(s, lq, need);
}

static void forward_task(void *arg, int64_t task) {
  job *j = arg;
  const ig_attention_shape *s = j->s;
  ig_attention_part p = ig_attention_part_of(s, task, j->ranges, BLOCK);
  float *q = ig_scratch_array(IG_SCRATCH_ATTENTION_WIDE, room_of(s, p.lq), sizeof *q);
  if (!q) {
    atomic_store(&j->failed, true);
    return;
  }
  float *k = q + p.lq * s->d;
  float *v = k + s->lk * s->d;
  float *out = v + s->lk * s->dv;
  widen(j->e, p.lq, s->d, j->q + ig_attention_at(s->q, &p, p.first), s->q.row, q);
  widen(j->e, s->lk, s->d, j->k + ig_attention_at(s->k, &p, 0), s->k.row, k);
  widen(j->e, s->lk, s->dv, j->v + ig_attention_at(s->v, &p, 0), s->v.row, v);
  float *lse = j->lse ? j->lse + (p.batch * s->heads + p.head) * s->lq + p.first : NULL;
  ig_attention_shape one = part_shape(s, &p);
  if (!ig_attention_f32(&one, q, k, v, out, lse)) {
    atomic_store(&j->failed, true);
    return;
  }
  narrow(j->e, p.lq, s->dv, out, j->out + ig_attention_at(s->out, &p, p.first), s->out.row);
}

static bool forward(job *j) {
  if (ig_attention_is_empty(j->s)) return true;
  j->ranges = ig_attention_ranges(j->s, BLOCK);
  ig_parallel_tasks(j->s->batch * j->s->heads * j->ranges, forward_task, j);
  return !atomic_load(&j->failed);
}

// NOLINTBEGIN(readability-non-const-parameter): written through the job
bool ig_attention_f16(const ig_attention_shape *s, const uint16_t *q, const uint16_t *k,
                      const uint16_t *v, uint16_t *out, float *logsumexp) {
  job j = {.e = IG_ELEM_F16, .s = s, .q = q, .k = k, .v = v, .out = out, .lse = logsumexp};
  return forward(&j);
}

bool ig_attention_bf16(const ig_attention_shape *s, const uint16_t *q, const uint16_t *k,
                       const uint16_t *v, uint16_t *out, float *logsumexp) {
  job j = {.e = IG_ELEM_BF16, .s = s, .q = q, .k = k, .v = v, .out = out, .lse = logsumexp};
  return forward(&j);
}

// NOLINTEND(readability-non-const-parameter)

// ---- backward ----

// The converted operands of one head: five inputs, three gradients.
typedef struct wide {
  float *q, *k, *v, *out, *grad, *dq, *dk, *dv;
} wide;

static bool wide_get(const ig_attention_shape *s, wide *w) {
  int64_t query = s->lq * s->d;
  int64_t key = s->lk * s->d;
  int64_t value = s->lk * s->dv;
  int64_t result = s->lq * s->dv;
  size_t count = (size_t)(2 * (query + key + value + result));
  float *at = ig_scratch_array(IG_SCRATCH_ATTENTION_WIDE, count, sizeof *at);
  if (!at) return false;
  w->q = at;
  w->dq = w->q + query;
  w->k = w->dq + query;
  w->dk = w->k + key;
  w->v = w->dk + key;
  w->dv = w->v + value;
  w->out = w->dv + value;
  w->grad = w->out + result;
  return true;
}

static bool backward_head(job *j, const ig_attention_part *p) {
  const ig_attention_shape *s = j->s;
  const ig_attention_grads *g = j->g;
  wide w;
  if (!wide_get(s, &w)) return false;
  widen(j->e, s->lq, s->d, j->q + ig_attention_at(s->q, p, 0), s->q.row, w.q);
  widen(j->e, s->lk, s->d, j->k + ig_attention_at(s->k, p, 0), s->k.row, w.k);
  widen(j->e, s->lk, s->dv, j->v + ig_attention_at(s->v, p, 0), s->v.row, w.v);
  widen(j->e, s->lq, s->dv, j->out_in + ig_attention_at(s->out, p, 0), s->out.row, w.out);
  widen(j->e, s->lq, s->dv, j->grad + ig_attention_at(g->grad_out, p, 0), g->grad_out.row, w.grad);
  ig_attention_shape one = part_shape(s, p);
  ig_attention_grads og = {one.out, one.q, one.k, one.v};
  const float *lse = j->lse_in + (p->batch * s->heads + p->head) * s->lq;
  if (!ig_attention_backward_f32(&one, &og, w.grad, w.q, w.k, w.v, w.out, lse, w.dq, w.dk, w.dv))
    return false;
  narrow(j->e, s->lq, s->d, w.dq, j->dq + ig_attention_at(g->dq, p, 0), g->dq.row);
  narrow(j->e, s->lk, s->d, w.dk, j->dk + ig_attention_at(g->dk, p, 0), g->dk.row);
  narrow(j->e, s->lk, s->dv, w.dv, j->dv + ig_attention_at(g->dv, p, 0), g->dv.row);
  return true;
}

static void backward_task(void *arg, int64_t task) {
  job *j = arg;
  ig_attention_part p = {task / j->s->heads, task % j->s->heads, 0, j->s->lq};
  if (!backward_head(j, &p)) atomic_store(&j->failed, true);
}

static bool backward(job *j) {
  if (ig_attention_is_empty(j->s)) return true;
  ig_parallel_tasks(j->s->batch * j->s->heads, backward_task, j);
  return !atomic_load(&j->failed);
}

// NOLINTNEXTLINE(readability-function-size): the operands of the operator, one by one
bool ig_attention_backward_f16(const ig_attention_shape *s, const ig_attention_grads *g,
                               const uint16_t *grad_out, const uint16_t *q, const uint16_t *k,
                               const uint16_t *v, const uint16_t *out, const float *logsumexp,
                               uint16_t *dq, uint16_t *dk, uint16_t *dv) {
  job j = {.e = IG_ELEM_F16, .s = s, .g = g, .q = q, .k = k, .v = v, .grad = grad_out};
  j.out_in = out, j.lse_in = logsumexp, j.dq = dq, j.dk = dk, j.dv = dv;
  return backward(&j);
}

// NOLINTNEXTLINE(readability-function-size): the operands of the operator, one by one
bool ig_attention_backward_bf16(const ig_attention_shape *s, const ig_attention_grads *g,
                                const uint16_t *grad_out, const uint16_t *q, const uint16_t *k,
                                const uint16_t *v, const uint16_t *out, const float *logsumexp,
                                uint16_t *dq, uint16_t *dk, uint16_t *dv) {
  job j = {.e = IG_ELEM_BF16, .s = s, .g = g, .q = q, .k = k, .v = v, .grad = grad_out};
  j.out_in = out, j.lse_in = logsumexp, j.dq = dq, j.dk = dk, j.dv = dv;
  return backward(&j);
}
