// SPDX-License-Identifier: Apache-2.0
// Every path of the convolution against the plain loops: odd sizes, groups, strides, dilations,
// paddings, layouts, types, cpu levels and thread counts. Inputs are small integers over 8, so that
// most sums are exact and errors are errors.
#include "kernels/conv.h"

#include "kernels/elems.h"
#include "portion.h"

static void describe(const ig_conv *c, char *buf, size_t size) {
  (void)snprintf(
      buf, size,
      "elem %d last %d transposed %d n %d cin %d cout %d groups %d in %d,%d,%d out %d,%d,%d k "
      "%d,%d,%d s %d,%d,%d p "
      "%d,%d,%d d %d,%d,%d level %d threads %d",
      (int)c->elem, c->channels_last, c->transposed, (int)c->n, (int)c->cin, (int)c->cout,
      (int)c->groups, (int)c->in[0], (int)c->in[1], (int)c->in[2], (int)c->out[0], (int)c->out[1],
      (int)c->out[2], (int)c->kernel[0], (int)c->kernel[1], (int)c->kernel[2], (int)c->stride[0],
      (int)c->stride[1], (int)c->stride[2], (int)c->padding[0], (int)c->padding[1],
      (int)c->padding[2], (int)c->dilation[0], (int)c->dilation[1], (int)c->dilation[2],
      (int)ig_cpu_level(), ig_threads_get());
}

static void compare(const ig_conv *c, const char *what, const void *found, const void *want,
                    int64_t n) {
  // One rounding of the half types; sums of thousands of products otherwise.
  double room = c->elem == IG_ELEM_BF16 ? 1.0 / 128 : c->elem == IG_ELEM_F16 ? 1.0 / 1024 : 1e-5;
  for (int64_t i = 0; i < n; i++) {
    double a = get(c->elem, found, i);
    double b = get(c->elem, want, i);
    if (!(fabs(a - b) <= room * (1.0 + fabs(b)))) {
      char buf[400];
      describe(c, buf, sizeof buf);
      fail_msg("%s[%d] is %g, want %g: %s", what, (int)i, a, b, buf);
    }
  }
}

static double work_of(const ig_conv *c) {
  double out = (double)(c->out[0] * c->out[1] * c->out[2]) * (double)(c->n * c->cout);
  double taps = (double)(c->kernel[0] * c->kernel[1] * c->kernel[2]);
  return out * taps * (double)c->cin / (double)c->groups;
}

static void check(const ig_conv *c) {
  if (!test_due(4 * work_of(c))) return;
  int64_t in = c->in[0] * c->in[1] * c->in[2] * c->n * c->cin;
  int64_t out = c->out[0] * c->out[1] * c->out[2] * c->n * c->cout;
  int64_t weights = c->cin * c->cout / c->groups * c->kernel[0] * c->kernel[1] * c->kernel[2];
  void *x = tensor(c->elem, in, true);
  void *w = tensor(c->elem, weights, true);
  void *bias = pick(0, 1) ? tensor(c->elem, c->cout, true) : NULL;
  void *y = tensor(c->elem, out, false);
  void *y_ref = tensor(c->elem, out, false);
  ig_conv_forward(c, x, w, bias, y);
  ig_conv_forward_ref(c, x, w, bias, y_ref);
  compare(c, "y", y, y_ref, out);
  ig_conv_pack *pack = ig_conv_pack_create(c, w);
  if (pack) {
    for (int64_t i = 0; i < out; i++) set(c->elem, y, i, -15.0);
    ig_conv_forward_packed(c, pack, x, bias, y);
    compare(c, "packed y", y, y_ref, out);
    ig_conv_pack_free(pack);
  }
  void *dy = tensor(c->elem, out, true);
  void *dx = tensor(c->elem, in, false);
  void *dx_ref = tensor(c->elem, in, false);
  ig_conv_grad_input(c, dy, w, dx);
  ig_conv_grad_input_ref(c, dy, w, dx_ref);
  compare(c, "dx", dx, dx_ref, in);
  void *dw = tensor(c->elem, weights, false);
  void *dw_ref = tensor(c->elem, weights, false);
  ig_conv_grad_weight(c, dy, x, dw);
  ig_conv_grad_weight_ref(c, dy, x, dw_ref);
  compare(c, "dw", dw, dw_ref, weights);
  free(x);
  free(w);
  free(bias);
  free(y);
  free(y_ref);
  free(dy);
  free(dx);
  free(dx_ref);
  free(dw);
  free(dw_ref);
}

