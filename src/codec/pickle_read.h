// SPDX-License-Identifier: Apache-2.0
// The stack machine of the pickle reader, shared by its two files: the machine itself and the
// opcodes of atoms (numbers, strings), and those of containers.
#ifndef CODEC_PICKLE_READ_H_
#define CODEC_PICKLE_READ_H_

#include "base/limits.h"
#include "codec/pickle.h"

typedef struct ig_unpickler {
  ig_ctx *c;
  const ig_pickle_source *src;
  ig_limits limits;
  ig_deadline deadline;
  ig_arena *arena;
  ig_bytes in;
  size_t pos;
  size_t op_at;  // offset of the current opcode
  uint64_t nodes;
  ig_pickle *fixed;  // None, False, True: one of each, in the arena
  IG_VEC(ig_pickle *) stack;
  IG_VEC(size_t) marks;  // heights of the stack
  IG_VEC(ig_pickle *) memo;
  bool stopped;
} ig_unpickler;

// All return false or NULL after an error.
bool ig_unpickle_bad(ig_unpickler *u, ig_cause why, const char *fmt, ...) IG_PRINTF(3, 4);
const uint8_t *ig_unpickle_take(ig_unpickler *u, size_t n);
bool ig_unpickle_line(ig_unpickler *u, ig_bytes *out);  // up to a newline, which is consumed
ig_pickle *ig_unpickle_make(ig_unpickler *u, ig_pickle_kind kind);
bool ig_unpickle_push(ig_unpickler *u, ig_pickle *p);
ig_pickle *ig_unpickle_pop(ig_unpickler *u);
ig_pickle *ig_unpickle_top(ig_unpickler *u);
// A value of kind STR, BYTES, BIG or GLOBAL.
ig_pickle *ig_unpickle_text(ig_unpickler *u, ig_pickle_kind kind, const void *text, size_t n);

typedef bool (*ig_unpickle_step)(ig_unpickler *u);
extern const ig_unpickle_step ig_unpickle_builders[256];  // pickle_build.c; NULL: none of them

#endif
