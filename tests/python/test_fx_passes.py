# SPDX-License-Identifier: Apache-2.0
"""Passes over graphs: shapes, patterns, fusion, cutting, order."""

import operator

import pytest

import ingot as torch
from ingot import fx, nn
from ingot._subclasses.fake_tensor import FakeTensor
from ingot.fx.experimental.const_fold import split_const_subgraphs
from ingot.fx.experimental.proxy_tensor import make_fx
from ingot.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from ingot.fx.passes.fake_tensor_prop import FakeTensorProp
from ingot.fx.passes.infra.pass_base import PassResult
from ingot.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from ingot.fx.passes.shape_prop import ShapeProp
from ingot.fx.passes.split_module import split_module
from ingot.fx.passes.utils.fuser_utils import fuse_by_partitions, validate_partition
from ingot.fx.passes.utils.matcher_utils import SubgraphMatcher
from ingot.fx.subgraph_rewriter import replace_pattern_with_filters


def test_shapes():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))
    ShapeProp(traced).propagate(torch.ones(3, 4))
    metas = [n.meta["tensor_meta"] for n in traced.graph.nodes]
    assert [tuple(m.shape) for m in metas] == [(3, 4), (3, 2), (3, 2), (3, 2)]
    assert metas[1].requires_grad and metas[1].dtype is torch.float32 and metas[1].stride == (2, 1)


def test_fake_values():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))
    FakeTensorProp(traced).propagate(torch.ones(3, 4))
    values = [n.meta["val"] for n in traced.graph.nodes]
    assert all(isinstance(v, FakeTensor) for v in values)
    assert tuple(values[-1].shape) == (3, 2)


def test_patterns_are_replaced():
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x + y) * torch.relu(y + x))
    found = fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.sigmoid(a - b))
    assert len(found) == 2
    assert {n.target for n in traced.graph.nodes if n.op == "call_function"} == {
        operator.sub, torch.sigmoid, operator.mul,
    }  # fmt: skip
    assert traced(torch.ones(1), torch.ones(1)).item() == 0.25


def test_values_that_others_use_stay():
    traced = fx.symbolic_trace(lambda x: torch.relu(x + 1) + (x + 1))
    kept = fx.symbolic_trace(lambda x: (lambda s: torch.relu(s) + s)(x + 1))
    pattern = lambda x: torch.relu(x + 1)  # noqa: E731
    assert len(fx.replace_pattern(traced, pattern, lambda x: -x)) == 1
    assert fx.replace_pattern(kept, pattern, lambda x: -x) == []


def test_filters_choose_matches():
    traced = fx.symbolic_trace(lambda x: (x + 1) * (x + 2))
    found = replace_pattern_with_filters(
        traced, lambda x, k: x + k, lambda x, k: x - k,
        match_filters=[lambda match, graph, pattern: match.placeholder_nodes[1] == 2],
    )  # fmt: skip
    assert len(found) == 1 and len(found[0].replacements) == 1
    assert traced(torch.ones(1)).item() == -2


def test_literals_can_be_ignored():
    pattern = fx.symbolic_trace(lambda x: x + 3).graph
    graph = fx.symbolic_trace(lambda x: x + 5).graph
    assert not SubgraphMatcher(pattern).match(graph)
    assert len(SubgraphMatcher(pattern, ignore_literals=True).match(graph)) == 1


def test_empty_patterns_are_refused():
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(fx.Graph())


def test_equal_calls_become_one():
    traced = make_fx(lambda x: x.sin() + x.sin() + torch.rand_like(x))(torch.ones(2))
    result = CSEPass(get_CSE_banned_ops())(traced)
    assert result.modified
    assert [str(n.target) for n in result.graph_module.graph.nodes].count("aten.sin.default") == 1
    assert not CSEPass()(result.graph_module).modified


def test_order_of_passes():
    ran = []

    def one(gm):
        ran.append("one")
        return PassResult(gm, False)

    def two(gm):
        ran.append("two")
        return PassResult(gm, False)

    traced = fx.symbolic_trace(lambda x: x)
    PassManager([two, one], [this_before_that_pass_constraint(one, two)])(traced)
    assert ran == ["one", "two"]
    circle = [this_before_that_pass_constraint(one, two), this_before_that_pass_constraint(two, one)]
    with pytest.raises(RuntimeError, match="Circular dependency"):
        PassManager([one, two], circle)(traced)
    with pytest.raises(Exception, match="An error occurred when running the 'fails' pass"):

        def fails(gm):
            raise ValueError

        PassManager([fails])(traced)


def test_modules_are_cut():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            y = self.fc(x)
            return torch.relu(y) + x

    net = Net()
    traced = fx.symbolic_trace(net)
    cut = split_module(traced, net, lambda n: 0 if n.op == "call_module" else 1)
    assert [n.target for n in cut.graph.nodes if n.op == "call_module"] == ["submod_0", "submod_1"]
    x = torch.randn(1, 2)
    assert torch.equal(cut(x), net(x))


