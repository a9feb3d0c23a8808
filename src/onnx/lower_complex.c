// SPDX-License-Identifier: Apache-2.0
// Rules for calls on complex numbers: arithmetic, products of matrices, factories, comparisons, as
// formulas over pairs of real numbers.
#include "onnx/lower.h"
#include "onnx/pairs.h"
#include "op/shape.h"

static ig_dtype real_of(const ig_value *args, size_t n) {
  ig_dtype found = IG_F32;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_TENSOR && ig_pairs_is_complex(&args[i])) {
      found = ig_to_real(args[i].tensor->dtype);
    }
  }
  return found;
}

static bool is_one(const ig_value *v) {
  return (v->kind == IG_KIND_INT && !v->i.expr && v->i.value == 1) ||
         (v->kind == IG_KIND_FLOAT && !v->f_expr && v->f == 1);
}

// self, other, alpha
static bool linear(ig_ctx *c, ig_pairs_product_fn *f, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 2);
  if (args[2].kind == IG_KIND_COMPLEX) return false;
  ig_complex_operand a = ig_pairs_operand(c, &args[0], real);
  ig_complex_operand b = ig_pairs_operand(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *x = ig_operand_pairs(c, &a, real);
  ig_tensor *y = ig_operand_pairs(c, &b, real);
  if (!is_one(&args[2])) y = ig_mul_scalar(c, y, args[2]);
  outs[0] = ig_pairs_complex(c, f(c, x, y));
  return true;
}

static bool add(ig_ctx *c, const ig_value *args, ig_value *outs) {
  return linear(c, ig_add_tensor, args, outs);
}

static bool sub(ig_ctx *c, const ig_value *args, ig_value *outs) {
  return linear(c, ig_sub_tensor, args, outs);
}

static bool mul(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 2);
  ig_complex_operand a = ig_pairs_operand(c, &args[0], real);
  ig_complex_operand b = ig_pairs_operand(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *out = a.pairs && b.pairs ? ig_pairs_product(c, ig_mul_tensor, a.pairs, b.pairs)
                   : a.pairs          ? ig_mul_tensor(c, a.pairs, ig_pairs_spread(c, b.re))
                                      : ig_mul_tensor(c, b.pairs, ig_pairs_spread(c, a.re));
  outs[0] = ig_pairs_complex(c, out);
  return true;
}

static ig_tensor *inverse(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *turned = ig_pairs_conjugate(c, pairs);
  return ig_div_tensor(c, turned, ig_pairs_spread(c, ig_pairs_square_of_abs(c, pairs)));
}

static bool divide(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 2);
  ig_complex_operand a = ig_pairs_operand(c, &args[0], real);
  ig_complex_operand b = ig_pairs_operand(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *out = NULL;
  if (!b.pairs) {
    out = ig_div_tensor(c, a.pairs, ig_pairs_spread(c, b.re));
  } else if (a.pairs) {
    out = ig_pairs_product(c, ig_mul_tensor, a.pairs, inverse(c, b.pairs));
  } else {
    out = inverse(c, b.pairs);
    out = ig_mul_tensor(c, out, ig_pairs_spread(c, a.re));
  }
  outs[0] = ig_pairs_complex(c, out);
  return true;
}

static bool reciprocal(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_pairs_complex(c, inverse(c, ig_pairs_of(c, args[0].tensor)));
  return true;
}

static bool conjugated(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_pairs_complex(c, ig_pairs_conjugate(c, ig_pairs_of(c, args[0].tensor)));
  return true;
}

static bool same(ig_ctx *c, const ig_value *args, ig_value *outs) {
  (void)c;
  outs[0] = args[0];
  return true;
}

static bool absolute(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(ig_pairs_abs(c, ig_pairs_of(c, args[0].tensor)));
  return true;
}

static bool angle(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(ig_pairs_angle(c, ig_pairs_of(c, args[0].tensor)));
  return true;
}

static bool real_part(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(ig_pairs_part(c, ig_pairs_of(c, args[0].tensor), 0));
  return true;
}

static bool imaginary_part(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(ig_pairs_part(c, ig_pairs_of(c, args[0].tensor), 1));
  return true;
}

