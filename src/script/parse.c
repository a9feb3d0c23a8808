// SPDX-License-Identifier: Apache-2.0
// Statements, and what both halves of the parser stand on.
#include <string.h>

#include "base/limits.h"
#include "script/parser.h"

enum { HEIGHT_PER_DEPTH = 8 };

// ---- tokens and nodes

size_t ig_parser_start(const ig_parser *p) {
  return ig_parser_peek(p)->start;
}

bool ig_parser_take(ig_parser *p, ig_token_kind kind) {
  if (ig_parser_kind(p) != kind) return false;
  p->at++;
  return true;
}

void *ig_parser_unexpected(ig_parser *p, const char *what) {
  const ig_token *t = ig_parser_peek(p);
  size_t n = t->end - t->start;
  bool quote = n > 0 && n < 40 && t->kind > IG_TOKEN_DEDENT;
  (void)ig_syntax_error(
      p->c, (ig_srange){p->source, t->start, t->end}, "expected %s but found %s%.*s%s here", what,
      quote ? "'" : "", quote ? (int)n : (int)strlen(ig_token_text(t->kind)),
      quote ? p->source->text + t->start : ig_token_text(t->kind), quote ? "'" : "");
  return NULL;
}

bool ig_parser_expect(ig_parser *p, ig_token_kind kind) {
  if (ig_parser_take(p, kind)) return true;
  if (p->c->status == IG_OK) (void)ig_parser_unexpected(p, ig_token_text(kind));
  return false;
}

static void *too_deep(ig_parser *p) {
  if (p->c->status == IG_OK) {
    (void)ig_fail(p->c, IG_LIMIT, "nested more than %zu deep at line %zu", p->max_depth,
                  ig_srange_line((ig_srange){p->source, ig_parser_start(p), 0}));
  }
  return NULL;
}

bool ig_parser_enter(ig_parser *p) {
  return ++p->depth <= p->max_depth || too_deep(p);
}

void ig_parser_leave(ig_parser *p) {
  p->depth--;
}

