// SPDX-License-Identifier: Apache-2.0
// Matrix products against three plain loops: every type, every instruction set of this processor,
// odd shapes, all kinds of strides, alpha and beta, NaN, empty sizes, batches, packed B, 1 and 2
// threads. Operands lie inside guarded buffers: C's gaps and ends must stay as they were.
#include "kernels/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"
#include "portion.h"

static uint32_t seed = 1;
static uint32_t random_bits(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}

typedef enum layout { ROWS, COLUMNS, ROWS_GAP, COLUMNS_GAP, SPREAD, LAYOUTS } layout;

// A matrix of rows x columns in a layout; the buffer holds `batch` of them.
typedef struct matrix {
  int64_t rows, columns, rs, cs, bs;
  size_t count;  // elements of the buffer
} matrix;

static matrix matrix_of(int64_t batch, int64_t rows, int64_t columns, layout l) {
  matrix m = {.rows = rows, .columns = columns};
  switch (l) {
    case ROWS:
      m.rs = columns, m.cs = 1;
      break;
    case COLUMNS:
      m.rs = 1, m.cs = rows;
      break;
    case ROWS_GAP:
      m.rs = columns + 3, m.cs = 1;
      break;
    case COLUMNS_GAP:
      m.rs = 1, m.cs = rows + 5;
      break;
    default:
      m.rs = 2 * columns + 1, m.cs = 2;
      break;
  }
  int64_t size = rows && columns ? (rows - 1) * m.rs + (columns - 1) * m.cs + 1 : 0;
  m.bs = size + 7;
  m.count = (size_t)(batch * m.bs + 1);
  return m;
}

// What a test needs of one type, on untyped memory. Tolerance is relative to the sum of |a b|.
typedef struct type {
  const char *name;
  size_t size;
  double tolerance;
  void (*fill)(void *p, size_t i);
  double (*distance)(const void *x, const void *y, size_t i);  // 0: equal bits or both NaN
  void (*product)(bool oracle, int64_t batch, int64_t m, int64_t n, int64_t k, int scalars,
                  const void *a, const matrix *as, const void *b, const matrix *bs, void *c,
                  const matrix *cs);
} type;

// alpha and beta by number.
static const double alphas[] = {1, 1, 1, 2, 0.5, 0, -1};
static const double betas[] = {0, 1, 2, 0, 3, 2, 1};
enum { SCALARS = 7 };

// NOLINTBEGIN(readability-function-size): the operands of a product, one by one
#define PRODUCT(name, S, A)                                                                     \
  static void product_##name(bool oracle, int64_t batch, int64_t m, int64_t n, int64_t k,       \
                             int scalars, const void *a, const matrix *as, const void *b,       \
                             const matrix *bs, void *c, const matrix *cs) {                     \
    A alpha = (A)alphas[scalars];                                                               \
    A beta = (A)betas[scalars];                                                                 \
    if (!oracle && batch != 1) {                                                                \
      ig_gemm_batch_##name(batch, m, n, k, alpha, a, as->bs, as->rs, as->cs, b, bs->bs, bs->rs, \
                           bs->cs, beta, c, cs->bs, cs->rs);                                    \
      return;                                                                                   \
    }                                                                                           \
    for (int64_t t = 0; t < batch; t++) {                                                       \
      const S *x = (const S *)a + t * as->bs;                                                   \
      const S *y = (const S *)b + t * bs->bs;                                                   \
      S *z = (S *)c + t * cs->bs;                                                               \
      if (oracle)                                                                               \
        ig_gemm_plain_##name(m, n, k, alpha, x, as->rs, as->cs, y, bs->rs, bs->cs, beta, z,     \
                             cs->rs);                                                           \
      else                                                                                      \
        ig_gemm_##name(m, n, k, alpha, x, as->rs, as->cs, y, bs->rs, bs->cs, beta, z, cs->rs);  \
    }                                                                                           \
  }
PRODUCT(f32, float, float)
PRODUCT(f64, double, double)
PRODUCT(f16, uint16_t, float)
PRODUCT(bf16, uint16_t, float)
PRODUCT(i64, int64_t, int64_t)
PRODUCT(i32, int32_t, int32_t)
PRODUCT(i16, int16_t, int16_t)
PRODUCT(i8, int8_t, int8_t)
PRODUCT(u8, uint8_t, uint8_t)
PRODUCT(c64, float _Complex, float _Complex)
PRODUCT(c128, double _Complex, double _Complex)
// NOLINTEND(readability-function-size)

