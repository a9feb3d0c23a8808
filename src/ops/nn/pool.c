// SPDX-License-Identifier: Apache-2.0
// Max, average and adaptive pooling, unfold and fold.
#include "kernels/pool.h"

#include <string.h>

#include "base/mem.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/quant.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static ig_int entry(const ig_value *list, int i) {
  return list->ints.n == 1 ? list->ints.at[0] : list->ints.at[i];
}

// An empty stride is the kernel.
static ig_int stride_of(const ig_value *stride, const ig_value *kernel, int i) {
  return stride->ints.n ? entry(stride, i) : entry(kernel, i);
}

static bool is_last(ig_ctx *c, const ig_tensor *t, int nd) {
  return t->ndim == nd + 2 && nd >= 2 && ig_tensor_suggest_format(c, t) != IG_CONTIGUOUS;
}

static void format_like(ig_ctx *c, bool last, ig_meta *m) {
  if (!last) return;
  ig_meta_format(c, m, m->ndim == 4 ? IG_CHANNELS_LAST : IG_CHANNELS_LAST_3D);
  m->strided = true;
}

// nd dimensions after channels and an optional batch; only the batch may be empty.
static bool check_input(ig_ctx *c, const char *name, const ig_tensor *x, int nd) {
  bool ok = x->ndim == nd + 1 || x->ndim == nd + 2;
  for (int d = x->ndim - nd - 1; d < x->ndim && ok; d++) {
    ok = !ig_int_eq_i64(c, ig_sizes(x)[d], 0);
  }
  if (!ok && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for "
                 "input, but got:%s",
                 name, nd + 1, nd + 2, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
  }
  return c->status == IG_OK;
}

static ig_int window_size(ig_ctx *c, ig_int in, ig_int kernel, ig_int stride, ig_int padding,
                          ig_int dilation, bool ceil_mode) {
  ig_int reach = ig_int_mul(c, dilation, ig_int_sub(c, kernel, ig_const(1)));
  ig_int room = ig_int_add(c, in, ig_int_mul(c, padding, ig_const(2)));
  room = ig_int_sub(c, ig_int_sub(c, room, reach), ig_const(1));
  ig_int more = ceil_mode ? ig_int_sub(c, stride, ig_const(1)) : ig_const(0);
  ig_int out = ig_int_add(c, ig_int_floordiv(c, ig_int_add(c, room, more), stride), ig_const(1));
  if (!ceil_mode) return out;
  // The last window must begin inside the input or the left padding.
  ig_int begin = ig_int_mul(c, ig_int_sub(c, out, ig_const(1)), stride);
  ig_int limit = ig_int_add(c, in, padding);
  return ig_int_is(c, limit, IG_LE, begin) ? ig_int_sub(c, out, ig_const(1)) : out;
}

// Windows are 32-bit numbers, as in PyTorch; so no product of them overflows.
static bool in_range(ig_ctx *c, ig_int v) {
  if (c->status != IG_OK) return false;
  if (v.expr || (v.value >= INT32_MIN && v.value <= INT32_MAX)) return true;
  ig_fail_text(c, IG_RUNTIME, "integer out of range: %s", ig_int_text(c, v));
  return false;
}

static bool check_window(ig_ctx *c, ig_int kernel, ig_int stride, ig_int padding, ig_int dilation) {
  if (!in_range(c, kernel) || !in_range(c, stride) || !in_range(c, padding)) return false;
  if (!in_range(c, dilation)) return false;
  if (ig_int_is(c, kernel, IG_LE, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "kernel size should be greater than zero, but got %s",
                 ig_int_text(c, kernel));
  } else if (ig_int_is(c, stride, IG_LE, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "stride should not be zero");
  } else if (ig_int_is(c, dilation, IG_LE, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "dilation should be greater than zero, but got %s",
                 ig_int_text(c, dilation));
  } else if (ig_int_is(c, padding, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "pad must be non-negative, but got pad: %s",
                 ig_int_text(c, padding));
  } else {
    ig_int reach = ig_int_mul(c, dilation, ig_int_sub(c, kernel, ig_const(1)));
    reach = ig_int_add(c, reach, ig_const(1));
    if (ig_int_is(c, reach, IG_LT, ig_int_mul(c, padding, ig_const(2)))) {
      ig_fail_text(c, IG_RUNTIME,
                   "pad should be at most half of effective kernel size, but got pad=%s, "
                   "kernel_size=%s and dilation=%s",
                   ig_int_text(c, padding), ig_int_text(c, kernel), ig_int_text(c, dilation));
    }
  }
  return c->status == IG_OK;
}

