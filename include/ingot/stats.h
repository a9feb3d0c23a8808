// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor in a few numbers.
#ifndef INGOT_STATS_H_
#define INGOT_STATS_H_

#include "ingot/tensor.h"

IG_BEGIN_DECLS

enum { IG_STATS_BINS = 16 };

// Of complex numbers the magnitudes count, of quantized ones the numbers that they mean. Extremes,
// mean and deviation are those of the finite elements, and 0 if there are none.
typedef struct ig_stats {
  int64_t count;
  int64_t zeros;
  int64_t nans;
  int64_t infinities;
  double min;
  double max;
  double mean;
  double deviation;             // of the population
  int64_t bins[IG_STATS_BINS];  // finite elements, from min to max in equal steps
  uint64_t hash;                // equal for tensors of equal sizes, dtype and elements
} ig_stats;

// Real tensors only.
IG_API ig_status ig_tensor_stats(ig_ctx *c, ig_tensor *t, ig_stats *out);

IG_END_DECLS

#endif
