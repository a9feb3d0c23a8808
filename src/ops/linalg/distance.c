// SPDX-License-Identifier: Apache-2.0
// Distances between rows: cdist, pdist.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

// Euclidean distances by one product: the square of a - b is that of a, that of b and -2 a b. Less
// exact for points that are close, as in PyTorch, which does so beyond 25 points unless disabled.
static bool distance_by_product(const ig_ctx *c, const ig_value *args) {
  enum { FEW = 25 };
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  int64_t mode = args[3].kind == IG_KIND_INT ? args[3].i.value : 0;  // concrete: a choice
  if (ig_value_f64(&args[2]) != 2 || mode == 2 || !ig_unwatched(c, args, 2)) return false;
  int64_t rows = ig_sizes(a)[a->ndim - 2].value;     // concrete: real sizes
  int64_t columns = ig_sizes(b)[b->ndim - 2].value;  // concrete: real sizes
  return mode == 1 || rows > FEW || columns > FEW;
}
static ig_tensor *with_squares(ig_ctx *c, ig_tensor *x, double factor, bool first) {
  ig_int last = ig_const(-1);
  ig_tensor *squares = ig_mul_tensor(c, x, x);
  squares = ig_sum_dim_intlist_with(c, squares, ig_of_ints(&last, 1), true, ig_none());
  ig_value parts[3] = {ig_of_tensor(ig_mul_f64(c, x, factor))};
  ig_tensor *ones = ig_ones_like(c, squares);
  parts[first ? 1 : 2] = ig_of_tensor(squares);
  parts[first ? 2 : 1] = ig_of_tensor(ones);
  return c->status == IG_OK ? ig_cat_with(c, ig_of_list(parts, 3), last) : NULL;
}
static ig_tensor *euclidean(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_tensor *left = with_squares(c, a, -2, true);
  ig_tensor *right = with_squares(c, b, 1, false);
  right = ig_transpose_int(c, right, ig_const(-2), ig_const(-1));
  ig_tensor *squares = ig_clamp_min(c, ig_matmul(c, left, right), ig_of_i64(0));
  return ig_sqrt(c, squares);
}

static ig_tensor *cdist_forward(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  ig_int last = ig_const(-1);
  if (a->ndim < 2 || b->ndim < 2 ||
      !ig_int_eq(c, ig_sizes(a)[a->ndim - 1], ig_sizes(b)[b->ndim - 1])) {
    ig_fail_text(c, IG_RUNTIME, "X1 and X2 must have the same number of columns. X1: %s X2: %s",
                 ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim),
                 ig_sizes_text(c, ig_sizes(b), (size_t)b->ndim));
    return NULL;
  }
  if (!ig_check_float(c, "cdist", a->dtype) || ig_value_f64(&args[2]) < 0) {
    if (c->status == IG_OK)
      ig_fail_text(c, IG_RUNTIME, "cdist only supports non-negative p values");
    return NULL;
  }
  if (distance_by_product(c, args)) return euclidean(c, a, b);
  ig_tensor *d = ig_unsqueeze(c, a, ig_const(-2));
  d = ig_sub_tensor(c, d, ig_unsqueeze(c, b, ig_const(-3)));
  return ig_linalg_vector_norm_with(c, d, args[2], ig_of_ints(&last, 1), false, ig_none());
}
static ig_tensor *cdist_decompose(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID__CDIST_FORWARD, args, 4);
}
static ig_tensor *pdist_forward(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "pdist only supports 2D tensors, got: %dD", x->ndim);
    return NULL;
  }
  if (!ig_check_float(c, "pdist", x->dtype) || ig_value_f64(&args[1]) < 0) {
    if (c->status == IG_OK)
      ig_fail_text(c, IG_RUNTIME, "pdist only supports non-negative p values");
    return NULL;
  }
  ig_int n = ig_const(ig_int_specialize(c, ig_sizes(x)[0]));
  ig_tensor *pairs = ig_triu_indices_with(c, n, n, ig_const(1), ig_of_dtype(IG_I64), ig_none(),
                                          ig_of_device(x->device), ig_none());
  ig_tensor *i = ig_select_int(c, pairs, ig_const(0), ig_const(0));
  ig_tensor *j = ig_select_int(c, pairs, ig_const(0), ig_const(1));
  ig_tensor *a = ig_index_select(c, x, ig_const(0), i);
  ig_tensor *d = ig_sub_tensor(c, a, ig_index_select(c, x, ig_const(0), j));
  ig_int last = ig_const(-1);
  return ig_linalg_vector_norm_with(c, d, args[1], ig_of_ints(&last, 1), false, ig_none());
}
static ig_tensor *pdist_decompose(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID__PDIST_FORWARD, args, 2);
}
IG_OP(_cdist_forward) = {
    .schema =
        "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> "
        "Tensor",
    .decompose = cdist_forward,
    .samples = "f32[3,2], f32[4,2], 2., None | f32[1,3,2], f32[1,4,2], 1., 2",
};
IG_OP(cdist) = {
    .schema =
        "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cdist_decompose,
    .samples = "f32[3,2], f32[4,2] | f32[1,3,2], f32[1,4,2], 1. | f32[26,2], f32[3,2]",
};
IG_OP(_pdist_forward) = {
    .schema = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
    .decompose = pdist_forward,
    .samples = "f32[4,2], 2. | f32[3,2], 1.",
};
IG_OP(pdist) = {
    .schema = "aten::pdist(Tensor self, float p=2.) -> Tensor",
    .decompose = pdist_decompose,
    .samples = "f32[4,2] | f32[3,2], 1.",
};
