# SPDX-License-Identifier: Apache-2.0
"""Drafts: an export that asks the example inputs where it would refuse, and reports it; and the edits that it suggests
work."""

import json
import linecache
import random
import re
from typing import Any

import pytest

import ingot as torch
from ingot.export import Dim, draft_export, export
from ingot.export._draft_export import FailureType


def load(source: str, name: str = "<draft>") -> Any:
    """The module M of a source text whose lines a report can quote."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"torch": torch}
    exec(compile(source, name, "exec"), space)
    return space["M"]()


def kinds(program: Any) -> list[FailureType]:
    return [failure.failure_type for failure in program._report.failures]


BRANCH = """class M(torch.nn.Module):
    def forward(self, x, y):
        n = x.max().item()
        if n > 4:
            return y * 2
        return y - 1
"""


def test_clean_program() -> None:
    program = draft_export(torch.nn.Linear(3, 2), (torch.randn(4, 3),))
    assert program._report.successful()
    assert program._report.failures == []
    assert "No issues are found" in str(program._report)
    assert json.loads(program._report.to_json()) == {"issues": []}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("values", "answer", "check"), [([1, 7], "True", "n > 4"), ([1, 2], "False", "n <= 4")])
def test_branch_on_data(strict: bool, values: list, answer: str, check: str) -> None:
    args = (torch.tensor(values), torch.ones(2))
    module = load(BRANCH)
    with pytest.raises(Exception, match="Could not guard on data-dependent expression u0 > 4"):
        export(module, args, strict=strict)
    program = draft_export(module, args, strict=strict)
    (failure,) = program._report.failures
    assert failure.failure_type is FailureType.DATA_DEPENDENT_ERROR
    assert failure.data["expr"] == "u0 > 4"
    assert failure.data["result"] == answer
    assert (failure.data["line"], failure.data["source"]) == (4, "if n > 4:")
    assert failure.fixes == [f"torch._check({check})"]
    torch.testing.assert_close(program.module()(*args), module(*args))
    # Inputs that decide otherwise are refused, not computed wrongly.
    other = torch.tensor([1, 2] if answer == "True" else [1, 7])
    with pytest.raises(RuntimeError):
        program.module()(other, torch.ones(2))


def test_suggested_check_exports() -> None:
    """The edit of the report, put before the line of the report, makes the plain export succeed."""
    args = (torch.tensor([1, 7]), torch.ones(2))
    program = draft_export(load(BRANCH), args)
    (failure,) = program._report.failures
    lines = BRANCH.splitlines()
    indent = re.match(" *", lines[failure.data["line"] - 1]).group()
    lines.insert(failure.data["line"] - 1, indent + failure.fixes[0])
    fixed = export(load("\n".join(lines), "<fixed>"), args, strict=False)
    torch.testing.assert_close(fixed.module()(*args), torch.full((2,), 2.0))


def test_number_read_from_data() -> None:
    source = """class M(torch.nn.Module):
    def forward(self, x):
        n = int(x.sum())
        for i in range(n):
            x = x + i
        return x
