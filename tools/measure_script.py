#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of PyTorch's recorded answers about TorchScript Ingot agrees with, field by field.

    python tools/measure_script.py FOLDER [NAME...]    (with the package of a build on PYTHONPATH)
    python tools/measure_script.py FOLDER --write      also writes the records and the known differences for the tests
    python tools/measure_script.py FOLDER --show NAME  prints what differs in one record

FOLDER holds functions.jsonl, modules.jsonl, errors.jsonl, api.jsonl and traces.jsonl.
"""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
from typing import Any

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests/python"
KINDS = ("functions", "modules", "errors", "api", "traces")
OPEN = "not done yet"
WEIGHT = ("outcome", "error", "place", "values", "call_errors", "grad", "stdout", "warnings")  # first in the table


def replay(path: pathlib.Path, names: list[str]) -> dict[str, Any]:
    """The records in two processes."""
    command = [sys.executable, str(TESTS / "script_replay.py"), str(path)]
    parts = [names] if names else [["0/2"], ["1/2"]]
    children = [subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True) for part in parts]
    found: dict[str, Any] = {}
    for child in children:
        out = child.communicate()[0]
        if child.returncode != 0:
            sys.exit(f"{path}: the replay failed")
        found |= json.loads(out.splitlines()[-1])
    return found


def table(all_found: dict[str, dict[str, Any]]) -> None:
    counts: dict[str, collections.Counter] = {}
    for found in all_found.values():
        for key, difference in found.items():
            counts.setdefault(key.split(" ", 1)[1], collections.Counter())[difference is None] += 1
    order = [*WEIGHT, *sorted(set(counts) - set(WEIGHT))]
    for field in order:
        if field in counts:
            good, all_of = counts[field][True], counts[field].total()
            print(f"{field:16} {good:4} of {all_of:4}  {100 * good / all_of:5.1f} %")


def show(found: dict[str, Any]) -> None:
    for key, difference in found.items():
        if difference is None:
            continue
        for title, text in zip(("found", "expected"), difference):
            print(f"---- {key}: {title}")
            rows = text.items() if isinstance(text, dict) else [("", text)]
            for name, row in rows:
                print(name, row if isinstance(row, str) else json.dumps(row))


def reasons() -> dict[str, str]:
    """The reasons that are known already, by difference."""
    path = TESTS / "script_known.json"
    rows = json.loads(path.read_text()) if path.exists() else {}
    return {key: why for why, keys in rows.items() for key in keys}


def write(folder: pathlib.Path, all_found: dict[str, dict[str, Any]]) -> None:
    lines = [line for kind in KINDS for line in (folder / f"{kind}.jsonl").read_text().splitlines(True)]
    with open(TESTS / "script_records.jsonl.gz", "wb") as file:
        file.write(gzip.compress("".join(lines).encode(), 9, mtime=0))
    known = reasons()
    rows: dict[str, list[str]] = {}
    for found in all_found.values():
        for key, difference in found.items():
            if difference is not None:
                rows.setdefault(known.get(key, OPEN), []).append(key)
    text = json.dumps({why: sorted(rows[why]) for why in sorted(rows)}, indent=1)
    (TESTS / "script_known.json").write_text(text + "\n")


def main() -> None:
    args = sys.argv[1:]
    flags = [arg for arg in args if arg.startswith("--")]
    folder, *names = [arg for arg in args if not arg.startswith("--")]
    all_found = {kind: replay(pathlib.Path(folder) / f"{kind}.jsonl", names) for kind in KINDS}
    if "--show" in flags:
        for found in all_found.values():
            show(found)
    elif names:
        for found in all_found.values():
            for key, difference in found.items():
                print("ok  " if difference is None else "    ", key)
    else:
        for kind, found in all_found.items():
            print(f"-- {kind}")
            table({kind: found})
        print("-- all")
        table(all_found)
    if "--write" in flags:
        write(pathlib.Path(folder), all_found)


if __name__ == "__main__":
    main()
