// SPDX-License-Identifier: Apache-2.0
// ONNX of pooling. Windows of unequal size (adaptive averages) are products with constant matrices.
#include <stdio.h>

#include "onnx/window.h"
#include "tensor/number.h"

// The length that the schema gives to the sizes of a window: int[2]
static size_t spatial(const ig_onnx_call *call) {
  return (size_t)call->node->op->schema.args[1].fixed;
}

// With ceil_mode PyTorch drops a window that begins in the padding, ONNX does not; unknown sizes
// are assumed to fit.
static void check_sizes(ig_onnx *x, const ig_onnx_call *call, const ig_onnx_window_of *w,
                        bool ceil_mode) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  for (size_t i = 0; self && i < w->n && (size_t)self->ndim >= w->n; i++) {
    size_t d = (size_t)self->ndim - w->n + i;
    ig_int in = ig_sizes(self)[d];
    ig_int out = ig_sizes(call->val)[d];
    if (in.expr || out.expr || w->stride[i] <= 0) continue;
    int64_t reach = 0;
    int64_t room = 0;
    int64_t beyond = w->pads[i] + w->pads[w->n + i] + (ceil_mode ? w->stride[i] - 1 : 0);
    if (!ig_onnx_window_reach(w->kernel[i], w->dilation[i], &reach) ||
        !ig_checked_add(in.value, beyond - reach, &room)) {
      ig_onnx_refuse(x, call->node, "the size of dimension %zu is too large", d);
      return;
    }
    int64_t size = room / w->stride[i] + 1;
    if (size != out.value) {
      ig_onnx_refuse(x, call->node,
                     "ONNX rounds the size of dimension %zu to %lld, PyTorch to %lld", d,
                     (long long)size, (long long)out.value);
    }
  }
}

// The same windows without ceil_mode: padding after the data, which maxima ignore, until the last
// one fits. False: some size is dynamic, or too large.
static bool without_ceil(const ig_onnx_call *call, ig_onnx_window_of *w) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  for (size_t i = 0; i < w->n; i++) {
    size_t d = (size_t)self->ndim - w->n + i;
    ig_int in = ig_sizes(self)[d];
    ig_int out = ig_sizes(call->val)[d];
    if (in.expr || out.expr || w->stride[i] <= 0) return false;
  }
  for (size_t i = 0; i < w->n; i++) {
    size_t d = (size_t)self->ndim - w->n + i;
    int64_t out = ig_sizes(call->val)[d].value;
    int64_t reach = 0;
    int64_t end = 0;
    int64_t there = 0;
    if (!ig_onnx_window_reach(w->kernel[i], w->dilation[i], &reach) ||
        !ig_onnx_windows_reach(out, w->stride[i], reach, &end) ||
        !ig_checked_add(ig_sizes(self)[d].value, w->pads[i], &there)) {
      return false;
    }
    int64_t behind = end > there ? end - there : 0;
    w->pads[w->n + i] = behind;
  }
  return true;
}

static void read_window(ig_onnx *x, const ig_onnx_call *call, ig_onnx_window_of *w) {
  w->n = spatial(call);
  (void)ig_onnx_window_list(x, call, &call->args[1], w->kernel, w->n);
  size_t n = ig_onnx_window_list(x, call, &call->args[2], w->stride, w->n);
  if (n == 0) memcpy(w->stride, w->kernel, sizeof w->stride);
  int64_t padding[IG_ONNX_SPATIAL] = {0};
  (void)ig_onnx_window_list(x, call, &call->args[3], padding, w->n);
  ig_onnx_symmetric(w, padding);
  for (size_t i = 0; i < w->n; i++) w->dilation[i] = 1;
}

// The sizes of one plane, multiplied
static const char *plane_size(ig_onnx *x, const ig_tensor *self, size_t n) {
  ig_int all = ig_const(1);
  for (size_t i = 0; i < n; i++) {
    all = ig_int_mul(x->c, all, ig_sizes(self)[(size_t)self->ndim - n + i]);
  }
  return ig_onnx_size(x, all);
}

