// SPDX-License-Identifier: Apache-2.0
// ingot bench: how long a model takes, where the time goes, how much memory it needs.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/feed.h"
#include "ingot/graph.h"
#include "ingot/threads.h"

static struct {
  cli_feed feed;
  long threads;
  double seconds;
  bool json;
  bool profile;
  const char *trace;
} o = {.seconds = 2};

// ---- samples

typedef struct samples {
  double *at;  // microseconds
  size_t n;
  size_t cap;
  double load;
  double first;
} samples;

static bool add(samples *s, double us) {
  if (s->n == s->cap) {
    size_t cap = s->cap ? 2 * s->cap : 1024;
    double *more = cli_array(s->at, cap, sizeof *more);
    if (!more) return false;
    s->at = more;
    s->cap = cap;
  }
  s->at[s->n++] = us;
  return true;
}

static int measure(ig_session *s, samples *out) {
  double t = ig_clock_seconds();
  if (ig_session_run(s) != IG_OK) return CLI_FAILED;
  out->first = (ig_clock_seconds() - t) * 1e6;
  double end = ig_clock_seconds() + o.seconds;
  cli_stage("measuring", 0, "runs");
  do {
    t = ig_clock_seconds();
    if (ig_session_run(s) != IG_OK) return CLI_FAILED;
    if (!add(out, (ig_clock_seconds() - t) * 1e6)) return cli_no_memory();
  } while (ig_clock_seconds() < end);
  cli_stage_end();
  return CLI_OK;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double q) {
  double at = q * (double)(n - 1);
  size_t i = (size_t)at;
  double rest = at - (double)i;
  return i + 1 < n ? sorted[i] * (1 - rest) + sorted[i + 1] * rest : sorted[n - 1];
}

// ---- operators

enum { MAX_KINDS = 512, PROFILED = 5 };

// A value of a run that is interpreted, for --profile --json.
typedef struct timed {
  char *name;
  const char *target;
  double us;  // of the runs together
  uint64_t bytes;
} timed;

typedef struct kind {
  const char *target;
  double us;
  size_t calls;
} kind;
typedef struct profile {
  kind kinds[MAX_KINDS];
  size_t n;
  double last;
  double total;
  timed *values;  // of the first run; later ones add to them in the same order
  size_t nvalues;
  size_t cap;
  size_t at;
  int runs;
  bool failed;
} profile;

static uint64_t bytes_of(const ig_value *v) {
  uint64_t n = 0;
  const ig_tensor *t = v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
  if (t) n = (uint64_t)ig_tensor_numel(t) * ig_dtype_size(ig_tensor_dtype(t));
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) n += bytes_of(&v->list.at[i]);
  return n;
}

static void keep_value(profile *p, const char *name, const char *target, double us,
                       const ig_value *value) {
  if (p->runs > 0) {  // loops may take another number of turns: only what is in step counts
    if (p->at < p->nvalues && strcmp(p->values[p->at].name, name) == 0) p->values[p->at].us += us;
    p->at++;
    return;
  }
  if (p->nvalues == p->cap) {
    size_t cap = p->cap ? 2 * p->cap : 256;
    timed *more = cli_array(p->values, cap, sizeof *more);
    p->failed = p->failed || !more;
    if (!more) return;
    p->values = more;
    p->cap = cap;
  }
  size_t size = strlen(name) + 1;
  char *copy = malloc(size);
  p->failed = p->failed || !copy;
  if (!copy) return;
  memcpy(copy, name, size);
  p->values[p->nvalues++] = (timed){copy, target, us, bytes_of(value)};
}

static void watch(void *user, const char *name, const char *target, const ig_value *value) {
  profile *p = user;
  double t = ig_clock_seconds();
  double us = (t - p->last) * 1e6;
  size_t i = 0;
  if (o.profile && o.json && target[0]) keep_value(p, name, target, us, value);
  while (i < p->n && p->kinds[i].target != target && strcmp(p->kinds[i].target, target) != 0) i++;
  if (i == p->n && p->n < MAX_KINDS) p->kinds[p->n++] = (kind){.target = target};
  if (i < p->n) {
    p->kinds[i].us += us;
    p->kinds[i].calls++;
  }
  p->total += us;
  p->last = ig_clock_seconds();
}

static int by_time(const void *a, const void *b) {
  double x = ((const kind *)a)->us;
  double y = ((const kind *)b)->us;
  return (x < y) - (x > y);
}

