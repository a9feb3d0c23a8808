// SPDX-License-Identifier: Apache-2.0
// Replays recorded answers of PyTorch 2.5.1 (expressions.jsonl.gz): each expression is built from
// its prefix form, and the text straight after construction, the simplified text, the tree form,
// the value and the range are compared. Both texts are parsed back. Differences that are accepted
// stand in differences.txt with their reason; a difference that is gone must leave that file.
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

typedef struct replay {
  ig_ctx *c;
  ig_arena arena;
  size_t records;
  size_t compared;
  size_t different;
  size_t unexpected;
  char accepted[64][64];  // "e00017 range"
  bool seen[64];
  size_t naccepted;
  bool verbose;
} replay;

static ig_wide bound(const ig_json *j, ig_wide open) {
  return !j || j->kind == IG_JSON_NULL ? open : j->i;
}

static ig_wide bound_of_text(const char *text) {
  if (strstr(text, "oo")) return *text == '-' ? IG_WIDE_MIN : IG_WIDE_MAX;
  return strtoll(text, NULL, 10);
}

// s0..s5 are positive, u0..u2 integers; the record gives ranges and hints.
static void declare(replay *r, const ig_json *rec) {
  const ig_json *symbols = ig_json_find(rec, "symbols");
  const ig_json *after = ig_json_find(rec, "ranges_after_facts");
  for (int i = 0; i < 9; i++) {
    char name[16];
    bool size = i < 6;
    (void)snprintf(name, sizeof name, "%c%d", size ? 's' : 'u', size ? i : i - 6);
    const ig_json *s = ig_json_find(symbols, name);
    ig_symbol_info info = {.sort = IG_SORT_INT, .positive = size, .backed = true};
    info.hint = s ? ig_json_find(s, "value")->i : 7 + i;
    info.range = ig_vrange_ints(bound(s ? ig_json_find(s, "lo") : NULL, size ? 2 : IG_WIDE_MIN),
                                bound(s ? ig_json_find(s, "hi") : NULL, IG_WIDE_MAX));
    const ig_json *learned = after ? ig_json_find(after, name) : NULL;
    if (learned) {
      info.range = ig_vrange_ints(bound_of_text(learned->items[0].text),
                                  bound_of_text(learned->items[1].text));
    }
    assert_non_null(ig_expr_symbol(r->c, name, &info));
  }
}

static void compare(replay *r, const char *id, const char *field, const char *want,
                    const char *got) {
  r->compared++;
  if (strcmp(want, got) == 0) return;
  r->different++;
  char key[64];
  (void)snprintf(key, sizeof key, "%s %s", id, field);
  bool known = false;
  for (size_t i = 0; i < r->naccepted; i++) {
    if (strcmp(r->accepted[i], key) != 0) continue;
    r->seen[i] = true;
    known = true;
  }
  if (!known) r->unexpected++;
  if (r->verbose || (!known && r->unexpected < 20)) {
    print_message("%s %s\n  want %s\n  got  %s\n", id, field, want, got);
  }
}

static const char *text_of(replay *r, ig_str *s, void (*print)(ig_str *, const ig_expr *),
                           const ig_expr *e) {
  s->n = 0;
  if (e) print(s, e);
  if (!e) ig_str_add(s, "error: %s", ig_ctx_error(r->c));
  return s->at;
}

// `oo` and `int_oo` are distinguished by accident.
static void without_int(char *text) {
  for (char *p = strstr(text, "int_oo"); p; p = strstr(text, "int_oo")) {
    memmove(p, p + 4, strlen(p + 4) + 1);
  }
}

static bool hint_of_symbol(void *user, const ig_expr *symbol, ig_hint *out) {
  (void)user;
  return ig_hint_of(symbol, out);
}

static void compare_parsed(replay *r, const char *id, const ig_expr *e, const char *text,
                           const char *field) {
  const ig_expr *back = ig_expr_parse(r->c, text);
  if (back == e) return;
  ig_str s = ig_str_make(r->c->alloc);
  compare(r, id, field, text, text_of(r, &s, ig_str_expr, back));
  ig_str_free(&s);
}

