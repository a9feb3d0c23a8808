// SPDX-License-Identifier: Apache-2.0
// The types that ONNX operators accept. ONNX has no type promotion; an operand is converted first,
// to the dtype of the result or, where an operator lacks that, to a wider one in which the result
// is the same. Small integers are computed in 32 bits: the standard allows them in few operators,
// and runtimes in fewer.
#include <string.h>

#include "onnx/schema.h"
#include "onnx/writer.h"

// The parameter whose type an operator computes with: the first input of its first result's type,
// or its first input if none has that.
static const ig_onnx_param *computed_param(const ig_onnx_schema *s) {
  const ig_onnx_param *out = ig_onnx_schema_output(s, 0);
  for (size_t i = 0; out && i < s->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    if (p && p->var != 0xff && p->var == out->var) return p;
  }
  return ig_onnx_schema_input(s, 0);
}

// Does an operator of the model's opset compute with this dtype, by the standard?
static bool computes_with(const ig_onnx *x, const char *op_type, ig_dtype d) {
  const ig_onnx_schema *s = ig_onnx_schema_find("", op_type, x->opset);
  const ig_onnx_param *p = s ? computed_param(s) : NULL;
  if (!p) return true;  // of another domain
  return ig_onnx_param_types(s, p)->forms[IG_ONNX_FORM_TENSOR] >> ig_onnx_elem_type(d) & 1;
}

// What is computed from a result is often selected from by Where, which takes bfloat16 from here
// on.
enum { BFLOAT16_SINCE = 16 };

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
      return x->opset >= BFLOAT16_SINCE && computes_with(x, op_type, d) ? d : IG_F32;
    case IG_F16:
      // onnxruntime has no CumSum of float16 in versions of the standard that allow it.
      return computes_with(x, op_type, d) && strcmp(op_type, "CumSum") != 0 ? d : IG_F32;
    case IG_F8E4M3FN:
    case IG_F8E5M2:
      return IG_F32;
    case IG_F64:
      return computes_with(x, op_type, d) ? d : IG_F32;
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
