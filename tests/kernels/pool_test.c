// SPDX-License-Identifier: Apache-2.0
// Pooling, its gradients, unfold and fold against plain loops over windows, for both layouts,
// random windows, and every type that has a kernel.
#include "kernels/pool.h"

#include "kernels/elems.h"
#include "portion.h"

static int64_t volume(const int64_t s[3]) {
  return s[0] * s[1] * s[2];
}

// Input positions under output o of one dimension: true if the k-th is inside; adaptive windows
// have their own bounds.
static bool inside(const ig_pool *p, bool adaptive, int dim, int64_t o, int64_t k, int64_t *at) {
  if (adaptive) {
    int64_t lo = o * p->in[dim] / p->out[dim];
    int64_t hi = ((o + 1) * p->in[dim] + p->out[dim] - 1) / p->out[dim];
    *at = lo + k;
    return *at < hi;
  }
  *at = o * p->stride[dim] - p->padding[dim] + k * p->dilation[dim];
  return *at >= 0 && *at < p->in[dim] && k < p->kernel[dim];
}

typedef struct cell {
  int64_t count;  // cells inside
  double sum;
  double best;
  int64_t best_at;
} cell;

// Everything about the window of output o, channel c of a plane.
static cell look(const ig_pool *p, bool adaptive, const void *x, int64_t plane, int64_t o,
                 int64_t c) {
  int64_t pos[3] = {o / (p->out[1] * p->out[2]), o / p->out[2] % p->out[1], o % p->out[2]};
  int64_t reach[3];  // an adaptive window is at most one cell wider on either side than in / out
  for (int i = 0; i < 3; i++) reach[i] = adaptive ? p->in[i] / p->out[i] + 2 : p->kernel[i];
  cell r = {0, 0.0, 0.0, 0};
  int64_t at[3];
  for (int64_t kd = 0; kd < reach[0]; kd++)
    for (int64_t kh = 0; kh < reach[1]; kh++)
      for (int64_t kw = 0; kw < reach[2]; kw++) {
        if (!inside(p, adaptive, 0, pos[0], kd, &at[0]) ||
            !inside(p, adaptive, 1, pos[1], kh, &at[1]) ||
            !inside(p, adaptive, 2, pos[2], kw, &at[2]))
          continue;
        int64_t flat = (at[0] * p->in[1] + at[1]) * p->in[2] + at[2];
        double v = get(p->elem, x, (plane * volume(p->in) + flat) * p->inner + c);
        r.sum += v;
        if (r.count == 0 || v > r.best || isnan(v)) {
          r.best = v;
          r.best_at = flat;
        }
        r.count++;
      }
  return r;
}

static double divisor(const ig_pool *p, bool adaptive, int64_t o, int64_t count) {
  if (p->divisor_override) return (double)p->divisor_override;
  if (adaptive || !p->count_include_pad) return (double)count;
  int64_t pos[3] = {o / (p->out[1] * p->out[2]), o / p->out[2] % p->out[1], o % p->out[2]};
  int64_t n = 1;
  for (int i = 0; i < 3; i++) {
    int64_t start = pos[i] * p->stride[i] - p->padding[i];
    int64_t end = start + p->kernel[i];
    if (end > p->in[i] + p->padding[i]) end = p->in[i] + p->padding[i];
    n *= end - start;
  }
  return (double)n;
}

static ig_pool random_window(ig_elem e, bool max) {
  for (;;) {
    bool last = pick(0, 1);
    ig_pool p = ig_pool_make(e, pick(1, 3), last ? pick(2, 70) : 1);
    bool good = true;
    for (int i = pick(0, 2); i < 3; i++) {
      p.in[i] = pick(1, i == 2 ? 80 : 9);
      p.kernel[i] = pick(1, 4);
      p.stride[i] = pick(1, 3);
      p.padding[i] = pick(0, (int)p.kernel[i] / 2);
      p.dilation[i] = max ? pick(1, 2) : 1;
      int64_t room = p.in[i] + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1;
      good = good && room >= 0;
      if (room < 0) continue;
      p.out[i] = room / p.stride[i] + 1;
      // ceil mode: one more, if it starts inside
      if (pick(0, 1) && room % p.stride[i] && p.out[i] * p.stride[i] < p.in[i] + p.padding[i])
        p.out[i]++;
    }
    p.count_include_pad = pick(0, 1);
    p.divisor_override = pick(0, 4) ? 0 : 3;
    if (good) return p;
  }
}

