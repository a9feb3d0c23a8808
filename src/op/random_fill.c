// SPDX-License-Identifier: Apache-2.0
// Drawing whole tensors. Elements are visited in the order of memory, one thread, because the order
// of draws is part of the result; every dtype draws as PyTorch's kernels do.
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/normal.h"
#include "op/random.h"
#include "tensor/copy.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

#define ONE_THREAD (INT64_MAX / 4)  // a grain that no tensor reaches

const ig_draws *ig_draws_find(const char *name) {
  static const ig_draws rows[] = {
      {.name = "2.5", .streams = true, .half_steps = true, .wide = 1ULL << 32},
      {.name = "2.13", .wide = 1ULL << 28},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

typedef struct draw {
  const ig_draws *how;
  ig_generator *g;
  ig_stream stream;
  ig_dtype dtype;
  double a;
  double b;
  ig_draw_fn *fn;
  int64_t from;
  uint64_t range;
} draw;

static void visit(ig_tensor *t, ig_row_fn *fn, draw *d) {
  ig_walk w;
  d->dtype = t->dtype;
  ig_walk_make(&w, t, &t, 1);
  ig_walk_run(&w, ONE_THREAD, fn, d);
}

// The same in row-major order, whatever that of the memory is.
static void visit_row_major(ig_tensor *t, ig_row_fn *fn, draw *d) {
  int64_t size = (int64_t)ig_dtype_size(t->dtype);
  int64_t index[IG_MAX_DIM] = {0};
  int last = t->ndim - 1;
  int64_t n = t->ndim ? ig_sizes(t)[last].value : 1;
  int64_t step = t->ndim ? ig_strides(t)[last].value * size : 0;
  char *at = ig_tensor_data(t);
  d->dtype = t->dtype;
  int dim;
  do {
    fn(d, &at, &step, n);
    for (dim = last - 1; dim >= 0; dim--) {
      int64_t jump = ig_strides(t)[dim].value * size;
      at += jump;
      if (++index[dim] < ig_sizes(t)[dim].value) break;
      at -= index[dim] * jump;
      index[dim] = 0;
    }
  } while (dim >= 0);
}

// x * scale + shift with one rounding, as PyTorch's builds do it. The product of two floats is
// exact in double.
static float affine_f32(float x, float scale, float shift) {
  return (float)((double)x * (double)scale + (double)shift);
}

static uint16_t narrow(ig_dtype dtype, float x) {
  return dtype == IG_F16 ? ig_f32_to_f16(x) : ig_f32_to_bf16(x);
}

// As many bits as the dtype has digits.
static float random_half(ig_generator *g, ig_dtype dtype) {
  int digits = dtype == IG_F16 ? 11 : 8;
  return (float)(ig_random_u32(g) & ((1U << digits) - 1)) / (float)(1 << digits);
}

static void uniform_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  float from = (float)d->a;
  float width = (float)d->b - from;
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    if (d->dtype == IG_F64) {
      *(double *)p = fma(ig_random_f64(d->g), d->b - d->a, d->a);
      continue;
    }
    if (d->dtype != IG_F32 && d->how->half_steps) {
      *(uint16_t *)p = narrow(d->dtype, affine_f32(random_half(d->g, d->dtype), width, from));
      continue;
    }
    float x = affine_f32(ig_random_f32(d->g), width, from);
    // Rounding may reach the upper bound, which does not belong to the interval.
    if (d->dtype != IG_F32 && narrow(d->dtype, x) == narrow(d->dtype, (float)d->b)) x = from;
    if (d->dtype == IG_F32) {
      *(float *)p = x;
    } else {
      *(uint16_t *)p = narrow(d->dtype, x);
    }
  }
}

void ig_random_uniform(const ig_draws *how, ig_generator *g, ig_tensor *t, double from, double to) {
  draw d = {.how = how, .g = g, .a = from, .b = to};
  visit(t, uniform_row, &d);
}

