// SPDX-License-Identifier: Apache-2.0
#include "script/type.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "op/refuse.h"

// ---- spelling

static const char *const plain_names[IG_STYPE_COUNT] = {
    [IG_STYPE_ANY] = "Any",
    [IG_STYPE_TENSOR] = "Tensor",
    [IG_STYPE_NUMBER] = "Scalar",
    [IG_STYPE_FLOAT] = "float",
    [IG_STYPE_COMPLEX] = "complex",
    [IG_STYPE_INT] = "int",
    [IG_STYPE_NONE] = "NoneType",
    [IG_STYPE_STR] = "str",
    [IG_STYPE_GENERATOR] = "Generator",
    [IG_STYPE_BOOL] = "bool",
    [IG_STYPE_DEVICE] = "Device",
    [IG_STYPE_FUNCTION] = "Function",
    [IG_STYPE_ANY_LIST] = "list",
    [IG_STYPE_ANY_TUPLE] = "tuple",
    [IG_STYPE_ANY_ENUM] = "AnyEnumType",
    [IG_STYPE_ANY_CLASS] = "AnyClassType",
};

typedef void printer(ig_str *s, const ig_stype *t);

static void print_text(ig_str *s, const ig_stype *t) {
  ig_str_add(s, "%s", t->text);
}

static void print_items(ig_str *s, const ig_stype *t, printer *print) {
  for (size_t i = 0; i < t->n; i++) {
    if (i) ig_str_add(s, ", ");
    print(s, t->at[i]);
  }
}

static void print_named_tuple(ig_str *s, const ig_stype *t) {
  ig_str_add(s, "NamedTuple(");
  for (size_t i = 0; i < t->n; i++) {
    ig_str_add(s, "%s%s : %s", i ? ", " : "", t->names[i], t->at[i]->text);
    if (t->defaults && t->defaults[i]) ig_str_add(s, " = %s", t->defaults[i]);
  }
  ig_str_add(s, ")");
}

// Of a type whose parts have their texts.
static void print_graph(ig_str *s, const ig_stype *t) {
  switch (t->kind) {
    case IG_STYPE_NUMBER:
      ig_str_add(s, "Scalar");
      break;
    case IG_STYPE_LIST:
      ig_str_add(s, "%s[]", t->at[0]->text);
      break;
    case IG_STYPE_OPTIONAL:
      ig_str_add(s, "%s?", t->at[0]->text);
      break;
    case IG_STYPE_FUTURE:
      ig_str_add(s, "Future[%s]", t->at[0]->text);
      break;
    case IG_STYPE_DICT:
    case IG_STYPE_UNION:
      ig_str_add(s, t->kind == IG_STYPE_DICT ? "Dict(" : "Union(");
      print_items(s, t, print_text);
      ig_str_add(s, ")");
      break;
    case IG_STYPE_TUPLE:
      if (t->names) {
        print_named_tuple(s, t);
        break;
      }
      ig_str_add(s, "(");
      print_items(s, t, print_text);
      ig_str_add(s, ")");
      break;
    case IG_STYPE_ENUM:
      ig_str_add(s, "Enum<%s>", t->name);
      break;
    case IG_STYPE_INTERFACE:
      ig_str_add(s, "InterfaceType<%s>",
                 strrchr(t->name, '.') ? strrchr(t->name, '.') + 1 : t->name);
      break;
    case IG_STYPE_FUNCTION:  // whichever it is
      ig_str_add(s, "Function");
      break;
    default:
      ig_str_add(s, "%s", t->name ? t->name : plain_names[t->kind]);
  }
}

bool ig_stype_is_result(const ig_stype *t) {
  return t->kind == IG_STYPE_TUPLE && t->name && !strchr(t->name, '.');
}

