// SPDX-License-Identifier: Apache-2.0
// Layer normalization.
#include "kernels/norm.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// The shape of the normalized dimensions must be the end of the input's.
static void check_normalized(ig_ctx *c, const ig_tensor *x, const ig_value *shape) {
  int n = (int)shape->ints.n;
  if (n < 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                 "least one element, but got normalized_shape = []");
    return;
  }
  bool ok = x->ndim >= n;
  for (int d = 0; d < n && ok; d++) {
    ok = ig_int_eq(c, ig_sizes(x)[x->ndim - n + d], shape->ints.at[d]);
  }
  if (ok || c->status != IG_OK) return;
  ig_str want = ig_str_make(c->alloc);
  ig_str have = ig_str_make(c->alloc);
  for (int d = 0; d < n; d++) {
    ig_str_add(&want, "%s%s", d ? ", " : "", ig_int_text(c, shape->ints.at[d]));
  }
  for (int d = 0; d < x->ndim; d++) {
    ig_str_add(&have, "%s%s", d ? ", " : "", ig_int_text(c, ig_sizes(x)[d]));
  }
  ig_fail_text(c, IG_RUNTIME,
               ig_is_fake(x)
                   ? "Given normalized_shape=[%s], expected input with shape [%s], but got "
                     "input of size torch.Size([%s])"
                   : "Given normalized_shape=[%s], expected input with shape [*, %s], but "
                     "got input of size[%s]",
               want.at ? want.at : "", want.at ? want.at : "", have.at ? have.at : "");
  ig_str_free(&want);
  ig_str_free(&have);
}

static void check_param(ig_ctx *c, const ig_value *p, const ig_value *shape, const char *name) {
  if (p->kind != IG_KIND_TENSOR || c->status != IG_OK) return;
  bool ok = p->tensor->ndim == (int)shape->ints.n;
  for (int d = 0; d < p->tensor->ndim && ok; d++) {
    ok = ig_int_eq(c, ig_sizes(p->tensor)[d], shape->ints.at[d]);
  }
  if (ok || c->status != IG_OK) return;
  ig_fail_text(c, IG_RUNTIME,
               "Expected %s to be of same shape as normalized_shape, but got %s of %d dimensions",
               name, name, p->tensor->ndim);
}

// Statistics of half inputs are kept in float when the parameters are float.
static ig_dtype param_dtype(ig_dtype x, const ig_value *weight, const ig_value *bias) {
  const ig_tensor *p = weight->kind == IG_KIND_TENSOR ? weight->tensor : ig_value_tensor(bias);
  return p ? p->dtype : x;
}

// input, normalized_shape, weight, bias, eps -> y, mean, rstd
static void layer_norm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  check_normalized(c, x, &args[1]);
  check_param(c, &args[2], &args[1], "weight");
  check_param(c, &args[3], &args[1], "bias");
  if (c->status != IG_OK) return;
  if (!ig_check_float(c, "LayerNormKernelImpl", x->dtype)) return;
  if (!ig_check_float(c, "LayerNormKernelImpl", param_dtype(x->dtype, &args[2], &args[3]))) return;
  (void)op;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(x)[d]);
  for (int i = 1; i < 3; i++) {
    out[i].dtype = param_dtype(x->dtype, &args[2], &args[3]);
    for (int d = 0; d < x->ndim; d++) {
      bool row = d < x->ndim - (int)args[1].ints.n;
      ig_meta_push_dim(c, &out[i], row ? ig_sizes(x)[d] : ig_const(1));
    }
  }
}

static ig_norm_layer geometry(const ig_tensor *x, size_t normalized, ig_dtype param) {
  ig_norm_layer s = {ig_elem_of(x->dtype), ig_elem_of(param), 1, 1};
  for (int d = 0; d < x->ndim; d++) {
    *(d < x->ndim - (int)normalized ? &s.rows : &s.n) *= ig_sizes(x)[d].value;
  }
  return s;
}

typedef struct norm_state {
  ig_norm_layer shape;
  ig_operand x;
  ig_operand gamma;
  ig_operand beta;
  ig_operand grad;  // backward, like the next two
  ig_operand mean;
  ig_operand rstd;
} norm_state;

static void layer_norm_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                               const ig_value *outs, ig_prep *p) {
  (void)c;
  (void)op;
  IG_STATE(norm_state, s, p);
  const ig_tensor *x = args[0].tensor;
  ig_dtype param = outs[1].tensor->dtype;
  s->shape = geometry(x, args[1].ints.n, param);
  s->x = ig_operand_plan(&p->need, x, x->dtype, IG_ROW_MAJOR);
  s->gamma = ig_operand_maybe(&p->need, &args[2], param);
  s->beta = ig_operand_maybe(&p->need, &args[3], param);
}

