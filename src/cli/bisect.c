// SPDX-License-Identifier: Apache-2.0
// ingot bisect: the first value in which two models, or two runtimes, differ.
#include <inttypes.h>
#include <string.h>

#include "cli/feed.h"
#include "cli/foreign.h"

static struct {
  cli_feed feed;
  cli_texts rtol;
  cli_texts atol;
  const char *runtime_a;
  const char *runtime_b;
  bool json;
} o;

// ---- the two runs

typedef struct side {
  ig_model *m;
  ig_session *s;
  ig_run_trace *t;
  const char *runtime;
} side;

static const char *const runtimes[] = {"interpreter", "ingot", "onnxruntime", "torch"};
enum { NRUNTIMES = sizeof runtimes / sizeof *runtimes };

static bool is(const side *x, const char *runtime) {
  return strcmp(x->runtime, runtime) == 0;
}

static int choose(side *x, const char *option, const char *word, const char *usual) {
  x->runtime = word ? word : usual;
  for (size_t i = 0; i < NRUNTIMES; i++) {
    if (is(x, runtimes[i])) return CLI_OK;
  }
  return cli_usage(&cli_bisect, "%s: '%s' is not one of interpreter, ingot, onnxruntime, torch",
                   option, word);
}

static int check_kind(const side *x) {
  if (is(x, "onnxruntime") && !ig_model_onnx(x->m)) {
    return cli_error(CLI_FAILED, "%s: onnxruntime runs ONNX models, not this %s",
                     ig_model_name(x->m), ig_model_kind_text(ig_model_get_kind(x->m)));
  }
  if (is(x, "torch") && ig_model_get_kind(x->m) != IG_MODEL_PT2) {
    return cli_error(CLI_FAILED, "%s: torch runs exported programs (.pt2), not this %s",
                     ig_model_name(x->m), ig_model_kind_text(ig_model_get_kind(x->m)));
  }
  return CLI_OK;
}

static int open_side(ig_ctx *c, const char *file, side *x) {
  int code = cli_open(c, file, 0, &x->m);
  if (code == CLI_OK) code = check_kind(x);
  if (code == CLI_OK && ig_session_create(c, x->m, &x->s) != IG_OK) {
    code = cli_fail(c, file, CLI_REFUSED);
  }
  return code;
}

static int trace_side(ig_ctx *c, side *x) {
  const char *file = ig_model_name(x->m);
  bool planned = is(x, "ingot");
  if (planned || is(x, "interpreter")) {
    if (ig_run_trace_take(c, x->m, x->s, planned, &x->t) == IG_OK) return CLI_OK;
    return cli_fail(c, file, CLI_FAILED);
  }
  if (ig_run_trace_begin(c, x->m, x->s, &x->t) != IG_OK) return cli_fail(c, file, CLI_FAILED);
  return cli_foreign_run(c, x->runtime, x->m, x->s, x->t);
}

static int trace_both(ig_ctx *c, side *a, side *b) {
  int code = cli_feed_session(c, a->m, a->s, &o.feed);
  if (code == CLI_OK && ig_session_copy_inputs(a->s, b->s) != IG_OK) {
    code = cli_error(CLI_FAILED, "%s does not run on these inputs: %s", ig_model_name(b->m),
                     ig_ctx_error(c));
  }
  cli_stage("running the first", 0, "");
  if (code == CLI_OK) code = trace_side(c, a);
  cli_stage("running the second", 0, "");
  if (code == CLI_OK) code = trace_side(c, b);
  cli_stage_end();
  return code;
}

// ---- report

static void print_place(const ig_run_trace_value *v) {
  char type[160];
  ig_value value = {.kind = IG_KIND_TENSOR, .tensor = v->tensor};
  cli_put(stdout, CLI_CYAN, "%s", v->name[0] ? v->name : "a value");
  cli_out(" %s", cli_describe(&value, type, sizeof type));
  if (v->target[0]) cli_out(" of %s", v->target);
  cli_out("\n");
  if (v->module[0]) cli_out("    in %s%s%s\n", v->module, v->type[0] ? ": " : "", v->type);
  if (v->at.file) {
    cli_out("    at %s:%d%s%s\n", v->at.file, v->at.line, v->at.code ? ": " : "",
            v->at.code ? v->at.code : "");
  }
}

