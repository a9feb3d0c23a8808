// SPDX-License-Identifier: Apache-2.0
// Layer, batch and group normalization and their gradients against the formulas in double, for
// every float type, layout and parameter type.
#include "kernels/norm.h"

#include "kernels/elems.h"

static double room(ig_elem e) {
  return e == IG_ELEM_F64 ? 1e-9 : e == IG_ELEM_F32 ? 1e-4 : e == IG_ELEM_F16 ? 4e-3 : 3e-2;
}

static void near(const char *what, ig_elem e, const void *p, int64_t i, double want) {
  double found = get(e, p, i);
  if (!(fabs(found - want) <= room(e) * (1.0 + fabs(want))))
    fail_msg("%s[%d] is %.9g, want %.9g (type %d, threads %d)", what, (int)i, found, want, (int)e,
             ig_threads_get());
}

// A normalization set: elements of x that share statistics are those with equal set(i); parameters
// go by channel(i).
typedef struct layout {
  ig_elem elem;
  ig_elem param;
  int64_t total;
  int64_t sets;
  int64_t channels;
  const int64_t *set_of;
  const int64_t *channel_of;
} layout;

typedef struct expected {
  double *mean;
  double *rstd;
  double *y;
  double *dx;
  double *dgamma;
  double *dbeta;
} expected;

static double param(const layout *l, const void *p, int64_t c, double absent) {
  return p ? get(l->param, p, c) : absent;
}

static double *zeros(int64_t n) {
  double *p = calloc((size_t)n + 1, sizeof *p);
  assert_non_null(p);
  return p;
}

static expected work_out(const layout *l, const void *x, const void *dy, const void *gamma,
                         const void *beta, double eps) {
  expected r = {zeros(l->sets),  zeros(l->sets),     zeros(l->total),
                zeros(l->total), zeros(l->channels), zeros(l->channels)};
  double *count = zeros(l->sets);
  double *s1 = zeros(l->sets);
  double *s2 = zeros(l->sets);
  for (int64_t i = 0; i < l->total; i++) {
    count[l->set_of[i]] += 1.0;
    r.mean[l->set_of[i]] += get(l->elem, x, i);
  }
  for (int64_t s = 0; s < l->sets; s++) r.mean[s] /= count[s];
  for (int64_t i = 0; i < l->total; i++) {
    double d = get(l->elem, x, i) - r.mean[l->set_of[i]];
    r.rstd[l->set_of[i]] += d * d;
  }
  for (int64_t s = 0; s < l->sets; s++) r.rstd[s] = 1.0 / sqrt(r.rstd[s] / count[s] + eps);
  for (int64_t i = 0; i < l->total; i++) {
    int64_t s = l->set_of[i];
    int64_t c = l->channel_of[i];
    double hat = (get(l->elem, x, i) - r.mean[s]) * r.rstd[s];
    double d = get(l->elem, dy, i);
    double g = param(l, gamma, c, 1.0);
    r.y[i] = hat * g + param(l, beta, c, 0.0);
    r.dgamma[c] += d * hat;
    r.dbeta[c] += d;
    s1[s] += d * g;
    s2[s] += d * g * hat;
  }
  for (int64_t i = 0; i < l->total; i++) {
    int64_t s = l->set_of[i];
    double hat = (get(l->elem, x, i) - r.mean[s]) * r.rstd[s];
    double d = get(l->elem, dy, i) * param(l, gamma, l->channel_of[i], 1.0);
    r.dx[i] = r.rstd[s] * (d - s1[s] / count[s] - hat * s2[s] / count[s]);
  }
  free(count);
  free(s1);
  free(s2);
  return r;
}

static void expected_free(expected *r) {
  free(r->mean);
  free(r->rstd);
  free(r->y);
  free(r->dx);
  free(r->dgamma);
  free(r->dbeta);
}

typedef struct operands {
  void *x;
  void *dy;
  void *gamma;
  void *beta;
  void *y;
  void *dx;
  void *dgamma;
  void *dbeta;
  void *mean;
  void *rstd;
} operands;

static operands make(const layout *l, bool params) {
  operands o = {tensor(l->elem, l->total, true),
                tensor(l->elem, l->total, true),
                params ? tensor(l->param, l->channels, true) : NULL,
                params ? tensor(l->param, l->channels, true) : NULL,
                tensor(l->elem, l->total, false),
                tensor(l->elem, l->total, false),
                tensor(l->param, l->channels, false),
                tensor(l->param, l->channels, false),
                tensor(l->param, l->sets, false),
                tensor(l->param, l->sets, false)};
  return o;
}

static void operands_free(operands *o) {
  free(o->x);
  free(o->dy);
  free(o->gamma);
  free(o->beta);
  free(o->y);
  free(o->dx);
  free(o->dgamma);
  free(o->dbeta);
  free(o->mean);
  free(o->rstd);
}

