// SPDX-License-Identifier: Apache-2.0
// ingot run: a model on arrays.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"
#include "cli/nan.h"
#include "ingot/threads.h"

enum { SHOWN = 6 };  // elements printed of a result

static struct {
  cli_feed feed;
  const char *output;
  const char *check;
  const char *dump;
  cli_texts rtol;
  cli_texts atol;
  long threads;
  bool json;
  bool nan;
} o;

static ig_tolerance tolerances[IG_DTYPE_COUNT];

// ---- intermediate values

typedef struct watcher {
  ig_ctx *c;
  FILE *index;
  cli_staged staged;  // the index
  char path[1024];
  uint64_t n;
  int code;
  cli_nan *nan;  // NULL: not asked for
} watcher;

static void dump_tensor(watcher *w, const char *name, const char *target, ig_tensor *t) {
  char path[1024];
  char file[300];
  char text[256];
  ig_value v = ig_of_tensor(t);
  (void)snprintf(file, sizeof file, "%05" PRIu64 "_%.200s.npy", w->n, name);
  for (char *s = file; *s; s++) {
    if (*s == '/' || (unsigned char)*s < ' ' || *s == 0x7f) *s = '_';
  }
  (void)snprintf(path, sizeof path, "%.600s/%s", o.dump, file);
  ig_scope s = ig_scope_open(w->c);
  w->code = cli_save_npy(w->c, path, t);
  ig_scope_close(w->c, s);
  cli_put(w->index, CLI_PLAIN, "%s\t%s\t%s\t%s\n", file, name, target,
          cli_describe(&v, text, sizeof text));
}

static void dump_value(watcher *w, const char *name, const char *target, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    dump_tensor(w, name, target, v->tensor);
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n && w->code == CLI_OK; i++) {
      char item[256];
      (void)snprintf(item, sizeof item, "%.200s.%zu", name, i);
      dump_value(w, item, target, &v->list.at[i]);
    }
  } else {
    char text[256];
    cli_put(w->index, CLI_PLAIN, "-\t%s\t%s\t%s\n", name, target,
            cli_describe(v, text, sizeof text));
  }
}

static void watch(void *user, const char *name, const char *target, const ig_value *value) {
  watcher *w = user;
  w->n++;
  cli_step(w->n);
  bool item = strcmp(target, "_operator.getitem") == 0;  // its list has already been written
  if (w->index && w->code == CLI_OK && !item) dump_value(w, name, target, value);
  if (w->nan) cli_nan_watch(w->nan, name, target, value);
}

static int open_dump(watcher *w) {
  (void)snprintf(w->path, sizeof w->path, "%.600s/index.tsv", o.dump);
  ig_host_folder(o.dump);
  int code = cli_staged_open(w->path, &w->staged);
  if (code != CLI_OK) return code;
  w->index = fopen(w->staged.files.path, "w");
  if (!w->index) {
    cli_staged_drop(&w->staged);
    return cli_error(CLI_IO, "%s: cannot be written; is %s a folder?", w->path, o.dump);
  }
  cli_put(w->index, CLI_PLAIN, "file\tname\toperator\tvalue\n");
  return CLI_OK;
}

static int execute(ig_ctx *c, const ig_model *m, ig_session *s, cli_nan *nan) {
  watcher w = {.c = c, .nan = nan};
  ig_program *p = ig_model_runnable(m);
  if (o.dump) {
    int code = open_dump(&w);
    if (code != CLI_OK) return code;
  }
  cli_stage("running", p ? ig_graph_node_count(ig_program_graph(p)) : 0, "nodes");
  // Watching values needs all of them, one by one, so that the run is interpreted.
  if (o.dump || nan) ig_session_watch(s, watch, &w);
  ig_status st = ig_session_run(s);
  ig_session_watch(s, NULL, NULL);
  cli_stage_end();
  if (w.index && fclose(w.index) != 0 && w.code == CLI_OK) {
    w.code = cli_error(CLI_IO, "%s: the list of values could not be written", o.dump);
  }
  if (w.index && w.code == CLI_OK) w.code = cli_staged_keep(&w.staged);
  cli_staged_drop(&w.staged);
  if (w.code != CLI_OK) return w.code;
  return st == IG_OK ? CLI_OK : cli_fail(c, ig_model_name(m), CLI_FAILED);
}

// ---- results

static void print_texts(const ig_value *v) {
  const char *texts[SHOWN];
  size_t n = ig_texts_read(v, texts, SHOWN);
  for (size_t i = 0; i < n && i < SHOWN; i++) cli_out("%s'%s'", i ? " " : "  ", texts[i]);
  if (n > SHOWN) cli_out(" ...");
}

