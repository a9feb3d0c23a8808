// SPDX-License-Identifier: Apache-2.0
// Regions and samples of images: GridSample, AffineGrid, RoiAlign, MaxRoiPool, NonMaxSuppression.
#include <math.h>
#include <string.h>

#include "ingot/hop.h"
#include "onnx_read/reader.h"

// ---- GridSample: ATen's for images, our own for volumes

typedef struct volume {
  const float *x;
  int64_t size[3];  // depth, height, width
  int padding;      // zeros, border, reflection
  bool corners;
  bool nearest;
} volume;

static double reflect(double at, double low, double high) {
  double span = high - low;
  if (span <= 0) return 0;
  at = fabs(at - low);
  double turns = floor(at / span);
  double rest = at - turns * span;
  return fmod(turns, 2) == 0 ? rest + low : high - rest;
}

// From [-1, 1] to a position, mapped inside according to the padding mode.
static double place(const volume *v, double at, int64_t size) {
  double n = (double)size;
  double x = v->corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
  if (isnan(x)) x = -1;
  if (v->padding == 2) x = v->corners ? reflect(x, 0, n - 1) : reflect(x, -0.5, n - 0.5);
  if (v->padding != 0) x = x < 0 ? 0 : x > n - 1 ? n - 1 : x;
  return x > 1e9 ? 1e9 : x < -1e9 ? -1e9 : x;
}

static double voxel(const volume *v, const float *plane, const int64_t *at) {
  for (int i = 0; i < 3; i++) {
    if (at[i] < 0 || at[i] >= v->size[i]) return 0;
  }
  return (double)plane[(at[0] * v->size[1] + at[1]) * v->size[2] + at[2]];
}

static double sample(const volume *v, const float *plane, const double *p) {
  int64_t at[3];
  if (v->nearest) {
    for (int i = 0; i < 3; i++) at[i] = (int64_t)nearbyint(p[i]);
    return voxel(v, plane, at);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    double w = 1;
    for (int i = 0; i < 3; i++) {
      double low = floor(p[i]);
      bool high = corner >> i & 1;
      at[i] = (int64_t)low + high;
      w *= high ? p[i] - low : 1 - (p[i] - low);
    }
    if (w != 0) sum += w * voxel(v, plane, at);
  }
  return sum;
}

static void sample_volume(ig_rd *r, ig_tensor *x, ig_tensor *grid, volume *v) {
  const ig_int *s = ig_sizes(grid);
  ig_int n = ig_rd_size(r, x, 0);
  if ((!n.expr && ig_rd_differs(s[0], n.value)) || ig_rd_differs(s[4], 3)) {
    ig_rd_fail(r, IG_MISMATCH, "the grid does not fit the input");
    return;
  }
  v->x = ig_rd_bytes(r, x, IG_F32);
  const float *g = ig_rd_bytes(r, grid, IG_F32);
  if (!v->x || !g) return;
  int64_t c = ig_rd_size(r, x, 1).value;  // concrete: x and the grid have bytes
  int64_t dims[5] = {n.value, c, s[1].value, s[2].value, s[3].value};
  for (int i = 0; i < 3; i++) v->size[i] = ig_rd_size(r, x, 2 + i).value;
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, 5);
  float *to = out ? ig_tensor_data(out) : NULL;
  int64_t points = dims[2] * dims[3] * dims[4];
  int64_t plane = v->size[0] * v->size[1] * v->size[2];
  for (int64_t i = 0; to && i < n.value * c * points; i++) {
    const float *at = g + (i / (c * points) * points + i % points) * 3;
    double p[3];
    for (int k = 0; k < 3; k++) p[k] = place(v, (double)at[2 - k], v->size[k]);
    to[i] = (float)sample(v, v->x + i / points * plane, p);
  }
  ig_rd_out(r, 0, ig_cast(r->c, out, x->dtype));
}

static void read_grid_sample(ig_rd *r) {
  static const char *const modes[][2] = {
      {"linear", "bilinear"}, {"nearest", "nearest"}, {"cubic", "bicubic"}};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *grid = ig_rd_in(r, 1);
  const char *mode = ig_rd_attr_text(r, "mode", "linear");
  const char *padding = ig_rd_attr_text(r, "padding_mode", "zeros");
  int m = 0;
  int p = 0;
  while (m < 3 && strcmp(mode, modes[m][0]) != 0 && strcmp(mode, modes[m][1]) != 0) m++;
  while (p < 3 && strcmp(padding, paddings[p]) != 0) p++;
  if (!x || !grid || m == 3 || p == 3 || x->ndim != grid->ndim) {
    ig_rd_fail(r, IG_INVALID, "mode '%s', padding '%s', or dimensions that do not fit", mode,
               padding);
    return;
  }
  bool corners = ig_rd_attr_int(r, "align_corners", 0);
  if (x->ndim == 4) {
    ig_rd_out(r, 0, ig_grid_sampler_2d(r->c, x, grid, ig_const(m), ig_const(p), corners));
  } else if (x->ndim == 5 && m < 2) {
    volume v = {.padding = p, .corners = corners, .nearest = m == 1};
    sample_volume(r, x, grid, &v);
  } else {
    ig_rd_fail(r, IG_UNSUPPORTED, "mode '%s' over %d dimensions", mode, x->ndim - 2);
  }
}

