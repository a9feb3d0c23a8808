// SPDX-License-Identifier: Apache-2.0
// sort, argsort, topk. Every element becomes an unsigned key whose order is the wanted one (NaN
// counts as the largest), so one stable sort of keys and positions serves all dtypes and both
// directions.
#include <string.h>

#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { SMALL = 48, DIGIT = 8, BUCKETS = 1 << DIGIT };

typedef struct pair {
  uint64_t key;
  int64_t at;
} pair;

static uint64_t key_of_f64(double x) {
  uint64_t bits;
  if (x != x) return UINT64_MAX;
  x += 0.0;  // -0.0 equals 0.0
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

static uint64_t key_of_f32(float x) {
  uint32_t bits;
  if (x != x) return UINT32_MAX;
  x += 0.0F;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | 1U << 31;
}

static uint64_t key_of(const char *at, ig_dtype dtype) {
  switch (dtype) {
    case IG_F32: {
      float x;
      memcpy(&x, at, sizeof x);
      return key_of_f32(x);
    }
    case IG_F64: {
      double x;
      memcpy(&x, at, sizeof x);
      return key_of_f64(x);
    }
    case IG_U64: {
      uint64_t x;
      memcpy(&x, at, sizeof x);
      return x;
    }
    case IG_F16:
    case IG_BF16:
    case IG_F8E4M3FN:
    case IG_F8E5M2: {
      float x;
      ig_convert(&x, IG_F32, at, dtype, 1);
      return key_of_f32(x);
    }
    default: {
      int64_t x;
      ig_convert(&x, IG_I64, at, dtype, 1);
      return (uint64_t)x ^ 1ULL << 63;
    }
  }
}

static void insertion_sort(pair *p, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    pair held = p[i];
    int64_t k = i;
    for (; k > 0 && p[k - 1].key > held.key; k--) p[k] = p[k - 1];
    p[k] = held;
  }
}

// Least digit first; digits that all keys share are skipped. Returns the array that holds the
// result, one of the two.
static pair *radix_sort(pair *p, pair *spare, int64_t n) {
  uint64_t differ = 0;
  for (int64_t i = 1; i < n; i++) differ |= p[i].key ^ p[0].key;
  for (int shift = 0; shift < 64; shift += DIGIT) {
    int64_t count[BUCKETS] = {0};
    if ((differ >> shift & (BUCKETS - 1)) == 0) continue;
    for (int64_t i = 0; i < n; i++) count[p[i].key >> shift & (BUCKETS - 1)]++;
    int64_t start = 0;
    for (int b = 0; b < BUCKETS; b++) {
      int64_t own = count[b];
      count[b] = start;
      start += own;
    }
    for (int64_t i = 0; i < n; i++) spare[count[p[i].key >> shift & (BUCKETS - 1)]++] = p[i];
    pair *swap = p;
    p = spare;
    spare = swap;
  }
  return p;
}

typedef struct job {
  const ig_tensor *self;
  ig_tensor *values;
  ig_tensor *indices;
  int dim;
  bool descending;
  int64_t n;     // elements of a row
  int64_t kept;  // of them in the result
  char *pairs;   // two rows per thread
} job;

// Byte offset of the first element of row r.
static int64_t row_at(const ig_tensor *t, int dim, int64_t r) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (d == dim) continue;
    int64_t n = ig_sizes(t)[d].value;
    at += r % n * ig_strides(t)[d].value;
    r /= n;
  }
  return at * (int64_t)ig_dtype_size(t->dtype);
}

static int64_t step_of(const ig_tensor *t, int dim) {
  return t->ndim ? ig_strides(t)[dim].value * (int64_t)ig_dtype_size(t->dtype) : 0;
}

