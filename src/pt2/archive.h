// SPDX-License-Identifier: Apache-2.0
// .pt2 archives in every layout that PyTorch has used.
//
//   2.1 .. 2.7  plain zip: serialized_exported_program.json, weights as torch.save files in it
//   2.8         folder with archive_format, models/, data/; weights as torch.save files
//   2.9 on      the same with each storage as a record of raw bytes
#ifndef PT2_ARCHIVE_H_
#define PT2_ARCHIVE_H_

#include "base/file.h"
#include "codec/zip.h"
#include "ingot/file.h"

// An open archive. Tensors made from it keep the mapping alive.
typedef struct ig_pt2_archive {
  ig_file *file;
  ig_zip zip;
  ig_arena arena;     // unpacked members, names
  const char *name;   // of the file, for messages
  const char *root;   // folder that all members are in; NULL: the layout up to 2.7
  const char *model;  // "model"
  const ig_load_options *options;
} ig_pt2_archive;

IG_MUST_USE ig_status ig_pt2_open(ig_ctx *c, const char *name, ig_file *file,
                                  const ig_load_options *options, ig_pt2_archive *out);
void ig_pt2_close(ig_pt2_archive *a);
// A member by its name under the root; NULL when absent.
const ig_zip_entry *ig_pt2_find(const ig_pt2_archive *a, const char *fmt, ...) IG_PRINTF(2, 3);
// Members under a folder: from *i on, the name behind the prefix; NULL: no more.
const ig_zip_entry *ig_pt2_next(const ig_pt2_archive *a, const char *folder, size_t *i,
                                const char **rest);

// A weight of the archive: a tensor of the innermost scope, over the mapped file where possible.
typedef struct ig_pt2_weight {
  const char *name;
  ig_tensor *tensor;  // NULL: an object that is not read
  bool is_param;
  bool constant;       // one of the archive's constants
  ig_input_kind role;  // of its placeholder; USER: it has none
} ig_pt2_weight;
typedef struct ig_pt2_weights {
  ig_pt2_weight *at;
  size_t n;
} ig_pt2_weights;
// kind: "weights" or "constants". The list lives in the archive's arena.
IG_MUST_USE ig_status ig_pt2_load_weights(ig_ctx *c, ig_pt2_archive *a, const char *kind,
                                          ig_pt2_weights *out);
// The same from a torch.save file.
IG_MUST_USE ig_status ig_pt2_unpack_weights(ig_ctx *c, ig_pt2_archive *a, const ig_zip_entry *e,
                                            ig_pt2_weights *out);

// What a loaded program knows about its file (origin.c).
typedef struct ig_pt2_origin {
  ig_alloc alloc;
  ig_arena arena;
  ig_file *file;
  ig_bytes examples;  // a torch.save file; empty: none
  IG_VEC(ig_extra_file) extra;
  IG_VEC(ig_origin_fact) facts;
  IG_VEC(ig_origin_fact) findings;
  IG_VEC(const char *) guards;   // guards_code
  IG_VEC(ig_origin_fact) calls;  // path of a module -> its signature, as JSON
} ig_pt2_origin;
// file NULL: a program that does not come from a file but has such information. NULL after an
// error.
ig_pt2_origin *ig_pt2_origin_create(ig_ctx *c, ig_file *file);
void ig_pt2_origin_free(ig_pt2_origin *o);
IG_MUST_USE ig_status ig_pt2_origin_fact(ig_ctx *c, ig_pt2_origin *o, const char *name,
                                         const char *fmt, ...) IG_PRINTF(4, 5);
IG_MUST_USE ig_status ig_pt2_origin_guard(ig_ctx *c, ig_pt2_origin *o, const char *text);
IG_MUST_USE ig_status ig_pt2_origin_call(ig_ctx *c, ig_pt2_origin *o, const char *path,
                                         const char *signature);
// Examples, extra files, and parts that are never loaded.
IG_MUST_USE ig_status ig_pt2_origin_read(ig_ctx *c, ig_pt2_archive *a, ig_pt2_origin *o);

// A program from bytes in memory: a part of `owner`, whose pages become its weights, or, owner
// NULL, bytes that are copied once.
IG_MUST_USE ig_status ig_program_load_bytes(ig_ctx *c, const char *name, ig_bytes bytes,
                                            ig_file *owner, const ig_limits *limits,
                                            ig_program **out);
IG_MUST_USE ig_status ig_program_load_from(ig_ctx *c, const char *name, ig_bytes bytes,
                                           ig_file *owner, const ig_load_options *options,
                                           ig_program **out);

// Streams a program into a sink; options may be NULL.
IG_MUST_USE ig_status ig_program_write(ig_ctx *c, const ig_program *p,
                                       const ig_save_options *options, ig_sink *sink);

#endif
