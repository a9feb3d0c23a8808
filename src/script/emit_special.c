// SPDX-License-Identifier: Apache-2.0
// Functions with rules of their own: they look at the syntax of their arguments, or give something
// that is no value.
#include <stdlib.h>
#include <string.h>

#include "script/emitter.h"

static bool count_is(ig_emitter *e, const ig_tree *call, const char *name, size_t least,
                     size_t most) {
  size_t n = call->n - 1;
  if (n >= least && n <= most) return true;
  if (least == most) {
    ig_emit_error(e, call->range, "%s expected exactly %zu arguments but found %zu", name, least,
                  n);
  } else {
    ig_emit_error(e, call->range, "%s expected at %s %zu arguments, got %zu", name,
                  n < least ? "least" : "most", n < least ? least : most, n);
  }
  return false;
}

// ---- isinstance

typedef IG_VEC(const ig_stype *) type_vec;

static bool push_type(ig_emitter *e, type_vec *v, const ig_stype *t) {
  bool many = t->kind == IG_STYPE_UNION || t->kind == IG_STYPE_OPTIONAL;
  for (size_t i = 0; many && i < t->n; i++) {
    if (!push_type(e, v, t->at[i])) return false;
  }
  if (t->kind == IG_STYPE_OPTIONAL) {
    t = ig_emit_plain(e, IG_STYPE_NONE);
    if (!t) return false;
  } else if (many) {
    return true;
  }
  for (size_t i = 0; i < v->n; i++) {
    if (v->at[i] == t) return true;
  }
  if (ig_vec_push(e->c->alloc, v, t)) return true;
  (void)ig_fail(e->c, IG_NOMEM, "out of memory");
  return false;
}

static bool gather_types(ig_emitter *e, const ig_tree *t, type_vec *v) {
  for (size_t i = 0; t->kind == IG_TREE_TUPLE && i < t->n; i++) {
    if (!gather_types(e, t->at[i], v)) return false;
  }
  if (t->kind == IG_TREE_TUPLE) return true;
  const ig_stype *type = ig_emit_type(e, t);
  return type && push_type(e, v, type);
}

static int compare_types(const void *a, const void *b) {
  const ig_stype *x = *(const ig_stype *const *)a;
  const ig_stype *y = *(const ig_stype *const *)b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return strcmp(x->text, y->text);
}

static void sort_types(type_vec *v) {
  if (v->n) qsort((void *)v->at, v->n, sizeof *v->at, compare_types);
}

// Which of the types that a value can have are meant, and which are left.
typedef struct split {
  type_vec from;
  type_vec wanted;
  type_vec yes;
  type_vec no;
  bool always;
} split;

static bool split_types(ig_emitter *e, split *s) {
  s->always = true;
  for (size_t i = 0; i < s->from.n; i++) {
    const ig_stype *t = s->from.at[i];
    if (t->kind == IG_STYPE_ANY) {
      bool any = s->wanted.n == 1 && s->wanted.at[0]->kind == IG_STYPE_ANY;
      s->always &= any;
      for (size_t k = 0; k < s->wanted.n; k++) {
        if (!push_type(e, &s->yes, s->wanted.at[k])) return false;
      }
      if (!push_type(e, &s->no, t)) return false;
      continue;
    }
    const ig_stype *found = NULL;
    for (size_t k = 0; k < s->wanted.n && !found; k++) {
      const ig_stype *w = s->wanted.at[k];
      if (ig_stype_is_subtype(t, w)) {
        found = t;
      } else if (ig_stype_is_subtype(w, t)) {
        found = w;
      }
    }
    s->always &= found == t;
    if (found && !push_type(e, &s->yes, found)) return false;
    if (found != t && !push_type(e, &s->no, t)) return false;
  }
  return true;
}

static bool refine(ig_emitter *e, const char *name, const type_vec *v, ig_srefinements *out) {
  if (!v->n) return true;
  const ig_stype *type = ig_stype_union(&e->u->types, v->at, v->n);
  ig_srefinement *at = ig_emit_array(e, 1, sizeof *at);
  if (!type || !at) return false;
  at[0] = (ig_srefinement){name, type};
  *out = (ig_srefinements){at, 1};
  return true;
}

