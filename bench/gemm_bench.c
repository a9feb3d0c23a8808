// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention: microseconds and share of the processor's peak, at 1 and 2
// threads.
//
//     gemm_bench [--json] [--threads N] [--quick] [--cpu] [word ...]
//
// --cpu counts the CPU time of the calling thread, for one thread on a busy machine.
// Words select the rows whose name contains one of them. A row's time is the best of many runs: the
// machine may be busy with other things. Peak: fused multiply-adds on registers, one thread,
// measured at the start; for two threads it is counted twice.
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"

typedef enum kind {
  PLAIN,
  LINEAR,
  PACKED,
  TURNED_A,
  BATCH,
  DOUBLE,
  BF16,
  INT64,
  ATTEND,
  ATTEND_BACK
} kind;

typedef struct row {
  const char *name;
  kind kind;
  int64_t batch, m, n, k;
} row;

static const row rows[] = {
    {"gemm 128x768x768", PLAIN, 1, 128, 768, 768},
    {"gemm 128x768x768 packed", PACKED, 1, 128, 768, 768},
    {"linear 128x768x768", LINEAR, 1, 128, 768, 768},
    {"gemm 128x3072x768", PLAIN, 1, 128, 3072, 768},
    {"gemm 128x3072x768 packed", PACKED, 1, 128, 3072, 768},
    {"linear 128x3072x768", LINEAR, 1, 128, 3072, 768},
    {"linear 128x768x3072", LINEAR, 1, 128, 768, 3072},
    {"linear 197x768x768", LINEAR, 1, 197, 768, 768},
    {"linear 197x3072x768", LINEAR, 1, 197, 3072, 768},
    {"linear 197x768x3072", LINEAR, 1, 197, 768, 3072},
    {"gemm 512x512x512", PLAIN, 1, 512, 512, 512},
    {"gemm 512x512x512 packed", PACKED, 1, 512, 512, 512},
    {"linear 512x512x512", LINEAR, 1, 512, 512, 512},
    {"gemm 512x512x512 A^T", TURNED_A, 1, 512, 512, 512},
    {"gemm 2048x2048x2048", PLAIN, 1, 2048, 2048, 2048},
    {"gemm 2048x2048x2048 packed", PACKED, 1, 2048, 2048, 2048},
    {"linear 2048x2048x2048", LINEAR, 1, 2048, 2048, 2048},
    {"gemm 64x64x64", PLAIN, 1, 64, 64, 64},
    {"linear 64x64x64", LINEAR, 1, 64, 64, 64},
    {"gemm 16x16x16", PLAIN, 1, 16, 16, 16},
    {"gemm 4x4x4", PLAIN, 1, 4, 4, 4},
    {"gemv 1x4096x4096", PLAIN, 1, 1, 4096, 4096},
    {"gemv 1x4096x4096 packed", PACKED, 1, 1, 4096, 4096},
    {"gemv linear 1x4096x4096", LINEAR, 1, 1, 4096, 4096},
    {"gemv linear 1x3072x768", LINEAR, 1, 1, 3072, 768},
    {"gemv linear 1x50257x768", LINEAR, 1, 1, 50257, 768},
    {"linear 4x3072x768", LINEAR, 1, 4, 3072, 768},
    {"linear 12x3072x768", LINEAR, 1, 12, 3072, 768},
    {"linear 32x3072x768", LINEAR, 1, 32, 3072, 768},
    {"gemv 4096x1x4096", PLAIN, 1, 4096, 1, 4096},
    {"12 heads 128x128x64", BATCH, 12, 128, 128, 64},
    {"12 heads 128x64x128", BATCH, 12, 128, 64, 128},
    {"double 512x512x512", DOUBLE, 1, 512, 512, 512},
    {"bf16 linear 128x768x768", BF16, 1, 128, 768, 768},
    {"bf16 linear 1x3072x768", BF16, 1, 1, 3072, 768},
    {"int64 256x256x256", INT64, 1, 256, 256, 256},
    {"attention 12x128x64", ATTEND, 12, 128, 128, 64},
    {"attention 12x1024x64", ATTEND, 12, 1024, 1024, 64},
    {"attention backward 12x128x64", ATTEND_BACK, 12, 128, 128, 64},
};

