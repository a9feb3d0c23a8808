// SPDX-License-Identifier: Apache-2.0
// Short-time Fourier transforms: frames of a signal, times a window, transformed; and back, by
// adding the frames up where they came from.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

enum { BY_ROOT_N = 1, BY_N = 2 };

// What both directions are given.
typedef struct frames {
  const char *name;
  int64_t n_fft;
  int64_t hop;
  int64_t length;     // of the window
  ig_tensor *window;  // NULL: ones
} frames;

static bool is_given(const ig_value *v) {
  return v->kind != IG_KIND_NONE;
}

static bool frames_make(ig_ctx *c, const ig_value *a, const char *name, frames *f) {
  f->name = name;
  f->n_fft = ig_value_i64(c, &a[1]);
  f->hop = is_given(&a[2]) ? ig_value_i64(c, &a[2]) : f->n_fft >> 2;
  f->length = is_given(&a[3]) ? ig_value_i64(c, &a[3]) : f->n_fft;
  f->window = ig_value_tensor(&a[4]);
  if (f->hop <= 0) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected hop_length > 0, but got hop_length=%lld", name,
                 (long long)f->hop);
  } else if (f->length <= 0 || f->length > f->n_fft) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected 0 < win_length <= n_fft, but got win_length=%lld",
                 name, (long long)f->length);
  } else if (f->window &&
             (f->window->ndim != 1 || !ig_int_eq_i64(c, ig_sizes(f->window)[0], f->length))) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: expected a 1D window tensor of size equal to win_length=%lld, but got window "
                 "with size %s",
                 name, (long long)f->length,
                 ig_sizes_text(c, ig_sizes(f->window), (size_t)f->window->ndim));
  }
  return c->status == IG_OK;
}

// The window in the middle of n_fft elements; NULL if it is all ones and not needed.
static ig_tensor *window_of(ig_ctx *c, const frames *f, const ig_tensor *like, bool always) {
  ig_tensor *w = f->window;
  if (!w && !always && f->length == f->n_fft) return NULL;
  if (!w) {
    ig_int size = ig_const(f->length);
    w = ig_ones_with(c, ig_of_ints(&size, 1), ig_of_dtype(ig_to_real(like->dtype)), ig_none(),
                     ig_of_device(like->device), ig_none());
  }
  if (f->length == f->n_fft) return w;
  int64_t left = (f->n_fft - f->length) / 2;
  ig_int pad[] = {ig_const(left), ig_const(f->n_fft - f->length - left)};
  return ig_constant_pad_nd(c, w, ig_of_ints(pad, 2));
}

// self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex
static ig_tensor *transform(ig_ctx *c, ig_tensor *x, const ig_value *a, const ig_value *rest) {
  frames f;
  if (!x) return NULL;
  if (!ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "stft: expected a tensor of floating point or complex values, but "
                 "got %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  if (x->ndim < 1 || x->ndim > 2) {
    ig_fail_text(c, IG_RUNTIME, "stft: expected a 1D or 2D tensor, but got %d dimensions", x->ndim);
    return NULL;
  }
  f.n_fft = ig_value_i64(c, &a[1]);
  ig_int all = ig_sizes(x)[x->ndim - 1];
  if (f.n_fft <= 0 || ig_int_is(c, all, IG_LT, ig_const(f.n_fft))) {
    ig_fail_text(c, IG_RUNTIME, "stft: expected 0 < n_fft < %s, but got n_fft=%lld",
                 ig_int_text(c, all), (long long)f.n_fft);
    return NULL;
  }
  if (!frames_make(c, a, "stft", &f)) return NULL;
  bool complex =
      ig_dtype_is_complex(x->dtype) || (f.window && ig_dtype_is_complex(f.window->dtype));
  if (!is_given(&rest[2]) && !complex) {
    ig_fail_text(c, IG_RUNTIME,
                 "stft requires the return_complex parameter be given for real inputs, and will "
                 "further require that return_complex=True in a future PyTorch release.");
    return NULL;
  }
  bool half = is_given(&rest[1]) ? rest[1].b : !complex;
  if (half && complex) {
    ig_fail_text(c, IG_RUNTIME, "Cannot have onesided output if window or input is complex");
    return NULL;
  }
  bool single = x->ndim == 1;
  ig_tensor *w = window_of(c, &f, x, false);
  if (single) x = ig_unsqueeze(c, x, ig_const(0));
  x = ig_unfold(c, x, ig_const(-1), ig_const(f.n_fft), ig_const(f.hop));
  if (w) x = ig_mul_tensor(c, x, w);
  ig_int dim = ig_const(2);
  ig_value dims = ig_of_ints(&dim, 1);
  ig_int norm = ig_const(rest[0].b ? BY_ROOT_N : 0);
  x = complex ? ig__fft_c2c(c, x, dims, norm, true) : ig__fft_r2c(c, x, dims, norm, half);
  x = ig_transpose_int(c, x, ig_const(1), ig_const(2));
  if (single) x = ig_squeeze_dim(c, x, ig_const(0));
  bool as_complex = is_given(&rest[2]) ? rest[2].b : complex;
  return as_complex ? x : ig_view_as_real(c, x);
}
static ig_tensor *stft(ig_ctx *c, const ig_value *a) {
  return transform(c, a[0].tensor, a, a + 5);
}
// The same with center, pad_mode before normalized: half a frame more on both sides.
static ig_tensor *stft_center(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  if (a[5].b && x->ndim >= 1 && x->ndim <= 2) {
    int n = x->ndim;
    ig_int half = ig_const(ig_value_i64(c, &a[1]) / 2);
    ig_int pad[] = {half, half};
    ig_int sizes[3] = {ig_const(1), ig_const(1), ig_const(1)};
    for (int d = 0; d < n; d++) sizes[3 - n + d] = ig_sizes(x)[d];
    x = ig_view(c, x, ig_of_ints(sizes, 3));
    x = ig_pad_with(c, x, ig_of_ints(pad, 2), a[6], ig_none());
    if (!x) return NULL;
    x = ig_view(c, x, ig_of_ints(ig_sizes(x) + 3 - n, (size_t)n));
  }
  return transform(c, x, a, a + 7);
}

