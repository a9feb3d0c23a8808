# SPDX-License-Identifier: Apache-2.0
"""Recorded programs of the onnxrt backend replayed: results, sessions, models, counters and errors are those of
PyTorch, field by field, but for what onnxrt_known.json lists with its reason. A listed difference that is gone fails,
too."""

import json

import pytest

from records import HERE, known_errors, run

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

_LIST = json.loads((HERE / "onnxrt_known.json").read_text())
KNOWN = {key: why for why, keys in _LIST.items() for key in keys}


def test_records() -> None:
    found = run("onnxrt_replay.py", "onnxrt_records.jsonl.gz")
    assert found
    assert not known_errors(found, KNOWN)
    assert not [key for key in KNOWN if key not in found]
