// SPDX-License-Identifier: Apache-2.0
// Attention against its definition in double: every type, every instruction set, odd shapes and
// strides, causal, masks with broadcast strides, rows without keys, NaN; gradients against the
// formulas, and those formulas against central differences.
#include "kernels/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

static uint32_t seed = 1;
static double unit(void) {
  seed = seed * 1664525u + 1013904223u;
  return (double)(seed >> 8) / 8388608.0 - 1;
}

static double *new_doubles(int64_t n) {
  double *p = calloc((size_t)n + 1, sizeof *p);
  assert_non_null(p);
  return p;
}

static double *random_doubles(int64_t n) {
  double *p = new_doubles(n);
  for (int64_t i = 0; i < n; i++) p[i] = (double)(float)unit();
  return p;
}

// ---- the definition, on dense [batch * heads, rows, columns] ----

typedef struct problem {
  int64_t batch, heads, lq, lk, d, dv;
  bool causal;
  int64_t q_first;
  int mask;  // 0: none, 1: [lq, lk], 2: [batch, 1, 1, lk], 3: all
  double scale;
} problem;

static int64_t mask_strides(const problem *p, int64_t s[4]) {
  memset(s, 0, 4 * sizeof *s);
  if (p->mask == 0) return 0;
  s[3] = 1;
  if (p->mask == 2) {
    s[0] = p->lk;
    return p->batch * p->lk;
  }
  s[2] = p->lk;
  if (p->mask == 1) return p->lq * p->lk;
  s[1] = p->lq * p->lk;
  s[0] = p->heads * s[1];
  return p->batch * s[0];
}

// Weights of query i of head t into w[lk]; returns logsumexp, 0 when there is no key.
static double weights(const problem *p, const double *q, const double *k, const double *mask,
                      int64_t t, int64_t i, double *w) {
  int64_t s[4];
  mask_strides(p, s);
  double top = -INFINITY;
  for (int64_t j = 0; j < p->lk; j++) {
    double x = 0;
    for (int64_t c = 0; c < p->d; c++)
      x += q[(t * p->lq + i) * p->d + c] * k[(t * p->lk + j) * p->d + c];
    x *= p->scale;
    if (mask) x += mask[t / p->heads * s[0] + t % p->heads * s[1] + i * s[2] + j * s[3]];
    if (p->causal && j > p->q_first + i) x = -INFINITY;
    w[j] = x;
    if (x > top) top = x;
  }
  double sum = 0;
  for (int64_t j = 0; j < p->lk; j++) {
    w[j] = top == -INFINITY ? 0 : exp(w[j] - top);
    sum += w[j];
  }
  for (int64_t j = 0; j < p->lk; j++) w[j] = sum == 0 ? 0 : w[j] / sum;
  return sum == 0 ? 0 : top + log(sum);
}

static void define(const problem *p, const double *q, const double *k, const double *v,
                   const double *mask, double *out, double *lse) {
  double *w = new_doubles(p->lk);
  for (int64_t t = 0; t < p->batch * p->heads; t++)
    for (int64_t i = 0; i < p->lq; i++) {
      lse[t * p->lq + i] = weights(p, q, k, mask, t, i, w);
      for (int64_t c = 0; c < p->dv; c++) {
        double x = 0;
        for (int64_t j = 0; j < p->lk; j++) x += w[j] * v[(t * p->lk + j) * p->dv + c];
        out[(t * p->lq + i) * p->dv + c] = x;
      }
    }
  free(w);
}

