// SPDX-License-Identifier: Apache-2.0
// Prepared calls that are large enough for blocks, packed operands and threads, which the samples
// of records are not: what was stated is enough, nothing else is taken, and the bits are those of
// the eager call, for every number of threads.
#include "op/prepare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"
#include "heap.h"
#include "ingot/aten.h"
#include "ingot/threads.h"
#include "tensor/copy.h"

static test_heap heap;
static ig_ctx *c;

static int setup(void **state) {
  (void)state;
  heap = (test_heap){0};
  c = test_heap_ctx(&heap);
  return c ? 0 : 1;
}

static int teardown(void **state) {
  (void)state;
  ig_ctx_free(c);
  ig_threads_set(0);
  return heap.live == 0 ? 0 : 1;
}

static ig_tensor *filled(ig_dtype dtype, const int64_t *sizes, int ndim) {
  ig_int dims[8];
  for (int d = 0; d < ndim; d++) dims[d] = ig_const(sizes[d]);
  int64_t n = 1;
  for (int d = 0; d < ndim; d++) n *= sizes[d];
  ig_tensor *t = ig_arange(c, ig_of_i64(n));
  t = ig_sub_scalar(c, ig_remainder_scalar(c, t, ig_of_i64(13)), ig_of_i64(6));
  t = ig_reshape(c, t, ig_of_ints(dims, (size_t)ndim));
  return ig_to_dtype(c, t, ig_of_dtype(dtype));
}

static ig_tensor *turned(ig_tensor *t) {
  return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
}

static ig_tensor *twin(ig_tensor *t, bool fake) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_tensor *x = fake ? ig_tensor_fake(c, t) : ig_tensor_make(c, &m, false);
  assert_non_null(x);
  if (!fake) memset(ig_tensor_data(x), 0xff, x->storage->bytes);
  return x;
}

static bool same_bits(const ig_tensor *a, const ig_tensor *b) {
  size_t bytes = (size_t)ig_tensor_numel(a) * ig_dtype_size(a->dtype);
  char *x = malloc(2 * bytes + 1);
  assert_non_null(x);
  ig_tensor_read(a, a->dtype, x);
  ig_tensor_read(b, b->dtype, x + bytes);
  bool same = memcmp(x, x + bytes, bytes) == 0;
  free(x);
  return same;
}

// Calls an operator eagerly, then prepares it from fake operands and runs it.
static void check(unsigned id, const ig_value *args) {
  const ig_lib *lib = ig_lib_get(c);
  const ig_op *op = &lib->ops[id];
  ig_value eager[IG_MAX_RETURNS];
  ig_value fake[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  ig_prep p;
  assert_true(ig_op_is_prepared(op));
  ig_call(c, op, args, eager);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  for (size_t i = 0; i < op->schema.nargs; i++) {
    fake[i] = args[i];
    if (args[i].kind == IG_KIND_TENSOR) fake[i] = ig_of_tensor(twin(args[i].tensor, true));
  }
  for (size_t i = 0; i < op->schema.nrets; i++) {
    outs[i] = eager[i];
    if (eager[i].kind == IG_KIND_TENSOR) outs[i] = ig_of_tensor(twin(eager[i].tensor, true));
  }
  ig_prepare(c, op, fake, outs, &p);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (eager[i].kind == IG_KIND_TENSOR) outs[i] = ig_of_tensor(twin(eager[i].tensor, false));
  }
  size_t bytes = ig_need_bytes(&p.need);
  assert_true(bytes < IG_SIZE_NONE);
  char *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
  assert_non_null(memory);
  memset(memory, 0xff, bytes + 64);
  size_t misses = ig_workspace_misses();
  heap.fail_at = heap.calls + 1;
  ig_scratch_limit(0);
  size_t taken = test_allocations();
  ig_prepared_run(c, op, &p, args, outs, memory);
  taken = test_allocations() - taken;
  ig_scratch_limit(SIZE_MAX);
  heap.fail_at = 0;
  assert_int_equal(ig_ctx_status(c), IG_OK);
  assert_int_equal(taken, 0);
  assert_int_equal(ig_workspace_misses(), misses);
  for (size_t i = 0; i < 64; i++) assert_int_equal(memory[bytes + i], (char)0xff);
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (eager[i].kind == IG_KIND_TENSOR) assert_true(same_bits(outs[i].tensor, eager[i].tensor));
  }
  free(memory);
}

