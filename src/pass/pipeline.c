// SPDX-License-Identifier: Apache-2.0
// The stages of an export, in order:
//
//   capture -> lowering of the level -> assertions -> regions -> names -> symbols
//
// A stage takes a program and returns one, possibly the same. In between the verifier checks it, if
// requested or if the build has assertions.
#include "pass/pipeline.h"

#include <string.h>

#include "capture/dims.h"
#include "ingot/pass.h"
#include "op/draft.h"
#include "op/grad_mode.h"
#include "op/record.h"
#include "pass/pass.h"
#include "sym/env.h"

typedef struct export {
  ig_ctx *c;
  const ig_pipeline *o;
  const ig_front *front;
  ig_forward forward;
  ig_program *p;  // result of the last stage; NULL: none
}
export;

// ---- capture ----

static bool begin(const export *e) {
  ig_ctx *c = e->c;
  const ig_pipeline *o = e->o;
  if (ig_capture_begin_in(c, o->sym ? o->sym : c->mode->ambient) != IG_OK) return false;
  ig_graph *g = c->mode->capture;
  g->strict = o->strict;
  g->free_conversions = o->free_conversions;
  g->inference = o->level != IG_LEVEL_TRAINING && o->level != IG_LEVEL_CAPTURED;
  g->implied_casts = o->strict && o->level == IG_LEVEL_INFERENCE;
  g->unnamed = true;
  if (o->level == IG_LEVEL_TRAINING) g->release = IG_RELEASE_2_5;
  return true;
}

// The origin of a parameter or buffer is the function that first uses it.
static void name_sources(const ig_graph *g) {
  for (ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    bool state = n->role == IG_INPUT_PARAMETER || n->role == IG_INPUT_BUFFER;
    if (!state || !n->first_use) continue;
    n->meta.text[IG_META_SOURCE_FN] = n->first_use->user->meta.text[IG_META_SOURCE_FN];
  }
}

static void trace(export *e) {
  ig_ctx *c = e->c;
  const ig_forward *f = &e->forward;
  ig_solve_options solve = {.size = sizeof solve,
                            .strict = e->o->strict,
                            .no_forced = e->o->no_forced,
                            .allow_complex_guards = e->o->allow_complex_guards,
                            .ask_empty = !e->o->strict};
  (void)ig_capture_options(c, &solve);
  e->front->declare(c, e->front->user);
  (void)ig_capture_inputs_done(c);
  if (c->status == IG_OK) e->front->run(c, &e->forward, e->front->user);
  if (!e->o->strict) (void)ig_capture_ask_outputs(c, f->outs, f->nouts - f->nkept);
  if (c->status == IG_OK) (void)ig_capture_solve(c, &solve);
  if (c->status != IG_OK || !e->o->strict) return;
  ig_capture_arrange_state(c, f->state, f->groups, f->nstate);
  ig_graph_merge_grad_modes(c, c->mode->capture, !c->mode->no_grad);
}

static bool capture(export *e) {
  ig_ctx *c = e->c;
  const ig_forward *f = &e->forward;
  if (!begin(e)) return false;
  trace(e);
  if (c->status == IG_OK) {
    (void)!ig_capture_end_writes(c, f->writes, f->nwrites, f->outs, f->nouts, &e->p);
  }
  ig_capture_abort(c);  // scopes left open by an error
  if (e->front->close) e->front->close(c, e->front->user);
  if (c->status == IG_OK && e->o->strict) name_sources(e->p->graph);
  return c->status == IG_OK;
}

// ---- stages ----

typedef ig_status (*pass)(ig_ctx *c, ig_program *p, ig_program **out);

static bool verify(const export *e) {
#ifdef NDEBUG
  if (!e->o->verify) return true;
#endif
  return ig_program_verify(e->c, e->p) == IG_OK;
}

static bool apply(export *e, pass fn) {
  ig_program *next = NULL;
  if (fn(e->c, e->p, &next) != IG_OK) return false;
  ig_program_free(e->p);
  e->p = next;
  return verify(e);
}

static ig_status functionalize(ig_ctx *c, ig_program *p, ig_program **out) {
  return ig_program_functionalize(c, p, out);
}

// The program was just captured: every composite operator is decomposed as by its dispatch.
static ig_status dispatch(ig_ctx *c, ig_program *p, ig_program **out) {
  ig_decompose_args args = {.size = sizeof args, .level = IG_DECOMPOSE_COMPOSITE, .once = true};
  return ig_program_decompose(c, p, &args, out);
}

static ig_status decompose(ig_ctx *c, ig_program *p, ig_program **out) {
  ig_decompose_args args = {.size = sizeof args, .level = IG_DECOMPOSE_CORE};
  return ig_program_decompose(c, p, &args, out);
}

