// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index, and the gradient that adds rows back.
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/accumulate.h"
#include "ops/lower.h"
#include "ops/operand.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { GRAIN = 32768 };

static void embedding_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *weight = args[0].tensor;
  const ig_tensor *indices = args[1].tensor;
  if (weight->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "'weight' must be 2-D");
    return;
  }
  bool integral = indices->dtype == IG_I64 || indices->dtype == IG_I32;
  if (!integral && ig_is_fake(indices)) {
    ig_fail_text(c, IG_RUNTIME, "tensors used as indices must be long, int, byte or bool tensors");
    return;
  }
  if (!integral) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected tensor for argument #1 'indices' to have one of the following scalar "
                 "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                 "embedding)",
                 ig_dtype_title(indices->dtype));
    return;
  }
  for (int d = 0; d < indices->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(indices)[d]);
  ig_meta_push_dim(c, out, ig_sizes(weight)[1]);
}

typedef struct lookup {
  const char *weight;
  char *out;
  const int64_t *row;
  int64_t bytes;   // of a row
  int64_t stride;  // bytes between rows of the weight
} lookup;

static void copy_rows(void *arg, int64_t begin, int64_t end) {
  const lookup *j = arg;
  for (int64_t i = begin; i < end; i++) {
    memcpy(j->out + i * j->bytes, j->weight + j->row[i] * j->stride, (size_t)j->bytes);
  }
}

static int64_t *rows_of(ig_ctx *c, const ig_tensor *indices, int64_t n) {
  int64_t *row = ig_scope_array(c, (size_t)n, sizeof *row);
  if (row) ig_tensor_read(indices, IG_I64, row);
  return row;
}

typedef struct embedding_state {
  ig_operand rows;
  ig_operand weight;
} embedding_state;

static void embedding_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                              const ig_value *outs, ig_prep *p) {
  (void)c;
  (void)op;
  (void)outs;
  IG_STATE(embedding_state, s, p);
  const ig_tensor *weight = args[0].tensor;
  s->rows = ig_operand_plan(&p->need, args[1].tensor, IG_I64, IG_ROW_MAJOR);
  s->weight = (ig_operand){.dtype = weight->dtype};  // rows may lie apart, not their elements
  if (ig_sizes(weight)[1].value > 1 && ig_strides(weight)[1].value != 1) {
    s->weight = ig_operand_copy(&p->need, weight, weight->dtype, IG_ROW_MAJOR, 0);
  }
}

static void embedding_run(const ig_exec *x) {
  const embedding_state *s = x->state;
  const ig_tensor *weight = x->args[0].tensor;
  int64_t n = ig_tensor_numel(x->args[1].tensor);
  int64_t rows = ig_sizes(weight)[0].value;
  int64_t width = ig_sizes(weight)[1].value;
  int64_t size = (int64_t)ig_dtype_size(weight->dtype);
  const int64_t *row = ig_operand_read(x, &s->rows, x->args[1].tensor);
  for (int64_t i = 0; i < n; i++) {
    if (row[i] >= 0 && row[i] < rows) continue;
    ig_fail_text(x->c, IG_BAD_INDEX, "index out of range in self");
    return;
  }
  int64_t stride = s->weight.copied ? width : ig_strides(weight)[0].value;
  lookup j = {ig_operand_read(x, &s->weight, weight), ig_tensor_data(x->outs[0].tensor), row,
              width * size, stride * size};
  if (width) ig_parallel_for(n, GRAIN / (width + 1) + 1, copy_rows, &j);
}

static void embedding_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_int rows = ig_sizes(v->args[0].tensor)[0];
  IG_GRAD(v, 0) = ig_embedding_backward(c, v->grad, v->args[1].tensor, rows, v->args[2].i,
                                        v->args[3].b, v->args[4].b);
}

static void renorm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *indices = args[1].tensor;
  if (args[0].tensor->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "Expected 2-dimensional tensor, but got %d-dimensional tensor",
                 args[0].tensor->ndim);
  } else if (indices->dtype != IG_I64 && indices->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected tensor for argument #1 'indices' to have one of the following scalar "
                 "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                 "embedding_renorm_)",
                 ig_dtype_title(indices->dtype));
  } else if (!ig_dtype_is_float(args[0].tensor->dtype) &&
             !ig_dtype_is_complex(args[0].tensor->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "norm(): input dtype should be either floating point or complex. Got %s instead.",
                 ig_dtype_title(args[0].tensor->dtype));
  } else {
    ig_shape_like(c, op, args, out);
  }
}

