// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Every axis is resized separately: an output element is a weighted sum of a
// few elements along the axis, whose positions and weights depend on sizes and attributes alone.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"

enum { MAX_TAPS = 4096 };

typedef struct resize {
  const char *mode;         // nearest, linear, cubic
  const char *coordinates;  // coordinate_transformation_mode
  const char *nearest;      // nearest_mode
  double cubic_a;
  double extrapolation;
  bool exclude_outside;
  bool antialias;
  int ndim;
  bool on[IG_MAX_DIM];
  double scale[IG_MAX_DIM];
  ig_int out[IG_MAX_DIM];
  double roi[2][IG_MAX_DIM];
} resize;

// Position in the input of element i of the output; *outside: beyond the region of interest.
static double origin(const resize *z, int d, int64_t n, int64_t out, int64_t i, bool *outside) {
  double scale = z->scale[d];
  double width = scale * (double)n;
  double x = (double)i;
  const char *how = z->coordinates;
  if (strcmp(how, "align_corners") == 0) return width == 1 ? 0 : x * (double)(n - 1) / (width - 1);
  if (strcmp(how, "asymmetric") == 0) return x / scale;
  if (strcmp(how, "tf_crop_and_resize") == 0) {
    double span = (z->roi[1][d] - z->roi[0][d]) * (double)(n - 1);
    double at = z->roi[0][d] * (double)(n - 1);
    at += out > 1 ? x * span / (double)(out - 1) : span / 2;
    *outside = at < 0 || at > (double)(n - 1);
    return at;
  }
  if (strcmp(how, "pytorch_half_pixel") == 0 && width == 1) return -0.5;
  double at = (x + 0.5) / scale - 0.5;
  if (strcmp(how, "half_pixel_symmetric") == 0) {
    at += (double)n / 2 * (1 - (double)out / width);
  } else if (strcmp(how, "tf_half_pixel_for_nn") == 0) {
    at += 0.5;
  }
  return at;
}

static int64_t nearest(const resize *z, double x) {
  double low = floor(x);
  double ratio = x - low;
  if (ratio == 0) return (int64_t)low;
  if (strcmp(z->nearest, "floor") == 0) return (int64_t)low;
  if (strcmp(z->nearest, "ceil") == 0) return (int64_t)low + 1;
  bool up = strcmp(z->nearest, "round_prefer_ceil") == 0 ? ratio >= 0.5 : ratio > 0.5;
  return (int64_t)low + up;
}

static double cubic(double x, double a) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

// First tap relative to the floor of the position, and how many there are.
static int64_t footprint(const resize *z, double scale, int64_t *first) {
  double reach = z->mode[0] == 'c' ? 2 : 1;
  double low = floor(-reach / scale);
  if (!(low > -MAX_TAPS)) return MAX_TAPS + 1;
  *first = (int64_t)low + 1;
  return 2 - 2 * *first;
}

typedef struct taps {
  int64_t count;
  int64_t out;
  int64_t *at;  // [count][out]
  double *weight;
  bool *outside;  // [out]
  bool any_outside;
} taps;

static void weigh(const resize *z, int64_t n, const taps *t, int64_t i, double x, int64_t first,
                  double shrink) {
  double low = floor(x);
  double sum = 0;
  for (int64_t k = 0; k < t->count; k++) {
    double p = low + (double)(first + k);
    double distance = (p - x) * shrink;
    double w = z->mode[0] == 'c'    ? cubic(distance, z->cubic_a)
               : fabs(distance) < 1 ? 1 - fabs(distance)
                                    : 0;
    if (z->exclude_outside && (p < 0 || p >= (double)n)) w = 0;
    sum += w;
    t->at[k * t->out + i] = p < 0 ? 0 : p >= (double)n ? n - 1 : (int64_t)p;
    t->weight[k * t->out + i] = w;
  }
  if (!z->exclude_outside && !z->antialias) return;
  for (int64_t k = 0; k < t->count && sum != 0; k++) t->weight[k * t->out + i] /= sum;
}

