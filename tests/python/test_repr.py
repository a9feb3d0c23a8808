# SPDX-License-Identifier: Apache-2.0
"""Printed forms, to the letter of the real PyTorch (golden_python.json)."""

import json
import pathlib

import pytest

import ingot
import python_cases

GOLDEN = json.loads(pathlib.Path(__file__).with_name("golden_python.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", python_cases.REPR.strip().splitlines())
def test_golden(line):
    assert python_cases.outcome(ingot, "repr", line) == GOLDEN[f"repr: {line}"]


@pytest.fixture
def printoptions():
    yield ingot.set_printoptions
    ingot.set_printoptions(profile="default", sci_mode=None)


def test_precision(printoptions):
    printoptions(precision=2)
    assert repr(ingot.tensor([1.12345])) == "tensor([1.12])"


def test_threshold_and_edgeitems(printoptions):
    printoptions(threshold=5, edgeitems=2)
    assert repr(ingot.arange(10)) == "tensor([0, 1,  ..., 8, 9])"


def test_sci_mode(printoptions):
    printoptions(sci_mode=True)
    assert repr(ingot.tensor([1.5, 2.0])) == "tensor([1.5000e+00, 2.0000e+00])"
    printoptions(sci_mode=False)
    assert repr(ingot.tensor([1e-5, 1.0])) == "tensor([0.0000, 1.0000])"


def test_full_profile(printoptions):
    printoptions(profile="full")
    assert repr(ingot.arange(1001)).count(",") == 1000


def test_linewidth(printoptions):
    printoptions(linewidth=20)
    assert repr(ingot.arange(8)) == "tensor([0, 1, 2, 3,\n        4, 5, 6, 7])"


def test_subclass_name():
    class Mine(ingot.Tensor):
        pass

    assert repr(ingot.tensor([1.0]).as_subclass(Mine)) == "Mine([1.])"
