// SPDX-License-Identifier: Apache-2.0
// Operators without an ONNX equivalent: mode, gcd and lcm, embedding bags.
#include <math.h>

#include "ingot/hop.h"
#include "onnx/lower.h"
#include "op/formula.h"

// self, dim, keepdim: the smallest of the most frequent values, and its last index.
bool ig_onnx_lower_mode(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  bool keep = args[2].b;
  if (x->ndim < 1) return false;
  int64_t dim = args[1].i.value < 0 ? args[1].i.value + x->ndim : args[1].i.value;
  ig_int last = ig_const(-1);
  ig_tensor *moved = ig_movedim_int(c, x, ig_const(dim), last);
  ig_tensor *across = ig_unsqueeze(c, moved, ig_const(-2));
  ig_tensor *same = ig_eq_tensor(c, ig_unsqueeze(c, moved, last), across);
  ig_tensor *count = ig_sum_dim_intlist_with(c, ig_cast(c, same, IG_I64), ig_onnx_one_dim(&last),
                                             false, ig_none());
  ig_tensor *most = ig_amax_with(c, count, ig_onnx_one_dim(&last), true);
  // Among equals the least value: in sorted order it is the first that has the count.
  ig_value sorted[IG_MAX_RETURNS] = {{0}};
  ig_sort_with(c, moved, last, false, sorted);
  ig_tensor *order = ig_value_tensor(&sorted[1]);
  ig_tensor *often = ig_eq_tensor(c, ig_gather(c, count, last, order), most);
  ig_tensor *first = ig_argmax_with(c, ig_cast(c, often, IG_I64), ig_of_i64(-1), true);
  ig_tensor *value = ig_gather(c, ig_value_tensor(&sorted[0]), last, first);
  ig_tensor *hit = ig_cast(c, ig_eq_tensor(c, moved, value), IG_I64);
  ig_tensor *place = ig_arange(c, ig_of_int(ig_sizes(x)[dim]));
  place = ig_amax_with(c, ig_mul_tensor(c, hit, place), ig_onnx_one_dim(&last), true);
  outs[0] = ig_of_tensor(keep ? ig_movedim_int(c, value, last, ig_const(dim))
                              : ig_squeeze_dim(c, value, last));
  outs[1] = ig_of_tensor(keep ? ig_movedim_int(c, place, last, ig_const(dim))
                              : ig_squeeze_dim(c, place, last));
  return true;
}

// ---- common divisors, by Euclid: (a, b) becomes (b, a mod b) until every b is 0

static const ig_value *euclid_cond(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                   void *user) {
  (void)n;
  (void)user;
  ig_value *out = ig_scope_push(c, sizeof *out);
  if (!out) return NULL;
  *out = ig_of_tensor(ig_any(c, ig_ne_scalar(c, ig_value_tensor(&in[1]), ig_of_i64(0))));
  *nouts = 1;
  return out;
}

static const ig_value *euclid_step(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                   void *user) {
  (void)user;
  ig_value *out = ig_scope_array(c, n, sizeof *out);
  ig_tensor *a = ig_value_tensor(&in[0]);
  ig_tensor *b = ig_value_tensor(&in[1]);
  if (!out) return NULL;
  ig_tensor *done = ig_eq_scalar(c, b, ig_of_i64(0));
  ig_tensor *by = ig_masked_fill_scalar(c, b, done, ig_of_i64(1));
  out[0] = ig_of_tensor(ig_where_self(c, done, a, b));
  out[1] = ig_of_tensor(ig_remainder_tensor(c, a, by));  // 0 where it is done
  *nouts = 2;
  return out;
}

static ig_tensor *divisor(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  size_t n = 0;
  a = ig_abs(c, ig_cast(c, a, IG_I64));
  b = ig_abs(c, ig_cast(c, b, IG_I64));
  ig_tensor *sizes = ig_zeros_like(c, ig_add_tensor(c, a, b));
  ig_value carried[2];
  carried[0] = ig_of_tensor(ig_add_tensor(c, a, sizes));
  carried[1] = ig_of_tensor(ig_add_tensor(c, b, sizes));
  ig_branch cond = {.fn = euclid_cond};
  ig_branch step = {.fn = euclid_step};
  const ig_value *found = ig_while_loop(c, &cond, &step, carried, 2, NULL, 0, &n);
  return found ? ig_value_tensor(&found[0]) : NULL;
}

