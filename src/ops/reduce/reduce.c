// SPDX-License-Identifier: Apache-2.0
// Reductions to one value per row: sum, mean, prod, extrema, any, all, variances, norms.
#include "ops/reduce/reduce.h"
#include "ops/lower.h"

#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "sym/env.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// The positions of the arguments of a family; -1: none.
typedef struct places {
  int dim;
  int keepdim;
  int dtype;
} places;

// sum(self, *, dtype), sum.dim_IntList(self, dim, keepdim, *, dtype), amax(self, dim, keepdim) ...
static places places_of(const ig_op *op) {
  places p = {-1, -1, -1};
  for (int i = 0; i < (int)op->schema.nargs; i++) {
    const char *name = op->schema.args[i].name;
    if (strcmp(name, "dim") == 0) p.dim = i;
    if (strcmp(name, "keepdim") == 0) p.keepdim = i;
    if (strcmp(name, "dtype") == 0) p.dtype = i;
  }
  return p;
}

static void reduced_dims(ig_ctx *c, const ig_op *op, const ig_value *args, bool *reduced) {
  places p = places_of(op);
  ig_value all = ig_none();
  ig_dims_of(c, p.dim < 0 ? &all : &args[p.dim], args[0].tensor->ndim, true, reduced);
}

static void reduced_sizes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  places p = places_of(op);
  bool reduced[IG_MAX_DIM];
  reduced_dims(c, op, args, reduced);
  if (c->status != IG_OK) return;
  ig_meta_reduce(c, args[0].tensor, reduced, p.keepdim >= 0 && args[p.keepdim].b, out);
}

static ig_dtype wanted_dtype(const ig_op *op, const ig_value *args, ig_dtype otherwise) {
  places p = places_of(op);
  return p.dtype >= 0 && args[p.dtype].kind == IG_KIND_DTYPE ? args[p.dtype].dtype : otherwise;
}

static void sum_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  reduced_sizes(c, op, args, out);
  out->dtype = wanted_dtype(op, args, ig_accumulate_dtype(args[0].tensor->dtype));
}

static void mean_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  reduced_sizes(c, op, args, out);
  out->dtype = wanted_dtype(op, args, args[0].tensor->dtype);
  if (!ig_dtype_is_float(out->dtype) && !ig_dtype_is_complex(out->dtype)) {
    ig_fail_text(
        c, IG_RUNTIME,
        "mean(): could not infer output dtype. Input dtype must be either a floating "
        "point or complex dtype. Got: %s%s",
        ig_is_fake(args[0].tensor) ? "torch." : "",
        ig_is_fake(args[0].tensor) ? ig_dtype_text(out->dtype) : ig_dtype_title(out->dtype));
  }
}

static void bool_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  reduced_sizes(c, op, args, out);
  out->dtype = args[0].tensor->dtype == IG_U8 ? IG_U8 : IG_BOOL;
}

static bool nothing_to_reduce(ig_ctx *c, const ig_tensor *self, const bool *reduced) {
  for (int d = 0; d < self->ndim; d++) {
    // A size that a script computes from data is not asked for where its conditions are recorded.
    const ig_expr *size = ig_sizes(self)[d].expr;
    if (size && !size->backed && ig_env_records_choices(c)) continue;
    if (reduced[d] && ig_int_eq_i64(c, ig_sizes(self)[d], 0)) return true;
  }
  return false;
}

// Extrema have no neutral element.
static void extremum_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  reduced_sizes(c, op, args, out);
  if (c->status != IG_OK) return;
  if (ig_dtype_is_complex(self->dtype)) {
    ig_refuse_dtype(c, op->schema.name, self->dtype);
    return;
  }
  reduced_dims(c, op, args, reduced);
  places p = places_of(op);
  if (!nothing_to_reduce(c, self, reduced)) return;
  bool all = p.dim < 0 || args[p.dim].kind == IG_KIND_NONE ||
             (args[p.dim].kind == IG_KIND_INTS && args[p.dim].ints.n == 0);
  if (all && strncmp(op->schema.name, "arg", 3) == 0) {
    ig_fail_text(c, IG_BAD_INDEX,
                 "%s(): Expected reduction dim to be specified for input.numel() == 0.",
                 op->schema.name);
  } else if (all) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                 "reduction dim with the 'dim' argument.",
                 op->schema.name);
  } else {
    ig_fail_text(c, IG_BAD_INDEX, "%s(): Expected reduction dim to have non-zero size.",
                 op->schema.name);
  }
}

