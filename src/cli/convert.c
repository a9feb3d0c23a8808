// SPDX-License-Identifier: Apache-2.0
// ingot convert: writes a file in another format and checks that the copy is equivalent.
#include <stdlib.h>
#include <string.h>

#include "cli/edit.h"
#include "ingot/onnx.h"

static struct {
  const char *to;
  bool no_check;
  long opset;
  const char *external;
  const char *torch;
  const char *dtype;
  bool convert_io;
  cli_texts keep;
  cli_feed feed;
  ig_tolerance tolerance;
} o = {.tolerance = {-1, -1}};

typedef struct target {
  const char *word;
  const char *suffix;
  bool program;  // needs a program; otherwise only weights are written
  int (*save)(const char *path, void *user);
} target;

typedef struct job {
  ig_ctx *c;
  ig_model *from;
  const target *target;
  ig_program *captured;  // of a model that has code instead of a program; NULL: none
} job;

static const ig_program *program_of(const job *j) {
  return j->captured ? j->captured : ig_model_program(j->from);
}

// ---- writing

// The layout for a PyTorch release; -1: unknown release.
static int layout_for(const char *torch) {
  static const struct {
    const char *release;
    ig_pt2_layout layout;
  } releases[] = {{"2.5", IG_PT2_FOR_2_5}, {"2.6", IG_PT2_FOR_2_6}, {"2.7", IG_PT2_FOR_2_6}};
  if (!torch) return IG_PT2_NEWEST;
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
    if (strcmp(torch, releases[i].release) == 0) return (int)releases[i].layout;
  }
  char *end = NULL;
  long minor = strncmp(torch, "2.", 2) == 0 ? strtol(torch + 2, &end, 10) : 0;
  return minor >= 8 && *end == 0 ? IG_PT2_NEWEST : -1;
}

// Examples and extra files are copied too.
static int save_pt2(const char *path, void *user) {
  const job *j = user;
  const ig_program *p = program_of(j);
  ig_object *examples = NULL;
  ig_save_options options = {.size = sizeof options};
  if (ig_program_examples(j->c, p, &examples) != IG_OK) ig_ctx_clear(j->c);  // not readable
  options.layout = (ig_pt2_layout)layout_for(o.torch);
  options.nextra = ig_program_extra_files(p, &options.extra);
  options.examples = examples;
  ig_status st = ig_program_save_as(j->c, p, &options, path);
  ig_object_free(examples);
  return st == IG_OK ? CLI_OK : cli_fail(j->c, path, CLI_FAILED);
}

static ig_onnx_external external(void) {
  if (o.external && strcmp(o.external, "never") == 0) return IG_ONNX_EXTERNAL_NEVER;
  if (o.external && strcmp(o.external, "always") == 0) return IG_ONNX_EXTERNAL_ALWAYS;
  return IG_ONNX_EXTERNAL_AUTO;
}

// ONNX is converted to ONNX node by node, so that every model can be converted.
static int save_onnx(const char *path, void *user) {
  const job *j = user;
  const ig_onnx_model *onnx = ig_model_program(j->from) ? NULL : ig_model_onnx(j->from);
  if (onnx) {
    ig_status done = ig_onnx_convert(j->c, onnx, (int)o.opset, external(), path, NULL);
    return done == IG_OK ? CLI_OK : cli_fail(j->c, path, CLI_REFUSED);
  }
  ig_onnx_options options = {.size = sizeof options, .opset = (int)o.opset, .external = external()};
  ig_status st = ig_program_convert_onnx(j->c, program_of(j), &options, path, NULL);
  return st == IG_OK ? CLI_OK : cli_fail(j->c, path, CLI_REFUSED);
}

