# SPDX-License-Identifier: Apache-2.0
"""One look at each capability group of export (2.1 to 2.35 of its specification), with models, sizes and wrong turns of
our own. Details are tested where the part in question is."""

import collections
import dataclasses
import logging
from typing import Any

import pytest

import ingot as torch
from ingot import nn
from ingot._dynamo import config, exc
from ingot._export import capture_pre_autograd_graph
from ingot._export.utils import get_buffer, get_param, is_buffer, is_param
from ingot._subclasses.fake_tensor import FakeTensorMode
from ingot.export import (
    Dim,
    ShapesCollection,
    dynamic_dim,
    export,
    export_for_training,
    register_dataclass,
    unflatten,
)
from ingot.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG, _export
from ingot.fx.experimental.symbolic_shapes import ShapeEnv
from ingot.utils import _pytree as pytree

F = nn.functional
both = pytest.mark.parametrize("strict", [True, False])


def module_of(fn: Any) -> nn.Module:
    """A module whose forward is fn."""

    class Given(nn.Module):
        forward = fn

    return Given()


def targets(graph: Any) -> list[str]:
    return [str(n.target) for n in graph.nodes if n.op == "call_function"]


def inputs_of(ep: Any) -> list[str]:
    return [spec.arg.name for spec in ep.graph_signature.input_specs]


