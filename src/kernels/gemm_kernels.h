// SPDX-License-Identifier: Apache-2.0
// The micro-kernels of matrix products, one table per type and instruction set; the engine
// (gemm_engine.inc) does blocking, packing and threads on top of any table. Tables for base are
// portable C. All kernels run on one thread, and none allocates.
#ifndef KERNELS_GEMM_KERNELS_H_
#define KERNELS_GEMM_KERNELS_H_

#include <stdbool.h>
#include <stdint.h>

#include "kernels/scratch.h"

enum {
  IG_GEMM_MR_MAX = 8,    // rows of a register tile, at most
  IG_GEMM_NR_MAX = 64,   // columns of a register tile, at most
  IG_GEMM_DOT_COLS = 4,  // columns of a dot tile
  IG_GEMM_AXPY_ROWS = 4,
  IG_GEMM_SLACK = 16,  // elements behind a packed block that pack may overwrite
  IG_GEMM_PACE = 4,    // rows of B between two fetches ahead
};

// Memory to prefetch: rows of a number of 64-byte lines. Tiles prefetch it into the L2 cache,
// evenly, one line per `pace` rows of B (many at once would delay the loads they wait for), and
// advance it. The portable tables leave prefetching to the processor.
typedef struct ig_gemm_ahead {
  const char *at;
  int64_t rows;         // remaining; 0: nothing to prefetch
  int64_t lines, left;  // of a row; of this row
  int64_t pace;
  int64_t jump;  // from the end of a row to the next row
} ig_gemm_ahead;

// This many lines of the row were prefetched.
static inline void ig_gemm_advance(ig_gemm_ahead *f, int64_t lines) {
  f->at += lines * 64;
  f->left -= lines;
  if (f->left > 0) return;
  f->at += f->jump;
  f->left = f->lines;
  f->rows--;
}

// Rows of B that are copied into the next panel at the same time: a row of nr elements for every
// `pace` rows of the product. They are not in the cache, so they are prefetched some rows earlier.
typedef struct ig_gemm_carry {
  const char *from;
  int64_t step;  // bytes from row to row
  char *to;
  int64_t rows;  // that are left
  int64_t pace;
} ig_gemm_carry;

enum { IG_GEMM_CARRY_FETCH = 4 };  // rows from prefetching to copying

// mr, nr, dot_rows: greatest m and n of tile, greatest m of dot; nr_short: a narrower panel that is
// nearly as fast, for widths that are not multiples of nr. kc: rows of B per block, for types of 4
// bytes; kc_stream: the minimum where A stays in the L2 cache; share: eighths of that cache for a
// block of B; pass: a large A is processed in blocks that are packed into that cache, and panels of
// B stay in L1.
//
// tile: c[i*c_rs + j] = (add ? c[i*c_rs + j] : 0) + sum over p of a[i*a_rs + p*a_cs] * b[p*b_rs +
// j]
// for i < m <= mr, j < n <= nr. No other elements are accessed, except that padded b (a packed
// panel) may be read up to a whole number of vectors.
// take: tile for m = mr and n = nr that keeps B packed as it goes: keep[p*nr + j] = b[..].
// carry: tile for m = mr and n = nr that copies rows of the next panel. NULL: a table without
// these. pack: dst[p*width + j] = src[p*ks + j*ns] for p < k, j < n, zero for n <= j < width. dot:
// out[i*4 + j] = sum over p of a[i*a_rs + p] * b[j*b_cs + p], i < m <= dot_rows, j < n <= 4. axpy:
// y[i*y_rs + j] += sum over p < k of a[i*a_rs + p*a_cs] * b[p*b_rs + j], i < m <= 4, j < n. turn:
// c[j*c_cs + i] = alpha * t[i*ld + j] + beta * c[..], i < m, j < n. NULL: a table without it.
// store: c[i*c_rs + j*c_cs] = alpha * t[i*nr + j] + beta * c[..], c not read when beta is 0.
#define IG_GEMM_KERNELS(name, X)                                                                  \
  typedef struct ig_gemm_kernels_##name {                                                         \
    int mr, nr, nr_short, dot_rows;                                                               \
    int kc, kc_stream, share;                                                                     \
    bool pass;                                                                                    \
    void (*tile)(int m, int n, int64_t k, const X *a, int64_t a_rs, int64_t a_cs, const X *b,     \
                 int64_t b_rs, bool padded, X *c, int64_t c_rs, bool add, ig_gemm_ahead *ahead);  \
    void (*take)(int64_t k, const X *a, int64_t a_rs, int64_t a_cs, const X *b, int64_t b_rs,     \
                 X *keep, X *c, int64_t c_rs, bool add);                                          \
    void (*carry)(int64_t k, const X *a, int64_t a_rs, int64_t a_cs, const X *b, X *c,            \
                  int64_t c_rs, bool add, ig_gemm_carry *next);                                   \
    void (*pack)(int64_t k, int n, int width, const X *src, int64_t ks, int64_t ns, X *dst);      \
    void (*dot)(int m, int n, int64_t k, const X *a, int64_t a_rs, const X *b, int64_t b_cs,      \
                X *out);                                                                          \
    void (*axpy)(int m, int64_t n, int64_t k, const X *a, int64_t a_rs, int64_t a_cs, const X *b, \
                 int64_t b_rs, X *y, int64_t y_rs);                                               \
    void (*turn)(int64_t m, int64_t n, const X *t, int64_t ld, X alpha, X beta, X *c,             \
                 int64_t c_cs);                                                                   \
    void (*store)(int m, int n, const X *t, X alpha, X beta, X *c, int64_t c_rs, int64_t c_cs);   \
  } ig_gemm_kernels_##name

