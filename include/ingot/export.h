// SPDX-License-Identifier: Apache-2.0
// From a model to a program: the capture, then the passes of a level, in the order that PyTorch
// has. All front ends use it, so that a model written in C and its Python equivalent give the same
// program.
//
//   ig_export_args args = {.size = sizeof args, .fn = forward, .inputs = &x, .ninputs = 1,
//   .noutputs = 1}; ig_program *p = NULL; ig_status st = ig_export(c, &args, &p);
#ifndef INGOT_EXPORT_H_
#define INGOT_EXPORT_H_

#include "ingot/dims.h"
#include "ingot/program.h"

IG_BEGIN_DECLS

// How far a program is lowered.
typedef enum ig_level {
  IG_LEVEL_INFERENCE,   // functional, composite operators kept: torch.export.export
  IG_LEVEL_TRAINING,    // as captured, in-place operators kept: export_for_training
  IG_LEVEL_DISPATCHED,  // functional, composite operators decomposed: _export(pre_dispatch=False)
  IG_LEVEL_DECOMPOSED,  // Core ATen: IG_LEVEL_INFERENCE and run_decompositions()
  IG_LEVEL_CAPTURED,    // no passes after the capture; placeholders are arg0_1, arg1_1, ...
} ig_level;

typedef struct ig_export_input {
  const char *name;
  ig_tensor *example;
  const ig_dim *dims;  // one per dimension; NULL: as the example
} ig_export_input;
typedef struct ig_export_state {
  ig_state_kind kind;
  const char *name;
  ig_tensor *value;
} ig_export_state;

// A model as a C function. fn computes its outputs by operator calls on fake inputs; it may read
// and write the real tensors listed in `state`.
typedef struct ig_export_args {
  size_t size;  // sizeof(ig_export_args)
  void (*fn)(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user);
  void *user;
  const ig_export_input *inputs;
  size_t ninputs;
  const ig_export_state *state;  // in the order of its state_dict
  size_t nstate;
  size_t noutputs;
  ig_level level;
  // A draft produces a program where an export would fail: data-dependent decisions follow the
  // examples and are asserted, dims become what the program allows. ig_program_report
  // (ingot/report.h) lists the issues.
  bool draft;
} ig_export_args;
IG_API IG_MUST_USE ig_status ig_export(ig_ctx *c, const ig_export_args *args, ig_program **out);

IG_END_DECLS

#endif