// ONNX's indices `at` of maxima of `in` count over the whole tensor, PyTorch's within the plane.
static const char *within_plane(ig_onnx *x, const char *in, const char *at, const ig_tensor *self,
                                size_t n) {
  if (!x->options->torchscript) return ig_onnx_emit2(x, "Mod", at, plane_size(x, self, n), NULL);
  // As PyTorch's exporter has it: less the index of the first element of the plane.
  int64_t ones[IG_ONNX_SPATIAL] = {1, 1, 1};
  int64_t zeros[IG_ONNX_SPATIAL] = {0};
  int64_t axes[IG_ONNX_SPATIAL] = {2, 3, 4};
  const char *outs[] = {ig_onnx_fresh(x, "MaxPool"), ig_onnx_fresh(x, "MaxPool")};
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "MaxPool",
                                        .in = {in},
                                        .attrs = {ig_onnx_ints("kernel_shape", ones, n),
                                                  ig_onnx_ints("strides", ones, n)},
                                        .outs = outs,
                                        .nouts = 2});
  const char *start = ig_onnx_vector(x, zeros, n);
  const char *end = ig_onnx_vector(x, ones, n);
  const char *first = ig_onnx_emit(
      x,
      &(ig_onnx_node){.op_type = "Slice", .in = {outs[1], start, end, ig_onnx_vector(x, axes, n)}});
  return ig_onnx_emit2(x, "Sub", at, first, NULL);
}

// self, kernel_size, stride, padding, dilation, ceil_mode.
static void max_pool(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_window_of w = {0};
  read_window(x, call, &w);
  (void)ig_onnx_window_list(x, call, &call->args[4], w.dilation, w.n);
  bool ceil_mode = ig_onnx_bool_of(x, &call->args[5]);
  bool indices = call->nouts > 1 && call->outs[1];
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (ceil_mode && without_ceil(call, &w)) ceil_mode = false;
  check_sizes(x, call, &w, ceil_mode);
  ig_dtype d = ig_onnx_compute_type(x, "MaxPool", call->val->dtype);
  if (d == IG_I64 || d == IG_I32) d = IG_F64;  // no integers but 8 bits in the standard
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  in = ig_onnx_with_batch(x, in, self, w.n, &added);
  const char *outs[] = {ig_onnx_fresh(x, "MaxPool"), ig_onnx_fresh(x, "MaxPool")};
  bool direct = !added && !indices && d == call->val->dtype;
  if (direct) outs[0] = call->out;
  ig_onnx_node node = {
      .op_type = "MaxPool",
      .in = {in},
      .attrs = {ig_onnx_ints("kernel_shape", w.kernel, w.n), ig_onnx_ints("strides", w.stride, w.n),
                ig_onnx_ints("pads", w.pads, 2 * w.n), ig_onnx_ints("dilations", w.dilation, w.n),
                ig_onnx_int("ceil_mode", ceil_mode)},
      .outs = outs,
      .nouts = indices ? 2 : 1};
  (void)ig_onnx_emit(x, &node);
  if (direct) return;
  if (call->out) (void)ig_onnx_finish(x, call, ig_onnx_unbatched(x, outs[0], added), d);
  if (!indices) return;
  const char *at = within_plane(x, in, outs[1], self, w.n);
  ig_onnx_same(x, ig_onnx_unbatched(x, at, added), call->outs[1]);
}

static bool is_true(const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b;
}

// Arguments of a call that is not written yet: lists are of integers or of values.
static size_t list_count(const ig_value *v) {
  if (v->kind == IG_KIND_INTS) return v->ints.n;
  return v->kind == IG_KIND_LIST ? v->list.n : 0;
}
static bool list_item(const ig_value *v, size_t i, int64_t *out) {
  size_t n = list_count(v);
  if (n == 0) return false;
  size_t at = n == 1 ? 0 : i;
  if (at >= n || (v->kind == IG_KIND_LIST && v->list.at[at].kind != IG_KIND_INT)) return false;
  ig_int item = v->kind == IG_KIND_INTS ? v->ints.at[at] : v->list.at[at].i;
  *out = item.value;
  return !item.expr;
}

// Whether ceil_mode creates a window that begins after the data, which PyTorch drops.
static bool drops_window(const ig_value *args, size_t n) {
  const ig_tensor *self = ig_onnx_tensor_of(&args[0]);
  for (size_t i = 0; self && i < n && (size_t)self->ndim >= n; i++) {
    ig_int in = ig_sizes(self)[(size_t)self->ndim - n + i];
    int64_t kernel = 0;
    int64_t stride = 0;
    int64_t padding = 0;
    if (in.expr || !list_item(&args[1], i, &kernel)) return false;
    if (!list_item(&args[2], i, &stride)) stride = kernel;
    (void)list_item(&args[3], i, &padding);
    const int64_t numbers[] = {kernel, stride, padding};
    if (stride <= 0 || !ig_onnx_window_can(numbers, 3)) return false;
    int64_t there = 0;
    int64_t room = 0;
    if (!ig_checked_add(in.value, padding, &there)) return false;
    if (!ig_checked_add(there, padding - kernel + stride - 1, &room)) return false;
    if (room / stride * stride >= there) return true;
  }
  return false;
}

