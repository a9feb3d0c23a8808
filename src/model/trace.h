// SPDX-License-Identifier: Apache-2.0
// Internals of traces.
#ifndef MODEL_TRACE_H_
#define MODEL_TRACE_H_

#include "base/map.h"
#include "ingot/stats.h"
#include "ingot/trace.h"
#include "model/model.h"

struct ig_om_node;

typedef struct ig_traced {
  const char *name;
  const char *target;
  ig_tensor *tensor;  // retained
  bool given;         // a weight or an input
  const ig_node *node;
  size_t read;  // the first of nreads places in `reads`
  size_t nreads;
  ig_stats stats;
} ig_traced;

typedef struct ig_run_trace_output_of {
  size_t place;
  bool user;  // an output of the user, not a new value of a buffer or input
} ig_run_trace_output_of;

struct ig_run_trace {
  ig_ctx *c;
  ig_model *m;  // retained
  ig_arena arena;
  IG_VEC(ig_traced) values;
  IG_VEC(size_t) reads;
  IG_VEC(ig_run_trace_output_of) outputs;  // in their order
  ig_map latest;                           // name -> place of the last value of that name, plus one
  ig_map nodes;                            // name -> node of the program that computes it
  ig_map onnx_nodes;                       // name -> node of the ONNX model
};

// The tolerances of a dtype that count unless others are given.
ig_tolerance ig_tolerance_of(ig_dtype dtype);
// Two tensors element by element in row-major order, whatever their sizes; floating point may have
// two dtypes.
void ig_tensor_compare_flat(ig_ctx *c, ig_tensor *got, ig_tensor *want,
                            const ig_tolerance *tolerance, ig_tensor_diff *out);

#endif
