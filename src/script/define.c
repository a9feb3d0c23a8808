// SPDX-License-Identifier: Apache-2.0
// Functions from their trees: signatures, bodies, and built-ins that are scripts themselves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/emitter.h"
#include "script/form.h"
#include "script/ir_edit.h"

static void *no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- constants as code

static bool constant_sequence(ig_ctx *c, ig_arena *arena, const ig_tree *t, ig_value *out) {
  ig_value *at = ig_arena_array(arena, t->n + 1, sizeof *at);
  if (!at) return no_memory(c) != NULL;
  for (size_t i = 0; i < t->n; i++) {
    if (!ig_sconstant_of_tree(c, arena, t->at[i], &at[i])) return false;
  }
  *out = (ig_value){.kind = IG_KIND_LIST, .list = {at, t->n}};
  if (t->kind == IG_TREE_TUPLE) out->seq = IG_SEQ_TUPLE;
  return true;
}

static bool negate(ig_value *v) {
  if (v->kind == IG_KIND_INT) v->i.value = (int64_t)(0 - (uint64_t)v->i.value);
  if (v->kind == IG_KIND_FLOAT) v->f = -v->f;
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT;
}

bool ig_sconstant_of_tree(ig_ctx *c, ig_arena *arena, const ig_tree *t, ig_value *out) {
  switch (t->kind) {
    case IG_TREE_INT:
      *out = ig_of_i64(t->i);
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
      *out = ig_none();
      return true;
    case IG_TREE_STRING:
      *out = (ig_value){.kind = IG_KIND_STR, .str = t->text};
      return true;
    case IG_TREE_UNARY:
      return t->op == IG_TOKEN_SUB && ig_sconstant_of_tree(c, arena, t->at[0], out) && negate(out);
    case IG_TREE_TUPLE:
    case IG_TREE_LIST:
      return constant_sequence(c, arena, t, out);
    case IG_TREE_CALL:  // annotate(List[int], [])
      return t->n == 3 && t->at[0]->kind == IG_TREE_NAME &&
             strcmp(t->at[0]->text, "annotate") == 0 &&
             ig_sconstant_of_tree(c, arena, t->at[2], out);
    default:
      return false;
  }
}

bool ig_sconstant_parse(ig_ctx *c, ig_arena *arena, const char *text, ig_value *out) {
  ig_source *s = ig_arena_push(arena, sizeof *s);
  char *kept = ig_arena_strn(arena, text, strlen(text));
  if (!s || !kept) return no_memory(c) != NULL;
  *s = (ig_source){.text = kept, .n = strlen(kept), .first_line = 1};
  const ig_tree *t = ig_tree_parse_expression(c, arena, s);
  return t && ig_sconstant_of_tree(c, arena, t, out);
}

// ---- signatures

// What belongs to a function until its unit goes.
typedef struct definition {
  const ig_tree *def;
  const ig_sfront *front;
} definition;

typedef struct declarer {
  ig_ctx *c;
  ig_sunit *u;
  ig_sfunction *f;
  const ig_tree *def;
  const ig_sfront *front;
  ig_resolver resolver;
  // of a `# type: (A, B) -> C` comment; NULL: none
  const ig_tree *const *types;
  size_t n_types;
  const ig_tree *result;
} declarer;

static const ig_stype *read_type(declarer *d, const ig_tree *t) {
  return ig_stype_of_tree(&d->u->types, d->resolver.type ? &d->resolver : NULL, t);
}

static const ig_tree *parse_part(declarer *d, const char *text, size_t n) {
  ig_source *s = ig_arena_push(&d->u->arena, sizeof *s);
  const char *kept = ig_arena_strn(&d->u->arena, text, n);
  if (!s || !kept) return no_memory(d->c);
  *s = (ig_source){.text = kept, .n = n, .first_line = 1};
  return ig_tree_parse_expression(d->c, &d->u->arena, s);
}

