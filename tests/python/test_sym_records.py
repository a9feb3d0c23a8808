# SPDX-License-Identifier: Apache-2.0
"""Recorded programs with dynamic dimensions, and with data-dependent numbers, replayed: outcome, errors,
ranges, placeholders, code and calls are exactly those of one of two releases of PyTorch, but for what sym_known.json
lists with its reason. A listed difference that is gone fails, too."""
import json

import pytest

from records import HERE, known_errors, run

PARTS = 8
_LIST = json.loads((HERE / "sym_known.json").read_text())
KNOWN = {key: why for rows in _LIST.values() for why, keys in rows.items() for key in keys}


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    found = run("sym_replay.py", "sym_records.jsonl.gz", f"{part}/{PARTS}")
    assert found
    assert not known_errors(found, KNOWN)


def test_fields_that_do_not_count_name_a_conformance_test() -> None:
    floor = set((HERE.parent / "conformance.floor").read_text().split("\n"))
    ids = {name for why in KNOWN.values() if "::" in why for name in why.split(" and ")}
    assert ids
    assert not ids - floor


def test_every_known_difference_is_of_a_record() -> None:
    names = set(run("sym_replay.py", "sym_records.jsonl.gz", "list"))
    assert not [key for key in KNOWN if key.split(" ", 1)[0] not in names]