static void read_affine_grid(ig_rd *r) {
  ig_tensor *theta = ig_rd_in(r, 0);
  size_t n = 0;
  const ig_int *size = ig_rd_ints(r, 1, &n);
  if (!theta || !size || !ig_rd_budget(r, size, n, theta->dtype)) return;
  bool corners = ig_rd_attr_int(r, "align_corners", 0);
  ig_rd_out(r, 0, ig_affine_grid_generator(r->c, theta, ig_of_ints(size, n), corners));
}

// ---- RoiAlign

typedef struct rois {
  const float *x;
  int64_t c, h, w, oh, ow;
  int64_t ratio;
  bool max;
} rois;

// Four weighted corners of one sample; false: outside.
static bool roi_corners(const rois *a, double y, double x, int64_t *at, double *weight) {
  if (y < -1 || y > (double)a->h || x < -1 || x > (double)a->w) return false;
  y = y < 0 ? 0 : y;
  x = x < 0 ? 0 : x;
  int64_t y0 = (int64_t)y;
  int64_t x0 = (int64_t)x;
  if (y0 >= a->h - 1) y = (double)(y0 = a->h - 1);
  if (x0 >= a->w - 1) x = (double)(x0 = a->w - 1);
  int64_t y1 = y0 >= a->h - 1 ? y0 : y0 + 1;
  int64_t x1 = x0 >= a->w - 1 ? x0 : x0 + 1;
  double dy = y - (double)y0;
  double dx = x - (double)x0;
  at[0] = y0 * a->w + x0;
  at[1] = y0 * a->w + x1;
  at[2] = y1 * a->w + x0;
  at[3] = y1 * a->w + x1;
  weight[0] = (1 - dy) * (1 - dx);
  weight[1] = (1 - dy) * dx;
  weight[2] = dy * (1 - dx);
  weight[3] = dy * dx;
  return true;
}

typedef struct bin {
  double y, x;    // start
  double dy, dx;  // size
} bin;

static float roi_bin(const rois *a, const float *plane, const bin *b) {
  int64_t ny = a->ratio > 0 ? a->ratio : (int64_t)ceil(b->dy);
  int64_t nx = a->ratio > 0 ? a->ratio : (int64_t)ceil(b->dx);
  double sum = 0;
  bool first = true;
  for (int64_t i = 0; i < ny * nx; i++) {
    int64_t row = i / nx;
    int64_t column = i % nx;
    double y = b->y + ((double)row + 0.5) * b->dy / (double)ny;
    double x = b->x + ((double)column + 0.5) * b->dx / (double)nx;
    int64_t at[4];
    double w[4];
    if (!roi_corners(a, y, x, at, w)) continue;
    double best = 0;
    for (int k = 0; k < 4; k++) {
      double v = w[k] * (double)plane[at[k]];
      best = a->max ? (k && best > v ? best : v) : best + v;
    }
    if (a->max) {
      sum = first || best > sum ? best : sum;
      first = false;
    } else {
      sum += best;
    }
  }
  int64_t count = ny * nx;
  return (float)(a->max || count < 1 ? sum : sum / (double)count);
}

typedef struct roi_args {
  const float *box;
  const int64_t *batch;
  double scale;
  bool shift;  // half a pixel
} roi_args;

// The position of bin i of the result; false: the box is invalid.
static bool roi_place(const rois *a, const roi_args *g, int64_t i, bin *out) {
  const float *at = g->box + 4 * (i / (a->c * a->oh * a->ow));
  double offset = g->shift ? 0.5 : 0;
  double x0 = (double)at[0] * g->scale - offset;
  double y0 = (double)at[1] * g->scale - offset;
  double w = (double)at[2] * g->scale - offset - x0;
  double h = (double)at[3] * g->scale - offset - y0;
  if (!g->shift) {
    w = w < 1 ? 1 : w;
    h = h < 1 ? 1 : h;
  }
  int64_t row = i / a->ow % a->oh;
  int64_t column = i % a->ow;
  *out = (bin){.dy = h / (double)a->oh, .dx = w / (double)a->ow};
  out->y = y0 + (double)row * out->dy;
  out->x = x0 + (double)column * out->dx;
  return fabs(w) < 1e6 && fabs(h) < 1e6;
}

static bool roi_fits(ig_rd *r, const rois *a, const ig_tensor *x, const ig_tensor *boxes,
                     const int64_t *batch, size_t n) {
  int64_t batches = ig_rd_size(r, x, 0).value;  // concrete: they have bytes
  bool fits = ig_rd_size(r, boxes, 0).value == (int64_t)n && ig_rd_size(r, boxes, 1).value == 4;
  for (size_t i = 0; i < n; i++) fits &= batch[i] >= 0 && batch[i] < batches;
  return fits && a->oh >= 1 && a->ow >= 1 && a->ratio >= 0 && a->ratio <= 1 << 12 && a->h >= 1 &&
         a->w >= 1;
}

