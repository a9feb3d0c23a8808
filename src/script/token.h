// SPDX-License-Identifier: Apache-2.0
// The lexer: Python's tokens with indentation, out of one source.
#ifndef SCRIPT_TOKEN_H_
#define SCRIPT_TOKEN_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "script/source.h"

// Tokens that have one spelling, longest first among those that begin alike.
#define IG_TOKEN_SYMBOLS(X) \
  X(POW_ASSIGN, "**=")      \
  X(FLOOR_ASSIGN, "//=")    \
  X(LSHIFT_ASSIGN, "<<=")   \
  X(RSHIFT_ASSIGN, ">>=")   \
  X(ELLIPSIS, "...")        \
  X(POW, "**")              \
  X(FLOOR, "//")            \
  X(LSHIFT, "<<")           \
  X(RSHIFT, ">>")           \
  X(LE, "<=")               \
  X(GE, ">=")               \
  X(EQ, "==")               \
  X(NE, "!=")               \
  X(ARROW, "->")            \
  X(WALRUS, ":=")           \
  X(ADD_ASSIGN, "+=")       \
  X(SUB_ASSIGN, "-=")       \
  X(MUL_ASSIGN, "*=")       \
  X(DIV_ASSIGN, "/=")       \
  X(MOD_ASSIGN, "%=")       \
  X(MATMUL_ASSIGN, "@=")    \
  X(AND_ASSIGN, "&=")       \
  X(OR_ASSIGN, "|=")        \
  X(XOR_ASSIGN, "^=")       \
  X(LT, "<")                \
  X(GT, ">")                \
  X(ASSIGN, "=")            \
  X(ADD, "+")               \
  X(SUB, "-")               \
  X(MUL, "*")               \
  X(DIV, "/")               \
  X(MOD, "%")               \
  X(MATMUL, "@")            \
  X(BIT_AND, "&")           \
  X(BIT_OR, "|")            \
  X(BIT_XOR, "^")           \
  X(BIT_NOT, "~")           \
  X(LPAREN, "(")            \
  X(RPAREN, ")")            \
  X(LBRACKET, "[")          \
  X(RBRACKET, "]")          \
  X(LBRACE, "{")            \
  X(RBRACE, "}")            \
  X(COMMA, ",")             \
  X(COLON, ":")             \
  X(DOT, ".")               \
  X(SEMICOLON, ";")

#define IG_TOKEN_KEYWORDS(X) \
  X(AND, "and")              \
  X(AS, "as")                \
  X(ASSERT, "assert")        \
  X(ASYNC, "async")          \
  X(AWAIT, "await")          \
  X(BREAK, "break")          \
  X(CLASS, "class")          \
  X(CONTINUE, "continue")    \
  X(DEF, "def")              \
  X(DEL, "del")              \
  X(ELIF, "elif")            \
  X(ELSE, "else")            \
  X(EXCEPT, "except")        \
  X(FALSE, "False")          \
  X(FINALLY, "finally")      \
  X(FOR, "for")              \
  X(FROM, "from")            \
  X(GLOBAL, "global")        \
  X(IF, "if")                \
  X(IMPORT, "import")        \
  X(IN, "in")                \
  X(IS, "is")                \
  X(LAMBDA, "lambda")        \
  X(NONE, "None")            \
  X(NONLOCAL, "nonlocal")    \
  X(NOT, "not")              \
  X(OR, "or")                \
  X(PASS, "pass")            \
  X(RAISE, "raise")          \
  X(RETURN, "return")        \
  X(TRUE, "True")            \
  X(TRY, "try")              \
  X(WHILE, "while")          \
  X(WITH, "with")            \
  X(YIELD, "yield")

typedef enum ig_token_kind {
  IG_TOKEN_END,
  IG_TOKEN_NEWLINE,
  IG_TOKEN_INDENT,
  IG_TOKEN_DEDENT,
  IG_TOKEN_NAME,
  IG_TOKEN_NUMBER,        // 3, 0x1f, 2.5e3
  IG_TOKEN_IMAGINARY,     // 2j
  IG_TOKEN_STRING,        // with prefix and quotes, as written
  IG_TOKEN_TYPE_COMMENT,  // # type: (Tensor) -> int
#define X(name, text) IG_TOKEN_##name,
  IG_TOKEN_SYMBOLS(X) IG_TOKEN_KEYWORDS(X)
#undef X
  // Made of two tokens by the parser.
  IG_TOKEN_IS_NOT,
  IG_TOKEN_NOT_IN,
  IG_TOKEN_COUNT
} ig_token_kind;

typedef struct ig_token {
  ig_token_kind kind;
  size_t start;
  size_t end;
} ig_token;

typedef struct ig_tokens {
  ig_token *at;  // the last one is IG_TOKEN_END
  size_t n;
} ig_tokens;

const char *ig_token_text(ig_token_kind kind);  // "+", "and", "newline"

// All tokens of a source, in the arena. IG_SYNTAX quotes the place.
IG_MUST_USE ig_status ig_tokens_read(ig_ctx *c, ig_arena *arena, const ig_source *source,
                                     ig_tokens *out);

// The tokens of one expression, [start, end) of the source.
IG_MUST_USE ig_status ig_tokens_read_part(ig_ctx *c, ig_arena *arena, ig_srange part,
                                          ig_tokens *out);

// Fails the context with a message and the place quoted below it. Returns IG_SYNTAX.
ig_status ig_syntax_error(ig_ctx *c, ig_srange where, const char *fmt, ...) IG_PRINTF(3, 4);

#endif
