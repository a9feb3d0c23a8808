// SPDX-License-Identifier: Apache-2.0
// Errors, nodes, constants and variables of a function that is being compiled.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "script/emitter.h"
#include "script/form.h"
#include "script/numbers.h"

static void *no_memory(ig_emitter *e) {
  (void)ig_fail(e->c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- errors and texts

static char *format(ig_emitter *e, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  char *text = n < 0 ? NULL : ig_arena_push(&e->arena, (size_t)n + 1);
  if (!text) return no_memory(e);
  (void)vsnprintf(text, (size_t)n + 1, fmt, args);
  return text;
}

void ig_emit_error(ig_emitter *e, ig_srange where, const char *fmt, ...) {
  if (e->c->status != IG_OK) return;
  va_list args;
  va_start(args, fmt);
  const char *text = format(e, fmt, args);
  va_end(args);
  if (text) (void)ig_syntax_error(e->c, where.source ? where : e->here, "%s", text);
}

const char *ig_emit_text(ig_emitter *e, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = format(e, fmt, args);
  va_end(args);
  return text ? text : "";
}

const char *ig_emit_repr(ig_emitter *e, const ig_stype *t) {
  ig_str s = ig_str_make(e->c->alloc);
  ig_stype_print_annotation(&s, t);
  if (t->inferred) ig_str_add(&s, " (inferred)");
  const char *text = ig_emit_text(e, "%s", s.at ? s.at : "");
  ig_str_free(&s);
  return text;
}

void *ig_emit_array(ig_emitter *e, size_t n, size_t size) {
  void *at = ig_arena_array(&e->arena, n ? n : 1, size);
  return at ? at : no_memory(e);
}

// ---- nodes

ig_snode *ig_emit_node(ig_emitter *e, const char *kind, ig_srange where, ig_svalue *const *in,
                       size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!in[i]) return NULL;
  }
  if (e->c->status != IG_OK) return NULL;
  ig_snode *node = ig_snode_push(e->at, kind, in, n);
  if (node) node->range = where;
  return node;
}

ig_svalue *ig_emit_value(ig_emitter *e, const char *kind, ig_srange where, ig_svalue *const *in,
                         size_t n, const ig_stype *type) {
  ig_snode *node = type ? ig_emit_node(e, kind, where, in, n) : NULL;
  return node ? ig_snode_add_output(node, type) : NULL;
}

const ig_stype *ig_emit_plain(ig_emitter *e, ig_stype_kind kind) {
  return ig_stype_plain(&e->u->types, kind);
}

static ig_svalue *constant(ig_emitter *e, ig_srange where, ig_value v, const ig_stype *type) {
  ig_svalue *out = ig_emit_value(e, "prim::Constant", where, NULL, 0, type);
  if (!out || v.kind == IG_KIND_NONE) return out;
  ig_sattr *a = ig_snode_add_attr(out->node, "value", IG_SATTR_VALUE);
  if (!a) return NULL;
  a->value = v;
  return out;
}

ig_svalue *ig_emit_int(ig_emitter *e, ig_srange where, int64_t i) {
  return constant(e, where, ig_of_i64(i), ig_emit_plain(e, IG_STYPE_INT));
}

ig_svalue *ig_emit_bool(ig_emitter *e, ig_srange where, bool b) {
  return constant(e, where, ig_of_bool(b), ig_emit_plain(e, IG_STYPE_BOOL));
}

ig_svalue *ig_emit_str(ig_emitter *e, ig_srange where, const char *text, size_t n) {
  const char *kept = ig_arena_strn(&e->g->arena, text, n);
  if (!kept) return no_memory(e);
  return constant(e, where, (ig_value){.kind = IG_KIND_STR, .str = kept},
                  ig_emit_plain(e, IG_STYPE_STR));
}

ig_svalue *ig_emit_none(ig_emitter *e, ig_srange where) {
  return constant(e, where, ig_none(), ig_emit_plain(e, IG_STYPE_NONE));
}

