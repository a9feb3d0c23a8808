// SPDX-License-Identifier: Apache-2.0
// The pool: every index once, ranges no shorter than the grain, nesting, several callers, fork.
#define _GNU_SOURCE
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "portion.h"

// The thread sanitizer does not support new threads in the child of a process with threads.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_MAY_START_THREADS false
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CHILD_MAY_START_THREADS false
#endif
#if !defined(CHILD_MAY_START_THREADS)
#define CHILD_MAY_START_THREADS true
#endif

enum { LIMIT = 5000 };

typedef struct count {
  atomic_int hits[LIMIT];
  int64_t n, grain;
  atomic_int calls, wrong;
} count;

static void count_range(void *arg, int64_t begin, int64_t end) {
  count *c = arg;
  atomic_fetch_add(&c->calls, 1);
  bool short_range = end - begin < c->grain && end - begin != c->n;
  if (begin < 0 || end > c->n || begin >= end || short_range) atomic_fetch_add(&c->wrong, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&c->hits[i], 1);
}

static void count_task(void *arg, int64_t i) {
  count_range(arg, i, i + 1);
}

static void check_count(count *c) {
  assert_int_equal(atomic_load(&c->wrong), 0);
  for (int64_t i = 0; i < LIMIT; i++) assert_int_equal(atomic_load(&c->hits[i]), i < c->n ? 1 : 0);
}

static void test_every_index_once(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, LIMIT};
  static const int64_t grains[] = {-1, 0, 1, 2, 3, 100, 2500, LIMIT, INT64_MAX};
  for (int threads = 1; threads <= 5; threads++) {
    ig_threads_set(threads);
    assert_int_equal(ig_threads_get(), threads);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
        count c = {.n = sizes[i], .grain = grains[g] < 1 ? 1 : grains[g]};
        ig_parallel_for(sizes[i], grains[g], count_range, &c);
        check_count(&c);
        if (threads == 1) assert_int_equal(atomic_load(&c.calls), sizes[i] > 0);
        count t = {.n = sizes[i], .grain = 1};
        ig_parallel_tasks(sizes[i], count_task, &t);
        check_count(&t);
      }
  }
  ig_parallel_for(-3, 1, count_range, NULL);
  ig_threads_set(0);
}

static void test_many_short_loops(void **state) {
  (void)state;
  ig_threads_set(3);
  for (int i = 0; i < 3000; i++) {
    count c = {.n = 8, .grain = 1};
    ig_parallel_for(8, 1, count_range, &c);
    assert_int_equal(atomic_load(&c.wrong), 0);
    for (int k = 0; k < 8; k++) assert_int_equal(atomic_load(&c.hits[k]), 1);
  }
}

// Each of two tasks waits for the other, so it ends only if two threads really work at once.
typedef struct meeting {
  atomic_int here;
  atomic_bool met;
} meeting;

static void meet(void *arg, int64_t task) {
  (void)task;
  meeting *m = arg;
  atomic_fetch_add(&m->here, 1);
  for (int i = 0; i < 200000 && atomic_load(&m->here) < 2; i++) sched_yield();
  if (atomic_load(&m->here) == 2) atomic_store(&m->met, true);
}

static void test_threads_work_together(void **state) {
  (void)state;
  ig_threads_set(2);
  meeting m = {0};
  ig_parallel_tasks(2, meet, &m);
  assert_true(atomic_load(&m.met));
}

static void nested(void *arg, int64_t begin, int64_t end) {
  count *c = arg;
  if (!ig_threads_inside()) atomic_fetch_add(&c->wrong, 1);
  for (int64_t i = begin; i < end; i++) {
    count in = {.n = 50, .grain = 1};
    ig_parallel_for(50, 1, count_range, &in);
    if (atomic_load(&in.calls) != 1) atomic_fetch_add(&c->wrong, 1);
    atomic_fetch_add(&c->hits[i], 1);
  }
}

static void test_nested_runs_inline(void **state) {
  (void)state;
  ig_threads_set(4);
  count c = {.n = 40, .grain = 1};
  ig_parallel_for(40, 1, nested, &c);
  check_count(&c);
  assert_false(ig_threads_inside());
}

static void *caller(void *arg) {
  int *bad = arg;
  for (int i = 0; i < 300; i++) {
    count c = {.n = 500, .grain = 10};
    ig_parallel_for(500, 10, count_range, &c);
    *bad += atomic_load(&c.wrong);
    for (int k = 0; k < 500; k++) *bad += atomic_load(&c.hits[k]) != 1;
  }
  return NULL;
}

static void test_several_callers(void **state) {
  (void)state;
  ig_threads_set(3);
  pthread_t t[4];
  int bad[4] = {0};
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, caller, &bad[i]), 0);
  for (int i = 0; i < 4; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(bad[i], 0);
  }
}

// The plain effect on the caller's memory, for the thread sanitizer.
static void square(void *arg, int64_t begin, int64_t end) {
  int64_t *x = arg;
  for (int64_t i = begin; i < end; i++) x[i] = i * i;
}

static bool squares_right(int64_t *x) {
  memset(x, 0, LIMIT * sizeof *x);
  ig_parallel_for(LIMIT, 16, square, x);
  for (int64_t i = 0; i < LIMIT; i++)
    if (x[i] != i * i) return false;
  return true;
}

