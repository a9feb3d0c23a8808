// SPDX-License-Identifier: Apache-2.0
// Calls on complex tensors that treat both parts alike: the same operator, called on the pairs,
// with other dims or sizes.
#include "onnx/lower.h"
#include "onnx/pairs.h"
#include "op/shape.h"

// What an argument becomes.
typedef enum change {
  NONE,       // there is no such argument
  SAME,       // unchanged
  PAIRS,      // a complex tensor, or a list of them; real ones among them become pairs
  DIM,        // counted from the front
  NEW_DIM,    // of a result with one more
  DIMS,       // none of them: all
  ONLY_DIMS,  // none of them: all elements in a row, which has no rule
  ORDER,      // of all dims
  SIZES,      // which get the 2 behind them
  REPEATS,    // which get a 1 behind them
  BORDERS,    // from the last dim on, which get none
} change;

enum { MOST_ARGS = 6 };

static const struct {
  unsigned id;
  uint8_t args[MOST_ARGS + 1];  // of change
} alike[] = {
    {IG_ID_VIEW, {PAIRS, SIZES}},
    {IG_ID_RESHAPE, {PAIRS, SIZES}},
    {IG_ID__UNSAFE_VIEW, {PAIRS, SIZES}},
    {IG_ID_EXPAND, {PAIRS, SIZES, SAME}},
    {IG_ID_PERMUTE, {PAIRS, ORDER}},
    {IG_ID_TRANSPOSE_INT, {PAIRS, DIM, DIM}},
    {IG_ID_UNSQUEEZE, {PAIRS, NEW_DIM}},
    {IG_ID_SQUEEZE_DIM, {PAIRS, DIM}},
    {IG_ID_SQUEEZE_DIMS, {PAIRS, DIMS}},
    {IG_ID_SELECT_INT, {PAIRS, DIM, SAME}},
    {IG_ID_SLICE_TENSOR, {PAIRS, DIM, SAME, SAME, SAME}},
    {IG_ID_CAT, {PAIRS, DIM}},
    {IG_ID_STACK, {PAIRS, NEW_DIM}},
    {IG_ID_FLIP, {PAIRS, DIMS}},
    {IG_ID_ROLL, {PAIRS, SAME, ONLY_DIMS}},
    {IG_ID_SPLIT_TENSOR, {PAIRS, SAME, DIM}},
    {IG_ID_SPLIT_WITH_SIZES, {PAIRS, SAME, DIM}},
    {IG_ID_UNBIND_INT, {PAIRS, DIM}},
    {IG_ID_INDEX_SELECT, {PAIRS, DIM, SAME}},
    {IG_ID_INDEX_TENSOR, {PAIRS, SAME}},
    {IG_ID_CONSTANT_PAD_ND, {PAIRS, BORDERS, SAME}},
    {IG_ID_REPEAT, {PAIRS, REPEATS}},
    {IG_ID_CLONE, {PAIRS, SAME}},
    {IG_ID_ALIAS, {PAIRS}},
    {IG_ID_DETACH, {PAIRS}},
    {IG_ID_LIFT_FRESH_COPY, {PAIRS}},
    {IG_ID_NEG, {PAIRS}},
    {IG_ID_SUM_DIM_INTLIST, {PAIRS, DIMS, SAME, SAME}},
    {IG_ID_MEAN_DIM, {PAIRS, DIMS, SAME, SAME}},
    {IG_ID_CUMSUM, {PAIRS, DIM, SAME}},
    {IG_ID_COPY, {PAIRS, PAIRS, SAME}},
    {IG_ID_SLICE_SCATTER, {PAIRS, PAIRS, DIM, SAME, SAME, SAME}},
    {IG_ID_SELECT_SCATTER, {PAIRS, PAIRS, DIM, SAME}},
    {IG_ID_INDEX_PUT, {PAIRS, SAME, PAIRS, SAME}},
};

ig_value ig_onnx_wrapped_dim(ig_ctx *c, ig_value dim, int ndim) {
  return dim.i.value < 0 && !dim.i.expr ? ig_of_i64(ig_wrap_dim(c, dim.i.value, ndim)) : dim;
}

// A list with its dims counted from the front (wrap) and one number more at its end or beginning.
static ig_value changed(ig_ctx *c, const ig_value *v, int wrap, size_t front, size_t back,
                        int64_t more) {
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : 0;
  ig_int *out = ig_scope_array(c, ig_mem_add(ig_mem_add(n, front), back), sizeof *out);
  if (!out) return ig_none();
  for (size_t i = 0; i < front; i++) out[i] = ig_const(more);
  for (size_t i = 0; i < n; i++) {
    ig_value dim = ig_of_int(v->ints.at[i]);
    out[front + i] = wrap ? ig_onnx_wrapped_dim(c, dim, wrap).i : dim.i;
  }
  for (size_t i = 0; i < back; i++) out[front + n + i] = ig_const(more);
  return ig_of_ints(out, n + front + back);
}

