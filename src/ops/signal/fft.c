// SPDX-License-Identifier: Apache-2.0
// Fourier transforms. Three operators compute (complex to complex, real to complex, complex to
// real); those of torch.fft convert their arguments to these.
#include "kernels/fft.h"

#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

enum { NO_NORM, BY_ROOT_N, BY_N };

// ---- the three that compute: self, dim, normalization, forward | onesided | last_dim_size ----

enum { C2C, R2C, C2R };

static bool check_dims(ig_ctx *c, const ig_op *op, const ig_value *args, int *dims) {
  const ig_tensor *x = args[0].tensor;
  bool complex = ig_dtype_is_complex(x->dtype);
  size_t n = args[1].ints.n;
  bool seen[IG_MAX_DIM] = {false};
  if (op->def->variant == R2C ? complex || !ig_dtype_is_float(x->dtype) : !complex) {
    ig_fail_text(c, IG_RUNTIME, "Only supports %s dtypes, but found: %s",
                 op->def->variant == R2C ? "floating-point" : "complex", ig_dtype_title(x->dtype));
    return false;
  }
  if (x->dtype != IG_F32 && x->dtype != IG_F64 && !complex) {
    ig_fail_text(c, IG_RUNTIME, "Unsupported dtype %s", ig_dtype_title(x->dtype));
    return false;
  }
  if (n == 0 && op->def->variant != C2C) {
    ig_fail_text(c, IG_RUNTIME, "a transform of real numbers needs at least one dimension");
    return false;
  }
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    dims[i] = ig_wrap_dim(c, ig_int_specialize(c, args[1].ints.at[i]), x->ndim);
    if (seen[dims[i]]) ig_fail_text(c, IG_RUNTIME, "FFT dims must be unique");
    seen[dims[i]] = true;
    if (x->ndim && c->status == IG_OK && ig_int_eq_i64(c, ig_sizes(x)[dims[i]], 0)) {
      ig_fail_text(c, IG_RUNTIME, "Invalid number of data points (0) specified");
    }
  }
  return c->status == IG_OK;
}

// Transformed dimensions are innermost.
static void innermost(ig_ctx *c, const int *dims, size_t n, ig_meta *out) {
  ig_int step = ig_const(1);
  for (int inside = 1; inside >= 0; inside--) {
    for (int d = out->ndim - 1; d >= 0; d--) {
      bool in = false;
      for (size_t i = 0; i < n; i++) in = in || dims[i] == d;
      if (in != inside) continue;
      out->stride[d] = step;
      step = ig_int_mul(c, step, ig_int_max(c, out->size[d], ig_const(1)));
    }
  }
  out->strided = true;
}

static void fft_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int dims[IG_MAX_DIM];
  if (args[1].ints.n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "FFT dims must be unique");
    return;
  }
  if (!check_dims(c, op, args, dims)) return;
  const ig_tensor *x = args[0].tensor;
  size_t n = args[1].ints.n;
  ig_dtype real = ig_to_real(x->dtype);
  int last = n ? dims[n - 1] : -1;
  for (int d = 0; d < x->ndim; d++) {
    ig_int size = ig_sizes(x)[d];
    if (d == last && op->def->variant == C2R) {
      size = args[3].i;
      ig_int half = ig_int_add(c, ig_int_floordiv(c, size, ig_const(2)), ig_const(1));
      if (ig_int_is(c, size, IG_LT, ig_const(1))) {
        ig_fail_text(c, IG_RUNTIME, "Invalid number of data points (%s) specified",
                     ig_int_text(c, size));
      } else if (ig_int_is(c, ig_sizes(x)[d], IG_LT, half)) {
        ig_fail_text(c, IG_RUNTIME,
                     "_fft_c2r: dimension %d has %s elements, expected %s / 2 + 1 at least", d,
                     ig_int_text(c, ig_sizes(x)[d]), ig_int_text(c, size));
      }
    } else if (d == last && op->def->variant == R2C && args[3].b) {
      size = ig_int_add(c, ig_int_floordiv(c, size, ig_const(2)), ig_const(1));
    }
    ig_meta_push_dim(c, out, size);
  }
  bool wide = real == IG_F64;
  out->dtype = op->def->variant == C2R ? real : wide ? IG_C128 : IG_C64;
  bool all = op->def->variant == C2C;
  innermost(c, all || n == 0 ? dims : &dims[n - 1], all || n == 0 ? n : 1, out);
}

typedef struct block {
  void *at;  // complex, row-major
  bool wide;
  int ndim;
  int64_t size[IG_MAX_DIM];
} block;