static void normal_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    double x = fma(ig_random_normal(d->g), d->b, d->a);
    switch (d->dtype) {
      case IG_F64:
        *(double *)p = x;
        break;
      case IG_F32:
        *(float *)p = (float)x;
        break;
      case IG_F16:
        *(uint16_t *)p = ig_f32_to_f16((float)x);
        break;
      default:
        *(uint16_t *)p = ig_f32_to_bf16((float)x);
        break;
    }
  }
}

// Blocks of sixteen: all uniform numbers first, then block by block; a remainder is drawn again as
// the last sixteen.
static void normals_f32(ig_generator *g, float *data, size_t n, float mean, float std) {
  for (size_t i = 0; i < n; i++) data[i] = ig_random_f32(g);
  ig_normal_blocks(data, n / 16, mean, std);
  if (n % 16 == 0) return;
  data += n - 16;
  for (size_t i = 0; i < 16; i++) data[i] = ig_random_f32(g);
  ig_normal_blocks(data, 1, mean, std);
}

static void block_f64(double *data, double mean, double std) {
  for (int j = 0; j < 8; j++) {
    double radius = sqrt(-2.0 * log(1.0 - data[j]));
    double angle = 2.0 * 3.14159265358979323846 * data[j + 8];
    data[j] = fma(radius * cos(angle), std, mean);
    data[j + 8] = fma(radius * sin(angle), std, mean);
  }
}

static void normals_f64(ig_generator *g, double *data, size_t n, double mean, double std) {
  for (size_t i = 0; i < n; i++) data[i] = ig_random_f64(g);
  for (size_t i = 0; i + 16 <= n; i += 16) block_f64(data + i, mean, std);
  if (n % 16 == 0) return;
  data += n - 16;
  for (size_t i = 0; i < 16; i++) data[i] = ig_random_f64(g);
  block_f64(data, mean, std);
}

static void store_half(ig_dtype dtype, uint16_t *data, const float *x) {
  for (int j = 0; j < 16; j++) data[j] = narrow(dtype, x[j]);
}

static void draw_16(ig_generator *g, float *x, float mean, float std) {
  for (int j = 0; j < 16; j++) x[j] = ig_random_f32(g);
  ig_normal_blocks(x, 1, mean, std);
}

// The 16-bit floats round the results for floats, block by block; here a remainder costs no
// additional draws.
static void normals_half(ig_generator *g, ig_tensor *t, size_t n, float mean, float std) {
  uint16_t *data = ig_tensor_data(t);
  float x[16];
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    draw_16(g, x, mean, std);
    store_half(t->dtype, data + i, x);
  }
  if (i == n) return;
  draw_16(g, x, mean, std);
  store_half(t->dtype, data + n - 16, x);
}

static float rounded(ig_dtype dtype, float x) {
  return dtype == IG_F16 ? ig_f16_to_f32(ig_f32_to_f16(x)) : ig_bf16_to_f32(ig_f32_to_bf16(x));
}

// In the arithmetic of the dtype.
static void block_half(ig_dtype t, uint16_t *to, const float *u, float mean, float std) {
  for (int j = 0; j < 8; j++) {
    float log_u = rounded(t, logf(rounded(t, 1 - u[j])));
    float radius = rounded(t, sqrtf(rounded(t, -2 * log_u)));
    float angle = rounded(t, (float)(2.0 * 3.14159265358979323846 * (double)u[j + 8]));
    float x = rounded(t, rounded(t, radius * rounded(t, cosf(angle))) * std);
    float y = rounded(t, rounded(t, radius * rounded(t, sinf(angle))) * std);
    to[j] = narrow(t, x + mean);
    to[j + 8] = narrow(t, y + mean);
  }
}

// As for the other floats: all uniform numbers first, a remainder again as the last sixteen.
static void normals_half_steps(ig_generator *g, ig_tensor *t, size_t n, float mean, float std) {
  uint16_t *data = ig_tensor_data(t);
  ig_dtype d = t->dtype;
  float u[16];
  mean = rounded(d, mean);
  std = rounded(d, std);
  for (size_t i = 0; i < n; i++) data[i] = narrow(d, random_half(g, d));
  for (size_t i = 0; i + 16 <= n; i += 16) {
    ig_convert(u, IG_F32, data + i, d, 16);
    block_half(d, data + i, u, mean, std);
  }
  if (n % 16 == 0) return;
  for (size_t i = 0; i < 16; i++) u[i] = random_half(g, d);
  block_half(d, data + n - 16, u, mean, std);
}

