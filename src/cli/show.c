// SPDX-License-Identifier: Apache-2.0
// ingot show: a program as text.
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"
#include "cli/tree.h"
#include "ingot/onnx.h"
#include "ingot/script.h"

static struct {
  bool graph;
  bool tree;
  bool flat;
  bool code;
  bool plan;
  bool aten;
  cli_feed feed;
  const char *grep;
} o;

// Prints a line with its matches highlighted; false: nothing matches.
static bool put_match(const ig_pattern *re, const char *line) {
  size_t begin;
  size_t end;
  if (!ig_pattern_find(re, line, false, &begin, &end)) return false;
  while (end > begin) {
    cli_out("%.*s", (int)begin, line);
    cli_put(stdout, CLI_RED, "%.*s", (int)(end - begin), line + begin);
    line += end;
    if (!ig_pattern_find(re, line, true, &begin, &end)) break;
  }
  cli_out("%s\n", line);
  return true;
}

static size_t put_lines(char *text, const ig_pattern *re) {
  size_t found = 0;
  for (char *line = text; line; found++) {
    char *end = strchr(line, '\n');
    if (end) *end = 0;
    if (!re) {
      cli_out("%s\n", line);
    } else if (!put_match(re, line)) {
      found--;
    }
    if (end) *end = '\n';
    line = end ? end + 1 : NULL;
  }
  return found;
}

// The text begins and ends as PyTorch's does, with blank lines, which are not printed. It is the
// same afterwards: who frees it needs its length.
static size_t put_text(char *text, const ig_pattern *re) {
  text += strspn(text, "\n");
  size_t n = strlen(text);
  while (n && strchr(" \n", text[n - 1])) n--;
  char last = text[n];
  text[n] = 0;
  size_t found = put_lines(text, re);
  text[n] = last;
  return found;
}

static int finish_show(const ig_model *m, size_t found, const ig_pattern *re) {
  if (found || !re) return CLI_OK;
  return cli_error(CLI_DIFFERS, "%s: no line matches '%s'", ig_model_name(m), o.grep);
}

static int show(ig_ctx *c, const ig_model *m, const ig_pattern *re) {
  ig_program *p = ig_model_program(m);
  char *text = o.tree    ? cli_tree_text(m, o.flat)
               : o.graph ? ig_program_text(c, p)
                         : ig_program_code(c, p);
  if (!text) return o.tree ? cli_no_memory() : cli_fail(c, ig_model_name(m), CLI_FAILED);
  size_t found = put_text(text, re);
  if (o.tree) {
    cli_tree_free(text);
  } else {
    ig_text_free(c, text);
  }
  return finish_show(m, found, re);
}

// The sources in a TorchScript archive, one after the other.
static int show_sources(ig_ctx *c, const ig_model *m, const ig_pattern *re) {
  const ig_model_member *const *members = NULL;
  size_t n = ig_model_members(m, &members);
  size_t found = 0;
  for (size_t i = 0; i < n; i++) {
    const void *data = NULL;
    size_t size = 0;
    if (strncmp(members[i]->name, "code/", 5) != 0 || !cli_has_suffix(members[i]->name, ".py")) {
      continue;
    }
    if (ig_model_member_data(c, m, i, &data, &size) != IG_OK) {
      return cli_fail(c, ig_model_name(m), CLI_REFUSED);
    }
    char *text = malloc(size + 1);
    if (!text) return cli_no_memory();
    memcpy(text, data, size);
    text[size] = 0;
    if (!re) cli_put(stdout, CLI_DIM, "# %s\n", members[i]->name);
    found += put_text(text, re);
    free(text);
  }
  return finish_show(m, found, re);
}

// Graphs of its methods.
static int show_graphs(ig_ctx *c, const ig_model *m, const ig_pattern *re) {
  ig_ts *ts = NULL;
  char *text = NULL;
  ig_limits limits = ig_ctx_limits(c);
  if (ig_ts_open(c, ig_model_name(m), &limits, &ts) == IG_OK) text = ig_ts_graphs(c, ts, false);
  ig_ts_free(ts);
  if (!text) return cli_fail(c, ig_model_name(m), CLI_REFUSED);
  size_t found = put_text(text, re);
  ig_text_free(c, text);
  return finish_show(m, found, re);
}

