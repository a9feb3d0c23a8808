// SPDX-License-Identifier: Apache-2.0
// Conversion of layouts and half types, in tiles of 16 x 16 so that both sides use whole cache
// lines.
#include "kernels/conv_stage.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "base/threads.h"

enum { TILE = 16, KEEP = 64 << 20 };  // bytes of scratch that stay with the thread

ig_conv_buffer ig_conv_buffer_get(ig_scratch_slot slot, size_t bytes) {
  ig_conv_buffer b = {NULL, false};
  int seat;
  if (bytes <= KEEP || ig_threads_lent(&seat)) {  // in a workspace any size was stated
    b.data = ig_scratch_get(slot, bytes);
  } else if (bytes < SIZE_MAX - 63) {
    b.owned = true;
    b.data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  return b;
}

void ig_conv_buffer_free(ig_conv_buffer *b) {
  if (b->owned) free(b->data);
  b->data = NULL;
}

typedef struct job {
  const ig_conv_stage *s;
  const void *src;
  void *dst;
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
} job;

// dst[cols][rows] = src[rows][cols] per image; ranges are (image, tile of rows).
#define TRANSPOSE(name, S, D, CONVERT)                                                  \
  IG_CLONES                                                                             \
  static void name(const S *restrict src, D *restrict dst, int64_t rows, int64_t cols,  \
                   int64_t begin, int64_t end) {                                        \
    int64_t tiles = (rows + TILE - 1) / TILE;                                           \
    for (int64_t t = begin; t < end; t++) {                                             \
      const S *s = src + t / tiles * rows * cols;                                       \
      D *d = dst + t / tiles * rows * cols;                                             \
      int64_t r0 = t % tiles * TILE;                                                    \
      int64_t r1 = r0 + TILE < rows ? r0 + TILE : rows;                                 \
      for (int64_t c0 = 0; c0 < cols; c0 += TILE) {                                     \
        int64_t c1 = c0 + TILE < cols ? c0 + TILE : cols;                               \
        for (int64_t c = c0; c < c1; c++)                                               \
          for (int64_t r = r0; r < r1; r++) d[c * rows + r] = CONVERT(s[r * cols + c]); \
      }                                                                                 \
    }                                                                                   \
  }

#define SAME(v) (v)
TRANSPOSE(turn_f32, float, float, SAME)
TRANSPOSE(turn_f64, double, double, SAME)
TRANSPOSE(turn_from_f16, uint16_t, float, ig_f16_get)
TRANSPOSE(turn_from_bf16, uint16_t, float, ig_bf16_get)
TRANSPOSE(turn_to_f16, float, uint16_t, ig_f16_put)
TRANSPOSE(turn_to_bf16, float, uint16_t, ig_bf16_put)

static void in_tiles(const job *j, int64_t begin, int64_t end) {
  const ig_conv_stage *s = j->s;
  if (s->elem == IG_ELEM_F32)
    turn_f32(j->src, j->dst, s->pixels, s->channels, begin, end);
  else if (s->elem == IG_ELEM_F64)
    turn_f64(j->src, j->dst, s->pixels, s->channels, begin, end);
  else if (s->elem == IG_ELEM_F16)
    turn_from_f16(j->src, j->dst, s->pixels, s->channels, begin, end);
  else
    turn_from_bf16(j->src, j->dst, s->pixels, s->channels, begin, end);
}

static void out_tiles(const job *j, int64_t begin, int64_t end) {
  const ig_conv_stage *s = j->s;
  if (s->elem == IG_ELEM_F32)
    turn_f32(j->src, j->dst, s->channels, s->pixels, begin, end);
  else if (s->elem == IG_ELEM_F64)
    turn_f64(j->src, j->dst, s->channels, s->pixels, begin, end);
  else if (s->elem == IG_ELEM_F16)
    turn_to_f16(j->src, j->dst, s->channels, s->pixels, begin, end);
  else
    turn_to_bf16(j->src, j->dst, s->channels, s->pixels, begin, end);
}

static void in_flat(const job *j, int64_t begin, int64_t end) {
  ig_elem_widen(j->s->elem, (const uint16_t *)j->src + begin, (float *)j->dst + begin, end - begin);
}
static void out_flat(const job *j, int64_t begin, int64_t end) {
  ig_elem_narrow(j->s->elem, (const float *)j->src + begin, (uint16_t *)j->dst + begin,
                 end - begin);
}

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

void ig_conv_stage_in(const ig_conv_stage *s, const void *src, void *dst) {
  job j = {s, src, dst, s->channels_last ? in_tiles : in_flat};
  if (s->channels_last)
    ig_parallel_for(s->n * ((s->pixels + TILE - 1) / TILE), 1024 / (s->channels + 1) + 1, run, &j);
  else
    ig_parallel_for(s->n * s->channels * s->pixels, 32768, run, &j);
}

void ig_conv_stage_out(const ig_conv_stage *s, const void *src, void *dst) {
  job j = {s, src, dst, s->channels_last ? out_tiles : out_flat};
  if (s->channels_last)
    ig_parallel_for(s->n * ((s->channels + TILE - 1) / TILE), 1024 / (s->pixels + 1) + 1, run, &j);
  else
    ig_parallel_for(s->n * s->channels * s->pixels, 32768, run, &j);
}
