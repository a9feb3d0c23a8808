// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparisons on numbers with Python's rules. Symbolic integers stay symbolic.
#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "op/formula.h"
#include "script/builtin.h"
#include "sym/env.h"

// ---- operands

int64_t ig_sb_i64(const ig_sbuiltin_call *k, size_t i) {
  const ig_value *v = &k->in[i];
  if (v->kind == IG_KIND_BOOL) return v->b;
  if (!v->i.expr) return v->i.value;
  // In the round of a recorded loop, the number of an example is that of the first round only.
  if (k->c->mode->capture && ig_env_records_choices(k->c) && !v->i.expr->backed) {
    ig_fail_text(k->c, IG_UNSUPPORTED,
                 "a number that is known only when the model runs, such as the counter of a loop, "
                 "selects from a list or decides what is computed; use a tensor instead");
    return 0;
  }
  return ig_int_guard(k->c, v->i);
}

double ig_sb_f64(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_FLOAT) return v.f_expr ? ig_float_guard(c, &v) : v.f;
  if (v.kind == IG_KIND_INT) return (double)(v.i.expr ? ig_int_guard(c, v.i) : v.i.value);
  if (v.kind == IG_KIND_BOOL) return v.b;
  return v.kind == IG_KIND_COMPLEX ? v.z.re : 0;
}

ig_c128 ig_sb_complex(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_COMPLEX) return v.z;
  return (ig_c128){ig_sb_f64(c, v), 0};
}

double complex ig_sb_z(const ig_sbuiltin_call *k, size_t i) {
  ig_c128 z = ig_sb_complex(k->c, k->in[i]);
  double complex out;
  memcpy(&out, &z, sizeof out);  // C11's CMPLX, which clang 14 does not have
  return out;
}

bool ig_sb_truth(ig_ctx *c, ig_value v) {
  if (v.kind == IG_KIND_BOOL) return v.b_expr ? ig_bool_guard(c, &v) : v.b;
  if (v.kind == IG_KIND_INT) return !ig_int_eq_i64(c, v.i, 0);
  if (v.kind == IG_KIND_COMPLEX) return v.z.re != 0 || v.z.im != 0;
  return ig_sb_f64(c, v) != 0;
}

static bool is_symbolic(ig_value v) {
  return (v.kind == IG_KIND_INT && v.i.expr) || (v.kind == IG_KIND_FLOAT && v.f_expr);
}

bool ig_sb_symbolic(const ig_sbuiltin_call *k, ig_expr_kind fn) {
  bool any = false;
  bool real = true;
  for (size_t i = 0; i < k->n_in; i++) {
    any |= is_symbolic(k->in[i]);
    real &= k->in[i].kind == IG_KIND_INT || k->in[i].kind == IG_KIND_FLOAT;
  }
  if (!any || !real) return false;
  ig_sym_apply(k->c, fn, k->in, k->n_in, &k->out[0]);
  return true;
}

// The kind in which two numbers meet.
static ig_kind meet(const ig_sbuiltin_call *k) {
  ig_kind a = k->in[0].kind;
  ig_kind b = k->in[1].kind;
  if (a == IG_KIND_COMPLEX || b == IG_KIND_COMPLEX) return IG_KIND_COMPLEX;
  return a == IG_KIND_FLOAT || b == IG_KIND_FLOAT ? IG_KIND_FLOAT : IG_KIND_INT;
}

static ig_int int_of(ig_value v) {
  return v.kind == IG_KIND_BOOL ? ig_const(v.b) : v.i;
}

static void put_z(const ig_sbuiltin_call *k, double complex z) {
  k->out[0] = ig_of_complex(creal(z), cimag(z));
}

// ---- arithmetic