bool ig_random_is_bulk(const ig_tensor *t) {
  return ig_tensor_numel(t) >= 16 && ig_tensor_is_dense(t);
}

void ig_random_normals(const ig_draws *how, ig_generator *g, ig_tensor *t, bool bulk, double mean,
                       double std) {
  size_t n = (size_t)ig_tensor_numel(t);
  if (!bulk) {
    draw d = {.how = how, .g = g, .a = mean, .b = std};
    visit(t, normal_row, &d);
    return;
  }
  void *data = ig_tensor_data(t);
  switch (t->dtype) {
    case IG_F32:
      normals_f32(g, data, n, (float)mean, (float)std);
      break;
    case IG_F64:
      normals_f64(g, data, n, mean, std);
      break;
    default:
      (how->half_steps ? normals_half_steps : normals_half)(g, t, n, (float)mean, (float)std);
      break;
  }
}

static void store_real(char *p, ig_dtype dtype, double x) {
  bool half = dtype == IG_F16 || dtype == IG_BF16;
  ig_value v = ig_of_f64(half ? (double)(float)x : x);  // half precision is rounded twice
  ig_element_store(p, dtype, &v);
}

static void bernoulli_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  size_t size = ig_dtype_size(d->dtype);
  uint8_t images[2][16] = {{0}, {0}};  // zero and one of the dtype
  ig_value one = ig_of_i64(1);
  ig_element_store(images[1], d->dtype, &one);
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    double u = d->how->streams ? ig_stream_f64(&d->stream) : ig_random_f64(d->g);
    memcpy(p, images[u < d->a], size);
  }
}

void ig_random_bernoulli(const ig_draws *how, ig_generator *g, ig_tensor *t, double p) {
  draw d = {.how = how, .g = g, .a = p};
  if (ig_tensor_numel(t) == 0) return;
  if (how->streams) {
    d.stream = ig_stream_of(ig_random_u32(g));
    visit_row_major(t, bernoulli_row, &d);
  } else {
    visit(t, bernoulli_row, &d);
  }
}

// The inverse of the distribution function; floats are computed in their own precision.
static void exponential_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    double x;
    if (!d->how->streams) {
      x = -1.0 / d->a * log1p(-ig_random_f64(d->g));
    } else if (d->dtype == IG_F64) {
      x = DBL_MIN - log(ig_stream_f64(&d->stream)) * (1 / d->a);
    } else {
      double u = (double)(float)ig_stream_f64(&d->stream);
      x = (double)(FLT_MIN - (float)log(u) * (float)(1 / d->a));
    }
    store_real(p, d->dtype, x);
  }
}

void ig_random_exponential(const ig_draws *how, ig_generator *g, ig_tensor *t, double rate) {
  draw d = {.how = how, .g = g, .a = rate};
  if (ig_tensor_numel(t) == 0) return;
  if (how->streams) {
    d.stream = ig_stream_of((uint32_t)(t->dtype == IG_F64 ? ig_random_u64(g) : ig_random_u32(g)));
    visit_row_major(t, exponential_row, &d);
  } else {
    visit(t, exponential_row, &d);
  }
}

static void draws_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    store_real(p, d->dtype, d->fn(d->g, d->a, d->b));
  }
}

void ig_random_draws(ig_generator *g, ig_tensor *t, ig_draw_fn *fn, double a, double b) {
  draw d = {.g = g, .a = a, .b = b, .fn = fn};
  visit(t, draws_row, &d);
}

