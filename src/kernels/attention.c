// SPDX-License-Identifier: Apache-2.0
// Attention in float and double.
#include "kernels/attention.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/attention_core.h"
#include "kernels/gemm_kernels.h"
#include "kernels/scratch.h"
#include "kernels/vmath.h"

#define X float
#define NAME(x) x##_f32
#define EXP(x) ig_exp_f32(x)
#define LOG(x) logf(x)
#include "kernels/attention.inc"
#include "kernels/attention_doors.inc"
#undef X
#undef NAME
#undef EXP
#undef LOG

#define X double
#define NAME(x) x##_f64
#define EXP(x) ig_exp_f64(x)
#define LOG(x) log(x)
#include "kernels/attention.inc"
#include "kernels/attention_doors.inc"
