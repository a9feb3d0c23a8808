// SPDX-License-Identifier: Apache-2.0
// Convolutions: plain, transposed, deformable; Col2Im; causal with state.
#include <math.h>
#include <string.h>

#include "onnx_ops/window.h"

// are group and channels consistent?
static bool check_groups(ig_rd *r, const ig_tensor *x, const ig_tensor *w, int64_t group,
                         bool transposed) {
  if (x->ndim != w->ndim || x->ndim < 3) {
    ig_rd_fail(r, IG_MISMATCH, "input has %d dimensions, weight %d", x->ndim, w->ndim);
    return false;
  }
  int64_t out = ig_rd_plain(r, ig_rd_size(r, w, 0));
  if (group < 1 || out % group) {
    ig_rd_fail(r, IG_INVALID, "group %lld does not divide %lld channels", (long long)group,
               (long long)out);
    return false;
  }
  ig_int per = ig_rd_size(r, w, transposed ? 0 : 1);
  if (!transposed) per = ig_int_mul(r->c, per, ig_const(group));
  if (!ig_int_eq(r->c, per, ig_rd_size(r, x, 1))) {
    ig_rd_fail(r, IG_MISMATCH, "the channels of input and weight do not fit group %lld",
               (long long)group);
    return false;
  }
  return ig_rd_ok(r);
}

static bool read_window(ig_rd *r, const ig_tensor *x, const ig_tensor *w, ig_rd_window *win) {
  int64_t kernel[IG_WINDOW_MAX];
  for (int i = 0; i < w->ndim - 2 && i < IG_WINDOW_MAX; i++) {
    kernel[i] = ig_rd_plain(r, ig_rd_size(r, w, 2 + i));
    if (kernel[i] < 1) {
      ig_rd_fail(r, IG_INVALID, "a kernel of size %lld", (long long)kernel[i]);
      return false;
    }
  }
  return ig_rd_window_read(r, x, kernel, win);
}

static ig_tensor *convolve(ig_rd *r, ig_tensor *x, ig_tensor *w, ig_tensor *b,
                           const ig_rd_window *win, int64_t group) {
  static const int64_t zeros[IG_WINDOW_MAX];
  const int64_t *pad = win->before;
  if (!win->symmetric) {
    x = ig_rd_window_pad(r, x, win->before, win->after, win->n, 0);
    pad = zeros;
  }
  if (!x) return NULL;
  ig_value stride = ig_rd_window_list(r, win->stride, win->n);
  ig_value padding = ig_rd_window_list(r, pad, win->n);
  ig_value dilation = ig_rd_window_list(r, win->dilation, win->n);
  ig_value none = ig_rd_window_list(r, zeros, win->n);
  return ig_convolution(r->c, x, w, b, stride, padding, dilation, false, none, ig_const(group));
}

static void read_conv(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *w = ig_rd_in(r, 1);
  ig_tensor *b = ig_rd_opt(r, 2);
  int64_t group = ig_rd_attr_int(r, "group", 1);
  ig_rd_window win;
  if (!x || !w || !check_groups(r, x, w, group, false) || !read_window(r, x, w, &win)) return;
  ig_rd_out(r, 0, convolve(r, x, w, b, &win, group));
}

// ---- transposed

// What has to be cropped (or padded, if negative) at both ends of the full result.
static bool transposed_pads(ig_rd *r, const ig_tensor *x, ig_rd_window *w, const int64_t *extra) {
  const char *how = ig_rd_attr_text(r, "auto_pad", "NOTSET");
  bool same = strncmp(how, "SAME", 4) == 0;
  size_t n = 0;
  const int64_t *shape = ig_rd_attr_ints(r, "output_shape", &n);
  if (shape && n > (size_t)w->n) shape += n - (size_t)w->n;
  if (!same && !(shape && n)) return ig_rd_ok(r);
  if (shape && n && n < (size_t)w->n) {
    ig_rd_fail(r, IG_INVALID, "attribute 'output_shape' has %zu elements, expected %d", n, w->n);
    return false;
  }
  for (int i = 0; i < w->n; i++) {
    int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
    int64_t full = (size - 1) * w->stride[i] + extra[i] + ig_rd_window_reach(w, i);
    int64_t want = shape && n ? shape[i] : size * w->stride[i];
    if (want < 1 || want > (int64_t)1 << 40) {
      ig_rd_fail(r, IG_INVALID, "dimension %d of the output has size %lld", 2 + i, (long long)want);
      return false;
    }
    int64_t total = full - want;
    int64_t half = total < 0 ? 0 : total / 2;
    bool upper = strcmp(how, "SAME_UPPER") == 0;
    w->before[i] = upper || total < 0 ? half : total - half;
    w->after[i] = total - w->before[i];
  }
  w->symmetric = false;
  return ig_rd_ok(r);
}