ig_tree *ig_parser_node(ig_parser *p, ig_tree_kind kind, size_t start, size_t n,
                        ig_tree *const *at) {
  if (p->c->status != IG_OK) return NULL;
  ig_tree *t = ig_arena_push(p->arena, sizeof *t);
  ig_tree **children = n ? ig_arena_array(p->arena, n, sizeof(ig_tree *)) : NULL;
  if (!t || (n && !children)) {
    (void)ig_fail(p->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  if (n) memcpy(children, at, ig_mem_mul(n, sizeof(ig_tree *)));
  size_t end = p->at > 0 ? p->tokens.at[p->at - 1].end : start;
  size_t height = 0;
  for (size_t i = 0; i < n; i++) {
    if (at[i] && at[i]->height >= height) height = at[i]->height + 1;
  }
  *t = (ig_tree){.kind = kind,
                 .range = {p->source, start, end},
                 .text = "",
                 .n = n,
                 .at = children,
                 .height = height};
  // a + b + c ... is deep without being nested.
  return height <= HEIGHT_PER_DEPTH * p->max_depth ? t : too_deep(p);
}

ig_tree *ig_parser_node_of(ig_parser *p, ig_tree_kind kind, size_t start, ig_tree_vec *v) {
  ig_tree *t = ig_parser_node(p, kind, start, v->n, v->at);
  ig_vec_free(p->c->alloc, v);
  *v = (ig_tree_vec){0};
  return t;
}

bool ig_parser_push_maybe(ig_parser *p, ig_tree_vec *v, ig_tree *t) {
  if (p->c->status != IG_OK) return false;
  if (ig_vec_push(p->c->alloc, v, t)) return true;
  (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return false;
}

bool ig_parser_push(ig_parser *p, ig_tree_vec *v, ig_tree *t) {
  return t && ig_parser_push_maybe(p, v, t);
}

static ig_tree *set_text(ig_parser *p, ig_tree *t, const char *text, size_t n) {
  if (!t) return NULL;
  t->text = ig_arena_strn(p->arena, text, n);
  t->n_text = n;
  if (t->text) return t;
  (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return NULL;
}

ig_tree *ig_parser_name(ig_parser *p, ig_tree *t, size_t start, size_t n) {
  return set_text(p, t, p->source->text + start, n);
}

ig_tree *ig_parser_named(ig_parser *p, ig_tree_kind kind, size_t start, const char *text,
                         size_t n) {
  return set_text(p, ig_parser_node(p, kind, start, 0, NULL), text, n);
}

static ig_tree *set_name(ig_tree *t, const ig_tree *name) {
  if (!t || !name) return NULL;
  t->text = name->text;
  t->n_text = name->n_text;
  return t;
}

// ---- functions

// name: type = default, *args, **kwargs, a bare *.
static ig_tree *parse_parameter(ig_parser *p, bool types, bool *keyword_only) {
  size_t start = ig_parser_start(p);
  ig_token_kind op = *keyword_only ? IG_TOKEN_SEMICOLON : IG_TOKEN_NONE;
  if (ig_parser_kind(p) == IG_TOKEN_MUL || ig_parser_kind(p) == IG_TOKEN_POW) {
    op = ig_parser_kind(p);
    p->at++;
    *keyword_only = true;
  }
  ig_tree *name = ig_parse_name(p);
  ig_tree *parts[2] = {NULL, NULL};
  if (name && types && ig_parser_take(p, IG_TOKEN_COLON) && !(parts[0] = ig_parse_expr(p))) {
    return NULL;
  }
  if (name && ig_parser_take(p, IG_TOKEN_ASSIGN) && !(parts[1] = ig_parse_expr(p))) return NULL;
  ig_tree *t = name ? ig_parser_node(p, IG_TREE_PARAMETER, start, 2, parts) : NULL;
  if (t) t->op = op;
  return set_name(t, name);
}

static bool is_bare(const ig_parser *p, ig_token_kind kind, ig_token_kind end) {
  ig_token_kind next = p->at + 1 < p->tokens.n ? p->tokens.at[p->at + 1].kind : IG_TOKEN_END;
  return ig_parser_kind(p) == kind && (next == IG_TOKEN_COMMA || next == end);
}

// `x,  # type: int` is the annotation of x, as a quoted one.
static bool take_parameter_comment(ig_parser *p, const ig_tree_vec *v) {
  const ig_token *t = ig_parser_peek(p);
  if (!ig_parser_take(p, IG_TOKEN_TYPE_COMMENT)) return false;
  ig_tree *last = v->n ? v->at[v->n - 1] : NULL;
  if (!last || last->at[0]) return true;
  const char *text = p->source->text + t->start;
  size_t n = t->end - t->start;
  const char *colon = memchr(text, ':', n);
  size_t skip = colon ? (size_t)(colon - text) + 1 : n;
  while (skip < n && text[skip] == ' ') skip++;
  while (n > skip && text[n - 1] == ' ') n--;
  last->at[0] = ig_parser_named(p, IG_TREE_STRING, t->start + skip, text + skip, n - skip);
  return true;
}

ig_tree *ig_parse_parameters(ig_parser *p, ig_token_kind end, bool types) {
  size_t start = ig_parser_start(p);
  ig_tree_vec v = {0};
  bool keyword_only = false;
  bool ok = true;
  while (ok && ig_parser_kind(p) != end) {
    if (take_parameter_comment(p, &v)) continue;
    if (is_bare(p, IG_TOKEN_MUL, end)) {
      p->at++;
      keyword_only = true;
    } else if (is_bare(p, IG_TOKEN_DIV, end)) {
      p->at++;
    } else {
      ok = ig_parser_push(p, &v, parse_parameter(p, types, &keyword_only));
    }
    if (!ok || !ig_parser_take(p, IG_TOKEN_COMMA)) break;
  }
  while (ok && take_parameter_comment(p, &v)) continue;
  return ig_parser_node_of(p, IG_TREE_PARAMETERS, start, &v);
}

static ig_tree *parse_statement(ig_parser *p);

static bool parse_simple_line(ig_parser *p, ig_tree_vec *v);

// If one is next; false after an error.
static bool parse_type_comment(ig_parser *p, ig_tree_vec *v) {
  const ig_token *t = ig_parser_peek(p);
  if (!ig_parser_take(p, IG_TOKEN_TYPE_COMMENT)) return p->c->status == IG_OK;
  return ig_parser_push(p, v,
                        ig_parser_named(p, IG_TREE_TYPE_COMMENT, t->start,
                                        p->source->text + t->start, t->end - t->start));
}

// The statements behind a colon: on the same line, or indented below.
static ig_tree *parse_block(ig_parser *p) {
  if (!ig_parser_expect(p, IG_TOKEN_COLON)) return NULL;
  size_t start = ig_parser_start(p);
  ig_tree_vec v = {0};
  bool ok = parse_type_comment(p, &v);
  if (!ig_parser_take(p, IG_TOKEN_NEWLINE)) {
    if (ok) (void)parse_simple_line(p, &v);
    return ig_parser_node_of(p, IG_TREE_BLOCK, start, &v);
  }
  // `# type:` below the head of a function stands before the indentation.
  while (ok && ig_parser_kind(p) == IG_TOKEN_TYPE_COMMENT) {
    ok = parse_type_comment(p, &v) && ig_parser_expect(p, IG_TOKEN_NEWLINE);
  }
  ok = ok && ig_parser_expect(p, IG_TOKEN_INDENT) && ig_parser_enter(p);
  if (!ok) return ig_parser_node_of(p, IG_TREE_BLOCK, start, &v);
  while (ok && ig_parser_kind(p) != IG_TOKEN_DEDENT && ig_parser_kind(p) != IG_TOKEN_END) {
    ig_token_kind k = ig_parser_kind(p);
    bool simple = k != IG_TOKEN_IF && k != IG_TOKEN_WHILE && k != IG_TOKEN_FOR &&
                  k != IG_TOKEN_DEF && k != IG_TOKEN_CLASS && k != IG_TOKEN_WITH &&
                  k != IG_TOKEN_TRY && k != IG_TOKEN_MATMUL && k != IG_TOKEN_ASYNC;
    ok = simple ? parse_simple_line(p, &v) : ig_parser_push(p, &v, parse_statement(p));
  }
  ig_parser_leave(p);
  if (ok && ig_parser_kind(p) == IG_TOKEN_DEDENT) p->at++;
  return ig_parser_node_of(p, IG_TREE_BLOCK, start, &v);
}

static ig_tree *parse_def(ig_parser *p, size_t start, ig_tree_vec *decorators) {
  ig_tree *name = ig_parse_name(p);
  ig_tree_vec v = {0};
  bool ok = name && ig_parser_expect(p, IG_TOKEN_LPAREN);
  ok = ok && ig_parser_push(p, &v, ig_parse_parameters(p, IG_TOKEN_RPAREN, true));
  ok = ok && ig_parser_expect(p, IG_TOKEN_RPAREN);
  ig_tree *result = NULL;
  if (ok && ig_parser_take(p, IG_TOKEN_ARROW)) ok = (result = ig_parse_expr(p)) != NULL;
  ok = ok && ig_parser_push_maybe(p, &v, result);
  ok = ok && ig_parser_push(p, &v, parse_block(p));
  for (size_t i = 0; ok && i < decorators->n; i++) ok = ig_parser_push(p, &v, decorators->at[i]);
  return set_name(ig_parser_node_of(p, IG_TREE_DEF, start, &v), name);
}

static ig_tree *parse_class(ig_parser *p, size_t start, ig_tree_vec *decorators) {
  ig_tree *name = ig_parse_name(p);
  ig_tree_vec bases = {0};
  bool ok = name != NULL;
  if (ok && ig_parser_take(p, IG_TOKEN_LPAREN)) {
    while (ok && ig_parser_kind(p) != IG_TOKEN_RPAREN) {
      ok = ig_parser_push(p, &bases, ig_parse_argument(p));
      if (!ok || !ig_parser_take(p, IG_TOKEN_COMMA)) break;
    }
    ok = ok && ig_parser_expect(p, IG_TOKEN_RPAREN);
  }
  ig_tree_vec v = {0};
  ok = ok && ig_parser_push(p, &v, parse_block(p));
  for (size_t i = 0; ok && i < bases.n; i++) ok = ig_parser_push(p, &v, bases.at[i]);
  (void)decorators;  // of a class: nothing that a script can see
  ig_vec_free(p->c->alloc, &bases);
  return set_name(ig_parser_node_of(p, IG_TREE_CLASS, start, &v), name);
}

static ig_tree *parse_decorated(ig_parser *p, size_t start) {
  ig_tree_vec decorators = {0};
  bool ok = true;
  while (ok && ig_parser_take(p, IG_TOKEN_MATMUL)) {
    ok = ig_parser_push(p, &decorators, ig_parse_expr(p)) && ig_parser_expect(p, IG_TOKEN_NEWLINE);
  }
  ig_tree *t = NULL;
  (void)ig_parser_take(p, IG_TOKEN_ASYNC);
  size_t from = decorators.n ? ig_parser_start(p) : start;
  if (ok && ig_parser_take(p, IG_TOKEN_CLASS)) {
    t = parse_class(p, from, &decorators);
  } else if (ok && ig_parser_expect(p, IG_TOKEN_DEF)) {
    t = parse_def(p, from, &decorators);
  }
  ig_vec_free(p->c->alloc, &decorators);
  return t;
}

// ---- blocks

static ig_tree *parse_if(ig_parser *p, size_t start) {
  ig_tree *parts[3] = {ig_parse_exprs(p), NULL, NULL};
  if (!parts[0] || !(parts[1] = parse_block(p))) return NULL;
  size_t from = ig_parser_start(p);
  if (ig_parser_kind(p) == IG_TOKEN_ELIF) {
    p->at++;
    if (!ig_parser_enter(p)) return NULL;
    ig_tree *inner = parse_if(p, from);
    ig_parser_leave(p);
    parts[2] = inner ? ig_parser_node(p, IG_TREE_BLOCK, from, 1, &inner) : NULL;
    if (!parts[2]) return NULL;
  } else if (ig_parser_take(p, IG_TOKEN_ELSE) && !(parts[2] = parse_block(p))) {
    return NULL;
  }
  return ig_parser_node(p, IG_TREE_IF, start, 3, parts);
}

static ig_tree *parse_while(ig_parser *p, size_t start) {
  ig_tree *parts[3] = {ig_parse_exprs(p), NULL, NULL};
  if (!parts[0] || !(parts[1] = parse_block(p))) return NULL;
  if (ig_parser_take(p, IG_TOKEN_ELSE) && !(parts[2] = parse_block(p))) return NULL;
  return ig_parser_node(p, IG_TREE_WHILE, start, 3, parts);
}

static ig_tree *parse_for(ig_parser *p, size_t start) {
  ig_tree *parts[4] = {ig_parse_target(p), NULL, NULL, NULL};
  if (!parts[0] || !ig_parser_expect(p, IG_TOKEN_IN)) return NULL;
  if (!(parts[1] = ig_parse_exprs(p)) || !(parts[2] = parse_block(p))) return NULL;
  if (ig_parser_take(p, IG_TOKEN_ELSE) && !(parts[3] = parse_block(p))) return NULL;
  return ig_parser_node(p, IG_TREE_FOR, start, 4, parts);
}

static ig_tree *parse_item(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_tree *parts[2] = {ig_parse_expr(p), NULL};
  if (!parts[0]) return NULL;
  if (ig_parser_take(p, IG_TOKEN_AS) && !(parts[1] = ig_parse_expr(p))) return NULL;
  return ig_parser_node(p, IG_TREE_ITEM, start, 2, parts);
}

static ig_tree *parse_with(ig_parser *p, size_t start) {
  ig_tree_vec v = {0};
  ig_tree_vec items = {0};
  bool ok = true;
  do {
    ok = ig_parser_push(p, &items, parse_item(p));
  } while (ok && ig_parser_take(p, IG_TOKEN_COMMA));
  ok = ok && ig_parser_push(p, &v, parse_block(p));
  for (size_t i = 0; ok && i < items.n; i++) ok = ig_parser_push(p, &v, items.at[i]);
  ig_vec_free(p->c->alloc, &items);
  return ig_parser_node_of(p, IG_TREE_WITH, start, &v);
}

static ig_tree *parse_handler(ig_parser *p) {
  size_t start = ig_parser_start(p);
  p->at++;
  ig_tree *parts[3] = {NULL, NULL, NULL};
  (void)ig_parser_take(p, IG_TOKEN_MUL);
  if (ig_parser_kind(p) != IG_TOKEN_COLON && !(parts[0] = ig_parse_exprs(p))) return NULL;
  if (ig_parser_take(p, IG_TOKEN_AS) && !(parts[1] = ig_parse_name(p))) return NULL;
  if (!(parts[2] = parse_block(p))) return NULL;
  return ig_parser_node(p, IG_TREE_HANDLER, start, 3, parts);
}

static ig_tree *parse_try(ig_parser *p, size_t start) {
  ig_tree_vec handlers = {0};
  ig_tree *parts[3] = {parse_block(p), NULL, NULL};
  bool ok = parts[0] != NULL;
  while (ok && ig_parser_kind(p) == IG_TOKEN_EXCEPT) {
    ok = ig_parser_push(p, &handlers, parse_handler(p));
  }
  if (ok && ig_parser_take(p, IG_TOKEN_ELSE)) ok = (parts[1] = parse_block(p)) != NULL;
  if (ok && ig_parser_take(p, IG_TOKEN_FINALLY)) ok = (parts[2] = parse_block(p)) != NULL;
  ig_tree_vec v = {0};
  for (size_t i = 0; ok && i < 3; i++) ok = ig_parser_push_maybe(p, &v, parts[i]);
  for (size_t i = 0; ok && i < handlers.n; i++) ok = ig_parser_push(p, &v, handlers.at[i]);
  ig_vec_free(p->c->alloc, &handlers);
  return ig_parser_node_of(p, IG_TREE_TRY, start, &v);
}

// ---- simple statements

static ig_token_kind augmented(ig_token_kind k) {
  switch (k) {
    case IG_TOKEN_ADD_ASSIGN:
      return IG_TOKEN_ADD;
    case IG_TOKEN_SUB_ASSIGN:
      return IG_TOKEN_SUB;
    case IG_TOKEN_MUL_ASSIGN:
      return IG_TOKEN_MUL;
    case IG_TOKEN_DIV_ASSIGN:
      return IG_TOKEN_DIV;
    case IG_TOKEN_MOD_ASSIGN:
      return IG_TOKEN_MOD;
    case IG_TOKEN_MATMUL_ASSIGN:
      return IG_TOKEN_MATMUL;
    case IG_TOKEN_AND_ASSIGN:
      return IG_TOKEN_BIT_AND;
    case IG_TOKEN_OR_ASSIGN:
      return IG_TOKEN_BIT_OR;
    case IG_TOKEN_XOR_ASSIGN:
      return IG_TOKEN_BIT_XOR;
    case IG_TOKEN_LSHIFT_ASSIGN:
      return IG_TOKEN_LSHIFT;
    case IG_TOKEN_RSHIFT_ASSIGN:
      return IG_TOKEN_RSHIFT;
    case IG_TOKEN_POW_ASSIGN:
      return IG_TOKEN_POW;
    case IG_TOKEN_FLOOR_ASSIGN:
      return IG_TOKEN_FLOOR;
    default:
      return IG_TOKEN_END;
  }
}

static bool is_target(const ig_tree *t) {
  switch (t->kind) {
    case IG_TREE_NAME:
    case IG_TREE_ATTRIBUTE:
    case IG_TREE_SUBSCRIPT:
      return true;
    case IG_TREE_STARRED:
      return is_target(t->at[0]);
    case IG_TREE_TUPLE:
    case IG_TREE_LIST:
      for (size_t i = 0; i < t->n; i++) {
        if (!is_target(t->at[i])) return false;
      }
      return true;
    default:
      return false;
  }
}

static bool check_target(ig_parser *p, const ig_tree *t) {
  if (!t || is_target(t)) return t != NULL;
  (void)ig_syntax_error(p->c, t->range, "cannot assign to this expression");
  return false;
}

// target = target = value
static ig_tree *parse_assign(ig_parser *p, size_t start, ig_tree *first) {
  ig_tree_vec v = {0};
  ig_tree *last = first;
  bool ok = ig_parser_push_maybe(p, &v, first);  // the value takes this place
  while (ok && ig_parser_take(p, IG_TOKEN_ASSIGN)) {
    ok = check_target(p, last) && ig_parser_push(p, &v, last);
    last = ok ? ig_parse_exprs(p) : NULL;
    ok = ok && last;
  }
  if (ok) v.at[0] = last;
  return ig_parser_node_of(p, IG_TREE_ASSIGN, start, &v);
}

static ig_tree *parse_expression_statement(ig_parser *p, size_t start) {
  ig_tree *e = ig_parse_exprs(p);
  if (!e) return NULL;
  ig_token_kind k = ig_parser_kind(p);
  if (k == IG_TOKEN_ASSIGN) return parse_assign(p, start, e);
  if (k == IG_TOKEN_COLON) {
    p->at++;
    ig_tree *parts[3] = {e, check_target(p, e) ? ig_parse_expr(p) : NULL, NULL};
    if (!parts[1]) return NULL;
    if (ig_parser_take(p, IG_TOKEN_ASSIGN) && !(parts[2] = ig_parse_exprs(p))) return NULL;
    return ig_parser_node(p, IG_TREE_ANNOTATED, start, 3, parts);
  }
  if (augmented(k) != IG_TOKEN_END) {
    p->at++;
    ig_tree *parts[2] = {e, check_target(p, e) ? ig_parse_exprs(p) : NULL};
    ig_tree *t = parts[1] ? ig_parser_node(p, IG_TREE_AUGMENTED, start, 2, parts) : NULL;
    if (t) t->op = augmented(k);
    return t;
  }
  return ig_parser_node(p, IG_TREE_EXPRESSION, start, 1, &e);
}

static bool ends_statement(const ig_parser *p) {
  ig_token_kind k = ig_parser_kind(p);
  return k == IG_TOKEN_NEWLINE || k == IG_TOKEN_END || k == IG_TOKEN_SEMICOLON ||
         k == IG_TOKEN_TYPE_COMMENT;
}

static ig_tree *parse_raise(ig_parser *p, size_t start) {
  ig_tree *parts[2] = {NULL, NULL};
  if (!ends_statement(p) && !(parts[0] = ig_parse_expr(p))) return NULL;
  if (ig_parser_take(p, IG_TOKEN_FROM) && !(parts[1] = ig_parse_expr(p))) return NULL;
  return ig_parser_node(p, IG_TREE_RAISE, start, 2, parts);
}

static ig_tree *parse_assert(ig_parser *p, size_t start) {
  ig_tree *parts[2] = {ig_parse_expr(p), NULL};
  if (!parts[0]) return NULL;
  if (ig_parser_take(p, IG_TOKEN_COMMA) && !(parts[1] = ig_parse_expr(p))) return NULL;
  return ig_parser_node(p, IG_TREE_ASSERT, start, 2, parts);
}

static ig_tree *parse_names(ig_parser *p, ig_tree_kind kind, size_t start) {
  ig_tree_vec v = {0};
  bool ok = true;
  do {
    ok = ig_parser_push(p, &v, ig_parse_name(p));
  } while (ok && ig_parser_take(p, IG_TOKEN_COMMA));
  return ig_parser_node_of(p, kind, start, &v);
}

static ig_tree *parse_delete(ig_parser *p, size_t start) {
  ig_tree_vec v = {0};
  bool ok = true;
  do {
    ig_tree *t = ig_parse_expr(p);
    ok = check_target(p, t) && ig_parser_push(p, &v, t);
  } while (ok && ig_parser_take(p, IG_TOKEN_COMMA) && !ends_statement(p));
  return ig_parser_node_of(p, IG_TREE_DELETE, start, &v);
}

// a.b.c as name
static ig_tree *parse_alias(ig_parser *p) {
  size_t start = ig_parser_start(p);
  bool star = ig_parser_take(p, IG_TOKEN_MUL);
  bool ok = star || ig_parse_name(p);
  while (ok && !star && ig_parser_take(p, IG_TOKEN_DOT)) ok = ig_parse_name(p) != NULL;
  if (!ok) return NULL;
  size_t end = p->tokens.at[p->at - 1].end;
  ig_tree *as = NULL;
  if (ig_parser_take(p, IG_TOKEN_AS) && !(as = ig_parse_name(p))) return NULL;
  return ig_parser_name(p, ig_parser_node(p, IG_TREE_ALIAS, start, 1, &as), start, end - start);
}

static bool parse_aliases(ig_parser *p, ig_tree_vec *v) {
  bool brackets = ig_parser_take(p, IG_TOKEN_LPAREN);
  do {
    if (!ig_parser_push(p, v, parse_alias(p))) return false;
  } while (ig_parser_take(p, IG_TOKEN_COMMA) && ig_parser_kind(p) != IG_TOKEN_RPAREN);
  return !brackets || ig_parser_expect(p, IG_TOKEN_RPAREN);
}

static ig_tree *parse_import(ig_parser *p, size_t start, bool from) {
  ig_tree_vec v = {0};
  size_t begin = ig_parser_start(p);
  bool ok = true;
  while (from && (ig_parser_kind(p) == IG_TOKEN_DOT || ig_parser_kind(p) == IG_TOKEN_ELLIPSIS)) {
    p->at++;
  }
  if (from && ig_parser_kind(p) == IG_TOKEN_NAME) ok = parse_alias(p) != NULL;
  size_t end = p->tokens.at[p->at - 1].end;
  if (from) ok = ok && ig_parser_expect(p, IG_TOKEN_IMPORT);
  (void)(ok && parse_aliases(p, &v));
  ig_tree *t = ig_parser_node_of(p, from ? IG_TREE_IMPORT_FROM : IG_TREE_IMPORT, start, &v);
  return from && end >= begin ? ig_parser_name(p, t, begin, end - begin) : t;
}

static ig_tree *parse_return(ig_parser *p, size_t start) {
  ig_tree *value = NULL;
  if (!ends_statement(p) && !(value = ig_parse_exprs(p))) return NULL;
  return ig_parser_node(p, IG_TREE_RETURN, start, 1, &value);
}

static ig_tree *parse_simple(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_token_kind k = ig_parser_kind(p);
  p->at++;
  switch (k) {
    case IG_TOKEN_RETURN:
      return parse_return(p, start);
    case IG_TOKEN_RAISE:
      return parse_raise(p, start);
    case IG_TOKEN_ASSERT:
      return parse_assert(p, start);
    case IG_TOKEN_PASS:
      return ig_parser_node(p, IG_TREE_PASS, start, 0, NULL);
    case IG_TOKEN_BREAK:
      return ig_parser_node(p, IG_TREE_BREAK, start, 0, NULL);
    case IG_TOKEN_CONTINUE:
      return ig_parser_node(p, IG_TREE_CONTINUE, start, 0, NULL);
    case IG_TOKEN_DEL:
      return parse_delete(p, start);
    case IG_TOKEN_GLOBAL:
      return parse_names(p, IG_TREE_GLOBAL, start);
    case IG_TOKEN_NONLOCAL:
      return parse_names(p, IG_TREE_NONLOCAL, start);
    case IG_TOKEN_IMPORT:
      return parse_import(p, start, false);
    case IG_TOKEN_FROM:
      return parse_import(p, start, true);
    default:
      p->at--;
      return parse_expression_statement(p, start);
  }
}

// Statements up to the end of the line, and a type comment behind them.
static bool parse_simple_line(ig_parser *p, ig_tree_vec *v) {
  bool ok = true;
  if (ig_parser_kind(p) != IG_TOKEN_TYPE_COMMENT) {
    do {
      ok = ig_parser_push(p, v, parse_simple(p));
    } while (ok && ig_parser_take(p, IG_TOKEN_SEMICOLON) && !ends_statement(p));
  }
  return ok && parse_type_comment(p, v) && ig_parser_expect(p, IG_TOKEN_NEWLINE);
}

static ig_tree *parse_compound(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_token_kind k = ig_parser_kind(p);
  if (k == IG_TOKEN_ASYNC && p->at + 1 < p->tokens.n) {
    ig_token_kind next = p->tokens.at[p->at + 1].kind;
    if (next == IG_TOKEN_FOR || next == IG_TOKEN_WITH) {
      p->at++;
      k = next;
    }
  }
  switch (k) {
    case IG_TOKEN_IF:
      p->at++;
      return parse_if(p, start);
    case IG_TOKEN_WHILE:
      p->at++;
      return parse_while(p, start);
    case IG_TOKEN_FOR:
      p->at++;
      return parse_for(p, start);
    case IG_TOKEN_WITH:
      p->at++;
      return parse_with(p, start);
    case IG_TOKEN_TRY:
      p->at++;
      return parse_try(p, start);
    default:
      return parse_decorated(p, start);
  }
}

static ig_tree *parse_statement(ig_parser *p) {
  if (!ig_parser_enter(p)) return NULL;
  ig_tree *t = parse_compound(p);
  ig_parser_leave(p);
  return t;
}

// ---- entry points

static bool open_parser(ig_ctx *c, ig_arena *arena, const ig_source *source, ig_parser *p) {
  ig_limits limits = ig_ctx_limits(c);
  *p = (ig_parser){.c = c, .arena = arena, .source = source, .max_depth = limits.max_depth};
  return ig_tokens_read(c, arena, source, &p->tokens) == IG_OK;
}

ig_tree *ig_tree_parse(ig_ctx *c, ig_arena *arena, const ig_source *source) {
  ig_parser p;
  if (c->status != IG_OK || !open_parser(c, arena, source, &p)) return NULL;
  ig_tree_vec v = {0};
  bool ok = true;
  while (ok && ig_parser_kind(&p) != IG_TOKEN_END) {
    ig_token_kind k = ig_parser_kind(&p);
    if (k == IG_TOKEN_NEWLINE) {
      p.at++;
    } else if (k == IG_TOKEN_DEF || k == IG_TOKEN_CLASS || k == IG_TOKEN_MATMUL ||
               k == IG_TOKEN_IF || k == IG_TOKEN_WHILE || k == IG_TOKEN_FOR || k == IG_TOKEN_WITH ||
               k == IG_TOKEN_TRY || k == IG_TOKEN_ASYNC) {
      ok = ig_parser_push(&p, &v, parse_statement(&p));
    } else {
      ok = parse_simple_line(&p, &v);
    }
  }
  return ig_parser_node_of(&p, IG_TREE_BLOCK, 0, &v);
}

ig_tree *ig_tree_parse_expression(ig_ctx *c, ig_arena *arena, const ig_source *source) {
  ig_parser p;
  if (c->status != IG_OK || !open_parser(c, arena, source, &p)) return NULL;
  ig_tree *t = ig_parse_exprs(&p);
  if (!t) return NULL;
  (void)ig_parser_take(&p, IG_TOKEN_NEWLINE);
  return ig_parser_kind(&p) == IG_TOKEN_END ? t : ig_parser_unexpected(&p, "the end");
}

// ---- printing

const char *ig_tree_kind_text(ig_tree_kind kind) {
  static const char *const texts[] = {
#define X(name) #name,
      IG_TREE_LIST(X)
#undef X
  };
  return texts[kind];
}

void ig_tree_print(ig_str *s, const ig_tree *t) {
  if (!t) {
    ig_str_add(s, "-");
    return;
  }
  ig_str_add(s, "(%s", ig_tree_kind_text(t->kind));
  bool op = t->kind == IG_TREE_UNARY || t->kind == IG_TREE_BINARY || t->kind == IG_TREE_COMPARE ||
            t->kind == IG_TREE_AUGMENTED;
  if (op) ig_str_add(s, " %s", ig_token_text(t->op));
  if (t->kind == IG_TREE_INT) ig_str_add(s, " %lld", (long long)t->i);
  if (t->kind == IG_TREE_FLOAT || t->kind == IG_TREE_IMAGINARY) {
    ig_str_add(s, " ");
    ig_str_float(s, t->f);
  }
  if (t->kind == IG_TREE_STRING || t->kind == IG_TREE_BYTES) {
    ig_str_add(s, " '%s'", t->text);
  } else if (t->text[0] && t->kind != IG_TREE_INT && t->kind != IG_TREE_FLOAT &&
             t->kind != IG_TREE_IMAGINARY) {
    ig_str_add(s, " %s", t->text);
  }
  for (size_t i = 0; i < t->n; i++) {
    ig_str_add(s, " ");
    ig_tree_print(s, t->at[i]);
  }
  ig_str_add(s, ")");
}