def test_nodes_are_fused():
    traced = fx.symbolic_trace(lambda x: (x + 1).relu() * x)
    add, relu = (n for n in traced.graph.nodes if n.name in ("add", "relu"))
    fused = fuse_by_partitions(traced, [[relu, add]])
    assert [n.op for n in fused.graph.nodes] == ["placeholder", "call_module", "call_function", "output"]
    assert fused(torch.ones(1)).item() == 2


def test_parts_with_a_way_back_are_refused():
    graph = fx.symbolic_trace(lambda x: (lambda a: a + torch.relu(a))(x + 1)).graph
    nodes = {n.name: n for n in graph.nodes}
    assert validate_partition([nodes["add"], nodes["relu"], nodes["add_1"]])
    assert not validate_partition([nodes["add"], nodes["add_1"]])


def test_constants_are_computed_once():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(2))
            self.b = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return (x + (self.a + self.b)) * torch.relu(self.a) - self.b

    net = Net()
    folded = split_const_subgraphs(net)
    calls = [n.target for n in folded.const_subgraph_module.graph.nodes if n.op == "call_function"]
    assert calls == [operator.add, torch.relu]
    x = torch.randn(2)
    assert torch.equal(folded(x), net(x))
    assert folded.has_folding_been_run
    assert split_const_subgraphs(fx.symbolic_trace(lambda x: x + 1)).const_subgraph_module is None
    skipped = split_const_subgraphs(net, skip_folding_node_fn=lambda n: n.target is torch.relu)
    assert [n.target for n in skipped.const_subgraph_module.graph.nodes if n.op == "call_function"] == [operator.add]
    assert torch.equal(skipped(x), net(x))


def test_sizes_and_targets():
    from ingot.fx.passes.graph_manipulation import get_size_of_all_nodes, get_tensor_meta, replace_target_nodes_with

    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
    get_size_of_all_nodes(gm, [torch.ones(1, 2)])
    x, linear, _ = gm.graph.nodes
    assert x.size_bytes == (8, 8) and linear.size_bytes == (12, 12 + 36)
    gm = fx.symbolic_trace(lambda x: torch.relu(x))
    replace_target_nodes_with(gm, "call_function", torch.relu, "call_function", torch.sigmoid)
    assert gm(torch.zeros(1)).tolist() == [0.5]
    with pytest.raises(RuntimeError, match="has no tensor metadata"):
        get_tensor_meta(next(iter(gm.graph.nodes)))


class Tagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(2, 2), nn.Linear(2, 2)
        self.p = nn.Parameter(torch.ones(2))

    def forward(self, x, y):
        a = self.l1(x) + self.p
        return torch.relu(self.l2(a) * y) + a


def test_split_by_tags():
    from ingot.fx.passes.split_utils import split_by_tags

    gm = fx.symbolic_trace(Tagged())
    tags = {"l1": "r", "add": "r", "l2": "g", "mul": "g", "relu": "b", "add_1": "b"}
    for node in gm.graph.nodes:
        if node.name in tags:
            node.tag = tags[node.name]
    made, paths = split_by_tags(gm, ["r", "g", "b"], return_fqn_mapping=True)
    assert [n.target for n in made.graph.nodes if n.op == "call_module"] == ["r", "g", "b"]
    assert paths == {"l1": "r.l1", "p": "r.p", "l2": "g.l2"}
    x = torch.ones(1, 2)
    assert torch.allclose(made(x, x), gm(x, x))
    assert torch.allclose(split_by_tags(gm, ["r", "g", "b"], return_tuple=True)(x, x), gm(x, x))
    with pytest.raises(AssertionError, match="reads from"):
        split_by_tags(gm, ["b", "g", "r"])


def test_orders_and_items():
    import typing

    from ingot.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
    from ingot.fx.passes.tools_common import get_node_target, legalize_graph, stable_topological_sort

    for sort in (legalize_graph, stable_topological_sort):
        gm = fx.symbolic_trace(lambda x: torch.relu(x) + x.neg())
        x, relu, neg, add, _ = gm.graph.nodes
        add.append(relu)
        with pytest.raises(RuntimeError):
            gm.graph.lint()
        sort(gm)
        gm.graph.lint()
    calls = [n for n in gm.graph.nodes if n.op.startswith("call_")]
    assert sorted(get_node_target({}, n) for n in calls) == ["_operator.add", "neg", "torch.relu"]

    def f(x: typing.Tuple[int, str], y: typing.List[float]):  # noqa: UP006
        return x[1], y[0]

    graph = fx.symbolic_trace(f).graph
    annotate_getitem_nodes(graph)
    assert [n.type for n in graph.nodes if n.op == "call_function"] == [str, float]


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(self.norm(self.conv(x)).relu())


