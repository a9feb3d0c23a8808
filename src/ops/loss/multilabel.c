// SPDX-License-Identifier: Apache-2.0
// The hinge loss of several labels per row: every label against every class that is not a label.
// Labels of a row end with -1.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

enum { NO_REDUCTION, MEAN, SUM };

static bool check_sizes(ig_ctx *c, const ig_tensor *x, const ig_tensor *target) {
  bool fits = x->ndim <= 2 && target->ndim == x->ndim;
  for (int d = 0; fits && d < x->ndim; d++) {
    fits = ig_int_eq(c, ig_sizes(x)[d], ig_sizes(target)[d]);
  }
  if (!fits && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected non-empty vector or matrix with optional 0-dim batch size, and a target "
                 "of the same sizes, but got: %s and %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim),
                 ig_sizes_text(c, ig_sizes(target), (size_t)target->ndim));
  } else if (target->dtype != IG_I64 && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "multilabel_margin_loss: expected scalar type Long but found %s",
                 ig_dtype_title(target->dtype));
  }
  return c->status == IG_OK && ig_check_float(c, "multilabel_margin_loss", x->dtype);
}
// self, target, reduction -> loss, is_target
static void forward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  if (!check_sizes(c, x, args[1].tensor)) return;
  bool rows = ig_value_i64(c, &args[2]) == NO_REDUCTION && x->ndim == 2;
  if (rows) ig_meta_push_dim(c, &out[0], ig_sizes(x)[0]);
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, &out[1], ig_sizes(x)[d]);
}
// Rows of scores; marks the labels of a row and returns their number, -1 after an error.
typedef struct scores {
  int64_t rows;
  int64_t classes;
  double *x;
  int64_t *target;
  double *marked;
} scores;

static bool scores_read(ig_ctx *c, const ig_tensor *x, const ig_tensor *target, scores *s) {
  s->classes = x->ndim ? ig_sizes(x)[x->ndim - 1].value : 1;
  s->rows = s->classes ? ig_tensor_numel(x) / s->classes : 0;
  s->x = ig_dense_read(c, x, IG_F64);
  s->target = ig_dense_read(c, target, IG_I64);
  s->marked = ig_dense_room(c, (size_t)(s->rows * s->classes), IG_F64);
  return c->status == IG_OK;
}
static int64_t mark(ig_ctx *c, const scores *s, int64_t row) {
  int64_t count = 0;
  const int64_t *target = s->target + row * s->classes;
  for (; count < s->classes && target[count] >= 0; count++) {
    if (target[count] >= s->classes) {
      ig_fail_text(c, IG_RUNTIME, "multilabel_margin_loss: target %lld is out of range",
                   (long long)target[count]);
      return -1;
    }
    s->marked[row * s->classes + target[count]] = 1;
  }
  return count;
}
static void forward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  scores s;
  int64_t reduction = ig_value_i64(c, &args[2]);
  if (scores_read(c, args[0].tensor, args[1].tensor, &s)) {
    double *loss = ig_dense_room(c, (size_t)s.rows + 1, IG_F64);
    double all = 0;
    for (int64_t r = 0; loss && r < s.rows; r++) {
      int64_t labels = mark(c, &s, r);
      const double *x = s.x + r * s.classes;
      for (int64_t k = 0; k < labels; k++) {
        double of = x[s.target[r * s.classes + k]];
        for (int64_t d = 0; d < s.classes; d++) {
          double z = 1 - of + x[d];
          if (s.marked[r * s.classes + d] == 0 && !(z <= 0)) loss[r] += z;
        }
      }
      loss[r] /= (double)s.classes;
      all += loss[r];
    }
    if (loss && outs[0].tensor->ndim == 0) {
      loss[0] = reduction == MEAN && s.rows > 1 ? all / (double)s.rows : all;
    }
    ig_dense_write(c, outs[0].tensor, IG_F64, loss);
    ig_dense_write(c, outs[1].tensor, IG_F64, s.marked);
  }
  ig_scope_close(c, scope);
}
static void forward_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  IG_GRAD(v, 0) = ig_multilabel_margin_loss_backward(
      c, v->grads[0], v->args[0].tensor, v->args[1].tensor, v->args[2].i, v->outs[1].tensor);
}

// grad_output, self, target, reduction, is_target
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[1].tensor;
  const ig_tensor *grad = args[0].tensor;
  if (!check_sizes(c, x, args[2].tensor)) return;
  bool rows = grad->ndim == 1 && x->ndim == 2 && ig_int_eq(c, ig_sizes(grad)[0], ig_sizes(x)[0]);
  if (grad->ndim != 0 && !rows && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "multilabel_margin_loss_backward: found a gradient of sizes %s, expected one "
                 "number or one per row",
                 ig_sizes_text(c, ig_sizes(grad), (size_t)grad->ndim));
  }
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
}
static void backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  scores s;
  bool mean = ig_value_i64(c, &args[3]) == MEAN;
  if (scores_read(c, args[1].tensor, args[2].tensor, &s)) {
    const double *grad = ig_dense_read(c, args[0].tensor, IG_F64);
    double *g = ig_dense_room(c, (size_t)(s.rows * s.classes), IG_F64);
    bool each = args[0].tensor->ndim == 1;
    for (int64_t r = 0; c->status == IG_OK && r < s.rows; r++) {
      int64_t labels = mark(c, &s, r);
      double share = grad[each ? r : 0] / (double)(mean ? s.classes * s.rows : s.classes);
      const double *x = s.x + r * s.classes;
      for (int64_t k = 0; k < labels; k++) {
        int64_t label = s.target[r * s.classes + k];
        for (int64_t d = 0; d < s.classes; d++) {
          if (s.marked[r * s.classes + d] != 0 || !(1 - x[label] + x[d] > 0)) continue;
          g[r * s.classes + label] -= share;
          g[r * s.classes + d] += share;
        }
      }
    }
    ig_dense_write(c, outs[0].tensor, IG_F64, g);
  }
  ig_scope_close(c, scope);
}
static ig_tensor *loss(ig_ctx *c, const ig_value *a) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_multilabel_margin_loss_forward(c, a[0].tensor, a[1].tensor, a[2].i, outs);
  return c->status == IG_OK ? outs[0].tensor : NULL;
}

IG_OP(multilabel_margin_loss_forward) = {
    .schema =
        "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> "
        "(Tensor output, Tensor is_target)",
    .shape = forward_shape,
    .kernel = forward_kernel,
    .vjp = forward_vjp,
    .diff_results = 1,
    .samples =
        "f32[4], i64{1,3,-1,0}, 1 | f32[2,3], i64[2,3]:<3, 1 | f32[2,3], i64[2,3]:<2, 0 | "
        "f32[2,3], i64[2,3]:<2, 2",
    .waive = "refusal: other texts; special: NaN counts otherwise; second: PyTorch has none",
};
IG_OP(multilabel_margin_loss_backward) = {
    .schema =
        "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
        "reduction, Tensor is_target) -> Tensor",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .samples =
        "f32[], f32[4], i64{1,3,-1,0}, 1, f32{0,1,0,1} | f32[1], f32[1,3], i64[1,3]:<1, 0, "
        "f32[1,3]:ones",
    .waive = "values: is_target of a sample belongs to no call; refusal: other texts",
};
IG_OP(multilabel_margin_loss) = {
    .schema = "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = loss,
    .samples = "f32[4], i64{1,3,-1,0} | f32[2,3], i64[2,3]:<2, 0",
    .waive = "refusal: other texts; special: NaN counts otherwise; second: PyTorch has none",
};