static bool isinstance(ig_emitter *e, const ig_tree *call, ig_svalue *v, split *s, ig_scond *out) {
  if (!push_type(e, &s->from, v->type) || !gather_types(e, call->at[2], &s->wanted)) return false;
  sort_types(&s->from);
  sort_types(&s->wanted);
  if (!split_types(e, s)) return false;
  const ig_tree *of = call->at[1];
  if (of->kind == IG_TREE_NAME && !(refine(e, of->text, &s->yes, &out->if_true) &&
                                    refine(e, of->text, &s->no, &out->if_false))) {
    return false;
  }
  if (s->yes.n == 0 || s->always) {
    out->known = s->yes.n == 0 ? IG_SSTATIC_FALSE : IG_SSTATIC_TRUE;
    out->value = ig_emit_bool(e, of->range, s->yes.n != 0);
    return out->value != NULL;
  }
  out->value =
      ig_emit_value(e, "prim::isinstance", (ig_srange){0}, &v, 1, ig_emit_plain(e, IG_STYPE_BOOL));
  ig_sattr *a = out->value ? ig_snode_add_attr(out->value->node, "types", IG_SATTR_TYPES) : NULL;
  const ig_stype **types = a ? ig_arena_array(&e->g->arena, s->wanted.n, sizeof(ig_stype *)) : NULL;
  if (!types) return false;
  for (size_t i = 0; i < s->wanted.n; i++) types[i] = s->wanted.at[i];
  a->types = types;
  a->n_types = s->wanted.n;
  return true;
}

bool ig_emit_isinstance(ig_emitter *e, const ig_tree *call, ig_scond *out) {
  *out = (ig_scond){0};
  if (!count_is(e, call, "isinstance", 2, 2)) return false;
  ig_svalue *v = ig_emit_expr(e, call->at[1], NULL);
  split s = {0};
  bool ok = v && isinstance(e, call, v, &s, out);
  ig_vec_free(e->c->alloc, &s.from);
  ig_vec_free(e->c->alloc, &s.wanted);
  ig_vec_free(e->c->alloc, &s.yes);
  ig_vec_free(e->c->alloc, &s.no);
  return ok;
}

// ---- attributes by name

static const char *literal(ig_emitter *e, const ig_tree *t, const char *function) {
  if (t->kind == IG_TREE_STRING) return t->text;
  ig_emit_error(e, t->range, "%s's second argument must be a string literal", function);
  return NULL;
}

static bool has_attribute(ig_emitter *e, ig_srange where, const ig_sugar *of, const char *name,
                          bool *out) {
  // Asking must leave no trace: nodes go to a block that is thrown away.
  ig_sblock *kept = e->at;
  ig_sgraph *scratch = ig_sgraph_create(&e->u->types);
  if (!scratch) return false;
  ig_sclass *k = of->kind == IG_SUGAR_VALUE ? ig_sclass_of(of->value->type) : NULL;
  *out = false;
  if (k) {
    *out = ig_sclass_attribute(k, name) != SIZE_MAX || ig_sclass_method(k, name) ||
           ig_sclass_constant(k, name) || ig_sclass_property(k, name);
    ig_sugar s = {.kind = IG_SUGAR_UNKNOWN};
    if (!*out && k->host && k->host->attr) {
      e->at = scratch->body;
      (void)k->host->attr(e->c, k, of->value, name, where, &s);
      *out = s.kind != IG_SUGAR_UNKNOWN;
      e->at = kept;
    }
  } else if (of->kind == IG_SUGAR_VALUE && of->value->type->names) {
    for (size_t i = 0; i < of->value->type->n; i++) {
      *out |= strcmp(of->value->type->names[i], name) == 0;
    }
  }
  ig_sgraph_free(scratch);
  return e->c->status == IG_OK;
}

bool ig_emit_hasattr(ig_emitter *e, const ig_tree *call, ig_scond *out) {
  *out = (ig_scond){0};
  if (!count_is(e, call, "hasattr", 2, 2)) return false;
  const char *name = literal(e, call->at[2], "hasattr");
  ig_sugar of;
  bool has = false;
  if (!name || !ig_emit_sugar(e, call->at[1], 1, NULL, &of)) return false;
  if (!has_attribute(e, call->range, &of, name, &has)) return false;
  out->known = has ? IG_SSTATIC_TRUE : IG_SSTATIC_FALSE;
  out->value = ig_emit_bool(e, call->range, has);
  return out->value != NULL;
}

