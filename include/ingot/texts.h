// SPDX-License-Identifier: Apache-2.0
// Arrays of texts, which ONNX models take and give and NumPy's files hold. Such an array is an
// ig_value: a text (no dimensions), or a list of texts, or lists of those, where all lists of one
// depth have one length. An array without elements keeps its sizes up to the first 0.
#ifndef INGOT_TEXTS_H_
#define INGOT_TEXTS_H_

#include "ingot/tensor.h"

IG_BEGIN_DECLS

// Sizes of the array, at most IG_MAX_DIM, and their number. False: it is no array of texts.
IG_API bool ig_texts_measure(const ig_value *v, int64_t *sizes, int *ndim);
// The first `cap` texts in row-major order, borrowed; returns how many there are in all.
IG_API size_t ig_texts_read(const ig_value *v, const char **out, size_t cap);
IG_API bool ig_texts_equal(const ig_value *a, const ig_value *b);  // in sizes and texts

IG_END_DECLS

#endif
