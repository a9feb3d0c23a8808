// SPDX-License-Identifier: Apache-2.0
// Model files through the public header alone: files are known by content, described, run with the
// numbers of the real PyTorch, by several threads at once; misuse is reported with a message.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "heap.h"
#include "ingot/file.h"
#include "ingot/limits.h"
#include "ingot/model.h"
#include "ingot/threads.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static const char *data(const char *name) {
  static char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
  return path;
}

static ig_model *open_model(ig_ctx *c, const char *name) {
  ig_model *m = NULL;
  if (ig_model_open(c, data(name), NULL, &m) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return m;
}

static ig_session *open_session(ig_ctx *c, ig_model *m) {
  ig_session *s = NULL;
  if (ig_session_create(c, m, &s) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return s;
}

static ig_tensor *find(const ig_weight *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i].name, name) == 0) return list[i].tensor;
  }
  fail_msg("no array '%s'", name);
  return NULL;
}

static void same_numbers(const ig_tensor *a, const ig_tensor *b) {
  assert_non_null(a);
  assert_int_equal(ig_tensor_dtype(a), ig_tensor_dtype(b));
  assert_int_equal(ig_tensor_numel(a), ig_tensor_numel(b));
  for (int64_t i = 0; i < ig_tensor_numel(a); i++) {
    double x = ig_tensor_get(a, i);
    double y = ig_tensor_get(b, i);
    if (!(fabs(x - y) <= 1e-6 + 1e-5 * fabs(y))) fail_msg("element %d: %g, %g", (int)i, x, y);
  }
}

// ---- looking

static void describes_a_program(void **state) {
  fixture *f = *state;
  ig_model *m = open_model(f->c, "pt2/data/mlp.pt2");
  const ig_model_port *const *ports = NULL;
  const ig_model_weight *const *weights = NULL;
  const ig_model_operator *const *operators = NULL;
  assert_int_equal(ig_model_get_kind(m), IG_MODEL_PT2);
  assert_string_equal(ig_model_kind_word(ig_model_get_kind(m)), "pt2");
  assert_non_null(ig_model_program(m));
  assert_int_equal(ig_model_inputs(m, &ports), 1);
  assert_string_equal(ports[0]->name, "x");
  assert_int_equal(ports[0]->kind, IG_KIND_TENSOR);
  assert_int_equal(ports[0]->dtype, IG_F32);
  assert_int_equal(ports[0]->ndim, 2);
  assert_null(ports[0]->dims[0]->name);
  assert_int_equal(ports[0]->dims[0]->value, ports[0]->dims[0]->hi);
  assert_int_equal(ig_model_outputs(m, &ports), 1);
  assert_int_equal(ports[0]->role, IG_PORT_USER);
  size_t n = ig_model_weights(m, &weights);
  assert_true(n > 0);
  for (size_t i = 0; i < n; i++) assert_int_equal(weights[i]->role, IG_WEIGHT_PARAMETER);
  n = ig_model_operators(m, &operators);
  for (size_t i = 1; i < n; i++) assert_true(operators[i - 1]->count >= operators[i]->count);
  assert_int_equal(ig_model_find_input(m, "arg0"), 0);
  assert_int_equal(ig_model_find_input(m, "arg1"), -1);
  assert_int_equal(ig_model_find_input(m, "argx"), -1);
  assert_int_equal(ig_model_find_output(m, "out0"), 0);
  assert_int_equal(ig_model_find_output(m, "mut_buf.x"), -1);
  assert_int_equal(ig_model_find_output(m, "mut_arg0"), -1);
  assert_int_equal(ig_model_find_output(m, "mut_arg9"), -1);
  assert_int_equal(ig_model_verify(f->c, m, NULL), IG_OK);
  ig_model_free(m);
}

