// SPDX-License-Identifier: Apache-2.0
// ingot diff: what differs between two models, in structure and in results.
#include <inttypes.h>
#include <string.h>

#include "cli/feed.h"
#include "ingot/trace.h"

enum { SHOWN = 12 };  // changes of one part listed without --all

static struct {
  cli_feed feed;
  cli_texts only;
  cli_texts rtol;
  cli_texts atol;
  bool all;
  bool first;
  bool ulp;
  bool json;
} o;

static ig_tolerance tolerances[IG_DTYPE_COUNT];

enum { NUMBERS = IG_DIFF_ALL + 1 };  // besides the parts of a file: its results

// ---- what is asked for

static int parse_parts(unsigned *parts) {
  *parts = 0;
  for (size_t i = 0; i < o.only.n; i++) {
    unsigned found = strcmp(o.only.at[i], "numbers") == 0 ? NUMBERS : 0;
    for (unsigned p = 1; p < IG_DIFF_ALL; p *= 2) {
      if (strcmp(o.only.at[i], ig_diff_part_word((ig_diff_part)p)) == 0) found = p;
    }
    if (!found) {
      return cli_usage(&cli_diff,
                       "--only: '%s' is not one of metadata, inputs, outputs, operators, nodes, "
                       "weights, numbers",
                       o.only.at[i]);
    }
    *parts |= found;
  }
  if (!*parts) *parts = IG_DIFF_ALL | NUMBERS;
  return CLI_OK;
}

// ---- changes

static void print_change(const ig_model_change *change) {
  bool added = !change->before;
  bool removed = !change->after;
  cli_style style = added ? CLI_GREEN : removed ? CLI_RED : CLI_YELLOW;
  cli_put(stdout, style, "  %c ", added ? '+' : removed ? '-' : '~');
  cli_put(stdout, CLI_CYAN, "%-22s", change->name);
  const ig_tensor_diff *d = change->numbers;
  if (d) {
    cli_out(" %s  max abs %.3g max rel %.3g max ulp %.3g (%" PRId64 " of %" PRId64 " elements)\n",
            change->before, d->max_abs, d->max_rel, d->max_ulp, d->bad, d->n);
  } else if (added || removed) {
    cli_out(" %s\n", added ? change->after : change->before);
  } else if (strlen(change->before) + strlen(change->after) < 64) {
    cli_out(" %s => %s\n", change->before, change->after);
  } else {
    cli_out(" %s\n  %24s=> %s\n", change->before, "", change->after);
  }
}

static void print_part(const ig_model_change *const *list, size_t n) {
  char text[64];
  cli_put(stdout, CLI_BOLD, "%s", ig_diff_part_word(list[0]->part));
  cli_out(" %s %s\n", cli_count(n, text, sizeof text), n == 1 ? "difference" : "differences");
  size_t shown = o.all || n <= SHOWN ? n : SHOWN;
  for (size_t i = 0; i < shown; i++) print_change(list[i]);
  if (shown < n) cli_out("  ... %s more (--all)\n", cli_count(n - shown, text, sizeof text));
}

static void print_changes(const ig_model_change *const *list, size_t n) {
  for (size_t i = 0; i < n;) {
    size_t k = i;
    while (k < n && list[k]->part == list[i]->part) k++;
    print_part(list + i, k - i);
    i = k;
  }
}

static void json_changes(const ig_model_change *const *list, size_t n) {
  cli_json_key("changes");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    const ig_tensor_diff *d = list[i]->numbers;
    cli_json_open('{');
    cli_json_key("part");
    cli_json_str(ig_diff_part_word(list[i]->part));
    cli_json_key("name");
    cli_json_str(list[i]->name);
    cli_json_key("before");
    cli_json_str(list[i]->before);
    cli_json_key("after");
    cli_json_str(list[i]->after);
    if (d) cli_json_errors(d);
    cli_json_close('}');
  }
  cli_json_close(']');
}

// ---- intermediate values

// The values of both runs, matched.
typedef struct tracer {
  ig_ctx *c;
  ig_run_trace *a;
  ig_run_trace *b;
  ig_divergence d;
} tracer;

