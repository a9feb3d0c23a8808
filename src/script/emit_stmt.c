// SPDX-License-Identifier: Apache-2.0
// Statements.
#include <stdlib.h>
#include <string.h>

#include "script/emitter.h"
#include "script/form.h"

static bool emit_failure(ig_emitter *e, const ig_tree *t);

// ---- if

typedef struct branch {
  ig_sframe frame;
  bool exits;
} branch;

// The statements of a branch: a BLOCK, or an ASSERT that fails; NULL: none.
static bool emit_part(ig_emitter *e, const ig_tree *t) {
  return !t || (t->kind == IG_TREE_ASSERT ? emit_failure(e, t) : ig_emit_block(e, t));
}

static bool emit_branch(ig_emitter *e, ig_snode *node, const ig_tree *part, ig_srange where,
                        const ig_srefinements *r, branch *out) {
  ig_sblock *b = ig_snode_add_block(node);
  if (!ig_frame_push(e, b, &out->frame)) return false;
  bool ok = ig_emit_refine(e, where, r) && emit_part(e, part);
  ig_frame_pop(e, &out->frame);
  out->exits = ig_emit_block_exits(e, b);
  return ok;
}

static const ig_stype *type_in(const ig_sframe *f, const char *name) {
  for (; f; f = f->parent) {
    const ig_stype *type = ig_frame_type(f, name);
    if (type) return type;
  }
  return NULL;
}

// Why a name cannot be used behind the if, with the place of the if.
static bool set_error(ig_emitter *e, ig_srange where, const char *name, const char *why) {
  ig_str quoted = ig_str_make(e->c->alloc);
  ig_srange_quote(&quoted, where, NULL);
  const char *text = ig_emit_text(e, "%s:\n%s", why, quoted.at ? quoted.at : "");
  ig_str_free(&quoted);
  const char *kept = NULL;
  ig_map_value *v = ig_map_keep(&e->frame->errors, &e->arena, name, &kept);
  if (!v) return false;
  v->text = text;
  return true;
}

// A variable after the if: both branches give it a value, or the one that does not exits.
static bool join(ig_emitter *e, ig_srange where, branch *t, branch *f, const char *name) {
  const ig_stype *in_true = type_in(&t->frame, name);
  const ig_stype *in_false = type_in(&f->frame, name);
  if (!t->exits && !in_true) {
    return set_error(e, where, name, ig_emit_text(e, "%s is not defined in the true branch", name));
  }
  if (!f->exits && !in_false) {
    return set_error(e, where, name,
                     ig_emit_text(e, "%s is not defined in the false branch", name));
  }
  if (t->exits || f->exits) {
    // The branch that exits gets a value that is never read.
    const ig_stype *type = t->exits ? in_false : in_true;
    branch *out = t->exits ? t : f;
    if (!type) return true;
    ig_sframe *kept = e->frame;
    e->frame = &out->frame;
    e->at = out->frame.block;
    ig_svalue *v = ig_emit_value(e, "prim::Uninitialized", (ig_srange){0}, NULL, 0, type);
    bool ok = v && ig_emit_store_plain(e, name, v, type);
    e->frame = kept;
    e->at = kept->block;
    return ok && ig_emit_set_type(e, name, type);
  }
  const ig_stype *full = type_in(e->frame, name);
  bool wide = full && (full->kind == IG_STYPE_UNION || full->kind == IG_STYPE_OPTIONAL ||
                       full->kind == IG_STYPE_NUMBER);
  const ig_stype *type = ig_stype_unify(&e->u->types, in_true, in_false, wide);
  if (type) return ig_emit_set_type(e, name, type);
  const char *text = ig_emit_text(
      e, "Type mismatch: %s is set to type %s in the true branch and type %s in the false branch",
      name, ig_emit_repr(e, in_true), ig_emit_repr(e, in_false));
  if (full) {
    ig_emit_error(e, where, "%s", text);
    return false;
  }
  return set_error(e, where, name, text);
}

// Looks at a variable at the end of a branch, which loads it: nobody uses the value, but values and
// names are numbered as in PyTorch.
static bool look(ig_emitter *e, branch *b, const char *name) {
  ig_sframe *kept = e->frame;
  ig_sugar found;
  e->frame = &b->frame;
  e->at = b->frame.block;
  bool ok = ig_emit_find_local(e, &b->frame, name, &found);
  e->frame = kept;
  e->at = kept->block;
  return ok;
}

