// SPDX-License-Identifier: Apache-2.0
// Expressions.
#include <string.h>

#include "script/emitter.h"
#include "script/ir_build.h"

// ---- operators

static const struct {
  ig_token_kind op;
  const char *symbol;
  const char *method;  // of classes
} binary[] = {
    {IG_TOKEN_ADD, "aten::add", "__add__"},
    {IG_TOKEN_SUB, "aten::sub", "__sub__"},
    {IG_TOKEN_MUL, "aten::mul", "__mul__"},
    {IG_TOKEN_DIV, "aten::div", "__truediv__"},
    {IG_TOKEN_FLOOR, "aten::floordiv", "__floordiv__"},
    {IG_TOKEN_MOD, "aten::remainder", "__mod__"},
    {IG_TOKEN_POW, "aten::pow", "__pow__"},
    {IG_TOKEN_MATMUL, "aten::matmul", "__matmul__"},
    {IG_TOKEN_LSHIFT, "aten::__lshift__", "__lshift__"},
    {IG_TOKEN_RSHIFT, "aten::__rshift__", "__rshift__"},
    {IG_TOKEN_BIT_AND, "aten::__and__", "__and__"},
    {IG_TOKEN_BIT_OR, "aten::__or__", "__or__"},
    {IG_TOKEN_BIT_XOR, "aten::__xor__", "__xor__"},
    {IG_TOKEN_EQ, "aten::eq", "__eq__"},
    {IG_TOKEN_NE, "aten::ne", "__ne__"},
    {IG_TOKEN_LT, "aten::lt", "__lt__"},
    {IG_TOKEN_GT, "aten::gt", "__gt__"},
    {IG_TOKEN_LE, "aten::le", "__le__"},
    {IG_TOKEN_GE, "aten::ge", "__ge__"},
    {IG_TOKEN_IN, "aten::__contains__", "__contains__"},
    {IG_TOKEN_IS, "aten::__is__", "__is__"},
    {IG_TOKEN_IS_NOT, "aten::__isnot__", "__isnot__"},
};

const char *ig_emit_operator(ig_token_kind op, bool unary, const char **method) {
  if (unary) {
    *method = op == IG_TOKEN_SUB ? "__neg__" : "__invert__";
    return op == IG_TOKEN_SUB ? "aten::neg" : op == IG_TOKEN_BIT_NOT ? "aten::bitwise_not" : NULL;
  }
  for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
    if (binary[i].op != op) continue;
    *method = binary[i].method;
    return binary[i].symbol;
  }
  return NULL;
}

// The operator, or the method of an object that has it.
static ig_svalue *magic(ig_emitter *e, ig_srange where, const char *symbol, const char *method,
                        ig_svalue *const *in, size_t n) {
  const ig_sclass *k = ig_sclass_of(in[0]->type);
  if (k) {
    ig_sugar self = ig_sugar_value(in[0]);
    ig_sugar m;
    ig_sugar out;
    ig_sactual at[2];
    for (size_t i = 1; i < n; i++) at[i - 1] = (ig_sactual){.range = where, .value = in[i]};
    return ig_emit_attr(e, where, &self, method, &m) &&
                   ig_emit_call(e, where, &m, &(ig_sactuals){at, n - 1, 0}, 1, &out)
               ? ig_emit_as_value(e, where, &out)
               : NULL;
  }
  return ig_emit_op(e, where, symbol, in, n);
}

static ig_svalue *join_tuples(ig_emitter *e, ig_srange where, ig_svalue *left, ig_svalue *right) {
  ig_svalue **a = ig_emit_unpack(e, where, left);
  ig_svalue **b = ig_emit_unpack(e, where, right);
  size_t n = left->type->n + right->type->n;
  ig_svalue **all = ig_emit_array(e, n, sizeof(ig_svalue *));
  if (!a || !b || !all) return NULL;
  for (size_t i = 0; i < n; i++) all[i] = i < left->type->n ? a[i] : b[i - left->type->n];
  return ig_emit_tuple(e, where, all, n);
}

