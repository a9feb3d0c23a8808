// SPDX-License-Identifier: Apache-2.0
// Views that give fresh memory: what older PyTorch puts into functional programs where a view
// stood.
#include "ingot/aten.h"
#include "op/formula.h"

static ig_tensor *dense(ig_ctx *c, ig_tensor *t) {
  return ig_clone_with(c, t, ig_of_memory_format(IG_CONTIGUOUS));
}

static void dense_list(ig_ctx *c, ig_value *list) {
  if (c->status != IG_OK || list->kind != IG_KIND_LIST) return;
  ig_value *items = ig_scope_array(c, list->list.n + 1, sizeof *items);
  if (!items) return;
  for (size_t i = 0; i < list->list.n; i++) {
    items[i] = ig_of_tensor(dense(c, list->list.at[i].tensor));
  }
  *list = ig_of_list(items, list->list.n);
}

// The view of the name, made dense.
#define COPY(name, view)                                           \
  static ig_tensor *name##_formula(ig_ctx *c, const ig_value *a) { \
    ig_tensor *t = view;                                           \
    return dense(c, t);                                            \
  }
#define COPIES(name, views)                                                  \
  static void name##_formula(ig_ctx *c, const ig_value *a, ig_value *outs) { \
    views;                                                                   \
    dense_list(c, &outs[0]);                                                 \
  }
COPY(alias_copy, ig_alias(c, a[0].tensor))
COPY(t_copy, ig_t(c, a[0].tensor))
COPY(view_copy, ig_view(c, a[0].tensor, a[1]))
COPY(expand_copy, ig_expand_with(c, a[0].tensor, a[1], a[2].b))
COPY(permute_copy, ig_permute(c, a[0].tensor, a[1]))
COPY(select_copy_int, ig_select_int(c, a[0].tensor, a[1].i, a[2].i))
COPY(slice_copy_tensor, ig_slice_tensor_with(c, a[0].tensor, a[1].i, a[2], a[3], a[4].i))
COPY(squeeze_copy, ig_squeeze(c, a[0].tensor))
COPY(squeeze_copy_dim, ig_squeeze_dim(c, a[0].tensor, a[1].i))
COPY(squeeze_copy_dims, ig_squeeze_dims(c, a[0].tensor, a[1]))
COPY(transpose_copy_int, ig_transpose_int(c, a[0].tensor, a[1].i, a[2].i))
COPY(unsqueeze_copy, ig_unsqueeze(c, a[0].tensor, a[1].i))
COPY(as_strided_copy, ig_as_strided_with(c, a[0].tensor, a[1], a[2], a[3]))
COPY(detach_copy, ig_detach(c, a[0].tensor))
COPY(unfold_copy, ig_unfold(c, a[0].tensor, a[1].i, a[2].i, a[3].i))
COPY(view_as_real_copy, ig_view_as_real(c, a[0].tensor))
COPY(view_as_complex_copy, ig_view_as_complex(c, a[0].tensor))
COPY(view_copy_dtype, ig_view_dtype(c, a[0].tensor, a[1]))
COPIES(split_copy_tensor, ig_split_tensor_with(c, a[0].tensor, a[1].i, a[2].i, outs))
COPIES(split_with_sizes_copy, ig_split_with_sizes_with(c, a[0].tensor, a[1], a[2].i, outs))
COPIES(unbind_copy_int, ig_unbind_int_with(c, a[0].tensor, a[1].i, outs))

IG_OP(alias_copy) = {
    .schema = "aten::alias_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = alias_copy_formula,
    .samples = "f32[2,3] | f32[4,2].T",
};

IG_OP(t_copy) = {
    .schema = "aten::t_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = t_copy_formula,
    .samples = "f32[2,3] | f32[4]",
};

IG_OP(view_copy) = {
    .schema = "aten::view_copy(Tensor self, SymInt[] size) -> Tensor",
    .view_copy = true,
    .decompose = view_copy_formula,
    .samples = "f32[2,6], [3,4] | f32[4], [2,-1]",
    .waive = "strided: those of the view",
};

IG_OP(expand_copy) = {
    .schema = "aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
    .view_copy = true,
    .decompose = expand_copy_formula,
    .samples = "f32[2,1], [2,3] | f32[3], [2,3]",
};