static void describes_arrays(void **state) {
  fixture *f = *state;
  ig_model *m = open_model(f->c, "pt2/data/mlp.in.npz");
  const ig_model_weight *const *weights = NULL;
  const ig_model_member *const *members = NULL;
  assert_int_equal(ig_model_get_kind(m), IG_MODEL_NPZ);
  assert_int_equal(ig_model_weights(m, &weights), 1);
  assert_int_equal(weights[0]->role, IG_WEIGHT_ARRAY);
  assert_int_equal(ig_model_members(m, &members), 1);
  ig_scope s = ig_scope_open(f->c);
  const void *bytes = NULL;
  size_t n = 0;
  assert_int_equal(ig_model_member_data(f->c, m, 0, &bytes, &n), IG_OK);
  assert_int_equal(n, members[0]->bytes);
  assert_memory_equal(bytes, "\x93NUMPY", 6);
  assert_int_equal(ig_model_member_data(f->c, m, 1, &bytes, &n), IG_BAD_INDEX);
  test_error_has(f->c, "no member 1: there are 1");
  ig_session *session = NULL;
  assert_int_equal(ig_session_create(f->c, m, &session), IG_UNSUPPORTED);
  test_error_has(f->c, "holds no program to run");
  ig_scope_close(f->c, s);
  ig_model_free(m);
}

static void describes_dynamic_sizes(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "model/data/derived_dims.pt2");
  const ig_model_port *const *ports = NULL;
  assert_int_equal(ig_model_inputs(m, &ports), 2);
  assert_string_equal(ports[1]->dims[0]->name, "2*s77 + 1");
  assert_int_equal(ports[1]->dims[0]->lo, 5);
  assert_int_equal(ports[1]->dims[0]->hi, 201);
  assert_int_equal(ports[1]->dims[0]->value, 2 * ports[0]->dims[0]->value + 1);
  ig_scope scope = ig_scope_open(c);
  const ig_model_symbol *const *symbols = NULL;
  assert_int_equal(ig_model_symbols(c, m, &symbols), 3);
  assert_true(symbols[0]->input);
  assert_string_equal(symbols[2]->name, "2*s77");
  assert_int_equal(symbols[2]->line, 833);
  assert_non_null(strstr(symbols[2]->source, "torch.cat"));
  ig_session *s = open_session(c, m);
  float x[300] = {0};
  assert_int_equal(ig_session_bind(s, "x", (int64_t[]){300}, 1, x, sizeof x), IG_MISMATCH);
  test_error_has(c, "input 'x': dim 0 (s77): found size 300, expected 2 to 100");
  assert_int_equal(ig_session_bind(s, "x", (int64_t[]){3}, 1, x, 3 * sizeof *x), IG_OK);
  assert_int_equal(ig_session_bind(s, "y", (int64_t[]){8}, 1, x, 8 * sizeof *x), IG_OK);
  assert_int_equal(ig_session_run(s), IG_RUNTIME);
  test_error_has(c, "y.shape[0] to be equal to 7, but got 8");
  assert_int_equal(ig_session_set_examples(s), IG_OK);
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_non_null(ig_session_output(s, "out1"));
  ig_session_free(s);
  ig_scope_close(c, scope);
  ig_model_free(m);
}

static void knows_every_kind(void **state) {
  static const struct {
    const char *file;
    ig_model_kind kind;
    size_t weights;
    bool runs;
  } files[] = {
      {"model/data/older.pt2", IG_MODEL_PT2, 6, true},
      {"model/data/counter.ts.pt", IG_MODEL_TORCHSCRIPT, 3, true},
      {"model/data/legacy.pt", IG_MODEL_TORCH_LEGACY, 6, false},
      {"model/data/counter.dynamo.onnx", IG_MODEL_ONNX, 2, true},
      {"model/data/counter.io.npz", IG_MODEL_NPZ, 4, false},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ig_model *m = open_model(f->c, files[i].file);
    const ig_model_weight *const *weights = NULL;
    ig_session *s = NULL;
    assert_int_equal(ig_model_get_kind(m), files[i].kind);
    assert_int_equal(ig_model_weights(m, &weights), files[i].weights);
    assert_int_equal(ig_model_verify(f->c, m, NULL), IG_OK);
    ig_status st = ig_session_create(f->c, m, &s);
    assert_int_equal(st, files[i].runs ? IG_OK : IG_UNSUPPORTED);
    if (files[i].runs) {
      assert_int_equal(ig_session_set_examples(s) == IG_OK, files[i].kind == IG_MODEL_PT2);
    }
    ig_session_free(s);
    ig_ctx_clear(f->c);
    ig_model_free(m);
  }
}

