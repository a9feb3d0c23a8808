// SPDX-License-Identifier: Apache-2.0
// ingot stats: the numbers in a file, weight by weight.
#include "ingot/stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "ingot/diff.h"

static bool as_json;
static bool only_finite;
static const char *part;

typedef struct row {
  const ig_model_weight *weight;
  ig_stats stats;
  size_t same;  // the first row with the same elements; itself: none before
} row;

static bool is_wanted(const ig_model_weight *w) {
  return w->tensor && (!part || strstr(w->name, part));
}

static bool is_broken(const ig_stats *s) {
  return s->nans > 0 || s->infinities > 0;
}

static size_t find_same(ig_ctx *c, const row *rows, size_t n) {
  static const ig_tolerance none = {0, 0};
  const row *last = &rows[n];
  for (size_t i = 0; i < n; i++) {
    if (rows[i].stats.hash != last->stats.hash || rows[i].stats.count == 0) continue;
    ig_tensor_diff d;
    ig_tensor_compare(c, last->weight->tensor, rows[i].weight->tensor, &none, &d);
    if (d.agrees) return i;
  }
  return n;
}

// ---- text

// Bins as bars; the fullest is the highest.
static void print_bars(const ig_stats *s) {
  static const char levels[] = " .:-=+*#%@";
  int64_t most = 0;
  for (int i = 0; i < IG_STATS_BINS; i++) most = s->bins[i] > most ? s->bins[i] : most;
  char bars[IG_STATS_BINS + 1] = "";
  for (int i = 0; i < IG_STATS_BINS && most; i++) {
    int64_t level = s->bins[i] == 0 ? 0 : 1 + s->bins[i] * 8 / most;
    bars[i] = levels[level];
  }
  if (most) cli_put(stdout, CLI_CYAN, "|%s|", bars);
}

static void print_row(const row *r, const row *all, int width) {
  const ig_stats *s = &r->stats;
  char text[160];
  ig_value v = {.kind = IG_KIND_TENSOR, .tensor = r->weight->tensor};
  cli_out("  ");
  cli_put(stdout, CLI_BOLD, "%-*s", width, r->weight->name);
  cli_out("  %s\n", cli_describe(&v, text, sizeof text));
  if (s->count == 0) return;
  cli_out("    %-11.4g to %-11.4g mean %-11.4g deviation %-11.4g ", s->min, s->max, s->mean,
          s->deviation);
  print_bars(s);
  if (s->zeros) cli_out("  zeros %.1f %%", 100.0 * (double)s->zeros / (double)s->count);
  if (s->nans) cli_put(stdout, CLI_RED, "  NaN %" PRId64, s->nans);
  if (s->infinities) cli_put(stdout, CLI_RED, "  infinite %" PRId64, s->infinities);
  if (all + r->same != r) cli_put(stdout, CLI_YELLOW, "  same as %s", all[r->same].weight->name);
  cli_out("\n");
}

static void print_total(const row *rows, size_t n) {
  int64_t count = 0;
  int64_t zeros = 0;
  int64_t broken = 0;
  size_t same = 0;
  char text[32];
  for (size_t i = 0; i < n; i++) {
    count += rows[i].stats.count;
    zeros += rows[i].stats.zeros;
    broken += rows[i].stats.nans + rows[i].stats.infinities;
    same += rows[i].same != i;
  }
  cli_put(stdout, CLI_BOLD, "total");
  cli_out(" %zu weights, %s elements, zeros %.1f %%, not finite %" PRId64
          ", repeated weights %zu\n",
          n, cli_count((uint64_t)count, text, sizeof text),
          count ? 100.0 * (double)zeros / (double)count : 0.0, broken, same);
}

static void print_text(const ig_model *m, const row *rows, size_t n) {
  size_t width = 8;
  cli_put(stdout, CLI_BOLD, "%s\n", ig_model_name(m));
  for (size_t i = 0; i < n; i++) {
    size_t len = strlen(rows[i].weight->name);
    if (len > width && len < 60) width = len;
  }
  for (size_t i = 0; i < n; i++) print_row(&rows[i], rows, (int)width);
  print_total(rows, n);
}

// ---- JSON

