// SPDX-License-Identifier: Apache-2.0
// What the modules of a model cost, printed.
#ifndef CLI_LAYERS_H_
#define CLI_LAYERS_H_

#include "cli/cli.h"

// sizes: "NAME=N"; depth: modules nested deeper are not listed, 0: all are.
int cli_show_layers(ig_ctx *c, const ig_model *m, const cli_texts *sizes, long depth, bool json);

#endif
