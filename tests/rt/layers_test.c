// SPDX-License-Identifier: Apache-2.0
// Layers in plans: what becomes part of a convolution, which values stay in blocks, weights that
// are packed once, no allocation after the first run, and which outputs are sums in another order.
#include "rt/frame.h"
#include "rt/packs.h"
#include "rt/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"
#include "base/cpu.h"
#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/threads.h"
#include "ir/program.h"
#include "op/formula.h"
#include "op/interpret.h"
#include "tensor/copy.h"

#include "fixture.h"  // after the calls, whose parameters have the name of its context

enum { MOST = 24, OUTPUTS = 3 };

// About normal, always the same.
static ig_tensor *noise(const int64_t *sizes, int n, uint32_t seed, double scale, double shift) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, n);
  for (int64_t i = 0; t && i < ig_tensor_numel(t); i++) {
    double sum = -2;
    for (int k = 0; k < 4; k++) {
      seed = seed * 1664525U + 1013904223U;
      sum += (double)(seed >> 8) / 16777216.0;
    }
    ((float *)ig_tensor_data(t))[i] = (float)(sum * scale + shift);
  }
  return t;
}

static ig_tensor *vector(int64_t n, uint32_t seed, double scale, double shift) {
  return noise(&n, 1, seed, scale, shift);
}

static ig_value pair(int64_t v) {
  static ig_int at[8][2];
  static size_t next;
  next = (next + 1) % 8;
  at[next][0] = at[next][1] = ig_const(v);
  return ig_of_ints(at[next], 2);
}

static ig_tensor *conv(ig_tensor *x, int64_t in, int64_t out, int64_t kernel, int64_t groups) {
  int64_t sizes[] = {out, in / groups, kernel, kernel};
  ig_tensor *w = noise(sizes, 4, (uint32_t)(in * 7 + out + kernel), 0.3, 0);
  return ig_conv2d_with(c, x, w, NULL, pair(1), pair(kernel / 2), pair(1), ig_const(groups));
}

static ig_tensor *norm(ig_tensor *x, int64_t n) {
  return ig_batch_norm(c, x, vector(n, 1, 0.2, 1), vector(n, 2, 1, 0), vector(n, 3, 1, 0),
                       vector(n, 4, 0.1, 1), false, 0.1, 1e-5, false);
}

// ---- programs: one input, up to three outputs

typedef void body(ig_tensor *x, ig_tensor **out);

// A residual block, pooling, and a head.
static void residual(ig_tensor *x, ig_tensor **out) {
  ig_tensor *a = ig_relu(c, norm(conv(x, 8, 8, 3, 1), 8));
  ig_tensor *b = norm(conv(a, 8, 8, 1, 1), 8);
  ig_tensor *y = ig_relu(c, ig_add_tensor(c, b, x));
  y = ig_max_pool2d_with(c, y, pair(2), pair(2), pair(0), pair(1), false);
  y = ig_hardswish(c, conv(y, 8, 8, 3, 8));
  out[0] =
      ig_mean_dim_with(c, y, ig_of_ints((ig_int[]){ig_const(2), ig_const(3)}, 2), false, ig_none());
}

// The convolution's own result is an output, read twice, and its activation is not part of it.
static void shared(ig_tensor *x, ig_tensor **out) {
  ig_tensor *a = conv(x, 8, 16, 3, 1);
  ig_value both[] = {ig_of_tensor(ig_relu(c, a)), ig_of_tensor(a)};
  out[0] = a;
  out[1] = ig_exp(c, ig_cat_with(c, ig_of_list(both, 2), ig_const(1)));
  out[2] = ig_mul_tensor(c, x, x);
}

// Channels that fill no block, a view between layers, a transposed convolution.
static void odd(ig_tensor *x, ig_tensor **out) {
  ig_tensor *a = ig_sigmoid(c, conv(x, 8, 6, 3, 1));
  a = conv(ig_transpose_int(c, a, ig_const(2), ig_const(3)), 6, 10, 1, 1);
  int64_t sizes[] = {10, 5, 2, 2};
  out[0] = ig_conv_transpose2d_input_with(c, a, noise(sizes, 4, 9, 0.3, 0), vector(5, 3, 1, 0),
                                          pair(2), pair(0), pair(0), ig_const(1), pair(1));
}

static ig_tensor *matrix(int64_t rows, int64_t cols) {
  int64_t sizes[] = {rows, cols};
  return noise(sizes, 2, (uint32_t)(rows + 3 * cols), 0.3, 0);
}

