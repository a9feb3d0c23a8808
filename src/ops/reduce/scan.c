// SPDX-License-Identifier: Apache-2.0
// Along one dimension: cumulative sums, products and extrema; k-th values, medians, modes. Rows are
// read dense; sums and products of floats are accumulated in double precision.
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "ops/operand.h"

enum { SUM, PROD, LOGSUMEXP };

// Elements [outer, n, inner] of a dense row-major tensor around one dimension.
typedef struct rows {
  int64_t outer;
  int64_t n;
  int64_t inner;
} rows;
static rows rows_of(const ig_tensor *t, int dim) {
  rows r = {1, 1, 1};
  for (int d = 0; d < t->ndim; d++) {
    int64_t size = ig_sizes(t)[d].value;  // concrete: a kernel sees real sizes
    *(d < dim ? &r.outer : d == dim ? &r.n : &r.inner) *= size;
  }
  return r;
}
static int64_t start(rows r, int64_t k) {
  return k / r.inner * r.n * r.inner + k % r.inner;
}
static int dim_arg(ig_ctx *c, const ig_value *args, size_t i) {
  return ig_wrap_dim(c, ig_value_i64(c, &args[i]), args[0].tensor->ndim);
}

static ig_dtype scan_dtype(const ig_op *op, const ig_value *args) {
  if (op->def->variant == LOGSUMEXP) return args[0].tensor->dtype;
  return args[2].kind == IG_KIND_DTYPE ? args[2].dtype : ig_accumulate_dtype(args[0].tensor->dtype);
}
static void scan_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)dim_arg(c, args, 1);
  if (c->status != IG_OK) return;
  const ig_tensor *x = args[0].tensor;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  out->dtype = scan_dtype(op, args);
  if (out->dtype == IG_BOOL) {
    ig_refuse_dtype(c, op->schema.name, out->dtype);
  }
  if (op->def->variant == LOGSUMEXP && !ig_dtype_is_complex(out->dtype)) {
    (void)ig_check_float(c, "logcumsumexp_out_cpu", out->dtype);
  }
}
static double log_add(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  double high = a > b ? a : b;
  double low = a > b ? b : a;
  if (isinf(high) && high == low) return high;
  return high + log1p(exp(low - high));
}
static void scan_logs(double *x, rows r) {
  for (int64_t k = 0; k < r.outer * r.inner; k++) {
    double *row = x + start(r, k);
    double sum = -HUGE_VAL;
    for (int64_t i = 0; i < r.n; i++) {
      sum = log_add(sum, row[i * r.inner]);
      row[i * r.inner] = sum;
    }
  }
}

// The elements of a row depend on each other, so several rows are interleaved; rows that are not
// contiguous are processed in strips, which are vectors.
enum { SIDE = 2, STRIP = 128, GRAIN = 1 << 15 };
typedef struct scan_job {
  const void *x;
  void *o;
  int64_t *at;  // cummax, cummin: the index of the extreme
  rows r;
  void (*run)(const struct scan_job *j, int64_t begin, int64_t end);
} scan_job;

// Pieces of a job: groups of SIDE rows, or strips.
static int64_t strips_of(rows r) {
  return (r.inner + STRIP - 1) / STRIP;
}
static int64_t pieces_of(rows r) {
  return r.inner == 1 ? (r.outer + SIDE - 1) / SIDE : r.outer * strips_of(r);
}
typedef struct piece {
  int64_t from;   // its first element
  int64_t width;  // rows
} piece;
static piece piece_at(rows r, int64_t p) {
  bool along = r.inner == 1;
  int64_t k = along ? p * SIDE : p / strips_of(r);
  int64_t strip = along ? 0 : p % strips_of(r) * STRIP;
  int64_t rest = along ? r.outer - k : r.inner - strip;
  int64_t most = along ? SIDE : STRIP;
  return (piece){k * r.n * r.inner + strip, rest < most ? rest : most};
}