static bool sizes_known(const ig_value *args) {
  const ig_tensor *self = ig_onnx_tensor_of(&args[0]);
  for (int d = 0; self && d < self->ndim; d++) {
    if (ig_sizes(self)[d].expr) return false;
  }
  return self != NULL;
}

// Before opset 19 the cut-off windows of ceil_mode were averaged differently.
static bool avg_can(int opset, const ig_value *args, size_t n) {
  if (n < 6 || !is_true(&args[4])) return n >= 6;
  if (n > 6 && !ig_onnx_is_none(&args[6]) && sizes_known(args)) return true;
  return opset >= 19 && !drops_window(args, list_count(&args[1]));
}

// self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
static void avg_pool(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_window_of w = {0};
  read_window(x, call, &w);
  bool ceil_mode = ig_onnx_bool_of(x, &call->args[4]);
  bool count_pad = ig_onnx_bool_of(x, &call->args[5]);
  bool given = w.n > 1 && !ig_onnx_is_none(&call->args[6]);
  // With a divisor of its own a window is a sum, of which padding behind the data takes no notice.
  if (given && ceil_mode && without_ceil(call, &w)) ceil_mode = false;
  if (ceil_mode && x->opset < 19) {
    ig_onnx_refuse(x, call->node, "ceil_mode of an average needs opset 19");
  }
  check_sizes(x, call, &w, ceil_mode);
  ig_dtype d = ig_onnx_compute_type(x, "AveragePool", call->val->dtype);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  in = ig_onnx_with_batch(x, in, ig_onnx_tensor_of(&call->args[0]), w.n, &added);
  ig_onnx_node node = {
      .op_type = "AveragePool",
      .in = {in},
      .attrs = {ig_onnx_ints("kernel_shape", w.kernel, w.n), ig_onnx_ints("strides", w.stride, w.n),
                ig_onnx_ints("pads", w.pads, 2 * w.n),
                ig_onnx_int("count_include_pad", count_pad || given),
                ig_onnx_int("ceil_mode", ceil_mode)}};
  if (!added && !given) {
    (void)ig_onnx_emit_as(x, call, &node, d);
    return;
  }
  const char *out = ig_onnx_unbatched(x, ig_onnx_emit(x, &node), added);
  if (given) {  // back to the sum of the window, then by the other divisor
    double whole = 1;
    for (size_t i = 0; i < w.n; i++) whole *= (double)w.kernel[i];
    double factor = whole / ig_onnx_float_of(x, &call->args[6]);
    out = ig_onnx_emit2(x, "Mul", out, ig_onnx_number(x, d, factor), NULL);
  }
  (void)ig_onnx_finish(x, call, out, d);
}

// ---- adaptive

// [in, out]: column i averages window i
static const char *averaging(ig_onnx *x, int64_t in, int64_t out, ig_dtype d) {
  char key[64];
  const char *name = NULL;
  int64_t dims[] = {in, out};
  (void)snprintf(key, sizeof key, "average %lld %lld %d", (long long)in, (long long)out, (int)d);
  uint8_t *at = ig_onnx_constant(x, key, d, dims, 2, &name);
  for (int64_t k = 0; at && k < out; k++) {
    int64_t from = k * in / out;
    int64_t to = ((k + 1) * in + out - 1) / out;
    ig_value share = ig_of_f64(1.0 / (double)(to - from));
    for (int64_t i = from; i < to; i++) {
      ig_element_store(at + (size_t)(i * out + k) * ig_dtype_size(d), d, &share);
    }
  }
  return name;
}

