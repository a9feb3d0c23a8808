// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima of bags of rows of a table. A bag is a range of indices; offsets are the
// start of each. Sums are kept in float (double for double) and rounded once.
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { SUM, MEAN, MAX };
enum { GRAIN = 32768, PIECE = 64 };
enum { WEIGHT, INDICES, OFFSETS, BY_FREQUENCY, MODE, SPARSE, SAMPLE_WEIGHTS, LAST_OFFSET, PADDING };

static bool is_index(ig_ctx *c, const ig_tensor *t, const char *name) {
  if (t->dtype == IG_I64 || t->dtype == IG_I32) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Expected tensor for argument #1 '%s' to have one of the following scalar types: "
               "Long, Int; but got torch.%sTensor instead (while checking arguments for "
               "embedding_bag)",
               name, ig_dtype_title(t->dtype));
  return false;
}
static bool check_bags(ig_ctx *c, const ig_value *args) {
  const ig_tensor *weight = args[WEIGHT].tensor;
  const ig_tensor *indices = args[INDICES].tensor;
  const ig_tensor *offsets = args[OFFSETS].tensor;
  if (!is_index(c, indices, "indices") || !is_index(c, offsets, "offsets")) return false;
  if (!ig_dtype_is_float(weight->dtype) || ig_dtype_size(weight->dtype) < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected tensor for argument #1 'weight' to have one of the following scalar "
                 "types: Half, BFloat16, Float, Double; but got torch.%sTensor instead (while "
                 "checking arguments for embedding_bag)",
                 ig_dtype_title(weight->dtype));
  } else if (weight->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "weight has to be a 2D Tensor, but got Tensor of dimension %d",
                 weight->ndim);
  } else if (indices->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "input has to be a 1D Tensor, but got Tensor of dimension %d",
                 indices->ndim);
  } else if (offsets->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "offsets has to be a 1D Tensor, but got Tensor of dimension %d",
                 offsets->ndim);
  } else if (args[LAST_OFFSET].b && ig_int_is(c, ig_sizes(offsets)[0], IG_LT, ig_const(1))) {
    ig_fail_text(c, IG_RUNTIME, "include_last_offset: number of offsets should be at least 1");
  }
  int64_t mode = ig_value_i64(c, &args[MODE]);
  if (c->status == IG_OK && (mode < SUM || mode > MAX)) {
    ig_fail_text(c, IG_RUNTIME, "embedding_bag: mode %lld is none of 0 (sum), 1 (mean), 2 (max)",
                 (long long)mode);
  }
  const ig_tensor *scale = ig_value_tensor(&args[SAMPLE_WEIGHTS]);
  if (!scale || c->status != IG_OK) return c->status == IG_OK;
  if (mode != SUM) {
    ig_fail_text(c, IG_RUNTIME, "embedding_bag: per_sample_weights only supported with mode='sum'");
  } else if (scale->dtype != weight->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected tensor for argument #1 'weight' to have the same type as tensor for "
                 "argument #2 'per_sample_weights'; but type torch.%sTensor does not equal "
                 "torch.%sTensor (while checking arguments for embedding_bag)",
                 ig_dtype_title(weight->dtype), ig_dtype_title(scale->dtype));
  } else if (scale->ndim != 1 || !ig_int_eq(c, ig_sizes(scale)[0], ig_sizes(indices)[0])) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag: per_sample_weights must have one element per index: found sizes "
                 "%s, expected [%s]",
                 ig_sizes_text(c, ig_sizes(scale), (size_t)scale->ndim),
                 ig_int_text(c, ig_sizes(indices)[0]));
  }
  return c->status == IG_OK;
}

// PyTorch processes dense tables of up to 32 bits bag by bag and then does not return which bag an
// index is in.
static bool bag_by_bag(ig_ctx *c, const ig_value *args) {
  const ig_tensor *weight = args[WEIGHT].tensor;
  const ig_tensor *scale = ig_value_tensor(&args[SAMPLE_WEIGHTS]);
  return weight->dtype != IG_F64 && ig_value_i64(c, &args[PADDING]) < 0 &&
         ig_int_eq_i64(c, ig_strides(weight)[1], 1) &&
         (!scale || ig_int_eq_i64(c, ig_strides(scale)[0], 1));
}