#define RUNNING(name, T, A, first, op)                                                 \
  static inline void name##_along(const T *x, T *o, int64_t n, bool two) {             \
    const T *y = two ? x + n : x;                                                      \
    T *u = two ? o + n : o;                                                            \
    A a = first;                                                                       \
    A b = first;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                  \
      a = a op(A) x[i];                                                                \
      b = b op(A) y[i];                                                                \
      o[i] = (T)a;                                                                     \
      u[i] = (T)b;                                                                     \
    }                                                                                  \
  }                                                                                    \
  IG_CLONES_NARROW static void name##_strip(const T *x, T *o, rows r, int64_t width) { \
    A sums[STRIP];                                                                     \
    for (int64_t l = 0; l < width; l++) sums[l] = first;                               \
    for (int64_t i = 0; i < r.n; i++, x += r.inner, o += r.inner)                      \
      for (int64_t l = 0; l < width; l++) o[l] = (T)(sums[l] = sums[l] op(A) x[l]);    \
  }                                                                                    \
  static void name(const scan_job *j, int64_t begin, int64_t end) {                    \
    for (int64_t p = begin; p < end; p++) {                                            \
      const piece at = piece_at(j->r, p);                                              \
      const T *x = (const T *)j->x + at.from;                                          \
      T *o = (T *)j->o + at.from;                                                      \
      if (j->r.inner == 1)                                                             \
        name##_along(x, o, j->r.n, at.width > 1);                                      \
      else                                                                             \
        name##_strip(x, o, j->r, at.width);                                            \
    }                                                                                  \
  }
RUNNING(sum_f32, float, double, 0, +)
RUNNING(sum_f64, double, double, 0, +)
RUNNING(sum_i64, uint64_t, uint64_t, 0, +)
RUNNING(prod_f32, float, double, 1, *)
RUNNING(prod_f64, double, double, 1, *)
RUNNING(prod_i64, uint64_t, uint64_t, 1, *)

static void run_pieces(void *arg, int64_t begin, int64_t end) {
  const scan_job *j = arg;
  j->run(j, begin, end);
}
static void run_scan(scan_job *j) {
  const int64_t pieces = pieces_of(j->r);
  const int64_t each = j->r.n * (j->r.inner == 1 ? SIDE : STRIP);
  if (j->x && j->o) ig_parallel_for(pieces, GRAIN / (each + 1) + 1, run_pieces, j);
}

static ig_c128 log_add_complex(ig_c128 a, ig_c128 b) {
  double high = a.re > b.re ? a.re : b.re;
  if (isinf(high) && high < 0) return a.re > b.re ? a : b;
  double re = exp(a.re - high) * cos(a.im) + exp(b.re - high) * cos(b.im);
  double im = exp(a.re - high) * sin(a.im) + exp(b.re - high) * sin(b.im);
  return (ig_c128){high + log(hypot(re, im)), atan2(im, re)};
}
static void scan_complex(ig_c128 *x, rows r, int how) {
  for (int64_t k = 0; k < r.outer * r.inner; k++) {
    ig_c128 *row = x + start(r, k);
    ig_c128 sum = {how == PROD ? 1 : how == SUM ? 0 : -HUGE_VAL, 0};
    for (int64_t i = 0; i < r.n; i++) {
      ig_c128 v = row[i * r.inner];
      if (how == SUM) {
        sum = (ig_c128){sum.re + v.re, sum.im + v.im};
      } else if (how == PROD) {
        sum = (ig_c128){sum.re * v.re - sum.im * v.im, sum.re * v.im + sum.im * v.re};
      } else {
        sum = log_add_complex(sum, v);
      }
      row[i * r.inner] = sum;
    }
  }
}
// The dtype that rows of one are scanned in.
static ig_dtype scanned_in(ig_dtype d) {
  if (ig_dtype_is_complex(d)) return IG_C128;
  if (!ig_dtype_is_float(d)) return IG_I64;
  return d == IG_F64 ? IG_F64 : IG_F32;
}

// What is scanned, and where results of the computing dtype go: into the tensor itself if it is
// like that.
typedef struct scan_state {
  ig_dtype work;
  ig_operand x;
  ig_operand o;
  ig_operand at;  // extremes: where they were
} scan_state;

