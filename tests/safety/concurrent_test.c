// SPDX-License-Identifier: Apache-2.0
// Contexts of several threads do not see each other: exports, sessions over one model, backward
// passes over shared weights give in threads what they give alone.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/dims.h"
#include "ingot/export.h"
#include "ingot/grad.h"
#include "ingot/model.h"

enum { THREADS = 4, EXPORTS = 200, SESSIONS = 20, BACKWARDS = 20, KINDS = 4 };

static pthread_barrier_t start;

static ig_tensor *filled(ig_ctx *c, int64_t rows, int64_t columns) {
  int64_t sizes[] = {rows, columns};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int64_t i = 0; t && i < rows * columns; i++) {
    ((float *)ig_tensor_data(t))[i] = (float)(i % 7) / 4;
  }
  return t;
}

// ---- exports ----

// Four models: layers, a reshape by sizes, a write, a product that asks about sizes.
static void model(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  ig_tensor *x = inputs[0];
  switch (*(const int *)user) {
    case 0:
      x = ig_relu(c, x);
      outputs[0] = ig_sum(c, ig_mul_tensor(c, x, x));
      break;
    case 1:
      outputs[0] = ig_reshape(c, x, ig_of_ints((ig_int[]){ig_const(-1)}, 1));
      break;
    case 2:
      x = ig_clone(c, x);
      outputs[0] = ig_add_tensor(c, ig_relu_(c, x), x);
      break;
    default:
      outputs[0] = ig_softmax_int(c, ig_matmul(c, ig_t(c, x), x), ig_const(-1));
  }
}

// The code of the program, or the text of the error; the caller frees it.
static char *export_text(ig_ctx *c, int kind) {
  ig_scope s = ig_scope_open(c);
  ig_dim batch = {.kind = IG_DIM_NAMED, .name = "batch", .lo = 2, .hi = 64};
  ig_dim dims[] = {batch, {.kind = IG_DIM_STATIC}};
  ig_export_input input = {"x", filled(c, 4, 3), dims};
  ig_export_args args = {.size = sizeof args,
                         .fn = model,
                         .inputs = &input,
                         .ninputs = 1,
                         .noutputs = 1,
                         .user = &kind};
  ig_program *p = NULL;
  char *copy = NULL;
  if (ig_export(c, &args, &p) == IG_OK) {
    char *code = ig_program_code(c, p);
    copy = code ? strdup(code) : NULL;
    ig_text_free(c, code);
  } else {
    copy = strdup(ig_ctx_error(c));
    ig_ctx_clear(c);
  }
  ig_program_free(p);
  ig_scope_close(c, s);
  return copy;
}

static char *alone[KINDS];  // what one thread gives

static void *export_many(void *wrong) {
  ig_ctx *c = NULL;
  (void)pthread_barrier_wait(&start);
  if (ig_ctx_create(NULL, &c) != IG_OK) return NULL;
  for (int i = 0; i < EXPORTS; i++) {
    char *text = export_text(c, i % KINDS);
    if (!text || strcmp(text, alone[i % KINDS]) != 0) ++*(int *)wrong;
    free(text);
  }
  ig_ctx_free(c);
  return NULL;
}

// fn in all threads at once; the sum of what they find wrong.
static int in_threads(void *(*fn)(void *)) {
  pthread_t threads[THREADS];
  int wrong[THREADS] = {0};
  int total = 0;
  assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, fn, &wrong[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    total += wrong[i];
  }
  (void)pthread_barrier_destroy(&start);
  return total;
}

static void test_exports(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  for (int k = 0; k < KINDS; k++) {
    alone[k] = export_text(c, k);
    assert_non_null(alone[k]);
    assert_non_null(strstr(alone[k], "torch.ops.aten"));
  }
  assert_int_equal(in_threads(export_many), 0);
  for (int k = 0; k < KINDS; k++) free(alone[k]);
  ig_ctx_free(c);
}

// ---- sessions ----

static ig_model *shared;
static double expected;

static double run_session(ig_ctx *c, ig_model *m) {
  ig_session *s = NULL;
  double sum = -1;
  ig_scope scope = ig_scope_open(c);
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  bool known = ports[0]->ndim == 2;  // a script says nothing about sizes
  ig_tensor *x =
      filled(c, known ? ports[0]->dims[0]->value : 3, known ? ports[0]->dims[1]->value : 4);
  if (ig_session_create(c, m, &s) == IG_OK && ig_session_set(s, ports[0]->name, x) == IG_OK &&
      ig_session_run(s) == IG_OK) {
    sum = ig_tensor_get(ig_session_output_at(s, 0)->tensor, 0);
  }
  ig_session_free(s);
  ig_scope_close(c, scope);
  return sum;
}

static void *run_many(void *wrong) {
  ig_ctx *c = NULL;
  (void)pthread_barrier_wait(&start);
  if (ig_ctx_create(NULL, &c) != IG_OK) return NULL;
  for (int i = 0; i < SESSIONS; i++) *(int *)wrong += run_session(c, shared) != expected;
  ig_ctx_free(c);
  return NULL;
}

static void share(const char *path) {
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  if (ig_model_open(c, path, NULL, &shared) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  expected = run_session(c, shared);
  assert_true(expected != -1);
  assert_int_equal(in_threads(run_many), 0);
  ig_model_free(shared);
  ig_ctx_free(c);
}

static void test_sessions(void **state) {
  (void)state;
  share(TEST_DATA "/pt2/data/mlp.pt2");
}

static void test_scripts(void **state) {
  (void)state;
  share(TEST_DATA "/model/data/counter.ts.pt");
}

// ---- backward ----

static ig_tensor *weights;

static double run_backward(ig_ctx *c) {
  ig_scope s = ig_scope_open(c);
  double sum = -1;
  ig_tensor *x = filled(c, 5, 4);
  ig_tensor_set_requires_grad(c, x, true);
  ig_tensor *y = ig_sum(c, ig_relu(c, ig_matmul(c, x, weights)));
  if (ig_backward(
          c, &(ig_backward_args){.size = sizeof(ig_backward_args), .outputs = &y, .noutputs = 1},
          NULL) == IG_OK) {
    sum = 0;
    for (int64_t i = 0; i < 20; i++) sum += ig_tensor_get(ig_tensor_grad(x), i);
  }
  ig_scope_close(c, s);
  return sum;
}

static void *run_backwards(void *wrong) {
  ig_ctx *c = NULL;
  (void)pthread_barrier_wait(&start);
  if (ig_ctx_create(NULL, &c) != IG_OK) return NULL;
  for (int i = 0; i < BACKWARDS; i++) {
    // The mode of one thread is not the mode of another.
    (void)ig_grad_set_enabled(c, i % 2 == 0);
    double sum = run_backward(c);
    *(int *)wrong += sum != (i % 2 == 0 ? expected : -1);
    ig_ctx_clear(c);
  }
  ig_ctx_free(c);
  return NULL;
}

static void test_backward(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  weights = filled(c, 4, 3);
  expected = run_backward(c);
  assert_true(expected > 0);
  assert_int_equal(in_threads(run_backwards), 0);
  ig_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exports),
      cmocka_unit_test(test_sessions),
      cmocka_unit_test(test_scripts),
      cmocka_unit_test(test_backward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