// output [bags, width], bag of each index, sizes of bags, rows of the greatest elements
static void bag_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (!check_bags(c, args)) return;
  bool forward_only = op->def->variant;
  const ig_tensor *indices = args[INDICES].tensor;
  const ig_tensor *offsets = args[OFFSETS].tensor;
  int64_t mode = ig_value_i64(c, &args[MODE]);
  ig_int width = ig_sizes(args[WEIGHT].tensor)[1];
  ig_int all = ig_sizes(offsets)[0];
  ig_int bags = args[LAST_OFFSET].b ? ig_int_sub(c, all, ig_const(1)) : all;
  ig_meta_push_dim(c, &out[0], bags);
  ig_meta_push_dim(c, &out[0], width);
  bool told = mode != SUM || !bag_by_bag(c, args);
  ig_meta_push_dim(c, &out[1], told ? ig_sizes(indices)[0] : ig_const(0));
  ig_int sizes = mode == SUM && forward_only ? all : bags;
  ig_meta_push_dim(c, &out[2], sizes);
  ig_meta_push_dim(c, &out[3], mode == MAX ? bags : sizes);
  if (mode == MAX) ig_meta_push_dim(c, &out[3], width);
  ig_dtype index = ig_dtype_promote(indices->dtype, offsets->dtype);
  for (int i = 1; i < 4; i++) out[i].dtype = index;
}

typedef struct bags_job {
  const char *weight;
  ig_dtype dtype;
  int64_t size;    // bytes of an element
  int64_t stride;  // bytes between rows
  int64_t width;
  int64_t rows;
  int64_t mode;
  int64_t padding;
  const int64_t *index;
  const int64_t *begin;  // of each bag, and the end of the last at [bags]
  int64_t *count;        // elements of a bag that are not padding
  const void *scale;     // NULL: 1
  int64_t *greatest;     // [bags, width]
  void *out;             // [bags, width], float or double
} bags_job;

// One row into one bag. `first`: nothing is in it yet.
#define ADD_ROW(name, type, code)                                                             \
  IG_CLONES_NARROW static void name##_piece(type *to, const type *x, type scale, int64_t n) { \
    for (int64_t k = 0; k < n; k++) to[k] += scale * x[k];                                    \
  }                                                                                           \
  static void name(const bags_job *j, int64_t bag, int64_t i, bool first) {                   \
    type piece[PIECE];                                                                        \
    type scale = j->scale ? ((const type *)j->scale)[i] : 1;                                  \
    type *to = (type *)j->out + bag * j->width;                                               \
    int64_t *row = j->greatest ? j->greatest + bag * j->width : NULL;                         \
    const char *from = j->weight + j->index[i] * j->stride;                                   \
    if (!row && j->dtype == (code)) {                                                         \
      name##_piece(to, (const type *)(const void *)from, scale, j->width);                    \
      return;                                                                                 \
    }                                                                                         \
    for (int64_t d = 0; d < j->width; d += PIECE) {                                           \
      int64_t n = j->width - d < PIECE ? j->width - d : PIECE;                                \
      ig_convert(piece, code, from + d * j->size, j->dtype, (size_t)n);                       \
      if (!row) name##_piece(to + d, piece, scale, n);                                        \
      for (int64_t k = 0; k < n && row; k++) {                                                \
        if (!first && !(to[d + k] < piece[k])) continue;                                      \
        to[d + k] = piece[k];                                                                 \
        row[d + k] = j->index[i];                                                             \
      }                                                                                       \
    }                                                                                         \
  }                                                                                           \
  static void name##_bags(void *arg, int64_t begin, int64_t end) {                            \
    const bags_job *j = arg;                                                                  \
    for (int64_t bag = begin; bag < end; bag++) {                                             \
      int64_t taken = 0;                                                                      \
      for (int64_t i = j->begin[bag]; i < j->begin[bag + 1]; i++) {                           \
        if (j->index[i] == j->padding) {                                                      \
          j->count[bag]--;                                                                    \
        } else {                                                                              \
          name(j, bag, i, taken++ == 0);                                                      \
        }                                                                                     \
      }                                                                                       \
      type *to = (type *)j->out + bag * j->width;                                             \
      type share = (type)j->count[bag];                                                       \
      if (j->mode != MEAN || j->count[bag] <= 1) continue;                                    \
      for (int64_t d = 0; d < j->width; d++) to[d] /= share;                                  \
    }                                                                                         \
  }
