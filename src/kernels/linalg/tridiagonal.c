// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/tridiagonal.h"

#include <tgmath.h>

enum { MOST_SWEEPS = 30 };  // per eigenvalue, for which two are usual

#define BODY "kernels/linalg/tridiagonal.inc"
#include "kernels/linalg/each_real.inc"