static void compare_forward(const layout *l, const operands *o, const expected *r) {
  for (int64_t i = 0; i < l->sets; i++) {
    near("mean", l->param, o->mean, i, r->mean[i]);
    near("rstd", l->param, o->rstd, i, r->rstd[i]);
  }
  for (int64_t i = 0; i < l->total; i++) near("y", l->elem, o->y, i, r->y[i]);
}

static void compare_backward(const layout *l, const operands *o, const expected *r) {
  for (int64_t i = 0; i < l->total; i++) near("dx", l->elem, o->dx, i, r->dx[i]);
  for (int64_t i = 0; i < l->channels; i++) {
    near("dgamma", l->param, o->dgamma, i, r->dgamma[i]);
    near("dbeta", l->param, o->dbeta, i, r->dbeta[i]);
  }
}

static int64_t *ints(int64_t n) {
  int64_t *p = malloc((size_t)n * sizeof *p + 1);
  assert_non_null(p);
  return p;
}

static void check_layer(ig_elem e, ig_elem pe, int64_t rows, int64_t n, bool params) {
  int64_t *set_of = ints(rows * n);
  int64_t *channel_of = ints(rows * n);
  for (int64_t i = 0; i < rows * n; i++) {
    set_of[i] = i / n;
    channel_of[i] = i % n;
  }
  layout l = {e, pe, rows * n, rows, n, set_of, channel_of};
  operands o = make(&l, params);
  ig_norm_layer s = {e, pe, rows, n};
  expected r = work_out(&l, o.x, o.dy, o.gamma, o.beta, 0.01);
  ig_norm_layer_forward(&s, o.x, o.gamma, o.beta, 0.01, o.y, o.mean, o.rstd);
  compare_forward(&l, &o, &r);
  ig_norm_layer_backward(&s, o.dy, o.x, o.mean, o.rstd, o.gamma,
                         (ig_norm_layer_grads){o.dx, o.dgamma, o.dbeta});
  compare_backward(&l, &o, &r);
  ig_norm_rms_forward(&s, o.x, o.gamma, 0.01, o.y, NULL);
  for (int64_t i = 0; i < rows; i++) {
    double q = 0.0;
    for (int64_t k = 0; k < n; k++) q += get(e, o.x, i * n + k) * get(e, o.x, i * n + k);
    for (int64_t k = 0; k < n; k++)
      near("rms", e, o.y, i * n + k,
           get(e, o.x, i * n + k) / sqrt(q / (double)n + 0.01) * param(&l, o.gamma, k, 1.0));
  }
  expected_free(&r);
  operands_free(&o);
  free(set_of);
  free(channel_of);
}

static void check_batch(ig_elem e, ig_elem pe, bool last, int64_t n, int64_t c, int64_t sp,
                        bool params) {
  int64_t total = n * c * sp;
  int64_t *set_of = ints(total);
  for (int64_t i = 0; i < total; i++) set_of[i] = last ? i % c : i / sp % c;
  layout l = {e, pe, total, c, c, set_of, set_of};
  operands o = make(&l, params);
  ig_norm_batch s = {e, pe, last, n, c, sp, o.gamma, o.beta};
  expected r = work_out(&l, o.x, o.dy, o.gamma, o.beta, 0.01);
  void *run_mean = tensor(pe, c, true);
  void *run_var = tensor(pe, c, true);
  double *old_mean = zeros(c);
  double *old_var = zeros(c);
  for (int64_t i = 0; i < c; i++) {
    old_mean[i] = get(pe, run_mean, i);
    old_var[i] = get(pe, run_var, i);
  }
  ig_norm_batch_train(&s, o.x, 0.25, 0.01, run_mean, run_var, o.y, o.mean, o.rstd);
  compare_forward(&l, &o, &r);
  double count = (double)(n * sp);
  for (int64_t i = 0; i < c; i++) {
    double var = 1.0 / (r.rstd[i] * r.rstd[i]) - 0.01;
    near("running mean", pe, run_mean, i, 0.75 * old_mean[i] + 0.25 * r.mean[i]);
    near("running var", pe, run_var, i, 0.75 * old_var[i] + 0.25 * var * count / (count - 1.0));
  }
  ig_norm_batch_backward(&s, true, o.dy, o.x, o.mean, o.rstd,
                         (ig_norm_batch_grads){o.dx, o.dgamma, o.dbeta});
  compare_backward(&l, &o, &r);
  // Constant statistics: forward is affine, backward scales.
  void *mean = tensor(pe, c, true);
  void *var = tensor(pe, c, true);
  for (int64_t i = 0; i < c; i++) set(pe, var, i, 0.5 + fabs(get(pe, var, i)));
  ig_norm_batch_infer(&s, o.x, mean, var, 0.01, o.y);
  for (int64_t i = 0; i < total; i++) {
    int64_t k = set_of[i];
    double a = param(&l, o.gamma, k, 1.0) / sqrt(get(pe, var, k) + 0.01);
    near("infer", e, o.y, i, (get(e, o.x, i) - get(pe, mean, k)) * a + param(&l, o.beta, k, 0.0));
  }
  ig_norm_batch_backward(&s, false, o.dy, o.x, o.mean, o.rstd,
                         (ig_norm_batch_grads){o.dx, NULL, NULL});
  for (int64_t i = 0; i < total; i++)
    near("infer dx", e, o.dx, i,
         get(e, o.dy, i) * param(&l, o.gamma, set_of[i], 1.0) * get(pe, o.rstd, set_of[i]));
  ig_norm_batch_stats(&s, o.x, mean, var);
  for (int64_t i = 0; i < c; i++) {
    near("stats mean", pe, mean, i, r.mean[i]);
    near("stats var", pe, var, i, 1.0 / (r.rstd[i] * r.rstd[i]) - 0.01);
  }
  free(mean);
  free(var);
  free(run_mean);
  free(run_var);
  free(old_mean);
  free(old_var);
  expected_free(&r);
  operands_free(&o);
  free(set_of);
}

