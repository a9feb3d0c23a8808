// SPDX-License-Identifier: Apache-2.0
// The result sizes that the standard prescribes for a node where its formula cannot decide: sizes
// that may or may not be equal, data-dependent numbers, operators that cannot be captured.
#ifndef ONNX_READ_INFER_RULE_H_
#define ONNX_READ_INFER_RULE_H_

#include "onnx_read/reader.h"

typedef struct ig_rd_shape {
  int ndim;
  ig_int dims[IG_MAX_DIM];
  bool known[IG_MAX_DIM];
} ig_rd_shape;

// For result i of the current node; false: there is no rule, or even the rank is unknown. Known
// sizes hold for every valid run.
bool ig_rd_rule(ig_rd *r, size_t i, ig_rd_shape *out);

#endif
