// SPDX-License-Identifier: Apache-2.0
// Results of shape inference, value by value, for callers that do not need them in the model.
#ifndef ONNX_READ_INFER_H_
#define ONNX_READ_INFER_H_

#include "ingot/onnx.h"

typedef struct ig_rd_infer_sink {
  // A tensor of the main graph: its element type, and sizes (-1: not a number) if ndim is not -1.
  void (*value)(void *user, const char *name, int elem, int ndim, const int64_t *dims);
  // And its integers, if they are known.
  void (*numbers)(void *user, const char *name, int elem, int ndim, const int64_t *at, size_t n);
  void *user;
  // The same as `value`, with the names or expressions of sizes that are no numbers (NULL:
  // unknown). Callbacks that are NULL are not called.
  void (*type)(void *user, const char *name, int elem, int ndim, const int64_t *dims,
               const char *const *texts);
} ig_rd_infer_sink;

IG_MUST_USE ig_status ig_rd_infer(ig_ctx *c, const ig_onnx_model *m, const ig_rd_infer_sink *to);

#endif