static double unit(void) {
  return (double)random_bits() / 8388608.0 - 1;
}

static double apart(double x, double y) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0 : INFINITY;
  return x == y ? 0 : fabs(x - y);
}

#define FLOATS(name, S, put, get)                                         \
  static void fill_##name(void *p, size_t i) {                            \
    ((S *)p)[i] = (S)put;                                                 \
  }                                                                       \
  static double distance_##name(const void *x, const void *y, size_t i) { \
    S a = ((const S *)x)[i];                                              \
    S b = ((const S *)y)[i];                                              \
    return apart((double)get(a), (double)get(b));                         \
  }
#define SAME(x) (x)
FLOATS(f32, float, unit(), SAME)
FLOATS(f64, double, unit(), SAME)
FLOATS(f16, uint16_t, ig_f16_put((float)unit()), ig_f16_get)
FLOATS(bf16, uint16_t, ig_bf16_put((float)unit()), ig_bf16_get)

#define COMPLEX(name, R)                                                          \
  static void fill_##name(void *p, size_t i) {                                    \
    ((R *)p)[2 * i] = (R)unit();                                                  \
    ((R *)p)[2 * i + 1] = (R)unit();                                              \
  }                                                                               \
  static double distance_##name(const void *x, const void *y, size_t i) {         \
    const R *a = (const R *)x + 2 * i;                                            \
    const R *b = (const R *)y + 2 * i;                                            \
    return apart((double)a[0], (double)b[0]) + apart((double)a[1], (double)b[1]); \
  }
COMPLEX(c64, float)
COMPLEX(c128, double)

// All bits are used, so that sums wrap.
static void fill_int(void *p, size_t i, size_t size) {
  uint64_t v = (uint64_t)random_bits() << 40 ^ (uint64_t)random_bits() << 20 ^ random_bits();
  memcpy((char *)p + i * size, &v, size);
}
#define INTS(name, S)                                                     \
  static void fill_##name(void *p, size_t i) {                            \
    fill_int(p, i, sizeof(S));                                            \
  }                                                                       \
  static double distance_##name(const void *x, const void *y, size_t i) { \
    return ((const S *)x)[i] == ((const S *)y)[i] ? 0 : 1;                \
  }
INTS(i64, int64_t)
INTS(i32, int32_t)
INTS(i16, int16_t)
INTS(i8, int8_t)
INTS(u8, uint8_t)

