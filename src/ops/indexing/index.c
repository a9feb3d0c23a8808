// SPDX-License-Identifier: Apache-2.0
// Indexing by tensors. A plan converts the indices to three tables of byte offsets into self: of
// the dimensions before the indexed ones, of the points, and of the dimensions after. The result is
// dense in the order before, point, after, so reading, writing and adding are the same short loops.
#include <string.h>

#include "base/str.h"
#include "base/threads.h"
#include "op/formula.h"
#include "op/prepare.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/accumulate.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { GRAIN = 32768 };

typedef struct plan {
  ig_tensor *index[IG_MAX_DIM];  // per dimension of self; NULL: all of it
  int first;                     // dimensions before the indexed ones, which come first
  int after;                     // where the other dimensions start in the result
  bool adjacent;                 // indexed dimensions are adjacent
  ig_meta points;                // common sizes of the indices
  ig_meta result;
} plan;

static bool is_index_dtype(ig_dtype d) {
  return d == IG_I64 || d == IG_I32 || d == IG_BOOL || d == IG_U8;
}

static bool check_index_mask(ig_ctx *c, const ig_tensor *self, const ig_tensor *mask, int dim) {
  for (int k = 0; k < mask->ndim; k++) {
    if (dim + k < self->ndim && ig_int_eq(c, ig_sizes(mask)[k], ig_sizes(self)[dim + k])) continue;
    if (c->status != IG_OK) return false;
    ig_fail_text(c, IG_BAD_INDEX,
                 "The shape of the mask %s at index %d does not match the shape of the indexed "
                 "tensor %s at index %d",
                 ig_sizes_text(c, ig_sizes(mask), (size_t)mask->ndim), k,
                 ig_sizes_text(c, ig_sizes(self), (size_t)self->ndim), dim + k);
    return false;
  }
  return true;
}

static bool too_many(ig_ctx *c, const ig_tensor *self, size_t n) {
  ig_fail_text(c, IG_BAD_INDEX, "too many indices for tensor of dimension %d (got %zu)", self->ndim,
               n);
  return false;
}

// Masks become the indices of their true elements, one per dimension of the mask.
static bool spread_indices(ig_ctx *c, const ig_tensor *self, const ig_value *list, plan *p) {
  int dim = 0;
  memset(p->index, 0, sizeof p->index);
  for (size_t i = 0; i < list->list.n && c->status == IG_OK; i++) {
    ig_tensor *t = ig_value_tensor(&list->list.at[i]);
    if (!t) {
      dim++;
      continue;
    }
    if (!is_index_dtype(t->dtype)) {
      ig_fail_text(c, IG_BAD_INDEX,
                   "tensors used as indices must be long, int, byte or bool tensors");
      return false;
    }
    if (t->dtype == IG_I64 || t->dtype == IG_I32) {
      if (dim >= self->ndim) return too_many(c, self, list->list.n);
      p->index[dim++] = t;
      continue;
    }
    if (t->ndim == 0) {
      ig_fail_text(c, IG_BAD_INDEX,
                   "a mask without dimensions selects nothing: unsqueeze it first");
      return false;
    }
    if (dim + t->ndim > self->ndim) return too_many(c, self, (size_t)dim + (size_t)t->ndim);
    if (!check_index_mask(c, self, t, dim)) return false;
    ig_tensor *found = ig_nonzero(c, t);
    for (int k = 0; k < t->ndim && found; k++) {
      p->index[dim++] = ig_select_int(c, found, ig_const(1), ig_const(k));
    }
  }
  if (c->status == IG_OK && dim > self->ndim) return too_many(c, self, list->list.n);
  return c->status == IG_OK;
}

static void mismatch(ig_ctx *c, const ig_tensor *self, const plan *p) {
  ig_str s = ig_str_make(c->alloc);
  for (int d = 0; d < self->ndim; d++) {
    const ig_tensor *t = p->index[d];
    if (!t) continue;
    ig_str_add(&s, "%s%s", s.n ? ", " : "", ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim));
  }
  ig_fail_text(c, IG_BAD_INDEX,
               "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
               s.at ? s.at : "");
  ig_str_free(&s);
}