// Sizes of the batch and channel dimensions, then those of the windows.
static void pooled_sizes(ig_ctx *c, const ig_tensor *x, int nd, const ig_int *spatial,
                         ig_meta *out) {
  for (int d = 0; d < x->ndim - nd; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  for (int d = 0; d < nd; d++) ig_meta_push_dim(c, out, spatial[d]);
  format_like(c, is_last(c, x, nd), out);
}

typedef struct pool_state {
  ig_pool window;
  ig_operand x;      // the input, or the gradient
  ig_operand index;  // backward of max
  bool empty;        // nothing to write
} pool_state;

static ig_operand plan_planes(ig_need *n, const ig_tensor *t, bool last) {
  return ig_operand_plan(n, t, t->dtype, last ? IG_CHANNELS_INNERMOST : IG_ROW_MAJOR);
}

static ig_pool geometry(const ig_tensor *x, const ig_tensor *y, int nd, bool last) {
  int64_t planes = 1;
  for (int d = 0; d < x->ndim - nd; d++) planes *= ig_sizes(x)[d].value;
  int64_t channels = last ? ig_sizes(x)[1].value : 1;
  ig_pool p = ig_pool_make(ig_elem_of(x->dtype), channels ? planes / channels : 0, channels);
  for (int d = 0; d < nd; d++) {
    p.in[3 - nd + d] = ig_sizes(x)[x->ndim - nd + d].value;
    p.out[3 - nd + d] = ig_sizes(y)[y->ndim - nd + d].value;
  }
  return p;
}

// x is pooled to y; `from` is the one that is read, the other is written.
static void plan_pool(ig_ctx *c, const ig_tensor *x, const ig_tensor *y, const ig_tensor *from,
                      int nd, ig_prep *p) {
  IG_STATE(pool_state, s, p);
  bool last = is_last(c, x, nd);
  s->x = plan_planes(&p->need, from, last);
  s->empty = ig_tensor_numel(from == x ? y : x) == 0;
  s->window = geometry(x, y, nd, last);
}

static void run_pool(const ig_exec *x, void (*fn)(const ig_pool *p, const void *from, void *to)) {
  const pool_state *s = x->state;
  if (s->empty) return;
  const void *from = ig_operand_read(x, &s->x, x->args[0].tensor);
  fn(&s->window, from, ig_tensor_data(x->outs[0].tensor));
}

// kernel, stride, padding and dilation (NULL: 1) of a window.
static void set_windows(ig_pool *p, int nd, const ig_value *kernel, const ig_value *stride,
                        const ig_value *padding, const ig_value *dilation) {
  for (int d = 0; d < nd; d++) {
    int at = 3 - nd + d;
    p->kernel[at] = entry(kernel, d).value;
    p->stride[at] = stride_of(stride, kernel, d).value;
    p->padding[at] = entry(padding, d).value;
    p->dilation[at] = dilation ? entry(dilation, d).value : 1;
  }
}

// Max -------------------------------------------------------------------------- variant:
// dimensions

// Sizes of the windows' results in every dimension; invalid windows are errors.
static bool pooled(ig_ctx *c, const ig_op *op, const ig_tensor *x, const ig_value *kernel,
                   const ig_value *stride, const ig_value *padding, const ig_value *dilation,
                   bool ceil_mode, ig_int *sizes) {
  int nd = op->def->variant;
  if (!check_input(c, op->schema.name, x, nd)) return false;
  for (int d = 0; d < nd; d++) {
    ig_int k = entry(kernel, d);
    ig_int s = stride_of(stride, kernel, d);
    ig_int p = entry(padding, d);
    ig_int spread = dilation ? entry(dilation, d) : ig_const(1);
    if (!check_window(c, k, s, p, spread)) return false;
    sizes[d] = window_size(c, ig_sizes(x)[x->ndim - nd + d], k, s, p, spread, ceil_mode);
    if (c->status == IG_OK && ig_int_is(c, sizes[d], IG_LE, ig_const(0))) {
      ig_fail_text(c, IG_RUNTIME, "Given input size per channel: output size is too small (%s)",
                   ig_int_text(c, sizes[d]));
    }
  }
  return c->status == IG_OK;
}

// self, kernel_size, stride, padding, dilation, ceil_mode -> values, indices
static void max_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  int nd = op->def->variant;
  ig_int sizes[3];
  if (!pooled(c, op, x, &args[1], &args[2], &args[3], &args[4], args[5].b, sizes)) return;
  pooled_sizes(c, x, nd, sizes, &out[0]);
  pooled_sizes(c, x, nd, sizes, &out[1]);
  out[1].dtype = IG_I64;
}

// Element types that the kernels have, which are those of PyTorch.
static bool can_pool(ig_ctx *c, const ig_op *op, ig_dtype d, bool integers) {
  bool small = d == IG_U8 || d == IG_I8 || d == IG_I16 || d == IG_I32;
  bool floats = d == IG_F16 || d == IG_BF16 || d == IG_F32 || d == IG_F64;
  if (floats || d == IG_I64 || (integers && small)) return true;
  ig_refuse_dtype(c, op->schema.name, d);
  return false;
}

// A gradient has the sizes of the pooled result and the dtype of the input.
static bool check_grad(ig_ctx *c, const ig_op *op, const ig_tensor *g, const ig_tensor *x,
                       const ig_int *sizes) {
  int nd = op->def->variant;
  bool same = g->ndim == x->ndim && (x->ndim == nd + 1 || x->ndim == nd + 2);
  for (int d = 0; d < x->ndim && same; d++) {
    int spatial = d - (x->ndim - nd);
    if (spatial < 0) same = ig_int_eq(c, ig_sizes(g)[d], ig_sizes(x)[d]);
    if (spatial >= 0 && sizes) same = ig_int_eq(c, ig_sizes(g)[d], sizes[spatial]);
  }
  if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: expected a gradient with the sizes of the pooled input, found other sizes",
                 op->schema.name);
  }
  if (c->status == IG_OK && g->dtype != x->dtype) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected dtype %s for `grad_output` but got dtype %s",
                 op->schema.name, ig_dtype_title(x->dtype), ig_dtype_title(g->dtype));
  }
  return c->status == IG_OK;
}

