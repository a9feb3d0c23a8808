// SPDX-License-Identifier: Apache-2.0
// Captures from C: printed forms as PyTorch prints them, constants, several results, rewriting,
// running.
#include "heap.h"
#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/grad.h"
#include "ir/graph.h"

static ig_ctx *c;

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  bool clean = ig_ctx_status(c) == IG_OK;
  if (!clean) print_error("left over: %s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  if (heap->live != 0) print_error("%ld blocks are left\n", heap->live);
  return clean && heap->live == 0 ? 0 : -1;
}

static void is_ok(void) {
  if (ig_ctx_status(c) != IG_OK) fail_msg("%s", ig_ctx_error(c));
}

static void prints(char *text, const char *want) {
  is_ok();
  assert_non_null(text);
  assert_string_equal(text, want);
  ig_text_free(c, text);
}

static ig_tensor *filled(int ndim, int64_t rows, int64_t cols, double value) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, ndim);
  for (int64_t i = 0; t && i < ig_tensor_numel(t); i++) {
    ((float *)ig_tensor_data(t))[i] = (float)value;
  }
  return t;
}

static ig_tensor *param(int ndim, int64_t rows, int64_t cols, double value) {
  ig_tensor *t = filled(ndim, rows, cols, value);
  ig_tensor_set_requires_grad(c, t, true);
  return t;
}

static ig_tensor *input(const char *name, int64_t rows, int64_t cols) {
  return ig_capture_input(c, name, IG_F32, (ig_int[]){ig_const(rows), ig_const(cols)}, 2);
}

static ig_program *end(ig_tensor *out) {
  ig_program *p = NULL;
  ig_value v = ig_of_tensor(out);
  if (ig_capture_end_program(c, &v, 1, &p) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return p;
}

static double run1(const ig_program *p, ig_tensor *x) {
  ig_value in = ig_of_tensor(x);
  ig_value out = ig_none();
  if (ig_program_run(c, p, &in, 1, &out) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return ig_tensor_get(out.tensor, 0);
}

// A buffer that is written and a parameter that the model uses as its own tensor.
static void state_and_writes(void **state) {
  (void)state;
  ig_tensor *scale = param(1, 2, 0, 2);
  ig_tensor *steps = filled(1, 1, 0, 0);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  assert_true(ig_capture_is_open(c));
  (void)ig_capture_param(c, "scale", scale);
  (void)ig_capture_buffer(c, "steps", steps);
  ig_tensor *x = ig_capture_input(c, "x", IG_F32, (ig_int[]){ig_const(2)}, 1);
  ig_value args[] = {ig_of_tensor(steps), ig_of_i64(1), ig_of_i64(1)};
  ig_value written[IG_MAX_RETURNS];
  ig_call(c, ig_op_find(c, "aten::add_.Tensor"), args, written);
  assert_ptr_equal(written[0].tensor, steps);
  ig_tensor *product = ig_mul_tensor(c, x, scale);
  ig_program *p = end(ig_add_tensor(c, product, steps));
  assert_true(ig_tensor_get(steps, 0) == 0);  // nothing was computed
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, p_scale, b_steps, x):\n"
         "    add_ = torch.ops.aten.add_.Tensor(b_steps, 1);  b_steps = None\n"
         "    mul = torch.ops.aten.mul.Tensor(x, p_scale);  x = p_scale = None\n"
         "    add = torch.ops.aten.add.Tensor(mul, add_);  mul = add_ = None\n"
         "    return (add,)\n    ");
  prints(ig_program_text(c, p),
         "graph():\n"
         "    %p_scale : [num_users=1] = placeholder[target=p_scale]\n"
         "    %b_steps : [num_users=1] = placeholder[target=b_steps]\n"
         "    %x : [num_users=1] = placeholder[target=x]\n"
         "    %add_ : [num_users=1] = call_function[target=torch.ops.aten.add_.Tensor](args = "
         "(%b_steps, 1), kwargs = {})\n"
         "    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, "
         "%p_scale), kwargs = {})\n"
         "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul, "
         "%add_), kwargs = {})\n"
         "    return (add,)");
  prints(ig_program_module_code(c, p),
         "\n\n\ndef forward(self, x):\n"
         "    x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)\n"
         "    scale = self.scale\n"
         "    steps = self.steps\n"
         "    add_ = torch.ops.aten.add_.Tensor(steps, 1);  steps = None\n"
         "    mul = torch.ops.aten.mul.Tensor(x, scale);  x = scale = None\n"
         "    add = torch.ops.aten.add.Tensor(mul, add_);  mul = add_ = None\n"
         "    return pytree.tree_unflatten((add,), self._out_spec)\n    ");
  ig_tensor *one = filled(1, 2, 0, 1);
  assert_true(run1(p, one) == 3);
  assert_true(run1(p, one) == 4);  // the buffer counts
  const ig_weight *w = NULL;
  assert_int_equal(ig_program_state(p, &w), 2);
  assert_string_equal(w[0].name, "scale");
  assert_ptr_equal(w[1].tensor, steps);
  const ig_input_spec *in = NULL;
  assert_int_equal(ig_program_inputs(p, &in), 3);
  assert_int_equal(in[0].kind, IG_INPUT_PARAMETER);
  assert_string_equal(in[0].target, "scale");
  assert_int_equal(in[1].kind, IG_INPUT_BUFFER);
  assert_true(in[1].persistent);
  assert_int_equal(in[2].kind, IG_INPUT_USER);
  ig_program_free(p);
}

