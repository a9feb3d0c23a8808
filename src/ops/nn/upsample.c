// SPDX-License-Identifier: Apache-2.0
// Interpolation in one to three dimensions, composed of indexing and arithmetic. The .vec overloads
// take sizes or factors, the others sizes and optional factors.
#include "ops/nn/upsample.h"

#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"

enum { MAX_SPACE = 3 };
typedef enum method { NEAREST, EXACT, LINEAR, CUBIC, SMOOTH, SMOOTH_CUBIC } method;

typedef struct target {
  int n;  // spatial dimensions
  method how;
  bool corners;
  ig_int size[MAX_SPACE];
  double scale[MAX_SPACE];  // 0: from the sizes
} target;

static ig_tensor *to_copy(ig_ctx *c, ig_tensor *x, ig_dtype d) {
  return ig__to_copy_with(c, x, ig_of_dtype(d), ig_none(), ig_none(), ig_none(), false, ig_none());
}
static ig_dtype work_dtype(const ig_tensor *x) {
  bool low = x->dtype == IG_F16 || x->dtype == IG_BF16 || x->dtype == IG_U8;
  return low ? IG_F32 : x->dtype;
}
static ig_int scaled_size(ig_ctx *c, ig_int n, double scale) {
  bool whole = scale == floor(scale) && fabs(scale) < 1e9;
  if (whole) return ig_size_mul(c, n, ig_const((int64_t)scale));
  if (n.expr) {
    const ig_value factors[] = {ig_of_int(n), ig_of_f64(scale)};
    ig_value product = ig_none();
    ig_value size = ig_none();
    ig_sym_apply(c, IG_EXPR_MUL, factors, 2, &product);
    if (product.kind == IG_KIND_FLOAT) ig_sym_apply(c, IG_EXPR_TRUNC, &product, 1, &size);
    return size.kind == IG_KIND_INT ? size.i : ig_const(-1);
  }
  double size = floor((double)n.value * scale);
  return ig_const(fabs(size) < 0x1p62 ? (int64_t)size : -1);
}
// output_size or scale_factors of the .vec overloads
static bool target_of(ig_ctx *c, const ig_tensor *x, const ig_value *size, const ig_value *scales,
                      target *t) {
  size_t n = (size_t)t->n;
  bool by_size = size->kind == IG_KIND_INTS;
  bool by_scale = scales->kind == IG_KIND_LIST && scales->list.n == n;
  if (by_size == by_scale || (by_size && size->ints.n != n)) {
    ig_fail_text(c, IG_RUNTIME, "Must specify exactly one of output_size and scale_factors");
    return false;
  }
  for (int d = 0; d < t->n; d++) {
    t->scale[d] = by_scale ? ig_value_f64(&scales->list.at[d]) : 0;
    t->size[d] = by_size ? size->ints.at[d] : scaled_size(c, ig_sizes(x)[2 + d], t->scale[d]);
  }
  return c->status == IG_OK;
}
static bool has_dims(ig_ctx *c, const ig_tensor *x, int n) {
  if (x->ndim == n + 2) return true;
  ig_fail_text(c, IG_RUNTIME, "It is expected input_size equals to %d, but got size %d", n + 2,
               x->ndim);
  return false;
}
static bool is_picture(ig_ctx *c, const ig_tensor *x, const target *t) {
  for (int d = 0; d < t->n; d++) {
    if (!ig_int_is(c, t->size[d], IG_LE, ig_const(0)) && !ig_int_eq_i64(c, ig_sizes(x)[2 + d], 0)) {
      continue;
    }
    ig_fail_text(c, IG_RUNTIME, "Input and output sizes should be greater than 0");
    return false;
  }
  return c->status == IG_OK;
}
// x at the given indices of its last n dimensions
static ig_tensor *pixels(ig_ctx *c, ig_tensor *x, ig_tensor *const *at, int n) {
  ig_value room[MAX_SPACE + 2] = {ig_none(), ig_none()};
  for (int d = 0; d < n; d++) room[2 + d] = ig_of_tensor(at[d]);
  if (c->status != IG_OK) return NULL;
  return ig__unsafe_index_tensor(c, x, ig_of_list(room, (size_t)n + 2));
}
// concrete: PyTorch divides hints here as well
static double ratio(ig_int in, ig_int out, double scale) {
  return scale > 0 ? 1 / scale : (double)in.value / (double)out.value;
}
static ig_tensor *nearest(ig_ctx *c, ig_tensor *x, const target *t) {
  ig_tensor *wide = to_copy(c, x, work_dtype(x));
  ig_tensor *at[MAX_SPACE];
  for (int d = 0; d < t->n; d++) {
    ig_tensor *i = ig_arange_with(c, ig_of_int(t->size[d]), ig_of_dtype(IG_F32), ig_none(),
                                  ig_of_device(x->device), ig_of_bool(false));
    i = ig_add_f64(c, i, t->how == EXACT ? 0.5 : 0);
    i = ig_mul_f64(c, i, ratio(ig_sizes(x)[2 + d], t->size[d], t->scale[d]));
    at[d] = ig_to_dtype(c, i, ig_of_dtype(IG_I64));
    for (int k = d + 1; k < t->n; k++) at[d] = ig_unsqueeze(c, at[d], ig_const(-1));
  }
  return to_copy(c, pixels(c, wide, at, t->n), x->dtype);
}

