// SPDX-License-Identifier: Apache-2.0
// Any bytes as a zip archive: what opens is read through, every member.
#include "base/ctx.h"
#include "codec/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_limits limits = {.size = sizeof limits, .max_entries = 1000, .max_inflated = 1 << 20};
  ig_zip z;
  if (ig_zip_open(c, "fuzz", (ig_bytes){data, n}, &limits, &z) == IG_OK) {
    for (size_t i = 0; i < z.n; i++) {
      ig_bytes b;
      if (ig_zip_read(c, &z.entries[i], &z.arena, &b) != IG_OK) ig_ctx_clear(c);
      if (ig_zip_find(&z, z.entries[i].name) != &z.entries[i]) __builtin_trap();
    }
    ig_zip_close(&z);
  }
  ig_ctx_free(c);
  return 0;
}
