// SPDX-License-Identifier: Apache-2.0
// Expressions, by precedence climbing.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/parser.h"

static ig_token_kind kind_of(const ig_parser *p) {
  return ig_parser_kind(p);
}

static ig_token_kind kind_after(const ig_parser *p) {
  return p->at + 1 < p->tokens.n ? p->tokens.at[p->at + 1].kind : IG_TOKEN_END;
}

ig_tree *ig_parse_name(ig_parser *p) {
  const ig_token *t = ig_parser_peek(p);
  if (t->kind != IG_TOKEN_NAME) return ig_parser_unexpected(p, "ident");
  p->at++;
  return ig_parser_named(p, IG_TREE_NAME, t->start, p->source->text + t->start, t->end - t->start);
}

// ---- numbers

// The digits without underscores, in the arena.
static char *number_text(ig_parser *p, const ig_token *t) {
  char *text = ig_arena_strn(p->arena, p->source->text + t->start, t->end - t->start);
  if (!text) {
    (void)ig_fail(p->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  size_t n = 0;
  for (size_t i = 0; text[i]; i++) {
    if (text[i] != '_') text[n++] = text[i];
  }
  text[n] = '\0';
  return text;
}

static ig_tree *parse_number(ig_parser *p) {
  const ig_token *t = ig_parser_peek(p);
  ig_srange range = {p->source, t->start, t->end};
  char *text = number_text(p, t);
  p->at++;
  ig_tree *n = ig_parser_node(p, IG_TREE_INT, t->start, 0, NULL);
  if (!text || !n) return NULL;
  n->text = text;
  char *end = NULL;
  errno = 0;
  if (t->kind == IG_TOKEN_IMAGINARY) {
    n->kind = IG_TREE_IMAGINARY;
    n->f = strtod(text, &end);
    return n;
  }
  bool prefix = text[0] == '0' && text[1] && strchr("xXoObB", text[1]);
  if (!prefix && strpbrk(text, ".eE")) {
    n->kind = IG_TREE_FLOAT;
    n->f = strtod(text, &end);
    return n;
  }
  int base = !prefix ? 10 : strchr("xX", text[1]) ? 16 : strchr("oO", text[1]) ? 8 : 2;
  n->i = strtoll(text + (prefix ? 2 : 0), &end, base);
  if (*end || end == text + (prefix ? 2 : 0)) {
    return (void)ig_syntax_error(p->c, range, "invalid number '%s'", text), NULL;
  }
  if (errno == ERANGE) n->kind = IG_TREE_BIG_INT;
  return n;
}

// ---- brackets

// What follows the first element in brackets: `for` makes a comprehension.
static bool parse_generators(ig_parser *p, ig_tree_vec *v) {
  while (kind_of(p) == IG_TOKEN_FOR || kind_of(p) == IG_TOKEN_ASYNC) {
    size_t start = ig_parser_start(p);
    (void)ig_parser_take(p, IG_TOKEN_ASYNC);
    if (!ig_parser_expect(p, IG_TOKEN_FOR)) return false;
    ig_tree_vec parts = {0};
    bool ok = ig_parser_push(p, &parts, ig_parse_target(p)) && ig_parser_expect(p, IG_TOKEN_IN);
    // `for i in a if b`: the values end before `if`, so a bare ternary cannot stand there.
    ok = ok && ig_parser_push(p, &parts, ig_parse_expr(p));
    while (ok && ig_parser_take(p, IG_TOKEN_IF)) ok = ig_parser_push(p, &parts, ig_parse_expr(p));
    if (!ig_parser_push(p, v, ig_parser_node_of(p, IG_TREE_GENERATOR, start, &parts)) || !ok) {
      return false;
    }
  }
  return true;
}

static ig_tree *parse_element(ig_parser *p) {
  size_t start = ig_parser_start(p);
  if (ig_parser_take(p, IG_TOKEN_MUL)) {
    ig_tree *value = ig_parse_expr(p);
    return ig_parser_node(p, IG_TREE_STARRED, start, 1, &value);
  }
  ig_tree *e = ig_parse_expr(p);
  if (!e || !ig_parser_take(p, IG_TOKEN_WALRUS)) return e;
  ig_tree *both[] = {e, ig_parse_expr(p)};
  return ig_parser_node(p, IG_TREE_NAMED, start, 2, both);
}

// ( ... ) and [ ... ], the opening bracket taken.
static ig_tree *parse_sequence(ig_parser *p, size_t start, ig_token_kind end, ig_tree_kind plain,
                               ig_tree_kind comprehension) {
  ig_tree_vec v = {0};
  bool comma = false;
  bool ok = true;
  while (ok && kind_of(p) != end) {
    ok = ig_parser_push(p, &v, parse_element(p));
    if (ok && v.n == 1 && (kind_of(p) == IG_TOKEN_FOR || kind_of(p) == IG_TOKEN_ASYNC)) {
      (void)(parse_generators(p, &v) && ig_parser_expect(p, end));
      return ig_parser_node_of(p, comprehension, start, &v);
    }
    if (!ok || !ig_parser_take(p, IG_TOKEN_COMMA)) break;
    comma = true;
  }
  if (ok) ok = ig_parser_expect(p, end);
  if (ok && end == IG_TOKEN_RPAREN && v.n == 1 && !comma) {
    ig_tree *only = v.at[0];
    ig_vec_free(p->c->alloc, &v);
    return only;
  }
  return ig_parser_node_of(p, plain, start, &v);
}

// { ... }: a dict or a set, the bracket taken.
static ig_tree *parse_braces(ig_parser *p, size_t start) {
  ig_tree_vec v = {0};
  bool set = false;
  bool ok = true;
  while (ok && kind_of(p) != IG_TOKEN_RBRACE) {
    size_t from = ig_parser_start(p);
    if (ig_parser_take(p, IG_TOKEN_POW)) {
      ig_tree *value = ig_parse_expr(p);
      ok = ig_parser_push(p, &v, ig_parser_node(p, IG_TREE_MAPPING, from, 1, &value)) &&
           ig_parser_push_maybe(p, &v, NULL);
    } else {
      ok = ig_parser_push(p, &v, parse_element(p));
      bool pair = ok && !set && ig_parser_take(p, IG_TOKEN_COLON);
      set = set || !pair;
      if (pair) ok = ig_parser_push(p, &v, ig_parse_expr(p));
    }
    size_t one = set ? 1 : 2;
    if (ok && v.n == one && (kind_of(p) == IG_TOKEN_FOR || kind_of(p) == IG_TOKEN_ASYNC)) {
      (void)(parse_generators(p, &v) && ig_parser_expect(p, IG_TOKEN_RBRACE));
      return ig_parser_node_of(p, set ? IG_TREE_SET_COMP : IG_TREE_DICT_COMP, start, &v);
    }
    if (!ok || !ig_parser_take(p, IG_TOKEN_COMMA)) break;
  }
  if (ok) (void)ig_parser_expect(p, IG_TOKEN_RBRACE);
  return ig_parser_node_of(p, set ? IG_TREE_SET : IG_TREE_DICT, start, &v);
}

// ---- calls and subscripts

ig_tree *ig_parse_argument(ig_parser *p) {
  size_t start = ig_parser_start(p);
  if (ig_parser_take(p, IG_TOKEN_POW)) {
    ig_tree *value = ig_parse_expr(p);
    return ig_parser_node(p, IG_TREE_MAPPING, start, 1, &value);
  }
  if (kind_of(p) != IG_TOKEN_NAME || kind_after(p) != IG_TOKEN_ASSIGN) return parse_element(p);
  ig_tree *name = ig_parse_name(p);
  p->at++;
  ig_tree *value = ig_parse_expr(p);
  ig_tree *k = ig_parser_node(p, IG_TREE_KEYWORD, start, 1, &value);
  if (!k || !name) return NULL;
  k->text = name->text;
  k->n_text = name->n_text;
  return k;
}

static ig_tree *parse_call(ig_parser *p, size_t start, ig_tree *callee) {
  ig_tree_vec v = {0};
  bool ok = ig_parser_push(p, &v, callee);
  while (ok && kind_of(p) != IG_TOKEN_RPAREN) {
    size_t from = ig_parser_start(p);
    ig_tree *a = ig_parse_argument(p);
    if (a && (kind_of(p) == IG_TOKEN_FOR || kind_of(p) == IG_TOKEN_ASYNC)) {  // f(i for i in x)
      ig_tree_vec parts = {0};
      (void)(ig_parser_push(p, &parts, a) && parse_generators(p, &parts));
      a = ig_parser_node_of(p, IG_TREE_GENERATOR_EXP, from, &parts);
    }
    ok = ig_parser_push(p, &v, a);
    if (!ok || !ig_parser_take(p, IG_TOKEN_COMMA)) break;
  }
  if (ok) (void)ig_parser_expect(p, IG_TOKEN_RPAREN);
  return ig_parser_node_of(p, IG_TREE_CALL, start, &v);
}

static bool ends_slice(const ig_parser *p) {
  ig_token_kind k = kind_of(p);
  return k == IG_TOKEN_COLON || k == IG_TOKEN_COMMA || k == IG_TOKEN_RBRACKET;
}

static ig_tree *parse_index(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_tree *parts[3] = {NULL, NULL, NULL};
  if (kind_of(p) != IG_TOKEN_COLON) {
    parts[0] = parse_element(p);
    if (!parts[0] || kind_of(p) != IG_TOKEN_COLON) return parts[0];
  }
  for (int i = 1; i < 3 && ig_parser_take(p, IG_TOKEN_COLON); i++) {
    if (!ends_slice(p) && !(parts[i] = ig_parse_expr(p))) return NULL;
  }
  return ig_parser_node(p, IG_TREE_SLICE, start, 3, parts);
}

static ig_tree *parse_subscript(ig_parser *p, size_t start, ig_tree *value) {
  ig_tree_vec v = {0};
  size_t from = ig_parser_start(p);
  bool comma = false;
  bool ok = true;
  do {
    ok = ig_parser_push(p, &v, parse_index(p));
    bool more = ok && ig_parser_take(p, IG_TOKEN_COMMA);
    comma = comma || more;
    if (!more) break;
  } while (kind_of(p) != IG_TOKEN_RBRACKET);
  ig_tree *both[] = {value, NULL};
  if (ok && !comma) {
    both[1] = v.at[0];
    ig_vec_free(p->c->alloc, &v);
  } else {
    both[1] = ig_parser_node_of(p, IG_TREE_TUPLE, from, &v);
  }
  if (!both[1] || !ig_parser_expect(p, IG_TOKEN_RBRACKET)) return NULL;
  return ig_parser_node(p, IG_TREE_SUBSCRIPT, start, 2, both);
}

// ---- atoms

static ig_tree *parse_lambda(ig_parser *p, size_t start) {
  ig_tree *both[2] = {ig_parse_parameters(p, IG_TOKEN_COLON, false), NULL};
  if (!both[0] || !ig_parser_expect(p, IG_TOKEN_COLON)) return NULL;
  both[1] = ig_parse_expr(p);
  return both[1] ? ig_parser_node(p, IG_TREE_LAMBDA, start, 2, both) : NULL;
}

static ig_tree *parse_yield(ig_parser *p, size_t start) {
  bool from = ig_parser_take(p, IG_TOKEN_FROM);
  ig_token_kind k = kind_of(p);
  bool bare = k == IG_TOKEN_RPAREN || k == IG_TOKEN_NEWLINE || k == IG_TOKEN_ASSIGN;
  ig_tree *value = bare ? NULL : ig_parse_exprs(p);
  if (!bare && !value) return NULL;
  ig_tree *t = ig_parser_node(p, IG_TREE_YIELD, start, 1, &value);
  if (t) t->op = from ? IG_TOKEN_FROM : IG_TOKEN_NONE;
  return t;
}

static ig_tree *parse_atom(ig_parser *p) {
  size_t start = ig_parser_start(p);
  switch (kind_of(p)) {
    case IG_TOKEN_NAME:
      return ig_parse_name(p);
    case IG_TOKEN_NUMBER:
    case IG_TOKEN_IMAGINARY:
      return parse_number(p);
    case IG_TOKEN_STRING:
      return ig_parse_string(p);
    case IG_TOKEN_LPAREN:
      p->at++;
      return parse_sequence(p, start, IG_TOKEN_RPAREN, IG_TREE_TUPLE, IG_TREE_GENERATOR_EXP);
    case IG_TOKEN_LBRACKET:
      p->at++;
      return parse_sequence(p, start, IG_TOKEN_RBRACKET, IG_TREE_LIST, IG_TREE_LIST_COMP);
    case IG_TOKEN_LBRACE:
      p->at++;
      return parse_braces(p, start);
    case IG_TOKEN_TRUE:
      p->at++;
      return ig_parser_node(p, IG_TREE_TRUE, start, 0, NULL);
    case IG_TOKEN_FALSE:
      p->at++;
      return ig_parser_node(p, IG_TREE_FALSE, start, 0, NULL);
    case IG_TOKEN_NONE:
      p->at++;
      return ig_parser_node(p, IG_TREE_NONE, start, 0, NULL);
    case IG_TOKEN_ELLIPSIS:
      p->at++;
      return ig_parser_node(p, IG_TREE_ELLIPSIS, start, 0, NULL);
    case IG_TOKEN_LAMBDA:
      p->at++;
      return parse_lambda(p, start);
    case IG_TOKEN_YIELD:
      p->at++;
      return parse_yield(p, start);
    default:
      return ig_parser_unexpected(p, "an expression");
  }
}

static ig_tree *parse_attribute(ig_parser *p, size_t start, ig_tree *value) {
  const ig_token *t = ig_parser_peek(p);
  // A keyword is a name behind a dot: x.is, ops.prim.None.
  bool name = t->kind == IG_TOKEN_NAME || t->kind >= IG_TOKEN_AND;
  if (!name || t->kind >= IG_TOKEN_IS_NOT) return ig_parser_unexpected(p, "ident");
  p->at++;
  ig_tree *a = ig_parser_node(p, IG_TREE_ATTRIBUTE, start, 1, &value);
  return ig_parser_name(p, a, t->start, t->end - t->start);
}

static ig_tree *parse_postfix(ig_parser *p) {
  size_t start = ig_parser_start(p);
  bool await = ig_parser_take(p, IG_TOKEN_AWAIT);
  ig_tree *e = parse_atom(p);
  while (e) {
    if (ig_parser_take(p, IG_TOKEN_DOT)) {
      e = parse_attribute(p, start, e);
    } else if (ig_parser_take(p, IG_TOKEN_LPAREN)) {
      e = parse_call(p, start, e);
    } else if (ig_parser_take(p, IG_TOKEN_LBRACKET)) {
      e = parse_subscript(p, start, e);
    } else {
      break;
    }
  }
  return await && e ? ig_parser_node(p, IG_TREE_AWAIT, start, 1, &e) : e;
}

// ---- operators

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_UNARY = 11, LEVEL_POW };

static int level_of(ig_token_kind k) {
  switch (k) {
    case IG_TOKEN_OR:
      return LEVEL_OR;
    case IG_TOKEN_AND:
      return LEVEL_AND;
    case IG_TOKEN_IN:
    case IG_TOKEN_IS:
    case IG_TOKEN_NOT:  // not in
    case IG_TOKEN_LT:
    case IG_TOKEN_GT:
    case IG_TOKEN_LE:
    case IG_TOKEN_GE:
    case IG_TOKEN_EQ:
    case IG_TOKEN_NE:
      return LEVEL_COMPARE;
    case IG_TOKEN_BIT_OR:
      return 5;
    case IG_TOKEN_BIT_XOR:
      return 6;
    case IG_TOKEN_BIT_AND:
      return 7;
    case IG_TOKEN_LSHIFT:
    case IG_TOKEN_RSHIFT:
      return 8;
    case IG_TOKEN_ADD:
    case IG_TOKEN_SUB:
      return 9;
    case IG_TOKEN_MUL:
    case IG_TOKEN_DIV:
    case IG_TOKEN_FLOOR:
    case IG_TOKEN_MOD:
    case IG_TOKEN_MATMUL:
      return 10;
    case IG_TOKEN_POW:
      return LEVEL_POW;
    default:
      return 0;
  }
}

static ig_tree *parse_level(ig_parser *p, int level);

static ig_tree *unary(ig_parser *p, int level) {
  size_t start = ig_parser_start(p);
  ig_token_kind op = kind_of(p);
  p->at++;
  ig_tree *value = parse_level(p, level);
  ig_tree *t = ig_parser_node(p, IG_TREE_UNARY, start, 1, &value);
  if (t) t->op = op;
  return t;
}

static ig_tree *parse_operand(ig_parser *p, int level) {
  switch (kind_of(p)) {
    case IG_TOKEN_NOT:
      // A sign or a power has no `not` inside.
      return level > LEVEL_NOT ? ig_parser_unexpected(p, "an expression") : unary(p, LEVEL_NOT);
    case IG_TOKEN_SUB:
    case IG_TOKEN_ADD:
    case IG_TOKEN_BIT_NOT:
      return unary(p, LEVEL_UNARY);
    default:
      return parse_postfix(p);
  }
}

// `is not` and `not in` are one operator.
static ig_token_kind take_operator(ig_parser *p) {
  ig_token_kind op = kind_of(p);
  p->at++;
  if (op == IG_TOKEN_IS && ig_parser_take(p, IG_TOKEN_NOT)) return IG_TOKEN_IS_NOT;
  if (op == IG_TOKEN_NOT) return ig_parser_expect(p, IG_TOKEN_IN) ? IG_TOKEN_NOT_IN : op;
  return op;
}

static ig_tree *binary(ig_parser *p, ig_token_kind op, int level, size_t start, ig_tree *left,
                       ig_tree *right) {
  ig_tree_kind kind = level == LEVEL_OR        ? IG_TREE_OR
                      : level == LEVEL_AND     ? IG_TREE_AND
                      : level == LEVEL_COMPARE ? IG_TREE_COMPARE
                                               : IG_TREE_BINARY;
  ig_tree *both[] = {left, right};
  ig_tree *t = left && right ? ig_parser_node(p, kind, start, 2, both) : NULL;
  if (t) t->op = op;
  return t;
}

// a < b < c is a < b and b < c.
static ig_tree *chain(ig_parser *p, size_t start, ig_tree *left, ig_tree *last) {
  while (left && last && level_of(kind_of(p)) == LEVEL_COMPARE) {
    ig_token_kind op = take_operator(p);
    ig_tree *next = parse_level(p, LEVEL_COMPARE + 1);
    left = binary(p, IG_TOKEN_AND, LEVEL_AND, start, left,
                  binary(p, op, LEVEL_COMPARE, last->range.start, last, next));
    last = next;
  }
  return left;
}

// Operators that bind at least as strongly as `level`.
static ig_tree *parse_level(ig_parser *p, int level) {
  if (!ig_parser_enter(p)) return NULL;
  size_t start = ig_parser_start(p);
  ig_tree *left = parse_operand(p, level);
  while (left) {
    int own = level_of(kind_of(p));
    bool not_in = kind_of(p) == IG_TOKEN_NOT && kind_after(p) != IG_TOKEN_IN;
    if (own == 0 || own < level || not_in) break;
    ig_token_kind op = take_operator(p);
    // The power groups to the right, and takes a sign behind it.
    ig_tree *right = parse_level(p, own == LEVEL_POW ? LEVEL_UNARY : own + 1);
    left = binary(p, op, own, start, left, right);
    if (own == LEVEL_COMPARE) left = chain(p, start, left, right);
  }
  ig_parser_leave(p);
  return left;
}

ig_tree *ig_parse_expr(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_tree *value = parse_level(p, LEVEL_OR);
  // In a comprehension `if` begins a condition; there no ternary stands without brackets.
  if (!value || kind_of(p) != IG_TOKEN_IF) return value;
  size_t before = p->at++;
  ig_tree *condition = parse_level(p, LEVEL_OR);
  if (condition && kind_of(p) != IG_TOKEN_ELSE) {
    p->at = before;
    return value;
  }
  if (!condition || !ig_parser_expect(p, IG_TOKEN_ELSE)) return NULL;
  ig_tree *parts[] = {condition, value, ig_parse_expr(p)};
  return parts[2] ? ig_parser_node(p, IG_TREE_TERNARY, start, 3, parts) : NULL;
}

static bool ends_expressions(const ig_parser *p) {
  switch (kind_of(p)) {
    case IG_TOKEN_NEWLINE:
    case IG_TOKEN_END:
    case IG_TOKEN_ASSIGN:
    case IG_TOKEN_COLON:
    case IG_TOKEN_RPAREN:
    case IG_TOKEN_RBRACKET:
    case IG_TOKEN_RBRACE:
    case IG_TOKEN_SEMICOLON:
    case IG_TOKEN_TYPE_COMMENT:
    case IG_TOKEN_IN:
      return true;
    default:
      return false;
  }
}

static ig_tree *parse_tuple(ig_parser *p, ig_tree *(*element)(ig_parser *)) {
  size_t start = ig_parser_start(p);
  ig_tree *first = element(p);
  if (!first || kind_of(p) != IG_TOKEN_COMMA) return first;
  ig_tree_vec v = {0};
  bool ok = ig_parser_push(p, &v, first);
  while (ok && ig_parser_take(p, IG_TOKEN_COMMA) && !ends_expressions(p)) {
    ok = ig_parser_push(p, &v, element(p));
  }
  return ig_parser_node_of(p, IG_TREE_TUPLE, start, &v);
}

ig_tree *ig_parse_exprs(ig_parser *p) {
  return parse_tuple(p, parse_element);
}

static ig_tree *parse_target_element(ig_parser *p) {
  size_t start = ig_parser_start(p);
  bool starred = ig_parser_take(p, IG_TOKEN_MUL);
  ig_tree *e = parse_level(p, LEVEL_COMPARE + 1);
  return starred ? ig_parser_node(p, IG_TREE_STARRED, start, 1, &e) : e;
}

ig_tree *ig_parse_target(ig_parser *p) {
  return parse_tuple(p, parse_target_element);
}