static void results_and_defaults(void **state) {
  (void)state;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = input("x", 4, 3);
  ig_value parts;
  ig_split_tensor(c, x, ig_const(2), &parts);
  ig_value best[IG_MAX_RETURNS];
  ig_max_dim(c, parts.list.at[1].tensor, ig_const(1), best);
  ig_tensor *y = ig_add_tensor_with(c, best[0].tensor, best[0].tensor, ig_of_i64(2));
  ig_value list[] = {ig_of_tensor(y), ig_of_tensor(y)};
  ig_program *p = end(ig_sum(c, ig_cat(c, ig_of_list(list, 2))));
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, x):\n"
         "    split = torch.ops.aten.split.Tensor(x, 2);  x = None\n"
         "    getitem_1 = split[1];  split = None\n"
         "    max_1 = torch.ops.aten.max.dim(getitem_1, 1);  getitem_1 = None\n"
         "    getitem_2 = max_1[0];  max_1 = None\n"
         "    add = torch.ops.aten.add.Tensor(getitem_2, getitem_2, alpha = 2);  getitem_2 = None\n"
         "    cat = torch.ops.aten.cat.default([add, add]);  add = None\n"
         "    sum_1 = torch.ops.aten.sum.default(cat);  cat = None\n"
         "    return (sum_1,)\n    ");
  assert_true(run1(p, filled(2, 4, 3, 2)) == 24);
  ig_program_free(p);
}

// The state in another order than that of the placeholders; what is not named comes last.
static void order_of_state(void **state) {
  (void)state;
  ig_tensor *w = filled(1, 2, 0, 2);
  ig_tensor *b = filled(1, 2, 0, 1);
  ig_tensor *last = filled(1, 2, 0, 3);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  (void)ig_capture_param(c, "fc.weight", w);
  (void)ig_capture_param(c, "last", last);
  (void)ig_capture_buffer(c, "norm.mean", b);
  ig_capture_order_state(c, (const char *[]){"norm.mean", "absent", "fc.weight", "norm.mean"}, 4);
  ig_tensor *x = ig_capture_input(c, "x", IG_F32, (ig_int[]){ig_const(2)}, 1);
  ig_tensor *y = ig_mul_tensor(c, ig_add_tensor(c, x, b), w);
  ig_program *p = end(ig_mul_tensor(c, y, last));
  const ig_weight *found = NULL;
  assert_int_equal(ig_program_state(p, &found), 3);
  assert_string_equal(found[0].name, "norm.mean");
  assert_string_equal(found[1].name, "fc.weight");
  assert_string_equal(found[2].name, "last");
  assert_ptr_equal(found[0].tensor, b);
  const ig_input_spec *inputs = NULL;
  assert_int_equal(ig_program_inputs(p, &inputs), 4);
  assert_string_equal(inputs[0].target, "fc.weight");
  assert_string_equal(inputs[2].target, "norm.mean");
  ig_program_free(p);
}