static const int thread_counts[] = {1, 2, 3};
#define EACH_THREADS                \
  for (size_t t_ = 0; t_ < 3; t_++) \
    if (ig_threads_set(thread_counts[t_]), true)

// The first loop of a number of threads starts them, which takes memory.
static void start_threads(void) {
  ig_threads_set(3);
  const int64_t sizes[] = {1 << 20};
  ig_scope s = ig_scope_open(c);
  (void)ig_neg(c, filled(IG_F32, sizes, 1));
  ig_scope_close(c, s);
}

static void products(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{5, 300, 70},   {300, 5, 70},    {33, 65, 129},
                                      {200, 90, 700}, {130, 520, 260}, {1, 2000, 300},
                                      {400, 400, 40}, {64, 3, 1000}};
  static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_I64, IG_I8, IG_C64};
  start_threads();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
      for (int way = 0; way < 4; way++) {
        ig_scope s = ig_scope_open(c);
        const int64_t *n = shapes[i];
        const int64_t a[] = {n[0], n[2]};
        const int64_t at[] = {n[2], n[0]};
        const int64_t b[] = {n[2], n[1]};
        const int64_t bt[] = {n[1], n[2]};
        ig_tensor *x = way & 1 ? turned(filled(dtypes[d], at, 2)) : filled(dtypes[d], a, 2);
        ig_tensor *y = way & 2 ? turned(filled(dtypes[d], bt, 2)) : filled(dtypes[d], b, 2);
        EACH_THREADS check(IG_ID_MM, (ig_value[]){ig_of_tensor(x), ig_of_tensor(y)});
        ig_scope_close(c, s);
      }
    }
  }
}

static void batches(void **state) {
  (void)state;
  const int64_t a[] = {7, 60, 80};
  const int64_t b[] = {7, 80, 50};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = filled(IG_F32, a, 3);
  ig_tensor *y = filled(IG_F32, b, 3);
  start_threads();
  EACH_THREADS check(IG_ID_BMM, (ig_value[]){ig_of_tensor(x), ig_of_tensor(y)});
  const int64_t w[] = {90, 60};  // an input that is no matrix as it lies
  ig_value linear[] = {ig_of_tensor(turned(x)), ig_of_tensor(filled(IG_F32, w, 2)), ig_none()};
  EACH_THREADS check(IG_ID_LINEAR, linear);
  ig_scope_close(c, s);
}

typedef struct window {
  int64_t n, cin, cout, size, kernel, stride, padding, groups;
  bool transposed, last;
  ig_dtype dtype;
} window;

static void convolutions(void **state) {
  (void)state;
  static const window windows[] = {
      {2, 16, 24, 20, 3, 1, 1, 1, false, false, IG_F32},
      {1, 64, 64, 24, 1, 1, 0, 1, false, false, IG_F32},
      {2, 3, 32, 33, 7, 2, 3, 1, false, false, IG_F32},
      {1, 32, 32, 19, 3, 1, 1, 32, false, false, IG_F32},
      {1, 32, 32, 19, 3, 2, 1, 32, false, false, IG_F32},
      {1, 16, 16, 15, 5, 1, 0, 4, false, false, IG_F32},
      {2, 16, 24, 20, 3, 1, 1, 1, false, true, IG_F32},
      {1, 16, 24, 12, 2, 2, 0, 1, true, false, IG_F32},
      {1, 16, 24, 12, 3, 1, 1, 1, true, false, IG_F32},
      {2, 8, 12, 14, 3, 1, 1, 1, false, false, IG_F16},
      {2, 8, 12, 14, 3, 1, 1, 1, false, false, IG_F64},
      {2, 8, 12, 14, 3, 1, 1, 1, false, false, IG_C64},
      {1, 4, 4, 9, 3, 1, 1, 1, false, false, IG_I64},
  };
  start_threads();
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    const window *w = &windows[i];
    ig_scope s = ig_scope_open(c);
    const int64_t x[] = {w->n, w->cin, w->size, w->size};
    const int64_t k[] = {w->transposed ? w->cin : w->cout,
                         (w->transposed ? w->cout : w->cin) / w->groups, w->kernel, w->kernel};
    ig_tensor *in = filled(w->dtype, x, 4);
    if (w->last) in = ig_contiguous_with(c, in, ig_of_memory_format(IG_CHANNELS_LAST));
    ig_int two[3][2] = {{ig_const(w->stride), ig_const(w->stride)},
                        {ig_const(w->padding), ig_const(w->padding)},
                        {ig_const(1), ig_const(1)}};
    ig_int zeros[2] = {ig_const(0), ig_const(0)};
    ig_value args[] = {ig_of_tensor(in),
                       ig_of_tensor(filled(w->dtype, k, 4)),
                       ig_of_tensor(filled(w->dtype, &w->cout, 1)),
                       ig_of_ints(two[0], 2),
                       ig_of_ints(two[1], 2),
                       ig_of_ints(two[2], 2),
                       ig_of_bool(w->transposed),
                       ig_of_ints(zeros, 2),
                       ig_of_int(ig_const(w->groups))};
    EACH_THREADS check(IG_ID_CONVOLUTION, args);
    ig_scope_close(c, s);
  }
}

