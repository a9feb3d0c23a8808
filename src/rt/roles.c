// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ingot/aten.h"
#include "rt/layer.h"

static const ig_role_facts roles[] = {
    {.id = IG_ID_CONVOLUTION, .role = IG_ROLE_CONVOLUTION},
    {.id = IG_ID_LINEAR, .role = IG_ROLE_PRODUCT, .w = 1, .bias = 2},
    {.id = IG_ID_MM, .role = IG_ROLE_PRODUCT, .w = 1, .bias = -1, .across = true},
    {.id = IG_ID_ADDMM,
     .role = IG_ROLE_PRODUCT,
     .x = 1,
     .w = 2,
     .bias = 0,
     .beta = 3,
     .alpha = 4,
     .across = true},
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
    {.id = IG_ID_GELU, .role = IG_ROLE_ACT, .act = IG_ACT_GELU, .text = "none"},
    {.id = IG_ID_GELU, .role = IG_ROLE_ACT, .act = IG_ACT_GELU_TANH, .text = "tanh"},
    {.id = IG_ID_MAX_POOL2D_WITH_INDICES, .role = IG_ROLE_WINDOWS, .spare = 2},
    {.id = IG_ID_AVG_POOL2D, .role = IG_ROLE_WINDOWS},
    {.id = IG_ID__ADAPTIVE_AVG_POOL2D, .role = IG_ROLE_WINDOWS},
    {.id = IG_ID_MEAN_DIM, .role = IG_ROLE_MEAN},
    {.id = IG_ID_CAT, .role = IG_ROLE_CAT},
    {.id = IG_ID_MUL_TENSOR, .role = IG_ROLE_TIMES},
    {.id = IG_ID_DIV_TENSOR, .role = IG_ROLE_OVER},
    {.id = IG_ID_POW_TENSOR_SCALAR, .role = IG_ROLE_POWER},
    {.id = IG_ID_POW_TENSOR_TENSOR, .role = IG_ROLE_POWER},
    {.id = IG_ID_ERF, .role = IG_ROLE_ERF},
    {.id = IG_ID_TANH, .role = IG_ROLE_TANH},
    {.id = IG_ID_SIGMOID, .role = IG_ROLE_SIGMOID},
    {.id = IG_ID_BMM, .role = IG_ROLE_MATRICES},
    {.id = IG_ID__SOFTMAX, .role = IG_ROLE_SOFTMAX},
    {.id = IG_ID_CLONE, .role = IG_ROLE_COPY},
};

static const ig_role_facts none = {.role = IG_ROLE_NONE};

const ig_role_facts *ig_role_of(const ig_op *op) {
  for (size_t i = 0; op && i < sizeof roles / sizeof *roles; i++) {
    if (roles[i].id == op->number) return &roles[i];
  }
  return &none;
}

const ig_role_facts *ig_role_of_call(const ig_op *op, const ig_value *args) {
  for (size_t i = 0; op && i < sizeof roles / sizeof *roles; i++) {
    const ig_role_facts *f = &roles[i];
    if (f->id != op->number) continue;
    if (!f->text || (args[1].kind == IG_KIND_STR && strcmp(args[1].str, f->text) == 0)) return f;
  }
  return &none;
}
