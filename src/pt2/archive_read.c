// SPDX-License-Identifier: Apache-2.0
// Opening .pt2 archives: which layout it is, which model is in it, its weights as tensors over the
// mapped file.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ingot/file.h"
#include "pt2/archive.h"
#include "pt2/schema.h"
#include "pt2/values.h"

void ig_pt2_close(ig_pt2_archive *a) {
  ig_zip_close(&a->zip);
  ig_arena_free(&a->arena);
  ig_file_release(a->file);
  a->file = NULL;
}

const ig_zip_entry *ig_pt2_find(const ig_pt2_archive *a, const char *fmt, ...) {
  char name[1024];
  size_t root = strlen(a->root);
  if (root + 2 > sizeof name) return NULL;
  memcpy(name, a->root, root);
  name[root] = '/';
  size_t room = sizeof name - root - 1;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(name + root + 1, room, fmt, ap);
  va_end(ap);
  return n >= 0 && (size_t)n < room ? ig_zip_find(&a->zip, name) : NULL;
}

// ---- layout

static ig_status not_a_program(ig_ctx *c, const char *path, const ig_pt2_archive *a) {
  if (ig_zip_find(&a->zip, "serialized_exported_program.json")) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: a .pt2 of PyTorch 2.7 or older; archives of 2.9 and newer are read", path);
  }
  return ig_fail(c, IG_SYNTAX, "%s: a zip archive, but not a .pt2 (no '%s/archive_format')", path,
                 a->root);
}

// All members lie in one folder, whose name the first one tells.
static ig_status find_root(ig_ctx *c, const char *path, ig_pt2_archive *a) {
  const char *first = a->zip.n ? a->zip.entries[0].name : "";
  const char *slash = strchr(first, '/');
  size_t n = slash ? (size_t)(slash - first) : 0;
  a->root = ig_arena_strn(&a->arena, first, n);
  if (!a->root) return ig_fail(c, IG_NOMEM, "out of memory");
  if (!slash || !ig_pt2_find(a, "archive_format")) return not_a_program(c, path, a);
  for (size_t i = 0; i < a->zip.n; i++) {
    const char *name = a->zip.entries[i].name;
    if (strncmp(name, first, n + 1) != 0) {
      return ig_fail(c, IG_SYNTAX, "%s: '%s' lies outside the archive's folder '%s'", path, name,
                     a->root);
    }
  }
  return IG_OK;
}

static ig_status expect(ig_ctx *c, const char *path, ig_pt2_archive *a, const char *member,
                        const char *want) {
  const ig_zip_entry *e = ig_pt2_find(a, "%s", member);
  ig_bytes b = {0};
  if (!e) return ig_fail(c, IG_SYNTAX, "%s: '%s' is missing", path, member);
  IG_RETURN_IF_ERR(ig_zip_read(c, e, &a->arena, &b));
  while (b.n && b.at[b.n - 1] == '\n') b.n--;
  if (b.n == strlen(want) && memcmp(b.at, want, b.n) == 0) return IG_OK;
  return ig_fail(c, IG_UNSUPPORTED, "%s: %s is '%.*s', expected '%s'", path, member,
                 (int)(b.n < 40 ? b.n : 40), (const char *)b.at, want);
}