static bool exponential(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  ig_tensor *length = ig_exp(c, ig_pairs_part(c, z, 0));
  outs[0] = ig_pairs_complex(c, ig_pairs_from_polar(c, length, ig_pairs_part(c, z, 1)));
  return true;
}

static bool logarithm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  ig_tensor *re = ig_log(c, ig_pairs_abs(c, z));
  outs[0] = ig_pairs_complex(c, ig_pairs_join(c, re, ig_pairs_angle(c, z)));
  return true;
}

static ig_tensor *power_of(ig_ctx *c, ig_tensor *pairs, double exponent) {
  ig_value e = ig_of_f64(exponent);
  ig_tensor *turned = ig_mul_scalar(c, ig_pairs_angle(c, pairs), e);
  return ig_pairs_from_polar(c, ig_pow_tensor_scalar(c, ig_pairs_abs(c, pairs), e), turned);
}

static bool root(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_pairs_complex(c, power_of(c, ig_pairs_of(c, args[0].tensor), 0.5));
  return true;
}

static bool power(ig_ctx *c, const ig_value *args, ig_value *outs) {
  bool known = (args[1].kind == IG_KIND_INT && !args[1].i.expr) ||
               (args[1].kind == IG_KIND_FLOAT && !args[1].f_expr);
  if (!known || !ig_pairs_is_complex(&args[0])) return false;
  double e = args[1].kind == IG_KIND_INT ? (double)args[1].i.value : args[1].f;
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  ig_tensor *out = e == 2 ? ig_pairs_product(c, ig_mul_tensor, z, z) : power_of(c, z, e);
  outs[0] = ig_pairs_complex(c, out);
  return true;
}

// z / |z|, and 0 where z is.
static bool sign(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  ig_tensor *length = ig_pairs_abs(c, z);
  ig_tensor *zero = ig_eq_scalar(c, length, ig_of_i64(0));
  length = ig_masked_fill_scalar(c, length, zero, ig_of_i64(1));
  outs[0] = ig_pairs_complex(c, ig_div_tensor(c, z, ig_pairs_spread(c, length)));
  return true;
}

static bool polar(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_pairs_complex(c, ig_pairs_from_polar(c, args[0].tensor, args[1].tensor));
  return true;
}

// Both parts may have to be broadcast.
static bool from_parts(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *re = args[0].tensor;
  ig_tensor *im = args[1].tensor;
  if (!ig_onnx_same_sizes(re, im)) {
    re = ig_add_tensor(c, re, ig_zeros_like(c, args[1].tensor));
    im = ig_add_tensor(c, im, ig_zeros_like(c, args[0].tensor));
  }
  outs[0] = ig_pairs_complex(c, ig_pairs_join(c, re, im));
  return true;
}

static bool both_complex(const ig_value *args, size_t first) {
  return ig_pairs_is_complex(&args[first]) && ig_pairs_is_complex(&args[first + 1]);
}

static bool matrix_product(ig_ctx *c, const ig_value *args, ig_value *outs,
                           ig_pairs_product_fn *f) {
  if (!both_complex(args, 0)) return false;
  ig_tensor *a = ig_pairs_of(c, args[0].tensor);
  outs[0] = ig_pairs_complex(c, ig_pairs_product(c, f, a, ig_pairs_of(c, args[1].tensor)));
  return true;
}

static bool mm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  return matrix_product(c, args, outs, ig_mm);
}

static bool bmm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  return matrix_product(c, args, outs, ig_bmm);
}

static bool matmul(ig_ctx *c, const ig_value *args, ig_value *outs) {
  return matrix_product(c, args, outs, ig_matmul);
}

// self, mat1, mat2, beta, alpha
static bool addmm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (!ig_pairs_is_complex(&args[0]) || !both_complex(args, 1) || !is_one(&args[3]) ||
      !is_one(&args[4])) {
    return false;
  }
  ig_tensor *a = ig_pairs_of(c, args[1].tensor);
  ig_tensor *out = ig_pairs_product(c, ig_matmul, a, ig_pairs_of(c, args[2].tensor));
  outs[0] = ig_pairs_complex(c, ig_add_tensor(c, ig_pairs_of(c, args[0].tensor), out));
  return true;
}