// Integers wrap, as machine integers do; sizes of a capture are computed by its own arithmetic.
#define ARITHMETIC(name, op, symbolic, fn)                                                      \
  IG_BUILTIN(name) {                                                                            \
    ig_kind kind = meet(k);                                                                     \
    if (kind == IG_KIND_FLOAT && ig_sb_symbolic(k, fn)) return;                                 \
    if (kind == IG_KIND_FLOAT) {                                                                \
      ig_sb_float(k, ig_sb_f64(k->c, k->in[0]) op ig_sb_f64(k->c, k->in[1]));                   \
    } else if (kind == IG_KIND_COMPLEX) {                                                       \
      put_z(k, ig_sb_z(k, 0) op ig_sb_z(k, 1));                                                 \
    } else {                                                                                    \
      ig_int a = int_of(k->in[0]);                                                              \
      ig_int b = int_of(k->in[1]);                                                              \
      k->out[0] = ig_of_int(a.expr || b.expr                                                    \
                                ? symbolic(k->c, a, b)                                          \
                                : ig_const((int64_t)((uint64_t)a.value op(uint64_t) b.value))); \
    }                                                                                           \
  }
ARITHMETIC(add, +, ig_size_add, IG_EXPR_ADD)
ARITHMETIC(sub, -, ig_size_sub, IG_EXPR_SUB)
ARITHMETIC(mul, *, ig_size_mul, IG_EXPR_MUL)

IG_BUILTIN(div) {
  if (meet(k) == IG_KIND_COMPLEX) {
    put_z(k, ig_sb_z(k, 0) / ig_sb_z(k, 1));
  } else if (!ig_sb_symbolic(k, IG_EXPR_TRUEDIV)) {
    ig_sb_float(k, ig_sb_f64(k->c, k->in[0]) / ig_sb_f64(k->c, k->in[1]));
  }
}

static bool is_zero(const ig_sbuiltin_call *k, ig_int b, const char *what) {
  if (!ig_int_eq_i64(k->c, b, 0)) return k->c->status != IG_OK;
  IG_SCRIPT_FAIL(k, "%s", what);
  return true;
}

// -2^63 / -1 wraps, too.
static int64_t floor_div(int64_t a, int64_t b) {
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : ig_floor_div(a, b);
}
static int64_t floor_mod(int64_t a, int64_t b) {
  return b == -1 ? 0 : a - b * ig_floor_div(a, b);
}

IG_BUILTIN(floordiv) {
  if (meet(k) == IG_KIND_FLOAT) {
    ig_sb_float(k, floor(ig_sb_f64(k->c, k->in[0]) / ig_sb_f64(k->c, k->in[1])));
    return;
  }
  ig_int a = int_of(k->in[0]);
  ig_int b = int_of(k->in[1]);
  if (is_zero(k, b, "division by 0")) return;
  k->out[0] = ig_of_int(a.expr || b.expr ? ig_size_floordiv(k->c, a, b)
                                         : ig_const(floor_div(a.value, b.value)));
}

IG_BUILTIN(truncdiv) {
  int64_t a = ig_sb_i64(k, 0);
  int64_t b = ig_sb_i64(k, 1);
  if (is_zero(k, ig_const(b), "division by 0")) return;
  ig_sb_int(k, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b);
}

static double float_mod(double a, double b) {
  return fmod(b + fmod(a, b), b);
}

IG_BUILTIN(remainder) {
  if (meet(k) == IG_KIND_FLOAT) {
    ig_sb_float(k, float_mod(ig_sb_f64(k->c, k->in[0]), ig_sb_f64(k->c, k->in[1])));
    return;
  }
  ig_int a = int_of(k->in[0]);
  ig_int b = int_of(k->in[1]);
  if (is_zero(k, b, "integer modulo by zero")) return;
  k->out[0] =
      ig_of_int(a.expr || b.expr ? ig_size_mod(k->c, a, b) : ig_const(floor_mod(a.value, b.value)));
}

IG_BUILTIN(pow) {
  if (meet(k) == IG_KIND_COMPLEX) {
    put_z(k, cpow(ig_sb_z(k, 0), ig_sb_z(k, 1)));
    return;
  }
  if (ig_sb_symbolic(k, IG_EXPR_FLOAT_POW)) return;
  double base = ig_sb_f64(k->c, k->in[0]);
  double exponent = ig_sb_f64(k->c, k->in[1]);
  if (base == 0 && exponent < 0) {
    IG_SCRIPT_FAIL(k, "0.0 cannot be raised to a negative power");
  } else {
    ig_sb_float(k, pow(base, exponent));
  }
}

