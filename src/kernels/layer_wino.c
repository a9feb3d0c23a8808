// SPDX-License-Identifier: Apache-2.0
// 3x3 layers by Winograd. For a block of tiles: every tile of side m + 2 is transformed (V), for
// each of the (m + 2)^2 positions one product over the channels is formed (M), and M is transformed
// back with the epilogue. V and M of a block stay in L2 or close to it; weights pass once a block.
#include <stdatomic.h>

#include "base/threads.h"
#include "kernels/layer_kernels.h"
#include "kernels/scratch.h"

enum {
  BYTES = 768 << 10,  // V and M of a block
  LEAST = 24,         // tiles of a block
};

typedef struct job {
  const ig_layer *l;
  const ig_layer_io *io;
  ig_layer_tiles t;
  int m;
  int64_t tiles;
  int64_t blocks;
  bool shared;  // threads share the phases of the one block
  int32_t *table;
  atomic_bool *failed;  // a thread had no scratch memory
} job;

static job job_of(const ig_layer *l, const ig_conv *c) {
  job j = {.l = l, .m = ig_layer_wino_size(l->method)};
  if (j.m < 1) j.m = 2;  // never: other layers do not come here
  j.t.across = (c->out[2] + j.m - 1) / j.m;
  j.t.each = (c->out[1] + j.m - 1) / j.m * j.t.across;
  for (int d = 0; d < 2; d++) {
    j.t.in[d] = c->in[d + 1];
    j.t.out[d] = c->out[d + 1];
    j.t.padding[d] = c->padding[d + 1];
  }
  j.tiles = c->n * j.t.each;
  int64_t one = l->products * (l->in + l->out) * l->f->lanes * (int64_t)sizeof(float);
  int64_t most = BYTES / one < LEAST ? LEAST : BYTES / one;
  int64_t threads = ig_threads_get();
  j.blocks = (j.tiles + most - 1) / most;
  j.shared = threads > 1 && j.blocks < 2 * threads;
  if (j.shared) j.blocks = 1;
  return j;
}

static int64_t pitch_of(int64_t count) {
  return count | 1;
}

// Positions are 64 bytes off, for the same reason as odd pitches.
static int64_t step_of(int64_t blocks, int64_t lanes, int64_t pitch) {
  return blocks * lanes * pitch + 16;
}

static int64_t count_most(const job *j) {
  return (j->tiles + j->blocks - 1) / j->blocks;
}

static size_t floats_of(const job *j, int64_t count) {
  int64_t pitch = pitch_of(count);
  size_t both = ig_mem_add((size_t)step_of(j->l->in, j->l->f->lanes, pitch),
                           (size_t)step_of(j->l->out, j->l->f->lanes, pitch));
  return ig_mem_mul((size_t)j->l->products, both);
}

static size_t table_size(const job *j, int64_t count) {
  return ig_mem_mul((size_t)(j->l->in + count), sizeof(int32_t));
}

void ig_layer_need_wino(const ig_layer *l, const ig_conv *c, ig_need *need) {
  job j = job_of(l, c);
  int64_t count = count_most(&j);
  ig_need_loop(need, j.blocks > 1, IG_SCRATCH_CONV_1,
               ig_mem_mul(floats_of(&j, count), sizeof(float)));
  ig_need_loop(need, j.blocks > 1, IG_SCRATCH_CONV_2, table_size(&j, count));
}

static bool take_scratch(job *j) {
  const ig_layer *l = j->l;
  int64_t lanes = l->f->lanes;
  ig_layer_tiles *t = &j->t;
  float *v = ig_scratch_array(IG_SCRATCH_CONV_1, floats_of(j, t->count), sizeof(float));
  j->table = ig_scratch_get(IG_SCRATCH_CONV_2, table_size(j, t->count));
  if (!v || !j->table) return false;
  t->pitch = pitch_of(t->count);
  t->v_step = step_of(l->in, lanes, t->pitch);
  t->m_step = step_of(l->out, lanes, t->pitch);
  t->v = v;
  t->m = v + l->products * t->v_step;
  for (int64_t i = 0; i < l->in; i++) j->table[i] = (int32_t)(i * t->pitch * lanes);
  for (int64_t i = 0; i < t->count; i++) j->table[l->in + i] = (int32_t)(i * lanes);
  return true;
}

