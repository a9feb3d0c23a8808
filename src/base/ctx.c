// SPDX-License-Identifier: Apache-2.0
#include "base/ctx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/blocks.h"
#include "base/budget.h"
#include "base/cause.h"
#include "base/limits.h"
#include "ingot/text.h"

const char *ig_status_text(ig_status st) {
  static const char *const text[] = {
#define X(name, text, exception) [IG_##name] = text,
      IG_STATUS_LIST(X)
#undef X
  };
  return text[st];
}

void ig_ctx_init(ig_ctx *c, ig_alloc alloc, const struct ig_modes *mode) {
  c->alloc = alloc;
  c->limits = ig_limits_default();
  ig_account_init(c, 0, 0);
  c->message = c->small;
  c->message_cap = sizeof c->small;
  c->mode = mode;
}

void ig_ctx_clean(ig_ctx *c) {
  ig_scope_close(c, (ig_scope){0});
  ig_ref_release(c->trouble);
  ig_vec_free(c->alloc, &c->pool);
  ig_block_free(c->alloc, c->work, c->work_size);
  if (c->message != c->small) ig_mem_free(c->alloc, c->message, c->message_cap);
}

ig_status ig_ctx_status(const ig_ctx *c) {
  return c->status;
}

const char *ig_ctx_error(const ig_ctx *c) {
  return c->message;
}

static void begin(ig_ctx *c, ig_cause why) {
  c->status = ig_cause_status(why);
  c->code = why - (ig_cause)c->status;
  c->message[0] = 0;
  c->aside = 0;
}

void ig_ctx_clear(ig_ctx *c) {
  begin(c, IG_OK);
  (void)ig_budget_refused(c->alloc);
  ig_ref_release(c->trouble);
  c->trouble = NULL;
}

ig_ctx *ig_ctx_at(ig_ctx *c, const char *file, int line) {
  c->file = file;
  c->line = line;
  return c;
}

void ig_ctx_set_locator(ig_ctx *c, void (*fn)(ig_ctx *c, void *user), void *user) {
  c->locate = fn;
  c->locate_user = user;
}

void ig_locate(ig_ctx *c) {
  c->stack = NULL;
  if (c->locate) c->locate(c, c->locate_user);
}

static void append(ig_ctx *c, const char *fmt, ...) IG_PRINTF(2, 3);

// Doubles the buffer; when there is no memory for it the message is cut.
static bool grow(ig_ctx *c, size_t need) {
  size_t cap = c->message_cap;
  while (cap < need) cap *= 2;
  bool owned = c->message != c->small;
  void *old = owned ? c->message : NULL;
  char *p = c->alloc.fn(c->alloc.user, old, owned ? c->message_cap : 0, cap);
  if (!p) return false;
  if (!owned) memcpy(p, c->small, sizeof c->small);
  c->message = p;
  c->message_cap = cap;
  return true;
}

// Messages contain names from files and are printed on terminals: control characters are escaped.
// If there is no memory for the longer text, they become question marks.
static void make_safe(ig_ctx *c, size_t from) {
  size_t n = strlen(c->message + from);
  size_t need = ig_text_escape(c->message + from, n, true, NULL, 0);
  uint32_t code = 0;
  if (need == n) return;
  char *copy = ig_mem_new(c->alloc, n + 1);
  if (copy && (from + need < c->message_cap || grow(c, from + need + 1))) {
    memcpy(copy, c->message + from, n);
    (void)ig_text_escape(copy, n, true, c->message + from, c->message_cap - from);
  } else {
    for (char *s = c->message + from; *s; s++) {
      if (*s != '\n' && *s != '\t' && ig_text_hazard(s, 1, &code)) *s = '?';
    }
  }
  ig_mem_free(c->alloc, copy, n + 1);
}

static void vappend(ig_ctx *c, const char *fmt, va_list ap) {
  size_t n = strlen(c->message);
  va_list again;
  va_copy(again, ap);
  int len = vsnprintf(c->message + n, c->message_cap - n, fmt, ap);
  if (len > 0 && n + (size_t)len >= c->message_cap && grow(c, n + (size_t)len + 1)) {
    (void)vsnprintf(c->message + n, c->message_cap - n, fmt, again);
  }
  va_end(again);
  make_safe(c, n);
}
static void append(ig_ctx *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vappend(c, fmt, ap);
  va_end(ap);
}

