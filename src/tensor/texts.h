// SPDX-License-Identifier: Apache-2.0
// Making arrays of texts (ingot/texts.h).
#ifndef TENSOR_TEXTS_H_
#define TENSOR_TEXTS_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "ingot/texts.h"

// Texts in row-major order as an array of these sizes, in the innermost scope; the texts are
// borrowed. `name` is used in messages. NULL after an error. Sizes of 0 and 1 can ask for any
// number of lists around few texts or none: IG_UNSUPPORTED from IG_MAX_LISTS on, and four more per
// text.
enum { IG_MAX_LISTS = 1 << 16 };
const ig_value *ig_texts_make(ig_ctx *c, const char *name, const char *const *texts,
                              const int64_t *sizes, int ndim);
// Puts the lists and texts of *v, whatever else is in it, into the arena. False: out of memory,
// which the context says.
bool ig_texts_copy(ig_ctx *c, ig_arena *a, ig_value *v);

#endif
