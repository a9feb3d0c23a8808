// SPDX-License-Identifier: Apache-2.0
// ingot view: a page or picture of a model.
#include "ingot/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/serve.h"
#include "cli/feed.h"
#include "ingot/trace.h"

static struct {
  cli_feed feed;
  const char *target;
  const char *profile;
  cli_texts rtol;
  cli_texts atol;
  bool svg;
  bool dot;
  bool no_stats;
  bool serve;
  long depth;
} o;

static void tell(void *user, uint64_t done, uint64_t total) {
  (void)user;
  if (done == 0) cli_stage("statistics", total, "weights");
  cli_step(done);
}

// The name of the model in the current folder, with another extension.
static int default_target(const char *file, const char *suffix, char *path, size_t cap) {
  const char *slash = strrchr(file, '/');
  const char *base = strcmp(file, "-") == 0 ? "model" : slash ? slash + 1 : file;
  int n = snprintf(path, cap, "%s%s", base, suffix);
  if (n > 0 && (size_t)n < cap) return CLI_OK;
  return cli_error(CLI_USAGE, "%s: the name is too long; --output names the page", file);
}

static const char *ending(void) {
  return o.svg ? ".svg" : o.dot ? ".dot" : ".html";
}

static int keep(const char *file, const char *text) {
  char path[4096];
  int code = CLI_OK;
  if (!o.target) code = default_target(file, ending(), path, sizeof path);
  return code == CLI_OK ? cli_save_text(o.target ? o.target : path, text) : code;
}

// ---- texts: profiles and reports

// The text of a file; free.
static int read_text(const char *path, char **out, size_t *n) {
  FILE *from = fopen(path, "rb");
  size_t cap = 1 << 16;
  char *text = from ? malloc(cap) : NULL;
  size_t got = 0;
  *out = NULL;
  while (text && (got += fread(text + got, 1, cap - 1 - got, from)) == cap - 1) {
    char *more = cli_array(text, cap, 2);
    if (!more) free(text);
    text = more;
    cap *= 2;
  }
  int code = !from          ? cli_error(CLI_IO, "%s: %s", path, strerror(errno))
             : !text        ? cli_no_memory()
             : ferror(from) ? cli_error(CLI_IO, "%s: %s", path, strerror(errno))
                            : CLI_OK;
  if (from) (void)fclose(from);
  if (!text || code != CLI_OK) {
    free(text);
    return code;
  }
  text[got] = 0;
  *out = text;
  *n = got;
  return CLI_OK;
}

// No model begins with a brace; reports of drafts do.
static bool is_report(const char *path) {
  FILE *from = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
  int first = from ? fgetc(from) : EOF;
  while (first == ' ' || first == '\n' || first == '\r' || first == '\t') first = fgetc(from);
  if (from) (void)fclose(from);
  return first == '{';
}

static int show_report(ig_ctx *c, const char *file) {
  char *text = NULL;
  size_t n = 0;
  if (o.svg || o.dot || o.serve) {
    return cli_usage(&cli_view, "%s is the report of a draft, which becomes a page alone", file);
  }
  int code = read_text(file, &text, &n);
  if (code != CLI_OK) return code;
  char *page = ig_report_view(c, file, text, n);
  code = page ? keep(file, page) : cli_fail(c, file, CLI_REFUSED);
  ig_text_free(c, page);
  free(text);
  return code;
}

// ---- where two models begin to differ

typedef struct numbers {
  ig_run_trace *a;
  ig_run_trace *b;
  char text[400];
  ig_run_trace_value x;
  ig_run_trace_value y;
  bool found;
} numbers;

static int run_sides(ig_ctx *c, ig_model *const m[2], ig_session *s[2], numbers *d) {
  ig_run_trace **traces[2] = {&d->a, &d->b};
  int code = CLI_OK;
  for (int i = 0; i < 2 && code == CLI_OK; i++) {
    if (ig_session_create(c, m[i], &s[i]) != IG_OK)
      code = cli_fail(c, ig_model_name(m[i]), CLI_FAILED);
    if (code == CLI_OK && i == 0) code = cli_feed_session(c, m[0], s[0], &o.feed);
    bool ok = code == CLI_OK && (i == 0 || ig_session_copy_inputs(s[0], s[1]) == IG_OK) &&
              ig_run_trace_take(c, m[i], s[i], false, traces[i]) == IG_OK;
    if (code == CLI_OK && !ok) code = cli_fail(c, ig_model_name(m[i]), CLI_FAILED);
  }
  return code;
}

