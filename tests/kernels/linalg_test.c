// SPDX-License-Identifier: Apache-2.0
// Factorizations of matrices: residuals and orthogonality within LAPACK's thresholds, for every
// type, on matrices that are random, graded, of low rank, defective, huge and tiny.
#include <complex.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <tgmath.h>

#include <cmocka.h>

#include "kernels/linalg/general.h"
#include "kernels/linalg/hermitian.h"
#include "kernels/linalg/ldl.h"
#include "kernels/linalg/lu.h"
#include "kernels/linalg/qr.h"
#include "kernels/linalg/svd.h"
#include "kernels/matrices.h"

static const int64_t shapes[][2] = {{1, 1},   {1, 3},   {3, 1},   {2, 2},   {5, 3},
                                    {33, 33}, {40, 34}, {70, 40}, {24, 90}, {66, 66}};

static void below(double scaled) {
  if (!(scaled < 30)) print_error("scaled residual %g\n", scaled);
  assert_true(scaled < 30);
}

#define BODY "kernels/linalg_test.inc"
#include "kernels/linalg/each.inc"

// A V = V L, relative to A.
static void check_general(matrix_kind kind, int64_t n, bool is_complex) {
  number *a = matrix_make(kind, n, n, is_complex, 300);
  number *lost = matrix_new(n, n);
  number *values = matrix_new(n, 2);
  number *v = matrix_new(n, n);
  double *work = calloc(ig_general_work(n, true) + 1, sizeof *work);
  assert_non_null(work);
  for (int vectors = 1; vectors >= 0; vectors--) {
    for (int64_t i = 0; i < n * n; i++) {
      if (is_complex) lost[i] = a[i];
      if (!is_complex) ((double *)lost)[i] = creal(a[i]);
    }
    number *to = values + (vectors ? 0 : n);
    number *out = vectors ? v : NULL;
    int64_t left = is_complex ? ig_general_run_c128(n, lost, to, out, work)
                              : ig_general_run_f64(n, (double *)lost, to, out, work);
    assert_int_equal(left, 0);
  }
  number *scaled = matrix_new(n, n);
  for (int64_t j = 0; j < n; j++) {
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
      scaled[j * n + i] = v[j * n + i] * values[j];
      norm = hypot(norm, cabs(v[j * n + i]));
    }
    assert_true(fabs(norm - 1) < 1e-13);
    bool pair = !is_complex && cimag(values[j]) > 0;
    if (pair) assert_true(values[j + 1] == conj(values[j]) && v[(j + 1) * n] == conj(v[j * n]));
  }
  double larger = norm_1(n, n, scaled) / fmax(norm_1(n, n, a), DBL_MIN);
  below(residual(n, n, scaled, product_of(n, n, n, a, false, v, false), DBL_EPSILON) * larger);
  free(scaled);
  free(work);
  free(v);
  free(values);
  free(lost);
  free(a);
}

static void general_matrices(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 3, 4, 7, 20, 66};
  for (int kind = 0; kind < MATRIX_KINDS; kind++) {
    // Balanced, errors are small beside the balanced matrix and not beside the graded one.
    if (kind == GRADED_COLUMNS || kind == GRADED_ROWS) continue;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      check_general((matrix_kind)kind, sizes[i], false);
      check_general((matrix_kind)kind, sizes[i], true);
    }
  }
}

static void pivots_that_do_not_fit(void **state) {
  (void)state;
  static const int64_t wrong[][3] = {{1, 2, 4}, {0, 2, 3}, {1, 2, -3}, {-2, -3, 3}, {1, -4, -4}};
  static const int64_t right[][3] = {{3, 2, 3}, {-3, -3, 3}, {1, -3, -3}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(ig_ldl_pivots_fit(3, wrong[i]));
  }
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    assert_true(ig_ldl_pivots_fit(3, right[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_f32),          cmocka_unit_test(all_f64),
      cmocka_unit_test(all_c64),          cmocka_unit_test(all_c128),
      cmocka_unit_test(general_matrices), cmocka_unit_test(pivots_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
