// SPDX-License-Identifier: Apache-2.0
// What PyTorch's TorchScript exporter knows about sizes: it names the axes of an output by what its
// shape inference finds, and that is less than the program knows. A set of axes is a bit mask that
// counts from the last one, so that operands that are broadcast agree.
#include <string.h>

#include "onnx/convention.h"

#define ALL SIZE_MAX

// When the sizes of a result are not inferred: the operand that decides them is no constant.
typedef enum when { ALWAYS, BY_OPERAND, SPREAD, WINDOW } when;

static const struct {
  const char *op;
  when when;
  size_t operand;
  size_t axes;
  int since;
} rows[] = {
    {"ConstantOfShape", BY_OPERAND, 0, ALL, 0},
    {"Expand", BY_OPERAND, 1, ALL, 0},
    {"Pad", ALWAYS, 0, ALL, 11},
    {"Resize", BY_OPERAND, 3, ALL, 0},
    {"TopK", BY_OPERAND, 1, ALL, 11},
    {"Einsum", ALWAYS, 0, ALL, 0},
    {"Loop", ALWAYS, 0, ALL, 0},
    {"Range", ALWAYS, 0, 1, 0},
    {"OneHot", ALWAYS, 0, 1, 0},
    {"Add", SPREAD, 0, 0, 0},
    {"Sub", SPREAD, 0, 0, 0},
    {"Mul", SPREAD, 0, 0, 0},
    {"Div", SPREAD, 0, 0, 0},
    {"Pow", SPREAD, 0, 0, 0},
    {"Mod", SPREAD, 0, 0, 0},
    {"And", SPREAD, 0, 0, 0},
    {"Or", SPREAD, 0, 0, 0},
    {"Xor", SPREAD, 0, 0, 0},
    {"Equal", SPREAD, 0, 0, 0},
    {"Less", SPREAD, 0, 0, 0},
    {"Greater", SPREAD, 0, 0, 0},
    {"LessOrEqual", SPREAD, 0, 0, 0},
    {"GreaterOrEqual", SPREAD, 0, 0, 0},
    {"Where", SPREAD, 0, 0, 0},
    {"Max", SPREAD, 0, 0, 0},
    {"Min", SPREAD, 0, 0, 0},
    {"Cast", SPREAD, 0, 0, 0},
    {"Not", SPREAD, 0, 0, 0},
    {"Neg", SPREAD, 0, 0, 0},
    {"Abs", SPREAD, 0, 0, 0},
    {"Sqrt", SPREAD, 0, 0, 0},
    {"Exp", SPREAD, 0, 0, 0},
    {"Log", SPREAD, 0, 0, 0},
    {"Relu", SPREAD, 0, 0, 0},
    {"Sigmoid", SPREAD, 0, 0, 0},
    {"Tanh", SPREAD, 0, 0, 0},
    {"Clip", SPREAD, 0, 0, 0},
    {"Floor", SPREAD, 0, 0, 0},
    {"Identity", SPREAD, 0, 0, 0},
    {"Conv", WINDOW, 0, 0, 0},
    {"ConvTranspose", WINDOW, 0, 0, 0},
    {"MaxPool", WINDOW, 0, 0, 0},
    {"AveragePool", WINDOW, 0, 0, 0},
};

static size_t row_of(const char *op) {
  size_t i = 0;
  while (i < sizeof rows / sizeof *rows && strcmp(rows[i].op, op) != 0) i++;
  return i;
}

static size_t axes_of(const ig_onnx *x, const char *name) {
  ig_map_value *v = name && name[0] ? ig_map_find(&x->vague, ig_onnx_file_name(x, name)) : NULL;
  return v ? v->num : 0;
}

static void set_axes(ig_onnx *x, const char *name, size_t axes) {
  ig_map_value *v = axes && name ? ig_map_put(&x->vague, ig_onnx_file_name(x, name)) : NULL;
  if (axes && name && !v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v) v->num |= axes;
}

static const char *input_of(const ig_onnx_node *n, size_t i) {
  if (n->many) return i < n->nmany ? n->many[i] : NULL;
  for (size_t k = 0; k < i; k++)
    if (!n->in[k]) return NULL;
  return i < IG_ONNX_MAX_INPUTS ? n->in[i] : NULL;
}

void ig_onnx_note_sizes(ig_onnx *x, const ig_onnx_node *n, const char *out) {
  size_t i = row_of(n->op_type);
  if (i == sizeof rows / sizeof *rows || x->least < rows[i].since) return;
  size_t axes = 0;
  if (rows[i].when == ALWAYS) axes = rows[i].axes;
  if (rows[i].when == BY_OPERAND) {
    const char *by = input_of(n, rows[i].operand);
    axes = by && by[0] && !ig_onnx_is_constant(x, by) ? rows[i].axes : 0;
  }
  for (size_t k = 0; rows[i].when == SPREAD && input_of(n, k); k++)
    axes |= axes_of(x, input_of(n, k));
  set_axes(x, out, axes);
  for (size_t k = 1; k < n->nouts; k++)
    if (n->outs[k]) set_axes(x, n->outs[k], axes);
}

// The axes along which operands of different sizes are broadcast to one that varies.
static size_t spread_axes(const ig_onnx_call *call) {
  size_t axes = 0;
  const ig_tensor *out = call->val;
  for (size_t i = 0; i < call->node->op->schema.nargs; i++) {
    const ig_tensor *t = ig_onnx_tensor_of(&call->args[i]);
    for (int d = 1; t && d <= t->ndim && d <= out->ndim; d++) {
      ig_int size = ig_sizes(out)[out->ndim - d];
      if (size.expr && ig_sizes(t)[t->ndim - d].expr != size.expr) axes |= (size_t)1 << (d - 1);
    }
  }
  return axes;
}

static size_t window_axes(const ig_tensor *out) {
  size_t axes = 0;
  for (int d = 2; d < out->ndim; d++)
    if (ig_sizes(out)[d].expr) axes |= (size_t)1 << (out->ndim - 1 - d);
  return axes;
}

void ig_onnx_note_result(ig_onnx *x, const ig_onnx_call *call) {
  size_t i = call->out ? row_of(ig_onnx_maker_of(x, call->out)) : sizeof rows / sizeof *rows;
  if (i == sizeof rows / sizeof *rows || !call->val) return;
  if (rows[i].when == SPREAD) set_axes(x, call->out, spread_axes(call));
  if (rows[i].when == WINDOW) set_axes(x, call->out, window_axes(call->val));
}

bool ig_onnx_is_vague(const ig_onnx *x, const char *name, int d, int ndim) {
  return x->options->torchscript && axes_of(x, name) >> (ndim - 1 - d) & 1;
}
