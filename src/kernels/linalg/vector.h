// SPDX-License-Identifier: Apache-2.0
// Vectors and columns of matrices: the inner loops of the factorizations. Matrices are
// column-major, lda elements from a column to the next.
#ifndef KERNELS_LINALG_VECTOR_H_
#define KERNELS_LINALG_VECTOR_H_

#include <stdint.h>

#define IG_VECTOR_DECLARE(name, type, real)                                                   \
  /* sum conj(x_i) y_i */                                                                     \
  type ig_vector_dot_##name(int64_t n, const type *x, const type *y);                         \
  /* y += f x */                                                                              \
  void ig_vector_add_##name(int64_t n, type f, const type *x, type *y);                       \
  void ig_vector_scale_##name(int64_t n, type f, type *x);                                    \
  /* The 2-norm, without overflow or underflow on the way. */                                 \
  real ig_vector_norm_##name(int64_t n, const type *x);                                       \
  /* The largest size of a part; infinite or NaN if one is. */                                \
  real ig_vector_peak_##name(int64_t n, const type *x);                                       \
  /* y_j = a_j^H x for the n columns a_j of m elements */                                     \
  void ig_columns_dot_##name(int64_t m, int64_t n, const type *a, int64_t lda, const type *x, \
                             type *y);                                                        \
  /* y += sum_j x_j a_j */                                                                    \
  void ig_columns_add_##name(int64_t m, int64_t n, const type *a, int64_t lda, const type *x, \
                             type *y);                                                        \
  /* a_j += f_j x */                                                                          \
  void ig_columns_update_##name(int64_t m, int64_t n, const type *x, const type *f, type *a,  \
                                int64_t lda)

IG_VECTOR_DECLARE(f32, float, float);
IG_VECTOR_DECLARE(f64, double, double);
IG_VECTOR_DECLARE(c64, float _Complex, float);
IG_VECTOR_DECLARE(c128, double _Complex, double);

#endif
