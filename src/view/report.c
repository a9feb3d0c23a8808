// SPDX-License-Identifier: Apache-2.0
// The report of a draft as a page: its issues with source lines and suggested edits. The page has
// no script; texts of the report are escaped as text.
#include <string.h>

#include "base/budget.h"
#include "codec/json.h"
#include "ingot/text.h"
#include "ir/print.h"
#include "view/view.h"
#include "view_report.inc"

typedef struct writer {
  ig_ctx *c;
  ig_str *s;
  ig_arena *arena;
} writer;

// ---- texts

static void put_bytes(ig_str *s, const unsigned char *at, size_t n) {
  ig_str_add(s, "%.*s", (int)n, (const char *)at);  // two short constants
}

static void put_text(const writer *w, const char *text, size_t n) {
  size_t need = ig_text_escape(text, n, true, NULL, 0);
  char *safe = ig_arena_array(w->arena, ig_mem_add(need, 1), 1);
  w->s->failed = w->s->failed || !safe;
  if (!safe) return;
  (void)ig_text_escape(text, n, true, safe, need + 1);
  for (const char *at = safe; *at;) {
    size_t plain = strcspn(at, "<>&\"'");
    while (plain) {
      int part = plain < 100000 ? (int)plain : 100000;
      ig_str_add(w->s, "%.*s", part, at);
      at += part;
      plain -= (size_t)part;
    }
    if (*at) ig_str_add(w->s, "&#%d;", (int)*at++);
  }
}

static const ig_json *text_of(const ig_json *issue, const char *key) {
  const ig_json *x = ig_json_find(issue, key);
  return x && x->kind == IG_JSON_STRING && x->n ? x : NULL;
}

static int64_t number_of(const ig_json *issue, const char *key) {
  const ig_json *x = ig_json_find(issue, key);
  return x && x->kind == IG_JSON_INT ? x->i : 0;
}

// ---- issues

static void put_row(const writer *w, const ig_json *issue, const char *key, const char *label) {
  const ig_json *x = text_of(issue, key);
  if (!x) return;
  ig_str_add(w->s, "<tr><th>%s</th><td>", label);
  put_text(w, x->text, x->n);
  ig_str_add(w->s, "</td></tr>\n");
}

static void put_place(const writer *w, const ig_json *frame) {
  const ig_json *file = text_of(frame, "file");
  const ig_json *function = text_of(frame, "function");
  const ig_json *source = text_of(frame, "source");
  if (!source) source = text_of(frame, "code");
  if (!file) return;
  ig_str_add(w->s, "<div class=\"place\">");
  put_text(w, file->text, file->n);
  ig_str_add(w->s, ":%lld", (long long)number_of(frame, "line"));
  if (function) {
    ig_str_add(w->s, " in ");
    put_text(w, function->text, function->n);
  }
  ig_str_add(w->s, "</div>");
  if (!source) return;
  ig_str_add(w->s, "<pre>");
  put_text(w, source->text, source->n);
  ig_str_add(w->s, "</pre>\n");
}

static void put_frames(const writer *w, const ig_json *issue) {
  const ig_json *frames = ig_json_find(issue, "frames");
  if (!frames || frames->kind != IG_JSON_ARRAY || frames->n < 2) return;
  ig_str_add(w->s, "<details><summary>%zu frames</summary>\n", frames->n);
  for (size_t i = 0; i < frames->n; i++) {
    if (frames->items[i].kind == IG_JSON_OBJECT) put_place(w, &frames->items[i]);
  }
  ig_str_add(w->s, "</details>\n");
}

static void put_issue(const writer *w, const ig_json *issue, size_t number) {
  const ig_json *kind = text_of(issue, "kind");
  const ig_json *fix = text_of(issue, "fix");
  int64_t times = number_of(issue, "times");
  ig_str_add(w->s, "<section><h2>%zu. ", number);
  if (kind) put_text(w, kind->text, kind->n);
  if (times > 1) ig_str_add(w->s, " <small>%lld times</small>", (long long)times);
  ig_str_add(w->s, "</h2>\n");
  put_place(w, issue);
  ig_str_add(w->s, "<table>\n");
  put_row(w, issue, "reason", "reason");
  put_row(w, issue, "op", "operator");
  put_row(w, issue, "operands", "operands");
  put_row(w, issue, "predicate", "question");
  put_row(w, issue, "answer", "answer of the example");
  ig_str_add(w->s, "</table>\n");
  if (fix) {
    ig_str_add(w->s, "<h3>what to change</h3><pre class=\"fix\">");
    put_text(w, fix->text, fix->n);
    ig_str_add(w->s, "</pre>\n");
  }
  put_frames(w, issue);
  ig_str_add(w->s, "</section>\n");
}

static void put_page(const writer *w, const char *name, const ig_json *issues) {
  put_bytes(w->s, report_head, sizeof report_head);
  ig_str_add(w->s, "<h1>");
  put_text(w, name, strlen(name));
  ig_str_add(w->s, "</h1>\n<p>%zu %s</p>\n", issues->n,
             issues->n == 1 ? "issue prevents an export" : "issues prevent an export");
  for (size_t i = 0; i < issues->n && ig_step(w->c); i++) {
    if (issues->items[i].kind == IG_JSON_OBJECT) put_issue(w, &issues->items[i], i + 1);
  }
  put_bytes(w->s, report_tail, sizeof report_tail);
}

char *ig_report_view(ig_ctx *c, const char *name, const char *text, size_t n) {
  if (c->status != IG_OK) return NULL;
  ig_arena arena = ig_arena_make(c->alloc);
  ig_str s = ig_str_make(c->alloc);
  ig_bytes bytes = {.at = (const uint8_t *)text, .n = n};
  const ig_json *doc = NULL;
  ig_status st = ig_json_parse(c, name, bytes, &arena, NULL, &doc);
  const ig_json *issues = st == IG_OK ? ig_json_find(doc, "issues") : NULL;
  if (issues && issues->kind == IG_JSON_ARRAY) {
    put_page(&(writer){c, &s, &arena}, name, issues);
    if (s.failed && c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
  } else if (st == IG_OK) {
    (void)ig_fail(c, IG_SYNTAX,
                  "%s: no report of a draft: it has no list of issues; DraftExportReport.to_json() "
                  "gives one",
                  name);
  }
  ig_arena_free(&arena);
  if (c->status == IG_OK) return ig_print_end(c, &s);
  ig_str_free(&s);
  return NULL;
}