// The `# type: (int, Tensor) -> Tensor` below the head.
static bool read_signature_comment(declarer *d) {
  const ig_tree *body = d->def->at[2];
  const ig_tree *comment = NULL;
  for (size_t i = 0; i < body->n && !comment; i++) {
    if (body->at[i]->kind == IG_TREE_TYPE_COMMENT) comment = body->at[i];
    if (body->at[i]->kind != IG_TREE_EXPRESSION) break;
  }
  const char *text = comment ? comment->text : NULL;
  const char *arrow = text ? strstr(text, "->") : NULL;
  const char *colon = text ? strchr(text, ':') : NULL;
  if (!arrow || !colon || colon > arrow) return true;
  const char *open = colon + 1 + strspn(colon + 1, " ");
  d->result = parse_part(d, arrow + 2 + strspn(arrow + 2, " "),
                         strcspn(arrow + 2 + strspn(arrow + 2, " "), "#\n"));
  if (!d->result) return false;
  if (strncmp(open, "(...)", 5) == 0) return true;
  const ig_tree *list = parse_part(d, open, (size_t)(arrow - open));
  if (!list) return false;
  if (list->kind == IG_TREE_TUPLE) {
    d->types = (const ig_tree *const *)list->at;
    d->n_types = list->n;
    return true;
  }
  const ig_tree **one = ig_arena_array(&d->u->arena, 1, sizeof *one);
  if (!one) return no_memory(d->c) != NULL;
  one[0] = list;
  d->types = one;
  d->n_types = 1;
  return true;
}

// BroadcastingList2[int]: a list that a single number stands for; also inside of Optional.
static int broadcast_of(const ig_tree *t, const ig_tree **item, bool *optional) {
  static const char name[] = "BroadcastingList";
  if (t->kind != IG_TREE_SUBSCRIPT) return 0;
  const char *text =
      t->at[0]->kind == IG_TREE_NAME || t->at[0]->kind == IG_TREE_ATTRIBUTE ? t->at[0]->text : "";
  if (!*optional && strcmp(text, "Optional") == 0) {
    *optional = true;
    return broadcast_of(t->at[1], item, optional);
  }
  if (strncmp(text, name, sizeof name - 1) != 0) return 0;
  long n = strtol(text + sizeof name - 1, NULL, 10);
  *item = t->at[1];
  return n > 0 && n < 16 ? (int)n : 0;
}

static bool param_type(declarer *d, const ig_tree *t, ig_sparam *p) {
  const ig_tree *item = NULL;
  bool optional = false;
  p->broadcast = t ? broadcast_of(t, &item, &optional) : 0;
  if (p->broadcast) {
    const ig_stype *of = read_type(d, item);
    p->type = of ? ig_stype_list(&d->u->types, of) : NULL;
    if (p->type && optional) p->type = ig_stype_optional(&d->u->types, p->type);
  } else if (t) {
    p->type = read_type(d, t);
  } else {
    p->inferred = true;
    p->type = ig_stype_inferred(&d->u->types);
  }
  return p->type != NULL;
}

// A value of the language from a constant of the tree, a new reference.
static bool own_value(declarer *d, const ig_value *from, const ig_stype *type, ig_value *out) {
  *out = *from;
  if (from->kind == IG_KIND_STR) {
    ig_sobj_str *s = ig_sobj_str_make(d->c, from->str, strlen(from->str));
    *out = ig_of_sobj(s);
    return s != NULL;
  }
  if (from->kind == IG_KIND_INT && type->kind == IG_STYPE_FLOAT) {
    *out = ig_of_f64((double)from->i.value);
  }
  if (from->kind != IG_KIND_LIST) return true;
  bool tuple = from->seq == IG_SEQ_TUPLE;
  const ig_stype *of = type->kind == IG_STYPE_OPTIONAL ? type->at[0] : type;
  ig_value *at = ig_arena_array(&d->u->arena, from->list.n + 1, sizeof *at);
  if (!at) return no_memory(d->c) != NULL;
  for (size_t i = 0; i < from->list.n; i++) {
    const ig_stype *item = of->n == 0                                         ? of
                           : tuple && of->kind == IG_STYPE_TUPLE && i < of->n ? of->at[i]
                                                                              : of->at[0];
    if (!own_value(d, &from->list.at[i], item, &at[i])) return false;
  }
  bool as_tuple = tuple && of->kind != IG_STYPE_LIST;
  ig_sobj_seq *s =
      ig_sobj_seq_make(d->c, as_tuple ? IG_SOBJ_TUPLE : IG_SOBJ_LIST, of, at, from->list.n);
  for (size_t i = 0; i < from->list.n; i++) ig_svalue_release(at[i]);
  *out = ig_of_sobj(s);
  return s != NULL;
}