static void arg_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  extremum_shape(c, op, args, out);
  out->dtype = IG_I64;
}

static void extremum_dim_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  extremum_shape(c, op, args, &out[0]);
  out[1].ndim = out[0].ndim;
  out[1].dtype = IG_I64;
  memcpy(out[1].size, out[0].size, (size_t)out[0].ndim * sizeof *out[0].size);
}

static void aminmax_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  extremum_dim_shape(c, op, args, out);
  out[1].dtype = out[0].dtype;
}

// Sum or product of `times` equal parts, each of which has been added or multiplied up.
static double repeat_real(bool sum, double x, int64_t times) {
  return sum ? x * (double)times : pow(x, (double)times);
}
static uint64_t repeat_whole(bool sum, uint64_t x, int64_t times) {
  if (sum) return x * (uint64_t)times;
  uint64_t y = 1;
  for (uint64_t n = (uint64_t)times; n; n >>= 1, x *= x) {
    if (n & 1) y *= x;
  }
  return y;
}
static void repeat_all(bool sum, void *at, ig_dtype d, size_t n, int64_t times) {
  bool complex = ig_dtype_is_complex(d);
  bool whole = d == IG_BOOL || ig_dtype_is_integral(d);
  ig_dtype real = complex ? ig_to_real(d) : d;
  char *p = at;
  if (complex) n *= 2;  // only for sums
  for (size_t i = 0; i < n; i++, p += ig_dtype_size(real)) {
    int64_t k = 0;
    double x = 0;
    ig_convert(whole ? (void *)&k : &x, whole ? IG_I64 : IG_F64, p, real, 1);
    k = (int64_t)repeat_whole(sum, (uint64_t)k, times);
    x = repeat_real(sum, x, times);
    ig_convert(p, real, whole ? (void *)&k : &x, whole ? IG_I64 : IG_F64, 1);
  }
}

typedef struct reduce_state {
  ig_repeated r;
  ig_dtype work;  // elements are read in
  ig_dtype to;    // and reduced to
  size_t wide;    // results before they are narrowed
  bool narrows;
  bool multiplies_complex;
} reduce_state;

// Sums of complex numbers are sums of pairs of reals, with inner doubled. Products are none.
static void reduce_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                           ig_prep *p) {
  IG_STATE(reduce_state, s, p);
  const ig_tensor *out = outs[0].tensor;
  const ig_tensor *self = args[0].tensor;
  ig_reduce_op what = (ig_reduce_op)op->def->variant;
  bool reduced[IG_MAX_DIM];
  reduced_dims(c, op, args, reduced);
  bool truth = what == IG_REDUCE_ANY || what == IG_REDUCE_ALL;
  bool same = what == IG_REDUCE_MAX || what == IG_REDUCE_MIN;
  bool direct = !truth && ig_accumulate_dtype(self->dtype) == out->dtype;
  *s = (reduce_state){.work = same || direct ? self->dtype : truth ? IG_BOOL : out->dtype};
  // Integers are added up in 64 bits, whatever the result is kept in.
  s->narrows = !truth && !same && out->dtype != IG_I64 &&
               (out->dtype == IG_BOOL || ig_dtype_is_integral(out->dtype));
  s->to = truth ? IG_BOOL : s->narrows ? IG_I64 : out->dtype;
  s->multiplies_complex = what == IG_REDUCE_PROD && ig_dtype_is_complex(out->dtype);
  if (s->multiplies_complex) {
    s->r.x = ig_reduce_plan(&p->need, self, reduced, IG_C128, &s->r.axis);
    return;
  }
  s->r = ig_reduce_plan_once(&p->need, self, reduced, s->work);
  if (s->narrows) {
    s->wide = ig_need_take(&p->need, (size_t)ig_tensor_numel(out), sizeof(int64_t));
  }
  bool complex = ig_dtype_is_complex(s->work);
  if (complex) s->r.axis.inner *= 2;
  ig_elem e = ig_elem_of(complex ? ig_to_real(s->work) : s->work);
  ig_elem o = ig_elem_of(complex ? ig_to_real(s->to) : s->to);
  if (e == IG_ELEM_COUNT || o == IG_ELEM_COUNT || !ig_reduce_has(what, e, o)) {
    ig_refuse_dtype(c, op->schema.name, s->work);
    return;
  }
  ig_reduce_need(e, s->r.axis, &p->need);
}