static bool look_all(ig_emitter *e, branch *t, branch *f, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (ig_frame_type(&t->frame, names[i]) && !look(e, f, names[i])) return false;
    if (ig_frame_type(&f->frame, names[i]) && !look(e, t, names[i])) return false;
  }
  for (size_t i = 0; i < n; i++) {
    bool known =
        (type_in(&t->frame, names[i]) || t->exits) && (type_in(&f->frame, names[i]) || f->exits);
    if (known && !t->exits && !look(e, t, names[i])) return false;
    if (known && !f->exits && !look(e, f, names[i])) return false;
  }
  return true;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names that a branch gives a value, sorted.
static size_t defined(ig_emitter *e, const branch *t, const branch *f, const char ***out) {
  size_t room = t->frame.types.n + f->frame.types.n;
  const char **names = ig_emit_array(e, room, sizeof(char *));
  size_t n = 0;
  *out = names;
  if (!names) return 0;
  size_t from_true = ig_map_keys(&t->frame.types, names);
  size_t all = from_true + ig_map_keys(&f->frame.types, names + from_true);
  for (size_t i = 0; i < all; i++) {
    const ig_sframe *frame = i < from_true ? &t->frame : &f->frame;
    bool again = i >= from_true && ig_frame_type(&t->frame, names[i]);
    if (ig_frame_type(frame, names[i]) && !again) names[n++] = names[i];
  }
  if (n) qsort((void *)names, n, sizeof *names, compare_names);
  return n;
}

static bool if_else(ig_emitter *e, ig_srange where, const ig_scond *cond, const ig_tree *yes,
                    const ig_tree *no, branch *t, branch *f) {
  ig_snode *node = ig_emit_node(e, "prim::If", where, &cond->value, 1);
  if (!node) return false;
  if (!emit_branch(e, node, yes, where, &cond->if_true, t)) return false;
  if (!emit_branch(e, node, no, where, &cond->if_false, f)) return false;
  if (t->exits && f->exits) return ig_emit_mark_exit(e, e->frame->block);
  const char **names = NULL;
  size_t n = defined(e, t, f, &names);
  if (!look_all(e, t, f, names, n)) return false;
  for (size_t i = 0; i < n; i++) {
    if (!join(e, where, t, f, names[i])) return false;
  }
  return names != NULL;
}

static bool emit_if_else(ig_emitter *e, ig_srange where, const ig_scond *cond, const ig_tree *yes,
                         const ig_tree *no) {
  if (cond->known != IG_SSTATIC_NO) {
    bool value = cond->known == IG_SSTATIC_TRUE;
    if (!ig_emit_refine(e, where, value ? &cond->if_true : &cond->if_false)) return false;
    return emit_part(e, value ? yes : no);
  }
  branch t = {0};
  branch f = {0};
  bool ok = if_else(e, where, cond, yes, no, &t, &f);
  ig_frame_free(&t.frame);
  ig_frame_free(&f.frame);
  return ok;
}

static bool emit_if(ig_emitter *e, const ig_tree *t) {
  ig_scond cond;
  return ig_emit_cond(e, t->at[0], &cond) &&
         emit_if_else(e, t->range, &cond, t->at[1], t->n > 2 ? t->at[2] : NULL);
}

// ---- raise and assert

static bool raise_value(ig_emitter *e, ig_srange where, const ig_sugar *s) {
  ig_svalue *in[2] = {NULL, NULL};
  if (s->kind == IG_SUGAR_RAISED) {
    in[0] = s->raised.message;
    in[1] = s->raised.exception
                ? ig_emit_str(e, where, s->raised.exception, strlen(s->raised.exception))
                : ig_emit_none(e, (ig_srange){0});
  } else if (s->kind == IG_SUGAR_EXCEPTION) {
    in[0] = ig_emit_str(e, where, "", 0);
    in[1] = ig_emit_none(e, (ig_srange){0});
  } else {
    ig_emit_error(e, where, "exceptions must derive from BaseException");
    return false;
  }
  return in[0] && in[1] && ig_emit_node(e, "prim::RaiseException", where, in, 2) &&
         ig_emit_mark_exit(e, e->frame->block);
}

static bool emit_raise(ig_emitter *e, const ig_tree *t) {
  ig_sugar s;
  if (!t->at[0]) {
    ig_emit_error(e, t->range, "raise needs an exception");
    return false;
  }
  return ig_emit_sugar(e, t->at[0], 1, NULL, &s) && raise_value(e, t->range, &s);
}