static bool direct(const ig_rd_window *w, const int64_t *extra) {
  bool ok = w->symmetric;
  for (int i = 0; i < w->n; i++) {
    ok &= extra[i] >= 0 && (extra[i] < w->stride[i] || extra[i] < w->dilation[i]);
  }
  return ok;
}

static void read_conv_transpose(ig_rd *r) {
  static const int64_t zeros[IG_WINDOW_MAX];
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *w = ig_rd_in(r, 1);
  ig_tensor *b = ig_rd_opt(r, 2);
  int64_t group = ig_rd_attr_int(r, "group", 1);
  ig_rd_window win;
  if (!x || !w || !check_groups(r, x, w, group, true) || !read_window(r, x, w, &win)) return;
  size_t n = 0;
  int64_t extra[IG_WINDOW_MAX] = {0};
  const int64_t *given = ig_rd_attr_ints(r, "output_padding", &n);
  for (int i = 0; i < win.n && given && n == (size_t)win.n; i++) {
    if (given[i] < 0 || given[i] > 1 << 20) {
      ig_rd_fail(r, IG_INVALID, "attribute 'output_padding' has %lld", (long long)given[i]);
      return;
    }
    extra[i] = given[i];
  }
  if (!transposed_pads(r, x, &win, extra)) return;
  bool whole = direct(&win, extra);
  ig_value stride = ig_rd_window_list(r, win.stride, win.n);
  ig_value dilation = ig_rd_window_list(r, win.dilation, win.n);
  ig_value padding = ig_rd_window_list(r, whole ? win.before : zeros, win.n);
  ig_value more = ig_rd_window_list(r, whole ? extra : zeros, win.n);
  ig_tensor *y = ig_convolution(r->c, x, w, whole ? b : NULL, stride, padding, dilation, true, more,
                                ig_const(group));
  if (!whole) {
    int64_t before[IG_WINDOW_MAX];
    int64_t after[IG_WINDOW_MAX];
    for (int i = 0; i < win.n; i++) {
      before[i] = -win.before[i];
      after[i] = extra[i] - win.after[i];
    }
    y = ig_rd_window_pad(r, y, before, after, win.n, 0);
    if (b) y = ig_rd_add(r, y, ig_rd_along(r, b, 1, x->ndim));
  }
  ig_rd_out(r, 0, y);
}

// ---- causal, with the end of the last input as state

static void read_causal_conv(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *w = ig_rd_in(r, 1);
  ig_tensor *b = ig_rd_opt(r, 2);
  ig_tensor *past = ig_rd_opt(r, 3);
  if (!x || !w || !ig_rd_ok(r)) return;
  if (x->ndim != 3 || w->ndim != 3) {
    ig_rd_fail(r, IG_INVALID, "expected 3 dimensions");
    return;
  }
  int64_t k = ig_rd_plain(r, ig_rd_size(r, w, 2));
  ig_int sizes[3] = {ig_rd_size(r, x, 0), ig_rd_size(r, x, 1), ig_const(k - 1)};
  if (!past) past = ig_rd_full(r, sizes, 3, 0, x->dtype);
  ig_tensor *parts[2] = {past, x};
  ig_tensor *all = ig_rd_cat(r, parts, 2, 2);
  ig_int one = ig_const(1);
  ig_int zero = ig_const(0);
  ig_value ones = ig_of_ints(&one, 1);
  ig_value zeros = ig_of_ints(&zero, 1);
  ig_tensor *y =
      all ? ig_convolution(r->c, all, w, b, ones, zeros, ones, false, zeros, ig_rd_size(r, x, 1))
          : NULL;
  const char *activation = ig_rd_attr_text(r, "activation", "none");
  if (strcmp(activation, "none") != 0 && y) y = ig_mul_tensor(r->c, y, ig_sigmoid(r->c, y));
  ig_rd_out(r, 0, y);
  if (!ig_rd_wants(r, 1) || !all) return;
  ig_value end = ig_of_int(ig_rd_size(r, all, 2));
  ig_value start = ig_of_int(ig_int_sub(r->c, ig_rd_size(r, all, 2), ig_const(k - 1)));
  ig_rd_out(r, 1, ig_slice_tensor_with(r->c, all, ig_const(2), start, end, ig_const(1)));
}

