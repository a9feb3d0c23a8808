// SPDX-License-Identifier: Apache-2.0
// Batches: every call of a graph of one slice becomes calls for all slices. Batched values have the
// slices in dim 0; a table says what an operator makes of one dim more.
#include "ingot/batch.h"

#include <string.h>

#include "base/options.h"
#include "ingot/aten.h"
#include "ir/table.h"
#include "op/interpret.h"
#include "op/random.h"

// What to do with a call some of whose operands are batched.
typedef enum how {
  SLICES,   // one call per slice
  ALIGN,    // broadcasting: ranks of batched operands are made equal
  SHIFT,    // dims move by one, sizes get the number of slices; only the first operand is batched
  EXPAND,   // the same after all operands were made batched
  PLAIN,    // sizes come from arguments: the result is the same for all slices
  WIDEN,    // like SHIFT; the first operand gets dims of size 1 up to the rank that is asked for
  WHOLE,    // a reduction of everything: over all dims but the first
  ORDER,    // dims in another order: those of the slices stay first
  TURN,     // a matrix transposed
  PRODUCT,  // of matrices and vectors
  SUM,      // a product added to the first operand, with factors for both
  MERGE,    // dim 0 of the first operand is its own batch: both are one dim for the call
  LIST,     // a list of tensors, all made batched
  PICK,     // advanced indexing
} how;

typedef struct rule {
  unsigned op;
  how how;
  unsigned dims;   // bit mask of arguments that are dims of the first operand
  unsigned sizes;  // of arguments that are sizes of a result or of the operand
  int more;        // dims beyond those of the operand that may be named: unsqueeze
  int rank;        // MERGE: dims of the operand of one slice with its own batch
} rule;

enum { A1 = 2, A2 = 4, A3 = 8 };

