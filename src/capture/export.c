// SPDX-License-Identifier: Apache-2.0
// Capture of a C function; drafts repeat it with other dims until it succeeds.
#include <string.h>

#include "ingot/dims.h"
#include "ir/program.h"
#include "op/draft.h"
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
  ig_tensor **inputs = ig_scope_array(c, a->ninputs, sizeof *inputs);
  ig_tensor **made = ig_scope_array(c, a->noutputs, sizeof *made);
  ig_value *outs = ig_scope_array(c, a->noutputs, sizeof *outs);
  if (!inputs || !made || !outs) return c->status;
  IG_RETURN_IF_ERR(ig_capture_begin(c));
  for (size_t i = 0; i < a->noutputs; i++) made[i] = NULL;
  if (declare(c, a, inputs)) a->fn(c, inputs, made, a->user);
  for (size_t i = 0; i < a->noutputs; i++) outs[i] = ig_of_tensor(made[i]);
  (void)ig_capture_solve(c, NULL);  // its error is the one that the end returns
  return ig_capture_end_program(c, outs, a->noutputs, out);
}

// ---- drafts ----

enum { ATTEMPTS = 5, REFINED = 3 };

static const ig_dim_fix *fix_for(const ig_dim_fix *fixes, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(fixes[i].name, name) == 0) return &fixes[i];
  }
  return NULL;
}

static void apply(const ig_dim_fix *fixes, size_t n, ig_dim *d) {
  bool derived = d->kind == IG_DIM_DERIVED;
  if (!derived && d->kind != IG_DIM_NAMED) return;
  const ig_dim_fix *f = fix_for(fixes, n, d->name);
  const ig_dim_fix *root = derived && !f ? fix_for(fixes, n, d->root) : NULL;
  if (f && f->kind == IG_FIX_INT) {
    *d = (ig_dim){.kind = IG_DIM_INT, .lo = f->value};
  } else if (root && root->kind == IG_FIX_INT) {
    *d = (ig_dim){.kind = IG_DIM_INT, .lo = d->k * root->value + d->c};
  } else if (f && f->kind == IG_FIX_RANGE) {
    d->lo = f->lo == INT64_MIN ? 0 : f->lo;
    d->hi = f->hi;
  } else if (f || root) {
    *d = (ig_dim){.kind = IG_DIM_AUTO};  // another root, which the program knows best
  }
}

// The dims for another attempt: what the message suggests, at last whatever the program allows.
static bool refine(ig_ctx *c, const char *message, int attempt, size_t n, ig_export_input *inputs) {
  const ig_dim_fix *fixes = NULL;
  size_t nfixes = attempt < REFINED ? ig_dim_fixes(c, message, &fixes) : 0;
  bool any = false;
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    const ig_dim *old = inputs[i].dims;
    size_t ndim = (size_t)inputs[i].example->ndim;
    ig_dim *dims = old ? ig_scope_array(c, ndim, sizeof *dims) : NULL;
    for (size_t d = 0; dims && d < ndim; d++) {
      dims[d] = old[d];
      bool dynamic = old[d].kind > IG_DIM_INT;
      any = any || dynamic;
      if (nfixes) {
        apply(fixes, nfixes, &dims[d]);
      } else if (dynamic) {
        dims[d] = (ig_dim){.kind = IG_DIM_AUTO};
      }
    }
    if (dims) inputs[i].dims = dims;
  }
  return any && c->status == IG_OK;
}

// What the capture refused before it could say where.
static void tell_rest(ig_ctx *c, const char *message) {
  ig_issue issue = {.kind = IG_ISSUE_CONSTRAINT,
                    .file = "",
                    .reason = message,
                    .fix = "IG_DIM_AUTO lets the program decide which sizes are dynamic\n"};
  const ig_issue *known = NULL;
  if (ig_report_issues(c->draft->report, &known) == 0) ig_issue_tell(c, &issue);
}

static ig_status draft(ig_ctx *c, const ig_export_args *args, ig_program **out) {
  ig_export_args a = *args;
  ig_export_input *inputs = ig_scope_array(c, a.ninputs, sizeof *inputs);
  if (!inputs) return c->status;
  for (size_t i = 0; i < a.ninputs; i++) inputs[i] = a.inputs[i];
  a.inputs = inputs;
  IG_RETURN_IF_ERR(ig_draft_open(c));
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    ig_status st = capture(c, &a, out);
    if ((st != IG_USER_ERROR && st != IG_CONSTRAINT) || attempt + 1 == ATTEMPTS) break;
    ig_str message = ig_str_make(c->alloc);
    ig_str_add(&message, "%s", c->message);
    ig_ctx_clear(c);
    tell_rest(c, message.at);
    bool again = refine(c, message.at, attempt, a.ninputs, inputs);
    if (!again && c->status == IG_OK) ig_fail_text(c, st, "%s", message.at);
    ig_str_free(&message);
    if (!again) break;
  }
  ig_report *r = ig_draft_close(c);
  if (*out) ig_program_set_report(*out, r);
  ig_ref_release(&r->ref);
  return c->status;
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
  ig_status st = (args->draft ? draft : capture)(c, args, out);
  ig_scope_close(c, s);
  return st;
}