// Where the results lie between the pixels of dimension d: [out, 1 ...]
static ig_tensor *line_of(ig_ctx *c, const ig_tensor *x, const target *t, int d) {
  ig_int in = ig_sizes(x)[2 + d];
  ig_int out = t->size[d];
  ig_tensor *i = ig_arange_with(c, ig_of_int(out), ig_none(), ig_none(), ig_of_device(x->device),
                                ig_of_bool(false));
  i = ig_to_dtype(c, i, ig_of_dtype(work_dtype(x)));
  if (t->corners) {
    // concrete: PyTorch divides hints here as well
    double step = out.value > 1 ? (double)(in.value - 1) / (double)(out.value - 1) : 0;
    i = ig_mul_f64(c, i, step);
  } else {
    i = ig_mul_f64(c, ig_add_f64(c, i, 0.5), ratio(in, out, t->scale[d]));
    ig_value half = ig_of_f64(0.5);
    i = ig_sub_value(c, i, &half);
  }
  if (t->how == LINEAR) i = ig_clamp_with(c, i, ig_of_f64(0), ig_none());
  ig_int sizes[MAX_SPACE] = {out, ig_const(1), ig_const(1)};
  return ig_view(c, i, ig_of_ints(sizes, (size_t)(t->n - d)));
}
static ig_value last_of(ig_ctx *c, const ig_tensor *x, int d) {
  return ig_of_int(ig_int_sub(c, ig_sizes(x)[2 + d], ig_const(1)));
}
static ig_tensor *between(ig_ctx *c, ig_tensor *a, ig_tensor *b, ig_tensor *w) {
  ig_tensor *step = ig_mul_tensor(c, ig_sub_tensor(c, b, a), w);
  return ig_add_tensor(c, a, step);
}
// The corners around each result, then lines between them, from the last dimension on.
static ig_tensor *linear(ig_ctx *c, ig_tensor *x, const target *t) {
  ig_tensor *at[MAX_SPACE];
  ig_tensor *side[MAX_SPACE][2];  // the pixel before and after
  ig_tensor *v[1 << MAX_SPACE];
  ig_dtype dtype = work_dtype(x);
  int n = t->n;
  ig_tensor *wide = to_copy(c, x, dtype);
  for (int d = 0; d < n; d++) {
    ig_value one = ig_of_i64(1);
    at[d] = line_of(c, x, t, d);
    side[d][0] = ig_to_dtype(c, at[d], ig_of_dtype(IG_I64));
    ig_tensor *next = ig_add_value(c, side[d][0], &one);
    side[d][1] = ig_clamp_with(c, next, ig_none(), last_of(c, x, d));
  }
  for (int corner = 0; corner < 1 << n; corner++) {
    ig_tensor *here[MAX_SPACE];
    for (int d = 0; d < n; d++) here[d] = side[d][corner >> (n - 1 - d) & 1];
    v[corner] = pixels(c, wide, here, n);
  }
  for (int d = n - 1; d >= 0; d--) {
    ig_tensor *w = ig_sub_tensor(c, at[d], side[d][0]);
    w = to_copy(c, ig_clamp_with(c, w, ig_of_f64(0), ig_of_f64(1)), dtype);
    for (int k = 0; k < 1 << d; k++) v[k] = between(c, v[2 * k], v[2 * k + 1], w);
  }
  if (x->dtype == IG_U8) v[0] = ig_round(c, v[0]);
  return to_copy(c, v[0], x->dtype);
}

