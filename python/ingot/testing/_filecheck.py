# SPDX-License-Identifier: Apache-2.0
"""FileCheck: assertions on a text, in order, in the manner of LLVM's tool of that name.

Positive checks (check, next, same, count, dag, regex) each match after the match before. A check_not holds for the
stretch between the matches around it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class _Check(NamedTuple):
    kind: str  # as in "CHECK-NEXT" without "CHECK-"; "" for a plain check
    text: str
    count: int = 1

    def label(self) -> str:
        kind = f"COUNT-{self.count}" if self.kind == "COUNT" else self.kind
        return f"CHECK{'-' if kind else ''}{kind}: {self.text}"


class _Span(NamedTuple):
    start: int
    end: int


class FileCheck:
    """Collects checks, then run(text) raises RuntimeError at the first that fails."""

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _add(self, *check: Any) -> FileCheck:
        self._checks.append(_Check(*check))
        return self

    def check(self, text: str) -> FileCheck:
        """text occurs after the match before."""
        return self._add("", text)

    def check_not(self, text: str) -> FileCheck:
        """text does not occur between the matches around."""
        return self._add("NOT", text)

    def check_next(self, text: str) -> FileCheck:
        """text occurs on the line after the match before."""
        return self._add("NEXT", text)

    def check_same(self, text: str) -> FileCheck:
        """text occurs on the line of the match before."""
        return self._add("SAME", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """text occurs count times; with exactly, not once more before the next match."""
        if count == 0 and not exactly:
            raise RuntimeError("check_count: a count of 0 without exactly does not check anything")
        if count:
            self._add("COUNT", text, count)
        return self._add("NOT", text) if exactly else self

    def check_dag(self, text: str) -> FileCheck:
        """text occurs after the match before, in any order with the other dag checks beside it."""
        return self._add("DAG", text)

    def check_regex(self, text: str) -> FileCheck:
        """The regular expression matches after the match before."""
        return self._add("REGEX", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """text occurs with a line of ~ marks below exactly its columns."""
        return self._add("SOURCE-HIGHLIGHTED", text)

    def run(self, text: Any, subject: Any = None) -> None:
        """Check text; with two arguments the first holds the checks as `# CHECK: ...` lines."""
        checks = list(self._checks)
        if subject is not None:
            checks, text = checks + _parse(str(text)), subject
        if not checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck! Check for bad input.")
        _run(checks, str(text))


_LINE = re.compile(
    r"^[^\S\n]*#[^\S\n]*CHECK(?:-(NOT|NEXT|SAME|DAG|REGEX|COUNT(?:-EXACTLY)?-\d+|SOURCE-HIGHLIGHTED))?:[^\S\n]*(.*?)[^\S\n]*$",
    re.M,
)


def _parse(text: str) -> list[_Check]:
    found = FileCheck()
    for kind, what in _LINE.findall(text):
        if kind.startswith("COUNT"):
            found.check_count(what, int(kind.rpartition("-")[2]), "EXACTLY" in kind)
        else:
            found._add(kind, what)
    return found._checks


def _fail(check: _Check, expected: str, text: str) -> None:
    raise RuntimeError(f"Expected to {expected}\nSearched string:\n{text}\nFrom {check.label()}\n")


def _find(check: _Check, text: str, start: int) -> _Span:
    if check.kind == "REGEX":
        match = re.compile(check.text).search(text, start)
        if not match:
            _fail(check, f'find regex "{check.text}" but did not find it', text[start:])
        return _Span(*match.span())
    at = text.find(check.text, start)
    if at < 0:
        _fail(check, f'find "{check.text}" but did not find it', text[start:])
    return _Span(at, at + len(check.text))


def _forbid(checks: list[_Check], text: str, start: int, end: int) -> None:
    for check in checks:
        at = text.find(check.text, start, end)
        if at >= 0:
            line = text.count("\n", 0, at) + 1
            _fail(check, f'not find "{check.text}" but found it in line {line}', text)


def _positive(group: list[_Check], text: str, start: int) -> _Span:
    """The stretch that a check (or a group of dag checks) matches from start on."""
    check = group[0]
    if check.kind == "DAG":
        spans = [_find(c, text, start) for c in group]
        return _Span(min(s.start for s in spans), max(s.end for s in spans))
    if check.kind == "COUNT":
        first = span = _find(check, text, start)
        for _ in range(check.count - 1):
            span = _find(check, text, span.end)
        return _Span(first.start, span.end)
    if check.kind == "SOURCE-HIGHLIGHTED":
        return _highlighted(check, text, start)
    span = _find(check, text, start)
    between = text.count("\n", start, span.start)
    if check.kind == "NEXT" and between != 1:
        where = "on the same line" if between == 0 else f"{between} lines further"
        _fail(check, f'find "{check.text}" on the next line but found it {where}', text)
    if check.kind == "SAME" and between != 0:
        _fail(check, f'find "{check.text}" on the same line but found it {between} lines further', text)
    return span


def _highlighted(check: _Check, text: str, start: int) -> _Span:
    while True:
        span = _find(check, text, start)
        line_start = text.rfind("\n", 0, span.start) + 1
        line_end = text.find("\n", span.end)
        below = text[line_end + 1 :].partition("\n")[0] if line_end >= 0 else ""
        first, last = span.start - line_start, span.end - line_start
        if below[first:last] == "~" * (last - first) and below[:first].strip("~ ") == "":
            return span
        start = span.end


def _run(checks: list[_Check], text: str) -> None:
    position, i = 0, 0
    pending: list[_Check] = []
    while i < len(checks):
        if checks[i].kind == "NOT":
            pending.append(checks[i])
            i += 1
            continue
        size = 1
        if checks[i].kind == "DAG":
            while i + size < len(checks) and checks[i + size].kind == "DAG":
                size += 1
        span = _positive(checks[i : i + size], text, position)
        _forbid(pending, text, position, span.start)
        pending, position = [], span.end
        i += size
    _forbid(pending, text, position, len(text))
