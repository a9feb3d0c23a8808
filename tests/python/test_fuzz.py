# SPDX-License-Identifier: Apache-2.0
"""Random calls never kill the interpreter (fuzz_calls.py says what is called)."""

import pytest

import fuzz_calls
import ingot


@pytest.mark.parametrize("seed", [101, 102, 103, 104])
def test_calls(seed):
    code, text = fuzz_calls.finish(fuzz_calls.child(seed, 1500, log=False), 300)
    assert code == 0, fuzz_calls.explain(seed, 1500)
    assert "'ok'" in text


@pytest.mark.parametrize("name", ["pt2_extra", "pt2_examples", "pt2_facts", "pt2_calls", "pt2_texts"])
def test_programs_are_asked_for_their_type(name):
    with pytest.raises(TypeError, match="expected a Program, found Tensor"):
        getattr(ingot._C, name)(ingot.ones(2))


def test_fake_mode_token():
    with pytest.raises(TypeError, match="fake_mode_enter"):
        ingot._C.fake_mode_exit(5)
