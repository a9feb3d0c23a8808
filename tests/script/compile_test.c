// SPDX-License-Identifier: Apache-2.0
// Source text to results: what compiled functions compute, which errors the compiler gives where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "script/compile.h"
#include "script/interp.h"

static ig_ctx *c;
static ig_sunit *u;

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  u = ig_sunit_create(c);
  return u ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  ig_sunit_release(u);
  ig_ctx_free(c);
  return 0;
}

static bool resolve(ig_ctx *ctx, void *user, const char *name, ig_srange where, ig_sugar *out) {
  (void)ctx;
  (void)user;
  (void)where;
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  if (strcmp(name, "ValueError") == 0) {
    *out = (ig_sugar){.kind = IG_SUGAR_EXCEPTION, .name = "builtins.ValueError"};
  }
  return true;
}
static const ig_sfront front = {.resolve = resolve};

// The result of fn(n) as text, or the first lines of the error.
static void run(const char *text, int64_t n, char *got, size_t size) {
  ig_sfunction *f = ig_script_compile(c, u, text, &front);
  ig_value out = ig_none();
  ig_value arg = ig_of_i64(n);
  if (f && ig_sfunction_run(c, f, &arg, &out) == IG_OK) {
    ig_str s = ig_str_make(c->alloc);
    assert_true(ig_svalue_print(c, &s, out));
    (void)snprintf(got, size, "%s", s.at ? s.at : "");
    ig_str_free(&s);
  } else {
    (void)snprintf(got, size, "%s", ig_ctx_error(c));
    ig_ctx_clear(c);
  }
  ig_svalue_release(out);
}

static const struct {
  const char *text;
  int64_t n;
  const char *want;
} programs[] = {
    {"def fn(n: int):\n  return n + 1\n", 2, "3"},
    {"def fn(n: int):\n  return n / 2, n // 2, n % 2\n", 7, "(3.5, 3, 1)"},
    {"def fn(n: int):\n  s = 0\n  for i in range(n):\n    s += i\n  return s\n", 5, "10"},
    {"def fn(n: int):\n  s = 0\n  for i in range(2, n, 3):\n    s += i\n  return s\n", 10, "15"},
    {"def fn(n: int):\n  i = 0\n  while i < n:\n    i += 1\n    if i == 3:\n      break\n"
     "  return i\n",
     9, "3"},
    {"def fn(n: int):\n  s = 0\n  for i in range(n):\n    if i % 2 == 0:\n      continue\n"
     "    s += i\n  return s\n",
     6, "9"},
    {"def fn(n: int):\n  for i in range(n):\n    if i * i > n:\n      return i\n  return -1\n", 10,
     "4"},
    {"def fn(n: int):\n  if n > 3:\n    r = 'big'\n  elif n > 1:\n    r = 'mid'\n  else:\n"
     "    r = 'small'\n  return r\n",
     2, "mid"},
    {"def fn(n: int):\n  a, *b, d = (n, 2, 3, 4)\n  return a, b, d\n", 1, "(1, (2, 3), 4)"},
    {"def fn(n: int):\n  return [i * i for i in range(n)]\n", 4, "[0, 1, 4, 9]"},
    {"def fn(n: int):\n  d = {'a': n}\n  d['b'] = 2\n  return d['a'] + d['b'], 'a' in d, len(d)\n",
     5, "(7, True, 2)"},
    {"def fn(n: int):\n  x: Optional[int] = None\n  if n > 0:\n    x = n\n  if x is None:\n"
     "    return 0\n  return x + 1\n",
     4, "5"},
    {"def fn(n: int):\n  xs = [3, 1, 2]\n  xs.sort()\n  xs.append(n)\n  return xs[1:], xs[-1]\n", 9,
     "([2, 3, 9], 9)"},
    {"def fn(n: int):\n  return 'n={} {}'.format(n, 'x'), f'<{n}>', 'b' in 'abc'\n", 3,
     "(n=3 x, <3>, True)"},
    {"def fn(n: int):\n  return n > 1 and n < 5, n > 9 or n == 3, not n > 2\n", 3,
     "(True, True, False)"},
    {"def fn(n: int):\n  s = 0\n  for i, x in enumerate([5, 6, 7], n):\n    s += i * x\n"
     "  return s\n",
     1, "38"},
    {"def fn(n: int):\n  s = 0\n  for a, b in zip([1, 2, 3], [4, 5]):\n    s += a * b\n"
     "  return s + n\n",
     0, "14"},
    {"def fn(n: int):\n  x = 1 if n > 2 else 2\n  y = z = x\n  return y, z\n", 3, "(1, 1)"},
};

static void test_programs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    char got[2048];
    run(programs[i].text, programs[i].n, got, sizeof got);
    if (strcmp(got, programs[i].want) != 0) {
      fail_msg("%s\ngave %s, expected %s", programs[i].text, got, programs[i].want);
    }
  }
}