static void extent(const block *b, int dim, int64_t *outer, int64_t *inner) {
  *outer = 1;
  *inner = 1;
  for (int d = 0; d < b->ndim; d++) {
    if (d < dim) *outer *= b->size[d];
    if (d > dim) *inner *= b->size[d];
  }
}
static void transform(ig_ctx *c, block *b, int dim, bool forward, double scale) {
  int64_t outer;
  int64_t inner;
  extent(b, dim, &outer, &inner);
  int64_t n = b->ndim ? b->size[dim] : 1;
  if (outer * n * inner == 0 || !b->at) return;
  bool done = b->wide ? ig_fft_c128(b->at, outer, n, inner, forward, scale)
                      : ig_fft_c64(b->at, outer, n, inner, forward, scale);
  if (!done) (void)ig_fail(c, IG_NOMEM, "the transform of %lld elements", (long long)n);
}
// to = conj(from), or to = its real part when there is no from.
static void conjugate(const block *b, void *to, const void *from, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (b->wide) {
      ig_c128 *z = (ig_c128 *)to + i;
      *z = from ? ((const ig_c128 *)from)[i] : *z;
      z->im = from ? -z->im : 0;
    } else {
      ig_c64 *z = (ig_c64 *)to + i;
      *z = from ? ((const ig_c64 *)from)[i] : *z;
      z->im = from ? -z->im : 0;
    }
  }
}
// Another length of one dimension: truncated, or extended by the symmetry of the transform of real
// numbers: X[n - k] is the conjugate of X[k].
static void relength(ig_ctx *c, block *b, int dim, int64_t n, bool mirror) {
  int64_t outer;
  int64_t inner;
  extent(b, dim, &outer, &inner);
  size_t row = (size_t)inner * (b->wide ? 16 : 8);
  size_t before = (size_t)b->size[dim] * row;
  size_t after = (size_t)n * row;
  int64_t plain = mirror ? n / 2 + 1 : n;
  char *to = ig_dense_room(c, (size_t)(outer * n * inner), b->wide ? IG_C128 : IG_C64);
  if (n == 0 || inner == 0) outer = 0;  // however many lines without an element there are
  for (int64_t o = 0; to && b->at && o < outer; o++) {
    char *at = to + (size_t)o * after;
    memcpy(at, (char *)b->at + (size_t)o * before, (size_t)plain * row);
    if (!mirror) continue;
    conjugate(b, at, NULL, inner);
    if (n % 2 == 0) conjugate(b, at + (size_t)(n / 2) * row, NULL, inner);
    for (int64_t k = plain; k < n; k++) {
      conjugate(b, at + (size_t)k * row, at + (size_t)(n - k) * row, inner);
    }
  }
  b->at = to;
  b->size[dim] = n;
}

// Real results: drops the imaginary parts in place.
static void drop_imaginary(const block *b, int64_t n) {
  for (int64_t i = 0; i < n && b->wide; i++) ((double *)b->at)[i] = ((double *)b->at)[2 * i];
  for (int64_t i = 0; i < n && !b->wide; i++) ((float *)b->at)[i] = ((float *)b->at)[2 * i];
}
// By what results are multiplied; `length`: of the last dimension, if it is another one than b's.
static double scale_of(const block *b, const int *dims, size_t n, int64_t length, int64_t norm) {
  double count = 1;
  for (size_t i = 0; b->ndim && i < n; i++) count *= (double)b->size[dims[i]];
  if (length && b->ndim) count = count / (double)b->size[n ? dims[n - 1] : 0] * (double)length;
  return norm == BY_N ? 1 / count : norm == BY_ROOT_N ? 1 / sqrt(count) : 1;
}

// Rows of even length along the last dimension, real on one side: half the work. b holds the
// complex side, and has n / 2 + 1 there; real has the other.
static bool is_halved(const ig_op *op, const ig_value *args, const ig_tensor *x, int dim,
                      int64_t n) {
  bool kind = op->def->variant == C2R || (op->def->variant == R2C && args[3].b);
  return kind && x->ndim && dim == x->ndim - 1 && n > 0 && n % 2 == 0;
}
static void transform_real(ig_ctx *c, const block *b, void *real, int64_t n, bool forward,
                           double scale) {
  int64_t lines = 1;
  for (int d = 0; d < b->ndim - 1; d++) lines *= b->size[d];
  if (!b->at || !real || lines == 0) return;
  bool done = b->wide ? ig_fft_f64(real, b->at, lines, n, forward, scale)
                      : ig_fft_f32(real, b->at, lines, n, forward, scale);
  if (!done) (void)ig_fail(c, IG_NOMEM, "the transform of %lld elements", (long long)n);
}