// "%d %s" % (n, s): a tuple is one argument, and taken apart when the script runs.
static ig_svalue *percent(ig_emitter *e, ig_srange where, ig_svalue *text, ig_svalue *value) {
  ig_svalue *in[] = {text, value};
  return ig_emit_op(e, where, "aten::percentFormat", in, 2);
}

ig_svalue *ig_emit_binary(ig_emitter *e, const ig_tree *t, ig_token_kind op, ig_svalue *left,
                          ig_svalue *right) {
  if (!left || !right) return NULL;
  if (op == IG_TOKEN_NOT_IN) {
    ig_svalue *in[] = {right, left};
    ig_svalue *inside = magic(e, t->range, "aten::__contains__", "__contains__", in, 2);
    return inside ? ig_emit_op(e, t->range, "aten::__not__", &inside, 1) : NULL;
  }
  const char *method = NULL;
  const char *symbol = ig_emit_operator(op, false, &method);
  ig_svalue *in[] = {left, right};
  if (op == IG_TOKEN_IN) {
    in[0] = right;
    in[1] = left;
  }
  bool tuples = left->type->kind == IG_STYPE_TUPLE && right->type->kind == IG_STYPE_TUPLE;
  if (op == IG_TOKEN_ADD && tuples) return join_tuples(e, t->range, left, right);
  if (op == IG_TOKEN_MOD && left->type->kind == IG_STYPE_STR) {
    return percent(e, t->range, left, right);
  }
  return magic(e, t->range, symbol, method, in, 2);
}

static ig_svalue *unary_of_constant(ig_emitter *e, ig_srange where, ig_token_kind op,
                                    const ig_value *v) {
  if (v && op == IG_TOKEN_SUB && v->kind == IG_KIND_INT) {
    return ig_emit_int(e, where, (int64_t)(0 - (uint64_t)v->i.value));
  }
  if (v && op == IG_TOKEN_SUB && v->kind == IG_KIND_FLOAT) {
    return ig_emit_constant(e, where, ig_of_f64(-v->f), NULL);
  }
  if (v && op == IG_TOKEN_SUB && v->kind == IG_KIND_COMPLEX) {
    return ig_emit_constant(e, where, ig_of_complex(-v->z.re, -v->z.im), NULL);
  }
  return NULL;
}

static ig_svalue *unary(ig_emitter *e, const ig_tree *t) {
  ig_svalue *v = ig_emit_expr(e, t->at[0], NULL);
  if (!v) return NULL;
  if (t->op == IG_TOKEN_ADD) return v;
  const char *method = NULL;
  const char *symbol = ig_emit_operator(t->op, true, &method);
  ig_svalue *out = magic(e, t->range, symbol, method, &v, 1);
  ig_svalue *folded = out ? unary_of_constant(e, t->range, t->op, ig_emit_constant_of(v)) : NULL;
  return folded ? folded : out;
}

// ---- literals

static ig_svalue *format(ig_emitter *e, const ig_tree *t) {
  ig_str text = ig_str_make(e->c->alloc);
  ig_svalue **in = ig_emit_array(e, t->n + 1, sizeof(ig_svalue *));
  size_t n = 1;
  for (size_t i = 0; in && i < t->n; i++) {
    if (t->at[i]->kind == IG_TREE_STRING) {
      ig_str_add(&text, "%s", t->at[i]->text);
      continue;
    }
    ig_str_add(&text, "{}");
    n++;
  }
  ig_svalue *head = in ? ig_emit_str(e, t->range, text.at ? text.at : "", text.n) : NULL;
  ig_str_free(&text);
  if (!head) return NULL;
  in[0] = head;
  n = 1;
  for (size_t i = 0; i < t->n; i++) {
    if (t->at[i]->kind == IG_TREE_STRING) continue;
    if (!(in[n++] = ig_emit_expr(e, t->at[i]->at[0], NULL))) return NULL;
  }
  return ig_emit_op(e, t->range, "aten::format", in, n);
}