static bool broadcast_points(ig_ctx *c, const ig_tensor *self, plan *p) {
  ig_meta *m = &p->points;
  for (int d = 0; d < self->ndim; d++) {
    const ig_tensor *t = p->index[d];
    if (!t) continue;
    int common = m->ndim < t->ndim ? m->ndim : t->ndim;
    for (int k = 1; k <= common; k++) {
      ig_int a = m->size[m->ndim - k];
      ig_int b = ig_sizes(t)[t->ndim - k];
      if (ig_int_eq(c, a, b) || ig_int_eq_i64(c, a, 1) || ig_int_eq_i64(c, b, 1)) continue;
      if (c->status == IG_OK) mismatch(c, self, p);
      return false;
    }
    ig_broadcast_sizes(c, m, ig_sizes(t), t->ndim);
  }
  return c->status == IG_OK;
}

// Sizes of the result: the points replace the indexed dimensions, or come first if those are not
// adjacent.
static bool make_plan(ig_ctx *c, const ig_tensor *self, const ig_value *list, plan *p) {
  ig_meta_init(&p->points, IG_I64, self->device);
  ig_meta_init(&p->result, self->dtype, self->device);
  if (list->list.n == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "at least one index must be provided");
    return false;
  }
  if (!spread_indices(c, self, list, p) || !broadcast_points(c, self, p)) return false;
  int first = -1;
  int last = -1;
  p->adjacent = true;
  for (int d = 0; d < self->ndim; d++) {
    if (!p->index[d]) continue;
    if (first < 0) first = d;
    if (last >= 0 && last != d - 1) p->adjacent = false;
    last = d;
  }
  p->first = p->adjacent && first > 0 ? first : 0;
  for (int d = 0; d < p->first; d++) ig_meta_push_dim(c, &p->result, ig_sizes(self)[d]);
  for (int d = 0; d < p->points.ndim; d++) ig_meta_push_dim(c, &p->result, p->points.size[d]);
  p->after = p->result.ndim;
  for (int d = p->first; d < self->ndim; d++) {
    if (!p->index[d]) ig_meta_push_dim(c, &p->result, ig_sizes(self)[d]);
  }
  return c->status == IG_OK;
}

// Byte offsets of all elements of the given dimensions, row-major.
typedef struct table {
  int64_t *at;
  int64_t n;
  bool dense;  // consecutive elements
} table;

static int64_t count_of(const ig_tensor *t, const int *dims, int ndims) {
  int64_t n = 1;
  for (int k = 0; k < ndims; k++) n *= ig_sizes(t)[dims[k]].value;
  return n;
}

// out->at has room for one more than the elements.
static void fill_table(const ig_tensor *t, const int *dims, int ndims, table *out) {
  int64_t size = (int64_t)ig_dtype_size(t->dtype);
  out->n = count_of(t, dims, ndims);
  out->dense = true;
  out->at[0] = 0;
  int64_t done = 1;
  for (int k = ndims - 1; k >= 0 && out->n; k--) {
    int64_t n = ig_sizes(t)[dims[k]].value;
    int64_t step = ig_strides(t)[dims[k]].value * size;
    if (n > 1 && step != done * size) out->dense = false;
    // The block that is there repeats n times.
    for (int64_t i = 1; i < n; i++) {
      for (int64_t j = 0; j < done; j++) out->at[i * done + j] = out->at[j] + i * step;
    }
    done *= n;
  }
}

// Dimensions of self before and after the indexed ones, which begin at `first`.
typedef struct sides {
  int before[IG_MAX_DIM];
  int after[IG_MAX_DIM];
  int nbefore;
  int nafter;
} sides;

static void sides_of(const plan *p, const ig_tensor *self, sides *s) {
  s->nbefore = p->first;
  s->nafter = 0;
  for (int d = 0; d < p->first; d++) s->before[d] = d;
  for (int d = p->first; d < self->ndim; d++) {
    if (!p->index[d]) s->after[s->nafter++] = d;
  }
}