static void onnx_runs_as_it_stands_and_as_a_program(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  const ig_weight *io = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(c, data("model/data/counter.io.npz"), &io, &n), IG_OK);
  for (int program = 0; program < 2; program++) {
    ig_model_options o = {.size = sizeof o, .program = program};
    ig_model *m = NULL;
    assert_int_equal(ig_model_open(c, data("model/data/counter.dynamo.onnx"), &o, &m), IG_OK);
    assert_int_equal(ig_model_program(m) != NULL, program);
    ig_session *s = open_session(c, m);
    assert_int_equal(ig_session_set(s, "arg0", find(io, n, "arg0")), IG_OK);
    assert_int_equal(ig_session_run(s), IG_OK);
    same_numbers(ig_session_output(s, "out0"), find(io, n, "out0"));
    ig_session_free(s);
    ig_model_free(m);
  }
}

// ---- what is no model

static void refuses(fixture *f, const char *bytes, size_t n, ig_status code, const char *text) {
  ig_model *m = NULL;
  assert_int_equal(ig_model_open_bytes(f->c, "blob", bytes, n, NULL, &m), code);
  assert_null(m);
  test_error_has(f->c, text);
}

static void refuses_strangers_by_name(void **state) {
  fixture *f = *state;
  refuses(f, "", 0, IG_SYNTAX, "blob: the file is empty");
  refuses(f,
          "\x7f"
          "ELF....",
          8, IG_SYNTAX, "a compiled program or library");
  refuses(f, "PYTORCH1....", 12, IG_SYNTAX, "before PyTorch 1.0");
  refuses(f, "version https://git-lfs.github.com/spec/v1", 42, IG_SYNTAX, "git lfs pull");
  refuses(f, "<!DOCTYPE html>", 15, IG_SYNTAX, "HTML");
  refuses(f, "\x01\x02\x03", 3, IG_SYNTAX, "begins with 01 02 03; expected .pt2");
  refuses(f, "PK\x05\x06", 4, IG_SYNTAX, "blob");
  ig_model *m = NULL;
  assert_int_equal(ig_model_open(f->c, "/nowhere/at/all.pt2", NULL, &m), IG_IO);
  test_error_has(f->c, "/nowhere/at/all.pt2");
}

// ---- running

static void runs_on_foreign_memory(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "pt2/data/mlp.pt2");
  ig_session *s = open_session(c, m);
  const ig_weight *in = NULL;
  const ig_weight *out = NULL;
  size_t nin = 0;
  size_t nout = 0;
  assert_int_equal(ig_tensors_load(c, data("pt2/data/mlp.in.npz"), &in, &nin), IG_OK);
  assert_int_equal(ig_tensors_load(c, data("pt2/data/mlp.out.npz"), &out, &nout), IG_OK);
  ig_tensor *x = in[0].tensor;
  int64_t sizes[] = {ig_tensor_size(x, 0).value, ig_tensor_size(x, 1).value};
  size_t bytes = (size_t)ig_tensor_numel(x) * sizeof(float);
  float *own = malloc(bytes);
  memcpy(own, ig_tensor_data(x), bytes);
  assert_int_equal(ig_session_bind(s, "x", sizes, 2, own, bytes), IG_OK);
  assert_int_equal(ig_session_run(s), IG_OK);
  same_numbers(ig_session_output(s, NULL), out[0].tensor);
  size_t got = (size_t)ig_tensor_numel(out[0].tensor) * sizeof(float);
  float *result = malloc(got);
  assert_int_equal(ig_session_read(s, "out0", result, got), IG_OK);
  assert_float_equal(result[0], ig_tensor_get(out[0].tensor, 0), 1e-5);
  assert_int_equal(ig_session_read(s, "out0", result, got - 1), IG_MISMATCH);
  test_error_has(c, "the caller's memory");
  assert_int_equal(ig_session_read(s, "nothing", result, got), IG_NOT_FOUND);
  test_error_has(c, "no output 'nothing'");
  memset(own, 0, bytes);  // the session reads the caller's memory again
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_true(fabs(ig_tensor_get(ig_session_output(s, NULL), 0) - result[0]) > 1e-6);
  free(result);
  free(own);
  ig_session_free(s);
  ig_model_free(m);
}

