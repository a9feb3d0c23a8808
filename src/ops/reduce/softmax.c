// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and their gradients over one dimension.
#include "kernels/softmax.h"

#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/reduce/reduce.h"
#include "tensor/number.h"

static ig_axis axis_of(const ig_tensor *t, int dim) {
  ig_axis a = {1, t->ndim ? ig_sizes(t)[dim].value : 1, 1};
  for (int d = 0; d < t->ndim; d++) {
    if (d < dim) a.outer *= ig_sizes(t)[d].value;
    if (d > dim) a.inner *= ig_sizes(t)[d].value;
  }
  if (a.n == 0) a.outer = 0;  // as many rows as one likes, and nothing in them
  return a;
}

enum { PLAIN, LOG, SAFE };

static void softmax_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  (void)ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK) return;
  const char *name =
      op->def->variant == LOG ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl";
  bool wide = op->def->variant != SAFE && args[2].kind == IG_KIND_BOOL && args[2].b;
  bool asked = op->def->variant == SAFE && args[2].kind == IG_KIND_DTYPE;
  out->dtype = wide ? IG_F32 : asked ? args[2].dtype : self->dtype;
  if (!asked && !ig_check_float(c, name, self->dtype)) return;
  if (!ig_check_float(c, name, out->dtype)) return;
  for (int d = 0; d < self->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(self)[d]);
}

typedef struct softmax_state {
  ig_axis axis;
  ig_operand x;   // self, or the gradient
  ig_operand y;   // backward: the result
  size_t result;  // backward: the gradient before it is converted
} softmax_state;

static void softmax_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                            ig_prep *p) {
  (void)op;
  IG_STATE(softmax_state, s, p);
  ig_dtype d = outs[0].tensor->dtype;
  const ig_tensor *x = args[0].tensor;
  s->axis = axis_of(x, ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim));
  s->x = ig_operand_plan(&p->need, x, d, IG_ROW_MAJOR);
  ig_softmax_need(ig_elem_of(d), s->axis, &p->need);
}

static void softmax_run(const ig_exec *x) {
  const softmax_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  const void *from = ig_operand_read(x, &s->x, x->args[0].tensor);
  int how = x->op->def->variant;
  (how == LOG    ? ig_softmax_log
   : how == SAFE ? ig_softmax_safe
                 : ig_softmax)(ig_elem_of(out->dtype), from, ig_tensor_data(out), s->axis);
}

// grad_output, output, dim, input_dtype
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *g = args[0].tensor;
  const ig_tensor *y = args[1].tensor;
  (void)ig_wrap_dim(c, ig_value_i64(c, &args[2]), g->ndim);
  if (c->status != IG_OK || !ig_check_float(c, op->schema.name, g->dtype)) return;
  if (!ig_check_float(c, op->schema.name, args[3].dtype)) return;
  bool same = g->ndim == y->ndim;
  for (int d = 0; d < g->ndim && same; d++) same = ig_int_eq(c, ig_sizes(g)[d], ig_sizes(y)[d]);
  if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected grad_output and output of the same sizes",
                 op->schema.name);
  }
  if (c->status != IG_OK) return;
  out->dtype = args[3].dtype;
  for (int d = 0; d < g->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(g)[d]);
}

static void backward_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                             ig_prep *p) {
  (void)op;
  IG_STATE(softmax_state, s, p);
  const ig_tensor *g = args[0].tensor;
  const ig_tensor *out = outs[0].tensor;
  s->axis = axis_of(g, ig_wrap_dim(c, ig_value_i64(c, &args[2]), g->ndim));
  s->x = ig_operand_plan(&p->need, g, g->dtype, IG_ROW_MAJOR);
  s->y = ig_operand_plan(&p->need, args[1].tensor, g->dtype, IG_ROW_MAJOR);
  s->result = 0;
  if (out->dtype != g->dtype) {
    s->result = ig_need_take(&p->need, (size_t)ig_tensor_numel(out), ig_dtype_size(g->dtype));
  }
  ig_softmax_need(ig_elem_of(g->dtype), s->axis, &p->need);
}

static void backward_run(const ig_exec *x) {
  const softmax_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  ig_dtype d = x->args[0].tensor->dtype;
  bool converts = out->dtype != d;
  const void *dy = ig_operand_read(x, &s->x, x->args[0].tensor);
  const void *y = ig_operand_read(x, &s->y, x->args[1].tensor);
  void *dx = converts ? x->memory + s->result : ig_tensor_data(out);
  (x->op->def->variant == LOG ? ig_softmax_log_backward : ig_softmax_backward)(ig_elem_of(d), dy, y,
                                                                               dx, s->axis);
  if (converts) {
    ig_convert(ig_tensor_data(out), out->dtype, dx, d, (size_t)ig_tensor_numel(out));
  }
}

static void softmax_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_value dtype = ig_of_dtype(v->args[0].tensor->dtype);
  IG_GRAD(v, 0) = ig__softmax_backward_data(c, v->grad, v->out, v->args[1].i, dtype);
}
static void log_softmax_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_value dtype = ig_of_dtype(v->args[0].tensor->dtype);
  IG_GRAD(v, 0) = ig__log_softmax_backward_data(c, v->grad, v->out, v->args[1].i, dtype);
}