// Under a capture the same by ATen calls.

// Samples along one dimension: where they are (clamped), and whether that is in the image.
typedef struct samples {
  ig_int n;          // of one bin: as many as the largest box needs
  ig_tensor *count;  // [K]: of them, how many a bin of this box has; NULL: all
  ig_tensor *low;    // [K, bins, n], int64: the element before
  ig_tensor *high;   // and the one behind it
  ig_tensor *part;   // how far from the one to the other
  ig_tensor *valid;
} samples;

// The number of samples of a bin, if it depends on the boxes: one per element or part of one. [K]
static void roi_counts(ig_rd *r, ig_tensor *extent, int64_t bins, samples *s) {
  ig_ctx *c = r->c;
  s->count = ig_ceil(c, ig_rd_muln(r, extent, 1.0 / (double)bins));
  s->count = ig_clamp_min(c, s->count, ig_of_i64(0));
  // One at least, also if there is no box.
  ig_int one = ig_const(1);
  ig_tensor *parts[2] = {s->count, NULL};
  parts[1] = ig_rd_full(r, &one, 1, 1, extent->dtype);
  ig_int first = ig_const(0);
  ig_tensor *most = ig_amax_with(c, ig_rd_cat(r, parts, 2, 0), ig_of_ints(&first, 1), false);
  s->n = ig_rd_size_in(r, ig_cast(c, most, IG_I64), 1);
}

static samples roi_samples(ig_rd *r, ig_tensor *start, ig_tensor *extent, int64_t bins,
                           int64_t ratio, ig_int size) {
  ig_ctx *c = r->c;
  samples s = {.n = ig_const(ratio)};
  if (!start || !extent) return s;
  if (!ratio) roi_counts(r, extent, bins, &s);
  if (!ig_rd_ok(r)) return s;
  // [bins, n]: the bin, and where in it
  ig_tensor *which = ig_cast(c, ig_arange(c, ig_of_i64(bins)), start->dtype);
  ig_tensor *at = ig_cast(c, ig_arange(c, ig_of_int(s.n)), start->dtype);
  ig_tensor *number = at;
  at = ig_rd_addn(r, at, 0.5);
  ig_tensor *width = ig_rd_unsqueeze(r, ig_rd_muln(r, extent, 1.0 / (double)bins), 1);
  if (s.count) {  // [K, n]
    ig_tensor *of = ig_rd_unsqueeze(r, ig_clamp_min(c, s.count, ig_of_i64(1)), 1);
    at = ig_rd_div(r, ig_rd_mul(r, width, at), of);
  } else {
    at = ig_rd_mul(r, width, ig_rd_muln(r, at, 1.0 / (double)ratio));
  }
  ig_tensor *from = ig_rd_mul(r, width, which);  // [K, bins]
  from = ig_rd_add(r, from, ig_rd_unsqueeze(r, start, 1));
  from = ig_rd_unsqueeze(r, from, 2);
  at = ig_rd_add(r, from, ig_rd_unsqueeze(r, at, 1));
  ig_tensor *valid = ig_ge_scalar(c, at, ig_of_i64(-1));
  valid = ig_logical_and(c, valid, ig_le_scalar(c, at, ig_of_int(size)));
  if (s.count) {
    ig_tensor *of = ig_rd_unsqueeze(r, ig_rd_unsqueeze(r, s.count, 1), 2);
    valid = ig_logical_and(c, valid, ig_lt_tensor(c, number, of));
  }
  s.valid = valid;
  ig_value last = ig_of_int(ig_size_sub(c, size, ig_const(1)));
  at = ig_clamp_with(c, at, ig_of_i64(0), last);
  ig_tensor *floor = ig_floor(c, at);
  s.part = ig_rd_sub(r, at, floor);
  s.low = ig_cast(c, floor, IG_I64);
  s.high = ig_clamp_max(c, ig_add_scalar(c, s.low, ig_of_i64(1)), last);
  return s;
}

// What is known of rows, [K, oh, n], or of columns, [K, ow, m], as part of [K, oh, n, ow, m].
static ig_tensor *of_rows(ig_rd *r, ig_tensor *t) {
  return ig_rd_unsqueeze(r, ig_rd_unsqueeze(r, t, 3), 4);
}

static ig_tensor *of_columns(ig_rd *r, ig_tensor *t) {
  return ig_rd_unsqueeze(r, ig_rd_unsqueeze(r, t, 1), 2);
}

// [K, oh, n, ow, m, C]: elements of images [N*H*W, C], each with its weight
static ig_tensor *roi_corner(ig_rd *r, ig_tensor *images, ig_tensor *row, ig_tensor *column,
                             ig_tensor *weight) {
  ig_value at = ig_of_tensor(ig_rd_add(r, row, column));
  ig_tensor *values = ig_index_tensor(r->c, images, ig_of_list(&at, 1));
  return ig_rd_mul(r, values, ig_rd_unsqueeze(r, weight, 5));
}