static int find_first(ig_ctx *c, ig_model *const m[2], numbers *d) {
  static ig_tolerance tolerances[IG_DTYPE_COUNT];
  ig_session *s[2] = {NULL, NULL};
  ig_divergence at;
  int code = cli_tolerances(&cli_view, &o.rtol, &o.atol, tolerances);
  if (code == CLI_OK) code = run_sides(c, m, s, d);
  if (code == CLI_OK && ig_run_trace_compare(c, d->a, d->b, tolerances, &at) != IG_OK) {
    code = cli_fail(c, ig_model_name(m[0]), CLI_FAILED);
  }
  if (code == CLI_OK) {
    d->found = at.found && ig_run_trace_at(d->a, (size_t)at.first.a, &d->x);
    d->y.name = NULL;
    if (at.first.b >= 0) (void)ig_run_trace_at(d->b, (size_t)at.first.b, &d->y);
    (void)snprintf(d->text, sizeof d->text, "%zu of %zu values agree", at.agree, at.values);
  }
  if (code == CLI_OK && d->found) {
    const ig_tensor_diff *x = &at.first.diff;
    (void)snprintf(d->text, sizeof d->text,
                   "%zu of %zu values agree\nfirst difference: %.100s\nmax abs %.3g, max rel %.3g, "
                   "max ulp %.3g, %lld of %lld elements",
                   at.agree, at.values, d->x.name, x->max_abs, x->max_rel, x->max_ulp,
                   (long long)x->bad, (long long)x->n);
  }
  ig_session_free(s[0]);
  ig_session_free(s[1]);
  return code;
}

// ---- serving

typedef struct parts {
  char *page;
  size_t page_n;
  struct {
    char *text;
    size_t n;
  } * at;
  size_t n;
  size_t cap;
  bool failed;
} parts;

static void add_part(void *user, const char *text, size_t n) {
  parts *p = user;
  if (p->n == p->cap) {
    size_t cap = p->cap ? 2 * p->cap : 16;
    void *more = cli_array(p->at, cap, sizeof *p->at);
    p->failed = p->failed || !more;
    if (!more) return;
    p->at = more;
    p->cap = cap;
  }
  char *copy = malloc(n + 1);
  p->failed = p->failed || !copy;
  if (!copy) return;
  memcpy(copy, text, n);
  copy[n] = 0;
  p->at[p->n].text = copy;
  p->at[p->n++].n = n;
}

static bool give(void *user, const char *path, ig_served *out) {
  const parts *p = user;
  if (!path[0]) {
    *out = (ig_served){.type = "text/html; charset=utf-8", .data = p->page, .n = p->page_n};
    return true;
  }
  char *end = NULL;
  bool digits = strncmp(path, "part/", 5) == 0 && path[5] >= '0' && path[5] <= '9';
  unsigned long i = digits ? strtoul(path + 5, &end, 10) : 0;
  if (!digits || *end || i >= p->n) return false;
  *out = (ig_served){.type = "application/json",
                     .policy = "default-src 'none'",
                     .data = p->at[i].text,
                     .n = p->at[i].n};
  return true;
}

static bool stopped(void *user) {
  (void)user;
  return cli_interrupted();
}

static int serve(parts *p) {
  ig_server *s = NULL;
  int error = ig_server_open(&s);
  if (error) return cli_error(CLI_IO, "a server on 127.0.0.1: %s", strerror(error));
  cli_out("%s\n", ig_server_address(s));
  (void)fflush(stdout);
  if (ig_host_is_terminal(stderr)) cli_put(stderr, CLI_DIM, "Ctrl-C ends it\n");
  error = ig_server_run(s, give, stopped, p);
  ig_server_close(s);
  return error ? cli_error(CLI_IO, "the server: %s", strerror(error)) : CLI_OK;
}

static void free_parts(parts *p) {
  for (size_t i = 0; i < p->n; i++) free(p->at[i].text);
  free(p->at);
}

// ---- all of it

static int show(ig_ctx *c, const char *file, const ig_model *m, ig_view_options *v) {
  parts p = {.page = NULL};
  if (o.serve) {
    v->part = add_part;
    v->part_user = &p;
  }
  char *text = ig_model_view(c, m, v);
  cli_stage_end();
  int code = !text ? cli_fail(c, file, CLI_REFUSED) : p.failed ? cli_no_memory() : CLI_OK;
  if (text && code == CLI_OK && o.serve) {
    p.page = text;
    p.page_n = strlen(text);
    code = serve(&p);
  } else if (text && code == CLI_OK) {
    code = keep(file, text);
  }
  ig_text_free(c, text);
  free_parts(&p);
  return code;
}

// Two models of different kinds are compared as programs.
static int open_both(ig_ctx *c, const char *const *files, ig_model *m[2]) {
  int code = cli_open(c, files[0], CLI_INSPECT, &m[0]);
  if (code == CLI_OK && files[1]) code = cli_open(c, files[1], CLI_INSPECT, &m[1]);
  for (int i = 0; i < 2 && code == CLI_OK && files[1]; i++) {
    if (!ig_model_onnx(m[i]) || ig_model_onnx(m[1 - i])) continue;
    ig_model_free(m[i]);
    m[i] = NULL;
    code = cli_open(c, files[i], CLI_PROGRAM, &m[i]);
  }
  return code;
}

