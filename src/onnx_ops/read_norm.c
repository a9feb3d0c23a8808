// SPDX-License-Identifier: Apache-2.0
// Normalizations, and Dropout.
#include <string.h>

#include "onnx_ops/twister.h"
#include "onnx_read/reader.h"

// [C] beside [N, C, ...]
static ig_tensor *channel(ig_rd *r, ig_tensor *t, const ig_tensor *x) {
  return t ? ig_rd_along(r, t, 1, x->ndim) : NULL;
}

// (x - mean) / sqrt(var + eps) * scale + bias, everything shaped to broadcast.
static ig_tensor *normalize(ig_rd *r, ig_tensor *x, ig_tensor *mean, ig_tensor *var, double eps) {
  ig_tensor *d = ig_rd_sub(r, x, mean);
  var = ig_rd_addn(r, var, eps);
  return var ? ig_rd_mul(r, d, ig_rsqrt(r->c, var)) : NULL;
}

static ig_tensor *scale_and_shift(ig_rd *r, ig_tensor *y, ig_tensor *scale, ig_tensor *bias) {
  if (scale) y = ig_rd_mul(r, y, scale);
  return bias ? ig_rd_add(r, y, bias) : y;
}

static bool same_types(const ig_tensor *const *ts, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (ts[i]->dtype != ts[0]->dtype) return false;
  }
  return true;
}

static void train_batch_norm(ig_rd *r, ig_tensor *x, ig_tensor *const *p, double eps) {
  int64_t dims[IG_MAX_DIM];
  ig_int list[IG_MAX_DIM];
  size_t n = 0;
  double momentum = ig_rd_attr_float(r, "momentum", 0.9);
  for (int d = 0; d < x->ndim; d++) {
    if (d == 1) continue;
    list[n] = ig_const(d);
    dims[n++] = d;
  }
  ig_tensor *mean = ig_rd_mean(r, x, dims, n, false);
  ig_tensor *var = ig_var_correction_with(r->c, x, ig_of_ints(list, n), ig_of_i64(0), false);
  ig_tensor *scale = channel(r, p[0], x);
  ig_tensor *bias = channel(r, p[1], x);
  ig_tensor *m = channel(r, mean, x);
  ig_tensor *y = normalize(r, x, m, channel(r, var, x), eps);
  ig_rd_out(r, 0, ig_cast(r->c, scale_and_shift(r, y, scale, bias), x->dtype));
  for (size_t i = 0; i < 2; i++) {
    ig_tensor *old = ig_rd_muln(r, p[2 + i], momentum);
    ig_tensor *fresh = ig_rd_muln(r, i ? var : mean, 1 - momentum);
    ig_tensor *sum = ig_rd_add(r, old, ig_cast(r->c, fresh, p[2 + i]->dtype));
    ig_rd_out(r, 1 + i, ig_cast(r->c, sum, p[2 + i]->dtype));
  }
}

static void read_batch_norm(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *p[4];
  for (size_t i = 0; i < 4; i++) p[i] = ig_rd_in(r, 1 + i);
  if (!x || !ig_rd_ok(r)) return;
  if (x->ndim < 2) {
    ig_rd_fail(r, IG_INVALID, "found %d dimensions, expected 2 or more", x->ndim);
    return;
  }
  double eps = ig_rd_attr_float(r, "epsilon", 1e-5);
  bool training = r->version >= 14 ? ig_rd_attr_int(r, "training_mode", 0) : ig_rd_wants(r, 1);
  if (r->version < 9 && !ig_rd_attr_int(r, "spatial", 1)) {
    ig_rd_fail(r, IG_UNSUPPORTED, "attribute 'spatial' = 0");
    return;
  }
  if (training) {
    train_batch_norm(r, x, p, eps);
    return;
  }
  const ig_tensor *all[] = {x, p[0], p[1], p[2], p[3]};
  if (same_types(all, 5)) {
    ig_rd_out(r, 0, ig_batch_norm(r->c, x, p[0], p[1], p[2], p[3], false, 0.1, eps, false));
    return;
  }
  ig_tensor *mean = channel(r, p[2], x);
  ig_tensor *y = normalize(r, x, mean, channel(r, p[3], x), eps);
  ig_tensor *scale = channel(r, p[0], x);
  ig_rd_out(r, 0, ig_cast(r->c, scale_and_shift(r, y, scale, channel(r, p[1], x)), x->dtype));
}