// Placeholders in the order of reading; unused ones are removed, and of several the last is used.
static void arranged_state(void **state) {
  (void)state;
  ig_tensor *w = filled(1, 2, 0, 2);
  ig_tensor *b = filled(1, 2, 0, 1);
  ig_tensor *unread = filled(1, 2, 0, 3);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *first = ig_capture_param(c, "w", w);
  (void)ig_capture_param(c, "unread", unread);
  ig_tensor *buffer = ig_capture_buffer(c, "b", b);
  ig_tensor *x = ig_capture_input(c, "x", IG_F32, (ig_int[]){ig_const(2)}, 1);
  ig_tensor *y = ig_add_tensor(c, ig_add_tensor(c, x, first), buffer);
  ig_tensor *again = ig_capture_again(c, IG_STATE_PARAMETER, "w", w);
  y = ig_mul_tensor(c, y, again);
  ig_capture_arrange_state(c, (ig_tensor *[]){buffer, first, again, NULL, x},
                           (const size_t[]){0, 1, 1, 2, 3}, 5);
  ig_program *p = end(y);
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, b_b, p_w, p_w_1, x):\n"
         "    add = torch.ops.aten.add.Tensor(x, p_w_1);  x = None\n"
         "    add_1 = torch.ops.aten.add.Tensor(add, b_b);  add = b_b = None\n"
         "    mul = torch.ops.aten.mul.Tensor(add_1, p_w_1);  add_1 = p_w_1 = None\n"
         "    return (mul,)\n    ");
  const ig_weight *found = NULL;
  assert_int_equal(ig_program_state(p, &found), 3);  // the state is all of it
  ig_program_free(p);
}

// Undeclared real tensors become inputs; user inputs keep their names.
static void constants_and_names(void **state) {
  (void)state;
  ig_tensor *k = filled(2, 2, 2, 3);
  ig_tensor *w = filled(2, 2, 2, 1);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  (void)ig_capture_param(c, "x", w);
  (void)ig_capture_param(c, "again", w);  // shared: one placeholder, two names
  ig_tensor *x = input("p_x", 2, 2);
  ig_tensor *add = input("add", 2, 2);
  ig_tensor *y = ig_add_tensor(c, x, w);
  y = ig_add_tensor(c, y, k);
  y = ig_mul_tensor(c, y, k);
  ig_program *p = end(ig_mul_tensor(c, y, add));
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, p_x_1, c_lifted_tensor_0, p_x, add):\n"
         "    add_1 = torch.ops.aten.add.Tensor(p_x, p_x_1);  p_x = p_x_1 = None\n"
         "    add_2 = torch.ops.aten.add.Tensor(add_1, c_lifted_tensor_0);  add_1 = None\n"
         "    mul = torch.ops.aten.mul.Tensor(add_2, c_lifted_tensor_0);  add_2 = "
         "c_lifted_tensor_0 = None\n"
         "    mul_1 = torch.ops.aten.mul.Tensor(mul, add);  mul = add = None\n"
         "    return (mul_1,)\n    ");
  const ig_weight *list = NULL;
  assert_int_equal(ig_program_constants(p, &list), 1);
  assert_string_equal(list[0].name, "lifted_tensor_0");
  assert_ptr_equal(list[0].tensor, k);
  assert_int_equal(ig_program_state(p, &list), 2);
  assert_string_equal(list[1].name, "again");
  assert_ptr_equal(ig_program_find_weight(p, "again"), w);
  ig_value in[] = {ig_of_tensor(filled(2, 2, 2, 1)), ig_of_tensor(filled(2, 2, 2, 2))};
  ig_value out = ig_none();
  assert_int_equal(ig_program_run(c, p, in, 2, &out), IG_OK);
  assert_true(ig_tensor_get(out.tensor, 3) == 30);
  ig_program_free(p);
}

// A call that gives back its operand: from then on the call stands for it, as in PyTorch.
static void operand_returned(void **state) {
  (void)state;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = input("x", 2, 2);
  ig_tensor *same = ig_to_dtype(c, x, ig_of_dtype(IG_F32));
  assert_ptr_equal(same, x);
  ig_program *p = end(ig_mul_tensor(c, same, x));
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, x):\n"
         "    to = torch.ops.aten.to.dtype(x, torch.float32);  x = None\n"
         "    mul = torch.ops.aten.mul.Tensor(to, to);  to = None\n"
         "    return (mul,)\n    ");
  assert_true(run1(p, filled(2, 2, 2, 3)) == 9);
  ig_program_free(p);
}

static ig_program *mlp(void) {
  ig_tensor *w = param(2, 2, 3, 0.5);
  ig_tensor *b = param(1, 2, 0, 0.25);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  (void)ig_capture_param(c, "fc.weight", w);
  (void)ig_capture_param(c, "fc.bias", b);
  ig_tensor *x = input("x", 4, 3);
  return end(ig_sum(c, ig_relu(c, ig_linear_with(c, x, w, b))));
}

