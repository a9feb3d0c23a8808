// SPDX-License-Identifier: Apache-2.0
// Recursive descent over one line of schema text.
#include "op/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "op/native.h"

enum { MAX_ARGS = 40 };

typedef struct parser {
  ig_ctx *c;
  ig_arena *arena;
  const char *text;
  const char *p;
} parser;

static ig_status unexpected(const parser *s, const char *expected) {
  return ig_fail(s->c, IG_SYNTAX, "schema \"%s\": column %d: expected %s", s->text,
                 (int)(s->p - s->text) + 1, expected);
}

static ig_status no_memory(const parser *s) {
  return ig_fail(s->c, IG_NOMEM, "out of memory");
}

static void skip(parser *s) {
  while (*s->p == ' ') s->p++;
}

static bool take(parser *s, const char *token) {
  skip(s);
  size_t n = strlen(token);
  if (strncmp(s->p, token, n) != 0) return false;
  s->p += n;
  return true;
}

static bool is_word(char ch) {
  return isalnum((unsigned char)ch) || ch == '_';
}

// Like take, but the whole word.
static bool take_word(parser *s, const char *token) {
  const char *start = s->p;
  if (take(s, token) && !is_word(*s->p) && *s->p != '.') return true;
  s->p = start;
  return false;
}

static ig_status word(parser *s, const char **out) {
  skip(s);
  const char *start = s->p;
  while (is_word(*s->p)) s->p++;
  if (s->p == start) return unexpected(s, "a name");
  *out = ig_arena_strn(s->arena, start, (size_t)(s->p - start));
  return *out ? IG_OK : no_memory(s);
}

static ig_status parse_kind(parser *s, ig_arg *a) {
  static const struct {
    const char *text;
    ig_type type;
  } types[] = {
      {"Tensor", IG_TYPE_TENSOR},
      {"SymInt", IG_TYPE_SYMINT},
      {"ScalarType", IG_TYPE_DTYPE},
      {"Scalar", IG_TYPE_SCALAR},
      {"int", IG_TYPE_INT},
      {"float", IG_TYPE_FLOAT},
      {"bool", IG_TYPE_BOOL},
      {"complex", IG_TYPE_COMPLEX},
      {"str", IG_TYPE_STR},
      {"Layout", IG_TYPE_LAYOUT},
      {"Device", IG_TYPE_DEVICE},
      {"MemoryFormat", IG_TYPE_MEMORY_FORMAT},
      {"Generator", IG_TYPE_GENERATOR},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (!take_word(s, types[i].text)) continue;
    a->type = types[i].type;
    return IG_OK;
  }
  skip(s);
  if (!isalpha((unsigned char)*s->p) && *s->p != '_') return unexpected(s, "a type");
  const char *start = s->p;
  while (is_word(*s->p) || *s->p == '.') s->p++;  // a class, ours or of another library
  a->type = IG_TYPE_OTHER;
  a->cls = (int)ig_class_find(start, (size_t)(s->p - start));
  return IG_OK;
}

// (a), (a!), (a -> *), (a|b)
static ig_status parse_alias(parser *s, ig_arg *a) {
  if (!take(s, "(")) return IG_OK;
  skip(s);
  a->aliased = true;
  a->alias = *s->p;
  while (*s->p && *s->p != ')') {
    if (*s->p == '!') a->written = true;
    s->p++;
  }
  return take(s, ")") ? IG_OK : unexpected(s, ")");
}

static ig_status parse_type(parser *s, ig_arg *a) {
  IG_RETURN_IF_ERR(parse_kind(s, a));
  IG_RETURN_IF_ERR(parse_alias(s, a));
  bool question = take(s, "?");
  if (take(s, "[")) {
    a->list = true;
    a->item_optional = question;
    a->fixed = isdigit((unsigned char)*s->p) ? (int)strtol(s->p, (char **)&s->p, 10) : 0;
    if (!take(s, "]")) return unexpected(s, "]");
    IG_RETURN_IF_ERR(parse_alias(s, a));
    question = take(s, "?");
  }
  a->optional = question;
  return IG_OK;
}

static ig_status parse_text(parser *s, char quote, ig_arg *a) {
  const char *start = ++s->p;
  while (*s->p && *s->p != quote) s->p++;
  if (*s->p != quote) return unexpected(s, "the end of the string");
  a->def = ig_of_str(ig_arena_strn(s->arena, start, (size_t)(s->p - start)));
  s->p++;
  return a->def.str ? IG_OK : no_memory(s);
}

static ig_status parse_number(parser *s, const ig_arg *a, ig_value *out) {
  char *end = NULL;
  double f = strtod(s->p, &end);
  if (end == s->p) return unexpected(s, "a default value");
  bool whole = strcspn(s->p, ".en") >= (size_t)(end - s->p);
  bool integer = whole && a->type != IG_TYPE_FLOAT;
  *out = integer ? ig_of_i64(strtoll(s->p, NULL, 10)) : ig_of_f64(f);
  s->p = end;
  return IG_OK;
}

// [], [0, 1], [True, False]
static ig_status parse_list(parser *s, ig_arg *a) {
  ig_value items[8];
  size_t n = 0;
  while (!take(s, "]")) {
    if (n == 8 || (n && !take(s, ","))) return unexpected(s, ", or ]");
    skip(s);
    bool yes = take_word(s, "True");
    if (yes || take_word(s, "False")) {
      items[n++] = ig_of_bool(yes);
    } else {
      IG_RETURN_IF_ERR(parse_number(s, a, &items[n++]));
    }
  }
  if (a->type != IG_TYPE_INT && a->type != IG_TYPE_SYMINT) {
    ig_value *at = ig_arena_array(s->arena, n, sizeof *at);
    if (!at) return no_memory(s);
    if (n) memcpy(at, items, n * sizeof *at);
    a->def = ig_of_list(at, n);
    return IG_OK;
  }
  ig_int *at = ig_arena_array(s->arena, n, sizeof *at);
  if (!at) return no_memory(s);
  for (size_t i = 0; i < n; i++) at[i] = items[i].i;
  a->def = ig_of_ints(at, n);
  return IG_OK;
}

