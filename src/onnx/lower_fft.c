// SPDX-License-Identifier: Apache-2.0
// Fourier transforms in the forms that ONNX has: over one dim; forward without a factor, back with
// 1 / n. Of a real signal all or half of the frequencies; back to a real signal from all of them.
#include <math.h>

#include "onnx/lower.h"
#include "op/shape.h"

enum { BY_NONE, BY_ROOT, BY_N };  // normalization

static ig_int size_of(ig_ctx *c, const ig_tensor *t, ig_int dim) {
  return ig_sizes(t)[ig_wrap_dim(c, dim.value, t->ndim)];
}

static ig_tensor *one_dim(ig_ctx *c, ig_tensor *z, ig_int dim, bool forward) {
  return ig__fft_c2c(c, z, ig_of_ints(&dim, 1), ig_const(forward ? BY_NONE : BY_N), forward);
}

// t times n ^ exponent for every size n; sizes may be known only when the model runs.
static ig_tensor *scaled(ig_ctx *c, ig_tensor *t, const ig_int *sizes, size_t n, double exponent) {
  double known = 1;
  for (size_t i = 0; i < n && exponent != 0; i++) {
    if (!sizes[i].expr) {
      known *= pow((double)sizes[i].value, exponent);
      continue;
    }
    ig_value none = ig_none();
    ig_value real = ig_of_dtype(ig_to_real(t->dtype));
    ig_tensor *size = ig_scalar_tensor_with(c, ig_of_int(sizes[i]), real, none, none, none);
    t = ig_mul_tensor(c, t, ig_pow_tensor_scalar(c, size, ig_of_f64(exponent)));
  }
  return known == 1 ? t : ig_mul_scalar(c, t, ig_of_f64(known));
}

// What is left to multiply with when the transform back has already divided by n.
static double exponent_of(int64_t normalization, bool forward) {
  double wanted = normalization == BY_N ? -1 : normalization == BY_ROOT ? -0.5 : 0;
  return forward ? wanted : wanted + 1;
}

static bool is_plain(const ig_value *args, bool forward) {
  return args[1].ints.n == 1 && args[2].i.value == (forward ? BY_NONE : BY_N);
}

// self, dim, normalization, forward
static bool complex_to_complex(ig_ctx *c, const ig_value *args, ig_value *outs) {
  bool forward = args[3].b;
  if (is_plain(args, forward)) return false;  // has a row
  ig_tensor *z = args[0].tensor;
  ig_int sizes[IG_MAX_DIM];
  size_t n = args[1].ints.n;
  for (size_t i = 0; i < n; i++) sizes[i] = size_of(c, z, args[1].ints.at[i]);
  for (size_t i = 0; i < n && z; i++) z = one_dim(c, z, args[1].ints.at[i], forward);
  if (z) z = scaled(c, z, sizes, n, exponent_of(args[2].i.value, forward));
  outs[0] = ig_of_tensor(z);
  return true;
}

// self, dim, normalization, onesided: the last dim is the one with half of the frequencies.
static bool real_to_complex(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (is_plain(args, true)) return false;
  const ig_tensor *t = args[0].tensor;
  ig_int sizes[IG_MAX_DIM];
  size_t n = args[1].ints.n;
  for (size_t i = 0; i < n; i++) sizes[i] = size_of(c, t, args[1].ints.at[i]);
  ig_value last = ig_of_ints(&args[1].ints.at[n - 1], 1);
  ig_tensor *z = ig__fft_r2c(c, args[0].tensor, last, ig_const(BY_NONE), args[3].b);
  for (size_t i = 0; i + 1 < n && z; i++) z = one_dim(c, z, args[1].ints.at[i], true);
  if (z) z = scaled(c, z, sizes, n, exponent_of(args[2].i.value, true));
  outs[0] = ig_of_tensor(z);
  return true;
}

// The frequencies of a real signal of n samples from the first half of them: the others are the
// conjugates in reverse.
static ig_tensor *whole(ig_ctx *c, ig_tensor *half, ig_int dim, ig_int n) {
  ig_int count = ig_int_sub(c, n, ig_int_floordiv(c, n, ig_const(2)));  // ceil(n / 2)
  ig_value from = ig_of_int(ig_const(1));
  ig_value kept = ig_of_int(ig_int_add(c, ig_int_floordiv(c, n, ig_const(2)), ig_const(1)));
  ig_value first = ig_of_int(ig_const(0));
  half = ig_slice_tensor_with(c, half, dim, first, kept, ig_const(1));
  ig_tensor *rest = ig_slice_tensor_with(c, half, dim, from, ig_of_int(count), ig_const(1));
  rest = ig__conj(c, ig_flip(c, rest, ig_of_ints(&dim, 1)));
  ig_value both[] = {ig_of_tensor(half), ig_of_tensor(rest)};
  return ig_cat_with(c, ig_of_list(both, 2), dim);
}

// self, dim, normalization, last_dim_size
static bool complex_to_real(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *z = args[0].tensor;
  size_t n = args[1].ints.n;
  ig_int sizes[IG_MAX_DIM];
  for (size_t i = 0; i + 1 < n; i++) sizes[i] = size_of(c, z, args[1].ints.at[i]);
  sizes[n - 1] = args[3].i;
  for (size_t i = 0; i + 1 < n && z; i++) z = one_dim(c, z, args[1].ints.at[i], false);
  ig_int last = ig_const(ig_wrap_dim(c, args[1].ints.at[n - 1].value, args[0].tensor->ndim));
  if (z) z = whole(c, z, last, args[3].i);
  if (z) z = one_dim(c, z, last, false);
  ig_tensor *out = z ? ig_select_int(c, ig_view_as_real(c, z), ig_const(-1), ig_const(0)) : NULL;
  if (out) out = scaled(c, out, sizes, n, exponent_of(args[2].i.value, false));
  outs[0] = ig_of_tensor(out);
  return true;
}

bool ig_onnx_is_fft(const ig_op *op) {
  return op->number == IG_ID__FFT_C2C || op->number == IG_ID__FFT_R2C ||
         op->number == IG_ID__FFT_C2R;
}

bool ig_onnx_lower_fft(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  // A tensor without dims has no axis that DFT could transform.
  bool dims = args[1].kind == IG_KIND_INTS && args[1].ints.n > 0 && args[1].ints.n <= IG_MAX_DIM;
  if (!dims || args[0].tensor->ndim == 0) return false;
  if (op->number == IG_ID__FFT_C2C) return complex_to_complex(c, args, outs);
  return op->number == IG_ID__FFT_R2C ? real_to_complex(c, args, outs)
                                      : complex_to_real(c, args, outs);
}
