// SPDX-License-Identifier: Apache-2.0
// Maxima over windows whose positions come from a random number per plane and dimension, in two and
// three dimensions.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

static int directions(const ig_op *op) {
  return op->def->variant;
}

// self, kernel_size, output_size, random_samples -> output, place of each maximum in its plane
static void fractional_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int n = directions(op);
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *random = args[3].tensor;
  char name[] = "fractional_max_pool2d";
  name[19] = (char)('0' + n);
  if (x->ndim != n + 1 && x->ndim != n + 2) {
    ig_fail_text(c, IG_RUNTIME, "%s(): Expected %dD or %dD tensor, but got: %s", name, n + 1, n + 2,
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  if (!ig_check_float(c, name, x->dtype)) return;
  if (args[1].ints.n != (size_t)n || args[2].ints.n != (size_t)n) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: kernel_size and output_size must either be a single Int or tuple of Ints",
                 name);
    return;
  }
  for (int d = 0; d < n; d++) {
    ig_int given[] = {args[1].ints.at[d], args[2].ints.at[d]};
    for (int k = 0; k < 2; k++) {
      if (!ig_int_is(c, given[k], IG_LT, ig_const(1))) continue;
      ig_fail_text(c, IG_RUNTIME, "%s: %s must be greater than zero, found %s", name,
                   k ? "output_size" : "kernel_size", ig_int_text(c, given[k]));
      return;
    }
  }
  int lead = x->ndim - n;
  bool fits = random->ndim == 3 && random->dtype == x->dtype &&
              ig_int_eq(c, ig_sizes(random)[1], ig_sizes(x)[lead - 1]) &&
              ig_int_eq_i64(c, ig_sizes(random)[2], n) &&
              (lead == 1 || !ig_int_is(c, ig_sizes(random)[0], IG_LT, ig_sizes(x)[0]));
  if (!fits && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expect _random_samples to have the dtype of input and sizes (batch, channels, "
                 "%d); got %s",
                 n, ig_sizes_text(c, ig_sizes(random), (size_t)random->ndim));
  }
  for (int k = 0; k < 2 && c->status == IG_OK; k++) {
    for (int d = 0; d < lead; d++) ig_meta_push_dim(c, &out[k], ig_sizes(x)[d]);
    for (int d = 0; d < n; d++) ig_meta_push_dim(c, &out[k], args[2].ints.at[d]);
  }
  out[1].dtype = IG_I64;
  for (int d = 0; d < n && c->status == IG_OK; d++) {
    ig_int covered = ig_int_add(c, args[2].ints.at[d], args[1].ints.at[d]);
    covered = ig_int_sub(c, covered, ig_const(1));
    if (!ig_int_is(c, ig_sizes(x)[lead + d], IG_LT, covered)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "%s(): pool size (%s) and output size (%s) too large relative to input size (%s)",
                 name, ig_int_text(c, args[1].ints.at[d]), ig_int_text(c, args[2].ints.at[d]),
                 ig_int_text(c, ig_sizes(x)[lead + d]));
  }
}

// Where the windows of one direction begin.
static void starts(double sample, bool narrow, int64_t size, int64_t count, int64_t window,
                   int64_t *at) {
  double step = count > 1 ? (double)(size - window) / (double)(count - 1) : 0;
  if (narrow) step = count > 1 ? (float)(size - window) / (float)(count - 1) : 0;
  for (int64_t i = 0; i < count - 1; i++) {
    if (narrow) {
      float s = (float)sample;
      at[i] = (int64_t)(((float)i + s) * (float)step) - (int64_t)(s * (float)step);
    } else {
      at[i] = (int64_t)(((double)i + sample) * step) - (int64_t)(sample * step);
    }
  }
  if (count > 0) at[count - 1] = size - window;
}
typedef struct windows {
  int64_t size[3];    // of a plane
  int64_t count[3];   // of windows
  int64_t window[3];  // sizes
  int64_t *at[3];     // where they begin
} windows;

