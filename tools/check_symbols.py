#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a library shows names that are not its own: libingot only ig_*, the module only its entry.

The static library is looked at too: its internal names meet those of the program it is linked into.
"""
import pathlib
import re
import subprocess
import sys


def names(path: pathlib.Path, *flags: str) -> list[str]:
    out = subprocess.run(["nm", "--defined-only", *flags, path], check=True, capture_output=True, text=True).stdout
    found = [(m[1], *m[2].split("@@")) for m in re.finditer(r"^[0-9a-f]* ([A-Z]) (\S+)$", out, re.M)]
    versions = {rest[0] for _, _, *rest in found if rest}
    # GNU ld gives every symbol version an absolute symbol of the same name; other linkers give it none.
    return [name for kind, name, *_ in found if not (kind == "A" and name in versions)]


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    checks = [(build / "libingot.so", ["-D"], r"ig_"), (build / "libingot.a", ["-g"], r"ig_")]
    checks += [(path, ["-D"], r"PyInit__C$") for path in (build / "python").glob("_C.*.so")]
    bad = 0
    for path, flags, own in checks:
        found = names(path, *flags)
        for name in found:
            if not re.match(own, name):
                print(f"{path.name}: shows '{name}', which does not match '{own}'")
                bad = 1
        if not found:
            print(f"{path.name}: shows no name at all")
            bad = 1
    return bad


sys.exit(main())
