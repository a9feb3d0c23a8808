// SPDX-License-Identifier: Apache-2.0
// Conditions: what they tell about the types of names, which are known while compiling, and the
// expressions that choose between two values.
#include <string.h>

#include "script/emitter.h"

ig_svalue *ig_emit_to_bool(ig_emitter *e, ig_srange where, ig_svalue *v) {
  // Made also where it is not needed, so that values have the numbers that PyTorch gives them.
  ig_svalue *zero = v ? ig_emit_int(e, (ig_srange){0}, 0) : NULL;
  if (!zero) return NULL;
  if (v->type->kind == IG_STYPE_BOOL) return v;
  const ig_stype *t = v->type;
  const ig_sclass *k = ig_sclass_of(t);
  bool object = k && ig_sclass_method(k, "__bool__");
  if (object) {
    ig_sugar self = ig_sugar_value(v);
    ig_sugar m;
    ig_sugar out;
    return ig_emit_attr(e, where, &self, "__bool__", &m) &&
                   ig_emit_call(e, where, &m, &(ig_sactuals){0}, 1, &out)
               ? out.value
               : NULL;
  }
  switch (t->kind) {
    case IG_STYPE_TENSOR:
    case IG_STYPE_INT:
    case IG_STYPE_FLOAT:
    case IG_STYPE_NUMBER:  // as an int, which its schema takes first
      return ig_emit_op(e, where, "aten::Bool", &v, 1);
    case IG_STYPE_STR:
    case IG_STYPE_LIST:
    case IG_STYPE_DICT: {  // true unless it is empty
      ig_svalue *in[] = {ig_emit_op(e, where, "aten::len", &v, 1), zero};
      return in[0] ? ig_emit_op(e, where, "aten::gt", in, 2) : NULL;
    }
    default:
      break;
  }
  ig_emit_error(e, where, "Could not cast value of type %s to bool", ig_emit_repr(e, t));
  return NULL;
}

// ---- refinements

static bool add(ig_emitter *e, ig_srefinements *to, const char *name, const ig_stype *type) {
  ig_srefinement *at = ig_emit_array(e, to->n + 1, sizeof *at);
  if (!at || !type) return false;
  if (to->n) memcpy(at, to->at, ig_mem_mul(to->n, sizeof *at));
  at[to->n] = (ig_srefinement){name, type};
  *to = (ig_srefinements){at, to->n + 1};
  return true;
}

static const ig_stype *find(const ig_srefinements *r, const char *name) {
  for (size_t i = 0; i < r->n; i++) {
    if (strcmp(r->at[i].name, name) == 0) return r->at[i].type;
  }
  return NULL;
}

// Both hold: the later one decides about a name.
static bool both(ig_emitter *e, const ig_srefinements *a, const ig_srefinements *b,
                 ig_srefinements *out) {
  *out = (ig_srefinements){0};
  for (size_t i = 0; i < a->n; i++) {
    if (!find(b, a->at[i].name) && !add(e, out, a->at[i].name, a->at[i].type)) return false;
  }
  for (size_t i = 0; i < b->n; i++) {
    if (!add(e, out, b->at[i].name, b->at[i].type)) return false;
  }
  return true;
}

// One of them holds: only what both say of a name.
static bool either(ig_emitter *e, const ig_srefinements *a, const ig_srefinements *b,
                   ig_srefinements *out) {
  *out = (ig_srefinements){0};
  for (size_t i = 0; i < a->n; i++) {
    const ig_stype *other = find(b, a->at[i].name);
    const ig_stype *type = other ? ig_stype_unify(&e->u->types, a->at[i].type, other, false) : NULL;
    if (type && !add(e, out, a->at[i].name, type)) return false;
  }
  return e->c->status == IG_OK;
}

bool ig_emit_refine(ig_emitter *e, ig_srange where, const ig_srefinements *r) {
  for (size_t i = 0; i < r->n; i++) {
    ig_sugar s;
    if (!ig_emit_find_local(e, e->frame, r->at[i].name, &s)) return false;
    if (s.kind != IG_SUGAR_VALUE) continue;
    ig_svalue *cast =
        ig_emit_value(e, "prim::unchecked_cast", (ig_srange){0}, &s.value, 1, r->at[i].type);
    if (!cast || !ig_emit_store(e, where, r->at[i].name, cast, NULL)) return false;
  }
  return true;
}

// ---- conditions

static bool is_none_tree(const ig_tree *t) {
  return t->kind == IG_TREE_NONE;
}

