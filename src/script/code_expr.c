// SPDX-License-Identifier: Apache-2.0
// The right sides of definitions. Nodes that have a form of their own in the language stand in a
// table; all others are calls of operators, whose schema tells which arguments can be left out.
#include <stdio.h>
#include <string.h>

#include "op/bind.h"
#include "script/code_printer.h"
#include "script/form.h"

static void put(const ig_sprinter *p, ig_sprint_text *t, const char *text) {
  ig_sprinter_put(p, t, text);
}

static const char *attr_text(const ig_snode *n, const char *name) {
  const ig_sattr *a = ig_snode_attr(n, name);
  return a && a->kind == IG_SATTR_VALUE && a->value.kind == IG_KIND_STR ? a->value.str : "";
}

static bool finish(ig_sprinter *p, ig_str *s, ig_sprint_text *t) {
  bool ok = !s->failed;
  if (ok) put(p, t, s->at ? s->at : "");
  ig_str_free(s);
  return ok || ig_sprinter_no_memory(p);
}

// ---- constants

static bool put_function(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_stype *type = n->out[0]->type;
  ig_sfunction *f = type->declaration;
  if (f && !ig_sprint_refs_need(p->refs, (ig_sprint_need){.function = f})) return false;
  put(p, t, type->name ? type->name : attr_text(n, "name"));
  return true;
}

// Of a graph that was read only the text of a tensor is known. Equal texts are equal tensors,
// except for those that are too long to be printed.
static bool put_known_text(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n,
                           const ig_sattr *a) {
  if (n->out[0]->type->kind != IG_STYPE_TENSOR) {
    put(p, t, a->text);
    return true;
  }
  ig_sprint_refs *r = p->refs;
  size_t i = 0;
  bool complete = strchr(a->text, '<') == NULL;
  for (; i < r->constants.n; i++) {
    ig_value old = r->constants.at[i];
    if (complete && old.kind == IG_KIND_STR && strcmp(old.str, a->text) == 0) break;
  }
  if (i == r->constants.n && !ig_vec_push(p->c->alloc, &r->constants, ig_of_str(a->text))) {
    return ig_sprinter_no_memory(p);
  }
  char text[40];
  (void)snprintf(text, sizeof text, "CONSTANTS.c%zu", i);
  put(p, t, text);
  return true;
}

static bool form_constant(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  if (n->out[0]->type->kind == IG_STYPE_FUNCTION) return put_function(p, t, n);
  const ig_sattr *a = ig_snode_attr(n, "value");
  if (!a) {
    put(p, t, "None");
    return true;
  }
  if (a->kind == IG_SATTR_TEXT) return put_known_text(p, t, n, a);
  ig_str s = ig_str_make(p->c->alloc);
  if (!ig_sprint_value(p->c, n->out[0]->type, a->value, p->refs, &s)) {
    ig_str_free(&s);
    return false;
  }
  return finish(p, &s, t);
}

// ---- forms of the language

static bool put_typed(ig_sprinter *p, ig_sprint_text *t, const char *begin, const ig_stype *type) {
  put(p, t, begin);
  return ig_sprinter_put_type(p, t, type);
}

static bool form_uninitialized(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  bool ok = put_typed(p, t, "uninitialized(", n->out[0]->type);
  put(p, t, ")");
  return ok;
}

// annotate(T, x) and unchecked_cast(T, x)
static bool put_cast(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n, const char *begin) {
  bool ok = put_typed(p, t, begin, n->out[0]->type);
  put(p, t, ", ");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, ")");
  return ok;
}

static bool form_implicit(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  return put_cast(p, t, n, "annotate(");
}

static bool form_unchecked_cast(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  return put_cast(p, t, n, "unchecked_cast(");
}

static bool form_tolist(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  bool ok = put_typed(p, t, "annotate(", n->out[0]->type);
  put(p, t, ", ");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, ".tolist())");
  return ok;
}

#define CALL_FORM(name, begin)                                                    \
  static bool form_##name(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) { \
    ig_sprinter_put_uses(p, t, n->in, n->n_in, begin, ")");                       \
    return true;                                                                  \
  }
CALL_FORM(int, "int(")
CALL_FORM(float, "float(")
CALL_FORM(bool, "bool(")
CALL_FORM(str, "str(")
CALL_FORM(print, "print(")
CALL_FORM(sorted, "sorted(")
#undef CALL_FORM

