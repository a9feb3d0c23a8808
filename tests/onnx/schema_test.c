// SPDX-License-Identifier: Apache-2.0
// The tables of ONNX operators: which version an opset uses, and what it says.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/schema.h"

static void versions(void **state) {
  (void)state;
  assert_null(ig_onnx_schema_find("", "Gelu", 19));
  assert_int_equal(ig_onnx_schema_find("", "Gelu", 20)->since, 20);
  assert_int_equal(ig_onnx_schema_find("ai.onnx", "Add", 12)->since, 7);
  assert_int_equal(ig_onnx_schema_find("", "Add", 13)->since, 13);
  assert_int_equal(ig_onnx_schema_find("", "Add", 1000)->since, 14);
  assert_null(ig_onnx_schema_find("", "Ad", 13));
  assert_null(ig_onnx_schema_find("", "", 13));
  assert_null(ig_onnx_schema_find("com.example", "Add", 13));
  assert_int_equal(ig_onnx_schema_first("", "Add")->since, 1);
  assert_true(ig_onnx_schema_find("", "Upsample", 10)->deprecated);
  assert_int_equal(ig_onnx_schema_find("ai.onnx.ml", "Scaler", 3)->since, 1);
  assert_true(ig_onnx_newest_opset("") >= 28 && ig_onnx_newest_opset("ai.onnx.ml") >= 5);
  assert_int_equal(ig_onnx_newest_opset("com.example"), 0);
}

static void parameters_and_attributes(void **state) {
  (void)state;
  const ig_onnx_schema *clip = ig_onnx_schema_find("", "Clip", 13);
  assert_int_equal(clip->min_in, 1);
  assert_int_equal(clip->max_in, 3);
  assert_string_equal(ig_onnx_schema_text(ig_onnx_schema_input(clip, 2)->name), "max");
  assert_int_equal(ig_onnx_schema_input(clip, 2)->option, IG_ONNX_OPTIONAL);
  assert_null(ig_onnx_schema_input(clip, 3));
  const ig_onnx_schema *concat = ig_onnx_schema_find("", "Concat", 13);
  assert_int_equal(concat->max_in, IG_ONNX_ENDLESS);
  assert_ptr_equal(ig_onnx_schema_input(concat, 9), ig_onnx_schema_input(concat, 0));
  const ig_onnx_attr_schema *axis = ig_onnx_schema_attr(concat, "axis");
  assert_true(axis && axis->required && axis->type == 2);
  assert_null(ig_onnx_schema_attr(concat, "axes"));
  const ig_onnx_schema *gemm = ig_onnx_schema_find("", "Gemm", 13);
  assert_string_equal(ig_onnx_schema_text(ig_onnx_schema_attr(gemm, "alpha")->value), "1.0");
}

static void types(void **state) {
  (void)state;
  const ig_onnx_schema *where = ig_onnx_schema_find("", "Where", 16);
  assert_int_equal(ig_onnx_param_types(where, ig_onnx_schema_input(where, 0))->forms[0], 1 << 9);
  const ig_onnx_schema *at = ig_onnx_schema_find("", "SequenceAt", 11);
  const ig_onnx_types *seq = ig_onnx_param_types(at, ig_onnx_schema_input(at, 0));
  assert_int_equal(seq->forms[IG_ONNX_FORM_TENSOR], 0);
  assert_true(seq->forms[IG_ONNX_FORM_SEQUENCE] >> 1 & 1);
  const ig_onnx_schema *zip = ig_onnx_schema_find("ai.onnx.ml", "ZipMap", 1);
  assert_true(ig_onnx_param_types(zip, ig_onnx_schema_output(zip, 0))->maps != 0);
  assert_string_equal(ig_onnx_elem_name(16), "bfloat16");
  assert_null(ig_onnx_elem_name(0));
  assert_null(ig_onnx_elem_name(29));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions),
      cmocka_unit_test(parameters_and_attributes),
      cmocka_unit_test(types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
