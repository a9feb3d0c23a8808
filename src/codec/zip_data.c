// SPDX-License-Identifier: Apache-2.0
// The data of zip members: checksums and unpacking, over zlib.
#include <string.h>
#include <zlib.h>

#include "base/budget.h"
#include "base/cause.h"
#include "base/limits.h"
#include "codec/zip.h"

enum {
  CHUNK = 1 << 30,       // zlib counts in 32 bits
  STEP = 16 << 20,       // bytes unpacked between two checks of the limits
  TEXT_FREE = 16 << 20,  // bytes that a text may have, however small it was packed,
  TEXT_RATIO = 100,      // and as many times its packed size
};

uint32_t ig_zip_crc(uint32_t crc, const uint8_t *data, size_t n) {
  for (size_t step = 0; n; data += step, n -= step) {
    step = n < CHUNK ? n : CHUNK;
    crc = (uint32_t)crc32(crc, data, (uInt)step);
  }
  return crc;
}

static ig_status check_crc(ig_ctx *c, const ig_zip_entry *e, const uint8_t *data) {
  if (e->no_crc) return IG_OK;
  uint32_t found = ig_zip_crc(0, data, (size_t)e->size);
  if (found == e->crc) return IG_OK;
  return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                 "zip entry '%s' at offset %llu is damaged: checksum %08x, expected %08x", e->name,
                 (unsigned long long)e->offset, found, e->crc);
}

ig_status ig_zip_verify(ig_ctx *c, const ig_zip_entry *e) {
  return e->deflated ? IG_OK : check_crc(c, e, e->packed.at);
}

// zlib does not pass the size to free, which our allocators need: it is stored before the block.
typedef union head {
  size_t size;
  long double align;
} head;

static voidpf z_new(voidpf user, uInt items, uInt size) {
  const ig_alloc *a = user;
  size_t n = sizeof(head) + (size_t)items * size;
  head *p = ig_mem_new(*a, n);
  if (!p) return Z_NULL;
  p->size = n;
  return p + 1;
}

static void z_free(voidpf user, voidpf at) {
  const ig_alloc *a = user;
  head *p = (head *)at - 1;
  ig_mem_free(*a, p, p->size);
}

// In steps, after which limits are checked: Z_ERRNO.
static int inflate_all(ig_ctx *c, z_stream *z, const ig_zip_entry *e, uint8_t *dst) {
  size_t in = e->packed.n;
  size_t out = (size_t)e->size;
  z->next_in = (Bytef *)e->packed.at;
  z->next_out = dst;
  int rc = Z_OK;
  while (rc == Z_OK) {
    uInt in_step = (uInt)(in < CHUNK ? in : CHUNK);
    uInt out_step = (uInt)(out < STEP ? out : STEP);
    z->avail_in = in_step;
    z->avail_out = out_step;
    rc = inflate(z, Z_NO_FLUSH);
    in -= in_step - z->avail_in;
    out -= out_step - z->avail_out;
    if (!ig_look(c)) return Z_ERRNO;
  }
  return rc == Z_STREAM_END && (in || out) ? Z_DATA_ERROR : rc;
}

ig_status ig_zip_inflate(ig_ctx *c, const ig_zip_entry *e, uint8_t *dst) {
  ig_alloc alloc = c->alloc;
  z_stream z = {.zalloc = z_new, .zfree = z_free, .opaque = &alloc};
  int rc = inflateInit2(&z, -MAX_WBITS);
  if (rc == Z_OK) {
    uint8_t nothing;  // zlib needs an address even for zero bytes
    rc = inflate_all(c, &z, e, e->size ? dst : &nothing);
    (void)inflateEnd(&z);
  }
  if (rc == Z_MEM_ERROR) return ig_fail(c, IG_NOMEM, "out of memory");
  if (c->status != IG_OK) return c->status;
  if (rc != Z_STREAM_END) {
    return ig_fail(c, IG_SYNTAX | IG_E_CHECKSUM,
                   "zip entry '%s' at offset %llu does not unpack to its %llu bytes", e->name,
                   (unsigned long long)e->offset, (unsigned long long)e->size);
  }
  return check_crc(c, e, dst);
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
