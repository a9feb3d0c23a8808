// SPDX-License-Identifier: Apache-2.0
// ingot show: a program as text.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int run(ig_ctx *c, int argc, char **argv) {
  bool graph = false;
  cli_option options[] = {{"--graph", "-g", NULL, &graph}};
  cli_args args;
  int code = cli_parse(&cli_show, argc, argv, options, 1, 1, &args);
  if (code != CLI_OK) return code;
  ig_program *p = NULL;
  if (ig_program_load(c, args.files[0], &p) != IG_OK) return cli_fail(c);
  char *text = graph ? ig_program_text(c, p) : ig_program_code(c, p);
  // The text begins and ends as PyTorch's does, with blank lines.
  const char *first = text ? text + strspn(text, "\n") : "";
  int length = (int)strlen(first);
  while (length && strchr(" \n", first[length - 1])) length--;
  if (text) printf("%.*s\n", length, first);
  if (!text) code = cli_fail(c);
  ig_text_free(c, text);
  ig_program_free(p);
  return code;
}

const cli_command cli_show = {
    .name = "show",
    .arguments = "MODEL.pt2 [--graph]",
    .summary = "print a program as code",
    .details =
        "The code form of PyTorch's fx.\n\n"
        "  -g, --graph  the graph form instead: one line per node",
    .run = run,
};
