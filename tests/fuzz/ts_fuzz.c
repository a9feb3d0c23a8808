// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TorchScript archive: what opens is inspected completely, loaded, compiled, printed
// and written again, run and converted, within limits.
#include <string.h>

#include "fuzz.h"
#include "mutate.h"
#include "tensor/tensor.h"
#include "ts/load.h"
#include "ts/write.h"
#include "use.h"

enum { MAX_MEMORY = 64 << 20 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed) {
  return fuzz_mutate_input(data, n, room, seed);
}

// A method __setstate__ may run for as long as the limits allow.
static void load(ig_ctx *c, const ig_ts *ts) {
  ig_limits limits = {.size = sizeof limits, .max_work = 1 << 16, .max_memory = 1 << 28};
  ig_ctx_set_limits(c, &limits);
  ig_sobj_instance *root = ig_ts_load(c, ts);
  if (root) {
    ig_sink sink = ig_sink_memory(c->alloc);
    (void)!ig_ts_print(c, root, "fuzz", NULL, 0, &sink);
    ig_sink_drop(&sink);
    ig_svalue_release(ig_of_sobj(root));
  }
  ig_ctx_set_limits(c, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  ig_limits limits = {.size = sizeof limits, .max_nodes = 1 << 16, .max_inflated = 1 << 20};
  ig_ts *ts = NULL;
  if (ig_ts_parse(c, "fuzz", (ig_bytes){data, n}, NULL, &limits, &ts) == IG_OK) {
    const ig_ts_weight *weights = NULL;
    const ig_ts_module *modules = NULL;
    const ig_ts_source *sources = NULL;
    const ig_ts_member *members = NULL;
    size_t letters = 0;
    double sum = 0;
    for (size_t i = ig_ts_weights(ts, &weights); i-- > 0;) {
      letters += strlen(weights[i].name);
      if (ig_tensor_numel(weights[i].tensor)) sum += ig_tensor_get(weights[i].tensor, 0);
    }
    for (size_t i = ig_ts_modules(ts, &modules); i-- > 0;) letters += strlen(modules[i].class_name);
    for (size_t i = ig_ts_sources(ts, &sources); i-- > 0;) letters += strlen(sources[i].text);
    for (size_t i = ig_ts_members(ts, &members); i-- > 0;) letters += strlen(members[i].name);
    volatile double kept = sum;  // the read must happen
    (void)kept;
    if (letters > 1u << 30) __builtin_trap();
    load(c, ts);
  }
  ig_ts_free(ts);
  ig_ctx_clear(c);
  if (n > 4 && memcmp(data, "PK", 2) == 0) {
    draw d = {data + n / 2, n - n / 2};
    fuzz_use(c, &d, (ig_bytes){data, n});
  }
  fuzz_close(c);
  return 0;
}
