// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ingot/aten.h"
#include "rt/layer.h"

static const ig_role_facts roles[] = {
    {.id = IG_ID_CONVOLUTION, .role = IG_ROLE_CONVOLUTION},
    {.id = IG_ID__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, .role = IG_ROLE_NORM},
    {.id = IG_ID_ADD_TENSOR, .role = IG_ROLE_ADD},
    {.id = IG_ID_RELU, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo = 0, .hi = INFINITY},
    {.id = IG_ID_RELU6, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo = 0, .hi = 6},
    {.id = IG_ID_HARDTANH, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo_arg = 1, .hi_arg = 2},
    {.id = IG_ID_CLAMP, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo_arg = 1, .hi_arg = 2},
    {.id = IG_ID_CLAMP_MIN, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo_arg = 1, .hi = INFINITY},
    {.id = IG_ID_CLAMP_MAX, .role = IG_ROLE_ACT, .act = IG_ACT_CLAMP, .lo = -INFINITY, .hi_arg = 1},
    {.id = IG_ID_SILU, .role = IG_ROLE_ACT, .act = IG_ACT_SILU},
    {.id = IG_ID_HARDSWISH, .role = IG_ROLE_ACT, .act = IG_ACT_HARDSWISH},
    {.id = IG_ID_MAX_POOL2D_WITH_INDICES, .role = IG_ROLE_WINDOWS, .spare = 2},
    {.id = IG_ID_AVG_POOL2D, .role = IG_ROLE_WINDOWS},
    {.id = IG_ID__ADAPTIVE_AVG_POOL2D, .role = IG_ROLE_WINDOWS},
    {.id = IG_ID_MEAN_DIM, .role = IG_ROLE_MEAN},
    {.id = IG_ID_CAT, .role = IG_ROLE_CAT},
};

const ig_role_facts *ig_role_of(const ig_op *op) {
  static const ig_role_facts none = {.role = IG_ROLE_NONE};
  for (size_t i = 0; op && i < sizeof roles / sizeof *roles; i++) {
    if (roles[i].id == op->number) return &roles[i];
  }
  return &none;
}