static void misuse_is_named(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "pt2/data/mlp.pt2");
  ig_session *s = open_session(c, m);
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  int64_t sizes[] = {ports[0]->dims[0]->value, ports[0]->dims[1]->value};
  assert_null(ig_session_output(s, NULL));
  assert_int_equal(ig_session_run(s), IG_INVALID);
  test_error_has(c, "input 'x' was not given");
  assert_int_equal(ig_session_set(s, "y", ig_tensor_empty(c, IG_F32, sizes, 2)), IG_NOT_FOUND);
  test_error_has(c, "no input 'y'; the model takes: x");
  assert_int_equal(ig_session_set(s, "x", ig_tensor_empty(c, IG_F64, sizes, 2)), IG_BAD_TYPE);
  test_error_has(c, "input 'x': found float64, expected float32");
  assert_int_equal(ig_session_set(s, "x", ig_tensor_empty(c, IG_F32, sizes, 1)), IG_MISMATCH);
  test_error_has(c, "input 'x': found 1 dimensions, expected 2");
  int64_t wrong[] = {sizes[0], sizes[1] + 1};
  assert_int_equal(ig_session_set(s, "x", ig_tensor_empty(c, IG_F32, wrong, 2)), IG_MISMATCH);
  test_error_has(c, "input 'x': dim 1: found size");
  float few[1] = {0};
  assert_int_not_equal(ig_session_bind(s, "x", sizes, 2, few, sizeof few), IG_OK);
  test_error_has(c, "input 'x'");
  assert_int_equal(ig_session_set(s, "x", NULL), IG_INVALID);
  test_error_has(c, "has no data");
  ig_session_free(s);
  ig_model_free(m);
}

static void values_are_checked(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "pt2/data/mixed.pt2");
  ig_session *s = open_session(c, m);
  const ig_weight *in = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(c, data("pt2/data/mixed.in.npz"), &in, &n), IG_OK);
  ig_value three = ig_of_i64(3);
  ig_value four = ig_of_i64(4);
  ig_value text = ig_of_str("3");
  assert_int_equal(ig_session_set(s, "x", in[0].tensor), IG_OK);
  assert_int_equal(ig_session_set(s, "mask", in[1].tensor), IG_OK);
  assert_int_equal(ig_session_set_value(s, "n", &three), IG_OK);
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_int_equal(ig_session_set_value(s, "n", &text), IG_BAD_TYPE);
  test_error_has(c, "input 'n': not the kind");
  assert_int_equal(ig_session_set_value(s, "x", &three), IG_BAD_TYPE);
  test_error_has(c, "input 'x' is a tensor");
  assert_int_equal(ig_session_set(s, "n", in[0].tensor), IG_BAD_TYPE);
  test_error_has(c, "input 'n' is not a tensor");
  assert_int_equal(ig_session_set_value(s, "n", &four), IG_OK);
  assert_int_equal(ig_session_run(s), IG_RUNTIME);
  test_error_has(c, "Expected input at n to be equal to 3, but got 4");
  ig_session_free(s);
  ig_model_free(m);
}

static void never_called(void *user, const char *stage, uint64_t done, uint64_t total) {
  (void)user;
  fail_msg("told of %s, %d of %d", stage, (int)done, (int)total);
}

// An older caller's options end before the fields that it does not know.
static void options_may_be_shorter(void **state) {
  fixture *f = *state;
  ig_model_options o = {.size = sizeof o.size, .inspect = true};
  ig_model *m = NULL;
  o.progress = never_called;
  assert_int_equal(ig_model_open(f->c, data("pt2/data/mlp.pt2"), &o, &m), IG_OK);
  ig_model_free(m);
}

// ---- state

static double element(const ig_session *s, const char *name) {
  const ig_tensor *t = ig_session_output(s, name);
  assert_non_null(t);
  return ig_tensor_get(t, 0);
}

