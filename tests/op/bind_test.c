// SPDX-License-Identifier: Apache-2.0
// Which overload a call by name reaches: the one that PyTorch's argument parser chooses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap.h"
#include "ingot/aten.h"
#include "op/op.h"

static ig_ctx *c;
static ig_value result[IG_MAX_RETURNS];

static int setup(void **state) {
  (void)state;
  return ig_ctx_create(NULL, &c) == IG_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  ig_ctx_free(c);
  return 0;
}

static ig_value ones(int64_t n, int64_t m) {
  ig_int sizes[] = {ig_const(n), ig_const(m)};
  return ig_of_tensor(ig_ones(c, ig_of_ints(sizes, 2)));
}

static void reaches(const char *target, const ig_bound *call) {
  const ig_op *chosen = NULL;
  ig_call_bound(c, call, &chosen, result);
  assert_string_equal(ig_ctx_error(c), "");
  assert_non_null(chosen);
  assert_string_equal(chosen->target, target);
}

static void numbers_go_where_python_sends_them(void **state) {
  (void)state;
  ig_value x = ones(2, 3);
  ig_value one[] = {x, ig_of_i64(1)};
  reaches("aten.add.Tensor", &(ig_bound){.name = "add", .values = one, .npos = 2});
  reaches("aten.eq.Scalar", &(ig_bound){.name = "eq", .values = one, .npos = 2});
  ig_value zero_d = ig_of_tensor(ig_sum(c, x.tensor));
  ig_value tensors[] = {x, zero_d};
  reaches("aten.eq.Tensor", &(ig_bound){.name = "eq", .values = tensors, .npos = 2});
  reaches("aten.pow.Tensor_Tensor", &(ig_bound){.name = "pow", .values = tensors, .npos = 2});
  reaches("aten.pow.Tensor_Scalar", &(ig_bound){.name = "pow", .values = one, .npos = 2});
  ig_value base[] = {ig_of_i64(2), x};
  reaches("aten.pow.Scalar", &(ig_bound){.name = "pow", .values = base, .npos = 2});
}

static void integers_need_no_list(void **state) {
  (void)state;
  ig_value view[] = {ones(2, 3), ig_of_i64(3), ig_of_i64(2)};
  reaches("aten.view.default", &(ig_bound){.name = "view", .values = view, .npos = 3});
  assert_int_equal(ig_tensor_size(result[0].tensor, 0).value, 3);
  ig_value sizes[] = {ig_of_i64(4), ig_of_i64(5)};
  reaches("aten.zeros.default", &(ig_bound){.name = "zeros", .values = sizes, .npos = 2});
  assert_int_equal(ig_tensor_size(result[0].tensor, 1).value, 5);
  // A tensor of one integer is one of them.
  view[1] = ig_of_tensor(ig_sum(c, ig_ones(c, ig_of_ints(NULL, 0))));
  view[1] = ig_of_tensor(ig_to_dtype(c, view[1].tensor, ig_of_dtype(IG_I64)));
  view[2] = ig_of_i64(6);
  reaches("aten.view.default", &(ig_bound){.name = "view", .values = view, .npos = 3});
  assert_int_equal(ig_tensor_size(result[0].tensor, 1).value, 6);
}

static void keywords_have_second_names(void **state) {
  (void)state;
  ig_value values[] = {ones(2, 3), ig_of_i64(1), ig_of_bool(true)};
  const char *numpy[] = {"axis", "keepdims"};
  reaches("aten.argmax.default",
          &(ig_bound){.name = "argmax", .values = values, .npos = 1, .nkw = 2, .keys = numpy});
  assert_int_equal(ig_tensor_size(result[0].tensor, 1).value, 1);
  const char *input[] = {"input", "other"};
  ig_value both[] = {ones(2, 3), ones(2, 3)};
  reaches("aten.mul.Tensor",
          &(ig_bound){.name = "mul", .values = both, .npos = 0, .nkw = 2, .keys = input});
}

static void a_written_keyword_chooses_the_out_form(void **state) {
  (void)state;
  ig_value values[] = {ones(2, 3), ones(2, 3), ones(2, 3)};
  const char *keys[] = {"out"};
  reaches("aten.mul.out",
          &(ig_bound){.name = "mul", .values = values, .npos = 2, .nkw = 1, .keys = keys});
  assert_ptr_equal(result[0].tensor, values[2].tensor);
}

static void what_nobody_takes_lists_the_candidates(void **state) {
  (void)state;
  ig_value values[] = {ones(2, 3), ig_of_str("a")};
  ig_call_bound(c, &(ig_bound){.name = "mm", .values = values, .npos = 2}, NULL, result);
  assert_int_equal(ig_ctx_status(c), IG_BAD_TYPE);
  test_error_has(c, "mm() received an invalid combination of arguments - got (Tensor, str)");
  ig_value device[] = {ig_of_i64(2), ig_of_str("toaster")};
  const char *keys[] = {"device"};
  ig_call_bound(c, &(ig_bound){"aten", "zeros", device, 1, 1, keys}, NULL, result);
  test_error_has(c, "Invalid device string: 'toaster'");
  ig_call_bound(c, &(ig_bound){.name = "no_such_operator"}, NULL, result);
  test_error_has(c, "no operator is called 'no_such_operator'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_go_where_python_sends_them),
      cmocka_unit_test(integers_need_no_list),
      cmocka_unit_test(keywords_have_second_names),
      cmocka_unit_test(a_written_keyword_chooses_the_out_form),
      cmocka_unit_test(what_nobody_takes_lists_the_candidates),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