static void check_max(const ig_pool *p, bool adaptive) {
  int64_t in = p->planes * volume(p->in) * p->inner;
  int64_t out = p->planes * volume(p->out) * p->inner;
  if (!test_due((double)(in + out))) return;
  void *x = tensor(p->elem, in, true);
  void *y = tensor(p->elem, out, false);
  void *y2 = tensor(p->elem, out, false);
  int64_t *index = tensor(IG_ELEM_I64, out, false);
  if (adaptive) {
    ig_pool_adaptive_max(p, x, y, index);
    ig_pool_adaptive_max(p, x, y2, NULL);
  } else {
    ig_pool_max(p, x, y, index);
    ig_pool_max(p, x, y2, NULL);
  }
  for (int64_t i = 0; i < out; i++) {
    cell r = look(p, adaptive, x, i / (volume(p->out) * p->inner), i / p->inner % volume(p->out),
                  i % p->inner);
    if (r.count == 0) continue;
    assert_true(get(p->elem, y, i) == r.best && get(p->elem, y2, i) == r.best);
    assert_int_equal(index[i], r.best_at);
  }
  if (p->elem <= IG_ELEM_BF16) {
    void *dy = tensor(p->elem, out, true);
    void *dx = tensor(p->elem, in, false);
    double *want = calloc((size_t)in + 1, sizeof *want);
    assert_non_null(want);
    ig_pool_max_backward(p, dy, index, dx);
    for (int64_t i = 0; i < out; i++) {
      int64_t plane = i / (volume(p->out) * p->inner);
      want[(plane * volume(p->in) + index[i]) * p->inner + i % p->inner] += get(p->elem, dy, i);
    }
    for (int64_t i = 0; i < in; i++) close_to("max dx", p->elem, dx, i, want[i]);
    free(dy);
    free(dx);
    free(want);
  }
  free(x);
  free(y);
  free(y2);
  free(index);
}

static void check_avg_grad(const ig_pool *p, bool adaptive) {
  int64_t in = p->planes * volume(p->in) * p->inner;
  int64_t out = p->planes * volume(p->out) * p->inner;
  if (!test_due((double)(in + out))) return;
  void *dy = tensor(p->elem, out, true);
  void *dx = tensor(p->elem, in, false);
  // Average pooling is linear: <dy, pool(x)> = <dx, x> for every x.
  void *x = tensor(p->elem, in, true);
  void *y = tensor(p->elem, out, false);
  if (adaptive) {
    ig_pool_adaptive_avg_backward(p, dy, dx);
    ig_pool_adaptive_avg(p, x, y);
  } else {
    ig_pool_avg_backward(p, dy, dx);
    ig_pool_avg(p, x, y);
  }
  double a = 0.0;
  double b = 0.0;
  double size = 1.0;
  for (int64_t i = 0; i < out; i++) {
    a += get(p->elem, dy, i) * get(p->elem, y, i);
    size += fabs(get(p->elem, dy, i) * get(p->elem, y, i));
  }
  for (int64_t i = 0; i < in; i++) b += get(p->elem, dx, i) * get(p->elem, x, i);
  assert_true(fabs(a - b) <= 4.0 * room_of(p->elem) * size);
  free(dy);
  free(dx);
  free(x);
  free(y);
}

static void check_avg(const ig_pool *p, bool adaptive) {
  int64_t in = p->planes * volume(p->in) * p->inner;
  int64_t out = p->planes * volume(p->out) * p->inner;
  if (!test_due((double)(in + out))) return;
  void *x = tensor(p->elem, in, true);
  void *y = tensor(p->elem, out, false);
  if (adaptive)
    ig_pool_adaptive_avg(p, x, y);
  else
    ig_pool_avg(p, x, y);
  for (int64_t i = 0; i < out; i++) {
    int64_t o = i / p->inner % volume(p->out);
    cell r = look(p, adaptive, x, i / (volume(p->out) * p->inner), o, i % p->inner);
    double want = r.sum / divisor(p, adaptive, o, r.count);
    if (p->elem > IG_ELEM_BF16) want = trunc(want);
    if (r.count > 0) close_to("avg", p->elem, y, i, want);
  }
  free(x);
  free(y);
  if (p->elem <= IG_ELEM_BF16) check_avg_grad(p, adaptive);
}

