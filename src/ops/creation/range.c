// SPDX-License-Identifier: Apache-2.0
// Tensors of a rule: arange, linspace, eye, triangles, sizes as a tensor.
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { GRAIN = 32768, CHUNK = 512 };

// The three overloads of arange differ in what they leave out.
typedef struct range {
  ig_value start;
  ig_value end;
  ig_value step;
  size_t options;  // position of dtype
} range;

static range range_of(const ig_op *op, const ig_value *args) {
  size_t n = op->schema.nargs - 4;
  return (range){n == 1 ? ig_of_i64(0) : args[0], n == 1 ? args[0] : args[1],
                 n == 3 ? args[2] : ig_of_i64(1), n};
}

static bool is_integer(const ig_value *v) {
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_BOOL;
}

static bool is_symbolic_float(const ig_value *v) {
  return v->kind == IG_KIND_FLOAT && v->f_expr;
}

static ig_int integer_of(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_INT) return v->i;
  if (v->kind == IG_KIND_BOOL) return ig_const(v->b);
  if (!is_symbolic_float(v)) return ig_const((int64_t)ig_value_f64(v));
  ig_value whole = ig_none();
  ig_sym_apply(c, IG_EXPR_TRUNC, v, 1, &whole);
  return whole.kind == IG_KIND_INT ? whole.i : ig_const(0);
}

static bool wrong_direction(ig_ctx *c) {
  ig_fail_text(c, IG_RUNTIME, "upper bound and lower bound inconsistent with step sign");
  return false;
}

static ig_int count_integers(ig_ctx *c, const range *r) {
  ig_int start = integer_of(c, &r->start);
  ig_int end = integer_of(c, &r->end);
  ig_int step = integer_of(c, &r->step);
  if (ig_int_eq_i64(c, step, 0)) {
    ig_fail_text(c, IG_RUNTIME, "step must be nonzero");
    return ig_const(0);
  }
  bool up = ig_int_is(c, ig_const(0), IG_LT, step);
  if (!ig_int_expect(c, up ? end : start, IG_GE, up ? start : end)) {
    if (c->status != IG_OK) return ig_const(0);
    (void)wrong_direction(c);
    return ig_const(0);
  }
  ig_int span = ig_int_sub(c, end, start);
  if (!step.expr && step.value == 1) {  // concrete: a step of 1 needs no query
    (void)ig_use_as_size(c, span);
    return span;
  }
  span = ig_int_add(c, span, ig_int_sub(c, step, ig_const(up ? 1 : -1)));
  return ig_int_floordiv(c, span, step);
}

// Bounds that depend on sizes or on data: how many numbers there are does, too.
static ig_int count_symbolic_floats(ig_ctx *c, const range *r) {
  double step = r->step.kind == IG_KIND_FLOAT ? ig_float_guard(c, &r->step)
                                              : (double)ig_value_i64(c, &r->step);
  if (step == 0) ig_fail_text(c, IG_RUNTIME, "step must be nonzero");
  const ig_value bounds[] = {step > 0 ? r->end : r->start, step > 0 ? r->start : r->end};
  const ig_value ends[] = {r->end, r->start};
  ig_value ordered = ig_none();
  ig_value parts[] = {ig_none(), ig_of_f64(step)};
  ig_value steps = ig_none();
  ig_value count = ig_none();
  if (c->status == IG_OK) ig_sym_apply(c, IG_EXPR_GE, bounds, 2, &ordered);
  if (c->status == IG_OK && !ig_bool_expect(c, &ordered, NULL)) (void)wrong_direction(c);
  if (c->status == IG_OK) ig_sym_apply(c, IG_EXPR_SUB, ends, 2, &parts[0]);
  if (c->status == IG_OK) ig_sym_apply(c, IG_EXPR_TRUEDIV, parts, 2, &steps);
  if (c->status == IG_OK) ig_sym_apply(c, IG_EXPR_CEIL, &steps, 1, &count);
  if (c->status != IG_OK || count.kind != IG_KIND_INT) return ig_const(0);
  (void)ig_use_as_size(c, count.i);
  return count.i;
}

