// SPDX-License-Identifier: Apache-2.0
// ONNX of convolutions and pooling. PyTorch names padding per dimension, ONNX its begin and end.
#include <string.h>

#include "onnx/writer.h"

enum { MAX_SPATIAL = 3 };

// Numbers of one window, per spatial dimension.
typedef struct window {
  size_t n;  // spatial dimensions
  int64_t kernel[MAX_SPATIAL];
  int64_t stride[MAX_SPATIAL];
  int64_t dilation[MAX_SPATIAL];
  int64_t pads[2 * MAX_SPATIAL];  // begins, then ends
} window;

static void symmetric_pads(window *w, const int64_t *padding) {
  for (size_t i = 0; i < w->n; i++) w->pads[i] = w->pads[w->n + i] = padding[i];
}

// Operands of n spatial dimensions have a batch dimension, or not: then one is put on and off.
static const char *with_batch(ig_onnx *x, const char *name, const ig_tensor *t, size_t n,
                              bool *added) {
  *added = t && (size_t)t->ndim == n + 1;
  if (!*added) return name;
  const int64_t axis = 0;
  return ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "Unsqueeze", .in = {name, ig_onnx_vector(x, &axis, 1)}});
}

static void finish(ig_onnx *x, ig_onnx_node *node, const ig_onnx_call *call, bool batch_added) {
  node->out = batch_added ? NULL : call->out;
  const char *result = ig_onnx_emit(x, node);
  if (!batch_added) return;
  const int64_t axis = 0;
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){
             .op_type = "Squeeze", .in = {result, ig_onnx_vector(x, &axis, 1)}, .out = call->out});
}

// ---- convolution

typedef struct conv {
  const ig_value *stride;
  const ig_value *padding;
  const ig_value *dilation;
  const ig_value *output_padding;  // NULL: none
  int64_t groups;
  bool transposed;
} conv;

static void read_padding(ig_onnx *x, const ig_onnx_call *call, const ig_value *padding, window *w) {
  if (padding->kind != IG_KIND_STR) {
    int64_t pads[MAX_SPATIAL] = {0};
    (void)ig_onnx_int_list(x, padding, pads, MAX_SPATIAL, w->n);
    symmetric_pads(w, pads);
    return;
  }
  bool same = strcmp(padding->str, "same") == 0;
  if (!same && strcmp(padding->str, "valid") != 0) {
    ig_onnx_refuse(x, call->node, "padding '%s' is not known", padding->str);
  }
  for (size_t i = 0; i < w->n && same; i++) {
    int64_t total = w->dilation[i] * (w->kernel[i] - 1);
    w->pads[i] = total / 2;
    w->pads[w->n + i] = total - total / 2;
  }
}

static void emit_conv(ig_onnx *x, const ig_onnx_call *call, const conv *v) {
  const ig_tensor *weight = ig_onnx_tensor_of(&call->args[1]);
  int64_t sizes[IG_MAX_DIM] = {0};
  int ndim = ig_onnx_sizes(x, weight, sizes);
  if (ndim < 3 || ndim > 2 + MAX_SPATIAL) {
    ig_onnx_refuse(x, call->node, "a weight of %d dimensions", ndim);
    return;
  }
  window w = {.n = (size_t)ndim - 2};
  memcpy(w.kernel, sizes + 2, w.n * sizeof *sizes);
  (void)ig_onnx_int_list(x, v->stride, w.stride, MAX_SPATIAL, w.n);
  (void)ig_onnx_int_list(x, v->dilation, w.dilation, MAX_SPATIAL, w.n);
  read_padding(x, call, v->padding, &w);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  in = with_batch(x, in, ig_onnx_tensor_of(&call->args[0]), w.n, &added);
  const char *bias = ig_onnx_operand(x, &call->args[2], IG_DTYPE_COUNT);
  ig_onnx_node node = {
      .op_type = v->transposed ? "ConvTranspose" : "Conv",
      .in = {in, ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT), bias[0] ? bias : NULL},
      .attrs = {ig_onnx_ints("kernel_shape", w.kernel, w.n), ig_onnx_ints("strides", w.stride, w.n),
                ig_onnx_ints("pads", w.pads, 2 * w.n), ig_onnx_ints("dilations", w.dilation, w.n),
                ig_onnx_int("group", v->groups)}};
  int64_t extra[MAX_SPATIAL] = {0};
  if (v->transposed && v->output_padding) {
    (void)ig_onnx_int_list(x, v->output_padding, extra, MAX_SPATIAL, w.n);
    node.attrs[5] = ig_onnx_ints("output_padding", extra, w.n);
  }
  finish(x, &node, call, added);
}

