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

// How a sample is read. The same call with other sizes or elements is a sample of its own.
typedef struct sample_how {
  ig_dtype floats;  // what the text calls f32
  int64_t from;     // a size, 0: none, that becomes
  int64_t to;       // 0 or 1
  bool flat;        // every f32 tensor is 0-d
  bool special;     // f32 tensors without other suffixes contain NaN and infinities
} sample_how;

// Reads one sample and moves *text behind it (and the bar). False: malformed; the context may tell
// more.
bool sample_parse(ig_ctx *c, const ig_op *op, const char **text, sample_how how, sample *out);

enum { SAMPLE_SIZES = 3 };
// Distinct sizes of at least 2 in the tensors of a sample, rising, at most SAMPLE_SIZES.
size_t sample_sizes(const char *text, int64_t *sizes);

#endif
