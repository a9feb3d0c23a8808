// SPDX-License-Identifier: Apache-2.0
// Trains an exported program: its joint graph (loss and gradients) is divided into a forward and a
// backward graph that save little in between, and a training step runs one after the other. The
// batch size is symbolic, so that the same two graphs serve every batch.
#include <math.h>
#include <stdio.h>

#include "ingot/aot.h"
#include "ingot/aten.h"
#include "ingot/ctx.h"
#include "ingot/grad.h"
#include "ingot/program.h"

enum { PARAMS = 4, HIDDEN = 16, STEPS = 300, MOST = 32 };

static ig_tensor *filled(ig_ctx *c, int64_t rows, int64_t columns, float scale, float phase) {
  int64_t sizes[] = {rows, columns};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, columns ? sizes : &rows, columns ? 2 : 1);
  float *x = t ? ig_tensor_data(t) : NULL;
  for (int64_t i = 0; x && i < ig_tensor_numel(t); i++) {
    x[i] = scale * sinf(phase + 1.7F * (float)i);
  }
  return t;
}

// mean((w2 tanh(w1 x + b1) + b2 - y)^2)
static ig_program *capture(ig_ctx *c, ig_tensor *const *params) {
  static const char *const names[PARAMS] = {"w1", "b1", "w2", "b2"};
  ig_tensor *p[PARAMS];
  ig_program *out = NULL;
  if (ig_capture_begin(c) != IG_OK) return NULL;
  for (int i = 0; i < PARAMS; i++) p[i] = ig_capture_param(c, names[i], params[i]);
  ig_int sizes[] = {ig_capture_dim(c, 64, 2, 1 << 20), {.value = 1}};
  ig_tensor *x = ig_capture_input(c, "x", IG_F32, sizes, 2);
  ig_tensor *y = ig_capture_input(c, "y", IG_F32, sizes, 2);
  ig_tensor *h = ig_linear_with(c, x, p[0], p[1]);
  h = ig_tanh(c, h);
  h = ig_linear_with(c, h, p[2], p[3]);
  ig_value loss = ig_of_tensor(ig_mse_loss(c, h, y));
  return ig_capture_end_program(c, &loss, 1, &out) == IG_OK ? out : NULL;
}

// One step of gradient descent; returns the loss.
static double step(ig_ctx *c, const ig_partitions *parts, ig_tensor *const *params, ig_tensor *x,
                   ig_tensor *y) {
  ig_value in[PARAMS + 2];
  ig_value outs[MOST];
  ig_value grads[PARAMS];
  for (int i = 0; i < PARAMS; i++) in[i] = ig_of_tensor(params[i]);
  in[PARAMS] = ig_of_tensor(x);
  in[PARAMS + 1] = ig_of_tensor(y);
  if (ig_graph_run(c, parts->forward, in, PARAMS + 2, outs) != IG_OK) return NAN;
  // The backward graph takes the saved numbers first.
  ig_value saved[MOST];
  size_t n = 0;
  for (size_t i = 0; i < parts->nnumbers; i++) saved[n++] = outs[1 + parts->nsaved + i];
  for (size_t i = 0; i < parts->nsaved; i++) saved[n++] = outs[1 + i];
  if (ig_graph_run(c, parts->backward, saved, n, grads) != IG_OK) return NAN;
  for (int i = 0; i < PARAMS; i++) {
    ig_tensor *scaled = ig_mul_scalar(c, grads[i].tensor, ig_of_f64(0.1));
    (void)ig_sub__tensor(c, params[i], scaled);
  }
  return (double)*(const float *)ig_tensor_data(outs[0].tensor);
}

static bool train(ig_ctx *c, const ig_partitions *parts, ig_tensor *const *params) {
  double first = 0;
  double last = 0;
  if (1 + parts->nsaved + parts->nnumbers > MOST) return false;
  for (int n = 0; n < STEPS && ig_ctx_status(c) == IG_OK; n++) {
    ig_scope s = ig_scope_open(c);
    ig_tensor *x = filled(c, n % 2 ? 64 : 48, 1, 3, (float)n);
    last = step(c, parts, params, x, ig_sin(c, x));
    if (n == 0) first = last;
    ig_scope_close(c, s);
  }
  (void)printf("%zu tensors are saved; loss %.4f, after %d steps %.4f\n", parts->nsaved, first,
               STEPS, last);
  return last < 0.2 * first;
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  ig_tensor *params[PARAMS];
  params[0] = filled(c, HIDDEN, 1, 1, 0);
  params[1] = filled(c, HIDDEN, 0, 1, 1);
  params[2] = filled(c, 1, HIDDEN, 0.3F, 2);
  params[3] = filled(c, 1, 0, 0, 0);
  for (int i = 0; i < PARAMS; i++) ig_tensor_set_requires_grad(c, params[i], true);
  ig_program *p = capture(c, params);
  ig_program *joint = NULL;
  ig_partitions parts = {0};
  bool good = false;
  if (p && ig_program_joint(c, p, &joint) == IG_OK) {
    ig_partition_args args = {.size = sizeof args, .method = IG_PARTITION_MIN_CUT, .nforward = 1};
    (void)ig_grad_set_enabled(c, false);  // the graphs have the gradients
    if (ig_partition(c, ig_program_graph(joint), &args, &parts) == IG_OK) {
      good = train(c, &parts, params);
    }
  }
  if (ig_ctx_status(c) != IG_OK) (void)fprintf(stderr, "%s\n", ig_ctx_error(c));
  good = good && ig_ctx_status(c) == IG_OK;
  ig_partitions_free(&parts);
  ig_program_free(joint);
  ig_program_free(p);
  ig_ctx_free(c);
  return good ? 0 : 1;
}