typedef struct run {
  const ig_tensor *x;
  ig_tensor *out;
  const int *dims;
  size_t n;
  int64_t length;  // of the real lines
  double scale;
} run;

static bool lies_as(const ig_tensor *t, ig_dtype dtype) {
  return t->dtype == dtype && ig_tensor_is_dense(t);
}
// Real operands first: the dimension that is halved ends the list.
static void run_to_complex(ig_ctx *c, block *b, const run *r) {
  ig_dtype part = b->wide ? IG_F64 : IG_F32;
  ig_dtype whole = b->wide ? IG_C128 : IG_C64;
  void *real = lies_as(r->x, part) ? ig_tensor_data(r->x) : ig_dense_read(c, r->x, part);
  bool direct = lies_as(r->out, whole);
  b->size[b->ndim - 1] = r->length / 2 + 1;
  b->at =
      direct ? ig_tensor_data(r->out) : ig_dense_room(c, (size_t)ig_tensor_numel(r->out), whole);
  transform_real(c, b, real, r->length, true, r->n == 1 ? r->scale : 1);
  for (size_t i = r->n - 1; i-- > 0 && c->status == IG_OK;)
    transform(c, b, r->dims[i], true, i == 0 ? r->scale : 1);
  if (!direct) ig_dense_write(c, r->out, whole, b->at);
}
// Real results last.
static void run_to_real(ig_ctx *c, block *b, const run *r) {
  ig_dtype part = b->wide ? IG_F64 : IG_F32;
  ig_dtype whole = b->wide ? IG_C128 : IG_C64;
  int last = b->ndim - 1;
  bool here = r->n == 1 && lies_as(r->x, whole);  // it is only read
  b->at = here ? ig_tensor_data(r->x) : ig_dense_read(c, r->x, whole);
  for (size_t i = 0; i + 1 < r->n && c->status == IG_OK; i++) transform(c, b, r->dims[i], false, 1);
  if (b->size[last] != r->length / 2 + 1) relength(c, b, last, r->length / 2 + 1, false);
  bool direct = lies_as(r->out, part);
  void *real =
      direct ? ig_tensor_data(r->out) : ig_dense_room(c, (size_t)ig_tensor_numel(r->out), part);
  transform_real(c, b, real, r->length, false, r->scale);
  if (!direct) ig_dense_write(c, r->out, part, real);
}

// All as complex numbers. Real results come last, real operands first: the dimension that is halved
// ends the list. `length`: of real results in that dimension, otherwise 0.
static void run_complex(ig_ctx *c, block *b, const run *r, const ig_op *op, bool flag) {
  ig_dtype whole = b->wide ? IG_C128 : IG_C64;
  bool to_real = op->def->variant == C2R;
  bool from_real = op->def->variant == R2C;
  bool forward = from_real || (!to_real && flag);
  // where nothing is cut, the result is the memory to work in
  bool direct = !to_real && !(from_real && flag) && ig_tensor_is_contiguous(c, r->out);
  if (direct) ig_tensor_copy(r->out, r->x);
  b->at = direct ? ig_tensor_data(r->out) : ig_dense_read(c, r->x, whole);
  for (size_t i = 0; i < r->n && c->status == IG_OK; i++) {
    bool last = i == r->n - 1;
    int dim = from_real ? r->dims[r->n - 1 - i] : r->dims[i];
    if (r->length && last && b->ndim) relength(c, b, dim, r->length, true);
    transform(c, b, dim, forward, last ? r->scale : 1);
    bool halve = from_real && i == 0 && flag && b->ndim;
    if (halve) relength(c, b, dim, b->size[dim] / 2 + 1, false);
  }
  if (direct || c->status != IG_OK) return;
  if (to_real) drop_imaginary(b, ig_tensor_numel(r->out));
  ig_dense_write(c, r->out, to_real ? (b->wide ? IG_F64 : IG_F32) : whole, b->at);
}

static void fft_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[0].tensor;
  ig_scope scope = ig_scope_open(c);
  int dims[IG_MAX_DIM] = {0};
  size_t n = args[1].ints.n;
  block b = {.wide = ig_to_real(x->dtype) == IG_F64, .ndim = x->ndim};
  for (int d = 0; d < x->ndim; d++) b.size[d] = ig_sizes(x)[d].value;
  for (size_t i = 0; i < n; i++) {
    dims[i] = ig_wrap_dim(c, ig_int_specialize(c, args[1].ints.at[i]), x->ndim);
  }
  int64_t length = op->def->variant == C2R ? ig_value_i64(c, &args[3]) : 0;
  double scale = scale_of(&b, dims, n, length, ig_value_i64(c, &args[2]));
  int last = n ? dims[n - 1] : 0;
  int64_t line = length || !x->ndim ? length : b.size[last];
  run r = {x, outs[0].tensor, dims, n, line, scale};
  if (n && is_halved(op, args, x, last, line)) {
    (op->def->variant == C2R ? run_to_real : run_to_complex)(c, &b, &r);
  } else {
    r.length = length;
    run_complex(c, &b, &r, op, args[3].kind == IG_KIND_BOOL && args[3].b);
  }
  ig_scope_close(c, scope);
}

