// SPDX-License-Identifier: Apache-2.0
// Adaptive pooling beyond pool.c, and 1-d average pooling.
#include <math.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/dense.h"

// avg_pool1d as avg_pool2d with height 1
static ig_tensor *avg_pool1d(ig_ctx *c, const ig_value *args) {
  ig_int kernel[] = {ig_const(1), args[1].ints.at[0]};
  ig_int stride[] = {ig_const(1), args[2].ints.n ? args[2].ints.at[0] : args[1].ints.at[0]};
  ig_int pad[] = {ig_const(0), args[3].ints.at[0]};
  if (args[0].tensor->ndim != 2 && args[0].tensor->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
                 "but got:%s",
                 ig_sizes_text(c, ig_sizes(args[0].tensor), (size_t)args[0].tensor->ndim));
    return NULL;
  }
  ig_tensor *x = ig_unsqueeze(c, args[0].tensor, ig_const(-2));
  x = ig_avg_pool2d_with(c, x, ig_of_ints(kernel, 2), ig_of_ints(stride, 2), ig_of_ints(pad, 2),
                         args[4].b, args[5].b, ig_none());
  return ig_squeeze_dim(c, x, ig_const(-2));
}
static void adaptive_max_pool1d(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_int size[] = {ig_const(1), args[1].ints.at[0]};
  ig_value both[IG_MAX_RETURNS];
  ig_tensor *x = args[0].tensor;
  if (x->ndim != 2 && x->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME, "adaptive_max_pool1d() expected 2D or 3D input, got %dD", x->ndim);
    return;
  }
  ig_adaptive_max_pool2d(c, ig_unsqueeze(c, x, ig_const(-2)), ig_of_ints(size, 2), both);
  if (c->status != IG_OK) return;
  outs[1] = ig_of_tensor(ig_squeeze_dim(c, both[1].tensor, ig_const(-2)));
  outs[0] = ig_of_tensor(ig_squeeze_dim(c, both[0].tensor, ig_const(-2)));
}
static ig_tensor *adaptive_avg_pool3d(ig_ctx *c, const ig_value *args) {
  const ig_int *size = args[1].ints.at;
  bool ones = true;
  for (int d = 0; d < 3; d++) ones = ones && ig_int_eq_i64(c, size[d], 1);
  ig_int dims[] = {ig_const(-1), ig_const(-2), ig_const(-3)};
  if (ones && args[0].tensor->ndim >= 4) {
    return ig_mean_dim_with(c, args[0].tensor, ig_of_ints(dims, 3), true, ig_none());
  }
  return ig__adaptive_avg_pool3d(c, args[0].tensor, args[1]);
}