static bool get_attribute(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (!count_is(e, call, "getattr", 2, 3)) return false;
  const char *name = literal(e, call->at[2], "getattr");
  ig_sugar of;
  if (!name || !ig_emit_sugar(e, call->at[1], 1, NULL, &of)) return false;
  bool has = true;
  if (call->n == 4 && !has_attribute(e, call->range, &of, name, &has)) return false;
  if (has) return ig_emit_attr(e, call->range, &of, name, out);
  return ig_emit_sugar(e, call->at[3], 1, NULL, out);
}

// ---- types

static bool annotate(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (!count_is(e, call, "annotate", 2, 2)) return false;
  const ig_stype *type = ig_emit_type(e, call->at[1]);
  ig_svalue *v = type ? ig_emit_expr(e, call->at[2], type) : NULL;
  v = v ? ig_emit_convert(e, call->range, type, v, true) : NULL;
  if (!v) return false;
  if (!ig_stype_is_subtype(v->type, type)) {
    ig_emit_error(e, call->range, "expected an expression of type %s but found %s",
                  ig_emit_repr(e, type), ig_emit_repr(e, v->type));
    return false;
  }
  // None keeps what it may become.
  if (v->type->kind == IG_STYPE_NONE && type->kind != IG_STYPE_NONE) {
    v = ig_emit_none(e, call->range);
    if (v) v->type = type;
  }
  return ig_sugar_give(out, v);
}

static bool uninitialized(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (!count_is(e, call, "uninitialized", 1, 1)) return false;
  const ig_stype *type = ig_emit_type(e, call->at[1]);
  return type &&
         ig_sugar_give(out, ig_emit_value(e, "prim::Uninitialized", call->range, NULL, 0, type));
}

static bool unchecked_cast(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (call->n == 2) {  // _unwrap_optional(x)
    ig_svalue *v = ig_emit_expr(e, call->at[1], NULL);
    return v && ig_sugar_give(out, ig_emit_op(e, call->range, "aten::_unwrap_optional", &v, 1));
  }
  if (!count_is(e, call, "unchecked_cast", 2, 2)) return false;
  const ig_stype *type = ig_emit_type(e, call->at[1]);
  ig_svalue *v = type ? ig_emit_expr(e, call->at[2], NULL) : NULL;
  return v &&
         ig_sugar_give(out, ig_emit_value(e, "prim::unchecked_cast", call->range, &v, 1, type));
}

// ---- containers

static bool sugars_of(ig_emitter *e, const ig_tree *call, ig_sugar **at, size_t *n) {
  *n = 0;
  *at = ig_emit_array(e, call->n, sizeof **at);
  for (size_t i = 1; *at && i < call->n; i++) {
    if (call->at[i]->kind == IG_TREE_KEYWORD) continue;
    ig_sugar s;
    if (!ig_emit_sugar(e, call->at[i], 1, NULL, &s)) return false;
    if (!ig_emit_iterable(e, call->range, &s, &(*at)[(*n)++])) return false;
  }
  return *at != NULL;
}

static bool zip(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (call->n < 2) {
    ig_emit_error(e, call->range, "zip expected at least 1 arguments, got 0");
    return false;
  }
  ig_sugar *at = NULL;
  size_t n = 0;
  if (!sugars_of(e, call, &at, &n)) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_ITERABLES, .items = {.at = at, .n = n}};
  return true;
}

// A range. The constants that stand for what was not given are made also where counting needs none,
// so that values have the numbers that PyTorch gives them.
static bool count_to(ig_emitter *e, ig_srange where, ig_svalue *start, ig_svalue *stop,
                     ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_RANGE};
  out->range.stop = stop;
  ig_svalue *zero = start ? start : ig_emit_int(e, where, 0);
  ig_svalue *one = zero ? ig_emit_int(e, where, 1) : NULL;
  if (!one) return false;
  out->range.start = start;
  out->range.step = start ? one : NULL;
  return true;
}

