// SPDX-License-Identifier: Apache-2.0
// What the modules of a model cost: parameters, arithmetic, memory of results.
#ifndef INGOT_LAYERS_H_
#define INGOT_LAYERS_H_

#include "ingot/model.h"

IG_BEGIN_DECLS

// One module, everything inside it included. Costs are numbers or expressions of the dynamic sizes,
// "1536*s0*s1 + 2*s0".
typedef struct ig_layer {
  const char *path;      // "encoder.0"; the model itself is ""
  const char *type;      // "torch.nn.modules.linear.Linear"; "": not known
  int depth;             // 0: the model
  int64_t parameters;    // elements of its parameters; a tensor with several names counts once
  int64_t weight_bytes;  // of parameters and buffers
  // Floating-point operations of matrix products and convolutions, two for a multiplication and an
  // addition, as PyTorch's FlopCounterMode counts them. Branches count once each, and so do bodies
  // of loops.
  const char *flops;
  int64_t flops_value;      // -1: it depends on sizes that were not given
  const char *activations;  // bytes of the results of all calls that are no views
  int64_t activations_value;
} ig_layer;

// The modules in the order of the hierarchy, in the innermost scope. given: values for dynamic
// sizes. IG_UNSUPPORTED: the file has no program.
IG_API IG_MUST_USE ig_status ig_model_layers(ig_ctx *c, const ig_model *m,
                                             const ig_dim_value *given, size_t ngiven,
                                             const ig_layer **list, size_t *n);

IG_END_DECLS

#endif