// An ONNX model as it is in the file.
static int show_onnx(ig_ctx *c, const ig_model *m, const ig_pattern *re) {
  char *text = ig_onnx_text(c, ig_model_onnx(m));
  if (!text) return cli_fail(c, ig_model_name(m), CLI_FAILED);
  size_t found = put_text(text, re);
  ig_text_free(c, text);
  return finish_show(m, found, re);
}

// What a session executes for inputs of these sizes.
static int show_plan(ig_ctx *c, ig_model *m, const ig_pattern *re) {
  ig_session *s = NULL;
  if (ig_session_create(c, m, &s) != IG_OK) return cli_fail(c, ig_model_name(m), CLI_REFUSED);
  o.feed.fallback = true;
  int code = cli_feed_session(c, m, s, &o.feed);
  char *text = code == CLI_OK ? ig_session_plan_text(s) : NULL;
  if (code == CLI_OK && !text) code = cli_fail(c, ig_model_name(m), CLI_FAILED);
  if (text) code = finish_show(m, put_text(text, re), re);
  ig_text_free(c, text);
  ig_session_free(s);
  return code;
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  if (o.graph + o.tree + o.code + o.plan > 1) {
    return cli_usage(&cli_show, "--code, --graph, --tree and --plan exclude each other");
  }
  char why[128];
  ig_pattern *pattern = o.grep ? ig_pattern_create(o.grep, why, sizeof why) : NULL;
  if (o.grep && !pattern) {
    return cli_usage(&cli_show, "--grep: '%s': %s", o.grep, why);
  }
  bool as_program = o.aten || o.graph || o.tree || o.code || o.plan;
  int code = cli_open(c, files[0], as_program ? CLI_PROGRAM : 0, &m);
  if (code == CLI_OK) {
    bool script = ig_model_get_kind(m) == IG_MODEL_TORCHSCRIPT && !o.tree;
    code = o.plan                            ? show_plan(c, m, pattern)
           : !as_program && ig_model_onnx(m) ? show_onnx(c, m, pattern)
           : ig_model_program(m)             ? show(c, m, pattern)
           : script && !o.graph              ? show_sources(c, m, pattern)
           : script                          ? show_graphs(c, m, pattern)
                                             : cli_no_program(m);
  }
  ig_pattern_free(pattern);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--code", NULL, NULL, CLI_SWITCH, &o.code,
     "as code, one call per line (default, except for ONNX)"},
    {"--aten", NULL, NULL, CLI_SWITCH, &o.aten,
     "an ONNX model as the program that it is converted to, not as\nits own nodes"},
    {"--graph", "-g", NULL, CLI_SWITCH, &o.graph, "one line per node, with users and arguments"},
    {"--tree", "-t", NULL, CLI_SWITCH, &o.tree,
     "by module: classes, parameters, operators; identical layers\nare shown once"},
    {"--flat", NULL, NULL, CLI_SWITCH, &o.flat, "--tree without folding identical layers"},
    {"--plan", NULL, NULL, CLI_SWITCH, &o.plan,
     "what a run executes: one line per step, where values lie;\nfor inputs as ingot run takes "
     "them"},
    CLI_FEED_OPTIONS(o.feed),
    {"--grep", NULL, "REGEX", CLI_TEXT, &o.grep,
     "only lines that match (exit code 1 if none does)"},
};
static const cli_example examples[] = {
    {"ingot show model.pt2", "the program as code, as PyTorch prints it"},
    {"ingot show model.pt2 --tree", "the modules it came from"},
    {"ingot show model.onnx", "the nodes of an ONNX model; --aten: as a program"},
    {"ingot show model.ts.pt", "the sources in a TorchScript archive"},
    {"ingot show model.pt2 --plan --size batch=8", "kernels, chains and memory for this size"},
    {"ingot show model.pt2 --graph --grep 'conv|linear'", "nodes by pattern"},
};
const cli_command cli_show = {
    .name = "show",
    .arguments = "FILE [--code | --graph | --tree | --plan] [--grep REGEX] [OPTIONS]",
    .summary = "print a program: as code, as a graph, as a tree of modules, as a plan",
    .details =
        "Prints the program of a file, in the forms of PyTorch's fx or by module; for a "
        "TorchScript\n"
        "archive, its sources; for an ONNX model, its nodes.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .pages = true,
    .nfiles = 1,
    .run = run,
};