// y (g - sum(y g)): linear in g with a symmetric matrix; in y: u g - u sum(y g) - g sum(u y).
static void softmax_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *g = v->args[0].tensor;
  ig_tensor *y = v->args[1].tensor;
  ig_tensor *u = v->grad;
  ig_int dim = v->args[2].i;
  IG_GRAD(v, 0) = ig__softmax_backward_data(c, u, y, dim, ig_of_dtype(g->dtype));
  if (IG_WANTED(v, 1)) {
    ig_value dims = ig_of_ints(&dim, 1);
    ig_tensor *first = ig_sum_dim_intlist_with(c, ig_mul_tensor(c, y, g), dims, true, ig_none());
    ig_tensor *second = ig_sum_dim_intlist_with(c, ig_mul_tensor(c, y, u), dims, true, ig_none());
    ig_tensor *d = ig_mul_tensor(c, u, ig_sub_tensor(c, g, first));
    IG_GRAD(v, 1) = ig_sub_tensor(c, d, ig_mul_tensor(c, g, second));
  }
}

// g - exp(y) sum(g): in g: u - sum(u exp(y)); in y: -u exp(y) sum(g).
static void log_softmax_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *u = v->grad;
  ig_int dim = v->args[2].i;
  ig_value dims = ig_of_ints(&dim, 1);
  ig_tensor *p = ig_exp(c, v->args[1].tensor);
  ig_tensor *weighted = ig_mul_tensor(c, u, p);
  if (IG_WANTED(v, 0)) {
    ig_tensor *sum = ig_sum_dim_intlist_with(c, weighted, dims, true, ig_none());
    IG_GRAD(v, 0) = ig_sub_tensor(c, u, sum);
  }
  if (IG_WANTED(v, 1)) {
    ig_tensor *sum = ig_sum_dim_intlist_with(c, v->args[0].tensor, dims, true, ig_none());
    IG_GRAD(v, 1) = ig_neg(c, ig_mul_tensor(c, weighted, sum));
  }
}

// toType of ATen's C++, which also passes layout and device.
static ig_tensor *to_type(ig_ctx *c, ig_tensor *x, const ig_value *dtype) {
  if (dtype->kind != IG_KIND_DTYPE || dtype->dtype == x->dtype) return x;
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  return ig__to_copy_with(c, x, *dtype, layout, ig_of_device(x->device), ig_none(), false,
                          ig_none());
}

static ig_tensor *softmax_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = to_type(c, args[0].tensor, &args[2]);
  return ig__softmax(c, x, args[1].i, false);
}
static ig_tensor *log_softmax_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = to_type(c, args[0].tensor, &args[2]);
  return ig__log_softmax(c, x, args[1].i, false);
}

// Rows that are all -inf give 0.
static ig_tensor *safe_softmax_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (args[2].kind == IG_KIND_DTYPE) x = ig_cast(c, x, args[2].dtype);
  ig_tensor *out = ig_softmax_int(c, x, args[1].i);
  ig_tensor *masked = ig_eq_scalar(c, x, ig_of_f64(-INFINITY));
  ig_tensor *none = ig_all_dim_with(c, masked, args[1].i, true);
  ig_tensor *zeros = ig_zeros_like(c, out);
  return ig_where_self(c, none, zeros, out);
}

#define ROWS                                                                            \
  "f32[3,5], 1, False | f32[3,5], 0, False | f32[2,3,4], 1, False | f32[], 0, False | " \
  "f32[4,2].T, -1, False | f32[0,3], 1, False"
#define BACKWARD "f32[3,5], f32[3,5], 1, f32 | f32[2,3,4], f32[2,3,4], 1, f32"

IG_OP(_softmax) = {
    .schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .shape = softmax_shape,
    .prepare = softmax_prepare,
    .run = softmax_run,
    .vjp = softmax_vjp,
    .keep = "result",
    .lower = ig_lower_softmax,
    .samples = ROWS,
};
IG_OP(_log_softmax) = {
    .schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .shape = softmax_shape,
    .prepare = softmax_prepare,
    .run = softmax_run,
    .variant = LOG,
    .vjp = log_softmax_vjp,
    .keep = "result",
    .lower = ig_lower_log_softmax,
    .samples = ROWS,
};
IG_OP(_softmax_backward_data) = {
    .schema =
        "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
        "input_dtype) -> Tensor",
    .shape = backward_shape,
    .prepare = backward_prepare,
    .run = backward_run,
    .vjp = softmax_backward_vjp,
    .decompose = ig_lower_softmax_backward,
    .samples = BACKWARD,
};
IG_OP(_log_softmax_backward_data) = {
    .schema =
        "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
        "ScalarType input_dtype) -> Tensor",
    .shape = backward_shape,
    .prepare = backward_prepare,
    .run = backward_run,
    .variant = LOG,
    .vjp = log_softmax_backward_vjp,
    .decompose = ig_lower_log_softmax_backward,
    .samples = BACKWARD,
};
IG_OP(softmax_int) = {
    .schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = softmax_decompose,
    .samples = "f32[3,5], 1 | f32[3,5], 0, f64",
};
IG_OP(log_softmax_int) = {
    .schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = log_softmax_decompose,
    .samples = "f32[3,5], 1 | f32[3,5], 0, f64",
};
IG_OP(_safe_softmax) = {
    .schema = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .shape = softmax_shape,
    .prepare = softmax_prepare,
    .run = softmax_run,
    .decompose = safe_softmax_decompose,
    .variant = SAFE,
    .vjp = softmax_vjp,
    .keep = "result",
    .samples = "f32[3,5], 1 | f32[2,4], -1",
};