static void multiply_complex(const ig_exec *x) {
  const reduce_state *s = x->state;
  ig_axis a = s->r.axis;
  const ig_c128 *from = ig_operand_read(x, &s->r.x, x->args[0].tensor);
  ig_tensor *out = x->outs[0].tensor;
  char *to = ig_tensor_data(out);
  for (int64_t k = 0; k < a.outer * a.inner; k++) {
    ig_c128 p = {1, 0};
    for (int64_t i = 0; i < a.n; i++) {
      ig_c128 z = from[(k / a.inner * a.n + i) * a.inner + k % a.inner];
      p = (ig_c128){p.re * z.re - p.im * z.im, p.re * z.im + p.im * z.re};
    }
    ig_convert(to + (size_t)k * ig_dtype_size(out->dtype), out->dtype, &p, IG_C128, 1);
  }
}

static void reduce_run(const ig_exec *x) {
  const reduce_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  ig_reduce_op what = (ig_reduce_op)x->op->def->variant;
  if (s->multiplies_complex) {
    multiply_complex(x);
    return;
  }
  const void *from = ig_operand_read(x, &s->r.x, x->args[0].tensor);
  size_t n = (size_t)ig_tensor_numel(out);
  void *y = s->narrows ? x->memory + s->wide : ig_tensor_data(out);
  bool complex = ig_dtype_is_complex(s->work);
  ig_elem e = ig_elem_of(complex ? ig_to_real(s->work) : s->work);
  ig_elem o = ig_elem_of(complex ? ig_to_real(s->to) : s->to);
  (void)ig_reduce(what, e, from, o, y, s->r.axis);
  bool adds = what == IG_REDUCE_SUM || what == IG_REDUCE_PROD;
  if (s->r.times > 1 && adds) repeat_all(what == IG_REDUCE_SUM, y, s->to, n, s->r.times);
  if (s->narrows) ig_convert(ig_tensor_data(out), out->dtype, y, IG_I64, n);
}

// max.dim, min.dim, argmax, argmin, aminmax: variant bit 0 says minimum, bit 1 says indices only.
enum { MINIMUM = 1, INDEX_ONLY = 2 };

// Where element `at` of the elements that were looked at stands among all: repeated ones stand
// first at index 0.
static int64_t place_of(const ig_tensor *all, uint64_t once, uint64_t reduced, int64_t at) {
  int64_t place = 0;
  int64_t step = 1;
  for (int d = all->ndim - 1; d >= 0; d--) {
    if (!(reduced >> d & 1)) continue;
    int64_t size = once >> d & 1 ? 1 : ig_sizes(all)[d].value;
    place += at % size * step;
    at /= size;
    step *= ig_sizes(all)[d].value;
  }
  return place;
}

typedef struct arg_state {
  ig_repeated r;
  uint64_t reduced;  // bits
} arg_state;

static void arg_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                        ig_prep *p) {
  (void)outs;
  IG_STATE(arg_state, s, p);
  const ig_tensor *self = args[0].tensor;
  bool reduced[IG_MAX_DIM];
  reduced_dims(c, op, args, reduced);
  s->r = ig_reduce_plan_once(&p->need, self, reduced, self->dtype);
  s->reduced = 0;
  for (int d = 0; d < self->ndim; d++) s->reduced |= (uint64_t)reduced[d] << d;
  ig_elem e = ig_elem_of(self->dtype);
  if (e == IG_ELEM_COUNT) ig_refuse_dtype(c, op->schema.name, self->dtype);
  ig_reduce_need(e, s->r.axis, &p->need);  // of aminmax
}

static void arg_run(const ig_exec *x) {
  const arg_state *s = x->state;
  const ig_tensor *self = x->args[0].tensor;
  int how = x->op->def->variant;
  const void *from = ig_operand_read(x, &s->r.x, self);
  void *value = how & INDEX_ONLY ? NULL : ig_tensor_data(x->outs[0].tensor);
  int64_t *index = ig_tensor_data(x->outs[how & INDEX_ONLY ? 0 : 1].tensor);
  ig_elem e = ig_elem_of(self->dtype);
  (how & MINIMUM ? ig_reduce_argmin : ig_reduce_argmax)(e, from, value, index, s->r.axis);
  for (int64_t k = 0; s->r.times > 1 && k < s->r.axis.outer * s->r.axis.inner; k++) {
    index[k] = place_of(self, s->r.once, s->reduced, index[k]);
  }
}