// Rows: a linear layer with a gelu, a product with a residual that is seen otherwise.
static void rows(ig_tensor *x, ig_tensor **out) {
  ig_int flat[] = {ig_const(-1), ig_const(32)};
  ig_tensor *a = ig_reshape(c, x, ig_of_ints(flat, 2));
  ig_tensor *b = ig_gelu(c, ig_linear_with(c, a, matrix(48, 32), vector(48, 5, 1, 0)));
  b = ig_addmm(c, vector(32, 6, 1, 0), b, matrix(48, 32));
  out[0] = ig_add_tensor(c, a, b);
}

static ig_tensor *times(ig_tensor *x, double v) {
  return ig_mul_f64(c, x, v);
}

// Activations as exporters write them: GELU in both forms, SiLU.
static void formulas(ig_tensor *x, ig_tensor **out) {
  ig_int flat[] = {ig_const(-1), ig_const(32)};
  ig_tensor *a = ig_reshape(c, x, ig_of_ints(flat, 2));
  ig_tensor *h = ig_linear_with(c, a, matrix(48, 32), vector(48, 5, 1, 0));
  ig_tensor *e = ig_add_f64(c, ig_erf(c, ig_div_f64(c, h, sqrt(2))), 1);
  out[0] = ig_linear(c, times(ig_mul_tensor(c, h, e), 0.5), matrix(32, 48));
  ig_tensor *cube = times(ig_pow_tensor_scalar(c, a, ig_of_i64(3)), 0.044715);
  ig_tensor *t = ig_tanh(c, times(ig_add_tensor(c, a, cube), sqrt(2 / acos(-1))));
  out[1] = ig_mul_tensor(c, times(a, 0.5), ig_add_f64(c, t, 1));
  out[2] = ig_mul_tensor(c, a, ig_sigmoid(c, a));
}

// Four heads of one product, with a mask per head; the heads of a row end side by side.
static void attend(ig_tensor *x, ig_tensor **out) {
  ig_int rows[] = {ig_const(1), ig_const(-1), ig_const(32)};
  ig_int heads[] = {ig_const(1), ig_const(-1), ig_const(3), ig_const(4), ig_const(8)};
  ig_int order[] = {ig_const(2), ig_const(0), ig_const(3), ig_const(1), ig_const(4)};
  int64_t masks[] = {4, 1, 1};
  ig_tensor *a = ig_reshape(c, x, ig_of_ints(rows, 3));
  ig_tensor *all = ig_linear(c, a, matrix(96, 32));
  all = ig_permute(c, ig_view(c, all, ig_of_ints(heads, 5)), ig_of_ints(order, 5));
  ig_tensor *part[3];
  for (int i = 0; i < 3; i++) part[i] = ig_select_int(c, all, ig_const(0), ig_const(i));
  ig_tensor *k = ig_transpose_int(c, part[1], ig_const(2), ig_const(3));
  ig_tensor *scores = ig_matmul(c, times(part[0], 0.5), times(k, 0.25));
  scores = ig_add_tensor(c, scores, noise(masks, 3, 7, 1, 0));
  ig_tensor *y = ig_matmul(c, ig_softmax_int(c, scores, ig_const(-1)), part[2]);
  y = ig_reshape(c, ig_transpose_int(c, y, ig_const(1), ig_const(2)), ig_of_ints(rows, 3));
  out[0] = ig_add_tensor(c, a, ig_linear(c, y, matrix(32, 32)));
}

typedef struct planned {
  ig_program *program;
  ig_plan *plan;
  bool constant[MOST];
  ig_value values[MOST];
  size_t input;
  ig_value outs[OUTPUTS];
} planned;

typedef struct program {
  body *fn;
  size_t outputs;
} program;
static const program programs[] = {{residual, 1}, {shared, 3},   {odd, 1},
                                   {rows, 1},     {formulas, 3}, {attend, 1}};

static void call_body(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)ctx;
  ((const program *)user)->fn(inputs[0], outputs);
}

static ig_tensor *image(int64_t rows, uint32_t seed) {
  int64_t sizes[] = {1, 8, rows, 12};
  return noise(sizes, 4, seed, 1, 0);
}

