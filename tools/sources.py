#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the files below a folder whose names end as told, sorted, one per line.

    tools/sources.py FOLDER SUFFIX [SUFFIX ...]

Meson reads its lists from here when it is configured; tools/configure compares a listing of the
whole tree to know when that has to happen again. A folder that does not exist is empty.
"""
import os
import pathlib
import sys

SKIP = {"__pycache__"}


def listing(root: pathlib.Path, folder: str, suffixes: tuple[str, ...]) -> list[str]:
    found = []
    for where, folders, names in os.walk(root / folder):
        folders[:] = [f for f in folders if f not in SKIP and not f.startswith(".")]
        inside = pathlib.Path(where).relative_to(root).as_posix()
        found += [f"{inside}/{name}" for name in names if name.endswith(suffixes) and not name.startswith(".")]
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(listing(pathlib.Path(__file__).resolve().parent.parent, sys.argv[1], tuple(sys.argv[2:]))))