static const rule rules[] = {
    {IG_ID_CLONE, SHIFT, 0, 0, 0, 0},
    {IG_ID_DETACH, SHIFT, 0, 0, 0, 0},
    {IG_ID_ALIAS, SHIFT, 0, 0, 0, 0},
    {IG_ID__TO_COPY, SHIFT, 0, 0, 0, 0},
    {IG_ID_LIFT_FRESH_COPY, SHIFT, 0, 0, 0, 0},
    {IG_ID_ZEROS_LIKE, SHIFT, 0, 0, 0, 0},
    {IG_ID_ONES_LIKE, SHIFT, 0, 0, 0, 0},
    {IG_ID_FULL_LIKE, SHIFT, 0, 0, 0, 0},
    {IG_ID_EMPTY_LIKE, SHIFT, 0, 0, 0, 0},
    {IG_ID_NEW_ZEROS, PLAIN, 0, 0, 0, 0},
    {IG_ID_NEW_ONES, PLAIN, 0, 0, 0, 0},
    {IG_ID_NEW_EMPTY, PLAIN, 0, 0, 0, 0},
    {IG_ID_NEW_FULL, PLAIN, 0, 0, 0, 0},
    {IG_ID_SUM, WHOLE, 0, 0, 0, 0},
    {IG_ID_MEAN, WHOLE, 0, 0, 0, 0},
    {IG_ID_SUM_DIM_INTLIST, SHIFT, A1, 0, 0, 0},
    {IG_ID_MEAN_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_AMAX, SHIFT, A1, 0, 0, 0},
    {IG_ID_AMIN, SHIFT, A1, 0, 0, 0},
    {IG_ID_LOGSUMEXP, SHIFT, A1, 0, 0, 0},
    {IG_ID_VAR_CORRECTION, SHIFT, A1, 0, 0, 0},
    {IG_ID_STD_CORRECTION, SHIFT, A1, 0, 0, 0},
    {IG_ID_PROD_DIM_INT, SHIFT, A1, 0, 0, 0},
    {IG_ID_ANY_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_ALL_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_MAX_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_MIN_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_CUMSUM, SHIFT, A1, 0, 0, 0},
    {IG_ID_CUMPROD, SHIFT, A1, 0, 0, 0},
    {IG_ID_SORT, SHIFT, A1, 0, 0, 0},
    {IG_ID_TOPK, SHIFT, A2, 0, 0, 0},
    {IG_ID_FLIP, SHIFT, A1, 0, 0, 0},
    {IG_ID__SOFTMAX, SHIFT, A1, 0, 0, 0},
    {IG_ID__LOG_SOFTMAX, SHIFT, A1, 0, 0, 0},
    {IG_ID__SOFTMAX_BACKWARD_DATA, EXPAND, A2, 0, 0, 0},
    {IG_ID__LOG_SOFTMAX_BACKWARD_DATA, EXPAND, A2, 0, 0, 0},
    {IG_ID_SELECT_INT, SHIFT, A1, 0, 0, 0},
    {IG_ID_SLICE_TENSOR, SHIFT, A1, 0, 0, 0},
    {IG_ID_SELECT_BACKWARD, SHIFT, A2, A1, 0, 0},
    {IG_ID_SLICE_BACKWARD, SHIFT, A2, A1, 0, 0},
    {IG_ID_UNSQUEEZE, SHIFT, A1, 0, 1, 0},
    {IG_ID_SQUEEZE_DIM, SHIFT, A1, 0, 0, 0},
    {IG_ID_SQUEEZE_DIMS, SHIFT, A1, 0, 0, 0},
    {IG_ID_TRANSPOSE_INT, SHIFT, A1 | A2, 0, 0, 0},
    {IG_ID_DIAGONAL, SHIFT, A2 | A3, 0, 0, 0},
    {IG_ID_UNBIND_INT, SHIFT, A1, 0, 0, 0},
    {IG_ID_SPLIT_TENSOR, SHIFT, A2, 0, 0, 0},
    {IG_ID_SPLIT_WITH_SIZES, SHIFT, A2, 0, 0, 0},
    {IG_ID_INDEX_SELECT, SHIFT, A1, 0, 0, 0},
    {IG_ID_CONSTANT_PAD_ND, SHIFT, 0, 0, 0, 0},
    {IG_ID_TRIL, SHIFT, 0, 0, 0, 0},
    {IG_ID_TRIU, SHIFT, 0, 0, 0, 0},
    {IG_ID_NATIVE_LAYER_NORM, SHIFT, 0, 0, 0, 0},
    {IG_ID_GATHER, EXPAND, A1, 0, 0, 0},
    {IG_ID_SCATTER_SRC, EXPAND, A1, 0, 0, 0},
    {IG_ID_SCATTER_VALUE, EXPAND, A1, 0, 0, 0},
    {IG_ID_SCATTER_ADD, EXPAND, A1, 0, 0, 0},
    {IG_ID_RESHAPE, SHIFT, 0, A1, 0, 0},
    {IG_ID_VIEW, SHIFT, 0, A1, 0, 0},
    {IG_ID__UNSAFE_VIEW, SHIFT, 0, A1, 0, 0},
    {IG_ID_EXPAND, WIDEN, 0, A1, 0, 0},
    {IG_ID_REPEAT, WIDEN, 0, A1, 0, 0},
    {IG_ID_PERMUTE, ORDER, A1, 0, 0, 0},
    {IG_ID_T, TURN, 0, 0, 0, 0},
    {IG_ID_ADDMM, SUM, 0, 0, 0, 0},
    {IG_ID_MM, PRODUCT, 0, 0, 0, 0},
    {IG_ID_BMM, PRODUCT, 0, 0, 0, 0},
    {IG_ID_MV, PRODUCT, 0, 0, 0, 0},
    {IG_ID_DOT, PRODUCT, 0, 0, 0, 0},
    {IG_ID_CONVOLUTION, MERGE, 0, 0, 0, 4},
    {IG_ID_MAX_POOL2D_WITH_INDICES, MERGE, 0, 0, 0, 4},
    {IG_ID_AVG_POOL2D, MERGE, 0, 0, 0, 4},
    {IG_ID__ADAPTIVE_AVG_POOL2D, MERGE, 0, 0, 0, 4},
    {IG_ID_CAT, LIST, A1, 0, 0, 0},
    {IG_ID_STACK, LIST, A1, 0, 1, 0},
    {IG_ID_INDEX_TENSOR, PICK, 0, 0, 0, 0},
};

typedef struct batch {
  const ig_batch_args *args;
  const ig_rewrite *outer;  // who looked at calls before
  ig_table marked;          // batched tensors, retained
  ig_alloc alloc;
} batch;

