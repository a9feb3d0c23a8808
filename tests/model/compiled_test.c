// SPDX-License-Identifier: Apache-2.0
// Compiled models: the numbers of the model that they were made from, packed weights used where
// they lie in the file, weights packed again for another instruction set, and heads that are wrong
// in any byte.
#define _POSIX_C_SOURCE 200809L
#include "model/compiled.h"

#include <stdio.h>
#include <unistd.h>

#include "base/crc.h"
#include "heap.h"
#include "model/session.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  char path[64];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  (void)snprintf(f->path, sizeof f->path, "/tmp/ingot_compiled_%d.ingot", (int)getpid());
  (void)ig_cpu_limit(IG_CPU_BASE);  // that of the files
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  (void)unlink(f->path);
  (void)ig_cpu_limit(IG_CPU_AVX512);
  free(f);
  return 0;
}

static const char *const files[] = {"images.onnx.ingot", "images.pt2.ingot", "rows.onnx.ingot",
                                    "rows.pt2.ingot"};
enum { NFILES = sizeof files / sizeof *files };

static ig_status open_path(ig_ctx *c, const char *path, ig_model **m, ig_session **s) {
  *s = NULL;
  IG_RETURN_IF_ERR(ig_model_open(c, path, NULL, m));
  return ig_session_create(c, *m, s);
}

static ig_status open_file(ig_ctx *c, const char *name, ig_model **m, ig_session **s) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/fuzz/corpus/ingot/%s", TEST_DATA, name);
  return open_path(c, path, m, s);
}

static ig_status set_input(ig_ctx *c, const ig_model *m, ig_session *s) {
  const ig_model_port *const *ports = NULL;
  int64_t sizes[IG_MAX_DIM];
  assert_int_equal(ig_model_inputs(m, &ports), 1);
  IG_RETURN_IF_ERR(ig_model_input_sizes(c, m, 0, NULL, 0, sizes));
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, ports[0]->ndim);
  if (!t) return ig_ctx_status(c);
  for (int64_t i = 0; i < ig_tensor_numel(t); i++) {
    ((float *)ig_tensor_data(t))[i] = (float)(i % 7) - 3.0f;
  }
  return ig_session_set(s, ports[0]->name, t);
}

static ig_status run(ig_ctx *c, const ig_model *m, ig_session *s) {
  ig_scope scope = ig_scope_open(c);
  ig_status st = set_input(c, m, s);
  if (st == IG_OK) st = ig_session_run(s);
  ig_scope_close(c, scope);
  return st;
}

static bool same_bits(const ig_session *a, const ig_session *b) {
  const ig_tensor *x = ig_session_output(a, NULL);
  const ig_tensor *y = ig_session_output(b, NULL);
  return ig_tensor_numel(x) == ig_tensor_numel(y) &&
         memcmp(ig_tensor_data(x), ig_tensor_data(y), (size_t)ig_tensor_numel(x) * 4) == 0;
}

// ---- packed weights

typedef struct census {
  const ig_bytes *file;
  size_t inside;
  size_t outside;
} census;

static void count(void *user, const ig_pack *k) {
  census *n = user;
  size_t bytes = 0;
  const uint8_t *at = ig_layer_packed(k->layer, &bytes);
  bool inside = at >= n->file->at && at + bytes <= n->file->at + n->file->n;
  n->inside += inside;
  n->outside += !inside;
}

static census packs_of(const ig_model *m) {
  census n = {.file = &m->compiled->whole->bytes};
  ig_packs_each(m->packs, count, &n);
  return n;
}

static void weights_stay_in_the_file(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NFILES; i++) {
    ig_model *m = NULL;
    ig_session *s = NULL;
    assert_int_equal(open_file(f->c, files[i], &m, &s), IG_OK);
    assert_int_equal(ig_model_get_kind(m), IG_MODEL_COMPILED);
    assert_int_equal(ig_model_verify(f->c, m, NULL), IG_OK);
    assert_int_equal(run(f->c, m, s), IG_OK);
    census n = packs_of(m);
    assert_int_equal(n.inside, m->compiled->npacks);
    assert_int_equal(n.inside, 2);
    assert_int_equal(n.outside, 0);
    ig_session_free(s);
    ig_model_free(m);
  }
}