// Keys of a row; the frequent dtypes without a branch per element.
static void load_keys(const job *j, const char *from, int64_t step, pair *p) {
  uint64_t flip = j->descending ? UINT64_MAX : 0;
  if (j->self->dtype == IG_F32) {
    for (int64_t i = 0; i < j->n; i++) {
      float x;
      memcpy(&x, from + i * step, sizeof x);
      p[i] = (pair){key_of_f32(x) ^ flip, i};
    }
    return;
  }
  if (j->self->dtype == IG_I64) {
    for (int64_t i = 0; i < j->n; i++) {
      uint64_t x;
      memcpy(&x, from + i * step, sizeof x);
      p[i] = (pair){x ^ 1ULL << 63 ^ flip, i};
    }
    return;
  }
  for (int64_t i = 0; i < j->n; i++)
    p[i] = (pair){key_of(from + i * step, j->self->dtype) ^ flip, i};
}

static bool comes_later(pair a, pair b) {
  return a.key != b.key ? a.key > b.key : a.at > b.at;
}

static void sift_down(pair *heap, int64_t n, int64_t at) {
  pair held = heap[at];
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= n) break;
    if (child + 1 < n && comes_later(heap[child + 1], heap[child])) child++;
    if (!comes_later(heap[child], held)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = held;
}

// The first k of n in order, at the front of p: a heap whose top is the last of them.
static void select_first(pair *p, int64_t n, int64_t k) {
  for (int64_t i = k / 2 - 1; i >= 0; i--) sift_down(p, k, i);
  for (int64_t i = k; i < n; i++) {
    if (!comes_later(p[0], p[i])) continue;
    p[0] = p[i];
    sift_down(p, k, 0);
  }
  for (int64_t i = k - 1; i > 0; i--) {
    pair last = p[0];
    p[0] = p[i];
    p[i] = last;
    sift_down(p, i, 0);
  }
}

static void sort_row(const job *j, int64_t r, pair *p, pair *spare) {
  const char *from = (const char *)ig_tensor_data(j->self) + row_at(j->self, j->dim, r);
  char *values = (char *)ig_tensor_data(j->values) + row_at(j->values, j->dim, r);
  char *indices = (char *)ig_tensor_data(j->indices) + row_at(j->indices, j->dim, r);
  int64_t from_step = step_of(j->self, j->dim);
  int64_t values_step = step_of(j->values, j->dim);
  int64_t indices_step = step_of(j->indices, j->dim);
  size_t size = ig_dtype_size(j->self->dtype);
  load_keys(j, from, from_step, p);
  if (j->n <= SMALL) {
    insertion_sort(p, j->n);
  } else if (j->kept < j->n / 8) {
    select_first(p, j->n, j->kept);
  } else {
    p = radix_sort(p, spare, j->n);
  }
  for (int64_t i = 0; i < j->kept; i++) {
    memcpy(values + i * values_step, from + p[i].at * from_step, size);
    memcpy(indices + i * indices_step, &p[i].at, sizeof p[i].at);
  }
}

// Bytes of the pairs of one thread.
static size_t pairs_of(int64_t n) {
  return ig_mem_mul(ig_mem_mul(2, (size_t)n), sizeof(pair));
}

static void sort_rows(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  int seat;
  (void)ig_threads_lent(&seat);
  pair *p = (pair *)(void *)(j->pairs + (size_t)seat * pairs_of(j->n));
  for (int64_t r = begin; r < end; r++) sort_row(j, r, p, p + j->n);
}

typedef struct sort_state {
  int threads;
  size_t pairs;
} sort_state;

static int64_t row_length(const ig_tensor *t, int dim) {
  return t->ndim ? ig_sizes(t)[dim].value : 1;
}

static void plan_sort(const ig_tensor *self, int dim, ig_prep *p) {
  IG_STATE(sort_state, s, p);
  int64_t n = row_length(self, dim);
  int64_t rows = n ? ig_tensor_numel(self) / n : 0;
  int64_t threads = ig_threads_get();
  s->threads = (int)(rows < 1 ? 1 : rows < threads ? rows : threads);
  s->pairs = ig_need_take(&p->need, (size_t)s->threads, pairs_of(n));
}

