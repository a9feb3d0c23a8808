// SPDX-License-Identifier: Apache-2.0
// Any bytes as an array and as an archive of arrays: what is accepted is copied out and its head is
// written again and read back.
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "codec/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// What is read as texts is written and read again as the same.
static void use_texts(ig_ctx *c, const ig_npy *a) {
  const char **texts = NULL;
  const char **again = NULL;
  size_t n = 0;
  size_t m = 0;
  uint8_t *copy = NULL;
  ig_npy same = *a;
  same.big = same.fortran = false;
  ig_scope scope = ig_scope_open(c);
  if (ig_npy_texts(c, "fuzz", a, &texts, &n) == IG_OK) {
    if (ig_npy_set_texts(c, "fuzz", texts, n, &same, &copy) != IG_OK) __builtin_trap();
    if (ig_npy_texts(c, "fuzz", &same, &again, &m) != IG_OK || m != n) __builtin_trap();
    for (size_t i = 0; i < n; i++) {
      if (strcmp(texts[i], again[i]) != 0) __builtin_trap();
    }
  }
  ig_mem_free(c->alloc, copy, copy ? same.data.n : 0);
  ig_scope_close(c, scope);
  ig_ctx_clear(c);
}

static void use(ig_ctx *c, const ig_npy *a) {
  uint8_t *copy = malloc(a->data.n ? a->data.n : 1);
  if (!copy) return;
  ig_npy_copy(a, copy);
  ig_npy same = *a;
  same.big = same.fortran = false;
  ig_str s = ig_str_make(c->alloc);
  if (ig_npy_head(c, &same, &s) != IG_OK) __builtin_trap();
  size_t n = s.n + a->data.n;
  uint8_t *file = malloc(n);
  if (file) {
    memcpy(file, s.at, s.n);
    memcpy(file + s.n, copy, a->data.n);
    ig_npy back;
    if (ig_npy_read(c, "back", (ig_bytes){file, n}, &back) != IG_OK) __builtin_trap();
    if (memcmp(back.shape, a->shape, sizeof a->shape) != 0) __builtin_trap();
  }
  free(file);
  ig_str_free(&s);
  free(copy);
  if (ig_npy_is_text(a)) use_texts(c, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_npy a;
  if (ig_npy_read(c, "fuzz", (ig_bytes){data, n}, &a) == IG_OK) use(c, &a);
  ig_ctx_clear(c);
  ig_npz z;
  if (ig_npz_open(c, "fuzz", (ig_bytes){data, n}, NULL, &z) == IG_OK) {
    for (size_t i = 0; i < z.n; i++) use(c, &z.arrays[i]);
    ig_npz_close(&z);
  }
  ig_ctx_free(c);
  return 0;
}
