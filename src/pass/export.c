// SPDX-License-Identifier: Apache-2.0
// C functions as models of the pipeline.
#include "ingot/export.h"

#include <string.h>

#include "base/options.h"
#include "pass/pipeline.h"

typedef struct model {
  const ig_export_args *args;
  ig_export_input *inputs;  // with the dims of this attempt
  ig_tensor **fakes;
} model;

// Parameters, then buffers, as a module has them; constants get a placeholder when they are used.
static bool declare_state(ig_ctx *c, const ig_export_args *a) {
  for (int buffers = 0; buffers < 2; buffers++) {
    for (size_t i = 0; i < a->nstate; i++) {
      const ig_export_state *s = &a->state[i];
      if (s->kind == IG_STATE_CONSTANT || (s->kind != IG_STATE_PARAMETER) != buffers) continue;
      if (!ig_capture_alias(c, s->kind, s->name, s->value)) return false;
    }
  }
  const char **names = ig_scope_array(c, a->nstate, sizeof *names);
  size_t n = 0;
  for (size_t i = 0; names && i < a->nstate; i++) {
    const ig_export_state *s = &a->state[i];
    if (s->kind != IG_STATE_CONSTANT) names[n++] = s->name;
  }
  if (names) ig_capture_order_state(c, names, n);
  for (size_t i = 0; i < a->nstate; i++) {
    const ig_export_state *s = &a->state[i];
    if (s->kind == IG_STATE_CONSTANT) ig_capture_name(c, s->kind, s->name, s->value);
  }
  return c->status == IG_OK;
}

static void declare(ig_ctx *c, void *user) {
  const model *m = user;
  bool ok = declare_state(c, m->args);
  for (size_t i = 0; ok && i < m->args->ninputs; i++) {
    const ig_export_input *in = &m->inputs[i];
    m->fakes[i] = ig_capture_input_dims(c, in->name, NULL, in->example, in->dims);
    ok = m->fakes[i] != NULL;
  }
}

static void run(ig_ctx *c, ig_forward *out, void *user) {
  const model *m = user;
  size_t n = m->args->noutputs;
  ig_tensor **made = ig_scope_array(c, n, sizeof *made);
  ig_value *outs = ig_scope_array(c, n, sizeof *outs);
  if (!made || !outs) return;
  for (size_t i = 0; i < n; i++) made[i] = NULL;
  m->args->fn(c, m->fakes, made, m->args->user);
  for (size_t i = 0; i < n; i++) {
    outs[i] = ig_of_tensor(made[i]);
    if (!made[i] && c->status == IG_OK) {
      (void)ig_fail(c, IG_INVALID, "output %zu: the model returned no tensor", i);
    }
  }
  out->outs = outs;
  out->nouts = n;
}

// ---- drafts ----

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
    *d = (ig_dim){.kind = IG_DIM_AUTO};  // another root, which the program determines
  }
}

static bool refine(ig_ctx *c, ig_status status, const ig_dim_fix *fixes, size_t n, void *user) {
  const model *m = user;
  bool any = false;
  if (status == IG_HOST) return false;
  for (size_t i = 0; i < m->args->ninputs && c->status == IG_OK; i++) {
    ig_export_input *in = &m->inputs[i];
    size_t ndim = (size_t)ig_tensor_ndim(in->example);
    ig_dim *dims = in->dims ? ig_scope_array(c, ndim, sizeof *dims) : NULL;
    for (size_t d = 0; dims && d < ndim; d++) {
      dims[d] = in->dims[d];
      bool dynamic = dims[d].kind > IG_DIM_INT;
      any = any || dynamic;
      if (n) {
        apply(fixes, n, &dims[d]);
      } else if (dynamic) {
        dims[d] = (ig_dim){.kind = IG_DIM_AUTO};
      }
    }
    if (dims) in->dims = dims;
  }
  return any && c->status == IG_OK;
}

static ig_status check(ig_ctx *c, const ig_export_args *args) {
  for (size_t i = 0; i < args->nstate; i++) {
    if (args->state[i].value) continue;
    return ig_fail(c, IG_INVALID, "state '%s': found no tensor", args->state[i].name);
  }
  for (size_t i = 0; i < args->ninputs; i++) {
    if (args->inputs[i].example) continue;
    return ig_fail(c, IG_INVALID, "input '%s': found no example", args->inputs[i].name);
  }
  return c->status;
}

static ig_status run_model(ig_ctx *c, const ig_export_args *args, ig_program **out) {
  model m = {.args = args,
             .inputs = ig_scope_array(c, args->ninputs, sizeof *m.inputs),
             .fakes = ig_scope_array(c, args->ninputs, sizeof *m.fakes)};
  if (!m.inputs || !m.fakes) return c->status;
  for (size_t i = 0; i < args->ninputs; i++) m.inputs[i] = args->inputs[i];
  ig_front front = {.declare = declare,
                    .run = run,
                    .refine = refine,
                    .advice = "IG_DIM_AUTO lets the program decide which sizes are dynamic\n",
                    .user = &m};
  ig_pipeline o = {.level = args->level, .asserts = true};
  return (args->draft ? ig_pipeline_draft : ig_pipeline_run)(c, &o, &front, out);
}

ig_status ig_export(ig_ctx *c, const ig_export_args *args, ig_program **out) {
  ig_export_args all;
  IG_OPTIONS_TAKE(&all, args, draft);
  *out = NULL;
  if (c->status != IG_OK || check(c, &all) != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  ig_status st = run_model(c, &all, out);
  ig_scope_close(c, s);
  return st;
}
