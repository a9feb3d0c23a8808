// SPDX-License-Identifier: Apache-2.0
// Program -> .pt2: the members and their order as PyTorch 2.13 writes them. A storage is written
// once, however many names refer to it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrays/torch_file.h"
#include "arrays/unpack.h"
#include "base/hash.h"
#include "base/options.h"
#include "codec/bits.h"
#include "codec/json.h"
#include "ingot/file.h"
#include "pt2/archive.h"
#include "pt2/schema.h"
#include "pt2/values.h"

typedef struct saver {
  ig_ctx *c;
  const ig_program *p;
  const ig_save_options *options;
  ig_zip_writer zip;
  ig_table parameters;  // tensors that are parameters
  const char *root;
  size_t root_n;
  uint64_t names_hash;  // FNV-1a over names and contents: what identifies the archive
  uint64_t data_hash;
} saver;

static ig_status put(saver *s, const char *name, ig_bytes data) {
  ig_str path = ig_str_make(s->c->alloc);
  ig_str_add(&path, "%.*s%s%s", (int)s->root_n, s->root, s->root_n ? "/" : "", name);
  ig_status st = path.failed ? ig_fail(s->c, IG_NOMEM, "out of memory")
                             : ig_zip_add(&s->zip, path.at, &data, 1);
  uint8_t crc[4];
  ig_store32(crc, ig_zip_last_crc(&s->zip));
  s->names_hash = ig_hash_bytes(s->names_hash, name, strlen(name) + 1);
  s->data_hash = ig_hash_bytes(s->data_hash, crc, sizeof crc);
  ig_str_free(&path);
  return st;
}

static ig_status put_text(saver *s, const char *name, const char *text) {
  return put(s, name, (ig_bytes){(const uint8_t *)text, strlen(text)});
}

// ---- weights

// Writes the storage of w unless an earlier weight has it; *number is that of its record.
static ig_status put_storage(saver *s, ig_table *seen, const char *folder, const char *stem,
                             const ig_weight *w, int64_t *number) {
  const ig_storage *storage = w->tensor->storage;
  size_t next = seen->n;
  ig_table_slot *slot = ig_table_put(seen, storage);
  if (!slot) return ig_fail(s->c, IG_NOMEM, "out of memory");
  if (slot->value) {
    *number = slot->number;
    return IG_OK;
  }
  slot->value = w->tensor;
  slot->number = *number = (int64_t)next;
  char name[64];
  (void)snprintf(name, sizeof name, "data/%s/%s%" PRId64, folder, stem, *number);
  // A fake tensor has no bytes: its record is empty.
  uint8_t *copy = NULL;
  ig_bytes b = {storage->data, storage->fake ? 0 : storage->bytes};
  ig_status st = ig_elements_little(s->c, w->tensor->dtype, &b, &copy);
  if (st == IG_OK) st = put(s, name, b);
  ig_mem_free(s->c->alloc, copy, copy ? b.n : 0);
  return st;
}

static ig_status find_parameters(saver *s) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(s->p, &in);
  for (size_t i = 0; i < n; i++) {
    if (in[i].kind != IG_INPUT_PARAMETER) continue;
    const ig_tensor *t = ig_program_find_weight(s->p, in[i].target);
    if (t && !ig_table_put(&s->parameters, t)) return ig_fail(s->c, IG_NOMEM, "out of memory");
  }
  return IG_OK;
}

static void put_entry(saver *s, ig_json_writer *json, const ig_weight *w, const char *path) {
  ig_pt2_out out = {.c = s->c, .w = json};
  ig_json_key(json, w->name);
  ig_json_open(json, '{');
  ig_json_key(json, "path_name");
  ig_json_str(json, path);
  ig_json_key(json, "is_param");
  ig_json_bool(json, ig_table_find(&s->parameters, w->tensor) != NULL);
  ig_json_key(json, "use_pickle");
  ig_json_bool(json, false);
  ig_json_key(json, "tensor_meta");
  ig_pt2_put_tensor_meta(&out, w->tensor, w->tensor->requires_grad);
  ig_json_close(json, '}');
}

