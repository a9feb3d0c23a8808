// SPDX-License-Identifier: Apache-2.0
// Samples of distributions, one double per element whatever the dtype: exponential, Cauchy,
// log-normal, geometric.
#include <math.h>

#include "op/call.h"
#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"

static double draw_cauchy(ig_generator *g, double median, double sigma) {
  return median + sigma * tan(3.14159265358979323846 * (ig_random_f64(g) - 0.5));
}
static double draw_log_normal(ig_generator *g, double mean, double std) {
  return exp(ig_random_normal(g) * std + mean);
}
// The trials up to the first success.
static double draw_geometric(ig_generator *g, double p, double unused) {
  (void)unused;
  return ceil(log(ig_random_f64(g)) / log1p(-p));
}

// NULL: out of memory, or the tensor cannot be written.
static ig_generator *generator_for(ig_ctx *c, const ig_op *op, const ig_value *args,
                                   const ig_tensor *t) {
  const ig_value *last = &args[op->schema.nargs - 1];
  ig_generator *g = last->kind == IG_KIND_GENERATOR ? last->generator : ig_generator_default(c);
  return g && ig_check_writable(c, t) ? g : NULL;
}

static void draws(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t, ig_draw_fn *fn,
                  double a, double b) {
  ig_generator *g = generator_for(c, op, args, t);
  if (g) ig_random_draws(g, t, fn, a, b);
}

static void exponential_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  double rate = ig_value_f64(&args[1]);
  if (!(rate > 0)) {
    ig_fail_text(c, IG_RUNTIME, "exponential_ expects lambda > 0.0, but found lambda=%g", rate);
  } else if (!ig_dtype_is_float(outs[0].tensor->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Exponential distribution is a continuous probability distribution. dtype must be "
                 "a floating point but you specified %s",
                 ig_dtype_title(outs[0].tensor->dtype));
  } else {
    ig_generator *g = generator_for(c, op, args, outs[0].tensor);
    if (g) ig_random_exponential(ig_draws_of(c), g, outs[0].tensor, rate);
  }
}
static void cauchy_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  double sigma = ig_value_f64(&args[2]);
  if (!(sigma > 0)) {
    ig_fail_text(c, IG_RUNTIME, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
  } else if (!ig_dtype_is_float(outs[0].tensor->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Cauchy distribution is a continuous probability distribution. dtype must be a "
                 "floating point but you specified %s",
                 ig_dtype_title(outs[0].tensor->dtype));
  } else {
    draws(c, op, args, outs[0].tensor, draw_cauchy, ig_value_f64(&args[1]), sigma);
  }
}
static void log_normal_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  double std = ig_value_f64(&args[2]);
  if (!(std > 0)) {
    ig_fail_text(c, IG_RUNTIME, "log_normal_ expects std > 0.0, but found std=%g", std);
  } else if (!ig_dtype_is_float(outs[0].tensor->dtype)) {
    ig_refuse_dtype(c, "log_normal_cpu", outs[0].tensor->dtype);
  } else {
    draws(c, op, args, outs[0].tensor, draw_log_normal, ig_value_f64(&args[1]), std);
  }
}
static void geometric_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  double p = ig_value_f64(&args[1]);
  ig_dtype dtype = outs[0].tensor->dtype;
  if (!(p > 0 && p < 1)) {
    ig_fail_text(c, IG_RUNTIME, "geometric_ expects p to be in (0, 1), but got p=%g", p);
  } else if (dtype == IG_BOOL || ig_dtype_is_complex(dtype)) {
    ig_refuse_dtype(c, "geometric_cpu", dtype);
  } else {
    draws(c, op, args, outs[0].tensor, draw_geometric, p, 0);
  }
}

// The samples are no function of self.
static void zero_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
}

IG_OP(exponential) = {
    .schema =
        "aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = exponential_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3] | f32[4], 0.5",
};
IG_OP(cauchy) = {
    .schema =
        "aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) "
        "-> Tensor",
    .shape = ig_shape_copy,
    .kernel = cauchy_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3] | f32[4], 0.5, 2.",
};
IG_OP(log_normal) = {
    .schema =
        "aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) "
        "-> Tensor",
    .shape = ig_shape_copy,
    .kernel = log_normal_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3] | f32[4], 0.5, 2.",
};
IG_OP(geometric) = {
    .schema = "aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = geometric_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3], 0.5 | i64[4], 0.25",
};
