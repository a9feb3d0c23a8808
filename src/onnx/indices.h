// SPDX-License-Identifier: Apache-2.0
// Lists of index tensors, as in x[i, :, j]: shared by reading and writing.
#ifndef ONNX_INDICES_H_
#define ONNX_INDICES_H_

#include "onnx/writer.h"

typedef struct ig_onnx_indices {
  const char *names[IG_MAX_DIM];  // int64, one per indexed dimension
  int dims[IG_MAX_DIM];           // which one that is, ascending
  size_t n;
  int ndim;  // dimensions of the indices after broadcasting
  size_t masks;
  bool broadcast;  // their sizes differ
  bool adjacent;   // the indexed dimensions are neighbours
} ig_onnx_indices;

// args[1] of a call; false: there are none.
bool ig_onnx_read_indices(ig_onnx *x, const ig_onnx_call *call, ig_onnx_indices *in);
const char *ig_onnx_stack_indices(ig_onnx *x, const ig_onnx_indices *in);  // [..., n]
void ig_onnx_index_order(const ig_onnx_indices *in, int ndim, int64_t *perm);
const char *ig_onnx_permuted(ig_onnx *x, const char *in, const int64_t *perm, int n);
// An index operand: int32 or int64.
const char *ig_onnx_index_operand(ig_onnx *x, const ig_value *v);

#endif
