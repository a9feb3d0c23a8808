// SPDX-License-Identifier: Apache-2.0
// torch.save files in memory. Their pickle is parsed to a tree of requested constructions; only
// values of the closed set are built from it.
#ifndef ARRAYS_TORCH_FILE_H_
#define ARRAYS_TORCH_FILE_H_

#include "base/file.h"
#include "ingot/object.h"

// `name` is used in messages. owner: the mapping that `bytes` are a piece of, kept alive by the
// tensors; NULL: tensors are copies. Bytes of a mapping are not read, so that the loading time does
// not depend on their size; copies are checked against their checksums.
IG_MUST_USE ig_status ig_torch_parse(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                                     const ig_limits *limits, ig_object **out);
IG_MUST_USE ig_status ig_torch_parse_with(ig_ctx *c, const char *name, ig_bytes bytes,
                                          ig_file *owner, const ig_torch_options *o,
                                          ig_object **out);
// The zip form; the folder inside is called `archive`.
IG_MUST_USE ig_status ig_torch_print(ig_ctx *c, const ig_object *o, ig_sink *out);
// The same with another name for the folder.
IG_MUST_USE ig_status ig_torch_print_as(ig_ctx *c, const ig_object *o, const char *root,
                                        ig_sink *out);

#endif
