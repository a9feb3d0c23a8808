// SPDX-License-Identifier: Apache-2.0
// The data of zip members: checksums and unpacking.
#include "base/cause.h"
#include "base/crc.h"
#include "base/limits.h"
#include "codec/inflate.h"
#include "codec/zip.h"

enum {
  TEXT_FREE = 16 << 20,  // bytes that a text may have, however small it was packed,
  TEXT_RATIO = 100,      // and as many times its packed size
};

static ig_status check_crc(ig_ctx *c, const ig_zip_entry *e, const uint8_t *data) {
  if (e->no_crc) return IG_OK;
  uint32_t found = ig_crc32(0, data, (size_t)e->size);
  if (found == e->crc) return IG_OK;
  return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                 "zip entry '%s' at offset %llu is damaged: checksum %08x, expected %08x", e->name,
                 (unsigned long long)e->offset, found, e->crc);
}

ig_status ig_zip_verify(ig_ctx *c, const ig_zip_entry *e) {
  return e->deflated ? IG_OK : check_crc(c, e, e->packed.at);
}

ig_status ig_zip_inflate(ig_ctx *c, const ig_zip_entry *e, uint8_t *dst) {
  switch (ig_inflate(c, e->packed, dst, (size_t)e->size)) {
    case IG_INFLATED:
      return check_crc(c, e, dst);
    case IG_INFLATE_STOPPED:
      return c->status;
    default:
      return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                     "zip entry '%s' at offset %llu does not unpack to its %llu bytes", e->name,
                     (unsigned long long)e->offset, (unsigned long long)e->size);
  }
}

ig_status ig_zip_read_text(ig_ctx *c, const ig_zip_entry *e, const ig_limits *limits,
                           ig_arena *arena, ig_bytes *out) {
  uint64_t most = ig_limits_of(c, limits).max_text;
  uint64_t grown = TEXT_FREE + (uint64_t)e->packed.n * TEXT_RATIO;
  if (e->size > most || (e->deflated && e->size > grown)) {
    return ig_fail(
        c, IG_SYNTAX | IG_E_READER_LIMIT,
        "zip entry '%s' at offset %llu is a text of %llu bytes in %zu, the limit is %llu", e->name,
        (unsigned long long)e->offset, (unsigned long long)e->size, e->packed.n,
        (unsigned long long)(e->size > most ? most : grown));
  }
  return ig_zip_read(c, e, arena, out);
}

ig_limits ig_zip_nested_limits(const ig_ctx *c, const ig_zip_entry *e, const ig_limits *limits) {
  ig_limits all = ig_limits_of(c, limits);
  if (e->deflated && all.max_inflated > IG_ZIP_FREE) all.max_inflated = IG_ZIP_FREE;
  return all;
}

ig_status ig_zip_read(ig_ctx *c, const ig_zip_entry *e, ig_arena *arena, ig_bytes *out) {
  *out = e->packed;
  if (!e->deflated) return ig_zip_verify(c, e);
  uint8_t *dst = ig_arena_push(arena, (size_t)e->size);
  if (!dst) return ig_fail(c, IG_NOMEM, "out of memory");
  *out = (ig_bytes){dst, (size_t)e->size};
  return ig_zip_inflate(c, e, dst);
}
