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