static int take_profile(ig_session *s, profile *p) {
  ig_session_watch(s, watch, p);
  for (int i = 0; i < PROFILED; i++) {
    p->last = ig_clock_seconds();
    p->at = 0;
    if (ig_session_run(s) != IG_OK) return CLI_FAILED;
    p->runs++;
    if (o.seconds <= 0) break;
  }
  ig_session_watch(s, NULL, NULL);
  if (p->failed) return cli_no_memory();
  qsort(p->kinds, p->n, sizeof *p->kinds, by_time);
  return CLI_OK;
}

// ---- steps of the plan

typedef struct cost {
  ig_session_step step;
  ig_session_cost cost;
  size_t number;
} cost;

static int by_cost(const void *a, const void *b) {
  double x = ((const cost *)a)->step.seconds;
  double y = ((const cost *)b)->step.seconds;
  return (x < y) - (x > y);
}

static double per_second(double amount, const ig_session_step *step) {
  double each = step->seconds / (double)(step->runs ? step->runs : 1);
  return each > 0 ? amount / each : 0;
}

// Arithmetic that all threads together can do in a second.
static double peak_rate(void) {
  return ig_threads_peak_flops() * ig_threads_get();
}

// "   210.5    73 %", or nothing where the arithmetic is not known.
static void print_rate(double flops, double peak) {
  if (flops > 0) {
    cli_out("  %7.1f %4.0f %%", 1e-9 * flops, peak > 0 ? 100 * flops / peak : 0);
  } else {
    cli_out("  %7s %4s  ", "", "");
  }
}

static void print_cost(ig_session *s, const cost *x, double total, double peak) {
  ig_session_step step;
  if (!ig_session_profile_at(s, x->number, &step)) return;  // its texts
  cli_out("  %5.1f %%  %10.1f", total > 0 ? 100 * x->step.seconds / total : 0,
          1e6 * x->step.seconds / (double)x->step.runs);
  print_rate(per_second(x->cost.flops, &step), peak);
  cli_out("  %7.1f  %4zu %s%s  %s\n", 1e-9 * per_second(x->cost.bytes, &step), x->number,
          step.interpreted ? "(interpreted) " : "", step.target, step.name);
}

static int time_steps(ig_session *s) {
  ig_session_profile(s, true);
  for (int i = 0; i < (o.seconds > 0 ? PROFILED : 1); i++) {
    if (ig_session_run(s) != IG_OK) return CLI_FAILED;
  }
  return CLI_OK;
}

// Each step by itself, the most expensive one first.
static int print_steps(ig_session *s) {
  size_t n = 0;
  double total = 0;
  ig_session_step step;
  if (time_steps(s) != CLI_OK) return CLI_FAILED;
  while (ig_session_profile_at(s, n, &step)) n++;
  cost *list = cli_array(NULL, n + 1, sizeof *list);
  if (!list) return cli_no_memory();
  for (size_t i = 0; i < n; i++) {
    (void)ig_session_profile_at(s, i, &step);
    list[i] = (cost){step, {.size = sizeof list->cost}, i};
    (void)ig_session_cost_at(s, i, &list[i].cost);
    total += step.seconds;
  }
  qsort(list, n, sizeof *list, by_cost);
  double peak = n ? peak_rate() : 0;
  cli_put(stdout, CLI_BOLD, "steps\n");
  if (n) {
    cli_out("  %5s    %10s  %7s %4s    %7s  %4s\n", "share", "us", "GFLOP/s", "peak", "GB/s",
            "step");
  }
  for (size_t i = 0; i < n; i++) print_cost(s, &list[i], total, peak);
  if (n == 0) cli_out("  none: every run is interpreted\n");
  if (n) cli_out("  peak: %.1f GFLOP/s, f32, as a loop of nothing else reaches\n", 1e-9 * peak);
  free(list);
  ig_session_profile(s, false);
  return CLI_OK;
}

// One run, for trace viewers.
static int save_trace(ig_ctx *c, ig_session *s) {
  ig_session_profile(s, true);
  if (ig_session_run(s) != IG_OK) return CLI_FAILED;
  char *text = ig_session_trace_text(s);
  ig_session_profile(s, false);
  if (!text) return CLI_FAILED;
  int code = cli_save_text(o.trace, text);
  ig_text_free(c, text);
  return code;
}

// ---- report

static uint64_t weight_bytes(const ig_model *m) {
  const ig_model_weight *const *list = NULL;
  size_t n = ig_model_weights(m, &list);
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *t = list[i]->tensor;
    if (t) bytes += (uint64_t)ig_tensor_numel(t) * ig_dtype_size(ig_tensor_dtype(t));
  }
  return bytes;
}

