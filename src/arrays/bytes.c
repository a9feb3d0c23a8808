// SPDX-License-Identifier: Apache-2.0
// Bytes of files as tensors: mapped if they are aligned, and normalized where a file may contain
// invalid elements.
#include <string.h>

#include "arrays/unpack.h"
#include "codec/bits.h"
#include "tensor/tensor.h"

static void release_file(void *user) {
  ig_file_release(user);
}

ig_tensor *ig_bytes_tensor(ig_ctx *c, ig_bytes b, ig_file *owner, size_t width) {
  int64_t n = (int64_t)b.n;
  if (owner && n && (uintptr_t)b.at % width == 0) {
    ig_ref_retain(&owner->ref);
    ig_foreign memory = {
        .data = (void *)b.at, .bytes = b.n, .free_fn = release_file, .user = owner};
    return ig_tensor_wrap(c, IG_U8, &n, 1, &memory);
  }
  ig_tensor *t = ig_tensor_empty(c, IG_U8, &n, 1);
  if (t && n) memcpy(ig_tensor_data(t), b.at, b.n);
  return t;
}

size_t ig_element_align(ig_dtype d) {
  return ig_dtype_size(d) / (ig_dtype_is_complex(d) ? 2 : 1);
}

void ig_bools_normalize(uint8_t *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (at[i] > 1) at[i] = 1;
  }
}

void ig_elements_swap(ig_dtype d, uint8_t *at, size_t n) {
  ig_order_swap(at, n, ig_element_align(d));
}

ig_tensor *ig_elements_tensor(ig_ctx *c, ig_bytes b, ig_file *owner, ig_dtype d) {
  ig_tensor *t = ig_bytes_tensor(c, b, IG_BIG_ENDIAN ? NULL : owner, ig_element_align(d));
  if (t && IG_BIG_ENDIAN) ig_elements_swap(d, ig_tensor_data(t), b.n);
  return t;
}

ig_status ig_elements_little(ig_ctx *c, ig_dtype d, ig_bytes *b, uint8_t **copy) {
  *copy = NULL;
  if (!IG_BIG_ENDIAN || b->n == 0 || ig_element_align(d) == 1) return IG_OK;
  *copy = ig_mem_new(c->alloc, b->n);
  if (!*copy) return ig_fail(c, IG_NOMEM, "out of memory");
  memcpy(*copy, b->at, b->n);
  ig_elements_swap(d, *copy, b->n);
  b->at = *copy;
  return IG_OK;
}