// NOLINTNEXTLINE(readability-function-size): the operands, one by one
static void define_back(const problem *p, const double *q, const double *k, const double *v,
                        const double *mask, const double *grad, double *dq, double *dk,
                        double *dv) {
  double *w = new_doubles(p->lk);
  double *dw = new_doubles(p->lk);
  for (int64_t t = 0; t < p->batch * p->heads; t++)
    for (int64_t i = 0; i < p->lq; i++) {
      weights(p, q, k, mask, t, i, w);
      const double *g = grad + (t * p->lq + i) * p->dv;
      double mean = 0;
      for (int64_t j = 0; j < p->lk; j++) {
        dw[j] = 0;
        for (int64_t c = 0; c < p->dv; c++) {
          dw[j] += g[c] * v[(t * p->lk + j) * p->dv + c];
          dv[(t * p->lk + j) * p->dv + c] += w[j] * g[c];
        }
        mean += w[j] * dw[j];
      }
      for (int64_t j = 0; j < p->lk; j++)
        for (int64_t c = 0; c < p->d; c++) {
          double s = w[j] * (dw[j] - mean) * p->scale;
          dq[(t * p->lq + i) * p->d + c] += s * k[(t * p->lk + j) * p->d + c];
          dk[(t * p->lk + j) * p->d + c] += s * q[(t * p->lq + i) * p->d + c];
        }
    }
  free(w);
  free(dw);
}

// ---- operands in the type and layout under test ----

typedef enum type { F32, F64, F16, BF16, TYPES } type;
static const size_t sizes[TYPES] = {4, 8, 2, 2};
static const double tolerances[TYPES] = {1e-5, 1e-13, 3e-3, 2e-2};

static void set(type t, void *p, int64_t i, double x) {
  if (t == F32) ((float *)p)[i] = (float)x;
  if (t == F64) ((double *)p)[i] = x;
  if (t == F16) ((uint16_t *)p)[i] = ig_f16_put((float)x);
  if (t == BF16) ((uint16_t *)p)[i] = ig_bf16_put((float)x);
}

static double get(type t, const void *p, int64_t i) {
  return t == F32   ? (double)((const float *)p)[i]
         : t == F64 ? ((const double *)p)[i]
         : t == F16 ? (double)ig_f16_get(((const uint16_t *)p)[i])
                    : (double)ig_bf16_get(((const uint16_t *)p)[i]);
}

// [batch, heads, rows, columns] laid out densely, or as [batch, rows, heads, columns + 3].
typedef struct operand {
  type t;
  int64_t batch, heads, rows, columns;
  ig_attention_strides s;
  void *at;
} operand;

static operand operand_new(type t, const problem *p, int64_t rows, int64_t columns, bool turned) {
  operand o = {t, p->batch, p->heads, rows, columns, {0, 0, 0}, NULL};
  if (turned)
    o.s = (ig_attention_strides){rows * p->heads * (columns + 3), columns + 3,
                                 p->heads * (columns + 3)};
  else
    o.s = (ig_attention_strides){p->heads * rows * columns, rows * columns, columns};
  o.at = malloc((size_t)(p->batch * p->heads * rows * (columns + 3) + 1) * sizes[t]);
  assert_non_null(o.at);
  return o;
}

static int64_t where(const operand *o, int64_t i) {  // from dense index to place
  int64_t c = i % o->columns;
  int64_t r = i / o->columns % o->rows;
  int64_t t = i / o->columns / o->rows;
  return t / o->heads * o->s.batch + t % o->heads * o->s.head + r * o->s.row + c;
}

static int64_t count(const operand *o) {
  return o->batch * o->heads * o->rows * o->columns;
}

// Puts values in, and rounds the originals to what the type can hold.
static void operand_put(operand *o, double *x) {
  for (int64_t i = 0; i < count(o); i++) {
    set(o->t, o->at, where(o, i), x[i]);
    x[i] = get(o->t, o->at, where(o, i));
  }
}

static void operand_compare(const char *what, const operand *o, const double *want,
                            double tolerance) {
  for (int64_t i = 0; i < count(o); i++) {
    double x = get(o->t, o->at, where(o, i));
    bool same = isnan(want[i]) ? isnan(x) : fabs(x - want[i]) <= tolerance * (1 + fabs(want[i]));
    if (!same) fail_msg("%s: element %d is %g, not %g", what, (int)i, x, want[i]);
  }
}

typedef struct run {
  problem p;
  ig_attention_shape s;
  operand q, k, v, out;
  double *dq, *dk, *dv, *dout, *dlse;  // in double
  double *mask;
  void *typed_mask, *lse;
} run;