static void aminmax_run(const ig_exec *x) {
  const arg_state *s = x->state;
  const void *from = ig_operand_read(x, &s->r.x, x->args[0].tensor);
  ig_elem e = ig_elem_of(x->args[0].tensor->dtype);
  for (int i = 0; i < 2; i++) {
    ig_reduce_op what = i ? IG_REDUCE_MAX : IG_REDUCE_MIN;
    (void)ig_reduce(what, e, from, e, ig_tensor_data(x->outs[i].tensor), s->r.axis);
  }
}

// Gradients ---------------------------------------------------------------------------------------

// The gradient of a reduction, expanded to the operand.
static ig_tensor *spread(ig_ctx *c, const ig_vjp *v, ig_tensor *g) {
  places p = places_of(v->op);
  const ig_tensor *self = v->args[0].tensor;
  bool reduced[IG_MAX_DIM];
  reduced_dims(c, v->op, v->args, reduced);
  bool kept = p.keepdim >= 0 && v->args[p.keepdim].b;
  if (!kept && g && g->ndim) g = ig_unreduce(c, g, reduced, self->ndim);
  return ig_expand(c, g, ig_sizes_of(self));
}

static ig_int reduced_count(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  bool reduced[IG_MAX_DIM];
  ig_int n = ig_const(1);
  reduced_dims(c, v->op, v->args, reduced);
  for (int d = 0; d < self->ndim; d++) {
    if (reduced[d]) n = ig_int_mul(c, n, ig_sizes(self)[d]);
  }
  return n;
}

static void sum_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_dtype d = v->args[0].tensor->dtype;
  IG_GRAD(v, 0) = ig_cast(c, spread(c, v, v->grad), d);
}

static void mean_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *g = spread(c, v, v->grad);
  g = ig_div_scalar(c, g, ig_of_int(reduced_count(c, v)));
  IG_GRAD(v, 0) = ig_cast(c, g, v->args[0].tensor->dtype);
}

// Elements equal to the extremum share its gradient.
static void extremum_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *best = spread(c, v, v->out);
  ig_tensor *hit = ig_eq_tensor(c, best, v->args[0].tensor);
  bool reduced[IG_MAX_DIM];
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  reduced_dims(c, v->op, v->args, reduced);
  for (int d = 0; d < v->args[0].tensor->ndim; d++) {
    if (reduced[d]) dims[n++] = ig_const(d);
  }
  ig_tensor *weight = ig_cast(c, hit, v->grad->dtype);
  ig_tensor *count = ig_sum_dim_intlist_with(c, weight, ig_of_ints(dims, n), true, ig_none());
  ig_tensor *g = spread(c, v, v->grad);
  g = ig_mul_tensor(c, g, weight);
  IG_GRAD(v, 0) = ig_div_tensor(c, g, count);
}

// The element that was chosen gets the gradient.
static void chosen_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0) || !v->grads[0]) return;
  ig_tensor *self = v->args[0].tensor;
  ig_tensor *g = v->grads[0];
  ig_tensor *index = v->outs[1].tensor;
  ig_int dim = v->args[1].i;
  if (!v->args[2].b && self->ndim > 0) {
    g = ig_unsqueeze(c, g, dim);
    index = ig_unsqueeze(c, index, dim);
  }
  ig_tensor *zeros = ig_zeros_of(c, self);
  IG_GRAD(v, 0) = ig_scatter_src(c, zeros, dim, index, g);
}

// Product of all the others: out / x where nothing is 0; with zeros by exclusive products. The
// second way is right in both cases, so a mask of zeros chooses per row.
static ig_tensor *prod_rows(ig_ctx *c, ig_tensor *x, ig_tensor *out, ig_int dim) {
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  ig_tensor *safe = ig_masked_fill_scalar(c, x, zero, ig_of_i64(1));
  ig_tensor *others = ig_div_tensor(c, out, x);
  // With exactly one zero in a row, its derivative is the product of the rest; the others are 0.
  ig_tensor *rest = ig_prod_dim_int_with(c, safe, dim, true, ig_none());
  ig_tensor *count = ig_sum_dim_intlist_with(c, zero, ig_of_ints(&dim, 1), true, ig_none());
  ig_tensor *single = ig_eq_scalar(c, count, ig_of_i64(1));
  ig_tensor *here = ig_logical_and(c, zero, single);
  ig_tensor *none = ig_zeros_of(c, x);
  ig_tensor *special = ig_where_self(c, here, rest, none);
  ig_tensor *any = ig_gt_scalar(c, count, ig_of_i64(0));
  return ig_where_self(c, any, special, others);
}

