# SPDX-License-Identifier: Apache-2.0
"""Checks that a program makes when it runs, and numbers that it computes from the sizes of its inputs: what the capture
relied on, and nothing else, is refused."""

from typing import Any

import pytest

import ingot as torch
from ingot.export import Dim, export

BOTH = pytest.mark.parametrize("strict", [False, True])


class Sized(torch.nn.Module):
    def forward(self, n):
        n = n.item()
        torch._constrain_as_size(n, min=2, max=8)
        return torch.zeros(n)


class Unread(torch.nn.Module):
    """The number does not reach an output."""

    def forward(self, n, y):
        torch._check(n.item() > 3)
        return y + 1


class SizedUnread(torch.nn.Module):
    def forward(self, n, y):
        torch._constrain_as_size(n.item(), min=2, max=8)
        return y + 1


@BOTH
def test_the_range_of_a_size_is_checked(strict: bool) -> None:
    program = export(Sized(), (torch.tensor(4),), strict=strict)
    assert str(program.range_constraints).startswith("{u0: VR[2, 8], u1: VR[2, 8]")
    for good in (2, 5, 8):
        assert program.module()(torch.tensor(good)).shape == (good,)
    for bad in (-1, 0, 1, 9, 20):
        with pytest.raises(RuntimeError, match=r"range for -?\d+ between \[2, 8\]|inline constraint \[2, 8\]"):
            program.module()(torch.tensor(bad))


@BOTH
def test_the_range_of_a_size_that_nothing_reads_is_checked(strict: bool) -> None:
    program = export(SizedUnread(), (torch.tensor(4), torch.ones(3)), strict=strict)
    program.module()(torch.tensor(2), torch.ones(3))
    with pytest.raises(RuntimeError, match=r"\[2, 8\]"):
        program.module()(torch.tensor(9), torch.ones(3))


def test_a_check_of_a_number_that_nothing_reads_stays_in_strict_programs() -> None:
    program = export(Unread(), (torch.tensor(4), torch.ones(3)))
    program.module()(torch.tensor(4), torch.ones(3))
    with pytest.raises(RuntimeError, match=r"range for 3 between \[4, "):
        program.module()(torch.tensor(3), torch.ones(3))


def test_a_check_of_a_number_that_nothing_reads_goes_with_it_in_other_programs() -> None:
    """As in both releases."""
    program = export(Unread(), (torch.tensor(4), torch.ones(3)), strict=False)
    assert "item" not in program.graph_module.code
    program.module()(torch.tensor(3), torch.ones(3))


def test_a_range_is_stated_once() -> None:
    """A range that the program itself states is not stated again before the assertions."""

    class Both(torch.nn.Module):
        def forward(self, n):
            n = n.item()
            torch._constrain_as_size(n, min=2, max=8)
            torch._check(n < 7)
            return torch.zeros(n)

    code = export(Both(), (torch.tensor(4),), strict=False).graph_module.code
    assert code.count("sym_constrain_range_for_size.default") == 1
    assert code.count("sym_constrain_range.default(item, min = 2, max = 6)") == 1


@BOTH
def test_a_program_that_is_captured_again_has_its_checks_once(strict: bool) -> None:
    first = export(Sized(), (torch.tensor(4),), strict=strict)
    again = export(first.module(), (torch.tensor(4),), strict=strict)
    for check in ("sym_constrain_range_for_size.default", "_assert_async.msg"):
        assert again.graph_module.code.count(check) == first.graph_module.code.count(check)


def test_a_range_without_an_end_ends_with_the_largest_number() -> None:
    class Least(torch.nn.Module):
        def forward(self, n, y):
            n = n.item()
            torch._check(n > 3)
            return y * n

    code = export(Least(), (torch.tensor(4), torch.ones(3)), strict=False).graph_module.code
    assert "min = 4, max = 9223372036854775807" in code


# ---- sizes of which only a multiple is the size of an input ----

