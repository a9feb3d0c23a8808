// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of pointwise operators and products, call by call.
#include <math.h>

#include "op/formula.h"
#include "ops/lower.h"

// The methods of Python's operators: __and__, __or__.
ig_tensor *ig_lower_and(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (args[1].kind == IG_KIND_TENSOR) return ig_bitwise_and_tensor(c, x, args[1].tensor);
  return ig_bitwise_and_scalar(c, x, args[1]);
}

ig_tensor *ig_lower_or(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (args[1].kind == IG_KIND_TENSOR) return ig_bitwise_or_tensor(c, x, args[1].tensor);
  return ig_bitwise_or_scalar(c, x, args[1]);
}

ig_tensor *ig_lower_isfinite(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) {
    ig_tensor *re = ig_isfinite(c, ig_real(c, x));
    ig_tensor *im = ig_isfinite(c, ig_imag(c, x));
    return ig_bitwise_and_tensor(c, re, im);
  }
  if (!ig_dtype_is_float(x->dtype)) {
    return ig_ones_like_with(c, x, ig_of_dtype(IG_BOOL), ig_none(), ig_none(), ig_none(),
                             ig_of_memory_format(IG_PRESERVE));
  }
  ig_tensor *bounded = ig_ne_scalar(c, ig_abs(c, x), ig_of_f64(INFINITY));
  ig_tensor *number = ig_eq_tensor(c, x, x);
  return ig_mul_tensor(c, number, bounded);
}

ig_tensor *ig_lower_sgn(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!ig_dtype_is_complex(x->dtype)) return ig_sign(c, x);
  ig_tensor *size = ig_abs(c, x);
  ig_tensor *none = ig_eq_scalar(c, size, ig_of_i64(0));
  return ig_where_scalarself(c, none, ig_of_i64(0), ig_div_tensor(c, x, size));
}

ig_tensor *ig_lower_floor_divide(ig_ctx *c, const ig_value *args) {
  ig_value floored[] = {args[0], args[1], ig_of_str("floor")};
  return ig_call_id(c, IG_ID_DIV_TENSOR_MODE, floored, 3);
}

ig_tensor *ig_lower_mv(ig_ctx *c, const ig_value *args) {
  ig_int one = ig_const(1);
  ig_tensor *p = ig_mul_tensor(c, args[0].tensor, args[1].tensor);
  return ig_sum_dim_intlist(c, p, ig_of_ints(&one, 1));
}

// self, batch1, batch2, beta, alpha
ig_tensor *ig_lower_baddbmm(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_tensor *out = ig_bmm(c, args[1].tensor, args[2].tensor);
  if (!ig_value_is(&args[4], 1)) out = ig_mul_value(c, out, &args[4]);
  if (ig_value_is(&args[3], 0)) return out;
  if (!ig_value_is(&args[3], 1)) self = ig_mul_value(c, self, &args[3]);
  return ig_add_tensor(c, self, out);
}
