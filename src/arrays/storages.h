// SPDX-License-Identifier: Apache-2.0
// The storages of a torch.save file or a TorchScript archive: loaded on first use, converted to
// native byte order, with valid elements.
#ifndef ARRAYS_STORAGES_H_
#define ARRAYS_STORAGES_H_

#include "arrays/unpack.h"
#include "base/map.h"
#include "codec/zip.h"

typedef struct ig_storage_record {
  ig_bytes bytes;           // the bytes, if not in an archive
  const ig_zip_entry *zip;  // otherwise
  ig_dtype dtype;           // legacy files: of its class
  ig_tensor *tensor;        // after the first use
  ig_dtype swapped;         // of another byte order: the dtype as which it was swapped
  bool bools;               // normalized
} ig_storage_record;

typedef struct ig_storages {
  ig_ctx *c;
  const char *name;  // of the file, for messages
  ig_file *owner;
  ig_arena *arena;
  ig_map index;  // key -> record
  bool big;      // the file is big-endian
} ig_storages;

// Found or new; NULL after an error. The key must outlive the table.
ig_storage_record *ig_storages_put(ig_storages *s, const char *key);
ig_storage_record *ig_storages_find(const ig_storages *s, const char *key);  // NULL when absent
// The bytes as elements of id->element; NULL after an error. Belongs to the innermost scope.
ig_tensor *ig_storages_open(const ig_unpack *u, ig_storages *s, ig_storage_record *rec,
                            const ig_storage_id *id);

#endif
