// SPDX-License-Identifier: Apache-2.0
// Shape rules shared by families: broadcasting, reductions, factories, dimension arguments.
#include "op/shape.h"

#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/strides.h"
#include "sym/report.h"

static ig_int broadcast_dim(ig_ctx *c, int dim, ig_int a, ig_int b) {
  if (a.expr ? a.expr == b.expr : !b.expr && a.value == b.value) return a;
  if (ig_int_eq_i64(c, a, 1)) return b;
  if (ig_int_eq_i64(c, b, 1) || ig_int_expect(c, a, IG_EQ, b)) return a;
  ig_fail_text(c, IG_RUNTIME,
               "The size of tensor a (%s) must match the size of tensor b (%s) at non-singleton "
               "dimension %d",
               ig_int_text(c, a), ig_int_text(c, b), dim);
  return a;
}

void ig_broadcast_sizes(ig_ctx *c, ig_meta *m, const ig_int *sizes, int ndim) {
  int grow = ndim - m->ndim;
  if (grow > 0) {
    memmove(m->size + grow, m->size, (size_t)m->ndim * sizeof *m->size);
    for (int d = 0; d < grow; d++) m->size[d] = sizes[d];
    m->ndim = ndim;
  }
  int lead = m->ndim - ndim;
  for (int d = grow > 0 ? grow : 0; d < ndim; d++) {
    m->size[lead + d] = broadcast_dim(c, lead + d, m->size[lead + d], sizes[d]);
  }
}

// The message for fake tensors whose sizes are known to differ. `common` is the broadcast shape of
// the operands before number `at`, 1 where none of them has the dimension.
static void fail_fake(ig_ctx *c, const ig_tensor *t, size_t at, int back, const ig_int *common,
                      int ndim) {
  ig_fail_text(c, IG_RUNTIME,
               "Attempting to broadcast a dimension of length %s at -%d! Mismatching argument at "
               "index %zu had torch.Size(%s); but expected shape should be broadcastable to %s",
               ig_int_text(c, ig_sizes(t)[t->ndim - back]), back, at,
               ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim),
               ig_sizes_text(c, common, (size_t)ndim));
}

static bool is_plain(ig_int i, int64_t value) {
  return !i.expr && i.value == value;  // concrete: symbolic sizes are compared later
}

// Are the constant sizes of fake tensors compatible?
static bool check_fakes(ig_ctx *c, const ig_value *v, size_t n) {
  ig_int common[IG_MAX_DIM];
  int ndim = 0;
  bool fake = false;
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind != IG_KIND_TENSOR) continue;
    if (v[i].tensor->ndim > ndim) ndim = v[i].tensor->ndim;
    fake = fake || ig_is_fake(v[i].tensor);
  }
  for (int d = 0; d < ndim; d++) common[d] = ig_const(1);
  size_t at = 0;
  for (size_t i = 0; fake && i < n; i++) {
    const ig_tensor *t = v[i].kind == IG_KIND_TENSOR ? v[i].tensor : NULL;
    for (int back = 1; t && back <= t->ndim; back++) {
      ig_int size = ig_sizes(t)[t->ndim - back];
      ig_int *known = &common[ndim - back];
      if (is_plain(*known, 1)) {
        *known = size;
      } else if (!known->expr && !size.expr && size.value != 1 && size.value != known->value) {
        fail_fake(c, t, at, back, common, ndim);
        return false;
      }
    }
    at += t != NULL;
  }
  return true;
}

void ig_broadcast(ig_ctx *c, const ig_value *v, size_t n, ig_meta *m) {
  if (!check_fakes(c, v, n)) return;
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind != IG_KIND_TENSOR) continue;
    ig_broadcast_sizes(c, m, ig_sizes(v[i].tensor), v[i].tensor->ndim);
  }
}

