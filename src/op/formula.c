// SPDX-License-Identifier: Apache-2.0
#include "op/formula.h"

#include "op/record.h"

bool ig_value_is_number(const ig_value *v) {
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL ||
         v->kind == IG_KIND_COMPLEX;
}

double ig_value_f64(const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_FLOAT:
      return v->f;
    case IG_KIND_BOOL:
      return v->b;
    case IG_KIND_INT:
      return (double)v->i.value;
    case IG_KIND_COMPLEX:
      return v->z.re;
    default:
      return 0;
  }
}

bool ig_value_is(const ig_value *v, double x) {
  if (!ig_value_is_number(v) || (v->kind == IG_KIND_COMPLEX && v->z.im != 0)) return false;
  bool symbolic = (v->kind == IG_KIND_INT && v->i.expr) || (v->kind == IG_KIND_FLOAT && v->f_expr);
  return !symbolic && ig_value_f64(v) == x;
}

ig_tensor *ig_value_tensor(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
}

bool ig_unwatched(const ig_ctx *c, const ig_value *args, size_t n) {
  if (c->mode->capture || c->mode->fake || c->mode->rewrite || c->mode->autocasts) return false;
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *t = ig_value_tensor(&args[i]);
    bool graded = t && t->requires_grad && !c->mode->no_grad && !c->mode->inference;
    if (graded || (t && (ig_is_fake(t) || t->device.type != IG_DEVICE_CPU))) return false;
  }
  return true;
}

static ig_tensor *binary(ig_ctx *c, unsigned id, ig_tensor *x, const ig_value *v) {
  return x ? ig_call_id(c, id, (ig_value[]){ig_of_tensor(x), *v}, 2) : NULL;
}

ig_tensor *ig_add_value(ig_ctx *c, ig_tensor *x, const ig_value *v) {
  return binary(c, IG_ID_ADD_TENSOR, x, v);
}
ig_tensor *ig_sub_value(ig_ctx *c, ig_tensor *x, const ig_value *v) {
  return binary(c, IG_ID_SUB_TENSOR, x, v);
}
ig_tensor *ig_mul_value(ig_ctx *c, ig_tensor *x, const ig_value *v) {
  return binary(c, IG_ID_MUL_TENSOR, x, v);
}
ig_tensor *ig_div_value(ig_ctx *c, ig_tensor *x, const ig_value *v) {
  return binary(c, IG_ID_DIV_TENSOR, x, v);
}
ig_tensor *ig_add_f64(ig_ctx *c, ig_tensor *x, double v) {
  ig_value number = ig_of_f64(v);
  return ig_add_value(c, x, &number);
}
ig_tensor *ig_mul_f64(ig_ctx *c, ig_tensor *x, double v) {
  ig_value number = ig_of_f64(v);
  return ig_mul_value(c, x, &number);
}
ig_tensor *ig_div_f64(ig_ctx *c, ig_tensor *x, double v) {
  ig_value number = ig_of_f64(v);
  return ig_div_value(c, x, &number);
}
ig_tensor *ig_mul_int(ig_ctx *c, ig_tensor *x, ig_int v) {
  ig_value number = ig_of_int(v);
  return ig_mul_value(c, x, &number);
}
ig_tensor *ig_div_int(ig_ctx *c, ig_tensor *x, ig_int v) {
  ig_value number = ig_of_int(v);
  return ig_div_value(c, x, &number);
}

ig_tensor *ig_conj_of(ig_ctx *c, ig_tensor *x) {
  return x && ig_dtype_is_complex(x->dtype) ? ig_conj_physical(c, x) : x;
}

ig_value ig_sizes_of(const ig_tensor *t) {
  return t ? ig_of_ints(ig_sizes(t), (size_t)t->ndim) : ig_none();
}

static ig_int size_call(ig_ctx *c, ig_expr_kind fn, ig_int a, ig_int b) {
  ig_value args[] = {ig_of_int(a), ig_of_int(b)};
  ig_value out;
  ig_sym_call(c, fn, args, 2, &out);
  return out.kind == IG_KIND_INT ? out.i : ig_const(0);
}