static void prod_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *self = v->args[0].tensor;
  places p = places_of(v->op);
  ig_tensor *g = spread(c, v, v->grad);
  ig_tensor *out = spread(c, v, v->out);
  ig_tensor *slope = NULL;
  if (p.dim >= 0) {
    slope = prod_rows(c, self, out, v->args[p.dim].i);
  } else {
    ig_int flat = ig_const(-1);
    ig_tensor *x = ig_reshape(c, self, ig_of_ints(&flat, 1));
    ig_tensor *o = ig_reshape(c, out, ig_of_ints(&flat, 1));
    slope = ig_reshape(c, prod_rows(c, x, o, ig_const(0)), ig_sizes_of(self));
  }
  ig_tensor *d = ig_mul_tensor(c, g, ig_conj_of(c, slope));
  IG_GRAD(v, 0) = ig_cast(c, d, self->dtype);
}

static ig_tensor *max_other(ig_ctx *c, const ig_value *args) {
  return ig_maximum(c, args[0].tensor, args[1].tensor);
}
static ig_tensor *min_other(ig_ctx *c, const ig_value *args) {
  return ig_minimum(c, args[0].tensor, args[1].tensor);
}

#define SUMS                                                                           \
  "f32[3,5] | f32[] | f32[0] | i64[3,2] | bool[4] | f32[4,2].T | f32[3], dtype=f64 | " \
  "i64[6], dtype=i32 | i64[3,2], dtype=u8 | f32[4], dtype=i64 | i64[3], dtype=bool"
#define SUMS_DIM                                                                                 \
  "f32[3,5], [1] | f32[2,3,4], [0,2], True | f32[2,3,4], [1] | f32[3,0], [1] | i64[3,2], [0] | " \
  "f32[2,3].T, [0] | f32[3,4], None | f32[], [0] | f32[3,4], [-1], True"

static ig_tensor *sum_decompose(ig_ctx *c, const ig_value *args) {
  return ig_sum_dim_intlist_with(c, args[0].tensor, ig_of_ints(NULL, 0), false, args[1]);
}

