// SPDX-License-Identifier: Apache-2.0
// Types of scripts: spelling in graphs and code, subtypes, unions, joins of branches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "script/annotation.h"

static ig_ctx *c;
static ig_stypes types;

static const ig_stype *known_class(void *user, const char *name) {
  (void)user;
  if (strcmp(name, "__torch__.C") == 0) {
    return ig_stype_named(&types, IG_STYPE_CLASS, name, NULL);
  }
  if (strcmp(name, "Point") == 0) {
    const ig_stype_field fields[] = {{"x", ig_stype_plain(&types, IG_STYPE_TENSOR), NULL},
                                     {"y", ig_stype_plain(&types, IG_STYPE_INT), "3"}};
    return ig_stype_named_tuple(&types, "__torch__.Point", fields, 2);
  }
  return NULL;
}
static const ig_resolver resolver = {known_class, NULL};

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  types = ig_stypes_make(c);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ig_stypes_free(&types);
  ig_ctx_free(c);
  return 0;
}

static const ig_stype *of(const char *text) {
  const ig_stype *t = ig_stype_parse(&types, &resolver, text);
  if (!t) fail_msg("%s: %s", text, ig_ctx_error(c));
  return t;
}

static void reads(const char *text, const char *graph, const char *annotation) {
  const ig_stype *t = of(text);
  assert_string_equal(t->text, graph);
  ig_str s = ig_str_make(c->alloc);
  ig_stype_print_annotation(&s, t);
  assert_string_equal(s.at, annotation);
  ig_str_free(&s);
  assert_ptr_equal(of(annotation), t);
}

static void two_spellings(void **state) {
  (void)state;
  reads("torch.Tensor", "Tensor", "Tensor");
  reads("List[List[int]]", "int[][]", "List[List[int]]");
  reads("list[int | None]", "int?[]", "List[Optional[int]]");
  reads("Dict[str, Tuple[int, Tensor]]", "Dict(str, (int, Tensor))",
        "Dict[str, Tuple[int, Tensor]]");
  reads("Optional['__torch__.C']", "__torch__.C?", "Optional[__torch__.C]");
  reads("Union[str, int, List[int]]", "Union(int[], int, str)", "Union[List[int], int, str]");
  reads("Future[Tensor]", "Future[Tensor]", "Future[Tensor]");
  reads("Tuple[()]", "()", "Tuple[()]");
  reads("number", "Scalar", "number");
  reads("Final[int]", "int", "int");
  reads("List", "Tensor[]", "List[Tensor]");
  assert_string_equal(of("Point")->text, "NamedTuple(x : Tensor, y : int = 3)");
}

static void unions_are_flat_and_sorted(void **state) {
  (void)state;
  assert_ptr_equal(of("Union[int, None]"), of("Optional[int]"));
  assert_ptr_equal(of("Union[int, int]"), of("int"));
  assert_ptr_equal(of("Union[str, Union[int, str]]"), of("Union[int, str]"));
  assert_ptr_equal(of("Union[int, number]"), of("number"));
  assert_ptr_equal(of("Optional[Optional[int]]"), of("Optional[int]"));
  assert_ptr_equal(of("Optional[Union[int, str]]"), of("Union[int, str, None]"));
  assert_ptr_equal(ig_stype_not_none(&types, of("Union[int, str, None]")), of("Union[int, str]"));
}

static void subtypes(void **state) {
  (void)state;
  assert_true(ig_stype_is_subtype(of("int"), of("Optional[int]")));
  assert_true(ig_stype_is_subtype(of("None"), of("Optional[int]")));
  assert_true(ig_stype_is_subtype(of("int"), of("number")));
  assert_true(ig_stype_is_subtype(of("Tuple[int, None]"), of("Tuple[number, Optional[str]]")));
  assert_true(ig_stype_is_subtype(of("Point"), of("Tuple[Tensor, int]")));
  assert_true(ig_stype_is_subtype(of("List[int]"), of("Any")));
  assert_true(ig_stype_is_subtype(of("Optional[int]"), of("Union[int, str, None]")));
  assert_false(ig_stype_is_subtype(of("Optional[int]"), of("int")));
  assert_false(ig_stype_is_subtype(of("bool"), of("int")));
  assert_false(ig_stype_is_subtype(of("List[int]"), of("List[number]")));
  assert_false(ig_stype_is_subtype(of("Tuple[Tensor, int]"), of("Point")));
}

static void branches_join(void **state) {
  (void)state;
  assert_ptr_equal(ig_stype_unify(&types, of("Tensor"), of("None"), false), of("Optional[Tensor]"));
  assert_ptr_equal(ig_stype_unify(&types, of("Tuple[int, None]"), of("Tuple[int, str]"), false),
                   of("Tuple[int, Optional[str]]"));
  assert_null(ig_stype_unify(&types, of("int"), of("float"), false));
  assert_ptr_equal(ig_stype_unify(&types, of("int"), of("str"), true), of("Union[int, str]"));
}

static void unknown_names_are_quoted(void **state) {
  (void)state;
  assert_null(ig_stype_parse(&types, &resolver, "List[Foo]"));
  test_error_has(c, "Unknown type name 'Foo':\nList[Foo]\n     ~~~ <--- HERE\n");
  assert_null(ig_stype_parse(&types, &resolver, "Set[int]"));
  test_error_has(c, "Unknown type constructor Set:\nSet[int]\n~~~ <--- HERE\n");
  assert_null(ig_stype_parse(&types, NULL, "1 + 2"));
  test_error_has(c, "cannot be used in a type expression");
}

static ig_status session(ig_ctx *with) {
  ig_stypes t = ig_stypes_make(with);
  (void)ig_stype_parse(&t, NULL, "Dict[str, Union[List[int], Tuple[int, None], str]]");
  ig_stypes_free(&t);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_spellings),
      cmocka_unit_test(unions_are_flat_and_sorted),
      cmocka_unit_test(subtypes),
      cmocka_unit_test(branches_join),
      cmocka_unit_test(unknown_names_are_quoted),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
