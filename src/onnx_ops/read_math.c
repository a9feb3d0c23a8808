// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: arithmetic, comparison, logic, bits, activations.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"

typedef ig_tensor *unary_fn(ig_ctx *c, ig_tensor *x);
typedef ig_tensor *binary_fn(ig_ctx *c, ig_tensor *a, ig_tensor *b);

static bool is_wide(ig_dtype d) {
  return d == IG_U16 || d == IG_U32 || d == IG_U64;
}

static void unary(ig_rd *r, unary_fn *fn) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  ig_dtype d = x->dtype;
  x = fn(r->c, is_wide(d) ? ig_cast(r->c, x, IG_I64) : x);
  ig_rd_out_like(r, 0, is_wide(d) ? ig_cast(r->c, x, d) : x, 0);
}

// Results of comparisons and tests are bool.
static void test(ig_rd *r, unary_fn *fn) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_out(r, 0, x ? fn(r->c, x) : NULL);
}

static ig_tensor *pair(ig_rd *r, binary_fn *fn, ig_tensor *a, ig_tensor *b) {
  if (!a || !b) return NULL;
  ig_dtype d = a->dtype;
  if (!is_wide(d)) return fn(r->c, a, b);
  a = ig_cast(r->c, a, IG_I64);
  b = ig_cast(r->c, b, IG_I64);
  return ig_cast(r->c, fn(r->c, a, b), d);
}

// The larger or smaller of two.
static ig_tensor *extreme(ig_rd *r, binary_fn *fn, ig_tensor *a, ig_tensor *b) {
  if (!a || !b) return NULL;
  ig_dtype d = a->dtype;
  a = ig_rd_ordered(r, a);
  b = ig_rd_ordered(r, b);
  return ig_rd_unordered(r, fn(r->c, a, b), d);
}

// Before opset 7 the second operand was aligned with a given axis of the first.
static ig_tensor *second(ig_rd *r, ig_tensor *a) {
  ig_tensor *b = ig_rd_in(r, 1);
  if (!a || !b || r->version >= 7 || r->node->domain[0]) return b;
  const ig_om_attr *axis = ig_rd_attr(r, "axis");
  if (!axis || axis->type != IG_OM_ATTR_INT) return b;
  int at = ig_rd_axis(r, axis->i, a->ndim);
  for (int d = at + b->ndim; d < a->ndim && b; d++) b = ig_rd_unsqueeze(r, b, b->ndim);
  return b;
}

static void binary(ig_rd *r, binary_fn *fn) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = second(r, a);
  ig_rd_out_like(r, 0, pair(r, fn, a, b), 0);
}

static void compare(ig_rd *r, binary_fn *fn) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = second(r, a);
  a = ig_rd_ordered(r, a);
  b = ig_rd_ordered(r, b);
  ig_rd_out(r, 0, a && b ? fn(r->c, a, b) : NULL);
}

#define UNARY(name, fn)        \
  static void name(ig_rd *r) { \
    unary(r, fn);              \
  }
UNARY(read_neg, ig_neg)
UNARY(read_ceil, ig_ceil)
UNARY(read_floor, ig_floor)
UNARY(read_round, ig_round)
UNARY(read_sqrt, ig_sqrt)
UNARY(read_exp, ig_exp)
UNARY(read_log, ig_log)
UNARY(read_reciprocal, ig_reciprocal)
UNARY(read_erf, ig_erf)
UNARY(read_sin, ig_sin)
UNARY(read_cos, ig_cos)
UNARY(read_tan, ig_tan)
UNARY(read_asin, ig_asin)
UNARY(read_acos, ig_acos)
UNARY(read_atan, ig_atan)
UNARY(read_sinh, ig_sinh)
UNARY(read_cosh, ig_cosh)
UNARY(read_tanh, ig_tanh)
UNARY(read_asinh, ig_asinh)
UNARY(read_acosh, ig_acosh)
UNARY(read_atanh, ig_atanh)
UNARY(read_relu, ig_relu)
UNARY(read_sigmoid, ig_sigmoid)
UNARY(read_hardswish, ig_hardswish)
UNARY(read_mish, ig_mish)
UNARY(read_bitwise_not, ig_bitwise_not)