// The statements of a block that the text of the script does not have: raise AssertionError(m).
static bool emit_failure(ig_emitter *e, const ig_tree *t) {
  ig_svalue *in[2] = {ig_emit_str(e, t->range, "AssertionError: ", 16), NULL};
  if (t->n > 1 && t->at[1]) {
    in[1] = ig_emit_expr(e, t->at[1], NULL);
    if (in[1] && in[1]->type->kind != IG_STYPE_STR) {
      in[1] = ig_emit_op(e, t->range, "aten::str", &in[1], 1);
    }
  } else {
    in[1] = ig_emit_str(e, t->range, "", 0);
  }
  ig_svalue *text = in[0] && in[1] ? ig_emit_op(e, t->range, "aten::add", in, 2) : NULL;
  ig_sugar s = {.kind = IG_SUGAR_RAISED, .raised = {NULL, text}};
  return text && raise_value(e, t->range, &s);
}

static bool emit_assert(ig_emitter *e, const ig_tree *t) {
  ig_scond cond;
  return ig_emit_cond(e, t->at[0], &cond) && emit_if_else(e, t->range, &cond, NULL, t);
}

// ---- return

static bool return_value(ig_emitter *e, ig_srange where, ig_svalue *v) {
  if (!v) return false;
  const ig_stype *type = e->declared;
  if (type) {
    v = ig_emit_convert(e, where, type, v, true);
    if (!v) return false;
    if (!ig_stype_is_subtype(v->type, type)) {
      ig_emit_error(e, where,
                    "Return value was annotated as having type %s but is actually of type %s",
                    ig_emit_repr(e, type), ig_emit_repr(e, v->type));
      return false;
    }
  } else {
    const ig_stype *before = e->merged ? e->merged : v->type;
    type = ig_stype_unify(&e->u->types, before, v->type, false);
    if (!type) {
      ig_emit_error(e, where,
                    "Previous return statement returned a value of type %s but this return "
                    "statement returns a value of type %s",
                    ig_emit_repr(e, before), ig_emit_repr(e, v->type));
      return false;
    }
  }
  e->merged = type;
  if (type->kind == IG_STYPE_ANY && v->type->kind != IG_STYPE_ANY) {
    v = ig_emit_value(e, "prim::unchecked_cast", (ig_srange){0}, &v, 1, type);
  }
  return v && ig_emit_node(e, "prim::ReturnStmt", where, &v, 1) &&
         ig_emit_mark_exit(e, e->frame->block);
}

static bool emit_return(ig_emitter *e, const ig_tree *t) {
  ig_svalue *v = t->at[0] ? ig_emit_expr(e, t->at[0], e->declared) : ig_emit_none(e, t->range);
  return return_value(e, t->range, v);
}

bool ig_emit_end(ig_emitter *e, ig_srange where, bool init) {
  if (ig_emit_block_exits(e, e->g->body)) {
    if (!e->merged) e->merged = e->declared ? e->declared : ig_emit_plain(e, IG_STYPE_NONE);
    return e->merged != NULL;
  }
  if (e->declared && e->declared->kind != IG_STYPE_NONE && !init) {
    ig_emit_error(e, where,
                  "Function was not annotated as having type None, but does not return along all "
                  "paths");
    return false;
  }
  return return_value(e, where, ig_emit_none(e, where));
}

// ---- assignment

