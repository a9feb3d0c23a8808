// SPDX-License-Identifier: Apache-2.0
// What the conversion knows about operators besides their schemas, one row each.
#include <string.h>

#include "onnx_convert/convert.h"

typedef struct row {
  const char *op;
  unsigned traits;
} row;

static const row rows[] = {
    {"Add", IG_CV_SAME_RANK},
    {"BitCast", IG_CV_KEEPS_TYPES},
    {"BitShift", IG_CV_KEEPS_TYPES},
    {"Cast", IG_CV_SAME_RANK | IG_CV_KEEPS_TYPES},
    {"CastLike", IG_CV_KEEPS_TYPES},
    {"Constant", IG_CV_CONSTANT | IG_CV_KEEPS_TYPES},
    {"ConvInteger", IG_CV_KEEPS_TYPES},
    {"DequantizeLinear", IG_CV_KEEPS_TYPES},
    {"Div", IG_CV_SAME_RANK},
    {"Exp", IG_CV_SAME_RANK},
    {"Identity", IG_CV_SAME_RANK},
    {"Loop", IG_CV_CONDITION_FIRST},
    {"MatMulInteger", IG_CV_KEEPS_TYPES},
    {"Mul", IG_CV_SAME_RANK},
    {"Neg", IG_CV_SAME_RANK},
    {"OneHot", IG_CV_ADDS_AXIS},
    {"QLinearConv", IG_CV_KEEPS_TYPES},
    {"QLinearMatMul", IG_CV_KEEPS_TYPES},
    {"QuantizeLinear", IG_CV_KEEPS_TYPES},
    {"Reciprocal", IG_CV_SAME_RANK},
    {"ReduceMax", IG_CV_IDENTITY_OF_ONE},
    {"ReduceMean", IG_CV_IDENTITY_OF_ONE},
    {"ReduceMin", IG_CV_IDENTITY_OF_ONE},
    {"ReduceProd", IG_CV_IDENTITY_OF_ONE},
    {"ReduceSum", IG_CV_IDENTITY_OF_ONE},
    {"Sqrt", IG_CV_SAME_RANK},
    {"Sub", IG_CV_SAME_RANK},
    {"Transpose", IG_CV_SAME_RANK},
    {"Unsqueeze", IG_CV_ADDS_AXES},
};

bool ig_cv_has(const ig_om_node *n, ig_cv_trait trait) {
  if (n->domain && *n->domain) return false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, n->op_type) == 0) return rows[i].traits & (unsigned)trait;
  }
  return false;
}
