// SPDX-License-Identifier: Apache-2.0
// The parts of qrow.c with instructions of their own.
#ifndef KERNELS_QROW_KERNELS_H_
#define KERNELS_QROW_KERNELS_H_

#include "kernels/qrow.h"

enum { IG_QDEPTH_LANES = 16 };  // channels of a block

#if defined(__x86_64__)
// n is a multiple of 16.
void ig_requantize_rows_avx2(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                             int64_t col, int64_t n, uint8_t *out, int64_t to);
// n is a multiple of 16.
void ig_qbinary_avx2(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                     const uint8_t *y, int64_t n, uint8_t *out);
// channels are a multiple of IG_QDEPTH_LANES.
void ig_qdepth_avx2(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
                    const int32_t *first, int32_t *sums);
#elif defined(__aarch64__)  // the same
void ig_requantize_rows_neon(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                             int64_t col, int64_t n, uint8_t *out, int64_t to);
void ig_qbinary_neon(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                     const uint8_t *y, int64_t n, uint8_t *out);
void ig_qdepth_neon(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
                    const int32_t *first, int32_t *sums);
#endif

#endif
