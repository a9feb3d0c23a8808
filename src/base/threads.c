// SPDX-License-Identifier: Apache-2.0
// The pool: one loop ("job") at a time. The job lives on its caller's stack; workers join it under
// the lock, take ranges from an atomic counter, and leave under the lock. When all ranges are taken
// the caller closes the job, so that late workers cannot join, and waits only for those that did. A
// caller that finds the pool in use, or is already inside a loop, works alone.
//
// Waking a sleeping thread takes tens of microseconds, as long as many loops. Waiting therefore
// starts with polling: a worker polls as long as loops have come often recently, the caller as long
// as its workers are about to finish. A polling thread yields the processor after a while.
//
// After fork the child has no workers and forgets the old ones; it starts its own when it needs
// them.
#define _GNU_SOURCE
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu.h"

enum {
  MAX_THREADS = 256,
  RANGES_PER_THREAD = 4,  // Enough that a preempted thread leaves work to others.
  PAUSES = 32,            // Pause instructions between two reads of the clock: a microsecond.
  LEAST_WATCH = 4000,     // Nanoseconds that a worker polls for the next job before it sleeps,
  MOST_WATCH = 100000,    // adapted to the previous jobs;
  JOIN_WATCH = 200000,    // the same for the caller waiting for the workers' last ranges.
  KEEP = 50000,           // How long a polling thread keeps the processor before it yields,
  CROWD = 10000000,       // unless a caller found the pool in use so recently.
};