static bool assertions(export *e) {
  if (!e->p) return false;
  const ig_env *env = e->p->graph->sym->env;
  bool asked = env && env->asserts.n > 0;
  if (!e->o->asserts || (e->o->late_sizes && !asked)) return true;
  return ig_program_place_asserts(e->c, e->p) == IG_OK && verify(e);
}

static bool lower(export *e) {
  switch (e->o->level) {
    case IG_LEVEL_TRAINING:
      ig_program_set_training(e->p, true);
      if (!e->o->late_sizes && !ig_program_read_sizes_first(e->c, e->p)) return false;
      return assertions(e) && verify(e);
    case IG_LEVEL_DISPATCHED:
      return apply(e, dispatch) && assertions(e);
    case IG_LEVEL_INFERENCE:
    case IG_LEVEL_DECOMPOSED:
      return apply(e, functionalize) && assertions(e) && apply(e, ig_program_wrap_grad_regions);
    default:
      return true;
  }
}

// Kept values have names now, and are no longer outputs.
static bool let_go(export *e) {
  size_t n = e->forward.nkept;
  const ig_output_spec *specs = NULL;
  size_t all = ig_program_outputs(e->p, &specs);
  if (n == 0) return true;
  const char **names = ig_scope_array(e->c, n, sizeof *names);
  if (!names) return false;
  for (size_t i = 0; i < n; i++) names[i] = specs[all - n + i].name;
  if (e->front->keep) e->front->keep(e->c, names, n, e->front->user);
  return e->c->status == IG_OK && ig_program_drop_outputs(e->c, e->p, n) == IG_OK;
}

static bool finish(export *e) {
  ig_ctx *c = e->c;
  if (e->o->level == IG_LEVEL_CAPTURED) return true;
  if (ig_program_name_inputs(c, e->p, e->forward.shown) != IG_OK || !verify(e)) return false;
  if (e->o->level == IG_LEVEL_DECOMPOSED && !apply(e, decompose)) return false;
  if (!let_go(e) || (e->o->strict && !ig_program_repeat_symbols(c, e->p))) return false;
  return verify(e);
}

ig_status ig_pipeline_run(ig_ctx *c, const ig_pipeline *o, const ig_front *front,
                          ig_program **out) {
  export e = {.c = c, .o = o, .front = front};
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  if (capture(&e) && verify(&e) && lower(&e)) (void)finish(&e);
  ig_scope_close(c, s);
  if (c->status == IG_OK) {
    *out = e.p;
  } else {
    ig_program_free(e.p);
  }
  return c->status;
}

// ---- drafts ----

enum { ATTEMPTS = 5, REFINED = 3 };

// The capture failed before it could report the location.
static void tell(ig_ctx *c, const char *message, const char *advice) {
  ig_str reason = ig_str_make(c->alloc);
  ig_str_add(&reason, "%.*s", (int)strcspn(message, "\n"), message);
  ig_issue issue = {.kind = IG_ISSUE_CONSTRAINT, .file = "", .reason = reason.at, .fix = advice};
  ig_issue_tell(c, &issue);
  ig_str_free(&reason);
}

// Chooses other dims after an error, and clears it: the suggested ones, finally whatever the
// program allows. False: the error stays.
static bool refine(ig_ctx *c, const ig_front *front, int attempt) {
  ig_cause why = ig_ctx_cause(c);
  const ig_dim_fix *fixes = NULL;
  size_t n = attempt < REFINED ? ig_report_fixes(c->mode->draft->report, &fixes) : 0;
  ig_str message = ig_str_make(c->alloc);
  ig_str_add(&message, "%s", ig_ctx_error(c));
  ig_ctx_clear(c);
  bool again = !message.failed && front->refine(c, ig_cause_status(why), fixes, n, front->user);
  if (again && n == 0) tell(c, message.at, front->advice);
  if (!again && c->status == IG_OK) ig_fail_text(c, why, "%s", message.at ? message.at : "");
  ig_str_free(&message);
  return again;
}

static bool may_refine(ig_status st) {
  return st == IG_USER_ERROR || st == IG_CONSTRAINT || st == IG_HOST;
}

ig_status ig_pipeline_draft(ig_ctx *c, const ig_pipeline *o, const ig_front *front,
                            ig_program **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(ig_draft_open(c));
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    ig_status st = ig_pipeline_run(c, o, front, out);
    if (!may_refine(st) || attempt + 1 == ATTEMPTS || !refine(c, front, attempt)) break;
  }
  ig_report *r = ig_draft_close(c);
  if (*out) ig_program_set_report(*out, r);
  ig_ref_release(&r->ref);
  return c->status;
}
