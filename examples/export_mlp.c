// SPDX-License-Identifier: Apache-2.0
// One model function, five uses: run eagerly, differentiated, captured as a program, that program
// decomposed and run again, and with its gradients in one graph. The results of all of them agree.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/grad.h"

typedef struct mlp {
  ig_tensor *w1;  // (8, 4)
  ig_tensor *b1;  // (8)
  ig_tensor *w2;  // (2, 8)
  ig_tensor *b2;  // (2)
} mlp;

// A tensor with a pattern of small numbers; cols 0: one dimension.
static ig_tensor *pattern(ig_ctx *c, int64_t rows, int64_t cols) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, cols ? 2 : 1);
  for (int64_t i = 0; t && i < ig_tensor_numel(t); i++) {
    ((float *)ig_tensor_data(t))[i] = (float)(i % 7) * 0.25f - 0.7f;
  }
  return t;
}

// The model: no release calls, no error branches. The same function is run and captured.
static ig_tensor *forward(ig_ctx *c, const mlp *m, ig_tensor *x) {
  ig_tensor *h = ig_linear_with(IG_AT(c), x, m->w1, m->b1);
  h = ig_relu(IG_AT(c), h);
  return ig_linear_with(IG_AT(c), h, m->w2, m->b2);
}

static void forward_fn(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  outputs[0] = forward(c, user, inputs[0]);
}

static void loss_fn(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  outputs[0] = ig_sum(IG_AT(c), forward(c, user, inputs[0]));
}

typedef void model_fn(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user);

static ig_status capture(ig_ctx *c, mlp *m, ig_tensor *x, model_fn *fn, ig_program **out) {
  ig_export_input input = {.name = "x", .example = x};
  ig_export_state state[] = {{IG_STATE_PARAMETER, "fc1.weight", m->w1},
                             {IG_STATE_PARAMETER, "fc1.bias", m->b1},
                             {IG_STATE_PARAMETER, "fc2.weight", m->w2},
                             {IG_STATE_PARAMETER, "fc2.bias", m->b2}};
  ig_export_args args = {.size = sizeof args,
                         .fn = fn,
                         .user = m,
                         .inputs = &input,
                         .ninputs = 1,
                         .state = state,
                         .nstate = 4,
                         .noutputs = 1};
  return ig_export(c, &args, out);
}

static void show(ig_ctx *c, const char *title, const ig_program *p) {
  char *code = ig_program_code(c, p);
  printf("# %s\n%s\n", title, code ? code : "");
  ig_text_free(c, code);
}

static double difference(const ig_tensor *a, const ig_tensor *b) {
  double worst = 0;
  for (int64_t i = 0; a && b && i < ig_tensor_numel(a); i++) {
    worst = fmax(worst, fabs(ig_tensor_get(a, i) - ig_tensor_get(b, i)));
  }
  return worst;
}

// Runs the program and prints how far its result differs from the eager one.
static double compare(ig_ctx *c, const ig_program *p, ig_tensor *x, const ig_tensor *eager) {
  ig_value in = ig_of_tensor(x);
  ig_value out = ig_none();
  if (ig_program_run(c, p, &in, 1, &out) != IG_OK) return HUGE_VAL;
  return difference(out.tensor, eager);
}

// Forward and the gradients of all parameters as one program: its last output but one is that of
// fc2.weight, whose gradient by an eager backward is `eager`.
static bool joint(ig_ctx *c, mlp *m, ig_tensor *x, const ig_tensor *eager) {
  ig_program *loss = NULL;
  ig_program *both = NULL;
  ig_value in = ig_of_tensor(x);
  ig_value outs[5] = {{0}};
  bool agree = false;
  if (capture(c, m, x, loss_fn, &loss) == IG_OK && ig_program_joint(c, loss, &both) == IG_OK) {
    show(c, "loss and gradients", both);
    if (ig_program_run(c, both, &in, 1, outs) == IG_OK) {
      agree = difference(outs[3].tensor, eager) < 1e-6;
    }
  }
  printf("# gradients agree: %s\n", agree ? "yes" : "no");
  ig_program_free(both);
  ig_program_free(loss);
  return agree;
}

static bool run(ig_ctx *c, mlp *m) {
  ig_program *whole = NULL;
  ig_program *core = NULL;
  bool agree = false;
  ig_tensor *x = pattern(c, 3, 4);
  ig_tensor *y = forward(c, m, x);

  if (capture(c, m, x, forward_fn, &whole) != IG_OK) goto done;
  show(c, "captured", whole);
  ig_decompose_args level = {.size = sizeof level, .level = IG_DECOMPOSE_CORE};
  if (ig_program_decompose(c, whole, &level, &core) != IG_OK) goto done;
  show(c, "decomposed to Core ATen", core);
  agree = compare(c, whole, x, y) < 1e-6 && compare(c, core, x, y) < 1e-6;
  printf("# both agree with the eager run: %s\n", agree ? "yes" : "no");

  ig_tensor *loss = ig_sum(c, forward(c, m, x));
  ig_tensor *grad = NULL;
  ig_backward_args args = {
      .size = sizeof args, .outputs = &loss, .noutputs = 1, .inputs = &m->w2, .ninputs = 1};
  if (ig_backward(c, &args, &grad) != IG_OK) goto done;
  printf("# gradient of fc2.weight, first row:");
  for (int64_t i = 0; i < 8; i++) printf(" %.4g", ig_tensor_get(grad, i));
  printf("\n");
  agree = joint(c, m, x, grad) && agree;
done:
  ig_program_free(core);
  ig_program_free(whole);
  return agree && ig_ctx_status(c) == IG_OK;
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  mlp m;
  m.w1 = pattern(c, 8, 4);
  m.b1 = pattern(c, 8, 0);
  m.w2 = pattern(c, 2, 8);
  m.b2 = pattern(c, 2, 0);
  ig_tensor *params[] = {m.w1, m.b1, m.w2, m.b2};
  for (int i = 0; i < 4; i++) ig_tensor_set_requires_grad(c, params[i], true);
  bool ok = run(c, &m);
  if (!ok) printf("# error\n%s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
