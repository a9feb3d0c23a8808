// SPDX-License-Identifier: Apache-2.0
// Any bytes as a protobuf message: every field is read in every way that its wire type allows.
#include "base/ctx.h"
#include "codec/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_all(ig_proto *p, ig_arena *arena);

// Reads with a separate reader, so that an error does not end the outer message.
static void probe(const ig_proto *p, const ig_proto_field *f, ig_arena *arena) {
  ig_proto copy = *p;
  ig_proto sub = ig_proto_message(&copy, f);
  read_all(&sub, arena);
  ig_ctx_clear(p->c);
  copy = *p;
  (void)ig_proto_text(&copy, f, arena);
  ig_ctx_clear(p->c);
  ig_proto_ints ints = {0};
  ig_proto_floats floats = {0};
  ig_proto_doubles doubles = {0};
  copy = *p;
  (void)ig_proto_add_ints(&copy, f, &ints);
  ig_ctx_clear(p->c);
  copy = *p;
  (void)ig_proto_add_floats(&copy, f, &floats);
  ig_ctx_clear(p->c);
  copy = *p;
  (void)ig_proto_add_doubles(&copy, f, &doubles);
  ig_ctx_clear(p->c);
  ig_vec_free(p->c->alloc, &ints);
  ig_vec_free(p->c->alloc, &floats);
  ig_vec_free(p->c->alloc, &doubles);
}

static void read_all(ig_proto *p, ig_arena *arena) {
  ig_proto_field f;
  while (ig_proto_next(p, &f)) {
    if (p->depth < 8) probe(p, &f, arena);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_arena arena = ig_arena_make(c->alloc);
  ig_proto p = ig_proto_make(c, "fuzz", (ig_bytes){data, n});
  read_all(&p, &arena);
  ig_arena_free(&arena);
  ig_ctx_free(c);
  return 0;
}
