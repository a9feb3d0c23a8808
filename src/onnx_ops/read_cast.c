// SPDX-License-Identifier: Apache-2.0
// Cast, CastLike, BitCast; strings from and to numbers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_read/float8.h"
#include "onnx_read/reader.h"

enum { NUMBER_TEXT = 40 };

// The shortest decimal form that reads back as the same number.
static int print_float(double v, bool single, char *out) {
  if (isnan(v)) return snprintf(out, NUMBER_TEXT, "NaN");
  if (isinf(v)) return snprintf(out, NUMBER_TEXT, v < 0 ? "-INF" : "INF");
  int n = 0;
  for (int digits = 1; digits <= 17; digits++) {
    n = snprintf(out, NUMBER_TEXT, "%.*g", digits, v);
    double back = strtod(out, NULL);
    if (single ? (float)back == (float)v : back == v) break;
  }
  return n;
}

static void to_strings(ig_rd *r, ig_tensor *t) {
  bool single = t->dtype != IG_F64;
  bool real = ig_dtype_is_float(t->dtype);
  int64_t n = ig_tensor_numel(t);
  const void *from = ig_rd_bytes(r, t, real ? IG_F64 : IG_I64);
  ig_bytes *texts = ig_scope_array(r->c, (size_t)n, sizeof *texts);
  char *room = ig_scope_array(r->c, (size_t)n + 1, NUMBER_TEXT);
  if (!from || !texts || !room) return;
  for (int64_t i = 0; i < n; i++) {
    char *at = room + i * NUMBER_TEXT;
    int len = real ? print_float(((const double *)from)[i], single, at)
                   : snprintf(at, NUMBER_TEXT, "%lld", (long long)((const int64_t *)from)[i]);
    texts[i] = (ig_bytes){(uint8_t *)at, (size_t)len};
  }
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;  // concrete: t has bytes
  ig_rd_out_val(r, 0, ig_rd_of_strings(r, texts, (size_t)n, dims, t->ndim));
}

static void from_strings(ig_rd *r, const ig_rd_value *v, int to, bool saturate) {
  bool whole = ig_dtype_is_integral(ig_rd_carrier(to)) || to == IG_OM_BOOL;
  ig_tensor *t = ig_rd_real(r, whole ? IG_I64 : IG_F64, v->dims, v->ndim);
  for (size_t i = 0; t && i < v->nstrings; i++) {
    char text[128];
    char *end = text;
    if (v->strings[i].n == 0 || v->strings[i].n >= sizeof text) {
      ig_rd_fail(r, IG_INVALID, "string %zu is not a number", i);
      return;
    }
    memcpy(text, v->strings[i].at, v->strings[i].n);
    text[v->strings[i].n] = 0;
    if (whole) {
      ((int64_t *)ig_tensor_data(t))[i] = strtoll(text, &end, 10);
      if (*end) ((int64_t *)ig_tensor_data(t))[i] = (int64_t)strtod(text, &end);
    } else {
      ((double *)ig_tensor_data(t))[i] = strtod(text, &end);
    }
    if (*end) {
      ig_rd_fail(r, IG_INVALID, "string '%.40s' is not a number", text);
      return;
    }
  }
  int from = whole ? IG_OM_INT64 : IG_OM_DOUBLE;
  ig_rd_out_elem(r, 0, ig_rd_cast(r, t, from, to, saturate), to);
}

// Rounding of scales to E8M0 may be asked for.
static bool round_e8m0(ig_rd *r, ig_tensor *t, bool saturate) {
  const char *mode = ig_rd_attr_text(r, "round_mode", "up");
  const float *from = ig_rd_bytes(r, t, IG_F32);
  int64_t dims[IG_MAX_DIM];
  if (!from) return false;
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;  // concrete: t has bytes
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, t->ndim);
  float *at = out ? ig_tensor_data(out) : NULL;
  for (int64_t i = 0; at && i < ig_tensor_numel(out); i++) {
    at[i] = ig_small_to_f32(IG_OM_F8E8M0, ig_e8m0_from_f32(from[i], saturate, mode));
  }
  ig_rd_out_elem(r, 0, out, IG_OM_F8E8M0);
  return true;
}