// conv1d .. conv3d: input, weight, bias, stride, padding, dilation, groups
static void conv_plain(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  emit_conv(x, call, &(conv){&a[3], &a[4], &a[5], NULL, ig_onnx_int_of(x, &a[6]), false});
}

// conv_transpose1d .. 3d: input, weight, bias, stride, padding, output_padding, groups, dilation
static void conv_transpose(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  emit_conv(x, call, &(conv){&a[3], &a[4], &a[7], &a[5], ig_onnx_int_of(x, &a[6]), true});
}

// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
static void convolution(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  emit_conv(
      x, call,
      &(conv){&a[3], &a[4], &a[5], &a[7], ig_onnx_int_of(x, &a[8]), ig_onnx_bool_of(x, &a[6])});
}

// ---- pooling

static size_t spatial(const ig_onnx_call *call) {
  const char *digit = strpbrk(call->node->target, "123");
  return digit ? (size_t)(*digit - '0') : 0;
}

// With ceil_mode PyTorch drops a window that begins in the padding, ONNX does not.
static void check_sizes(ig_onnx *x, const ig_onnx_call *call, const window *w, bool ceil_mode) {
  int64_t in[IG_MAX_DIM] = {0};
  int64_t out[IG_MAX_DIM] = {0};
  int ndim = ig_onnx_sizes(x, ig_onnx_tensor_of(&call->args[0]), in);
  (void)ig_onnx_sizes(x, call->val, out);
  for (size_t i = 0; i < w->n && (size_t)ndim >= w->n; i++) {
    size_t d = (size_t)ndim - w->n + i;
    int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
    int64_t room = in[d] + w->pads[i] + w->pads[w->n + i] - reach;
    int64_t size = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if (size != out[d]) {
      ig_onnx_refuse(x, call->node,
                     "ONNX rounds the size of dimension %zu to %lld, PyTorch to %lld", d,
                     (long long)size, (long long)out[d]);
    }
  }
}

static void read_window(ig_onnx *x, const ig_onnx_call *call, window *w) {
  w->n = spatial(call);
  (void)ig_onnx_int_list(x, &call->args[1], w->kernel, MAX_SPATIAL, w->n);
  size_t n = ig_onnx_int_list(x, &call->args[2], w->stride, MAX_SPATIAL, w->n);
  if (n == 0) memcpy(w->stride, w->kernel, sizeof w->stride);
  int64_t padding[MAX_SPATIAL] = {0};
  (void)ig_onnx_int_list(x, &call->args[3], padding, MAX_SPATIAL, w->n);
  symmetric_pads(w, padding);
  for (size_t i = 0; i < w->n; i++) w->dilation[i] = 1;
}

// self, kernel_size, stride, padding, dilation, ceil_mode
static void max_pool(ig_onnx *x, const ig_onnx_call *call) {
  window w = {0};
  read_window(x, call, &w);
  (void)ig_onnx_int_list(x, &call->args[4], w.dilation, MAX_SPATIAL, w.n);
  bool ceil_mode = ig_onnx_bool_of(x, &call->args[5]);
  if (call->nouts > 1 && call->outs[1]) {
    ig_onnx_refuse(x, call->node, "indices of maxima cannot be written as ONNX yet");
  }
  if (ig_ctx_status(x->c) != IG_OK) return;
  check_sizes(x, call, &w, ceil_mode);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  in = with_batch(x, in, ig_onnx_tensor_of(&call->args[0]), w.n, &added);
  ig_onnx_node node = {
      .op_type = "MaxPool",
      .in = {in},
      .attrs = {ig_onnx_ints("kernel_shape", w.kernel, w.n), ig_onnx_ints("strides", w.stride, w.n),
                ig_onnx_ints("pads", w.pads, 2 * w.n), ig_onnx_ints("dilations", w.dilation, w.n),
                ig_onnx_int("ceil_mode", ceil_mode)}};
  finish(x, &node, call, added);
}

