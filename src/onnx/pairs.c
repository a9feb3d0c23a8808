// SPDX-License-Identifier: Apache-2.0
#include "onnx/pairs.h"

#include "onnx/lower.h"

bool ig_pairs_is_complex(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) return ig_dtype_is_complex(t->dtype);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (ig_pairs_is_complex(&v->list.at[i])) return true;
  }
  return v->kind == IG_KIND_COMPLEX || (v->kind == IG_KIND_DTYPE && ig_dtype_is_complex(v->dtype));
}

bool ig_onnx_is_complex_call(const ig_value *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (ig_pairs_is_complex(&args[i])) return true;
  }
  return false;
}

ig_tensor *ig_pairs_join(ig_ctx *c, ig_tensor *re, ig_tensor *im) {
  ig_value both[] = {ig_of_tensor(re), ig_of_tensor(im)};
  return re && im ? ig_stack_with(c, ig_of_list(both, 2), ig_const(-1)) : NULL;
}

// Most tensors are made by one call on pairs and read by the next: the pairs are found again.
ig_tensor *ig_pairs_of(ig_ctx *c, ig_tensor *t) {
  const ig_node *n = t->node;
  bool made = n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP &&
              n->op->number == IG_ID_VIEW_AS_COMPLEX && n->args[0].kind == IG_KIND_NODE;
  const ig_value *from = made ? &n->args[0].node->val : NULL;
  if (from && from->kind == IG_KIND_TENSOR && from->tensor->node == n->args[0].node) {
    return from->tensor;
  }
  return ig_view_as_real(c, t);
}

ig_tensor *ig_pairs_part(ig_ctx *c, ig_tensor *pairs, int which) {
  return ig_select_int(c, pairs, ig_const(-1), ig_const(which));
}

ig_value ig_pairs_complex(ig_ctx *c, ig_tensor *pairs) {
  if (!pairs) return ig_none();
  // Pairs must lie together.
  if (pairs->ndim && ig_strides(pairs)[pairs->ndim - 1].value != 1) pairs = ig_clone(c, pairs);
  return ig_of_tensor(ig_view_as_complex(c, pairs));
}

static ig_tensor *number(ig_ctx *c, double v, ig_dtype d) {
  ig_value none = ig_none();
  return ig_scalar_tensor_with(c, ig_of_f64(v), ig_of_dtype(d), none, none, none);
}

ig_complex_operand ig_pairs_operand(ig_ctx *c, const ig_value *v, ig_dtype real) {
  ig_complex_operand o = {0};
  if (v->kind == IG_KIND_TENSOR && ig_pairs_is_complex(v)) {
    o.pairs = ig_pairs_of(c, v->tensor);
  } else if (v->kind == IG_KIND_TENSOR) {
    o.re = v->tensor;
  } else if (v->kind == IG_KIND_COMPLEX) {
    ig_tensor *re = number(c, v->z.re, real);
    o.pairs = ig_pairs_join(c, re, number(c, v->z.im, real));
  } else {
    ig_value none = ig_none();
    o.re = ig_scalar_tensor_with(c, *v, ig_of_dtype(real), none, none, none);
  }
  return o;
}

ig_tensor *ig_operand_pairs(ig_ctx *c, const ig_complex_operand *o, ig_dtype real) {
  if (o->pairs || !o->re) return o->pairs;
  ig_tensor *re =
      ig_dtype_is_float(o->re->dtype) ? o->re : ig_to_dtype(c, o->re, ig_of_dtype(real));
  return ig_pairs_join(c, re, ig_zeros_like(c, re));
}

ig_tensor *ig_pairs_spread(ig_ctx *c, ig_tensor *t) {
  return t && t->ndim ? ig_unsqueeze(c, t, ig_const(-1)) : t;
}

ig_tensor *ig_pairs_conjugate(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *re = ig_pairs_part(c, pairs, 0);
  return ig_pairs_join(c, re, ig_neg(c, ig_pairs_part(c, pairs, 1)));
}

ig_tensor *ig_pairs_square_of_abs(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *re = ig_pairs_part(c, pairs, 0);
  ig_tensor *im = ig_pairs_part(c, pairs, 1);
  ig_tensor *square = ig_mul_tensor(c, re, re);
  return ig_add_tensor(c, square, ig_mul_tensor(c, im, im));
}

ig_tensor *ig_pairs_abs(ig_ctx *c, ig_tensor *pairs) {
  return ig_sqrt(c, ig_pairs_square_of_abs(c, pairs));
}

ig_tensor *ig_pairs_angle(ig_ctx *c, ig_tensor *pairs) {
  ig_tensor *im = ig_pairs_part(c, pairs, 1);
  return ig_atan2(c, im, ig_pairs_part(c, pairs, 0));
}

ig_tensor *ig_pairs_from_polar(ig_ctx *c, ig_tensor *length, ig_tensor *angle) {
  ig_tensor *re = ig_mul_tensor(c, length, ig_cos(c, angle));
  return ig_pairs_join(c, re, ig_mul_tensor(c, length, ig_sin(c, angle)));
}

ig_tensor *ig_pairs_product(ig_ctx *c, ig_pairs_product_fn *f, ig_tensor *a, ig_tensor *b) {
  ig_tensor *are = ig_pairs_part(c, a, 0);
  ig_tensor *aim = ig_pairs_part(c, a, 1);
  ig_tensor *bre = ig_pairs_part(c, b, 0);
  ig_tensor *bim = ig_pairs_part(c, b, 1);
  ig_tensor *re = f(c, are, bre);
  re = ig_sub_tensor(c, re, f(c, aim, bim));
  ig_tensor *im = f(c, are, bim);
  im = ig_add_tensor(c, im, f(c, aim, bre));
  return ig_pairs_join(c, re, im);
}