void ig_stype_print_annotation(ig_str *s, const ig_stype *t) {
  static const char *const generic[IG_STYPE_COUNT] = {
      [IG_STYPE_LIST] = "List",         [IG_STYPE_DICT] = "Dict",   [IG_STYPE_TUPLE] = "Tuple",
      [IG_STYPE_OPTIONAL] = "Optional", [IG_STYPE_UNION] = "Union", [IG_STYPE_FUTURE] = "Future",
  };
  if (t->kind == IG_STYPE_NUMBER || t->kind == IG_STYPE_TENSOR) {
    ig_str_add(s, t->kind == IG_STYPE_NUMBER ? "number" : "Tensor");
  } else if ((t->name && !ig_stype_is_result(t)) || !generic[t->kind]) {
    ig_str_add(s, "%s", t->name ? t->name : plain_names[t->kind]);
  } else if (t->n == 0) {
    ig_str_add(s, "Tuple[()]");
  } else {
    ig_str_add(s, "%s[", generic[t->kind]);
    print_items(s, t, ig_stype_print_annotation);
    ig_str_add(s, "]");
  }
}

// ---- making

ig_stypes ig_stypes_make(ig_ctx *c) {
  ig_stypes t = {.c = c};
  t.arena = ig_arena_make(c->alloc);
  t.made = ig_map_make(c->alloc);
  return t;
}

void ig_stypes_free(ig_stypes *t) {
  ig_map_free(&t->made);
  ig_arena_free(&t->arena);
}

static void *no_memory(ig_stypes *t) {
  (void)ig_fail(t->c, IG_NOMEM, "out of memory");
  return NULL;
}

static const char *const *copy_names(ig_stypes *t, const char *const *names, size_t n) {
  const char **out = ig_arena_array(&t->arena, n, sizeof *out);
  for (size_t i = 0; out && i < n; i++) {
    if (names[i] && !(out[i] = ig_arena_strn(&t->arena, names[i], strlen(names[i])))) return NULL;
  }
  return out;
}

// What tells types apart: kind, name, and the addresses of the types inside.
static void add_key(ig_str *s, const ig_stype *t) {
  ig_str_add(s, "%d:%s%s", (int)t->kind, t->name ? t->name : "", t->inferred ? "?" : "");
  for (size_t i = 0; i < t->n; i++) ig_str_add(s, ",%p", (const void *)t->at[i]);
}

static char *text_of(ig_stypes *t, const ig_stype *of, printer *print) {
  ig_str s = ig_str_make(t->c->alloc);
  print(&s, of);
  char *text = s.failed ? NULL : ig_arena_strn(&t->arena, s.at, s.n);
  ig_str_free(&s);
  return text;
}

// The inferred Tensor is one only by itself.
static const ig_stype *const *without_inferred(ig_stypes *t, const ig_stype *const *from,
                                               size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= from[i]->inferred;
  if (!any) return from;
  const ig_stype **at = ig_arena_array(&t->arena, n, sizeof *at);
  if (!at) return no_memory(t);
  for (size_t i = 0; i < n; i++) {
    at[i] = from[i]->inferred ? ig_stype_plain(t, IG_STYPE_TENSOR) : from[i];
    if (!at[i]) return NULL;
  }
  return at;
}

// A tuple of a tuple of tuples may stand for more elements than there is time or memory to look at:
// every part counts as often as it is written out, which its text does.
enum { MAX_TEXT = 1 << 20 };

static bool admit(ig_stypes *t, const ig_stype *given) {
  size_t n = 0;
  for (size_t i = 0; i < given->n; i++) {
    if (!given->at[i]) return false;
    n = ig_mem_add(n, strlen(given->at[i]->text));
  }
  if (n > MAX_TEXT) {
    return ig_fail(t->c, IG_LIMIT, "a type of more than %d letters", (int)MAX_TEXT) == IG_OK;
  }
  return t->c->status != IG_OK || n < 64 || ig_spend(t->c, n / 64);
}

