// SPDX-License-Identifier: Apache-2.0
#include "script/token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_INDENTS = 128, TAB_STOP = 8 };

const char *ig_token_text(ig_token_kind kind) {
  static const char *const texts[IG_TOKEN_COUNT] = {[IG_TOKEN_END] = "end of file",
                                                    [IG_TOKEN_NEWLINE] = "newline",
                                                    [IG_TOKEN_INDENT] = "indent",
                                                    [IG_TOKEN_DEDENT] = "dedent",
                                                    [IG_TOKEN_NAME] = "ident",
                                                    [IG_TOKEN_NUMBER] = "number",
                                                    [IG_TOKEN_IMAGINARY] = "complex_number",
                                                    [IG_TOKEN_STRING] = "string_literal",
                                                    [IG_TOKEN_TYPE_COMMENT] = "type comment",
                                                    [IG_TOKEN_IS_NOT] = "is not",
                                                    [IG_TOKEN_NOT_IN] = "not in",
#define X(name, text) [IG_TOKEN_##name] = text,
                                                    IG_TOKEN_SYMBOLS(X) IG_TOKEN_KEYWORDS(X)
#undef X
  };
  return texts[kind];
}

ig_status ig_syntax_error(ig_ctx *c, ig_srange where, const char *fmt, ...) {
  if (c->status != IG_OK) return c->status;
  ig_str quoted = ig_str_make(c->alloc);
  ig_srange_quote(&quoted, where, NULL);
  va_list ap;
  va_start(ap, fmt);
  int length = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  size_t room = (size_t)(length > 0 ? length : 0) + 1;
  char *message = ig_mem_new(c->alloc, room);
  va_start(ap, fmt);
  if (message) (void)vsnprintf(message, room, fmt, ap);
  va_end(ap);
  ig_fail_text(c, IG_SYNTAX, "\n%s:\n%s", message ? message : "", quoted.at ? quoted.at : "");
  ig_mem_free(c->alloc, message, room);
  ig_str_free(&quoted);
  return c->status;
}

// ---- the lexer

typedef struct lexer {
  ig_ctx *c;
  const ig_source *source;
  const char *text;
  size_t n;
  size_t at;
  int brackets;  // open ones: lines are joined
  size_t indents[MAX_INDENTS];
  size_t depth;
  IG_VEC(ig_token) tokens;
} lexer;

static char peek(const lexer *x, size_t ahead) {
  return x->at + ahead < x->n ? x->text[x->at + ahead] : '\0';
}

static bool is_name_start(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (ch & 0x80) != 0;
}
static bool is_digit(char ch) {
  return ch >= '0' && ch <= '9';
}
static bool is_name_part(char ch) {
  return is_name_start(ch) || is_digit(ch);
}

static ig_srange range_at(const lexer *x, size_t start, size_t end) {
  return (ig_srange){x->source, start, end};
}