// Where the tables of a call lie in its workspace.
typedef struct index_state {
  int64_t points;  // that are read or written
  size_t at;       // their table
  size_t before;   // the other two
  size_t after;
  size_t index;     // one index tensor, dense
  bool has_values;  // index_put: the values are copied
  size_t values;
} index_state;

static void need_tables(ig_need *n, const ig_tensor *self, const sides *s, index_state *to) {
  int64_t before = count_of(self, s->before, s->nbefore);
  int64_t after = count_of(self, s->after, s->nafter);
  to->at = ig_need_take(n, (size_t)to->points, sizeof(int64_t));
  to->before = ig_need_take(n, ig_mem_add((size_t)before, 1), sizeof(int64_t));
  to->after = ig_need_take(n, ig_mem_add((size_t)after, 1), sizeof(int64_t));
}

static int64_t count_points(const plan *p) {
  int64_t n = 1;
  for (int d = 0; d < p->points.ndim; d++) n *= p->points.size[d].value;
  return n;
}

// An index tensor as it broadcasts to all points.
static void read_index(const plan *p, const ig_tensor *t, int64_t *to) {
  int64_t size[IG_MAX_DIM];
  int64_t dense[IG_MAX_DIM];
  int64_t from[IG_MAX_DIM];
  int64_t step = 1;
  for (int d = p->points.ndim - 1; d >= 0; d--) {
    int at = d - (p->points.ndim - t->ndim);
    size[d] = p->points.size[d].value;
    dense[d] = step;
    from[d] = at < 0 || ig_sizes(t)[at].value == 1 ? 0 : ig_strides(t)[at].value;
    step *= size[d];
  }
  ig_strided_copy(p->points.ndim, size, (ig_strided){to, IG_I64, dense},
                  (ig_strided){ig_tensor_data(t), t->dtype, from});
}

// Adds the offsets of one index tensor, wrapped and checked.
static bool add_points(ig_ctx *c, const plan *p, const ig_tensor *self, int dim, int64_t *from,
                       int64_t *to, int64_t n) {
  if (n == 0) return true;
  read_index(p, p->index[dim], from);
  int64_t size = ig_sizes(self)[dim].value;
  int64_t step = ig_strides(self)[dim].value * (int64_t)ig_dtype_size(self->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = from[i] < 0 ? from[i] + size : from[i];
    if (at < 0 || at >= size) {
      ig_fail_text(c, IG_BAD_INDEX, "index %lld is out of bounds for dimension %d with size %lld",
                   (long long)from[i], dim, (long long)size);
      return false;
    }
    to[i] += at * step;
  }
  return true;
}

typedef struct job {
  table before;
  table points;
  table after;
  char *self;
  char *dense;  // the result, or the values that are written
  int64_t size;
  bool put;
  bool one_value;  // dense is a single element
  ig_accumulate_fn *fn;
} job;

static void *piece(const ig_exec *x, size_t at) {
  return x->memory + at;
}

static bool make_tables(const ig_exec *x, const plan *p, ig_tensor *self, job *j) {
  const index_state *s = x->state;
  sides dims;
  sides_of(p, self, &dims);
  j->self = ig_tensor_data(self);
  j->size = (int64_t)ig_dtype_size(self->dtype);
  j->points.n = s->points;
  j->points.at = piece(x, s->at);
  j->before.at = piece(x, s->before);
  j->after.at = piece(x, s->after);
  fill_table(self, dims.before, dims.nbefore, &j->before);
  fill_table(self, dims.after, dims.nafter, &j->after);
  memset(j->points.at, 0, (size_t)j->points.n * sizeof(int64_t));
  bool empty = j->before.n == 0 || j->after.n == 0;
  for (int d = 0; d < self->ndim; d++) {
    if (!p->index[d]) continue;
    if (empty && ig_sizes(self)[d].value == 0 && j->points.n > 0) {
      ig_fail_text(x->c, IG_BAD_INDEX, "index is out of bounds for dimension with size 0");
      return false;
    }
    if (!add_points(x->c, p, self, d, piece(x, s->index), j->points.at, j->points.n)) return false;
  }
  return true;
}

