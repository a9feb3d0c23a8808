# SPDX-License-Identifier: Apache-2.0
"""TorchScript programs as exported programs: what scripts decide on data stays a decision of the program."""

from __future__ import annotations

import pytest

import ingot as torch
from ingot._export.converter import TS2EPConverter, as_module
from ingot.export import Dim


def operators(program) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


@torch.jit.script
def choose(x):
    if bool(x.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y


@torch.jit.script
def add_rows(x):
    s = torch.zeros(3)
    for i in range(x.size(0)):
        s = s + x[i] * i
    return s


@torch.jit.script
def grow(x):
    n = 0
    while bool(x.sum() < 100):
        x = x * 2
        n += 1
    return x, n


def test_a_condition_on_data_is_a_cond() -> None:
    program = TS2EPConverter(choose, torch.ones(2, 3)).convert()
    assert any("cond" in target for target in operators(program))
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        assert torch.equal(program.module()(x), choose(x))


def test_a_loop_over_a_dynamic_size_is_a_loop() -> None:
    program = torch.export.export(
        as_module(add_rows), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("rows")}}, strict=False
    )
    assert any("while_loop" in target for target in operators(program))
    for rows in (2, 4, 7):
        x = torch.ones(rows, 3)
        assert torch.equal(program.module()(x), add_rows(x))


def test_a_loop_over_a_static_size_is_unrolled() -> None:
    program = TS2EPConverter(add_rows, (torch.ones(4, 3),)).convert()
    assert not any("while_loop" in target for target in operators(program))
    assert torch.equal(program.module()(torch.ones(4, 3)), add_rows(torch.ones(4, 3)))


def test_a_condition_of_a_loop_on_data() -> None:
    program = TS2EPConverter(grow, (torch.ones(4, 3),)).convert()
    for factor in (1, 3, 50):
        x = torch.ones(4, 3) * factor
        found, rounds = program.module()(x)
        expected, expected_rounds = grow(x)
        assert torch.equal(found, expected)
        assert rounds == expected_rounds


def test_parameters_of_script_modules() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x):
            y = self.linear(x)
            return y * 2 if bool(y.sum() > 0) else y

    x = torch.ones(4, 3)
    script = torch.jit.script(Model())
    program = TS2EPConverter(script, (x,)).convert()
    assert set(program.state_dict) == {"linear.weight", "linear.bias"}
    assert torch.equal(program.module()(x), script(x))


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="expected a script module or a script function, but found function"):
        TS2EPConverter(lambda x: x, (torch.ones(2),))


def test_numbers_read_from_literals_are_constants() -> None:
    class Part(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            k = torch.tensor(2)
            return x[:, : int(k)]

    x = torch.arange(6.0).reshape(2, 3)
    program = TS2EPConverter(torch.jit.script(Part()), (x,)).convert()
    assert program.module()(x).tolist() == [[0, 1], [3, 4]]


@torch.jit.script
def read_list(x):
    numbers: list[int] = x.tolist()
    return numbers[0] + numbers[1]


def test_numbers_of_a_tensor_as_a_list() -> None:
    program = TS2EPConverter(read_list, (torch.tensor([3, 4]),)).convert()
    assert program.module()(torch.tensor([3, 4])) == 7
    assert program.module()(torch.tensor([10, 5])) == 15