static bool emit(lexer *x, ig_token_kind kind, size_t start) {
  ig_token t = {kind, start, x->at};
  if (ig_vec_push(x->c->alloc, &x->tokens, t)) return true;
  (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return false;
}

static bool has_prefix(const lexer *x, const char *text) {
  size_t n = strlen(text);
  return n <= x->n - x->at && memcmp(x->text + x->at, text, n) == 0;
}

// # type: ... is a token, other comments are nothing. `# type: ignore` is one of the others.
static bool comment(lexer *x) {
  size_t start = x->at;
  while (x->at < x->n && peek(x, 0) != '\n') x->at++;
  size_t i = start + 1;
  while (i < x->at && x->text[i] == ' ') i++;
  bool type = x->at - i >= 5 && memcmp(x->text + i, "type:", 5) == 0;
  for (i += 5; type && i < x->at && x->text[i] == ' '; i++) continue;
  bool ignore = type && x->at - i >= 6 && memcmp(x->text + i, "ignore", 6) == 0;
  return !type || ignore || emit(x, IG_TOKEN_TYPE_COMMENT, start);
}

static bool is_string_start(const lexer *x) {
  size_t i = 0;
  while (i < 2 && strchr("rRbBuUfF", peek(x, i)) && peek(x, i)) i++;
  return peek(x, i) == '"' || peek(x, i) == '\'';
}

static bool string(lexer *x) {
  size_t start = x->at;
  while (peek(x, 0) != '"' && peek(x, 0) != '\'') x->at++;
  char quote = peek(x, 0);
  bool triple = peek(x, 1) == quote && peek(x, 2) == quote;
  x->at += triple ? 3 : 1;
  for (;;) {
    if (x->at >= x->n || (!triple && peek(x, 0) == '\n')) {
      (void)ig_syntax_error(x->c, range_at(x, start, x->at), "unterminated string literal");
      return false;
    }
    bool twice = peek(x, 1) == quote && peek(x, 2) == quote;
    if (peek(x, 0) == quote && (!triple || twice)) break;
    x->at += peek(x, 0) == '\\' && x->at + 1 < x->n ? 2 : 1;
  }
  x->at += triple ? 3 : 1;
  return emit(x, IG_TOKEN_STRING, start);
}

static void digits(lexer *x) {
  while (is_digit(peek(x, 0)) || (peek(x, 0) == '_' && is_digit(peek(x, 1)))) x->at++;
}

static bool number(lexer *x) {
  size_t start = x->at;
  if (peek(x, 0) == '0' && strchr("xXoObB", peek(x, 1)) && peek(x, 1)) {
    x->at += 2;
    while (is_name_part(peek(x, 0))) x->at++;
    return emit(x, IG_TOKEN_NUMBER, start);
  }
  digits(x);
  if (peek(x, 0) == '.') {
    x->at++;
    digits(x);
  }
  char e = peek(x, 0);
  size_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';
  if ((e == 'e' || e == 'E') && is_digit(peek(x, 1 + sign))) {
    x->at += 1 + sign;
    digits(x);
  }
  bool imaginary = peek(x, 0) == 'j' || peek(x, 0) == 'J';
  x->at += imaginary;
  return emit(x, imaginary ? IG_TOKEN_IMAGINARY : IG_TOKEN_NUMBER, start);
}

static bool name(lexer *x) {
  static const struct {
    ig_token_kind kind;
    const char *text;
  } keywords[] = {
#define X(name, text) {IG_TOKEN_##name, text},
      IG_TOKEN_KEYWORDS(X)
#undef X
  };
  size_t start = x->at;
  while (is_name_part(peek(x, 0))) x->at++;
  size_t n = x->at - start;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    if (strlen(keywords[i].text) == n && memcmp(x->text + start, keywords[i].text, n) == 0) {
      return emit(x, keywords[i].kind, start);
    }
  }
  return emit(x, IG_TOKEN_NAME, start);
}

static bool symbol(lexer *x) {
  static const struct {
    ig_token_kind kind;
    const char *text;
  } symbols[] = {
#define X(name, text) {IG_TOKEN_##name, text},
      IG_TOKEN_SYMBOLS(X)
#undef X
  };
  size_t start = x->at;
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    if (!has_prefix(x, symbols[i].text)) continue;
    ig_token_kind kind = symbols[i].kind;
    x->at += strlen(symbols[i].text);
    bool opens = kind == IG_TOKEN_LPAREN || kind == IG_TOKEN_LBRACKET || kind == IG_TOKEN_LBRACE;
    bool closes = kind == IG_TOKEN_RPAREN || kind == IG_TOKEN_RBRACKET || kind == IG_TOKEN_RBRACE;
    x->brackets += opens;
    if (closes && x->brackets > 0) x->brackets--;
    return emit(x, kind, start);
  }
  (void)ig_syntax_error(x->c, range_at(x, start, start + 1), "unexpected character in input");
  return false;
}

