// SPDX-License-Identifier: Apache-2.0
// Binary search in sorted rows: searchsorted, bucketize.
#include <math.h>
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/dense.h"

// boundaries, values, out_int32, right
typedef struct search {
  const ig_tensor *rows;
  const ig_tensor *values;
  bool narrow;
  bool right;
  const ig_tensor *sorter;
} search;
static void search_shape(ig_ctx *c, const search *q, ig_meta *out) {
  const ig_tensor *r = q->rows;
  const ig_tensor *v = q->values;
  bool ok = r->ndim > 0;
  bool lead = r->ndim != 1;
  if (ok && lead) ok = v->ndim == r->ndim;
  for (int d = 0; ok && lead && d < r->ndim - 1; d++)
    ok = ig_int_eq(c, ig_sizes(r)[d], ig_sizes(v)[d]);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                 "dimensions of boundaries tensor and input value tensor must match, but we got "
                 "boundaries tensor %s and input value tensor %s",
                 ig_sizes_text(c, ig_sizes(r), (size_t)r->ndim),
                 ig_sizes_text(c, ig_sizes(v), (size_t)v->ndim));
    return;
  }
  if (ig_dtype_is_complex(r->dtype) || ig_dtype_is_complex(v->dtype) || r->dtype == IG_BOOL) {
    ig_refuse_dtype(c, "searchsorted_out_cpu", r->dtype);
    return;
  }
  for (int d = 0; d < v->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(v)[d]);
  out->dtype = q->narrow ? IG_I32 : IG_I64;
  out->device = r->device;
}
static bool goes_before(double edge, double v, bool right) {
  // NaN is the largest.
  if (isnan(v)) return right ? true : !isnan(edge);
  if (isnan(edge)) return false;
  return right ? edge <= v : edge < v;
}
static void search_run(ig_ctx *c, const search *q, ig_tensor *out) {
  ig_scope s = ig_scope_open(c);
  const double *rows = ig_dense_read(c, q->rows, IG_F64);
  const double *v = ig_dense_read(c, q->values, IG_F64);
  const int64_t *order = q->sorter ? ig_dense_read(c, q->sorter, IG_I64) : NULL;
  int64_t n = ig_sizes(q->rows)[q->rows->ndim - 1].value;  // concrete: real sizes
  int64_t count = ig_tensor_numel(q->values);
  int64_t per = q->values->ndim ? ig_sizes(q->values)[q->values->ndim - 1].value : 1;
  int64_t *at = ig_dense_room(c, (size_t)count, IG_I64);
  for (int64_t k = 0; rows && v && at && k < count; k++) {
    int64_t base = q->rows->ndim == 1 ? 0 : k / per * n;
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
      int64_t mid = low + (high - low) / 2;
      int64_t place = order ? order[base + mid] : mid;
      if (place < 0 || place >= n) place = mid;
      if (goes_before(rows[base + place], v[k], q->right)) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    at[k] = low;
  }
  ig_dense_write(c, out, IG_I64, at);
  ig_scope_close(c, s);
}
// sorted_sequence, self, *, out_int32, right, side, sorter
static bool from_right(ig_ctx *c, const ig_value *args) {
  if (args[4].kind != IG_KIND_STR) return args[3].b;
  bool right = strcmp(args[4].str, "right") == 0;
  if (!right && strcmp(args[4].str, "left") != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                 args[4].str);
  } else if (!right && args[3].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                 "while right was True");
  }
  return right;
}
static search sorted_query(ig_ctx *c, const ig_value *args) {
  return (search){args[0].tensor, args[1].tensor, args[2].b, from_right(c, args),
                  ig_value_tensor(&args[5])};
}
static void searchsorted_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  search q = sorted_query(c, args);
  bool ok = !q.sorter || q.sorter->ndim == q.rows->ndim;
  for (int d = 0; ok && q.sorter && d < q.rows->ndim; d++) {
    ok = ig_int_eq(c, ig_sizes(q.sorter)[d], ig_sizes(q.rows)[d]);
  }
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): boundary and sorter must have the same size");
    return;
  }
  if (c->status == IG_OK) search_shape(c, &q, out);
}
static void searchsorted_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  search q = sorted_query(c, args);
  search_run(c, &q, outs[0].tensor);
}
static ig_tensor *number_tensor(ig_ctx *c, const ig_value *v, const ig_tensor *like) {
  ig_dtype d = v->kind == IG_KIND_FLOAT ? ig_ctx_default_dtype(c) : IG_I64;
  return ig_scalar_tensor_with(c, *v, ig_of_dtype(d), ig_none(), ig_of_device(like->device),
                               ig_none());
}
static ig_tensor *searchsorted_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *rows = args[0].tensor;
  if (rows->dtype == IG_BOOL) rows = ig_cast(c, rows, IG_I64);
  ig_tensor *value = number_tensor(c, &args[1], args[0].tensor);
  ig_value all[] = {ig_of_tensor(rows), ig_of_tensor(value), args[2], args[3], args[4], args[5]};
  return c->status == IG_OK ? ig_call_id(c, IG_ID_SEARCHSORTED_TENSOR, all, 6) : NULL;
}
// self, boundaries, *, out_int32, right
static void bucketize_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  search q = {args[1].tensor, args[0].tensor, args[2].b, args[3].b, NULL};
  if (q.rows->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "boundaries tensor must be 1 dimension, but got dim(%d)",
                 q.rows->ndim);
    return;
  }
  search_shape(c, &q, out);
}
static void bucketize_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  search q = {args[1].tensor, args[0].tensor, args[2].b, args[3].b, NULL};
  search_run(c, &q, outs[0].tensor);
}
static ig_tensor *bucketize_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *rows = args[1].tensor;
  if (rows->dtype == IG_BOOL) rows = ig_cast(c, rows, IG_I64);
  ig_tensor *value = number_tensor(c, &args[0], args[1].tensor);
  ig_value all[] = {ig_of_tensor(value), ig_of_tensor(rows), args[2], args[3]};
  return c->status == IG_OK ? ig_call_id(c, IG_ID_BUCKETIZE_TENSOR, all, 4) : NULL;
}
IG_OP(searchsorted_tensor) = {
    .schema =
        "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool "
        "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
        "Tensor",
    .shape = searchsorted_shape,
    .kernel = searchsorted_kernel,
    .samples = "f32[5]:sort, f32[2,3] | f32[5]:sort, f32[3], right=True, out_int32=True",
    .not_differentiable = true,
};
IG_OP(searchsorted_scalar) = {
    .schema =
        "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool "
        "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
        "Tensor",
    .decompose = searchsorted_scalar,
    .samples = "f32[5]:sort, 0.3",
};
IG_OP(bucketize_tensor) = {
    .schema =
        "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
        "out_int32=False, bool right=False) -> Tensor",
    .shape = bucketize_shape,
    .kernel = bucketize_kernel,
    .samples = "f32[2,3], f32[5]:sort | f32[4], f32[3]:sort, right=True",
    .not_differentiable = true,
};
IG_OP(bucketize_scalar) = {
    .schema =
        "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
        "out_int32=False, bool right=False) -> Tensor",
    .decompose = bucketize_scalar,
    .samples = "0.3, f32[5]:sort",
};
