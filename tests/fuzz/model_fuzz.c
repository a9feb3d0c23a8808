// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model file: what is known by its content is opened, described and verified, as the
// command does it; nothing is run.
#include <stdint.h>

#include "describe.h"
#include "ingot/model.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed) {
  return fuzz_mutate_input(data, n, room, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  ig_model *m = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  for (int inspect = 0; inspect < 2; inspect++) {
    ig_model_options o = {.size = sizeof o, .inspect = inspect};
    ig_scope s = ig_scope_open(c);
    if (ig_model_open_bytes(c, "fuzz", data, n, &o, &m) == IG_OK) {
      draw d = {data + n / 2, n - n / 2};
      fuzz_describe(c, &d, m);
      (void)!ig_model_verify(c, m, NULL);
      ig_model_free(m);
    }
    ig_scope_close(c, s);
    ig_ctx_clear(c);
  }
  ig_ctx_free(c);
  return 0;
}