static void c2c_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig__fft_c2c(c, v->grad, v->args[1], v->args[2].i, !v->args[3].b);
}

static ig_int back_of(const ig_value *dims) {
  return dims->ints.n ? dims->ints.at[dims->ints.n - 1] : ig_const(-1);
}
// x with `size` elements in one dimension: truncated or padded with zeros.
static ig_tensor *resized(ig_ctx *c, ig_tensor *x, ig_int dim, ig_int size) {
  if (!x || x->ndim == 0) return x;
  int d = ig_wrap_dim(c, ig_int_specialize(c, dim), x->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int now = ig_sizes(x)[d];
  if (ig_int_eq(c, now, size)) return x;
  if (ig_int_is(c, size, IG_LT, now)) {
    return ig_slice_tensor_with(c, x, ig_const(d), ig_of_i64(0), ig_of_int(size), ig_const(1));
  }
  ig_int pad[2 * IG_MAX_DIM];
  for (int i = 0; i < 2 * x->ndim; i++) pad[i] = ig_const(0);
  pad[2 * (x->ndim - 1 - d) + 1] = ig_int_sub(c, size, now);
  return ig_constant_pad_nd(c, x, ig_of_ints(pad, 2 * (size_t)x->ndim));
}

static void r2c_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  const ig_tensor *x = v->args[0].tensor;
  ig_tensor *g = v->grad;
  if (v->args[3].b && x->ndim) {
    int d = ig_wrap_dim(c, ig_int_specialize(c, back_of(&v->args[1])), x->ndim);
    g = resized(c, g, ig_const(d), ig_sizes(x)[d]);
  }
  g = ig__fft_c2c(c, g, v->args[1], v->args[2].i, false);
  IG_GRAD(v, 0) = ig_real(c, g);
}

static ig_tensor *piece(ig_ctx *c, ig_tensor *x, ig_int dim, ig_int start, ig_int end) {
  return ig_slice_tensor_with(c, x, dim, ig_of_int(start), ig_of_int(end), ig_const(1));
}
// Elements that represent two of the full transform count twice.
static void c2r_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  const ig_tensor *x = v->args[0].tensor;
  ig_int dim = back_of(&v->args[1]);
  ig_tensor *g = ig__fft_r2c(c, v->grad, v->args[1], v->args[2].i, true);
  if (!g) return;
  if (x->ndim) {
    int d = ig_wrap_dim(c, ig_int_specialize(c, dim), x->ndim);
    ig_int half = ig_sizes(g)[d];
    ig_int twice = ig_int_sub(c, ig_sizes(v->grad)[d], half);
    if (ig_int_is(c, ig_const(0), IG_LT, twice)) {
      ig_int end = ig_int_add(c, twice, ig_const(1));
      ig_value parts[3];
      parts[0] = ig_of_tensor(piece(c, g, dim, ig_const(0), ig_const(1)));
      ig_tensor *middle = piece(c, g, dim, ig_const(1), end);
      parts[1] = ig_of_tensor(ig_mul_f64(c, middle, 2));
      parts[2] = ig_of_tensor(piece(c, g, dim, end, half));
      g = c->status == IG_OK ? ig_cat_with(c, ig_of_list(parts, 3), dim) : NULL;
    }
    g = resized(c, g, dim, ig_sizes(x)[d]);
  }
  IG_GRAD(v, 0) = g;
}

// ---- torch.fft ----