static run run_new(type t, problem p, bool turned) {
  run r = {.p = p};
  r.q = operand_new(t, &p, p.lq, p.d, turned);
  r.k = operand_new(t, &p, p.lk, p.d, !turned);
  r.v = operand_new(t, &p, p.lk, p.dv, turned);
  r.out = operand_new(t, &p, p.lq, p.dv, !turned);
  r.dq = random_doubles(count(&r.q));
  r.dk = random_doubles(count(&r.k));
  r.dv = random_doubles(count(&r.v));
  operand_put(&r.q, r.dq);
  operand_put(&r.k, r.dk);
  operand_put(&r.v, r.dv);
  r.dout = new_doubles(count(&r.out));
  r.dlse = new_doubles(p.batch * p.heads * p.lq);
  r.lse = calloc((size_t)(p.batch * p.heads * p.lq) + 1, 8);
  assert_non_null(r.lse);
  r.s = (ig_attention_shape){.batch = p.batch, .heads = p.heads, .lq = p.lq, .lk = p.lk, .d = p.d};
  r.s.dv = p.dv, r.s.scale = p.scale, r.s.causal = p.causal, r.s.q_first = p.q_first;
  r.s.q = r.q.s, r.s.k = r.k.s, r.s.v = r.v.s, r.s.out = r.out.s;
  int64_t m[4];
  int64_t n = mask_strides(&p, m);
  if (n == 0) return r;
  r.mask = random_doubles(n);
  for (int64_t i = 0; i < n; i += 3) r.mask[i] = -INFINITY;
  for (int64_t i = 0; p.mask == 1 && i < p.lk; i++) r.mask[i] = -INFINITY;  // row 0 sees nothing
  r.typed_mask = malloc((size_t)n * 8);
  assert_non_null(r.typed_mask);
  for (int64_t i = 0; i < n; i++) set(t == F64 ? F64 : F32, r.typed_mask, i, r.mask[i]);
  r.s.mask = r.typed_mask;
  r.s.mask_batch = m[0], r.s.mask_head = m[1], r.s.mask_row = m[2], r.s.mask_col = m[3];
  return r;
}

static void run_free(run *r) {
  free(r->q.at), free(r->k.at), free(r->v.at), free(r->out.at), free(r->dq), free(r->dk),
      free(r->dv);
  free(r->dout), free(r->dlse), free(r->mask), free(r->typed_mask), free(r->lse);
}

static bool forward(run *r) {
  const void *q = r->q.at;
  const void *k = r->k.at;
  const void *v = r->v.at;
  switch (r->q.t) {
    case F32:
      return ig_attention_f32(&r->s, q, k, v, r->out.at, r->lse);
    case F64:
      return ig_attention_f64(&r->s, q, k, v, r->out.at, r->lse);
    case F16:
      return ig_attention_f16(&r->s, q, k, v, r->out.at, r->lse);
    default:
      return ig_attention_bf16(&r->s, q, k, v, r->out.at, r->lse);
  }
}

static void check_forward(type t, problem p, bool turned) {
  char what[160];
  (void)snprintf(what, sizeof what,
                 "level %d threads %d type %d: %dx%d %dx%dx%dx%d causal %d mask %d",
                 (int)ig_cpu_level(), ig_threads_get(), (int)t, (int)p.batch, (int)p.heads,
                 (int)p.lq, (int)p.lk, (int)p.d, (int)p.dv, p.causal, p.mask);
  run r = run_new(t, p, turned);
  define(&r.p, r.dq, r.dk, r.dv, r.mask, r.dout, r.dlse);
  assert_true(forward(&r));
  operand_compare(what, &r.out, r.dout, tolerances[t]);
  for (int64_t i = 0; i < p.batch * p.heads * p.lq; i++) {
    double x = t == F64 ? ((double *)r.lse)[i] : (double)((float *)r.lse)[i];
    if (fabs(x - r.dlse[i]) > 1e-5)
      fail_msg("%s: logsumexp %d is %g, not %g", what, (int)i, x, r.dlse[i]);
  }
  run_free(&r);
}