// All tensors by name; the extension selects the format, and metadata is kept where the format has
// it.
static int save_weights(const char *path, void *user) {
  const job *j = user;
  const ig_model_weight *const *weights = NULL;
  const ig_model_fact *const *facts = NULL;
  size_t n = ig_model_weights(j->from, &weights);
  size_t nfacts = ig_model_facts(j->from, &facts);
  ig_weight *list = calloc(n + 1, sizeof *list);
  ig_text_pair *pairs = calloc(nfacts + 1, sizeof *pairs);
  if (!list || !pairs) {
    free(list);
    free(pairs);
    return cli_no_memory();
  }
  ig_tensor_list out = {.at = list, .n = n, .metadata = pairs};
  for (size_t i = 0; i < n; i++) {
    list[i] = (ig_weight){weights[i]->name, weights[i]->tensor, weights[i]->texts};
  }
  for (size_t i = 0; i < nfacts; i++) {
    if (facts[i]->group != IG_FACT_METADATA) continue;
    pairs[out.n_metadata++] = (ig_text_pair){facts[i]->name, facts[i]->value};
  }
  bool npz = strcmp(j->target->word, "npz") == 0;
  ig_status st = npz ? ig_tensors_write_bits(j->c, path, &out) : ig_tensors_write(j->c, path, &out);
  free(list);
  free(pairs);
  return st == IG_OK ? CLI_OK : cli_fail(j->c, path, CLI_FAILED);
}

// What can be written, by extension.
static const target targets[] = {
    {"pt2", ".pt2", true, save_pt2},
    {"onnx", ".onnx", true, save_onnx},
    {"safetensors", ".safetensors", false, save_weights},
    {"torch", ".pt", false, save_weights},
    {"npz", ".npz", false, save_weights},
};
enum { NTARGETS = sizeof targets / sizeof *targets };

static const target *find_target(const char *path) {
  for (size_t i = 0; i < NTARGETS; i++) {
    if (o.to ? strcmp(o.to, targets[i].word) == 0 : cli_has_suffix(path, targets[i].suffix)) {
      return &targets[i];
    }
  }
  return NULL;
}

static int no_target(const char *path) {
  const char *words[NTARGETS];
  for (size_t i = 0; i < NTARGETS; i++) words[i] = targets[i].word;
  const char *near = o.to ? cli_nearest(o.to, words, NTARGETS) : NULL;
  char list[256] = "";
  for (size_t i = 0; i < NTARGETS; i++) {
    size_t n = strlen(list);
    (void)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "",
                   o.to ? targets[i].word : targets[i].suffix);
  }
  if (o.to) {
    return cli_usage(&cli_convert, "--to: '%s' is not one of %s%s%s%s", o.to, list,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
  return cli_usage(&cli_convert, "%s: the name must end in one of %s, or --to must name the format",
                   path, list);
}

// ---- the self-check

static int compare_weights(ig_ctx *c, const ig_model *a, const ig_model *b, bool *agrees) {
  const ig_model_weight *const *x = NULL;
  const ig_model_weight *const *y = NULL;
  size_t n = ig_model_weights(a, &x);
  size_t m = ig_model_weights(b, &y);
  *agrees = n == m;
  for (size_t i = 0; i < n && *agrees; i++) {
    size_t k = i < m && strcmp(y[i]->name, x[i]->name) == 0 ? i : 0;
    while (k < m && strcmp(y[k]->name, x[i]->name) != 0) k++;
    ig_tensor_diff d = {0};
    ig_scope s = ig_scope_open(c);
    if (k < m && (x[i]->texts || y[k]->texts)) {
      cli_compare_texts(y[k]->texts, x[i]->texts, &d);
    } else if (k < m) {
      cli_compare(c, x[i]->tensor, y[k]->tensor, &(ig_tolerance){0, 0}, &d);
    }
    ig_scope_close(c, s);
    *agrees = d.agrees;
    if (!d.agrees) cli_print_diff(stderr, x[i]->name, &d);
  }
  if (ig_ctx_status(c) != IG_OK) return cli_fail(c, ig_model_name(b), CLI_FAILED);
  if (*agrees) cli_put(stderr, CLI_PLAIN, "  %zu tensors are the same\n", n);
  return CLI_OK;
}

// Output `number` among the user's outputs, or among all.
static const ig_value *output(const ig_model *m, const ig_session *s, size_t number, bool every) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    if ((every || ports[i]->role == IG_PORT_USER) && number-- == 0) {
      return ig_session_output_at(s, i);
    }
  }
  return NULL;
}