static planned open_plan(const program *p, unsigned without, struct ig_packs *packs) {
  planned t = {0};
  ig_dim dims[] = {{.kind = IG_DIM_STATIC},
                   {.kind = IG_DIM_STATIC},
                   {.kind = IG_DIM_AUTO},
                   {.kind = IG_DIM_STATIC}};
  ig_export_input in = {.name = "x", .example = image(12, 1), .dims = dims};
  ig_export_args args = {.size = sizeof args,
                         .fn = call_body,
                         .user = (void *)p,
                         .inputs = &in,
                         .ninputs = 1,
                         .noutputs = p->outputs};
  if (ig_export(c, &args, &t.program) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  size_t k = 0;
  assert_true(t.program->ninputs <= MOST);
  for (const ig_node *n = t.program->graph->first; n; n = n->next) {
    if (n->kind != IG_NODE_PLACEHOLDER) continue;
    t.constant[k] = n->role != IG_INPUT_USER;
    t.values[k] = ig_of_tensor(n->constant);
    if (!t.constant[k]) t.input = k;
    k++;
  }
  ig_plan_source source = {.graph = t.program->graph,
                           .ninputs = t.program->ninputs,
                           .constant = t.constant,
                           .noutputs = t.program->noutputs,
                           .packs = packs};
  t.plan = ig_plan_create(c, &source, without);
  assert_non_null(t.plan);
  return t;
}

static void close_plan(planned *t) {
  ig_plan_free(t->plan);
  ig_program_free(t->program);
}

static void run(planned *t, ig_tensor *x) {
  t->values[t->input] = ig_of_tensor(x);
  if (ig_plan_run(t->plan, t->values, NULL, t->outs) != IG_OK) fail_msg("%s", ig_ctx_error(c));
}

static void interpret(const planned *t, ig_value *outs) {
  if (ig_graph_run(c, t->program->graph, t->values, t->program->ninputs, outs) != IG_OK) {
    fail_msg("%s", ig_ctx_error(c));
  }
}

static void assert_close(const ig_tensor *a, const ig_tensor *b, double rtol) {
  size_t n = (size_t)ig_tensor_numel(a);
  assert_int_equal(n, ig_tensor_numel(b));
  double *x = malloc(2 * n * sizeof *x);
  assert_non_null(x);
  ig_tensor_read(a, IG_F64, x);
  ig_tensor_read(b, IG_F64, x + n);
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  for (size_t i = 0; i < n; i++) assert_true(fabs(x[i] - x[n + i]) <= rtol * largest);
  free(x);
}

// ---- tests

// Blocks of four channels, as without any vector instructions.
static int setup_base(void **state) {
  (void)ig_cpu_limit(IG_CPU_BASE);
  ig_threads_set(1);
  return setup(state);
}

static int teardown_base(void **state) {
  (void)ig_cpu_limit(IG_CPU_AVX512);
  ig_threads_set(0);
  return teardown(state);
}

static const char *const texts[] = {
    "   0  layout       to blocks(float32[1, 8, 12, 12] input 11) -> float32[1, 2, 144, "
    "4] slab+0\n"
    "   1  layer        winograd4 3x3 8->8 to 12x12, 0.2 MFLOP: aten.convolution.default "
    "+ aten._native_batch_norm_legit_no_training.default + aten.relu.default(float32[1, "
    "2, 144, 4] slab+0) -> float32[1, 2, 144, 4] slab+4608  # conv2d\n"
    "   2  layer        product 1x1 8->8 to 12x12, 0.0 MFLOP: aten.convolution.default + "
    "aten._native_batch_norm_legit_no_training.default + aten.add.Tensor + "
    "aten.relu.default(float32[1, 2, 144, 4] slab+4608, float32[1, 2, 144, 4] slab+0) -> "
    "float32[1, 2, 144, 4] slab+9216  # conv2d_1\n"
    "   3  prepared     aten.max_pool2d_with_indices.default(float32[2, 4, 12, 12] "
    "slab+9216) -> float32[2, 4, 6, 6] slab+0  # max_pool2d\n"
    "   4  layer        depthwise 3x3 8->8 in 8 groups to 6x6, 0.0 MFLOP: "
    "aten.convolution.default + aten.hardswish.default(float32[1, 2, 36, 4] slab+0) -> "
    "float32[1, 2, 36, 4] slab+1152  # conv2d_2\n"
    "   5  prepared     aten.mean.dim(float32[1, 2, 36, 4] slab+1152) -> float32[1, 2, "
    "1, 4] output 0  # mean\n"
    "6 steps: 3 layers, 1 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 13824 bytes for values that take 54144 one by one, 25408 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.2 MFLOP, 12064 bytes of packed weights\n",
    "   0  layout       to blocks(float32[1, 8, 12, 12] input 1) -> float32[1, 2, 144, "
    "4] slab+0\n"
    "   1  layer        winograd4 3x3 8->16 to 12x12, 0.3 MFLOP: "
    "aten.convolution.default(float32[1, 2, 144, 4] slab+0) -> float32[1, 4, 144, 4] "
    "slab+13824  # conv2d\n"
    "   2  prepared     aten.relu.default(float32[1, 4, 144, 4] slab+13824) -> "
    "float32[1, 4, 144, 4] slab+4608  # relu\n"
    "   3  joined       aten.cat.default(float32[1, 4, 144, 4] slab+4608, float32[1, 4, "
    "144, 4] slab+13824) -> float32[1, 8, 144, 4] slab+4608  # cat\n"
    "   4  prepared     aten.exp.default(float32[1, 8, 144, 4] slab+4608) -> float32[1, "
    "8, 144, 4] slab+23040  # exp\n"
    "   5  prepared     aten.mul.Tensor(float32[1, 8, 12, 12] input 1, float32[1, 8, 12, "
    "12] input 1) -> float32[1, 8, 12, 12] output 2  # mul\n"
    "   6  layout       from blocks(float32[1, 4, 144, 4] slab+13824) -> float32[1, 16, "
    "12, 12] output 0\n"
    "   7  layout       from blocks(float32[1, 8, 144, 4] slab+23040) -> float32[1, 32, "
    "12, 12] output 1\n"
    "8 steps: 1 layers, 3 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 41472 bytes for values that take 69120 one by one, 35776 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.3 MFLOP, 20736 bytes of packed weights\n",
    "   0  layout       to blocks(float32[1, 8, 12, 12] input 4) -> float32[1, 2, 144, "
    "4] slab+0\n"
    "   1  layer        winograd4 3x3 8->6 to 12x12, 0.1 MFLOP: "
    "aten.convolution.default(float32[1, 2, 144, 4] slab+0) -> float32[1, 2, 144, 4] "
    "slab+4608  # conv2d\n"
    "   2  layout       from blocks(float32[1, 2, 144, 4] slab+4608) -> float32[1, 6, "
    "12, 12] slab+0\n"
    "   3  prepared     aten.sigmoid.default(float32[1, 6, 12, 12] slab+0) -> float32[1, "
    "6, 12, 12] slab+0 (in place)  # sigmoid\n"
    "   4  prepared     aten.convolution.default(float32[1, 6, 12, 12] slab+0, "
    "float32[10, 6, 1, 1] constant) -> float32[1, 10, 12, 12] slab+3456  # conv2d_1\n"
    "   5  layout       to blocks(float32[1, 10, 12, 12] slab+3456) -> float32[1, 3, "
    "144, 4] slab+9216\n"
    "   6  layer        product 2x2 10->5 to 24x24, 0.1 MFLOP: "
    "aten.convolution.default(float32[1, 3, 144, 4] slab+9216) -> float32[1, 2, 576, 4] "
    "slab+16128  # conv_transpose2d\n"
    "   7  layout       from blocks(float32[1, 2, 576, 4] slab+16128) -> float32[1, 5, "
    "24, 24] output 0\n"
    "8 steps: 2 layers, 4 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 34560 bytes for values that take 47232 one by one, 25408 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.2 MFLOP, 13056 bytes of packed weights\n",
    "   0  layer        36 rows 32->48, 0.1 MFLOP: aten.linear.default + "
    "aten.gelu.default(float32[36, 32] input 4) -> float32[36, 48] slab+0  # linear\n"
    "   1  layer        36 rows 48->32, 0.1 MFLOP: aten.addmm.default + "
    "aten.add.Tensor(float32[36, 48] slab+0, float32[36, 32] input 4) -> float32[36, 32] "
    "output 0  # addmm\n"
    "2 steps: 2 layers, 0 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 6912 bytes for values that take 18432 one by one, 6976 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.2 MFLOP, 12288 bytes of packed weights\n",
    "   0  layer        36 rows 32->48, 0.1 MFLOP: aten.linear.default + "
    "aten.gelu.default(float32[36, 32] input 3) -> float32[36, 48] slab+0  # linear\n"
    "   1  layer        36 rows 48->32, 0.1 MFLOP: aten.linear.default(float32[36, 48] "
    "slab+0) -> float32[36, 32] output 0  # linear_1\n"
    "   2  prepared     aten.gelu.default(float32[36, 32] input 3) -> float32[36, 32] "
    "output 1  # mul_5\n"
    "   3  prepared     aten.silu.default(float32[36, 32] input 3) -> float32[36, 32] "
    "output 2  # mul_6\n"
    "4 steps: 2 layers, 0 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 6912 bytes for values that take 78336 one by one, 6976 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.2 MFLOP, 12288 bytes of packed weights\n",
    "   0  layer        36 rows 32->96, 0.2 MFLOP: aten.linear.default(float32[1, 36, 32]"
    " input 3) -> float32[1, 36, 96] slab+0  # linear\n"
    "   1  layer        attention of 4 heads, 0.2 MFLOP: aten.bmm.default + "
    "aten._softmax.default + aten.bmm.default(float32[1, 4, 36, 8] slab+0, float32[1, 4, "
    "36, 8] slab+0, float32[1, 4, 36, 8] slab+0, float32[1, 4, 1, 1] constant) -> "
    "float32[1, 4, 36, 8] slab+13824  # matmul_1\n"
    "   2  layer        36 rows 32->32, 0.1 MFLOP: aten.linear.default + "
    "aten.add.Tensor(float32[1, 36, 32] slab+13824, float32[1, 36, 32] input 3) -> "
    "float32[1, 36, 32] output 0  # linear_1\n"
    "3 steps: 3 layers, 0 changes of layout, 0 chains, 0 interpreted, 0 kernels that "
    "allocate\n"
    "memory: 18432 bytes for values that take 99072 one by one, 10048 bytes of working "
    "memory\n"
    "sizes: 1 of the inputs vary\n"
    "layers: 0.5 MFLOP, 16384 bytes of packed weights\n",
};

static void texts_are_as_they_were(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    ig_scope s = ig_scope_open(c);
    planned t = open_plan(&programs[k], 0, NULL);
    ig_str text = ig_str_make(c->alloc);
    t.values[t.input] = ig_of_tensor(image(12, 1));
    assert_int_equal(ig_plan_print(t.plan, t.values, &text), IG_OK);
    assert_string_equal(text.at, texts[k]);
    ig_str_free(&text);
    close_plan(&t);
    ig_scope_close(c, s);
  }
}

