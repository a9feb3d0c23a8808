// SPDX-License-Identifier: Apache-2.0
// Images sampled at the points of a grid, and affine grids: made of index and arithmetic.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/nn/upsample.h"

// Coordinates from -1 to 1 as a column of the grid with `ndim` dimensions.
static ig_tensor *axis(ig_ctx *c, const ig_tensor *like, ig_int size, bool corners, int at,
                       int ndim) {
  double end = corners || size.value == 0 ? 1 : 1 - 1.0 / (double)size.value;  // concrete: a step
  ig_tensor *t = ig_linspace_with(
      c, corners ? ig_of_i64(-1) : ig_of_f64(-end), corners ? ig_of_i64(1) : ig_of_f64(end), size,
      ig_of_dtype(like->dtype), ig_none(), ig_of_device(like->device), ig_none());
  ig_int sizes[5];
  for (int d = 0; d < ndim; d++) sizes[d] = ig_const(1);
  sizes[at] = size;
  return ig_view(c, t, ig_of_ints(sizes, (size_t)ndim));
}
// theta, size, align_corners
static ig_tensor *affine_grid_generator(ig_ctx *c, const ig_value *args) {
  ig_tensor *theta = args[0].tensor;
  const ig_int *size = args[1].ints.at;
  int n = (int)args[1].ints.n - 2;
  if ((n != 2 && n != 3) || theta->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "affine_grid_generator needs 4d (spatial) or 5d (volumetric) inputs.");
    return NULL;
  }
  ig_tensor *cols[4];
  for (int k = 0; k < n; k++)
    cols[k] = axis(c, theta, size[1 + n - k], args[2].b, n - 1 - k, n + 1);
  ig_int ones[] = {ig_const(1), ig_const(1), ig_const(1), ig_const(1)};
  cols[n] = ig_ones_with(c, ig_of_ints(ones, (size_t)(n + 1)), ig_of_dtype(theta->dtype), ig_none(),
                         ig_of_device(theta->device), ig_none());
  for (int k = 0; k <= n; k++) {
    ig_int pad[] = {ig_const(k), ig_const(n - k)};
    cols[k] = ig_constant_pad_nd_with(c, cols[k], ig_of_ints(pad, 2), ig_of_f64(0));
  }
  ig_tensor *grid = cols[0];
  for (int k = 1; k <= n; k++) grid = ig_add_tensor(c, grid, cols[k]);
  ig_int rows[] = {ig_const(-1), ig_const(n + 1), ig_const(1)};
  grid = ig_view(c, grid, ig_of_ints(rows, 3));
  ig_tensor *turn =
      ig_unsqueeze(c, ig_transpose_int(c, theta, ig_const(1), ig_const(2)), ig_const(1));
  ig_int dim = ig_const(-2);
  bool whole = ig_dtype_is_integral(theta->dtype);
  grid = ig_mul_tensor(c, grid, turn);
  grid = ig_sum_dim_intlist_with(c, grid, ig_of_ints(&dim, 1), false,
                                 whole ? ig_of_dtype(theta->dtype) : ig_none());
  ig_int out[5] = {size[0]};
  for (int k = 0; k < n; k++) out[1 + k] = size[2 + k];
  out[n + 1] = ig_const(n);
  return ig_view(c, grid, ig_of_ints(out, (size_t)(n + 2)));
}

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };
typedef struct sampler {
  ig_ctx *c;
  ig_tensor *x;    // [n, c, (d *) h * w]
  int n;           // spatial dimensions
  ig_int size[3];  // (d,) h, w
  int padding;
  bool corners;
} sampler;

