// SPDX-License-Identifier: Apache-2.0
// The driver of pointwise operators where results are too large for the caches, and the copies that
// go past them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "ingot/aten.h"

// Every alignment of both ends: all bytes arrive, none beside them changes.
static void test_stream_copy(void **state) {
  (void)state;
  enum { ROOM = 512 };
  char from[ROOM];
  char to[ROOM];
  for (int i = 0; i < ROOM; i++) from[i] = (char)(i * 7 + 1);
  for (size_t at = 64; at < 130; at++)
    for (size_t n = 0; n < 300; n += n < 140 ? 1 : 37) {
      memset(to, 99, sizeof to);
      ig_mem_stream(to + at, from + at / 3, n);
      ig_mem_stream_end();
      assert_memory_equal(to + at, from + at / 3, n);
      for (size_t i = 0; i < at; i++) assert_int_equal(to[i], 99);
      for (size_t i = at + n; i < ROOM; i++) assert_int_equal(to[i], 99);
    }
}

static ig_tensor *numbers(ig_ctx *c, ig_dtype dtype, int64_t n) {
  ig_tensor *t = ig_tensor_empty(c, dtype, &n, 1);
  assert_non_null(t);
  for (int64_t i = 0; i < n; i++) {
    if (dtype == IG_F32) ((float *)ig_tensor_data(t))[i] = (float)(i % 1013);
    if (dtype == IG_U8) ((uint8_t *)ig_tensor_data(t))[i] = (uint8_t)(i % 251);
  }
  return t;
}

// More than the last cache holds, an odd number of elements; both operands alike, one repeated, a
// comparison with its small results, and in place.
static void test_large(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  size_t l3 = ig_cpu_l3() < (size_t)64 << 20 ? ig_cpu_l3() : (size_t)64 << 20;
  int64_t n = (int64_t)(l3 / 8) + 4099;
  ig_tensor *x = numbers(c, IG_F32, n);
  const float *px = ig_tensor_data(x);
  ig_scope s = ig_scope_open(c);
  const float *sum = ig_tensor_data(ig_add_tensor(c, x, x));
  for (int64_t i = 0; i < n; i++) assert_true(sum[i] == 2 * px[i]);
  int64_t one = 1;
  ig_tensor *y = ig_tensor_empty(c, IG_F32, &one, 1);
  *(float *)ig_tensor_data(y) = 5;
  const float *more = ig_tensor_data(ig_add_tensor(c, x, y));
  for (int64_t i = 0; i < n; i++) assert_true(more[i] == px[i] + 5);
  const bool *less = ig_tensor_data(ig_lt_tensor(c, x, y));
  for (int64_t i = 0; i < n; i++) assert_int_equal(less[i], px[i] < 5);
  ig_tensor *bytes = numbers(c, IG_U8, n);
  const uint8_t *twice = ig_tensor_data(ig_add_tensor(c, bytes, bytes));
  for (int64_t i = 0; i < n; i++) assert_int_equal(twice[i], (uint8_t)(2 * (i % 251)));
  (void)ig_add__tensor(c, x, x);
  for (int64_t i = 0; i < n; i++) assert_true(px[i] == 2 * (float)(i % 1013));
  ig_scope_close(c, s);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  ig_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stream_copy),
      cmocka_unit_test(test_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
