// SPDX-License-Identifier: Apache-2.0
// ingot score: a model over a file of rows. Files of rows are read by Python packages, so the work
// is done by the package ingot.batch; this command checks the options and becomes that program.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define ABSENT LONG_MIN  // a number that was not given

static struct {
  const char *data;
  const char *output;
  cli_texts inputs;
  const char *outputs;
  const char *keep;
  const char *bad;
  const char *engine;
  const char *precision;
  const char *mean;
  const char *std;
  long batch;
  long part;
  long threads;
  long workers;
  bool fresh;
  bool json;
} o = {.batch = ABSENT, .part = ABSENT, .threads = ABSENT, .workers = ABSENT};

// Says what is missing where the package is not there; everything else is ingot.score's to say.
static const char program[] =
    "import sys\n"
    "try:\n"
    "    from ingot.score import main\n"
    "except ImportError as error:\n"
    "    print('ingot: score is done by the Python package ingot, which', sys.executable,\n"
    "          'does not have; INGOT_PYTHON names a Python that has it:', error, file=sys.stderr)\n"
    "    sys.exit(5)\n"
    "sys.exit(main())\n";

enum { MAX_WORDS = 2 * CLI_MAX_TEXTS + 48, NUMBER = 24 };

typedef struct words {
  const char *at[MAX_WORDS];
  size_t n;
  char numbers[4][NUMBER];
  size_t nnumbers;
} words;

static void add(words *w, const char *option, const char *value) {
  if (!value) return;
  w->at[w->n++] = option;
  w->at[w->n++] = value;
}

static void add_number(words *w, const char *option, long value) {
  if (value == ABSENT) return;
  char *text = w->numbers[w->nnumbers++];
  (void)snprintf(text, NUMBER, "%ld", value);
  add(w, option, text);
}

static void add_options(words *w) {
  add(w, "--data", o.data);
  add(w, "--output", o.output);
  for (size_t i = 0; i < o.inputs.n; i++) add(w, "--input", o.inputs.at[i]);
  add(w, "--outputs", o.outputs);
  add(w, "--keep", o.keep);
  add(w, "--bad", o.bad);
  add(w, "--engine", o.engine);
  add(w, "--precision", o.precision);
  add(w, "--mean", o.mean);
  add(w, "--std", o.std);
  add_number(w, "--batch", o.batch);
  add_number(w, "--part", o.part);
  add_number(w, "--threads", o.threads);
  add_number(w, "--workers", o.workers);
  if (o.fresh) w->at[w->n++] = "--fresh";
  if (o.json) w->at[w->n++] = "--json";
}

static int check(void) {
  if (!o.data)
    return cli_usage(&cli_score, "--data names the rows: .parquet, .csv, .npz, a folder");
  if (!o.output) return cli_usage(&cli_score, "--output names the file for the results");
  const long counts[] = {o.batch, o.part, o.threads, o.workers};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    if (counts[i] < 1 && counts[i] != ABSENT) {
      return cli_usage(&cli_score, "--batch, --part, --threads, --workers: at least 1");
    }
  }
  static const char *const engines[] = {"local", "ray", "spark"};
  for (size_t i = 0; o.engine && i < sizeof engines / sizeof *engines; i++) {
    if (strcmp(o.engine, engines[i]) == 0) return CLI_OK;
  }
  if (!o.engine) return CLI_OK;
  return cli_usage(&cli_score, "--engine: '%s' is not one of local, ray, spark", o.engine);
}

static int run(ig_ctx *c, const char *const *files) {
  (void)c;
  int code = check();
  if (code != CLI_OK) return code;
  const char *python = getenv("INGOT_PYTHON");
  words w = {.n = 0};
  w.at[w.n++] = python && python[0] ? python : "python3";
  w.at[w.n++] = "-c";
  w.at[w.n++] = program;
  add_options(&w);
  w.at[w.n++] = "--";
  w.at[w.n++] = files[0];
  (void)fflush(stdout);
  int error = ig_host_become(w.at);
  return cli_error(CLI_FAILED,
                   "score is done by the Python package ingot, and '%s' cannot be started: %s; "
                   "INGOT_PYTHON names the Python that has the package",
                   w.at[0], strerror(error));
}

static const cli_option options[] = {
    {"--data", "-d", "FILE", CLI_TEXT, &o.data,
     "the rows: .parquet, .arrow, .csv, .npz, or a folder of images"},
    {"--output", "-o", "FILE", CLI_TEXT, &o.output,
     "the results: .parquet, .arrow, .csv or .npz, a row per row of the\ndata"},
    {"--input", NULL, "INPUT=COLUMN", CLI_TEXTS, &o.inputs,
     "the column of an input, or several, side by side: x=a,b,c (default:\nthe column of its "
     "name)"},
    {"--outputs", NULL, "NAMES", CLI_TEXT, &o.outputs, "outputs to keep: a,b (default: all)"},
    {"--keep", NULL, "COLUMNS", CLI_TEXT, &o.keep, "columns of the data to copy: id,name"},
    {"--bad", NULL, "FILE", CLI_TEXT, &o.bad,
     "rows without a result, with the reason (default: OUTPUT.bad.jsonl)"},
    {"--batch", "-b", "N", CLI_INT, &o.batch,
     "rows per run (default 64, or the number that the model fixes)"},
    {"--part", NULL, "N", CLI_INT, &o.part,
     "rows between two entries of the journal (default 4096)"},
    {"--threads", "-t", "N", CLI_INT, &o.threads, "sessions side by side (default 1)"},
    {"--engine", NULL, "NAME", CLI_TEXT, &o.engine, "local, ray or spark (default local)"},
    {"--workers", NULL, "N", CLI_INT, &o.workers, "processes of Ray or Spark (default 2)"},
    {"--fresh", NULL, NULL, CLI_SWITCH, &o.fresh, "begin anew; what was done before is discarded"},
    {"--precision", NULL, "NAME", CLI_TEXT, &o.precision, "int8 or f32, see docs/runtime.md"},
    {"--mean", NULL, "R,G,B", CLI_TEXT, &o.mean, "of images, subtracted from values of 0 to 1"},
    {"--std", NULL, "R,G,B", CLI_TEXT, &o.std, "of images, by which these are divided"},
    {"--json", NULL, NULL, CLI_SWITCH, &o.json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot score model.onnx --data in.parquet --output out.parquet --keep id", "a result per row"},
    {"ingot score model.pt2 -d in.csv -o out.csv --input x=age,height,weight",
     "columns as features"},
    {"ingot score resnet.onnx -d photos/ -o labels.parquet --engine ray --workers 8",
     "images, on the machines of a Ray cluster"},
};
const cli_command cli_score = {
    .name = "score",
    .arguments = "FILE --data ROWS --output RESULTS [OPTIONS]",
    .summary = "run a model over a file of rows: one result per row, restartable",
    .details =
        "Runs the model over all rows of a file, in batches. What is done is noted in a folder\n"
        "beside the output, so that a job that ended early goes on where it stopped when the\n"
        "command is repeated. Rows that have no result are listed with the reason. Needs the\n"
        "Python package ingot (INGOT_PYTHON names the Python), pyarrow for Parquet and Arrow,\n"
        "Pillow for images.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
