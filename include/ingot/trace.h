// SPDX-License-Identifier: Apache-2.0
// The values of a run, and where two runs begin to differ: of two models, or of one model on two
// runtimes. Values are matched by their numbers and by what they are computed from; names help
// where they agree, but need not.
//
//   ig_run_trace *a = NULL;
//   ig_run_trace *b = NULL;
//   ig_divergence d;
//   if (ig_run_trace_take(c, m, s, false, &a) == IG_OK && ig_run_trace_take(c, n, t, true, &b) ==
//   IG_OK &&
//       ig_run_trace_compare(c, a, b, NULL, &d) == IG_OK && d.found) ...
#ifndef INGOT_TRACE_H_
#define INGOT_TRACE_H_

#include "ingot/diff.h"

IG_BEGIN_DECLS

// Belongs to one context. It keeps the tensors of all its values alive.
typedef struct ig_run_trace ig_run_trace;

// Runs a session of the model on what it was given and keeps the values. planned: those that the
// steps of its plan compute, which are fewer; otherwise the run is interpreted. IG_UNSUPPORTED:
// there is no plan. The caller frees the trace; the session may be freed before.
IG_API IG_MUST_USE ig_status ig_run_trace_take(ig_ctx *c, const ig_model *m, ig_session *s,
                                               bool planned, ig_run_trace **out);

// A trace of the weights and of what a session was given, for values that another runtime computes.
// They are added in the order of their computation, under the names that they have in the file.
// What a value is computed from follows from the file.
IG_API IG_MUST_USE ig_status ig_run_trace_begin(ig_ctx *c, const ig_model *m, const ig_session *s,
                                                ig_run_trace **out);
IG_API IG_MUST_USE ig_status ig_run_trace_add(ig_run_trace *t, const char *name, ig_tensor *value);
// Says that a value that was added is the next output of the model. IG_NOT_FOUND: there is none of
// that name.
IG_API IG_MUST_USE ig_status ig_run_trace_output(ig_run_trace *t, const char *name);
IG_API void ig_run_trace_free(ig_run_trace *t);  // NULL is allowed.

typedef struct ig_run_trace_value {
  const char *name;    // "" : it has none
  const char *target;  // "aten.add.Tensor", "Conv"; "": a weight or an input
  ig_tensor *tensor;
  const char *module;  // path of the innermost module; "": not known
  const char *type;    // of that module
  ig_frame at;         // the user's line; file NULL: not known
} ig_run_trace_value;
IG_API size_t ig_run_trace_count(const ig_run_trace *t);
IG_API bool ig_run_trace_at(const ig_run_trace *t, size_t i, ig_run_trace_value *out);

// A value of one trace and the one of the other that corresponds to it.
typedef struct ig_run_trace_pair {
  int64_t a;  // places in the traces; -1: there is none
  int64_t b;
  ig_tensor_diff diff;
} ig_run_trace_pair;

typedef struct ig_divergence {
  bool found;               // some output differs, or values of the same name do
  bool in_outputs;          // some output differs
  size_t values;            // of a, without weights and inputs
  size_t agree;             // of them, those with a counterpart in b that agrees
  ig_run_trace_pair first;  // the first that differs; b -1: nothing in b corresponds to it
  // What it is computed from, and how that agrees.
  const ig_run_trace_pair *reads;
  size_t nreads;
  // All pairs that agree, in the order of a.
  const ig_run_trace_pair *pairs;
  size_t npairs;
} ig_divergence;

// Results are in the innermost scope. tolerances: one per dtype (IG_DTYPE_COUNT of them); NULL: the
// defaults. Where the dtypes of two values differ, that of the coarser one counts.
IG_API IG_MUST_USE ig_status ig_run_trace_compare(ig_ctx *c, const ig_run_trace *a,
                                                  const ig_run_trace *b,
                                                  const ig_tolerance *tolerances,
                                                  ig_divergence *out);

IG_END_DECLS

#endif
