// SPDX-License-Identifier: Apache-2.0
// Graphs that change: readers in order, arguments, sub-graphs, copies, objects of a host, lint, the
// printed forms that captures alone do not show.
#include "heap.h"
#include "ir/graph.h"
#include "op/op.h"

static ig_ctx *c;
static ig_graph *g;
static int held;  // references to host objects

static void host_retain(void *object) {
  (void)object;
  held++;
}
static void host_release(void *object) {
  (void)object;
  held--;
}
static void host_print(ig_str *s, void *object, bool code) {
  ig_str_add(s, code ? "<%s>" : "%s", (const char *)object);
}
static const ig_host host = {host_retain, host_release, host_print, NULL};

static ig_graph *graph_create(void) {
  ig_sym *sym = ig_sym_create(c);
  ig_graph *made = sym ? ig_graph_create(c, sym) : NULL;
  if (sym) ig_ref_release(&sym->ref);
  return made;
}

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  held = 0;
  c = test_heap_ctx(&heap);
  if (c) ig_mode_set_host(c, &host, NULL);
  g = c ? graph_create() : NULL;
  return g ? 0 : -1;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  ig_graph_free(g);
  ig_ctx_free(c);
  return heap->live == 0 && held == 0 ? 0 : -1;
}

static ig_node *input(ig_graph *to, const char *name) {
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER};
  return ig_graph_push(c, to, &proto, name);
}

static ig_node *relu(ig_graph *to, ig_node *of) {
  const ig_op *op = ig_op_find(c, "aten::relu");
  ig_value arg = ig_of_node(of);
  ig_node proto = {
      .kind = IG_NODE_CALL, .op = op, .target = ig_op_target(op), .args = &arg, .npos = 1};
  return ig_graph_push(c, to, &proto, "relu");
}

static ig_node *call(ig_callee callee, const char *target, const ig_value *args, size_t n) {
  ig_node proto = {
      .kind = IG_NODE_CALL, .callee = callee, .target = target, .args = args, .npos = n};
  return ig_graph_push(c, g, &proto, ig_sym_base(target));
}

static ig_node *output(ig_graph *to, ig_node *n, bool bare) {
  ig_value v = ig_of_node(n);
  ig_node proto = {.kind = IG_NODE_OUTPUT, .args = &v, .npos = 1, .target = "output", .bare = bare};
  return ig_graph_push(c, to, &proto, "output");
}

static void prints(char *text, const char *want) {
  assert_non_null(text);
  assert_string_equal(text, want);
  ig_text_free(c, text);
}

static void check_users(const ig_node *n, ig_node *const *want, size_t count) {
  size_t i = 0;
  for (const ig_use *u = n->first_use; u && i < count; u = u->next) {
    assert_ptr_equal(u->user, want[i++]);
  }
  assert_int_equal(i, count);
  assert_int_equal(n->users, count);
}

static void readers(void **state) {
  (void)state;
  ig_node *x = input(g, "x");
  ig_node *y = input(g, "y");
  ig_node *a = relu(g, x);
  ig_node *b = relu(g, x);
  ig_node *d = relu(g, a);
  check_users(x, (ig_node *[]){a, b}, 2);
  ig_value list[] = {ig_of_node(y), ig_of_node(x), ig_of_node(y)};
  ig_value args[] = {ig_of_list(list, 3)};
  assert_true(ig_node_set_args(c, d, args, 1, 0, NULL));
  check_users(x, (ig_node *[]){a, b, d}, 3);
  check_users(y, (ig_node *[]){d}, 1);
  check_users(a, NULL, 0);
  assert_int_equal(d->ninputs, 2);
  assert_true(ig_graph_replace(c, g, x, y));  // from the oldest reader on
  check_users(y, (ig_node *[]){a, b, d}, 3);
  check_users(x, NULL, 0);
  assert_int_equal(d->ninputs, 1);
  ig_graph_erase(g, b);
  assert_true(b->erased);
  check_users(y, (ig_node *[]){a, d}, 2);
  assert_null(ig_graph_find(g, "relu_1"));
  assert_true(ig_graph_replace(c, g, a, a));  // nothing happens, and it ends
}