// The same for a size that is known when the model runs.
static const char *averaging_of(ig_onnx *x, ig_int in, ig_int out, ig_dtype d) {
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *n = ig_onnx_size(x, in);
  const char *m = ig_onnx_size(x, out);
  const char *limit = ig_onnx_squeeze(x, n, 0, NULL);
  const char *row = ig_onnx_emit3(x, "Range", zero, limit, one, NULL);
  row = ig_onnx_unsqueeze(x, row, 1, NULL);
  limit = ig_onnx_squeeze(x, m, 0, NULL);
  const char *at = ig_onnx_emit3(x, "Range", zero, limit, one, NULL);
  const char *from = ig_onnx_emit2(x, "Div", ig_onnx_emit2(x, "Mul", at, n, NULL), m, NULL);
  const char *to = ig_onnx_emit2(x, "Add", at, one, NULL);
  to = ig_onnx_emit2(x, "Add", ig_onnx_emit2(x, "Mul", to, n, NULL), m, NULL);
  to = ig_onnx_emit2(x, "Div", ig_onnx_emit2(x, "Sub", to, one, NULL), m, NULL);
  const char *inside = ig_onnx_emit2(x, "GreaterOrEqual", row, from, NULL);
  inside = ig_onnx_emit2(x, "And", inside, ig_onnx_emit2(x, "Less", row, to, NULL), NULL);
  inside = ig_onnx_cast(x, inside, d, NULL);
  const char *count = ig_onnx_cast(x, ig_onnx_emit2(x, "Sub", to, from, NULL), d, NULL);
  return ig_onnx_emit2(x, "Div", inside, count, NULL);
}

// One product per dimension, that dimension last.
static void adaptive_general(ig_onnx *x, const ig_onnx_call *call, size_t n) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype d = call->val->dtype;
  const char *name = ig_onnx_operand(x, &call->args[0], d);
  int ndim = self->ndim;
  for (size_t i = 0; i < n; i++) {
    size_t at = (size_t)ndim - n + i;
    ig_int in = ig_sizes(self)[at];
    ig_int out = ig_sizes(call->val)[at];
    int64_t perm[IG_MAX_DIM];
    for (int k = 0; k < ndim; k++) perm[k] = k;
    perm[at] = ndim - 1;
    perm[ndim - 1] = (int64_t)at;
    bool swap = (int)at != ndim - 1;
    bool known = !in.expr && !out.expr;
    const char *shares = known ? averaging(x, in.value, out.value, d) : averaging_of(x, in, out, d);
    if (swap) name = ig_onnx_transpose(x, name, perm, (size_t)ndim, NULL);
    name = ig_onnx_emit2(x, "MatMul", name, shares, NULL);
    if (swap) name = ig_onnx_transpose(x, name, perm, (size_t)ndim, NULL);
  }
  ig_onnx_same(x, name, call->out);
}

static void adaptive_avg_pool(ig_onnx *x, const ig_onnx_call *call) {
  size_t n = spatial(call);
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (!self || (size_t)self->ndim < n) return;
  int64_t kernel[IG_ONNX_SPATIAL] = {0};
  bool global = true;
  bool equal = true;
  for (size_t i = 0; i < n; i++) {
    ig_int in = ig_sizes(self)[(size_t)self->ndim - n + i];
    ig_int out = ig_sizes(call->val)[(size_t)self->ndim - n + i];
    bool one = !out.expr && out.value == 1;
    global = global && one;
    equal = equal && !in.expr && !out.expr && out.value > 0 && in.value % out.value == 0;
    kernel[i] = out.value > 0 ? in.value / out.value : 0;
  }
  ig_dtype d = ig_onnx_compute_type(x, "AveragePool", call->val->dtype);
  if (!global && !equal) {
    adaptive_general(x, call, n);
    return;
  }
  bool added = false;
  const char *name = ig_onnx_operand(x, &call->args[0], d);
  name = ig_onnx_with_batch(x, name, self, n, &added);
  ig_onnx_node node = {.op_type = "GlobalAveragePool", .in = {name}};
  if (!global) {
    node.op_type = "AveragePool";
    node.attrs[0] = ig_onnx_ints("kernel_shape", kernel, n);
    node.attrs[1] = ig_onnx_ints("strides", kernel, n);
  }
  if (!added) {
    (void)ig_onnx_emit_as(x, call, &node, d);
  } else {
    (void)ig_onnx_finish(x, call, ig_onnx_unbatched(x, ig_onnx_emit(x, &node), true), d);
  }
}

// Windows of unequal size that are known are maxima one by one.
static bool adaptive_max_can(int opset, const ig_value *args, size_t count) {
  (void)opset;
  const ig_tensor *self = ig_onnx_tensor_of(&args[0]);
  size_t n = count > 1 ? list_count(&args[1]) : 0;
  for (size_t i = 0; self && i < n && (size_t)self->ndim >= n; i++) {
    ig_int in = ig_sizes(self)[(size_t)self->ndim - n + i];
    int64_t out = 0;
    if (in.expr || !list_item(&args[1], i, &out)) return true;
    if (out > 0 && in.value % out != 0) return false;
  }
  return true;
}

