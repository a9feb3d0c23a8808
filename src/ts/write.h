// SPDX-License-Identifier: Apache-2.0
// Modules of scripts as TorchScript archives, in the layout that torch.jit.save writes.
#ifndef TS_WRITE_H_
#define TS_WRITE_H_

#include "base/file.h"
#include "script/code_print.h"
#include "tensor/tensor.h"

// A file that the user adds: extra/<name>.
typedef struct ig_ts_extra {
  const char *name;
  const void *data;
  size_t n;
} ig_ts_extra;

// folder: the name of the archive's top folder. The same module gives the same bytes. Methods
// __getstate__ of its classes are run. IG_UNSUPPORTED: something that no archive can hold.
IG_MUST_USE ig_status ig_ts_print(ig_ctx *c, ig_sobj_instance *root, const char *folder,
                                  const ig_ts_extra *extras, size_t n_extras, ig_sink *out);
// To a file; the folder has its name without the extension.
IG_MUST_USE ig_status ig_ts_save(ig_ctx *c, ig_sobj_instance *root, const char *path,
                                 const ig_ts_extra *extras, size_t n_extras);

#endif
