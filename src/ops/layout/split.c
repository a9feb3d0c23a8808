// SPDX-License-Identifier: Apache-2.0
// One tensor as a list of views: split, chunk, tensor_split, unbind. How many there are must be
// known, so the sizes that decide it are specialised.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/layout/inverse.h"
#include "sym/env.h"

typedef struct cutter {
  ig_ctx *c;
  ig_metas *out;
  ig_tensor *self;
  int dim;
  ig_int start;
} cutter;

static void cut(cutter *k, ig_int length) {
  ig_meta *m = ig_metas_push(k->out, k->self->dtype, k->self->device);
  if (!m) return;
  ig_meta_view(k->self, m);
  m->size[k->dim] = length;
  ig_int skip = ig_int_mul(k->c, k->start, m->stride[k->dim]);
  m->offset = ig_int_add(k->c, m->offset, skip);
  k->start = ig_int_add(k->c, k->start, length);
}

// Sizes of the pieces of `total` elements, `size` each but the last; how many is the answer.
static int64_t pieces(ig_ctx *c, ig_int total, ig_int size) {
  if (ig_int_is(c, size, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "split expects split_size be non-negative, but got split_size=%s",
                 ig_int_text(c, size));
    return 0;
  }
  if (ig_int_eq_i64(c, size, 0)) {
    if (ig_int_eq_i64(c, total, 0)) return 1;
    ig_fail_text(c, IG_RUNTIME,
                 "split_size can only be 0 if dimension size is 0, but got dimension size of %s",
                 ig_int_text(c, total));
    return 0;
  }
  ig_int up = ig_int_add(c, total, ig_int_sub(c, size, ig_const(1)));
  int64_t n = ig_int_specialize(c, ig_int_floordiv(c, up, size));
  return n > 1 ? n : 1;
}

static bool at_least_1d(ig_ctx *c, const ig_tensor *self, const char *what) {
  if (self->ndim) return true;
  ig_fail_text(c, IG_RUNTIME, "%s expects at least a 1-dimensional tensor", what);
  return false;
}

static void split_shapes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_metas *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  if (!at_least_1d(c, self, "split")) return;
  cutter k = {c, out, self, ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim), ig_const(0)};
  if (c->status != IG_OK) return;
  ig_int total = ig_sizes(self)[k.dim];
  int64_t n = pieces(c, total, args[1].i);
  for (int64_t i = 0; i < n && c->status == IG_OK; i++) {
    cut(&k, i < n - 1 ? args[1].i : ig_int_sub(c, total, k.start));
  }
}

static void split_with_sizes_shapes(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_metas *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  if (!at_least_1d(c, self, "split")) return;
  cutter k = {c, out, self, ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim), ig_const(0)};
  if (c->status != IG_OK) return;
  const ig_int *sizes = args[1].ints.at;
  size_t n = args[1].ints.n;
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    if (!ig_use_as_size(c, sizes[i]) && c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME,
                   "split_with_sizes expects split_sizes have only non-negative entries, but got "
                   "split_sizes=%s",
                   ig_sizes_text(c, sizes, n));
      return;
    }
    cut(&k, sizes[i]);
  }
  ig_int total = ig_sizes(self)[k.dim];
  if (c->status != IG_OK || ig_int_expect(c, k.start, IG_EQ, total)) return;
  if (ig_is_fake(self)) {
    ig_fail_text(c, IG_INVALID, "Split sizes add up to %s but got the tensor's size of %s",
                 ig_int_text(c, k.start), ig_int_text(c, total));
    return;
  }
  ig_fail_text(c, IG_RUNTIME,
               "split_with_sizes expects split_sizes to sum exactly to %s (input tensor's size at "
               "dimension %d), but got split_sizes=%s",
               ig_int_text(c, total), k.dim, ig_sizes_text(c, sizes, n));
}

static void unbind_shapes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_metas *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  int64_t wanted = ig_value_i64(c, &args[1]);
  if (self->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as %lld but tensor has no dimensions",
                 (long long)wanted);
    return;
  }
  int dim = ig_wrap_dim(c, wanted, self->ndim);
  if (c->status != IG_OK) return;
  int64_t n = ig_int_specialize(c, ig_sizes(self)[dim]);
  for (int64_t i = 0; i < n && c->status == IG_OK; i++) {
    ig_meta *m = ig_metas_push(out, self->dtype, self->device);
    if (!m) return;
    ig_meta_view(self, m);
    m->offset = ig_int_add(c, m->offset, ig_int_mul(c, ig_const(i), m->stride[dim]));
    m->ndim--;
    for (int d = dim; d < m->ndim; d++) {
      m->size[d] = m->size[d + 1];
      m->stride[d] = m->stride[d + 1];
    }
  }
}

