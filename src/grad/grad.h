// SPDX-License-Identifier: Apache-2.0
// Inside of the backward sweep: running one entry, adding a gradient to a leaf.
#ifndef GRAD_GRAD_H_
#define GRAD_GRAD_H_

#include "op/tape.h"

// Runs the rule of e: grads has one gradient per result (NULL: zero), d gets one per wanted slot
// (NULL: zero), owned by the innermost scope, of the dtype and sizes of the operand. False after an
// error, also when the rule read what was freed or overwritten.
bool ig_entry_apply(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, const bool *wanted,
                    ig_tensor **d);

// A kept tensor with its history, checked. With `why` NULL stale bytes are an error at once;
// otherwise a ghost stands for them and *why tells about the first one.
typedef struct ig_stale {
  const ig_saved *saved;
  ig_edge edge;  // borrowed
  bool freed;
} ig_stale;
ig_tensor *ig_saved_unpack(ig_ctx *c, const ig_saved *s, const ig_edge *edge, bool freed,
                           ig_stale *why);
void ig_stale_fail(ig_ctx *c, const ig_stale *why);

// t.grad += g. Takes the memory of g when nobody else has it.
bool ig_grad_accumulate(ig_ctx *c, ig_tensor *t, ig_tensor *g);

// a + b; a's memory is reused if `owned`.
ig_tensor *ig_grad_plus(ig_ctx *c, ig_tensor *a, ig_tensor *b, bool owned);

// Calls the tensor hooks of `index` among hooks; g is replaced by what they answer.
ig_tensor *ig_hooks_call(ig_ctx *c, const ig_hooks *hooks, ig_hook_kind kind, uint32_t index,
                         ig_tensor *g);

// "[2, 3]", into text
const char *ig_grad_sizes_text(ig_ctx *c, const ig_tensor *t, char *text, size_t cap);

#endif
