// SPDX-License-Identifier: Apache-2.0
// Any bytes as a symbolic expression: what parses is printed in both forms and parsed again, and
// must not change; simplification and ranges of it never crash.
#include <string.h>

#include "sym/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(ig_ctx *c, const ig_expr *e, void (*print)(ig_str *, const ig_expr *)) {
  ig_str once = ig_str_make(c->alloc);
  ig_str twice = ig_str_make(c->alloc);
  print(&once, e);
  const ig_expr *back = once.failed ? NULL : ig_expr_parse(c, once.at);
  if (back) print(&twice, back);
  if (back && !twice.failed && strcmp(once.at, twice.at) != 0) __builtin_trap();
  ig_str_free(&once);
  ig_str_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  char text[1024];
  if (n >= sizeof text || ig_ctx_create(NULL, &c) != IG_OK) return 0;
  memcpy(text, data, n);
  text[n] = '\0';
  ig_mode_scope mode = ig_mode_push_sym(c, ig_sym_create(c));
  const ig_expr *e = c->mode->sym ? ig_expr_parse(c, text) : NULL;
  if (e) {
    check(c, e, ig_str_srepr);
    ig_ctx_clear(c);
    check(c, e, ig_str_expr);
    ig_ctx_clear(c);
    (void)ig_expr_range(c, e);
    (void)ig_expr_simplify(c, e);
    ig_ctx_clear(c);
    (void)ig_expr_canonical(c, e);
  }
  if (c->mode->sym) ig_ref_release(&c->mode->sym->ref);
  ig_mode_pop(c, &mode);
  ig_ctx_free(c);
  return 0;
}
