// SPDX-License-Identifier: Apache-2.0
// Values as text: str, print, format and the percent operator; warnings and exceptions.
#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/str_bytes.h"
#include "script/builtin.h"
#include "script/failure.h"
#include "script/interp.h"
#include "script/tensor_text.h"
#include "sym/expr.h"

// ---- values

static void print_float(ig_str *s, double f) {
  if (isnan(f) || isinf(f)) {
    ig_str_add(s, "%s", isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
  } else {
    size_t from = s->n;
    ig_str_add(s, "%.17g", f);
    bool whole = !s->failed && !strpbrk(s->at + from, ".e");
    if (whole) ig_str_add(s, ".");
  }
}

static void print_complex(ig_str *s, ig_c128 z) {
  print_float(s, z.re);
  ig_str_add(s, "%s", signbit(z.im) ? "-" : "+");
  print_float(s, fabs(z.im));
  ig_str_add(s, "j");
}

static void print_device(ig_str *s, ig_device d) {
  ig_str_add(s, "%s", ig_device_type_text(d));
  if (d.index >= 0) ig_str_add(s, ":%d", d.index);
}

static void print(ig_str *s, ig_value v, size_t depth);

static void print_seq(ig_str *s, const ig_sobj_seq *q, size_t depth) {
  bool tuple = q->head.kind == IG_SOBJ_TUPLE;
  ig_str_add(s, tuple ? "(" : "[");
  for (size_t i = 0; i < q->n; i++) {
    if (i) ig_str_add(s, ", ");
    print(s, q->at[i], depth - 1);
  }
  ig_str_add(s, !tuple ? "]" : q->n == 1 ? ",)" : ")");
}

static void print_dict(ig_str *s, const ig_sobj_dict *d, size_t depth) {
  size_t i = 0;
  bool first = true;
  ig_str_add(s, "{");
  for (const ig_sentry *e; (e = ig_sobj_dict_next(d, &i)); first = false) {
    if (!first) ig_str_add(s, ", ");
    print(s, e->key, depth - 1);
    ig_str_add(s, ": ");
    print(s, e->value, depth - 1);
  }
  ig_str_add(s, "}");
}

static void print_object(ig_str *s, const ig_sobj *o, size_t depth) {
  if (o->kind == IG_SOBJ_STR) {
    const ig_sobj_str *text = (const ig_sobj_str *)o;
    ig_str_bytes(s, text->text, text->n);
  } else if (depth == 0) {
    ig_str_add(s, "...");
  } else if (o->kind == IG_SOBJ_LIST || o->kind == IG_SOBJ_TUPLE) {
    print_seq(s, (const ig_sobj_seq *)o, depth);
  } else if (o->kind == IG_SOBJ_DICT) {
    print_dict(s, (const ig_sobj_dict *)o, depth);
  } else if (o->kind == IG_SOBJ_ENUM) {
    const ig_sobj_enum *e = (const ig_sobj_enum *)o;
    ig_str_add(s, "Enum<%s.%s>", o->type->name, e->declaration->members.at[e->member].name);
  } else if (o->kind == IG_SOBJ_INSTANCE) {
    ig_str_add(s, "<%s object>", o->type->name);
  } else if (o->kind == IG_SOBJ_FUTURE) {
    ig_str_add(s, "<torch.Future object>");
  } else {
    ig_str_add(s, "<%s object>", o->kind == IG_SOBJ_FUNCTION ? "Function" : "Python");
  }
}

static void print(ig_str *s, ig_value v, size_t depth) {
  if (s->failed) return;  // what is shared may be as many values as no text has room for
  switch (v.kind) {
    case IG_KIND_NONE:
      ig_str_add(s, "None");
      break;
    case IG_KIND_TENSOR:
      ig_tensor_print(s, v.tensor);
      break;
    case IG_KIND_INT:
      ig_str_int(s, v.i);
      break;
    case IG_KIND_FLOAT:
      print_float(s, v.f);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, v.b ? "True" : "False");
      break;
    case IG_KIND_COMPLEX:
      print_complex(s, v.z);
      break;
    case IG_KIND_DEVICE:
      print_device(s, v.device);
      break;
    case IG_KIND_OBJECT:
      print_object(s, v.object, depth);
      break;
    default:
      ig_str_add(s, "<Generator>");
      break;
  }
}

