# SPDX-License-Identifier: Apache-2.0
"""x[...] and x[...] = v: outcomes of the real PyTorch, and the very calls that a capture sees."""

import json
import pathlib

import pytest

import ingot
import python_cases

GOLDEN = json.loads(pathlib.Path(__file__).with_name("golden_python.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", python_cases.INDEXING.strip().splitlines())
def test_get(line):
    assert python_cases.outcome(ingot, "indexing", line) == GOLDEN[f"indexing: {line}"]


@pytest.mark.parametrize("line", python_cases.ASSIGNMENT.strip().splitlines())
def test_set(line):
    assert python_cases.outcome(ingot, "assignment", line) == GOLDEN[f"assignment: {line}"]


# What torch.export of the real PyTorch 2.13 shows for the same expression.
RECORDED = {
    "x[0]": ["aten.select.int(x, 0, 0)"],
    "x[-1]": ["aten.select.int(x, 0, -1)"],
    "x[:]": ["aten.slice.Tensor(x, 0, 0, 9223372036854775807)"],
    "x[1:3]": ["aten.slice.Tensor(x, 0, 1, 3)"],
    "x[::2]": ["aten.slice.Tensor(x, 0, 0, 9223372036854775807, 2)"],
    "x[:, 1]": ["aten.slice.Tensor(x, 0, 0, 9223372036854775807)", "aten.select.int(slice_1, 1, 1)"],
    "x[..., 0]": ["aten.select.int(x, 2, 0)"],
    "x[...]": ["aten.alias.default(x)"],
    "x[None]": ["aten.unsqueeze.default(x, 0)"],
    "x[0, :, None, 1]": [
        "aten.select.int(x, 0, 0)",
        "aten.slice.Tensor(select, 0, 0, 9223372036854775807)",
        "aten.unsqueeze.default(slice_1, 1)",
        "aten.select.int(unsqueeze, 2, 1)",
    ],
    "x[i]": ["aten.index.Tensor(x, [i])"],
    "x[:, i]": ["aten.slice.Tensor(x, 0, 0, 9223372036854775807)", "aten.index.Tensor(slice_1, [None, i])"],
    "x[i, :, i]": ["aten.slice.Tensor(x, 1, 0, 9223372036854775807)", "aten.index.Tensor(slice_1, [i, None, i])"],
    "x[i, 0]": ["aten.select.int(x, 1, 0)", "aten.index.Tensor(select, [i])"],
    "x[..., i]": ["aten.index.Tensor(x, [None, None, i])"],
    "x[0:2, ..., -1]": ["aten.select.int(x, 2, -1)"],
    "1 - x": ["aten.rsub.Scalar(x, 1)"],
    "2 / x": ["aten.reciprocal.default(x)", "aten.mul.Tensor(reciprocal, 2)"],
    "2 ** x": ["aten.pow.Scalar(2, x)"],
    "x ** 2": ["aten.pow.Tensor_Scalar(x, 2)"],
    "x == 1": ["aten.eq.Scalar(x, 1)"],
    "x != x": ["aten.ne.Tensor(x, x)"],
    "x + 1": ["aten.add.Tensor(x, 1)"],
    "1 + x": ["aten.add.Tensor(x, 1)"],
    "x.sum(0)": ["aten.sum.dim_IntList(x, [0])"],
    "x.view(-1)": ["aten.view.default(x, [-1])"],
    "x.expand(2, 3, 4)": ["aten.expand.default(x, [2, 3, 4])"],
    "x.to(torch.float64)": ["aten.to.dtype(x, torch.float64)"],
    "x.double()": ["aten.to.dtype(x, torch.float64)"],
    "torch.ones(2, 3)": ["aten.ones.default([2, 3], device = device(type='cpu'), pin_memory = False)"],
    "torch.zeros_like(x)": ["aten.zeros_like.default(x, pin_memory = False)"],
    "x.new_zeros(2, 3)": ["aten.new_zeros.default(x, [2, 3], pin_memory = False)"],
    "m & m": ["aten.__and__.Tensor(m, m)"],
    "~m": ["aten.bitwise_not.default(m)"],
    "True | m": ["aten.bitwise_or.Scalar(m, True)"],
    "x.split([1, 1])[0]": ["aten.split_with_sizes.default(x, [1, 1])"],
}


@pytest.mark.parametrize("line", RECORDED)
def test_recorded(line):
    examples = {"x": ingot.rand(2, 3, 4), "i": ingot.tensor([0, 1]), "m": ingot.tensor([True, False])}
    ingot._C.capture_begin()
    try:
        scope = {name: ingot._C.capture_input(name, t) for name, t in examples.items()}
        graph = ingot._C.capture_end_graph((eval(line, {"torch": ingot, **scope}),), False)
    finally:
        ingot._C.capture_abort()
    lines = graph.python_code("self").src.splitlines()
    calls = [part.split(";")[0].split(" = torch.ops.", 1)[1] for part in lines if " = torch.ops." in part]
    assert calls == RECORDED[line]