// A member of an enum: a constant of the enum's type that is known by its text.
ig_svalue *ig_emit_enum(ig_emitter *e, ig_srange where, const ig_senum *of, size_t member) {
  ig_svalue *v = ig_emit_value(e, "prim::Constant", where, NULL, 0, of->type);
  ig_sattr *a = v ? ig_snode_add_attr(v->node, "value", IG_SATTR_TEXT) : NULL;
  const char *text = ig_emit_text(e, "%s.%s", of->type->name, of->members.at[member].name);
  const char *kept = a ? ig_arena_strn(&e->g->arena, text, strlen(text)) : NULL;
  if (!kept) return v ? no_memory(e) : NULL;
  a->text = kept;
  return v;
}

ig_svalue *ig_emit_constant_list(ig_emitter *e, ig_value v, int n, const ig_stype *type) {
  size_t count = v.kind == IG_KIND_LIST ? v.list.n : n > 0 ? (size_t)n : 1;
  ig_value *at = ig_arena_array(&e->g->arena, count + 1, sizeof *at);
  if (!at) return no_memory(e);
  for (size_t i = 0; i < count; i++) at[i] = v.kind == IG_KIND_LIST ? v.list.at[i] : v;
  return constant(e, (ig_srange){0}, (ig_value){.kind = IG_KIND_LIST, .list = {at, count}}, type);
}

static const ig_stype *type_of_constant(ig_emitter *e, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_BOOL:
      return ig_emit_plain(e, IG_STYPE_BOOL);
    case IG_KIND_INT:
    case IG_KIND_DTYPE:
    case IG_KIND_LAYOUT:
    case IG_KIND_MEMORY_FORMAT:
      return ig_emit_plain(e, IG_STYPE_INT);
    case IG_KIND_FLOAT:
      return ig_emit_plain(e, IG_STYPE_FLOAT);
    case IG_KIND_COMPLEX:
      return ig_emit_plain(e, IG_STYPE_COMPLEX);
    case IG_KIND_STR:
      return ig_emit_plain(e, IG_STYPE_STR);
    case IG_KIND_TENSOR:
      return ig_emit_plain(e, IG_STYPE_TENSOR);
    case IG_KIND_NONE:
      return ig_emit_plain(e, IG_STYPE_NONE);
    case IG_KIND_OBJECT:
      return ig_sobj_is(*v, IG_SOBJ_STR) ? ig_emit_plain(e, IG_STYPE_STR)
                                         : ((const ig_sobj *)v->object)->type;
    default:
      return NULL;
  }
}

// Elements of a constant list or tuple, whatever holds them.
static size_t elements(const ig_value *v, const ig_value **at) {
  if (v->kind == IG_KIND_LIST) {
    *at = v->list.at;
    return v->list.n;
  }
  const ig_sobj_seq *s = v->object;
  *at = s->at;
  return s->n;
}

static bool is_sequence(const ig_value *v) {
  return v->kind == IG_KIND_LIST || ig_sobj_is(*v, IG_SOBJ_LIST) || ig_sobj_is(*v, IG_SOBJ_TUPLE);
}

static const ig_stype *item_type(const ig_stype *type, size_t i) {
  if (type && type->kind == IG_STYPE_OPTIONAL) type = type->at[0];
  if (!type || type->n == 0) return NULL;
  return type->kind == IG_STYPE_LIST    ? type->at[0]
         : type->kind == IG_STYPE_TUPLE ? type->at[i]
                                        : NULL;
}

