// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: a heap with a limit that notices leaks, the count of operator calls, and
// how a finding is reported.
#ifndef TESTS_FUZZ_FUZZ_H_
#define TESTS_FUZZ_FUZZ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingot/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// Calls of operators that the target made so far; the driver prints it.
extern unsigned long long fuzz_calls;

// A context over a heap of `limit` bytes, on one thread of kernels; NULL: not even that fits.
ig_ctx *fuzz_open(size_t limit);
// Frees it; leaks are findings.
void fuzz_close(ig_ctx *c);

// The n-th allocation from now on, counted from 0, fails, and no other; it may then refuse anything
// and compute something else, so that results are not compared. SIZE_MAX: none fails. Returns the
// number of allocations since the last call.
size_t fuzz_fail_allocation(size_t n);
bool fuzz_fails_allocations(void);

// Something is wrong that no sanitizer sees: says what and aborts.
_Noreturn void fuzz_finding(const char *fmt, ...) IG_PRINTF(1, 2);

// INGOT_FUZZ_SHOW is set, or this: tell what is being done.
extern bool fuzz_show_always;
bool fuzz_shows(void);
void fuzz_show(const char *fmt, ...) IG_PRINTF(1, 2);
void fuzz_show_value(const ig_value *v);

#endif