static void print_numbers(const ig_run_trace_value *x, const ig_run_trace_value *y,
                          const ig_tensor_diff *d) {
  if (d->why[0]) {
    cli_out("  %s\n", d->why);
    return;
  }
  cli_out("  max abs %.3g max rel %.3g max ulp %.3g, %" PRId64 " of %" PRId64
          " elements above rtol %g atol %g\n",
          d->max_abs, d->max_rel, d->max_ulp, d->bad, d->n, d->rtol, d->atol);
  if (d->worst < 0) return;
  cli_out("  element %" PRId64 ": %.9g and %.9g\n", d->worst, ig_tensor_get(x->tensor, d->worst),
          ig_tensor_get(y->tensor, d->worst));
}

static void print_reads(const side *a, const ig_divergence *d) {
  for (size_t i = 0; i < d->nreads; i++) {
    ig_run_trace_value v;
    (void)ig_run_trace_at(a->t, (size_t)d->reads[i].a, &v);
    cli_out("  reads %s", v.name[0] ? v.name : v.target);
    if (d->reads[i].b < 0) {
      cli_out(", %s\n", v.target[0] ? "which the other run does not have" : "which is given");
    } else {
      cli_out(", agrees: max abs %.3g max ulp %.3g\n", d->reads[i].diff.max_abs,
              d->reads[i].diff.max_ulp);
    }
  }
}

// Which run it is: its runtime, or its file if both have the same runtime.
static void print_side(const side *x, const side *other) {
  const char *slash = strrchr(ig_model_name(x->m), '/');
  const char *file = slash ? slash + 1 : ig_model_name(x->m);
  cli_out("  %s: ", is(x, other->runtime) ? file : x->runtime);
}

static void print_report(const side *a, const side *b, const ig_divergence *d) {
  cli_out("%zu of %zu values agree\n", d->agree, d->values);
  if (!d->found) {
    cli_put(stdout, CLI_GREEN, "no difference");
    cli_out("\n");
    return;
  }
  ig_run_trace_value x;
  ig_run_trace_value y;
  (void)ig_run_trace_at(a->t, (size_t)d->first.a, &x);
  cli_put(stdout, CLI_RED, "first difference%s\n", d->in_outputs ? "" : ", outputs agree");
  print_side(a, b);
  print_place(&x);
  if (d->first.b < 0) {
    print_side(b, a);
    cli_out("nothing corresponds to it\n");
  } else {
    (void)ig_run_trace_at(b->t, (size_t)d->first.b, &y);
    print_side(b, a);
    print_place(&y);
    print_numbers(&x, &y, &d->first.diff);
  }
  print_reads(a, d);
}

// ---- JSON

static void json_value(const char *key, const ig_run_trace *t, int64_t i) {
  ig_run_trace_value v;
  cli_json_key(key);
  if (i < 0 || !ig_run_trace_at(t, (size_t)i, &v)) {
    cli_json_null();
    return;
  }
  char type[160];
  ig_value value = {.kind = IG_KIND_TENSOR, .tensor = v.tensor};
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(v.name);
  cli_json_key("operator");
  cli_json_str(v.target[0] ? v.target : NULL);
  cli_json_key("value");
  cli_json_str(cli_describe(&value, type, sizeof type));
  cli_json_key("module");
  cli_json_str(v.module[0] ? v.module : NULL);
  cli_json_key("file");
  cli_json_str(v.at.file);
  cli_json_key("line");
  if (v.at.file) cli_json_int(v.at.line);
  if (!v.at.file) cli_json_null();
  cli_json_key("source");
  cli_json_str(v.at.code);
  cli_json_close('}');
}

static void json_pair(const side *a, const side *b, const ig_run_trace_pair *p) {
  cli_json_open('{');
  json_value("a", a->t, p->a);
  json_value("b", b->t, p->b);
  if (p->b >= 0) cli_json_errors(&p->diff);
  cli_json_close('}');
}

