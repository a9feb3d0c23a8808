# SPDX-License-Identifier: Apache-2.0
"""The onnxrt backend with either runtime: blocks of a transformer forward and backward, counters, symbolic sizes,
providers, the choice of the runtime; the partitioner."""

import importlib.util
import math
import operator

import pytest
from ingot._C import Tensor

import ingot
from ingot import fx, nn
from ingot.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from ingot.fx.passes.operator_support import create_op_support
from ingot.onnx import ExportOptions
from ingot.onnx._internal import onnxruntime as ort

RUNTIMES = [
    pytest.param(
        "onnxruntime",
        marks=pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="needs onnxruntime"),
    ),
    "ingot",
]
SIZES = ((2, 8), (4, 7), (9, 15))
WIDTH, HEADS = 16, 2


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(ingot.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * ingot.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def rotate(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return ingot.cat([-x[..., half:], x[..., :half]], -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        steps = ingot.arange(0, WIDTH // HEADS, 2).to(ingot.float32)
        self.register_buffer("frequencies", 1.0 / 10000 ** (steps / (WIDTH // HEADS)))

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for p in (self.q, self.k, self.v))
        angles = positions.unsqueeze(2).to(ingot.float32) * self.frequencies
        angles = ingot.cat([angles, angles], -1)
        cos, sin = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS) + mask
        out = ingot.softmax(scores, -1) @ v
        return self.o(out.transpose(1, 2).reshape(batch, length, WIDTH))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.first, self.second = Attention(), Norm(), Norm()
        self.gate, self.up, self.down = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        x = x + self.attention(self.first(x), mask, positions)
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def inputs(batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    return ingot.randn(batch, length, WIDTH), ingot.zeros(batch, 1, length, length), ingot.arange(length).unsqueeze(0)


def backend(runtime: str, **options) -> ort.OrtBackend:
    options.setdefault("export_options", ExportOptions(dynamic_shapes=True))
    return ort.OrtBackend(ort.OrtBackendOptions(**options), runtime=runtime)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("block", [Attention, Decoder])
@pytest.mark.parametrize("backward", [False, True])
def test_transformer_blocks(block, backward: bool, runtime: str) -> None:
    """One model per graph for all sizes, results and gradients of eager."""
    import copy

    ingot._dynamo.reset()
    ingot.manual_seed(0)
    model = block()
    twin = copy.deepcopy(model)
    ours = backend(runtime)
    compiled = ingot.compile(twin, backend=ours, dynamic=True, fullgraph=True)
    for size in SIZES:
        args = inputs(*size)
        want, found = model(*args), compiled(*args)
        ingot.testing.assert_close(found, want, atol=1e-5, rtol=1e-5)
        if backward:
            want.sum().backward()
            found.sum().backward()
            for a, b in zip(twin.parameters(), model.parameters()):
                ingot.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4)
    graphs = 2 if backward else 1
    info = ours._all_ort_execution_info.execution_info_per_graph_module
    assert (ours.execution_count, len(info)) == (graphs * len(SIZES), graphs)
    assert [len(sessions) for sessions in info.values()] == [1] * graphs
    for session in (s for sessions in info.values() for s in sessions):
        assert any(d.dim_param for v in session.input_value_infos for d in v.type.tensor_type.shape.dim)
    first = next(iter(info.values()))[0]
    assert any(d.dim_param for v in first.output_value_infos for d in v.type.tensor_type.shape.dim)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_preallocated_outputs(runtime: str) -> None:
    ingot._dynamo.reset()
    ours = backend(runtime, preallocate_output=True, export_options=ExportOptions(dynamic_shapes=False))
    compiled = ingot.compile(lambda x: (x * 2, x.sum()), backend=ours)
    x = ingot.randn(3, 2)
    found = compiled(x)
    ingot.testing.assert_close(found, (x * 2, x.sum()))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_batch_norm_in_training_is_part_of_the_model(runtime: str) -> None:
    made = [nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()) for _ in range(2)]
    made[1].load_state_dict(made[0].state_dict())
    ingot._dynamo.reset()
    ours = backend(runtime, export_options=ExportOptions(dynamic_shapes=False))
    compiled = ingot.compile(made[0], backend=ours)
    for k in range(2):
        x = ingot.randn(2, 1, 5, 5) + k
        outs = [compiled(x), made[1](x)]
        for out in outs:
            out.square().sum().backward()
        ingot.testing.assert_close(outs[0], outs[1])
    for one, other in zip(made[0].state_dict().values(), made[1].state_dict().values(), strict=True):
        ingot.testing.assert_close(one, other)
    for one, other in zip(made[0].parameters(), made[1].parameters(), strict=True):
        ingot.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)
    models = ours._all_ort_execution_info.execution_info_per_graph_module
    assert [len(m) for m in models.values()] == [1, 1, 1]  # forward, and backward around that of the convolution


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_floats_are_constants_of_models(monkeypatch, runtime: str) -> None:
    for specialize in (True, False):
        monkeypatch.setattr(ingot._dynamo.config, "specialize_float", specialize)
        ingot._dynamo.reset()
        ours = backend(runtime, export_options=ExportOptions(dynamic_shapes=True))
        compiled = ingot.compile(lambda x, v: x.sin() * v, backend=ours, dynamic=True)
        for v in (0.5, 1.5, 2.5):
            ingot.testing.assert_close(compiled(ingot.ones(3), v), ingot.ones(3).sin() * v)
        assert len(ours._all_ort_execution_info.execution_info_per_graph_module) == 3


def test_runtime_is_visible_and_checked(monkeypatch) -> None:
    assert backend("ingot").runtime == "ingot"
    monkeypatch.setenv("INGOT_ONNX_RUNTIME", "ingot")
    assert ort.OrtBackend().runtime == "ingot"
    with pytest.raises(ValueError, match="runtime 'other': expected one of onnxruntime, ingot"):
        ort.OrtBackend(runtime="other")


def test_backend_without_packages(monkeypatch) -> None:
    """Neither onnx nor onnxruntime."""
    monkeypatch.setattr(ort, "_is_installed", lambda name: False)
    ingot._dynamo.reset()
    ours = ort.OrtBackend(ort.OrtBackendOptions(export_options=ExportOptions(dynamic_shapes=True)))
    compiled = ingot.compile(lambda x: x.relu().sigmoid(), backend=ours, dynamic=True)
    for n in (2, 4, 6):
        x = ingot.randn(n)
        ingot.testing.assert_close(compiled(x), x.relu().sigmoid())
    (sessions,) = ours._all_ort_execution_info.execution_info_per_graph_module.values()
    assert (ours.runtime, ours.execution_count, len(sessions)) == ("ingot", 3, 1)
    assert sessions[0].input_value_infos[0].type.tensor_type.shape.dim[0].dim_param == "s0"
    assert ort._get_ort_device_type("maia") == 3


def test_an_operator_without_onnx_divides_the_graph() -> None:
    ingot._dynamo.reset()
    ours = backend("ingot")

    def f(x: Tensor) -> Tensor:
        return ingot.linalg.svdvals(x.relu()).sigmoid()

    x = ingot.randn(3, 3)
    ingot.testing.assert_close(ingot.compile(f, backend=ours)(x), f(x))
    assert ours.execution_count == 2


# ---- the partitioner ----


def partitions(graph: fx.Graph, names: set[str]) -> list[list[str]]:
    module = fx.GraphModule(nn.Module(), graph)
    support = create_op_support(lambda modules, node: node.name in names)
    found = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True).propose_partitions()
    return [sorted(node.name for node in p.nodes) for p in found]


def chain() -> fx.Graph:
    """a -> b -> c, and a -> c: joining a and c without b would make a cycle."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.create_node("call_function", operator.add, (x, x), name="a")
    b = graph.create_node("call_function", operator.mul, (a, a), name="b")
    c = graph.create_node("call_function", operator.sub, (a, b), name="c")
    graph.output(c)
    return graph


def test_a_partition_has_no_path_out_and_back() -> None:
    assert partitions(chain(), {"a", "b", "c"}) == [["a", "b", "c"]]
    assert partitions(chain(), {"a", "c"}) == [["c"], ["a"]]


def test_two_partitions_must_not_wait_for_each_other() -> None:
    """a -> u -> d and b -> v -> e, where d also reads b and e reads a; u and v are not supported."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    nodes = {}
    for name, reads in (("a", "xx"), ("b", "xx"), ("u", "aa"), ("v", "bb"), ("d", "ub"), ("e", "va")):
        args = tuple(nodes.get(r, x) for r in reads)
        nodes[name] = graph.create_node("call_function", operator.add, args, name=name)
    graph.output((nodes["d"], nodes["e"]))
    found = partitions(graph, {"a", "b", "d", "e"})
    assert found == [["d", "e"], ["a", "b"]]
    module = fx.GraphModule(nn.Module(), graph)
    support = create_op_support(lambda modules, node: node.name in {"a", "b", "d", "e"})
    fused = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True).partition_and_fuse()
    value = ingot.randn(3)
    ingot.testing.assert_close(fused(value), module(value))
