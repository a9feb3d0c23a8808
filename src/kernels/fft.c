// SPDX-License-Identifier: Apache-2.0
// Fourier transforms: Stockham's algorithm for lengths whose prime factors are small (it needs no
// reordering: every pass writes the other of two buffers), Bluestein's for the others (the
// transform as a convolution, done by transforms whose length is a power of 2).
#include "kernels/fft.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/scratch.h"
#include "kernels/transpose.h"

enum { MOST_FACTORS = 64, LARGEST_PRIME = 61, GRAIN = 8192, TOGETHER = 8, TILE = 64 };

// Factors of n, fours first. Their number, or 0 when a prime is too large for passes of p * p
// steps.
static int factors_of(int64_t n, int *factor) {
  int count = 0;
  while (n % 4 == 0) {
    factor[count++] = 4;
    n /= 4;
  }
  for (int p = 2; p <= LARGEST_PRIME && n > 1; p++) {
    for (; n % p == 0; n /= p) factor[count++] = p;
  }
  return n == 1 ? count : 0;
}

// exp(-pi i k / half); quarters of a turn are exact.
static void root(int64_t k, int64_t half, double *re, double *im) {
  if (2 * k % half == 0) {
    int64_t quarter = 2 * k / half % 4;
    *re = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
    *im = quarter == 1 ? -1 : quarter == 3 ? 1 : 0;
    return;
  }
  double angle = 3.14159265358979323846 * (double)k / (double)half;
  *re = cos(angle);
  *im = -sin(angle);
}

#define T float
#define NAME(name) name##_f32
#define TRANSFORM ig_fft_c64
#define TRANSFORM_REAL ig_fft_f32
#include "kernels/fft.inc"

#define T double
#define NAME(name) name##_f64
#define TRANSFORM ig_fft_c128
#define TRANSFORM_REAL ig_fft_f64
#include "kernels/fft.inc"