static void json_step(const ig_session_step *step, const ig_session_cost *price) {
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(step->name);
  cli_json_key("operator");
  cli_json_str(step->target);
  cli_json_key("us");
  cli_json_real(1e6 * step->seconds / (double)(step->runs ? step->runs : 1));
  cli_json_key("interpreted");
  cli_json_bool(step->interpreted);
  cli_json_key("flops");
  cli_json_real(price->flops);
  cli_json_key("bytes");
  cli_json_real(price->bytes);
  cli_json_close('}');
}

static void json_value(const profile *p, const timed *v) {
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(v->name);
  cli_json_key("operator");
  cli_json_str(v->target);
  cli_json_key("us");
  cli_json_real(v->us / (p->runs ? p->runs : 1));
  cli_json_key("bytes");
  cli_json_int((int64_t)v->bytes);
  cli_json_close('}');
}

// The steps of the plan, and the values of runs without it.
static void json_profile(ig_session *s, const profile *p) {
  ig_session_step step;
  cli_json_key("steps");
  cli_json_open('[');
  for (size_t i = 0; ig_session_profile_at(s, i, &step); i++) {
    ig_session_cost price = {.size = sizeof price};
    if (ig_session_cost_at(s, i, &price) && ig_session_profile_at(s, i, &step)) {
      json_step(&step, &price);
    }
  }
  cli_json_close(']');
  cli_json_key("peak_flops");
  cli_json_real(peak_rate());
  cli_json_key("values");
  cli_json_open('[');
  for (size_t i = 0; i < p->nvalues; i++) json_value(p, &p->values[i]);
  cli_json_close(']');
}

