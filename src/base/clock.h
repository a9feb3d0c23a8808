// SPDX-License-Identifier: Apache-2.0
// Clocks that never go back.
#ifndef BASE_CLOCK_H_
#define BASE_CLOCK_H_

#include <stdint.h>

// Nanoseconds since some moment.
int64_t ig_clock_nanos(void);
static inline double ig_clock_seconds(void) {
  return 1e-9 * (double)ig_clock_nanos();
}

// Milliseconds since some moment, where the system has one by a clock that is cheap to read and
// advances every few milliseconds.
uint64_t ig_clock_coarse(void);

#endif