static bool set_attribute(ig_emitter *e, ig_srange where, ig_svalue *of, const char *name,
                          ig_svalue *v) {
  ig_sclass *k = ig_sclass_of(of->type);
  if (!k) {
    ig_emit_error(e, where, "Tried to set an attribute: %s on a non-class: %s", name,
                  ig_emit_repr(e, of->type));
    return false;
  }
  size_t at = ig_sclass_attribute(k, name);
  const ig_stype *type = at == SIZE_MAX ? NULL : k->attributes.at[at].type;
  if (!type) {
    bool init = e->f->owner == k && strcmp(e->f->name, "__init__") == 0;
    const ig_sproperty *p = ig_sclass_property(k, name);
    if (!init && p && p->set) {
      ig_sfunction *set = p->set;
      ig_sactual arg[] = {{.range = where, .value = v}};
      return ig_emit_functions(e, where, &set, 1, &(ig_sactuals){arg, 1, 0}, of) != NULL;
    }
    if (!init) {
      ig_emit_error(e, where,
                    p ? "Tried to set read-only attribute: %s"
                      : "Tried to set nonexistent attribute: %s. Did you forget to "
                        "initialize it in __init__()?",
                    name);
      return false;
    }
    if (e->frame->block != e->g->body) {
      ig_emit_error(e, where,
                    "First assignment cannot be in a control-flow block. Initialize the field at "
                    "the top level first.");
      return false;
    }
    type = v->type->inferred ? ig_emit_plain(e, IG_STYPE_TENSOR) : v->type;
    if (ig_sclass_add_attribute(k, name, type, IG_SROLE_PLAIN) == SIZE_MAX) return false;
  }
  if (!ig_stype_is_subtype(v->type, type)) {
    ig_emit_error(e, where, "Wrong type for attribute assignment. Expected %s but got %s",
                  ig_emit_repr(e, type), ig_emit_repr(e, v->type));
    return false;
  }
  ig_svalue *in[] = {of, v};
  ig_snode *n = ig_emit_node(e, "prim::SetAttr", where, in, 2);
  ig_sattr *a = n ? ig_snode_add_attr(n, "name", IG_SATTR_VALUE) : NULL;
  const char *kept = a ? ig_arena_strn(&e->g->arena, name, strlen(name)) : NULL;
  if (!kept) return false;
  a->value = (ig_value){.kind = IG_KIND_STR, .str = kept};
  return true;
}

// a, *b, c = value
static bool assign_parts(ig_emitter *e, const ig_tree *target, ig_srange where,
                         const ig_sugar *value) {
  size_t star = SIZE_MAX;
  for (size_t i = 0; i < target->n; i++) {
    if (target->at[i]->kind != IG_TREE_STARRED) continue;
    if (star != SIZE_MAX) {
      ig_emit_error(e, target->range, "Only one starred expression is allowed on the lhs");
      return false;
    }
    star = i;
  }
  size_t binders = target->n - (star != SIZE_MAX);
  ig_sugar *at = NULL;
  size_t n = 0;
  size_t wanted = star == SIZE_MAX ? binders : SIZE_MAX;
  if (!ig_emit_parts(e, where, value, wanted, &at, &n)) return false;
  if (n < binders) {
    ig_emit_error(e, target->range, "need %s%zu values to unpack but found only %zu",
                  star == SIZE_MAX ? "" : "at least ", binders, n);
    return false;
  }
  if (n > binders && star == SIZE_MAX) {
    ig_emit_error(e, target->range, "too many values to unpack: need %zu but found %zu", binders,
                  n);
    return false;
  }
  size_t k = 0;
  for (size_t i = 0; i < target->n; i++) {
    if (i != star) {
      if (!ig_emit_assign(e, target->at[i], where, &at[k++], NULL)) return false;
      continue;
    }
    size_t count = n - binders;
    ig_sugar rest = {.kind = IG_SUGAR_TUPLE, .items = {.at = at + k, .n = count}};
    ig_sugar tuple = ig_sugar_value(ig_emit_as_value(e, where, &rest));
    if (!tuple.value || !ig_emit_assign(e, target->at[i]->at[0], where, &tuple, NULL)) return false;
    k += count;
  }
  return true;
}

bool ig_emit_assign(ig_emitter *e, const ig_tree *target, ig_srange where, const ig_sugar *value,
                    const ig_stype *annotated) {
  switch (target->kind) {
    case IG_TREE_NAME:
      return ig_emit_store_sugar(e, target->range, target->text, value, annotated);
    case IG_TREE_TUPLE:
    case IG_TREE_LIST:
      return assign_parts(e, target, where, value);
    case IG_TREE_SUBSCRIPT:
      return ig_emit_assign_subscript(e, target, where, ig_emit_as_value(e, where, value));
    case IG_TREE_ATTRIBUTE: {
      ig_svalue *of = ig_emit_expr(e, target->at[0], NULL);
      ig_svalue *v = of ? ig_emit_as_value(e, where, value) : NULL;
      return v && set_attribute(e, where, of, target->text, v);
    }
    default:
      ig_emit_error(e, target->range, "unexpected expression on left-hand side of assignment");
      return false;
  }
}

