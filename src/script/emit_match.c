// SPDX-License-Identifier: Apache-2.0
// Calls: which overload takes the arguments, with which conversions.
#include <stdarg.h>
#include <string.h>

#include "script/emitter.h"
#include "script/ir_edit.h"

// ---- conversions

static const ig_stype *unwrap(const ig_stype *t) {
  return t->kind == IG_STYPE_OPTIONAL ? t->at[0] : t;
}

// Can a tuple be written as this list?
static bool tuple_fits_list(const ig_stype *tuple, const ig_stype *list) {
  if (tuple->kind != IG_STYPE_TUPLE || list->kind != IG_STYPE_LIST) return false;
  if (list->at[0]->kind == IG_STYPE_VAR) return true;
  for (size_t i = 0; i < tuple->n; i++) {
    if (!ig_stype_is_subtype(tuple->at[i], list->at[0])) return false;
  }
  return true;
}

static ig_svalue *convert_tuple(ig_emitter *e, ig_srange where, const ig_stype *to, ig_svalue *v,
                                bool implicit) {
  if (tuple_fits_list(v->type, unwrap(to))) {
    ig_svalue **at = ig_emit_unpack(e, where, v);
    return at ? ig_emit_list(e, (ig_srange){0}, unwrap(to)->at[0], at, v->type->n) : NULL;
  }
  if (to->kind != IG_STYPE_TUPLE || ig_stype_is_subtype(v->type, to) || to->n != v->type->n) {
    return v;
  }
  ig_svalue **at = ig_emit_unpack(e, where, v);
  for (size_t i = 0; at && i < to->n; i++) {
    if (!(at[i] = ig_emit_convert(e, where, to->at[i], at[i], implicit))) return NULL;
  }
  return at ? ig_emit_tuple(e, where, at, to->n) : NULL;
}

// Numbers from tensors and numbers of another kind.
static const char *number_conversion(const ig_stype *from, const ig_stype *to) {
  bool tensor = from->kind == IG_STYPE_TENSOR;
  if (!tensor && from->kind != IG_STYPE_NUMBER && from->kind != IG_STYPE_BOOL) return NULL;
  bool boolean = from->kind == IG_STYPE_BOOL;
  switch (to->kind) {
    case IG_STYPE_FLOAT:
      return tensor ? "aten::FloatImplicit" : "aten::Float";
    case IG_STYPE_INT:
      return tensor ? "aten::IntImplicit" : "aten::Int";
    case IG_STYPE_COMPLEX:
      return tensor ? "aten::ComplexImplicit" : boolean ? NULL : "aten::Complex";
    case IG_STYPE_NUMBER:
      return tensor ? "aten::ScalarImplicit" : boolean ? "aten::Int" : NULL;
    default:
      return NULL;
  }
}

ig_svalue *ig_emit_convert(ig_emitter *e, ig_srange where, const ig_stype *to, ig_svalue *v,
                           bool implicit) {
  if (!v || !to) return NULL;
  if (to->kind == IG_STYPE_OPTIONAL && v->type->kind != IG_STYPE_OPTIONAL &&
      v->type->kind != IG_STYPE_NONE) {
    return ig_emit_convert(e, where, to->at[0], v, implicit);
  }
  if (v->node && !v->block && strcmp(v->node->kind, "prim::EmptyListLiteral") == 0 &&
      to->kind == IG_STYPE_LIST && to->at[0]->kind != IG_STYPE_VAR) {
    v = ig_emit_list(e, where, to->at[0], NULL, 0);
  }
  if (v && v->type->kind == IG_STYPE_TUPLE) v = convert_tuple(e, where, to, v, implicit);
  if (!v || !implicit) return v;
  const char *op = number_conversion(v->type, to);
  if (op) return ig_emit_op(e, where, op, &v, 1);
  if (v->type->kind == IG_STYPE_STR && to->kind == IG_STYPE_DEVICE) {
    return ig_emit_op(e, where, "aten::device", &v, 1);
  }
  return v;
}

// ---- one schema