// Unsigned numbers: abs is the identity, and sign is 1 unless it is 0.
static void read_abs(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_out_like(r, 0, x && !is_wide(x->dtype) ? ig_abs(r->c, x) : x, 0);
}
static void read_sign(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  ig_dtype d = x->dtype;
  x = is_wide(d) ? ig_cast(r->c, x, IG_BOOL) : ig_sign(r->c, x);
  ig_rd_out_like(r, 0, ig_cast(r->c, x, d), 0);
}

#define BINARY(name, kind, fn) \
  static void name(ig_rd *r) { \
    kind(r, fn);               \
  }
BINARY(read_add, binary, ig_add_tensor)
BINARY(read_sub, binary, ig_sub_tensor)
BINARY(read_mul, binary, ig_mul_tensor)
BINARY(read_bitwise_and, binary, ig_bitwise_and_tensor)
BINARY(read_bitwise_or, binary, ig_bitwise_or_tensor)
BINARY(read_bitwise_xor, binary, ig_bitwise_xor_tensor)
BINARY(read_and, compare, ig_logical_and)
BINARY(read_or, compare, ig_logical_or)
BINARY(read_xor, compare, ig_logical_xor)
BINARY(read_less, compare, ig_lt_tensor)
BINARY(read_less_equal, compare, ig_le_tensor)
BINARY(read_greater, compare, ig_gt_tensor)
BINARY(read_greater_equal, compare, ig_ge_tensor)
BINARY(read_not, test, ig_logical_not)
BINARY(read_isnan, test, ig_isnan)

static void read_div(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = second(r, a);
  ig_rd_out_like(r, 0, ig_rd_div(r, a, b), 0);
}

// Where elements of a and b meet is told by their broadcast numbers.
static void equal_strings(ig_rd *r) {
  const ig_rd_value *a = r->in[0];
  const ig_rd_value *b = ig_rd_val(r, 1);
  if (!b || b->kind != IG_RD_STRINGS) {
    ig_rd_fail(r, IG_BAD_TYPE, "compares strings with something else");
    return;
  }
  ig_mode_scope mode = ig_mode_push_capture(r->c, NULL);  // strings are real
  ig_tensor *mine = ig_rd_places(r, a, 0);
  ig_tensor *other = ig_rd_places(r, b, 0);
  ig_tensor *zero = ig_rd_muln(r, other, 0);
  ig_tensor *x = ig_rd_add(r, mine, zero);
  zero = ig_rd_muln(r, mine, 0);
  ig_tensor *y = ig_rd_add(r, other, zero);
  const int64_t *i = x ? ig_rd_bytes(r, x, IG_I64) : NULL;
  const int64_t *k = y ? ig_rd_bytes(r, y, IG_I64) : NULL;
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; i && k && d < x->ndim; d++)
    dims[d] = ig_sizes(x)[d].value;  // concrete: has bytes
  ig_tensor *out = i && k ? ig_rd_real(r, IG_BOOL, dims, x->ndim) : NULL;
  bool *at = out ? ig_tensor_data(out) : NULL;
  for (int64_t n = 0; at && n < ig_tensor_numel(out); n++) {
    ig_bytes s = a->strings[i[n]];
    ig_bytes t = b->strings[k[n]];
    at[n] = s.n == t.n && (s.n == 0 || memcmp(s.at, t.at, s.n) == 0);
  }
  ig_mode_pop(r->c, &mode);
  if (out) ig_rd_out(r, 0, out);
}

static void read_equal(ig_rd *r) {
  const ig_rd_value *a = ig_rd_val(r, 0);
  if (a && a->kind == IG_RD_STRINGS) {
    equal_strings(r);
  } else {
    compare(r, ig_eq_tensor);
  }
}

// The result has the type of the base, whatever the exponent is.
static void read_pow(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *y = second(r, x);
  if (!x || !y) return;
  ig_dtype d = x->dtype;
  bool whole = !ig_dtype_is_float(d);
  if (whole && ig_dtype_is_float(y->dtype)) {
    x = ig_cast(r->c, x, IG_F64);
    y = ig_cast(r->c, y, IG_F64);
  } else if (whole) {
    x = ig_cast(r->c, x, IG_I64);
    y = ig_cast(r->c, y, IG_I64);
  } else {
    y = ig_cast(r->c, y, d);
  }
  x = x && y ? ig_pow_tensor_tensor(r->c, x, y) : NULL;
  ig_rd_out(r, 0, ig_cast(r->c, x, d));
}