static void *room_of(const ig_exec *x, const ig_operand *o, const ig_tensor *t) {
  return o->copied ? (void *)(x->memory + o->at) : ig_tensor_data(t);
}

static bool is_slow(const ig_op *op, ig_dtype work) {
  return op->def->variant == LOGSUMEXP || work == IG_C128;
}

static void scan_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                         ig_prep *p) {
  (void)c;
  IG_STATE(scan_state, s, p);
  const ig_tensor *out = outs[0].tensor;
  s->work = scanned_in(out->dtype);
  if (is_slow(op, s->work)) {  // in place, in a copy
    if (s->work != IG_C128) s->work = IG_F64;
    s->x = ig_operand_copy(&p->need, args[0].tensor, s->work, IG_ROW_MAJOR, 0);
    return;
  }
  s->x = ig_operand_plan(&p->need, args[0].tensor, s->work, IG_ROW_MAJOR);
  s->o = ig_operand_plan(&p->need, out, s->work, IG_ROW_MAJOR);
}

static void scan_run(const ig_exec *x) {
  const scan_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  rows r = rows_of(out, dim_arg(x->c, x->args, 1));
  int how = x->op->def->variant;
  if (ig_tensor_numel(out) == 0) return;
  const void *from = ig_operand_read(x, &s->x, x->args[0].tensor);
  if (is_slow(x->op, s->work)) {
    if (s->work == IG_F64)
      scan_logs((double *)from, r);
    else
      scan_complex((ig_c128 *)from, r, how);
    ig_operand_write(x, &s->x, out);
    return;
  }
  scan_job j = {.x = from, .o = room_of(x, &s->o, out), .r = r};
  bool sums = how == SUM;
  j.run = s->work == IG_F32   ? (sums ? sum_f32 : prod_f32)
          : s->work == IG_F64 ? (sums ? sum_f64 : prod_f64)
                              : (sums ? sum_i64 : prod_i64);
  run_scan(&j);
  ig_operand_write(x, &s->o, out);
}
static ig_tensor *from_end(ig_ctx *c, ig_tensor *g, ig_int dim) {
  ig_value at = ig_of_ints(&dim, 1);
  if (g && g->ndim == 0) return g;
  g = ig_cumsum(c, ig_flip(c, g, at), dim);
  return ig_flip(c, g, at);
}
static void cumsum_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *x = v->args[0].tensor;
  IG_GRAD(v, 0) = ig_cast(c, from_end(c, v->grad, v->args[1].i), x->dtype);
}
// d_i = sum over j >= i of g_j prod over k <= j, k != i: by the quotient where no factor is 0, else
// by taking every factor out in turn.
static ig_tensor *cumprod_slow(ig_ctx *c, const ig_vjp *v, ig_tensor *x) {
  int dim = ig_wrap_dim(c, v->args[1].i.value, x->ndim);  // concrete: a dimension
  int64_t n = x->ndim ? ig_int_specialize(c, ig_sizes(x)[dim]) : 1;
  ig_int at = ig_const(dim);
  ig_value *parts = ig_scope_array(c, (size_t)n, sizeof *parts);
  if (!parts) return NULL;
  for (int64_t i = 0; i < n; i++) {
    ig_tensor *one = ig_ones_like(c, ig_narrow(c, x, at, ig_const(i), ig_const(1)));
    ig_value list[3];
    size_t k = 0;
    if (i > 0) list[k++] = ig_of_tensor(ig_narrow(c, x, at, ig_const(0), ig_const(i)));
    list[k++] = ig_of_tensor(one);
    if (i + 1 < n)
      list[k++] = ig_of_tensor(ig_narrow(c, x, at, ig_const(i + 1), ig_const(n - 1 - i)));
    ig_tensor *without = ig_cumprod(c, ig_cat_with(c, ig_of_list(list, k), at), at);
    without = ig_narrow(c, without, at, ig_const(i), ig_const(n - i));
    ig_tensor *g = ig_narrow(c, v->grad, at, ig_const(i), ig_const(n - i));
    ig_tensor *term = ig_mul_tensor(c, g, ig_conj_of(c, without));
    parts[i] = ig_of_tensor(ig_sum_dim_intlist_with(c, term, ig_of_ints(&at, 1), true, ig_none()));
  }
  return ig_cat_with(c, ig_of_list(parts, (size_t)n), at);
}
static void cumprod_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  if (x->ndim == 0) {
    IG_GRAD(v, 0) = ig_cast(c, v->grad, x->dtype);
    return;
  }
  if (ig_int_eq_i64(c, ig_numel_of(c, x), 0)) {
    IG_GRAD(v, 0) = ig_zeros_of(c, x);
    return;
  }
  IG_GRAD(v, 0) = ig_cast(c, cumprod_slow(c, v, x), x->dtype);
}
// sum over j >= i of g_j exp(x_i - out_j)
static void logcumsumexp_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, ig_exp(c, ig_neg(c, v->out))));
  g = from_end(c, g, v->args[1].i);
  IG_GRAD(v, 0) = ig_mul_tensor(c, g, ig_conj_of(c, ig_exp(c, x)));
}

