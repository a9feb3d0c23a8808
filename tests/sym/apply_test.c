// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers that may be symbolic, the polynomial view, limits and memory.
#include <stdio.h>

#include "heap.h"
#include "sym/build.h"
#include "sym/poly.h"

static ig_ctx *c;
static test_heap heap;
static ig_mode_scope mode;

static int setup(void **state) {
  (void)state;
  heap = (test_heap){0};
  c = test_heap_ctx(&heap);
  if (!c) return -1;
  mode = ig_mode_push_sym(c, ig_sym_create(c));
  return c->mode->sym ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  if (c->mode->sym) ig_ref_release(&c->mode->sym->ref);
  ig_mode_pop(c, &mode);
  ig_ctx_free(c);
  return heap.live == 0 ? 0 : -1;
}

static ig_int size(const char *name, int64_t hint) {
  const ig_symbol_info info = {.sort = IG_SORT_INT,
                               .positive = true,
                               .backed = true,
                               .hint = hint,
                               .range = ig_vrange_ints(2, IG_WIDE_MAX)};
  return (ig_int){.value = hint, .expr = ig_expr_symbol(c, name, &info)};
}

static void assert_text(const ig_expr *e, const char *want) {
  ig_str s = ig_str_make(c->alloc);
  assert_non_null(e);
  ig_str_expr(&s, e);
  assert_string_equal(s.at, want);
  ig_str_free(&s);
}

static void assert_value(ig_value v, const char *want) {
  const ig_expr *e = ig_expr_of_value(c, &v);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  assert_text(e, want);
}

static ig_value apply2(ig_expr_kind fn, ig_value a, ig_value b) {
  const ig_value args[] = {a, b};
  ig_value out;
  ig_sym_apply(c, fn, args, 2, &out);
  return out;
}

static ig_value apply1(ig_expr_kind fn, ig_value a) {
  ig_value out;
  ig_sym_apply(c, fn, &a, 1, &out);
  return out;
}

static void test_constants_need_no_memory(void **state) {
  (void)state;
  long before = heap.calls;
  ig_int a = ig_int_add(c, ig_const(3), ig_const(4));
  a = ig_int_floordiv(c, ig_int_mul(c, a, ig_const(-3)), ig_const(2));
  assert_int_equal(a.value, -11);
  assert_int_equal(ig_int_mod(c, a, ig_const(4)).value, 1);
  assert_int_equal(ig_int_sub(c, a, ig_const(1)).value, -12);
  assert_int_equal(ig_int_min(c, a, ig_const(1)).value, -11);
  assert_int_equal(ig_int_max(c, a, ig_const(1)).value, 1);
  assert_int_equal(apply2(IG_EXPR_TRUEDIV, ig_of_i64(7), ig_of_i64(2)).f == 3.5, 1);
  assert_null(a.expr);
  assert_int_equal(heap.calls, before);
}

static void assert_overflows(ig_int (*fn)(ig_ctx *, ig_int, ig_int), ig_int a, ig_int b) {
  (void)fn(c, a, b);
  assert_int_equal(ig_ctx_status(c), IG_OVERFLOW);
  ig_ctx_clear(c);
}

static void test_overflow_is_an_error(void **state) {
  (void)state;
  ig_int s = size("s0", INT64_MAX / 2);
  assert_overflows(ig_int_add, ig_const(INT64_MAX), ig_const(1));
  assert_overflows(ig_int_sub, ig_const(INT64_MIN), ig_const(1));
  assert_overflows(ig_int_mul, ig_const(INT64_MAX), ig_const(2));
  assert_overflows(ig_int_floordiv, ig_const(INT64_MIN), ig_const(-1));
  assert_overflows(ig_int_mul, s, ig_const(3));  // the hint
  assert_overflows(ig_int_mul, s, s);
  (void)ig_int_mod(c, s, ig_const(0));
  assert_int_equal(ig_ctx_status(c), IG_INVALID);
}

static void test_numbers_follow_python(void **state) {
  (void)state;
  assert_value(apply2(IG_EXPR_FLOORDIV, ig_of_i64(7), ig_of_i64(-2)), "-4");
  assert_value(apply2(IG_EXPR_MOD, ig_of_i64(7), ig_of_i64(-2)), "-1");
  assert_value(apply2(IG_EXPR_POW, ig_of_i64(2), ig_of_i64(10)), "1024");
  assert_value(apply2(IG_EXPR_POW, ig_of_f64(4), ig_of_f64(0.5)), "2.00000000000000");
  assert_value(apply2(IG_EXPR_ADD, ig_of_bool(true), ig_of_i64(1)), "2");
  assert_value(apply2(IG_EXPR_SUB, ig_of_i64(1), ig_of_f64(0.5)), "0.500000000000000");
  assert_value(apply2(IG_EXPR_FLOORDIV, ig_of_f64(-7), ig_of_i64(2)), "-4.00000000000000");
  assert_value(apply2(IG_EXPR_LT, ig_of_i64(1), ig_of_f64(0.5)), "False");
  assert_value(apply2(IG_EXPR_OR, ig_of_bool(false), ig_of_bool(true)), "True");
  assert_value(apply1(IG_EXPR_ROUND, ig_of_f64(2.5)), "2");
  assert_value(apply1(IG_EXPR_NEG, ig_of_i64(5)), "-5");
  assert_value(apply1(IG_EXPR_NOT, ig_of_bool(true)), "False");
  (void)apply2(IG_EXPR_TRUEDIV, ig_of_i64(1), ig_of_i64(0));
  assert_int_equal(ig_ctx_status(c), IG_INVALID);
}

