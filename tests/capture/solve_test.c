// SPDX-License-Identifier: Apache-2.0
// The dimension solver: declared dims and guards in, PyTorch's message out. Expected texts were
// recorded from PyTorch 2.4 and 2.5.
#include <stdio.h>
#include <string.h>

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/dims.h"
#include "sym/env.h"

static ig_ctx *c;

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  bool clean = ig_ctx_status(c) == IG_OK;
  if (!clean) print_error("left over: %s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  if (heap->live != 0) print_error("%ld blocks are left\n", heap->live);
  return clean && heap->live == 0 ? 0 : -1;
}

#define NAMED(n, l, h) \
  { .kind = IG_DIM_NAMED, .name = (n), .lo = (l), .hi = (h) }
#define DERIVED(text, r, l, h, f, t) \
  { .kind = IG_DIM_DERIVED, .name = (text), .root = (r), .lo = (l), .hi = (h), .k = (f), .c = (t) }
#define OPEN INT64_MAX

typedef struct one_input {
  const char *name;
  int ndim;
  int64_t sizes[3];
  ig_dim dims[3];
} one_input;

typedef struct a_case {
  one_input inputs[4];
  const char *guards[6];  // they hold for the example
  const char *want;       // NULL: no error
} a_case;

static void declare(const one_input *in) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, in->sizes, in->ndim);
  (void)ig_capture_input_dims(c, in->name, NULL, t, in->dims);
}

static void guard(const char *text) {
  const ig_expr *e = ig_expr_parse(c, text);
  if (!e) fail_msg("%s: %s", text, ig_ctx_error(c));
  ig_value v;
  ig_value_of_expr(e, &v);
  if (!ig_bool_guard(c, &v)) fail_msg("%s does not hold", text);
}

static void check(const a_case *k, const ig_solve_options *o) {
  ig_scope s = ig_scope_open(c);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  for (int i = 0; i < 4 && k->inputs[i].name; i++) declare(&k->inputs[i]);
  (void)ig_capture_inputs_done(c);
  for (int i = 0; i < 6 && k->guards[i] && ig_ctx_status(c) == IG_OK; i++) guard(k->guards[i]);
  (void)ig_capture_solve(c, o);
  assert_string_equal(ig_ctx_error(c), k->want ? k->want : "");
  ig_ctx_clear(c);
  ig_capture_abort(c);
  ig_scope_close(c, s);
}

#define HEAD(names) \
  "Constraints violated (" names ")! For more information, run with TORCH_LOGS=\"+dynamic\".\n"
#define FORCED(names)                             \
  "Specializations unexpectedly required (" names \
  ")! For more information, run with TORCH_LOGS=\"+dynamic\".\n"
#define X0 "L['x'].size()[0]"
#define Y0 "L['y'].size()[0]"

