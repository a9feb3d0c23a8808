// SPDX-License-Identifier: Apache-2.0
// Writer of the protobuf wire format. An embedded message is preceded by its length, which is known
// only when it is closed: its head is a separate chunk, filled in at that time, so that nothing is
// moved.
#include <string.h>

#include "codec/bits.h"
#include "codec/proto.h"

enum { MAX_HEAD = 15 };  // tag (5) and length (10)

typedef struct ig_proto_piece {
  const uint8_t *borrowed;  // NULL: in `bytes` of the writer, or in `head`
  uint64_t at;              // offset in `bytes`; while a head is open, the total at its beginning
  size_t n;
  uint8_t is_head;
  uint8_t head[MAX_HEAD];
} piece;

ig_proto_writer ig_proto_writer_make(ig_alloc alloc) {
  return (ig_proto_writer){.alloc = alloc};
}

void ig_proto_writer_free(ig_proto_writer *w) {
  ig_vec_free(w->alloc, &w->bytes);
  ig_vec_free(w->alloc, &w->pieces);
  *w = ig_proto_writer_make(w->alloc);
}

static size_t put_varint(uint8_t *out, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) out[n++] = (uint8_t)(v | 0x80);
  out[n++] = (uint8_t)v;
  return n;
}

static void put(ig_proto_writer *w, const void *data, size_t n) {
  if (w->failed || n == 0) return;
  piece *last = w->pieces.n ? &w->pieces.at[w->pieces.n - 1] : NULL;
  bool join = last && !last->borrowed && !last->is_head;
  piece fresh = {.at = w->bytes.n};
  w->failed = n > SIZE_MAX / 2 - w->bytes.n ||
              !ig_mem_grow(w->alloc, (void **)&w->bytes.at, &w->bytes.cap, 1, w->bytes.n + n) ||
              (!join && !ig_vec_push(w->alloc, &w->pieces, fresh));
  if (w->failed) return;
  memcpy(w->bytes.at + w->bytes.n, data, n);
  w->bytes.n += n;
  w->pieces.at[w->pieces.n - 1].n += n;
  w->total += n;
}

static void put_tag(ig_proto_writer *w, uint32_t number, ig_proto_wire wire) {
  uint8_t head[MAX_HEAD];
  put(w, head, put_varint(head, (uint64_t)number << 3 | (unsigned)wire));
}

void ig_proto_put_int(ig_proto_writer *w, uint32_t number, int64_t v) {
  put_tag(w, number, IG_PROTO_VARINT);
  uint8_t bytes[MAX_HEAD];
  put(w, bytes, put_varint(bytes, (uint64_t)v));
}

void ig_proto_put_float(ig_proto_writer *w, uint32_t number, float v) {
  put_tag(w, number, IG_PROTO_I32);
  uint32_t bits;
  uint8_t bytes[4];
  memcpy(&bits, &v, sizeof bits);
  ig_store32(bytes, bits);
  put(w, bytes, sizeof bytes);
}

static void put_length(ig_proto_writer *w, uint32_t number, uint64_t n) {
  put_tag(w, number, IG_PROTO_LEN);
  uint8_t bytes[MAX_HEAD];
  put(w, bytes, put_varint(bytes, n));
}

void ig_proto_put_blob(ig_proto_writer *w, uint32_t number, const void *data, size_t n) {
  put_length(w, number, n);
  put(w, data, n);
}

void ig_proto_put_raw(ig_proto_writer *w, const void *data, size_t n) {
  put(w, data, n);
}

void ig_proto_put_text(ig_proto_writer *w, uint32_t number, const char *s) {
  ig_proto_put_blob(w, number, s, strlen(s));
}

void ig_proto_put_borrowed(ig_proto_writer *w, uint32_t number, ig_bytes data) {
  put_length(w, number, data.n);
  if (w->failed || data.n == 0) return;
  piece p = {.borrowed = data.at, .n = data.n};
  w->failed = !ig_vec_push(w->alloc, &w->pieces, p);
  w->total += data.n;
}

void ig_proto_put_packed_ints(ig_proto_writer *w, uint32_t number, const int64_t *v, size_t n) {
  uint8_t bytes[MAX_HEAD];
  uint64_t size = 0;
  for (size_t i = 0; i < n; i++) size += put_varint(bytes, (uint64_t)v[i]);
  put_length(w, number, size);
  for (size_t i = 0; i < n; i++) put(w, bytes, put_varint(bytes, (uint64_t)v[i]));
}

void ig_proto_put_packed_floats(ig_proto_writer *w, uint32_t number, const float *v, size_t n) {
  put_length(w, number, (uint64_t)n * 4);
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    uint8_t bytes[4];
    memcpy(&bits, &v[i], sizeof bits);
    ig_store32(bytes, bits);
    put(w, bytes, sizeof bytes);
  }
}

size_t ig_proto_open(ig_proto_writer *w, uint32_t number) {
  piece p = {.is_head = 1, .at = w->total};
  p.n = put_varint(p.head, (uint64_t)number << 3 | IG_PROTO_LEN);
  w->failed = w->failed || !ig_vec_push(w->alloc, &w->pieces, p);
  return w->pieces.n - 1;
}

void ig_proto_close(ig_proto_writer *w, size_t mark) {
  if (w->failed) return;
  piece *p = &w->pieces.at[mark];
  p->n += put_varint(p->head + p->n, w->total - p->at);
  w->total += p->n;
}

ig_status ig_proto_write(ig_ctx *c, const ig_proto_writer *w, ig_sink *sink) {
  if (w->failed) return ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < w->pieces.n; i++) {
    const piece *p = &w->pieces.at[i];
    const uint8_t *at = p->borrowed ? p->borrowed : p->is_head ? p->head : w->bytes.at + p->at;
    ig_sink_put(sink, at, p->n);
  }
  return IG_OK;
}