static void sub_graphs(void **state) {
  (void)state;
  (void)input(g, "true_graph_1");
  ig_graph *sub = graph_create();
  (void)output(sub, relu(sub, input(sub, "x")), true);
  assert_string_equal(ig_graph_add_sub(c, g, "true_graph", sub), "true_graph_0");
  assert_string_equal(ig_graph_add_sub(c, g, "true_graph", sub), "true_graph_1");
  assert_string_equal(ig_graph_add_sub(c, g, "false_graph", sub), "false_graph_0");
  ig_node proto = {.kind = IG_NODE_ATTR, .target = "true_graph_0", .sub = sub};
  ig_node *attr = ig_graph_push(c, g, &proto, "true_graph_0");
  ig_graph_free(sub);  // held by the graph and by the node
  assert_int_equal(ig_graph_sub_count(g), 3);
  ig_graph *other = graph_create();
  assert_non_null(ig_graph_set_sub(c, g, "true_graph_1", other));
  ig_graph_free(other);
  assert_ptr_equal(ig_graph_find_sub(g, "true_graph_1"), other);
  assert_null(ig_graph_find_sub(g, "none"));
  (void)output(g, attr, false);
  ig_graph *copy = ig_graph_copy(c, g);
  assert_non_null(copy);
  ig_graph *inner = ig_graph_find_sub(copy, "true_graph_0");
  assert_ptr_not_equal(inner, sub);
  assert_ptr_equal(ig_graph_find(copy, "true_graph_0")->sub, inner);
  prints(ig_graph_code(c, inner),
         "\n\n\ndef forward(self, x):\n"
         "    relu = torch.ops.aten.relu.default(x);  x = None\n"
         "    return relu\n    ");
  assert_int_equal(ig_graph_verify(c, copy), IG_OK);
  ig_graph_free(copy);
  prints(ig_graph_readable(c, g, "Model", NULL),
         "class Model(torch.nn.Module):\n"
         "    def forward(self, true_graph_1):\n"
         "        # No stacktrace found for following nodes\n"
         "        true_graph_0 = self.true_graph_0\n"
         "        return (true_graph_0,)\n"
         "        \n"
         "    class true_graph_0(torch.nn.Module):\n"
         "        def forward(self, x):\n"
         "            # No stacktrace found for following nodes\n"
         "            relu = torch.ops.aten.relu.default(x);  x = None\n"
         "            return relu\n"
         "            \n"
         "    class true_graph_1(torch.nn.Module):\n"
         "        def forward(self):\n"
         "            pass\n"
         "            \n"
         "    class false_graph_0(torch.nn.Module):\n"
         "        def forward(self, x):\n"
         "            # No stacktrace found for following nodes\n"
         "            relu = torch.ops.aten.relu.default(x);  x = None\n"
         "            return relu\n"
         "            ");
}

static void callees(void **state) {
  (void)state;
  ig_node *x = input(g, "x");
  ig_value two[] = {ig_of_node(x), ig_of_i64(2)};
  ig_value object = {.kind = IG_KIND_OBJECT, .object = "thing"};
  ig_node *sum = call(IG_CALLEE_SYM, "_operator.ge", two, 2);
  ig_node *up = call(IG_CALLEE_SYM, "math.ceil", two, 1);
  ig_node *most = call(IG_CALLEE_SYM, "torch.sym_max", two, 2);
  ig_node *part = call(IG_CALLEE_GETITEM, "_operator.getitem", two, 2);
  (void)call(IG_CALLEE_SYM, "_operator.neg", two, 1);
  (void)call(IG_CALLEE_HOST, "_operator.matmul", two, 2);
  (void)call(IG_CALLEE_HOST, "_operator.iadd", two, 2);
  ig_value slice[] = {ig_none(), ig_of_node(up), ig_none()};
  ig_value pair[] = {ig_of_str("k"), ig_of_op(ig_op_find(c, "aten::relu"))};
  ig_value args[] = {ig_of_tuple(two, 1), ig_of_list(slice, 3), ig_of_list(pair, 2), object};
  args[1].seq = IG_SEQ_SLICE;
  args[2].seq = IG_SEQ_DICT;
  const char *keys[] = {"q"};
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOST,
                   .target = "my.lib.fn",
                   .args = args,
                   .npos = 3,
                   .nkw = 1,
                   .keys = keys};
  ig_node *fn = ig_graph_push(c, g, &proto, "fn");
  ig_node method = {.kind = IG_NODE_METHOD, .target = "view", .args = two, .npos = 2};
  (void)ig_graph_push(c, g, &method, "view");
  ig_node module = {.kind = IG_NODE_MODULE, .target = "layers.0.fc", .args = two, .npos = 1};
  (void)ig_graph_push(c, g, &module, "fc");
  (void)output(g, fn, true);
  assert_int_equal(held, 1);
  (void)sum;
  (void)most;
  (void)part;
  prints(
      ig_graph_code(c, g),
      "\n\n\ndef forward(self, x):\n"
      "    ge = x >= 2\n"
      "    ceil = math_ceil(x)\n"
      "    sym_max = torch.sym_max(x, 2)\n"
      "    getitem = x[2]\n"
      "    neg = -x\n"
      "    matmul = x @ 2\n"
      "    x += 2;  iadd = x\n"
      "    fn = my_lib_fn((x,), slice(None, ceil, None), {'k': torch.ops.aten.relu.default}, q = "
      "<thing>);  ceil = None\n"
      "    view = x.view(2)\n"
      "    fc = getattr(self.layers, \"0\").fc(x);  x = None\n"
      "    return fn\n    ");
  prints(ig_node_text(c, fn),
         "%fn : [num_users=1] = call_function[target=my.lib.fn](args = ((%x,), slice(None, ceil, "
         "None), {k: aten.relu.default}), kwargs = {q: thing})");
}

