// SPDX-License-Identifier: Apache-2.0
// Parsing expressions: SymPy's infix form and its tree form (srepr), in any mixture.
//
//   or, and, not; relations; |; &; + -; * / // %; unary - ~; **; name(arguments), (...), numbers
//
// Texts come from files: nesting, length of numbers and the size of what they build are limited,
// and errors say what was found where.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sym/build.h"

enum { MAX_NESTING = 200, MAX_NAME = 64 };

typedef struct parser {
  ig_ctx *c;
  const char *text;
  const char *at;
  int nesting;
} parser;

static const ig_expr *parse_or(parser *p);

static const ig_expr *refuse(parser *p, const char *expected) {
  if (p->c->status == IG_OK) {
    char found[24] = "the end";
    size_t n = 0;
    while (n < 16 && p->at[n]) n++;
    if (n) {
      found[0] = '\'';
      memcpy(found + 1, p->at, n);
      memcpy(found + 1 + n, "'", 2);
    }
    (void)ig_fail(p->c, IG_INVALID, "expression, character %zu: expected %s, found %s",
                  (size_t)(p->at - p->text), expected, found);
  }
  return NULL;
}

static void skip_space(parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n') p->at++;
}

static bool accept(parser *p, const char *token) {
  skip_space(p);
  size_t n = strlen(token);
  if (strncmp(p->at, token, n) != 0) return false;
  p->at += n;
  return true;
}

static bool is_name_char(char ch) {
  return isalnum((unsigned char)ch) || ch == '_';
}

static bool accept_word(parser *p, const char *word) {
  skip_space(p);
  size_t n = strlen(word);
  if (strncmp(p->at, word, n) != 0 || is_name_char(p->at[n])) return false;
  p->at += n;
  return true;
}

static bool expect(parser *p, const char *token) {
  if (accept(p, token)) return true;
  (void)refuse(p, token);
  return false;
}

static const ig_expr *parse_number(parser *p) {
  const char *start = p->at;
  ig_wide v = 0;
  bool fits = true;
  for (; isdigit((unsigned char)*p->at); p->at++) {
    fits = fits && ig_wide_mul(v, 10, &v) && ig_wide_add(v, *p->at - '0', &v);
  }
  bool is_float = *p->at == '.' || *p->at == 'e' || *p->at == 'E';
  if (is_float) {
    char *end = NULL;
    double f = strtod(start, &end);
    if (end - start > 64 || end <= start || is_name_char(*end) || !isfinite(f)) {
      p->at = start;
      return refuse(p, "a number");
    }
    p->at = end;
    return ig_expr_of_float(p->c, f);
  }
  if (!fits || v == IG_WIDE_MAX || is_name_char(*p->at)) {
    p->at = start;
    return refuse(p, "an integer of at most 38 digits");
  }
  return ig_expr_of_wide(p->c, v);
}

// 'text' or "text"; the contents must be short and plain.
static bool parse_quoted(parser *p, char *out) {
  skip_space(p);
  char quote = *p->at;
  size_t n = 0;
  if (quote != '\'' && quote != '"') {
    (void)refuse(p, "a quoted text");
    return false;
  }
  p->at++;
  for (; *p->at && *p->at != quote && n + 1 < MAX_NAME; p->at++) out[n++] = *p->at;
  out[n] = '\0';
  if (*p->at != quote || n == 0) {
    (void)refuse(p, "a quoted text of at most 63 characters");
    return false;
  }
  p->at++;
  return true;
}

// Words of the grammar, which would not read back as the name of a symbol.
static bool is_reserved(const char *name) {
  static const char *const words[] = {"not",  "and",   "or", "True",   "False",
                                      "true", "false", "oo", "int_oo", "nan"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(name, words[i]) == 0) return true;
  return false;
}

static bool is_plain_name(const char *name) {
  if (is_reserved(name)) return false;
  if (!isalpha((unsigned char)*name) && *name != '_') return false;
  for (; *name; name++) {
    if (!is_name_char(*name)) return false;
  }
  return true;
}

