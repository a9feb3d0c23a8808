// SPDX-License-Identifier: Apache-2.0
// Networks made from bytes, as programs: an input and layers of the usual kinds with drawn shapes.
#ifndef TESTS_FUZZ_NETS_H_
#define TESTS_FUZZ_NETS_H_

#include "program.h"

// Draws layers while there are bytes, and runs them. The program returns the last value and few
// others, so that sessions may fuse what lies between. The innermost scope owns the tensors.
void fuzz_net_make(ig_ctx *c, draw d, bool grads, fuzz_program *p);

#endif
