// SPDX-License-Identifier: Apache-2.0
// ingot compile: a model and its packed weights in one file that opens in milliseconds.
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"

static struct {
  cli_feed feed;
  const char *output;
  const char *precision;
  const char *report;
  double loss;
  bool no_check;
} o = {.loss = 0.02};

static void progress(void *user, const char *stage, uint64_t done, uint64_t total) {
  (void)user;
  if (done == 0) cli_stage(stage, total, "MB");
  cli_step(done);
}

// ---- what low precision loses

typedef struct tally {
  size_t layers;
  size_t kept;
  double worst;  // of those that are not
} tally;

static void report(void *user, const ig_layer_report *l) {
  tally *t = user;
  t->layers++;
  t->kept += l->kept;
  if (!l->kept && l->error > t->worst) t->worst = l->error;
  cli_stage_end();
  cli_out("  %-32s %-10.3g %-12s %s\n", l->name, l->error, l->kept ? "stays f32" : o.precision,
          l->target);
}

// The numbers of low precision are others: the report tells how much.
static bool compare(ig_ctx *c, const ig_session *a, const ig_session *b) {
  static const ig_tolerance defaults = {-1, -1};
  bool agrees = true;
  const ig_value *v = NULL;
  for (size_t i = 0; (v = ig_session_output_at(a, i)); i++) {
    const ig_value *w = ig_session_output_at(b, i);
    if (v->kind != IG_KIND_TENSOR || !w || w->kind != IG_KIND_TENSOR) continue;
    ig_tensor_diff d = {.agrees = false};
    char name[32];
    (void)snprintf(name, sizeof name, "out%zu", i);
    ig_scope s = ig_scope_open(c);
    cli_compare(c, w->tensor, v->tensor, &defaults, &d);
    ig_scope_close(c, s);
    if (!d.agrees) cli_print_diff(stderr, name, &d);
    agrees = agrees && d.agrees;
  }
  return agrees;
}

// The copy at `path`, before it becomes the one at `to`: runs like the model it was made from.
static int check(ig_ctx *c, ig_session *s, const char *path, const char *to) {
  ig_model *copy = NULL;
  ig_session *again = NULL;
  int code = cli_open(c, path, 0, &copy);
  if (code != CLI_OK) return code;
  cli_stage("comparing", 0, "MB");
  bool ok = ig_session_create(c, copy, &again) == IG_OK;
  bool ran = ok && ig_session_run(s) == IG_OK;
  if (ok && !ran && !o.feed.arrays && !o.feed.single.n) {
    cli_warn("not compared: %s; give inputs with --inputs", ig_ctx_error(c));
    ig_ctx_clear(c);
  } else if (ok) {
    ok = ran && ig_session_copy_inputs(s, again) == IG_OK && ig_session_run(again) == IG_OK;
  }
  cli_stage_end();
  if (!ok) code = cli_fail(c, to, CLI_FAILED);
  if (ok && ran && !compare(c, s, again)) {
    code = cli_error(CLI_DIFFERS, "%s: disagrees with its model and was not written; please report",
                     to);
  }
  ig_session_free(again);
  ig_model_free(copy);
  return code;
}

static void describe(const ig_model *m, const char *to) {
  const ig_model_fact *const *facts = NULL;
  size_t n = ig_model_facts(m, &facts);
  char size[32];
  cli_out("%s: %s", to, cli_bytes(ig_model_file_bytes(m), size, sizeof size));
  const char *layers = "";
  const char *level = "";
  for (size_t i = 0; i < n; i++) {
    if (strcmp(facts[i]->name, "packed layers") == 0) layers = facts[i]->value;
    if (strcmp(facts[i]->name, "packed for") == 0) level = facts[i]->value;
  }
  cli_out(", %s layers packed for %s\n", layers, level);
}

