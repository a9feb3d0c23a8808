// SPDX-License-Identifier: Apache-2.0
// Comparing: sequences are aligned as well as can be, tensors element by element, models part by
// part; running out of memory anywhere is an error and nothing else.
#include <math.h>
#include <stdio.h>

#include "heap.h"
#include "ingot/diff.h"
#include "model/align.h"

static const char *data(const char *name) {
  static char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
  return path;
}

// ---- sequences

enum { LONG = 24 };

static int longest_common(const size_t *a, int n, const size_t *b, int m) {
  static int best[LONG + 1][LONG + 1];
  memset(best, 0, sizeof best);
  for (int i = n - 1; i >= 0; i--) {
    for (int k = m - 1; k >= 0; k--) {
      int skip = best[i + 1][k] > best[i][k + 1] ? best[i + 1][k] : best[i][k + 1];
      best[i][k] = a[i] == b[k] ? 1 + best[i + 1][k + 1] : skip;
    }
  }
  return best[0][0];
}

static void aligns_as_well_as_can_be(void **state) {
  (void)state;
  size_t a[LONG];
  size_t b[LONG];
  int64_t partner[LONG];
  unsigned seed = 7;
  for (int round = 0; round < 20000; round++) {
    int n = (int)((seed = seed * 1103515245u + 12345u) >> 16) % LONG;
    int m = (int)((seed = seed * 1103515245u + 12345u) >> 16) % LONG;
    size_t letters = 1 + ((seed = seed * 1103515245u + 12345u) >> 16) % 5;
    for (int i = 0; i < n; i++) a[i] = ((seed = seed * 1103515245u + 12345u) >> 16) % letters;
    for (int i = 0; i < m; i++) b[i] = ((seed = seed * 1103515245u + 12345u) >> 16) % letters;
    assert_true(ig_align(ig_alloc_libc(), a, (size_t)n, b, (size_t)m, partner));
    int64_t last = -1;
    int found = 0;
    for (int i = 0; i < n; i++) {
      if (partner[i] == IG_UNALIGNED) continue;
      assert_true(partner[i] > last && partner[i] < m);
      assert_int_equal(a[i], b[partner[i]]);
      last = partner[i];
      found++;
    }
    assert_int_equal(found, longest_common(a, n, b, m));
  }
}

static void aligns_long_strangers_in_time(void **state) {
  (void)state;
  enum { N = 100000 };
  size_t *a = calloc(2 * N, sizeof *a);
  int64_t *partner = calloc(N, sizeof *partner);
  for (size_t i = 0; i < N; i++) a[i] = i;
  for (size_t i = 0; i < N; i++) a[N + i] = i % 2 ? i : N + i;
  assert_true(ig_align(ig_alloc_libc(), a, N, a + N, N, partner));
  size_t found = 0;
  for (size_t i = 0; i < N; i++) found += partner[i] == (int64_t)i;
  assert_int_equal(found, N / 2);
  free(partner);
  free(a);
}

// ---- tensors

static ig_tensor *of_floats(ig_ctx *c, const float *at, int64_t n) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, &n, 1);
  if (t) memcpy(ig_tensor_data(t), at, (size_t)n * sizeof *at);
  return t;
}

static void compares_elements(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_scope s = ig_scope_open(c);
  ig_tensor *a = of_floats(c, (float[]){1, 2, NAN, INFINITY}, 4);
  ig_tensor *b = of_floats(c, (float[]){1, nextafterf(2, 3), NAN, INFINITY}, 4);
  ig_tensor_diff d;
  ig_tensor_compare(c, b, a, &(ig_tolerance){0, 0}, &d);
  assert_false(d.agrees);
  assert_int_equal(d.bad, 1);
  assert_int_equal(d.worst, 1);
  assert_true(d.max_ulp == 1);
  ig_tensor_compare(c, b, a, &(ig_tolerance){-1, -1}, &d);
  assert_true(d.agrees && d.rtol == 1e-5);
  ig_tensor_compare(c, a, a, &(ig_tolerance){0, 0}, &d);
  assert_true(d.agrees && d.n == 4 && d.max_abs == 0);
  ig_tensor_compare(c, of_floats(c, (float[]){1}, 1), a, &(ig_tolerance){-1, -1}, &d);
  assert_string_equal(d.why, "found float32[1], expected float32[4]");
  assert_int_equal(ig_ctx_status(c), IG_OK);
  ig_scope_close(c, s);
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

// ---- models

static ig_status compare(ig_ctx *c, const char *x, const char *y, size_t *n) {
  ig_model *a = NULL;
  ig_model *b = NULL;
  const ig_model_change *const *list = NULL;
  ig_scope s = ig_scope_open(c);
  *n = 0;
  ig_status st = ig_model_open(c, data(x), NULL, &a);
  if (st == IG_OK) st = ig_model_open(c, data(y), NULL, &b);
  if (st == IG_OK) st = ig_model_diff(c, a, b, NULL, &list, n);
  unsigned parts = 0;
  for (size_t i = 0; i < *n; i++) {
    assert_non_null(list[i]->name);
    assert_true(list[i]->before || list[i]->after);
    assert_non_null(ig_diff_part_word(list[i]->part));
    assert_true((unsigned)list[i]->part * 2 > parts);  // parts stand in their order
    parts |= list[i]->part;
  }
  ig_scope_close(c, s);
  ig_model_free(a);
  ig_model_free(b);
  return st;
}

static void compares_models(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  size_t n = 0;
  assert_int_equal(compare(c, "pt2/data/cnn.pt2", "pt2/data/cnn.pt2", &n), IG_OK);
  assert_int_equal(n, 0);
  assert_int_equal(compare(c, "pt2/data/cnn.pt2", "pt2/data/attention.pt2", &n), IG_OK);
  assert_true(n > 50);
  assert_int_equal(compare(c, "model/data/counter.dynamo.onnx", "pt2/data/mlp.pt2", &n), IG_OK);
  assert_true(n > 5);
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

static ig_status compare_two(ig_ctx *c) {
  size_t n = 0;
  return compare(c, "pt2/data/mlp.pt2", "model/data/counter.pt2", &n);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(compare_two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(aligns_as_well_as_can_be),  cmocka_unit_test(aligns_long_strangers_in_time),
      cmocka_unit_test(compares_elements),         cmocka_unit_test(compares_models),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