static ig_tensor *one_minus(ig_rd *r, ig_tensor *t) {
  return ig_rsub_scalar(r->c, t, ig_of_i64(1));
}

static void roi_formula(ig_rd *r, ig_tensor *x, ig_tensor *boxes, bool shift, bool max) {
  ig_ctx *c = r->c;
  int64_t ratio = ig_rd_attr_int(r, "sampling_ratio", 0);
  int64_t oh = ig_rd_attr_int(r, "output_height", 1);
  int64_t ow = ig_rd_attr_int(r, "output_width", 1);
  ig_tensor *batch = ig_rd_in(r, 2);
  if (ratio < 0 || ratio > 64 || oh < 1 || ow < 1 || oh > 1 << 12 || ow > 1 << 12 || !batch) {
    ig_rd_fail(r, IG_UNSUPPORTED, "a program needs a sampling_ratio of 0 to 64");
    return;
  }
  ig_int h = ig_rd_size(r, x, 2);
  ig_int w = ig_rd_size(r, x, 3);
  ig_int channels = ig_rd_size(r, x, 1);
  ig_tensor *box = ig_rd_muln(r, boxes, ig_rd_attr_float(r, "spatial_scale", 1));
  if (shift) box = ig_rd_addn(r, box, -0.5);
  ig_tensor *corner[4];
  for (int i = 0; i < 4; i++) corner[i] = ig_rd_select(r, box, 1, i);
  ig_tensor *width = ig_rd_sub(r, corner[2], corner[0]);
  ig_tensor *height = ig_rd_sub(r, corner[3], corner[1]);
  if (!shift) {
    width = ig_clamp_min(c, width, ig_of_i64(1));
    height = ig_clamp_min(c, height, ig_of_i64(1));
  }
  samples ys = roi_samples(r, corner[1], height, oh, ratio, h);
  samples xs = roi_samples(r, corner[0], width, ow, ratio, w);
  static const int64_t last[] = {0, 2, 3, 1};
  ig_int flat[] = {ig_const(-1), channels};
  ig_tensor *images = ig_rd_reshape(r, ig_rd_permute(r, x, last, 4), flat, 2);
  // rows: (batch * H + y) * W
  ig_tensor *first = ig_rd_unsqueeze(r, ig_mul_int(c, ig_cast(c, batch, IG_I64), h), 1);
  first = ig_rd_unsqueeze(r, first, 2);
  ig_tensor *rows[2];
  ig_tensor *columns[2];
  rows[0] = of_rows(r, ig_mul_int(c, ig_rd_add(r, first, ys.low), w));
  rows[1] = of_rows(r, ig_mul_int(c, ig_rd_add(r, first, ys.high), w));
  columns[0] = of_columns(r, xs.low);
  columns[1] = of_columns(r, xs.high);
  ig_tensor *sum = NULL;
  for (int i = 0; i < 4 && ig_rd_ok(r); i++) {
    ig_tensor *down = i / 2 ? ys.part : one_minus(r, ys.part);
    ig_tensor *across = i % 2 ? xs.part : one_minus(r, xs.part);
    down = of_rows(r, down);
    ig_tensor *weight = ig_rd_mul(r, down, of_columns(r, across));
    ig_tensor *value = roi_corner(r, images, rows[i / 2], columns[i % 2], weight);
    sum = !sum ? value : max ? ig_maximum(c, sum, value) : ig_rd_add(r, sum, value);
  }
  ig_tensor *valid = of_rows(r, ys.valid);
  valid = ig_logical_and(c, valid, of_columns(r, xs.valid));
  ig_tensor *outside = ig_logical_not(c, ig_rd_unsqueeze(r, valid, 5));
  sum = ig_masked_fill_scalar(c, sum, outside, ig_of_f64(max ? -INFINITY : 0));
  static const int64_t over[] = {2, 4};
  ig_int dims[] = {ig_const(2), ig_const(4)};
  if (max) {
    sum = ig_amax_with(c, sum, ig_of_ints(dims, 2), false);
    ig_tensor *nothing = ig_eq_scalar(c, sum, ig_of_f64(-INFINITY));
    sum = ig_masked_fill_scalar(c, sum, nothing, ig_of_i64(0));
  } else if (ratio) {
    sum = ig_rd_mean(r, sum, over, 2, false);
  } else {
    ig_int each[] = {ig_const(-1), ig_const(1), ig_const(1), ig_const(1)};
    ig_tensor *count = ig_clamp_min(c, ig_rd_mul(r, ys.count, xs.count), ig_of_i64(1));
    sum = ig_rd_div(r, ig_rd_sum(r, sum, over, 2, false), ig_rd_reshape(r, count, each, 4));
  }
  static const int64_t front[] = {0, 3, 1, 2};
  ig_rd_out(r, 0, ig_rd_permute(r, sum, front, 4));
}

