// SPDX-License-Identifier: Apache-2.0
// Reader of the protobuf wire format.
#include <inttypes.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/proto.h"

enum { CLOCK_EVERY = 1 << 16 };

ig_proto ig_proto_make(ig_ctx *c, const char *name, ig_bytes in) {
  return (ig_proto){c, name, in.at, in, 0, NULL};
}

ig_proto ig_proto_make_within(ig_ctx *c, const char *name, ig_bytes in, const ig_limits *limits,
                              ig_proto_budget *budget) {
  ig_limits all = ig_limits_of(c, limits);
  bool deep = all.max_depth > IG_PROTO_MAX_DEPTH;
  *budget = (ig_proto_budget){.fields = all.max_nodes,
                              .limit = all.max_nodes,
                              .depth = deep ? IG_PROTO_MAX_DEPTH : (int)all.max_depth,
                              .deadline = ig_deadline_start(&all)};
  return (ig_proto){c, name, in.at, in, 0, budget};
}

// Always false, so that `return fail(...)` ends a reader.
static bool fail(ig_proto *p, const char *what) {
  (void)ig_fail(p->c, IG_SYNTAX | IG_E_PROTOBUF, "%s: byte %zu: %s", p->name,
                (size_t)(p->left.at - p->start), what);
  p->left.n = 0;
  return false;
}

static bool take_varint(ig_proto *p, uint64_t *out) {
  uint64_t v = 0;
  for (unsigned shift = 0, i = 0; i < 10; i++, shift += 7) {
    if (i >= p->left.n) return fail(p, "number cut off");
    uint8_t b = p->left.at[i];
    if (i == 9 && b > 1) return fail(p, "number of more than 64 bits");
    v |= (uint64_t)(b & 0x7F) << shift;
    if (b < 0x80) {
      p->left = (ig_bytes){p->left.at + i + 1, p->left.n - i - 1};
      *out = v;
      return true;
    }
  }
  return fail(p, "number of more than 10 bytes");
}

static bool take_bytes(ig_proto *p, uint64_t n, ig_bytes *out) {
  if (n > p->left.n) return fail(p, "field runs over the end of its message");
  *out = (ig_bytes){p->left.at, (size_t)n};
  p->left = (ig_bytes){p->left.at + n, p->left.n - (size_t)n};
  return true;
}

static bool spend(ig_proto *p) {
  ig_proto_budget *b = p->budget;
  if (!b) return true;
  if (b->fields == 0) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_READER_LIMIT,
                  "%s: byte %zu: more than the limit of %" PRIu64 " fields", p->name,
                  (size_t)(p->left.at - p->start), b->limit);
    p->left.n = 0;
    return false;
  }
  if (--b->fields % CLOCK_EVERY) return true;
  return ig_deadline_check(p->c, &b->deadline, p->name) == IG_OK;
}

bool ig_proto_next(ig_proto *p, ig_proto_field *out) {
  *out = (ig_proto_field){0};
  if (p->left.n == 0 || p->c->status != IG_OK || !spend(p)) return false;
  uint64_t tag = 0;
  if (!take_varint(p, &tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return fail(p, "field number out of range");
  out->number = (uint32_t)(tag >> 3);
  uint64_t n = 0;
  switch (tag & 7) {
    case IG_PROTO_VARINT:
      return take_varint(p, &out->value);
    case IG_PROTO_I64:
      out->wire = IG_PROTO_I64;
      if (!take_bytes(p, 8, &out->bytes)) return false;
      out->value = ig_load64(out->bytes.at);
      return true;
    case IG_PROTO_LEN:
      out->wire = IG_PROTO_LEN;
      return take_varint(p, &n) && take_bytes(p, n, &out->bytes);
    case IG_PROTO_I32:
      out->wire = IG_PROTO_I32;
      if (!take_bytes(p, 4, &out->bytes)) return false;
      out->value = ig_load32(out->bytes.at);
      return true;
    default:
      return fail(p, (tag & 7) < 5 ? "groups are not supported" : "unknown wire type");
  }
}

static bool want(ig_proto *p, const ig_proto_field *f, ig_proto_wire wire) {
  static const char *const text[] = {"a varint", "8 bytes", "a length", "", "", "4 bytes"};
  if (f->wire == wire) return true;
  if (p->c->status == IG_OK) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_PROTOBUF,
                  "%s: before byte %zu: field %u is written as %s, expected %s", p->name,
                  (size_t)(p->left.at - p->start), f->number, text[f->wire], text[wire]);
  }
  p->left.n = 0;
  return false;
}