typedef struct job {
  void (*range)(void *arg, int64_t begin, int64_t end);
  void (*task)(void *arg, int64_t task);  // instead of range: one index per call
  void *arg;
  int64_t n;
  int64_t ranges;
  atomic_llong next;   // the next range to take
  ig_loan loan;        // of the caller
  int seats;           // workers that may still join; under pool.lock
  int joined;          // workers that did; under pool.lock
  atomic_int working;  // workers that joined and have not left; written under pool.lock
} job;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake;  // a job was opened, or stop
  pthread_cond_t left;  // the last worker left the job
  job *open;
  int cpu;  // where the last job's caller runs; -1: unknown
  int sleeping;
  int started;
  bool stop;
  pthread_t threads[MAX_THREADS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static atomic_bool taken;     // a loop is using the pool
static atomic_llong crowded;  // until when several callers are taken to want it, in nanoseconds
static atomic_uint opened;    // counts jobs; polling workers read it
static atomic_uint forks;     // number of forks: a job of the parent is invalid
static atomic_int wanted;     // 0: not set
static _Thread_local bool inside;
static _Thread_local ig_loan mine;
static _Thread_local const void *joined;  // what was lent to the job that this worker helps with
static _Thread_local int own_seat;        // and its number there

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// ---- how many ----

static int default_threads(void) {
  const char *s = getenv("OMP_NUM_THREADS");  // a number, or a list whose first entry is used
  char *end;
  long n = s ? strtol(s, &end, 10) : 0;
  if (s && end != s && (*end == 0 || *end == ',' || *end == ' ') && n > 0)
    return n < MAX_THREADS ? (int)n : MAX_THREADS;
  int cpus = ig_cpu_count();
  return cpus < MAX_THREADS ? cpus : MAX_THREADS;
}

int ig_threads_get(void) {
  if (mine.threads > 0) return mine.threads;
  int n = atomic_load_explicit(&wanted, memory_order_relaxed);
  if (n > 0) return n;
  int none = 0;
  n = default_threads();
  // If another thread has set it in the meantime, that value is kept.
  return atomic_compare_exchange_strong(&wanted, &none, n) ? n : none;
}

void ig_threads_set(int n) {
  if (n < 1) n = default_threads();
  atomic_store_explicit(&wanted, n < MAX_THREADS ? n : MAX_THREADS, memory_order_relaxed);
}

bool ig_threads_inside(void) {
  return inside;
}

ig_loan ig_threads_lend(ig_loan loan) {
  ig_loan before = mine;
  mine = loan;
  if (mine.threads > MAX_THREADS) mine.threads = MAX_THREADS;
  return before;
}

const void *ig_threads_lent(int *seat) {
  *seat = mine.what == joined ? own_seat : 0;  // a loan of its own begins anew
  return mine.what;
}

// ---- working on a job ----

static void work(job *j) {
  for (;;) {
    int64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (i >= j->ranges) return;
    if (j->task) {
      j->task(j->arg, i);
      continue;
    }
    // Even ranges without the overflow of n * i / ranges: the first n % ranges are one longer.
    int64_t base = j->n / j->ranges;
    int64_t more = j->n % j->ranges;
    int64_t begin = i * base + (i < more ? i : more);
    j->range(j->arg, begin, begin + base + (i < more));
  }
}

// A polling thread that yields may get the processor back after milliseconds, whoever else wants
// it, which many loops would not have taken. It yields at once where threads of this process are
// known to be more than processors.
static int64_t keep_until(void) {
  int64_t now = ig_clock_nanos();
  return now < atomic_load_explicit(&crowded, memory_order_relaxed) ? now : now + KEEP;
}

// Polls for a job other than the one seen, until a deadline.
static void watch_opened(unsigned seen, int64_t until) {
  const int64_t keep = keep_until();
  for (;;) {
    for (int k = 0; k < PAUSES; k++) {
      if (atomic_load_explicit(&opened, memory_order_relaxed) != seen) return;
      pause_cpu();
    }
    int64_t now = ig_clock_nanos();
    if (now >= until) return;
    if (now >= keep) (void)sched_yield();
  }
}

static int current_cpu(void) {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// The scheduler often places a woken thread on the CPU of the waking one, where it stays from loop
// to loop while another CPU idles. Leaves that CPU, if allowed; afterwards the affinity is as
// before.
static void leave_cpu(int cpu) {
#if defined(__linux__)
  if (cpu < 0 || cpu >= CPU_SETSIZE || current_cpu() != cpu) return;
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0 || CPU_COUNT(&before) < 2) return;
  cpu_set_t others = before;
  CPU_CLR((size_t)cpu, &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0)
    (void)sched_setaffinity(0, sizeof before, &before);
#else
  (void)cpu;
#endif
}

// Waits, locked, until there is a job with a free seat; NULL: the pool stops. *watch is how
// long this worker polls: the maximum after a wait that polling would have covered, less and less
// after longer ones.
static job *await_job(int64_t *watch) {
  int64_t start = 0;
  while (!pool.stop) {
    if (pool.open && pool.open->seats > 0) {
      if (start) {
        int64_t less = *watch / 2 > LEAST_WATCH ? *watch / 2 : LEAST_WATCH;
        *watch = ig_clock_nanos() - start < MOST_WATCH ? MOST_WATCH : less;
      }
      return pool.open;
    }
    unsigned seen = atomic_load_explicit(&opened, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    if (!start) start = ig_clock_nanos();
    watch_opened(seen, start + *watch);
    pthread_mutex_lock(&pool.lock);
    if (atomic_load_explicit(&opened, memory_order_relaxed) != seen || pool.stop) continue;
    pool.sleeping++;
    pthread_cond_wait(&pool.wake, &pool.lock);
    pool.sleeping--;
    // Even when it is too late for the job: the next one finds this thread elsewhere.
    int cpu = pool.cpu;
    pthread_mutex_unlock(&pool.lock);
    leave_cpu(cpu);
    pthread_mutex_lock(&pool.lock);
  }
  return NULL;
}

static void *worker(void *unused) {
  (void)unused;
  inside = true;
  int64_t watch = LEAST_WATCH;
  pthread_mutex_lock(&pool.lock);
  for (job *j; (j = await_job(&watch));) {
    j->seats--;
    own_seat = ++j->joined;
    mine = j->loan;
    joined = j->loan.what;
    atomic_fetch_add_explicit(&j->working, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    work(j);
    mine = (ig_loan){NULL, 0};
    joined = NULL;
    pthread_mutex_lock(&pool.lock);
    if (atomic_fetch_sub_explicit(&j->working, 1, memory_order_release) == 1)
      pthread_cond_signal(&pool.left);
  }
  pthread_mutex_unlock(&pool.lock);
  return NULL;
}

// ---- starting and stopping ----

// Mutexes may be locked and counters stale in the child; all are initialized again. No other thread
// exists.
static void after_fork(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.wake, NULL);
  pthread_cond_init(&pool.left, NULL);
  pool.open = NULL;
  pool.sleeping = 0;
  pool.started = 0;
  atomic_store(&taken, false);
  atomic_fetch_add(&forks, 1);
}

static void watch_fork(void) {
  pthread_atfork(NULL, NULL, after_fork);
}

// Starts workers up to `count`, as far as the system allows. The caller owns the pool.
static void start_workers(int count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
  count = 0;  // there are none
#endif
  if (pool.started >= count) return;
  pthread_once(&once, watch_fork);
  sigset_t all;  // Signals are for the program's own threads.
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started < count) {
    if (pthread_create(&pool.threads[pool.started], NULL, worker, NULL) != 0) break;
    pool.started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Workers end before the library is unloaded, by exit or by dlclose. Loops that start later, in
// other threads of a program that is exiting, run alone. exit() inside a loop's body cannot wait
// for it.
__attribute__((destructor)) static void stop_workers(void) {
  if (inside || atomic_exchange(&taken, true))
    return;  // Stays in use: the pool is not available again.
  pthread_mutex_lock(&pool.lock);
  pool.stop = true;
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < pool.started; i++) pthread_join(pool.threads[i], NULL);
  pool.started = 0;
}

// ---- the loop ----

static void open_job(job *j) {
  pthread_mutex_lock(&pool.lock);
  pool.open = j;
  pool.cpu = current_cpu();
  int wake = j->seats < pool.sleeping ? j->seats : pool.sleeping;
  atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed);
  if (wake > 0 && wake == pool.sleeping)
    pthread_cond_broadcast(&pool.wake);
  else
    for (int i = 0; i < wake; i++) pthread_cond_signal(&pool.wake);
  pthread_mutex_unlock(&pool.lock);
}

static void watch_working(const job *j, int64_t until) {
  const int64_t keep = keep_until();
  for (;;) {
    for (int k = 0; k < PAUSES; k++) {
      if (atomic_load_explicit(&j->working, memory_order_relaxed) == 0) return;
      pause_cpu();
    }
    int64_t now = ig_clock_nanos();
    if (now >= until) return;
    if (now >= keep) (void)sched_yield();
  }
}

static void close_job(job *j) {
  pthread_mutex_lock(&pool.lock);
  pool.open = NULL;
  bool done = atomic_load_explicit(&j->working, memory_order_acquire) == 0;
  pthread_mutex_unlock(&pool.lock);
  if (done) return;
  watch_working(j, ig_clock_nanos() + JOIN_WATCH);
  pthread_mutex_lock(&pool.lock);
  while (atomic_load_explicit(&j->working, memory_order_acquire) > 0)
    pthread_cond_wait(&pool.left, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

// False when the job has to run in the caller alone.
static bool run_shared(job *j, int threads) {
  if (inside || threads < 2 || j->ranges < 2) return false;
  if (atomic_load_explicit(&taken, memory_order_relaxed) || atomic_exchange(&taken, true)) {
    atomic_store_explicit(&crowded, ig_clock_nanos() + CROWD, memory_order_relaxed);
    return false;
  }
  int seats = threads - 1;
  if (j->ranges - 1 < seats) seats = (int)(j->ranges - 1);
  start_workers(seats);
  if (pool.started < seats) seats = pool.started;
  unsigned before = atomic_load(&forks);
  inside = true;
  j->seats = seats;
  j->loan = mine;
  if (seats > 0) open_job(j);
  work(j);
  inside = false;
  if (atomic_load(&forks) != before)
    return true;  // The body forked; the child has no pool to close.
  if (seats > 0) close_job(j);
  atomic_store(&taken, false);
  return true;
}

void ig_parallel_for(int64_t n, int64_t grain, void (*fn)(void *arg, int64_t begin, int64_t end),
                     void *arg) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int threads = n / grain < 2 ? 1 : ig_threads_get();
  int64_t ranges = (int64_t)threads * RANGES_PER_THREAD;
  if (n / grain < ranges) ranges = n / grain;
  job j = {.range = fn, .arg = arg, .n = n, .ranges = ranges};
  if (!run_shared(&j, threads)) fn(arg, 0, n);
}

void ig_parallel_tasks(int64_t n, void (*fn)(void *arg, int64_t task), void *arg) {
  if (n <= 0) return;
  job j = {.task = fn, .arg = arg, .n = n, .ranges = n};
  if (run_shared(&j, n < 2 ? 1 : ig_threads_get())) return;
  for (int64_t i = 0; i < n; i++) fn(arg, i);
}
