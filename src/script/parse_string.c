// SPDX-License-Identifier: Apache-2.0
// String literals: prefixes, escapes, concatenation, and the fields of f-strings.
#include <string.h>

#include "base/str_bytes.h"
#include "script/parser.h"

// One literal as written: what is between the quotes, and its prefix.
typedef struct literal {
  size_t begin;
  size_t end;
  bool raw;
  bool bytes;
  bool format;
} literal;

static literal open_literal(const ig_parser *p, const ig_token *t) {
  const char *text = p->source->text;
  literal l = {.begin = t->start, .end = t->end};
  for (; text[l.begin] != '"' && text[l.begin] != '\''; l.begin++) {
    char ch = text[l.begin];
    l.raw |= ch == 'r' || ch == 'R';
    l.bytes |= ch == 'b' || ch == 'B';
    l.format |= ch == 'f' || ch == 'F';
  }
  char quote = text[l.begin];
  bool triple = l.end - l.begin >= 6 && text[l.begin + 1] == quote && text[l.begin + 2] == quote;
  l.begin += triple ? 3 : 1;
  l.end -= triple ? 3 : 1;
  return l;
}

// ---- escapes

static int hex_value(char ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
  if (ch >= 'A' && ch <= 'F') return ch - 'A' + 10;
  return -1;
}

static void add_char(ig_str *s, char ch) {
  ig_str_bytes(s, &ch, 1);
}

