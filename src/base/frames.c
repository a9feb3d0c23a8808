// SPDX-License-Identifier: Apache-2.0
#include "base/frames.h"

#include <stdlib.h>
#include <string.h>

void ig_frames_print(ig_str *s, const ig_frames *f) {
  if (f->text) {
    ig_str_add(s, "%s", f->text);
    return;
  }
  for (size_t i = 0; i < f->n; i++) {
    const ig_frame *at = &f->at[i];
    ig_str_add(s, "  File \"%s\", line %d", at->file, at->line);
    if (at->function) ig_str_add(s, ", in %s", at->function);
    ig_str_add(s, "\n");
    if (at->code) ig_str_add(s, "    %s\n", at->code);
  }
}

// ---- parsing ----

typedef struct span {
  const char *at;
  size_t n;
} span;

// A line without its indentation; *text moves to the next one.
static span take_line(const char **text) {
  const char *from = *text + strspn(*text, " ");
  size_t n = strcspn(from, "\n");
  *text = from + n + (from[n] == '\n');
  return (span){from, n};
}

// Only within the line: a text may have many lines that begin a frame and do not complete it.
static const char *find(span in, const char *what) {
  size_t n = strlen(what);
  for (size_t i = 0; i + n <= in.n; i++) {
    if (memcmp(in.at + i, what, n) == 0) return in.at + i;
  }
  return NULL;
}

// File "model.py", line 3, in forward
static bool is_head(span line, span *file, int *number, span *function) {
  static const char before[] = "File \"";
  static const char between[] = "\", line ";
  static const char in[] = ", in ";
  size_t skip = sizeof before - 1;
  if (line.n < skip || strncmp(line.at, before, skip) != 0) return false;
  span rest = {line.at + skip, line.n - skip};
  const char *quote = find(rest, between);
  if (!quote) return false;
  *file = (span){rest.at, (size_t)(quote - rest.at)};
  const char *digits = quote + sizeof between - 1;
  size_t n = strspn(digits, "0123456789");
  if (n == 0 || n > 9) return false;
  *number = (int)strtol(digits, NULL, 10);
  const char *end = line.at + line.n;
  const char *after = digits + n;
  *function = (span){NULL, 0};
  if (after == end) return true;
  if ((size_t)(end - after) < sizeof in || strncmp(after, in, sizeof in - 1) != 0) return false;
  after += sizeof in - 1;
  *function = (span){after, (size_t)(end - after)};
  return true;
}

// The frames in the text; at most `cap` of them are stored. False: out of memory.
static bool read_frames(ig_arena *a, const char *text, ig_frame *at, size_t cap, size_t *n) {
  span file;
  span function;
  int line = 0;
  bool ok = true;
  *n = 0;
  while (*text && ok) {
    if (!is_head(take_line(&text), &file, &line, &function)) continue;
    const char *mark = text;
    span code = take_line(&text);
    span other;
    int number = 0;
    bool has_code = code.n && !is_head(code, &other, &number, &other);
    if (!has_code) text = mark;
    size_t i = (*n)++;
    if (i >= cap) continue;
    at[i] = (ig_frame){.file = ig_arena_strn(a, file.at, file.n), .line = line};
    if (function.at) at[i].function = ig_arena_strn(a, function.at, function.n);
    if (has_code) at[i].code = ig_arena_strn(a, code.at, code.n);
    ok = at[i].file && (!function.at || at[i].function) && (!has_code || at[i].code);
  }
  return ok;
}

bool ig_frames_parse(ig_arena *a, const char *text, ig_frames *out) {
  size_t n = 0;
  *out = (ig_frames){NULL, 0, NULL};
  (void)read_frames(a, text, NULL, 0, &n);
  ig_frame *at = n ? ig_arena_array(a, n, sizeof *at) : NULL;
  if (n && (!at || !read_frames(a, text, at, n, &n))) return false;
  ig_frames read = {at, n, NULL};
  ig_str printed = ig_str_make(a->alloc);
  ig_frames_print(&printed, &read);
  bool same = !printed.failed && strcmp(printed.at ? printed.at : "", text) == 0;
  bool failed = printed.failed;
  ig_str_free(&printed);
  if (!failed && !same) read.text = ig_arena_strn(a, text, strlen(text));
  if (failed || (!same && !read.text)) return false;
  *out = read;
  return true;
}