class Gru(nn.Module):
    """A cell written out, with a branch on a size."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Linear(7, 8)
        self.new = nn.Linear(7, 4)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        r, z = self.gates(torch.cat([x, h], 1)).sigmoid().chunk(2, 1)
        n = torch.tanh(self.new(torch.cat([x, r * h], 1)))
        return (1 - z) * n + z * h if x.shape[0] < 9 else n


# ---- 2.1 to 2.3: capture ----


@both
def test_01_program_equals_source(strict: bool) -> None:
    model = Gru()
    args = (torch.randn(5, 3), torch.randn(5, 4))
    ep = export(model, args, strict=strict)
    torch.testing.assert_close(ep.module()(*args), model(*args))
    assert "aten.lt" not in ep.graph_module.code  # the branch was taken while capturing
    with pytest.raises(RuntimeError, match=r"Expected input at \*args\[0\].shape\[0\] to be equal to 5, but got 6"):
        ep.module()(torch.randn(6, 3), torch.randn(6, 4))


def test_01_nothing_goes_in() -> None:
    ep = export(module_of(lambda self: torch.arange(4) * torch.full((4,), 2)), ())
    assert ep.module()().tolist() == [0, 2, 4, 6]
    assert inputs_of(ep) == []


def test_02_foreign_objects_are_seen_through() -> None:
    class Foreign:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, t: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return getattr(t, "cos" if self.calls % 2 else "sin")()

    foreign = Foreign()
    ep = export(module_of(lambda self, x: foreign(foreign(x))), (torch.ones(3),), strict=False)
    assert targets(ep.graph) == ["aten.cos.default", "aten.sin.default"]
    ep = export(module_of(lambda self, x: x.tolist()), (torch.tensor([4, 5]),), strict=False)
    assert ep.module()(torch.tensor([7, 8])) == [7, 8]


def test_03_fake_weights_of_another_device() -> None:
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    with mode:
        model = nn.Conv1d(2, 3, 3, device="cuda:1")
        x = torch.empty(4, 2, 9, device="cuda:1")
    ep = export(model, (x,), strict=False)
    values = [n.meta["val"] for n in ep.graph.nodes if n.op == "call_function"]
    assert {str(v.device) for v in values} == {"cuda:1"}
    assert all(v.fake_mode is mode for v in values)
    assert tuple(values[-1].shape) == (4, 3, 7)


# ---- 2.4 to 2.8: dims ----


def test_04_ranges_and_static_entries() -> None:
    model = module_of(lambda self, x, y: x.mean(0) + y)
    rows = Dim("rows", min=1, max=2)
    ep = export(model, (torch.randn(2, 3), torch.randn(3)), dynamic_shapes={"x": {0: rows, 1: 3}, "y": None})
    assert [str(v) for v in ep.range_constraints.values()] == ["VR[1, 2]"]
    assert ep.module()(torch.randn(1, 3), torch.randn(3)).shape == (3,)
    with pytest.raises(RuntimeError, match=r"\*args\[0\].shape\[0\] to be <= 2, but got 3"):
        ep.module()(torch.randn(3, 3), torch.randn(3))
    with pytest.raises(exc.UserError, match="Found different definitions"):
        export(model, (torch.randn(2, 3), torch.randn(3)), dynamic_shapes=({0: rows}, {0: Dim("rows", max=9)}))


def test_05_derived_dims() -> None:
    n = Dim("n", min=2, max=40)
    model = module_of(lambda self, a, b, c: torch.cat([a, b]) + c)
    args = (torch.randn(6), torch.randn(7), torch.randn(13))
    ep = export(model, args, dynamic_shapes=({0: 2 * n}, {0: 2 * n + 1}, {0: 4 * n + 1}))  # n is on no input
    got = ep.module()(torch.ones(10), torch.ones(11), torch.ones(21))
    assert got.sum().item() == 42
    with pytest.raises(RuntimeError, match="to be of the form 2"):
        ep.module()(torch.ones(9), torch.ones(10), torch.ones(19))
    with pytest.raises(exc.UserError, match="to be of the form 3.n, where n is an integer"):
        export(module_of(lambda self, x: x + 1), (torch.randn(7),), dynamic_shapes=({0: 3 * n},))


def test_06_fixes_can_be_pasted() -> None:
    def forward(self: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.view(-1, 4).sum(1).sum() + (x[:-2] * y).sum()

    model, args = module_of(forward), (torch.randn(12), torch.randn(10))
    with pytest.raises(exc.UserError) as error:
        export(model, args, dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))
    text = str(error.value)
    space: dict[str, Any] = {"Dim": Dim}
    exec("\n".join(line.strip() for line in text.split("Suggested fixes:\n")[1].splitlines()), space)
    ep = export(model, args, dynamic_shapes=({0: space["a"]}, {0: space["b"]}))
    x, y = torch.randn(20), torch.randn(18)
    torch.testing.assert_close(ep.module()(x, y), model(x, y))


def test_06_forced_specialization_can_be_switched_off() -> None:
    model = module_of(lambda self, x: x.reshape(x.shape[0] - 1, -1))
    args, shapes = (torch.randn(5, 4),), ({0: Dim("a"), 1: Dim("b")},)
    with pytest.raises(exc.UserError, match="Specializations unexpectedly required"):
        _export(model, args, dynamic_shapes=shapes, strict=False)
    ep = _export(model, args, dynamic_shapes=shapes, strict=False, _disable_forced_specializations=True)
    assert len(ep.range_constraints) == 2


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor


register_dataclass(Pair)


def test_07_forms_of_dynamic_shapes() -> None:
    n = Dim("n")
    x, y, z = torch.randn(4, 2), torch.randn(4), torch.randn(4)
    model = module_of(lambda self, p, *rest, scale: (p.left.sum(1) + p.right + rest[0]) * scale)
    tree = {"p": [{0: n}, (n,)], "rest": ((n,),), "scale": None}
    collection = ShapesCollection()
    for tensor in (x, y, z):
        collection[tensor] = {0: n}
    shapes = collection.dynamic_shapes(model, (Pair(x, y), z), {"scale": 2.0})
    for spec in (tree, shapes):
        ep = export(model, (Pair(x, y), z), {"scale": 2.0}, dynamic_shapes=spec)
        assert str(ep.graph.find_nodes(op="placeholder")[0].meta["val"].shape[0]) == "s0"
        assert ep.module()(Pair(torch.ones(9, 2), torch.ones(9)), torch.ones(9), scale=2.0).tolist() == [8.0] * 9
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 1."):
        export(model, (Pair(x, y), z), {"scale": 2.0}, dynamic_shapes={**tree, "p": [{0: n}]})
    with pytest.raises(exc.UserError, match="Expected tensor as input to dynamic_dim"):
        dynamic_dim([1], 0)


def test_08_complex_guards_become_assertions() -> None:
    def forward(self: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1) + y

    args = (torch.randn(6, 4), torch.randn(24))
    shapes = ({0: Dim("a"), 1: Dim("b")}, {0: Dim("c", min=4)})
    with config.patch(do_not_emit_runtime_asserts=False):
        ep = _export(
            module_of(forward), args, dynamic_shapes=shapes, strict=False, allow_complex_guards_as_runtime_asserts=True
        )
    assert any("_assert_scalar" in t for t in targets(ep.graph))
    assert ep.module()(torch.ones(3, 4), torch.ones(12)).shape == (12,)
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression"):
        ep.module()(torch.ones(3, 4), torch.ones(13))


# ---- 2.9 to 2.12: numbers ----


def test_09_numbers_in_the_data() -> None:
    def forward(self: Any, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        n = rows.max().item()
        torch._check_is_size(n)
        torch._check(n <= 6)
        kept = x[x > 0]
        return torch.ones(n).sum() + kept.sum() + x[:2].sum()

    ep = export(module_of(forward), (torch.tensor([1.0, -2.0, 3.0]), torch.tensor([2, 5])))
    assert ep.module()(torch.tensor([-1.0, -2.0, 4.0]), torch.tensor([3, 1])).item() == 3 + 4 - 3
    with pytest.raises(RuntimeError, match=r"Invalid value range for 8 between \[0, 6\]"):
        ep.module()(torch.ones(3), torch.tensor([8]).expand(2).clone())


@pytest.mark.parametrize(("strict", "kind"), [(True, exc.UserError), (False, torch._C.GuardOnDataDependentSymNode)])
def test_10_undecidable_questions(strict: bool, kind: type) -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        a, b = x.tolist()
        return x * 2 if a < b else x

    with pytest.raises(kind, match=r"Could not guard on data-dependent expression u0 < u1") as error:
        export(module_of(forward), (torch.tensor([1, 2]),), strict=strict)
    assert "eager" not in str(error.value)
    assert "torch._check(a < b)" in str(error.value)
    assert error.value.__cause__ is not None or hasattr(error.value, "issues")


def test_11_constants_as_inputs() -> None:
    def forward(self: Any, x: torch.Tensor, how: str, k: float, off: None, flag: bool) -> tuple:
        return (x * k if how == "mul" else x + k), off, flag

    ep = export(module_of(forward), (torch.ones(2), "mul", 3.0, None, True))
    out = ep.run_decompositions().module()(torch.ones(2), "mul", 3.0, None, True)
    assert out[0].tolist() == [3.0, 3.0]
    assert out[1] is None
    assert out[2] is True
    with pytest.raises(RuntimeError, match=r"\*args\[1\] to be equal to mul, but got add"):
        ep.module()(torch.ones(2), "add", 3.0, None, True)
    with pytest.raises(ValueError, match="^Trying to flatten user inputs"):
        ep.module()(torch.ones(2), "mul", 3.0, None)


def test_12_arithmetic_of_sizes() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        scale = torch.sym_sqrt(n * 2) if hasattr(torch, "sym_sqrt") else torch._sym_sqrt(n * 2)
        return x / scale + torch.zeros(torch.sym_max(n, 3) - n + 1)

    ep = export(module_of(forward), (torch.ones(8),), dynamic_shapes=({0: Dim("n", min=4)},), strict=False)
    assert "torch._sym_sqrt" in ep.graph_module.code
    torch.testing.assert_close(ep.module()(torch.ones(32)), torch.full((32,), 0.125))


# ---- 2.13 to 2.19: control flow and effects ----


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("bias", torch.full((3,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 1, self.high, lambda t: t - self.bias, (x,))

    def high(self, t: torch.Tensor) -> torch.Tensor:
        return self.lin(t)


@both
def test_13_cond_takes_state_along(strict: bool) -> None:
    model = Gated()
    ep = export(model, (torch.ones(2, 3),), strict=strict)
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(ep.module()(x), model(x))
    counts = [
        len(g.graph.find_nodes(op="placeholder")) for g in (ep.graph_module.true_graph_0, ep.graph_module.false_graph_0)
    ]
    assert counts == [4, 4]  # weight, bias, buffer and x for both
    with pytest.raises(Exception, match="bias|different|same"):
        export(module_of(lambda self, x: torch.cond(x.sum() > 0, lambda t: t, lambda t: t[:1], (x,))), (torch.ones(2),))


def test_14_map_over_rows() -> None:
    from ingot.control_flow import map as map_rows

    model = module_of(lambda self, xs, y: map_rows(lambda x, y: (x * y).cumsum(0), xs, y))
    ep = export(model, (torch.randn(4, 3), torch.randn(3)))
    assert "body_graph_0" in dict(ep.graph_module.named_children())
    xs, y = torch.randn(4, 3), torch.randn(3)
    torch.testing.assert_close(ep.module()(xs, y), model(xs, y))


def test_15_regions_of_grad_mode() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        with torch.no_grad():
            y = y + 1
            with torch.enable_grad():
                y = y * 3
        return y.log()

    ep = _export(module_of(forward), (torch.ones(2),), pre_dispatch=True)
    wraps = [t for t in targets(ep.graph) if "wrap_with_set_grad_enabled" in t or "set_grad" in t]
    assert len(wraps) == 1
    with pytest.raises(NotImplementedError, match=r"Calling train\(\) is not supported yet."):
        ep.module().train()
    module = capture_pre_autograd_graph(nn.BatchNorm1d(3), (torch.randn(4, 3),))
    with pytest.raises(NotImplementedError):
        module.eval()


def test_15_capture_before_autograd() -> None:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.deep = nn.Sequential(nn.Linear(2, 2))
            self.tied = nn.Linear(2, 2, bias=False)
            self.tied.weight = self.deep[0].weight
            self.register_buffer("steps", torch.zeros(()))

        def forward(self, d: dict, unused: torch.Tensor) -> torch.Tensor:
            self.steps.add_(1)
            return self.tied(self.deep(d["x"])) * torch.tensor(2.0) + self.steps

    torch.manual_seed(0)
    eager, args = M(), ({"x": torch.ones(3, 2)}, torch.ones(1))
    module = capture_pre_autograd_graph(M(), args, dynamic_shapes=({"x": {0: Dim("b")}}, None))
    lines = [line.partition(";")[0].strip() for line in module.code.splitlines()]
    assert lines[4:6] == [
        "arg0, arg1, = fx_pytree.tree_flatten_spec(([d, unused], {}), self._in_spec)",
        "arg0_1 = arg0",
    ]
    reads = [line for line in lines if "= self." in line]
    assert reads == [
        "_tensor_constant0 = self.steps",
        "_param_constant0 = self.tied_weight",
        "_param_constant1 = self.deep_0_bias",
        "_param_constant0_1 = self.tied_weight",
        "_tensor_constant1 = self._tensor_constant1",
    ]
    assert lines[-2] == "return pytree.tree_unflatten([add], self._out_spec)"
    module.graph.lint()
    module.load_state_dict({name.replace(".", "_"): value for name, value in eager.state_dict().items()})
    for size in (3, 5):
        x = torch.randn(size, 2)
        assert torch.allclose(module({"x": x}, args[1]), eager({"x": x}, args[1]))
    assert module.steps.item() == 2
    with pytest.raises(RuntimeError, match="to be equal to 1, but got 2"):
        module({"x": x}, torch.ones(2))
    static = module_of(lambda self, x: x + torch.ones(3))
    with pytest.raises(torch.fx.experimental.symbolic_shapes.ConstraintViolationError, match="b = 3"):
        capture_pre_autograd_graph(static, (torch.ones(3),), dynamic_shapes=({0: Dim("b")},))
    with pytest.raises(torch._dynamo.exc.UserError, match=r"of the form 2\*b"):
        capture_pre_autograd_graph(static, (torch.ones(3),), dynamic_shapes=({0: 2 * Dim("b")},))


def test_16_no_writes_are_left() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros_like(x)
        y[1:].copy_(x[:-1])
        y.t().mul_(2).add_(1)
        return y.to(torch.float32)

    ep = export(module_of(forward), (torch.randn(3, 2),))
    assert not any(n.target._schema.is_mutable for n in ep.graph.nodes if n.op == "call_function")
    assert targets(ep.graph)[-1] == "aten._to_copy.default"
    x = torch.randn(3, 2)
    torch.testing.assert_close(ep.module()(x), module_of(forward)(x))


def test_17_modules_keep_state() -> None:
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 2

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            self.inner.total.mul_(0.5)
            return y

    eager = Outer()
    run = export(Outer(), (torch.ones(2),)).module()
    for _ in range(3):
        torch.testing.assert_close(run(torch.ones(2)), eager(torch.ones(2)))
    torch.testing.assert_close(dict(run.named_buffers())["inner.total"], eager.inner.total)
    assert run.graph.eliminate_dead_code() is False


def test_18_inputs_that_are_written() -> None:
    def forward(self: Any, box: dict, k: torch.Tensor) -> torch.Tensor:
        box["a"][1:].add_(k)
        box["a"].view(-1)[0] = 9
        return box["a"].sum()

    n = Dim("n", min=3)
    ep = export(
        module_of(forward), ({"a": torch.ones(4)}, torch.tensor(2.0)), dynamic_shapes={"box": {"a": {0: n}}, "k": None}
    )
    assert list(ep.graph_signature.user_inputs_to_mutate.values()) == ["box_a"]
    for program in (ep, ep.run_decompositions()):
        a = torch.ones(6)
        assert program.module()({"a": a}, torch.tensor(2.0)).item() == 24
        assert a.tolist() == [9, 3, 3, 3, 3, 3]


@both
def test_19_what_the_host_does(strict: bool) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = {"n": 4}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.steps["n"] += 1
            print("step", self.steps["n"])
            logging.getLogger("groups").debug("x %s", x.shape)
            return x * self.steps["n"] if torch.compiler.is_compiling() else -x

    model = Counting()
    ep = export(model, (torch.ones(2),), strict=strict)
    assert targets(ep.graph) == ["aten.mul.Tensor"]
    assert ep.module()(torch.ones(2)).tolist() == [5.0, 5.0]
    assert ep.module()(torch.ones(2)).tolist() == [5.0, 5.0]
    assert model.steps == {"n": 4}


# ---- 2.20 to 2.28: structure, names, origins ----


def test_20_own_containers() -> None:
    class Box:
        def __init__(self, value: Any, tag: str) -> None:
            self.value, self.tag = value, tag

    pytree.register_pytree_node(
        Box,
        lambda b: ([b.value], b.tag),
        lambda values, tag: Box(values[0], tag),
        serialized_type_name="groups.Box",
        flatten_with_keys_fn=lambda b: ([(pytree.GetAttrKey("value"), b.value)], b.tag),
    )
    ep = export(module_of(lambda self, b: Box({"twice": b.value * 2}, b.tag)), (Box(torch.ones(2), "t"),))
    out = ep.module()(Box(torch.full((2,), 4.0), "t"))
    assert isinstance(out, Box)
    assert out.value["twice"].tolist() == [8.0, 8.0]
    spec = pytree.tree_structure(collections.OrderedDict(a=1, b=(2, None)))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, lambda b: ([], None), lambda v, c: None)


@both
def test_21_binding_of_arguments(strict: bool) -> None:
    def forward(self: Any, a: torch.Tensor, b: torch.Tensor = 2.0, *more: Any, c: Any, d: int = 1, **rest: Any) -> Any:
        return a * b + sum(more) + c["k"] * d + rest["last"][0]

    model = module_of(forward)
    args = (torch.ones(2), torch.ones(2), torch.ones(2), torch.ones(2))
    kwargs = {"c": {"k": torch.ones(2)}, "d": 5, "last": (torch.ones(2),)}
    ep = export(model, args, kwargs, strict=strict)
    assert inputs_of(ep) == ["a", "b", "more_0", "more_1", "c_k", "d", "last_0" if strict else "rest_last_0"]
    torch.testing.assert_close(ep.module()(*args, **kwargs), model(*args, **kwargs))
    with pytest.raises(exc.UserError, match="tuple of example positional inputs"):
        export(model, list(args), kwargs, strict=strict)


def test_22_clashing_names() -> None:
    class Names(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, p_w: torch.Tensor, add: torch.Tensor, relu_1: list) -> torch.Tensor:
            return (self.w + p_w + add + relu_1[0]).relu()

    ep = export(Names(), (torch.ones(2), torch.ones(2), [torch.ones(2)]))
    assert inputs_of(ep) == ["p_w_1", "p_w", "add", "relu_1_0"]
    assert [n.name for n in ep.graph.nodes if n.op == "call_function"] == ["add_1", "add_2", "add_3", "relu"]


def test_23_where_nodes_come_from() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seq = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.seq(x) + 1

    ep = export(nn.Sequential(Block(), Block()), (torch.ones(1, 2),), strict=False)
    tanh = ep.graph.find_nodes(op="call_function", target=torch.ops.aten.tanh.default)[1]
    paths = [path for path, _ in tanh.meta["nn_module_stack"].values()]
    assert paths == ["", "1", "1.seq", "1.seq.1"]
    assert [str(kind).rsplit(".", 1)[-1].strip("'>") for _, kind in tanh.meta["nn_module_stack"].values()][-1] == "Tanh"
    assert tanh.meta["torch_fn"][0].startswith("tanh")
    assert list(ep.state_dict)[:2] == ["0.seq.0.weight", "0.seq.0.bias"]


@both
def test_24_modules_made_on_the_way(strict: bool) -> None:
    class Late(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            class Offset(nn.Module):
                def __init__(self) -> None:
                    super().__init__()
                    self.register_buffer("by", torch.ones(3))

                def forward(self, t: torch.Tensor) -> torch.Tensor:
                    return t + self.by

            return Offset()(x).sin()

    ep = export(Late(), (torch.zeros(3),), strict=strict)
    assert dict(ep.state_dict) == {}
    assert targets(ep.graph) == ["aten.ones.default", "aten.add.Tensor", "aten.sin.default"]
    torch.testing.assert_close(ep.module()(torch.zeros(3)), torch.ones(3).sin())


def test_25_constants_and_their_names() -> None:
    class Leaf(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.arange(3.0)
            self.same = self.table

        def forward(self, x: torch.Tensor) -> tuple:
            return x + self.table * torch.tensor(2.0), self.same

    class Tree(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x: torch.Tensor) -> tuple:
            return self.leaf(x)

    ep = export(Tree(), (torch.ones(3),))
    assert sorted(inputs_of(ep)) == ["c_leaf_lifted_tensor_0", "c_leaf_table", "x"]
    assert set(ep.constants) >= {"leaf.table", "leaf.same", "leaf.lifted_tensor_0"}
    assert dict(ep.state_dict) == {}
    for program in (ep, ep.run_decompositions()):
        value, same = program.module()(torch.ones(3))
        assert value.tolist() == [1.0, 3.0, 5.0]
        assert same.tolist() == [0.0, 1.0, 2.0]


def test_26_parameters_and_buffers() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = self.a
            self.a.weight.requires_grad_(False)
            self.register_buffer("kept", torch.ones(2))
            self.register_buffer("lost", torch.ones(2), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.b(self.a(x)) + self.kept + self.lost

    ep = export(Shared(), (torch.ones(1, 2),))
    assert set(ep.state_dict) == {"a.weight", "b.weight", "kept"}
    assert ep.state_dict["a.weight"] is ep.state_dict["b.weight"] or (
        ep.state_dict["a.weight"].data_ptr() == ep.state_dict["b.weight"].data_ptr()
    )
    assert list(ep.constants) == ["lost"]
    nodes = [n for n in ep.graph.nodes if n.op == "placeholder"]
    weight = next(n for n in nodes if is_param(ep, n))
    assert get_param(ep, weight) is not None
    assert weight.meta["val"].requires_grad is False
    assert [get_buffer(ep, n) is not None for n in nodes if is_buffer(ep, n)] == [True, True]
    assert "lost" in dict(ep.module().named_buffers())
    assert "lost" not in ep.module().state_dict()


def test_27_stack_traces() -> None:
    def helper(x: torch.Tensor) -> torch.Tensor:
        return x.cos() * x.shape[0]

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        return helper(x)

    ep = export(module_of(forward), (torch.ones(4),), dynamic_shapes=({0: Dim("n")},), strict=False)
    for node in (n for n in ep.graph.nodes if n.op == "call_function" and "sym_size" not in str(n.target)):
        assert "in forward" in node.meta["stack_trace"]
        assert "in helper" in node.meta["stack_trace"]
        assert "return x.cos() * x.shape[0]" in node.meta["stack_trace"]
        assert __file__ in node.meta["stack_trace"]


def test_28_traced_again() -> None:
    n = Dim("n", max=9)
    model = Gru()
    ep = export(
        model, (torch.randn(3, 3), torch.randn(3, 4)), dynamic_shapes=({0: Dim("n", max=8)}, {0: Dim("n", max=8)})
    )
    again = export(ep.module(), (torch.randn(4, 3), torch.randn(4, 4)))
    assert again.range_constraints == {}
    with pytest.raises(RuntimeError, match="Expected input at"):
        export(ep.module(), (torch.randn(9, 3), torch.randn(9, 4)), dynamic_shapes=({0: n}, {0: n}))
    first, second = ([m.meta.get("stack_trace") for m in p.graph.nodes if m.op == "call_function"] for p in (ep, again))
    assert [text for text in second if text] == [text for text in first if text][: len(second)]
    x, h = torch.randn(4, 3), torch.randn(4, 4)
    torch.testing.assert_close(again.module()(x, h), model(x, h))


# ---- 2.29 to 2.35: lowering and the rest ----


def test_29_lowering() -> None:
    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a, b = F.silu(self.conv(x)).chunk(2, 1)
            return (a - b).sum()

    model = Small()
    ep = export(model, (torch.randn(2, 1, 5, 5),), dynamic_shapes=({0: Dim("batch")},))
    core = ep.run_decompositions()
    assert "aten.convolution.default" in targets(core.graph)
    assert not any(t.startswith(("aten.silu", "aten.chunk", "aten.conv2d")) for t in targets(core.graph))
    kept = ep.run_decompositions({}, _preserve_ops=(torch.ops.aten.conv2d.default,))
    assert "aten.conv2d.default" in targets(kept.graph)
    assert core.graph_signature.parameters == ep.graph_signature.parameters
    x = torch.randn(7, 1, 5, 5)
    for program in (core, kept, core.run_decompositions()):
        torch.testing.assert_close(program.module()(x), model(x))
    table = {torch.ops.aten.silu.default: lambda t: t.relu()}
    assert "aten.relu.default" in targets(ep.run_decompositions(table).graph)


def test_30_training_programs() -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.lin(x)).relu_()

    model = Norm()
    ep = export_for_training(model, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("n", min=2)},))
    names = targets(ep.graph)
    assert "aten.batch_norm.default" in names
    assert "aten.relu_.default" in names
    assert ep.graph_signature.buffers_to_mutate == {}
    lowered = ep.run_decompositions()
    assert set(lowered.graph_signature.buffers_to_mutate.values()) == {
        "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
    }  # fmt: skip
    run, x = lowered.module(), torch.randn(6, 3)
    torch.testing.assert_close(run(x), model(x))
    torch.testing.assert_close(dict(run.named_buffers())["norm.running_mean"], model.norm.running_mean)


def test_31_trees_come_back() -> None:
    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return self.lin(x) * scale

    class Body(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleList([Head(), Head()])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sum(head(x, x.abs()) for head in self.heads)

    model, x = Body(), torch.randn(3, 2)
    tree = unflatten(export(model, (x,)))
    assert [name for name, _ in tree.named_children()] == ["heads"]
    assert isinstance(tree.heads, nn.Module)
    assert set(tree.state_dict()) == set(model.state_dict())
    torch.testing.assert_close(tree(x), model(x))


def test_32_operators_of_the_user() -> None:
    with torch.library._scoped_library("groups", "FRAGMENT") as lib:
        lib.define("bump(Tensor x, Tensor(a!) y, SymInt n) -> Tensor")

        def bump(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
            y.add_(n)
            return x + y

        lib.impl("bump", bump, "CPU")
        torch.library.register_fake("groups::bump", lambda x, y, n: torch.empty_like(x), lib=lib)
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")

        def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.clone()
            return torch.ops.groups.bump(x, y, x.shape[0]) + torch.ops.groups.twice(y)

        ep = export(module_of(forward), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},), strict=False)
        assert "groups.twice.default" in targets(ep.graph)
        assert any("auto_functionalized" in t for t in targets(ep.graph))
        core = ep.run_decompositions()
        assert "groups.twice.default" not in targets(core.graph)
        for program in (ep, core):
            torch.testing.assert_close(program.module()(torch.ones(5)), module_of(forward)(torch.ones(5)))


def test_33_opaque_objects_are_lifted() -> None:
    from ingot._export.passes.lift_constants_pass import lift_constants_pass

    class Opaque:
        pass

    ep = export(module_of(lambda self, x: x + x), (torch.ones(2),))
    (node,) = ep.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
    thing = Opaque()
    with ep.graph.inserting_before(node):
        ep.graph_module.thing = torch.full((2,), 7.0)
        read = ep.graph.get_attr("thing")
        read.meta["val"] = torch.ones(2)
        read.meta["nn_module_stack"] = node.meta["nn_module_stack"]
    node.args = (node.args[0], read)
    constants = lift_constants_pass(ep.graph_module, ep.graph_signature, {})
    assert [v.tolist() for v in constants.values()] == [[7.0, 7.0]]
    assert ep.graph.find_nodes(op="get_attr", target="thing") == []
    assert isinstance(thing, Opaque)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_34_attention(dtype: torch.dtype) -> None:
    def forward(self: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    model, length = module_of(forward), Dim("length", min=2)
    args = tuple(torch.randn(2, 3, 5, 8, dtype=dtype) for _ in range(3))
    ep = export(model, args, dynamic_shapes=tuple({2: length} for _ in range(3)), strict=False)
    other = tuple(torch.randn(2, 3, 9, 8, dtype=dtype) for _ in range(3))
    for program in (ep, ep.run_decompositions()):
        torch.testing.assert_close(program.module()(*other), model(*other), rtol=1e-4, atol=1e-5)


def test_35_knobs() -> None:
    model, args = nn.LSTM(3, 2, batch_first=True), (torch.randn(2, 4, 3),)
    before = DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn
    try:
        DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn = False
        with pytest.raises(exc.Unsupported, match="TorchDynamo purposely graph breaks on RNN, GRU, LSTMs"):
            export(model, args)
        DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn = True
        ep = export(model, args)
    finally:
        DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn = before
    torch.testing.assert_close(ep.module()(*args)[0], model(*args)[0])


def test_answers_that_stand_in_the_data_are_not_guessed():
    class M(torch.nn.Module):
        def forward(self, x):
            return x + 1 if torch.allclose(x, x) else x

    with pytest.raises(RuntimeError, match="aten.allclose.default"):
        torch.export.export(M(), (torch.ones(2),), strict=False)


@pytest.mark.parametrize("change", ["transpose_(0, 1)", "unsqueeze_(0)", "resize_(2)", "t_()"])
def test_inputs_keep_their_sizes(change):
    class M(torch.nn.Module):
        def forward(self, x):
            exec(f"x.{change}")
            return x + 1

    with pytest.raises(RuntimeError, match="received a metadata mutation"):
        torch.export.export(M(), (torch.ones(2, 3),), strict=False)


def test_views_of_inputs_may_change_in_place():
    class M(torch.nn.Module):
        def forward(self, x):
            y = x.view(6)
            y.unsqueeze_(0)
            x.transpose_(0, 1)
            x.transpose_(0, 1)
            return x + y.sum()

    ep = torch.export.export(M(), (torch.ones(2, 3),), strict=False)
    assert ep.module()(torch.ones(2, 3)).tolist() == [[7.0] * 3] * 2
    view = next(n for n in ep.graph.nodes if n.name == "view")
    assert view.meta["val"].shape == (6,)


def test_a_program_prints_its_code_signature_and_ranges():
    class M(torch.nn.Module):
        def forward(self, x):
            return x + 1

    ep = torch.export.export(M(), (torch.ones(2, 3),), dynamic_shapes=({0: torch.export.Dim("b")},))
    text = str(ep)
    head = 'ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, x: "f32[s0, 3]"'
    assert text.startswith(head)
    assert "\nGraph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.USER_INPUT" in text
    assert text.endswith("\nRange constraints: {s0: VR[0, int_oo]}\n")


def test_lengths_of_repetitions_are_unbacked_sizes():
    class M(torch.nn.Module):
        def forward(self, x, r):
            return torch.repeat_interleave(x, r) * 2

    ep = torch.export.export(M(), (torch.ones(3), torch.tensor([1, 2, 0])), strict=False)
    assert ep.module()(torch.arange(3.0), torch.tensor([0, 2, 1])).tolist() == [2.0, 2.0, 4.0]


def test_what_was_none_stays_none():
    class M(torch.nn.Module):
        def forward(self, x, mask=None):
            return x + 1 if mask is None else x * mask

    ep = torch.export.export(M(), (torch.ones(2), None))
    assert ep.module()(torch.ones(2), None).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="to be equal to None, but got"):
        ep.module()(torch.ones(2), torch.zeros(2))
