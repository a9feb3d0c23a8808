// SPDX-License-Identifier: Apache-2.0
// Complex numbers are pairs of reals here. A product with x + i y is a sum of two real products,
// one of them with the pairs turned, so both kinds of numbers have the same loops.
#include "kernels/linalg/vector.h"

#include <complex.h>
#include <tgmath.h>

#include "base/cpu.h"

#define BODY "kernels/linalg/vector.inc"
#include "kernels/linalg/each.inc"
