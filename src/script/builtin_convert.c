// SPDX-License-Identifier: Apache-2.0
// Conversions between numbers, strings and tensors of one element.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/formula.h"
#include "script/builtin.h"
#include "sym/env.h"
#include "tensor/number.h"

// ---- what all built-ins share

void ig_sb_text(const ig_sbuiltin_call *k, const char *text, size_t n) {
  ig_sb_object(k, ig_sobj_str_make(k->c, text, n));
}

void ig_sb_text_of(const ig_sbuiltin_call *k, ig_str *s) {
  if (s->failed) {
    (void)ig_fail(k->c, IG_NOMEM, "out of memory");
  } else {
    ig_sb_text(k, s->at, s->n);
  }
  ig_str_free(s);
}

void ig_sb_tensor(const ig_sbuiltin_call *k, ig_tensor *t) {
  if (t) k->out[0] = ig_of_tensor(ig_tensor_retain(t));
}

const ig_stype *ig_sb_type(const ig_sbuiltin_call *k, size_t i) {
  return k->node && i < k->node->n_out ? k->node->out[i]->type : NULL;
}

ig_value ig_sb_element(ig_ctx *c, ig_tensor *t) {
  int64_t n = ig_tensor_numel(t);
  if (!ig_is_fake(t) && n == 1) return ig_element_load(ig_tensor_data(t), t->dtype);
  if (!ig_is_fake(t)) {
    ig_fail_text(c, IG_RUNTIME, "a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)n);
    return ig_none();
  }
  ig_value args[1] = {ig_of_tensor(t)};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(c, IG_ID_ITEM, args, 1, outs);
  return outs[0];
}

bool ig_sb_equal(const ig_sbuiltin_call *k, ig_value a, ig_value b) {
  if (a.kind != IG_KIND_TENSOR || b.kind != IG_KIND_TENSOR) return ig_svalue_same(a, b);
  ig_tensor *same = ig_eq_tensor(k->c, a.tensor, b.tensor);
  ig_tensor *all = same ? ig_all(k->c, same) : NULL;
  return all && ig_sb_truth(k->c, ig_sb_element(k->c, all));
}

IG_BUILTIN(pass) {
  ig_svalue_retain(k->in[0]);
  k->out[0] = k->in[0];
}

IG_BUILTIN(choose) {
  ig_value v = k->in[ig_sb_truth(k->c, k->in[0]) ? 1 : 2];
  ig_svalue_retain(v);
  k->out[0] = v;
}

IG_BUILTIN(unwrap) {
  if (k->in[0].kind == IG_KIND_NONE) {
    IG_SCRIPT_FAIL(k, "Unwrapping null optional");
  } else {
    ig_sb_pass(k);
  }
}

// ---- strings as numbers

static bool int_of_text(const ig_sbuiltin_call *k, const ig_sobj_str *s, int64_t *out) {
  char *end = NULL;
  errno = 0;
  long long v = strtoll(s->text, &end, 10);
  if (end == s->text || errno == ERANGE) {
    IG_SCRIPT_FAIL(k, "stoll");
  } else if (end != s->text + s->n) {
    IG_SCRIPT_FAIL(k, "invalid literal for int() with base 10: '%s'", s->text);
  }
  *out = v;
  return k->c->status == IG_OK;
}

static double float_of_text(const ig_sbuiltin_call *k, const ig_sobj_str *s) {
  char *end = NULL;
  double v = strtod(s->text, &end);
  if (end == s->text) {
    IG_SCRIPT_FAIL(k, "stod");
  } else if (end != s->text + s->n) {
    IG_SCRIPT_FAIL(k, "could not convert string to float: '%s'", s->text);
  }
  return v;
}

// ---- numbers

static ig_value operand(const ig_sbuiltin_call *k, size_t i) {
  ig_value v = k->in[i];
  return v.kind == IG_KIND_TENSOR ? ig_sb_element(k->c, v.tensor) : v;
}

static void int_of_float(const ig_sbuiltin_call *k, double f) {
  if (!(fabs(f) <= 0x1p63) || f == 0x1p63) {
    IG_SCRIPT_FAIL(k, "cannot convert float %s to integer",
                   isnan(f)   ? "NaN"
                   : isinf(f) ? "infinity"
                              : "beyond 64 bits");
  } else {
    ig_sb_int(k, (int64_t)f);
  }
}

// A number that only the running program knows, in another kind.
static bool converted(const ig_sbuiltin_call *k, ig_value v, ig_expr_kind fn) {
  if (fn == IG_EXPR_TO_FLOAT && v.kind == IG_KIND_FLOAT && v.f_expr) {
    k->out[0] = v;
    return true;
  }
  ig_sbuiltin_call one = *k;
  one.in = &v;
  one.n_in = 1;
  return ig_sb_symbolic(&one, fn);
}

IG_BUILTIN(to_int) {
  ig_value v = operand(k, 0);
  int64_t number = 0;
  if (k->c->status != IG_OK) return;
  if (ig_sobj_is(v, IG_SOBJ_STR)) {
    if (int_of_text(k, v.object, &number)) ig_sb_int(k, number);
  } else if (v.kind == IG_KIND_INT) {
    k->out[0] = v;
  } else if (v.kind == IG_KIND_BOOL) {
    ig_sb_int(k, ig_sb_truth(k->c, v));
  } else if (v.kind == IG_KIND_COMPLEX && v.z.im != 0) {
    IG_SCRIPT_FAIL(k, "value cannot be converted to type int64_t without overflow");
  } else if (!converted(k, v, IG_EXPR_TRUNC)) {
    int_of_float(k, ig_sb_f64(k->c, v));
  }
}

IG_BUILTIN(to_float) {
  ig_value v = operand(k, 0);
  if (k->c->status != IG_OK) return;
  if (ig_sobj_is(v, IG_SOBJ_STR)) {
    double f = float_of_text(k, v.object);
    if (k->c->status == IG_OK) ig_sb_float(k, f);
  } else if (v.kind == IG_KIND_COMPLEX && v.z.im != 0) {
    IG_SCRIPT_FAIL(k, "value cannot be converted to type double without overflow");
  } else if (!converted(k, v, IG_EXPR_TO_FLOAT)) {
    ig_sb_float(k, ig_sb_f64(k->c, v));
  }
}

IG_BUILTIN(to_bool) {
  ig_value v = k->in[0];
  if (v.kind == IG_KIND_TENSOR && !ig_is_fake(v.tensor) && ig_tensor_numel(v.tensor) != 1) {
    IG_SCRIPT_FAIL(k, "Boolean value of Tensor with %s is ambiguous",
                   ig_tensor_numel(v.tensor) ? "more than one value" : "no values");
    return;
  }
  v = operand(k, 0);
  if (k->c->status != IG_OK) return;
  if (v.kind == IG_KIND_BOOL && v.b_expr) {
    k->out[0] = v;  // asked where it decides something
  } else {
    ig_sb_bool(k, ig_sb_truth(k->c, v));
  }
}

IG_BUILTIN(to_complex) {
  ig_value a = operand(k, 0);
  ig_value b = k->n_in > 1 ? operand(k, 1) : ig_of_f64(0);
  if (k->c->status != IG_OK) return;
  ig_c128 re = ig_sb_complex(k->c, a);
  ig_c128 im = ig_sb_complex(k->c, b);
  k->out[0] = ig_of_complex(re.re - im.im, re.im + im.re);
}

// ---- without being asked: where a number is declared

static bool implicit(const ig_sbuiltin_call *k, ig_value *v) {
  ig_tensor *t = k->in[0].tensor;
  if (t->requires_grad) {
    IG_SCRIPT_FAIL(k, "Cannot input a tensor that requires grad as a scalar argument");
  } else if (t->ndim != 0) {
    IG_SCRIPT_FAIL(k, "Cannot input a tensor of dimension other than 0 as a scalar argument");
  } else {
    *v = ig_sb_element(k->c, t);
  }
  return k->c->status == IG_OK;
}

IG_BUILTIN(int_implicit) {
  ig_value v = ig_none();
  if (!implicit(k, &v)) return;
  if (v.kind == IG_KIND_BOOL) v = ig_of_i64(ig_sb_truth(k->c, v));
  if (v.kind != IG_KIND_INT) {
    IG_SCRIPT_FAIL(k, "Cannot input a tensor of type %s as an integral argument",
                   ig_dtype_text(k->in[0].tensor->dtype));
    return;
  }
  k->out[0] = v;
}

IG_BUILTIN(float_implicit) {
  ig_value v = ig_none();
  if (implicit(k, &v) && !converted(k, v, IG_EXPR_TO_FLOAT)) ig_sb_float(k, ig_sb_f64(k->c, v));
}

IG_BUILTIN(complex_implicit) {
  ig_value v = ig_none();
  if (!implicit(k, &v)) return;
  ig_c128 z = ig_sb_complex(k->c, v);
  k->out[0] = ig_of_complex(z.re, z.im);
}

IG_BUILTIN(scalar_implicit) {
  ig_value v = ig_none();
  if (implicit(k, &v)) k->out[0] = v;
}