static void sort_along(const ig_exec *x, job *j) {
  const sort_state *s = x->state;
  int64_t rows = ig_tensor_numel(j->self);
  j->n = row_length(j->self, j->dim);
  if (rows == 0 || j->n == 0) return;
  rows /= j->n;
  j->pairs = x->memory + s->pairs;
  // No more threads than there are pairs for, whoever sets their number meanwhile.
  int seat;
  ig_loan before = ig_threads_lend((ig_loan){ig_threads_lent(&seat), s->threads});
  ig_parallel_for(rows, 4096 / j->n + 1, sort_rows, j);
  (void)ig_threads_lend(before);
}

// The overload with `stable` has it before dim.
static const ig_value *sort_args(const ig_op *op, const ig_value *args) {
  return args + (op->schema.nargs == 4 ? 2 : 1);
}

static bool can_sort(ig_ctx *c, ig_dtype d) {
  if (!ig_dtype_is_complex(d)) return true;
  ig_fail_text(c, IG_RUNTIME, " Sort does not support complex dtypes on CPU");
  return false;
}

static void sort_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  const ig_value *rest = sort_args(op, args);
  (void)ig_wrap_dim(c, ig_value_i64(c, &rest[0]), self->ndim);
  if (c->status != IG_OK || !can_sort(c, self->dtype)) return;
  ig_value preserve = ig_none();
  for (int i = 0; i < 2; i++) ig_meta_copy_of(c, self, &preserve, &out[i]);
  out[1].dtype = IG_I64;
}

static void sort_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                         ig_prep *p) {
  (void)outs;
  const ig_tensor *self = args[0].tensor;
  plan_sort(self, ig_wrap_dim(c, ig_value_i64(c, &sort_args(op, args)[0]), self->ndim), p);
}

static void sort_run(const ig_exec *x) {
  const ig_value *rest = sort_args(x->op, x->args);
  job j = {.self = x->args[0].tensor, .values = x->outs[0].tensor, .indices = x->outs[1].tensor};
  j.dim = ig_wrap_dim(x->c, ig_value_i64(x->c, &rest[0]), j.self->ndim);
  j.descending = rest[1].b;
  j.kept = row_length(j.self, j.dim);
  sort_along(x, &j);
}

static ig_tensor *sorted_indices(ig_ctx *c, ig_tensor *self, bool stable, ig_int dim,
                                 bool descending) {
  ig_value outs[IG_MAX_RETURNS];
  ig_sort_stable_with(c, self, ig_of_bool(stable), dim, descending, outs);
  return c->status == IG_OK ? outs[1].tensor : NULL;
}

static ig_tensor *argsort_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_sort_with(c, args[0].tensor, args[1].i, args[2].b, outs);
  return c->status == IG_OK ? outs[1].tensor : NULL;
}

static ig_tensor *argsort_stable_decompose(ig_ctx *c, const ig_value *args) {
  return sorted_indices(c, args[0].tensor, args[1].b, args[2].i, args[3].b);
}

static void topk_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (c->status != IG_OK) return;
  if (ig_dtype_is_complex(self->dtype) || self->dtype == IG_BOOL) {
    ig_refuse_dtype(c, "topk_cpu", self->dtype);
    return;
  }
  ig_int have = self->ndim ? ig_sizes(self)[dim] : ig_const(1);
  ig_int k = args[1].i;
  if (ig_int_is(c, k, IG_LT, ig_const(0)) || ig_int_is(c, have, IG_LT, k)) {
    if (c->status == IG_OK) ig_fail_text(c, IG_RUNTIME, "selected index k out of range");
    return;
  }
  for (int d = 0; d < self->ndim; d++) {
    for (int i = 0; i < 2; i++) ig_meta_push_dim(c, &out[i], d == dim ? k : ig_sizes(self)[d]);
  }
  out[1].dtype = IG_I64;
}

static void topk_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                         ig_prep *p) {
  (void)op;
  (void)outs;
  const ig_tensor *self = args[0].tensor;
  plan_sort(self, ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim), p);
}