static bool same_sizes(const ig_tensor *t, const ig_meta *m) {
  if (t->ndim != m->ndim) return false;
  for (int d = 0; d < m->ndim; d++) {
    ig_int a = ig_sizes(t)[d];
    if (a.expr != m->size[d].expr || (!a.expr && a.value != m->size[d].value)) return false;
  }
  return true;
}

static bool same_strides(const ig_tensor *a, const ig_tensor *b) {
  for (int d = 0; d < a->ndim; d++) {
    ig_int x = ig_strides(a)[d];
    ig_int y = ig_strides(b)[d];
    if (x.expr != y.expr || (!x.expr && x.value != y.value)) return false;
  }
  return true;
}

// concrete: by hints, because the order of dimensions needs no guard.
static int64_t step_of(const ig_tensor *t, const ig_meta *m, int dim, int own) {
  bool repeated = ig_sizes(t)[own].value == 1 && m->size[dim].value != 1;
  return repeated ? 0 : ig_strides(t)[own].value;
}

// Is dimension a outside b for the operands? As in PyTorch's iterators, the first operand whose
// strides differ decides; strides of 0 do not count.
static int compare_dims(const ig_value *args, size_t n, const ig_meta *m, int a, int b) {
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *t = args[i].tensor;
    int lead = m->ndim - t->ndim;
    if (a < lead || b < lead) continue;
    int64_t x = step_of(t, m, a, a - lead);
    int64_t y = step_of(t, m, b, b - lead);
    if (x == 0 || y == 0) continue;
    if (x != y) return x < y ? -1 : 1;
    // concrete: by hints, as step_of
    if (m->size[a].value > m->size[b].value) return 1;
  }
  return 0;
}

// Strides of a new result in the memory order of the operands.
static void permuted_strides(ig_ctx *c, const ig_value *args, size_t n, ig_meta *m) {
  int order[IG_MAX_DIM];  // innermost first
  for (int d = 0; d < m->ndim; d++) order[d] = m->ndim - 1 - d;
  for (int i = 1; i < m->ndim; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      int cmp = compare_dims(args, n, m, order[j], order[at]);
      if (cmp < 0) break;
      if (cmp == 0) continue;
      int swap = order[j];
      order[j] = order[at];
      order[at] = swap;
      at = j;
    }
  }
  ig_int step = ig_const(1);
  for (int k = 0; k < m->ndim; k++) {
    m->stride[order[k]] = step;
    bool one = !m->size[order[k]].expr && m->size[order[k]].value <= 1;
    if (!one) step = ig_int_mul(c, step, m->size[order[k]]);
  }
  m->strided = true;
}

// Dense row-major by structure alone, so that symbolic operands raise no guards here.
static bool plainly_contiguous(ig_ctx *c, const ig_tensor *t) {
  ig_int step = ig_const(1);
  for (int d = t->ndim - 1; d >= 0; d--) {
    ig_int size = ig_sizes(t)[d];
    if (!size.expr && size.value == 1) continue;
    ig_int have = ig_strides(t)[d];
    if (have.expr != step.expr || (!have.expr && have.value != step.value)) return false;
    if (d > 0) step = ig_int_mul(c, step, size);
  }
  return true;
}