static void max_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p) {
  IG_STATE(pool_state, s, p);
  const ig_tensor *x = args[0].tensor;
  int nd = op->def->variant;
  if (!can_pool(c, op, x->dtype, true)) return;
  plan_pool(c, x, outs[0].tensor, x, nd, p);
  set_windows(&s->window, nd, &args[1], &args[2], &args[3], &args[4]);
}

static void max_run(const ig_exec *x) {
  const pool_state *s = x->state;
  if (s->empty) return;
  const void *data = ig_operand_read(x, &s->x, x->args[0].tensor);
  const ig_tensor *index = ig_value_tensor(&x->outs[1]);  // plans leave out what nobody reads
  ig_pool_max(&s->window, data, ig_tensor_data(x->outs[0].tensor),
              index ? ig_tensor_data(index) : NULL);
}

static void shape_of_input(ig_ctx *c, const ig_op *op, const ig_tensor *x, ig_meta *out) {
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  out->dtype = x->dtype;
  format_like(c, is_last(c, x, op->def->variant), out);
}

// grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
static void max_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *g = args[0].tensor;
  const ig_tensor *x = args[1].tensor;
  const ig_tensor *index = args[7].tensor;
  ig_int sizes[3];
  if (!pooled(c, op, x, &args[2], &args[3], &args[4], &args[5], args[6].b, sizes)) return;
  if (!check_grad(c, op, g, x, sizes)) return;
  bool same = index->ndim == g->ndim && index->dtype == IG_I64;
  for (int d = 0; d < g->ndim && same; d++) same = ig_int_eq(c, ig_sizes(g)[d], ig_sizes(index)[d]);
  if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected int64 indices with the sizes of the gradient",
                 op->schema.name);
  }
  if (c->status == IG_OK) shape_of_input(c, op, x, out);
}

static void max_backward_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                                 const ig_value *outs, ig_prep *p) {
  (void)outs;
  IG_STATE(pool_state, s, p);
  const ig_tensor *x = args[1].tensor;
  int nd = op->def->variant;
  if (!ig_dtype_is_float(x->dtype) || !can_pool(c, op, x->dtype, false)) {
    ig_refuse_dtype(c, op->schema.name, x->dtype);
    return;
  }
  plan_pool(c, x, args[0].tensor, args[0].tensor, nd, p);
  s->index = plan_planes(&p->need, args[7].tensor, is_last(c, x, nd));
  set_windows(&s->window, nd, &args[2], &args[3], &args[4], &args[5]);
}

static void max_backward_run(const ig_exec *x) {
  const pool_state *s = x->state;
  if (s->empty) return;
  const void *dy = ig_operand_read(x, &s->x, x->args[0].tensor);
  const void *index = ig_operand_read(x, &s->index, x->args[7].tensor);
  ig_pool_max_backward(&s->window, dy, index, ig_tensor_data(x->outs[0].tensor));
}

static void max2d_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  IG_GRAD(v, 0) = ig_max_pool2d_with_indices_backward(c, v->grads[0], a[0].tensor, a[1], a[2], a[3],
                                                      a[4], a[5].b, v->outs[1].tensor);
}
static void max3d_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  IG_GRAD(v, 0) = ig_max_pool3d_with_indices_backward(c, v->grads[0], a[0].tensor, a[1], a[2], a[3],
                                                      a[4], a[5].b, v->outs[1].tensor);
}

// The gradient is a scatter by the indices; its own gradient is the gather.
static void max_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *g = v->args[0].tensor;
  ig_tensor *index = v->args[7].tensor;
  int nd = v->op->def->variant;
  ig_int flat[IG_MAX_DIM];
  size_t lead = (size_t)(g->ndim - nd);
  for (size_t d = 0; d < lead; d++) flat[d] = ig_sizes(g)[d];
  flat[lead] = ig_const(-1);
  ig_tensor *u = ig_reshape(c, v->grad, ig_of_ints(flat, lead + 1));
  ig_tensor *i = ig_reshape(c, index, ig_of_ints(flat, lead + 1));
  ig_tensor *picked = ig_gather(c, u, ig_const(-1), i);
  IG_GRAD(v, 0) = ig_reshape(c, picked, ig_sizes_of(g));
}