static void tracer_free(tracer *t) {
  ig_run_trace_free(t->a);
  ig_run_trace_free(t->b);
}

static const char *name_of(const ig_run_trace *t, int64_t i) {
  ig_run_trace_value v;
  return i >= 0 && ig_run_trace_at(t, (size_t)i, &v) ? v.name : "";
}

static void print_first(const tracer *t) {
  cli_put(stdout, CLI_BOLD, "values");
  cli_out(" %zu of %zu agree", t->d.agree, t->d.values);
  if (!t->d.found) {
    cli_out("\n");
    return;
  }
  ig_run_trace_value v;
  (void)ig_run_trace_at(t->a, (size_t)t->d.first.a, &v);
  const char *other = name_of(t->b, t->d.first.b);
  cli_out("; the first that differs: %s", v.target);
  if (t->d.first.b < 0) cli_out(", to which nothing corresponds");
  if (other[0] && strcmp(other, v.name) != 0) cli_out(", in the second file %s", other);
  cli_out("\n");
  if (t->d.first.b < 0) return;
  cli_print_diff(stdout, v.name, &t->d.first.diff);
}

static void json_first(const tracer *t) {
  cli_json_key("values");
  cli_json_int((int64_t)t->d.values);
  cli_json_key("agree");
  cli_json_int((int64_t)t->d.agree);
  cli_json_key("first");
  if (t->d.found) cli_json_diff(name_of(t->a, t->d.first.a), &t->d.first.diff, NULL);
  if (!t->d.found) cli_json_null();
}

// ---- numbers

typedef struct sides {
  ig_model *a;
  ig_model *b;
  ig_session *x;
  ig_session *y;
} sides;

static const ig_value *output(const ig_model *m, const ig_session *s, size_t number, bool every,
                              char *name, size_t cap) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    if (!every && ports[i]->role != IG_PORT_USER) continue;
    if (number-- > 0) continue;
    (void)cli_output_name(m, i, name, cap);
    return ig_session_output_at(s, i);
  }
  return NULL;
}

static bool compare_value(ig_ctx *c, const ig_value *v, const ig_value *w, ig_tensor_diff *d,
                          int64_t bins[IG_ULP_BINS]) {
  ig_tensor *want = v ? cli_as_tensor(c, v, IG_DTYPE_COUNT) : NULL;
  ig_tensor *got = w ? cli_as_tensor(c, w, IG_DTYPE_COUNT) : NULL;
  if (v && w && !want && !got) return false;  // None, texts: nothing to compare
  if (want && got) {
    cli_compare(c, got, want, &tolerances[ig_tensor_dtype(want)], d);
    if (o.ulp) ig_tensor_ulps(c, got, want, bins);
  } else {
    (void)snprintf(d->why, sizeof d->why, "only %s has such an output",
                   want ? "the first" : "the second");
  }
  return true;
}

static bool compare_outputs(ig_ctx *c, const sides *s) {
  // In a format without state, new values of buffers are outputs.
  const ig_model_port *const *ports = NULL;
  bool every = ig_model_outputs(s->a, &ports) == ig_model_outputs(s->b, &ports);
  bool agrees = true;
  for (size_t i = 0;; i++) {
    char name[300] = "";
    char other[300] = "";
    const ig_value *v = output(s->a, s->x, i, every, name, sizeof name);
    const ig_value *w = output(s->b, s->y, i, every, other, sizeof other);
    if (!v && !w) return agrees;
    ig_tensor_diff d = {0};
    ig_scope scope = ig_scope_open(c);
    int64_t bins[IG_ULP_BINS] = {0};
    bool told = compare_value(c, v, w, &d, bins);
    ig_scope_close(c, scope);
    if (!told) continue;
    if (o.json) cli_json_diff(v ? name : other, &d, o.ulp ? bins : NULL);
    if (!o.json) cli_print_diff(stdout, v ? name : other, &d);
    if (!o.json && o.ulp) cli_print_ulps(bins);
    agrees = agrees && d.agrees;
  }
}

// A run, whose values are kept if the first that differs is asked for.
static bool run_one(ig_ctx *c, const ig_model *m, ig_session *s, ig_run_trace **t) {
  return (o.first ? ig_run_trace_take(c, m, s, false, t) : ig_session_run(s)) == IG_OK;
}