// ---- Col2Im: blocks are added into an image of any number of dimensions

typedef struct blocks {
  int n;
  int64_t image[IG_WINDOW_MAX];
  int64_t block[IG_WINDOW_MAX];
  int64_t count[IG_WINDOW_MAX];  // of positions
  ig_rd_window w;
} blocks;

static void add_block(const blocks *b, const float *column, int64_t stride, float *image,
                      const int64_t *offset) {
  int64_t at[IG_WINDOW_MAX] = {0};
  for (;;) {
    int64_t flat = 0;
    bool inside = true;
    for (int i = 0; i < b->n; i++) {
      int64_t p = at[i] * b->w.stride[i] + offset[i] * b->w.dilation[i] - b->w.before[i];
      inside &= p >= 0 && p < b->image[i];
      flat = flat * b->image[i] + p;
    }
    if (inside) image[flat] += *column;
    column += stride;
    int i = b->n - 1;
    while (i >= 0 && ++at[i] == b->count[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

static bool blocks_read(ig_rd *r, const ig_tensor *x, blocks *b) {
  size_t n = 0;
  size_t nblock = 0;
  const int64_t *image = ig_rd_consts(r, 1, &n);
  const int64_t *block = ig_rd_consts(r, 2, &nblock);
  if (!image || !block || n != nblock || n < 1 || n > IG_WINDOW_MAX || x->ndim != 3) {
    ig_rd_fail(r, IG_INVALID, "expected 3 dimensions and shapes of one length");
    return false;
  }
  b->n = (int)n;
  ig_tensor like = {.ndim = (int)n + 2};
  ig_int dims[2 * (IG_WINDOW_MAX + 2)];
  like.dims = dims;
  dims[0] = dims[1] = ig_const(1);
  for (size_t i = 0; i < n; i++) {
    if (image[i] < 1 || block[i] < 1 || image[i] > 1 << 24 || block[i] > 1 << 24) {
      ig_rd_fail(r, IG_INVALID, "a size out of range");
      return false;
    }
    dims[2 + i] = ig_const(image[i]);
    b->image[i] = image[i];
    b->block[i] = block[i];
  }
  if (!ig_rd_window_read(r, &like, block, &b->w)) return false;
  for (int i = 0; i < b->n; i++) {
    int64_t room = image[i] + b->w.before[i] + b->w.after[i] - ig_rd_window_reach(&b->w, i);
    b->count[i] = room < 0 ? 0 : room / b->w.stride[i] + 1;
  }
  return true;
}

// Two dimensions: with the pads as part of the image, which are cut off afterwards.
static ig_tensor *flat_col2im(ig_rd *r, ig_tensor *x, const blocks *b) {
  static const int64_t zeros[2];
  int64_t size[2] = {b->image[0], b->image[1]};
  for (int i = 0; i < 2 && !b->w.symmetric; i++) size[i] += b->w.before[i] + b->w.after[i];
  const int64_t *pads = b->w.symmetric ? b->w.before : zeros;
  ig_tensor *y =
      ig_col2im(r->c, x, ig_rd_window_list(r, size, 2), ig_rd_window_list(r, b->block, 2),
                ig_rd_window_list(r, b->w.dilation, 2), ig_rd_window_list(r, pads, 2),
                ig_rd_window_list(r, b->w.stride, 2));
  for (int i = 0; i < 2 && !b->w.symmetric && y; i++)
    y = ig_rd_slice(r, y, 2 + i, b->w.before[i], b->w.before[i] + b->image[i], 1);
  return y;
}

static void read_col2im(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  blocks b;
  if (!x || !blocks_read(r, x, &b)) return;
  bool padded = b.n == 2;
  for (int i = 0; i < b.n; i++) padded &= b.w.before[i] >= 0 && b.w.after[i] >= 0;
  if (padded) {
    ig_rd_out(r, 0, flat_col2im(r, x, &b));
    return;
  }
  int64_t positions = 1;
  int64_t per_block = 1;
  int64_t pixels = 1;
  int64_t dims[IG_WINDOW_MAX + 2];
  for (int i = 0; i < b.n; i++) {
    positions *= b.count[i];
    pixels *= b.image[i];
    if (!ig_checked_mul(per_block, b.block[i], &per_block)) per_block = INT64_MAX;
    dims[2 + i] = b.image[i];
  }
  ig_int rows = ig_rd_size(r, x, 1);
  if (ig_rd_differs(ig_rd_size(r, x, 2), positions) || (!rows.expr && rows.value % per_block)) {
    ig_rd_fail(r, IG_MISMATCH, "the columns do not fit the blocks");
    return;
  }
  const float *data = ig_rd_bytes(r, x, IG_F32);
  if (!data) return;
  dims[0] = ig_rd_size(r, x, 0).value;  // concrete: x has bytes
  dims[1] = rows.value / per_block;
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, b.n + 2);
  if (!out || positions == 0) return;
  float *image = ig_tensor_data(out);
  memset(image, 0, (size_t)ig_tensor_numel(out) * sizeof *image);
  for (int64_t row = 0; row < dims[0] * rows.value; row++) {
    int64_t offset[IG_WINDOW_MAX];
    int64_t k = row % per_block;
    for (int i = b.n - 1; i >= 0; i--) {
      offset[i] = k % b.block[i];
      k /= b.block[i];
    }
    add_block(&b, data + row * positions, 1, image + row / per_block * pixels, offset);
  }
  ig_rd_out(r, 0, ig_cast(r->c, out, x->dtype));
}

// ---- deformable

typedef struct deform {
  const float *x;       // [n, c, h, w]
  const float *w;       // [oc, c/group, kh, kw]
  const float *offset;  // [n, og*kh*kw*2, oh, ow]
  const float *mask;    // [n, og*kh*kw, oh, ow]; NULL: ones
  const float *bias;
  int64_t c, h, wd, oc, oh, ow, group, og;
  ig_rd_window win;
} deform;

static float pixel(const deform *d, const float *plane, int64_t y, int64_t x) {
  return y >= 0 && y < d->h && x >= 0 && x < d->wd ? plane[y * d->wd + x] : 0;
}

static float bilinear(const deform *d, const float *plane, float y, float x) {
  if (!(y > -1 && y < (float)d->h && x > -1 && x < (float)d->wd)) return 0;
  float fy = floorf(y);
  float fx = floorf(x);
  float dy = y - fy;
  float dx = x - fx;
  int64_t y0 = (int64_t)fy;
  int64_t x0 = (int64_t)fx;
  return (1 - dy) * ((1 - dx) * pixel(d, plane, y0, x0) + dx * pixel(d, plane, y0, x0 + 1)) +
         dy * ((1 - dx) * pixel(d, plane, y0 + 1, x0) + dx * pixel(d, plane, y0 + 1, x0 + 1));
}

static float deform_at(const deform *d, int64_t n, int64_t oc, int64_t oy, int64_t ox) {
  int64_t kh = d->win.kernel[0];
  int64_t kw = d->win.kernel[1];
  int64_t per = d->c / d->group;
  int64_t first = oc / (d->oc / d->group) * per;
  float sum = d->bias ? d->bias[oc] : 0;
  for (int64_t i = 0; i < per; i++) {
    int64_t g = (first + i) / (d->c / d->og);
    const float *plane = d->x + (n * d->c + first + i) * d->h * d->wd;
    for (int64_t k = 0; k < kh * kw; k++) {
      int64_t slot = (n * d->og + g) * kh * kw + k;
      const float *off = d->offset + slot * 2 * d->oh * d->ow + oy * d->ow + ox;
      int64_t row = k / kw;
      int64_t column = k % kw;
      int64_t at_y = oy * d->win.stride[0] - d->win.before[0] + row * d->win.dilation[0];
      int64_t at_x = ox * d->win.stride[1] - d->win.before[1] + column * d->win.dilation[1];
      float y = (float)at_y;
      float x = (float)at_x;
      float v = bilinear(d, plane, y + off[0], x + off[d->oh * d->ow]);
      if (d->mask) v *= d->mask[slot * d->oh * d->ow + oy * d->ow + ox];
      sum += v * d->w[(oc * per + i) * kh * kw + k];
    }
  }
  return sum;
}

// Sizes that are still symbols are taken to fit; data, which a kernel needs, has none.
static bool deform_fits(const deform *d, int64_t n, const ig_tensor *off, const ig_tensor *mask) {
  int64_t points = 0;
  int64_t coordinates = 0;
  if (!ig_checked_mul(d->win.kernel[0] * d->win.kernel[1], d->og, &points) ||
      !ig_checked_mul(points, 2, &coordinates)) {
    return false;
  }
  const int64_t offset[] = {n, coordinates, d->oh, d->ow};
  const int64_t weight[] = {n, points, d->oh, d->ow};
  if (off->ndim != 4 || (mask && mask->ndim != 4)) return false;
  for (int i = 0; i < 4; i++) {
    if (ig_rd_differs(ig_sizes(off)[i], offset[i])) return false;
    if (mask && ig_rd_differs(ig_sizes(mask)[i], weight[i])) return false;
  }
  return true;
}

static void read_deform_conv(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *w = ig_rd_in(r, 1);
  ig_tensor *off = ig_rd_in(r, 2);
  ig_tensor *b = ig_rd_opt(r, 3);
  ig_tensor *mask = ig_rd_opt(r, 4);
  deform d = {.group = ig_rd_attr_int(r, "group", 1), .og = ig_rd_attr_int(r, "offset_group", 1)};
  if (!x || !w || !off || !check_groups(r, x, w, d.group, false)) return;
  if (x->ndim != 4 || !read_window(r, x, w, &d.win)) {
    ig_rd_fail(r, IG_UNSUPPORTED, "deformable convolution of %d dimensions", x->ndim - 2);
    return;
  }
  if (ig_tensor_is_symbolic(x) || ig_tensor_is_symbolic(w) || (b && ig_tensor_is_symbolic(b))) {
    (void)ig_rd_bytes(r, x, IG_F32);  // says that it can only be run
    return;
  }
  int64_t n = ig_rd_size(r, x, 0).value;
  d.c = ig_rd_size(r, x, 1).value;
  d.h = ig_rd_size(r, x, 2).value;
  d.wd = ig_rd_size(r, x, 3).value;
  d.oc = ig_rd_size(r, w, 0).value;
  d.oh =
      (d.h + d.win.before[0] + d.win.after[0] - ig_rd_window_reach(&d.win, 0)) / d.win.stride[0] +
      1;
  d.ow =
      (d.wd + d.win.before[1] + d.win.after[1] - ig_rd_window_reach(&d.win, 1)) / d.win.stride[1] +
      1;
  bool bias_fits = !b || ig_tensor_numel(b) == d.oc;
  if (d.og < 1 || d.og > d.c || d.c % d.og || d.oh < 1 || d.ow < 1 || !bias_fits ||
      !deform_fits(&d, n, off, mask)) {
    ig_rd_fail(r, IG_MISMATCH, "offset, mask or bias do not fit the windows");
    return;
  }
  d.x = ig_rd_bytes(r, x, IG_F32);
  d.w = ig_rd_bytes(r, w, IG_F32);
  d.offset = ig_rd_bytes(r, off, IG_F32);
  d.mask = mask ? ig_rd_bytes(r, mask, IG_F32) : NULL;
  d.bias = b ? ig_rd_bytes(r, b, IG_F32) : NULL;
  if (!ig_rd_ok(r)) return;
  int64_t dims[4] = {n, d.oc, d.oh, d.ow};
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, 4);
  float *to = out ? ig_tensor_data(out) : NULL;
  for (int64_t i = 0; to && i < ig_tensor_numel(out); i++) {
    to[i] = deform_at(&d, i / (d.oc * d.oh * d.ow), i / (d.oh * d.ow) % d.oc, i / d.ow % d.oh,
                      i % d.ow);
  }
  ig_rd_out(r, 0, ig_cast(r->c, out, x->dtype));
}

const ig_rd_row ig_rd_rows_conv[] = {
    {"Conv", 1, read_conv},
    {"ConvTranspose", 1, read_conv_transpose},
    {"CausalConvWithState", 27, read_causal_conv},
    {"Col2Im", 18, read_col2im},
    {"DeformConv", 19, read_deform_conv},
    {NULL, 0, NULL},
};