static bool make_taps(ig_rd *r, const resize *z, int d, int64_t n, int64_t out, taps *t) {
  double shrink = z->antialias && z->scale[d] < 1 ? z->scale[d] : 1;
  int64_t first = 0;
  t->out = out;
  t->count = z->mode[0] == 'n' ? 1 : footprint(z, shrink, &first);
  if (t->count > MAX_TAPS || t->count < 1) {
    ig_rd_fail(r, IG_INVALID, "a scale of %g is too small", z->scale[d]);
    return false;
  }
  ig_int sizes[2] = {ig_const(t->count), ig_const(out)};
  if (!ig_rd_budget(r, sizes, 2, IG_F64)) return false;
  t->at = ig_scope_array(r->c, ig_mem_mul((size_t)t->count, (size_t)out), sizeof *t->at);
  t->weight = ig_scope_array(r->c, ig_mem_mul((size_t)t->count, (size_t)out), sizeof *t->weight);
  t->outside = ig_scope_push(r->c, (size_t)out + 1);
  t->any_outside = false;
  if (!t->at || !t->weight || !t->outside) return false;
  for (int64_t i = 0; i < out; i++) {
    t->outside[i] = false;
    double x = origin(z, d, n, out, i, &t->outside[i]);
    t->any_outside |= t->outside[i];
    if (!(fabs(x) < 1e15)) x = 0;
    if (z->mode[0] == 'n') {
      int64_t p = nearest(z, x);
      t->at[i] = p < 0 ? 0 : p >= n ? n - 1 : p;
    } else {
      weigh(z, n, t, i, x, first, shrink);
    }
  }
  return true;
}

static ig_tensor *resize_axis(ig_rd *r, ig_tensor *x, const resize *z, int d, const taps *t) {
  ig_tensor *sum = NULL;
  for (int64_t k = 0; k < t->count && x && ig_rd_ok(r); k++) {
    ig_tensor *at = ig_rd_constant(r, IG_I64, t->at + k * t->out, t->out);
    ig_tensor *part = at ? ig_index_select(r->c, x, ig_const(d), at) : NULL;
    if (z->mode[0] == 'n') return part;
    ig_tensor *w = ig_rd_constant(r, IG_F64, t->weight + k * t->out, t->out);
    w = ig_rd_along(r, ig_cast(r->c, w, x->dtype), d, x->ndim);
    part = ig_rd_mul(r, part, w);
    sum = sum ? ig_rd_add(r, sum, part) : part;
  }
  return sum;
}

static ig_tensor *resize_all(ig_rd *r, ig_tensor *x, const resize *z) {
  ig_dtype d = x->dtype;
  bool floats = z->mode[0] != 'n';
  taps *ts = ig_scope_array(r->c, IG_MAX_DIM, sizeof *ts);
  if (floats && d != IG_F32 && d != IG_F64) x = ig_cast(r->c, x, IG_F32);
  for (int i = 0; ts && x && i < z->ndim; i++) {
    if (!z->on[i]) continue;
    int64_t n = ig_rd_plain(r, ig_sizes(x)[i]);
    int64_t out = ig_rd_plain(r, z->out[i]);
    if (!ig_rd_ok(r) || n < 1) {
      ig_rd_fail(r, IG_INVALID, "dimension %d is empty", i);
      return NULL;
    }
    if (!make_taps(r, z, i, n, out, &ts[i])) return NULL;
    x = resize_axis(r, x, z, i, &ts[i]);
  }
  for (int i = 0; ts && x && i < z->ndim; i++) {
    if (!z->on[i] || !ts[i].any_outside) continue;
    ig_tensor *mask = ig_rd_constant(r, IG_BOOL, ts[i].outside, ts[i].out);
    mask = ig_rd_along(r, mask, i, z->ndim);
    x = mask ? ig_masked_fill_scalar(r->c, x, mask, ig_of_f64(z->extrapolation)) : NULL;
  }
  return ig_cast(r->c, x, d);
}

