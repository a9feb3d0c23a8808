#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print a header with its plain comments in the form that Doxygen reads.

    tools/doxygen_filter.py HEADER

The comment at the top describes the file; one above a declaration or behind it describes that. Rulers
("// ---- opening") and comments that stand for themselves stay as they are.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?: (.*)|())$")
TRAILING = re.compile(r'^(\s*[^\s/"][^"]*?(?:"(?:[^"\\]|\\.)*"[^"]*?)*\s+)// (.*)$')
SPECIAL = re.compile(r"[\\@<>#%&\"]")


def escape(text: str) -> str:
    """Text as text: nothing in it is a command."""
    return SPECIAL.sub(lambda m: "\\" + m[0], text).replace("`", "")


def is_ruler(text: str) -> bool:
    return text.startswith("----")


def convert(lines: list[str]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(lines) and not lines[at].startswith("// SPDX"):
        out.append(lines[at])
        at += 1
    out.append(lines[at] if at < len(lines) else "")
    at += 1
    if at < len(lines) and COMMENT.match(lines[at]):
        out.append("/// \\file")
        out.append("/// \\verbatim")
        while at < len(lines) and (m := COMMENT.match(lines[at])):
            out.append(f"/// {m[2] or ''}".rstrip())
            at += 1
        out.append("/// \\endverbatim")
    column = -1  # where the comment behind the last line began
    while at < len(lines):
        m = COMMENT.match(lines[at])
        if m and column == len(m[1]):
            out.append(f"{m[1]}///< {escape(m[2] or '')}")
            at += 1
            continue
        if m:
            end = at
            while end < len(lines) and COMMENT.match(lines[end]):
                end += 1
            texts = [COMMENT.match(line) for line in lines[at:end]]
            alone = end < len(lines) and not lines[end].strip()
            for t, line in zip(texts, lines[at:end], strict=True):
                assert t
                plain = alone or is_ruler(t[2] or "")
                out.append(line if plain else f"{t[1]}/// {escape(t[2] or '')}".rstrip())
            at = end
            column = -1
            continue
        t = TRAILING.match(lines[at]) if not lines[at].lstrip().startswith("#") else None
        out.append(f"{t[1]}///< {escape(t[2])}" if t else lines[at])
        column = len(t[1]) if t else -1
        at += 1
    return out


def main() -> None:
    sys.stdout.write("\n".join(convert(pathlib.Path(sys.argv[1]).read_text().splitlines())) + "\n")


if __name__ == "__main__":
    main()