// Symbol('s0', positive=True, integer=True)
static const ig_expr *parse_symbol(parser *p) {
  char name[MAX_NAME];
  if (!parse_quoted(p, name)) return NULL;
  if (!is_plain_name(name)) return refuse(p, "a symbol's name of letters, digits and _");
  ig_symbol_info info = {.sort = IG_SORT_FLOAT};
  while (accept(p, ",")) {
    bool positive = accept_word(p, "positive");
    bool integer = !positive && accept_word(p, "integer");
    skip_space(p);
    if (!positive && !integer && !isalpha((unsigned char)*p->at)) {
      return refuse(p, "an assumption like positive=True");
    }
    while (is_name_char(*p->at)) p->at++;  // real, nonnegative ...: ignored
    if (!expect(p, "=")) return NULL;
    bool yes = accept_word(p, "True");
    if (!yes && !accept_word(p, "False")) return refuse(p, "True or False");
    if (positive) info.positive = yes;
    if (integer && yes) info.sort = IG_SORT_INT;
  }
  if (!expect(p, ")")) return NULL;
  info.range = info.sort == IG_SORT_FLOAT
                   ? ig_vrange_all(IG_SORT_FLOAT)
                   : ig_vrange_ints(info.positive ? 1 : IG_WIDE_MIN, IG_WIDE_MAX);
  return ig_expr_symbol(p->c, name, &info);
}

// Float('2.0', precision=53)
static const ig_expr *parse_float(parser *p) {
  char digits[MAX_NAME];
  char *end = NULL;
  if (!parse_quoted(p, digits)) return NULL;
  double f = strtod(digits, &end);
  if (*end || !isfinite(f)) return refuse(p, "the digits of a float");
  if (accept(p, ",") && (!accept_word(p, "precision") || !expect(p, "=") || !parse_number(p))) {
    return refuse(p, "precision=53");
  }
  return expect(p, ")") ? ig_expr_of_float(p->c, f) : NULL;
}

static const ig_expr *divided(parser *p, const ig_expr *a, const ig_expr *b) {
  ig_num k;
  if (!ig_expr_is_number(b) || !ig_num_div(ig_num_int(1), ig_expr_num(b), &k)) {
    return refuse(p, "a number other than 0 as divisor before this");
  }
  return ig_build_scaled(p->c, k, a);
}

static bool parse_arguments(parser *p, ig_list *l, bool pairs) {
  if (accept(p, ")")) return true;
  do {
    bool pair = pairs && (accept_word(p, "ExprCondPair"), accept(p, "("));
    if (pairs && !pair) {
      (void)refuse(p, "(value, condition)");
      return false;
    }
    if (!ig_list_push(p->c, l, parse_or(p))) return false;
    if (pair && (!expect(p, ",") || !ig_list_push(p->c, l, parse_or(p)) || !expect(p, ")"))) {
      return false;
    }
  } while (accept(p, ","));
  return expect(p, ")");
}

static bool find_kind(const char *name, ig_expr_kind *kind) {
  static const struct {
    const char *name;
    ig_expr_kind kind;
  } others[] = {{"Eq", IG_EXPR_EQ},   {"Ne", IG_EXPR_NE},   {"Lt", IG_EXPR_LT},
                {"Le", IG_EXPR_LE},   {"Gt", IG_EXPR_GT},   {"Ge", IG_EXPR_GE},
                {"abs", IG_EXPR_ABS}, {"max", IG_EXPR_MAX}, {"min", IG_EXPR_MIN}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(others[i].name, name) == 0) {
      *kind = others[i].kind;
      return true;
    }
  }
  for (int k = IG_EXPR_ADD; k < IG_EXPR_KINDS; k++) {
    if (strcmp(ig_expr_kind_text((ig_expr_kind)k), name) == 0) {
      *kind = (ig_expr_kind)k;
      return true;
    }
  }
  return false;
}

