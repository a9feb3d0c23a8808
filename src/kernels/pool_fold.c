// SPDX-License-Identifier: Apache-2.0
// im2col and col2im. A row of the columns matrix is one kernel element: a shifted, strided image.
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/pool_window.h"

enum { GRAIN = 8192 };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_pool p;
  size_t size;
  const void *x;
  void *y;
} job;

// Elements of 8 bytes may be complex numbers, which are aligned as their parts are.
typedef struct pair8 {
  uint32_t half[2];
} pair8;

typedef struct pair16 {
  uint64_t half[2];
} pair16;

// Copies count elements, xs apart, side by side.
static void gather(size_t size, const char *x, int64_t xs, char *y, int64_t count) {
#define COPY(T)                                                             \
  for (int64_t i = 0; i < count; i++) ((T *)y)[i] = ((const T *)x)[i * xs]; \
  break
  switch (size) {
    case 1:
      COPY(uint8_t);
    case 2:
      COPY(uint16_t);
    case 4:
      COPY(uint32_t);
    case 8:
      COPY(pair8);
    default:
      COPY(pair16);
  }
#undef COPY
}

// One output row (ow elements) for one kernel element; positions outside the input are zero.
static void unfold_row(const job *j, const char *plane, const int64_t k[3], int64_t od, int64_t oh,
                       char *y) {
  const ig_pool *p = &j->p;
  int64_t d = od * p->stride[0] - p->padding[0] + k[0] * p->dilation[0];
  int64_t h = oh * p->stride[1] - p->padding[1] + k[1] * p->dilation[1];
  int64_t n = p->out[2];
  if (d < 0 || d >= p->in[0] || h < 0 || h >= p->in[1]) {
    memset(y, 0, (size_t)n * j->size);
    return;
  }
  int64_t lo = 0;
  int64_t hi = n;
  ig_pool_span(p, k[2], &lo, &hi);
  if (lo > n) lo = n;
  if (hi < lo) hi = lo;
  memset(y, 0, (size_t)lo * j->size);
  memset(y + (size_t)hi * j->size, 0, (size_t)(n - hi) * j->size);
  if (lo == hi) return;
  int64_t w = lo * p->stride[2] - p->padding[2] + k[2] * p->dilation[2];
  const char *x = plane + (size_t)((d * p->in[1] + h) * p->in[2] + w) * j->size;
  y += (size_t)lo * j->size;
  if (p->stride[2] == 1)
    memcpy(y, x, (size_t)(hi - lo) * j->size);
  else
    gather(j->size, x, p->stride[2], y, hi - lo);
}

// Ranges are rows of the columns matrix: (plane, kd, kh, kw).
static void unfold(const job *j, int64_t begin, int64_t end) {
  const ig_pool *p = &j->p;
  int64_t kernel = p->kernel[0] * p->kernel[1] * p->kernel[2];
  size_t in = (size_t)(p->in[0] * p->in[1] * p->in[2]) * j->size;
  size_t row = (size_t)p->out[2] * j->size;
  for (int64_t t = begin; t < end; t++) {
    int64_t e = t % kernel;
    int64_t k[3] = {e / (p->kernel[1] * p->kernel[2]), e / p->kernel[2] % p->kernel[1],
                    e % p->kernel[2]};
    const char *plane = (const char *)j->x + (size_t)(t / kernel) * in;
    char *y = (char *)j->y + (size_t)(t * p->out[0] * p->out[1]) * row;
    for (int64_t od = 0; od < p->out[0]; od++)
      for (int64_t oh = 0; oh < p->out[1]; oh++, y += row) unfold_row(j, plane, k, od, oh, y);
  }
}

// Ranges are planes.
#define FOLD(tag, T, LOAD, STORE)                                                        \
  static void fold_##tag(const job *j, int64_t begin, int64_t end) {                     \
    const ig_pool *p = &j->p;                                                            \
    int64_t kernel = p->kernel[0] * p->kernel[1] * p->kernel[2];                         \
    int64_t in = p->in[0] * p->in[1] * p->in[2];                                         \
    const T *s = (const T *)j->x + begin * kernel * p->out[0] * p->out[1] * p->out[2];   \
    for (int64_t t = begin; t < end; t++) {                                              \
      T *x = (T *)j->y + t * in;                                                         \
      memset(x, 0, (size_t)in * sizeof(T));                                              \
      for (int64_t r = 0; r < kernel * p->out[0] * p->out[1]; r++, s += p->out[2]) {     \
        int64_t e = r / (p->out[0] * p->out[1]);                                         \
        int64_t kw = e % p->kernel[2];                                                   \
        int64_t h = r % p->out[1] * p->stride[1] - p->padding[1] +                       \
                    e / p->kernel[2] % p->kernel[1] * p->dilation[1];                    \
        int64_t d = r / p->out[1] % p->out[0] * p->stride[0] - p->padding[0] +           \
                    e / (p->kernel[1] * p->kernel[2]) * p->dilation[0];                  \
        if (d < 0 || d >= p->in[0] || h < 0 || h >= p->in[1]) continue;                  \
        int64_t lo = 0;                                                                  \
        int64_t hi = p->out[2];                                                          \
        ig_pool_span(p, kw, &lo, &hi);                                                   \
        int64_t w = (d * p->in[1] + h) * p->in[2] - p->padding[2] + kw * p->dilation[2]; \
        for (int64_t i = lo; i < hi; i++)                                                \
          x[w + i * p->stride[2]] = STORE(LOAD(x[w + i * p->stride[2]]) + LOAD(s[i]));   \
      }                                                                                  \
    }                                                                                    \
  }

#define SAME(v) (v)
#define WRAP(v) ((int64_t)(v))
#define UNSIGNED(v) ((uint64_t)(v))
FOLD(f32, float, SAME, SAME)
FOLD(f64, double, SAME, SAME)
FOLD(f16, uint16_t, ig_f16_get, ig_f16_put)
FOLD(bf16, uint16_t, ig_bf16_get, ig_bf16_put)
FOLD(i64, int64_t, UNSIGNED, WRAP)

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

void ig_pool_im2col(const ig_pool *p, size_t size, const void *x, void *cols) {
  job j = {.fn = unfold, .p = *p, .size = size, .x = x, .y = cols};
  int64_t each = p->out[0] * p->out[1] * p->out[2];
  int64_t kernel = p->kernel[0] * p->kernel[1] * p->kernel[2];
  ig_parallel_for(p->planes * kernel, GRAIN / (each > 0 ? each : 1) + 1, run, &j);
}

void ig_pool_col2im(const ig_pool *p, const void *cols, void *x) {
  static void (*const table[IG_ELEM_COUNT])(const job *, int64_t, int64_t) = {
      [IG_ELEM_F32] = fold_f32,   [IG_ELEM_F64] = fold_f64, [IG_ELEM_F16] = fold_f16,
      [IG_ELEM_BF16] = fold_bf16, [IG_ELEM_I64] = fold_i64,
  };
  job j = {.fn = table[p->elem], .p = *p, .x = cols, .y = x};
  if (!j.fn) return;
  int64_t each = p->out[0] * p->out[1] * p->out[2] * p->kernel[0] * p->kernel[1] * p->kernel[2];
  ig_parallel_for(p->planes, GRAIN / (each > 0 ? each : 1) + 1, run, &j);
}