static ig_tensor *max_pool2d(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_max_pool2d_with_indices_with(c, args[0].tensor, args[1], args[2], args[3], args[4], args[5].b,
                                  outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *max_pool3d(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_max_pool3d_with_indices_with(c, args[0].tensor, args[1], args[2], args[3], args[4], args[5].b,
                                  outs);
  return ig_value_tensor(&outs[0]);
}

// One dimension is two with a height of 1.
static void max_pool1d_both(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (!check_input(c, "max_pool1d", args[0].tensor, 1)) return;
  ig_int lists[4][2];
  ig_value v[4];
  static const int64_t flat[] = {1, 1, 0, 1};
  for (int i = 0; i < 4; i++) {
    const ig_value *list = &args[i == 1 && args[2].ints.n == 0 ? 1 : i + 1];
    size_t n = list->ints.n;
    lists[i][0] = ig_const(flat[i]);
    if (n) lists[i][1] = list->ints.at[0];
    v[i] = ig_of_ints(lists[i], n ? 2 : 0);
  }
  ig_tensor *x = ig_unsqueeze(c, args[0].tensor, ig_const(-2));
  ig_max_pool2d_with_indices_with(c, x, v[0], v[1], v[2], v[3], args[5].b, outs);
  if (c->status != IG_OK) return;
  outs[0] = ig_of_tensor(ig_squeeze_dim(c, outs[0].tensor, ig_const(-2)));
  outs[1] = ig_of_tensor(ig_squeeze_dim(c, outs[1].tensor, ig_const(-2)));
}
static ig_tensor *max_pool1d(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  max_pool1d_both(c, args, outs);
  return ig_value_tensor(&outs[0]);
}

// Average -----------------------------------------------------------------------------------------

// What a sum is divided by is a number of elements.
static bool check_count(ig_ctx *c, const ig_value *kernel, int nd) {
  int64_t count = 1;
  for (int d = 0; d < nd; d++) {
    ig_int k = entry(kernel, d);
    if (k.expr || ig_checked_mul(count, k.value, &count)) continue;
    ig_fail_text(c, IG_RUNTIME, "kernel_size: windows of %s have too many elements",
                 ig_sizes_text(c, kernel->ints.at, kernel->ints.n));
    return false;
  }
  return true;
}

// self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
static void avg_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  int nd = op->def->variant;
  ig_int sizes[3];
  if (args[6].kind == IG_KIND_INT && ig_int_eq_i64(c, args[6].i, 0)) {
    ig_fail_text(c, IG_RUNTIME, "divisor must be not zero");
    return;
  }
  if (!pooled(c, op, x, &args[1], &args[2], &args[3], NULL, args[4].b, sizes)) return;
  if (!check_count(c, &args[1], nd)) return;
  for (int d = 0; d < 3 && nd == 3; d++) {
    ig_int size = ig_sizes(x)[x->ndim - 3 + d];
    if (!ig_int_is(c, size, IG_LT, entry(&args[1], d))) continue;
    ig_fail_text(c, IG_RUNTIME, "input image of size %s smaller than kernel size %s",
                 ig_int_text(c, size), ig_int_text(c, entry(&args[1], d)));
    return;
  }
  pooled_sizes(c, x, nd, sizes, out);
}

// grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
static void avg_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[1].tensor;
  ig_int sizes[3];
  if (args[7].kind == IG_KIND_INT && ig_int_eq_i64(c, args[7].i, 0)) {
    ig_fail_text(c, IG_RUNTIME, "divisor must be not zero");
    return;
  }
  if (!pooled(c, op, x, &args[2], &args[3], &args[4], NULL, args[5].b, sizes)) return;
  if (!check_count(c, &args[2], op->def->variant)) return;
  if (check_grad(c, op, args[0].tensor, x, sizes)) shape_of_input(c, op, x, out);
}

static void set_average(ig_pool *p, const ig_value *count_include_pad, const ig_value *divisor) {
  p->count_include_pad = count_include_pad->b;
  p->divisor_override = divisor->kind == IG_KIND_INT ? divisor->i.value : 0;
}

static void avg_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p) {
  IG_STATE(pool_state, s, p);
  const ig_tensor *x = args[0].tensor;
  int nd = op->def->variant;
  if (!can_pool(c, op, x->dtype, false)) return;
  plan_pool(c, x, outs[0].tensor, x, nd, p);
  set_windows(&s->window, nd, &args[1], &args[2], &args[3], NULL);
  set_average(&s->window, &args[5], &args[6]);
}

static void avg_run(const ig_exec *x) {
  run_pool(x, ig_pool_avg);
}

static void avg_backward_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                                 const ig_value *outs, ig_prep *p) {
  (void)outs;
  IG_STATE(pool_state, s, p);
  const ig_tensor *x = args[1].tensor;
  int nd = op->def->variant;
  if (!can_pool(c, op, x->dtype, false)) return;
  plan_pool(c, x, args[0].tensor, args[0].tensor, nd, p);
  set_windows(&s->window, nd, &args[2], &args[3], &args[4], NULL);
  set_average(&s->window, &args[6], &args[7]);
}

static void avg_backward_run(const ig_exec *x) {
  run_pool(x, ig_pool_avg_backward);
}

static void avg2d_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) =
      ig_avg_pool2d_backward(c, v->grad, a[0].tensor, a[1], a[2], a[3], a[4].b, a[5].b, a[6]);
}
static void avg2d_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) = ig_avg_pool2d_with(c, v->grad, a[2], a[3], a[4], a[5].b, a[6].b, a[7]);
  IG_GRAD(v, 1) = ig_zeros_of(c, a[1].tensor);
}

static void avg3d_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) =
      ig_avg_pool3d_backward(c, v->grad, a[0].tensor, a[1], a[2], a[3], a[4].b, a[5].b, a[6]);
}
static void avg3d_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) = ig_avg_pool3d_with(c, v->grad, a[2], a[3], a[4], a[5].b, a[6].b, a[7]);
  IG_GRAD(v, 1) = ig_zeros_of(c, a[1].tensor);
}

// Sizes from `first` on are not 0.
static bool check_filled(ig_ctx *c, const char *name, const char *what, const ig_tensor *x,
                         int first) {
  for (int d = first < 0 ? 0 : first; d < x->ndim; d++) {
    if (!ig_int_eq_i64(c, ig_sizes(x)[d], 0)) continue;
    ig_fail_text(
        c, IG_RUNTIME,
        "%s(): Expected %s to have non-zero size for non-batch dimensions, but %s has sizes "
        "%s with dimension %d being empty",
        name, what, what, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim), d);
  }
  return c->status == IG_OK;
}

