// SPDX-License-Identifier: Apache-2.0
// Reading files of torch.save: the zip container since PyTorch 1.6, and what came before, a row of
// pickles with the storages behind them. Other files that end up here are refused by name.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrays/torch_file.h"
#include "arrays/unpack.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "tensor/tensor.h"

enum { VERSION_MAX = 10, LEGACY_PROTOCOL = 1001, TAR_MAGIC = 257 };

// A storage of the file.
typedef struct record {
  ig_bytes bytes;           // legacy: where they lie
  const ig_zip_entry *zip;  // otherwise
  ig_dtype dtype;           // legacy: of its class
  ig_tensor *tensor;        // once it was asked for
  ig_dtype swapped;         // big-endian: as what its order was turned
  bool bools;               // normalized
} record;

typedef struct reader {
  ig_unpack un;
  ig_bytes in;
  ig_file *owner;
  ig_zip zip;
  ig_arena arena;
  const char *root;
  bool big;  // the file is big-endian
  bool legacy;
  ig_map storages;          // key -> record
  IG_VEC(ig_pickle *) ids;  // legacy: persistent ids
  bool no_memory;
} reader;

#define BAD(r, ...) ig_fail((r)->un.c, IG_SYNTAX, __VA_ARGS__)

// ---- storages

static record *find_record(reader *r, const char *key) {
  ig_map_value *v = ig_map_find(&r->storages, key);
  if (v) return v->ptr;
  char name[512];
  int n = snprintf(name, sizeof name, "%s/data/%s", r->root, key);
  bool fits = n > 0 && (size_t)n < sizeof name;
  const ig_zip_entry *e = fits && !r->legacy ? ig_zip_find(&r->zip, name) : NULL;
  if (!e) {
    (void)BAD(r, "%s: storage '%.100s' is missing", r->un.name, key);
    return NULL;
  }
  record *rec = ig_arena_push(&r->arena, sizeof *rec);
  v = rec ? ig_map_put(&r->storages, key) : NULL;
  if (!v) {
    (void)ig_fail(r->un.c, IG_NOMEM, "out of memory");
    return NULL;
  }
  rec->zip = e;
  rec->swapped = IG_DTYPE_COUNT;
  v->ptr = rec;
  return rec;
}

static ig_tensor *open_record(reader *r, record *rec, ig_dtype element) {
  ig_ctx *c = r->un.c;
  const ig_zip_entry *e = rec->zip;
  size_t align = ig_element_align(element);
  if (!e) return ig_bytes_tensor(c, rec->bytes, r->owner, align);
  if (!e->deflated) {
    if (!r->owner && ig_zip_verify(c, e) != IG_OK) return NULL;
    return ig_bytes_tensor(c, e->packed, r->owner, align);
  }
  int64_t size = (int64_t)e->size;
  ig_tensor *t = ig_tensor_empty(c, IG_U8, &size, 1);
  return t && ig_zip_inflate(c, e, ig_tensor_data(t)) == IG_OK ? t : NULL;
}

static ig_tensor *get_storage(ig_unpack *u, const ig_storage_id *id) {
  reader *r = (reader *)u;
  record *rec = find_record(r, id->key);
  if (!rec) return NULL;
  if (!rec->tensor) rec->tensor = open_record(r, rec, id->element);
  ig_tensor *t = rec->tensor;
  if (!t) return NULL;
  // Another tensor may want larger elements of the same storage.
  if ((uintptr_t)t->storage->data % ig_element_align(id->element) != 0) {
    (void)BAD(r, "%s: storage '%.100s' is used with several element types", u->name, id->key);
    return NULL;
  }
  if (r->big && rec->swapped != id->element) {
    if (rec->swapped != IG_DTYPE_COUNT) {
      (void)BAD(r, "%s: big-endian storage '%.100s' is used with several element types", u->name,
                id->key);
      return NULL;
    }
    ig_elements_swap(id->element, t->storage->data, t->storage->bytes);
    rec->swapped = id->element;
  }
  if (id->element == IG_BOOL && !rec->bools) {
    ig_bools_normalize(t->storage->data, t->storage->bytes);
    rec->bools = true;
  }
  return t;
}

static ig_status read_pickle(reader *r, ig_bytes in, const char *name, ig_pickle **tree,
                             size_t *end) {
  ig_pickle_source source = {.name = name,
                             .in = in,
                             .base = end ? (size_t)(in.at - r->in.at) : 0,
                             .rule = ig_unpack_rule,
                             .user = &r->un,
                             .limits = &r->un.limits};
  return ig_pickle_read(r->un.c, &source, &r->arena, tree, end);
}

