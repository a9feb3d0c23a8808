// SPDX-License-Identifier: Apache-2.0
// Lists whose length only the running program knows, while a program is recorded (IG_SOBJ_ROWS).
//
// One tensor holds all elements: stacked along its first dimension, or as pieces along one
// dimension, of which the last may be smaller. Elements that differ in one size are joined along
// that dimension, and a second tensor has their lengths. What a script does with such a list are
// calls on these tensors, so a program needs no values but tensors. Elements are tensors or
// numbers; what would need elements that differ in several sizes is refused.
#ifndef SCRIPT_ROWS_H_
#define SCRIPT_ROWS_H_

#include "script/code.h"
#include "script/object.h"
#include "tensor/tensor.h"

static inline bool ig_srows_is(ig_value v) {
  return v.kind == IG_KIND_OBJECT && ((const ig_sobj *)v.object)->kind == IG_SOBJ_ROWS;
}
// May a list of this type be one? Its elements are tensors or numbers.
bool ig_srows_takes(const ig_stype *list);

// What an element is like.
typedef struct ig_srows_like {
  bool known;
  bool ragged;  // they differ in their size along `dim`, which is 0 in `meta`
  int dim;
  ig_meta meta;
} ig_srows_like;
// Learns it from the elements of a list, if there are any.
void ig_srows_learn(ig_ctx *c, ig_value list, ig_srows_like *like);
// The same of a list that holds more elements, or others.
void ig_srows_learn_more(ig_ctx *c, ig_value list, ig_srows_like *like);

// The elements of a list of either kind, stacked. like: for a list without elements. NULL after an
// error.
ig_tensor *ig_srows_stacked(ig_ctx *c, ig_value list, const ig_srows_like *like);
// A new list of the elements of one of either kind; NULL after an error.
ig_sobj_seq *ig_srows_of(ig_ctx *c, ig_value list, const ig_srows_like *like);
// A list, of either kind, keeps its elements from now on as those of `like` are.
void ig_srows_settle(ig_ctx *c, ig_sobj_seq *s, const ig_srows_like *like);
// The tensors of a list as ig_srows_settle leaves it: one, or two if its elements are ragged.
size_t ig_srows_tensors(ig_ctx *c, ig_value list, ig_tensor **tensors);
// The same list of other tensors; a new one, NULL after an error.
ig_sobj_seq *ig_srows_from(ig_ctx *c, const ig_sobj_seq *like, ig_tensor *const *tensors);
// A list, of either kind, has these elements from now on: joined along a dimension, with lengths.
void ig_srows_join(ig_sobj_seq *s, int dim, ig_tensor *joined, ig_tensor *lengths);
// A new list, NULL after an error.
ig_sobj_seq *ig_srows_make(ig_ctx *c, const ig_stype *type, ig_tensor *stacked);
// A list, of either kind, has these elements from now on.
void ig_srows_become(ig_sobj_seq *s, ig_tensor *stacked);
// Element `index`, a new reference; None after an error.
ig_value ig_srows_item(ig_ctx *c, const ig_sobj_seq *s, ig_int index);

// What a built-in does with such a list; NULL: it does not take one.
ig_sbuiltin_fn *ig_srows_builtin(ig_sbuiltin_fn *run);
// An operator on such a list; the result goes to *out, a tensor of the innermost scope. False after
// the error: it does not take one.
bool ig_srows_call(ig_ctx *c, const ig_sinsn *i, const ig_value *args, ig_value *out);
// The list that an operator takes from a tensor, if its length depends on a dynamic size; false: it
// does not, or the script only takes the list apart, which states its length.
bool ig_srows_split(ig_ctx *c, const ig_sinsn *i, const ig_value *args, ig_value *out);

#endif