ADD_ROW(add_f32, float, IG_F32)
ADD_ROW(add_f64, double, IG_F64)

// Which bag every index is in: the number of offsets up to it, less one. Offsets beyond the last
// index begin empty bags.
static void tell_bags(const int64_t *offset, int64_t bags, int64_t n, int64_t *bag_of) {
  memset(bag_of, 0, (size_t)n * sizeof *bag_of);
  for (int64_t b = 1; b < bags; b++) {
    if (offset[b] >= 0 && offset[b] < n) bag_of[offset[b]]++;
  }
  for (int64_t i = 1; i < n; i++) bag_of[i] += bag_of[i - 1];
}

static bool check_values(ig_ctx *c, const bags_job *j, int64_t n, const int64_t *offset,
                         int64_t offsets) {
  if (offsets && offset[0] != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                 "from position 0. However, got %lld",
                 (long long)offset[0]);
  } else if (offsets && offset[offsets - 1] > n) {
    ig_fail_text(c, IG_RUNTIME,
                 "offsets[-1] can not be greater than input's length %lld but got offsets[-1] of "
                 "%lld",
                 (long long)n, (long long)offset[offsets - 1]);
  }
  for (int64_t b = 1; b < offsets && c->status == IG_OK; b++) {
    if (offset[b] >= offset[b - 1]) continue;
    ig_fail_text(c, IG_RUNTIME, "embedding_bag: offsets must not fall, found %lld after %lld",
                 (long long)offset[b], (long long)offset[b - 1]);
  }
  for (int64_t i = 0; i < n && c->status == IG_OK; i++) {
    if (j->index[i] >= 0 && j->index[i] < j->rows) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                 "%lld",
                 (long long)j->index[i]);
  }
  return c->status == IG_OK;
}

static void bag_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *weight = args[WEIGHT].tensor;
  ig_tensor *scale = ig_value_tensor(&args[SAMPLE_WEIGHTS]);
  int64_t n = ig_tensor_numel(args[INDICES].tensor);
  int64_t offsets = ig_tensor_numel(args[OFFSETS].tensor);
  int64_t bags = ig_sizes(outs[0].tensor)[0].value;
  ig_dtype works = weight->dtype == IG_F64 ? IG_F64 : IG_F32;
  bags_job j = {.dtype = weight->dtype, .size = (int64_t)ig_dtype_size(weight->dtype)};
  bool ranges = bag_by_bag(c, args);
  if (ig_strides(weight)[1].value != 1) weight = ig_contiguous(c, weight);
  j.mode = ig_value_i64(c, &args[MODE]);
  j.padding = ig_value_i64(c, &args[PADDING]);
  j.rows = ig_sizes(args[WEIGHT].tensor)[0].value;
  j.width = ig_sizes(args[WEIGHT].tensor)[1].value;
  j.index = ig_dense_read(c, args[INDICES].tensor, IG_I64);
  int64_t *offset = ig_dense_read(c, args[OFFSETS].tensor, IG_I64);
  int64_t *begin = ig_dense_room(c, (size_t)bags + 1, IG_I64);
  int64_t *bag_of = ig_dense_room(c, (size_t)n, IG_I64);
  j.count = ig_dense_room(c, (size_t)offsets, IG_I64);
  j.out = ig_dense_room(c, (size_t)(bags * j.width), works);
  if (j.mode == MAX) j.greatest = ig_dense_room(c, (size_t)(bags * j.width), IG_I64);
  if (scale) j.scale = ig_dense_read(c, scale, works);
  if (c->status == IG_OK && weight && check_values(c, &j, n, offset, offsets)) {
    j.weight = ig_tensor_data(weight);
    j.stride = ig_strides(weight)[0].value * j.size;
    memcpy(begin, offset, (size_t)bags * sizeof *begin);
    begin[bags] = ranges && offsets > bags ? offset[bags] : n;
    // a mean divides by the number of indices up to the next bag, or for the last one up to the
    // last index
    for (int64_t b = 0; b < bags; b++) j.count[b] = (b + 1 < bags ? offset[b + 1] : n) - offset[b];
    j.begin = begin;
    tell_bags(offset, bags, n, bag_of);
    int64_t grain = bags && n ? GRAIN / (j.width * (n / bags + 1) + 1) + 1 : 1;
    ig_parallel_for(bags, grain, works == IG_F64 ? add_f64_bags : add_f32_bags, &j);
    if (j.mode == SUM) memset(j.count, 0, (size_t)offsets * sizeof *j.count);
    ig_dense_write(c, outs[0].tensor, works, j.out);
    ig_dense_write(c, outs[1].tensor, IG_I64, bag_of);
    ig_dense_write(c, outs[2].tensor, IG_I64, j.count);
    ig_dense_write(c, outs[3].tensor, IG_I64, j.mode == MAX ? j.greatest : j.count);
  }
  ig_scope_close(c, scope);
}