static ig_tensor *variance(ig_rd *r, ig_tensor *x, const int64_t *dims, size_t n) {
  ig_int list[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) list[i] = ig_const(dims[i]);
  return x ? ig_var_correction_with(r->c, x, ig_of_ints(list, n), ig_of_i64(0), true) : NULL;
}

static void read_instance_norm(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  ig_tensor *bias = ig_rd_in(r, 2);
  if (!x || !scale || !bias || x->ndim < 3) {
    ig_rd_fail(r, IG_INVALID, "expected 3 or more dimensions");
    return;
  }
  int64_t dims[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 2; d < x->ndim; d++) dims[n++] = d;
  ig_tensor *mean = ig_rd_mean(r, x, dims, n, true);
  ig_tensor *var = variance(r, x, dims, n);
  ig_tensor *y = normalize(r, x, mean, var, ig_rd_attr_float(r, "epsilon", 1e-5));
  scale = channel(r, scale, x);
  ig_rd_out(r, 0, scale_and_shift(r, y, scale, channel(r, bias, x)));
}

static ig_dtype stash(ig_rd *r, ig_dtype d) {
  ig_dtype to = ig_om_elem_dtype((int)ig_rd_attr_int(r, "stash_type", IG_OM_FLOAT));
  return d == IG_F64 || to == IG_DTYPE_COUNT ? d : to;
}

static void read_group_norm(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  ig_tensor *bias = ig_rd_in(r, 2);
  int64_t groups = ig_rd_attr_int(r, "num_groups", 0);
  if (!x || !scale || !bias || x->ndim < 2 || groups < 1) {
    ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions and 1 or more groups");
    return;
  }
  int64_t channels = ig_rd_plain(r, ig_rd_size(r, x, 1));
  if (channels % groups) {
    ig_rd_fail(r, IG_INVALID, "%lld groups of %lld channels", (long long)groups,
               (long long)channels);
    return;
  }
  ig_int sizes[3] = {ig_rd_size(r, x, 0), ig_const(groups), ig_const(-1)};
  static const int64_t last = 2;
  ig_tensor *t = ig_rd_reshape(r, ig_cast(r->c, x, stash(r, x->dtype)), sizes, 3);
  ig_tensor *mean = ig_rd_mean(r, t, &last, 1, true);
  ig_tensor *var = variance(r, t, &last, 1);
  t = normalize(r, t, mean, var, ig_rd_attr_float(r, "epsilon", 1e-5));
  if (r->version < 21) {  // one scale per group
    scale = ig_rd_along(r, scale, 1, 3);
    t = scale_and_shift(r, t, scale, ig_rd_along(r, bias, 1, 3));
    t = ig_rd_reshape(r, t, ig_sizes(x), (size_t)x->ndim);
  } else {
    t = ig_rd_reshape(r, t, ig_sizes(x), (size_t)x->ndim);
    t = ig_cast(r->c, t, x->dtype);
    scale = channel(r, scale, x);
    t = scale_and_shift(r, t, scale, channel(r, bias, x));
  }
  ig_rd_out(r, 0, ig_cast(r->c, t, x->dtype));
}

static size_t trailing(const ig_tensor *x, int axis, int64_t *dims) {
  size_t n = 0;
  for (int d = axis; d < x->ndim; d++) dims[n++] = d;
  return n;
}