static ig_int count_floats(ig_ctx *c, const range *r) {
  bool symbolic =
      is_symbolic_float(&r->start) || is_symbolic_float(&r->end) || is_symbolic_float(&r->step);
  if (symbolic) return count_symbolic_floats(c, r);
  double start = ig_value_f64(&r->start);
  double end = ig_value_f64(&r->end);
  double step = ig_value_f64(&r->step);
  if (step == 0) {
    ig_fail_text(c, IG_RUNTIME, "step must be nonzero");
  } else if (!isfinite(start) || !isfinite(end)) {
    ig_fail_text(c, IG_RUNTIME, "unsupported range: %g -> %g", start, end);
  } else if (step > 0 ? end < start : end > start) {
    (void)wrong_direction(c);
  }
  if (c->status != IG_OK) return ig_const(0);
  double n = ceil((end - start) / step);
  if (!(n >= 0 && n < 0x1p62)) {
    ig_fail_text(c, IG_RUNTIME, "invalid size, possible overflow?");
    return ig_const(0);
  }
  return ig_const((int64_t)n);
}

static void arange_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  range r = range_of(op, args);
  bool integers = is_integer(&r.start) && is_integer(&r.end) && is_integer(&r.step);
  ig_meta_options(c, args, r.options, integers ? IG_I64 : ig_ctx_default_dtype(c), out);
  if (c->status != IG_OK) return;
  // PyTorch converts the bounds first for int64, and counts in double for everything else.
  bool count = integers || out->dtype == IG_I64;
  ig_int n = count ? count_integers(c, &r) : count_floats(c, &r);
  ig_meta_push_dim(c, out, n);
}

typedef struct series {
  char *data;
  ig_dtype dtype;
  double start;
  double step;
  double end;
  int64_t first;
  int64_t by;
  int64_t n;
} series;

static void integer_range(void *arg, int64_t begin, int64_t end) {
  const series *s = arg;
  int64_t buffer[CHUNK];
  size_t size = ig_dtype_size(s->dtype);
  for (int64_t i = begin; i < end;) {
    int64_t m = end - i < CHUNK ? end - i : CHUNK;
    int64_t *to = s->dtype == IG_I64 ? (int64_t *)s->data + i : buffer;
    for (int64_t k = 0; k < m; k++) {
      to[k] = (int64_t)((uint64_t)s->first + (uint64_t)s->by * (uint64_t)(i + k));
    }
    if (to == buffer) ig_convert(s->data + (size_t)i * size, s->dtype, buffer, IG_I64, (size_t)m);
    i += m;
  }
}

static void float_range(void *arg, int64_t begin, int64_t end) {
  const series *s = arg;
  double buffer[CHUNK];
  size_t size = ig_dtype_size(s->dtype);
  for (int64_t i = begin; i < end;) {
    int64_t m = end - i < CHUNK ? end - i : CHUNK;
    for (int64_t k = 0; k < m; k++) buffer[k] = s->start + s->step * (double)(i + k);
    ig_convert(s->data + (size_t)i * size, s->dtype, buffer, IG_F64, (size_t)m);
    i += m;
  }
}

static void arange_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *t = outs[0].tensor;
  range r = range_of(op, args);
  if (t->dtype == IG_BOOL || ig_dtype_is_complex(t->dtype)) {
    ig_refuse_dtype(c, "arange_cpu", t->dtype);
    return;
  }
  series s = {.data = ig_tensor_data(t), .dtype = t->dtype};
  s.start = ig_value_f64(&r.start);
  s.step = ig_value_f64(&r.step);
  s.first = integer_of(c, &r.start).value;
  s.by = integer_of(c, &r.step).value;
  bool integers = ig_dtype_is_integral(t->dtype);
  ig_parallel_for(ig_tensor_numel(t), GRAIN, integers ? integer_range : float_range, &s);
}

