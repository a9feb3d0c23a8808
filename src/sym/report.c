// SPDX-License-Identifier: Apache-2.0
// Collecting issues: the user's location and call; equal issues are stored once.
#include "sym/report.h"

#include <stdio.h>
#include <string.h>

#include "base/frames.h"

static void report_destroy(ig_ref *ref) {
  ig_report *r = (ig_report *)ref;
  ig_ref_release(r->script);
  ig_arena_free(&r->arena);
  ig_vec_free(r->alloc, &r->issues);
  ig_vec_free(r->alloc, &r->fixes);
  ig_mem_free(r->alloc, r, sizeof *r);
}

ig_report *ig_report_create(ig_ctx *c) {
  ig_report *r = ig_mem_new(c->alloc, sizeof *r);
  if (!r) return NULL;
  r->ref = (ig_ref){1, report_destroy};
  r->alloc = c->alloc;
  r->arena = ig_arena_make(c->alloc);
  return r;
}

size_t ig_report_issues(const ig_report *r, const ig_issue **issues) {
  *issues = r ? r->issues.at : NULL;
  return r ? r->issues.n : 0;
}

size_t ig_report_fixes(const ig_report *r, const ig_dim_fix **fixes) {
  *fixes = r ? r->fixes.at : NULL;
  return r ? r->fixes.n : 0;
}

const ig_report *ig_ctx_report(const ig_ctx *c) {
  return (const ig_report *)c->trouble;
}

// ---- the location ----

static const char *keep(ig_report *r, const char *text, size_t n) {
  return text ? ig_arena_strn(&r->arena, text, n) : NULL;
}
static const char *keep_all(ig_report *r, const char *text) {
  return text ? keep(r, text, strlen(text)) : NULL;
}

static void keep_frames(ig_report *r, const ig_frame *from, size_t n, ig_issue *i) {
  ig_frame *at = n ? ig_arena_array(&r->arena, n, sizeof *at) : NULL;
  i->frames = at;
  i->nframes = at ? n : 0;
  for (size_t k = 0; k < i->nframes; k++) {
    at[k] = (ig_frame){keep_all(r, from[k].file), from[k].line, keep_all(r, from[k].function),
                       keep_all(r, from[k].code)};
  }
  if (!i->nframes) return;
  const ig_frame *last = &at[n - 1];
  i->file = last->file;
  i->line = last->line;
  i->function = last->function;
  i->source = last->code;
}

// Without frames (a C program) the source file itself may be readable. Frames may be those of a
// file that somebody else wrote: what they name is not opened.
static const char *read_line(ig_report *r, const char *file, int line) {
  char text[256];
  const char *found = NULL;
  FILE *f = line > 0 ? fopen(file, "rb") : NULL;
  bool fresh = true;
  for (int at = 1; f && at <= line && fgets(text, sizeof text, f);) {
    size_t n = strlen(text);
    bool whole = n && text[n - 1] == '\n';
    if (at == line && fresh) {
      const char *from = text + strspn(text, " \t");
      found = keep(r, from, strcspn(from, "\r\n"));
      break;
    }
    fresh = whole;
    at += whole;
  }
  if (f) (void)fclose(f);
  return found;
}

static void place(ig_ctx *c, ig_report *r, ig_issue *i) {
  if (i->file) {  // given; "": none
    i->file = *i->file ? keep_all(r, i->file) : NULL;
    keep_frames(r, i->frames, i->nframes, i);
  } else {
    ig_locate(c);
    if (c->stack) keep_frames(r, c->stack->at, c->stack->n, i);
    if (!i->file && c->file) {
      i->file = keep_all(r, c->file);
      i->line = c->line;
    }
  }
  if (i->file && !i->nframes) i->source = read_line(r, i->file, i->line);
}

// ---- adding ----

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

// Decisions are equal at the same location; operators are equal wherever they are called.
static bool is_same(const ig_issue *a, const ig_issue *b) {
  bool per_op = a->kind == IG_ISSUE_NO_FAKE || a->kind == IG_ISSUE_WRONG_FAKE;
  if (a->kind != b->kind || !same_text(a->op, b->op)) return false;
  if (per_op) return true;
  if (a->line != b->line || !same_text(a->file, b->file)) return false;
  // One line may require several things of a size; one edit resolves them.
  if (a->kind == IG_ISSUE_CONSTRAINT) return same_text(a->fix, b->fix);
  return same_text(a->predicate, b->predicate) && same_text(a->reason, b->reason);
}

static void describe_call(ig_ctx *c, ig_report *r, ig_issue *i) {
  if (i->op || !c->op_target || i->kind == IG_ISSUE_CONSTRAINT) return;
  i->op = c->op_target;
  if (i->operands || !c->op_describe) return;
  ig_str s = ig_str_make(c->alloc);
  c->op_describe(c, &s);
  i->operands = keep_all(r, s.at);
  ig_str_free(&s);
}

void ig_report_add(ig_ctx *c, ig_report *r, const ig_issue *issue) {
  ig_issue i = *issue;
  place(c, r, &i);
  describe_call(c, r, &i);
  i.times = 1;
  for (size_t k = 0; k < r->issues.n; k++) {
    if (!is_same(&r->issues.at[k], &i)) continue;
    r->issues.at[k].times++;
    return;
  }
  const char **texts[] = {&i.op, &i.predicate, &i.answer, &i.reason, &i.fix};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) *texts[k] = keep_all(r, *texts[k]);
  if (issue->operands) i.operands = keep_all(r, issue->operands);
  (void)ig_vec_push(r->alloc, &r->issues, i);  // one issue less in the list, if out of memory
}

void ig_report_retry(ig_report *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->issues.n; i++) {
    if (r->issues.at[i].kind == IG_ISSUE_CONSTRAINT) r->issues.at[n++] = r->issues.at[i];
  }
  r->issues.n = n;
  r->fixes.n = 0;
}

// The report of the draft if there is one, otherwise of the context's current or next error. NULL:
// out of memory.
static ig_report *current(ig_ctx *c) {
  if (c->mode->draft) return c->mode->draft->report;
  if (!c->trouble) {
    ig_report *r = ig_report_create(c);
    c->trouble = r ? &r->ref : NULL;
  }
  return (ig_report *)c->trouble;
}

void ig_issue_tell(ig_ctx *c, const ig_issue *issue) {
  ig_report *r = current(c);
  if (r) ig_report_add(c, r, issue);
}

void ig_report_printed(ig_ctx *c) {
  ig_report *r = (ig_report *)c->trouble;
  if (r) r->printed = true;
}

void ig_report_attach(ig_ctx *c, ig_report *r) {
  ig_ref_retain(&r->ref);
  ig_ref_release(c->trouble);
  c->trouble = &r->ref;
}

void ig_fixes_tell(ig_ctx *c, const ig_dim_fix *fixes, size_t n) {
  ig_report *r = current(c);
  if (r) r->fixes.n = 0;
  for (size_t i = 0; r && i < n; i++) {
    ig_dim_fix f = fixes[i];
    f.name = keep_all(r, f.name);
    f.root = keep_all(r, f.root);
    (void)ig_vec_push(r->alloc, &r->fixes, f);  // one less, if out of memory
  }
}