static void decomposed(void **state) {
  (void)state;
  ig_program *p = mlp();
  prints(ig_program_code(c, p),
         "\n\n\ndef forward(self, p_fc_weight, p_fc_bias, x):\n"
         "    linear = torch.ops.aten.linear.default(x, p_fc_weight, p_fc_bias);  x = p_fc_weight "
         "= p_fc_bias = None\n"
         "    relu = torch.ops.aten.relu.default(linear);  linear = None\n"
         "    sum_1 = torch.ops.aten.sum.default(relu);  relu = None\n"
         "    return (sum_1,)\n    ");
  ig_program *core = NULL;
  assert_int_equal(ig_program_decompose(c, p, NULL, &core), IG_OK);
  prints(ig_program_code(c, core),
         "\n\n\ndef forward(self, p_fc_weight, p_fc_bias, x):\n"
         "    permute = torch.ops.aten.permute.default(p_fc_weight, [1, 0]);  p_fc_weight = None\n"
         "    addmm = torch.ops.aten.addmm.default(p_fc_bias, x, permute);  p_fc_bias = x = "
         "permute = None\n"
         "    relu = torch.ops.aten.relu.default(addmm);  addmm = None\n"
         "    sum_1 = torch.ops.aten.sum.dim_IntList(relu, []);  relu = None\n"
         "    return (sum_1,)\n    ");
  ig_program *composite = NULL;
  ig_decompose_args args = {.size = sizeof args, .level = IG_DECOMPOSE_COMPOSITE};
  assert_int_equal(ig_program_decompose(c, p, &args, &composite), IG_OK);
  prints(ig_program_code(c, composite),
         "\n\n\ndef forward(self, p_fc_weight, p_fc_bias, x):\n"
         "    t = torch.ops.aten.t.default(p_fc_weight);  p_fc_weight = None\n"
         "    addmm = torch.ops.aten.addmm.default(p_fc_bias, x, t);  p_fc_bias = x = t = None\n"
         "    relu = torch.ops.aten.relu.default(addmm);  addmm = None\n"
         "    sum_1 = torch.ops.aten.sum.default(relu);  relu = None\n"
         "    return (sum_1,)\n    ");
  ig_tensor *x = filled(2, 4, 3, 1);
  assert_true(run1(p, x) == 14);
  assert_true(run1(core, x) == 14);
  assert_true(run1(composite, x) == 14);
  ig_program_free(composite);
  ig_program_free(core);
  ig_program_free(p);
}

static void joint(void **state) {
  (void)state;
  ig_program *p = mlp();
  ig_program *both = NULL;
  assert_int_equal(ig_program_joint(c, p, &both), IG_OK);
  is_ok();
  const ig_output_spec *outs = NULL;
  assert_int_equal(ig_program_outputs(both, &outs), 3);
  assert_int_equal(outs[0].kind, IG_OUTPUT_LOSS);
  assert_int_equal(outs[1].kind, IG_OUTPUT_GRAD_PARAMETER);
  assert_string_equal(outs[1].target, "fc.weight");
  assert_string_equal(outs[2].target, "fc.bias");
  ig_value in = ig_of_tensor(filled(2, 4, 3, 1));
  ig_value got[3] = {{0}};
  assert_int_equal(ig_program_run(c, both, &in, 1, got), IG_OK);
  assert_true(ig_tensor_get(got[0].tensor, 0) == 14);
  assert_int_equal(ig_tensor_numel(got[1].tensor), 6);
  for (int i = 0; i < 6; i++) assert_true(ig_tensor_get(got[1].tensor, i) == 4);
  for (int i = 0; i < 2; i++) assert_true(ig_tensor_get(got[2].tensor, i) == 4);
  ig_program_free(both);
  ig_program_free(p);
}

static void metadata(void **state) {
  (void)state;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = input("x", 2, 2);
  const ig_module_level level = {"L__self__", "", "model.M"};
  ig_capture_set_modules(c, &level, 1);
  x = ig_relu(ig_ctx_at(c, "model.py", 7), x);
  ig_capture_set_modules(c, NULL, 0);
  ig_program *p = end(ig_relu(c, x));
  const ig_graph *g = ig_program_graph(p);
  const ig_node *n = ig_graph_find(g, "relu");
  const ig_module_level *levels = NULL;
  assert_int_equal(ig_node_modules(n, &levels), 1);
  assert_string_equal(levels[0].key, "L__self__");
  assert_string_equal(levels[0].path, "");
  assert_string_equal(levels[0].type, "model.M");
  assert_int_equal(ig_node_modules(ig_graph_find(g, "relu_1"), &levels), 0);
  assert_null(levels);
  assert_int_equal(ig_node_val(n)->kind, IG_KIND_TENSOR);
  assert_true(ig_tensor_is_fake(ig_node_val(n)->tensor));
  ig_program_free(p);
}