static void topk_run(const ig_exec *x) {
  job j = {.self = x->args[0].tensor, .values = x->outs[0].tensor, .indices = x->outs[1].tensor};
  j.dim = ig_wrap_dim(x->c, ig_value_i64(x->c, &x->args[2]), j.self->ndim);
  j.descending = x->args[3].b;
  j.kept = ig_value_i64(x->c, &x->args[1]);
  if (ig_tensor_numel(j.values) > 0) sort_along(x, &j);
}

static ig_tensor *selecting_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  ig_tensor *indices = args[2].tensor;
  if (!args[4].b && args[3].ints.n > 0) {
    grad = ig_unsqueeze(c, grad, args[1].i);
    indices = ig_unsqueeze(c, indices, args[1].i);
  }
  if (!grad) return NULL;
  ig_tensor *full = ig_new_zeros(c, grad, args[3]);
  return ig_scatter_src(c, full, args[1].i, indices, grad);
}

static void select_vjp(ig_ctx *c, const ig_vjp *v, const ig_value *dim) {
  if (!v->grads[0]) return;
  IG_GRAD(v, 0) = ig_value_selecting_reduction_backward(c, v->grads[0], dim->i, v->outs[1].tensor,
                                                        ig_sizes_of(v->args[0].tensor), true);
}

static void sort_vjp(ig_ctx *c, const ig_vjp *v) {
  select_vjp(c, v, sort_args(v->op, v->args));
}

static void topk_vjp(ig_ctx *c, const ig_vjp *v) {
  select_vjp(c, v, &v->args[2]);
}

IG_OP(sort) = {
    .schema =
        "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
        "indices)",
    .quantized = IG_QUANT_SAME,
    .shape = sort_shape,
    .prepare = sort_prepare,
    .run = sort_run,
    .vjp = sort_vjp,
    .keep = "result1",
    .samples =
        "f32[3,5] | f32[3,5], 0, True | f32[4,3].T, 1 | i64[7]:perm | f32[] | f32[0,3] | "
        "f32[9]:special | f32[9]:special, 0, True",
};

IG_OP(sort_stable) = {
    .schema =
        "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
        "(Tensor values, Tensor indices)",
    .quantized = IG_QUANT_SAME,
    .shape = sort_shape,
    .prepare = sort_prepare,
    .run = sort_run,
    .vjp = sort_vjp,
    .keep = "result1",
    .samples =
        "f32[3,5], stable=True | i64[12]:<3, stable=True | i64[12]:<3, stable=True, "
        "descending=True | bool[6], stable=True | f32[2,60], stable=True | i64[2,80]:<5, "
        "stable=True, dim=1",
};

IG_OP(argsort) = {
    .schema = "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    .decompose = argsort_decompose,
    .samples = "f32[3,5] | f32[3,5], 0, True",
};

IG_OP(argsort_stable) = {
    .schema =
        "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> "
        "Tensor",
    .decompose = argsort_stable_decompose,
    .samples = "f32[3,5], stable=True | i64[12]:<3, stable=True, descending=True",
};

IG_OP(topk) = {
    .schema =
        "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
        "(Tensor values, Tensor indices)",
    .quantized = IG_QUANT_SAME,
    .shape = topk_shape,
    .prepare = topk_prepare,
    .run = topk_run,
    .vjp = topk_vjp,
    .keep = "result1",
    .samples =
        "f32[3,5]:perm, 2 | f32[3,5]:perm, 2, 0, False | f32[4,3].T:perm, 3, 1 | i64[7]:perm, 4 | "
        "f32[], 1 | f32[5], 0",
};

IG_OP(value_selecting_reduction_backward) = {
    .schema =
        "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] "
        "sizes, bool keepdim) -> Tensor",
    .decompose = selecting_decompose,
    .samples =
        "f32[4], 0, i64[4]:<3, [3,4], False | f32[1,4], 0, i64[1,4]:<3, [3,4], True | f32[], 0, "
        "i64[]:<1, [], False",
};
