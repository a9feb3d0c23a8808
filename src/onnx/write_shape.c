// SPDX-License-Identifier: Apache-2.0
// ONNX of operators that rearrange elements: views, transpositions, slices. Sizes may be symbolic.
#include <string.h>

#include "ingot/aten.h"
#include "onnx/convention.h"
#include "onnx/writer.h"

static const char *self_of(ig_onnx *x, const ig_onnx_call *call) {
  return ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
}

static bool is_zero(ig_int i) {
  return !i.expr && i.value == 0;
}

// Where a list of sizes leaves one open by -1; IG_MAX_DIM: nowhere.
static size_t open_place(const ig_value *sizes) {
  size_t n = sizes->kind == IG_KIND_LIST ? sizes->list.n : 0;
  for (size_t i = 0; i < n; i++) {
    const ig_value *v = &sizes->list.at[i];
    if (v->kind == IG_KIND_INT && !v->i.expr && v->i.value == -1) return i;
  }
  return IG_MAX_DIM;
}

// The sizes to give to Reshape: one may be -1 (what is left), 0 takes the size of the input at the
// same place. They are computed only if that does not suffice, but for the one that the call leaves
// open, as the program does.
static const char *reshape_sizes(ig_onnx *x, const ig_tensor *self, const ig_tensor *to,
                                 const ig_value *given) {
  int64_t plain[IG_MAX_DIM] = {0};
  int open = 0;
  for (int d = 0; d < to->ndim; d++) {
    ig_int size = ig_sizes(to)[d];
    if (is_zero(size)) return ig_onnx_sizes_name(x, to);
    plain[d] = size.value;
    if (!size.expr) continue;
    bool same = self && d < self->ndim && ig_sizes(self)[d].expr == size.expr;
    plain[d] = same ? 0 : -1;
    open += !same;
  }
  size_t left = open > 1 ? open_place(given) : IG_MAX_DIM;
  if (open > 1 && left < (size_t)to->ndim) {
    ig_int sizes[IG_MAX_DIM];
    for (int d = 0; d < to->ndim; d++)
      sizes[d] = (size_t)d == left ? ig_const(-1) : ig_sizes(to)[d];
    return ig_onnx_shape_of(x, sizes, (size_t)to->ndim);
  }
  if (open > 1) return ig_onnx_sizes_name(x, to);
  return ig_onnx_vector(x, plain, (size_t)to->ndim);
}

static bool has_zero(const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    if (is_zero(ig_sizes(t)[d])) return true;
  }
  return false;
}

// Everything whose elements stay in row-major order.
static void reshape(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const char *in = self_of(x, call);
  ig_onnx_node node = {.op_type = "Reshape",
                       .in = {in, reshape_sizes(x, self, call->val, &call->args[1])},
                       .out = call->out};
  if (has_zero(call->val)) {  // 0 would mean: as in the input
    if (x->opset >= 14) {
      node.attrs[0] = ig_onnx_int("allowzero", 1);
    } else {
      // Nothing is rearranged: any empty tensor of that dtype will do.
      node = (ig_onnx_node){.op_type = "Expand", .out = call->out};
      node.in[0] = ig_onnx_number(x, call->val->dtype, 0);
      node.in[1] = ig_onnx_sizes_name(x, call->val);
    }
  }
  (void)ig_onnx_emit(x, &node);
}

// A dimension of size 1 more.
static void unsqueeze(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = ig_onnx_dim(x, &call->args[1], call->val->ndim);
  (void)ig_onnx_unsqueeze(x, self_of(x, call), axis, call->out);
}