static void transform_in(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->l->f->wino_in(&j->t, j->m, begin, end);
}

static void multiply(void *arg, int64_t position) {
  const job *j = arg;
  const ig_layer *l = j->l;
  const ig_layer_tiles *t = &j->t;
  ig_layer_product p = {.x = t->v + position * t->v_step,
                        .tap = j->table,
                        .pixel = j->table + l->in,
                        .place = j->table + l->in,
                        .taps = l->in,
                        .unit = l->f->lanes,
                        .panel = l->panel,
                        .blocks = l->out,
                        .w = l->w + position * l->weights,
                        .y = t->v + l->products * t->v_step + position * t->m_step,
                        .y_block = t->pitch * l->f->lanes};
  l->f->product(&p, 0, t->count, 0, (l->out + l->panel - 1) / l->panel);
}

static void transform_out(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_layer_tiles *t = &j->t;
  j->l->f->wino_out(t, j->m, begin, end);
  if (!ig_layer_acts(j->io)) return;
  // What the tiles of a block cover is not one run of pixels: whole rows of tiles mostly are.
  int64_t lanes = j->l->f->lanes;
  for (int64_t b = begin; b < end; b++)
    for (int64_t i = t->begin; i < t->begin + t->count; i++) {
      int64_t k = i % t->each;
      int64_t col = k % t->across * j->m;
      int64_t wide = t->out[1] - col < j->m ? t->out[1] - col : j->m;
      for (int64_t r = k / t->across * j->m; r < t->out[0] && r < (k / t->across + 1) * j->m; r++)
        ig_layer_act(
            j->io->act, wide * lanes,
            t->y + i / t->each * t->y_image + ((b * t->out[0] + r) * t->out[1] + col) * lanes);
    }
}

static void whole_block(void *arg, int64_t block) {
  job j = *(const job *)arg;
  j.t.begin = j.tiles * block / j.blocks;
  j.t.count = j.tiles * (block + 1) / j.blocks - j.t.begin;
  if (!take_scratch(&j)) {
    atomic_store_explicit(j.failed, true, memory_order_relaxed);
    return;
  }
  transform_in(&j, 0, j.l->in);
  for (int64_t k = 0; k < j.l->products; k++) multiply(&j, k);
  transform_out(&j, 0, j.l->out);
}

static void share_phases(job *j) {
  int64_t work = j->t.count * 128;  // of a transform, in about as many cycles
  ig_parallel_for(j->l->in, 8192 / work + 1, transform_in, j);
  ig_parallel_tasks(j->l->products, multiply, j);
  ig_parallel_for(j->l->out, 8192 / work + 1, transform_out, j);
}

bool ig_layer_run_wino(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  job j = job_of(l, c);
  atomic_bool failed = false;
  j.failed = &failed;
  j.io = io;
  j.t.x = io->x;
  j.t.x_image = io->x_image;
  j.t.y = io->y;
  j.t.y_image = io->y_image;
  j.t.residual = io->residual;
  j.t.residual_image = io->residual_image;
  j.t.bias = l->bias;
  j.t.blocks = l->out;
  j.t.keep = l->keep;
  j.t.lo = ig_layer_lo(io);
  j.t.hi = ig_layer_hi(io);
  if (!j.shared) {
    ig_parallel_tasks(j.blocks, whole_block, &j);
    return !atomic_load_explicit(&failed, memory_order_relaxed);
  }
  j.t.count = j.tiles;
  if (!take_scratch(&j)) return false;
  share_phases(&j);
  return true;
}
