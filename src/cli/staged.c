// SPDX-License-Identifier: Apache-2.0
// Output files before they have been checked (base/host.h), with the command's error messages.
#include <string.h>

#include "cli/cli.h"

int cli_staged_open(const char *target, cli_staged *s) {
  *s = (cli_staged){.target = target};
  int error = ig_staged_open(target, &s->files);
  if (error) return cli_error(CLI_IO, "%s: %s", target, strerror(error));
  if (s->files.folder[0]) cli_alias(s->files.path, target);
  return CLI_OK;
}

int cli_staged_keep(cli_staged *s) {
  if (!s->files.folder[0]) return CLI_OK;
  if (cli_interrupted()) {
    cli_staged_drop(s);
    return cli_error(CLI_FAILED, "%s: cancelled, nothing was written", s->target);
  }
  int error = ig_staged_keep(&s->files);
  if (error) {
    cli_staged_drop(s);
    return cli_error(CLI_IO, "%s: %s", s->target, strerror(error));
  }
  cli_alias(NULL, NULL);
  return CLI_OK;
}

void cli_staged_drop(cli_staged *s) {
  if (!s->files.folder[0]) return;
  ig_staged_drop(&s->files);
  cli_alias(NULL, NULL);
}
