// SPDX-License-Identifier: Apache-2.0
// Members in the order of torch.jit.save: the user's files, the module's storages and pickle, the
// sources with their places, the constants, the version.
#include "ts/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrays/unpack.h"
#include "base/hash.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "ts/debug.h"
#include "ts/pickler.h"

// One source: classes and functions whose names begin alike.
typedef struct code_file {
  const char *module;  // "__torch__.a.b"
  ig_sprint_text text;
} code_file;

typedef struct writer {
  ig_ctx *c;
  ig_sunit *unit;
  ig_zip_writer zip;
  const char *folder;
  uint64_t names;  // FNV-1a over names and checksums: what identifies the archive
  uint64_t data;
  ig_arena arena;
  ig_sprint_refs refs;
  ig_map printed;  // names of what was printed
  IG_VEC(code_file) files;
  int version;
} writer;

static bool no_memory(writer *w) {
  (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- members

static ig_status put(writer *w, const char *name, const void *data, size_t n) {
  ig_str path = ig_str_make(w->c->alloc);
  ig_bytes part = {data, n};
  ig_str_add(&path, "%s/%s", w->folder, name);
  ig_status st = path.failed ? ig_fail(w->c, IG_NOMEM, "out of memory")
                             : ig_zip_add(&w->zip, path.at, &part, 1);
  uint8_t crc[4];
  ig_store32(crc, st == IG_OK ? ig_zip_last_crc(&w->zip) : 0);
  w->names = ig_hash_bytes(w->names, name, strlen(name) + 1);
  w->data = ig_hash_bytes(w->data, crc, sizeof crc);
  ig_str_free(&path);
  return st;
}

static ig_status put_text(writer *w, const char *name, const char *text) {
  return put(w, name, text, strlen(text));
}

// "data/0", "data/1" ..., then "data.pkl".
static ig_status put_pickle(writer *w, const char *name, const ig_ts_pickler *p) {
  char text[64];
  for (size_t i = 0; i < p->storages.n; i++) {
    (void)snprintf(text, sizeof text, "%s/%zu", name, i);
    uint8_t *copy = NULL;
    ig_bytes b = {p->storages.at[i]->data, p->bytes.at[i]};
    ig_status st = ig_elements_little(w->c, p->dtypes.at[i], &b, &copy);
    if (st == IG_OK) st = put(w, text, b.at, b.n);
    ig_mem_free(w->c->alloc, copy, copy ? b.n : 0);
    IG_RETURN_IF_ERR(st);
  }
  (void)snprintf(text, sizeof text, "%s.pkl", name);
  return put(w, text, p->text.at, p->text.n);
}

// ---- versions

// From which version on an operator means what it means today.
static void note_version(writer *w, const ig_sblock *b) {
  static const struct {
    const char *kind;
    int version;
  } rows[] = {
      {"aten::div", 4},      {"aten::div_", 4},     {"aten::full", 5},
      {"aten::linspace", 8}, {"aten::logspace", 9}, {"aten::gelu", 10},
  };
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      bool newer = rows[i].version > w->version && strcmp(rows[i].kind, n->kind) == 0;
      if (newer) w->version = rows[i].version;
    }
    for (size_t i = 0; i < n->n_blocks; i++) note_version(w, n->blocks[i]);
    for (size_t i = 0; i < n->n_attrs; i++) {
      if (n->attrs[i].kind == IG_SATTR_GRAPH) note_version(w, n->attrs[i].graph->body);
    }
  }
}

static void note_versions(writer *w, ig_sprint_need what) {
  const ig_sclass *k = what.type ? ig_sclass_of(what.type) : NULL;
  if (what.function && what.function->graph) note_version(w, what.function->graph->body);
  for (size_t i = 0; k && i < k->methods.n; i++) {
    if (k->methods.at[i]->graph) note_version(w, k->methods.at[i]->graph->body);
  }
}

// ---- sources

