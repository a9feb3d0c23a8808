// SPDX-License-Identifier: Apache-2.0
// Trees of modules rebuilt from module stacks: graphs as PyTorch prints them, shared modules,
// weights of others, several results, lack of memory.
#include "ingot/aten.h"
#include "ingot/pass.h"

#include "fixture.h"  // last: it has a global c

static ig_tensor *zeros(int64_t rows, int64_t cols) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int64_t i = 0; t && i < rows * cols; i++) ((float *)ig_tensor_data(t))[i] = 0;
  return t;
}

// The root, and the module of that path in it; NULL: the root alone.
static void enter(const char *path, const char *type) {
  ig_module_level levels[] = {{"L__self__", "", "M"}, {path, path, type}};
  ig_capture_set_modules(c, levels, path ? 2 : 1);
}

#define ROOT NULL, NULL
#define LIN "lin", "Linear"
#define ACT "act", "Act"

// lin twice, act (two results, a buffer that is written) once.
static ig_program *capture(bool same) {
  ig_program *p = NULL;
  ig_tensor *w = zeros(2, 2);
  ig_tensor *b = zeros(2, 2);
  if (!w || !b || ig_capture_begin(c) != IG_OK) return NULL;
  ig_tensor *weight = ig_capture_param(c, "lin.weight", w);
  ig_tensor *seen = ig_capture_buffer(c, "act.seen", b);
  ig_tensor *x = ig_capture_input_like(c, "x", w);
  enter(LIN);
  ig_tensor *y = ig_mm(c, x, weight);
  enter(ACT);
  const ig_op *add = ig_op_find(c, "aten::add_.Tensor");
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  if (add && seen && y) {
    ig_call(c, add, (ig_value[]){ig_of_tensor(seen), ig_of_tensor(y), ig_of_i64(1)}, outs);
  }
  ig_tensor *left = ig_relu(c, y);
  ig_tensor *right = ig_sigmoid(c, y);
  enter(LIN);
  ig_tensor *z = same ? ig_mm(c, left, weight) : ig_mm(c, weight, left);
  enter(ROOT);
  ig_tensor *sum = ig_add_tensor(c, z, right);
  ig_value out = ig_of_tensor(sum);
  return ig_capture_end_program(c, &out, 1, &p) == IG_OK ? p : NULL;
}

static ig_module_tree *tree_of(bool same) {
  ig_program *p = capture(same);
  ig_program *q = NULL;
  ig_module_tree *t = NULL;
  if (p && ig_program_functionalize(c, p, &q) == IG_OK) (void)!ig_program_unflatten(c, q, &t);
  ig_program_free(p);
  ig_program_free(q);
  return t;
}

static void prints(const ig_module_entry *e, const char *path, const char *want) {
  assert_string_equal(e->path, path);
  char *text = ig_graph_text(c, e->graph);
  assert_string_equal(text, want);
  ig_text_free(c, text);
}

// Names are whole, whatever they contain; equal stacks are one.
static void names_with_delimiters(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = NULL;
  ig_module_tree *t = NULL;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = ig_capture_input_like(c, "x", zeros(2, 2));
  enter("a,b", "A");
  x = ig_relu(c, x);
  enter("c;d", "B");
  x = ig_sigmoid(c, x);
  enter("a,b", "A");
  x = ig_relu(c, x);
  ig_value out = ig_of_tensor(x);
  assert_int_equal(ig_capture_end_program(c, &out, 1, &p), IG_OK);
  const ig_module_level *first = NULL;
  const ig_module_level *again = NULL;
  assert_int_equal(ig_node_modules(ig_graph_find(ig_program_graph(p), "relu"), &first), 2);
  assert_int_equal(ig_node_modules(ig_graph_find(ig_program_graph(p), "relu_1"), &again), 2);
  assert_ptr_equal(first, again);
  assert_string_equal(first[1].path, "a,b");
  assert_int_equal(ig_program_unflatten(c, p, &t), IG_OK);
  const ig_module_entry *at = NULL;
  assert_int_equal(ig_module_tree_entries(t, &at), 3);
  assert_string_equal(at[1].path, "a,b");
  assert_string_equal(at[2].path, "c;d");
  ig_module_tree_free(t);
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void a_graph_per_module(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_module_tree *t = tree_of(true);
  if (!t) fail_msg("%s", ig_ctx_error(c));
  const ig_module_entry *at = NULL;
  assert_int_equal(ig_module_tree_entries(t, &at), 3);
  prints(
      &at[0], "",
      "graph():\n"
      "    %x : [num_users=1] = placeholder[target=x]\n"
      "    %lin : [num_users=1] = call_module[target=lin](args = (%x,), kwargs = {})\n"
      "    %act : [num_users=2] = call_module[target=act](args = (%lin,), kwargs = {})\n"
      "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%act, 0), "
      "kwargs = {})\n"
      "    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%act, 1), "
      "kwargs = {})\n"
      "    %lin_1 : [num_users=1] = call_module[target=lin](args = (%getitem,), kwargs = {})\n"
      "    %add_1 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = "
      "(%lin_1, %getitem_1), kwargs = {})\n"
      "    return (add_1,)");
  prints(&at[1], "lin",
         "graph():\n"
         "    %x : [num_users=1] = placeholder[target=x]\n"
         "    %weight : [num_users=1] = get_attr[target=weight]\n"
         "    %mm : [num_users=1] = call_function[target=torch.ops.aten.mm.default](args = (%x, "
         "%weight), kwargs = {})\n"
         "    return mm");
  prints(
      &at[2], "act",
      "graph():\n"
      "    %mm : [num_users=3] = placeholder[target=mm]\n"
      "    %seen : [num_users=2] = get_attr[target=seen]\n"
      "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%seen, "
      "%mm), kwargs = {})\n"
      "    %copy_ : [num_users=0] = call_function[target=torch.ops.aten.copy_](args = (%seen, "
      "%add), kwargs = {})\n"
      "    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = "
      "(%mm,), kwargs = {})\n"
      "    %sigmoid : [num_users=1] = call_function[target=torch.ops.aten.sigmoid.default](args "
      "= (%mm,), kwargs = {})\n"
      "    return [relu, sigmoid]");
  ig_module_tree_free(t);
  ig_scope_close(c, s);
}

static void another_call_gets_another_graph(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_module_tree *t = tree_of(false);
  if (!t) fail_msg("%s", ig_ctx_error(c));
  const ig_module_entry *at = NULL;
  assert_int_equal(ig_module_tree_entries(t, &at), 4);
  prints(&at[3], "lin@1",
         "graph():\n"
         "    %relu : [num_users=1] = placeholder[target=relu]\n"
         "    %weight : [num_users=1] = get_attr[target=weight]\n"
         "    %mm_1 : [num_users=1] = call_function[target=torch.ops.aten.mm.default](args = "
         "(%weight, %relu), kwargs = {})\n"
         "    return mm_1");
  ig_module_tree_free(t);
  ig_scope_close(c, s);
}

static ig_status session(ig_ctx *ctx) {
  c = ctx;
  ig_scope s = ig_scope_open(c);
  ig_module_tree *t = tree_of(false);
  ig_status st = ig_ctx_status(c);
  ig_module_tree_free(t);
  ig_scope_close(c, s);
  return st;
}

static void lack_of_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_with_delimiters, setup, teardown),
      cmocka_unit_test_setup_teardown(a_graph_per_module, setup, teardown),
      cmocka_unit_test_setup_teardown(another_call_gets_another_graph, setup, teardown),
      cmocka_unit_test(lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