// Both on the same inputs; false: one does not run, and `why` says which and why.
static bool run_both(ig_ctx *c, const sides *s, tracer *t, char *why, size_t cap) {
  const ig_model *m = s->a;
  bool ok = run_one(c, s->a, s->x, &t->a);
  if (ok) {
    m = s->b;
    ok = ig_session_copy_inputs(s->x, s->y) == IG_OK && run_one(c, s->b, s->y, &t->b);
  }
  ok = ok && (!o.first || ig_run_trace_compare(c, t->a, t->b, tolerances, &t->d) == IG_OK);
  if (ok) return true;
  (void)snprintf(why, cap, "%.100s does not run on these inputs: %.300s", ig_model_name(m),
                 ig_ctx_error(c));
  return false;
}

static void json_numbers(const char *why) {
  if (!o.json) return;
  cli_json_key("not_run");
  cli_json_str(why);
}

// A model that cannot run on generated inputs is not compared; failing on given inputs is an error.
static int not_run(ig_ctx *c, const char *why) {
  bool given = o.feed.arrays || o.feed.single.n || o.feed.sizes.n || o.first || o.only.n;
  ig_ctx_clear(c);
  json_numbers(why);
  if (given) return cli_error(CLI_FAILED, "%s", why);
  if (!o.json) cli_warn("numbers are not compared: %s", why);
  return CLI_OK;
}

static int compare_sessions(ig_ctx *c, const sides *s, bool *agrees) {
  tracer t = {.c = c};
  char why[512];
  int code = cli_feed_session(c, s->a, s->x, &o.feed);
  if (code != CLI_OK) {
    json_numbers("the inputs do not match");
  } else if (!run_both(c, s, &t, why, sizeof why)) {
    code = not_run(c, why);
  } else {
    if (o.json) {
      cli_json_key("numbers");
      cli_json_open('[');
    } else {
      cli_put(stdout, CLI_BOLD, "numbers");
      cli_out(" on the same inputs\n");
    }
    *agrees = compare_outputs(c, s);
    if (o.json) cli_json_close(']');
    if (o.first && o.json) json_first(&t);
    if (o.first && !o.json) print_first(&t);
    *agrees = *agrees && !t.d.found;
  }
  tracer_free(&t);
  return code;
}

static int compare_runs(ig_ctx *c, ig_model *a, ig_model *b, bool *agrees) {
  sides s = {a, b, NULL, NULL};
  int code = CLI_OK;
  char why[512];
  *agrees = true;
  if (ig_session_create(c, a, &s.x) != IG_OK || ig_session_create(c, b, &s.y) != IG_OK) {
    (void)snprintf(why, sizeof why, "%.500s", ig_ctx_error(c));
    code = not_run(c, why);
  } else {
    code = compare_sessions(c, &s, agrees);
  }
  ig_session_free(s.x);
  ig_session_free(s.y);
  return code;
}

// ---- all of it

// Values of ONNX have the names of the file if the model runs without conversion to a program.
static int compare_numbers(ig_ctx *c, const char *const *files, ig_model *a, ig_model *b,
                           bool *agrees) {
  ig_model *own[2] = {a, b};
  int code = CLI_OK;
  for (size_t i = 0; i < 2 && code == CLI_OK; i++) {
    bool again = ig_model_onnx(own[i]) && ig_model_program(own[i]) && strcmp(files[i], "-") != 0;
    if (again) code = cli_open(c, files[i], 0, &own[i]);
    if (!again) own[i] = ig_model_retain(own[i]);
  }
  if (code == CLI_OK) code = compare_runs(c, own[0], own[1], agrees);
  ig_model_free(own[0]);
  ig_model_free(own[1]);
  return code;
}

