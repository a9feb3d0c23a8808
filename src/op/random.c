// SPDX-License-Identifier: Apache-2.0
// The generator: MT19937 (Matsumoto and Nishimura), seeding, and the byte image of its state.
#include "op/random.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { SHIFT = 397 };

void ig_generator_seed(ig_generator *g, uint64_t seed) {
  g->seed = seed;
  g->state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < IG_RANDOM_STATE_N; i++) {
    uint32_t before = g->state[i - 1];
    g->state[i] = 1812433253U * (before ^ before >> 30) + i;
  }
  g->left = 1;
  g->next = 0;
  g->has_f64 = g->has_f32 = false;
  g->next_f64 = 0;
  g->next_f32 = 0;
}

static uint32_t twist(uint32_t a, uint32_t b) {
  uint32_t mixed = (a & 0x80000000U) | (b & 0x7fffffffU);
  return mixed >> 1 ^ (b & 1 ? 0x9908b0dfU : 0);
}

void ig_random_renew(ig_generator *g) {
  uint32_t *s = g->state;
  int i = 0;
  for (; i < IG_RANDOM_STATE_N - SHIFT; i++) s[i] = s[i + SHIFT] ^ twist(s[i], s[i + 1]);
  for (; i < IG_RANDOM_STATE_N - 1; i++) {
    s[i] = s[i + SHIFT - IG_RANDOM_STATE_N] ^ twist(s[i], s[i + 1]);
  }
  s[i] = s[i + SHIFT - IG_RANDOM_STATE_N] ^ twist(s[i], s[0]);
  g->left = IG_RANDOM_STATE_N;
  g->next = 0;
}

double ig_random_normal(ig_generator *g) {
  if (g->has_f64) {
    g->has_f64 = false;
    return g->next_f64;
  }
  double u1 = ig_random_f64(g);
  double u2 = ig_random_f64(g);
  double radius = sqrt(-2.0 * log1p(-u2));
  double angle = 2.0 * 3.14159265358979323846 * u1;
  g->next_f64 = radius * sin(angle);
  g->has_f64 = true;
  return radius * cos(angle);
}

ig_generator *ig_generator_create(ig_ctx *c, uint64_t seed) {
  ig_generator *g = ig_mem_new(c->alloc, sizeof *g);
  if (!g) {
    (void)ig_fail(c, IG_NOMEM, "out of memory: random generator");
    return NULL;
  }
  g->alloc = c->alloc;
  ig_generator_seed(g, seed);
  return g;
}

void ig_generator_free(ig_generator *g) {
  if (g) ig_mem_free(g->alloc, g, sizeof *g);
}

ig_generator *ig_generator_copy(ig_ctx *c, const ig_generator *g) {
  ig_generator *copy = ig_generator_create(c, 0);
  if (!copy) return NULL;
  ig_alloc alloc = copy->alloc;
  *copy = *g;
  copy->alloc = alloc;
  return copy;
}

ig_generator *ig_generator_default(ig_ctx *c) {
  if (!c->mode->generator) {
    ig_generator *made = ig_generator_create(c, IG_RANDOM_DEFAULT_SEED);
    ig_mode_set_generator(c, made, made ? ig_generator_free : NULL);
  }
  return c->mode->generator;
}

uint64_t ig_generator_initial_seed(const ig_generator *g) {
  return g->seed;
}

uint64_t ig_generator_seed_any(ig_generator *g) {
  struct timespec now = {0};
  (void)timespec_get(&now, TIME_UTC);
  // Addresses differ from run to run; the clock differs within one. 53 bits: exact as a double.
  uint64_t mixed = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15ULL ^ (uint64_t)now.tv_sec << 20;
  mixed ^= (uint64_t)(uintptr_t)g * 0xff51afd7ed558ccdULL ^ ig_random_u64(g);
  mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ULL;
  uint64_t seed = (mixed ^ mixed >> 29) & ((1ULL << 53) - 1);
  ig_generator_seed(g, seed);
  return seed;
}