// What functions and operators have in common.
typedef struct formal {
  const char *name;
  const ig_stype *type;
  int fixed;
  bool keyword_only;
  bool has_default;
  ig_value def;
} formal;

typedef struct signature {
  const ig_sschema *schema;
  const ig_sfunction *function;  // one of the two
  size_t n;
  bool vararg;
} signature;

static formal formal_at(const signature *s, size_t i) {
  if (s->schema) {
    const ig_sformal *f = &s->schema->params[i];
    return (formal){f->name, f->type, f->fixed, f->keyword_only, f->has_default, f->def};
  }
  const ig_sparam *p = &s->function->params[i];
  return (formal){p->name, p->type, p->broadcast, p->keyword_only, p->has_default, p->def};
}

typedef struct matcher {
  ig_emitter *e;
  ig_srange where;
  const signature *s;
  const ig_sactuals *args;
  ig_svalue *self;  // NULL: none, or used
  bool implicit;
  ig_str *why;  // NULL: nobody wants to know
  ig_sbinding binding;
  bool *used;  // keywords
  ig_svalue **in;
  size_t n_in;
} matcher;

// Notes why the signature does not fit; nothing is formatted where nobody wants to know.
static bool reject(matcher *m, const char *format, ...) {
  if (!m->why) return false;
  ig_str_add(m->why, "\n");
  if (m->s->schema) {
    ig_str_add(m->why, "%s", m->s->schema->text);
  } else {
    (void)ig_sfunction_print_schema(m->why, m->s->function);
  }
  ig_str_add(m->why, ":\n");
  va_list ap;
  va_start(ap, format);
  ig_str_addv(m->why, format, ap);
  va_end(ap);
  return false;
}

// A number stands for a list of a fixed length.
static bool is_broadcast(const ig_svalue *v, const formal *f) {
  const ig_stype *list = unwrap(f->type);
  bool number = v->type->kind == IG_STYPE_INT || v->type->kind == IG_STYPE_FLOAT;
  return number && f->fixed && list->kind == IG_STYPE_LIST && list->at[0] == v->type;
}

static ig_svalue *repeat(matcher *m, ig_svalue *v, int n) {
  ig_svalue *at[16];
  for (int i = 0; i < n; i++) at[i] = v;
  return ig_emit_list(m->e, (ig_srange){0}, v->type, at, (size_t)n);
}

static bool is_variable(const ig_stype *t) {
  if (t->kind == IG_STYPE_VAR) return true;
  for (size_t i = 0; i < t->n; i++) {
    if (is_variable(t->at[i])) return true;
  }
  return false;
}

// The formal type with its variables bound by the actual one; NULL: it does not fit.
static const ig_stype *concrete_type(matcher *m, const formal *f, const ig_stype *actual) {
  ig_stypes *types = &m->e->u->types;
  if (!is_variable(f->type)) return f->type;
  // A list parameter takes a tuple of one element type.
  const ig_stype *shown = actual;
  if (f->type->kind == IG_STYPE_LIST && actual->kind == IG_STYPE_TUPLE && actual->n) {
    const ig_stype *item = actual->at[0];
    for (size_t i = 1; item && i < actual->n; i++) {
      item = ig_stype_unify(types, item, actual->at[i], false);
    }
    shown = item ? ig_stype_list(types, item) : actual;
  }
  ig_sbinding before = m->binding;
  // Parts without variables may need a conversion, or be refused later.
  if (f->type->kind == IG_STYPE_DICT && actual->kind == IG_STYPE_DICT &&
      !is_variable(f->type->at[0])) {
    if (!ig_stype_match(types, f->type->at[1], actual->at[1], &m->binding)) return NULL;
    return ig_stype_bind(types, f->type, &m->binding);
  }
  if (ig_stype_match(types, f->type, shown, &m->binding)) {
    const ig_stype *bound = ig_stype_bind(types, f->type, &m->binding);
    return bound ? bound : f->type;
  }
  m->binding = before;
  return NULL;
}

static const ig_stype *bound_before(const matcher *m, const ig_stype *variable) {
  for (size_t i = 0; i < m->binding.n; i++) {
    if (strcmp(m->binding.name[i], variable->name) == 0) return m->binding.type[i];
  }
  return NULL;
}