// One point: everything after it.
static void move_after(const job *j, char *self, char *dense, int64_t begin, int64_t end) {
  char *to = j->put ? self : dense;
  const char *from = j->put ? dense : self;
  int64_t to_step = j->size;
  int64_t from_step = j->one_value ? 0 : j->size;
  if (j->after.dense) {
    int64_t skip = begin * j->size;
    j->fn(to + skip, to_step, from + (j->one_value ? 0 : skip), from_step, end - begin);
    return;
  }
  for (int64_t a = begin; a < end; a++) {
    int64_t at = j->after.at[a];
    int64_t flat = j->one_value ? 0 : a * j->size;
    j->fn(to + (j->put ? at : flat), to_step, from + (j->put ? flat : at), from_step, 1);
  }
}

// Points of a row [begin, end), each a single element.
#define EACH_POINT(type)                                                   \
  for (int64_t i = begin; i < end; i++) {                                  \
    memcpy(dense + i * (int64_t)sizeof(type), self + at[i], sizeof(type)); \
  }

static void read_points(const job *j, const char *self, char *dense, int64_t begin, int64_t end) {
  const int64_t *at = j->points.at;
  switch (j->size) {
    case 1:
      EACH_POINT(uint8_t)
      break;
    case 2:
      EACH_POINT(uint16_t)
      break;
    case 4:
      EACH_POINT(uint32_t)
      break;
    case 8:
      EACH_POINT(uint64_t)
      break;
    default:
      EACH_POINT(ig_c128)
      break;
  }
}

// Rows are pairs of before and point.
static void read_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t row = j->after.n * j->size;
  while (begin < end) {
    int64_t b = begin / j->points.n;
    int64_t from = begin % j->points.n;
    int64_t to = j->points.n - from < end - begin ? j->points.n : from + end - begin;
    char *self = j->self + j->before.at[b];
    char *dense = j->dense + b * j->points.n * row;
    if (j->after.n == 1) {
      read_points(j, self, dense, from, to);
    } else {
      for (int64_t i = from; i < to; i++) {
        move_after(j, self + j->points.at[i], dense + i * row, 0, j->after.n);
      }
    }
    begin += to - from;
  }
}

// Writing goes point by point in order, so that the last of several equal ones wins and sums do not
// depend on threads; the elements after a point are distributed over threads.
static void write_columns(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t row = j->one_value ? 0 : j->after.n * j->size;
  for (int64_t b = 0; b < j->before.n; b++) {
    for (int64_t i = 0; i < j->points.n; i++) {
      char *self = j->self + j->before.at[b] + j->points.at[i];
      move_after(j, self, j->dense + (b * j->points.n + i) * row, begin, end);
    }
  }
}

static bool any_mask(const ig_value *list) {
  for (size_t i = 0; i < list->list.n; i++) {
    const ig_tensor *t = ig_value_tensor(&list->list.at[i]);
    if (t && (t->dtype == IG_BOOL || t->dtype == IG_U8)) return true;
  }
  return false;
}

// How many points a mask has stands in the data.
static bool refuse_mask(ig_ctx *c, const ig_value *list) {
  if (!any_mask(list)) return false;
  (void)ig_fail(c, IG_UNSUPPORTED,
                "a mask among the indices: the memory of such a call is not known before it runs");
  return true;
}

static bool plan_index(ig_ctx *c, const ig_tensor *self, const ig_value *list, plan *p,
                       ig_need *need, index_state *s) {
  sides dims;
  if (refuse_mask(c, list) || !make_plan(c, self, list, p)) return false;
  *s = (index_state){.points = count_points(p)};
  sides_of(p, self, &dims);
  need_tables(need, self, &dims, s);
  s->index = ig_need_take(need, (size_t)s->points, sizeof(int64_t));
  return true;
}

static void index_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                          ig_prep *prep) {
  (void)op;
  (void)outs;
  IG_STATE(index_state, s, prep);
  plan p;
  (void)plan_index(c, args[0].tensor, &args[1], &p, &prep->need, s);
}