// f: n cin cout h w kernel stride padding groups
static ig_conv planes(const int f[9]) {
  ig_conv c = ig_conv_make(IG_ELEM_F32, f[0], f[1], f[2]);
  c.in[1] = f[3];
  c.in[2] = f[4];
  c.groups = f[8];
  for (int i = 1; i < 3; i++) {
    c.kernel[i] = f[5];
    c.stride[i] = f[6];
    c.padding[i] = f[7];
  }
  ig_conv_set_out(&c, NULL);
  return c;
}

// What is chosen by shape: in place and packed panels, tails, stems, depthwise, deep and shallow.
static void check_known(void) {
  static const int known[][9] = {
      // n cin cout h w k s p groups
      {1, 16, 16, 20, 56, 3, 1, 1, 1},
      {1, 40, 70, 14, 14, 3, 1, 1, 1},
      {2, 33, 17, 7, 7, 3, 1, 1, 1},
      {1, 64, 24, 9, 31, 1, 1, 0, 1},
      {2, 65, 30, 14, 14, 1, 1, 0, 1},
      {1, 300, 9, 7, 7, 1, 1, 0, 1},
      {1, 3, 20, 37, 41, 7, 2, 3, 1},
      {1, 24, 24, 15, 57, 3, 1, 1, 24},
      {2, 10, 10, 14, 14, 3, 2, 1, 10},
      {1, 6, 12, 11, 70, 5, 1, 2, 6},
      {1, 8, 8, 17, 17, 3, 1, 0, 1},
      {1, 5, 11, 5, 100, 3, 1, 0, 1},
      {1, 32, 64, 16, 16, 1, 2, 0, 1},
      {1, 12, 20, 13, 13, 3, 2, 1, 4},
      {3, 4, 6, 1, 1, 1, 1, 0, 1},
      {1, 7, 5, 3, 3, 5, 1, 2, 1},
      {1, 2, 2, 2, 2, 2, 2, 0, 1},
      {1, 1, 1, 33, 33, 3, 3, 1, 1},
      {0, 4, 4, 8, 8, 3, 1, 1, 1},
      {1, 210, 8, 6, 50, 3, 1, 1, 1},
      {1, 3, 40, 32, 32, 16, 16, 0, 1},
      {1, 9, 9, 21, 21, 4, 3, 2, 3},
      // Panels and output channels divided among the threads.
      {1, 20, 130, 14, 14, 3, 1, 1, 1},
      {1, 20, 70, 13, 15, 3, 2, 1, 1},
      {1, 6, 300, 10, 10, 3, 1, 0, 1},
      {1, 4, 37, 19, 23, 5, 1, 2, 1},
      // Over blocks of channels: Winograd, strided windows, long stems, narrow depthwise planes.
      {1, 33, 31, 29, 34, 3, 1, 1, 1},
      {2, 16, 40, 20, 20, 3, 1, 0, 1},
      {1, 40, 48, 41, 39, 3, 2, 1, 1},
      {2, 3, 30, 60, 61, 7, 2, 3, 1},
      {2, 19, 19, 14, 13, 3, 1, 1, 19},
      {1, 24, 24, 15, 14, 5, 2, 2, 24},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    ig_conv c = planes(known[i]);
    check(&c);
  }
}

// Depthwise planes of every width about the vectors' and of every number of rows modulo the rows
// taken at a time, with and without border, stride and more than one output per input.
static void check_depthwise(void) {
  for (int width = 1; width <= 70; width += width < 36 ? 1 : 3) {
    int kernel = width % 3 * 2 + 1;
    int stride = pick(1, 3);
    int outputs = pick(1, 2) * 3;
    int padding = pick(0, kernel / 2);
    int height = kernel + pick(0, 9);
    int wide = width > kernel ? width : kernel;
    ig_conv c = planes((const int[9]){2, 3, outputs, height, wide, kernel, stride, padding, 3});
    check(&c);
    ig_conv same =
        planes((const int[9]){1, 3, outputs, 1 + width % 9, width, kernel, 1, kernel / 2, 3});
    check(&same);
  }
}

