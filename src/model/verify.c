// SPDX-License-Identifier: Apache-2.0
// All remaining checks, which opening skips because they read the whole file.
#include "base/budget.h"
#include "base/explain.h"
#include "ingot/onnx.h"
#include "ingot/pass.h"
#include "model/compiled.h"

static ig_status check_members(ig_ctx *c, const ig_model *m, const ig_model_options *o) {
  uint64_t done = 0;
  for (size_t i = 0; i < m->zip.n; i++) {
    const ig_zip_entry *e = &m->zip.entries[i];
    if (o && o->progress) o->progress(o->progress_user, "checksums", done, m->file->bytes.n);
    if (e->deflated) {
      ig_arena arena = ig_arena_make(c->alloc);
      ig_bytes bytes;
      ig_status st = ig_zip_read(c, e, &arena, &bytes);
      ig_arena_free(&arena);
      IG_RETURN_IF_ERR(st);
    } else {
      IG_RETURN_IF_ERR(ig_zip_verify(c, e));
    }
    done += e->packed.n;
  }
  return IG_OK;
}

static ig_status check_graphs(ig_ctx *c, const ig_graph *g) {
  IG_RETURN_IF_ERR(ig_graph_verify(c, g));
  for (size_t i = 0; i < g->subs.n; i++) IG_RETURN_IF_ERR(check_graphs(c, g->subs.at[i].graph));
  return IG_OK;
}

// Errors that do not apply to a run, which has the data.
static bool is_open_question(ig_status st) {
  return st == IG_DATA_DEPENDENT || st == IG_OUTPUT_DATA || st == IG_OUTPUT_SHAPE ||
         st == IG_USER_ERROR || st == IG_CONSTRAINT || st == IG_UNSUPPORTED;
}

// What a run would reject for all data: a program by its shape rules, an ONNX model by converting
// it to a program.
static ig_status check_calls(ig_ctx *c, const ig_model *m) {
  const ig_program *p = m->runnable ? m->runnable : m->program;
  const ig_onnx_model *onnx = p ? NULL : ig_model_onnx(m);
  ig_program *made = NULL;
  const ig_account outer = ig_account_open(c, &m->limits);
  ig_status st = p ? ig_program_dry_run(c, p) : onnx ? ig_onnx_program(c, onnx, &made) : IG_OK;
  ig_program_free(made);
  ig_account_close(c, &outer);
  if (!is_open_question(st)) return st;
  ig_ctx_clear(c);
  return IG_OK;
}

ig_status ig_model_verify(ig_ctx *c, const ig_model *m, const ig_model_options *options) {
  if (c->status != IG_OK) return c->status;
  for (size_t i = 0; i < m->findings.n; i++) {
    const ig_model_finding *f = m->findings.at[i];
    if (f->code == IG_OK) continue;
    const ig_explanation *e = f->explanation ? ig_explain(f->explanation) : NULL;
    return ig_fail(c, f->code | ig_explanation_cause(e), "%s", f->text);
  }
  if (m->compiled) IG_RETURN_IF_ERR(ig_compiled_verify(c, m));
  if (m->is_zip) IG_RETURN_IF_ERR(check_members(c, m, options));
  if (m->program) IG_RETURN_IF_ERR(check_graphs(c, m->program->graph));
  if (m->runnable) IG_RETURN_IF_ERR(check_graphs(c, m->runnable->graph));
  if (m->format->verify) IG_RETURN_IF_ERR(m->format->verify(c, m));
  IG_RETURN_IF_ERR(check_calls(c, m));
  // Last: where a call is wrong in itself, its own error says more than what is recorded for it.
  if (m->program) IG_RETURN_IF_ERR(ig_program_verify(c, m->program));
  return IG_OK;
}
