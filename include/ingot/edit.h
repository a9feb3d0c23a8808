// SPDX-License-Identifier: Apache-2.0
// Changing ONNX models: the model itself is edited, and what an operation does not concern keeps
// its names, order and metadata.
//
//   ig_edit *e = NULL;
//   ig_simplify_options o = {.size = sizeof o};
//   if (ig_edit_open(c, "model.onnx", NULL, &e) == IG_OK && ig_edit_simplify(e, &o) == IG_OK &&
//       ig_edit_save(e, IG_ONNX_EXTERNAL_AUTO, "small.onnx") == IG_OK) {
//     ...
//   }
//   ig_edit_free(e);
//
// Operations may follow one another. After each the model is checked against the standard. One that
// fails leaves an error in the context, and the edit can only be freed then.
//
// Threads. An edit belongs to the context that it was opened with. The model that it was opened
// from is not changed.
#ifndef INGOT_EDIT_H_
#define INGOT_EDIT_H_

#include "ingot/model.h"
#include "ingot/onnx.h"

IG_BEGIN_DECLS

typedef struct ig_edit ig_edit;

IG_API IG_MUST_USE ig_status ig_edit_open(ig_ctx *c, const char *path, const ig_limits *limits,
                                          ig_edit **out);
// Of an open model, which the edit keeps alive. The caller frees the edit.
IG_API IG_MUST_USE ig_status ig_edit_of(ig_ctx *c, ig_onnx_model *m, ig_edit **out);
IG_API void ig_edit_free(ig_edit *e);  // NULL is allowed.
// The model as it is now: borrowed, valid until the next operation.
IG_API const ig_onnx_model *ig_edit_model(const ig_edit *e);
// Into a file, weights in path + ".data" as `how` says, or as bytes.
IG_API IG_MUST_USE ig_status ig_edit_save(ig_edit *e, ig_onnx_external how, const char *path);
// The same with every weight of at least so many bytes in path + ".data".
IG_API IG_MUST_USE ig_status ig_edit_split(ig_edit *e, uint64_t least, const char *path);
IG_API IG_MUST_USE ig_status ig_edit_write(ig_edit *e, struct ig_sink *sink);

// What the operations have to say: nodes that stayed as they were and why, errors of layers.
typedef struct ig_edit_note {
  const char *what;  // "kept", "overflow", "quantized", "folded" ...
  const char *name;  // of the node or value
  const char *op;    // operator; "": a value
  const char *why;   // "" none
  double number;     // an error or a count; NaN: none
} ig_edit_note;
IG_API size_t ig_edit_notes(const ig_edit *e);
IG_API bool ig_edit_note_at(const ig_edit *e, size_t i, ig_edit_note *out);

// Arrays by name, as inputs of one run.
typedef struct ig_edit_run {
  size_t n;
  const ig_weight *inputs;
} ig_edit_run;

// ---- fewer nodes with the same results

typedef struct ig_simplify_options {
  size_t size;  // sizeof(ig_simplify_options)
  // Constants that are larger than this are not computed ahead, unless their operands are larger.
  // 0: 16 MiB.
  uint64_t max_folded;
  bool keep_functions;  // do not replace calls of the model's functions by their bodies
  bool keep_fused;      // do not merge nodes into others: BatchNormalization into Conv, ...
} ig_simplify_options;
// options may be NULL. Results of the model may differ by rounding where weights were merged.
IG_API IG_MUST_USE ig_status ig_edit_simplify(ig_edit *e, const ig_simplify_options *options);

// ---- names and sizes

// Sizes of dimensions: {"batch", 1} for a named one, {"x:0", 1} for one of an input. IG_NOT_FOUND
// lists what there is. Shapes are inferred again.
IG_API IG_MUST_USE ig_status ig_edit_fix_sizes(ig_edit *e, const ig_dim_value *sizes, size_t n);
// Makes dimension `dim` of an input any size, by a name. IG_UNSUPPORTED: a node needs the number
// that it has; the message says which.
typedef struct ig_free_size {
  const char *input;
  int dim;
  const char *name;
} ig_free_size;
IG_API IG_MUST_USE ig_status ig_edit_free_sizes(ig_edit *e, const ig_free_size *sizes, size_t n);

