// SPDX-License-Identifier: Apache-2.0
// Differences between two tensors, and between two model files of any kinds.
#ifndef INGOT_DIFF_H_
#define INGOT_DIFF_H_

#include "ingot/model.h"

IG_BEGIN_DECLS

// ---- tensors

// An element agrees if |got - want| <= atol + rtol * |want|; NaN agrees with NaN. Negative: the
// default of the dtype (float32: 1e-5 and 1e-5; integers: 0).
typedef struct ig_tolerance {
  double rtol;
  double atol;
} ig_tolerance;

typedef struct ig_tensor_diff {
  bool agrees;
  char why[160];  // how dtype or sizes differ; "" otherwise
  double max_abs;
  double max_rel;
  double max_ulp;  // of floating point, otherwise 0
  int64_t bad;     // elements out of tolerance
  int64_t worst;   // flat index of the largest error in units of the last place; -1: none
  int64_t n;       // elements
  double rtol;     // the tolerances used
  double atol;
} ig_tensor_diff;
// Real tensors only; after an error, `why` is the message of the context.
IG_API void ig_tensor_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want,
                              const ig_tolerance *tolerance, ig_tensor_diff *out);

// How far the elements lie apart, in units of the last place of what is wanted: bins[0] are equal,
// bins[i] above 2^(i-2) and up to 2^(i-1), bins[1] up to 1; the last but one has everything above,
// the last one NaN and infinities against other numbers. All 0: not floating point of one dtype and
// sizes.
enum { IG_ULP_BINS = 26 };
IG_API void ig_tensor_ulps(ig_ctx *c, ig_tensor *got, ig_tensor *want, int64_t bins[IG_ULP_BINS]);

// ---- models

// Parts of a model that can be compared.
typedef enum ig_diff_part {
  IG_DIFF_METADATA = 1,   // kind, versions, metadata, extra files
  IG_DIFF_INPUTS = 2,     // in order: name, dtype, sizes, ranges; relations between sizes
  IG_DIFF_OUTPUTS = 4,    // in order
  IG_DIFF_OPERATORS = 8,  // how often each is called
  IG_DIFF_NODES = 16,     // calls in order, sub-graphs included
  IG_DIFF_WEIGHTS = 32,   // by name: dtype, sizes, elements
  IG_DIFF_ALL = 63,
} ig_diff_part;
IG_API const char *ig_diff_part_word(ig_diff_part part);  // "inputs"; NULL: not a single part

typedef struct ig_model_change {
  ig_diff_part part;
  const char *name;    // of the property, input, output, operator, node or weight; a's name if it
                       // exists there
  const char *before;  // in a; NULL: added
  const char *after;   // in b; NULL: removed
  const ig_tensor_diff
      *numbers;  // weights of equal dtype and sizes whose elements differ; NULL otherwise
} ig_model_change;

typedef struct ig_diff_options {
  size_t size;                     // sizeof(ig_diff_options)
  unsigned parts;                  // of ig_diff_part; 0: all
  ig_tolerance weights;            // as above; {0, 0}: they must be equal
  const ig_tolerance *tolerances;  // of weights by dtype (IG_DTYPE_COUNT of them); NULL: `weights`
} ig_diff_options;

// The changes from a to b, part by part, in the innermost scope; *n is 0 if they are the same.
// Symbolic sizes may be renamed, as long as the renaming is consistent. If both models are ONNX,
// the nodes of the files are compared, otherwise those of the programs (ONNX models must have been
// opened with ig_model_options.program). Other threads may use both models at the same time, except
// for queries about symbols of their programs, as for ig_model_relations. options may be NULL.
IG_API IG_MUST_USE ig_status ig_model_diff(ig_ctx *c, const ig_model *a, const ig_model *b,
                                           const ig_diff_options *options,
                                           const ig_model_change *const **list, size_t *n);

// Gives session `to` the tensors that session `from` has as inputs, in order: formats may rename
// them.
IG_API IG_MUST_USE ig_status ig_session_copy_inputs(const ig_session *from, ig_session *to);

IG_END_DECLS

#endif
