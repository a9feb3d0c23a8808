# SPDX-License-Identifier: Apache-2.0
"""Passes over programs: functionalization, decomposition by table."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ingot as torch
from ingot import nn
from ingot.export import FlatArgsAdapter, export, unflatten
from ingot.export._trace import _export_for_training
from ingot.export.experimental import _export_forward_backward


def capture(fn, args, **buffers):
    """The program as it is captured: writes and views kept."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in buffers.items():
                self.register_buffer(name, value)

        def forward(self, *inputs):
            return fn(self, *inputs)

    module = Model()
    return module, _export_for_training(module, args)._program


def body(program):
    lines = program.code.strip().splitlines()[1:]
    return [re.sub(r";  .*", "", line.strip()) for line in lines]


def test_write_through_a_chain_of_views():
    def fn(_, x):
        y = x * 1
        part = y.view(2, 3).t()[1:]
        part.mul_(10)
        return y, part.sum(0)

    _, program = capture(fn, (torch.arange(6.0),))
    out = program.functionalize()
    assert not any("mul_." in line for line in body(out))
    y, total = out(torch.arange(6.0))
    assert y.tolist() == [0.0, 10.0, 20.0, 3.0, 40.0, 50.0]
    assert total.tolist() == [30.0, 90.0]


def test_buffers_come_before_inputs_in_the_outputs():
    def fn(m, x, z):
        z.add_(1)
        m.b[0].add_(x)
        m.a.mul_(2)
        return x + z

    _, program = capture(fn, (torch.ones(2), torch.ones(2)), a=torch.ones(2), b=torch.zeros(3, 2))
    kinds = [(kind, target) for kind, _, target, *_ in program.functionalize().output_specs]
    assert kinds == [
        ("BUFFER_MUTATION", "b"),  # in the order of reading
        ("BUFFER_MUTATION", "a"),
        ("USER_INPUT_MUTATION", "inputs_1"),
        ("USER_OUTPUT", None),
    ]


def test_conversions_are_copies_that_nobody_writes_to():
    _, program = capture(lambda _, x: x.to(torch.float32) + 1, (torch.ones(2),))
    assert (
        body(program.functionalize())[0]
        == "_to_copy = torch.ops.aten._to_copy.default(inputs_0, dtype = torch.float32)"
    )
    for convert in (lambda x: x.to(torch.float32), lambda x: x.double(), lambda x: x.to("cpu")):
        _, program = capture(lambda _, x, convert=convert: convert(x).add_(1), (torch.ones(2),))
        with pytest.raises(RuntimeError) as error:
            program.functionalize()
        assert str(error.value) == "cannot mutate tensors with frozen storage"


def test_views_in_place_change_what_the_tensor_shows():
    def fn(_, x):
        y = x.clone()
        y.t_()
        y.unsqueeze_(0)
        y[0, 1].fill_(5)
        return y, y.squeeze_(0).sum(0)

    module, program = capture(fn, (torch.zeros(2, 3),))
    for ours, eager in zip(program.functionalize()(torch.zeros(2, 3)), module(torch.zeros(2, 3)), strict=True):
        assert torch.equal(ours, eager)


def test_out_forms():
    def fn(_, x):
        out = torch.empty(3)
        torch.add(x, 1, out=out)
        values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
        torch.sort(x, descending=True, out=(values, indices))
        return out, values, indices

    module, program = capture(fn, (torch.arange(3.0),))
    out = program.functionalize()
    assert not any("_out(" in line or ".out(" in line for line in body(out))
    for ours, eager in zip(out(torch.arange(3.0)), module(torch.arange(3.0)), strict=True):
        assert torch.equal(ours, eager)


def test_training_batch_norm_is_functional():
    module = nn.BatchNorm1d(3)
    program = export(module, (torch.randn(4, 3),))._program
    assert [spec[0] for spec in program.output_specs] == ["BUFFER_MUTATION"] * 3 + ["USER_OUTPUT"]
    assert "_native_batch_norm_legit_functional" in program.code
    x = torch.randn(4, 3)
    mean = module.running_mean.clone()
    (y,) = program(x)
    assert not torch.equal(module.running_mean, mean)
    assert torch.allclose(module.running_mean, mean * 0.9 + x.mean(0) * 0.1)
    assert torch.allclose(y, nn.functional.batch_norm(x, None, None, training=True), atol=1e-5)