static ig_tensor *promoted(ig_ctx *c, ig_tensor *x, bool complex) {
  if (!x) return NULL;
  ig_dtype d = ig_to_float(c, x->dtype);
  if (d != IG_F32 && d != IG_F64 && !ig_dtype_is_complex(d)) {
    ig_fail_text(c, IG_RUNTIME, "Unsupported dtype %s", ig_dtype_title(d));
    return NULL;
  }
  if (complex && !ig_dtype_is_complex(d)) d = d == IG_F64 ? IG_C128 : IG_C64;
  return ig_cast(c, x, d);
}
static ig_int norm_of(ig_ctx *c, const ig_value *norm, bool forward) {
  const char *text = norm->kind == IG_KIND_STR ? norm->str : "backward";
  if (strcmp(text, "backward") == 0) return ig_const(forward ? NO_NORM : BY_N);
  if (strcmp(text, "forward") == 0) return ig_const(forward ? BY_N : NO_NORM);
  if (strcmp(text, "ortho") == 0) return ig_const(BY_ROOT_N);
  ig_fail_text(c, IG_RUNTIME, "Invalid normalization mode: \"%s\"", text);
  return ig_const(NO_NORM);
}
static int exact_dim(ig_ctx *c, const ig_tensor *x, ig_int dim) {
  int64_t d = ig_int_specialize(c, dim);
  if (x->ndim) return ig_wrap_dim(c, d, x->ndim);
  ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as %lld but tensor has no dimensions",
               (long long)d);
  return 0;
}
static bool check_length(ig_ctx *c, ig_int n) {
  if (!ig_int_is(c, n, IG_LT, ig_const(1))) return c->status == IG_OK;
  ig_fail_text(c, IG_RUNTIME, "Invalid number of data points (%s) specified", ig_int_text(c, n));
  return false;
}
static bool check_real(ig_ctx *c, const ig_tensor *x, const char *name, const char *what) {
  if (!ig_dtype_is_complex(x->dtype)) return true;
  ig_fail_text(c, IG_RUNTIME, "%s expects a %s input tensor, but got %s", name, what,
               ig_dtype_title(x->dtype));
  return false;
}

// The dimensions of a call and their lengths. `half`: the last one is given as the length of the
// real result, and half of it is read.
typedef struct grid {
  size_t n;
  ig_int dim[IG_MAX_DIM];
  ig_int length[IG_MAX_DIM];
  ig_int last;  // half: the length of the result
} grid;

// Sets g->n. Invalid dimensions are reported before an invalid number of them.
static bool grid_count(ig_ctx *c, const ig_tensor *x, const ig_value *s, const ig_value *dim,
                       grid *g) {
  bool sized = s->kind == IG_KIND_INTS;
  bool placed = dim->kind == IG_KIND_INTS;
  g->n = placed ? dim->ints.n : sized ? s->ints.n : (size_t)x->ndim;
  if (placed && sized && s->ints.n != g->n) {
    ig_fail_text(c, IG_RUNTIME, "When given, dim and shape arguments must have the same length");
  } else if (sized && g->n > (size_t)x->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "Got shape with %zu values but input tensor only has %d dimensions.", g->n,
                 x->ndim);
  } else if (g->n > (size_t)x->ndim) {
    for (size_t i = 0; i < g->n && c->status == IG_OK; i++) (void)exact_dim(c, x, dim->ints.at[i]);
    if (c->status == IG_OK) ig_fail_text(c, IG_RUNTIME, "FFT dims must be unique");
  }
  return c->status == IG_OK;
}

static bool grid_make(ig_ctx *c, const ig_tensor *x, const ig_value *s, const ig_value *dim,
                      bool half, grid *g) {
  bool sized = s->kind == IG_KIND_INTS;
  bool placed = dim->kind == IG_KIND_INTS;
  bool seen[IG_MAX_DIM] = {false};
  if (!grid_count(c, x, s, dim, g)) return false;
  for (size_t i = 0; i < g->n && c->status == IG_OK; i++) {
    int d = placed ? exact_dim(c, x, dim->ints.at[i]) : x->ndim - (int)g->n + (int)i;
    if (c->status != IG_OK) return false;
    if (seen[d]) ig_fail_text(c, IG_RUNTIME, "FFT dims must be unique");
    seen[d] = true;
    bool given = sized && !ig_int_eq_i64(c, s->ints.at[i], -1);
    ig_int now = ig_sizes(x)[d];
    ig_int length = given ? s->ints.at[i] : now;
    if (half && i == g->n - 1) {
      if (!given) length = ig_int_mul(c, ig_const(2), ig_int_sub(c, now, ig_const(1)));
      g->last = length;
      if (!check_length(c, length)) return false;
      length = given ? ig_int_add(c, ig_int_floordiv(c, length, ig_const(2)), ig_const(1)) : now;
    }
    g->dim[i] = ig_const(d);
    g->length[i] = length;
    if (!check_length(c, length)) return false;
  }
  return c->status == IG_OK;
}
static ig_tensor *grid_of(ig_ctx *c, ig_tensor *x, const grid *g) {
  for (size_t i = 0; i < g->n; i++) x = resized(c, x, g->dim[i], g->length[i]);
  return x;
}

