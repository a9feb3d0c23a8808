#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count what `meson test` recorded in the given build folders: the slowest tests, one closing line, and 1 if anything
failed."""
import json
import pathlib
import re
import sys

GOOD = {"OK", "EXPECTEDFAIL"}


def slowest(rows: list[dict]) -> list[str]:
    """The five slowest tests, and of those in Python the ten that pytest names."""
    lines = []
    for row in sorted(rows, key=lambda row: -row["duration"])[:5]:
        lines.append(f"{row['duration']:7.1f} s  {row['name']}")
        lines += re.findall(r"^ *\d[\d.]*s (?:call|setup) .*$", row.get("stdout") or "", re.M)[:10]
    return lines


def main() -> int:
    passed, failed, skipped = 0, 0, 0
    for folder in sys.argv[1:]:
        log = pathlib.Path(folder) / "meson-logs/testlog.json"
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        print(f"{folder}, slowest:", *slowest(rows), sep="\n  ")
        for row in rows:
            result = row["result"]
            passed += result in GOOD
            skipped += result == "SKIP"
            failed += result not in GOOD | {"SKIP"}
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


sys.exit(main())
