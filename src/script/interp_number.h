// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparisons on plain numbers, without a call: what the built-ins of
// builtin_number.c give for two integers or two floats that are not symbolic.
#ifndef SCRIPT_INTERP_NUMBER_H_
#define SCRIPT_INTERP_NUMBER_H_

#include "base/mem.h"
#include "script/code.h"

// Field by field: a value that is put together and then copied is read while its parts are still
// being written.
static inline bool ig_snumber_int(ig_value *out, int64_t i) {
  out->kind = IG_KIND_INT;
  out->i.value = i;
  out->i.expr = NULL;
  out->i.origin = NULL;
  return true;
}
static inline bool ig_snumber_float(ig_value *out, double f) {
  out->kind = IG_KIND_FLOAT;
  out->f = f;
  out->f_expr = NULL;
  return true;
}
static inline bool ig_snumber_bool(ig_value *out, bool b) {
  out->kind = IG_KIND_BOOL;
  out->b = b;
  out->b_expr = NULL;
  return true;
}

// Integers wrap. False: an error, which the built-in words.
static inline bool ig_snumber_ints(ig_snumber fn, int64_t a, int64_t b, ig_value *out) {
  uint64_t x = (uint64_t)a;
  uint64_t y = (uint64_t)b;
  switch (fn) {
    case IG_SNUMBER_ADD:
      return ig_snumber_int(out, (int64_t)(x + y));
    case IG_SNUMBER_SUB:
      return ig_snumber_int(out, (int64_t)(x - y));
    case IG_SNUMBER_MUL:
      return ig_snumber_int(out, (int64_t)(x * y));
    case IG_SNUMBER_DIV:
      return ig_snumber_float(out, (double)a / (double)b);
    case IG_SNUMBER_FLOORDIV:  // the quotient of -2^63 and -1 is left to the built-in, as is 0
      return b > 0 && ig_snumber_int(out, ig_floor_div(a, b));
    case IG_SNUMBER_REMAINDER:
      if (b > 0 && !(y & (y - 1))) return ig_snumber_int(out, (int64_t)(x & (y - 1)));
      return b > 0 && ig_snumber_int(out, a % b + (a % b < 0 ? b : 0));
    case IG_SNUMBER_LT:
      return ig_snumber_bool(out, a < b);
    case IG_SNUMBER_LE:
      return ig_snumber_bool(out, a <= b);
    case IG_SNUMBER_GT:
      return ig_snumber_bool(out, a > b);
    case IG_SNUMBER_GE:
      return ig_snumber_bool(out, a >= b);
    case IG_SNUMBER_EQ:
      return ig_snumber_bool(out, a == b);
    case IG_SNUMBER_NE:
      return ig_snumber_bool(out, a != b);
    default:
      return false;
  }
}

static inline bool ig_snumber_floats(ig_snumber fn, double a, double b, ig_value *out) {
  switch (fn) {
    case IG_SNUMBER_ADD:
      return ig_snumber_float(out, a + b);
    case IG_SNUMBER_SUB:
      return ig_snumber_float(out, a - b);
    case IG_SNUMBER_MUL:
      return ig_snumber_float(out, a * b);
    case IG_SNUMBER_DIV:
      return ig_snumber_float(out, a / b);
    case IG_SNUMBER_LT:
      return ig_snumber_bool(out, a < b);
    case IG_SNUMBER_LE:
      return ig_snumber_bool(out, a <= b);
    case IG_SNUMBER_GT:
      return ig_snumber_bool(out, a > b);
    case IG_SNUMBER_GE:
      return ig_snumber_bool(out, a >= b);
    case IG_SNUMBER_EQ:
      return ig_snumber_bool(out, a == b);
    case IG_SNUMBER_NE:
      return ig_snumber_bool(out, a != b);
    default:
      return false;
  }
}

// Writes a register that holds a number or nothing. False, and nothing is written: not two plain
// numbers of one kind, or an error.
static inline bool ig_snumber_run(ig_snumber fn, const ig_value *a, const ig_value *b,
                                  ig_value *out) {
  if (a->kind != b->kind) return false;
  if (a->kind == IG_KIND_INT && !a->i.expr && !b->i.expr) {
    return ig_snumber_ints(fn, a->i.value, b->i.value, out);
  }
  if (a->kind == IG_KIND_FLOAT && !a->f_expr && !b->f_expr) {
    return ig_snumber_floats(fn, a->f, b->f, out);
  }
  return false;
}

#endif