static void buffers_belong_to_the_session(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "model/data/counter.pt2");
  const ig_weight *io = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(c, data("model/data/counter.io.npz"), &io, &n), IG_OK);
  for (int round = 0; round < 2; round++) {  // the second one finds the model as it was
    ig_session *s = open_session(c, m);
    assert_int_equal(ig_session_set(s, "arg0", find(io, n, "arg0")), IG_OK);
    assert_int_equal(ig_session_run(s), IG_OK);
    same_numbers(ig_session_output(s, "out0"), find(io, n, "out0"));
    same_numbers(ig_session_output(s, "mut_buf.count"), find(io, n, "mut_buf.count"));
    same_numbers(ig_session_output(s, "mut_buf.total"), find(io, n, "mut_buf.total"));
    double count = element(s, "mut_buf.count");
    assert_int_equal(ig_session_run(s), IG_OK);
    assert_true(element(s, "mut_buf.count") == count + 1);
    ig_session_reset(s);
    assert_null(ig_session_output(s, "out0"));
    assert_int_equal(ig_session_set(s, "arg0", find(io, n, "arg0")), IG_OK);
    assert_int_equal(ig_session_run(s), IG_OK);
    assert_true(element(s, "mut_buf.count") == count);
    ig_session_free(s);
  }
  ig_model_free(m);
}

static void count_values(void *user, const char *name, const char *target, const ig_value *value) {
  size_t *n = user;
  assert_non_null(name);
  assert_non_null(value);
  *n += target[0] != 0;
}

static void a_watcher_sees_every_value(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_model *m = open_model(c, "model/data/counter.pt2");
  ig_session *s = open_session(c, m);
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  int64_t sizes[] = {ports[0]->dims[0]->value, ports[0]->dims[1]->value};
  float x[12] = {0};
  assert_int_equal(ig_session_bind(s, "arg0", sizes, 2, x, sizeof x), IG_OK);
  size_t seen = 0;
  ig_session_watch(s, count_values, &seen);
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_true(seen >= 5);
  ig_session_watch(s, NULL, NULL);
  size_t before = seen;
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_int_equal(seen, before);
  ig_session_free(s);
  ig_model_free(m);
}

// ---- threads

typedef struct worker {
  pthread_t thread;
  ig_model *m;
  int number;
  bool ok;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  ig_ctx *c = NULL;
  ig_session *s = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return NULL;
  const ig_weight *io = NULL;
  size_t n = 0;
  char path[512];
  (void)snprintf(path, sizeof path, "%s/model/data/counter.io.npz", TEST_DATA);
  w->ok = ig_tensors_load(c, path, &io, &n) == IG_OK && ig_session_create(c, w->m, &s) == IG_OK;
  for (int i = 0; i < 50 && w->ok; i++) {
    ig_scope scope = ig_scope_open(c);
    w->ok = ig_session_set(s, "arg0", find(io, n, "arg0")) == IG_OK && ig_session_run(s) == IG_OK;
    double first = ig_tensor_get(find(io, n, "mut_buf.count"), 0);
    w->ok = w->ok && ig_tensor_get(ig_session_output(s, "mut_buf.count"), 0) == first + i;
    ig_scope_close(c, scope);
  }
  ig_session_free(s);
  ig_ctx_free(c);
  return NULL;
}

// Each thread has sizes of its own.
static void *work_on_sizes(void *arg) {
  worker *w = arg;
  ig_ctx *c = NULL;
  ig_session *s = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return NULL;
  w->ok = ig_session_create(c, w->m, &s) == IG_OK;
  for (int64_t i = 0; i < 50 && w->ok; i++) {
    float x[64] = {0};
    int64_t n = 2 + (i + w->number) % 20;
    int64_t twice = 2 * n + 1;
    w->ok = ig_session_bind(s, "x", &n, 1, x, (size_t)n * sizeof *x) == IG_OK &&
            ig_session_bind(s, "y", &twice, 1, x, (size_t)twice * sizeof *x) == IG_OK &&
            ig_session_run(s) == IG_OK && ig_tensor_numel(ig_session_output(s, "out0")) == 2 * n;
  }
  ig_session_free(s);
  ig_ctx_free(c);
  return NULL;
}