// Values of expressions, a starred one as its parts.
static ig_svalue **values(ig_emitter *e, const ig_tree *const *at, size_t n, size_t *count,
                          const ig_stype *hint) {
  ig_svalue **out = ig_emit_array(e, n, sizeof(ig_svalue *));
  *count = 0;
  for (size_t i = 0; out && i < n; i++) {
    if (at[i]->kind != IG_TREE_STARRED) {
      if (!(out[(*count)++] = ig_emit_expr(e, at[i], hint))) return NULL;
      continue;
    }
    ig_sugar s;
    ig_sugar *parts = NULL;
    size_t n_parts = 0;
    if (!ig_emit_sugar(e, at[i]->at[0], 1, NULL, &s) ||
        !ig_emit_parts(e, at[i]->range, &s, SIZE_MAX, &parts, &n_parts)) {
      return NULL;
    }
    ig_svalue **more = ig_emit_array(e, *count + n_parts + n - i, sizeof(ig_svalue *));
    if (!more) return NULL;
    for (size_t k = 0; k < *count; k++) more[k] = out[k];
    for (size_t k = 0; k < n_parts; k++) {
      if (!(more[(*count)++] = ig_emit_as_value(e, at[i]->range, &parts[k]))) return NULL;
    }
    out = more;
  }
  return out;
}

static const ig_tree *const *children(const ig_tree *t) {
  return (const ig_tree *const *)t->at;
}

static const ig_stype *hinted(const ig_stype *hint, ig_stype_kind kind) {
  if (!hint) return NULL;
  if (hint->kind == kind) return hint;
  if (hint->kind != IG_STYPE_OPTIONAL && hint->kind != IG_STYPE_UNION) return NULL;
  const ig_stype *found = NULL;
  for (size_t i = 0; i < hint->n; i++) {
    if (hint->at[i]->kind == kind) found = found ? found : hint->at[i];
  }
  return found;
}

static const ig_stype *unify_all(ig_emitter *e, ig_svalue *const *at, size_t n) {
  const ig_stype *all = at[0]->type;
  for (size_t i = 1; all && i < n; i++) all = ig_stype_unify(&e->u->types, all, at[i]->type, true);
  return all;
}

static ig_svalue *list(ig_emitter *e, const ig_tree *t, const ig_stype *hint) {
  const ig_stype *of = hinted(hint, IG_STYPE_LIST);
  size_t n = 0;
  ig_svalue **at = values(e, children(t), t->n, &n, of ? of->at[0] : NULL);
  if (!at) return NULL;
  if (hint && !of && hint->kind != IG_STYPE_ANY) {
    ig_emit_error(e, t->range,
                  "Expected an annotation of type List[T], but found type annotation '%s'",
                  ig_emit_repr(e, hint));
    return NULL;
  }
  if (n == 0 && !of) {
    const ig_stype *tensors = ig_stype_list(&e->u->types, ig_emit_plain(e, IG_STYPE_TENSOR));
    return ig_emit_value(e, "prim::EmptyListLiteral", t->range, NULL, 0, tensors);
  }
  const ig_stype *item = n ? unify_all(e, at, n) : NULL;
  if (n && !item) return NULL;
  if (of && n && !ig_stype_is_subtype(item, of->at[0])) {
    for (size_t i = 0; i < n; i++) {
      ig_svalue *v = ig_emit_convert(e, t->range, of->at[0], at[i], false);
      if (!v) return NULL;
      at[i] = v;
    }
    item = unify_all(e, at, n);
    if (!ig_stype_is_subtype(item, of->at[0])) {
      ig_emit_error(e, t->range,
                    "List type annotation `%s` did not match the types of the given list "
                    "elements, which were unified to %s",
                    ig_emit_repr(e, of), ig_emit_repr(e, item));
      return NULL;
    }
  }
  return ig_emit_list(e, (ig_srange){0}, of ? of->at[0] : item, at, n);
}

