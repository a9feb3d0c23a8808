// SPDX-License-Identifier: Apache-2.0
// Writing torch.save files: the members, their order and the pickle as PyTorch 2.13 writes them. A
// shared value is written once and referenced, as by Python's pickler.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrays/pack.h"
#include "arrays/torch_file.h"
#include "arrays/unpack.h"
#include "base/hash.h"
#include "codec/bits.h"

typedef struct archive {
  ig_ctx *c;
  ig_zip_writer zip;
  const char *root;
  uint64_t names;  // FNV-1a over names and checksums: what identifies the archive
  uint64_t data;
} archive;

static ig_status put(archive *a, const char *name, const void *data, size_t n) {
  ig_str path = ig_str_make(a->c->alloc);
  ig_bytes part = {data, n};
  ig_str_add(&path, "%s/%s", a->root, name);
  ig_status st = path.failed ? ig_fail(a->c, IG_NOMEM, "out of memory")
                             : ig_zip_add(&a->zip, path.at, &part, 1);
  uint8_t crc[4];
  ig_store32(crc, ig_zip_last_crc(&a->zip));
  a->names = ig_hash_bytes(a->names, name, strlen(name) + 1);
  a->data = ig_hash_bytes(a->data, crc, sizeof crc);
  ig_str_free(&path);
  return st;
}

static ig_status put_text(archive *a, const char *name, const char *text) {
  return put(a, name, text, strlen(text));
}

static ig_status put_all(archive *a, const ig_pack *p) {
  IG_RETURN_IF_ERR(put(a, "data.pkl", p->text.at, p->text.n));
  IG_RETURN_IF_ERR(put_text(a, ".format_version", "1"));
  IG_RETURN_IF_ERR(put_text(a, ".storage_alignment", "64"));
  IG_RETURN_IF_ERR(put_text(a, "byteorder", "little"));
  for (size_t i = 0; i < p->storages.n; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "data/%zu", i);
    const ig_packed_storage *s = &p->storages.at[i];
    uint8_t *copy = NULL;
    ig_bytes b = {s->storage->data, s->bytes};
    ig_status st = ig_elements_little(a->c, s->dtype, &b, &copy);
    if (st == IG_OK) st = put(a, name, b.at, b.n);
    ig_mem_free(a->c->alloc, copy, copy ? b.n : 0);
    IG_RETURN_IF_ERR(st);
  }
  IG_RETURN_IF_ERR(put_text(a, "version", "3\n"));
  char id[48];
  (void)snprintf(id, sizeof id, "%020" PRIu64 "%020" PRIu64, a->names, a->data);
  return put_text(a, ".data/serialization_id", id);
}

ig_status ig_torch_print_as(ig_ctx *c, const ig_object *o, const char *root, ig_sink *out) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  archive a = {.c = c, .root = root, .names = IG_HASH_BASIS, .data = IG_HASH_BASIS};
  ig_pack p = ig_pack_make(c);
  ig_zip_writer_init(&a.zip, c, out, IG_ZIP_ALIGN);
  ig_status st = ig_pack_object(&p, o);
  if (st == IG_OK) st = put_all(&a, &p);
  if (st == IG_OK) st = ig_zip_finish(&a.zip);
  ig_zip_writer_free(&a.zip);
  ig_pack_free(&p);
  return st;
}

ig_status ig_torch_print(ig_ctx *c, const ig_object *o, ig_sink *out) {
  return ig_torch_print_as(c, o, "archive", out);
}

// The folder inside has the name of the file, without its last extension.
static void name_root(const char *path, char *root, size_t size) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  if (n == 0 || n >= size || ig_zip_name_fault(base, n) || strcmp(base, ".") == 0) {
    (void)snprintf(root, size, "archive");
    return;
  }
  memcpy(root, base, n);
  root[n] = 0;
}

ig_status ig_torch_save(ig_ctx *c, const ig_object *o, const char *path) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  char root[256];
  ig_sink sink;
  name_root(path, root, sizeof root);
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &sink));
  ig_status st = ig_torch_print_as(c, o, root, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  return st;
}