static ig_dtype common_type(const ig_value *args) {
  return ig_dtype_promote(args[0].tensor->dtype, args[1].tensor->dtype);
}

bool ig_onnx_lower_gcd(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *found = divisor(c, args[0].tensor, args[1].tensor);
  outs[0] = ig_of_tensor(ig_cast(c, found, common_type(args)));
  return true;
}

// |a / gcd * b|, 0 if both are
bool ig_onnx_lower_lcm(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *by = divisor(c, args[0].tensor, args[1].tensor);
  by = ig_clamp_min(c, by, ig_of_i64(1));
  ig_tensor *a = ig_cast(c, args[0].tensor, IG_I64);
  a = ig_div_tensor_mode(c, a, by, ig_of_str("trunc"));
  ig_tensor *all = ig_abs(c, ig_mul_tensor(c, a, ig_cast(c, args[1].tensor, IG_I64)));
  outs[0] = ig_of_tensor(ig_cast(c, all, common_type(args)));
  return true;
}

// ---- bags of embeddings: a table of bags and indices

enum { WEIGHT, INDICES, OFFSETS, BY_FREQUENCY, MODE, SPARSE, SAMPLE_WEIGHTS, LAST_OFFSET, PADDING };

// PyTorch processes dense tables of up to 32 bits bag by bag and then does not return which bag an
// index is in.
static bool bag_by_bag(const ig_value *args) {
  const ig_tensor *weight = args[WEIGHT].tensor;
  const ig_tensor *scale = ig_value_tensor(&args[SAMPLE_WEIGHTS]);
  bool dense = !ig_strides(weight)[1].expr && ig_strides(weight)[1].value == 1;
  bool along = !scale || (!ig_strides(scale)[0].expr && ig_strides(scale)[0].value == 1);
  return weight->dtype != IG_F64 && args[PADDING].i.value < 0 && dense && along;
}

static ig_tensor *part(ig_ctx *c, ig_tensor *t, int64_t from, ig_int to) {
  return ig_slice_tensor_with(c, t, ig_const(0), ig_of_i64(from), ig_of_int(to), ig_const(1));
}

static ig_tensor *whole(ig_ctx *c, const ig_int *sizes, size_t n, ig_int fill) {
  ig_value none = ig_none();
  return ig_full_with(c, ig_of_ints(sizes, n), ig_of_int(fill), ig_of_dtype(IG_I64), none, none,
                      none);
}

// The ends of bags: where the next one begins, the last one at `last`.
static ig_tensor *ends(ig_ctx *c, ig_tensor *offsets, ig_int bags, ig_int last) {
  ig_int one = ig_const(1);
  ig_value parts[2];
  parts[0] = ig_of_tensor(part(c, offsets, 1, bags));
  parts[1] = ig_of_tensor(whole(c, &one, 1, last));
  return ig_cat(c, ig_of_list(parts, 2));
}

// [bags, n]: which index is in which bag
static ig_tensor *members(ig_ctx *c, ig_tensor *place, ig_tensor *begin, ig_tensor *end) {
  ig_tensor *after = ig_ge_tensor(c, place, ig_unsqueeze(c, begin, ig_const(1)));
  return ig_logical_and(c, after, ig_lt_tensor(c, place, ig_unsqueeze(c, end, ig_const(1))));
}

// The greatest elements of each bag, [bags, width], and the indices of their rows; of an empty one
// zeros.
static ig_tensor *greatest(ig_ctx *c, ig_tensor *in, ig_tensor *rows, ig_tensor *indices,
                           ig_tensor **places) {
  ig_int over = ig_const(1);
  ig_value dims = ig_of_ints(&over, 1);
  ig_value most[2] = {ig_none(), ig_none()};
  ig_tensor *others = ig_logical_not(c, ig_unsqueeze(c, in, ig_const(2)));
  ig_tensor *every = ig_unsqueeze(c, rows, ig_const(0));
  every = ig_masked_fill_scalar(c, every, others, ig_of_f64(-INFINITY));
  ig_max_dim_with(c, every, over, false, most);
  ig_tensor *count = ig_sum_dim_intlist_with(c, ig_cast(c, in, IG_I64), dims, true, ig_none());
  ig_tensor *empty = ig_eq_scalar(c, count, ig_of_i64(0));
  ig_tensor *at = ig_take(c, indices, ig_value_tensor(&most[1]));
  *places = ig_masked_fill_scalar(c, at, empty, ig_of_i64(0));
  return ig_masked_fill_scalar(c, ig_value_tensor(&most[0]), empty, ig_of_i64(0));
}