static ig_tensor *scaled(ig_ctx *c, ig_tensor *x, double a, double b) {
  return ig_add_f64(c, ig_mul_f64(c, x, a), b);
}
static ig_tensor *unnormalized(const sampler *s, ig_tensor *x, int d) {
  double n = (double)ig_int_specialize(s->c, s->size[d]);  // concrete: a factor of coordinates
  return s->corners ? scaled(s->c, x, (n - 1) / 2, (n - 1) / 2)
                    : scaled(s->c, x, n / 2, (n - 1) / 2);
}
// Back and forth between the borders.
static ig_tensor *reflected(const sampler *s, ig_tensor *x, int d) {
  ig_ctx *c = s->c;
  double n = (double)ig_int_specialize(c, s->size[d]);  // concrete: a bound of coordinates
  double low = s->corners ? 0 : -0.5;
  double span = s->corners ? n - 1 : n;
  if (span <= 0) return ig_zeros_like(c, x);
  ig_tensor *from = ig_abs(c, ig_add_f64(c, x, -low));
  ig_tensor *flips = ig_floor(c, ig_div_f64(c, from, span));
  ig_tensor *extra = ig_fmod_scalar(c, from, ig_of_f64(span));
  ig_tensor *odd = ig_eq_scalar(c, ig_fmod_scalar(c, flips, ig_of_i64(2)), ig_of_i64(1));
  ig_tensor *back = scaled(c, extra, -1, span + low);
  return ig_where_self(c, odd, back, ig_add_f64(c, extra, low));
}
static ig_tensor *clipped(const sampler *s, ig_tensor *x, int d) {
  double n = (double)ig_int_specialize(s->c, s->size[d]);  // concrete: a bound of coordinates
  return ig_clamp_with(s->c, x, ig_of_i64(0), ig_of_f64(n - 1));
}
static ig_tensor *inside(const sampler *s, ig_tensor *x, int d) {
  if (s->padding == REFLECTION) x = reflected(s, x, d);
  return s->padding == ZEROS ? x : clipped(s, x, d);
}
// Pixels at whole coordinates [n, (od,) oh, ow], 0 outside, times a weight (may be NULL).
static ig_tensor *pixel(const sampler *s, ig_tensor *const *p, ig_tensor *w) {
  ig_ctx *c = s->c;
  ig_tensor *q[3] = {NULL};
  ig_tensor *in = NULL;
  ig_tensor *at = NULL;
  for (int d = 0; d < s->n; d++) q[d] = clipped(s, p[d], d);
  for (int d = 0; d < s->n; d++) {
    ig_tensor *here = ig_eq_tensor(c, q[d], p[d]);
    in = in ? ig_logical_and(c, in, here) : here;
  }
  for (int d = 0; d < s->n; d++) {
    at = at ? ig_add_tensor(c, ig_mul_int(c, at, s->size[d]), q[d]) : q[d];
  }
  at = ig_cast(c, at, IG_I64);
  if (!at) return NULL;
  ig_int flat[] = {ig_sizes(at)[0], ig_const(1),
                   ig_product(c, ig_sizes(at) + 1, (size_t)at->ndim - 1)};
  ig_int wide[] = {flat[0], ig_sizes(s->x)[1], flat[2]};
  ig_int out[5] = {flat[0], wide[1]};
  for (int d = 0; d < s->n; d++) out[2 + d] = ig_sizes(at)[1 + d];
  ig_tensor *index = ig_expand(c, ig_reshape(c, at, ig_of_ints(flat, 3)), ig_of_ints(wide, 3));
  ig_tensor *v = ig_gather(c, s->x, ig_const(2), index);
  v = ig_view(c, v, ig_of_ints(out, (size_t)s->n + 2));
  ig_tensor *keep = ig_unsqueeze(c, in, ig_const(1));
  v = ig_where_scalarother(c, keep, v, ig_of_i64(0));
  return w ? ig_mul_tensor(c, v, ig_unsqueeze(c, w, ig_const(1))) : v;
}
static ig_tensor *sample_linear(const sampler *s, ig_tensor *const *p) {
  ig_ctx *c = s->c;
  ig_tensor *low[3] = {NULL};
  ig_tensor *weight[3][2];
  for (int d = 0; d < s->n; d++) low[d] = ig_floor(c, p[d]);
  for (int d = 0; d < s->n; d++) {
    weight[d][1] = ig_sub_tensor(c, p[d], low[d]);
    weight[d][0] = scaled(c, weight[d][1], -1, 1);
  }
  ig_tensor *sum = NULL;
  for (int corner = 0; corner < 1 << s->n; corner++) {
    ig_tensor *w = NULL;
    ig_tensor *at[3] = {NULL};
    for (int d = 0; d < s->n; d++) {
      int high = corner >> (s->n - 1 - d) & 1;
      w = w ? ig_mul_tensor(c, w, weight[d][high]) : weight[d][high];
      at[d] = ig_add_f64(c, low[d], high);
    }
    ig_tensor *v = pixel(s, at, w);
    sum = sum ? ig_add_tensor(c, sum, v) : v;
  }
  return sum;
}
static ig_tensor *sample_cubic(const sampler *s, ig_tensor *y, ig_tensor *x) {
  ig_ctx *c = s->c;
  ig_tensor *y0 = ig_floor(c, y);
  ig_tensor *x0 = ig_floor(c, x);
  ig_tensor *wy[4];
  ig_tensor *wx[4];
  ig_cubic_weights(c, ig_sub_tensor(c, y, y0), wy);
  ig_cubic_weights(c, ig_sub_tensor(c, x, x0), wx);
  ig_tensor *sum = NULL;
  for (int i = 0; i < 4; i++) {
    ig_tensor *yy = inside(s, ig_add_f64(c, y0, i - 1), 0);
    for (int j = 0; j < 4; j++) {
      ig_tensor *w = ig_mul_tensor(c, wy[i], wx[j]);
      ig_tensor *at[] = {yy, inside(s, ig_add_f64(c, x0, j - 1), 1)};
      ig_tensor *v = pixel(s, at, w);
      sum = sum ? ig_add_tensor(c, sum, v) : v;
    }
  }
  return sum;
}
static bool grid_fits(ig_ctx *c, const ig_tensor *x, const ig_tensor *g, int n) {
  bool fits = x->ndim == n + 2 && g->ndim == n + 2 && ig_int_eq_i64(c, ig_sizes(g)[n + 1], n);
  const char *sizes = ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim);
  const char *points = ig_sizes_text(c, ig_sizes(g), (size_t)g->ndim);
  if (!fits) {
    ig_fail_text(
        c, IG_RUNTIME,
        "grid_sampler(): expected %dD input and grid with same number of dimensions, but got "
        "input with sizes %s and grid with sizes %s",
        n + 2, sizes, points);
  } else if (!ig_int_eq(c, ig_sizes(x)[0], ig_sizes(g)[0])) {
    ig_fail_text(c, IG_RUNTIME,
                 "grid_sampler(): expected grid and input to have same batch size, but got input "
                 "with sizes %s and grid with sizes %s",
                 sizes, points);
  } else if (ig_int_eq_i64(c, ig_product(c, ig_sizes(x) + 2, (size_t)n), 0)) {
    ig_fail_text(
        c, IG_RUNTIME,
        "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
        "sizes %s",
        sizes);
  }
  if (c->status != IG_OK) return false;
  return ig_check_float(c, n == 2 ? "grid_sampler_2d_cpu" : "grid_sampler_3d_cpu", x->dtype);
}
// input, grid, interpolation_mode, padding_mode, align_corners; the grid tells w first
static ig_tensor *sampled(ig_ctx *c, const ig_value *args, int n) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *g = args[1].tensor;
  if (!grid_fits(c, x, g, n)) return NULL;
  int64_t mode = ig_value_i64(c, &args[2]);
  ig_int sizes[] = {ig_sizes(x)[0], ig_sizes(x)[1], ig_product(c, ig_sizes(x) + 2, (size_t)n)};
  sampler s = {.c = c, .n = n, .padding = (int)ig_value_i64(c, &args[3]), .corners = args[4].b};
  s.x = ig_reshape(c, x, ig_of_ints(sizes, 3));
  ig_tensor *at[3] = {NULL};
  for (int d = 0; d < n; d++) s.size[d] = ig_sizes(x)[2 + d];
  for (int d = n - 1; d >= 0; d--) {
    at[d] = unnormalized(&s, ig_select_int(c, g, ig_const(-1), ig_const(n - 1 - d)), d);
  }
  if (mode == BICUBIC && n != 2 && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "grid_sampler(): bicubic interpolation only supports 4D input");
    return NULL;
  }
  if (c->status != IG_OK) return NULL;
  if (mode == BICUBIC) return sample_cubic(&s, at[0], at[1]);
  for (int d = n - 1; d >= 0; d--) at[d] = inside(&s, at[d], d);
  if (mode == BILINEAR) return sample_linear(&s, at);
  for (int d = 0; d < n; d++) at[d] = ig_round(c, at[d]);
  return pixel(&s, at, NULL);
}
static ig_tensor *grid_sampler_2d(ig_ctx *c, const ig_value *args) {
  return sampled(c, args, 2);
}
static ig_tensor *grid_sampler_3d(ig_ctx *c, const ig_value *args) {
  return sampled(c, args, 3);
}
static ig_tensor *grid_sampler(ig_ctx *c, const ig_value *args) {
  bool volume = args[0].tensor->ndim == 5;
  return ig_call_id(c, volume ? IG_ID_GRID_SAMPLER_3D : IG_ID_GRID_SAMPLER_2D, args, 5);
}

