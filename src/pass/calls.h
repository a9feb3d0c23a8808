// SPDX-License-Identifier: Apache-2.0
// Modules of a tree that are called like the originals. Unflattening passes every value separately;
// where a signature was preserved, the caller builds the original arguments and unpacks the result,
// and the module does the reverse, so that the module can be replaced.
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
  size_t npos;              // positional arguments
  const char *const *keys;  // keyword arguments
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

// Gives modules of the tree their signatures. Those that cannot be preserved are omitted: of
// modules that are called in several ways, that pass on more than their result, or that use a value
// which is computed later. Structures are attributes _spec_0, _spec_1, ... of the modules that use
// them.
IG_MUST_USE ig_status ig_module_tree_apply(ig_ctx *c, ig_module_tree *t,
                                           const ig_call_signature *calls, size_t n,
                                           const ig_tree_functions *host);

#endif
