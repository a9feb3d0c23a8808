// SPDX-License-Identifier: Apache-2.0
// Internals of the model checker, shared by its parts.
#ifndef ONNX_CHECK_H_
#define ONNX_CHECK_H_

#include <stdio.h>

#include "base/str.h"
#include "onnx/proto_model.h"
#include "onnx/schema.h"

// What is known about a value: its form and element type. form -1: nothing.
typedef struct ig_om_known {
  int form;  // ig_onnx_form
  int elem;  // TensorProto.DataType
} ig_om_known;

// One graph while it is checked; values by slot.
typedef struct ig_om_scope {
  const ig_om_graph *g;
  const struct ig_om_scope *up;
  ig_om_known *values;
} ig_om_scope;

typedef struct ig_om_checker {
  ig_ctx *c;
  const ig_onnx_model *m;
  const ig_om_function *function;  // whose body is checked; NULL: the main graph
  const ig_om_opset *opsets;       // of the model or that function
  size_t nopsets;
  bool loose;   // tolerate harmless omissions: shapes, types of attributes, unique metadata
  ig_str text;  // the problems, one per line
  size_t problems;
} ig_om_checker;

// Adds a problem: "node 'a' (Add): attribute ...". n NULL: about the graph or the model.
void ig_om_problem(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n, const char *fmt,
                   ...) IG_PRINTF(4, 5);

// Types of a node's operands against its schema; records what is known about its results.
void ig_om_check_types(ig_om_checker *k, ig_om_scope *s, const ig_om_node *n,
                       const ig_onnx_schema *schema);
// Type of a result, given what its type variables were found to be (form -1: nothing).
enum { IG_OM_MAX_VARS = 16 };
ig_om_known ig_om_result_type(const ig_om_node *n, const ig_onnx_schema *s, const ig_onnx_param *p,
                              const ig_om_known *vars);
ig_om_known ig_om_known_of_type(const ig_om_type *t);

// IG_INVALID with all problems of m, if there are any.
ig_status ig_om_check_report(ig_om_checker *k);
ig_status ig_om_check(ig_ctx *c, const ig_onnx_model *m, bool loose);

#endif
