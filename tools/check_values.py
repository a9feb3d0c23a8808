#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a rule reads the `.value` of a size: that would specialize a symbolic size silently.

Rules are what records name as .shape, .decompose or .vjp, and what those call in the same file. They ask
sizes through ig_int_eq and its kin. Where a number has to be concrete, the line, the line before it, or the
comment above the whole function says so and why: `// concrete: the rank of the result depends on it`. A
statement that looks at the `.expr` of the same size beside its `.value` knows what it does.
"""
import pathlib
import re
import sys

import csource

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src/ops", "src/op")
RULE = re.compile(r"\.(?:shape|decompose|vjp)\s*=\s*(\w+)")
SHARED = re.compile(r"ig_shape_\w+$|ig_rule_\w+$")  # rules of op/ that several records name
READ = re.compile(r"([\w\]\[().>-]*?)(?:\.|->)value\b(?!\s*=[^=])")


def rules(texts: dict[pathlib.Path, str]) -> set[str]:
    return {name for text in texts.values() for name in RULE.findall(text)} - {"NULL"}


def reachable(text: str, found: list[csource.Function], roots: set[str]) -> set[str]:
    """The functions of this file that are rules or called from one."""
    bodies = {f.name: text[f.start : f.end] for f in found}
    seen, todo = set(), [name for name in bodies if name in roots or SHARED.match(name)]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [other for other in bodies if other not in seen and re.search(rf"\b{other}\b", bodies[name])]
    return seen


def aware(text: str, m: re.Match[str]) -> bool:
    """Does the statement around a read of X.value look at X.expr, too?"""
    begin = max(text.rfind(ch, 0, m.start()) for ch in ";{}")
    end = min((at for ch in ";{}" if (at := text.find(ch, m.end())) >= 0), default=len(text))
    base = m[1].lstrip("(")
    return base != "" and re.search(rf"(?<![\w.>]){re.escape(base)}(?:\.|->)expr\b", text[begin:end]) is not None


def excused(lines: list[str], n: int, first: int) -> bool:
    """Does a mark stand at line n, or in the comment above line `first`, where the function begins?"""
    above = first - 2
    while above >= 0 and lines[above].startswith("//"):
        above -= 1
    return any("// concrete:" in line for line in lines[max(n - 2, 0) : n] + lines[above + 1 : first - 1])


def main() -> int:
    originals = {path: path.read_text() for path in csource.c_files(ROOT, *FOLDERS) if path.suffix == ".c"}
    texts = {path: csource.blank(text) for path, text in originals.items()}
    roots = rules(texts)
    bad = 0
    for path, text in texts.items():
        lines = originals[path].splitlines()
        found = csource.functions(text)
        checked = reachable(text, found, roots)
        for f in found:
            if f.name not in checked:
                continue
            for m in READ.finditer(text, f.start, f.end):
                n = csource.line_of(text, m.start())
                if not aware(text, m) and not excused(lines, n, csource.line_of(text, f.first)):
                    where = f"{path.relative_to(ROOT)}:{n}"
                    print(f"{where}: {f.name}() reads .value; ask with ig_int_*, or say '// concrete: why'")
                    bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
