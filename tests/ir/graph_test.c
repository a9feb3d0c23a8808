// SPDX-License-Identifier: Apache-2.0
// Graphs by hand: names, order, users, printing of values, the verifier.
#include "ir/graph.h"
#include "heap.h"
#include "op/op.h"

static ig_ctx *c;
static ig_graph *g;

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  c = test_heap_ctx(&heap);
  ig_sym *sym = c ? ig_sym_create(c) : NULL;
  g = sym ? ig_graph_create(c, sym) : NULL;
  if (sym) ig_ref_release(&sym->ref);
  return g ? 0 : -1;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  ig_graph_free(g);
  ig_ctx_free(c);
  return heap->live == 0 ? 0 : -1;
}

static ig_node *input(const char *name) {
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER};
  return ig_graph_push(c, g, &proto, name);
}

static ig_node *call(const char *target, const ig_value *args, size_t n) {
  ig_node proto = {.kind = IG_NODE_CALL, .op = ig_op_find(c, target), .args = args, .npos = n};
  char base[64];
  assert_non_null(proto.op);
  proto.target = ig_op_target(proto.op);
  return ig_graph_push(c, g, &proto, ig_name_of_op(proto.op->schema.name, base, sizeof base));
}

static ig_node *output(ig_node *n) {
  ig_value v = ig_of_node(n);
  ig_node proto = {.kind = IG_NODE_OUTPUT, .args = &v, .npos = 1, .target = "output"};
  return ig_graph_push(c, g, &proto, "output");
}

static void prints(char *text, const char *want) {
  assert_non_null(text);
  assert_string_equal(text, want);
  ig_text_free(c, text);
}

static void names(void **state) {
  (void)state;
  const char *bases[] = {"add", "add",   "sum", "sum", "x_1",  "x",   "x",
                         "x",   "add_1", "3d",  "a.b", "add_", "add_"};
  const char *wants[] = {"add", "add_1", "sum_1", "sum_2", "x_1",  "x",     "x_2",
                         "x_3", "add_2", "_3d",   "a_b",   "add_", "add__1"};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    assert_string_equal(ig_graph_name(c, g, bases[i]), wants[i]);
  }
  char text[32];
  assert_string_equal(ig_name_of_op("__and__", text, sizeof text), "and");
  assert_string_equal(ig_name_of_op("numpy_T", text, sizeof text), "numpy_t");
  assert_string_equal(ig_name_of_op("_to_copy", text, sizeof text), "_to_copy");
  assert_string_equal(ig_name_of_path("p_", "fc.0.weight", text, sizeof text), "p_fc_0_weight");
}

static void users_and_changes(void **state) {
  (void)state;
  ig_node *x = input("x");
  ig_node *y = input("y");
  ig_node *a = call("aten::add.Tensor", (ig_value[]){ig_of_node(x), ig_of_node(x)}, 2);
  ig_node *b = call("aten::mul.Tensor", (ig_value[]){ig_of_node(a), ig_of_node(y)}, 2);
  ig_node *dead = call("aten::relu", (ig_value[]){ig_of_node(b)}, 1);
  (void)output(b);
  assert_int_equal(x->users, 1);  // one node, though twice
  assert_int_equal(b->users, 2);
  assert_int_equal(ig_graph_verify(c, g), IG_OK);
  assert_int_equal(ig_graph_dce(g), 1);
  assert_null(ig_graph_find(g, "relu"));
  (void)dead;
  assert_true(ig_graph_replace(c, g, y, x));
  assert_int_equal(x->users, 2);
  assert_int_equal(y->users, 0);
  ig_graph_erase(g, y);
  assert_int_equal(ig_graph_verify(c, g), IG_OK);
  prints(ig_graph_code(c, g),
         "\n\n\ndef forward(self, x):\n"
         "    add = torch.ops.aten.add.Tensor(x, x)\n"
         "    mul = torch.ops.aten.mul.Tensor(add, x);  add = x = None\n"
         "    return (mul,)\n    ");
  prints(ig_graph_text(c, g),
         "graph():\n"
         "    %x : [num_users=2] = placeholder[target=x]\n"
         "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, "
         "%x), kwargs = {})\n"
         "    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add, "
         "%x), kwargs = {})\n"
         "    return (mul,)");
}

