// SPDX-License-Identifier: Apache-2.0
// Where numbers stop being finite while a model runs.
#ifndef CLI_NAN_H_
#define CLI_NAN_H_

#include "cli/cli.h"

typedef struct cli_nan cli_nan;

// NULL: out of memory. It looks at what is bound to the session and at the weights first.
cli_nan *cli_nan_begin(ig_ctx *c, const ig_model *m, const ig_session *s);
void cli_nan_watch(cli_nan *n, const char *name, const char *target, const ig_value *value);
// Prints what was found, as text or as fields of the JSON object that is open. CLI_DIFFERS:
// something was.
int cli_nan_report(const cli_nan *n, bool json);
void cli_nan_free(cli_nan *n);  // NULL is allowed.

#endif