def test_fusion_and_dropout():
    from ingot.fx.experimental.optimization import extract_subgraph, fuse, remove_dropout

    model = Normed().eval()
    fused = fuse(model)
    x = torch.randn(1, 3, 4, 4)
    assert "norm" not in fused.code and torch.allclose(fused(x), model(x), atol=1e-5)
    assert "drop" not in remove_dropout(model).code
    traced = fx.symbolic_trace(model)
    nodes = list(traced.graph.nodes)
    part = extract_subgraph(traced, nodes[2:4], [nodes[1]], [nodes[3]])
    assert [n.op for n in part.graph.nodes] == ["placeholder", "call_module", "call_method", "output"]


def test_normal_forms():
    from ingot.fx.experimental.normalize import NormalizeArgs, NormalizeOperators

    def pooled(x):
        return torch.nn.functional.dropout(x, 0.5)

    code = NormalizeArgs(fx.symbolic_trace(pooled)).transform().code
    assert "dropout(input = x, p = 0.5, training = True, inplace = False)" in code

    def sums(x, y):
        return torch.add(x, y) + torch.mul(x, 2)

    code = NormalizeOperators(fx.symbolic_trace(sums)).transform().code
    assert "x + y" in code and "x * 2" in code


def test_products_with_one_operand_are_merged():
    from ingot.fx.experimental.merge_matmul import merge_matmul

    class Products(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(3, 2))

        def forward(self, x, y):
            return torch.matmul(x, self.w) + 1, torch.matmul(y, self.w)

    model = Products()
    merged = merge_matmul(model)
    assert len(merged.graph.find_nodes(op="call_function", target=torch.matmul)) == 1
    x, y = torch.randn(2, 3), torch.randn(4, 3)
    assert all(torch.allclose(a, b) for a, b in zip(merged(x, y), model(x, y), strict=True))

    class Chain(nn.Module):
        def forward(self, x, y):
            return torch.matmul(torch.matmul(x, y), y)

    assert len(merge_matmul(Chain()).graph.find_nodes(op="call_function", target=torch.matmul)) == 2


def test_lists_of_passes():
    from ingot.fx.passes.pass_manager import PassManager, inplace_wrapper, loop_pass, this_before_that_pass_constraint

    ran = []

    def one(m):
        ran.append("one")
        return m

    def two(m):
        ran.append("two")
        return m

    ordered = this_before_that_pass_constraint(one, two)
    assert PassManager([one, two], [ordered])(3) == 3 and ran == ["one", "two"]
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        PassManager([two, one], [ordered])(3)
    assert inplace_wrapper(lambda m: None)(5) == 5
    assert loop_pass(lambda n: n + 1, n_iter=3)(0) == 3


def test_drawings():
    from ingot.fx.passes import graph_drawer

    if graph_drawer.pydot is None:
        with pytest.raises(RuntimeError, match="requires the pydot package"):
            graph_drawer.FxGraphDrawer(fx.symbolic_trace(nn.ReLU()), "relu")
    else:
        assert graph_drawer.FxGraphDrawer(fx.symbolic_trace(Normed()), "net").get_dot_graph().get_nodes()


def test_split_module_passes_attributes_to_the_parts() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return (x + self.weight) * self.weight

    gm = torch.fx.symbolic_trace(Net())
    split = torch.fx.passes.split_module.split_module(gm, gm, lambda n: int(n.name == "mul"))
    assert list(dict(split.named_parameters())) == ["weight"]
    assert [n.name for n in split.submod_1.graph.nodes if n.op == "placeholder"] == ["add", "weight"]
    assert torch.equal(split(torch.ones(2)), Net()(torch.ones(2)))


def test_a_part_without_results_has_no_output() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch._assert, (x, "no"))
    graph.output(graph.call_function(torch.neg, (x,)))
    gm = torch.fx.GraphModule({}, graph)
    split = torch.fx.passes.split_module.split_module(gm, gm, lambda n: int(n.target is torch.neg))
    assert [n.op for n in split.submod_0.graph.nodes] == ["placeholder", "call_function"]


def test_source_partitions_by_layer_and_function() -> None:
    from ingot.fx.passes.utils.source_matcher_utils import get_source_partitions

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    program = torch.export.export(net, (torch.ones(1, 2),))
    found = get_source_partitions(program.graph, [torch.nn.Linear, torch.tanh])
    assert [[n.name for n in p.output_nodes] for p in found[torch.nn.Linear]] == [["linear"], ["linear_1"]]
    assert torch.tanh not in found


def test_split_const_gm() -> None:
    from ingot._inductor.compile_fx import split_const_gm

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("bias", torch.ones(2))

        def forward(self, x):
            return x * (self.weight * 2 + self.bias) + self.bias

    gm = torch.export.export(Net(), (torch.ones(2),)).module()
    constants, places = split_const_gm(gm)
    assert places == {"_FOLDED_CONST_bias": 0, "_FOLDED_CONST_add": 1}
    assert [t.tolist() for t in constants()] == [[1.0, 1.0], [3.0, 3.0]]
    assert gm(torch.ones(2)).tolist() == [4.0, 4.0]