static void read_roi_align(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *boxes = ig_rd_in(r, 1);
  const char *usual = r->version < 16 ? "output_half_pixel" : "half_pixel";
  const char *how = ig_rd_attr_text(r, "coordinate_transformation_mode", usual);
  bool shift = strcmp(how, "half_pixel") == 0;
  bool max = strcmp(ig_rd_attr_text(r, "mode", "avg"), "max") == 0;
  bool fake = x && boxes && (ig_tensor_is_fake(x) || ig_tensor_is_fake(boxes));
  if (fake && x->ndim == 4 && boxes->ndim == 2) {
    roi_formula(r, x, boxes, shift, max);
    return;
  }
  size_t n = 0;
  roi_args g = {.batch = ig_rd_consts(r, 2, &n), .scale = ig_rd_attr_float(r, "spatial_scale", 1)};
  if (!x || !boxes || !g.batch || x->ndim != 4 || boxes->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "expected an image of 4 dimensions and boxes of 2");
    return;
  }
  rois a = {.x = ig_rd_bytes(r, x, IG_F32), .ratio = ig_rd_attr_int(r, "sampling_ratio", 0)};
  g.box = ig_rd_bytes(r, boxes, IG_F32);
  if (!a.x || !g.box) return;
  a.max = max;
  g.shift = shift;
  a.oh = ig_rd_attr_int(r, "output_height", 1);
  a.ow = ig_rd_attr_int(r, "output_width", 1);
  const ig_int *s = ig_sizes(x);
  a.c = s[1].value;  // concrete: x has bytes
  a.h = s[2].value;
  a.w = s[3].value;
  int64_t dims[4] = {(int64_t)n, a.c, a.oh, a.ow};
  bool fits = roi_fits(r, &a, x, boxes, g.batch, n);
  if (!fits) ig_rd_fail(r, IG_INVALID, "boxes, batches or sizes out of range");
  ig_tensor *out = fits ? ig_rd_real(r, IG_F32, dims, 4) : NULL;
  float *to = out ? ig_tensor_data(out) : NULL;
  for (int64_t i = 0; to && i < ig_tensor_numel(out); i++) {
    bin b;
    if (!roi_place(&a, &g, i, &b)) {
      ig_rd_fail(r, IG_INVALID, "a box is too large");
      return;
    }
    int64_t plane = g.batch[i / (a.c * a.oh * a.ow)] * a.c + i / (a.oh * a.ow) % a.c;
    to[i] = roi_bin(&a, a.x + plane * a.h * a.w, &b);
  }
  ig_rd_out(r, 0, ig_cast(r->c, out, x->dtype));
}

static int64_t within(int64_t v, int64_t high) {
  return v < 0 ? 0 : v > high ? high : v;
}

static void read_max_roi_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *boxes = ig_rd_in(r, 1);
  size_t n = 0;
  const int64_t *shape = ig_rd_attr_ints(r, "pooled_shape", &n);
  double scale = ig_rd_attr_float(r, "spatial_scale", 1);
  if (!x || !boxes || !shape || n != 2 || x->ndim != 4 || boxes->ndim != 2 || shape[0] < 1 ||
      shape[1] < 1) {
    ig_rd_fail(r, IG_INVALID, "expected an image of 4 dimensions, boxes of 2, and a pooled_shape");
    return;
  }
  const float *data = ig_rd_bytes(r, x, IG_F32);
  const float *box = ig_rd_bytes(r, boxes, IG_F32);
  if (!data || !box) return;
  const ig_int *s = ig_sizes(x);
  int64_t c = s[1].value;  // concrete: x has bytes
  int64_t h = s[2].value;
  int64_t w = s[3].value;
  int64_t dims[4] = {ig_rd_size(r, boxes, 0).value, c, shape[0], shape[1]};
  ig_tensor *out = ig_rd_size(r, boxes, 1).value == 5 ? ig_rd_real(r, IG_F32, dims, 4) : NULL;
  float *to = out ? ig_tensor_data(out) : NULL;
  if (!out) ig_rd_fail(r, IG_INVALID, "boxes need 5 columns");
  for (int64_t i = 0; to && i < ig_tensor_numel(out); i++) {
    const float *b = box + i / (c * shape[0] * shape[1]) * 5;
    double v[5];
    for (int k = 0; k < 5; k++) v[k] = fabs((double)b[k]) < 1e9 ? (double)b[k] : 0;
    int64_t batch = within((int64_t)v[0], s[0].value - 1);
    double x0 = round(v[1] * scale);
    double y0 = round(v[2] * scale);
    double bw = fmax(round(v[3] * scale) - x0 + 1, 1) / (double)shape[1];
    double bh = fmax(round(v[4] * scale) - y0 + 1, 1) / (double)shape[0];
    double py = (double)(i / shape[1] % shape[0]);
    double px = (double)(i % shape[1]);
    int64_t ya = within((int64_t)(floor(py * bh) + y0), h);
    int64_t yb = within((int64_t)(ceil((py + 1) * bh) + y0), h);
    int64_t xa = within((int64_t)(floor(px * bw) + x0), w);
    int64_t xb = within((int64_t)(ceil((px + 1) * bw) + x0), w);
    const float *plane = data + (batch * c + i / (shape[0] * shape[1]) % c) * h * w;
    float best = ya < yb && xa < xb ? -INFINITY : 0;
    for (int64_t y = ya; y < yb; y++) {
      for (int64_t xx = xa; xx < xb; xx++) best = fmaxf(best, plane[y * w + xx]);
    }
    to[i] = best;
  }
  ig_rd_out(r, 0, ig_cast(r->c, out, x->dtype));
}

