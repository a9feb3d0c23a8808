// SPDX-License-Identifier: Apache-2.0
// Plans: the same bits as the interpreter, no allocation after the first run with a size, results
// that callers keep, the caller's memory, nodes that are interpreted.
#include "rt/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "allocations.h"
#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/threads.h"
#include "ir/program.h"
#include "op/interpret.h"
#include "rt/frame.h"
#include "rt/packs.h"
#include "tensor/copy.h"

#include "fixture.h"  // after the calls, whose parameters have the name of its context

static ig_tensor *filled(int64_t rows, int64_t cols, double start) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int64_t i = 0; t && i < rows * cols; i++) {
    ((float *)ig_tensor_data(t))[i] = (float)(start + 0.37 * (double)(i % 17) - 0.05 * (double)i);
  }
  return t;
}

static bool same_bits(const ig_tensor *a, const ig_tensor *b) {
  int64_t n = ig_tensor_numel(a);
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(n, ig_tensor_numel(b));
  size_t bytes = (size_t)n * ig_dtype_size(a->dtype);
  char *x = malloc(2 * bytes + 1);
  assert_non_null(x);
  ig_tensor_read(a, a->dtype, x);
  ig_tensor_read(b, b->dtype, x + bytes);
  bool same = memcmp(x, x + bytes, bytes) == 0;
  free(x);
  return same;
}

// A program with one input "x" of [rows, 6]; rows may be dynamic.
typedef ig_tensor *body(ig_tensor *x);

static void call_body(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)ctx;
  outputs[0] = (*(body **)user)(inputs[0]);
}

static ig_program *export(body *fn) {
  ig_dim dims[] = {{.kind = IG_DIM_AUTO}, {.kind = IG_DIM_STATIC}};
  ig_export_input in = {.name = "x", .example = filled(4, 6, 0), .dims = dims};
  ig_export_args args = {.size = sizeof args,
                         .fn = call_body,
                         .user = (void *)&fn,
                         .inputs = &in,
                         .ninputs = 1,
                         .noutputs = 1};
  ig_program *p = NULL;
  if (ig_export(c, &args, &p) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return p;
}

typedef struct planned {
  ig_program *program;
  ig_plan *plan;
  bool constant[16];
  ig_value values[16];
  size_t input;
} planned;

static planned open_plan(body *fn, unsigned without) {
  planned t = {.program = export(fn)};
  size_t k = 0;
  assert_true(t.program->ninputs <= 16);
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
                           .noutputs = t.program->noutputs};
  t.plan = ig_plan_create(c, &source, without);
  assert_non_null(t.plan);
  return t;
}

static void close_plan(planned *t) {
  ig_plan_free(t->plan);
  ig_program_free(t->program);
}