// What a transform of torch.fft does.
enum {
  FORWARD = 1,
  TO_REAL = 2,    // irfft, hfft
  FROM_REAL = 4,  // rfft, ihfft: half of the result
  TURNED = 8,     // hfft, ihfft: the last dimension is transformed in the other direction
};

static ig_tensor *grid_run(ig_ctx *c, ig_tensor *x, const ig_value *s, const ig_value *dim,
                           const ig_value *norm, const char *name, int how) {
  grid g = {0};
  bool forward = how & FORWARD;
  if (how & FROM_REAL && !check_real(c, x, name, "real-valued")) return NULL;
  x = promoted(c, x, !(how & FROM_REAL));
  if (!x || !grid_make(c, x, s, dim, how & TO_REAL, &g)) return NULL;
  ig_int scale = norm_of(c, norm, forward);
  if (how & (TO_REAL | FROM_REAL) && g.n == 0) {
    ig_fail_text(c, IG_RUNTIME, "%s must transform at least one axis", name);
    return NULL;
  }
  x = grid_of(c, x, &g);
  if (!(how & TURNED)) {
    ig_value dims = ig_of_ints(g.dim, g.n);
    if (how & TO_REAL) return ig__fft_c2r(c, x, dims, scale, g.last);
    if (how & FROM_REAL) return ig__fft_r2c(c, x, dims, scale, true);
    return ig__fft_c2c(c, x, dims, scale, forward);
  }
  ig_value others = ig_of_ints(g.dim, g.n - 1);
  ig_value last = ig_of_ints(&g.dim[g.n - 1], 1);
  if (how & TO_REAL) {
    if (g.n > 1) x = ig__fft_c2c(c, x, others, scale, true);
    return ig__fft_c2r(c, ig_conj(c, x), last, scale, g.last);
  }
  x = ig_conj(c, ig__fft_r2c(c, x, last, scale, true));
  return g.n > 1 ? ig__fft_c2c(c, x, others, scale, false) : x;
}

// self, n, dim, norm
static ig_tensor *line_run(ig_ctx *c, const ig_value *a, const char *name, int how) {
  ig_tensor *x = a[0].tensor;
  bool forward = how & FORWARD;
  bool half = how & FROM_REAL;
  bool complex = ig_dtype_is_complex(x->dtype);
  if (half && !check_real(c, x, name, "real")) return NULL;
  bool real = !complex && !(how & TO_REAL);
  x = promoted(c, x, !real);
  if (!x) return NULL;
  int d = exact_dim(c, x, a[2].i);
  if (c->status != IG_OK) return NULL;
  ig_int dim = ig_const(d);
  ig_value dims = ig_of_ints(&dim, 1);
  bool given = a[1].kind == IG_KIND_INT;
  ig_int now = ig_sizes(x)[d];
  if (how & TO_REAL) {
    ig_int n = given ? a[1].i : ig_int_mul(c, ig_const(2), ig_int_sub(c, now, ig_const(1)));
    if (!check_length(c, n)) return NULL;
    if (given)
      x = resized(c, x, dim, ig_int_add(c, ig_int_floordiv(c, n, ig_const(2)), ig_const(1)));
    ig_int scale = norm_of(c, &a[3], forward);
    if (forward) x = ig_conj(c, x);
    return ig__fft_c2r(c, x, dims, scale, n);
  }
  if (!check_length(c, given ? a[1].i : now)) return NULL;
  if (given) x = resized(c, x, dim, a[1].i);
  ig_int scale = norm_of(c, &a[3], forward);
  if (!real) return ig__fft_c2c(c, x, dims, scale, forward);
  x = ig__fft_r2c(c, x, dims, scale, half);
  return forward ? x : ig_conj(c, x);
}

#define LINE(name, how)                                         \
  static ig_tensor *name##_line(ig_ctx *c, const ig_value *a) { \
    return line_run(c, a, #name, how);                          \
  }
#define GRID(name, how)                                               \
  static ig_tensor *name##_grid(ig_ctx *c, const ig_value *a) {       \
    return grid_run(c, a[0].tensor, &a[1], &a[2], &a[3], #name, how); \
  }
LINE(fft, FORWARD)
LINE(ifft, 0)
LINE(rfft, FORWARD | FROM_REAL)
LINE(irfft, TO_REAL)
LINE(hfft, FORWARD | TO_REAL)
LINE(ihfft, FROM_REAL)
GRID(fftn, FORWARD)
GRID(ifftn, 0)
GRID(rfftn, FORWARD | FROM_REAL)
GRID(irfftn, TO_REAL)
GRID(hfftn, FORWARD | TO_REAL | TURNED)
GRID(ihfftn, FROM_REAL | TURNED)

// ---- frequencies and shifts ----

