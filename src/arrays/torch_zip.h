// SPDX-License-Identifier: Apache-2.0
// The zip container of torch.save and torch.jit.save: one folder, bookkeeping records, pickles with
// storages in a folder beside them.
#ifndef ARRAYS_TORCH_ZIP_H_
#define ARRAYS_TORCH_ZIP_H_

#include "arrays/unpack.h"
#include "codec/zip.h"

typedef struct ig_torch_zip {
  ig_ctx *c;
  const char *name;  // of the file, for messages
  ig_file *owner;    // see ig_torch_parse
  ig_limits limits;
  ig_zip zip;
  ig_arena arena;
  const char *root;  // "" for a zip archive of another kind, whose members have no common folder
  bool big;
  int version;  // 0: there is none
} ig_torch_zip;

// Free after success. any_case: names may differ only in case.
IG_MUST_USE ig_status ig_torch_zip_open(ig_ctx *c, const char *name, ig_bytes in, ig_file *owner,
                                        const ig_limits *limits, bool any_case, ig_torch_zip *out);
void ig_torch_zip_free(ig_torch_zip *z);
const ig_zip_entry *ig_torch_zip_find(const ig_torch_zip *z, const char *name);  // under the root
// Reads `version` or `.data/version`, and `byteorder`; rejects unknown versions.
IG_MUST_USE ig_status ig_torch_zip_check(ig_torch_zip *z);
// The value of a pickle; its storages are `folder`/<key>. proto: what is allowed (allow, script,
// meta). Opens no scope: tensors are kept by the value.
IG_MUST_USE ig_status ig_torch_zip_unpickle(ig_torch_zip *z, const ig_unpack *proto,
                                            const char *member, const char *folder,
                                            ig_object **out);

#endif