static void mistakes(void **state) {
  (void)state;
  ig_graph *g = NULL;
  assert_int_not_equal(ig_capture_end(c, NULL, 0, &g), IG_OK);
  test_error_has(c, "no capture is open");
  assert_int_equal(ig_capture_begin(c), IG_OK);
  assert_int_not_equal(ig_capture_begin(c), IG_OK);
  test_error_has(c, "a capture is already open");
  ig_tensor *x = input("x", 2, 3);
  ig_tensor *y = input("y", 4, 5);
  ig_tensor *bad = ig_add_tensor(ig_ctx_at(c, "model.py", 14), x, y);
  ig_value v = ig_of_tensor(bad);
  assert_int_not_equal(ig_capture_end(c, &v, 1, &g), IG_OK);
  assert_null(g);
  ig_ctx_clear(c);
  assert_false(ig_capture_is_open(c));
  assert_int_equal(ig_capture_begin(c), IG_OK);
  (void)ig_relu(c, x);  // of the capture that has failed
  test_error_has(c, "found a fake tensor of another capture");
  ig_capture_abort(c);
  ig_program *p = mlp();
  ig_value in = ig_of_tensor(filled(2, 5, 3, 1));
  ig_value out;
  assert_int_not_equal(ig_program_run(c, p, &in, 1, &out), IG_OK);
  test_error_has(c, "Expected input at *args[0].shape[0] to be equal to 4, but got 5");
  assert_int_not_equal(ig_program_run(c, p, &in, 0, &out), IG_OK);
  test_error_has(c, "found 0 inputs, expected 1");
  ig_program_free(p);
}

static void halves(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)user;
  outputs[0] = ig_add_tensor(ctx, inputs[0], inputs[1]);
}

static void run_refuses(const ig_program *p, ig_value a, ig_value b, const char *text) {
  ig_value out;
  ig_value in[] = {a, b};
  assert_int_not_equal(ig_program_run(c, p, in, 2, &out), IG_OK);
  test_error_has(c, text);
}

