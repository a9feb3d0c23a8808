// SPDX-License-Identifier: Apache-2.0
// Results of the real PyTorch, made by tools/make_goldens.py.
#ifndef TESTS_GOLDEN_H_
#define TESTS_GOLDEN_H_

#include "op/op.h"
#include "sample.h"

typedef struct golden {
  bool refused;                       // PyTorch raised an exception
  char class[32];                     // of this class
  ig_value outs[IG_MAX_RETURNS + 4];  // results, then tensors that the call wrote
  size_t n;
  ig_value items[64];
} golden;

bool golden_open(const char *path);  // Reads the whole file; false: there is none.
void golden_close(void);

// The results of sample `number` of op, read as `how` says; tensors belong to the innermost scope.
// False: not recorded.
bool golden_find(ig_ctx *c, const ig_op *op, size_t number, sample_how how, golden *out);

#endif
