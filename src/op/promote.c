// SPDX-License-Identifier: Apache-2.0
// Type promotion.
#include "op/formula.h"
#include "op/shape.h"

typedef enum category { BOOLEAN, INTEGER, REAL, COMPLEX } category;

static category category_of(ig_dtype d) {
  if (d == IG_BOOL) return BOOLEAN;
  if (ig_dtype_is_integral(d)) return INTEGER;
  return ig_dtype_is_complex(d) ? COMPLEX : REAL;
}

static ig_dtype promote_integers(ig_dtype a, ig_dtype b) {
  bool a_signed = a <= IG_I64 && a != IG_U8;
  bool b_signed = b <= IG_I64 && b != IG_U8;
  size_t x = ig_dtype_size(a);
  size_t y = ig_dtype_size(b);
  if (a_signed == b_signed) return x >= y ? a : b;
  ig_dtype s = a_signed ? a : b;
  ig_dtype u = a_signed ? b : a;
  // PyTorch has no common type for the wide unsigned ones; the float that can represent both is
  // used.
  if (u != IG_U8) return IG_F32;
  return s == IG_I8 ? IG_I16 : s;
}

static ig_dtype promote_reals(ig_dtype a, ig_dtype b) {
  if (a == IG_F64 || b == IG_F64) return IG_F64;
  if (a == IG_F32 || b == IG_F32) return IG_F32;
  bool a8 = a == IG_F8E4M3FN || a == IG_F8E5M2;
  bool b8 = b == IG_F8E4M3FN || b == IG_F8E5M2;
  if (a8 != b8) return a8 ? b : a;
  return IG_F32;  // float16 with bfloat16, or two kinds of 8 bits
}

ig_dtype ig_dtype_promote(ig_dtype a, ig_dtype b) {
  if (a == b) return a;
  category x = category_of(a);
  category y = category_of(b);
  if (x != y && x != COMPLEX && y != COMPLEX) return x > y ? a : b;
  if (x == INTEGER && y == INTEGER) return promote_integers(a, b);
  if (x == REAL && y == REAL) return promote_reals(a, b);
  if (x == COMPLEX && y == COMPLEX) return IG_C128;
  ig_dtype z = x == COMPLEX ? a : b;
  ig_dtype other = x == COMPLEX ? b : a;
  return other == IG_F64 ? IG_C128 : z;
}

bool ig_dtype_can_cast(ig_dtype from, ig_dtype to) {
  category x = category_of(from);
  category y = category_of(to);
  return x <= y;
}

ig_dtype ig_to_float(const ig_ctx *c, ig_dtype d) {
  return category_of(d) < REAL ? ig_ctx_default_dtype(c) : d;
}

ig_dtype ig_to_real(ig_dtype d) {
  return d == IG_C64 ? IG_F32 : d == IG_C128 ? IG_F64 : d;
}

ig_dtype ig_accumulate_dtype(ig_dtype d) {
  return category_of(d) < REAL ? IG_I64 : d;
}

static ig_dtype number_dtype(const ig_ctx *c, const ig_value *v) {
  ig_dtype real = ig_ctx_default_dtype(c);
  switch (v->kind) {
    case IG_KIND_BOOL:
      return IG_BOOL;
    case IG_KIND_INT:
      return IG_I64;
    case IG_KIND_COMPLEX:
      return real == IG_F64 ? IG_C128 : IG_C64;
    default:
      return real;
  }
}

// Tensors of one dtype, as most calls have them.
static bool all_alike(const ig_value *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind != IG_KIND_TENSOR || v[i].tensor->numberlike || v[i].tensor->ndim == 0 ||
        v[i].tensor->dtype != v[0].tensor->dtype) {
      return false;
    }
  }
  return n > 0;
}

ig_dtype ig_promote(const ig_ctx *c, const ig_value *v, size_t n) {
  if (all_alike(v, n)) return v[0].tensor->dtype;
  enum { DIM, ZERO_DIM, NUMBER, CLASSES };
  ig_dtype best[CLASSES] = {IG_BOOL, IG_BOOL, IG_BOOL};
  bool seen[CLASSES] = {false, false, false};
  for (size_t i = 0; i < n; i++) {
    bool tensor = v[i].kind == IG_KIND_TENSOR;
    if (!tensor && !ig_value_is_number(&v[i])) continue;
    int k = !tensor || v[i].tensor->numberlike ? NUMBER : v[i].tensor->ndim ? DIM : ZERO_DIM;
    ig_dtype d = tensor ? v[i].tensor->dtype : number_dtype(c, &v[i]);
    best[k] = seen[k] ? ig_dtype_promote(best[k], d) : d;
    seen[k] = true;
  }
  int k = seen[DIM] ? DIM : seen[ZERO_DIM] ? ZERO_DIM : NUMBER;
  ig_dtype result = best[k];
  while (++k < CLASSES) {
    if (!seen[k] || category_of(best[k]) <= category_of(result)) continue;
    // A complex number with float64 keeps the precision.
    bool complex = category_of(best[k]) == COMPLEX;
    result = complex && category_of(result) == REAL ? ig_dtype_promote(result, best[k]) : best[k];
  }
  return result;
}

ig_dtype ig_computing_dtype(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  size_t masks = op->def->masks;
  if (op->def->promote == IG_PROMOTE_SELF && args[masks].kind == IG_KIND_TENSOR) {
    return args[masks].tensor->dtype;
  }
  if (op->def->promote == IG_PROMOTE_BOOL) return IG_BOOL;
  ig_dtype d = ig_promote(c, args + masks, op->operands - masks);
  bool divides = op->def->promote == IG_PROMOTE_DIV && args[2].kind != IG_KIND_STR;
  return op->def->promote == IG_PROMOTE_FLOAT || divides ? ig_to_float(c, d) : d;
}