static void compare_outputs(ig_ctx *c, const ig_model *a, const ig_session *x, const ig_model *b,
                            const ig_session *y, bool *agrees) {
  // In a format without state, new values of buffers are outputs.
  const ig_model_port *const *ports = NULL;
  bool every = ig_model_outputs(a, &ports) == ig_model_outputs(b, &ports);
  *agrees = true;
  for (size_t i = 0;; i++) {
    const ig_value *v = output(a, x, i, every);
    const ig_value *w = output(b, y, i, every);
    if (!v) break;
    bool texts = cli_is_texts(v);
    if (v->kind != IG_KIND_TENSOR && !texts) continue;
    ig_tensor_diff d = {.why = "the copy has no such output"};
    char name[32];
    (void)snprintf(name, sizeof name, "out%zu", i);
    ig_scope s = ig_scope_open(c);
    if (w && texts) {
      cli_compare_texts(w, v, &d);
    } else if (w && w->kind == IG_KIND_TENSOR) {
      cli_compare(c, w->tensor, v->tensor, &o.tolerance, &d);
    }
    ig_scope_close(c, s);
    cli_print_diff(stderr, name, &d);
    *agrees = *agrees && d.agrees;
  }
}

// Random inputs may be invalid for a data-dependent program: then nothing is compared.
static int not_run(ig_ctx *c, const ig_model *a, bool *agrees) {
  ig_status st = ig_ctx_status(c);
  bool stopped = st == IG_NOMEM || st == IG_LIMIT || st == IG_CANCELLED;
  if (stopped || o.feed.arrays || o.feed.single.n) return cli_fail(c, ig_model_name(a), CLI_FAILED);
  cli_warn("not compared: %s does not run on random inputs (%s); give some with --inputs",
           ig_model_name(a), ig_ctx_error(c));
  ig_ctx_clear(c);
  *agrees = true;
  return CLI_OK;
}

static int compare_runs(ig_ctx *c, ig_model *a, ig_model *b, bool *agrees, bool *compared) {
  ig_session *x = NULL;
  ig_session *y = NULL;
  int code = CLI_OK;
  if (ig_session_create(c, a, &x) != IG_OK || ig_session_create(c, b, &y) != IG_OK) {
    code = cli_fail(c, ig_model_name(b), CLI_REFUSED);
  }
  if (code == CLI_OK) code = cli_feed_session(c, a, x, &o.feed);
  if (code == CLI_OK && ig_session_run(x) != IG_OK) {
    *compared = false;
    code = not_run(c, a, agrees);
  } else if (code == CLI_OK &&
             (ig_session_copy_inputs(x, y) != IG_OK || ig_session_run(y) != IG_OK)) {
    code = cli_fail(c, ig_model_name(b), CLI_FAILED);
  } else if (code == CLI_OK) {
    compare_outputs(c, a, x, b, y, agrees);
    if (ig_ctx_status(c) != IG_OK) code = cli_fail(c, ig_model_name(b), CLI_FAILED);
  }
  ig_session_free(x);
  ig_session_free(y);
  return code;
}

// The copy at `path`, before it becomes the one at `to`.
static int self_check(const job *j, const char *path, const char *to) {
  ig_model *copy = NULL;
  bool agrees = false;
  int code = cli_open(j->c, path, CLI_INSPECT, &copy);
  if (code != CLI_OK) return code;
  const ig_model_finding *const *findings = NULL;
  if (ig_model_findings(copy, &findings) && findings[0]->code == IG_UNSUPPORTED) {
    cli_warn("%s: not checked: %s", path, findings[0]->text);
    ig_model_free(copy);
    return CLI_OK;
  }
  bool runs = j->target->program;
  bool compared = true;
  cli_stage("comparing", 0, "MB");
  code = runs ? compare_runs(j->c, j->from, copy, &agrees, &compared)
              : compare_weights(j->c, j->from, copy, &agrees);
  cli_stage_end();
  ig_model_free(copy);
  if (code == CLI_OK && !agrees) {
    return cli_error(CLI_DIFFERS, "%s: disagrees with %s and was not written; please report this",
                     path, ig_model_name(j->from));
  }
  if (code == CLI_OK && compared) {
    cli_put(stderr, CLI_PLAIN, "%s: checked against %s\n", to, ig_model_name(j->from));
  }
  return code;
}

static bool to_onnx(const job *j) {
  return j->target->save == save_onnx;
}

