# SPDX-License-Identifier: Apache-2.0
"""Bad (and odd, but good) arguments: exception classes and texts of the real PyTorch."""

import json
import pathlib

import pytest

import ingot
import ingot as torch
import python_cases

GOLDEN = json.loads(pathlib.Path(__file__).with_name("golden_python.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", python_cases.ERRORS.strip().splitlines())
def test_golden(line):
    assert python_cases.outcome(ingot, "errors", line) == GOLDEN[f"errors: {line}"]


def test_list_of_candidates():
    with pytest.raises(TypeError) as error:
        ingot.sum(ingot.ones(2), "a")
    text = str(error.value)
    assert text.startswith(
        "sum() received an invalid combination of arguments - got (Tensor, str), but expected one of:\n"
    )
    assert (
        " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"
        in text
    )


def test_large_numbers_are_refused():
    with pytest.raises(TypeError, match="Overflow when unpacking long long"):
        ingot.zeros(2**70)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ingot.tensor(2**70)


def test_many_dimensions_are_refused():
    with pytest.raises(RuntimeError):
        ingot.zeros([1] * 100)
    nested = 1.0
    for _ in range(100):
        nested = [nested]
    with pytest.raises(ValueError, match="too many dimensions"):
        ingot.tensor(nested)


def test_error_leaves_no_trace():
    x = ingot.ones(2)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            x.view(7)
    assert (x + 1).tolist() == [2.0, 2.0]


REFUSED = [
    (lambda x: x @ torch.ones(3, 4), lambda x: x.mT @ torch.ones(3, 4), "self.transpose(-2, -1) as self"),
    (lambda a: a + torch.ones(3, 5), lambda a: a + torch.ones(3, 5)[:, :4], "other.narrow(-1, 0, 4) as other"),
    (lambda a: a.view(5, 2), lambda a: a.view(-1, 2), "[-1, 2] as size"),
    (lambda a: a.sum(5), lambda a: a.sum([-1]), "[-1] as dim"),
    (
        lambda a: torch.cat([a, torch.ones(2, 5)]),
        lambda a: torch.cat([a, torch.ones(2, 5).narrow(-1, 0, 4)]),
        "tensors[1].narrow(-1, 0, 4) as tensors[1]",
    ),
    (
        lambda a: torch.ones(3).index_select(0, a),
        lambda a: torch.ones(3).index_select(0, a.to(torch.int64).flatten()),
        "index.to(torch.int64).flatten() as index",
    ),
    (
        lambda a: a.long().sigmoid_(),
        lambda a: a.long().to(torch.float32).clone().sigmoid_(),
        "self.to(torch.float32).clone() as self",
    ),
    (lambda a: a.float().add_(1), lambda a: a.float().clone().add_(1), "self.clone() as self"),
]  # fmt: skip


@pytest.mark.parametrize("bad, good, words", REFUSED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_refused_calls_suggest_an_edit_that_works(bad, good, words, dynamic):
    class Net(torch.nn.Module):
        def __init__(self, fn):
            super().__init__()
            self.fn = fn

        def forward(self, x):
            return self.fn(x)

    shapes = ({0: torch.export.Dim("rows", min=2)},) if dynamic else None
    with pytest.raises((RuntimeError, IndexError)) as caught:
        torch.export.export(Net(bad), (torch.zeros(3, 4),), dynamic_shapes=shapes, strict=False)
    assert caught.value.issues[0]["fix"] == f"pass {words}"
    assert any(f"To fix it:\n        pass {words}" in note for note in caught.value.__notes__)
    torch.export.export(Net(good), (torch.zeros(3, 4),), strict=False)


def test_no_edit_is_suggested_where_none_helps():
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.fold(x, (4, 5), (2, 2))

    with pytest.raises(RuntimeError) as caught:
        torch.export.export(Net(), (torch.zeros(7, 7, 7, 7, 7),), strict=False)
    assert not caught.value.issues[0]["fix"]


def test_a_custom_operator_without_a_fake_rule_says_how_to_add_one():
    @torch.library.custom_op("errors_test::blind", mutates_args=())
    def blind(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    class M(torch.nn.Module):
        def forward(self, x):
            return torch.ops.errors_test.blind(x)

    text = r"no fake impl registered for <CustomOpDef\(errors_test::blind\)>.*use `blind.register_fake` to add"
    with pytest.raises(RuntimeError, match=text):
        torch.export.export(M(), (torch.ones(2),), strict=False)
    blind.register_fake(torch.empty_like)
    assert torch.export.export(M(), (torch.ones(2),)).module()(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_strict_capture_refuses_to_branch_on_a_tensor_but_words_numbers_otherwise():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    class Number(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum().item() > 0 else x

    with pytest.raises(torch._dynamo.exc.UserError, match="Dynamic control flow is not supported(.|\n)*else x"):
        torch.export.export(Branch(), (torch.ones(2),), strict=True)
    with pytest.raises(torch._dynamo.exc.UserError, match="Could not guard on data-dependent expression"):
        torch.export.export(Number(), (torch.ones(2),), strict=True)


def test_shapes_are_shown_with_their_dims_as_classes():
    class M(torch.nn.Module):
        def forward(self, x, k):
            return x * k

    shapes = {"x": None, "k": {0: torch.export.Dim("side_b")}}
    with pytest.raises(torch._dynamo.exc.UserError, match=r"shape \{0: <class '.*side_b'>\} specified at `dynamic_sh"):
        torch.export.export(M(), (torch.ones(3), 2), dynamic_shapes=shapes)


def test_an_unknown_output_is_refused_by_both_captures():
    class Thing:
        pass

    class M(torch.nn.Module):
        def forward(self, x):
            return Thing()

    with pytest.raises(RuntimeError, match="Found .*Thing'> in output, which is not a known type"):
        torch.export.export(M(), (torch.ones(2),), strict=False)
    with pytest.raises(torch._dynamo.exc.UserError, match="one of the outputs with type `.*Thing'>` is not supported"):
        torch.export.export(M(), (torch.ones(2),), strict=True)


_REFUSED = (
    (lambda x, y: x + y, RuntimeError, "length 3 at -1! Mismatching argument at index 1 had torch.Size([3]); but "
     "expected shape should be broadcastable to [3, 4]"),
    (lambda x, y: y * x, RuntimeError, "length 4 at -1! Mismatching argument at index 1 had torch.Size([3, 4]); but "
     "expected shape should be broadcastable to [1, 3]"),
    (lambda x, y: torch.where(x > 0, x, y), RuntimeError, "Mismatching argument at index 2 had torch.Size([3])"),
    (lambda x, y: torch.cat([x, y]), RuntimeError, "Expected 2-D tensors, but got 1-D for tensor number 1 in the list"),
    (lambda x, y: torch.stack([x, y]), AssertionError, "but got torch.Size([3, 4]) at entry 0 and torch.Size([3]) at"),
    (lambda x, y: x.permute(0, 0), ValueError, "Received an invalid permutation, [0, 0]!"),
    (lambda x, y: x.permute(0, 1, 2), IndexError, "expected to be in range of [-2, 1], but got 2"),
    (lambda x, y: x.split([1, 1]), ValueError, "Split sizes add up to 2 but got the tensor's size of 3"),
    (lambda x, y: torch.mv(x, y), RuntimeError, "size mismatch, got input (3x4), vec (3)"),
    (lambda x, y: torch.nn.functional.layer_norm(x, (5,)), RuntimeError, "shape [5], but got input of size torch.Size"),
    (lambda x, y: torch.nn.functional.embedding(x, x), RuntimeError, "tensors used as indices must be long, int, byte"),
)  # fmt: skip


@pytest.mark.parametrize("case", range(len(_REFUSED)))
def test_what_is_refused_of_fake_tensors_is_worded_as_their_rules_word_it(case):
    fn, cls, text = _REFUSED[case]

    class M(torch.nn.Module):
        def forward(self, x, y):
            return fn(x, y)

    args = torch.ones(3, 4), torch.ones(3)
    with pytest.raises(cls) as found:
        torch.export.export(M(), args, strict=False)
    assert text in str(found.value)
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError) as found:
        torch.export.export(M(), args, strict=True)
    assert str(found.value).startswith("Failed running call_")
    assert text in str(found.value)
    with pytest.raises((RuntimeError, IndexError)) as found:  # with elements the kernels refuse
        fn(*args)
    assert "torch.Size" not in str(found.value)


def test_where_is_a_method():
    x, y = torch.tensor([1.0, -2.0]), torch.tensor([5, 6])
    assert x.where(x > 0, y).tolist() == [1.0, 6.0]
    assert x.where(condition=x > 0, other=0.5).tolist() == [1.0, 0.5]


def test_frames_of_strict_errors_are_not_underlined() -> None:
    class Wrong(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.add(x, x.new_ones(7))

    with pytest.raises(torch._dynamo.exc.TorchRuntimeError) as caught:
        torch.export.export(Wrong(), (torch.ones(3),), strict=True)
    lines = str(caught.value).splitlines()
    at = lines.index("    return x + torch.add(x, x.new_ones(7))")
    assert lines[at + 1] == ""