// Scales one row to max_norm if its norm is larger.
static void renorm_row(char *row, ig_dtype dtype, int64_t step, int64_t n, double most, double p) {
  double sum = 0;
  ig_c128 z;
  for (int64_t k = 0; k < n; k++) {
    ig_convert(&z, IG_C128, row + k * step, dtype, 1);
    double x = hypot(z.re, z.im);
    sum = isinf(p) ? (x > sum ? x : sum) : sum + (p == 2 ? x * x : pow(x, p));
  }
  double norm = isinf(p) ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
  if (!(norm > most)) return;  // NaN stays
  double factor = most / (norm + 1e-7);
  for (int64_t k = 0; k < n; k++) {
    ig_convert(&z, IG_C128, row + k * step, dtype, 1);
    z = (ig_c128){z.re * factor, z.im * factor};
    ig_convert(row + k * step, dtype, &z, IG_C128, 1);
  }
}

// Rows that are indexed several times are scaled once: afterwards their norm is small enough.
static void renorm_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  if (out != args[0].tensor) ig_tensor_copy(out, args[0].tensor);
  ig_scope scope = ig_scope_open(c);
  int64_t n = ig_tensor_numel(args[1].tensor);
  int64_t *row = rows_of(c, args[1].tensor, n);
  int64_t size = (int64_t)ig_dtype_size(out->dtype);
  bool *done = ig_scope_push(c, (size_t)ig_sizes(out)[0].value + 1);
  if (done) memset(done, 0, (size_t)ig_sizes(out)[0].value + 1);
  for (int64_t i = 0; row && done && i < n; i++) {
    if (row[i] < 0 || row[i] >= ig_sizes(out)[0].value) {
      ig_fail_text(c, IG_BAD_INDEX, "index out of range in self");
      break;
    }
    if (done[row[i]]) continue;
    done[row[i]] = true;
    char *at = (char *)ig_tensor_data(out) + row[i] * ig_strides(out)[0].value * size;
    renorm_row(at, out->dtype, ig_strides(out)[1].value * size, ig_sizes(out)[1].value,
               ig_value_f64(&args[2]), ig_value_f64(&args[3]));
  }
  ig_scope_close(c, scope);
}

static ig_tensor *embedding_backward_decompose(ig_ctx *c, const ig_value *args) {
  if (args[5].b) {
    ig_fail_text(c, IG_UNSUPPORTED, "embedding: sparse gradients do not exist here");
    return NULL;
  }
  return ig_embedding_dense_backward(c, args[0].tensor, args[1].tensor, args[2].i, args[3].i,
                                     args[4].b);
}

static void embedding_dense_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args,
                                           ig_meta *out) {
  (void)op;
  const ig_tensor *grad = args[0].tensor;
  if (grad->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "embedding_dense_backward: expected a gradient with dimensions");
    return;
  }
  const ig_tensor *indices = args[1].tensor;
  bool same = grad->ndim == indices->ndim + 1;
  for (int d = 0; d < indices->ndim && same; d++) {
    same = ig_int_eq(c, ig_sizes(grad)[d], ig_sizes(indices)[d]);
  }
  if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_dense_backward: expected a gradient with the sizes of indices and one "
                 "dimension more");
  }
  if (c->status != IG_OK) return;
  ig_meta_push_dim(c, out, args[2].i);
  ig_meta_push_dim(c, out, ig_sizes(grad)[grad->ndim - 1]);
}

typedef struct rows_job {
  const int64_t *row;
  int64_t n;
  int64_t width;
  int64_t rows;
  int64_t padding;
  const int64_t *count;  // NULL: no scaling
  const char *grad;
  char *out;
  int64_t size;
  ig_dtype dtype;
  ig_accumulate_fn *add;
  ig_accumulate_fn *multiply;
} rows_job;

// Adds from / count: every factor is rounded to the dtype first, as in PyTorch.
static void scale_row(const rows_job *j, char *to, const char *from, int64_t n, int64_t count) {
  char factor[16];
  ig_value share = ig_of_f64(1.0 / (double)count);
  ig_element_store(factor, j->dtype, &share);
  for (int64_t k = 0; k < n; k++) {
    char scaled[16];
    memcpy(scaled, from + k * j->size, (size_t)j->size);
    j->multiply(scaled, j->size, factor, j->size, 1);
    j->add(to + k * j->size, j->size, scaled, j->size, 1);
  }
}

