// SPDX-License-Identifier: Apache-2.0
#include "tensor/transpose.h"

#include "base/threads.h"
#include "kernels/transpose.h"

enum { GRAIN = 32768, BAND = 64, LEAST = 4 };

typedef struct job {
  const ig_walk *w;
  int64_t size;
  int across;     // dimension in which the source is dense
  int64_t bands;  // pieces of it
} job;

// Units are pairs of an index of the other dimensions and a band of `across`.
static void run_units(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_walk *w = j->w;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t rest = unit / j->bands;
    int64_t first = unit % j->bands * BAND;
    int64_t n = w->size[j->across] - first;
    char *to = w->data[0] + first * w->stride[0][j->across];
    const char *from = w->data[1] + first * w->stride[1][j->across];
    for (int d = 1; d < w->ndim; d++) {
      if (d == j->across) continue;
      int64_t i = rest % w->size[d];
      rest /= w->size[d];
      to += i * w->stride[0][d];
      from += i * w->stride[1][d];
    }
    ig_transpose(to, w->stride[0][j->across], from, w->stride[1][0], w->size[0],
                 n < BAND ? n : BAND, j->size);
  }
}

bool ig_walk_transpose(const ig_walk *w, int64_t size) {
  if (w->ndim < 2 || w->stride[0][0] != size || w->size[0] < LEAST || w->stride[1][0] == size) {
    return false;
  }
  int across = 0;
  for (int d = 1; d < w->ndim; d++) {
    if (w->stride[1][d] == size && w->size[d] >= LEAST) across = d;
  }
  if (!across || w->numel == 0) return false;
  job j = {w, size, across, (w->size[across] + BAND - 1) / BAND};
  int64_t units = j.bands;
  for (int d = 1; d < w->ndim; d++) {
    if (d != across) units *= w->size[d];
  }
  int64_t each = w->numel / units;
  ig_parallel_for(units, GRAIN / (each + 1) + 1, run_units, &j);
  return true;
}
