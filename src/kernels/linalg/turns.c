// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/turns.h"

#include "base/cpu.h"
#include "base/threads.h"

#define BODY "kernels/linalg/turns.inc"
#include "kernels/linalg/each_real.inc"
