// SPDX-License-Identifier: Apache-2.0
// A chain: pointwise calls over the same elements, done block by block. A block is so short that
// what the calls pass to one another stays in the first cache; only what others read is stored.
// Every element goes through the same functions as without the chain, so the bits are the same.
#ifndef RT_CHAIN_H_
#define RT_CHAIN_H_

#include "rt/binding.h"
#include "tensor/copy.h"

enum {
  IG_CHAIN_BLOCK = 512,  // elements
  IG_CHAIN_MEMBERS = 24,
  IG_CHAIN_SLOTS = 10,
};

typedef enum ig_source_kind {
  IG_SOURCE_MEMORY,  // operand `index` of the walk
  IG_SOURCE_MEMBER,  // the result of an earlier member
  IG_SOURCE_NUMBER,  // a block filled with it
} ig_source_kind;

typedef struct ig_source {
  ig_source_kind kind;
  unsigned index;
  const void *block;
} ig_source;

typedef struct ig_member {
  const ig_op *op;
  const ig_value *args;
  ig_tile_fn *tile;
  ig_dtype works_in;
  ig_tensor *out;
  size_t size;  // bytes of an element of the result
  ig_source in[IG_MAX_OPERANDS];
  unsigned slot;  // for its result
  int stored;     // operand of the walk; -1: nobody else reads it
} ig_member;

struct ig_chain {
  size_t n;
  ig_member *at;
  const ig_node *node;             // of the first member
  ig_tensor *memory[IG_WALK_MAX];  // operands of the walk, results first
  size_t nresults;
  size_t nmemory;
  size_t pitch;  // bytes from slot to slot
};

// The function that computes a call and the dtype that it works in; false: not a call that can be a
// member, because elements are converted or the operator has a kernel of its own.
bool ig_member_make(ig_ctx *c, const ig_rt_step *s, ig_member *out);

#endif
