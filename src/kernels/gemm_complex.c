// SPDX-License-Identifier: Apache-2.0
// Complex products, each as four real ones.
#include <stdbool.h>

#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/gemm_engine.h"
#include "kernels/gemm_kernels.h"
#include "kernels/scratch.h"

#define C float _Complex
#define R float
#define NAME(x) x##_c64
#define SERIAL ig_gemm_serial_f32
#define SERIAL_NEED ig_gemm_serial_need_f32
#include "kernels/gemm_complex.inc"
#undef C
#undef R
#undef NAME
#undef SERIAL
#undef SERIAL_NEED

#define C double _Complex
#define R double
#define NAME(x) x##_c128
#define SERIAL ig_gemm_serial_f64
#define SERIAL_NEED ig_gemm_serial_need_f64
#include "kernels/gemm_complex.inc"