// Two spatial dimensions of dynamic size: ATen's own operators.
static bool resize_symbolic(ig_rd *r, ig_tensor *x, const resize *z) {
  bool plain = true;
  for (int d = 0; d < z->ndim; d++) plain &= !z->on[d] || !ig_sizes(x)[d].expr;
  if (plain || z->ndim != 4 || z->on[0] || z->on[1] || z->antialias) return false;
  bool corners = strcmp(z->coordinates, "align_corners") == 0;
  bool half = strcmp(z->coordinates, "half_pixel") == 0 ||
              strcmp(z->coordinates, "pytorch_half_pixel") == 0;
  ig_value scales[2] = {ig_of_f64(z->scale[2]), ig_of_f64(z->scale[3])};
  ig_value list = ig_of_list(scales, 2);
  if (z->mode[0] == 'n' && strcmp(z->coordinates, "asymmetric") == 0 &&
      strcmp(z->nearest, "floor") == 0) {
    ig_rd_out_like(r, 0, ig_upsample_nearest2d_vec(r->c, x, ig_none(), list), 0);
    return true;
  }
  if (z->mode[0] != 'l' || !(corners || half)) return false;
  ig_rd_out_like(r, 0, ig_upsample_bilinear2d_vec(r->c, x, ig_none(), corners, list), 0);
  return true;
}

static void finish(ig_rd *r, ig_tensor *x, const resize *z) {
  if (!x || !ig_rd_ok(r) || !ig_rd_budget(r, z->out, (size_t)z->ndim, x->dtype)) return;
  if (resize_symbolic(r, x, z)) return;
  ig_rd_out_like(r, 0, resize_all(r, x, z), 0);
}

static void set_scale(ig_rd *r, const ig_tensor *x, resize *z, int d, double scale) {
  ig_int n = ig_sizes(x)[d];
  if (!(scale > 0) || scale > 1e9) {
    ig_rd_fail(r, IG_INVALID, "a scale of %g", scale);
    return;
  }
  z->scale[d] = scale;
  z->on[d] = scale != 1;
  bool whole = scale == floor(scale);
  z->out[d] = whole ? ig_int_mul(r->c, n, ig_const((int64_t)scale))
                    : ig_const((int64_t)floor((double)ig_rd_plain(r, n) * scale));
}

static void begin(const ig_tensor *x, resize *z) {
  *z = (resize){
      .mode = "nearest", .coordinates = "asymmetric", .nearest = "floor", .cubic_a = -0.75};
  z->ndim = x->ndim;
  for (int d = 0; d < x->ndim; d++) {
    z->scale[d] = 1;
    z->out[d] = ig_sizes(x)[d];
    z->roi[1][d] = 1;
  }
}

static void take_mode(ig_rd *r, resize *z) {
  z->mode = ig_rd_attr_text(r, "mode", "nearest");
  if (strcmp(z->mode, "bilinear") == 0) z->mode = "linear";
  if (strcmp(z->mode, "nearest") != 0 && strcmp(z->mode, "linear") != 0 &&
      strcmp(z->mode, "cubic") != 0) {
    ig_rd_fail(r, IG_INVALID, "attribute 'mode': found '%s'", z->mode);
  }
}

// Upsample, and Resize of opset 10: one scale per dimension, nothing else.
static void read_upsample(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  resize z;
  if (!x) return;
  begin(x, &z);
  take_mode(r, &z);
  size_t n = 0;
  const float *attr = r->version < 9 ? ig_rd_attr_floats(r, "scales", &n) : NULL;
  const double *scales = attr ? NULL : ig_rd_floats(r, 1, &n);
  if (!ig_rd_ok(r) || n != (size_t)x->ndim) {
    ig_rd_fail(r, IG_INVALID, "%zu scales for %d dimensions", n, x->ndim);
    return;
  }
  for (int d = 0; d < x->ndim; d++) set_scale(r, x, &z, d, attr ? (double)attr[d] : scales[d]);
  finish(r, x, &z);
}

