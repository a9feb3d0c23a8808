// SPDX-License-Identifier: Apache-2.0
// gather, scatter and scatter_add: an index tensor as large as what is read or written says where
// along one dimension each element lies.
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/accumulate.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { GRAIN = 32768 };

static int rank(const ig_tensor *t) {
  return t->ndim ? t->ndim : 1;
}

static ig_int size_at(const ig_tensor *t, int d) {
  return t->ndim ? ig_sizes(t)[d] : ig_const(1);
}

static bool known_empty(const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    // concrete: only sizes that are known to be 0
    if (!ig_sizes(t)[d].expr && ig_sizes(t)[d].value == 0) return true;
  }
  return false;
}

static bool check_index(ig_ctx *c, const char *name, const ig_tensor *index) {
  if (index->dtype == IG_I64 || index->dtype == IG_I32) return true;
  ig_fail_text(c, IG_RUNTIME, "%s(): Expected dtype int32/int64 for index", name);
  return false;
}

static bool larger_than(ig_ctx *c, const ig_tensor *index, const ig_tensor *t, int except) {
  for (int d = 0; d < rank(index); d++) {
    if (d != except && ig_int_is(c, size_at(t, d), IG_LT, size_at(index, d))) return true;
  }
  return false;
}

static const char *sizes_of(ig_ctx *c, const ig_tensor *t) {
  return ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim);
}

static void gather_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  const ig_tensor *index = args[2].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK || !check_index(c, "gather", index)) return;
  for (int d = 0; d < index->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(index)[d]);
  if (known_empty(index)) return;
  if (rank(self) != rank(index)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Index tensor must have the same number of dimensions as input tensor");
    return;
  }
  for (int d = 0; d < rank(self); d++) {
    if (d == dim || !ig_int_is(c, size_at(self, d), IG_LT, size_at(index, d))) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Size does not match at dimension %d expected index %s to be no larger than self "
                 "%s apart from dimension %d",
                 d, sizes_of(c, index), sizes_of(c, self), dim);
    return;
  }
}

// One row is the last dimension of the index. `large` is indexed (gather reads it, scatter writes
// it), `small` is as large as the index or repeats one element.
// Loops of their own for frequent cases of writing.
typedef enum put_kind { PUT_ANY, PUT_4, PUT_8, ADD_F32, ADD_F64 } put_kind;

typedef struct job {
  const ig_tensor *index;
  int dim;
  bool put;
  char *large;
  char *small;
  int64_t size;                    // bytes of an element
  int64_t limit;                   // of the indexed dimension
  int64_t large_step[IG_MAX_DIM];  // bytes; 0 at dim
  int64_t small_step[IG_MAX_DIM];  // bytes
  int64_t index_step[IG_MAX_DIM];  // bytes
  int64_t sizes[IG_MAX_DIM];       // of the index
  int ndim;
  int64_t stride;  // bytes along the indexed dimension
  ig_accumulate_fn *fn;
  put_kind kind;
  atomic_bool failed;
  int64_t bad;
} job;

static int64_t load_index(const job *j, const char *at) {
  if (j->index->dtype == IG_I64) {
    int64_t i;
    memcpy(&i, at, sizeof i);
    return i;
  }
  int32_t i;
  memcpy(&i, at, sizeof i);
  return i;
}

static bool fail(job *j, int64_t at) {
  if (!atomic_exchange(&j->failed, true)) j->bad = at;
  return false;
}

static bool run_row(job *j, char *large, char *small, const char *index) {
  int last = j->ndim - 1;
  int64_t n = j->sizes[last];
  for (int64_t i = 0; i < n; i++) {
    int64_t at = load_index(j, index + i * j->index_step[last]);
    if (at < 0 || at >= j->limit) return fail(j, at);
    char *there = large + i * j->large_step[last] + at * j->stride;
    char *here = small + i * j->small_step[last];
    if (j->put) {
      j->fn(there, j->size, here, j->size, 1);
    } else {
      j->fn(here, j->size, there, j->size, 1);
    }
  }
  return true;
}

// The frequent case in a tight loop: gather of 4- and 8-byte elements.
#define GATHER_ROW(type)                                                                      \
  for (int64_t i = 0; i < n; i++) {                                                           \
    int64_t at = load_index(j, index + i * j->index_step[last]);                              \
    if (at < 0 || at >= j->limit) return run_row(j, large, small, index);                     \
    memcpy(small + i * j->small_step[last], large + i * j->large_step[last] + at * j->stride, \
           sizeof(type));                                                                     \
  }                                                                                           \
  return true;