static bool check_key(ig_emitter *e, const ig_stype *key) {
  switch (key->kind) {
    case IG_STYPE_INT:
    case IG_STYPE_BOOL:
    case IG_STYPE_FLOAT:
    case IG_STYPE_COMPLEX:
    case IG_STYPE_STR:
    case IG_STYPE_TENSOR:
    case IG_STYPE_DEVICE:
    case IG_STYPE_ANY:
      return true;
    default:
      ig_fail_text(e->c, IG_SYNTAX,
                   "Cannot create dict for key type '%s', only int, float, complex, Tensor, "
                   "device and string keys are supported",
                   key->text);
      return false;
  }
}

static ig_svalue *dict(ig_emitter *e, const ig_tree *t, const ig_stype *hint) {
  const ig_stype *of = hinted(hint, IG_STYPE_DICT);
  size_t n = t->n;
  ig_svalue **at = ig_emit_array(e, n, sizeof(ig_svalue *));
  ig_svalue **keys = ig_emit_array(e, n, sizeof(ig_svalue *));
  ig_svalue **items = ig_emit_array(e, n, sizeof(ig_svalue *));
  if (!at || !keys || !items) return NULL;
  // All keys first.
  for (size_t i = 0; i < n / 2; i++) {
    keys[i] = ig_emit_expr(e, t->at[2 * i], of ? of->at[0] : NULL);
    if (!keys[i]) return NULL;
  }
  for (size_t i = 0; i < n / 2; i++) {
    items[i] = ig_emit_expr(e, t->at[2 * i + 1], of ? of->at[1] : NULL);
    if (!items[i]) return NULL;
    at[2 * i] = keys[i];
    at[2 * i + 1] = items[i];
  }
  const ig_stype *key = of ? of->at[0] : NULL;
  const ig_stype *value = of ? of->at[1] : NULL;
  if (!of) {
    key = n ? keys[0]->type : ig_emit_plain(e, IG_STYPE_STR);
    value = n ? unify_all(e, items, n / 2) : ig_emit_plain(e, IG_STYPE_TENSOR);
  }
  if (!key || !value || !check_key(e, key)) return NULL;
  for (size_t i = 0; i < n / 2; i++) {
    if (!ig_stype_is_subtype(keys[i]->type, key)) {
      ig_emit_error(e, t->at[2 * i]->range,
                    "Dict keys must contain only a single type. Expected: %s but found %s instead",
                    ig_emit_repr(e, key), ig_emit_repr(e, keys[i]->type));
      return NULL;
    }
    if (of && !ig_stype_is_subtype(items[i]->type, value)) {
      ig_emit_error(e, t->range,
                    "Dict type annotation `%s` did not match the type of an actual value type `%s`",
                    ig_emit_repr(e, of), ig_emit_repr(e, items[i]->type));
      return NULL;
    }
  }
  return ig_emit_value(e, "prim::DictConstruct", t->range, at, n,
                       ig_stype_dict(&e->u->types, key, value));
}

static bool tuple(ig_emitter *e, const ig_tree *t, const ig_stype *hint, ig_sugar *out) {
  const ig_stype *of = hinted(hint, IG_STYPE_TUPLE);
  bool fits = of && of->n == t->n;
  bool starred = false;
  for (size_t i = 0; i < t->n; i++) starred |= t->at[i]->kind == IG_TREE_STARRED;
  ig_svalue **at = NULL;
  size_t n = 0;
  if (starred || !fits) {
    at = values(e, children(t), t->n, &n, NULL);
  } else {
    at = ig_emit_array(e, t->n, sizeof(ig_svalue *));
    for (n = 0; at && n < t->n; n++) {
      if (!(at[n] = ig_emit_expr(e, t->at[n], of->at[n]))) return false;
    }
  }
  return at && ig_sugar_give(out, ig_emit_tuple(e, t->range, at, n));
}

// ---- comprehensions

typedef struct comprehension {
  const ig_tree *t;
  const ig_stype *hint;
  ig_svalue *made;
  bool typed;
} comprehension;