static void result_strides(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *m) {
  const ig_tensor *first = NULL;
  bool contiguous = true;
  bool alike = true;
  if (m->ndim <= 1) return;
  for (size_t i = 0; i < op->operands; i++) {
    if (args[i].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *t = args[i].tensor;
    if (t->ndim == 0) continue;
    bool whole = same_sizes(t, m);
    contiguous = contiguous && whole && plainly_contiguous(c, t);
    alike = alike && whole && (!first || same_strides(first, t));
    if (!first) first = t;
  }
  if (contiguous || !first) return;
  if (alike && ig_tensor_is_dense_permuted(first)) {
    memcpy(m->stride, ig_strides(first), (size_t)m->ndim * sizeof *m->stride);
    m->strided = true;
    return;
  }
  permuted_strides(c, args, op->operands, m);
}

bool ig_ask_contiguous(ig_ctx *c, const ig_tensor *t) {
  ig_int numel = ig_const(1);
  ig_int step = ig_const(1);
  for (int d = 0; d < t->ndim; d++) numel = ig_int_mul(c, numel, ig_sizes(t)[d]);
  if (ig_int_is(c, numel, IG_EQ, ig_const(0))) return true;
  for (int d = t->ndim - 1; d >= 0 && c->status == IG_OK; d--) {
    ig_int size = ig_sizes(t)[d];
    if (!ig_int_is(c, size, IG_NE, ig_const(1))) continue;
    if (ig_int_is(c, ig_strides(t)[d], IG_NE, step)) return false;
    step = ig_int_mul(c, step, size);
  }
  return c->status == IG_OK;
}

// PyTorch has a fast path for arithmetic on two operands, which looks at their strides.
static void ask_operands(ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (!op->def->looks_at_strides || op->form != IG_FORM_PLAIN) return;
  if (c->mode->sym->env && c->mode->sym->env->skips_layouts) return;
  if (ig_env_records_choices(c)) return;
  bool contiguous = true;
  for (size_t i = 0; i < 2 && contiguous && c->status == IG_OK; i++) {
    const ig_tensor *t = args[i].kind == IG_KIND_TENSOR ? args[i].tensor : NULL;
    if (t && ig_tensor_is_symbolic(t)) contiguous = ig_ask_contiguous(c, t);
  }
}

void ig_shape_pointwise(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_broadcast(c, args, op->operands, out);
  if (c->status != IG_OK) return;
  if (c->mode->sym && op->operands >= 2) ask_operands(c, op, args);
  out->dtype = ig_computing_dtype(c, op, args);
  result_strides(c, op, args, out);
}

void ig_shape_compare(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_broadcast(c, args, op->operands, out);
  if (c->status != IG_OK) return;
  out->dtype = IG_BOOL;
  result_strides(c, op, args, out);
}

void ig_shape_like(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *t = args[0].tensor;
  ig_meta_of(t, out);
  out->offset = ig_const(0);
  if (!ig_tensor_is_dense_permuted(t)) ig_meta_contiguous(c, out);
}

void ig_shape_copy(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *t = args[0].tensor;
  ig_value preserve = ig_none();
  ig_meta_init(out, t->dtype, t->device);
  ig_meta_copy_of(c, t, &preserve, out);
}

int ig_wrap_dim(ig_ctx *c, int64_t dim, int ndim) {
  int n = ndim ? ndim : 1;
  int64_t wrapped = dim < 0 ? dim + n : dim;
  if (wrapped >= 0 && wrapped < n) return (int)wrapped;
  ig_fail_text(c, IG_BAD_INDEX,
               "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -n,
               n - 1, (long long)dim);
  return 0;
}

int64_t ig_int_specialize(ig_ctx *c, ig_int i) {
  ig_hint example;
  if (!i.expr) return i.value;
  // What depends on the data has no hint; a draft knows the number that its example computes.
  bool known = !i.expr->hinted && ig_env_example(c, i.expr, &example) &&
               example.sort == IG_SORT_INT && example.den == 1;
  if (!known && !i.expr->hinted) return ig_int_guard(c, i);
  int64_t value = known ? (int64_t)example.i : i.value;
  (void)ig_int_eq_i64(c, i, value);
  return value;
}

int64_t ig_value_i64(ig_ctx *c, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      return ig_int_specialize(c, v->i);
    case IG_KIND_BOOL:
      return v->b;
    case IG_KIND_FLOAT:
      return (int64_t)v->f;
    default:
      return 0;
  }
}

