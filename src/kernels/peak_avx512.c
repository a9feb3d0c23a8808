// SPDX-License-Identifier: Apache-2.0
#define NAME ig_peak_avx512
#define WIDTH 16
#include "kernels/peak_loop.inc"