// Adaptive ----------------------------------------------------------------------------------------

static void adaptive_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  (void)op;
  if (x->ndim != 3 && x->ndim != 4) {
    ig_fail_text(c, IG_RUNTIME,
                 "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got a %dD tensor", x->ndim);
    return;
  }
  if (!check_filled(c, "adaptive_avg_pool2d", "input", x, x->ndim - 2)) return;
  if (args[1].ints.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "adaptive_avg_pool2d: output_size must be 2");
    return;
  }
  ig_int sizes[] = {entry(&args[1], 0), entry(&args[1], 1)};
  pooled_sizes(c, x, 2, sizes, out);
}

static void adaptive_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_meta *out) {
  const ig_tensor *g = args[0].tensor;
  if (!check_filled(c, "adaptive_avg_pool2d_backward", "grad_output", g, g->ndim - 2)) return;
  if (check_grad(c, op, g, args[1].tensor, NULL)) {
    shape_of_input(c, op, args[1].tensor, out);
  }
}

static bool can_adapt(ig_ctx *c, const ig_op *op, ig_dtype d) {
  if (ig_dtype_is_float(d)) return can_pool(c, op, d, false);
  ig_refuse_dtype(c, op->schema.name, d);
  return false;
}

static void adaptive_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                             ig_prep *p) {
  const ig_tensor *x = args[0].tensor;
  if (can_adapt(c, op, x->dtype)) plan_pool(c, x, outs[0].tensor, x, 2, p);
}

static void adaptive_run(const ig_exec *x) {
  run_pool(x, ig_pool_adaptive_avg);
}

static void adaptive_backward_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                                      const ig_value *outs, ig_prep *p) {
  (void)outs;
  const ig_tensor *x = args[1].tensor;
  if (can_adapt(c, op, x->dtype)) plan_pool(c, x, args[0].tensor, args[0].tensor, 2, p);
}

static void adaptive_backward_run(const ig_exec *x) {
  run_pool(x, ig_pool_adaptive_avg_backward);
}

static void adaptive_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig__adaptive_avg_pool2d_backward(c, v->grad, v->args[0].tensor);
}
static void adaptive_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *g = v->args[0].tensor;
  ig_int sizes[] = {ig_sizes(g)[g->ndim - 2], ig_sizes(g)[g->ndim - 1]};
  IG_GRAD(v, 0) = ig__adaptive_avg_pool2d(c, v->grad, ig_of_ints(sizes, 2));
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}

static bool has_length(ig_ctx *c, const ig_value *sizes, int n) {
  if (sizes->ints.n == (size_t)n) return true;
  ig_fail_text(c, IG_RUNTIME, "adaptive_avg_pool%dd: output_size must be %d", n, n);
  return false;
}

// To one element per plane it is a mean.
static ig_tensor *adaptive_avg_pool2d(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!has_length(c, &args[1], 2)) return NULL;
  bool single = ig_int_eq_i64(c, entry(&args[1], 0), 1) && ig_int_eq_i64(c, entry(&args[1], 1), 1);
  if (single && (x->ndim == 3 || x->ndim == 4) && ig_tensor_suggest_format(c, x) == IG_CONTIGUOUS) {
    ig_int dims[] = {ig_const(-1), ig_const(-2)};
    return ig_mean_dim_with(c, x, ig_of_ints(dims, 2), true, ig_none());
  }
  return ig__adaptive_avg_pool2d(c, x, args[1]);
}

static ig_tensor *adaptive_avg_pool1d(ig_ctx *c, const ig_value *args) {
  if (!has_length(c, &args[1], 1)) return NULL;
  ig_int sizes[] = {ig_const(1), args[1].ints.at[0]};
  int ndim = args[0].tensor->ndim;
  if (ndim != 2 && ndim != 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' "
                 "(while checking arguments for adaptive_avg_pool1d)",
                 ndim);
    return NULL;
  }
  ig_tensor *x = ig_unsqueeze(c, args[0].tensor, ig_const(-2));
  x = ig_adaptive_avg_pool2d(c, x, ig_of_ints(sizes, 2));
  return ig_squeeze_dim(c, x, ig_const(-2));
}

// Unfold and fold ---------------------------------------------------------------------------------

static bool check_fold(ig_ctx *c, ig_int kernel, ig_int stride, ig_int padding, ig_int dilation) {
  if (!in_range(c, kernel) || !in_range(c, stride) || !in_range(c, padding)) return false;
  if (!in_range(c, dilation)) return false;
  const ig_int positive[] = {kernel, stride, dilation};
  static const char *const names[] = {"kernel size", "stride", "dilation"};
  for (int i = 0; i < 3 && c->status == IG_OK; i++) {
    if (ig_int_is(c, positive[i], IG_LE, ig_const(0))) {
      ig_fail_text(c, IG_RUNTIME, "%s should be greater than zero, but got %s", names[i],
                   ig_int_text(c, positive[i]));
    }
  }
  if (c->status == IG_OK && ig_int_is(c, padding, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "padding should be non-negative, but got %s",
                 ig_int_text(c, padding));
  }
  return c->status == IG_OK;
}