// self, dtype, ...
static bool convert(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype to = args[1].kind == IG_KIND_DTYPE ? args[1].dtype : args[0].tensor->dtype;
  ig_dtype real = ig_to_real(to);
  ig_complex_operand o = ig_pairs_operand(c, &args[0], real);
  if (c->status != IG_OK) return true;
  if (!ig_dtype_is_complex(to)) {
    outs[0] = ig_of_tensor(ig_to_dtype(c, ig_pairs_part(c, o.pairs, 0), ig_of_dtype(to)));
  } else if (o.pairs) {
    outs[0] = ig_pairs_complex(
        c, o.pairs->dtype == real ? o.pairs : ig_to_dtype(c, o.pairs, ig_of_dtype(real)));
  } else {
    ig_complex_operand converted = {.re = ig_to_dtype(c, o.re, ig_of_dtype(real))};
    outs[0] = ig_pairs_complex(c, ig_operand_pairs(c, &converted, real));
  }
  return true;
}

static ig_value filled(ig_ctx *c, ig_value size, const ig_value *with, ig_dtype real) {
  ig_value none = ig_none();
  ig_value re = with->kind == IG_KIND_COMPLEX ? ig_of_f64(with->z.re) : *with;
  ig_value im = ig_of_f64(with->kind == IG_KIND_COMPLEX ? with->z.im : 0);
  ig_tensor *a = ig_full_with(c, size, re, ig_of_dtype(real), none, none, none);
  ig_tensor *b = ig_full_with(c, size, im, ig_of_dtype(real), none, none, none);
  return ig_pairs_complex(c, ig_pairs_join(c, a, b));
}

// size, fill_value, dtype
static bool full(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = args[2].kind == IG_KIND_DTYPE ? ig_to_real(args[2].dtype) : IG_F32;
  outs[0] = filled(c, args[0], &args[1], real);
  return true;
}

// self, fill_value, dtype
static bool full_like(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  ig_dtype to = args[2].kind == IG_KIND_DTYPE ? args[2].dtype : t->dtype;
  if (!ig_dtype_is_complex(to)) return false;
  outs[0] = filled(c, ig_of_ints(ig_sizes(t), (size_t)t->ndim), &args[1], ig_to_real(to));
  return true;
}

// s, dtype
static bool scalar(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = args[1].kind == IG_KIND_DTYPE ? ig_to_real(args[1].dtype) : IG_F32;
  ig_complex_operand o = ig_pairs_operand(c, &args[0], real);
  if (c->status == IG_OK) outs[0] = ig_pairs_complex(c, ig_operand_pairs(c, &o, real));
  return true;
}

// condition, self, other
static bool where(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 3);
  ig_complex_operand a = ig_pairs_operand(c, &args[1], real);
  ig_complex_operand b = ig_pairs_operand(c, &args[2], real);
  if (c->status != IG_OK) return true;
  ig_tensor *x = ig_operand_pairs(c, &a, real);
  ig_tensor *y = ig_operand_pairs(c, &b, real);
  outs[0] = ig_pairs_complex(c, ig_where_self(c, ig_pairs_spread(c, args[0].tensor), x, y));
  return true;
}

static ig_tensor *compared(ig_ctx *c, const ig_value *args) {
  ig_dtype real = real_of(args, 2);
  ig_complex_operand a = ig_pairs_operand(c, &args[0], real);
  ig_complex_operand b = ig_pairs_operand(c, &args[1], real);
  if (c->status != IG_OK) return NULL;
  ig_tensor *x = ig_operand_pairs(c, &a, real);
  return ig_all_dim(c, ig_eq_tensor(c, x, ig_operand_pairs(c, &b, real)), ig_const(-1));
}

static bool equal(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(compared(c, args));
  return true;
}

static bool unequal(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *same_value = compared(c, args);
  outs[0] = ig_of_tensor(same_value ? ig_logical_not(c, same_value) : NULL);
  return true;
}

// self, ...: over all elements
static bool sum(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  if (t->ndim) z = ig_sum_dim_intlist(c, z, ig_onnx_all_dims(c, t->ndim));
  outs[0] = ig_pairs_complex(c, z);
  return true;
}

static bool mean(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  if (t->ndim) z = ig_mean_dim(c, z, ig_onnx_all_dims(c, t->ndim));
  outs[0] = ig_pairs_complex(c, z);
  return true;
}