static void add_columns(void *arg, int64_t begin, int64_t end) {
  const rows_job *j = arg;
  for (int64_t i = 0; i < j->n; i++) {
    int64_t row = j->row[i];
    if (row == j->padding || row < 0 || row >= j->rows) continue;
    char *to = j->out + (row * j->width + begin) * j->size;
    const char *from = j->grad + (i * j->width + begin) * j->size;
    if (j->count) {
      scale_row(j, to, from, end - begin, j->count[row]);
    } else {
      j->add(to, j->size, from, j->size, end - begin);
    }
  }
}

static int64_t *count_rows(ig_ctx *c, const int64_t *row, int64_t n, int64_t rows) {
  int64_t *count = ig_scope_array(c, (size_t)rows, sizeof *count);
  if (!count) return NULL;
  memset(count, 0, (size_t)rows * sizeof *count);
  for (int64_t i = 0; i < n; i++) {
    if (row[i] >= 0 && row[i] < rows) count[row[i]]++;
  }
  return count;
}

static void embedding_dense_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                            ig_value *outs) {
  (void)op;
  ig_tensor *grad = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  ig_scope scope = ig_scope_open(c);
  rows_job j = {.n = ig_tensor_numel(args[1].tensor), .dtype = grad->dtype};
  j.width = ig_sizes(out)[1].value;
  j.rows = ig_sizes(out)[0].value;
  j.padding = ig_value_i64(c, &args[3]);
  j.size = (int64_t)ig_dtype_size(grad->dtype);
  j.add = ig_accumulate_add(grad->dtype);
  j.multiply = ig_accumulate_multiply(grad->dtype);
  j.out = ig_tensor_data(out);
  int64_t *row = rows_of(c, args[1].tensor, j.n);
  grad = ig_contiguous(c, grad);
  if (!j.add) ig_refuse_dtype(c, "embedding_backward", out->dtype);
  if (row && grad && j.add) {
    j.row = row;
    j.grad = ig_tensor_data(grad);
    if (args[4].b) j.count = count_rows(c, row, j.n, j.rows);
    size_t bytes = (size_t)(j.rows * j.width * j.size);
    if (bytes) memset(j.out, 0, bytes);
    ig_parallel_for(j.width, GRAIN / (j.n + 1) + 16, add_columns, &j);
  }
  ig_scope_close(c, scope);
}

static void embedding_dense_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *indices = v->args[1].tensor;
  ig_tensor *g = ig_embedding(c, v->grad, indices);
  ig_tensor *padding = ig_eq_scalar(c, indices, v->args[3]);
  padding = ig_unsqueeze(c, padding, ig_const(-1));
  IG_GRAD(v, 0) = ig_masked_fill_scalar(c, g, padding, ig_of_i64(0));
}

IG_OP(embedding) = {
    .schema =
        "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
        "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    .shape = embedding_shape,
    .prepare = embedding_prepare,
    .run = embedding_run,
    .vjp = embedding_vjp,
    .keep = "indices",
    .lower = ig_lower_embedding,
    .samples =
        "f32[5,4], i64[3]:<5 | f32[5,4], i32[2,3]:<1, 1 | f32[5,4], i64[]:<5 | f32[5,4], i64[0]",
    .waive = "refusal: the class depends on the kernel that PyTorch takes",
};

IG_OP(embedding_renorm) = {
    .schema =
        "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
        "Tensor",
    .shape = renorm_shape,
    .kernel = renorm_kernel,
    .alias_out = true,
    .samples = "f32[5,4], i64[3]:<5, 1., 2. | f32[5,4], i64[2,2]:<5, 0.5, 1.",
    .not_differentiable = true,  // PyTorch has none
};

IG_OP(embedding_backward) = {
    .schema =
        "aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt "
        "padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor",
    .decompose = embedding_backward_decompose,
    .samples =
        "f32[3,4], i64[3]:<5, 5, -1, False, False | f32[3,4], i64[3]:perm, 5, 1, True, False",
};

IG_OP(embedding_dense_backward) = {
    .schema =
        "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
        "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    .shape = embedding_dense_backward_shape,
    .kernel = embedding_dense_backward_kernel,
    .vjp = embedding_dense_backward_vjp,
    .keep = "indices",
    .decompose = ig_lower_embedding_dense_backward,
    .samples = "f32[3,4], i64[3]:<5, 5, -1, False | f32[2,3,4], i32[2,3]:<5, 5, 2, False",
};