#define TYPE(name, S, tolerance) \
  { #name, sizeof(S), tolerance, fill_##name, distance_##name, product_##name }
static const type types[] = {TYPE(f32, float, 2e-6),
                             TYPE(f64, double, 4e-15),
                             TYPE(f16, uint16_t, 2e-3),
                             TYPE(bf16, uint16_t, 1.6e-2),
                             TYPE(i64, int64_t, 0),
                             TYPE(i32, int32_t, 0),
                             TYPE(i16, int16_t, 0),
                             TYPE(i8, int8_t, 0),
                             TYPE(u8, uint8_t, 0),
                             TYPE(c64, float _Complex, 4e-6),
                             TYPE(c128, double _Complex, 1e-14)};
enum { TYPES = sizeof types / sizeof *types };

// A buffer with a page of guard bytes on both sides, which the sanitizers do not need but C's
// strides do: gaps between rows belong to no one.
static void *make(const type *t, const matrix *m) {
  char *p = malloc(m->count * t->size + 1);
  assert_non_null(p);
  for (size_t i = 0; i < m->count; i++) t->fill(p, i);
  return p;
}

// Compares all of C, gaps too: those must be equal to the bit.
static void compare(const type *t, const char *what, int64_t batch, const matrix *c, int64_t k,
                    const void *got, const void *want) {
  double allowed = t->tolerance * (sqrt((double)k) + 2) * 2;
  for (size_t i = 0; i < c->count; i++) {
    int64_t at = (int64_t)i % c->bs;
    bool inside = (int64_t)i / c->bs < batch && c->columns > 0 && c->rows > 0 &&
                  at / c->rs < c->rows && at % c->rs < c->columns;
    if (!inside) {
      assert_memory_equal((const char *)got + i * t->size, (const char *)want + i * t->size,
                          t->size);
      continue;
    }
    double d = t->distance(got, want, i);
    if (!(d <= allowed))
      fail_msg("%s %s: element %zu is off by %g (allowed %g)", t->name, what, i, d, allowed);
  }
}

typedef struct shape {
  int64_t batch, m, n, k;
} shape;

static void check(const type *t, shape s, layout la, layout lb, bool gap, int scalars) {
  if (!test_due((double)s.batch * (double)s.m * (double)s.n * (double)s.k)) return;
  char what[160];
  (void)snprintf(what, sizeof what,
                 "level %d threads %d batch %d: %dx%dx%d layouts %d %d gap %d scalars %d",
                 (int)ig_cpu_level(), ig_threads_get(), (int)s.batch, (int)s.m, (int)s.n, (int)s.k,
                 (int)la, (int)lb, gap, scalars);
  matrix a = matrix_of(s.batch, s.m, s.k, la);
  matrix b = matrix_of(s.batch, s.k, s.n, lb);
  matrix c = matrix_of(s.batch, s.m, s.n, gap ? ROWS_GAP : ROWS);
  void *pa = make(t, &a);
  void *pb = make(t, &b);
  void *got = make(t, &c);
  void *want = malloc(c.count * t->size);
  assert_non_null(want);
  memcpy(want, got, c.count * t->size);
  t->product(true, s.batch, s.m, s.n, s.k, scalars, pa, &a, pb, &b, want, &c);
  t->product(false, s.batch, s.m, s.n, s.k, scalars, pa, &a, pb, &b, got, &c);
  compare(t, what, s.batch, &c, s.k, got, want);
  free(pa), free(pb), free(got), free(want);
}

// Calls the test at every level of this processor, with 1 and 2 threads.
static void at_every_level(void (*test)(void)) {
  ig_cpu top = ig_cpu_limit(IG_CPU_AVX512);
  for (int level = 0; level <= (int)top; level++)
    for (int threads = 1; threads <= 2; threads++) {
      ig_cpu_limit((ig_cpu)level);
      ig_threads_set(threads);
      seed = 7;
      test();
    }
  ig_cpu_limit(top);
  ig_threads_set(0);
}

static bool is_float(const type *t) {
  return !strcmp(t->name, "f32") || !strcmp(t->name, "f64");
}

// All sizes around the tiles' edges, all layouts.
static void small_shapes(void) {
  static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 33, 47, 48, 49, 65, 97};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  for (int t = 0; t < TYPES; t++) {
    int count = is_float(&types[t]) ? 300 : 40;
    for (int i = 0; i < count; i++) {
      shape s = {1, sizes[random_bits() % SIZES], sizes[random_bits() % SIZES],
                 sizes[random_bits() % SIZES]};
      check(&types[t], s, (layout)(random_bits() % LAYOUTS), (layout)(random_bits() % LAYOUTS),
            random_bits() % 2, (int)(random_bits() % SCALARS));
    }
  }
}

static void test_small_shapes(void **state) {
  (void)state;
  at_every_level(small_shapes);
}

// Every remainder of a tile, exhaustively.
static void tile_edges(void) {
  for (int64_t m = 1; m <= 18; m++)
    for (int64_t n = 1; n <= 50; n++)
      check(&types[0], (shape){1, m, n, 11}, ROWS, ROWS, true, (int)(n % 2));
  for (int64_t m = 9; m <= 18; m++)
    for (int64_t n = 9; n <= 26; n++)
      check(&types[1], (shape){1, m, n, 10}, ROWS, COLUMNS, true, (int)(n % 2));
}

static void test_tile_edges(void **state) {
  (void)state;
  at_every_level(tile_edges);
}

