// SPDX-License-Identifier: Apache-2.0
// Graphs for training: a captured graph as a functional graph of its forward and backward, and the
// division of such a joint graph into a forward and a backward graph.
#ifndef INGOT_AOT_H_
#define INGOT_AOT_H_

#include "ingot/graph.h"

IG_BEGIN_DECLS

// How an output relates to memory that the caller has or gets.
typedef enum ig_aot_alias {
  IG_AOT_PLAIN,        // memory of its own, or not a tensor
  IG_AOT_INPUT,        // input `base` itself
  IG_AOT_OF_INPUT,     // a view of input `base`
  IG_AOT_OF_HIDDEN,    // a view of a value that nothing else returned shares
  IG_AOT_OF_OUTPUT,    // a view of output `base`
  IG_AOT_OF_BASE,      // a view of extra output `base`
  IG_AOT_OF_NEW_BASE,  // the same; the first one of that base
} ig_aot_alias;

typedef struct ig_aot_input {
  bool written;        // its new value is returned
  bool reshaped;       // and has other sizes or strides
  bool requires_grad;  // after the graph has run
} ig_aot_input;

typedef struct ig_aot_output {
  ig_aot_alias alias;
  size_t base;
  bool requires_grad;
} ig_aot_output;

// A functional graph. Its outputs are the new values of written inputs, the outputs of the original
// graph, extra outputs (bases that several outputs view), and, if `joint`, one gradient per input
// or None. The inputs of a joint graph are primals_1 ..., then tangents_1 ...: the gradients of the
// outputs that have one, namely written inputs that require grad, outputs with an alias up to
// OF_HIDDEN other than INPUT and OF_INPUT, and bases. Otherwise they are arg0_1 ....
typedef struct ig_aot {
  ig_alloc alloc;  // of this structure
  ig_graph *graph;
  bool joint;
  // There is no graph: autograd refuses the original one, whose backward fails, too, or it writes
  // what has no functional form. It can be run as it is.
  bool refused;
  ig_aot_input *inputs;
  size_t ninputs;
  ig_aot_output *outputs;
  size_t noutputs;
  size_t nwrites;
  size_t nbases;
  bool *contiguous;  // per tangent: the graph assumes that it is
  size_t ntangents;
  size_t most_tangents;  // room in `contiguous`
} ig_aot;

// g: a graph with composite operators, writes and views, as captured; placeholders require grad as
// their values do. grad: gradients are recorded; if no output depends on an input that requires
// grad, the result is not joint. IG_RUNTIME and others: what a run would report.
IG_API IG_MUST_USE ig_status ig_aot_create(ig_ctx *c, const ig_graph *g, bool grad, ig_aot **out);
IG_API void ig_aot_free(ig_aot *a);  // NULL is allowed.

// The views that lead from the base of output i to it: the placeholders are the base and the
// symbolic numbers among the inputs. *out is NULL if there is no such graph.
IG_API IG_MUST_USE ig_status ig_aot_view(ig_ctx *c, const ig_aot *a, size_t i, ig_graph **out);

typedef enum ig_partition_method {
  IG_PARTITION_DEFAULT,  // the forward graph computes what its outputs need, everything else is
                         // backward
  IG_PARTITION_MIN_CUT,  // the least memory is saved in between, cheap values are computed again
} ig_partition_method;

typedef struct ig_partition_args {
  size_t size;  // sizeof(ig_partition_args)
  ig_partition_method method;
  size_t nforward;   // outputs of the forward graph: the first ones
  size_t ntangents;  // placeholders of the backward graph: the last ones
} ig_partition_args;

// forward: the outputs, saved tensors, saved numbers. backward: takes saved numbers, saved tensors
// and tangents, and returns the other outputs.
typedef struct ig_partitions {
  ig_graph *forward;
  ig_graph *backward;
  size_t nsaved;    // tensors
  size_t nnumbers;  // symbolic numbers
} ig_partitions;

// Divides a functional joint graph. IG_INVALID: fewer outputs or placeholders than args says.
// IG_UNSUPPORTED: the backward graph needs something that cannot be saved.
IG_API IG_MUST_USE ig_status ig_partition(ig_ctx *c, const ig_graph *joint,
                                          const ig_partition_args *args, ig_partitions *out);
IG_API void ig_partitions_free(ig_partitions *p);  // Frees both graphs.

IG_END_DECLS

#endif
