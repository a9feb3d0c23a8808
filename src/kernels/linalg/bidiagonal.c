// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/bidiagonal.h"

#include <tgmath.h>

enum { MOST_STEPS = 6 };  // rotations per pair of elements, of which two are usual

#define BODY "kernels/linalg/bidiagonal.inc"
#include "kernels/linalg/each_real.inc"
