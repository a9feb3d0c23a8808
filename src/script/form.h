// SPDX-License-Identifier: Apache-2.0
// What passes over graphs know of a node by its kind: its form, if control flow, variables,
// constants and containers depend on it, and whether it does more than give results.
#ifndef SCRIPT_FORM_H_
#define SCRIPT_FORM_H_

#include "script/ir.h"

typedef enum ig_sform {
  IG_SFORM_PLAIN,  // no form of its own
  IG_SFORM_CONSTANT,
  IG_SFORM_UNINITIALIZED,
  IG_SFORM_IF,
  IG_SFORM_LOOP,
  IG_SFORM_WITH,  // two blocks: body and exit; only while exits are removed
  IG_SFORM_ENTER,
  IG_SFORM_EXIT,
  IG_SFORM_STORE,
  IG_SFORM_LOAD,
  IG_SFORM_BREAK,
  IG_SFORM_CONTINUE,
  IG_SFORM_RETURN,
  IG_SFORM_LOOP_CONTINUATION,  // the next condition and the carried values of a loop
  IG_SFORM_RAISE,
  IG_SFORM_COMPREHENSION,
  IG_SFORM_CLOSURE,
  IG_SFORM_FORK_CLOSURE,
  IG_SFORM_FORK,
  IG_SFORM_WAIT,
  IG_SFORM_CALL_FUNCTION,
  IG_SFORM_CALL_METHOD,
  IG_SFORM_CREATE_OBJECT,
  IG_SFORM_GET_ATTR,
  IG_SFORM_SET_ATTR,
  IG_SFORM_TUPLE_CONSTRUCT,
  IG_SFORM_TUPLE_UNPACK,
  IG_SFORM_TUPLE_INDEX,
  IG_SFORM_TUPLE_SLICE,
  IG_SFORM_LIST_CONSTRUCT,
  IG_SFORM_LIST_UNPACK,
  IG_SFORM_DICT_CONSTRUCT,
  IG_SFORM_UNCHECKED_CAST,  // the operand itself, under another type
  IG_SFORM_ISINSTANCE,
  IG_SFORM_IS,
  IG_SFORM_IS_NOT,
  IG_SFORM_SUBTRACTED_FROM,  // aten::rsub
  IG_SFORM_NUMBER_TO_TENSOR,
  IG_SFORM_TO_NUMBER,  // of a tensor of one element
  IG_SFORM_SIZE,       // of a tensor: all of its sizes or one
  IG_SFORM_WARN,
  IG_SFORM_PYTHON,  // a call of the host
  IG_SFORM_COUNT
} ig_sform;

// The kind, which lives as long as the graph, with its form and effects.
void ig_snode_set_kind(ig_snode *n, const char *kind);
ig_sform ig_sform_of(const ig_snode *n);
// The kind of nodes of a form: "prim::If".
const char *ig_sform_kind(ig_sform form);
// Does a node do more than give its results and write to its operands: print, raise, call?
bool ig_snode_has_effects(const ig_snode *n);
// Operators that passes insert.
typedef enum ig_soperation {
  IG_SOPERATION_ADD,
  IG_SOPERATION_SUB,
  IG_SOPERATION_AND,
  IG_SOPERATION_EQ,
  IG_SOPERATION_NE,
  IG_SOPERATION_GT,
  IG_SOPERATION_LT,
} ig_soperation;
const char *ig_soperation_kind(ig_soperation operation);
// The one operator of several names: "aten::abs" for "aten::absolute"; NULL: it has no other.
const char *ig_sform_alias(const char *kind);

#endif