// self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
static void avg_pool(ig_onnx *x, const ig_onnx_call *call) {
  window w = {0};
  read_window(x, call, &w);
  bool ceil_mode = ig_onnx_bool_of(x, &call->args[4]);
  bool count_pad = ig_onnx_bool_of(x, &call->args[5]);
  if (w.n > 1 && !ig_onnx_is_none(&call->args[6])) {
    ig_onnx_refuse(x, call->node, "divisor_override cannot be written as ONNX");
  }
  // Before opset 19 the cut-off windows of ceil_mode were averaged differently.
  if (ceil_mode)
    ig_onnx_refuse(x, call->node, "ceil_mode of an average cannot be written in opset 18");
  if (ig_ctx_status(x->c) != IG_OK) return;
  check_sizes(x, call, &w, ceil_mode);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  in = with_batch(x, in, ig_onnx_tensor_of(&call->args[0]), w.n, &added);
  ig_onnx_node node = {
      .op_type = "AveragePool",
      .in = {in},
      .attrs = {ig_onnx_ints("kernel_shape", w.kernel, w.n), ig_onnx_ints("strides", w.stride, w.n),
                ig_onnx_ints("pads", w.pads, 2 * w.n),
                ig_onnx_int("count_include_pad", count_pad)}};
  finish(x, &node, call, added);
}

// Windows of equal size are an ordinary average; others ONNX cannot say.
static void adaptive_avg_pool(ig_onnx *x, const ig_onnx_call *call) {
  size_t n = spatial(call);
  int64_t in_sizes[IG_MAX_DIM] = {0};
  int64_t out_sizes[IG_MAX_DIM] = {0};
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  size_t ndim = (size_t)ig_onnx_sizes(x, self, in_sizes);
  (void)ig_onnx_sizes(x, call->val, out_sizes);
  if (ndim < n) return;
  int64_t kernel[MAX_SPATIAL] = {0};
  bool global = true;
  for (size_t i = 0; i < n; i++) {
    int64_t in = in_sizes[ndim - n + i];
    int64_t out = out_sizes[ndim - n + i];
    if (out == 0 || in % out != 0) {
      ig_onnx_refuse(x, call->node, "%lld elements do not divide into %lld windows of equal size",
                     (long long)in, (long long)out);
      return;
    }
    kernel[i] = in / out;
    global = global && out == 1;
  }
  bool added = false;
  const char *name = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  name = with_batch(x, name, self, n, &added);
  ig_onnx_node node = {.op_type = "GlobalAveragePool", .in = {name}};
  if (!global) {
    node.op_type = "AveragePool";
    node.attrs[0] = ig_onnx_ints("kernel_shape", kernel, n);
    node.attrs[1] = ig_onnx_ints("strides", kernel, n);
  }
  finish(x, &node, call, added);
}

const ig_onnx_row ig_onnx_window[] = {
    {"aten.conv1d.default", conv_plain, NULL, NULL},
    {"aten.conv2d.default", conv_plain, NULL, NULL},
    {"aten.conv3d.default", conv_plain, NULL, NULL},
    {"aten.conv1d.padding", conv_plain, NULL, NULL},
    {"aten.conv2d.padding", conv_plain, NULL, NULL},
    {"aten.conv3d.padding", conv_plain, NULL, NULL},
    {"aten.conv_transpose1d.default", conv_transpose, NULL, NULL},
    {"aten.conv_transpose2d.input", conv_transpose, NULL, NULL},
    {"aten.conv_transpose3d.input", conv_transpose, NULL, NULL},
    {"aten.convolution.default", convolution, NULL, NULL},
    {"aten.max_pool1d.default", max_pool, NULL, NULL},
    {"aten.max_pool2d.default", max_pool, NULL, NULL},
    {"aten.max_pool3d.default", max_pool, NULL, NULL},
    {"aten.max_pool2d_with_indices.default", max_pool, NULL, NULL},
    {"aten.max_pool3d_with_indices.default", max_pool, NULL, NULL},
    {"aten.avg_pool2d.default", avg_pool, NULL, NULL},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool, NULL, NULL},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool, NULL, NULL},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