// range: including its end, and floating-point unless specified.
static void range_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  range r = range_of(op, args);
  ig_meta_options(c, args, r.options, ig_ctx_default_dtype(c), out);
  // Whether the end belongs to it depends on the numbers themselves.
  ig_value *const bounds[] = {&r.start, &r.end, &r.step};
  for (size_t i = 0; i < 3; i++) {
    if (is_symbolic_float(bounds[i])) *bounds[i] = ig_of_f64(ig_float_guard(c, bounds[i]));
  }
  ig_int n = c->status == IG_OK ? count_floats(c, &r) : ig_const(0);
  if (c->status != IG_OK) return;
  double steps = (ig_value_f64(&r.end) - ig_value_f64(&r.start)) / ig_value_f64(&r.step);
  if (floor(steps) == steps) n = ig_int_add(c, n, ig_const(1));
  ig_meta_push_dim(c, out, n);
}

static ig_tensor *arange_from(ig_ctx *c, ig_value start, ig_value end, const ig_value *options) {
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_value layout = options[1].kind == IG_KIND_LAYOUT ? options[1] : strided;
  ig_value pin = options[3].kind == IG_KIND_BOOL ? options[3] : ig_of_bool(false);
  return ig_arange_start_step_with(c, start, end, ig_of_i64(1), options[0], layout, options[2],
                                   pin);
}

static ig_tensor *arange_decompose(ig_ctx *c, const ig_value *args) {
  return arange_from(c, ig_of_i64(0), args[0], args + 1);
}

static ig_tensor *arange_start_decompose(ig_ctx *c, const ig_value *args) {
  return arange_from(c, args[0], args[1], args + 2);
}

static ig_dtype linspace_dtype(const ig_ctx *c, const ig_value *args) {
  ig_dtype real = ig_ctx_default_dtype(c);
  bool complex = args[0].kind == IG_KIND_COMPLEX || args[1].kind == IG_KIND_COMPLEX;
  return !complex ? real : real == IG_F64 ? IG_C128 : IG_C64;
}

static void linspace_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  int64_t steps = ig_value_i64(c, &args[2]);
  ig_meta_options(c, args, 3, linspace_dtype(c, args), out);
  if (steps < 0) {
    ig_fail_text(c, IG_RUNTIME, "number of steps must be non-negative");
    return;
  }
  ig_meta_push_dim(c, out, ig_const(steps));
}

// From both ends towards the middle, so that both are exact.
static void linspace_range(void *arg, int64_t begin, int64_t end) {
  const series *s = arg;
  size_t size = ig_dtype_size(s->dtype);
  for (int64_t i = begin; i < end; i++) {
    bool low = i < s->n / 2;
    double x = low ? s->start + s->step * (double)i : s->end - s->step * (double)(s->n - i - 1);
    if (s->dtype == IG_F32) {
      float step = (float)s->step;
      float f =
          low ? (float)s->start + step * (float)i : (float)s->end - step * (float)(s->n - i - 1);
      x = f;
    }
    ig_convert(s->data + (size_t)i * size, s->dtype, &x, IG_F64, 1);
  }
}

// The same for complex numbers, part by part.
static void linspace_complex(ig_tensor *t, ig_c128 start, ig_c128 end, int64_t n) {
  double steps = n > 1 ? (double)(n - 1) : 1;
  ig_c128 step = {(end.re - start.re) / steps, (end.im - start.im) / steps};
  size_t size = ig_dtype_size(t->dtype);
  char *data = ig_tensor_data(t);
  if (n == 1) end = start;
  for (int64_t i = 0; i < n; i++) {
    double up = (double)i;
    double down = (double)(n - i - 1);
    ig_c128 z = {start.re + step.re * up, start.im + step.im * up};
    if (i >= n / 2) z = (ig_c128){end.re - step.re * down, end.im - step.im * down};
    ig_convert(data + (size_t)i * size, t->dtype, &z, IG_C128, 1);
  }
}

static ig_c128 complex_of(const ig_value *v) {
  return v->kind == IG_KIND_COMPLEX ? v->z : (ig_c128){ig_value_f64(v), 0};
}