static void agree_with_the_interpreter(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    for (unsigned without = 0; without < 8; without++) {
      ig_scope s = ig_scope_open(c);
      planned t = open_plan(&programs[k], without, NULL);
      for (int i = 0; i < 4; i++) {  // two sizes in turn
        ig_value expected[OUTPUTS];
        run(&t, image(i % 2 ? 40 : 12, (uint32_t)i));
        interpret(&t, expected);
        for (size_t o = 0; o < programs[k].outputs; o++) {
          bool exact = ig_plan_output_match(t.plan, o) == IG_MATCH_BITS;
          assert_true(exact || !(without & IG_PLAN_NO_LAYERS));
          assert_close(expected[o].tensor, t.outs[o].tensor, exact ? 0 : 1e-5);
        }
      }
      close_plan(&t);
      ig_scope_close(c, s);
    }
  }
}

static void outputs_say_how_they_match(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(&programs[1], 0, NULL);
  run(&t, image(12, 1));
  assert_int_equal(ig_plan_output_match(t.plan, 0), IG_MATCH_SUMS);
  assert_int_equal(ig_plan_output_match(t.plan, 1), IG_MATCH_DERIVED);
  assert_int_equal(ig_plan_output_match(t.plan, 2), IG_MATCH_BITS);
  close_plan(&t);
  ig_scope_close(c, s);
}

