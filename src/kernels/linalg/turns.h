// SPDX-License-Identifier: Apache-2.0
// Plane rotations of neighbouring columns, recorded in sweeps and applied many at a time: strips of
// a few rows go through all recorded sweeps while they are in the cache.
#ifndef KERNELS_LINALG_TURNS_H_
#define KERNELS_LINALG_TURNS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum {
  IG_TURNS_SWEEPS = 32,  // at most, that are recorded before they are applied
  IG_STRIP_BYTES = 128,  // of one column of a strip
};

typedef struct ig_sweep {
  int64_t first;  // column
  int64_t count;  // rotations
  int64_t at;     // the first of them among the recorded ones
  bool down;      // from the last columns to the first
} ig_sweep;

#define IG_TURNS_DECLARE(name, real)                                                          \
  typedef struct ig_turns_##name {                                                            \
    int64_t rows;                                                                             \
    int64_t n;    /* columns */                                                               \
    real *strips; /* [rows / strip][n][strip] */                                              \
    real *turn;   /* cosine and sine of the recorded rotations */                             \
    int64_t used;                                                                             \
    int sweeps;                                                                               \
    ig_sweep sweep[IG_TURNS_SWEEPS];                                                          \
  } ig_turns_##name;                                                                          \
  /* Elements of memory for a matrix of these sizes, 0 columns: none. */                      \
  size_t ig_turns_room_##name(int64_t rows, int64_t n);                                       \
  /* Begins with the column-major matrix a. */                                                \
  void ig_turns_open_##name(ig_turns_##name *t, int64_t rows, int64_t n, const real *a,       \
                            int64_t lda, real *room);                                         \
  /* Records rotations of the columns first .. first + count; the caller writes cosine and */ \
  /* sine of each pair (k, k + 1) at 2 (k - first). NULL: nobody wants them. */               \
  /* x_k becomes c x_k + s x_(k+1), x_(k+1) becomes c x_(k+1) - s x_k. */                     \
  real *ig_turns_record_##name(ig_turns_##name *t, int64_t first, int64_t count, bool down);  \
  /* Column j of the result is column order[j] of the rotated matrix, negated where asked. */ \
  void ig_turns_close_##name(ig_turns_##name *t, const int64_t *order, const bool *negate,    \
                             real *a, int64_t lda)

IG_TURNS_DECLARE(f32, float);
IG_TURNS_DECLARE(f64, double);

#endif
