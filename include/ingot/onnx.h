// SPDX-License-Identifier: Apache-2.0
// ONNX models: opening, describing, running, and turning them into programs.
//
// A model is parsed completely and checked for structural validity (see docs/onnx.md); its weights
// are pages of the file or of its external data files. It is immutable, reference-counted, and may
// be shared between threads.
#ifndef INGOT_ONNX_H_
#define INGOT_ONNX_H_

#include "ingot/file.h"
#include "ingot/limits.h"
#include "ingot/program.h"

IG_BEGIN_DECLS

typedef struct ig_onnx_model ig_onnx_model;

// IG_SYNTAX: malformed; IG_UNSUPPORTED; IG_IO. limits NULL: defaults.
IG_API IG_MUST_USE ig_status ig_onnx_open(ig_ctx *c, const char *path, const ig_limits *limits,
                                          ig_onnx_model **out);
// From a buffer, which is copied. folder: where external data is found; NULL: not allowed.
IG_API IG_MUST_USE ig_status ig_onnx_parse(ig_ctx *c, const char *name, const void *data, size_t n,
                                           const char *folder, const ig_limits *limits,
                                           ig_onnx_model **out);
// Checks conformance with the standard: operators at the imported opsets, their attributes, numbers
// of inputs and outputs, element types, functions, sub-graphs. IG_INVALID lists all problems, one
// per line, by node and attribute.
IG_API IG_MUST_USE ig_status ig_onnx_check(ig_ctx *c, const ig_onnx_model *m);
// The same, and with shape inference: nodes with incompatible operands, declared sizes that differ
// from the inferred ones.
IG_API IG_MUST_USE ig_status ig_onnx_check_shapes(ig_ctx *c, const ig_onnx_model *m);
// Shape inference: writes the model (its bytes are `data`) with the inferred types of its values in
// value_info and outputs: element types, and sizes as numbers or as expressions of the inputs'
// dim_params that hold for all values. What is not known stays unknown; no model is rejected.
struct ig_sink;
IG_API IG_MUST_USE ig_status ig_onnx_infer(ig_ctx *c, const ig_onnx_model *m, const void *data,
                                           size_t n, struct ig_sink *sink);
// The model in another opset of the default domain (7 to the newest; 0: its own), node by node,
// sub-graphs and functions included; into a file (weights in path + ".data" as `how` says) or, if
// path is NULL, a sink (neither: only checks whether it is possible). IG_UNSUPPORTED lists every
// node that the opset cannot express.
IG_API IG_MUST_USE ig_status ig_onnx_convert(ig_ctx *c, const ig_onnx_model *m, int opset,
                                             ig_onnx_external how, const char *path,
                                             struct ig_sink *sink);
// A program at any of these opsets (0: the default): written as ig_program_save_onnx_as and
// ig_program_write_onnx do, and converted where the opset is older than what they write.
IG_API IG_MUST_USE ig_status ig_program_convert_onnx(ig_ctx *c, const ig_program *p,
                                                     const ig_onnx_options *options,
                                                     const char *path, struct ig_sink *sink);
// A listing: one line per node with its attributes, operands, results and their types, inferred
// where the file does not say them; bodies and functions too. Free it with ig_text_free. NULL after
// an error.
IG_API char *ig_onnx_text(ig_ctx *c, const ig_onnx_model *m);
IG_API ig_onnx_model *ig_onnx_retain(ig_onnx_model *m);
IG_API void ig_onnx_free(ig_onnx_model *m);  // Drops one reference. NULL is allowed.

// What the model says about itself.
typedef struct ig_onnx_facts {
  int64_t ir_version;
  const char *producer_name;
  const char *producer_version;
  const char *domain;
  int64_t model_version;
  const char *doc;
  const char *graph_name;
  size_t nnodes;  // of the main graph
  size_t ninitializers;
  size_t nfunctions;
} ig_onnx_facts;
IG_API ig_onnx_facts ig_onnx_describe(const ig_onnx_model *m);
// Imported operator sets and metadata, by index; false: out of range.
IG_API bool ig_onnx_opset(const ig_onnx_model *m, size_t i, const char **domain, int64_t *version);
IG_API bool ig_onnx_metadata(const ig_onnx_model *m, size_t i, const char **key,
                             const char **value);
// Nodes of the main graph, by index; false: out of range.
IG_API bool ig_onnx_node_at(const ig_onnx_model *m, size_t i, const char **name,
                            const char **domain, const char **op_type);

// Inputs that have no initializer, and outputs, by index. elem is TensorProto.DataType of a tensor,
// 0 for sequences, optionals and maps.
typedef struct ig_onnx_port {
  const char *name;
  int elem;
  int ndim;  // -1: unknown rank, or not a tensor
} ig_onnx_port;
IG_API size_t ig_onnx_inputs(const ig_onnx_model *m);
IG_API size_t ig_onnx_outputs(const ig_onnx_model *m);
IG_API bool ig_onnx_input(const ig_onnx_model *m, size_t i, ig_onnx_port *out);
IG_API bool ig_onnx_output(const ig_onnx_model *m, size_t i, ig_onnx_port *out);
// Size of one dimension: its number, or -1 and its name, or -1 and NULL.
IG_API int64_t ig_onnx_input_dim(const ig_onnx_model *m, size_t i, int dim, const char **param);
IG_API int64_t ig_onnx_output_dim(const ig_onnx_model *m, size_t i, int dim, const char **param);

// Interprets the model: everything in the standard, including what no program can express
// (sequences, strings). Inputs by name, tensors or arrays of texts; one value per output, owned by
// the innermost scope: a tensor, an array of texts (ingot/texts.h), a list (a sequence), none (an
// empty optional).
IG_API IG_MUST_USE ig_status ig_onnx_run(ig_ctx *c, const ig_onnx_model *m, const ig_weight *inputs,
                                         size_t n, ig_value *outs);

// The model as a program over ATen operators: initializers are its parameters and constants, named
// dimensions of the inputs are symbolic. IG_UNSUPPORTED: some node can only be interpreted.
IG_API IG_MUST_USE ig_status ig_onnx_program(ig_ctx *c, const ig_onnx_model *m, ig_program **out);

IG_END_DECLS

#endif