static ig_tensor *run(planned *t, ig_tensor *x, const ig_plan_target *target) {
  ig_value out = ig_none();
  t->values[t->input] = ig_of_tensor(x);
  if (ig_plan_run(t->plan, t->values, target, &out) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return out.tensor;
}

static ig_tensor *interpreted(planned *t, ig_tensor *x) {
  ig_value out = ig_none();
  t->values[t->input] = ig_of_tensor(x);
  if (ig_graph_run(c, t->program->graph, t->values, t->program->ninputs, &out) != IG_OK) {
    fail_msg("%s", ig_ctx_error(c));
  }
  return out.tensor;
}

// ---- programs

static ig_tensor *weight(void) {
  return filled(6, 6, -1);
}

// Products, a chain with broadcasting and numbers, a view, a reduction.
static ig_tensor *mixed(ig_tensor *x) {
  ig_tensor *y = ig_mm(c, x, weight());
  ig_tensor *gate = ig_sigmoid(c, y);
  y = ig_mul_tensor(c, y, gate);
  y = ig_add_scalar(c, y, ig_of_f64(0.25));
  ig_tensor *top = ig_sum_dim_intlist(c, y, ig_of_ints((ig_int[]){ig_const(1)}, 1));
  top = ig_unsqueeze(c, top, ig_const(1));
  y = ig_div_tensor(c, ig_sub_tensor(c, y, top), ig_exp(c, gate));
  return ig_t(c, ig_tanh(c, y));
}

// The number of rows of the result stands in the data.
static ig_tensor *data_dependent(ig_tensor *x) {
  ig_tensor *y = ig_relu(c, ig_mul_tensor(c, x, x));
  ig_tensor *where = ig_nonzero(c, ig_gt_scalar(c, y, ig_of_f64(1)));
  return ig_add_tensor(c, where, where);
}

static ig_tensor *view_of_input(ig_tensor *x) {
  return ig_t(c, x);
}

static ig_tensor *out_of_range(ig_tensor *x) {
  ig_tensor *rows = ig_to_dtype(c, ig_sum(c, x), ig_of_dtype(IG_I64));
  return ig_index_select(c, x, ig_const(0), ig_unsqueeze(c, rows, ig_const(0)));
}

// ---- tests

// Pieces that are computed where the joined value lies, one of them read again later, and joined
// values among the pieces.
static ig_tensor *joined(ig_tensor *x) {
  ig_tensor *a = ig_exp(c, x);
  ig_tensor *b = ig_mm(c, x, weight());
  ig_value first[] = {ig_of_tensor(a), ig_of_tensor(b), ig_of_tensor(ig_relu(c, b))};
  ig_tensor *y = ig_cat_with(c, ig_of_list(first, 3), ig_const(0));
  ig_tensor *z = ig_cos(c, y);
  ig_value second[] = {ig_of_tensor(y), ig_of_tensor(ig_mul_tensor(c, z, y)), ig_of_tensor(a)};
  return ig_sin(c, ig_cat_with(c, ig_of_list(second, 3), ig_const(0)));
}

// Numbers that follow from sizes: a bound, a factor, the end of a range, the sizes of a view; as
// much of a constant as there are rows.
static ig_tensor *sized(ig_tensor *x) {
  ig_int rows = ig_tensor_size(x, 0);
  ig_tensor *table = filled(1000, 6, 2);
  ig_tensor *part =
      ig_slice_tensor_with(c, table, ig_const(0), ig_of_i64(0), ig_of_int(rows), ig_const(1));
  ig_tensor *count = ig_unsqueeze(c, ig_arange(c, ig_of_int(rows)), ig_const(1));
  ig_tensor *y = ig_mul_scalar(c, ig_add_tensor(c, x, part), ig_of_int(rows));
  y = ig_add_tensor(c, y, count);
  ig_int flat = ig_int_mul(c, rows, ig_const(3));
  y = ig_view(c, y, ig_of_ints((ig_int[]){flat, ig_const(2)}, 2));
  return ig_cumsum(c, y, ig_const(0));
}

// Columns from the third on; of two rows none is left.
static ig_tensor *behind_two(ig_tensor *x) {
  ig_tensor *columns = ig_contiguous(c, ig_t(c, x));
  ig_tensor *rest =
      ig_slice_tensor_with(c, columns, ig_const(1), ig_of_i64(2), ig_none(), ig_const(1));
  return ig_mul_tensor(c, ig_contiguous(c, rest), filled(6, 1, 2));
}

// Layers over 16 steps, whose weights are packed; the input's rows are the batch.
static ig_tensor *recurrent_layers(ig_tensor *x, int64_t layers) {
  ig_int rows = ig_tensor_size(x, 0);
  ig_value steps = ig_of_ints((ig_int[]){ig_const(16), rows, ig_const(6)}, 3);
  ig_value states = ig_of_ints((ig_int[]){ig_const(layers), rows, ig_const(5)}, 3);
  ig_tensor *h = ig_zeros(c, states);
  ig_value hx[] = {ig_of_tensor(h), ig_of_tensor(h)};
  ig_value params[] = {ig_of_tensor(filled(20, 6, -1)), ig_of_tensor(filled(20, 5, 1)),
                       ig_of_tensor(filled(20, 5, 0)), ig_of_tensor(filled(20, 5, 2))};
  ig_value outs[3];
  ig_lstm_input(c, ig_expand(c, ig_unsqueeze(c, x, ig_const(0)), steps), ig_of_list(hx, 2),
                ig_of_list(params, 2 * (size_t)layers), false, ig_const(layers), 0, false, false,
                false, outs);
  return c->status == IG_OK ? outs[0].tensor : NULL;
}

static ig_tensor *recurrent(ig_tensor *x) {
  return recurrent_layers(x, 2);
}

static ig_tensor *recurrent_layer(ig_tensor *x) {
  return recurrent_layers(x, 1);
}

static body *const bodies[] = {mixed, data_dependent, view_of_input, joined, sized, recurrent};

static void same_as_interpreted(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    for (unsigned without = 0; without < 4; without++) {
      ig_scope s = ig_scope_open(c);
      planned t = open_plan(bodies[k], without);
      for (int i = 0; i < 6; i++) {  // two sizes in turn
        ig_tensor *x = filled(i % 2 ? 900 : 5, 6, 0.1 * i);
        assert_true(same_bits(run(&t, x, NULL), interpreted(&t, x)));
      }
      close_plan(&t);
      ig_scope_close(c, s);
    }
  }
}