static void add_utf8(ig_str *s, unsigned long code) {
  if (code < 0x80) {
    add_char(s, (char)code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  add_char(s, (char)(lead[more] | (code >> (6 * more))));
  for (int i = more - 1; i >= 0; i--) add_char(s, (char)(0x80 | ((code >> (6 * i)) & 0x3f)));
}

// \xhh, \uhhhh, \Uhhhhhhhh, \ooo: the number behind the backslash; answers the position behind it.
static size_t add_number(ig_parser *p, ig_str *s, size_t at, size_t end, bool bytes) {
  const char *text = p->source->text;
  char ch = text[at];
  size_t digits = ch == 'x' ? 2 : ch == 'u' ? 4 : ch == 'U' ? 8 : 0;
  unsigned long code = 0;
  size_t i = digits ? at + 1 : at;
  if (!digits) {
    for (; i < end && i < at + 3 && text[i] >= '0' && text[i] <= '7'; i++) {
      code = code * 8 + (unsigned long)(text[i] - '0');
    }
  }
  for (size_t n = 0; n < digits; n++, i++) {
    int value = i < end ? hex_value(text[i]) : -1;
    if (value < 0) {
      (void)ig_syntax_error(p->c, (ig_srange){p->source, at - 1, i}, "truncated \\%c escape", ch);
      return end;
    }
    code = code * 16 + (unsigned long)value;
  }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    (void)ig_syntax_error(p->c, (ig_srange){p->source, at - 1, i}, "no such character");
  } else if (bytes && code < 0x100) {
    add_char(s, (char)code);
  } else {
    add_utf8(s, code);
  }
  return i;
}

// The character behind a backslash; answers the position behind it.
static size_t add_escape(ig_parser *p, ig_str *s, size_t at, const literal *l) {
  static const char from[] = "abfnrtv\\'\"";
  static const char to[] = "\a\b\f\n\r\t\v\\'\"";
  char ch = p->source->text[at];
  const char *known = ch ? strchr(from, ch) : NULL;
  if (known) {
    add_char(s, to[known - from]);
    return at + 1;
  }
  if (ch == '\n') return at + 1;  // a joined line
  bool wide = !l->bytes && (ch == 'u' || ch == 'U');
  if (ch == 'x' || wide || (ch >= '0' && ch <= '7')) return add_number(p, s, at, l->end, l->bytes);
  add_char(s, '\\');
  add_char(s, ch);
  return at + 1;
}

// ---- parts

static ig_tree *text_node(ig_parser *p, const ig_str *s, size_t start, bool bytes) {
  if (s->failed) {
    (void)ig_fail(p->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  return ig_parser_named(p, bytes ? IG_TREE_BYTES : IG_TREE_STRING, start, s->at ? s->at : "",
                         s->n);
}

// What was read so far becomes a part of its own.
static bool flush(ig_parser *p, ig_tree_vec *parts, ig_str *s, size_t start) {
  if (s->n == 0) return true;
  bool ok = ig_parser_push(p, parts, text_node(p, s, start, false));
  ig_str_free(s);
  *s = ig_str_make(p->c->alloc);
  return ok;
}

// The end of an expression in a field: `!`, `:` or `}` outside of brackets and strings.
static size_t field_end(const ig_parser *p, size_t at, size_t end) {
  int depth = 0;
  char quote = '\0';
  const char *text = p->source->text;
  for (; at < end; at++) {
    char ch = text[at];
    if (quote) {
      if (ch == quote) quote = '\0';
    } else if (ch == '"' || ch == '\'') {
      quote = ch;
    } else if (ch == '(' || ch == '[' || ch == '{') {
      depth++;
    } else if (depth > 0 && (ch == ')' || ch == ']' || ch == '}')) {
      depth--;
    } else if (depth == 0 && (ch == '}' || ch == ':' || (ch == '!' && text[at + 1] != '='))) {
      break;
    }
  }
  return at;
}

static ig_tree *parse_part(ig_parser *p, size_t start, size_t end) {
  ig_parser inner = *p;
  inner.at = 0;
  ig_srange part = {p->source, start, end};
  if (ig_tokens_read_part(p->c, p->arena, part, &inner.tokens) != IG_OK) return NULL;
  ig_tree *e = ig_parse_exprs(&inner);
  if (e && ig_parser_kind(&inner) != IG_TOKEN_END) return ig_parser_unexpected(&inner, "'}'");
  return e;
}

static bool parse_pieces(ig_parser *p, const literal *l, ig_tree_vec *parts, ig_str *s);

// {value!r:spec}, *at behind the bracket.
static ig_tree *parse_field(ig_parser *p, const literal *l, size_t *at) {
  size_t start = *at - 1;
  const char *text = p->source->text;
  size_t end = field_end(p, *at, l->end);
  ig_tree *parts[2] = {parse_part(p, *at, end), NULL};
  size_t conversion = end;  // where the letter of !r stands
  size_t letter = 0;
  if (!parts[0]) return NULL;
  if (end < l->end && text[end] == '!') {
    conversion = end + 1;
    letter = conversion < l->end;
    end += 1 + letter;
  }
  if (end < l->end && text[end] == ':') {
    literal spec = *l;
    spec.begin = end + 1;
    int depth = 0;
    for (end++; end < l->end && (depth > 0 || text[end] != '}'); end++) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    }
    spec.end = end;
    ig_tree_vec pieces = {0};
    ig_str s = ig_str_make(p->c->alloc);
    bool ok = ig_parser_enter(p) && parse_pieces(p, &spec, &pieces, &s) &&
              flush(p, &pieces, &s, spec.begin);
    ig_parser_leave(p);
    ig_str_free(&s);
    parts[1] = ig_parser_node_of(p, IG_TREE_FORMAT, spec.begin, &pieces);
    if (!ok || !parts[1]) return NULL;
  }
  if (end >= l->end || text[end] != '}') {
    return (void)ig_syntax_error(p->c, (ig_srange){p->source, start, end},
                                 "f-string: expected '}'"),
           NULL;
  }
  *at = end + 1;
  ig_tree *f = ig_parser_node(p, IG_TREE_FIELD, start, 2, parts);
  if (f) f->range.end = *at;
  return ig_parser_name(p, f, conversion, letter);
}

// Characters go to s; fields of an f-string, and the text before them, to parts.
static bool parse_pieces(ig_parser *p, const literal *l, ig_tree_vec *parts, ig_str *s) {
  const char *text = p->source->text;
  for (size_t at = l->begin; at < l->end && p->c->status == IG_OK;) {
    char ch = text[at];
    bool twice = at + 1 < l->end && text[at + 1] == ch;
    if (l->format && (ch == '{' || ch == '}') && twice) {
      add_char(s, ch);
      at += 2;
    } else if (l->format && ch == '{') {
      at++;
      if (!flush(p, parts, s, l->begin)) return false;
      if (!ig_parser_push(p, parts, parse_field(p, l, &at))) return false;
    } else if (ch == '\\' && !l->raw && at + 1 < l->end) {
      at = add_escape(p, s, at + 1, l);
    } else {
      add_char(s, ch);
      at++;
    }
  }
  return p->c->status == IG_OK;
}

// Neighbours are one literal: "a" f"{b}" 'c'.
ig_tree *ig_parse_string(ig_parser *p) {
  size_t start = ig_parser_start(p);
  ig_tree_vec parts = {0};
  ig_str s = ig_str_make(p->c->alloc);
  bool format = false;
  bool bytes = false;
  bool ok = true;
  while (ok && ig_parser_kind(p) == IG_TOKEN_STRING) {
    literal l = open_literal(p, ig_parser_peek(p));
    p->at++;
    format |= l.format;
    bytes |= l.bytes;
    ok = parse_pieces(p, &l, &parts, &s);
  }
  ig_tree *out = NULL;
  if (format) {
    ok = ok && flush(p, &parts, &s, start);
    out = ig_parser_node_of(p, IG_TREE_FORMAT, start, &parts);
  } else if (ok) {
    out = text_node(p, &s, start, bytes);
  }
  ig_str_free(&s);
  ig_vec_free(p->c->alloc, &parts);
  return ok ? out : NULL;
}