// The same cut written with sizes.
static void split_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (!at_least_1d(c, self, "split")) return;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (c->status != IG_OK) return;
  ig_int total = ig_sizes(self)[dim];
  int64_t n = pieces(c, total, args[1].i);
  ig_int *sizes = n ? ig_scope_array(c, (size_t)n, sizeof *sizes) : NULL;
  if (!sizes) return;
  ig_int left = total;
  for (int64_t i = 0; i < n; i++) {
    sizes[i] = i < n - 1 ? args[1].i : left;
    left = ig_int_sub(c, left, sizes[i]);
  }
  ig_split_with_sizes_with(c, self, ig_of_ints(sizes, (size_t)n), args[2].i, outs);
}

static void split_sizes_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_split_with_sizes_with(c, args[0].tensor, args[1], args[2].i, outs);
}

// Slices and drops the dimension, as PyTorch does, so that no index has to be in range.
static void unbind_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (self->ndim == 0) return;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK) return;
  int64_t n = ig_int_specialize(c, ig_sizes(self)[dim]);
  ig_value *list = ig_scope_array(c, (size_t)n, sizeof *list);
  if (!list) return;
  for (int64_t i = 0; i < n; i++) {
    list[i] = ig_of_tensor(
        ig_slice_tensor_with(c, self, ig_const(dim), ig_of_i64(i), ig_of_i64(i + 1), ig_const(1)));
  }
  ig_int one = ig_const(dim);
  for (int64_t i = 0; i < n; i++) {
    list[i] = ig_of_tensor(ig_squeeze_dims(c, list[i].tensor, ig_of_ints(&one, 1)));
  }
  outs[0] = ig_of_list(list, (size_t)n);
}

// Size of a chunk; 0 when the dimension is empty. The pieces are told the dimension as it was
// given.
static bool chunk_size(ig_ctx *c, const ig_value *args, ig_int *size) {
  ig_tensor *self = args[0].tensor;
  int64_t chunks = ig_value_i64(c, &args[1]);
  if (!at_least_1d(c, self, "chunk")) return false;
  if (chunks <= 0) {
    ig_fail_text(c, IG_RUNTIME, "chunk expects `chunks` to be greater than 0, got: %lld",
                 (long long)chunks);
    return false;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (c->status != IG_OK) return false;
  ig_int sum = ig_size_add(c, ig_sizes(self)[dim], ig_const(chunks));
  ig_int up = ig_size_sub(c, sum, ig_const(1));
  *size = ig_size_floordiv(c, up, ig_const(chunks));
  return true;
}

// As many zeros as `chunks` says.
static ig_int *empty_sizes(ig_ctx *c, const ig_value *chunks, size_t *n) {
  int64_t count = ig_value_i64(c, chunks);
  if (count > INT32_MAX) {
    ig_fail_text(c, IG_RUNTIME, "chunk: found %lld chunks, expected at most %d", (long long)count,
                 INT32_MAX);
    return NULL;
  }
  ig_int *sizes = ig_scope_array(c, (size_t)count, sizeof *sizes);
  for (int64_t i = 0; sizes && i < count; i++) sizes[i] = ig_const(0);
  *n = sizes ? (size_t)count : 0;
  return sizes;
}

static void chunk_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_int size;
  if (!chunk_size(c, args, &size)) return;
  if (!ig_int_eq_i64(c, size, 0)) {
    ig_split_tensor_with(c, args[0].tensor, size, args[2].i, outs);
    return;
  }
  // An empty dimension still gives as many chunks as were asked for.
  size_t n = 0;
  ig_int *sizes = empty_sizes(c, &args[1], &n);
  ig_split_with_sizes_with(c, args[0].tensor, ig_of_ints(sizes, sizes ? n : 0), args[2].i, outs);
}

static void unsafe_chunk_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_int size;
  if (!chunk_size(c, args, &size)) return;
  if (!ig_int_eq_i64(c, size, 0)) {
    ig_unsafe_split_tensor_with(c, args[0].tensor, size, args[2].i, outs);
    return;
  }
  size_t n = 0;
  ig_int *sizes = empty_sizes(c, &args[1], &n);
  ig_unsafe_split_with_sizes_with(c, args[0].tensor, ig_of_ints(sizes, sizes ? n : 0), args[2].i,
                                  outs);
}