ig_int ig_size_add(ig_ctx *c, ig_int a, ig_int b) {
  return a.expr || b.expr ? size_call(c, IG_EXPR_ADD, a, b) : ig_int_add(c, a, b);
}
ig_int ig_size_sub(ig_ctx *c, ig_int a, ig_int b) {
  return a.expr || b.expr ? size_call(c, IG_EXPR_SUB, a, b) : ig_int_sub(c, a, b);
}
ig_int ig_size_mul(ig_ctx *c, ig_int a, ig_int b) {
  return a.expr || b.expr ? size_call(c, IG_EXPR_MUL, a, b) : ig_int_mul(c, a, b);
}
ig_int ig_size_floordiv(ig_ctx *c, ig_int a, ig_int b) {
  return a.expr || b.expr ? size_call(c, IG_EXPR_FLOORDIV, a, b) : ig_int_floordiv(c, a, b);
}
ig_int ig_size_mod(ig_ctx *c, ig_int a, ig_int b) {
  return a.expr || b.expr ? size_call(c, IG_EXPR_MOD, a, b) : ig_int_mod(c, a, b);
}

void ig_size_show(ig_ctx *c, ig_int v) {
  ig_value number = ig_of_int(v);
  if (v.expr && c->mode->capture && c->status == IG_OK) (void)ig_record_number(c, &number);
}

void ig_size_show_sum(ig_ctx *c, ig_int v) {
  const ig_graph *g = c->mode->capture;
  if (!g || !ig_release_forms(g->release)->sizes_first) return;  // others compute what they need
  if (v.expr && v.expr->kind != IG_EXPR_SYMBOL) ig_size_show(c, v);
}

ig_int ig_product(ig_ctx *c, const ig_int *sizes, size_t n) {
  ig_int total = ig_const(1);
  for (size_t i = 0; i < n; i++) total = ig_size_mul(c, total, sizes[i]);
  return total;
}

ig_int ig_numel_of(ig_ctx *c, const ig_tensor *t) {
  return t ? ig_product(c, ig_sizes(t), (size_t)t->ndim) : ig_const(0);
}

ig_tensor *ig_cast(ig_ctx *c, ig_tensor *x, ig_dtype dtype) {
  if (!x || x->dtype == dtype) return x;
  return ig__to_copy_with(c, x, ig_of_dtype(dtype), ig_none(), ig_none(), ig_none(), false,
                          ig_none());
}

ig_tensor *ig_no_derivative(ig_ctx *c, const char *what) {
  ig_fail_text(c, IG_UNSUPPORTED, "the derivative for '%s' is not implemented.", what);
  return NULL;
}

void ig_vjp_refuse(ig_ctx *c, const ig_vjp *v) {
  (void)ig_no_derivative(c, v->op->schema.name);
}

ig_tensor *ig_sum_to(ig_ctx *c, ig_tensor *g, const ig_value *like) {
  if (!g || like->kind != IG_KIND_TENSOR) return g;
  const ig_tensor *t = like->tensor;
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  int lead = g->ndim - t->ndim;
  for (int d = 0; d < g->ndim; d++) {
    bool repeated = d < lead || (ig_int_eq_i64(c, ig_sizes(t)[d - lead], 1) &&
                                 !ig_int_eq_i64(c, ig_sizes(g)[d], 1));
    if (repeated) dims[n++] = ig_const(d);
  }
  if (n && t->ndim == 0) {
    g = ig_sum(c, g);
  } else if (n) {
    g = ig_sum_dim_intlist_with(c, g, ig_of_ints(dims, n), true, ig_none());
    if (lead) g = ig_view(c, g, ig_sizes_of(t));
  }
  return g && ig_dtype_is_complex(g->dtype) && !ig_dtype_is_complex(t->dtype)
             ? ig_cast(c, g, ig_to_real(g->dtype))
             : g;
}

ig_tensor *ig_zeros_of(ig_ctx *c, const ig_tensor *like) {
  if (!like) return NULL;
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  return ig_zeros_with(c, ig_sizes_of(like), ig_of_dtype(like->dtype), strided,
                       ig_of_device(like->device), ig_none());
}

ig_tensor *ig_unreduce(ig_ctx *c, ig_tensor *g, const bool *reduced, int ndim) {
  for (int d = 0; d < ndim && g; d++) {
    if (reduced[d]) g = ig_unsqueeze(c, g, ig_const(d));
  }
  return g;
}