// What a parameter without an annotation may have as its default: a tensor, or None.
static bool check_inferred(declarer *d, const ig_sparam *p) {
  bool fits = p->def.kind == IG_KIND_TENSOR || p->def.kind == IG_KIND_NONE;
  if (!p->inferred || !p->has_default || fits) return true;
  (void)ig_syntax_error(d->c, d->def->range,
                        "Expected a default value of type Tensor (inferred) on parameter "
                        "\"%s\".Because \"%s\" was not annotated with an explicit type it is "
                        "assumed to be type 'Tensor'.",
                        p->name, p->name);
  return false;
}

static bool param_default(declarer *d, const ig_tree *t, ig_sparam *p) {
  if (d->front->default_value) {
    return d->front->default_value(d->c, d->front->user, p->name, p->type, &p->def,
                                   &p->has_default) &&
           check_inferred(d, p);
  }
  if (!t) return true;
  ig_value v;
  if (!ig_sconstant_of_tree(d->c, &d->u->arena, t, &v)) {
    if (d->c->status == IG_OK) {
      (void)ig_syntax_error(d->c, t->range,
                            "the default value of parameter '%s' is no constant that a script can "
                            "have",
                            p->name);
    }
    return false;
  }
  p->has_default = true;
  return own_value(d, &v, p->type, &p->def);
}

static bool read_params(declarer *d) {
  const ig_tree *params = d->def->at[0];
  ig_sfunction *f = d->f;
  f->params = ig_arena_array(&d->u->arena, params->n + 1, sizeof *f->params);
  if (!f->params) return no_memory(d->c) != NULL;
  bool method = f->owner && !f->is_static;
  size_t skip = method ? 1 : 0;
  // A type comment names all parameters, or all but self.
  size_t offset = d->n_types + skip == params->n ? skip : 0;
  for (size_t i = 0; i < params->n; i++) {
    const ig_tree *t = params->at[i];
    ig_sparam *p = &f->params[i];
    p->name = t->text;
    p->keyword_only = t->op == IG_TOKEN_SEMICOLON;
    const ig_tree *type = t->at[0];
    if (!type && d->types && i >= offset && i - offset < d->n_types) type = d->types[i - offset];
    if (method && i == 0) {
      p->type = f->owner->type;
    } else if (!param_type(d, type, p) || !param_default(d, t->at[1], p)) {
      return false;
    }
    f->n_params = i + 1;  // a function that could not be declared has those with a type
  }
  const ig_tree *result = d->def->at[1] ? d->def->at[1] : d->result;
  f->result = result ? read_type(d, result) : NULL;
  return !result || f->result;
}

// ---- bodies

static bool emit_params(ig_emitter *e) {
  for (size_t i = 0; i < e->f->n_params; i++) {
    const ig_sparam *p = &e->f->params[i];
    ig_svalue *v = ig_sblock_add_input(e->g->body, p->type);
    if (!v || !ig_svalue_set_name(e->g, v, p->name)) return false;
    if (!ig_emit_store(e, e->here, p->name, v, p->inferred ? NULL : p->type)) return false;
  }
  return true;
}

// Empty lists that nothing was said of are lists of tensors. They have no names, whichever
// variables they were assigned to.
static bool settle_lists(ig_sgraph *g, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (strcmp(n->kind, "prim::EmptyListLiteral") == 0 ||
        strcmp(n->kind, "prim::EmptyTensorList") == 0) {
      ig_snode_set_kind(n, "prim::ListConstruct");
      if (!ig_svalue_set_name(g, n->out[0], "")) return false;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!settle_lists(g, n->blocks[i])) return false;
    }
  }
  return true;
}

