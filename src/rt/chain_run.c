// SPDX-License-Identifier: Apache-2.0
// Running a chain: rows of the walk in blocks, all members on a block before the next one.
#include <string.h>

#include "base/mem.h"
#include "rt/chain.h"
#include "tensor/number.h"

enum { GRAIN = 32768, LEAST = 4096 };

typedef struct job {
  const ig_chain *chain;
  atomic_bool zero_divisor;
} job;

// Operands of the walk that are not dense are copied here, block by block.
typedef struct gathered {
  double at[IG_WALK_MAX][IG_CHAIN_BLOCK];
  bool kept[IG_WALK_MAX];  // one element repeated: the same for all blocks of the row
} gathered;

static void repeat(char *to, const char *from, size_t size, size_t n) {
  memcpy(to, from, size);
  for (size_t done = 1; done < n;) {
    size_t step = done < n - done ? done : n - done;
    memcpy(to + done * size, to, step * size);  // admitted: inside a block
    done += step;
  }
}

#define EACH_SIZE(size, DO) \
  switch (size) {           \
    case 1:                 \
      DO(1);                \
      break;                \
    case 2:                 \
      DO(2);                \
      break;                \
    case 4:                 \
      DO(4);                \
      break;                \
    default:                \
      DO(8);                \
      break;                \
  }

static void gather(char *to, const char *from, int64_t stride, size_t size, size_t n) {
#define GATHER(bytes)            \
  for (size_t i = 0; i < n; i++) \
  memcpy(to + i * (bytes), from + (int64_t)i * stride, bytes)  // admitted: a row
  EACH_SIZE(size, GATHER)
#undef GATHER
}

static void scatter(char *to, const char *from, int64_t stride, size_t size, size_t n) {
#define SCATTER(bytes)           \
  for (size_t i = 0; i < n; i++) \
  memcpy(to + (int64_t)i * stride, from + i * (bytes), bytes)  // admitted: a row
  EACH_SIZE(size, SCATTER)
#undef SCATTER
}

static const void *load(const ig_chain *chain, size_t k, const char *at, int64_t stride, size_t n,
                        gathered *g) {
  size_t size = ig_dtype_size(chain->memory[k]->dtype);
  if (stride == (int64_t)size) return at;
  char *to = (char *)g->at[k];
  if (stride != 0) {
    gather(to, at, stride, size, n);
  } else if (!g->kept[k]) {
    repeat(to, at, size, n);  // the first block is the longest
    g->kept[k] = true;
  }
  return to;
}

static void block(const job *j, char *const *at, const int64_t *stride, size_t n, gathered *g,
                  char *slots, atomic_bool *zero_divisor) {
  const ig_chain *chain = j->chain;
  const void *memory[IG_WALK_MAX];
  const void *results[IG_CHAIN_MEMBERS];
  for (size_t k = chain->nresults; k < chain->nmemory; k++) {
    memory[k] = load(chain, k, at[k], stride[k], n, g);
  }
  for (size_t i = 0; i < chain->n; i++) {
    const ig_member *m = &chain->at[i];
    ig_tile_args t = {
        .n = n, .args = m->args, .op = m->op, .dtype = m->works_in, .zero_divisor = zero_divisor};
    for (size_t k = 0; k < m->op->operands; k++) {
      const ig_source *s = &m->in[k];
      t.in[k] = s->kind == IG_SOURCE_MEMORY   ? memory[s->index]
                : s->kind == IG_SOURCE_MEMBER ? results[s->index]
                                              : s->block;
    }
    bool direct = m->stored >= 0 && stride[m->stored] == (int64_t)m->size;
    t.out = direct ? at[m->stored] : slots + m->slot * chain->pitch;  // admitted: one of the slots
    m->tile(&t);
    results[i] = t.out;
    if (m->stored >= 0 && !direct) {
      scatter(at[m->stored], t.out, stride[m->stored], m->size, n);
    }
  }
}

static void row(void *user, char *const *at, const int64_t *stride, int64_t count) {
  job *j = user;
  const ig_chain *chain = j->chain;
  double slots[IG_CHAIN_SLOTS * (IG_CHAIN_BLOCK + 8)];
  gathered g;
  char *here[IG_WALK_MAX];
  memset(g.kept, 0, sizeof g.kept);
  for (int64_t start = 0; start < count; start += IG_CHAIN_BLOCK) {
    size_t n = (size_t)(count - start < IG_CHAIN_BLOCK ? count - start : IG_CHAIN_BLOCK);
    for (size_t k = 0; k < chain->nmemory; k++) here[k] = at[k] + start * stride[k];
    block(j, here, stride, n, &g, (char *)slots, &j->zero_divisor);
  }
}

void ig_chain_run(ig_ctx *c, const ig_chain *chain) {
  ig_walk w;
  job j = {.chain = chain};
  int64_t grain = GRAIN / (int64_t)chain->n;
  ig_walk_make(&w, chain->memory[0], chain->memory, (int)chain->nmemory);
  ig_walk_run(&w, grain > LEAST ? grain : LEAST, row, &j);
  if (atomic_load_explicit(&j.zero_divisor, memory_order_relaxed)) {
    ig_fail_text(c, IG_RUNTIME, "ZeroDivisionError");
  }
}
