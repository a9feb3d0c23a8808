# SPDX-License-Identifier: Apache-2.0
"""torch.jit.trace: what is recorded, what is run, what is refused."""

import contextlib
import pathlib
import tempfile
import warnings

import pytest

import ingot as torch
from ingot import nn


def lines(graph):
    return [line.split(" # ")[0].strip() for line in str(graph).splitlines()]


def test_sizes_stay_values():
    def fn(x):
        return x.view(x.size(0), -1), torch.zeros(x.shape[1] * 2)

    traced = torch.jit.trace(fn, torch.ones(2, 3, 2))
    a, b = traced(torch.ones(4, 5, 2))
    assert a.shape == (4, 10) and b.shape == (10,)
    assert not torch.jit.is_tracing()
    kinds = [node.kind() for node in traced.graph.nodes()]
    assert kinds.count("aten::size") == 2 and "prim::NumToTensor" in kinds and "aten::Int" in kinds


def test_graph_and_code():
    def fn(x, y):
        z = x + y * 2
        return z

    traced = torch.jit.trace(fn, (torch.ones(2), torch.ones(2)))
    assert lines(traced.graph) == [
        "graph(%x : Float(2, strides=[1], requires_grad=0, device=cpu),",
        "%y : Float(2, strides=[1], requires_grad=0, device=cpu)):",
        "%2 : Long(requires_grad=0, device=cpu) = prim::Constant[value={2}]()",
        "%3 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::mul(%y, %2)",
        "%4 : int = prim::Constant[value=1]()",
        "%5 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add(%x, %3, %4)",
        "return (%5)",
    ]
    assert traced.code == (
        "def fn(x: Tensor,\n    y: Tensor) -> Tensor:\n  _0 = torch.add(x, torch.mul(y, CONSTANTS.c0))\n  return _0\n"
    )


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.lin(self.lin(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Block()
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.a(x) * self.scale + self.a.lin.bias


def test_modules_become_methods():
    model = Model()
    traced = torch.jit.trace(model, torch.ones(1, 2))
    x = torch.randn(3, 2)
    assert torch.equal(traced(x), model(x))
    assert sorted(traced.a.lin._c._method_names()) == ["forward", "forward1"]
    assert "prim::CallMethod" in str(traced.graph) and "prim::CallMethod" not in str(traced.inlined_graph)
    assert "scope: __module.a/__module.a.lin" in str(traced.inlined_graph)
    assert isinstance(traced, torch.jit.TopLevelTracedModule)
    assert [name for name, _ in traced.named_parameters()] == [name for name, _ in model.named_parameters()]


def test_gradients_flow_to_shared_parameters():
    model = Model()
    traced = torch.jit.trace(model, torch.ones(1, 2))
    traced(torch.ones(1, 2)).sum().backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(found, model.parameters()))


def test_containers():
    def fn(xs, d, p):
        a, (b, c) = p
        return {"s": xs[0] + xs[1], "t": d["k"] * a + b - c}

    one = torch.ones(2)
    args = ([one, one * 2], {"k": one * 3}, (one, (one, one)))
    with pytest.raises(RuntimeError, match="Encountering a dict at the output of the tracer"):
        torch.jit.trace(fn, args)
    traced = torch.jit.trace(fn, args, strict=False)
    out = traced([one * 2, one], {"k": one}, (one, (one, one)))
    assert torch.equal(out["s"], one * 3) and torch.equal(out["t"], one)
    with pytest.raises(RuntimeError, match=r"Type 'Tuple\[Tensor, int\]' cannot be traced"):
        torch.jit.trace(lambda x, n: x + n, (one, 3))
    with pytest.raises(RuntimeError, match="Only tensors, lists, tuples of tensors"):
        torch.jit.trace(lambda x: (x, None), one)


def test_warnings():
    def fn(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.warns(torch.jit.TracerWarning, match="Converting a tensor to a Python boolean"):
        torch.jit.trace(fn, torch.ones(2))
    with pytest.warns(torch.jit.TracerWarning, match="Using len to get tensor shape"):
        torch.jit.trace(lambda x: x * len(x), torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(lambda x: x.view(x.size(0), -1), torch.ones(2, 3))


def test_checks():
    state = [0]

    def fn(x):
        state[0] += 1
        return x.sin() if state[0] % 2 else x.cos()

    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"):
        torch.jit.trace(fn, torch.ones(2))
    torch.jit.trace(fn, torch.ones(2), check_trace=False)


def test_failures_end_the_trace():
    def fn(x):
        raise KeyError("stop")

    with pytest.raises(KeyError):
        torch.jit.trace(fn, torch.ones(2))
    assert not torch.jit.is_tracing()
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        torch.jit.trace(lambda x: x * weight, torch.ones(2))
    assert not torch.jit.is_tracing()

    def nested(x):
        return torch.jit.trace(lambda y: y + 1, x)(x)

    with pytest.raises(RuntimeError, match="Tracing can't be nested"):
        torch.jit.trace(nested, torch.ones(2))


def test_writes_stay_in_place():
    def fn(x):
        y = x.clone()
        y[0] = 5
        y.add_(1)
        return y

    traced = torch.jit.trace(fn, torch.ones(3))
    assert torch.equal(traced(torch.zeros(2)), torch.tensor([6.0, 1.0]))
    assert "aten::add_" in str(traced.graph)


def test_trace_module_and_keywords():
    class Two(nn.Module):
        def forward(self, x, y):
            return x + y

        def other(self, x):
            return x * 3

    one = torch.ones(2)
    traced = torch.jit.trace_module(Two(), {"forward": (one, one), "other": one})
    assert torch.equal(traced.other(one), one * 3) and torch.equal(traced(one, one), one * 2)
    by_name = torch.jit.trace(Two(), example_kwarg_inputs={"y": one, "x": one})
    assert torch.equal(by_name(x=one, y=one), one * 2)
    with pytest.raises(AttributeError, match="trace_module"):
        torch.jit.trace(Two().other, one)


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, w):
        ctx.save_for_backward(w)
        ctx.factor = factor
        return x * factor + w, x + 1

    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.factor * 10 + h, None, g


def _scaled(x, w):
    a, b = _Scaled.apply(x, 3.0, w)
    return a + b


def test_a_custom_function_is_one_node_with_its_body() -> None:
    traced = torch.jit.trace(_scaled, (torch.ones(2), torch.ones(2)))
    call = next(iter(traced.graph.nodes()))
    assert (call.kind(), call.pyname(), call.cconv(), call.scalar_args()) == ("prim::PythonOp", "_Scaled", "dcd", [3.0])
    assert [node.kind() for node in call.g("Subgraph").nodes() if node.kind() != "prim::Constant"] == [
        "aten::mul", "aten::add", "aten::add",
    ]  # fmt: skip
    assert f'= ^_Scaled[inplace=0, module="{__name__}", Subgraph=<Graph>](3.0)(%x, %w)' in str(traced.graph)
    assert "= ^_Scaled(3.0)(x, w)" in traced.code
    x = torch.ones(2, requires_grad=True)
    traced(x, torch.zeros(2)).sum().backward()
    assert x.grad.tolist() == [31.0, 31.0]  # its own backward
    with pytest.raises(RuntimeError, match="Could not export Python function call '_Scaled'"):
        traced.save(str(pathlib.Path(tempfile.mkdtemp()) / "f.pt"))


class _Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x * 3  # noqa: B018
        raise ValueError("no")


def test_a_custom_function_that_failed_leaves_nothing() -> None:
    def run(x):
        with contextlib.suppress(ValueError):
            _Fails.apply(x)
        return x + 1

    traced = torch.jit.trace(run, torch.ones(2))
    assert "^" not in str(traced.graph)
    assert traced(torch.ones(2)).tolist() == [2.0, 2.0]


class _Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)


def test_a_custom_function_that_changes_its_argument_cannot_run_again() -> None:
    with pytest.raises(torch.jit.TracingCheckError, match="inplace _Dirty not supported in the JIT"):
        torch.jit.trace(lambda x: _Dirty.apply(x * 2), torch.ones(2))


def test_traced_nodes_know_the_whole_stack() -> None:
    def inner(x):
        return x.view(2, 3)

    def outer(x):
        return inner(x) + 1

    traced = torch.jit.trace(outer, torch.ones(6))
    frames = next(n for n in traced.graph.nodes() if n.kind() == "aten::view").sourceRange().splitlines()
    line = inner.__code__.co_firstlineno + 1
    assert frames[:2] == [f"{__file__}({line}): inner", f"{__file__}({line + 3}): outer"]
    with pytest.raises(RuntimeError) as found:
        traced(torch.ones(5))
    text = str(found.value)
    assert text.startswith(
        "The following operation failed in the TorchScript interpreter.\n"
        f"Traceback of TorchScript (most recent call last):\n{frames[0]}\n{frames[1]}\n"
    )
    assert text.endswith("RuntimeError: shape '[2, 3]' is invalid for input of size 5\n")