bool ig_svalue_print(ig_ctx *c, ig_str *s, ig_value v) {
  print(s, v, ig_limits_of(c, NULL).max_depth);
  if (s->failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
  return !s->failed;
}

// ---- format strings

IG_BUILTIN(str) {
  ig_str s = ig_str_make(k->c->alloc);
  ig_str_add(&s, "%s", "");
  (void)ig_svalue_print(k->c, &s, k->in[0]);
  ig_sb_text_of(k, &s);
}

IG_BUILTIN(format) {
  const ig_sobj_str *f = ig_sb_str_at(k, 0);
  ig_str s = ig_str_make(k->c->alloc);
  size_t used = 1;
  ig_str_add(&s, "%s", "");
  const char *at = f->text;
  for (const char *mark; (mark = strstr(at, "{}")) && k->c->status == IG_OK; at = mark + 2) {
    ig_str_bytes(&s, at, (size_t)(mark - at));
    if (used >= k->n_in) {
      IG_SCRIPT_FAIL(k, "Too few arguments for format string: %s", f->text);
    } else {
      (void)ig_svalue_print(k->c, &s, k->in[used++]);
    }
  }
  ig_str_add(&s, "%s", at);
  ig_sb_text_of(k, &s);
}

static const char *class_of(ig_value v) {
  static const char *const objects[] = {"String", "GenericList", "GenericDict",
                                        "Tuple",  "Object",      "Enum"};
  if (v.kind == IG_KIND_TENSOR) return "Tensor";
  if (v.kind == IG_KIND_NONE) return "None";
  if (v.kind == IG_KIND_BOOL) return "Bool";
  const ig_sobj *o = ig_sobj_of(v);
  return o && o->kind <= IG_SOBJ_ENUM ? objects[o->kind] : "Object";
}

static bool is_number(ig_value v) {
  return v.kind == IG_KIND_INT || v.kind == IG_KIND_FLOAT;
}

// One conversion of a format string.
static void convert(const ig_sbuiltin_call *k, ig_str *s, char key, ig_value v) {
  // Through single precision, as the original does.
  double f = is_number(v) ? (float)ig_sb_f64(k->c, v) : 0;
  if (strchr("dieEfFgG", key) && !is_number(v)) {
    IG_SCRIPT_FAIL(k, "%%%c requires a number for formatting, but got %s", key, class_of(v));
  } else if (key == 'd' || key == 'i') {
    if (v.kind == IG_KIND_INT)
      ig_str_int(s, v.i);
    else
      ig_str_add(s, "%.0f", trunc(ig_sb_f64(k->c, v)));
  } else if (key == 'e' || key == 'E') {
    ig_str_add(s, key == 'e' ? "%e" : "%E", f);
  } else if (key == 'f' || key == 'F') {
    ig_str_add(s, "%f", f);
  } else if (key == 'c') {
    bool one = ig_sobj_is(v, IG_SOBJ_STR) && ((const ig_sobj_str *)v.object)->n == 1;
    if (v.kind == IG_KIND_INT)
      ig_str_bytes(s, &(char){(char)v.i.value}, 1);
    else if (one)
      print(s, v, 1);
    else
      IG_SCRIPT_FAIL(k, "%%c requires an int or char for formatting, but got %s", class_of(v));
  } else if (key == 's') {
    (void)ig_svalue_print(k->c, s, v);
  } else {
    IG_SCRIPT_FAIL(k, "The specifier %%%c is not supported in TorchScript format strings", key);
  }
}

IG_BUILTIN(percent_format) {
  const char *at = ig_sb_str_at(k, 0)->text;
  ig_value args = k->n_in > 1 ? k->in[1] : ig_none();
  bool tuple = ig_sobj_is(args, IG_SOBJ_TUPLE);
  const ig_value *given = tuple ? ig_sb_seq_at(k, 1)->at : &args;
  size_t n = tuple ? ig_sb_seq_at(k, 1)->n : 1;
  size_t used = 0;
  ig_str s = ig_str_make(k->c->alloc);
  ig_str_add(&s, "%s", "");
  for (const char *mark; (mark = strchr(at, '%')) && k->c->status == IG_OK; at = mark + 2) {
    ig_str_bytes(&s, at, (size_t)(mark - at));
    if (!mark[1]) {
      IG_SCRIPT_FAIL(k, "Incomplete format specifier");
      at = mark;
      break;
    }
    if (mark[1] == '%') {
      ig_str_add(&s, "%%");
    } else if (used == n) {
      IG_SCRIPT_FAIL(k, "Too few arguments for format string");
    } else {
      convert(k, &s, mark[1], given[used++]);
    }
  }
  if (k->c->status == IG_OK && used < n) IG_SCRIPT_FAIL(k, "Too many arguments for format string");
  ig_str_add(&s, "%s", at);
  ig_sb_text_of(k, &s);
}

// ---- to the outside

IG_BUILTIN(print) {
  ig_str s = ig_str_make(k->c->alloc);
  for (size_t i = 0; i < k->n_in; i++) {
    if (i) ig_str_add(&s, " ");
    (void)ig_svalue_print(k->c, &s, k->in[i]);
  }
  ig_str_add(&s, "\n");
  const ig_sout *out = &k->unit->out;
  if (!s.failed && k->c->status == IG_OK && out->print) out->print(out->user, s.at, s.n);
  if (s.failed) (void)ig_fail(k->c, IG_NOMEM, "out of memory");
  ig_str_free(&s);
}

IG_BUILTIN(warn) {
  const ig_sout *out = &k->unit->out;
  if (out->warn) out->warn(k->c, out->user, ig_sb_str_at(k, 0)->text, k->node);
}

IG_BUILTIN(raise) {
  bool named = k->n_in > 1 && ig_sobj_is(k->in[1], IG_SOBJ_STR);
  ig_script_raise(k->c, named ? ig_sb_str_at(k, 1)->text : NULL, ig_sb_str_at(k, 0)->text);
}