// self, kernel_size, dilation, padding, stride
static void im2col_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  (void)op;
  bool full = x->ndim == 3 || x->ndim == 4;
  for (int d = x->ndim - 3; d < x->ndim && full; d++) full = !ig_int_eq_i64(c, ig_sizes(x)[d], 0);
  if (!full) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                 "non-zero dimensions for input, but got: %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  ig_int columns = ig_const(1);
  ig_int rows = ig_sizes(x)[x->ndim - 3];
  for (int d = 0; d < 2; d++) {
    ig_int kernel = entry(&args[1], d);
    if (!check_fold(c, kernel, entry(&args[4], d), entry(&args[3], d), entry(&args[2], d))) return;
    ig_int size = window_size(c, ig_sizes(x)[x->ndim - 2 + d], kernel, entry(&args[4], d),
                              entry(&args[3], d), entry(&args[2], d), false);
    if (ig_int_is(c, size, IG_LT, ig_const(1))) {
      ig_fail_text(c, IG_RUNTIME,
                   "Given input with spatial size: calculated shape of the array of sliding blocks "
                   "as %s, but its components must be at least one.",
                   ig_int_text(c, size));
    }
    rows = ig_int_mul(c, rows, kernel);
    columns = ig_int_mul(c, columns, size);
  }
  if (x->ndim == 4) ig_meta_push_dim(c, out, ig_sizes(x)[0]);
  ig_meta_push_dim(c, out, rows);
  ig_meta_push_dim(c, out, columns);
}

// Geometry of unfolding: planes are batch and channels, `image` has the pixels.
static ig_pool fold_geometry(const ig_tensor *image, ig_elem e, const ig_value *kernel,
                             const ig_value *dilation, const ig_value *padding,
                             const ig_value *stride) {
  int64_t planes = 1;
  for (int d = 0; d < image->ndim - 2; d++) planes *= ig_sizes(image)[d].value;
  ig_pool p = ig_pool_make(e, planes, 1);
  set_windows(&p, 2, kernel, stride, padding, dilation);
  for (int d = 0; d < 2; d++) {
    p.in[1 + d] = ig_sizes(image)[image->ndim - 2 + d].value;
    int64_t reach = p.dilation[1 + d] * (p.kernel[1 + d] - 1) + 1;
    p.out[1 + d] = (p.in[1 + d] + 2 * p.padding[1 + d] - reach) / p.stride[1 + d] + 1;
  }
  return p;
}

static void im2col_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                           ig_prep *p) {
  (void)c;
  (void)op;
  IG_STATE(pool_state, s, p);
  const ig_tensor *x = args[0].tensor;
  s->x = plan_planes(&p->need, x, false);
  s->empty = ig_tensor_numel(outs[0].tensor) == 0;
  s->window = fold_geometry(x, IG_ELEM_F32, &args[1], &args[2], &args[3], &args[4]);
}

static void im2col_run(const ig_exec *x) {
  const pool_state *s = x->state;
  const ig_tensor *t = x->args[0].tensor;
  if (s->empty) return;
  const void *data = ig_operand_read(x, &s->x, t);
  ig_pool_im2col(&s->window, ig_dtype_size(t->dtype), data, ig_tensor_data(x->outs[0].tensor));
}

// self, output_size, kernel_size, dilation, padding, stride
static void col2im_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  (void)op;
  bool full = x->ndim == 2 || x->ndim == 3;
  for (int d = x->ndim - 2; d < x->ndim && full; d++) full = !ig_int_eq_i64(c, ig_sizes(x)[d], 0);
  if (!full) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
                 "non-zero dimensions for input, but got: %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  for (int d = 0; d < 2; d++) {
    ig_int kernel = entry(&args[2], d);
    if (!check_fold(c, kernel, entry(&args[5], d), entry(&args[4], d), entry(&args[3], d))) return;
  }
  ig_int window = ig_int_mul(c, entry(&args[2], 0), entry(&args[2], 1));
  ig_int rows = ig_sizes(x)[x->ndim - 2];
  if (!ig_int_eq_i64(c, ig_int_mod(c, rows, window), 0)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected size of input's dimension 1 to be divisible by the product of "
                 "kernel_size, but got input.size(1)=%s and kernel_size product %s.",
                 ig_int_text(c, rows), ig_int_text(c, window));
    return;
  }
  ig_int blocks = ig_const(1);
  for (int d = 0; d < 2; d++) {
    ig_int size = window_size(c, entry(&args[1], d), entry(&args[2], d), entry(&args[5], d),
                              entry(&args[4], d), entry(&args[3], d), false);
    blocks = ig_int_mul(c, blocks, size);
  }
  if (!ig_int_eq(c, blocks, ig_sizes(x)[x->ndim - 1])) {
    ig_fail_text(c, IG_RUNTIME,
                 "Given output_size and the other parameters, expected size of input's dimension 2 "
                 "to match the calculated number of sliding blocks %s, but got input.size(2)=%s.",
                 ig_int_text(c, blocks), ig_int_text(c, ig_sizes(x)[x->ndim - 1]));
    return;
  }
  if (x->ndim == 3) ig_meta_push_dim(c, out, ig_sizes(x)[0]);
  ig_meta_push_dim(c, out, ig_int_floordiv(c, rows, window));
  for (int d = 0; d < 2; d++) ig_meta_push_dim(c, out, entry(&args[1], d));
}

