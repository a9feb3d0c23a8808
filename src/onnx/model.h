// SPDX-License-Identifier: Apache-2.0
// Field numbers of ONNX messages that more than one file writes, and initializers.
#ifndef ONNX_MODEL_H_
#define ONNX_MODEL_H_

#include "base/file.h"
#include "ingot/tensor.h"

enum {
  IG_ONNX_NODE_METADATA = 9,
  IG_ONNX_MODEL_METADATA = 14,
  IG_ONNX_ENTRY_KEY = 1,
  IG_ONNX_ENTRY_VALUE = 2,
};
enum {
  IG_ONNX_GRAPH_NODE = 1,
  IG_ONNX_GRAPH_NAME = 2,
  IG_ONNX_GRAPH_INITIALIZER = 5,
  IG_ONNX_GRAPH_INPUT = 11,
  IG_ONNX_GRAPH_OUTPUT = 12,
};

int ig_onnx_ir_version(int opset);  // of models written for opset 13 and newer

// A TensorProto to be written; data is borrowed.
struct ig_onnx_tensor {
  const char *name;
  ig_dtype dtype;
  int ndim;
  const int64_t *dims;
  ig_bytes data;
  bool is_weight;    // of the program; otherwise a constant of the writer
  bool is_node;      // a Constant node, written already
  bool is_unread;    // a constant of nodes that were evaluated
  bool is_shared;    // visible in all graphs: never a node of one of them
  bool is_external;  // offset in the file of weights
  uint64_t offset;
};

// External weights: how large they are at least, and how they are aligned.
enum {
  IG_ONNX_EXTERNAL_MIN = 1024,
  IG_ONNX_ALIGN = 4096,
  IG_ONNX_LARGE = 1 << 20,
  IG_ONNX_ALIGN_LARGE = 65536
};

#endif
