// SPDX-License-Identifier: Apache-2.0
// The reference implementations: three plain loops over strides, as simple as the definition; types
// computed in a wider one have theirs beside their products (gemm_wide.inc). Integers are computed
// unsigned: they wrap.
#include "kernels/gemm.h"

// NOLINTBEGIN(readability-function-size): the operands of a product, one by one
#define PLAIN(name, S, U)                                                                       \
  void ig_gemm_plain_##name(int64_t m, int64_t n, int64_t k, S alpha, const S *a, int64_t a_rs, \
                            int64_t a_cs, const S *b, int64_t b_rs, int64_t b_cs, S beta, S *c, \
                            int64_t c_rs) {                                                     \
    for (int64_t i = 0; i < m; i++)                                                             \
      for (int64_t j = 0; j < n; j++) {                                                         \
        U sum = 0;                                                                              \
        for (int64_t p = 0; p < k && alpha != 0; p++)                                           \
          sum += (U)a[i * a_rs + p * a_cs] * (U)b[p * b_rs + j * b_cs];                         \
        U v = alpha == 0 ? 0 : (U)alpha * sum;                                                  \
        c[i * c_rs + j] = (S)(beta == 0 ? v : v + (U)beta * (U)c[i * c_rs + j]);                \
      }                                                                                         \
  }

PLAIN(f32, float, float)
PLAIN(f64, double, double)
PLAIN(i64, int64_t, uint64_t)
PLAIN(i32, int32_t, uint32_t)

// (ar + i ai)(br + i bi), by parts: the language's product would look for lost infinities.
#define PLAIN_COMPLEX(name, C, R)                                                               \
  void ig_gemm_plain_##name(int64_t m, int64_t n, int64_t k, C alpha, const C *a, int64_t a_rs, \
                            int64_t a_cs, const C *b, int64_t b_rs, int64_t b_cs, C beta, C *c, \
                            int64_t c_rs) {                                                     \
    const R *al = (const R *)&alpha;                                                            \
    const R *be = (const R *)&beta;                                                             \
    for (int64_t i = 0; i < m; i++)                                                             \
      for (int64_t j = 0; j < n; j++) {                                                         \
        R re = 0;                                                                               \
        R im = 0;                                                                               \
        for (int64_t p = 0; p < k && alpha != 0; p++) {                                         \
          const R *x = (const R *)(a + i * a_rs + p * a_cs);                                    \
          const R *y = (const R *)(b + p * b_rs + j * b_cs);                                    \
          re += x[0] * y[0] - x[1] * y[1];                                                      \
          im += x[0] * y[1] + x[1] * y[0];                                                      \
        }                                                                                       \
        R *d = (R *)(c + i * c_rs + j);                                                         \
        R vr = alpha == 0 ? 0 : al[0] * re - al[1] * im;                                        \
        R vi = alpha == 0 ? 0 : al[0] * im + al[1] * re;                                        \
        R cr = beta == 0 ? 0 : be[0] * d[0] - be[1] * d[1];                                     \
        R ci = beta == 0 ? 0 : be[0] * d[1] + be[1] * d[0];                                     \
        d[0] = vr + cr;                                                                         \
        d[1] = vi + ci;                                                                         \
      }                                                                                         \
  }

PLAIN_COMPLEX(c64, float _Complex, float)
PLAIN_COMPLEX(c128, double _Complex, double)
// NOLINTEND(readability-function-size)