// A compiled model can be compiled again, and both give the same bits.
static void writes_what_it_reads(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NFILES; i++) {
    ig_model *m[2] = {NULL, NULL};
    ig_session *s[2] = {NULL, NULL};
    assert_int_equal(open_file(f->c, files[i], &m[0], &s[0]), IG_OK);
    assert_int_equal(run(f->c, m[0], s[0]), IG_OK);
    assert_int_equal(ig_session_compile(s[0], f->path, NULL), IG_OK);
    assert_int_equal(open_path(f->c, f->path, &m[1], &s[1]), IG_OK);
    assert_int_equal(run(f->c, m[1], s[1]), IG_OK);
    assert_int_equal(packs_of(m[1]).inside, 2);
    assert_true(same_bits(s[0], s[1]));
    const ig_bytes *a = &m[0]->compiled->whole->bytes;
    const ig_bytes *b = &m[1]->compiled->whole->bytes;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->at, b->at, a->n);
    for (int k = 0; k < 2; k++) {
      ig_session_free(s[k]);
      ig_model_free(m[k]);
    }
  }
}

static void another_instruction_set_packs_again(void **state) {
  fixture *f = *state;
  (void)ig_cpu_limit(IG_CPU_AVX512);
  if (ig_cpu_level() == IG_CPU_BASE) skip();
  ig_model *m = NULL;
  ig_session *s = NULL;
  assert_int_equal(open_file(f->c, files[0], &m, &s), IG_OK);
  const ig_model_finding *const *findings = NULL;
  assert_int_equal(ig_model_findings(m, &findings), 1);
  assert_non_null(strstr(findings[0]->text, "they are for base, and this process uses"));
  assert_int_equal(run(f->c, m, s), IG_OK);
  assert_int_equal(packs_of(m).inside, 0);
  ig_session_free(s);
  ig_model_free(m);
}

// ---- wrong files

typedef struct bytes {
  uint8_t *at;
  size_t n;
} bytes;

static bytes read_file(const char *name) {
  char path[512];
  bytes b = {aligned_alloc(64, 1 << 16), 0};
  (void)snprintf(path, sizeof path, "%s/fuzz/corpus/ingot/%s", TEST_DATA, name);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  b.n = fread(b.at, 1, 1 << 16, in);
  (void)fclose(in);
  return b;
}

static void seal(bytes b) {
  size_t head = (size_t)b.at[16] | (size_t)b.at[17] << 8;
  if (head < 16 || head > b.n) return;
  uint32_t crc = ig_crc32(0, b.at + 16, head - 16);
  for (int i = 0; i < 4; i++) b.at[12 + i] = (uint8_t)(crc >> (8 * i));
}

// Opened and run; whatever is wrong with it gives an error or other numbers.
static ig_status try(ig_ctx *c, bytes b) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  ig_status st = ig_model_open_bytes(c, "file", b.at, b.n, NULL, &m);
  if (st == IG_OK) st = ig_session_create(c, m, &s);
  if (st == IG_OK) st = run(c, m, s);
  ig_session_free(s);
  ig_model_free(m);
  ig_ctx_clear(c);
  return st;
}

static void refuses_wrong_heads(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < NFILES; i++) {
    bytes b = read_file(files[i]);
    size_t head = (size_t)b.at[16] | (size_t)b.at[17] << 8;
    for (size_t k = 0; k < head; k++) {
      uint8_t old = b.at[k];
      b.at[k] ^= (uint8_t)(1U << k % 8);
      assert_int_not_equal(try(f->c, b), IG_OK);  // the checksum, at least
      seal(b);
      (void)try(f->c, b);
      b.at[k] = 0xff;
      seal(b);
      (void)try(f->c, b);
      b.at[k] = old;
      seal(b);
    }
    assert_int_equal(try(f->c, b), IG_OK);
    for (size_t n = 0; n < b.n; n += n < head + 8 ? 1 : 509) {
      bytes part = {b.at, n};
      assert_int_not_equal(try(f->c, part), IG_OK);
    }
    free(b.at);
  }
}