static void later_runs_allocate_nothing(void **state) {
  (void)state;
  for (int threads = 1; threads < 3; threads++) {
    ig_threads_set(threads);
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
      ig_scope s = ig_scope_open(c);
      planned t = open_plan(&programs[k], 0, NULL);
      ig_tensor *small = image(12, 1);
      ig_tensor *large = image(200, 2);
      for (int i = 0; i < 2; i++) {
        ig_scope inner = ig_scope_open(c);
        run(&t, i ? small : large);
        ig_scope_close(c, inner);
      }
      long calls = heap.calls;
      size_t taken = test_allocations();
      size_t misses = ig_workspace_misses();
      for (int i = 0; i < 4; i++) {
        ig_scope inner = ig_scope_open(c);
        run(&t, i % 2 ? small : large);
        ig_scope_close(c, inner);
      }
      assert_int_equal(heap.calls, calls);
      assert_int_equal(test_allocations(), taken);
      assert_int_equal(ig_workspace_misses(), misses);
      close_plan(&t);
      ig_scope_close(c, s);
    }
  }
  ig_threads_set(0);
}

// One pack per layer, whatever the sizes and however many plans.
static void weights_are_packed_once(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_packs *packs = ig_packs_create(c);
  assert_non_null(packs);
  planned t = open_plan(&programs[0], 0, packs);
  for (int i = 1; i < 4; i++) run(&t, image(48 * i, 1));
  assert_int_equal(ig_packs_count(packs), 3);
  assert_int_equal(t.plan->nbindings, 1);
  ig_plan_source source = {.graph = t.program->graph,
                           .ninputs = t.program->ninputs,
                           .constant = t.constant,
                           .noutputs = t.program->noutputs,
                           .packs = packs};
  ig_plan *other = ig_plan_create(c, &source, 0);
  assert_non_null(other);
  assert_int_equal(ig_plan_run(other, t.values, NULL, t.outs), IG_OK);
  assert_int_equal(ig_packs_count(packs), 3);
  ig_plan_free(other);
  assert_int_equal(ig_packs_count(packs), 3);
  close_plan(&t);
  assert_int_equal(ig_packs_count(packs), 0);
  ig_packs_free(packs);
  ig_scope_close(c, s);
}

