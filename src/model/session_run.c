// SPDX-License-Identifier: Apache-2.0
// Running a session: programs and ONNX models by a plan (rt/plan.h), scripts by their interpreter.
#include <string.h>

#include "base/budget.h"
#include "base/cause.h"
#include "base/threads.h"
#include "ingot/dims.h"
#include "ir/print.h"
#include "model/session.h"
#include "op/interpret.h"
#include "tensor/texts.h"

static ig_status all_given(const ig_session *s) {
  for (size_t i = 0; i < s->nin; i++) {
    if (s->given[i]) continue;
    return ig_fail(s->c, IG_INVALID | IG_E_INPUT_MISSING, "%s: input '%s' was not given",
                   s->m->name, s->m->inputs.at[i]->name);
  }
  return IG_OK;
}

static ig_status check_relations(const ig_session *s) {
  const char **paths = ig_scope_array(s->c, s->nin + 1, sizeof *paths);
  if (!paths) return s->c->status;
  for (size_t i = 0; i < s->nin; i++) paths[i] = s->m->inputs.at[i]->name;
  return ig_program_check_inputs(s->c, s->m->runnable, s->inputs, paths, s->nin);
}

// One value per placeholder: weights, buffers as this session has them, inputs.
static void set_arguments(ig_session *s) {
  size_t k = 0;
  size_t user = 0;
  for (const ig_node *n = s->m->runnable->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    s->args[k] = n->role == IG_INPUT_USER ? s->inputs[user++]
                 : s->values[k]           ? ig_of_tensor(s->values[k])
                 : n->constant            ? ig_of_tensor(n->constant)
                                          : ig_none();  // tokens have none
    k++;
  }
}

static ig_status start(ig_session *s) {
  const ig_model_format *f = s->m->format;
  if (!f->start || s->state) return IG_OK;
  s->state = f->start(s->c, s->m);
  return s->state ? IG_OK : s->c->status;
}

// ---- plans

static ig_status admit(ig_ctx *c, void *user, const ig_value *inputs) {
  (void)inputs;  // the session's
  ig_scope scope = ig_scope_open(c);
  ig_status st = check_relations(user);
  ig_scope_close(c, scope);
  return st;
}

static ig_status run_format(ig_ctx *c, void *user, const ig_value *inputs, ig_value *outs) {
  ig_session *s = user;
  IG_RETURN_IF_ERR(start(s));
  return s->m->format->run(c, s->m, s->state, inputs, outs);
}

static bool is_updated(const ig_program *p, const char *target) {
  for (size_t i = 0; target && i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    if (ig_output_is_write(o) && o->target && strcmp(o->target, target) == 0) return true;
  }
  return false;
}

// Weights are the same in every run, except buffers that the program updates.
static bool plan_program(ig_session *s) {
  const ig_program *p = s->m->runnable;
  bool *constant = ig_scope_array(s->c, s->nweights + 1, sizeof *constant);
  if (!constant) return false;
  size_t k = 0;
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    constant[k] = n->role != IG_INPUT_USER && !is_updated(p, p->inputs[k].target);
    k++;
  }
  ig_plan_source source = {.graph = p->graph,
                           .admit = admit,
                           .user = s,
                           .ninputs = s->nweights,
                           .constant = constant,
                           .noutputs = s->nout,
                           .packs = s->m->packs,
                           .narrow = ig_session_narrow(s)};
  s->plan = ig_plan_create(s->c, &source, s->options.without);
  return s->plan != NULL;
}

// Sizes that the model leaves open; "?" is no name.
static bool size_varies(void *user, size_t input, int d, ig_plan_dim *out) {
  const ig_session *s = user;
  const ig_model_port *p = s->m->inputs.at[input];
  if (d >= p->ndim || !p->dims[d]->name) return false;
  if (strcmp(p->dims[d]->name, "?") != 0) out->name = p->dims[d]->name;
  return true;
}