IG_OP(affine_grid_generator) = {
    .schema =
        "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) "
        "-> Tensor",
    .decompose = affine_grid_generator,
    .samples = "f32[1,2,3], [1,1,2,2], True | f32[2,3,4], [2,1,2,2,2], True",
    .waive = "size 3=1: the arguments tell them; size 4=1: the arguments tell them",
};
IG_OP(grid_sampler_2d) = {
    .schema =
        "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
        "padding_mode, bool align_corners) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .autocast = IG_AUTOCAST_F32,
    .decompose = grid_sampler_2d,
    .samples =
        "f32[1,2,3,3], f32[1,2,2,2]:s, 0, 0, False | f32[1,1,3,3], f32[1,2,2,2]:s, 1, "
        "1, True | f32[1,1,4,4], f32[1,2,2,2]:s, 2, 2, False | f32[1,1,3,3], "
        "f32[1,2,2,2], 0, 2, True",
};
IG_OP(grid_sampler_3d) = {
    .schema =
        "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
        "padding_mode, bool align_corners) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = grid_sampler_3d,
    .samples =
        "f32[1,2,3,3,4], f32[1,2,1,2,3]:s, 0, 0, False | f32[1,1,3,4,3], f32[1,2,2,1,3]:s, 1, 1, "
        "True | f32[2,1,3,3,3], f32[2,1,2,2,3], 0, 2, True",
};
IG_OP(grid_sampler) = {
    .schema =
        "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int "
        "padding_mode, bool align_corners) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = grid_sampler,
    .samples =
        "f32[1,2,3,3], f32[1,2,2,2]:s, 0, 0, False | f32[1,1,2,3,3], f32[1,1,2,2,3]:s, 0, 0, True",
};
