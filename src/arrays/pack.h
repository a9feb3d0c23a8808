// SPDX-License-Identifier: Apache-2.0
// From plain values and tensors to a pickle, with the storages that it refers to by number.
#ifndef ARRAYS_PACK_H_
#define ARRAYS_PACK_H_

#include "base/str.h"
#include "codec/pickle.h"
#include "codec/zip.h"
#include "ingot/object.h"
#include "ir/table.h"
#include "tensor/tensor.h"

typedef struct ig_packed_storage {
  const ig_storage *storage;
  ig_dtype dtype;
  size_t bytes;    // whole elements
  ig_object *key;  // its number as a text, memoized like any other
} ig_packed_storage;

typedef struct ig_pack {
  ig_ctx *c;
  ig_str text;
  ig_pickle_writer w;
  ig_table memo;     // object -> memo number plus one
  ig_map globals;    // "module name" -> memo number plus one
  ig_table numbers;  // storage -> number plus one
  IG_VEC(ig_packed_storage) storages;
  uint32_t storage_word;  // memo number plus one of "storage", "cpu"
  uint32_t cpu_word;
} ig_pack;

ig_pack ig_pack_make(ig_ctx *c);
IG_MUST_USE ig_status ig_pack_object(ig_pack *p, const ig_object *o);
void ig_pack_free(ig_pack *p);

#endif