// Running checks what modules of Python check, in the same words.
static void checked_when_run(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_dim dims[] = {{.kind = IG_DIM_NAMED, .name = "n", .lo = 3, .hi = 8}, {0}};
  ig_export_input in[] = {{"x", filled(2, 4, 2, 1), dims}, {"y", filled(2, 4, 2, 1), dims}};
  ig_export_args args = {
      .size = sizeof args, .fn = halves, .inputs = in, .ninputs = 2, .noutputs = 1};
  ig_program *p = NULL;
  assert_int_equal(ig_export(c, &args, &p), IG_OK);
  ig_value out;
  ig_value five = ig_of_tensor(filled(2, 5, 2, 1));
  assert_int_equal(ig_program_run(c, p, (ig_value[]){five, five}, 2, &out), IG_OK);
  run_refuses(p, five, ig_of_tensor(filled(2, 6, 2, 1)),
              "Expected input at *args[1].shape[0] to be equal to 5, but got 6");
  run_refuses(p, ig_of_tensor(filled(2, 9, 2, 1)), five,
              "Expected input at *args[0].shape[0] to be <= 8, but got 9");
  run_refuses(p, ig_of_tensor(filled(2, 2, 2, 1)), five,
              "Expected input at *args[0].shape[0] to be >= 3, but got 2");
  run_refuses(p, five, ig_of_tensor(filled(2, 5, 3, 1)),
              "Expected input at *args[1].shape[1] to be equal to 2, but got 3");
  run_refuses(p, five, ig_of_i64(3), "Expected input at *args[1] to be a tensor");
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void model(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  outputs[0] = ig_mul_tensor(ctx, inputs[0], *(ig_tensor **)user);
}

static ig_status session(ig_ctx *with) {
  c = with;
  ig_tensor *w = filled(2, 2, 2, 1);
  ig_tensor *x = filled(2, 2, 2, 1);
  if (!w || !x) return ig_ctx_status(c);
  ig_export_input in = {.name = "x", .example = x};
  ig_export_state state = {IG_STATE_PARAMETER, "w", w};
  ig_export_args args = {.size = sizeof args,
                         .fn = model,
                         .user = &w,
                         .inputs = &in,
                         .ninputs = 1,
                         .state = &state,
                         .nstate = 1,
                         .noutputs = 1};
  ig_program *p = NULL;
  ig_program *core = NULL;
  ig_status st = ig_export(c, &args, &p);
  if (st == IG_OK) st = ig_program_decompose(c, p, NULL, &core);
  char *text = core ? ig_program_module_code(c, core) : NULL;
  if (core && !text) st = ig_ctx_status(c);
  ig_text_free(c, text);
  ig_program_free(core);
  ig_program_free(p);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *warm = test_heap_ctx(&heap);
  assert_int_equal(session(warm), IG_OK);
  ig_ctx_free(warm);
  assert_int_equal(heap.live, 0);
  test_every_allocation_fails(session);
}

// Nodes that show self, from the newest to the oldest.
static size_t shown(const ig_tensor *self) {
  size_t n = 0;
  for (const ig_node *at = self->node; at; at = at->same) n++;
  return n;
}

// An in-place view changes self, not what was recorded of it. It looks only at the nodes that show
// self as it is, however long the graph is.
static void in_place_views(void **state) {
  (void)state;
  enum { STEPS = 100 };
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = ig_clone(c, input("x", 1, 4));
  size_t most = 0;
  for (int i = 0; i < STEPS; i++) {
    x = ig_relu_(c, ig_neg_(c, x));
    is_ok();
    most = shown(x) > most ? shown(x) : most;
    x = i % 2 ? ig_unsqueeze_(c, x, ig_const(0)) : ig_squeeze_(c, x);
    assert_int_equal(shown(x), 1);
  }
  assert_int_equal(most, 3);  // the view or the clone, neg_ and relu_
  ig_program *p = end(x);
  const ig_node *n = ig_graph_first(ig_program_graph(p));
  for (int i = -2; i < 3 * STEPS; i++, n = ig_node_next(n)) {
    int step = i < 0 ? 0 : (i + 1) / 3;  // each view is seen by the two calls behind it
    assert_int_equal(ig_node_val(n)->tensor->ndim, step % 2 ? 1 : 2);
  }
  ig_program_free(p);
}

// The fake of a constant belongs to its node alone, and outlives the node's change.
static void in_place_view_of_a_constant(void **state) {
  (void)state;
  ig_tensor *real = ig_tensor_empty(c, IG_U8, (const int64_t[]){4, 4}, 2);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = input("x", 1, 4);
  ig_scope s = ig_scope_open(c);
  (void)ig_unsqueeze_(c, real, ig_const(0));
  is_ok();
  ig_scope_close(c, s);
  ig_program_free(end(ig_neg(c, x)));
}

static void refused_in_place_view_of_a_constant(void **state) {
  (void)state;
  ig_tensor *real = ig_tensor_empty(c, IG_F32, (const int64_t[]){4, 4}, 2);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = input("x", 4, 4);
  ig_scope s = ig_scope_open(c);
  (void)ig_unsqueeze_(c, real, ig_const(9));
  assert_int_not_equal(ig_ctx_status(c), IG_OK);
  ig_ctx_clear(c);
  ig_scope_close(c, s);
  ig_tensor *sum = ig_add_tensor(c, x, real);  // the fake of the constant is still there
  is_ok();
  ig_program_free(end(sum));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(state_and_writes, setup, teardown),
      cmocka_unit_test_setup_teardown(results_and_defaults, setup, teardown),
      cmocka_unit_test_setup_teardown(constants_and_names, setup, teardown),
      cmocka_unit_test_setup_teardown(order_of_state, setup, teardown),
      cmocka_unit_test_setup_teardown(arranged_state, setup, teardown),
      cmocka_unit_test_setup_teardown(operand_returned, setup, teardown),
      cmocka_unit_test_setup_teardown(decomposed, setup, teardown),
      cmocka_unit_test_setup_teardown(joint, setup, teardown),
      cmocka_unit_test_setup_teardown(metadata, setup, teardown),
      cmocka_unit_test_setup_teardown(mistakes, setup, teardown),
      cmocka_unit_test_setup_teardown(checked_when_run, setup, teardown),
      cmocka_unit_test_setup_teardown(in_place_views, setup, teardown),
      cmocka_unit_test_setup_teardown(in_place_view_of_a_constant, setup, teardown),
      cmocka_unit_test_setup_teardown(refused_in_place_view_of_a_constant, setup, teardown),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