static ig_status put_weights(saver *s, const char *folder, const char *stem, const ig_weight *list,
                             size_t n) {
  ig_table seen = ig_table_make(s->c->alloc);
  ig_str text = ig_str_make(s->c->alloc);
  ig_json_writer json = {.out = &text};
  ig_status st = IG_OK;
  ig_json_open(&json, '{');
  ig_json_key(&json, "config");
  ig_json_open(&json, '{');
  for (size_t i = 0; i < n && st == IG_OK; i++) {
    char path[32];
    int64_t number = 0;
    st = put_storage(s, &seen, folder, stem, &list[i], &number);
    (void)snprintf(path, sizeof path, "%s%" PRId64, stem, number);
    if (st == IG_OK) put_entry(s, &json, &list[i], path);
  }
  ig_json_close(&json, '}');
  ig_json_close(&json, '}');
  if (text.failed) st = ig_fail(s->c, IG_NOMEM, "out of memory");
  char name[64];
  (void)snprintf(name, sizeof name, "data/%s/model_%s_config.json", folder, folder);
  if (st == IG_OK) st = ig_ctx_status(s->c);
  if (st == IG_OK) st = put(s, name, (ig_bytes){(const uint8_t *)text.at, text.n});
  ig_str_free(&text);
  ig_table_free(&seen);
  return st;
}

// ---- archive

static ig_status put_model(saver *s) {
  ig_str text = ig_str_make(s->c->alloc);
  ig_status st = ig_pt2_write_program(s->c, s->p, s->options, &text);
  if (st == IG_OK) st = put(s, "models/model.json", (ig_bytes){(const uint8_t *)text.at, text.n});
  ig_str_free(&text);
  return st;
}

// Examples are a pickle, because the reader requires one; an empty record means none.
static ig_status put_examples(saver *s, const char *name) {
  const ig_object *examples = s->options ? s->options->examples : NULL;
  ig_sink sink = ig_sink_memory(s->c->alloc);
  ig_status st = examples ? ig_torch_print(s->c, examples, &sink) : IG_OK;
  if (st == IG_OK) st = ig_sink_close(s->c, &sink);
  ig_bytes bytes = {sink.at, sink.n};
  if (s->options && s->options->packed) bytes = (ig_bytes){s->options->packed, s->options->npacked};
  if (st == IG_OK) st = put(s, name, bytes);
  ig_sink_drop(&sink);
  return st;
}

static ig_status put_extra(saver *s, const char *folder) {
  for (size_t i = 0; s->options && i < s->options->nextra; i++) {
    const ig_extra_file *f = &s->options->extra[i];
    ig_str name = ig_str_make(s->c->alloc);
    ig_str_add(&name, "%s%s", folder, f->name);
    ig_status st = name.failed ? ig_fail(s->c, IG_NOMEM, "out of memory")
                               : put(s, name.at, (ig_bytes){f->data, f->n});
    ig_str_free(&name);
    if (st != IG_OK) return st;
  }
  return IG_OK;
}

// The records that identify a .pt2 and its kind.
static ig_status put_records(saver *s) {
  static const char *const records[][2] = {
      {"archive_format", "pt2"},
      {"archive_version", "0"},
      {".data/version", "6\n"},
      {"byteorder", "little"},
  };
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
    IG_RETURN_IF_ERR(put_text(s, records[i][0], records[i][1]));
  }
  char id[48];
  (void)snprintf(id, sizeof id, "%020" PRIu64 "%020" PRIu64, s->names_hash, s->data_hash);
  return put_text(s, ".data/serialization_id", id);
}

// ---- the layout up to 2.7

static ig_status put_object(saver *s, const char *name, const ig_object *o) {
  ig_sink sink = ig_sink_memory(s->c->alloc);
  ig_status st = ig_torch_print(s->c, o, &sink);
  if (st == IG_OK) st = ig_sink_close(s->c, &sink);
  if (st == IG_OK) st = put(s, name, (ig_bytes){sink.at, sink.n});
  ig_sink_drop(&sink);
  return st;
}

static ig_status put_packed(saver *s, const char *name, const ig_weight *list, size_t n) {
  ig_object *all = ig_object_new(s->c, IG_OBJECT_DICT);
  ig_status st = IG_OK;
  for (size_t i = 0; i < n && st == IG_OK; i++) {
    bool parameter = ig_table_find(&s->parameters, list[i].tensor) != NULL;
    ig_object *t = ig_object_of_tensor(s->c, list[i].tensor, parameter);
    st = ig_object_put_str(s->c, all, list[i].name, t);
  }
  if (st == IG_OK) st = put_object(s, name, all);
  ig_object_free(all);
  return st;
}

