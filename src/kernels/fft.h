// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of any length.
#ifndef KERNELS_FFT_H_
#define KERNELS_FFT_H_

#include <stdbool.h>
#include <stdint.h>

// In place over the middle dimension of x [outer, n, inner], pairs of (real, imaginary) parts: X[k]
// = scale * sum_j x[j] exp(-+ 2 pi i j k / n), minus when forward. False: out of memory, and x is
// undefined. n is at least 1.
bool ig_fft_c64(float *x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale);
bool ig_fft_c128(double *x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale);

// Real rows x [lines, n], n even, and their transforms y [lines, n / 2 + 1], pairs of parts: y from
// x forward, x from y backward, where y's missing half is the conjugate of the given one and
// imaginary parts that must be 0 are treated as 0. Otherwise as above.
bool ig_fft_f32(float *x, float *y, int64_t lines, int64_t n, bool forward, double scale);
bool ig_fft_f64(double *x, double *y, int64_t lines, int64_t n, bool forward, double scale);

#endif
