// SPDX-License-Identifier: Apache-2.0
// ONNX of convolutions, unfold and fold.
#include "onnx/indices.h"
#include "onnx/window.h"

typedef struct conv {
  const ig_value *stride;
  const ig_value *padding;
  const ig_value *dilation;
  const ig_value *output_padding;  // NULL: none
  int64_t groups;
  bool transposed;
} conv;

// Kernel sizes are those of the weight; false: unknown.
static bool read_kernel(const ig_tensor *weight, ig_onnx_window_of *w) {
  bool known = true;
  for (size_t i = 0; i < w->n; i++) {
    ig_int size = ig_sizes(weight)[i + 2];
    known = known && !size.expr;
    w->kernel[i] = size.value;
  }
  return known;
}

// "same" puts the odd element at the end. Returns the mode for a kernel whose sizes are not known.
static const char *read_padding(ig_onnx *x, const ig_onnx_call *call, const ig_value *padding,
                                bool known, ig_onnx_window_of *w) {
  if (padding->kind != IG_KIND_STR) {
    int64_t pads[IG_ONNX_SPATIAL] = {0};
    (void)ig_onnx_window_list(x, call, padding, pads, w->n);
    ig_onnx_symmetric(w, pads);
    return NULL;
  }
  bool same = strcmp(padding->str, "same") == 0;
  if (!same && strcmp(padding->str, "valid") != 0) {
    ig_onnx_refuse(x, call->node, "padding '%s' is not known", padding->str);
  }
  if (same && !known) return "SAME_UPPER";
  for (size_t i = 0; i < w->n && same; i++) {
    int64_t reach = 1;
    if (!ig_onnx_window_reach(w->kernel[i], w->dilation[i], &reach)) {
      ig_onnx_refuse(x, call->node, "the kernel's size of dimension %zu is too large", i);
    }
    int64_t total = reach - 1;
    w->pads[i] = total / 2;
    w->pads[w->n + i] = total - total / 2;
  }
  return NULL;
}

static void emit_conv(ig_onnx *x, const ig_onnx_call *call, const conv *v) {
  const ig_tensor *weight = ig_onnx_tensor_of(&call->args[1]);
  const char *op = v->transposed ? "ConvTranspose" : "Conv";
  if (!weight || weight->ndim < 3 || weight->ndim > 2 + IG_ONNX_SPATIAL) {
    ig_onnx_refuse(x, call->node, "a weight of %d dimensions", weight ? weight->ndim : 0);
    return;
  }
  ig_onnx_window_of w = {.n = (size_t)weight->ndim - 2};
  bool known = read_kernel(weight, &w);
  (void)ig_onnx_window_list(x, call, v->stride, w.stride, w.n);
  (void)ig_onnx_window_list(x, call, v->dilation, w.dilation, w.n);
  const char *mode = read_padding(x, call, v->padding, known, &w);
  ig_dtype d = ig_onnx_compute_type(x, op, call->val->dtype);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  in = ig_onnx_with_batch(x, in, ig_onnx_tensor_of(&call->args[0]), w.n, &added);
  const char *kernel = ig_onnx_operand(x, &call->args[1], d);
  const char *bias = ig_onnx_operand(x, &call->args[2], d);
  ig_onnx_node node = {
      .op_type = op,
      .in = {in, kernel, bias[0] ? bias : NULL},
      .attrs = {ig_onnx_ints("strides", w.stride, w.n), ig_onnx_ints("dilations", w.dilation, w.n),
                ig_onnx_int("group", v->groups),
                mode ? ig_onnx_string("auto_pad", mode) : ig_onnx_ints("pads", w.pads, 2 * w.n)}};
  size_t n = 4;
  if (known) node.attrs[n++] = ig_onnx_ints("kernel_shape", w.kernel, w.n);
  int64_t extra[IG_ONNX_SPATIAL] = {0};
  if (v->transposed && v->output_padding) {
    (void)ig_onnx_window_list(x, call, v->output_padding, extra, w.n);
    node.attrs[n] = ig_onnx_ints("output_padding", extra, w.n);
  }
  if (!added) {
    (void)ig_onnx_emit_as(x, call, &node, d);
  } else {
    (void)ig_onnx_finish(x, call, ig_onnx_unbatched(x, ig_onnx_emit(x, &node), true), d);
  }
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
  int64_t groups = ig_onnx_int_of(x, &a[8]);
  emit_conv(x, call, &(conv){&a[3], &a[4], &a[5], &a[7], groups, ig_onnx_bool_of(x, &a[6])});
}

// ---- columns

typedef struct columns {
  int64_t kernel[2];
  int64_t dilation[2];
  int64_t padding[2];
  int64_t stride[2];
} columns;

static columns read_columns(ig_onnx *x, const ig_onnx_call *call, size_t from) {
  columns c = {.stride = {1, 1}};
  (void)ig_onnx_window_list(x, call, &call->args[from], c.kernel, 2);
  (void)ig_onnx_window_list(x, call, &call->args[from + 1], c.dilation, 2);
  (void)ig_onnx_window_list(x, call, &call->args[from + 2], c.padding, 2);
  (void)ig_onnx_window_list(x, call, &call->args[from + 3], c.stride, 2);
  return c;
}

