// SPDX-License-Identifier: Apache-2.0
// Passes: from one program to another. Every pass creates a new program over the same weights and
// does not change the old one, unless documented otherwise; after an error *out is NULL.
#ifndef INGOT_PASS_H_
#define INGOT_PASS_H_

#include "ingot/program.h"

IG_BEGIN_DECLS

// Whether a program may mutate its operands (training IR), as captured programs may. Decomposing
// such a program functionalizes it first.
IG_API bool ig_program_is_training(const ig_program *p);
IG_API void ig_program_set_training(ig_program *p, bool training);  // before it is shared

// Verifies the program: its graphs, arguments and values against schemas and shape rules, the
// signature against the nodes. IG_ASSERTION reports the first violation: a pass has a bug, or the
// graph was edited incorrectly.
IG_API IG_MUST_USE ig_status ig_program_verify(ig_ctx *c, const ig_program *p);

// Functionalizes the program (inference IR). In-place operators become out-of-place ones; writes
// through a view are scattered into its base; new values of buffers and of user inputs are outputs
// before the user's, buffers first. Composite operators that may alias or mutate are decomposed,
// other composite operators are kept. IG_RUNTIME: "cannot mutate tensors with frozen storage" for a
// write to the result of a conversion, which may be the operand itself.
IG_API IG_MUST_USE ig_status ig_program_functionalize(ig_ctx *c, const ig_program *p,
                                                      ig_program **out);

// Rejects operators that decomposition cannot keep (the IG_RUNTIME message says why). `ops` is
// terminated by NULL: "aten.linear.default".
IG_API IG_MUST_USE ig_status ig_decompose_check_preserve(ig_ctx *c, const char *const *ops);

// The graph that the module of this program runs: placeholders are the user's inputs, used weights
// are attributes, new values of buffers and inputs are written back by copy_, and only the user's
// outputs are returned. The caller frees it.
IG_API IG_MUST_USE ig_status ig_program_unlift(ig_ctx *c, const ig_program *p, ig_graph **out);

// The tree of modules that the program came from, rebuilt from the module stacks of its nodes: one
// graph per module, which gets the values it reads as placeholders (named after the nodes outside),
// its weights as attributes, and calls its children (call_module, by path from here). A module that
// is called again in the same way has one graph; in another way, it has another graph, "path@1".
// Buffers are written where their new values are computed; new values of inputs are outputs of the
// root, before the user's, for the caller to write back.
typedef struct ig_module_tree ig_module_tree;
typedef struct ig_module_entry {
  const char *path;    // "" is the root, which comes first; every other comes after its children
  const char *module;  // path of the called module: "lin" for "lin@1"
  ig_graph *graph;     // borrowed
  // Path of an earlier entry that is the same module by another name, called in the same way; NULL:
  // none.
  const char *same_as;
} ig_module_entry;
IG_API IG_MUST_USE ig_status ig_program_unflatten(ig_ctx *c, const ig_program *p,
                                                  ig_module_tree **out);
IG_API size_t ig_module_tree_entries(const ig_module_tree *t, const ig_module_entry **entries);
IG_API void ig_module_tree_free(ig_module_tree *t);  // NULL is allowed.

// Regions that were captured in a grad mode other than that of the capture become sub-graphs
// submod_N, called through wrap_with_set_grad_enabled. *out may be p itself (retained).
IG_API IG_MUST_USE ig_status ig_program_wrap_grad_regions(ig_ctx *c, ig_program *p,
                                                          ig_program **out);

// Inserts runtime assertions: assumptions about unbacked symbols and complex relations between
// sizes become calls that check them (sym_constrain_range, _assert_scalar). *out may be p itself
// (retained).
IG_API IG_MUST_USE ig_status ig_program_insert_asserts(ig_ctx *c, ig_program *p, ig_program **out);

// Removes the last n outputs and what only they use. Changes p itself.
IG_API IG_MUST_USE ig_status ig_program_drop_outputs(ig_ctx *c, ig_program *p, size_t n);

// The program with user outputs only, without new values of buffers, parameters and inputs. *out
// may be p itself (retained).
IG_API IG_MUST_USE ig_status ig_program_drop_writes(ig_ctx *c, const ig_program *p,
                                                    ig_program **out);

// Calls every node with the sizes of the example and without data: IG_OK, or the error that a run
// would report. IG_DATA_DEPENDENT, IG_OUTPUT_DATA and IG_OUTPUT_SHAPE: it depends on the data.
IG_API IG_MUST_USE ig_status ig_program_dry_run(ig_ctx *c, const ig_program *p);

// Moves the reads of input sizes right after the inputs, once each, as in training programs.
// Changes p itself; false after an error.
IG_API IG_MUST_USE bool ig_program_read_sizes_first(ig_ctx *c, ig_program *p);

IG_END_DECLS

#endif