static void linspace_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *t = outs[0].tensor;
  if (t->dtype == IG_BOOL) {
    ig_refuse_dtype(c, "linspace_cpu", t->dtype);
    return;
  }
  series s = {.data = ig_tensor_data(t), .dtype = t->dtype, .n = ig_tensor_numel(t)};
  if (ig_dtype_is_complex(t->dtype)) {
    linspace_complex(t, complex_of(&args[0]), complex_of(&args[1]), s.n);
    return;
  }
  s.start = ig_value_f64(&args[0]);
  s.end = ig_value_f64(&args[1]);
  s.step = s.n > 1 ? (s.end - s.start) / (double)(s.n - 1) : 0;
  if (s.n == 1) s.end = s.start;
  ig_parallel_for(s.n, GRAIN, linspace_range, &s);
}

static bool end_number(ig_ctx *c, const ig_value *v, const char *name, ig_value *number) {
  *number = *v;
  if (v->kind != IG_KIND_TENSOR) return true;
  if (v->tensor->ndim != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "linspace only supports 0-dimensional start and end tensors, but got %s with %d "
                 "dimension(s).",
                 name, v->tensor->ndim);
    return false;
  }
  ig_item(c, v->tensor, number);
  return c->status == IG_OK;
}

static ig_tensor *linspace_tensor_decompose(ig_ctx *c, const ig_value *args) {
  ig_value start;
  ig_value end;
  if (!end_number(c, &args[0], "start", &start) || !end_number(c, &args[1], "end", &end)) {
    return NULL;
  }
  return ig_linspace_with(c, start, end, args[2].i, args[3], args[4], args[5], args[6]);
}

static ig_tensor *number(ig_ctx *c, ig_value v, ig_dtype dtype) {
  return ig_scalar_tensor_with(c, v, ig_of_dtype(dtype), ig_none(), ig_none(), ig_none());
}

// The same for numbers that a capture does not know. One step is start.
static ig_tensor *linspace_symbolic(ig_ctx *c, const ig_value *args, ig_dtype works_in,
                                    ig_dtype dtype) {
  ig_tensor *start = number(c, args[0], works_in);
  ig_tensor *end = number(c, args[1], works_in);
  ig_tensor *count = number(c, args[2], works_in);
  ig_tensor *last = ig_clamp_min(c, ig_sub_scalar(c, count, ig_of_i64(1)), ig_of_i64(1));
  ig_tensor *step = ig_sub_tensor(c, end, start);
  step = ig_div_tensor(c, step, last);
  ig_tensor *at =
      ig_arange_start_with(c, ig_of_i64(0), args[2], ig_none(), args[4], args[5], args[6]);
  at = ig_cast(c, at, works_in);
  ig_tensor *low = ig_lt_tensor(c, ig_mul_f64(c, at, 2), count);
  ig_tensor *up = ig_mul_tensor(c, at, step);
  up = ig_add_tensor(c, up, start);
  ig_tensor *down = ig_sub_tensor(c, last, at);
  down = ig_mul_tensor(c, down, step);
  down = ig_sub_tensor(c, end, down);
  return ig_cast(c, ig_where_self(c, low, up, down), dtype);
}

static bool is_symbolic(const ig_value *v) {
  return v->kind == IG_KIND_INT ? v->i.expr != NULL : v->kind == IG_KIND_FLOAT && v->f_expr;
}

// linspace(start, end, steps) in the dtype that it computes in.
static ig_tensor *linspace_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = args[3].kind == IG_KIND_DTYPE ? args[3].dtype : ig_ctx_default_dtype(c);
  ig_dtype works_in = ig_dtype_is_integral(dtype) ? IG_F64 : dtype;
  if (ig_dtype_is_complex(dtype) || ig_dtype_is_complex(linspace_dtype(c, args))) {
    (void)ig_fail(c, IG_UNSUPPORTED, "complex numbers have no decomposition here");
    return NULL;
  }
  if (is_symbolic(&args[0]) || is_symbolic(&args[1]) || is_symbolic(&args[2])) {
    return linspace_symbolic(c, args, works_in, dtype);
  }
  int64_t steps = ig_value_i64(c, &args[2]);
  if (steps < 2) {
    ig_int size = ig_const(steps);
    ig_value number = steps ? args[0] : ig_of_i64(0);
    return ig_full_with(c, ig_of_ints(&size, 1), number, ig_of_dtype(dtype), args[4], args[5],
                        args[6]);
  }
  double step = (ig_value_f64(&args[1]) - ig_value_f64(&args[0])) / (double)(steps - 1);
  ig_tensor *at =
      ig_arange_start_with(c, ig_of_i64(0), args[2], ig_none(), args[4], args[5], args[6]);
  ig_tensor *low = ig_lt_scalar(c, at, ig_of_f64((double)steps / 2));
  ig_tensor *up = ig_cast(c, at, works_in);
  up = ig_mul_f64(c, up, step);
  up = ig_add_value(c, up, &args[0]);
  ig_tensor *down = ig_rsub_scalar(c, at, ig_of_i64(steps - 1));
  down = ig_cast(c, down, works_in);
  down = ig_mul_f64(c, down, step);
  down = ig_rsub_scalar(c, down, args[1]);
  return ig_cast(c, ig_where_self(c, low, up, down), dtype);
}

