// SPDX-License-Identifier: Apache-2.0
// What a loaded program knows about its file: versions, examples, extra files, guards, and the
// parts that are never loaded.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arrays/torch_file.h"
#include "ir/program.h"
#include "pt2/archive.h"

ig_pt2_origin *ig_pt2_origin_create(ig_ctx *c, ig_file *file) {
  ig_pt2_origin *o = ig_mem_new(c->alloc, sizeof *o);
  if (!o) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  o->alloc = c->alloc;
  o->arena = ig_arena_make(c->alloc);
  o->file = file;
  if (file) ig_ref_retain(&file->ref);
  return o;
}

void ig_pt2_origin_free(ig_pt2_origin *o) {
  if (!o) return;
  ig_vec_free(o->alloc, &o->extra);
  ig_vec_free(o->alloc, &o->facts);
  ig_vec_free(o->alloc, &o->findings);
  ig_vec_free(o->alloc, &o->guards);
  ig_vec_free(o->alloc, &o->calls);
  ig_arena_free(&o->arena);
  if (o->file) ig_file_release(o->file);
  ig_mem_free(o->alloc, o, sizeof *o);
}

static ig_status no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory");
}

static const char *keep(ig_pt2_origin *o, const char *text) {
  return ig_arena_strn(&o->arena, text, strlen(text));
}

ig_status ig_pt2_origin_fact(ig_ctx *c, ig_pt2_origin *o, const char *name, const char *fmt, ...) {
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ig_origin_fact f = {keep(o, name), keep(o, text)};
  return f.name && f.value && ig_vec_push(o->alloc, &o->facts, f) ? IG_OK : no_memory(c);
}

ig_status ig_pt2_origin_guard(ig_ctx *c, ig_pt2_origin *o, const char *text) {
  const char *kept = keep(o, text);
  return kept && ig_vec_push(o->alloc, &o->guards, kept) ? IG_OK : no_memory(c);
}

ig_status ig_pt2_origin_call(ig_ctx *c, ig_pt2_origin *o, const char *path, const char *signature) {
  ig_origin_fact f = {keep(o, path), keep(o, signature)};
  return f.name && f.value && ig_vec_push(o->alloc, &o->calls, f) ? IG_OK : no_memory(c);
}

static ig_status add_finding(ig_ctx *c, ig_pt2_origin *o, const char *folder, const char *name,
                             const char *why) {
  char text[600];
  (void)snprintf(text, sizeof text, "%s%.500s", folder, name);
  ig_origin_fact f = {keep(o, text), why};
  return f.name && ig_vec_push(o->alloc, &o->findings, f) ? IG_OK : no_memory(c);
}

// A member that outlives the archive: a slice of the mapping where it is stored.
static ig_status keep_member(ig_ctx *c, ig_pt2_origin *o, const ig_zip_entry *e, ig_bytes *out) {
  if (!e->deflated) {
    *out = e->packed;
    return IG_OK;
  }
  return ig_zip_read(c, e, &o->arena, out);
}

static ig_status read_extra(ig_ctx *c, ig_pt2_archive *a, ig_pt2_origin *o) {
  const char *folder = a->root ? "extra/" : "extra_files/";
  const char *rest = NULL;
  const ig_zip_entry *e = NULL;
  for (size_t i = 0; (e = ig_pt2_next(a, folder, &i, &rest)) != NULL;) {
    ig_bytes b = {0};
    IG_RETURN_IF_ERR(keep_member(c, o, e, &b));
    ig_extra_file f = {keep(o, rest), b.at, b.n};
    if (!f.name || !ig_vec_push(o->alloc, &o->extra, f)) return no_memory(c);
  }
  return IG_OK;
}

static ig_status list_parts(ig_ctx *c, ig_pt2_archive *a, ig_pt2_origin *o) {
  static const struct {
    const char *folder;
    const char *prefix;
    const char *why;
  } parts[] = {
      {"data/aotinductor/", "", "compiled code (AOTInductor): never loaded"},
      {"data/executorch/", "", "a program of another runtime (ExecuTorch): not loaded"},
      {"data/constants/", "custom_obj_", "a custom object, as a pickle: not loaded"},
      {"data/constants/", "opaque_obj_", "an opaque object, as a pickle: not loaded"},
  };
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    const char *rest = NULL;
    for (size_t i = 0; ig_pt2_next(a, parts[k].folder, &i, &rest);) {
      if (strncmp(rest, parts[k].prefix, strlen(parts[k].prefix)) != 0) continue;
      IG_RETURN_IF_ERR(add_finding(c, o, parts[k].folder, rest, parts[k].why));
    }
  }
  return IG_OK;
}

ig_status ig_pt2_origin_read(ig_ctx *c, ig_pt2_archive *a, ig_pt2_origin *o) {
  const ig_zip_entry *e = a->root ? ig_pt2_find(a, "data/sample_inputs/%s.pt", a->model)
                                  : ig_pt2_find(a, "serialized_example_inputs.pt");
  if (e) IG_RETURN_IF_ERR(keep_member(c, o, e, &o->examples));
  bool packed = !a->root || ig_pt2_find(a, "data/weights/%s.pt", a->model);
  IG_RETURN_IF_ERR(ig_pt2_origin_fact(c, o, "layout", "%s",
                                      !a->root ? "plain zip (PyTorch 2.1 to 2.7)"
                                      : packed ? "archive 0, weights packed (PyTorch 2.8)"
                                               : "archive 0, raw weights (PyTorch 2.9 and newer)"));
  IG_RETURN_IF_ERR(read_extra(c, a, o));
  return list_parts(c, a, o);
}

// ---- queries

size_t ig_program_extra_files(const ig_program *p, const ig_extra_file **files) {
  *files = p->origin ? p->origin->extra.at : NULL;
  return p->origin ? p->origin->extra.n : 0;
}

size_t ig_program_facts(const ig_program *p, const ig_origin_fact **facts) {
  *facts = p->origin ? p->origin->facts.at : NULL;
  return p->origin ? p->origin->facts.n : 0;
}

size_t ig_program_findings(const ig_program *p, const ig_origin_fact **findings) {
  *findings = p->origin ? p->origin->findings.at : NULL;
  return p->origin ? p->origin->findings.n : 0;
}

ig_status ig_program_examples(ig_ctx *c, const ig_program *p, ig_object **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK || !p->origin || !p->origin->examples.n) return ig_ctx_status(c);
  return ig_torch_parse(c, "example inputs", p->origin->examples, p->origin->file, NULL, out);
}
