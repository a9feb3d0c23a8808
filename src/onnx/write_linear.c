// SPDX-License-Identifier: Apache-2.0
// ONNX of matrix products.
#include <string.h>

#include "onnx/writer.h"

static int ndim_of(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  return t ? t->ndim : -1;
}

static const char *emit2(ig_onnx *x, const char *op, const char *a, const char *b,
                         const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a, b}, .out = out});
}

// A product of two matrices is a Gemm; more dimensions need the weight transposed and the bias
// added.
static void linear(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  const char *weight = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  const char *bias = ig_onnx_operand(x, &call->args[2], IG_DTYPE_COUNT);
  if (ndim_of(&call->args[0]) == 2 && ndim_of(&call->args[1]) == 2) {
    (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Gemm",
                                          .in = {in, weight, bias[0] ? bias : NULL},
                                          .attrs = {ig_onnx_int("transB", 1)},
                                          .out = call->out});
    return;
  }
  if (ndim_of(&call->args[1]) == 2) {
    static const int64_t perm[] = {1, 0};
    weight = ig_onnx_emit(
        x, &(ig_onnx_node){
               .op_type = "Transpose", .in = {weight}, .attrs = {ig_onnx_ints("perm", perm, 2)}});
  }
  const char *product = emit2(x, "MatMul", in, weight, bias[0] ? NULL : call->out);
  if (bias[0]) (void)emit2(x, "Add", product, bias, call->out);
}

static void matmul(ig_onnx *x, const ig_onnx_call *call) {
  const char *a = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  const char *b = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  (void)emit2(x, "MatMul", a, b, call->out);
}

// Two matrices: a Gemm with the TorchScript conventions.
static void mm(ig_onnx *x, const ig_onnx_call *call) {
  const char *a = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  const char *b = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  bool gemm = x->options->torchscript && ig_dtype_is_float(call->val->dtype);
  (void)emit2(x, gemm ? "Gemm" : "MatMul", a, b, call->out);
}

// beta * self + alpha * mat1 @ mat2
static void addmm(ig_onnx *x, const ig_onnx_call *call) {
  const char *bias = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  const char *a = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  const char *b = ig_onnx_operand(x, &call->args[2], IG_DTYPE_COUNT);
  double beta = ig_onnx_float_of(x, &call->args[3]);
  double alpha = ig_onnx_float_of(x, &call->args[4]);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "Gemm",
                         .in = {a, b, bias},
                         .attrs = {ig_onnx_float("alpha", alpha), ig_onnx_float("beta", beta)},
                         .out = call->out});
}

static void baddbmm(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  const char *a = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  const char *b = ig_onnx_operand(x, &call->args[2], IG_DTYPE_COUNT);
  double beta = ig_onnx_float_of(x, &call->args[3]);
  double alpha = ig_onnx_float_of(x, &call->args[4]);
  const char *product = emit2(x, "MatMul", a, b, NULL);
  if (alpha != 1) product = emit2(x, "Mul", product, ig_onnx_number(x, d, alpha), NULL);
  if (beta != 1) self = emit2(x, "Mul", self, ig_onnx_number(x, d, beta), NULL);
  (void)emit2(x, "Add", self, product, call->out);
}

// A: result, and the factors that gradients use, which ONNX does not have.
static const char *determinant(ig_onnx *x, const ig_onnx_call *call, size_t results,
                               const char *out) {
  for (size_t i = results; i < call->nouts; i++)
    if (call->outs[i]) ig_onnx_refuse(x, call->node, "factors of a matrix cannot be written");
  const char *a = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  return ig_onnx_emit1(x, "Det", a, out);
}

static void det(ig_onnx *x, const ig_onnx_call *call) {
  (void)determinant(x, call, 1, call->out);
}

