// SPDX-License-Identifier: Apache-2.0
// Shared by special functions: a function of theirs, and the shape rule of those that PyTorch's CPU
// computes in float and double only.
#ifndef OPS_POINTWISE_SPECIAL_H_
#define OPS_POINTWISE_SPECIAL_H_

#include <stdio.h>
#include <string.h>

#include "op/refuse.h"
#include "op/shape.h"

double ig_digamma_of(double x);

static inline void ig_shape_special(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (out->dtype == IG_F32 || out->dtype == IG_F64) return;
  const char *name = op->schema.name;  // the kernel's name lacks the namespace
  char kernel[64];
  (void)snprintf(kernel, sizeof kernel, "%s_cpu", name + strlen("special_"));
  ig_refuse_dtype(c, kernel, out->dtype);
}

#endif