static void json_int(const char *key, int64_t v) {
  cli_json_key(key);
  cli_json_int(v);
}

static void json_real(const char *key, double v) {
  cli_json_key(key);
  cli_json_real(v);
}

static void json_text(const char *key, const char *v) {
  cli_json_key(key);
  cli_json_str(v);
}

static void print_json(const ig_model *m, const row *rows, size_t n) {
  cli_json_open('{');
  json_text("file", ig_model_name(m));
  cli_json_key("weights");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    const ig_stats *s = &rows[i].stats;
    cli_json_open('{');
    json_text("name", rows[i].weight->name);
    json_int("count", s->count);
    json_int("zeros", s->zeros);
    json_int("nan", s->nans);
    json_int("infinite", s->infinities);
    json_real("min", s->min);
    json_real("max", s->max);
    json_real("mean", s->mean);
    json_real("deviation", s->deviation);
    cli_json_key("bins");
    cli_json_open('[');
    for (int k = 0; k < IG_STATS_BINS; k++) cli_json_int(s->bins[k]);
    cli_json_close(']');
    json_text("same_as", rows[i].same == i ? NULL : rows[rows[i].same].weight->name);
    cli_json_close('}');
  }
  cli_json_close(']');
  cli_json_close('}');
  cli_json_end();
}

// ---- command

static int print(const ig_model *m, const row *rows, size_t n) {
  if (as_json) print_json(m, rows, n);
  if (!as_json) print_text(m, rows, n);
  for (size_t i = 0; only_finite && i < n; i++) {
    if (is_broken(&rows[i].stats)) return CLI_DIFFERS;
  }
  return CLI_OK;
}

static int measure(ig_ctx *c, const ig_model *m, const char *file) {
  const ig_model_weight *const *list = NULL;
  size_t count = ig_model_weights(m, &list);
  size_t n = 0;
  row *rows = cli_array(NULL, count + 1, sizeof *rows);
  if (!rows) return cli_no_memory();
  int code = CLI_OK;
  cli_stage("statistics", count, "weights");
  for (size_t i = 0; i < count && code == CLI_OK; i++) {
    cli_step(i);
    if (!is_wanted(list[i])) continue;
    rows[n].weight = list[i];
    if (ig_tensor_stats(c, list[i]->tensor, &rows[n].stats) != IG_OK) {
      code = cli_fail(c, file, CLI_FAILED);
      break;
    }
    rows[n].same = find_same(c, rows, n);
    n++;
  }
  cli_stage_end();
  if (code == CLI_OK && n == 0) {
    code = part ? cli_error(CLI_USAGE, "%s: no weight has '%s' in its name", file, part)
                : cli_error(CLI_REFUSED, "%s: it has no weights", file);
  }
  if (code == CLI_OK) code = print(m, rows, n);
  free(rows);
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  int code = cli_open(c, files[0], CLI_INSPECT, &m);
  if (code != CLI_OK) return code;
  code = measure(c, m, files[0]);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--only", NULL, "TEXT", CLI_TEXT, &part, "weights with this text in their names"},
    {"--finite", NULL, NULL, CLI_SWITCH, &only_finite, "exit code 1 if a number is not finite"},
    {"--json", NULL, NULL, CLI_SWITCH, &as_json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot stats model.onnx", "extremes, mean, deviation and histogram of every weight"},
    {"ingot stats model.pt2 --only norm --json", "of some weights, for scripts"},
    {"ingot stats model.safetensors --finite > /dev/null", "does training have NaN left behind?"},
};
const cli_command cli_stats = {
    .name = "stats",
    .arguments = "FILE ... [--only TEXT] [--finite] [--json]",
    .summary = "the numbers in the weights: extremes, histograms, zeros, NaN, repetitions",
    .details =
        "Of every weight the extremes, mean and deviation of its finite numbers, a histogram of "
        "16\n"
        "equal steps between the extremes, zeros, NaN and infinities, and the first weight that "
        "has\n"
        "the same elements.",
    .options = options,
    .noptions = 3,
    .examples = examples,
    .nexamples = 3,
    .pages = true,
    .nfiles = 1,
    .each = true,
    .run = run,
};