static ig_status parse_default(parser *s, ig_arg *a) {
  a->has_default = true;
  a->def = ig_none();
  skip(s);
  if (take_word(s, "None")) return IG_OK;
  if (*s->p == '"' || *s->p == '\'') return parse_text(s, *s->p, a);
  if (take(s, "[")) return parse_list(s, a);
  bool yes = take_word(s, "True");
  if (yes || take_word(s, "False")) {
    a->def = ig_of_bool(yes);
    return IG_OK;
  }
  if (take_word(s, "Mean")) {
    a->def = ig_of_i64(1);
    return IG_OK;
  }
  if (take_word(s, "contiguous_format")) {
    a->def = ig_of_memory_format(IG_CONTIGUOUS);
    return IG_OK;
  }
  IG_RETURN_IF_ERR(parse_number(s, a, &a->def));
  // PyTorch's numbers: 4 is int64, the only dtype used as a default; 0 is contiguous_format.
  if (a->type == IG_TYPE_DTYPE) a->def = ig_of_dtype(IG_I64);
  if (a->type == IG_TYPE_MEMORY_FORMAT) a->def = ig_of_memory_format(IG_CONTIGUOUS);
  if (a->list) {  // int[2] stride=1: a single number fills the list
    ig_int *at = ig_arena_array(s->arena, (size_t)a->fixed, sizeof *at);
    if (!at) return no_memory(s);
    for (int i = 0; i < a->fixed; i++) at[i] = a->def.i;
    a->def = ig_of_ints(at, (size_t)a->fixed);
  }
  return IG_OK;
}

static ig_status parse_arg(parser *s, ig_arg *a) {
  IG_RETURN_IF_ERR(parse_type(s, a));
  IG_RETURN_IF_ERR(word(s, &a->name));
  return take(s, "=") ? parse_default(s, a) : IG_OK;
}

static ig_status keep(parser *s, const ig_arg *from, size_t n, ig_arg **out) {
  *out = ig_arena_array(s->arena, n, sizeof *from);
  if (!*out) return no_memory(s);
  if (n) memcpy(*out, from, n * sizeof *from);
  return IG_OK;
}

static ig_status parse_args(parser *s, ig_schema *out) {
  ig_arg args[MAX_ARGS];
  size_t n = 0;
  bool keywords = false;
  while (!take(s, ")")) {
    if (n == MAX_ARGS) return unexpected(s, "fewer arguments");
    if ((n || keywords) && !take(s, ",")) return unexpected(s, ", or )");
    if (take(s, "*")) {
      keywords = true;
      out->npos = n;
    } else {
      args[n] = (ig_arg){0};
      IG_RETURN_IF_ERR(parse_arg(s, &args[n++]));
    }
  }
  if (!keywords) out->npos = n;
  out->nargs = n;
  return keep(s, args, n, &out->args);
}

static ig_status parse_return(parser *s, ig_arg *a) {
  *a = (ig_arg){.name = ""};
  IG_RETURN_IF_ERR(parse_type(s, a));
  skip(s);
  return is_word(*s->p) ? word(s, &a->name) : IG_OK;
}

static ig_status parse_returns(parser *s, ig_schema *out) {
  ig_arg rets[MAX_ARGS];
  size_t n = 0;
  if (!take(s, "(")) {
    IG_RETURN_IF_ERR(parse_return(s, &rets[n++]));
  } else {
    while (!take(s, ")")) {
      if (n == MAX_ARGS || (n && !take(s, ","))) return unexpected(s, ", or )");
      IG_RETURN_IF_ERR(parse_return(s, &rets[n++]));
    }
  }
  out->nrets = n;
  return keep(s, rets, n, &out->rets);
}

static size_t find_options(const ig_schema *s) {
  static const ig_type types[] = {IG_TYPE_DTYPE, IG_TYPE_LAYOUT, IG_TYPE_DEVICE, IG_TYPE_BOOL};
  for (size_t i = 0; i + 4 <= s->nargs; i++) {
    size_t n = 0;
    while (n < 4 && s->args[i + n].type == types[n]) n++;
    if (n == 4) return strcmp(s->args[i + 3].name, "pin_memory") == 0 ? i : s->nargs;
  }
  return s->nargs;
}

ig_status ig_schema_parse(ig_ctx *c, ig_arena *arena, const char *text, ig_schema *out) {
  parser s = {c, arena, text, text};
  *out = (ig_schema){.text = text, .overload = "default"};
  IG_RETURN_IF_ERR(word(&s, &out->ns));
  if (!take(&s, "::")) return unexpected(&s, "::");
  IG_RETURN_IF_ERR(word(&s, &out->name));
  if (take(&s, ".")) IG_RETURN_IF_ERR(word(&s, &out->overload));
  if (!take(&s, "(")) return unexpected(&s, "(");
  IG_RETURN_IF_ERR(parse_args(&s, out));
  out->options = find_options(out);
  if (!take(&s, "->")) return unexpected(&s, "->");
  IG_RETURN_IF_ERR(parse_returns(&s, out));
  skip(&s);
  return *s.p ? unexpected(&s, "the end") : IG_OK;
}