static const ig_stype *intern(ig_stypes *t, const ig_stype *given) {
  if (!admit(t, given)) return NULL;
  ig_stype changed = *given;
  const ig_stype *like = &changed;
  if (given->n && !(changed.at = without_inferred(t, given->at, given->n))) return NULL;
  char *key = text_of(t, like, add_key);
  ig_map_value *v = key ? ig_map_put(&t->made, key) : NULL;
  if (!v) return no_memory(t);
  if (v->ptr) return v->ptr;
  ig_stype *made = ig_arena_push(&t->arena, sizeof *made);
  const ig_stype **at = ig_arena_array(&t->arena, like->n, sizeof *at);
  if (!made || !at) return no_memory(t);
  *made = *like;
  if (!(made->text = text_of(t, like, print_graph))) return no_memory(t);
  for (size_t i = 0; i < like->n; i++) at[i] = like->at[i];
  made->at = at;
  if (like->name && !(made->name = ig_arena_strn(&t->arena, like->name, strlen(like->name)))) {
    return no_memory(t);
  }
  if (like->names && !(made->names = copy_names(t, like->names, like->n))) return no_memory(t);
  if (like->defaults && !(made->defaults = copy_names(t, like->defaults, like->n))) {
    return no_memory(t);
  }
  v->ptr = made;
  return made;
}

const ig_stype *ig_stype_plain(ig_stypes *t, ig_stype_kind kind) {
  if (!t->plain[kind]) t->plain[kind] = intern(t, &(ig_stype){.kind = kind});
  return t->plain[kind];
}

const ig_stype *ig_stype_inferred(ig_stypes *t) {
  return intern(t, &(ig_stype){.kind = IG_STYPE_TENSOR, .inferred = true});
}

const ig_stype *ig_stype_list(ig_stypes *t, const ig_stype *item) {
  return intern(t, &(ig_stype){.kind = IG_STYPE_LIST, .n = 1, .at = &item});
}

const ig_stype *ig_stype_dict(ig_stypes *t, const ig_stype *key, const ig_stype *value) {
  const ig_stype *both[] = {key, value};
  return intern(t, &(ig_stype){.kind = IG_STYPE_DICT, .n = 2, .at = both});
}

const ig_stype *ig_stype_tuple(ig_stypes *t, const ig_stype *const *at, size_t n) {
  return intern(t, &(ig_stype){.kind = IG_STYPE_TUPLE, .n = n, .at = at});
}

const ig_stype *ig_stype_future(ig_stypes *t, const ig_stype *of) {
  return intern(t, &(ig_stype){.kind = IG_STYPE_FUTURE, .n = 1, .at = &of});
}

const ig_stype *ig_stype_named_tuple(ig_stypes *t, const char *name, const ig_stype_field *fields,
                                     size_t n) {
  const char **names = ig_arena_array(&t->arena, n, sizeof *names);
  const char **defaults = ig_arena_array(&t->arena, n, sizeof *defaults);
  const ig_stype **at = ig_arena_array(&t->arena, n, sizeof *at);
  if (!names || !defaults || !at) return no_memory(t);
  for (size_t i = 0; i < n; i++) {
    names[i] = fields[i].name;
    defaults[i] = fields[i].value;
    at[i] = fields[i].type;
  }
  return intern(t, &(ig_stype){.kind = IG_STYPE_TUPLE,
                               .n = n,
                               .at = at,
                               .name = name,
                               .names = names,
                               .defaults = defaults});
}

const ig_stype *ig_stype_named(ig_stypes *t, ig_stype_kind kind, const char *name,
                               void *declaration) {
  return intern(t, &(ig_stype){.kind = kind, .name = name, .declaration = declaration});
}

const ig_stype *ig_stype_interface(ig_stypes *t, const char *name, void *declaration,
                                   ig_stype_implements *is_implemented) {
  return intern(t, &(ig_stype){.kind = IG_STYPE_INTERFACE,
                               .name = name,
                               .is_implemented = is_implemented,
                               .declaration = declaration});
}

// ---- tensors

