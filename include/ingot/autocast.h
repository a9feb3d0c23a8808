// SPDX-License-Identifier: Apache-2.0
// Autocast: calls take operands of a shorter type where that is safe, as long as the state is on.
#ifndef INGOT_AUTOCAST_H_
#define INGOT_AUTOCAST_H_

#include "ingot/tensor.h"

// One state for the CPU and one for all other devices. Products, convolutions and attention take
// their floating-point operands as `dtype`, losses and decompositions as float32, cat and stack as
// the widest of theirs; float64 stays. The casts are calls, which a capture records.
typedef struct ig_autocast {
  bool on;
  ig_dtype dtype;  // usually IG_BF16 on the CPU, IG_F16 elsewhere
} ig_autocast;

IG_API void ig_autocast_set(ig_ctx *c, ig_device_type device, ig_autocast state);
IG_API ig_autocast ig_autocast_get(const ig_ctx *c, ig_device_type device);

#endif