static void test_effects_are_visible(void **state) {
  (void)state;
  static int64_t x[LIMIT];
  ig_threads_set(4);
  for (int i = 0; i < 200; i++) assert_true(squares_right(x));
}

static int child_status(pid_t pid) {
  int status = 0;
  assert_true(pid > 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void test_fork(void **state) {
  (void)state;
  static int64_t x[LIMIT];
  ig_threads_set(3);
  assert_true(squares_right(x));
  pid_t pid = fork();
  if (pid == 0) {
    if (!CHILD_MAY_START_THREADS || test_is_emulated()) ig_threads_set(1);
    bool ok = true;
    for (int i = 0; i < 20; i++) ok = ok && squares_right(x);
    _exit(ok ? 0 : 1);
  }
  assert_int_equal(child_status(pid), 0);
  assert_true(squares_right(x));
}

static void fork_inside(void *arg, int64_t task) {
  (void)task;
  atomic_int *good = arg;
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  int status = 1;
  if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) atomic_fetch_add(good, 1);
}

static void test_fork_inside_a_loop(void **state) {
  (void)state;
  static int64_t x[LIMIT];
  atomic_int good = 0;
  ig_threads_set(3);
  ig_parallel_tasks(6, fork_inside, &good);
  assert_int_equal(atomic_load(&good), 6);
  assert_true(squares_right(x));
}

static void test_limits(void **state) {
  (void)state;
  assert_true(ig_cpu_count() >= 1);
  setenv("OMP_NUM_THREADS", "3", 1);
  ig_threads_set(0);
  assert_int_equal(ig_threads_get(), 3);
  setenv("OMP_NUM_THREADS", "2,4", 1);
  ig_threads_set(-1);
  assert_int_equal(ig_threads_get(), 2);
  setenv("OMP_NUM_THREADS", "many", 1);
  ig_threads_set(0);
  assert_int_equal(ig_threads_get(), ig_cpu_count());
  unsetenv("OMP_NUM_THREADS");
  ig_threads_set(1 << 30);
  assert_true(ig_threads_get() >= 1 && ig_threads_get() <= 1024);
  ig_threads_set(0);
}

static void test_affinity(void **state) {
  (void)state;
  cpu_set_t before;
  cpu_set_t one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  size_t cpu = 0;
  while (!CPU_ISSET(cpu, &before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(ig_cpu_count(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_cpu_level(void **state) {
  (void)state;
  ig_cpu top = ig_cpu_limit(IG_CPU_AVX512);
  assert_int_equal(ig_cpu_limit(IG_CPU_BASE), IG_CPU_BASE);
  assert_int_equal(ig_cpu_level(), IG_CPU_BASE);
  assert_int_equal(ig_cpu_limit(IG_CPU_AVX512), top);
  assert_int_equal(ig_cpu_level(), top);
  assert_true(ig_cpu_l1() >= 4096 && ig_cpu_l2() >= ig_cpu_l1());
}

enum { LOAN_SEATS = 3 };
static const int lent_thing;
static atomic_int used_seats[LOAN_SEATS];
static atomic_int strange_seats;

static void use_seat(void *arg, int64_t task) {
  (void)arg;
  (void)task;
  int seat;
  const void *what = ig_threads_lent(&seat);
  if (what != &lent_thing || seat < 0 || seat >= LOAN_SEATS ||
      atomic_exchange(&used_seats[seat], 1)) {
    atomic_fetch_add(&strange_seats, 1);
    return;
  }
  for (volatile int i = 0; i < 20000; i++) {
  }
  // A loan of its own begins with the first seat, and the loop's comes back.
  ig_loan before = ig_threads_lend((ig_loan){&strange_seats, 1});
  int own;
  if (ig_threads_lent(&own) != &strange_seats || own != 0) atomic_fetch_add(&strange_seats, 1);
  (void)ig_threads_lend(before);
  int again;
  if (ig_threads_lent(&again) != &lent_thing || again != seat) atomic_fetch_add(&strange_seats, 1);
  atomic_store(&used_seats[seat], 0);
}

// Those who work on a loop at the same time find what its caller lends, and have different seats.
static void loans_have_seats(void **state) {
  (void)state;
  int seat;
  ig_threads_set(8);
  ig_loan before = ig_threads_lend((ig_loan){&lent_thing, LOAN_SEATS});
  assert_int_equal(ig_threads_get(), LOAN_SEATS);
  for (int i = 0; i < 50; i++) ig_parallel_tasks(40, use_seat, NULL);
  (void)ig_threads_lend(before);
  assert_int_equal(strange_seats, 0);
  assert_null(ig_threads_lent(&seat));
  assert_int_equal(seat, 0);
  assert_int_equal(ig_threads_get(), 8);
  ig_threads_set(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loans_have_seats),
      cmocka_unit_test(test_every_index_once),
      cmocka_unit_test(test_many_short_loops),
      cmocka_unit_test(test_threads_work_together),
      cmocka_unit_test(test_nested_runs_inline),
      cmocka_unit_test(test_several_callers),
      cmocka_unit_test(test_effects_are_visible),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_fork_inside_a_loop),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_affinity),
      cmocka_unit_test(test_cpu_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
