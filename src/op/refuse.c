// SPDX-License-Identifier: Apache-2.0
#include "op/refuse.h"

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
  };
  return d < IG_DTYPE_COUNT ? titles[d] : "Undefined";
}

void ig_refuse_dtype(ig_ctx *c, const char *kernel, ig_dtype d) {
  ig_fail_text(c, IG_UNSUPPORTED, "\"%s\" not implemented for '%s'", kernel, ig_dtype_title(d));
}
