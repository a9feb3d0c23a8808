// SPDX-License-Identifier: Apache-2.0
// Everything that the command prints of a model without running it: facts, symbols, listings,
// layers, statistics of weights, pictures, differences.
#ifndef TESTS_FUZZ_DESCRIBE_H_
#define TESTS_FUZZ_DESCRIBE_H_

#include "draw.h"
#include "ingot/model.h"

// Leaves no error in the context. d chooses the form of the picture.
void fuzz_describe(ig_ctx *c, draw *d, const ig_model *m);

#endif
