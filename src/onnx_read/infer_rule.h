// SPDX-License-Identifier: Apache-2.0
// What the standard says of the sizes of a node's results where its formula cannot decide: sizes
// that may or may not be equal, numbers that stand in the data, operators without a program.
#ifndef ONNX_READ_INFER_RULE_H_
#define ONNX_READ_INFER_RULE_H_

#include "onnx_read/reader.h"

typedef struct ig_rd_shape {
  int ndim;
  ig_int dims[IG_MAX_DIM];
  bool known[IG_MAX_DIM];
} ig_rd_shape;

// Of the current node's result i; false: there is no rule, or not even the number of dimensions is
// known. What is known holds for every model that runs.
bool ig_rd_rule(ig_rd *r, size_t i, ig_rd_shape *out);

#endif
