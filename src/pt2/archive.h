// SPDX-License-Identifier: Apache-2.0
// The .pt2 archive: names of its members, weights as raw storages, bookkeeping records.
#ifndef PT2_ARCHIVE_H_
#define PT2_ARCHIVE_H_

#include "base/file.h"
#include "codec/zip.h"
#include "ingot/program.h"

// An archive that was opened. Tensors made from it keep the mapping alive on their own.
typedef struct ig_pt2_archive {
  ig_file *file;
  ig_zip zip;
  ig_arena arena;     // unpacked members, names
  const char *root;   // folder that all members are in
  const char *model;  // "model"
} ig_pt2_archive;

IG_MUST_USE ig_status ig_pt2_open(ig_ctx *c, const char *name, ig_file *file, ig_pt2_archive *out);
void ig_pt2_close(ig_pt2_archive *a);
// A member by its name under the root; NULL when absent.
const ig_zip_entry *ig_pt2_find(const ig_pt2_archive *a, const char *fmt, ...) IG_PRINTF(2, 3);

// A weight of the archive: a tensor of the innermost scope, over the mapped file where possible.
typedef struct ig_pt2_weight {
  const char *name;
  ig_tensor *tensor;  // NULL: an object that is not read
  bool is_param;
  bool constant;       // among the constants of the archive
  ig_input_kind role;  // of its placeholder; USER: it has none
} ig_pt2_weight;
typedef struct ig_pt2_weights {
  ig_pt2_weight *at;
  size_t n;
} ig_pt2_weights;
// kind: "weights" or "constants". The list lives in the archive's arena.
IG_MUST_USE ig_status ig_pt2_load_weights(ig_ctx *c, ig_pt2_archive *a, const char *kind,
                                          ig_pt2_weights *out);

// A program out of bytes in memory: a piece of `owner`, whose pages become its weights, or, owner
// NULL, bytes that are copied once.
IG_MUST_USE ig_status ig_program_load_bytes(ig_ctx *c, const char *name, ig_bytes bytes,
                                            ig_file *owner, ig_program **out);

// Streams a program into a sink; `root` is the folder inside the archive.
IG_MUST_USE ig_status ig_program_write(ig_ctx *c, const ig_program *p, const char *root,
                                       ig_sink *sink);

#endif
