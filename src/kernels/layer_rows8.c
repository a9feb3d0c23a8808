// SPDX-License-Identifier: Apache-2.0
// Linear layers whose weights are 8-bit integers with one factor per output: a quarter of the bytes
// of f32, for products of few rows, which wait for memory. Sums are f32.
//
// Weights lie in groups of outputs, [group][columns / 64][4 outputs][64 columns], so that a run
// reads them from the beginning to the end; factors follow. Columns beyond the last are zero.
#include <math.h>

#include "base/threads.h"
#include "kernels/layer_kernels.h"

enum { GROUP = IG_LAYER_GROUP8, COLUMNS = IG_LAYER_COLUMNS8, LARGEST = 127 };

static int64_t blocks_of(int64_t n, int64_t each) {
  return (n + each - 1) / each;
}

static int64_t group_bytes(const ig_layer *l) {
  return blocks_of(l->c.cin, COLUMNS) * COLUMNS * GROUP;
}

static int64_t groups_of(const ig_layer *l) {
  return blocks_of(l->c.cout, GROUP);
}

int64_t ig_layer_rows8_floats(const ig_layer *l) {
  return groups_of(l) * (group_bytes(l) / 4 + GROUP);
}

static float *factors_of(const ig_layer *l) {
  return l->w + groups_of(l) * group_bytes(l) / 4;
}

// ---- packing ----

typedef struct packing {
  const ig_layer *l;
  const float *w;
} packing;

// A row that is not finite has a factor that is not: its results are NaN.
static float factor_of(const float *row, int64_t n) {
  float most = 0.0f;
  for (int64_t i = 0; i < n; i++) {
    float v = fabsf(row[i]);
    if (!(v <= most)) most = v;
  }
  return isfinite(most) ? most / LARGEST : NAN;
}

static int8_t quantized(float v, float factor) {
  return factor > 0.0f ? (int8_t)lrintf(v / factor) : 0;
}

static void pack_groups(void *arg, int64_t begin, int64_t end) {
  const packing *p = arg;
  const ig_layer *l = p->l;
  int64_t n = l->c.cin;
  int64_t blocks = blocks_of(n, COLUMNS);
  for (int64_t g = begin; g < end; g++) {
    int8_t *to = (int8_t *)l->w + g * group_bytes(l);
    for (int64_t k = 0; k < GROUP; k++) {
      int64_t o = g * GROUP + k;
      const float *row = o < l->c.cout ? p->w + o * n : NULL;
      float factor = row ? factor_of(row, n) : 0.0f;
      factors_of(l)[o] = factor;
      for (int64_t i = 0; i < blocks * COLUMNS; i++) {
        to[i / COLUMNS * COLUMNS * GROUP + k * COLUMNS + i % COLUMNS] =
            row && i < n ? quantized(row[i], factor) : 0;
      }
    }
  }
}

void ig_layer_fill_rows8(const ig_layer *l, const float *w) {
  packing p = {l, w};
  ig_parallel_for(groups_of(l), 65536 / (group_bytes(l) + 1) + 1, pack_groups, &p);
}

// ---- running ----

typedef struct job {
  const ig_layer *l;
  const ig_layer_io *io;
  int64_t rows;
} job;

static float finished(const ig_layer_io *io, float v) {
  if (io->act != IG_ACT_CLAMP) return v;
  v = v < io->lo ? io->lo : v;
  return v > io->hi ? io->hi : v;
}

static void run_groups(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_layer *l = j->l;
  const float *factors = factors_of(l);
  int64_t out = l->c.cout;
  int64_t first = begin * GROUP;
  int64_t last = end * GROUP < out ? end * GROUP : out;
  for (int64_t g = begin; g < end; g++) {
    const int8_t *w = (const int8_t *)l->w + g * group_bytes(l);
    for (int64_t r = 0; r < j->rows; r++) {
      float sums[GROUP];
      l->f->dots8(w, j->io->x + r * l->c.cin, l->c.cin, sums);
      for (int64_t o = g * GROUP; o < (g + 1) * GROUP && o < out; o++) {
        float v = sums[o - g * GROUP] * factors[o] + l->bias[o];
        if (j->io->residual) v += j->io->residual[r * out + o];
        j->io->y[r * out + o] = finished(j->io, v);
      }
    }
  }
  for (int64_t r = 0; ig_layer_acts(j->io) && r < j->rows; r++) {
    ig_layer_act(j->io->act, last - first, j->io->y + r * out + first);
  }
}

void ig_layer_run_rows8(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  enum { LEAST = 48 << 10 };  // bytes of weights, some microseconds
  job j = {l, io, c->n * ig_conv_in(c)};
  ig_parallel_for(groups_of(l), LEAST / (group_bytes(l) + 1) + 1, run_groups, &j);
}

// ---- what is lost ----

double ig_layer_loss(const ig_layer *l, int64_t rows, const float *x, const float *w) {
  const float *factors = factors_of(l);
  double error = 0;
  double total = 0;
  int64_t in = l->c.cin;
  float sums[GROUP] = {0};
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t o = 0; o < l->c.cout; o++) {
      double sum = 0;
      if (o % GROUP == 0) {
        l->f->dots8((const int8_t *)l->w + o / GROUP * group_bytes(l), x + r * in, in, sums);
      }
      for (int64_t i = 0; i < in; i++) sum += (double)w[o * in + i] * (double)x[r * in + i];
      double off = (double)(sums[o % GROUP] * factors[o]) - sum;
      error += off * off;
      total += (sum + (double)l->bias[o]) * (sum + (double)l->bias[o]);
    }
  }
  return total > 0 ? sqrt(error / total) : error > 0 ? INFINITY : 0;
}
