// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // CLOCK_MONOTONIC_COARSE
#include "base/clock.h"

#include <time.h>

int64_t ig_clock_nanos(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t ig_clock_coarse(void) {
  struct timespec t = {0};
#if defined(CLOCK_MONOTONIC_COARSE)
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