static ig_sprint_text *file_of(writer *w, const char *qualified) {
  const char *dot = strrchr(qualified, '.');
  size_t n = dot ? (size_t)(dot - qualified) : 0;
  for (size_t i = 0; i < w->files.n; i++) {
    const char *module = w->files.at[i].module;
    if (strlen(module) == n && strncmp(module, qualified, n) == 0) return &w->files.at[i].text;
  }
  code_file f = {.module = ig_arena_strn(&w->arena, qualified, n)};
  if (!f.module) return NULL;
  f.text = ig_sprint_text_make(w->c);
  if (ig_vec_push(w->c->alloc, &w->files, f)) return &w->files.at[w->files.n - 1].text;
  ig_sprint_text_free(&f.text);
  return NULL;
}

static bool print(writer *w, const char *name, ig_sprint_need what) {
  ig_map_value *v = ig_map_put(&w->printed, name);
  if (!v) return no_memory(w);
  if (v->num) return true;
  v->num = 1;
  ig_sprint_text *text = file_of(w, name);
  if (!text) return no_memory(w);
  if (!ig_sprint_declaration(w->c, w->unit, what, &w->refs, text)) return false;
  note_versions(w, what);
  return true;
}

// First the classes of the objects, then whatever these and others mention.
static bool print_all(writer *w, const ig_ts_pickler *data) {
  for (size_t i = 0; i < data->classes.n; i++) {
    const ig_stype *type = data->classes.at[i];
    if (!print(w, type->name, (ig_sprint_need){.type = type})) return false;
  }
  for (size_t i = 0; i < w->refs.needs.n; i++) {
    ig_sprint_need what = w->refs.needs.at[i];
    const char *name = what.type ? what.type->name : what.function->qualified;
    if (!print(w, name, what)) return false;
  }
  return true;
}

static ig_status put_file(writer *w, const code_file *f) {
  ig_str path = ig_str_make(w->c->alloc);
  ig_str_add(&path, "code/");
  for (const char *p = f->module; *p; p++) ig_str_add(&path, "%c", *p == '.' ? '/' : *p);
  ig_str_add(&path, ".py");
  ig_ts_pickler places = ig_ts_pickler_make(w->c);
  places.w.out = &places.text;
  ig_status st = path.failed ? ig_fail(w->c, IG_NOMEM, "out of memory") : IG_OK;
  if (st == IG_OK && !ig_ts_debug_write(&places, &f->text)) st = w->c->status;
  if (st == IG_OK) st = put(w, path.at, f->text.text.at, f->text.text.n);
  if (st == IG_OK) {
    ig_str_add(&path, ".debug_pkl");
    st = path.failed ? ig_fail(w->c, IG_NOMEM, "out of memory")
                     : put(w, path.at, places.text.at, places.text.n);
  }
  ig_ts_pickler_free(&places);
  ig_str_free(&path);
  return st;
}

static ig_status put_constants(writer *w) {
  static const int ops[] = {IG_PICKLE_OP_EMPTY_TUPLE, IG_PICKLE_OP_TUPLE1, IG_PICKLE_OP_TUPLE2,
                            IG_PICKLE_OP_TUPLE3};
  ig_ts_pickler p = ig_ts_pickler_make(w->c);
  p.w.out = &p.text;
  ig_pickle_begin(&p.w);
  size_t n = w->refs.constants.n;
  bool ok = true;
  if (n > 3) ig_pickle_op(&p.w, IG_PICKLE_OP_MARK);
  for (size_t i = 0; ok && i < n; i++) ok = ig_ts_pickler_value(&p, w->refs.constants.at[i]);
  ig_pickle_op(&p.w, n > 3 ? IG_PICKLE_OP_TUPLE : ops[n]);
  ig_pickle_stop(&p.w);
  ok = ok && !ig_ts_pickler_failed(&p);
  ig_status st = ok ? put_pickle(w, "constants", &p) : w->c->status;
  ig_ts_pickler_free(&p);
  return st;
}

