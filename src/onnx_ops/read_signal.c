// SPDX-License-Identifier: Apache-2.0
// Signals: DFT, STFT, windows, mel filters. A transform is a product with a matrix of cosines and
// sines, which every engine can run and every capture can record.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"

static const double pi = 3.14159265358979323846;
enum { MAX_LENGTH = 1 << 15 };

// cos or sin of -2 pi k n / length as [n, k] of the given dtype
static ig_tensor *wave(ig_rd *r, int64_t rows, int64_t columns, int64_t length, bool sine,
                       double sign, ig_dtype dtype) {
  int64_t dims[2] = {rows, columns};
  if (length > MAX_LENGTH || length < 1) {
    ig_rd_fail(r, IG_UNSUPPORTED, "a transform of length %lld", (long long)length);
    return NULL;
  }
  ig_tensor *t = ig_rd_real(r, IG_F64, dims, 2);
  double *at = t ? ig_tensor_data(t) : NULL;
  for (int64_t i = 0; at && i < rows * columns; i++) {
    double angle = 2 * pi * (double)(i / columns * (i % columns) % length) / (double)length;
    at[i] = sine ? sign * sin(angle) : cos(angle);
  }
  return ig_cast(r->c, t, dtype);
}

typedef struct dft {
  int64_t length;  // of the transform
  int64_t bins;    // of its result
  bool inverse;
  bool onesided;
} dft;

// re, im: [..., n] with n = length; results [..., bins]. im NULL: real.
static void transform(ig_rd *r, const dft *d, ig_tensor *re, ig_tensor *im, ig_tensor **out_re,
                      ig_tensor **out_im) {
  double sign = d->inverse ? 1 : -1;
  ig_dtype t = re ? re->dtype : IG_F32;
  ig_tensor *cosine = wave(r, d->length, d->bins, d->length, false, 1, t);
  ig_tensor *sine = wave(r, d->length, d->bins, d->length, true, sign, t);
  if (!cosine || !sine || !re) return;
  *out_re = ig_matmul(r->c, re, cosine);
  *out_im = ig_matmul(r->c, re, sine);
  if (im) {
    *out_re = ig_rd_sub(r, *out_re, ig_matmul(r->c, im, sine));
    *out_im = ig_rd_add(r, *out_im, ig_matmul(r->c, im, cosine));
  }
  if (!d->inverse) return;
  *out_re = ig_rd_muln(r, *out_re, 1 / (double)d->length);
  *out_im = ig_rd_muln(r, *out_im, 1 / (double)d->length);
}

// Zeros behind, or a cut, along the last dimension.
static ig_tensor *fit(ig_rd *r, ig_tensor *t, int64_t length) {
  if (!t) return NULL;
  int64_t n = ig_rd_plain(r, ig_rd_size(r, t, -1));
  ig_int pads[2] = {ig_const(0), ig_const(length - n)};
  return n == length ? t : ig_constant_pad_nd(r->c, t, ig_of_ints(pads, 2));
}

// Half a spectrum back to the whole: the rest is its mirror image.
static ig_tensor *whole_spectrum(ig_rd *r, ig_tensor *t, int64_t length, bool imaginary) {
  if (!t) return NULL;
  int64_t half = length / 2 + 1;
  t = fit(r, t, half);
  ig_int last = ig_const(-1);
  ig_tensor *mirror = ig_rd_slice(r, t, -1, 1, length - half + 1, 1);
  mirror = mirror ? ig_flip(r->c, mirror, ig_of_ints(&last, 1)) : NULL;
  if (imaginary && mirror) mirror = ig_neg(r->c, mirror);
  return mirror ? ig_rd_cat(r, (ig_tensor *[]){t, mirror}, 2, -1) : NULL;
}

static ig_tensor *complex_pair(ig_rd *r, ig_tensor *re, ig_tensor *im) {
  return re && im ? ig_rd_stack(r, (ig_tensor *[]){re, im}, 2, re->ndim) : NULL;
}

