// SPDX-License-Identifier: Apache-2.0
// Random numbers: the Mersenne Twister of PyTorch's CPU generator and the way its operators draw
// from it, so that a seed gives the same tensors as in PyTorch.
//
// A generator belongs to one thread at a time, like the context. The default one belongs to the
// context and is created on first use with PyTorch's default seed.
#ifndef OP_RANDOM_H_
#define OP_RANDOM_H_

#include "op/op.h"

enum { IG_RANDOM_STATE_N = 624, IG_RANDOM_STATE_BYTES = 5056, IG_RANDOM_LEGACY_BYTES = 5048 };

#define IG_RANDOM_DEFAULT_SEED 67280421310721ULL

struct ig_generator {
  ig_alloc alloc;
  uint64_t seed;  // as given; the stream depends on its low 32 bits
  int left;       // draws before the state is regenerated, plus one
  uint32_t next;
  uint32_t state[IG_RANDOM_STATE_N];
  bool has_f64;  // the second number of the last normal pair
  bool has_f32;
  double next_f64;
  float next_f32;
};

ig_generator *ig_generator_create(ig_ctx *c, uint64_t seed);  // NULL: out of memory
void ig_generator_free(ig_generator *g);                      // NULL is allowed
ig_generator *ig_generator_copy(ig_ctx *c, const ig_generator *g);
ig_generator *ig_generator_default(ig_ctx *c);  // of the context; NULL: out of memory

void ig_generator_seed(ig_generator *g, uint64_t seed);  // manual_seed
uint64_t ig_generator_seed_any(ig_generator *g);         // seed(): from the system; returns it
uint64_t ig_generator_initial_seed(const ig_generator *g);

// The bytes of Generator.get_state(), a uint8 tensor of IG_RANDOM_STATE_BYTES. Set also takes the
// shorter form of old files; IG_RUNTIME: wrong length or invalid state.
void ig_generator_get_state(const ig_generator *g, uint8_t *bytes);
ig_status ig_generator_set_state(ig_ctx *c, ig_generator *g, const uint8_t *bytes, size_t n);

void ig_random_renew(ig_generator *g);  // the next 624 words

static inline uint32_t ig_random_u32(ig_generator *g) {
  if (--g->left == 0) ig_random_renew(g);
  uint32_t y = g->state[g->next++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680U;
  y ^= y << 15 & 0xefc60000U;
  return y ^ y >> 18;
}
static inline uint64_t ig_random_u64(ig_generator *g) {
  uint64_t high = ig_random_u32(g);
  return high << 32 | ig_random_u32(g);
}
static inline double ig_random_f64(ig_generator *g) {  // [0, 1) by 53 bits
  return (double)(ig_random_u64(g) & ((1ULL << 53) - 1)) * 0x1p-53;
}
static inline float ig_random_f32(ig_generator *g) {  // [0, 1) by 24 bits
  return (float)(ig_random_u32(g) & ((1U << 24) - 1)) * 0x1p-24F;
}

// How operators draw, where PyTorch's releases differ: a row per family of releases.
typedef struct ig_draws {
  const char *name;
  // Bernoulli and exponential numbers come from a sequence of their own (ig_stream), and a single
  // draw of the generator is its seed.
  bool streams;
  // 16-bit floats have as many random bits as digits, and every step to a normal number is rounded.
  bool half_steps;
  uint64_t wide;  // ranges of integers that take 64 bits start here
} ig_draws;
const ig_draws *ig_draws_find(const char *name);  // "2.5", "2.13"; NULL: there is no such row
static inline const ig_draws *ig_draws_of(const ig_ctx *c) {
  return c->mode->draws ? c->mode->draws : ig_draws_find("2.5");
}

// MCG31m1: x <- 1132489760 x mod 2^31 - 1, as Intel's Math Kernel Library draws it.
typedef struct ig_stream {
  uint64_t x;
} ig_stream;
static inline ig_stream ig_stream_of(uint32_t seed) {
  uint64_t x = seed % 0x7fffffffU;
  return (ig_stream){x ? x : 1};
}
static inline double ig_stream_f64(ig_stream *s) {  // (0, 1)
  double u = (double)s->x / 0x7fffffff;
  s->x = s->x * 1132489760 % 0x7fffffff;
  return u;
}

double ig_random_normal(ig_generator *g);  // one sample; the second of the pair is cached

// Fills of whole tensors (real, of any strides), as in the operators.
void ig_random_uniform(const ig_draws *how, ig_generator *g, ig_tensor *t, double from, double to);
// bulk: by another method, which ig_random_is_bulk says of an operator that writes t.
bool ig_random_is_bulk(const ig_tensor *t);
void ig_random_normals(const ig_draws *how, ig_generator *g, ig_tensor *t, bool bulk, double mean,
                       double std);
void ig_random_bernoulli(const ig_draws *how, ig_generator *g, ig_tensor *t, double p);
void ig_random_exponential(const ig_draws *how, ig_generator *g, ig_tensor *t, double rate);
// Every element is a number that draw(g, a, b) returns, rounded to the dtype.
typedef double ig_draw_fn(ig_generator *g, double a, double b);
void ig_random_draws(ig_generator *g, ig_tensor *t, ig_draw_fn *fn, double a, double b);
void ig_random_integers(const ig_draws *how, ig_generator *g, ig_tensor *t, int64_t from,
                        uint64_t range);
void ig_random_full_range(ig_generator *g, ig_tensor *t);   // every int64
void ig_random_natural(ig_generator *g, ig_tensor *t);      // random_() without bounds
void ig_random_permutation(ig_generator *g, ig_tensor *t);  // 1-d, 0 .. n-1 shuffled

#endif
