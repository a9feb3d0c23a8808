# SPDX-License-Identifier: Apache-2.0
"""torch._export.db: every case does what its support level says, and cases are checked when they are made."""

from __future__ import annotations

import copy

import pytest

import ingot as torch
from ingot._export.db import case as db
from ingot._export.db.examples import all_examples, filter_examples_by_support_level, get_rewrite_cases
from ingot._export.db.logging import exportdb_error_message
from ingot.utils import _pytree as pytree

_SUPPORTED = filter_examples_by_support_level(db.SupportLevel.SUPPORTED)
_NOT_YET = filter_examples_by_support_level(db.SupportLevel.NOT_SUPPORTED_YET)


def _arguments(case):
    return copy.deepcopy((case.example_args, case.example_kwargs))


@pytest.mark.parametrize("name", sorted(_SUPPORTED))
def test_supported_case_exports_and_agrees(name):
    case = _SUPPORTED[name]
    args, kwargs = _arguments(case)
    program = torch.export.export(case.model, args, kwargs, dynamic_shapes=case.dynamic_shapes)
    args, kwargs = _arguments(case)
    found = program.module()(*args, **kwargs)
    args, kwargs = _arguments(case)
    expected = case.model(*args, **kwargs)
    for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
        assert torch.allclose(a, b) if isinstance(a, torch.Tensor) else a == b
    assert get_rewrite_cases(case) == []


@pytest.mark.parametrize("name", sorted(_NOT_YET))
def test_unsupported_case_is_refused(name):
    case = _NOT_YET[name]
    args, kwargs = _arguments(case)
    with pytest.raises((torch._dynamo.exc.Unsupported, AssertionError)):
        torch.export.export(case.model, args, kwargs, dynamic_shapes=case.dynamic_shapes)


def test_cases_by_name():
    assert len(all_examples()) == 36 == len(_SUPPORTED) + len(_NOT_YET)
    assert sorted(_NOT_YET) == ["dynamic_shape_round", "model_attr_mutation", "optional_input", "unsupported_operator"]
    assert all_examples()["cond_operands"].tags == {"torch.cond", "torch.dynamic-shape"}
    assert exportdb_error_message("cond_operands").endswith("index.html#cond-operands")
    assert exportdb_error_message("nothing") == "nothing is unsupported."


def test_cases_are_checked():
    good = {"example_args": (torch.ones(1),), "description": "d", "model": torch.nn.ReLU(), "name": "n"}
    db.ExportCase(**good)
    for change, message in (
        ({"example_args": [1]}, "Expecting args type to be a tuple, got: <class 'list'>"),
        ({"example_kwargs": {1: 1}}, "Expecting kwargs keys to be a string, got: <class 'int'>"),
        ({"tags": {"torch.nothing"}}, "Tag torch.nothing is not found in registered tags."),
        ({"description": ""}, 'Invalid description: ""'),
    ):
        with pytest.raises(ValueError, match=message):
            db.ExportCase(**{**good, **change})
    assert db.to_snake_case("FooBarBAZ") == "foo_bar_baz"
    with pytest.raises(TypeError, match=r"Export case class should be a torch\.nn\.Module\."):
        db.export_case(example_args=())(3)
