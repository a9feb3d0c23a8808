// SPDX-License-Identifier: Apache-2.0
// Tensors of powers: logspace, vander.
#include <math.h>
#include "op/formula.h"
#include "op/shape.h"

// x, N, increasing
static ig_tensor *vander(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "x must be a one-dimensional tensor.");
    return NULL;
  }
  int64_t n = args[1].kind == IG_KIND_NONE ? ig_int_specialize(c, ig_sizes(x)[0])
                                           : ig_value_i64(c, &args[1]);
  if (n < 0) {
    ig_fail_text(c, IG_RUNTIME, "N must be non-negative.");
    return NULL;
  }
  ig_dtype d = ig_dtype_is_float(x->dtype) || ig_dtype_is_complex(x->dtype) ? x->dtype : IG_I64;
  ig_int sizes[] = {ig_sizes(x)[0], ig_const(n)};
  if (n == 0) {
    return ig_empty_memory_format_with(c, ig_of_ints(sizes, 2), ig_of_dtype(d), ig_none(),
                                       ig_of_device(x->device), ig_none(), ig_none());
  }
  ig_tensor *ones = ig_ones_with(c, ig_of_ints((ig_int[]){ig_sizes(x)[0], ig_const(1)}, 2),
                                 ig_of_dtype(d), ig_none(), ig_of_device(x->device), ig_none());
  ig_tensor *out = ones;
  if (n > 1) {
    ig_int rest[] = {ig_sizes(x)[0], ig_const(n - 1)};
    ig_tensor *column = ig_unsqueeze(c, ig_cast(c, x, d), ig_const(1));
    ig_tensor *powers = ig_cumprod(c, ig_expand(c, column, ig_of_ints(rest, 2)), ig_const(1));
    ig_value pair[] = {ig_of_tensor(ones), ig_of_tensor(powers)};
    out = c->status == IG_OK ? ig_cat_with(c, ig_of_list(pair, 2), ig_const(1)) : NULL;
  }
  ig_int dim = ig_const(1);
  return args[2].b ? out : ig_flip(c, out, ig_of_ints(&dim, 1));
}
// start, end, steps, base, dtype ...: powers of a linspace, in double precision
static ig_tensor *logspace(ig_ctx *c, const ig_value *args) {
  ig_dtype d = args[4].kind == IG_KIND_DTYPE ? args[4].dtype : ig_ctx_default_dtype(c);
  ig_value row[] = {args[0], args[1], args[2], ig_of_dtype(IG_F64), args[5], args[6], args[7]};
  ig_tensor *t = ig_call_id(c, IG_ID_LINSPACE, row, 7);
  double base = ig_value_f64(&args[3]);
  ig_value number = base == floor(base) ? ig_of_i64((int64_t)base) : args[3];
  t = ig_pow_scalar(c, number, t);
  return ig_cast(c, t, d);
}
IG_OP(vander) = {
    .schema = "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    .decompose = vander,
    .samples = "f32[3] | f32[3], 2, True",
    .waive = "size 3=0: nothing has no history; size 3=1: nothing has no history",
};
IG_OP(logspace) = {
    .schema =
        "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    .decompose = logspace,
    .samples = "0, 2, 3 | 0., 1., 4, 2.",
};
