// SPDX-License-Identifier: Apache-2.0
// Names of nodes, numbered as PyTorch's fx numbers them.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

enum { NAME_MAX_LENGTH = 200 };

// Python keywords, built-ins and names used by the printed code itself: such names always get a
// number.
bool ig_name_is_reserved(const char *name) {
  static const char *const words[] = {
      "False",        "None",       "True",       "and",        "as",        "assert",
      "async",        "await",      "break",      "class",      "continue",  "def",
      "del",          "elif",       "else",       "except",     "finally",   "for",
      "from",         "global",     "if",         "import",     "in",        "is",
      "lambda",       "nonlocal",   "not",        "or",         "pass",      "raise",
      "return",       "try",        "while",      "with",       "yield",     "abs",
      "aiter",        "all",        "anext",      "any",        "ascii",     "bin",
      "bool",         "breakpoint", "bytearray",  "bytes",      "callable",  "chr",
      "classmethod",  "compile",    "complex",    "copyright",  "credits",   "delattr",
      "dict",         "dir",        "divmod",     "enumerate",  "eval",      "exec",
      "exit",         "filter",     "float",      "format",     "frozenset", "getattr",
      "globals",      "hasattr",    "hash",       "help",       "hex",       "id",
      "input",        "int",        "isinstance", "issubclass", "iter",      "len",
      "license",      "list",       "locals",     "map",        "max",       "memoryview",
      "min",          "next",       "object",     "oct",        "open",      "ord",
      "pow",          "print",      "property",   "quit",       "range",     "repr",
      "reversed",     "round",      "set",        "setattr",    "slice",     "sorted",
      "staticmethod", "str",        "sum",        "super",      "tuple",     "type",
      "vars",         "zip",        "inf",        "nan",        "NoneType",  "torch",
      "device",       "fx_pytree",  "pytree"};
  size_t length = strlen(name);
  if (length > 0 && isdigit((unsigned char)name[length - 1])) return false;  // as none of them ends
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (words[i][0] == name[0] && strcmp(words[i], name) == 0) return true;
  }
  return false;
}

// Length of the part before a trailing _<digits>, and those digits; -1: none.
static size_t split(const char *name, long *number) {
  size_t n = strlen(name);
  size_t k = n;
  while (k > 0 && isdigit((unsigned char)name[k - 1])) k--;
  *number = -1;
  if (k == n || k == 0 || name[k - 1] != '_' || n - k > 9) return n;
  *number = strtol(name + k, NULL, 10);
  return k - 1;
}

static void clean(const char *base, char *text, size_t cap) {
  size_t n = 0;
  if (isdigit((unsigned char)base[0]) || !base[0]) text[n++] = '_';
  for (; *base && n + 1 < cap; base++) {
    bool word = isalnum((unsigned char)*base) || *base == '_';
    text[n++] = (char)(word ? *base : '_');
  }
  text[n] = 0;
}

