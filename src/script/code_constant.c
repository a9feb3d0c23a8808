// SPDX-License-Identifier: Apache-2.0
// Constants of graphs as values.
#include <stdlib.h>
#include <string.h>

#include "script/code.h"
#include "tensor/number.h"

static bool refuse(ig_ctx *c, const ig_snode *n, const char *what) {
  (void)ig_fail(c, IG_UNSUPPORTED, "constant %s of type %s: %s",
                n->out[0]->name ? n->out[0]->name : "", n->out[0]->type->text, what);
  return false;
}

static bool give(ig_value *out, void *object) {
  if (object) *out = ig_of_sobj(object);
  return object != NULL;
}

static bool value_of(ig_ctx *c, ig_value v, const ig_stype *type, ig_value *out);

static bool seq_of(ig_ctx *c, ig_value v, const ig_stype *type, ig_value *out) {
  bool tuple = v.seq == IG_SEQ_TUPLE;
  size_t n = v.kind == IG_KIND_INTS ? v.ints.n : v.list.n;
  ig_sobj_seq *s = ig_sobj_seq_make(c, tuple ? IG_SOBJ_TUPLE : IG_SOBJ_LIST, type, NULL, n);
  bool list = type && type->kind == IG_STYPE_LIST;
  bool fits = type && type->kind == IG_STYPE_TUPLE && type->n == n;
  for (size_t i = 0; s && i < n; i++) {
    ig_value item = v.kind == IG_KIND_INTS ? ig_of_int(v.ints.at[i]) : v.list.at[i];
    const ig_stype *of = list ? type->at[0] : fits ? type->at[i] : NULL;
    if (value_of(c, item, of, &s->at[i])) continue;
    ig_svalue_release(ig_of_sobj(s));
    return false;
  }
  return give(out, s);
}

static bool dict_of(ig_ctx *c, ig_value v, const ig_stype *type, ig_value *out) {
  ig_sobj_dict *d = ig_sobj_dict_make(c, type);
  bool ok = d != NULL;
  bool typed = type && type->kind == IG_STYPE_DICT;
  for (size_t i = 0; ok && i + 1 < v.list.n; i += 2) {
    ig_value key = ig_none();
    ig_value value = ig_none();
    ok = value_of(c, v.list.at[i], typed ? type->at[0] : NULL, &key) &&
         value_of(c, v.list.at[i + 1], typed ? type->at[1] : NULL, &value) &&
         ig_sobj_dict_put(c, d, key, value);
    ig_svalue_release(key);
    ig_svalue_release(value);
  }
  if (d && !ok) ig_svalue_release(ig_of_sobj(d));
  return ok && give(out, d);
}

static bool text_of(ig_ctx *c, const char *text, const ig_stype *type, ig_value *out) {
  const ig_stype *of = type && type->kind == IG_STYPE_OPTIONAL ? type->at[0] : type;
  ig_device d;
  if (of && of->kind == IG_STYPE_DEVICE) {
    if (!ig_device_parse(text, &d)) {
      (void)ig_fail(c, IG_SYNTAX, "'%s' is not a device", text);
      return false;
    }
    *out = ig_of_device(d);
    return true;
  }
  return give(out, ig_sobj_str_make(c, text, strlen(text)));
}

static bool value_of(ig_ctx *c, ig_value v, const ig_stype *type, ig_value *out) {
  if (v.kind == IG_KIND_STR) return text_of(c, v.str, type, out);
  if (v.kind == IG_KIND_LIST && v.seq == IG_SEQ_DICT) return dict_of(c, v, type, out);
  if (v.kind == IG_KIND_LIST || v.kind == IG_KIND_INTS) return seq_of(c, v, type, out);
  bool real = type && type->kind == IG_STYPE_FLOAT && v.kind == IG_KIND_INT;
  bool truth = type && type->kind == IG_STYPE_BOOL && v.kind == IG_KIND_INT;
  *out = real ? ig_of_f64((double)v.i.value) : truth ? ig_of_bool(v.i.value != 0) : v;
  ig_svalue_retain(*out);
  return true;
}