typedef enum ig_rename_kind {
  IG_RENAME_ANY,  // inputs, outputs and values
  IG_RENAME_INPUT,
  IG_RENAME_OUTPUT,
  IG_RENAME_NODE,
  IG_RENAME_VALUE,  // neither inputs nor outputs; weights too
  IG_RENAME_DIM,
} ig_rename_kind;
// `from` may contain one '*', which stands for any text; '*' in `to` is that text.
typedef struct ig_rename {
  ig_rename_kind kind;
  const char *from;
  const char *to;
} ig_rename;
// IG_NOT_FOUND: nothing has such a name; IG_INVALID: the new name is taken.
IG_API IG_MUST_USE ig_status ig_edit_rename(ig_edit *e, const ig_rename *names, size_t n);

// ---- parts

typedef struct ig_extract_options {
  size_t size;  // sizeof(ig_extract_options)
  // Values or nodes at which the part begins: values become inputs, and so do the operands of nodes
  // that are computed. Of a module ("encoder.layer.0") all that enters it. None: the model's
  // inputs.
  const char *const *from;
  size_t nfrom;
  // Values or nodes where it ends; of a module all that leaves it. None: the model's outputs.
  const char *const *to;
  size_t nto;
} ig_extract_options;
// IG_NOT_FOUND names the most similar ones.
IG_API IG_MUST_USE ig_status ig_edit_extract(ig_edit *e, const ig_extract_options *options);

typedef struct ig_join {
  const char *output;  // of the edited model
  const char *input;   // of the other one
} ig_join;
typedef struct ig_merge_options {
  size_t size;           // sizeof(ig_merge_options)
  const ig_join *joins;  // none: outputs and inputs of equal names
  size_t njoins;
  const char *prefix;  // of all names of the other model; NULL: only of those that clash
  bool keep_joined;    // joined outputs stay outputs
} ig_merge_options;
// Appends another model, which the edit keeps alive: its inputs are given by outputs.
IG_API IG_MUST_USE ig_status ig_edit_merge(ig_edit *e, ig_onnx_model *other,
                                           const ig_merge_options *options);

// ---- numbers

typedef struct ig_dtype_options {
  size_t size;              // sizeof(ig_dtype_options)
  ig_dtype dtype;           // IG_F16 or IG_BF16
  bool convert_io;          // inputs and outputs too, instead of Casts beside them
  const char *const *keep;  // names of nodes, operators or modules that stay float32; '*' as above
  size_t nkeep;
  const ig_edit_run *runs;  // to find results that the type cannot hold
  size_t nruns;
} ig_dtype_options;
IG_API IG_MUST_USE ig_status ig_edit_dtype(ig_edit *e, const ig_dtype_options *options);

typedef enum ig_quantize_how {
  IG_QUANTIZE_INT8,  // weights of matrix products and convolutions, per channel
  IG_QUANTIZE_INT4,  // weights of matrix products, per block of rows; needs opset 21
  IG_QUANTIZE_QDQ,   // weights and activations as int8, from calibration runs
} ig_quantize_how;
typedef struct ig_quantize_options {
  size_t size;  // sizeof(ig_quantize_options)
  ig_quantize_how how;
  int block;                // of int4; 0: 32
  double percentile;        // of the absolute values of activations; 0: all, 99.99 ...
  const char *const *keep;  // names of nodes, operators or modules that are not quantized
  size_t nkeep;
  const ig_edit_run *runs;  // for QDQ; otherwise errors of layers are measured on them
  size_t nruns;
} ig_quantize_options;
IG_API IG_MUST_USE ig_status ig_edit_quantize(ig_edit *e, const ig_quantize_options *options);

IG_END_DECLS

#endif
