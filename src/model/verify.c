// SPDX-License-Identifier: Apache-2.0
// Every rule at once: what opening did not look at, because it costs reading the whole file.
#include "model/model.h"

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

ig_status ig_model_verify(ig_ctx *c, const ig_model *m, const ig_model_options *options) {
  if (c->status != IG_OK) return c->status;
  for (size_t i = 0; i < m->findings.n; i++) {
    const ig_model_finding *f = m->findings.at[i];
    if (f->code != IG_OK) return ig_fail(c, f->code, "%s", f->text);
  }
  if (m->is_zip) IG_RETURN_IF_ERR(check_members(c, m, options));
  if (m->program) IG_RETURN_IF_ERR(check_graphs(c, m->program->graph));
  if (m->runnable) IG_RETURN_IF_ERR(check_graphs(c, m->runnable->graph));
  return m->format->verify ? m->format->verify(c, m) : IG_OK;
}