static void bag_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  IG_GRAD(v, WEIGHT) = ig__embedding_bag_backward_with(
      c, v->grads[0], a[INDICES].tensor, a[OFFSETS].tensor, v->outs[1].tensor, v->outs[2].tensor,
      v->outs[3].tensor, ig_sizes(a[WEIGHT].tensor)[0], a[BY_FREQUENCY].b, a[MODE].i, a[SPARSE].b,
      ig_value_tensor(&a[SAMPLE_WEIGHTS]), a[PADDING].i);
  IG_GRAD(v, SAMPLE_WEIGHTS) = ig__embedding_bag_per_sample_weights_backward_with(
      c, v->grads[0], a[WEIGHT].tensor, a[INDICES].tensor, a[OFFSETS].tensor, v->outs[1].tensor,
      a[MODE].i, a[PADDING].i);
}

// PyTorch saves what a derivative needs only if the table requires one.
static void embedding_bag_formula(ig_ctx *c, const ig_value *a, int64_t padding, ig_value *outs) {
  ig_tensor *weight = a[WEIGHT].tensor;
  ig_tensor *indices = ig_contiguous(c, a[INDICES].tensor);
  ig_tensor *offsets = ig_contiguous(c, a[OFFSETS].tensor);
  ig_tensor *scale = ig_value_tensor(&a[SAMPLE_WEIGHTS]);
  if (ig_tensor_requires_grad(weight)) {
    ig__embedding_bag_with(c, weight, indices, offsets, a[BY_FREQUENCY].b, a[MODE].i, a[SPARSE].b,
                           scale, a[LAST_OFFSET].b, ig_const(padding), outs);
  } else {
    ig__embedding_bag_forward_only_with(c, weight, indices, offsets, a[BY_FREQUENCY].b, a[MODE].i,
                                        a[SPARSE].b, scale, a[LAST_OFFSET].b, ig_const(padding),
                                        outs);
  }
}
static void embedding_bag_decompose(ig_ctx *c, const ig_value *a, ig_value *outs) {
  embedding_bag_formula(c, a, -1, outs);
}
static void embedding_bag_padding_decompose(ig_ctx *c, const ig_value *a, ig_value *outs) {
  int64_t padding = -1;
  if (a[PADDING].kind != IG_KIND_NONE) {
    padding = ig_value_i64(c, &a[PADDING]);
    const ig_tensor *weight = a[WEIGHT].tensor;
    ig_int rows = weight->ndim ? ig_sizes(weight)[0] : ig_const(0);
    ig_int at = padding < 0 ? ig_int_add(c, rows, ig_const(padding)) : ig_const(padding);
    if (!ig_int_is(c, at, IG_LT, rows) || !ig_int_is(c, ig_const(0), IG_LE, at)) {
      ig_fail_text(c, IG_RUNTIME,
                   "padding_idx must be within the number of embeddings, -%s through %s - 1, but "
                   "got %lld",
                   ig_int_text(c, rows), ig_int_text(c, rows), (long long)padding);
      return;
    }
    padding = padding < 0 ? ig_int_specialize(c, at) : padding;
  }
  embedding_bag_formula(c, a, padding, outs);
}

// ---- backward ----

static void dense_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  bool with_offsets = op->def->variant;
  const ig_tensor *grad = args[0].tensor;
  if (grad->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag_backward: grad has to be a 2D Tensor, but got Tensor of dimension "
                 "%d",
                 grad->ndim);
  } else if (ig_check_float(c, "embedding_bag_backward", grad->dtype)) {
    ig_meta_push_dim(c, out, args[5 + with_offsets].i);
    ig_meta_push_dim(c, out, ig_sizes(grad)[1]);
  }
}