IG_BUILTIN(pow_int) {
  if (k->in[1].kind == IG_KIND_INT && !k->in[1].i.expr && k->in[1].i.value >= 0 &&
      ig_sb_symbolic(k, IG_EXPR_POW_NATURAL)) {
    return;
  }
  uint64_t base = (uint64_t)ig_sb_i64(k, 0);
  int64_t exponent = ig_sb_i64(k, 1);
  uint64_t result = 1;
  if (exponent < 0) {
    IG_SCRIPT_FAIL(k, "Integers to negative integer powers are not allowed.");
    return;
  }
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  ig_sb_int(k, (int64_t)result);
}

IG_BUILTIN(divmod) {
  if (meet(k) == IG_KIND_FLOAT) {
    double a = ig_sb_f64(k->c, k->in[0]);
    double b = ig_sb_f64(k->c, k->in[1]);
    if (b == 0) {
      IG_SCRIPT_FAIL(k, "ZeroDivisionError: float divmod()");
      return;
    }
    double rest = fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    k->out[0] = ig_of_f64(floor((a - rest) / b + 0.5));
    k->out[1] = ig_of_f64(rest);
    return;
  }
  int64_t a = ig_sb_i64(k, 0);
  int64_t b = ig_sb_i64(k, 1);
  if (is_zero(k, ig_const(b), "ZeroDivisionError: integer division or modulo by zero")) return;
  k->out[0] = ig_of_i64(floor_div(a, b));
  k->out[1] = ig_of_i64(floor_mod(a, b));
}

IG_BUILTIN(neg) {
  ig_value v = k->in[0];
  if (v.kind == IG_KIND_COMPLEX) {
    k->out[0] = ig_of_complex(-v.z.re, -v.z.im);
  } else if (v.kind == IG_KIND_FLOAT && ig_sb_symbolic(k, IG_EXPR_NEG)) {
    return;
  } else if (v.kind == IG_KIND_FLOAT) {
    ig_sb_float(k, -ig_sb_f64(k->c, v));
  } else {
    ig_int i = int_of(v);
    k->out[0] = ig_of_int(i.expr ? ig_size_sub(k->c, ig_const(0), i)
                                 : ig_const((int64_t)(0 - (uint64_t)i.value)));
  }
}

IG_BUILTIN(abs) {
  ig_value v = k->in[0];
  if (v.kind == IG_KIND_TENSOR) {
    ig_sb_tensor(k, ig_abs(k->c, v.tensor));
  } else if (v.kind == IG_KIND_COMPLEX) {
    ig_sb_float(k, hypot(v.z.re, v.z.im));
  } else if (ig_sb_symbolic(k, IG_EXPR_ABS)) {
    return;
  } else if (v.kind == IG_KIND_FLOAT) {
    ig_sb_float(k, fabs(ig_sb_f64(k->c, v)));
  } else {
    int64_t i = ig_sb_i64(k, 0);
    ig_sb_int(k, i < 0 ? (int64_t)(0 - (uint64_t)i) : i);
  }
}

// Python's answer for equal numbers and for NaN is the first operand.
static bool less(const ig_sbuiltin_call *k, size_t a, size_t b) {
  if (meet(k) == IG_KIND_INT) return ig_int_is(k->c, int_of(k->in[a]), IG_LT, int_of(k->in[b]));
  return ig_sb_f64(k->c, k->in[a]) < ig_sb_f64(k->c, k->in[b]);
}

static void put_number(const ig_sbuiltin_call *k, ig_value v) {
  k->out[0] = meet(k) == IG_KIND_FLOAT ? ig_of_f64(ig_sb_f64(k->c, v)) : v;
}

