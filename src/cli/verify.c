// SPDX-License-Identifier: Apache-2.0
// ingot verify: is a file valid? Nothing is executed.
#include "cli/cli.h"
#include "ingot/explain.h"

static bool as_json;

static void tell(void *user, const char *stage, uint64_t done, uint64_t total) {
  (void)user;
  if (done == 0) cli_stage(stage, total, "MB");
  cli_step(done);
}

static void print_json(const ig_model *m, const ig_ctx *c, const char *path) {
  const ig_explanation *e = ig_ctx_explanation(c);
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(path);
  cli_json_key("sound");
  cli_json_bool(ig_ctx_status(c) == IG_OK);
  cli_json_key("kind");
  cli_json_str(m ? ig_model_kind_word(ig_model_get_kind(m)) : NULL);
  cli_json_key("code");
  cli_json_str(ig_status_text(ig_ctx_status(c)));
  cli_json_key("error");
  cli_json_str(ig_ctx_status(c) == IG_OK ? NULL : ig_ctx_error(c));
  cli_json_key("explanation");
  cli_json_str(e ? e->code : NULL);
  cli_json_close('}');
  cli_json_end();
}

static void print_text(const ig_model *m) {
  const ig_model_member *const *members = NULL;
  const ig_model_weight *const *weights = NULL;
  char bytes[64];
  ig_program *p = ig_model_program(m);
  size_t n = ig_model_members(m, &members);
  cli_put(stdout, CLI_BOLD, "%s", ig_model_name(m));
  cli_out(": ");
  cli_put(stdout, CLI_GREEN, "sound");
  cli_out(" %s, %s", ig_model_kind_text(ig_model_get_kind(m)),
          cli_bytes(ig_model_file_bytes(m), bytes, sizeof bytes));
  if (n) cli_out(", %zu members", n);
  if (p) cli_out(", %zu nodes", ig_graph_node_count(ig_program_graph(p)));
  cli_out(", %zu tensors\n", ig_model_weights(m, &weights));
  const ig_model_finding *const *findings = NULL;
  n = ig_model_findings(m, &findings);
  for (size_t i = 0; i < n; i++) cli_out("  ignored: %s\n", findings[i]->text);
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  int code = CLI_OK;
  if (as_json) {
    ig_status st = cli_open_quietly(c, files[0], 0, &m);
    if (st == IG_OK) st = ig_model_verify(c, m, NULL);
    print_json(m, c, files[0]);
    code = st == IG_OK ? CLI_OK : st == IG_IO ? CLI_IO : CLI_REFUSED;
    ig_model_free(m);
    return code;
  }
  code = cli_open(c, files[0], 0, &m);
  if (code != CLI_OK) return code;
  ig_model_options o = {.size = sizeof o, .progress = tell};
  ig_status st = ig_model_verify(c, m, &o);
  cli_stage_end();
  if (st == IG_OK) {
    print_text(m);
  } else {
    code = cli_fail(c, ig_model_name(m), CLI_REFUSED);
  }
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--json", NULL, NULL, CLI_SWITCH, &as_json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot verify model.pt2", "checksums, structure, graph, signature, weights"},
    {"ingot verify models/*.pt2 > /dev/null", "a folder of files: errors name the bad ones"},
};
const cli_command cli_verify = {
    .name = "verify",
    .arguments = "FILE ... [--json]",
    .summary = "check a file by every rule of loader and verifier; nothing is executed",
    .details =
        "Reads the whole file: structure and checksums of every member, names, sizes, types, the\n"
        "graph and its sub-graphs, the signature, the weights. The first problem is "
        "reported.\n"
        "Exit code 3: rejected.",
    .options = options,
    .noptions = 1,
    .examples = examples,
    .nexamples = 2,
    .nfiles = 1,
    .each = true,
    .run = run,
};
