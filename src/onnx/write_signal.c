// SPDX-License-Identifier: Apache-2.0
// ONNX of transforms of signals.
#include <math.h>

#include "onnx/writer.h"

enum { SELF, N_FFT, HOP, WIN_LENGTH, WINDOW, NORMALIZED, ONESIDED, RETURN_COMPLEX };

static bool given(const ig_value *v) {
  return v->kind != IG_KIND_NONE;
}

// A real signal whose transform is pairs of numbers: ONNX has no complex ones.
static bool stft_can(int opset, const ig_value *args, size_t n) {
  const ig_tensor *self = n > RETURN_COMPLEX ? ig_onnx_tensor_of(&args[SELF]) : NULL;
  bool pairs = self && args[RETURN_COMPLEX].kind == IG_KIND_BOOL && !args[RETURN_COMPLEX].b;
  return opset >= 17 && pairs && ig_dtype_is_float(self->dtype) && self->ndim >= 1 &&
         self->ndim <= 2;
}

// The window in the middle of a frame; without one, ones.
static const char *window_of(ig_onnx *x, const ig_onnx_call *call, ig_dtype d, int64_t frame) {
  int64_t length =
      given(&call->args[WIN_LENGTH]) ? ig_onnx_int_of(x, &call->args[WIN_LENGTH]) : frame;
  const char *window = given(&call->args[WINDOW]) ? ig_onnx_operand(x, &call->args[WINDOW], d)
                                                  : ig_onnx_filled(x, d, length, 1);
  if (length >= frame) return window;
  int64_t left = (frame - length) / 2;
  const int64_t pads[] = {left, frame - length - left};
  return ig_onnx_emit2(x, "Pad", window, ig_onnx_vector(x, pads, 2), NULL);
}

// self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex
static void stft(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  const ig_tensor *self = ig_onnx_tensor_of(&a[SELF]);
  ig_dtype d = call->val->dtype;
  int64_t frame = ig_onnx_int_of(x, &a[N_FFT]);
  int64_t hop = given(&a[HOP]) ? ig_onnx_int_of(x, &a[HOP]) : frame / 4;
  bool half = !given(&a[ONESIDED]) || ig_onnx_bool_of(x, &a[ONESIDED]);
  const char *in = ig_onnx_operand(x, &a[SELF], d);
  if (self->ndim == 1) in = ig_onnx_unsqueeze(x, in, 0, NULL);
  in = ig_onnx_unsqueeze(x, in, -1, NULL);
  const char *step = ig_onnx_integer(x, IG_I64, hop);
  const char *window = window_of(x, call, d, frame);
  const char *length = ig_onnx_integer(x, IG_I64, frame);
  const char *out = ig_onnx_emit(x, &(ig_onnx_node){.op_type = "STFT",
                                                    .in = {in, step, window, length},
                                                    .attrs = {ig_onnx_int("onesided", half)}});
  const int64_t order[] = {0, 2, 1, 3};  // frequencies before frames
  out = ig_onnx_emit(
      x, &(ig_onnx_node){
             .op_type = "Transpose", .in = {out}, .attrs = {ig_onnx_ints("perm", order, 4)}});
  if (self->ndim == 1) out = ig_onnx_squeeze(x, out, 0, NULL);
  if (ig_onnx_bool_of(x, &a[NORMALIZED])) {
    out = ig_onnx_emit2(x, "Div", out, ig_onnx_number(x, d, sqrt((double)frame)), NULL);
  }
  (void)ig_onnx_finish(x, call, out, d);
}

// ---- Fourier transforms of pairs (lower_fft.c)

enum { DIM = 1, NORMALIZATION, LAST };  // LAST: onesided or forward

static bool dft_can(int opset, const ig_value *args, size_t n, bool back) {
  const ig_tensor *t = n > LAST ? ig_onnx_tensor_of(&args[SELF]) : NULL;
  if (opset < 17 || !t || t->ndim == 0) return false;
  const ig_value *dim = &args[DIM];
  size_t dims = dim->kind == IG_KIND_INTS   ? dim->ints.n
                : dim->kind == IG_KIND_LIST ? dim->list.n
                                            : 0;
  return dims == 1 && args[NORMALIZATION].i.value == (back ? 2 : 0);
}

static bool c2c_can(int opset, const ig_value *args, size_t n) {
  return dft_can(opset, args, n, n > LAST && !args[LAST].b);
}

static bool r2c_can(int opset, const ig_value *args, size_t n) {
  return dft_can(opset, args, n, false);
}

static void dft(ig_onnx *x, const ig_onnx_call *call, const char *in, bool back, bool half) {
  int ndim = ig_onnx_tensor_of(&call->args[SELF])->ndim;
  int64_t dims[1] = {0};
  (void)ig_onnx_int_list(x, &call->args[DIM], dims, 1, 0);
  int64_t axis = dims[0] < 0 ? dims[0] + ndim : dims[0];
  ig_onnx_node node = {.op_type = "DFT", .in = {in}, .out = call->out};
  size_t n = 0;
  node.attrs[n++] = ig_onnx_int("inverse", back);
  node.attrs[n++] = ig_onnx_int("onesided", half);
  if (x->opset >= 20) {
    node.in[1] = "";  // the whole length
    node.in[2] = ig_onnx_integer(x, IG_I64, axis);
  } else {
    node.attrs[n] = ig_onnx_int("axis", axis);
  }
  (void)ig_onnx_emit(x, &node);
}

static void c2c(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = ig_onnx_operand(x, &call->args[SELF], IG_DTYPE_COUNT);
  dft(x, call, in, !ig_onnx_bool_of(x, &call->args[LAST]), false);
}

static void r2c(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = ig_onnx_operand(x, &call->args[SELF], IG_DTYPE_COUNT);
  dft(x, call, ig_onnx_unsqueeze(x, in, -1, NULL), false, ig_onnx_bool_of(x, &call->args[LAST]));
}

static void same_pairs(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_same(x, ig_onnx_operand(x, &call->args[SELF], IG_DTYPE_COUNT), call->out);
}

const ig_onnx_row ig_onnx_complex[] = {
    {"aten._fft_c2c.default", c2c, NULL, c2c_can},
    {"aten._fft_r2c.default", r2c, NULL, r2c_can},
    {"aten.view_as_complex.default", same_pairs, NULL, NULL},
    {"aten.view_as_real.default", same_pairs, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

bool ig_onnx_row_takes_complex(const ig_onnx_row *row) {
  for (const ig_onnx_row *own = ig_onnx_complex; own->target; own++) {
    if (own == row) return true;
  }
  return false;
}

const ig_onnx_row ig_onnx_signal[] = {
    {"aten.stft.default", stft, NULL, stft_can},
    {NULL, NULL, NULL, NULL},
};