static void index_run(const ig_exec *x) {
  ig_tensor *self = x->args[0].tensor;
  plan p;
  job j = {.put = false};
  if (!make_plan(x->c, self, &x->args[1], &p) || !make_tables(x, &p, self, &j)) return;
  j.dense = ig_tensor_data(x->outs[0].tensor);
  j.fn = ig_accumulate_move((size_t)j.size);
  int64_t rows = j.after.n ? j.before.n * j.points.n : 0;
  ig_parallel_for(rows, GRAIN / (j.after.n + 1) + 1, read_rows, &j);
}

// The indices of a plan, without masks.
static ig_value listed(const ig_tensor *self, const plan *p, ig_value *room) {
  for (int d = 0; d < self->ndim; d++) {
    room[d] = p->index[d] ? ig_of_tensor(p->index[d]) : ig_none();
  }
  return ig_of_list(room, (size_t)self->ndim);
}

// Masks become indices here; then the sizes are known.
static void index_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  plan p;
  ig_value room[IG_MAX_DIM];
  ig_value known[2] = {args[0], args[1]};
  if (!make_plan(c, args[0].tensor, &args[1], &p)) return;
  if (any_mask(&args[1])) known[1] = listed(args[0].tensor, &p, room);
  ig_meta_contiguous(c, &p.result);
  ig_tensor *out = ig_tensor_make(c, &p.result, false);
  if (!out) return;
  outs[0] = ig_of_tensor(out);
  ig_prepare_and_run(c, op, known, outs);
}

static void index_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  plan p;
  if (!make_plan(c, args[0].tensor, &args[1], &p)) return;
  ig_meta_contiguous(c, &p.result);
  outs[0] = ig_of_tensor(ig_tensor_make(c, &p.result, true));
}

static bool check_values(ig_ctx *c, const ig_tensor *self, const ig_tensor *values) {
  if (self->dtype == values->dtype) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Index put requires the source and destination dtypes match, got %s for the "
               "destination and %s for the source.",
               ig_dtype_title(self->dtype), ig_dtype_title(values->dtype));
  return false;
}

// Values must broadcast to what the indices select.
static bool check_values_shape(ig_ctx *c, const plan *p, const ig_tensor *values) {
  const ig_meta *m = &p->result;
  bool fits = values->ndim <= m->ndim;
  for (int k = 1; k <= values->ndim && fits; k++) {
    ig_int have = ig_sizes(values)[values->ndim - k];
    fits = ig_int_eq_i64(c, have, 1) || ig_int_eq(c, have, m->size[m->ndim - k]);
  }
  if (fits) return c->status == IG_OK;
  if (c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result "
                 "of shape %s",
                 ig_sizes_text(c, ig_sizes(values), (size_t)values->ndim),
                 ig_sizes_text(c, m->size, (size_t)m->ndim));
  }
  return false;
}

// What masks select stands in the data; the kernel checks that.
static void index_put_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (!check_values(c, args[0].tensor, args[2].tensor)) return;
  if (!any_mask(&args[1])) {
    plan p;
    if (!make_plan(c, args[0].tensor, &args[1], &p)) return;
    if (!check_values_shape(c, &p, args[2].tensor)) return;
  }
  ig_shape_like(c, op, args, out);
}

// Are the values one dense block in the shape of the selection?
static bool are_whole(const plan *p, const ig_tensor *values) {
  const ig_meta *m = &p->result;
  bool whole = values->ndim == m->ndim && ig_tensor_is_dense(values);
  for (int d = 0; d < m->ndim && whole; d++) whole = ig_sizes(values)[d].value == m->size[d].value;
  return whole;
}

static int64_t count_result(const plan *p) {
  int64_t n = 1;
  for (int d = 0; d < p->result.ndim; d++) n *= p->result.size[d].value;
  return n;
}

