// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of complex lines, of any length.
#ifndef KERNELS_FFT_H_
#define KERNELS_FFT_H_

#include <stdbool.h>
#include <stdint.h>

// In place over the middle dimension of x [outer, n, inner], pairs of (real, imaginary) parts:
// X[k] = scale * sum_j x[j] exp(-+ 2 pi i j k / n), minus when forward. False: memory is out, and x
// is undefined. n is at least 1.
bool ig_fft_c64(float *x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale);
bool ig_fft_c128(double *x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale);

#endif