static bool since_18(int opset, const ig_value *args, size_t n) {
  (void)args;
  (void)n;
  return opset >= 18;
}

// self, output_size, kernel_size, dilation, padding, stride
static void col2im(ig_onnx *x, const ig_onnx_call *call) {
  columns c = read_columns(x, call, 2);
  ig_int size[2] = {ig_const(0), ig_const(0)};
  (void)ig_onnx_symint_list(x, &call->args[1], size, 2, 2);
  int64_t pads[4] = {c.padding[0], c.padding[1], c.padding[0], c.padding[1]};
  bool added = ig_onnx_ndim(&call->args[0]) == 2;
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  if (added) in = ig_onnx_unsqueeze(x, in, 0, NULL);
  const char *image = ig_onnx_shape_of(x, size, 2);
  const char *block = ig_onnx_vector(x, c.kernel, 2);
  const char *out =
      ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Col2Im",
                                      .in = {in, image, block},
                                      .attrs = {ig_onnx_ints("dilations", c.dilation, 2),
                                                ig_onnx_ints("pads", pads, 4),
                                                ig_onnx_ints("strides", c.stride, 2)},
                                      .out = added ? NULL : call->out});
  if (added) (void)ig_onnx_squeeze(x, out, 0, call->out);
}

// Places of one spatial dimension: [steps * kernel] indices, by window and place in it.
static const char *window_places(ig_onnx *x, ig_int steps, int64_t stride, int64_t kernel,
                                 int64_t dilation) {
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *n = ig_onnx_scalar_size(x, steps);
  const char *starts = ig_onnx_emit3(x, "Range", zero, n, one, NULL);
  starts = ig_onnx_emit2(x, "Mul", starts, ig_onnx_integer(x, IG_I64, stride), NULL);
  int64_t *offsets = ig_onnx_push(x, ig_mem_mul((size_t)kernel + 1, sizeof *offsets));
  for (int64_t i = 0; offsets && i < kernel; i++) offsets[i] = i * dilation;
  if (!offsets) return "";
  const char *inner = ig_onnx_unsqueeze(x, ig_onnx_vector(x, offsets, (size_t)kernel), 1, NULL);
  return ig_onnx_emit2(x, "Add", inner, starts, NULL);  // [kernel, steps]
}

// How many windows fit
static ig_int steps_of(ig_onnx *x, ig_int size, const columns *c, int d) {
  int64_t reach = c->dilation[d] * (c->kernel[d] - 1) + 1;
  ig_int room = ig_int_add(x->c, size, ig_const(2 * c->padding[d] - reach));
  return ig_int_add(x->c, ig_int_floordiv(x->c, room, ig_const(c->stride[d])), ig_const(1));
}

// self, kernel_size, dilation, padding, stride: [N, C, H, W] -> [N, C * kh * kw, windows]
static void im2col(ig_onnx *x, const ig_onnx_call *call) {
  columns c = read_columns(x, call, 1);
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (!self || self->ndim < 3) return;
  bool added = self->ndim == 3;
  int h = added ? 1 : 2;
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  if (added) in = ig_onnx_unsqueeze(x, in, 0, NULL);
  if (c.padding[0] || c.padding[1]) {
    int64_t pads[8] = {0, 0, c.padding[0], c.padding[1], 0, 0, c.padding[0], c.padding[1]};
    in = ig_onnx_emit2(x, "Pad", in, ig_onnx_vector(x, pads, 8), NULL);
  }
  ig_int down = steps_of(x, ig_sizes(self)[h], &c, 0);
  ig_int across = steps_of(x, ig_sizes(self)[h + 1], &c, 1);
  const char *rows = window_places(x, down, c.stride[0], c.kernel[0], c.dilation[0]);
  in = ig_onnx_gather(x, in, rows, 2, NULL);  // [N, C, kh, down, W]
  const char *places = window_places(x, across, c.stride[1], c.kernel[1], c.dilation[1]);
  in = ig_onnx_gather(x, in, places, 4, NULL);  // [N, C, kh, down, kw, across]
  static const int64_t perm[] = {0, 1, 2, 4, 3, 5};
  in = ig_onnx_transpose(x, in, perm, 6, NULL);
  ig_int sizes[3] = {added ? ig_const(1) : ig_sizes(self)[0],
                     ig_int_mul(x->c, ig_sizes(self)[h - 1], ig_const(c.kernel[0] * c.kernel[1])),
                     ig_int_mul(x->c, down, across)};
  in = ig_onnx_emit2(x, "Reshape", in, ig_onnx_shape_of(x, sizes, 3), added ? NULL : call->out);
  if (added) (void)ig_onnx_squeeze(x, in, 0, call->out);
}

const ig_onnx_row ig_onnx_conv[] = {
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
    {"aten.col2im.default", col2im, NULL, since_18},
    {"aten.im2col.default", im2col, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