typedef struct spread_job {
  const void *grad;      // [bags, width]
  const int64_t *row;    // per index; MAX: per element of grad
  const int64_t *bag;    // per index; NULL: MAX
  const int64_t *count;  // MAX: bags without elements are left out
  const double *factor;  // per index
  int64_t n;
  int64_t bags;
  int64_t rows;
  int64_t width;
  void *out;  // [rows, width]
} spread_job;

#define SPREAD(name, type)                                                                \
  static void name(void *arg, int64_t begin, int64_t end) {                               \
    const spread_job *j = arg;                                                            \
    const type *grad = j->grad;                                                           \
    type *out = j->out;                                                                   \
    for (int64_t i = 0; i < j->n && j->bag; i++) {                                        \
      type factor = (type)j->factor[i];                                                   \
      if (j->row[i] < 0) continue;                                                        \
      const type *from = grad + j->bag[i] * j->width;                                     \
      type *to = out + j->row[i] * j->width;                                              \
      for (int64_t d = begin; d < end; d++) to[d] += factor * from[d];                    \
    }                                                                                     \
    for (int64_t b = 0; b < j->bags && !j->bag; b++) {                                    \
      for (int64_t d = begin; d < end && j->count[b]; d++) {                              \
        int64_t row = j->row[b * j->width + d];                                           \
        if (row >= 0 && row < j->rows) out[row * j->width + d] += grad[b * j->width + d]; \
      }                                                                                   \
    }                                                                                     \
  }
SPREAD(spread_f32, float)
SPREAD(spread_f64, double)

// The factor of every index: 1, or its weight, divided by its frequency and by the size of its bag.
// Indices without a contribution become -1.
static void factors(ig_ctx *c, spread_job *j, int64_t *row, double *factor, bool by_frequency,
                    bool mean, int64_t padding, const double *scale) {
  int64_t *times = ig_dense_room(c, (size_t)(by_frequency ? j->rows : 0), IG_I64);
  if (!times) return;
  for (int64_t i = 0; i < j->n; i++) {
    bool out = row[i] == padding || row[i] < 0 || row[i] >= j->rows || j->bag[i] < 0 ||
               j->bag[i] >= j->bags;
    if (by_frequency && row[i] >= 0 && row[i] < j->rows) times[row[i]]++;
    if (out) row[i] = -1;
  }
  for (int64_t i = 0; i < j->n; i++) {
    if (row[i] < 0) continue;
    factor[i] = scale ? scale[i] : 1;
    if (by_frequency) factor[i] /= (double)times[row[i]];
    if (mean && j->count[j->bag[i]]) factor[i] /= (double)j->count[j->bag[i]];
  }
}

// grad, indices, [offsets,] bag of each index, sizes of bags, greatest, rows, by frequency, mode,
// [sparse,] weights of indices, padding
static void dense_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  bool with_offsets = op->def->variant;
  const ig_value *a = args + with_offsets;
  const ig_value *b = a + with_offsets;
  const ig_tensor *grad = args[0].tensor;
  const ig_tensor *scale = ig_value_tensor(&b[8]);
  if (with_offsets && args[9].b) {
    ig_fail_text(c, IG_UNSUPPORTED, "embedding_bag: sparse gradients do not exist here");
    return;
  }
  ig_scope scope = ig_scope_open(c);
  ig_dtype works = grad->dtype == IG_F64 ? IG_F64 : IG_F32;
  int64_t mode = ig_value_i64(c, &a[7]);
  spread_job j = {.n = ig_tensor_numel(args[1].tensor), .bags = ig_sizes(grad)[0].value};
  j.rows = ig_sizes(outs[0].tensor)[0].value;
  j.width = ig_sizes(grad)[1].value;
  j.grad = ig_dense_read(c, grad, works);
  j.count = ig_dense_read(c, a[3].tensor, IG_I64);
  j.out = ig_dense_room(c, (size_t)(j.rows * j.width), works);
  bool told = ig_tensor_numel(a[2].tensor) == j.n;
  bool enough = ig_tensor_numel(a[3].tensor) >= j.bags || mode == SUM;
  if (mode == MAX) {
    j.row = ig_dense_read(c, a[4].tensor, IG_I64);
    enough = enough && ig_tensor_numel(a[4].tensor) == ig_tensor_numel(grad);
  } else {
    int64_t *row = ig_dense_read(c, args[1].tensor, IG_I64);
    int64_t *bag =
        told ? ig_dense_read(c, a[2].tensor, IG_I64) : ig_dense_room(c, (size_t)j.n, IG_I64);
    double *factor = ig_dense_room(c, (size_t)j.n, IG_F64);
    double *scales = scale ? ig_dense_read(c, scale, IG_F64) : NULL;
    if (!told && with_offsets && bag) {
      int64_t *offset = ig_dense_read(c, args[2].tensor, IG_I64);
      int64_t bags = ig_tensor_numel(args[2].tensor);
      if (offset) tell_bags(offset, bags < j.bags ? bags : j.bags, j.n, bag);
    } else if (!told) {
      enough = false;
    }
    j.row = row;
    j.bag = bag;
    j.factor = factor;
    enough = enough && (!scale || ig_tensor_numel(scale) == j.n);
    if (c->status == IG_OK && enough) {
      factors(c, &j, row, factor, a[6].b, mode == MEAN, ig_value_i64(c, &b[9]), scales);
    }
  }
  if (c->status == IG_OK && !enough) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag_backward: the sizes of the bags, the indices and the gradient do "
                 "not belong together");
  }
  if (c->status == IG_OK) {
    ig_parallel_for(j.width, GRAIN / (j.n + j.bags + 1) + 16,
                    works == IG_F64 ? spread_f64 : spread_f32, &j);
    ig_dense_write(c, outs[0].tensor, works, j.out);
  }
  ig_scope_close(c, scope);
}

