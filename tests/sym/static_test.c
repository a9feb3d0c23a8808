// SPDX-License-Identifier: Apache-2.0
// What is known without a guard, replayed from recorded answers of PyTorch 2.5.1: the facts of a
// record are handed in as run-time checks, then the expression is asked about. An answer must never
// contradict the recorded one or the recorded value; where only one side knows, that is counted.
//
// SYM_VERBOSE=1 prints every difference.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec/json.h"
#include "heap.h"
#include "prefix.h"
#include "sym/build.h"
#include "sym/env.h"

enum { STATIC, OBLIVIOUS, TEXT, FIELDS };

typedef struct score {
  size_t asked;
  size_t alike;
  size_t stronger;  // we know, the record does not
  size_t weaker;
  size_t wrong;
} score;

typedef struct replay {
  ig_ctx *c;
  ig_arena arena;
  score scores[FIELDS];
  bool verbose;
} replay;

static ig_wide bound(const ig_json *j, ig_wide open) {
  return !j || j->kind == IG_JSON_NULL ? open : j->i;
}

// s0..s5 are sizes with hints; u0..u2 are read from data, some of them sizes.
static void declare(replay *r, const ig_json *rec) {
  const ig_json *symbols = ig_json_find(rec, "symbols");
  for (int i = 0; i < 9; i++) {
    char name[16];
    bool size = i < 6;
    (void)snprintf(name, sizeof name, "%c%d", size ? 's' : 'u', size ? i : i - 6);
    const ig_json *s = ig_json_find(symbols, name);
    ig_symbol_info info = {.sort = IG_SORT_INT, .positive = size, .backed = size};
    info.hint = s && size ? ig_json_find(s, "value")->i : 7 + i;
    bool like = s && !size && ig_json_find(s, "size_like")->b;
    ig_wide least = size ? 2 : like ? 0 : IG_WIDE_MIN;
    ig_wide lo = bound(s ? ig_json_find(s, "lo") : NULL, least);
    if (!size && lo < least) lo = least;
    info.range = ig_vrange_ints(lo, bound(s ? ig_json_find(s, "hi") : NULL, IG_WIDE_MAX));
    const ig_expr *e = ig_expr_symbol(r->c, name, &info);
    assert_non_null(e);
    if (like) ig_env_symbol(r->c, e)->size_like = true;
  }
}

static void give_facts(replay *r, const ig_json *facts) {
  for (size_t i = 0; facts && i < facts->n; i++) {
    const ig_expr *e = test_prefix_build(r->c, &facts->items[i]);
    if (!e || e->kind == IG_EXPR_BOOL) continue;
    ig_value v;
    ig_value_of_expr(e, &v);
    ig_sym_check(r->c, &v, NULL);
  }
}

static const char *answer_text(ig_answer a) {
  return a == IG_YES ? "True" : a == IG_NO ? "False" : "";
}

static void tally(replay *r, int field, const char *id, const char *want, const char *got) {
  static const char *const names[] = {"static", "oblivious", "str"};
  score *s = &r->scores[field];
  s->asked++;
  bool same = strcmp(want, got) == 0;
  if (same) {
    s->alike++;
  } else if (!*want) {
    s->stronger++;
  } else if (!*got) {
    s->weaker++;
  } else {
    s->wrong++;
  }
  if (!same && r->verbose) {
    print_message("%s %s\n  want %s\n  got  %s\n", id, names[field], want, got);
  }
}

static const char *text_or_empty(const ig_json *rec, const char *key) {
  const ig_json *j = ig_json_find(rec, key);
  return j && j->kind == IG_JSON_STRING ? j->text : "";
}

// The record's static answer to a number, as text; empty: not known.
static void static_number(replay *r, const ig_expr *e, ig_str *out) {
  const ig_expr *now = ig_env_find(r->c, e);
  out->n = 0;
  ig_str_add(out, "%s", "");
  if (!now) return;
  ig_vrange range = ig_expr_range(r->c, now);
  ig_hint h = {.sort = IG_SORT_INT, .i = range.lo, .den = 1};
  if (ig_expr_is_number(now)) {
    ig_str_expr(out, now);
  } else if (now->sort == IG_SORT_INT && ig_vrange_is_single(range)) {
    ig_str_hint(out, &h);
  }
}

static void compare(replay *r, const char *id, const ig_json *rec, const ig_expr *raw) {
  ig_str s = ig_str_make(r->c->alloc);
  bool boolean = raw->sort == IG_SORT_BOOL;
  if (ig_json_find(rec, "replacements") && ig_json_find(rec, "str")) {
    const ig_expr *now = ig_env_find(r->c, raw);
    if (now) ig_str_expr(&s, now);
    tally(r, TEXT, id, text_or_empty(rec, "str"), s.at ? s.at : "error");
  }
  if (boolean) {
    ig_answer a = ig_env_static(r->c, raw, 0);
    tally(r, STATIC, id, text_or_empty(rec, "static"), answer_text(a));
    a = ig_env_static(r->c, raw, IG_ASK_OBLIVIOUS);
    tally(r, OBLIVIOUS, id, text_or_empty(rec, "static_size_oblivious"), answer_text(a));
  } else if (ig_json_find(rec, "static")) {
    static_number(r, raw, &s);
    tally(r, STATIC, id, text_or_empty(rec, "static"), s.at);
  }
  ig_str_free(&s);
}

static void replay_record(replay *r, const char *line) {
  const ig_json *rec = NULL;
  ig_bytes bytes = {(const uint8_t *)line, strlen(line)};
  assert_int_equal(ig_json_parse(r->c, "record", bytes, &r->arena, NULL, &rec), IG_OK);
  if (!ig_json_find(rec, "static")) return;
  ig_mode_scope mode = ig_mode_push_sym(r->c, ig_sym_create(r->c));
  assert_non_null(r->c->mode->sym);
  declare(r, rec);
  const ig_expr *raw = test_prefix_build(r->c, ig_json_find(rec, "build"));
  give_facts(r, ig_json_find(rec, "facts"));
  ig_ctx_clear(r->c);  // a fact that cannot hold
  if (raw) compare(r, ig_json_find(rec, "id")->text, rec, raw);
  ig_ctx_clear(r->c);
  ig_ref_release(&r->c->mode->sym->ref);
  ig_mode_pop(r->c, &mode);
}

static void test_static(void **state) {
  static char line[1 << 16];
  static const char *const names[] = {"static", "oblivious", "str after facts"};
  replay r = {.c = test_heap_ctx(*state), .verbose = getenv("SYM_VERBOSE") != NULL};
  assert_non_null(r.c);
  r.arena = ig_arena_make(r.c->alloc);
  gzFile f = gzopen(TEST_DATA "/sym/expressions.jsonl.gz", "rb");
  assert_non_null(f);
  while (gzgets(f, line, sizeof line)) {
    replay_record(&r, line);
    ig_arena_free(&r.arena);
    r.arena = ig_arena_make(r.c->alloc);
  }
  (void)gzclose(f);
  ig_arena_free(&r.arena);
  for (int i = 0; i < FIELDS; i++) {
    const score *s = &r.scores[i];
    print_message("%s: %zu asked, %zu alike, %zu known here only, %zu there only, %zu differ\n",
                  names[i], s->asked, s->alike, s->stronger, s->weaker, s->wrong);
  }
  ig_ctx_free(r.c);
  for (int i = 0; i < FIELDS; i++) {
    assert_true(r.scores[i].alike * 100 >= r.scores[i].asked * 98);
  }
}

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  return 0;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  return heap->live == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_static, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
