// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention: out = softmax(scale * q k^T + mask) v, by blocks of queries and
// keys with a running maximum and sum, so that the score matrix is never stored.
//
// Shapes: q [batch, heads, lq, d], k [batch, heads, lk, d], v [batch, heads, lk, dv], out [batch,
// heads, lq, dv]; every operand has strides for batch, head and row (elements); columns are
// contiguous. A stride of 0 shares an operand (heads that share keys, say), for inputs only.
// Causal: query i sees keys 0..i (aligned to the upper left, as PyTorch). A row that sees no key
// (all scores -inf) gives zeros, and logsumexp 0 (as PyTorch). The only failure is lack of scratch
// memory: false is returned, and the results are undefined. Threads over batch * heads * query
// blocks (backward: batch * heads).
#ifndef KERNELS_ATTENTION_H_
#define KERNELS_ATTENTION_H_

#include <stdbool.h>
#include <stdint.h>

#include "kernels/scratch.h"

typedef struct ig_attention_strides {
  int64_t batch, head, row;
} ig_attention_strides;

typedef struct ig_attention_shape {
  int64_t batch, heads, lq, lk, d, dv;  // dv: columns of v and out
  double scale;                         // usually 1 / sqrt(d)
  bool causal;
  bool nan_rows;    // a query that sees no key gives NaN, as a softmax would; otherwise zeros
  int64_t q_first;  // causal: query i sees keys 0..q_first + i; usually 0
  ig_attention_strides q, k, v, out;
  // Additive mask in the compute type (float, double for f64); NULL for none.
  const void *mask;
  int64_t mask_batch, mask_head, mask_row, mask_col;  // strides, 0 broadcasts
} ig_attention_shape;

// logsumexp [batch, heads, lq] contiguous, float (double for f64); NULL if not wanted.
bool ig_attention_f32(const ig_attention_shape *s, const float *q, const float *k, const float *v,
                      float *out, float *logsumexp);
bool ig_attention_f64(const ig_attention_shape *s, const double *q, const double *k,
                      const double *v, double *out, double *logsumexp);
bool ig_attention_f16(const ig_attention_shape *s, const uint16_t *q, const uint16_t *k,
                      const uint16_t *v, uint16_t *out, float *logsumexp);
bool ig_attention_bf16(const ig_attention_shape *s, const uint16_t *q, const uint16_t *k,
                       const uint16_t *v, uint16_t *out, float *logsumexp);

// What the functions above need; only the sizes in s are read.
void ig_attention_need_f32(const ig_attention_shape *s, ig_need *need);
void ig_attention_need_f64(const ig_attention_shape *s, ig_need *need);
void ig_attention_need_half(const ig_attention_shape *s, ig_need *need);

// Gradients of sum(grad_out * out); strides of the gradients and of grad_out. The input strides in
// `s` may not share heads here: dk and dv are written, one block per (batch, head).
typedef struct ig_attention_grads {
  ig_attention_strides grad_out, dq, dk, dv;
} ig_attention_grads;

bool ig_attention_backward_f32(const ig_attention_shape *s, const ig_attention_grads *g,
                               const float *grad_out, const float *q, const float *k,
                               const float *v, const float *out, const float *logsumexp, float *dq,
                               float *dk, float *dv);
bool ig_attention_backward_f64(const ig_attention_shape *s, const ig_attention_grads *g,
                               const double *grad_out, const double *q, const double *k,
                               const double *v, const double *out, const double *logsumexp,
                               double *dq, double *dk, double *dv);
bool ig_attention_backward_f16(const ig_attention_shape *s, const ig_attention_grads *g,
                               const uint16_t *grad_out, const uint16_t *q, const uint16_t *k,
                               const uint16_t *v, const uint16_t *out, const float *logsumexp,
                               uint16_t *dq, uint16_t *dk, uint16_t *dv);
bool ig_attention_backward_bf16(const ig_attention_shape *s, const ig_attention_grads *g,
                                const uint16_t *grad_out, const uint16_t *q, const uint16_t *k,
                                const uint16_t *v, const uint16_t *out, const float *logsumexp,
                                uint16_t *dq, uint16_t *dk, uint16_t *dv);

#endif