static void compare_record(replay *r, const char *id, const ig_json *rec, const ig_expr *raw) {
  ig_str s = ig_str_make(r->c->alloc);
  const ig_json *want = ig_json_find(rec, "raw_str");
  compare(r, id, "raw_str", want->text, text_of(r, &s, ig_str_expr, raw));
  const ig_json *replaced = ig_json_find(rec, "replacements");
  const ig_expr *simple = ig_expr_simplify(r->c, raw);
  want = replaced && replaced->n ? NULL : ig_json_find(rec, "str");
  if (want) {
    compare(r, id, "str", want->text, text_of(r, &s, ig_str_expr, simple));
    if (simple && !ig_expr_has_kind(simple, IG_EXPR_CLEANDIV)) {
      compare_parsed(r, id, simple, s.at, "parsed");
    }
    compare(r, id, "srepr", ig_json_find(rec, "srepr")->text, text_of(r, &s, ig_str_srepr, simple));
    if (simple) compare_parsed(r, id, simple, s.at, "srepr parsed");
  }
  want = ig_json_find(rec, "value");
  ig_hint h;
  if (want && raw) {
    s.n = 0;
    if (ig_expr_eval(raw, hint_of_symbol, NULL, &h)) {
      ig_str_hint(&s, &h);
    } else {
      ig_str_add(&s, "none");
    }
    compare(r, id, "value", want->text, s.at);
  }
  want = ig_json_find(rec, "range");
  if (want && raw && want->kind == IG_JSON_ARRAY) {
    char both[256];
    (void)snprintf(both, sizeof both, "VR[%s, %s]", want->items[0].text, want->items[1].text);
    s.n = 0;
    ig_str_vrange(&s, ig_expr_range(r->c, raw));
    without_int(both);
    without_int(s.at);
    compare(r, id, "range", both, s.at);
  }
  ig_str_free(&s);
}

static void replay_record(replay *r, const char *line) {
  const ig_json *rec = NULL;
  ig_bytes bytes = {(const uint8_t *)line, strlen(line)};
  assert_int_equal(ig_json_parse(r->c, "record", bytes, &r->arena, NULL, &rec), IG_OK);
  if (!ig_json_find(rec, "raw_str")) return;  // the oracle failed before there was a text
  const char *id = ig_json_find(rec, "id")->text;
  ig_mode_scope mode = ig_mode_push_sym(r->c, ig_sym_create(r->c));
  assert_non_null(r->c->mode->sym);
  declare(r, rec);
  r->records++;
  const ig_expr *raw = test_prefix_build(r->c, ig_json_find(rec, "build"));
  compare_record(r, id, rec, raw);
  ig_ctx_clear(r->c);
  ig_ref_release(&r->c->mode->sym->ref);
  ig_mode_pop(r->c, &mode);
}

static void read_accepted(replay *r) {
  FILE *f = fopen(TEST_DATA "/sym/differences.txt", "r");
  char line[256];
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    if (*line == '#' || *line == '\n') continue;
    char *end = strchr(line, ':');
    assert_non_null(end);
    *end = '\0';
    assert_true(r->naccepted < 64);
    (void)snprintf(r->accepted[r->naccepted++], 64, "%.63s", line);
  }
  (void)fclose(f);
}

static void test_records(void **state) {
  static char line[1 << 16];
  replay r = {.c = test_heap_ctx(*state), .verbose = getenv("SYM_VERBOSE") != NULL};
  assert_non_null(r.c);
  r.arena = ig_arena_make(r.c->alloc);
  read_accepted(&r);
  const char *path = getenv("SYM_RECORDS");
  gzFile f = gzopen(path ? path : TEST_DATA "/sym/expressions.jsonl.gz", "rb");
  assert_non_null(f);
  while (gzgets(f, line, sizeof line)) {
    replay_record(&r, line);
    ig_arena_free(&r.arena);
    r.arena = ig_arena_make(r.c->alloc);
  }
  (void)gzclose(f);
  ig_arena_free(&r.arena);
  print_message("%zu records, %zu texts, %zu differ, %zu of them unexpected\n", r.records,
                r.compared, r.different, r.unexpected);
  for (size_t i = 0; i < r.naccepted && !path; i++) {
    if (!r.seen[i]) fail_msg("no longer different: %s", r.accepted[i]);
  }
  assert_true(r.records > 0);
  assert_int_equal(r.unexpected, 0);
  ig_ctx_free(r.c);
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
      cmocka_unit_test_setup_teardown(test_records, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
