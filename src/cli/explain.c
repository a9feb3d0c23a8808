// SPDX-License-Identifier: Apache-2.0
// ingot explain: what the codes of error messages mean.
#include "ingot/explain.h"

#include <string.h>

#include "cli/cli.h"

enum { WIDTH = 80 };

static bool as_json;

static void field(const char *key, const char *text) {
  cli_json_key(key);
  cli_json_str(text);
}

static void print_json(const ig_explanation *e) {
  cli_json_open('{');
  field("code", e->code);
  field("title", e->title);
  field("cause", e->cause);
  field("example", e->example);
  field("message", e->message);
  field("remedy", e->remedy);
  cli_json_close('}');
}

static int list_all(void) {
  const ig_explanation *const *list = NULL;
  size_t n = ig_explanations(&list);
  if (as_json) cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    if (as_json) {
      print_json(list[i]);
    } else {
      cli_put(stdout, CLI_CYAN, "%s", list[i]->code);
      cli_out("  %s\n", list[i]->title);
    }
  }
  if (as_json) cli_json_close(']');
  if (as_json) cli_json_end();
  return CLI_OK;
}

static int run(ig_ctx *c, const char *const *files) {
  if (!files[0]) return list_all();
  const ig_explanation *e = ig_explain(files[0]);
  if (!e) {
    return cli_error(CLI_USAGE, "'%s' is not the code of an error; ingot explain lists all",
                     files[0]);
  }
  if (as_json) {
    print_json(e);
    cli_json_end();
    return CLI_OK;
  }
  const char *text = ig_explanation_text(c, e, WIDTH);
  if (!text) return cli_no_memory();
  cli_put_lines(stdout, text, strlen(text), true);
  return CLI_OK;
}

static const cli_option options[] = {
    {"--json", NULL, NULL, CLI_SWITCH, &as_json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot explain IG0103", "what the code after an error message means, and what to do"},
    {"ingot explain", "all codes"},
};
const cli_command cli_explain = {
    .name = "explain",
    .arguments = "[CODE ...] [--json]",
    .summary = "the cause of an error by its code, an example, and what to do",
    .details =
        "Many error messages are followed by a code. Its explanation tells the cause, shows a\n"
        "program that raises the error, and says what to do. Without a code all are listed.",
    .options = options,
    .noptions = 1,
    .examples = examples,
    .nexamples = 2,
    .pages = true,
    .nfiles = 0,
    .each = true,
    .run = run,
};
