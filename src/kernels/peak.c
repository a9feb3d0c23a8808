// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "ingot/threads.h"

#define NAME peak_portable
#define WIDTH 4
static ig_peak_fn NAME;
#include "kernels/peak_loop.inc"

enum { TRIES = 8, STEPS = 100000 };  // a try takes a quarter of a millisecond

static ig_peak_fn *loop_now(int *width) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  *width = level >= IG_CPU_AVX512 ? 16 : 8;
  if (level >= IG_CPU_AVX512) return ig_peak_avx512;
  if (level >= IG_CPU_AVX2) return ig_peak_avx2;
#endif
  *width = WIDTH;
  return peak_portable;
}

double ig_peak_flops(void) {
  int width;
  ig_peak_fn *loop = loop_now(&width);
  double best = 0;
  float sum;
  for (int i = 0; i < TRIES; i++) {
    double start = ig_clock_seconds();
    loop(STEPS, &sum);
    double rate = 2.0 * IG_PEAK_SUMS * STEPS * width / (ig_clock_seconds() - start);
    if (rate > best) best = rate;
  }
  return best;
}

double ig_threads_peak_flops(void) {
  return ig_peak_flops();
}