static bool is_marked(const batch *b, const ig_value *v) {
  return v->kind == IG_KIND_TENSOR && v->tensor && ig_table_find(&b->marked, v->tensor);
}

static bool any_marked(const batch *b, const ig_value *v) {
  bool any = is_marked(b, v);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !any; i++) {
    any = any_marked(b, &v->list.at[i]);
  }
  return any;
}

static bool mark(ig_ctx *c, batch *b, const ig_value *v) {
  if (v->kind == IG_KIND_LIST) {
    bool ok = true;
    for (size_t i = 0; ok && i < v->list.n; i++) ok = mark(c, b, &v->list.at[i]);
    return ok;
  }
  if (v->kind != IG_KIND_TENSOR || !v->tensor || ig_table_find(&b->marked, v->tensor)) return true;
  if (!ig_table_put(&b->marked, v->tensor)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  (void)ig_tensor_retain(v->tensor);
  return true;
}

static void mark_all(ig_ctx *c, batch *b, const ig_value *outs, size_t n) {
  for (size_t i = 0; i < n && c->status == IG_OK; i++) (void)mark(c, b, &outs[i]);
}

// ---- shapes

static int rank_of(const batch *b, const ig_tensor *t) {
  ig_value v = ig_of_tensor((ig_tensor *)t);
  return t->ndim - (is_marked(b, &v) ? 1 : 0);
}

// The sizes of t with `front` first, then `ones` dims of size 1, then dims from `from` on.
static ig_value sizes_of(ig_ctx *c, const ig_tensor *t, ig_int front, int ones, int from) {
  size_t n = (size_t)(1 + ones + t->ndim - from);
  ig_int *at = ig_scope_array(c, n, sizeof *at);
  if (!at) return ig_none();
  at[0] = front;
  for (int i = 0; i < ones; i++) at[1 + i] = ig_const(1);
  for (int i = from; i < t->ndim; i++) at[1 + ones + i - from] = ig_sizes(t)[i];
  return ig_of_ints(at, n);
}

// A batched operand with dims of size 1 between the slices and its own, up to `rank` of them.
static ig_tensor *widened(ig_ctx *c, ig_tensor *t, int rank) {
  if (t->ndim - 1 >= rank) return t;
  return ig_reshape(c, t, sizes_of(c, t, ig_sizes(t)[0], rank - (t->ndim - 1), 1));
}

static ig_tensor *made_batched(ig_ctx *c, const batch *b, ig_tensor *t) {
  ig_value v = ig_of_tensor(t);
  return is_marked(b, &v) ? t : ig_expand(c, t, sizes_of(c, t, b->args->slices, 0, 0));
}

// ---- arguments

static bool has_list(const ig_value *v) {
  return v->kind == IG_KIND_INTS;
}

// False: the dim does not exist, the call itself says so.
static bool shift(ig_int *dim, int rank) {
  if (dim->expr || dim->value < -rank || dim->value >= rank) return false;
  dim->value += (dim->value < 0 ? rank : 0) + 1;
  return true;
}

// No dims are all dims of a slice.
static bool shift_arg(ig_ctx *c, ig_value *v, int rank) {
  if (v->kind == IG_KIND_INT) return shift(&v->i, rank);
  bool all = v->kind == IG_KIND_NONE || (has_list(v) && v->ints.n == 0);
  if (!all && !has_list(v)) return false;
  size_t n = all ? (size_t)rank : v->ints.n;
  ig_int *at = ig_scope_array(c, n + 1, sizeof *at);
  if (!at) return false;
  for (size_t i = 0; i < n; i++) {
    at[i] = all ? ig_const((int64_t)i) : v->ints.at[i];
    if (!shift(&at[i], rank)) return false;
  }
  *v = ig_of_ints(at, n);
  return true;
}

static bool size_arg(ig_ctx *c, ig_value *v, ig_int front) {
  if (!has_list(v)) return false;
  ig_int *at = ig_scope_array(c, v->ints.n + 1, sizeof *at);
  if (!at) return false;
  at[0] = front;
  for (size_t i = 0; i < v->ints.n; i++) at[i + 1] = v->ints.at[i];
  *v = ig_of_ints(at, v->ints.n + 1);
  return true;
}

// The dims and sizes among the arguments. rank: that of a slice, unless sizes tell.
static bool shift_args(ig_ctx *c, const batch *b, const rule *r, int rank, ig_value *args,
                       size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(r->sizes >> i & 1)) continue;
    if (has_list(&args[i]) && r->dims) rank = (int)args[i].ints.n;
    ig_int front = r->how == WIDEN && r->op == IG_ID_REPEAT ? ig_const(1) : b->args->slices;
    if (!size_arg(c, &args[i], front)) return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (r->dims >> i & 1 && !shift_arg(c, &args[i], rank + r->more)) return false;
  }
  return true;
}

