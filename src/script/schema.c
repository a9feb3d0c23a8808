// SPDX-License-Identifier: Apache-2.0
// Schemas over the types of scripts: `aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)`.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "script/operator.h"

typedef struct scanner {
  ig_ctx *c;
  ig_stypes *types;
  const char *text;
  const char *p;
  size_t depth;
} scanner;

enum { MAX_DEPTH = 32, MAX_PARAMS = 64 };

static void *fail(scanner *s, const char *what) {
  (void)ig_fail(s->c, IG_SYNTAX, "schema '%s': expected %s at column %zu", s->text, what,
                (size_t)(s->p - s->text));
  return NULL;
}

static void *no_memory(scanner *s) {
  (void)ig_fail(s->c, IG_NOMEM, "out of memory");
  return NULL;
}

static void blanks(scanner *s) {
  while (*s->p == ' ') s->p++;
}

static bool take(scanner *s, const char *text) {
  blanks(s);
  size_t n = strlen(text);
  if (strncmp(s->p, text, n) != 0) return false;
  s->p += n;
  return true;
}

static char *word(scanner *s) {
  blanks(s);
  const char *start = s->p;
  while (isalnum((unsigned char)*s->p) || *s->p == '_' || *s->p == '.' || *s->p == ':') s->p++;
  if (s->p == start) return fail(s, "a name");
  char *text = ig_arena_strn(&s->types->arena, start, (size_t)(s->p - start));
  return text ? text : no_memory(s);
}

// ---- types

static const struct {
  const char *text;
  ig_stype_kind kind;
} plain[] = {
    {"Tensor", IG_STYPE_TENSOR},
    {"int", IG_STYPE_INT},
    {"SymInt", IG_STYPE_INT},
    {"float", IG_STYPE_FLOAT},
    {"bool", IG_STYPE_BOOL},
    {"complex", IG_STYPE_COMPLEX},
    {"Scalar", IG_STYPE_NUMBER},
    {"number", IG_STYPE_NUMBER},
    {"str", IG_STYPE_STR},
    {"ScalarType", IG_STYPE_INT},
    {"Layout", IG_STYPE_INT},
    {"MemoryFormat", IG_STYPE_INT},
    {"QScheme", IG_STYPE_INT},
    {"Device", IG_STYPE_DEVICE},
    {"DeviceIndex", IG_STYPE_INT},
    {"Generator", IG_STYPE_GENERATOR},
    {"Dimname", IG_STYPE_STR},
    {"NoneType", IG_STYPE_NONE},
    {"Any", IG_STYPE_ANY},
    {"AnyEnumType", IG_STYPE_ANY_ENUM},
    {"AnyClassType", IG_STYPE_ANY_CLASS},
    {"AnyListType", IG_STYPE_ANY_LIST},
    {"AnyTupleType", IG_STYPE_ANY_TUPLE},
    {"Function", IG_STYPE_FUNCTION},
};

static const ig_stype *parse_type(scanner *s, ig_salias *alias, int *fixed);

// Types up to the closing bracket.
static const ig_stype *const *parse_types(scanner *s, size_t *n) {
  const ig_stype *at[MAX_PARAMS];
  *n = 0;
  while (!take(s, ")")) {
    if (*n && !take(s, ",")) return fail(s, "',' or ')'");
    if (*n == MAX_PARAMS) return fail(s, "fewer types");
    at[*n] = parse_type(s, NULL, NULL);
    if (!at[(*n)++]) return NULL;
  }
  const ig_stype **kept = ig_arena_array(&s->types->arena, *n + 1, sizeof(ig_stype *));
  for (size_t i = 0; kept && i < *n; i++) kept[i] = at[i];
  return kept ? kept : no_memory(s);
}

static const ig_stype *parse_generic(scanner *s, const char *name) {
  size_t n = 0;
  const ig_stype *const *at = parse_types(s, &n);
  if (!at) return NULL;
  if (strcmp(name, "Dict") == 0 && n == 2) return ig_stype_dict(s->types, at[0], at[1]);
  if (n == 1 && strcmp(name, "Future") == 0) return ig_stype_future(s->types, at[0]);
  // References to remote values and awaitables: no value is of such a type here.
  return ig_stype_named(s->types, IG_STYPE_CLASS, name, NULL);
}