static bool gather_row(job *j, char *large, char *small, const char *index) {
  int last = j->ndim - 1;
  int64_t n = j->sizes[last];
  if (j->size == 4) {
    GATHER_ROW(uint32_t)
  }
  if (j->size == 8) {
    GATHER_ROW(uint64_t)
  }
  return run_row(j, large, small, index);
}

// Likewise writing of such elements, and adding of floats.
#define SCATTER_ROW(type, expr)                                     \
  for (int64_t i = 0; i < n; i++) {                                 \
    int64_t at = load_index(j, index + i * j->index_step[last]);    \
    if (at < 0 || at >= j->limit) return fail(j, at);               \
    type x;                                                         \
    type y;                                                         \
    char *there = large + i * j->large_step[last] + at * j->stride; \
    memcpy(&x, there, sizeof x);                                    \
    memcpy(&y, small + i * j->small_step[last], sizeof y);          \
    x = (expr);                                                     \
    memcpy(there, &x, sizeof x);                                    \
  }                                                                 \
  return true;

static bool scatter_row(job *j, char *large, char *small, const char *index) {
  int last = j->ndim - 1;
  int64_t n = j->sizes[last];
  switch (j->kind) {
    case PUT_4:
      SCATTER_ROW(uint32_t, y)
    case PUT_8:
      SCATTER_ROW(uint64_t, y)
    case ADD_F32:
      SCATTER_ROW(float, x + y)
    case ADD_F64:
      SCATTER_ROW(double, x + y)
    default:
      return run_row(j, large, small, index);
  }
}

static void run_rows(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const char *index = ig_tensor_data(j->index);
  for (int64_t r = begin; r < end && !atomic_load_explicit(&j->failed, memory_order_relaxed); r++) {
    int64_t rest = r;
    int64_t large = 0;
    int64_t small = 0;
    int64_t at = 0;
    for (int d = j->ndim - 2; d >= 0; d--) {
      int64_t i = rest % j->sizes[d];
      rest /= j->sizes[d];
      large += i * j->large_step[d];
      small += i * j->small_step[d];
      at += i * j->index_step[d];
    }
    bool ok = j->put ? scatter_row(j, j->large + large, j->small + small, index + at)
                     : gather_row(j, j->large + large, j->small + small, index + at);
    if (!ok) return;
  }
}

static void steps_of(const ig_tensor *t, int64_t *step) {
  int64_t size = (int64_t)ig_dtype_size(t->dtype);
  step[0] = 0;
  for (int d = 0; d < t->ndim; d++) step[d] = ig_strides(t)[d].value * size;
}

static void prepare(job *j, const ig_tensor *large, const ig_tensor *small, int dim) {
  j->ndim = rank(j->index);
  j->dim = dim;
  j->large = ig_tensor_data(large);
  j->size = (int64_t)ig_dtype_size(large->dtype);
  j->limit = size_at(large, dim).value;
  for (int d = 0; d < j->ndim; d++) j->sizes[d] = size_at(j->index, d).value;
  steps_of(large, j->large_step);
  steps_of(j->index, j->index_step);
  memset(j->small_step, 0, sizeof j->small_step);
  if (small) {
    steps_of(small, j->small_step);
    j->small = ig_tensor_data(small);
  }
  j->stride = j->large_step[dim];
  j->large_step[dim] = 0;
}

static void report(ig_ctx *c, const job *j) {
  if (!j->failed) return;
  ig_fail_text(c, IG_RUNTIME, "index %lld is out of bounds for dimension %d with size %lld",
               (long long)j->bad, j->dim, (long long)j->limit);
}

// Reading: all rows are independent. Writing: rows that differ before dim are; the others keep
// their order, so that the last one wins and sums do not depend on threads.
static void run(ig_ctx *c, job *j) {
  int64_t rows = 1;
  for (int d = 0; d < j->ndim - 1; d++) rows *= j->sizes[d];
  int64_t columns = j->sizes[j->ndim - 1];
  if (rows * columns == 0) return;
  int64_t together = 1;
  for (int d = j->dim; j->put && d < j->ndim - 1; d++) together *= j->sizes[d];
  int64_t grain = GRAIN / columns + 1;
  if (together == 1) {
    ig_parallel_for(rows, grain, run_rows, j);
  } else {
    run_rows(j, 0, rows);
  }
  report(c, j);
}