static const ig_expr *parse_call(parser *p, const char *name, const char *start) {
  ig_expr_kind kind = IG_EXPR_ADD;
  if (strcmp(name, "Symbol") == 0) return parse_symbol(p);
  if (strcmp(name, "Float") == 0) return parse_float(p);
  bool integer = strcmp(name, "Integer") == 0;
  bool rational = strcmp(name, "Rational") == 0;
  if (!integer && !rational && !find_kind(name, &kind)) {
    p->at = start;
    return refuse(p, "a function of symbolic expressions");
  }
  ig_list l;
  ig_list_init(&l, p->c);
  const ig_expr *e = NULL;
  if (parse_arguments(p, &l, kind == IG_EXPR_PIECEWISE)) {
    if (integer || rational) {
      bool fits = l.n == (integer ? 1 : 2);
      for (size_t i = 0; fits && i < l.n; i++) fits = l.at[i]->kind == IG_EXPR_CONST;
      e = !fits     ? refuse(p, "integers inside the parentheses before this")
          : integer ? l.at[0]
                    : divided(p, l.at[0], l.at[1]);
    } else {
      e = ig_expr_make(p->c, kind, l.at, l.n);
    }
  }
  ig_list_free(&l);
  return e;
}

static const ig_expr *parse_name(parser *p) {
  char name[MAX_NAME];
  const char *start = p->at;
  size_t n = 0;
  while (is_name_char(p->at[n])) n++;
  if (n >= MAX_NAME) return refuse(p, "a name of at most 63 characters");
  memcpy(name, p->at, n);
  name[n] = '\0';
  p->at += n;
  if (accept(p, "(")) return parse_call(p, name, start);
  if (strcmp(name, "True") == 0 || strcmp(name, "true") == 0) return ig_expr_of_bool(p->c, true);
  if (strcmp(name, "False") == 0 || strcmp(name, "false") == 0) return ig_expr_of_bool(p->c, false);
  if (strcmp(name, "oo") == 0 || strcmp(name, "int_oo") == 0 || strcmp(name, "nan") == 0) {
    p->at = start;
    return refuse(p, "a finite number");
  }
  if (is_reserved(name)) {
    p->at = start;
    return refuse(p, "a number, a symbol or a function");
  }
  return ig_expr_symbol(p->c, name, NULL);
}

static const ig_expr *parse_atom(parser *p) {
  skip_space(p);
  if (accept(p, "(")) {
    const ig_expr *e = parse_or(p);
    return e && expect(p, ")") ? e : NULL;
  }
  if (isdigit((unsigned char)*p->at) || *p->at == '.') return parse_number(p);
  if (isalpha((unsigned char)*p->at) || *p->at == '_') return parse_name(p);
  return refuse(p, "a number, a symbol or a function");
}

static const ig_expr *parse_unary(parser *p);

static const ig_expr *parse_power(parser *p) {
  const ig_expr *base = parse_atom(p);
  if (!base || !accept(p, "**")) return base;
  const ig_expr *k = parse_unary(p);
  if (!k) return NULL;
  bool constant = k->kind == IG_EXPR_CONST;
  return ig_expr_make2(p->c, constant ? IG_EXPR_POW : IG_EXPR_POW_NATURAL, base, k);
}

static const ig_expr *parse_unary(parser *p) {
  if (++p->nesting > MAX_NESTING) return refuse(p, "fewer nested operations (200)");
  const ig_expr *e = NULL;
  skip_space(p);
  if (*p->at == '-' || *p->at == '+' || *p->at == '~') {
    char op = *p->at++;
    e = parse_unary(p);
    if (e && op != '+') e = ig_expr_make1(p->c, op == '-' ? IG_EXPR_NEG : IG_EXPR_NOT, e);
  } else {
    e = parse_power(p);
  }
  p->nesting--;
  return e;
}

// The factors so far become one.
static bool fold_factors(parser *p, ig_list *l) {
  const ig_expr *e = ig_expr_make(p->c, IG_EXPR_MUL, l->at, l->n);
  l->n = 0;
  return ig_list_push(p->c, l, e);
}

// Parses another operator and its operand; *more: there was one.
static bool parse_factor(parser *p, ig_list *l, bool *more) {
  skip_space(p);
  *more = true;
  if (accept(p, "//") || accept(p, "%")) {
    bool floor = p->at[-1] == '/';
    if (!fold_factors(p, l)) return false;
    const ig_expr *b = parse_unary(p);
    if (!b) return false;
    l->at[0] =
        ig_expr_make2(p->c, floor ? IG_EXPR_FLOORDIV : ig_mod_kind(l->at[0], b), l->at[0], b);
    return l->at[0] != NULL;
  }
  if (p->at[0] == '*' && p->at[1] != '*') {
    p->at++;
    return ig_list_push(p->c, l, parse_unary(p));
  }
  if (accept(p, "/")) {
    const ig_expr *b = parse_unary(p);
    const ig_expr *one = ig_expr_of_i64(p->c, 1);
    return b && one && ig_list_push(p->c, l, divided(p, one, b));
  }
  *more = false;
  return true;
}

