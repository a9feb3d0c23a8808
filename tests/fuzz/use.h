// SPDX-License-Identifier: Apache-2.0
// A file of any kind, used as the command uses it: opened, described, verified, run, converted,
// within small budgets.
#ifndef TESTS_FUZZ_USE_H_
#define TESTS_FUZZ_USE_H_

#include "base/ctx.h"
#include "base/file.h"
#include "draw.h"
#include "ingot/program.h"

// What verify accepts must not fail because of its structure when it runs.
void fuzz_use(ig_ctx *c, draw *d, ig_bytes bytes);

// Saves the program as .pt2 or ONNX, changes values of the document in place, and uses the file.
void fuzz_use_mutated(ig_ctx *c, draw *d, const ig_program *p);

#endif
