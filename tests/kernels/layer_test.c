// SPDX-License-Identifier: Apache-2.0
// Prepared layers against the plain loops, over drawn windows, strides, dilations, groups, paddings
// and channel counts, with every method, epilogue, cpu level and thread count; the kernels of wide
// vectors are compiled here from the same body for processors that have none.
#include "kernels/layer.h"

#include <string.h>

#include "kernels/elems.h"
#include "kernels/gemm_simd.h"
#include "kernels/layer_kernels.h"
#include "portion.h"

// ---- blocks of 16 channels without AVX-512 ----

// Few tiles and little optimization: compilers take minutes over such vectors.
#pragma GCC diagnostic ignored "-Wpsabi"  // everything is inlined: no vector is passed
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif
#define LANES 16
#define TILE_12 3
#define TILE_3 2
#define EACH_TILE(X) X(1, 1) X(2, 1) X(3, 1) X(1, 2) X(2, 2) X(3, 2) X(1, 3) X(2, 3)
typedef float V __attribute__((vector_size(64)));
INLINE V splat(float f) {
  return (V){f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f};
}
#define mla(sum, a, b) (*(sum) = *(sum) + (a) * (b))
INLINE void prefetch(const char *p) {
  __builtin_prefetch(p);
}
#define WIDE 2
#define PLAIN
#include "kernels/layer_simd.inc"
static const ig_layer_kernels wide_kernels = LAYER_KERNELS;
#if !defined(__clang__)
#pragma GCC pop_options
#endif

static const ig_layer_kernels *forced;  // NULL: those of the processor

static const ig_layer_kernels *kernels(void) {
  return forced ? forced : ig_layer_kernels_now();
}

// ---- tensors ----

// Blocked floats at an address that is a multiple of 4 only, with nothing readable behind them.
typedef struct blocked {
  float *memory;
  float *at;
  int64_t floats;
} blocked;

static blocked blocked_make(int64_t n, int64_t channels, int64_t pixels, float value) {
  int64_t lanes = kernels()->lanes;
  blocked b = {.floats = n * ((channels + lanes - 1) / lanes) * lanes * pixels};
  b.memory = malloc((size_t)(b.floats + 1) * sizeof(float));
  assert_non_null(b.memory);
  b.at = b.memory + 1;
  for (int64_t i = 0; i < b.floats; i++) b.at[i] = value;
  return b;
}

static bool in_rows;  // activations are rows of channels

static int64_t blocked_index(int64_t channels, int64_t pixels, int64_t n, int64_t c, int64_t p) {
  int64_t lanes = kernels()->lanes;
  if (in_rows) return (n * pixels + p) * channels + c;
  int64_t blocks = (channels + lanes - 1) / lanes;
  return ((n * blocks + c / lanes) * pixels + p) * lanes + c % lanes;
}

static blocked blocked_from(int64_t n, int64_t channels, int64_t pixels, const float *plain) {
  blocked b = blocked_make(n, channels, pixels, 0.0f);
  for (int64_t i = 0; i < n * channels * pixels; i++)
    b.at[blocked_index(channels, pixels, i / pixels / channels, i / pixels % channels,
                       i % pixels)] = plain[i];
  return b;
}

static double activated(const ig_layer_io *io, double v) {
  switch (io->act) {
    case IG_ACT_CLAMP:
      return v < (double)io->lo ? (double)io->lo : v > (double)io->hi ? (double)io->hi : v;
    case IG_ACT_HARDSWISH:
      return v <= -3 ? 0 : v >= 3 ? v : v * (v + 3) / 6;
    case IG_ACT_SILU:
      return v / (1 + exp(-v));
    case IG_ACT_GELU:
      return v * 0.5 * (1 + erf(v * sqrt(0.5)));
    case IG_ACT_GELU_TANH:
      return v * 0.5 * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
    default:
      return v;
  }
}

static void describe(const ig_conv *c, ig_layer_method m, char *buf, size_t size) {
  (void)snprintf(buf, size,
                 "method %d lanes %d transposed %d n %d cin %d cout %d groups %d in %d,%d,%d out "
                 "%d,%d,%d k %d,%d,%d s %d,%d p %d,%d d %d,%d threads %d",
                 (int)m, kernels()->lanes, c->transposed, (int)c->n, (int)c->cin, (int)c->cout,
                 (int)c->groups, (int)c->in[0], (int)c->in[1], (int)c->in[2], (int)c->out[0],
                 (int)c->out[1], (int)c->out[2], (int)c->kernel[0], (int)c->kernel[1],
                 (int)c->kernel[2], (int)c->stride[1], (int)c->stride[2], (int)c->padding[1],
                 (int)c->padding[2], (int)c->dilation[1], (int)c->dilation[2], ig_threads_get());
}

