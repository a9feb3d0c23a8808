# SPDX-License-Identifier: Apache-2.0
"""Recorded traces replayed: graphs, code, results, gradients and warnings are those of PyTorch, field by field, but for
what trace_known.json lists with its reason. A listed difference that is gone fails, too."""

import json

import pytest

from records import HERE, known_errors, run

PARTS = 4
_LIST = json.loads((HERE / "trace_known.json").read_text())
KNOWN = {key: why for why, keys in _LIST.items() for key in keys}


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    found = run("script_replay.py", "trace_records.jsonl.gz", f"{part}/{PARTS}")
    assert found
    # What archives contain is the business of their own tests.
    assert not known_errors({key: value for key, value in found.items() if not key.endswith(" archive_code")}, KNOWN)


def test_every_known_difference_is_of_a_record() -> None:
    names = set(run("script_replay.py", "trace_records.jsonl.gz", "list"))
    assert not [key for key in KNOWN if key.split(" ", 1)[0] not in names]