static ig_tensor *shift(ig_ctx *c, const ig_value *a, int64_t more) {
  ig_tensor *x = a[0].tensor;
  bool placed = a[1].kind == IG_KIND_INTS;
  size_t n = placed ? a[1].ints.n : (size_t)x->ndim;
  ig_int by[IG_MAX_DIM];
  ig_int dims[IG_MAX_DIM];
  if (n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "fftshift: found %zu dimensions, expected %d at most", n,
                 IG_MAX_DIM);
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    int d = placed ? ig_wrap_dim(c, ig_int_specialize(c, a[1].ints.at[i]), x->ndim) : (int)i;
    ig_int size = c->status == IG_OK && x->ndim ? ig_sizes(x)[d] : ig_const(1);
    by[i] = ig_int_floordiv(c, ig_int_add(c, size, ig_const(more)), ig_const(2));
    dims[i] = ig_const(d);
  }
  return ig_roll_with(c, x, ig_of_ints(by, n), ig_of_ints(dims, n));
}
static ig_tensor *fftshift(ig_ctx *c, const ig_value *a) {
  return shift(c, a, 0);
}
static ig_tensor *ifftshift(ig_ctx *c, const ig_value *a) {
  return shift(c, a, 1);
}

// n, d, dtype, layout, device, pin_memory
static ig_tensor *frequencies(ig_ctx *c, const ig_value *a, bool half) {
  int64_t n = ig_value_i64(c, &a[0]);
  ig_dtype dtype = a[2].kind == IG_KIND_DTYPE ? a[2].dtype : ig_to_float(c, IG_I64);
  if (!ig_dtype_is_float(dtype) && !ig_dtype_is_complex(dtype)) {
    ig_fail_text(c, IG_RUNTIME, "%s requires a floating point or complex dtype, but got %s",
                 half ? "rfftfreq" : "fftfreq", ig_dtype_title(dtype));
    return NULL;
  }
  double share = 1 / ((double)n * ig_value_f64(&a[1]));
  ig_value as = ig_of_dtype(dtype);
  if (half) {
    ig_tensor *x = ig_arange_with(c, ig_of_i64(n / 2 + 1), as, a[3], a[4], a[5]);
    return ig_mul_f64(c, x, share);
  }
  ig_value parts[2];
  parts[0] = ig_of_tensor(ig_arange_with(c, ig_of_i64(n - n / 2), as, a[3], a[4], a[5]));
  parts[1] = ig_of_tensor(ig_arange_start_step_with(c, ig_of_i64(-(n / 2)), ig_of_i64(0),
                                                    ig_of_i64(1), as, a[3], a[4], a[5]));
  ig_tensor *x = c->status == IG_OK ? ig_cat(c, ig_of_list(parts, 2)) : NULL;
  return ig_mul_f64(c, x, share);
}
static ig_tensor *fftfreq(ig_ctx *c, const ig_value *a) {
  return frequencies(c, a, false);
}
static ig_tensor *rfftfreq(ig_ctx *c, const ig_value *a) {
  return frequencies(c, a, true);
}