static void layer_norm_run(const ig_exec *x) {
  const norm_state *s = x->state;
  const void *data = ig_operand_read(x, &s->x, x->args[0].tensor);
  const void *gamma = ig_operand_read(x, &s->gamma, ig_value_tensor(&x->args[2]));
  const void *beta = ig_operand_read(x, &s->beta, ig_value_tensor(&x->args[3]));
  ig_norm_layer_forward(&s->shape, data, gamma, beta, x->args[4].f,
                        ig_tensor_data(x->outs[0].tensor), ig_tensor_data(x->outs[1].tensor),
                        ig_tensor_data(x->outs[2].tensor));
}

static bool asked(const ig_value *mask, size_t i) {
  return mask->list.at[i].b;
}

// grad_out is as large as the input, and there is one mean and rstd per row.
static bool check_backward(ig_ctx *c, const ig_op *op, const ig_value *args) {
  const ig_tensor *x = args[1].tensor;
  check_normalized(c, x, &args[2]);
  check_param(c, &args[5], &args[2], "weight");
  check_param(c, &args[6], &args[2], "bias");
  if (c->status != IG_OK) return false;
  if (!ig_check_float(c, "LayerNormBackwardKernelImpl", x->dtype)) return false;
  ig_dtype p = param_dtype(x->dtype, &args[5], &args[6]);
  if (!ig_check_float(c, "LayerNormBackwardKernelImpl", p)) return false;
  int rows = x->ndim - (int)args[2].ints.n;
  static const size_t checked[] = {0, 3, 4};
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = args[checked[i]].tensor;
    bool same = t->ndim == x->ndim;
    for (int d = 0; d < x->ndim && same; d++) {
      bool one = i > 0 && d >= rows;
      same = ig_int_eq(c, ig_sizes(t)[d], one ? ig_const(1) : ig_sizes(x)[d]);
    }
    if (!same && c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME,
                   "native_layer_norm_backward: the sizes of %s do not fit the input",
                   op->schema.args[checked[i]].name);
    }
  }
  return c->status == IG_OK;
}

// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[1].tensor;
  if (!check_backward(c, op, args)) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(x)[d]);
  out[0].dtype = x->dtype;
  out[0].absent = !asked(&args[7], 0);
  for (int i = 1; i < 3; i++) {
    out[i].dtype = param_dtype(x->dtype, &args[5], &args[6]);
    out[i].absent = !asked(&args[7], (size_t)i);
    for (size_t d = 0; d < args[2].ints.n; d++) ig_meta_push_dim(c, &out[i], args[2].ints.at[d]);
  }
}

static void *data_of(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR ? ig_tensor_data(v->tensor) : NULL;
}

static void backward_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                             ig_prep *p) {
  (void)c;
  (void)op;
  (void)outs;
  IG_STATE(norm_state, s, p);
  const ig_tensor *x = args[1].tensor;
  ig_dtype param = param_dtype(x->dtype, &args[5], &args[6]);
  s->shape = geometry(x, args[2].ints.n, param);
  s->grad = ig_operand_plan(&p->need, args[0].tensor, x->dtype, IG_ROW_MAJOR);
  s->x = ig_operand_plan(&p->need, x, x->dtype, IG_ROW_MAJOR);
  s->mean = ig_operand_plan(&p->need, args[3].tensor, param, IG_ROW_MAJOR);
  s->rstd = ig_operand_plan(&p->need, args[4].tensor, param, IG_ROW_MAJOR);
  s->gamma = ig_operand_maybe(&p->need, &args[5], param);
}

static void backward_run(const ig_exec *x) {
  const norm_state *s = x->state;
  const void *dy = ig_operand_read(x, &s->grad, x->args[0].tensor);
  const void *data = ig_operand_read(x, &s->x, x->args[1].tensor);
  const void *mean = ig_operand_read(x, &s->mean, x->args[3].tensor);
  const void *rstd = ig_operand_read(x, &s->rstd, x->args[4].tensor);
  const void *gamma = ig_operand_read(x, &s->gamma, ig_value_tensor(&x->args[5]));
  ig_norm_layer_grads g = {data_of(&x->outs[0]), data_of(&x->outs[1]), data_of(&x->outs[2])};
  ig_norm_layer_backward(&s->shape, dy, data, mean, rstd, gamma, g);
}