static void threads_share_dynamic_sizes(void **state) {
  fixture *f = *state;
  worker workers[3] = {{0}};
  ig_model *m = open_model(f->c, "model/data/derived_dims.pt2");
  for (int i = 0; i < 3; i++) {
    workers[i].m = m;
    workers[i].number = 7 * i;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work_on_sizes, &workers[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    assert_true(workers[i].ok);
  }
  ig_model_free(m);
}

static void threads_share_one_model(void **state) {
  fixture *f = *state;
  worker workers[3] = {{0}};
  ig_model *m = open_model(f->c, "model/data/counter.pt2");
  for (int i = 0; i < 3; i++) {
    workers[i].m = m;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    assert_true(workers[i].ok);
  }
  ig_model_free(m);
}

// ---- memory

static ig_status whole_life(ig_ctx *c) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  ig_status st = ig_model_open(c, data("pt2/data/mlp.pt2"), NULL, &m);
  if (st == IG_OK) st = ig_session_create(c, m, &s);
  const ig_model_port *const *ports = NULL;
  if (st == IG_OK) (void)ig_model_inputs(m, &ports);
  if (st == IG_OK) {
    int64_t sizes[] = {ports[0]->dims[0]->value, ports[0]->dims[1]->value};
    ig_tensor *x = ig_tensor_empty(c, IG_F32, sizes, 2);
    if (x) memset(ig_tensor_data(x), 0, (size_t)ig_tensor_numel(x) * sizeof(float));
    st = x ? ig_session_set(s, "x", x) : ig_ctx_status(c);
  }
  if (st == IG_OK) st = ig_session_run(s);
  ig_session_free(s);
  ig_model_free(m);
  return st;
}

static const char *opened;

// Runs twice with the inputs that the file brings along.
static ig_status use(ig_ctx *c) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  ig_scope scope = ig_scope_open(c);
  ig_status st = ig_model_open(c, data(opened), NULL, &m);
  if (st == IG_OK) st = ig_session_create(c, m, &s);
  if (st == IG_OK) st = ig_session_set_examples(s);
  if (st == IG_OK) st = ig_session_run(s);
  if (st == IG_OK) st = ig_session_run(s);
  ig_session_free(s);
  ig_model_free(m);
  ig_scope_close(c, scope);
  return st;
}

// A script is run twice and captured.
static ig_status run_script(ig_ctx *c) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  ig_program *p = NULL;
  ig_scope scope = ig_scope_open(c);
  ig_status st = ig_model_open(c, data("model/data/counter.ts.pt"), NULL, &m);
  if (st == IG_OK) st = ig_session_create(c, m, &s);
  ig_tensor *x = st == IG_OK ? ig_tensor_empty(c, IG_F32, (int64_t[]){3, 4}, 2) : NULL;
  if (x) memset(ig_tensor_data(x), 0, 12 * sizeof(float));
  if (st == IG_OK) st = x ? ig_session_set(s, "x", x) : ig_ctx_status(c);
  if (st == IG_OK) st = ig_session_run(s);
  if (st == IG_OK) st = ig_session_run(s);
  if (st == IG_OK) st = ig_session_export(s, &p);
  ig_program_free(p);
  ig_session_free(s);
  ig_model_free(m);
  ig_scope_close(c, scope);
  return st;
}

static ig_status open_and_look(ig_ctx *c) {
  ig_model *m = NULL;
  ig_scope s = ig_scope_open(c);
  const ig_model_symbol *const *symbols = NULL;
  const ig_model_relation *const *relations = NULL;
  ig_status st = ig_model_open(c, data(opened), NULL, &m);
  if (st == IG_OK) st = ig_model_verify(c, m, NULL);
  if (st == IG_OK) (void)ig_model_symbols(c, m, &symbols);
  if (st == IG_OK) (void)ig_model_relations(c, m, &relations);
  if (st == IG_OK) st = ig_ctx_status(c);
  ig_scope_close(c, s);
  ig_model_free(m);
  return st;
}

// ---- plans

static void fill(float *x, size_t n, float start) {
  for (size_t i = 0; i < n; i++) x[i] = start + 0.25f * (float)(i % 7);
}

