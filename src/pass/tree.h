// SPDX-License-Identifier: Apache-2.0
// Trees of modules under construction.
#ifndef PASS_TREE_H_
#define PASS_TREE_H_

#include "ingot/pass.h"
#include "ir/program.h"

ig_module_tree *ig_module_tree_create(ig_ctx *c);

// Adds a module, whose graph is retained; key identifies the module in the stacks of nodes (NULL:
// the root). An existing one under this path with an equal graph is
// reused; with another graph, the new one gets "path@1". *name (the last part of the path as the
// parent writes it) is changed then. Lives in the tree.
bool ig_module_tree_add(ig_ctx *c, ig_module_tree *t, const char *path, const char *key,
                        ig_graph *g, const char **name);

// Replaces the graph of entry i; takes ownership.
void ig_module_tree_replace(ig_module_tree *t, size_t i, ig_graph *g);

// Placeholders for weights of p become attributes of the modules that own them, and are removed
// from the calls of those modules. Then every graph is checked, and modules that have several names
// are recognized.
bool ig_module_tree_sink(ig_ctx *c, ig_module_tree *t, const ig_program *p);

#endif
