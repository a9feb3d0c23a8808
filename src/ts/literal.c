// SPDX-License-Identifier: Apache-2.0
// Literals in classes of an archive: values of Final attributes and of enum members.
#include <math.h>
#include <string.h>

#include "ts/load.h"

static bool refuse(ig_ts_loader *l, const ig_tree *t) {
  (void)ig_syntax_error(l->c, t->range, "expected a literal");
  return false;
}

static bool is_name(const ig_tree *t, const char *name) {
  return t->kind == IG_TREE_NAME && strcmp(t->text, name) == 0;
}

static bool make_text(ig_ts_loader *l, const ig_tree *t, ig_value *out) {
  ig_sobj_str *s = ig_sobj_str_make(l->c, t->text, t->n_text);
  *out = ig_of_sobj(s);
  return s != NULL;
}

static bool negate(ig_ts_loader *l, const ig_tree *t, const ig_stype *type, ig_value *out) {
  if (t->op != IG_TOKEN_SUB || !ig_ts_loader_literal(l, t->at[0], type, out)) return refuse(l, t);
  if (out->kind == IG_KIND_INT && out->i.value != INT64_MIN) {
    *out = ig_of_i64(-out->i.value);
  } else if (out->kind == IG_KIND_FLOAT) {
    *out = ig_of_f64(-out->f);
  } else if (out->kind == IG_KIND_COMPLEX) {
    *out = ig_of_complex(-out->z.re, -out->z.im);
  } else {
    ig_svalue_release(*out);
    return refuse(l, t);
  }
  return true;
}

// 1.+2.j
static bool add_parts(ig_ts_loader *l, const ig_tree *t, ig_value *out) {
  ig_value a;
  ig_value b;
  if (t->op != IG_TOKEN_ADD && t->op != IG_TOKEN_SUB) return refuse(l, t);
  if (!ig_ts_loader_literal(l, t->at[0], NULL, &a)) return false;
  bool real = a.kind == IG_KIND_FLOAT || a.kind == IG_KIND_INT;
  if (!real || t->at[1]->kind != IG_TREE_IMAGINARY) {
    ig_svalue_release(a);
    return refuse(l, t);
  }
  if (!ig_ts_loader_literal(l, t->at[1], NULL, &b)) return false;
  double re = a.kind == IG_KIND_FLOAT ? a.f : (double)a.i.value;
  *out = ig_of_complex(re, t->op == IG_TOKEN_ADD ? b.z.im : -b.z.im);
  return true;
}

static const ig_stype *element(const ig_stype *type, bool tuple, size_t i) {
  bool known =
      type && (tuple ? type->kind == IG_STYPE_TUPLE && i < type->n : type->kind == IG_STYPE_LIST);
  return known ? type->at[tuple ? i : 0] : NULL;
}

static bool make_sequence(ig_ts_loader *l, const ig_tree *t, const ig_tree *const *items, size_t n,
                          const ig_stype *type, ig_value *out) {
  bool tuple = t->kind != IG_TREE_LIST;
  if (!type) return refuse(l, t);
  ig_value *at = ig_mem_array(l->c->alloc, n, sizeof *at);
  if (!at && n) return ig_fail(l->c, IG_NOMEM, "out of memory") == IG_OK;
  size_t made = 0;
  while (made < n && ig_ts_loader_literal(l, items[made], element(type, tuple, made), &at[made])) {
    made++;
  }
  ig_sobj_seq *s =
      made == n ? ig_sobj_seq_make(l->c, tuple ? IG_SOBJ_TUPLE : IG_SOBJ_LIST, type, at, n) : NULL;
  for (size_t i = 0; i < made; i++) ig_svalue_release(at[i]);
  ig_mem_array_free(l->c->alloc, at, n, sizeof *at);
  *out = ig_of_sobj(s);
  return s != NULL;
}

// __torch__.m.Color as text; false: not a dotted name.
static bool dotted(const ig_tree *t, ig_str *s) {
  if (t->kind == IG_TREE_NAME) {
    ig_str_add(s, "%s", t->text);
    return true;
  }
  if (t->kind != IG_TREE_ATTRIBUTE || !dotted(t->at[0], s)) return false;
  ig_str_add(s, ".%s", t->text);
  return true;
}

static const ig_stype *named(ig_ts_loader *l, const ig_tree *t) {
  ig_str s = ig_str_make(l->c->alloc);
  const ig_stype *type = dotted(t, &s) && !s.failed ? ig_ts_loader_type(l, s.at) : NULL;
  ig_str_free(&s);
  return type;
}

