// SPDX-License-Identifier: Apache-2.0
#include "script/check.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

typedef struct checker {
  ig_ctx *c;
  ig_srefusal what;
} checker;

// Kinds that scripts have not, as messages name them; the marked text is the first word of a
// statement, and one character of an expression.
static const struct {
  ig_tree_kind kind;
  const char *name;
  const char *start;
} unsupported[] = {
    {IG_TREE_DEF, "function definitions", "def"},
    {IG_TREE_CLASS, "class definitions", "class"},
    {IG_TREE_IMPORT, "import statements", "import"},
    {IG_TREE_IMPORT_FROM, "import statements", "from"},
    {IG_TREE_GLOBAL, "global variables", "global"},
    {IG_TREE_NONLOCAL, "nonlocal variables", "nonlocal"},
    {IG_TREE_TRY, "try blocks", "try"},
    {IG_TREE_LAMBDA, "Lambda", "l"},
    {IG_TREE_SET, "Set", "{"},
    {IG_TREE_SET_COMP, "SetComp", "{"},
    {IG_TREE_NAMED, "NamedExpr", "n"},
    {IG_TREE_YIELD, "Yield", "y"},
    {IG_TREE_AWAIT, "Await", "a"},
};

// Operators that an assignment can be augmented by only in Python.
static const struct {
  ig_token_kind op;
  const char *name;
} augmented[] = {{IG_TOKEN_FLOOR, "FloorDiv"}, {IG_TOKEN_MATMUL, "MatMult"}};

void ig_script_refuse(ig_ctx *c, ig_srange where, const char *text) {
  ig_str quoted = ig_str_make(c->alloc);
  ig_srange_quote(&quoted, where, NULL);
  ig_fail_text(c, IG_UNSUPPORTED, "%s:\n%s", text, quoted.at ? quoted.at : "");
  ig_str_free(&quoted);
}

static bool refuse(checker *k, ig_srefusal what, ig_srange where, const char *text) {
  k->what = what;
  ig_script_refuse(k->c, where, text);
  return false;
}

static ig_srange part(const ig_tree *t, size_t n) {
  return (ig_srange){t->range.source, t->range.start, t->range.start + n};
}

static bool refuse_kind(checker *k, const ig_tree *t, const char *name, const char *start) {
  char text[64];
  if (t->kind == IG_TREE_YIELD && t->op == IG_TOKEN_FROM) name = "YieldFrom";
  (void)snprintf(text, sizeof text, "%s aren't supported", name);
  return refuse(k, IG_SREFUSAL_STATEMENT, part(t, strlen(start)), text);
}

// Two characters up to the equals sign that stands before the value.
static bool refuse_augmented(checker *k, const ig_tree *t, const char *name) {
  char text[80];
  (void)snprintf(text, sizeof text, "unsupported kind of augmented assignment: %s", name);
  size_t at = t->at[1]->range.start;
  while (at > t->range.start && t->range.source->text[at] != '=') at--;
  size_t start = at > 0 ? at - 1 : 0;
  return refuse(k, IG_SREFUSAL_FEATURE, (ig_srange){t->range.source, start, at + 1}, text);
}

// The name with one star before it.
static ig_srange starred(const ig_tree *p) {
  size_t end = p->range.start;
  const ig_source *source = p->range.source;
  while (end < source->n && source->text[end] == '*') end++;
  return (ig_srange){source, end - 1, end + p->n_text};
}

// **kwargs first, then *args, then keyword-only parameters.
static bool check_parameters(checker *k, const ig_tree *all) {
  static const ig_token_kind order[] = {IG_TOKEN_POW, IG_TOKEN_MUL, IG_TOKEN_SEMICOLON};
  static const char text[] =
      "Compiled functions can't take variable number of arguments or use keyword-only arguments "
      "with defaults";
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    for (size_t j = 0; j < all->n; j++) {
      const ig_tree *p = all->at[j];
      if (p->op != order[i] || (p->op == IG_TOKEN_SEMICOLON && !p->at[1])) continue;
      ig_srange where = p->op == IG_TOKEN_SEMICOLON ? p->at[1]->range : starred(p);
      return refuse(k, IG_SREFUSAL_FEATURE, where, text);
    }
  }
  return true;
}

