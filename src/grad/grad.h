// SPDX-License-Identifier: Apache-2.0
// Internals of the backward pass: running one entry, accumulating into a leaf.
#ifndef GRAD_GRAD_H_
#define GRAD_GRAD_H_

#include "op/tape.h"

// Runs the rule of e: grads has one gradient per result (NULL: zero), d gets one per wanted slot
// (NULL: zero), owned by the innermost scope, of the dtype and sizes of the operand. False after an
// error, also if the rule reads data that was freed or overwritten.
bool ig_entry_apply(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, const bool *wanted,
                    ig_tensor **d);

// A saved tensor with its history, checked. With `why` NULL stale data is an error at once;
// otherwise a tensor without data replaces it and *why describes the first one.
typedef struct ig_stale {
  const ig_saved *saved;
  ig_edge edge;  // borrowed
  bool freed;
} ig_stale;
ig_tensor *ig_saved_unpack(ig_ctx *c, const ig_saved *s, const ig_edge *edge, bool freed,
                           ig_stale *why);
void ig_stale_fail(ig_ctx *c, const ig_stale *why);

// t.grad += g. Steals the memory of g if it has no other owner.
bool ig_grad_accumulate(ig_ctx *c, ig_tensor *t, ig_tensor *g);

// a + b; a's memory is reused if `owned`.
ig_tensor *ig_grad_plus(ig_ctx *c, ig_tensor *a, ig_tensor *b, bool owned);

// Calls the tensor hooks of `index` among hooks; g is replaced by what they return.
ig_tensor *ig_hooks_call(ig_ctx *c, const ig_hooks *hooks, ig_hook_kind kind, uint32_t index,
                         ig_tensor *g);

// "[2, 3]", into text
const char *ig_grad_sizes_text(ig_ctx *c, const ig_tensor *t, char *text, size_t cap);

#endif
