// SPDX-License-Identifier: Apache-2.0
// Field numbers of ONNX messages that more than one file writes, and initializers.
#ifndef ONNX_MODEL_H_
#define ONNX_MODEL_H_

#include "base/file.h"
#include "ingot/tensor.h"

enum {
  IG_ONNX_GRAPH_NODE = 1,
  IG_ONNX_GRAPH_NAME = 2,
  IG_ONNX_GRAPH_INITIALIZER = 5,
  IG_ONNX_GRAPH_INPUT = 11,
  IG_ONNX_GRAPH_OUTPUT = 12,
};

// A TensorProto to be; data is borrowed.
struct ig_onnx_tensor {
  const char *name;
  ig_dtype dtype;
  int ndim;
  int64_t dims[IG_MAX_DIM];
  ig_bytes data;
};

#endif
