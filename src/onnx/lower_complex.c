// SPDX-License-Identifier: Apache-2.0
// Complex numbers, which ONNX does not compute with, as pairs of real ones: a complex tensor is
// view_as_complex of a real tensor with one more axis of size 2, and every call on it becomes calls
// on the pairs. view_as_complex and view_as_real are no nodes in the file, where the values of both
// are the pairs.
#include <string.h>

#include "onnx/lower.h"
#include "op/shape.h"

// ---- pairs

static bool is_complex(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) return ig_dtype_is_complex(t->dtype);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (is_complex(&v->list.at[i])) return true;
  }
  return v->kind == IG_KIND_COMPLEX || (v->kind == IG_KIND_DTYPE && ig_dtype_is_complex(v->dtype));
}

bool ig_onnx_is_complex_call(const ig_value *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (is_complex(&args[i])) return true;
  }
  return false;
}

static ig_tensor *joined(ig_ctx *c, ig_tensor *re, ig_tensor *im) {
  ig_value both[] = {ig_of_tensor(re), ig_of_tensor(im)};
  return re && im ? ig_stack_with(c, ig_of_list(both, 2), ig_const(-1)) : NULL;
}

// The pairs of a complex tensor. Those that it was made from are found again: most tensors are made
// by one call on pairs and read by the next.
static ig_tensor *pairs_of(ig_ctx *c, ig_tensor *t) {
  const ig_node *n = t->node;
  bool made = n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP &&
              n->op->number == IG_ID_VIEW_AS_COMPLEX && n->args[0].kind == IG_KIND_NODE;
  const ig_value *from = made ? &n->args[0].node->val : NULL;
  if (from && from->kind == IG_KIND_TENSOR && from->tensor->node == n->args[0].node) {
    return from->tensor;
  }
  return ig_view_as_real(c, t);
}

static ig_tensor *part(ig_ctx *c, ig_tensor *pairs, int which) {
  return ig_select_int(c, pairs, ig_const(-1), ig_const(which));
}

static ig_value complex_of(ig_ctx *c, ig_tensor *pairs) {
  if (!pairs) return ig_none();
  // Pairs must lie together.
  if (pairs->ndim && ig_strides(pairs)[pairs->ndim - 1].value != 1) pairs = ig_clone(c, pairs);
  return ig_of_tensor(ig_view_as_complex(c, pairs));
}

// An operand: a tensor, complex or real, or a number.
typedef struct operand {
  ig_tensor *pairs;  // NULL: it is real
  ig_tensor *re;
} operand;

static ig_tensor *number(ig_ctx *c, double v, ig_dtype d) {
  ig_value none = ig_none();
  return ig_scalar_tensor_with(c, ig_of_f64(v), ig_of_dtype(d), none, none, none);
}

static operand operand_of(ig_ctx *c, const ig_value *v, ig_dtype real) {
  operand o = {0};
  if (v->kind == IG_KIND_TENSOR && is_complex(v)) {
    o.pairs = pairs_of(c, v->tensor);
  } else if (v->kind == IG_KIND_TENSOR) {
    o.re = v->tensor;
  } else if (v->kind == IG_KIND_COMPLEX) {
    ig_tensor *re = number(c, v->z.re, real);
    o.pairs = joined(c, re, number(c, v->z.im, real));
  } else {
    ig_value none = ig_none();
    o.re = ig_scalar_tensor_with(c, *v, ig_of_dtype(real), none, none, none);
  }
  return o;
}

static ig_tensor *as_pairs(ig_ctx *c, const operand *o, ig_dtype real) {
  if (o->pairs || !o->re) return o->pairs;
  ig_tensor *re =
      ig_dtype_is_float(o->re->dtype) ? o->re : ig_to_dtype(c, o->re, ig_of_dtype(real));
  return joined(c, re, ig_zeros_like(c, re));
}