static ig_status put_plain(saver *s) {
  const ig_weight *list = NULL;
  ig_str text = ig_str_make(s->c->alloc);
  bool old = s->options->layout == IG_PT2_FOR_2_5;
  s->root_n = 0;
  IG_RETURN_IF_ERR(find_parameters(s));
  ig_status st = ig_pt2_write_program(s->c, s->p, s->options, &text);
  if (st == IG_OK) {
    st = put(s, "serialized_exported_program.json", (ig_bytes){(const uint8_t *)text.at, text.n});
  }
  ig_str_free(&text);
  size_t n = ig_program_state(s->p, &list);
  if (st == IG_OK) st = put_packed(s, "serialized_state_dict.pt", list, n);
  n = ig_program_constants(s->p, &list);
  if (st == IG_OK) st = put_packed(s, "serialized_constants.pt", list, n);
  if (st == IG_OK) st = put_examples(s, "serialized_example_inputs.pt");
  if (st == IG_OK) st = put_text(s, "version", old ? "7.3" : "8.2");
  return st == IG_OK ? put_extra(s, "extra_files/") : st;
}

static ig_status put_all(saver *s) {
  const ig_weight *list = NULL;
  IG_RETURN_IF_ERR(find_parameters(s));
  size_t n = ig_program_state(s->p, &list);
  IG_RETURN_IF_ERR(put_weights(s, "weights", "weight_", list, n));
  n = ig_program_constants(s->p, &list);
  IG_RETURN_IF_ERR(put_weights(s, "constants", "tensor_", list, n));
  IG_RETURN_IF_ERR(put_model(s));
  IG_RETURN_IF_ERR(put_examples(s, "data/sample_inputs/model.pt"));
  IG_RETURN_IF_ERR(put_extra(s, "extra/"));
  return put_records(s);
}

ig_status ig_program_write(ig_ctx *c, const ig_program *p, const ig_save_options *options,
                           ig_sink *sink) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_save_options all;
  IG_OPTIONS_TAKE(&all, options, root);
  const char *root = all.root ? all.root : "archive";
  saver s = {.c = c,
             .p = p,
             .options = &all,
             .names_hash = IG_HASH_BASIS,
             .data_hash = IG_HASH_BASIS,
             .root = root,
             .root_n = strlen(root),
             .parameters = ig_table_make(c->alloc)};
  ig_scope scope = ig_scope_open(c);
  ig_zip_writer_init(&s.zip, c, sink, IG_ZIP_ALIGN);
  ig_status st = all.layout != IG_PT2_NEWEST ? put_plain(&s) : put_all(&s);
  if (st == IG_OK) st = ig_zip_finish(&s.zip);
  ig_zip_writer_free(&s.zip);
  ig_table_free(&s.parameters);
  ig_scope_close(c, scope);
  return st;
}

// The folder inside has the name of the file, without its last extension.
static void name_root(const char *path, char *root, size_t cap) {
  const char *slash = strrchr(path, '/');
  const char *start = slash ? slash + 1 : path;
  const char *dot = strrchr(start, '.');
  size_t n = dot && dot != start ? (size_t)(dot - start) : strlen(start);
  bool plain = n > 0 && n < cap && !ig_zip_name_fault(start, n) && strcmp(start, ".") != 0;
  (void)snprintf(root, cap, "%.*s", plain ? (int)n : 7, plain ? start : "archive");
}

ig_status ig_program_save_as(ig_ctx *c, const ig_program *p, const ig_save_options *options,
                             const char *path) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_sink sink;
  char root[256];
  ig_save_options own;
  IG_OPTIONS_TAKE(&own, options, root);
  name_root(path, root, sizeof root);
  if (!own.root) own.root = root;
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &sink));
  ig_status st = ig_program_write(c, p, &own, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  return st;
}

ig_status ig_program_save(ig_ctx *c, const ig_program *p, const char *path) {
  return ig_program_save_as(c, p, NULL, path);
}