// x is None, x is not None
static bool cond_none(ig_emitter *e, const ig_tree *t, ig_scond *out) {
  bool is = t->op == IG_TOKEN_IS;
  ig_svalue *left = ig_emit_expr(e, t->at[0], NULL);
  ig_svalue *right = left ? ig_emit_expr(e, t->at[1], NULL) : NULL;
  if (!right) return false;
  const ig_tree *named = NULL;
  ig_svalue *value = NULL;
  if (is_none_tree(t->at[1]) || right->type->kind == IG_STYPE_NONE) {
    named = t->at[0];
    value = left;
  } else if (is_none_tree(t->at[0]) || left->type->kind == IG_STYPE_NONE) {
    named = t->at[1];
    value = right;
  }
  if (!value) {
    out->value = ig_emit_binary(e, t, t->op, left, right);
    return out->value != NULL;
  }
  if (value->type->kind == IG_STYPE_NONE || !ig_stype_has_none(value->type)) {
    bool none = value->type->kind == IG_STYPE_NONE;
    out->known = none == is ? IG_SSTATIC_TRUE : IG_SSTATIC_FALSE;
    out->value = ig_emit_bool(e, t->range, none == is);
    return out->value != NULL;
  }
  out->value = ig_emit_binary(e, t, t->op, left, right);
  if (!out->value) return false;
  if (named->kind != IG_TREE_NAME || value->type->kind == IG_STYPE_ANY) return true;
  // That it is None is not used: the name keeps its type there.
  const ig_stype *rest = ig_stype_not_none(&e->u->types, value->type);
  return add(e, is ? &out->if_false : &out->if_true, named->text, rest);
}

// A block of an if-expression; *out its value.
static bool open_branch(ig_emitter *e, ig_snode *node, ig_srange where, const ig_srefinements *r,
                        ig_sframe *frame) {
  ig_sblock *b = node ? ig_snode_add_block(node) : NULL;
  if (!ig_frame_push(e, b, frame)) return false;
  return ig_emit_refine(e, where, r);
}

static bool close_branch(ig_emitter *e, ig_sframe *frame, ig_svalue *v) {
  bool ok = v && ig_sblock_add_output(frame->block, v);
  ig_frame_pop(e, frame);
  ig_frame_free(frame);
  return ok;
}

static ig_svalue *branch_bool(ig_emitter *e, const ig_tree *t, bool constant, bool is_constant,
                              ig_scond *second) {
  if (is_constant) return ig_emit_bool(e, t->range, constant);
  if (!ig_emit_cond(e, t, second)) return NULL;
  bool truth = second->value && second->value->type->kind == IG_STYPE_BOOL;
  return truth ? second->value : ig_emit_to_bool(e, t->range, second->value);
}

// a and b: if a then b else False. The second condition is compiled where the first holds.
static bool short_circuit(ig_emitter *e, const ig_tree *t, ig_scond *out) {
  bool is_or = t->kind == IG_TREE_OR;
  ig_scond first = {0};
  ig_scond second = {0};
  if (!ig_emit_cond(e, t->at[0], &first)) return false;
  ig_snode *node = ig_emit_node(e, "prim::If", t->range, &first.value, 1);
  for (int branch = 0; branch < 2; branch++) {
    bool constant = (branch == 0) == is_or;
    const ig_srefinements *r = branch == 0 ? &first.if_true : &first.if_false;
    ig_sframe frame;
    if (!open_branch(e, node, t->range, r, &frame)) return false;
    ig_svalue *v = branch_bool(e, constant ? t : t->at[1], is_or, constant, &second);
    if (!close_branch(e, &frame, v)) return false;
  }
  out->value = ig_snode_add_output(node, ig_emit_plain(e, IG_STYPE_BOOL));
  // Both conditions are compiled, also where the first is known; one that decides is enough.
  ig_sstatic decides = is_or ? IG_SSTATIC_TRUE : IG_SSTATIC_FALSE;
  bool both_known = first.known != IG_SSTATIC_NO && second.known != IG_SSTATIC_NO;
  if (first.known == decides || second.known == decides)
    out->known = decides;
  else if (both_known)
    out->known = second.known;
  return out->value && (is_or ? either(e, &first.if_true, &second.if_true, &out->if_true) &&
                                    both(e, &first.if_false, &second.if_false, &out->if_false)
                              : both(e, &first.if_true, &second.if_true, &out->if_true) &&
                                    either(e, &first.if_false, &second.if_false, &out->if_false));
}

static bool cond_not(ig_emitter *e, const ig_tree *t, ig_scond *out) {
  ig_scond of = {0};
  if (!ig_emit_cond(e, t->at[0], &of)) return false;
  *out = (ig_scond){.if_true = of.if_false, .if_false = of.if_true};
  if (of.known != IG_SSTATIC_NO) {
    out->known = of.known == IG_SSTATIC_TRUE ? IG_SSTATIC_FALSE : IG_SSTATIC_TRUE;
  }
  out->value = ig_emit_op(e, t->range, "aten::__not__", &of.value, 1);
  return out->value != NULL;
}

