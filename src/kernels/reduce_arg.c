// SPDX-License-Identifier: Apache-2.0
// Index of the largest or smallest element over one dimension; NaN wins, of equals the first.
#include <stddef.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/reduce.h"

enum { GRAIN = 16384, WIDTH = 64, CHUNK = 256 };

// better(b, a): b replaces an earlier a.
#define MORE(b, a) ((int)((b) > (a)) | ((int)((b) != (b)) & (int)((a) == (a))))
#define LESS(b, a) ((int)((b) < (a)) | ((int)((b) != (b)) & (int)((a) == (a))))

// Rows: chunks whose extreme beats the best so far are searched for its index.
#define ROWS(name, T, V, LOAD, BETTER)                                                    \
  IG_CLONES_NARROW                                                                        \
  static void name(const void *xv, void *value, int64_t *index, ig_axis a, int64_t begin, \
                   int64_t end) {                                                         \
    for (int64_t r = begin; r < end; r++) {                                               \
      const T *x = (const T *)xv + r * a.n;                                               \
      V best = LOAD(x[0]);                                                                \
      int64_t at = 0;                                                                     \
      for (int64_t i = 0; i < a.n; i += CHUNK) {                                          \
        int64_t stop = a.n - i < CHUNK ? a.n : i + CHUNK;                                 \
        int any = 0;                                                                      \
        for (int64_t k = i; k < stop; k++) any |= BETTER(LOAD(x[k]), best);               \
        for (int64_t k = i; any && k < stop; k++) {                                       \
          if (BETTER(LOAD(x[k]), best)) {                                                 \
            best = LOAD(x[k]);                                                            \
            at = k;                                                                       \
          }                                                                               \
        }                                                                                 \
      }                                                                                   \
      index[r] = at;                                                                      \
      if (value) ((T *)value)[r] = x[at];                                                 \
    }                                                                                     \
  }

#define COLS(name, T, V, LOAD, BETTER)                                                    \
  static void name(const void *xv, void *value, int64_t *index, ig_axis a, int64_t begin, \
                   int64_t end) {                                                         \
    int64_t blocks = (a.inner + WIDTH - 1) / WIDTH;                                       \
    for (int64_t t = begin; t < end; t++) {                                               \
      int64_t j = t % blocks * WIDTH;                                                     \
      int64_t w = a.inner - j < WIDTH ? a.inner - j : WIDTH;                              \
      int64_t to = t / blocks * a.inner + j;                                              \
      const T *x = (const T *)xv + t / blocks * a.n * a.inner + j;                        \
      V best[WIDTH];                                                                      \
      for (int64_t l = 0; l < w; l++) {                                                   \
        best[l] = LOAD(x[l]);                                                             \
        index[to + l] = 0;                                                                \
      }                                                                                   \
      for (int64_t i = 1; i < a.n; i++) {                                                 \
        for (int64_t l = 0; l < w; l++) {                                                 \
          V v = LOAD(x[i * a.inner + l]);                                                 \
          int take = BETTER(v, best[l]);                                                  \
          best[l] = take ? v : best[l];                                                   \
          index[to + l] = take ? i : index[to + l];                                       \
        }                                                                                 \
      }                                                                                   \
      for (int64_t l = 0; value && l < w; l++)                                            \
        ((T *)value)[to + l] = x[index[to + l] * a.inner + l];                            \
    }                                                                                     \
  }

#define SAME(t) (t)
#define IS_TRUE(t) ((t) != 0)
#define BOTH(tag, T, V, LOAD)            \
  ROWS(max_rows_##tag, T, V, LOAD, MORE) \
  ROWS(min_rows_##tag, T, V, LOAD, LESS) \
  COLS(max_cols_##tag, T, V, LOAD, MORE) \
  COLS(min_cols_##tag, T, V, LOAD, LESS)

BOTH(f32, float, float, SAME)
BOTH(f64, double, double, SAME)
BOTH(f16, uint16_t, float, ig_f16_get)
BOTH(bf16, uint16_t, float, ig_bf16_get)
BOTH(u8, uint8_t, uint8_t, SAME)
BOTH(truth, uint8_t, uint8_t, IS_TRUE)
BOTH(i8, int8_t, int8_t, SAME)
BOTH(u16, uint16_t, uint16_t, SAME)
BOTH(i16, int16_t, int16_t, SAME)
BOTH(u32, uint32_t, uint32_t, SAME)
BOTH(i32, int32_t, int32_t, SAME)
BOTH(u64, uint64_t, uint64_t, SAME)
BOTH(i64, int64_t, int64_t, SAME)

typedef void arg_fn(const void *x, void *value, int64_t *index, ig_axis a, int64_t begin,
                    int64_t end);

typedef struct job {
  arg_fn *fn;
  const void *x;
  void *value;
  int64_t *index;
  ig_axis a;
} job;

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j->x, j->value, j->index, j->a, begin, end);
}

#define ROW(tag)                        \
  {                                     \
    {max_rows_##tag, max_cols_##tag}, { \
      min_rows_##tag, min_cols_##tag    \
    }                                   \
  }

// NOLINTNEXTLINE(readability-non-const-parameter): written through the job
static void extreme(ig_elem e, int least, const void *x, void *value, int64_t *index, ig_axis a) {
  static arg_fn *const table[IG_ELEM_COUNT][2][2] = {
      [IG_ELEM_F32] = ROW(f32),    [IG_ELEM_F64] = ROW(f64), [IG_ELEM_F16] = ROW(f16),
      [IG_ELEM_BF16] = ROW(bf16),  [IG_ELEM_U8] = ROW(u8),   [IG_ELEM_I8] = ROW(i8),
      [IG_ELEM_U16] = ROW(u16),    [IG_ELEM_I16] = ROW(i16), [IG_ELEM_U32] = ROW(u32),
      [IG_ELEM_I32] = ROW(i32),    [IG_ELEM_U64] = ROW(u64), [IG_ELEM_I64] = ROW(i64),
      [IG_ELEM_BOOL] = ROW(truth),
  };
  if (a.outer <= 0 || a.inner <= 0 || a.n <= 0) return;
  job j = {table[e][least][a.inner > 1], x, value, index, a};
  if (a.inner == 1)
    ig_parallel_for(a.outer, GRAIN / a.n + 1, run, &j);
  else
    ig_parallel_for(a.outer * ((a.inner + WIDTH - 1) / WIDTH), GRAIN / (a.n * WIDTH) + 1, run, &j);
}

void ig_reduce_argmax(ig_elem e, const void *x, void *value, int64_t *index, ig_axis a) {
  extreme(e, 0, x, value, index, a);
}
void ig_reduce_argmin(ig_elem e, const void *x, void *value, int64_t *index, ig_axis a) {
  extreme(e, 1, x, value, index, a);
}
