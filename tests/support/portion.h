// SPDX-License-Identifier: Apache-2.0
// How many of a test's many similar cases run. Emulated processors compute fifty times slower than
// real ones: their files in packaging/cross name a portion n, which meson passes as
// INGOT_TEST_PORTION, and about one case in n runs there, of long cases fewer. Under sanitizers one
// in three runs; everywhere else all of them.
#ifndef TESTS_PORTION_H_
#define TESTS_PORTION_H_

#include <stdbool.h>

// Whether the next case runs, which multiplies and adds about `work` times. The same cases are
// chosen in every run.
bool test_due(double work);

// Whether the processor is emulated. The emulator, qemu-user, does not let
// the child of a process with threads start threads.
bool test_is_emulated(void);

#endif