// Calls that are known while compiling.
static bool cond_call(ig_emitter *e, const ig_tree *t, ig_scond *out, bool *handled) {
  ig_sugar callee;
  *handled = false;
  const ig_tree *name = t->at[0];
  if (name->kind != IG_TREE_NAME && name->kind != IG_TREE_ATTRIBUTE) return true;
  // Only names of the surroundings can mean one of these; others are compiled once, as calls.
  const ig_tree *root = name;
  while (root->kind == IG_TREE_ATTRIBUTE) root = root->at[0];
  if (root->kind != IG_TREE_NAME) return true;
  for (const ig_sframe *f = e->frame; f; f = f->parent) {
    const ig_map_value *s = ig_map_find(&f->sugars, root->text);
    if (ig_frame_type(f, root->text) || (s && s->ptr)) return true;
  }
  if (!ig_emit_sugar(e, name, 1, NULL, &callee)) return false;
  if (callee.kind != IG_SUGAR_SPECIAL) return true;
  *handled = true;
  switch (callee.special) {
    case IG_SPECIAL_ISINSTANCE:
      return ig_emit_isinstance(e, t, out);
    case IG_SPECIAL_HASATTR:
      return ig_emit_hasattr(e, t, out);
    case IG_SPECIAL_IS_SCRIPTING:
    case IG_SPECIAL_IS_TRACING: {
      bool value = callee.special == IG_SPECIAL_IS_SCRIPTING;
      out->known = value ? IG_SSTATIC_TRUE : IG_SSTATIC_FALSE;
      out->value = ig_emit_bool(e, t->range, value);
      return out->value != NULL;
    }
    default:
      *handled = false;
      return true;
  }
}

// Any other expression. One that is a constant by itself, like a flag of the module, decides while
// compiling.
static bool cond_value(ig_emitter *e, const ig_tree *t, ig_scond *out) {
  ig_sugar s;
  if (!ig_emit_sugar(e, t, 1, NULL, &s)) return false;
  ig_svalue *v = ig_emit_as_value(e, t->range, &s);
  out->value = ig_emit_to_bool(e, t->range, v);
  if (!out->value) return false;
  const ig_value *known = ig_emit_constant_of(out->value);
  if (known && known->kind == IG_KIND_BOOL) {
    out->known = known->b ? IG_SSTATIC_TRUE : IG_SSTATIC_FALSE;
  }
  return true;
}

bool ig_emit_cond(ig_emitter *e, const ig_tree *t, ig_scond *out) {
  *out = (ig_scond){0};
  switch (t->kind) {
    case IG_TREE_UNARY:
      if (t->op == IG_TOKEN_NOT) return cond_not(e, t, out);
      break;
    case IG_TREE_AND:
    case IG_TREE_OR:
      return short_circuit(e, t, out);
    case IG_TREE_COMPARE:
      if (t->op == IG_TOKEN_IS || t->op == IG_TOKEN_IS_NOT) return cond_none(e, t, out);
      break;
    case IG_TREE_CALL: {
      bool handled = false;
      if (!cond_call(e, t, out, &handled)) return false;
      if (handled) return true;
      break;
    }
    default:
      break;
  }
  return cond_value(e, t, out);
}

// ---- a if c else b

ig_svalue *ig_emit_if_expr(ig_emitter *e, const ig_tree *t, const ig_stype *hint) {
  ig_scond cond;
  if (!ig_emit_cond(e, t->at[0], &cond)) return NULL;
  if (cond.known != IG_SSTATIC_NO) {
    bool value = cond.known == IG_SSTATIC_TRUE;
    if (!ig_emit_refine(e, t->range, value ? &cond.if_true : &cond.if_false)) return NULL;
    return ig_emit_expr(e, t->at[value ? 1 : 2], hint);
  }
  ig_snode *node = ig_emit_node(e, "prim::If", t->range, &cond.value, 1);
  const ig_stype *types[2] = {NULL, NULL};
  for (int branch = 0; branch < 2; branch++) {
    ig_sframe frame;
    if (!open_branch(e, node, t->range, branch ? &cond.if_false : &cond.if_true, &frame)) {
      return NULL;
    }
    ig_svalue *v = ig_emit_expr(e, t->at[1 + branch], hint);
    types[branch] = v ? v->type : NULL;
    if (!close_branch(e, &frame, v)) return NULL;
  }
  const ig_stype *type = ig_stype_unify(&e->u->types, types[0], types[1], false);
  if (!type) {
    ig_emit_error(e, t->range,
                  "if-expression's true branch has type %s but false branch has type %s",
                  ig_emit_repr(e, types[0]), ig_emit_repr(e, types[1]));
    return NULL;
  }
  return ig_snode_add_output(node, type);
}