// The limit of this context is reached, not that of the machine.
static void tell_refused(ig_ctx *c) {
  size_t bytes = ig_budget_refused(c->alloc);
  if (c->status != IG_NOMEM || !bytes) return;
  c->code = IG_E_MEMORY_LIMIT;
  append(c,
         ": %zu bytes in addition to %llu in use exceed the limit of %llu; if there may be more, "
         "raise max_memory of ig_limits (--max-memory)",
         bytes, (unsigned long long)ig_budget_live(c->alloc),
         (unsigned long long)ig_budget_limit(c->alloc));
}

void ig_fail_at(ig_ctx *c, ig_cause why, const char *fmt, ...) {
  if (c->status != IG_OK) return;  // the first error is the cause
  begin(c, why);
  if (c->op_target) append(c, "%s: ", c->op_target);
  va_list ap;
  va_start(ap, fmt);
  vappend(c, fmt, ap);
  va_end(ap);
  tell_refused(c);
  ig_locate(c);
  if (!c->file) return;
  const char *slash = strrchr(c->file, '/');
  append(c, " (%s:%d)", slash ? slash + 1 : c->file, c->line);
}

bool ig_no_memory(ig_ctx *c) {
  ig_fail_at(c, IG_NOMEM, "out of memory");
  return false;
}

void ig_fail_text(ig_ctx *c, ig_cause why, const char *fmt, ...) {
  if (c->status != IG_OK) return;
  begin(c, why);
  va_list ap;
  va_start(ap, fmt);
  vappend(c, fmt, ap);
  va_end(ap);
  // The text was to be made of others, for which there was no memory: the kind of error is left.
  if (!c->message[0]) append(c, "%s", ig_status_text(c->status));
  tell_refused(c);
  ig_locate(c);
}

static void vnote(ig_ctx *c, const char *fmt, va_list ap) {
  append(c, "\n  ");
  vappend(c, fmt, ap);
}

void ig_note(ig_ctx *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vnote(c, fmt, ap);
  va_end(ap);
}

void ig_aside(ig_ctx *c, const char *fmt, ...) {
  if (c->aside == 0) c->aside = strlen(c->message);
  va_list ap;
  va_start(ap, fmt);
  vnote(c, fmt, ap);
  va_end(ap);
}

ig_scope ig_scope_open(ig_ctx *c) {
  return (ig_scope){c->pool.n};
}

void ig_scope_close(ig_ctx *c, ig_scope s) {
  while (c->pool.n > s.mark) ig_ref_release(c->pool.at[--c->pool.n]);
}

bool ig_pool_add(ig_ctx *c, ig_ref *r) {
  if (ig_vec_push(c->alloc, &c->pool, r)) return true;
  ig_ref_release(r);
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return false;
}

typedef struct block {
  ig_ref ref;
  ig_alloc alloc;
  size_t size;
} block;

static void block_destroy(ig_ref *ref) {
  block *b = (block *)ref;
  ig_block_free(b->alloc, b, b->size);
}

void *ig_scope_push(ig_ctx *c, size_t size) {
  enum { HEADER = (sizeof(block) + 15) / 16 * 16 };
  if (c->status != IG_OK) return NULL;
  block *b = size <= PTRDIFF_MAX - HEADER ? ig_block_new(c->alloc, HEADER + size) : NULL;
  if (!b) {
    (void)ig_fail(c, IG_NOMEM, "out of memory: %zu bytes of working memory", size);
    return NULL;
  }
  *b = (block){{1, block_destroy}, c->alloc, HEADER + size};
  return ig_pool_add(c, &b->ref) ? (char *)b + HEADER : NULL;
}

void *ig_scope_array(ig_ctx *c, size_t n, size_t size) {
  return ig_scope_push(c, ig_mem_mul(n, size));
}
