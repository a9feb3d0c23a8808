// SPDX-License-Identifier: Apache-2.0
#include "script/block.h"

#include <string.h>

enum { TAB = 8 };

static bool starts(const char *text, size_t n, const char *word) {
  size_t len = strlen(word);
  return n > len && memcmp(text, word, len) == 0 && (text[len] == ' ' || text[len] == '\t');
}

// The column of the first character that is no blank; *at is its index.
static size_t column_of(const char *line, size_t n, size_t *at) {
  size_t column = 0;
  size_t i = 0;
  for (; i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\f'); i++) {
    if (line[i] == '\f') {
      column = 0;
    } else {
      column = line[i] == '\t' ? (column / TAB + 1) * TAB : column + 1;
    }
  }
  *at = i;
  return column;
}

static bool ends_string(const ig_block_scan *s, const char *line, size_t n, size_t i) {
  if (line[i] != s->quote) return false;
  return !s->triple || (i + 2 < n && line[i + 1] == s->quote && line[i + 2] == s->quote);
}

// Brackets and strings of a line; what stays open goes on in the next one. `colon`: the last token
// is a colon.
static void scan(ig_block_scan *s, const char *line, size_t n, bool *colon) {
  s->joined = false;
  for (size_t i = 0; i < n; i++) {
    char c = line[i];
    if (c == '\\') {
      s->joined = i + 1 >= n || line[i + 1] == '\n' || line[i + 1] == '\r';
      if (s->joined) break;
      i++;
    } else if (s->quote) {
      if (!ends_string(s, line, n, i)) continue;
      i += s->triple ? 2 : 0;
      s->quote = 0;
    } else if (c == '#') {
      break;
    } else if (c == '"' || c == '\'') {
      s->quote = c;
      s->triple = i + 2 < n && line[i + 1] == c && line[i + 2] == c;
      i += s->triple ? 2 : 0;
    } else if (c == '(' || c == '[' || c == '{') {
      s->depth++;
    } else if (c == ')' || c == ']' || c == '}') {
      s->depth -= s->depth > 0;
    }
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') *colon = c == ':' && !s->quote;
  }
  if (s->quote && !s->triple && !s->joined) s->quote = 0;  // no string of one quote goes on
}

// The first line of a statement. False: it is behind the definition.
static bool begin_statement(ig_block_scan *s, const char *line, size_t n) {
  size_t at = 0;
  size_t column = column_of(line, n, &at);
  bool blank = at >= n || line[at] == '\n' || line[at] == '\r';
  if (blank) return true;
  if (line[at] == '#') {
    if (s->body && column >= s->body) s->last = s->lines;
    return true;
  }
  if (!s->begun) {
    s->begun = starts(line + at, n - at, "def") || starts(line + at, n - at, "async") ||
               starts(line + at, n - at, "class");
    s->def = s->lines - 1;
    s->base = column;
    return s->begun || line[at] == '@';
  }
  if (s->one_line || column <= s->base) return false;
  if (!s->body) s->body = column;
  return true;
}

bool ig_block_next(ig_block_scan *s, const char *line, size_t n) {
  bool inside = s->quote || s->depth > 0 || s->joined;
  size_t before = s->last;
  s->lines++;
  if (!inside && !begin_statement(s, line, n)) return false;
  size_t at = 0;
  (void)column_of(line, n, &at);
  bool code = inside || (at < n && line[at] != '\n' && line[at] != '\r' && line[at] != '#');
  if (!code) return true;
  bool colon = false;
  bool header = s->begun && !s->body;
  scan(s, line, n, &colon);
  if (header && !s->quote && s->depth == 0 && !s->joined) s->one_line = !colon;
  s->last = s->lines > before ? s->lines : before;
  return true;
}
