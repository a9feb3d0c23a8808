// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON: what parses is written and parsed again, and must not change.
#include <string.h>

#include "base/ctx.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_arena arena = ig_arena_make(c->alloc);
  ig_str once = ig_str_make(c->alloc);
  ig_str twice = ig_str_make(c->alloc);
  const ig_json *v = NULL;
  if (ig_json_parse(c, "fuzz", (ig_bytes){data, n}, &arena, NULL, &v) == IG_OK) {
    ig_json_value(&(ig_json_writer){.out = &once}, v);
    ig_bytes again = {(const uint8_t *)once.at, once.n};
    if (ig_json_parse(c, "again", again, &arena, NULL, &v) != IG_OK) __builtin_trap();
    ig_json_value(&(ig_json_writer){.out = &twice}, v);
    if (once.n != twice.n || memcmp(once.at, twice.at, once.n) != 0) __builtin_trap();
  }
  ig_str_free(&once);
  ig_str_free(&twice);
  ig_arena_free(&arena);
  ig_ctx_free(c);
  return 0;
}