static const ig_stype *parse_base(scanner *s) {
  if (take(s, "(")) {
    size_t n = 0;
    const ig_stype *const *at = parse_types(s, &n);
    return at ? ig_stype_tuple(s->types, at, n) : NULL;
  }
  const char *name = word(s);
  if (!name) return NULL;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strcmp(name, plain[i].text) == 0) return ig_stype_plain(s->types, plain[i].kind);
  }
  bool generic = strcmp(name, "Dict") == 0 || strcmp(name, "Future") == 0 ||
                 strcmp(name, "RRef") == 0 || strcmp(name, "Await") == 0;
  if (generic && take(s, "(")) return parse_generic(s, name);
  bool variable = name[0] == 't' && !strchr(name, '.');
  return ig_stype_named(s->types, variable ? IG_STYPE_VAR : IG_STYPE_CLASS, name, NULL);
}

// (a!), (a -> *), (a|b), (*): directly behind the type.
static bool parse_alias(scanner *s, ig_salias *alias) {
  if (*s->p != '(') return true;
  const char *end = strchr(s->p, ')');
  if (!end) return fail(s, "')'") != NULL;
  size_t n = (size_t)(end - s->p);
  if (alias) {
    alias->set = memchr(s->p, '|', n) ? '*' : s->p[1];
    alias->written = memchr(s->p, '!', n) != NULL;
    alias->stored = n > 2 && memchr(s->p + 2, '>', n - 2) != NULL;
  }
  s->p = end + 1;
  return true;
}

static const ig_stype *parse_type(scanner *s, ig_salias *alias, int *fixed) {
  if (s->depth == MAX_DEPTH) return fail(s, "fewer nested types");
  s->depth++;
  const ig_stype *t = parse_base(s);
  while (t && parse_alias(s, alias)) {
    if (*s->p == '[') {
      long n = strtol(s->p + 1, (char **)&s->p, 10);
      if (*s->p != ']') return fail(s, "']'");
      s->p++;
      if (fixed && n > 0 && n < 16) *fixed = (int)n;
      if (alias && alias->set) alias->elements = true;
      t = ig_stype_list(s->types, t);
    } else if (*s->p == '?') {
      s->p++;
      t = ig_stype_optional(s->types, t);
    } else {
      break;
    }
  }
  s->depth--;
  return s->c->status == IG_OK ? t : NULL;
}

// ---- defaults

static bool parse_string(scanner *s, ig_value *v) {
  static const char escapes[] = "n\nt\tf\fv\vr\r";
  char quote = *s->p++;
  const char *end = strchr(s->p, quote);
  if (!end) return fail(s, "the end of the string") != NULL;
  char *text = ig_arena_push(&s->types->arena, (size_t)(end - s->p) + 1);
  if (!text) return no_memory(s) != NULL;
  size_t n = 0;
  for (; s->p < end; s->p++) {
    const char *known = *s->p == '\\' && s->p + 1 < end ? strchr(escapes, s->p[1]) : NULL;
    text[n++] = known ? known[1] : *s->p;
    if (known) s->p++;
  }
  s->p = end + 1;
  *v = (ig_value){.kind = IG_KIND_STR, .str = text};
  return true;
}

static bool parse_default(scanner *s, ig_value *v);

static bool parse_list(scanner *s, ig_value *v) {
  ig_value *at = ig_arena_array(&s->types->arena, 16, sizeof *at);
  if (!at) return no_memory(s) != NULL;
  size_t n = 0;
  while (!take(s, "]")) {
    if (n && !take(s, ",")) return fail(s, "',' or ']'") != NULL;
    if (n == 16) return fail(s, "fewer elements") != NULL;
    if (!parse_default(s, &at[n++])) return false;
  }
  *v = (ig_value){.kind = IG_KIND_LIST, .list = {at, n}};
  return true;
}

static const struct {
  const char *text;
  ig_value value;
} constants[] = {
    {"None", {.kind = IG_KIND_NONE}},
    {"True", {.kind = IG_KIND_BOOL, .b = true}},
    {"False", {.kind = IG_KIND_BOOL, .b = false}},
    {"contiguous_format", {.kind = IG_KIND_INT, .i = {.value = 0}}},
    {"Mean", {.kind = IG_KIND_INT, .i = {.value = 1}}},
    {"strided", {.kind = IG_KIND_INT, .i = {.value = 0}}},
    {"long", {.kind = IG_KIND_INT, .i = {.value = 4}}},
    {"float", {.kind = IG_KIND_INT, .i = {.value = 6}}},
};