static void index_put_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                              const ig_value *outs, ig_prep *prep) {
  (void)op;
  IG_STATE(index_state, s, prep);
  const ig_tensor *out = outs[0].tensor;
  const ig_tensor *values = args[2].tensor;
  plan p;
  if (!plan_index(c, out, &args[1], &p, &prep->need, s)) return;
  if (!check_values_shape(c, &p, values)) return;
  s->has_values = ig_tensor_numel(values) != 1 && !are_whole(&p, values);
  if (s->has_values) {
    s->values = ig_need_take(&prep->need, (size_t)count_result(&p), ig_dtype_size(values->dtype));
  }
  if (args[3].b && count_result(&p) && !ig_accumulate_add(out->dtype)) {
    ig_refuse_dtype(c, "index_put", out->dtype);
  }
}

// Values as they broadcast to the selection.
static void spread_values(const plan *p, const ig_tensor *values, void *to) {
  int64_t size[IG_MAX_DIM];
  int64_t dense[IG_MAX_DIM];
  int64_t from[IG_MAX_DIM];
  int64_t step = 1;
  for (int d = p->result.ndim - 1; d >= 0; d--) {
    int at = d - (p->result.ndim - values->ndim);
    size[d] = p->result.size[d].value;
    dense[d] = step;
    from[d] = at < 0 || ig_sizes(values)[at].value == 1 ? 0 : ig_strides(values)[at].value;
    step *= size[d];
  }
  ig_strided_copy(p->result.ndim, size, (ig_strided){to, values->dtype, dense},
                  (ig_strided){ig_tensor_data(values), values->dtype, from});
}

static void index_put_run(const ig_exec *x) {
  const index_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  const ig_tensor *values = x->args[2].tensor;
  plan p;
  job j = {.put = true};
  if (out != x->args[0].tensor) ig_tensor_copy(out, x->args[0].tensor);
  if (!make_plan(x->c, out, &x->args[1], &p) || !make_tables(x, &p, out, &j)) return;
  j.one_value = ig_tensor_numel(values) == 1;
  if (j.before.n == 0 || j.points.n == 0 || j.after.n == 0) return;
  j.dense = s->has_values ? piece(x, s->values) : ig_tensor_data(values);
  if (s->has_values) spread_values(&p, values, j.dense);
  j.fn = x->args[3].b ? ig_accumulate_add(out->dtype) : ig_accumulate_move((size_t)j.size);
  int64_t rows = j.before.n * j.points.n;
  int64_t grain = GRAIN / rows + 16;
  ig_parallel_for(j.after.n, grain, write_columns, &j);
}

// Masks become indices here.
static void index_put_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  plan p;
  ig_value room[IG_MAX_DIM];
  ig_value known[4] = {args[0], args[1], args[2], args[3]};
  ig_scope scope = ig_scope_open(c);
  if (!any_mask(&args[1])) {
    ig_prepare_and_run(c, op, args, outs);
  } else if (make_plan(c, outs[0].tensor, &args[1], &p)) {
    known[1] = listed(outs[0].tensor, &p, room);
    ig_prepare_and_run(c, op, known, outs);
  }
  ig_scope_close(c, scope);
}

static ig_tensor *unsafe_index_decompose(ig_ctx *c, const ig_value *args) {
  return ig_index_tensor(c, args[0].tensor, args[1]);
}

static ig_tensor *unsafe_index_put_decompose(ig_ctx *c, const ig_value *args) {
  return ig_index_put_with(c, args[0].tensor, args[1], args[2].tensor, args[3].b);
}

static void index_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  const ig_tensor *self = v->args[0].tensor;
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_tensor *zeros = ig_new_zeros_with(c, v->grad, ig_sizes_of(self), ig_of_dtype(self->dtype),
                                       strided, ig_of_device(self->device), ig_none());
  IG_GRAD(v, 0) = ig_index_put_with(c, zeros, v->args[1], v->grad, true);
}

static void index_put_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0) && !v->args[3].b) {
    ig_tensor *zeros = ig_zeros_of(c, v->args[2].tensor);
    IG_GRAD(v, 0) = ig_index_put(c, v->grad, v->args[1], zeros);
  } else {
    IG_GRAD(v, 0) = v->grad;
  }
  if (!IG_WANTED(v, 2)) return;
  ig_tensor *g = ig_index_tensor(c, v->grad, v->args[1]);
  IG_GRAD(v, 2) = ig_sum_to(c, g, &v->args[2]);
}

