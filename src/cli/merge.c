// SPDX-License-Identifier: Apache-2.0
// ingot merge: two ONNX models as one, compared with both, one after the other.
#include <string.h>

#include "cli/edit.h"

static cli_edit e = {.tolerance = {-1, -1}, .loss = 1e-4, .quiet = true};
static cli_texts joins;
static const char *prefix;
static bool keep_joined;
static const char *second;
static char outputs[CLI_MAX_TEXTS][512];
static ig_join list[CLI_MAX_TEXTS];

static int read_joins(void) {
  for (size_t i = 0; i < joins.n; i++) {
    const char *value = cli_edit_pair(&cli_merge, joins.at[i], outputs[i], sizeof outputs[i]);
    if (!value) return CLI_USAGE;
    list[i] = (ig_join){outputs[i], value};
  }
  return CLI_OK;
}

static int apply(ig_ctx *c, ig_edit *edit, void *user) {
  ig_model **m = user;
  int code = read_joins();
  if (code == CLI_OK) code = cli_open(c, second, 0, m);
  if (code != CLI_OK) return code;
  const ig_onnx_model *other = ig_model_onnx(*m);
  if (!other)
    return cli_error(CLI_REFUSED, "%s: only ONNX models are merged; ingot convert writes them",
                     second);
  const ig_merge_options o = {sizeof o, list, joins.n, prefix, keep_joined};
  ig_status st = ig_edit_merge(edit, (ig_onnx_model *)other, &o);
  return st == IG_OK ? CLI_OK : cli_fail(c, e.from, CLI_REFUSED);
}

// ---- the check

typedef struct part {
  ig_model *m;
  ig_session *s;
  const ig_model_port *const *inputs;
  const ig_model_port *const *outputs;
  size_t nin;
  size_t nout;
} part;

static int open_part(ig_ctx *c, ig_model *m, part *p) {
  const ig_session_options plain = {.size = sizeof plain, .interpret = true};
  p->m = m;
  p->nin = ig_model_inputs(m, &p->inputs);
  p->nout = ig_model_outputs(m, &p->outputs);
  return ig_session_create_with(c, m, &plain, &p->s) == IG_OK
             ? CLI_OK
             : cli_fail(c, ig_model_name(m), CLI_REFUSED);
}

// Which output of the first model gives an input of the second; -1: none.
static int giver(const part *a, const char *input) {
  for (size_t k = 0; k < a->nout; k++) {
    bool same = !joins.n && strcmp(a->outputs[k]->name, input) == 0;
    for (size_t i = 0; i < joins.n && !same; i++)
      same = strcmp(list[i].output, a->outputs[k]->name) == 0 && strcmp(list[i].input, input) == 0;
    if (same) return (int)k;
  }
  return -1;
}

static ig_status give(ig_session *to, const char *name, const ig_value *v) {
  if (!v) return IG_OK;
  return v->kind == IG_KIND_TENSOR ? ig_session_set(to, name, v->tensor)
                                   : ig_session_set_value(to, name, v);
}

// Runs both models, one after the other. False: they do not run on these inputs.
static bool run_parts(ig_ctx *c, part *a, part *b, int *code) {
  *code = cli_feed_session(c, a->m, a->s, &e.feed);
  if (*code == CLI_OK) {
    cli_feed rest = {.random = true, .fallback = true, .seed = e.feed.seed};
    *code = cli_feed_session(c, b->m, b->s, &rest);
  }
  if (*code != CLI_OK) return false;
  if (ig_session_run(a->s) != IG_OK) return false;
  for (size_t i = 0; i < b->nin; i++) {
    int k = giver(a, b->inputs[i]->name);
    const ig_value *v = k >= 0 ? ig_session_output_at(a->s, (size_t)k) : NULL;
    if (give(b->s, b->inputs[i]->name, v) != IG_OK) return false;
  }
  return ig_session_run(b->s) == IG_OK;
}

static bool is_joined(const part *a, const part *b, size_t output) {
  for (size_t i = 0; i < b->nin; i++)
    if (giver(a, b->inputs[i]->name) == (int)output) return true;
  return false;
}

