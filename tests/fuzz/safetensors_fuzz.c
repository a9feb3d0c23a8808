// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: what opens is read through, written, and the same again.
#include <string.h>

#include "arrays/arrays.h"
#include "tensor/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_arrays_in in = {.name = "fuzz", .bytes = {data, n}};
  ig_tensor_list list;
  if (ig_safetensors_parse(c, &in, &list) == IG_OK) {
    ig_sink a = ig_sink_memory(c->alloc);
    ig_sink b = ig_sink_memory(c->alloc);
    if (ig_safetensors_print(c, &list, &a) != IG_OK) __builtin_trap();
    ig_arrays_in again = {.name = "again", .bytes = {a.at, a.n}};
    ig_tensor_list back;
    if (ig_safetensors_parse(c, &again, &back) != IG_OK || back.n != list.n) __builtin_trap();
    if (ig_safetensors_print(c, &back, &b) != IG_OK) __builtin_trap();
    if (a.n != b.n || memcmp(a.at, b.at, a.n) != 0) __builtin_trap();
    ig_sink_drop(&a);
    ig_sink_drop(&b);
  }
  ig_ctx_free(c);
  return 0;
}