// A real tensor that multiplies both parts.
static ig_tensor *spread(ig_ctx *c, ig_tensor *t) {
  return t && t->ndim ? ig_unsqueeze(c, t, ig_const(-1)) : t;
}

static ig_tensor *conjugate(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *re = part(c, pairs, 0);
  return joined(c, re, ig_neg(c, part(c, pairs, 1)));
}

static ig_tensor *square_of_abs(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *re = part(c, pairs, 0);
  ig_tensor *im = part(c, pairs, 1);
  ig_tensor *square = ig_mul_tensor(c, re, re);
  return ig_add_tensor(c, square, ig_mul_tensor(c, im, im));
}

static ig_tensor *magnitude(ig_ctx *c, ig_tensor *pairs) {
  return ig_sqrt(c, square_of_abs(c, pairs));
}

static ig_tensor *phase(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *im = part(c, pairs, 1);
  return ig_atan2(c, im, part(c, pairs, 0));
}

static ig_tensor *from_polar(ig_ctx *c, ig_tensor *length, ig_tensor *angle) {
  ig_tensor *re = ig_mul_tensor(c, length, ig_cos(c, angle));
  return joined(c, re, ig_mul_tensor(c, length, ig_sin(c, angle)));
}

typedef ig_tensor *product_fn(ig_ctx *c, ig_tensor *a, ig_tensor *b);

static ig_tensor *product(ig_ctx *c, product_fn *f, ig_tensor *a, ig_tensor *b) {
  ig_tensor *are = part(c, a, 0);
  ig_tensor *aim = part(c, a, 1);
  ig_tensor *bre = part(c, b, 0);
  ig_tensor *bim = part(c, b, 1);
  ig_tensor *re = f(c, are, bre);
  re = ig_sub_tensor(c, re, f(c, aim, bim));
  ig_tensor *im = f(c, are, bim);
  im = ig_add_tensor(c, im, f(c, aim, bre));
  return joined(c, re, im);
}

// ---- calls that treat both parts alike

// One letter per argument:
//   z  a complex tensor, or a list of them; real ones among them become pairs
//   d  a dim;  e  a dim of a result with one more
//   D  dims, none of them: all;  R  dims, none of them: all elements in a row, which has no rule
//   p  the order of all dims
//   s  sizes, which get the 2 behind them;  r  repetitions, which get a 1
//   b  borders from the last dim on, which get none
//   .  anything else, unchanged
static const struct {
  unsigned id;
  const char *args;
} alike[] = {
    {IG_ID_VIEW, "zs"},
    {IG_ID_RESHAPE, "zs"},
    {IG_ID__UNSAFE_VIEW, "zs"},
    {IG_ID_EXPAND, "zs."},
    {IG_ID_PERMUTE, "zp"},
    {IG_ID_TRANSPOSE_INT, "zdd"},
    {IG_ID_UNSQUEEZE, "ze"},
    {IG_ID_SQUEEZE_DIM, "zd"},
    {IG_ID_SQUEEZE_DIMS, "zD"},
    {IG_ID_SELECT_INT, "zd."},
    {IG_ID_SLICE_TENSOR, "zd..."},
    {IG_ID_CAT, "zd"},
    {IG_ID_STACK, "ze"},
    {IG_ID_FLIP, "zD"},
    {IG_ID_ROLL, "z.R"},
    {IG_ID_SPLIT_TENSOR, "z.d"},
    {IG_ID_SPLIT_WITH_SIZES, "z.d"},
    {IG_ID_UNBIND_INT, "zd"},
    {IG_ID_INDEX_SELECT, "zd."},
    {IG_ID_INDEX_TENSOR, "z."},
    {IG_ID_CONSTANT_PAD_ND, "zb."},
    {IG_ID_REPEAT, "zr"},
    {IG_ID_CLONE, "z."},
    {IG_ID_ALIAS, "z"},
    {IG_ID_DETACH, "z"},
    {IG_ID_LIFT_FRESH_COPY, "z"},
    {IG_ID_NEG, "z"},
    {IG_ID_SUM_DIM_INTLIST, "zD.."},
    {IG_ID_MEAN_DIM, "zD.."},
    {IG_ID_CUMSUM, "zd."},
    {IG_ID_COPY, "zz."},
    {IG_ID_SLICE_SCATTER, "zzd..."},
    {IG_ID_SELECT_SCATTER, "zzd."},
    {IG_ID_INDEX_PUT, "z.z."},
};

