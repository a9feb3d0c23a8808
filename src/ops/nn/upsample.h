// SPDX-License-Identifier: Apache-2.0
#ifndef OPS_UPSAMPLE_H_
#define OPS_UPSAMPLE_H_

#include "op/op.h"

// Weights of four neighbours by cubic convolution with A = -0.75; t is the position between the
// second and the third, 0 to 1.
void ig_cubic_weights(ig_ctx *c, ig_tensor *t, ig_tensor *w[4]);

#endif
