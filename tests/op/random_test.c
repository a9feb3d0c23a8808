// SPDX-License-Identifier: Apache-2.0
// Streams of the random generator: numbers that PyTorch 2.5 and 2.13 give for manual_seed(42), to
// the bit, and the image of the state.
#include "op/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"

typedef struct fixture {
  ig_ctx *c;
  ig_scope scope;
  ig_generator *g;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  if (!f || ig_ctx_create(NULL, &f->c) != IG_OK) return -1;
  f->scope = ig_scope_open(f->c);
  f->g = ig_generator_create(f->c, 42);
  *state = f;
  return f->g ? 0 : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_generator_free(f->g);
  ig_scope_close(f->c, f->scope);
  ig_ctx_free(f->c);
  free(f);
  return 0;
}

static ig_tensor *fresh(fixture *f, ig_dtype dtype, int64_t n) {
  ig_tensor *t = ig_tensor_empty(f->c, dtype, &n, 1);
  assert_non_null(t);
  ig_generator_seed(f->g, 42);
  return t;
}

static void same_f32(const ig_tensor *t, const float *want, size_t n) {
  assert_memory_equal(ig_tensor_data(t), want, n * sizeof *want);
}

static void test_uniform(void **state) {
  fixture *f = *state;
  static const float f32[] = {0x1.c3b8ccp-1F, 0x1.d47b66p-1F, 0x1.880d7p-2F, 0x1.eb2a1cp-1F};
  static const double f64[] = {0x1.dc66cbea3db30p-5, 0x1.01ae177aca870p-4};
  ig_tensor *t = fresh(f, IG_F32, 4);
  ig_random_uniform(ig_draws_find("2.13"), f->g, t, 0, 1);
  same_f32(t, f32, 4);
  t = fresh(f, IG_F64, 2);
  ig_random_uniform(ig_draws_find("2.13"), f->g, t, 0, 1);
  assert_memory_equal(ig_tensor_data(t), f64, sizeof f64);
  t = fresh(f, IG_F16, 3);
  ig_random_uniform(ig_draws_find("2.13"), f->g, t, 0, 1);
  assert_true(ig_tensor_get(t, 0) == 0x1.c3cp-1);
  assert_true(ig_tensor_get(t, 2) == 0x1.88p-2);
}

// Fewer than 16 elements come in pairs, one by one.
static void test_normal_short(void **state) {
  fixture *f = *state;
  static const float f32[] = {0x1.58c55cp-2F, 0x1.07cd3ap-3F, 0x1.e02dcep-3F};
  static const double f64[] = {0x1.58c55b33d44ccp-2, 0x1.07cd39b3d4b85p-3, 0x1.e02dcdb63ec41p-3};
  ig_tensor *t = fresh(f, IG_F32, 3);
  ig_random_normals(ig_draws_find("2.13"), f->g, t, ig_random_is_bulk(t), 0, 1);
  same_f32(t, f32, 3);
  assert_true(f->g->has_f64);  // the second of the pair waits
  t = fresh(f, IG_F64, 3);
  ig_random_normals(ig_draws_find("2.13"), f->g, t, ig_random_is_bulk(t), 0, 1);
  for (int64_t i = 0; i < 3; i++) assert_true(fabs(ig_tensor_get(t, i) - f64[i]) < 1e-15);
}

// Blocks of 16, the last one drawn again; the same at every level of the processor.
static void test_normal_blocks(void **state) {
  fixture *f = *state;
  static const float f17[] = {
      0x1.ed4a52p+0F, -0x1.46db0ap-3F, -0x1.fd55c8p-2F, 0x1.c223bp-2F,  -0x1.8429c4p-1F,
      0x1.140cap+0F,  0x1.9a0288p-1F,  0x1.ae3d26p+0F,  0x1.6c668ap-2F, 0x1.4be25ep+0F,
      0x1.388f1p-1F,  0x1.55b16p+0F,   -0x1.da5ddap-3F, 0x1.5618p-5F,   -0x1.019cf4p-2F,
      0x1.b83f6p-1F,  -0x1.3d2904p-2F,
  };
  static const int64_t at[] = {0, 15, 16, 499, 983, 984, 999};
  static const float picks[] = {0x1.ed4a52p+0F,  0x1.865f3ep-1F,  0x1.a46ee2p+0F, 0x1.84f338p-4F,
                                -0x1.6f9b98p-2F, -0x1.a7a326p-2F, -0x1.b4f7fap-1F};
  ig_cpu levels[] = {IG_CPU_AVX512, IG_CPU_BASE};
  for (size_t k = 0; k < 2; k++) {
    (void)ig_cpu_limit(levels[k]);
    ig_tensor *t = fresh(f, IG_F32, 17);
    ig_random_normals(ig_draws_find("2.13"), f->g, t, ig_random_is_bulk(t), 0, 1);
    same_f32(t, f17, 17);
    t = fresh(f, IG_F32, 1000);
    ig_random_normals(ig_draws_find("2.13"), f->g, t, ig_random_is_bulk(t), 0, 1);
    for (size_t i = 0; i < 7; i++) assert_true(ig_tensor_get(t, at[i]) == (double)picks[i]);
  }
  (void)ig_cpu_limit(IG_CPU_AVX512);
}

