// SPDX-License-Identifier: Apache-2.0
// Any bytes as an array and as an archive of arrays: what is accepted is copied out and its head is
// written again and read back.
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "codec/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

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
