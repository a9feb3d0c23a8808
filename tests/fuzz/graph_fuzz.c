// SPDX-License-Identifier: Apache-2.0
// Any text as the printed graph of a script: what parses is printed and parsed again, and must not
// change.
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "script/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *print(ig_ctx *c, ig_stypes *types, const char *text) {
  ig_sgraph *g = ig_sgraph_parse(types, NULL, text);
  if (!g && (ig_ctx_status(c) == IG_OK || !ig_ctx_error(c)[0])) __builtin_trap();
  if (!g) return NULL;
  ig_str s = ig_str_make(c->alloc);
  ig_sgraph_print(&s, g, true);
  char *copy = malloc(s.n + 1);
  if (copy) memcpy(copy, s.at, s.n + 1);
  ig_str_free(&s);
  ig_sgraph_free(g);
  return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  char *text = malloc(n + 1);
  if (!text || ig_ctx_create(NULL, &c) != IG_OK) {
    free(text);
    return 0;
  }
  memcpy(text, data, n);
  text[n] = '\0';
  ig_stypes types = ig_stypes_make(c);
  char *once = print(c, &types, text);
  char *twice = once ? print(c, &types, once) : NULL;
  if (once && (!twice || strcmp(once, twice) != 0)) __builtin_trap();
  free(once);
  free(twice);
  free(text);
  ig_stypes_free(&types);
  ig_ctx_free(c);
  return 0;
}