// Overlap-add of y [batch, frames, n_fft].
static ig_tensor *overlap(ig_ctx *c, ig_tensor *y, ig_int batch, ig_int length, const frames *f) {
  ig_int sizes[] = {batch, length};
  return ig_unfold_backward(c, y, ig_of_ints(sizes, 2), ig_const(1), ig_const(f->n_fft),
                            ig_const(f->hop));
}
static void check_envelope(ig_ctx *c, ig_tensor *envelope) {
  ig_value low[IG_MAX_RETURNS];
  if (c->mode->capture || c->mode->fake || !envelope || c->status != IG_OK) return;
  ig_tensor *least = ig_min(c, ig_abs(c, envelope));
  ig_item(c, least, low);
  if (c->status == IG_OK && ig_value_f64(&low[0]) < 1e-11) {
    ig_fail_text(c, IG_RUNTIME,
                 "istft: window overlap add min: 1 (the windows do not cover the whole signal)");
  }
}
static bool check_spectrum(ig_ctx *c, const ig_tensor *x) {
  if (!ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "istft requires a complex-valued input tensor matching the output from stft with "
                 "return_complex=True.");
  } else if (x->ndim < 2 || x->ndim > 3) {
    ig_fail_text(c, x->ndim < 2 ? IG_BAD_INDEX : IG_RUNTIME,
                 "istft: expected a tensor with 2 or 3 dimensions, but got %d", x->ndim);
  }
  return c->status == IG_OK;
}
static bool check_frames(ig_ctx *c, const ig_tensor *x, const frames *f, bool half,
                         bool as_complex) {
  ig_int bins = ig_sizes(x)[x->ndim - 2];
  ig_int count = ig_sizes(x)[x->ndim - 1];
  if (ig_int_eq_i64(c, count, 0) || ig_int_eq_i64(c, bins, 0)) {
    ig_fail_text(c, IG_RUNTIME, "istft: input tensor cannot be empty.");
  } else if (!ig_int_eq_i64(c, bins, half ? f->n_fft / 2 + 1 : f->n_fft)) {
    ig_fail_text(c, IG_RUNTIME,
                 "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
                 "match n_fft%s when onesided=%s, but got %s",
                 half ? " / 2 + 1" : "", half ? "True" : "False", ig_int_text(c, bins));
  } else if (f->hop > f->length) {
    ig_fail_text(c, IG_RUNTIME, "istft: expected 0 < hop_length <= win_length");
  } else if (as_complex && half) {
    ig_fail_text(c, IG_RUNTIME, "Cannot have onesided output if window or input is complex");
  } else if (!as_complex && f->window && ig_dtype_is_complex(f->window->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "Complex windows are incompatible with return_complex=False");
  }
  return c->status == IG_OK;
}
// Frames in time [batch, frames, n_fft] of a spectrum [batch, frames, bins].
static ig_tensor *in_time(ig_ctx *c, ig_tensor *x, const frames *f, ig_int norm, bool half,
                          bool as_complex) {
  ig_int dim = ig_const(2);
  ig_value dims = ig_of_ints(&dim, 1);
  if (as_complex) return ig__fft_c2c(c, x, dims, norm, false);
  if (!half) {
    x = ig_slice_tensor_with(c, x, ig_const(-1), ig_of_i64(0), ig_of_i64(f->n_fft / 2 + 1),
                             ig_const(1));
  }
  return ig__fft_c2r(c, x, dims, norm, ig_const(f->n_fft));
}
// self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
static ig_tensor *istft(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  frames f;
  if (!check_spectrum(c, x) || !frames_make(c, a, "istft", &f)) return NULL;
  ig_int count = ig_sizes(x)[x->ndim - 1];
  bool half = is_given(&a[7]) ? a[7].b : !ig_int_eq_i64(c, ig_sizes(x)[x->ndim - 2], f.n_fft);
  if (!check_frames(c, x, &f, half, a[9].b)) return NULL;
  bool single = x->ndim == 2;
  ig_tensor *w = window_of(c, &f, x, true);
  if (single) x = ig_unsqueeze(c, x, ig_const(0));
  x = ig_transpose_int(c, x, ig_const(1), ig_const(2));
  x = in_time(c, x, &f, ig_const(a[6].b ? BY_ROOT_N : BY_N), half, a[9].b);
  if (!x || !w) return NULL;
  ig_int row[] = {ig_const(1), ig_const(1), ig_const(f.n_fft)};
  ig_int wide[] = {ig_const(1), count, ig_const(f.n_fft)};
  ig_int hops = ig_int_mul(c, ig_const(f.hop), ig_int_sub(c, count, ig_const(1)));
  ig_int whole = ig_int_add(c, ig_const(f.n_fft), hops);
  ig_tensor *placed = ig_view(c, w, ig_of_ints(row, 3));
  ig_tensor *y = overlap(c, ig_mul_tensor(c, x, placed), ig_sizes(x)[0], whole, &f);
  ig_tensor *square = ig_pow_tensor_scalar(c, w, ig_of_i64(2));
  square = ig_expand(c, square, ig_of_ints(wide, 3));
  ig_tensor *envelope = overlap(c, square, ig_const(1), whole, &f);
  int64_t begin = a[5].b ? f.n_fft / 2 : 0;
  bool fixed = is_given(&a[8]);
  ig_int end = fixed    ? ig_int_add(c, ig_const(begin), ig_const(ig_value_i64(c, &a[8])))
               : a[5].b ? ig_int_sub(c, whole, ig_const(f.n_fft / 2))
                        : whole;
  ig_value from = ig_of_i64(begin);
  y = ig_slice_tensor_with(c, y, ig_const(1), from, ig_of_int(end), ig_const(1));
  envelope = ig_slice_tensor_with(c, envelope, ig_const(1), from, ig_of_int(end), ig_const(1));
  check_envelope(c, envelope);
  y = ig_div_tensor(c, y, envelope);
  if (single) y = ig_squeeze_dim(c, y, ig_const(0));
  if (!y || !fixed || !ig_int_is(c, whole, IG_LT, end)) return y;
  ig_int pad[] = {ig_const(0), ig_int_sub(c, end, whole)};
  return ig_constant_pad_nd(c, y, ig_of_ints(pad, 2));
}