// An axis whose size may be 1 when the model runs goes then: the program has decided otherwise, by
// the example, as a trace does not.
static void squeeze_if_one(ig_onnx *x, const ig_onnx_call *call, int64_t axis, int ndim) {
  int64_t leaving[IG_MAX_DIM];  // no size is -1
  for (int d = 0; d < ndim; d++) leaving[d] = d == axis ? 1 : -1;
  const char *in = self_of(x, call);
  const char *sizes = ig_onnx_emit1(x, "Shape", in, NULL);
  const char *pattern = ig_onnx_vector(x, leaving, (size_t)ndim);
  const char *goes = ig_onnx_emit2(x, "Equal", sizes, pattern, NULL);
  const char *stays = ig_onnx_emit1(x, "Not", goes, NULL);
  const char *left = ig_onnx_emit2(x, "Compress", sizes, stays, NULL);
  (void)ig_onnx_emit2(x, "Reshape", in, left, call->out);
}

// self, dim, dims or nothing: those of size 1 go.
static void squeeze(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  bool all = call->node->op->schema.nargs == 1;
  int64_t given[IG_MAX_DIM];
  int64_t axes[IG_MAX_DIM];
  size_t count = 0;
  if (!all) count = ig_onnx_int_list(x, &call->args[1], given, IG_MAX_DIM, 0);
  for (int d = 0; all && self && d < self->ndim; d++) given[count++] = d;
  size_t n = 0;
  for (size_t i = 0; self && i < count; i++) {
    int64_t d = given[i] < 0 ? given[i] + self->ndim : given[i];
    if (d < 0 || d >= self->ndim) continue;
    const ig_expr *size = ig_sizes(self)[d].expr;
    if (!size && ig_sizes(self)[d].value == 1) axes[n++] = d;
    if (size && size->kind == IG_EXPR_SYMBOL && !all && count == 1 && x->options->torchscript) {
      squeeze_if_one(x, call, d, self->ndim);
      return;
    }
  }
  const char *in = self_of(x, call);
  bool varies = all && ig_tensor_is_symbolic(self);
  bool late = varies && x->options->torchscript;  // any axis whose size is 1 then goes
  if (n == 0 && !late) {
    ig_onnx_same(x, in, call->out);
    return;
  }
  ig_onnx_node node = {.op_type = "Squeeze", .in = {in}, .out = call->out};
  if (!all || (varies && !late)) node.in[1] = ig_onnx_vector(x, axes, n);
  (void)ig_onnx_emit(x, &node);
}

// self, start_dim, end_dim: two dimensions are left by an operator of its own.
static void flatten(ig_onnx *x, const ig_onnx_call *call) {
  int n = ig_onnx_ndim(&call->args[0]);
  int64_t start = ig_onnx_dim(x, &call->args[1], n);
  int64_t end = ig_onnx_dim(x, &call->args[2], n);
  int64_t axis = start == 1 && end == n - 1 ? 1 : start == 0 && end == n - 2 ? end + 1 : 0;
  if (n == 1) {
    ig_onnx_same(x, self_of(x, call), call->out);
  } else if (axis > 0) {
    (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Flatten",
                                          .in = {self_of(x, call)},
                                          .attrs = {ig_onnx_int("axis", axis)},
                                          .out = call->out});
  } else {
    reshape(x, call);
  }
}

static void swap_dims(ig_onnx *x, const ig_onnx_call *call, int64_t a, int64_t b) {
  int64_t perm[IG_MAX_DIM] = {0};
  int n = ig_onnx_ndim(&call->args[0]);
  for (int i = 0; i < n; i++) perm[i] = i;
  if (a >= 0 && a < n && b >= 0 && b < n) {
    perm[a] = b;
    perm[b] = a;
  }
  (void)ig_onnx_transpose(x, self_of(x, call), perm, (size_t)n, call->out);
}

static bool is_order(const int64_t *perm, int n) {
  for (int i = 0; i < n; i++)
    if (perm[i] != i) return false;
  return true;
}

static void transpose(ig_onnx *x, const ig_onnx_call *call) {
  int n = ig_onnx_ndim(&call->args[0]);
  swap_dims(x, call, ig_onnx_dim(x, &call->args[1], n), ig_onnx_dim(x, &call->args[2], n));
}