"""
    args = (torch.tensor([1, 2]),)
    program = draft_export(load(source), args)
    (failure,) = program._report.failures
    assert failure.fixes == ["torch._check(n == 3)"] or "== 3" in failure.fixes[0]
    torch.testing.assert_close(program.module()(*args), load(source)(*args))


def test_tensor_as_condition() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                return x.relu()
            return -x

    x = torch.tensor([1.0, -0.5])
    program = draft_export(M(), (x,))
    assert kinds(program) == [FailureType.DATA_DEPENDENT_ERROR]
    torch.testing.assert_close(program.module()(x), x.relu())


def test_sizes_that_do_not_fit() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            assert x.shape[0] == 6
            return x.sum(1) + y

    args = (torch.randn(6, 2), torch.randn(6))
    shapes = {"x": {0: Dim("rows"), 1: Dim("columns")}, "y": {0: Dim("n")}}
    program = draft_export(M(), args, dynamic_shapes=shapes)
    assert set(kinds(program)) == {FailureType.GUARD_ADDED}
    texts = [failure.data["fix"] for failure in program._report.failures]
    assert any("rows = 6" in text for text in texts)
    assert any("assert x.shape[0] == 6" == f.data["source"] for f in program._report.failures)
    made = program._report.failures[0].data["new_dynamic_shapes"]
    again = export(M(), args, dynamic_shapes=made)  # what the draft used is what export takes
    assert str(again.range_constraints) == str(program.range_constraints)
    assert program.module()(torch.randn(6, 9), torch.randn(6)).shape == (6,)


def test_example_outside_of_range() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    program = draft_export(M(), (torch.randn(3),), dynamic_shapes={"x": {0: Dim("n", min=5, max=9)}})
    (failure,) = program._report.failures
    assert "not in range" in failure.data["reason"]
    assert failure.fixes


@pytest.fixture
def library() -> Any:
    with torch.library._scoped_library("drafttest", "FRAGMENT") as lib:
        yield lib


def test_operator_without_fake(library: Any) -> None:
    library.define("head(Tensor x, int n) -> (Tensor, Tensor)")
    calls = []

    def head(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        calls.append(n)
        return x[:n].clone(), x.sum(0).to(torch.float64)

    library.impl("head", head, "CPU")

    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a, b = torch.ops.drafttest.head(x, 2)
            return a.sum() + b.to(torch.float32)

    x = torch.randn(5, 3)
    with pytest.raises(NotImplementedError, match="no fake impl registered for drafttest::head"):
        export(M(), (x,), strict=False)
    calls.clear()
    program = draft_export(M(), (x,))
    assert calls == [2]  # the kernel ran once
    assert kinds(program) == [FailureType.MISSING_FAKE_KERNEL]
    (failure,) = program._report.failures
    assert 'register_fake("drafttest::head")' in failure.fixes[0]
    assert "dtype=torch.float64" in failure.fixes[0]
    (profile,) = program._report.op_profiles["drafttest.head.default"]
    assert [p.rank for p in profile.out_profile] == [2, 1]
    torch.testing.assert_close(program.module()(x), M()(x))
    lowered = program.run_decompositions()  # traced again without a rule
    torch.testing.assert_close(lowered.module()(x), M()(x))


def test_wrong_fake(library: Any) -> None:
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: torch.cat([x, x]), "CPU")
    torch.library.register_fake("drafttest::twice", lambda x: torch.empty_like(x), lib=library)

    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.drafttest.twice(x).sum(0)

    x = torch.randn(4, 2)
    program = draft_export(M(), (x,))
    assert kinds(program) == [FailureType.MISMATCHED_FAKE_KERNEL]
    assert "fake size 4 and real size 8" in program._report.failures[0].data["reason"]
    torch.testing.assert_close(program.module()(x), M()(x))


def test_branches_and_values_inside() -> None:
    """What a higher-order operator gives has an example, too."""

    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, [x])
            if y.sum().item() > 2:
                return y * 3
            return y

    x = torch.ones(3)
    program = draft_export(M(), (x,))
    assert kinds(program) == [FailureType.DATA_DEPENDENT_ERROR]
    torch.testing.assert_close(program.module()(x), M()(x))


def test_the_example_decides_how_many_pieces_there_are() -> None:
    """The number of results of a call cannot be symbolic: a draft takes the example's."""
    pieces = []

    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor, room: torch.Tensor) -> list:
            torch.ops.aten.repeat_interleave.Tensor_out(x, out=room)
            chunks = torch.ops.aten.unsafe_chunk.default(room, 3, -1)
            pieces.append(len(chunks))
            return chunks

    draft_export(M(), (torch.tensor([1, 2, 3]), torch.empty(0, dtype=torch.int64)))
    assert set(pieces) == {3}


