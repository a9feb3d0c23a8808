# SPDX-License-Identifier: Apache-2.0
"""Graphs that torch.compile does not make: one per float, of new memory alone, of calls that fail; and calls that no
graph can have."""

import collections
import math

import pytest

import ingot as torch
from ingot import nn


class Backend:
    def __init__(self):
        self.calls = 0

    def __call__(self, gm, inputs):
        self.calls += 1
        return gm


@pytest.mark.parametrize(
    ("values", "graphs", "settings"),
    [
        ((0.5, 1.5, 2.5, math.inf, -0.0, math.nan), 2, {}),
        ((0.5, 1.5, 2.5), 3, {"dynamic": False}),
        ((0.5, 1.5, 2.5), 1, {"specialize_float": False}),
        ((math.nan, math.nan), 1, {}),
        ((1, 2.0, 3.0, 4.0, 5), 4, {}),  # other types are other graphs
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_floats_in_the_place_of_tensors(monkeypatch, values, graphs, settings, dtype):
    """One that varies is an input of the second graph; its dtype and its special values are those of eager."""

    def f(x, v):
        return x * v + v, x[1:] - v, (x > 1) / v

    monkeypatch.setattr(torch._dynamo.config, "specialize_float", settings.get("specialize_float", True))
    backend = Backend()
    g = torch.compile(f, backend=backend, dynamic=settings.get("dynamic"))
    x = torch.arange(3).to(dtype)
    for v in values:
        for found, expected in zip(g(x, v), f(x, v), strict=True):
            assert found.dtype == expected.dtype
            assert str(found.tolist()) == str(expected.tolist())
    assert backend.calls == graphs


def test_a_float_computed_from_a_step():
    backend = Backend()
    f = torch.compile(lambda x, step: x * (1 - step / 10), backend=backend)
    for step in range(6):
        assert torch.equal(f(torch.ones(2), step), torch.ones(2) * (1 - step / 10))
    assert backend.calls == 2


def test_a_parameter_made_inside_is_no_graph_of_its_own():
    def f(n):
        w = nn.Parameter(torch.full((n,), 2.0))
        return w * 3, w

    backend = Backend()
    out, w = torch.compile(f, backend=backend)(2)
    out.sum().backward()
    assert (out.tolist(), w.grad.tolist(), w.is_leaf, backend.calls) == ([6, 6], [3, 3], True, 1)


def test_a_call_that_fails_leaves_no_graph_before_it():
    def f(x, n):
        return (x * 2).reshape(n, -1)

    backend = Backend()
    g = torch.compile(f, backend=backend)
    with pytest.raises(RuntimeError, match="invalid for input of size 6"):
        g(torch.ones(6), 4)
    assert backend.calls == 0
    assert g(torch.ones(6), 3).shape == (3, 2)
    assert backend.calls == 1


def test_calls_that_catch_what_they_raise_are_not_compiled():
    """Not only the first call: later ones as well, and others are compiled all the same."""

    def f(x, n):
        try:
            if n > 2:
                raise ValueError("too large")
            return x * n
        except ValueError as error:
            return x - len(str(error))

    backend = Backend()
    g = torch.compile(f, backend=backend)
    x = torch.ones(2)
    for n in (1, 3, 4, 1, 3, 2, 5):
        assert torch.equal(g(x, n), f(x, n))
    assert backend.calls == 2


REFUSED_METHODS = [
    (list, "count", 1), (list, "remove", 1), (tuple, "count", 1), (set, "issubset", {1}), (frozenset, "issubset", {1}),
    (collections.deque, "count", 1), (collections.deque, "remove", 1),
]  # fmt: skip
KNOWN_METHODS = [
    (set, "remove", 1), (list, "index", 1), (tuple, "index", 1), (set, "isdisjoint", {1}), (str, "count", "1"),
    (collections.deque, "index", 1),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "arg"), REFUSED_METHODS + KNOWN_METHODS)
def test_methods_of_one_name_are_told_apart_by_their_class(kind, name, arg):
    values = "12" if kind is str else [1, 2]

    def f(x):
        getattr(kind(values), name)(arg)
        return x + 1

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    if (kind, name, arg) in REFUSED_METHODS:
        with pytest.raises(torch._dynamo.exc.Unsupported, match=f"unsupported builtin .*{name}"):
            compiled(torch.ones(2))
    else:
        assert compiled(torch.ones(2)).tolist() == [2, 2]


def test_numbers_written_in_hexadecimal_are_told_apart_from_the_builtin():
    f = torch.compile(lambda x: x + len((1.5).hex()), backend="eager", fullgraph=True)
    assert f(torch.zeros(1)).tolist() == [len((1.5).hex())]
    with pytest.raises(torch._dynamo.exc.Unsupported, match="unsupported builtin hex"):
        torch.compile(lambda x: x + len(hex(15)), backend="eager", fullgraph=True)(torch.zeros(1))


def test_a_variable_without_a_value_is_an_error_of_the_program():
    def f(x):
        if x.shape[0] > 5:
            y = 1
        return x + y

    with pytest.raises(torch._dynamo.exc.Unsupported, match="UnboundLocalError"):
        torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))


PARTS, LENGTHS = torch.tensor([1, 2]), torch.tensor([3, 2])


def splits(x):
    return (x * 2).tensor_split(PARTS)[1]


def packs(x):
    return nn.utils.rnn.pack_padded_sequence(x.reshape(3, 2, 1) + 1, LENGTHS).data


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("f", [splits, packs])
def test_calls_whose_sizes_are_elements_of_a_tensor_from_elsewhere(f, backend):
    """The elements are there while the calls are recorded, and no longer when a graph is made of them."""
    compiled = torch.compile(f, backend=backend)
    for k in range(3):
        x = torch.arange(6.0) + k
        assert torch.equal(compiled(x), f(x))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="data|elements"):
        torch.compile(f, backend=backend, fullgraph=True)(torch.arange(6.0))