static void reductions(void **state) {
  (void)state;
  static const ig_dtype dtypes[] = {IG_F32, IG_F16, IG_I32};
  const int64_t flat[] = {1 << 18};
  const int64_t rows[] = {70, 1100};
  start_threads();
  for (size_t d = 0; d < 3; d++) {
    ig_scope s = ig_scope_open(c);
    ig_tensor *x = filled(dtypes[d], flat, 1);
    EACH_THREADS check(IG_ID_SUM, (ig_value[]){ig_of_tensor(x), ig_none()});
    ig_tensor *y = turned(filled(dtypes[d], rows, 2));
    EACH_THREADS check(IG_ID_MAX_DIM,
                       (ig_value[]){ig_of_tensor(y), ig_of_i64(0), ig_of_bool(false)});
    if (dtypes[d] != IG_I32) {
      EACH_THREADS check(IG_ID__SOFTMAX,
                         (ig_value[]){ig_of_tensor(y), ig_of_i64(-1), ig_of_bool(false)});
    }
    ig_scope_close(c, s);
  }
}

// Every thread that helps has room of its own for the rows that it sorts.
static void sorting(void **state) {
  (void)state;
  const int64_t rows[] = {300, 400};
  start_threads();
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = filled(IG_F32, rows, 2);
  EACH_THREADS check(IG_ID_SORT, (ig_value[]){ig_of_tensor(x), ig_of_i64(-1), ig_of_bool(false)});
  EACH_THREADS check(IG_ID_TOPK, (ig_value[]){ig_of_tensor(turned(x)), ig_of_i64(7), ig_of_i64(-1),
                                              ig_of_bool(true), ig_of_bool(true)});
  EACH_THREADS check(IG_ID_CUMSUM, (ig_value[]){ig_of_tensor(turned(x)), ig_of_i64(0), ig_none()});
  ig_scope_close(c, s);
}

static void attention(void **state) {
  (void)state;
  static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_BF16};
  const int64_t q[] = {1, 3, 130, 32};
  const int64_t k[] = {1, 3, 200, 32};
  const int64_t m[] = {130, 200};
  start_threads();
  for (size_t d = 0; d < 3; d++) {
    ig_scope s = ig_scope_open(c);
    ig_tensor *mask = ig_gt_scalar(c, filled(IG_F32, m, 2), ig_of_i64(-3));
    for (int with = 0; with < 2; with++) {
      ig_value args[] = {ig_of_tensor(filled(dtypes[d], q, 4)),
                         ig_of_tensor(filled(dtypes[d], k, 4)),
                         ig_of_tensor(filled(dtypes[d], k, 4)),
                         ig_of_f64(0),
                         ig_of_bool(!with),
                         with ? ig_of_tensor(mask) : ig_none(),
                         ig_none()};
      EACH_THREADS check(IG_ID__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU, args);
    }
    ig_scope_close(c, s);
  }
}

