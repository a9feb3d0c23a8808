// SPDX-License-Identifier: Apache-2.0
// Elements repeated in place, each as often as told.
#include "op/formula.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

// repeats -> indices
static void repeat_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_meta m;
  (void)op;
  if (args[0].tensor->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "repeat_interleave only accept 1D vector as repeat");
    return;
  }
  if (args[0].tensor->dtype != IG_I64 && args[0].tensor->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "repeats has to be Long or Int tensor");
    return;
  }
  ig_meta_init(&m, args[0].tensor->dtype, args[0].tensor->device);
  ig_int n = args[1].kind == IG_KIND_INT ? args[1].i : ig_sym_unbacked(c);
  if (args[1].kind != IG_KIND_INT) ig_sym_constrain(c, n, 0, INT64_MAX, true);
  ig_meta_push_dim(c, &m, n);
  ig_meta_contiguous(c, &m);
  outs[0] = ig_of_tensor(ig_tensor_make(c, &m, true));
}
static void repeat_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *r = args[0].tensor;
  if (r->ndim != 1 || (r->dtype != IG_I64 && r->dtype != IG_I32)) {
    repeat_fake(c, op, args, outs);
    return;
  }
  int64_t n = ig_tensor_numel(r);
  int64_t *reps = ig_dense_read(c, r, IG_I64);
  int64_t total = 0;
  for (int64_t i = 0; reps && i < n; i++) {
    if (reps[i] < 0) {
      ig_fail_text(c, IG_RUNTIME, "repeats can not be negative");
      return;
    }
    if (!ig_checked_add(total, reps[i], &total)) {
      ig_fail_text(c, IG_OVERFLOW, "repeats: their sum is too large");
      return;
    }
  }
  if (args[1].kind == IG_KIND_INT && args[1].i.value != total) {  // concrete: a real count
    ig_fail_text(c, IG_RUNTIME, "allocated size does not match required size");
    return;
  }
  ig_meta m;
  ig_meta_init(&m, r->dtype, r->device);
  ig_meta_push_dim(c, &m, ig_const(total));
  ig_meta_contiguous(c, &m);
  ig_tensor *out = ig_tensor_make(c, &m, false);
  int64_t *at = ig_dense_room(c, (size_t)total, IG_I64);
  int64_t k = 0;
  for (int64_t i = 0; reps && at && i < n; i++) {
    for (int64_t j = 0; j < reps[i]; j++) at[k++] = i;
  }
  if (!out) return;
  ig_dense_write(c, out, IG_I64, at);
  outs[0] = ig_of_tensor(out);
}
static ig_tensor *repeat_self_tensor(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *reps = args[1].tensor;
  ig_int dim = args[2].kind == IG_KIND_NONE ? ig_const(0) : args[2].i;
  if (args[2].kind == IG_KIND_NONE) x = ig_flatten_using_ints(c, x);
  if (!x) return NULL;
  int at = ig_wrap_dim(c, dim.value, x->ndim);  // concrete: a dimension
  if (c->status != IG_OK) return NULL;
  ig_int size = x->ndim ? ig_sizes(x)[at] : ig_const(1);
  if (reps->ndim == 0 || (reps->ndim == 1 && ig_int_eq_i64(c, ig_sizes(reps)[0], 1))) {
    reps = ig_expand(c, ig_reshape(c, reps, ig_of_ints((ig_int[]){ig_const(1)}, 1)),
                     ig_of_ints(&size, 1));
  } else if (reps->ndim != 1 || !ig_int_eq(c, ig_sizes(reps)[0], size)) {
    ig_fail_text(c, IG_RUNTIME,
                 "repeats must have the same size as input along dim, but got repeats.size(0) = %s "
                 "and input.size(%d) = %s",
                 reps->ndim ? ig_int_text(c, ig_sizes(reps)[0]) : "1", at, ig_int_text(c, size));
    return NULL;
  }
  ig_tensor *index = ig_repeat_interleave_tensor_with(c, reps, args[3]);
  return ig_index_select(c, x, dim, index);
}
static ig_tensor *repeat_self_int(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int reps = args[1].i;
  ig_int dim = args[2].kind == IG_KIND_NONE ? ig_const(0) : args[2].i;
  if (args[2].kind == IG_KIND_NONE) x = ig_flatten_using_ints(c, x);
  if (!x) return NULL;
  int at = ig_wrap_dim(c, dim.value, x->ndim);  // concrete: a dimension
  if (c->status != IG_OK) return NULL;
  if (ig_int_is(c, reps, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "Repeats must be non-negative");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM + 1];
  for (int d = 0; d < x->ndim; d++) sizes[d + (d > at)] = ig_sizes(x)[d];
  sizes[at + 1] = reps;
  if (x->ndim == 0) sizes[0] = ig_const(1);
  ig_tensor *wide = ig_unsqueeze(c, x, ig_const(at + 1 <= x->ndim ? at + 1 : 0));
  wide = ig_expand(c, wide, ig_of_ints(sizes, (size_t)x->ndim + 1));
  wide = ig_clone_with(c, wide, ig_of_memory_format(IG_CONTIGUOUS));
  return ig_flatten_using_ints_with(c, wide, ig_const(at), ig_const(at + 1));
}
IG_OP(repeat_interleave_tensor) = {
    .schema =
        "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) "
        "-> Tensor",
    .fake = repeat_fake,
    .kernel = repeat_kernel,
    .samples = "i64[3]:<4 | i32[2]:<3",
};
IG_OP(repeat_interleave_self_tensor) = {
    .schema =
        "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? "
        "dim=None, *, SymInt? output_size=None) -> Tensor",
    .decompose = repeat_self_tensor,
    .samples = "f32[2,2], i64[2]:<4, 0 | f32[4], i64[4]:<3",
    .waive = "fake: lengths depend on the data; symbolic: lengths depend on the data",
};
IG_OP(repeat_interleave_self_int) = {
    .schema =
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, "
        "*, SymInt? output_size=None) -> Tensor",
    .decompose = repeat_self_int,
    .samples = "f32[3], 2 | f32[2,3], 2, 1",
};