static void t(ig_onnx *x, const ig_onnx_call *call) {
  if (ig_onnx_ndim(&call->args[0]) < 2) {
    ig_onnx_same(x, self_of(x, call), call->out);
    return;
  }
  swap_dims(x, call, 0, 1);
}

static void reverse_dims(ig_onnx *x, const ig_onnx_call *call) {
  int64_t perm[IG_MAX_DIM] = {0};
  int n = ig_onnx_ndim(&call->args[0]);
  for (int i = 0; i < n; i++) perm[i] = n - 1 - i;
  (void)ig_onnx_transpose(x, self_of(x, call), perm, (size_t)n, call->out);
}

static void swap_last(ig_onnx *x, const ig_onnx_call *call) {
  int n = ig_onnx_ndim(&call->args[0]);
  swap_dims(x, call, n - 2, n - 1);
}

static void permute(ig_onnx *x, const ig_onnx_call *call) {
  int64_t perm[IG_MAX_DIM] = {0};
  int n = ig_onnx_ndim(&call->args[0]);
  size_t count = ig_onnx_int_list(x, &call->args[1], perm, IG_MAX_DIM, 0);
  for (size_t i = 0; i < count; i++) perm[i] += perm[i] < 0 ? n : 0;
  if (is_order(perm, (int)count)) {
    ig_onnx_same(x, self_of(x, call), call->out);
    return;
  }
  (void)ig_onnx_transpose(x, self_of(x, call), perm, count, call->out);
}

// From source to destination, the others in order.
static void movedim(ig_onnx *x, const ig_onnx_call *call) {
  int64_t from[IG_MAX_DIM] = {0};
  int64_t to[IG_MAX_DIM] = {0};
  int64_t perm[IG_MAX_DIM];
  bool taken[IG_MAX_DIM] = {false};
  int n = ig_onnx_ndim(&call->args[0]);
  size_t count = ig_onnx_int_list(x, &call->args[1], from, IG_MAX_DIM, 0);
  if (ig_onnx_int_list(x, &call->args[2], to, IG_MAX_DIM, 0) != count) return;
  for (int i = 0; i < n; i++) perm[i] = -1;
  for (size_t i = 0; i < count; i++) {
    from[i] += from[i] < 0 ? n : 0;
    to[i] += to[i] < 0 ? n : 0;
    if (from[i] < 0 || from[i] >= n || to[i] < 0 || to[i] >= n) return;
    perm[to[i]] = from[i];
    taken[from[i]] = true;
  }
  int next = 0;
  for (int i = 0; i < n; i++) {
    if (perm[i] >= 0) continue;
    while (next < n && taken[next]) next++;
    perm[i] = next++;
  }
  (void)ig_onnx_transpose(x, self_of(x, call), perm, (size_t)n, call->out);
}

// The sizes of a tensor as an operand, read from the tensor itself when the model runs.
static const char *shape_of_operand(ig_onnx *x, const ig_value *v) {
  return ig_onnx_emit1(x, "Shape", ig_onnx_operand(x, v, IG_DTYPE_COUNT), NULL);
}

static void expand(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = self_of(x, call);
  (void)ig_onnx_emit2(x, "Expand", in, ig_onnx_sizes_name(x, call->val), call->out);
}

static void expand_as(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *other = ig_onnx_tensor_of(&call->args[1]);
  const char *in = self_of(x, call);
  bool known = other && !ig_tensor_is_symbolic(other) && !x->options->torchscript;
  const char *sizes = known ? ig_onnx_sizes_name(x, other) : shape_of_operand(x, &call->args[1]);
  (void)ig_onnx_emit2(x, "Expand", in, sizes, call->out);
}