static bool form_getitem(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_sprint_info *info = ig_sprinter_info(p, n->in[0]);
  bool plain = !info || !info->expression || ig_name_is_identifier(info->expression->text.at);
  if (!plain) put(p, t, "(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, plain ? "[" : ")[");
  ig_sprinter_put_use(p, t, n->in[1]);
  put(p, t, "]");
  return true;
}

static bool form_tuple(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_stype *type = n->out[0]->type;
  // The named tuples that operators return are plain tuples here.
  bool declared = type->names && strncmp(type->name, "__torch__.", 10) == 0;
  if (declared && !ig_sprinter_put_type(p, t, type)) return false;
  ig_sprinter_put_uses(p, t, n->in, n->n_in, "(", n->n_in == 1 ? ",)" : ")");
  return true;
}

static bool form_tuple_index(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  put(p, t, "(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, ")[");
  ig_sprinter_put_use(p, t, n->in[1]);
  put(p, t, "]");
  return true;
}

static bool form_tuple_slice(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_sattr *begin = ig_snode_attr(n, "beg");
  const ig_sattr *end = ig_snode_attr(n, "end");
  char text[64];
  (void)snprintf(text, sizeof text, ")[%lld:%lld]", begin ? (long long)begin->value.i.value : 0LL,
                 end ? (long long)end->value.i.value : 0LL);
  put(p, t, "(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, text);
  return true;
}

static void put_pairs(const ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  put(p, t, "{");
  for (size_t i = 0; i + 1 < n->n_in; i += 2) {
    if (i) put(p, t, ", ");
    ig_sprinter_put_use(p, t, n->in[i]);
    put(p, t, ": ");
    ig_sprinter_put_use(p, t, n->in[i + 1]);
  }
  put(p, t, "}");
}

// A list or dict whose elements do not show its type says it.
static bool form_container(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_stype *type = n->out[0]->type;
  bool evident = n->n_in > 0;
  for (size_t i = 0; i < type->n; i++) evident &= ig_stype_is_evident(type->at[i]);
  if (!evident) {
    if (!put_typed(p, t, "annotate(", type)) return false;
    put(p, t, ", ");
  }
  if (type->kind == IG_STYPE_DICT) {
    put_pairs(p, t, n);
  } else {
    ig_sprinter_put_uses(p, t, n->in, n->n_in, "[", "]");
  }
  if (!evident) put(p, t, ")");
  return true;
}

static bool form_create_object(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_stype *type = n->out[0]->type;
  bool ok = ig_sprinter_put_type(p, t, type) && put_typed(p, t, ".__new__(", type);
  put(p, t, ")");
  return ok;
}

static bool form_get_attr(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const char *name = attr_text(n, "name");
  bool plain = ig_name_is_identifier(name);
  if (!plain) put(p, t, "getattr(");
  ig_sprinter_put_use(p, t, n->in[0]);
  if (plain) {
    put(p, t, ".");
    put(p, t, name);
    return true;
  }
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, ", ");
  if (!ig_sprint_value(p->c, NULL, ig_of_str(name), p->refs, &s)) {
    ig_str_free(&s);
    return false;
  }
  ig_str_add(&s, ")");
  return finish(p, &s, t);
}

static void put_arguments(const ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  put(p, t, "(");
  for (size_t i = 1; i < n->n_in; i++) {
    ig_sprinter_put_use(p, t, n->in[i]);
    put(p, t, ", ");
  }
  put(p, t, ")");
}

static bool form_call_function(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  ig_sprinter_put_use(p, t, n->in[0]);
  put_arguments(p, t, n);
  return true;
}

static bool form_call_method(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  put(p, t, "(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, ").");
  put(p, t, attr_text(n, "name"));
  put_arguments(p, t, n);
  return ig_sprinter_need_types(p, n->in[0]->type);
}

static bool form_isinstance(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_sattr *a = ig_snode_attr(n, "types");
  size_t count = a ? a->n_types : 0;
  put(p, t, "isinstance(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, count == 1 ? ", " : ", (");
  for (size_t i = 0; i < count; i++) {
    if (!put_typed(p, t, i ? ", " : "", a->types[i])) return false;
  }
  put(p, t, count == 1 ? ")" : "))");
  return true;
}

static bool put_member(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n, const char *end) {
  put(p, t, "(");
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, end);
  return true;
}

static bool form_enum_value(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  return put_member(p, t, n, ").value");
}

static bool form_enum_name(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  return put_member(p, t, n, ").name");
}

// The type of None alone would be lost.
static bool form_unwrap(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  put(p, t, "torch._unwrap_optional(");
  bool none = n->in[0]->type->kind == IG_STYPE_NONE;
  if (none) {
    const ig_stype *type = ig_stype_optional(&p->unit->types, n->out[0]->type);
    if (!type || !put_typed(p, t, "annotate(", type)) return false;
    put(p, t, ", ");
  }
  ig_sprinter_put_use(p, t, n->in[0]);
  put(p, t, none ? "))" : ")");
  return true;
}

// Of `[inplace=0](1)`, which is known as text, the part behind the brackets.
static const char *behind_attributes(const char *text) {
  if (*text != '[') return text;
  bool quoted = false;
  for (const char *p = text; *p; p++) {
    if (*p == '\\' && p[1]) {
      p++;
    } else if (*p == '"') {
      quoted = !quoted;
    } else if (*p == ']' && !quoted) {
      return p + 1;
    }
  }
  return text;
}

// A call of the host: `^name()` and its arguments.
static bool form_host(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  if (p->importable) {
    ig_str s = ig_str_make(p->c->alloc);
    ig_srange_quote(&s, n->range, NULL);
    ig_fail_text(p->c, IG_RUNTIME,
                 "\nCould not export Python function call '%s'. Remove calls to Python functions "
                 "before export. Did you forget to add @script or @script_method annotation? If "
                 "this is a nn.ModuleList, add it to __constants__:\n%s",
                 n->kind + 1, s.at ? s.at : "");
    ig_str_free(&s);
    return false;
  }
  put(p, t, n->kind);
  if (!n->host && n->n_attrs && n->attrs[0].kind == IG_SATTR_TEXT) {
    put(p, t, behind_attributes(n->attrs[0].text));
  } else {
    put(p, t, "(");
    put(p, t, n->host && n->host->scalars ? n->host->scalars : "");
    put(p, t, ")");
  }
  ig_sprinter_put_uses(p, t, n->in, n->n_in, "(", ")");
  return true;
}

typedef struct form {
  const char *kind;
  bool (*put)(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n);
  size_t inputs;  // at least; a node with fewer is an operator like any other
} form;

static const form forms[] = {
    {"aten::Bool", form_bool, 0},
    {"aten::Float", form_float, 0},
    {"aten::FloatImplicit", form_implicit, 1},
    {"aten::Int", form_int, 0},
    {"aten::IntImplicit", form_implicit, 1},
    {"aten::ScalarImplicit", form_implicit, 1},
    {"aten::__getitem__", form_getitem, 2},
    {"aten::_unwrap_optional", form_unwrap, 1},
    {"aten::sorted", form_sorted, 0},
    {"aten::str", form_str, 0},
    {"prim::CallFunction", form_call_function, 1},
    {"prim::CallMethod", form_call_method, 1},
    {"prim::Constant", form_constant, 0},
    {"prim::CreateObject", form_create_object, 0},
    {"prim::DictConstruct", form_container, 0},
    {"prim::EnumName", form_enum_name, 1},
    {"prim::EnumValue", form_enum_value, 1},
    {"prim::GetAttr", form_get_attr, 1},
    {"prim::ListConstruct", form_container, 0},
    {"prim::Print", form_print, 0},
    {"prim::TupleConstruct", form_tuple, 0},
    {"prim::TupleIndex", form_tuple_index, 2},
    {"prim::TupleSlice", form_tuple_slice, 1},
    {"prim::Uninitialized", form_uninitialized, 0},
    {"prim::isinstance", form_isinstance, 1},
    {"prim::tolist", form_tolist, 1},
    {"prim::unchecked_cast", form_unchecked_cast, 1},
    {"prim::unchecked_unwrap_optional", form_unchecked_cast, 1},
};

static const form *find_form(const ig_snode *n) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(forms[i].kind, n->kind) == 0) return n->n_in >= forms[i].inputs ? &forms[i] : NULL;
  }
  return NULL;
}

// ---- calls of operators

static bool equal_values(ig_value a, ig_value b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case IG_KIND_NONE:
      return true;
    case IG_KIND_INT:
      return a.i.value == b.i.value;
    case IG_KIND_FLOAT:
      return a.f == b.f;
    case IG_KIND_BOOL:
      return a.b == b.b;
    case IG_KIND_STR:
      return strcmp(a.str, b.str) == 0;
    case IG_KIND_LIST:
      if (a.list.n != b.list.n) return false;
      for (size_t i = 0; i < a.list.n; i++) {
        if (!equal_values(a.list.at[i], b.list.at[i])) return false;
      }
      return true;
    default:
      return false;
  }
}