static void read_dft(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x || x->ndim < 2) {
    ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions");
    return;
  }
  dft d = {.inverse = ig_rd_attr_int(r, "inverse", 0),
           .onesided = ig_rd_attr_int(r, "onesided", 0)};
  int64_t given = r->version < 20   ? ig_rd_attr_int(r, "axis", 1)
                  : ig_rd_has(r, 2) ? ig_rd_one_const(r, 2)
                                    : -2;
  int axis = ig_rd_axis(r, given, x->ndim);
  if (!ig_rd_ok(r) || axis == x->ndim - 1) {
    ig_rd_fail(r, IG_INVALID, "axis %lld is that of the complex numbers", (long long)given);
    return;
  }
  bool is_complex = ig_int_eq_i64(r->c, ig_rd_size(r, x, -1), 2);
  if (!is_complex && !ig_int_eq_i64(r->c, ig_rd_size(r, x, -1), 1))
    ig_rd_fail(r, IG_INVALID, "the last dimension must be 1 (real) or 2 (complex)");
  int64_t size = ig_rd_plain(r, ig_sizes(x)[axis]);
  bool back = d.inverse && d.onesided;
  d.length = ig_rd_has(r, 1) ? ig_rd_one_const(r, 1) : back ? 2 * (size - 1) : size;
  d.bins = d.onesided && !d.inverse ? d.length / 2 + 1 : d.length;
  if (!ig_rd_ok(r)) return;
  ig_int from = ig_const(axis);
  ig_int to = ig_const(x->ndim - 2);
  ig_tensor *re = ig_movedim_int(r->c, ig_rd_select(r, x, x->ndim - 1, 0), from, to);
  ig_tensor *im =
      is_complex ? ig_movedim_int(r->c, ig_rd_select(r, x, x->ndim - 1, 1), from, to) : NULL;
  re = back ? whole_spectrum(r, re, d.length, false) : fit(r, re, d.length);
  if (im) im = back ? whole_spectrum(r, im, d.length, true) : fit(r, im, d.length);
  ig_tensor *out[2] = {NULL, NULL};
  transform(r, &d, re, im, &out[0], &out[1]);
  for (int i = 0; i < 2 && ig_rd_ok(r); i++) out[i] = ig_movedim_int(r->c, out[i], to, from);
  ig_rd_out(r, 0, back ? ig_rd_unsqueeze(r, out[0], x->ndim - 1) : complex_pair(r, out[0], out[1]));
}

static void read_stft(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  int64_t step = ig_rd_one_const(r, 1);
  ig_tensor *window = ig_rd_opt(r, 2);
  if (!x || !ig_rd_ok(r)) return;
  int64_t length = ig_rd_has(r, 3) ? ig_rd_one_const(r, 3)
                   : window        ? ig_rd_plain(r, ig_rd_size(r, window, 0))
                                   : 0;
  dft d = {.length = length, .onesided = ig_rd_attr_int(r, "onesided", 1)};
  d.bins = d.onesided ? length / 2 + 1 : length;
  bool is_complex = x->ndim == 3 && ig_int_eq_i64(r->c, ig_rd_size(r, x, 2), 2);
  if (x->ndim < 2 || x->ndim > 3 || step < 1 || length < 1 || (is_complex && d.onesided)) {
    ig_rd_fail(r, IG_INVALID, "expected [batch, length, 1 or 2], a positive step and frame length");
    return;
  }
  if (window && (window->ndim != 1 || ig_rd_plain(r, ig_rd_size(r, window, 0)) != length)) {
    ig_rd_fail(r, IG_MISMATCH, "the window does not have the length of a frame");
    return;
  }
  ig_tensor *parts[2] = {x->ndim == 3 ? ig_rd_select(r, x, 2, 0) : x,
                         is_complex ? ig_rd_select(r, x, 2, 1) : NULL};
  for (int i = 0; i < 2; i++) {
    if (!parts[i]) continue;
    parts[i] = ig_unfold(r->c, parts[i], ig_const(1), ig_const(length), ig_const(step));
    if (window) parts[i] = ig_rd_mul(r, parts[i], window);
  }
  ig_tensor *out[2] = {NULL, NULL};
  if (ig_rd_ok(r)) transform(r, &d, parts[0], parts[1], &out[0], &out[1]);
  ig_rd_out(r, 0, complex_pair(r, out[0], out[1]));
}

// ---- windows: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)

