// SPDX-License-Identifier: Apache-2.0
// ig_expr_make: checks operands and dispatches to the builder of each kind. Functions on floats
// fold constants and are opaque otherwise.
#include "sym/build.h"

enum { ANY = 100 };  // number of operands is free

static const struct {
  unsigned char least;
  unsigned char most;
} arity[IG_EXPR_FUNCTIONS] = {
    [IG_EXPR_ADD] = {0, ANY},
    [IG_EXPR_MUL] = {0, ANY},
    [IG_EXPR_POW] = {2, 2},
    [IG_EXPR_POW_NATURAL] = {2, 2},
    [IG_EXPR_MIN] = {1, ANY},
    [IG_EXPR_MAX] = {1, ANY},
    [IG_EXPR_ABS] = {1, 1},
    [IG_EXPR_FLOORDIV] = {2, 2},
    [IG_EXPR_CLEANDIV] = {2, 2},
    [IG_EXPR_MOD] = {2, 2},
    [IG_EXPR_PYTHONMOD] = {2, 2},
    [IG_EXPR_LSHIFT] = {2, 2},
    [IG_EXPR_RSHIFT] = {2, 2},
    [IG_EXPR_CEIL] = {1, 1},
    [IG_EXPR_FLOOR] = {1, 1},
    [IG_EXPR_TRUNC] = {1, 1},
    [IG_EXPR_ROUND] = {1, 1},
    [IG_EXPR_ROUND_DECIMAL] = {2, 2},
    [IG_EXPR_TRUNC_FLOAT] = {1, 1},
    [IG_EXPR_INT_TRUEDIV] = {2, 2},
    [IG_EXPR_FLOAT_TRUEDIV] = {2, 2},
    [IG_EXPR_FLOAT_POW] = {2, 2},
    [IG_EXPR_TO_FLOAT] = {1, 1},
    [IG_EXPR_SQRT] = {1, 1},
    [IG_EXPR_COS] = {1, 1},
    [IG_EXPR_COSH] = {1, 1},
    [IG_EXPR_SIN] = {1, 1},
    [IG_EXPR_SINH] = {1, 1},
    [IG_EXPR_TAN] = {1, 1},
    [IG_EXPR_TANH] = {1, 1},
    [IG_EXPR_ASIN] = {1, 1},
    [IG_EXPR_ACOS] = {1, 1},
    [IG_EXPR_ATAN] = {1, 1},
    [IG_EXPR_EXP] = {1, 1},
    [IG_EXPR_LOG] = {1, 1},
    [IG_EXPR_LOG2] = {1, 1},
    [IG_EXPR_PIECEWISE] = {2, ANY},
    [IG_EXPR_EQ] = {2, 2},
    [IG_EXPR_NE] = {2, 2},
    [IG_EXPR_LT] = {2, 2},
    [IG_EXPR_LE] = {2, 2},
    [IG_EXPR_GT] = {2, 2},
    [IG_EXPR_GE] = {2, 2},
    [IG_EXPR_AND] = {0, ANY},
    [IG_EXPR_OR] = {0, ANY},
    [IG_EXPR_NOT] = {1, 1},
    [IG_EXPR_SUB] = {2, 2},
    [IG_EXPR_NEG] = {1, 1},
    [IG_EXPR_TRUEDIV] = {2, 2},
};

const char *ig_expr_kind_text(ig_expr_kind kind) {
  static const char *const names[] = {
#define X(name, text) [IG_EXPR_##name] = text,
      IG_EXPR_LIST(X)
#undef X
          [IG_EXPR_SUB] = "Sub",
      [IG_EXPR_NEG] = "Neg", [IG_EXPR_TRUEDIV] = "TrueDiv"};
  return names[kind];
}

static const ig_expr *wrong(ig_ctx *c, ig_expr_kind kind, const char *what) {
  (void)ig_fail(c, IG_INVALID, "%s %s", ig_expr_kind_text(kind), what);
  return NULL;
}

static bool all_of(const ig_expr *const *args, size_t n, bool boolean) {
  for (size_t i = 0; i < n; i++) {
    if ((args[i]->sort == IG_SORT_BOOL) != boolean) return false;
  }
  return true;
}

static bool sorts_fit(ig_expr_kind kind, const ig_expr *const *args, size_t n) {
  switch (kind) {
    case IG_EXPR_AND:
    case IG_EXPR_OR:
    case IG_EXPR_NOT:
      return all_of(args, n, true);
    case IG_EXPR_EQ:
    case IG_EXPR_NE:
      return true;
    case IG_EXPR_PIECEWISE:
      for (size_t i = 0; i < n; i++) {
        bool boolean = args[i]->sort == IG_SORT_BOOL;
        if (i % 2 ? !boolean : boolean != (args[0]->sort == IG_SORT_BOOL)) return false;
      }
      return n % 2 == 0;
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
    case IG_EXPR_LSHIFT:
    case IG_EXPR_RSHIFT:
    case IG_EXPR_POW_NATURAL:
      return n == 2 && args[0]->sort == IG_SORT_INT && args[1]->sort == IG_SORT_INT;
    default:
      return all_of(args, n, false);
  }
}

