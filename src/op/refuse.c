// SPDX-License-Identifier: Apache-2.0
#include "op/refuse.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "sym/expr.h"

const char *ig_dtype_title(ig_dtype d) {
  static const char *const titles[IG_DTYPE_COUNT] = {
      [IG_BOOL] = "Bool",
      [IG_U8] = "Byte",
      [IG_I8] = "Char",
      [IG_I16] = "Short",
      [IG_I32] = "Int",
      [IG_I64] = "Long",
      [IG_U16] = "UInt16",
      [IG_U32] = "UInt32",
      [IG_U64] = "UInt64",
      [IG_F16] = "Half",
      [IG_BF16] = "BFloat16",
      [IG_F32] = "Float",
      [IG_F64] = "Double",
      [IG_C64] = "ComplexFloat",
      [IG_C128] = "ComplexDouble",
      [IG_F8E4M3FN] = "Float8_e4m3fn",
      [IG_F8E5M2] = "Float8_e5m2",
      [IG_QI8] = "QInt8",
      [IG_QU8] = "QUInt8",
      [IG_QI32] = "QInt32",
  };
  return d < IG_DTYPE_COUNT ? titles[d] : "Undefined";
}

void ig_refuse_dtype(ig_ctx *c, const char *kernel, ig_dtype d) {
  ig_fail_text(c, IG_UNSUPPORTED, "\"%s\" not implemented for '%s'", kernel, ig_dtype_title(d));
}

bool ig_check_float(ig_ctx *c, const char *kernel, ig_dtype d) {
  if (d == IG_F16 || d == IG_BF16 || d == IG_F32 || d == IG_F64) return true;
  ig_refuse_dtype(c, kernel, d);
  return false;
}

const char *ig_sizes_text(ig_ctx *c, const ig_int *at, size_t n) {
  ig_str s = ig_str_make(c->alloc);
  ig_str_add(&s, "[");
  for (size_t i = 0; i < n; i++) {
    if (i) ig_str_add(&s, ", ");
    ig_str_int(&s, at[i]);
  }
  ig_str_add(&s, "]");
  char *kept = s.failed ? NULL : ig_scope_push(c, s.n + 1);
  if (kept) memcpy(kept, s.at, s.n + 1);
  ig_str_free(&s);
  return kept ? kept : "[...]";
}

typedef struct limits {
  const char *name;
  double lowest;
  double highest;
  bool is_float;
} limits;

static const limits limits_of[IG_DTYPE_COUNT] = {
    [IG_BOOL] = {"bool", -HUGE_VAL, HUGE_VAL, true},
    [IG_U8] = {"uint8_t", -255, 255, false},
    [IG_I8] = {"int8_t", -128, 127, false},
    [IG_I16] = {"int16_t", -32768, 32767, false},
    [IG_I32] = {"int", -2147483648.0, 2147483647.0, false},
    [IG_I64] = {"int64_t", -0x1p63, 0x1.fffffffffffffp62, false},
    [IG_U16] = {"uint16_t", -65535, 65535, false},
    [IG_U32] = {"uint32_t", -4294967295.0, 4294967295.0, false},
    [IG_U64] = {"uint64_t", -0x1p64, 0x1.fffffffffffffp63, false},
    [IG_F16] = {"at::Half", -65504, 65504, true},
    [IG_BF16] = {"at::BFloat16", -0x1.fep127, 0x1.fep127, true},
    [IG_F32] = {"float", -0x1.fffffep127, 0x1.fffffep127, true},
    [IG_F64] = {"double", -HUGE_VAL, HUGE_VAL, true},
    [IG_C64] = {"c10::complex<float>", -0x1.fffffep127, 0x1.fffffep127, true},
    [IG_C128] = {"c10::complex<double>", -HUGE_VAL, HUGE_VAL, true},
    [IG_F8E4M3FN] = {"at::Float8_e4m3fn", -448, 448, true},
    [IG_F8E5M2] = {"at::Float8_e5m2", -57344, 57344, true},
    [IG_QI8] = {"c10::qint8", -128, 127, false},
    [IG_QU8] = {"c10::quint8", 0, 255, false},
    [IG_QI32] = {"c10::qint32", -2147483648.0, 2147483647.0, false},
};

static bool fits(double x, const limits *l) {
  if (isnan(x) || isinf(x)) return l->is_float;
  return x >= l->lowest && x <= l->highest;
}

bool ig_check_number(ig_ctx *c, const ig_value *number, ig_dtype to) {
  const limits *l = &limits_of[to];
  bool ok = true;
  if (number->kind == IG_KIND_COMPLEX) {
    ok = ig_dtype_is_complex(to) ? fits(number->z.re, l) && fits(number->z.im, l)
                                 : number->z.im == 0 && fits(number->z.re, l);
  } else if (number->kind == IG_KIND_FLOAT) {
    ok = fits(number->f, l);
  } else if (number->kind == IG_KIND_INT && !number->i.expr && to != IG_I64 && to != IG_U64) {
    ok = fits((double)number->i.value, l);
  }
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME, "value cannot be converted to type %s without overflow", l->name);
  }
  return ok;
}

void ig_refuse_sizes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)args;
  (void)outs;
  ig_fail_text(c, IG_OUTPUT_SHAPE, "%s", op->target);
  ig_aside(c, "The sizes of its result stand in the data, which a capture does not know.");
}