static ig_svalue *sequence(ig_emitter *e, ig_srange where, const ig_value *v,
                           const ig_stype *type) {
  const ig_value *at = NULL;
  size_t n = elements(v, &at);
  ig_svalue **made = ig_emit_array(e, n, sizeof(ig_svalue *));
  for (size_t i = 0; made && i < n; i++) {
    made[i] = ig_emit_constant(e, where, at[i], item_type(type, i));
    if (!made[i]) return NULL;
  }
  if (!made) return NULL;
  const ig_stype *list = type && type->kind == IG_STYPE_OPTIONAL ? type->at[0] : type;
  bool tuple = list                      ? list->kind == IG_STYPE_TUPLE
               : v->kind == IG_KIND_LIST ? v->seq == IG_SEQ_TUPLE
                                         : ig_sobj_is(*v, IG_SOBJ_TUPLE);
  if (tuple) {
    ig_svalue *out = ig_emit_tuple(e, where, made, n);
    if (out && list) out->type = list;
    return out;
  }
  const ig_stype *item = list ? item_type(list, 0) : n ? made[0]->type : NULL;
  return ig_emit_list(e, where, item ? item : ig_emit_plain(e, IG_STYPE_TENSOR), made, n);
}

// Dtypes, layouts and memory formats are numbers of the language.
static ig_value as_number(ig_value v) {
  switch (v.kind) {
    case IG_KIND_DTYPE:
      return ig_of_i64(ig_script_of_dtype(v.dtype));
    case IG_KIND_LAYOUT:
      return ig_of_i64(ig_script_of_layout(v.layout));
    case IG_KIND_MEMORY_FORMAT:
      return ig_of_i64(ig_script_of_memory_format(v.memory_format));
    default:
      return v;
  }
}

ig_svalue *ig_emit_constant(ig_emitter *e, ig_srange where, ig_value v, const ig_stype *type) {
  v = as_number(v);
  if (is_sequence(&v)) return sequence(e, where, &v, type);
  const ig_stype *own = type_of_constant(e, &v);
  // A constant has its own type; one that is declared to be more general only where that is no
  // number or string.
  bool refine = !type || (own && own->kind != IG_STYPE_NONE && type->kind != IG_STYPE_DEVICE);
  if (v.kind == IG_KIND_OBJECT && ig_sobj_is(v, IG_SOBJ_STR)) {
    const ig_sobj_str *s = v.object;
    return ig_emit_str(e, where, s->text, s->n);
  }
  if (v.kind == IG_KIND_STR) {
    const char *kept = ig_arena_strn(&e->g->arena, v.str, strlen(v.str));
    if (!kept) return no_memory(e);
    v.str = kept;
  }
  if (ig_sobj_is(v, IG_SOBJ_ENUM)) {
    const ig_sobj_enum *o = v.object;
    return ig_emit_enum(e, where, o->declaration, o->member);
  }
  if (v.kind == IG_KIND_OBJECT) {
    ig_emit_error(e, where, "an object cannot be a constant of a script");
    return NULL;
  }
  if (v.kind == IG_KIND_TENSOR && !ig_sgraph_keep(e->g, v.tensor)) return no_memory(e);
  if (v.kind == IG_KIND_NONE) type = ig_emit_plain(e, IG_STYPE_NONE);
  return constant(e, where, v, refine && own ? own : type);
}

ig_svalue *ig_emit_list(ig_emitter *e, ig_srange where, const ig_stype *item, ig_svalue *const *at,
                        size_t n) {
  if (!item) return NULL;
  return ig_emit_value(e, "prim::ListConstruct", where, at, n, ig_stype_list(&e->u->types, item));
}

ig_svalue *ig_emit_tuple(ig_emitter *e, ig_srange where, ig_svalue *const *at, size_t n) {
  const ig_stype **types = ig_emit_array(e, n, sizeof(ig_stype *));
  for (size_t i = 0; types && i < n; i++) {
    if (!at[i]) return NULL;
    types[i] = at[i]->type;
  }
  if (!types) return NULL;
  (void)where;
  return ig_emit_value(e, "prim::TupleConstruct", (ig_srange){0}, at, n,
                       ig_stype_tuple(&e->u->types, types, n));
}