// Layers of the forced kernels have no error measured and their own memory.
static ig_layer *create(const ig_conv *c, const float *w, const float *bias, ig_layer_method m) {
  ig_layer_options o = {.method = m};
  if (!forced) return ig_layer_create(c, w, bias, &o);
  size_t floats;
  ig_layer *l = malloc(sizeof *l);
  assert_non_null(l);
  ig_layer_plan(forced, c, m, l, &floats);
  l->memory = malloc(floats * sizeof(float));
  assert_non_null(l->memory);
  ig_layer_fill(l, w, bias, l->memory);
  return l;
}

// In a workspace of exactly the stated size.
static void run_in_workspace(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  size_t misses = ig_workspace_misses();
  ig_need need = ig_need_make(true);
  ig_layer_need(l, c, &need);
  size_t bytes = ig_need_bytes(&need);
  void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
  assert_non_null(memory);
  ig_workspace w;
  ig_workspace_enter(&w, &need, memory);
  assert_true(ig_layer_run(l, c, io));
  ig_workspace_leave(&w);
  free(memory);
  assert_int_equal(ig_workspace_misses(), misses);
}

// Errors of Winograd's larger forms grow with the sums, not with what is left of them.
static double room_for(const ig_conv *c, ig_layer_method m, double want) {
  double sums = sqrt((double)(c->cin * ig_conv_taps(c)));
  if (m == IG_LAYER_WINOGRAD6) return 1e-4 * sums;
  if (m == IG_LAYER_WINOGRAD4) return 1e-5 * sums;
  return 1e-5 * (1.0 + fabs(want));
}

static void compare(const ig_conv *c, ig_layer_method m, const ig_layer_io *io, const float *want,
                    const float *extra, blocked y) {
  int64_t out = ig_conv_out(c);
  int64_t lanes = kernels()->lanes;
  int64_t padded = (c->cout + lanes - 1) / lanes * lanes;
  for (int64_t i = 0; i < c->n * padded * out; i++) {
    int64_t n = i / out / padded;
    int64_t o = i / out % padded;
    int64_t p = i % out;
    float found = y.at[blocked_index(c->cout, out, n, o, p)];
    int64_t at = (n * c->cout + o) * out + p;
    double v = 0.0;
    if (o < c->cout) v = activated(io, (double)want[at] + (extra ? (double)extra[at] : 0.0));
    if (fabs((double)found - v) <= room_for(c, m, v)) continue;
    char buf[400];
    describe(c, m, buf, sizeof buf);
    fail_msg("y[%d][%d][%d] is %g, want %g: %s", (int)n, (int)o, (int)p, (double)found, v, buf);
  }
}

static void check(const ig_conv *c, ig_layer_method m) {
  if (!ig_layer_suits(c, m, kernels()->lanes)) return;
  double sums = (double)(c->n * c->cout * ig_conv_out(c));
  if (!test_due(2 * sums * (double)ig_conv_taps(c) * (double)c->cin / (double)c->groups)) return;
  int64_t in = ig_conv_in(c);
  int64_t out = ig_conv_out(c);
  float *x = tensor(IG_ELEM_F32, c->n * c->cin * in, true);
  float *w = tensor(IG_ELEM_F32, c->cin * c->cout / c->groups * ig_conv_taps(c), true);
  float *bias = pick(0, 1) ? tensor(IG_ELEM_F32, c->cout, true) : NULL;
  float *extra = pick(0, 1) ? tensor(IG_ELEM_F32, c->n * c->cout * out, true) : NULL;
  float *want = tensor(IG_ELEM_F32, c->n * c->cout * out, false);
  ig_conv plain = *c;
  plain.channels_last = false;
  ig_conv_forward_ref(&plain, x, w, bias, want);
  blocked xb = blocked_from(c->n, c->cin, in, x);
  blocked eb = {0};
  if (extra) eb = blocked_from(c->n, c->cout, out, extra);
  blocked y = blocked_make(c->n, c->cout, out, -15.0f);
  ig_layer *l = create(c, w, bias, m);
  assert_non_null(l);
  ig_layer_io io = {.x = m == IG_LAYER_STEM ? x : xb.at, .y = y.at, .residual = eb.at};
  io.act = (ig_act)pick(IG_ACT_NONE, IG_ACT_GELU_TANH);
  io.lo = (float)pick(-1, 1);
  io.hi = pick(0, 1) ? 2.0f : INFINITY;
  run_in_workspace(l, c, &io);
  compare(c, m, &io, want, extra, y);
  // The same bits without a workspace and with another number of threads.
  blocked again = blocked_make(c->n, c->cout, out, -14.0f);
  int threads = ig_threads_get();
  ig_threads_set(3 - threads);
  io.y = again.at;
  assert_true(ig_layer_run(l, c, &io));
  ig_threads_set(threads);
  assert_memory_equal(y.at, again.at, (size_t)y.floats * sizeof(float));
  ig_layer_free(l);
  free(x);
  free(w);
  free(bias);
  free(extra);
  free(want);
  free(xb.memory);
  free(eb.memory);
  free(y.memory);
  free(again.memory);
}

