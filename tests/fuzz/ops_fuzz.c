// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program: a sequence of operators with mostly valid arguments, each of which may
// use the results of earlier ones. It runs eagerly, with gradients, on fake tensors, and captured
// with fixed or dynamic sizes; the captured program is printed, decomposed, saved, loaded and run.
// Every call returns a result or an error message, nothing is leaked, fake results match real ones
// and the captured program computes what the eager one did.
#include <string.h>

#include "check.h"
#include "fuzz.h"

enum { MAX_MEMORY = 24 << 20, CALLS = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static fuzz_program p;
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  draw d = {data, n};
  unsigned what = draw_byte(&d);
  ig_scope scope = ig_scope_open(c);
  fuzz_program_make(c, d, CALLS, (what & FUZZ_WITH_GRAD) != 0, &p);
  fuzz_program_check(&p, what);
  ig_scope_close(c, scope);
  memset(&p, 0, sizeof p);  // unreachable blocks are reported as leaks
  fuzz_close(c);
  return 0;
}