static void later_runs_allocate_nothing(void **state) {
  (void)state;
  for (int threads = 1; threads < 3; threads++) {
    ig_threads_set(threads);
    ig_scope s = ig_scope_open(c);
    planned t = open_plan(mixed, 0);
    ig_tensor *small = filled(5, 6, 0);
    ig_tensor *large = filled(20000, 6, 0);
    ig_tensor *other = filled(5, 6, 3);
    ig_tensor *expected = interpreted(&t, other);
    for (int i = 0; i < 2; i++) {
      ig_scope inner = ig_scope_open(c);
      (void)run(&t, i ? small : large, NULL);
      ig_scope_close(c, inner);
    }
    long calls = heap.calls;
    size_t taken = test_allocations();
    for (int i = 0; i < 4; i++) {
      ig_scope inner = ig_scope_open(c);
      ig_tensor *y = run(&t, i % 2 ? large : other, NULL);
      if (i % 2 == 0) assert_memory_equal(ig_tensor_data(y), ig_tensor_data(expected), 120);
      ig_scope_close(c, inner);
    }
    assert_int_equal(heap.calls, calls);
    assert_int_equal(test_allocations(), taken);
    close_plan(&t);
    ig_scope_close(c, s);
  }
  ig_threads_set(0);
}

static size_t count_frames(const ig_plan *p) {
  size_t n = 0;
  for (const ig_binding *b = p->bindings; b; b = b->next) {
    for (const ig_rt_frame *f = b->frames; f; f = f->next) n++;
  }
  return n;
}

// A program is traced once for all sizes that it serves, and more sizes than are kept may come.
static void one_trace_serves_all_sizes(void **state) {
  (void)state;
  static body *const planned_bodies[] = {mixed, view_of_input, joined, sized, recurrent};
  for (size_t k = 0; k < sizeof planned_bodies / sizeof *planned_bodies; k++) {
    ig_scope s = ig_scope_open(c);
    planned t = open_plan(planned_bodies[k], 0);
    for (int64_t rows = 2; rows < 60; rows++) {
      ig_tensor *x = filled(rows % 23 + 2, 6, (double)rows);
      assert_true(same_bits(run(&t, x, NULL), interpreted(&t, x)));
    }
    assert_int_equal(t.plan->nbindings, 1);
    assert_non_null(t.plan->bindings->symbols);
    assert_int_equal(count_frames(t.plan), 16);
    close_plan(&t);
    ig_scope_close(c, s);
  }
}

// What a kernel packs of weights serves all sizes, and other plans of the model.
static void kernels_pack_once(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(recurrent, 0);
  ig_packs *packs = t.plan->packs;
  for (int64_t rows = 2; rows < 6; rows++) (void)run(&t, filled(rows, 6, 0), NULL);
  assert_int_equal(count_frames(t.plan), 4);
  assert_int_equal(ig_packs_count(packs), 1);
  ig_plan_source source = t.plan->source;
  source.packs = packs;
  ig_plan *other = ig_plan_create(c, &source, 0);
  assert_non_null(other);
  ig_value out = ig_none();
  assert_int_equal(ig_plan_run(other, t.values, NULL, &out), IG_OK);
  assert_true(same_bits(out.tensor, interpreted(&t, t.values[t.input].tensor)));
  assert_int_equal(ig_packs_count(packs), 1);
  ig_plan_free(t.plan);
  assert_int_equal(ig_packs_count(packs), 1);
  t.plan = other;
  (void)ig_packs_retain(packs);
  close_plan(&t);
  assert_int_equal(ig_packs_count(packs), 0);
  ig_packs_free(packs);
  ig_scope_close(c, s);
}

// A text that grows by a word does not take memory in every run.
static void memory_grows_in_large_steps(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(mixed, 0);
  (void)run(&t, filled(3000, 6, 0), NULL);
  size_t before = t.plan->slab_size;
  (void)run(&t, filled(3001, 6, 0), NULL);
  (void)run(&t, filled(3200, 6, 0), NULL);
  size_t after = t.plan->slab_size;
  assert_true(after >= before + before / 4);
  (void)run(&t, filled(3300, 6, 0), NULL);
  assert_int_equal(t.plan->slab_size, after);
  close_plan(&t);
  ig_scope_close(c, s);
}

