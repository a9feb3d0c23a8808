// SPDX-License-Identifier: Apache-2.0
// Internals of a session.
#ifndef MODEL_SESSION_H_
#define MODEL_SESSION_H_

#include "model/compiled.h"
#include "model/model.h"
#include "rt/plan.h"

struct ig_session {
  ig_ctx *c;
  ig_model *m;
  size_t nin;
  size_t nout;
  bool *given;              // per input
  ig_value *inputs;         // per input of the model; tensors retained, texts in `texts`
  ig_arena *texts;          // per input
  ig_value *outputs;        // per output of the model; tensors retained, lists and texts in `lists`
  size_t nweights;          // placeholders of the program
  ig_tensor **values;       // new values of its buffers, retained; NULL: the model's own
  ig_value *args;           // per placeholder: what the run in progress gets
  ig_value *results;        // per output: what it gave
  ig_plan *plan;            // NULL: every run is interpreted
  ig_plan_target *targets;  // per output: memory of the caller
  bool bound;               // some output has such memory
  ig_session_options options;
  ig_limits limits;  // of a run: complete
  bool profiled;
  ig_arena memory;  // the arrays above
  ig_arena lists;   // of the last run
  bool ran;
  void *state;  // of the format; NULL: not started
  ig_session_watch_fn *watch;
  void *watch_user;
  ig_session_tell_fn *tell;  // of steps; NULL: nobody watches
  void *tell_user;
};

// The references of a value and of what it lists.
void ig_session_retain(const ig_value *v);
void ig_session_release(ig_value *v);

void ig_session_forget_outputs(ig_session *s);

ig_precision ig_session_precision(const ig_session *s);  // never IG_PRECISION_DEFAULT
// The form of linear layers that it stands for; IG_LAYER_NONE: the one of f32.
ig_layer_method ig_session_narrow(const ig_session *s);
// Runs on what was given and measures what these weights lose.
ig_status ig_session_measure(ig_session *s, const ig_plan_measure *m);

#endif