static bool append(ig_emitter *e, void *user) {
  comprehension *k = user;
  const ig_stype *of = hinted(k->hint, IG_STYPE_LIST);
  ig_svalue *v = ig_emit_expr(e, k->t->at[0], of ? of->at[0] : NULL);
  if (!v) return false;
  if (!k->typed) k->made->type = ig_stype_list(&e->u->types, v->type);
  const ig_stype *all =
      ig_stype_unify(&e->u->types, k->made->type ? k->made->type->at[0] : NULL, v->type, true);
  if (!all) return false;
  if (!of) k->made->type = ig_stype_list(&e->u->types, all);
  k->typed = true;
  ig_sactual at[] = {{.range = k->t->range, .value = v}};
  return ig_emit_builtin(e, k->t->range, "aten::append", &(ig_sactuals){at, 1, 0}, k->made) != NULL;
}

static bool set_item(ig_emitter *e, void *user) {
  comprehension *k = user;
  ig_svalue *key = ig_emit_expr(e, k->t->at[0], NULL);
  ig_svalue *value = key ? ig_emit_expr(e, k->t->at[1], NULL) : NULL;
  if (!value) return false;
  if (!k->typed) k->made->type = ig_stype_dict(&e->u->types, key->type, value->type);
  k->typed = true;
  if (!k->made->type) return false;
  ig_svalue *in[] = {k->made, key, value};
  return ig_emit_op(e, k->t->range, "aten::_set_item", in, 3) != NULL;
}

ig_svalue *ig_emit_comprehension(ig_emitter *e, const ig_tree *t, const ig_stype *hint) {
  bool dicts = t->kind == IG_TREE_DICT_COMP;
  const ig_tree *gen = t->at[t->n - 1];
  const ig_stype *of = hinted(hint, dicts ? IG_STYPE_DICT : IG_STYPE_LIST);
  const ig_stype *tensor = ig_emit_plain(e, IG_STYPE_TENSOR);
  const ig_stype *type = of ? of
                         : dicts
                             ? ig_stype_dict(&e->u->types, ig_emit_plain(e, IG_STYPE_STR), tensor)
                             : ig_stype_list(&e->u->types, tensor);
  comprehension k = {.t = t, .hint = of, .typed = of != NULL};
  k.made = ig_emit_value(e, dicts ? "prim::DictConstruct" : "prim::ListConstruct", (ig_srange){0},
                         NULL, 0, type);
  ig_snode *scope = k.made ? ig_emit_node(e, "prim::ComprehensionScope", t->range, NULL, 0) : NULL;
  ig_sblock *block = scope ? ig_snode_add_block(scope) : NULL;
  ig_sframe frame;
  if (!ig_frame_push(e, block, &frame)) return NULL;
  bool ok = ig_emit_for(e, gen->at[0], gen->at[1], t->range, dicts ? set_item : append, &k);
  ig_frame_pop(e, &frame);
  ig_frame_free(&frame);
  return ok ? k.made : NULL;
}

// ---- calls

bool ig_emit_actuals(ig_emitter *e, const ig_tree *call, size_t first, ig_sactuals *out) {
  *out = (ig_sactuals){0};
  size_t room = call->n + 1;
  ig_sactual *pos = ig_emit_array(e, room, sizeof *pos);
  if (!pos) return false;
  for (size_t i = first; i < call->n; i++) {
    const ig_tree *a = call->at[i];
    if (a->kind == IG_TREE_KEYWORD || a->kind == IG_TREE_MAPPING) continue;
    size_t n = 0;
    ig_svalue **at = values(e, (const ig_tree *const *)&a, 1, &n, NULL);
    if (!at) return false;
    ig_sactual *more = ig_emit_array(e, out->n_pos + n + room, sizeof *more);
    if (!more) return false;
    if (out->n_pos) memcpy(more, pos, ig_mem_mul(out->n_pos, sizeof *more));
    pos = more;
    for (size_t k = 0; k < n; k++)
      pos[out->n_pos++] = (ig_sactual){.range = a->range, .value = at[k]};
  }
  for (size_t i = first; i < call->n; i++) {
    const ig_tree *a = call->at[i];
    if (a->kind == IG_TREE_MAPPING) {
      ig_emit_error(e, a->range, "keyword-arg expansion is not supported");
      return false;
    }
    if (a->kind != IG_TREE_KEYWORD) continue;
    ig_svalue *v = ig_emit_expr(e, a->at[0], NULL);
    if (!v) return false;
    pos[out->n_pos + out->n_kw++] = (ig_sactual){.name = a->text, .range = a->range, .value = v};
  }
  out->at = pos;
  return true;
}