static void test_symbolic_values(void **state) {
  (void)state;
  ig_value s = ig_of_int(size("s0", 6));
  ig_value t = ig_of_int(size("s1", 4));
  ig_value half = apply2(IG_EXPR_TRUEDIV, s, ig_of_i64(4));
  assert_int_equal(half.kind, IG_KIND_FLOAT);
  assert_true(half.f == 1.5);
  assert_value(half, "IntTrueDiv(s0, 4)");
  assert_value(apply2(IG_EXPR_MUL, s, ig_of_f64(0.5)), "0.5*ToFloat(s0)");
  assert_value(apply2(IG_EXPR_LT, half, ig_of_i64(2)), "IntTrueDiv(s0, 4) < 2.0");
  assert_value(apply2(IG_EXPR_GE, s, ig_of_f64(2.5)), "ToFloat(s0) >= 2.5");
  assert_value(apply2(IG_EXPR_POW, s, ig_of_i64(2)), "s0**2");
  assert_value(apply2(IG_EXPR_POW, ig_of_i64(2), s), "PowByNatural(2, s0)");
  assert_value(apply2(IG_EXPR_MOD, s, t), "Mod(s0, s1)");
  assert_value(apply2(IG_EXPR_SUB, s, s), "0");
  assert_null(apply2(IG_EXPR_SUB, s, s).i.expr);
  ig_value less = apply2(IG_EXPR_LT, s, t);
  assert_int_equal(less.kind, IG_KIND_BOOL);
  assert_non_null(less.b_expr);
  assert_false(less.b);
  const ig_value ite[] = {less, s, t};
  ig_value out;
  ig_sym_apply(c, IG_EXPR_PIECEWISE, ite, 3, &out);
  assert_int_equal(out.i.value, 4);
  assert_value(out, "Piecewise((s0, s0 < s1), (s1, True))");
  assert_value(apply2(IG_EXPR_ADD, less, ig_of_i64(1)), "Piecewise((1, s0 < s1), (0, True)) + 1");
  assert_value(apply1(IG_EXPR_CEIL, half), "CeilToInt(IntTrueDiv(s0, 4))");
}

static void test_polynomials(void **state) {
  (void)state;
  const ig_expr *x = size("s0", 6).expr;
  const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1];
  const ig_expr *which = NULL;
  size_t degree = 0;
  ig_num k;
  ig_num b;
  const ig_expr *e = ig_expr_parse(c, "(s0 + s1)*(2*s0 - 3) + (s1//2)*s0");
  assert_true(ig_poly_coeffs(c, e, x, coeff, &degree));
  assert_int_equal(degree, 2);
  assert_text(coeff[2], "2");
  assert_text(coeff[1], "2*s1 + (s1//2) - 3");
  assert_text(coeff[0], "-3*s1");
  assert_false(ig_poly_coeffs(c, ig_expr_parse(c, "s0*(s0//2)"), x, coeff, &degree));
  assert_true(ig_poly_affine(c, ig_expr_parse(c, "3*(s0 - 2)"), &which, &k, &b));
  assert_ptr_equal(which, x);
  assert_true(k.p == 3 && b.p == -6);
  assert_false(ig_poly_affine(c, ig_expr_parse(c, "s0*s1"), &which, &k, &b));
  assert_text(ig_poly_solve(c, ig_expr_parse(c, "2*s0 + 4"), ig_expr_parse(c, "6*s1"), x),
              "3*s1 - 2");
  assert_text(ig_poly_solve(c, ig_expr_parse(c, "2*s0"), ig_expr_parse(c, "s1"), x), "s1/2");
  assert_null(ig_poly_solve(c, ig_expr_parse(c, "s0*s1"), ig_expr_parse(c, "6"), x));
  assert_text(ig_poly_gcd(c, ig_expr_parse(c, "4*s0**2 - 4"), ig_expr_parse(c, "6*s0*s1 + 6*s1")),
              "2*s0 + 2");
  assert_text(ig_poly_gcd(c, ig_expr_parse(c, "s0*s1 + s0*s2"), ig_expr_parse(c, "s1**2 - s2**2")),
              "s1 + s2");
  assert_text(ig_poly_divide(c, ig_expr_parse(c, "s0**3 - 1"), ig_expr_parse(c, "s0 - 1")),
              "s0**2 + s0 + 1");
  assert_null(ig_poly_divide(c, ig_expr_parse(c, "s0**3 + 1"), ig_expr_parse(c, "s0 - 1")));
  assert_true(ig_poly_content(ig_expr_parse(c, "6*s0 - 9*s1")) == 3);
  assert_int_equal(ig_ctx_status(c), IG_OK);
}

