// SPDX-License-Identifier: Apache-2.0
// Zip writer: stored members whose data begins at a multiple of the alignment, padded by an extra
// field "FB" in the local header as in PyTorch. Archives contain no time stamps, so that they are
// reproducible.
#include <string.h>

#include "base/crc.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "codec/zip_layout.h"

typedef struct ig_zip_record {
  const char *name;
  size_t name_n;
  uint64_t offset;
  uint64_t size;
  uint32_t crc;
} record;

void ig_zip_writer_init(ig_zip_writer *w, ig_ctx *c, ig_sink *sink, size_t align) {
  *w = (ig_zip_writer){.c = c,
                       .sink = sink,
                       .base = sink->total,
                       .align = align,
                       .arena = ig_arena_make(c->alloc),
                       .names = ig_map_make(c->alloc)};
}

void ig_zip_writer_free(ig_zip_writer *w) {
  ig_vec_free(w->c->alloc, &w->records);
  w->records.at = NULL;
  w->records.n = w->records.cap = 0;
  ig_map_free(&w->names);
  ig_arena_free(&w->arena);
}

static uint64_t cursor(const ig_zip_writer *w) {
  return w->sink->total - w->base;
}

static unsigned name_flags(const record *r) {
  for (size_t i = 0; i < r->name_n; i++) {
    if ((unsigned char)r->name[i] >= 0x80) return ZIP_FLAG_UTF8;
  }
  return 0;
}

static ig_status keep_name(ig_zip_writer *w, const char *name, record *r) {
  r->name_n = strlen(name);
  const char *fault = ig_zip_name_fault(name, r->name_n);
  if (fault) return ig_fail(w->c, IG_INVALID, "name of a zip entry ('%.100s'): %s", name, fault);
  r->name = ig_arena_strn(&w->arena, name, r->name_n);
  ig_map_value *seen = r->name ? ig_map_put(&w->names, r->name) : NULL;
  if (!seen) return ig_fail(w->c, IG_NOMEM, "out of memory");
  if (seen->num) return ig_fail(w->c, IG_INVALID, "zip entry '%s' is added twice", name);
  seen->num = 1;
  return IG_OK;
}

static void put_local(ig_zip_writer *w, const record *r) {
  uint8_t head[ZIP_LOCAL_SIZE + 20] = {0};
  bool big = r->size >= ZIP_MAX32;
  size_t extra64 = big ? 20 : 0;
  uint64_t start = r->offset + ZIP_LOCAL_SIZE + r->name_n + extra64 + 4;
  size_t fill = (size_t)(-start & (w->align - 1));
  ig_store32(head, ZIP_LOCAL);
  ig_store16(head + 4, big ? ZIP_VERSION64 : ZIP_VERSION);
  ig_store16(head + 6, (uint16_t)name_flags(r));
  ig_store16(head + 12, ZIP_DATE);
  ig_store32(head + 14, r->crc);
  ig_store32(head + 18, big ? ZIP_MAX32 : (uint32_t)r->size);
  ig_store32(head + 22, big ? ZIP_MAX32 : (uint32_t)r->size);
  ig_store16(head + 26, (uint16_t)r->name_n);
  ig_store16(head + 28, (uint16_t)(extra64 + 4 + fill));
  ig_sink_put(w->sink, head, ZIP_LOCAL_SIZE);
  ig_sink_put(w->sink, r->name, r->name_n);
  uint8_t extra[24];
  ig_store16(extra, ZIP_EXTRA64);
  ig_store16(extra + 2, 16);
  ig_store64(extra + 4, r->size);
  ig_store64(extra + 12, r->size);
  ig_sink_put(w->sink, extra, extra64);
  ig_store16(extra, ZIP_EXTRA_PAD);
  ig_store16(extra + 2, (uint16_t)fill);
  ig_sink_put(w->sink, extra, 4);
  memset(extra, 'Z', sizeof extra);
  for (size_t step = 0; fill; fill -= step) {
    step = fill < sizeof extra ? fill : sizeof extra;
    ig_sink_put(w->sink, extra, step);
  }
}

ig_status ig_zip_add(ig_zip_writer *w, const char *name, const ig_bytes *parts, size_t n) {
  record r = {.offset = cursor(w)};
  IG_RETURN_IF_ERR(keep_name(w, name, &r));
  for (size_t i = 0; i < n; i++) {
    r.size += parts[i].n;
    r.crc = ig_crc32(r.crc, parts[i].at, parts[i].n);
  }
  if (!ig_vec_push(w->c->alloc, &w->records, r)) return ig_fail(w->c, IG_NOMEM, "out of memory");
  put_local(w, &r);
  for (size_t i = 0; i < n; i++) ig_sink_put(w->sink, parts[i].at, parts[i].n);
  return IG_OK;
}

