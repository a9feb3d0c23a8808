// SPDX-License-Identifier: Apache-2.0
// Printing a report as text and as JSON.
#include <string.h>

#include "base/frames.h"
#include "sym/report.h"

const char *ig_issue_kind_text(ig_issue_kind kind) {
  static const char *const texts[] = {[IG_ISSUE_DATA_DEPENDENT] = "data_dependent",
                                      [IG_ISSUE_CONSTRAINT] = "constraint",
                                      [IG_ISSUE_NO_FAKE] = "missing_fake",
                                      [IG_ISSUE_WRONG_FAKE] = "mismatched_fake",
                                      [IG_ISSUE_CALL] = "call",
                                      [IG_ISSUE_FORMAT] = "format"};
  return texts[kind];
}

static const char *title(ig_issue_kind kind) {
  static const char *const texts[] = {[IG_ISSUE_DATA_DEPENDENT] = "Data dependent error.",
                                      [IG_ISSUE_CONSTRAINT] = "Constraint violation.",
                                      [IG_ISSUE_NO_FAKE] = "Missing fake kernel.",
                                      [IG_ISSUE_WRONG_FAKE] = "Mismatched fake kernel.",
                                      [IG_ISSUE_CALL] = "Refused call.",
                                      [IG_ISSUE_FORMAT] = "Call that the format cannot express."};
  return texts[kind];
}

static void add_lines(ig_str *s, const char *text, const char *indent) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    ig_str_add(s, "%s%.*s\n", n ? indent : "", (int)n, text);
    text += n + (text[n] == '\n');
  }
}

static void add_issue(ig_str *s, const ig_issue *i) {
  ig_str_add(s, "%s\n", title(i->kind));
  if (i->reason) add_lines(s, i->reason, "    ");
  if (i->answer) ig_str_add(s, "    The example inputs answer: %s.\n", i->answer);
  if (i->times > 1) ig_str_add(s, "    This was encountered %zu times.\n", i->times);
  if (i->file) {
    ig_str_add(s, "    File \"%s\", line %d%s%s\n", i->file, i->line, i->function ? ", in " : "",
               i->function ? i->function : "");
    if (i->source) ig_str_add(s, "        %s\n", i->source);
  }
  if (i->op && i->operands) ig_str_add(s, "    While calling %s(%s)\n", i->op, i->operands);
  if (i->fix) {
    ig_str_add(s, "    To fix it:\n");
    add_lines(s, i->fix, "        ");
  }
}

static char *end(ig_ctx *c, ig_str *s) {
  char *text = s->failed ? NULL : c->alloc.fn(c->alloc.user, NULL, 0, s->n + 1);
  if (text) memcpy(text, s->at ? s->at : "", s->n + 1);
  ig_str_free(s);
  return text;
}

char *ig_report_text(ig_ctx *c, const ig_report *r) {
  ig_str s = ig_str_make(c->alloc);
  for (size_t i = 0; r && i < r->issues.n; i++) {
    ig_str_add(&s, "%s%zu. ", i ? "\n" : "", i + 1);
    add_issue(&s, &r->issues.at[i]);
  }
  return end(c, &s);
}

// ---- JSON ----

static void add_string(ig_str *s, const char *text) {
  ig_str_add(s, "\"");
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\') {
      ig_str_add(s, "\\%c", *p);
    } else if (*p < 0x20 || *p == 0x7f) {
      ig_str_add(s, "\\u%04x", *p);
    } else {
      ig_str_add(s, "%c", *p);
    }
  }
  ig_str_add(s, "\"");
}

static void add_field(ig_str *s, const char *key, const char *text) {
  ig_str_add(s, ", \"%s\": ", key);
  if (text) {
    add_string(s, text);
  } else {
    ig_str_add(s, "null");
  }
}

// The frames as one text, which is how PyTorch's reports have them.
static void add_frames(ig_ctx *c, ig_str *s, const ig_issue *i) {
  ig_str text = ig_str_make(c->alloc);
  ig_frames_print(&text, &(ig_frames){i->frames, i->nframes, NULL});
  add_field(s, "stack", i->nframes ? text.at : NULL);
  s->failed = s->failed || text.failed;
  ig_str_free(&text);
}

char *ig_report_json(ig_ctx *c, const ig_report *r) {
  ig_str s = ig_str_make(c->alloc);
  ig_str_add(&s, "{\"issues\": [");
  for (size_t k = 0; r && k < r->issues.n; k++) {
    const ig_issue *i = &r->issues.at[k];
    ig_str_add(&s, "%s{\"kind\": \"%s\"", k ? ", " : "", ig_issue_kind_text(i->kind));
    add_field(&s, "file", i->file);
    ig_str_add(&s, ", \"line\": %d", i->line);
    add_field(&s, "function", i->function);
    add_field(&s, "source", i->source);
    add_frames(c, &s, i);
    add_field(&s, "op", i->op);
    add_field(&s, "operands", i->operands);
    add_field(&s, "predicate", i->predicate);
    add_field(&s, "answer", i->answer);
    add_field(&s, "reason", i->reason);
    add_field(&s, "fix", i->fix);
    ig_str_add(&s, ", \"times\": %zu}", i->times);
  }
  ig_str_add(&s, "]}");
  return end(c, &s);
}
