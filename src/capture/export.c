// SPDX-License-Identifier: Apache-2.0
// Capture of a C function.
#include "ingot/dims.h"
#include "op/record.h"

static bool declare(ig_ctx *c, const ig_export_args *a, ig_tensor **inputs) {
  for (int kind = IG_STATE_PARAMETER; kind <= IG_STATE_CONSTANT; kind++) {
    for (size_t i = 0; i < a->nstate; i++) {
      const ig_export_state *s = &a->state[i];
      if ((int)s->kind == kind && !ig_capture_state(c, s->kind, s->name, s->value)) return false;
    }
  }
  for (size_t i = 0; i < a->ninputs; i++) {
    const ig_export_input *in = &a->inputs[i];
    inputs[i] = ig_capture_input_dims(c, in->name, NULL, in->example, in->dims);
    if (!inputs[i]) return false;
  }
  return ig_capture_inputs_done(c) == IG_OK;
}

static ig_status capture(ig_ctx *c, const ig_export_args *a, ig_program **out) {
  ig_tensor **inputs = ig_scope_push(c, a->ninputs * sizeof *inputs + 1);
  ig_tensor **made = ig_scope_push(c, a->noutputs * sizeof *made + 1);
  ig_value *outs = ig_scope_push(c, a->noutputs * sizeof *outs + 1);
  if (!inputs || !made || !outs) return c->status;
  IG_RETURN_IF_ERR(ig_capture_begin(c));
  for (size_t i = 0; i < a->noutputs; i++) made[i] = NULL;
  if (declare(c, a, inputs)) a->fn(c, inputs, made, a->user);
  for (size_t i = 0; i < a->noutputs; i++) outs[i] = ig_of_tensor(made[i]);
  (void)ig_capture_solve(c, NULL);  // its error is the one that the end returns
  return ig_capture_end_program(c, outs, a->noutputs, out);
}

ig_status ig_export(ig_ctx *c, const ig_export_args *args, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  for (size_t i = 0; i < args->nstate; i++) {
    if (args->state[i].value) continue;
    return ig_fail(c, IG_INVALID, "state '%s': found no tensor", args->state[i].name);
  }
  for (size_t i = 0; i < args->ninputs; i++) {
    if (args->inputs[i].example) continue;
    return ig_fail(c, IG_INVALID, "input '%s': found no example", args->inputs[i].name);
  }
  ig_scope s = ig_scope_open(c);
  ig_status st = capture(c, args, out);
  ig_scope_close(c, s);
  return st;
}
