// SPDX-License-Identifier: Apache-2.0
// Programs made from bytes: a sequence of calls that ran eagerly, or that only the rules for shapes
// have accepted, each of which may use the results of earlier ones, and the same calls repeated on
// other tensors.
#ifndef TESTS_FUZZ_PROGRAM_H_
#define TESTS_FUZZ_PROGRAM_H_

#include "ingot/program.h"
#include "values.h"

enum { FUZZ_CALLS = 48, FUZZ_INPUTS = 80 };

typedef struct fuzz_step {
  fuzz_call call;
  size_t first;  // its results in the pool
  size_t count;
} fuzz_step;

typedef struct fuzz_program {
  ig_ctx *c;
  draw d;
  bool grads;     // inputs require gradients
  bool inferred;  // calls are not run: kernels meet what the rules for shapes let through
  fuzz_pool pool;
  fuzz_step steps[FUZZ_CALLS];
  size_t nsteps;
  size_t inputs[FUZZ_INPUTS];  // members of the pool that are not results of calls
  ig_tensor *originals[FUZZ_INPUTS];
  size_t ninputs;
  size_t outputs[FUZZ_POOL];  // results of calls that the program returns
  size_t noutputs;
  bool torn;         // a failed call may have written something
  bool wrote;        // a call wrote something
  bool unconverted;  // a conversion changed nothing and returned its operand
  bool quantized;    // a tensor is, which programs express by integers
  bool comparable;   // results are a function of the inputs, and it can be captured
  bool fixed;        // captured, all inputs but the first are constants
} fuzz_program;

// Makes calls while there are bytes, at most `calls`, and runs them. The innermost scope owns the
// tensors.
void fuzz_program_make(ig_ctx *c, draw d, size_t calls, bool grads, fuzz_program *p);

// The same without running them: results are fake.
void fuzz_program_infer(ig_ctx *c, draw d, size_t calls, fuzz_program *p);

// An empty program.
void fuzz_program_begin(ig_ctx *c, draw d, bool grads, fuzz_program *p);

// Makes one call, and a step of it. False: it is refused, or there is no room for its values.
bool fuzz_program_call(fuzz_program *p, const fuzz_call *call, ig_value *outs);

// The inputs of what is captured.
static inline size_t fuzz_program_free_inputs(const fuzz_program *p) {
  return p->fixed && p->ninputs ? 1 : p->ninputs;
}

// Makes the calls again: `to` gets the inputs given here and what the calls give. False: a call is
// refused, the context says why.
bool fuzz_program_replay(ig_ctx *c, const fuzz_program *p, ig_tensor *const *inputs, fuzz_pool *to);

// Captures it; NULL: refused. dynamic: some sizes are. Results in the order of p->outputs.
ig_program *fuzz_program_export(fuzz_program *p, bool dynamic, bool draft);

// The same tensor over a copy of its memory; NULL: no memory.
ig_tensor *fuzz_copied(ig_ctx *c, ig_tensor *t);
bool fuzz_same_look(const ig_tensor *a, const ig_tensor *b);  // dtype and sizes

#endif
