#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of PyTorch's recorded calls and programs Ingot agrees with, field by field.

    python tools/measure_records.py [ops | programs]     (with the package of a build on PYTHONPATH)
    python tools/measure_records.py --known [--reasons FILE] [ops | programs]

A field agrees when it is, byte for byte, that of PyTorch 2.5.1 or of 2.4.1; numbers agree within the tolerance of their
dtype. Nothing is normalized, and a program that cannot be exported counts with each of its fields. The only fields that
do not count are those that a reference document contradicts: they stand in tests/python/recorded_known.json with the id
of the conformance test that demands otherwise.

--known writes that list anew. A difference keeps the reason that it has in the list; those that are gone leave it. The
reason of a new one comes from FILE, a JSON object "name field" or "name mode field" -> reason; a reason that is the id
of a conformance test (file.py::class::test) makes the field one that does not count, and so do several ids, joined by
" and ", where different tests contradict the releases. A difference without a reason is an error.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests/python"
KNOWN = TESTS / "recorded_known.json"
SCRIPTS = {
    "ops": ("ops_replay.py", "recorded_ops.json.gz"),
    "programs": ("program_replay.py", "programs.json.gz"),
}


def replay(part: str) -> dict:
    script, records = SCRIPTS[part]
    command = [sys.executable, str(TESTS / script), str(TESTS / records)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def is_test(reason: str) -> bool:
    name = r"test_\w+\.py::\w+::\w+"
    return re.fullmatch(rf"{name}(?: and {name})*", reason) is not None


def report(title: str, found: dict, known: dict[str, str]) -> None:
    """The figures per field and per mode; what a document contradicts is left out and told apart."""
    apart = {key for key, value in found.items() if value is not None and is_test(known.get(key, ""))}
    fields: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for key, value in found.items():
        for part in key.split(" ", 2)[1:] if key not in apart else ():
            fields[part][0] += value is None
            fields[part][1] += 1
    good, asked = sum(value is None for value in found.values()), len(found) - len(apart)
    print(f"{title}: {good} of {asked} fields agree, {100 * good / asked:.1f} %; {len(apart)} more are contradicted")
    print(f"  (with these counted as differences: {100 * good / len(found):.1f} %)")
    for field, (right, every) in fields.items():
        print(f"  {field:22} {right:5} of {every:5}  {100 * right / every:5.1f} %")
    reasons = collections.Counter(known.get(key) for key, value in found.items() if value is not None)
    for why, n in reasons.most_common():
        print(f"  {n:5} {why}")


def by_reason(reasons: dict[str, str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {why: [] for why in sorted(set(reasons.values()))}
    for key, why in sorted(reasons.items()):
        out[why].append(key)
    return out


def main() -> None:
    words = sys.argv[1:]
    wanted = [word for word in words if word in SCRIPTS] or list(SCRIPTS)
    listed = json.loads(KNOWN.read_text())
    parts = {part: {key: why for why, keys in listed[part].items() for key in keys} for part in SCRIPTS}
    given = json.loads(pathlib.Path(words[words.index("--reasons") + 1]).read_text()) if "--reasons" in words else {}
    bare = []
    for part in wanted:
        found = replay(part)
        differ = [key for key, value in found.items() if value is not None]
        parts[part] = {key: why for key in differ if (why := given.get(key) or parts[part].get(key))}
        bare += [key for key in differ if key not in parts[part]]
        report(part, found, parts[part])
    if bare:
        print("without a reason:", *bare, sep="\n  ")
    if "--known" in words and not bare:
        KNOWN.write_text(json.dumps({part: by_reason(parts[part]) for part in SCRIPTS}, indent=0) + "\n")
    sys.exit(1 if bare else 0)


main()