// A: sign and logarithm of the absolute value
static void slogdet(ig_onnx *x, const ig_onnx_call *call) {
  const char *value = determinant(x, call, 2, NULL);
  if (call->outs[0]) (void)ig_onnx_emit1(x, "Sign", value, call->outs[0]);
  if (call->outs[1])
    (void)ig_onnx_emit1(x, "Log", ig_onnx_emit1(x, "Abs", value, NULL), call->outs[1]);
}

// How many letters the term at `at` has; *end is behind it, *dots whether it has an ellipsis.
static int term_letters(const char *at, const char **end, bool *dots) {
  int n = 0;
  *dots = false;
  for (; *at && *at != ',' && *at != '-'; at++) {
    n += *at != '.' && *at != ' ';
    *dots = *dots || *at == '.';
  }
  *end = *at == ',' ? at + 1 : at;
  return n;
}

// ONNX lets an ellipsis stand for the same number of dims in all terms, and the result has it.
static bool einsum_can(int opset, const ig_value *args, size_t n) {
  bool fits = n >= 2 && args[0].kind == IG_KIND_STR && args[1].kind == IG_KIND_LIST;
  bool dots = fits && strstr(args[0].str, "...") != NULL;
  const char *result = fits ? strstr(args[0].str, "->") : NULL;
  if (dots) fits = result && strstr(result, "...") != NULL;
  const char *at = fits ? args[0].str : "";
  int hidden = -1;
  for (size_t i = 0; fits && i < args[1].list.n; i++) {
    const ig_tensor *t = ig_onnx_tensor_of(&args[1].list.at[i]);
    bool has = false;
    int letters = term_letters(at, &at, &has);
    fits = t && (t->dtype == IG_F32 || t->dtype == IG_F64);
    if (!fits || !has) continue;
    fits = hidden < 0 || hidden == t->ndim - letters;
    hidden = t->ndim - letters;
  }
  return fits && opset >= 12;
}

// equation, operands, *, path
static void einsum(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *list = &call->args[1];
  const char **names = ig_onnx_push(x, ig_mem_mul(list->list.n + 1, sizeof *names));
  for (size_t i = 0; names && i < list->list.n; i++)
    names[i] = ig_onnx_operand(x, &list->list.at[i], IG_DTYPE_COUNT);
  if (!names) return;
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Einsum",
                                        .many = names,
                                        .nmany = list->list.n,
                                        .attrs = {ig_onnx_string("equation", call->args[0].str)},
                                        .out = call->out});
}

// self [n], vec2 [m]
static void outer(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Mul", call->val->dtype);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *other = ig_onnx_operand(x, &call->args[1], d);
  ig_onnx_node node = {
      .op_type = "Einsum", .in = {self, other}, .attrs = {ig_onnx_string("equation", "i,j->ij")}};
  bool whole = x->options->torchscript && x->least >= 12;
  if (!whole || (d != IG_F32 && d != IG_F64)) {
    self = ig_onnx_unsqueeze(x, self, 1, NULL);
    node = (ig_onnx_node){.op_type = "Mul", .in = {self, other}};
  }
  (void)ig_onnx_emit_as(x, call, &node, d);
}

const ig_onnx_row ig_onnx_linear[] = {
    {"aten.outer.default", outer, NULL, NULL},
    {"aten.ger.default", outer, NULL, NULL},
    {"aten.einsum.default", einsum, NULL, einsum_can},
    {"aten._linalg_det.default", det, NULL, NULL},
    {"aten._linalg_slogdet.default", slogdet, NULL, NULL},
    {"aten.linear.default", linear, NULL, NULL},
    {"aten.addmm.default", addmm, NULL, NULL},
    {"aten.mm.default", mm, NULL, NULL},
    {"aten.bmm.default", matmul, NULL, NULL},
    {"aten.dot.default", matmul, NULL, NULL},
    {"aten.mv.default", matmul, NULL, NULL},
    {"aten.matmul.default", matmul, NULL, NULL},
    {"aten.baddbmm.default", baddbmm, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
