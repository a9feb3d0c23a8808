# SPDX-License-Identifier: Apache-2.0
"""Higher-order operators: eager, captured, run again, differentiated; names, order of operands, refusals."""

import copy
import pickle
import re
import subprocess
import sys

import pytest

import ingot as torch
from ingot._higher_order_ops import scan, strict_mode, while_loop
from ingot.control_flow import map as control_map


class Fn(torch.nn.Module):
    """A module of a function, with a buffer and a layer to close over."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn
        self.lin = torch.nn.Linear(3, 3)
        self.register_buffer("off", torch.full((3,), 0.5))

    def forward(self, *args):
        return self.fn(self, *args)


def same(fn, *args, strict=False):
    """Exports, compares with eager, and gives the printed graph."""
    m = Fn(fn)
    want = m(*args)
    ep = torch.export.export(m, args, strict=strict)
    for program in (ep, ep.run_decompositions()):
        got = program.module()(*args)
        flat = torch.utils._pytree.tree_leaves
        for a, b in zip(flat(want), flat(got), strict=True):
            assert torch.allclose(a, b)
    return str(ep.graph)


X = torch.arange(6.0).reshape(2, 3) - 1


@pytest.mark.parametrize("shift", [0.0, -10.0])
def test_cond_both_ways(shift):
    same(lambda m, x: torch.cond(x.sum() > 0, lambda v: m.lin(v), lambda v: v + m.off, (x,)), X + shift)


def test_cond_containers():
    def f(m, x, y):
        out = torch.cond(
            x.sum() > 0, lambda d, z: {"a": d["p"] + z, "b": [z]}, lambda d, z: {"a": d["p"] - z, "b": [z * 2]},
            ({"p": x}, y),
        )  # fmt: skip
        return out["a"] * out["b"][0]

    same(f, X, X * 2)


def test_order_of_operands():
    def f(m, b, a):
        kept = a * 2
        return torch.cond(b.sum() > 0, lambda y, x: y + x + m.off, lambda y, x: y - kept, (b, a))

    loose = same(f, X, X + 1)
    assert "[%y, %b_off, %args_1, %mul]" in loose.replace("%args_0", "%y"), loose


def test_literal_predicate_stays():
    text = same(lambda m, x: torch.cond(x.shape[0] == 2, lambda v: v.exp(), lambda v: v.log(), (x,)), X.abs() + 1)
    assert "(True, %true_graph_0, %false_graph_0, [" in text


def test_bound_methods_and_closures():
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def yes(self, x):
            return x * self.w

        def forward(self, x):
            return torch.cond(x.max() > 0, self.yes, lambda v: v, (x,)) + 0

    m = Inner()
    ep = torch.export.export(m, (X,))
    assert torch.allclose(ep.module()(X), m(X))
    assert torch.allclose(ep.module()(-X.abs()), m(-X.abs()))


def test_nested_conds():
    def f(m, x, p, q):
        def outer(x, q):
            return torch.cond(q, lambda v: v.sin() + m.off, lambda v: v.cos(), (x,))

        return torch.cond(p, outer, lambda x, q: x * 2, (x, q))

    for p in (True, False):
        for q in (True, False):
            same(f, X, torch.tensor(p), torch.tensor(q))


def test_cond_gradient():
    x = torch.ones(3, requires_grad=True)
    torch.cond(x.sum() > 0, lambda v: v * 3, lambda v: v, (x,)).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.cond(1.5, abs, abs, ()), "Expected pred to be bool or tensor"),
        (lambda: torch.cond(torch.ones(2), abs, abs, ()), "single-element tensor"),
        (lambda: torch.cond(True, abs, 3, ()), "Expect both branches to be callbe"),
        (lambda: torch.cond(True, abs, abs, (1,)), "only consists of tensor leaves"),
        (lambda: control_map(abs, torch.ones(0, 2)), "cannot be 0"),
        (lambda: control_map(abs, [torch.ones(2), torch.ones(3)]), "must be consistent"),
        (lambda: control_map(abs, torch.tensor(1.0)), "at least one dimension"),
        (lambda: while_loop(3, abs, ()), "cond_fn"),
        (lambda: scan(abs, (), torch.ones(2)), "requires init leaves"),
    ],
)
def test_refused_eagerly(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize(
    ("yes", "no", "text"),
    [
        (lambda a: a[:1], lambda a: a, r"float32\[1, 3\] and float32\[2, 3\]"),
        (lambda a: a.long(), lambda a: a, "int64"),
        (lambda a: (a, a), lambda a: a, "got 2 and 1"),
    ],
)
def test_branches_that_differ(yes, no, text):
    with pytest.raises(torch._dynamo.exc.UncapturedHigherOrderOpError, match="Cond doesn't work unless") as info:
        torch.export.export(Fn(lambda m, x: torch.cond(x.sum() > 0, yes, no, (x,))), (X,), strict=False)
    assert re.search(text, str(info.value))


def test_error_inside_a_branch():
    def bad(a):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        torch.export.export(Fn(lambda m, x: torch.cond(x.sum() > 0, bad, lambda a: a, (x,))), (X,), strict=False)
    # The context is whole again.
    same(lambda m, x: x + 1, X)


def test_map():
    text = same(lambda m, x: control_map(lambda a, k: m.lin(a) * k + m.off, x, torch.tensor(2.0)), X)
    assert "map_impl](args = (%body_graph_0, [%args_0], [" in text


def test_map_gradient():
    x = torch.ones(2, 3, requires_grad=True)
    control_map(lambda a: a * a * 3, x).sum().backward()
    assert x.grad.tolist() == [[6, 6, 6]] * 2


def test_while_loop():
    def f(m, i, x):
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2 + m.off), (i, x))

    same(f, torch.tensor(1), X)
    same(f, torch.tensor(9), X)


def test_while_loop_refused():
    with pytest.raises(torch._dynamo.exc.UncapturedHigherOrderOpError, match="as many results as there are carried"):
        torch.export.export(
            Fn(lambda m, i: while_loop(lambda i: i < 4, lambda i: (i, i), (i,))), (torch.tensor(1),), strict=False
        )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scan(reverse, dim):
    def f(m, x):
        init = torch.zeros(x.shape[1 - dim % 2])
        return scan(lambda c, y: (c + y, (c * y, c)), init, x, dim=dim, reverse=reverse)

    same(f, X)
    carry, (_, before) = f(None, X)
    steps = torch.unbind(X, dim)
    assert torch.allclose(carry, X.sum(dim))
    assert before[-1 if reverse else 0].abs().sum() == 0 and len(before) == len(steps)


def test_strict_mode():
    text = same(lambda m, x: strict_mode(lambda a: a.sin() + m.off, (x.cos(),)), X)
    assert "strict_mode](args = (%strict_graph_0, (%cos, %b_off))" in text


def test_objects():
    op = torch.ops.higher_order.cond
    assert copy.deepcopy(op) is op and pickle.loads(pickle.dumps(op)) is op
    assert str(op) == "cond" and op.name() == "cond"
    x = torch.ones(2)
    assert torch.ops.higher_order.map_impl(lambda a: (a + 1,), [x], [])[0].tolist() == [2, 2]


def test_namespace_without_import():
    code = "import ingot; print(ingot.ops.higher_order.while_loop)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "while_loop\n"


def test_writes_inside_a_branch():
    def f(m, x):
        def yes(v):
            v = v * 2
            v[0].add_(m.off)
            return v

        return torch.cond(x.sum() > 0, yes, lambda v: v.clone().mul_(3), (x,))

    same(f, X)
    same(f, X - 10)


def test_values_written_before_a_branch():
    def f(m, x):
        y = x + 1
        y.mul_(2)
        y[1].add_(5)
        return torch.cond(x.sum() > 0, lambda v: v + y, lambda v: v - y, (y[0],))

    same(f, X)
    same(f, X - 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: torch.cond(x.sum() > 0, lambda v: v.add_(1), lambda v: v, (x,)),
        lambda m, x: torch.cond(x.sum() > 0, lambda v: v + 0, lambda v: v + m.off.add_(1), (x,)),
        lambda m, x: control_map(lambda v: v.add_(1), x),
        lambda m, x: while_loop(lambda v: v.sum() < 1, lambda v: (v.t().add_(1).t(),), (x[:1, :2],)),
    ],
)
def test_branches_must_not_write(call):
    with pytest.raises(torch._dynamo.exc.UncapturedHigherOrderOpError, match="might be modifying the input"):
        torch.export.export(Fn(call), (X,), strict=False)


@pytest.mark.parametrize("strict", [False, True])
def test_operands_are_sorted_by_the_names_of_the_program(strict):
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.zero = torch.tensor([1.0, 2.0, 3.0])
            self.register_buffer("early", torch.ones(3))

        def forward(self, wide, narrow):
            def yes(a, b):
                return a + self.zero + b * self.early

            return torch.cond(wide.sum() > 0, yes, lambda a, b: a * self.early - b - self.zero, (wide, narrow))

    code = torch.export.export(Gate(), (X, X + 1), strict=strict).graph_module.code
    assert f"[b_early, c_zero, {'narrow, wide' if strict else 'wide, narrow'}]" in code


def test_attributes_of_sub_graphs_do_not_give_way_to_inputs():
    class Net(torch.nn.Module):
        def forward(self, true_graph_0):
            return torch.cond(true_graph_0.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (true_graph_0,))

    program = torch.export.export(Net(), (X,))
    for p in (program, program.run_decompositions()):
        assert "true_graph_1 = self.true_graph_0" in p.graph_module.code
        assert torch.equal(p.module()(X), X.sin())


def metadata(program, key):
    found = {}
    for path, graph in program.graph_module.named_modules():
        for node in graph.graph.nodes:
            if node.op == "call_function":
                found[path, node.name] = node.meta.get(key)
    return found


def two_branches(m, x):
    kept = x + 1
    out = torch.cond(x.sum() > 0, lambda v: (m.lin(v) + v) / 2, lambda v: (v + 1) + 2, (x,))
    return out + kept


def test_sub_graphs_count_their_calls_anew():
    strict = metadata(torch.export.export(Fn(two_branches), (X,), strict=True), "torch_fn")
    assert strict["", "conditional"] == strict["", "getitem"] == ("cond_1", "HigherOrderOperator.cond")
    assert strict["true_graph_0", "add"] == ("add_1", "method_descriptor.add")
    assert strict["false_graph_0", "add_1"] == strict["", "add_1"] == ("add_2", "method_descriptor.add")
    loose = metadata(torch.export.export(Fn(two_branches), (X,), strict=False), "torch_fn")
    assert loose["false_graph_0", "add"] == ("add_1", "method_descriptor.add")
    assert loose["", "add_1"] == ("add_5", "method_descriptor.add")  # three in the branches


def test_sources_of_branches_begin_with_their_operator():
    """In exports for training; those for inference tell of branches what they tell of the call."""
    program = torch.export._trace._export_for_training(Fn(two_branches), (X,), strict=True)
    found = metadata(program, "source_fn_stack")
    names = {k: [(a, b if isinstance(b, str) else b.__name__) for a, b in v] for k, v in found.items()}
    assert names["", "cond"] == [("cond", "cond")]
    assert names["true_graph_0", "linear"] == [("cond", "cond"), ("linear", "linear")]
    assert names["true_graph_0", "div"] == [("cond", "cond"), ("truediv", "truediv")]
    assert names["", "add_1"] == [("add_1", "add")]


def test_switches_of_the_grad_mode_are_counted():
    class Net(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                a = x + 1
                with torch.no_grad():
                    b = a * 2
            return b.exp()

    export = torch.export._trace._export_for_training
    loose, strict = (metadata(export(Net(), (X,), strict=s), "torch_fn") for s in (False, True))
    numbers = {name: fn for (_, name), fn in strict.items() if "grad" in name}
    kind = "builtin_function_or_method._set_grad_enabled"
    names = ("_set_grad_enabled", "_set_grad_enabled_1")
    assert numbers == {name: (f"_set_grad_enabled_{i}", kind) for i, name in enumerate(names, 1)}
    assert loose["", "_set_grad_enabled_3"] == ("_set_grad_enabled_4", kind)
    assert loose["", "mul"] == ("mul_1", "method_descriptor.mul")


def test_sub_graphs_are_no_modules_of_the_unflattened_program():
    m = Fn(two_branches)
    module = torch.export.unflatten(torch.export.export(m, (X,)))
    assert not [name for name, _ in module.named_modules() if "graph" in name]
    assert isinstance(module.true_graph_0, torch.fx.GraphModule)
    for x in (X, X - 10):
        assert torch.allclose(module(x), m(x))


def test_a_branch_reads_sizes_off_the_tensor_that_it_asks():
    class M(torch.nn.Module):
        def forward(self, x, y):
            z = y.cos()
            return torch.cond(y.sum() > 0, lambda a: a + z, lambda a: a * z.shape[0], (x,))

    n = torch.export.Dim("n", min=2, max=12)
    args = torch.ones(4), torch.ones(4)
    for strict, order in ((True, ["x", "cos"]), (False, ["cos", "x"])):
        ep = torch.export.export(M(), args, dynamic_shapes=({0: n}, {0: n}), strict=strict)
        node = next(n for n in ep.graph.nodes if n.name.startswith("cond"))
        assert [a.name for a in node.args[3]] == order
        assert "sym_size" in ep.graph_module.false_graph_0.code
        for k in (3, 5):
            for sign in (1.0, -1.0):
                x, y = torch.randn(k), torch.full((k,), sign)
                torch.testing.assert_close(ep.module()(x, y), M()(x, y))


def test_sub_graphs_of_loops_are_numbered_and_their_conditions_are_bare():
    class M(torch.nn.Module):
        def forward(self, i, x):
            y = x.cos()
            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * y), (i, x))

    for strict in (True, False):
        ep = torch.export.export(M(), (torch.tensor(0), torch.ones(2)), strict=strict)
        for program in (ep, ep.run_decompositions()):
            cond, body = program.graph_module.while_loop_cond_graph_0, program.graph_module.while_loop_body_graph_0
            assert "def forward(self, arg0_1, arg1_1, arg2_1):" in cond.code
            assert "return lt\n" in cond.code
            assert "def forward(self, arg0_1, arg1_1, arg2_1):" in body.code
            expected = M()(torch.tensor(0), torch.ones(2))
            torch.testing.assert_close(program.module()(torch.tensor(0), torch.ones(2)), expected)


@pytest.mark.parametrize("strict", (True, False))
def test_the_body_of_map_returns_a_list_unless_a_capture_is_strict(strict):
    class M(torch.nn.Module):
        def forward(self, xs, y):
            return control_map(lambda x, y: (x + y, x * y), xs, y)

    args = torch.ones(3, 2), torch.arange(2.0)
    ep = torch.export.export(M(), args, strict=strict)
    ends = ["return (add, mul)", "return [add, mul]"]
    assert ends[not strict] in ep.graph_module.body_graph_0.code
    torch.testing.assert_close(ep.module()(*args), M()(*args))
