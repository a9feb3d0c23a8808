// SPDX-License-Identifier: Apache-2.0
// Programs and tensors in files.
//
// Files are hostile until parsed: what is malformed is refused with IG_SYNTAX and a text that says
// what and where, what is not supported with IG_UNSUPPORTED, what the system refuses with IG_IO.
// Weights of a loaded program are the pages of the mapped file; writing to them changes only this
// process's memory. Files are written under a temporary name and appear whole or not at all.
#ifndef INGOT_FILE_H_
#define INGOT_FILE_H_

#include "ingot/program.h"

// .pt2 archives, as torch.export.save of PyTorch 2.13 writes them.
IG_API IG_MUST_USE ig_status ig_program_save(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_load(ig_ctx *c, const char *path, ig_program **out);

// ONNX, opset 18. IG_UNSUPPORTED names the operator that has no counterpart and the user's line.
IG_API IG_MUST_USE ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path);

// Named tensors as NumPy's .npz. Loaded ones, and the list, belong to the innermost scope; they are
// pages of the file where its alignment allows. bfloat16 and float8 are not known to NumPy.
IG_API IG_MUST_USE ig_status ig_tensors_load(ig_ctx *c, const char *path, const ig_weight **list,
                                             size_t *n);
IG_API IG_MUST_USE ig_status ig_tensors_save(ig_ctx *c, const char *path, const ig_weight *list,
                                             size_t n);

#endif