static bool attribute_hint(ig_emitter *e, const ig_tree *target, const ig_stype **out) {
  *out = NULL;
  if (target->kind != IG_TREE_ATTRIBUTE || target->at[0]->kind != IG_TREE_NAME) return true;
  if (!e->f->owner || strcmp(target->at[0]->text, e->f->params[0].name) != 0) return true;
  size_t at = ig_sclass_attribute(e->f->owner, target->text);
  if (at != SIZE_MAX) *out = e->f->owner->attributes.at[at].type;
  return true;
}

static size_t binders_of(const ig_tree *target) {
  return target->kind == IG_TREE_TUPLE || target->kind == IG_TREE_LIST ? target->n : 1;
}

// The empty list that nothing says more of is a list of tensors from here on.
static void settle(ig_sugar *s) {
  if (s->kind != IG_SUGAR_VALUE || !s->value->node || s->value->block) return;
  if (strcmp(s->value->node->kind, "prim::EmptyListLiteral") == 0) {
    ig_snode_set_kind(s->value->node, "prim::EmptyTensorList");
  }
}

static bool emit_assignment(ig_emitter *e, const ig_tree *t) {
  const ig_tree *target = t->at[1];
  const ig_stype *hint = NULL;
  ig_sugar value;
  if (!attribute_hint(e, target, &hint)) return false;
  if (!ig_emit_sugar(e, t->at[0], binders_of(target), hint, &value)) return false;
  settle(&value);
  ig_srange where = binders_of(target) > 1 ? ig_emit_place(t->at[0]) : t->range;
  if (t->n == 2) return ig_emit_assign(e, target, where, &value, NULL);
  // a = b = value
  if (!ig_emit_store_sugar(e, t->range, "$assigned", &value, NULL)) return false;
  for (size_t i = 1; i < t->n; i++) {
    ig_sugar again;
    if (!ig_emit_find_local(e, e->frame, "$assigned", &again)) return false;
    if (!ig_emit_assign(e, t->at[i], t->range, &again, NULL)) return false;
  }
  return true;
}

static bool emit_annotated(ig_emitter *e, const ig_tree *t) {
  const ig_stype *type = ig_emit_type(e, t->at[1]);
  if (!type) return false;
  if (t->n < 3 || !t->at[2]) return true;
  ig_sugar value;
  if (!ig_emit_sugar(e, t->at[2], 1, type, &value)) return false;
  if (value.kind == IG_SUGAR_VALUE) {
    value.value = ig_emit_convert(e, t->range, type, value.value, false);
    if (!value.value) return false;
  }
  if (t->at[0]->kind == IG_TREE_ATTRIBUTE && value.kind == IG_SUGAR_VALUE &&
      value.value->type != type && ig_stype_is_subtype(value.value->type, type)) {
    // The attribute gets the annotated type, not that of its first value.
    value.value = ig_emit_value(e, "prim::unchecked_cast", (ig_srange){0}, &value.value, 1, type);
    if (!value.value) return false;
  }
  return ig_emit_assign(e, t->at[0], t->range, &value, type);
}

// ---- augmented assignment

static const struct {
  ig_token_kind op;
  const char *in_place;
  const char *method;
} augmented[] = {
    {IG_TOKEN_ADD, "aten::add_", "__iadd__"},
    {IG_TOKEN_SUB, "aten::sub_", "__isub__"},
    {IG_TOKEN_MUL, "aten::mul_", "__imul__"},
    {IG_TOKEN_DIV, "aten::div_", "__itruediv__"},
    {IG_TOKEN_MOD, "aten::fmod_", "__imod__"},
    {IG_TOKEN_BIT_OR, "aten::bitwise_or", "__ior__"},
    {IG_TOKEN_BIT_AND, "aten::bitwise_and", "__iand__"},
    {IG_TOKEN_BIT_XOR, "aten::bitwise_xor", "__ixor__"},
    {IG_TOKEN_LSHIFT, "aten::__lshift__", "__ilshift__"},
    {IG_TOKEN_RSHIFT, "aten::__rshift__", "__irshift__"},
    {IG_TOKEN_POW, "aten::pow", "__ipow__"},
};