static int compare_models(ig_ctx *c, const char *const *files, ig_model *a, ig_model *b,
                          unsigned parts) {
  const ig_model_change *const *list = NULL;
  size_t n = 0;
  bool given = o.rtol.n || o.atol.n;
  ig_diff_options options = {.size = sizeof options, .parts = parts & IG_DIFF_ALL};
  if (given) options.tolerances = tolerances;
  ig_status st = options.parts ? ig_model_diff(c, a, b, &options, &list, &n) : IG_OK;
  if (st != IG_OK) return cli_fail(c, ig_model_name(b), CLI_FAILED);
  if (o.json) {
    cli_json_open('{');
    cli_json_key("before");
    cli_json_str(ig_model_name(a));
    cli_json_key("after");
    cli_json_str(ig_model_name(b));
    json_changes(list, n);
  } else {
    print_changes(list, n);
  }
  bool agrees = true;
  bool runs = (parts & NUMBERS) && (o.only.n || ig_model_runnable(a) || ig_model_onnx(a));
  int code = runs ? compare_numbers(c, files, a, b, &agrees) : CLI_OK;
  bool same = n == 0 && agrees;
  if (o.json) {
    cli_json_key("same");
    cli_json_bool(same);
    cli_json_close('}');
    cli_json_end();
  } else if (same && code == CLI_OK) {
    cli_out("no difference\n");
  }
  return code != CLI_OK ? code : same ? CLI_OK : CLI_DIFFERS;
}

// ONNX beside a program of another kind is compared as a program.
static int open_program(ig_ctx *c, const char *file, const ig_model *other, ig_model **m) {
  bool mixed = ig_model_onnx(*m) && !ig_model_onnx(other) && ig_model_program(other);
  if (!mixed || strcmp(file, "-") == 0) return CLI_OK;
  ig_model_free(*m);
  *m = NULL;
  return cli_open(c, file, CLI_PROGRAM, m);
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *a = NULL;
  ig_model *b = NULL;
  unsigned parts = 0;
  int code = parse_parts(&parts);
  if (code == CLI_OK) code = cli_tolerances(&cli_diff, &o.rtol, &o.atol, tolerances);
  o.feed.fallback = true;
  if (code == CLI_OK) code = cli_open(c, files[0], 0, &a);
  if (code == CLI_OK) code = cli_open(c, files[1], 0, &b);
  if (code == CLI_OK) code = open_program(c, files[0], b, &a);
  if (code == CLI_OK) code = open_program(c, files[1], a, &b);
  if (code == CLI_OK) code = compare_models(c, files, a, b, parts);
  ig_model_free(a);
  ig_model_free(b);
  return code;
}

static const cli_option options[] = {
    {"--only", NULL, "PART", CLI_TEXTS, &o.only,
     "metadata, inputs, outputs, operators, nodes, weights or numbers;\nmay be given several "
     "times"},
    {"--all", "-a", NULL, CLI_SWITCH, &o.all, "list every difference, however many there are"},
    {"--first", "-f", NULL, CLI_SWITCH, &o.first,
     "find the first intermediate value that differs; values are matched\nby their numbers, names "
     "need not agree"},
    CLI_FEED_OPTIONS(o.feed),
    CLI_TOLERANCE_OPTIONS(o.rtol, o.atol,
                          " of numbers and weights (which must be equal otherwise)"),
    {"--ulp", NULL, NULL, CLI_SWITCH, &o.ulp,
     "a histogram of the distances of each output, in units of the last\nplace"},
    {"--json", NULL, NULL, CLI_SWITCH, &o.json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot diff old.pt2 new.pt2", "everything that differs"},
    {"ingot diff model.pt2 model.onnx --only numbers --first", "where a conversion goes wrong"},
    {"ingot diff a.pt2 b.safetensors --only weights --rtol 1e-3", "weights alone"},
};
const cli_command cli_diff = {
    .name = "diff",
    .arguments = "FILE FILE [--only PART] [--inputs FILE.npz] [OPTIONS]",
    .summary = "compare two models: structure, weights, and what they compute",
    .details =
        "Compares two files of any kinds: versions and metadata, inputs and outputs, operators "
        "and\n"
        "nodes, weights; then runs both on the same inputs (given ones, the examples of the first\n"
        "file, or random ones) and compares the outputs. Sizes may be renamed. Exit code 1 "
        "if\n"
        "anything differs.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .pages = true,
    .nfiles = 2,
    .run = run,
};