static void layer_norm_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  bool weight = v->args[2].kind == IG_KIND_TENSOR && IG_WANTED(v, 2);
  bool bias = v->args[3].kind == IG_KIND_TENSOR && IG_WANTED(v, 3);
  ig_value mask[] = {ig_of_bool(IG_WANTED(v, 0)), ig_of_bool(weight), ig_of_bool(bias)};
  ig_value d[IG_MAX_RETURNS];
  ig_native_layer_norm_backward(c, v->grads[0], v->args[0].tensor, v->args[1], v->outs[1].tensor,
                                v->outs[2].tensor, ig_value_tensor(&v->args[2]),
                                ig_value_tensor(&v->args[3]), ig_of_list(mask, 3), d);
  if (c->status != IG_OK) return;
  IG_GRAD(v, 0) = ig_value_tensor(&d[0]);
  if (weight) IG_GRAD(v, 2) = ig_value_tensor(&d[1]);
  if (bias) IG_GRAD(v, 3) = ig_value_tensor(&d[2]);
}

// The gradient again as plain arithmetic on x, so that it can be differentiated once more.
static void backward_formula(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[1].tensor;
  ig_tensor *rstd = args[4].tensor;
  ig_int rows[IG_MAX_DIM];
  ig_int inner[IG_MAX_DIM];
  size_t n = args[2].ints.n;
  size_t lead = (size_t)x->ndim - n;
  for (size_t d = 0; d < lead; d++) rows[d] = ig_const((int64_t)d);
  for (size_t d = 0; d < n; d++) inner[d] = ig_const((int64_t)(lead + d));
  ig_tensor *centred = ig_sub_tensor(c, x, args[3].tensor);
  ig_tensor *hat = ig_mul_tensor(c, centred, rstd);
  ig_tensor *gg = args[5].kind == IG_KIND_TENSOR ? ig_mul_tensor(c, g, args[5].tensor) : g;
  ig_value dims = ig_of_ints(inner, n);
  if (asked(&args[7], 0)) {
    ig_tensor *a = ig_mean_dim_with(c, gg, dims, true, ig_none());
    ig_tensor *gh = ig_mul_tensor(c, gg, hat);
    ig_tensor *b = ig_mean_dim_with(c, gh, dims, true, ig_none());
    ig_tensor *d = ig_sub_tensor(c, gg, a);
    ig_tensor *hb = ig_mul_tensor(c, hat, b);
    d = ig_sub_tensor(c, d, hb);
    d = ig_mul_tensor(c, d, rstd);
    outs[0] = ig_of_tensor(ig_cast(c, d, x->dtype));
  }
  for (size_t i = 1; i < 3; i++) {
    if (!asked(&args[7], i)) continue;
    ig_tensor *d = i == 1 ? ig_mul_tensor(c, g, hat) : g;
    if (lead) d = ig_sum_dim_intlist_with(c, d, ig_of_ints(rows, lead), false, ig_none());
    outs[i] = ig_of_tensor(ig_cast(c, d, param_dtype(x->dtype, &args[5], &args[6])));
  }
}

// The second derivative differentiates the formula above: statistics are functions of x there. Its
// parts share a few terms: the normalized input, g times gamma, and a projection.
typedef struct second {
  ig_ctx *c;
  ig_value dims;  // normalized ones
  ig_tensor *hat;
  ig_tensor *rstd;
  ig_tensor *g;
  ig_tensor *gw;  // g times gamma
} second;

static ig_tensor *mean_of(const second *s, ig_tensor *t) {
  return ig_mean_dim_with(s->c, t, s->dims, true, ig_none());
}

static ig_tensor *mean_product(const second *s, ig_tensor *a, ig_tensor *b) {
  return mean_of(s, ig_mul_tensor(s->c, a, b));
}

static ig_tensor *sum_of(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  return a && b ? ig_add_tensor(c, a, b) : a ? a : b;
}

// rstd (q - mean(q) - hat mean(q hat)): how a change of hat becomes one of x. Symmetric.
static ig_tensor *project(const second *s, ig_tensor *q) {
  ig_tensor *a = mean_of(s, q);
  ig_tensor *b = mean_product(s, q, s->hat);
  ig_tensor *out = ig_sub_tensor(s->c, q, a);
  ig_tensor *along = ig_mul_tensor(s->c, s->hat, b);
  out = ig_sub_tensor(s->c, out, along);
  return ig_mul_tensor(s->c, out, s->rstd);
}

// What u, the gradient of dx, makes of x: dx = rstd (gw - mean(gw) - hat mean(gw hat)) varies with
// hat, by -rstd (u mean(gw hat) + gw mean(u hat)), and with rstd, whose slope is -rstd^2 hat / n.
static ig_tensor *input_from_dx(const second *s, ig_tensor *u, ig_tensor *pu) {
  ig_ctx *c = s->c;
  ig_tensor *gh = mean_product(s, s->gw, s->hat);
  ig_tensor *uh = mean_product(s, u, s->hat);
  ig_tensor *q = ig_mul_tensor(c, u, gh);
  ig_tensor *other = ig_mul_tensor(c, s->gw, uh);
  q = ig_add_tensor(c, q, other);
  q = ig_mul_tensor(c, q, s->rstd);
  ig_tensor *through_hat = project(s, ig_neg(c, q));
  ig_tensor *m = mean_product(s, pu, s->gw);
  ig_tensor *scaled = ig_mul_tensor(c, s->hat, s->rstd);
  ig_tensor *through_rstd = ig_mul_tensor(c, scaled, m);
  return ig_sub_tensor(c, through_hat, through_rstd);
}

