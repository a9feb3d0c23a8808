// SPDX-License-Identifier: Apache-2.0
// A program as the tree of the modules that it came from.
#ifndef CLI_TREE_H_
#define CLI_TREE_H_

#include "cli/cli.h"

// NULL: out of memory. flat: equal neighbours are not folded into one.
char *cli_tree_text(const ig_model *m, bool flat);
void cli_tree_free(char *tree);

#endif