static void extreme(const ig_sbuiltin_call *k, ig_int (*symbolic)(ig_ctx *, ig_int, ig_int),
                    bool second) {
  ig_int a = int_of(k->in[0]);
  ig_int b = int_of(k->in[1]);
  if (meet(k) == IG_KIND_INT && (a.expr || b.expr)) {
    k->out[0] = ig_of_int(symbolic(k->c, a, b));
  } else {
    put_number(k, k->in[second]);
  }
}

static bool any_symbolic(const ig_sbuiltin_call *k) {
  return meet(k) == IG_KIND_INT && (int_of(k->in[0]).expr || int_of(k->in[1]).expr);
}

IG_BUILTIN(min) {
  extreme(k, ig_int_min, !any_symbolic(k) && less(k, 1, 0));
}

IG_BUILTIN(max) {
  extreme(k, ig_int_max, !any_symbolic(k) && less(k, 0, 1));
}

// A truth value that is known only when the program runs, while one is recorded.
static bool is_data(const ig_sbuiltin_call *k, const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b_expr && k->c->mode->capture && !v->b_expr->backed;
}

static ig_tensor *truth_tensor(ig_ctx *c, ig_value v) {
  ig_value none = ig_none();
  return ig_scalar_tensor_with(c, v, ig_of_dtype(IG_BOOL), none, none, none);
}

// Of data: a recorded condition is read from a tensor.
static bool recorded_logic(const ig_sbuiltin_call *k,
                           ig_tensor *(*fn)(ig_ctx *, ig_tensor *, ig_tensor *)) {
  bool both = k->in[0].kind == IG_KIND_BOOL && k->in[1].kind == IG_KIND_BOOL;
  if (!both || (!is_data(k, &k->in[0]) && !is_data(k, &k->in[1]))) return false;
  ig_tensor *a = truth_tensor(k->c, k->in[0]);
  ig_tensor *b = truth_tensor(k->c, k->in[1]);
  ig_tensor *t = a && b ? fn(k->c, a, b) : NULL;
  if (t) k->out[0] = ig_sb_element(k->c, t);
  return true;
}