// A plan for another instruction set has blocks of its own.
static void levels_have_their_own_plans(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(&programs[0], 0, NULL);
  ig_value expected;
  for (int i = 0; i < 4; i++) {
    (void)ig_cpu_limit(i % 2 ? IG_CPU_BASE : IG_CPU_AVX512);
    run(&t, image(12, 1));
    interpret(&t, &expected);
    assert_close(expected.tensor, t.outs[0].tensor, 1e-5);
  }
  close_plan(&t);
  ig_scope_close(c, s);
}

// Every allocation of planning and running may fail.
static ig_status lacks_memory(ig_ctx *ctx) {
  ig_ctx *before = c;
  c = ctx;
  ig_scope s = ig_scope_open(c);
  ig_dim dims[4] = {{.kind = IG_DIM_STATIC},
                    {.kind = IG_DIM_STATIC},
                    {.kind = IG_DIM_AUTO},
                    {.kind = IG_DIM_STATIC}};
  ig_export_input in = {.name = "x", .example = image(6, 1), .dims = dims};
  ig_tensor *taller = image(9, 2);
  ig_export_args args = {.size = sizeof args,
                         .fn = call_body,
                         .user = (void *)&programs[1],
                         .inputs = &in,
                         .ninputs = 1,
                         .noutputs = programs[1].outputs};
  ig_program *p = NULL;
  if (in.example && taller && ig_export(c, &args, &p) == IG_OK) {
    bool constant[] = {true, false};
    ig_value values[] = {ig_of_tensor(p->graph->first->constant), ig_of_tensor(in.example)};
    ig_value outs[OUTPUTS];
    ig_plan_source source = {
        .graph = p->graph, .ninputs = 2, .constant = constant, .noutputs = p->noutputs};
    ig_plan *plan = ig_plan_create(c, &source, 0);
    for (int i = 0; plan && i < 3; i++) {
      values[1] = ig_of_tensor(i == 1 ? taller : in.example);
      (void)!ig_plan_run(plan, values, NULL, outs);
    }
    ig_plan_free(plan);
  }
  ig_program_free(p);
  ig_scope_close(c, s);
  c = before;
  return ig_ctx_status(ctx);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(lacks_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(texts_are_as_they_were, setup_base, teardown_base),
      cmocka_unit_test_setup_teardown(agree_with_the_interpreter, setup, teardown),
      cmocka_unit_test_setup_teardown(agree_with_the_interpreter, setup_base, teardown_base),
      cmocka_unit_test_setup_teardown(outputs_say_how_they_match, setup, teardown),
      cmocka_unit_test_setup_teardown(later_runs_allocate_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(weights_are_packed_once, setup, teardown),
      cmocka_unit_test_setup_teardown(levels_have_their_own_plans, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
