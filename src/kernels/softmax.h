// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax over the middle of dense [outer, n, inner], and their backward forms.
// Float types; half types compute in f32. y may be x, dx may be dy. A row that is all -inf gives
// NaN, as in PyTorch; the safe form gives zeros there (attention with fully masked rows).
#ifndef KERNELS_SOFTMAX_H_
#define KERNELS_SOFTMAX_H_

#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

// What any of the functions below needs.
void ig_softmax_need(ig_elem e, ig_axis a, ig_need *need);

// x[outer][n][inner] -> y[outer][n][inner]
void ig_softmax(ig_elem e, const void *x, void *y, ig_axis a);
void ig_softmax_safe(ig_elem e, const void *x, void *y, ig_axis a);
void ig_softmax_log(ig_elem e, const void *x, void *y, ig_axis a);

// dx = y * (dy - sum(y * dy)); y is the softmax's result. dy, y, dx: [outer][n][inner]
void ig_softmax_backward(ig_elem e, const void *dy, const void *y, void *dx, ig_axis a);
// dx = dy - exp(y) * sum(dy); y is the log-softmax's result.
void ig_softmax_log_backward(ig_elem e, const void *dy, const void *y, void *dx, ig_axis a);

// log(sum(exp(x))): x[outer][n][inner] -> y[outer][inner]; n == 0 and all -inf give -inf.
void ig_softmax_logsumexp(ig_elem e, const void *x, void *y, ig_axis a);

#endif
