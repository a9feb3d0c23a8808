// SPDX-License-Identifier: Apache-2.0
// PyTorch's decomposition of negative log likelihood, call by call.
#include "op/formula.h"
#include "ops/lower.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static ig_tensor *counted(ig_ctx *c, const ig_value *target, const ig_value *ignore) {
  return ig_ne_scalar(c, target->tensor, *ignore);
}

// A weight per class, shaped to broadcast with the scores.
static ig_tensor *beside(ig_ctx *c, ig_tensor *w, int ndim, bool reshape) {
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < ndim; d++) sizes[d] = d == 1 ? ig_sizes(w)[0] : ig_const(1);
  ig_value shape = ig_of_ints(sizes, (size_t)ndim);
  return reshape ? ig_reshape(c, w, shape) : ig_view(c, w, shape);
}

// The weight of each target.
static ig_tensor *total_of(ig_ctx *c, const ig_value *args, ig_tensor *w, ig_tensor *at,
                           ig_int channel) {
  ig_tensor *x = args[0].tensor;
  if (!w) {
    ig_tensor *count = ig_sum(c, counted(c, &args[1], &args[4]));
    return ig__to_copy_with(c, count, ig_of_dtype(x->dtype), ig_none(), ig_of_device(x->device),
                            ig_none(), false, ig_none());
  }
  w = ig_expand(c, w, ig_sizes_of(x));
  ig_tensor *each = ig_squeeze_dim(c, ig_gather(c, w, channel, at), channel);
  ig_tensor *real = counted(c, &args[1], &args[4]);
  return ig_sum(c, ig_where_scalarother(c, real, each, ig_of_i64(0)));
}

// self, target, weight, reduction, ignore_index -> output, total_weight
void ig_lower_nll_loss_forward(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *target = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[2]);
  int64_t how = ig_value_i64(c, &args[3]);
  ig_int channel = ig_const(x->ndim < 2 ? 0 : 1);
  if (w) {
    w = x->ndim > 1 ? beside(c, w, x->ndim, false) : w;
    x = ig_mul_tensor(c, x, w);
  }
  ig_tensor *real = counted(c, &args[1], &args[4]);
  ig_tensor *at = ig_where_scalarother(c, real, target, ig_of_i64(0));
  at = ig_unsqueeze(c, at, channel);
  ig_tensor *loss = ig_squeeze_dim(c, ig_gather(c, x, channel, at), channel);
  loss = ig_neg(c, loss);
  real = counted(c, &args[1], &args[4]);
  loss = ig_where_scalarother(c, real, loss, ig_of_i64(0));
  outs[0] = outs[1] = ig_none();
  if (!loss) return;
  if (how == REDUCE_NONE && x->ndim > 1) {
    ig_tensor *zero = ig_new_full_with(c, x, ig_of_ints(NULL, 0), ig_of_f64(0), ig_none(),
                                       ig_none(), ig_none(), ig_of_bool(false));
    outs[0] = ig_of_tensor(loss);
    outs[1] = ig_of_tensor(zero);
    return;
  }
  ig_tensor *total = total_of(c, args, w, at, channel);
  if (how != REDUCE_NONE) loss = ig_sum(c, loss);
  if (how == REDUCE_MEAN) loss = ig_div_tensor(c, loss, total);
  outs[0] = ig_of_tensor(loss);
  outs[1] = ig_of_tensor(total);
}

// grad_output, self, target, weight, reduction, ignore_index, total_weight
ig_tensor *ig_lower_nll_loss_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[3]);
  ig_int channel = ig_const(x->ndim < 2 ? 0 : 1);
  if (ig_value_i64(c, &args[4]) == REDUCE_MEAN) g = ig_div_tensor(c, g, args[6].tensor);
  ig_value target = ig_of_tensor(ig_unsqueeze(c, args[2].tensor, channel));
  ig_tensor *at =
      ig_where_scalarother(c, counted(c, &target, &args[5]), target.tensor, ig_of_i64(0));
  ig_tensor *out = ig_zeros_like(c, x);
  out = ig_scatter_value(c, out, channel, at, ig_of_f64(-1));
  if (!g || !out) return NULL;
  if (out->ndim > g->ndim && g->ndim > 0) g = ig_unsqueeze(c, g, channel);
  if (w) {
    w = x->ndim > 1 ? beside(c, w, x->ndim, true) : w;
    g = ig_mul_tensor(c, g, w);
  }
  ig_tensor *real = counted(c, &target, &args[5]);
  g = ig_where_scalarother(c, real, g, ig_of_i64(0));
  return ig_mul_tensor(c, out, g);
}