static size_t count_marked(const batch *b, const ig_value *args, size_t n) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) found += any_marked(b, &args[i]);
  return found;
}

// ---- rules. False: not for this call, which is made slice by slice.

static bool by_shift(ig_ctx *c, batch *b, const ig_op *op, const rule *r, ig_value *args,
                     ig_value *outs) {
  bool alone = is_marked(b, &args[0]) && count_marked(b, args, op->schema.nargs) == 1;
  int rank = alone ? args[0].tensor->ndim - 1 : 0;
  if (!alone || (rank == 0 && r->dims && !r->more)) return false;
  if (r->how == WIDEN && has_list(&args[1])) {
    args[0].tensor = widened(c, args[0].tensor, (int)args[1].ints.n);
  }
  if (!shift_args(c, b, r, rank, args, op->schema.nargs)) return false;
  if (r->op == IG_ID_VIEW || r->op == IG_ID__UNSAFE_VIEW) {  // slices may lie anywhere in memory
    outs[0] = ig_of_tensor(ig_reshape(c, args[0].tensor, args[1]));
  } else {
    ig_call(c, op, args, outs);
  }
  return true;
}

static bool by_expand(ig_ctx *c, batch *b, const ig_op *op, const rule *r, ig_value *args,
                      ig_value *outs) {
  int rank = args[0].kind == IG_KIND_TENSOR ? rank_of(b, args[0].tensor) : 0;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (args[i].kind != IG_KIND_TENSOR || !args[i].tensor) continue;
    if (rank == 0 || rank_of(b, args[i].tensor) != rank) return false;
    args[i].tensor = made_batched(c, b, args[i].tensor);
  }
  if (!shift_args(c, b, r, rank, args, op->schema.nargs)) return false;
  ig_call(c, op, args, outs);
  return true;
}

static bool by_align(ig_ctx *c, batch *b, const ig_op *op, ig_value *args, ig_value *outs) {
  int rank = 0;
  size_t n = op->schema.nargs;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_LIST) return false;
    if (args[i].kind != IG_KIND_TENSOR || !args[i].tensor) continue;
    int own = rank_of(b, args[i].tensor);
    if (own > rank) rank = own;
  }
  for (size_t i = 0; i < n; i++) {
    // A number of one slice does not decide the dtype of a result; a batch of them would.
    if (is_marked(b, &args[i]) && args[i].tensor->ndim == 1 && rank > 0 &&
        args[i].tensor->dtype != args[0].tensor->dtype) {
      return false;
    }
    if (is_marked(b, &args[i])) args[i].tensor = widened(c, args[i].tensor, rank);
  }
  ig_call(c, op, args, outs);
  return true;
}

static bool by_whole(ig_ctx *c, batch *b, const ig_op *op, const rule *r, ig_value *args,
                     ig_value *outs) {
  (void)b;
  ig_tensor *t = args[0].tensor;
  if (t->ndim == 1) t = ig_unsqueeze(c, t, ig_const(1));
  if (!t) return true;
  ig_value dims = ig_of_ints(NULL, 0);
  if (!shift_arg(c, &dims, t->ndim - 1)) return false;
  ig_value dtype = op->schema.nargs > 1 ? args[1] : ig_none();
  ig_tensor *out = r->op == IG_ID_SUM ? ig_sum_dim_intlist_with(c, t, dims, false, dtype)
                                      : ig_mean_dim_with(c, t, dims, false, dtype);
  outs[0] = ig_of_tensor(out);
  return true;
}

