// SPDX-License-Identifier: Apache-2.0
// Modules of a tree that are called as the originals were. Unflattening hands every value over by
// itself; where a signature was kept, the caller builds the original arguments and takes the result
// apart, and the module does the reverse, so that another module can stand in its place.
#ifndef PASS_CALLS_H_
#define PASS_CALLS_H_

#include "pass/tree.h"

// A leaf of the arguments or of the result of a module.
typedef struct ig_call_leaf {
  const char *name;  // of the value in the flat program; NULL: a constant
  ig_value value;    // the constant
} ig_call_leaf;

typedef struct ig_call_signature {
  const char *path;  // of the module
  const ig_call_leaf *inputs;
  size_t ninputs;
  const ig_call_leaf *outputs;
  size_t noutputs;
  size_t npos;              // arguments by place
  const char *const *keys;  // arguments by name
  size_t nkeys;
  void *in_spec;  // structures of arguments and result, objects of the host
  void *out_spec;
} ig_call_signature;

// Functions of the host: leaves and structure to a tree, a tree and its structure to leaves.
typedef struct ig_tree_functions {
  void *unflatten;
  const char *unflatten_name;  // as printed code calls it
  void *flatten;
  const char *flatten_name;
} ig_tree_functions;

// Gives modules of the tree their signatures. Those that cannot be kept are left out: of modules
// that are called in several ways, that hand on more than their result, or that are given a value
// which is made later. Structures are attributes _spec_0, _spec_1, ... of the modules that use
// them.
IG_MUST_USE ig_status ig_module_tree_apply(ig_ctx *c, ig_module_tree *t,
                                           const ig_call_signature *calls, size_t n,
                                           const ig_tree_functions *host);

#endif