ig_proto ig_proto_message(ig_proto *p, const ig_proto_field *f) {
  ig_proto sub = {p->c, p->name, p->start, {p->left.at, 0}, p->depth + 1, p->budget};
  if (!want(p, f, IG_PROTO_LEN)) return sub;
  if (sub.depth > (p->budget ? p->budget->depth : IG_PROTO_MAX_DEPTH)) {
    (void)fail(p, "messages nested too deeply");
    return sub;
  }
  sub.left = f->bytes;
  return sub;
}

int64_t ig_proto_int(ig_proto *p, const ig_proto_field *f) {
  return want(p, f, IG_PROTO_VARINT) ? (int64_t)f->value : 0;
}

static float to_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static double to_double(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

float ig_proto_float(ig_proto *p, const ig_proto_field *f) {
  return want(p, f, IG_PROTO_I32) ? to_float((uint32_t)f->value) : 0;
}

double ig_proto_double(ig_proto *p, const ig_proto_field *f) {
  return want(p, f, IG_PROTO_I64) ? to_double(f->value) : 0;
}

ig_bytes ig_proto_blob(ig_proto *p, const ig_proto_field *f) {
  return want(p, f, IG_PROTO_LEN) ? f->bytes : (ig_bytes){p->left.at, 0};
}

const char *ig_proto_text(ig_proto *p, const ig_proto_field *f, ig_arena *arena) {
  ig_bytes b = ig_proto_blob(p, f);
  if (p->c->status != IG_OK) return NULL;
  if (ig_utf8_check(b.at, b.n) != b.n || (b.n && memchr(b.at, 0, b.n))) {
    (void)fail(p, "text is not UTF-8 or has a zero byte");
    return NULL;
  }
  const char *s = ig_arena_strn(arena, (const char *)b.at, b.n);
  if (!s) (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return s;
}

static ig_status no_memory(ig_proto *p) {
  return ig_fail(p->c, IG_NOMEM, "out of memory");
}

ig_status ig_proto_add_ints(ig_proto *p, const ig_proto_field *f, ig_proto_ints *out) {
  if (f->wire != IG_PROTO_LEN) {
    int64_t v = ig_proto_int(p, f);
    if (p->c->status != IG_OK) return p->c->status;
    return ig_vec_push(p->c->alloc, out, v) ? IG_OK : no_memory(p);
  }
  ig_proto packed = ig_proto_message(p, f);
  while (packed.left.n) {
    uint64_t v = 0;
    if (!take_varint(&packed, &v)) break;
    if (!ig_vec_push(p->c->alloc, out, (int64_t)v)) return no_memory(p);
  }
  return p->c->status;
}

ig_status ig_proto_add_floats(ig_proto *p, const ig_proto_field *f, ig_proto_floats *out) {
  if (f->wire != IG_PROTO_LEN) {
    float v = ig_proto_float(p, f);
    if (p->c->status != IG_OK) return p->c->status;
    return ig_vec_push(p->c->alloc, out, v) ? IG_OK : no_memory(p);
  }
  if (f->bytes.n % 4)
    return (void)fail(p, "packed floats of a length that 4 does not divide"), p->c->status;
  for (size_t i = 0; i < f->bytes.n; i += 4) {
    if (!ig_vec_push(p->c->alloc, out, to_float(ig_load32(f->bytes.at + i)))) return no_memory(p);
  }
  return p->c->status;
}

ig_status ig_proto_add_doubles(ig_proto *p, const ig_proto_field *f, ig_proto_doubles *out) {
  if (f->wire != IG_PROTO_LEN) {
    double v = ig_proto_double(p, f);
    if (p->c->status != IG_OK) return p->c->status;
    return ig_vec_push(p->c->alloc, out, v) ? IG_OK : no_memory(p);
  }
  if (f->bytes.n % 8)
    return (void)fail(p, "packed doubles of a length that 8 does not divide"), p->c->status;
  for (size_t i = 0; i < f->bytes.n; i += 8) {
    if (!ig_vec_push(p->c->alloc, out, to_double(ig_load64(f->bytes.at + i)))) return no_memory(p);
  }
  return p->c->status;
}