ig_svalue **ig_emit_unpack(ig_emitter *e, ig_srange where, ig_svalue *tuple) {
  // Of a tuple that was just made, the values themselves.
  ig_snode *made = tuple && !tuple->block ? tuple->node : NULL;
  bool fresh = made && ig_sform_of(made) == IG_SFORM_TUPLE_CONSTRUCT;
  if (fresh && made->n_in == tuple->type->n) {
    ig_svalue **in = ig_emit_array(e, made->n_in, sizeof(ig_svalue *));
    if (in && made->n_in) memcpy(in, made->in, ig_mem_mul(made->n_in, sizeof *in));
    return in;
  }
  ig_snode *node = ig_emit_node(e, "prim::TupleUnpack", where, &tuple, 1);
  ig_svalue **at = node ? ig_emit_array(e, tuple->type->n, sizeof(ig_svalue *)) : NULL;
  for (size_t i = 0; at && i < tuple->type->n; i++) {
    if (!(at[i] = ig_snode_add_output(node, tuple->type->at[i]))) return NULL;
  }
  return at;
}

bool ig_emit_is_constant(const ig_svalue *v) {
  return v->node && !v->block && ig_sform_of(v->node) == IG_SFORM_CONSTANT;
}

const ig_value *ig_emit_constant_of(const ig_svalue *v) {
  if (!v || !ig_emit_is_constant(v)) return NULL;
  const ig_sattr *a = ig_snode_attr(v->node, "value");
  static const ig_value none = {.kind = IG_KIND_NONE};
  if (!a) return v->type->kind == IG_STYPE_NONE ? &none : NULL;
  return a->kind == IG_SATTR_VALUE ? &a->value : NULL;
}

// ---- variables

bool ig_frame_push(ig_emitter *e, ig_sblock *b, ig_sframe *out) {
  if (!b) return false;
  *out = (ig_sframe){.parent = e->frame, .block = b};
  out->types = ig_map_make(e->c->alloc);
  out->sugars = ig_map_make(e->c->alloc);
  out->errors = ig_map_make(e->c->alloc);
  e->frame = out;
  e->at = b;
  return true;
}

void ig_frame_pop(ig_emitter *e, ig_sframe *frame) {
  e->frame = frame->parent;
  if (frame->parent) e->at = frame->parent->block;
}

void ig_frame_free(ig_sframe *frame) {
  ig_map_free(&frame->types);
  ig_map_free(&frame->sugars);
  ig_map_free(&frame->errors);
}

static bool is_meaningful(const char *name) {
  if (name[0] == '\0' || (name[0] == '$')) return false;
  if (name[0] != '_') return true;
  return name[1 + strspn(name + 1, "0123456789")] != '\0' && name[1] != '\0';
}

static void *find_in(const ig_map *m, const char *name) {
  const ig_map_value *v = ig_map_find(m, name);
  return v ? v->ptr : NULL;
}

static bool put_in(ig_emitter *e, ig_map *m, const char *name, void *value) {
  const char *kept = NULL;
  ig_map_value *v = ig_map_keep(m, &e->arena, name, &kept);
  if (!v) return no_memory(e) != NULL;
  v->ptr = value;
  return true;
}

const ig_stype *ig_frame_type(const ig_sframe *f, const char *name) {
  const ig_stype *const *slot = find_in(&f->types, name);
  return slot ? *slot : NULL;
}

bool ig_emit_set_type(ig_emitter *e, const char *name, const ig_stype *type) {
  const ig_stype **slot = ig_emit_array(e, 1, sizeof *slot);
  if (!slot) return false;
  *slot = type;
  return put_in(e, &e->frame->types, name, slot);
}