// Weights that states do not grow by.
static ig_tensor *small(const int64_t *sizes, int ndim) {
  return ig_mul_scalar(c, filled(IG_F32, sizes, ndim), ig_of_f64(0.01));
}

// The kernel against the formula of the operator.
static void check_formula(unsigned id, const ig_value *args) {
  const ig_op *op = &ig_lib_get(c)->ops[id];
  ig_value kernel[IG_MAX_RETURNS];
  ig_value formula[IG_MAX_RETURNS];
  ig_call(c, op, args, kernel);
  ig_op_decompose(c, op, args, formula);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  for (size_t i = 0; i < op->schema.nrets; i++) {
    ig_tensor *close = ig_isclose_with(c, kernel[i].tensor, formula[i].tensor, 1e-4, 1e-5, true);
    ig_tensor *all = ig_all(c, close);
    assert_int_equal(ig_ctx_status(c), IG_OK);
    assert_true(*(const uint8_t *)ig_tensor_data(all));
  }
}

// A need for more memory than there is refuses the call, and the context goes on.
typedef struct network {
  unsigned id;
  int gates;
  int64_t steps;
  int64_t batch;
  int64_t hidden;
  int64_t layers;
  bool bidirectional;
  bool batch_first;
  bool biases;
} network;

static void run_network(const network *w) {
  int64_t directions = w->bidirectional ? 2 : 1;
  int64_t width = w->gates * w->hidden;
  const int64_t features = 40;
  const int64_t x[] = {w->batch_first ? w->batch : w->steps, w->batch_first ? w->steps : w->batch,
                       features};
  const int64_t h[] = {w->layers * directions, w->batch, w->hidden};
  ig_value params[32];
  size_t n = 0;
  for (int64_t i = 0; i < w->layers * directions; i++) {
    const int64_t ih[] = {width, i < directions ? features : directions * w->hidden};
    const int64_t hh[] = {width, w->hidden};
    params[n++] = ig_of_tensor(small(ih, 2));
    params[n++] = ig_of_tensor(small(hh, 2));
    for (int k = 0; k < 2 && w->biases; k++) params[n++] = ig_of_tensor(small(&width, 1));
  }
  ig_value states[] = {ig_of_tensor(filled(IG_F32, h, 3)), ig_of_tensor(filled(IG_F32, h, 3))};
  bool lstm = w->id == IG_ID_LSTM_INPUT;
  ig_tensor *in = small(x, 3);
  ((float *)ig_tensor_data(in))[ig_tensor_numel(in) - 1] = INFINITY;
  ig_value args[] = {ig_of_tensor(in),
                     lstm ? ig_of_list(states, 2) : states[0],
                     ig_of_list(params, n),
                     ig_of_bool(w->biases),
                     ig_of_int(ig_const(w->layers)),
                     ig_of_f64(0),
                     ig_of_bool(false),
                     ig_of_bool(w->bidirectional),
                     ig_of_bool(w->batch_first)};
  EACH_THREADS check(w->id, args);
  check_formula(w->id, args);
}

// Weights are packed for many steps, unless one row uses weights that are larger than the L2 cache.
// Layers in one direction run side by side in chunks.
static void recurrent_networks(void **state) {
  (void)state;
  static const network networks[] = {
      {IG_ID_LSTM_INPUT, 4, 7, 3, 96, 3, true, true, true},
      {IG_ID_LSTM_INPUT, 4, 3, 1, 701, 1, false, false, true},
      {IG_ID_LSTM_INPUT, 4, 40, 1, 256, 3, false, false, true},
      {IG_ID_LSTM_INPUT, 4, 17, 60, 40, 2, true, true, false},
      {IG_ID_LSTM_INPUT, 4, 16, 2, 530, 1, false, true, true},
      {IG_ID_GRU_INPUT, 3, 9, 5, 64, 2, true, false, false},
      {IG_ID_GRU_INPUT, 3, 33, 2, 260, 2, false, true, true},
      {IG_ID_GRU_INPUT, 3, 3, 1, 300, 1, false, true, true},
      {IG_ID_RNN_TANH_INPUT, 1, 6, 2, 33, 2, false, true, true},
      {IG_ID_RNN_RELU_INPUT, 1, 6, 2, 33, 2, true, false, false},
      {IG_ID_RNN_TANH_INPUT, 1, 64, 1, 500, 2, false, false, true},
  };
  start_threads();
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    ig_scope s = ig_scope_open(c);
    run_network(&networks[i]);
    ig_scope_close(c, s);
  }
}