static void check_random(ig_elem e, int count) {
  for (int i = 0; i < count; i++) {
    int groups = pick(0, 3) ? 1 : pick(1, 4);
    int64_t cin = (int64_t)groups * pick(1, 9);
    ig_conv c = ig_conv_make(e, pick(1, 2), cin, (int64_t)groups * pick(1, 11));
    c.groups = groups;
    c.channels_last = pick(0, 2) == 0;
    c.transposed = pick(0, 2) == 0;
    int64_t extra[3] = {0, 0, 0};
    for (int d = pick(0, 2); d < 3; d++) {
      c.in[d] = pick(1, d == 0 ? 4 : 22);
      c.kernel[d] = pick(1, 4);
      c.stride[d] = pick(1, 3);
      c.padding[d] = pick(0, 3);
      c.dilation[d] = pick(1, 3);
      if (c.transposed && c.stride[d] > 1) extra[d] = pick(0, (int)c.stride[d] - 1);
    }
    ig_conv_set_out(&c, extra);
    if (c.out[0] < 1 || c.out[1] < 1 || c.out[2] < 1) continue;
    check(&c);
  }
}

static void random_f32(void) {
  check_random(IG_ELEM_F32, 150);
}

static void test_known(void **state) {
  (void)state;
  everywhere(check_known);
}
static void test_depthwise(void **state) {
  (void)state;
  everywhere(check_depthwise);
}
static void test_random(void **state) {
  (void)state;
  everywhere(random_f32);
}
static void test_types(void **state) {
  (void)state;
  static const ig_elem types[] = {IG_ELEM_F64, IG_ELEM_F16, IG_ELEM_BF16, IG_ELEM_I64, IG_ELEM_I32};
  ig_threads_set(2);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) check_random(types[i], 60);
}

// The loops themselves, against numbers worked out by hand.
static void test_oracle(void **state) {
  (void)state;
  float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  float w[4] = {1, 10, 100, 1000};
  float bias[1] = {0.5f};
  float y[4];
  ig_conv c = planes((const int[9]){1, 1, 1, 3, 3, 2, 1, 0, 1});
  ig_conv_forward_ref(&c, x, w, bias, y);
  float want[4] = {5421.5f, 6532.5f, 8754.5f, 9865.5f};
  for (int i = 0; i < 4; i++) assert_true(y[i] == want[i]);
  float dy[4] = {1, 0, 0, 2};
  float dx[9];
  ig_conv_grad_input_ref(&c, dy, w, dx);
  float want_dx[9] = {1, 10, 0, 100, 1002, 20, 0, 200, 2000};
  for (int i = 0; i < 9; i++) assert_true(dx[i] == want_dx[i]);
  float dw[4];
  ig_conv_grad_weight_ref(&c, dy, x, dw);
  float want_dw[4] = {11, 14, 20, 23};
  for (int i = 0; i < 4; i++) assert_true(dw[i] == want_dw[i]);
}

