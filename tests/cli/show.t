$ ingot show mlp.pt2
def forward(self, p_fc1_weight, p_fc1_bias, p_fc2_weight, p_fc2_bias, x):
    linear = torch.ops.aten.linear.default(x, p_fc1_weight, p_fc1_bias);  x = p_fc1_weight = p_fc1_bias = None
    relu = torch.ops.aten.relu.default(linear);  linear = None
    linear_1 = torch.ops.aten.linear.default(relu, p_fc2_weight, p_fc2_bias);  relu = p_fc2_weight = p_fc2_bias = None
    return (linear_1,)

$ ingot show --graph mlp.pt2
graph():
    %p_fc1_weight : [num_users=1] = placeholder[target=p_fc1_weight]
    %p_fc1_bias : [num_users=1] = placeholder[target=p_fc1_bias]
    %p_fc2_weight : [num_users=1] = placeholder[target=p_fc2_weight]
    %p_fc2_bias : [num_users=1] = placeholder[target=p_fc2_bias]
    %x : [num_users=1] = placeholder[target=x]
    %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_fc1_weight, %p_fc1_bias), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%linear,), kwargs = {})
    %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%relu, %p_fc2_weight, %p_fc2_bias), kwargs = {})
    return (linear_1,)

$ ingot show --tree cnn.pt2
Cnn, 597 elements
  aten.relu.default
  aten.flatten.using_ints
  aten.mul.Tensor
  aten.add.Tensor
  aten.cat.default
  aten.softmax.int
  aten.chunk.default
  aten.sub.Tensor
  aten.gelu.default
  aten.mean.dim
  aten.transpose.int
  conv: Conv2d, 224 elements
    aten.conv2d.default
  norm: BatchNorm2d, 33 elements
    aten.batch_norm.default
  pool: MaxPool2d
    aten.max_pool2d.default
  average: AdaptiveAvgPool2d
    aten.adaptive_avg_pool2d.default
  drop: Dropout
    aten.dropout.default
  head: Linear, 330 elements
    aten.linear.default

$ ingot show counter.pt2 --grep 'add_?\.'
    add_ = torch.ops.aten.add_.Tensor(b_count, 1);  b_count = None
    add__1 = torch.ops.aten.add_.Tensor(b_total, sum_1);  b_total = sum_1 = None
    add = torch.ops.aten.add.Tensor(mul, add__1);  mul = add__1 = None

$ ingot show counter.pt2 --grep nothing_like_it
2> ingot: counter.pt2: no line matches 'nothing_like_it'
[1]

$ ingot show counter.pt2 --grep '('
2> ingot show: --grep: '(': Unmatched ( or \(
2> usage: ingot show FILE [--code | --graph | --tree | --plan] [--grep REGEX] [OPTIONS]
2>        ingot show --help has details
[2]

$ ingot show counter.pt2 --tree --graph
2> ingot show: --code, --graph, --tree and --plan exclude each other
2> usage: ingot show FILE [--code | --graph | --tree | --plan] [--grep REGEX] [OPTIONS]
2>        ingot show --help has details
[2]

$ ingot show mlp.in.npz
2> ingot: mlp.in.npz: this NumPy archive (.npz) contains no program; ingot info lists what it contains
[3]

$ ingot show mlp.pt2 --grep linear --color=always | cat -v
    ^[[31mlinear^[[0m = torch.ops.aten.^[[31mlinear^[[0m.default(x, p_fc1_weight, p_fc1_bias);  x = p_fc1_weight = p_fc1_bias = None
    relu = torch.ops.aten.relu.default(^[[31mlinear^[[0m);  ^[[31mlinear^[[0m = None
    ^[[31mlinear^[[0m_1 = torch.ops.aten.^[[31mlinear^[[0m.default(relu, p_fc2_weight, p_fc2_bias);  relu = p_fc2_weight = p_fc2_bias = None
    return (^[[31mlinear^[[0m_1,)

$ ingot show counter.dynamo.onnx
<ir_version: 10, opset_import: ["" : 20]>
main_graph (float32[3, 4] x) => (float32[3, 4] add_2) {
  total = float32[4] {0.5071576833724976, -0.13978120684623718, 0.00984604936093092, 0.1222548857331276}
  val_1 = int64[1] {0}
  [node_sum_1] sum_1 = ReduceSum <noop_with_empty_axes = 0, keepdims = 0> (x, val_1)  # float32[4]
  [node_add_1] add_1 = Add (total, sum_1)  # float32[4]
  [node_add_2] add_2 = Add (x, add_1)  # float32[3, 4]
}

# TorchScript: its sources
$ ingot show counter.ts.pt
# code/__torch__.py
class Counter(Module):
  __parameters__ = []
  __buffers__ = ["count", "total", ]
  count : Tensor
  total : Tensor
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Counter,
    x: Tensor) -> Tensor:
    total = self.total
    count = self.count
    _0 = torch.add_(count, CONSTANTS.c0)
    _1 = torch.add_(total, torch.sum(x, [0]))
    return torch.add(torch.mul(x, _0), _1)

$ ingot show counter.ts.pt --grep 'def '
  def forward(self: __torch__.Counter,

$ ingot show counter.ts.pt --graph --grep 'prim::GetAttr'
  %total.1 : Tensor = prim::GetAttr[name="total"](%self.1)
  %count.1 : Tensor = prim::GetAttr[name="count"](%self.1)

$ ingot show counter.ts.pt --tree
2> ingot: counter.ts.pt: this TorchScript archive contains no program; ingot info lists what it contains
[3]

$ ingot show mlp.pt2 --plan --grep 'aten|steps'
   0  prepared     aten.linear.default(float32[3, 4] input 4, float32[8, 4] constant, float32[8] constant) -> float32[3, 8] slab+0  # linear
   1  prepared     aten.relu.default(float32[3, 8] slab+0) -> float32[3, 8] slab+0 (in place)  # relu
   2  prepared     aten.linear.default(float32[3, 8] slab+0, float32[2, 8] constant, float32[2] constant) -> float32[3, 2] output 0  # linear_1
3 steps: 0 layers, 0 changes of layout, 0 chains, 0 interpreted, 0 kernels that allocate

$ ingot show counter.dynamo.onnx
<ir_version: 10, opset_import: ["" : 20]>
main_graph (float32[3, 4] x) => (float32[3, 4] add_2) {
  total = float32[4] {0.5071576833724976, -0.13978120684623718, 0.00984604936093092, 0.1222548857331276}
  val_1 = int64[1] {0}
  [node_sum_1] sum_1 = ReduceSum <noop_with_empty_axes = 0, keepdims = 0> (x, val_1)  # float32[4]
  [node_add_1] add_1 = Add (total, sum_1)  # float32[4]
  [node_add_2] add_2 = Add (x, add_1)  # float32[3, 4]
}

$ ingot show counter.dynamo.onnx --grep ReduceSum
  [node_sum_1] sum_1 = ReduceSum <noop_with_empty_axes = 0, keepdims = 0> (x, val_1)  # float32[4]

$ ingot show counter.dynamo.onnx --aten
def forward(self, p_total, x):
    sum_1 = torch.ops.aten.sum.dim_IntList(x, [0], dtype = torch.float32)
    add = torch.ops.aten.add.Tensor(p_total, sum_1);  p_total = sum_1 = None
    add_1 = torch.ops.aten.add.Tensor(x, add);  x = add = None
    return (add_1,)
