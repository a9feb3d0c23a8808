// SPDX-License-Identifier: Apache-2.0
// Trains a small network with Adam: the forward and the loss are operator calls, ig_backward fills
// the gradients, and one call steps all parameters.
#include <math.h>
#include <stdio.h>

#include "ingot/aten.h"
#include "ingot/ctx.h"
#include "ingot/grad.h"

enum { PARAMS = 4, ROWS = 64, HIDDEN = 16, STEPS = 400 };

static ig_tensor *filled(ig_ctx *c, int64_t rows, int64_t columns, float scale, float phase) {
  int64_t sizes[] = {rows, columns};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, columns ? sizes : &rows, columns ? 2 : 1);
  float *x = t ? ig_tensor_data(t) : NULL;
  for (int64_t i = 0; x && i < ig_tensor_numel(t); i++)
    x[i] = scale * sinf(phase + 1.7F * (float)i);
  return t;
}

typedef struct model {
  ig_tensor *params[PARAMS];
  ig_value p[PARAMS];  // the same as lists of an operator
  ig_value mean[PARAMS];
  ig_value square[PARAMS];
  ig_value step[PARAMS];
} model;

static ig_tensor *loss_of(ig_ctx *c, const model *m, ig_tensor *x, ig_tensor *y) {
  ig_tensor *h = ig_linear_with(c, x, m->params[0], m->params[1]);
  h = ig_tanh(c, h);
  h = ig_linear_with(c, h, m->params[2], m->params[3]);
  return ig_mse_loss(c, h, y);
}

static void adam(ig_ctx *c, const model *m) {
  ig_value grads[PARAMS];
  ig_value none;
  for (int i = 0; i < PARAMS; i++) grads[i] = ig_of_tensor(ig_tensor_grad(m->params[i]));
  bool before = ig_grad_set_enabled(c, false);
  ig__foreach_add__scalar(c, ig_of_list(m->step, PARAMS), ig_of_i64(1), &none);
  ig__fused_adam_(c, ig_of_list(m->p, PARAMS), ig_of_list(grads, PARAMS),
                  ig_of_list(m->mean, PARAMS), ig_of_list(m->square, PARAMS), ig_of_list(NULL, 0),
                  ig_of_list(m->step, PARAMS), 0.02, 0.9, 0.999, 0, 1e-8, false, false, &none);
  (void)ig_grad_set_enabled(c, before);
  for (int i = 0; i < PARAMS; i++) ig_tensor_set_grad(c, m->params[i], NULL);
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  model m;
  m.params[0] = filled(c, HIDDEN, 1, 1, 0);
  m.params[1] = filled(c, HIDDEN, 0, 1, 1);
  m.params[2] = filled(c, 1, HIDDEN, 0.3F, 2);
  m.params[3] = filled(c, 1, 0, 0, 0);
  for (int i = 0; i < PARAMS; i++) {
    ig_tensor_set_requires_grad(c, m.params[i], true);
    m.p[i] = ig_of_tensor(m.params[i]);
    m.mean[i] = ig_of_tensor(ig_zeros_like(c, m.params[i]));
    m.square[i] = ig_of_tensor(ig_zeros_like(c, m.params[i]));
    m.step[i] = ig_of_tensor(ig_zeros(c, ig_of_ints(NULL, 0)));
  }
  ig_tensor *x = filled(c, ROWS, 1, 3, 0);
  ig_tensor *y = ig_sin(c, x);
  double first = 0;
  double last = 0;
  for (int n = 0; n < STEPS && ig_ctx_status(c) == IG_OK; n++) {
    ig_scope s = ig_scope_open(c);
    ig_tensor *loss = loss_of(c, &m, x, y);
    if (loss && ig_backward(c,
                            &(ig_backward_args){
                                .size = sizeof(ig_backward_args), .outputs = &loss, .noutputs = 1},
                            NULL) == IG_OK) {
      last = (double)*(const float *)ig_tensor_data(loss);
      if (n == 0) first = last;
      adam(c, &m);
    }
    ig_scope_close(c, s);
  }
  if (ig_ctx_status(c) != IG_OK) (void)fprintf(stderr, "%s\n", ig_ctx_error(c));
  printf("loss: %.4f, after %d steps %.4f\n", first, STEPS, last);
  bool ok = ig_ctx_status(c) == IG_OK && last < first / 20;
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
