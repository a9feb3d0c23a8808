// SPDX-License-Identifier: Apache-2.0
// Named tensors in files, one pair of functions per format: from bytes, into a sink.
#ifndef ARRAYS_ARRAYS_H_
#define ARRAYS_ARRAYS_H_

#include "base/file.h"
#include "ingot/file.h"

// Input of a reader. `name` is used in messages. owner: the mapping that the bytes are in, kept
// alive by tensors; NULL: tensors are copies.
typedef struct ig_arrays_in {
  const char *name;
  ig_bytes bytes;
  ig_file *owner;
  const ig_limits *limits;
} ig_arrays_in;

// Lists and tensors belong to the innermost scope.
IG_MUST_USE ig_status ig_npz_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);
IG_MUST_USE ig_status ig_npy_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);
IG_MUST_USE ig_status ig_safetensors_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);
// A dictionary of tensors, or a single one, in a torch.save file.
IG_MUST_USE ig_status ig_torch_tensors(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);
// Any of them, by content.
IG_MUST_USE ig_status ig_tensors_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out);

// bits: dtypes that NumPy lacks are written as unsigned integers with the same bits.
IG_MUST_USE ig_status ig_npz_print(ig_ctx *c, const ig_tensor_list *list, bool bits, ig_sink *out);
// A list of one tensor.
IG_MUST_USE ig_status ig_npy_print(ig_ctx *c, const ig_tensor_list *list, bool bits, ig_sink *out);
IG_MUST_USE ig_status ig_safetensors_print(ig_ctx *c, const ig_tensor_list *list, ig_sink *out);

// The elements of t in row-major order, little-endian: in place, or copied into *copy, which is `n`
// bytes of the context's allocator (NULL: none). IG_INVALID: t has no data.
IG_MUST_USE ig_status ig_tensor_bytes(ig_ctx *c, const char *name, const ig_tensor *t,
                                      ig_bytes *out, uint8_t **copy);

#endif
