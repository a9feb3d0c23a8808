// SPDX-License-Identifier: Apache-2.0
// The types that ONNX operators accept. ONNX has no type promotion; an operand is converted first,
// to the dtype of the result or, where an operator lacks that, to a wider one in which the result
// is the same. Small integers are computed in 32 bits: the standard allows them in few operators,
// and runtimes in fewer.
#include <string.h>

#include "onnx/writer.h"

// The first opset at which an operator accepts bfloat16, if not 13; 99: never.
static int bfloat16_since(const char *op) {
  static const struct {
    const char *op;
    int opset;
  } rows[] = {
      {"Acos", 22},
      {"Acosh", 22},
      {"Asin", 22},
      {"Asinh", 22},
      {"Atan", 22},
      {"Atanh", 22},
      {"Attention", 23},
      {"AveragePool", 22},
      {"BatchNormalization", 14},
      {"Celu", 28},
      {"Col2Im", 18},
      {"Conv", 22},
      {"ConvTranspose", 22},
      {"Cos", 22},
      {"Cosh", 22},
      {"CumSum", 14},
      {"Det", 22},
      {"Einsum", 28},
      {"Elu", 22},
      {"GRU", 22},
      {"Gelu", 20},
      {"GlobalAveragePool", 22},
      {"GreaterOrEqual", 16},
      {"GridSample", 22},
      {"HardSigmoid", 22},
      {"HardSwish", 22},
      {"InstanceNormalization", 22},
      {"IsInf", 20},
      {"LSTM", 22},
      {"LayerNormalization", 17},
      {"LeakyRelu", 16},
      {"LessOrEqual", 16},
      {"MaxPool", 22},
      {"Mish", 22},
      {"Range", 27},
      {"Round", 22},
      {"Selu", 22},
      {"Sin", 22},
      {"Sinh", 22},
      {"Softplus", 22},
      {"Tan", 22},
      {"TopK", 24},
      {"OneHot", 99},
      {"Shrink", 99},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, op) == 0) return rows[i].opset;
  }
  return 13;
}

// Operators that move elements and accept all types.
static bool takes_all(const char *op) {
  static const char *const names[] = {"Gather",          "GatherElements", "GatherND", "ScatterND",
                                      "ScatterElements", "Concat",         "Slice",    "Expand",
                                      "Transpose",       "Reshape",        "Identity"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], op) == 0) return true;
  }
  return false;
}

static bool takes_bool(const char *op) {
  return strcmp(op, "Equal") == 0;
}

ig_dtype ig_onnx_compute_type(const ig_onnx *x, const char *op_type, ig_dtype d) {
  if (takes_all(op_type)) return d;
  switch (d) {
    case IG_BOOL:
      return takes_bool(op_type) ? d : IG_I32;
    case IG_U8:
    case IG_I8:
    case IG_I16:
    case IG_U16:
      return IG_I32;
    case IG_U32:
    case IG_U64:
      return IG_I64;
    case IG_BF16:
      return x->opset >= bfloat16_since(op_type) ? d : IG_F32;
    case IG_F16:
      // IsInf and others initially accepted only float and double.
      if (strcmp(op_type, "IsInf") == 0 && x->opset < 20) return IG_F32;
      return strcmp(op_type, "CumSum") == 0 || strcmp(op_type, "Celu") == 0 ? IG_F32 : d;
    case IG_F8E4M3FN:
    case IG_F8E5M2:
      return IG_F32;
    case IG_F64:
      return strcmp(op_type, "Celu") == 0 && x->opset < 28 ? IG_F32 : d;
    default:
      return d;
  }
}

const char *ig_onnx_emit_as(ig_onnx *x, const ig_onnx_call *call, const ig_onnx_node *node,
                            ig_dtype d) {
  ig_onnx_node own = *node;
  own.out = d == call->val->dtype ? call->out : NULL;
  const char *out = ig_onnx_emit(x, &own);
  return d == call->val->dtype ? out : ig_onnx_cast(x, out, call->val->dtype, call->out);
}

const char *ig_onnx_finish(ig_onnx *x, const ig_onnx_call *call, const char *name, ig_dtype d) {
  if (d != call->val->dtype) return ig_onnx_cast(x, name, call->val->dtype, call->out);
  ig_onnx_same(x, name, call->out);
  return call->out;
}
