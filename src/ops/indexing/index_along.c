// SPDX-License-Identifier: Apache-2.0
// Elements along one dimension or of the flattened tensor, by index: take, put, index_add,
// index_copy, index_fill, index_reduce, take_along_dim.
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"

// ---- take, put, index_add, index_fill ----
static ig_tensor *flat(ig_ctx *c, ig_tensor *x) {
  ig_int all = ig_const(-1);
  return ig_reshape(c, x, ig_of_ints(&all, 1));
}
static bool is_index(ig_ctx *c, const ig_tensor *i, const char *name) {
  if (i->dtype == IG_I64) return true;
  ig_fail_text(c, IG_RUNTIME, "%s(): Expected a long tensor for index, but got %s", name,
               ig_dtype_title(i->dtype));
  return false;
}
static ig_tensor *take_decompose(ig_ctx *c, const ig_value *args) {
  if (!is_index(c, args[1].tensor, "take")) return NULL;
  if (ig_int_eq_i64(c, ig_numel_of(c, args[0].tensor), 0) &&
      !ig_int_eq_i64(c, ig_numel_of(c, args[1].tensor), 0)) {
    ig_fail_text(c, IG_BAD_INDEX, "take(): tried to take from an empty tensor");
    return NULL;
  }
  ig_value index[] = {args[1]};
  return ig_index_tensor(c, flat(c, args[0].tensor), ig_of_list(index, 1));
}
static ig_tensor *put_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!is_index(c, args[1].tensor, "put_")) return NULL;
  if (x->dtype != args[2].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
                 "and source.dtype = %s",
                 ig_dtype_title(x->dtype), ig_dtype_title(args[2].tensor->dtype));
    return NULL;
  }
  ig_value index[] = {ig_of_tensor(flat(c, args[1].tensor))};
  ig_tensor *values = flat(c, args[2].tensor);
  ig_tensor *out = ig_index_put_with(c, flat(c, x), ig_of_list(index, 1), values, args[3].b);
  return ig_view(c, out, ig_sizes_of(x));
}
// None for the dimensions in front of dim, then the index.
static ig_value index_at(ig_ctx *c, int dim, ig_tensor *index) {
  ig_value *list = ig_scope_array(c, (size_t)(dim + 1), sizeof *list);
  if (!list) return ig_none();
  for (int d = 0; d < dim; d++) list[d] = ig_none();
  list[dim] = ig_of_tensor(index);
  return ig_of_list(list, (size_t)(dim + 1));
}
static ig_tensor *index_put_along(ig_ctx *c, ig_tensor *x, int dim, ig_tensor *index,
                                  ig_tensor *values, bool add) {
  ig_value list = index_at(c, dim, index);
  return c->status == IG_OK ? ig_index_put_with(c, x, list, values, add) : NULL;
}
// self, dim, index, source, *, alpha
static ig_tensor *index_add_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  ig_tensor *source = args[3].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (index->ndim > 1) {
    ig_fail_text(c, IG_BAD_INDEX, "index_add_(): Index should have dimension 1 or 0 (got %d)",
                 index->ndim);
    return NULL;
  }
  if (index->dtype != IG_I64 && index->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "index_add_(): Expected dtype int32/int64 for index but got: %s",
                 ig_dtype_title(index->dtype));
    return NULL;
  }
  if (x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "index_add_(): self (%s) and source (%s) must have the same scalar type",
                 ig_dtype_title(x->dtype), ig_dtype_title(source->dtype));
    return NULL;
  }
  if (!ig_value_is(&args[4], 1)) {
    source = ig_cast(c, ig_mul_value(c, source, &args[4]), x->dtype);
  }
  if (x->ndim == 0) {
    ig_tensor *wide = ig_unsqueeze(c, x, ig_const(0));
    wide = index_put_along(c, wide, 0, index, source, true);
    return ig_squeeze_dim(c, wide, ig_const(0));
  }
  return index_put_along(c, x, dim, index, source, true);
}
// self, dim, index, source
static bool copy_fits(ig_ctx *c, const ig_tensor *x, int dim, const ig_tensor *index,
                      const ig_tensor *source) {
  const char *name = "index_copy_(): ";
  ig_int n = ig_numel_of(c, index);
  if (index->ndim > 1) {
    ig_fail_text(c, IG_BAD_INDEX, "%sIndex should have dimension 1 or 0 (got %d)", name,
                 index->ndim);
  } else if (source->ndim == 0 && !ig_int_eq_i64(c, n, 1)) {
    ig_fail_text(c, IG_BAD_INDEX, "%sWhen source is scalar, index should have one element (got %s)",
                 name, ig_int_text(c, n));
  } else if (source->ndim && x->ndim && source->ndim != x->ndim) {
    ig_fail_text(c, IG_BAD_INDEX,
                 "%sWhen source and destination are not scalars, their dimensionality must match. "
                 "Source dimensionality (%d), destination dimensionality (%d)",
                 name, source->ndim, x->ndim);
  } else if (is_index(c, index, "index_copy_") && x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "%sself and source expected to have the same dtype, but got (self) %s and "
                 "(source) %s",
                 name, ig_dtype_title(x->dtype), ig_dtype_title(source->dtype));
  }
  if (c->status != IG_OK || source->ndim == 0) return c->status == IG_OK;
  for (int d = 0; d < x->ndim; d++) {
    if (d == dim || ig_int_eq(c, ig_sizes(x)[d], ig_sizes(source)[d])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "%sSource/destination tensor must have same slice shapes, but self is %s and "
                 "source %s",
                 name, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim),
                 ig_sizes_text(c, ig_sizes(source), (size_t)source->ndim));
    return false;
  }
  if (ig_int_eq(c, n, ig_sizes(source)[dim])) return true;
  ig_fail_text(c, IG_BAD_INDEX, "%sNumber of indices (%s) should be equal to source.size(dim) (%s)",
               name, ig_int_text(c, n), ig_int_text(c, ig_sizes(source)[dim]));
  return false;
}
static ig_tensor *index_copy_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  ig_tensor *source = args[3].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK || !copy_fits(c, x, dim, index, source)) return NULL;
  ig_tensor *wide = x->ndim ? x : ig_unsqueeze(c, x, ig_const(0));
  if (index->ndim == 0) index = ig_unsqueeze(c, index, ig_const(0));
  wide = index_put_along(c, wide, dim, index, source, false);
  return x->ndim ? wide : ig_squeeze_dim(c, wide, ig_const(0));
}
static ig_tensor *index_fill(ig_ctx *c, const ig_value *args, ig_tensor *value) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK || !value) return NULL;
  if (!is_index(c, index, "index_fill_")) return NULL;
  if (value->ndim != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                 "dimension(s).",
                 value->ndim);
    return NULL;
  }
  ig_tensor *wide = x->ndim ? x : ig_unsqueeze(c, x, ig_const(0));
  ig_int sizes[IG_MAX_DIM];
  memcpy(sizes, ig_sizes(wide), (size_t)wide->ndim * sizeof *sizes);
  sizes[dim] = ig_numel_of(c, index);
  value = ig_expand(c, ig_cast(c, value, x->dtype), ig_of_ints(sizes, (size_t)wide->ndim));
  ig_tensor *out = index_put_along(c, wide, dim, index, value, false);
  return x->ndim ? out : ig_squeeze_dim(c, out, ig_const(0));
}
static ig_tensor *index_fill_int_tensor(ig_ctx *c, const ig_value *args) {
  return index_fill(c, args, args[3].tensor);
}
static ig_tensor *index_fill_int_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *value = ig_scalar_tensor_with(c, args[3], ig_of_dtype(x->dtype),
                                           (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                                           ig_of_device(x->device), ig_none());
  return index_fill(c, args, value);
}
static ig_tensor *take_along_dim_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *i = args[1].tensor;
  if (i->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.take_along_dim(): dtype of indices should be Long but got %s",
                 ig_dtype_title(i->dtype));
    return NULL;
  }
  if (args[2].kind == IG_KIND_NONE) {
    ig_tensor *from = flat(c, x);
    return ig_gather(c, from, ig_const(0), flat(c, i));
  }
  if (x->ndim != i->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.take_along_dim(): input and indices should have the same number of "
                 "dimensions, but got %d dimensions for input, and %d dimensions for indices",
                 x->ndim, i->ndim);
    return NULL;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), x->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int to_x[IG_MAX_DIM];
  ig_int to_i[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) {
    ig_int a = ig_sizes(x)[d];
    ig_int b = ig_sizes(i)[d];
    ig_int wide = ig_int_eq_i64(c, a, 1) ? b : a;
    to_x[d] = d == dim ? a : wide;
    to_i[d] = d == dim ? b : wide;
  }
  ig_tensor *at = ig_broadcast_to(c, i, ig_of_ints(to_i, (size_t)x->ndim));
  x = ig_broadcast_to(c, x, ig_of_ints(to_x, (size_t)x->ndim));
  return ig_gather(c, x, ig_const(dim), at);
}