static void values(void **state) {
  (void)state;
  ig_node *x = input("x");
  ig_value list[] = {ig_of_node(x), ig_of_f64(1e-5), ig_of_bool(true)};
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_value args[] = {ig_of_list(list, 3),
                     ig_of_ints((ig_int[]){ig_const(2), ig_const(-1)}, 2),
                     ig_none(),
                     ig_of_str("don't"),
                     ig_of_str("floor"),
                     ig_of_dtype(IG_BF16),
                     ig_of_device((ig_device){IG_DEVICE_CUDA, 1}),
                     layout,
                     ig_of_memory_format(IG_CHANNELS_LAST),
                     ig_of_complex(1, -0.5),
                     ig_of_complex(0, 2)};
  (void)output(call("aten::relu", args, sizeof args / sizeof *args));
  prints(ig_graph_code(c, g),
         "\n\n\ndef forward(self, x):\n"
         "    relu = torch.ops.aten.relu.default([x, 1e-05, True], [2, -1], None, \"don't\", "
         "'floor', torch.bfloat16, device(type='cuda', index=1), torch.strided, "
         "torch.channels_last, (1-0.5j), 2j);  x = None\n"
         "    return (relu,)\n    ");
  prints(ig_graph_text(c, g),
         "graph():\n"
         "    %x : [num_users=1] = placeholder[target=x]\n"
         "    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = "
         "([%x, 1e-05, True], [2, -1], None, don't, floor, torch.bfloat16, cuda:1, torch.strided, "
         "torch.channels_last, (1-0.5j), 2j), kwargs = {})\n"
         "    return (relu,)");
}

static void verifier(void **state) {
  (void)state;
  ig_node *x = input("x");
  ig_node *a = call("aten::relu", (ig_value[]){ig_of_node(x)}, 1);
  assert_int_equal(ig_graph_verify(c, g), IG_ASSERTION);
  test_error_has(c, "the last node is not an output");
  ig_node *out = output(a);
  assert_int_equal(ig_graph_verify(c, g), IG_OK);
  ig_graph_move(g, x, out);
  assert_int_equal(ig_graph_verify(c, g), IG_ASSERTION);
  test_error_has(c, "node 'relu' reads a node that comes later");
  ig_graph_move(g, x, a);
  a->users = 5;
  assert_int_equal(ig_graph_verify(c, g), IG_ASSERTION);
  test_error_has(c, "node 'relu' has a wrong count of users");
  a->users = 1;
  const char *name = a->name;
  a->name = x->name;
  assert_int_equal(ig_graph_verify(c, g), IG_ASSERTION);
  test_error_has(c, "node 'x' has a name that is not its own");
  a->name = name;
  assert_int_equal(ig_graph_verify(c, g), IG_OK);
}

// Capture is linear: names, users and operands of a long graph take no time worth noticing.
static void long_graph(void **state) {
  (void)state;
  ig_node *n = input("x");
  for (int i = 0; i < 50000; i++) {
    n = call("aten::add.Tensor", (ig_value[]){ig_of_node(n), ig_of_node(n)}, 2);
  }
  assert_string_equal(n->name, "add_49999");
  (void)output(n);
  assert_int_equal(ig_graph_verify(c, g), IG_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names, setup, teardown),
      cmocka_unit_test_setup_teardown(users_and_changes, setup, teardown),
      cmocka_unit_test_setup_teardown(values, setup, teardown),
      cmocka_unit_test_setup_teardown(verifier, setup, teardown),
      cmocka_unit_test_setup_teardown(long_graph, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
