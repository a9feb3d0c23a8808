// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of torch.save, in both containers: all elements of all tensors are read, and
// what can be written is written and read again.
#include "arrays/torch_file.h"
#include "mutate.h"
#include "tensor/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed) {
  return fuzz_mutate_input(data, n, room, seed);
}

enum { STEPS = 10000 };

static double sum(const ig_object *o, int *steps) {
  double s = 0;
  if (!o || --*steps < 0) return 0;
  const ig_tensor *t = ig_object_tensor(o);
  if (t && !ig_tensor_is_fake(t)) {
    int64_t count = ig_tensor_numel(t);
    for (int64_t i = 0; i < count && --*steps > 0; i++) s += ig_tensor_get(t, i);
    if (count) s += ig_tensor_get(t, count - 1);
  }
  for (size_t i = 0; i < ig_object_count(o) && *steps > 0; i++) {
    s += sum(ig_object_key(o, i), steps) + sum(ig_object_at(o, i), steps);
  }
  return s + sum(ig_object_state(o), steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_limits limits = {.size = sizeof limits, .max_nodes = 1 << 16, .max_inflated = 1 << 20};
  ig_object *o = NULL;
  if (ig_torch_parse(c, "fuzz", (ig_bytes){data, n}, NULL, &limits, &o) == IG_OK) {
    int steps = STEPS;
    volatile double kept = sum(o, &steps);
    (void)kept;
    ig_sink out = ig_sink_memory(c->alloc);
    if (ig_torch_print(c, o, &out) == IG_OK) {
      ig_object *back = NULL;
      ig_bytes again = {out.at, out.n};
      if (ig_torch_parse(c, "again", again, NULL, NULL, &back) != IG_OK) __builtin_trap();
      ig_object_free(back);
    }
    ig_sink_drop(&out);
  }
  ig_object_free(o);
  ig_ctx_free(c);
  return 0;
}
