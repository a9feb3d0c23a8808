// SPDX-License-Identifier: Apache-2.0
// One round of simplification over the main graph: nodes are read in order, and rules look at what
// was made before. A value that another one replaces points to it; operands are rewritten in one
// walk at the end of the round.
#ifndef EDIT_WORK_H_
#define EDIT_WORK_H_

#include "edit/edit.h"

typedef struct ig_ed_value {
  const char *name;
  size_t made;               // index of its node in the new list + 1; 0: not (yet)
  const ig_om_tensor *init;  // its elements, if they are constant
  size_t reads;              // at the beginning of the round
  bool inner;                // a sub-graph reads it
  bool in;
  bool out;
  int elem;  // 0: not known to be a tensor
  int ndim;  // -1: unknown
  const int64_t *dims;
  const void *const *exprs;
  bool has_content;
  size_t n;
  const int64_t *content;
  const void *const *content_exprs;
  const char *instead;  // NULL: itself
} ig_ed_value;

typedef struct ig_ed_work {
  ig_edit *e;
  ig_om_graph *g;
  const ig_simplify_options *options;
  ig_map values;  // by name
  ig_map hidden;  // names that sub-graphs define
  ig_map same;    // texts of nodes -> their first result; for common sub-expressions
  IG_VEC(ig_om_node) nodes;
  IG_VEC(const ig_om_tensor *) inits;  // new ones
  bool changed;
  uint64_t folded;  // bytes
  size_t brought;   // nodes of functions and branches
} ig_ed_work;

// What a rule did with a node: nothing; changed it; there are other values for all of its results.
typedef enum ig_ed_outcome { IG_ED_KEPT, IG_ED_CHANGED, IG_ED_GONE } ig_ed_outcome;
typedef ig_ed_outcome ig_ed_rule(ig_ed_work *w, ig_om_node *n);
typedef struct ig_ed_row {
  const char *op;
  ig_ed_rule *rule;
  bool fuses;  // not with keep_fused
} ig_ed_row;
extern const ig_ed_row ig_ed_rows_identity[];
extern const ig_ed_row ig_ed_rows_shape[];
extern const ig_ed_row ig_ed_rows_fuse[];
// Takes a new node into the graph, as if it had been there; for rules that make several. Its
// results may then have other names: ig_ed_name.
void ig_ed_take(ig_ed_work *w, const ig_om_node *n);
// With constants: a node over constants is one, and known integers are.
ig_ed_outcome ig_ed_fold(ig_ed_work *w, ig_om_node *n);

ig_status ig_ed_work_open(ig_ed_work *w);   // infers
ig_status ig_ed_work_close(ig_ed_work *w);  // operands, dead nodes; frees
// Never NULL; of what stands for the name now.
const ig_ed_value *ig_ed_val(ig_ed_work *w, const char *name);
ig_ed_value *ig_ed_val_put(ig_ed_work *w, const char *name);  // NULL: out of memory
const char *ig_ed_name(ig_ed_work *w, const char *name);      // what stands for it
// The node that makes a value; NULL: none, or it comes later.
const ig_om_node *ig_ed_maker(ig_ed_work *w, const char *name);
// The same if it is one of `op`.
const ig_om_node *ig_ed_maker_is(ig_ed_work *w, const char *name, const char *op);
// A value takes the place of a result. False: it cannot, because both have names that must stay.
bool ig_ed_replace(ig_ed_work *w, const char *result, const char *by);
// GONE, or KEPT if it cannot; for nodes whose first result is the only one that is read.
ig_ed_outcome ig_ed_drop(ig_ed_work *w, const ig_om_node *n, const char *by);
// The constant becomes an initializer; its name.
const char *ig_ed_constant(ig_ed_work *w, ig_om_tensor *t, const char *base);
const char *ig_ed_const_ints(ig_ed_work *w, const int64_t *at, size_t n, const char *base);
// Integers of a constant operand, in the scope of the round; NULL: not known. 1-d or a scalar.
const int64_t *ig_ed_known_ints(ig_ed_work *w, const char *name, size_t *n);
// The same of an operand or, before some opset, an attribute.
const int64_t *ig_ed_axes(ig_ed_work *w, const ig_om_node *n, const char *attr, size_t input,
                          size_t *count);
bool ig_ed_same_shape(const ig_ed_value *a, const ig_ed_value *b);
bool ig_ed_same_dim(const ig_ed_value *a, int i, const ig_ed_value *b, int k);
// Is every element of a constant operand this number?
bool ig_ed_all(ig_ed_work *w, const char *name, double number);
bool ig_ed_only_first(ig_ed_work *w, const ig_om_node *n);  // no other result is read

#endif