static void trees(void **state) {
  (void)state;
  ig_node *x = input(g, "p_0");
  (void)input(g, "q");
  (void)output(g, relu(g, x), false);
  const char *names[] = {"p", "q"};
  const char *keys[] = {"q"};
  ig_tree_args tree = {names, 2, 1, keys};
  prints(ig_graph_tree_code(c, g, &tree),
         "\n\n\ndef forward(self, p, q):\n"
         "    p_0, q, = fx_pytree.tree_flatten_spec(([p], {'q':q}), self._in_spec)\n"
         "    relu = torch.ops.aten.relu.default(p_0);  p_0 = None\n"
         "    return pytree.tree_unflatten((relu,), self._out_spec)\n    ");
  ig_tree_args alone = {names, 2, 2, NULL};
  char *text = ig_graph_tree_code(c, g, &alone);
  assert_non_null(strstr(text, "tree_flatten_spec([p, q], self._in_spec)"));
  ig_text_free(c, text);
}

static void order(void **state) {
  (void)state;
  ig_node *x = input(g, "x");
  ig_node *a = relu(g, x);
  ig_node *b = relu(g, a);
  assert_true(ig_node_precedes(x, b) && ig_node_precedes(a, b));
  assert_false(ig_node_precedes(b, a) || ig_node_precedes(a, a));
  ig_graph_move(g, b, a);
  assert_true(ig_node_precedes(b, a));
}

static void lint(void **state) {
  (void)state;
  ig_node *x = input(g, "x");
  ig_node *a = relu(g, x);
  ig_node *b = relu(g, a);
  assert_int_equal(ig_graph_lint(c, g), IG_OK);  // no output is needed
  ig_graph_move(g, a, NULL);
  assert_int_equal(ig_graph_lint(c, g), IG_RUNTIME);
  test_error_has(c, "Argument 'relu' of Node 'relu_1' was used before it has been defined!");
  ig_graph_move(g, a, b);
  assert_true(ig_graph_set_name(c, g, b, "x"));
  assert_int_equal(ig_graph_lint(c, g), IG_RUNTIME);
  test_error_has(c, "Node redefined name x!");
  assert_true(ig_graph_set_name(c, g, b, "other"));
  assert_int_equal(ig_graph_lint(c, g), IG_OK);
  assert_ptr_equal(ig_graph_find(g, "other"), b);
}

// A node that everybody reads: replacing it takes as long as it has readers, not longer.
static void many_readers(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  ig_node *x = input(g, "x");
  for (int i = 0; i < COUNT; i++) (void)relu(g, x);
  for (int i = 0; i < 200; i++) {
    ig_node *y = input(g, "y");
    ig_node *reader = relu(g, y);
    assert_true(ig_graph_replace(c, g, y, x));
    assert_ptr_equal(x->last_use->user, reader);
  }
  assert_int_equal(x->users, COUNT + 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(readers, setup, teardown),
      cmocka_unit_test_setup_teardown(sub_graphs, setup, teardown),
      cmocka_unit_test_setup_teardown(callees, setup, teardown),
      cmocka_unit_test_setup_teardown(trees, setup, teardown),
      cmocka_unit_test_setup_teardown(order, setup, teardown),
      cmocka_unit_test_setup_teardown(lint, setup, teardown),
      cmocka_unit_test_setup_teardown(many_readers, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