// CONSTANTS.c0, or a member of an enum.
static bool member(ig_ts_loader *l, const ig_tree *t, ig_value *out) {
  if (is_name(t->at[0], "CONSTANTS")) {
    const ig_sconstant *k = l->constants ? ig_sclass_constant(l->constants, t->text) : NULL;
    if (!k) return refuse(l, t);
    *out = k->value;
    ig_svalue_retain(*out);
    return true;
  }
  const ig_stype *type = named(l, t->at[0]);
  ig_senum *e = type ? ig_senum_of(type) : NULL;
  for (size_t i = 0; e && i < e->members.n; i++) {
    if (strcmp(e->members.at[i].name, t->text) != 0) continue;
    ig_sobj_enum *made = ig_sobj_enum_make(l->c, e, i);
    *out = ig_of_sobj(made);
    return made != NULL;
  }
  return l->c->status == IG_OK && refuse(l, t);
}

// annotate(List[int], []), torch.device("cpu"), __torch__.m.Pair(1, 2)
static bool call(ig_ts_loader *l, const ig_tree *t, const ig_stype *type, ig_value *out) {
  const ig_tree *callee = t->at[0];
  if (is_name(callee, "annotate") && t->n == 3) {
    return ig_ts_loader_literal(l, t->at[2], type, out);
  }
  bool device = callee->kind == IG_TREE_ATTRIBUTE && is_name(callee->at[0], "torch") &&
                strcmp(callee->text, "device") == 0 && t->n == 2 &&
                t->at[1]->kind == IG_TREE_STRING;
  ig_device d;
  if (device && ig_device_parse(t->at[1]->text, &d)) {
    *out = ig_of_device(d);
    return true;
  }
  const ig_stype *made = named(l, callee);
  if (!made || !made->names || made->n != t->n - 1) return l->c->status == IG_OK && refuse(l, t);
  return make_sequence(l, t, (const ig_tree *const *)(t->at + 1), t->n - 1, made, out);
}

static bool make_dict(ig_ts_loader *l, const ig_tree *t, const ig_stype *type, ig_value *out) {
  if (!type || type->kind != IG_STYPE_DICT) return refuse(l, t);
  ig_sobj_dict *d = ig_sobj_dict_make(l->c, type);
  bool ok = d != NULL;
  for (size_t i = 0; ok && i + 1 < t->n; i += 2) {
    ig_value key = ig_none();
    ig_value value = ig_none();
    ok = t->at[i + 1] && ig_ts_loader_literal(l, t->at[i], type->at[0], &key) &&
         ig_ts_loader_literal(l, t->at[i + 1], type->at[1], &value) &&
         ig_sobj_dict_put(l->c, d, key, value);
    ig_svalue_release(key);
    ig_svalue_release(value);
  }
  *out = d ? ig_of_sobj(d) : ig_none();
  if (!ok) ig_svalue_release(*out);
  return ok;
}

bool ig_ts_loader_literal(ig_ts_loader *l, const ig_tree *t, const ig_stype *type, ig_value *out) {
  *out = ig_none();
  if (type && type->kind == IG_STYPE_OPTIONAL) type = type->at[0];
  switch (t->kind) {
    case IG_TREE_INT:
      *out = type && type->kind == IG_STYPE_FLOAT ? ig_of_f64((double)t->i) : ig_of_i64(t->i);
      return true;
    case IG_TREE_FLOAT:
      *out = ig_of_f64(t->f);
      return true;
    case IG_TREE_IMAGINARY:
      *out = ig_of_complex(0, t->f);
      return true;
    case IG_TREE_TRUE:
    case IG_TREE_FALSE:
      *out = ig_of_bool(t->kind == IG_TREE_TRUE);
      return true;
    case IG_TREE_NONE:
      return true;
    case IG_TREE_STRING:
      return make_text(l, t, out);
    case IG_TREE_UNARY:
      return negate(l, t, type, out);
    case IG_TREE_BINARY:
      return add_parts(l, t, out);
    case IG_TREE_LIST:
    case IG_TREE_TUPLE:
      return make_sequence(l, t, (const ig_tree *const *)t->at, t->n, type, out);
    case IG_TREE_DICT:
      return make_dict(l, t, type, out);
    case IG_TREE_NAME:
      if (!is_name(t, "inf") && !is_name(t, "nan")) return refuse(l, t);
      *out = ig_of_f64(is_name(t, "inf") ? INFINITY : NAN);
      return true;
    case IG_TREE_ATTRIBUTE:
      return member(l, t, out);
    case IG_TREE_CALL:
      return call(l, t, type, out);
    default:
      return refuse(l, t);
  }
}
