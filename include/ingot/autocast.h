// SPDX-License-Identifier: Apache-2.0
// Autocast: while it is enabled, calls cast operands to a lower-precision dtype where that is safe.
#ifndef INGOT_AUTOCAST_H_
#define INGOT_AUTOCAST_H_

#include "ingot/tensor.h"

IG_BEGIN_DECLS

// There is one state for the CPU and one for all other devices. Matrix products, convolutions and
// attention cast their floating-point operands to `dtype`, losses and matrix decompositions to
// float32, cat and stack to the widest dtype among them; float64 is never cast. The casts are
// ordinary calls, which a capture records.
typedef struct ig_autocast {
  bool on;
  ig_dtype dtype;  // usually IG_BF16 on the CPU, IG_F16 elsewhere
} ig_autocast;

IG_API void ig_autocast_set(ig_ctx *c, ig_device_type device, ig_autocast state);
IG_API ig_autocast ig_autocast_get(const ig_ctx *c, ig_device_type device);

IG_END_DECLS

#endif