static const int64_t *copy_ints(ig_stypes *t, const int64_t *at, int n) {
  int64_t *out = ig_arena_array(&t->arena, (size_t)n + 1, sizeof *out);
  for (int i = 0; out && i < n; i++) out[i] = at[i];
  return out;
}

static void print_ints(ig_str *s, const int64_t *at, int n) {
  for (int i = 0; i < n; i++) ig_str_add(s, "%s%lld", i ? ", " : "", (long long)at[i]);
}

static void print_traced(ig_str *s, const ig_stensor *k) {
  ig_str_add(s, "%s(", k->dtype < 0 ? "Tensor" : ig_dtype_title((ig_dtype)k->dtype));
  size_t from = s->n;
  if (k->sizes) print_ints(s, k->sizes, k->ndim);
  for (int i = 0; !k->sizes && i < k->ndim; i++) ig_str_add(s, "%s*", i ? ", " : "");
  if (k->strides && k->ndim > 0) {
    ig_str_add(s, ", strides=[");
    print_ints(s, k->strides, k->ndim);
    ig_str_add(s, "]");
  }
  if (k->requires_grad >= 0) {
    ig_str_add(s, "%srequires_grad=%d", s->n > from ? ", " : "", k->requires_grad);
  }
  if (k->device) ig_str_add(s, "%sdevice=%s", s->n > from ? ", " : "", k->device);
  ig_str_add(s, ")");
}

const ig_stype *ig_stype_traced(ig_stypes *t, const ig_stensor *known) {
  ig_stensor *kept = ig_arena_push(&t->arena, sizeof *kept);
  if (!kept) return no_memory(t);
  *kept = *known;
  bool ok = true;
  if (known->sizes) ok = (kept->sizes = copy_ints(t, known->sizes, known->ndim)) != NULL;
  if (ok && known->strides) {
    ok = (kept->strides = copy_ints(t, known->strides, known->ndim)) != NULL;
  }
  if (ok && known->device) {
    ok = (kept->device = ig_arena_strn(&t->arena, known->device, strlen(known->device))) != NULL;
  }
  ig_str s = ig_str_make(t->c->alloc);
  print_traced(&s, kept);
  const ig_stype *type = NULL;
  if (ok && !s.failed) {
    type = intern(t, &(ig_stype){.kind = IG_STYPE_TENSOR, .name = s.at, .tensor = kept});
  } else {
    (void)no_memory(t);
  }
  ig_str_free(&s);
  return type;
}

const ig_stype *ig_stype_optional(ig_stypes *t, const ig_stype *of) {
  if (!of || of->kind == IG_STYPE_OPTIONAL || of->kind == IG_STYPE_NONE ||
      of->kind == IG_STYPE_ANY) {
    return of;
  }
  if (of->kind == IG_STYPE_UNION) {
    const ig_stype *both[] = {of, ig_stype_plain(t, IG_STYPE_NONE)};
    return both[1] ? ig_stype_union(t, both, 2) : NULL;
  }
  return intern(t, &(ig_stype){.kind = IG_STYPE_OPTIONAL, .n = 1, .at = &of});
}

// ---- unions

typedef struct members {
  const ig_stype **at;
  size_t n;
} members;

static size_t count_flat(const ig_stype *const *at, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    bool many = at[i] && (at[i]->kind == IG_STYPE_UNION || at[i]->kind == IG_STYPE_OPTIONAL);
    count += many ? at[i]->n + 1 : 1;
  }
  return count;
}

// Left out if another member covers it; those that it covers go.
static void add_member(members *m, const ig_stype *t) {
  for (size_t i = 0; i < m->n; i++) {
    if (ig_stype_is_subtype(t, m->at[i])) return;
  }
  size_t kept = 0;
  for (size_t i = 0; i < m->n; i++) {
    if (!ig_stype_is_subtype(m->at[i], t)) m->at[kept++] = m->at[i];
  }
  m->at[kept++] = t;
  m->n = kept;
}

