// SPDX-License-Identifier: Apache-2.0
// What is being done, how much of it, and how long it will take: one line on stderr that is redrawn
// when stderr is a terminal and the stage lasts longer than a second. A thread draws it, so that it
// is updated even while the library reports no progress.
#include <stdatomic.h>

#include "base/clock.h"
#include "cli/cli.h"

enum { WAIT_MS = 1000, TICK_MS = 200 };

static ig_ticker *drawer;
static bool drawn;  // by the drawer while it runs
static atomic_uint_fast64_t done_now;
static const char *stage_name;
static const char *stage_unit;
static uint64_t stage_total;
static double began;

static void draw(void *unused) {
  (void)unused;
  uint64_t done = atomic_load(&done_now);
  double seconds = ig_clock_seconds() - began;
  if (seconds * 1000 < WAIT_MS) return;
  drawn = true;
  bool mega = stage_unit[0] == 'M';
  double scale = mega ? 1e-6 : 1;
  (void)fprintf(stderr, "\r\x1b[K%s", stage_name);
  if (stage_total && done) {
    double left = seconds * (double)(stage_total - done) / (double)done;
    (void)fprintf(stderr, " %.0f of %.0f %s, %.3g %s/s, %.0f s left", (double)done * scale,
                  (double)stage_total * scale, stage_unit, (double)done * scale / seconds,
                  stage_unit, left);
  } else if (stage_total) {
    (void)fprintf(stderr, " %.0f %s, %.0f s", (double)stage_total * scale, stage_unit, seconds);
  } else {
    (void)fprintf(stderr, " %.0f s", seconds);
  }
  (void)fflush(stderr);
}

void cli_stage(const char *stage, uint64_t total, const char *unit) {
  cli_stage_end();
  if (!ig_host_is_terminal(stderr)) return;
  stage_name = stage;
  stage_unit = unit;
  stage_total = total;
  atomic_store(&done_now, 0);
  drawn = false;
  began = ig_clock_seconds();
  drawer = ig_ticker_start(TICK_MS, draw, NULL);
}

void cli_step(uint64_t done) {
  atomic_store(&done_now, done);
}

void cli_stage_end(void) {
  if (!drawer) return;
  ig_ticker_stop(drawer);
  drawer = NULL;
  if (drawn) (void)fprintf(stderr, "\r\x1b[K");
}
