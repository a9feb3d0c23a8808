// SPDX-License-Identifier: Apache-2.0
// Any bytes as the pickle of a file: what is read becomes values, and what those are written as
// gives the same bytes when it is read and written again.
#include <string.h>

#include "arrays/pack.h"
#include "arrays/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { STORAGE = 1 << 16 };

// Every storage exists and has the requested bytes, up to a limit.
static ig_tensor *storage(ig_unpack *u, const ig_storage_id *id) {
  static const uint8_t bytes[STORAGE] = {1};
  size_t width = id->untyped ? 1 : ig_dtype_size(id->dtype);
  size_t n = (uint64_t)id->numel < STORAGE / width ? (size_t)id->numel * width : STORAGE;
  return ig_bytes_tensor(u->c, (ig_bytes){bytes, n}, NULL, 1);
}

static bool allow(const char *global, void *user) {
  (void)user;
  return strncmp(global, "my.", 3) == 0;
}

static ig_object *load(ig_ctx *c, ig_bytes in) {
  ig_limits limits = {.size = sizeof limits, .max_nodes = 1 << 16, .max_inflated = STORAGE};
  ig_unpack un = {.c = c,
                  .name = "fuzz",
                  .limits = ig_limits_of(c, &limits),
                  .allow = allow,
                  .script = true,
                  .storage = storage};
  ig_pickle_source source = {
      .name = "fuzz", .in = in, .rule = ig_unpack_rule, .user = &un, .limits = &limits};
  ig_arena arena = ig_arena_make(c->alloc);
  ig_pickle *tree = NULL;
  ig_object *out = NULL;
  ig_scope s = ig_scope_open(c);
  ig_status st = ig_pickle_read(c, &source, &arena, &tree, NULL);
  if (st == IG_OK) st = ig_unpack_tree(&un, tree, &out);
  ig_scope_close(c, s);
  ig_arena_free(&arena);
  if ((st == IG_OK) != (out != NULL)) __builtin_trap();
  if (st != IG_OK) ig_ctx_clear(c);
  return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_object *first = load(c, (ig_bytes){data, n});
  ig_pack a = ig_pack_make(c);
  if (first && ig_pack_object(&a, first) == IG_OK) {
    ig_object *second = load(c, (ig_bytes){(const uint8_t *)a.text.at, a.text.n});
    if (!second) __builtin_trap();
    ig_pack b = ig_pack_make(c);
    if (ig_pack_object(&b, second) != IG_OK) __builtin_trap();
    if (a.text.n != b.text.n || memcmp(a.text.at, b.text.at, a.text.n) != 0) __builtin_trap();
    ig_pack_free(&b);
    ig_object_free(second);
  }
  ig_pack_free(&a);
  ig_object_free(first);
  ig_ctx_free(c);
  return 0;
}
