// SPDX-License-Identifier: Apache-2.0
// What the files of a recording share: words of its structure, and the recorder itself.
#ifndef CAPTURE_DEFER_PARTS_H_
#define CAPTURE_DEFER_PARTS_H_

#include "capture/defer.h"

// defer_record.c: an ig_rewrite, user is the recording.
bool ig_defer_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user);

// defer.c
ig_defer_modes ig_defer_modes_of(const ig_ctx *c);
void ig_defer_wait(const ig_ctx *c, const ig_defer *d);  // Another thread computes it.

// defer_grad.c: which tensors require gradients because of recorded writes.
const ig_tensor *ig_defer_root(const ig_defer *d, const ig_tensor *t);
bool ig_defer_is_graded(const ig_defer *d, const ig_tensor *t);
// t is written with a gradient: so is what shares its history. False: out of memory.
bool ig_defer_grade(ig_ctx *c, ig_defer *d, ig_tensor *t);
// Operands that are seen for the first time may share a history that was written.
bool ig_defer_grade_operands(ig_ctx *c, ig_defer *d, const ig_value *args, size_t n);
void ig_defer_ungrade(ig_defer *d);  // The writes are about to happen, or never will.

// defer_words.c. False or NULL after an error.
bool ig_defer_word(ig_ctx *c, ig_defer *d, uint64_t w);
bool ig_defer_slot_add(ig_ctx *c, ig_defer *d, ig_int value, ig_defer_kind kind, size_t of,
                       size_t index);
bool ig_defer_value_add(ig_ctx *c, ig_defer *d, ig_tensor *t, bool input);
// A tensor that was not made here becomes an input.
bool ig_defer_arg(ig_ctx *c, ig_defer *d, const ig_arg *a, size_t i, const ig_value *v);
// Can the argument be part of a structure? Symbolic numbers, generators and objects cannot.
bool ig_defer_takes(const ig_value *v);
// Is the argument a float that has a slot? Only one in the place of a tensor: nothing but its dtype
// is looked at before it is computed with.
bool ig_defer_is_float_slot(const ig_arg *a, const ig_value *v);
ig_value *ig_defer_copy(ig_ctx *c, ig_arena *arena, const ig_value *from, size_t n);
// The arguments without expressions: args itself if there are none, otherwise `room`.
const ig_value *ig_defer_plain(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room);

#endif
