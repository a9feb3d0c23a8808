// SPDX-License-Identifier: Apache-2.0
// Internals of comparing models: the list of changes, corresponding names of sizes, and the calls
// of a model as a sequence of steps.
#ifndef MODEL_DIFF_H_
#define MODEL_DIFF_H_

#include "base/map.h"
#include "base/str.h"
#include "ingot/diff.h"
#include "model/model.h"

typedef struct ig_differ {
  ig_ctx *c;
  const ig_model *a;
  const ig_model *b;
  ig_diff_options options;
  ig_map names;    // name of a size in a -> the one in b
  ig_map unnames;  // and back
  ig_map renamed;  // weights of a whose elements b has under another name -> that name
  ig_map taken;    // and these names
  IG_VEC(ig_model_change *) changes;
  // If not NULL: told of every pair of nodes, and of nodes without partner (the other one is NULL).
  void (*on_pair)(void *user, const void *a, const void *b, bool same);
  void *pair_user;
} ig_differ;

// All texts live in the innermost scope; NULL after an error.
const char *ig_diff_text(ig_differ *d, const char *fmt, ...) IG_PRINTF(2, 3);
const char *ig_diff_take(ig_differ *d, ig_str *s);  // the builder's text; frees the builder
// Remembers a change; NULL after an error.
ig_model_change *ig_diff_add(ig_differ *d, ig_diff_part part, const char *name, const char *before,
                             const char *after);
// Are two texts equal up to corresponding names of sizes? Unknown words must be equal or, if
// `meet`, are corresponding names from then on.
bool ig_diff_same_sizes(ig_differ *d, const char *a, const char *b, bool meet);

// ---- steps

// What a step reads: an earlier step, or something that has a label in both models ("input 0",
// "weight fc.bias").
typedef struct ig_step_operand {
  int64_t step;       // -1: see the label
  const char *label;  // of a step: which of its results
} ig_step_operand;

typedef struct ig_step {
  const void *from;    // the node; NULL: what an ONNX graph returns
  const char *name;    // of the node, with the sub-graphs that it is in: "true_graph_0.mul"
  const char *target;  // "aten.add.Tensor", "Conv"
  const char *key;     // its target and all arguments, operands as "_"
  const char *text;    // the same with the names of the operands
  const char *type;    // of its results, with sizes; NULL: not known
  const ig_step_operand *operands;
  size_t noperands;
} ig_step;

typedef struct ig_steps {
  ig_step *at;
  size_t n;
  size_t cap;
  ig_alloc alloc;
} ig_steps;

// The calls of a model in order. onnx: those of the file; otherwise those of its program, which
// must exist. The caller frees the list, the rest is in the innermost scope.
bool ig_steps_of_program(ig_differ *d, const ig_model *m, ig_steps *out);
bool ig_steps_of_onnx(ig_differ *d, const ig_model *m, ig_steps *out);
void ig_steps_free(ig_steps *s);

// The pairs of nodes of two models: ig_node of programs, ig_om_node if both are ONNX. False after
// an error, or if a model has no nodes (no error is set then).
bool ig_model_pairs(ig_ctx *c, const ig_model *a, const ig_model *b,
                    void (*fn)(void *user, const void *a, const void *b, bool same), void *user);

// Operators and nodes, if requested.
void ig_diff_calls(ig_differ *d);

#endif
