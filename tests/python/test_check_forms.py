# SPDX-License-Identifier: Apache-2.0
"""Checks of numbers that stand in the data: how they are computed, named and placed, by level and mode."""
import re

import pytest

import ingot as torch
from ingot.export import Dim
from ingot.export._trace import _export, _export_for_training


def lines(program):
    code = program.graph_module.code.replace("torch.ops.aten.", "")
    return [re.split(r";  ", row)[0].strip() for row in code.strip().split("\n")[1:]]


class Sizes(torch.nn.Module):
    def forward(self, a, b):
        i, j = a.item(), b.item()
        torch._check_is_size(i)
        torch._check_is_size(j)
        torch._check(i == j)
        return torch.ones(i) + torch.zeros(j)


SIZES = (torch.tensor(3), torch.tensor(3))


@pytest.mark.parametrize("strict, first", [(False, 2), (True, 6)])
def test_training_programs_assert_the_ends_of_ranges(strict, first):
    """Numbers of names tell what was compared before: by the program, and in a strict capture by its first trace."""
    program = _export_for_training(Sizes(), SIZES, strict=strict)
    failed = "Runtime assertion failed for expression"
    assert lines(program)[:9] == [
        "item = item.default(a)",
        "sym_constrain_range_for_size_default = sym_constrain_range_for_size.default(item)",
        f"ge_{first} = item >= 0",
        f"_assert_scalar_default = _assert_scalar.default(ge_{first}, \"{failed} u0 >= 0 on node 'ge_{first}'\")",
        "item_1 = item.default(b)",
        "sym_constrain_range_for_size_default_1 = sym_constrain_range_for_size.default(item_1)",
        f"ge_{first + 1} = item_1 >= 0",
        f"_assert_scalar_default_1 = _assert_scalar.default(ge_{first + 1}, "
        f"\"{failed} u1 >= 0 on node 'ge_{first + 1}'\")",
        "eq_1 = item == item_1",
    ]
    (node,) = [n for n in program.graph.nodes if n.name == "eq_1"]
    assert node.meta["torch_fn"] == ("eq_0", "builtin_function_or_method.eq")
    with pytest.raises(RuntimeError, match=r"Eq\(u0, u1\)"):
        program.module()(torch.tensor(2), torch.tensor(4))


def test_lowered_programs_state_ranges():
    class M(torch.nn.Module):
        def forward(self, x):
            n = x.item()
            torch._check(n >= 4)
            torch._check(n <= 7)
            return torch.empty(n)

    lowered = _export_for_training(M(), (torch.tensor(5),)).run_decompositions({})
    text = "\n".join(lines(lowered))
    assert text.count("sym_constrain_range.default(") == 1
    assert text.count("_assert_scalar.default(") == 2
    with pytest.raises(RuntimeError, match=r"Invalid value range for 30 between \[4, 7\]"):
        lowered.module()(torch.tensor(30))


def test_training_programs_check_what_nobody_asked_about():
    class M(torch.nn.Module):
        def forward(self, x):
            return x.masked_select(x > 0) * 2

    text = "\n".join(lines(_export_for_training(M(), (torch.tensor([1.0, -1.0, 2.0]),), strict=False)))
    assert "ge = sym_size_int >= 0" in text
    assert "le = sym_size_int <= 3" in text


class Numbers(torch.nn.Module):
    def forward(self, x, y):
        _, _, n = x.tolist()
        torch._check(n != 7)
        torch._check(n + 1 < y.shape[0])
        return torch.zeros(n)


NUMBERS = (torch.tensor([4, 2, 6]), torch.ones(10))
DYNAMIC = {"x": None, "y": {0: Dim("d", min=2, max=64)}}


def test_nodes_that_nobody_reads_have_had_names():
    program = torch.export.export(Numbers(), NUMBERS, dynamic_shapes=DYNAMIC, strict=False)
    rows = lines(program)
    assert "item_2 = item.default(getitem_2)" in rows
    assert not [row for row in rows if row.startswith(("item =", "item_1 ="))]


def test_checks_are_computed_as_sympy_stores_them():
    rows = lines(torch.export.export(Numbers(), NUMBERS, dynamic_shapes=DYNAMIC, strict=False))
    assert rows[0] == "sym_size_int = sym_size.int(y, 0)"  # read in front of everything
    at = rows.index("eq = item_2 == 7")
    assert rows[at + 1] == "sym_not = torch.sym_not(eq)"
    assert rows[at + 2].endswith("expression Ne(u5, 7) on node 'sym_not'\")")
    assert "add = 1 + item_2" in rows


def test_a_strict_capture_reads_elements_one_by_one():
    rows = lines(torch.export.export(Numbers(), NUMBERS, dynamic_shapes=DYNAMIC, strict=True))
    assert "select_2 = select.int(x, 0, 2)" in rows
    assert not [row for row in rows if "unbind" in row]


def test_arithmetic_is_recorded_where_it_is_done():
    class M(torch.nn.Module):
        def forward(self, x):
            n = x.shape[0] * 2
            y = x.sin()
            return y.sum() + torch.ones(n).sum()

    shapes = {"x": {0: Dim("d", min=2, max=64)}}
    rows = lines(_export_for_training(M(), (torch.ones(3),), dynamic_shapes=shapes, strict=False))
    assert rows.index("mul = sym_size_int_1 * 2") < rows.index("sin = sin.default(x)")
    rows = lines(torch.export.export(M(), (torch.ones(3),), dynamic_shapes=shapes, strict=False))
    assert rows.index("mul = sym_size_int * 2") > rows.index("sin = sin.default(x)")


def test_ranges_end_where_no_value_is_forced():
    """Only PyTorch 2.4 has that switch, and no infinite sizes."""
    class M(torch.nn.Module):
        def forward(self, x):
            return x + 1

    shapes = {"x": {0: Dim("d", min=4)}}
    args = (torch.ones(5),)
    program = _export(M(), args, dynamic_shapes=shapes, strict=False, _disable_forced_specializations=True)
    assert str(program.range_constraints) == "{s0: VR[4, 9223372036854775806]}"
    assert str(torch.export.export(M(), args, dynamic_shapes=shapes).range_constraints) == "{s0: VR[4, int_oo]}"
