// SPDX-License-Identifier: Apache-2.0
// Windows of signal processing, symmetric or periodic.
#include <math.h>
#include <string.h>
#include "op/formula.h"
#include "op/shape.h"
#include "ops/dense.h"

// ---- windows: window_length, [periodic, alpha, beta], then the options ----
enum { BARTLETT, BLACKMAN, HANN, HAMMING, KAISER };
static size_t options_at(const ig_op *op) {
  size_t i = 0;
  while (i < op->schema.nargs && strcmp(op->schema.args[i].name, "dtype") != 0) i++;
  return i;
}
static void window_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int64_t n = ig_value_i64(c, &args[0]);
  ig_meta_options(c, args, options_at(op), ig_ctx_default_dtype(c), out);
  if (c->status != IG_OK) return;
  if (!ig_dtype_is_float(out->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "%s expects floating point dtypes, got: Tensor of dtype %s",
                 op->schema.name, ig_dtype_text(out->dtype));
    return;
  }
  if (n < 0) {
    ig_fail_text(c, IG_RUNTIME, "%s requires non-negative window_length, got window_length=%lld",
                 op->schema.name, (long long)n);
    return;
  }
  ig_meta_push_dim(c, out, ig_const(n));
}
static double bessel0(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 500 && term > sum * 1e-17; k++) {
    term *= x * x / (4.0 * k * k);
    sum += term;
  }
  return sum;
}
static double window_value(int how, double t, double a, double b) {
  const double turn = 2 * 3.14159265358979323846 * t;
  switch (how) {
    case BARTLETT:
      return 1 - fabs(2 * t - 1);
    case BLACKMAN:
      return 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
    case HANN:
      return 0.5 - 0.5 * cos(turn);
    case HAMMING:
      return a - b * cos(turn);
    default: {
      double r = 2 * t - 1;
      return bessel0(a * sqrt(fmax(0, 1 - r * r))) / bessel0(a);
    }
  }
}
static void window_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  size_t more = options_at(op);
  int64_t n = ig_value_i64(c, &args[0]);
  bool periodic = more > 1 ? args[1].b : true;
  int how = op->def->variant;
  double a = more > 2 ? ig_value_f64(&args[2]) : how == KAISER ? 12 : 0.54;
  double b = more > 3 ? ig_value_f64(&args[3]) : 0.46;
  ig_scope s = ig_scope_open(c);
  double *w = ig_dense_room(c, (size_t)n, IG_F64);
  double span = (double)(periodic ? n : n - 1);
  for (int64_t i = 0; w && i < n; i++) {
    w[i] = n == 1 ? 1 : window_value(how, (double)i / span, a, b);
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, w);
  ig_scope_close(c, s);
}

#define WINDOW(how) .shape = window_shape, .kernel = window_kernel, .variant = (how)

IG_OP(bartlett_window) = {
    .schema =
        "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(BARTLETT),
    .samples = "5 | 1",
    .not_differentiable = true,  // no operands
};
IG_OP(bartlett_window_periodic) = {
    .schema =
        "aten::bartlett_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(BARTLETT),
    .samples = "4, False, dtype=f64",
    .not_differentiable = true,  // no operands
};
IG_OP(blackman_window) = {
    .schema =
        "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(BLACKMAN),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(blackman_window_periodic) = {
    .schema =
        "aten::blackman_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(BLACKMAN),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hann_window) = {
    .schema =
        "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HANN),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(hann_window_periodic) = {
    .schema =
        "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
        "-> Tensor",
    WINDOW(HANN),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window) = {
    .schema =
        "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic) = {
    .schema =
        "aten::hamming_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic_alpha) = {
    .schema =
        "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float "
        "alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, False, 0.5",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic_alpha_beta) = {
    .schema =
        "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, "
        "float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, True, 0.5, 0.4",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window) = {
    .schema =
        "aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(KAISER),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window_periodic) = {
    .schema =
        "aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
        "-> Tensor",
    WINDOW(KAISER),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window_beta) = {
    .schema =
        "aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(KAISER),
    .samples = "5, False, 8.",
    .not_differentiable = true,  // no operands
};