typedef struct fold_state {
  pool_state direct;
  // Bool adds as numbers do, complex numbers as pairs: other dtypes go through one of these.
  bool converts;
  ig_dtype work;
  size_t parts;  // of an element
  size_t from;   // elements, then one part of each
  size_t to;     // sums likewise
} fold_state;

static void col2im_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                           ig_prep *p) {
  IG_STATE(fold_state, s, p);
  const ig_tensor *out = outs[0].tensor;
  const ig_tensor *x = args[0].tensor;
  bool pairs = ig_dtype_is_complex(out->dtype);
  s->converts = out->dtype == IG_BOOL || pairs;
  if (!s->converts && !can_pool(c, op, out->dtype, false)) return;
  s->work = pairs ? ig_to_real(out->dtype) : s->converts ? IG_I64 : out->dtype;
  s->parts = pairs ? 2 : 1;
  s->direct.empty = ig_tensor_numel(out) == 0;
  if (s->direct.empty) return;
  s->direct.window =
      fold_geometry(out, ig_elem_of(s->work), &args[2], &args[3], &args[4], &args[5]);
  size_t size = ig_dtype_size(s->work);
  if (s->converts) {
    s->from = ig_need_take(&p->need, ig_mem_mul((size_t)ig_tensor_numel(x), s->parts + 1), size);
    s->to = ig_need_take(&p->need, ig_mem_mul((size_t)ig_tensor_numel(out), s->parts + 1), size);
  } else {
    s->direct.x = plan_planes(&p->need, x, false);
  }
}

static void col2im_as(const ig_exec *x) {
  const fold_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(x->args[0].tensor);
  size_t m = (size_t)ig_tensor_numel(out);
  size_t size = ig_dtype_size(s->work);
  ig_dtype as = s->parts == 2 ? out->dtype : s->work;
  char *from = x->memory + s->from;
  char *to = x->memory + s->to;
  char *one = from + n * s->parts * size;
  char *sum = to + m * s->parts * size;
  ig_tensor_read(x->args[0].tensor, as, from);
  for (size_t k = 0; k < s->parts; k++) {
    for (size_t i = 0; i < n; i++) memcpy(one + i * size, from + (i * s->parts + k) * size, size);
    ig_pool_col2im(&s->direct.window, one, sum);
    for (size_t i = 0; i < m; i++) memcpy(to + (i * s->parts + k) * size, sum + i * size, size);
  }
  ig_convert(ig_tensor_data(out), out->dtype, to, as, m);
}

static void col2im_run(const ig_exec *x) {
  const fold_state *s = x->state;
  if (s->direct.empty) return;
  if (s->converts) {
    col2im_as(x);
    return;
  }
  const void *data = ig_operand_read(x, &s->direct.x, x->args[0].tensor);
  ig_pool_col2im(&s->direct.window, data, ig_tensor_data(x->outs[0].tensor));
}

static void im2col_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  const ig_tensor *x = a[0].tensor;
  ig_int sizes[] = {ig_sizes(x)[x->ndim - 2], ig_sizes(x)[x->ndim - 1]};
  IG_GRAD(v, 0) = ig_col2im(c, v->grad, ig_of_ints(sizes, 2), a[1], a[2], a[3], a[4]);
}
static void col2im_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) = ig_im2col(c, v->grad, a[2], a[3], a[4], a[5]);
}

#define MAX2D                                                                                   \
  "f32[1,2,6,5], [2,2] | f32[2,6,6], [3,3], [2,2], [1,1] | f32[1,2,7,7], [3,2], [2,1], [1,0], " \
  "[1,2], True | f32[1,2,4,4].cl, [2,2]"