static bool reject_variable(matcher *m, const formal *f, const ig_stype *actual) {
  if (!m->why) return false;
  ig_emitter *e = m->e;
  const char *a = ig_emit_repr(e, actual);
  const char *b = ig_emit_repr(e, f->type);
  const ig_stype *before = f->type->kind == IG_STYPE_VAR ? bound_before(m, f->type) : NULL;
  const char *reason =
      before ? ig_emit_text(e,
                            "Type variable '%s' previously matched to type %s is matched to "
                            "type %s",
                            f->type->name, ig_emit_repr(e, before), a)
             : ig_emit_text(e, "Cannot match %s to %s", b, a);
  return reject(m, "Could not match type %s to %s in argument '%s': %s.\n", a, b, f->name, reason);
}

static const char empty_lists[] =
    "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an "
    "empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements "
    "in the list for Python 2)\n";

static bool reject_type(matcher *m, const formal *f, const ig_stype *to, const ig_svalue *v) {
  if (!m->why) return false;
  ig_emitter *e = m->e;
  const char *inferred =
      !v->type->inferred
          ? ""
          : ig_emit_text(e,
                         "Inferred the value for argument '%s' to be of type 'Tensor' because "
                         "it was not annotated with an explicit type.\n",
                         f->name);
  bool list = v->type->kind == IG_STYPE_LIST && v->type->at[0]->kind == IG_STYPE_TENSOR;
  ig_str more = ig_str_make(e->c->alloc);
  ig_stype_explain_subtype(&more, v->type, to);
  const char *text = ig_emit_text(
      e, "Expected a value of type '%s' for argument '%s' but instead found type '%s'.\n%s%s%s",
      ig_emit_repr(e, to), f->name, ig_emit_repr(e, v->type), inferred, list ? empty_lists : "",
      more.at ? more.at : "");
  ig_str_free(&more);
  return reject(m, "%s", text);
}

static bool match_one(matcher *m, const formal *f, ig_svalue *v) {
  if (is_broadcast(v, f)) v = repeat(m, v, f->fixed);
  if (!v) return false;
  const ig_stype *to = concrete_type(m, f, v->type);
  if (!to) return reject_variable(m, f, v->type);
  v = ig_emit_convert(m->e, m->where, to, v, m->implicit);
  if (!v) return false;
  if (!ig_stype_is_subtype(v->type, to)) return reject_type(m, f, to, v);
  m->in[m->n_in++] = v;
  return true;
}

// f(1, 2) for f(int[] sizes): all that is left by position is the list.
static bool is_rest(const matcher *m, size_t i, const formal *f) {
  bool last = i + 1 == m->s->n || formal_at(m->s, i + 1).keyword_only;
  const ig_stype *list = unwrap(f->type);
  return last && list->kind == IG_STYPE_LIST && !f->fixed && list->at[0]->kind != IG_STYPE_VAR;
}

static bool match_rest(matcher *m, const formal *f, size_t first) {
  const ig_stype *item = unwrap(f->type)->at[0];
  size_t n = m->args->n_pos - first;
  ig_svalue **at = ig_emit_array(m->e, n, sizeof(ig_svalue *));
  for (size_t i = 0; at && i < n; i++) {
    ig_svalue *v = ig_emit_convert(m->e, m->where, item, m->args->at[first + i].value, m->implicit);
    if (!v) return false;
    if (!ig_stype_is_subtype(v->type, item)) {
      return reject_type(m, f, item, v);
    }
    at[i] = v;
  }
  ig_svalue *list = at ? ig_emit_list(m->e, (ig_srange){0}, item, at, n) : NULL;
  if (list) m->in[m->n_in++] = list;
  return list != NULL;
}

static size_t find_keyword(const matcher *m, const formal *f) {
  const ig_sactuals *a = m->args;
  for (size_t i = 0; i < a->n_kw; i++) {
    const char *name = a->at[a->n_pos + i].name;
    if (strcmp(name, f->name) == 0) return i;
    // torch.add(input=x): operators call it self
    bool input = m->s->schema && strcmp(name, "input") == 0 && strcmp(f->name, "self") == 0;
    if (input) return i;
  }
  return SIZE_MAX;
}