// self, other: with the TorchScript conventions the sizes are read from the other.
static void reshape_as(ig_onnx *x, const ig_onnx_call *call) {
  if (!x->options->torchscript) {
    reshape(x, call);
    return;
  }
  const char *in = self_of(x, call);
  (void)ig_onnx_emit2(x, "Reshape", in, shape_of_operand(x, &call->args[1]), call->out);
}

// self, repeats, dim, *, output_size: an axis behind dim that is repeated, then joined with it.
static bool repeats_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n >= 3 && args[1].kind == IG_KIND_INT && !args[1].i.expr && args[1].i.value > 0 &&
         ig_onnx_ndim(&args[0]) > 0;
}

static void repeat_each(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = self_of(x, call);
  int ndim = ig_onnx_ndim(&call->args[0]);
  int64_t axis = 0;
  if (ig_onnx_is_none(&call->args[2])) {  // of all elements in a row
    int64_t row = -1;
    if (ndim > 1) in = ig_onnx_emit2(x, "Reshape", in, ig_onnx_vector(x, &row, 1), NULL);
    ndim = 1;
  } else {
    axis = ig_onnx_dim(x, &call->args[2], ndim);
  }
  int64_t times[IG_MAX_DIM + 1];
  int64_t sizes[IG_MAX_DIM];
  bool plain = !has_zero(call->val);
  for (int d = 0; d <= ndim; d++) times[d] = d == axis + 1 ? call->args[1].i.value : 1;
  for (int d = 0; d < ndim; d++) {  // before the axis those of the input are at their places
    ig_int size = ig_sizes(call->val)[d];
    sizes[d] = d < axis ? 0 : d == axis ? -1 : size.value;
    plain = plain && (d <= axis || !size.expr);
  }
  in = ig_onnx_unsqueeze(x, in, axis + 1, NULL);
  in = ig_onnx_emit2(x, "Tile", in, ig_onnx_vector(x, times, (size_t)ndim + 1), NULL);
  const char *to =
      plain ? ig_onnx_vector(x, sizes, (size_t)ndim) : ig_onnx_sizes_name(x, call->val);
  (void)ig_onnx_emit2(x, "Reshape", in, to, call->out);
}

// self, shape: the sizes are data.
static void reshape_from_tensor(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = self_of(x, call);
  const char *sizes = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  (void)ig_onnx_emit2(x, "Reshape", in, sizes, call->out);
}

// self, src: src in the sizes and the dtype of self
static void copy(ig_onnx *x, const ig_onnx_call *call) {
  const char *src = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  (void)ig_onnx_emit2(x, "Expand", src, ig_onnx_sizes_name(x, call->val), call->out);
}

// ---- pieces

// A bound of a slice: -1 of PyTorch counts from the end, and so does ONNX; symbolic ones too.
static const char *bound(ig_onnx *x, const ig_value *v, int64_t otherwise) {
  if (ig_onnx_is_none(v)) return ig_onnx_vector(x, &otherwise, 1);
  return ig_onnx_size(x, ig_onnx_symint_of(x, v));
}

// x[:]
static bool is_whole(const ig_value *start, const ig_value *end, int64_t step) {
  bool first = ig_onnx_is_none(start) ||
               (start->kind == IG_KIND_INT && !start->i.expr && start->i.value == 0);
  bool last = ig_onnx_is_none(end) ||
              (end->kind == IG_KIND_INT && !end->i.expr && end->i.value == INT64_MAX);
  return first && last && step == 1;
}

// What PyTorch's exporter has before a Slice besides the constants written here: the arguments
// without dimensions, and what unsqueezes each of them.
static void count_slice(ig_onnx *x, const ig_value *a, int64_t step) {
  if (x->least < 10) return;
  size_t each = x->least >= 13 ? 2 : 1;
  static const int64_t missing[] = {0, 0, INT64_MAX, 1};
  for (size_t i = 0; i < 4; i++) {
    const ig_value *v = &a[i + 1];
    bool none = ig_onnx_is_none(v);
    if (!none && (v->kind != IG_KIND_INT || v->i.expr)) continue;  // written in the same way
    ig_onnx_count_number(x, none ? missing[i] : v->i.value, false);
    bool written = i < 3 || step != 1;
    ig_onnx_count_values(x, written ? each - 1 : each);
  }
}

