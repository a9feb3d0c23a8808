// SPDX-License-Identifier: Apache-2.0
// Weights of an archive as tensors over the mapped file: raw records with an index, or a torch.save
// file.
#include <stdio.h>
#include <string.h>

#include "arrays/torch_file.h"
#include "arrays/unpack.h"
#include "base/cause.h"
#include "codec/bits.h"
#include "pt2/archive.h"
#include "pt2/schema.h"
#include "pt2/values.h"
#include "tensor/geometry.h"

// ---- raw records

typedef struct loader {
  ig_ctx *c;
  ig_pt2_archive *a;
  const char *kind;
  ig_pt2_in in;
  ig_map storages;  // path -> tensor of bytes over the whole record
  ig_map swapped;   // path -> 1 + the dtype as which its bytes were swapped
} loader;

static void release_file(void *user) {
  ig_file_release(user);
}

enum { ALIGN = 16 };  // what the largest element needs

// The record as a byte tensor: in place in the file, or a copy if it is misaligned.
static ig_tensor *open_storage(loader *l, const ig_zip_entry *e, const ig_json *at) {
  if (e->size > INT64_MAX / 2) {
    (void)ig_pt2_fail(&l->in, at, IG_SYNTAX, "weight of %llu bytes", (unsigned long long)e->size);
    return NULL;
  }
  int64_t size = (int64_t)e->size;
  if (!IG_BIG_ENDIAN && !e->deflated && size && (uintptr_t)e->packed.at % ALIGN == 0) {
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
  const char *path = ig_pt2_get_text(&l->in, entry, "path_name");
  if (!path) return NULL;
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

// On big-endian machines: the bytes of a record in the machine's order, which depends on the dtype.
static bool to_native(loader *l, const ig_json *entry, const char *path, ig_tensor *bytes,
                      ig_dtype d) {
  ig_map_value *known = IG_BIG_ENDIAN ? ig_map_put(&l->swapped, path) : NULL;
  if (!IG_BIG_ENDIAN) return true;
  if (!known) {
    (void)ig_fail(l->c, IG_NOMEM, "out of memory");
    return false;
  }
  if (known->num && known->num != 1 + (size_t)d) {
    (void)ig_pt2_fail(&l->in, entry, IG_UNSUPPORTED, "record '%.100s' is used as several types",
                      path);
    return false;
  }
  if (!known->num) ig_elements_swap(d, bytes->storage->data, bytes->storage->bytes);
  known->num = 1 + (size_t)d;
  return true;
}

// Does every element that the metadata reaches lie inside n bytes?
static bool fits(const ig_meta *m, uint64_t n) {
  ig_extent e;
  return ig_geometry_measure(m, &e) && (uint64_t)e.bytes <= n;
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

// A tensor subclass is a torch.save file; objects are not read.
static ig_tensor *load_pickled(loader *l, const ig_json *entry, const char *path) {
  bool object = strncmp(path, "custom_obj_", 11) == 0 || strncmp(path, "opaque_obj_", 11) == 0;
  if (object) return NULL;
  const ig_zip_entry *e = ig_pt2_find(l->a, "data/%s/%s", l->kind, path);
  if (!e) {
    (void)ig_pt2_fail(&l->in, entry, IG_SYNTAX, "record 'data/%s/%.100s' is missing", l->kind,
                      path);
    return NULL;
  }
  ig_bytes bytes = e->packed;
  ig_object *found = NULL;
  const ig_limits limits =
      ig_zip_nested_limits(l->c, e, l->a->options ? l->a->options->limits : NULL);
  ig_status st = e->deflated ? ig_zip_read(l->c, e, &l->a->arena, &bytes) : IG_OK;
  if (st == IG_OK)
    st = ig_torch_parse(l->c, e->name, bytes, e->deflated ? NULL : l->a->file, &limits, &found);
  ig_tensor *t = st == IG_OK ? ig_object_tensor(found) : NULL;
  if (st == IG_OK && !t) {
    (void)ig_pt2_fail(&l->in, entry, IG_UNSUPPORTED, "'%.100s' is not a tensor", path);
  }
  if (t && !ig_pool_add(l->c, &ig_tensor_retain(t)->ref)) t = NULL;
  ig_object_free(found);
  return t;
}

static ig_tensor *load_tensor(loader *l, const ig_json *entry) {
  const ig_json *pickled = ig_pt2_get(&l->in, entry, "use_pickle", IG_JSON_BOOL);
  const char *path = ig_pt2_get_text(&l->in, entry, "path_name");
  if (!pickled || !path) return NULL;
  if (pickled->b) return load_pickled(l, entry, path);
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
  if (!to_native(l, entry, path, bytes, m.dtype)) return NULL;
  if (m.dtype == IG_BOOL) ig_bools_normalize(bytes->storage->data, bytes->storage->bytes);
  m.device = ig_device_cpu();  // where the bytes are now
  m.view_of = bytes;
  ig_tensor *t = ig_tensor_make(l->c, &m, false);
  if (t && grad) ig_tensor_set_requires_grad(l->c, t, true);
  return t;
}

static ig_status load_all(loader *l, const ig_json *config, ig_pt2_weights *out) {
  out->at = ig_arena_array(&l->a->arena, config->n + 1, sizeof *out->at);
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

static ig_status load_raw(ig_ctx *c, ig_pt2_archive *a, const char *kind, const ig_zip_entry *e,
                          ig_pt2_weights *out) {
  loader l = {.c = c,
              .a = a,
              .kind = kind,
              .storages = ig_map_make(c->alloc),
              .swapped = ig_map_make(c->alloc)};
  ig_bytes text = {0};
  const ig_json *doc = NULL;
  const ig_limits *limits = a->options ? a->options->limits : NULL;
  ig_status st = ig_zip_read_text(c, e, limits, &a->arena, &text);
  if (st == IG_OK) st = ig_json_parse(c, e->name, text, &a->arena, limits, &doc);
  l.in = (ig_pt2_in){.c = c, .file = e->name, .text = text, .arena = &a->arena};
  const ig_json *config = st == IG_OK ? ig_pt2_get(&l.in, doc, "config", IG_JSON_OBJECT) : NULL;
  if (config) st = load_all(&l, config, out);
  ig_map_free(&l.storages);
  ig_map_free(&l.swapped);
  return st == IG_OK ? ig_ctx_status(c) : st;
}

// ---- torch.save files

static ig_status take_weights(ig_ctx *c, ig_pt2_archive *a, const ig_zip_entry *e,
                              const ig_object *all, ig_pt2_weights *out) {
  ig_object_kind kind = ig_object_kind_of(all);
  if (kind != IG_OBJECT_DICT && kind != IG_OBJECT_ORDERED) {
    return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: found %s, expected a dictionary of tensors",
                   e->name, ig_object_kind_text(kind));
  }
  size_t n = ig_object_count(all);
  out->at = ig_arena_array(&a->arena, n + 1, sizeof *out->at);
  if (!out->at) return ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < n; i++) {
    size_t length = 0;
    const ig_object *key = ig_object_key(all, i);
    const ig_object *value = ig_object_at(all, i);
    bool text = ig_object_kind_of(key) == IG_OBJECT_STR;
    const char *name = text ? ig_object_text(key, &length) : NULL;
    if (!name || strlen(name) != length) {
      return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: the name of a weight is not a string", e->name);
    }
    ig_pt2_weight *w = &out->at[out->n++];
    *w = (ig_pt2_weight){.name = ig_arena_strn(&a->arena, name, length)};
    w->tensor = ig_object_tensor(value);
    w->is_param = w->tensor && ig_object_is_parameter(value);
    if (!w->name) return ig_fail(c, IG_NOMEM, "out of memory");
    if (w->tensor && !ig_pool_add(c, &ig_tensor_retain(w->tensor)->ref)) return ig_ctx_status(c);
  }
  return IG_OK;
}

ig_status ig_pt2_unpack_weights(ig_ctx *c, ig_pt2_archive *a, const ig_zip_entry *e,
                                ig_pt2_weights *out) {
  ig_object *all = NULL;
  ig_bytes bytes = e->packed;
  ig_file *owner = e->deflated ? NULL : a->file;
  *out = (ig_pt2_weights){0};
  if (e->deflated) IG_RETURN_IF_ERR(ig_zip_read(c, e, &a->arena, &bytes));
  if (bytes.n == 0) return IG_OK;  // there are none
  const ig_limits limits = ig_zip_nested_limits(c, e, a->options ? a->options->limits : NULL);
  ig_status st = ig_torch_parse(c, e->name, bytes, owner, &limits, &all);
  if (st == IG_OK) st = take_weights(c, a, e, all, out);
  ig_object_free(all);
  return st;
}

// ---- any layout

// 2.1 wrote the same under a name that ends with .json.
static const ig_zip_entry *find_plain(const ig_pt2_archive *a, const char *kind) {
  const char *stem = strcmp(kind, "weights") == 0 ? "state_dict" : kind;
  const ig_zip_entry *e = ig_pt2_find(a, "serialized_%s.pt", stem);
  return e ? e : ig_pt2_find(a, "serialized_%s.json", stem);
}

ig_status ig_pt2_load_weights(ig_ctx *c, ig_pt2_archive *a, const char *kind, ig_pt2_weights *out) {
  *out = (ig_pt2_weights){0};
  if (!a->root) {
    const ig_zip_entry *e = find_plain(a, kind);
    bool needed = strcmp(kind, "weights") == 0;
    if (!e && needed)
      return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: 'serialized_state_dict.pt' is missing", a->name);
    return e ? ig_pt2_unpack_weights(c, a, e, out) : IG_OK;
  }
  const ig_zip_entry *raw = ig_pt2_find(a, "data/%s/%s_%s_config.json", kind, a->model, kind);
  if (raw) return load_raw(c, a, kind, raw, out);
  const ig_zip_entry *packed = ig_pt2_find(a, "data/%s/%s.pt", kind, a->model);
  if (packed) return ig_pt2_unpack_weights(c, a, packed, out);
  return ig_fail(c, IG_SYNTAX | IG_E_PT2, "%s: 'data/%s/%s_%s_config.json' is missing", a->name,
                 kind, a->model, kind);
}