static bool check_generators(checker *k, const ig_tree *t, size_t first) {
  ig_srange nothing = part(t, 0);  // the original marks nothing here
  if (t->n - first > 1) {
    return refuse(k, IG_SREFUSAL_FEATURE, nothing,
                  "Only a single generator is currently supported");
  }
  if (t->at[first]->n > 2) {
    return refuse(k, IG_SREFUSAL_FEATURE, nothing, "Comprehension ifs are not supported yet");
  }
  return true;
}

static bool check_field(checker *k, const ig_tree *format, const ig_tree *field) {
  if (field->text[0]) {
    return refuse(k, IG_SREFUSAL_FEATURE, part(format, 1), "Don't support conversion in JoinedStr");
  }
  if (field->n > 1 && field->at[1]) {
    return refuse(k, IG_SREFUSAL_FEATURE, part(format, 1), "Don't support formatting in JoinedStr");
  }
  return true;
}

// The node itself, before what is inside of it.
static bool check_node(checker *k, const ig_tree *t) {
  for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
    if (unsupported[i].kind == t->kind) {
      return refuse_kind(k, t, unsupported[i].name, unsupported[i].start);
    }
  }
  switch (t->kind) {
    case IG_TREE_BYTES:
      return refuse(k, IG_SREFUSAL_FRONTEND, t->range, "Unknown Constant expression type");
    case IG_TREE_ANNOTATED:
      if (t->at[2]) return true;
      return refuse_kind(k, t, "AnnAssign without assigned value", " ");
    case IG_TREE_AUGMENTED:
      for (size_t i = 0; i < sizeof augmented / sizeof *augmented; i++) {
        if (augmented[i].op == t->op) return refuse_augmented(k, t, augmented[i].name);
      }
      return true;
    case IG_TREE_UNARY:
      if (t->op != IG_TOKEN_ADD) return true;
      return refuse(k, IG_SREFUSAL_FEATURE, part(t, 1), "unsupported unary operator: UAdd");
    case IG_TREE_FOR:
      if (!t->at[3]) return true;
      return refuse(k, IG_SREFUSAL_FEATURE, part(t, strlen("for")),
                    "else branches of for loops aren't supported");
    case IG_TREE_WHILE:
      if (!t->at[2]) return true;
      return refuse(k, IG_SREFUSAL_FEATURE, part(t, strlen("while")),
                    "else branches of while loops aren't supported");
    case IG_TREE_MAPPING:
      return refuse(k, IG_SREFUSAL_FEATURE, t->at[0]->range,
                    "keyword-arg expansion is not supported");
    case IG_TREE_LIST_COMP:
    case IG_TREE_GENERATOR_EXP:
      return check_generators(k, t, 1);
    case IG_TREE_DICT_COMP:
      return check_generators(k, t, 2);
    case IG_TREE_FORMAT:
      for (size_t i = 0; i < t->n; i++) {
        if (t->at[i]->kind == IG_TREE_FIELD && !check_field(k, t, t->at[i])) return false;
      }
      return true;
    default:
      return true;
  }
}

// Annotations and decorators are no code of the script. The height of trees is bounded.
static bool check(checker *k, const ig_tree *t) {
  if (!t) return true;
  if (!check_node(k, t)) return false;
  for (size_t i = 0; i < t->n; i++) {
    if (t->kind == IG_TREE_ANNOTATED && i == 1) continue;
    if (!check(k, t->at[i])) return false;
  }
  return true;
}

ig_status ig_script_check(ig_ctx *c, const ig_tree *def, ig_srefusal *what) {
  checker k = {.c = c};
  if (c->status == IG_OK && check_parameters(&k, def->at[0])) (void)check(&k, def->at[2]);
  *what = k.what;
  return c->status;
}
