// SPDX-License-Identifier: Apache-2.0
// Results of shape inference, value by value, for callers that do not need them in the model.
#ifndef ONNX_READ_INFER_H_
#define ONNX_READ_INFER_H_

#include "ingot/onnx.h"

// A value with the identity of what is symbolic about it: equal expressions of one inference have
// the same address, which means nothing else. NULL beside a size or number: it is the number (of a
// size: -1, not known).
typedef struct ig_rd_exact {
  int elem;
  int ndim;  // -1: unknown
  const int64_t *dims;
  const void *const *exprs;
  bool has_content;  // the integers of a tensor of at most one dimension
  size_t n;
  const int64_t *content;
  const void *const *content_exprs;
} ig_rd_exact;

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
  // Inputs and values of the main graph.
  void (*exact)(void *user, const char *name, const ig_rd_exact *e);
} ig_rd_infer_sink;

IG_MUST_USE ig_status ig_rd_infer(ig_ctx *c, const ig_onnx_model *m, const ig_rd_infer_sink *to);

#endif