static bool enumerate(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (!count_is(e, call, "enumerate", 1, 2)) return false;
  ig_sugar values;
  ig_sugar *at = ig_emit_array(e, 2, sizeof *at);
  if (!at) return false;
  ig_svalue *start = NULL;
  if (call->n == 3) {
    const ig_tree *t = call->at[2]->kind == IG_TREE_KEYWORD ? call->at[2]->at[0] : call->at[2];
    if (!(start = ig_emit_expr(e, t, NULL))) return false;
    if (start->type->kind != IG_STYPE_INT) {
      ig_emit_error(e, call->range, "enumerate's start must be an integer");
      return false;
    }
  }
  ig_svalue *stop = ig_emit_number(e, call->range, ig_of_i64(INT64_MAX));
  if (!stop || !ig_emit_sugar(e, call->at[1], 1, NULL, &values)) return false;
  if (!ig_emit_iterable(e, call->range, &values, &at[1])) return false;
  if (!count_to(e, call->range, start, stop, &at[0])) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_ITERABLES, .items = {.at = at, .n = 2}};
  return true;
}

static bool range(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  ig_sactuals args;
  if (!ig_emit_actuals(e, call, 1, &args)) return false;
  if (args.n_pos == 0 || args.n_pos > 3 || args.n_kw) {
    ig_emit_error(e, call->range,
                  args.n_pos ? "range expected at most 3 arguments, got %zu"
                             : "range expected at least 1 arguments, got %zu",
                  args.n_pos);
    return false;
  }
  ig_svalue *v[3] = {NULL, NULL, NULL};
  for (size_t i = 0; i < args.n_pos; i++) {
    v[i] = ig_emit_convert(e, call->range, ig_emit_plain(e, IG_STYPE_INT), args.at[i].value, true);
    if (!v[i]) return false;
    if (v[i]->type->kind != IG_STYPE_INT) {
      ig_emit_error(e, call->range, "all inputs of range must be ints, found %s in argument %zu",
                    ig_emit_repr(e, v[i]->type), i);
      return false;
    }
  }
  if (args.n_pos == 1) return count_to(e, call->range, NULL, v[0], out);
  *out = (ig_sugar){.kind = IG_SUGAR_RANGE};
  out->range.start = v[0];
  out->range.stop = v[1];
  out->range.step = v[2] ? v[2] : ig_emit_int(e, call->range, 1);
  return out->range.step != NULL;
}

static bool make_tuple(ig_emitter *e, const ig_tree *call, size_t n_binders, ig_sugar *out) {
  if (call->n == 1) return ig_sugar_give(out, ig_emit_tuple(e, call->range, NULL, 0));
  if (!count_is(e, call, "tuple", 1, 1)) return false;
  ig_sugar s;
  if (!ig_emit_sugar(e, call->at[1], n_binders, NULL, &s)) return false;
  ig_sugar *at = NULL;
  size_t n = 0;
  size_t binders = n_binders > 1 ? n_binders : SIZE_MAX;
  if (!ig_emit_parts(e, call->range, &s, binders, &at, &n)) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_TUPLE, .items = {.at = at, .n = n}};
  return true;
}

typedef struct fill {
  ig_svalue *made;
  bool typed;
  const char *name;
  ig_srange where;
} fill;

static bool fill_list(ig_emitter *e, void *user) {
  fill *f = user;
  ig_sugar s;
  if (!ig_emit_find_local(e, e->frame, f->name, &s)) return false;
  ig_svalue *v = ig_emit_as_value(e, f->where, &s);
  if (!v) return false;
  if (!f->typed) f->made->type = ig_stype_list(&e->u->types, v->type);
  f->typed = true;
  ig_sactual at[] = {{.range = f->where, .value = v}};
  return f->made->type &&
         ig_emit_builtin(e, f->where, "aten::append", &(ig_sactuals){at, 1, 0}, f->made) != NULL;
}

static bool make_list(ig_emitter *e, const ig_tree *call, const ig_stype *hint, ig_sugar *out) {
  const ig_stype *of = hint && hint->kind == IG_STYPE_LIST ? hint : NULL;
  const ig_stype *tensor = ig_emit_plain(e, IG_STYPE_TENSOR);
  if (call->n == 1) {
    return ig_sugar_give(out, ig_emit_list(e, call->range, of ? of->at[0] : tensor, NULL, 0));
  }
  if (!count_is(e, call, "list", 1, 1)) return false;
  ig_sugar s;
  ig_sugar values;
  if (!ig_emit_sugar(e, call->at[1], 1, NULL, &s) ||
      !ig_emit_iterable(e, call->range, &s, &values)) {
    return false;
  }
  if (values.kind == IG_SUGAR_VALUE && values.value->type->kind != IG_STYPE_TENSOR) {
    return ig_sugar_give(out, ig_emit_op(e, call->range, "aten::list", &values.value, 1));
  }
  fill f = {.name = "$list_item", .where = call->range, .typed = of != NULL};
  f.made = ig_emit_list(e, (ig_srange){0}, of ? of->at[0] : tensor, NULL, 0);
  ig_tree name = {.kind = IG_TREE_NAME, .text = f.name, .range = call->range};
  return f.made && ig_emit_loop_over(e, &name, &values, call->range, fill_list, &f) &&
         ig_sugar_give(out, f.made);
}