// ---- the whole

enum { NAMED_VERSION = 6 };  // from this version on it stands in .data/version

static ig_status put_all(writer *w, const ig_ts_pickler *data, const ig_ts_extra *extras,
                         size_t n_extras) {
  for (size_t i = 0; i < n_extras; i++) {
    ig_str name = ig_str_make(w->c->alloc);
    ig_str_add(&name, "extra/%s", extras[i].name);
    ig_status st = name.failed ? ig_fail(w->c, IG_NOMEM, "out of memory")
                               : put(w, name.at, extras[i].data, extras[i].n);
    ig_str_free(&name);
    IG_RETURN_IF_ERR(st);
  }
  IG_RETURN_IF_ERR(put_pickle(w, "data", data));
  for (size_t i = 0; i < w->files.n; i++) IG_RETURN_IF_ERR(put_file(w, &w->files.at[i]));
  IG_RETURN_IF_ERR(put_constants(w));
  char text[48];
  (void)snprintf(text, sizeof text, "%d\n", w->version);
  bool named = w->version >= NAMED_VERSION;
  IG_RETURN_IF_ERR(put_text(w, named ? ".data/version" : "version", text));
  IG_RETURN_IF_ERR(put_text(w, "byteorder", "little"));
  (void)snprintf(text, sizeof text, "%020" PRIu64 "%020" PRIu64, w->names, w->data);
  return put_text(w, ".data/serialization_id", text);
}

static ig_status write_all(writer *w, ig_sobj_instance *root, const ig_ts_extra *extras,
                           size_t n_extras) {
  ig_ts_pickler data = ig_ts_pickler_make(w->c);
  data.w.out = &data.text;
  ig_pickle_begin(&data.w);
  bool ok = ig_ts_pickler_value(&data, ig_of_sobj(root));
  ig_pickle_stop(&data.w);
  ok = ok && !ig_ts_pickler_failed(&data) && print_all(w, &data);
  ig_status st = ok ? put_all(w, &data, extras, n_extras) : w->c->status;
  ig_ts_pickler_free(&data);
  return st;
}

ig_status ig_ts_print(ig_ctx *c, ig_sobj_instance *root, const char *folder,
                      const ig_ts_extra *extras, size_t n_extras, ig_sink *out) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  writer w = {.c = c,
              .unit = root->cls->unit,
              .folder = folder,
              .names = IG_HASH_BASIS,
              .data = IG_HASH_BASIS,
              .arena = ig_arena_make(c->alloc),
              .refs = ig_sprint_refs_make(c),
              .printed = ig_map_make(c->alloc),
              .version = 3};
  ig_zip_writer_init(&w.zip, c, out, IG_ZIP_ALIGN);
  ig_status st = write_all(&w, root, extras, n_extras);
  if (st == IG_OK) st = ig_zip_finish(&w.zip);
  ig_zip_writer_free(&w.zip);
  for (size_t i = 0; i < w.files.n; i++) ig_sprint_text_free(&w.files.at[i].text);
  ig_vec_free(c->alloc, &w.files);
  ig_map_free(&w.printed);
  ig_sprint_refs_free(&w.refs);
  ig_arena_free(&w.arena);
  return st;
}

// The name of the file without its last extension.
static void name_folder(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  bool usable = n > 0 && n < size && !ig_zip_name_fault(base, n) && strcmp(base, ".") != 0;
  (void)snprintf(folder, size, "%.*s", usable ? (int)n : 7, usable ? base : "archive");
}

ig_status ig_ts_save(ig_ctx *c, ig_sobj_instance *root, const char *path, const ig_ts_extra *extras,
                     size_t n_extras) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  char folder[256];
  ig_sink sink;
  name_folder(path, folder, sizeof folder);
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &sink));
  ig_status st = ig_ts_print(c, root, folder, extras, n_extras, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  return st;
}