static void later_runs_allocate_nothing(void **state) {
  fixture *f = *state;
  ig_model *m = open_model(f->c, "pt2/data/mlp.pt2");
  ig_session *s = open_session(f->c, m);
  ig_session *interpreted = NULL;
  ig_session_options o = {.size = sizeof o, .interpret = true};
  assert_int_equal(ig_session_create_with(f->c, m, &o, &interpreted), IG_OK);
  const int64_t sizes[] = {3, 4};
  float x[12];
  float y[6];
  float want[6];
  long calls = 0;
  for (int i = 0; i < 4; i++) {
    fill(x, 12, (float)i);
    if (i == 0) assert_int_equal(ig_session_bind(s, "x", sizes, 2, x, sizeof x), IG_OK);
    if (i == 1) calls = f->heap.calls;
    assert_int_equal(ig_session_run(s), IG_OK);
    assert_int_equal(ig_session_read(s, NULL, y, sizeof y), IG_OK);
    if (i == 0) continue;
    assert_int_equal(f->heap.calls, calls);
    assert_int_equal(ig_session_bind(interpreted, "x", sizes, 2, x, sizeof x), IG_OK);
    assert_int_equal(ig_session_run(interpreted), IG_OK);
    assert_int_equal(ig_session_read(interpreted, NULL, want, sizeof want), IG_OK);
    // Layers of plans may add in another order.
    for (int k = 0; k < 6; k++) assert_true(fabsf(y[k] - want[k]) <= 1e-5f * (1 + fabsf(want[k])));
    calls = f->heap.calls;
  }
  ig_session_free(interpreted);
  ig_session_free(s);
  ig_model_free(m);
}

typedef struct seen {
  ig_session *cancels;  // NULL: none
  int threads;
} seen;

static void see(void *user, const char *name, const char *target, const ig_value *value) {
  (void)name;
  (void)target;
  (void)value;
  seen *x = user;
  x->threads = ig_threads_get();
  if (x->cancels) ig_session_cancel(x->cancels);
}

// Threads, work, memory and the end of a run are the session's own.
static void what_runs_may_use(void **state) {
  fixture *f = *state;
  ig_model *m = open_model(f->c, "pt2/data/mlp.pt2");
  ig_session *first = NULL;
  ig_session *s = NULL;
  ig_limits limits = {.size = sizeof limits, .max_work = 1000000};
  ig_session_options o = {.size = sizeof o, .threads = 3, .limits = &limits};
  assert_int_equal(ig_session_create_with(f->c, m, &o, &first), IG_OK);
  limits.max_work = 1;  // copied
  assert_int_equal(ig_session_clone(f->c, first, &s), IG_OK);
  ig_session_free(first);
  const int64_t sizes[] = {3, 4};
  float x[12];
  fill(x, 12, 1);
  assert_int_equal(ig_session_bind(s, "x", sizes, 2, x, sizeof x), IG_OK);
  seen watched = {NULL, 0};
  ig_session_watch(s, see, &watched);
  int before = ig_threads_get();
  assert_int_equal(ig_session_run(s), IG_OK);
  assert_int_equal(watched.threads, 3);
  assert_int_equal(ig_threads_get(), before);

  watched.cancels = s;
  assert_int_equal(ig_session_run(s), IG_CANCELLED);
  ig_ctx_clear(f->c);
  ig_session_watch(s, NULL, NULL);
  ig_session_cancel(s);
  assert_int_equal(ig_session_run(s), IG_CANCELLED);
  ig_ctx_clear(f->c);
  assert_int_equal(ig_session_run(s), IG_OK);
  ig_session_free(s);

  assert_int_equal(ig_session_create_with(f->c, m, &o, &s), IG_OK);
  assert_int_equal(ig_session_bind(s, "x", sizes, 2, x, sizeof x), IG_OK);
  assert_int_equal(ig_session_run(s), IG_LIMIT);
  ig_ctx_clear(f->c);
  ig_session_free(s);

  limits = (ig_limits){.size = sizeof limits, .max_memory = ig_ctx_memory(f->c) + 1000};
  assert_int_equal(ig_session_create_with(f->c, m, &o, &s), IG_OK);
  assert_int_equal(ig_session_bind(s, "x", sizes, 2, x, sizeof x), IG_OK);
  assert_int_equal(ig_session_run(s), IG_NOMEM);
  ig_ctx_clear(f->c);
  ig_session_free(s);
  ig_session *other = open_session(f->c, m);  // has the limits of the context
  assert_int_equal(ig_session_bind(other, "x", sizes, 2, x, sizeof x), IG_OK);
  assert_int_equal(ig_session_run(other), IG_OK);
  ig_session_free(other);
  ig_model_free(m);
}