// Whether the only window is all there is, and nobody asks for its place. PyTorch's exporter has an
// operator for it in two dimensions.
static bool is_global(const ig_onnx *x, const ig_onnx_call *call, const ig_tensor *self, size_t n) {
  const ig_tensor *to = call->val;
  bool varies = false;
  for (size_t i = 0; i < n; i++) {
    ig_int out = ig_sizes(to)[(size_t)to->ndim - n + i];
    varies = varies || ig_sizes(self)[(size_t)self->ndim - n + i].expr;
    if (out.expr || out.value != 1) return false;
  }
  if (x->options->torchscript && n != 2 && !varies) return false;
  return call->nouts < 2 || !call->outs[1];
}

// self, output_size: windows of equal size are an ordinary maximum
static void adaptive_max_pool(ig_onnx *x, const ig_onnx_call *call) {
  size_t n = spatial(call);
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const ig_tensor *to = call->val;
  if (self && is_global(x, call, self, n)) {
    ig_dtype d = ig_onnx_compute_type(x, "MaxPool", to->dtype);
    bool added = false;
    const char *in = ig_onnx_operand(x, &call->args[0], d);
    in = ig_onnx_with_batch(x, in, self, n, &added);
    in = ig_onnx_emit1(x, "GlobalMaxPool", in, NULL);
    (void)ig_onnx_finish(x, call, ig_onnx_unbatched(x, in, added), d);
    return;
  }
  int64_t kernel[IG_ONNX_SPATIAL] = {0};
  for (size_t i = 0; self && i < n; i++) {
    size_t at = (size_t)self->ndim - n + i;
    ig_int in = ig_sizes(self)[at];
    ig_int out = ig_sizes(to)[at];
    if (in.expr || out.expr || out.value <= 0 || in.value % out.value != 0) {
      ig_onnx_refuse(x, call->node, "the elements do not divide into windows of equal size");
      return;
    }
    kernel[i] = in.value / out.value;
  }
  ig_dtype d = ig_onnx_compute_type(x, "MaxPool", to->dtype);
  bool added = false;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  in = ig_onnx_with_batch(x, in, self, n, &added);
  const char *outs[] = {ig_onnx_fresh(x, "MaxPool"), ig_onnx_fresh(x, "MaxPool")};
  bool indices = call->nouts > 1 && call->outs[1];
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "MaxPool",
                                        .in = {in},
                                        .attrs = {ig_onnx_ints("kernel_shape", kernel, n),
                                                  ig_onnx_ints("strides", kernel, n)},
                                        .outs = outs,
                                        .nouts = indices ? 2 : 1});
  if (call->out) (void)ig_onnx_finish(x, call, ig_onnx_unbatched(x, outs[0], added), d);
  if (!indices || !self) return;
  const char *at = within_plane(x, in, outs[1], self, n);
  ig_onnx_same(x, ig_onnx_unbatched(x, at, added), call->outs[1]);
}

const ig_onnx_row ig_onnx_pool[] = {
    {"aten.max_pool1d.default", max_pool, NULL, NULL},
    {"aten.max_pool2d.default", max_pool, NULL, NULL},
    {"aten.max_pool3d.default", max_pool, NULL, NULL},
    {"aten.max_pool1d_with_indices.default", max_pool, NULL, NULL},
    {"aten.max_pool2d_with_indices.default", max_pool, NULL, NULL},
    {"aten.max_pool3d_with_indices.default", max_pool, NULL, NULL},
    {"aten.avg_pool1d.default", avg_pool, NULL, avg_can},
    {"aten.avg_pool2d.default", avg_pool, NULL, avg_can},
    {"aten.avg_pool3d.default", avg_pool, NULL, avg_can},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool, NULL, NULL},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool, NULL, NULL},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool, NULL, NULL},
    {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool, NULL, NULL},
    {"aten._adaptive_avg_pool3d.default", adaptive_avg_pool, NULL, NULL},
    {"aten.adaptive_max_pool1d.default", adaptive_max_pool, NULL, adaptive_max_can},
    {"aten.adaptive_max_pool2d.default", adaptive_max_pool, NULL, adaptive_max_can},
    {"aten.adaptive_max_pool3d.default", adaptive_max_pool, NULL, adaptive_max_can},
    {NULL, NULL, NULL, NULL},
};