static bool emit_function(ig_emitter *e, const ig_tree *def) {
  e->here = def->range;
  ig_sframe frame;
  if (!ig_frame_push(e, e->g->body, &frame)) return false;
  bool init = e->f->owner && strcmp(e->f->name, "__init__") == 0;
  if (init && !e->declared) e->declared = ig_emit_plain(e, IG_STYPE_NONE);
  bool ok = emit_params(e) && ig_emit_block(e, def->at[2]) && ig_emit_end(e, def->range, init);
  ig_frame_free(&frame);
  if (!ok) return false;
  if (!settle_lists(e->g, e->g->body)) return false;
  e->f->result = e->merged->inferred ? ig_emit_plain(e, IG_STYPE_TENSOR) : e->merged;
  // The value is set by the pass that knows all returns; its type is known now.
  ig_svalue *result =
      ig_emit_value(e, "prim::Uninitialized", (ig_srange){0}, NULL, 0, e->f->result);
  return result && ig_sblock_add_output(e->g->body, result);
}

static bool compile_body(ig_ctx *c, ig_sfunction *f) {
  const definition *d = f->user;
  ig_emitter e = {.c = c, .u = f->unit, .f = f, .front = d->front, .declared = f->result};
  e.g = ig_sgraph_create(&f->unit->types);
  if (!e.g) return false;
  e.arena = ig_arena_make(c->alloc);
  e.numbers = ig_map_make(c->alloc);
  e.at = e.g->body;
  bool ok = emit_function(&e, d->def) && ig_sgraph_to_ssa(e.g) && ig_sgraph_clean(f->unit, e.g);
  ig_map_free(&e.numbers);
  ig_arena_free(&e.arena);
  ig_vec_free(c->alloc, &e.exits);
  if (ok) {
    f->graph = e.g;
  } else {
    ig_sgraph_free(e.g);
  }
  return ok;
}

ig_sfunction *ig_script_declare(ig_ctx *c, ig_sunit *u, ig_sclass *owner, const char *qualified,
                                const ig_tree *def, const ig_sfront *front) {
  definition *kept = ig_arena_push(&u->arena, sizeof *kept);
  if (!kept) return no_memory(c);
  *kept = (definition){def, front};
  // A host may give a method another name than its text has: overloads, getters of properties.
  const char *dot = strrchr(qualified, '.');
  ig_sfunction *f = ig_sunit_add_function(u, owner, dot ? dot + 1 : qualified, qualified);
  if (!f) return NULL;
  declarer d = {.c = c, .u = u, .f = f, .def = def, .front = front};
  d.resolver = (ig_resolver){front->type, front->user};
  if (!read_signature_comment(&d) || !read_params(&d)) return NULL;
  f->compile = compile_body;
  f->user = kept;
  return f;
}

ig_sfunction *ig_script_compile(ig_ctx *c, ig_sunit *u, const char *text, const ig_sfront *front) {
  ig_source *source = ig_arena_push(&u->arena, sizeof *source);
  char *kept = ig_arena_strn(&u->arena, text, strlen(text));
  if (!source || !kept) return no_memory(c);
  *source = (ig_source){.text = kept, .n = strlen(kept), .file = "<string>", .first_line = 1};
  const ig_tree *block = ig_tree_parse(c, &u->arena, source);
  const ig_tree *def = NULL;
  for (size_t i = 0; block && i < block->n; i++) {
    if (block->at[i]->kind == IG_TREE_DEF) def = block->at[i];
  }
  if (!def) {
    if (block) (void)ig_fail(c, IG_SYNTAX, "expected the definition of a function");
    return NULL;
  }
  ig_sfunction *f = ig_script_declare(c, u, NULL, def->text, def, front);
  return f && ig_sfunction_ensure(c, f) ? f : NULL;
}

// ---- schemas as text

static void print_float(ig_str *s, double f) {
  char text[40];
  (void)snprintf(text, sizeof text, "%.17g", f);
  bool whole = text[strspn(text, "-0123456789")] == '\0';
  ig_str_add(s, "%s%s", text, whole ? "." : "");
}

static void print_default(ig_str *s, ig_value v) {
  switch (v.kind) {
    case IG_KIND_NONE:
      ig_str_add(s, "None");
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, v.b ? "True" : "False");
      break;
    case IG_KIND_INT:
      ig_str_add(s, "%lld", (long long)v.i.value);
      break;
    case IG_KIND_FLOAT:
      print_float(s, v.f);
      break;
    case IG_KIND_OBJECT:
      if (ig_sobj_is(v, IG_SOBJ_STR)) {
        ig_str_add(s, "\"%s\"", ((ig_sobj_str *)v.object)->text);
      } else if (ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE)) {
        const ig_sobj_seq *q = v.object;
        bool tuple = q->head.kind == IG_SOBJ_TUPLE;
        ig_str_add(s, tuple ? "(" : "[");
        for (size_t i = 0; i < q->n; i++) {
          if (i) ig_str_add(s, ", ");
          print_default(s, q->at[i]);
        }
        ig_str_add(s, tuple ? ")" : "]");
      }
      break;
    default:
      break;
  }
}