// ---- cummax, cummin ----

static void extremes_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)dim_arg(c, args, 1);
  if (c->status != IG_OK) return;
  if (ig_dtype_is_complex(args[0].tensor->dtype)) {
    ig_refuse_dtype(c, op->def->variant ? "cummax_cpu" : "cummin_cpu", args[0].tensor->dtype);
    return;
  }
  for (int k = 0; k < 2; k++) {
    for (int d = 0; d < args[0].tensor->ndim; d++) {
      ig_meta_push_dim(c, &out[k], ig_sizes(args[0].tensor)[d]);
    }
  }
  out[1].dtype = IG_I64;
}
// The last of equal elements wins, and NaN over everything.
#define RUNNING_EXTREME(name, T, op)                                               \
  static inline void name##_along(const T *x, T *o, int64_t *at, int64_t n) {      \
    T best = x[0];                                                                 \
    int64_t place = 0;                                                             \
    for (int64_t i = 0; i < n; i++) {                                              \
      if (x[i] op best || x[i] != x[i]) best = x[i], place = i;                    \
      o[i] = best;                                                                 \
      at[i] = place;                                                               \
    }                                                                              \
  }                                                                                \
  IG_CLONES_NARROW static void name##_strip(const T *x, T *o, int64_t *at, rows r, \
                                            int64_t width) {                       \
    T best[STRIP];                                                                 \
    int64_t place[STRIP];                                                          \
    for (int64_t l = 0; l < width; l++) best[l] = x[l], place[l] = 0;              \
    for (int64_t i = 0; i < r.n; i++, x += r.inner, o += r.inner, at += r.inner)   \
      for (int64_t l = 0; l < width; l++) {                                        \
        bool better = (x[l] op best[l]) | (x[l] != x[l]);                          \
        o[l] = best[l] = better ? x[l] : best[l];                                  \
        at[l] = place[l] = better ? i : place[l];                                  \
      }                                                                            \
  }                                                                                \
  static void name(const scan_job *j, int64_t begin, int64_t end) {                \
    for (int64_t p = begin; p < end; p++) {                                        \
      const piece q = piece_at(j->r, p);                                           \
      const T *x = (const T *)j->x + q.from;                                       \
      T *o = (T *)j->o + q.from;                                                   \
      int64_t *at = j->at + q.from;                                                \
      if (j->r.inner != 1) name##_strip(x, o, at, j->r, q.width);                  \
      for (int64_t k = 0; j->r.inner == 1 && k < q.width; k++)                     \
        name##_along(x + k * j->r.n, o + k * j->r.n, at + k * j->r.n, j->r.n);     \
    }                                                                              \
  }
RUNNING_EXTREME(most_f32, float, >=)
RUNNING_EXTREME(most_f64, double, >=)
RUNNING_EXTREME(most_i64, int64_t, >=)
RUNNING_EXTREME(least_f32, float, <=)
RUNNING_EXTREME(least_f64, double, <=)
RUNNING_EXTREME(least_i64, int64_t, <=)

