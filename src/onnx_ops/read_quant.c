// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include "onnx_ops/quant.h"
#include "onnx_read/float8.h"

static bool range_of(int elem, double *low, double *high) {
  static const struct {
    int elem;
    double low;
    double high;
  } ranges[] = {{IG_OM_UINT8, 0, 255},
                {IG_OM_INT8, -128, 127},
                {IG_OM_UINT16, 0, 65535},
                {IG_OM_INT16, -32768, 32767},
                {IG_OM_UINT4, 0, 15},
                {IG_OM_INT4, -8, 7},
                {IG_OM_UINT2, 0, 3},
                {IG_OM_INT2, -2, 1},
                {IG_OM_INT32, -2147483648.0, 2147483647.0}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (ranges[i].elem != elem) continue;
    *low = ranges[i].low;
    *high = ranges[i].high;
    return true;
  }
  return false;
}

ig_tensor *ig_rd_quantize(ig_rd *r, ig_tensor *x, ig_tensor *zero, int elem, bool saturate) {
  double low = 0;
  double high = 0;
  if (!x) return NULL;
  if (ig_is_small_float(elem)) {
    if (zero) x = ig_rd_add(r, x, ig_cast(r->c, zero, x->dtype));
    return ig_rd_cast(r, x, ig_om_elem_of(x ? x->dtype : IG_F32), elem, saturate);
  }
  if (!range_of(elem, &low, &high)) {
    ig_rd_fail(r, IG_UNSUPPORTED, "quantization to %s", ig_om_elem_text(elem));
    return NULL;
  }
  x = ig_round(r->c, x);
  if (zero) x = ig_rd_add(r, x, ig_cast(r->c, zero, x ? x->dtype : IG_F32));
  x = x ? ig_clamp_with(r->c, x, ig_of_f64(low), ig_of_f64(high)) : NULL;
  return ig_cast(r->c, x, ig_rd_carrier(elem));
}

// A scale or zero point beside the elements of x: for all of them, per slice of an axis, or per
// block along it.
static ig_tensor *beside(ig_rd *r, ig_tensor *t, const ig_tensor *x) {
  if (!t || t->ndim == 0) return t;
  int64_t block = ig_rd_attr_int(r, "block_size", 0);
  int64_t given = ig_rd_attr_int(r, "axis", 1);
  if (t->ndim == 1 && x->ndim == 0) return ig_rd_reshape(r, t, NULL, 0);
  if (t->ndim == 1 && !block && ig_int_eq_i64(r->c, ig_rd_size(r, t, 0), 1)) {
    return ig_rd_reshape(r, t, NULL, 0);
  }
  int axis = ig_rd_axis(r, given, x->ndim);
  if (!ig_rd_ok(r)) return NULL;
  if (t->ndim == 1 && x->ndim != 1) return ig_rd_along(r, t, axis, x->ndim);
  if (!block || t->ndim != x->ndim) {
    if (t->ndim == 1) return t;
    ig_rd_fail(r, IG_MISMATCH, "scales of %d dimensions for an input of %d", t->ndim, x->ndim);
    return NULL;
  }
  if (block < 1 || block > (int64_t)1 << 40) {
    ig_rd_fail(r, IG_INVALID, "attribute 'block_size' is %lld", (long long)block);
    return NULL;
  }
  // The elements of a block share a scale; the last block may be cut off.
  int64_t blocks = ig_rd_plain(r, ig_sizes(t)[axis]);
  int64_t size = ig_rd_plain(r, ig_sizes(x)[axis]);
  if (blocks != (size + block - 1) / block) {
    ig_rd_fail(r, IG_MISMATCH, "%lld blocks of %lld for a dimension of %lld", (long long)blocks,
               (long long)block, (long long)size);
    return NULL;
  }
  ig_tensor *index = ig_rd_real(r, IG_I64, &size, 1);
  for (int64_t i = 0; index && i < size; i++) ((int64_t *)ig_tensor_data(index))[i] = i / block;
  return index ? ig_index_select(r->c, t, ig_const(axis), index) : NULL;
}