// As graphs write it, but for named tuples, which a schema names.
static void print_schema_type(ig_str *s, const ig_stype *t) {
  bool named = t->kind == IG_STYPE_TUPLE && t->name && !ig_stype_is_result(t);
  if (named) {
    ig_str_add(s, "%s", t->name);
  } else if (t->kind == IG_STYPE_TUPLE) {
    ig_str_add(s, "(");
    for (size_t i = 0; i < t->n; i++) {
      if (i) ig_str_add(s, ", ");
      print_schema_type(s, t->at[i]);
    }
    ig_str_add(s, ")");
  } else if (t->kind == IG_STYPE_LIST || t->kind == IG_STYPE_OPTIONAL) {
    print_schema_type(s, t->at[0]);
    ig_str_add(s, t->kind == IG_STYPE_LIST ? "[]" : "?");
  } else if (t->kind == IG_STYPE_DICT) {
    ig_str_add(s, "Dict(");
    print_schema_type(s, t->at[0]);
    ig_str_add(s, ", ");
    print_schema_type(s, t->at[1]);
    ig_str_add(s, ")");
  } else {
    ig_str_add(s, "%s", t->text);
  }
}

bool ig_sfunction_print_schema(ig_str *s, const ig_sfunction *f) {
  ig_str_add(s, "%s(", f->name);
  bool starred = false;
  for (size_t i = 0; i < f->n_params; i++) {
    const ig_sparam *p = &f->params[i];
    if (i) ig_str_add(s, ", ");
    if (p->keyword_only && !starred) ig_str_add(s, "*, ");
    starred |= p->keyword_only;
    bool optional = p->broadcast && p->type->kind == IG_STYPE_OPTIONAL;
    if (p->broadcast) {
      const ig_stype *list = optional ? p->type->at[0] : p->type;
      ig_str_add(s, "%s[%d]%s", list->at[0]->text, p->broadcast, optional ? "?" : "");
    } else {
      print_schema_type(s, p->type);
    }
    ig_str_add(s, " %s", p->name);
    if (!p->has_default) continue;
    ig_str_add(s, "=");
    print_default(s, p->def);
  }
  const ig_stype *r = f->result;
  ig_str result = ig_str_make(s->alloc);
  if (r) print_schema_type(&result, r);
  if (!r) ig_str_add(&result, "NoneType");
  bool open = result.at && result.at[0] == '(';  // what begins with one gets one more
  ig_str_add(s, ") -> %s%s%s", open ? "(" : "", result.at ? result.at : "", open ? ")" : "");
  ig_str_free(&result);
  return !s->failed;
}

// ---- built-ins that are scripts

