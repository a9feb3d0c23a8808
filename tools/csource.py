# SPDX-License-Identifier: Apache-2.0
"""What the checks need to know about C text: comments and strings blanked, brackets matched, functions found.

This is no parser. It relies on the house style (a function's name starts in column 0 of its definition's
first line, its closing brace stands alone in column 0), which clang-format keeps.
"""
import dataclasses
import pathlib
import re

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
FUNCTION = re.compile(r"^(?!typedef|struct|enum|union|#)[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*)\)\s*\{$", re.M)


@dataclasses.dataclass
class Function:
    name: str
    first: int  # offset of the definition
    start: int  # of its opening brace
    end: int


def blank(text: str) -> str:
    """The text with comments and the insides of literals as spaces; offsets and lines stay."""

    def spaces(m: re.Match[str]) -> str:
        word = m[0]
        inner = re.sub(r"[^\n]", " ", word)
        return inner if word.startswith("/") else word[0] + inner[1:-1] + word[-1]

    return TOKEN.sub(spaces, text)


def split(text: str, start: int) -> tuple[list[str], int]:
    """The parts, at top-level commas, of the list that opens before `start`; and where it ends."""
    depth, begin, parts = 1, start, []
    for i in range(start, len(text)):
        ch = text[i]
        depth += (ch in "({[") - (ch in ")}]")
        if depth == 0 or (depth == 1 and ch == ","):
            parts.append(text[begin:i])
            begin = i + 1
        if depth == 0:
            return parts, i
    return parts, len(text)


def functions(text: str) -> list[Function]:
    """The function definitions of blanked text."""
    found = []
    for m in FUNCTION.finditer(text):
        end = text.find("\n}", m.end())
        found.append(Function(m[1], m.start(), m.end() - 1, end if end >= 0 else len(text)))
    return found


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def c_files(root: pathlib.Path, *folders: str) -> list[pathlib.Path]:
    found = (path for folder in folders for path in sorted((root / folder).rglob("*")))
    return [path for path in found if path.suffix in (".c", ".h", ".inc")]
