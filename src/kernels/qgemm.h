// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers with exact 32-bit sums, for quantized linear layers and convolutions.
//
// One operand is unsigned, the other (the weights, packed once) signed; zero points are taken out
// of the sums, so the operands stay 8 bits wide. The rows of the unsigned operand are given by the
// caller block by block, so a convolution never writes its whole matrix of patches.
//
// AVX2 multiplies four pairs by one instruction whose sums of two products saturate at 16 bits. It
// is used for blocks that cannot reach this bound (all blocks of activations of 7 bits, which
// PyTorch's settings for x86 give); others are multiplied as 16 bits. AVX-512 VNNI and NEON have no
// bound.
#ifndef KERNELS_QGEMM_H_
#define KERNELS_QGEMM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Weights [n][k], packed. Immutable: any number of threads may use them.
typedef struct ig_qweight ig_qweight;
// w[n * k], zero[n]: the integers and a zero point for each row. NULL: out of memory.
ig_qweight *ig_qweight_create(int64_t n, int64_t k, const int8_t *w, const int32_t *zero);
void ig_qweight_free(ig_qweight *w);  // NULL is allowed.

// Rows [first, first + rows) of the unsigned operand: written to `room`, `*ld` elements from row to
// row, of which those from k on have any value; or, if k is a multiple of 4, anywhere else, with
// *ld changed. Returns the first row.
typedef const uint8_t *ig_qrow_fn(void *user, int64_t first, int64_t rows, uint8_t *room,
                                  int64_t *ld);
// Sums of rows [first, first + rows) and columns [col, col + cols), `ld` from row to row.
typedef void ig_qdone_fn(void *user, int64_t first, int64_t rows, int64_t col, int64_t cols,
                         const int32_t *sums, int64_t ld);
typedef struct ig_qproduct {
  const ig_qweight *w;
  int64_t m;
  int32_t zero;  // of the unsigned operand
  ig_qrow_fn *fill;
  ig_qdone_fn *done;
  void *user;
} ig_qproduct;
// Calls fill and done from several threads. False: out of memory, nothing was computed or some
// blocks are missing.
bool ig_qgemm(const ig_qproduct *p);

#endif