static bool asks_for_numbers(void) {
  return o.feed.arrays || o.feed.single.n || o.feed.random || o.feed.sizes.n;
}

static int look(ig_ctx *c, const char *const *files, ig_model *m[2], const char *profile) {
  numbers d = {.found = false};
  int code = CLI_OK;
  ig_view_options v = {.size = sizeof v,
                       .depth = (int)o.depth,
                       .no_stats = o.no_stats,
                       .progress = tell,
                       .other = m[1],
                       .profile = profile};
  v.form = o.svg ? IG_VIEW_SVG : o.dot ? IG_VIEW_DOT : IG_VIEW_HTML;
  if (m[1] && asks_for_numbers()) {
    o.feed.fallback = true;
    code = find_first(c, m, &d);
    v.first_text = d.text;
    if (d.found) v.first_a = d.x.name;
    if (d.found) v.first_b = d.y.name;
  }
  if (code == CLI_OK) code = show(c, files[0], m[0], &v);
  ig_run_trace_free(d.a);
  ig_run_trace_free(d.b);
  return code;
}

static int check(const char *const *files) {
  if (asks_for_numbers() && !files[1]) {
    return cli_usage(&cli_view, "inputs are for two files, whose first differing value they mark");
  }
  if (o.serve && (o.svg || o.dot || o.target)) {
    return cli_usage(&cli_view, "--serve writes no file; leave out --output, --svg and --dot");
  }
  if (o.svg && o.dot) return cli_usage(&cli_view, "--svg and --dot exclude each other");
  if (o.depth < 0 || o.depth > 1000) return cli_usage(&cli_view, "--depth: 0 to 1000");
  return CLI_OK;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m[2] = {NULL, NULL};
  char *profile = NULL;
  size_t n = 0;
  int code = check(files);
  if (code == CLI_OK && !files[1] && is_report(files[0])) return show_report(c, files[0]);
  if (code == CLI_OK && o.profile) code = read_text(o.profile, &profile, &n);
  if (code == CLI_OK) code = open_both(c, files, m);
  if (code == CLI_OK) code = look(c, files, m, profile);
  ig_model_free(m[0]);
  ig_model_free(m[1]);
  free(profile);
  return code;
}

static const cli_option options[] = {
    {"--output", "-o", "FILE", CLI_TEXT, &o.target,
     "where to write; - is stdout (default: the model's name with\n.html, .svg or .dot, in the "
     "current folder)"},
    {"--svg", NULL, NULL, CLI_SWITCH, &o.svg, "a drawing for documents"},
    {"--dot", NULL, NULL, CLI_SWITCH, &o.dot, "for Graphviz"},
    {"--depth", NULL, "N", CLI_INT, &o.depth,
     "--svg, --dot: modules nested deeper are one box (default: no\nlimit)"},
    {"--no-stats", NULL, NULL, CLI_SWITCH, &o.no_stats, "without statistics of the weights"},
    {"--profile", "-p", "FILE", CLI_TEXT, &o.profile,
     "colours by time and memory, from what ingot bench --profile --json\nhas written"},
    {"--serve", NULL, NULL, CLI_SWITCH, &o.serve,
     "serves the page on 127.0.0.1 until Ctrl-C, a large model in parts;\nprints the address, "
     "which holds a secret"},
    CLI_FEED_OPTIONS(o.feed),
    CLI_TOLERANCE_OPTIONS(o.rtol, o.atol, " of the first differing value"),
};
static const cli_example examples[] = {
    {"ingot view model.pt2", "writes model.pt2.html"},
    {"ingot view old.pt2 new.onnx --inputs x.npz", "side by side, with the first differing value"},
    {"ingot bench model.pt2 --profile --json > p.json && ingot view model.pt2 --profile p.json",
     "where the time goes"},
    {"ingot view huge.onnx --serve", "in parts, on this machine alone"},
    {"ingot view model.onnx --svg --depth 2 -o model.svg", "the outer modules as a drawing"},
    {"ingot view model.ts.pt --dot -o - | dot -Tpdf > model.pdf", "drawn by Graphviz"},
};
const cli_command cli_view = {
    .name = "view",
    .arguments = "FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]",
    .summary = "a page to look around in: modules, nodes, shapes, weights; or a drawing",
    .details =
        "Writes one self-contained HTML page with the graph of a .pt2, ONNX or TorchScript file: "
        "modules\n"
        "open and close, every node has its types, attributes, source lines and weights. The page "
        "loads\n"
        "nothing from the network. Press ? in it for the keys. Two files are shown side by side, "
        "with\n"
        "colours for what differs. The report of a draft (DraftExportReport.to_json) is a page as\n"
        "well.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .most = 2,
    .run = run,
};