static int compare_members(const void *a, const void *b) {
  const ig_stype *x = *(const ig_stype *const *)a;
  const ig_stype *y = *(const ig_stype *const *)b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return strcmp(x->text, y->text);
}

static bool collect(ig_stypes *t, const ig_stype *const *at, size_t n, members *m) {
  for (size_t i = 0; i < n; i++) {
    if (!at[i]) return false;
    bool many = at[i]->kind == IG_STYPE_UNION || at[i]->kind == IG_STYPE_OPTIONAL;
    for (size_t k = 0; many && k < at[i]->n; k++) add_member(m, at[i]->at[k]);
    if (!many) add_member(m, at[i]);
    if (at[i]->kind != IG_STYPE_OPTIONAL) continue;
    const ig_stype *none = ig_stype_plain(t, IG_STYPE_NONE);
    if (!none) return false;
    add_member(m, none);
  }
  return true;
}

const ig_stype *ig_stype_union(ig_stypes *t, const ig_stype *const *at, size_t n) {
  members m = {ig_arena_array(&t->arena, count_flat(at, n), sizeof *m.at), 0};
  if (!m.at) return no_memory(t);
  if (!collect(t, at, n, &m)) return NULL;
  if (m.n == 1) return m.at[0];
  if (m.n == 2 && (m.at[0]->kind == IG_STYPE_NONE || m.at[1]->kind == IG_STYPE_NONE)) {
    return ig_stype_optional(t, m.at[m.at[0]->kind == IG_STYPE_NONE]);
  }
  qsort(m.at, m.n, sizeof *m.at, compare_members);
  return intern(t, &(ig_stype){.kind = IG_STYPE_UNION, .n = m.n, .at = m.at});
}

// ---- relations

static bool all_subtypes(const ig_stype *a, const ig_stype *b) {
  for (size_t i = 0; i < a->n; i++) {
    if (!ig_stype_is_subtype(a->at[i], b->at[i])) return false;
  }
  return true;
}

// Every member of the union a is a subtype of b.
static bool union_fits(const ig_stype *a, const ig_stype *b) {
  for (size_t i = 0; i < a->n; i++) {
    if (!ig_stype_is_subtype(a->at[i], b)) return false;
  }
  return true;
}

// A member of the union b takes a; of an optional one, None is another member.
static bool fits_union(const ig_stype *a, const ig_stype *b) {
  bool optional = a->kind == IG_STYPE_OPTIONAL;
  if (optional && !ig_stype_has_none(b)) return false;
  for (size_t i = 0; i < b->n; i++) {
    if (ig_stype_is_subtype(optional ? a->at[0] : a, b->at[i])) return true;
  }
  return false;
}

bool ig_stype_is_subtype(const ig_stype *a, const ig_stype *b) {
  if (a == b || b->kind == IG_STYPE_ANY) return true;
  if (a->kind == IG_STYPE_UNION) return union_fits(a, b);
  if (b->kind == IG_STYPE_UNION) return fits_union(a, b);
  if (b->kind == IG_STYPE_OPTIONAL) {
    if (a->kind == IG_STYPE_NONE) return true;
    return ig_stype_is_subtype(a->kind == IG_STYPE_OPTIONAL ? a->at[0] : a, b->at[0]);
  }
  if (b->kind == IG_STYPE_NUMBER) {
    return a->kind == IG_STYPE_INT || a->kind == IG_STYPE_FLOAT || a->kind == IG_STYPE_COMPLEX;
  }
  if (b->kind == IG_STYPE_INTERFACE && b->is_implemented) return b->is_implemented(b, a, NULL);
  if (b->kind == IG_STYPE_ANY_ENUM) return a->kind == IG_STYPE_ENUM;
  if (b->kind == IG_STYPE_ANY_CLASS) return a->kind == IG_STYPE_CLASS;
  if (b->kind == IG_STYPE_ANY_LIST) return a->kind == IG_STYPE_LIST;
  if (b->kind == IG_STYPE_ANY_TUPLE) return a->kind == IG_STYPE_TUPLE;
  if (a->kind == IG_STYPE_TENSOR && b->kind == IG_STYPE_TENSOR) return !b->name;
  // A named tuple is a tuple of its elements. Lists and dicts can be written to: only equal ones.
  if (a->kind == IG_STYPE_TUPLE && b->kind == IG_STYPE_TUPLE) {
    return (!b->names || a->name == b->name) && a->n == b->n && all_subtypes(a, b);
  }
  return a->kind == IG_STYPE_FUTURE && b->kind == IG_STYPE_FUTURE && all_subtypes(a, b);
}