void ig_cubic_weights(ig_ctx *c, ig_tensor *t, ig_tensor *w[4]) {
  static const double a = -0.75;
  for (int k = 0; k < 4; k++) {
    bool near = k == 1 || k == 2;
    ig_tensor *d = k < 2 ? t : ig_mul_f64(c, t, -1);
    if (k != 1) d = ig_add_f64(c, d, k == 3 ? 2 : 1);
    ig_tensor *v = ig_mul_f64(c, d, near ? a + 2 : a);
    v = ig_add_f64(c, v, near ? -(a + 3) : -5 * a);
    v = ig_mul_tensor(c, v, d);
    if (!near) v = ig_add_f64(c, v, 8 * a);
    v = ig_mul_tensor(c, v, d);
    w[k] = ig_add_f64(c, v, near ? 1 : -4 * a);
  }
}
static ig_tensor *weighted(ig_ctx *c, ig_tensor *const *v, ig_tensor *const *w) {
  ig_tensor *sum = ig_mul_tensor(c, v[0], w[0]);
  for (int k = 1; k < 4; k++) sum = ig_add_tensor(c, sum, ig_mul_tensor(c, v[k], w[k]));
  return sum;
}
static ig_tensor *as_bytes(ig_ctx *c, ig_tensor *x) {
  return ig_clamp_with(c, ig_round(c, x), ig_of_f64(0), ig_of_f64(255));
}
static ig_tensor *cubic(ig_ctx *c, ig_tensor *x, const target *t) {
  ig_tensor *at[2][4];
  ig_tensor *w[2][4];
  ig_tensor *rows[4];
  ig_tensor *wide = to_copy(c, x, work_dtype(x));
  for (int d = 0; d < 2; d++) {
    ig_tensor *place = line_of(c, x, t, d);
    ig_tensor *low = ig_floor(c, place);
    ig_tensor *way = ig_clamp_with(c, ig_sub_tensor(c, place, low), ig_of_f64(0), ig_of_f64(1));
    ig_cubic_weights(c, way, w[d]);
    low = ig_to_dtype(c, low, ig_of_dtype(IG_I64));
    for (int k = 0; k < 4; k++) {
      ig_value step = ig_of_i64(k - 1);
      ig_tensor *i = k == 1 ? low : ig_add_value(c, low, &step);
      at[d][k] = ig_clamp_with(c, i, ig_of_i64(0), last_of(c, x, d));
    }
  }
  for (int i = 0; i < 4; i++) {
    ig_tensor *row[4];
    for (int j = 0; j < 4; j++) row[j] = pixels(c, wide, (ig_tensor *[]){at[0][i], at[1][j]}, 2);
    rows[i] = weighted(c, row, w[1]);
  }
  ig_tensor *out = weighted(c, rows, w[0]);
  return to_copy(c, x->dtype == IG_U8 ? as_bytes(c, out) : out, x->dtype);
}

// ---- antialiased: every result is a weighted mean of all pixels that it covers ----