static int compile(ig_ctx *c, ig_session *s, const char *to) {
  cli_staged out;
  int code = cli_staged_open(to, &out);
  if (code != CLI_OK) return code;
  tally t = {0};
  ig_compile_options options = {.size = sizeof options, .progress = progress};
  if (o.report) {
    options.loss = o.loss;
    options.report = report;
    options.report_user = &t;
  }
  if (ig_session_compile(s, out.files.path, &options) != IG_OK) code = cli_fail(c, to, CLI_REFUSED);
  cli_stage_end();
  if (code == CLI_OK && o.report) {
    cli_out("%zu of %zu layers are %s, largest error %.3g\n", t.layers - t.kept, t.layers,
            o.precision, t.worst);
  }
  if (code == CLI_OK && !o.no_check && !o.precision) code = check(c, s, out.files.path, to);
  if (code == CLI_OK) code = cli_staged_keep(&out);
  cli_staged_drop(&out);
  ig_model *made = NULL;
  if (code == CLI_OK) code = cli_open(c, to, 0, &made);
  if (code == CLI_OK) describe(made, to);
  ig_model_free(made);
  return code;
}

#define KINDS "f32, bf16, f16, int8, int4, dynamic_int8"

static bool find_precision(const char *name, ig_precision *out) {
  for (int i = IG_PRECISION_F32; i < IG_PRECISION_COUNT; i++) {
    *out = (ig_precision)i;
    if (strcmp(name, ig_precision_name(*out)) == 0) return true;
  }
  return false;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  ig_session_options how = {.size = sizeof how};
  if (!o.output) return cli_usage(&cli_compile, "-o OUT is missing");
  if (o.precision && !find_precision(o.precision, &how.precision)) {
    return cli_usage(&cli_compile, "--precision: '%s' is not one of " KINDS, o.precision);
  }
  if (o.report && how.precision <= IG_PRECISION_F32) {
    return cli_usage(&cli_compile,
                     "--report: there is nothing to report without a low --precision");
  }
  if (o.report) o.feed.arrays = o.report;
  int code = cli_open(c, files[0], 0, &m);
  if (code == CLI_OK && ig_session_create_with(c, m, &how, &s) != IG_OK) {
    code = cli_fail(c, files[0], CLI_REFUSED);
  }
  o.feed.fallback = true;
  if (code == CLI_OK) code = cli_feed_session(c, m, s, &o.feed);
  if (code == CLI_OK) code = compile(c, s, o.output);
  ig_session_free(s);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--output", "-o", "OUT", CLI_TEXT, &o.output, "the file to write, model.ingot"},
    {"--precision", NULL, "KIND", CLI_TEXT, &o.precision,
     "weights of linear layers: " KINDS "\n(default f32)"},
    {"--report", NULL, "FILE", CLI_TEXT, &o.report,
     "inputs on which each layer's loss by low precision is measured\nand printed"},
    {"--loss", NULL, "X", CLI_REAL, &o.loss,
     "with --report: layers that lose more stay f32 (default 0.02)"},
    {"--no-check", NULL, NULL, CLI_SWITCH, &o.no_check, "do not run the file and compare"},
    CLI_FEED_OPTIONS(o.feed),
};
static const cli_example examples[] = {
    {"ingot compile model.onnx -o model.ingot", "for the sizes that the model states"},
    {"ingot compile model.pt2 -o model.ingot --size batch=8", "weights packed as this size wants"},
    {"ingot run model.ingot -i io.npz", "runs like the model itself"},
    {"ingot compile decoder.onnx -o decoder.ingot --precision int8 --report x.npz",
     "a quarter of the bytes"},
};
const cli_command cli_compile = {
    .name = "compile",
    .arguments = "FILE -o OUT [--precision KIND [--report FILE]] [OPTIONS]",
    .summary = "write a model with packed weights, which opens and starts in milliseconds",
    .details =
        "Plans the model and writes it together with the weights as the plan packs them. The file\n"
        "is mapped, is for this instruction set (with another one weights are packed again), and\n"
        "is taken by all commands. It is run and compared with the model before it is kept.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
