# SPDX-License-Identifier: Apache-2.0
"""Where in the user's program something happens."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import sys
import traceback
import types
from collections.abc import Iterator

__all__ = [
    "allow", "branch_kind", "catches", "cuts_well", "describe_stack", "is_allowed", "is_users_file", "user_stack",
]  # fmt: skip

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep  # Python's own files


_allowed: set[tuple[str, int]] = set()  # torch._dynamo.allow_in_graph: file and line of functions


def is_users_file(name: str) -> bool:
    return not name.startswith(_PACKAGE) and not name.startswith("<frozen")


def _user_frames() -> Iterator[types.FrameType]:
    """The user's frames inside the compiled function, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "run_compiled" and name.startswith(_PACKAGE):
            break
        if is_users_file(name):
            yield frame
        frame = frame.f_back


def user_stack() -> traceback.StackSummary:
    """The user's frames inside the compiled function, outermost first."""
    frames = [(frame, frame.f_lineno) for frame in _user_frames()]
    return traceback.StackSummary.extract(reversed(frames))


def allow(fn: object) -> None:
    code = getattr(fn, "__code__", None)
    if code is not None:
        _allowed.add((code.co_filename, code.co_name))


def is_allowed(stack: traceback.StackSummary) -> bool:
    """Is one of the functions declared as one step of a graph?"""
    return any((frame.filename, frame.name) in _allowed for frame in stack)


def branch_kind() -> str | None:
    """What the truth of a tensor decides in the user's code: "jump", "assert", or None: a value."""
    frame = next(_user_frames(), None)
    return None if frame is None else _branch_at(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=256)
def _branch_at(code: types.CodeType, offset: int) -> str | None:
    steps = [i for i in dis.get_instructions(code) if i.offset >= offset and i.opname != "CACHE"][:3]
    names = [i.opname for i in steps if i.opname != "TO_BOOL"]
    if not names or "JUMP" not in names[0]:
        return None
    return "assert" if names[1:2] == ["LOAD_ASSERTION_ERROR"] else "jump"


def catches(code: types.CodeType) -> bool:
    """Does the function have a handler of exceptions?"""
    return any(i.opname in ("CHECK_EXC_MATCH", "JUMP_IF_NOT_EXC_MATCH") for i in dis.get_instructions(code))


def cuts_well() -> bool:
    """Can the compiled function be cut where it is now? Not inside a loop, a try or a block of the user's."""
    frame = None
    for frame in _user_frames():  # noqa: B007  the outermost one
        pass
    if frame is None:
        return False  # inside the library alone
    blocks = _blocks(frame.f_code.co_filename, frame.f_code.co_firstlineno)
    return not any(first <= frame.f_lineno <= last for first, last in blocks)


@functools.lru_cache(maxsize=256)
def _blocks(file: str, line: int) -> tuple[tuple[int, int], ...]:
    """First and last lines of the blocks in the function that starts at a line; none without a source."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, RecursionError):
        return ()
    found: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start == line:
                _collect(node.body, found)
    return tuple(found)


def _collect(body: list[ast.stmt], found: list[tuple[int, int]]) -> None:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        whole = isinstance(node, ast.Try) or (isinstance(node, ast.With) and not all(map(_is_mode, node.items)))
        if whole or isinstance(node, (ast.For, ast.While)):
            found.append((node.body[0].lineno, node.end_lineno or node.lineno))
        for part in ("body", "orelse", "finalbody"):
            _collect(getattr(node, part, []), found)


_MODES = {"no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast"}


def _is_mode(item: ast.withitem) -> bool:
    """with torch.no_grad(): and the like."""
    call = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
    return isinstance(call, ast.Attribute) and call.attr in _MODES


def describe_stack(stack: traceback.StackSummary) -> str:
    if not stack:
        return ""
    return "\n\nfrom user code:\n " + "".join(traceback.format_list(stack)).rstrip("\n") + "\n"
