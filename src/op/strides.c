// SPDX-License-Identifier: Apache-2.0
#include "op/strides.h"

#include <string.h>

#include "base/threads.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// Is dimension a outside b in memory? 0: unknown.
static int compare(const ig_tensor *t, int a, int b) {
  int64_t x = ig_strides(t)[a].value;  // concrete: the order in memory is decided by hints
  int64_t y = ig_strides(t)[b].value;  // concrete: as above
  if (x == 0 || y == 0) return 0;
  if (x != y) return x < y ? -1 : 1;
  return ig_sizes(t)[a].value > ig_sizes(t)[b].value ? 1 : 0;  // concrete: as above
}

static void ordered_strides(ig_ctx *c, const ig_tensor *t, ig_meta *m) {
  int order[IG_MAX_DIM];  // innermost first
  for (int d = 0; d < t->ndim; d++) order[d] = t->ndim - 1 - d;
  for (int i = 1; i < t->ndim; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      int outside = compare(t, order[j], order[at]);
      if (outside < 0) break;
      if (outside == 0) continue;
      int held = order[j];
      order[j] = order[at];
      order[at] = held;
      at = j;
    }
  }
  ig_int step = ig_const(1);
  for (int k = 0; k < t->ndim; k++) {
    int d = order[k];
    m->stride[d] = step;
    bool small = !m->size[d].expr && m->size[d].value <= 1;  // concrete: constants only
    if (!small) step = ig_int_mul(c, step, m->size[d]);
  }
}

void ig_meta_copy_of(ig_ctx *c, const ig_tensor *t, const ig_value *memory_format, ig_meta *m) {
  size_t n = ig_mem_mul((size_t)t->ndim, sizeof(ig_int));
  ig_memory_format format =
      memory_format->kind == IG_KIND_MEMORY_FORMAT ? memory_format->memory_format : IG_PRESERVE;
  m->ndim = t->ndim;
  m->offset = ig_const(0);
  m->strided = true;
  memcpy(m->size, ig_sizes(t), n);
  if (format != IG_PRESERVE) {
    ig_meta_format(c, m, format);
  } else if (ig_tensor_is_dense_permuted(t)) {
    memcpy(m->stride, ig_strides(t), n);
  } else {
    ordered_strides(c, t, m);
  }
}

enum { GRAIN = 32768 };

typedef struct fill_job {
  char *data;
  ig_dtype dtype;
  int64_t size;
  const ig_value *number;  // NULL: zero bytes
} fill_job;

static void fill_range(void *arg, int64_t begin, int64_t end) {
  const fill_job *j = arg;
  char *at = j->data + begin * j->size;
  size_t n = (size_t)(end - begin);
  if (j->number) {
    ig_fill(at, j->dtype, n, j->number);
  } else {
    memset(at, 0, n * (size_t)j->size);
  }
}

static void fill_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  const fill_job *j = user;
  uint8_t image[16] = {0};
  if (j->number) ig_element_store(image, j->dtype, j->number);
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) memcpy(p, image, (size_t)j->size);
}

static void fill(ig_tensor *t, const ig_value *number) {
  fill_job j = {ig_tensor_data(t), t->dtype, (int64_t)ig_dtype_size(t->dtype), number};
  if (ig_tensor_is_dense_permuted(t)) {
    ig_parallel_for(ig_tensor_numel(t), GRAIN, fill_range, &j);
    return;
  }
  ig_walk w;
  ig_walk_make(&w, t, &t, 1);
  ig_walk_run(&w, GRAIN, fill_row, &j);
}

void ig_tensor_fill(ig_tensor *t, const ig_value *number) {
  fill(t, number);
}

void ig_tensor_zero(ig_tensor *t) {
  fill(t, NULL);
}