static void extremes_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                             ig_prep *p) {
  (void)c;
  (void)op;
  IG_STATE(scan_state, s, p);
  s->work = scanned_in(args[0].tensor->dtype);
  s->x = ig_operand_plan(&p->need, args[0].tensor, s->work, IG_ROW_MAJOR);
  s->o = ig_operand_plan(&p->need, outs[0].tensor, s->work, IG_ROW_MAJOR);
  s->at = ig_operand_plan(&p->need, outs[1].tensor, IG_I64, IG_ROW_MAJOR);
}

static void extremes_run(const ig_exec *x) {
  const scan_state *s = x->state;
  const ig_tensor *self = x->args[0].tensor;
  bool most = x->op->def->variant;
  if (ig_tensor_numel(self) == 0) return;
  scan_job j = {.x = ig_operand_read(x, &s->x, self),
                .o = room_of(x, &s->o, x->outs[0].tensor),
                .at = room_of(x, &s->at, x->outs[1].tensor),
                .r = rows_of(self, dim_arg(x->c, x->args, 1))};
  j.run = s->work == IG_F32   ? (most ? most_f32 : least_f32)
          : s->work == IG_F64 ? (most ? most_f64 : least_f64)
                              : (most ? most_i64 : least_i64);
  run_scan(&j);
  ig_operand_write(x, &s->o, x->outs[0].tensor);
  ig_operand_write(x, &s->at, x->outs[1].tensor);
}
static void extremes_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *zeros = ig_zeros_of(c, v->args[0].tensor);
  IG_GRAD(v, 0) = ig_scatter_add(c, zeros, v->args[1].i, v->outs[1].tensor, v->grads[0]);
}

// ---- kthvalue, median, mode: one value per row and its index ----

enum { KTH, MEDIAN, NANMEDIAN, MODE };

typedef struct entry {
  double f;
  int64_t w;
  int64_t at;
} entry;