static void eager_call_without_memory(void **state) {
  (void)state;
  const int64_t sizes[] = {40, 30};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = turned(filled(IG_F32, sizes, 2));
  ig_tensor *y = ig__softmax(c, x, ig_const(0), false);
  heap.limit = 4096;
  assert_null(ig__softmax(c, ig_to_dtype(c, x, ig_of_dtype(IG_F64)), ig_const(0), false));
  heap.limit = 0;
  assert_int_equal(ig_ctx_status(c), IG_NOMEM);
  ig_ctx_clear(c);
  ig_tensor *again = ig__softmax(c, x, ig_const(0), false);
  assert_non_null(again);
  assert_true(same_bits(y, again));
  ig_scope_close(c, s);
}

// Operators of the programs that bench/ runs. A view or an operator that is taken apart runs none.
static void operators_of_the_benchmarks_are_prepared(void **state) {
  (void)state;
  static const char *const names[] = {"aten::add.Tensor",
                                      "aten::mul.Tensor",
                                      "aten::div.Tensor",
                                      "aten::sub.Tensor",
                                      "aten::relu",
                                      "aten::hardtanh",
                                      "aten::gelu",
                                      "aten::tanh",
                                      "aten::sigmoid",
                                      "aten::silu",
                                      "aten::pow.Tensor_Scalar",
                                      "aten::rsqrt",
                                      "aten::where.self",
                                      "aten::masked_fill.Scalar",
                                      "aten::eq.Scalar",
                                      "aten::cos",
                                      "aten::sin",
                                      "aten::convolution",
                                      "aten::_native_batch_norm_legit_no_training",
                                      "aten::_native_batch_norm_legit",
                                      "aten::native_layer_norm",
                                      "aten::native_group_norm",
                                      "aten::max_pool2d_with_indices",
                                      "aten::avg_pool2d",
                                      "aten::_adaptive_avg_pool2d",
                                      "aten::mean.dim",
                                      "aten::sum.dim_IntList",
                                      "aten::amax",
                                      "aten::var.correction",
                                      "aten::mm",
                                      "aten::bmm",
                                      "aten::addmm",
                                      "aten::linear",
                                      "aten::lstm.input",
                                      "aten::gru.input",
                                      "aten::_softmax",
                                      "aten::_log_softmax",
                                      "aten::_scaled_dot_product_flash_attention_for_cpu",
                                      "aten::embedding",
                                      "aten::index.Tensor",
                                      "aten::index_select",
                                      "aten::gather",
                                      "aten::cat",
                                      "aten::stack",
                                      "aten::clone",
                                      "aten::_to_copy",
                                      "aten::copy",
                                      "aten::arange.start_step",
                                      "aten::full",
                                      "aten::zeros",
                                      "aten::ones",
                                      "aten::scalar_tensor",
                                      "aten::tril",
                                      "aten::triu",
                                      "aten::constant_pad_nd",
                                      "aten::repeat",
                                      "aten::upsample_nearest2d",
                                      "aten::cumsum",
                                      "aten::topk",
                                      "aten::argmax"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const ig_op *op = ig_op_find(c, names[i]);
    assert_non_null(op);
    bool runs = op->pointwise || ig_op_has_kernel(op);
    if (runs && !ig_op_is_prepared(op)) fail_msg("%s takes memory while it runs", names[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(products, setup, teardown),
      cmocka_unit_test_setup_teardown(batches, setup, teardown),
      cmocka_unit_test_setup_teardown(convolutions, setup, teardown),
      cmocka_unit_test_setup_teardown(reductions, setup, teardown),
      cmocka_unit_test_setup_teardown(sorting, setup, teardown),
      cmocka_unit_test_setup_teardown(attention, setup, teardown),
      cmocka_unit_test_setup_teardown(recurrent_networks, setup, teardown),
      cmocka_unit_test_setup_teardown(eager_call_without_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(operators_of_the_benchmarks_are_prepared, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