// The factors of a product are multiplied at once, so that 2*(a + b)*c keeps its coefficient, and a
// minus in front is a factor as well.
static const ig_expr *parse_product(parser *p) {
  ig_list l;
  ig_list_init(&l, p->c);
  skip_space(p);
  bool ok = true;
  bool more = true;
  while (ok && *p->at == '-') {
    p->at++;
    skip_space(p);
    ok = ig_list_push(p->c, &l, ig_expr_of_i64(p->c, -1));
  }
  size_t minus = l.n;
  const ig_expr *first = ok ? parse_unary(p) : NULL;
  ok = first && ig_list_push(p->c, &l, first);
  bool boolean = ok && first->sort == IG_SORT_BOOL && minus == 0;
  while (ok && more) ok = parse_factor(p, &l, &more);
  const ig_expr *e = !ok                   ? NULL
                     : boolean && l.n == 1 ? first
                                           : ig_expr_make(p->c, IG_EXPR_MUL, l.at, l.n);
  ig_list_free(&l);
  return e;
}

static const ig_expr *parse_sum(parser *p) {
  const ig_expr *e = parse_product(p);
  while (e) {
    bool plus = accept(p, "+");
    if (!plus && !accept(p, "-")) break;
    e = ig_expr_make2(p->c, plus ? IG_EXPR_ADD : IG_EXPR_SUB, e, parse_product(p));
  }
  return e;
}

static const ig_expr *parse_ampersand(parser *p) {
  const ig_expr *e = parse_sum(p);
  while (e && accept(p, "&")) e = ig_expr_make2(p->c, IG_EXPR_AND, e, parse_sum(p));
  return e;
}

static const ig_expr *parse_bar(parser *p) {
  const ig_expr *e = parse_ampersand(p);
  while (e && accept(p, "|")) e = ig_expr_make2(p->c, IG_EXPR_OR, e, parse_ampersand(p));
  return e;
}

static const ig_expr *parse_relation(parser *p) {
  static const struct {
    const char *token;
    ig_expr_kind kind;
  } ops[] = {{"<=", IG_EXPR_LE}, {">=", IG_EXPR_GE}, {"==", IG_EXPR_EQ},
             {"!=", IG_EXPR_NE}, {"<", IG_EXPR_LT},  {">", IG_EXPR_GT}};
  const ig_expr *e = parse_bar(p);
  for (size_t i = 0; e && i < sizeof ops / sizeof *ops; i++) {
    if (accept(p, ops[i].token)) return ig_expr_make2(p->c, ops[i].kind, e, parse_bar(p));
  }
  return e;
}

static const ig_expr *parse_not(parser *p) {
  int count = 0;
  while (accept_word(p, "not")) count++;
  const ig_expr *e = parse_relation(p);
  return e && count % 2 ? ig_expr_make1(p->c, IG_EXPR_NOT, e) : e;
}

static const ig_expr *parse_and(parser *p) {
  const ig_expr *e = parse_not(p);
  while (e && accept_word(p, "and")) e = ig_expr_make2(p->c, IG_EXPR_AND, e, parse_not(p));
  return e;
}

static const ig_expr *parse_or(parser *p) {
  if (++p->nesting > MAX_NESTING) return refuse(p, "fewer nested operations (200)");
  const ig_expr *e = parse_and(p);
  while (e && accept_word(p, "or")) e = ig_expr_make2(p->c, IG_EXPR_OR, e, parse_and(p));
  p->nesting--;
  return e;
}

const ig_expr *ig_expr_parse(ig_ctx *c, const char *text) {
  parser p = {.c = c, .text = text, .at = text};
  if (!ig_expr_table(c)) return NULL;
  const ig_expr *e = parse_or(&p);
  skip_space(&p);
  if (e && *p.at) return refuse(&p, "the end");
  return e;
}
