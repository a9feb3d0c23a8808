// SPDX-License-Identifier: Apache-2.0
// How many threads the kernels of this process use. There is one pool per process; its threads
// sleep when idle. Any thread may call these at any time.
#ifndef INGOT_THREADS_H_
#define INGOT_THREADS_H_

#include "ingot/status.h"

IG_BEGIN_DECLS

// Threads that a parallel loop may use, including the caller. The default is OMP_NUM_THREADS, or
// else the number of processors available to this process. When setting, n < 1 restores the
// default; n may exceed the number of processors.
IG_API int ig_threads_get(void);
IG_API void ig_threads_set(int n);

// Multiplications and additions of f32 per second that one thread can do, as a loop of nothing else
// reaches. Measured by the call, which takes some milliseconds.
IG_API double ig_threads_peak_flops(void);

IG_END_DECLS

#endif
