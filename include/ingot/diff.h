// SPDX-License-Identifier: Apache-2.0
// What differs between two tensors, and between two model files of any kinds.
#ifndef INGOT_DIFF_H_
#define INGOT_DIFF_H_

#include "ingot/model.h"

// ---- tensors

// An element agrees if |got - want| <= atol + rtol * |want|; NaN agrees with NaN. Negative: what
// suits the dtype (float32: 1e-5 and 1e-5; integers: 0).
typedef struct ig_tolerance {
  double rtol;
  double atol;
} ig_tolerance;

typedef struct ig_tensor_diff {
  bool agrees;
  char why[160];  // dtype or sizes that differ; "" otherwise
  double max_abs;
  double max_rel;
  double max_ulp;  // of floating point, otherwise 0
  int64_t bad;     // elements out of tolerance
  int64_t worst;   // flat index of the largest error in units of the last place; -1: none
  int64_t n;       // elements
  double rtol;     // what was used
  double atol;
} ig_tensor_diff;
// Real tensors only; after an error of the context `why` has its text.
IG_API void ig_tensor_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want,
                              const ig_tolerance *tolerance, ig_tensor_diff *out);

// ---- models

// Parts of a model that can be compared.
typedef enum ig_diff_part {
  IG_DIFF_METADATA = 1,   // kind, versions, metadata, files that the user added
  IG_DIFF_INPUTS = 2,     // in order: name, dtype, sizes, ranges; relations between sizes
  IG_DIFF_OUTPUTS = 4,    // in order
  IG_DIFF_OPERATORS = 8,  // how often each is called
  IG_DIFF_NODES = 16,     // calls in order, sub-graphs included
  IG_DIFF_WEIGHTS = 32,   // by name: dtype, sizes, elements
  IG_DIFF_ALL = 63,
} ig_diff_part;
IG_API const char *ig_diff_part_word(ig_diff_part part);  // "inputs"; NULL: no single part

typedef struct ig_model_change {
  ig_diff_part part;
  const char *name;    // of the fact, input, output, operator, node, weight; as a has it if it does
  const char *before;  // what a has; NULL: added
  const char *after;   // what b has; NULL: removed
  const ig_tensor_diff *numbers;  // weights of one form whose elements differ; NULL otherwise
} ig_model_change;

typedef struct ig_diff_options {
  size_t size;           // sizeof(ig_diff_options)
  unsigned parts;        // of ig_diff_part; 0: all
  ig_tolerance weights;  // as above; {0, 0}: they must be equal
} ig_diff_options;

// What one must do to a to get b, part by part, in the innermost scope; *n is 0 where they are the
// same. Symbolic sizes may have other names, as long as one name stands for one name throughout.
// Nodes are compared as the files have them if both are ONNX, otherwise by their programs (ONNX
// models must have been opened with ig_model_options.program). Both models may be used by other
// threads, except that it asks the symbols of their programs, as ig_model_relations does. options
// may be NULL.
IG_API IG_MUST_USE ig_status ig_model_diff(ig_ctx *c, const ig_model *a, const ig_model *b,
                                           const ig_diff_options *options,
                                           const ig_model_change *const **list, size_t *n);

// Gives session `to` the tensors that session `from` has as inputs, in order: formats may rename
// them.
IG_API IG_MUST_USE ig_status ig_session_copy_inputs(const ig_session *from, ig_session *to);

#endif