// 1 - |x|, or the cubic with a = -0.5; x is not below 0.
static ig_tensor *window(ig_ctx *c, ig_tensor *x, bool cube) {
  if (!cube) return ig_clamp_with(c, ig_add_f64(c, ig_neg(c, x), 1), ig_of_f64(0), ig_none());
  ig_tensor *near = ig_mul_f64(c, x, 1.5);
  near = ig_add_f64(c, near, -2.5);
  near = ig_mul_tensor(c, near, ig_mul_tensor(c, x, x));
  near = ig_add_f64(c, near, 1);
  ig_tensor *far = ig_mul_tensor(c, ig_add_f64(c, x, -5), x);
  far = ig_mul_tensor(c, ig_add_f64(c, far, 8), x);
  far = ig_mul_f64(c, ig_add_f64(c, far, -4), -0.5);
  far = ig_where_scalarother(c, ig_lt_scalar(c, x, ig_of_f64(2)), far, ig_of_f64(0));
  return ig_where_self(c, ig_lt_scalar(c, x, ig_of_f64(1)), near, far);
}
// Weights [out, in] of dimension d, each row with the sum 1.
static ig_tensor *weights_of(ig_ctx *c, const ig_tensor *x, const target *t, int d) {
  ig_int in = ig_sizes(x)[2 + d];
  ig_int out = t->size[d];
  bool cube = t->how == SMOOTH_CUBIC;
  double step = ratio(in, out, t->scale[d]);
  // concrete: PyTorch divides hints here as well
  if (t->corners) step = out.value > 1 ? (double)(in.value - 1) / (double)(out.value - 1) : 0;
  double wide = step >= 1 ? step : 1;
  double reach = (cube ? 2 : 1) * wide;
  ig_value dtype = ig_of_dtype(work_dtype(x));
  ig_value device = ig_of_device(x->device);
  ig_tensor *at = ig_arange_with(c, ig_of_int(out), dtype, ig_none(), device, ig_of_bool(false));
  at = ig_mul_f64(c, ig_add_f64(c, at, 0.5), step);
  at = ig_unsqueeze(c, at, ig_const(1));
  ig_tensor *pixel = ig_arange_with(c, ig_of_int(in), dtype, ig_none(), device, ig_of_bool(false));
  ig_tensor *first = ig_trunc(c, ig_add_f64(c, at, 0.5 - reach));
  ig_tensor *last = ig_trunc(c, ig_add_f64(c, at, 0.5 + reach));
  ig_tensor *way = ig_sub_tensor(c, ig_add_f64(c, pixel, 0.5), at);
  ig_tensor *w = window(c, ig_mul_f64(c, ig_abs(c, way), 1 / wide), cube);
  ig_tensor *inside = ig_ge_tensor(c, pixel, first);
  inside = ig_logical_and(c, inside, ig_lt_tensor(c, pixel, last));
  w = ig_where_scalarother(c, inside, w, ig_of_f64(0));
  ig_int over = ig_const(1);
  ig_tensor *sum = ig_sum_dim_intlist_with(c, w, ig_of_ints(&over, 1), true, ig_none());
  return ig_div_tensor(c, w, sum);
}
static ig_tensor *smooth(ig_ctx *c, ig_tensor *x, const target *t) {
  ig_tensor *wide = to_copy(c, x, work_dtype(x));
  ig_tensor *rows = weights_of(c, x, t, 0);
  ig_tensor *columns = weights_of(c, x, t, 1);
  columns = ig_transpose_int(c, columns, ig_const(0), ig_const(1));
  wide = ig_matmul(c, rows, ig_matmul(c, wide, columns));
  return to_copy(c, x->dtype == IG_U8 ? as_bytes(c, wide) : wide, x->dtype);
}

