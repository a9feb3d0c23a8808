// SPDX-License-Identifier: Apache-2.0
// Matrices of recurrent networks, packed for many products: no scratch memory is needed.
#ifndef OPS_NN_RNN_MATRIX_H_
#define OPS_NN_RNN_MATRIX_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Floats of a matrix [n, k], a multiple of 16; they begin at a multiple of 64 bytes.
size_t ig_rnn_matrix_floats(int64_t n, int64_t k);
void ig_rnn_matrix_pack(int64_t n, int64_t k, const float *w, int64_t row_stride,
                        int64_t column_stride, float *to);
// y [m, n] += x [m, k] by the matrix, transposed. Threads share it. backwards: from the last
// columns to the first. Where a matrix just fills a cache, a product that goes the other way than
// the one before finds most of it there. The sums are the same.
void ig_rnn_matrix_add(int64_t m, int64_t n, int64_t k, const float *x, const float *matrix,
                       bool backwards, float *y);

#endif