// self, dim, index, source, reduce, *, include_self: rows of self; by way of scatter_reduce
static ig_tensor *index_reduce_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *source = args[3].tensor;
  if (!is_index(c, args[2].tensor, "index_reduce")) return NULL;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME, "index_reduce_(): self and source must have the same scalar type");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < source->ndim; d++) sizes[d] = d == dim ? ig_const(-1) : ig_const(1);
  ig_tensor *index = args[2].tensor;
  if (source->ndim) {
    index = ig_view(c, index, ig_of_ints(sizes, (size_t)source->ndim));
    index = ig_expand(c, index, ig_sizes_of(source));
  }
  return ig_scatter_reduce_two_with(c, x, ig_const(dim), index, source, args[4], args[5].b);
}

IG_OP(take) = {
    .schema = "aten::take(Tensor self, Tensor index) -> Tensor",
    .decompose = take_decompose,
    .samples = "f32[2,3], i64[3]:<6 | f32[4], i64[2,2]:<4",
};
IG_OP(put) = {
    .schema =
        "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> "
        "Tensor",
    .decompose = put_decompose,
    .samples = "f32[2,3], i64[3]:perm, f32[3] | f32[4], i64[2]:<4, f32[2], True",
};
IG_OP(index_add) = {
    .schema =
        "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar "
        "alpha=1) -> Tensor",
    .decompose = index_add_decompose,
    .samples = "f32[4,2], 0, i64[3]:<4, f32[3,2] | f32[2,4], 1, i64[2]:<4, f32[2,2], alpha=2",
    .waive =
        "size 4=0: PyTorch compares the shapes of self and source; size 4=1: PyTorch compares the "
        "shapes of self and source",
};
IG_OP(index_copy) = {
    .schema = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .autocast = IG_AUTOCAST_WIDEST,
    .decompose = index_copy_decompose,
    .samples =
        "f32[4,2], 0, i64{3,0,1}, f32[3,2] | f32[2,4], -1, i64{2,1}, f32[2,2] | f32[], 0, i64{0}, "
        "f32[1] | f32[3,2], 0, i64{1}, f32[1,2]",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(index_fill_int_scalar) = {
    .schema =
        "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) "
        "-> Tensor",
    .decompose = index_fill_int_scalar,
    .samples = "f32[4,2], 0, i64[2]:<4, 2.5 | f32[2,4], 1, i64[2]:<4, 1",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(index_fill_int_tensor) = {
    .schema =
        "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) "
        "-> Tensor",
    .decompose = index_fill_int_tensor,
    .samples = "f32[4,2], 0, i64[2]:<4, f32[]",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(take_along_dim) = {
    .schema = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    .decompose = take_along_dim_decompose,
    .samples = "f32[2,3], i64[2,1]:<3, 1 | f32[2,3], i64[2]:<6",
    .waive = "size 3=1: refused here, PyTorch computes it",
};
IG_OP(index_reduce) = {
    .schema =
        "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str "
        "reduce, *, bool include_self=True) -> Tensor",
    .decompose = index_reduce_decompose,
    .samples =
        "f32[4,2]:+, 0, i64[3]:<4, f32[3,2]:+, 'prod' | f32[4,2], 0, i64[3]:<4, "
        "f32[3,2], 'amax' | f32[4,2], 0, i64[3]:<4, f32[3,2], 'mean', "
        "include_self=False",
    .waive = "complex gradient: products are differentiated as PyTorch does",
};
