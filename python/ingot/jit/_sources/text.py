# SPDX-License-Identifier: Apache-2.0
"""Functions and classes for scripts that are made of texts: families that differ in a number or share statements."""

from __future__ import annotations

import linecache
import re
from typing import Any


def define(space: dict[str, Any], text: str) -> None:
    """Executes a text in a module, whose functions the compiler then finds as it finds those of a file."""
    file = f"<{space['__name__']}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec", dont_inherit=True), space)


def expanded(text: str, macros: dict[str, str]) -> str:
    """A text with its `@name`s replaced, and those in what replaces them; what stands for a line has the indentation of
    that line. Other words that begin with @, decorators, stay."""

    def line(found: re.Match[str]) -> str:
        return re.sub(r"^(?=.)", found[1], macros[found[2]], flags=re.MULTILINE)

    names = "|".join(sorted(macros, key=len, reverse=True))
    before = None
    while text != before:
        before = text
        text = re.sub(rf"^( *)@({names})$", line, text, flags=re.MULTILINE)
        text = re.sub(rf"@({names})\b", lambda found: macros[found[1]], text)
    return text
