// SPDX-License-Identifier: Apache-2.0
// Dropout: elements are kept by chance and scaled so that the mean stays.
#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"
#include "tensor/copy.h"

static bool trains(const ig_value *train) {
  return train->kind == IG_KIND_NONE || train->b;
}

// The mask scales, which integers cannot.
static bool can_drop(ig_ctx *c, ig_dtype d) {
  if (ig_dtype_is_float(d) || ig_dtype_is_complex(d)) return true;
  ig_fail_text(c, IG_RUNTIME, "result type %s can't be cast to the desired output type %s",
               ig_dtype_title(ig_ctx_default_dtype(c)), ig_dtype_title(d));
  return false;
}

static void native_dropout_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (trains(&args[2]) && !can_drop(c, args[0].tensor->dtype)) return;
  ig_shape_copy(c, op, args, &out[0]);
  ig_shape_copy(c, op, args, &out[1]);
  out[1].dtype = IG_BOOL;
}

static bool check_keep(ig_ctx *c, double p) {
  if (p >= 0 && p <= 1) return true;
  ig_fail_text(c, IG_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
  return false;
}

static void native_dropout_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  ig_tensor *mask = outs[1].tensor;
  double keep = 1.0 - ig_value_f64(&args[1]);
  double scale = keep == 0 ? 0 : 1 / keep;
  if (ig_tensor_numel(out) == 0) return;
  ig_tensor_copy(out, args[0].tensor);
  if (!trains(&args[2])) {
    ig_value yes = ig_of_bool(true);
    ig_tensor_fill(mask, &yes);
    return;
  }
  ig_generator *g = ig_generator_default(c);
  if (!g || !check_keep(c, keep)) return;
  ig_random_bernoulli(ig_draws_of(c), g, mask, keep);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *t = ig_mul_tensor(c, out, mask);
  t = ig_mul_f64(c, t, scale);
  if (t) ig_tensor_copy(out, t);
  ig_scope_close(c, scope);
  ig_mode_pop(c, &mode);
}

static void native_dropout_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  double p = ig_value_f64(&v->args[1]);
  bool train = v->args[2].kind == IG_KIND_BOOL && v->args[2].b;
  double scale = !train ? 1 : p == 1 ? 0 : 1 / (1 - p);
  IG_GRAD(v, 0) = ig_native_dropout_backward(c, v->grads[0], v->outs[1].tensor, scale);
}

static ig_tensor *native_dropout_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  ig_tensor *mask = ig_cast(c, args[1].tensor, grad->dtype);
  mask = ig_mul_f64(c, mask, ig_value_f64(&args[2]));
  return ig_mul_tensor(c, grad, mask);
}

static ig_tensor *dropout_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *input = args[0].tensor;
  double p = ig_value_f64(&args[1]);
  if (!(p >= 0 && p <= 1)) {
    ig_fail_text(c, IG_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    return NULL;
  }
  if (p == 0 || !args[2].b || ig_int_eq_i64(c, ig_numel_of(c, input), 0)) return input;
  if (p == 1) return ig_mul_tensor(c, input, ig_zeros_like(c, input));
  if (!can_drop(c, input->dtype)) return NULL;
  ig_tensor *noise = ig_empty_like(c, input);
  noise = ig_bernoulli_p(c, noise, 1 - p);
  noise = ig_div_f64(c, noise, 1 - p);
  return ig_mul_tensor(c, input, noise);
}

static bool is_empty(const ig_tensor *t) {
  for (int i = 0; i < t->ndim; i++) {
    if (!ig_sizes(t)[i].expr && ig_sizes(t)[i].value == 0) return true;  // concrete: no query
  }
  return false;
}

// In programs the mask is a result, and what is kept whole is a copy.
static ig_tensor *dropout_lower(ig_ctx *c, const ig_value *args) {
  double p = ig_value_f64(&args[1]);
  if (!args[2].b || p == 0 || is_empty(args[0].tensor)) return ig_clone(c, args[0].tensor);
  ig_value outs[IG_MAX_RETURNS];
  ig_native_dropout(c, args[0].tensor, p, args[2], outs);
  return ig_value_tensor(&outs[0]);
}

IG_OP(native_dropout) = {
    .schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    .shape = native_dropout_shape,
    .kernel = native_dropout_kernel,
    .vjp = native_dropout_vjp,
    .diff_results = 1,
    .keep = "result1",
    .random = true,
    .samples = "f32[2,3], 0.5, True | f32[2,3], 0.5, False | f32[3], 1., True",
};

IG_OP(native_dropout_backward) = {
    .schema =
        "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    .decompose = native_dropout_backward_decompose,
    .samples = "f32[2,3], bool[2,3], 2.",
};

IG_OP(dropout) = {
    .schema = "aten::dropout(Tensor input, float p, bool train) -> Tensor",
    .decompose = dropout_decompose,
    .lower = dropout_lower,
    .random = true,
    .samples = "f32[2,3], 0.5, True | f32[2,3], 0.5, False | f32[2,3], 0., True | f32[3], 1., True",
};