// Vectors are matrices of one row or column.
static bool by_product(ig_ctx *c, batch *b, const rule *r, ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  bool row = r->op == IG_ID_DOT;
  bool column = row || r->op == IG_ID_MV;
  if (row && rank_of(b, x) == 1) x = ig_unsqueeze(c, x, ig_const(-2));
  if (column && rank_of(b, y) == 1) y = ig_unsqueeze(c, y, ig_const(-1));
  ig_tensor *out = x && y ? ig_matmul(c, x, y) : NULL;
  if (out && column) out = ig_squeeze_dim(c, out, ig_const(-1));
  if (out && row) out = ig_squeeze_dim(c, out, ig_const(-1));
  outs[0] = ig_of_tensor(out);
  return true;
}

static bool by_sum(ig_ctx *c, batch *b, ig_value *args, ig_value *outs) {
  ig_tensor *added = is_marked(b, &args[0]) ? widened(c, args[0].tensor, 2) : args[0].tensor;
  ig_tensor *out = ig_matmul(c, args[1].tensor, args[2].tensor);
  if (out && added) out = ig_mul_scalar(c, out, args[4]);
  if (out && added) added = ig_mul_scalar(c, added, args[3]);
  if (out && added) out = ig_add_tensor(c, added, out);
  outs[0] = ig_of_tensor(out);
  return true;
}

static bool by_order(ig_ctx *c, const ig_op *op, ig_value *args, ig_value *outs) {
  if (!has_list(&args[1])) return false;
  int rank = args[0].tensor->ndim - 1;
  if (rank > 0 && !shift_arg(c, &args[1], rank)) return false;
  if (!size_arg(c, &args[1], ig_const(0))) return false;
  ig_call(c, op, args, outs);
  return true;
}

static bool by_turn(ig_ctx *c, ig_value *args, ig_value *outs) {
  ig_tensor *t = args[0].tensor;
  bool matrix = t->ndim == 3;
  outs[0] =
      ig_of_tensor(matrix ? ig_transpose_int(c, t, ig_const(1), ig_const(2)) : ig_alias(c, t));
  return true;
}

static bool by_merge(ig_ctx *c, batch *b, const ig_op *op, const rule *r, ig_value *args,
                     ig_value *outs) {
  ig_tensor *t = args[0].tensor;
  bool alone = is_marked(b, &args[0]) && count_marked(b, args, op->schema.nargs) == 1;
  if (!alone || t->ndim != r->rank + 1) return false;
  ig_int own = ig_sizes(t)[1];
  args[0].tensor = ig_reshape(c, t, sizes_of(c, t, ig_const(-1), 0, 2));
  if (!args[0].tensor) return true;
  ig_call(c, op, args, outs);
  for (size_t i = 0; i < op->schema.nrets && c->status == IG_OK; i++) {
    ig_tensor *o = outs[i].tensor;
    ig_value sizes = sizes_of(c, o, b->args->slices, 1, 1);
    if (sizes.kind != IG_KIND_INTS) return true;
    ((ig_int *)sizes.ints.at)[1] = own;
    outs[i] = ig_of_tensor(ig_reshape(c, o, sizes));
  }
  return true;
}

static bool by_list(ig_ctx *c, batch *b, const ig_op *op, const rule *r, ig_value *args,
                    ig_value *outs) {
  size_t n = args[0].list.n;
  ig_value *items = ig_scope_array(c, n + 1, sizeof *items);
  if (!items || n == 0) return false;
  int rank = rank_of(b, args[0].list.at[0].tensor);
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = args[0].list.at[i].tensor;
    if (rank_of(b, t) != rank || rank + r->more == 0) return false;
    items[i] = ig_of_tensor(made_batched(c, b, t));
  }
  args[0].list.at = items;
  if (!shift_args(c, b, r, rank, args, op->schema.nargs)) return false;
  ig_call(c, op, args, outs);
  return true;
}