// self, dim, start, end, step
static void slice(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  int64_t axis = ig_onnx_dim(x, &a[1], ig_onnx_ndim(&a[0]));
  int64_t step = ig_onnx_int_of(x, &a[4]);
  if (is_whole(&a[2], &a[3], step)) {
    ig_onnx_same(x, self_of(x, call), call->out);
    return;
  }
  // One after the other: what is made first is named first.
  count_slice(x, a, step);
  const char *starts = bound(x, &a[2], 0);
  const char *ends = bound(x, &a[3], INT64_MAX);
  (void)ig_onnx_slice(x, self_of(x, call), starts, ends, axis, step, call->out);
}

// self, dim, start, length
static void narrow(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  int64_t axis = ig_onnx_dim(x, &a[1], ig_onnx_ndim(&a[0]));
  ig_int start = ig_onnx_symint_of(x, &a[2]);
  ig_int length = ig_onnx_symint_of(x, &a[3]);
  const ig_tensor *self = ig_onnx_tensor_of(&a[0]);
  if (!start.expr && start.value < 0 && self) {
    start = ig_int_add(x->c, ig_onnx_size_at(x, self, axis), start);
  }
  const char *starts = ig_onnx_size(x, start);
  const char *ends = ig_onnx_size(x, ig_int_add(x->c, start, length));
  (void)ig_onnx_slice(x, self_of(x, call), starts, ends, axis, 1, call->out);
}

// One index of a dimension, which disappears.
static void select(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = ig_onnx_dim(x, &call->args[1], ig_onnx_ndim(&call->args[0]));
  const ig_value *at = &call->args[2];
  const char *index = ig_onnx_operand(x, at, IG_I64);
  if (at->kind == IG_KIND_INT && !at->i.expr) ig_onnx_count_number(x, at->i.value, true);
  (void)ig_onnx_gather(x, self_of(x, call), index, axis, call->out);
}

// ---- lists

static bool is_legacy_empty(const ig_tensor *tensor) {
  return tensor && tensor->ndim == 1 && is_zero(ig_sizes(tensor)[0]);
}

static void join(ig_onnx *x, const ig_onnx_call *call, bool stack) {
  const ig_value *list = &call->args[0];
  if (list->kind != IG_KIND_LIST) {
    ig_onnx_refuse(x, call->node, "the list of tensors is not written out in the graph");
    return;
  }
  int64_t axis = ig_onnx_dim(x, &call->args[1], call->val->ndim);
  const char **names = ig_onnx_push(x, ig_mem_mul(list->list.n + 1, sizeof *names));
  size_t n = 0;
  for (size_t i = 0; names && i < list->list.n; i++) {
    const ig_value *v = &list->list.at[i];
    // PyTorch leaves out empty vectors, whatever the dimensions of the others.
    if (!stack && call->val->ndim != 1 && is_legacy_empty(ig_onnx_tensor_of(v))) continue;
    names[n] = ig_onnx_operand(x, v, call->val->dtype);
    if (stack) names[n] = ig_onnx_unsqueeze(x, names[n], axis, NULL);
    n++;
  }
  if (names) (void)ig_onnx_concat(x, names, n, axis, call->out);
}

static void cat(ig_onnx *x, const ig_onnx_call *call) {
  join(x, call, false);
}

static void stack(ig_onnx *x, const ig_onnx_call *call) {
  join(x, call, true);
}