static ig_svalue *default_of(matcher *m, const formal *f) {
  const ig_stype *list = unwrap(f->type);
  ig_value v = f->def;
  bool numbers = list->kind == IG_STYPE_LIST && m->s->schema && v.kind != IG_KIND_NONE;
  if (!numbers) return ig_emit_constant(m->e, (ig_srange){0}, v, m->s->schema ? NULL : f->type);
  return ig_emit_constant_list(m->e, v, f->fixed, list);
}

static bool match_formal(matcher *m, size_t i, size_t *used) {
  formal f = formal_at(m->s, i);
  const ig_sactuals *a = m->args;
  // Of a method the first, whatever its name.
  if (m->self && (m->s->schema ? strcmp(f.name, "self") == 0 : i == 0)) {
    ig_svalue *self = m->self;
    m->self = NULL;
    return match_one(m, &f, self);
  }
  if (!f.keyword_only && *used < a->n_pos) {
    ig_svalue *v = a->at[*used].value;
    bool rest = m->implicit && is_rest(m, i, &f) && unwrap(v->type)->kind != IG_STYPE_LIST &&
                !tuple_fits_list(v->type, unwrap(f.type)) && v->type->kind != IG_STYPE_NONE;
    if (rest) {
      bool ok = match_rest(m, &f, *used);
      *used = a->n_pos;
      return ok;
    }
    ++*used;
    return match_one(m, &f, v);
  }
  size_t k = find_keyword(m, &f);
  if (k != SIZE_MAX) {
    m->used[k] = true;
    return match_one(m, &f, a->at[a->n_pos + k].value);
  }
  if (!f.has_default) {
    return reject(m, "Argument %s not provided.\n", f.name);
  }
  ig_svalue *v = default_of(m, &f);
  return v && match_one(m, &f, v);
}

static bool check_rest(matcher *m, size_t used) {
  const ig_sactuals *a = m->args;
  if (m->self) return reject(m, "Provided self argument not used in schema.\n");
  while (m->s->vararg && used < a->n_pos) m->in[m->n_in++] = a->at[used++].value;
  if (used < a->n_pos) {
    return reject(m, "Expected at most %zu arguments but found %zu positional arguments.\n", used,
                  a->n_pos);
  }
  for (size_t i = 0; i < a->n_kw; i++) {
    if (m->used[i]) continue;
    const char *name = a->at[a->n_pos + i].name;
    bool known = false;
    for (size_t k = 0; k < m->s->n; k++) known |= strcmp(formal_at(m->s, k).name, name) == 0;
    return reject(m, "Keyword argument %s %s.\n", name, known ? "specified twice" : "unknown");
  }
  return true;
}

// Do the arguments fit? in: one value per parameter.
static bool match(ig_emitter *e, ig_srange where, const signature *s, const ig_sactuals *args,
                  ig_svalue *self, bool implicit, ig_str *why, matcher *m) {
  *m = (matcher){
      .e = e, .where = where, .s = s, .args = args, .self = self, .implicit = implicit, .why = why};
  m->used = ig_emit_array(e, args->n_kw, sizeof(bool));
  m->in = ig_emit_array(e, s->n + args->n_pos + 1, sizeof(ig_svalue *));
  if (!m->used || !m->in) return false;
  size_t used = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (!match_formal(m, i, &used)) return false;
  }
  return check_rest(m, used);
}

// The first signature that fits, without conversions if there are several; SIZE_MAX: none, and
// nobody was told.
static size_t match_first(ig_emitter *e, ig_srange where, const signature *at, size_t n,
                          const ig_sactuals *args, ig_svalue *self, matcher *m) {
  for (int implicit = n == 1; implicit < 2; implicit++) {
    for (size_t i = 0; i < n; i++) {
      if (match(e, where, &at[i], args, self, implicit, NULL, m)) return i;
      if (e->c->status != IG_OK) return SIZE_MAX;
    }
  }
  return SIZE_MAX;
}

