// SPDX-License-Identifier: Apache-2.0
// Any bytes as the text of a script: it parses or is refused with words, and every node lies inside
// its parent.
#include <string.h>

#include "base/ctx.h"
#include "script/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const ig_tree *t, size_t size) {
  if (t->range.start > t->range.end || t->range.end > size || !t->text) __builtin_trap();
  for (size_t i = 0; i < t->n; i++) {
    if (t->at[i]) check(t->at[i], size);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_arena arena = ig_arena_make(c->alloc);
  ig_str text = ig_str_make(c->alloc);
  ig_source source = {.text = (const char *)data, .n = n, .file = "fuzz.py", .first_line = 1};
  const ig_tree *t = ig_tree_parse(c, &arena, &source);
  if (t) {
    check(t, n);
    ig_tree_print(&text, t);
  } else if (ig_ctx_status(c) == IG_OK || !ig_ctx_error(c)[0]) {
    __builtin_trap();
  }
  ig_str_free(&text);
  ig_arena_free(&arena);
  ig_ctx_free(c);
  return 0;
}