ig_svalue *ig_emit_augment(ig_emitter *e, const ig_tree *t, ig_svalue *left, ig_svalue *right) {
  ig_stype_kind kind = left->type->kind;
  for (size_t i = 0; i < sizeof augmented / sizeof *augmented; i++) {
    if (augmented[i].op != t->op) continue;
    const ig_sclass *k = ig_sclass_of(left->type);
    if (k && ig_sclass_method(k, augmented[i].method)) {
      ig_sugar self = ig_sugar_value(left);
      ig_sugar m;
      ig_sugar out;
      ig_sactual at[] = {{.range = t->range, .value = right}};
      return ig_emit_attr(e, t->range, &self, augmented[i].method, &m) &&
                     ig_emit_call(e, t->range, &m, &(ig_sactuals){at, 1, 0}, 1, &out)
                 ? out.value
                 : NULL;
    }
    if (kind != IG_STYPE_TENSOR && kind != IG_STYPE_LIST) break;
    ig_sactual at[] = {{.range = t->range, .value = right}};
    return ig_emit_builtin(e, t->range, augmented[i].in_place, &(ig_sactuals){at, 1, 0}, left);
  }
  return ig_emit_binary(e, t, t->op, left, right);
}

static bool emit_augmented(ig_emitter *e, const ig_tree *t) {
  const ig_tree *target = t->at[0];
  if (target->kind == IG_TREE_SUBSCRIPT) return ig_emit_augment_subscript(e, t);
  if (target->kind == IG_TREE_NAME) {
    ig_svalue *left = ig_emit_expr(e, target, NULL);
    ig_svalue *right = left ? ig_emit_expr(e, t->at[1], NULL) : NULL;
    ig_svalue *v = right ? ig_emit_augment(e, t, left, right) : NULL;
    return v && ig_emit_store(e, target->range, target->text, v, NULL);
  }
  if (target->kind != IG_TREE_ATTRIBUTE) {
    ig_emit_error(e, target->range,
                  "unexpected expression on left-hand side of augmented assignment");
    return false;
  }
  ig_svalue *of = ig_emit_expr(e, target->at[0], NULL);
  ig_sugar self = ig_sugar_value(of);
  ig_sugar old;
  if (!of || !ig_emit_attr(e, target->range, &self, target->text, &old)) return false;
  ig_svalue *left = ig_emit_as_value(e, target->range, &old);
  ig_svalue *right = left ? ig_emit_expr(e, t->at[1], NULL) : NULL;
  ig_svalue *v = right ? ig_emit_augment(e, t, left, right) : NULL;
  return v && set_attribute(e, t->range, of, target->text, v);
}

// ---- with and del

static bool enter(ig_emitter *e, const ig_tree *item, ig_svalue **object) {
  ig_svalue *v = ig_emit_expr(e, item->at[0], NULL);
  if (!v) return false;
  *object = v;
  const ig_sclass *k = ig_sclass_of(v->type);
  ig_srange where = ig_emit_place(item->at[0]);
  if (!k) {
    ig_emit_error(e, where, "With item expression must return an object");
    return false;
  }
  ig_sfunction *in = ig_sclass_method(k, "__enter__");
  ig_sfunction *out = ig_sclass_method(k, "__exit__");
  if (!in || !out) {
    ig_emit_error(e, where,
                  "Object returned by with item expression does not define __enter__ and __exit__ "
                  "methods");
    return false;
  }
  if (!ig_sfunction_ensure(e->c, in) || !ig_sfunction_ensure(e->c, out)) return false;
  if (in->n_params != 1 || out->n_params != 4) {
    ig_emit_error(e, where,
                  in->n_params != 1 ? "__enter__ must have only one argument and one return value"
                                    : "__exit__ must have four arguments and no return value");
    return false;
  }
  const ig_stype *type = in->result ? in->result : ig_emit_plain(e, IG_STYPE_NONE);
  ig_svalue *entered = ig_emit_value(e, "prim::Enter", (ig_srange){0}, &v, 1, type);
  if (!entered) return false;
  ig_sugar s = ig_sugar_value(entered);
  return item->n < 2 || !item->at[1] || ig_emit_assign(e, item->at[1], where, &s, NULL);
}

static bool emit_with(ig_emitter *e, const ig_tree *t) {
  ig_svalue **objects = ig_emit_array(e, t->n, sizeof(ig_svalue *));
  for (size_t i = 1; objects && i < t->n; i++) {
    if (!enter(e, t->at[i], &objects[i])) return false;
  }
  if (!objects || !ig_emit_block(e, t->at[0])) return false;
  for (size_t i = t->n; i-- > 1;) {
    if (!ig_emit_value(e, "prim::Exit", (ig_srange){0}, &objects[i], 1,
                       ig_emit_plain(e, IG_STYPE_NONE))) {
      return false;
    }
  }
  return true;
}

