// SPDX-License-Identifier: Apache-2.0
// ingot view: a page or picture of a model.
#include "ingot/view.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"

static const char *target;
static bool svg;
static bool dot;
static bool no_stats;
static long depth;

static void tell(void *user, uint64_t done, uint64_t total) {
  (void)user;
  if (done == 0) cli_stage("statistics", total, "weights");
  cli_step(done);
}

static int write_text(const char *path, const char *text) {
  size_t n = strlen(text);
  if (strcmp(path, "-") == 0) {
    return fwrite(text, 1, n, stdout) == n ? CLI_OK
                                           : cli_error(CLI_IO, "stdout: %s", strerror(errno));
  }
  cli_staged s;
  int code = cli_staged_open(path, &s);
  if (code != CLI_OK) return code;
  FILE *to = fopen(s.files.path, "wb");
  bool ok = to && fwrite(text, 1, n, to) == n;
  int error = errno;
  if (to && fclose(to) != 0 && ok) {
    ok = false;
    error = errno;
  }
  code = ok ? cli_staged_keep(&s) : cli_error(CLI_IO, "%s: %s", path, strerror(error));
  cli_staged_drop(&s);
  if (code == CLI_OK) {
    char size[32];
    cli_out("%s: %s\n", path, cli_bytes(n, size, sizeof size));
  }
  return code;
}

// The name of the model in the current folder, with another extension.
static int default_target(const char *file, const char *suffix, char *path, size_t cap) {
  const char *slash = strrchr(file, '/');
  const char *base = strcmp(file, "-") == 0 ? "model" : slash ? slash + 1 : file;
  int n = snprintf(path, cap, "%s%s", base, suffix);
  if (n > 0 && (size_t)n < cap) return CLI_OK;
  return cli_error(CLI_USAGE, "%s: the name is too long; --output names the page", file);
}

static int run(ig_ctx *c, const char *const *files) {
  if (svg && dot) return cli_usage(&cli_view, "--svg and --dot exclude each other");
  if (depth < 0 || depth > 1000) return cli_usage(&cli_view, "--depth: 0 to 1000");
  ig_model *m = NULL;
  int code = cli_open(c, files[0], CLI_INSPECT, &m);
  if (code != CLI_OK) return code;
  ig_view_options o = {
      .size = sizeof o, .depth = (int)depth, .no_stats = no_stats, .progress = tell};
  o.form = svg ? IG_VIEW_SVG : dot ? IG_VIEW_DOT : IG_VIEW_HTML;
  char *text = ig_model_view(c, m, &o);
  cli_stage_end();
  char path[4096];
  code = CLI_OK;
  if (!text) code = cli_fail(c, files[0], CLI_REFUSED);
  if (text && !target) {
    code = default_target(files[0], svg ? ".svg" : dot ? ".dot" : ".html", path, sizeof path);
  }
  if (text && code == CLI_OK) code = write_text(target ? target : path, text);
  ig_text_free(c, text);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--output", "-o", "FILE", CLI_TEXT, &target,
     "where to write; - is stdout (default: the model's name with\n.html, .svg or .dot, in the "
     "current folder)"},
    {"--svg", NULL, NULL, CLI_SWITCH, &svg, "a drawing for documents"},
    {"--dot", NULL, NULL, CLI_SWITCH, &dot, "for Graphviz"},
    {"--depth", NULL, "N", CLI_INT, &depth,
     "--svg, --dot: modules nested deeper are one box (default: no\nlimit)"},
    {"--no-stats", NULL, NULL, CLI_SWITCH, &no_stats, "without statistics of the weights"},
};
static const cli_example examples[] = {
    {"ingot view model.pt2", "writes model.pt2.html"},
    {"ingot view model.onnx --svg --depth 2 -o model.svg", "the outer modules as a drawing"},
    {"ingot view model.ts.pt --dot -o - | dot -Tpdf > model.pdf", "drawn by Graphviz"},
};
const cli_command cli_view = {
    .name = "view",
    .arguments = "FILE [--output PAGE] [--svg | --dot] [--depth N] [--no-stats]",
    .summary = "a page to look around in: modules, nodes, shapes, weights; or a drawing",
    .details =
        "Writes one self-contained HTML page with the graph of a .pt2, ONNX or TorchScript file: "
        "modules\n"
        "open and close, every node has its types, attributes, source lines and weights. The page "
        "loads\n"
        "nothing from the network. Press ? in it for the keys.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .nfiles = 1,
    .run = run,
};
