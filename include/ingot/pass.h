// SPDX-License-Identifier: Apache-2.0
// Passes: from one program to another. Every pass gives a new program over the same weights and
// leaves the old one as it is, unless it says otherwise; after an error *out is NULL.
#ifndef INGOT_PASS_H_
#define INGOT_PASS_H_

#include "ingot/program.h"

// A program as it was captured may write to its operands (training IR); so is every program that
// says so here. Decomposing such a program functionalizes it first.
IG_API bool ig_program_is_training(const ig_program *p);
IG_API void ig_program_set_training(ig_program *p, bool training);  // before it is shared

// Whether the program holds together: its graphs, arguments and values against schemas and shape
// rules, the signature against the nodes. IG_ASSERTION tells the first thing that does not: a pass
// has a mistake, or somebody edited the graph.
IG_API IG_MUST_USE ig_status ig_program_verify(ig_ctx *c, const ig_program *p);

// The same program without writes (inference IR). In-place operators become functional ones; what a
// view writes is put back into its base; new values of buffers and of user inputs are outputs in
// front of the user's, buffers first. Composite operators that may alias or write are taken apart,
// other composite operators stay whole. IG_RUNTIME: "cannot mutate tensors with frozen storage" for
// a write to the result of a conversion, which may be the operand itself.
IG_API IG_MUST_USE ig_status ig_program_functionalize(ig_ctx *c, const ig_program *p,
                                                      ig_program **out);

// Refuses operators that decomposition cannot leave whole (IG_RUNTIME tells why). `ops` is ended by
// NULL: "aten.linear.default".
IG_API IG_MUST_USE ig_status ig_decompose_check_preserve(ig_ctx *c, const char *const *ops);

// The graph that a module of this program runs: placeholders are the user's inputs, weights that
// are used are attributes, new values of buffers and inputs are written back by copy_, and only the
// user's outputs are returned. The caller frees it.
IG_API IG_MUST_USE ig_status ig_program_unlift(ig_ctx *c, const ig_program *p, ig_graph **out);

// The tree of modules that the program came from, rebuilt from the module stacks of its nodes: one
// graph per module, which gets the values it reads as placeholders (named after the nodes outside),
// its weights as attributes, and calls its children (call_module, by path from here). A module that
// is called again in the same way has one graph; in another way, one more under "path@1". Buffers
// are written where their new values are computed; new values of inputs are outputs of the root, in
// front of the user's, for the caller to write.
typedef struct ig_module_tree ig_module_tree;
typedef struct ig_module_entry {
  const char *path;    // "" is the root, which comes first; every other comes after its children
  const char *module;  // path of the module that it is a way of calling: "lin" of "lin@1"
  ig_graph *graph;     // borrowed
} ig_module_entry;
IG_API IG_MUST_USE ig_status ig_program_unflatten(ig_ctx *c, const ig_program *p,
                                                  ig_module_tree **out);
IG_API size_t ig_module_tree_entries(const ig_module_tree *t, const ig_module_entry **entries);
IG_API void ig_module_tree_free(ig_module_tree *t);  // NULL is allowed.

// Stretches that were captured in another grad mode than the one around the capture become
// sub-graphs submod_N, called through wrap_with_set_grad_enabled. *out may be p itself (retained).
IG_API IG_MUST_USE ig_status ig_program_wrap_grad_regions(ig_ctx *c, ig_program *p,
                                                          ig_program **out);

// What was assumed about numbers in the data, and complex relations of sizes, as calls that check
// it when the program runs (sym_constrain_range, _assert_scalar). *out may be p itself (retained).
IG_API IG_MUST_USE ig_status ig_program_insert_asserts(ig_ctx *c, ig_program *p, ig_program **out);

// The last n outputs are outputs no longer; what only they read goes. p itself is changed.
IG_API IG_MUST_USE ig_status ig_program_drop_outputs(ig_ctx *c, ig_program *p, size_t n);

// The program without new values of buffers, parameters and inputs among its outputs: what it
// returns, and nothing of what it writes. *out may be p itself (retained).
IG_API IG_MUST_USE ig_status ig_program_drop_writes(ig_ctx *c, const ig_program *p,
                                                    ig_program **out);

// Calls every node with the sizes of the example and without data: IG_OK, or what a run would
// refuse for its structure. IG_DATA_DEPENDENT, IG_OUTPUT_DATA and IG_OUTPUT_SHAPE: only data can
// tell.
IG_API IG_MUST_USE ig_status ig_program_dry_run(ig_ctx *c, const ig_program *p);

// Sizes of inputs are read once, right behind the inputs, as training programs have it. p itself is
// changed; false after an error.
IG_API IG_MUST_USE bool ig_program_read_sizes_first(ig_ctx *c, ig_program *p);

#endif