static void print_result(const char *name, const ig_value *v) {
  char text[512];
  cli_out("  ");
  cli_put(stdout, CLI_CYAN, "%-24s", name);
  cli_out(" %s", cli_describe(v, text, sizeof text));
  if (v->kind == IG_KIND_LIST && cli_is_texts(v)) print_texts(v);
  if (v->kind == IG_KIND_TENSOR) {
    int64_t n = ig_tensor_numel(v->tensor);
    for (int64_t i = 0; i < n && i < SHOWN; i++) {
      cli_out("%s%.9g", i ? " " : "  ", ig_tensor_get(v->tensor, i));
    }
    if (n > SHOWN) cli_out(" ...");
  }
  cli_out("\n");
}

static void json_result(const char *name, const ig_model_port *p, const ig_value *v) {
  static const char *const roles[] = {"user", "buffer", "input", "gradient", "token"};
  bool tensor = v->kind == IG_KIND_TENSOR;
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  bool texts = p->texts && ig_texts_measure(v, sizes, &ndim);
  char text[512];
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(name);
  cli_json_key("role");
  cli_json_str(roles[p->role]);
  cli_json_key("dtype");
  cli_json_str(tensor ? ig_dtype_text(ig_tensor_dtype(v->tensor)) : texts ? "string" : NULL);
  if (tensor) ndim = ig_tensor_ndim(v->tensor);
  if (tensor || texts) {
    cli_json_key("shape");
    cli_json_open('[');
    for (int d = 0; d < ndim; d++) {
      cli_json_int(texts ? sizes[d] : ig_tensor_size(v->tensor, d).value);
    }
    cli_json_close(']');
  } else {
    cli_json_key("value");
    cli_json_str(cli_describe(v, text, sizeof text));
  }
  cli_json_close('}');
}

static void show_results(const ig_model *m, const ig_session *s) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(m, &ports);
  if (o.json) {
    cli_json_key("outputs");
    cli_json_open('[');
  }
  for (size_t i = 0; i < n; i++) {
    char name[300];
    (void)cli_output_name(m, i, name, sizeof name);
    if (o.json) {
      json_result(name, ports[i], ig_session_output_at(s, i));
    } else {
      print_result(name, ig_session_output_at(s, i));
    }
  }
  if (o.json) cli_json_close(']');
}

static int save_results(ig_ctx *c, const ig_model *m, const ig_session *s) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(m, &ports);
  ig_weight *list = calloc(n + 1, sizeof *list);
  char(*names)[300] = calloc(n + 1, sizeof *names);
  size_t count = 0;
  int code = list && names ? CLI_OK : cli_no_memory();
  for (size_t i = 0; list && names && i < n; i++) {
    const ig_value *v = ig_session_output_at(s, i);
    const ig_value *texts = v && ports[i]->texts && v->kind != IG_KIND_NONE ? v : NULL;
    ig_tensor *t = v && !texts ? cli_as_tensor(c, v, IG_DTYPE_COUNT) : NULL;
    if (!t && !texts) continue;
    const char *name = cli_output_name(m, i, names[count], sizeof *names);
    list[count++] = (ig_weight){name, t, texts};
  }
  if (list && code == CLI_OK) code = cli_save_arrays(c, o.output, list, count);
  free(names);
  free(list);
  return code;
}

// ---- checking

static void report(const char *name, const ig_tensor_diff *d) {
  if (o.json) {
    cli_json_diff(name, d, NULL);
  } else {
    cli_print_diff(stdout, name, d);
  }
}

static int by_order(const ig_model *m, size_t wanted) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    if (ports[i]->role == IG_PORT_USER && ig_port_is_array(ports[i]) && wanted-- == 0) {
      return (int)i;
    }
  }
  return -1;
}

static bool check_one(ig_ctx *c, const ig_session *s, int k, const ig_weight *want) {
  ig_tensor_diff d = {0};
  const ig_value *v = k < 0 ? NULL : ig_session_output_at(s, (size_t)k);
  ig_scope scope = ig_scope_open(c);
  bool numbers = v && want->tensor;
  ig_tensor *got = numbers ? cli_as_tensor(c, v, ig_tensor_dtype(want->tensor)) : NULL;
  if (v && want->texts) {
    cli_compare_texts(cli_is_texts(v) ? v : NULL, want->texts, &d);
  } else if (got) {
    cli_compare(c, got, want->tensor, &tolerances[ig_tensor_dtype(got)], &d);
  } else {
    (void)snprintf(d.why, sizeof d.why, "the model has no such output");
  }
  ig_scope_close(c, scope);
  report(want->name, &d);
  return d.agrees;
}

