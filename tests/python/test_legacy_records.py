# SPDX-License-Identifier: Apache-2.0
"""A sample of the recorded exports of PyTorch's TorchScript exporter replayed: what Ingot writes, refuses and says is
the same, field by field, but for what legacy_known.json lists with its reason. A listed difference that is gone fails,
too."""

import json

import pytest

from records import HERE, known_errors, run

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PARTS = 4
_LIST = json.loads((HERE / "legacy_known.json").read_text())
KNOWN = {key: why for why, keys in _LIST.items() for key in keys}


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    found = run("legacy_replay.py", "legacy_records.jsonl.gz", f"{part}/{PARTS}")
    assert found
    assert not known_errors(found, KNOWN)


def test_every_known_difference_is_of_a_record() -> None:
    names = set(run("legacy_replay.py", "legacy_records.jsonl.gz", "list"))
    assert not [key for key in KNOWN if key.split(" ", 1)[0] not in names]
