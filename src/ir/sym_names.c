// SPDX-License-Identifier: Apache-2.0
// Python names of functions of symbolic numbers.
#include <string.h>

#include "ir/graph.h"

// The first of several kinds with one name is what the name means.
static const struct {
  ig_expr_kind kind;
  const char *target;
} table[] = {
    {IG_EXPR_ADD, "_operator.add"},
    {IG_EXPR_SUB, "_operator.sub"},
    {IG_EXPR_MUL, "_operator.mul"},
    {IG_EXPR_NEG, "_operator.neg"},
    {IG_EXPR_POW, "_operator.pow"},
    {IG_EXPR_POW_NATURAL, "_operator.pow"},
    {IG_EXPR_FLOAT_POW, "_operator.pow"},
    {IG_EXPR_MIN, "torch.sym_min"},
    {IG_EXPR_MAX, "torch.sym_max"},
    {IG_EXPR_ABS, "_operator.abs"},
    {IG_EXPR_FLOORDIV, "_operator.floordiv"},
    {IG_EXPR_CLEANDIV, "_operator.floordiv"},
    {IG_EXPR_MOD, "_operator.mod"},
    {IG_EXPR_PYTHONMOD, "_operator.mod"},
    {IG_EXPR_LSHIFT, "_operator.lshift"},
    {IG_EXPR_RSHIFT, "_operator.rshift"},
    {IG_EXPR_CEIL, "math.ceil"},
    {IG_EXPR_FLOOR, "math.floor"},
    {IG_EXPR_TRUNC, "math.trunc"},
    {IG_EXPR_ROUND, "round"},
    {IG_EXPR_ROUND_DECIMAL, "round"},
    {IG_EXPR_TRUEDIV, "_operator.truediv"},
    {IG_EXPR_INT_TRUEDIV, "_operator.truediv"},
    {IG_EXPR_FLOAT_TRUEDIV, "_operator.truediv"},
    {IG_EXPR_TO_FLOAT, "torch.sym_float"},
    {IG_EXPR_SQRT, "torch._sym_sqrt"},
    {IG_EXPR_COS, "torch._sym_cos"},
    {IG_EXPR_COSH, "torch._sym_cosh"},
    {IG_EXPR_SIN, "torch._sym_sin"},
    {IG_EXPR_SINH, "torch._sym_sinh"},
    {IG_EXPR_TAN, "torch._sym_tan"},
    {IG_EXPR_TANH, "torch._sym_tanh"},
    {IG_EXPR_ASIN, "torch._sym_asin"},
    {IG_EXPR_ACOS, "torch._sym_acos"},
    {IG_EXPR_ATAN, "torch._sym_atan"},
    {IG_EXPR_LOG2, "torch._sym_log2"},
    {IG_EXPR_PIECEWISE, "torch.sym_ite"},
    {IG_EXPR_EQ, "_operator.eq"},
    {IG_EXPR_NE, "_operator.ne"},
    {IG_EXPR_LT, "_operator.lt"},
    {IG_EXPR_LE, "_operator.le"},
    {IG_EXPR_GT, "_operator.gt"},
    {IG_EXPR_GE, "_operator.ge"},
    {IG_EXPR_AND, "_operator.and_"},
    {IG_EXPR_OR, "_operator.or_"},
    {IG_EXPR_NOT, "torch.sym_not"},
};
enum { COUNT = sizeof table / sizeof *table };

const char *ig_sym_target(ig_expr_kind kind) {
  for (size_t i = 0; i < COUNT; i++) {
    if (table[i].kind == kind) return table[i].target;
  }
  return NULL;
}

bool ig_sym_find(const char *target, ig_expr_kind *kind) {
  for (size_t i = 0; i < COUNT; i++) {
    if (strcmp(table[i].target, target) != 0) continue;
    *kind = table[i].kind;
    return true;
  }
  return false;
}

const char *ig_sym_base(const char *target) {
  const char *dot = strrchr(target, '.');
  return dot ? dot + 1 : target;
}

ig_node ig_size_call(const ig_value args[2], const ig_value *val) {
  return (ig_node){.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_SIZE,
                   .target = "aten.sym_size.int",
                   .args = args,
                   .npos = 2,
                   .val = *val};
}