static ig_value wrapped(ig_ctx *c, ig_value dim, int ndim) {
  return dim.i.value < 0 && !dim.i.expr ? ig_of_i64(ig_wrap_dim(c, dim.i.value, ndim)) : dim;
}

// A list with its dims counted from the front (wrap) and one number more at its end or beginning.
static ig_value changed(ig_ctx *c, const ig_value *v, int wrap, size_t front, size_t back,
                        int64_t more) {
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : 0;
  ig_int *out = ig_scope_array(c, ig_mem_add(ig_mem_add(n, front), back), sizeof *out);
  if (!out) return ig_none();
  for (size_t i = 0; i < front; i++) out[i] = ig_const(more);
  for (size_t i = 0; i < n; i++) {
    ig_value dim = ig_of_int(v->ints.at[i]);
    out[front + i] = wrap ? wrapped(c, dim, wrap).i : dim.i;
  }
  for (size_t i = 0; i < back; i++) out[front + n + i] = ig_const(more);
  return ig_of_ints(out, n + front + back);
}

static ig_value all_dims(ig_ctx *c, int ndim) {
  ig_int *out = ig_scope_array(c, (size_t)ndim, sizeof *out);
  for (int d = 0; out && d < ndim; d++) out[d] = ig_const(d);
  return out ? ig_of_ints(out, (size_t)ndim) : ig_none();
}

static ig_value pairs_of_all(ig_ctx *c, const ig_value *v, ig_dtype real) {
  if (v->kind != IG_KIND_LIST) {
    operand one = operand_of(c, v, real);
    return ig_of_tensor(c->status == IG_OK ? as_pairs(c, &one, real) : NULL);
  }
  ig_value *out = ig_scope_array(c, v->list.n, sizeof *out);
  for (size_t i = 0; out && i < v->list.n && c->status == IG_OK; i++) {
    operand o = operand_of(c, &v->list.at[i], real);
    out[i] = ig_of_tensor(as_pairs(c, &o, real));
  }
  return out ? ig_of_list(out, v->list.n) : ig_none();
}

static const ig_tensor *first_complex(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (is_complex(&v->list.at[i])) return v->list.at[i].tensor;
  }
  return NULL;
}

static bool lower_alike(ig_ctx *c, const ig_op *op, const char *letters, const ig_value *args,
                        ig_value *outs) {
  const ig_tensor *z = first_complex(&args[0]);
  ig_value given[IG_MAX_ARGS];
  if (!z || !is_complex(&args[0])) return false;
  for (size_t i = 0; letters[i]; i++) {
    given[i] = args[i];
    bool none = args[i].kind == IG_KIND_NONE || (args[i].kind == IG_KIND_INTS && !args[i].ints.n);
    // The only dim of a tensor without dims would be that of its pair.
    if (z->ndim == 0 && strchr("dDR", letters[i])) return false;
    switch (letters[i]) {
      case 'z':
        given[i] = pairs_of_all(c, &args[i], ig_to_real(z->dtype));
        break;
      case 'd':
        given[i] = wrapped(c, args[i], z->ndim);
        break;
      case 'e':
        given[i] = wrapped(c, args[i], z->ndim + 1);
        break;
      case 'R':
        if (none) return false;
        given[i] = changed(c, &args[i], z->ndim, 0, 0, 0);
        break;
      case 'D':
        given[i] = none ? all_dims(c, z->ndim) : changed(c, &args[i], z->ndim, 0, 0, 0);
        break;
      case 'p':
        given[i] = changed(c, &args[i], z->ndim, 0, 1, z->ndim);
        break;
      case 's':
        given[i] = changed(c, &args[i], 0, 0, 1, 2);
        break;
      case 'r':
        given[i] = changed(c, &args[i], 0, 0, 1, 1);
        break;
      case 'b':
        given[i] = changed(c, &args[i], 0, 2, 0, 0);
        break;
      default:
        if (is_complex(&args[i])) return false;
    }
  }
  if (c->status != IG_OK) return true;
  ig_call(c, op, given, outs);
  if (c->status != IG_OK) return true;
  if (outs[0].kind == IG_KIND_TENSOR) {
    outs[0] = complex_of(c, outs[0].tensor);
    return true;
  }
  ig_value *list = ig_scope_array(c, outs[0].list.n, sizeof *list);
  for (size_t i = 0; list && i < outs[0].list.n; i++) {
    list[i] = complex_of(c, outs[0].list.at[i].tensor);
  }
  outs[0] = list ? ig_of_list(list, outs[0].list.n) : ig_none();
  return true;
}