static void finds_changed_weights(void **state) {
  fixture *f = *state;
  bytes b = read_file(files[0]);
  ig_model *m = NULL;
  b.at[b.n - 3] ^= 1;
  assert_int_equal(ig_model_open_bytes(f->c, "file", b.at, b.n, NULL, &m), IG_OK);
  assert_int_equal(ig_model_verify(f->c, m, NULL), IG_SYNTAX);
  assert_non_null(strstr(ig_ctx_error(f->c), "the checksum of packed weights"));
  ig_ctx_clear(f->c);
  ig_model_free(m);
  free(b.at);
}

static void refuses_scripts(void **state) {
  fixture *f = *state;
  char path[512];
  ig_model *m = NULL;
  ig_session *s = NULL;
  (void)snprintf(path, sizeof path, "%s/model/data/counter.ts.pt", TEST_DATA);
  assert_int_equal(open_path(f->c, path, &m, &s), IG_OK);
  assert_int_equal(ig_session_compile(s, f->path, NULL), IG_UNSUPPORTED);
  assert_non_null(strstr(ig_ctx_error(f->c), "TorchScript code is not planned"));
  ig_ctx_clear(f->c);
  ig_session_free(s);
  ig_model_free(m);
}

// ---- low precision

typedef struct tally {
  size_t layers;
  size_t kept;
} tally;

static void report(void *user, const ig_layer_report *l) {
  tally *t = user;
  assert_true(l->error > 0 && l->error < 0.02);
  assert_non_null(strstr(l->target, "aten."));
  assert_true(l->name[0]);
  t->layers++;
  t->kept += l->kept;
}

// The model with one row, so that its layers are for few; with the options and compiled.
static void few_rows(fixture *f, double loss, size_t kept) {
  ig_ctx *c = f->c;
  ig_session_options o = {.size = sizeof o, .precision = IG_PRECISION_INT8};
  tally t = {0};
  ig_compile_options how = {.size = sizeof how, .loss = loss, .report = report, .report_user = &t};
  ig_model *m[2] = {NULL, NULL};
  ig_session *s[3] = {NULL, NULL, NULL};
  assert_int_equal(open_file(c, "few.pt2.ingot", &m[0], &s[0]), IG_OK);
  assert_int_equal(ig_session_create_with(c, m[0], &o, &s[1]), IG_OK);
  assert_int_equal(run(c, m[0], s[0]), IG_OK);
  assert_int_equal(run(c, m[0], s[1]), IG_OK);
  assert_false(same_bits(s[0], s[1]));
  assert_int_equal(ig_session_compile(s[1], f->path, &how), IG_OK);
  assert_int_equal(t.layers, 2);
  assert_int_equal(t.kept, kept);
  assert_int_equal(open_path(c, f->path, &m[1], &s[2]), IG_OK);  // int8, because the file says so
  assert_int_equal(run(c, m[1], s[2]), IG_OK);
  assert_true(same_bits(s[kept ? 0 : 1], s[2]));
  assert_int_equal(packs_of(m[1]).inside, 2);  // narrow, or f32
  assert_int_equal(packs_of(m[1]).outside, 0);
  for (int i = 0; i < 3; i++) ig_session_free(s[i]);
  for (int i = 0; i < 2; i++) ig_model_free(m[i]);
}

static void weights_of_8_bits(void **state) {
  few_rows(*state, 0.02, 0);
  few_rows(*state, 1e-9, 2);
}

static ig_status compile_once(ig_ctx *c) {
  char path[64];
  ig_model *m = NULL;
  ig_session *s = NULL;
  (void)snprintf(path, sizeof path, "/tmp/ingot_compiled_%d.ingot", (int)getpid());
  ig_status st = open_file(c, "images.onnx.ingot", &m, &s);
  if (st == IG_OK) st = ig_session_compile(s, path, NULL);
  ig_session_free(s);
  ig_model_free(m);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(compile_once);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(weights_stay_in_the_file, setup, teardown),
      cmocka_unit_test_setup_teardown(writes_what_it_reads, setup, teardown),
      cmocka_unit_test_setup_teardown(another_instruction_set_packs_again, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_wrong_heads, setup, teardown),
      cmocka_unit_test_setup_teardown(finds_changed_weights, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_scripts, setup, teardown),
      cmocka_unit_test_setup_teardown(weights_of_8_bits, setup, teardown),
      cmocka_unit_test_setup_teardown(every_allocation_may_fail, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