// x.tolist(): nested as deep as the annotation says.
static ig_svalue *to_list(ig_emitter *e, const ig_tree *t, ig_svalue *v, const ig_stype *hint) {
  if (!hint) {
    ig_emit_error(e, t->range, "Expected type hint for result of tolist()");
    return NULL;
  }
  int64_t depth = 0;
  const ig_stype *item = hint;
  for (; item->kind == IG_STYPE_LIST; item = item->at[0]) depth++;
  static const ig_stype_kind kinds[] = {IG_STYPE_INT, IG_STYPE_FLOAT, IG_STYPE_BOOL,
                                        IG_STYPE_COMPLEX};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i] != item->kind) continue;
    ig_svalue *in[] = {v, ig_emit_int(e, (ig_srange){0}, depth),
                       ig_emit_int(e, (ig_srange){0}, (int64_t)i)};
    return ig_emit_value(e, "prim::tolist", (ig_srange){0}, in, 3, hint);
  }
  ig_emit_error(e, t->range,
                "%s is not one of the supported element types for tolist: int, float, "
                "complex, bool",
                ig_emit_repr(e, item));
  return NULL;
}

static bool call(ig_emitter *e, const ig_tree *t, size_t n_binders, const ig_stype *hint,
                 ig_sugar *out) {
  ig_sugar callee = {.kind = IG_SUGAR_UNKNOWN};
  if (!ig_emit_sugar(e, t->at[0], 1, NULL, &callee)) return false;
  if (callee.kind == IG_SUGAR_SPECIAL) {
    return ig_emit_special(e, t, callee.special, n_binders, hint, out);
  }
  if (callee.kind == IG_SUGAR_TO_LIST) return ig_sugar_give(out, to_list(e, t, callee.value, hint));
  ig_sactuals args;
  return ig_emit_actuals(e, t, 1, &args) &&
         ig_emit_call(e, t->at[0]->range, &callee, &args, n_binders, out);
}

// ---- all of them

const ig_stype *ig_emit_type(ig_emitter *e, const ig_tree *t) {
  ig_resolver r = {e->front->type, e->front->user};
  return ig_stype_of_tree(&e->u->types, e->front->type ? &r : NULL, t);
}

static bool ternary(ig_emitter *e, const ig_tree *t, const ig_stype *hint, ig_sugar *out) {
  return ig_sugar_give(out, ig_emit_if_expr(e, t, hint));
}

static bool unsupported(ig_emitter *e, const ig_tree *t) {
  static const struct {
    ig_tree_kind kind;
    const char *text;
  } named[] = {{IG_TREE_ELLIPSIS, "(dots)\n"}};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    if (named[i].kind != t->kind) continue;
    ig_emit_error(e, t->range, "Cannot emit expr for: %s", named[i].text);
    return false;
  }
  ig_emit_error(e, t->range, "Cannot emit expr for: %s", ig_tree_kind_text(t->kind));
  return false;
}

static bool condition(ig_emitter *e, const ig_tree *t, ig_sugar *out) {
  ig_scond cond;
  return ig_emit_cond(e, t, &cond) && ig_sugar_give(out, cond.value);
}