static void read_mod(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = second(r, a);
  if (a && b && a->dtype == IG_U64) {
    ig_rd_out(r, 0, ig_rd_sub(r, a, ig_rd_mul(r, ig_rd_div(r, a, b), b)));
  } else if (ig_rd_attr_int(r, "fmod", 0)) {
    binary(r, ig_fmod_tensor);
  } else {
    binary(r, ig_remainder_tensor);
  }
}

static void read_bit_shift(ig_rd *r) {
  const char *direction = ig_rd_attr_text(r, "direction", "");
  if (strcmp(direction, "LEFT") == 0) {
    binary(r, ig_bitwise_left_shift_tensor);
  } else if (strcmp(direction, "RIGHT") == 0) {
    ig_tensor *a = ig_rd_in(r, 0);
    ig_rd_out(r, 0, ig_rd_shift_right(r, a, second(r, a)));
  } else {
    ig_rd_fail(r, IG_INVALID, "attribute 'direction': found '%s', expected LEFT or RIGHT",
               direction);
  }
}

static ig_tensor *fold(ig_rd *r, binary_fn *fn) {
  ig_tensor *out = ig_rd_in(r, 0);
  for (size_t i = 1; i < r->nin && out; i++) out = pair(r, fn, out, ig_rd_in(r, i));
  return out;
}
static void read_sum(ig_rd *r) {
  ig_rd_out(r, 0, fold(r, ig_add_tensor));
}
static void fold_extreme(ig_rd *r, binary_fn *fn) {
  ig_tensor *out = ig_rd_in(r, 0);
  for (size_t i = 1; i < r->nin && out; i++) out = extreme(r, fn, out, ig_rd_in(r, i));
  ig_rd_out(r, 0, out);
}
static void read_max(ig_rd *r) {
  fold_extreme(r, ig_maximum);
}
static void read_min(ig_rd *r) {
  fold_extreme(r, ig_minimum);
}
static void read_mean(ig_rd *r) {
  ig_tensor *sum = fold(r, ig_add_tensor);
  ig_rd_out(r, 0, ig_rd_muln(r, sum, 1.0 / (double)r->nin));
}

static void clip_to(ig_rd *r, ig_tensor *low, ig_tensor *high) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (low) x = extreme(r, ig_maximum, x, low);
  if (high) x = extreme(r, ig_minimum, x, high);
  ig_rd_out(r, 0, x);
}
static void read_clip_1(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  double low = ig_rd_attr_float(r, "min", -3.402823466e+38);
  double high = ig_rd_attr_float(r, "max", 3.402823466e+38);
  ig_rd_out(r, 0, ig_clamp_with(r->c, x, ig_of_f64(low), ig_of_f64(high)));
}
// A bound that is known now, as a number; none: there is no such bound. False: it is computed, or
// is no ordinary number.
static bool known_bound(ig_rd *r, size_t i, ig_value *out) {
  *out = ig_none();
  if (!ig_rd_has(r, i)) return true;
  const ig_tensor *t = ig_rd_opt(r, i);
  bool known = t && !ig_tensor_is_fake(t) && (t->dtype == IG_F32 || t->dtype == IG_F64);
  if (!known || ig_tensor_numel(t) != 1) return false;
  *out = ig_of_f64(ig_rd_one_float(r, i));
  return !isnan(out->f);
}

static void read_clip(ig_rd *r) {
  ig_value bounds[2];
  if (known_bound(r, 1, &bounds[0]) && known_bound(r, 2, &bounds[1])) {
    ig_tensor *x = ig_rd_in(r, 0);
    bool any = bounds[0].kind != IG_KIND_NONE || bounds[1].kind != IG_KIND_NONE;
    if (x && any) x = ig_clamp_with(r->c, x, bounds[0], bounds[1]);
    ig_rd_out(r, 0, x);
    return;
  }
  ig_tensor *low = ig_rd_opt(r, 1);
  clip_to(r, low, ig_rd_opt(r, 2));
}

static void read_where(ig_rd *r) {
  ig_tensor *cond = ig_rd_in(r, 0);
  ig_tensor *a = ig_rd_in(r, 1);
  ig_tensor *b = ig_rd_in(r, 2);
  ig_rd_out_like(r, 0, cond && a && b ? ig_where_self(r->c, cond, a, b) : NULL, 1);
}