// ---- arithmetic

static ig_dtype real_of(const ig_value *args, size_t n) {
  ig_dtype found = IG_F32;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_TENSOR && is_complex(&args[i])) {
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
static bool linear(ig_ctx *c, product_fn *f, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 2);
  if (args[2].kind == IG_KIND_COMPLEX) return false;
  operand a = operand_of(c, &args[0], real);
  operand b = operand_of(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *x = as_pairs(c, &a, real);
  ig_tensor *y = as_pairs(c, &b, real);
  if (!is_one(&args[2])) y = ig_mul_scalar(c, y, args[2]);
  outs[0] = complex_of(c, f(c, x, y));
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
  operand a = operand_of(c, &args[0], real);
  operand b = operand_of(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *out = a.pairs && b.pairs ? product(c, ig_mul_tensor, a.pairs, b.pairs)
                   : a.pairs          ? ig_mul_tensor(c, a.pairs, spread(c, b.re))
                                      : ig_mul_tensor(c, b.pairs, spread(c, a.re));
  outs[0] = complex_of(c, out);
  return true;
}

static ig_tensor *inverse(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *turned = conjugate(c, pairs);
  return ig_div_tensor(c, turned, spread(c, square_of_abs(c, pairs)));
}

static bool divide(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 2);
  operand a = operand_of(c, &args[0], real);
  operand b = operand_of(c, &args[1], real);
  if (c->status != IG_OK) return true;
  ig_tensor *out = NULL;
  if (!b.pairs) {
    out = ig_div_tensor(c, a.pairs, spread(c, b.re));
  } else if (a.pairs) {
    out = product(c, ig_mul_tensor, a.pairs, inverse(c, b.pairs));
  } else {
    out = inverse(c, b.pairs);
    out = ig_mul_tensor(c, out, spread(c, a.re));
  }
  outs[0] = complex_of(c, out);
  return true;
}

static bool reciprocal(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = complex_of(c, inverse(c, pairs_of(c, args[0].tensor)));
  return true;
}

static bool conjugated(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = complex_of(c, conjugate(c, pairs_of(c, args[0].tensor)));
  return true;
}

static bool same(ig_ctx *c, const ig_value *args, ig_value *outs) {
  (void)c;
  outs[0] = args[0];
  return true;
}

static bool absolute(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(magnitude(c, pairs_of(c, args[0].tensor)));
  return true;
}

static bool angle(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(phase(c, pairs_of(c, args[0].tensor)));
  return true;
}

static bool real_part(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(part(c, pairs_of(c, args[0].tensor), 0));
  return true;
}

static bool imaginary_part(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = ig_of_tensor(part(c, pairs_of(c, args[0].tensor), 1));
  return true;
}

static bool exponential(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = pairs_of(c, args[0].tensor);
  ig_tensor *length = ig_exp(c, part(c, z, 0));
  outs[0] = complex_of(c, from_polar(c, length, part(c, z, 1)));
  return true;
}

static bool logarithm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = pairs_of(c, args[0].tensor);
  ig_tensor *re = ig_log(c, magnitude(c, z));
  outs[0] = complex_of(c, joined(c, re, phase(c, z)));
  return true;
}