ig_svalue *ig_emit_number(ig_emitter *e, ig_srange where, ig_value v) {
  ig_str key = ig_str_make(e->c->alloc);
  ig_sbuild_add_key(&key, &v);
  const char *kept = NULL;
  ig_map_value *known = key.failed ? NULL : ig_map_keep(&e->numbers, &e->arena, key.at, &kept);
  ig_str_free(&key);
  if (!known) {
    (void)ig_fail(e->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  if (known->ptr) return known->ptr;
  ig_svalue *made = ig_emit_constant(e, where, v, NULL);
  if (!made) return NULL;
  known->ptr = made;
  ig_snode_insert(made->node, e->g->body, e->g->body->first);
  return made;
}

bool ig_emit_sugar(ig_emitter *e, const ig_tree *t, size_t n_binders, const ig_stype *hint,
                   ig_sugar *out) {
  if (e->c->status != IG_OK) return false;
  switch (t->kind) {
    case IG_TREE_NAME:
      return ig_emit_name(e, t->text, t->range, out);
    case IG_TREE_ATTRIBUTE: {
      ig_sugar of;
      return ig_emit_sugar(e, t->at[0], 1, NULL, &of) &&
             ig_emit_attr(e, t->range, &of, t->text, out);
    }
    case IG_TREE_CALL:
      return call(e, t, n_binders, hint, out);
    case IG_TREE_SUBSCRIPT:
      return ig_emit_subscript(e, t, hint, out);
    case IG_TREE_INT:
      return ig_sugar_give(out, ig_emit_number(e, t->range, ig_of_i64(t->i)));
    case IG_TREE_BIG_INT:
      ig_emit_error(e, t->range,
                    "Integral constant out of range (must fit in a signed 64 bit integer)");
      return false;
    case IG_TREE_FLOAT:
      return ig_sugar_give(out, ig_emit_number(e, t->range, ig_of_f64(t->f)));
    case IG_TREE_IMAGINARY:
      return ig_sugar_give(out, ig_emit_number(e, t->range, ig_of_complex(0, t->f)));
    case IG_TREE_STRING:
      return ig_sugar_give(out, ig_emit_str(e, t->range, t->text, t->n_text));
    case IG_TREE_TRUE:
    case IG_TREE_FALSE:
      return ig_sugar_give(out, ig_emit_bool(e, t->range, t->kind == IG_TREE_TRUE));
    case IG_TREE_NONE:
      return ig_sugar_give(out, ig_emit_none(e, t->range));
    case IG_TREE_FORMAT:
      return ig_sugar_give(out, format(e, t));
    case IG_TREE_LIST:
      return ig_sugar_give(out, list(e, t, hint));
    case IG_TREE_DICT:
      return ig_sugar_give(out, dict(e, t, hint));
    case IG_TREE_TUPLE:
      return tuple(e, t, hint, out);
    case IG_TREE_LIST_COMP:
    case IG_TREE_GENERATOR_EXP:
    case IG_TREE_DICT_COMP:
      return ig_sugar_give(out, ig_emit_comprehension(e, t, hint));
    case IG_TREE_TERNARY:
      return ternary(e, t, hint, out);
    case IG_TREE_UNARY:
      return t->op == IG_TOKEN_NOT ? condition(e, t, out) : ig_sugar_give(out, unary(e, t));
    case IG_TREE_AND:
    case IG_TREE_OR:
      return condition(e, t, out);
    case IG_TREE_COMPARE:
      if (t->op == IG_TOKEN_IS || t->op == IG_TOKEN_IS_NOT) return condition(e, t, out);
      // fall through
    case IG_TREE_BINARY: {
      ig_svalue *left = ig_emit_expr(e, t->at[0], NULL);
      // PyTorch looks twice at what stands before %, in case it is a text. A name costs a load.
      bool again = left && t->op == IG_TOKEN_MOD && t->at[0]->kind == IG_TREE_NAME;
      if (again) left = ig_emit_expr(e, t->at[0], NULL);
      ig_svalue *right = left ? ig_emit_expr(e, t->at[1], NULL) : NULL;
      return ig_sugar_give(out, ig_emit_binary(e, t, t->op, left, right));
    }
    default:
      return unsupported(e, t);
  }
}

ig_svalue *ig_emit_expr(ig_emitter *e, const ig_tree *t, const ig_stype *hint) {
  ig_sugar s;
  return ig_emit_sugar(e, t, 1, hint, &s) ? ig_emit_as_value(e, ig_emit_place(t), &s) : NULL;
}