// ---- zip

static const ig_zip_entry *member(reader *r, const char *name) {
  char path[512];
  int n = snprintf(path, sizeof path, "%s/%s", r->root, name);
  return n > 0 && (size_t)n < sizeof path ? ig_zip_find(&r->zip, path) : NULL;
}

static ig_status check_root(reader *r) {
  const char *first = r->zip.n ? r->zip.entries[0].name : "";
  const char *slash = strchr(first, '/');
  size_t n = slash ? (size_t)(slash - first) : 0;
  r->root = ig_arena_strn(&r->arena, first, n);
  if (!r->root) return ig_fail(r->un.c, IG_NOMEM, "out of memory");
  for (size_t i = 0; slash && i < r->zip.n; i++) {
    if (strncmp(r->zip.entries[i].name, first, n + 1) == 0) continue;
    return BAD(r, "%s: '%s' lies outside the archive's folder '%s'", r->un.name,
               r->zip.entries[i].name, r->root);
  }
  return IG_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text);
  size_t k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

// Archives of other kinds, and who reads them.
static ig_status refuse_others(reader *r) {
  ig_ctx *c = r->un.c;
  const char *name = r->un.name;
  if (ig_zip_find(&r->zip, "serialized_exported_program.json") || member(r, "archive_format")) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: an exported program (.pt2), not a file of torch.save; load it with "
                   "torch.export.load",
                   name);
  }
  if (member(r, "constants.pkl")) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: a TorchScript archive, not a file of torch.save; load it with "
                   "torch.jit.load (ingot.load_state_dict reads its weights)",
                   name);
  }
  if (member(r, "data.pkl")) return IG_OK;
  for (size_t i = 0; i < r->zip.n; i++) {
    if (!ends_with(r->zip.entries[i].name, ".npy")) continue;
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: NumPy arrays (.npz), not a file of torch.save; ingot.load_file reads them",
                   name);
  }
  return BAD(r, "%s: a zip archive, but not one of torch.save: it has no 'data.pkl'", name);
}

static ig_status read_text(reader *r, const char *name, char *out, size_t size) {
  const ig_zip_entry *e = member(r, name);
  ig_bytes b = {0};
  out[0] = 0;
  if (!e) return IG_OK;
  IG_RETURN_IF_ERR(ig_zip_read(r->un.c, e, &r->arena, &b));
  while (b.n && (b.at[b.n - 1] == '\n' || b.at[b.n - 1] == ' ')) b.n--;
  if (b.n >= size || memchr(b.at, 0, b.n)) {
    return BAD(r, "%s: '%s' has %zu bytes, expected a short text", r->un.name, name, b.n);
  }
  memcpy(out, b.at, b.n);
  out[b.n] = 0;
  return IG_OK;
}

static ig_status check_records(reader *r) {
  char text[32];
  IG_RETURN_IF_ERR(read_text(r, "version", text, sizeof text));
  if (!text[0]) IG_RETURN_IF_ERR(read_text(r, ".data/version", text, sizeof text));
  int version = 0;
  for (const char *p = text; *p; p++) {
    if (*p < '0' || *p > '9' || version > VERSION_MAX) version = VERSION_MAX + 1;
    version = version > VERSION_MAX ? version : version * 10 + (*p - '0');
  }
  if (text[0] && (version < 1 || version > VERSION_MAX)) {
    return ig_fail(r->un.c, IG_UNSUPPORTED, "%s: file format version '%s', 1 to %d are known",
                   r->un.name, text, VERSION_MAX);
  }
  IG_RETURN_IF_ERR(read_text(r, "byteorder", text, sizeof text));
  r->big = strcmp(text, "big") == 0;
  if (text[0] && !r->big && strcmp(text, "little") != 0) {
    return BAD(r, "%s: byte order '%s', expected 'little' or 'big'", r->un.name, text);
  }
  return IG_OK;
}

static ig_status read_zip(reader *r, ig_object **out) {
  ig_ctx *c = r->un.c;
  ig_bytes text = {0};
  ig_pickle *tree = NULL;
  IG_RETURN_IF_ERR(ig_zip_open(c, r->un.name, r->in, &r->un.limits, &r->zip));
  IG_RETURN_IF_ERR(check_root(r));
  IG_RETURN_IF_ERR(refuse_others(r));
  IG_RETURN_IF_ERR(check_records(r));
  const ig_zip_entry *e = member(r, "data.pkl");
  IG_RETURN_IF_ERR(ig_zip_read(c, e, &r->arena, &text));
  IG_RETURN_IF_ERR(read_pickle(r, text, e->name, &tree, NULL));
  return ig_unpack_tree(&r->un, tree, out);
}

