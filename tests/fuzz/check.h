// SPDX-License-Identifier: Apache-2.0
// What every program made from bytes is put through after it ran eagerly.
#ifndef TESTS_FUZZ_CHECK_H_
#define TESTS_FUZZ_CHECK_H_

#include "program.h"

// What is done besides running eagerly.
enum {
  FUZZ_WITH_GRAD = 1,
  FUZZ_WITH_FAKE = 2,
  FUZZ_WITH_EXPORT = 4,
  FUZZ_WITH_DIMS = 8,
  FUZZ_WITH_DRAFT = 16,
  FUZZ_WITH_DECOMPOSE = 32,
  FUZZ_WITH_FILE = 64,
  FUZZ_WITH_ONNX = 128,
};

// Gradients, fake tensors, capture with fixed or dynamic sizes; the captured program is printed,
// decomposed, saved, loaded and run, also by plans. Results that differ are findings.
void fuzz_program_check(fuzz_program *p, unsigned what);

#endif