static void backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[1].tensor;
  size_t n = v->args[2].ints.n;
  size_t lead = (size_t)x->ndim - n;
  ig_int inner[IG_MAX_DIM];
  ig_int rows[IG_MAX_DIM];
  for (size_t d = 0; d < n; d++) inner[d] = ig_const((int64_t)(lead + d));
  for (size_t d = 0; d < lead; d++) rows[d] = ig_const((int64_t)d);
  ig_tensor *w = ig_value_tensor(&v->args[5]);
  second s = {
      .c = c, .dims = ig_of_ints(inner, n), .rstd = v->args[4].tensor, .g = v->args[0].tensor};
  ig_tensor *centred = ig_sub_tensor(c, x, v->args[3].tensor);
  s.hat = ig_mul_tensor(c, centred, s.rstd);
  s.gw = w ? ig_mul_tensor(c, s.g, w) : s.g;
  ig_tensor *u = v->grads[0];   // gradient of dx
  ig_tensor *wg = v->grads[1];  // of dgamma, [normalized]
  ig_tensor *bg = v->grads[2];  // of dbeta
  ig_tensor *pu = u ? project(&s, u) : NULL;
  IG_GRAD(v, 3) = ig_no_derivative(c, "native_layer_norm_backward mean");
  IG_GRAD(v, 4) = ig_no_derivative(c, "native_layer_norm_backward rstd");
  if (IG_WANTED(v, 0)) {
    ig_tensor *d = w && pu ? ig_mul_tensor(c, pu, w) : pu;
    ig_tensor *from_w = wg ? ig_mul_tensor(c, s.hat, wg) : NULL;
    d = sum_of(c, d, from_w);
    ig_tensor *from_b = bg ? ig_expand(c, bg, ig_sizes_of(s.g)) : NULL;
    IG_GRAD(v, 0) = sum_of(c, d, from_b);
  }
  if (IG_WANTED(v, 1)) {
    ig_tensor *from_dx = u ? input_from_dx(&s, u, pu) : NULL;
    ig_tensor *from_w = wg ? project(&s, ig_mul_tensor(c, s.g, wg)) : NULL;
    IG_GRAD(v, 1) = sum_of(c, from_dx, from_w);
  }
  if (w && u && IG_WANTED(v, 5)) {
    ig_tensor *d = ig_mul_tensor(c, pu, s.g);
    if (lead) d = ig_sum_dim_intlist_with(c, d, ig_of_ints(rows, lead), false, ig_none());
    IG_GRAD(v, 5) = d;
  }
}

static ig_tensor *layer_norm_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_native_layer_norm(c, args[0].tensor, args[1], ig_value_tensor(&args[2]),
                       ig_value_tensor(&args[3]), args[4].f, outs);
  return ig_value_tensor(&outs[0]);
}

IG_OP(layer_norm) = {
    .schema =
        "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
        "Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = layer_norm_decompose,
    .samples = "f32[3,5], [5] | f32[3,5], [5], f32[5], f32[5] | f32[2,3,4], [3,4]",
};
IG_OP(native_layer_norm) = {
    .schema =
        "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
        "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = layer_norm_shape,
    .prepare = layer_norm_prepare,
    .run = layer_norm_run,
    .vjp = layer_norm_vjp,
    .diff_results = 1,
    .keep = "input, weight, bias, result1, result2",
    .lower_outs = ig_lower_layer_norm,
    .samples =
        "f32[3,5], [5], f32[5], f32[5], 1e-5 | f32[2,3,4], [3,4], None, None, 1e-5 | "
        "f32[4,3].T, [4], f32[4], None, 0.1",
};
IG_OP(native_layer_norm_backward) = {
    .schema =
        "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
        "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] "
        "output_mask) -> (Tensor, Tensor, Tensor)",
    .shape = backward_shape,
    .prepare = backward_prepare,
    .run = backward_run,
    .decompose_outs = backward_formula,
    .vjp = backward_vjp,
    .lower_outs = ig_lower_layer_norm_backward,
    .samples =
        "f32[3,5], f32[3,5], [5], f32[3,1], f32[3,1]:+, f32[5], f32[5], (True, True, True) "
        "| f32[3,5], f32[3,5], [5], f32[3,1], f32[3,1]:+, None, None, (True, False, False)",
    .waive =
        "gradient: mean and rstd stand for functions of the input, so differences that hold them "
        "fixed do not apply",
};
