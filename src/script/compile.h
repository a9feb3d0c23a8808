// SPDX-License-Identifier: Apache-2.0
// The compiler: syntax trees to graphs.
#ifndef SCRIPT_COMPILE_H_
#define SCRIPT_COMPILE_H_

#include "script/annotation.h"
#include "script/sugar.h"

// The surroundings of a function: what names outside of it mean.
typedef struct ig_sfront {
  // A global or closed-over name. UNKNOWN without an error: there is none.
  bool (*resolve)(ig_ctx *c, void *user, const char *name, ig_srange where, ig_sugar *out);
  // A class by its dotted name as written in an annotation; NULL without an error: there is none.
  const ig_stype *(*type)(void *user, const char *name);
  // The default of a parameter that the host has evaluated, a new reference. *given false: the
  // parameter has none. NULL: defaults are read from the tree.
  bool (*default_value)(ig_ctx *c, void *user, const char *param, const ig_stype *type,
                        ig_value *out, bool *given);
  // An operator of `torch` that means something else in this code. UNKNOWN without an error: it
  // does not. NULL: none does.
  bool (*op)(ig_ctx *c, void *user, const char *name, ig_sugar *out);
  void *user;
  bool python;  // user code: checked for what Python's syntax has and scripts have not; otherwise
                // code of an archive, which may say annotate, uninitialized, CONSTANTS.c0
} ig_sfront;

// How a Python module of the host answers for the attributes of its class that are no attributes of
// the script's class: methods that were not compiled yet, functions, constants, sub-modules.
typedef struct ig_sclass_host {
  bool (*attr)(ig_ctx *c, ig_sclass *k, ig_svalue *self, const char *name, ig_srange where,
               ig_sugar *out);
  // A line for the error when there is no such attribute: "(This attribute exists on the Python
  // module, but we failed to convert ...)". May add nothing.
  void (*hint)(ig_sclass *k, const char *name, ig_str *s);
} ig_sclass_host;

// Declares a function or (owner not NULL) a method from its DEF tree, whose signature is read at
// once; the body is compiled when it is first needed. Tree, source and front must live as long as
// the unit. NULL after an error.
ig_sfunction *ig_script_declare(ig_ctx *c, ig_sunit *u, ig_sclass *owner, const char *qualified,
                                const ig_tree *def, const ig_sfront *front);
// The same for a text with one function, which is copied into the unit: parses, declares, compiles.
ig_sfunction *ig_script_compile(ig_ctx *c, ig_sunit *u, const char *text, const ig_sfront *front);

// `forward(__torch__.M self, Tensor x, int n=3) -> Tensor`, as f.schema prints it.
bool ig_sfunction_print_schema(ig_str *s, const ig_sfunction *f);

// ---- passes over graphs; false after an error

// Variables (prim::Store, prim::Load), break, continue and return statements become values, inputs
// and outputs of blocks.
bool ig_sgraph_to_ssa(ig_sgraph *g);
// What the compiler runs on every finished function: simple tuples, constants, order of outputs.
bool ig_sgraph_clean(ig_sunit *u, ig_sgraph *g);
// Calls of functions and methods are replaced by their bodies.
bool ig_sgraph_inline(ig_ctx *c, ig_sunit *u, ig_sgraph *g);
bool ig_sgraph_remove_dead(ig_sunit *u, ig_sgraph *g);
bool ig_sgraph_fold_constants(ig_sunit *u, ig_sgraph *g);
bool ig_sgraph_pool_constants(ig_sgraph *g);
// Adds a copy of the nodes of a function's graph at the end of a block, with these values for its
// inputs; its one output. NULL after an error.
ig_svalue *ig_sgraph_splice(ig_sblock *into, const ig_sgraph *from, ig_svalue *const *in);
// A copy, numbered anew; names are kept. NULL after an error.
ig_sgraph *ig_sgraph_copy(const ig_sgraph *g);

#endif