// Each piece by itself: those of a weight are evaluated; before opset 13 Split has only constant
// lengths, and chunk is written so with the TorchScript conventions where they are dynamic.
static void split_by_slices(ig_onnx *x, const ig_onnx_call *call, const char *in, int64_t axis) {
  const ig_value *pieces = &call->node->val;
  ig_int start = ig_const(0);
  for (size_t i = 0; i < call->nouts && i < pieces->list.n; i++) {
    ig_int end = ig_int_add(x->c, start, ig_onnx_size_at(x, pieces->list.at[i].tensor, axis));
    if (call->outs[i]) {
      const char *from = ig_onnx_size(x, start);
      const char *to = ig_onnx_size(x, end);
      (void)ig_onnx_slice(x, in, from, to, axis, 1, call->outs[i]);
    }
    start = end;
  }
}

// split, chunk, split_with_sizes: determined by the sizes of the results.
static void split(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *results = &call->node->val;
  if (results->kind != IG_KIND_LIST || results->list.n == 0) return;
  int64_t axis = ig_onnx_dim(x, &call->args[2], ig_onnx_ndim(&call->args[0]));
  size_t n = results->list.n;
  if (n == 1) {
    ig_onnx_same(x, self_of(x, call), call->out);
    return;
  }
  const char **sizes = ig_onnx_push(x, ig_mem_mul(n, sizeof *sizes));
  int64_t *plain = ig_onnx_push(x, ig_mem_mul(n, sizeof *plain));
  if (!sizes || !plain) return;
  bool known = true;
  for (size_t i = 0; i < n; i++) {
    ig_int size = ig_onnx_size_at(x, results->list.at[i].tensor, axis);
    known = known && !size.expr;
    plain[i] = size.value;
  }
  const char *in = self_of(x, call);
  bool chunk = x->options->torchscript && call->node->op->number == IG_ID_CHUNK;
  if (known ? ig_onnx_is_weight(x, in) : chunk || x->least < 13) {
    split_by_slices(x, call, in, axis);
    return;
  }
  for (size_t i = 0; !known && i < n; i++) {
    sizes[i] = ig_onnx_size(x, ig_onnx_size_at(x, results->list.at[i].tensor, axis));
  }
  const char *lengths = known ? ig_onnx_vector(x, plain, n) : ig_onnx_concat(x, sizes, n, 0, NULL);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Split",
                                        .in = {in, lengths},
                                        .attrs = {ig_onnx_int("axis", axis)},
                                        .outs = call->outs,
                                        .nouts = call->nouts});
}

// With the TorchScript conventions: one Split, and a Squeeze per piece.
static void unbind_split(ig_onnx *x, const ig_onnx_call *call, int64_t axis) {
  const char **pieces = ig_onnx_push(x, ig_mem_mul(call->nouts, sizeof *pieces));
  int64_t *ones = ig_onnx_push(x, ig_mem_mul(call->nouts, sizeof *ones));
  if (!pieces || !ones) return;
  for (size_t i = 0; i < call->nouts; i++) {
    pieces[i] = ig_onnx_fresh(x, "Split");
    ones[i] = 1;
  }
  (void)ig_onnx_emit(x,
                     &(ig_onnx_node){.op_type = "Split",
                                     .in = {self_of(x, call), ig_onnx_vector(x, ones, call->nouts)},
                                     .attrs = {ig_onnx_int("axis", axis)},
                                     .outs = pieces,
                                     .nouts = call->nouts});
  for (size_t i = 0; i < call->nouts; i++)
    if (call->outs[i]) (void)ig_onnx_squeeze(x, pieces[i], axis, call->outs[i]);
}

// The dimension disappears from each piece.
static void unbind(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = ig_onnx_dim(x, &call->args[1], ig_onnx_ndim(&call->args[0]));
  if (x->options->torchscript && call->nouts > 1) {
    unbind_split(x, call, axis);
    return;
  }
  for (size_t i = 0; i < call->nouts; i++) {
    if (!call->outs[i]) continue;
    const char *index = ig_onnx_integer(x, IG_I64, (int64_t)i);
    (void)ig_onnx_gather(x, self_of(x, call), index, axis, call->outs[i]);
  }
}

