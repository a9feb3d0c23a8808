// SPDX-License-Identifier: Apache-2.0
// Helpers for the formulas of operators.
#include "onnx_read/float8.h"
#include "onnx_read/reader.h"
#include "sym/expr.h"

int ig_rd_axis(ig_rd *r, int64_t axis, int ndim) {
  if (axis >= -(int64_t)ndim && axis < ndim) return (int)(axis < 0 ? axis + ndim : axis);
  ig_rd_fail(r, IG_INVALID, "axis %lld is out of range for %d dimensions", (long long)axis, ndim);
  return 0;
}

int64_t ig_rd_plain(ig_rd *r, ig_int size) {
  if (!size.expr) return size.value;
  if (size.expr->hinted) return ig_int_specialize(r->c, size);
  ig_rd_fail(r, IG_UNSUPPORTED,
             "needs a data-dependent number, so the model cannot be converted to a program; it "
             "can be run");
  return 0;
}

ig_int ig_rd_size(ig_rd *r, const ig_tensor *t, int dim) {
  int at = dim < 0 ? dim + t->ndim : dim;
  if (at >= 0 && at < t->ndim) return ig_sizes(t)[at];
  ig_rd_fail(r, IG_INVALID, "an operand has %d dimensions, expected at least %d", t->ndim,
             dim < 0 ? -dim : dim + 1);
  return ig_const(1);
}

bool ig_rd_differs(ig_int size, int64_t expected) {
  return !size.expr && size.value != expected;
}

bool ig_rd_budget(ig_rd *r, const ig_int *sizes, size_t n, ig_dtype dtype) {
  if (!ig_rd_ok(r)) return false;
  if (n > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "a result of %zu dimensions, at most %d are possible", n, IG_MAX_DIM);
    return false;
  }
  int64_t bytes = (int64_t)ig_dtype_size(dtype);
  bool empty = false;
  for (size_t i = 0; i < n; i++) empty |= !sizes[i].expr && sizes[i].value == 0;
  for (size_t i = 0; i < n && !empty; i++) {
    if (sizes[i].expr) continue;
    if (sizes[i].value < 0) {
      ig_rd_fail(r, IG_INVALID, "a result with size %lld at dimension %zu",
                 (long long)sizes[i].value, i);
      return false;
    }
    if (!ig_checked_mul(bytes, sizes[i].value, &bytes) || bytes > r->bytes_limit) {
      ig_rd_fail(r, r->told ? IG_UNSUPPORTED : IG_INVALID,
                 "a result of more than %lld bytes, which the limits forbid",
                 (long long)r->bytes_limit);
      return false;
    }
  }
  return true;
}

// In shape inference the layout of elements does not matter, and unknown sizes need no decision
// about it. A size of -1 is inferred.
static ig_tensor *fresh_sizes(ig_rd *r, const ig_tensor *t, const ig_int *sizes, size_t n) {
  ig_int room[IG_MAX_DIM];
  ig_int rest = ig_const(1);
  size_t open = IG_MAX_DIM;
  for (size_t i = 0; i < n; i++) {
    room[i] = sizes[i];
    bool minus = !sizes[i].expr && sizes[i].value == -1;  // a number: nothing is specialised
    if (minus) open = i;
    if (!minus) rest = ig_int_mul(r->c, rest, sizes[i]);
  }
  ig_int all = ig_product(r->c, ig_sizes(t), (size_t)t->ndim);
  if (open < n) room[open] = ig_int_floordiv(r->c, all, rest);
  return ig_rd_full(r, room, n, 0, t->dtype);
}

ig_tensor *ig_rd_reshape(ig_rd *r, ig_tensor *t, const ig_int *sizes, size_t n) {
  if (!t) return NULL;
  bool symbolic = false;
  for (int d = 0; d < t->ndim; d++) symbolic |= ig_sizes(t)[d].expr != NULL;
  if (r->told && symbolic && n <= IG_MAX_DIM) return fresh_sizes(r, t, sizes, n);
  return ig_reshape(r->c, t, ig_of_ints(sizes, n));
}

static ig_value int_list(ig_int *room, const int64_t *at, size_t n) {
  for (size_t i = 0; i < n && i < IG_MAX_DIM; i++) room[i] = ig_const(at[i]);
  return ig_of_ints(room, n < IG_MAX_DIM ? n : IG_MAX_DIM);
}