static bool check_vector(ig_ctx *c, const ig_tensor *index) {
  if (index->ndim > 1) {
    ig_fail_text(c, IG_BAD_INDEX, "index_select(): Index is supposed to be a vector");
  } else if (index->dtype != IG_I64 && index->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
  }
  return c->status == IG_OK;
}

static void index_select_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  const ig_tensor *index = args[2].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK || !check_vector(c, index)) return;
  ig_int n = index->ndim ? ig_sizes(index)[0] : ig_const(1);
  for (int d = 0; d < self->ndim; d++) ig_meta_push_dim(c, out, d == dim ? n : ig_sizes(self)[d]);
  if (self->ndim == 0 && !ig_int_eq_i64(c, n, 1)) {
    ig_fail_text(c, IG_RUNTIME,
                 "index_select(): Index to scalar can have only 1 value, got %s value(s)",
                 ig_int_text(c, n));
  }
}

static void select_sides(const ig_tensor *self, int dim, sides *s) {
  s->nbefore = dim;
  s->nafter = 0;
  for (int d = 0; d < dim; d++) s->before[d] = d;
  for (int d = dim + 1; d < self->ndim; d++) s->after[s->nafter++] = d;
}

static void index_select_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                                 const ig_value *outs, ig_prep *p) {
  (void)op;
  (void)outs;
  IG_STATE(index_state, s, p);
  const ig_tensor *self = args[0].tensor;
  sides dims;
  select_sides(self, ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim), &dims);
  *s = (index_state){.points = ig_tensor_numel(args[2].tensor)};
  need_tables(&p->need, self, &dims, s);
}

// Rows of self along dim, in the order of the index, which may not be negative here.
static void index_select_run(const ig_exec *x) {
  const index_state *s = x->state;
  const ig_tensor *self = x->args[0].tensor;
  int dim = ig_wrap_dim(x->c, ig_value_i64(x->c, &x->args[1]), self->ndim);
  job j = {.self = ig_tensor_data(self), .dense = ig_tensor_data(x->outs[0].tensor)};
  j.size = (int64_t)ig_dtype_size(self->dtype);
  j.fn = ig_accumulate_move((size_t)j.size);
  int64_t size = self->ndim ? ig_sizes(self)[dim].value : 1;
  int64_t step = self->ndim ? ig_strides(self)[dim].value * j.size : 0;
  j.points = (table){piece(x, s->at), s->points, false};
  if (j.points.n) ig_tensor_read(x->args[2].tensor, IG_I64, j.points.at);
  for (int64_t i = 0; i < j.points.n; i++) {
    if (j.points.at[i] < 0 || j.points.at[i] >= size) {
      ig_fail_text(x->c, IG_BAD_INDEX, "index out of range in self");
      return;
    }
    j.points.at[i] *= step;
  }
  sides dims;
  select_sides(self, dim, &dims);
  j.before.at = piece(x, s->before);
  j.after.at = piece(x, s->after);
  fill_table(self, dims.before, dims.nbefore, &j.before);
  fill_table(self, dims.after, dims.nafter, &j.after);
  int64_t rows = j.after.n ? j.before.n * j.points.n : 0;
  ig_parallel_for(rows, GRAIN / (j.after.n + 1) + 1, read_rows, &j);
}

static ig_tensor *index_select_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  int ndim = (int)args[1].ints.n;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), ndim);
  if (c->status != IG_OK) return NULL;
  ig_tensor *full = ig_full_with(c, args[1], ig_of_i64(0), ig_of_dtype(grad->dtype), ig_none(),
                                 ig_of_device(grad->device), ig_of_bool(false));
  if (ndim == 0) return ig_add_tensor(c, full, grad);
  ig_value list[IG_MAX_DIM];
  for (int d = 0; d < dim; d++) list[d] = ig_none();
  list[dim] = args[3];
  if (args[3].tensor->ndim == 0) list[dim].tensor = ig_unsqueeze(c, args[3].tensor, ig_const(0));
  return ig_index_put_with(c, full, ig_of_list(list, (size_t)dim + 1), grad, true);
}