static void eye_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  size_t n = op->schema.nargs - 4;
  ig_meta_options(c, args, n, ig_ctx_default_dtype(c), out);
  for (size_t i = 0; i < 2; i++) {
    ig_int size = args[n == 2 ? i : 0].i;
    if (ig_int_is(c, size, IG_LT, ig_const(0))) {
      ig_fail_text(c, IG_RUNTIME, "%s must be greater or equal to 0, got %s", i ? "m" : "n",
                   ig_int_text(c, size));
      return;
    }
    ig_meta_push_dim(c, out, size);
  }
}

static void eye_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  ig_tensor *t = outs[0].tensor;
  int64_t rows = ig_sizes(t)[0].value;
  int64_t columns = ig_sizes(t)[1].value;
  size_t size = ig_dtype_size(t->dtype);
  char *data = ig_tensor_data(t);
  ig_value one = ig_of_i64(1);
  if (rows && columns) memset(data, 0, (size_t)(rows * columns) * size);
  for (int64_t i = 0; i < rows && i < columns; i++) {
    ig_element_store(data + (size_t)(i * (columns + 1)) * size, t->dtype, &one);
  }
}

static ig_tensor *eye_of(ig_ctx *c, ig_value n, ig_value m, const ig_value *options) {
  ig_dtype dtype = options[0].kind == IG_KIND_DTYPE ? options[0].dtype : ig_ctx_default_dtype(c);
  ig_value counts = ig_of_dtype(IG_I64);
  ig_tensor *row = ig_arange_with(c, n, counts, options[1], options[2], options[3]);
  ig_tensor *column = ig_arange_with(c, m, counts, options[1], options[2], options[3]);
  row = ig_unsqueeze(c, row, ig_const(-1));
  ig_tensor *here = ig_eq_tensor(c, row, column);
  if (dtype == IG_BOOL) return here;
  ig_int one = ig_const(1);
  ig_tensor *ones =
      ig_ones_with(c, ig_of_ints(&one, 1), ig_of_dtype(dtype), options[1], options[2], options[3]);
  return ig_where_scalarother(c, here, ones, ig_of_i64(0));
}

static ig_tensor *eye_decompose(ig_ctx *c, const ig_value *args) {
  return eye_of(c, args[0], args[0], args + 1);
}

static ig_tensor *eye_m_decompose(ig_ctx *c, const ig_value *args) {
  return eye_of(c, args[0], args[1], args + 2);
}

static void triangle_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  if (self->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "%s: input tensor must have at least 2 dimensions",
                 op->schema.name);
    return;
  }
  for (int d = 0; d < self->ndim; d++) {
    ig_int size = ig_sizes(self)[d];
    if (d >= self->ndim - 2) size.origin = NULL;  // PyTorch takes them from the mask that it makes
    ig_meta_push_dim(c, out, size);
  }
}

typedef struct triangle {
  ig_tensor *out;
  int64_t diagonal;
  bool upper;
  int64_t rows;
  int64_t columns;
} triangle;

