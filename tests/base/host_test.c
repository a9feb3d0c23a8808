// SPDX-License-Identifier: Apache-2.0
// What the system does for a command line, and for threads that end.
#define _GNU_SOURCE
#include "base/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "heap.h"

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void expect_text(const char *path, const char *text) {
  char found[64] = "";
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  (void)!fread(found, 1, sizeof found - 1, f);
  (void)fclose(f);
  assert_string_equal(found, text);
}

static void test_staged(void **state) {
  (void)state;
  char folder[] = "/tmp/ingot-host-XXXXXX";
  assert_true(ig_host_temporary(folder));
  char target[100];
  char beside[100];
  char link_name[100];
  (void)snprintf(target, sizeof target, "%s/a.txt", folder);
  (void)snprintf(beside, sizeof beside, "%s/a.data", folder);
  (void)snprintf(link_name, sizeof link_name, "%s/link", folder);
  write_text(target, "old");
  assert_int_equal(symlink(target, link_name), 0);
  for (int keep = 0; keep < 2; keep++) {
    static ig_staged s;
    assert_int_equal(ig_staged_open(link_name, &s), 0);
    char weights[sizeof s.folder + 10];
    (void)snprintf(weights, sizeof weights, "%s/a.data", s.folder);
    write_text(s.path, "new");
    write_text(weights, "weights");
    expect_text(target, "old");
    if (keep) assert_int_equal(ig_staged_keep(&s), 0);
    ig_staged_drop(&s);
    expect_text(target, keep ? "new" : "old");
    assert_int_equal(access(beside, F_OK), keep ? 0 : -1);
  }
  struct stat info;
  assert_true(lstat(link_name, &info) == 0 && S_ISLNK(info.st_mode));
  // Only these are left: the folder can be removed after them.
  assert_true(remove(target) == 0 && remove(beside) == 0 && remove(link_name) == 0);
  assert_int_equal(remove(folder), 0);
}

static void test_staged_refused(void **state) {
  (void)state;
  static ig_staged s;
  char name[300];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = 0;
  assert_int_equal(ig_staged_open(name, &s), ENAMETOOLONG);
  assert_int_equal(ig_staged_open("/nowhere/at/all", &s), ENOENT);
  assert_int_equal(ig_staged_open("/dev/null", &s), 0);
  assert_string_equal(s.path, "/dev/null");
  assert_int_equal(ig_staged_keep(&s), 0);
}

static void test_pattern(void **state) {
  (void)state;
  char why[100] = "";
  size_t begin;
  size_t end;
  assert_null(ig_pattern_create("(", why, sizeof why));
  assert_true(why[0] != 0);
  ig_pattern *p = ig_pattern_create("^a+", why, sizeof why);
  assert_non_null(p);
  assert_true(ig_pattern_find(p, "aab", false, &begin, &end));
  assert_true(begin == 0 && end == 2);
  assert_false(ig_pattern_find(p, "aab", true, &begin, &end));
  ig_pattern_free(p);
  ig_pattern_free(NULL);
}

static void count(void *user) {
  atomic_fetch_add((atomic_int *)user, 1);
}

static void test_ticker(void **state) {
  (void)state;
  atomic_int n = 0;
  ig_ticker *t = ig_ticker_start(1, count, &n);
  assert_non_null(t);
  int64_t until = ig_clock_nanos() + 10000000000;
  while (atomic_load(&n) < 3 && ig_clock_nanos() < until) (void)usleep(1000);
  ig_ticker_stop(t);
  int after = atomic_load(&n);
  assert_true(after >= 3);
  (void)usleep(5000);
  assert_int_equal(atomic_load(&n), after);
  ig_ticker_stop(NULL);
}

typedef struct ending {
  ig_thread_end end;
  atomic_int *n;
} ending;

static _Thread_local ending mine[2];

static void at_end(ig_thread_end *e) {
  atomic_fetch_add(((ending *)e)->n, 1);
}

static void *short_life(void *n) {
  for (int i = 0; i < 2; i++) {
    mine[i] = (ending){{.run = at_end}, n};
    assert_true(ig_thread_at_end(&mine[i].end));
  }
  return NULL;
}

static void test_thread_end(void **state) {
  (void)state;
  atomic_int n = 0;
  for (int i = 0; i < 3; i++) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, short_life, &n), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
  }
  assert_int_equal(atomic_load(&n), 6);
}

static void test_lock(void **state) {
  (void)state;
  static ig_lock fixed = IG_LOCK_OPEN;
  ig_lock made;
  assert_true(ig_lock_init(&made));
  ig_lock_take(&fixed);
  ig_lock_take(&made);
  ig_lock_leave(&made);
  ig_lock_leave(&fixed);
  ig_lock_free(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_staged),     cmocka_unit_test(test_staged_refused),
      cmocka_unit_test(test_pattern),    cmocka_unit_test(test_ticker),
      cmocka_unit_test(test_thread_end), cmocka_unit_test(test_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