static void json_side(const char *key, const side *x) {
  cli_json_key(key);
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(ig_model_name(x->m));
  cli_json_key("runtime");
  cli_json_str(x->runtime);
  cli_json_close('}');
}

static void json_report(const side *a, const side *b, const ig_divergence *d) {
  cli_json_open('{');
  json_side("a", a);
  json_side("b", b);
  cli_json_key("values");
  cli_json_int((int64_t)d->values);
  cli_json_key("agree");
  cli_json_int((int64_t)d->agree);
  cli_json_key("outputs_agree");
  cli_json_bool(!d->in_outputs);
  cli_json_key("first");
  if (d->found) json_pair(a, b, &d->first);
  if (!d->found) cli_json_null();
  cli_json_key("reads");
  cli_json_open('[');
  for (size_t i = 0; i < d->nreads; i++) json_pair(a, b, &d->reads[i]);
  cli_json_close(']');
  cli_json_close('}');
  cli_json_end();
}

// ---- all of it

static int compare(ig_ctx *c, side *a, side *b, const ig_tolerance *tolerances) {
  ig_divergence d;
  int code = trace_both(c, a, b);
  if (code != CLI_OK) return code;
  cli_stage("comparing", 0, "");
  ig_status st = ig_run_trace_compare(c, a->t, b->t, tolerances, &d);
  cli_stage_end();
  if (st != IG_OK) return cli_fail(c, ig_model_name(a->m), CLI_FAILED);
  if (o.json) json_report(a, b, &d);
  if (!o.json) print_report(a, b, &d);
  return d.found ? CLI_DIFFERS : CLI_OK;
}

static void close_side(side *x) {
  ig_run_trace_free(x->t);
  ig_session_free(x->s);
  ig_model_free(x->m);
}

static int run(ig_ctx *c, const char *const *files) {
  ig_tolerance tolerances[IG_DTYPE_COUNT];
  side a = {.m = NULL};
  side b = {.m = NULL};
  bool same = strcmp(files[0], files[1]) == 0;
  o.feed.fallback = true;
  int code = cli_tolerances(&cli_bisect, &o.rtol, &o.atol, tolerances);
  if (code == CLI_OK) code = choose(&a, "--runtime-a", o.runtime_a, runtimes[0]);
  if (code == CLI_OK) code = choose(&b, "--runtime-b", o.runtime_b, runtimes[same ? 1 : 0]);
  if (code == CLI_OK) code = open_side(c, files[0], &a);
  if (code == CLI_OK) code = open_side(c, files[1], &b);
  if (code == CLI_OK) code = compare(c, &a, &b, tolerances);
  close_side(&a);
  close_side(&b);
  return code;
}

static const cli_option options[] = {
    CLI_FEED_OPTIONS(o.feed),
    {"--runtime-a", NULL, "NAME", CLI_TEXT, &o.runtime_a,
     "what runs the first file: interpreter (default), ingot (its plan),\nonnxruntime, torch"},
    {"--runtime-b", NULL, "NAME", CLI_TEXT, &o.runtime_b,
     "the same for the second file (default: interpreter; ingot if it\nis the first file again)"},
    CLI_TOLERANCE_OPTIONS(o.rtol, o.atol, ""),
    {"--json", NULL, NULL, CLI_SWITCH, &o.json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot bisect model.pt2 model.onnx --inputs x.npz", "where a conversion goes wrong"},
    {"ingot bisect model.pt2 model.pt2", "the plan against the interpreter"},
    {"ingot bisect model.onnx model.onnx --runtime-b onnxruntime", "against onnxruntime"},
};
const cli_command cli_bisect = {
    .name = "bisect",
    .arguments = "FILE FILE [--inputs FILE.npz] [--runtime-a NAME] [--runtime-b NAME] [OPTIONS]",
    .summary = "the first value in which two models or two runtimes differ",
    .details =
        "Runs both on the same inputs (given ones, the examples of the first file, or random "
        "ones),\n"
        "matches their values by numbers and by what they are computed from, and prints the first\n"
        "one that differs: the call, its module and source line, and what it reads. Names need "
        "not\n"
        "agree. Exit code 1 if something differs.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 2,
    .run = run,
};
