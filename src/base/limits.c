// SPDX-License-Identifier: Apache-2.0
// The default limits, and how a reader completes the given ones.
#define _POSIX_C_SOURCE 200809L
#include "base/limits.h"

#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "base/budget.h"
#include "base/cause.h"
#include "base/clock.h"
#include "base/options.h"

// Memory beyond that of the machine would only be swapped, or get a process killed.
static uint64_t machine_memory(void) {
#if defined(_SC_PHYS_PAGES)
  long pages = sysconf(_SC_PHYS_PAGES);
  long size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) return (uint64_t)pages * (uint64_t)size;
#endif
  return UINT64_MAX / 4;
}

ig_limits ig_limits_default(void) {
  return (ig_limits){.size = sizeof(ig_limits),
                     .max_text = (uint64_t)1 << 30,
                     .max_inflated = (uint64_t)4 << 30,
                     .max_entries = (uint64_t)1 << 20,
                     .max_nodes = (uint64_t)1 << 24,
                     .max_depth = 256,
                     .max_work = 1000000000,
                     .max_memory = machine_memory()};
}

ig_limits ig_limits_given(const ig_limits *given) {
  ig_limits all;
  IG_OPTIONS_TAKE(&all, given, max_memory);
  return all;
}

static ig_limits fill(ig_limits all, const ig_limits *usual) {
  if (!all.max_text) all.max_text = usual->max_text;
  if (!all.max_inflated) all.max_inflated = usual->max_inflated;
  if (!all.max_entries) all.max_entries = usual->max_entries;
  if (!all.max_nodes) all.max_nodes = usual->max_nodes;
  if (!all.max_depth) all.max_depth = usual->max_depth;
  if (!all.max_millis) all.max_millis = usual->max_millis;
  if (!all.max_work) all.max_work = usual->max_work;
  if (!all.max_memory) all.max_memory = usual->max_memory;
  if (all.max_depth > IG_LIMITS_DEPTH) all.max_depth = IG_LIMITS_DEPTH;
  // What addresses can reach, where they are short.
  if (all.max_text > SIZE_MAX / 4) all.max_text = SIZE_MAX / 4;
  if (all.max_inflated > SIZE_MAX / 4) all.max_inflated = SIZE_MAX / 4;
  return all;
}

ig_limits ig_limits_fill(const ig_limits *given) {
  const ig_limits usual = ig_limits_default();
  return fill(ig_limits_given(given), &usual);
}

ig_limits ig_limits_of(const ig_ctx *c, const ig_limits *given) {
  return fill(ig_limits_given(given), &c->limits);
}

static uint64_t now(void) {
  return (uint64_t)ig_clock_nanos() / 1000000;
}

ig_deadline ig_deadline_start(const ig_limits *limits) {
  ig_deadline d = {.millis = limits->max_millis};
  if (d.millis) d.start = now();
  return d;
}

ig_status ig_deadline_check(ig_ctx *c, const ig_deadline *d, const char *name) {
  if (!ig_look(c)) return c->status;
  if (!d->millis || now() - d->start <= d->millis) return IG_OK;
  return ig_fail(
      c, IG_LIMIT | IG_E_TIME_LIMIT,
      "%s: not read within the limit of %llu ms; if it may take longer, raise max_millis "
      "of ig_limits (--max-time)",
      name, (unsigned long long)d->millis);
}