IG_OP(max_pool2d) = {
    .schema =
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
        "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .on_quantized = ig_quant_max_pool2d,
    .decompose = max_pool2d,
    .samples = MAX2D,
};
IG_OP(max_pool2d_with_indices) = {
    .schema =
        "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
        "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    .shape = max_shape,
    .prepare = max_prepare,
    .run = max_run,
    .variant = 2,
    .vjp = max2d_vjp,
    .keep = "self, result1",
    .samples = MAX2D,
};
IG_OP(max_pool2d_with_indices_backward) = {
    .schema =
        "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
        "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor "
        "indices) -> Tensor",
    .shape = max_backward_shape,
    .prepare = max_backward_prepare,
    .run = max_backward_run,
    .variant = 2,
    .vjp = max_backward_vjp,
    .keep = "self, indices",
    .samples = "f32[1,2,3,2], f32[1,2,6,5], [2,2], [2,2], [0,0], [1,1], False, i64[1,2,3,2]:<30",
};
IG_OP(max_pool3d) = {
    .schema =
        "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
        "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .autocast = IG_AUTOCAST_F32,
    .decompose = max_pool3d,
    .samples = "f32[1,2,4,4,4], [2,2,2]",
};
IG_OP(max_pool3d_with_indices) = {
    .schema =
        "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
        "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    .shape = max_shape,
    .prepare = max_prepare,
    .run = max_run,
    .variant = 3,
    .vjp = max3d_vjp,
    .keep = "self, result1",
    .samples = "f32[1,2,4,4,4], [2,2,2] | f32[2,4,5,4], [3,3,3], [1,1,1], [1,1,1]",
};
IG_OP(max_pool3d_with_indices_backward) = {
    .schema =
        "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] "
        "kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor "
        "indices) -> Tensor",
    .shape = max_backward_shape,
    .prepare = max_backward_prepare,
    .run = max_backward_run,
    .variant = 3,
    .vjp = max_backward_vjp,
    .keep = "self, indices",
    .samples =
        "f32[1,2,2,2,2], f32[1,2,4,4,4], [2,2,2], [2,2,2], [0,0,0], [1,1,1], False, "
        "i64[1,2,2,2,2]:<64",
    .waive = "size 2=1: PyTorch does not compare them",
};
IG_OP(max_pool1d) = {
    .schema =
        "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
        "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = max_pool1d,
    .samples = "f32[1,2,6], [2] | f32[2,7], [3], [2], [1]",
};
IG_OP(max_pool1d_with_indices) = {
    .schema =
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
        "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
    .decompose_outs = max_pool1d_both,
    .samples = "f32[1,2,6], [2] | f32[2,7], [3], [2], [1]",
};
IG_OP(avg_pool2d) = {
    .schema =
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
        "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
        "divisor_override=None) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .shape = avg_shape,
    .prepare = avg_prepare,
    .run = avg_run,
    .variant = 2,
    .vjp = avg2d_vjp,
    .keep = "self",
    .samples =
        "f32[1,2,6,5], [2,2] | f32[2,6,6], [3,3], [2,2], [1,1], False, False | "
        "f32[1,2,5,5], [2,2], [2,2], [0,0], True | f32[1,2,4,4], [2,2], [1,1], [0,0], "
        "False, True, 3",
};
IG_OP(avg_pool2d_backward) = {
    .schema =
        "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
        "int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? "
        "divisor_override) -> Tensor",
    .shape = avg_backward_shape,
    .prepare = avg_backward_prepare,
    .run = avg_backward_run,
    .variant = 2,
    .vjp = avg2d_backward_vjp,
    .keep = "self",
    .samples = "f32[1,2,3,2], f32[1,2,6,5], [2,2], [2,2], [0,0], False, True, None",
};
IG_OP(avg_pool3d) = {
    .schema =
        "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .autocast = IG_AUTOCAST_F32,
    .shape = avg_shape,
    .prepare = avg_prepare,
    .run = avg_run,
    .variant = 3,
    .vjp = avg3d_vjp,
    .keep = "self",
    .samples =
        "f32[1,2,4,4,4], [2,2,2] | f32[1,1,3,5,5], [2,2,2], [2,2,2], [0,0,0], True, True, 3 | "
        "f32[1,2,4,4,3], [1,2,2], [1,2,1], [0,1,0], False, False",
};
IG_OP(avg_pool3d_backward) = {
    .schema =
        "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] "
        "stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) "
        "-> Tensor",
    .shape = avg_backward_shape,
    .prepare = avg_backward_prepare,
    .run = avg_backward_run,
    .variant = 3,
    .vjp = avg3d_backward_vjp,
    .keep = "self",
    .samples = "f32[1,2,2,2,2], f32[1,2,4,4,4], [2,2,2], [2,2,2], [0,0,0], False, True, None",
};
IG_OP(adaptive_avg_pool2d) = {
    .schema = "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .decompose = adaptive_avg_pool2d,
    .samples = "f32[1,2,6,5], [1,1] | f32[1,2,6,5], [3,2] | f32[2,5,5], [2,3]",
};
IG_OP(_adaptive_avg_pool2d) = {
    .schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .shape = adaptive_shape,
    .prepare = adaptive_prepare,
    .run = adaptive_run,
    .variant = 2,
    .vjp = adaptive_vjp,
    .keep = "self",
    .samples =
        "f32[1,2,6,5], [1,1] | f32[1,2,6,5], [3,2] | f32[2,5,5], [2,3] | f32[1,2,4,4].cl, "
        "[2,2]",
};
IG_OP(_adaptive_avg_pool2d_backward) = {
    .schema = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
    .shape = adaptive_backward_shape,
    .prepare = adaptive_backward_prepare,
    .run = adaptive_backward_run,
    .variant = 2,
    .vjp = adaptive_backward_vjp,
    .keep = "self",
    .samples = "f32[1,2,3,2], f32[1,2,6,5] | f32[2,1,1], f32[2,4,4]",
    .waive = "size 4=0: PyTorch divides by 0",
};
IG_OP(adaptive_avg_pool1d) = {
    .schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .decompose = adaptive_avg_pool1d,
    .samples = "f32[1,2,6], [3] | f32[2,7], [1]",
};
IG_OP(im2col) = {
    .schema =
        "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
        "int[2] stride) -> Tensor",
    .shape = im2col_shape,
    .prepare = im2col_prepare,
    .run = im2col_run,
    .vjp = im2col_vjp,
    .keep = "",
    .decompose = ig_lower_im2col,
    .samples = "f32[1,2,5,4], [2,2], [1,1], [0,0], [1,1] | f32[2,5,5], [3,2], [1,2], [1,1], [2,1]",
};
IG_OP(col2im) = {
    .schema =
        "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] "
        "dilation, int[2] padding, int[2] stride) -> Tensor",
    .shape = col2im_shape,
    .prepare = col2im_prepare,
    .run = col2im_run,
    .vjp = col2im_vjp,
    .keep = "",
    .decompose = ig_lower_col2im,
    .samples =
        "f32[1,8,12], [5,4], [2,2], [1,1], [0,0], [1,1] | f32[8,4], [4,4], [2,2], [1,1], "
        "[0,0], [2,2]",
};