static ig_conv planes(int n, int cin, int cout, int h, int w) {
  ig_conv c = ig_conv_make(IG_ELEM_F32, n, cin, cout);
  c.in[1] = h;
  c.in[2] = w;
  return c;
}

static void check_products(void) {
  for (int i = 0; i < 60; i++) {
    int groups = pick(0, 3) ? 1 : pick(1, 4);
    ig_conv c =
        planes(pick(1, 3), groups * pick(1, 40), groups * pick(1, 70), pick(1, 19), pick(1, 19));
    c.groups = groups;
    if (i % 5 == 0) c.in[0] = pick(1, 4);
    for (int d = i % 5 == 0 ? 0 : 1; d < 3; d++) {
      c.kernel[d] = pick(1, 4);
      c.stride[d] = pick(1, 3);
      c.padding[d] = pick(0, 3);
      c.dilation[d] = pick(1, 3);
    }
    ig_conv_set_out(&c, NULL);
    if (ig_conv_out(&c) < 1) continue;
    check(&c, IG_LAYER_PRODUCT);
    check(&c, IG_LAYER_STEM);
  }
  // Whole blocks of narrow groups; sums of several passes; more pixels than a block has.
  ig_conv grouped = planes(1, 64, 64, 9, 9);
  grouped.groups = 16;
  check(&grouped, IG_LAYER_PRODUCT);
  ig_conv deep = planes(2, 600, 50, 7, 7);
  deep.out[1] = deep.out[2] = 7;
  check(&deep, IG_LAYER_PRODUCT);
  ig_conv wide = planes(1, 20, 40, 50, 60);
  wide.out[1] = 50;
  wide.out[2] = 60;
  check(&wide, IG_LAYER_PRODUCT);
}

// Linear layers: sums of one and of several passes, few pixels and more than a block has.
static void check_rows(void) {
  in_rows = true;
  for (int i = 0; i < 24; i++) {
    int lanes = kernels()->lanes;
    ig_conv c =
        ig_conv_make(IG_ELEM_F32, pick(1, 2), lanes * pick(1, i % 2 ? 4 : 70), lanes * pick(1, 6));
    c.in[2] = c.out[2] = pick(1, i % 6 ? 40 : 600);
    c.channels_last = true;
    check(&c, IG_LAYER_PRODUCT);
  }
  in_rows = false;
}

static void check_transposed(void) {
  for (int i = 0; i < 12; i++) {
    ig_conv c = planes(pick(1, 2), pick(1, 40), pick(1, 40), pick(1, 9), pick(1, 9));
    c.transposed = true;
    for (int d = 1; d < 3; d++) c.kernel[d] = c.stride[d] = pick(1, 3);
    ig_conv_set_out(&c, NULL);
    check(&c, IG_LAYER_PRODUCT);
  }
}

static void check_depth(void) {
  for (int i = 0; i < 60; i++) {
    int channels = pick(2, 40);
    ig_conv c = planes(pick(1, 2), channels, channels, pick(1, 20), pick(1, 30));
    c.groups = channels;
    for (int d = 1; d < 3; d++) {
      c.kernel[d] = pick(0, 1) ? 3 : pick(1, 6);
      c.stride[d] = pick(1, 3);
      c.padding[d] = pick(0, 3);
      c.dilation[d] = pick(0, 2) ? 1 : pick(1, 3);
    }
    if (i % 2) {
      c.kernel[1] = c.kernel[2] = 3;
      c.stride[2] = pick(1, 2);
      c.dilation[2] = 1;
    }
    ig_conv_set_out(&c, NULL);
    if (ig_conv_out(&c) < 1) continue;
    check(&c, IG_LAYER_DEPTH);
  }
}