static void index_select_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_index_select_backward(c, v->grad, ig_sizes_of(v->args[0].tensor), v->args[1].i,
                                           v->args[2].tensor);
}

// self, indices, values, accumulate, unsafe
static ig_tensor *index_put_impl(ig_ctx *c, const ig_value *args) {
  return ig_index_put_with(c, args[0].tensor, args[1], args[2].tensor, args[3].b);
}

IG_OP(index_tensor) = {
    .schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .kernel = index_kernel,
    .prepare = index_prepare,
    .run = index_run,
    .fake = index_fake,
    .vjp = index_vjp,
    .keep = "indices",
    .samples =
        "f32[5,4], (i64[3]:<5,) | f32[5,4], (None, i64[2,2]:<4) | f32[5,4], (i64[3]:<5, "
        "i64[3]:<4) | f32[5,4,3], (i64[2,1]:<5, None, i64[3]:<3) | f32[4,5].T, (i64[2]:<5,) | "
        "f32[5,4], (bool[5],) | f32[5,4], (bool[5,4],) | f32[2,5,4], (None, bool[5]) | f32[5], "
        "(i64[]:<5,) | f32[5], (i64[0],) | f32[5], (i32[2]:<5,) | i64[5], (i64[3]:<5,)",
};

IG_OP(_unsafe_index_tensor) = {
    .schema = "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    .decompose = unsafe_index_decompose,
    .samples = "f32[5,4], (i64[3]:<5,) | f32[5,4], (None, i64[2]:<4)",
};

IG_OP(index_put) = {
    .schema =
        "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
        "Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = index_put_shape,
    .kernel = index_put_kernel,
    .prepare = index_put_prepare,
    .run = index_put_run,
    .vjp = index_put_vjp,
    .keep = "indices",
    .alias_out = true,
    .samples =
        "f32[5,4], (i64[3]:perm,), f32[3,4] | f32[5,4], (i64[3]:<5,), f32[4], True | f32[5,4], "
        "(None, i64[4]:perm), f32[] | f32[5,4], (i64[3]:perm, i64[3]:<4), f32[3] | f32[5,4], "
        "(bool[5],), f32[4] | f32[5,4], (bool[5,4],), f32[], True | f32[4,5].T, (i64[2]:perm,), "
        "f32[2,4]",
};

IG_OP(_unsafe_index_put) = {
    .schema =
        "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
        "accumulate=False) -> Tensor",
    .decompose = unsafe_index_put_decompose,
    .samples = "f32[5,4], (i64[3]:perm,), f32[3,4] | f32[5,4], (i64[3]:<5,), f32[4], True",
};

IG_OP(index_select) = {
    .schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = index_select_shape,
    .prepare = index_select_prepare,
    .run = index_select_run,
    .vjp = index_select_vjp,
    .keep = "index",
    .samples =
        "f32[5,4], 0, i64[3]:<5 | f32[5,4], -1, i64[6]:<4 | f32[4,5].T, 0, i64[2]:<5 | f32[5], 0, "
        "i32[]:<5 | f32[], 0, i64[1]:<1 | f32[5,4], 1, i64[0]",
    .waive = "refusal: the class depends on the kernel that PyTorch takes",
};

IG_OP(index_select_backward) = {
    .schema =
        "aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> "
        "Tensor",
    .decompose = index_select_backward_decompose,
    .samples = "f32[3,4], [5,4], 0, i64[3]:<5 | f32[5,6], [5,4], -1, i64[6]:<4",
    .waive =
        "size 4=1: self_sizes tells them; 0-d: self_sizes tells them; size 5=1: self_sizes tells "
        "them",
};
IG_OP(_index_put_impl) = {
    .schema =
        "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool "
        "accumulate=False, bool unsafe=False) -> Tensor",
    .decompose = index_put_impl,
    .samples = "f32[5,3], (i64[4]:<5,), f32[4,3], True",
};