// A variable as a value: a new prim::Load.
static ig_svalue *load(ig_emitter *e, const char *name, const ig_stype *type) {
  ig_svalue *v = ig_emit_value(e, "prim::Load", e->here, NULL, 0, type);
  ig_sattr *a = v ? ig_snode_add_attr(v->node, "name", IG_SATTR_VALUE) : NULL;
  const char *kept = a ? ig_arena_strn(&e->g->arena, name, strlen(name)) : NULL;
  if (!kept) return v ? no_memory(e) : NULL;
  a->value = (ig_value){.kind = IG_KIND_STR, .str = kept};
  if (is_meaningful(name) && !ig_svalue_set_name(e->g, v, name)) return NULL;
  return v;
}

bool ig_emit_find_local(ig_emitter *e, ig_sframe *from, const char *name, ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  for (ig_sframe *f = from; f; f = f->parent) {
    const ig_stype *type = ig_frame_type(f, name);
    if (type) {
      *out = ig_sugar_value(load(e, name, type));
      return out->value != NULL;
    }
    const ig_sugar *s = find_in(&f->sugars, name);
    if (s) {
      *out = *s;
      return true;
    }
  }
  return true;
}

// The type of a variable in an outer block, or the sugar that has its name.
static const ig_stype *parent_type(const ig_emitter *e, const char *name, const ig_sugar **sugar) {
  *sugar = NULL;
  for (const ig_sframe *f = e->frame->parent; f; f = f->parent) {
    const ig_stype *type = ig_frame_type(f, name);
    if (type) return type;
    if ((*sugar = find_in(&f->sugars, name))) return NULL;
  }
  return NULL;
}

static bool store(ig_emitter *e, ig_srange where, const char *name, ig_svalue *v,
                  const ig_stype *type) {
  ig_snode *n = ig_emit_node(e, "prim::Store", where, &v, 1);
  ig_sattr *a = n ? ig_snode_add_attr(n, "name", IG_SATTR_VALUE) : NULL;
  const char *kept = a ? ig_arena_strn(&e->g->arena, name, strlen(name)) : NULL;
  if (!kept) return n && no_memory(e);
  a->value = (ig_value){.kind = IG_KIND_STR, .str = kept};
  ig_map_value *sugar = ig_map_find(&e->frame->sugars, name);
  if (sugar) sugar->ptr = NULL;
  return ig_emit_set_type(e, name, type);
}

bool ig_emit_store_plain(ig_emitter *e, const char *name, ig_svalue *v, const ig_stype *type) {
  return store(e, (ig_srange){0}, name, v, type);
}

static const char not_first_class[] =
    "is not a first-class value.  Only reassignments to first-class values are allowed";

// A name that an outer block has keeps the type that it has there.
static ig_svalue *as_in_parent(ig_emitter *e, ig_srange where, const char *name, ig_svalue *v,
                               const ig_stype *annotated) {
  const ig_sugar *sugar = NULL;
  const ig_stype *parent = parent_type(e, name, &sugar);
  if (sugar) {
    ig_emit_error(e, where, "Cannot re-assign '%s' because it has type %s and %s %s", name,
                  ig_sugar_describe(e, sugar), name, not_first_class);
    return NULL;
  }
  if (!parent) return v;
  // Looking at a variable loads it. Nobody uses the value, but its name counts.
  if (!load(e, name, parent)) return NULL;
  if (annotated) {
    ig_emit_error(e, where,
                  "Attempting to declare and annotate the type of variable '%s' but it is already "
                  "defined in an outer block",
                  name);
    return NULL;
  }
  v = ig_emit_convert(e, where, parent, v, true);
  if (!v || ig_stype_is_subtype(v->type, parent)) return v;
  bool list = v->type->kind == IG_STYPE_LIST && v->type->at[0]->kind == IG_STYPE_TENSOR;
  ig_emit_error(e, where,
                "Variable '%s' previously had type %s but is now being assigned to a value of type "
                "%s%s\n",
                name, ig_emit_repr(e, parent), ig_emit_repr(e, v->type),
                !list ? ""
                      : "\nEmpty lists default to List[Tensor]. Add a variable annotation to the "
                        "assignment to create an empty list of another type "
                        "(torch.jit.annotate(List[T, []]) where T is the type of elements in the "
                        "list for Python 2)");
  return NULL;
}

