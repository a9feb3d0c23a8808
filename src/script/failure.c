// SPDX-License-Identifier: Apache-2.0
#include "script/failure.h"

#include <string.h>

static void destroy(ig_ref *ref) {
  ig_sfailure *f = (ig_sfailure *)ref;
  if (f->cls) ig_mem_free(f->alloc, f->cls, strlen(f->cls) + 1);
  if (f->message) ig_mem_free(f->alloc, f->message, strlen(f->message) + 1);
  ig_str_free(&f->frames);
  ig_mem_free(f->alloc, f, sizeof *f);
}

static char *copy(ig_ctx *c, const char *text, size_t n) {
  char *to = ig_mem_new(c->alloc, ig_mem_add(n, 1));
  if (to) memcpy(to, text, n);
  return to;
}

// The data of the context's error; NULL: out of memory.
static ig_report *report_of(ig_ctx *c) {
  if (!c->trouble) {
    ig_report *r = ig_report_create(c);
    c->trouble = r ? &r->ref : NULL;
  }
  return (ig_report *)c->trouble;
}

// NULL: out of memory, and the error has no data.
static ig_sfailure *make(ig_ctx *c, const char *cls, const char *message, size_t n) {
  ig_sfailure *f = ig_mem_new(c->alloc, sizeof *f);
  if (!f) return NULL;
  f->ref = (ig_ref){1, destroy};
  f->alloc = c->alloc;
  f->frames = ig_str_make(c->alloc);
  f->message = copy(c, message, n);
  f->cls = cls ? copy(c, cls, strlen(cls)) : NULL;
  ig_report *r = f->message && (f->cls || !cls) ? report_of(c) : NULL;
  if (!r) {
    destroy(&f->ref);
    return NULL;
  }
  ig_ref_release(r->script);
  r->script = &f->ref;
  return f;
}

const ig_sfailure *ig_ctx_sfailure(const ig_ctx *c) {
  const ig_report *r = (const ig_report *)c->trouble;
  return r ? (const ig_sfailure *)r->script : NULL;
}

void ig_script_raise(ig_ctx *c, const char *cls, const char *message) {
  if (c->status != IG_OK) return;
  ig_fail_text(c, IG_RUNTIME, "%s", message);
  ig_sfailure *f = make(c, cls, message, strlen(message));
  if (f) f->raised = true;
}

// Errors that a Python program would see as exceptions of the operation.
static bool is_of_program(ig_status st) {
  switch (st) {
    case IG_RUNTIME:
    case IG_INVALID:
    case IG_BAD_TYPE:
    case IG_MISMATCH:
    case IG_BAD_INDEX:
    case IG_OVERFLOW:
    case IG_SYNTAX:
    case IG_NOT_FOUND:
    case IG_UNSUPPORTED:
    case IG_ASSERTION:
      return true;
    default:
      return false;
  }
}

void ig_script_reword(ig_ctx *c, const char *text) {
  ig_cause why = (c->status == IG_UNSUPPORTED ? IG_UNSUPPORTED : IG_RUNTIME) | c->code;
  ig_ref *data = c->trouble;
  c->trouble = NULL;
  ig_ctx_clear(c);
  ig_fail_text(c, why, "%s", text);
  c->trouble = data;
}

void ig_script_explain(ig_ctx *c, const char *frames) {
  if (!is_of_program(c->status)) return;
  ig_sfailure *f = c->trouble ? (ig_sfailure *)((ig_report *)c->trouble)->script : NULL;
  size_t n = c->aside ? c->aside : strlen(c->message);
  if (!f) f = make(c, NULL, c->message, n);
  if (!f) return;
  ig_str all = ig_str_make(c->alloc);
  ig_str_add(&all, "%s%s", frames, f->frames.at ? f->frames.at : "");
  ig_str_free(&f->frames);
  f->frames = all;
  ig_str text = ig_str_make(c->alloc);
  ig_str_add(&text,
             "The following operation failed in the TorchScript interpreter.\n"
             "Traceback of TorchScript (most recent call last):\n"
             "%s%s: %s\n",
             all.at ? all.at : "", f->cls ? f->cls : "RuntimeError", f->message);
  if (!text.failed) ig_script_reword(c, text.at);
  ig_str_free(&text);
}