static inline void store_integer(char *p, ig_dtype dtype, int64_t x) {
  switch (dtype) {
    case IG_BOOL:
      *(bool *)p = x != 0;
      break;
    case IG_U8:
    case IG_I8:
      *(uint8_t *)p = (uint8_t)x;
      break;
    case IG_I16:
    case IG_U16:
      *(uint16_t *)p = (uint16_t)x;
      break;
    case IG_I32:
    case IG_U32:
      *(uint32_t *)p = (uint32_t)x;
      break;
    case IG_I64:
    case IG_U64:
      *(int64_t *)p = x;
      break;
    case IG_F32:
      *(float *)p = (float)x;
      break;
    case IG_F64:
      *(double *)p = (double)x;
      break;
    default:
      ig_convert(p, dtype, &x, IG_I64, 1);
      break;
  }
}

static void integers_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  if (d->range >= d->how->wide) {
    for (int64_t i = 0; i < n; i++, p += stride[0]) {
      uint64_t x = ig_random_u64(d->g) % d->range;
      store_integer(p, d->dtype, (int64_t)(x + (uint64_t)d->from));
    }
    return;
  }
  uint32_t range = (uint32_t)d->range;
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    store_integer(p, d->dtype, d->from + (int64_t)(ig_random_u32(d->g) % range));
  }
}

void ig_random_integers(const ig_draws *how, ig_generator *g, ig_tensor *t, int64_t from,
                        uint64_t range) {
  draw d = {.how = how, .g = g, .from = from, .range = range};
  visit(t, integers_row, &d);
}

static void full_range_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    store_integer(p, d->dtype, (int64_t)ig_random_u64(d->g));
  }
}

void ig_random_full_range(ig_generator *g, ig_tensor *t) {
  draw d = {.g = g};
  visit(t, full_range_row, &d);
}

static void natural_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  draw *d = user;
  char *p = at[0];
  for (int64_t i = 0; i < n; i++, p += stride[0]) {
    uint64_t bits = d->a > 0 ? ig_random_u64(d->g) : ig_random_u32(d->g);
    store_integer(p, d->dtype, (int64_t)(bits % d->range));
  }
}

void ig_random_natural(ig_generator *g, ig_tensor *t) {
  // One more than the largest number, or than the largest up to which all integers are exact.
  static const uint64_t ranges[IG_DTYPE_COUNT] = {
      [IG_BOOL] = 2,
      [IG_U8] = 1ULL << 8,
      [IG_I8] = 1ULL << 7,
      [IG_I16] = 1ULL << 15,
      [IG_U16] = 1ULL << 16,
      [IG_I32] = 1ULL << 31,
      [IG_U32] = 1ULL << 32,
      [IG_I64] = 1ULL << 63,
      [IG_U64] = UINT64_MAX,
      [IG_F16] = (1ULL << 11) + 1,
      [IG_BF16] = (1ULL << 8) + 1,
      [IG_F32] = (1ULL << 24) + 1,
      [IG_F64] = (1ULL << 53) + 1,
  };
  bool wide = t->dtype == IG_I64 || t->dtype == IG_U64 || t->dtype == IG_F64;
  draw d = {.g = g, .a = wide ? 1 : 0, .range = ranges[t->dtype] ? ranges[t->dtype] : 2};
  visit(t, natural_row, &d);
}

void ig_random_permutation(ig_generator *g, ig_tensor *t) {
  int64_t n = ig_tensor_numel(t);
  size_t size = ig_dtype_size(t->dtype);
  char *data = ig_tensor_data(t);
  for (int64_t i = 0; i < n; i++) store_integer(data + (size_t)i * size, t->dtype, i);
  bool wide = (uint64_t)n > UINT32_MAX / 20;
  for (int64_t i = 0; i < n - 1; i++) {
    uint64_t bits = wide ? ig_random_u64(g) : ig_random_u32(g);
    int64_t other = i + (int64_t)(bits % (uint64_t)(n - i));
    uint8_t held[16];
    memcpy(held, data + (size_t)i * size, size);
    memcpy(data + (size_t)i * size, data + (size_t)other * size, size);
    memcpy(data + (size_t)other * size, held, size);
  }
}
