// SPDX-License-Identifier: Apache-2.0
// Draws of the gamma distribution (Marsaglia and Tsang 2000) and, from them, of Dirichlet's; in the
// order of PyTorch's calls of the generator.
#include <math.h>

#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

// A number as PyTorch keeps it between the steps: concentrations stay floats if they were.
static double kept(double x, bool single) {
  return single ? (double)(float)x : x;
}

static double draw_gamma(double alpha, bool single, ig_generator *g) {
  double scale = 1;
  if (alpha < 1) {  // rejection is rare only from 1 on
    if (alpha == 0) return 0;
    scale = pow(1 - ig_random_f64(g), kept(1 / alpha, single));
    alpha = kept(alpha + 1, single);
  }
  double d = kept(alpha - (double)(1.0F / 3.0F), single);
  double c = 1 / sqrt(9 * d);
  for (;;) {
    double x;
    double y;
    do {
      x = ig_random_normal(g);
      y = 1 + c * x;
    } while (y <= 0);
    double v = y * y * y;
    double u = 1 - ig_random_f64(g);
    double xx = x * x;
    if (u < 1 - (double)0.0331f * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v)))
      return scale * d * v;
  }
}

static void draws_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  if (x->dtype != IG_F32 && x->dtype != IG_F64) {
    ig_refuse_dtype(c, op->def->vjp ? "gamma_cpu" : "dirichlet", x->dtype);
    return;
  }
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
}

// The draws of every element in double precision, in the innermost scope. Numbers that no rejection
// ends for (NaN, infinite or negative concentrations) are refused.
static double *draws_of(ig_ctx *c, const ig_value *args, bool single) {
  const ig_value *last = &args[1];
  ig_generator *g = last->kind == IG_KIND_GENERATOR ? last->generator : ig_generator_default(c);
  double *x = ig_dense_read(c, args[0].tensor, IG_F64);
  int64_t n = ig_tensor_numel(args[0].tensor);
  for (int64_t i = 0; x && g && i < n; i++) {
    if (!(x[i] >= 0) || isinf(x[i])) {
      ig_fail_text(c, IG_RUNTIME, "gamma: expected a finite concentration >= 0, got %g", x[i]);
      return NULL;
    }
    x[i] = draw_gamma(x[i], single, g);
  }
  return g ? x : NULL;
}
static double smallest(ig_dtype d) {
  return d == IG_F32 ? 0x1p-126 : 0x1p-1022;
}

static void gamma_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  double *x = draws_of(c, args, args[0].tensor->dtype == IG_F32);
  int64_t n = ig_tensor_numel(outs[0].tensor);
  double least = smallest(outs[0].tensor->dtype);
  for (int64_t i = 0; x && i < n; i++) x[i] = fmax(x[i], least);
  if (x) ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_scope_close(c, scope);
}

static void dirichlet_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *out = outs[0].tensor;
  double *x = draws_of(c, args, false);
  int64_t n = ig_tensor_numel(out);
  int64_t row = out->ndim ? ig_sizes(out)[out->ndim - 1].value : 1;  // concrete: a kernel's operand
  double least = smallest(out->dtype);
  double most = out->dtype == IG_F32 ? 1 - 0x1p-24 : 1 - 0x1p-53;
  for (int64_t start = 0; x && row && start < n; start += row) {
    double sum = 0;
    for (int64_t i = start; i < start + row; i++) sum += x[i];
    for (int64_t i = start; i < start + row; i++) {
      double part = x[i] / sum;
      if (out->dtype == IG_F32) part = (double)(float)part;
      x[i] = fmin(most, fmax(least, part));
    }
  }
  if (x) ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_scope_close(c, scope);
}

static void gamma_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *slope = ig__standard_gamma_grad(c, v->args[0].tensor, v->out);
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}

IG_OP(_standard_gamma) = {
    .schema = "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    .shape = draws_shape,
    .kernel = gamma_kernel,
    .vjp = gamma_vjp,
    .keep = "self, result",
    .random = true,
    .samples = "f32[2,3]:+ | f64[4,2].T:+",
};
IG_OP(_sample_dirichlet) = {
    .schema = "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    .shape = draws_shape,
    .kernel = dirichlet_kernel,
    .random = true,
    .samples = "f32[2,3]:+ | f64[4,2].T:+",
};
