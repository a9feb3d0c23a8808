// SPDX-License-Identifier: Apache-2.0
#define NAME ig_peak_avx2
#define WIDTH 8
#include "kernels/peak_loop.inc"
