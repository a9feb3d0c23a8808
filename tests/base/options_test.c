// SPDX-License-Identifier: Apache-2.0
// Structs of programs that were built with an older or a newer library.
#include "base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ingot/grad.h"

// Of the first release, of today, of tomorrow.
typedef struct first {
  size_t size;
  int32_t a;
} first;
typedef struct today {
  size_t size;
  int32_t a;
  int32_t b;
} today;
typedef struct tomorrow {
  size_t size;
  int32_t a;
  int32_t b;
  int64_t c;
} tomorrow;

static void fields_that_a_program_does_not_know_are_0(void **state) {
  (void)state;
  today got = {1, 1, 1};
  first old = {.size = sizeof old, .a = 5};
  // The older struct ends with padding, which its program need not clear.
  old.size = offsetof(first, a) + sizeof old.a;
  IG_OPTIONS_TAKE(&got, &old, a);
  assert_int_equal(got.size, sizeof got);
  assert_int_equal(got.a, 5);
  assert_int_equal(got.b, 0);
}

static void fields_that_the_library_does_not_know_are_ignored(void **state) {
  (void)state;
  struct {
    today got;
    int64_t after;
  } room = {.after = 77};
  tomorrow new = {sizeof new, 1, 2, 3};
  IG_OPTIONS_TAKE(&room.got, &new, a);
  assert_int_equal(room.got.size, sizeof room.got);
  assert_int_equal(room.got.b, 2);
  assert_int_equal(room.after, 77);
}

static void no_size_means_the_first_release(void **state) {
  (void)state;
  today got = {1, 1, 1};
  today without = {.a = 5, .b = 6};
  IG_OPTIONS_TAKE(&got, &without, a);
  assert_int_equal(got.a, 5);
  assert_int_equal(got.b, 0);
}

static void nothing_given_is_all_0(void **state) {
  (void)state;
  today got = {1, 1, 1};
  IG_OPTIONS_TAKE(&got, NULL, a);
  assert_int_equal(got.size, sizeof got);
  assert_int_equal(got.a, 0);
  assert_int_equal(got.b, 0);
}

// A limit counts also if the program forgot the size: it must not become the default in silence.
static void limits_without_a_size_count(void **state) {
  (void)state;
  ig_limits given = {.max_depth = 7};
  assert_int_equal(ig_limits_fill(&given).max_depth, 7);
}

// The struct of a function, cut off after its first fields: what lies behind is not read.
static void functions_read_what_the_size_covers(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  ig_tensor *x = ig_tensor_empty(c, IG_F32, NULL, 0);
  ig_tensor_set_requires_grad(c, x, true);
  ig_tensor *outputs[] = {x};
  ig_backward_args args = {.outputs = outputs, .noutputs = 1};
  args.size = offsetof(ig_backward_args, seeds);
  args.inputs = outputs;  // with inputs, gradients would go to the array that is not there
  args.ninputs = 1;
  assert_int_equal(ig_backward(c, &args, NULL), IG_OK);
  assert_non_null(ig_tensor_grad(x));
  ig_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_that_a_program_does_not_know_are_0),
      cmocka_unit_test(fields_that_the_library_does_not_know_are_ignored),
      cmocka_unit_test(no_size_means_the_first_release),
      cmocka_unit_test(nothing_given_is_all_0),
      cmocka_unit_test(limits_without_a_size_count),
      cmocka_unit_test(functions_read_what_the_size_covers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