// An operator that the opset lacks may still be expressible after decomposition to ATen.
static int open_program(job *j, const char *file) {
  if (!to_onnx(j) || !ig_model_onnx(j->from) || strcmp(file, "-") == 0) return CLI_OK;
  if (ig_onnx_convert(j->c, ig_model_onnx(j->from), (int)o.opset, IG_ONNX_EXTERNAL_NEVER, NULL,
                      NULL) != IG_UNSUPPORTED) {
    ig_ctx_clear(j->c);
    return CLI_OK;
  }
  ig_model *again = NULL;
  char why[400];
  (void)snprintf(why, sizeof why, "%s", ig_ctx_error(j->c));
  ig_ctx_clear(j->c);
  int code = cli_open(j->c, file, CLI_PROGRAM, &again);
  if (code != CLI_OK) return code;
  if (ig_model_program(again)) {
    cli_warn("converted via a program: %s", why);
    ig_model_free(j->from);
    j->from = again;
    return CLI_OK;
  }
  ig_model_free(again);
  return CLI_OK;
}

// TorchScript code becomes a program by running it on the inputs that were given.
static int capture(job *j) {
  ig_session *s = NULL;
  int code = CLI_OK;
  if (ig_session_create(j->c, j->from, &s) != IG_OK) {
    code = cli_fail(j->c, ig_model_name(j->from), CLI_REFUSED);
  }
  if (code == CLI_OK) code = cli_feed_session(j->c, j->from, s, &o.feed);
  if (code == CLI_OK && ig_session_export(s, &j->captured) != IG_OK) {
    code = cli_fail(j->c, ig_model_name(j->from), CLI_FAILED);
  }
  ig_session_free(s);
  return code;
}

static int convert(job *j, const char *to) {
  bool whole = to_onnx(j) && ig_model_onnx(j->from);
  bool script = ig_model_get_kind(j->from) == IG_MODEL_TORCHSCRIPT;
  if (j->target->program && script) {
    int captured = capture(j);
    if (captured != CLI_OK) return captured;
  }
  if (j->target->program && !whole && !program_of(j)) return cli_no_program(j->from);
  if (strcmp(to, "-") == 0) return cli_to_stdout(j->target->suffix, j->target->save, j);
  cli_staged out;
  int code = cli_staged_open(to, &out);
  if (code != CLI_OK) return code;
  cli_stage("writing", ig_model_file_bytes(j->from), "MB");
  code = j->target->save(out.files.path, j);
  cli_stage_end();
  if (code == CLI_OK && !o.no_check) code = self_check(j, out.files.path, to);
  if (code == CLI_OK) code = cli_staged_keep(&out);
  cli_staged_drop(&out);
  return code;
}

// ---- --dtype

static int apply_dtype(ig_ctx *c, ig_edit *edit, void *user) {
  cli_edit *e = user;
  cli_runs runs = {0};
  ig_dtype_options d = {.size = sizeof d,
                        .dtype = strcmp(o.dtype, "float16") == 0 ? IG_F16 : IG_BF16,
                        .convert_io = o.convert_io,
                        .keep = o.keep.at,
                        .nkeep = o.keep.n};
  int code = CLI_OK;
  if (o.feed.arrays) code = cli_load_runs(c, ig_edit_model(edit), o.feed.arrays, &runs);
  d.runs = runs.at;
  d.nruns = runs.n;
  if (runs.n > 1) e->feed.arrays = NULL;  // several runs at once are no inputs of one
  if (code == CLI_OK && ig_edit_dtype(edit, &d) != IG_OK) code = cli_fail(c, e->from, CLI_REFUSED);
  cli_free_runs(&runs);
  return code;
}

// float32 as a narrower type: an edit of the ONNX model.
static int convert_dtype(ig_ctx *c, const char *const *files) {
  bool half = strcmp(o.dtype, "float16") == 0;
  if (!half && strcmp(o.dtype, "bfloat16") != 0) {
    return cli_usage(&cli_convert, "--dtype: '%s' is not one of float16, bfloat16", o.dtype);
  }
  if (o.opset) return cli_usage(&cli_convert, "--dtype and --opset: one after the other");
  cli_edit e = {.from = files[0],
                .to = files[1],
                .apply = apply_dtype,
                .no_check = o.no_check,
                .loss = half ? 0.02 : 0.1,
                .feed = o.feed,
                .external = external(),
                .tolerance = o.tolerance};
  e.user = &e;
  return cli_edit_run(c, &e);
}