static void cast_to(ig_rd *r, int to) {
  ig_rd_value *v = ig_rd_val(r, 0);
  bool saturate = ig_rd_attr_int(r, "saturate", 1);
  if (!v) return;
  if (v->kind == IG_RD_STRINGS) {
    if (to == IG_OM_STRING) {
      ig_rd_out_val(r, 0, v);
    } else {
      from_strings(r, v, to, saturate);
    }
    return;
  }
  ig_tensor *t = ig_rd_tensor(r, v);
  if (!t) return;
  if (to == IG_OM_STRING) {
    to_strings(r, t);
  } else if (to == IG_OM_F8E8M0 && v->elem != to) {
    (void)round_e8m0(r, t, saturate);
  } else {
    ig_rd_out_elem(r, 0, ig_rd_cast(r, t, v->elem, to, saturate), to);
  }
}

static void read_cast(ig_rd *r) {
  const ig_om_attr *a = ig_rd_attr(r, "to");
  int to = IG_OM_UNDEFINED;
  if (a && a->type == IG_OM_ATTR_INT) to = a->i > 0 && a->i < IG_OM_ELEM_COUNT ? (int)a->i : 0;
  if (a && a->type == IG_OM_ATTR_STRING) {  // opset 1 wrote names
    for (int i = 1; i < IG_OM_ELEM_COUNT && !to; i++) {
      if (ig_rd_text_is(a->s, ig_om_elem_text(i))) to = i;
    }
  }
  if (to) {
    cast_to(r, to);
  } else {
    ig_rd_fail(r, IG_INVALID, "attribute 'to' names no type");
  }
}

static void read_cast_like(ig_rd *r) {
  const ig_rd_value *like = ig_rd_val(r, 1);
  if (like) cast_to(r, like->kind == IG_RD_STRINGS ? IG_OM_STRING : like->elem);
}

// One element through its code: the bits of `from` read as `to`.
static void recode(int from, int to, float value, ig_tensor *out, int64_t i) {
  unsigned bits = ig_om_elem_bits(to);
  uint8_t mask = (uint8_t)(bits >= 8 ? 0xff : (1u << bits) - 1);
  uint8_t code = ig_is_small_float(from) ? ig_small_from_f32(from, value, false)
                                         : (uint8_t)((int)value & mask);
  if (out->dtype == IG_F32) {
    ((float *)ig_tensor_data(out))[i] = ig_small_to_f32(to, code);
    return;
  }
  bool is_signed = to == IG_OM_INT4 || to == IG_OM_INT2;
  bool negative = is_signed && code >> (bits - 1);
  ((uint8_t *)ig_tensor_data(out))[i] = negative ? (uint8_t)(code | (uint8_t)~mask) : code;
}

static void read_bit_cast(ig_rd *r) {
  int from = ig_rd_elem(r, 0);
  int to = (int)ig_rd_attr_int(r, "to", 0);
  ig_tensor *t = ig_rd_in(r, 0);
  unsigned bits = ig_om_elem_bits(to);
  if (!t || !bits || bits != ig_om_elem_bits(from)) {
    ig_rd_fail(r, IG_INVALID, "found %s to %s, expected types of the same width",
               ig_om_elem_text(from), ig_om_elem_text(to));
    return;
  }
  ig_dtype dtype = ig_om_elem_dtype(to);
  if (dtype != IG_DTYPE_COUNT && ig_om_elem_dtype(from) != IG_DTYPE_COUNT) {
    ig_rd_out_elem(r, 0, ig_view_dtype(r->c, t, ig_of_dtype(dtype)), to);
    return;
  }
  const float *values = ig_rd_bytes(r, t, IG_F32);
  int64_t dims[IG_MAX_DIM];
  if (!values) return;
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;  // concrete: t has bytes
  ig_tensor *out = ig_rd_real(r, ig_rd_carrier(to), dims, t->ndim);
  for (int64_t i = 0; out && i < ig_tensor_numel(out); i++) recode(from, to, values[i], out, i);
  ig_rd_out_elem(r, 0, out, to);
}

const ig_rd_row ig_rd_rows_cast[] = {
    {"Cast", 1, read_cast},
    {"CastLike", 15, read_cast_like},
    {"BitCast", 26, read_bit_cast},
    {NULL, 0, NULL},
};