// ---- NonMaxSuppression

typedef struct suppress {
  const float *boxes;  // [n, 4]
  bool center;
  double iou;
  double threshold;
  int64_t limit;  // per class
} suppress;

static void box_of(const suppress *s, int64_t i, double *out) {
  const float *b = s->boxes + 4 * i;
  double v[4] = {(double)b[0], (double)b[1], (double)b[2], (double)b[3]};
  if (s->center) {
    out[0] = v[1] - v[3] / 2;
    out[1] = v[0] - v[2] / 2;
    out[2] = v[1] + v[3] / 2;
    out[3] = v[0] + v[2] / 2;
  } else {
    out[0] = fmin(v[0], v[2]);
    out[1] = fmin(v[1], v[3]);
    out[2] = fmax(v[0], v[2]);
    out[3] = fmax(v[1], v[3]);
  }
}

static bool overlaps(const suppress *s, int64_t i, int64_t k) {
  double a[4];
  double b[4];
  box_of(s, i, a);
  box_of(s, k, b);
  double h = fmin(a[2], b[2]) - fmax(a[0], b[0]);
  double w = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  if (h <= 0 || w <= 0) return false;
  double both = h * w;
  double all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return all > 0 && both / all > s->iou;
}

// Indices by descending score, stable.
static void by_score(const float *scores, int64_t *at, int64_t *room, int64_t n) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t from = 0; from < n; from += 2 * width) {
      int64_t mid = from + width < n ? from + width : n;
      int64_t to = from + 2 * width < n ? from + 2 * width : n;
      int64_t a = from;
      int64_t b = mid;
      for (int64_t k = from; k < to; k++) {
        bool left = a < mid && (b >= to || scores[at[a]] >= scores[at[b]]);
        room[k] = left ? at[a++] : at[b++];
      }
    }
    memcpy(at, room, (size_t)n * sizeof *at);
  }
}

typedef struct picks {
  IG_VEC(int64_t) at;
} picks;

static void suppress_class(ig_rd *r, const suppress *s, const float *scores, int64_t n,
                           const int64_t *head, picks *out) {
  int64_t *order = ig_scope_array(r->c, (size_t)(n + 1), sizeof *order);
  int64_t *room = ig_scope_array(r->c, (size_t)(n + 1), sizeof *room);
  int64_t count = 0;
  int64_t kept = 0;
  if (!order || !room) return;
  for (int64_t i = 0; i < n; i++) {
    if ((double)scores[i] > s->threshold) order[count++] = i;
  }
  by_score(scores, order, room, count);
  for (int64_t i = 0; i < count && kept < s->limit && ig_rd_ok(r); i++) {
    bool clear = true;
    for (int64_t k = 0; k < kept && clear; k++) clear = !overlaps(s, order[i], room[k]);
    if (!clear) continue;
    room[kept++] = order[i];
    for (int k = 0; k < 3; k++) {
      if (!ig_vec_push(r->c->alloc, &out->at, k < 2 ? head[k] : order[i])) {
        (void)ig_fail(r->c, IG_NOMEM, "out of memory");
      }
    }
  }
}

// Under a capture: boxes of every class by descending score, one after the other; each remaining
// box suppresses the later ones that it overlaps. The boxes that remain are the result.
typedef struct striking {
  ig_rd *r;
  ig_tensor *edge[4];  // [B, C, N]: top, left, bottom, right
  ig_tensor *area;
  ig_tensor *places;  // [N]
  ig_tensor *iou;
  ig_tensor *limit;
  ig_int n;
} striking;

static const ig_value *strike_cond(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                   void *user) {
  const striking *k = user;
  ig_value *out = ig_scope_push(c, sizeof *out);
  (void)n;
  if (!out) return NULL;
  *out = ig_of_tensor(ig_lt_scalar(c, ig_value_tensor(&in[0]), ig_of_int(k->n)));
  *nouts = 1;
  return out;
}

// Length of what two intervals have in common, not below 0.
static ig_tensor *common(ig_rd *r, const striking *k, ig_tensor *const *own, int side) {
  ig_tensor *to = ig_minimum(r->c, own[side + 2], k->edge[side + 2]);
  ig_tensor *from = ig_maximum(r->c, own[side], k->edge[side]);
  return ig_clamp_min(r->c, ig_rd_sub(r, to, from), ig_of_i64(0));
}

