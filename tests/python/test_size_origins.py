# SPDX-License-Identifier: Apache-2.0
"""Which size a program reads: equal numbers of different origins are nodes of their own, as in PyTorch 2.4. A size is
read off the tensor that the user asked; what an operator hands on stays the number that it was, what it computes is a
new one. Training programs have one node per expression, as in 2.5."""
import pytest

import ingot as torch
from ingot.export import Dim
from ingot.export._trace import _export_for_training

N = Dim("n", min=2, max=16)
ARGS = (torch.ones(4, 6), torch.ones(4, 6))
SHAPES = {"x": {0: N}, "y": {0: N}}


def export(fn, how=torch.export.export, args=ARGS, shapes=SHAPES):
    class M(torch.nn.Module):
        def forward(self, x, y):
            return fn(x, y)

    return how(M(), args, dynamic_shapes=shapes)


def numbers(program):
    """All nodes that are numbers, and what they are computed from."""
    return [
        (n.name, *(a.name if hasattr(a, "name") else a for a in n.args))
        for n in program.graph.nodes
        if n.op == "call_function" and not isinstance(n.meta["val"], (torch.Tensor, list, tuple))
    ]


def test_a_size_is_read_off_the_tensor_that_was_asked():
    program = export(lambda x, y: torch.zeros((x + y).shape[0]) + torch.zeros(y.shape[0]))
    assert numbers(program) == [("sym_size_int", "x", 0), ("sym_size_int_1", "y", 0)]
    out = program.module()(torch.ones(7, 6), torch.ones(7, 6))
    assert out.tolist() == [0.0] * 7


def test_a_dimension_of_a_square():
    shapes = {"x": {0: N, 1: N}, "y": None}
    program = export(lambda x, y: torch.ones(x.shape[-1]) + y, args=(torch.ones(4, 4), torch.ones(1)), shapes=shapes)
    assert numbers(program) == [("sym_size_int", "x", 1)]


def test_arithmetic_is_repeated_as_written():
    program = export(lambda x, y: torch.ones(x.shape[0] * 2) + torch.zeros(x.shape[0] * 2))
    assert [row[0] for row in numbers(program)] == ["sym_size_int", "mul", "mul_1"]
    training = export(lambda x, y: torch.ones(x.shape[0] * 2) + torch.zeros(x.shape[0] * 2), _export_for_training)
    assert [row[0] for row in numbers(training)] == ["sym_size_int_1", "mul"]


@pytest.mark.parametrize(
    "fn, source",
    [
        (lambda x: x.sin() * 2, "x"),
        (lambda x: x.sum(1), "x"),
        (lambda x: x.t().contiguous().t(), "x"),
        (lambda x: x.view(x.shape[0], 2, 3), "x"),
        (lambda x: torch.nn.functional.pad(x, (0, 1)), "x"),
        (lambda x: x[:, :3], "slice_1"),
        (lambda x: torch.arange(x.shape[0]), "arange"),
        (lambda x: x.tril(), "tril"),
        (lambda x: x.repeat(2, 1), "repeat"),
        (lambda x: torch.cat([x, x]), "cat"),
    ],
)
def test_what_is_handed_on_and_what_is_new(fn, source):
    program = export(lambda x, y: torch.zeros(fn(x).shape[0]) + y.sum())
    (factory,) = [n for n in program.graph.nodes if n.name == "zeros"]
    size = factory.args[0][0]
    assert (size.args[0].name, size.args[1]) == (source, 0)
    big = torch.ones(9, 6)
    assert torch.equal(program.module()(big, big), torch.full((fn(big).shape[0],), 54.0))


def test_a_view_that_cuts_a_dimension():
    """What stays is handed on, also what the user gave; what is left of the cut dimension is new."""

    def forward(x, y):
        parts = x.view(1, x.shape[0], 6)
        return torch.zeros(parts.shape[1]) + y.sum(), torch.stack([x, y]).shape[1]

    program = export(forward)
    assert numbers(program)[1] == ("sym_size_int_1", "view", 1)
    assert numbers(program)[2] == ("sym_size_int_2", "stack", 1)
    out, size = program.module()(torch.ones(5, 6), torch.ones(5, 6))
    assert (out.shape, size) == ((5,), 5)


def test_decomposed_programs_follow():
    linear = torch.nn.Linear(6, 6)
    program = torch.export.export(
        torch.nn.Sequential(linear, torch.nn.ReLU(), linear), (torch.ones(2, 4, 6),),
        dynamic_shapes=({1: N},),
    ).run_decompositions()  # fmt: skip
    assert numbers(program) == [
        ("sym_size_int", "input", 1), ("mul", 2, "sym_size_int"),
        ("sym_size_int_1", "view_1", 1), ("mul_1", 2, "sym_size_int_1"),
    ]  # fmt: skip
    x = torch.randn(2, 7, 6)
    torch.testing.assert_close(program.module()(x), linear(linear(x).relu()))