bool ig_stype_has_none(const ig_stype *t) {
  if (t->kind == IG_STYPE_UNION) {
    for (size_t i = 0; i < t->n; i++) {
      if (t->at[i]->kind == IG_STYPE_NONE) return true;
    }
  }
  return t->kind == IG_STYPE_NONE || t->kind == IG_STYPE_OPTIONAL || t->kind == IG_STYPE_ANY;
}

bool ig_stype_is_immutable(const ig_stype *t) {
  switch (t->kind) {
    case IG_STYPE_INT:
    case IG_STYPE_FLOAT:
    case IG_STYPE_BOOL:
    case IG_STYPE_COMPLEX:
    case IG_STYPE_NUMBER:
    case IG_STYPE_STR:
    case IG_STYPE_NONE:
    case IG_STYPE_DEVICE:
    case IG_STYPE_ENUM:
    case IG_STYPE_FUNCTION:
      return true;
    case IG_STYPE_TUPLE:
    case IG_STYPE_OPTIONAL:
    case IG_STYPE_UNION:
      for (size_t i = 0; i < t->n; i++) {
        if (!ig_stype_is_immutable(t->at[i])) return false;
      }
      return true;
    default:
      return false;
  }
}

static const ig_stype *unify_items(ig_stypes *t, const ig_stype *a, const ig_stype *b) {
  const ig_stype **at = ig_arena_array(&t->arena, a->n, sizeof *at);
  if (!at) return no_memory(t);
  for (size_t i = 0; i < a->n; i++) {
    at[i] = ig_stype_unify(t, a->at[i], b->at[i], false);
    if (!at[i]) return NULL;
  }
  return ig_stype_tuple(t, at, a->n);
}

const ig_stype *ig_stype_unify(ig_stypes *t, const ig_stype *a, const ig_stype *b, bool wide) {
  if (!a || !b) return NULL;
  if (ig_stype_is_subtype(a, b)) return b;
  if (ig_stype_is_subtype(b, a)) return a;
  if (a->kind == IG_STYPE_NONE) return ig_stype_optional(t, b);
  if (b->kind == IG_STYPE_NONE) return ig_stype_optional(t, a);
  bool tuples = a->kind == IG_STYPE_TUPLE && b->kind == IG_STYPE_TUPLE && a->n == b->n;
  if (tuples) {
    const ig_stype *both = unify_items(t, a, b);
    if (both || t->c->status != IG_OK) return both;
  }
  const ig_stype *pair[] = {a, b};
  return wide ? ig_stype_union(t, pair, 2) : NULL;
}

const ig_stype *ig_stype_not_none(ig_stypes *t, const ig_stype *of) {
  if (of->kind == IG_STYPE_OPTIONAL) return of->at[0];
  if (of->kind != IG_STYPE_UNION) return of;
  const ig_stype **at = ig_arena_array(&t->arena, of->n, sizeof *at);
  if (!at) return no_memory(t);
  size_t n = 0;
  for (size_t i = 0; i < of->n; i++) {
    if (of->at[i]->kind != IG_STYPE_NONE) at[n++] = of->at[i];
  }
  return ig_stype_union(t, at, n);
}

void ig_stype_explain_subtype(ig_str *s, const ig_stype *a, const ig_stype *b) {
  if (b->kind == IG_STYPE_INTERFACE && b->is_implemented) (void)b->is_implemented(b, a, s);
}
