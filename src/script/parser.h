// SPDX-License-Identifier: Apache-2.0
// What the two halves of the parser share: expressions (parse_expr.c) and statements (parse.c).
#ifndef SCRIPT_PARSER_H_
#define SCRIPT_PARSER_H_

#include "script/tree.h"

// Children of a node while it is read.
typedef IG_VEC(ig_tree *) ig_tree_vec;

typedef struct ig_parser {
  ig_ctx *c;
  ig_arena *arena;
  const ig_source *source;
  ig_tokens tokens;
  size_t at;
  size_t depth;
  size_t max_depth;
} ig_parser;

static inline const ig_token *ig_parser_peek(const ig_parser *p) {
  return &p->tokens.at[p->at];
}
static inline ig_token_kind ig_parser_kind(const ig_parser *p) {
  return ig_parser_peek(p)->kind;
}
bool ig_parser_take(ig_parser *p, ig_token_kind kind);    // if it is next
bool ig_parser_expect(ig_parser *p, ig_token_kind kind);  // false: an error
void *ig_parser_unexpected(ig_parser *p, const char *what);
size_t ig_parser_start(const ig_parser *p);  // of the next token

// Everything below gives NULL after an error and takes NULL for "there was an error".
ig_tree *ig_parser_node(ig_parser *p, ig_tree_kind kind, size_t start, size_t n,
                        ig_tree *const *at);
// Takes the children over; frees the vector.
ig_tree *ig_parser_node_of(ig_parser *p, ig_tree_kind kind, size_t start, ig_tree_vec *v);
bool ig_parser_push_maybe(ig_parser *p, ig_tree_vec *v, ig_tree *t);  // the child may be absent
bool ig_parser_push(ig_parser *p, ig_tree_vec *v, ig_tree *t);  // false: NULL, or out of memory
ig_tree *ig_parser_named(ig_parser *p, ig_tree_kind kind, size_t start, const char *text, size_t n);
// Names a node by n bytes of the source.
ig_tree *ig_parser_name(ig_parser *p, ig_tree *t, size_t start, size_t n);
bool ig_parser_enter(ig_parser *p);  // false: too deep
void ig_parser_leave(ig_parser *p);

ig_tree *ig_parse_name(ig_parser *p);
ig_tree *ig_parse_expr(ig_parser *p);    // one expression, no bare tuple
ig_tree *ig_parse_exprs(ig_parser *p);   // a, b is a TUPLE
ig_tree *ig_parse_target(ig_parser *p);  // of a for or a comprehension: stops at `in`
ig_tree *ig_parse_parameters(ig_parser *p, ig_token_kind end, bool types);
ig_tree *ig_parse_argument(ig_parser *p);  // of a call
ig_tree *ig_parse_string(ig_parser *p);

#endif