#define BITWISE(name, op)                                                 \
  IG_BUILTIN(name) {                                                      \
    if (recorded_logic(k, ig_logical_##name)) return;                     \
    if (k->in[0].kind == IG_KIND_BOOL && k->in[1].kind == IG_KIND_BOOL) { \
      bool a = ig_sb_truth(k->c, k->in[0]);                               \
      ig_sb_bool(k, a op ig_sb_truth(k->c, k->in[1]));                    \
    } else {                                                              \
      ig_sb_int(k, ig_sb_i64(k, 0) op ig_sb_i64(k, 1));                   \
    }                                                                     \
  }
BITWISE(and, &)
BITWISE(or, |)
BITWISE(xor, ^)

IG_BUILTIN(not ) {
  const ig_expr *e = k->in[0].kind == IG_KIND_BOOL ? k->in[0].b_expr : NULL;
  if (is_data(k, &k->in[0])) {
    ig_tensor *t = ig_logical_not(k->c, truth_tensor(k->c, k->in[0]));
    if (t) k->out[0] = ig_sb_element(k->c, t);
    return;
  }
  if (e) {
    ig_sym_apply(k->c, IG_EXPR_NOT, k->in, 1, &k->out[0]);
    return;
  }
  ig_sb_bool(k, !ig_sb_truth(k->c, k->in[0]));
}

static bool bad_shift(const ig_sbuiltin_call *k, int64_t by) {
  if (by >= 0) return false;
  IG_SCRIPT_FAIL(k, "negative shift count");
  return true;
}

IG_BUILTIN(shift_left) {
  uint64_t a = (uint64_t)ig_sb_i64(k, 0);
  int64_t by = ig_sb_i64(k, 1);
  if (!bad_shift(k, by)) ig_sb_int(k, by > 63 ? 0 : (int64_t)(a << by));
}

IG_BUILTIN(shift_right) {
  int64_t a = ig_sb_i64(k, 0);
  int64_t by = ig_sb_i64(k, 1);
  if (bad_shift(k, by)) return;
  by = by > 63 ? 63 : by;
  ig_sb_int(k, a < 0 ? ~(~a >> by) : a >> by);
}

// ---- comparisons

static int compare_text(const ig_sbuiltin_call *k) {
  const ig_sobj_str *a = ig_sb_str_at(k, 0);
  const ig_sobj_str *b = ig_sb_str_at(k, 1);
  int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
  return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

static bool is_number(ig_value v) {
  return v.kind == IG_KIND_INT || v.kind == IG_KIND_FLOAT || v.kind == IG_KIND_BOOL ||
         v.kind == IG_KIND_COMPLEX;
}

static bool equal(const ig_sbuiltin_call *k) {
  ig_value a = k->in[0];
  ig_value b = k->in[1];
  if (!is_number(a) || !is_number(b)) return ig_svalue_same(a, b);
  ig_kind kind = meet(k);
  if (kind == IG_KIND_INT && a.kind == IG_KIND_INT && b.kind == IG_KIND_INT) {
    return ig_int_eq(k->c, a.i, b.i);
  }
  if (kind == IG_KIND_INT) return ig_sb_i64(k, 0) == ig_sb_i64(k, 1);
  ig_c128 x = ig_sb_complex(k->c, a);
  ig_c128 y = ig_sb_complex(k->c, b);
  return x.re == y.re && x.im == y.im;
}

static const ig_expr *expr_of(ig_value v) {
  return v.kind == IG_KIND_INT ? v.i.expr : v.f_expr;
}

// A relation of numbers that are known when the program runs is not decided here: a condition or a
// loop of it is recorded. True: *k has the result.
static bool undecided(const ig_sbuiltin_call *k, ig_expr_kind relation) {
  bool real = (k->in[0].kind == IG_KIND_INT || k->in[0].kind == IG_KIND_FLOAT) &&
              (k->in[1].kind == IG_KIND_INT || k->in[1].kind == IG_KIND_FLOAT);
  const ig_expr *a = real ? expr_of(k->in[0]) : NULL;
  const ig_expr *b = real ? expr_of(k->in[1]) : NULL;
  bool choices = ig_env_records_choices(k->c);
  bool open = (a && (choices || !a->backed)) || (b && (choices || !b->backed));
  if (!k->c->mode->capture || !open) return false;
  ig_value out = ig_none();
  ig_sym_apply(k->c, relation, k->in, 2, &out);
  if (out.kind != IG_KIND_BOOL) return false;
  k->out[0] = out;
  return true;
}

IG_BUILTIN(eq) {
  if (!undecided(k, IG_EXPR_EQ)) ig_sb_bool(k, equal(k));
}

IG_BUILTIN(ne) {
  if (!undecided(k, IG_EXPR_NE)) ig_sb_bool(k, !equal(k));
}

#define ORDER(name, op, rel, kind)                                                       \
  IG_BUILTIN(name) {                                                                     \
    if (undecided(k, kind)) return;                                                      \
    if (ig_sobj_is(k->in[0], IG_SOBJ_STR)) {                                             \
      ig_sb_bool(k, compare_text(k) op 0);                                               \
    } else if (meet(k) == IG_KIND_INT) {                                                 \
      ig_int a = int_of(k->in[0]);                                                       \
      ig_int b = int_of(k->in[1]);                                                       \
      ig_sb_bool(k, a.expr || b.expr ? ig_int_is(k->c, a, rel, b) : a.value op b.value); \
    } else {                                                                             \
      ig_sb_bool(k, ig_sb_f64(k->c, k->in[0]) op ig_sb_f64(k->c, k->in[1]));             \
    }                                                                                    \
  }
ORDER(lt, <, IG_LT, IG_EXPR_LT)
ORDER(le, <=, IG_LE, IG_EXPR_LE)
ORDER(gt, >, IG_GT, IG_EXPR_GT)
ORDER(ge, >=, IG_GE, IG_EXPR_GE)

IG_BUILTIN(is) {
  ig_sb_bool(k, ig_svalue_same(k->in[0], k->in[1]));
}

IG_BUILTIN(isnot) {
  ig_sb_bool(k, !ig_svalue_same(k->in[0], k->in[1]));
}

// ---- ranges

// max(0, (span + step - 1) // step), where span is how far the range goes and step is positive.
static ig_int symbolic_length(ig_ctx *c, ig_int span, int64_t step) {
  ig_int up = step == 1 ? span : ig_size_add(c, span, ig_const(step - 1));
  ig_int n = step == 1 ? up : ig_size_floordiv(c, up, ig_const(step));
  return ig_int_max(c, ig_const(0), n);
}

IG_BUILTIN(range_length) {
  bool ints = k->in[0].kind == IG_KIND_INT && k->in[1].kind == IG_KIND_INT &&
              k->in[2].kind == IG_KIND_INT && !k->in[2].i.expr;
  int64_t by = ints ? k->in[2].i.value : 0;
  if (ints && (k->in[0].i.expr || k->in[1].i.expr) && by && by != INT64_MIN) {
    ig_int span = by > 0 ? ig_size_sub(k->c, k->in[1].i, k->in[0].i)
                         : ig_size_sub(k->c, k->in[0].i, k->in[1].i);
    k->out[0] = ig_of_int(symbolic_length(k->c, span, by > 0 ? by : -by));
    return;
  }
  int64_t lo = ig_sb_i64(k, 0);
  int64_t hi = ig_sb_i64(k, 1);
  int64_t step = ig_sb_i64(k, 2);
  uint64_t n = 0;
  if (step == 0) {
    IG_SCRIPT_FAIL(k, "range() arg 3 must not be zero");
  } else if (step > 0 && lo < hi) {
    n = 1 + ((uint64_t)hi - 1 - (uint64_t)lo) / (uint64_t)step;
  } else if (step < 0 && lo > hi) {
    n = 1 + ((uint64_t)lo - 1 - (uint64_t)hi) / (0 - (uint64_t)step);
  }
  ig_sb_int(k, (int64_t)n);
}

IG_BUILTIN(derive_index) {
  ig_int index = k->in[0].i;
  ig_int start = k->in[1].i;
  ig_int step = k->in[2].i;
  if (index.expr || start.expr || step.expr) {
    ig_int moved = ig_size_mul(k->c, index, step);
    k->out[0] = ig_of_int(ig_size_add(k->c, start, moved));
  } else {
    ig_sb_int(k, (int64_t)((uint64_t)start.value + (uint64_t)index.value * (uint64_t)step.value));
  }
}

IG_BUILTIN(rangelist) {
  int64_t n = ig_sb_i64(k, 0);
  ig_sobj_seq *s = ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, 0);
  for (int64_t i = 0; s && i < n && ig_sobj_seq_push(k->c, s, ig_of_i64(i)); i++) continue;
  ig_sb_object(k, s);
}

IG_BUILTIN(hash) {
  ig_value v = k->in[0];
  uint64_t h = IG_HASH_BASIS;
  if (v.kind == IG_KIND_INT || v.kind == IG_KIND_BOOL) {
    ig_sb_int(k, ig_sb_i64(k, 0));
  } else if (ig_sobj_is(v, IG_SOBJ_STR)) {
    const ig_sobj_str *s = v.object;
    ig_sb_int(k, (int64_t)ig_hash_bytes(h, s->text, s->n));
  } else if (v.kind == IG_KIND_FLOAT) {
    ig_sb_int(k, v.f == floor(v.f) && fabs(v.f) < 0x1p62 ? (int64_t)v.f
                                                         : (int64_t)ig_hash_bytes(h, &v.f, 8));
  } else if (v.kind == IG_KIND_DEVICE || v.kind == IG_KIND_NONE) {
    ig_sb_int(k, (int64_t)ig_hash_bytes(h, &v.device, v.kind == IG_KIND_NONE ? 0 : 4));
  } else {
    IG_SCRIPT_FAIL(k, "Can't hash IValues with tag '%s'",
                   v.kind == IG_KIND_TENSOR ? "Tensor" : "Object");
  }
}
