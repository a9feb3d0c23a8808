#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libingot: names with their versions, and the layout of every public struct.

    tools/abi.py map VERSION HEADERS... LISTS...   the version script that the shared library is linked with
    tools/abi.py check LIBRARY VERSION INCLUDE...       compare with packaging/abi/SERIES.txt; 1: something was lost
    tools/abi.py record LIBRARY VERSION INCLUDE...      write that list: part of a release

A series is what the policy in docs/embedding.md keeps stable: 0.1 for 0.1.x, 1 for 1.x. A name has the version of the
first series and release that listed it; names that no list has get the version that is being built.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import csource

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"\{[^{}]*\}(?=\s*\w)")
FUNCTION = re.compile(r"\bIG_API\b[^;({]*?\b(ig_\w+)\s*\(")
STRUCT = re.compile(r"^(?:typedef )?struct (ig_\w+) \{(.*?)^\}(?: \1)?;", re.S | re.M)
UNNAMED = re.compile(r"(?:IG_EXTENSION )?(?:union|struct) \{([^{}]*)\}\s*;")


def series(version: str) -> str:
    major, minor, *_ = version.split(".")
    return f"0.{minor}" if major == "0" else major


def functions(text: str) -> set[str]:
    return set(FUNCTION.findall(csource.blank(text)))


def fields(body: str) -> list[str]:
    """The names of a struct's own fields; those of an unnamed union or struct inside count as its own."""
    flat = body
    while "{" in flat:
        flat = NAMED.sub("", UNNAMED.sub(r"\1", flat))
    found = []
    for declaration in flat.split(";")[:-1]:
        for part in csource.split(declaration + ")", 0)[0]:
            pointer = re.search(r"\(\*(\w+)\)\s*\(", part)
            plain = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part)
            match = pointer or plain
            if match:
                found.append(match[1])
    return found


def structs(text: str) -> dict[str, list[str]]:
    return {m[1]: fields(m[2]) for m in STRUCT.finditer(csource.blank(text))}


def read_list(path: pathlib.Path) -> dict[str, str]:
    """A line of a list is a key and what must stay as it is."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def version_script(version: str, files: list[str]) -> str:
    headers = [f for f in files if f.endswith(".h")]
    lists = [f for f in files if f.endswith(".txt")]
    names = set().union(*(functions(pathlib.Path(h).read_text()) for h in headers))
    node = f"INGOT_{series(version)}"
    of = {}
    for path in sorted(lists):
        for key, value in read_list(pathlib.Path(path)).items():
            if key.startswith("ig_"):
                of.setdefault(key, value)
    nodes: dict[str, list[str]] = {}
    for name in sorted(names):
        nodes.setdefault(of.get(name, node), []).append(name)
    out = []
    for name, members in sorted(nodes.items()):
        out += [f"{name} {{", "  global:", *(f"    {m};" for m in members)]
        out += (["  local:", "    *;"] if name == node else []) + ["};"]
    return "\n".join(out) + "\n"


def exported(library: str) -> dict[str, str]:
    run = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True,
                         capture_output=True, text=True)  # fmt: skip
    return {m[1]: m[2] for m in re.finditer(r" [TWDBRi] (ig_\w+)@@?(\S+)$", run.stdout, re.M)}


def layouts(folders: list[str]) -> dict[str, str]:
    """sizeof every public struct, and offset and size of its fields, as the compiler sees them."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "include/ingot").glob("*.h")):
        found |= structs(path.read_text())
    lines = ['#include <stddef.h>\n#include <stdio.h>\n#include "ingot/ingot.h"\nint main(void) {']
    for name, members in sorted(found.items()):
        lines.append(f'printf("struct {name}: %zu bytes", sizeof({name}));')
        for f in members:
            lines.append(f'printf("; {f} %zu+%zu", offsetof({name}, {f}), sizeof((({name} *)0)->{f}));')
        lines.append('printf("\\n");')
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        source.write_text("\n".join([*lines, "return 0;\n}\n"]))
        command = [*shlex.split(os.environ.get("CC", "cc")), *(f"-I{f}" for f in folders), source, "-o", f"{folder}/a"]
        subprocess.run(command, check=True)
        out = subprocess.run([f"{folder}/a"], check=True, capture_output=True, text=True).stdout
    return dict(line.split(": ", 1) for line in out.splitlines())


def lost(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What a program that was built with the old library would miss. A struct may grow at its end only if it begins
    with its size."""
    found = []
    for key, value in old.items():
        now = new.get(key)
        if now is None:
            found.append(f"{key} is gone")
        elif now != value:
            then_fields, now_fields = value.split("; "), now.split("; ")
            grown = now_fields[1 : len(then_fields)] == then_fields[1:] and then_fields[1:2] == ["size 0+8"]
            if not grown:
                found.append(f"{key} was {value}, is {now}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["map", "check", "record"])
    parser.add_argument("words", nargs="+")
    args = parser.parse_args()
    if args.action == "map":
        sys.stdout.write(version_script(args.words[0], args.words[1:]))
        return 0
    library, version, *folders = args.words
    now = exported(library) | layouts(folders)
    path = ROOT / "packaging/abi" / f"{series(version)}.txt"
    if args.action == "record":
        head = f"# The binary interface of libingot {series(version)}, written by tools/abi.py record.\n"
        path.write_text(head + "".join(f"{k}: {v}\n" for k, v in sorted(now.items())))
        return 0
    if not path.exists():
        print(f"{path.relative_to(ROOT)} is missing: tools/abi.py record writes it")
        return 1
    problems = lost(read_list(path), now)
    for problem in problems:
        print(f"libingot {version}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