IG_GEMM_KERNELS(f32, float);
IG_GEMM_KERNELS(f64, double);
IG_GEMM_KERNELS(u32, uint32_t);
IG_GEMM_KERNELS(u64, uint64_t);

extern const ig_gemm_kernels_f32 ig_gemm_f32_base;
extern const ig_gemm_kernels_f64 ig_gemm_f64_base;
extern const ig_gemm_kernels_u32 ig_gemm_u32_base;
extern const ig_gemm_kernels_u64 ig_gemm_u64_base;
#if defined(__x86_64__)
extern const ig_gemm_kernels_f32 ig_gemm_f32_avx2, ig_gemm_f32_avx512;
extern const ig_gemm_kernels_f64 ig_gemm_f64_avx2, ig_gemm_f64_avx512;
extern const ig_gemm_kernels_u32 ig_gemm_u32_avx2, ig_gemm_u32_avx512;
extern const ig_gemm_kernels_u64 ig_gemm_u64_avx2, ig_gemm_u64_avx512;
#elif defined(__aarch64__)
extern const ig_gemm_kernels_f32 ig_gemm_f32_neon;
extern const ig_gemm_kernels_f64 ig_gemm_f64_neon;
#endif

// The engines, for wrappers that convert operands of other types to these (16-bit floats, small
// integers, complex): one thread, C with both strides.
#define IG_GEMM_SERIAL(name, X)                                                                  \
  void ig_gemm_serial_##name(int64_t m, int64_t n, int64_t k, X alpha, const X *a, int64_t a_rs, \
                             int64_t a_cs, const X *b, int64_t b_rs, int64_t b_cs, X beta, X *c, \
                             int64_t c_rs, int64_t c_cs);                                        \
  /* What that needs, for a dense C; shared: it is called in a loop that threads share. */       \
  void ig_gemm_serial_need_##name(int64_t m, int64_t n, int64_t k, X alpha, int64_t a_rs,        \
                                  int64_t a_cs, int64_t b_rs, int64_t b_cs, X beta, bool shared, \
                                  ig_need *need)
IG_GEMM_SERIAL(f32, float);
IG_GEMM_SERIAL(f64, double);
IG_GEMM_SERIAL(u32, uint32_t);
IG_GEMM_SERIAL(u64, uint64_t);

// B packed into the caller's memory, for kernels that use a block of B several times: as one block
// of k rows (k should not be much more than 512), aligned to 64 bytes. A product may use fewer rows
// and columns than were packed; panels_k is the number of rows that were. One thread, no scratch.
#define IG_GEMM_PANELS(name, X)                                                                 \
  int ig_gemm_panels_width_##name(int64_t n);                                                   \
  int64_t ig_gemm_panels_size_##name(int64_t n, int64_t k);                                     \
  void ig_gemm_panels_pack_##name(int64_t n, int64_t k, const X *b, int64_t b_rs, int64_t b_cs, \
                                  X *panels);                                                   \
  void ig_gemm_panels_run_##name(int64_t m, int64_t n, int64_t k, X alpha, const X *a,          \
                                 int64_t a_rs, int64_t a_cs, const X *panels, int64_t panels_k, \
                                 int width, X beta, X *c, int64_t c_rs)
IG_GEMM_PANELS(f32, float);
IG_GEMM_PANELS(f64, double);

#endif