// Large enough for blocks, packing and threads; with one side short; k over several blocks.
static void large_shapes(void) {
  static const shape shapes[] = {
      {1, 100, 150, 800}, {1, 40, 200, 1100}, {1, 1, 3000, 700}, {1, 3000, 1, 700},
      {1, 6, 1300, 500},  {1, 1300, 3, 500},  {1, 40, 600, 130}, {1, 200, 200, 64},
      {1, 33, 900, 9},    {5, 90, 100, 70},   {40, 9, 17, 33},   {3, 1, 900, 800},
      {1, 12, 600, 300},  {1, 69, 140, 800},  {1, 50, 900, 520}, {1, 160, 100, 1500}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int l = 0; l < 6; l++) {
      static const layout as[] = {ROWS, ROWS, COLUMNS, COLUMNS, ROWS_GAP, SPREAD};
      static const layout bs[] = {ROWS, COLUMNS, ROWS, COLUMNS, COLUMNS_GAP, SPREAD};
      check(&types[0], shapes[i], as[l], bs[l], l % 2, (int)(i + (size_t)l) % SCALARS);
      if (l % 3 == 0) check(&types[1], shapes[i], as[l], bs[l], l % 2, l);
    }
  // A in several blocks of rows, columns that panels do not divide, beta 0 and 1.
  static const shape passes[] = {{1, 700, 70, 803}, {1, 331, 149, 190}, {1, 401, 32, 700}};
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
    for (int l = 0; l < 6; l++) {
      static const layout as[] = {ROWS, COLUMNS, SPREAD};
      check(&types[l % 2], passes[i], as[l / 2], ROWS, true, (int)i % 2);
      check(&types[l % 2], passes[i], as[l / 2], ROWS_GAP, true, (int)(i + 1) % 2);
    }
}

static void test_large_shapes(void **state) {
  (void)state;
  at_every_level(large_shapes);
}

static void other_types(void) {
  static const shape shapes[] = {
      {1, 40, 260, 600}, {3, 40, 30, 50}, {1, 1, 500, 1100}, {1, 300, 2, 40}, {1, 300, 300, 8}};
  for (int t = 2; t < TYPES; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      check(&types[t], shapes[i], ROWS, COLUMNS, true, 0);
      check(&types[t], shapes[i], (layout)(i % LAYOUTS), (layout)((i + 2) % LAYOUTS), false,
            (int)i % SCALARS);
    }
}

static void test_other_types(void **state) {
  (void)state;
  at_every_level(other_types);
}

static void test_empty(void **state) {
  (void)state;
  static const shape shapes[] = {{1, 0, 5, 3}, {1, 5, 0, 3}, {1, 5, 4, 0},
                                 {1, 0, 0, 0}, {0, 3, 3, 3}, {2, 3, 4, 0}};
  for (int t = 0; t < TYPES; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int scalars = 0; scalars < SCALARS; scalars++)
        check(&types[t], shapes[i], ROWS, ROWS, true, scalars);
}

// The last element of A is NaN or infinite, and column 0 of B zero.
static void check_spread(const float *c, int64_t rs, shape s, bool nan) {
  for (int64_t x = 0; x < s.m; x++)
    for (int64_t y = 0; y < s.n; y++) {
      float v = c[x * rs + y];
      bool spoilt = x == s.m - 1;
      bool is_nan = spoilt && (nan || y == 0);  // infinity times zero is NaN too
      assert_int_equal(isnan(v) != 0, is_nan);
      assert_int_equal(isinf(v) != 0, spoilt && !is_nan);
    }
}

