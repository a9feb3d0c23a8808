// SPDX-License-Identifier: Apache-2.0
#include "base/explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const ig_cause causes[] = {
#define X(number, name) IG_E_##name,
    IG_CAUSE_LIST(X)
#undef X
};

// Every error of these statuses is explained by the same page, unless it has a code of its own.
static const ig_cause usual[] = {
    [IG_NOMEM] = IG_E_OUT_OF_MEMORY,
    [IG_IO] = IG_E_FILE_ACCESS,
    [IG_DATA_DEPENDENT] = IG_E_DATA_DEPENDENT,
    [IG_CONSTRAINT] = IG_E_DIMS,
    [IG_OUTPUT_DATA] = IG_E_OUTPUT_DATA,
    [IG_OUTPUT_SHAPE] = IG_E_OUTPUT_SHAPE,
    [IG_BRANCH] = IG_E_BRANCHES,
};

static const ig_explanation *by_code(ig_cause code) {
  for (size_t i = 0; code && i < IG_CAUSE_COUNT; i++) {
    if (causes[i] == code) return &ig_explanation_table[i];
  }
  return NULL;
}

const ig_explanation *ig_cause_explanation(ig_cause why) {
  ig_status st = ig_cause_status(why);
  ig_cause code = why - (ig_cause)st;
  if (!code && st < sizeof usual / sizeof *usual) code = usual[st];
  return by_code(code);
}

ig_cause ig_explanation_cause(const ig_explanation *e) {
  return e ? causes[e - ig_explanation_table] : 0;
}

const ig_explanation *ig_ctx_explanation(const ig_ctx *c) {
  return ig_cause_explanation(ig_ctx_cause(c));
}

const ig_explanation *ig_explain(const char *code) {
  if (toupper((unsigned char)code[0]) == 'I' && toupper((unsigned char)code[1]) == 'G') code += 2;
  size_t digits = strspn(code, "0123456789");
  if (digits == 0 || digits > 6 || code[digits]) return NULL;
  return by_code((ig_cause)strtoul(code, NULL, 10) << IG_CAUSE_SHIFT);
}

size_t ig_explanations(const ig_explanation *const **list) {
  static const ig_explanation *const all[] = {
#define X(number, name) &ig_explanation_table[IG_CAUSE_AT_##name],
      IG_CAUSE_LIST(X)
#undef X
  };
  *list = all;
  return IG_CAUSE_COUNT;
}

// ---- as text

// Paragraphs in lines of at most `width` characters; a longer word has a line of its own.
static void add_wrapped(ig_str *s, const char *text, size_t width) {
  size_t column = 0;
  while (*text) {
    size_t blank = strspn(text, " \n");
    bool paragraph = memchr(text, '\n', blank) != NULL;
    const char *word = text + blank;
    size_t n = strcspn(word, " \n");
    bool fits = column + 1 + n <= width;
    if (column && n) ig_str_add(s, "%s", paragraph ? "\n\n" : fits ? " " : "\n");
    column = column && fits && !paragraph ? column + 1 + n : n;
    ig_str_add(s, "%.*s", (int)n, word);
    text = word + n;
  }
  ig_str_add(s, "\n");
}

// Lines as they are, four columns to the right.
static void add_indented(ig_str *s, const char *lines) {
  while (*lines) {
    size_t n = strcspn(lines, "\n");
    ig_str_add(s, "%s%.*s\n", n ? "    " : "", (int)n, lines);
    lines += n + (lines[n] == '\n');
  }
}

const char *ig_explanation_text(ig_ctx *c, const ig_explanation *e, size_t width) {
  ig_str s = ig_str_make(c->alloc);
  ig_str_add(&s, "%s: %s\n\n", e->code, e->title);
  add_wrapped(&s, e->cause, width);
  ig_str_add(&s, "\nFor example\n\n");
  add_indented(&s, e->example);
  ig_str_add(&s, "\nraises\n\n");
  add_indented(&s, e->message);
  ig_str_add(&s, "\nWhat to do\n\n");
  add_wrapped(&s, e->remedy, width);
  char *out = s.failed ? NULL : ig_scope_push(c, s.n + 1);
  if (s.failed) (void)ig_no_memory(c);
  if (out) memcpy(out, s.at, s.n + 1);
  ig_str_free(&s);
  return out;
}
