// SPDX-License-Identifier: Apache-2.0
// Conversion between opsets, node by node. An operator is converted one version at a time; every
// version that changes more than element types has a step, which modifies the node, or replaces it
// by others, which are converted in turn. A version without a step is checked against its schema:
// attributes that it lacks must have their default, element types that it lacks are computed in a
// wider type. One error lists every node that cannot be expressed.
#ifndef ONNX_CONVERT_CONVERT_H_
#define ONNX_CONVERT_CONVERT_H_

#include "base/str.h"
#include "onnx/check.h"

// What is known about a value.
typedef struct ig_cv_fact {
  ig_om_known type;              // form -1: nothing
  int ndim;                      // -1: unknown
  int64_t dims[IG_MAX_DIM];      // -1: unknown
  const ig_om_tensor *constant;  // NULL: not known
} ig_cv_fact;

typedef struct ig_cv {
  ig_ctx *c;
  ig_onnx_model to;  // its arena owns everything created here
  int64_t source;    // opset of the graph being converted
  int64_t target;
  ig_map facts;  // by name
  ig_map names;  // all that the model uses
  size_t nfresh;
  IG_VEC(ig_om_node) nodes;            // of the graph being made
  IG_VEC(const ig_om_tensor *) inits;  // new ones of that graph
  const ig_om_graph *g;                // the one being converted
  const ig_om_node *node;              // its node being converted
  const ig_om_function *fn;            // the function whose body it is; NULL: none
  int64_t at;                          // the opset at which the current node is valid
  bool refused;                        // the node
  size_t nrefused;
  ig_str refusals;
  bool unchecked;  // the caller checks the result against the standard
} ig_cv;

// A step of an operator to the version of a row (up) or from it to the previous one (down). True:
// the node was replaced or rejected; false: it continues, possibly modified.
typedef bool ig_cv_step(ig_cv *v, ig_om_node *n);
typedef struct ig_cv_row {
  const char *op;
  int since;
  ig_cv_step *up;
  ig_cv_step *down;
} ig_cv_row;
extern const ig_cv_row ig_cv_rows[];  // op NULL: the end

// What is known about operators besides their schemas (traits.c).
typedef enum ig_cv_trait {
  IG_CV_SAME_RANK = 1,        // in expansions: the result has the rank of the operands
  IG_CV_KEEPS_TYPES = 2,      // cannot be computed in a wider type: an operand decides the result's
  IG_CV_CONSTANT = 4,         // its value is in an attribute
  IG_CV_CONDITION_FIRST = 8,  // its sub-graph has a result before those of the node
  IG_CV_ADDS_AXES = 16,       // axes count in the result, which has one more for each
  IG_CV_ADDS_AXIS = 32,       // the axis counts in the result, which has one more
  IG_CV_IDENTITY_OF_ONE = 64,  // the reduction of one element is that element
} ig_cv_trait;
bool ig_cv_has(const ig_om_node *n, ig_cv_trait trait);  // of the default domain

// A node that is valid at an opset: converted, then appended to the graph being made.
void ig_cv_node(ig_cv *v, ig_om_node *n, int64_t at);
// Records why the current node cannot be expressed. Always true.
bool ig_cv_refuse(ig_cv *v, const char *fmt, ...) IG_PRINTF(2, 3);

// ---- helpers (words.c)

void *ig_cv_push(ig_cv *v, size_t size);  // arena, zeroed; NULL after an error
const char *ig_cv_fresh(ig_cv *v, const char *word);
ig_cv_fact *ig_cv_fact_of(ig_cv *v, const char *name);  // new: nothing known; NULL: out of memory
const ig_cv_fact *ig_cv_known(ig_cv *v, const char *name);  // never NULL
const char *ig_cv_in(const ig_om_node *n, size_t i);        // "": absent
int ig_cv_elem(ig_cv *v, const char *name);                 // 0: not known to be a tensor
int ig_cv_ndim(ig_cv *v, const char *name);                 // -1: not known

void ig_cv_set_input(ig_cv *v, ig_om_node *n, size_t i, const char *name);
void ig_cv_cut_inputs(ig_om_node *n, size_t count);  // absent ones at the end are removed too
void ig_cv_set_attr(ig_cv *v, ig_om_node *n, const ig_om_attr *a);  // replaces
void ig_cv_set_int(ig_cv *v, ig_om_node *n, const char *name, int64_t i);
void ig_cv_set_text(ig_cv *v, ig_om_node *n, const char *name, const char *s);
void ig_cv_drop_attr(ig_cv *v, ig_om_node *n, const char *name);
// Attributes with the schema's default where they are absent; an attribute reference of a function
// is rejected.
int64_t ig_cv_int(ig_cv *v, const ig_om_node *n, const char *name, int64_t otherwise);
bool ig_cv_is(ig_cv *v, const ig_om_node *n, const char *name, const char *text,
              const char *otherwise);

// The value of a Constant, whichever attribute it is in; NULL: not a tensor, or a reference.
const ig_om_tensor *ig_cv_constant(ig_cv *v, const ig_om_node *n);
const char *ig_cv_const(ig_cv *v, const ig_om_tensor *t);                // name of a Constant
ig_om_tensor *ig_cv_tensor(ig_cv *v, int elem, int64_t n, bool scalar);  // zeroed; NULL: no memory
const char *ig_cv_ints(ig_cv *v, const int64_t *at, size_t n);
// A 0-d number of an element type; 0: that of `like`.
const char *ig_cv_number(ig_cv *v, int elem, const char *like, double x);
// The numbers of a value; false: not known.
bool ig_cv_known_ints(ig_cv *v, const char *name, const int64_t **at, size_t *n);
bool ig_cv_known_floats(ig_cv *v, const char *name, const float **at, size_t *n);

const char *ig_cv_cast(ig_cv *v, const char *name, int elem, const char *out);  // out NULL: fresh

// ---- expansions (expand.c)

// Replaces the node by the nodes that a text describes, in the operators of opset 13 (see
// expand.c).
bool ig_cv_expand(ig_cv *v, const ig_om_node *n, const char *text);
// The name of a value that a text describes, computed from the inputs of the node.
const char *ig_cv_value(ig_cv *v, const ig_om_node *n, const char *fmt, ...) IG_PRINTF(3, 4);
// The same by the table of composite operators; false: not in it.
bool ig_cv_expand_operator(ig_cv *v, const ig_om_node *n, int since);

// ig_onnx_convert for callers that check the result themselves: what the standard does not allow in
// the model stays in it.
IG_MUST_USE ig_status ig_cv_convert(ig_ctx *c, const ig_onnx_model *m, int opset,
                                    ig_onnx_external how, const char *path, struct ig_sink *sink,
                                    bool unchecked);

#endif
