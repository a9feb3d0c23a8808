// SPDX-License-Identifier: Apache-2.0
// Which tensors of a program share memory, tracked while it is functionalized.
//
// A tensor represents the node that computes its current value (tensor->node). A write to it is a
// new value of its memory: the write is pending there, and every tensor over the memory is updated
// when it is next used, by regenerating its views from the new base.
#ifndef PASS_ALIAS_H_
#define PASS_ALIAS_H_

#include "op/call.h"

// One view, after those of its parent: the operator and its arguments except the tensor.
typedef struct ig_alias_view {
  const struct ig_alias_view *parent;  // NULL: of the base
  const ig_op *op;
  const ig_value *args;  // one per argument after the first
  size_t index;          // of the result, when there are several
  size_t depth;          // number of views up to here
} ig_alias_view;

typedef struct ig_aliases {
  ig_ctx *c;
  ig_arena arena;
  ig_table states;  // tensor -> its memory and views
  struct memory *memories;
  const ig_rewrite *rewrite;  // called when views are regenerated; may be NULL
  IG_VEC(ig_tensor *) kept;   // outlive the nodes whose values they were
} ig_aliases;

ig_aliases ig_aliases_make(ig_ctx *c);
void ig_aliases_free(ig_aliases *a);

// The results of a recorded view of args[0]: a tensor or a list of tensors.
bool ig_alias_relate(ig_aliases *a, const ig_op *op, const ig_value *args, const ig_value *result);
// self itself becomes that view (squeeze_, t_ ...).
bool ig_alias_become(ig_aliases *a, const ig_op *op, const ig_value *args, ig_tensor *self,
                     ig_tensor *view);
// Updates t: afterwards t->node computes its value.
bool ig_alias_sync(ig_aliases *a, ig_tensor *t);
// Writes `value` to t; other tensors over the same memory see it.
bool ig_alias_write(ig_aliases *a, ig_tensor *t, ig_tensor *value);
bool ig_alias_is_view(const ig_aliases *a, const ig_tensor *t);  // of another tensor
bool ig_alias_is_written(const ig_aliases *a,
                         const ig_tensor *t);       // Has its memory been written to?
void ig_alias_freeze(ig_aliases *a, ig_tensor *t);  // Writes to its memory are errors from now on.

#endif
