// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format: a bounded reader and a writer, both without schemas. The reader checks
// every length against the remaining bytes, rejects groups and deep nesting, and accepts repeated
// numbers packed or not. The writer needs one pass and does not copy large blobs: it keeps a list
// of chunks, some of which are borrowed bytes, and streams them at the end.
#ifndef CODEC_PROTO_H_
#define CODEC_PROTO_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "base/file.h"
#include "base/limits.h"

// ---- reader

typedef enum ig_proto_wire {
  IG_PROTO_VARINT = 0,
  IG_PROTO_I64 = 1,
  IG_PROTO_LEN = 2,
  IG_PROTO_I32 = 5,
} ig_proto_wire;

enum { IG_PROTO_MAX_DEPTH = 64 };

typedef struct ig_proto_field {
  uint32_t number;
  ig_proto_wire wire;
  uint64_t value;  // varint, fixed
  ig_bytes bytes;  // length-delimited
} ig_proto_field;

typedef struct ig_proto {
  ig_ctx *c;
  const char *name;      // of the document, for messages
  const uint8_t *start;  // of the document
  ig_bytes left;
  int depth;
  struct ig_proto_budget *budget;  // of the whole document; NULL: its bytes are the only bound
} ig_proto;

// The remaining budget of a document, shared by the readers of its messages.
typedef struct ig_proto_budget {
  uint64_t fields;  // left
  uint64_t limit;
  int depth;  // at most IG_PROTO_MAX_DEPTH
  ig_deadline deadline;
} ig_proto_budget;

ig_proto ig_proto_make(ig_ctx *c, const char *name, ig_bytes in);
// The same within limits (max_nodes fields, max_depth, max_millis); NULL: the default ones. The
// budget must outlive the readers.
ig_proto ig_proto_make_within(ig_ctx *c, const char *name, ig_bytes in, const ig_limits *limits,
                              ig_proto_budget *budget);
// False at the end of the message and after an error, which is in the ctx.
bool ig_proto_next(ig_proto *p, ig_proto_field *out);
// Reader of an embedded message; an empty one after an error.
ig_proto ig_proto_message(ig_proto *p, const ig_proto_field *f);

// One value of a field; a wrong wire type is an error and gives 0 or "".
int64_t ig_proto_int(ig_proto *p, const ig_proto_field *f);
float ig_proto_float(ig_proto *p, const ig_proto_field *f);
double ig_proto_double(ig_proto *p, const ig_proto_field *f);
ig_bytes ig_proto_blob(ig_proto *p, const ig_proto_field *f);
// UTF-8 without zero bytes, copied into the arena; NULL after an error.
const char *ig_proto_text(ig_proto *p, const ig_proto_field *f, ig_arena *arena);

// Repeated numbers: a field holds one value or, packed, many. Appends to the vector.
typedef IG_VEC(int64_t) ig_proto_ints;
typedef IG_VEC(float) ig_proto_floats;
typedef IG_VEC(double) ig_proto_doubles;
ig_status ig_proto_add_ints(ig_proto *p, const ig_proto_field *f, ig_proto_ints *out);
ig_status ig_proto_add_floats(ig_proto *p, const ig_proto_field *f, ig_proto_floats *out);
ig_status ig_proto_add_doubles(ig_proto *p, const ig_proto_field *f, ig_proto_doubles *out);

// ---- writer

typedef struct ig_proto_writer {
  ig_alloc alloc;
  IG_VEC(uint8_t) bytes;  // small pieces
  IG_VEC(struct ig_proto_piece) pieces;
  uint64_t total;
  bool failed;  // out of memory, sticky
} ig_proto_writer;

ig_proto_writer ig_proto_writer_make(ig_alloc alloc);
void ig_proto_writer_free(ig_proto_writer *w);

void ig_proto_put_int(ig_proto_writer *w, uint32_t number, int64_t v);
void ig_proto_put_float(ig_proto_writer *w, uint32_t number, float v);
void ig_proto_put_text(ig_proto_writer *w, uint32_t number, const char *s);
void ig_proto_put_blob(ig_proto_writer *w, uint32_t number, const void *data, size_t n);  // Copied.
void ig_proto_put_raw(ig_proto_writer *w, const void *data, size_t n);  // encoded fields, verbatim
// The bytes must stay valid until the message has been written.
void ig_proto_put_borrowed(ig_proto_writer *w, uint32_t number, ig_bytes data);
void ig_proto_put_packed_ints(ig_proto_writer *w, uint32_t number, const int64_t *v, size_t n);
void ig_proto_put_packed_floats(ig_proto_writer *w, uint32_t number, const float *v, size_t n);
// An embedded message: everything put between open and close belongs to it.
size_t ig_proto_open(ig_proto_writer *w, uint32_t number);
void ig_proto_close(ig_proto_writer *w, size_t mark);

IG_MUST_USE ig_status ig_proto_write(ig_ctx *c, const ig_proto_writer *w, ig_sink *sink);

#endif