// Windows over `n` trailing dimensions of dense planes.
enum { AVERAGE, ADAPTIVE_AVERAGE, ADAPTIVE_MAX };
typedef struct window {
  int n;
  int64_t in[3];
  int64_t out[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t pad[3];
  int how;
  bool count_pad;
  int64_t divisor;
  int64_t planes;
} window;
static void bounds(const window *w, int d, int64_t o, int64_t *from, int64_t *to, int64_t *full) {
  if (w->how == AVERAGE) {
    *from = o * w->stride[d] - w->pad[d];
    *to = *from + w->kernel[d];
    if (*to > w->in[d] + w->pad[d]) *to = w->in[d] + w->pad[d];
    *full = *to - *from;
    *from = *from < 0 ? 0 : *from;
    *to = *to > w->in[d] ? w->in[d] : *to;
  } else {
    *from = o * w->in[d] / w->out[d];
    *to = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
    *full = *to - *from;
  }
}
typedef struct cell {
  int64_t from[3];
  int64_t to[3];
  double count;
} cell;
static cell cell_of(const window *w, int64_t o) {
  cell c = {{0, 0, 0}, {1, 1, 1}, 1};
  double pads = 1;
  for (int d = w->n - 1; d >= 0; d--) {
    int64_t full;
    int k = d + 3 - w->n;
    bounds(w, d, o % w->out[d], &c.from[k], &c.to[k], &full);
    o /= w->out[d];
    pads *= (double)full;
    c.count *= (double)(c.to[k] - c.from[k]);
  }
  if (w->how == AVERAGE && w->count_pad) c.count = pads;
  if (w->divisor) c.count = (double)w->divisor;
  return c;
}
static int64_t plane_of(const window *w, const int64_t *sizes) {
  int64_t n = 1;
  for (int d = 0; d < w->n; d++) n *= sizes[d];
  return n;
}
static int64_t offset_of(const window *w, int64_t z, int64_t y, int64_t x) {
  int64_t wx = w->in[w->n - 1];
  int64_t wy = w->n > 1 ? w->in[w->n - 2] : 1;
  return (z * wy + y) * wx + x;
}
static void pool_forward(const window *w, const double *x, double *out, int64_t *at) {
  int64_t from = plane_of(w, w->in);
  int64_t to = plane_of(w, w->out);
  for (int64_t k = 0; k < w->planes * to; k++) {
    const double *plane = x + k / to * from;
    cell c = cell_of(w, k % to);
    double sum = w->how == ADAPTIVE_MAX ? -HUGE_VAL : 0;
    int64_t best = offset_of(w, c.from[0], c.from[1], c.from[2]);
    for (int64_t z = c.from[0]; z < c.to[0]; z++) {
      for (int64_t y = c.from[1]; y < c.to[1]; y++) {
        for (int64_t i = c.from[2]; i < c.to[2]; i++) {
          int64_t p = offset_of(w, z, y, i);
          if (w->how != ADAPTIVE_MAX) {
            sum += plane[p];
          } else if (plane[p] > sum || isnan(plane[p])) {
            sum = plane[p];
            best = p;
          }
        }
      }
    }
    out[k] = w->how == ADAPTIVE_MAX ? sum : sum / c.count;
    if (at) at[k] = best;
  }
}
static void pool_backward(const window *w, const double *g, double *out) {
  int64_t from = plane_of(w, w->in);
  int64_t to = plane_of(w, w->out);
  for (int64_t k = 0; k < w->planes * to; k++) {
    double *plane = out + k / to * from;
    cell c = cell_of(w, k % to);
    for (int64_t z = c.from[0]; z < c.to[0]; z++) {
      for (int64_t y = c.from[1]; y < c.to[1]; y++) {
        for (int64_t i = c.from[2]; i < c.to[2]; i++)
          plane[offset_of(w, z, y, i)] += g[k] / c.count;
      }
    }
  }
}
static bool planes_fit(ig_ctx *c, const ig_tensor *x, int n, const char *name) {
  bool ok = x->ndim == n + 1 || x->ndim == n + 2;
  for (int d = x->ndim - n; ok && d < x->ndim; d++) ok = !ig_int_eq_i64(c, ig_sizes(x)[d], 0);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s(): Expected %dD or %dD tensor with non-empty planes, but got %s", name, n + 1,
                 n + 2, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
  }
  return ok && ig_check_float(c, name, x->dtype);
}
// variant: 3, 2: adaptive max over as many dimensions; 13: adaptive average; others: avg_pool3d
static void adaptive_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  int n = op->def->variant % 10;
  if (!planes_fit(c, x, n, op->schema.name)) return;
  for (size_t k = 0; k < op->schema.nrets; k++) {
    for (int d = 0; d < x->ndim - n; d++) ig_meta_push_dim(c, &out[k], ig_sizes(x)[d]);
    for (int d = 0; d < n; d++) {
      ig_int size = args[1].ints.at[args[1].ints.n == 1 ? 0 : d];
      ig_meta_push_dim(c, &out[k], size);
    }
    out[k].dtype = k ? IG_I64 : x->dtype;
  }
}
static window adaptive_window(const ig_op *op, const ig_tensor *x, const ig_tensor *out) {
  window w = {.n = op->def->variant % 10};
  w.how = op->def->variant > 10 ? ADAPTIVE_AVERAGE : ADAPTIVE_MAX;
  w.planes = 1;
  for (int d = 0; d < x->ndim; d++) {
    int k = d - (x->ndim - w.n);
    if (k < 0) w.planes *= ig_sizes(x)[d].value;  // concrete: real sizes
    if (k >= 0) w.in[k] = ig_sizes(x)[d].value;
    if (k >= 0) w.out[k] = ig_sizes(out)[d].value;
  }
  return w;
}
static void adaptive_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(out);
  window w = adaptive_window(op, args[0].tensor, out);
  ig_scope s = ig_scope_open(c);
  const double *x = ig_dense_read(c, args[0].tensor, IG_F64);
  double *o = ig_dense_room(c, n, IG_F64);
  int64_t *at = ig_dense_room(c, n, IG_I64);
  if (x && o && at && n) pool_forward(&w, x, o, at);
  ig_dense_write(c, out, IG_F64, o);
  if (op->schema.nrets == 2) ig_dense_write(c, outs[1].tensor, IG_I64, at);
  ig_scope_close(c, s);
}
static void adaptive_max_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[0].tensor;
  int n = v->op->def->variant;
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_int end = ig_const(-1);
  ig_int start = ig_const(-n);
  ig_tensor *zeros = ig_flatten_using_ints_with(c, ig_zeros_of(c, x), start, end);
  ig_tensor *at = ig_flatten_using_ints_with(c, v->outs[1].tensor, start, end);
  ig_tensor *g = ig_flatten_using_ints_with(c, v->grads[0], start, end);
  IG_GRAD(v, 0) = ig_view(c, ig_scatter_add(c, zeros, end, at, g), ig_sizes_of(x));
}
static void adaptive_avg_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig__adaptive_avg_pool3d_backward(c, v->grad, v->args[0].tensor);
}
static void like_second(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *g = args[0].tensor;
  const ig_tensor *x = args[1].tensor;
  if (!planes_fit(c, x, 3, op->schema.name)) return;
  bool fits = g->ndim == x->ndim;
  for (int d = 0; fits && d < x->ndim - 3; d++) {
    fits = ig_int_eq(c, ig_sizes(g)[d], ig_sizes(x)[d]);
  }
  if (!fits && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "%s: found a gradient of sizes %s for an input of sizes %s",
                 op->schema.name, ig_sizes_text(c, ig_sizes(g), (size_t)g->ndim),
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  out->dtype = x->dtype;
}
static void adaptive_avg_backward(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  window w = adaptive_window(op, args[1].tensor, args[0].tensor);
  ig_scope s = ig_scope_open(c);
  const double *g = ig_dense_read(c, args[0].tensor, IG_F64);
  double *o = ig_dense_room(c, (size_t)ig_tensor_numel(out), IG_F64);
  if (g && o && ig_tensor_numel(args[0].tensor)) pool_backward(&w, g, o);
  ig_dense_write(c, out, IG_F64, o);
  ig_scope_close(c, s);
}
static void adaptive_avg_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *g = v->args[0].tensor;
  ig_value size = ig_of_ints(ig_sizes(g) + g->ndim - 3, 3);
  IG_GRAD(v, 0) = ig__adaptive_avg_pool3d(c, v->grad, size);
  IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}
