// SPDX-License-Identifier: Apache-2.0
// Joint graphs with tangents and their partitions: what is saved, that both graphs compute what
// autograd does, writes and views, memory that runs out; the maximum flow.
#include "ingot/aot.h"

#include <string.h>

#include "ingot/aten.h"
#include "ingot/grad.h"
#include "pass/max_flow.h"

#include "fixture.h"  // last: it has a global c

static ig_tensor *example(const float *values, int64_t n, bool grad) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, &n, 1);
  if (!t) return NULL;
  memcpy(ig_tensor_data(t), values, (size_t)n * sizeof *values);
  ig_tensor_set_requires_grad(c, t, grad);
  return t;
}

static const float xs[] = {0.5f, -1.0f, 2.0f, 0.25f};

// tanh(x) * sigmoid(x); if `write`, x has been doubled in place
static ig_graph *capture(bool write, bool view) {
  ig_tensor *x = example(xs, 4, !write);
  ig_graph *g = NULL;
  if (!x || ig_capture_begin(c) != IG_OK) return NULL;
  ig_tensor *in = ig_capture_input_like(c, "x", x);
  if (write) {
    const ig_op *op = ig_op_find(c, "aten::mul_.Tensor");
    ig_value out[IG_MAX_RETURNS];
    ig_call(c, op, (ig_value[]){ig_of_tensor(in), ig_of_f64(2)}, out);
  }
  ig_tensor *a = ig_tanh(c, in);
  ig_tensor *b = ig_sigmoid(c, in);
  ig_value outs[2] = {ig_of_tensor(ig_mul_tensor(c, a, b))};
  if (view) outs[1] = ig_of_tensor(ig_unsqueeze(c, in, ig_const(0)));
  return ig_capture_end(c, outs, view ? 2 : 1, &g) == IG_OK ? g : NULL;
}

static void partitions_compute_what_autograd_does(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = example(xs, 4, true);
  ig_tensor *a = ig_tanh(c, x);
  ig_tensor *y = ig_mul_tensor(c, a, ig_sigmoid(c, x));
  ig_tensor *seed = example((const float[]){1, 2, 3, 4}, 4, false);
  ig_tensor *want = NULL;
  ig_backward_args args = {.size = sizeof args,
                           .outputs = &y,
                           .noutputs = 1,
                           .seeds = &seed,
                           .inputs = &x,
                           .ninputs = 1};
  assert_int_equal(ig_backward(c, &args, &want), IG_OK);
  ig_graph *g = capture(false, false);
  assert_non_null(g);
  ig_aot *aot = NULL;
  if (ig_aot_create(c, g, true, &aot) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  assert_true(aot->joint);
  assert_int_equal(aot->ntangents, 1);
  for (int method = 0; method < 2; method++) {
    ig_partition_args how = {
        .size = sizeof how, .method = (ig_partition_method)method, .nforward = 1, .ntangents = 1};
    ig_partitions parts;
    if (ig_partition(c, aot->graph, &how, &parts) != IG_OK) fail_msg("%s", ig_ctx_error(c));
    assert_int_equal(parts.nsaved, 2);
    assert_int_equal(parts.nnumbers, 0);
    ig_value in = ig_of_tensor(ig_tensor_detach(c, x));
    ig_value outs[3];
    assert_int_equal(ig_graph_run(c, parts.forward, &in, 1, outs), IG_OK);
    assert_memory_equal(ig_tensor_data(outs[0].tensor), ig_tensor_data(y), sizeof xs);
    ig_value back[] = {outs[1], outs[2], ig_of_tensor(seed)};
    ig_value grad;
    assert_int_equal(ig_graph_run(c, parts.backward, back, 3, &grad), IG_OK);
    assert_memory_equal(ig_tensor_data(grad.tensor), ig_tensor_data(want), sizeof xs);
    ig_partitions_free(&parts);
  }
  ig_aot_free(aot);
  ig_graph_free(g);
  ig_scope_close(c, s);
}

static void writes_and_views_are_described(void **state) {
  (void)state;
  ig_graph *g = capture(true, true);
  assert_non_null(g);
  ig_aot *aot = NULL;
  if (ig_aot_create(c, g, true, &aot) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  assert_false(aot->joint);
  assert_true(aot->inputs[0].written);
  assert_false(aot->inputs[0].reshaped);
  assert_int_equal(aot->nwrites, 1);
  assert_int_equal(aot->outputs[0].alias, IG_AOT_PLAIN);
  assert_int_equal(aot->outputs[1].alias, IG_AOT_OF_INPUT);
  assert_string_equal(ig_node_name(ig_graph_first(aot->graph)), "arg0_1");
  ig_graph *view = NULL;
  assert_int_equal(ig_aot_view(c, aot, 1, &view), IG_OK);
  assert_non_null(view);
  char *code = ig_graph_code(c, view);
  assert_non_null(strstr(code, "unsqueeze"));
  ig_text_free(c, code);
  ig_graph_free(view);
  ig_aot_free(aot);
  ig_graph_free(g);
}

static void too_few_outputs_are_an_error(void **state) {
  (void)state;
  ig_graph *g = capture(false, false);
  ig_partitions parts;
  ig_partition_args how = {.size = sizeof how, .nforward = 2, .ntangents = 0};
  assert_int_equal(ig_partition(c, g, &how, &parts), IG_INVALID);
  assert_null(parts.forward);
  ig_ctx_clear(c);
  ig_graph_free(g);
}

// source 0, sink 5: both cuts of weight 5 are minimal, the one at the sink is taken.
static void the_cut_is_next_to_the_sink(void **state) {
  (void)state;
  ig_flow f;
  bool beyond[6];
  assert_true(ig_flow_init(c, &f, 6));
  assert_true(ig_flow_add(&f, 0, 1, IG_FLOW_ENDLESS));
  assert_true(ig_flow_add(&f, 1, 2, 5));
  assert_true(ig_flow_add(&f, 2, 3, IG_FLOW_ENDLESS));
  assert_true(ig_flow_add(&f, 3, 4, 5));
  assert_true(ig_flow_add(&f, 4, 5, IG_FLOW_ENDLESS));
  assert_true(ig_flow_cut(&f, 0, 5, beyond));
  assert_false(beyond[3]);
  assert_true(beyond[4]);
  assert_true(ig_flow_add(&f, 0, 5, IG_FLOW_ENDLESS));
  assert_false(ig_flow_cut(&f, 0, 5, beyond));
  ig_flow_free(&f);
}

static ig_status session(ig_ctx *ctx) {
  c = ctx;
  ig_scope s = ig_scope_open(c);
  ig_graph *g = capture(false, true);
  ig_aot *aot = NULL;
  ig_partitions parts = {0};
  ig_partition_args how = {
      .size = sizeof how, .method = IG_PARTITION_MIN_CUT, .nforward = 2, .ntangents = 1};
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_aot_create(c, g, true, &aot);
  if (st == IG_OK) st = ig_partition(c, aot->graph, &how, &parts);
  ig_partitions_free(&parts);
  ig_aot_free(aot);
  ig_graph_free(g);
  ig_scope_close(c, s);
  return st;
}

static void lack_of_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(partitions_compute_what_autograd_does, setup, teardown),
      cmocka_unit_test_setup_teardown(writes_and_views_are_described, setup, teardown),
      cmocka_unit_test_setup_teardown(too_few_outputs_are_an_error, setup, teardown),
      cmocka_unit_test_setup_teardown(the_cut_is_next_to_the_sink, setup, teardown),
      cmocka_unit_test(lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