static const ig_value *strike(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts, void *user) {
  const striking *k = user;
  ig_rd *r = k->r;
  ig_tensor *number = ig_value_tensor(&in[0]);
  ig_tensor *alive = ig_value_tensor(&in[1]);  // [B, C, N]
  ig_tensor *count = ig_value_tensor(&in[2]);  // [B, C, 1]
  ig_value *out = ig_scope_array(c, n, sizeof *out);
  if (!out) return NULL;
  ig_tensor *at = ig_rd_unsqueeze(r, number, 0);
  ig_tensor *own[4];
  for (int i = 0; i < 4; i++) own[i] = ig_index_select(c, k->edge[i], ig_const(2), at);
  ig_tensor *height = common(r, k, own, 0);
  ig_tensor *both = ig_rd_mul(r, height, common(r, k, own, 1));
  ig_tensor *mine = ig_index_select(c, k->area, ig_const(2), at);
  ig_tensor *all = ig_rd_sub(r, ig_rd_add(r, k->area, mine), both);
  // both / all > iou, and no overlap never strikes
  ig_tensor *hit = ig_gt_tensor(c, ig_div_tensor(c, both, all), k->iou);
  hit = ig_logical_and(c, hit, ig_gt_scalar(c, both, ig_of_i64(0)));
  ig_tensor *take = ig_index_select(c, alive, ig_const(2), at);
  take = ig_logical_and(c, take, ig_lt_tensor(c, count, k->limit));
  hit = ig_logical_not(c, ig_logical_and(c, hit, take));
  ig_tensor *rest = ig_logical_and(c, alive, hit);
  ig_tensor *here = ig_where_self(c, ig_eq_tensor(c, k->places, number), take, alive);
  out[0] = ig_of_tensor(ig_rd_addn(r, number, 1));
  out[1] = ig_of_tensor(ig_where_self(c, ig_gt_tensor(c, k->places, number), rest, here));
  out[2] = ig_of_tensor(ig_rd_add(r, count, ig_cast(c, take, IG_I64)));
  *nouts = 3;
  return ig_rd_ok(r) ? out : NULL;
}

// Edges of the boxes of every class in the order of its scores: [B, N, 4] to 4 times [B, C, N].
static void sort_edges(ig_rd *r, ig_tensor *boxes, ig_tensor *order, bool center, striking *k) {
  ig_ctx *c = r->c;
  ig_tensor *raw[4];
  boxes = ig_cast(c, boxes, IG_F64);
  for (int i = 0; i < 4; i++) raw[i] = ig_rd_select(r, boxes, 2, i);
  for (int i = 0; i < 2 && ig_rd_ok(r); i++) {
    if (center) {  // x, y, width, height
      ig_tensor *half = ig_rd_muln(r, raw[3 - i], 0.5);
      k->edge[i] = ig_rd_sub(r, raw[1 - i], half);
      k->edge[i + 2] = ig_rd_add(r, raw[1 - i], half);
    } else {  // y, x of two corners, whichever they are
      k->edge[i] = ig_minimum(c, raw[i], raw[i + 2]);
      k->edge[i + 2] = ig_maximum(c, raw[i], raw[i + 2]);
    }
  }
  for (int i = 0; i < 4 && ig_rd_ok(r); i++) {
    ig_tensor *t = ig_expand(c, ig_rd_unsqueeze(r, k->edge[i], 1), ig_sizes_of(order));
    k->edge[i] = ig_gather(c, t, ig_const(2), order);
  }
  ig_tensor *height = ig_rd_sub(r, k->edge[2], k->edge[0]);
  k->area = ig_rd_mul(r, height, ig_rd_sub(r, k->edge[3], k->edge[1]));
}

// An optional operand of one element.
static ig_tensor *one_number(ig_rd *r, size_t i, ig_dtype dtype) {
  ig_tensor *t = ig_rd_opt(r, i);
  if (!t) return ig_rd_full(r, NULL, 0, 0, dtype);
  return ig_cast(r->c, ig_rd_reshape(r, t, NULL, 0), dtype);
}