static void check_backward(type t, problem p, bool turned) {
  run r = run_new(t, p, turned);
  operand g = operand_new(t, &p, p.lq, p.dv, turned);
  operand dq = operand_new(t, &p, p.lq, p.d, !turned);
  operand dk = operand_new(t, &p, p.lk, p.d, turned);
  operand dv = operand_new(t, &p, p.lk, p.dv, !turned);
  double *grad = random_doubles(count(&g));
  operand_put(&g, grad);
  double *wq = new_doubles(count(&dq));
  double *wk = new_doubles(count(&dk));
  double *wv = new_doubles(count(&dv));
  define_back(&p, r.dq, r.dk, r.dv, r.mask, grad, wq, wk, wv);
  assert_true(forward(&r));
  ig_attention_grads s = {g.s, dq.s, dk.s, dv.s};
  const void *q = r.q.at;
  const void *k = r.k.at;
  const void *v = r.v.at;
  const void *o = r.out.at;
  bool ok =
      t == F32   ? ig_attention_backward_f32(&r.s, &s, g.at, q, k, v, o, r.lse, dq.at, dk.at, dv.at)
      : t == F64 ? ig_attention_backward_f64(&r.s, &s, g.at, q, k, v, o, r.lse, dq.at, dk.at, dv.at)
      : t == F16
          ? ig_attention_backward_f16(&r.s, &s, g.at, q, k, v, o, r.lse, dq.at, dk.at, dv.at)
          : ig_attention_backward_bf16(&r.s, &s, g.at, q, k, v, o, r.lse, dq.at, dk.at, dv.at);
  assert_true(ok);
  operand_compare("dq", &dq, wq, 4 * tolerances[t]);
  operand_compare("dk", &dk, wk, 4 * tolerances[t]);
  operand_compare("dv", &dv, wv, 4 * tolerances[t]);
  free(g.at), free(dq.at), free(dk.at), free(dv.at), free(grad), free(wq), free(wk), free(wv);
  run_free(&r);
}

// ---- tests ----

static void at_every_level(void (*test)(void)) {
  ig_cpu top = ig_cpu_limit(IG_CPU_AVX512);
  for (int level = 0; level <= (int)top; level++)
    for (int threads = 1; threads <= 2; threads++) {
      ig_cpu_limit((ig_cpu)level);
      ig_threads_set(threads);
      seed = 3;
      test();
    }
  ig_cpu_limit(top);
  ig_threads_set(0);
}

