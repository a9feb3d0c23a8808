// SPDX-License-Identifier: Apache-2.0
// The export pipeline. A front end supplies a model: callbacks that declare its state and inputs,
// run its forward, and choose other dims for a draft. Everything else is common.
#ifndef PASS_PIPELINE_H_
#define PASS_PIPELINE_H_

#include "ingot/export.h"
#include "ir/program.h"

// The results of the forward. Everything lives at least as long as the innermost scope.
typedef struct ig_forward {
  const ig_value
      *outs;  // the results, then nkept values that are outputs until their names are known
  size_t nouts;
  size_t nkept;
  const ig_capture_write *writes;  // buffers that were assigned
  size_t nwrites;
  // A strict capture's state in the order of use, see ig_capture_arrange_state.
  ig_tensor *const *state;
  const size_t *groups;  // NULL: none
  size_t nstate;
  const ig_map *shown;  // path of a weight -> path that it is named after; NULL: none
} ig_forward;

// Errors are set in the context.
typedef struct ig_front {
  void (*declare)(ig_ctx *c, void *user);  // a capture is open: state and inputs
  void (*run)(ig_ctx *c, ig_forward *out, void *user);
  void (*close)(ig_ctx *c, void *user);  // the capture has ended, successfully or not; may be NULL
  // The names of the kept values in the finished program (NULL: a constant); may be NULL.
  void (*keep)(ig_ctx *c, const char *const *names, size_t n, void *user);
  // Drafts: chooses other dims for the next attempt: these fixes, or (none) whatever the program
  // allows. False: there is nothing to change. The context's error has been cleared; `status` is
  // what it was.
  bool (*refine)(ig_ctx *c, ig_status status, const ig_dim_fix *fixes, size_t n, void *user);
  const char *advice;  // drafts: the edit that has the effect of the last attempt
  void *user;
} ig_front;

typedef struct ig_pipeline {
  ig_level level;
  bool strict;                // messages and order of a strict capture
  bool asserts;               // insert runtime assertions
  bool no_forced;             // see ig_solve_options
  bool allow_complex_guards;  // the same
  bool late_sizes;            // training: sizes are read where they are needed, not first
  bool free_conversions;      // see ig_graph
  bool verify;                // after every stage; builds with assertions always do
  ig_sym *sym;                // symbols of fake inputs and weights; NULL: none
} ig_pipeline;

IG_MUST_USE ig_status ig_pipeline_run(ig_ctx *c, const ig_pipeline *o, const ig_front *front,
                                      ig_program **out);
// The same as a draft; the program has its report.
IG_MUST_USE ig_status ig_pipeline_draft(ig_ctx *c, const ig_pipeline *o, const ig_front *front,
                                        ig_program **out);

#endif