static void print_json(const ig_model *m, ig_session *session, const samples *s,
                       const double *sorted, const profile *p) {
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(ig_model_name(m));
  cli_json_key("threads");
  cli_json_int(ig_threads_get());
  cli_json_key("runs");
  cli_json_int((int64_t)s->n);
  static const struct {
    const char *key;
    double q;
  } marks[] = {{"best_us", 0}, {"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}};
  for (size_t i = 0; i < 4; i++) {
    cli_json_key(marks[i].key);
    cli_json_real(quantile(sorted, s->n, marks[i].q));
  }
  cli_json_key("load_us");
  cli_json_real(s->load);
  cli_json_key("first_us");
  cli_json_real(s->first);
  cli_json_key("weight_bytes");
  cli_json_int((int64_t)weight_bytes(m));
  cli_json_key("peak_bytes");
  cli_json_int((int64_t)ig_host_peak_bytes());
  cli_json_key("operators");
  cli_json_open('[');
  for (size_t i = 0; i < p->n; i++) {
    cli_json_open('{');
    cli_json_key("name");
    cli_json_str(p->kinds[i].target);
    cli_json_key("share");
    cli_json_real(p->total > 0 ? p->kinds[i].us / p->total : 0);
    cli_json_key("calls");
    cli_json_int((int64_t)p->kinds[i].calls);
    cli_json_key("us");
    cli_json_real(p->kinds[i].us);
    cli_json_close('}');
  }
  cli_json_close(']');
  if (o.profile) json_profile(session, p);
  cli_json_key("samples_us");
  cli_json_open('[');
  for (size_t i = 0; i < s->n; i++) cli_json_real(s->at[i]);
  cli_json_close(']');
  cli_json_close('}');
  cli_json_end();
}

static void print_time(const char *name, double us) {
  cli_out("  %-12s", name);
  if (us < 1000) {
    cli_put(stdout, CLI_BOLD, "%10.1f us", us);
  } else {
    cli_put(stdout, CLI_BOLD, "%10.3f ms", us / 1000);
  }
  cli_out("\n");
}

static void print_text(const ig_model *m, const samples *s, const double *sorted,
                       const profile *p) {
  char a[64];
  char b[64];
  cli_put(stdout, CLI_BOLD, "%s", ig_model_name(m));
  cli_out(": %zu runs, %d thread%s\n", s->n, ig_threads_get(), ig_threads_get() == 1 ? "" : "s");
  print_time("p50", quantile(sorted, s->n, 0.5));
  print_time("p90", quantile(sorted, s->n, 0.9));
  print_time("p99", quantile(sorted, s->n, 0.99));
  print_time("best", sorted[0]);
  print_time("first run", s->first);
  print_time("load", s->load);
  cli_out("  %-12s%s weights, %s at most\n", "memory", cli_bytes(weight_bytes(m), a, sizeof a),
          cli_bytes(ig_host_peak_bytes(), b, sizeof b));
  cli_put(stdout, CLI_BOLD, "operators\n");
  for (size_t i = 0; i < p->n && i < 12; i++) {
    cli_out("  %5.1f %%  %-40s %zu calls\n", p->total > 0 ? 100 * p->kinds[i].us / p->total : 0,
            p->kinds[i].target, p->kinds[i].calls / (o.seconds > 0 ? PROFILED : 1));
  }
}

static int report(const ig_model *m, ig_session *session, const samples *s, const profile *p) {
  double *sorted = cli_array(NULL, s->n + 1, sizeof *sorted);
  if (!sorted || !s->at) {
    free(sorted);
    return cli_no_memory();
  }
  memcpy(sorted, s->at, s->n * sizeof *sorted);
  qsort(sorted, s->n, sizeof *sorted, by_size);
  if (o.json) {
    print_json(m, session, s, sorted, p);
  } else {
    print_text(m, s, sorted, p);
  }
  free(sorted);
  return CLI_OK;
}

static int bench(ig_ctx *c, ig_model *m, samples *all) {
  static profile p;
  ig_session *s = NULL;
  if (ig_session_create(c, m, &s) != IG_OK) return cli_fail(c, ig_model_name(m), CLI_REFUSED);
  int code = cli_feed_session(c, m, s, &o.feed);
  if (code == CLI_OK) {
    code = measure(s, all);
    if (code == CLI_OK) code = take_profile(s, &p);
    if (code != CLI_OK && ig_ctx_status(c) != IG_OK) code = cli_fail(c, ig_model_name(m), code);
  }
  if (code == CLI_OK && o.profile && o.json) {
    code = time_steps(s);
    if (code != CLI_OK && ig_ctx_status(c) != IG_OK) code = cli_fail(c, ig_model_name(m), code);
  }
  if (code == CLI_OK) code = report(m, s, all, &p);
  if (code == CLI_OK && o.profile && !o.json) {
    code = print_steps(s);
    if (code != CLI_OK && ig_ctx_status(c) != IG_OK) code = cli_fail(c, ig_model_name(m), code);
  }
  if (code == CLI_OK && o.trace) {
    code = save_trace(c, s);
    if (code != CLI_OK && ig_ctx_status(c) != IG_OK) code = cli_fail(c, ig_model_name(m), code);
  }
  for (size_t i = 0; i < p.nvalues; i++) free(p.values[i].name);
  free(p.values);
  ig_session_free(s);
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  samples all = {0};
  ig_model *m = NULL;
  double t = ig_clock_seconds();
  if (o.threads) ig_threads_set((int)o.threads);
  o.feed.fallback = true;
  int code = cli_open(c, files[0], CLI_PROGRAM, &m);
  all.load = (ig_clock_seconds() - t) * 1e6;
  if (code == CLI_OK) code = bench(c, m, &all);
  free(all.at);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--threads", "-t", "N", CLI_INT, &o.threads, "threads to use (default: all processors)"},
    {"--seconds", "-s", "X", CLI_REAL, &o.seconds, "how long to measure (default 2; 0: one run)"},
    {"--profile", "-p", NULL, CLI_SWITCH, &o.profile,
     "the time of every step of the plan, the longest first, beside its\narithmetic per second, "
     "the share of what the processor can do, and bytes\nper second; with --json also of every "
     "value, which ingot view --profile takes"},
    {"--trace", NULL, "FILE", CLI_TEXT, &o.trace,
     "the steps of one run on a time axis, for chrome://tracing or Perfetto"},
    CLI_FEED_OPTIONS(o.feed),
    {"--json", NULL, NULL, CLI_SWITCH, &o.json,
     "JSON output, with every sample; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot bench model.pt2 --threads 1", "on random inputs, in one thread"},
    {"ingot bench model.pt2 --inputs x.npz --seconds 10", "on given inputs, longer"},
    {"ingot bench model.pt2 --json | jq .p50_us", "for scripts"},
};
const cli_command cli_bench = {
    .name = "bench",
    .arguments = "FILE [--threads N] [--seconds X] [--profile] [--trace FILE] [--json] [OPTIONS]",
    .summary = "measure: p50, p90, p99, share of each operator, memory",
    .details =
        "Runs a model repeatedly. The first run is listed apart: it pages in the weights. The "
        "share\n"
        "of operators is measured in separate runs, so that profiling does not affect the times.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
