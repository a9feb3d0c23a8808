// SPDX-License-Identifier: Apache-2.0
// Writing through views: each view operator has a formula that puts a changed part back into what
// it was taken from.
#include "ops/layout/inverse.h"

#include "op/formula.h"

ig_tensor *ig_invert_same(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)c;
  (void)v;
  (void)base;
  return part;
}

ig_tensor *ig_invert_select(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  return ig_select_scatter(c, base, part, v->args[0].i, v->args[1].i);
}

ig_tensor *ig_invert_slice(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  return ig_slice_scatter_with(c, base, part, v->args[0].i, v->args[1], v->args[2], v->args[3].i);
}

ig_tensor *ig_invert_diagonal(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  return ig_diagonal_scatter_with(c, base, part, v->args[0].i, v->args[1].i, v->args[2].i);
}

ig_tensor *ig_invert_as_strided(ig_ctx *c, const ig_view_call *v, ig_tensor *base,
                                ig_tensor *part) {
  return ig_as_strided_scatter_with(c, base, part, v->args[0], v->args[1], v->args[2]);
}

ig_tensor *ig_invert_view(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  return ig_view(c, part, ig_sizes_of(base));
}

ig_tensor *ig_invert_dtype(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  return ig_view_dtype(c, part, ig_of_dtype(base->dtype));
}

ig_tensor *ig_invert_expand(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  ig_value like = ig_of_tensor(base);
  return ig_sum_to(c, part, &like);
}

ig_tensor *ig_invert_permute(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  ig_int back[IG_MAX_DIM];
  const ig_value *order = &v->args[0];
  for (int d = 0; d < base->ndim; d++) {
    bool list = order->kind == IG_KIND_LIST;
    int64_t at = list ? order->list.at[d].i.value : order->ints.at[d].value;
    back[at < 0 ? at + base->ndim : at] = ig_const(d);
  }
  return ig_permute(c, part, ig_of_ints(back, (size_t)base->ndim));
}

ig_tensor *ig_invert_t(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_t(c, part);
}

ig_tensor *ig_invert_transpose(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)base;
  return ig_transpose_int(c, part, v->args[0].i, v->args[1].i);
}

ig_tensor *ig_invert_unsqueeze(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)base;
  return ig_squeeze_dim(c, part, v->args[0].i);
}

static bool names_dim(const ig_view_call *v, int ndim, int d) {
  if (v->op->schema.nargs == 1) return true;
  const ig_value *given = &v->args[0];
  size_t n = given->kind == IG_KIND_INTS ? given->ints.n : 1;
  for (size_t i = 0; i < n; i++) {
    int64_t at = given->kind == IG_KIND_INTS ? given->ints.at[i].value : given->i.value;
    if ((at < 0 ? at + ndim : at) == d) return true;
  }
  return false;
}

// Dimensions of size 1 come back, first to last.
ig_tensor *ig_invert_squeeze(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  for (int d = 0; d < base->ndim; d++) {
    if (!names_dim(v, base->ndim, d) || !ig_int_eq_i64(c, ig_sizes(base)[d], 1)) continue;
    part = ig_unsqueeze(c, part, ig_const(d));
  }
  return part;
}

static int dim_of(const ig_value *v, int ndim) {
  return (int)(v->i.value < 0 ? v->i.value + ndim : v->i.value);
}

// split and its kin: the piece is a slice.
ig_tensor *ig_invert_split(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  int dim = dim_of(&v->args[1], base->ndim);
  ig_int start = ig_const(0);
  ig_int end;
  bool listed = v->args[0].kind == IG_KIND_INTS && v->index < v->args[0].ints.n;
  if (dim < 0 || dim >= part->ndim || (v->args[0].kind != IG_KIND_INT && !listed)) {
    (void)ig_fail(c, IG_MISMATCH, "a piece of other sizes cannot be written back");
    return NULL;
  }
  if (v->args[0].kind == IG_KIND_INT) {
    start = ig_int_mul(c, v->args[0].i, ig_const((int64_t)v->index));
    end = ig_int_add(c, start, ig_sizes(part)[dim]);
  } else {
    const ig_int *sizes = v->args[0].ints.at;
    for (size_t i = 0; i < v->index; i++) start = ig_int_add(c, start, sizes[i]);
    end = ig_int_add(c, start, sizes[v->index]);
  }
  return ig_slice_scatter_with(c, base, part, ig_const(dim), ig_of_int(start), ig_of_int(end),
                               ig_const(1));
}

ig_tensor *ig_invert_unbind(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  return ig_select_scatter(c, base, part, v->args[0].i, ig_const((int64_t)v->index));
}

ig_tensor *ig_invert_unfold(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  return ig_unfold_backward(c, part, ig_sizes_of(base), v->args[0].i, v->args[1].i, v->args[2].i);
}

ig_tensor *ig_invert_as_real(ig_ctx *c, const ig_view_call *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_view_as_complex(c, part);
}
ig_tensor *ig_invert_as_complex(ig_ctx *c, const ig_view_call *v, ig_tensor *base,
                                ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_view_as_real(c, part);
}