// Clears the elements outside the triangle in matrix rows [begin, end) of the whole batch.
static void clear_rows(void *arg, int64_t begin, int64_t end) {
  const triangle *j = arg;
  const ig_tensor *t = j->out;
  int64_t size = (int64_t)ig_dtype_size(t->dtype);
  int64_t step = ig_strides(t)[t->ndim - 1].value * size;
  for (int64_t r = begin; r < end; r++) {
    int64_t rest = r;
    char *at = ig_tensor_data(t);
    for (int d = t->ndim - 2; d >= 0; d--) {
      int64_t n = ig_sizes(t)[d].value;
      at += rest % n * ig_strides(t)[d].value * size;
      rest /= n;
    }
    int64_t cut = r % j->rows + j->diagonal;
    if (!j->upper) cut++;
    cut = cut < 0 ? 0 : cut > j->columns ? j->columns : cut;
    int64_t from = j->upper ? 0 : cut;
    int64_t to = j->upper ? cut : j->columns;
    if (step == size) {
      if (to > from) memset(at + from * size, 0, (size_t)((to - from) * size));
      continue;
    }
    for (int64_t k = from; k < to; k++) memset(at + k * step, 0, (size_t)size);
  }
}

static void triangle_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *t = outs[0].tensor;
  if (t != args[0].tensor) ig_tensor_copy(t, args[0].tensor);
  int64_t rows = ig_sizes(t)[t->ndim - 2].value;
  int64_t columns = ig_sizes(t)[t->ndim - 1].value;
  int64_t diagonal = ig_value_i64(c, &args[1]);  // beyond the corners nothing changes
  if (diagonal > columns) diagonal = columns;
  if (diagonal < -rows - 1) diagonal = -rows - 1;
  triangle j = {t, diagonal, op->def->variant == 1, rows, columns};
  int64_t total = ig_tensor_numel(t);
  if (total == 0) return;
  ig_parallel_for(total / j.columns, GRAIN / j.columns + 1, clear_rows, &j);
}

static ig_tensor *triangle_mask(ig_ctx *c, const ig_tensor *self) {
  ig_value device = ig_of_device(self->device);
  ig_value rows = ig_of_int(ig_sizes(self)[self->ndim - 2]);
  ig_value columns = ig_of_int(ig_sizes(self)[self->ndim - 1]);
  ig_value no_pin = ig_of_bool(false);
  ig_tensor *column = ig_arange_with(c, columns, ig_none(), ig_none(), device, no_pin);
  column = ig_unsqueeze(c, column, ig_const(-2));
  ig_tensor *row = ig_arange_with(c, rows, ig_none(), ig_none(), device, no_pin);
  row = ig_unsqueeze(c, row, ig_const(-1));
  return ig_sub_tensor(c, column, row);
}

static ig_tensor *triangle_where(ig_ctx *c, ig_tensor *self, ig_tensor *inside) {
  if (self->dtype == IG_BOOL) return ig_logical_and(c, inside, self);
  return ig_where_scalarother(c, inside, self, ig_of_i64(0));
}

static ig_tensor *tril_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *offset = triangle_mask(c, args[0].tensor);
  return triangle_where(c, args[0].tensor, ig_le_scalar(c, offset, args[1]));
}

static ig_tensor *triu_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *offset = triangle_mask(c, args[0].tensor);
  return triangle_where(c, args[0].tensor, ig_ge_scalar(c, offset, args[1]));
}

static void tril_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_tril_with(c, v->grad, v->args[1].i);
}

static void triu_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_triu_with(c, v->grad, v->args[1].i);
}

static void shape_as_tensor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  out->dtype = IG_I64;
  out->device = ig_device_cpu();
  ig_meta_push_dim(c, out, ig_const(args[0].tensor->ndim));
}

static void shape_as_tensor_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                   ig_value *outs) {
  (void)c;
  (void)op;
  const ig_tensor *self = args[0].tensor;
  int64_t *to = ig_tensor_data(outs[0].tensor);
  for (int d = 0; d < self->ndim; d++) to[d] = ig_sizes(self)[d].value;
}

IG_OP(arange) = {
    .schema =
        "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = arange_shape,
    .kernel = arange_kernel,
    .takes_no_memory = true,
    .decompose = arange_decompose,
    .samples = "5 | 2.5 | 0 | 5, dtype=f32 | 4, dtype=i32",
    .not_differentiable = true,  // a constant
};