// Sums, means and greatest elements. For a sum the sizes of bags are zeros, as in PyTorch.
static bool embedding_bag(ig_ctx *c, const ig_value *args, bool forward_only, ig_value *outs) {
  ig_tensor *weight = args[WEIGHT].tensor;
  ig_tensor *indices = args[INDICES].tensor;
  ig_tensor *scale = ig_value_tensor(&args[SAMPLE_WEIGHTS]);
  bool mean = args[MODE].i.value == 1;
  bool last = args[LAST_OFFSET].b;
  bool ranges = bag_by_bag(args);
  bool most = args[MODE].i.value == 2;
  if (args[MODE].i.value > 2 || indices->ndim != 1 || args[OFFSETS].tensor->ndim != 1) return false;
  if (most && scale) return false;
  ig_dtype index = ig_dtype_promote(indices->dtype, args[OFFSETS].tensor->dtype);
  ig_tensor *offsets = ig_cast(c, args[OFFSETS].tensor, IG_I64);
  ig_int all = ig_sizes(args[OFFSETS].tensor)[0];
  ig_int n = ig_sizes(indices)[0];
  ig_int bags = last ? ig_int_sub(c, all, ig_const(1)) : all;
  ig_tensor *begin = part(c, offsets, 0, bags);
  ig_tensor *end = last && ranges ? part(c, offsets, 1, all) : ends(c, offsets, bags, n);
  ig_tensor *place = ig_arange(c, ig_of_int(n));
  ig_tensor *in = members(c, place, begin, end);
  ig_int over = ig_const(1);
  ig_tensor *count = ig_sub_tensor(c, ends(c, offsets, bags, n), begin);
  if (args[PADDING].i.value >= 0) {
    ig_tensor *is = ig_eq_scalar(c, indices, args[PADDING]);
    ig_tensor *lost = ig_cast(c, ig_logical_and(c, in, is), IG_I64);
    lost = ig_sum_dim_intlist_with(c, lost, ig_of_ints(&over, 1), false, ig_none());
    count = ig_sub_tensor(c, count, lost);
    in = ig_logical_and(c, in, ig_logical_not(c, is));
  }
  ig_tensor *table = ig_cast(c, in, weight->dtype);
  if (scale) table = ig_mul_tensor(c, table, scale);
  ig_tensor *rows = ig_embedding(c, weight, indices);
  ig_tensor *places = NULL;
  ig_tensor *sum = most ? greatest(c, in, rows, indices, &places) : ig_matmul(c, table, rows);
  if (mean) {
    ig_tensor *by = ig_cast(c, ig_clamp_min(c, count, ig_of_i64(1)), weight->dtype);
    sum = ig_div_tensor(c, sum, ig_unsqueeze(c, by, ig_const(1)));
  }
  ig_int none = ig_const(0);
  ig_tensor *next = part(c, offsets, 1, bags);
  ig_tensor *bag = ig_ge_tensor(c, ig_unsqueeze(c, place, ig_const(1)), next);
  bag = ig_cast(c, bag, IG_I64);
  bag = ig_sum_dim_intlist_with(c, bag, ig_of_ints(&over, 1), false, ig_none());
  if (!mean && !most && ranges) bag = whole(c, &none, 1, none);
  ig_int sizes = forward_only ? all : bags;
  if (!mean && !most) count = whole(c, &sizes, 1, none);
  outs[0] = ig_of_tensor(sum);
  outs[1] = ig_of_tensor(ig_cast(c, bag, index));
  outs[2] = ig_of_tensor(ig_cast(c, count, index));
  outs[3] = most ? ig_of_tensor(ig_cast(c, places, index)) : outs[2];
  return true;
}

bool ig_onnx_lower_embedding_bag(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  return embedding_bag(c, args, false, outs);
}

bool ig_onnx_lower_embedding_bag_forward(ig_ctx *c, int opset, const ig_value *args,
                                         ig_value *outs) {
  (void)opset;
  return embedding_bag(c, args, true, outs);
}