// grad, weight, indices, offsets, bag of each index, mode, padding
static void weights_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  if (args[0].tensor->ndim != 2 || args[1].tensor->ndim != 2 || args[2].tensor->ndim != 1 ||
      args[3].tensor->ndim != 1 ||
      !ig_int_eq(c, ig_sizes(args[0].tensor)[1], ig_sizes(args[1].tensor)[1])) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag: expected a gradient and a table with as many columns, indices and "
                 "offsets of one dimension");
  } else if (ig_value_i64(c, &args[5]) != SUM) {
    ig_fail_text(c, IG_RUNTIME,
                 "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  } else if (ig_check_float(c, "_embedding_bag_per_sample_weights_backward", out->dtype)) {
    ig_meta_push_dim(c, out, ig_sizes(args[2].tensor)[0]);
  }
}
static void weights_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *weight = args[1].tensor;
  int64_t n = ig_tensor_numel(args[2].tensor);
  int64_t bags = ig_sizes(args[0].tensor)[0].value;
  int64_t width = ig_sizes(weight)[1].value;
  int64_t size = (int64_t)ig_dtype_size(weight->dtype);
  int64_t padding = ig_value_i64(c, &args[6]);
  double *grad = ig_dense_read(c, args[0].tensor, IG_F64);
  double *out = ig_dense_room(c, (size_t)n, IG_F64);
  int64_t *row = ig_dense_read(c, args[2].tensor, IG_I64);
  bool told = ig_tensor_numel(args[4].tensor) == n;
  int64_t *bag =
      told ? ig_dense_read(c, args[4].tensor, IG_I64) : ig_dense_room(c, (size_t)n, IG_I64);
  int64_t *offset = ig_dense_read(c, args[3].tensor, IG_I64);
  if (!told && bag && offset) {
    int64_t offsets = ig_tensor_numel(args[3].tensor);
    tell_bags(offset, offsets < bags ? offsets : bags, n, bag);
  }
  for (int64_t i = 0; c->status == IG_OK && row && bag && i < n; i++) {
    if (row[i] == padding) continue;
    if (row[i] < 0 || row[i] >= ig_sizes(weight)[0].value || bag[i] < 0 || bag[i] >= bags) {
      ig_fail_text(c, IG_RUNTIME, "embedding_bag_backward: index %lld of bag %lld is out of range",
                   (long long)row[i], (long long)bag[i]);
      break;
    }
    const char *from =
        (const char *)ig_tensor_data(weight) + row[i] * ig_strides(weight)[0].value * size;
    for (int64_t d = 0; d < width; d++) {
      double x;
      ig_convert(&x, IG_F64, from + d * ig_strides(weight)[1].value * size, weight->dtype, 1);
      out[i] += x * grad[bag[i] * width + d];
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, out);
  ig_scope_close(c, scope);
}