static void read_layer_norm(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  ig_tensor *bias = ig_rd_opt(r, 2);
  if (!x || !scale || !ig_rd_ok(r)) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -1), x->ndim);
  double eps = ig_rd_attr_float(r, "epsilon", 1e-5);
  size_t n = (size_t)(x->ndim - axis);
  bool fits = scale->ndim == (int)n && (!bias || bias->ndim == (int)n) && !ig_rd_wants(r, 1) &&
              !ig_rd_wants(r, 2) && scale->dtype == x->dtype && x->dtype == stash(r, x->dtype);
  for (size_t d = 0; fits && d < n; d++) {
    fits = ig_int_eq(r->c, ig_sizes(scale)[d], ig_sizes(x)[(size_t)axis + d]);
    if (fits && bias) fits = ig_int_eq(r->c, ig_sizes(bias)[d], ig_sizes(x)[(size_t)axis + d]);
  }
  if (!ig_rd_ok(r)) return;
  if (fits) {
    ig_value shape = ig_of_ints(ig_sizes(x) + axis, n);
    ig_rd_out(r, 0, ig_layer_norm_with(r->c, x, shape, scale, bias, eps, false));
    return;
  }
  int64_t dims[IG_MAX_DIM];
  (void)trailing(x, axis, dims);
  ig_tensor *t = ig_cast(r->c, x, stash(r, x->dtype));
  ig_tensor *mean = ig_rd_mean(r, t, dims, n, true);
  ig_tensor *var = ig_rd_addn(r, variance(r, t, dims, n), eps);
  ig_tensor *inverse = var ? ig_rsqrt(r->c, var) : NULL;
  t = ig_rd_mul(r, ig_rd_sub(r, t, mean), inverse);
  t = ig_cast(r->c, t, x->dtype);
  ig_rd_out(r, 0, scale_and_shift(r, t, scale, bias));
  ig_rd_out(r, 1, mean);
  ig_rd_out(r, 2, inverse);
}

static void read_rms_norm(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  if (!x || !scale) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -1), x->ndim);
  int64_t dims[IG_MAX_DIM];
  size_t n = trailing(x, axis, dims);
  ig_tensor *t = ig_cast(r->c, x, stash(r, x->dtype));
  ig_tensor *square = t ? ig_mul_tensor(r->c, t, t) : NULL;
  ig_tensor *mean = ig_rd_mean(r, square, dims, n, true);
  mean = ig_rd_addn(r, mean, ig_rd_attr_float(r, "epsilon", 1e-5));
  t = mean ? ig_rd_mul(r, t, ig_rsqrt(r->c, mean)) : NULL;
  t = ig_cast(r->c, t, x->dtype);
  t = ig_rd_mul(r, t, scale);
  ig_rd_out(r, 0, ig_cast(r->c, t, scale->dtype));
}

static void read_lrn(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  int64_t size = ig_rd_attr_int(r, "size", 1);
  if (!x || x->ndim < 2 || size < 1 || size > 1 << 16) {
    ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions and a positive size");
    return;
  }
  int64_t before = (size - 1) / 2;
  ig_tensor *square = ig_mul_tensor(r->c, x, x);
  ig_int pads[2 * IG_MAX_DIM];
  size_t n = 0;
  for (int d = x->ndim - 1; d > 1; d--) {
    pads[n++] = ig_const(0);
    pads[n++] = ig_const(0);
  }
  pads[n++] = ig_const(before);
  pads[n++] = ig_const(size - 1 - before);
  square = square ? ig_constant_pad_nd(r->c, square, ig_of_ints(pads, n)) : NULL;
  ig_tensor *sum = NULL;
  for (int64_t i = 0; i < size && square; i++) {
    ig_value end = ig_of_int(ig_int_add(r->c, ig_rd_size(r, x, 1), ig_const(i)));
    ig_tensor *part =
        ig_slice_tensor_with(r->c, square, ig_const(1), ig_of_i64(i), end, ig_const(1));
    sum = sum ? ig_rd_add(r, sum, part) : part;
  }
  sum = ig_rd_muln(r, sum, ig_rd_attr_float(r, "alpha", 1e-4) / (double)size);
  sum = ig_rd_addn(r, sum, ig_rd_attr_float(r, "bias", 1));
  double beta = ig_rd_attr_float(r, "beta", 0.75);
  sum = sum ? ig_pow_tensor_scalar(r->c, sum, ig_of_f64(beta)) : NULL;
  ig_rd_out(r, 0, ig_rd_div(r, x, sum));
}

