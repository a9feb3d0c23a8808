// SPDX-License-Identifier: Apache-2.0
// The default limits, and what a reader makes of those it was given.
#include "base/limits.h"

#include <string.h>
#include <time.h>

ig_limits ig_limits_default(void) {
  return (ig_limits){.size = sizeof(ig_limits),
                     .max_text = (uint64_t)1 << 30,
                     .max_inflated = (uint64_t)4 << 30,
                     .max_entries = (uint64_t)1 << 20,
                     .max_nodes = (uint64_t)1 << 24,
                     .max_depth = 256,
                     .max_rounds = 100000000};
}

ig_limits ig_limits_of(const ig_limits *given) {
  const ig_limits usual = ig_limits_default();
  ig_limits all = {.size = 0};
  if (given) memcpy(&all, given, given->size < sizeof all ? given->size : sizeof all);
  all.size = sizeof all;
  if (!all.max_text) all.max_text = usual.max_text;
  if (!all.max_inflated) all.max_inflated = usual.max_inflated;
  if (!all.max_entries) all.max_entries = usual.max_entries;
  if (!all.max_nodes) all.max_nodes = usual.max_nodes;
  if (!all.max_depth) all.max_depth = usual.max_depth;
  if (!all.max_rounds) all.max_rounds = usual.max_rounds;
  if (all.max_depth > IG_LIMITS_DEPTH) all.max_depth = IG_LIMITS_DEPTH;
  return all;
}

static uint64_t now(void) {
  struct timespec t = {0};
  (void)timespec_get(&t, TIME_UTC);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

ig_deadline ig_deadline_start(const ig_limits *limits) {
  ig_deadline d = {.millis = limits->max_millis};
  if (d.millis) d.start = now();
  return d;
}

ig_status ig_deadline_check(ig_ctx *c, const ig_deadline *d, const char *name) {
  if (!d->millis || now() - d->start <= d->millis) return IG_OK;
  return ig_fail(c, IG_RUNTIME, "%s: not read within the limit of %llu ms", name,
                 (unsigned long long)d->millis);
}
