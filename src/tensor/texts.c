// SPDX-License-Identifier: Apache-2.0
// Arrays of texts as lists of lists.
#include "tensor/texts.h"

#include <string.h>

// ---- looking

static bool is_list(const ig_value *v) {
  return v->kind == IG_KIND_LIST && (v->seq == IG_SEQ_LIST || v->seq == IG_SEQ_TUPLE);
}

// Is v an array of sizes[0], ... with texts at the bottom?
static bool has_sizes(const ig_value *v, const int64_t *sizes, int ndim) {
  if (ndim == 0) return v->kind == IG_KIND_STR;
  if (!is_list(v) || (int64_t)v->list.n != sizes[0]) return false;
  for (size_t i = 0; i < v->list.n; i++) {
    if (!has_sizes(&v->list.at[i], sizes + 1, ndim - 1)) return false;
  }
  return true;
}

bool ig_texts_measure(const ig_value *v, int64_t *sizes, int *ndim) {
  const ig_value *at = v;
  *ndim = 0;
  while (is_list(at)) {
    if (*ndim == IG_MAX_DIM) return false;
    sizes[(*ndim)++] = (int64_t)at->list.n;
    if (at->list.n == 0) break;
    at = &at->list.at[0];
  }
  return has_sizes(v, sizes, *ndim);
}

size_t ig_texts_read(const ig_value *v, const char **out, size_t cap) {
  if (v->kind != IG_KIND_LIST) {
    if (cap) out[0] = v->str;
    return 1;
  }
  size_t n = 0;
  for (size_t i = 0; i < v->list.n; i++) {
    size_t done = n < cap ? n : cap;
    n += ig_texts_read(&v->list.at[i], out + done, cap - done);
  }
  return n;
}

bool ig_texts_equal(const ig_value *a, const ig_value *b) {
  if (a->kind == IG_KIND_STR) return b->kind == IG_KIND_STR && strcmp(a->str, b->str) == 0;
  if (!is_list(a) || !is_list(b) || a->list.n != b->list.n) return false;
  for (size_t i = 0; i < a->list.n; i++) {
    if (!ig_texts_equal(&a->list.at[i], &b->list.at[i])) return false;
  }
  return true;
}

// ---- making

// The number of texts; -1: too many lists around them.
static int64_t count_texts(const int64_t *sizes, int ndim) {
  int64_t n = 1;
  int64_t lists = 0;
  for (int d = 0; d < ndim; d++) {
    if (!ig_checked_add(lists, n, &lists) || !ig_checked_mul(n, sizes[d], &n)) return -1;
  }
  return lists / 4 <= n + IG_MAX_LISTS / 4 ? n : -1;
}

const ig_value *ig_texts_make(ig_ctx *c, const char *name, const char *const *texts,
                              const int64_t *sizes, int ndim) {
  int64_t n = count_texts(sizes, ndim);
  if (n < 0) {
    (void)ig_fail(c, IG_UNSUPPORTED, "%s: an array of few texts with too many sizes of 0 or 1",
                  name);
    return NULL;
  }
  ig_value *level = ig_scope_array(c, (size_t)n + 1, sizeof *level);
  for (int64_t i = 0; level && i < n; i++) level[i] = ig_of_str(texts[i]);
  // From the innermost lists outwards; a level has n lists or texts.
  for (int d = ndim - 1; d >= 0 && level; d--) {
    int64_t outer = 1;
    for (int k = 0; k < d; k++) outer *= sizes[k];
    ig_value *above = ig_scope_array(c, (size_t)outer + 1, sizeof *above);
    for (int64_t i = 0; above && i < outer; i++) {
      above[i] = ig_of_list(level + i * sizes[d], (size_t)sizes[d]);
    }
    level = above;
  }
  return level;
}

static char *copy_text(ig_arena *a, const char *text) {
  return ig_arena_strn(a, text, strlen(text));
}

bool ig_texts_copy(ig_ctx *c, ig_arena *a, ig_value *v) {
  if (v->kind == IG_KIND_STR) {
    v->str = copy_text(a, v->str);
    return v->str || ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(a, v->list.n + 1, sizeof *items);
  if (!items) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!ig_texts_copy(c, a, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}