// Indices that stand next to each other, from the first dim on; their results stay behind the dim
// of the slices.
static bool by_pick(ig_ctx *c, batch *b, const ig_op *op, ig_value *args, ig_value *outs) {
  size_t n = args[1].list.n;
  const ig_value *given = args[1].list.at;
  bool batched = is_marked(b, &args[0]);
  bool indices = any_marked(b, &args[1]);
  int rank = 0;
  for (size_t i = 0; i < n; i++) {
    if (given[i].kind != IG_KIND_TENSOR || !given[i].tensor) return false;
    if (given[i].tensor->dtype == IG_BOOL || given[i].tensor->dtype == IG_U8) return false;
    int own = rank_of(b, given[i].tensor);
    if (own > rank) rank = own;
  }
  ig_value *items = ig_scope_array(c, n + 1, sizeof *items);
  if (!items) return false;
  size_t first = batched ? 1 : 0;
  items[0] = ig_none();
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = given[i].tensor;
    items[first + i] = ig_of_tensor(is_marked(b, &given[i]) ? widened(c, t, rank) : t);
  }
  if (batched && indices) {
    ig_value end = {.kind = IG_KIND_INT, .i = b->args->slices};
    ig_tensor *slice = ig_arange(c, end);
    if (slice) items[0] = ig_of_tensor(widened(c, slice, rank));
  }
  args[1].list.at = items;
  args[1].list.n = first + n;
  if (c->status == IG_OK) ig_call(c, op, args, outs);
  return true;
}

static const rule *find_rule(const ig_op *op) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].op == op->number && op->form == IG_FORM_PLAIN) return &rules[i];
  }
  return NULL;
}

// ---- one call per slice

static ig_value slice_of(ig_ctx *c, const batch *b, const ig_value *v, int64_t i) {
  if (is_marked(b, v)) return ig_of_tensor(ig_select_int(c, v->tensor, ig_const(0), ig_const(i)));
  if (v->kind != IG_KIND_LIST || !any_marked(b, v)) return *v;
  ig_value out = *v;
  ig_value *items = ig_scope_array(c, v->list.n + 1, sizeof *items);
  for (size_t k = 0; items && k < v->list.n; k++) items[k] = slice_of(c, b, &v->list.at[k], i);
  out.list.at = items;
  return out;
}

static ig_value stacked(ig_ctx *c, ig_value *const *all, size_t out, size_t item, bool list,
                        size_t n) {
  ig_value *parts = ig_scope_array(c, n + 1, sizeof *parts);
  for (size_t i = 0; parts && i < n; i++) {
    parts[i] = list ? all[i][out].list.at[item] : all[i][out];
  }
  if (!parts || parts[0].kind != IG_KIND_TENSOR) return parts ? parts[0] : ig_none();
  return ig_of_tensor(ig_stack(c, ig_of_list(parts, n)));
}

static void stack_results(ig_ctx *c, const ig_op *op, ig_value *const *all, size_t n,
                          ig_value *outs) {
  for (size_t r = 0; r < op->schema.nrets && c->status == IG_OK; r++) {
    if (all[0][r].kind != IG_KIND_LIST) {
      outs[r] = stacked(c, all, r, 0, false, n);
      continue;
    }
    size_t count = all[0][r].list.n;
    ig_value *items = ig_scope_array(c, count + 1, sizeof *items);
    for (size_t k = 0; items && k < count; k++) items[k] = stacked(c, all, r, k, true, n);
    if (items) outs[r] = ig_of_list(items, count);
  }
}

static bool gives_tensors(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (op->schema.rets[i].type != IG_TYPE_TENSOR) return false;
  }
  return true;
}

static void by_slices(ig_ctx *c, const batch *b, const ig_op *op, const ig_value *args,
                      ig_value *outs) {
  int64_t n = b->args->slices.value;
  if (b->args->slices.expr || n == 0 || !gives_tensors(op)) {
    (void)ig_fail(c, IG_RUNTIME,
                  "vmap: %s has no rule for batches%s; a function whose number of slices is known "
                  "and not 0, and which returns tensors, runs once per slice",
                  op->target, n == 0 ? ", and there are no slices" : "");
    return;
  }
  ig_value **all = ig_scope_array(c, (size_t)n, sizeof *all);
  bool same = b->args->random == IG_BATCH_SAME && op->facts & IG_FACT_SEEDED;
  ig_generator *g = same ? ig_generator_default(c) : NULL;
  uint8_t state[IG_RANDOM_STATE_BYTES];
  if (g) ig_generator_get_state(g, state);
  for (int64_t i = 0; all && i < n && c->status == IG_OK; i++) {
    ig_value slice[IG_MAX_ARGS];
    all[i] = ig_scope_array(c, IG_MAX_RETURNS, sizeof **all);
    if (!all[i]) return;
    for (size_t k = 0; k < op->schema.nargs; k++) slice[k] = slice_of(c, b, &args[k], i);
    if (g) (void)ig_generator_set_state(c, g, state, sizeof state);
    if (c->status == IG_OK) ig_call(c, op, slice, all[i]);
  }
  if (all && c->status == IG_OK) stack_results(c, op, all, (size_t)n, outs);
}