// The default of int[2] may be a single number, which stands for the list.
static bool is_default(const ig_sformal *f, const ig_svalue *v) {
  if (!f->has_default || !v->node || v->block || !ig_snode_is_constant(v->node)) return false;
  const ig_sattr *a = ig_snode_attr(v->node, "value");
  if (a && a->kind != IG_SATTR_VALUE) return false;
  ig_value actual = a ? a->value : ig_none();
  bool spread = f->fixed && actual.kind == IG_KIND_LIST && f->def.kind != IG_KIND_LIST;
  if (!spread) return equal_values(f->def, actual);
  if (actual.list.n != (size_t)f->fixed) return false;
  for (size_t i = 0; i < actual.list.n; i++) {
    if (!equal_values(f->def, actual.list.at[i])) return false;
  }
  return true;
}

// Parameters at the end of an out form that receive results.
static size_t count_outs(const ig_soperator *op) {
  const ig_sschema *s = op->schema;
  if (!op->op || !ig_op_is_out(op->op)) return 0;
  size_t n = 0;
  while (n < s->n_params && s->params[s->n_params - 1 - n].written &&
         s->params[s->n_params - 1 - n].keyword_only) {
    n++;
  }
  return n;
}

// How many arguments in front must be written: those behind have their defaults.
static size_t count_needed(const ig_sschema *s, const ig_snode *n, size_t outs) {
  if (n->n_in > s->n_params) return n->n_in;
  size_t needed = s->n_params - outs;
  while (needed > 0 && needed <= n->n_in && is_default(&s->params[needed - 1], n->in[needed - 1])) {
    needed--;
  }
  return needed < n->n_in ? needed : n->n_in;
}