ig_tensor *ig_rd_permute(ig_rd *r, ig_tensor *t, const int64_t *perm, size_t n) {
  ig_int room[IG_MAX_DIM];
  return t ? ig_permute(r->c, t, int_list(room, perm, n)) : NULL;
}

ig_tensor *ig_rd_unsqueeze(ig_rd *r, ig_tensor *t, int64_t dim) {
  return t ? ig_unsqueeze(r->c, t, ig_const(dim)) : NULL;
}

ig_tensor *ig_rd_squeeze(ig_rd *r, ig_tensor *t, int64_t dim) {
  return t ? ig_squeeze_dim(r->c, t, ig_const(dim)) : NULL;
}

ig_tensor *ig_rd_slice(ig_rd *r, ig_tensor *t, int64_t dim, int64_t from, int64_t to,
                       int64_t step) {
  if (!t) return NULL;
  return ig_slice_tensor_with(r->c, t, ig_const(dim), ig_of_i64(from), ig_of_i64(to),
                              ig_const(step));
}

ig_tensor *ig_rd_select(ig_rd *r, ig_tensor *t, int64_t dim, int64_t index) {
  return t ? ig_select_int(r->c, t, ig_const(dim), ig_const(index)) : NULL;
}

static ig_value tensor_list(ig_rd *r, ig_tensor *const *ts, size_t n) {
  ig_value *list = ig_scope_array(r->c, n, sizeof *list);
  for (size_t i = 0; list && i < n; i++) {
    if (!ts[i]) return ig_none();
    list[i] = ig_of_tensor(ts[i]);
  }
  return list ? ig_of_list(list, n) : ig_none();
}

ig_tensor *ig_rd_cat(ig_rd *r, ig_tensor *const *ts, size_t n, int64_t dim) {
  ig_value list = tensor_list(r, ts, n);
  return list.kind == IG_KIND_LIST ? ig_cat_with(r->c, list, ig_const(dim)) : NULL;
}

ig_tensor *ig_rd_stack(ig_rd *r, ig_tensor *const *ts, size_t n, int64_t dim) {
  ig_value list = tensor_list(r, ts, n);
  return list.kind == IG_KIND_LIST ? ig_stack_with(r->c, list, ig_const(dim)) : NULL;
}

// ATen computes nothing in the wide unsigned types; two's complement makes
// int64 do for them.
static bool is_wide(ig_dtype d) {
  return d == IG_U16 || d == IG_U32 || d == IG_U64;
}

static ig_tensor *arith(ig_rd *r, ig_tensor *(*fn)(ig_ctx *, ig_tensor *, ig_tensor *),
                        ig_tensor *a, ig_tensor *b) {
  if (!a || !b) return NULL;
  ig_dtype d = a->dtype;
  if (!is_wide(d)) return fn(r->c, a, b);
  a = ig_cast(r->c, a, IG_I64);
  b = ig_cast(r->c, b, IG_I64);
  return a && b ? ig_cast(r->c, fn(r->c, a, b), d) : NULL;
}

ig_tensor *ig_rd_add(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  return arith(r, ig_add_tensor, a, b);
}
ig_tensor *ig_rd_sub(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  return arith(r, ig_sub_tensor, a, b);
}
ig_tensor *ig_rd_mul(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  return arith(r, ig_mul_tensor, a, b);
}

static ig_tensor *divide(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  bool whole = ig_dtype_is_integral(a->dtype);
  return whole ? ig_div_tensor_mode(c, a, b, ig_of_str("trunc")) : ig_div_tensor(c, a, b);
}

// ---- uint64 as int64 with the same bits

// The upper half is negative: flipping the highest bit preserves the order.
static ig_tensor *turned(ig_rd *r, ig_tensor *t) {
  return t ? ig_bitwise_xor_scalar(r->c, t, ig_of_i64(INT64_MIN)) : NULL;
}

// 1 where a >= b.
static ig_tensor *not_below(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  a = turned(r, a);
  b = turned(r, b);
  return a && b ? ig_cast(r->c, ig_ge_tensor(r->c, a, b), IG_I64) : NULL;
}

static ig_tensor *halved(ig_rd *r, ig_tensor *a) {
  a = ig_bitwise_right_shift_tensor_scalar(r->c, a, ig_of_i64(1));
  return a ? ig_bitwise_and_scalar(r->c, a, ig_of_i64(INT64_MAX)) : NULL;
}