static void test_substitution(void **state) {
  (void)state;
  const ig_expr *from[] = {ig_expr_parse(c, "s0"), ig_expr_parse(c, "s1//2")};
  const ig_expr *to[] = {ig_expr_parse(c, "s1 + 1"), ig_expr_parse(c, "u0")};
  const ig_expr *e = ig_expr_parse(c, "s0*s1 + (s1//2)*Mod(s0, 3)");
  size_t n = 0;
  e = ig_expr_substitute(c, e, from, to, 2);
  assert_text(e, "s1*(s1 + 1) + u0*(Mod(s1 + 1, 3))");
  assert_text(ig_expr_simplify(c, e), "s1**2 + s1 + u0*(Mod(s1 + 1, 3))");
  const ig_expr *const *symbols = ig_expr_symbols(c, e, &n);
  assert_int_equal(n, 2);
  assert_string_equal(symbols[0]->name, "s1");
  assert_true(ig_expr_has(e, to[1]));
  assert_false(ig_expr_has(e, from[0]));
}

// A long chain of sizes needs a constant number of expressions per step.
static void test_long_chains_stay_linear(void **state) {
  (void)state;
  ig_int s[] = {size("s0", 3), size("s1", 4), size("s2", 5)};
  ig_int total = s[0];
  enum { STEPS = 100000 };
  for (int i = 0; i < STEPS; i++) total = ig_int_add(c, total, s[i % 3]);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  assert_int_equal(total.value, 3 + 33334 * 3 + 33333 * 4 + 33333 * 5);
  assert_text(total.expr, "33335*s0 + 33333*s1 + 33333*s2");
  assert_true(c->mode->sym->exprs.n < 4 * STEPS);
  size_t before = c->mode->sym->exprs.n;
  for (int i = 0; i < STEPS; i++) (void)ig_int_mul(c, s[i % 3], ig_int_add(c, s[0], s[1]));
  assert_true(c->mode->sym->exprs.n < before + 16);
}

static void test_growth_is_limited(void **state) {
  (void)state;
  const ig_expr *e = ig_expr_parse(c, "u0");
  for (int i = 0; e && i < 5000; i++) {  // Max(u0//2, u0//3) doubles at each step
    const ig_expr *half = ig_expr_make2(c, IG_EXPR_PYTHONMOD, e, ig_expr_of_i64(c, 5 + i));
    e = ig_expr_make2(c, IG_EXPR_ADD, ig_expr_make2(c, IG_EXPR_MAX, half, e), half);
  }
  assert_null(e);
  assert_int_equal(ig_ctx_status(c), IG_UNSUPPORTED);
  assert_non_null(strstr(ig_ctx_error(c), "grows beyond"));
}

static const char *const sample_texts[] = {
    "(s0 + s1)**3*(s2 - 1)//(s0 + s1) + Max(s0, Min(u0, 3), s1*s2)",
    "Piecewise((s0, Eq(s1, 2*u0)), (Abs(u0 - s1), (u0 > 3) & ~(u1 <= s0)), (1, True))",
    ("Or(StrictLessThan(Symbol('u0', integer=True), Integer(3)), Equality(IntTrueDiv(Symbol('s0', "
     "positive=True, integer=True), Integer(2)), Float('1.5', precision=53)))"),
};

static ig_status session(ig_ctx *d) {
  ig_mode_scope made = ig_mode_push_sym(d, ig_sym_create(d));
  for (size_t k = 0; d->mode->sym && k < sizeof sample_texts / sizeof *sample_texts; k++) {
    size_t n = 0;
    const ig_expr *e = ig_expr_canonical(d, ig_expr_simplify(d, ig_expr_parse(d, sample_texts[k])));
    if (e) (void)ig_expr_symbols(d, e, &n);
  }
  if (d->mode->sym) ig_ref_release(&d->mode->sym->ref);
  ig_mode_pop(d, &made);
  return ig_ctx_status(d);
}

static void test_without_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_constants_need_no_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(test_overflow_is_an_error, setup, teardown),
      cmocka_unit_test_setup_teardown(test_numbers_follow_python, setup, teardown),
      cmocka_unit_test_setup_teardown(test_symbolic_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_polynomials, setup, teardown),
      cmocka_unit_test_setup_teardown(test_substitution, setup, teardown),
      cmocka_unit_test_setup_teardown(test_long_chains_stay_linear, setup, teardown),
      cmocka_unit_test_setup_teardown(test_growth_is_limited, setup, teardown),
      cmocka_unit_test_setup_teardown(test_without_memory, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