static bool plan_model(ig_session *s) {
  if (s->m->runnable) return plan_program(s);
  if (!s->m->format->pure) return true;
  ig_plan_source source = {.run = run_format,
                           .nodes = s->m->format->nodes,
                           .varies = size_varies,
                           .user = s,
                           .ninputs = s->nin,
                           .noutputs = s->nout,
                           .packs = s->m->packs,
                           .narrow = ig_session_narrow(s)};
  s->plan = ig_plan_create(s->c, &source, s->options.without);
  return s->plan != NULL;
}

static void pass_on(void *user, const ig_plan_value *v) {
  const ig_session *s = user;
  ig_session_value to = {v->name, v->target, v->tensor, v->place, v->reads, v->nreads};
  if (s->tell) s->tell(s->tell_user, &to);
}

void ig_session_watch_steps(ig_session *s, ig_session_tell_fn *fn, void *user) {
  s->tell = fn;
  s->tell_user = user;
  if (s->plan) ig_plan_watch(s->plan, fn ? pass_on : NULL, s);
}

static bool make_plan(ig_session *s) {
  if (s->plan || s->options.interpret) return true;
  if (!plan_model(s)) return false;
  if (s->plan && s->profiled) ig_plan_profile(s->plan, true);
  if (s->plan && s->tell) ig_plan_watch(s->plan, pass_on, s);
  return true;
}

static ig_status interpret(ig_session *s) {
  if (!s->m->runnable) return run_format(s->c, s, s->inputs, s->results);
  IG_RETURN_IF_ERR(check_relations(s));
  return ig_graph_run(s->c, s->m->runnable->graph, s->args, s->nweights, s->results);
}

static ig_status compute(ig_session *s) {
  if (s->m->runnable) set_arguments(s);
  if (!make_plan(s)) return s->c->status;
  if (!s->plan) return interpret(s);
  const char *file = s->c->file;
  int line = s->c->line;
  ig_status st = ig_plan_run(s->plan, s->m->runnable ? s->args : s->inputs,
                             s->bound ? s->targets : NULL, s->results);
  (void)ig_ctx_at(s->c, file, line);
  return st;
}

// New values of buffers are the initial values of the next run.
static void keep_buffers(ig_session *s) {
  for (size_t i = 0; s->m->runnable && i < s->nout; i++) {
    const ig_model_port *p = s->m->outputs.at[i];
    if (p->role != IG_PORT_BUFFER || s->outputs[i].kind != IG_KIND_TENSOR) continue;
    for (size_t k = 0; k < s->nweights; k++) {
      const char *target = s->m->runnable->inputs[k].target;
      if (!target || strcmp(target, p->target) != 0) continue;
      ig_tensor *fresh = ig_tensor_retain(s->outputs[i].tensor);
      ig_tensor_release(s->values[k]);
      s->values[k] = fresh;
    }
  }
}

static ig_status fill_targets(ig_session *s) {
  for (size_t i = 0; s->bound && !s->plan && i < s->nout; i++) {
    const ig_plan_target *to = &s->targets[i];
    const ig_tensor *t = s->outputs[i].kind == IG_KIND_TENSOR ? s->outputs[i].tensor : NULL;
    if (!to->data || !t) continue;
    IG_RETURN_IF_ERR(ig_session_read(s, s->m->outputs.at[i]->name, to->data, to->bytes));
  }
  return IG_OK;
}

// Results belong to the session.
static ig_status take_results(ig_session *s) {
  for (size_t i = 0; i < s->nout; i++) {
    if (!ig_texts_copy(s->c, &s->lists, &s->results[i])) return s->c->status;
  }
  for (size_t i = 0; i < s->nout; i++) {
    ig_session_retain(&s->results[i]);
    s->outputs[i] = s->results[i];
  }
  return IG_OK;
}

// ---- what a run may use

typedef struct allowance {
  ig_account account;
  ig_loan loan;
  uint64_t memory;
} allowance;