static void pool_plane(const windows *w, const double *x, double *out, int64_t *place) {
  int64_t all = w->count[0] * w->count[1] * w->count[2];
  int64_t each = w->window[0] * w->window[1] * w->window[2];
  for (int64_t i = 0; i < all; i++) {
    int64_t of[] = {w->at[0][i / (w->count[1] * w->count[2])],
                    w->at[1][i / w->count[2] % w->count[1]], w->at[2][i % w->count[2]]};
    double best = -(double)INFINITY;
    int64_t where = (of[0] * w->size[1] + of[1]) * w->size[2] + of[2];
    for (int64_t k = 0; k < each; k++) {
      int64_t z = of[0] + k / (w->window[1] * w->window[2]);
      int64_t y = of[1] + k / w->window[2] % w->window[1];
      int64_t here = (z * w->size[1] + y) * w->size[2] + of[2] + k % w->window[2];
      if (!(x[here] > best) && !isnan(x[here])) continue;
      best = x[here];
      where = here;
    }
    out[i] = best;
    place[i] = where;
  }
}
// A plane is taken for a volume of one slice. Random numbers name the directions of a plane from
// the last, those of a volume from the first.
static void fractional_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int n = directions(op);
  const ig_tensor *x = args[0].tensor;
  ig_scope scope = ig_scope_open(c);
  int lead = x->ndim - n;
  windows w = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {NULL, NULL, NULL}};
  for (int d = 0; d < 3; d++) {
    int of = d - (3 - n);
    if (of >= 0) {
      w.size[d] = ig_sizes(x)[lead + of].value;
      w.count[d] = ig_int_specialize(c, args[2].ints.at[of]);
      w.window[d] = ig_int_specialize(c, args[1].ints.at[of]);
    }
    w.at[d] = ig_dense_room(c, (size_t)w.count[d], IG_I64);
  }
  int64_t plane = w.size[0] * w.size[1] * w.size[2];
  int64_t result = w.count[0] * w.count[1] * w.count[2];
  int64_t planes = result ? ig_tensor_numel(outs[0].tensor) / result : 0;
  const double *from = ig_dense_read(c, x, IG_F64);
  const double *random = ig_dense_read(c, args[3].tensor, IG_F64);
  double *to = ig_dense_room(c, (size_t)(planes * result), IG_F64);
  int64_t *place = ig_dense_room(c, (size_t)(planes * result), IG_I64);
  bool narrow = x->dtype != IG_F64;
  if (c->status == IG_OK && ig_tensor_numel(args[3].tensor) / n < planes) {
    ig_fail_text(
        c, IG_RUNTIME,
        "fractional_max_pool: expected %d random samples for each of %lld planes, found %lld", n,
        (long long)planes, (long long)ig_tensor_numel(args[3].tensor));
  }
  for (int64_t p = 0; c->status == IG_OK && p < planes; p++) {
    for (int d = 3 - n; d < 3; d++) {
      double sample = random[p * n + (n == 2 ? 2 - d : d)];
      bool usable = sample >= 0 && sample <= 1;
      if (usable) starts(sample, narrow, w.size[d], w.count[d], w.window[d], w.at[d]);
      for (int64_t i = 0; i < w.count[d]; i++) {
        bool inside = usable && w.at[d][i] >= 0 && w.at[d][i] <= w.size[d] - w.window[d];
        if (inside) continue;
        ig_fail_text(c, IG_RUNTIME,
                     "fractional_max_pool: random sample %g puts a window outside of the input: "
                     "expected samples in [0, 1)",
                     sample);
        goto done;
      }
    }
    pool_plane(&w, from + p * plane, to + p * result, place + p * result);
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, to);
  ig_dense_write(c, outs[1].tensor, IG_I64, place);
done:
  ig_scope_close(c, scope);
}

static void fractional_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  ig_tensor *x = v->args[0].tensor;
  if (directions(v->op) == 2) {
    IG_GRAD(v, 0) = ig_fractional_max_pool2d_backward(c, v->grads[0], x, v->args[1], v->args[2],
                                                      v->outs[1].tensor);
  } else {
    IG_GRAD(v, 0) = ig_fractional_max_pool3d_backward(c, v->grads[0], x, v->args[1], v->args[2],
                                                      v->outs[1].tensor);
  }
}