static void test_integers(void **state) {
  fixture *f = *state;
  static const int64_t small[] = {42, 67, 76, 14, 26};
  static const int64_t large[] = {441476371554, 395845085946, 458553876606};
  static const int64_t perm[] = {6, 3, 0, 7, 2, 1, 4, 5};
  static const uint8_t bytes[] = {102, 179, 92, 14};
  static const float coins[] = {1, 1, 1, 1, 0, 1, 0, 0};
  ig_tensor *t = fresh(f, IG_I64, 5);
  ig_random_integers(ig_draws_find("2.13"), f->g, t, 0, 100);
  assert_memory_equal(ig_tensor_data(t), small, sizeof small);
  t = fresh(f, IG_I64, 3);
  ig_random_integers(ig_draws_find("2.13"), f->g, t, -5, (1ULL << 40) + 5);
  assert_memory_equal(ig_tensor_data(t), large, sizeof large);
  t = fresh(f, IG_I64, 8);
  ig_random_permutation(f->g, t);
  assert_memory_equal(ig_tensor_data(t), perm, sizeof perm);
  t = fresh(f, IG_U8, 4);
  ig_random_natural(f->g, t);
  assert_memory_equal(ig_tensor_data(t), bytes, sizeof bytes);
  t = fresh(f, IG_F32, 8);
  ig_random_bernoulli(ig_draws_find("2.13"), f->g, t, 0.5);
  same_f32(t, coins, 8);
}

static void test_2_5(void **state) {
  fixture *f = *state;
  const ig_draws *how = ig_draws_find("2.5");
  static const uint8_t coins[] = {0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1};
  static const double waits[] = {0x1.0b7a195ed7f4bp-1, 0x1.4299072c6f957p-3, 0x1.36b02eeea0a9bp-1};
  static const int16_t halves[] = {13873, -19197, -16940, 12389, -16846, -16981};
  static const int64_t large[] = {534895718, 199900595, 862061404};
  assert_ptr_equal(how, ig_draws_of(f->c));
  assert_null(ig_draws_find("2.6"));
  ig_tensor *t = fresh(f, IG_U8, 16);
  ig_random_bernoulli(how, f->g, t, 0.5);
  assert_memory_equal(ig_tensor_data(t), coins, sizeof coins);
  t = fresh(f, IG_F64, 3);
  ig_random_exponential(how, f->g, t, 1);
  for (int i = 0; i < 3; i++) {
    assert_true(fabs(((const double *)ig_tensor_data(t))[i] - waits[i]) < 1e-15);
  }
  t = fresh(f, IG_F16, 17);
  ig_random_normals(how, f->g, t, ig_random_is_bulk(t), 0, 1);
  assert_memory_equal(ig_tensor_data(t), halves, sizeof halves);
  t = fresh(f, IG_I64, 3);
  ig_random_integers(how, f->g, t, 0, 1 << 30);
  assert_memory_equal(ig_tensor_data(t), large, sizeof large);
}

static void test_state(void **state) {
  fixture *f = *state;
  uint8_t image[IG_RANDOM_STATE_BYTES];
  ig_tensor *t = fresh(f, IG_F32, 3);
  ig_random_normals(ig_draws_find("2.13"), f->g, t, ig_random_is_bulk(t), 0, 1);
  ig_generator_get_state(f->g, image);
  double next = ig_random_normal(f->g);
  uint32_t after = ig_random_u32(f->g);
  ig_generator_seed(f->g, 7);
  assert_int_equal(ig_generator_set_state(f->c, f->g, image, sizeof image), IG_OK);
  assert_int_equal(ig_generator_initial_seed(f->g), 42);
  assert_true(ig_random_normal(f->g) == next);
  assert_int_equal(ig_random_u32(f->g), after);
}

static void test_bad_state(void **state) {
  fixture *f = *state;
  uint8_t image[IG_RANDOM_STATE_BYTES];
  ig_generator_get_state(f->g, image);
  assert_int_equal(ig_generator_set_state(f->c, f->g, image, 100), IG_RUNTIME);
  assert_non_null(strstr(ig_ctx_error(f->c), "but found the input RNG state size to be 100"));
  ig_ctx_clear(f->c);
  memset(image + 8, 0xff, 16);  // positions that no generator has
  assert_int_equal(ig_generator_set_state(f->c, f->g, image, sizeof image), IG_RUNTIME);
  ig_ctx_clear(f->c);
}

static void test_default(void **state) {
  fixture *f = *state;
  ig_generator *g = ig_generator_default(f->c);
  assert_non_null(g);
  assert_ptr_equal(g, ig_generator_default(f->c));
  assert_true(ig_generator_initial_seed(g) == IG_RANDOM_DEFAULT_SEED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_uniform, setup, teardown),
      cmocka_unit_test_setup_teardown(test_normal_short, setup, teardown),
      cmocka_unit_test_setup_teardown(test_normal_blocks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_integers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_2_5, setup, teardown),
      cmocka_unit_test_setup_teardown(test_2_5, setup, teardown),
      cmocka_unit_test_setup_teardown(test_state, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bad_state, setup, teardown),
      cmocka_unit_test_setup_teardown(test_default, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
