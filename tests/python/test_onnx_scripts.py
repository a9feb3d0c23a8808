# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export(dynamo=False) of scripts and layers whose course or sizes are known only when the model runs: what
onnxruntime computes is what the module computes, for the sizes of the example and for others."""

import copy
import io
import math

import numpy as np
import pytest

import ingot as torch
import ingot.nn.functional as F
from ingot import Tensor, nn

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class ConditionOnSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 3:
            return x + 1
        return x - 1


class NegatedCondition(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if not (x.sum() > 0):
            return x + 1
        return x


class NumberOfBranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = 2
        if x.sum() > 0:
            n = 3
        return x * n


class WriteInBranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.clone()
        if x.sum() > 0:
            x[0] = 0
        else:
            x[1] = 0
        return x


class WriteInLoop(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros(x.size(0), x.size(1))
        for i in range(x.size(0)):
            y[i] = x[i] + i
        return y


class AddInLoop(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros(x.size(1))
        for i in range(x.size(0)):
            y += x[i]
        return y


class WhileOnSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        i = 0
        while i < x.size(0):
            x = x + i
            i += 1
        return x


class RangeWithStep(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for i in range(1, x.size(0), 2):
            x = x + i
        return x


class LoopWithExit(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = 0
        for i in range(x.size(0)):
            if i == 3:
                break
            total = total + i
        return x + total


class LoopThatSkips(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            if i % 2 == 0:
                continue
            total = total + x[i]
        return total


class FloatsOfSizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * (x.size(0) / 7) + math.sqrt(x.size(1)) - 1.5 * x.size(0)


class RaiseOnData(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.any(x > 1e6):
            raise ValueError("too large")
        return x * 2


@torch.jit.script_if_tracing
def add_rows(x: Tensor) -> Tensor:
    for i in range(x.size(0)):
        x = x + i
    return x


class ScriptedIfTraced(nn.Module):
    def forward(self, x):
        return add_rows(x)


class Resized(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        return F.interpolate(x[None, None], **self.options)


class Transformed(nn.Module):
    def forward(self, x):
        window = torch.hann_window(3)
        return torch.stft(x.reshape(-1), 4, 2, 3, window, normalized=True, return_complex=False)


class Pooled(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x[None, None])


def exported(model, args, axes):
    sink = io.BytesIO()
    names = [f"x{i}" for i in range(len(args))]
    torch.onnx.export(model, args, sink, dynamo=False, input_names=names, dynamic_axes=axes, opset_version=17)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(sink.getvalue(), options, providers=["CPUExecutionProvider"])


def compare(session, model, args):
    want = model(*copy.deepcopy(args))
    feeds = [a.numpy() if isinstance(a, Tensor) else np.array(a) for a in args]
    got = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), feeds, strict=True)})
    for found, expected in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        expected = torch.as_tensor(expected)
        assert found.shape == tuple(expected.shape)
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-4, atol=1e-5)


SCRIPTS = [
    ConditionOnSize, NegatedCondition, NumberOfBranch, WriteInBranch, WriteInLoop, AddInLoop, WhileOnSize,
    RangeWithStep, FloatsOfSizes, RaiseOnData, LoopWithExit, LoopThatSkips,
]  # fmt: skip


@pytest.mark.parametrize("make", SCRIPTS, ids=lambda c: c.__name__)
def test_script(make) -> None:
    model = torch.jit.script(make())
    session = exported(model, (torch.randn(3, 4),), {"x0": {0: "rows", 1: "columns"}})
    for sizes in ((3, 4), (5, 6), (4, 3)):
        x = torch.randn(*sizes)
        compare(session, model, (x,))
        compare(session, model, (-x,))


TRACED = [
    ScriptedIfTraced(), Resized(scale_factor=1.5), Resized(scale_factor=1.5, mode="bilinear"),
    Resized(scale_factor=2.3, mode="bilinear", align_corners=True), Resized(scale_factor=[1.5, 0.5], mode="bicubic"),
    Resized(scale_factor=1.5, recompute_scale_factor=True), Transformed(),
    Pooled(nn.AvgPool2d(3, 2, ceil_mode=True)), Pooled(nn.AvgPool2d(3, 2, 1, ceil_mode=True)),
    Pooled(nn.AdaptiveMaxPool2d(1)),
]  # fmt: skip


@pytest.mark.parametrize("model", TRACED, ids=lambda m: type(m).__name__)
def test_traced(model) -> None:
    session = exported(model, (torch.randn(5, 6),), {"x0": {0: "rows", 1: "columns"}})
    for sizes in ((5, 6), (6, 8), (8, 7)):
        compare(session, model, (torch.randn(*sizes),))


def test_numbers_are_inputs_of_a_script() -> None:
    class M(nn.Module):
        def forward(self, x: Tensor, n: int, scale: float) -> Tensor:
            for _ in range(n):
                x = x * scale + n
            return x

    model = torch.jit.script(M())
    session = exported(model, (torch.randn(3), 2, 0.5), None)
    compare(session, model, (torch.randn(3), 4, 1.5))


@pytest.mark.parametrize("offsets", [None, [0, 3, 3]])
def test_greatest_elements_of_bags(offsets) -> None:
    model = nn.EmbeddingBag(10, 4, mode="max").eval()
    args = (torch.tensor([[1, 2, 4], [5, 4, 3]]),)
    if offsets is not None:
        args = (args[0].reshape(-1), torch.tensor(offsets))
    compare(exported(model, args, None), model, args)


def test_mismatches_are_searched() -> None:
    from ingot.onnx import verification

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)

        def forward(self, x):
            return (self.first(x).relu().cumsum(1) * 2).exp()

    right = verification.find_mismatch(M(), (torch.randn(2, 3),), opset_version=17)
    assert not right.has_mismatch()
    torch.onnx.register_custom_op_symbolic("aten::cumsum", lambda g, x, dim, dtype: g.op("Add", x, x), 17)
    try:
        wrong = verification.find_mismatch(M(), (torch.randn(2, 3),), opset_version=17)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::cumsum", 17)
    leaves = wrong.all_mismatch_leaf_graph_info()
    assert [leaf.essential_node_kinds() for leaf in leaves] == [{"aten::cumsum"}]
    assert wrong.find_partition(leaves[0].id) is leaves[0]


class SumOfSlices(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        out = x[0].clone()
        for i in range(x.size(1)):
            out += torch.sum(x[0:i], dim=0)
        return out


class LongLoop(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for i in range(100):
            x = x + i
        return x


class WhileBelow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        i = 0
        while i < 3:
            x = x * 2
            i += 1
        return x


class ShortLoop(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for i in range(3):
            x = x + i
        return x


class ViewOfWhatIsRead(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x[0]
        for i in range(x.size(0)):
            y += torch.sum(x[0:i], dim=0)
        return y


class Pieces(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        out = x.clone()
        for piece in x.split(1):
            out = out + piece
        return out


KEPT = [SumOfSlices, LongLoop, WhileBelow]


@pytest.mark.parametrize("make", [*KEPT, ShortLoop, ViewOfWhatIsRead, Pieces])
def test_loops_over_known_sizes(make) -> None:
    """A loop stays one, whether or not its sizes are dynamic, unless it is short or cannot be recorded."""
    onnx = pytest.importorskip("onnx")
    model = torch.jit.script(make())
    sink = io.BytesIO()
    torch.onnx.export(model, (torch.randn(3, 4),), sink, dynamo=False, opset_version=11)
    nodes = [node.op_type for node in onnx.load_from_string(sink.getvalue()).graph.node]
    assert nodes.count("Loop") == (make in KEPT)
    compare(exported(model, (torch.randn(3, 4),), None), model, (torch.randn(3, 4),))


class Appended(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = []
        for i in range(x.size(0)):
            rows.append(x[i] * i)
        return torch.stack(rows)


class Comprehension(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x[i] + i for i in range(x.size(0))])


class AppendedIfLong(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = [x]
        if x.size(0) > 3:
            rows.append(x)
        return torch.cat(rows)


class Growing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(x.size(0)):
            x = torch.cat([x, x[:1]])
        return x


class CountOfRows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * len(x.unbind(0))


class Joined(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(x.split(1)) + 1


class AppendedByPosition(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(x.size(0)):
            if i == 0:
                rows.append(x[i])
            else:
                rows.append(rows[-1] * 0.5 + x[i])
        return torch.stack(rows, 1)


class Numbers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        sizes: list[int] = []
        for i in range(x.size(0)):
            sizes.append(i * i)
        total = 0
        for n in sizes:
            total += n
        return x * total


class ChangedRows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.unbind(0)
        rows[0] = rows[1] + 1
        rows.insert(1, rows[0] * 2)
        last = rows.pop()
        del rows[0]
        rows.extend([last, last + 1])
        rows.reverse()
        return torch.stack(rows + x.unbind(0)[:2])


class PieceByNumber(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pieces = x.split(2)
        return torch.cat([pieces[-1], pieces[0], torch.cat(pieces)])


class BranchesOfDifferentSizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 4:
            y = x[:2]
        else:
            y = x * 2
        return y + 1


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x
        for _ in range(x.size(0) // 2):
            y = torch.cat([y, y * 2])
        return y


class EveryOther(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        i = 0
        while i < x.size(0):
            rows.append(x[i])
            i += 2
        return torch.stack(rows)


class Reversed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        at: list[int] = []
        for i in range(x.size(0)):
            at.append(x.size(0) - 1 - i)
        return x[torch.tensor(at)]


class TwoParts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.tensor_split(x, 2)[0] * 2


class Diagonal(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.diagonal() + 1


class NormOfLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.view(-1, 4, 1))


class Downwards(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        total = torch.zeros(4)
        for i in range(x.size(0) - 1, -1, -1):
            rows.append(x[i])
        for i in range(x.size(0), 0, -2):
            total = total * 2 + x[i - 1]
        return torch.stack(rows) + total


class PartsByCounter(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(4)
        for i in range(x.size(0) - 1):
            total = total + x[i : i + 2].mean(0) + x[: i + 1].sum(0) + x[i:].max(0)[0]
        rows: list[Tensor] = []
        for i in range(0, x.size(0), 3):
            rows.append(x[i : i + 3].sum(0))
        return torch.stack(rows) + total


class Tails(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
        tails: list[Tensor] = []
        for i in range(x.size(0)):
            tails.append(x[i:])
        return tails[1], tails[-1] + tails[x.size(0) - 1], torch.cat(tails), len(tails)


class TailsBehindWhole(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        parts = [x, x[:1]]
        for i in range(x.size(0)):
            parts += [x[i : i + 1] * i, x[i:]]
        return torch.cat(parts + [x[:2]], 0)


class SomeTails(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        tails: list[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0) or i == 0:
                tails.append(x[i:, :2])
        return torch.cat(tails)


class Backwards(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = [x[i] * i for i in range(x.size(0))]
        return torch.stack(rows[::-1]) + torch.stack(rows)[:1]


class TakenFromBothEnds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(x.size(0) + 3):
            rows.append(x[0] * i)
        last = rows.pop()
        first = rows.pop(0)
        rows.insert(1, first + last)
        del rows[0]
        return torch.stack(rows)


GROWING = [
    TakenFromBothEnds, Downwards, PartsByCounter, Tails, TailsBehindWhole, SomeTails, Backwards, Appended,
    Comprehension, AppendedIfLong, Growing, Pieces, CountOfRows, Joined, AppendedByPosition, Numbers, ChangedRows,
    PieceByNumber, BranchesOfDifferentSizes, Doubled, EveryOther, Reversed, TwoParts, Diagonal, NormOfLayer,
]  # fmt: skip


@pytest.mark.parametrize("make", GROWING)
def test_lists_and_sizes_that_grow_with_a_dynamic_size(make) -> None:
    """What a list holds is one tensor of the model, whose length is that of the run."""
    model = torch.jit.script(make())
    data = exported(model, (torch.randn(3, 4),), {"x0": {0: "rows"}})
    for rows in (3, 5, 6, 2):
        compare(data, model, (torch.randn(rows, 4),))
    compare(exported(model, (torch.randn(3, 4),), None), model, (torch.randn(3, 4),))


class RowsGiven(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        return [row * 2 for row in x.unbind(1)]


class PiecesGiven(nn.Module):
    def forward(self, x: Tensor):
        return x.sum(), x.split(2, 1), None


class TailsGiven(nn.Module):
    def forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        tails: list[Tensor] = []
        for i in range(x.size(1)):
            tails.append(x[:, i:])
        return tails, x.sum()


@pytest.mark.parametrize("make", [RowsGiven, PiecesGiven, TailsGiven])
def test_a_list_of_dynamic_length_is_a_sequence(make) -> None:
    model = torch.jit.script(make())
    session = exported(model, (torch.randn(2, 4),), {"x0": {1: "columns"}})
    types = [value.type for value in session.get_outputs()]
    sequence = "seq(tensor(float))"
    of_make = {RowsGiven: [sequence], TailsGiven: [sequence, "tensor(float)"]}
    assert types == of_make.get(make, ["tensor(float)", sequence, "optional(tensor(float))"])
    for columns in (4, 5):
        x = torch.randn(2, columns)
        found = session.run(None, {"x0": x.numpy()})
        expected = model(x)
        if make is PiecesGiven:
            assert found[2] is None
            found, expected = found[1:2], expected[1]
        elif make is TailsGiven:
            np.testing.assert_allclose(found[1], expected[1].numpy(), rtol=1e-4)
            expected = expected[0]
        assert len(found[0]) == len(expected)
        for a, b in zip(found[0], expected):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-6)


class PiecesOfDifferentSizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pieces = x.split(2)
        pieces.append(x)
        return torch.cat(pieces)


class DifferentInTwoSizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        columns: list[Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i:])
            columns.append(x[:, : i + 1])
        return torch.cat(rows + columns)


def test_elements_that_differ_in_several_sizes_are_refused() -> None:
    model = torch.jit.script(DifferentInTwoSizes())
    with pytest.raises((NotImplementedError, RuntimeError), match="differ in more than one size"):
        exported(model, (torch.randn(3, 4),), {"x0": {0: "rows"}})


@pytest.mark.parametrize("make", [ViewOfWhatIsRead, PiecesOfDifferentSizes])
def test_what_is_right_for_the_example_only_is_refused(make) -> None:
    model = torch.jit.script(make())
    with pytest.raises((NotImplementedError, RuntimeError), match="depends on dynamic sizes|may have different sizes"):
        exported(model, (torch.randn(3, 4),), {"x0": {0: "rows"}})
    compare(exported(model, (torch.randn(3, 4),), None), model, (torch.randn(3, 4),))


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a, b = x.split(2)
        return a + b + x.unbind(0)[1]


def test_lists_that_are_taken_apart_may_come_from_dynamic_sizes() -> None:
    model = torch.jit.script(Halves())
    x = torch.randn(4, 3)
    compare(exported(model, (x,), {"x0": {0: "rows"}}), model, (x,))


class OneRow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            return x
        if x.size(0) < 3:
            return x * 2
        return x * 3


class SeveralRows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x[1] if x.size(0) > 1 else x[0] * 5
        return y if x.size(1) != 1 else -y


@pytest.mark.parametrize("make", [OneRow, SeveralRows])
def test_sizes_of_one_are_told_from_others(make) -> None:
    model = torch.jit.script(make())
    session = exported(model, (torch.randn(4, 3),), {"x0": {0: "n", 1: "m"}})
    for sizes in ((1, 3), (2, 3), (5, 1), (1, 1)):
        compare(session, model, (torch.randn(*sizes),))


@pytest.mark.parametrize("opset", [11, 13, 16])
def test_values_are_added_at_repeated_indices(opset) -> None:
    class M(nn.Module):
        def forward(self, x, i, j, y):
            a = x.index_put((i,), y, accumulate=True)
            return a.index_add(1, j, y[:2].t()[:, :2]).index_put((i, j[:1]), y[:, 0], accumulate=True)

    def args(rows):
        i = torch.tensor([0, -1, 2, 0])
        return torch.randn(rows, 3), i, torch.tensor([1, 1]), torch.randn(4, 3)

    model, sink = M().eval(), io.BytesIO()
    torch.onnx.export(
        model, args(3), sink, dynamo=False, opset_version=opset, input_names=["x", "i", "j", "y"],
    )  # fmt: skip
    compare(onnxruntime.InferenceSession(sink.getvalue(), providers=["CPUExecutionProvider"]), model, args(3))


class _Counted(nn.Module):
    def forward(self, x):
        y = x
        for i in range(x.size(0)):
            y = y + x[i] * i
        return y


class _Asked(nn.Module):
    def forward(self, x):
        s = torch.zeros(1)
        for i in range(x.size(0)):
            if bool(s.sum() > 1.5):
                break
            s = s + x[i]
        return s


class _Below(nn.Module):
    def forward(self, x, n: int):
        i = 0
        while i < n:
            x = x * 2 + 1
            i += 2
        return x


class _Rounds(nn.Module):
    def forward(self, x):
        n = 0
        while bool(x.sum() < 10):
            x = x + 1
            n += 1
        return x, n


def _loops(graph) -> list:
    return [node for node in graph.node if node.op_type == "Loop"]


@pytest.mark.parametrize(
    "model, args, inputs, carried",
    [
        (_Counted(), (torch.rand(3, 4),), [(torch.rand(5, 4),), (torch.rand(1, 4),)], 1),
        (_Asked(), (torch.rand(9),), [(torch.full((6,), 0.2),), (torch.full((6,), 1.0),)], 2),
        (_Below(), (torch.rand(2), 5), [(torch.rand(2), 8), (torch.rand(2), 0)], 2),
        (_Rounds(), (torch.rand(2),), [(torch.rand(2) + 7,), (torch.rand(2) - 3,)], 2),
    ],
    ids=["counted", "asked", "below", "rounds"],
)
def test_a_loop_counts_its_rounds_and_carries_no_counter(model, args, inputs, carried) -> None:
    script = torch.jit.script(model)
    sink = io.BytesIO()
    axes = {"x": {0: "n"}} if isinstance(model, (_Counted, _Asked)) else None
    torch.onnx.export(script, args, sink, input_names=["x", "n"][: len(args)], dynamic_axes=axes, dynamo=False)
    proto = onnx.load_from_string(sink.getvalue())
    (loop,) = _loops(proto.graph)
    assert len(loop.output) == carried
    session = onnxruntime.InferenceSession(sink.getvalue(), providers=["CPUExecutionProvider"])
    for given in inputs:
        names = [i.name for i in session.get_inputs()]
        feeds = {name: np.asarray(value) for name, value in zip(names, given, strict=True)}
        want = model(*given)
        for a, b in zip(session.run(None, feeds), want if isinstance(want, tuple) else [want], strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=1e-5, atol=1e-5)


def test_what_a_loop_makes_is_its_output_without_a_copy() -> None:
    sink = io.BytesIO()
    torch.onnx.export(torch.jit.script(_Counted()), (torch.rand(9, 4),), sink, dynamo=False)
    (loop,) = _loops(onnx.load_from_string(sink.getvalue()).graph)
    (body,) = [a.g for a in loop.attribute]
    assert [n.op_type for n in body.node if n.op_type != "Constant"] == ["Gather", "Cast", "Mul", "Add", "Identity"]
