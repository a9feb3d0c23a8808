#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count what `meson test` recorded in the given build folders: one closing line, and 1 if anything failed."""
import json
import pathlib
import sys

GOOD = {"OK", "EXPECTEDFAIL"}


def main() -> int:
    passed, failed, skipped = 0, 0, 0
    for folder in sys.argv[1:]:
        log = pathlib.Path(folder) / "meson-logs/testlog.json"
        for line in log.read_text().splitlines():
            result = json.loads(line)["result"]
            passed += result in GOOD
            skipped += result == "SKIP"
            failed += result not in GOOD | {"SKIP"}
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


sys.exit(main())