static bool fold(const ig_expr *const *args, ig_expr_kind kind, size_t n, ig_hint *out) {
  ig_hint h[2];
  for (size_t i = 0; i < n; i++) {
    if (!ig_expr_is_number(args[i]) || !ig_hint_of(args[i], &h[i])) return false;
  }
  return ig_hint_fold(kind, h, n, out);
}

static ig_expr_sort sort_of_function(ig_expr_kind kind) {
  return kind == IG_EXPR_LSHIFT || kind == IG_EXPR_RSHIFT || kind == IG_EXPR_POW_NATURAL ||
                 (kind >= IG_EXPR_CEIL && kind <= IG_EXPR_ROUND)
             ? IG_SORT_INT
             : IG_SORT_FLOAT;
}

const ig_expr *ig_build_function(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args,
                                 size_t n) {
  bool truediv = kind == IG_EXPR_INT_TRUEDIV || kind == IG_EXPR_FLOAT_TRUEDIV;
  if (truediv && (ig_expr_facts(args[1]) & IG_IS_ZERO)) {
    (void)ig_fail(c, IG_INVALID, "division by zero");
    return NULL;
  }
  ig_hint h;
  if (fold(args, kind, n, &h)) return ig_expr_of_hint(c, &h);
  bool rounds = kind >= IG_EXPR_CEIL && kind <= IG_EXPR_ROUND;
  if (rounds && args[0]->sort == IG_SORT_INT) return args[0];
  bool numbers = true;
  for (size_t i = 0; i < n; i++) numbers = numbers && ig_expr_is_number(args[i]);
  if (numbers) return wrong(c, kind, "has no value here");
  return ig_expr_intern(c, kind, sort_of_function(kind), args, n);
}

static const ig_expr *power(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args) {
  if (args[1]->kind == IG_EXPR_CONST) return ig_build_power(c, args[0], args[1]->num);
  if (kind == IG_EXPR_POW_NATURAL) return ig_build_function(c, kind, args, 2);
  return wrong(c, kind, "takes an integer constant as exponent");
}

// Python's / on two numbers.
static const ig_expr *true_division(ig_ctx *c, const ig_expr *const *args) {
  bool ints = args[0]->sort == IG_SORT_INT && args[1]->sort == IG_SORT_INT;
  if (ints) return ig_build_function(c, IG_EXPR_INT_TRUEDIV, args, 2);
  const ig_expr *f[2];
  for (int i = 0; i < 2; i++) {
    f[i] = args[i]->sort == IG_SORT_INT ? ig_build_function(c, IG_EXPR_TO_FLOAT, &args[i], 1)
                                        : args[i];
    if (!f[i]) return NULL;
  }
  return ig_build_function(c, IG_EXPR_FLOAT_TRUEDIV, f, 2);
}

static const ig_expr *build(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n) {
  switch (kind) {
    case IG_EXPR_ADD:
      return ig_build_sum(c, args, n);
    case IG_EXPR_MUL:
      return ig_build_product(c, args, n);
    case IG_EXPR_SUB:
      return ig_build_difference(c, args[0], args[1]);
    case IG_EXPR_NEG:
      return ig_build_negated(c, args[0]);
    case IG_EXPR_TRUEDIV:
      return true_division(c, args);
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
      return power(c, kind, args);
    case IG_EXPR_MIN:
    case IG_EXPR_MAX:
      return ig_build_minmax(c, kind, args, n);
    case IG_EXPR_ABS:
      return ig_build_abs(c, args[0]);
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
      return ig_build_quotient(c, kind, args[0], args[1]);
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
      return ig_build_mod(c, kind, args[0], args[1]);
    case IG_EXPR_PIECEWISE:
      return ig_build_piecewise(c, args, n);
    case IG_EXPR_AND:
    case IG_EXPR_OR:
      return ig_build_logic(c, kind, args, n);
    case IG_EXPR_NOT:
      return ig_build_not(c, args[0]);
    default:
      if (kind >= IG_EXPR_EQ && kind <= IG_EXPR_GE)
        return ig_build_relation(c, kind, args[0], args[1]);
      return ig_build_function(c, kind, args, n);
  }
}

const ig_expr *ig_expr_make(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n) {
  if (c->status != IG_OK) return NULL;
  for (size_t i = 0; i < n; i++) {
    if (!args[i]) return NULL;
  }
  if ((unsigned)kind >= IG_EXPR_FUNCTIONS || arity[kind].most == 0) {
    (void)ig_fail(c, IG_INVALID, "no symbolic function has the number %d", (int)kind);
    return NULL;
  }
  if (n < arity[kind].least || (arity[kind].most != ANY && n > arity[kind].most)) {
    return wrong(c, kind, "has another number of operands");
  }
  if (!sorts_fit(kind, args, n)) return wrong(c, kind, "does not take operands of these kinds");
  return build(c, kind, args, n);
}

const ig_expr *ig_expr_make1(ig_ctx *c, ig_expr_kind kind, const ig_expr *a) {
  return ig_expr_make(c, kind, &a, 1);
}

const ig_expr *ig_expr_make2(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  const ig_expr *args[] = {a, b};
  return ig_expr_make(c, kind, args, 2);
}