static clockid_t clock_id = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec t;
  clock_gettime(clock_id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *alloc(int64_t count, size_t size) {
  void *p = aligned_alloc(64, ((size_t)count * size + 127) / 64 * 64);
  if (!p) {
    (void)fprintf(stderr, "gemm_bench: out of memory\n");
    exit(1);
  }
  return p;
}

// Numbers in [-0.5, 0.5), in the type of the row.
static void *numbers(kind type, int64_t count) {
  size_t size = type == DOUBLE || type == INT64 ? 8 : type == BF16 ? 2 : 4;
  char *p = alloc(count, size);
  uint32_t seed = 1;
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    float f = (float)(seed >> 8) / 16777216.0f - 0.5f;
    double d = f;
    int64_t n = (int64_t)(seed >> 24);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint16_t half = (uint16_t)(bits >> 16);
    const void *from = type == DOUBLE  ? (void *)&d
                       : type == INT64 ? (void *)&n
                       : type == BF16  ? (void *)&half
                                       : (void *)&f;
    memcpy(p + (size_t)i * size, from, size);
  }
  return p;
}

typedef struct job {
  row r;
  void *a, *b, *c, *v, *lse, *grad[4];
  ig_gemm_packed *packed;
} job;

static ig_attention_shape shape_of(const row *r) {
  ig_attention_strides s = {r->batch * r->m * r->k, r->m * r->k, r->k};
  ig_attention_shape shape = {.batch = 1, .heads = r->batch, .lq = r->m, .lk = r->n, .d = r->k};
  shape.dv = r->k;
  shape.scale = 1 / sqrt((double)r->k);
  shape.q = shape.k = shape.v = shape.out = s;
  return shape;
}

static void attend(job *j) {
  ig_attention_shape s = shape_of(&j->r);
  if (j->r.kind == ATTEND) {
    ig_attention_f32(&s, j->a, j->b, j->v, j->c, j->lse);
    return;
  }
  ig_attention_grads g = {s.q, s.q, s.q, s.q};
  ig_attention_backward_f32(&s, &g, j->grad[0], j->a, j->b, j->v, j->c, j->lse, j->grad[1],
                            j->grad[2], j->grad[3]);
}

static void run(job *j) {
  const row *r = &j->r;
  int64_t m = r->m;
  int64_t n = r->n;
  int64_t k = r->k;
  switch (r->kind) {
    case PLAIN:
      ig_gemm_f32(m, n, k, 1, j->a, k, 1, j->b, n, 1, 0, j->c, n);
      break;
    case LINEAR:
      ig_gemm_f32(m, n, k, 1, j->a, k, 1, j->b, 1, k, 0, j->c, n);
      break;
    case TURNED_A:
      ig_gemm_f32(m, n, k, 1, j->a, 1, m, j->b, n, 1, 0, j->c, n);
      break;
    case PACKED:
      ig_gemm_packed_f32(m, 1, j->a, k, 1, j->packed, 0, j->c, n);
      break;
    case BATCH:
      ig_gemm_batch_f32(r->batch, m, n, k, 1, j->a, m * k, k, 1, j->b, k * n, n, 1, 0, j->c, m * n,
                        n);
      break;
    case DOUBLE:
      ig_gemm_f64(m, n, k, 1, j->a, k, 1, j->b, n, 1, 0, j->c, n);
      break;
    case BF16:
      ig_gemm_bf16(m, n, k, 1, j->a, k, 1, j->b, 1, k, 0, j->c, n);
      break;
    case INT64:
      ig_gemm_i64(m, n, k, 1, j->a, k, 1, j->b, n, 1, 0, j->c, n);
      break;
    default:
      attend(j);
      break;
  }
}

static void prepare(job *j) {
  const row *r = &j->r;
  j->a = numbers(r->kind, r->batch * r->m * r->k);
  j->b = numbers(r->kind, r->batch * r->k * r->n);
  int64_t out = r->kind >= ATTEND ? r->k : r->n;
  j->c = numbers(r->kind, r->batch * r->m * out);
  if (r->kind == PACKED) j->packed = ig_gemm_pack_f32(r->n, r->k, j->b, r->n, 1);
  if (r->kind < ATTEND) return;
  j->v = numbers(r->kind, r->batch * r->k * r->n);
  j->lse = numbers(r->kind, r->batch * r->m);
  for (int i = 0; i < 4; i++)
    j->grad[i] = numbers(r->kind, r->batch * r->k * (r->m > r->n ? r->m : r->n));
  ig_attention_shape s = shape_of(r);
  ig_attention_f32(&s, j->a, j->b, j->v, j->c, j->lse);
}

static void finish(job *j) {
  free(j->a), free(j->b), free(j->c), free(j->v), free(j->lse);
  for (int i = 0; i < 4; i++) free(j->grad[i]);
  ig_gemm_packed_free(j->packed);
}