// The byte image: seed, left, seeded, next, 624 words of 64 bits, then the cached sample of a
// normal pair (x, y, rho, flag) and, in the longer form, the same in float.
enum {
  AT_SEED = 0,
  AT_LEFT = 8,
  AT_SEEDED = 12,
  AT_NEXT = 16,
  AT_STATE = 24,
  AT_NORMAL = AT_STATE + 8 * IG_RANDOM_STATE_N,
  AT_HAS_F64 = AT_NORMAL + 24,
  AT_F32 = IG_RANDOM_LEGACY_BYTES,
};

void ig_generator_get_state(const ig_generator *g, uint8_t *bytes) {
  int32_t one = 1;
  uint64_t next = g->next;
  memset(bytes, 0, IG_RANDOM_STATE_BYTES);
  memcpy(bytes + AT_SEED, &g->seed, 8);
  memcpy(bytes + AT_LEFT, &g->left, 4);
  memcpy(bytes + AT_SEEDED, &one, 4);
  memcpy(bytes + AT_NEXT, &next, 8);
  for (size_t i = 0; i < IG_RANDOM_STATE_N; i++) {
    uint64_t word = g->state[i];
    memcpy(bytes + AT_STATE + 8 * i, &word, 8);
  }
  if (g->has_f64) {
    memcpy(bytes + AT_NORMAL + 8, &g->next_f64, 8);
    memcpy(bytes + AT_HAS_F64, &one, 4);
  }
  if (g->has_f32) {
    memcpy(bytes + AT_F32, &g->next_f32, 4);
    bytes[AT_F32 + 4] = 1;
  }
}

// The old form keeps the pair as angle and radius, the new one the sample itself.
static void set_normals(ig_generator *g, const uint8_t *bytes, size_t n) {
  double xyr[3];
  int32_t valid;
  memcpy(xyr, bytes + AT_NORMAL, sizeof xyr);
  memcpy(&valid, bytes + AT_HAS_F64, sizeof valid);
  g->has_f64 = valid != 0;
  g->has_f32 = false;
  if (n == IG_RANDOM_LEGACY_BYTES) {
    g->next_f64 = valid ? xyr[2] * sin(2.0 * 3.14159265358979323846 * xyr[0]) : 0;
    return;
  }
  g->next_f64 = xyr[1];
  memcpy(&g->next_f32, bytes + AT_F32, 4);
  g->has_f32 = bytes[AT_F32 + 4] != 0;
}

ig_status ig_generator_set_state(ig_ctx *c, ig_generator *g, const uint8_t *bytes, size_t n) {
  if (n != IG_RANDOM_STATE_BYTES && n != IG_RANDOM_LEGACY_BYTES) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected either a CPUGeneratorImplStateLegacy of size %d or a "
                 "CPUGeneratorImplState of size %d but found the input RNG state size to be %zu",
                 IG_RANDOM_LEGACY_BYTES, IG_RANDOM_STATE_BYTES, n);
    return IG_RUNTIME;
  }
  int32_t left;
  uint64_t next;
  memcpy(&left, bytes + AT_LEFT, 4);
  memcpy(&next, bytes + AT_NEXT, 8);
  if (left < 1 || left > IG_RANDOM_STATE_N || next > IG_RANDOM_STATE_N ||
      (left > 1 && (uint64_t)left + next > IG_RANDOM_STATE_N + 1)) {
    ig_fail_text(c, IG_RUNTIME, "Invalid mt19937 state");
    return IG_RUNTIME;
  }
  memcpy(&g->seed, bytes + AT_SEED, 8);
  g->left = left;
  g->next = (uint32_t)next;
  for (size_t i = 0; i < IG_RANDOM_STATE_N; i++) {
    uint64_t word;
    memcpy(&word, bytes + AT_STATE + 8 * i, 8);
    g->state[i] = (uint32_t)word;
  }
  set_normals(g, bytes, n);
  return IG_OK;
}
