// SPDX-License-Identifier: Apache-2.0
// Macros for pointwise families: a tile is one expression over x[i], y[i], z[i]; of bool,
// over x and y.
#ifndef OPS_TILE_H_
#define OPS_TILE_H_

#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "op/formula.h"
#include "op/shape.h"
#include "tensor/number.h"

#undef I  // the macro of complex.h

typedef float _Complex ig_cf;
typedef double _Complex ig_cd;

// A file whose loops are all memory-bound sets it to IG_CLONES_NARROW.
#ifndef TILE_CLONES
#define TILE_CLONES IG_CLONES
#endif

#define TILE1(name, type, result, expr)                      \
  TILE_CLONES static void name(const ig_tile_args *t) {      \
    const type *x = t->in[0];                                \
    result *o = t->out;                                      \
    for (size_t i = 0; i < t->n; i++) o[i] = (result)(expr); \
  }

#define TILE2(name, type, result, expr)                      \
  TILE_CLONES static void name(const ig_tile_args *t) {      \
    const type *x = t->in[0];                                \
    const type *y = t->in[1];                                \
    result *o = t->out;                                      \
    for (size_t i = 0; i < t->n; i++) o[i] = (result)(expr); \
  }

#define TILE3(name, type, result, expr)                      \
  TILE_CLONES static void name(const ig_tile_args *t) {      \
    const type *x = t->in[0];                                \
    const type *y = t->in[1];                                \
    const type *z = t->in[2];                                \
    result *o = t->out;                                      \
    for (size_t i = 0; i < t->n; i++) o[i] = (result)(expr); \
  }

// Of bool: a byte in memory, of which any value but 0 is true. An operand may show memory that was
// never a bool (`empty`, `view(dtype)`, a file, a buffer of the host), so it is not loaded as one.
#define TRUE_TILE1(name, expr)                          \
  TILE_CLONES static void name(const ig_tile_args *t) { \
    const uint8_t *in = t->in[0];                       \
    bool *o = t->out;                                   \
    for (size_t i = 0; i < t->n; i++) {                 \
      const bool x = in[i] != 0;                        \
      o[i] = (bool)(expr);                              \
    }                                                   \
  }

#define TRUE_TILE2(name, expr)                          \
  TILE_CLONES static void name(const ig_tile_args *t) { \
    const uint8_t *in = t->in[0];                       \
    const uint8_t *other = t->in[1];                    \
    bool *o = t->out;                                   \
    for (size_t i = 0; i < t->n; i++) {                 \
      const bool x = in[i] != 0;                        \
      const bool y = other[i] != 0;                     \
      o[i] = (bool)(expr);                              \
    }                                                   \
  }

static inline float ig_number_f32(const ig_value *v) {
  return (float)ig_value_f64(v);
}
static inline int64_t ig_number_i64(const ig_value *v) {
  int64_t i = 0;
  ig_element_store(&i, IG_I64, v);
  return i;
}
static inline ig_cd ig_cd_of(double re, double im) {
  ig_c128 z = {re, im};
  ig_cd out;
  memcpy(&out, &z, sizeof out);  // C11's CMPLX, which clang 14 does not have
  return out;
}
static inline ig_cd ig_number_cd(const ig_value *v) {
  ig_c128 z = v->kind == IG_KIND_COMPLEX ? v->z : (ig_c128){ig_value_f64(v), 0};
  return ig_cd_of(z.re, z.im);
}

#endif