static ig_tensor *power_of(ig_ctx *c, ig_tensor *pairs, double exponent) {
  ig_value e = ig_of_f64(exponent);
  ig_tensor *turned = ig_mul_scalar(c, phase(c, pairs), e);
  return from_polar(c, ig_pow_tensor_scalar(c, magnitude(c, pairs), e), turned);
}

static bool root(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = complex_of(c, power_of(c, pairs_of(c, args[0].tensor), 0.5));
  return true;
}

static bool power(ig_ctx *c, const ig_value *args, ig_value *outs) {
  bool known = (args[1].kind == IG_KIND_INT && !args[1].i.expr) ||
               (args[1].kind == IG_KIND_FLOAT && !args[1].f_expr);
  if (!known || !is_complex(&args[0])) return false;
  double e = args[1].kind == IG_KIND_INT ? (double)args[1].i.value : args[1].f;
  ig_tensor *z = pairs_of(c, args[0].tensor);
  ig_tensor *out = e == 2 ? product(c, ig_mul_tensor, z, z) : power_of(c, z, e);
  outs[0] = complex_of(c, out);
  return true;
}

// z / |z|, and 0 where z is.
static bool sign(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = pairs_of(c, args[0].tensor);
  ig_tensor *length = magnitude(c, z);
  ig_tensor *zero = ig_eq_scalar(c, length, ig_of_i64(0));
  length = ig_masked_fill_scalar(c, length, zero, ig_of_i64(1));
  outs[0] = complex_of(c, ig_div_tensor(c, z, spread(c, length)));
  return true;
}

static bool polar(ig_ctx *c, const ig_value *args, ig_value *outs) {
  outs[0] = complex_of(c, from_polar(c, args[0].tensor, args[1].tensor));
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
  outs[0] = complex_of(c, joined(c, re, im));
  return true;
}

static bool both_complex(const ig_value *args, size_t first) {
  return is_complex(&args[first]) && is_complex(&args[first + 1]);
}

static bool matrix_product(ig_ctx *c, const ig_value *args, ig_value *outs, product_fn *f) {
  if (!both_complex(args, 0)) return false;
  ig_tensor *a = pairs_of(c, args[0].tensor);
  outs[0] = complex_of(c, product(c, f, a, pairs_of(c, args[1].tensor)));
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
  if (!is_complex(&args[0]) || !both_complex(args, 1) || !is_one(&args[3]) || !is_one(&args[4])) {
    return false;
  }
  ig_tensor *a = pairs_of(c, args[1].tensor);
  ig_tensor *out = product(c, ig_matmul, a, pairs_of(c, args[2].tensor));
  outs[0] = complex_of(c, ig_add_tensor(c, pairs_of(c, args[0].tensor), out));
  return true;
}

// self, dtype, ...
static bool convert(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype to = args[1].kind == IG_KIND_DTYPE ? args[1].dtype : args[0].tensor->dtype;
  ig_dtype real = ig_to_real(to);
  operand o = operand_of(c, &args[0], real);
  if (c->status != IG_OK) return true;
  if (!ig_dtype_is_complex(to)) {
    outs[0] = ig_of_tensor(ig_to_dtype(c, part(c, o.pairs, 0), ig_of_dtype(to)));
  } else if (o.pairs) {
    outs[0] = complex_of(
        c, o.pairs->dtype == real ? o.pairs : ig_to_dtype(c, o.pairs, ig_of_dtype(real)));
  } else {
    operand converted = {.re = ig_to_dtype(c, o.re, ig_of_dtype(real))};
    outs[0] = complex_of(c, as_pairs(c, &converted, real));
  }
  return true;
}