// The merged model has the inputs of the first, then those of the second that nothing gives.
static ig_status run_whole(const part *a, const part *b, part *m) {
  size_t n = 0;
  ig_status st = IG_OK;
  for (size_t i = 0; i < a->nin && n < m->nin && st == IG_OK; i++)
    st = give(m->s, m->inputs[n++]->name, ig_session_input_at(a->s, i));
  for (size_t i = 0; i < b->nin && n < m->nin && st == IG_OK; i++)
    if (giver(a, b->inputs[i]->name) < 0)
      st = give(m->s, m->inputs[n++]->name, ig_session_input_at(b->s, i));
  return st == IG_OK ? ig_session_run(m->s) : st;
}

static bool compare(ig_ctx *c, const part *of, size_t i, const part *m, size_t at) {
  const ig_value *want = ig_session_output_at(of->s, i);
  const ig_value *got = at < m->nout ? ig_session_output_at(m->s, at) : NULL;
  bool tensors = want && got && want->kind == IG_KIND_TENSOR && got->kind == IG_KIND_TENSOR;
  if (want && want->kind != IG_KIND_TENSOR) return got && got->kind == want->kind;
  return cli_edit_compare(c, &e, of->outputs[i]->name, tensors ? got->tensor : NULL,
                          tensors ? want->tensor : NULL);
}

static bool compare_all(ig_ctx *c, const part *a, const part *b, const part *m) {
  size_t n = 0;
  bool agrees = true;
  for (size_t i = 0; i < a->nout; i++)
    if (keep_joined || !is_joined(a, b, i)) agrees = compare(c, a, i, m, n++) && agrees;
  for (size_t i = 0; i < b->nout; i++) agrees = compare(c, b, i, m, n++) && agrees;
  return agrees;
}

static int check(ig_ctx *c, cli_edit *edit, const char *path) {
  ig_model *models[3] = {NULL};
  part p[3];
  memset(p, 0, sizeof p);
  const char *const names[] = {e.from, second, path};
  int code = CLI_OK;
  (void)edit;
  for (int i = 0; i < 3 && code == CLI_OK; i++) {
    code = cli_open(c, names[i], 0, &models[i]);
    if (code == CLI_OK) code = open_part(c, models[i], &p[i]);
  }
  if (code == CLI_OK && !run_parts(c, &p[0], &p[1], &code) && code == CLI_OK) {
    cli_warn("not compared: the models do not run on these inputs (%s)", ig_ctx_error(c));
    ig_ctx_clear(c);
  } else if (code == CLI_OK && run_whole(&p[0], &p[1], &p[2]) != IG_OK) {
    code = cli_fail(c, e.to, CLI_FAILED);
  } else if (code == CLI_OK && !compare_all(c, &p[0], &p[1], &p[2])) {
    code = cli_error(CLI_DIFFERS, "%s: disagrees with %s and %s, and was not written", e.to, e.from,
                     second);
  } else if (code == CLI_OK) {
    cli_put(stderr, CLI_PLAIN, "%s: checked against %s and %s\n", e.to, e.from, second);
  }
  for (int i = 0; i < 3; i++) {
    ig_session_free(p[i].s);
    ig_model_free(models[i]);
  }
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  e.from = files[0];
  second = files[1];
  e.to = files[2];
  e.apply = apply;
  e.user = &m;
  e.check = check;
  int code = cli_edit_run(c, &e);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--join", NULL, "OUTPUT=INPUT", CLI_TEXTS, &joins,
     "an output of FILE and the input of SECOND that it gives; may be\ngiven several times "
     "(default: equal names)"},
    {"--prefix", NULL, "TEXT", CLI_TEXT, &prefix,
     "in front of all names of SECOND (default: only names that are\ntaken change)"},
    {"--keep-joined", NULL, NULL, CLI_SWITCH, &keep_joined, "joined outputs stay outputs"},
    CLI_EDIT_OPTIONS(e),
};
static const cli_example examples[] = {
    {"ingot merge prepare.onnx model.onnx all.onnx --join image=x", "preparation and model"},
};
const cli_command cli_merge = {
    .name = "merge",
    .arguments = "FILE SECOND OUT [--join OUTPUT=INPUT] [OPTIONS]",
    .summary = "two ONNX models, one behind the other, as one",
    .details =
        "Outputs of the first become inputs of the second. Element types and sizes must fit;\n"
        "both must import the same opsets (ingot convert --opset). The result is compared\n"
        "with the two models, one after the other.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 3,
    .run = run,
};
