# SPDX-License-Identifier: Apache-2.0
"""Recorded programs of AOT autograd replayed: values, gradients, written arguments, shared memory and graphs are those
of PyTorch, field by field, but for what aot_known.json lists with its reason. A listed difference that is gone fails,
too."""

import json

from records import HERE, known_errors, run

_LIST = json.loads((HERE / "aot_known.json").read_text())
KNOWN = {key: why for why, keys in _LIST.items() for key in keys}


def test_records() -> None:
    found = run("aot_replay.py", "aot_records.jsonl.gz")
    assert found
    assert not known_errors(found, KNOWN)
    assert not [key for key in KNOWN if key not in found]


def test_what_is_known_are_texts() -> None:
    """Values and gradients have no known differences."""
    assert not [key for key in KNOWN if key.split(" ")[-1] not in ("forward.code", "backward.code", "compare")]