// One row is broadcast where others are not; other layouts of the input have steps of their own.
static void other_structures_have_their_own_trace(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(mixed, 0);
  for (int64_t rows = 4; rows > 0; rows--) {
    ig_tensor *x = filled(rows, 6, 1);
    assert_true(same_bits(run(&t, x, NULL), interpreted(&t, x)));
    x = ig_t(c, filled(6, rows, 2));
    assert_true(same_bits(run(&t, x, NULL), interpreted(&t, x)));
  }
  assert_int_equal(t.plan->nbindings, 6);
  close_plan(&t);
  ig_scope_close(c, s);
}

// Sizes that leave a tensor empty are planned for themselves, and others are served by one trace
// before and after them.
static void empty_results_have_the_strides_of_the_interpreter(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(behind_two, 0);
  static const int64_t sizes[] = {8, 2, 9, 2, 10};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    ig_tensor *x = filled(sizes[i], 6, 1);
    const ig_tensor *found = run(&t, x, NULL);
    const ig_tensor *expected = interpreted(&t, x);
    for (int d = 0; d < 2; d++) {
      assert_int_equal(ig_sizes(found)[d].value, ig_sizes(expected)[d].value);
      assert_int_equal(ig_strides(found)[d].value, ig_strides(expected)[d].value);
    }
  }
  assert_int_equal(t.plan->nbindings, 2);
  assert_false(t.plan->numbers);
  close_plan(&t);
  ig_scope_close(c, s);
}

// Without symbols every combination is traced.
static void symbols_can_be_switched_off(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(mixed, IG_PLAN_NO_SYMBOLS);
  for (int64_t rows = 2; rows < 6; rows++) {
    ig_tensor *x = filled(rows, 6, 1);
    assert_true(same_bits(run(&t, x, NULL), interpreted(&t, x)));
  }
  assert_int_equal(t.plan->nbindings, 4);
  close_plan(&t);
  ig_scope_close(c, s);
}

// What a caller keeps is not overwritten, however many runs follow.
static void results_can_be_kept(void **state) {
  (void)state;
  enum { RUNS = 7 };
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(mixed, 0);
  ig_tensor *kept[RUNS];
  for (int i = 0; i < RUNS; i++) kept[i] = run(&t, filled(5, 6, i), NULL);
  for (int i = 0; i < RUNS; i++) {
    assert_true(same_bits(kept[i], interpreted(&t, filled(5, 6, i))));
  }
  close_plan(&t);
  ig_scope_close(c, s);
}

static void results_in_memory_of_the_caller(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  for (size_t k = 0; k < 3; k++) {
    planned t = open_plan(bodies[k], 0);
    ig_tensor *x = filled(5, 6, 1);
    ig_tensor *expected = interpreted(&t, x);
    size_t bytes = (size_t)ig_tensor_numel(expected) * ig_dtype_size(expected->dtype);
    char *memory = malloc(bytes + 1);
    char *dense = malloc(bytes + 1);
    assert_true(memory && dense);
    ig_tensor_read(expected, expected->dtype, dense);
    for (int i = 0; i < 2; i++) {
      memset(memory, 0xff, bytes);
      (void)run(&t, x, &(ig_plan_target){memory, bytes});
      assert_memory_equal(memory, dense, bytes);
    }
    ig_value out;
    t.values[t.input] = ig_of_tensor(x);
    ig_plan_target wrong = {memory, bytes - 1};
    assert_int_equal(ig_plan_run(t.plan, t.values, &wrong, &out), IG_MISMATCH);
    test_error_has(c, "the caller's memory");
    close_plan(&t);
    free(memory);
    free(dense);
  }
  ig_scope_close(c, s);
}