static int tensor_split_dim(ig_ctx *c, const ig_tensor *self, const ig_value *dim) {
  if (self->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
                 "dims");
    return 0;
  }
  return ig_wrap_dim(c, ig_value_i64(c, dim), self->ndim);
}

static void split_sections(ig_ctx *c, ig_tensor *self, int64_t sections, int dim, ig_value *outs) {
  if (sections <= 0) {
    ig_fail_text(c, IG_RUNTIME, "number of sections must be larger than 0, got %lld",
                 (long long)sections);
    return;
  }
  ig_value *list = ig_scope_array(c, (size_t)sections, sizeof *list);
  if (!list) return;
  ig_int total = ig_sizes(self)[dim];
  ig_int least = ig_int_floordiv(c, total, ig_const(sections));
  ig_int longer = ig_int_mod(c, total, ig_const(sections));
  ig_int start = ig_const(0);
  bool open = ig_env_records_choices(c) && total.expr;  // how many are longer is not asked
  for (int64_t i = 0; i < sections && c->status == IG_OK; i++) {
    if (open) {
      ig_int up = ig_int_add(c, total, ig_const(sections - 1 - i));
      least = ig_int_floordiv(c, up, ig_const(sections));
    }
    bool one_more = !open && ig_int_is(c, ig_const(i), IG_LT, longer);
    ig_int end = ig_int_add(c, start, least);
    if (one_more) end = ig_int_add(c, end, ig_const(1));
    list[i] = ig_of_tensor(ig_slice_tensor_with(c, self, ig_const(dim), ig_of_int(start),
                                                ig_of_int(end), ig_const(1)));
    start = end;
  }
  if (c->status == IG_OK) outs[0] = ig_of_list(list, (size_t)sections);
}

static void split_indices(ig_ctx *c, ig_tensor *self, const ig_int *at, size_t n, int dim,
                          ig_value *outs) {
  ig_value *list = ig_scope_array(c, n + 1, sizeof *list);
  if (!list) return;
  ig_int start = ig_const(0);
  for (size_t i = 0; i <= n; i++) {
    ig_int end = i < n ? at[i] : ig_sizes(self)[dim];
    list[i] = ig_of_tensor(ig_slice_tensor_with(c, self, ig_const(dim), ig_of_int(start),
                                                ig_of_int(end), ig_const(1)));
    start = end;
  }
  if (c->status == IG_OK) outs[0] = ig_of_list(list, n + 1);
}

static void tensor_split_sections_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  int dim = tensor_split_dim(c, args[0].tensor, &args[2]);
  if (c->status != IG_OK) return;
  split_sections(c, args[0].tensor, ig_value_i64(c, &args[1]), dim, outs);
}

static void tensor_split_indices_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  int dim = tensor_split_dim(c, args[0].tensor, &args[2]);
  if (c->status != IG_OK) return;
  split_indices(c, args[0].tensor, args[1].ints.at, args[1].ints.n, dim, outs);
}

// Sections (0-d) or indices (1-d) that stand in a tensor of int64 on the cpu.
static void tensor_split_tensor_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *given = args[1].tensor;
  if (given->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME,
                 "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                 "%s",
                 ig_dtype_title(given->dtype));
    return;
  }
  if (given->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                 "one-dimensional tensor, but got a tensor with %d dims",
                 given->ndim);
    return;
  }
  if (ig_is_fake(given)) {
    (void)ig_fail(c, IG_DATA_DEPENDENT,
                  "argument 'tensor_indices_or_sections': its elements are not known");
    return;
  }
  int dim = tensor_split_dim(c, args[0].tensor, &args[2]);
  if (c->status != IG_OK) return;
  if (given->ndim == 0) {
    split_sections(c, args[0].tensor, (int64_t)ig_tensor_get(given, 0), dim, outs);
    return;
  }
  size_t n = (size_t)ig_tensor_numel(given);
  ig_int *at = ig_scope_array(c, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) at[i] = ig_const((int64_t)ig_tensor_get(given, (int64_t)i));
  if (at) split_indices(c, args[0].tensor, at, n, dim, outs);
}

