// SPDX-License-Identifier: Apache-2.0
// Random counts: the Poisson and binomial distributions, drawn from the generator as in PyTorch:
// multiplication and inversion for small expected counts, transformed rejection (Hormann 1993) for
// large ones.
#include <math.h>

#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

static ig_generator *generator_of(ig_ctx *c, const ig_value *v) {
  return v->kind == IG_KIND_GENERATOR ? v->generator : ig_generator_default(c);
}

static double draw_poisson(double mean, ig_generator *g) {
  if (mean == 0) return 0;
  if (mean < 10) {
    double least = exp(-mean);
    double product = 1;
    for (int64_t count = 0;; count++) {
      product *= ig_random_f64(g);
      if (!(product > least)) return (double)count;
    }
  }
  double b = 0.931 + 2.53 * sqrt(mean);
  double a = -0.059 + 0.02483 * b;
  double inverse = 1.1239 + 1.1328 / (b - 3.4);
  double sure = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = ig_random_f64(g) - 0.5;
    double v = ig_random_f64(g);
    double edge = 0.5 - fabs(u);
    double k = floor((2 * a / edge + b) * u + mean + 0.43);
    if (edge >= 0.07 && v <= sure) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    double limit = -mean + k * log(mean) - lgamma(k + 1);
    if (log(v) + log(inverse) - log(a / (edge * edge) + b) <= limit) return k;
  }
}

// The error of Stirling's formula for log(k!).
static double stirling_rest(double k) {
  static const double small[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                 0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                 0.00833056343336287};
  if (k <= 9) return small[(int)k];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}
static double draw_few(double count, double p, ig_generator *g) {
  double sum = 0;
  double rate = log1p(-p);
  for (double k = 0;; k++) {
    sum += ceil(log(ig_random_f64(g)) / rate);
    if (sum > count) return k;
  }
}
static double draw_many(double count, double p, ig_generator *g) {
  double spread = sqrt(count * p * (1 - p));
  double b = 1.15 + 2.53 * spread;
  double a = -0.0873 + 0.0248 * b + 0.01 * p;
  double middle = count * p + 0.5;
  double sure = 0.92 - 4.2 / b;
  double odds = p / (1 - p);
  double alpha = (2.83 + 5.1 / b) * spread;
  double m = floor((count + 1) * p);
  for (;;) {
    double u = ig_random_f64(g) - 0.5;
    double v = ig_random_f64(g);
    double edge = 0.5 - fabs(u);
    double k = floor((2 * a / edge + b) * u + middle);
    if (edge >= 0.07 && v <= sure) return k;
    if (k < 0 || k > count) continue;
    v = log(v * alpha / (a / (edge * edge) + b));
    double limit = (m + 0.5) * log((m + 1) / (odds * (count - m + 1))) +
                   (count + 1) * log((count - m + 1) / (count - k + 1)) +
                   (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                   stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= limit) return k;
  }
}
static double draw_binomial(double count, double p, ig_generator *g) {
  if (!(count > 0) || p <= 0) return 0;
  if (p >= 1) return count;
  if (isnan(p)) return NAN;
  double q = p <= 0.5 ? p : 1 - p;
  double k = count * q >= 10 ? draw_many(count, q, g) : draw_few(count, q, g);
  return p <= 0.5 ? k : count - k;
}

static void poisson_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  if (!ig_check_float(c, "poisson_cpu", x->dtype)) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
}
static void poisson_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  int64_t n = ig_tensor_numel(outs[0].tensor);
  double *x = ig_dense_read(c, args[0].tensor, IG_F64);
  ig_generator *g = generator_of(c, &args[1]);
  for (int64_t i = 0; x && g && i < n; i++) {
    if (!(x[i] >= 0)) {
      ig_fail_text(c, IG_RUNTIME, "invalid Poisson rate, expected rate to be non-negative");
      break;
    }
    x[i] = draw_poisson(x[i], g);
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_scope_close(c, scope);
}
static void zeros_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
  if (v->op->def->variant) {
    IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
  }
}
static void binomial_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_dtype d = args[0].tensor->dtype;
  if (d != args[1].tensor->dtype || (d != IG_F32 && d != IG_F64)) {
    ig_fail_text(c, IG_RUNTIME,
                 "binomial only supports floating-point dtypes for count and prob, and the same "
                 "for both; got %s and %s",
                 ig_dtype_title(d), ig_dtype_title(args[1].tensor->dtype));
    return;
  }
  ig_broadcast(c, args, 2, out);
}
static void binomial_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  ig_value size = ig_sizes_of(outs[0].tensor);
  int64_t n = ig_tensor_numel(outs[0].tensor);
  ig_tensor *count = ig_expand(c, ig_tensor_alias(c, args[0].tensor), size);
  ig_tensor *p = ig_expand(c, ig_tensor_alias(c, args[1].tensor), size);
  ig_generator *g = generator_of(c, &args[2]);
  double *x = count ? ig_dense_read(c, count, IG_F64) : NULL;
  const double *chance = p ? ig_dense_read(c, p, IG_F64) : NULL;
  for (int64_t i = 0; x && chance && g && i < n; i++) {
    if (isnan(x[i]) || isinf(x[i]) || x[i] < 0) {
      ig_fail_text(c, IG_RUNTIME, "binomial: count %g is not a number of trials", x[i]);
      break;
    }
    x[i] = draw_binomial(x[i], chance[i], g);
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_scope_close(c, scope);
}

IG_OP(poisson) = {
    .schema = "aten::poisson(Tensor self, Generator? generator=None) -> Tensor",
    .shape = poisson_shape,
    .kernel = poisson_kernel,
    .vjp = zeros_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3]:+ | f32[4,2].T:+",
};
IG_OP(binomial) = {
    .schema = "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    .shape = binomial_shape,
    .kernel = binomial_kernel,
    .variant = 1,
    .random = true,
    .samples = "f32[2,3]:+, f32[2,3]:u | f32[2,3]:+, f32[3]:u",
};
