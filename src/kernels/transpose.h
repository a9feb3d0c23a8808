// SPDX-License-Identifier: Apache-2.0
// Moving a matrix between row-major and column-major memory, tile by tile, so that every cache line
// is read and written completely.
#ifndef KERNELS_TRANSPOSE_H_
#define KERNELS_TRANSPOSE_H_

#include <stdint.h>

// to[j * to_stride + i * size] = from[i * from_stride + j * size] for i in [0, n), j in [0, m);
// strides in bytes, size 1, 2, 4, 8 or 16.
void ig_transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                  int64_t m, int64_t size);

// Whole squares of 8 (size 4) or 4 (size 8) elements; n and m are multiples of that.
void ig_transpose_4_avx2(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m);
void ig_transpose_8_avx2(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m);

// The same for squares of 4 (size 4) or 2 (size 8).
void ig_transpose_4_neon(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m);
void ig_transpose_8_neon(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m);

#endif
