// SPDX-License-Identifier: Apache-2.0
// Loop nests over strided memory, and copies.
#include "tensor/copy.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "tensor/number.h"
#include "tensor/transpose.h"

static void load_strides(ig_walk *w, const ig_tensor *shape, ig_tensor *const *operands) {
  for (int d = 0; d < shape->ndim; d++) w->size[d] = ig_sizes(shape)[shape->ndim - 1 - d].value;
  for (int k = 0; k < w->noperands; k++) {
    const ig_tensor *t = operands[k];
    w->data[k] = t ? ig_tensor_data(t) : NULL;
    int64_t bytes = t ? (int64_t)ig_dtype_size(t->dtype) : 0;
    for (int d = 0; d < shape->ndim; d++) {
      int from = t ? t->ndim - 1 - d : -1;
      bool repeated = from < 0 || ig_sizes(t)[from].value == 1;
      w->stride[k][d] = repeated ? 0 : ig_strides(t)[from].value * bytes;
    }
  }
}

// Should dimension a be outside of dimension b? Operand 0 decides, then the others.
static bool moves_more(const ig_walk *w, int a, int b) {
  for (int k = 0; k < w->noperands; k++) {
    int64_t x = w->stride[k][a] < 0 ? -w->stride[k][a] : w->stride[k][a];
    int64_t y = w->stride[k][b] < 0 ? -w->stride[k][b] : w->stride[k][b];
    if (x == 0 || y == 0) continue;
    if (x != y) return x > y;
    return w->size[a] > w->size[b];
  }
  return false;
}

static void swap_dims(ig_walk *w, int a, int b) {
  int64_t size = w->size[a];
  w->size[a] = w->size[b];
  w->size[b] = size;
  for (int k = 0; k < w->noperands; k++) {
    int64_t stride = w->stride[k][a];
    w->stride[k][a] = w->stride[k][b];
    w->stride[k][b] = stride;
  }
}

static bool can_merge(const ig_walk *w, int inner, int outer) {
  for (int k = 0; k < w->noperands; k++) {
    if (w->stride[k][outer] != w->stride[k][inner] * w->size[inner]) return false;
  }
  return true;
}

static void coalesce(ig_walk *w) {
  int last = 0;
  for (int d = 1; d < w->ndim; d++) {
    if (can_merge(w, last, d)) {
      w->size[last] *= w->size[d];
      continue;
    }
    last++;
    w->size[last] = w->size[d];
    for (int k = 0; k < w->noperands; k++) w->stride[k][last] = w->stride[k][d];
  }
  w->ndim = last + 1;
}

// Sizes and strides of `ndim` dimensions are loaded: leaves out, orders and joins dimensions.
static void settle(ig_walk *w, int ndim) {
  const int n = w->noperands;
  w->ndim = 0;
  if (w->numel == 0) {  // there are no rows
    w->ndim = 1;
    w->size[0] = 0;
    for (int k = 0; k < n; k++) w->stride[k][0] = 0;
    return;
  }
  for (int d = 0; d < ndim; d++) {  // sizes of 1 do not matter
    if (w->size[d] == 1) continue;
    if (w->ndim != d) {
      w->size[w->ndim] = w->size[d];
      for (int k = 0; k < n; k++) w->stride[k][w->ndim] = w->stride[k][d];
    }
    w->ndim++;
  }
  if (w->ndim == 0) {
    w->ndim = 1;
    w->size[0] = 1;
    for (int k = 0; k < n; k++) w->stride[k][0] = 0;
    return;
  }
  for (int i = 1; i < w->ndim; i++) {
    for (int j = i; j > 0 && moves_more(w, j - 1, j); j--) swap_dims(w, j - 1, j);
  }
  coalesce(w);
}

void ig_walk_make(ig_walk *w, const ig_tensor *shape, ig_tensor *const *operands, int n) {
  w->noperands = n;
  w->numel = ig_tensor_numel(shape);
  load_strides(w, shape, operands);
  settle(w, shape->ndim);
}

typedef struct job {
  const ig_walk *w;
  ig_row_fn *fn;
  void *user;
} job;

// Elements [begin, end) in walk order, row by row.
static void run_range(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_walk *w = j->w;
  int64_t index[IG_MAX_DIM];
  int64_t step[IG_WALK_MAX];
  char *at[IG_WALK_MAX];
  int64_t rest = begin;
  for (int k = 0; k < w->noperands; k++) {
    at[k] = w->data[k];
    step[k] = w->stride[k][0];
  }
  for (int d = 0; d < w->ndim; d++) {
    index[d] = rest % w->size[d];
    rest /= w->size[d];
    for (int k = 0; k < w->noperands; k++) {
      if (at[k]) at[k] += index[d] * w->stride[k][d];
    }
  }
  while (begin < end) {
    int64_t n = w->size[0] - index[0];
    if (n > end - begin) n = end - begin;
    j->fn(j->user, at, step, n);
    begin += n;
    if (begin == end) break;
    for (int k = 0; k < w->noperands; k++) {
      if (at[k]) at[k] -= index[0] * step[k];
    }
    index[0] = 0;
    for (int d = 1; d < w->ndim; d++) {
      bool carry = ++index[d] == w->size[d];
      int64_t back = carry ? w->size[d] - 1 : -1;
      for (int k = 0; k < w->noperands; k++) {
        if (at[k]) at[k] -= back * w->stride[k][d];
      }
      if (!carry) break;
      index[d] = 0;
    }
  }
}