// One NaN or infinity in A reaches exactly the elements that it belongs to, also beside zeros; with
// beta == 0 a NaN in C is not read.
static void nan_and_inf(void) {
  static const shape shapes[] = {
      {1, 20, 70, 30}, {1, 1, 100, 40}, {1, 100, 1, 40}, {1, 100, 300, 120}, {1, 4, 60, 20}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (unsigned turn = 0; turn < 8; turn++) {
      shape s = shapes[i];
      matrix a = matrix_of(1, s.m, s.k, turn & 1 ? COLUMNS : ROWS);
      matrix b = matrix_of(1, s.k, s.n, turn & 2 ? COLUMNS : ROWS);
      matrix c = matrix_of(1, s.m, s.n, ROWS);
      float *pa = make(&types[0], &a);
      float *pb = make(&types[0], &b);
      float *pc = make(&types[0], &c);
      for (int64_t q = 0; q < s.k; q++) pb[q * b.rs] = 0;
      pa[(s.m - 1) * a.rs + (s.k - 1) * a.cs] = turn & 4 ? NAN : INFINITY;
      for (size_t e = 0; e < c.count; e++) pc[e] = NAN;
      ig_gemm_f32(s.m, s.n, s.k, 1, pa, a.rs, a.cs, pb, b.rs, b.cs, 0, pc, c.rs);
      check_spread(pc, c.rs, s, turn & 4);
      free(pa), free(pb), free(pc);
    }
}

static void test_nan_and_inf(void **state) {
  (void)state;
  at_every_level(nan_and_inf);
}

static void packed_case(int t, shape s, layout la, layout lb, int scalars) {
  if (!test_due((double)s.m * (double)s.n * (double)s.k)) return;
  matrix a = matrix_of(1, s.m, s.k, la);
  matrix b = matrix_of(1, s.k, s.n, lb);
  matrix c = matrix_of(1, s.m, s.n, ROWS_GAP);
  void *pa = make(&types[t], &a);
  void *pb = make(&types[t], &b);
  void *got = make(&types[t], &c);
  void *want = malloc(c.count * types[t].size);
  assert_non_null(want);
  memcpy(want, got, c.count * types[t].size);
  types[t].product(true, 1, s.m, s.n, s.k, scalars, pa, &a, pb, &b, want, &c);
  float al = (float)alphas[scalars];
  float be = (float)betas[scalars];
  ig_gemm_packed *p = t == 0   ? ig_gemm_pack_f32(s.n, s.k, pb, b.rs, b.cs)
                      : t == 1 ? ig_gemm_pack_f64(s.n, s.k, pb, b.rs, b.cs)
                      : t == 2 ? ig_gemm_pack_f16(s.n, s.k, pb, b.rs, b.cs)
                               : ig_gemm_pack_bf16(s.n, s.k, pb, b.rs, b.cs);
  assert_non_null(p);
  assert_true(ig_gemm_packed_bytes(p) >= (size_t)(s.n * s.k) * (t == 1 ? 8 : 4));
  if (t == 0) ig_gemm_packed_f32(s.m, al, pa, a.rs, a.cs, p, be, got, c.rs);
  if (t == 1) ig_gemm_packed_f64(s.m, (double)al, pa, a.rs, a.cs, p, (double)be, got, c.rs);
  if (t == 2) ig_gemm_packed_f16(s.m, al, pa, a.rs, a.cs, p, be, got, c.rs);
  if (t == 3) ig_gemm_packed_bf16(s.m, al, pa, a.rs, a.cs, p, be, got, c.rs);
  compare(&types[t], "packed", 1, &c, s.k, got, want);
  ig_gemm_packed_free(p);
  free(pa), free(pb), free(got), free(want);
}

static void packed_shapes(void) {
  static const shape shapes[] = {{1, 1, 700, 900}, {1, 5, 49, 1000}, {1, 140, 300, 500},
                                 {1, 300, 20, 3},  {1, 7, 1, 1},     {1, 3, 5, 0},
                                 {1, 0, 5, 4},     {1, 2, 0, 9}};
  for (int t = 0; t < 4; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int l = 0; l < LAYOUTS; l++)
        packed_case(t, shapes[i], (layout)(l % 3), (layout)l, (int)(i + (size_t)l) % SCALARS);
}

static void test_packed(void **state) {
  (void)state;
  at_every_level(packed_shapes);
}

// The same bits with any number of threads.
static void test_threads_do_not_change_results(void **state) {
  (void)state;
  static const shape shapes[] = {{1, 300, 700, 500},  {1, 2, 5000, 600},  {6, 100, 100, 80},
                                 {1, 128, 1500, 700}, {1, 250, 800, 900}, {1, 197, 389, 800},
                                 {1, 900, 200, 700}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int l = 0; l < 2; l++) {
      shape s = shapes[i];
      if (!test_due((double)s.batch * (double)s.m * (double)s.n * (double)s.k)) continue;
      matrix a = matrix_of(s.batch, s.m, s.k, ROWS);
      matrix b = matrix_of(s.batch, s.k, s.n, l ? COLUMNS : ROWS);
      matrix c = matrix_of(s.batch, s.m, s.n, ROWS);
      void *pa = make(&types[0], &a);
      void *pb = make(&types[0], &b);
      void *one = make(&types[0], &c);
      void *many = malloc(c.count * sizeof(float));
      assert_non_null(many);
      memcpy(many, one, c.count * sizeof(float));
      ig_threads_set(1);
      types[0].product(false, s.batch, s.m, s.n, s.k, 0, pa, &a, pb, &b, one, &c);
      for (int threads = 2; threads <= 5; threads++) {
        ig_threads_set(threads);
        types[0].product(false, s.batch, s.m, s.n, s.k, 0, pa, &a, pb, &b, many, &c);
        assert_memory_equal(one, many, c.count * sizeof(float));
      }
      free(pa), free(pb), free(one), free(many);
    }
  ig_threads_set(0);
}

static void close_to(const float *got, const float *want, int64_t n) {
  for (int64_t i = 0; i < n; i++) assert_true(fabsf(got[i] - want[i]) < 1e-4f);
}

// Strides of zero and below zero, and an operand shared by a batch.
static void test_odd_strides(void **state) {
  (void)state;
  const int64_t m = 20;
  const int64_t n = 60;
  const int64_t k = 30;
  static float a[600];   // m x k
  static float b[1800];  // k x n
  static float got[1200];
  static float want[1200];
  for (size_t i = 0; i < sizeof a / sizeof *a; i++) fill_f32(a, i);
  for (size_t i = 0; i < sizeof b / sizeof *b; i++) fill_f32(b, i);
  const float *last = a + (m - 1) * k;  // rows backwards, by one row of B again and again
  ig_gemm_f32(m, n, k, 1, last, -k, 1, b, 0, 1, 0, got, n);
  ig_gemm_plain_f32(m, n, k, 1, last, -k, 1, b, 0, 1, 0, want, n);
  close_to(got, want, m * n);
  const float *end = b + k * n - 1;
  ig_gemm_f32(m, n, k, 1, a, k, 1, end, -n, -1, 0, got, n);
  ig_gemm_plain_f32(m, n, k, 1, a, k, 1, end, -n, -1, 0, want, n);
  close_to(got, want, m * n);
  // Two products of m / 2 rows with the same B are one of m rows.
  const int64_t half = m / 2;
  ig_gemm_batch_f32(2, half, n, k, 1, a, half * k, k, 1, b, 0, n, 1, 0, got, half * n, n);
  ig_gemm_plain_f32(m, n, k, 1, a, k, 1, b, n, 1, 0, want, n);
  close_to(got, want, m * n);
  ig_gemm_batch_f32(2, half, n, k, 1, a, 0, k, 1, b, 0, 1, k, 0, got, half * n, n);
  assert_memory_equal(got, got + half * n, (size_t)(half * n) * sizeof *got);
}

// Without scratch memory every product is still right.
static void without_scratch(void) {
  static const shape shapes[] = {
      {1, 40, 90, 70}, {1, 5, 70, 30}, {1, 70, 5, 30}, {3, 30, 30, 30}, {1, 40, 190, 130}};
  ig_scratch_limit(0);
  for (int t = 0; t < TYPES; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int l = 0; l < LAYOUTS; l++)
        for (int b = 0; b < 2; b++)
          check(&types[t], shapes[i], (layout)l, (layout)((l + b) % LAYOUTS), true, b ? l : 0);
  for (int t = 0; t < 4; t++) packed_case(t, (shape){1, 30, 200, 410}, COLUMNS, ROWS, 4);
  ig_scratch_limit(SIZE_MAX);
}

static void test_without_scratch(void **state) {
  (void)state;
  at_every_level(without_scratch);
}

static void test_scratch(void **state) {
  (void)state;
  char *p = ig_scratch_get(IG_SCRATCH_NORM, 100);
  assert_non_null(p);
  assert_int_equal((uintptr_t)p % 64, 0);
  memset(p, 1, 100);
  assert_ptr_equal(ig_scratch_get(IG_SCRATCH_NORM, 50), p);
  char *q = ig_scratch_get(IG_SCRATCH_CONV_0, 1 << 20);
  assert_ptr_not_equal(p, q);
  memset(q, 2, 1 << 20);
  assert_int_equal(p[99], 1);
  assert_null(ig_scratch_get(IG_SCRATCH_NORM, SIZE_MAX - 100));
  ig_scratch_limit(1000);
  assert_null(ig_scratch_get(IG_SCRATCH_NORM, 1001));
  assert_non_null(ig_scratch_get(IG_SCRATCH_NORM, 1000));
  ig_scratch_limit(SIZE_MAX);
  assert_non_null(ig_scratch_get(IG_SCRATCH_NORM, 1001));
  assert_non_null(ig_scratch_get(IG_SCRATCH_NORM, 10));
  ig_scratch_free();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_shapes), cmocka_unit_test(test_tile_edges),
      cmocka_unit_test(test_large_shapes), cmocka_unit_test(test_other_types),
      cmocka_unit_test(test_empty),        cmocka_unit_test(test_nan_and_inf),
      cmocka_unit_test(test_packed),       cmocka_unit_test(test_threads_do_not_change_results),
      cmocka_unit_test(test_odd_strides),  cmocka_unit_test(test_without_scratch),
      cmocka_unit_test(test_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