IG_OP(avg_pool1d) = {
    .schema =
        "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
        "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
    .decompose = avg_pool1d,
    .samples = "f32[1,2,6], [2] | f32[2,2,6], [3], [1], [1], False, False",
};
IG_OP(adaptive_max_pool1d) = {
    .schema = "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
    .decompose_outs = adaptive_max_pool1d,
    .samples = "f32[1,2,5]:perm, [2]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(adaptive_max_pool2d) = {
    .schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
    .shape = adaptive_shape,
    .kernel = adaptive_kernel,
    .vjp = adaptive_max_vjp,
    .diff_results = 1,
    .keep = "result1",
    .variant = 2,
    .samples = "f32[1,2,4,6]:perm, [1,3]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(adaptive_max_pool3d) = {
    .schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
    .autocast = IG_AUTOCAST_F32,
    .shape = adaptive_shape,
    .kernel = adaptive_kernel,
    .vjp = adaptive_max_vjp,
    .diff_results = 1,
    .keep = "result1",
    .variant = 3,
    .samples = "f32[1,2,4,4,3]:perm, [2,2,2]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(_adaptive_avg_pool3d) = {
    .schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .shape = adaptive_shape,
    .kernel = adaptive_kernel,
    .vjp = adaptive_avg_vjp,
    .keep = "",
    .variant = 13,
    .samples = "f32[1,2,4,4,3], [2,2,2]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(_adaptive_avg_pool3d_backward) = {
    .schema = "aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor",
    .shape = like_second,
    .kernel = adaptive_avg_backward,
    .vjp = adaptive_avg_backward_vjp,
    .keep = "",
    .variant = 13,
    .samples = "f32[1,2,2,2,2], f32[1,2,4,4,3]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(adaptive_avg_pool3d) = {
    .schema = "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .autocast = IG_AUTOCAST_F32,
    .decompose = adaptive_avg_pool3d,
    .samples = "f32[1,2,4,4,3], [2,2,2] | f32[1,2,3,3,3], [1,1,1]",
    .waive = "size 2=0: PyTorch refuses it",
};