// ---- calls

static bool by_rule(ig_ctx *c, batch *b, const ig_op *op, const ig_value *given, ig_value *outs,
                    bool *batched) {
  const rule *r = find_rule(op);
  ig_value args[IG_MAX_ARGS];
  memcpy(args, given, op->schema.nargs * sizeof *args);
  if (!r) return op->pointwise && op->form == IG_FORM_PLAIN && by_align(c, b, op, args, outs);
  switch (r->how) {
    case SHIFT:
    case WIDEN:
      return by_shift(c, b, op, r, args, outs);
    case EXPAND:
      return by_expand(c, b, op, r, args, outs);
    case ALIGN:
      return by_align(c, b, op, args, outs);
    case WHOLE:
      return by_whole(c, b, op, r, args, outs);
    case ORDER:
      return by_order(c, op, args, outs);
    case TURN:
      return by_turn(c, args, outs);
    case SUM:
      return by_sum(c, b, args, outs);
    case PRODUCT:
      return by_product(c, b, r, args, outs);
    case MERGE:
      return by_merge(c, b, op, r, args, outs);
    case LIST:
      return by_list(c, b, op, r, args, outs);
    case PICK:
      return by_pick(c, b, op, args, outs);
    case PLAIN:
      *batched = false;
      ig_call(c, op, args, outs);
      return true;
    case SLICES:
    default:
      return false;
  }
}

static void run_call(ig_ctx *c, batch *b, const ig_op *op, const ig_value *args, ig_value *outs) {
  bool random = op->facts & IG_FACT_SEEDED;
  bool batched = false;
  for (size_t i = 0; i < op->schema.nargs && !batched; i++) batched = any_marked(b, &args[i]);
  if (random && b->args->random == IG_BATCH_REFUSE) {
    (void)ig_fail(c, IG_RUNTIME,
                  "vmap: called random operation while in randomness error mode. Please either use "
                  "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                  "operation out of vmap");
    return;
  }
  if (!batched && !(random && b->args->random == IG_BATCH_DIFFERENT)) {
    ig_call(c, op, args, outs);
    return;
  }
  batched = true;
  if (random || !by_rule(c, b, op, args, outs, &batched)) by_slices(c, b, op, args, outs);
  if (batched && c->status == IG_OK) mark_all(c, b, outs, op->schema.nrets);
}

static bool take_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                      void *user) {
  batch *b = user;
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = b->outer}});
  ig_scope s = ig_scope_open(c);
  run_call(c, b, op, args, outs);
  ig_return_values(c, s, outs, c->status == IG_OK ? op->schema.nrets : 0);
  ig_mode_pop(c, &mode);
  return true;
}

static void release_marked(batch *b) {
  for (size_t i = 0; i < b->marked.cap; i++) {
    if (b->marked.slots[i].key) ig_tensor_release((ig_tensor *)b->marked.slots[i].key);
  }
  ig_table_free(&b->marked);
}

ig_status ig_batch_run(ig_ctx *c, const ig_graph *g, const ig_batch_args *given,
                       const ig_value *inputs, ig_value *outs, bool *batched) {
  ig_batch_args all;
  IG_OPTIONS_TAKE(&all, given, batched);
  const ig_batch_args *args = &all;
  if (c->status != IG_OK) return c->status;
  batch b = {args, c->mode->rewrite, ig_table_make(c->alloc), c->alloc};
  ig_rewrite rewrite = {.fn = take_call, .user = &b, .eager = true};
  size_t i = 0;
  bool ok = true;
  for (const ig_node *p = g->first; ok && p && ig_node_is_placeholder(p); p = p->next, i++) {
    if (args->batched[i]) ok = mark(c, &b, &inputs[i]);
  }
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = &rewrite}});
  if (ok) (void)ig_interpret(c, g, inputs, outs);
  ig_mode_pop(c, &mode);
  for (size_t k = 0; k < g->last->npos && c->status == IG_OK; k++)
    batched[k] = any_marked(&b, &outs[k]);
  release_marked(&b);
  return c->status;
}