// NaN is the largest. Merge sort, because positions of equal elements matter.
static bool before(const entry *a, const entry *b, bool real) {
  if (!real) return a->w < b->w;
  return isnan(b->f) ? !isnan(a->f) : a->f < b->f;
}
static void sort_entries(entry *e, entry *room, int64_t n, bool real) {
  if (n < 2) return;
  int64_t half = n / 2;
  sort_entries(e, room, half, real);
  sort_entries(e + half, room, n - half, real);
  memcpy(room, e, (size_t)n * sizeof *e);
  int64_t i = 0;
  int64_t j = half;
  for (int64_t k = 0; k < n; k++) {
    bool right = i == half || (j < n && before(&room[j], &room[i], real));
    e[k] = right ? room[j++] : room[i++];
  }
}
static bool same(const entry *a, const entry *b, bool real) {
  return real ? a->f == b->f || (isnan(a->f) && isnan(b->f)) : a->w == b->w;
}
static entry choose(entry *e, int64_t n, int how, int64_t k, bool real) {
  int64_t nans = 0;
  while (real && nans < n && isnan(e[n - 1 - nans].f)) nans++;
  if (how == KTH) return e[k - 1];
  if (how == MEDIAN) return nans ? e[n - nans] : e[(n - 1) / 2];
  if (how == NANMEDIAN) return nans == n ? e[0] : e[(n - nans - 1) / 2];
  int64_t best = 0;
  int64_t most = 0;
  for (int64_t i = 0, run = 0; i < n; i++) {
    run = i && same(&e[i], &e[i - 1], real) ? run + 1 : 1;
    if (run <= most) continue;
    most = run;
    best = i;
  }
  return e[best];
}
typedef struct places {
  size_t dim;
  size_t keepdim;
} places;
static places places_of(const ig_op *op) {
  return op->def->variant == KTH ? (places){2, 3} : (places){1, 2};
}
static void choose_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  places p = places_of(op);
  int dim = dim_arg(c, args, p.dim);
  if (c->status != IG_OK) return;
  if (ig_dtype_is_complex(x->dtype) || (x->dtype == IG_BOOL && op->def->variant != MODE)) {
    ig_refuse_dtype(c, op->schema.name, x->dtype);
    return;
  }
  if (x->ndim && ig_int_eq_i64(c, ig_sizes(x)[dim], 0)) {
    ig_fail_text(c, IG_BAD_INDEX, "%s(): Expected reduction dim %d to have non-zero size.",
                 op->schema.name, dim);
    return;
  }
  if (op->def->variant == KTH) {
    ig_int size = x->ndim ? ig_sizes(x)[dim] : ig_const(1);
    if (ig_int_is(c, args[1].i, IG_LE, ig_const(0)) || ig_int_is(c, size, IG_LT, args[1].i)) {
      ig_fail_text(c, IG_RUNTIME, "kthvalue(): selected number k out of range for dimension %d",
                   dim);
      return;
    }
  }
  bool reduced[IG_MAX_DIM] = {false};
  if (x->ndim) reduced[dim] = true;
  for (int k = 0; k < 2; k++) ig_meta_reduce(c, x, reduced, args[p.keepdim].b, &out[k]);
  out[1].dtype = IG_I64;
}
static void choose_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[0].tensor;
  places p = places_of(op);
  rows r = rows_of(x, dim_arg(c, args, p.dim));
  bool real = ig_dtype_is_float(x->dtype);
  int64_t count = r.outer * r.inner;
  int64_t kth = op->def->variant == KTH ? ig_value_i64(c, &args[1]) : 0;
  ig_scope s = ig_scope_open(c);
  const double *f = real ? ig_dense_read(c, x, IG_F64) : NULL;
  const int64_t *w = real ? NULL : ig_dense_read(c, x, IG_I64);
  double *of = ig_dense_room(c, (size_t)count, IG_F64);
  int64_t *ow = ig_dense_room(c, (size_t)count, IG_I64);
  int64_t *at = ig_dense_room(c, (size_t)count, IG_I64);
  entry *e = ig_scope_array(c, ig_mem_mul(2, (size_t)r.n) + 1, sizeof *e);
  for (int64_t k = 0; e && at && ow && of && k < count; k++) {
    for (int64_t i = 0; i < r.n; i++) {
      int64_t q = start(r, k) + i * r.inner;
      e[i] = (entry){real ? f[q] : 0, real ? 0 : w[q], i};
    }
    sort_entries(e, e + r.n, r.n, real);
    entry found = choose(e, r.n, op->def->variant, kth, real);
    of[k] = found.f;
    ow[k] = found.w;
    at[k] = found.at;
  }
  ig_dense_write(c, outs[0].tensor, real ? IG_F64 : IG_I64, real ? (void *)of : (void *)ow);
  ig_dense_write(c, outs[1].tensor, IG_I64, at);
  ig_scope_close(c, s);
}
static void choose_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  places p = places_of(v->op);
  IG_GRAD(v, 0) =
      ig_value_selecting_reduction_backward(c, v->grads[0], v->args[p.dim].i, v->outs[1].tensor,
                                            ig_sizes_of(v->args[0].tensor), v->args[p.keepdim].b);
}

static void all_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_dtype d = args[0].tensor->dtype;
  (void)out;
  if (ig_dtype_is_complex(d) || d == IG_BOOL) ig_refuse_dtype(c, op->schema.name, d);
}
static void all_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[0].tensor;
  bool real = ig_dtype_is_float(x->dtype);
  int64_t n = ig_tensor_numel(x);
  ig_scope s = ig_scope_open(c);
  const double *f = real ? ig_dense_read(c, x, IG_F64) : NULL;
  const int64_t *w = real ? NULL : ig_dense_read(c, x, IG_I64);
  entry *e = ig_scope_array(c, ig_mem_mul(2, (size_t)n) + 1, sizeof *e);
  for (int64_t i = 0; e && i < n; i++) e[i] = (entry){real ? f[i] : 0, real ? 0 : w[i], i};
  if (e) sort_entries(e, e + n, n, real);
  entry found = {NAN, INT64_MIN, 0};
  if (e && n) found = choose(e, n, op->def->variant, 0, real);
  ig_dense_write(c, outs[0].tensor, real ? IG_F64 : IG_I64,
                 real ? (void *)&found.f : (void *)&found.w);
  ig_scope_close(c, s);
}
// Elements equal to the result share the gradient.
static void all_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *hit = ig_eq_tensor(c, x, v->out);
  ig_tensor *unknown = ig_isnan(c, x);
  unknown = ig_logical_and(c, unknown, ig_isnan(c, v->out));
  hit = ig_logical_or(c, hit, unknown);
  hit = ig_cast(c, hit, x->dtype);
  ig_tensor *share = ig_div_tensor(c, hit, ig_sum(c, hit));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, share);
}
static ig_tensor *msort_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_sort_with(c, args[0].tensor, ig_const(0), false, outs);
  return ig_value_tensor(&outs[0]);
}