IG_OP(_embedding_bag) = {
    .schema =
        "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
        "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
        "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    .shape = bag_shape,
    .kernel = bag_kernel,
    .vjp = bag_vjp,
    .keep = "weight, indices, offsets, per_sample_weights, result1, result2, result3",
    .diff_results = 1,
    .samples =
        "f32[5,4], i64[6]:<5, i64{0,2,5} | f64[5,4], i64[6]:<5, i64{0,2,5}, False, 1 | "
        "f32[5,4], i64[6]:<5, i64{0,2,2}, False, 2 | f64[5,3], i64[4]:<5, i64{0,2}, "
        "per_sample_weights=f64[4] | f32[5,4], i64{0,4,4,1}, i64{0,1,4}, True, 1, False, None, "
        "True, 4 | f32[5,4], i32[4]:<5, i64{0,0,3}, False, 2, False, None, True, 2 | "
        "f32[5,70], i64[4]:<5, i64{0,1}, True",
    .waive =
        "strided: the layout decides which results exist; second: PyTorch has none for the "
        "weights of samples",
};

IG_OP(_embedding_bag_forward_only) = {
    .schema =
        "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
        "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
        "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    .shape = bag_shape,
    .kernel = bag_kernel,
    .variant = 1,
    .samples =
        "f32[5,4], i64[6]:<5, i64{0,2,5}, False, 1 | f64[5,4], i64[6]:<5, i64{0,2,5}, False, 2 | "
        "f32[5,4], i64[4]:<5, i64{0,2}, False, 1, False, None, True",
    .waive = "strided: the layout decides which results exist",
};

IG_OP(embedding_bag) = {
    .schema =
        "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
        "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
        "bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
    .decompose_outs = embedding_bag_decompose,
    .samples =
        "f32[5,4], i64[6]:<5, i64{0,2,5}, False, 1 | f64[5,4], i64[6]:<5, i64{0,2,5}, False, 2",
};

IG_OP(embedding_bag_padding_idx) = {
    .schema =
        "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
        "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
        "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
    .decompose_outs = embedding_bag_padding_decompose,
    .samples =
        "f32[5,4], i64[6]:<5, i64{0,2,5}, False, 1, False, None, False, -2 | f64[5,4], i64[6]:<5, "
        "i64{0,2,5}, False, 2, False, None, False, None",
};

IG_OP(_embedding_bag_backward) = {
    .schema =
        "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor "
        "offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool "
        "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int "
        "padding_idx=-1) -> Tensor",
    .shape = dense_backward_shape,
    .kernel = dense_backward_kernel,
    .variant = 1,
    .samples =
        "f32[2,4], i64[3]:<5, i64{0,2}, i64{0,0,1}, i64{2,1}, i64{2,1}, 5, False, 1, False, None | "
        "f32[2,4], i64{1,1,0}, i64{0,2}, i64[0], i64{0,0}, i64{0,0}, 5, True, 0, False, f32[3]",
    .not_differentiable = true,  // PyTorch has none
    .waive =
        "strides: those of results that do not exist; refusal: PyTorch tells of wrong sizes later; "
        "size 2=1: PyTorch reads past the bags then",
};

IG_OP(_embedding_bag_dense_backward) = {
    .schema =
        "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, "
        "Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int "
        "mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
    .shape = dense_backward_shape,
    .kernel = dense_backward_kernel,
    .samples =
        "f32[2,4], i64[3]:<5, i64{0,0,1}, i64{2,1}, i64{2,1}, 5, False, 1, None | f32[2,2], "
        "i64[3]:<5, i64{0,0,1}, i64{2,1}, i64[2,2]:<5, 5, False, 2, None",
    .vjp = ig_vjp_refuse,
    .keep = "",
    .waive =
        "refusal: PyTorch tells of wrong sizes later; size 3=0: PyTorch reads past the bags then; "
        "size 3=1: PyTorch reads past the bags then",
};

IG_OP(_embedding_bag_per_sample_weights_backward) = {
    .schema =
        "aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor "
        "indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
    .shape = weights_backward_shape,
    .kernel = weights_backward_kernel,
    .samples =
        "f32[2,4], f32[5,4], i64[3]:<5, i64{0,2}, i64{0,0,1}, 0 | f32[2,4], f32[5,4], i64{1,1,0}, "
        "i64{0,2}, i64[0], 0, 1",
    .waive =
        "strides: those of results that do not exist; size 2=1: PyTorch reads past the bags then",
};
