// SPDX-License-Identifier: Apache-2.0
// What the shape inference of PyTorch's TorchScript exporter finds for a value. The program knows
// more, but the names of axes in a file come from here: an axis that was not inferred is called
// after the node.
#ifndef ONNX_SIZES_H_
#define ONNX_SIZES_H_

#include "onnx/convention.h"

typedef enum ig_onnx_size_kind { IG_ONNX_UNKNOWN, IG_ONNX_NUMBER, IG_ONNX_NAMED } ig_onnx_size_kind;

typedef struct ig_onnx_extent {
  ig_onnx_size_kind kind;
  int64_t n;         // the number; of an unknown size: which one it is, from 1 on, 0: a new one
  const char *name;  // of the axis of an input
} ig_onnx_extent;

typedef struct ig_onnx_extents {
  size_t n;
  ig_onnx_extent at[IG_MAX_DIM];
} ig_onnx_extents;

typedef struct ig_onnx_inferred {
  const ig_onnx_extents *sizes;    // never NULL
  const ig_onnx_extents *content;  // elements of a vector or number of sizes; NULL: not followed
  bool whole;                      // the content is all sizes of one value
} ig_onnx_inferred;

// A node whose sizes are inferred.
typedef struct ig_onnx_inference {
  ig_onnx *x;
  const ig_onnx_node *n;
  const ig_onnx_extents *in;  // the sizes of the first operand
  ig_onnx_extents sizes;      // found: those of the results
  ig_onnx_extents content;
  bool has_content;
  bool whole;
  size_t split_axis;           // of the results of a Split, whose sizes along it follow
  int64_t pieces[IG_MAX_DIM];  // 0: not known
  bool is_split;
  ig_onnx_extents last;  // of the results after the first one, if they differ
  bool has_last;
} ig_onnx_inference;

// What is known of a value, with the memory of the writer; NULL: nothing.
const ig_onnx_inferred *ig_onnx_inferred_of(ig_onnx *x, const char *name);
// Operand i of a node; NULL: it has none.
const char *ig_onnx_input_of(const ig_onnx_node *n, size_t i);
// The rule of the operator (sizes_rules.c). False: none, or the operands are not known.
bool ig_onnx_infer_sizes(ig_onnx_inference *f);

#endif