def test_training_programs_are_lowered_first_whatever_the_table():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
    program = _export_for_training(model, (torch.randn(2, 3),))._program
    once = program.decompose()
    assert [line.split(" = ")[0] for line in body(once)] == ["input_1", "t", "addmm", "relu", "return (relu,)"]
    assert [line.split(" = ")[0] for line in body(once.decompose())][1] == "permute"


def test_tables():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Hardtanh())
    program = export(model, (torch.randn(2, 3),))._program
    aten = torch.ops.aten
    kept = program.decompose(table={}, preserve=[aten.linear.default])
    assert "aten.linear.default" in kept.code
    own = program.decompose(table={aten.relu.default: lambda x: torch.maximum(x, torch.zeros_like(x))})
    assert "aten.maximum.default" in own.code and "aten.relu" not in own.code
    x = torch.randn(2, 3)
    assert torch.allclose(own(x)[0], program(x)[0])
    with pytest.raises(ZeroDivisionError):
        program.decompose(table={aten.relu.default: lambda x: 1 / 0})
    with pytest.raises(TypeError, match="returned str"):
        program.decompose(table={aten.relu.default: lambda x: "no"})
    table = torch._C.decomposition_table(True)
    del table[aten.t.default]
    assert "aten.t.default" in program.decompose(table=table).code


@pytest.mark.parametrize(
    ("op", "text"),
    [
        ("aten.chunk.default", "aten.chunk.default is a mutating/aliasing op"),
        ("aten.add.Tensor", "aten.add.Tensor is not CompositeImplicitAutograd op, so we will preserve it as"),
        ("aten.sym_size.default", "aten.sym_size.default is a metadata query function"),
        (
            "aten.native_batch_norm.default",
            "We can't detect aten.native_batch_norm.default as a functional op statically",
        ),
    ],
)
def test_what_cannot_be_preserved(op, text):
    program = export(nn.Linear(2, 2), (torch.ones(1, 2),))._program
    with pytest.raises(RuntimeError, match="^" + re.escape(text)):
        program.decompose(preserve=[op])


# ---- grad-mode regions ----


class Regions(nn.Module):
    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            a = y + 1
            with torch.enable_grad():
                b = a * y
            c = b - a
        return c + 1, b


def test_regions_of_another_mode_are_sub_graphs():
    ep = export(Regions(), (torch.ones(2),))
    lines = body(ep._program)
    assert lines == [
        "mul = torch.ops.aten.mul.Tensor(x, 2)",
        "submod_5 = self.submod_1",
        "add = torch._higher_order_ops.wrap.wrap_with_set_grad_enabled(False, submod_5, mul)",
        "mul_1 = torch.ops.aten.mul.Tensor(add, mul)",
        "submod_6 = self.submod_3",
        "sub = torch._higher_order_ops.wrap.wrap_with_set_grad_enabled(False, submod_6, mul_1, add)",
        "add_1 = torch.ops.aten.add.Tensor(sub, 1)",
        "return (add_1, mul_1)",
    ]
    x = torch.randn(2)
    for ours, eager in zip(ep._program(x), Regions()(x), strict=True):
        assert torch.equal(ours, eager)
    flat = ep.run_decompositions()
    assert "submod" not in flat.graph_module.code and len(body(flat._program)) == 6


def test_the_mode_around_the_capture_is_not_wrapped():
    with torch.no_grad():
        ep = export(Regions(), (torch.ones(2),))
    code = ep._program.code
    assert code.count("wrap_with_set_grad_enabled(True") == 1 and "wrap_with_set_grad_enabled(False" not in code


# ---- joint graphs ----