IG_OP(sum) = {
    .schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = sum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_SUM,
    .decompose = sum_decompose,
    .vjp = sum_vjp,
    .keep = "",
    .samples = SUMS,
};
IG_OP(sum_dim_intlist) = {
    .schema =
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = sum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_SUM,
    .vjp = sum_vjp,
    .keep = "",
    .samples = SUMS_DIM,
};
IG_OP(mean) = {
    .schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = mean_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MEAN,
    .vjp = mean_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[] | f32[0] | f32[4,2].T | i64[3], dtype=f32",
};
IG_OP(mean_dim) = {
    .schema =
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = mean_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MEAN,
    .vjp = mean_vjp,
    .keep = "",
    .samples = "f32[3,5], [1] | f32[2,3,4], [0,2], True | f32[2,3,4], [-1] | f32[3,4], None",
};
IG_OP(prod) = {
    .schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = sum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_PROD,
    .vjp = prod_vjp,
    .samples = "f32[3,2] | f32[] | f32[0] | i64[3]:<4",
};
IG_OP(prod_dim_int) = {
    .schema =
        "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = sum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_PROD,
    .vjp = prod_vjp,
    .samples = "f32[3,2], 1 | f32[2,3], 0, True | i64[3,2]:<4, -1",
};
IG_OP(amax) = {
    .schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .shape = extremum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MAX,
    .vjp = extremum_vjp,
    .samples =
        "f32[3,5] | f32[3,5], [1] | f32[2,3,4], [0,2], True | i64[3] | f32[2,4]:special, [1]",
};
IG_OP(amin) = {
    .schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .shape = extremum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MIN,
    .vjp = extremum_vjp,
    .samples =
        "f32[3,5] | f32[3,5], [1] | f32[2,3,4], [0,2], True | i64[3] | f32[2,4]:special, [1]",
};
IG_OP(max) = {
    .schema = "aten::max(Tensor self) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = extremum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MAX,
    .vjp = extremum_vjp,
    .samples = "f32[3,5] | f32[] | i64[3] | bool[3]",
};
IG_OP(min) = {
    .schema = "aten::min(Tensor self) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = extremum_shape,
    .prepare = reduce_prepare,
    .run = reduce_run,
    .variant = IG_REDUCE_MIN,
    .vjp = extremum_vjp,
    .samples = "f32[3,5] | f32[] | i64[3] | bool[3]",
};
IG_OP(max_dim) = {
    .schema =
        "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
        "indices)",
    .quantized = IG_QUANT_SAME,
    .shape = extremum_dim_shape,
    .prepare = arg_prepare,
    .run = arg_run,
    .vjp = chosen_vjp,
    .keep = "result1",
    .samples =
        "f32[3,5], 1 | f32[3,5], 0, True | f32[2,3,4], 1 | f32[], 0 | i64[3,2], 0 | "
        "f32[2,4]:special, 1",
};
IG_OP(min_dim) = {
    .schema =
        "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
        "indices)",
    .quantized = IG_QUANT_SAME,
    .shape = extremum_dim_shape,
    .prepare = arg_prepare,
    .run = arg_run,
    .variant = MINIMUM,
    .vjp = chosen_vjp,
    .keep = "result1",
    .samples = "f32[3,5], 1 | f32[3,5], 0, True | f32[2,3,4], 1 | f32[], 0 | i64[3,2], 0",
};
IG_OP(max_other) = {
    .schema = "aten::max.other(Tensor self, Tensor other) -> Tensor",
    .decompose = max_other,
    .samples = "f32[3,5], f32[5]",
};
IG_OP(min_other) = {
    .schema = "aten::min.other(Tensor self, Tensor other) -> Tensor",
    .decompose = min_other,
    .samples = "f32[3,5], f32[5]",
};
IG_OP(argmax) = {
    .schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .shape = arg_shape,
    .prepare = arg_prepare,
    .run = arg_run,
    .variant = INDEX_ONLY,
    .samples = "f32[3,5] | f32[3,5], 1 | f32[3,5], 0, True | i64[4] | f32[2,4]:special, 1",
    .not_differentiable = true,
};
IG_OP(argmin) = {
    .schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .shape = arg_shape,
    .prepare = arg_prepare,
    .run = arg_run,
    .variant = INDEX_ONLY | MINIMUM,
    .samples = "f32[3,5] | f32[3,5], 1 | f32[3,5], 0, True | i64[4]",
    .not_differentiable = true,
};
IG_OP(aminmax) = {
    .schema =
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor "
        "max)",
    .shape = aminmax_shape,
    .prepare = arg_prepare,
    .run = aminmax_run,
    .decompose_outs = ig_lower_aminmax,
    .samples = "f32[3,5] | f32[3,5], dim=1 | f32[3,5], dim=0, keepdim=True | i64[4]",
};

#define TRUTH(op)                                                                   \
  .shape = bool_shape, .prepare = reduce_prepare, .run = reduce_run, .variant = op, \
  .not_differentiable = true
IG_OP(any) = {
    .schema = "aten::any(Tensor self) -> Tensor",
    TRUTH(IG_REDUCE_ANY),
    .samples = "bool[3,5] | f32[3] | bool[0] | u8[3]",
};
IG_OP(any_dim) = {
    .schema = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    TRUTH(IG_REDUCE_ANY),
    .samples = "bool[3,5], 1 | f32[3,2], 0, True | bool[2,0], 1",
};
IG_OP(any_dims) = {
    .schema = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    TRUTH(IG_REDUCE_ANY),
    .samples = "bool[3,5] | bool[2,3,4], [0,2] | f32[3,2], [0], True",
};
IG_OP(all) = {
    .schema = "aten::all(Tensor self) -> Tensor",
    TRUTH(IG_REDUCE_ALL),
    .decompose = ig_lower_all,
    .samples = "bool[3,5] | f32[3] | bool[0] | u8[3]",
};
IG_OP(all_dim) = {
    .schema = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    TRUTH(IG_REDUCE_ALL),
    .decompose = ig_lower_all_dim,
    .samples = "bool[3,5], 1 | f32[3,2], 0, True | bool[2,0], 1",
};
IG_OP(all_dims) = {
    .schema = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    TRUTH(IG_REDUCE_ALL),
    .decompose = ig_lower_all_dims,
    .samples = "bool[3,5] | bool[2,3,4], [0,2] | f32[3,2], [0], True",
};