// self, dtype: the same bits. Integers of one width wrap when they are converted.
static void view_dtype(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype to = call->val->dtype;
  if (!self) return;
  bool whole = !ig_dtype_is_float(self->dtype) && !ig_dtype_is_float(to) &&
               !ig_dtype_is_complex(self->dtype) && !ig_dtype_is_complex(to);
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  if (ig_dtype_size(self->dtype) != ig_dtype_size(to)) {
    ig_onnx_refuse(x, call->node, "bits as elements of another width cannot be written as ONNX");
  } else if (self->dtype == to) {
    ig_onnx_same(x, in, call->out);
  } else if (whole && self->dtype != IG_BOOL && to != IG_BOOL) {
    (void)ig_onnx_cast(x, in, to, call->out);
  } else if (x->opset < 26) {
    ig_onnx_refuse(x, call->node, "bits as another type need opset 26");
  } else {
    (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "BitCast",
                                          .in = {in},
                                          .attrs = {ig_onnx_int("to", ig_onnx_elem_type(to))},
                                          .out = call->out});
  }
}

const ig_onnx_row ig_onnx_shape[] = {
    {"aten.view.dtype", view_dtype, NULL, NULL},
    {"aten.view.default", reshape, NULL, NULL},
    {"aten._unsafe_view.default", reshape, NULL, NULL},
    {"aten.reshape.default", reshape, NULL, NULL},
    {"aten.view_as.default", reshape_as, NULL, NULL},
    {"aten.repeat_interleave.self_int", repeat_each, NULL, repeats_can},
    {"aten.reshape_as.default", reshape_as, NULL, NULL},
    {"aten._reshape_from_tensor.default", reshape_from_tensor, NULL, NULL},
    {"aten._reshape_alias.default", reshape, NULL, NULL},
    {"aten.flatten.using_ints", flatten, NULL, NULL},
    {"aten.ravel.default", reshape, NULL, NULL},
    {"aten.unflatten.int", reshape, NULL, NULL},
    {"aten.squeeze.default", squeeze, NULL, NULL},
    {"aten.squeeze.dim", squeeze, NULL, NULL},
    {"aten.squeeze.dims", squeeze, NULL, NULL},
    {"aten.unsqueeze.default", unsqueeze, NULL, NULL},
    {"aten.transpose.int", transpose, NULL, NULL},
    {"aten.swapaxes.default", transpose, NULL, NULL},
    {"aten.swapdims.default", transpose, NULL, NULL},
    {"aten.t.default", t, NULL, NULL},
    {"aten.numpy_T.default", reverse_dims, NULL, NULL},
    {"aten.mT.default", swap_last, NULL, NULL},
    {"aten.permute.default", permute, NULL, NULL},
    {"aten.movedim.intlist", movedim, NULL, NULL},
    {"aten.movedim.int", movedim, NULL, NULL},
    {"aten.expand.default", expand, NULL, NULL},
    {"aten.broadcast_to.default", expand, NULL, NULL},
    {"aten.expand_as.default", expand_as, NULL, NULL},
    {"aten.copy.default", copy, NULL, NULL},
    {"aten.slice.Tensor", slice, NULL, NULL},
    {"aten.narrow.default", narrow, NULL, NULL},
    {"aten.select.int", select, NULL, NULL},
    {"aten.cat.default", cat, NULL, NULL},
    {"aten.concat.default", cat, NULL, NULL},
    {"aten.concatenate.default", cat, NULL, NULL},
    {"aten.stack.default", stack, NULL, NULL},
    {"aten.split.Tensor", split, NULL, NULL},
    {"aten.split.sizes", split, NULL, NULL},
    {"aten.split_with_sizes.default", split, NULL, NULL},
    {"aten.chunk.default", split, NULL, NULL},
    {"aten.unbind.int", unbind, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