static const struct {
  const char *symbol;
  const char *text;
} builtins[] = {
    {"aten::add", "def add(a: %s, b: Tensor) -> Tensor:\n  return b + a\n"},
    {"aten::mul", "def mul(a: %s, b: Tensor) -> Tensor:\n  return b * a\n"},
    {"aten::sub", "def sub(a: %s, b: Tensor) -> Tensor:\n  return torch.neg(b) + a\n"},
    {"aten::div", "def div(a: %s, b: Tensor) -> Tensor:\n  return torch.reciprocal(b) * a\n"},
    {"aten::ne", "def ne(a: %s, b: Tensor) -> Tensor:\n  return b != a\n"},
    {"aten::eq", "def eq(a: %s, b: Tensor) -> Tensor:\n  return b == a\n"},
    {"aten::lt", "def lt(a: %s, b: Tensor) -> Tensor:\n  return b > a\n"},
    {"aten::le", "def le(a: %s, b: Tensor) -> Tensor:\n  return b >= a\n"},
    {"aten::gt", "def gt(a: %s, b: Tensor) -> Tensor:\n  return b < a\n"},
    {"aten::ge", "def ge(a: %s, b: Tensor) -> Tensor:\n  return b <= a\n"},
    {"aten::floordiv",
     "def floordiv(a: Tensor, b: Tensor) -> Tensor:\n  return torch.floor_divide(a, b)\n"},
    {"aten::floordiv",
     "def floordiv(a: Tensor, b: number) -> Tensor:\n  return torch.floor_divide(a, b)\n"},
    {"aten::__contains__",
     "def __contains__(self: str, key: str):\n  return self.find(key, 0, len(self)) != -1\n"},
    {"aten::list_with_default",
     "def list_with_default(out_size: List[int], defaults: List[int]):\n"
     "  assert len(defaults) > len(out_size)\n"
     "  return out_size\n"},
    {"aten::_single", "def _single(x: BroadcastingList1[int]) -> List[int]:\n  return x\n"},
    {"aten::_pair", "def _pair(x: BroadcastingList2[int]) -> List[int]:\n  return x\n"},
    {"aten::_triple", "def _triple(x: BroadcastingList3[int]) -> List[int]:\n  return x\n"},
    {"aten::_quadruple", "def _quadruple(x: BroadcastingList4[int]) -> List[int]:\n  return x\n"},
    {"prim::ndim", "def ndim(a: Tensor) -> int:\n  return a.dim()\n"},
    {"prim::T", "def T(a: Tensor) -> Tensor:\n  return a.numpy_T()\n"},
    {"prim::H", "def H(a: Tensor) -> Tensor:\n  return a.matrix_H()\n"},
    {"prim::shape", "def shape(a: Tensor) -> List[int]:\n  return a.size()\n"},
};

typedef struct ig_stext_builtins {
  ig_sfunction **at;
  size_t n;
} ig_stext_builtins;

static ig_sfunction *compile_builtin(ig_ctx *c, ig_sunit *u, const char *text, const char *type) {
  static const ig_sfront front = {.python = false};
  char filled[256];
  (void)snprintf(filled, sizeof filled, text, type);
  return ig_script_compile(c, u, filled, &front);
}

ig_sfunction *const *ig_sunit_text_builtins(ig_ctx *c, ig_sunit *u, const char *symbol, size_t *n) {
  static const char *const numbers[] = {"float", "int", "complex"};
  *n = 0;
  ig_map_value *known = ig_map_find(&u->text_builtins, symbol);
  if (known) {
    const ig_stext_builtins *b = known->ptr;
    if (b) *n = b->n;
    return b ? b->at : NULL;
  }
  ig_stext_builtins *b = ig_arena_push(&u->arena, sizeof *b);
  const char *kept = NULL;
  ig_map_value *slot = b ? ig_map_keep(&u->text_builtins, &u->arena, symbol, &kept) : NULL;
  if (!slot) return no_memory(c);
  slot->ptr = NULL;  // while they are compiled, the name has none
  b->at = ig_arena_array(&u->arena, 8, sizeof(ig_sfunction *));
  if (!b->at) return no_memory(c);
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
    if (strcmp(builtins[i].symbol, symbol) != 0) continue;
    bool generic = strstr(builtins[i].text, "%s") != NULL;
    for (size_t k = 0; k < (generic ? 3 : 1); k++) {
      ig_sfunction *f = compile_builtin(c, u, builtins[i].text, numbers[k]);
      if (!f) return NULL;
      b->at[b->n++] = f;
    }
  }
  slot = ig_map_find(&u->text_builtins, symbol);
  if (slot) slot->ptr = b;
  *n = b->n;
  return b->at;
}

const char *ig_sclass_short_name(const ig_sclass *k) {
  const char *dot = strrchr(k->type->name, '.');
  return dot ? dot + 1 : k->type->name;
}

ig_svalue *ig_sgraph_splice(ig_sblock *into, const ig_sgraph *from, ig_svalue *const *in) {
  ig_svalue_map m = ig_svalue_map_make(into->graph);
  const ig_sblock *body = from->body;
  for (size_t i = 0; i < body->n_in; i++) {
    if (!ig_svalue_map_put(&m, body->in[i], in[i])) return NULL;
  }
  if (!ig_sblock_copy_nodes(&m, body, into, NULL, false)) return NULL;
  return ig_svalue_map_get(&m, body->out[0]);
}