IG_OP(arange_start) = {
    .schema =
        "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = arange_shape,
    .kernel = arange_kernel,
    .takes_no_memory = true,
    .decompose = arange_start_decompose,
    .samples = "1, 5 | 0.5, 4 | 2, 2 | 1, 5, dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(arange_start_step) = {
    .schema =
        "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = arange_shape,
    .kernel = arange_kernel,
    .takes_no_memory = true,
    .samples = "1, 8, 3 | 5, 0, -2 | 0.5, 4, 0.25 | 1, 2 | 0, 5, 2, dtype=f16",
    .not_differentiable = true,  // a constant
};

IG_OP(range_step) = {
    .schema =
        "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = range_shape,
    .kernel = arange_kernel,
    .takes_no_memory = true,
    .samples = "1, 8, 3 | 5, 0, -2 | 0.5, 4, 0.25 | 1, 4 | 0, 5, 2, dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(linspace) = {
    .schema =
        "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = linspace_shape,
    .kernel = linspace_kernel,
    .takes_no_memory = true,
    .decompose = linspace_decompose,
    .samples =
        "0, 1, 5 | -2, 3.5, 8 | 1, 2, 1 | 0, 1, 0 | 0, 10, 5, dtype=i64 | 0, 1, 7, dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(linspace_tensor_tensor) = {
    .schema =
        "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .decompose = linspace_tensor_decompose,
    .samples = "f32[], f32[], 4",
    .not_differentiable = true,  // PyTorch has none
    .waive = "fake: the bounds are elements of tensors",
};

IG_OP(linspace_tensor_scalar) = {
    .schema =
        "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .decompose = linspace_tensor_decompose,
    .samples = "f32[], 2, 4",
    .not_differentiable = true,  // PyTorch has none
    .waive = "fake: the bounds are elements of tensors",
};

IG_OP(linspace_scalar_tensor) = {
    .schema =
        "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .decompose = linspace_tensor_decompose,
    .samples = "2, f32[], 4",
    .not_differentiable = true,  // PyTorch has none
    .waive = "fake: the bounds are elements of tensors",
};

IG_OP(eye) = {
    .schema =
        "aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
    .shape = eye_shape,
    .kernel = eye_kernel,
    .takes_no_memory = true,
    .decompose = eye_decompose,
    .samples = "3 | 0 | 2, dtype=i64 | 2, dtype=bool",
    .not_differentiable = true,  // a constant
};

IG_OP(eye_m) = {
    .schema =
        "aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = eye_shape,
    .kernel = eye_kernel,
    .takes_no_memory = true,
    .decompose = eye_m_decompose,
    .samples = "3, 2 | 2, 4 | 0, 3 | 2, 3, dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(tril) = {
    .schema = "aten::tril(Tensor self, int diagonal=0) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .takes_no_memory = true,
    .decompose = tril_decompose,
    .vjp = tril_vjp,
    .keep = "",
    .alias_out = true,
    .variant = 0,
    .samples =
        "f32[3,4] | f32[4,3], 1 | f32[2,3,3], -1 | f32[4,3].T, 2 | f32[0,3] | f32[2,2], -5 | "
        "f32[2,2], 5",
};

IG_OP(triu) = {
    .schema = "aten::triu(Tensor self, int diagonal=0) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .takes_no_memory = true,
    .decompose = triu_decompose,
    .vjp = triu_vjp,
    .keep = "",
    .alias_out = true,
    .variant = 1,
    .samples =
        "f32[3,4] | f32[4,3], 1 | f32[2,3,3], -1 | f32[4,3].T, 2 | f32[0,3] | f32[2,2], -5 | "
        "f32[2,2], 5",
};

IG_OP(_shape_as_tensor) = {
    .schema = "aten::_shape_as_tensor(Tensor self) -> Tensor",
    .shape = shape_as_tensor_shape,
    .kernel = shape_as_tensor_kernel,
    .takes_no_memory = true,
    .samples = "f32[3,4] | f32[]",
    .not_differentiable = true,  // sizes are not differentiable
};