static void take_sizes(ig_rd *r, const ig_tensor *x, resize *z, const int *axes, size_t naxes) {
  size_t n = 0;
  const ig_int *sizes = ig_rd_ints(r, 3, &n);
  const char *policy = ig_rd_attr_text(r, "keep_aspect_ratio_policy", "stretch");
  if (!sizes || n != naxes) {
    ig_rd_fail(r, IG_INVALID, "%zu sizes for %zu dimensions", n, naxes);
    return;
  }
  double common = 0;
  for (size_t i = 0; i < n; i++) {
    int d = axes[i];
    double scale = (double)ig_rd_plain(r, sizes[i]) / (double)ig_rd_plain(r, ig_sizes(x)[d]);
    z->scale[d] = scale;
    z->out[d] = sizes[i];
    z->on[d] = !ig_int_eq(r->c, sizes[i], ig_sizes(x)[d]) ||
               strcmp(z->coordinates, "tf_crop_and_resize") == 0;
    bool better = strcmp(policy, "not_larger") == 0 ? scale < common : scale > common;
    if (i == 0 || better) common = scale;
  }
  if (strcmp(policy, "stretch") == 0) return;
  for (size_t i = 0; i < n; i++) {
    int d = axes[i];
    z->scale[d] = common;
    z->out[d] = ig_const((int64_t)floor(common * (double)ig_rd_plain(r, ig_sizes(x)[d]) + 0.5));
    z->on[d] = true;
  }
}

static void take_roi(ig_rd *r, resize *z, const int *axes, size_t naxes) {
  if (strcmp(z->coordinates, "tf_crop_and_resize") != 0) return;
  size_t n = 0;
  const double *roi = ig_rd_floats(r, 1, &n);
  if (!roi || n != 2 * naxes) {
    ig_rd_fail(r, IG_INVALID, "roi has %zu elements, expected %zu", n, 2 * naxes);
    return;
  }
  for (size_t i = 0; i < naxes; i++) {
    z->roi[0][axes[i]] = roi[i];
    z->roi[1][axes[i]] = roi[naxes + i];
    z->on[axes[i]] = true;
  }
}

static void read_resize(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  resize z;
  int axes[IG_MAX_DIM] = {0};
  size_t naxes = 0;
  if (!x) return;
  begin(x, &z);
  take_mode(r, &z);
  z.coordinates = ig_rd_attr_text(r, "coordinate_transformation_mode", "half_pixel");
  z.nearest = ig_rd_attr_text(r, "nearest_mode", "round_prefer_floor");
  z.cubic_a = ig_rd_attr_float(r, "cubic_coeff_a", -0.75);
  z.extrapolation = ig_rd_attr_float(r, "extrapolation_value", 0);
  z.exclude_outside = ig_rd_attr_int(r, "exclude_outside", 0);
  z.antialias = ig_rd_attr_int(r, "antialias", 0);
  const int64_t *given = ig_rd_attr_ints(r, "axes", &naxes);
  if (!given) naxes = (size_t)x->ndim;
  if (naxes > (size_t)x->ndim) ig_rd_fail(r, IG_INVALID, "more axes than dimensions");
  for (size_t i = 0; i < naxes && ig_rd_ok(r); i++) {
    axes[i] = ig_rd_axis(r, given ? given[i] : (int64_t)i, x->ndim);
  }
  if (!ig_rd_ok(r)) return;
  bool by_sizes = ig_rd_has(r, 3);
  if (by_sizes) {
    take_sizes(r, x, &z, axes, naxes);
  } else {
    size_t n = 0;
    const double *scales = ig_rd_floats(r, 2, &n);
    if (!scales || n != naxes) {
      ig_rd_fail(r, IG_INVALID, "%zu scales for %zu dimensions", n, naxes);
      return;
    }
    for (size_t i = 0; i < naxes && ig_rd_ok(r); i++) set_scale(r, x, &z, axes[i], scales[i]);
  }
  take_roi(r, &z, axes, naxes);
  finish(r, x, &z);
}

const ig_rd_row ig_rd_rows_resize[] = {
    {"Upsample", 7, read_upsample},
    {"Resize", 10, read_upsample},
    {"Resize", 11, read_resize},
    {NULL, 0, NULL},
};