// First line of the message and the underlined text.
static const struct {
  const char *text;
  const char *message;
  const char *marked;
} errors[] = {
    {"def fn(n: int):\n  return m\n", "undefined value m", "         ~ <--- HERE"},
    {"def fn(n: int):\n  if n > 1:\n    y = 1\n  return y\n",
     "y is not defined in the false branch", "         ~ <--- HERE"},
    {"def fn(n: int):\n  y = 1\n  if n > 1:\n    y = 2.5\n  return y\n",
     "Variable 'y' previously had type int but is now being assigned to a value of type float",
     "    ~ <--- HERE"},
    {"def fn(n: int):\n  return n.foo\n", "'int' object has no attribute or method 'foo'.",
     "         ~~~~~ <--- HERE"},
    {"def fn(n: int) -> str:\n  return n\n",
     "Return value was annotated as having type str but is actually of type int",
     "  ~~~~~~~~ <--- HERE"},
    {"def fn(n: int):\n  break\n", "SyntaxError: 'break' outside loop", "  ~~~~~ <--- HERE"},
    {"def fn(n: int):\n  raise 'x'\n", "exceptions must derive from BaseException",
     "  ~~~~~~~~~ <--- HERE"},
    {"def fn(n: int):\n  a, b = (1, 2, 3)\n", "too many values to unpack: need 2 but found 3",
     "  ~~~~ <--- HERE"},
    {"def fn(n: int):\n  return (1, 'a')[n]\n",
     "Cannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the "
     "output type",
     "         ~~~~~~~~~~~ <--- HERE"},
    {"def fn(n: int):\n  return n(1)\n", "cannot call a value of type 'int'",
     "         ~ <--- HERE"},
};

static void test_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    char got[4096];
    run(errors[i].text, 1, got, sizeof got);
    if (!strstr(got, errors[i].message) || !strstr(got, errors[i].marked)) {
      fail_msg("%s\ngave %s\nexpected %s", errors[i].text, got, errors[i].message);
    }
  }
}

static void test_raise(void **state) {
  (void)state;
  char got[2048];
  run("def fn(n: int):\n  if n > 0:\n    raise ValueError('n is ' + str(n))\n  return n\n", 3, got,
      sizeof got);
  assert_non_null(strstr(got, "n is 3"));
  run("def fn(n: int):\n  assert n < 0, 'positive'\n  return n\n", 3, got, sizeof got);
  assert_non_null(strstr(got, "AssertionError: positive"));
}

// ---- memory

// Control flow, containers, strings, tensors, an early return: every part of the compiler.
static const char program[] =
    "def fn(n: int):\n"
    "  l: List[int] = []\n"
    "  d = {'a': 1.5}\n"
    "  for i in range(n):\n"
    "    if i % 2 == 0:\n"
    "      l.append(i * 2)\n"
    "      continue\n"
    "    d['b' + str(i)] = float(i)\n"
    "  x = torch.ones([2, 3]) + n\n"
    "  while bool(x.sum() < 100):\n"
    "    x = x * 2\n"
    "    if len(l) > 100:\n"
    "      return (x, -1, '')\n"
    "  l.sort(reverse=True)\n"
    "  y: Optional[int] = None\n"
    "  if n > 2:\n"
    "    y = n\n"
    "  if y is not None:\n"
    "    n = y\n"
    "  return (x, l[0] + n, ','.join(list(d.keys())).replace('b', 'cc'))\n";

static bool resolve_torch(ig_ctx *ctx, void *user, const char *name, ig_srange where,
                          ig_sugar *out) {
  (void)ctx;
  (void)user;
  (void)where;
  bool torch = strcmp(name, "torch") == 0;
  *out = (ig_sugar){.kind = torch ? IG_SUGAR_NAMESPACE : IG_SUGAR_UNKNOWN, .name = "aten"};
  return true;
}

static ig_status session(ig_ctx *with) {
  static const ig_sfront torch = {.resolve = resolve_torch};
  ig_sunit *unit = ig_sunit_create(with);
  ig_sfunction *f = unit ? ig_script_compile(with, unit, program, &torch) : NULL;
  ig_value arg = ig_of_i64(4);
  ig_value out = ig_none();
  if (f && ig_sfunction_run(with, f, &arg, &out) == IG_OK) {
    ig_str s = ig_str_make(with->alloc);
    (void)ig_svalue_print(with, &s, out);
    ig_sgraph *inlined = ig_sgraph_copy(f->graph);
    if (inlined) (void)ig_sgraph_inline(with, unit, inlined);
    ig_sgraph_free(inlined);
    ig_str_free(&s);
  }
  ig_svalue_release(out);
  ig_sunit_release(unit);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_programs, setup, teardown),
      cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_raise, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
