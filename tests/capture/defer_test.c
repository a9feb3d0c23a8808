// SPDX-License-Identifier: Apache-2.0
// Recordings from C: results wait and become what is computed, writes and reads keep their order,
// an entry fits other sizes and nothing else, and no failing allocation leaves anything behind.
#include "capture/defer.h"

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/export.h"

static ig_ctx *c;
static test_heap heap;

static int setup(void **state) {
  heap = (test_heap){0};
  *state = &heap;
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  bool clean = ig_ctx_status(c) == IG_OK;
  if (!clean) print_error("left over: %s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  if (heap.live != 0) print_error("%ld blocks are left\n", heap.live);
  return clean && heap.live == 0 ? 0 : -1;
}

typedef struct seen {
  int flushes;
  size_t calls;
  ig_defer_why why;
  ig_defer_entry *entry;  // of the first one; later ones are compared with it
  bool fits;
  int64_t values[IG_DEFER_MOST_SYMBOLS];
} seen;

// All sizes are symbols.
static ig_defer_entry *trace(ig_defer *d) {
  uint8_t how[64] = {0};
  const char *names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  ig_tensor *outs[8];
  for (size_t i = 0; i < d->slots.n; i++) {
    how[i] = d->slots.at[i].kind == IG_SLOT_SIZE ? IG_SLOT_AS_SHARED : IG_SLOT_AS_CONSTANT;
  }
  if (ig_capture_begin(c) != IG_OK) return NULL;
  ig_defer_entry *e = ig_defer_trace(c, d, how, names, outs);
  ig_capture_abort(c);
  if (e) ig_defer_entry_seal(c, e);
  return e;
}

// Repeats the calls; the first time it makes an entry of them as well.
static bool flush(ig_ctx *ctx, ig_defer *d, ig_defer_why why, const ig_op *op, void *user) {
  seen *s = user;
  (void)op;
  ig_scope scope = ig_scope_open(ctx);
  s->flushes++;
  s->calls = d->calls.n;
  s->why = why;
  bool ok = ig_defer_close(ctx, d);
  if (ok && !s->entry) s->entry = trace(d);
  s->fits = ok && s->entry && ig_defer_same_structure(d, s->entry) &&
            ig_defer_fits(d, s->entry, s->values);
  ig_tensor *inputs[8];
  ig_tensor *outs[8] = {NULL};
  for (size_t i = 0; ok && i < d->inputs.n; i++) inputs[i] = d->values.at[d->inputs.at[i]].tensor;
  if (ok) ig_defer_replay(ctx, d, inputs, NULL, NULL, outs);
  for (size_t i = 0; ctx->status == IG_OK && i < d->outputs.n; i++) {
    ig_defer_become(ctx, d, d->values.at[d->outputs.at[i]].tensor, outs[i], true);
  }
  ig_defer_rebase(d);
  ig_scope_close(ctx, scope);
  return ctx->status == IG_OK;
}
static uint64_t kind(const ig_tensor *t, void *user) {
  (void)t;
  (void)user;
  return 0;
}
static void nothing(void *user) {
  (void)user;
}

static ig_defer *open(seen *s) {
  ig_defer_host host = {
      .flush = flush, .kind = kind, .forgive = nothing, .wait = nothing, .user = s};
  ig_defer *d = ig_defer_create(c, &host);
  if (d) ig_defer_enter(d);
  return d;
}

static ig_tensor *ones(int64_t n) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, &n, 1);
  for (int64_t i = 0; t && i < n; i++) ((float *)ig_tensor_data(t))[i] = 1;
  return t;
}

static double first(const ig_tensor *t) {
  return (double)*(const float *)ig_tensor_data(t);
}

static void test_results_wait(void **state) {
  (void)state;
  seen s = {0};
  ig_scope scope = ig_scope_open(c);
  ig_tensor *x = ones(3);
  ig_defer *d = open(&s);
  ig_tensor *y = ig_tensor_retain(ig_relu(c, x));
  ig_tensor *z = ig_tensor_retain(ig_neg(c, y));
  assert_true(ig_tensor_waits(y) && ig_tensor_waits(z) && s.flushes == 0);
  assert_int_equal(ig_tensor_numel(z), 3);
  assert_true(ig_defer_ready(c, z));
  assert_true(s.flushes == 1 && s.calls == 2 && s.why == IG_DEFER_VALUE);
  assert_true(!ig_tensor_waits(y) && first(y) == 1 && first(z) == -1);
  ig_defer_leave(d);
  ig_defer_free(d);
  ig_defer_entry_free(s.entry);
  ig_tensor_release(y);
  ig_tensor_release(z);
  ig_scope_close(c, scope);
}

static void test_writes_wait(void **state) {
  (void)state;
  seen s = {0};
  ig_scope scope = ig_scope_open(c);
  ig_tensor *x = ones(2);
  ig_defer *d = open(&s);
  ig_tensor *before = ig_tensor_retain(ig_neg(c, x));
  (void)ig_relu_(c, ig_neg_(c, x));
  assert_true(ig_tensor_waits(x) && ig_tensor_is_fake(x));
  assert_true(ig_defer_flush(c, d, IG_DEFER_END, NULL));
  assert_true(!ig_tensor_waits(x) && first(x) == 0 && first(before) == -1);
  assert_int_equal(ig_tensor_version(x), 2);
  ig_defer_leave(d);
  ig_defer_free(d);
  ig_defer_entry_free(s.entry);
  ig_tensor_release(before);
  ig_scope_close(c, scope);
}

static bool repeat(seen *s, int64_t n, bool twice) {
  ig_scope scope = ig_scope_open(c);
  ig_tensor *x = ones(n);
  ig_defer *d = open(s);
  ig_tensor *y = d ? ig_tensor_retain(ig_neg(c, x)) : NULL;
  ig_tensor *z = twice && y ? ig_tensor_retain(ig_neg(c, y)) : NULL;
  bool ok = y && ig_defer_flush(c, d, IG_DEFER_END, NULL);
  ok = ok && first(y) == -1 && (!z || first(z) == 1);
  ig_defer_free(d);
  ig_tensor_release(y);
  ig_tensor_release(z);
  ig_scope_close(c, scope);
  return ok;
}

static void test_entries_fit(void **state) {
  (void)state;
  seen s = {0};
  assert_true(repeat(&s, 3, false) && s.fits && s.values[0] == 3);
  assert_true(repeat(&s, 5, false) && s.fits && s.values[0] == 5);
  assert_true(repeat(&s, 1, false) && !s.fits);  // 0 and 1 are constants
  assert_true(repeat(&s, 5, true) && !s.fits);   // another structure
  ig_defer_entry_free(s.entry);
}

// Every allocation fails once.
static void test_memory(void **state) {
  (void)state;
  for (long at = 1; at < 4000; at++) {
    seen s = {0};
    heap.alone = true;
    heap.fail_at = heap.calls + at;
    bool ok = repeat(&s, 3, true);
    heap.fail_at = 0;
    ig_defer_entry_free(s.entry);
    if (ok) return;
    assert_int_equal(ig_ctx_status(c), IG_NOMEM);
    ig_ctx_clear(c);
  }
  fail_msg("%s", "it never succeeds");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_results_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(test_writes_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(test_entries_fit, setup, teardown),
      cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