static void read_isinf(ig_rd *r) {
  bool negative = ig_rd_attr_int(r, "detect_negative", 1);
  bool positive = ig_rd_attr_int(r, "detect_positive", 1);
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  if (x->dtype == IG_F8E4M3FN || x->dtype == IG_F8E5M2) x = ig_cast(r->c, x, IG_F32);
  ig_tensor *out = ig_isinf(r->c, x);
  if (!negative) out = ig_logical_and(r->c, out, ig_gt_scalar(r->c, x, ig_of_i64(0)));
  if (!positive) out = ig_logical_and(r->c, out, ig_lt_scalar(r->c, x, ig_of_i64(0)));
  ig_rd_out(r, 0, out);
}

// ---- activations

static void read_leaky_relu(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  double alpha = ig_rd_attr_float(r, "alpha", 0.01);
  ig_rd_out(r, 0, x ? ig_leaky_relu_with(r->c, x, ig_of_f64(alpha)) : NULL);
}

static void read_prelu(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *slope = ig_rd_in(r, 1);
  if (!x || !slope) return;
  // Before opset 7 a slope per channel belonged to dimension 1.
  if (r->version < 7 && slope->ndim == 1 && x->ndim > 1) slope = ig_rd_along(r, slope, 1, x->ndim);
  ig_tensor *scaled = ig_rd_mul(r, x, slope);
  ig_tensor *negative = ig_lt_scalar(r->c, x, ig_of_i64(0));
  ig_rd_out(r, 0, negative && scaled ? ig_where_self(r->c, negative, scaled, x) : NULL);
}

static void elu(ig_rd *r, double alpha, double scale) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  ig_rd_out(r, 0, ig_elu_with(r->c, x, ig_of_f64(alpha), ig_of_f64(scale), ig_of_i64(1)));
}
static void read_elu(ig_rd *r) {
  elu(r, ig_rd_attr_float(r, "alpha", 1), 1);
}
static void read_selu(ig_rd *r) {
  double alpha = ig_rd_attr_float(r, "alpha", 1.67326319217681884765625);
  elu(r, alpha, ig_rd_attr_float(r, "gamma", 1.05070102214813232421875));
}
static void read_celu(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  double alpha = ig_rd_attr_float(r, "alpha", 1);
  ig_rd_out(r, 0, x ? ig_celu_with(r->c, x, ig_of_f64(alpha)) : NULL);
}

static void read_hard_sigmoid(ig_rd *r) {
  ig_tensor *x = ig_rd_muln(r, ig_rd_in(r, 0), ig_rd_attr_float(r, "alpha", 0.2));
  x = ig_rd_addn(r, x, ig_rd_attr_float(r, "beta", 0.5));
  ig_rd_out(r, 0, x ? ig_clamp_with(r->c, x, ig_of_i64(0), ig_of_i64(1)) : NULL);
}

static void read_softplus(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_out(r, 0, x ? ig_softplus(r->c, x) : NULL);
}

static void read_softsign(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *d = x ? ig_rd_addn(r, ig_abs(r->c, x), 1) : NULL;
  ig_rd_out(r, 0, ig_rd_div(r, x, d));
}

static void read_thresholded_relu(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  double alpha = ig_rd_attr_float(r, "alpha", 1);
  ig_tensor *above = ig_gt_scalar(r->c, x, ig_of_f64(alpha));
  ig_rd_out(r, 0, above ? ig_where_scalarother(r->c, above, x, ig_of_f64(0)) : NULL);
}

static void read_shrink(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  double lambd = ig_rd_attr_float(r, "lambd", 0.5);
  double bias = ig_rd_attr_float(r, "bias", 0);
  ig_tensor *low = ig_lt_scalar(r->c, x, ig_of_f64(-lambd));
  ig_tensor *high = ig_gt_scalar(r->c, x, ig_of_f64(lambd));
  ig_value none = ig_of_i64(0);
  ig_tensor *up = ig_cast(r->c, ig_rd_addn(r, x, bias), x->dtype);
  ig_tensor *down = ig_cast(r->c, ig_rd_addn(r, x, -bias), x->dtype);
  if (!low || !high || !up || !down) return;
  ig_tensor *upper = ig_where_scalarother(r->c, high, down, none);
  ig_rd_out(r, 0, upper ? ig_where_self(r->c, low, up, upper) : NULL);
}

