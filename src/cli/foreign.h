// SPDX-License-Identifier: Apache-2.0
// Runs of a model on other runtimes, by their Python packages.
#ifndef CLI_FOREIGN_H_
#define CLI_FOREIGN_H_

#include "cli/cli.h"
#include "ingot/trace.h"

// Runs the file in a process of Python on what the session was given, and adds the values and
// outputs to the trace of that session. runtime: "onnxruntime" or "torch". CLI_OK, or an exit code
// after printing the error.
int cli_foreign_run(ig_ctx *c, const char *runtime, const ig_model *m, const ig_session *s,
                    ig_run_trace *t);

#endif