def test_draft_leaves_no_trace() -> None:
    """Weights, inputs and the random stream are as before."""

    class M(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            x.mul_(2)
            n = x.sum().item()
            noise = torch.rand(3)
            return x + noise if n > 0 else x

    module, x = M(), torch.ones(3)
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    draft_export(module, (x,))
    torch.testing.assert_close(torch.rand(2), want)
    torch.testing.assert_close(x, torch.ones(3))
    assert module.count.item() == 0


def test_wrong_programs_still_fail() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ x

    with pytest.raises(RuntimeError, match="same reduction dim"):
        draft_export(M(), (torch.randn(2, 3),))
    draft_export(torch.nn.ReLU(), (torch.ones(2),))  # and the next draft is not disturbed


def test_several_issues_in_one_report() -> None:
    source = """class M(torch.nn.Module):
    def forward(self, x, y):
        a, b = x.tolist()
        if a == 1:
            y = y + 1
        if b != 1:
            y = y * 2
        for _ in range(2):
            if a + b > 3:
                y = y - 1
        return y[:b]
"""
    args = (torch.tensor([1, 4]), torch.randn(6))
    program = draft_export(load(source), args)
    lines = {failure.data["line"] for failure in program._report.failures}
    assert {4, 6} <= lines
    torch.testing.assert_close(program.module()(*args), load(source)(*args))
    data = json.loads(program._report.to_json())["issues"]
    assert [issue["line"] for issue in data] == [failure.data["line"] for failure in program._report.failures]
    assert all(issue["fix"] and issue["source"] for issue in data)
    for failure in program._report.failures:
        assert failure.data["source"] in str(program._report)


QUESTIONS = [
    "a > {k}", "a + b > {k}", "a % 2 == 0", "a * b != {k}", "a < b", "a - b <= {k}", "(a + b) % 3 == 1",
    "b // 2 == {k}",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_drafts_and_their_edits(seed: int) -> None:
    """A draft agrees with eager on its example; with every edit of its report the plain export succeeds and agrees."""
    rng = random.Random(seed)
    lines = ["class M(torch.nn.Module):", "    def forward(self, x, y):", "        a, b = x.tolist()"]
    for step in range(rng.randint(1, 4)):
        question = rng.choice(QUESTIONS).format(k=rng.randint(0, 5))
        lines += [
            f"        if {question}:",
            f"            y = y * {step + 2}",
            "        else:",
            f"            y = y - {step}",
        ]
    lines.append("        return y")
    source = "\n".join(lines)
    args = (torch.tensor([rng.randint(0, 6), rng.randint(1, 6)]), torch.ones(3))
    module = load(source, f"<random {seed}>")
    want = module(*args)
    program = draft_export(module, args)
    torch.testing.assert_close(program.module()(*args), want)
    for failure in sorted(program._report.failures, key=lambda f: -f.data["line"]):
        lines.insert(failure.data["line"] - 1, "        " + failure.fixes[0])
    fixed = export(load("\n".join(lines), f"<fixed {seed}>"), args, strict=False)
    torch.testing.assert_close(fixed.module()(*args), want)


@pytest.mark.parametrize("strict", [False, True])
def test_errors_of_export_say_the_same(strict: bool) -> None:
    """Without a draft the issues are on the exception: line, operator, operands with symbols, predicate, edit."""
    source = """class M(torch.nn.Module):
    def forward(self, x, y):
        n = x.max().item()
        return y[n:]
"""
    args = (torch.tensor([1, 2]), torch.ones(5, 3))
    shapes = {"x": None, "y": {0: Dim("rows", min=3)}}
    with pytest.raises(Exception, match="data-dependent") as error:
        export(load(source), args, dynamic_shapes=shapes, strict=strict)
    (issue,) = error.value.issues
    assert (issue["kind"], issue["line"], issue["source"]) == ("data_dependent", 4, "return y[n:]")
    assert issue["op"] == "aten.slice.Tensor"
    assert issue["operands"].startswith("self: f32[s0, 3]")
    assert "u0" in issue["expr"]
    assert "torch._check(n" in issue["fix"]

    source = """class M(torch.nn.Module):
    def forward(self, x, y):
        assert y.shape[0] == 5
        return y
"""
    with pytest.raises(Exception, match="Constraints violated") as error:
        export(load(source), args, dynamic_shapes=shapes, strict=strict)
    (issue,) = error.value.issues
    assert (issue["kind"], issue["line"], issue["expr"]) == ("constraint", 3, "Eq(s0, 5)")
    assert issue["fix"] == "in dynamic_shapes: rows = 5\n"
    assert "assert y.shape[0] == 5" in "".join(getattr(error.value, "__notes__", ["assert y.shape[0] == 5"]))

    source = """class M(torch.nn.Module):
    def forward(self, x, y):
        return y @ y
"""
    with pytest.raises(Exception, match="same reduction dim") as error:
        export(load(source), args, dynamic_shapes={"x": None, "y": None}, strict=strict)
    (issue,) = error.value.issues
    assert (issue["kind"], issue["op"], issue["line"]) == ("call", "aten.matmul.default", 3)
    assert issue["operands"] == "self: f32[5, 3], other: f32[5, 3]"


def test_fixes_are_data():
    """The error has them besides the text that prints them."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    n, m = torch.export.Dim("n"), torch.export.Dim("m")
    args, shapes = (torch.ones(4), torch.ones(4)), {"x": {0: n}, "y": {0: m}}
    for strict in (False, True):
        with pytest.raises(Exception, match="Suggested fixes:\n  m = n") as caught:
            torch.export.export(Model(), args, dynamic_shapes=shapes, strict=strict)
        assert caught.value.fixes == [("m", ("n", 1, 0))]
