// SPDX-License-Identifier: Apache-2.0
#include "script/source.h"

#include "base/str_bytes.h"

#include <string.h>

static size_t line_begin(const ig_source *s, size_t at) {
  while (at > 0 && s->text[at - 1] != '\n') at--;
  return at;
}

static size_t line_end(const ig_source *s, size_t at) {
  while (at < s->n && s->text[at] != '\n') at++;
  return at;
}

size_t ig_srange_line(ig_srange r) {
  size_t line = r.source->first_line;
  for (size_t i = 0; i < r.start && i < r.source->n; i++) line += r.source->text[i] == '\n';
  return line;
}

size_t ig_srange_column(ig_srange r) {
  return r.start - line_begin(r.source, r.start) + r.source->indent;
}

static void repeat(ig_str *s, const char *what, size_t n) {
  while (n-- > 0) ig_str_add(s, "%s", what);
}

// Whole lines, with the columns that were cut off.
static void add(ig_str *s, const ig_source *from, size_t begin, size_t end) {
  while (begin < end) {
    size_t next = line_end(from, begin);
    if (next < end) next++;
    if (next > end) next = end;
    if (from->text[begin] != '\n') repeat(s, " ", from->indent);
    ig_str_bytes(s, from->text + begin, next - begin);
    begin = next;
  }
}

static bool is_blank(const ig_source *s, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    if (s->text[i] != '\n' && s->text[i] != ' ') return false;
  }
  return true;
}

// One line that the range touches, and the line that marks it.
static void quote_line(ig_str *s, ig_srange r, size_t begin) {
  size_t end = line_end(r.source, begin);
  add(s, r.source, begin, end);
  ig_str_add(s, "\n");
  size_t first = begin;  // marked, without leading blanks
  while (first < r.end && first < end && (first < r.start || r.source->text[first] == ' ')) first++;
  size_t last = r.end < end ? r.end : end;
  if (last <= first) return;
  repeat(s, " ", r.source->indent + first - begin);
  repeat(s, "~", last - first);
  ig_str_add(s, last == r.end || is_blank(r.source, end, r.end) ? " <--- HERE\n" : "\n");
}

void ig_srange_quote(ig_str *s, ig_srange r, const char *function) {
  const ig_source *from = r.source;
  if (!from) return;
  if (r.end > from->n) r.end = from->n;
  if (r.start > r.end) r.start = r.end;
  if (from->stack) {
    ig_str_add(s, "%.*s", (int)from->n, from->text);
    return;
  }
  if (from->file) {
    ig_str_add(s, "  File \"%s\", line %zu", from->file, ig_srange_line(r));
    if (function) ig_str_add(s, ", in %s", function);
    ig_str_add(s, "\n");
  }
  size_t begin = line_begin(from, r.start);
  for (int i = 0; i < IG_CONTEXT_LINES && begin > 0; i++) begin = line_begin(from, begin - 1);
  size_t at = line_begin(from, r.start);
  add(s, from, begin, at);
  size_t end = r.end > r.start ? r.end : r.start + 1;
  for (; at < end && at < from->n; at = line_end(from, at) + 1) quote_line(s, r, at);
  begin = at;
  size_t after = at > 0 ? at - 1 : 0;  // the end of the last line that was quoted
  for (int i = 0; i < IG_CONTEXT_LINES && after < from->n; i++) after = line_end(from, after + 1);
  if (after > from->n) after = from->n;
  add(s, from, begin, after);
  if (after > begin && from->text[after - 1] != '\n') ig_str_add(s, "\n");
}