static void read_gelu(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  const char *approximate = ig_rd_attr_text(r, "approximate", "none");
  ig_rd_out(r, 0, x ? ig_gelu_with(r->c, x, ig_of_str(approximate)) : NULL);
}

static ig_tensor *swish(ig_rd *r, ig_tensor *x) {
  double alpha = ig_rd_attr_float(r, "alpha", 1);
  ig_tensor *gate = alpha == 1 ? x : ig_rd_muln(r, x, alpha);
  return gate ? ig_rd_mul(r, x, ig_sigmoid(r->c, gate)) : NULL;
}
static void read_swish(ig_rd *r) {
  ig_rd_out(r, 0, swish(r, ig_rd_in(r, 0)));
}
static void read_swiglu(ig_rd *r) {
  ig_tensor *a = swish(r, ig_rd_in(r, 0));
  ig_rd_out(r, 0, ig_rd_mul(r, a, ig_rd_in(r, 1)));
}

const ig_rd_row ig_rd_rows_math[] = {
    {"Abs", 1, read_abs},
    {"Neg", 1, read_neg},
    {"Sign", 9, read_sign},
    {"Ceil", 1, read_ceil},
    {"Floor", 1, read_floor},
    {"Round", 11, read_round},
    {"Sqrt", 1, read_sqrt},
    {"Exp", 1, read_exp},
    {"Log", 1, read_log},
    {"Reciprocal", 1, read_reciprocal},
    {"Erf", 9, read_erf},
    {"Sin", 7, read_sin},
    {"Cos", 7, read_cos},
    {"Tan", 7, read_tan},
    {"Asin", 7, read_asin},
    {"Acos", 7, read_acos},
    {"Atan", 7, read_atan},
    {"Sinh", 9, read_sinh},
    {"Cosh", 9, read_cosh},
    {"Tanh", 1, read_tanh},
    {"Asinh", 9, read_asinh},
    {"Acosh", 9, read_acosh},
    {"Atanh", 9, read_atanh},
    {"Relu", 1, read_relu},
    {"Sigmoid", 1, read_sigmoid},
    {"HardSwish", 14, read_hardswish},
    {"Mish", 18, read_mish},
    {"BitwiseNot", 18, read_bitwise_not},
    {"Add", 1, read_add},
    {"Sub", 1, read_sub},
    {"Mul", 1, read_mul},
    {"Div", 1, read_div},
    {"Pow", 1, read_pow},
    {"Mod", 10, read_mod},
    {"BitwiseAnd", 18, read_bitwise_and},
    {"BitwiseOr", 18, read_bitwise_or},
    {"BitwiseXor", 18, read_bitwise_xor},
    {"BitShift", 11, read_bit_shift},
    {"And", 1, read_and},
    {"Or", 1, read_or},
    {"Xor", 1, read_xor},
    {"Not", 1, read_not},
    {"Equal", 1, read_equal},
    {"Less", 1, read_less},
    {"LessOrEqual", 12, read_less_equal},
    {"Greater", 1, read_greater},
    {"GreaterOrEqual", 12, read_greater_equal},
    {"IsNaN", 9, read_isnan},
    {"IsInf", 10, read_isinf},
    {"Sum", 1, read_sum},
    {"Max", 1, read_max},
    {"Min", 1, read_min},
    {"Mean", 1, read_mean},
    {"Clip", 1, read_clip_1},
    {"Clip", 11, read_clip},
    {"Where", 9, read_where},
    {"LeakyRelu", 1, read_leaky_relu},
    {"PRelu", 1, read_prelu},
    {"Elu", 1, read_elu},
    {"Selu", 1, read_selu},
    {"Celu", 12, read_celu},
    {"HardSigmoid", 1, read_hard_sigmoid},
    {"Softplus", 1, read_softplus},
    {"Softsign", 1, read_softsign},
    {"ThresholdedRelu", 10, read_thresholded_relu},
    {"Shrink", 9, read_shrink},
    {"Gelu", 20, read_gelu},
    {"Swish", 24, read_swish},
    {"SwiGLU", 28, read_swiglu},
    {NULL, 0, NULL},
};