static void check_winograd(void) {
  for (int i = 0; i < 24; i++) {
    ig_conv c = planes(pick(1, 3), pick(1, 40), pick(1, 40), pick(1, 30), pick(1, 30));
    for (int d = 1; d < 3; d++) {
      c.kernel[d] = 3;
      c.padding[d] = pick(0, 2);
    }
    ig_conv_set_out(&c, NULL);
    if (ig_conv_out(&c) < 1) continue;
    for (int m = IG_LAYER_WINOGRAD2; m <= IG_LAYER_WINOGRAD6; m++) check(&c, (ig_layer_method)m);
  }
  ig_conv many = planes(1, 100, 90, 40, 41);  // several blocks of tiles
  many.kernel[1] = many.kernel[2] = 3;
  many.padding[1] = many.padding[2] = 1;
  ig_conv_set_out(&many, NULL);
  for (int m = IG_LAYER_WINOGRAD2; m <= IG_LAYER_WINOGRAD6; m++) check(&many, (ig_layer_method)m);
}

static void test_products(void **state) {
  (void)state;
  everywhere(check_products);
}
static void test_rows(void **state) {
  (void)state;
  everywhere(check_rows);
}
static void test_transposed(void **state) {
  (void)state;
  everywhere(check_transposed);
}
static void test_depth(void **state) {
  (void)state;
  everywhere(check_depth);
}
static void test_winograd(void **state) {
  (void)state;
  everywhere(check_winograd);
}
static void test_wide(void **state) {
  (void)state;
  forced = &wide_kernels;
  both_threads(check_products);
  both_threads(check_rows);
  both_threads(check_transposed);
  both_threads(check_depth);
  both_threads(check_winograd);
  forced = NULL;
}

// ---- the choice ----

static ig_conv square(int cin, int cout, int size, int kernel, int stride, int padding) {
  ig_conv c = planes(1, cin, cout, size, size);
  for (int d = 1; d < 3; d++) {
    c.kernel[d] = kernel;
    c.stride[d] = stride;
    c.padding[d] = padding;
  }
  ig_conv_set_out(&c, NULL);
  return c;
}

static void test_choice(void **state) {
  (void)state;
  ig_layer_options exact = {0};
  ig_layer_options loose = {.rtol = 1e-4};
  ig_conv c = square(64, 64, 56, 3, 1, 1);
  assert_int_equal(ig_layer_choose(&c, &exact), IG_LAYER_WINOGRAD2);
  assert_true(ig_layer_choose(&c, &loose) >= IG_LAYER_WINOGRAD4);
  c = square(64, 64, 56, 3, 2, 1);
  assert_int_equal(ig_layer_choose(&c, &loose), IG_LAYER_PRODUCT);
  c = square(3, 64, 224, 7, 2, 3);
  assert_int_equal(ig_layer_choose(&c, &loose), IG_LAYER_STEM);
  c = square(32, 32, 112, 3, 1, 1);
  c.groups = 32;
  assert_int_equal(ig_layer_choose(&c, &loose), IG_LAYER_DEPTH);
  c.elem = IG_ELEM_F64;
  assert_int_equal(ig_layer_choose(&c, &loose), IG_LAYER_NONE);
}

// A bound that a form does not keep with the given weights leaves it out.
static void test_error(void **state) {
  (void)state;
  ig_conv c = square(64, 40, 48, 3, 1, 1);
  float *w = tensor(IG_ELEM_F32, 64L * 40 * 9, true);
  ig_layer *l = ig_layer_create(&c, w, NULL, &(ig_layer_options){.rtol = 1e-4});
  assert_non_null(l);
  assert_true(ig_layer_method_of(l) >= IG_LAYER_WINOGRAD4);
  assert_true(ig_layer_error(l) > 0 && ig_layer_error(l) <= 1e-4);
  ig_layer_free(l);
  l = ig_layer_create(&c, w, NULL, &(ig_layer_options){.rtol = 1e-9});
  assert_non_null(l);
  assert_int_equal(ig_layer_method_of(l), IG_LAYER_WINOGRAD2);
  ig_layer_free(l);
  free(w);
}