// The same; if there is none, the error says why.
static size_t match_any(ig_emitter *e, ig_srange where, const signature *at, size_t n,
                        const ig_sactuals *args, ig_svalue *self, matcher *m) {
  size_t found = match_first(e, where, at, n, args, self, m);
  if (found != SIZE_MAX || e->c->status != IG_OK) return found;
  // Once more, for the reasons.
  ig_str why = ig_str_make(e->c->alloc);
  for (size_t i = 0; i < n; i++) (void)match(e, where, &at[i], args, self, true, &why, m);
  if (n == 1) {
    ig_emit_error(e, where, "%s", why.at ? why.at : "");
  } else {
    ig_str all = ig_str_make(e->c->alloc);
    for (const char *p = why.at ? why.at : ""; *p;) {
      size_t length = strcspn(p, "\n");
      ig_str_add(&all, "  %.*s\n", (int)length, p);
      p += length + (p[length] == '\n');
    }
    ig_emit_error(e, where,
                  "Arguments for call are not valid.\nThe following variants are available:\n%s\n"
                  "The original call is",
                  all.at ? all.at : "");
    ig_str_free(&all);
  }
  ig_str_free(&why);
  return SIZE_MAX;
}

// ---- operators

static signature of_operator(const ig_soperator *op) {
  return (signature){.schema = op->schema, .n = op->schema->n_params, .vararg = op->schema->vararg};
}

static signature of_function(const ig_sfunction *f) {
  return (signature){.function = f, .n = f->n_params};
}

static ig_svalue *pack(ig_emitter *e, ig_snode *node, const ig_sschema *s) {
  if (node->n_out == 1) return node->out[0];
  bool named = s->n_results > 0;
  for (size_t i = 0; i < s->n_results; i++) named &= s->result_names[i][0] != '\0';
  ig_svalue *tuple = ig_emit_tuple(e, (ig_srange){0}, node->out, node->n_out);
  if (!tuple || !named) return tuple;
  ig_stype_field *fields = ig_emit_array(e, s->n_results, sizeof *fields);
  for (size_t i = 0; fields && i < s->n_results; i++) {
    fields[i] = (ig_stype_field){.name = s->result_names[i], .type = node->out[i]->type};
  }
  if (!fields) return NULL;
  const char *bare = strstr(s->name, "::");
  const char *name = ig_emit_text(e, "%s", bare ? bare + 2 : s->name);
  tuple->type = ig_stype_named_tuple(&e->u->types, name, fields, s->n_results);
  return tuple->type ? tuple : NULL;
}

static ig_svalue *emit_operator(ig_emitter *e, ig_srange where, const ig_soperator *op,
                                matcher *m) {
  ig_snode *node = ig_emit_node(e, op->schema->name, where, m->in, m->n_in);
  for (size_t i = 0; node && i < op->schema->n_results; i++) {
    const ig_stype *type = ig_stype_bind(&e->u->types, op->schema->results[i], &m->binding);
    if (!type) {
      ig_emit_error(e, where, "cannot infer the type of the result of %s", op->schema->name);
      return NULL;
    }
    if (!ig_snode_add_output(node, type)) return NULL;
  }
  return node ? pack(e, node, op->schema) : NULL;
}

// The code of an archive may have operators of later releases in branches that never run: they are
// taken to give a tensor, and fail where they are reached. Outside of branches they always are.
static ig_svalue *later_operator(ig_emitter *e, ig_srange where, const char *symbol,
                                 const ig_sactuals *args) {
  size_t n = args->n_pos + args->n_kw;
  ig_svalue **in = ig_emit_array(e, n, sizeof(ig_svalue *));
  for (size_t i = 0; in && i < n; i++) in[i] = args->at[i].value;
  return in ? ig_emit_value(e, symbol, where, in, n, ig_emit_plain(e, IG_STYPE_TENSOR)) : NULL;
}

