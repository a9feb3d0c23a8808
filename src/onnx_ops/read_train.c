// SPDX-License-Identifier: Apache-2.0
// Optimizers of ai.onnx.preview.training: any number of tensors, each with its gradient and state.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"

// Inputs: R, T, then groups of n tensors: X, G, state...
static size_t group_count(ig_rd *r, size_t groups) {
  if (r->nin >= 2 && (r->nin - 2) % groups == 0) return (r->nin - 2) / groups;
  ig_rd_fail(r, IG_INVALID, "%zu inputs are not 2 and a multiple of %zu", r->nin, groups);
  return 0;
}

static ig_tensor *decayed(ig_rd *r, ig_tensor *g, ig_tensor *x) {
  double norm = ig_rd_attr_float(r, "norm_coefficient", 0);
  return norm == 0 ? g : ig_rd_add(r, g, ig_rd_muln(r, x, norm));
}

static void read_adagrad(ig_rd *r) {
  size_t n = group_count(r, 3);
  double rate = n ? ig_rd_one_float(r, 0) : 0;
  double t = n ? (double)ig_rd_one_const(r, 1) : 0;
  double decay = ig_rd_attr_float(r, "decay_factor", 0);
  double eps = ig_rd_attr_float(r, "epsilon", 1e-6);
  rate /= 1 + t * decay;
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    ig_tensor *x = ig_rd_in(r, 2 + i);
    ig_tensor *g = decayed(r, ig_rd_in(r, 2 + n + i), x);
    ig_tensor *square = g ? ig_mul_tensor(r->c, g, g) : NULL;
    ig_tensor *h = ig_rd_add(r, ig_rd_in(r, 2 + 2 * n + i), square);
    ig_tensor *d = h ? ig_rd_addn(r, ig_sqrt(r->c, h), eps) : NULL;
    ig_tensor *step = ig_rd_muln(r, ig_rd_div(r, g, d), rate);
    ig_rd_out(r, i, ig_rd_sub(r, x, step));
    ig_rd_out(r, n + i, h);
  }
}

static void read_momentum(ig_rd *r) {
  size_t n = group_count(r, 3);
  double rate = n ? ig_rd_one_float(r, 0) : 0;
  int64_t t = n ? ig_rd_one_const(r, 1) : 0;
  double alpha = ig_rd_attr_float(r, "alpha", 0);
  double beta = t > 0 ? ig_rd_attr_float(r, "beta", 0) : 1;
  bool nesterov = strcmp(ig_rd_attr_text(r, "mode", "standard"), "nesterov") == 0;
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    ig_tensor *x = ig_rd_in(r, 2 + i);
    ig_tensor *g = decayed(r, ig_rd_in(r, 2 + n + i), x);
    ig_tensor *old = ig_rd_muln(r, ig_rd_in(r, 2 + 2 * n + i), alpha);
    ig_tensor *v = ig_rd_add(r, old, ig_rd_muln(r, g, beta));
    ig_tensor *step = nesterov ? ig_rd_add(r, g, ig_rd_muln(r, v, alpha)) : v;
    ig_rd_out(r, i, ig_rd_sub(r, x, ig_rd_muln(r, step, rate)));
    ig_rd_out(r, n + i, v);
  }
}

static void read_adam(ig_rd *r) {
  size_t n = group_count(r, 4);
  double rate = n ? ig_rd_one_float(r, 0) : 0;
  double t = n ? (double)ig_rd_one_const(r, 1) : 0;
  double alpha = ig_rd_attr_float(r, "alpha", 0.9);
  double beta = ig_rd_attr_float(r, "beta", 0.999);
  double eps = ig_rd_attr_float(r, "epsilon", 1e-6);
  double post = ig_rd_attr_float(r, "norm_coefficient_post", 0);
  if (t > 0) rate *= sqrt(1 - pow(beta, t)) / (1 - pow(alpha, t));
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    ig_tensor *x = ig_rd_in(r, 2 + i);
    ig_tensor *g = decayed(r, ig_rd_in(r, 2 + n + i), x);
    ig_tensor *v = ig_rd_muln(r, ig_rd_in(r, 2 + 2 * n + i), alpha);
    v = ig_rd_add(r, v, ig_rd_muln(r, g, 1 - alpha));
    ig_tensor *square = g ? ig_mul_tensor(r->c, g, g) : NULL;
    ig_tensor *h = ig_rd_muln(r, ig_rd_in(r, 2 + 3 * n + i), beta);
    h = ig_rd_add(r, h, ig_rd_muln(r, square, 1 - beta));
    ig_tensor *d = h ? ig_rd_addn(r, ig_sqrt(r->c, h), eps) : NULL;
    ig_tensor *step = ig_rd_muln(r, ig_rd_div(r, v, d), rate);
    ig_tensor *y = ig_rd_sub(r, x, step);
    ig_rd_out(r, i, post == 0 ? y : ig_rd_muln(r, y, 1 - post));
    ig_rd_out(r, n + i, v);
    ig_rd_out(r, 2 * n + i, h);
  }
}

const ig_rd_row ig_rd_rows_train[] = {
    {"Adagrad", 1, read_adagrad},
    {"Momentum", 1, read_momentum},
    {"Adam", 1, read_adam},
    {NULL, 0, NULL},
};
