#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a source file lacks its license line, is too long, or contains markers of unfinished work, or if
ingot/ingot.h lacks a public header."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 1000  # lines; tables may be longer
TABLE = re.compile(r"(_table|_data|tables)\.")
MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.c", "*.h", "*.py", "*.inc"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        if not path.is_file():
            continue
        lines = path.read_text().splitlines()
        if lines and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
            found.append(f"{name}:1: no line 'SPDX-License-Identifier: Apache-2.0'")
        if len(lines) > LIMIT and not TABLE.search(name):
            found.append(f"{name}: {len(lines)} lines; a file has one noun and at most {LIMIT}")
        for n, line in enumerate(lines, 1):
            if mark := MARK.search(line):
                found.append(f"{name}:{n}: '{mark[1]}' marks unfinished work")
    headers = sorted((ROOT / "include/ingot").glob("*.h"))
    everything = (ROOT / "include/ingot/ingot.h").read_text() if headers else ""
    for path in headers:
        if path.name != "ingot.h" and f'#include "ingot/{path.name}"' not in everything:
            found.append(f"include/ingot/ingot.h: does not include ingot/{path.name}")
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


sys.exit(main())