static void gather_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), args[0].tensor->ndim);
  if (ig_tensor_numel(outs[0].tensor) == 0) return;
  job j = {.index = args[2].tensor};
  prepare(&j, args[0].tensor, outs[0].tensor, dim);
  j.fn = ig_accumulate_move((size_t)j.size);
  run(c, &j);
}

static void scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  const ig_tensor *index = args[2].tensor;
  const ig_tensor *src = ig_value_tensor(&args[3]);
  const char *name = op->schema.name;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK || !check_index(c, name, index)) return;
  if (src && src->dtype != self->dtype) {
    ig_fail_text(c, IG_RUNTIME, "%s(): Expected self.dtype to be equal to src.dtype", name);
    return;
  }
  if (!known_empty(index)) {
    if (rank(index) != rank(self)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Index tensor must have the same number of dimensions as self tensor");
      return;
    }
    if (src && rank(index) != rank(src)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Index tensor must have the same number of dimensions as src tensor");
      return;
    }
    bool wrong = larger_than(c, index, self, dim) || (src && larger_than(c, index, src, -1));
    if (wrong && src) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected index %s to be no larger than self %s apart from dimension %d and to "
                   "be no larger size than src %s",
                   sizes_of(c, index), sizes_of(c, self), dim, sizes_of(c, src));
    } else if (wrong) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected index %s to be no larger than self %s apart from dimension %d",
                   sizes_of(c, index), sizes_of(c, self), dim);
    }
  }
  for (int d = 0; d < self->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(self)[d]);
}

enum { MOVE, ADD, REDUCE };  // .variant of the records

static ig_accumulate_fn *accumulator(ig_ctx *c, const ig_op *op, const ig_value *args,
                                     ig_dtype dtype) {
  if (op->def->variant == MOVE) return ig_accumulate_move(ig_dtype_size(dtype));
  bool add = op->def->variant == ADD || strcmp(args[4].str, "add") == 0;
  if (!add && strcmp(args[4].str, "multiply") != 0) {
    ig_fail_text(c, IG_RUNTIME, "reduce argument must be either add or multiply.");
    return NULL;
  }
  ig_accumulate_fn *fn = add ? ig_accumulate_add(dtype) : ig_accumulate_multiply(dtype);
  if (!fn) ig_refuse_dtype(c, "scatter_", dtype);
  return fn;
}

static put_kind kind_of(ig_accumulate_fn *fn, ig_dtype dtype) {
  size_t size = ig_dtype_size(dtype);
  if (fn == ig_accumulate_move(size)) return size == 4 ? PUT_4 : size == 8 ? PUT_8 : PUT_ANY;
  if (fn != ig_accumulate_add(dtype)) return PUT_ANY;
  return dtype == IG_F32 ? ADD_F32 : dtype == IG_F64 ? ADD_F64 : PUT_ANY;
}

static void scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  ig_tensor *src = ig_value_tensor(&args[3]);
  char image[16];
  job j = {.index = args[2].tensor, .put = true};
  j.fn = accumulator(c, op, args, out->dtype);
  if (!src && !ig_check_number(c, &args[3], out->dtype)) return;
  if (!j.fn) return;
  j.kind = kind_of(j.fn, out->dtype);
  if (out != args[0].tensor) ig_tensor_copy(out, args[0].tensor);
  if (ig_tensor_numel(args[2].tensor) == 0) return;
  prepare(&j, out, src, ig_wrap_dim(c, ig_value_i64(c, &args[1]), out->ndim));
  if (!src) {
    ig_element_store(image, out->dtype, &args[3]);
    j.small = image;
  }
  run(c, &j);
}

static ig_tensor *gather_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  if (args[4].b) {
    ig_fail_text(c, IG_UNSUPPORTED, "gather: sparse gradients do not exist here");
    return NULL;
  }
  ig_tensor *full = ig_new_zeros(c, grad, ig_sizes_of(args[1].tensor));
  return ig_scatter_add(c, full, args[2].i, args[3].tensor, grad);
}

static void gather_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_gather_backward(c, v->grad, v->args[0].tensor, v->args[1].i, v->args[2].tensor,
                                     v->args[3].b);
}