static const problem problems[] = {
    {1, 1, 1, 1, 1, 1, false, 0, 0, 1.0},      {2, 3, 17, 33, 8, 8, false, 0, 0, 0.35},
    {1, 2, 70, 70, 16, 20, true, 0, 0, 0.25},  {2, 2, 40, 29, 5, 7, true, 0, 1, 0.4},
    {1, 1, 33, 900, 12, 12, false, 0, 1, 0.3}, {2, 2, 9, 500, 16, 16, false, 0, 2, 0.25},
    {2, 2, 20, 50, 9, 9, false, 0, 3, 1.5},    {1, 1, 100, 450, 8, 8, true, 350, 0, 0.3},
    {1, 1, 5, 3, 4, 4, true, 0, 0, 0.5},       {1, 1, 450, 430, 4, 4, true, 0, 0, 0.5},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void all_forward(void) {
  for (int t = 0; t < TYPES; t++)
    for (int i = 0; i < PROBLEMS; i++) check_forward((type)t, problems[i], i % 2);
}

static void test_forward(void **state) {
  (void)state;
  at_every_level(all_forward);
}

static void all_backward(void) {
  for (int t = 0; t < TYPES; t++)
    for (int i = 0; i < PROBLEMS; i++)
      if (problems[i].lq * problems[i].lk < 40000) check_backward((type)t, problems[i], i % 2);
}

static void test_backward(void **state) {
  (void)state;
  at_every_level(all_backward);
}

// The gradient formulas above against differences of the definition above.
static void test_formulas(void **state) {
  (void)state;
  problem p = {1, 2, 4, 5, 3, 2, true, 1, 1, 0.7};
  run r = run_new(F64, p, false);
  double *grad = random_doubles(count(&r.out));
  double *d[3] = {new_doubles(count(&r.q)), new_doubles(count(&r.k)), new_doubles(count(&r.v))};
  double *x[3] = {r.dq, r.dk, r.dv};
  int64_t n[3] = {count(&r.q), count(&r.k), count(&r.v)};
  define_back(&p, r.dq, r.dk, r.dv, r.mask, grad, d[0], d[1], d[2]);
  for (int w = 0; w < 3; w++)
    for (int64_t i = 0; i < n[w]; i++) {
      double sides[2];
      double was = x[w][i];
      for (int side = 0; side < 2; side++) {
        x[w][i] = was + (side ? -1e-5 : 1e-5);
        define(&p, r.dq, r.dk, r.dv, r.mask, r.dout, r.dlse);
        sides[side] = 0;
        for (int64_t c = 0; c < count(&r.out); c++) sides[side] += grad[c] * r.dout[c];
      }
      x[w][i] = was;
      assert_true(fabs((sides[0] - sides[1]) / 2e-5 - d[w][i]) < 1e-7);
    }
  free(grad), free(d[0]), free(d[1]), free(d[2]);
  run_free(&r);
}

static void test_empty(void **state) {
  (void)state;
  static const problem empty[] = {
      {0, 2, 3, 3, 4, 4, false, 0, 0, 1}, {2, 0, 3, 3, 4, 4, false, 0, 0, 1},
      {2, 2, 0, 3, 4, 4, false, 0, 0, 1}, {2, 2, 3, 0, 4, 4, false, 0, 0, 1},
      {1, 1, 3, 3, 4, 0, false, 0, 0, 1}, {1, 1, 3, 3, 0, 4, true, 0, 0, 1}};
  for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
    for (int t = 0; t < TYPES; t++) {
      check_forward((type)t, empty[i], false);
      check_backward((type)t, empty[i], true);
    }
}

// A NaN in one query or value spoils what depends on it and nothing else.
static void test_nan(void **state) {
  (void)state;
  problem p = {1, 1, 40, 50, 8, 8, false, 0, 0, 0.3};
  run r = run_new(F32, p, false);
  ((float *)r.q.at)[7 * 8 + 2] = NAN;
  ((float *)r.v.at)[49 * 8 + 5] = NAN;
  assert_true(forward(&r));
  for (int i = 0; i < 40; i++)
    for (int c = 0; c < 8; c++) {
      bool bad = i == 7 || c == 5;
      assert_int_equal(isnan(get(F32, r.out.at, where(&r.out, i * 8 + c))) != 0, bad);
    }
  run_free(&r);
}

// Heads that share keys and values by a stride of zero.
static void test_shared_heads(void **state) {
  (void)state;
  problem p = {2, 3, 20, 30, 8, 8, true, 10, 0, 0.3};
  run r = run_new(F32, p, false);
  for (int64_t t = 0; t < 6; t++) {  // The definition gets copies.
    memcpy(r.dk + t * 240, r.dk + t / 3 * 720, 240 * sizeof(double));
    memcpy(r.dv + t * 240, r.dv + t / 3 * 720, 240 * sizeof(double));
  }
  r.s.k.head = r.s.v.head = 0;
  define(&p, r.dq, r.dk, r.dv, NULL, r.dout, r.dlse);
  assert_true(ig_attention_f32(&r.s, r.q.at, r.k.at, r.v.at, r.out.at, NULL));
  operand_compare("shared heads", &r.out, r.dout, 1e-5);
  run_free(&r);
}

// Without scratch memory the call says so.
static void test_without_scratch(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; t++) {
    run r = run_new((type)t, problems[1], false);
    ig_scratch_limit(0);
    assert_false(forward(&r));
    ig_scratch_limit(SIZE_MAX);
    assert_true(forward(&r));
    run_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formulas),
      cmocka_unit_test(test_forward),
      cmocka_unit_test(test_backward),
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_shared_heads),
      cmocka_unit_test(test_without_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