static ig_svalue *unknown_operator(ig_emitter *e, ig_srange where, const char *symbol) {
  ig_emit_error(e, where,
                "Unknown builtin op: %s.\nCould not find any similar ops to %s. This op may not "
                "exist or may not be currently supported in TorchScript.\n",
                symbol, symbol);
  return NULL;
}

ig_svalue *ig_emit_builtin(ig_emitter *e, ig_srange where, const char *symbol,
                           const ig_sactuals *args, ig_svalue *self) {
  const ig_soperators *ops = ig_soperators_named(e->u, symbol);
  size_t n_texts = 0;
  ig_sfunction *const *texts = ig_sunit_text_builtins(e->c, e->u, symbol, &n_texts);
  if (!ops || e->c->status != IG_OK) return NULL;
  if (ops->n + n_texts == 0) {
    bool branch = !e->front->python && !self && e->at != e->g->body;
    return branch ? later_operator(e, where, symbol, args) : unknown_operator(e, where, symbol);
  }
  signature *at = ig_emit_array(e, ops->n + n_texts, sizeof *at);
  for (size_t i = 0; at && i < ops->n; i++) at[i] = of_operator(&ops->at[i]);
  for (size_t i = 0; at && i < n_texts; i++) at[ops->n + i] = of_function(texts[i]);
  if (!at) return NULL;
  matcher m;
  size_t chosen = match_any(e, where, at, ops->n + n_texts, args, self, &m);
  if (chosen == SIZE_MAX) return NULL;
  if (chosen < ops->n) return emit_operator(e, where, &ops->at[chosen], &m);
  return ig_sgraph_splice(e->at, texts[chosen - ops->n]->graph, m.in);
}

ig_svalue *ig_emit_op(ig_emitter *e, ig_srange where, const char *symbol, ig_svalue *const *in,
                      size_t n) {
  ig_sactual *at = ig_emit_array(e, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    if (!in[i]) return NULL;
    at[i] = (ig_sactual){.range = where, .value = in[i]};
  }
  return at ? ig_emit_builtin(e, where, symbol, &(ig_sactuals){at, n, 0}, NULL) : NULL;
}

bool ig_emit_has_builtin(ig_emitter *e, const char *symbol, const ig_svalue *self) {
  const ig_soperators *ops = ig_soperators_named(e->u, symbol);
  for (size_t i = 0; ops && i < ops->n; i++) {
    const ig_sschema *s = ops->at[i].schema;
    if (!self) return true;
    for (size_t k = 0; k < s->n_params; k++) {
      if (strcmp(s->params[k].name, "self") != 0) continue;
      ig_sbinding b = {0};
      if (ig_stype_match(&e->u->types, s->params[k].type, self->type, &b)) return true;
    }
  }
  size_t n_texts = 0;
  (void)ig_sunit_text_builtins(e->c, e->u, symbol, &n_texts);
  return n_texts > 0 && !self;
}

// ---- functions and methods

static bool compile_callee(ig_emitter *e, ig_srange where, ig_sfunction *f) {
  if (f->graph || f->host_run || f->refusal || !f->compile) return true;
  if (f->compiling) {
    ig_emit_error(e, where, " %s '%s' is called recursively. Recursive calls are not supported",
                  f->owner ? "method" : "function", f->name);
    return false;
  }
  if (ig_sfunction_ensure(e->c, f)) return true;
  ig_str s = ig_str_make(e->c->alloc);
  const char *from = e->f->owner && e->f->owner->module
                         ? ig_emit_text(e, "%s.%s", ig_sclass_short_name(e->f->owner), e->f->name)
                         : e->f->name;
  const char *callee = f->owner && f->owner->module
                           ? ig_emit_text(e, "%s.%s", ig_sclass_short_name(f->owner), f->name)
                           : f->name;
  ig_srange_quote(&s, where, NULL);
  ig_note(e->c, "'%s' is being compiled since it was called from '%s'\n%s", callee, from,
          s.at ? s.at : "");
  ig_str_free(&s);
  return false;
}

static const ig_stype *function_type(ig_emitter *e, ig_sfunction *f) {
  return ig_stype_named(&e->u->types, IG_STYPE_FUNCTION, f->qualified, f);
}