static int check_arrays(ig_ctx *c, const ig_model *m, const ig_session *s, const cli_arrays *a) {
  size_t named = 0;
  for (size_t i = 0; i < a->n; i++) {
    const char *name = a->list[i].name;
    named += ig_model_find_output(m, name) >= 0 || cli_is_golden_name(name);
  }
  bool agrees = true;
  ig_model_kind kind = ig_model_get_kind(m);
  const char *stateless = ig_model_onnx(m)               ? "ONNX has no state"
                          : kind == IG_MODEL_TORCHSCRIPT ? "buffers are no outputs of an archive"
                                                         : NULL;
  size_t checked = 0;
  if (o.json) {
    cli_json_key("checks");
    cli_json_open('[');
  }
  for (size_t i = 0; i < a->n; i++) {
    int k = named ? ig_model_find_output(m, a->list[i].name) : by_order(m, i);
    if (k < 0 && ig_model_find_input(m, a->list[i].name) >= 0) continue;
    if (k < 0 && stateless && strncmp(a->list[i].name, "mut_", 4) == 0) {
      cli_warn("%s: not checked: %s", a->list[i].name, stateless);
      continue;
    }
    agrees = check_one(c, s, k, &a->list[i]) && agrees;
    checked++;
  }
  if (o.json) {
    cli_json_close(']');
    cli_json_key("agrees");
    cli_json_bool(agrees && checked);
  }
  if (checked == 0) return cli_error(CLI_DIFFERS, "%s: contains nothing to compare with", o.check);
  if (!agrees) return cli_error(CLI_DIFFERS, "%s and %s disagree", ig_model_name(m), o.check);
  return CLI_OK;
}

static int check_results(ig_ctx *c, const ig_model *m, const ig_session *s) {
  cli_arrays a;
  int code = cli_load_arrays(c, o.check, &a);
  if (code == CLI_OK) code = check_arrays(c, m, s, &a);
  cli_free_arrays(&a);
  return code;
}

static int finish(ig_ctx *c, const ig_model *m, const ig_session *s, const cli_nan *nan) {
  bool to_stdout = o.output && strcmp(o.output, "-") == 0;
  int code = o.output ? save_results(c, m, s) : CLI_OK;
  if (code != CLI_OK || to_stdout) return code;
  if (o.json) {
    cli_json_open('{');
    cli_json_key("file");
    cli_json_str(ig_model_name(m));
  }
  if (!o.check || o.json) show_results(m, s);
  if (o.check) code = check_results(c, m, s);
  if (nan) {
    int found = cli_nan_report(nan, o.json);
    code = found > code ? found : code;
  }
  if (o.json) {
    cli_json_close('}');
    cli_json_end();
  }
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  ig_session *s = NULL;
  cli_nan *nan = NULL;
  if (o.threads) ig_threads_set((int)o.threads);
  int code = cli_tolerances(&cli_run, &o.rtol, &o.atol, tolerances);
  if (code == CLI_OK) code = cli_open(c, files[0], o.dump || o.nan ? CLI_PROGRAM : 0, &m);
  if (code != CLI_OK) return code;
  if (ig_session_create(c, m, &s) != IG_OK) code = cli_fail(c, ig_model_name(m), CLI_REFUSED);
  if (code == CLI_OK) code = cli_feed_session(c, m, s, &o.feed);
  if (code == CLI_OK && o.nan && !(nan = cli_nan_begin(c, m, s))) code = cli_no_memory();
  if (code == CLI_OK) code = execute(c, m, s, nan);
  if (code == CLI_OK) code = finish(c, m, s, nan);
  cli_nan_free(nan);
  ig_session_free(s);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    CLI_FEED_OPTIONS(o.feed),
    {"--output", "-o", "FILE", CLI_TEXT, &o.output,
     "write the complete results: .npz, .npy, .safetensors, .pt; - is\nstdout (.npz)"},
    {"--check", "-c", "FILE", CLI_TEXT, &o.check,
     "compare with these arrays; exit code 1 if they differ"},
    CLI_TOLERANCE_OPTIONS(o.rtol, o.atol, " of --check"),
    {"--dump-all", NULL, "DIR", CLI_TEXT, &o.dump,
     "write every intermediate value as .npy, listed in DIR/index.tsv"},
    {"--debug-nan", NULL, NULL, CLI_SWITCH, &o.nan,
     "find the first NaN, and the first infinity that comes from\nfinite numbers; exit code 1"},
    {"--threads", "-t", "N", CLI_INT, &o.threads, "threads to use (default: all processors)"},
    {"--json", NULL, NULL, CLI_SWITCH, &o.json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot run m.pt2 --inputs x.npz --output y.npz", "arrays in, arrays out"},
    {"ingot run m.pt2 --input x=x.npy --input mask=m.npy", "inputs one by one"},
    {"ingot run m.pt2 --inputs m.io.npz --check m.io.npz",
     "one file with arg0.. and out0.., mut_arg0.., mut_buf.NAME"},
    {"ingot run m.pt2 --random --dump-all values", "every intermediate value"},
    {"ingot run m.pt2 --inputs x.npz --debug-nan", "where numbers stop being finite"},
};
const cli_command cli_run = {
    .name = "run",
    .arguments = "FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]",
    .summary = "run a model on arrays; compare the results, dump every value",
    .details =
        "Runs a model and prints a summary of each result; --output writes the results. "
        "Buffers\n"
        "and inputs that the model writes are results too: mut_buf.NAME and mut_argN. bfloat16 "
        "is\n"
        "read and written as uint16 where a format lacks it.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
