// SPDX-License-Identifier: Apache-2.0
// Modules as ONNX functions: one per class, called with their weights.
#ifndef ONNX_FUNCTIONS_H_
#define ONNX_FUNCTIONS_H_

#include "ingot/pass.h"
#include "onnx/writer.h"

// A weight that a function takes.
typedef struct ig_onnx_weight {
  const ig_tensor *tensor;
  const char *path;   // in the model: "fc.weight"
  const char *input;  // its name in the function
} ig_onnx_weight;

typedef struct ig_onnx_function {
  const char *path;  // of the module that it was written from
  const char *name;  // in the model
  ig_bytes body;     // FunctionProto without its name
  const ig_onnx_weight *weights;
  size_t nweights;
  size_t nresults;
} ig_onnx_function;

typedef struct ig_onnx_functions {
  IG_VEC(ig_onnx_function) all;  // one per module, children first; equal bodies have one name
  ig_map classes;                // path of a module -> its class
  ig_module_tree *tree;
} ig_onnx_functions;

// Writes the functions of the program's modules. Returns the root graph, which calls them and is to
// be written next; NULL: the program must be written inline (it mutates state).
const ig_graph *ig_onnx_functions_make(ig_onnx *x);
void ig_onnx_functions_free(ig_onnx *x);
void ig_onnx_put_functions(ig_onnx *x);                  // into the model
void ig_onnx_put_module(ig_onnx *x, const ig_node *n);   // a call
void ig_onnx_take_weight(ig_onnx *x, const ig_node *n);  // in a function: an input
void ig_onnx_flush_constants(ig_onnx *x);                // in a function: nodes

#endif
