// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compiled model: opened, verified, planned and run within small budgets. Sizes and
// checksums of the head are repaired first, because they would stop nearly all changes.
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/crc.h"
#include "ingot/limits.h"
#include "ingot/model.h"
#include "model/compiled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t number(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

static void put(uint8_t *at, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static void repair(uint8_t *at, size_t n) {
  if (n < IG_COMPILED_HEAD) return;
  uint64_t head = IG_COMPILED_HEAD + number(at + 48, 4) * IG_COMPILED_SECTION +
                  number(at + 52, 4) * IG_COMPILED_PACK;
  if (head > n) return;
  memcpy(at, ig_compiled_magic, sizeof ig_compiled_magic);
  put(at + 16, head, 8);
  put(at + 24, n, 8);
  put(at + 12, ig_crc32(0, at + 16, (size_t)head - 16), 4);
}

// Inputs that the model describes, as zeros.
static bool set_inputs(ig_ctx *c, const ig_model *m, ig_session *s) {
  enum { MOST = 1 << 14 };
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    int64_t sizes[IG_MAX_DIM];
    int64_t total = 1;
    if (ports[i]->kind != IG_KIND_TENSOR || ports[i]->ndim < 0) return false;
    if (ig_model_input_sizes(c, m, i, NULL, 0, sizes) != IG_OK) return false;
    for (int d = 0; d < ports[i]->ndim; d++) {
      if (__builtin_mul_overflow(total, sizes[d], &total) || total > MOST) return false;
    }
    ig_tensor *t = ig_tensor_empty(c, ports[i]->dtype, sizes, ports[i]->ndim);
    if (!t) return false;
    memset(ig_tensor_data(t), 0, (size_t)total * ig_dtype_size(ports[i]->dtype));
    if (ig_session_set(s, ports[i]->name, t) != IG_OK) return false;
  }
  return true;
}

static void use(ig_ctx *c, ig_model *m) {
  ig_session *s = NULL;
  (void)!ig_model_verify(c, m, NULL);
  ig_ctx_clear(c);
  if (ig_session_create(c, m, &s) == IG_OK && set_inputs(c, m, s)) (void)!ig_session_run(s);
  ig_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  uint8_t *copy =
      aligned_alloc(IG_LAYER_ALIGN, (n + IG_LAYER_ALIGN) / IG_LAYER_ALIGN * IG_LAYER_ALIGN);
  (void)ig_cpu_limit(IG_CPU_BASE);  // what the corpus is packed for
  if (!copy || ig_ctx_create(NULL, &c) != IG_OK) {
    free(copy);
    return 0;
  }
  if (n) memcpy(copy, data, n);
  repair(copy, n);
  ig_limits limits = {.size = sizeof limits, .max_memory = 1 << 26, .max_work = 1 << 24};
  ig_model_options o = {.size = sizeof o, .limits = &limits};
  ig_model *m = NULL;
  ig_scope scope = ig_scope_open(c);
  if (ig_model_open_bytes(c, "fuzz", copy, n, &o, &m) == IG_OK) use(c, m);
  ig_model_free(m);
  ig_scope_close(c, scope);
  ig_ctx_free(c);
  free(copy);
  return 0;
}