static void writes_to_memory_of_the_caller(void **state) {
  fixture *f = *state;
  ig_model *m = open_model(f->c, "pt2/data/mlp.pt2");
  for (int interpret = 0; interpret < 2; interpret++) {
    ig_session *first = NULL;
    ig_session *s = NULL;
    ig_session_options o = {.size = sizeof o, .interpret = interpret == 1};
    assert_int_equal(ig_session_create_with(f->c, m, &o, &first), IG_OK);
    assert_int_equal(ig_session_clone(f->c, first, &s), IG_OK);
    const int64_t sizes[] = {3, 4};
    float x[12];
    float y[6] = {0};
    float again[6];
    fill(x, 12, 1);
    assert_int_equal(ig_session_bind(s, "x", sizes, 2, x, sizeof x), IG_OK);
    assert_int_equal(ig_session_bind_output(s, NULL, y, sizeof y), IG_OK);
    assert_int_equal(ig_session_run(s), IG_OK);
    assert_int_equal(ig_session_read(s, NULL, again, sizeof again), IG_OK);
    assert_memory_equal(y, again, sizeof y);
    assert_true(y[0] != 0);
    memset(y, 0, sizeof y);
    assert_int_equal(ig_session_bind_output(s, "out0", NULL, 0), IG_OK);
    assert_int_equal(ig_session_run(s), IG_OK);
    assert_true(y[0] == 0);
    assert_int_equal(ig_session_bind_output(s, "out0", y, sizeof y - 1), IG_OK);
    assert_int_equal(ig_session_run(s), IG_MISMATCH);
    test_error_has(f->c, "the caller's memory");
    assert_int_equal(ig_session_bind_output(s, "out9", y, sizeof y), IG_NOT_FOUND);
    test_error_has(f->c, "no output 'out9'");
    ig_session_free(s);
    ig_session_free(first);
  }
  ig_model_free(m);
}

static void every_allocation_may_fail(void **state) {
  static const char *const files[] = {"model/data/counter.ts.pt", "model/data/legacy.pt",
                                      "model/data/counter.dynamo.onnx",
                                      "model/data/counter.io.npz"};
  static const char *const used[] = {"model/data/counter.pt2", "model/data/derived_dims.pt2"};
  (void)state;
  test_every_allocation_fails(whole_life);
  test_every_allocation_fails(run_script);
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
    opened = used[i];
    test_every_allocation_fails(use);
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    opened = files[i];
    test_every_allocation_fails(open_and_look);
  }
}

static void endless_loops_end(void **state) {
  fixture *f = *state;
  ig_limits limits = {.size = sizeof limits, .max_work = 1000};
  ig_model_options options = {.size = sizeof options, .limits = &limits};
  ig_model *m = NULL;
  assert_int_equal(ig_model_open(f->c, data("model/data/endless.pt2"), &options, &m), IG_OK);
  ig_session *s = open_session(f->c, m);
  int64_t zero = 0;
  assert_int_equal(ig_session_bind(s, "n", NULL, 0, &zero, sizeof zero), IG_OK);
  assert_int_equal(ig_session_run(s), IG_LIMIT);
  assert_non_null(strstr(ig_ctx_error(f->c), "max_work"));
  ig_ctx_clear(f->c);
  ig_session_free(s);
  ig_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(describes_a_program, setup, teardown),
      cmocka_unit_test_setup_teardown(describes_arrays, setup, teardown),
      cmocka_unit_test_setup_teardown(describes_dynamic_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(knows_every_kind, setup, teardown),
      cmocka_unit_test_setup_teardown(onnx_runs_as_it_stands_and_as_a_program, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_strangers_by_name, setup, teardown),
      cmocka_unit_test_setup_teardown(runs_on_foreign_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(misuse_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(values_are_checked, setup, teardown),
      cmocka_unit_test_setup_teardown(options_may_be_shorter, setup, teardown),
      cmocka_unit_test_setup_teardown(buffers_belong_to_the_session, setup, teardown),
      cmocka_unit_test_setup_teardown(a_watcher_sees_every_value, setup, teardown),
      cmocka_unit_test_setup_teardown(threads_share_one_model, setup, teardown),
      cmocka_unit_test_setup_teardown(threads_share_dynamic_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(endless_loops_end, setup, teardown),
      cmocka_unit_test_setup_teardown(later_runs_allocate_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(what_runs_may_use, setup, teardown),
      cmocka_unit_test_setup_teardown(writes_to_memory_of_the_caller, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