static bool fill_dict(ig_emitter *e, void *user) {
  fill *f = user;
  ig_sugar s;
  ig_sugar *at = NULL;
  size_t n = 0;
  if (!ig_emit_find_local(e, e->frame, f->name, &s) ||
      !ig_emit_parts(e, f->where, &s, 2, &at, &n)) {
    return false;
  }
  if (n != 2) {
    ig_emit_error(e, f->where, "dict expects pairs, found %zu values", n);
    return false;
  }
  ig_svalue *in[] = {f->made, ig_emit_as_value(e, f->where, &at[0]),
                     ig_emit_as_value(e, f->where, &at[1])};
  if (!in[1] || !in[2]) return false;
  if (!f->typed) f->made->type = ig_stype_dict(&e->u->types, in[1]->type, in[2]->type);
  f->typed = true;
  return f->made->type && ig_emit_op(e, f->where, "aten::_set_item", in, 3) != NULL;
}

// dict(a=1, b=2): the pairs as a list, which is gone through.
static bool fill_keywords(ig_emitter *e, const ig_tree *call, size_t first, fill *f,
                          const ig_stype *of) {
  size_t n = call->n - first;
  ig_svalue **at = ig_emit_array(e, n, sizeof(ig_svalue *));
  if (n == 0) return true;
  for (size_t i = 0; at && i < n; i++) {
    const ig_tree *k = call->at[first + i];
    if (k->kind != IG_TREE_KEYWORD) {
      ig_emit_error(e, call->range, "dict expected at most 1 arguments, got %zu", call->n - 1);
      return false;
    }
    ig_svalue *pair[] = {ig_emit_str(e, k->range, k->text, strlen(k->text)),
                         ig_emit_expr(e, k->at[0], of ? of->at[1] : NULL)};
    if (!pair[0] || !pair[1] || !(at[i] = ig_emit_tuple(e, k->range, pair, 2))) return false;
  }
  ig_svalue *list = at ? ig_emit_list(e, (ig_srange){0}, at[0]->type, at, n) : NULL;
  if (!list) return false;
  for (size_t i = 1; i < n; i++) {
    if (ig_stype_is_subtype(at[i]->type, at[0]->type)) continue;
    ig_emit_error(e, call->range, "dict expects values of one type, found %s and %s",
                  ig_emit_repr(e, at[0]->type), ig_emit_repr(e, at[i]->type));
    return false;
  }
  ig_sugar values = ig_sugar_value(list);
  ig_tree name = {.kind = IG_TREE_NAME, .text = f->name, .range = call->range};
  return ig_emit_loop_over(e, &name, &values, call->range, fill_dict, f);
}

static bool make_dict(ig_emitter *e, const ig_tree *call, const ig_stype *hint, ig_sugar *out) {
  const ig_stype *of = hint && hint->kind == IG_STYPE_DICT ? hint : NULL;
  const ig_stype *type = of;
  if (!type) {
    type = ig_stype_dict(&e->u->types, ig_emit_plain(e, IG_STYPE_STR),
                         ig_emit_plain(e, IG_STYPE_TENSOR));
  }
  fill f = {.name = "$dict_item", .where = call->range, .typed = of != NULL};
  bool pairs = call->n > 1 && call->at[1]->kind != IG_TREE_KEYWORD;
  if (pairs) {
    ig_sugar s;
    if (!ig_emit_sugar(e, call->at[1], 1, NULL, &s)) return false;
    if (s.kind == IG_SUGAR_VALUE && s.value->type->kind == IG_STYPE_DICT) {
      f.made = ig_emit_op(e, call->range, "aten::dict", &s.value, 1);
      f.typed = true;
    } else {
      ig_sugar values;
      if (!ig_emit_iterable(e, call->range, &s, &values)) return false;
      f.made = ig_emit_value(e, "prim::DictConstruct", call->range, NULL, 0, type);
      ig_tree name = {.kind = IG_TREE_NAME, .text = f.name, .range = call->range};
      if (!f.made || !ig_emit_loop_over(e, &name, &values, call->range, fill_dict, &f)) {
        return false;
      }
    }
  } else {
    f.made = ig_emit_value(e, "prim::DictConstruct", call->range, NULL, 0, type);
  }
  return f.made && fill_keywords(e, call, pairs ? 2 : 1, &f, of) && ig_sugar_give(out, f.made);
}