USES: dict[str, Any] = {
    "reshape": (lambda x: x.reshape(x.shape[0] // 2, 2), lambda n: (n // 2, 2)),
    "slice": (lambda x: x[: x.shape[0] // 2], lambda n: (n // 2,)),
    "zeros": (lambda x: torch.zeros(x.shape[0] // 2), lambda n: (n // 2,)),
    "chunk": (lambda x: x.chunk(2)[0], lambda n: (n // 2,)),
    "split": (lambda x: x.split(x.shape[0] // 2)[1], lambda n: (n // 2,)),
    "output": (lambda x: x.new_zeros(3, x.shape[0] // 2 + 1), lambda n: (3, n // 2 + 1)),
}


def of_function(function: Any) -> torch.nn.Module:
    class Applied(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Applied()


@BOTH
@pytest.mark.parametrize("factor", [2, 4])
@pytest.mark.parametrize("name", USES)
def test_half_of_a_multiple(name: str, factor: int, strict: bool) -> None:
    function, shape = USES[name]
    shapes = {"x": {0: factor * Dim("h", min=2, max=20)}}
    program = export(of_function(function), (torch.ones(4 * factor),), dynamic_shapes=shapes, strict=strict)
    for n in (3 * factor, 4 * factor, 20 * factor):
        assert program.module()(torch.ones(n)).shape == shape(n)
    with pytest.raises(RuntimeError, match="to be of the form" if factor > 2 else "to be (of the form|<=)"):
        program.module()(torch.ones(20 * factor + 1))


@BOTH
def test_half_of_a_multiple_is_a_division_in_the_program(strict: bool) -> None:
    halved = of_function(lambda x: torch.zeros(x.shape[0] // 2))
    shapes = {"x": {0: 2 * Dim("h", min=2, max=20)}}
    lines = export(halved, (torch.ones(8),), dynamic_shapes=shapes, strict=strict).graph_module.code.splitlines()
    assert "    floordiv = sym_size_int // 2;  sym_size_int = None" in lines


@BOTH
def test_the_root_of_a_derived_size_as_a_number(strict: bool) -> None:
    """2*h + 1 is the only size; h is computed by the rule of the operator, not by the program's own arithmetic."""
    rooted = of_function(lambda x: (x[1:].view(2, -1) + 1, x[1:].view(2, -1).shape[1]))
    shapes = {"x": {0: 2 * Dim("h", min=2, max=20) + 1}}
    program = export(rooted, (torch.ones(9),), dynamic_shapes=shapes, strict=strict)
    tensor, number = program.module()(torch.ones(13))
    assert tensor.shape == (2, 6)
    assert number == 6


def test_an_assertion_about_the_root_of_a_derived_size() -> None:
    class Asserted(torch.nn.Module):
        def forward(self, x, n):
            n = n.item()
            torch._check_is_size(n)
            torch._check(n < x.shape[0] // 2)
            return torch.zeros(n)

    shapes = {"x": {0: 2 * Dim("h", min=2, max=20)}, "n": None}
    program = export(Asserted(), (torch.ones(8), torch.tensor(2)), dynamic_shapes=shapes, strict=False)
    assert program.module()(torch.ones(12), torch.tensor(5)).shape == (5,)
    with pytest.raises(RuntimeError, match=r"Runtime assertion failed for expression u1 < s1"):
        program.module()(torch.ones(12), torch.tensor(6))


# ---- questions that only the data can answer ----


def refusal(function: Any, example: int, size: int = 6, strict: bool = False) -> str:
    class Asking(torch.nn.Module):
        def forward(self, n, y):
            n = n.item()
            torch._check_is_size(n)
            return function(n, y)

    with pytest.raises(Exception, match="Could not guard on data-dependent expression") as info:
        export(Asking(), (torch.tensor(example), torch.ones(size)), strict=strict)
    return str(info.value)


QUESTIONS: dict[str, Any] = {
    "select": (lambda n, y: y.select(0, n), "u0 >= 6"),
    "split": (lambda n, y: y.split([n, 6 - n])[0], "Eq(6 - u0, 0)"),
    "slice": (lambda n, y: (torch._check(n < 6), y[n:])[1], "Ne(6 - u0, 1)"),
    "view": (lambda n, y: torch.zeros(n).view(-1, 2), "Ne((u0//2), 1)"),
}


@BOTH
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_question_is_that_of_pytorch(name: str, strict: bool) -> None:
    function, question = QUESTIONS[name]
    first = refusal(function, 2, strict=strict).splitlines()[0]
    assert first.startswith(f"Could not guard on data-dependent expression {question} (unhinted: {question}).")


def test_a_repetition_needs_to_know_whether_it_is_one() -> None:
    class Repeated(torch.nn.Module):
        def forward(self, n, y):
            return y.unsqueeze(0).expand(n.item(), 6)

    with pytest.raises(Exception, match=r"expression Eq\(u0, 1\)"):
        export(Repeated(), (torch.tensor(2), torch.ones(6)), strict=False)


def test_narrow_asserts_its_bounds() -> None:
    class Narrowed(torch.nn.Module):
        def forward(self, n, y):
            n = n.item()
            torch._check_is_size(n)
            return y.narrow(0, 1, n)

    program = export(Narrowed(), (torch.tensor(2), torch.ones(6)), strict=False)
    assert program.module()(torch.tensor(5), torch.ones(6)).shape == (5,)
    with pytest.raises(RuntimeError, match=r"range for 6 between \[0, 5\]"):
        program.module()(torch.tensor(6), torch.ones(6))


def test_checks_are_listed_where_a_call_asks_and_told_where_the_program_does() -> None:
    call = refusal(lambda n, y: y.select(0, n), 2)
    assert "before this call:\n  1. torch._check(n >= 6)\n  2. torch._check(n < 6)\n" in call
    branch = refusal(lambda n, y: y + 1 if n > 3 else y, 2)
    assert "One of these has to hold before this line: torch._check(n > 3) or torch._check(n <= 3)." in branch


def counted(rows: torch.Tensor) -> torch.Tensor:
    total = rows.new_zeros(1)
    for row in rows:
        total = total + row
    return total


@BOTH
@pytest.mark.parametrize(
    "cut", [counted, torch.unbind, lambda t: t.split(1), lambda t: t.chunk(2), lambda t: t.tensor_split(2)]
)
def test_how_many_parts_there_are_is_not_guessed(cut: Any, strict: bool) -> None:
    def parts(x):
        return cut(x.nonzero())

    with pytest.raises(Exception, match="data-dependent expression"):
        export(of_function(parts), (torch.ones(3),), strict=strict)


@BOTH
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_the_length_of_a_range_whose_bounds_are_data_is_not_guessed(dtype: torch.dtype, strict: bool) -> None:
    def steps(bounds):
        return torch.arange(bounds[0], bounds[1], dtype=dtype)

    with pytest.raises(Exception, match=r"data-dependent expression Eq\("):
        export(of_function(steps), (torch.tensor([1.5, 4.0]),), strict=strict)


# A text, because pytest rewrites the assertions of its own files.
BOUNDED = """
def bounded(x):
    longest = (x != 0).sum(dim=1).max().item()
    assert longest <= 3, "too long"
    return x + 1
"""


def test_what_a_strict_program_asserts_of_its_data_is_part_of_it() -> None:
    scope: dict[str, Any] = {}
    exec(compile(BOUNDED, "bounded.py", "exec"), scope)
    program = export(of_function(scope["bounded"]), (torch.zeros(2, 4),)).module()
    assert program(torch.zeros(2, 4)).sum() == 8
    with pytest.raises(RuntimeError, match="Invalid value range for 4"):
        program(torch.ones(2, 4))