#define SCAN(name, how) \
  .shape = scan_shape, .prepare = scan_prepare, .run = scan_run, .vjp = name##_vjp, .variant = (how)
#define EXTREMES(how)                                                                             \
  .shape = extremes_shape, .prepare = extremes_prepare, .run = extremes_run, .vjp = extremes_vjp, \
  .diff_results = 1, .keep = "result1", .variant = (how)
#define CHOOSE(how)                                                                     \
  .shape = choose_shape, .kernel = choose_kernel, .vjp = choose_vjp, .diff_results = 1, \
  .keep = "result1", .variant = (how)

IG_OP(cumsum) = {
    .schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    SCAN(cumsum, SUM),
    .keep = "",
    .samples = "f32[3,5], 1 | f32[3,5], 0 | f32[4,2].T, 0 | i64[5], 0, dtype=f32 | f32[], 0",
};
IG_OP(cumprod) = {
    .schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    SCAN(cumprod, PROD),
    .keep = "self",
    .samples = "f32[3,4], 1 | f32[3,2], 0 | i64[4], 0",
};
IG_OP(logcumsumexp) = {
    .schema = "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
    SCAN(logcumsumexp, LOGSUMEXP),
    .samples = "f32[3,5], 1 | f32[3,5], 0",
};
IG_OP(cummax) = {
    .schema = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    EXTREMES(1),
    .samples = "f32[3,5], 1 | f32[3,5], 0 | i64[5], 0",
};
IG_OP(cummin) = {
    .schema = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    EXTREMES(0),
    .samples = "f32[3,5], 1 | f32[3,5], 0 | i64[5], 0",
};
IG_OP(kthvalue) = {
    .schema =
        "aten::kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor "
        "values, Tensor indices)",
    CHOOSE(KTH),
    .samples = "f32[3,5]:perm, 2 | f32[3,2]:perm, 1, 0, True | i64[5]:perm, 3",
};
IG_OP(median_dim) = {
    .schema =
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
        "Tensor indices)",
    CHOOSE(MEDIAN),
    .samples = "f32[3,5]:perm, 1 | f32[3,2]:perm, 0, True | i64[5]:perm, 0",
};
IG_OP(nanmedian_dim) = {
    .schema =
        "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
        "values, Tensor indices)",
    CHOOSE(NANMEDIAN),
    .samples = "f32[3,5]:perm, 1 | f32[3,2]:perm, 0, True | i64[5]:perm, 0",
};
IG_OP(mode) = {
    .schema =
        "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, "
        "Tensor indices)",
    CHOOSE(MODE),
    .samples = "i64[3,5]:<3 | f32[3,5]:perm, 0, True",
};
IG_OP(median) = {
    .schema = "aten::median(Tensor self) -> Tensor",
    .shape = all_shape,
    .kernel = all_kernel,
    .vjp = all_vjp,
    .variant = MEDIAN,
    .samples = "f32[3,5]:perm | i64[5]:perm",
};
IG_OP(nanmedian) = {
    .schema = "aten::nanmedian(Tensor self) -> Tensor",
    .shape = all_shape,
    .kernel = all_kernel,
    .vjp = all_vjp,
    .variant = NANMEDIAN,
    .samples = "f32[3,5]:perm | i64[5]:perm",
};
IG_OP(msort) = {
    .schema = "aten::msort(Tensor self) -> Tensor",
    .decompose = msort_decompose,
    .samples = "f32[3,5]:perm | f32[4]:perm",
};