// ---- the rest

static bool print(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  ig_sactuals args;
  if (!ig_emit_actuals(e, call, 1, &args)) return false;
  ig_svalue **in = ig_emit_array(e, args.n_pos, sizeof(ig_svalue *));
  for (size_t i = 0; in && i < args.n_pos; i++) in[i] = args.at[i].value;
  if (args.n_kw) {
    ig_emit_error(e, call->range, "print doesn't accept any keyword arguments");
    return false;
  }
  return in && ig_emit_node(e, "prim::Print", call->at[0]->range, in, args.n_pos) &&
         ig_sugar_give(out, ig_emit_none(e, call->range));
}

static bool length(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  ig_sugar s;
  if (call->n == 2 && call->at[1]->kind != IG_TREE_KEYWORD &&
      call->at[1]->kind != IG_TREE_STARRED) {
    if (!ig_emit_sugar(e, call->at[1], 1, NULL, &s)) return false;
    if (s.kind == IG_SUGAR_TUPLE || s.kind == IG_SUGAR_DICT) {
      return ig_sugar_give(out, ig_emit_int(e, call->range, (int64_t)s.items.n));
    }
    ig_svalue *v = ig_emit_as_value(e, call->at[1]->range, &s);
    if (!v) return false;
    const ig_sclass *k = ig_sclass_of(v->type);
    if (k && !ig_sclass_method(k, "__len__") && k->container != IG_SCONTAINER_NONE) {
      ig_sugar all;
      return ig_emit_children(e, call->range, v, &all) &&
             ig_sugar_give(out, ig_emit_int(e, call->range, (int64_t)all.items.n));
    }
    if (k) {
      ig_sugar self = ig_sugar_value(v);
      ig_sugar m;
      return ig_emit_attr(e, call->at[0]->range, &self, "__len__", &m) &&
             ig_emit_call(e, call->at[0]->range, &m, &(ig_sactuals){0}, 1, out);
    }
    return ig_sugar_give(out, ig_emit_op(e, call->at[0]->range, "aten::len", &v, 1));
  }
  ig_sactuals args;
  return ig_emit_actuals(e, call, 1, &args) &&
         ig_sugar_give(out, ig_emit_builtin(e, call->at[0]->range, "aten::len", &args, NULL));
}

static bool new_object(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  ig_sugar class;
  if (call->n != 2 || !ig_emit_sugar(e, call->at[1], 1, NULL, &class)) {
    if (call->n != 2) ig_emit_error(e, call->range, "__new__ expects a class");
    return false;
  }
  if (class.kind != IG_SUGAR_CLASS || !ig_sclass_of(class.type)) {
    ig_emit_error(e, call->range, "__new__ expects a class");
    return false;
  }
  return ig_sugar_give(out,
                       ig_emit_value(e, "prim::CreateObject", call->range, NULL, 0, class.type));
}

// The value that a function inside of a function returns at its end, where it has its one return.
static ig_svalue *closure_value(ig_emitter *e, const ig_tree *def) {
  const ig_tree *block = def->at[2];
  const ig_tree *last = block->n ? block->at[block->n - 1] : NULL;
  if (!last || last->kind != IG_TREE_RETURN || !last->at[0]) {
    ig_emit_error(e, def->range, "a function inside of a function must end with its return");
    return NULL;
  }
  ig_tree before = *block;
  before.n--;
  return ig_emit_block(e, &before) ? ig_emit_expr(e, last->at[0], NULL) : NULL;
}