void ig_dims_of(ig_ctx *c, const ig_value *dim, int ndim, bool none_is_all, bool *in_set) {
  bool given = dim->kind == IG_KIND_INTS && dim->ints.n > 0;
  if (dim->kind == IG_KIND_INT) given = true;
  for (int d = 0; d < ndim || d == 0; d++) in_set[d] = !given && none_is_all;
  if (!given) return;
  size_t n = dim->kind == IG_KIND_INT ? 1 : dim->ints.n;
  for (size_t i = 0; i < n; i++) {
    ig_int at = dim->kind == IG_KIND_INT ? dim->i : dim->ints.at[i];
    int d = ig_wrap_dim(c, ig_int_specialize(c, at), ndim);
    if (c->status != IG_OK) return;
    if (in_set[d]) {
      ig_fail_text(c, IG_RUNTIME, "dim %d appears multiple times in the list of dims", d);
      return;
    }
    in_set[d] = true;
  }
}

void ig_meta_reduce(ig_ctx *c, const ig_tensor *self, const bool *reduced, bool keepdim,
                    ig_meta *out) {
  for (int d = 0; d < self->ndim; d++) {
    if (!reduced[d]) ig_meta_push_dim(c, out, ig_sizes(self)[d]);
    if (reduced[d] && keepdim) ig_meta_push_dim(c, out, ig_const(1));
  }
}

void ig_meta_options(ig_ctx *c, const ig_value *args, size_t i, ig_dtype dtype, ig_meta *out) {
  out->dtype = args[i].kind == IG_KIND_DTYPE ? args[i].dtype : dtype;
  if (args[i + 1].kind == IG_KIND_LAYOUT && args[i + 1].layout != IG_STRIDED) {
    ig_fail_text(c, IG_UNSUPPORTED, "only the strided layout exists here");
  }
  if (args[i + 2].kind == IG_KIND_DEVICE) out->device = args[i + 2].device;
  if (args[i + 3].kind == IG_KIND_BOOL && args[i + 3].b && out->device.type == IG_DEVICE_CPU) {
    ig_fail_text(c, IG_RUNTIME, "Cannot access accelerator device when none is available.");
  }
}

// Checked before the number becomes a size, so that the program contains the check.
static void expect_not_negative(ig_ctx *c, ig_int size) {
  ig_value args[] = {ig_of_int(size), ig_of_i64(0)};
  ig_value held = ig_none();
  ig_sym_apply(c, IG_EXPR_GE, args, 2, &held);
  if (c->status == IG_OK) ig_sym_check(c, &held, NULL);
}

bool ig_use_as_size(ig_ctx *c, ig_int size) {
  if (!size.expr) return size.value >= 0;
  const ig_expr *now = ig_env_find(c, size.expr);
  if (!now) return false;
  if (now->backed) return !ig_int_is(c, size, IG_LT, ig_const(0));
  expect_not_negative(c, size);
  if (now->kind == IG_EXPR_SYMBOL) ig_sym_constrain(c, size, 0, INT64_MAX, true);
  return c->status == IG_OK;
}

static bool is_unbacked(ig_int i) {
  return i.expr && !i.expr->backed;
}

void ig_meta_sizes(ig_ctx *c, const ig_value *sizes, ig_meta *out) {
  bool unbacked = false;
  ig_int numel = ig_const(1);
  out->ndim = 0;
  for (size_t i = 0; i < sizes->ints.n && c->status == IG_OK; i++) {
    ig_int size = sizes->ints.at[i];
    if (!ig_use_as_size(c, size) && c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME, "Trying to create tensor with negative dimension %s: %s",
                   ig_int_text(c, size), ig_sizes_text(c, sizes->ints.at, sizes->ints.n));
      return;
    }
    unbacked = unbacked || is_unbacked(size);
    ig_meta_push_dim(c, out, size);
  }
  for (int d = 0; unbacked && d < out->ndim; d++) numel = ig_int_mul(c, numel, out->size[d]);
  if (unbacked) (void)ig_int_eq_i64(c, numel, 0);  // as in PyTorch for every new tensor
}