static void check_group(ig_elem e, ig_elem pe, int64_t n, int64_t c, int64_t sp, int64_t groups,
                        bool params) {
  int64_t total = n * c * sp;
  int64_t *set_of = ints(total);
  int64_t *channel_of = ints(total);
  for (int64_t i = 0; i < total; i++) {
    channel_of[i] = i / sp % c;
    set_of[i] = i / (sp * c) * groups + channel_of[i] / (c / groups);
  }
  layout l = {e, pe, total, n * groups, c, set_of, channel_of};
  operands o = make(&l, params);
  ig_norm_group s = {e, pe, n, c, sp, groups};
  expected r = work_out(&l, o.x, o.dy, o.gamma, o.beta, 0.01);
  ig_norm_group_forward(&s, o.x, o.gamma, o.beta, 0.01, o.y, o.mean, o.rstd);
  compare_forward(&l, &o, &r);
  ig_norm_group_backward(&s, o.dy, o.x, o.mean, o.rstd, o.gamma,
                         (ig_norm_batch_grads){o.dx, o.dgamma, o.dbeta});
  compare_backward(&l, &o, &r);
  expected_free(&r);
  operands_free(&o);
  free(set_of);
  free(channel_of);
}

static void all(void) {
  static const ig_elem types[][2] = {
      {IG_ELEM_F32, IG_ELEM_F32}, {IG_ELEM_F64, IG_ELEM_F64},   {IG_ELEM_F16, IG_ELEM_F16},
      {IG_ELEM_F16, IG_ELEM_F32}, {IG_ELEM_BF16, IG_ELEM_BF16}, {IG_ELEM_BF16, IG_ELEM_F32},
  };
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    ig_elem e = types[t][0];
    ig_elem pe = types[t][1];
    for (int params = 0; params < 2; params++) {
      check_layer(e, pe, 3, 7, params);
      check_layer(e, pe, 40, 65, params);
      check_layer(e, pe, 2, 600, params);
      for (int last = 0; last < 2; last++) {
        check_batch(e, pe, last, 2, 3, 5, params);
        check_batch(e, pe, last, 3, 70, 33, params);
        check_batch(e, pe, last, 9, 5, 1, params);
      }
      check_group(e, pe, 2, 6, 5, 3, params);
      check_group(e, pe, 3, 8, 70, 2, params);
      check_group(e, pe, 1, 4, 1, 1, params);
    }
  }
}

static void test_all(void **state) {
  (void)state;
  both_threads(all);
}

// The mean of squares minus the square of the mean would lose everything here.
static void test_offset(void **state) {
  (void)state;
  float x[64];
  float y[64];
  for (int i = 0; i < 64; i++) x[i] = 10000.0f + (float)(i % 2);
  ig_norm_layer s = {IG_ELEM_F32, IG_ELEM_F32, 1, 64};
  ig_norm_layer_forward(&s, x, NULL, NULL, 0.0, y, NULL, NULL);
  assert_true(fabsf(y[0] + 1.0f) < 1e-5f && fabsf(y[1] - 1.0f) < 1e-5f);
}

static void test_empty(void **state) {
  (void)state;
  ig_norm_layer s = {IG_ELEM_F32, IG_ELEM_F32, 0, 4};
  float dgamma[4] = {9, 9, 9, 9};
  ig_norm_layer_forward(&s, NULL, NULL, NULL, 1e-5, NULL, NULL, NULL);
  ig_norm_layer_backward(&s, NULL, NULL, NULL, NULL, NULL,
                         (ig_norm_layer_grads){NULL, dgamma, NULL});
  assert_true(dgamma[0] == 0.0f && dgamma[3] == 0.0f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_offset),
                                     cmocka_unit_test(test_empty)};
  return cmocka_run_group_tests_name("norm", tests, NULL, NULL);
}
