// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/hermitian.h"

#include <complex.h>
#include <string.h>
#include <tgmath.h>

#include "kernels/gemm.h"
#include "kernels/linalg/qr.h"
#include "kernels/linalg/tridiagonal.h"
#include "kernels/linalg/vector.h"

enum { PANEL = 32 };  // columns that are reduced before the rest of the matrix follows

#define BODY "kernels/linalg/hermitian.inc"
#include "kernels/linalg/each.inc"