IG_OP(stft) = {
    .schema =
        "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
        "window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = stft,
    .samples =
        "f32[12], 4, return_complex=True | f32[2,12], 6, 2, 4, f32[4], True, None, False | "
        "c64[12], 4, 3 | f64[12], 5, 2, 3, None, False, False, True",
    .waive =
        "special: an infinity makes NaN of whole frames; refusal: other texts; strides: those of "
        "the transform",
};
IG_OP(stft_center) = {
    .schema =
        "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
        "Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, "
        "bool? onesided=None, bool? return_complex=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = stft_center,
    .samples =
        "f32[12], 4, return_complex=True | f32[2,12], 6, 2, 4, f32[4], True, 'constant', "
        "return_complex=True | f32[12], 4, 2, center=False, return_complex=True",
    .waive =
        "special: an infinity makes NaN of whole frames; refusal: other texts; strides: those of "
        "the transform",
};
IG_OP(istft) = {
    .schema =
        "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
        "window=None, bool center=True, bool normalized=False, bool? onesided=None, int? "
        "length=None, bool return_complex=False) -> Tensor",
    .decompose = istft,
    .samples =
        "c64[3,5], 4 | c128[2,4,5], 6, 2, 4, f64[4]:+, True, True | c64[3,5], 4, length=9 | "
        "c64[4,5], 4, None, None, None, True, False, False, None, True | c64[3,5], 4, length=3",
    .waive = "refusal: other texts",
};
