# SPDX-License-Identifier: Apache-2.0
"""Graphs that torch.compile does not make: one per float, of new memory alone, of calls that fail."""

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