static void test_bias(void **state) {
  (void)state;
  float dy[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  float db[3];
  ig_conv c = planes((const int[9]){2, 1, 3, 1, 2, 1, 1, 0, 1});
  ig_conv_grad_bias(&c, dy, db);
  assert_true(db[0] == 1 + 2 + 7 + 8 && db[1] == 3 + 4 + 9 + 10 && db[2] == 5 + 6 + 11 + 12);
  c.channels_last = true;
  ig_conv_grad_bias(&c, dy, db);
  assert_true(db[0] == 1 + 4 + 7 + 10 && db[1] == 2 + 5 + 8 + 11 && db[2] == 3 + 6 + 9 + 12);
}

// NaN and infinity in the padding's neighbourhood must not leak into other pixels.
static void test_nan(void **state) {
  (void)state;
  ig_conv c = planes((const int[9]){1, 1, 1, 8, 20, 3, 1, 1, 1});
  float x[160] = {0};
  float w[9];
  float y[160];
  for (int i = 0; i < 9; i++) w[i] = 1.0f;
  x[19] = NAN;
  ig_conv_forward(&c, x, w, NULL, y);
  for (int i = 0; i < 160; i++) {
    bool near = i / 20 <= 1 && i % 20 >= 18;
    assert_true(near ? isnan(y[i]) : y[i] == 0.0f);
  }
}

// The same in a layer that Winograd does faster: infinities stay infinite, and a NaN stays near.
static void test_nan_winograd(void **state) {
  (void)state;
  ig_conv c = planes((const int[9]){1, 32, 16, 40, 40, 3, 1, 1, 1});
  float *x = tensor(IG_ELEM_F32, 32L * 1600, true);
  float *w = tensor(IG_ELEM_F32, 16L * 32 * 9, true);
  float *y = tensor(IG_ELEM_F32, 16L * 1600, false);
  float *want = tensor(IG_ELEM_F32, 16L * 1600, false);
  static const float values[] = {NAN, INFINITY, 3e38f};
  for (int i = 0; i < 3; i++) {
    x[805 + i] = values[i];
    ig_conv_forward(&c, x, w, NULL, y);
    ig_conv_forward_ref(&c, x, w, NULL, want);
    for (int k = 0; k < 16 * 1600; k++) {
      bool same = isnan(want[k])   ? isnan(y[k])
                  : isinf(want[k]) ? y[k] == want[k]
                                   : fabsf(y[k] - want[k]) <= 1e-5f * (1.0f + fabsf(want[k]));
      if (!same) fail_msg("y[%d] is %g, want %g", k, (double)y[k], (double)want[k]);
    }
  }
  free(x);
  free(w);
  free(y);
  free(want);
}

// The way that is chosen by shape needs what was stated, also where it turns out to be barred.
static void check_need(void) {
  static const int shapes[][9] = {
      {1, 33, 31, 29, 34, 3, 1, 1, 1}, {1, 40, 48, 41, 39, 3, 2, 1, 1},
      {2, 3, 30, 60, 61, 7, 2, 3, 1},  {2, 19, 19, 14, 13, 3, 1, 1, 19},
      {1, 32, 16, 20, 20, 2, 2, 0, 1},  // transposed below
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    ig_conv c = planes(shapes[i]);
    c.transposed = shapes[i][5] == 2;
    ig_conv_set_out(&c, NULL);
    int64_t out = c.n * c.cout * c.out[1] * c.out[2];
    float *x = tensor(IG_ELEM_F32, c.n * c.cin * c.in[1] * c.in[2], true);
    float *w = tensor(IG_ELEM_F32, c.cin * c.cout / c.groups * c.kernel[1] * c.kernel[2], true);
    float *y = tensor(IG_ELEM_F32, out, false);
    float *want = tensor(IG_ELEM_F32, out, false);
    ig_need need = ig_need_make(true);
    size_t room;
    assert_false(ig_conv_need(&c, false, &need, &room));
    void *memory = aligned_alloc(64, (ig_need_bytes(&need) + 127) / 64 * 64);
    assert_non_null(memory);
    size_t misses = ig_workspace_misses();
    for (int wild = 0; wild < 2; wild++) {
      if (wild) x[0] = INFINITY;
      ig_workspace ws;
      ig_workspace_enter(&ws, &need, memory);
      ig_conv_forward_in(&c, x, w, NULL, y, NULL);
      ig_workspace_leave(&ws);
      ig_conv_forward_ref(&c, x, w, NULL, want);
      for (int64_t k = 0; k < out; k++) close_to("y", IG_ELEM_F32, y, k, (double)want[k]);
    }
    assert_int_equal(ig_workspace_misses(), misses);
    free(memory);
    free(x);
    free(w);
    free(y);
    free(want);
  }
}
static void test_need(void **state) {
  (void)state;
  everywhere(check_need);
}

// The same for two planes with a filter of their own each: nothing leaks from row to row or plane
// to plane, and nothing is written behind the last.
static void test_nan_depthwise(void **state) {
  (void)state;
  for (int width = 3; width <= 40; width++) {
    ig_conv c = planes((const int[9]){1, 2, 2, 5, width, 3, 1, 1, 2});
    float x[400] = {0};
    float w[18];
    float y[408];
    int n = 5 * width;
    for (int i = 0; i < 18; i++) w[i] = 1.0f;
    for (int i = 0; i < 408; i++) y[i] = 7.0f;
    x[2 * width - 1] = NAN;  // end of the second row
    ig_conv_forward(&c, x, w, NULL, y);
    for (int i = 0; i < 2 * n; i++) {
      bool near = i < n && i / width <= 2 && i % width >= width - 2;
      assert_true(near ? isnan(y[i]) : y[i] == 0.0f);
    }
    for (int i = 2 * n; i < 408; i++) assert_true(y[i] == 7.0f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_oracle),    cmocka_unit_test(test_known),
      cmocka_unit_test(test_depthwise), cmocka_unit_test(test_random),
      cmocka_unit_test(test_types),     cmocka_unit_test(test_bias),
      cmocka_unit_test(test_nan),       cmocka_unit_test(test_nan_depthwise),
      cmocka_unit_test(test_need),      cmocka_unit_test(test_nan_winograd),
  };
  return cmocka_run_group_tests_name("conv", tests, NULL, NULL);
}
