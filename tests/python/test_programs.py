# SPDX-License-Identifier: Apache-2.0
"""Recorded programs of PyTorch, replayed: code, signature, metadata of nodes, module, results and errors agree, but for
what recorded_known.json lists with its reason. A listed difference that is gone fails, too."""
import pytest

from records import HERE, KNOWN, known_errors, run

PARTS = 24


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part):
    found = run("program_replay.py", "programs.json.gz", f"{part}/{PARTS}")
    assert found
    assert not known_errors(found, KNOWN["programs"])


def test_every_known_program_is_recorded():
    names = set(run("program_replay.py", "programs.json.gz", "list"))
    assert not [key for key in KNOWN["programs"] if key.split(" ", 1)[0] not in names]


def test_contradictions_are_conformance_ids():
    """A field that does not count names a test of the documents that passes here and demands otherwise."""
    floor = set((HERE.parent / "conformance.floor").read_text().split("\n"))
    reasons = {why for part in KNOWN.values() for why in part.values() if "::" in why}
    ids = {name for why in reasons for name in why.split(" and ")}
    assert ids and not ids - floor