// ---- values that are no numbers ----

static void check_special(void) {
  ig_conv c = square(5, 5, 4, 1, 1, 0);
  float w[25];
  for (int i = 0; i < 25; i++) w[i] = 1.0f;
  ig_layer *l = ig_layer_create(&c, w, NULL, &(ig_layer_options){.method = IG_LAYER_PRODUCT});
  assert_non_null(l);
  blocked x = blocked_make(1, 5, 16, 0.0f);
  blocked y = blocked_make(1, 5, 16, -15.0f);
  x.at[blocked_index(5, 16, 0, 2, 0)] = NAN;
  x.at[blocked_index(5, 16, 0, 2, 1)] = INFINITY;
  ig_layer_io io = {.x = x.at, .y = y.at, .act = IG_ACT_CLAMP, .lo = 0, .hi = 6};
  assert_true(ig_layer_run(l, &c, &io));
  for (int o = 0; o < 5; o++) {
    assert_true(isnan(y.at[blocked_index(5, 16, 0, o, 0)]));
    assert_true(y.at[blocked_index(5, 16, 0, o, 1)] == 6.0f);
  }
  int64_t lanes = kernels()->lanes;
  for (int64_t o = 5; o < (5 + lanes - 1) / lanes * lanes; o++)
    for (int p = 0; p < 16; p++) assert_true(y.at[blocked_index(5, 16, 0, o, p)] == 0.0f);
  ig_layer_free(l);
  free(x.memory);
  free(y.memory);
}
static void test_special(void **state) {
  (void)state;
  everywhere(check_special);
}

static void check_blocks(void) {
  for (int i = 0; i < 20; i++) {
    int64_t n = pick(1, 3);
    int64_t channels = pick(1, 40);
    int64_t pixels = pick(1, 70);
    float *x = tensor(IG_ELEM_F32, n * channels * pixels, true);
    float *back = tensor(IG_ELEM_F32, n * channels * pixels, false);
    blocked want = blocked_from(n, channels, pixels, x);
    blocked b = blocked_make(n, channels, pixels, -15.0f);
    assert_int_equal(ig_layer_floats(n, channels, pixels), b.floats);
    ig_layer_block_from(n, channels, pixels, x, b.at);
    assert_memory_equal(b.at, want.at, (size_t)b.floats * sizeof(float));
    ig_layer_block_to(n, channels, pixels, b.at, back);
    assert_memory_equal(x, back, (size_t)(n * channels * pixels) * sizeof(float));
    free(x);
    free(back);
    free(want.memory);
    free(b.memory);
  }
}
static void test_blocks(void **state) {
  (void)state;
  everywhere(check_blocks);
}

// Parts of wider tensors: images further apart than their own sizes.
static void test_parts(void **state) {
  (void)state;
  ig_conv c = square(16, 16, 9, 3, 1, 1);
  c.n = 2;
  float *w = tensor(IG_ELEM_F32, 16L * 16 * 9, true);
  int64_t image = 16L * 81;
  float *x = tensor(IG_ELEM_F32, 3 * image, true);
  float *y = tensor(IG_ELEM_F32, 5 * image, false);
  float *want = tensor(IG_ELEM_F32, 2 * image, false);
  for (int m = IG_LAYER_PRODUCT; m <= IG_LAYER_WINOGRAD6; m++) {
    if (m == IG_LAYER_STEM || m == IG_LAYER_DEPTH) continue;
    ig_layer_options o = {.method = (ig_layer_method)m};
    ig_layer *l = ig_layer_create(&c, w, NULL, &o);
    assert_non_null(l);
    assert_true(ig_layer_run(l, &c, &(ig_layer_io){.x = x, .y = want}));
    ig_layer_io io = {.x = x, .y = y, .y_image = 3 * image};
    assert_true(ig_layer_run(l, &c, &io));
    assert_memory_equal(y, want, (size_t)image * sizeof(float));
    assert_memory_equal(y + 3 * image, want + image, (size_t)image * sizeof(float));
    ig_layer_free(l);
  }
  free(w);
  free(x);
  free(y);
  free(want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),   cmocka_unit_test(test_rows),
      cmocka_unit_test(test_transposed), cmocka_unit_test(test_depth),
      cmocka_unit_test(test_winograd),   cmocka_unit_test(test_wide),
      cmocka_unit_test(test_choice),     cmocka_unit_test(test_error),
      cmocka_unit_test(test_special),    cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