// src may be larger than the index; what lies beyond had no say.
static ig_tensor *grad_of_src(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *src = v->args[3].tensor;
  ig_tensor *g = ig_gather(c, v->grad, v->args[1].i, v->args[2].tensor);
  if (g && g->ndim != src->ndim) return ig_reshape(c, g, ig_sizes_of(src));  // 0-d counts as 1-d
  for (int d = 0; g && d < g->ndim; d++) {
    if (ig_int_eq(c, ig_sizes(g)[d], ig_sizes(src)[d])) continue;
    ig_int pad[2 * IG_MAX_DIM];
    size_t n = 2 * (size_t)g->ndim;
    for (size_t k = 0; k < n; k++) pad[k] = ig_const(0);
    pad[2 * (g->ndim - 1 - d) + 1] = ig_int_sub(c, ig_sizes(src)[d], ig_sizes(g)[d]);
    g = ig_constant_pad_nd(c, g, ig_of_ints(pad, n));
  }
  return g;
}

static void scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_scatter_value(c, v->grad, v->args[1].i, v->args[2].tensor, ig_of_i64(0));
  if (v->args[3].kind != IG_KIND_TENSOR) return;
  IG_GRAD(v, 3) = grad_of_src(c, v);
}

static void scatter_add_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = v->grad;
  IG_GRAD(v, 3) = grad_of_src(c, v);
}

IG_OP(gather) = {
    .schema =
        "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .shape = gather_shape,
    .kernel = gather_kernel,
    .takes_no_memory = true,
    .vjp = gather_vjp,
    .keep = "index",
    .samples =
        "f32[5,4], 0, i64[2,4]:<5 | f32[5,4], 1, i64[5,7]:<4 | f32[4,5].T, -1, i64[3,2]:<4 | "
        "f32[6], 0, i32[3]:<6 | f32[], 0, i64[]:<1 | f32[2,3,4], 1, i64[2,5,4]:<3 | f32[3], 0, "
        "i64[0]",
};

IG_OP(gather_backward) = {
    .schema =
        "aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) "
        "-> Tensor",
    .decompose = gather_backward_decompose,
    .samples = "f32[2,4], f32[5,4], 0, i64[2,4]:<5, False",
};

IG_OP(scatter_src) = {
    .schema = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .shape = scatter_shape,
    .kernel = scatter_kernel,
    .takes_no_memory = true,
    .vjp = scatter_vjp,
    .keep = "index",
    .alias_out = true,
    .variant = MOVE,
    .samples =
        "f32[5], 0, i64[5]:perm, f32[5] | f32[1,4], 1, i64[1,4]:perm, f32[1,4] | f32[4,1].T, -1, "
        "i64[1,3]:perm, f32[1,3] | f32[3], 0, i64[3]:perm, f32[3]",
};

IG_OP(scatter_value) = {
    .schema = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .shape = scatter_shape,
    .kernel = scatter_kernel,
    .takes_no_memory = true,
    .vjp = scatter_vjp,
    .keep = "index",
    .alias_out = true,
    .variant = MOVE,
    .samples =
        "f32[5,4], 0, i64[2,4]:<5, 1.5 | f32[5,4], 1, i64[5,2]:<4, 2 | i64[5], 0, i64[3]:<5, 7",
};

IG_OP(scatter_reduce) = {
    .schema =
        "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
        "Tensor",
    .shape = scatter_shape,
    .kernel = scatter_kernel,
    .takes_no_memory = true,
    .alias_out = true,
    .variant = REDUCE,
    .samples =
        "f32[5,4], 0, i64[2,4]:<5, f32[2,4], reduce='add' | f32[5,4], 1, i64[5,2]:<4, f32[5,2], "
        "reduce='multiply'",
};

IG_OP(scatter_value_reduce) = {
    .schema =
        "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str "
        "reduce) -> Tensor",
    .shape = scatter_shape,
    .kernel = scatter_kernel,
    .takes_no_memory = true,
    .alias_out = true,
    .variant = REDUCE,
    .samples =
        "f32[5,4], 0, i64[2,4]:<5, 1.5, reduce='add' | f32[5,4], 1, i64[5,2]:<4, 2, "
        "reduce='multiply'",
};

IG_OP(scatter_add) = {
    .schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .shape = scatter_shape,
    .kernel = scatter_kernel,
    .takes_no_memory = true,
    .vjp = scatter_add_vjp,
    .keep = "index",
    .alias_out = true,
    .variant = ADD,
    .samples =
        "f32[5,4], 0, i64[2,4]:<5, f32[2,4] | f32[5,4], 1, i64[5,7]:<4, f32[5,7] | f32[4,5].T, -1, "
        "i64[3,2]:<4, f32[3,2] | i64[5], 0, i64[3]:<5, i64[3] | f32[3], 0, i64[0], f32[0]",
};