IG_OP(_fft_c2c) = {
    .schema =
        "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    .shape = fft_shape,
    .kernel = fft_kernel,
    .variant = C2C,
    .vjp = c2c_vjp,
    .keep = "",
    .samples =
        "c64[2,6], [1], 0, True | c128[3,8], [0,1], 2, False | c64[131], [0], 1, True | c64[2,3], "
        "[], 0, True | c64[2,3,5], [0,2], 1, True | c128[3,30].T, [0], 0, True | c64[2,67], [1], "
        "2, False",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(_fft_r2c) = {
    .schema = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    .shape = fft_shape,
    .kernel = fft_kernel,
    .variant = R2C,
    .vjp = r2c_vjp,
    .keep = "",
    .samples =
        "f32[2,6], [1], 0, True | f32[3,5], [0,1], 2, False | f64[4,7], [1,0], 1, True | f32[128], "
        "[0], 0, True | f32[2,1], [1], 0, True",
    .waive = "special: an infinity makes NaN of whole lines; size 2=0: PyTorch refuses it",
};
IG_OP(_fft_c2r) = {
    .schema =
        "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    .shape = fft_shape,
    .kernel = fft_kernel,
    .variant = C2R,
    .vjp = c2r_vjp,
    .keep = "",
    .samples =
        "c64[2,4], [1], 2, 6 | c128[3,4], [0,1], 1, 7 | c64[3,2], [0], 0, 4 | c64[1], [0], 0, 1",
    .waive = "size 2=0: PyTorch refuses it",
};

#define LINE_SAMPLES "f32[3,6] | f32[4,5], 4, 0, 'ortho' | c64[2,5], 8, -1, 'forward'"
#define REAL_SAMPLES "f32[3,6] | f32[4,5], 4, 0, 'ortho' | f64[2,5], 8, -1, 'forward'"
#define HALF_SAMPLES "c64[3,4] | c128[4,5], 6, 0, 'ortho' | f32[2,5], 9, -1, 'forward'"
#define GRID_SAMPLES "f32[3,4] | c64[2,3,4], [4,2], [0,2], 'ortho' | f32[3,4], [2,-1]"
#define REAL_GRID "f32[3,4] | f64[2,3,4], [4,3], [0,2], 'ortho' | f32[3,4], [2,-1]"
#define HALF_GRID "c64[3,4] | c128[2,3,4], [4,5], [0,2], 'ortho' | f32[3,4], [2,-1]"
#define PLANE_SAMPLES "f32[3,4] | c64[2,3,4], [4,2], [0,2], 'ortho'"
#define REAL_PLANE "f32[3,4] | f64[2,3,4], [4,3], [0,2], 'ortho'"
#define HALF_PLANE "c64[3,4] | c128[2,3,4], [4,5], [0,2], 'ortho'"
IG_OP(fft_fft) = {
    .schema = "aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = fft_line,
    .samples = LINE_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_ifft) = {
    .schema = "aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ifft_line,
    .samples = LINE_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_rfft) = {
    .schema = "aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rfft_line,
    .samples = REAL_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_irfft) = {
    .schema = "aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = irfft_line,
    .samples = HALF_SAMPLES,
    .waive = "refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_hfft) = {
    .schema = "aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = hfft_line,
    .samples = HALF_SAMPLES,
    .waive = "refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_ihfft) = {
    .schema = "aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ihfft_line,
    .samples = REAL_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_fftn) = {
    .schema =
        "aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = fftn_grid,
    .samples = GRID_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_ifftn) = {
    .schema =
        "aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ifftn_grid,
    .samples = GRID_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_rfftn) = {
    .schema =
        "aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rfftn_grid,
    .samples = REAL_GRID,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_irfftn) = {
    .schema =
        "aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = irfftn_grid,
    .samples = HALF_GRID,
    .waive =
        "strides: half of them are those of the computing operator; refusal: PyTorch's depends on "
        "the library it uses",
};
IG_OP(fft_hfftn) = {
    .schema =
        "aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .decompose = hfftn_grid,
    .samples = HALF_GRID,
    .waive =
        "strides: half of them are those of the computing operator; refusal: PyTorch's depends on "
        "the library it uses",
};
IG_OP(fft_ihfftn) = {
    .schema =
        "aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> "
        "Tensor",
    .decompose = ihfftn_grid,
    .samples = REAL_GRID,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_fft2) = {
    .schema =
        "aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = fftn_grid,
    .samples = PLANE_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_ifft2) = {
    .schema =
        "aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ifftn_grid,
    .samples = PLANE_SAMPLES,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_rfft2) = {
    .schema =
        "aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rfftn_grid,
    .samples = REAL_PLANE,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_irfft2) = {
    .schema =
        "aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = irfftn_grid,
    .samples = HALF_PLANE,
    .waive =
        "strides: half of them are those of the computing operator; refusal: PyTorch's depends on "
        "the library it uses",
};
IG_OP(fft_hfft2) = {
    .schema =
        "aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .decompose = hfftn_grid,
    .samples = HALF_PLANE,
    .waive =
        "strides: half of them are those of the computing operator; refusal: PyTorch's depends on "
        "the library it uses",
};
IG_OP(fft_ihfft2) = {
    .schema =
        "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
        "Tensor",
    .decompose = ihfftn_grid,
    .samples = REAL_PLANE,
    .waive =
        "special: an infinity makes NaN of whole lines; strides: half of them are those of the "
        "computing operator; refusal: PyTorch's depends on the library it uses",
};
IG_OP(fft_fftshift) = {
    .schema = "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
    .decompose = fftshift,
    .samples = "f32[5] | f32[3,4], [1] | i64[3,4]",
};
IG_OP(fft_ifftshift) = {
    .schema = "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
    .decompose = ifftshift,
    .samples = "f32[5] | f32[3,4], [1] | i64[3,4]",
};
IG_OP(fft_fftfreq) = {
    .schema =
        "aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .decompose = fftfreq,
    .samples = "5 | 6, 0.5 | 4, 2., dtype=f64",
};
IG_OP(fft_rfftfreq) = {
    .schema =
        "aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .decompose = rfftfreq,
    .samples = "5 | 6, 0.5 | 4, 2., dtype=f64",
};