// "_" and the number behind `length` letters of text.
static void put_number(char *text, size_t length, long number) {
  char digits[24];
  size_t n = 0;
  do {
    digits[n++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  text[length++] = '_';
  while (n > 0) text[length++] = digits[--n];
  text[length] = 0;
}

ig_map_value *ig_name_claim(ig_map *names, ig_map *counts, ig_arena *a, const char *base,
                            const char **kept) {
  char name[NAME_MAX_LENGTH + 32];
  char stem[NAME_MAX_LENGTH];
  clean(base, name, NAME_MAX_LENGTH);
  long number = -1;
  size_t length = split(name, &number);
  memcpy(stem, name, length);
  stem[length] = 0;
  const char *fresh = NULL;
  ig_map_value *count = ig_map_keep(counts, a, stem, &fresh);
  if (count && number <= 0) number = (long)count->num;
  ig_map_value *slot = NULL;
  for (*kept = NULL; count && !*kept; put_number(name, length, ++number)) {
    if (ig_name_is_reserved(name)) continue;
    slot = ig_map_keep(names, a, name, kept);
    if (!slot || *kept) break;
  }
  if (slot) count->num = (size_t)number;
  return slot;
}

// The slot of a new name made from base, and the name.
static ig_map_value *claim(ig_ctx *c, ig_graph *g, const char *base, const char **kept) {
  ig_map_value *slot = ig_name_claim(&g->names, &g->counts, &g->arena, base, kept);
  if (!slot) (void)ig_fail(c, IG_NOMEM, "out of memory");
  return slot;
}

const char *ig_graph_name(ig_ctx *c, ig_graph *g, const char *base) {
  const char *name = NULL;
  return claim(c, g, base, &name) ? name : NULL;
}

bool ig_graph_name_node(ig_ctx *c, ig_graph *g, ig_node *n, const char *base) {
  ig_map_value *slot = claim(c, g, base, &n->name);
  if (!slot) return false;
  slot->ptr = n;
  return true;
}

const char *ig_name_of_op(const char *op, char *text, size_t cap) {
  size_t n = strlen(op);
  if (n > 4 && strncmp(op, "__", 2) == 0 && strcmp(op + n - 2, "__") == 0) {
    op += 2;
    n -= 4;
  }
  size_t k = 0;
  for (size_t i = 0; i < n && k + 2 < cap; i++) {
    bool upper = isupper((unsigned char)op[i]) != 0;
    if (upper && i > 0 && op[i - 1] != '_' && !isupper((unsigned char)op[i - 1])) text[k++] = '_';
    text[k++] = (char)tolower((unsigned char)op[i]);
  }
  text[k] = 0;
  return text;
}

const char *ig_name_of_path(const char *prefix, const char *path, char *text, size_t cap) {
  int n = snprintf(text, cap, "%s%s", prefix, path);
  if (n < 0) text[0] = 0;
  for (char *p = text; *p; p++) {
    if (!isalnum((unsigned char)*p)) *p = '_';
  }
  return text;
}

bool ig_graph_rename(ig_ctx *c, ig_graph *g, ig_node *n, const char *base) {
  const char *before = n->name;
  if (!ig_graph_name_node(c, g, n, base)) return false;
  ig_map_value *old = before ? ig_map_find(&g->names, before) : NULL;
  if (old && old->ptr == n) old->ptr = NULL;
  if (before && n->target == before) n->target = n->name;
  return true;
}

static void set_name_text(ig_node *n, const char *name) {
  if (n->target == n->name) n->target = name;
  n->name = name;
}

bool ig_graph_set_name(ig_ctx *c, ig_graph *g, ig_node *n, const char *text) {
  const char *name = ig_graph_keep_text(c, g, text);
  ig_map_value *v = name ? ig_map_put(&g->names, name) : NULL;
  if (!v) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  ig_map_value *old = ig_map_find(&g->names, n->name);
  if (old && old->ptr == n) old->ptr = NULL;
  if (!v->ptr) v->ptr = n;
  if (n->target == n->name && n->kind == IG_NODE_PLACEHOLDER) n->target = name;
  n->name = name;
  return true;
}

static const char contained[] = "self___";

// The preferred name of a placeholder, in lower case.
static const char *wish_of(const ig_node *n, const ig_map *shown, char *text, size_t cap) {
  static const char *const prefixes[] = {[IG_INPUT_PARAMETER] = "p_",
                                         [IG_INPUT_BUFFER] = "b_",
                                         [IG_INPUT_CONSTANT] = "c_",
                                         [IG_INPUT_OBJECT] = "obj_",
                                         [IG_INPUT_TOKEN] = "token_"};
  if (!n->path) return n->name;
  const ig_map_value *other =
      shown && n->role != IG_INPUT_USER ? ig_map_find(shown, n->path) : NULL;
  const char *path = other ? other->text : n->path;
  // A constant that a strict capture found inside a container, such as self___list_0, is named
  // c___list_0.
  if (strncmp(path, contained, sizeof contained - 1) == 0) path += strlen("self_");
  if (n->role != IG_INPUT_USER) {
    (void)ig_name_of_path(prefixes[n->role], path, text, cap);
  } else {
    clean(path, text, cap);
  }
  for (char *p = text; *p; p++) *p = (char)tolower((unsigned char)*p);
  return text;
}

// The preferred name, or with _1, _2 ... appended if it is taken.
static bool choose(ig_ctx *c, ig_graph *g, ig_map *taken, const ig_map *shown, ig_node *n) {
  char text[NAME_MAX_LENGTH];
  char name[NAME_MAX_LENGTH + 24];
  const char *wish = wish_of(n, shown, text, sizeof text);
  (void)snprintf(name, sizeof name, "%s", wish);
  for (size_t k = 1; ig_map_find(taken, name); k++) {
    (void)snprintf(name, sizeof name, "%s_%zu", wish, k);
  }
  const char *kept = ig_graph_keep_text(c, g, name);
  ig_map_value *v = kept ? ig_map_put(taken, kept) : NULL;
  if (!v) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  v->ptr = n;
  if (strcmp(kept, n->name) == 0) return true;
  ig_map_value *old = ig_map_find(&g->names, n->name);
  if (old && old->ptr == n) old->ptr = NULL;
  set_name_text(n, kept);
  return true;
}

// User inputs are named first; a name that is taken gets a number appended, whatever it ends with.
bool ig_graph_rename_placeholders(ig_ctx *c, ig_graph *g, const ig_map *shown) {
  ig_map taken = ig_map_make(g->alloc);
  bool ok = true;
  size_t n = 0;
  for (int state = 0; state < 2 && ok; state++) {
    for (ig_node *p = g->first; p && ok && ig_node_is_placeholder(p); p = p->next) {
      if ((p->role != IG_INPUT_USER) != (state == 1)) continue;
      ok = choose(c, g, &taken, shown, p);
      n++;
    }
  }
  ig_map_free(&taken);
  g->unnamed = false;
  return ok && ig_graph_name_rest(c, g, n) && ig_graph_name_subs(c, g);
}

const char *ig_graph_keep_text(ig_ctx *c, ig_graph *g, const char *text) {
  ig_map_value *v = ig_map_find(&g->texts, text);
  if (v) return v->ptr;
  char *kept = ig_arena_strn(&g->arena, text, strlen(text));
  v = kept ? ig_map_put(&g->texts, kept) : NULL;
  if (!v) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  v->ptr = kept;
  return kept;
}
