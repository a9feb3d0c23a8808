// SPDX-License-Identifier: Apache-2.0
// Which sizes, strides and offsets are taken when a tensor is made, and which are refused there.
#include "tensor/geometry.h"

#include "heap.h"
#include "ingot/aten.h"

typedef struct example {
  const char *what;
  int ndim;
  int64_t size[2];
  int64_t stride[2];
  int64_t offset;
  const char *error;  // NULL: taken
} example;

static ig_meta meta_of(const example *e) {
  ig_meta m;
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  m.ndim = e->ndim;
  m.strided = true;
  m.offset = ig_const(e->offset);
  for (int d = 0; d < e->ndim; d++) {
    m.size[d] = ig_const(e->size[d]);
    m.stride[d] = ig_const(e->stride[d]);
  }
  return m;
}

#define BIG ((int64_t)1 << 62)

static void views_stay_inside_what_can_be_addressed(void **state) {
  (void)state;
  static const example examples[] = {
      {"all of it", 2, {2, 3}, {3, 1}, 0, NULL},
      {"expanded", 2, {1000000, 6}, {0, 1}, 0, NULL},
      {"as far as it goes", 1, {IG_MAX_ELEMENTS, 0}, {0, 0}, 5, NULL},
      {"one element more", 1, {IG_MAX_ELEMENTS + 1, 0}, {0, 0}, 0, "Storage size calculation"},
      {"2^62 times the same", 1, {BIG, 0}, {0, 0}, 0, "Storage size calculation overflowed"},
      {"2 x 2^61", 2, {2, BIG / 2}, {0, 0}, 0, "Storage size calculation overflowed"},
      {"2^124", 2, {BIG, BIG}, {0, 0}, 0, "numel: integer multiplication overflow"},
      {"one past the end", 1, {7, 0}, {1, 0}, 0, "out of bounds for storage of size 24"},
      {"an offset past the end", 1, {1, 0}, {1, 0}, 6, "out of bounds for storage of size 24"},
      {"a product that wraps", 1, {5, 0}, {BIG, 0}, 0, "Storage size calculation overflowed"},
      {"a sum that wraps", 1, {2, 0}, {1, 0}, INT64_MAX, "Storage size calculation overflowed"},
      {"a stride that nobody walks", 1, {1, 0}, {BIG, 0}, 0, "Storage size calculation"},
      {"empty, of a huge size", 2, {0, BIG}, {1, 1}, 0, "Storage size calculation overflowed"},
      {"empty, of huge strides", 2, {0, 9}, {1, BIG}, 0, "Storage size calculation overflowed"},
      {"empty", 2, {0, 9}, {9, 1}, 6, NULL},
      {"backwards", 1, {2, 0}, {-1, 0}, 3, "expected no negative stride or offset"},
      {"before the start", 1, {2, 0}, {1, 0}, -1, "expected no negative stride or offset"},
      {"a negative size", 1, {-2, 0}, {1, 0}, 0, "negative dimension"},
  };
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_tensor *base = ig_tensor_empty(c, IG_F32, (int64_t[]){6}, 1);
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const example *e = &examples[i];
    ig_meta m = meta_of(e);
    m.view_of = base;
    ig_tensor *t = ig_tensor_make(c, &m, false);
    if (!t != !!e->error) fail_msg("%s: %s", e->what, ig_ctx_error(c));
    if (e->error) test_error_has(c, e->error);
    // A tensor that is given another shape has to pass the same door.
    ig_tensor *again = ig_tensor_alias(c, base);
    bool ok = ig_tensor_reshape_inplace(c, again, &m);
    if (ok == !!e->error) fail_msg("%s, in place: %s", e->what, ig_ctx_error(c));
    if (e->error) test_error_has(c, e->error);
  }
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

static void fake_tensors_only_need_a_number(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_meta m = meta_of(&(example){"", 1, {BIG, 0}, {1, 0}, 0, NULL});
  ig_tensor *t = ig_tensor_make(c, &m, true);
  assert_non_null(t);
  assert_true(ig_tensor_numel(t) == BIG);
  m = meta_of(&(example){"", 2, {BIG, BIG}, {1, 1}, 0, NULL});
  assert_null(ig_tensor_make(c, &m, true));
  test_error_has(c, "numel: integer multiplication overflow");
  m = meta_of(&(example){"", 2, {3, -2}, {1, 1}, 0, NULL});
  assert_null(ig_tensor_make(c, &m, true));
  test_error_has(c, "negative dimension: sizes=[3, -2]");
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

static int freed;
static void count_free(void *user) {
  (void)user;
  freed++;
}

static void foreign_memory_passes_the_same_door(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  float data[6] = {0};
  static const int64_t strides[] = {0};
  ig_foreign memory = {
      .data = data, .bytes = sizeof data, .strides = strides, .free_fn = count_free};
  assert_null(ig_tensor_wrap(c, IG_F32, (int64_t[]){BIG}, 1, &memory));
  test_error_has(c, "Storage size calculation overflowed");
  assert_int_equal(freed, 1);
  memory.strides = NULL;
  assert_null(ig_tensor_wrap(c, IG_F32, (int64_t[]){7}, 1, &memory));
  test_error_has(c, "out of bounds for storage of size 24");
  assert_int_equal(freed, 2);
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views_stay_inside_what_can_be_addressed),
      cmocka_unit_test(fake_tensors_only_need_a_number),
      cmocka_unit_test(foreign_memory_passes_the_same_door),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