static ig_svalue *forked_value(ig_emitter *e, const ig_tree *call, const ig_sugar *callee,
                               const ig_sactuals *args) {
  ig_sugar result;
  if (callee->kind == IG_SUGAR_CLOSURE) return closure_value(e, callee->closure);
  return ig_emit_call(e, call->range, callee, args, 1, &result)
             ? ig_emit_as_value(e, call->range, &result)
             : NULL;
}

// The body runs elsewhere: it becomes a graph of its own, with what it uses as inputs.
static bool fork(ig_emitter *e, const ig_tree *call, ig_sugar *out) {
  if (call->n < 2) {
    ig_emit_error(e, call->range, "fork expects a function");
    return false;
  }
  ig_sugar callee;
  ig_sactuals args;
  if (!ig_emit_sugar(e, call->at[1], 1, NULL, &callee) || !ig_emit_actuals(e, call, 2, &args)) {
    return false;
  }
  ig_svalue *closure =
      ig_emit_value(e, "prim::Closure", call->range, NULL, 0, ig_emit_plain(e, IG_STYPE_NONE));
  ig_sblock *body = closure ? ig_snode_add_block(closure->node) : NULL;
  ig_sframe frame;
  ig_sloop loop = e->loop;
  if (!ig_frame_push(e, body, &frame)) return false;
  e->loop = IG_SLOOP_NONE;
  ig_svalue *v = forked_value(e, call, &callee, &args);
  bool ok = v && ig_sblock_add_output(body, v);
  e->loop = loop;
  ig_frame_pop(e, &frame);
  ig_frame_free(&frame);
  if (!ok) return false;
  const ig_stype *type = ig_stype_future(&e->u->types, v->type);
  return ig_sugar_give(out, ig_emit_value(e, "prim::forkClosure", call->range, &closure, 1, type));
}

static bool extremum(ig_emitter *e, const ig_tree *call, const char *symbol, ig_sugar *out) {
  ig_sactuals args;
  return ig_emit_actuals(e, call, 1, &args) &&
         ig_sugar_give(out, ig_emit_builtin(e, call->at[0]->range, symbol, &args, NULL));
}

static bool known(ig_emitter *e, const ig_tree *call, bool value, ig_sugar *out) {
  return ig_sugar_give(out, ig_emit_bool(e, call->range, value));
}

bool ig_emit_special(ig_emitter *e, const ig_tree *call, ig_special form, size_t n_binders,
                     const ig_stype *hint, ig_sugar *out) {
  ig_scond cond;
  switch (form) {
    case IG_SPECIAL_ISINSTANCE:
      return ig_emit_isinstance(e, call, &cond) && ig_sugar_give(out, cond.value);
    case IG_SPECIAL_HASATTR:
      return ig_emit_hasattr(e, call, &cond) && ig_sugar_give(out, cond.value);
    case IG_SPECIAL_GETATTR:
      return get_attribute(e, call, out);
    case IG_SPECIAL_ANNOTATE:
      return annotate(e, call, out);
    case IG_SPECIAL_UNINITIALIZED:
      return uninitialized(e, call, out);
    case IG_SPECIAL_UNCHECKED_CAST:
      return unchecked_cast(e, call, out);
    case IG_SPECIAL_FORK:
      return fork(e, call, out);
    case IG_SPECIAL_NEW:
      return new_object(e, call, out);
    case IG_SPECIAL_IS_SCRIPTING:
      return known(e, call, true, out);
    case IG_SPECIAL_IS_TRACING:
      return known(e, call, false, out);
    case IG_SPECIAL_PRINT:
      return print(e, call, out);
    case IG_SPECIAL_TUPLE:
      return make_tuple(e, call, n_binders, out);
    case IG_SPECIAL_LIST:
      return make_list(e, call, hint, out);
    case IG_SPECIAL_DICT:
      return make_dict(e, call, hint, out);
    case IG_SPECIAL_RANGE:
      return range(e, call, out);
    case IG_SPECIAL_ZIP:
      return zip(e, call, out);
    case IG_SPECIAL_ENUMERATE:
      return enumerate(e, call, out);
    case IG_SPECIAL_LEN:
      return length(e, call, out);
    case IG_SPECIAL_MIN:
      return extremum(e, call, "prim::min", out);
    case IG_SPECIAL_MAX:
      return extremum(e, call, "prim::max", out);
    default:
      ig_emit_error(e, call->range, "this function cannot be used in a script");
      return false;
  }
}
