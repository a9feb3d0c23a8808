# SPDX-License-Identifier: Apache-2.0
"""Explanations of errors by their codes."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from ingot import _C

_E = TypeVar("_E", bound=BaseException)


class Explanation(NamedTuple):
    """What lies behind an error. `example` is a program that raises it, with `message` as its text."""

    code: str
    title: str
    cause: str
    example: str
    message: str
    remedy: str
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def carry_code(error: BaseException, other: _E) -> _E:
    """Gives the code of an error and its notes to the one that is raised instead, and returns that."""
    for name in ("ingot_code", "__notes__"):
        if hasattr(error, name):
            setattr(other, name, getattr(error, name))
    return other


def reworded(error: BaseException, kind: type[_E]) -> _E:
    """The error as an exception of another class."""
    return carry_code(error, kind(str(error)))


def explain(error: str | BaseException) -> Explanation:
    """The explanation of an error: of a code as `IG0103`, or of an exception that has one in its `ingot_code`."""
    code = getattr(error, "ingot_code", None) if isinstance(error, BaseException) else error
    if code is None:
        raise ValueError(f"this {type(error).__name__} has no code: nothing explains it")
    import shutil

    row = _C._explain(code, min(shutil.get_terminal_size().columns, 100))
    if row is None:
        raise ValueError(f"{code!r} is not the code of an error; the command `ingot explain` lists all")
    return Explanation(*row)