static ig_value filled(ig_ctx *c, ig_value size, const ig_value *with, ig_dtype real) {
  ig_value none = ig_none();
  ig_value re = with->kind == IG_KIND_COMPLEX ? ig_of_f64(with->z.re) : *with;
  ig_value im = ig_of_f64(with->kind == IG_KIND_COMPLEX ? with->z.im : 0);
  ig_tensor *a = ig_full_with(c, size, re, ig_of_dtype(real), none, none, none);
  ig_tensor *b = ig_full_with(c, size, im, ig_of_dtype(real), none, none, none);
  return complex_of(c, joined(c, a, b));
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
  operand o = operand_of(c, &args[0], real);
  if (c->status == IG_OK) outs[0] = complex_of(c, as_pairs(c, &o, real));
  return true;
}

// condition, self, other
static bool where(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_dtype real = real_of(args, 3);
  operand a = operand_of(c, &args[1], real);
  operand b = operand_of(c, &args[2], real);
  if (c->status != IG_OK) return true;
  ig_tensor *x = as_pairs(c, &a, real);
  ig_tensor *y = as_pairs(c, &b, real);
  outs[0] = complex_of(c, ig_where_self(c, spread(c, args[0].tensor), x, y));
  return true;
}

static ig_tensor *compared(ig_ctx *c, const ig_value *args) {
  ig_dtype real = real_of(args, 2);
  operand a = operand_of(c, &args[0], real);
  operand b = operand_of(c, &args[1], real);
  if (c->status != IG_OK) return NULL;
  ig_tensor *x = as_pairs(c, &a, real);
  return ig_all_dim(c, ig_eq_tensor(c, x, as_pairs(c, &b, real)), ig_const(-1));
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
  ig_tensor *z = pairs_of(c, args[0].tensor);
  if (t->ndim) z = ig_sum_dim_intlist(c, z, all_dims(c, t->ndim));
  outs[0] = complex_of(c, z);
  return true;
}

static bool mean(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  ig_tensor *z = pairs_of(c, args[0].tensor);
  if (t->ndim) z = ig_mean_dim(c, z, all_dims(c, t->ndim));
  outs[0] = complex_of(c, z);
  return true;
}

// self, ord, dim, keepdim, dtype
static bool norm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *lengths = magnitude(c, pairs_of(c, args[0].tensor));
  outs[0] =
      ig_of_tensor(ig_linalg_vector_norm_with(c, lengths, args[1], args[2], args[3].b, ig_none()));
  return true;
}

// self, dimension, size, step: the windows become the last dim, behind the pairs.
static bool windows(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (args[0].tensor->ndim == 0) return false;
  ig_tensor *z = pairs_of(c, args[0].tensor);
  ig_value dim = wrapped(c, args[1], args[0].tensor->ndim);
  ig_tensor *out = ig_unfold(c, z, dim.i, args[2].i, args[3].i);
  outs[0] = complex_of(c, ig_transpose_int(c, out, ig_const(-1), ig_const(-2)));
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
  const char *letters;  // of a call that treats both parts alike
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
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    if (alike[i].id == op->number) return (ig_complex_rule){.letters = alike[i].args};
  }
  return (ig_complex_rule){0};
}

bool ig_onnx_has_complex_rule(const ig_op *op, const ig_value *args) {
  ig_complex_rule r = find_rule(op, args);
  return r.fn || r.letters || r.fft;
}

bool ig_onnx_lower_complex(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_complex_rule r = find_rule(op, args);
  if (r.fft) return ig_onnx_lower_fft(c, op, args, outs);
  if (r.letters) return lower_alike(c, op, r.letters, args, outs);
  return r.fn && r.fn(c, args, outs);
}