static const a_case cases[] = {
    // a range
    {{{"x", 1, {8}, {NAMED("dx", 0, OPEN)}}},
     {"s0 > 4"},
     HEAD("dx") "  - Not all values of dx = " X0
                " in the specified range satisfy the generated guard 5 <= " X0 " and " X0
                " <= int_oo\nSuggested fixes:\n  dx = Dim('dx', min=5)"},
    {{{"x", 1, {5}, {NAMED("dim", 3, OPEN)}}},
     {"s0 <= 6"},
     HEAD("dim") "  - Not all values of dim = " X0
                 " in the specified range 3 <= dim satisfy the generated guard 3 <= " X0 " and " X0
                 " <= 6\nSuggested fixes:\n  dim = Dim('dim', min=3, max=6)"},
    // implied by the dim
    {{{"x", 1, {8}, {NAMED("dx", 5, 12)}}}, {"s0 > 4", "s0 < 13"}, NULL},
    // a congruence
    {{{"x", 1, {13}, {NAMED("dx", 4, 32)}}},
     {"Eq(Mod(s0 - 1, 3), 0)"},
     HEAD("dx") "  - Not all values of dx = " X0
                " in the specified range 4 <= dx <= 32 satisfy the generated guard Eq(Mod(" X0
                " - 1, 3), 0).\nSuggested fixes:\n  _dx = Dim('_dx', max=11)\n  dx = 3*_dx - 2"},
    // a constant
    {{{"x", 1, {5}, {NAMED("dx", 0, 16)}}},
     {"Eq(s0, 5)"},
     HEAD("dx") "  - Not all values of dx = " X0
                " in the specified range dx <= 16 are valid because dx was inferred to be a "
                "constant (5).\nSuggested fixes:\n  dx = 5"},
    // equal, and derived from the smaller one
    {{{"x", 1, {6}, {NAMED("dx", 0, OPEN)}}, {"y", 1, {6}, {NAMED("dy", 0, OPEN)}}},
     {"Eq(s0, s1)"},
     HEAD("dy") "  - The values of dy = " Y0 " and dx = " X0
                " must always be equal.\nSuggested fixes:\n  dy = dx"},
    {{{"x", 1, {5}, {NAMED("dimx", 3, 6)}}, {"y", 1, {6}, {NAMED("dimy", 4, 7)}}},
     {"Eq(s0, s1 - 1)"},
     HEAD("dimy") "  - The values of dimy = " Y0
                  " must always be related to the values of dimx = " X0
                  " by dimy = dimx + 1.\nSuggested fixes:\n  dimy = dimx + 1"},
    // declared so
    {{{"x", 1, {5}, {NAMED("dx", 3, 6)}}, {"y", 1, {6}, {DERIVED("dx + 1", "dx", 3, 6, 1, 1)}}},
     {"Eq(s0, s1 - 1)"},
     NULL},
    {{{"x", 1, {5}, {NAMED("dx", 3, 6)}}, {"y", 1, {6}, {DERIVED("2*dx", "dx", 3, 6, 2, 0)}}},
     {NULL},
     "Expected input " Y0 " to be equal to 2*dx, where dx = 5, but got 6"},
    // a new root with what was derived from the old one
    {{{"x", 1, {6}, {NAMED("dx", 0, OPEN)}}, {"y", 1, {7}, {NAMED("dy", 0, OPEN)}}},
     {"Eq(Mod(s0, 3), 0)", "Eq(s0, s1 - 1)"},
     HEAD("dx, dy") "  - The values of dy = " Y0 " must always be related to the values of dx = " X0
                    " by dy = dx + 1.\n  - Not all values of dx = " X0
                    " in the specified range satisfy the generated guard Eq(Mod(" X0
                    ", 3), 0).\nSuggested fixes:\n  _dx = Dim('_dx', min=1, "
                    "max=3074457345618258602)\n  dx = 3*_dx\n"
                    "  dy = 3*_dx + 1"},
    // a product is too complex
    {{{"x", 2, {5, 3}, {NAMED("dx", 0, OPEN), NAMED("dy", 0, OPEN)}},
      {"y", 1, {15}, {NAMED("dz", 0, OPEN)}}},
     {"Eq(s0*s1, s2)"},
     HEAD("dz") "  - Not all values of dz" /* replaced below */},
    // a divisor
    {{{"x", 2, {3, 4}, {NAMED("dx", 0, OPEN), NAMED("dy", 0, OPEN)}}},
     {"Eq(Mod(s0*s1, s0 - 1), 0)"},
     FORCED("dx") "  - dx = " X0
                  " must be specialized to 3 because the guards generated for it are too "
                  "complex.\n\nSuggested fixes:\n  _dy = Dim('_dy', min=1, "
                  "max=4611686018427387903)\n  dx = 3\n  dy = 2*_dy"},
    // the root of a derived dim
    {{{"x", 2, {6, 2}, {DERIVED("dy - 6", "dy", 0, OPEN, 1, -6)}},
      {"y", 1, {12}, {NAMED("dy", 0, OPEN)}}},
     {"Eq(2*s0, s1)"},
     NULL /* replaced below */},
    // phantom root
    {{{"x", 1, {5}, {DERIVED("dx + 1", "dx", 0, 6, 1, 1)}},
      {"y", 1, {9}, {DERIVED("2*dx + 1", "dx", 0, 6, 2, 1)}}},
     {NULL},
     NULL},
    {{{"x", 1, {10}, {DERIVED("2*dx + 1", "dx", 0, 6, 2, 1)}}},
     {NULL},
     "Expected shape[0] = 10 of input Tensor to be of the form 2*dx + 1, where dx is an integer"},
    {{{"x", 1, {3}, {NAMED("dx", 6, OPEN)}}}, {NULL}, "3 not in range [6, int_oo]"},
    {{{"x", 1, {4}, {{.kind = IG_DIM_INT, .lo = 5}}}},
     {NULL},
     "Static shape constraint of 5 does not match input size of 4, for " X0},
    // sizes 0 and 1 are constants
    {{{"x", 1, {1}, {NAMED("dx", 0, OPEN)}}},
     {NULL},
     HEAD("dx") "  - Not all values of dx = " X0
                " in the specified range are valid because dx was inferred to be a constant "
                "(1).\nSuggested fixes:\n  dx = 1"},
    {{{"x", 1, {1}, {{.kind = IG_DIM_AUTO}}}}, {NULL}, NULL},
};

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    a_case k = cases[i];
    if (strncmp(k.guards[0] ? k.guards[0] : "", "Eq(s0*s1", 8) == 0) {
      k.want = FORCED(
          "dx, dy") "  - dx = " X0
                    " must be specialized to 5 because the guards generated for it are too "
                    "complex.\n"
                    "  - dy = L['x'].size()[1] must be specialized to 3 because the guards "
                    "generated "
                    "for it are too complex.\n\nSuggested fixes:\n  dx = 5\n  dy = 3\n  dz = 15";
    }
    if (strncmp(k.guards[0] ? k.guards[0] : "", "Eq(2*s0, s1)", 12) == 0) {
      k.want =
          HEAD("dy, dy - 6") "  - The values of dy = " Y0
                             " must always be related to the values of dy - 6 = " X0
                             " by dy = 2*dy - 12.\n  - Not all values of dy - 6 = " X0
                             " in the specified range satisfy the generated guard Eq(" X0 ", 2*" X0
                             " - 6)." FORCED("dy") "  - dy - 6 = " X0
                                                   " must be specialized to 6 because the guards "
                                                   "generated for it are too complex.\n"
                                                   "\nSuggested fixes:\n  dy = 12";
    }
    check(&k, NULL);
  }
}