// Half of a over b gives the quotient but its last bit. A divisor of the upper half goes at most
// once into anything.
static ig_tensor *quotient(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  ig_tensor *high = ig_lt_scalar(r->c, b, ig_of_i64(0));
  ig_tensor *low = high ? ig_masked_fill_scalar(r->c, b, high, ig_of_i64(1)) : NULL;
  ig_tensor *half = low ? halved(r, a) : NULL;
  ig_tensor *q = half ? ig_rd_muln(r, divide(r->c, half, low), 2) : NULL;
  ig_tensor *rest = ig_rd_sub(r, a, ig_rd_mul(r, q, low));
  q = ig_rd_add(r, q, not_below(r, rest, low));
  ig_tensor *once = not_below(r, a, b);
  return q && once ? ig_where_self(r->c, high, once, q) : NULL;
}

ig_tensor *ig_rd_div(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  if (!a || !b || a->dtype != IG_U64) return arith(r, divide, a, b);
  a = ig_cast(r->c, a, IG_I64);
  b = ig_cast(r->c, b, IG_I64);
  return a && b ? ig_cast(r->c, quotient(r, a, b), IG_U64) : NULL;
}

ig_tensor *ig_rd_shift_right(ig_rd *r, ig_tensor *a, ig_tensor *by) {
  if (!a || !by || a->dtype != IG_U64) return arith(r, ig_bitwise_right_shift_tensor, a, by);
  a = ig_cast(r->c, a, IG_I64);
  by = ig_cast(r->c, by, IG_I64);
  if (!a || !by) return NULL;
  ig_tensor *none = ig_eq_scalar(r->c, by, ig_of_i64(0));
  ig_tensor *less = ig_clamp_with(r->c, ig_rd_addn(r, by, -1), ig_of_i64(0), ig_none());
  ig_tensor *moved = less ? halved(r, a) : NULL;
  moved = moved ? ig_bitwise_right_shift_tensor(r->c, moved, less) : NULL;
  return moved ? ig_cast(r->c, ig_where_self(r->c, none, a, moved), IG_U64) : NULL;
}

// A number with a tensor: integers stay integers with integer tensors.
static ig_value number(const ig_tensor *t, double v) {
  return ig_dtype_is_integral(t->dtype) ? ig_of_i64((int64_t)v) : ig_of_f64(v);
}
ig_tensor *ig_rd_addn(ig_rd *r, ig_tensor *a, double b) {
  if (!a) return NULL;
  ig_value v = number(a, b);
  return ig_add_value(r->c, a, &v);
}
ig_tensor *ig_rd_muln(ig_rd *r, ig_tensor *a, double b) {
  if (!a) return NULL;
  ig_value v = number(a, b);
  return ig_mul_value(r->c, a, &v);
}

ig_tensor *ig_rd_sum(ig_rd *r, ig_tensor *t, const int64_t *dims, size_t n, bool keep) {
  ig_int room[IG_MAX_DIM];
  if (!t) return NULL;
  return ig_sum_dim_intlist_with(r->c, t, int_list(room, dims, n), keep, ig_none());
}

ig_tensor *ig_rd_mean(ig_rd *r, ig_tensor *t, const int64_t *dims, size_t n, bool keep) {
  ig_int room[IG_MAX_DIM];
  return t ? ig_mean_dim_with(r->c, t, int_list(room, dims, n), keep, ig_none()) : NULL;
}

ig_tensor *ig_rd_full(ig_rd *r, const ig_int *sizes, size_t n, double v, ig_dtype dtype) {
  if (!ig_rd_budget(r, sizes, n, dtype)) return NULL;
  bool whole = ig_dtype_is_integral(dtype) || dtype == IG_BOOL;
  return ig_full_with(r->c, ig_of_ints(sizes, n), whole ? ig_of_i64((int64_t)v) : ig_of_f64(v),
                      ig_of_dtype(dtype), ig_none(), ig_none(), ig_none());
}

ig_tensor *ig_rd_along(ig_rd *r, ig_tensor *t, int axis, int ndim) {
  if (!t) return NULL;
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < ndim; d++) sizes[d] = d == axis ? ig_numel_of(r->c, t) : ig_const(1);
  return ig_rd_reshape(r, t, sizes, (size_t)ndim);
}

