// SPDX-License-Identifier: Apache-2.0
// ingot: exported programs from the command line.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "ingot/version.h"

static const cli_command *const commands[] = {&cli_run, &cli_info, &cli_show, &cli_convert};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to) {
  (void)fprintf(to,
                "ingot %s: runs, shows and converts exported programs (.pt2)\n\n"
                "usage: ingot COMMAND [ARGUMENTS]\n\ncommands:\n",
                IG_VERSION);
  for (size_t i = 0; i < NCOMMANDS; i++) {
    (void)fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
  }
  (void)fprintf(to,
                "\ningot COMMAND --help tells more about one.\n"
                "exit codes: 0 done, 1 it could not be done, 2 wrong command line\n");
}

static int run(const cli_command *command, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
    printf("usage: ingot %s %s\n\n%s\n", command->name, command->arguments, command->details);
    return CLI_OK;
  }
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) {
    (void)fprintf(stderr, "ingot: out of memory\n");
    return CLI_FAILED;
  }
  ig_scope s = ig_scope_open(c);
  int code = command->run(c, argc, argv);
  ig_scope_close(c, s);
  ig_ctx_free(c);
  return code;
}

// A closed pipe or a full disk must not look like success.
static int finish(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  (void)fprintf(stderr, "ingot: the output could not be written\n");
  return CLI_FAILED;
}

int main(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "";
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    help(stdout);
    return finish(CLI_OK);
  }
  if (strcmp(word, "--version") == 0) {
    printf("ingot %s\n", IG_VERSION);
    return finish(CLI_OK);
  }
  for (size_t i = 0; i < NCOMMANDS; i++) {
    if (strcmp(word, commands[i]->name) == 0) return finish(run(commands[i], argc - 2, argv + 2));
  }
  if (argc > 1) (void)fprintf(stderr, "ingot: unknown command '%s'\n\n", word);
  help(stderr);
  return CLI_USAGE;
}