static void test_fixes_are_read(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_dim_fix *f = NULL;
  size_t n = ig_dim_fixes(c,
                          "text\nSuggested fixes:\n  _dx = Dim('_dx', max=11)\n"
                          "  dx = 3*_dx - 2\n  dy = 12\n  dz = dy\n  dw = Dim('dw', min=3, max=6)",
                          &f);
  assert_int_equal(n, 5);
  assert_int_equal(f[0].kind, IG_FIX_RANGE);
  assert_int_equal(f[0].hi, 11);
  assert_true(f[0].lo == INT64_MIN);
  assert_string_equal(f[1].root, "_dx");
  assert_int_equal(f[1].k, 3);
  assert_int_equal(f[1].c, -2);
  assert_int_equal(f[2].value, 12);
  assert_string_equal(f[3].root, "dy");
  assert_int_equal(f[4].lo, 3);
  ig_scope_close(c, s);
}

// 10,000 guards of an ordinary model: their time is in bench/export.py.
static void test_many_guards(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  one_input in = {"x", 2, {8, 64}, {NAMED("batch", 2, 4096), NAMED("seq", 2, 4096)}};
  declare(&in);
  ig_int b = (ig_int){.value = 8, .expr = ig_expr_parse(c, "s0")};
  ig_int q = (ig_int){.value = 64, .expr = ig_expr_parse(c, "s1")};
  for (int64_t i = 0; i < 10000; i++) {
    ig_int a = ig_int_add(c, ig_int_mul(c, b, ig_const(i % 97 + 1)), ig_int_mul(c, q, ig_const(i)));
    (void)ig_int_is(c, a, IG_NE, ig_const(i));
  }
  (void)ig_capture_solve(c, NULL);
  assert_string_equal(ig_ctx_error(c), "");
  ig_capture_abort(c);
  ig_scope_close(c, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_cases, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fixes_are_read, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_guards, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
