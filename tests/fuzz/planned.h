// SPDX-License-Identifier: Apache-2.0
// Plans against the interpreter.
#ifndef TESTS_FUZZ_PLANNED_H_
#define TESTS_FUZZ_PLANNED_H_

#include "ingot/program.h"

// Runs a functional program by plans with every part on and off, twice each, and compares with the
// interpreter: the same bits. Nothing is compared if `deterministic` is false.
void fuzz_run_planned(ig_ctx *c, const ig_program *p, const ig_value *inputs, size_t n,
                      bool deterministic);

#endif
