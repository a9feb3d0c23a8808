// SPDX-License-Identifier: Apache-2.0
// A sequence of pickles (magic number, version, system, the value, the keys of its storages), then
// the storages: for each the number of elements and the elements.
#include "arrays/legacy.h"

#include <inttypes.h>
#include <string.h>

#include "arrays/storages.h"
#include "base/cause.h"
#include "codec/bits.h"

enum { LEGACY_PROTOCOL = 1001 };

typedef struct reader {
  ig_unpack un;
  ig_bytes in;
  ig_arena arena;
  ig_storages storages;
  IG_VEC(ig_pickle *) ids;  // persistent ids
  bool no_memory;
} reader;

#define BAD(r, ...) ig_fail((r)->un.c, IG_SYNTAX | IG_E_PICKLE, __VA_ARGS__)

static ig_tensor *get_storage(ig_unpack *u, const ig_storage_id *id) {
  reader *r = (reader *)u;
  return ig_storages_open(u, &r->storages, ig_storages_find(&r->storages, id->key), id);
}

static void keep_id(ig_pickle *p, void *user) {
  reader *r = user;
  if (!ig_vec_push(r->un.c->alloc, &r->ids, p)) r->no_memory = true;
}

// The next pickle of the sequence.
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

// In any protocol: PROTO, perhaps FRAME, LONG1 with the magic number.
bool ig_legacy_is(ig_bytes in) {
  enum { PROTO = 0x80, FRAME = 0x95, LONG1 = 0x8a, FRAME_SIZE = 9 };
  const uint8_t *p = in.at;
  size_t n = in.n;
  if (n < 2 || p[0] != PROTO) return false;
  size_t skip = n > 2 && p[2] == FRAME ? 2 + FRAME_SIZE : 2;
  if (n < skip + 2 + sizeof magic) return false;
  p += skip;
  return p[0] == LONG1 && p[1] == sizeof magic && memcmp(p + 2, magic, sizeof magic) == 0;
}

static ig_status read_info(reader *r, const ig_pickle *info) {
  if (info->kind != IG_PICKLE_DICT)
    return BAD(r, "%s: system information is not a dictionary", r->un.name);
  for (size_t i = 0; i + 1 < info->n; i += 2) {
    const ig_pickle *key = info->items[i];
    const ig_pickle *value = info->items[i + 1];
    if (key->kind == IG_PICKLE_STR && strcmp(key->text, "little_endian") == 0) {
      r->storages.big = value->kind == IG_PICKLE_BOOL && !value->b;
    }
  }
  return IG_OK;
}

// The sizes of elements are known from the tensors that use a storage.
static ig_status learn_classes(reader *r) {
  for (size_t i = 0; i < r->ids.n; i++) {
    ig_storage_id id;
    if (!ig_unpack_storage_id(&r->un, r->ids.at[i], &id)) return ig_ctx_status(r->un.c);
    ig_storage_record *rec = ig_storages_put(&r->storages, id.key);
    if (!rec) return ig_ctx_status(r->un.c);
    if (rec->dtype == IG_DTYPE_COUNT) rec->dtype = id.dtype;
    if (rec->dtype != id.dtype) {
      return BAD(r, "%s: offset %zu: storage '%.100s' has two classes", r->un.name, id.at, id.key);
    }
  }
  return IG_OK;
}

// After the last pickle: for each key in order the number of elements and the elements.
static ig_status place_storages(reader *r, const ig_pickle *keys, size_t pos) {
  if (keys->kind != IG_PICKLE_LIST)
    return BAD(r, "%s: the list of storages is not a list", r->un.name);
  for (size_t i = 0; i < keys->n; i++) {
    const ig_pickle *key = keys->items[i];
    ig_storage_record *rec =
        key->kind == IG_PICKLE_STR ? ig_storages_find(&r->storages, key->text) : NULL;
    if (!rec) return BAD(r, "%s: offset %zu: a storage that no tensor uses", r->un.name, key->at);
    size_t left = r->in.n - pos;
    if (left < 8) return BAD(r, "%s: cut off at %zu, before storage %zu", r->un.name, pos, i);
    uint64_t n = ig_load64(r->in.at + pos);
    if (r->storages.big) ig_elements_swap(IG_U64, (uint8_t *)&n, sizeof n);
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
    const ig_storage_record *rec = ig_storages_find(&r->storages, key->text);
    if (!rec->bytes.at) {
      return BAD(r, "%s: offset %zu: storage '%.100s' is missing", r->un.name, key->at, key->text);
    }
  }
  return IG_OK;
}

// Magic number, version, system.
static ig_status read_head(reader *r, size_t *pos) {
  ig_pickle *p = NULL;
  IG_RETURN_IF_ERR(next_pickle(r, pos, &p));
  IG_RETURN_IF_ERR(next_pickle(r, pos, &p));
  if (p->kind != IG_PICKLE_INT || p->i != LEGACY_PROTOCOL) {
    return ig_fail(r->un.c, IG_UNSUPPORTED, "%s: a legacy file of a version other than %d",
                   r->un.name, LEGACY_PROTOCOL);
  }
  IG_RETURN_IF_ERR(next_pickle(r, pos, &p));
  return read_info(r, p);
}

static ig_status read_all(reader *r, ig_object **out) {
  size_t pos = 0;
  ig_pickle *p = NULL;
  ig_pickle *tree = NULL;
  IG_RETURN_IF_ERR(read_head(r, &pos));
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &tree));
  IG_RETURN_IF_ERR(next_pickle(r, &pos, &p));
  IG_RETURN_IF_ERR(learn_classes(r));
  IG_RETURN_IF_ERR(place_storages(r, p, pos));
  return ig_unpack_tree(&r->un, tree, out);
}

ig_status ig_legacy_read(ig_ctx *c, const char *name, ig_bytes in, ig_file *owner,
                         const ig_unpack *proto, ig_object **out) {
  *out = NULL;
  reader r = {.un = *proto, .in = in, .arena = ig_arena_make(c->alloc)};
  r.un.c = c;
  r.un.name = name;
  r.un.storage = get_storage;
  r.storages = (ig_storages){
      .c = c, .name = name, .owner = owner, .arena = &r.arena, .index = ig_map_make(c->alloc)};
  ig_scope scope = ig_scope_open(c);
  ig_status st = read_all(&r, out);
  ig_scope_close(c, scope);
  ig_vec_free(c->alloc, &r.ids);
  ig_map_free(&r.storages.index);
  ig_arena_free(&r.arena);
  return st;
}