void ig_walk_run(const ig_walk *w, int64_t grain, ig_row_fn *fn, void *user) {
  job j = {w, fn, user};
  if (w->numel / 2 < grain) {
    if (w->numel > 0) run_range(&j, 0, w->numel);
  } else {
    ig_parallel_for(w->numel, grain, run_range, &j);
  }
}

typedef struct copy_job {
  ig_dtype to;
  ig_dtype from;
  int64_t to_size;
  int64_t from_size;
} copy_job;

#define STRIDED(type)                                                                      \
  for (int64_t i = 0; i < n; i++) {                                                        \
    memcpy(dst + i * stride[0], src + i * stride[1], sizeof(type)); /* may be unaligned */ \
  }

static void move_strided(char *dst, const char *src, const int64_t *stride, int64_t n,
                         int64_t size) {
  switch (size) {
    case 1:
      STRIDED(uint8_t)
      break;
    case 2:
      STRIDED(uint16_t)
      break;
    case 4:
      STRIDED(uint32_t)
      break;
    case 8:
      STRIDED(uint64_t)
      break;
    default:
      STRIDED(ig_c128)
      break;
  }
}

enum { CHUNK = 512 };

// Gathers a chunk, converts it, scatters it; each step is skipped where the memory is dense.
static void convert_row(const copy_job *j, char *dst, const char *src, const int64_t *stride,
                        int64_t n) {
  double gathered[2 * CHUNK];
  double converted[2 * CHUNK];
  bool dense_in = stride[1] == j->from_size;
  bool dense_out = stride[0] == j->to_size;
  while (n > 0) {
    int64_t m = n < CHUNK ? n : CHUNK;
    const void *in = src;
    if (!dense_in) {
      move_strided((char *)gathered, src, (int64_t[]){j->from_size, stride[1]}, m, j->from_size);
      in = gathered;
    }
    void *out = dense_out ? (void *)dst : converted;
    ig_convert(out, j->to, in, j->from, (size_t)m);
    if (!dense_out) {
      move_strided(dst, (const char *)converted, (int64_t[]){stride[0], j->to_size}, m, j->to_size);
    }
    dst += m * stride[0];
    src += m * stride[1];
    n -= m;
  }
}

static void copy_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  const copy_job *j = user;
  if (j->to != j->from) {
    convert_row(j, at[0], at[1], stride, n);
  } else if (stride[0] == j->to_size && stride[1] == j->from_size) {
    size_t bytes = (size_t)(n * j->to_size);
    // Views with gaps may overlap, which is not looked for.
    bool apart = at[0] + bytes <= at[1] || at[1] + bytes <= at[0];
    if (apart)
      ig_mem_copy(at[0], at[1], bytes);
    else
      memmove(at[0], at[1], bytes);
  } else {
    move_strided(at[0], at[1], stride, n, j->to_size);
  }
}

// Leaves out dimensions along which no operand moves: one copy of their elements is all of them.
static void copy_repeats_once(ig_walk *w) {
  int kept = 0;
  for (int d = 0; d < w->ndim; d++) {
    if (w->numel && !w->stride[0][d] && !w->stride[1][d]) {
      w->numel /= w->size[d];
      continue;
    }
    w->size[kept] = w->size[d];
    for (int k = 0; k < w->noperands; k++) w->stride[k][kept] = w->stride[k][d];
    kept++;
  }
  if (kept == 0) w->size[kept++] = 1;  // strides are 0
  w->ndim = kept;
}

static void copy_walk(ig_walk *w, ig_dtype to, ig_dtype from) {
  copy_repeats_once(w);
  copy_job j = {to, from, (int64_t)ig_dtype_size(to), (int64_t)ig_dtype_size(from)};
  if (to == from && ig_walk_transpose(w, j.to_size)) return;
  ig_walk_run(w, 32768, copy_row, &j);
}

void ig_tensor_copy(ig_tensor *dst, const ig_tensor *src) {
  ig_walk w;
  if (dst->dtype == src->dtype && ig_tensor_overlap(dst, src) == IG_OVERLAP_SAME) return;
  ig_walk_make(&w, dst, (ig_tensor *[]){dst, (ig_tensor *)src}, 2);
  copy_walk(&w, dst->dtype, src->dtype);
}

void ig_strided_copy(int ndim, const int64_t *size, ig_strided to, ig_strided from) {
  ig_walk w;
  w.noperands = 2;
  w.numel = 1;
  w.data[0] = to.data;
  w.data[1] = from.data;
  for (int d = 0; d < ndim; d++) {
    int at = ndim - 1 - d;
    w.size[d] = size[at];
    w.numel *= size[at];
    w.stride[0][d] = size[at] == 1 ? 0 : to.stride[at] * (int64_t)ig_dtype_size(to.dtype);
    w.stride[1][d] = size[at] == 1 ? 0 : from.stride[at] * (int64_t)ig_dtype_size(from.dtype);
  }
  settle(&w, ndim);
  copy_walk(&w, to.dtype, from.dtype);
}

void ig_tensor_read(const ig_tensor *src, ig_dtype dtype, void *dst) {
  // A dense stand-in for the block; it never leaves this function and owns nothing.
  ig_storage storage = {.data = dst};
  ig_int dims[2 * IG_MAX_DIM];
  ig_tensor block = {.storage = &storage, .dtype = dtype, .ndim = src->ndim, .dims = dims};
  int64_t step = 1;
  for (int d = src->ndim - 1; d >= 0; d--) {
    dims[d] = ig_sizes(src)[d];
    dims[src->ndim + d] = ig_const(step);
    step *= dims[d].value;
  }
  ig_tensor_copy(&block, src);
}