// ---- legacy

static void keep_id(ig_pickle *p, void *user) {
  reader *r = user;
  if (!ig_vec_push(r->un.c->alloc, &r->ids, p)) r->no_memory = true;
}

// The next pickle of the row.
static ig_status next_pickle(reader *r, size_t *pos, ig_pickle **tree) {
  ig_pickle_source source = {.name = r->un.name,
                             .in = {r->in.at + *pos, r->in.n - *pos},
                             .base = *pos,
                             .rule = ig_unpack_rule,
                             .persid = keep_id,
                             .user = &r->un,
                             .limits = &r->un.limits};
  // What follows the pickles is not text.
  if (source.in.n > r->un.limits.max_text) source.in.n = (size_t)r->un.limits.max_text;
  size_t end = 0;
  IG_RETURN_IF_ERR(ig_pickle_read(r->un.c, &source, &r->arena, tree, &end));
  *pos += end;
  return r->no_memory ? ig_fail(r->un.c, IG_NOMEM, "out of memory") : IG_OK;
}

// What every legacy file begins with: 0x1950a86a20f9469cfc6c.
static const uint8_t magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static bool is_legacy(ig_bytes in) {
  static const uint8_t head[] = {0x80, 2, 0x8a, sizeof magic};
  const uint8_t *p = in.at;
  if (in.n < sizeof head + sizeof magic || p[0] != 0x80 || p[2] != 0x8a || p[3] != sizeof magic) {
    return false;
  }
  return memcmp(p + sizeof head, magic, sizeof magic) == 0;
}

static ig_status read_info(reader *r, const ig_pickle *info) {
  if (info->kind != IG_PICKLE_DICT)
    return BAD(r, "%s: system information is no dictionary", r->un.name);
  for (size_t i = 0; i + 1 < info->n; i += 2) {
    const ig_pickle *key = info->items[i];
    const ig_pickle *value = info->items[i + 1];
    if (key->kind == IG_PICKLE_STR && strcmp(key->text, "little_endian") == 0) {
      r->big = value->kind == IG_PICKLE_BOOL && !value->b;
    }
  }
  return IG_OK;
}

// The sizes of elements are known from the tensors that use a storage.
static ig_status learn_classes(reader *r) {
  for (size_t i = 0; i < r->ids.n; i++) {
    ig_storage_id id;
    if (!ig_unpack_storage_id(&r->un, r->ids.at[i], &id)) return ig_ctx_status(r->un.c);
    ig_map_value *v = ig_map_put(&r->storages, id.key);
    if (!v) return ig_fail(r->un.c, IG_NOMEM, "out of memory");
    record *rec = v->ptr;
    if (!rec) {
      rec = ig_arena_push(&r->arena, sizeof *rec);
      if (!rec) return ig_fail(r->un.c, IG_NOMEM, "out of memory");
      *rec = (record){.dtype = id.dtype, .swapped = IG_DTYPE_COUNT};
      v->ptr = rec;
    }
    if (rec->dtype != id.dtype) {
      return BAD(r, "%s: offset %zu: storage '%.100s' has two classes", r->un.name, id.at, id.key);
    }
  }
  return IG_OK;
}

// Behind the last pickle: for each key in order the number of elements and the elements.
static ig_status place_storages(reader *r, const ig_pickle *keys, size_t pos) {
  if (keys->kind != IG_PICKLE_LIST)
    return BAD(r, "%s: the list of storages is no list", r->un.name);
  for (size_t i = 0; i < keys->n; i++) {
    const ig_pickle *key = keys->items[i];
    ig_map_value *v = key->kind == IG_PICKLE_STR ? ig_map_find(&r->storages, key->text) : NULL;
    if (!v) return BAD(r, "%s: offset %zu: a storage that no tensor uses", r->un.name, key->at);
    record *rec = v->ptr;
    size_t left = r->in.n - pos;
    if (left < 8) return BAD(r, "%s: cut off at %zu, before storage %zu", r->un.name, pos, i);
    uint64_t n = ig_load64(r->in.at + pos);
    if (r->big) ig_elements_swap(IG_U64, (uint8_t *)&n, sizeof n);
    size_t width = ig_dtype_size(rec->dtype);
    if (n > (left - 8) / width) {
      return BAD(r, "%s: offset %zu: storage %zu of %" PRIu64 " elements, %zu bytes are left",
                 r->un.name, pos, i, n, left - 8);
    }
    if (rec->bytes.at) return BAD(r, "%s: storage '%.100s' occurs twice", r->un.name, key->text);
    rec->bytes = (ig_bytes){r->in.at + pos + 8, (size_t)n * width};
    pos += 8 + (size_t)n * width;
  }
  for (size_t i = 0; i < r->ids.n; i++) {
    const ig_pickle *key = r->ids.at[i]->args->items[2];
    const record *rec = ig_map_find(&r->storages, key->text)->ptr;
    if (!rec->bytes.at) {
      return BAD(r, "%s: offset %zu: storage '%.100s' is missing", r->un.name, key->at, key->text);
    }
  }
  return IG_OK;
}