// The indentation of a line that has something on it.
static bool indentation(lexer *x) {
  size_t start = x->at;
  size_t columns = 0;
  for (; peek(x, 0) == ' ' || peek(x, 0) == '\t' || peek(x, 0) == '\f'; x->at++) {
    columns = peek(x, 0) == '\t' ? columns / TAB_STOP * TAB_STOP + TAB_STOP : columns + 1;
  }
  char ch = peek(x, 0);
  if (ch == '\n' || ch == '\r' || ch == '#' || x->at >= x->n) return true;  // an empty line
  if (columns > x->indents[x->depth - 1]) {
    if (x->depth == MAX_INDENTS) {
      (void)ig_syntax_error(x->c, range_at(x, start, x->at), "too many levels of indentation");
      return false;
    }
    x->indents[x->depth++] = columns;
    return emit(x, IG_TOKEN_INDENT, start);
  }
  while (columns < x->indents[x->depth - 1]) {
    x->depth--;
    if (!emit(x, IG_TOKEN_DEDENT, start)) return false;
  }
  if (columns == x->indents[x->depth - 1]) return true;
  (void)ig_syntax_error(x->c, range_at(x, start, x->at + 1), "invalid indent level %zu", columns);
  return false;
}

static bool ends_line(const lexer *x) {
  ig_token_kind last = x->tokens.n ? x->tokens.at[x->tokens.n - 1].kind : IG_TOKEN_NEWLINE;
  return last == IG_TOKEN_NEWLINE || last == IG_TOKEN_INDENT || last == IG_TOKEN_DEDENT;
}

static bool newline(lexer *x) {
  size_t start = x->at++;
  if (x->brackets > 0) return true;
  if (!ends_line(x) && !emit(x, IG_TOKEN_NEWLINE, start)) return false;
  return indentation(x);
}

static bool one(lexer *x) {
  char ch = peek(x, 0);
  if (ch == '\n') return newline(x);
  if (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\f') {
    x->at++;
    return true;
  }
  if (ch == '\\' && (peek(x, 1) == '\n' || (peek(x, 1) == '\r' && peek(x, 2) == '\n'))) {
    x->at += peek(x, 1) == '\n' ? 2 : 3;
    return true;
  }
  if (ch == '#') return comment(x);
  if (is_string_start(x)) return string(x);
  if (is_digit(ch) || (ch == '.' && is_digit(peek(x, 1)))) return number(x);
  if (is_name_start(ch)) return name(x);
  return symbol(x);
}

static bool finish(lexer *x) {
  if (!ends_line(x) && !emit(x, IG_TOKEN_NEWLINE, x->at)) return false;
  for (; x->depth > 1; x->depth--) {
    if (!emit(x, IG_TOKEN_DEDENT, x->at)) return false;
  }
  return emit(x, IG_TOKEN_END, x->at);
}

// Hands the tokens over to the arena.
static ig_status deliver(lexer *x, ig_arena *arena, bool ok, ig_tokens *out) {
  *out = (ig_tokens){0};
  if (ok) {
    out->at = ig_arena_array(arena, x->tokens.n, sizeof *out->at);
    if (!out->at) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
    if (out->at) memcpy(out->at, x->tokens.at, ig_mem_mul(x->tokens.n, sizeof *out->at));
    out->n = x->tokens.n;
  }
  ig_vec_free(x->c->alloc, &x->tokens);
  return x->c->status;
}

ig_status ig_tokens_read(ig_ctx *c, ig_arena *arena, const ig_source *source, ig_tokens *out) {
  lexer x = {.c = c, .source = source, .text = source->text, .n = source->n, .depth = 1};
  bool ok = indentation(&x);
  while (ok && x.at < x.n) ok = one(&x);
  return deliver(&x, arena, ok && finish(&x), out);
}

ig_status ig_tokens_read_part(ig_ctx *c, ig_arena *arena, ig_srange part, ig_tokens *out) {
  lexer x = {.c = c,
             .source = part.source,
             .text = part.source->text,
             .n = part.end,
             .at = part.start,
             .brackets = 1,
             .depth = 1};
  bool ok = true;
  while (ok && x.at < x.n) ok = one(&x);
  return deliver(&x, arena, ok && emit(&x, IG_TOKEN_END, x.at), out);
}
