// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model, used as onnx_use.h says. Memory is limited by the allocator, work by
// budgets; whatever the model contains, the outcome is a result or an error.
#include "fuzz.h"
#include "onnx_use.h"

enum { MAX_MEMORY = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  fuzz_onnx_use(c, data, n, 7 + (n ? data[n - 1] % 22 : 0));  // any that can be converted to
  fuzz_close(c);
  return 0;
}
