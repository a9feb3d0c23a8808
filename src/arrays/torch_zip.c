// SPDX-License-Identifier: Apache-2.0
// Opening the container, and reading values from its pickles.
#include "arrays/torch_zip.h"

#include <stdio.h>
#include <string.h>

#include "arrays/storages.h"
#include "base/cause.h"

enum { VERSION_MAX = 10, PATH_MAX_LENGTH = 1024 };

#define BAD(z, ...) ig_fail((z)->c, IG_SYNTAX | IG_E_PICKLE, __VA_ARGS__)

static ig_status find_root(ig_torch_zip *z) {
  const char *first = z->zip.n ? z->zip.entries[0].name : "";
  const char *slash = strchr(first, '/');
  size_t n = slash ? (size_t)(slash - first) : 0;
  bool common = slash != NULL;
  for (size_t i = 0; i < z->zip.n && common; i++) {
    common = strncmp(z->zip.entries[i].name, first, n + 1) == 0;
  }
  z->root = ig_arena_strn(&z->arena, first, n);
  if (!z->root) return ig_fail(z->c, IG_NOMEM, "out of memory");
  if (common || !ig_torch_zip_find(z, "data.pkl")) return IG_OK;
  for (size_t i = 0; i < z->zip.n; i++) {
    if (strncmp(z->zip.entries[i].name, first, n + 1) == 0) continue;
    return BAD(z, "%s: '%s' lies outside the archive's folder '%s'", z->name,
               z->zip.entries[i].name, z->root);
  }
  return IG_OK;
}

ig_status ig_torch_zip_open(ig_ctx *c, const char *name, ig_bytes in, ig_file *owner,
                            const ig_limits *limits, bool any_case, ig_torch_zip *out) {
  *out = (ig_torch_zip){.c = c,
                        .name = name,
                        .owner = owner,
                        .limits = ig_limits_of(c, limits),
                        .arena = ig_arena_make(c->alloc),
                        .root = ""};
  IG_RETURN_IF_ERR((any_case ? ig_zip_open_any_case : ig_zip_open)(c, name, in, limits, &out->zip));
  ig_status st = find_root(out);
  if (st != IG_OK) ig_torch_zip_free(out);
  return st;
}

void ig_torch_zip_free(ig_torch_zip *z) {
  ig_zip_close(&z->zip);
  ig_arena_free(&z->arena);
}

const ig_zip_entry *ig_torch_zip_find(const ig_torch_zip *z, const char *name) {
  char path[PATH_MAX_LENGTH];
  int n = snprintf(path, sizeof path, "%s/%s", z->root, name);
  return n > 0 && (size_t)n < sizeof path ? ig_zip_find(&z->zip, path) : NULL;
}

// ---- bookkeeping

static ig_status read_text(ig_torch_zip *z, const char *name, char *out, size_t size) {
  const ig_zip_entry *e = ig_torch_zip_find(z, name);
  ig_bytes b = {0};
  out[0] = 0;
  if (!e) return IG_OK;
  IG_RETURN_IF_ERR(ig_zip_read_text(z->c, e, &z->limits, &z->arena, &b));
  while (b.n && (b.at[b.n - 1] == '\n' || b.at[b.n - 1] == ' ')) b.n--;
  if (b.n >= size || (b.n && memchr(b.at, 0, b.n))) {
    return BAD(z, "%s: '%s' has %zu bytes, expected a short text", z->name, name, b.n);
  }
  if (b.n) memcpy(out, b.at, b.n);
  out[b.n] = 0;
  return IG_OK;
}

ig_status ig_torch_zip_check(ig_torch_zip *z) {
  char text[32];
  IG_RETURN_IF_ERR(read_text(z, "version", text, sizeof text));
  if (!text[0]) IG_RETURN_IF_ERR(read_text(z, ".data/version", text, sizeof text));
  z->version = 0;
  for (const char *p = text; *p; p++) {
    bool digit = *p >= '0' && *p <= '9' && z->version <= VERSION_MAX;
    z->version = digit ? z->version * 10 + (*p - '0') : VERSION_MAX + 1;
  }
  if (text[0] && (z->version < 1 || z->version > VERSION_MAX)) {
    return ig_fail(z->c, IG_UNSUPPORTED, "%s: file format version '%s', 1 to %d are known", z->name,
                   text, VERSION_MAX);
  }
  IG_RETURN_IF_ERR(read_text(z, "byteorder", text, sizeof text));
  z->big = strcmp(text, "big") == 0;
  if (text[0] && !z->big && strcmp(text, "little") != 0) {
    return BAD(z, "%s: byte order '%s', expected 'little' or 'big'", z->name, text);
  }
  return IG_OK;
}

// ---- pickles

typedef struct unpickler {
  ig_unpack un;
  ig_torch_zip *zip;
  const char *folder;
  ig_storages storages;
} unpickler;

static ig_tensor *get_storage(ig_unpack *u, const ig_storage_id *id) {
  unpickler *p = (unpickler *)u;
  ig_storage_record *rec = ig_storages_find(&p->storages, id->key);
  if (!rec) {
    char name[PATH_MAX_LENGTH];
    int n = snprintf(name, sizeof name, "%s/%s", p->folder, id->key);
    const ig_zip_entry *e =
        n > 0 && (size_t)n < sizeof name ? ig_torch_zip_find(p->zip, name) : NULL;
    if (!e) {
      (void)ig_fail(u->c, IG_SYNTAX, "%s: offset %zu: storage '%s/%.100s' is missing", u->name,
                    id->at, p->folder, id->key);
      return NULL;
    }
    rec = ig_storages_put(&p->storages, id->key);
    if (!rec) return NULL;
    rec->zip = e;
  }
  return ig_storages_open(u, &p->storages, rec, id);
}

ig_status ig_torch_zip_unpickle(ig_torch_zip *z, const ig_unpack *proto, const char *member,
                                const char *folder, ig_object **out) {
  *out = NULL;
  const ig_zip_entry *e = ig_torch_zip_find(z, member);
  if (!e) return BAD(z, "%s: '%s' is missing", z->name, member);
  ig_arena arena = ig_arena_make(z->c->alloc);
  unpickler u = {.un = *proto,
                 .zip = z,
                 .folder = folder,
                 .storages = {.c = z->c,
                              .name = z->name,
                              .owner = z->owner,
                              .arena = &arena,
                              .index = ig_map_make(z->c->alloc),
                              .big = z->big}};
  u.un.c = z->c;
  u.un.name = z->name;
  u.un.limits = z->limits;
  u.un.storage = get_storage;
  ig_pickle_source source = {.name = e->name,
                             .rule = ig_unpack_rule,
                             .user = &u.un,
                             .limits = &z->limits,
                             .bare = proto->script};
  ig_pickle *tree = NULL;
  ig_scope scope = ig_scope_open(z->c);
  ig_status st = ig_zip_read_text(z->c, e, &z->limits, &arena, &source.in);
  if (st == IG_OK) st = ig_pickle_read(z->c, &source, &arena, &tree, NULL);
  if (st == IG_OK) st = ig_unpack_tree(&u.un, tree, out);
  ig_scope_close(z->c, scope);
  ig_map_free(&u.storages.index);
  ig_arena_free(&arena);
  return st;
}