IG_OP(permute_copy) = {
    .schema = "aten::permute_copy(Tensor self, int[] dims) -> Tensor",
    .view_copy = true,
    .decompose = permute_copy_formula,
    .samples = "f32[2,3,4], [2,0,1] | f32[2,3], [1,0]",
};

IG_OP(select_copy_int) = {
    .schema = "aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
    .view_copy = true,
    .decompose = select_copy_int_formula,
    .samples = "f32[2,3], 1, 2 | f32[4], 0, -1",
};

IG_OP(slice_copy_tensor) = {
    .schema =
        "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
        "SymInt step=1) -> Tensor",
    .view_copy = true,
    .decompose = slice_copy_tensor_formula,
    .samples = "f32[5,3], 0, 1, 4 | f32[5,3], 1, None, None, 2",
};

IG_OP(squeeze_copy) = {
    .schema = "aten::squeeze_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = squeeze_copy_formula,
    .samples = "f32[2,1,3] | f32[1]",
};

IG_OP(squeeze_copy_dim) = {
    .schema = "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor",
    .view_copy = true,
    .decompose = squeeze_copy_dim_formula,
    .samples = "f32[2,1,3], 1 | f32[2,3], 0",
};

IG_OP(squeeze_copy_dims) = {
    .schema = "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    .view_copy = true,
    .decompose = squeeze_copy_dims_formula,
    .samples = "f32[1,2,1], [0,2] | f32[2,3], [0]",
};

IG_OP(transpose_copy_int) = {
    .schema = "aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
    .view_copy = true,
    .decompose = transpose_copy_int_formula,
    .samples = "f32[2,3,4], 0, 2 | f32[2,3], 0, -1",
};

IG_OP(unsqueeze_copy) = {
    .schema = "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor",
    .view_copy = true,
    .decompose = unsqueeze_copy_formula,
    .samples = "f32[2,3], 1 | f32[3], -1",
};

IG_OP(split_copy_tensor) = {
    .schema = "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    .view_copy = true,
    .decompose_outs = split_copy_tensor_formula,
    .samples = "f32[5,3], 2 | f32[2,4], 2, 1",
};

IG_OP(split_with_sizes_copy) = {
    .schema =
        "aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    .view_copy = true,
    .decompose_outs = split_with_sizes_copy_formula,
    .samples = "f32[5,3], [2,3]",
};

IG_OP(unbind_copy_int) = {
    .schema = "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
    .view_copy = true,
    .decompose_outs = unbind_copy_int_formula,
    .samples = "f32[3,2] | f32[2,3], 1",
};

IG_OP(as_strided_copy) = {
    .schema =
        "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
        "storage_offset=None) -> Tensor",
    .view_copy = true,
    .decompose = as_strided_copy_formula,
    .samples = "f32[2,3], [2,2], [1,2] | f32[6], [2,2], [2,1], 1",
    .waive = "strided: it reads the memory of its operand, not the elements",
};

IG_OP(detach_copy) = {
    .schema = "aten::detach_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .detaches = true,
    .decompose = detach_copy_formula,
    .not_differentiable = true,  // it ends the history
    .samples = "f32[2,3] | f32[4,2].T",
};

IG_OP(unfold_copy) = {
    .schema = "aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
    .view_copy = true,
    .decompose = unfold_copy_formula,
    .samples = "f32[6,2], 0, 3, 2 | f32[2,5], -1, 2, 1",
};

IG_OP(view_as_real_copy) = {
    .schema = "aten::view_as_real_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = view_as_real_copy_formula,
    .samples = "c64[2,3]",
};

IG_OP(view_as_complex_copy) = {
    .schema = "aten::view_as_complex_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = view_as_complex_copy_formula,
    .samples = "f32[3,2]",
    .waive = "strided: both parts of a number lie side by side",
};

IG_OP(view_copy_dtype) = {
    .schema = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
    .view_copy = true,
    .decompose = view_copy_dtype_formula,
    .samples = "f32[2,4], i32",
    .not_differentiable = true,  // the bits of a number are no function of it that has a slope
};