// Gradients of pieces laid side by side again; a piece without one counts as zeros.
static ig_value *all_grads(ig_ctx *c, const ig_vjp *v, size_t *n) {
  *n = v->outs[0].list.n;
  ig_value *list = ig_scope_array(c, *n, sizeof *list);
  for (size_t i = 0; list && i < *n; i++) {
    ig_tensor *g = v->grads[i];
    list[i] = ig_of_tensor(g ? g : ig_zeros_of(c, v->outs[0].list.at[i].tensor));
  }
  return list;
}

static void split_vjp(ig_ctx *c, const ig_vjp *v) {
  size_t n;
  ig_value *list = IG_WANTED(v, 0) ? all_grads(c, v, &n) : NULL;
  if (list) IG_GRAD(v, 0) = ig_cat_with(c, ig_of_list(list, n), v->args[2].i);
}

static void unbind_vjp(ig_ctx *c, const ig_vjp *v) {
  size_t n;
  ig_value *list = IG_WANTED(v, 0) ? all_grads(c, v, &n) : NULL;
  if (!list) return;
  if (n == 0) {
    IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
  } else {
    IG_GRAD(v, 0) = ig_stack_with(c, ig_of_list(list, n), v->args[1].i);
  }
}

IG_OP(split_tensor) = {
    .schema =
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    .invert = ig_invert_split,
    .shapes = split_shapes,
    .view = true,
    .decompose_outs = split_decompose,
    .vjp = split_vjp,
    .keep = "",
    .samples = "f32[5,4], 2 | f32[5,4], 3, -1 | f32[0,2], 2 | f32[0,2], 0 | f32[4,2].T, 1, 1",
};

IG_OP(split_sizes) = {
    .schema =
        "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    .decompose_outs = split_sizes_decompose,
    .samples = "f32[5,4], [2,3] | f32[5,4], [1,0,3], 1",
};

IG_OP(split_with_sizes) = {
    .schema =
        "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
        "Tensor(a)[]",
    .invert = ig_invert_split,
    .shapes = split_with_sizes_shapes,
    .view = true,
    .vjp = split_vjp,
    .keep = "",
    .samples = "f32[5,4], [2,3] | f32[5,4], [1,0,3], 1 | f32[4,2].T, [1,3], 1",
};

IG_OP(unsafe_split_tensor) = {
    .schema = "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    .shapes = split_shapes,
    .view = true,
    .decompose_outs = split_decompose,
    .vjp = split_vjp,
    .keep = "",
    .samples = "f32[5,4], 2 | f32[5,4], 3, -1",
};

IG_OP(unsafe_split_with_sizes) = {
    .schema =
        "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    .shapes = split_with_sizes_shapes,
    .view = true,
    .decompose_outs = split_sizes_decompose,
    .vjp = split_vjp,
    .keep = "",
    .samples = "f32[5,4], [2,3] | f32[5,4], [1,0,3], 1",
};

IG_OP(chunk) = {
    .schema = "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    .decompose_outs = chunk_decompose,
    .samples = "f32[5,4], 2 | f32[5,4], 3, -1 | f32[0,2], 3",
};

IG_OP(unsafe_chunk) = {
    .schema = "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    .may_alias = true,
    .decompose_outs = unsafe_chunk_decompose,
    .samples = "f32[5,4], 2 | f32[5,4], 3, -1 | f32[0,2], 3",
};

IG_OP(tensor_split_sections) = {
    .schema =
        "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> "
        "Tensor(a)[]",
    .decompose_outs = tensor_split_sections_decompose,
    .samples = "f32[5,4], 2 | f32[5,4], 3, -1 | f32[2], 4",
};

IG_OP(tensor_split_indices) = {
    .schema =
        "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> "
        "Tensor(a)[]",
    .decompose_outs = tensor_split_indices_decompose,
    .samples = "f32[5,4], [1,3] | f32[5,4], [3,1,9], -1 | f32[5], []",
};

IG_OP(tensor_split_tensor_indices_or_sections) = {
    .schema =
        "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
        "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
    .decompose_outs = tensor_split_tensor_decompose,
    .samples = "f32[5,4], i64[2]:<5 | f32[5,4], i64[1]:<4, 1",
    .waive =
        "fake: the indices are elements of a tensor; symbolic: the indices are elements of a "
        "tensor",
};

IG_OP(unbind_int) = {
    .schema = "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    .invert = ig_invert_unbind,
    .shapes = unbind_shapes,
    .view = true,
    .decompose_outs = unbind_decompose,
    .vjp = unbind_vjp,
    .keep = "",
    .samples = "f32[3,4] | f32[3,4], -1 | f32[0,4] | f32[4,2].T, 1 | f32[2]",
};