// self, ord, dim, keepdim, dtype
static bool norm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *lengths = ig_pairs_abs(c, ig_pairs_of(c, args[0].tensor));
  outs[0] =
      ig_of_tensor(ig_linalg_vector_norm_with(c, lengths, args[1], args[2], args[3].b, ig_none()));
  return true;
}

// self, dimension, size, step: the windows become the last dim, behind the pairs.
static bool windows(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (args[0].tensor->ndim == 0) return false;
  ig_tensor *z = ig_pairs_of(c, args[0].tensor);
  ig_value dim = ig_onnx_wrapped_dim(c, args[1], args[0].tensor->ndim);
  ig_tensor *out = ig_unfold(c, z, dim.i, args[2].i, args[3].i);
  outs[0] = ig_pairs_complex(c, ig_transpose_int(c, out, ig_const(-1), ig_const(-2)));
  return true;
}

static const struct {
  unsigned id;
  bool (*fn)(ig_ctx *c, const ig_value *args, ig_value *outs);
} rules[] = {
    {IG_ID_ADD_TENSOR, add},
    {IG_ID_ADD_SCALAR, add},
    {IG_ID_SUB_TENSOR, sub},
    {IG_ID_SUB_SCALAR, sub},
    {IG_ID_MUL_TENSOR, mul},
    {IG_ID_MUL_SCALAR, mul},
    {IG_ID_DIV_TENSOR, divide},
    {IG_ID_DIV_SCALAR, divide},
    {IG_ID_RECIPROCAL, reciprocal},
    {IG_ID__CONJ, conjugated},
    {IG_ID_CONJ, conjugated},
    {IG_ID_CONJ_PHYSICAL, conjugated},
    {IG_ID__CONJ_PHYSICAL, conjugated},
    {IG_ID_RESOLVE_CONJ, same},
    {IG_ID_ABS, absolute},
    {IG_ID_ANGLE, angle},
    {IG_ID_REAL, real_part},
    {IG_ID_IMAG, imaginary_part},
    {IG_ID_EXP, exponential},
    {IG_ID_LOG, logarithm},
    {IG_ID_SQRT, root},
    {IG_ID_POW_TENSOR_SCALAR, power},
    {IG_ID_SGN, sign},
    {IG_ID_MM, mm},
    {IG_ID_BMM, bmm},
    {IG_ID_MATMUL, matmul},
    {IG_ID_ADDMM, addmm},
    {IG_ID_BADDBMM, addmm},
    {IG_ID__TO_COPY, convert},
    {IG_ID_FULL, full},
    {IG_ID_FULL_LIKE, full_like},
    {IG_ID_SCALAR_TENSOR, scalar},
    {IG_ID_WHERE_SELF, where},
    {IG_ID_EQ_TENSOR, equal},
    {IG_ID_NE_TENSOR, unequal},
    {IG_ID_SUM, sum},
    {IG_ID_MEAN, mean},
    {IG_ID_LINALG_VECTOR_NORM, norm},
    {IG_ID_UNFOLD, windows},
};

typedef struct ig_complex_rule {
  bool (*fn)(ig_ctx *c, const ig_value *args, ig_value *outs);
  bool alike;  // both parts are treated alike
  bool fft;
} ig_complex_rule;

static ig_complex_rule find_rule(const ig_op *op, const ig_value *args) {
  if (op->number == IG_ID_POLAR) return (ig_complex_rule){.fn = polar};
  if (op->number == IG_ID_COMPLEX) return (ig_complex_rule){.fn = from_parts};
  if (ig_onnx_is_fft(op)) return (ig_complex_rule){.fft = true};
  if (!ig_onnx_is_complex_call(args, op->schema.nargs)) return (ig_complex_rule){0};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].id == op->number) return (ig_complex_rule){.fn = rules[i].fn};
  }
  return (ig_complex_rule){.alike = ig_onnx_is_alike(op)};
}

bool ig_onnx_has_complex_rule(const ig_op *op, const ig_value *args) {
  ig_complex_rule r = find_rule(op, args);
  return r.fn || r.alike || r.fft;
}

bool ig_onnx_lower_complex(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_complex_rule r = find_rule(op, args);
  if (r.fft) return ig_onnx_lower_fft(c, op, args, outs);
  if (r.alike) return ig_onnx_lower_alike(c, op, args, outs);
  return r.fn && r.fn(c, args, outs);
}
