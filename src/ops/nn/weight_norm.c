// SPDX-License-Identifier: Apache-2.0
// Weights as a direction and a norm for each index of one dimension.
#include "op/formula.h"
#include "op/shape.h"

// v, pow, dim: the norm over all dimensions but one; -1: over all
static ig_tensor *norm_except_dim(ig_ctx *c, const ig_value *args) {
  ig_tensor *v = args[0].tensor;
  int64_t at = ig_value_i64(c, &args[2]);
  if (at == -1) return ig_norm_scalar_with(c, v, args[1]);
  int dim = ig_wrap_dim(c, at, v->ndim);
  if (c->status != IG_OK) return NULL;
  if (v->ndim == 0) return ig_norm_scalar_with(c, v, args[1]);
  if (dim > 0 && dim < v->ndim - 1) {
    ig_tensor *turned = ig_transpose_int(c, v, ig_const(0), ig_const(dim));
    turned = ig_norm_except_dim_with(c, turned, args[1].i, ig_const(0));
    return ig_transpose_int(c, turned, ig_const(0), ig_const(dim));
  }
  ig_int rows[] = {dim ? ig_const(-1) : ig_sizes(v)[0], dim ? ig_sizes(v)[dim] : ig_const(-1)};
  ig_int out[IG_MAX_DIM];
  for (int d = 0; d < v->ndim; d++) out[d] = d == dim ? ig_sizes(v)[d] : ig_const(1);
  ig_int over = ig_const(dim ? 0 : 1);
  ig_tensor *flat = ig_view(c, ig_contiguous(c, v), ig_of_ints(rows, 2));
  flat = ig_norm_scalaropt_dim_with(c, flat, args[1], ig_of_ints(&over, 1), false);
  return ig_view(c, flat, ig_of_ints(out, (size_t)v->ndim));
}
// v, g, dim -> v g / |v|, |v|
static void weight_norm_interface(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *v = args[0].tensor;
  ig_tensor *g = args[1].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), v->ndim);
  ig_int over[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 0; d < v->ndim; d++) {
    if (d != dim) over[n++] = ig_const(d);
  }
  if (c->status != IG_OK) return;
  ig_value dims = ig_of_ints(over, n);
  ig_value two = ig_of_i64(2);
  ig_tensor *norm = g->dtype == IG_BF16 || g->dtype == IG_F16
                        ? ig_norm_scalaropt_dim_dtype(c, v, two, dims, true, ig_of_dtype(IG_F32))
                        : ig_norm_scalaropt_dim_with(c, v, two, dims, true);
  ig_tensor *length = ig_div_tensor(c, g, ig_cast(c, norm, g->dtype));
  outs[0] = ig_of_tensor(ig_mul_tensor(c, v, length));
  outs[1] = ig_of_tensor(norm);
}
static ig_tensor *weight_norm(ig_ctx *c, const ig_value *args) {
  ig_tensor *v = args[0].tensor;
  int64_t dim = ig_value_i64(c, &args[2]);
  bool half = v->dtype == IG_F16 || args[1].tensor->dtype == IG_F16;
  if (!half && (dim == 0 || dim == v->ndim - 1)) {
    ig_value outs[IG_MAX_RETURNS] = {{0}};
    ig__weight_norm_interface_with(c, v, args[1].tensor, ig_const(dim), outs);
    return ig_value_tensor(&outs[0]);
  }
  ig_tensor *norm = ig_norm_except_dim_with(c, v, ig_const(2), ig_const(dim));
  return ig_mul_tensor(c, v, ig_div_tensor(c, args[1].tensor, norm));
}

IG_OP(norm_except_dim) = {
    .schema = "aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
    .decompose = norm_except_dim,
    .samples = "f32[3,4] | f32[2,3,2], 2, 2 | f32[2,3,2], 2, 1 | f32[2,3], 2, -1",
    .waive = "0-d: PyTorch refuses it",
};
IG_OP(_weight_norm_interface) = {
    .schema = "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
    .decompose_outs = weight_norm_interface,
    .samples = "f32[3,4], f32[3,1] | f32[2,3,2], f32[1,1,2], 2",
    .waive = "size 4=0: no slope there; 0-d: PyTorch refuses it; size 3=0: no slope there",
};
IG_OP(_weight_norm) = {
    .schema = "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
    .decompose = weight_norm,
    .samples = "f32[3,4], f32[3,1] | f32[2,3,2], f32[1,3,1], 1 | f32[2,3], f32[1,3], 1",
    .waive = "size 4=0: no slope there; 0-d: PyTorch refuses it; size 2=0: no slope there",
};
