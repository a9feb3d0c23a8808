# SPDX-License-Identifier: Apache-2.0
"""Bad (and odd, but good) arguments: exception classes and texts of the real PyTorch."""

import json
import pathlib

import pytest

import ingot
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