// "model", or the only one there is.
static ig_status find_model(ig_ctx *c, const char *path, ig_pt2_archive *a) {
  size_t prefix = strlen(a->root) + strlen("/models/");
  size_t found = 0;
  for (size_t i = 0; i < a->zip.n; i++) {
    const char *name = a->zip.entries[i].name;
    size_t n = strlen(name);
    if (n <= prefix + 5 || strcmp(name + n - 5, ".json") != 0) continue;
    if (memcmp(name + strlen(a->root), "/models/", strlen("/models/")) != 0) continue;
    found++;
    a->model = ig_arena_strn(&a->arena, name + prefix, n - prefix - 5);
    if (!a->model) return ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (ig_pt2_find(a, "models/model.json")) {
    a->model = "model";
  } else if (found != 1) {
    return ig_fail(c, IG_SYNTAX, "%s: %zu models, and none is called 'model'", path, found);
  }
  return IG_OK;
}

static ig_status open_all(ig_ctx *c, const char *name, ig_pt2_archive *out) {
  IG_RETURN_IF_ERR(ig_zip_open(c, name, out->file->bytes, NULL, &out->zip));
  IG_RETURN_IF_ERR(find_root(c, name, out));
  IG_RETURN_IF_ERR(expect(c, name, out, "archive_format", "pt2"));
  IG_RETURN_IF_ERR(expect(c, name, out, "archive_version", "0"));
  if (ig_pt2_find(out, "byteorder")) IG_RETURN_IF_ERR(expect(c, name, out, "byteorder", "little"));
  return find_model(c, name, out);
}

ig_status ig_pt2_open(ig_ctx *c, const char *name, ig_file *file, ig_pt2_archive *out) {
  *out = (ig_pt2_archive){.arena = ig_arena_make(c->alloc), .file = file};
  ig_ref_retain(&file->ref);
  ig_status st = open_all(c, name, out);
  if (st != IG_OK) ig_pt2_close(out);
  return st;
}

// ---- weights

typedef struct loader {
  ig_ctx *c;
  ig_pt2_archive *a;
  const char *kind;
  ig_pt2_in in;
  ig_map storages;  // path -> tensor of bytes over the whole record
} loader;

static void release_file(void *user) {
  ig_file_release(user);
}

enum { ALIGN = 16 };  // what the largest element needs

// The record as a tensor of bytes: where it lies in the file, or a copy where that is misaligned.
static ig_tensor *open_storage(loader *l, const ig_zip_entry *e, const ig_json *at) {
  if (e->size > INT64_MAX / 2) {
    (void)ig_pt2_fail(&l->in, at, IG_SYNTAX, "weight of %llu bytes", (unsigned long long)e->size);
    return NULL;
  }
  int64_t size = (int64_t)e->size;
  if (!e->deflated && size && (uintptr_t)e->packed.at % ALIGN == 0) {
    ig_ref_retain(&l->a->file->ref);
    ig_foreign memory = {.data = (void *)e->packed.at,
                         .bytes = e->packed.n,
                         .free_fn = release_file,
                         .user = l->a->file};
    return ig_tensor_wrap(l->c, IG_U8, &size, 1, &memory);
  }
  ig_tensor *t = ig_tensor_empty(l->c, IG_U8, &size, 1);
  if (!t) return NULL;
  if (e->deflated && ig_zip_inflate(l->c, e, ig_tensor_data(t)) != IG_OK) return NULL;
  if (!e->deflated && size) memcpy(ig_tensor_data(t), e->packed.at, e->packed.n);
  return t;
}

static ig_tensor *find_storage(loader *l, const ig_json *entry) {
  const ig_json *pickled = ig_pt2_get(&l->in, entry, "use_pickle", IG_JSON_BOOL);
  const char *path = ig_pt2_get_text(&l->in, entry, "path_name");
  if (!path || !pickled) return NULL;
  if (pickled->b) {
    (void)ig_pt2_fail(&l->in, entry, IG_UNSUPPORTED, "'%.100s' is a pickle, which is not read",
                      path);
    return NULL;
  }
  ig_map_value *known = ig_map_put(&l->storages, path);
  if (!known) {
    (void)ig_fail(l->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  if (known->ptr) return known->ptr;
  const ig_zip_entry *e = ig_pt2_find(l->a, "data/%s/%s", l->kind, path);
  if (!e) {
    (void)ig_pt2_fail(&l->in, entry, IG_SYNTAX, "record 'data/%s/%.100s' is missing", l->kind,
                      path);
    return NULL;
  }
  ig_tensor *t = open_storage(l, e, entry);
  known = ig_map_find(&l->storages, path);
  known->ptr = t;
  return t;
}

// Does every element that the metadata reaches lie inside n bytes?
static bool fits(const ig_meta *m, uint64_t n) {
  int64_t last = m->offset.value;
  for (int d = 0; d < m->ndim; d++) {
    int64_t step = 0;
    if (m->size[d].value == 0) return true;
    if (!ig_checked_mul(m->size[d].value - 1, m->stride[d].value, &step)) return false;
    if (!ig_checked_add(last, step, &last)) return false;
  }
  int64_t end = 0;
  if (!ig_checked_add(last, 1, &last)) return false;
  if (!ig_checked_mul(last, (int64_t)ig_dtype_size(m->dtype), &end)) return false;
  return (uint64_t)end <= n;
}

static bool is_empty(const ig_meta *m) {
  for (int d = 0; d < m->ndim; d++) {
    if (m->size[d].value == 0) return true;
  }
  return false;
}

enum { MAX_ZEROS_LOG2 = 32 };

// A record without bytes for a tensor that has elements: it was saved from a fake tensor.
static ig_tensor *make_zeros(loader *l, const ig_json *at, ig_meta *m) {
  if (!fits(m, (uint64_t)1 << MAX_ZEROS_LOG2)) {
    (void)ig_pt2_fail(&l->in, at, IG_SYNTAX, "a tensor without data, and too large to be zeros");
    return NULL;
  }
  m->device = ig_device_cpu();
  m->offset = ig_const(0);
  m->strided = false;
  ig_meta_contiguous(l->c, m);
  ig_tensor *t = ig_tensor_make(l->c, m, false);
  if (t && t->storage->bytes) memset(t->storage->data, 0, t->storage->bytes);
  return t;
}

static ig_tensor *load_tensor(loader *l, const ig_json *entry) {
  ig_tensor *bytes = find_storage(l, entry);
  const ig_json *meta = ig_pt2_get(&l->in, entry, "tensor_meta", IG_JSON_OBJECT);
  ig_meta m;
  bool grad = false;
  if (!bytes || !meta || !ig_pt2_get_tensor_meta(&l->in, meta, &m, &grad)) return NULL;
  if (bytes->storage->bytes == 0 && !is_empty(&m)) return make_zeros(l, meta, &m);
  if (!fits(&m, bytes->storage->bytes)) {
    (void)ig_pt2_fail(&l->in, meta, IG_SYNTAX,
                      "the tensor reaches beyond the %zu bytes of its record",
                      bytes->storage->bytes);
    return NULL;
  }
  m.device = ig_device_cpu();  // where the bytes are now
  m.view_of = bytes;
  ig_tensor *t = ig_tensor_make(l->c, &m, false);
  if (t && grad) ig_tensor_set_requires_grad(l->c, t, true);
  return t;
}

static ig_status load_all(loader *l, const ig_json *config, ig_pt2_weights *out) {
  out->at = ig_arena_push(&l->a->arena, (config->n + 1) * sizeof *out->at);
  if (!out->at) return ig_fail(l->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < config->n; i++) {
    const ig_json_member *m = &config->members[i];
    const ig_json *is_param = ig_pt2_get(&l->in, &m->value, "is_param", IG_JSON_BOOL);
    if (strlen(m->key) != m->key_n) {
      return ig_pt2_fail(&l->in, &m->value, IG_SYNTAX, "name of a weight with a zero character");
    }
    out->at[i].name = m->key;
    out->at[i].is_param = is_param && is_param->b;
    out->at[i].tensor = load_tensor(l, &m->value);
    if (ig_ctx_status(l->c) != IG_OK) return ig_ctx_status(l->c);
    out->n = i + 1;
  }
  return IG_OK;
}

ig_status ig_pt2_load_weights(ig_ctx *c, ig_pt2_archive *a, const char *kind, ig_pt2_weights *out) {
  *out = (ig_pt2_weights){0};
  const ig_zip_entry *e = ig_pt2_find(a, "data/%s/%s_%s_config.json", kind, a->model, kind);
  if (!e) {
    if (ig_pt2_find(a, "data/%s/%s.pt", kind, a->model)) {
      return ig_fail(
          c, IG_UNSUPPORTED,
          "a .pt2 of PyTorch 2.8, whose weights are a pickle; archives of 2.9 and newer are read");
    }
    return ig_fail(c, IG_SYNTAX, "'data/%s/%s_%s_config.json' is missing", kind, a->model, kind);
  }
  loader l = {.c = c, .a = a, .kind = kind, .storages = ig_map_make(c->alloc)};
  ig_bytes text = {0};
  const ig_json *doc = NULL;
  ig_status st = ig_zip_read(c, e, &a->arena, &text);
  if (st == IG_OK) st = ig_json_parse(c, e->name, text, &a->arena, NULL, &doc);
  l.in = (ig_pt2_in){.c = c, .file = e->name, .text = text, .arena = &a->arena};
  const ig_json *config = st == IG_OK ? ig_pt2_get(&l.in, doc, "config", IG_JSON_OBJECT) : NULL;
  if (config) st = load_all(&l, config, out);
  ig_map_free(&l.storages);
  return st == IG_OK ? ig_ctx_status(c) : st;
}

// ---- program

static ig_status load(ig_ctx *c, ig_pt2_archive *a, ig_program **out) {
  ig_pt2_weights state;
  ig_pt2_weights constants;
  const ig_zip_entry *e = ig_pt2_find(a, "models/%s.json", a->model);
  ig_pt2_source source = {.state = &state, .constants = &constants, .arena = &a->arena};
  if (!e) return ig_fail(c, IG_SYNTAX, "'models/%s.json' is missing", a->model);
  source.name = e->name;
  IG_RETURN_IF_ERR(ig_zip_read(c, e, &a->arena, &source.text));
  IG_RETURN_IF_ERR(ig_pt2_load_weights(c, a, "weights", &state));
  IG_RETURN_IF_ERR(ig_pt2_load_weights(c, a, "constants", &constants));
  return ig_pt2_read_program(c, &source, out);
}

static ig_status load_file(ig_ctx *c, const char *name, ig_file *file, ig_program **out) {
  ig_pt2_archive a;
  *out = NULL;
  IG_RETURN_IF_ERR(ig_pt2_open(c, name, file, &a));
  // Calls that the file makes have no place in the host's program.
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

ig_status ig_program_load(ig_ctx *c, const char *path, ig_program **out) {
  ig_file *file = NULL;
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  IG_RETURN_IF_ERR(ig_file_map(c, path, &file));
  ig_status st = load_file(c, path, file, out);
  ig_file_release(file);
  return st;
}

ig_status ig_program_load_bytes(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                                ig_program **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *file = NULL;
  IG_RETURN_IF_ERR(owner ? ig_file_slice(c, owner, bytes, &file) : ig_file_copy(c, bytes, &file));
  ig_status st = load_file(c, name, file, out);
  ig_file_release(file);
  return st;
}