static int target_type(ig_rd *r) {
  if (ig_rd_has(r, 2)) return ig_rd_elem(r, 2);
  int elem = (int)ig_rd_attr_int(r, "output_dtype", 0);
  return elem ? elem : IG_OM_UINT8;
}

// Scales of E8M0 are powers of two, carried by float32 like any.
static void read_quantize(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  ig_tensor *zero = ig_rd_opt(r, 2);
  if (!x || !scale || !ig_rd_ok(r)) return;
  int elem = target_type(r);
  int64_t precision = ig_rd_attr_int(r, "precision", 0);
  ig_dtype d = precision                ? ig_om_elem_dtype((int)precision)
               : scale->dtype == IG_F64 ? IG_F64
                                        : IG_F32;
  if (d == IG_DTYPE_COUNT) d = IG_F32;
  scale = beside(r, ig_cast(r->c, scale, d), x);
  zero = beside(r, zero, x);
  ig_tensor *y = ig_rd_div(r, ig_cast(r->c, x, d), scale);
  bool saturate = ig_rd_attr_int(r, "saturate", 1);
  ig_rd_out_elem(r, 0, ig_rd_quantize(r, ig_cast(r->c, y, IG_F32), zero, elem, saturate), elem);
}

static void read_dequantize(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *scale = ig_rd_in(r, 1);
  ig_tensor *zero = ig_rd_opt(r, 2);
  if (!x || !scale || !ig_rd_ok(r)) return;
  int scale_elem = ig_rd_elem(r, 1);
  int out = (int)ig_rd_attr_int(r, "output_dtype", 0);
  if (!out) out = scale_elem == IG_OM_F8E8M0 ? IG_OM_FLOAT : scale_elem;
  bool whole = ig_dtype_is_integral(x->dtype);
  ig_dtype work = whole ? IG_I32 : IG_F32;
  ig_tensor *t = ig_cast(r->c, x, work);
  if (zero) t = ig_rd_sub(r, t, beside(r, ig_cast(r->c, zero, work), x));
  scale = beside(r, ig_cast(r->c, scale, IG_F32), x);
  t = ig_rd_mul(r, ig_cast(r->c, t, IG_F32), scale);
  ig_rd_out_elem(r, 0, ig_rd_cast(r, t, IG_OM_FLOAT, out, true), out);
}

static void read_dynamic_quantize(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  if (!x) return;
  ig_tensor *high = ig_amax(r->c, x);
  ig_tensor *low = ig_amin(r->c, x);
  high = high ? ig_clamp_min(r->c, high, ig_of_i64(0)) : NULL;
  low = low ? ig_clamp_max(r->c, low, ig_of_i64(0)) : NULL;
  ig_tensor *span = ig_rd_sub(r, high, low);
  ig_tensor *scale = span ? ig_div_scalar(r->c, span, ig_of_f64(255)) : NULL;
  ig_tensor *zero = low && scale ? ig_neg(r->c, ig_div_tensor(r->c, low, scale)) : NULL;
  zero = zero ? ig_clamp_with(r->c, ig_round(r->c, zero), ig_of_i64(0), ig_of_i64(255)) : NULL;
  ig_tensor *y = ig_rd_quantize(r, ig_rd_div(r, x, scale), zero, IG_OM_UINT8, true);
  ig_rd_out(r, 0, y);
  ig_rd_out(r, 1, scale);
  ig_rd_out(r, 2, ig_cast(r->c, zero, IG_U8));
}

const ig_rd_row ig_rd_rows_quant[] = {
    {"QuantizeLinear", 10, read_quantize},
    {"DequantizeLinear", 10, read_dequantize},
    {"DynamicQuantizeLinear", 11, read_dynamic_quantize},
    {NULL, 0, NULL},
};