uint32_t ig_zip_last_crc(const ig_zip_writer *w) {
  return w->records.n ? w->records.at[w->records.n - 1].crc : 0;
}

ig_status ig_zip_add_text(ig_zip_writer *w, const char *name, const char *text) {
  ig_bytes part = {(const uint8_t *)text, strlen(text)};
  return ig_zip_add(w, name, &part, 1);
}

static void put_central(ig_zip_writer *w, const record *r) {
  uint8_t head[ZIP_CENTRAL_SIZE + 28] = {0};
  uint8_t *extra = head + ZIP_CENTRAL_SIZE;
  size_t extra_n = 0;
  bool big = r->size >= ZIP_MAX32;
  if (big) {
    ig_store64(extra + 4, r->size);
    ig_store64(extra + 12, r->size);
    extra_n = 20;
  }
  if (r->offset >= ZIP_MAX32) {
    extra_n = extra_n ? extra_n : 4;
    ig_store64(extra + extra_n, r->offset);
    extra_n += 8;
  }
  if (extra_n) {
    ig_store16(extra, ZIP_EXTRA64);
    ig_store16(extra + 2, (uint16_t)(extra_n - 4));
  }
  ig_store32(head, ZIP_CENTRAL);
  ig_store16(head + 4, extra_n ? ZIP_VERSION64 : ZIP_VERSION);
  ig_store16(head + 6, extra_n ? ZIP_VERSION64 : ZIP_VERSION);
  ig_store16(head + 8, (uint16_t)name_flags(r));
  ig_store16(head + 14, ZIP_DATE);
  ig_store32(head + 16, r->crc);
  ig_store32(head + 20, big ? ZIP_MAX32 : (uint32_t)r->size);
  ig_store32(head + 24, big ? ZIP_MAX32 : (uint32_t)r->size);
  ig_store16(head + 28, (uint16_t)r->name_n);
  ig_store16(head + 30, (uint16_t)extra_n);
  ig_store32(head + 42, r->offset >= ZIP_MAX32 ? ZIP_MAX32 : (uint32_t)r->offset);
  ig_sink_put(w->sink, head, ZIP_CENTRAL_SIZE);
  ig_sink_put(w->sink, r->name, r->name_n);
  ig_sink_put(w->sink, extra, extra_n);
}

static void put_end64(ig_zip_writer *w, uint64_t dir, uint64_t dir_size) {
  uint64_t at = cursor(w);
  uint8_t end[ZIP_END64_SIZE + ZIP_LOCATOR64_SIZE] = {0};
  ig_store32(end, ZIP_END64);
  ig_store64(end + 4, ZIP_END64_SIZE - 12);
  ig_store16(end + 12, ZIP_VERSION64);
  ig_store16(end + 14, ZIP_VERSION64);
  ig_store64(end + 24, w->records.n);
  ig_store64(end + 32, w->records.n);
  ig_store64(end + 40, dir_size);
  ig_store64(end + 48, dir);
  uint8_t *loc = end + ZIP_END64_SIZE;
  ig_store32(loc, ZIP_LOCATOR64);
  ig_store64(loc + 8, at);
  ig_store32(loc + 16, 1);
  ig_sink_put(w->sink, end, sizeof end);
}

ig_status ig_zip_finish(ig_zip_writer *w) {
  uint64_t dir = cursor(w);
  for (size_t i = 0; i < w->records.n; i++) put_central(w, &w->records.at[i]);
  uint64_t dir_size = cursor(w) - dir;
  bool big = w->records.n >= ZIP_MAX16 || dir >= ZIP_MAX32 || dir_size >= ZIP_MAX32;
  if (big) put_end64(w, dir, dir_size);
  uint16_t count = (uint16_t)(w->records.n >= ZIP_MAX16 ? ZIP_MAX16 : w->records.n);
  uint8_t end[ZIP_END_SIZE] = {0};
  ig_store32(end, ZIP_END);
  ig_store16(end + 8, count);
  ig_store16(end + 10, count);
  ig_store32(end + 12, dir_size >= ZIP_MAX32 ? ZIP_MAX32 : (uint32_t)dir_size);
  ig_store32(end + 16, dir >= ZIP_MAX32 ? ZIP_MAX32 : (uint32_t)dir);
  ig_sink_put(w->sink, end, sizeof end);
  return w->sink->error ? ig_sink_close(w->c, w->sink) : IG_OK;
}