static ig_status read_legacy(reader *r, ig_object **out) {
  size_t pos = 0;
  ig_pickle *p = NULL;
  ig_pickle *tree = NULL;
  r->legacy = true;
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &p));
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &p));
  if (p->kind != IG_PICKLE_INT || p->i != LEGACY_PROTOCOL) {
    return ig_fail(r->un.c, IG_UNSUPPORTED, "%s: a legacy file of a version other than %d",
                   r->un.name, LEGACY_PROTOCOL);
  }
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &p));
  IG_RETURN_IF_ERR(read_info(r, p));
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &tree));
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &p));
  IG_RETURN_IF_ERR(learn_classes(r));
  IG_RETURN_IF_ERR(place_storages(r, p, pos));
  return ig_unpack_tree(&r->un, tree, out);
}

// ---- which it is

static ig_status refuse_unknown(reader *r) {
  ig_ctx *c = r->un.c;
  const char *name = r->un.name;
  const uint8_t *p = r->in.at;
  size_t n = r->in.n;
  if (n >= 8 && memcmp(p, "PYTORCH1", 8) == 0) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: the container PYTORCH1 from before the zip format is not read; save the "
                   "file again with PyTorch 1.6 or newer",
                   name);
  }
  if (n > TAR_MAGIC + 5 && memcmp(p + TAR_MAGIC, "ustar", 5) == 0) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: a tar archive of PyTorch 0.1 is not read; save the file again", name);
  }
  if (n > 8 && ig_load64(p) < n && p[8] == '{') {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: a safetensors file, not one of torch.save; ingot.load_file reads it", name);
  }
  if (n > 1 && p[0] == 0x80 && p[1] <= 5) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: a pickle that torch.save did not write; only its files are read", name);
  }
  return BAD(r, "%s: neither a zip archive nor a legacy file of torch.save (%zu bytes)", name, n);
}

ig_status ig_torch_parse_with(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                              const ig_torch_options *o, ig_object **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_torch_options all = {.size = sizeof all};
  if (o) memcpy(&all, o, o->size < sizeof all ? o->size : sizeof all);
  reader r = {.un = {.c = c,
                     .name = name,
                     .limits = ig_limits_of(all.limits),
                     .classes = all.classes,
                     .meta = all.meta,
                     .storage = get_storage},
              .in = bytes,
              .owner = owner,
              .root = "",
              .arena = ig_arena_make(c->alloc),
              .storages = ig_map_make(c->alloc)};
  ig_scope scope = ig_scope_open(c);
  ig_status st;
  if (bytes.n >= 4 && memcmp(bytes.at, "PK\3\4", 4) == 0) {
    st = read_zip(&r, out);
  } else {
    st = is_legacy(bytes) ? read_legacy(&r, out) : refuse_unknown(&r);
  }
  ig_scope_close(c, scope);
  if (r.zip.n) ig_zip_close(&r.zip);
  ig_vec_free(c->alloc, &r.ids);
  ig_map_free(&r.storages);
  ig_arena_free(&r.arena);
  return st;
}

ig_status ig_torch_parse(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                         const ig_limits *limits, ig_object **out) {
  ig_torch_options o = {.size = sizeof o, .limits = limits};
  return ig_torch_parse_with(c, name, bytes, owner, &o, out);
}

ig_status ig_torch_load(ig_ctx *c, const char *path, const ig_torch_options *o, ig_object **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &f));
  ig_status st = ig_torch_parse_with(c, path, f->bytes, f, o, out);
  ig_file_release(f);
  return st;
}