static bool parse_default(scanner *s, ig_value *v) {
  blanks(s);
  if (*s->p == '"' || *s->p == '\'') return parse_string(s, v);
  if (take(s, "[")) return parse_list(s, v);
  if (isalpha((unsigned char)*s->p)) {
    const char *name = word(s);
    for (size_t i = 0; name && i < sizeof constants / sizeof *constants; i++) {
      if (strcmp(name, constants[i].text) != 0) continue;
      *v = constants[i].value;
      return true;
    }
    return name && fail(s, "a default value");
  }
  char *behind_int = NULL;
  char *behind_float = NULL;
  int64_t i = strtoll(s->p, &behind_int, 10);
  double f = strtod(s->p, &behind_float);
  if (behind_float == s->p) return fail(s, "a default value") != NULL;
  *v = behind_float > behind_int ? ig_of_f64(f) : ig_of_i64(i);
  s->p = behind_float;
  return true;
}

// ---- the whole

static bool parse_params(scanner *s, ig_sschema *out) {
  ig_sformal at[MAX_PARAMS] = {0};
  bool keyword_only = false;
  size_t n = 0;
  for (bool first = true; !take(s, ")"); first = false) {
    if (!first && !take(s, ",")) return fail(s, "',' or ')'") != NULL;
    if (take(s, "...")) {
      out->vararg = true;
      continue;
    }
    if (take(s, "*")) {
      keyword_only = true;
      continue;
    }
    if (n == MAX_PARAMS) return fail(s, "fewer parameters") != NULL;
    ig_sformal *a = &at[n];
    a->keyword_only = keyword_only;
    a->type = parse_type(s, &a->alias, &a->fixed);
    a->written = a->alias.written;
    if (!a->type) return false;
    blanks(s);
    a->name = *s->p == ',' || *s->p == ')' ? "" : word(s);
    if (!a->name) return false;
    a->has_default = take(s, "=");
    if (a->has_default && !parse_default(s, &a->def)) return false;
    // A whole number is a float where one is declared.
    if (a->type->kind == IG_STYPE_FLOAT && a->def.kind == IG_KIND_INT) {
      a->def = ig_of_f64((double)a->def.i.value);
    }
    n++;
  }
  out->params = ig_arena_array(&s->types->arena, n + 1, sizeof *out->params);
  if (!out->params) return no_memory(s) != NULL;
  memcpy(out->params, at, ig_mem_mul(n, sizeof *at));
  out->n_params = n;
  return true;
}

static bool parse_results(scanner *s, ig_sschema *out) {
  const ig_stype *types[MAX_PARAMS];
  const char *names[MAX_PARAMS];
  ig_salias aliases[MAX_PARAMS] = {0};
  size_t n = 0;
  if (take(s, "...")) {
    out->varret = true;
  } else if (take(s, "(")) {
    while (!take(s, ")")) {
      if (n && !take(s, ",")) return fail(s, "',' or ')'") != NULL;
      if (n == MAX_PARAMS) return fail(s, "fewer results") != NULL;
      if (!(types[n] = parse_type(s, &aliases[n], NULL))) return false;
      blanks(s);
      names[n] = *s->p == ',' || *s->p == ')' ? "" : word(s);
      if (!names[n++]) return false;
    }
  } else {
    if (!(types[0] = parse_type(s, &aliases[0], NULL))) return false;
    names[n++] = "";
  }
  out->results = ig_arena_array(&s->types->arena, n + 1, sizeof(ig_stype *));
  out->result_names = ig_arena_array(&s->types->arena, n + 1, sizeof(char *));
  out->result_aliases = ig_arena_array(&s->types->arena, n + 1, sizeof(ig_salias));
  if (!out->results || !out->result_names || !out->result_aliases) return no_memory(s) != NULL;
  for (size_t i = 0; i < n; i++) {
    out->results[i] = types[i];
    out->result_names[i] = names[i];
    out->result_aliases[i] = aliases[i];
  }
  out->n_results = n;
  return true;
}

const ig_sschema *ig_sschema_parse(ig_stypes *types, const char *text) {
  scanner s = {.c = types->c, .types = types, .text = text, .p = text};
  ig_sschema *out = ig_arena_push(&types->arena, sizeof *out);
  if (!out) return no_memory(&s);
  out->text = text;
  char *name = word(&s);
  if (!name) return NULL;
  char *dot = strchr(name, '.');
  out->overload = dot ? dot + 1 : "";
  if (dot) *dot = '\0';
  out->name = name;
  if (!take(&s, "(")) return fail(&s, "'('");
  if (!parse_params(&s, out)) return NULL;
  if (!take(&s, "->")) return fail(&s, "'->'");
  return parse_results(&s, out) ? out : NULL;
}