// "__torch__.program.Color.RED"
static bool member_of(ig_ctx *c, const ig_snode *n, const char *text, ig_value *out) {
  ig_senum *e = ig_senum_of(n->out[0]->type);
  const char *dot = strrchr(text, '.');
  for (size_t i = 0; e && dot && i < e->members.n; i++) {
    if (strcmp(e->members.at[i].name, dot + 1) == 0) return give(out, ig_sobj_enum_make(c, e, i));
  }
  return refuse(c, n, "there is no such member");
}

// A traced type begins with the name of the element type.
static const struct {
  const char *name;
  ig_dtype dtype;
} elements[] = {{"Long(", IG_I64},  {"Double(", IG_F64},   {"Float(", IG_F32}, {"Int(", IG_I32},
                {"Bool(", IG_BOOL}, {"Half(", IG_F16},     {"Short(", IG_I16}, {"Byte(", IG_U8},
                {"Char(", IG_I8},   {"BFloat16(", IG_BF16}};

// {1}: the only element of a tensor. Larger ones are not printed completely.
static bool tensor_of_text(ig_ctx *c, const ig_snode *n, const char *text, ig_value *out) {
  const ig_stype *type = n->out[0]->type;
  char *end = NULL;
  double f = text[0] == '{' ? strtod(text + 1, &end) : 0;
  ig_dtype dtype = IG_DTYPE_COUNT;
  for (size_t i = 0; type->name && i < sizeof elements / sizeof *elements; i++) {
    size_t length = strlen(elements[i].name);
    if (strncmp(type->name, elements[i].name, length) == 0) dtype = elements[i].dtype;
  }
  if (!end || *end != '}' || dtype == IG_DTYPE_COUNT) {
    return refuse(c, n, "its elements are not in the text of the graph");
  }
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = ig_tensor_empty(c, dtype, NULL, 0);
  ig_value number =
      ig_dtype_is_float(dtype) ? ig_of_f64(f) : ig_of_i64(strtoll(text + 1, NULL, 10));
  if (t) ig_element_store(ig_tensor_data(t), dtype, &number);
  if (t) *out = ig_of_tensor(ig_tensor_retain(t));
  ig_scope_close(c, s);
  return t != NULL;
}

// The function that a value of type Function stands for; NULL: it is not known. A graph that was
// read from a text has only names.
static ig_sfunction *function_of(const ig_sunit *u, const ig_snode *n) {
  const ig_stype *type = n->out[0]->type;
  if (type->declaration) return type->declaration;
  const ig_sattr *a = ig_snode_attr(n, "name");
  ig_sfunction *f = type->name ? ig_sunit_function(u, type->name) : NULL;
  const char *name = a && a->value.kind == IG_KIND_STR ? a->value.str : NULL;
  if (!f && name) f = ig_sunit_function(u, name);
  for (size_t i = 0; !f && name && i < u->all_functions.n; i++) {
    if (strcmp(u->all_functions.at[i]->name, name) == 0) f = u->all_functions.at[i];
  }
  return f;
}

bool ig_scode_constant(ig_ctx *c, ig_sunit *u, const ig_snode *n, ig_value *out) {
  const ig_stype *type = n->out[0]->type;
  const ig_sattr *a = ig_snode_attr(n, "value");
  *out = ig_none();
  if (!a && type->kind == IG_STYPE_FUNCTION) {
    ig_sfunction *f = function_of(u, n);
    return f ? give(out, ig_sobj_function_make(c, f)) : refuse(c, n, "there is no such function");
  }
  if (!a) return true;
  if (a->kind == IG_SATTR_VALUE) return value_of(c, a->value, type, out);
  if (a->kind == IG_SATTR_TEXT && type->kind == IG_STYPE_ENUM) {
    return member_of(c, n, a->text, out);
  }
  if (a->kind == IG_SATTR_TEXT && type->kind == IG_STYPE_TENSOR) {
    return tensor_of_text(c, n, a->text, out);
  }
  return refuse(c, n, "its value is not known");
}