static void all(void) {
  static const ig_elem types[] = {IG_ELEM_F32, IG_ELEM_F32, IG_ELEM_F64, IG_ELEM_F16, IG_ELEM_BF16,
                                  IG_ELEM_U8,  IG_ELEM_I8,  IG_ELEM_I16, IG_ELEM_I32, IG_ELEM_I64};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (int i = 0; i < 25; i++) {
      ig_pool p = random_window(types[t], true);
      check_max(&p, false);
      p = random_window(types[t], false);
      check_avg(&p, false);
      for (int d = 0; d < 3; d++) p.out[d] = p.in[d] > 1 ? pick(1, (int)p.in[d] + 1) : 1;
      p.divisor_override = 0;
      check_max(&p, true);
      if (types[t] <= IG_ELEM_BF16) check_avg(&p, true);
    }
  }
}

static void test_all(void **state) {
  (void)state;
  both_threads(all);
}

static void test_nan(void **state) {
  (void)state;
  float x[9] = {1, NAN, 3, 4, 5, NAN, 7, 8, 9};
  float y[4];
  int64_t index[4];
  ig_pool p = ig_pool_make(IG_ELEM_F32, 1, 1);
  for (int i = 1; i < 3; i++) {
    p.in[i] = 3;
    p.out[i] = 2;
    p.kernel[i] = 2;
  }
  ig_pool_max(&p, x, y, index);
  assert_true(isnan(y[0]) && index[0] == 1);
  assert_true(isnan(y[1]) && index[1] == 5);  // the last NaN of the window, as PyTorch
  assert_true(y[2] == 8.0f && index[2] == 7 && isnan(y[3]) && index[3] == 5);
  ig_pool_max(&p, x, y, NULL);
  assert_true(isnan(y[0]) && isnan(y[1]) && y[2] == 8.0f && isnan(y[3]));
  // All -inf: the value and an index inside the window.
  for (int i = 0; i < 9; i++) x[i] = -INFINITY;
  ig_pool_max(&p, x, y, index);
  assert_true(y[3] == -INFINITY && index[3] == 4);
}

// cols[c][k][o] = x at the window element; fold sums the columns back.
static void check_fold(ig_elem e) {
  ig_pool p = random_window(e, true);
  p.inner = 1;
  int64_t taps = volume(p.kernel);
  int64_t outs = volume(p.out);
  int64_t in = p.planes * volume(p.in);
  void *x = tensor(e, in, true);
  void *cols = tensor(e, p.planes * taps * outs, false);
  double *back = calloc((size_t)in + 1, sizeof *back);
  assert_non_null(back);
  ig_pool_im2col(&p, ig_elem_size(e), x, cols);
  for (int64_t i = 0; i < p.planes * taps * outs; i++) {
    int64_t k = i / outs % taps;
    int64_t o = i % outs;
    int64_t ks[3] = {k / (p.kernel[1] * p.kernel[2]), k / p.kernel[2] % p.kernel[1],
                     k % p.kernel[2]};
    int64_t os[3] = {o / (p.out[1] * p.out[2]), o / p.out[2] % p.out[1], o % p.out[2]};
    int64_t at[3];
    bool in_all = true;
    for (int d = 0; d < 3; d++) in_all = inside(&p, false, d, os[d], ks[d], &at[d]) && in_all;
    int64_t flat =
        in_all ? i / (outs * taps) * volume(p.in) + (at[0] * p.in[1] + at[1]) * p.in[2] + at[2]
               : -1;
    assert_true(get(e, cols, i) == (in_all ? get(e, x, flat) : 0.0));
    if (in_all) back[flat] += get(e, cols, i);
  }
  if (e <= IG_ELEM_BF16 || e == IG_ELEM_I64) {
    ig_pool_col2im(&p, cols, x);
    for (int64_t i = 0; i < in; i++) close_to("fold", e, x, i, back[i]);
  }
  free(x);
  free(cols);
  free(back);
}

static void folds(void) {
  static const ig_elem types[] = {IG_ELEM_F32, IG_ELEM_F64, IG_ELEM_F16, IG_ELEM_BF16,
                                  IG_ELEM_I64, IG_ELEM_U8,  IG_ELEM_I32};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int i = 0; i < 20; i++) check_fold(types[t]);
}

static void test_fold(void **state) {
  (void)state;
  both_threads(folds);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_nan),
                                     cmocka_unit_test(test_fold)};
  return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