def test_loss_and_gradients_in_one_program():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            self.seen += 1
            y = self.lin(x).tanh()
            return y.detach(), (y * y).sum()

    model = Model()
    ep = export(model, (torch.randn(4, 3),), strict=False)
    joint = _export_forward_backward(ep, 1)
    kinds = [spec[0] for spec in joint._program.output_specs]
    assert kinds == ["BUFFER_MUTATION", "USER_OUTPUT", "LOSS_OUTPUT", "GRADIENT_TO_PARAMETER", "GRADIENT_TO_PARAMETER"]
    x = torch.randn(4, 3)
    state = joint.state_dict
    _, _, loss, weight, bias = joint.graph_module(state["lin.weight"], state["lin.bias"], torch.zeros(1), x)
    want = model(x)[1]
    want.backward()
    assert torch.allclose(loss, want)
    assert torch.allclose(weight, model.lin.weight.grad) and torch.allclose(bias, model.lin.bias.grad)


# ---- trees of modules ----


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))
        self.scale = torch.full((2,), 3.0)
        self.lin = nn.Linear(2, 2)

    def forward(self, x, twice=False):
        self.n += 1
        x = self.lin(x) * self.scale + self.n
        return self.lin(x) if twice else x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = Counter()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])
        self.same = self.layers[0]

    def forward(self, x):
        y = self.c(x)
        for layer in self.layers:
            y = layer(y)
        return self.same(self.c(y, True)) + y, {"n": self.c.n.clone()}


def test_unflattened_programs_have_the_tree_and_compute_the_same():
    model = Outer()
    tree = unflatten(export(model, (torch.ones(1, 2),), strict=False))
    assert set(tree.state_dict()) == set(model.state_dict())
    assert {"c", "c.lin", "layers", "layers.0", "layers.1"} <= set(dict(tree.named_modules()))
    for _ in range(3):
        x = torch.randn(1, 2)
        (a, more), (b, want) = tree(x), model(x)
        assert torch.allclose(a, b) and torch.equal(more["n"], want["n"])
    assert torch.equal(tree.c.n, model.c.n)


def test_unflattened_programs_return_new_values_of_inputs_and_write_them():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(2))

        def forward(self, x, y):
            self.steps.add_(1)
            y[0].mul_(3)
            return x + y, {"seen": self.steps * x}

    args = (torch.ones(2), torch.full((2,), 2.0))
    module = unflatten(export(Net(), args))
    assert "return (select_scatter, add_1, mul_1)" in str(module.graph)
    for step in (1.0, 2.0):
        x, y = torch.ones(2), torch.full((2,), 2.0)
        out, more = module(x, y)
        assert y.tolist() == [6.0, 2.0]
        assert out.tolist() == [7.0, 3.0]
        assert more["seen"].tolist() == [step, step]


def test_unflattened_modules_adapt_their_arguments():
    class Pair(nn.Module):
        def forward(self, x):
            return x["a"] - x["b"]

    class Swap(FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args):
            return list(reversed(input_args))

    ep = export(Pair(), ({"a": torch.ones(1), "b": torch.zeros(1)},))
    args = ([torch.zeros(1), torch.ones(1)],)
    with pytest.raises(TypeError, match="no flat args adapter"):
        unflatten(ep)(*args)
    assert unflatten(ep, Swap())(*args).item() == 1


# ---- random programs of views and writes ----


def _views(t):
    """What can be taken from a tensor, by its shape."""
    options = [lambda t: t.t() if t.dim() <= 2 else t.transpose(0, 1), lambda t: t.unsqueeze(0), lambda t: t.detach()]
    if t.dim() > 0:
        options.append(lambda t: t[1:] if t.size(0) > 1 else t[:1])
        options.append(lambda t: t.select(0, t.size(0) - 1))
        options.append(lambda t: t.split(2, 0)[0])
        options.append(lambda t: t.unbind(0)[0])
        options.append(lambda t: t[..., ::2])
    if t.dim() > 1:
        options.append(lambda t: t.permute(*range(t.dim() - 1, -1, -1)))
        options.append(lambda t: t.squeeze())
    if t.is_contiguous() and t.numel() % 2 == 0:
        options.append(lambda t: t.view(2, -1))
    return options


_WRITES = [
    lambda t, s: t.add_(s.sum()),
    lambda t, s: t.mul_(2),
    lambda t, s: t.fill_(3),
    lambda t, s: t.copy_(s.mean()),
    lambda t, s: t.zero_(),
    lambda t, s: t.sub_(t.flatten()[0].clone()) if t.numel() else t,
    lambda t, s: t.clamp_(-2, 2),
]