static void read_mean_variance(ig_rd *r) {
  static const int64_t usual[] = {0, 2, 3};
  ig_tensor *x = ig_rd_in(r, 0);
  size_t n = 0;
  const int64_t *axes = ig_rd_attr_ints(r, "axes", &n);
  if (!axes) {
    axes = usual;
    n = 3;
  }
  ig_tensor *mean = ig_rd_mean(r, x, axes, n, true);
  ig_tensor *d = ig_rd_sub(r, x, mean);
  ig_tensor *square = d ? ig_mul_tensor(r->c, d, d) : NULL;
  ig_tensor *var = ig_rd_mean(r, square, axes, n, true);
  ig_tensor *std = var ? ig_rd_addn(r, ig_sqrt(r->c, var), 1e-9) : NULL;
  ig_rd_out(r, 0, ig_rd_div(r, d, std));
}

// ---- Dropout

// With a seed the mask is that of the standard's own reference (a Mersenne twister, 53 bits).
static ig_tensor *seeded_mask(ig_rd *r, const ig_tensor *x, double ratio, int64_t seed) {
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) dims[d] = ig_rd_plain(r, ig_sizes(x)[d]);
  ig_tensor *mask = ig_rd_real(r, IG_BOOL, dims, x->ndim);
  ig_twister *tw = ig_scope_push(r->c, sizeof *tw);
  if (!mask || !tw) return NULL;
  ig_twister_seed(tw, (uint32_t)seed);
  for (int64_t i = 0; i < ig_tensor_numel(mask); i++) {
    ((bool *)ig_tensor_data(mask))[i] = ig_twister_double(tw) >= ratio;
  }
  return mask;
}

static ig_tensor *drop_mask(ig_rd *r, ig_tensor *x, double ratio) {
  const ig_om_attr *seed = ig_rd_attr(r, "seed");
  if (seed && seed->type == IG_OM_ATTR_INT && !ig_tensor_is_fake(x)) {
    return seeded_mask(r, x, ratio, seed->i);
  }
  ig_tensor *u =
      ig_rand_with(r->c, ig_sizes_of(x), ig_of_dtype(IG_F32), ig_none(), ig_none(), ig_none());
  return u ? ig_ge_scalar(r->c, u, ig_of_f64(ratio)) : NULL;
}

static void read_dropout(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  bool training = false;
  if (r->version >= 12 && ig_rd_has(r, 2)) training = ig_rd_one_const(r, 2) != 0;
  double ratio = r->version >= 12 ? ig_rd_has(r, 1) && training ? ig_rd_one_float(r, 1) : 0.5
                                  : ig_rd_attr_float(r, "ratio", 0.5);
  if (!training || ratio == 0) {
    ig_rd_out(r, 0, x);
    if (!ig_rd_wants(r, 1)) return;
    ig_dtype d = r->version >= 10 ? IG_BOOL : x->dtype;
    ig_rd_out(r, 1, ig_rd_full(r, ig_sizes(x), (size_t)x->ndim, 1, d));
    return;
  }
  ig_tensor *mask = drop_mask(r, x, ratio);
  ig_tensor *kept = ig_rd_mul(r, x, ig_cast(r->c, mask, x->dtype));
  ig_rd_out(r, 0, ratio < 1 ? ig_rd_muln(r, kept, 1 / (1 - ratio)) : kept);
  ig_rd_out(r, 1, mask);
}

const ig_rd_row ig_rd_rows_norm[] = {
    {"BatchNormalization", 1, read_batch_norm},
    {"InstanceNormalization", 1, read_instance_norm},
    {"GroupNormalization", 18, read_group_norm},
    {"LayerNormalization", 17, read_layer_norm},
    {"RMSNormalization", 23, read_rms_norm},
    {"LRN", 1, read_lrn},
    {"MeanVarianceNormalization", 9, read_mean_variance},
    {"Dropout", 1, read_dropout},
    {NULL, 0, NULL},
};