static void put_operator_name(const ig_sprinter *p, ig_sprint_text *t, const char *kind) {
  static const struct {
    const char *kind;
    const char *code;
  } renamed[] = {
      {"aten::backward", "torch.autograd.backward"},
      {"aten::grad", "torch.autograd.grad"},
  };
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
    if (strcmp(renamed[i].kind, kind) == 0) {
      put(p, t, renamed[i].code);
      return;
    }
  }
  const char *colons = strstr(kind, "::");
  const char *bare = colons ? colons + 2 : kind;
  if (strncmp(kind, "aten::", 6) == 0) {
    put(p, t, "torch.");
  } else {
    char ns[128];
    (void)snprintf(ns, sizeof ns, "ops.%.*s.", (int)(bare - kind) - (colons ? 2 : 0), kind);
    put(p, t, ns);
  }
  put(p, t, bare);
}

static bool put_call(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const ig_soperator *op = ig_soperator_of_node(p->unit, n);
  if (!op && p->c->status != IG_OK) return false;
  put_operator_name(p, t, n->kind);
  if (!op) {  // of an operator that is not known all arguments are written, by position
    ig_sprinter_put_uses(p, t, n->in, n->n_in, "(", ")");
    return true;
  }
  const ig_sschema *s = op->schema;
  size_t outs = count_outs(op);
  size_t needed = count_needed(s, n, outs);
  const char *between = "(";
  for (size_t i = 0; i < n->n_in; i++) {
    bool result = i + outs >= s->n_params;
    if (i >= needed && !result) continue;
    put(p, t, between);
    between = ", ";
    if (i < s->n_params && s->params[i].keyword_only) {
      put(p, t, s->params[i].name);
      put(p, t, "=");
    }
    ig_sprinter_put_use(p, t, n->in[i]);
  }
  put(p, t, *between == '(' ? "()" : ")");
  return true;
}

bool ig_sprinter_expression(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n) {
  const form *f = find_form(n);
  bool ok = f                                   ? f->put(p, t, n)
            : ig_sform_of(n) == IG_SFORM_PYTHON ? form_host(p, t, n)
                                                : put_call(p, t, n);
  if (ok && t->text.failed) return ig_sprinter_no_memory(p);
  return ok;
}