static bool emit_delete(ig_emitter *e, const ig_tree *t) {
  for (size_t i = 0; i < t->n; i++) {
    const ig_tree *target = t->at[i];
    if (target->kind == IG_TREE_SUBSCRIPT) {
      ig_svalue *v = ig_emit_expr(e, target->at[0], NULL);
      ig_svalue *index = v ? ig_emit_expr(e, target->at[1], NULL) : NULL;
      ig_svalue *in[] = {v, index};
      if (!index || !ig_emit_op(e, t->range, "aten::Delete", in, 2)) return false;
      continue;
    }
    if (target->kind == IG_TREE_NAME) {
      ig_map_value *v = ig_map_find(&e->frame->types, target->text);
      ig_map_value *s = ig_map_find(&e->frame->sugars, target->text);
      if (v) v->ptr = NULL;
      if (s) s->ptr = NULL;
      continue;
    }
    ig_emit_error(e, target->range,
                  "del statements are only supported for deleting list and dict items and "
                  "variables");
    return false;
  }
  return true;
}

// ---- all of them

static bool emit_jump(ig_emitter *e, const ig_tree *t) {
  bool is_break = t->kind == IG_TREE_BREAK;
  if (e->loop == IG_SLOOP_UNROLLED) {
    ig_emit_error(e, t->range,
                  "Because we emit iteration over modulelists or tuples as unrolled loops, we do "
                  "not support break or continue inside the body of these loops");
    return false;
  }
  if (e->loop == IG_SLOOP_NONE) {
    ig_emit_error(e, t->range, "SyntaxError: '%s' outside loop", is_break ? "break" : "continue");
    return false;
  }
  return ig_emit_node(e, is_break ? "prim::BreakStmt" : "prim::ContinueStmt", t->range, NULL, 0) &&
         ig_emit_mark_exit(e, e->frame->block);
}

static bool emit_body(ig_emitter *e, void *user) {
  return ig_emit_block(e, user);
}

static bool emit_statement(ig_emitter *e, const ig_tree *t) {
  e->here = t->range;
  ig_sugar ignored;
  switch (t->kind) {
    case IG_TREE_EXPRESSION:
      if (t->at[0]->kind == IG_TREE_STRING) return true;  // documentation
      return ig_emit_sugar(e, t->at[0], 0, NULL, &ignored);
    case IG_TREE_ASSIGN:
      return emit_assignment(e, t);
    case IG_TREE_ANNOTATED:
      return emit_annotated(e, t);
    case IG_TREE_AUGMENTED:
      return emit_augmented(e, t);
    case IG_TREE_RETURN:
      return emit_return(e, t);
    case IG_TREE_IF:
      return emit_if(e, t);
    case IG_TREE_WHILE:
      return ig_emit_while(e, t);
    case IG_TREE_FOR:
      return ig_emit_for(e, t->at[0], t->at[1], t->range, emit_body, t->at[2]);
    case IG_TREE_WITH:
      return emit_with(e, t);
    case IG_TREE_RAISE:
      return emit_raise(e, t);
    case IG_TREE_ASSERT:
      return emit_assert(e, t);
    case IG_TREE_PASS:
    case IG_TREE_TYPE_COMMENT:
      return true;
    case IG_TREE_BREAK:
    case IG_TREE_CONTINUE:
      return emit_jump(e, t);
    case IG_TREE_DELETE:
      return emit_delete(e, t);
    case IG_TREE_DEF:
      if (!e->front->python) {
        ig_sugar closure = {.kind = IG_SUGAR_CLOSURE, .closure = t};
        return ig_emit_store_sugar(e, t->range, t->text, &closure, NULL);
      }
      ig_emit_error(e, t->range, "%s statements cannot be compiled", ig_tree_kind_text(t->kind));
      return false;
    default:
      ig_emit_error(e, t->range, "%s statements cannot be compiled", ig_tree_kind_text(t->kind));
      return false;
  }
}

bool ig_emit_block(ig_emitter *e, const ig_tree *block) {
  for (size_t i = 0; i < block->n; i++) {
    if (!emit_statement(e, block->at[i])) return false;
    if (ig_emit_block_exits(e, e->frame->block)) return true;  // the rest is never reached
  }
  return true;
}
