// SPDX-License-Identifier: Apache-2.0
// Archive -> program.
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "ir/program.h"
#include "pt2/archive.h"
#include "pt2/schema.h"

static ig_status read_text(ig_ctx *c, ig_pt2_archive *a, ig_pt2_source *source) {
  const ig_zip_entry *e = a->root ? ig_pt2_find(a, "models/%s.json", a->model)
                                  : ig_pt2_find(a, "serialized_exported_program.json");
  if (!e)
    return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: 'models/%s.json' is missing", a->name, a->model);
  source->name = e->name;
  return ig_zip_read_text(c, e, source->limits, &a->arena, &source->text);
}

static ig_status load(ig_ctx *c, ig_pt2_archive *a, ig_program **out) {
  ig_pt2_weights state;
  ig_pt2_weights constants;
  ig_pt2_source source = {.state = &state,
                          .constants = &constants,
                          .arena = &a->arena,
                          .limits = a->options ? a->options->limits : NULL,
                          .objects = a->options && a->options->objects};
  IG_RETURN_IF_ERR(read_text(c, a, &source));
  IG_RETURN_IF_ERR(ig_pt2_load_weights(c, a, "weights", &state));
  IG_RETURN_IF_ERR(ig_pt2_load_weights(c, a, "constants", &constants));
  source.origin = ig_pt2_origin_create(c, a->file);
  if (!source.origin) return ig_ctx_status(c);
  ig_status st = ig_pt2_origin_read(c, a, source.origin);
  if (st == IG_OK) st = ig_pt2_read_program(c, &source, out);
  if (st != IG_OK) {
    ig_pt2_origin_free(source.origin);
    return st;
  }
  (*out)->origin = source.origin;
  (*out)->origin_free = ig_pt2_origin_free;
  return IG_OK;
}

static ig_status load_file(ig_ctx *c, const char *name, ig_file *file,
                           const ig_load_options *options, ig_program **out) {
  ig_pt2_archive a;
  ig_load_options all;
  IG_OPTIONS_TAKE(&all, options, objects);
  IG_RETURN_IF_ERR(ig_pt2_open(c, name, file, &all, &a));
  // Nodes of the file have no location in the host's program.
  void (*locate)(ig_ctx * ctx, void *user) = c->locate;
  const char *at = c->file;
  c->locate = NULL;
  c->file = NULL;
  ig_scope s = ig_scope_open(c);
  ig_status st = load(c, &a, out);
  ig_scope_close(c, s);
  c->locate = locate;
  c->file = at;
  ig_pt2_close(&a);
  if (st != IG_OK) ig_note(c, "while loading %s", name);
  return st;
}

ig_status ig_program_load_with(ig_ctx *c, const char *path, const ig_load_options *options,
                               ig_program **out) {
  ig_file *file = NULL;
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  IG_RETURN_IF_ERR(ig_file_map(c, path, &file));
  ig_status st = load_file(c, path, file, options, out);
  ig_file_release(file);
  return st;
}

ig_status ig_program_load(ig_ctx *c, const char *path, ig_program **out) {
  return ig_program_load_with(c, path, NULL, out);
}

ig_status ig_program_load_from(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                               const ig_load_options *options, ig_program **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *file = NULL;
  IG_RETURN_IF_ERR(owner ? ig_file_slice(c, owner, bytes, &file) : ig_file_copy(c, bytes, &file));
  ig_status st = load_file(c, name, file, options, out);
  ig_file_release(file);
  return st;
}

ig_status ig_program_load_bytes(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                                const ig_limits *limits, ig_program **out) {
  ig_load_options options = {.size = sizeof options, .limits = limits};
  return ig_program_load_from(c, name, bytes, owner, &options, out);
}
