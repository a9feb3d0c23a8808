// SPDX-License-Identifier: Apache-2.0
// Factorizations of matrices: residuals and orthogonality within LAPACK's thresholds, for every
// type, on matrices that are random, graded, of low rank, defective, huge and tiny.
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <tgmath.h>

#include <cmocka.h>

#include "kernels/linalg/hermitian.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_f32),
      cmocka_unit_test(all_f64),
      cmocka_unit_test(all_c64),
      cmocka_unit_test(all_c128),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