static void nms_formula(ig_rd *r, ig_tensor *boxes, ig_tensor *scores) {
  ig_ctx *c = r->c;
  ig_int n = ig_rd_size(r, scores, 2);
  bool fits = ig_int_eq_i64(c, ig_rd_size(r, boxes, 2), 4) &&
              ig_int_eq(c, ig_rd_size(r, boxes, 0), ig_rd_size(r, scores, 0)) &&
              ig_int_eq(c, ig_rd_size(r, boxes, 1), n);
  if (!fits) {
    ig_rd_fail(r, IG_MISMATCH, "boxes and scores do not fit each other");
    return;
  }
  ig_value sorted[IG_MAX_RETURNS] = {{0}};
  ig_sort_stable_with(c, scores, ig_of_bool(true), ig_const(2), true, sorted);
  ig_tensor *order = ig_value_tensor(&sorted[1]);
  striking k = {.r = r, .n = n};
  if (!order) return;
  sort_edges(r, boxes, order, ig_rd_attr_int(r, "center_point_box", 0), &k);
  k.places = ig_arange(c, ig_of_int(n));
  k.iou = one_number(r, 3, IG_F64);
  k.limit = one_number(r, 2, IG_I64);
  ig_tensor *alive = ig_gt_scalar(c, ig_value_tensor(&sorted[0]), ig_of_f64(-INFINITY));
  if (ig_rd_has(r, 4)) {
    alive = ig_gt_tensor(c, ig_value_tensor(&sorted[0]), one_number(r, 4, scores->dtype));
  }
  ig_int row[] = {ig_rd_size(r, scores, 0), ig_rd_size(r, scores, 1), ig_const(1)};
  ig_value carried[3] = {ig_of_tensor(ig_rd_full(r, NULL, 0, 0, IG_I64)), ig_of_tensor(alive)};
  carried[2] = ig_of_tensor(ig_rd_full(r, row, 3, 0, IG_I64));
  if (!ig_rd_ok(r)) return;
  ig_branch cond = {.fn = strike_cond, .user = &k};
  ig_branch step = {.fn = strike, .user = &k};
  size_t nouts = 0;
  const ig_value *outs = ig_while_loop(c, &cond, &step, carried, 3, NULL, 0, &nouts);
  // batch, class and rank of each; the rank becomes the number of the box
  ig_tensor *found = outs ? ig_nonzero(c, ig_value_tensor(&outs[1])) : NULL;
  if (!found) return;
  ig_value at[3];
  ig_tensor *columns[3];
  for (int i = 0; i < 3; i++) {
    columns[i] = ig_rd_select(r, found, 1, i);
    at[i] = ig_of_tensor(columns[i]);
  }
  columns[2] = ig_index_tensor(c, order, ig_of_list(at, 3));
  ig_rd_out(r, 0, ig_rd_stack(r, columns, 3, 1));
}

static void read_nms(ig_rd *r) {
  ig_tensor *boxes = ig_rd_in(r, 0);
  ig_tensor *scores = ig_rd_in(r, 1);
  if (!boxes || !scores || boxes->ndim != 3 || scores->ndim != 3) {
    ig_rd_fail(r, IG_INVALID, "expected boxes and scores of 3 dimensions");
    return;
  }
  if (ig_tensor_is_fake(boxes) || ig_tensor_is_fake(scores)) {
    nms_formula(r, boxes, scores);
    return;
  }
  const float *b = ig_rd_bytes(r, boxes, IG_F32);
  const float *sc = ig_rd_bytes(r, scores, IG_F32);
  suppress s = {.center = ig_rd_attr_int(r, "center_point_box", 0),
                .iou = ig_rd_has(r, 3) ? ig_rd_one_float(r, 3) : 0,
                .threshold = ig_rd_has(r, 4) ? ig_rd_one_float(r, 4) : -INFINITY,
                .limit = ig_rd_has(r, 2) ? ig_rd_one_const(r, 2) : 0};
  if (!b || !sc || !ig_rd_ok(r)) return;
  int64_t batches = ig_rd_size(r, boxes, 0).value;  // concrete: they have bytes
  int64_t n = ig_rd_size(r, boxes, 1).value;
  int64_t classes = ig_rd_size(r, scores, 1).value;
  if (ig_rd_size(r, boxes, 2).value != 4 || ig_rd_size(r, scores, 0).value != batches ||
      ig_rd_size(r, scores, 2).value != n) {
    ig_rd_fail(r, IG_MISMATCH, "boxes and scores do not fit each other");
    return;
  }
  picks out = {0};
  for (int64_t i = 0; i < batches * classes && ig_rd_ok(r); i++) {
    ig_scope scope = ig_scope_open(r->c);
    int64_t head[2] = {i / classes, i % classes};
    s.boxes = b + head[0] * n * 4;
    suppress_class(r, &s, sc + i * n, n, head, &out);
    ig_scope_close(r->c, scope);
  }
  int64_t dims[2] = {(int64_t)(out.at.n / 3), 3};
  ig_tensor *t = ig_rd_real(r, IG_I64, dims, 2);
  if (t && out.at.n) memcpy(ig_tensor_data(t), out.at.at, out.at.n * sizeof *out.at.at);
  ig_vec_free(r->c->alloc, &out.at);
  ig_rd_out(r, 0, t);
}

static void read_image_decoder(ig_rd *r) {
  ig_rd_fail(r, IG_UNSUPPORTED,
             "decoding of image files is not supported; decode them first and give the pixels");
}

const ig_rd_row ig_rd_rows_image[] = {
    {"GridSample", 16, read_grid_sample},
    {"AffineGrid", 20, read_affine_grid},
    {"RoiAlign", 10, read_roi_align},
    {"MaxRoiPool", 1, read_max_roi_pool},
    {"NonMaxSuppression", 10, read_nms},
    {"ImageDecoder", 20, read_image_decoder},
    {NULL, 0, NULL},
};
