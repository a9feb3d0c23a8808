// SPDX-License-Identifier: Apache-2.0
// Samples of operator records: "f32[3,5], 2 | f32[4,2].T, key=[0,1]" -> argument values.
//
// Elements are a fixed function of the tensor's number within the sample and of the element's
// position, so that tools/make_goldens.py makes the same ones. docs/operators.md has the grammar.
#ifndef TESTS_SAMPLE_H_
#define TESTS_SAMPLE_H_

#include "op/op.h"

enum { SAMPLE_LISTS = 24, SAMPLE_ITEMS = 40 };

typedef struct sample {
  ig_value args[IG_MAX_ARGS];
  ig_int ints[SAMPLE_LISTS][SAMPLE_ITEMS];
  ig_value items[SAMPLE_LISTS][SAMPLE_ITEMS];
  char strings[SAMPLE_LISTS][32];
  size_t lists;
  size_t tensors;
} sample;

// Reads one sample and moves *text behind it (and the bar). Tensors that the text calls f32 are
// made with dtype `floats`. False: malformed; the context may tell more.
bool sample_parse(ig_ctx *c, const ig_op *op, const char **text, ig_dtype floats, sample *out);

#endif