static void window(ig_rd *r, double a0, double a1, double a2) {
  int64_t size = ig_rd_one_const(r, 0);
  int64_t elem = ig_rd_attr_int(r, "output_datatype", IG_OM_FLOAT);
  if (!ig_rd_ok(r)) return;
  if (size < 0 || elem <= 0 || elem >= IG_OM_ELEM_COUNT) {
    ig_rd_fail(r, IG_INVALID, "a window of size %lld", (long long)size);
    return;
  }
  double n = (double)(ig_rd_attr_int(r, "periodic", 1) ? size : size - 1);
  ig_tensor *t = ig_rd_real(r, IG_F64, &size, 1);
  for (int64_t i = 0; t && i < size; i++) {
    double x = n > 0 ? 2 * pi * (double)i / n : 0;
    ((double *)ig_tensor_data(t))[i] = a0 - a1 * cos(x) + a2 * cos(2 * x);
  }
  ig_rd_out_elem(r, 0, ig_rd_cast(r, t, IG_OM_DOUBLE, (int)elem, true), (int)elem);
}
static void read_hann(ig_rd *r) {
  window(r, 0.5, 0.5, 0);
}
static void read_hamming(ig_rd *r) {
  window(r, 25.0 / 46, 1 - 25.0 / 46, 0);
}
static void read_blackman(ig_rd *r) {
  window(r, 0.42, 0.5, 0.08);
}

static void read_mel(ig_rd *r) {
  int64_t nmel = ig_rd_one_const(r, 0);
  int64_t length = ig_rd_one_const(r, 1);
  int64_t rate = ig_rd_one_const(r, 2);
  double low = ig_rd_one_float(r, 3);
  double high = ig_rd_one_float(r, 4);
  int64_t elem = ig_rd_attr_int(r, "output_datatype", IG_OM_FLOAT);
  if (!ig_rd_ok(r)) return;
  if (nmel < 1 || nmel > 1 << 20 || length < 1 || length > 1 << 24 || rate < 1 || elem <= 0 ||
      elem >= IG_OM_ELEM_COUNT || !(low >= 0 && high > low)) {
    ig_rd_fail(r, IG_INVALID, "sizes or frequencies out of range");
    return;
  }
  int64_t dims[2] = {length / 2 + 1, nmel};
  ig_tensor *t = ig_rd_real(r, IG_F64, dims, 2);
  int64_t *bins = ig_scope_array(r->c, (size_t)(nmel + 2), sizeof *bins);
  if (!t || !bins) return;
  double *at = ig_tensor_data(t);
  memset(at, 0, (size_t)(dims[0] * nmel) * sizeof *at);
  double mel_low = 2595 * log10(1 + low / 700);
  double step = (2595 * log10(1 + high / 700) - mel_low) / (double)(nmel + 2);
  for (int64_t i = 0; i < nmel + 2; i++) {
    double hz = 700 * (pow(10, ((double)i * step + mel_low) / 2595) - 1);
    double bin = floor((double)(length + 1) * hz / (double)rate);
    bins[i] = bin < 0 ? 0 : bin > (double)dims[0] ? dims[0] : (int64_t)bin;
  }
  for (int64_t i = 0; i < nmel; i++) {
    int64_t a = bins[i];
    int64_t b = bins[i + 1];
    int64_t c = bins[i + 2];
    for (int64_t k = a; k < b && k < dims[0]; k++) {
      at[k * nmel + i] = (double)(k - a) / (double)(b - a);
    }
    if (b < dims[0]) at[b * nmel + i] = 1;
    for (int64_t k = b; k < c && k < dims[0]; k++)
      at[k * nmel + i] = (double)(c - k) / (double)(c - b);
  }
  ig_rd_out_elem(r, 0, ig_rd_cast(r, t, IG_OM_DOUBLE, (int)elem, true), (int)elem);
}

const ig_rd_row ig_rd_rows_signal[] = {
    {"DFT", 17, read_dft},
    {"STFT", 17, read_stft},
    {"HannWindow", 17, read_hann},
    {"HammingWindow", 17, read_hamming},
    {"BlackmanWindow", 17, read_blackman},
    {"MelWeightMatrix", 17, read_mel},
    {NULL, 0, NULL},
};