static ig_tensor *resized(ig_ctx *c, ig_tensor *x, const target *t) {
  static const char *const names[] = {"", "upsample_linear1d", "upsample_bilinear2d",
                                      "upsample_trilinear3d"};
  bool mixes = t->how >= LINEAR;
  const char *name = t->how == CUBIC ? "upsample_bicubic2d" : names[t->n];
  bool bytes = x->dtype == IG_U8 && t->n == 2;
  if (!is_picture(c, x, t)) return NULL;
  if (mixes && !bytes && !ig_check_float(c, name, x->dtype)) return NULL;
  if (t->how >= SMOOTH) return smooth(c, x, t);
  return !mixes ? nearest(c, x, t) : t->how == LINEAR ? linear(c, x, t) : cubic(c, x, t);
}
// input, output_size, (align_corners,) scale_factors
static ig_tensor *by_list(ig_ctx *c, const ig_value *args, int n, method how) {
  ig_tensor *x = args[0].tensor;
  bool mixes = how >= LINEAR;
  target t = {.n = n, .how = how, .corners = mixes && args[2].b};
  if (!has_dims(c, x, n) || !target_of(c, x, &args[1], &args[2 + mixes], &t)) return NULL;
  return resized(c, x, &t);
}
// self, output_size, (align_corners,) a scale for each dimension
static ig_tensor *by_sizes(ig_ctx *c, const ig_value *args, int n, method how) {
  ig_tensor *x = args[0].tensor;
  bool mixes = how >= LINEAR;
  target t = {.n = n, .how = how, .corners = mixes && args[2].b};
  if (!has_dims(c, x, n)) return NULL;
  if (args[1].ints.n != (size_t)n) {
    ig_fail_text(c, IG_RUNTIME, "It is expected output_size equals to %d, but got size %d", n,
                 (int)args[1].ints.n);
    return NULL;
  }
  for (int d = 0; d < n; d++) {
    const ig_value *scale = &args[2 + mixes + d];
    t.size[d] = args[1].ints.at[d];
    t.scale[d] = scale->kind == IG_KIND_NONE ? 0 : ig_value_f64(scale);
  }
  return resized(c, x, &t);
}

// The operator that takes sizes: what .vec is composed of. Programs show its formula at once.
static ig_tensor *to_sizes(ig_ctx *c, const ig_value *args, int n, method how, unsigned id) {
  ig_tensor *x = args[0].tensor;
  bool mixes = how >= LINEAR;
  target t = {.n = n, .how = how};
  if (!has_dims(c, x, n) || !target_of(c, x, &args[1], &args[2 + mixes], &t)) return NULL;
  ig_value all[6] = {args[0], ig_of_ints(t.size, (size_t)n), args[2]};
  for (int d = 0; d < n; d++) {
    all[2 + mixes + d] = t.scale[d] != 0 ? ig_of_f64(t.scale[d]) : ig_none();
  }
  return ig_call_id(c, id, all, (size_t)(2 + mixes + n));
}

#define RESIZE(n, how, id)                                               \
  static ig_tensor *how##_##n(ig_ctx *c, const ig_value *args) {         \
    return by_sizes(c, args, n, how);                                    \
  }                                                                      \
  static ig_tensor *how##_##n##_vec(ig_ctx *c, const ig_value *args) {   \
    return to_sizes(c, args, n, how, id);                                \
  }                                                                      \
  static ig_tensor *how##_##n##_lower(ig_ctx *c, const ig_value *args) { \
    return by_list(c, args, n, how);                                     \
  }
RESIZE(1, NEAREST, IG_ID_UPSAMPLE_NEAREST1D)
RESIZE(2, NEAREST, IG_ID_UPSAMPLE_NEAREST2D)
RESIZE(3, NEAREST, IG_ID_UPSAMPLE_NEAREST3D)
RESIZE(1, EXACT, IG_ID__UPSAMPLE_NEAREST_EXACT1D)
RESIZE(2, EXACT, IG_ID__UPSAMPLE_NEAREST_EXACT2D)
RESIZE(3, EXACT, IG_ID__UPSAMPLE_NEAREST_EXACT3D)
RESIZE(1, LINEAR, IG_ID_UPSAMPLE_LINEAR1D)
RESIZE(2, LINEAR, IG_ID_UPSAMPLE_BILINEAR2D)
RESIZE(3, LINEAR, IG_ID_UPSAMPLE_TRILINEAR3D)
RESIZE(2, CUBIC, IG_ID_UPSAMPLE_BICUBIC2D)
RESIZE(2, SMOOTH, IG_ID__UPSAMPLE_BILINEAR2D_AA)
RESIZE(2, SMOOTH_CUBIC, IG_ID__UPSAMPLE_BICUBIC2D_AA)

