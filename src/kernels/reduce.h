// SPDX-License-Identifier: Apache-2.0
// Reductions over the middle of [outer, n, inner]; results are dense [outer, inner].
// Floats: sums are pairwise, half types accumulate in f32. Integers accumulate in int64 with
// wrap-around. n == 0 gives the neutral element (sum 0, prod 1, any false, all true, mean NaN);
// max, min and the arg forms need n > 0. NaN wins in max, min and their indices, as in PyTorch; of
// equal candidates the first index is given.
#ifndef KERNELS_REDUCE_H_
#define KERNELS_REDUCE_H_

#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

typedef enum ig_reduce_op {
  IG_REDUCE_SUM,   // out: the same float type; I64 for integers and bool
  IG_REDUCE_PROD,  // out: as SUM
  IG_REDUCE_MAX,   // out: the input's type
  IG_REDUCE_MIN,
  IG_REDUCE_ANY,  // out: BOOL; NaN counts as true
  IG_REDUCE_ALL,
  IG_REDUCE_MEAN,  // floats only; out: as SUM
} ig_reduce_op;

// x[outer][n][inner] of type e -> y[outer][inner] of type out (one of those named above).
// False: this pair of types is not one of them, and nothing was written.
bool ig_reduce(ig_reduce_op op, ig_elem e, const void *x, ig_elem out, void *y, ig_axis a);
bool ig_reduce_has(ig_reduce_op op, ig_elem e, ig_elem out);

// What reductions of this shape need, but for the arg forms and variances, which need nothing.
void ig_reduce_need(ig_elem e, ig_axis a, ig_need *need);

// Index of the largest (or smallest) element per row: index[outer][inner]; value[outer][inner] of
// type e may be NULL.
void ig_reduce_argmax(ig_elem e, const void *x, void *value, int64_t *index, ig_axis a);
void ig_reduce_argmin(ig_elem e, const void *x, void *value, int64_t *index, ig_axis a);

// Float types. Two passes per row: mean, then squared distances. var = m2 / max(0, n - correction).
// mean[outer][inner] and var[outer][inner] of type e; either may be NULL.
void ig_reduce_var(ig_elem e, const void *x, void *mean, void *var, double correction, ig_axis a);

// Float types. (sum |x|^p)^(1/p); p = 0 counts nonzeros, p = inf and -inf are max and min of |x|.
void ig_reduce_norm(ig_elem e, const void *x, void *y, double p, ig_axis a);

#endif
