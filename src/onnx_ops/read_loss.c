// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, over any number of dimensions.
#include <string.h>

#include "onnx_read/reader.h"

// log_prob [N, C, d...], target [N, d...]: weighted picks, then reduced.
static void nll(ig_rd *r, ig_tensor *log_prob, ig_tensor *target, ig_tensor *weight) {
  const char *how = ig_rd_attr_text(r, "reduction", "mean");
  const ig_om_attr *ignore = ig_rd_attr(r, "ignore_index");
  if (!log_prob || !target || !ig_rd_ok(r)) return;
  if (log_prob->ndim < 2 || target->ndim != log_prob->ndim - 1) {
    ig_rd_fail(r, IG_MISMATCH, "scores of %d dimensions, labels of %d", log_prob->ndim,
               target->ndim);
    return;
  }
  target = ig_cast(r->c, target, IG_I64);
  ig_tensor *mask = NULL;
  ig_tensor *safe = target;
  if (ignore && target) {
    mask = ig_ne_scalar(r->c, target, ig_of_i64(ignore->i));
    safe = mask ? ig_where_scalarother(r->c, mask, target, ig_of_i64(0)) : NULL;
  }
  ig_tensor *index = ig_rd_unsqueeze(r, safe, 1);
  ig_tensor *picked = index ? ig_gather(r->c, log_prob, ig_const(1), index) : NULL;
  ig_tensor *loss = picked ? ig_neg(r->c, ig_rd_squeeze(r, picked, 1)) : NULL;
  ig_tensor *factor = NULL;
  if (weight && safe) {
    ig_int all = ig_numel_of(r->c, safe);
    factor = ig_index_select(r->c, weight, ig_const(0), ig_rd_reshape(r, safe, &all, 1));
    factor = ig_rd_reshape(r, factor, ig_sizes(safe), (size_t)safe->ndim);
  }
  if (mask) {
    ig_tensor *on = ig_cast(r->c, mask, log_prob->dtype);
    factor = factor ? ig_rd_mul(r, factor, on) : on;
  }
  if (factor) loss = ig_rd_mul(r, loss, factor);
  if (!loss) return;
  if (strcmp(how, "none") != 0) {
    ig_tensor *sum = ig_sum(r->c, loss);
    if (strcmp(how, "mean") == 0) {
      sum = factor ? ig_rd_div(r, sum, ig_sum(r->c, factor)) : ig_mean(r->c, loss);
    }
    loss = sum;
  }
  ig_rd_out(r, 0, loss);
}

static void read_nll(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *target = ig_rd_in(r, 1);
  nll(r, x, target, ig_rd_opt(r, 2));
}

static void read_cross_entropy(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *target = ig_rd_in(r, 1);
  ig_tensor *log_prob = x && x->ndim > 1 ? ig_log_softmax_int(r->c, x, ig_const(1)) : NULL;
  if (x && x->ndim < 2) ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions");
  nll(r, log_prob, target, ig_rd_opt(r, 2));
  ig_rd_out(r, 1, log_prob);
}

const ig_rd_row ig_rd_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, read_nll},
    {"SoftmaxCrossEntropyLoss", 12, read_cross_entropy},
    {NULL, 0, NULL},
};