_steps = st.lists(st.tuples(st.sampled_from("vvwwn"), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=9)


def _run(steps, x, buffer):
    """The program that the numbers describe, on whatever tensors."""
    tensors = [x, buffer, x + 1]
    for what, i, k in steps:
        t = tensors[i % len(tensors)]
        if what == "v":
            options = _views(t)
            tensors.append(options[k % len(options)](t))
        elif what == "w":
            _WRITES[k % len(_WRITES)](t, tensors[(i + k) % len(tensors)])
        else:
            tensors.append(t * 0.5 + 1)
    return tuple(tensors[-3:])


@settings(max_examples=150, deadline=None)
@given(steps=_steps)
def test_functionalized_programs_equal_eager(steps):
    start, held = torch.arange(12.0).reshape(3, 4), torch.arange(6.0).reshape(2, 3)
    _, program = capture(lambda m, x: _run(steps, x, m.b), (start.clone(),), b=held.clone())
    functional = program.functionalize()
    assert not re.search(r"aten\.\w+_\.", functional.code)
    x, b = start.clone(), held.clone()
    eager = _run(steps, x, b)
    mine = start.clone()
    ours = functional(mine)
    for a, e in zip(ours, eager, strict=True):
        assert a.shape == e.shape and torch.equal(a, e), (steps, functional.code)
    assert torch.equal(mine, x), functional.code
    (kept,) = [t for name, t in functional.state_dict.items() if name == "b"]
    assert torch.equal(kept, b), functional.code


class Checked(nn.Module):
    def forward(self, x):
        torch.ops.aten._assert_async.msg(x.sum() > 0, "positive")
        return (x.sin(),)


def test_functional_assertions():
    from ingot._export.passes.functionalize_side_effectful_ops_pass import _FunctionalizeSideEffectfulOpsPass
    from ingot.fx.experimental.proxy_tensor import make_fx

    gm = make_fx(Checked())(torch.ones(2))
    done = _FunctionalizeSideEffectfulOpsPass()(gm)
    names = [n.name for n in done.graph_module.graph.nodes]
    assert "dep_token0" in names and "dep_token1" in names
    assert str(done.graph_module.graph.output_node().args[0][-1]) == "dep_token1"
    assert len(done.graph_module(torch.ones(2))) == 2
    with pytest.raises(RuntimeError, match="positive"):
        done.graph_module(-torch.ones(2))
    plain = make_fx(lambda x: (x.sin(),))(torch.ones(2))
    assert not _FunctionalizeSideEffectfulOpsPass()(plain).modified


def _switching(modes):
    """A graph with switches of the grad mode between its calls."""
    from ingot.fx import Graph, GraphModule

    graph = Graph()
    value = graph.placeholder("x")
    value.meta["val"] = torch.ones(2)
    for mode in modes:
        graph.call_function(torch._C._set_grad_enabled, (mode,))
        value = graph.call_function(torch.ops.aten.sin.default, (value,))
        value.meta["val"] = torch.ones(2)
    graph.output((value,))
    return GraphModule({}, graph)


def test_grad_switches_become_regions():
    from ingot._export.passes.replace_set_grad_with_hop_pass import (
        _is_set_grad_enabled_node,
        _is_set_grad_enabled_sub_mod,
        replace_set_grad_with_hop_pass,
    )
    from ingot._export.utils import sequential_split

    gm = _switching([False, True])
    split = sequential_split(gm, _is_set_grad_enabled_node)
    calls = [n for n in split.graph.nodes if n.op == "call_module"]
    assert [_is_set_grad_enabled_sub_mod(n) for n in calls] == [True, True]
    assert [_is_set_grad_enabled_sub_mod(n, omit_if_same_with_ambient=True) for n in calls] == [True, False]
    made, _ = replace_set_grad_with_hop_pass(gm)
    assert not any(_is_set_grad_enabled_node(n) for m in (made, *made.children()) for n in m.graph.nodes)
    assert made.code.count("wrap_with_set_grad_enabled(False") == 1
    x = torch.ones(2, requires_grad=True)
    assert torch.allclose(made(x)[0], x.sin().sin()) and not made(x)[0].grad_fn is x


def test_ranges_are_asserted():
    from ingot._export.passes.add_runtime_assertions_for_constraints_pass import (
        InputDim,
        _AddRuntimeAssertionsForInlineConstraintsPass,
        _convert_range_to_int,
    )
    from ingot.utils._sympy.numbers import int_oo
    from ingot.utils._sympy.value_ranges import ValueRanges

    class Sized(nn.Module):
        def forward(self, x):
            n = x.item()
            torch._check_is_size(n)
            return torch.zeros(n)

    ep = export(Sized(), (torch.tensor(4),))
    wider = {symbol: ValueRanges(1, 7) for symbol in ep.range_constraints}
    done = _AddRuntimeAssertionsForInlineConstraintsPass(wider)(ep.graph_module)
    assert done.modified
    said = [n.args[1] for n in done.graph_module.graph.nodes if n.target == torch.ops.aten._assert_scalar.default]
    assert any("u0 >= 1" in text for text in said) and any("u0 <= 7" in text for text in said)
    assert InputDim("x", 0).dim == 0
    assert _convert_range_to_int(ValueRanges(2, int_oo)) == (2, float("inf"))


def test_metadata_hook():
    from ingot._export.passes._node_metadata_hook import _node_metadata_hook, _set_node_metadata_hook

    gm = _switching([True])
    with _set_node_metadata_hook(gm, lambda node: _node_metadata_hook(node, "here")):
        last = gm.graph.output_node()
        with gm.graph.inserting_before(last):
            node = gm.graph.call_function(torch.ops.aten.neg.default, (last.args[0][0],))
    assert node.meta["val"].tolist() == [-1, -1] and node.meta["stack_trace"] == "here"
    assert node.meta["torch_fn"] == ("neg.default_0", "OpOverload.neg.default")


def test_verifiers_of_dialects():
    from ingot._export.verifier import SpecViolationError, Verifier, load_verifier

    ep = export(nn.Linear(2, 2), (torch.ones(1, 2),))
    seen = []

    class Own(Verifier):
        dialect = "OWN"

        def check_valid_op(self, op):
            seen.append(op)

    Own().check(ep)
    assert seen == [torch.ops.aten.linear.default] and load_verifier("OWN") is Own
    with pytest.raises(KeyError):
        load_verifier("NOBODY")
    with pytest.raises(SyntaxError, match="Overriding method check is not allowed"):
        type(Verifier)("Bad", (Verifier,), {"dialect": "BAD", "check": None})
    gm = ep.graph_module
    gm.weight = torch.ones(1)
    with gm.graph.inserting_before(next(iter(gm.graph.nodes))):
        gm.graph.get_attr("weight").meta["val"] = gm.weight
    with pytest.raises(SpecViolationError, match="Invalid get_attr type"):
        ep._validate()
    ep = export(nn.Linear(2, 2), (torch.ones(1, 2),))
    ep.graph_signature.input_specs[0].target = "nothing"
    with pytest.raises(SpecViolationError, match="Parameter nothing is not in the state dict"):
        ep._validate()


def test_autocast_marks_become_regions():
    from ingot._export.passes.replace_autocast_with_hop_pass import replace_autocast_with_hop_pass
    from ingot.amp.autocast_mode import _enter_autocast, _exit_autocast
    from ingot.fx import Graph, GraphModule

    graph = Graph()
    x = graph.placeholder("x")
    mode = graph.call_function(_enter_autocast, ("cpu", torch.bfloat16, True, None))
    product = graph.call_function(torch.ops.aten.mm.default, (x, x))
    graph.call_function(_exit_autocast, (mode,))
    graph.output((graph.call_function(torch.ops.aten.neg.default, (product,)),))
    for node in graph.nodes:
        node.meta["val"] = torch.ones(2, 2)
    made, _ = replace_autocast_with_hop_pass(GraphModule({}, graph))
    assert made.code.count("wrap_with_autocast('cpu', torch.bfloat16, True, None") == 1
    inside = "".join(m.code for m in made.children())
    assert "_autocast" not in inside and "neg" not in inside and "neg" in made.code