ig_value ig_onnx_all_dims(ig_ctx *c, int ndim) {
  ig_int *out = ig_scope_array(c, (size_t)ndim, sizeof *out);
  for (int d = 0; out && d < ndim; d++) out[d] = ig_const(d);
  return out ? ig_of_ints(out, (size_t)ndim) : ig_none();
}

static ig_value pairs_of_all(ig_ctx *c, const ig_value *v, ig_dtype real) {
  if (v->kind != IG_KIND_LIST) {
    ig_complex_operand one = ig_pairs_operand(c, v, real);
    return ig_of_tensor(c->status == IG_OK ? ig_operand_pairs(c, &one, real) : NULL);
  }
  ig_value *out = ig_scope_array(c, v->list.n, sizeof *out);
  for (size_t i = 0; out && i < v->list.n && c->status == IG_OK; i++) {
    ig_complex_operand o = ig_pairs_operand(c, &v->list.at[i], real);
    out[i] = ig_of_tensor(ig_operand_pairs(c, &o, real));
  }
  return out ? ig_of_list(out, v->list.n) : ig_none();
}

static const ig_tensor *first_complex(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (ig_pairs_is_complex(&v->list.at[i])) return v->list.at[i].tensor;
  }
  return NULL;
}

// What the argument becomes in a call on pairs of z; false: there is no rule for it.
static bool change_argument(ig_ctx *c, const ig_tensor *z, change how, const ig_value *v,
                            ig_value *out) {
  bool none = v->kind == IG_KIND_NONE || (v->kind == IG_KIND_INTS && !v->ints.n);
  // The only dim of a tensor without dims would be that of its pair.
  if (z->ndim == 0 && (how == DIM || how == DIMS || how == ONLY_DIMS)) return false;
  *out = *v;
  switch (how) {
    case PAIRS:
      *out = pairs_of_all(c, v, ig_to_real(z->dtype));
      return true;
    case DIM:
      *out = ig_onnx_wrapped_dim(c, *v, z->ndim);
      return true;
    case NEW_DIM:
      *out = ig_onnx_wrapped_dim(c, *v, z->ndim + 1);
      return true;
    case ONLY_DIMS:
      *out = changed(c, v, z->ndim, 0, 0, 0);
      return !none;
    case DIMS:
      *out = none ? ig_onnx_all_dims(c, z->ndim) : changed(c, v, z->ndim, 0, 0, 0);
      return true;
    case ORDER:
      *out = changed(c, v, z->ndim, 0, 1, z->ndim);
      return true;
    case SIZES:
      *out = changed(c, v, 0, 0, 1, 2);
      return true;
    case REPEATS:
      *out = changed(c, v, 0, 0, 1, 1);
      return true;
    case BORDERS:
      *out = changed(c, v, 0, 2, 0, 0);
      return true;
    case NONE:
    case SAME:
      break;
  }
  return !ig_pairs_is_complex(v);
}

static const uint8_t *changes_of(const ig_op *op) {
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    if (alike[i].id == op->number) return alike[i].args;
  }
  return NULL;
}

bool ig_onnx_is_alike(const ig_op *op) {
  return changes_of(op) != NULL;
}

bool ig_onnx_lower_alike(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const uint8_t *changes = changes_of(op);
  const ig_tensor *z = first_complex(&args[0]);
  ig_value given[MOST_ARGS];
  if (!changes || !z || !ig_pairs_is_complex(&args[0])) return false;
  for (size_t i = 0; changes[i] != NONE; i++) {
    if (!change_argument(c, z, (change)changes[i], &args[i], &given[i])) return false;
  }
  if (c->status != IG_OK) return true;
  ig_call(c, op, given, outs);
  if (c->status != IG_OK) return true;
  if (outs[0].kind == IG_KIND_TENSOR) {
    outs[0] = ig_pairs_complex(c, outs[0].tensor);
    return true;
  }
  ig_value *list = ig_scope_array(c, outs[0].list.n, sizeof *list);
  for (size_t i = 0; list && i < outs[0].list.n; i++) {
    list[i] = ig_pairs_complex(c, outs[0].list.at[i].tensor);
  }
  outs[0] = list ? ig_of_list(list, outs[0].list.n) : ig_none();
  return true;
}
