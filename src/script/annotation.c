// SPDX-License-Identifier: Apache-2.0
#include "script/annotation.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
  ig_stypes *types;
  const ig_resolver *resolver;
} reader;

static const struct {
  const char *name;
  ig_stype_kind kind;
} plain[] = {
    {"Tensor", IG_STYPE_TENSOR},
    {"torch.Tensor", IG_STYPE_TENSOR},
    {"torch.FloatTensor", IG_STYPE_TENSOR},
    {"torch.LongTensor", IG_STYPE_TENSOR},
    {"int", IG_STYPE_INT},
    {"float", IG_STYPE_FLOAT},
    {"bool", IG_STYPE_BOOL},
    {"complex", IG_STYPE_COMPLEX},
    {"str", IG_STYPE_STR},
    {"number", IG_STYPE_NUMBER},
    {"Scalar", IG_STYPE_NUMBER},
    {"NoneType", IG_STYPE_NONE},
    {"Device", IG_STYPE_DEVICE},
    {"torch.device", IG_STYPE_DEVICE},
    {"Generator", IG_STYPE_GENERATOR},
    {"torch.Generator", IG_STYPE_GENERATOR},
    {"Any", IG_STYPE_ANY},
    {"typing.Any", IG_STYPE_ANY},
    {"list", IG_STYPE_ANY_LIST},
    {"tuple", IG_STYPE_ANY_TUPLE},
    // Numbers of enumerations.
    {"torch.dtype", IG_STYPE_INT},
    {"torch.layout", IG_STYPE_INT},
    {"torch.memory_format", IG_STYPE_INT},
};

static const struct {
  const char *name;
  ig_stype_kind kind;
} generic[] = {
    {"List", IG_STYPE_LIST},
    {"list", IG_STYPE_LIST},
    {"typing.List", IG_STYPE_LIST},
    {"Dict", IG_STYPE_DICT},
    {"dict", IG_STYPE_DICT},
    {"typing.Dict", IG_STYPE_DICT},
    {"Tuple", IG_STYPE_TUPLE},
    {"tuple", IG_STYPE_TUPLE},
    {"typing.Tuple", IG_STYPE_TUPLE},
    {"Optional", IG_STYPE_OPTIONAL},
    {"typing.Optional", IG_STYPE_OPTIONAL},
    {"Union", IG_STYPE_UNION},
    {"typing.Union", IG_STYPE_UNION},
    {"Future", IG_STYPE_FUTURE},
    {"torch.jit.Future", IG_STYPE_FUTURE},
    {"Final", IG_STYPE_COUNT},  // the type inside
    {"torch.jit.Final", IG_STYPE_COUNT},
    {"typing.Final", IG_STYPE_COUNT},
};

enum { MAX_NAME = 512 };

// a.b.c as text; false: it is another expression, or too long.
static bool dotted(const ig_tree *t, char *out, size_t cap) {
  if (t->kind == IG_TREE_NONE) {
    (void)snprintf(out, cap, "NoneType");
    return true;
  }
  if (t->kind == IG_TREE_NAME) {
    if (t->n_text >= cap) return false;
    memcpy(out, t->text, t->n_text + 1);
    return true;
  }
  if (t->kind != IG_TREE_ATTRIBUTE || !dotted(t->at[0], out, cap)) return false;
  size_t n = strlen(out);
  if (n + 1 + t->n_text >= cap) return false;
  out[n] = '.';
  memcpy(out + n + 1, t->text, t->n_text + 1);
  return true;
}

static const ig_stype *fail(reader *r, const ig_tree *at, const char *what, const char *name) {
  (void)ig_syntax_error(r->types->c, at->range, what, name);
  return NULL;
}

static const ig_stype *read(reader *r, const ig_tree *t);

static const ig_stype *read_name(reader *r, const ig_tree *t, const char *name) {
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strcmp(plain[i].name, name) == 0) return ig_stype_plain(r->types, plain[i].kind);
  }
  // A bare List, Dict or Tuple holds tensors.
  const ig_stype *tensor = ig_stype_plain(r->types, IG_STYPE_TENSOR);
  if (!tensor) return NULL;
  if (strcmp(name, "List") == 0 || strcmp(name, "typing.List") == 0) {
    return ig_stype_list(r->types, tensor);
  }
  const ig_stype *found = r->resolver ? r->resolver->type(r->resolver->user, name) : NULL;
  if (found || r->types->c->status != IG_OK) return found;
  return fail(r, t, "Unknown type name '%s'", name);
}

