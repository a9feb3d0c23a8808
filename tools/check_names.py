#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if code outside of src/ops recognises an operator by its name.

What is known about an operator is a field of its record (src/op/op.h) or a column of src/op/aten.tsv; a single
operator is identified by its number IG_ID_..., and a higher-order operator by the address of its record. Rejected are, in
the C of src and python and in the Python of python/ingot:

- a literal that names an operator, "aten::add.Tensor" or "aten.add.Tensor";
- a list of names of operators, {"add", "mul", "relu"};
- strcmp of a target, of a name or overload in a schema, or of a higher-order operator's name with a literal;
- strstr, strncmp and memcmp on those and on an op_type, and tests of their letters, op_type[0] == 'l'.

tools/op_tables.txt lists the files that are tables, with a row per operator, and why; they may name operators, but
not compare or split names either.
"""
import ast
import pathlib
import re
import sys

import csource

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPS = "src/ops/"
NAMED = re.compile(r'"(?:torch\.ops\.)?(?:aten|prims?)(?:::|\.)\w+')
PYTHON_NAMED = re.compile(r"(?:torch\.ops\.)?(?:aten|prims?)(?:::|\.)\w+(?:\.\w+)?")
COMPARE = re.compile(r"\b(strcmp|strncmp|strstr|memcmp|strchr|strrchr)\(")
TARGET = re.compile(r"(?:^|->|\.)target$|schema\.(?:name|overload)$|\bhop->name$")
OP_TYPE = re.compile(r"(?:^|->|\.)op_type$")
LETTER = re.compile(r"(?:\btarget|\bop_type|schema\.name|schema\.overload)\[[^\]]*\]\s*[!=]=\s*'")
LIST = re.compile(r"\b\w+\[\w*\](?:\[\w*\])? = \{")
HOP = re.compile(r'const ig_hop \w+ = \{\s*\.name = "(\w+)"')
SPLIT = ("strchr", "strrchr")  # a target is split at dots; an op_type has no parts


def tables(path: pathlib.Path) -> list[str]:
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = []
    for line in lines:
        name, _, reason = line.partition(": ")
        if not reason.strip():
            sys.exit(f"{path.name}: '{line}': expected 'path: reason'")
        rows.append(name)
    return rows


def operator_names() -> set[str]:
    """Names of ATen, and of higher-order operators with a record."""
    text = (ROOT / "src/op/aten.tsv").read_text()
    names = {row.partition("::")[2].partition("\t")[0].partition(".")[0] for row in text.splitlines()[1:]}
    for path in sorted((ROOT / "src/op").glob("hop*.c")):
        names.update(HOP.findall(path.read_text()))
    return names


def literals(text: str, start: int, end: int) -> list[str]:
    return [m[0][1:-1] for m in csource.TOKEN.finditer(text, start, end) if m[0].startswith('"')]


def comparisons(text: str, blanked: str, names: set[str]) -> list[tuple[int, str]]:
    found = []
    for m in COMPARE.finditer(blanked):
        parts, end = csource.split(blanked, m.end())
        sides = [part.strip() for part in parts[:2]]
        target = any(TARGET.search(side) for side in sides)
        op_type = any(OP_TYPE.search(side) for side in sides)
        if m[1] == "strcmp":
            words = literals(text, m.end(), end)
            wrong = target and any(word in names or NAMED.match(f'"{word}') for word in words)
        elif m[1] in SPLIT:
            wrong = op_type
        else:
            wrong = target or op_type
        if wrong:
            found.append((m.start(), f"{text[m.start():end + 1]} recognises an operator by its name"))
    return found


def tests(text: str, names: set[str]) -> list[tuple[int, str]]:
    """What no file may do."""
    blanked = csource.blank(text)
    letters = [(m.start(), f"{text[m.start():m.end()]} tests a letter of a name") for m in LETTER.finditer(blanked)]
    return comparisons(text, blanked, names) + letters


def names_in(text: str, names: set[str]) -> list[tuple[int, str]]:
    """What tables may do."""
    blanked = csource.blank(text)
    found = []
    for m in csource.TOKEN.finditer(text):
        if NAMED.match(m[0]):
            found.append((m.start(), f"{m[0]} names an operator"))
    for m in LIST.finditer(blanked):
        _, end = csource.split(blanked, m.end())
        words = literals(text, m.end(), end)
        known = [word for word in words if word in names]
        if len(known) >= 3 and len(known) * 4 >= len(words) * 3:
            found.append((m.start(), f"a list of names of operators ({', '.join(known[:3])}, ...)"))
    return found


def names_in_python(text: str) -> list[tuple[int, str]]:
    constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    texts = (node for node in constants if isinstance(node.value, str))
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    return [(starts[n.lineno - 1], f"'{n.value}' names an operator") for n in texts if PYTHON_NAMED.fullmatch(n.value)]


def main() -> int:
    allowed = tables(ROOT / "tools/op_tables.txt")
    names = operator_names()
    used = set()
    bad = 0
    paths = csource.c_files(ROOT, "src", "python") + sorted((ROOT / "python").rglob("*.py"))
    for path in paths:
        short = path.relative_to(ROOT).as_posix()
        if short.startswith(OPS):
            continue
        text = path.read_text()
        found = [] if path.suffix == ".py" else tests(text, names)
        named = names_in_python(text) if path.suffix == ".py" else names_in(text, names)
        if short in allowed and named:
            used.add(short)
        else:
            found += named
        for offset, what in sorted(found):
            print(f"{short}:{csource.line_of(text, offset)}: {what}; ask its record, or say in tools/op_tables.txt "
                  "why the file is a table of rows")
            bad = 1
    for row in allowed:
        if row not in used:
            print(f"tools/op_tables.txt: {row} names no operator; remove the line")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
