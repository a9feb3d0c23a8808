// SPDX-License-Identifier: Apache-2.0
// Copies between orders of dimensions: every element arrives, for all element sizes, for shapes
// that are no multiples of a tile, and over threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "tensor/copy.h"

typedef struct fixture {
  ig_ctx *c;
  ig_scope scope;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  if (!f || ig_ctx_create(NULL, &f->c) != IG_OK) return -1;
  f->scope = ig_scope_open(f->c);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_scope_close(f->c, f->scope);
  ig_ctx_free(f->c);
  free(f);
  return 0;
}

// A tensor whose bytes all differ from their neighbours'.
static ig_tensor *numbered(fixture *f, ig_dtype dtype, const int64_t *sizes, int ndim) {
  ig_tensor *t = ig_tensor_empty(f->c, dtype, sizes, ndim);
  assert_non_null(t);
  size_t n = (size_t)ig_tensor_numel(t) * ig_dtype_size(dtype);
  uint8_t *bytes = ig_tensor_data(t);
  for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 31 + i / 251);
  return t;
}

static ig_tensor *permuted(fixture *f, ig_tensor *t, const int *order) {
  ig_meta m;
  ig_meta_view(t, &m);
  for (int d = 0; d < t->ndim; d++) {
    m.size[d] = ig_sizes(t)[order[d]];
    m.stride[d] = ig_strides(t)[order[d]];
  }
  ig_tensor *view = ig_tensor_make(f->c, &m, false);
  assert_non_null(view);
  return view;
}

static const uint8_t *element(const ig_tensor *t, const int64_t *index) {
  int64_t at = 0;
  for (int d = 0; d < t->ndim; d++) at += index[d] * ig_strides(t)[d].value;
  return (const uint8_t *)ig_tensor_data(t) + at * (int64_t)ig_dtype_size(t->dtype);
}

static void check_copy(fixture *f, ig_tensor *from) {
  int64_t sizes[4];
  int64_t index[4] = {0};
  for (int d = 0; d < from->ndim; d++) sizes[d] = ig_sizes(from)[d].value;
  ig_tensor *to = ig_tensor_empty(f->c, from->dtype, sizes, from->ndim);
  assert_non_null(to);
  ig_tensor_copy(to, from);
  int64_t n = ig_tensor_numel(from);
  for (int64_t i = 0; i < n; i++) {
    if (memcmp(element(to, index), element(from, index), ig_dtype_size(from->dtype)) != 0) {
      fail_msg("element %lld differs (%s)", (long long)i, ig_dtype_text(from->dtype));
    }
    for (int d = from->ndim - 1; d >= 0 && ++index[d] == sizes[d]; d--) index[d] = 0;
  }
}

static void test_matrices(void **state) {
  fixture *f = *state;
  static const ig_dtype dtypes[] = {IG_U8, IG_BF16, IG_F32, IG_F64, IG_C128};
  static const int64_t sides[] = {1, 3, 4, 8, 16, 17, 63, 64, 65, 130};
  static const int order[4] = {1, 0, 2, 3};
  for (size_t k = 0; k < 5; k++) {
    for (size_t i = 0; i < 10; i++) {
      for (size_t j = 0; j < 10; j++) {
        ig_scope inner = ig_scope_open(f->c);
        int64_t sizes[] = {sides[i], sides[j]};
        check_copy(f, permuted(f, numbered(f, dtypes[k], sizes, 2), order));
        ig_scope_close(f->c, inner);
      }
    }
  }
}

static void test_orders(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {3, 20, 7, 33};
  static const int orders[][4] = {
      {0, 2, 1, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}, {0, 3, 1, 2}};
  for (size_t k = 0; k < 5; k++)
    check_copy(f, permuted(f, numbered(f, IG_F32, sizes, 4), orders[k]));
}

static void test_large(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {601, 517};
  static const int order[4] = {1, 0, 2, 3};
  ig_cpu levels[] = {IG_CPU_BASE, IG_CPU_AVX512};
  for (size_t k = 0; k < 2; k++) {
    (void)ig_cpu_limit(levels[k]);
    check_copy(f, permuted(f, numbered(f, IG_F32, sizes, 2), order));
    check_copy(f, permuted(f, numbered(f, IG_F64, sizes, 2), order));
  }
}

// Copies of expanded tensors with the same strides take no longer than their memory.
static void test_expanded(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {2, 3};
  ig_tensor *from = numbered(f, IG_F32, sizes, 2);
  ig_tensor *same = ig_tensor_empty(f->c, IG_F32, sizes, 2);
  ig_tensor *wide = ig_tensor_empty(f->c, IG_F64, sizes, 2);
  assert_true(same && wide);
  ig_tensor *const all[] = {from, same, wide};
  ig_tensor *expanded[3];
  for (int i = 0; i < 3; i++) {
    ig_meta m;
    ig_meta_view(all[i], &m);
    m.ndim = 4;
    const int64_t size[] = {INT64_C(1) << 40, 2, 1 << 10, 3};
    const int64_t stride[] = {0, 3, 0, 1};
    for (int d = 0; d < 4; d++) {
      m.size[d] = ig_const(size[d]);
      m.stride[d] = ig_const(stride[d]);
    }
    expanded[i] = ig_tensor_make(f->c, &m, false);
    assert_non_null(expanded[i]);
  }
  ig_tensor_copy(expanded[1], expanded[0]);
  ig_tensor_copy(expanded[2], expanded[0]);
  assert_memory_equal(ig_tensor_data(same), ig_tensor_data(from), 6 * sizeof(float));
  const float *floats = ig_tensor_data(from);
  const double *doubles = ig_tensor_data(wide);
  for (int i = 0; i < 6; i++) assert_true(doubles[i] == floats[i] || floats[i] != floats[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_matrices, setup, teardown),
      cmocka_unit_test_setup_teardown(test_orders, setup, teardown),
      cmocka_unit_test_setup_teardown(test_large, setup, teardown),
      cmocka_unit_test_setup_teardown(test_expanded, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