static const ig_stype *read_many(reader *r, ig_stype_kind kind, const ig_tree *t,
                                 const ig_tree *index) {
  bool several = index->kind == IG_TREE_TUPLE;
  size_t n = several ? index->n : 1;
  bool one = kind == IG_STYPE_LIST || kind == IG_STYPE_OPTIONAL || kind == IG_STYPE_FUTURE ||
             kind == IG_STYPE_COUNT;
  if ((one && n != 1) || (kind == IG_STYPE_DICT && n != 2)) {
    return fail(r, t, "%s has another number of types", one ? "this type" : "a dict");
  }
  const ig_stype **at = ig_arena_array(&r->types->arena, n, sizeof *at);
  if (!at) {
    (void)ig_fail(r->types->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    at[i] = read(r, several ? index->at[i] : index);
    if (!at[i]) return NULL;
  }
  switch (kind) {
    case IG_STYPE_LIST:
      return ig_stype_list(r->types, at[0]);
    case IG_STYPE_DICT:
      return ig_stype_dict(r->types, at[0], at[1]);
    case IG_STYPE_TUPLE:
      return ig_stype_tuple(r->types, at, n);
    case IG_STYPE_OPTIONAL:
      return ig_stype_optional(r->types, at[0]);
    case IG_STYPE_UNION:
      return ig_stype_union(r->types, at, n);
    case IG_STYPE_FUTURE:
      return ig_stype_future(r->types, at[0]);
    default:
      return at[0];
  }
}

static const ig_stype *read_generic(reader *r, const ig_tree *t) {
  char name[MAX_NAME];
  if (!dotted(t->at[0], name, sizeof name)) {
    return fail(r, t->at[0], "Subscripted type must be a type identifier%s", "");
  }
  for (size_t i = 0; i < sizeof generic / sizeof *generic; i++) {
    if (strcmp(generic[i].name, name) == 0) return read_many(r, generic[i].kind, t, t->at[1]);
  }
  return fail(r, t->at[0], "Unknown type constructor %s", name);
}

// "List[int]" in quotes: a source of its own, inside of which errors are quoted.
static const ig_stype *read_text(reader *r, const char *text, size_t n) {
  ig_source *source = ig_arena_push(&r->types->arena, sizeof *source);
  if (!source) {
    (void)ig_fail(r->types->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *source = (ig_source){.text = text, .n = n, .first_line = 1};
  const ig_tree *t = ig_tree_parse_expression(r->types->c, &r->types->arena, source);
  return t ? read(r, t) : NULL;
}

static const ig_stype *read(reader *r, const ig_tree *t) {
  char name[MAX_NAME];
  if (dotted(t, name, sizeof name)) return read_name(r, t, name);
  switch (t->kind) {
    case IG_TREE_SUBSCRIPT:
      return read_generic(r, t);
    case IG_TREE_STRING:
      return read_text(r, t->text, t->n_text);
    case IG_TREE_TUPLE:  // Tuple[()]
      if (t->n == 0) return ig_stype_tuple(r->types, NULL, 0);
      break;
    case IG_TREE_BINARY:
      if (t->op == IG_TOKEN_BIT_OR) {
        const ig_stype *both[] = {read(r, t->at[0]), NULL};
        both[1] = both[0] ? read(r, t->at[1]) : NULL;
        return both[1] ? ig_stype_union(r->types, both, 2) : NULL;
      }
      break;
    default:
      break;
  }
  return fail(r, t, "Expression of this kind cannot be used in a type expression%s", "");
}

const ig_stype *ig_stype_of_tree(ig_stypes *types, const ig_resolver *resolver,
                                 const ig_tree *annotation) {
  reader r = {types, resolver};
  return types->c->status == IG_OK ? read(&r, annotation) : NULL;
}

const ig_stype *ig_stype_parse(ig_stypes *types, const ig_resolver *resolver, const char *text) {
  reader r = {types, resolver};
  return types->c->status == IG_OK ? read_text(&r, text, strlen(text)) : NULL;
}