// Seconds of the best of many runs within about `budget` seconds. Short ones are timed in groups.
static double best_time(job *j, double budget) {
  run(j);
  double t = now();
  run(j);
  double one = now() - t;
  int group = one < 2e-5 ? (int)(2e-5 / (one + 1e-9)) + 1 : 1;
  double best = 1e9;
  double end = now() + budget;
  for (int i = 0; i < 5 || now() < end; i++) {
    t = now();
    for (int g = 0; g < group; g++) run(j);
    t = (now() - t) / group;
    if (t < best) best = t;
  }
  return best;
}

// ---- the peak ----

#if defined(__x86_64__)
// Twelve chains of fused multiply-adds on zeros: enough to fill two units of latency four.
#define EACH(f, s) \
  f(0, s) f(1, s) f(2, s) f(3, s) f(4, s) f(5, s) f(6, s) f(7, s) f(8, s) f(9, s) f(10, s) f(11, s)
#define FMA(n, s) "vfmadd213ps %%" s "mm14, %%" s "mm15, %%" s "mm" #n "\n\t"
#define CLEAR(n, s) "vxorps %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t"
#define CHAINS(s) \
  __asm__ volatile(EACH(CLEAR, "x") CLEAR(14, "x") CLEAR(15, "x") "1:\n\t" EACH(FMA, s) \
                   "dec %0\n\t" \
                   "jnz 1b\n\t" \
                   "vzeroupper" \
                   : "+r"(steps) \
                   : \
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                     "xmm9", "xmm10", "xmm11", "xmm14", "xmm15")

static double fma_flops(long steps) {
  double count = (double)steps;
  if (ig_cpu_level() == IG_CPU_AVX512) {
    CHAINS("z");
    return 12 * 32 * count;
  }
  if (ig_cpu_level() == IG_CPU_AVX2) {
    CHAINS("y");
    return 12 * 16 * count;
  }
  return 0;
}
#else
static double fma_flops(long steps) {
  (void)steps;
  return 0;
}
#endif

static double measure_peak(void) {
  double best = 0;
  for (int i = 0; i < 200; i++) {
    double t = now();
    double flops = fma_flops(100000);
    t = now() - t;
    if (flops / t > best) best = flops / t;
  }
  return best;
}

typedef struct options {
  bool json;
  double budget;  // seconds per row
  int threads;    // 0: one, then two
  int first;      // where the words begin
} options;

static options options_of(int argc, char **argv) {
  options o = {.budget = 0.3, .first = 1};
  for (; o.first < argc && argv[o.first][0] == '-'; o.first++) {
    const char *word = argv[o.first];
    if (!strcmp(word, "--json")) o.json = true;
    if (!strcmp(word, "--quick")) o.budget = 0.05;
    if (!strcmp(word, "--cpu")) clock_id = CLOCK_THREAD_CPUTIME_ID;
    if (!strcmp(word, "--threads") && o.first + 1 < argc)
      o.threads = (int)strtol(argv[++o.first], NULL, 10);
  }
  if (clock_id != CLOCK_MONOTONIC) o.threads = 1;
  return o;
}

static bool wanted(const char *name, int count, char **words) {
  for (int i = 0; i < count; i++)
    if (strstr(name, words[i])) return true;
  return count == 0;
}

static void show(const row *r, const options *o, int threads, double peak) {
  job j = {.r = *r};
  prepare(&j);
  double t = best_time(&j, o->budget);
  finish(&j);
  double flops = 2.0 * (double)(r->batch * r->m) * (double)(r->n * r->k);
  if (r->kind == ATTEND) flops *= 2;
  if (r->kind == ATTEND_BACK) flops *= 5;
  double share = peak > 0 ? flops / t / peak / threads : 0;
  if (r->kind == DOUBLE) share *= 2;  // half as many fit a vector
  if (o->json)
    printf("{\"name\": \"%s\", \"threads\": %d, \"us\": %.2f, \"gflops\": %.2f, \"peak\": %.3f}\n",
           r->name, threads, t * 1e6, flops / t / 1e9, share);
  else
    printf("%-32s %d thread%s %10.2f us  %7.1f GFLOP/s  %4.0f %%\n", r->name, threads,
           threads > 1 ? "s" : " ", t * 1e6, flops / t / 1e9, share * 100);
  (void)fflush(stdout);
}

int main(int argc, char **argv) {
  options o = options_of(argc, argv);
  double peak = measure_peak();
  if (!o.json) printf("peak of one thread: %.1f GFLOP/s\n", peak / 1e9);
  for (int threads = o.threads ? o.threads : 1; threads <= (o.threads ? o.threads : 2); threads++) {
    ig_threads_set(threads);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      if (wanted(rows[i].name, argc - o.first, argv + o.first)) show(&rows[i], &o, threads, peak);
  }
  return 0;
}