static int run(ig_ctx *c, const char *const *files) {
  static const char *const words[] = {"auto", "never", "always"};
  job j = {.c = c, .target = find_target(files[1])};
  if (!j.target) return no_target(files[1]);
  if (layout_for(o.torch) < 0) {
    return cli_usage(&cli_convert, "--for-torch: '%s' is not a release from 2.5 on", o.torch);
  }
  bool known = !o.external;
  for (size_t i = 0; i < 3 && !known; i++) known = strcmp(o.external, words[i]) == 0;
  if (!known) {
    return cli_usage(&cli_convert, "--external: '%s' is not one of auto, never, always",
                     o.external);
  }
  if (o.dtype) return convert_dtype(c, files);
  o.feed.fallback = true;
  bool program = j.target->program && !to_onnx(&j);
  int code = cli_open(c, files[0], program ? CLI_PROGRAM : 0, &j.from);
  if (code == CLI_OK) code = open_program(&j, files[0]);
  if (code == CLI_OK) code = convert(&j, files[1]);
  ig_program_free(j.captured);
  ig_model_free(j.from);
  return code;
}

static const cli_option options[] = {
    {"--to", NULL, "KIND", CLI_TEXT, &o.to,
     "pt2, onnx, safetensors, torch, npz (default: by the\nextension of OUT)"},
    {"--for-torch", NULL, "RELEASE", CLI_TEXT, &o.torch,
     "the PyTorch release that will read the .pt2: 2.5, 2.6, 2.7\n(default: 2.8 and newer)"},
    {"--opset", NULL, "N", CLI_INT, &o.opset,
     "ONNX opset, 7 to 28 (default 18); an ONNX file is converted node\nby node (default: its "
     "own)"},
    {"--external", NULL, "WHEN", CLI_TEXT, &o.external,
     "store ONNX weights in a separate file: auto (default: if the\nmodel would exceed 2 GiB), "
     "never, "
     "always"},
    {"--dtype", NULL, "TYPE", CLI_TEXT, &o.dtype,
     "of an ONNX model: float32 as float16 or bfloat16, where operators\nand numbers allow it; "
     "inputs that are given show what overflows"},
    {"--keep", NULL, "NAME", CLI_TEXTS, &o.keep,
     "with --dtype, a node, operator or module that stays float32; *\nstands for any text; may be "
     "given several times"},
    {"--convert-io", NULL, NULL, CLI_SWITCH, &o.convert_io,
     "with --dtype, inputs and outputs too (default: they stay float32)"},
    {"--no-check", NULL, NULL, CLI_SWITCH, &o.no_check, "do not read the copy back and compare"},
    CLI_FEED_OPTIONS(o.feed),
    {"--rtol", NULL, "X", CLI_REAL, &o.tolerance.rtol, "relative tolerance of the check"},
    {"--atol", NULL, "X", CLI_REAL, &o.tolerance.atol, "absolute tolerance of the check"},
};
static const cli_example examples[] = {
    {"ingot convert model.pt2 model.onnx", "a program for ONNX Runtime"},
    {"ingot convert model.pt2 weights.npz", "its weights alone"},
    {"ingot convert model.ts.pt model.pt2 -i io.npz", "TorchScript code, captured on these inputs"},
    {"ingot convert model.onnx older.onnx --opset 13", "for an older ONNX Runtime"},
    {"ingot convert model.onnx half.onnx --dtype float16", "weights and arithmetic of 16 bits"},
    {"ingot convert model.pt2 - --to onnx > model.onnx", "to stdout, not checked"},
};
const cli_command cli_convert = {
    .name = "convert",
    .arguments = "FILE OUT [--to KIND] [--no-check] [OPTIONS]",
    .summary = "write a file in another format, and check the copy",
    .details =
        "Writes a program or its weights in another format. The copy is read back, run on the\n"
        "same inputs (random ones, if none are given) and compared; exit code 1 if it disagrees.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 2,
    .run = run,
};