// An error that stands in the data is the interpreter's, and the next run is fine.
static void errors_are_those_of_the_interpreter(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(out_of_range, 0);
  int64_t sizes[] = {3, 6};
  ig_tensor *good = ig_tensor_empty(c, IG_F32, sizes, 2);
  memset(ig_tensor_data(good), 0, 72);
  ig_tensor *bad = filled(3, 6, 100);
  ig_value out;
  (void)run(&t, good, NULL);
  t.values[t.input] = ig_of_tensor(bad);
  assert_int_not_equal(ig_graph_run(c, t.program->graph, t.values, t.program->ninputs, &out),
                       IG_OK);
  char text[400] = "";
  (void)snprintf(text, sizeof text, "%s", ig_ctx_error(c));
  ig_ctx_clear(c);
  assert_int_not_equal(ig_plan_run(t.plan, t.values, NULL, &out), IG_OK);
  assert_string_equal(ig_ctx_error(c), text);
  ig_ctx_clear(c);
  assert_true(same_bits(run(&t, good, NULL), interpreted(&t, good)));
  close_plan(&t);
  ig_scope_close(c, s);
}

static void says_what_it_does(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  planned t = open_plan(mixed, 0);
  t.values[t.input] = ig_of_tensor(filled(5, 6, 0));
  ig_str text = ig_str_make(c->alloc);
  assert_int_equal(ig_plan_print(t.plan, t.values, &text), IG_OK);
  assert_non_null(strstr(text.at, "aten.silu.default + aten.add"));
  assert_non_null(strstr(text.at, "0 interpreted, 0 kernels that allocate"));
  assert_non_null(strstr(text.at, "sizes: 1 of the inputs vary\n"));
  ig_str_free(&text);
  ig_plan_time time;
  ig_plan_profile(t.plan, true);
  (void)run(&t, filled(5, 6, 0), NULL);
  assert_true(ig_plan_profile_at(t.plan, 0, &time));
  assert_string_equal(time.target, "aten.mm.default");
  assert_int_equal(time.runs, 1);
  assert_true(time.seconds > 0);
  close_plan(&t);
  ig_scope_close(c, s);
}

// Every allocation of planning and running may fail.
static ig_status lacks_memory(ig_ctx *ctx, body *fn) {
  ig_ctx *before = c;
  c = ctx;
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = filled(3, 6, 0);
  ig_tensor *y = filled(5, 6, 0);
  ig_program *p = NULL;
  ig_dim dims[] = {{.kind = IG_DIM_AUTO}, {.kind = IG_DIM_STATIC}};
  ig_export_input in = {.name = "x", .example = x, .dims = dims};
  ig_export_args args = {.size = sizeof args,
                         .fn = call_body,
                         .user = (void *)&fn,
                         .inputs = &in,
                         .ninputs = 1,
                         .noutputs = 1};
  if (x && y && ig_export(c, &args, &p) == IG_OK) {
    bool constant[8];
    ig_value values[8];
    ig_value out;
    size_t last = p->ninputs - 1;  // constants come first
    const ig_node *node = p->graph->first;
    for (size_t i = 0; i <= last; i++, node = node->next) {
      constant[i] = i < last;
      values[i] = ig_of_tensor(node->constant);
    }
    ig_plan_source source = {
        .graph = p->graph, .ninputs = last + 1, .constant = constant, .noutputs = 1};
    ig_plan *plan = ig_plan_create(c, &source, 0);
    for (int i = 0; plan && i < 3; i++) {
      values[last] = ig_of_tensor(i == 1 ? y : x);
      (void)!ig_plan_run(plan, values, NULL, &out);
    }
    ig_plan_free(plan);
  }
  ig_program_free(p);
  ig_scope_close(c, s);
  c = before;
  return ig_ctx_status(ctx);
}

static ig_status mixed_lacks_memory(ig_ctx *ctx) {
  return lacks_memory(ctx, mixed);
}

static ig_status recurrent_lacks_memory(ig_ctx *ctx) {
  return lacks_memory(ctx, recurrent_layer);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(mixed_lacks_memory);
  test_every_allocation_fails(recurrent_lacks_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(same_as_interpreted, setup, teardown),
      cmocka_unit_test_setup_teardown(later_runs_allocate_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(one_trace_serves_all_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(kernels_pack_once, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_grows_in_large_steps, setup, teardown),
      cmocka_unit_test_setup_teardown(other_structures_have_their_own_trace, setup, teardown),
      cmocka_unit_test_setup_teardown(empty_results_have_the_strides_of_the_interpreter, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(symbols_can_be_switched_off, setup, teardown),
      cmocka_unit_test_setup_teardown(results_can_be_kept, setup, teardown),
      cmocka_unit_test_setup_teardown(results_in_memory_of_the_caller, setup, teardown),
      cmocka_unit_test_setup_teardown(errors_are_those_of_the_interpreter, setup, teardown),
      cmocka_unit_test_setup_teardown(says_what_it_does, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