// A call that only raises. Its value, which nobody sees, stands at the front of the function.
static ig_svalue *emit_refusal(ig_emitter *e, ig_srange where, const ig_sfunction *f,
                               const ig_stype *result) {
  ig_svalue *in[] = {ig_emit_str(e, where, f->refusal, strlen(f->refusal)),
                     ig_emit_none(e, (ig_srange){0})};
  if (!ig_emit_node(e, "prim::RaiseException", where, in, 2)) return NULL;
  ig_svalue *v = ig_emit_value(e, "prim::Uninitialized", (ig_srange){0}, NULL, 0, result);
  if (v) ig_snode_insert(v->node, e->g->body, e->g->body->first);
  return v;
}

static ig_svalue *emit_call(ig_emitter *e, ig_srange where, ig_sfunction *f, const matcher *m,
                            bool method) {
  ig_snode *node = NULL;
  if (f->refusal) return emit_refusal(e, where, f, f->result);
  if (f->host_run) {
    node = ig_emit_node(e, ig_emit_text(e, "^%s", f->name), where, m->in, m->n_in);
    if (node) node->host = f;
  } else if (method && !f->is_hook) {
    node = ig_emit_node(e, "prim::CallMethod", where, m->in, m->n_in);
    ig_sattr *a = node ? ig_snode_add_attr(node, "name", IG_SATTR_VALUE) : NULL;
    if (!a) return NULL;
    a->value = (ig_value){.kind = IG_KIND_STR, .str = f->name};
  } else {
    ig_svalue **in = ig_emit_array(e, m->n_in + 1, sizeof(ig_svalue *));
    ig_svalue *callee =
        ig_emit_value(e, "prim::Constant", (ig_srange){0}, NULL, 0, function_type(e, f));
    ig_sattr *a = callee && in ? ig_snode_add_attr(callee->node, "name", IG_SATTR_VALUE) : NULL;
    if (!a) return NULL;
    a->value = (ig_value){.kind = IG_KIND_STR, .str = f->name};
    in[0] = callee;
    for (size_t i = 0; i < m->n_in; i++) in[i + 1] = m->in[i];
    node = ig_emit_node(e, "prim::CallFunction", where, in, m->n_in + 1);
  }
  const ig_stype *result = f->result ? f->result : ig_emit_plain(e, IG_STYPE_NONE);
  return node ? ig_snode_add_output(node, result) : NULL;
}

ig_svalue *ig_emit_functions(ig_emitter *e, ig_srange where, ig_sfunction *const *at, size_t n,
                             const ig_sactuals *args, ig_svalue *self) {
  signature *s = ig_emit_array(e, n, sizeof *s);
  for (size_t i = 0; s && i < n; i++) {
    if (!compile_callee(e, where, at[i])) return NULL;
    s[i] = of_function(at[i]);
  }
  if (!s) return NULL;
  matcher m;
  size_t chosen = match_any(e, where, s, n, args, self, &m);
  return chosen == SIZE_MAX ? NULL : emit_call(e, where, at[chosen], &m, self != NULL);
}

ig_svalue *ig_emit_older(ig_emitter *e, ig_srange where, const ig_sugar *callee,
                         const ig_sactuals *args) {
  size_t n = callee->n_functions;
  signature *s = ig_emit_array(e, n, sizeof *s);
  for (size_t i = 0; s && i < n; i++) s[i] = of_function(callee->functions[i]);
  if (!s) return NULL;
  matcher m;
  size_t chosen = match_first(e, where, s, n, args, NULL, &m);
  if (chosen != SIZE_MAX) return emit_call(e, where, callee->functions[chosen], &m, false);
  return e->c->status == IG_OK ? ig_emit_builtin(e, where, callee->older_of, args, NULL) : NULL;
}

ig_svalue **ig_emit_matched(ig_emitter *e, ig_srange where, const ig_sfunction *f,
                            const ig_sactuals *args) {
  signature s = of_function(f);
  matcher m;
  return match_any(e, where, &s, 1, args, NULL, &m) == SIZE_MAX ? NULL : m.in;
}