static allowance allow(const ig_session *s) {
  ig_ctx *c = s->c;
  int seat;
  allowance outer = {ig_account_open(c, &s->limits), {NULL, 0}, ig_budget_limit(c->alloc)};
  int threads = s->options.threads ? s->options.threads : ig_threads_get();
  outer.loan = ig_threads_lend((ig_loan){ig_threads_lent(&seat), threads});
  if (s->options.limits && s->limits.max_memory < outer.memory) {
    ig_budget_set(c->alloc, s->limits.max_memory);
  }
  return outer;
}

static void put_back(const ig_session *s, const allowance *outer) {
  ig_budget_set(s->c->alloc, outer->memory);
  (void)ig_threads_lend(outer->loan);
  ig_account_close(s->c, &outer->account);
}

void ig_session_cancel(ig_session *s) {
  ig_cancel(s->c);
}

ig_status ig_session_run(ig_session *s) {
  ig_ctx *c = s->c;
  if (c->status != IG_OK) return c->status;
  IG_RETURN_IF_ERR(all_given(s));
  ig_session_forget_outputs(s);
  ig_scope scope = ig_scope_open(c);
  ig_watch watch = {s->watch, s->watch_user};
  ig_mode_change change = {IG_MODE_NO_GRAD | IG_MODE_WATCH,
                           {.no_grad = true, .watch = s->watch ? &watch : NULL}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  const allowance outer = allow(s);
  ig_status st = compute(s);
  put_back(s, &outer);
  ig_mode_pop(c, &mode);
  if (st == IG_OK) st = take_results(s);
  ig_scope_close(c, scope);
  if (st != IG_OK) return st;
  keep_buffers(s);
  s->ran = true;
  return fill_targets(s);
}

ig_status ig_session_export(ig_session *s, ig_program **out) {
  *out = NULL;
  if (s->c->status != IG_OK) return s->c->status;
  if (!s->m->format->export) {
    return ig_fail(s->c, IG_UNSUPPORTED | IG_E_NO_PROGRAM, "%s: %s", s->m->name,
                   s->m->program ? "it has a program already" : "it cannot be captured");
  }
  IG_RETURN_IF_ERR(all_given(s));
  IG_RETURN_IF_ERR(start(s));
  const ig_account outer = ig_account_open(s->c, &s->m->limits);
  ig_status st = s->m->format->export(s->c, s->m, s->state, s->inputs, out);
  ig_account_close(s->c, &outer);
  return st;
}

// ---- looking

char *ig_session_plan_text(ig_session *s) {
  ig_ctx *c = s->c;
  if (c->status != IG_OK || all_given(s) != IG_OK) return NULL;
  ig_str text = ig_str_make(c->alloc);
  ig_scope scope = ig_scope_open(c);
  const allowance outer = allow(s);
  if (s->m->runnable) set_arguments(s);
  if (make_plan(s) && s->plan) {
    ig_mode_scope mode = ig_mode_push_grad(c, false);
    (void)ig_plan_print(s->plan, s->m->runnable ? s->args : s->inputs, &text);
    ig_mode_pop(c, &mode);
  } else {
    ig_str_add(&text, "not planned: every run is interpreted\n");
  }
  put_back(s, &outer);
  ig_scope_close(c, scope);
  return ig_print_end(c, &text);
}

ig_status ig_session_measure(ig_session *s, const ig_plan_measure *m) {
  ig_ctx *c = s->c;
  IG_RETURN_IF_ERR(all_given(s));
  ig_scope scope = ig_scope_open(c);
  const allowance outer = allow(s);
  if (s->m->runnable) set_arguments(s);
  if (make_plan(s) && s->plan) {
    ig_mode_scope mode = ig_mode_push_grad(c, false);
    (void)ig_plan_measure_losses(s->plan, s->m->runnable ? s->args : s->inputs, m);
    ig_mode_pop(c, &mode);
  }
  put_back(s, &outer);
  ig_scope_close(c, scope);
  return c->status;
}