bool ig_emit_store(ig_emitter *e, ig_srange where, const char *name, ig_svalue *v,
                   const ig_stype *annotated) {
  if (!v) return false;
  bool own = v->block ? v->block == e->frame->block : v->node && v->node->owner == e->frame->block;
  if (!v->name && own && is_meaningful(name) && !ig_svalue_set_name(e->g, v, name)) return false;
  if (!(v = as_in_parent(e, where, name, v, annotated))) return false;
  if (annotated && !ig_stype_is_subtype(v->type, annotated)) {
    ig_emit_error(e, where,
                  "Variable '%s' is annotated with type %s but is being assigned to a value of "
                  "type %s",
                  name, ig_emit_repr(e, annotated), ig_emit_repr(e, v->type));
    return false;
  }
  return store(e, where, name, v, annotated ? annotated : v->type);
}

bool ig_emit_store_sugar(ig_emitter *e, ig_srange where, const char *name, const ig_sugar *s,
                         const ig_stype *annotated) {
  if (s->kind == IG_SUGAR_VALUE) return ig_emit_store(e, where, name, s->value, annotated);
  if (s->kind == IG_SUGAR_CONSTANT) {
    return ig_emit_store(e, where, name, ig_emit_as_value(e, where, s), annotated);
  }
  const ig_sugar *sugar = NULL;
  if (parent_type(e, name, &sugar) || sugar) {
    ig_emit_error(e, where, "Cannot re-assign '%s' to a value of type %s because %s %s", name,
                  ig_sugar_describe(e, s), name, not_first_class);
    return false;
  }
  ig_sugar *kept = ig_emit_array(e, 1, sizeof *kept);
  if (!kept) return false;
  *kept = *s;
  ig_map_value *old = ig_map_find(&e->frame->types, name);
  if (old) old->ptr = NULL;
  return put_in(e, &e->frame->sugars, name, kept);
}

bool ig_emit_find(ig_emitter *e, const char *name, ig_srange where, ig_sugar *out) {
  if (!ig_emit_find_local(e, e->frame, name, out)) return false;
  if (out->kind != IG_SUGAR_UNKNOWN) return true;
  if (!ig_sugar_of_global(e, name, out)) return false;
  if (out->kind != IG_SUGAR_UNKNOWN || !e->front->resolve) return true;
  return e->front->resolve(e->c, e->front->user, name, where, out);
}

static const char *error_of(const ig_emitter *e, const char *name) {
  for (const ig_sframe *f = e->frame; f; f = f->parent) {
    const ig_map_value *v = ig_map_find(&f->errors, name);
    if (v && v->text) return v->text;
  }
  return NULL;
}

bool ig_emit_name(ig_emitter *e, const char *name, ig_srange where, ig_sugar *out) {
  if (!ig_emit_find(e, name, where, out)) return false;
  if (out->kind != IG_SUGAR_UNKNOWN) return true;
  // if a variable has been set in different types in the branches of an if statement, the error
  // tells why it cannot be used
  const char *why = error_of(e, name);
  if (why) {
    ig_emit_error(e, where, "\n%sand was used here", why);
  } else {
    ig_emit_error(e, where, "undefined value %s", name);
  }
  return false;
}

bool ig_emit_block_exits(const ig_emitter *e, const ig_sblock *b) {
  for (size_t i = 0; i < e->exits.n; i++) {
    if (e->exits.at[i] == b) return true;
  }
  return false;
}

bool ig_emit_mark_exit(ig_emitter *e, const ig_sblock *b) {
  return ig_emit_block_exits(e, b) || ig_vec_push(e->c->alloc, &e->exits, b) || no_memory(e);
}
