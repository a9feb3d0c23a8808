// SPDX-License-Identifier: Apache-2.0
// The command's own small frame: subcommands, options, failing. Exit codes: 0 done, 1 it could not
// be done, 2 the command line is wrong.
#ifndef CLI_CLI_H_
#define CLI_CLI_H_

#include <stdbool.h>
#include <stddef.h>

#include "ingot/file.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_command {
  const char *name;
  const char *arguments;  // "MODEL.pt2 --inputs FILE.npz"
  const char *summary;
  const char *details;  // lines for its own --help
  int (*run)(ig_ctx *c, int argc, char **argv);
} cli_command;

extern const cli_command cli_run;
extern const cli_command cli_info;
extern const cli_command cli_show;
extern const cli_command cli_convert;

// Options with or without a value, "--name VALUE", "--name=VALUE" or "-n VALUE", and the rest.
typedef struct cli_option {
  const char *name;    // "--inputs"
  const char *brief;   // "-i"; NULL: none
  const char **value;  // NULL: a switch
  bool *found;         // of a switch
} cli_option;
enum { CLI_MAX_FILES = 4 };
typedef struct cli_args {
  const char *files[CLI_MAX_FILES];
  int nfiles;
} cli_args;
// Reads argv; wants `nfiles` files. CLI_OK, or CLI_USAGE after saying what is wrong.
int cli_parse(const cli_command *command, int argc, char **argv, const cli_option *options,
              size_t noptions, int nfiles, cli_args *out);

int cli_usage(const cli_command *command, const char *fmt, ...);
// Prints the context's error; CLI_FAILED.
int cli_fail(const ig_ctx *c);

bool cli_has_suffix(const char *path, const char *suffix);
// "float32[3, 4]", "None", "7": what a value is, without its elements. Into text; returns text.
const char *cli_describe(const ig_value *v, char *text, size_t cap);

#endif
