// SPDX-License-Identifier: Apache-2.0
// How fast one thread can multiply and add f32 numbers: what kernels are measured against.
#ifndef KERNELS_PEAK_H_
#define KERNELS_PEAK_H_

#include <stdint.h>

// Multiplications and additions per second at the current CPU level, by a loop of nothing else:
// the best of several tries, which take about 2 ms in all.
double ig_peak_flops(void);

// The loops: 2 * IG_PEAK_SUMS * n * (floats of a vector) operations. The sum of all is stored.
enum { IG_PEAK_SUMS = 12 };  // enough that none waits for its predecessor
typedef void ig_peak_fn(int64_t n, float *sum);
ig_peak_fn ig_peak_avx2;
ig_peak_fn ig_peak_avx512;

#endif
