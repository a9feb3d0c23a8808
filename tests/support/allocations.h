// SPDX-License-Identifier: Apache-2.0
// How many blocks of memory this process has asked the C library for so far, by whatever thread.
// Always 0 where the C library cannot be asked behind a sanitizer's back.
#ifndef TESTS_ALLOCATIONS_H_
#define TESTS_ALLOCATIONS_H_

#include <stddef.h>

size_t test_allocations(void);

#endif
