// SPDX-License-Identifier: Apache-2.0
// What is being done, how much of it, and how long it will take: one line on stderr that is redrawn
// when stderr is a terminal and the stage lasts longer than a second. A thread draws it, so that it
// is updated even while the library reports no progress.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { WAIT_MS = 1000, TICK_MS = 200 };

static pthread_t drawer;
static bool running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool stop;  // under the lock
static atomic_uint_fast64_t done_now;
static const char *stage_name;
static const char *stage_unit;
static uint64_t stage_total;
static struct timespec began;

static double elapsed(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - began.tv_sec) + 1e-9 * (double)(now.tv_nsec - began.tv_nsec);
}

static void draw(void) {
  uint64_t done = atomic_load(&done_now);
  double seconds = elapsed();
  bool mega = stage_unit[0] == 'M';
  double scale = mega ? 1e-6 : 1;
  (void)fprintf(stderr, "\r\x1b[K%s", stage_name);
  if (stage_total && done) {
    double left = seconds * (double)(stage_total - done) / (double)done;
    (void)fprintf(stderr, " %.0f of %.0f %s, %.0f s left", (double)done * scale,
                  (double)stage_total * scale, stage_unit, left);
  } else if (stage_total) {
    (void)fprintf(stderr, " %.0f %s, %.0f s", (double)stage_total * scale, stage_unit, seconds);
  } else {
    (void)fprintf(stderr, " %.0f s", seconds);
  }
  (void)fflush(stderr);
}

static struct timespec next_tick(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += TICK_MS * 1000000L;
  t.tv_sec += t.tv_nsec / 1000000000L;
  t.tv_nsec %= 1000000000L;
  return t;
}

static void *draw_loop(void *arg) {
  (void)arg;
  bool drawn = false;
  (void)pthread_mutex_lock(&lock);
  while (!stop) {
    struct timespec tick = next_tick();
    (void)pthread_cond_timedwait(&wake, &lock, &tick);
    if (stop || elapsed() * 1000 < WAIT_MS) continue;
    draw();
    drawn = true;
  }
  (void)pthread_mutex_unlock(&lock);
  if (drawn) (void)fprintf(stderr, "\r\x1b[K");
  return NULL;
}

void cli_stage(const char *stage, uint64_t total, const char *unit) {
  cli_stage_end();
  if (!isatty(STDERR_FILENO)) return;
  stage_name = stage;
  stage_unit = unit;
  stage_total = total;
  atomic_store(&done_now, 0);
  stop = false;
  (void)clock_gettime(CLOCK_MONOTONIC, &began);
  running = pthread_create(&drawer, NULL, draw_loop, NULL) == 0;
}

void cli_step(uint64_t done) {
  atomic_store(&done_now, done);
}

void cli_stage_end(void) {
  if (!running) return;
  (void)pthread_mutex_lock(&lock);
  stop = true;
  (void)pthread_cond_signal(&wake);
  (void)pthread_mutex_unlock(&lock);
  (void)pthread_join(drawer, NULL);
  running = false;
}