// ---- conversion of element types

// Rounding to a small float that float32 carries.
static ig_tensor *round_small(ig_rd *r, ig_tensor *t, int to, bool saturate) {
  const float *from = ig_rd_bytes(r, t, IG_F32);
  if (!from) return NULL;
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;  // concrete: t has bytes
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, t->ndim);
  float *at = out ? ig_tensor_data(out) : NULL;
  int64_t n = out ? ig_tensor_numel(out) : 0;
  for (int64_t i = 0; i < n; i++) {
    at[i] = ig_small_to_f32(to, ig_small_from_f32(to, from[i], saturate));
  }
  return out;
}

// Sub-byte integers: the low bits, with their sign.
static ig_tensor *wrap_bits(ig_rd *r, ig_tensor *t, int to) {
  unsigned bits = ig_om_elem_bits(to);
  int64_t range = (int64_t)1 << bits;
  bool is_signed = to == IG_OM_INT4 || to == IG_OM_INT2;
  t = ig_cast(r->c, t, IG_I64);
  t = t ? ig_bitwise_and_scalar(r->c, t, ig_of_i64(range - 1)) : NULL;
  if (is_signed && t) {
    int64_t half = range / 2;
    t = ig_bitwise_xor_scalar(r->c, t, ig_of_i64(half));
    t = ig_rd_addn(r, t, -(double)half);
  }
  return ig_cast(r->c, t, ig_rd_carrier(to));
}

// The 8-bit floats that ATen has: it does not saturate by itself.
static ig_tensor *to_f8(ig_rd *r, ig_tensor *t, int to, bool saturate) {
  double max = to == IG_OM_F8E4M3FN ? 448 : 57344;
  t = ig_cast(r->c, t, IG_F32);
  if (saturate && t) t = ig_clamp_with(r->c, t, ig_of_f64(-max), ig_of_f64(max));
  return ig_cast(r->c, t, ig_om_elem_dtype(to));
}

ig_tensor *ig_rd_cast(ig_rd *r, ig_tensor *t, int from, int to, bool saturate) {
  if (!t || from == to) return t;
  ig_dtype carrier = ig_rd_carrier(to);
  if (carrier == IG_DTYPE_COUNT) {
    ig_rd_fail(r, IG_UNSUPPORTED, "conversion to %s is not supported", ig_om_elem_text(to));
    return NULL;
  }
  bool small = t->dtype == IG_F8E4M3FN || t->dtype == IG_F8E5M2;
  if (small && carrier != t->dtype) t = ig_cast(r->c, t, IG_F32);
  if (to == IG_OM_F8E4M3FN || to == IG_OM_F8E5M2) return to_f8(r, t, to, saturate);
  if (ig_is_small_float(to)) return round_small(r, t, to, saturate);
  if (ig_om_elem_bits(to) < 8) return wrap_bits(r, t, to);
  return ig_cast(r->c, t, carrier);
}

// In shape inference nothing is computed, and a product is written so that unknown sizes need no
// decision: every pair of elements, then the sum.
ig_tensor *ig_rd_matmul(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  if (!a || !b) return NULL;
  if (!r->told || a->ndim < 2 || b->ndim < 2) return ig_matmul(r->c, a, b);
  ig_tensor *left = ig_rd_unsqueeze(r, a, -1);
  ig_tensor *right = ig_rd_unsqueeze(r, b, -3);
  ig_tensor *pairs = ig_rd_mul(r, left, right);
  int64_t inner = -2;
  ig_tensor *sum = ig_rd_sum(r, pairs, &inner, 1, false);
  return ig_cast(r->c, sum, a->dtype);  // sums of integers are wider
}

ig_tensor *ig_rd_ordered(ig_rd *r, ig_tensor *t) {
  if (!t || (t->dtype != IG_U16 && t->dtype != IG_U32 && t->dtype != IG_U64)) return t;
  ig_tensor *wide = ig_cast(r->c, t, IG_I64);
  return t->dtype == IG_U64 ? turned(r, wide) : wide;
}

ig_tensor *ig_rd_unordered(ig_rd *r, ig_tensor *t, ig_dtype dtype) {
  if (!t || (dtype != IG_U16 && dtype != IG_U32 && dtype != IG_U64)) return t;
  return ig_cast(r->c, dtype == IG_U64 ? turned(r, t) : t, dtype);
}