IG_OP(_upsample_nearest_exact1d) = {
    .schema =
        "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? "
        "scales=None) -> Tensor",
    .decompose = EXACT_1,
    .samples = "f32[2,2,4], [7] | f32[2,2,4], [8], 2.",
    .waive = "size 2=0: PyTorch refuses it; size 4=1: refused here, PyTorch computes it",
};
IG_OP(_upsample_nearest_exact1d_vec) = {
    .schema =
        "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = EXACT_1_vec,
    .lower = EXACT_1_lower,
    .samples = "f32[2,2,4], None, (2.,) | f32[2,2,4], [7], None | f32[2,2,4], None, (0.7,)",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(_upsample_nearest_exact2d) = {
    .schema =
        "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? "
        "scales_h=None, float? scales_w=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = EXACT_2,
    .samples = "f32[1,2,3,3], [5,4] | f32[1,2,3,3], [6,6], 2., 2.",
    .waive = "size 2=0: PyTorch refuses it; size 3=1: refused here, PyTorch computes it",
};
IG_OP(_upsample_nearest_exact2d_vec) = {
    .schema =
        "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = EXACT_2_vec,
    .lower = EXACT_2_lower,
    .samples =
        "f32[1,2,3,3], None, (2., 2.) | f32[1,2,3,3], [5,4], None | f32[1,2,3,3], None, (0.7, "
        "0.7)",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(_upsample_nearest_exact3d) = {
    .schema =
        "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? "
        "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = EXACT_3,
    .samples = "f32[1,1,2,3,2], [4,3,5] | f32[1,1,2,3,2], [4,6,4], 2., 2., 2.",
    .waive =
        "size 2=1: refused here, PyTorch computes it; size 3=1: refused here, PyTorch computes it",
};
IG_OP(_upsample_nearest_exact3d_vec) = {
    .schema =
        "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = EXACT_3_vec,
    .lower = EXACT_3_lower,
    .samples =
        "f32[1,1,2,3,2], None, (2., 1.5, 2.) | f32[1,1,2,3,2], [4,3,5], None | f32[1,1,2,3,2], "
        "None, (0.7, 1.5, 0.7)",
};
IG_OP(upsample_bicubic2d) = {
    .schema =
        "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, "
        "float? scales_h=None, float? scales_w=None) -> Tensor",
    .decompose = CUBIC_2,
    .samples =
        "f32[1,2,3,3], [5,4], False | f32[1,2,3,3], [6,6], True | f32[1,2,3,3], [6,6], False, "
        "2., 2.",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_bicubic2d_vec) = {
    .schema =
        "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
    .decompose = CUBIC_2_vec,
    .lower = CUBIC_2_lower,
    .samples = "f32[1,2,3,3], None, False, (2., 2.) | f32[1,2,3,3], [5,4], True, None",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_bilinear2d) = {
    .schema =
        "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, "
        "float? scales_h=None, float? scales_w=None) -> Tensor",
    .quantized = IG_QUANT_UNSCALED,
    .decompose = LINEAR_2,
    .samples =
        "f32[1,2,3,3], [5,4], False | f32[1,2,3,3], [6,6], True | f32[1,2,3,3], [6,6], False, "
        "2., 2.",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_bilinear2d_vec) = {
    .schema =
        "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool "
        "align_corners, float[]? scale_factors) -> Tensor",
    .decompose = LINEAR_2_vec,
    .lower = LINEAR_2_lower,
    .samples = "f32[1,2,3,3], None, False, (2., 2.) | f32[1,2,3,3], [5,4], True, None",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_linear1d) = {
    .schema =
        "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, "
        "float? scales=None) -> Tensor",
    .decompose = LINEAR_1,
    .samples = "f32[2,2,4], [7], False | f32[2,2,4], [8], True | f32[2,2,4], [8], False, 2.",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_linear1d_vec) = {
    .schema =
        "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
    .decompose = LINEAR_1_vec,
    .lower = LINEAR_1_lower,
    .samples = "f32[2,2,4], None, False, (2.,) | f32[2,2,4], [7], True, None",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(upsample_nearest1d) = {
    .schema =
        "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> "
        "Tensor",
    .decompose = NEAREST_1,
    .samples = "f32[2,2,4], [7] | f32[2,2,4], [8], 2.",
    .waive = "size 2=0: PyTorch refuses it; size 4=1: refused here, PyTorch computes it",
};
IG_OP(upsample_nearest1d_vec) = {
    .schema =
        "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = NEAREST_1_vec,
    .lower = NEAREST_1_lower,
    .samples = "f32[2,2,4], None, (2.,) | f32[2,2,4], [7], None",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(upsample_nearest2d) = {
    .schema =
        "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
        "float? scales_w=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = NEAREST_2,
    .samples = "f32[1,2,3,3], [5,4] | f32[1,2,3,3], [6,6], 2., 2.",
    .waive = "size 2=0: PyTorch refuses it; size 3=1: refused here, PyTorch computes it",
};
IG_OP(upsample_nearest2d_vec) = {
    .schema =
        "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = NEAREST_2_vec,
    .lower = NEAREST_2_lower,
    .samples = "f32[1,2,3,3], None, (2., 2.) | f32[1,2,3,3], [5,4], None",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(upsample_nearest3d) = {
    .schema =
        "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, "
        "float? scales_h=None, float? scales_w=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .decompose = NEAREST_3,
    .samples = "f32[1,1,2,3,2], [4,3,5] | f32[1,1,2,3,2], [4,6,4], 2., 2., 2.",
    .waive =
        "size 2=1: refused here, PyTorch computes it; size 3=1: refused here, PyTorch computes it",
};
IG_OP(upsample_nearest3d_vec) = {
    .schema =
        "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    .decompose = NEAREST_3_vec,
    .lower = NEAREST_3_lower,
    .samples = "f32[1,1,2,3,2], None, (2., 1.5, 2.) | f32[1,1,2,3,2], [4,3,5], None",
};
IG_OP(upsample_trilinear3d) = {
    .schema =
        "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, "
        "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    .decompose = LINEAR_3,
    .samples =
        "f32[1,1,2,3,2], [4,3,5], False | f32[1,1,2,3,2], [4,6,4], True | f32[1,1,2,3,2], "
        "[4,6,4], False, 2., 2., 2.",
    .waive = "values: integers are computed in fixed point there",
};
IG_OP(upsample_trilinear3d_vec) = {
    .schema =
        "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool "
        "align_corners, float[]? scale_factors) -> Tensor",
    .decompose = LINEAR_3_vec,
    .lower = LINEAR_3_lower,
    .samples = "f32[1,1,2,3,2], None, False, (2., 1.5, 2.) | f32[1,1,2,3,2], [4,3,5], True, None",
    .waive = "values: integers are computed in fixed point there",
};
IG_OP(_upsample_bilinear2d_aa) = {
    .schema =
        "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
        "float? "
        "scales_h=None, float? scales_w=None) -> Tensor",
    .decompose = SMOOTH_2,
    .samples =
        "f32[1,2,7,5], [3,4], False | f32[1,2,3,3], [6,6], False, 2., 2. | f32[1,1,6,7], [4,3], "
        "True",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(_upsample_bilinear2d_aa_vec) = {
    .schema =
        "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
        "align_corners, float[]? "
        "scale_factors) -> Tensor",
    .decompose = SMOOTH_2_vec,
    .lower = SMOOTH_2_lower,
    .samples = "f32[1,2,7,5], None, False, (0.5, 0.7) | f32[1,2,7,5], [3,4], False, None",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(_upsample_bicubic2d_aa) = {
    .schema =
        "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
        "float? "
        "scales_h=None, float? scales_w=None) -> Tensor",
    .decompose = SMOOTH_CUBIC_2,
    .samples =
        "f32[1,2,7,5], [3,4], False | f32[1,2,3,3], [6,6], False, 2., 2. | f32[1,1,6,7], [4,3], "
        "True",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
IG_OP(_upsample_bicubic2d_aa_vec) = {
    .schema =
        "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? "
        "scale_factors) -> Tensor",
    .decompose = SMOOTH_CUBIC_2_vec,
    .lower = SMOOTH_CUBIC_2_lower,
    .samples = "f32[1,2,7,5], None, False, (0.5, 0.7) | f32[1,2,7,5], [3,4], False, None",
    .waive = "values: integers are computed in fixed point there; size 2=0: PyTorch refuses it",
};