// grad_output, self, kernel_size, output_size, indices
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int n = directions(op);
  const ig_tensor *x = args[1].tensor;
  const ig_tensor *grad = args[0].tensor;
  const ig_tensor *places = args[4].tensor;
  bool fits = x->ndim >= n + 1 && x->ndim <= n + 2 && grad->ndim == x->ndim &&
              places->ndim == x->ndim && places->dtype == IG_I64;
  for (int d = 0; fits && d < x->ndim; d++) {
    fits = ig_int_eq(c, ig_sizes(grad)[d], ig_sizes(places)[d]);
    if (fits && d < x->ndim - n) fits = ig_int_eq(c, ig_sizes(grad)[d], ig_sizes(x)[d]);
  }
  if (!fits) {
    if (c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME,
                   "fractional_max_pool_backward: gradOutput and indices must have the sizes of "
                   "the output");
    }
    return;
  }
  if (!ig_check_float(c, "fractional_max_pool_backward", grad->dtype)) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
}
static ig_tensor *flat(ig_ctx *c, ig_tensor *t, int n) {
  return ig_flatten_using_ints_with(c, t, ig_const(-n), ig_const(-1));
}
static void backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int n = directions(op);
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *x = args[1].tensor;
  int64_t plane = 1;
  for (int d = x->ndim - n; d < x->ndim; d++) plane *= ig_sizes(x)[d].value;
  int64_t all = ig_tensor_numel(args[0].tensor);
  int64_t planes = plane ? ig_tensor_numel(x) / plane : 0;
  const double *g = ig_dense_read(c, args[0].tensor, IG_F64);
  const int64_t *place = ig_dense_read(c, args[4].tensor, IG_I64);
  double *out = ig_dense_room(c, (size_t)(planes * plane), IG_F64);
  for (int64_t i = 0; c->status == IG_OK && planes && i < all; i++) {
    if (place[i] < 0 || place[i] >= plane) {
      ig_fail_text(c, IG_RUNTIME, "fractional_max_pool_backward: index %lld is outside of a plane",
                   (long long)place[i]);
      break;
    }
    out[i / (all / planes) * plane + place[i]] += g[i];
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, out);
  ig_scope_close(c, scope);
}
static void backward_vjp(ig_ctx *c, const ig_vjp *v) {
  int n = directions(v->op);
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *places = v->args[4].tensor;
  ig_tensor *g = flat(c, v->grad, n);
  g = ig_gather(c, g, ig_const(-1), flat(c, places, n));
  IG_GRAD(v, 0) = ig_view(c, g, ig_sizes_of(places));
}

IG_OP(fractional_max_pool2d) = {
    .schema =
        "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
        "random_samples) -> (Tensor, Tensor)",
    .autocast = IG_AUTOCAST_F32,
    .shape = fractional_shape,
    .kernel = fractional_kernel,
    .vjp = fractional_vjp,
    .keep = "result1",
    .diff_results = 1,
    .variant = 2,
    .samples = "f32[2,3,6,5], [2,2], [3,2], f32[2,3,2]:u | f32[2,7,7], [3,2], [2,4], f32[1,2,2]:u",
    .waive = "refusal: other texts",
};
IG_OP(fractional_max_pool2d_backward) = {
    .schema =
        "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
        "int[2] output_size, Tensor indices) -> Tensor",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .vjp = backward_vjp,
    .keep = "indices",
    .variant = 2,
    .samples = "f32[2,3,3,2], f32[2,3,6,5], [2,2], [3,2], i64[2,3,3,2]:<30",
    .waive = "refusal: other texts",
};
IG_OP(fractional_max_pool3d) = {
    .schema =
        "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
        "random_samples) -> (Tensor, Tensor)",
    .autocast = IG_AUTOCAST_F32,
    .shape = fractional_shape,
    .kernel = fractional_kernel,
    .vjp = fractional_vjp,
    .keep = "result1",
    .diff_results = 1,
    .variant = 3,
    .samples =
        "f32[1,2,6,5,4], [2,2,2], [3,2,2], f32[1,2,3]:u | f32[2,5,5,5], [3,2,2], [2,3,2], "
        "f32[1,2,3]:u",
    .waive = "refusal: other texts",
};
IG_OP(fractional_max_pool3d_backward) = {
    .schema =
        "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
        "int[3] output_size, Tensor indices) -> Tensor",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .vjp = backward_vjp,
    .keep = "indices",
    .variant = 3,
    .samples = "f32[1,2,3,2,2], f32[1,2,6,5,4], [2,2,2], [3,2,2], i64[1,2,3,2,2]:<120",
    .waive = "refusal: other texts",
};
